// SPDX-License-Identifier: MIT OR Apache-2.0
//! The flags that say what to measure, wherever it is measured: what was said, and what that adds
//! up to.

use crate::commands::help::{LOAD, OUTPUT, WHAT, WHEN, WHERE};
use crate::commands::probe_flags::ProbeFlags;
use anyhow::{Context, bail, ensure};
use executor::{SettingError, checked_run};
use plan::{
    CpuError, CpuId, CpuList, Interval, Length, LoadSpec, MAX_THREADS, Nanos, OverrunPolicy, Phase,
    Policy, PolicyError, ProcessCpus, Run, RunError, Scheduling, Settle, Unit,
};
use probe::{ChosenProbe, ProbeSettingError};
use std::str::FromStr;

/// What was said.
#[derive(Clone, clap::Args)]
pub struct RunFlags {
    #[command(flatten)]
    pub probe: ProbeFlags,
    /// Scheduling policy: fifo, rr, other, batch or idle [default: fifo, or deadline with --probe
    /// deadline]
    #[arg(long, value_name = "POLICY", help_heading = WHAT)]
    policy: Option<Policy>,
    /// Real-time priority, 1 to 99 [default: 90]
    #[arg(
        short,
        long,
        value_name = "PRIO",
        value_parser = priority,
        allow_hyphen_values = true,
        help_heading = WHAT,
    )]
    prio: Option<i64>,
    /// After an overrun, run the missed ones late instead of skipping them
    #[arg(long, help_heading = WHAT, hide_short_help = true)]
    catch_up: bool,
    /// Do not hold /dev/cpu_dma_latency at 0: allow the idle states that are configured
    #[arg(long, help_heading = WHAT, hide_short_help = true)]
    no_dma_latency: bool,
    /// Time from one wake-up of a thread to the next, or a rate: 200us, 1kHz; a bare number counts
    /// µs [default: 1ms; some probes differ]
    ///
    /// Also a part of a second, such as 1/1024s. Of a probe that starts something, such as spawn,
    /// from one trial to the next.
    #[arg(short, long, value_name = "TIME", allow_hyphen_values = true, help_heading = WHEN)]
    interval: Option<Interval>,
    /// Number of wake-ups per thread, instead of a length
    ///
    /// N x interval is the length of the run. Each that was due counts, also one that was skipped.
    /// Of a probe that starts something, such as spawn, the number of trials.
    #[arg(
        short = 'n',
        long,
        value_name = "N",
        conflicts_with = "duration",
        value_parser = count::<u64>,
        allow_hyphen_values = true,
        help_heading = WHEN,
    )]
    samples: Option<u64>,
    /// Length of the run: 10s, 3h, forever [default: 10s]
    ///
    /// Forever is until Ctrl-C or SIGTERM. A bare number counts seconds.
    #[arg(
        short,
        long,
        value_name = "TIME",
        value_parser = length,
        allow_hyphen_values = true,
        help_heading = WHEN,
    )]
    duration: Option<Length>,
    /// Stop with exit code 1 as soon as a latency exceeds TIME
    ///
    /// Where intervals are measured (probes rtc and hpet), as soon as one differs from its period
    /// by more, either way.
    #[arg(
        short,
        long,
        value_name = "TIME",
        value_parser = micros,
        allow_hyphen_values = true,
        help_heading = WHEN,
    )]
    break_above: Option<Nanos>,
    /// Record the kernel's events meanwhile, and explain each latency above TIME by them
    /// [default of TIME: 50us]
    ///
    /// `teiji explain` shows the causes afterwards. Takes root.
    #[arg(
        long,
        value_name = "TIME",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "50us",
        value_parser = micros,
        help_heading = WHAT,
    )]
    explain: Option<Nanos>,
    /// Let the threads run this long before recording begins
    #[arg(
        long,
        value_name = "TIME",
        default_value = "100ms",
        value_parser = micros,
        allow_hyphen_values = true,
        help_heading = WHEN,
        hide_short_help = true,
    )]
    warmup: Nanos,
    /// Lengthen each further thread's interval by this
    #[arg(
        long,
        value_name = "TIME",
        default_value = "0us",
        value_parser = micros,
        allow_hyphen_values = true,
        help_heading = WHEN,
        hide_short_help = true,
    )]
    distance: Nanos,
    /// Start all threads at one instant, the n-th shifted by n x TIME [default without this:
    /// spread over one interval]
    #[arg(
        long,
        value_name = "TIME",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "0us",
        value_parser = micros,
        help_heading = WHEN,
        hide_short_help = true,
    )]
    aligned: Option<Nanos>,
    /// CPUs to measure, one pinned thread on each: 2-3, '1-3,!2' or all [default: the affinity
    /// inherited]
    ///
    /// Where some CPUs of that affinity are set apart, such as by nohz_full=, a partition of
    /// control groups or systemd's CPUAffinity=, the default is these alone.
    #[arg(short = 'a', long, value_name = "LIST", help_heading = WHERE)]
    cpus: Option<CpuList>,
    /// Number of threads, placed in turn on the CPUs [default: one on each CPU]
    #[arg(
        short,
        long,
        value_name = "N",
        value_parser = count::<usize>,
        allow_hyphen_values = true,
        help_heading = WHERE,
    )]
    pub threads: Option<usize>,
    /// A load to run meanwhile: hackbench, or cpu@50%,cpus=0-1, which keeps CPUs 0 and 1 half
    /// busy [repeatable]
    ///
    /// NAME[@LEVEL][,key=value]..., such as hackbench,groups=10,cpus=0+2-3. docs/loads.md
    /// describes them.
    #[arg(long = "load", value_name = "SPEC", help_heading = LOAD)]
    pub loads: Vec<LoadSpec>,
    /// How long loads settle before recording begins: auto (until each is in its steady state, at
    /// most 10 s), a time such as 2s, or 0. With loads, unless this is 0, threads warm up for
    /// 500 ms more
    #[arg(
        long,
        value_name = "TIME",
        default_value = "auto",
        allow_hyphen_values = true,
        help_heading = LOAD,
        hide_short_help = true,
    )]
    settle: Settle,
    /// Title of the run in summaries and reports
    #[arg(long, value_name = "TEXT", help_heading = OUTPUT, hide_short_help = true)]
    title: Option<String>,
    /// Do not sync samples to the disk while measuring: a power cut may then cost more than the
    /// last second
    #[arg(long, help_heading = OUTPUT, hide_short_help = true)]
    no_sync: bool,
    /// The length where none is given, for those who choose another.
    #[arg(skip)]
    pub chosen_length: Option<Nanos>,
}

