// SPDX-License-Identifier: MIT OR Apache-2.0
//! From a plan to its runs: every combination of the factors' values, and the order in which they
//! run.
//!
//! Repeats are interleaved: all combinations once, then all once more, so that what drifts
//! meanwhile, such as a machine's temperature, is not mistaken for the effect of a factor.

use crate::SourceSpan;
use crate::chance::Chance;
use crate::plan_error::{PlanError, PlanErrors};
use crate::plan_file::{Factor, MAX_RUNS, Plan, RunOrder, Setting, Value};
use std::collections::BTreeSet;
use std::fmt::Write as _;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Combination {
    /// The value of each factor, in the plan's order; none where a combination that was added does
    /// not say.
    pub factors: Vec<Option<Value>>,
    /// All settings: those of every run, then its own, which come first where both say something.
    pub settings: Vec<Setting>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PlannedRun {
    /// Which combination, from 0.
    pub combination: usize,
    /// Which repeat of it, from 1.
    pub repeat: u32,
}

impl Plan {
    /// Every combination once, the last factor fastest, without those excluded; then those that
    /// were added.
    ///
    /// # Errors
    /// Combinations that cannot be or are there already, values that are excluded and never occur,
    /// too many runs, none at all.
    pub fn combinations(&self) -> Result<Vec<Combination>, PlanErrors> {
        let (all, errors) = self.combinations_and_errors();
        PlanErrors::none_of(errors).map(|()| all)
    }

    /// The same, and with errors those combinations that are left without what is wrong.
    pub fn combinations_and_errors(&self) -> (Vec<Combination>, Vec<PlanError>) {
        let mut errors = self.errors_of_factors();
        let product = self
            .vary
            .iter()
            .try_fold(1_usize, |product, factor| product.checked_mul(factor.values.len()));
        let repeats = usize::try_from(self.order.repeat).unwrap_or(usize::MAX);
        let product = product
            .filter(|product| product.checked_mul(repeats).is_some_and(|runs| runs <= MAX_RUNS));
        let Some(product) = product else {
            errors.push(PlanError::at(&self.at, format!("these are more than {MAX_RUNS} runs")));
            return (Vec::new(), errors);
        };
        let mut all: Vec<Combination> = (0..product)
            .map(|number| self.chosen(number))
            .filter(|chosen| !self.exclude.iter().any(|excluded| is_excluded(chosen, excluded)))
            .map(|chosen| self.combination(&chosen))
            .collect();
        let mut known: BTreeSet<Vec<(String, Value)>> =
            all.iter().map(|combination| key_of(&combination.settings)).collect();
        let mut add = |added: &Vec<Setting>| {
            let combination = self.combination(&added.iter().collect::<Vec<_>>());
            let is_new = known.insert(key_of(&combination.settings));
            is_new
                .then_some(combination)
                .ok_or_else(|| PlanError::at(&added[0].at, "this combination is there already"))
        };
        let (added, there_already) = PlanErrors::divided(self.include.iter().map(&mut add));
        all.extend(added);
        errors.extend(there_already);
        if all.is_empty() && errors.is_empty() {
            let what = "no run is left: every combination is excluded";
            errors.push(PlanError::at(&self.at, what));
        }
        (all, errors)
    }

    /// All settings of a combination that was added.
    pub(crate) fn combination_of(&self, added: &[Setting]) -> Vec<Setting> {
        self.combination(&added.iter().collect::<Vec<_>>()).settings
    }

    /// Whether a combination that was added is one of the others.
    pub(crate) fn has(&self, added: &[Setting]) -> bool {
        let key = key_of(&self.combination_of(added));
        let (all, _) = self.combinations_and_errors();
        all.iter().any(|known| key_of(&known.settings) == key)
    }

    /// What distinguishes a combination from the others: `interval=1ms load=cpu@50%`.
    pub fn label(&self, combination: &Combination) -> String {
        let varied = self.vary.iter().zip(&combination.factors);
        let varied = varied.filter_map(|(factor, value)| {
            value.as_ref().map(|value| format!("{}={value}", factor.key))
        });
        let fixed = |setting: &&Setting| {
            !self.vary.iter().any(|factor| factor.key == setting.key)
                && !self.measure.contains(setting)
        };
        let own = combination
            .settings
            .iter()
            .filter(fixed)
            .map(|setting| format!("{}={}", setting.key, setting.value));
        varied.chain(own).collect::<Vec<_>>().join(" ")
    }

    fn errors_of_factors(&self) -> Vec<PlanError> {
        let mut errors = Vec::new();
        for factor in &self.vary {
            if let Some(fixed) = self.measure.iter().find(|setting| setting.key == factor.key) {
                let what = format!(
                    "'{}' is varied, and set for every run at {}: one of them",
                    factor.key, fixed.at
                );
                errors.push(PlanError::at(&factor.values[0].at, what));
            }
        }
        if !self.vary.is_empty() && self.exclude.iter().any(Vec::is_empty) {
            errors.push(PlanError::at(&self.at, "[[exclude]] is empty"));
        }
        for setting in self.exclude.iter().flatten() {
            let factor = self.vary.iter().find(|factor| factor.key == setting.key);
            let what = match factor {
                None => {
                    format!("'{}' is not varied, so nothing can be excluded by it", setting.key)
                }
                Some(factor) if factor.values.iter().all(|value| value.value != setting.value) => {
                    format!("'{}' is not among the values of '{}'", setting.value, setting.key)
                }
                Some(_) => continue,
            };
            errors.push(PlanError::at(&setting.at, what));
        }
        errors
    }

    /// The factors' values of a place in the product.
    fn chosen(&self, mut number: usize) -> Vec<&Setting> {
        let mut chosen: Vec<&Setting> = Vec::with_capacity(self.vary.len());
        for factor in self.vary.iter().rev() {
            chosen.push(&factor.values[number % factor.values.len()]);
            number /= factor.values.len();
        }
        chosen.reverse();
        chosen
    }

    fn combination(&self, own: &[&Setting]) -> Combination {
        let is_own = |key: &str| own.iter().any(|setting| setting.key == key);
        let fixed = self.measure.iter().filter(|setting| !is_own(&setting.key)).cloned();
        let left_out = self.vary.iter().filter(|factor| !is_own(&factor.key));
        let left_out = left_out.filter_map(|factor| factor.left_out(&own.first()?.at));
        let settings: Vec<Setting> =
            fixed.chain(left_out).chain(own.iter().copied().cloned()).collect();
        let of = |key: &str| {
            settings.iter().rfind(|setting| setting.key == key).map(|setting| setting.value.clone())
        };
        Combination { factors: self.vary.iter().map(|factor| of(&factor.key)).collect(), settings }
    }
}

impl Factor {
    /// What a combination that was added at this place has of it if it does not say: to leave a
    /// flag out is "none", where that is one of the values, and no load at all where loads are
    /// varied.
    fn left_out(&self, at: &SourceSpan) -> Option<Setting> {
        let none = Value::Words(Vec::new());
        let is_a_value = self.key == "load" || self.values.iter().any(|one| one.value == none);
        is_a_value.then(|| Setting { key: self.key.clone(), value: none, at: at.clone() })
    }
}

fn is_excluded(chosen: &[&Setting], excluded: &[Setting]) -> bool {
    excluded.iter().all(|excluded_setting| {
        chosen.iter().any(|setting| {
            setting.key == excluded_setting.key && setting.value == excluded_setting.value
        })
    })
}

/// What makes two combinations the same, whatever stands where.
fn key_of(settings: &[Setting]) -> Vec<(String, Value)> {
    let mut key: Vec<(String, Value)> =
        settings.iter().map(|setting| (setting.key.clone(), setting.value.clone())).collect();
    key.sort();
    key
}

impl Plan {
    /// This plan as one file, with this seed: what runs, without what it was put together from.
    pub fn as_run(&self, seed: u64) -> String {
        let mut text = String::new();
        if let Some(title) = &self.title {
            let _ = writeln!(text, "title = {}", in_toml(title));
        }
        let table = |text: &mut String, head: &str, settings: &[Setting]| {
            let _ = writeln!(text, "\n{head}");
            for setting in settings {
                let _ = writeln!(text, "{} = {}", key(&setting.key), setting.value.in_toml());
            }
        };
        table(&mut text, "[measure]", &self.measure);
        let _ = writeln!(text, "\n[vary]");
        for factor in &self.vary {
            let values: Vec<String> =
                factor.values.iter().map(|setting| setting.value.in_toml()).collect();
            let _ = writeln!(text, "{} = [{}]", key(&factor.key), values.join(", "));
        }
        for (head, combinations) in [("[[exclude]]", &self.exclude), ("[[include]]", &self.include)]
        {
            for settings in combinations {
                table(&mut text, head, settings);
            }
        }
        let RunOrder { repeat, shuffle, .. } = self.order;
        let _ = writeln!(text, "\n[order]\nrepeat = {repeat}\nshuffle = {shuffle}\nseed = {seed}");
        if !self.limits.is_empty() {
            text += "\n[limits]\n";
        }
        for limit in &self.limits {
            let _ = writeln!(text, "{} = {}", key(limit.name()), in_toml(limit.setting()));
        }
        text
    }
}

impl Value {
    /// As a plan's file has it.
    pub fn in_toml(&self) -> String {
        match self {
            Value::Switch(on) => on.to_string(),
            Value::Words(words) => match words.as_slice() {
                [] => in_toml("none"),
                [word] => in_toml(word),
                words => {
                    let words = words.iter().map(|word| in_toml(word)).collect::<Vec<_>>();
                    format!("[{}]", words.join(", "))
                }
            },
        }
    }
}

fn key(text: &str) -> String {
    let is_bare =
        !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
    if is_bare { text.to_owned() } else { in_toml(text) }
}

/// A text as a basic string of TOML.
pub fn in_toml(text: &str) -> String {
    let mut out = String::from('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c.is_control() => {
                let _ = write!(out, "\\u{:04X}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out + "\""
}

impl RunOrder {
    /// All runs of so many combinations, in the order they run; `seed` counts only if they are
    /// shuffled.
    pub fn runs(&self, combinations: usize, seed: u64) -> Vec<PlannedRun> {
        let mut chance = Chance::new(seed);
        let mut runs = Vec::new();
        for repeat in 1..=self.repeat {
            let mut round: Vec<usize> = (0..combinations).collect();
            if self.shuffle {
                for last in (1..round.len()).rev() {
                    round.swap(last, chance.below(last + 1));
                }
            }
            runs.extend(round.into_iter().map(|combination| PlannedRun { combination, repeat }));
        }
        runs
    }
}

#[cfg(test)]
#[path = "plan_tests.rs"]
mod tests;
