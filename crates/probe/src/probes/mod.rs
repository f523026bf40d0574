// SPDX-License-Identifier: MIT OR Apache-2.0
//! All probes: one file each, and one line each in [`PROBES`]. Nothing else knows a probe by name.

mod app;
mod auto;
mod co_kernels;
mod cyclic;
mod deadline;
#[cfg(debug_assertions)]
mod examples;
mod hwlat;
mod interrupts;
mod noise;
mod spawn;
mod stream;
mod timerlat;
mod wakeup;

pub use auto::choose;
#[cfg(test)]
pub(crate) use cyclic::Cyclic;
pub(crate) use noise::Noise;

use crate::sampler::Overrun;
use crate::thread::{Launched, RowShape, ThreadConfig};
use model::{CoKernel, ColumnUnit, ProbeStatement, RowKind};
use plan::{
    AUTO_PROBE, DEFAULT_PROBE, Interval, Length, Nanos, Policy, ProbeSettings, Run, Scheduling,
    Unit,
};
use std::io;

/// Time from one row to the next, of most probes.
const DEFAULT_INTERVAL: Nanos = Nanos::from_millis(1);

/// All probes. The first is the default.
pub const PROBES: &[Probe] = &[
    cyclic::PROBE,
    interrupts::RTC,
    interrupts::HPET,
    deadline::PROBE,
    wakeup::PROBE,
    spawn::PROBE,
    timerlat::PROBE,
    noise::PROBE,
    hwlat::PROBE,
    app::PROBE,
    stream::PROBE,
    co_kernels::COBALT,
    co_kernels::EVL,
    #[cfg(debug_assertions)]
    examples::COLUMNS,
    #[cfg(debug_assertions)]
    examples::EVENTS,
    #[cfg(debug_assertions)]
    examples::MISSED,
];

/// What this machine is seen to lack without opening a device.
type SeenToLack = fn() -> Option<String>;

/// That of each probe whose device does something when it is opened.
const UNOPENED: &[(&str, SeenToLack)] = &[
    (interrupts::RTC.name, interrupts::rtc_lacks_unopened),
    (interrupts::HPET.name, interrupts::hpet_lacks_unopened),
];

/// Settings that every run has, and that have no meaning for a probe, each with the reason.
type WithoutMeaning = &'static [(&'static str, &'static str)];

/// Those of each probe that has any.
const WITHOUT_MEANING: &[(&str, WithoutMeaning)] =
    &[(app::PROBE.name, app::WITHOUT_MEANING), (stream::PROBE.name, stream::WITHOUT_MEANING)];

/// A way to measure, as it states itself.
pub struct Probe {
    pub name: &'static str,
    /// What it measures, in one line.
    pub summary: &'static str,
    /// What it needs of a machine, in a few words.
    pub needs: &'static str,
    /// What can be set beside what every run has. A name means the same in every probe that has
    /// it.
    pub settings: &'static [ProbeSetting],
    /// What it measures in a run, whose settings are valid each by itself.
    statement: fn(&Run) -> ProbeStatement,
    /// Which setting cannot be as it is beside the others of a run, whose own settings are valid
    /// each by itself.
    conflict: fn(&Run) -> Option<SettingConflict>,
    /// How many threads can measure by it at most, with these settings; none where any number can.
    max_threads: fn(&ProbeSettings) -> Option<usize>,
    /// What this machine lacks for it, with these settings and this time from one row to the next,
    /// in one line; none where it can measure here.
    lacks: fn(&ProbeSettings, Nanos) -> Option<String>,
    /// Time from one row to the next, where nobody says another.
    pub default_interval: Nanos,
    /// How its threads are scheduled, where nobody says otherwise.
    pub default_scheduling: Scheduling,
    /// Makes one measuring thread, with these settings, which are valid.
    launch: fn(&ProbeSettings, ThreadConfig) -> io::Result<Launched>,
}

