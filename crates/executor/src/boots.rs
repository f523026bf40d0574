// SPDX-License-Identifier: MIT OR Apache-2.0
//! A plan on this machine, boot by boot: kernels and their arguments cannot be varied without
//! booting, so each boot adds what it can measure to one folder, and returns what is still missing.

use anyhow::Context;
use lab::KernelName;
use plan::{BootSettings, Plan, Setting, Value};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fmt;

/// What the machine was booted with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Boot {
    /// Its name (`uname -n`).
    pub machine: String,
    /// `uname -r`.
    pub kernel: String,
    /// Kernel arguments, without those that say where the system lies.
    pub arguments: String,
}

/// A boot that a plan asks for: its kernel, and kernel arguments; none where the plan does not say.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct PlannedBoot {
    kernel: Option<String>,
    append: Option<String>,
    /// How many runs it has; none in folders that do not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runs: Option<usize>,
}

impl Boot {
    /// This one.
    ///
    /// # Errors
    /// When `/proc/cmdline` cannot be read.
    pub fn now() -> anyhow::Result<Self> {
        let system = rustix::system::uname();
        let text = |part: &std::ffi::CStr| part.to_string_lossy().into_owned();
        let line = std::fs::read_to_string("/proc/cmdline").context("cannot read /proc/cmdline")?;
        Ok(Boot {
            machine: text(system.nodename()),
            kernel: text(system.release()),
            arguments: model::kernel_arguments(&line),
        })
    }
}

impl PlannedBoot {
    /// Those that a plan asks for, each once; empty where it names no kernel and no arguments. One
    /// without either is any that is none of the others.
    /// `flags`: those of guests, which say nothing in a boot.
    ///
    /// # Errors
    /// When the plan has no combinations.
    pub fn from_plan(plan: &Plan, flags: &[&str]) -> anyhow::Result<Vec<Self>> {
        let mut planned_boots: Vec<Self> = Vec::new();
        for combination in plan.combinations()? {
            let of = |key: &str| {
                let setting: Option<&Setting> =
                    combination.settings.iter().rfind(|setting| setting.key == key);
                setting.map(|setting| setting.value.clone())
            };
            let text = |value: Option<Value>| match value {
                Some(Value::Words(words)) if words.is_empty() => None,
                value => value.map(|value| value.to_string()),
            };
            let one =
                PlannedBoot { kernel: text(of("kernel")), append: text(of("append")), runs: None };
            if !planned_boots.contains(&one) {
                planned_boots.push(one);
            }
        }
        if planned_boots.iter().all(|one| one.kernel.is_none() && one.append.is_none()) {
            return Ok(Vec::new());
        }
        for one in &mut planned_boots {
            let combinations = plan.clone().in_boot(flags, Some(&one.settings())).combinations();
            let combinations = combinations.map_or(0, |combinations| combinations.len());
            one.runs = Some(plan.order.runs(combinations, 0).len());
        }
        Ok(planned_boots)
    }

    /// What a boot is of these; none where it is none of them. Of several it is the one with most
    /// arguments, and of these the one that names the kernel.
    pub fn of<'b>(planned_boots: &'b [Self], boot: &Boot) -> Option<&'b Self> {
        let named = |one: &&Self| (one.words().len(), one.kernel.is_some());
        planned_boots.iter().filter(|one| one.is(boot)).max_by_key(named)
    }

    /// As the plan sets it.
    pub fn settings(&self) -> BootSettings {
        let text = |value: &Option<String>| value.clone().unwrap_or_else(|| "none".to_owned());
        BootSettings { values: [text(&self.kernel), text(&self.append)] }
    }

    /// Of these, the boots that are still missing. One with more arguments than was asked for is
    /// another boot only if it is asked for too.
    pub fn missing(planned_boots: &[Self], made: &[Boot]) -> Vec<Self> {
        let met: BTreeSet<&Self> =
            made.iter().filter_map(|boot| Self::of(planned_boots, boot)).collect();
        planned_boots.iter().filter(|one| !met.contains(one)).cloned().collect()
    }

    /// Whether a boot is one of these; any is where the plan asks for none.
    pub fn includes(planned_boots: &[Self], boot: &Boot) -> bool {
        planned_boots.is_empty() || planned_boots.iter().any(|one| one.is(boot))
    }

    fn words(&self) -> Vec<&str> {
        self.append.iter().flat_map(|words| words.split_whitespace()).collect()
    }

    fn is(&self, boot: &Boot) -> bool {
        let has: Vec<&str> = boot.arguments.split_whitespace().collect();
        let is_kernel = self.kernel.as_deref().is_none_or(|name| is_kernel(name, &boot.kernel));
        is_kernel && self.words().iter().all(|word| has.contains(word))
    }
}

