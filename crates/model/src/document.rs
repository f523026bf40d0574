// SPDX-License-Identifier: MIT OR Apache-2.0
//! `run.json`: what was asked, under which conditions, and what came of it.
//!
//! The other crates fill these structs in; what they mean for a reader is in `docs/recording.md`,
//! and their JSON Schema in `docs/run.schema.json`. Times of CLOCK_MONOTONIC are ns since boot;
//! `..._at` are RFC 3339 in UTC. What was not measured is `null` or absent, never 0.

use crate::{Host, Imported, Lab, LoadEvidence, ProbeStatement, Thread, Warning, WithoutPeriod};
use plan::{CpuId, Length, Nanos, Run, Scheduling};
use serde::{Deserialize, Serialize};

/// The value of [`Document::format`].
pub const FORMAT: &str = "teiji-recording";
/// The value of [`Document::version`]; a reader refuses what is newer.
pub const VERSION: u32 = 1;

/// The whole of `run.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Document {
    /// [`FORMAT`].
    pub format: String,
    /// [`VERSION`].
    pub version: u32,
    /// The version of the program that wrote it.
    pub teiji: String,
    /// Whether names were taken out of it, by [`crate::Anonymiser`].
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub anonymous: bool,
    pub state: State,
    /// Why it ended; none while it runs, and for ever if it was cut off.
    pub end: Option<End>,
    pub started_at: String,
    pub ended_at: Option<String>,
    /// The command line, word by word.
    pub command_line: Vec<String>,
    pub run: Run,
    /// What was measured. Not said by the first recordings, which knew one probe.
    #[serde(default)]
    pub probe: ProbeStatement,
    /// How the measuring was done.
    pub instrument: Instrument,
    /// What a reader should know before believing the figures.
    pub warnings: Vec<Warning>,
    /// One entry per measuring thread.
    pub threads: Vec<Thread>,
    /// One entry per load: asked and reached.
    pub load: Vec<LoadEvidence>,
    /// Whether a load was off target by more than 5 points: the figures stand, but not for that
    /// load.
    #[serde(default)]
    pub load_off_target: bool,
    /// The machine before and after.
    pub host: Host,
    /// The lab it ran in; absent for a real machine.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub lab: Option<Lab>,
    /// What it was made of, where another program measured; absent where this one did.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub imported: Option<Imported>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// It is in progress, or it was cut off: then there are samples without statistics.
    Running,
    /// It ran to its planned end.
    Complete,
    /// It ended early, in good order; [`Document::end`] says why.
    Stopped,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "reason", rename_all = "kebab-case")]
pub enum End {
    /// All activations were due and done.
    Done,
    /// SIGINT, SIGTERM or SIGHUP.
    Signal {
        /// The signal's name, such as `SIGINT`.
        name: String,
    },
    /// A latency above the limit asked for.
    BreakAbove {
        thread: usize,
        activation: u64,
        /// Its latency, ns.
        latency_ns: i64,
    },
    /// The measuring threads left the system no time.
    Guard {
        /// How long nothing else had run, ns.
        starved_ns: i64,
        /// On this CPU; null: on none of them.
        #[serde(default)]
        cpu: Option<CpuId>,
    },
    /// The clock could not be slept on, or the probe could not measure.
    ProbeFailed { error: String },
    /// Threads had not ended long after they should have, and were stopped.
    Overtime {
        /// How long after, ns.
        by_ns: i64,
    },
    /// The recording could not be written any further.
    RecordingFailed { error: String },
}

impl Document {
    /// The scheduling that was in force: of its threads, or what was asked for while there are
    /// none.
    pub fn scheduling(&self) -> Scheduling {
        self.threads.first().map_or(self.run.scheduling, |thread| thread.scheduling)
    }

    /// How long it was to measure. None where a file was read to its end, which is as long as it
    /// is, and of another program's output.
    pub fn length(&self) -> Option<Length> {
        let is_left =
            || self.warnings.iter().any(|warning| matches!(warning, Warning::StreamUnread { .. }));
        let is_known = self.imported.is_none() && (!self.probe.from_file || is_left());
        is_known.then_some(self.run.length)
    }

    /// Whether a period was looked for in vain: then none that was missed is known.
    pub fn has_no_period(&self) -> bool {
        self.threads.iter().any(|thread| thread.evidence.periodic_rows == Some(0))
    }

    /// The rows of which no period is known.
    pub fn without_period(&self) -> WithoutPeriod {
        self.threads.iter().filter_map(|thread| thread.evidence.without_period).sum()
    }
}

/// How the measuring was done: the instrument's own properties.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Instrument {
    /// The clock planned and actual times are read from.
    pub clock: String,
    /// Its resolution as the kernel states it, ns.
    pub clock_resolution_ns: i64,
    /// Median cost of one reading, ns; included in every latency.
    pub clock_read_ns: i64,
    /// What the threads asked for could be granted.
    pub real_time: bool,
    /// How long the first activation waited for the loads to settle, ns.
    #[serde(default)]
    pub settled_in_ns: Nanos,
    /// Whether all memory of the process was locked.
    pub memory_locked: bool,
    /// Whether /dev/cpu_dma_latency was held at 0.
    pub dma_latency_held: bool,
    /// Slots of each thread's sample ring.
    pub ring_slots: u64,
    /// Start of the program to the first planned activation, warm-up excluded, ns.
    pub start_to_first_activation_ns: Option<i64>,
    /// Whether the machine's clocks count its own instructions, as in the lab's virtual time.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub virtual_time: bool,
    /// The co-kernel that the threads ran on; absent where they ran on Linux.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub co_kernel: Option<CoKernel>,
    /// The kernel's events that were recorded meanwhile; absent where none were.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub watched: Option<Watched>,
}

/// How the measured CPUs were watched by the kernel's events, and what that cost.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Watched {
    /// The events that were recorded, such as `sched/sched_switch`.
    pub events: Vec<String>,
    /// Those that this kernel does not have.
    pub lacking: Vec<String>,
    /// What the kernel kept of each CPU, KiB.
    pub buffer_kib: u64,
    /// Latencies above the threshold, whether explained or not.
    pub above: u64,
    /// Those that have an account in `explain.json`.
    pub accounted: u64,
    /// Those whose events were overwritten before they were read.
    pub overwritten: u64,
    /// Those that came while events were not recorded, to see what recording costs.
    pub unwatched: u64,
    /// Those of whose wake-up no event was seen.
    pub unseen: u64,
    /// Accounts that were kept: those of the largest.
    pub kept: u64,
    /// The largest latency above the threshold without an account, ns; 0 where each has one.
    pub largest_without_ns: u64,
    /// Latencies while events were recorded, and while not; null where there were too few.
    pub cost: Option<WatchCost>,
}

/// Latencies with events recorded and without, in turns within the same run, ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WatchCost {
    pub with: WatchedLatencies,
    pub without: WatchedLatencies,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WatchedLatencies {
    pub samples: u64,
    /// To 1 %.
    pub p50_ns: i64,
    /// To 1 %.
    pub p99_ns: i64,
}

/// A real-time kernel beside Linux.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CoKernel {
    /// Its name, such as `Cobalt`.
    pub name: String,
    /// Its version, where it says one.
    pub version: Option<String>,
    /// The revision of its binary interface, by which it was called.
    pub abi: u32,
    /// By how much it programs its timer early, ns, as it says it: for its own interrupt handlers
    /// (irq, i), threads in the kernel (kernel, k) and in user space (user, u). With it
    /// latencies may be below 0.
    pub gravity: Option<String>,
    /// Whether the probe was chosen for it, because none was named.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub chosen: bool,
}
