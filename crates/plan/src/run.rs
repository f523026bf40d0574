// SPDX-License-Identifier: MIT OR Apache-2.0
//! One run, as asked for.

use crate::{CpuId, DurationError, LoadSpec, Nanos, Phase, Scheduling, Settle, Unit};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A probe's settings by name, as they were written. Those left out have the probe's defaults.
pub type ProbeSettings = BTreeMap<String, String>;

/// The probe of Linux, which measures where there is no co-kernel.
pub const DEFAULT_PROBE: &str = "cyclic";
/// The probe of another program's wake-ups.
pub const APP_PROBE: &str = "app";

/// In the place of a probe, where none is named: that of the co-kernel that runs, otherwise
/// [`DEFAULT_PROBE`]. It is chosen on the machine that measures, and no recording has it.
pub const AUTO_PROBE: &str = "auto";

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Length {
    /// So many due activations of each thread.
    Samples(u64),
    /// So much time for each thread.
    DurationNs(Nanos),
    /// Until somebody ends it, or what it measures does.
    Forever,
}

impl Length {
    /// As the flag for durations has it.
    pub const FOREVER: &str = "forever";

    /// Whether only a signal ends it, or what is measured.
    pub const fn is_endless(self) -> bool {
        matches!(self, Length::Forever)
    }

    /// Reads `10s`, `3h` or `forever`; a bare number counts seconds.
    ///
    /// # Errors
    /// [`DurationError`] names the part that could not be read.
    pub fn from_duration(text: &str) -> Result<Self, DurationError> {
        match text.trim() {
            Self::FOREVER => Ok(Length::Forever),
            _ => Nanos::parse(text, Unit::Second).map(Length::DurationNs),
        }
    }
}

/// What happens to activations whose time has passed while an earlier one was late.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OverrunPolicy {
    /// Continue at the next planned time in the future, and count the others as skipped.
    Skip,
    /// Run each of them at once, late.
    CatchUp,
}

/// One run: one probe setting under one load. Everything the run needs is in it; nothing in it
/// depends on a later snapshot of the machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub title: Option<String>,
    /// The probe's name. Which there are, the crate `probe` knows.
    pub probe: String,
    /// The probe's own settings.
    #[serde(skip_serializing_if = "ProbeSettings::is_empty", default)]
    pub probe_settings: ProbeSettings,
    /// Time between two planned activations of the first thread, ns.
    pub interval_ns: Nanos,
    /// What each further thread's interval is longer, ns.
    pub distance_ns: Nanos,
    pub length: Length,
    /// The CPU of each thread, in order of thread index.
    pub cpus: Vec<CpuId>,
    /// What the threads ask of the scheduler.
    pub scheduling: Scheduling,
    /// All threads start at one instant, the n-th shifted by n times this. None: starts are spread
    /// over one interval.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub aligned_ns: Option<Nanos>,
    /// How long the threads are to run before the first activation that counts, ns, beside
    /// settling loads.
    pub warmup_ns: Nanos,
    /// A latency above this ends the run, ns.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub break_above_ns: Option<Nanos>,
    /// The kernel's events are recorded meanwhile, and each latency above this is explained by
    /// them, ns.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub explain_above_ns: Option<Nanos>,
    /// What happens after an overrun.
    pub overrun_policy: OverrunPolicy,
    /// Whether /dev/cpu_dma_latency is held at 0 meanwhile.
    pub hold_dma_latency: bool,
    /// Whether samples are forced to the disk while measuring, so that a power cut costs the last
    /// second at most. Not said by the first recordings: they did not.
    #[serde(default)]
    pub sync: bool,
    /// How long the loads may settle before the first activation. Not said by the first
    /// recordings: they did not wait.
    #[serde(default = "Settle::not_at_all")]
    pub settle: Settle,
    /// What keeps the machine busy meanwhile.
    pub loads: Vec<LoadSpec>,
    /// Which way timers meet. Where time is virtual; none elsewhere.
    #[serde(skip_serializing_if = "Phase::is_none", default)]
    pub phase: Phase,
}

