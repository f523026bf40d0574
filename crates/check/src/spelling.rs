// SPDX-License-Identifier: MIT OR Apache-2.0
//! Kernel arguments that do nothing, because their name or their value is misspelled.

use super::arguments;
use super::finding::Seen;
use super::isolating::highest_cpu;
use super::machine::Machine;
use super::words::{is_one_off, listed};
use model::{LATENCY_ARGUMENTS, Phrase, phrase};
use plan::CpuId;

/// Others of nearly the same spelling, which are right.
const RIGHT_TOO: [&str; 4] = ["noirqdebug", "notsc", "noidle", "nopti"];
/// Those of which the kernel takes these words alone.
const VALUES: [(&str, &[&str]); 3] = [
    ("preempt", &["none", "voluntary", "full", "lazy"]),
    ("idle", &["poll", "halt", "nomwait"]),
    ("transparent_hugepage", &["always", "madvise", "never"]),
];
/// Its value 1 limits USB, and where Ethernet is connected by it that too.
const SLOW_USB: (&str, &str) = ("dwc_otg.speed", "1");

/// A kernel argument that is misspelled, and does nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Misspelled {
    pub written: String,
    /// What it looks like, in words.
    pub because: Phrase,
    /// What to do: an argument in its place, or to remove it.
    pub action: Phrase,
}

/// Arguments of the running kernel that are misspelled.
pub fn misspelled_arguments(machine: &Machine<'_>) -> Vec<Misspelled> {
    machine
        .arguments
        .words()
        .filter_map(|(name, value)| {
            name_of(machine, name, value).or_else(|| value_of(name, value?))
        })
        .collect()
}

pub(crate) fn spelling(machine: &Machine<'_>) -> Option<Seen> {
    let wrong = misspelled_arguments(machine);
    if wrong.is_empty() {
        return None;
    }
    let (found, actions): (Vec<Phrase>, Vec<Phrase>) = wrong
        .into_iter()
        .map(|Misspelled { written, because, action }| {
            (phrase!("misspelled", written, because), action)
        })
        .unzip();
    Seen::bad(Phrase::joined("sentences", found), Phrase::joined("and", actions))
}

fn name_of(machine: &Machine<'_>, name: &str, value: Option<&str>) -> Option<Misspelled> {
    let plain = name.replace('-', "_");
    if LATENCY_ARGUMENTS.contains(&plain.as_str())
        || RIGHT_TOO.contains(&plain.as_str())
        || name.len() < 5
    {
        return None;
    }
    let meant = LATENCY_ARGUMENTS
        .into_iter()
        .find(|known| known.len() >= 5 && is_one_off(known, &plain))?;
    let with_value =
        |name: &str| value.map_or_else(|| name.to_owned(), |value| format!("{name}={value}"));
    let (written, corrected) = (with_value(name), with_value(meant));
    let argument = written.clone();
    let action = if let Some(right) = machine.arguments.written(meant) {
        phrase!("remove-the-other-is-there", written = argument, right)
    } else if (meant, value) == (SLOW_USB.0, Some(SLOW_USB.1)) {
        phrase!("remove-slow-usb", written = argument, meant = corrected)
    } else if is_harmful(machine, meant, value) {
        phrase!("remove-and-ask", written = argument)
    } else {
        phrase!("replace-or-remove", written = argument, meant = corrected)
    };
    Some(Misspelled { written, because: phrase!("looks-like", meant), action })
}

/// Whether a list of CPUs would isolate CPU 0, or cannot be read.
fn is_harmful(machine: &Machine<'_>, name: &str, value: Option<&str>) -> bool {
    let list = value.map(|value| arguments::cpus(value, highest_cpu(machine)));
    match name {
        "isolcpus" | "nohz_full" => {
            list.and_then(Result::ok).is_none_or(|cpus| cpus.contains(&CpuId(0)))
        }
        "irqaffinity" => list.is_none_or(|list| list.is_err()),
        _ => false,
    }
}

/// A value that is none of those which the kernel takes.
fn value_of(name: &str, value: &str) -> Option<Misspelled> {
    let plain = name.replace('-', "_");
    let (_, words) = VALUES.into_iter().find(|(known, _)| *known == plain)?;
    if words.contains(&value) {
        return None;
    }
    let written = format!("{name}={value}");
    let argument = written.clone();
    let (because, action) = match words.iter().find(|word| is_one_off(word, value)) {
        Some(word) => {
            let meant = format!("{name}={word}");
            (
                phrase!("looks-like", meant = meant.clone()),
                phrase!("replace-or-remove", written = argument, meant),
            )
        }
        None => (
            phrase!("none-of", words = listed(words.iter().map(|word| format!("{name}={word}")))),
            phrase!("remove-or-replace", written = argument),
        ),
    };
    Some(Misspelled { written, because, action })
}

#[cfg(test)]
mod tests {
    use super::is_one_off;
    use crate::one_finding::finding;
    use crate::tests::files::lay;

    fn said(line: &str) -> Option<(String, String)> {
        let (_dir, root) = lay(&[("proc/cmdline", line), ("sys/devices/system/cpu/online", "0-3")]);
        finding(&root, "arguments-spelled", None).map(|finding| (finding.found, finding.action))
    }

    #[test]
    fn the_argument_that_was_meant_is_said_exactly() {
        for (line, action) in [
            ("isolcpu=1-3", "replace isolcpu=1-3 by isolcpus=1-3, or remove it"),
            ("isolcpu=1-3 isolcpus=2-3", "remove isolcpu=1-3 (isolcpus=2-3 is there too)"),
            ("nohz_ful=0-3", "remove nohz_ful=0-3 (teiji check --advise says what it should be)"),
            ("nosoftlockp", "replace nosoftlockp by nosoftlockup, or remove it"),
            ("preempt=ful", "replace preempt=ful by preempt=full, or remove it"),
            ("preempt=rt", "remove preempt=rt, or replace it by one of these"),
        ] {
            assert_eq!(said(line).unwrap().1, action, "{line}");
        }
        assert_eq!(
            said("isolcpus=1 preempt=full idle=poll nopti isolcpu"),
            said("isolcpu isolcpus=1")
        );
        assert_eq!(said("preempt=full idle=poll transparent_hugepage=never quiet"), None);
        let none = "preempt=rt, which is none of preempt=none, preempt=voluntary, preempt=full \
                    and preempt=lazy";
        assert_eq!(said("preempt=rt").unwrap().0, none);
    }

    /// Spelled right, it would slow Ethernet down to 12 Mbit/s.
    #[test]
    fn no_correction_slows_usb_down() {
        let (found, action) = said("dwg_otg.speed=1").unwrap();
        assert_eq!(found, "dwg_otg.speed=1, which looks like dwc_otg.speed");
        assert!(
            action.starts_with("remove dwg_otg.speed=1 (") && action.ends_with("to 12 Mbit/s)"),
            "{action}"
        );
    }

    #[test]
    fn one_letter_off() {
        for (one, other) in [
            ("dwc_otg.speed", "dwg_otg.speed"),
            ("isolcpus", "isolcpu"),
            ("nohz_full", "nohz_fulll"),
            ("irqaffinity", "iqraffinity"),
        ] {
            assert!(is_one_off(one, other) && is_one_off(other, one), "{one} {other}");
        }
        for (one, other) in [
            ("isolcpus", "isolcpus"),
            ("nohz", "nohz_full"),
            ("tsc", "idle"),
            ("preempt", "preempter"),
            ("abcd", "badc"),
        ] {
            assert!(!is_one_off(one, other), "{one} {other}");
        }
    }
}
