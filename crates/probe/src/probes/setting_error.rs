// SPDX-License-Identifier: MIT OR Apache-2.0
//! Why a probe is not available as asked.

/// Why a probe is not available as asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProbeSettingError {
    #[error("unknown probe '{name}': expected one of {known}")]
    NoProbe { name: String, known: String },
    /// More than one where a run has one.
    #[error(
        "this is one run, with one probe: in a plan, write several as a list below [vary], such \
         as probe = [\"cobalt\", \"cyclic\"]"
    )]
    Several,
    /// A setting of another probe.
    #[error("the probe {probe} has no setting '{setting}': {instead}")]
    NoSetting {
        probe: &'static str,
        setting: String,
        /// What would be right in its place.
        instead: String,
    },
    /// A command behind `--` for a probe that starts none.
    #[error("the probe {probe} starts no command: to measure one, add --probe {owners}")]
    NoCommand { probe: &'static str, owners: String },
    /// A probe without what it measures.
    #[error("the probe {probe} needs {what}")]
    Incomplete { probe: &'static str, what: &'static str },
    /// Not a value of this setting.
    #[error("invalid value '{value}' for '{setting}' of the probe {probe}: {expected}")]
    Value { probe: &'static str, setting: &'static str, value: String, expected: String },
    /// A setting of every run that this probe does nothing with.
    #[error("--{setting} has no meaning for the probe {probe}: {reason}")]
    NoMeaning { probe: &'static str, setting: &'static str, reason: &'static str },
    /// Not beside the run's other settings.
    #[error("'{setting}' of the probe {probe} is impossible here: {reason}")]
    Conflict { probe: &'static str, setting: &'static str, reason: String },
    /// Something there is one of can be measured by no more threads than this.
    #[error(
        "the probe {probe} measures with at most {limit} thread, not {asked}, as it is set: give \
         -t {limit}"
    )]
    Threads { probe: &'static str, limit: usize, asked: usize },
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
    pub fn setting(&self) -> &str {
        match self {
            ProbeSettingError::NoProbe { .. }
            | ProbeSettingError::Several
            | ProbeSettingError::NoCommand { .. }
            | ProbeSettingError::Incomplete { .. }
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