/// Something that can be set.
#[derive(Debug, PartialEq, Eq)]
pub struct ProbeSetting {
    /// The flag without its dashes.
    pub name: &'static str,
    /// What it means, in one line.
    pub help: &'static str,
    pub values: SettingValues,
    /// What it is where nothing is said.
    pub default: &'static str,
    /// Whether the default is recorded too. Not where recordings were made before the setting was
    /// there.
    pub default_is_recorded: bool,
}

/// A setting that is valid, and impossible beside others.
pub(crate) struct SettingConflict {
    setting: &'static str,
    /// Why it cannot be, in one line.
    reason: String,
}

#[derive(Debug, PartialEq, Eq)]
pub enum SettingValues {
    OneOf(&'static [&'static str]),
    /// A period: a time such as `200us` or `1/1024s`, or a rate such as `1kHz`; a bare number
    /// counts microseconds.
    Period,
    /// A time such as `200us`; a bare number counts microseconds.
    Time,
    /// A whole number from the first to the second.
    Number(u64, u64),
    /// Any text, of which this is shown as its name in help, such as `PATH`.
    Text(&'static str),
}

/// Why a probe is not available as asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProbeSettingError {
    /// No probe of that name.
    #[error("unknown probe '{name}': expected one of {}", names())]
    NoProbe { name: String },
    /// More than one where a run has one.
    #[error(
        "this is one run, with one probe: in a plan, write several as a list below [vary], such \
         as probe = [\"cobalt\", \"cyclic\"]"
    )]
    Several,
    /// A setting of another probe.
    #[error("the probe {probe} has no setting '{setting}': {}", settings_instead(probe, setting))]
    NoSetting { probe: &'static str, setting: String },
    /// Not a value of this setting.
    #[error("invalid value '{value}' for '{setting}' of the probe {probe}: {expected}")]
    Value { probe: &'static str, setting: &'static str, value: String, expected: String },
    /// A setting of every run that this probe does nothing with.
    #[error("--{setting} has no meaning for the probe {probe}: {reason}")]
    NoMeaning {
        probe: &'static str,
        setting: &'static str,
        /// Why it has none.
        reason: &'static str,
    },
    /// Not beside the run's other settings.
    #[error("'{setting}' of the probe {probe} is impossible here: {reason}")]
    Conflict { probe: &'static str, setting: &'static str, reason: String },
    /// Something there is one of can be measured by no more threads than this.
    #[error(
        "the probe {probe} measures with at most {limit} thread, not {asked}, as it is set: give \
         -t {limit}"
    )]
    Threads {
        probe: &'static str,
        limit: usize,
        /// How many were asked for.
        asked: usize,
    },
    /// So many events cannot be promised.
    #[error(
        "the probe {0} waits for events, whose number is not known in advance. Give a duration \
         instead of a number of samples"
    )]
    EventsHaveNoNumber(&'static str),
    /// The machine lacks something.
    #[error("the probe {probe} cannot measure here: {what}")]
    Lacks { probe: &'static str, what: String },
}

impl ProbeSettingError {
    /// The setting of a run that it is about.
    #[must_use]
    pub fn setting(&self) -> &str {
        match self {
            ProbeSettingError::NoProbe { .. }
            | ProbeSettingError::Several
            | ProbeSettingError::Lacks { .. } => "probe",
            ProbeSettingError::NoSetting { setting, .. } => setting,
            ProbeSettingError::Value { setting, .. }
            | ProbeSettingError::NoMeaning { setting, .. }
            | ProbeSettingError::Conflict { setting, .. } => setting,
            ProbeSettingError::Threads { .. } => "threads",
            ProbeSettingError::EventsHaveNoNumber(_) => "samples",
        }
    }
}

fn names() -> String {
    PROBES.iter().map(|probe| probe.name).chain([AUTO_PROBE]).collect::<Vec<_>>().join(", ")
}

/// What would be right in the place of a setting that this probe has not.
fn settings_instead(probe: &str, setting: &str) -> String {
    let has_it = |other: &&Probe| other.settings.iter().any(|one| one.name == setting);
    let owners: Vec<&str> = PROBES.iter().filter(has_it).map(|other| other.name).collect();
    if !owners.is_empty() {
        return format!("it is one of the probe {}", owners.join(" and of "));
    }
    let own: Vec<&str> = PROBES
        .iter()
        .filter(|one| one.name == probe)
        .flat_map(|one| one.settings)
        .map(|one| one.name)
        .collect();
    if own.is_empty() {
        "it has no settings".to_owned()
    } else {
        format!("it has {}", own.join(", "))
    }
}

/// The probe of this name.
pub(crate) fn find(name: &str) -> Result<&'static Probe, ProbeSettingError> {
    PROBES
        .iter()
        .find(|probe| probe.name == name)
        .ok_or_else(|| ProbeSettingError::NoProbe { name: name.to_owned() })
}

