// SPDX-License-Identifier: MIT OR Apache-2.0
//! `run.json`: what was asked, under which conditions, and what came of it.
//!
//! The other rooms fill these structs in; what they mean for a reader is in `docs/recording.md`, and their JSON Schema in
//! `docs/run.schema.json`. Times of CLOCK_MONOTONIC are ns since boot; `..._at` are RFC 3339 in UTC. What was not measured
//! is `null` or absent, never 0.

use crate::Lab;
use crate::folder::samples_file;
use plan::{CpuId, Nanos, Run, Scheduling};
use serde::{Deserialize, Serialize};
use stats::{Activations, Bucket, Summary};
use std::collections::BTreeMap;

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
    /// How far the run came.
    pub state: State,
    /// Why it ended; none while it runs, and for ever if it was cut off.
    pub end: Option<End>,
    /// When it began.
    pub started_at: String,
    /// When it ended.
    pub ended_at: Option<String>,
    /// The command line, word by word.
    pub command_line: Vec<String>,
    /// What was asked.
    pub run: Run,
    /// How the measuring was done.
    pub instrument: Instrument,
    /// What a reader should know before believing the figures.
    pub warnings: Vec<Warning>,
    /// One entry per measuring thread.
    pub threads: Vec<Thread>,
    /// One entry per load: asked and reached.
    pub load: Vec<LoadEvidence>,
    /// Whether a load was more than 5 points off the level asked for: the figures stand, but not for that load.
    #[serde(default)]
    pub load_missed: bool,
    /// The machine before and after.
    pub host: Host,
    /// The lab it was carried out in; absent for a machine of its own.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub lab: Option<Lab>,
}

impl Document {
    /// Whether the run came to an end it was to have: its planned one, or the latency it was to stop at.
    #[must_use]
    pub fn came_to_its_end(&self) -> bool {
        matches!((self.state, &self.end), (State::Complete, _) | (State::Stopped, Some(End::BreakAbove { .. })))
    }
}

/// How far a run came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// It is going on, or it was cut off: then there are samples, and nobody summed them up.
    Running,
    /// It ran to its planned end.
    Complete,
    /// It ended early, in good order; [`Document::end`] says why.
    Stopped,
}

/// Why a run ended.
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
        /// Thread index.
        thread: usize,
        /// Activation number.
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
    /// The clock could not be slept on.
    ClockFailed {
        /// What the system said.
        error: String,
    },
    /// Threads had not ended long after they should have, and were stopped.
    Overtime {
        /// How long after, ns.
        by_ns: i64,
    },
    /// The recording could not be written any further.
    RecordingFailed {
        /// What the system said.
        error: String,
    },
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
}

/// Something a reader should know: what was seen, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Warning {
    /// A stable name, such as `no-real-time`.
    pub code: String,
    /// One sentence.
    pub message: String,
    /// What was observed.
    pub evidence: String,
    /// What would help; may be empty.
    pub next_step: String,
}

/// One measuring thread.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Thread {
    /// Its number, from 0.
    pub index: usize,
    /// The CPU it was pinned to.
    pub cpu: CpuId,
    /// What the scheduler granted.
    pub scheduling: Scheduling,
    /// Its own interval, ns.
    pub interval_ns: Nanos,
    /// Planned time of activation 0, CLOCK_MONOTONIC ns: activation k was planned at this + k x interval.
    pub start_ns: Nanos,
    /// When the run was ended without it because it did not come back, CLOCK_MONOTONIC ns: what it never ran waited until then at
    /// least. None for one that came back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub given_up_ns: Option<Nanos>,
    /// The file with its samples.
    pub samples_file: String,
    /// On time, late, skipped.
    pub activations: Activations,
    /// Latencies as measured; null when nothing woke.
    pub latency_ns: Option<Summary>,
    /// The same with skipped activations counted in.
    pub latency_with_skipped_ns: Option<Summary>,
    /// Latencies as measured.
    pub histogram_ns: HistogramDocument,
    /// The ten worst, worst first.
    pub worst: Vec<WorstActivation>,
    /// Evidence that the thread measured undisturbed by itself.
    pub proof: Proof,
}

