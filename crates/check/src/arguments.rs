// SPDX-License-Identifier: MIT OR Apache-2.0
//! The kernel's command line: arguments, and the lists of CPUs in them.
//!
//! Syntax: Documentation/admin-guide/kernel-parameters.rst, and lib/bitmap-str.c, lib/cmdline.c and
//! kernel/sched/isolation.c of the kernel. A list of CPUs has ranges (`1-3`, from Linux 4.9 on
//! `1-9:2/3` for the first two of each three), `N` for the last CPU (5.13), and `all` (5.14, in
//! rcu_nocbs before). What is empty between commas counts for nothing. That of isolcpus may begin
//! with flags (4.15): whatever begins with a letter is one to the kernel, so `all` and `N` too.
//! From 5.8 on it skips those that it does not know.

use super::kernel_arguments::OBEYED_BY_BEGINNING;
use super::sets::sorted;
use model::{Phrase, phrase};
use plan::CpuId;

/// More than any machine has.
const HIGHEST: u32 = 65_535;

/// Of these the kernel keeps the first from this version on. It compares others with it, and passes
/// over those that differ.
const FIRST_COUNTS: [&str; 2] = ["isolcpus", "nohz_full"];
const FIRST_COUNTS_FROM: (u32, u32) = (4, 15);
const SKIPS_FLAGS_FROM: (u32, u32) = (5, 8);
const LISTS_OF_FLAGS_FROM: (u32, u32) = (5, 18);

/// Arguments of the kernel; what follows `--` is for init.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Arguments {
    words: Vec<Word>,
    /// The kernel's. One that is not known is taken for a newer one.
    version: Option<(u32, u32)>,
}

impl Arguments {
    /// Of a kernel of this version, where that is known.
    pub(crate) fn of(command_line: &str, version: Option<(u32, u32)>) -> Arguments {
        let mut is_quoted = false;
        let words = command_line.split(|letter: char| {
            is_quoted ^= letter == '"';
            !is_quoted && letter.is_ascii_whitespace()
        });
        let words = words.filter(|word| !word.is_empty()).take_while(|word| *word != "--");
        Arguments { words: words.map(split).collect(), version }
    }

    fn is_since(&self, first: (u32, u32)) -> bool {
        self.version.is_none_or(|version| version >= first)
    }

    /// That of several such arguments which counts.
    fn that_counts(&self, name: &str) -> Option<&Word> {
        let mut words = self.of_name(name);
        if self.is_since(FIRST_COUNTS_FROM) && FIRST_COUNTS.contains(&name) {
            words.next()
        } else {
            words.next_back()
        }
    }

    /// The value of that of several such arguments which counts; the empty text where it has none.
    pub(crate) fn value(&self, name: &str) -> Option<&str> {
        self.that_counts(name).map(value_of)
    }

    /// Each such argument, in order. A dash and an underscore in its name are the same to the
    /// kernel.
    fn of_name(&self, name: &str) -> impl DoubleEndedIterator<Item = &Word> {
        let name = name.replace('-', "_");
        self.words.iter().filter(move |(other, _)| {
            let other = other.replace('-', "_");
            other == name
                || OBEYED_BY_BEGINNING.contains(&name.as_str()) && other.starts_with(&name)
        })
    }

    /// The value of each such argument, in order.
    pub(crate) fn values(&self, name: &str) -> impl DoubleEndedIterator<Item = &str> {
        self.of_name(name).map(value_of)
    }

    /// Arguments of this name, as they were written, that differ from the one that counts.
    pub fn passed_over(&self, name: &str) -> Vec<String> {
        let counts = self.value(name);
        let mut others: Vec<String> = self
            .of_name(name)
            .filter(|word| Some(value_of(word)) != counts)
            .filter(|word| {
                let is_added = |counts| self.adds_flags(counts, value_of(word));
                name != "isolcpus" || !counts.is_some_and(is_added)
            })
            .map(as_written)
            .collect();
        others.dedup();
        others
    }

    /// Whether a second isolcpus= has flags that the kernel takes beside those of the first: with
    /// the same list, or from 5.18 on with another one, which then is for these flags alone.
    fn adds_flags(&self, first: &str, second: &str) -> bool {
        let flags = |value| match known_flags(value) {
            flags if flags.is_empty() => vec!["domain"],
            flags => flags,
        };
        let has = |flag: &&str| flags(first).contains(flag);
        let cpus = |value| cpus("isolcpus", value, CpuId(HIGHEST)).ok();
        let (second, cpus_of_second) = (flags(second), cpus(second));
        let is_taken = cpus(first) == cpus_of_second
            || self.is_since(LISTS_OF_FLAGS_FROM) && !second.iter().any(has);
        self.is_since(FIRST_COUNTS_FROM)
            && cpus_of_second.is_some()
            && is_taken
            && !second.iter().all(has)
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.that_counts(name).is_some()
    }