pub fn micros(text: &str) -> Result<Nanos, plan::DurationError> {
    Nanos::parse(text, Unit::Microsecond)
}

/// A length of 0 is refused by the flag, so that cyclictest's `-d 0` gets the translation that
/// other flags of its get.
fn length(text: &str) -> anyhow::Result<Length> {
    let length = Length::from_duration(text)?;
    ensure!(length != Length::DurationNs(Nanos::ZERO), "a run has a length above 0");
    Ok(length)
}

/// The same of what ends by itself.
pub fn seconds(text: &str) -> anyhow::Result<Nanos> {
    match length(text)? {
        Length::DurationNs(time) => Ok(time),
        _ => bail!("it needs an end: write a time such as 10s"),
    }
}

fn count<T: FromStr>(text: &str) -> anyhow::Result<T> {
    text.parse().ok().with_context(|| format!("'{text}' is not a whole number above 0"))
}

pub fn priority(text: &str) -> anyhow::Result<i64> {
    text.parse().ok().with_context(|| {
        format!("'{text}' is not a priority: real-time priorities are 1 (lowest) to 99 (highest)")
    })
}

impl RunFlags {
    /// The CPUs to be measured: those named, or where the process runs anyway. Of these the ones
    /// that somebody set apart, where some are.
    pub fn cpus(&self, of: &ProcessCpus) -> Result<Vec<CpuId>, CpuError> {
        if let Some(list) = &self.cpus {
            return list.resolve(&of.usable);
        }
        let limit = self.probe.chosen.as_ref().ok().and_then(ChosenProbe::max_threads);
        let mut cpus = of.by_default();
        cpus.truncate(limit.unwrap_or(usize::MAX));
        Ok(cpus)
    }

    /// The same for each probe that was named, in their order.
    pub fn each(&self) -> Vec<RunFlags> {
        self.probe.each().into_iter().map(|probe| RunFlags { probe, ..self.clone() }).collect()
    }

    pub fn has_default_length(&self) -> bool {
        self.samples.is_none() && self.duration.is_none()
    }

    /// The same with another length where none was given.
    pub fn with_length(&self, length: Nanos) -> RunFlags {
        let chosen_length = self.has_default_length().then_some(length);
        RunFlags { chosen_length, ..self.clone() }
    }

    /// The same with these loads, and at this interval and priority where there is one.
    pub fn varied(
        &self,
        loads: Vec<LoadSpec>,
        interval: Option<Nanos>,
        prio: Option<u8>,
    ) -> RunFlags {
        let mut flags = RunFlags { loads, ..self.clone() };
        if let Some(nanos) = interval {
            flags.interval = nanos.to_string().parse().ok();
        }
        flags.prio = prio.map(i64::from).or(flags.prio);
        flags
    }

    /// The probe with its settings.
    pub fn chosen_probe(&self) -> Result<ChosenProbe, ProbeSettingError> {
        self.probe.chosen.clone()
    }

