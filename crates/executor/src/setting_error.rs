// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is wrong with a run or its guest, and which settings that is about.

use lab::KernelError;
use load::SpecError;
use plan::{CpuError, GuestError, PolicyError, Run, RunError, Setting, Value};
use probe::ChosenProbe;
use std::path::PathBuf;

/// A setting that cannot be, or settings that cannot be together.
#[derive(Debug, thiserror::Error)]
pub enum SettingError {
    #[error(transparent)]
    Cpus(#[from] CpuError),
    #[error("in the guest: {0}")]
    GuestCpus(CpuError),
    /// The interval that `distance` gives the last thread.
    #[error(transparent)]
    Distance(RunError),
    /// Any other part of a run.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The probe, or one of its settings.
    #[error(transparent)]
    Probe(#[from] probe::ProbeSettingError),
    #[error(transparent)]
    Scheduling(#[from] PolicyError),
    #[error(transparent)]
    Load(#[from] SpecError),
    /// The machine of the lab.
    #[error(transparent)]
    Guest(#[from] GuestError),
    /// A kernel that is not there, or cannot be used.
    #[error(transparent)]
    Kernel(#[from] KernelError),
    /// A folder of modules that is not there.
    #[error("--modules {}: there is no such folder", .0.display())]
    Modules(PathBuf),
    /// A device tree that is not there.
    #[error("--dtb {}: there is no such file", .0.display())]
    DeviceTree(PathBuf),
    /// A QEMU that is not there.
    #[error(
        "--qemu {}: there is no such file. Expected pinned, system or the path of a QEMU",
        .0.display(),
    )]
    Qemu(PathBuf),
    /// A rate of instructions on the host's clock.
    #[error("--mips applies to virtual time only. Drop it, or use --time virtual")]
    RateOfHostTime,
    /// A phase on the host's clock.
    #[error(
        "phases need virtual time: on the host's clock no two runs are the same. Drop the phase, \
         or use --time virtual"
    )]
    PhaseOfHostTime,
    /// A run that nobody could end.
    #[error(
        "a run of a plan or in a guest ends by itself: give it a duration such as 10s, or \
         samples, instead of forever"
    )]
    Endless,
    /// A recording that does not fit into the guest.
    #[error(
        "{activations} samples make a recording that needs {needed_mib} MiB of memory in the \
         guest, which has {has_mib}: give it more with --memory, or measure less"
    )]
    GuestMemory {
        activations: u64,
        /// MiB that the guest would need.
        needed_mib: u64,
        /// MiB that it has.
        has_mib: u32,
    },
}

