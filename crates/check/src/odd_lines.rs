// SPDX-License-Identifier: MIT OR Apache-2.0
//! Lines of a configuration that were written by hand and do not do what they seem to: those that
//! say nothing of an option, say one again, or name one that no kernel had.
//!
//! No file has the names of all options. What is written is compared with those that checks ask
//! for, and with whole families of which every name is known.

use super::asked_options::{ASKED, is_asked};
use super::debug_table::DEBUG_OPTIONS;
use super::words::is_one_off;
use std::collections::HashMap;

/// Beginnings of names, and all options of each that kernels had so far and no check asks for.
const FAMILIES: [(&str, &[&str]); 5] = [
    (
        "PREEMPT",
        &[
            "PREEMPTION",
            "PREEMPTIRQ_DELAY_TEST",
            "PREEMPTIRQ_EVENTS",
            "PREEMPTIRQ_TRACEPOINTS",
            "PREEMPT_AUTO",
            "PREEMPT_BKL",
            "PREEMPT_BUILD",
            "PREEMPT_BUILD_AUTO",
            "PREEMPT_COUNT",
            "PREEMPT_LAZY_BUILD",
            "PREEMPT_NONE_BUILD",
            "PREEMPT_NOTIFIERS",
            "PREEMPT_RCU",
            "PREEMPT_RT_BASE",
            "PREEMPT_RT_NEEDS_BH_LOCK",
            "PREEMPT_RTB",
            "PREEMPT_VOLUNTARY_BUILD",
            "PREEMPT__LL",
        ],
    ),
    (
        "NO_HZ",
        &[
            "NO_HZ",
            "NO_HZ_COMMON",
            "NO_HZ_FULL_ALL",
            "NO_HZ_FULL_SYSIDLE",
            "NO_HZ_FULL_SYSIDLE_SMALL",
            "NO_HZ_IDLE",
        ],
    ),
    ("RCU_NOCB", &["RCU_NOCB_CPU_CB_BOOST", "RCU_NOCB_CPU_NONE", "RCU_NOCB_CPU_ZERO"]),
    ("HIGH_RES", &[]),
    ("CPU_ISOL", &[]),
];

/// An option, its new name, and the version from which on kernels do not know the old one.
const RENAMED: (&str, &str, (u32, u32)) = ("PREEMPT_RT_FULL", "PREEMPT_RT", (5, 4));

/// Whether a kernel of this version has the option under another name.
pub(crate) fn is_of_older(option: &str, version: Option<(u32, u32)>) -> bool {
    option == RENAMED.0 && version.is_some_and(|version| version >= RENAMED.2)
}

/// An asked option that a name looks like: of that length and more, one letter may be wrong.
const MIN_MISSPELLED: usize = 8;

/// Others of nearly the same spelling, which are right.
const RIGHT_TOO: [&str; 3] =
    ["KASAN_SW_TAGS", "XENO_OPT_TIMING_KSCHEDLAT", "XENO_OPT_TIMING_USCHEDLAT"];

fn looks_like(option: &str) -> Option<&'static str> {
    // A configuration has ten thousand options, so most names differ by little.
    let is_near = |asked: &str| {
        asked.len() >= MIN_MISSPELLED
            && asked.len().abs_diff(option.len()) <= 1
            && (asked.as_bytes().first() == option.as_bytes().first()
                || asked.as_bytes().last() == option.as_bytes().last())
    };
    ASKED.into_iter().chain(DEBUG_OPTIONS).find(|asked| is_near(asked) && is_one_off(asked, option))
}

/// The family whose names begin like that of an option.
fn family(option: &str) -> Option<&'static (&'static str, &'static [&'static str])> {
    FAMILIES.iter().find(|(family, _)| option.starts_with(family))
}

/// Whether kernels have an option of this name, as far as is known here.
fn is_known(option: &str) -> bool {
    family(option).is_some_and(|(_, known)| known.contains(&option))
        || is_asked(option)
        || RIGHT_TOO.contains(&option)
}

/// What is wrong with the name of an option.
fn unknown(option: &str, version: Option<(u32, u32)>) -> Option<String> {
    let (old, new, (major, minor)) = RENAMED;
    if is_of_older(option, version) {
        return Some(format!("CONFIG_{old} is CONFIG_{new} from Linux {major}.{minor} on"));
    }
    if option == old && version.is_none() {
        return Some(format!(
            "CONFIG_{old} is of the real-time patches of older kernels alone, and CONFIG_{new} \
             from Linux {major}.{minor} on"
        ));
    }
    if is_known(option) {
        return None;
    }
    let near = looks_like(option);
    near.map(|meant| format!("CONFIG_{option} looks like CONFIG_{meant}")).or_else(|| {
        let (family, _) = family(option)?;
        Some(format!("CONFIG_{option} is none of the options CONFIG_{family}* that teiji knows"))
    })
}

/// More odd lines are counted and not named.
const MAX_NAMED: usize = 6;
/// No kernel has so many options: of further ones it is not known whether they are there twice.
const MAX_OPTIONS: usize = 100_000;
/// Letters of such a line that are shown.
const MAX_SHOWN: usize = 40;

/// What is odd about the lines of a configuration, one after the other.
#[derive(Default)]
pub(crate) struct OddLines {
    /// How many lines there were.
    number: u32,
    /// The last line of each option.
    lines: HashMap<Box<str>, u32>,
    named: Vec<String>,
    more: u32,
}

