// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a reader must know before the figures: their caveats, and the conditions.

use crate::format;
use crate::language::{recorded, say, word};
use crate::overview::{Overview, list};
use crate::sections::lab;

/// Characters of a message or a piece of evidence.
const LONGEST: usize = 1_000;
/// Warnings shown; no recording of ours has as many.
const MAX_WARNINGS: usize = 60;
/// The code of the warning that stands at the top of everything.
pub(crate) const NO_REAL_TIME: &str = "no-real-time";

/// A caveat of the figures.
#[derive(Clone, Debug)]
pub(crate) struct Notice {
    pub(crate) title: &'static str,
    pub(crate) text: String,
    pub(crate) next_step: String,
    pub(crate) is_command: bool,
}

/// Caveats: what the lab's are, then recording by recording, the worst first.
pub(crate) fn spoilers(all: &[Overview<'_>]) -> Vec<Notice> {
    let mut notices: Vec<Notice> = Vec::new();
    for overview in all {
        let only = all.len() == 1;
        let of = if only { String::new() } else { format!("{}: ", overview.name) };
        let it = if only { word("This recording") } else { overview.name.as_str() };
        let measured = |how: &str| {
            if only { say!("Measured with {how}", how) } else { say!("{name}: measured with {how}", name = overview.name, how) }
        };
        let mut add =
            |title, text, next_step: String| notices.push(Notice { title, text, is_command: is_command(&next_step), next_step });
        if let Some(how) = overview.no_real_time() {
            let warning = overview.recorded.document.warnings.iter().find(|warning| warning.code == NO_REAL_TIME);
            let next_step = warning.map(|warning| format::clip(&recorded(&warning.next_step), LONGEST)).unwrap_or_default();
            add(word("No real-time rights."), say!("{measured}.", measured = measured(&how)), next_step);
        }
        if let Some(policy) = overview.ordinary() {
            let text = say!("{measured}, as requested. These are not real-time figures.", measured = measured(policy));
            add(word("Ordinary scheduling."), text, String::new());
        }
        if let Some(how) = overview.cut_short() {
            add(word("Incomplete run."), say!("{recording} {how}.", recording = it, how), String::new());
        }
        if overview.lost > 0 {
            let lost = format::counted(overview.lost, "sample");
            let text = say!("{of}{lost}. Their latencies are unknown.", of, lost);
            add(word("Samples lost."), text, String::new());
        }
        if let Some(which) = overview.load_missed() {
            let text = say!("{of}{which}. The figures hold, but not for the requested load.", of, which);
            add(word("Load off target."), text, String::new());
        }
    }
    // What the ns are, before anything is said of them.
    let times = lab::times(all).into_iter();
    notices.splice(0..0, times.map(|(title, text)| Notice { title, text, next_step: String::new(), is_command: false }));
    notices
}

/// Whether a next step is a command to be copied rather than a sentence to be read.
pub(crate) fn is_command(next_step: &str) -> bool {
    // A sentence may lack its full stop, as one that ends with a command does; it still begins with a capital.
    !next_step.trim_end().ends_with('.') && !next_step.trim_start().starts_with(char::is_uppercase)
}

/// A warning, and the recordings that have it.
pub(crate) struct GroupedWarning {
    pub(crate) message: String,
    pub(crate) evidence: String,
    pub(crate) next_step: String,
    pub(crate) is_command: bool,
    /// Empty where all have it.
    pub(crate) recordings: String,
}

/// All warnings but the one at the top, each once.
pub(crate) fn warnings(all: &[Overview<'_>]) -> Vec<GroupedWarning> {
    let mut groups: Vec<(&model::Warning, Vec<&str>)> = Vec::new();
    for overview in all {
        for warning in &overview.recorded.document.warnings {
            if warning.code == NO_REAL_TIME && overview.no_real_time().is_some() {
                continue;
            }
            match groups.iter_mut().find(|(known, _)| *known == warning) {
                Some((_, names)) => names.push(&overview.name),
                None => groups.push((warning, vec![&overview.name])),
            }
        }
    }
    groups
        .into_iter()
        .take(MAX_WARNINGS)
        .map(|(warning, names)| grouped(warning, if names.len() == all.len() { String::new() } else { list(&names) }))
        .collect()
}

/// A warning as it is shown.
pub(crate) fn grouped(warning: &model::Warning, recordings: String) -> GroupedWarning {
    GroupedWarning {
        message: format::clip(&recorded(&warning.message), LONGEST),
        evidence: format::clip(&recorded(&warning.evidence), LONGEST),
        next_step: format::clip(&recorded(&warning.next_step), LONGEST),
        is_command: is_command(&warning.next_step),
        recordings,
    }
}

#[cfg(test)]
mod command_tests {
    use super::is_command;

    #[test]
    fn advice_without_a_full_stop_is_no_command() {
        assert!(is_command("sudo cpupower frequency-set -g performance"));
        assert!(!is_command("Give each virtual CPU a physical one of its own: virsh vcpupin DOMAIN VCPU CPU"));
        assert!(!is_command("Run as root."));
    }
}
