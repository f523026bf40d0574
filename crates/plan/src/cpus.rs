// SPDX-License-Identifier: MIT OR Apache-2.0
//! CPUs, and lists of them as cyclictest's users write them: `1-3,!2`.

use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

/// The kernel's number of a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CpuId(pub u32);

impl fmt::Display for CpuId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The CPUs of a machine as one process meets them, each list ascending.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProcessCpus {
    /// Where the process runs unless it asks for something else: the affinity it inherited.
    /// Isolated CPUs are not in it.
    pub inherited: Vec<CpuId>,
    /// What it may ask for: all CPUs that are online and inside its cpuset.
    pub usable: Vec<CpuId>,
    /// CPUs that somebody set apart for what is to be on time, whether the process may use them or
    /// not; none where that was not asked.
    pub set_apart: Vec<CpuId>,
}

impl ProcessCpus {
    /// What is measured where nobody names CPUs: of those that were inherited the ones that are set
    /// apart, or all where none is.
    pub fn by_default(&self) -> Vec<CpuId> {
        let apart = self.inherited.iter().filter(|cpu| self.set_apart.contains(cpu));
        let apart: Vec<CpuId> = apart.copied().collect();
        if apart.is_empty() { self.inherited.clone() } else { apart }
    }
}

/// A list as written, before it is known which CPUs the machine has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CpuList {
    parts: Vec<Part>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    All,
    Range { first: u32, last: u32, exclude: bool },
}

/// Why a list of CPUs cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CpuError {
    /// Not a list at all.
    #[error(
        "'{part}' in the CPU list '{list}' is not a CPU: write numbers and ranges, such as \
         '1-3,!2' or all"
    )]
    Syntax {
        list: String,
        /// The part that could not be read.
        part: String,
    },
    /// The kernel would not run a thread there.
    #[error(
        "CPU {cpu} cannot be used: it is absent, offline or excluded by a cpuset. Usable CPUs: \
         {available}"
    )]
    NotAvailable {
        /// The CPU asked for.
        cpu: u32,
        /// The CPUs that can be used, as a list.
        available: String,
    },
    /// Everything was excluded.
    #[error("the CPU list leaves no CPU of {0}")]
    Empty(String),
}

/// Larger than any machine Linux runs on; keeps `0-4294967295` from filling memory.
const HIGHEST_CPU: u32 = 65_535;

impl FromStr for CpuList {
    type Err = CpuError;

    fn from_str(list: &str) -> Result<Self, CpuError> {
        let parts = list
            .split(',')
            .map(|part| Part::read(part.trim()).ok_or_else(|| syntax(list, part)))
            .collect::<Result<_, _>>()?;
        Ok(CpuList { parts })
    }
}

fn syntax(list: &str, part: &str) -> CpuError {
    CpuError::Syntax { list: list.to_owned(), part: part.to_owned() }
}

impl Part {
    fn read(part: &str) -> Option<Part> {
        if part == "all" {
            return Some(Part::All);
        }
        let (exclude, range) = part.strip_prefix('!').map_or((false, part), |rest| (true, rest));
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let number = |text: &str| text.parse::<u32>().ok().filter(|cpu| *cpu <= HIGHEST_CPU);
        let (first, last) = (number(first)?, number(last)?);
        (first <= last).then_some(Part::Range { first, last, exclude })
    }
}

impl CpuList {
    /// The CPUs meant, in ascending order, of those that can be used. A list of exclusions alone
    /// starts from all.
    ///
    /// # Errors
    /// A CPU that was asked for and is not available, or nothing left.
    pub fn resolve(&self, available: &[CpuId]) -> Result<Vec<CpuId>, CpuError> {
        let all: BTreeSet<CpuId> = available.iter().copied().collect();
        let includes = self
            .parts
            .iter()
            .any(|part| matches!(part, Part::All | Part::Range { exclude: false, .. }));
        let mut chosen = if includes { BTreeSet::new() } else { all.clone() };
        for part in &self.parts {
            match *part {
                Part::All => chosen.extend(&all),
                Part::Range { first, last, exclude } => {
                    if exclude {
                        chosen.retain(|cpu| !(first..=last).contains(&cpu.0));
                    } else {
                        chosen.extend((first..=last).map(CpuId));
                    }
                }
            }
        }
        if let Some(missing) = chosen.iter().find(|cpu| !all.contains(cpu)) {
            return Err(CpuError::NotAvailable {
                cpu: missing.0,
                available: format_list(available),
            });
        }
        if chosen.is_empty() {
            return Err(CpuError::Empty(format_list(available)));
        }
        Ok(chosen.into_iter().collect())
    }

    /// The last CPU that it names, be it to leave it out.
    pub fn largest(&self) -> Option<CpuId> {
        let last = |part: &Part| match part {
            Part::All => None,
            Part::Range { last, .. } => Some(CpuId(*last)),
        };
        self.parts.iter().filter_map(last).max()
    }

    /// `0-3,5`: the shortest list that names these CPUs.
    pub fn format(cpus: &[CpuId]) -> String {
        format_list(cpus)
    }
}

fn format_list(cpus: &[CpuId]) -> String {
    let sorted: BTreeSet<u32> = cpus.iter().map(|cpu| cpu.0).collect();
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for cpu in sorted {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == cpu => *last = cpu,
            _ => ranges.push((cpu, cpu)),
        }
    }
    let text = |(first, last): (u32, u32)| {
        if first == last { first.to_string() } else { format!("{first}-{last}") }
    };
    ranges.into_iter().map(text).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn resolve(list: &str, available: u32) -> Result<Vec<u32>, CpuError> {
        let available: Vec<CpuId> = (0..available).map(CpuId).collect();
        Ok(list.parse::<CpuList>()?.resolve(&available)?.into_iter().map(|cpu| cpu.0).collect())
    }

    #[test]
    fn lists_as_people_write_them() {
        assert_eq!(resolve("1-3,!2", 4), Ok(vec![1, 3]));
        assert_eq!(resolve("0", 4), Ok(vec![0]));
        assert_eq!(resolve("!0", 4), Ok(vec![1, 2, 3]));
        assert_eq!(resolve("all,!3", 4), Ok(vec![0, 1, 2]));
        assert_eq!(resolve("3,1,1", 4), Ok(vec![1, 3]));
    }

    #[test]
    fn a_cpu_that_is_not_there_is_an_error() {
        assert_eq!(
            resolve("99", 2),
            Err(CpuError::NotAvailable { cpu: 99, available: "0-1".into() })
        );
        assert_eq!(resolve("0-1,!0-1", 2), Err(CpuError::Empty("0-1".into())));
    }

    #[test]
    fn no_list_of_cpus() {
        for list in ["", "a", "3-1", "1-", "-1", "1,,2", "0-4294967295", "!!1"] {
            assert!(matches!(resolve(list, 4), Err(CpuError::Syntax { .. })), "{list}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(
            cpus in proptest::collection::btree_set(0_u32..200, 1..50),
        ) {
            let ids: Vec<CpuId> = cpus.into_iter().map(CpuId).collect();
            let list: CpuList = CpuList::format(&ids).parse().unwrap();
            prop_assert_eq!(list.resolve(&ids), Ok(ids));
        }
    }
}