/// The probe by which a run is checked before its own is chosen: those that [`choose`] takes are
/// set and measure alike.
fn checked_as(name: &str) -> &str {
    if name == AUTO_PROBE { DEFAULT_PROBE } else { name }
}

/// Time from one row to the next, for a probe of this name, where nobody says another.
#[must_use]
pub fn default_interval(name: &str) -> Nanos {
    PROBES
        .iter()
        .find(|probe| probe.name == name)
        .map_or(DEFAULT_INTERVAL, |probe| probe.default_interval)
}

/// How threads of a probe of this name are scheduled, where nobody says otherwise.
#[must_use]
pub fn default_scheduling(name: &str) -> Scheduling {
    PROBES
        .iter()
        .find(|probe| probe.name == name)
        .map_or(Scheduling::DEFAULT, |probe| probe.default_scheduling)
}

/// Whether a setting that every run has means something for a probe of this name, where somebody
/// set it.
///
/// # Errors
/// Why it does not.
pub fn check_meaning(name: &str, setting: &str) -> Result<(), ProbeSettingError> {
    let all = WITHOUT_MEANING
        .iter()
        .flat_map(|(probe, settings)| settings.iter().map(move |known| (*probe, *known)));
    match all.into_iter().find(|(probe, (known, _))| *probe == name && *known == setting) {
        Some((probe, (setting, reason))) => {
            Err(ProbeSettingError::NoMeaning { probe, setting, reason })
        }
        None => Ok(()),
    }
}

/// What this machine lacks for the probe of a run; none where it can measure, or another error
/// comes first.
#[must_use]
pub fn lacking(run: &Run) -> Option<ProbeSettingError> {
    if run.probe == AUTO_PROBE {
        let mut chosen = run.clone();
        return choose(&mut chosen).map_or_else(Some, |_| lacking(&chosen));
    }
    let probe = find(&run.probe).ok()?;
    let what = (probe.lacks)(&run.probe_settings, run.interval_ns)?;
    Some(ProbeSettingError::Lacks { probe: probe.name, what })
}

/// The running co-kernel that a probe of this name measures on; none of a probe on Linux.
#[must_use]
pub fn co_kernel(name: &str) -> Option<CoKernel> {
    co_kernels::running(name)
}

/// How many threads can measure by a probe of this name at most, set like this; none where any
/// number can.
#[must_use]
pub fn max_threads(name: &str, settings: &ProbeSettings) -> Option<usize> {
    PROBES.iter().find(|probe| probe.name == name).and_then(|probe| (probe.max_threads)(settings))
}

/// What the probe of a run measures, if the run's settings are ones it has.
///
/// # Errors
/// Which setting it does not have, or not with this value.
pub fn statement(run: &Run) -> Result<ProbeStatement, ProbeSettingError> {
    let probe = find(checked_as(&run.probe))?;
    probe.check(&run.probe_settings)?;
    let statement = (probe.statement)(run);
    if statement.rows == RowKind::Events && matches!(run.length, Length::Samples(_)) {
        return Err(ProbeSettingError::EventsHaveNoNumber(probe.name));
    }
    if let Some(limit) =
        (probe.max_threads)(&run.probe_settings).filter(|limit| run.cpus.len() > *limit)
    {
        return Err(ProbeSettingError::Threads { probe: probe.name, limit, asked: run.cpus.len() });
    }
    if let Some(SettingConflict { setting, reason }) =
        policy_conflict(probe, run).or_else(|| (probe.conflict)(run))
    {
        return Err(ProbeSettingError::Conflict { probe: probe.name, setting, reason });
    }
    Ok(statement)
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
    Some(SettingConflict { setting: "policy", reason })
}