    /// Whether a switch such as nohz= is off, as the kernel reads what is on or off.
    pub(crate) fn is_switched_off(&self, name: &str) -> bool {
        match self.value(name).map(str::as_bytes) {
            Some([b'o' | b'O', second, ..]) => b"fF".contains(second),
            Some([first, ..]) => b"nNfF0".contains(first),
            _ => false,
        }
    }

    /// An argument as it was written.
    pub fn written(&self, name: &str) -> Option<String> {
        self.that_counts(name).map(as_written)
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
            cpus(name, list, highest)
        })
    }

    /// Flags of isolcpus= that the kernel does not know and skips.
    pub(crate) fn skipped_flags(&self) -> Vec<&str> {
        self.value("isolcpus")
            .filter(|_| self.is_since(SKIPS_FLAGS_FROM))
            .map(unknown_flags)
            .unwrap_or_default()
    }

    /// Each name, and its value where it has one.
    pub(crate) fn words(&self) -> impl Iterator<Item = (&str, Option<&str>)> {
        self.words.iter().map(|(name, value)| (name.as_str(), value.as_deref()))
    }
}

/// A name, and its value where it has one.
type Word = (String, Option<String>);

/// Quotes may be around all of it, or around its value.
fn split(word: &str) -> Word {
    let unquoted = |text: &str| match text.strip_prefix('"') {
        Some(rest) => rest.strip_suffix('"').unwrap_or(rest).to_owned(),
        None => text.to_owned(),
    };
    let word = unquoted(word);
    match word.split_once('=') {
        Some((name, value)) => (name.to_owned(), Some(unquoted(value))),
        None => (word, None),
    }
}

fn value_of((_, value): &Word) -> &str {
    value.as_deref().unwrap_or_default()
}

fn as_written(word: &Word) -> String {
    let (name, value) = (&word.0, value_of(word));
    if value.is_empty() { name.clone() } else { format!("{name}={value}") }
}

/// Flags that may stand before the list of isolcpus.
const FLAGS: [&str; 3] = ["nohz", "domain", "managed_irq"];

/// The flags of an isolcpus, and the list after them.
fn flags_and_list(value: &str) -> Result<(Vec<&str>, &str), Phrase> {
    let (mut flags, mut list) = (Vec::new(), value);
    while list.starts_with(|letter: char| letter.is_ascii_alphabetic()) {
        let (flag, rest) =
            list.split_once(',').ok_or_else(|| phrase!("flag-without-list", flag = list))?;
        if !flag.chars().all(|letter| letter.is_ascii_alphabetic() || letter == '_') {
            return Err(phrase!("not-a-range", text = flag));
        }
        flags.push(flag);
        list = rest;
    }
    Ok((flags, list))
}

/// The flags of an isolcpus; none where the kernel refuses it.
fn flags(value: &str) -> Vec<&str> {
    flags_and_list(value).map(|(flags, _)| flags).unwrap_or_default()
}

/// Those of the flags of an isolcpus that kernels know.
pub(crate) fn known_flags(value: &str) -> Vec<&str> {
    flags(value).into_iter().filter(|flag| FLAGS.contains(flag)).collect()
}

/// Those that no kernel knows.
pub(crate) fn unknown_flags(value: &str) -> Vec<&str> {
    flags(value).into_iter().filter(|flag| !FLAGS.contains(flag)).collect()
}

/// The CPUs of the list in an argument of this name.
pub fn cpus(name: &str, value: &str, highest: CpuId) -> Result<Vec<CpuId>, Phrase> {
    let list = if name == "isolcpus" { flags_and_list(value)?.1 } else { value };
    let mut cpus = Vec::new();
    let is_between = |letter: char| letter == ',' || letter.is_ascii_whitespace();
    for part in list.split(is_between).filter(|part| !part.is_empty()) {
        cpus.extend(range(part, highest).ok_or_else(|| phrase!("not-a-range", text = part))?);
    }
    if cpus.is_empty() { Err(phrase!("not-a-range", text = list)) } else { Ok(sorted(cpus)) }
}

