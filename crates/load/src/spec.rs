// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whether a load as written can be run here, before anything is started.
//!
//! Commas separate the options of a spec, so a list of CPUs within one is joined by `+`: `cpu,cpus=0-1+3`. Otherwise it is a
//! CPU list like any other, with `!2` and `all`.

use crate::kinds::{self, Generator, KINDS, Kind};
use plan::{CpuError, CpuId, CpuList, LoadSpec};

/// A load that can be started.
#[derive(Clone, Debug)]
pub struct Checked {
    pub(crate) spec: LoadSpec,
    pub(crate) cpus: Vec<CpuId>,
    pub(crate) kind: &'static Kind,
    pub(crate) tasks: usize,
}

impl Checked {
    /// The load as written.
    #[must_use]
    pub fn spec(&self) -> &LoadSpec {
        &self.spec
    }

    /// Where it will run, ascending.
    #[must_use]
    pub fn cpus(&self) -> &[CpuId] {
        &self.cpus
    }

    /// Of how many processes it will consist.
    #[must_use]
    pub fn tasks(&self) -> usize {
        self.tasks
    }
}

/// What is wrong with a load as written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SpecError {
    /// No such load.
    #[error("there is no load '{name}' (in '{spec}'): the loads are {}", names())]
    UnknownLoad {
        /// The whole load.
        spec: String,
        /// The name written.
        name: String,
    },
    /// A level.
    #[error("'@{level}' in the load '{spec}': levels are not supported by this version: {}", without_level(name))]
    Level {
        /// The whole load.
        spec: String,
        /// The load's name.
        name: String,
        /// What stands after the `@`.
        level: String,
    },
    /// A key the load does not have.
    #[error("'{key}' in the load '{spec}' is no key of {name}: its keys are {known}{}", number_hint(key))]
    UnknownKey {
        /// The whole load.
        spec: String,
        /// The load's name.
        name: String,
        /// The key written.
        key: String,
        /// The keys there are.
        known: String,
    },
    /// A value the key cannot have.
    #[error("'{key}={value}' in the load '{spec}': {key} is {expected}")]
    Value {
        /// The whole load.
        spec: String,
        /// The key.
        key: String,
        /// The value written.
        value: String,
        /// What it can be.
        expected: String,
    },
    /// CPUs that are no list.
    #[error("'{part}' in the load '{spec}' is not a CPU: write numbers and ranges joined by +, such as cpus=0-1 or cpus=0+2")]
    CpuSyntax {
        /// The whole load.
        spec: String,
        /// The part that could not be read.
        part: String,
    },
    /// CPUs that cannot be had.
    #[error("the load '{spec}': {source}")]
    Cpus {
        /// The whole load.
        spec: String,
        /// Why not.
        source: CpuError,
    },
}

fn names() -> String {
    KINDS.iter().map(|kind| kind.name).collect::<Vec<_>>().join(", ")
}

fn without_level(name: &str) -> String {
    match kinds::find(name).and_then(|kind| kind.level) {
        Some(level) => format!("{name} runs at {level:.0} %"),
        None => format!("{name} takes what it gets"),
    }
}

/// `cpus=0,2` is what everyone writes first.
fn number_hint(key: &str) -> &'static str {
    let is_range = key.starts_with(|c: char| c.is_ascii_digit() || c == '!');
    if is_range { "; join CPUs with +, as in cpus=0+2" } else { "" }
}

/// The options of one load.
#[derive(Debug)]
pub(crate) struct Options<'a> {
    spec: &'a LoadSpec,
}

impl<'a> Options<'a> {
    /// What was written for this key.
    pub(crate) fn value(&self, key: &str) -> Option<&'a str> {
        self.spec.options().find(|(known, _)| *known == key).map(|(_, value)| value)
    }

    /// An error about this key's value.
    pub(crate) fn refuse(&self, key: &str, expected: &str) -> SpecError {
        SpecError::Value {
            spec: self.spec.to_string(),
            key: key.to_owned(),
            value: self.value(key).unwrap_or_default().to_owned(),
            expected: expected.to_owned(),
        }
    }
}

/// Checks a load against the loads there are and the CPUs there are. It runs on its `cpus=`, of those `available`, or on all
/// that are `measured`. Pure: nothing is started.
///
/// # Errors
/// The first thing wrong with it, naming the part of the spec.
pub fn check(spec: &LoadSpec, measured: &[CpuId], available: &[CpuId]) -> Result<Checked, SpecError> {
    let (kind, generator) = read(spec)?;
    let text = || spec.to_string();
    let mut cpus = measured.to_vec();
    if let Some(list) = (Options { spec }).value("cpus") {
        let list: CpuList = list.replace('+', ",").parse().map_err(|error| match error {
            CpuError::Syntax { part, .. } => SpecError::CpuSyntax { spec: text(), part },
            source => SpecError::Cpus { spec: text(), source },
        })?;
        cpus = list.resolve(available).map_err(|source| SpecError::Cpus { spec: text(), source })?;
    }
    cpus.sort_unstable();
    cpus.dedup();
    if cpus.is_empty() {
        return Err(SpecError::Cpus { spec: text(), source: CpuError::Empty(CpuList::format(available)) });
    }
    Ok(Checked { spec: spec.clone(), kind, tasks: generator.tasks(cpus.len()), cpus })
}

