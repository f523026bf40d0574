// SPDX-License-Identifier: MIT OR Apache-2.0
//! The probe of a run: looked up once, by its name, and its settings parsed once. Whoever needs to
//! know something of a probe afterwards asks this.

use super::auto;
use super::probe::{Probe, SetProbe, SettingConflict};
use super::setting_error::ProbeSettingError;
use super::{PROBES, find};
use crate::sampler::Overrun;
use crate::thread::{Launched, ThreadConfig};
use model::{CoKernel, ColumnUnit, ProbeStatement, RowKind};
use plan::{
    APP_PROBE, AUTO_PROBE, DEFAULT_PROBE, Length, Nanos, Policy, ProbeSettings, Run, Scheduling,
};
use std::fmt;
use std::io;
use std::sync::Arc;

/// Why a run of most probes is not explained.
const NOT_EXPLAINED: &str =
    "only wake-ups of threads on Linux are explained, by the probes cyclic and app";

/// A probe as it is set.
#[derive(Clone)]
pub struct ChosenProbe {
    probe: &'static Probe,
    set: Arc<dyn SetProbe>,
    /// Whether the machine that measures is still to choose it.
    is_open: bool,
    co_kernel: Option<CoKernel>,
}

/// The probe of this name with these settings. One that is left to the machine that measures is
/// taken for that of Linux until [`ChosenProbe::here`]: those it may become are set and measure
/// alike.
///
/// # Errors
/// That there is none, or which setting it does not have, or not with this value.
pub fn choose(name: &str, settings: &ProbeSettings) -> Result<ChosenProbe, ProbeSettingError> {
    let probe = find(name)?;
    for (name, value) in settings {
        let setting = probe.settings.iter().find(|setting| setting.name == name);
        let setting = setting.ok_or_else(|| ProbeSettingError::NoSetting {
            probe: probe.name,
            setting: name.clone(),
            instead: settings_instead(probe, name),
        })?;
        setting.values.check(value).map_err(|expected| ProbeSettingError::Value {
            probe: probe.name,
            setting: setting.name,
            value: value.clone(),
            expected,
        })?;
    }
    let (set, is_open) = ((probe.set)(settings), name == AUTO_PROBE);
    Ok(ChosenProbe { probe, set, is_open, co_kernel: None })
}

/// The probes that have this setting.
pub fn owners(setting: &str) -> Vec<&'static str> {
    let has = |probe: &&Probe| probe.settings.iter().any(|one| one.name == setting);
    PROBES.iter().filter(has).map(|probe| probe.name).collect()
}

/// What would be right in the place of a setting that this probe has not.
fn settings_instead(probe: &Probe, setting: &str) -> String {
    let owners = owners(setting);
    let own: Vec<&str> = probe.settings.iter().map(|one| one.name).collect();
    match (owners.is_empty(), own.is_empty()) {
        (false, _) => format!("it is one of the probe {}", owners.join(" and of ")),
        (true, true) => "it has no settings".to_owned(),
        (true, false) => format!("it has {}", own.join(", ")),
    }
}

/// SCHED_DEADLINE needs a runtime and a period, which only the probe of it has, and that probe has
/// no other policy.
fn policy_conflict(probe: &Probe, run: &Run) -> Option<SettingConflict> {
    let is_deadline = |scheduling: Scheduling| scheduling.policy == Policy::Deadline;
    let reason = match (is_deadline(probe.default_scheduling), is_deadline(run.scheduling)) {
        (true, false) => format!(
            "its threads run under SCHED_DEADLINE, not {}: leave policy and priority out",
            run.scheduling
        ),
        (false, true) => {
            "SCHED_DEADLINE needs a runtime in each period: use --probe deadline".to_owned()
        }
        _ => return None,
    };
    super::probe::conflict("policy", reason)
}

impl ChosenProbe {
    /// Time from one row to the next, where nobody says another.
    pub const fn default_interval(&self) -> Nanos {
        self.probe.default_interval
    }

    /// How its threads are scheduled, where nobody says otherwise.
    pub const fn default_scheduling(&self) -> Scheduling {
        self.probe.default_scheduling
    }

    /// How many threads can measure by it at most; none where any number can.
    pub fn max_threads(&self) -> Option<usize> {
        self.set.max_threads()
    }

    /// Whether a setting that every run has means something for it, where somebody set it.
    ///
    /// # Errors
    /// Why it does not.
    pub fn check_meaning(&self, setting: &str) -> Result<(), ProbeSettingError> {
        let known = self.set.without_meaning().iter().find(|(known, _)| *known == setting);
        known.map_or(Ok(()), |(setting, reason)| {
            Err(ProbeSettingError::NoMeaning { probe: self.probe.name, setting, reason })
        })
    }