impl Thread {
    /// A thread that has measured nothing yet.
    #[must_use]
    pub fn unmeasured(index: usize, cpu: CpuId, scheduling: Scheduling, interval_ns: Nanos, start_ns: Nanos) -> Self {
        Thread {
            index,
            cpu,
            scheduling,
            interval_ns,
            start_ns,
            given_up_ns: None,
            samples_file: samples_file(index),
            activations: Activations::default(),
            latency_ns: None,
            latency_with_skipped_ns: None,
            histogram_ns: HistogramDocument::default(),
            worst: Vec::new(),
            proof: Proof::default(),
        }
    }
}

/// A histogram on paper.
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
    /// When it was due, CLOCK_MONOTONIC ns.
    pub planned_ns: Nanos,
    /// When it was due, ns since activation 0.
    pub since_start_ns: Nanos,
    /// How late it woke, ns.
    pub latency_ns: i64,
}

/// What getrusage says of a thread between its first and its last activation, and what became of its samples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Proof {
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
}

/// What a load was asked to do and what it did.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LoadEvidence {
    /// As written on the command line.
    pub spec: String,
    /// CPU use asked for on each of its CPUs, percent of one CPU; null for a load without a level.
    pub requested: Option<f64>,
    /// CPU use reached, percent of one CPU, over all its CPUs; null if it could not be observed.
    pub reached: Option<Reached>,
    /// Where it ran.
    pub cpus: Vec<CpuId>,
    /// What it did, in its own units per second, such as `messages_per_s`.
    pub rate: BTreeMap<String, f64>,
    /// Processes and threads it consisted of.
    pub tasks: u64,
    /// How long after the release of its tasks it was in its steady state, ns; null if it was not when measuring began.
    #[serde(default)]
    pub settled_after_ns: Option<u64>,
    /// Whether it ran from before the first activation until after the last.
    pub alive: bool,
    /// Whether it was more than 5 points off the level asked for.
    #[serde(default)]
    pub missed: bool,
    /// What it reached on each of its CPUs.
    #[serde(default)]
    pub per_cpu: Vec<LoadOnCpu>,
    /// What it reached over time: `[at, percent]`, CPU use until this time (CLOCK_MONOTONIC, ns) since the one before.
    #[serde(default)]
    pub course: Vec<(u64, f64)>,
}

/// A load this many points off its level has missed it.
const MOST_OFF: f64 = 5.0;

impl LoadEvidence {
    /// CPU use, percent, where it lies farthest off the level asked for, and on which CPU; no CPU where only all together are
    /// known. None without a level or an observation.
    #[must_use]
    pub fn farthest_off(&self) -> Option<(f64, Option<CpuId>)> {
        let (asked, together) = (self.requested?, self.reached?.mean);
        let each = self.per_cpu.iter().filter_map(|on| Some((on.reached?.mean, Some(on.cpu))));
        let off = |place: &(f64, Option<CpuId>)| (place.0 - asked).abs();
        each.chain([(together, None)]).max_by(|a, b| off(a).total_cmp(&off(b)))
    }

    /// Whether it lies farther off than is allowed, on any of its CPUs: what [`LoadEvidence::missed`] is to say.
    #[must_use]
    pub fn misses_its_level(&self) -> bool {
        self.requested.zip(self.farthest_off()).is_some_and(|(asked, (reached, _))| (reached - asked).abs() > MOST_OFF)
    }
}

/// A load on one of its CPUs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LoadOnCpu {
    /// Which.
    pub cpu: CpuId,
    /// CPU use of the load there; null if its tasks move between CPUs.
    pub reached: Option<Reached>,
    /// How busy the CPU was, with whatever, percent, as /proc/stat says; null if it does not.
    pub machine_busy: Option<f64>,
}

/// CPU use of a load, percent of one CPU, averaged over its CPUs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reached {
    /// Over the run.
    pub mean: f64,
    /// In its worst whole second.
    pub worst_second: f64,
}

/// The machine before and after; what differs is what happened meanwhile.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Host {
    /// When measuring began: once the loads, if any, had settled.
    pub before: HostFacts,
    /// When it had ended, before the loads were stopped; null while the run goes on.
    pub after: Option<HostFacts>,
    /// CPU time of processes between the two looks; absent where it was not recorded.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub processes: Option<Processes>,
}