impl SettingError {
    /// The settings it may be about, the likeliest first: the first of them that was written is to
    /// be changed.
    pub const fn keys(&self) -> &'static [&'static str] {
        match self {
            SettingError::Cpus(_) | SettingError::GuestCpus(_) => &["cpus", "smp"],
            SettingError::Distance(_) => &["distance", "threads", "interval"],
            SettingError::Run(error) => match error {
                RunError::Interval(_) => &["interval"],
                RunError::Empty(_) => &["samples", "duration"],
                RunError::TooLong(_) => &["samples", "duration", "interval"],
                RunError::SamplesTooLong { .. } => &["samples", "interval", "distance"],
                RunError::Time { .. } => &[],
                RunError::Threads { .. } => &["threads", "cpus"],
            },
            SettingError::Scheduling(error) => match error {
                PolicyError::Unknown(_) => &["policy"],
                PolicyError::Priority(_) => &["prio"],
                PolicyError::PriorityWithoutRealTime { .. } => &["prio", "policy"],
                PolicyError::CannotPin { .. } => &["cpus"],
            },
            SettingError::Probe(_) => &["probe"],
            SettingError::Load(_) => &["load"],
            SettingError::Guest(error) => match error {
                GuestError::UnknownMachine(_) => &["machine"],
                GuestError::Mips(_) => &["mips"],
                GuestError::Phase(_) => &["phase"],
                GuestError::VirtualCpus { .. } => &["smp", "time"],
                GuestError::MipsOfCpus { .. } => &["mips", "smp"],
                GuestError::FixedCpusInVirtualTime { .. } => &["time", "machine"],
                GuestError::Cpus { .. } => &["smp", "machine"],
                GuestError::CpuCount { .. } => &["smp"],
                GuestError::Memory { .. } => &["memory", "machine"],
                GuestError::NoQemu => &["qemu"],
                GuestError::KernelArgument(_) => &["append"],
            },
            SettingError::Kernel(_) => &["kernel"],
            SettingError::Modules(_) => &["modules"],
            SettingError::DeviceTree(_) => &["dtb"],
            SettingError::Qemu(_) => &["qemu"],
            SettingError::RateOfHostTime => &["mips", "time"],
            SettingError::PhaseOfHostTime => &["phase", "time"],
            SettingError::Endless => &["duration"],
            SettingError::GuestMemory { .. } => {
                &["memory", "samples", "duration", "interval", "threads"]
            }
        }
    }

    /// The setting of this combination that it is about; none where a default cannot be.
    pub fn setting<'s>(&self, settings: &'s [Setting]) -> Option<&'s Setting> {
        let is_set = |setting: &Setting| match &setting.value {
            Value::Switch(on) => *on,
            Value::Words(words) => !words.is_empty(),
        };
        let written =
            |key: &&str| settings.iter().rfind(|setting| setting.key == *key && is_set(setting));
        // A probe's own settings it knows by itself, and a run its times.
        let named = match self {
            SettingError::Probe(error) => Some(error.setting()),
            SettingError::Run(RunError::Time { setting, .. }) => Some(*setting),
            _ => None,
        };
        named.iter().chain(self.keys()).find_map(written)
    }
}

/// The run, if any machine could make it.
///
/// # Errors
/// The first thing that makes it impossible.
pub fn checked_run(run: Run, probe: &ChosenProbe) -> Result<Run, SettingError> {
    match run.check() {
        Ok(()) => {
            probe.check(&run)?;
            check_times(&run)?;
            Ok(run)
        }
        Err(RunError::Interval(interval)) if interval != run.interval_ns => {
            Err(SettingError::Distance(RunError::Interval(interval)))
        }
        Err(error) => Err(error.into()),
    }
}