/// What makes a run impossible on any machine.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RunError {
    /// Outside what can be measured.
    #[error("an interval of {0} cannot be measured: it must be from 1us to 1h")]
    Interval(Nanos),
    #[error("a run needs at least one sample: {0}")]
    Empty(&'static str),
    /// Longer than anybody waits, and than times in ns can be added up.
    #[error("{what} of {asked} is too long: at most {limit}")]
    Time {
        what: &'static str,
        /// The setting that it is.
        setting: &'static str,
        asked: Nanos,
        limit: Nanos,
    },
    /// The same of a number of samples.
    #[error(
        "{samples} samples, {interval} apart, take longer than {} (10 years), and a run cannot",
        Nanos::LONGEST
    )]
    SamplesTooLong {
        samples: u64,
        /// The interval of the thread that takes longest.
        interval: Nanos,
    },
    /// Longer than a sample's row can number.
    #[error("{0} samples of one thread are more than a recording holds (1,000,000,000,000)")]
    TooLong(u64),
    #[error("a run needs at least one thread and at most {limit}; {asked} were asked for")]
    Threads { asked: usize, limit: usize },
}

/// Far beyond any run (31 years at 1 ms), far below overflow of k x interval.
const MAX_ACTIVATIONS: u64 = 1_000_000_000_000;
/// Beyond any warm-up, and any load that settles.
const MAX_BEFORE: Nanos = Nanos::from_secs(86_400);
/// Between the starts of two threads, as between two activations.
const MAX_INTERVAL: Nanos = Nanos::from_secs(3_600);
/// As many as the largest machine has CPUs.
pub const MAX_THREADS: usize = 8_192;

impl Run {
    /// For tests and examples: so many activations at this interval on CPU 0, without warm-up or
    /// load. They set the other fields that they depend on.
    pub fn example(interval_ns: Nanos, samples: u64) -> Self {
        Run {
            title: None,
            probe: DEFAULT_PROBE.to_owned(),
            probe_settings: ProbeSettings::new(),
            interval_ns,
            distance_ns: Nanos::ZERO,
            length: Length::Samples(samples),
            cpus: vec![CpuId(0)],
            scheduling: Scheduling::DEFAULT,
            aligned_ns: None,
            warmup_ns: Nanos::ZERO,
            break_above_ns: None,
            explain_above_ns: None,
            overrun_policy: OverrunPolicy::Skip,
            hold_dma_latency: false,
            sync: true,
            settle: Settle::Auto,
            loads: Vec::new(),
            phase: Phase::NONE,
        }
    }

    /// The interval of thread `index`.
    pub fn interval_of(&self, index: usize) -> Nanos {
        let index = i64::try_from(index).unwrap_or(i64::MAX);
        Nanos(self.interval_ns.0.saturating_add(self.distance_ns.0.saturating_mul(index)))
    }

    /// How many activations of thread `index` fall due.
    pub fn activations_of(&self, index: usize) -> u64 {
        match self.length {
            Length::Samples(n) => n,
            Length::DurationNs(duration) => self.intervals_in(duration, index),
            // Row numbers end, and so do times in ns.
            Length::Forever => self.intervals_in(Nanos::LONGEST, index).min(MAX_ACTIVATIONS),
        }
    }

    fn intervals_in(&self, time: Nanos, index: usize) -> u64 {
        u64::try_from(time.0 / self.interval_of(index).0.max(1)).unwrap_or(0).max(1)
    }

    /// How far the activations of thread `index` are shifted against the first thread's. Unless
    /// aligned, threads take turns within one interval, so that their timers and wake-ups do
    /// not coincide; within the run, where that is shorter.
    pub fn offset_of(&self, index: usize) -> Nanos {
        let position = i64::try_from(index).unwrap_or(i64::MAX);
        match self.aligned_ns {
            Some(offset) => Nanos(offset.0.saturating_mul(position)),
            None => {
                let threads = i64::try_from(self.cpus.len()).unwrap_or(i64::MAX).max(1);
                Nanos(self.starts_within().0 / threads * position)
            }
        }
    }

    /// One interval of the first thread; the whole run, where that is shorter.
    fn starts_within(&self) -> Nanos {
        match self.length {
            Length::DurationNs(duration) => self.interval_ns.min(duration),
            Length::Samples(_) | Length::Forever => self.interval_ns,
        }
    }

    /// How much later than without its phase all threads begin, the warm-up included, ns.
    pub fn phase_shift(&self) -> Nanos {
        self.phase.threads_shift(self.starts_within())
    }

