// SPDX-License-Identifier: MIT OR Apache-2.0
//! The options of a load as written, and what is wrong with them.

use crate::limits;
use plan::{LoadSpec, Nanos, Policy, Unit};
use std::fmt::Display;
use std::ops::RangeInclusive;
use std::str::FromStr;
use std::time::Duration;

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct CommonOptions {
    /// CPU use to be reached on each CPU, percent; none for what it gets.
    pub level: Option<f64>,
    pub period: Duration,
    /// Nice level of the tasks.
    pub nice: i32,
    pub policy: Policy,
    /// Their real-time priority, 0 where the policy has none.
    pub prio: u8,
    /// Since measuring began, when they begin to work; none: before that.
    pub start: Option<Duration>,
    /// Since measuring began, when they are killed; none: after that.
    pub stop: Option<Duration>,
    /// What they draw at random follows from this; 0 without a phase. It is not written, but comes
    /// with the order.
    pub seed: u64,
}

impl CommonOptions {
    /// Whether its tasks begin to work, or are killed, while measuring.
    pub(crate) const fn has_times(&self) -> bool {
        self.start.is_some() || self.stop.is_some()
    }
}

/// What is wrong with a load as written, for whoever wrote it: the part of it, and what would be
/// right.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SpecError(pub(crate) String);

impl SpecError {
    /// What is wrong with a load as a whole.
    pub(crate) fn whole(spec: &LoadSpec, why: impl Display) -> SpecError {
        SpecError(format!("the load '{spec}': {why}"))
    }
}

/// What priority a load can have beside such measuring threads.
pub(crate) fn below(probe: u8) -> String {
    match probe {
        0 => "the measuring threads have none, and could not run next to it. Leave prio out, or \
             measure with --policy fifo"
            .to_owned(),
        1 | 2 => {
            format!("the measuring threads have {probe}, which leaves none for a load below it")
        }
        _ => {
            format!(
                "the measuring threads have {probe}; a load's is at most {}, so that its own \
                 control fits between",
                probe - 2
            )
        }
    }
}

/// `cpus=0,2` is what everyone writes first.
pub(crate) fn number_hint(key: &str) -> &'static str {
    let is_range = key.starts_with(|c: char| c.is_ascii_digit() || c == '!');
    if is_range { "; join CPUs with +, as in cpus=0+2" } else { "" }
}

/// The options of one load.
#[derive(Debug)]
pub(crate) struct Options<'a> {
    pub(crate) spec: &'a LoadSpec,
    /// How many CPUs it is to run on.
    pub(crate) cpus: usize,
    /// Memory that all loads together may fill, bytes.
    pub(crate) memory: u64,
    /// Loads that run at the same time.
    pub(crate) loads: usize,
    /// Whether it will run on another machine, so that files and programs of this one say nothing.
    pub(crate) elsewhere: bool,
}

impl<'a> Options<'a> {
    /// How many tasks share a disk, if there is one on each CPU of each load.
    pub(crate) const fn sharing(&self) -> u64 {
        (self.cpus * self.loads) as u64
    }

    /// What was written for this key.
    pub(crate) fn value(&self, key: &str) -> Option<&'a str> {
        self.spec.options().find(|(known, _)| *known == key).map(|(_, value)| value)
    }

    /// The value of a key, read by `parse`; an error saying what was `expected` if that returns
    /// none.
    pub(crate) fn parsed<T>(
        &self,
        key: &str,
        expected: &str,
        parse: impl Fn(&str) -> Option<T>,
    ) -> Result<Option<T>, SpecError> {
        self.value(key)
            .map(|text| parse(text).ok_or_else(|| self.refuse(key, expected)))
            .transpose()
    }

    /// A whole number within this range.
    pub(crate) fn number<T: FromStr + PartialOrd + Display>(
        &self,
        key: &str,
        range: RangeInclusive<T>,
    ) -> Result<Option<T>, SpecError> {
        let expected = format!("a number from {} to {}", range.start(), range.end());
        self.parsed(key, &expected, |text| {
            text.parse().ok().filter(|number| range.contains(number))
        })
    }

    /// A time since measuring began, no less than `least`.
    pub(crate) fn time(&self, key: &str, least: Nanos) -> Result<Option<Duration>, SpecError> {
        self.parsed(key, "a time since measuring began, such as 200ms", |text| {
            let time = Nanos::parse(text, Unit::Microsecond).ok().filter(|time| *time >= least)?;
            Some(Duration::from_nanos(time.0.unsigned_abs()))
        })
    }

    /// Memory for each task that fills some, bytes: what is written for this key, or `usual`, or
    /// less where that is more than there is to give.
    pub(crate) fn memory(&self, key: &str, usual: u64) -> Result<usize, SpecError> {
        // No larger than this machine's addresses reach.
        let max = (self.memory / self.cpus.max(1) as u64)
            .clamp(1 << 16, isize::MAX.unsigned_abs() as u64 / 2);
        let expected = format!(
            "a size such as 64M, from 4K up to {} here: half of the memory that is free, shared \
             by loads and their CPUs",
            limits::human_readable(max),
        );
        let written = self.parsed(key, &expected, |text| {
            limits::parse_size(text).filter(|size| (4_096..=max).contains(size))
        })?;
        Ok(usize::try_from(written.unwrap_or(usual.min(max))).unwrap_or(usize::MAX))
    }

    /// An error about what stands after `cmd:`.
    pub(crate) fn refuse_command(&self, why: impl Display) -> SpecError {
        SpecError::whole(self.spec, why)
    }

    /// An error about this key's value.
    pub(crate) fn refuse(&self, key: &str, expected: &str) -> SpecError {
        let value = self.value(key).unwrap_or_default();
        SpecError(format!("'{key}={value}' in the load '{}': {key} is {expected}", self.spec))
    }
}
