// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a reader should know before believing the figures: warnings as values.
//!
//! A warning holds what was observed, and the report says it in the reader's language. Only what a
//! check found is there in English too, beside the phrases that both languages say.
//! In `run.json` each is an object with its `code` and the fields of its variant.

use crate::{BusyProcess, LoadFailure, Phrase, RefusalCause};
use plan::{CpuId, LoadSpec, Nanos, Scheduling};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// A warning, serialised with its kebab-case `code`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "code", rename_all = "kebab-case")]
pub enum Warning {
    /// The threads did not get the scheduling asked for.
    NoRealTime {
        asked: Scheduling,
        /// What was measured with.
        granted: Scheduling,
        error: String,
        /// The program that lacks the rights.
        program: String,
        /// What was found to keep the threads from it; empty: nothing was.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        causes: Vec<RefusalCause>,
    },
    /// The kernel ends a process of which a real-time thread runs for long without sleep
    /// (RLIMIT_RTTIME).
    RealTimeTimeout {
        /// For so long.
        after_ns: Nanos,
    },
    /// Pages may have to be read while measuring.
    MemoryNotLocked { reason: MemoryNotLocked },
    /// CPUs may sleep deeply between activations.
    DmaLatencyNotHeld {
        /// The file that could not be held at 0.
        path: String,
        reason: NotHeld,
        error: String,
    },
    /// An interval at which the machine misses many activations.
    IntervalShort {
        interval_ns: Nanos,
        /// Activations late or skipped in a trial before the run.
        missed_percent: u32,
        /// The CPU of that trial.
        cpu: CpuId,
    },
    /// A write reached the disk so late that a power cut would have cost more than a second of
    /// samples.
    DiskSlow {
        /// The longest time from a write until it was on the disk.
        max_delay_ns: Nanos,
    },
    /// The kernel's events could not be recorded, so nothing is explained.
    NotWatched { error: String },
    /// The clock that threads follow was set while they measured.
    ClockStepped {
        clock: String,
        /// The largest step forwards, 0 if there was none.
        forwards_ns: Nanos,
        /// The largest step backwards, as a number above 0, or 0.
        backwards_ns: Nanos,
    },
    /// A thread that did not end with the run.
    ThreadUnresponsive {
        thread: usize,
        /// Its CPU.
        cpu: CpuId,
        /// How long it was waited for.
        waited_ns: Nanos,
    },
    /// Samples that were measured and could not be stored.
    SamplesLost {
        thread: usize,
        lost: u64,
        /// Of so many activations that woke.
        woken: u64,
    },
    /// Events of the kernel that were recorded to explain what was measured, and overwritten before
    /// they were read.
    AccountEventsLost {
        /// Of which CPU.
        cpu: CpuId,
        events: u64,
        /// Rows that they may belong to.
        rows: u64,
    },
    /// A measuring thread had page faults.
    PageFaults {
        thread: usize,
        /// Without reading from a disk.
        minor: u64,
        major: u64,
    },
    /// A thread's own count is not what the samples on disk say.
    AccountingDiffers {
        /// Where it stands in `run.json`.
        place: String,
        /// What the thread counted.
        counted: String,
        recorded: String,
    },
    /// Measured CPUs that no load ran on, because a load's CPUs were not named.
    LoadsElsewhere {
        /// The measured CPUs without load.
        bare: Vec<CpuId>,
        /// The CPUs that loads ran on.
        loaded: Vec<CpuId>,
        /// The load without `cpus=`.
        load: LoadSpec,
    },
    /// A load that was not in its steady state when measuring began.
    LoadNotSettled {
        load: LoadSpec,
        /// What its steady state is.
        steady: Steady,
    },
    /// A load ran at another nice level than loads do.
    LoadConditions {
        load: LoadSpec,
        /// The nice level that its supervisor inherited and may not leave.
        nice: i32,
    },
    /// A load that was off target.
    LoadOffTarget {
        load: LoadSpec,
        /// CPU use asked for, percent.
        requested: f64,
        /// CPU use farthest off that, percent.
        reached: f64,
        /// The CPU it was reached on; null: on all of its CPUs together.
        cpu: Option<CpuId>,
        /// How busy each of its CPUs was in all.
        machine: Vec<BusyCpu>,
    },
    /// A load that exited early.
    LoadDied { load: LoadSpec, failure: LoadFailure, output: String },
    /// CPUs may change their frequency.
    GovernorNotPerformance {
        /// The CPUs of each governor.
        governors: BTreeMap<String, Vec<CpuId>>,
    },
    /// CPUs did change their frequency.
    FrequencyChanged { cpus: Vec<FrequencyChange> },
    /// The kernel gave up one clocksource for another.
    ClocksourceChanged {
        /// The clocksource before the run.
        before: String,
        /// The clocksource after it.
        after: String,
    },
    /// Reading the clock takes about a microsecond or more.
    ClocksourceSlow {
        clocksource: String,
        /// Clocksources of this machine; empty: not known.
        available: Vec<String>,
        /// The one of them that is fast.
        fast: Option<String>,
    },
    Hypervisor {
        /// The CPU as the guest sees it.
        cpu_model: Option<String>,
    },
    /// The hypervisor ran something else.
    StealTime {
        /// On these CPUs, most first.
        cpus: Vec<StolenTime>,
    },
    /// CPUs went offline or came online.
    CpuOfflineChanged {
        /// CPUs online before the run.
        before: Vec<CpuId>,
        after: Vec<CpuId>,
    },
    /// CPUs that are isolated, or set apart otherwise, and were left out by default.
    IsolatedNotMeasured {
        isolated: Vec<CpuId>,
        /// CPUs that were measured.
        measured: Vec<CpuId>,
        /// Isolated CPUs that could have been measured.
        left_out: Vec<CpuId>,
    },
    /// CPUs that were left out by default because the process may not run there.
    CpusNotAllowed {
        /// CPUs that it may run on.
        allowed: Vec<CpuId>,
        /// The others that are online.
        left_out: Vec<CpuId>,
    },
    /// CPUs of one core that were measured together.
    SiblingsMeasured {
        /// The measured CPUs of each such core.
        cores: Vec<Vec<CpuId>>,
        /// One CPU of each measured core.
        one_each: Vec<CpuId>,
    },
    /// Something about the machine that is bad for latency, as `teiji check` finds it.
    MachineCheck {
        /// Its name, such as `interrupts-on-measured-cpus`.
        check: String,
        found: String,
        /// Why it matters for latency.
        why: String,
        /// What to do; none where nothing is known.
        action: Option<String>,
        /// The phrases that say both in English, where another language says them otherwise.
        /// Recordings made before they were recorded have none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        found_phrase: Option<Phrase>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        action_phrase: Option<Phrase>,
    },
    /// Something other than the run and its loads kept CPUs busy.
    OtherWork {
        /// Percent of one CPU: of the busiest one without a load, of all processes together under
        /// a load.
        percent: f64,
        /// CPUs that were kept busy, the busiest first; empty under a load.
        cpus: Vec<BusyCpu>,
        /// The processes that used most CPU time.
        processes: Vec<BusyProcess>,
        /// CPU time that none of these used, such as that of processes that ended meanwhile, ms.
        /// None where it is not known, or a few ticks.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        unnamed_ms: Option<u64>,
    },
    /// Records of a stream that are no number.
    StreamUnreadable {
        /// Where the stream came from.
        from: String,
        records: u64,
        /// Records that are numbers.
        numbers: u64,
        /// Line of the first, or its number among the integers, from 1.
        first: u64,
        /// Where it begins, bytes from the beginning of the stream.
        first_offset: u64,
        /// How it begins; other bytes than printable ASCII as `\xff`.
        text: String,
    },
    /// A stream, or the run that read it, ended within a record.
    StreamHalfRecord {
        /// Where the stream came from.
        from: String,
        bytes: u64,
        /// Where it begins, bytes from the beginning of the stream.
        offset: u64,
        /// Whether the stream ended there. If not, the run did, and the rest was still to come.
        #[serde(default = "has_ended")]
        ended: bool,
    },
    /// Timestamps of a stream that lie before the one before.
    StreamBackwards {
        /// Where the stream came from.
        from: String,
        steps: u64,
        /// Line of the first, or its number among the integers, from 1.
        first: u64,
        furthest_ns: Nanos,
    },
    /// The output that a recording was made of says something twice, and differently.
    SourceContradicts {
        /// What it is of, in the output's own words.
        place: String,
        /// What is said there.
        stated: String,
        /// What the rest of the output says.
        found: String,
    },
    /// What came after the last row of a stream, so that no row counts it.
    StreamTrailing {
        /// Where the stream came from.
        from: String,
        /// Records that are no number.
        unreadable: u64,
        backwards: u64,
    },
    /// Periods of a stream without a record.
    StreamMissed {
        /// Where the stream came from.
        from: String,
        missed: u64,
        /// The period that was asked for.
        period_ns: Nanos,
    },
    /// Intervals of a stream that are not those of the period that was stated for it.
    StreamOffPeriod {
        /// The period that was stated.
        period_ns: Nanos,
        /// The median of the intervals.
        median_ns: Nanos,
        intervals: u64,
    },
    /// A stream ended before the run.
    StreamEnded {
        /// Where the stream came from.
        from: String,
        numbers: u64,
        /// From the beginning of the run.
        after_ns: Nanos,
        /// Whether it is a pipe that its writers closed, so that nothing shows that more was to
        /// come.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        closed: bool,
    },
    /// A stream from which nothing came in the end, or at all.
    StreamSilent {
        /// Where the stream came from.
        from: String,
        numbers: u64,
        /// How long before the end of the run nothing came.
        silent_ns: Nanos,
    },
    /// A file that was not read to its end.
    StreamUnread { from: String, bytes: u64 },
    /// Rows that the kernel's trace does not show as a whole, so that they have no values.
    RowsUntraced {
        thread: usize,
        rows: u64,
        /// Of these, wake-ups of which the kernel recorded no switch to the thread, although no
        /// event was lost.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        without_switch: Option<u64>,
        /// Of so many that were measured.
        measured: u64,
    },
    /// Events that the kernel's trace lost, which an unknown number of rows would have been made
    /// of: none of those is counted.
    TraceEventsLost {
        /// How many, at least.
        events: u64,
        /// What the buffer of each CPU holds, KiB.
        buffer_kib: u64,
        /// Threads and timers that there was no room for, so that they were not followed.
        unfollowed: u64,
    },
    /// A thread of a co-kernel ran on Linux between its first and its last row.
    FellBack {
        thread: usize,
        /// How often it fell back; null where the co-kernel did not say.
        switches: Option<u64>,
        measured: u64,
    },
    /// A program that was measured ended before the run.
    ProgramEnded {
        /// From the beginning of the run until its end was seen.
        after_ns: Nanos,
        /// How long the run was to be.
        planned_ns: Nanos,
        /// Its exit status, where it was started for the run and ended by itself.
        status: Option<i32>,
        /// The number of the signal that ended it, where it was started for the run.
        signal: Option<i32>,
        /// Whether the length of the run was the default, because none was given.
        #[serde(skip_serializing_if = "std::ops::Not::not", default)]
        default_length: bool,
    },
    /// A warning of another version of teiji, as it was recorded.
    #[serde(untagged)]
    Other(OtherWarning),
}