/// The CPUs of a part of a list.
fn range(part: &str, highest: CpuId) -> Option<impl Iterator<Item = CpuId>> {
    let number = |text: &str| match text {
        "N" => Some(highest.0),
        _ => text.parse().ok().filter(|_| text.bytes().all(|byte| byte.is_ascii_digit())),
    };
    let (range, group) =
        part.split_once(':').map_or((part, None), |(range, group)| (range, Some(group)));
    let (first, last) = match range.split_once('-') {
        _ if range.eq_ignore_ascii_case("all") => (0, highest.0),
        Some((first, last)) => (number(first)?, number(last)?),
        // Only a range has groups.
        None if group.is_some() => return None,
        None => (number(range)?, number(range)?),
    };
    let (used, size) = match group.map(|group| group.split_once('/')) {
        None => (1, 1),
        Some(group) => {
            let (used, size) = group?;
            (number(used)?, number(size)?)
        }
    };
    let is_valid = first <= last && last <= HIGHEST && size > 0 && used <= size;
    is_valid.then(|| (first..=last).filter(move |cpu| (cpu - first) % size < used).map(CpuId))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn list(text: &str) -> Option<Vec<u32>> {
        list_of("nohz_full", text)
    }

    fn list_of(name: &str, text: &str) -> Option<Vec<u32>> {
        cpus(name, text, CpuId(7)).ok().map(|cpus| cpus.into_iter().map(|cpu| cpu.0).collect())
    }

    #[test]
    fn lists_as_the_kernel_reads_them() {
        for (text, expected) in [
            ("1-3", &[1, 2, 3][..]),
            ("0", &[0]),
            ("5-N", &[5, 6, 7]),
            ("0-7:2/4", &[0, 1, 4, 5]),
            ("all", &[0, 1, 2, 3, 4, 5, 6, 7]),
            ("ALL:1/N", &[0, 7]),
            ("3,1,1-2", &[1, 2, 3]),
            ("1-2,", &[1, 2]),
            (",,1,,2", &[1, 2]),
        ] {
            assert_eq!(list(text).as_deref(), Some(expected), "{text}");
        }
        for text in [
            "x", "3-1", "1-", "0-7:2", "0-3:1/0", "0-3:3/2", "3:1/2", "+3", "99999999", "", ",",
            "domain,1",
        ] {
            assert_eq!(list(text), None, "{text}");
        }
    }

    /// A flag that the kernel does not know was taken for a CPU, and the list for none.
    #[test]
    fn flags_are_of_isolcpus_and_before_its_list() {
        for (text, expected, unknown) in [
            ("nohz,domain,managed_irq,2-3", &[2, 3][..], &[][..]),
            ("2-7,", &[2, 3, 4, 5, 6, 7], &[]),
            ("domain,5-N", &[5, 6, 7], &[]),
            ("managedirq,domain,1-2", &[1, 2], &["managedirq"]),
            ("all,1", &[1], &["all"]),
        ] {
            assert_eq!(list_of("isolcpus", text).as_deref(), Some(expected), "{text}");
            assert_eq!(unknown_flags(text), unknown, "{text}");
        }
        for text in ["all", "N", "domain", "domain,all", "managed-irq,2", "2,domain", "domain,"] {
            assert_eq!(list_of("isolcpus", text), None, "{text}");
        }
    }

    #[test]
    fn quotes_are_taken_off() {
        let line = "\"isolcpus=2-7\" nohz_full=\"1\" \"dyndbg=file x +p\" x=\"a b\" y=\"a \"b";
        let arguments = Arguments::of(line, None);
        for (name, value) in
            [("isolcpus", "2-7"), ("nohz_full", "1"), ("dyndbg", "file x +p"), ("x", "a b")]
        {
            assert_eq!(arguments.value(name), Some(value));
        }
        assert_eq!(arguments.value("y"), Some("a \"b"));
        assert_eq!(arguments.words().count(), 5);
    }

    #[test]
    fn a_name_that_is_obeyed_by_its_beginning() {
        let arguments = Arguments::of("nowatchdogs threadirqsx", None);
        assert_eq!(arguments.written("nowatchdog").as_deref(), Some("nowatchdogs"));
        assert!(!arguments.has("threadirqs"));
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

    /// Each flag has a list of its own since 5.18; before, all have the same.
    #[test]
    fn a_second_isolation_may_add_flags() {
        for (second, added, added_before) in [
            ("domain,2-3", true, true),
            ("2-3", true, true),
            ("managed_irq,domain,2-3", true, true),
            ("domain,1-3", true, false),
            ("managed_irq,domain,1-3", false, false),
            ("managed_irq,1-3", false, false),
            ("domain", false, false),
        ] {
            let line = format!("isolcpus=managed_irq,2-3 isolcpus={second}");
            for (version, is_added) in [((6, 1), added), ((5, 4), added_before)] {
                let passed_over = Arguments::of(&line, Some(version)).passed_over("isolcpus");
                assert_eq!(passed_over.is_empty(), is_added, "{second} {version:?}");
            }
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "[0-9N:/,-]{0,16}|\\PC*") {
            let _ = (list_of("isolcpus", &text), list(&text), Arguments::of(&text, None));
        }
    }
}