/// Whether a kernel of a plan is the one of this release: Debian's by the release's end, any other
/// by its file's name.
fn is_kernel(name: &str, release: &str) -> bool {
    match name.parse() {
        Ok(KernelName::Debian { flavour, version }) => {
            let of_debian =
                release.find(|c: char| c.is_ascii_alphabetic()).map_or("", |at| &release[at..]);
            of_debian == flavour.name && version.is_none_or(|version| release.starts_with(&version))
        }
        Ok(KernelName::Path(path)) => {
            let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            file == release || file.split_once('-').is_some_and(|(_, rest)| rest == release)
        }
        Err(_) => name == release,
    }
}

impl fmt::Display for PlannedBoot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kernel = self.kernel.iter().map(|kernel| format!("kernel={kernel}"));
        let parts: Vec<String> =
            kernel.chain(self.append.iter().map(|words| format!("append={words}"))).collect();
        f.write_str(if parts.is_empty() { "anything else" } else { "" })?;
        f.write_str(&parts.join(" "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn boot(kernel: &str, arguments: &str) -> Boot {
        Boot { machine: "board".into(), kernel: kernel.into(), arguments: arguments.into() }
    }

    fn planned_boots(text: &str) -> Vec<PlannedBoot> {
        PlannedBoot::from_plan(
            &Plan::read(Path::new("plan.toml"), &mut |_| Ok(text.to_owned())).unwrap(),
            &["kernel", "append"],
        )
        .unwrap()
    }

    #[test]
    fn kernels_of_a_plan_are_known_by_their_release() {
        for (name, release, is) in [
            ("debian:rt-arm64", "6.1.0-56-rt-arm64", true),
            ("debian:arm64", "6.1.0-56-rt-arm64", false),
            ("debian:arm64=6.1.0-56", "6.1.0-56-arm64", true),
            ("debian:arm64=6.1.0-49", "6.1.0-56-arm64", false),
            ("/boot/vmlinuz-6.6.31-v8", "6.6.31-v8", true),
            ("6.6.31-rt-v8", "6.6.31-rt-v8", true),
            ("6.6.31-v8", "6.6.31-rt-v8", false),
        ] {
            assert_eq!(is_kernel(name, release), is, "{name} {release}");
        }
    }

    #[test]
    fn what_is_missing_is_what_no_boot_was() {
        let text = "[vary]\nkernel = ['debian:arm64', 'debian:rt-arm64']\nappend = ['none', \
                    'isolcpus=1-3']\nload = ['none', 'cpu']\n[[exclude]]\nkernel = \
                    'debian:arm64'\nappend = 'isolcpus=1-3'\n";
        let planned_boots = planned_boots(text);
        assert_eq!(planned_boots.len(), 3);
        let missing = |made: &[Boot]| {
            let missing = PlannedBoot::missing(&planned_boots, made);
            missing.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        let tuned = "kernel=debian:rt-arm64 append=isolcpus=1-3";
        assert_eq!(missing(&[]), ["kernel=debian:arm64", "kernel=debian:rt-arm64", tuned]);
        assert_eq!(missing(&[boot("6.1.0-56-arm64", "")]), ["kernel=debian:rt-arm64", tuned]);
        let both = [boot("6.1.0-56-arm64", ""), boot("6.1.0-56-rt-arm64", "isolcpus=1-3 nosmt")];
        assert_eq!(missing(&both), ["kernel=debian:rt-arm64"]);
        assert_eq!(missing(&[boot("5.10.0", "")]).len(), 3);
    }

    /// The runs of a plan that names a boot for what it adds alone were measured in that boot.
    #[test]
    fn what_names_no_boot_is_of_any_other() {
        let planned_boots = planned_boots(
            "[vary]\nload = ['none', 'cpu']\n[[include]]\nkernel = '6.6-rt'\nprio = 9\n",
        );
        let words: Vec<String> = planned_boots.iter().map(ToString::to_string).collect();
        assert_eq!(words, ["anything else", "kernel=6.6-rt"]);
        let runs: Vec<_> = planned_boots.iter().map(|one| one.runs.unwrap()).collect();
        assert_eq!(runs, [2, 1]);
        let of = |kernel| PlannedBoot::of(&planned_boots, &boot(kernel, "")).unwrap().to_string();
        assert_eq!([of("6.6"), of("6.6-rt")], words.as_slice());
    }
}
