// SPDX-License-Identifier: MIT OR Apache-2.0
//! The kernel's command line: arguments, and the lists of CPUs in them.
//!
//! Syntax: Documentation/admin-guide/kernel-parameters.rst of the kernel. A list of CPUs has ranges
//! (`1-3`, `1-9:2/3` for the first two of each three), and `N` for the last CPU; that of isolcpus
//! may begin with flags.

use super::sets::sorted;
use model::{Phrase, phrase};
use plan::CpuId;

/// More than any machine has.
const HIGHEST: u32 = 65_535;

/// Of these the kernel keeps the first from this version on. It compares others with it, and passes
/// over those that differ.
const FIRST_COUNTS: [&str; 2] = ["isolcpus", "nohz_full"];
const FIRST_COUNTS_FROM: (u32, u32) = (4, 15);

/// Arguments of the kernel; what follows `--` is for init.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Arguments {
    words: Vec<(String, Option<String>)>,
    /// Whether the first of several lists of CPUs to isolate counts.
    keeps_first: bool,
}

impl Arguments {
    /// Of a kernel of this version. One whose version is not known is taken for a newer one.
    pub(crate) fn of(command_line: &str, version: Option<(u32, u32)>) -> Arguments {
        let words = command_line.split_ascii_whitespace().take_while(|word| *word != "--");
        let keeps_first = version.is_none_or(|version| version >= FIRST_COUNTS_FROM);
        Arguments { words: words.map(split).collect(), keeps_first }
    }

    /// The value of that of several such arguments which counts; the empty text where it has none.
    pub(crate) fn value(&self, name: &str) -> Option<&str> {
        let mut values = self.values(name);
        if self.keeps_first && FIRST_COUNTS.contains(&name) {
            values.next()
        } else {
            values.next_back()
        }
    }

    /// The value of each such argument, in order. A dash and an underscore in its name are the
    /// same to the kernel.
    pub(crate) fn values(&self, name: &str) -> impl DoubleEndedIterator<Item = &str> {
        let name = name.replace('-', "_");
        let same = move |other: &str| other.replace('-', "_") == name;
        self.words
            .iter()
            .filter(move |(other, _)| same(other))
            .map(|(_, value)| value.as_deref().unwrap_or_default())
    }

    /// Arguments of this name, as they were written, that differ from the one that counts.
    pub fn passed_over(&self, name: &str) -> Vec<String> {
        let counts = self.value(name);
        let mut others: Vec<String> = self
            .values(name)
            .filter(|value| Some(*value) != counts)
            .map(|value| as_written(name, value))
            .collect();
        others.dedup();
        others
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.value(name).is_some()
    }

    /// An argument as it was written.
    pub fn written(&self, name: &str) -> Option<String> {
        self.value(name).map(|value| as_written(name, value))
    }

    /// Takes an argument in place of all that have its name.
    pub fn replace(&mut self, argument: &str) {
        let (name, value) = split(argument);
        let plain = name.replace('-', "_");
        self.words.retain(|(other, _)| other.replace('-', "_") != plain);
        self.words.push((name, value));
    }

    /// The CPUs that an argument lists; an error where its list cannot be read.
    pub(crate) fn cpus(&self, name: &str, highest: CpuId) -> Option<Result<Vec<CpuId>, Phrase>> {
        let list = self.value(name)?;
        // Without a list the kernel offloads from no CPU yet, and can do so later.
        Some(if name == "rcu_nocbs" && list.is_empty() {
            Ok(Vec::new())
        } else {
            cpus(list, highest)
        })
    }

    /// Each name, and its value where it has one.
    pub(crate) fn words(&self) -> impl Iterator<Item = (&str, Option<&str>)> {
        self.words.iter().map(|(name, value)| (name.as_str(), value.as_deref()))
    }
}

fn split(word: &str) -> (String, Option<String>) {
    match word.split_once('=') {
        Some((name, value)) => (name.to_owned(), Some(value.trim_matches('"').to_owned())),
        None => (word.to_owned(), None),
    }
}

fn as_written(name: &str, value: &str) -> String {
    if value.is_empty() { name.to_owned() } else { format!("{name}={value}") }
}

/// Flags that may stand before the list of isolcpus.
const FLAGS: [&str; 3] = ["nohz", "domain", "managed_irq"];