/// Where processes spent CPU time between the two looks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Processes {
    /// CPU time of the measuring process itself, ms.
    pub own_ms: u64,
    /// CPU time of all other processes together, loads and threads of the kernel left out, ms; absent where not recorded.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub others_ms: Option<u64>,
    /// CPU time of all threads of the kernel together, ms; absent where not recorded.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub kernel_ms: Option<u64>,
    /// The processes that used most CPU time, neither this one nor a load, the busiest first. Those of another container or
    /// of another user may be hidden.
    pub busiest: Vec<BusyProcess>,
}

/// A process that used CPU time while it was measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BusyProcess {
    /// Its number.
    pub pid: u32,
    /// Its name as the kernel has it: at most 15 characters, without arguments.
    pub name: String,
    /// CPU time between the two looks, ms.
    pub cpu_ms: u64,
    /// Whether it is a thread of the kernel.
    pub kernel_thread: bool,
}

/// One look at the machine. What could not be read is null, with the reason in [`HostFacts::unreadable`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HostFacts {
    /// The machine's name.
    pub hostname: Option<String>,
    /// `uname -m`.
    pub architecture: String,
    /// `uname -r`.
    pub kernel: Option<String>,
    /// /proc/version.
    pub kernel_version: Option<String>,
    /// How the kernel may be preempted.
    pub preemption: Option<String>,
    /// The kernel's command line.
    pub kernel_command_line: Option<String>,
    /// The CPU's name, or the board's where the CPU has none.
    pub cpu_model: Option<String>,
    /// Whether a hypervisor lies below.
    pub hypervisor: Option<bool>,
    /// One entry per online CPU.
    pub cpus: Vec<CpuFacts>,
    /// What the kernel keeps time with.
    pub clocksource: Option<String>,
    /// What it could use instead.
    pub clocksources_available: Vec<String>,
    /// CPUs taken out of the scheduler's balancing, as a list.
    pub isolated_cpus: Option<String>,
    /// CPUs without a tick, as a list.
    pub nohz_full_cpus: Option<String>,
    /// µs of each period that real-time tasks may use; -1: all.
    pub rt_runtime_us: Option<i64>,
    /// That period, µs.
    pub rt_period_us: Option<i64>,
    /// Transparent huge pages: always, madvise or never.
    pub transparent_hugepages: Option<String>,
    /// Memory in all, KiB.
    pub memory_total_kib: Option<u64>,
    /// Memory that could be had without swapping, KiB.
    pub memory_available_kib: Option<u64>,
    /// Load averages over 1, 5 and 15 minutes.
    pub load_average: Option<[f64; 3]>,
    /// Since boot, s.
    pub uptime_s: Option<f64>,
    /// /proc/interrupts: counts since boot, per CPU in the order of [`HostFacts::cpus`].
    pub interrupts: Vec<EventCounts>,
    /// /proc/softirqs, the same way.
    pub softirqs: Vec<EventCounts>,
    /// What could not be read.
    pub unreadable: Vec<Unreadable>,
}

/// One CPU of the machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CpuFacts {
    /// Its number.
    pub cpu: CpuId,
    /// What decides its frequency.
    pub governor: Option<String>,
    /// Its frequency just then, kHz.
    pub frequency_khz: Option<u64>,
    /// Lowest frequency allowed, kHz.
    pub frequency_min_khz: Option<u64>,
    /// Highest frequency allowed, kHz.
    pub frequency_max_khz: Option<u64>,
    /// Where its time went since boot, by name as in /proc/stat, ms.
    pub time_ms: BTreeMap<String, u64>,
}

/// Counts of one kind of interrupt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventCounts {
    /// Its number or short name.
    pub name: String,
    /// What the kernel says it is for; may be empty.
    pub description: String,
    /// Per CPU.
    pub counts: Vec<u64>,
}

/// A fact that could not be had.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unreadable {
    /// The file.
    pub path: String,
    /// Its line, from 1, where a line could not be understood.
    pub line: Option<usize>,
    /// What was looked for.
    pub item: String,
    /// What went wrong.
    pub error: String,
}