/// The part of [`check`] that the leader does again on its side.
pub(crate) fn read(spec: &LoadSpec) -> Result<(&'static Kind, Box<dyn Generator>), SpecError> {
    let name = spec.name().to_owned();
    let Some(kind) = kinds::find(&name) else {
        return Err(SpecError::UnknownLoad { spec: spec.to_string(), name });
    };
    if let Some(level) = spec.level() {
        return Err(SpecError::Level { spec: spec.to_string(), name, level: level.to_owned() });
    }
    let known: Vec<&str> = std::iter::once("cpus").chain(kind.keys.iter().copied()).collect();
    if let Some((key, _)) = spec.options().find(|(key, _)| !known.contains(key)) {
        return Err(SpecError::UnknownKey { spec: spec.to_string(), name, key: key.to_owned(), known: known.join(", ") });
    }
    Ok((kind, (kind.read)(&Options { spec })?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn checked(spec: &str) -> Result<Checked, SpecError> {
        let available: Vec<CpuId> = (0..4).map(CpuId).collect();
        check(&spec.parse().unwrap(), &[CpuId(2), CpuId(1), CpuId(2)], &available)
    }

    fn says(spec: &str) -> String {
        checked(spec).unwrap_err().to_string()
    }

    #[test]
    fn where_and_how_many() {
        let places = |spec| {
            let load = checked(spec).unwrap();
            (load.cpus().iter().map(|cpu| cpu.0).collect::<Vec<_>>(), load.tasks())
        };
        assert_eq!(places("cpu"), (vec![1, 2], 2));
        assert_eq!(places("cpu,cpus=0-2"), (vec![0, 1, 2], 3));
        assert_eq!(places("cpu,cpus=0+3"), (vec![0, 3], 2));
        assert_eq!(places("cpu,cpus=all+!0"), (vec![1, 2, 3], 3));
        assert_eq!(places("hackbench"), (vec![1, 2], 400));
        assert_eq!(places("hackbench,groups=1,via=pipe,cpus=0"), (vec![0], 40));
        assert_eq!(places("hackbench,groups=100,via=socket"), (vec![1, 2], 4000));
    }

    #[test]
    fn names_what_is_wrong() {
        for (spec, message) in [
            ("cqu", "there is no load 'cqu' (in 'cqu'): the loads are cpu, hackbench"),
            ("cpu@50%", "'@50%' in the load 'cpu@50%': levels are not supported by this version: cpu runs at 100 %"),
            (
                "hackbench@50%",
                "'@50%' in the load 'hackbench@50%': levels are not supported by this version: hackbench takes what it gets",
            ),
            ("cpu,groups=1", "'groups' in the load 'cpu,groups=1' is no key of cpu: its keys are cpus"),
            (
                "hackbench,threads",
                "'threads' in the load 'hackbench,threads' is no key of hackbench: its keys are cpus, groups, via",
            ),
            (
                "cpu,cpus=0,2",
                "'2' in the load 'cpu,cpus=0,2' is no key of cpu: its keys are cpus; join CPUs with +, as in cpus=0+2",
            ),
            ("hackbench,groups=0", "'groups=0' in the load 'hackbench,groups=0': groups is a number from 1 to 100"),
            ("hackbench,groups", "'groups=' in the load 'hackbench,groups': groups is a number from 1 to 100"),
            ("hackbench,groups=101", "'groups=101' in the load 'hackbench,groups=101': groups is a number from 1 to 100"),
            ("hackbench,via=udp", "'via=udp' in the load 'hackbench,via=udp': via is socket or pipe"),
            (
                "cpu,cpus=0+x",
                "'x' in the load 'cpu,cpus=0+x' is not a CPU: write numbers and ranges joined by +, such as cpus=0-1 or cpus=0+2",
            ),
            ("cpu,cpus=9", "the load 'cpu,cpus=9': CPU 9 cannot be used: this process may run on CPUs 0-3"),
            ("cpu,cpus=!0-3", "the load 'cpu,cpus=!0-3': the CPU list leaves no CPU of 0-3"),
        ] {
            assert_eq!(says(spec), message);
        }
        assert!(matches!(checked("cpu,cpus"), Err(SpecError::CpuSyntax { .. })));
    }

    proptest! {
        #[test]
        fn no_spec_panics(name in "cpu|hackbench|x", rest in "[,=@+!0-9a-z-]{0,20}") {
            if let Ok(spec) = format!("{name}{rest}").parse() {
                let _ = check(&spec, &[CpuId(0)], &[CpuId(0), CpuId(1)]);
            }
        }
    }
}