impl OddLines {
    /// The next line, of a kernel of this version as far as it is known.
    pub(crate) fn see(&mut self, line: &str, version: Option<(u32, u32)>) {
        self.number += 1;
        let Some(odd) = self.odd(line, version) else { return };
        if self.named.len() < MAX_NAMED {
            self.named.push(format!("line {}: {odd}", self.number));
        } else {
            self.more += 1;
        }
    }

    fn odd(&mut self, line: &str, version: Option<(u32, u32)>) -> Option<String> {
        let comment = line.strip_prefix('#').map(str::trim);
        let option = match comment {
            Some(comment) => comment.strip_prefix("CONFIG_")?.strip_suffix(" is not set")?,
            None => match line.strip_prefix("CONFIG_").and_then(|line| line.split_once('=')) {
                Some((option, _)) => option,
                None if line.is_empty() => return None,
                None => {
                    let shown: String = line.chars().take(MAX_SHOWN).collect();
                    return Some(format!("'{shown}' says nothing of an option"));
                }
            },
        };
        let shown: String = option.chars().take(MAX_SHOWN).collect();
        if let Some(before) = self.lines.get_mut(option) {
            let before = std::mem::replace(before, self.number);
            return Some(format!(
                "CONFIG_{shown} is there again (line {before}), and this one counts"
            ));
        }
        if self.lines.len() < MAX_OPTIONS {
            self.lines.insert(option.into(), self.number);
        }
        unknown(&shown, version)
    }

    /// How many options there are, and how many of them are not known here, and may be any
    /// kernel's or none's.
    pub(crate) fn options(&self) -> (usize, usize) {
        (self.lines.len(), self.lines.keys().filter(|option| !is_known(option)).count())
    }

    /// All of it, in the order of the lines.
    pub(crate) fn said(self) -> Vec<String> {
        let OddLines { mut named, more, .. } = self;
        named.extend((more > 0).then(|| format!("{more} lines more are odd")));
        named
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn odd(text: &str, version: Option<(u32, u32)>) -> Vec<String> {
        let mut odd = OddLines::default();
        text.lines().for_each(|line| odd.see(line, version));
        odd.said()
    }

    #[test]
    fn lines_that_say_nothing_are_named() {
        let text = "CONFIG_HZ=250\n\n# a comment\nCONFIG_PREEMT_RT=y\n# CONFIG_NO_HZ_FUL is not \
                    set\nPREEMPT_RT=y\n";
        let expected = [
            "line 4: CONFIG_PREEMT_RT looks like CONFIG_PREEMPT_RT",
            "line 5: CONFIG_NO_HZ_FUL looks like CONFIG_NO_HZ_FULL",
            "line 6: 'PREEMPT_RT=y' says nothing of an option",
        ];
        assert_eq!(odd(text, None), expected);
        let right = "CONFIG_PREEMPT_RCU=y\nCONFIG_PREEMPT_RT=y\n# CONFIG_KMSAN is not \
                     set\nCONFIG_KASAN_SW_TAGS=y\nCONFIG_PREEMPT_DYNAMIC=y\nCONFIG_USB=m\n";
        assert_eq!(odd(right, Some((6, 1))), Vec::<String>::new());
    }

    #[test]
    fn an_option_that_is_there_twice_is_named() {
        let expected = ["line 3: CONFIG_HZ is there again (line 1), and this one counts"];
        assert_eq!(odd("CONFIG_HZ=250\nCONFIG_USB=y\nCONFIG_HZ=1000\n", None), expected);
        let expected = ["line 2: CONFIG_USB is there again (line 1), and this one counts"];
        assert_eq!(odd("CONFIG_USB=y\n# CONFIG_USB is not set\n", None), expected);
    }

    #[test]
    fn options_that_kernels_never_had_are_named() {
        let expected =
            ["line 1: CONFIG_PREEMPT_REALTIME is none of the options CONFIG_PREEMPT* that teiji \
             knows"];
        assert_eq!(odd("CONFIG_PREEMPT_REALTIME=y\n", None), expected);
        let renamed = ["line 1: CONFIG_PREEMPT_RT_FULL is CONFIG_PREEMPT_RT from Linux 5.4 on"];
        assert_eq!(odd("CONFIG_PREEMPT_RT_FULL=y\n", Some((6, 1))), renamed);
        assert_eq!(odd("CONFIG_PREEMPT_RT_FULL=y\n", Some((4, 19))), Vec::<String>::new());
        let of_no_version =
            ["line 1: CONFIG_PREEMPT_RT_FULL is of the real-time patches of older \
                             kernels alone, and CONFIG_PREEMPT_RT from Linux 5.4 on"];
        assert_eq!(odd("CONFIG_PREEMPT_RT_FULL=y\n", None), of_no_version);
    }

    /// Other kernels may have them: that is no fault of the file.
    #[test]
    fn options_that_are_not_known_are_counted() {
        let mut odd = OddLines::default();
        "CONFIG_HZ=250\nCONFIG_FOO_BAR=y\n# CONFIG_LATENCY_NONE is not set\nCONFIG_FOO_BAR=m\n"
            .lines()
            .for_each(|line| odd.see(line, None));
        assert_eq!(odd.options(), (3, 2));
    }

    #[test]
    fn further_odd_lines_are_counted() {
        let all = odd(&"x\n".repeat(9), None);
        assert_eq!((all.len(), all[6].as_str()), (7, "3 lines more are odd"));
    }
}