impl Warning {
    /// Whether it is a fact and no fault: a program did all that it was to do, and no length was
    /// given.
    pub const fn is_a_fact(&self) -> bool {
        matches!(self, Warning::ProgramEnded { status: Some(0), default_length: true, .. })
    }
}

impl Warning {
    /// Whether it is about the machine that measures and how its threads ran there: it says nothing
    /// of times that were taken elsewhere. Loads, the disk and the accounting concern those
    /// too.
    pub const fn is_of_measuring(&self) -> bool {
        matches!(
            self,
            Warning::NoRealTime { .. }
                | Warning::RealTimeTimeout { .. }
                | Warning::MemoryNotLocked { .. }
                | Warning::DmaLatencyNotHeld { .. }
                | Warning::IntervalShort { .. }
                | Warning::ClockStepped { .. }
                | Warning::PageFaults { .. }
                | Warning::LoadsElsewhere { .. }
                | Warning::GovernorNotPerformance { .. }
                | Warning::FrequencyChanged { .. }
                | Warning::ClocksourceChanged { .. }
                | Warning::ClocksourceSlow { .. }
                | Warning::Hypervisor { .. }
                | Warning::StealTime { .. }
                | Warning::CpuOfflineChanged { .. }
                | Warning::IsolatedNotMeasured { .. }
                | Warning::CpusNotAllowed { .. }
                | Warning::SiblingsMeasured { .. }
                | Warning::MachineCheck { .. }
                | Warning::OtherWork { .. }
        )
    }
}