impl Probe {
    /// What this machine lacks for it, as it is set by default, in one line; none where it can
    /// measure here.
    #[must_use]
    pub fn lacks(&self) -> Option<String> {
        (self.lacks)(&ProbeSettings::new(), self.default_interval)
    }

    /// The same as far as it is seen without starting a device, for who only wants to know.
    #[must_use]
    pub fn seen_to_lack(&self) -> Option<String> {
        let unopened = UNOPENED.iter().find(|(name, _)| *name == self.name);
        unopened.map_or_else(|| self.lacks(), |(_, lacks)| lacks())
    }

    /// Whether only measuring shows all that this machine lacks for it.
    #[must_use]
    pub fn is_tried_by_measuring(&self) -> bool {
        UNOPENED.iter().any(|(name, _)| *name == self.name)
    }

    fn check(&self, settings: &ProbeSettings) -> Result<(), ProbeSettingError> {
        for (name, value) in settings {
            let setting = self.settings.iter().find(|setting| setting.name == name);
            let setting = setting.ok_or_else(|| ProbeSettingError::NoSetting {
                probe: self.name,
                setting: name.clone(),
            })?;
            setting.values.check(value).map_err(|expected| ProbeSettingError::Value {
                probe: self.name,
                setting: setting.name,
                value: value.clone(),
                expected,
            })?;
        }
        Ok(())
    }

    /// Makes one measuring thread.
    ///
    /// # Errors
    /// Which setting is wrong, or what the machine lacks; then why the thread could not be made.
    pub(crate) fn launch(
        &self,
        run: &Run,
        config: ThreadConfig,
    ) -> Result<io::Result<Launched>, ProbeSettingError> {
        let settings = &run.probe_settings;
        self.check(settings)?;
        match (self.lacks)(settings, run.interval_ns) {
            Some(what) => Err(ProbeSettingError::Lacks { probe: self.name, what }),
            None => Ok((self.launch)(settings, config)
                .inspect(|launched| self.assert_stated(run, launched.shape))),
        }
    }

    /// The engine counts overruns by the thread's own column, and every consumer by the stated one:
    /// they are the same.
    fn assert_stated(&self, run: &Run, measured: RowShape) {
        let statement = (self.statement)(run);
        let overrun = statement.overrun_column.map(|column| match statement.columns[column].unit {
            ColumnUnit::Nanoseconds => Overrun::Time(column),
            ColumnUnit::Count => Overrun::Missed(column),
        });
        let stated = RowShape { columns: statement.columns.len(), overrun };
        debug_assert_eq!(
            measured, stated,
            "what the probe {} measures by, and what it states",
            self.name
        );
    }
}

impl ProbeSetting {
    /// What was set, or the default.
    fn value_in<'a>(&'a self, settings: &'a ProbeSettings) -> &'a str {
        settings.get(self.name).map_or(self.default, String::as_str)
    }
}