    /// Whether it can measure what a run asks for.
    ///
    /// # Errors
    /// Which setting of the run cannot be as it is.
    pub fn check(&self, run: &Run) -> Result<(), ProbeSettingError> {
        let (probe, asked) = (self.probe.name, run.cpus.len());
        let is_of_events = self.statement(run).rows == RowKind::Events;
        if is_of_events && matches!(run.length, Length::Samples(_)) {
            return Err(ProbeSettingError::EventsHaveNoNumber(probe));
        }
        if let Some(limit) = self.max_threads().filter(|limit| asked > *limit) {
            return Err(ProbeSettingError::Threads { probe, limit, asked });
        }
        if run.explain_above_ns.is_some()
            && ![DEFAULT_PROBE, AUTO_PROBE, APP_PROBE].contains(&probe)
        {
            let (setting, reason) = ("explain", NOT_EXPLAINED);
            return Err(ProbeSettingError::NoMeaning { probe, setting, reason });
        }
        if let Some(what) = self.set.incomplete() {
            return Err(ProbeSettingError::Incomplete { probe, what });
        }
        policy_conflict(self.probe, run).or_else(|| self.set.conflict(run)).map_or(
            Ok(()),
            |SettingConflict { setting, reason }| {
                Err(ProbeSettingError::Conflict { probe, setting, reason })
            },
        )
    }

    /// What it measures in a run.
    pub fn statement(&self, run: &Run) -> ProbeStatement {
        ProbeStatement { name: self.probe.name.into(), ..self.set.statement(run) }
    }

    /// The probe on the machine that measures, which this is. Names it in a run that leaves it to
    /// the machine; other runs stay as they are. Where a co-kernel is measured on, this process is
    /// known to it afterwards, and has the rights that it gives to its users.
    ///
    /// # Errors
    /// The co-kernel that is there and refuses, and why.
    pub fn here(mut self, run: &mut Run) -> Result<Self, ProbeSettingError> {
        if self.is_open {
            let (name, co_kernel) = auto::probe_here()?;
            name.clone_into(&mut run.probe);
            return Ok(ChosenProbe { co_kernel, ..choose(name, &run.probe_settings)? });
        }
        // What is lacking is said by whoever measures.
        self.co_kernel = self.set.co_kernel();
        Ok(self)
    }

    /// The running co-kernel that it measures on; none on Linux.
    pub const fn co_kernel(&self) -> Option<&CoKernel> {
        self.co_kernel.as_ref()
    }

    /// What this machine lacks for a run by it; none where it can measure.
    pub fn lacking(&self, run: &Run) -> Option<ProbeSettingError> {
        let what = self.set.lacks(run.interval_ns, run.scheduling)?;
        Some(ProbeSettingError::Lacks { probe: self.probe.name, what })
    }

    /// Whether it can measure a run here and now, and what it measures.
    ///
    /// # Errors
    /// Which setting is wrong, or what the machine lacks.
    pub(crate) fn ready(&self, run: &Run) -> Result<ProbeStatement, ProbeSettingError> {
        if self.is_open {
            return Err(super::no_probe(AUTO_PROBE));
        }
        self.check(run)?;
        self.lacking(run).map_or_else(|| Ok(self.statement(run)), Err)
    }

    /// The program that it measures, if it measures one: its number, or none where the probe starts
    /// it.
    pub fn program(&self) -> Option<Option<u32>> {
        self.set.program()
    }

    /// What it waits for from the user at this terminal, in one line; none where nothing.
    pub fn waits_for(&self, run: &Run) -> Option<String> {
        self.set.waits_for(run)
    }

    /// Makes one thread that measures what was stated. The engine counts overruns by the thread's
    /// own column, and every consumer by the stated one: they are the same.
    pub(crate) fn launch(
        &self,
        stated: &ProbeStatement,
        config: ThreadConfig,
    ) -> io::Result<Launched> {
        let launched = self.set.launch(config)?;
        let overrun = stated.overrun_column.map(|column| match stated.columns[column].unit {
            ColumnUnit::Nanoseconds => Overrun::Time(column),
            ColumnUnit::Count => Overrun::Missed(column),
        });
        debug_assert_eq!(
            launched.overrun, overrun,
            "what the probe {} measures by, and what it states",
            self.probe.name
        );
        Ok(launched)
    }
}

impl fmt::Debug for ChosenProbe {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.probe.name)
    }
}

impl Probe {
    /// What this machine lacks for it, as it is set by default, in one line; none where it can
    /// measure here.
    pub fn lacks(&self) -> Option<String> {
        self.by_default().lacks(self.default_interval, self.default_scheduling)
    }

    /// The same as far as it is seen without starting a device, for who only wants to know.
    pub fn seen_to_lack(&self) -> Option<String> {
        self.by_default().seen_to_lack(self.default_interval, self.default_scheduling)
    }

    /// Whether only measuring shows all that this machine lacks for it.
    pub fn is_tried_by_measuring(&self) -> bool {
        self.by_default().is_tried_by_measuring()
    }

    fn by_default(&self) -> Arc<dyn SetProbe> {
        (self.set)(&ProbeSettings::new())
    }
}
