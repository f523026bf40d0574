// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a probe states of its measurements, so that a reader need not know the probe.

use crate::Thread;
use plan::{CpuId, Nanos};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// What a probe states of itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProbeStatement {
    pub name: Cow<'static, str>,
    pub rows: RowKind,
    /// What is measured in each row. The first is what is judged: the *latency* of summaries,
    /// charts and limits, always in ns.
    pub columns: Vec<Column>,
    /// By which column, from 0, overruns are detected. In ns: the time from the planned start of a
    /// row until the thread was free for the next. A count: how many rows were missed since
    /// the one before. Null where rows have no planned start.
    pub overrun_column: Option<usize>,
    /// The clock that planned and actual times are read from.
    pub clock: Cow<'static, str>,
    /// Where the judged time begins and ends.
    pub measuring_point: Cow<'static, str>,
    /// What kind of time the judged one is.
    #[serde(skip_serializing_if = "Quantity::is_latency", default)]
    pub quantity: Quantity,
    /// Of jitter, the period that intervals are compared with.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub period_ns: Option<Nanos>,
    /// Whether this program's threads only observe, so that how they are scheduled says nothing of
    /// what was measured.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub only_observes: bool,
    /// Whether a stream was a regular file, whose end is not the run's: how long the run was to be
    /// says only until when it would have been read.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub from_file: bool,
}

/// Who took the times that a probe judges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TakenBy {
    /// The threads that measure: how they are scheduled is part of what is measured.
    OwnThreads,
    /// This machine, while our threads only observed: how they are scheduled says nothing of what
    /// was measured.
    ThisMachine,
    /// Another machine, a clock of its own or another program: this one only recorded them, and how
    /// it did says nothing of them.
    AnotherMachine,
}

/// What kind of time a probe judges.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Quantity {
    /// How late something was, or how long it took: the less the better.
    #[default]
    Latency,
    /// By how much the time between two successive rows differs from a period that is known: the
    /// less it varies the better.
    Jitter,
    /// Time between two successive rows, of which no period is known.
    Interval,
}

impl Quantity {
    const fn is_latency(&self) -> bool {
        matches!(self, Quantity::Latency)
    }
}

/// What a row of a recording is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RowKind {
    /// A planned wake-up: row k was planned at start + k x interval.
    Activations,
    /// Something that was started at a planned time and took its time; row k was planned as above.
    Trials,
    /// Something that happened when it happened. Each row has a time; none was planned, so none is
    /// late or skipped.
    Events,
}

/// One column of a recording.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Column {
    /// Its name in the samples file, such as `latency_ns`.
    pub name: Cow<'static, str>,
    pub unit: ColumnUnit,
    pub meaning: Cow<'static, str>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ColumnUnit {
    #[serde(rename = "ns")]
    Nanoseconds,
    #[serde(rename = "1")]
    Count,
}

impl ProbeStatement {
    /// What all probes of periodic wake-ups judge. Each has a measuring point of its own.
    pub const UNTIL_IT_RUNS: &'static str = "from the planned time until the thread runs again";
    /// The clock of times that were taken elsewhere and came as a stream.
    pub const CLOCK_OF_STREAM: &'static str = "of the stream";
    /// The clock of times that another program took, in a recording made of its output.
    pub const CLOCK_OF_ANOTHER: &'static str = "of the program that measured";

    /// Who took the judged times. The one place that knows by which of the recorded keys that is
    /// said.
    pub fn taken_by(&self) -> TakenBy {
        let elsewhere = self.clock == Self::CLOCK_OF_STREAM || self.is_imported();
        match (self.only_observes, elsewhere) {
            (false, _) => TakenBy::OwnThreads,
            (true, false) => TakenBy::ThisMachine,
            (true, true) => TakenBy::AnotherMachine,
        }
    }

    /// Whether another program measured, and the recording was made of its output.
    pub fn is_imported(&self) -> bool {
        self.clock == Self::CLOCK_OF_ANOTHER
    }

    /// The CPU that the rows of a thread are of: the one it was pinned to. None if it was not, if
    /// each row has its own, or if they were taken elsewhere.
    pub fn cpu_of(&self, thread: &Thread) -> Option<CpuId> {
        let rows_have_it = self.columns.iter().any(|column| column.name == Column::ON_CPU);
        let is_elsewhere = self.taken_by() == TakenBy::AnotherMachine && !self.is_imported();
        (thread.pinned && !rows_have_it && !is_elsewhere).then_some(thread.cpu)
    }

    /// The same as text; empty if there is none.
    pub fn cpu_text(&self, thread: &Thread) -> String {
        self.cpu_of(thread).map_or_else(String::new, |cpu| cpu.to_string())
    }

