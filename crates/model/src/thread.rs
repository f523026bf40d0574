// SPDX-License-Identifier: MIT OR Apache-2.0
//! What one measuring thread recorded, and the figures of its samples.

use crate::ProbeStatement;
use plan::{CpuId, Nanos, Scheduling};
use serde::{Deserialize, Serialize};
use stats::{Activations, Bucket, Summary};
use std::iter::Sum;

/// The name of the file with a thread's samples.
pub fn samples_file(thread: usize) -> String {
    format!("samples-{thread}.arrows")
}

/// What became of the rows of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum RowCounts {
    /// Rows that were planned: on time, late or skipped.
    Planned(Activations),
    /// Events, which nobody planned: none can be on time, late or skipped.
    Events { due: u64 },
}

impl RowCounts {
    /// Those of a probe that states this.
    pub fn new(counted: Activations, probe: &ProbeStatement) -> RowCounts {
        if probe.is_planned() {
            RowCounts::Planned(counted)
        } else {
            RowCounts::Events { due: counted.due }
        }
    }

    /// As sums count them: each event is one that was due and happened.
    pub const fn all(&self) -> Activations {
        match *self {
            RowCounts::Planned(all) => all,
            RowCounts::Events { due } => Activations { due, on_time: due, late: 0, skipped: 0 },
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Thread {
    /// Its number, from 0.
    pub index: usize,
    /// The CPU it was pinned to, or whose turn it was where threads are not pinned.
    pub cpu: CpuId,
    /// Whether it was pinned. A thread under SCHED_DEADLINE is not: the kernel refuses that.
    #[serde(default = "is_pinned", skip_serializing_if = "Clone::clone")]
    pub pinned: bool,
    /// What the scheduler granted.
    pub scheduling: Scheduling,
    /// Its nice level. None under a real-time policy, which has none, and where it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nice: Option<i32>,
    /// How much later than asked the kernel may wake it, ns. None under a real-time policy, which
    /// has none, and where it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timer_slack_ns: Option<u64>,
    /// Its own interval, ns.
    pub interval_ns: Nanos,
    /// Planned time of activation 0, CLOCK_MONOTONIC ns: activation k was planned at this + k x
    /// interval.
    pub start_ns: Nanos,
    /// When the run was ended without it because it did not come back, CLOCK_MONOTONIC ns: what it
    /// never ran waited until then at least. None for one that came back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub given_up_ns: Option<Nanos>,
    /// What is known of its latencies.
    #[serde(default, skip_serializing_if = "Detail::is_samples")]
    pub detail: Detail,
    /// The file with its samples; empty where there are none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub samples_file: String,
    /// What became of its rows; null where it is not known.
    pub activations: Option<RowCounts>,
    /// Latencies as measured; null when nothing woke.
    pub latency_ns: Option<Summary>,
    /// The same with skipped activations counted in.
    pub latency_with_skipped_ns: Option<Summary>,
    pub histogram_ns: HistogramDocument,
    /// The ten worst, worst first.
    pub worst: Vec<WorstActivation>,
    /// Further columns of the probe, in the order it states them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub columns: Vec<ColumnFigures>,
    /// Of a loop that reads the clock again and again: what its gaps are a share of. None of
    /// threads that wait otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub polling: Option<Polling>,
    /// System management interrupts of its CPU while it measured. None where nobody asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub smis: Option<Smis>,
    /// Evidence that the thread measured undisturbed by itself.
    pub evidence: ThreadEvidence,
}

/// What a loop that reads the clock again and again did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Polling {
    /// Time in which it polled, its gaps included, ns.
    pub polled_ns: i64,
    /// Clock readings in that time.
    pub readings: u64,
    /// The smallest time above 0 from one reading to the next, ns: nothing shorter is seen. Null
    /// without a reading.
    pub resolution_ns: Option<i64>,
}

/// How many system management interrupts a CPU counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Smis {
    /// How many; null where it is not known.
    pub count: Option<u64>,
    /// Why it is not known. None where it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unknown: Option<SmisUnknown>,
}

/// Why it is not known how many there were.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SmisUnknown {
    /// A virtual CPU does not count those of the hardware.
    VirtualMachine,
    /// Only Intel's CPUs count them.
    NotIntel,
    /// No `/dev/cpu/N/msr`.
    NoDevice,
    /// It may not be opened.
    NoRight,
    /// It says nothing of the count.
    Unreadable,
}

impl From<Result<u64, SmisUnknown>> for Smis {
    fn from(counted: Result<u64, SmisUnknown>) -> Self {
        Smis { count: counted.ok(), unknown: counted.err() }
    }
}

/// What recordings meant before any thread was not pinned.
const fn is_pinned() -> bool {
    true
}

/// What is known of a thread's latencies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Detail {
    /// Each of them, in its place.
    #[default]
    Samples,
    /// How many there were in each bucket of a histogram: neither when they were, nor which
    /// activations were late or skipped, nor whether samples were lost.
    Histogram,
    /// Only those of a summary: how many, the smallest, their mean, the largest, and perhaps more.
    Figures,
}