/// A warning that this version does not know, or knows with other fields.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OtherWarning {
    pub code: String,
    #[serde(flatten)]
    pub fields: Map<String, Value>,
}

/// Why memory was not locked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MemoryNotLocked {
    /// There is a limit on it, bytes.
    LimitBytes(u64),
    /// The system refused, with these words.
    Error(String),
}

/// Why /dev/cpu_dma_latency was not held at 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NotHeld {
    /// There is no such file.
    NotFound,
    /// It may not be opened.
    PermissionDenied,
    Failed,
}

/// What a load's steady state is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Steady {
    /// Every task has worked, and the load's rate was level for so long.
    LevelForNs(Nanos),
    /// A load without a rate has run for so long.
    RunningForNs(Nanos),
}

/// How busy a CPU was.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct BusyCpu {
    pub cpu: CpuId,
    pub percent: f64,
}

/// A CPU's frequency in the two snapshots of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FrequencyChange {
    /// Which CPU.
    pub cpu: CpuId,
    /// Before the run, kHz.
    pub before_khz: u64,
    /// After it, kHz.
    pub after_khz: u64,
}

/// Time that a hypervisor took from a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StolenTime {
    /// Which CPU.
    pub cpu: CpuId,
    /// How much, ms.
    pub stolen_ms: u64,
    /// Of so much, ms.
    pub elapsed_ms: u64,
}

/// Recordings made before it was recorded have half a record only where a stream ended.
const fn has_ended() -> bool {
    true
}

#[cfg(test)]
#[path = "warning_tests.rs"]
mod tests;