    /// Whether somebody said which CPUs to measure.
    pub const fn names_cpus(&self) -> bool {
        self.cpus.is_some()
    }

    /// What a reader should know of how the interval was written.
    pub fn interval_note(&self) -> Option<String> {
        self.interval.as_ref().and_then(Interval::note)
    }

    /// What was said and means nothing for the probe is refused, not passed over.
    fn check_meaning(&self, probe: &ChosenProbe) -> Result<(), SettingError> {
        let said = [
            ("interval", self.interval.is_some()),
            ("prio", self.prio.is_some()),
            ("policy", self.policy.is_some()),
        ];
        let mut said = said.into_iter().filter(|(_, is_said)| *is_said);
        Ok(said.try_for_each(|(setting, _)| probe.check_meaning(setting))?)
    }

    /// From what was said to a checked run on these CPUs.
    pub fn run(&self, cpus: &[CpuId]) -> Result<Run, SettingError> {
        if self.probe.count() > 1 {
            return Err(ProbeSettingError::Several.into());
        }
        let probe = self.chosen_probe()?;
        self.check_meaning(&probe)?;
        let scheduling = match (self.policy, self.prio) {
            (None, None) => probe.default_scheduling(),
            (policy, prio) => Scheduling::new(policy, prio)?,
        };
        if self.names_cpus() && !scheduling.policy.can_pin() {
            return Err(PolicyError::CannotPin { policy: scheduling.policy.kernel_name() }.into());
        }
        let run = Run {
            title: self.title.clone(),
            probe: self.probe.name.clone(),
            probe_settings: self.probe.settings.clone(),
            interval_ns: self
                .interval
                .as_ref()
                .map_or_else(|| probe.default_interval(), |interval| interval.nanos),
            distance_ns: self.distance,
            length: match (self.samples, self.duration) {
                (Some(samples), _) => Length::Samples(samples),
                (None, Some(duration)) => duration,
                (None, None) => {
                    Length::DurationNs(self.chosen_length.unwrap_or(Nanos::from_secs(10)))
                }
            },
            cpus: place(self.threads, cpus)?,
            scheduling,
            aligned_ns: self.aligned,
            warmup_ns: self.warmup,
            break_above_ns: self.break_above,
            explain_above_ns: self.explain,
            overrun_policy: if self.catch_up {
                OverrunPolicy::CatchUp
            } else {
                OverrunPolicy::Skip
            },
            hold_dma_latency: !self.no_dma_latency,
            sync: !self.no_sync,
            settle: self.settle,
            loads: self.loads.clone(),
            phase: Phase::NONE,
        };
        checked_run(run, &probe)
    }
}

/// Each thread's CPU: one thread on each, or as many threads as asked, in turn.
fn place(threads: Option<usize>, cpus: &[CpuId]) -> Result<Vec<CpuId>, RunError> {
    match threads {
        None => Ok(cpus.to_vec()),
        Some(asked) if asked == 0 || asked > MAX_THREADS => {
            Err(RunError::Threads { asked, limit: MAX_THREADS })
        }
        Some(threads) => Ok(cpus.iter().copied().cycle().take(threads).collect()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(clap::Parser)]
    struct Parsed {
        #[command(flatten)]
        flags: RunFlags,
    }

    fn flags(words: &[&str]) -> RunFlags {
        let words = std::iter::once(&"teiji").chain(words);
        <Parsed as clap::Parser>::try_parse_from(words).unwrap().flags
    }

    /// Of what was inherited: isolated CPUs are not in it, and those of nohz_full are.
    #[test]
    fn cpus_that_are_set_apart_are_measured_by_default() {
        let list = |cpus: &[u32]| cpus.iter().copied().map(CpuId).collect::<Vec<_>>();
        for (inherited, set_apart, words, expected) in [
            (&[0, 1, 2, 3][..], &[2, 3][..], &[][..], &[2, 3][..]),
            (&[0, 1], &[2, 3], &[], &[0, 1]),
            (&[0, 1, 2], &[2, 3], &[], &[2]),
            (&[0, 1, 2, 3], &[], &[], &[0, 1, 2, 3]),
            (&[0, 1, 2, 3], &[2, 3], &["-a", "0"], &[0]),
        ] {
            let of = ProcessCpus {
                inherited: list(inherited),
                usable: list(&[0, 1, 2, 3]),
                set_apart: list(set_apart),
            };
            assert_eq!(flags(words).cpus(&of).unwrap(), list(expected), "{inherited:?}");
        }
    }

    #[test]
    fn threads_take_turns_on_cpus() {
        let cpus = [CpuId(1), CpuId(3)];
        assert_eq!(place(None, &cpus).unwrap(), cpus);
        assert_eq!(place(Some(3), &cpus).unwrap(), [CpuId(1), CpuId(3), CpuId(1)]);
        assert!(place(Some(0), &cpus).is_err());
    }
}