impl Detail {
    /// Whether each latency is known.
    pub fn is_samples(&self) -> bool {
        *self == Detail::Samples
    }
}

/// The figures of a column that is not judged.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ColumnFigures {
    /// Its name, as the probe states it.
    pub name: String,
    /// Values as measured, in the column's unit; null when there are none.
    pub values: Option<Summary>,
    pub histogram: HistogramDocument,
}

impl Thread {
    /// What the scheduler granted, with a nice level that is not 0: `SCHED_FIFO 90`, `SCHED_OTHER
    /// nice 5`.
    pub fn granted(&self) -> String {
        let nice = self
            .nice
            .filter(|nice| *nice != 0)
            .map_or_else(String::new, |nice| format!(" nice {nice}"));
        format!("{}{nice}", self.scheduling)
    }

    /// A thread that has measured nothing yet.
    pub fn unmeasured(
        index: usize,
        cpu: CpuId,
        scheduling: Scheduling,
        interval_ns: Nanos,
        start_ns: Nanos,
    ) -> Self {
        Thread {
            index,
            cpu,
            pinned: scheduling.policy.can_pin(),
            scheduling,
            nice: None,
            timer_slack_ns: None,
            interval_ns,
            start_ns,
            given_up_ns: None,
            detail: Detail::Samples,
            samples_file: samples_file(index),
            activations: Some(RowCounts::Planned(Activations::default())),
            latency_ns: None,
            latency_with_skipped_ns: None,
            histogram_ns: HistogramDocument::default(),
            worst: Vec::new(),
            columns: Vec::new(),
            polling: None,
            smis: None,
            evidence: ThreadEvidence::default(),
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HistogramDocument {
    /// A bucket is at most this share of its lower bound wide.
    pub relative_error: f64,
    /// `[lower, upper, count]`: both bounds belong to the bucket, ns; empty buckets are left out.
    pub buckets: Vec<Bucket>,
}

/// One of the worst activations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorstActivation {
    /// Its number, from 0.
    pub activation: u64,
    /// When it was due, CLOCK_MONOTONIC ns; of an event, when it happened.
    pub planned_ns: Nanos,
    /// When it was due, ns since activation 0.
    pub since_start_ns: Nanos,
    /// How late it woke, ns.
    pub latency_ns: i64,
}

/// What getrusage says of a thread between its first and its last activation, and what became of
/// its samples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadEvidence {
    /// Page faults served without the disk; null where the thread did not live to say.
    pub minor_faults: Option<u64>,
    /// Page faults that waited for the disk.
    pub major_faults: Option<u64>,
    /// Times it went to sleep: one for each activation that slept.
    pub voluntary_switches: Option<u64>,
    /// Times it was taken off its CPU by something of higher priority.
    pub involuntary_switches: Option<u64>,
    /// Samples that found the ring full.
    pub samples_lost: u64,
    /// On a co-kernel, how often the thread fell back to Linux between its first and its last row;
    /// absent on Linux, and where the co-kernel did not say.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub fallen_back: Option<u64>,
    /// Of a program's wake-ups, how many are of a timer of which the period is known; absent of a
    /// probe that looks for none. Where it is 0, nobody knows whether one was missed.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub periodic_rows: Option<u64>,
    /// Of the program's other wake-ups by a timer, those of threads that had more than a few;
    /// absent of a probe that looks for no period, and before it was counted.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub without_period: Option<WithoutPeriod>,
}

/// Wake-ups of a program by a timer of which no period is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WithoutPeriod {
    pub rows: u64,
    /// The program's threads that they are of.
    pub threads: u64,
}

impl Sum for WithoutPeriod {
    fn sum<I: Iterator<Item = WithoutPeriod>>(of: I) -> WithoutPeriod {
        of.fold(WithoutPeriod::default(), |sum, WithoutPeriod { rows, threads }| WithoutPeriod {
            rows: sum.rows.saturating_add(rows),
            threads: sum.threads.saturating_add(threads),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of what nobody planned nothing is written that would be a 0 or a count of something else.
    #[test]
    fn events_have_a_number_and_nothing_else() {
        let events = ProbeStatement { overrun_column: None, ..ProbeStatement::cyclic() };
        let counted = Activations { due: 7, on_time: 7, late: 0, skipped: 0 };
        let written = |probe: &ProbeStatement| {
            serde_json::to_string(&RowCounts::new(counted, probe)).unwrap()
        };
        assert_eq!(written(&events), r#"{"due":7}"#);
        assert_eq!(
            written(&ProbeStatement::cyclic()),
            r#"{"due":7,"on_time":7,"late":0,"skipped":0}"#
        );
        for text in [r#"{"due":7}"#, r#"{"due":7,"on_time":7,"late":0,"skipped":0}"#] {
            let read: RowCounts = serde_json::from_str(text).unwrap();
            assert_eq!(read.all(), counted);
        }
    }
}