/// Loads that start or stop while measuring.
///
/// # Errors
/// Naming the load and the time that is too late.
pub fn check_times(run: &Run) -> Result<(), SettingError> {
    let of =
        |(place, load)| load::check_times(load, run.measured_ns(), run.phase.load_shift(place));
    Ok(run.loads.iter().enumerate().try_for_each(of)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use plan::{CpuId, Length, Machine, Nanos, Plan, Scheduling};
    use std::path::Path;

    fn run() -> Run {
        Run { cpus: vec![CpuId(0), CpuId(1)], ..Run::example(Nanos::from_millis(1), 10) }
    }

    fn settings(text: &str) -> Vec<Setting> {
        Plan::read(Path::new("plan.toml"), &mut |_| Ok(format!("[measure]\n{text}")))
            .unwrap()
            .measure
    }

    /// Each setting that a parser of flags alone cannot judge, among others whose values look the
    /// same.
    #[test]
    fn an_error_names_the_setting_it_is_about() {
        let wrong = |change: fn(&mut Run)| {
            let mut run = run();
            change(&mut run);
            match probe::choose(&run.probe, &run.probe_settings) {
                Ok(probe) => checked_run(run, &probe).unwrap_err(),
                Err(error) => error.into(),
            }
        };
        let available = || CpuError::NotAvailable { cpu: 5, available: "0-3".to_owned() };
        let machine = Machine::Raspi3b;
        let load = "cpu,start=5s".parse().unwrap();
        let too_late = load::check_times(&load, Nanos(1), Nanos(0)).unwrap_err();
        for (key, error) in [
            ("interval", wrong(|run| run.interval_ns = Nanos(5))),
            ("distance", wrong(|run| run.distance_ns = Nanos::from_secs(4_000))),
            ("samples", wrong(|run| run.length = Length::Samples(0))),
            ("samples", wrong(|run| run.length = Length::Samples(u64::MAX))),
            ("samples", wrong(|run| run.length = Length::Samples(999_999_999_999))),
            ("duration", wrong(|run| run.length = Length::DurationNs(Nanos(i64::MAX)))),
            ("warmup", wrong(|run| run.warmup_ns = Nanos(i64::MAX))),
            ("aligned", wrong(|run| run.aligned_ns = Some(Nanos(i64::MAX)))),
            ("settle", wrong(|run| run.settle = plan::Settle::ForNs(Nanos(i64::MAX)))),
            ("break-above", wrong(|run| run.break_above_ns = Some(Nanos(i64::MAX)))),
            ("duration", SettingError::Endless),
            ("threads", wrong(|run| run.cpus.clear())),
            ("cpus", available().into()),
            ("cpus", SettingError::GuestCpus(available())),
            ("probe", wrong(|run| run.probe = "5".to_owned())),
            (
                "method",
                wrong(|run| run.probe_settings = [("method".to_owned(), "5".to_owned())].into()),
            ),
            ("policy", "5".parse::<plan::Policy>().unwrap_err().into()),
            ("prio", Scheduling::new(None, Some(500)).unwrap_err().into()),
            ("prio", Scheduling::new(Some(plan::Policy::Other), Some(5)).unwrap_err().into()),
            ("load", too_late.into()),
            ("machine", "5".parse::<Machine>().unwrap_err().into()),
            ("mips", plan::shift_of_mips("5").unwrap_err().into()),
            ("phase", "-5".parse::<plan::Phase>().unwrap_err().into()),
            ("smp", GuestError::VirtualCpus { machine, cpus: 5 }.into()),
            ("mips", GuestError::MipsOfCpus { cpus: 2 }.into()),
            ("time", GuestError::FixedCpusInVirtualTime { machine, cpus: 4 }.into()),
            ("smp", GuestError::Cpus { machine, has: 4, asked: 5 }.into()),
            ("smp", GuestError::CpuCount { asked: 500, max: 8 }.into()),
            ("memory", GuestError::Memory { machine, needs: "5".to_owned(), asked: 5 }.into()),
            ("append", GuestError::KernelArgument("5".to_owned()).into()),
            ("kernel", KernelError::Name("5".to_owned()).into()),
            ("modules", SettingError::Modules("5".into())),
            ("dtb", SettingError::DeviceTree("5".into())),
            ("qemu", SettingError::Qemu("5".into())),
            ("mips", SettingError::RateOfHostTime),
            ("phase", SettingError::PhaseOfHostTime),
            ("memory", SettingError::GuestMemory { activations: 5, needed_mib: 500, has_mib: 5 }),
        ] {
            let all = "probe = 5\nmethod = 5\nkernel = 5\nmachine = 5\nmemory = 5\nsmp = 5\ntime \
                       = 5\nmips = 5\nappend = 5\nmodules = 5\ndtb = 5\nqemu = 5\nphase = \
                       5\ninterval = 5\ndistance = 5\nsamples = 5\nthreads = 5\ncpus = 5\nprio = \
                       5\npolicy = 5\nload = 5\nduration = 5\nwarmup = 5\naligned = 5\nsettle = \
                       5\nbreak-above = 5\ntitle = 5\n";
            let settings = settings(all);
            let about = error.setting(&settings).unwrap();
            assert_eq!(about.key, key, "{error}");
            let line =
                all.lines().position(|line| line.starts_with(&format!("{key} "))).unwrap() + 2;
            assert_eq!((about.at.line, about.at.column), (line, 1), "{error}");
        }
    }

    #[test]
    fn of_two_that_do_not_go_together_the_written_one_is_named() {
        let error =
            SettingError::from(Scheduling::new(Some(plan::Policy::Other), Some(5)).unwrap_err());
        let about = |text: &str| error.setting(&settings(text)).unwrap().key.clone();
        assert_eq!(about("policy = 'other'\nprio = 5\nload = 'cpu'\n"), "prio");
        assert_eq!(about("policy = 'other'\nprio = 'none'\nload = 'cpu'\n"), "policy");
        // Neither is written.
        assert!(error.setting(&settings("interval = '1ms'\nload = 'cpu'\n")).is_none());
    }
}