/// The CPUs of the list in an argument.
pub fn cpus(text: &str, highest: CpuId) -> Result<Vec<CpuId>, Phrase> {
    let mut cpus = Vec::new();
    for part in text.split(',').filter(|part| !FLAGS.contains(part)) {
        let (range, group) =
            part.split_once(':').map_or((part, None), |(range, group)| (range, Some(group)));
        let number = |text: &str| {
            if text == "N" {
                Some(highest.0)
            } else {
                text.parse().ok().filter(|cpu| *cpu <= HIGHEST)
            }
        };
        let (first, last) = match range {
            "all" => (Some(0), Some(highest.0)),
            _ => range.split_once('-').map_or((number(range), number(range)), |(first, last)| {
                (number(first), number(last))
            }),
        };
        let (used, size) = match group {
            None => (Some(1), Some(1)),
            Some(group) => group
                .split_once('/')
                .map_or((None, None), |(used, size)| (used.parse().ok(), size.parse().ok())),
        };
        match (first, last, used, size) {
            (Some(first), Some(last), Some(used), Some(size)) if first <= last && size > 0 => {
                cpus.extend(
                    (first..=last).filter(|cpu: &u32| (cpu - first) % size < used).map(CpuId),
                );
            }
            _ => return Err(phrase!("not-a-range", text = part)),
        }
    }
    Ok(sorted(cpus))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn list(text: &str) -> Option<Vec<u32>> {
        cpus(text, CpuId(7)).ok().map(|cpus| cpus.into_iter().map(|cpu| cpu.0).collect())
    }

    #[test]
    fn lists_as_the_kernel_reads_them() {
        for (text, expected) in [
            ("1-3", &[1, 2, 3][..]),
            ("0", &[0]),
            ("nohz,domain,managed_irq,2-3", &[2, 3]),
            ("domain,5-N", &[5, 6, 7]),
            ("0-7:2/4", &[0, 1, 4, 5]),
            ("all", &[0, 1, 2, 3, 4, 5, 6, 7]),
            ("3,1,1-2", &[1, 2, 3]),
        ] {
            assert_eq!(list(text).as_deref(), Some(expected), "{text}");
        }
        for text in ["x", "3-1", "1-", "0-7:2", "0-3:1/0", "99999999"] {
            assert_eq!(list(text), None, "{text}");
        }
    }

    #[test]
    fn the_last_of_two_counts_and_dashes_are_underscores() {
        let arguments = Arguments::of(
            "irqaffinity=1 quiet irqaffinity=2-3 rcu-nocbs=1 init=\"/bin/sh\" -- nohz=off",
            None,
        );
        assert_eq!(arguments.value("irqaffinity"), Some("2-3"));
        assert_eq!(arguments.passed_over("irqaffinity"), ["irqaffinity=1"]);
        assert!(
            arguments.passed_over("rcu_nocbs").is_empty()
                && arguments.passed_over("nohz_full").is_empty()
        );
        assert_eq!(arguments.value("rcu_nocbs"), Some("1"));
        assert_eq!(arguments.value("quiet"), Some(""));
        assert_eq!(arguments.value("nohz"), None);
        assert_eq!(arguments.written("quiet").as_deref(), Some("quiet"));
    }

    /// A kernel booted with `isolcpus=1 isolcpus=0-1` isolated CPU 1.
    #[test]
    fn of_two_isolations_the_first_counts_since_4_15() {
        for (version, counts, passed_over) in [
            (Some((6, 1)), "1", "0-1"),
            (None, "1", "0-1"),
            (Some((4, 15)), "1", "0-1"),
            (Some((4, 14)), "0-1", "1"),
        ] {
            let arguments =
                Arguments::of("isolcpus=1 isolcpus=0-1 nohz_full=1 nohz_full=1", version);
            assert_eq!(arguments.value("isolcpus"), Some(counts), "{version:?}");
            assert_eq!(
                arguments.passed_over("isolcpus"),
                [format!("isolcpus={passed_over}")],
                "{version:?}"
            );
            assert!(arguments.passed_over("nohz_full").is_empty());
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "[0-9N:/,-]{0,16}|\\PC*") {
            let _ = (cpus(&text, CpuId(7)), Arguments::of(&text, None));
        }
    }
}