    /// Of a thread that sleeps until an absolute time, again and again: what recordings measured
    /// before probes stated themselves.
    pub fn cyclic() -> Self {
        ProbeStatement {
            name: plan::DEFAULT_PROBE.into(),
            rows: RowKind::Activations,
            columns: vec![Column::ns("latency_ns", Self::UNTIL_IT_RUNS)],
            overrun_column: Some(0),
            clock: "CLOCK_MONOTONIC".into(),
            measuring_point: "from the absolute time given to clock_nanosleep to the clock read \
                              after its return, in user space"
                .into(),
            quantity: Quantity::Latency,
            period_ns: None,
            only_observes: false,
            from_file: false,
        }
    }

    /// Whether the judged column also shows which rows were late and which skipped: then skipped
    /// rows have waited from their planned time, and are counted in with that. Otherwise they
    /// have no value.
    pub fn judges_overruns(&self) -> bool {
        self.overrun_column == Some(0)
    }

    /// What a limit judges of a value, ns: of jitter its size, because an interval may be too short
    /// as well as too long.
    pub const fn judged_size(&self, value_ns: i64) -> i64 {
        match self.quantity {
            Quantity::Jitter => value_ns.saturating_abs(),
            Quantity::Latency | Quantity::Interval => value_ns,
        }
    }

    /// Whether rows were planned, so that each has an expected time, and some are late or skipped.
    pub const fn is_planned(&self) -> bool {
        self.overrun_column.is_some()
    }

    /// What one row that was passed over amounts to in the overrun column, of a thread with this
    /// interval.
    pub fn overrun_unit(&self, interval: Nanos) -> i64 {
        match self.overrun_column.and_then(|column| self.columns.get(column)) {
            Some(Column { unit: ColumnUnit::Count, .. }) => 1,
            _ => interval.0,
        }
    }

    /// The columns beside the judged one, each with its number.
    pub fn others(&self) -> impl Iterator<Item = (usize, &Column)> {
        self.columns.iter().enumerate().skip(1)
    }
}

impl Default for ProbeStatement {
    fn default() -> Self {
        Self::cyclic()
    }
}

impl Column {
    /// The column, in any probe that has it, of the CPU that each row is of, which is then not that
    /// of the measuring thread.
    pub const ON_CPU: &'static str = "on_cpu";

    /// The column, in any probe that has it, of how many periods passed since the row before and
    /// have none.
    pub const MISSED: &'static str = "missed";

    /// The column, in any probe that has it, of whether the row missed its deadline. A skipped row,
    /// which has no value, missed its own too.
    pub const DEADLINE_MISSED: &'static str = "deadline_missed";

    /// The column, in any probe that has it, of how far the clock was set since the row before, ns.
    pub const STEP: &'static str = "step_ns";

    const fn new(name: &'static str, unit: ColumnUnit, meaning: &'static str) -> Self {
        Column { name: Cow::Borrowed(name), unit, meaning: Cow::Borrowed(meaning) }
    }

    /// A column of nanoseconds.
    pub const fn ns(name: &'static str, meaning: &'static str) -> Self {
        Self::new(name, ColumnUnit::Nanoseconds, meaning)
    }

    /// Whether its values are names, which say which CPU, thread or cause it was: none is more than
    /// another, and they have no mean.
    pub fn is_of_names(&self) -> bool {
        [Self::ON_CPU, "waker_cpu", "cause", "tid"].contains(&self.name.as_ref())
    }

    /// Whether it counts, so that its values add up.
    pub fn adds_up(&self) -> bool {
        self.unit == ColumnUnit::Count && !self.is_of_names()
    }

    /// A column of numbers that are no times.
    pub const fn count(name: &'static str, meaning: &'static str) -> Self {
        Self::new(name, ColumnUnit::Count, meaning)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As recordings have it: `only_observes`, and the clock of what came as a stream.
    #[test]
    fn who_took_the_times_is_read_from_the_recorded_keys() {
        let of = |only_observes: bool, clock: &str| {
            let mut value = serde_json::to_value(ProbeStatement::cyclic()).unwrap();
            value["clock"] = clock.into();
            if only_observes {
                value["only_observes"] = true.into();
            }
            serde_json::from_value::<ProbeStatement>(value).unwrap().taken_by()
        };
        assert_eq!(of(false, "CLOCK_MONOTONIC"), TakenBy::OwnThreads);
        assert_eq!(of(true, "CLOCK_MONOTONIC"), TakenBy::ThisMachine);
        assert_eq!(of(true, "of the stream"), TakenBy::AnotherMachine);
    }
}