    /// How long the threads run before the first activation that counts, ns: longer beside loads
    /// that are given time to settle.
    pub fn whole_warmup_ns(&self) -> Nanos {
        let as_they_start = self.loads.is_empty() || self.settle == Settle::ForNs(Nanos::ZERO);
        let beside = if as_they_start { Nanos::ZERO } else { Settle::BESIDE_THREADS };
        Nanos(self.warmup_ns.0.saturating_add(beside.0))
    }

    /// How long the thread that takes longest measures, ns: the length of the run.
    pub fn measured_ns(&self) -> Nanos {
        let length_of = |index| {
            i64::try_from(self.activations_of(index))
                .unwrap_or(i64::MAX)
                .saturating_mul(self.interval_of(index).0)
        };
        Nanos((0..self.cpus.len()).map(length_of).max().unwrap_or(0))
    }

    /// From the beginning of the warm-up to the end of the thread that ends last, ns.
    pub fn expected_ns(&self) -> Nanos {
        let end_of = |index| {
            let activations = i64::try_from(self.activations_of(index)).unwrap_or(i64::MAX);
            self.offset_of(index)
                .0
                .saturating_add(activations.saturating_mul(self.interval_of(index).0))
        };
        let longest = (0..self.cpus.len()).map(end_of).max();
        Nanos(self.whole_warmup_ns().0.saturating_add(longest.unwrap_or(0)))
    }

    /// The longest a run of this kind takes, settling and the shifts of its phase included, ns.
    pub fn max_duration_ns(&self) -> Nanos {
        let settling = if self.loads.is_empty() { Nanos::ZERO } else { self.settle.bound_ns() };
        let shifts = [settling, self.phase.max_load_shift(&self.loads), self.phase_shift()];
        Nanos(shifts.iter().fold(self.expected_ns().0, |sum, shift| sum.saturating_add(shift.0)))
    }

    /// Whether any machine could run this.
    ///
    /// # Errors
    /// The first thing that makes it impossible.
    pub fn check(&self) -> Result<(), RunError> {
        if self.cpus.is_empty() || self.cpus.len() > MAX_THREADS {
            return Err(RunError::Threads { asked: self.cpus.len(), limit: MAX_THREADS });
        }
        for index in [0, self.cpus.len() - 1] {
            let interval = self.interval_of(index);
            if !(Nanos::from_micros(1)..=MAX_INTERVAL).contains(&interval) {
                return Err(RunError::Interval(interval));
            }
        }
        match self.length {
            Length::Samples(0) => return Err(RunError::Empty("0 samples were asked for")),
            Length::DurationNs(Nanos(..=0)) => {
                return Err(RunError::Empty("a duration of 0 was asked for"));
            }
            _ => {}
        }
        self.check_times()?;
        let longest = self.activations_of(0);
        if longest > MAX_ACTIVATIONS { Err(RunError::TooLong(longest)) } else { Ok(()) }
    }

    /// Whether each time is one that somebody may wait for. All of them together are then far below
    /// what ns can say.
    fn check_times(&self) -> Result<(), RunError> {
        let duration =
            if let Length::DurationNs(duration) = self.length { duration } else { Nanos::ZERO };
        let settle = if let Settle::ForNs(time) = self.settle { time } else { Nanos::ZERO };
        let [aligned, break_above, explain] =
            [self.aligned_ns, self.break_above_ns, self.explain_above_ns]
                .map(Option::unwrap_or_default);
        for (what, setting, asked, limit) in [
            ("a run", "duration", duration, Nanos::LONGEST),
            ("a warm-up", "warmup", self.warmup_ns, MAX_BEFORE),
            ("a settling time", "settle", settle, MAX_BEFORE),
            ("a shift between the starts of threads", "aligned", aligned, MAX_INTERVAL),
            ("a latency to stop at", "break-above", break_above, Nanos::LONGEST),
            ("a latency to explain", "explain", explain, Nanos::LONGEST),
        ] {
            if asked > limit {
                return Err(RunError::Time { what, setting, asked, limit });
            }
        }
        let Length::Samples(samples) = self.length else { return Ok(()) };
        let interval = self.interval_of(self.cpus.len() - 1).max(self.interval_ns);
        let takes = i128::from(samples) * i128::from(interval.0);
        if samples <= MAX_ACTIVATIONS && takes > i128::from(Nanos::LONGEST.0) {
            return Err(RunError::SamplesTooLong { samples, interval });
        }
        Ok(())
    }
}

#[cfg(test)]
#[path = "run_tests.rs"]
mod tests;
