// SPDX-License-Identifier: MIT OR Apache-2.0
//! Kernels that a plan leaves to the environment: `kernel = "$NAME"` is the image that the variable
//! names. A shipped plan cannot know where somebody's own kernels are.

use crate::plan_error::{PlanError, PlanErrors};
use crate::plan_file::{Plan, Setting, Value};

/// The flag that may name a variable.
const KERNEL: &str = "kernel";

impl Plan {
    /// The plan with the images that variables name. Of the values that are varied, those whose
    /// variable is not set are left out, with the combinations that are excluded or added by
    /// them; they are the second part.
    ///
    /// # Errors
    /// When a kernel that all runs have, or each of those varied, is not named.
    pub fn with_kernels_of(
        mut self,
        value_of: &dyn Fn(&str) -> Option<String>,
    ) -> Result<(Self, Vec<String>), PlanErrors> {
        let mut left_out = Vec::new();
        let mut stays = |setting: &mut Setting| match named(setting, value_of) {
            Ok(()) => true,
            Err(name) => {
                if !left_out.contains(&name) {
                    left_out.push(name);
                }
                false
            }
        };
        let mut errors = Vec::new();
        for setting in &mut self.measure {
            if !stays(setting) {
                errors.push(PlanError::at(
                    &setting.at,
                    format!("'{}' is the kernel of every run, and is not set", setting.value),
                ));
            }
        }
        for factor in &mut self.vary {
            let at = factor.values.first().map(|value| value.at.clone());
            factor.values.retain_mut(&mut stays);
            if let Some(at) = at.filter(|_| factor.values.is_empty()) {
                errors.push(PlanError::at(
                    &at,
                    "none of the variables that name these kernels is set",
                ));
            }
        }
        for combinations in [&mut self.exclude, &mut self.include] {
            combinations.retain_mut(|settings| settings.iter_mut().all(&mut stays));
        }
        PlanErrors::none_of(errors)?;
        Ok((self, left_out))
    }
}

/// Puts the image in the place of its variable; if that is not set, or empty, the value as it is
/// written.
fn named(setting: &mut Setting, value_of: &dyn Fn(&str) -> Option<String>) -> Result<(), String> {
    let Value::Words(words) = &mut setting.value else { return Ok(()) };
    for word in words.iter_mut().filter(|_| setting.key == KERNEL) {
        let Some(name) = word.strip_prefix('$') else { continue };
        *word = value_of(name).filter(|value| !value.is_empty()).ok_or_else(|| word.clone())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    const SET: &str = "/boot/bzImage-cobalt";

    fn value_of(name: &str) -> Option<String> {
        match name {
            "COBALT" => Some(SET.to_owned()),
            "EMPTY" => Some(String::new()),
            _ => None,
        }
    }

    fn read(text: &str) -> Result<(Plan, Vec<String>), PlanErrors> {
        Plan::read(Path::new("plan.toml"), &mut |_| Ok(text.to_owned()))
            .unwrap()
            .with_kernels_of(&value_of)
    }

    #[test]
    fn kernels_without_a_variable_are_left_out_and_named() {
        let (plan, left_out) = read(
            "[vary]\nkernel = ['debian:amd64', '$COBALT', '$EVL', '$EMPTY']\nprobe = ['auto', \
             'cyclic']\n[[exclude]]\nkernel = '$EVL'\nprobe = 'auto'\n[[exclude]]\nkernel = \
             '$COBALT'\nprobe = 'auto'\n[[include]]\nkernel = '$EVL'\nprobe = 'spawn'\n",
        )
        .unwrap();
        assert_eq!(left_out, ["$EVL", "$EMPTY"]);
        let combinations = plan.combinations().unwrap();
        let words: Vec<String> = combinations
            .iter()
            .map(|one| {
                one.settings
                    .iter()
                    .map(|setting| setting.value.to_string())
                    .collect::<Vec<_>>()
                    .join(" ")
            })
            .collect();
        assert_eq!(words, ["debian:amd64 auto", "debian:amd64 cyclic", &format!("{SET} cyclic")]);
        // It is the image that is written down, for whoever goes on with the plan.
        assert!(
            plan.as_run(1).contains(&format!("kernel = [\"debian:amd64\", \"{SET}\"]")),
            "{}",
            plan.as_run(1)
        );
    }

    #[test]
    fn a_plan_that_has_no_kernel_left_is_refused() {
        let refused = |text: &str| read(text).unwrap_err().to_string();
        let all = refused("[measure]\nkernel = '$EVL'\n");
        assert!(
            all.contains("'$EVL' is the kernel of every run, and is not set")
                && all.contains("plan.toml:2:1"),
            "{all}"
        );
        let none = refused("[vary]\nkernel = ['$EVL', '$EMPTY']\n");
        assert!(none.contains("none of the variables that name these kernels is set"), "{none}");
    }

    /// Only kernels are files of somebody's own.
    #[test]
    fn other_settings_have_no_variables() {
        let (plan, left_out) = read("[measure]\ntitle = '$EVL'\n").unwrap();
        assert_eq!((plan.measure[0].value.to_string(), left_out.len()), ("$EVL".to_owned(), 0));
    }
}