impl SettingValues {
    /// Whether a text is one of them; if not, what they are.
    fn check(&self, value: &str) -> Result<(), String> {
        match self {
            SettingValues::OneOf(words) if words.contains(&value) => Ok(()),
            SettingValues::OneOf(words) => Err(format!("it is one of {}", words.join(", "))),
            SettingValues::Time => match Nanos::parse(value, Unit::Microsecond) {
                Ok(Nanos(1..)) => Ok(()),
                Ok(_) => Err("it is above 0".to_owned()),
                Err(error) => Err(error.to_string()),
            },
            SettingValues::Period => match value.parse::<Interval>() {
                Ok(Interval { nanos: Nanos(1..), .. }) => Ok(()),
                Ok(_) => Err("it is above 0".to_owned()),
                Err(error) => Err(error.to_string()),
            },
            SettingValues::Number(min, max) => match value.parse() {
                Ok(number) if (*min..=*max).contains(&number) => Ok(()),
                _ => Err(format!("it is a whole number from {min} to {max}")),
            },
            SettingValues::Text(name) if value.is_empty() => Err(format!("it is a {name}")),
            SettingValues::Text(_) => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(probe: &str, settings: &[(&str, &str)]) -> Run {
        let mut run = crate::test_runs::test_run(Nanos::from_millis(1), 5);
        run.probe = probe.to_owned();
        run.probe_settings = settings
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        run
    }

    #[test]
    fn errors_name_their_setting() {
        for (probe, settings, setting, output) in [
            ("nosuch", &[][..], "probe", "unknown probe 'nosuch': expected one of cyclic, "),
            (
                "cyclic",
                &[("method", "fork")],
                "method",
                "the probe cyclic has no setting 'method': it is one of the probe spawn",
            ),
            (
                "cyclic",
                &[("colour", "red")],
                "colour",
                "the probe cyclic has no setting 'colour': it has sleep, clock",
            ),
            (
                "example-missed",
                &[("colour", "red")],
                "colour",
                "the probe example-missed has no setting 'colour': it has no settings",
            ),
            (
                "spawn",
                &[("colour", "red")],
                "colour",
                "the probe spawn has no setting 'colour': it has method",
            ),
            (
                "spawn",
                &[("method", "thread")],
                "method",
                "invalid value 'thread' for 'method' of the probe spawn: it is one of posix_spawn",
            ),
            ("example-events", &[], "samples", "the probe example-events waits for events"),
        ] {
            let error = statement(&run(probe, settings)).unwrap_err();
            assert_eq!(error.setting(), setting);
            assert!(error.to_string().starts_with(output), "{error}");
        }
    }

    /// What consumers rely on, of every probe and every value of its settings.
    #[test]
    fn statements_are_sound() {
        for probe in PROBES {
            let settings = probe.settings.iter().flat_map(|setting| match &setting.values {
                SettingValues::OneOf(words) => {
                    words.iter().map(|word| vec![(setting.name, *word)]).collect()
                }
                SettingValues::Time | SettingValues::Period => vec![vec![(setting.name, "1ms")]],
                SettingValues::Number(..) | SettingValues::Text(_)
                    if setting.default.is_empty() =>
                {
                    Vec::new()
                }
                SettingValues::Number(..) | SettingValues::Text(_) => {
                    vec![vec![(setting.name, setting.default)]]
                }
            });
            for settings in settings.chain([Vec::new()]) {
                let mut run = run(probe.name, &settings);
                run.cpus.truncate(1);
                run.scheduling = probe.default_scheduling;
                run.length = Length::DurationNs(Nanos::from_secs(1));
                let statement = match statement(&run) {
                    // One setting may need another beside it.
                    Err(ProbeSettingError::Conflict { .. }) => (probe.statement)(&run),
                    statement => statement.unwrap(),
                };
                assert_eq!(statement.name, probe.name);
                assert!(!statement.columns.is_empty());
                assert_eq!(statement.columns[0].unit, model::ColumnUnit::Nanoseconds);
                assert_eq!(statement.overrun_column.is_none(), statement.rows == RowKind::Events);
                assert!(
                    statement.overrun_column.is_none_or(|column| column < statement.columns.len())
                );
            }
            // One without a default is left out.
            for setting in probe.settings.iter().filter(|setting| !setting.default.is_empty()) {
                assert_eq!(setting.values.check(setting.default), Ok(()), "{setting:?}");
            }
        }
    }

    #[test]
    fn cyclic_states_what_the_first_recordings_meant() {
        assert_eq!(statement(&run("cyclic", &[])), Ok(ProbeStatement::cyclic()));
        assert_eq!(PROBES[0].name, plan::DEFAULT_PROBE);
    }
}
