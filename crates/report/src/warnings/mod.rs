// SPDX-License-Identifier: MIT OR Apache-2.0
//! Warnings as sentences: the same value in any language.
//!
//! A recording holds what was observed (`model::Warning`). Here each kind gets its message, its
//! evidence and its next step. A kind without them does not compile.

mod sentences;

use crate::format::clip;
use model::{OtherWarning, Warning};
pub(crate) use sentences::warning_text;
use std::fmt;

/// What is said of a warning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WarningText {
    /// What it does to the figures.
    pub message: String,
    /// What was seen; may be empty.
    pub evidence: String,
    pub next_step: NextStep,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NextStep {
    Unknown,
    /// A command, to be copied.
    Command(String),
    /// A sentence, to be read.
    Advice(String),
}

impl NextStep {
    /// Whether it is to be copied, and so stays on one line.
    pub(crate) const fn is_command(&self) -> bool {
        matches!(self, NextStep::Command(_))
    }

    /// Empty where it is not known.
    pub(crate) fn text(&self) -> &str {
        match self {
            NextStep::Unknown => "",
            NextStep::Command(text) | NextStep::Advice(text) => text,
        }
    }

    /// In at most so many characters.
    pub(crate) fn clipped(&self, max: usize) -> NextStep {
        match self {
            NextStep::Unknown => NextStep::Unknown,
            NextStep::Command(text) => NextStep::Command(clip(text, max)),
            NextStep::Advice(text) => NextStep::Advice(clip(text, max)),
        }
    }
}

impl fmt::Display for NextStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}

/// What a warning names, without its figures: two of one kind with the same subject are one row of
/// a table.
pub(crate) fn subject(warning: &Warning) -> String {
    match warning {
        Warning::LoadsElsewhere { load, .. }
        | Warning::LoadNotSettled { load, .. }
        | Warning::LoadConditions { load, .. }
        | Warning::LoadOffTarget { load, .. }
        | Warning::LoadDied { load, .. } => load.to_string(),
        Warning::ClocksourceSlow { clocksource, .. } => clocksource.clone(),
        Warning::ClocksourceChanged { before, after } => format!("{before} {after}"),
        Warning::AccountingDiffers { place, .. } | Warning::SourceContradicts { place, .. } => {
            place.clone()
        }
        Warning::StreamHalfRecord { from, ended, .. } => format!("{from} {ended}"),
        Warning::MachineCheck { check, .. } => check.clone(),
        Warning::StreamUnreadable { from, .. }
        | Warning::StreamBackwards { from, .. }
        | Warning::StreamTrailing { from, .. }
        | Warning::StreamMissed { from, .. }
        | Warning::StreamEnded { from, .. }
        | Warning::StreamSilent { from, .. }
        | Warning::StreamUnread { from, .. } => from.clone(),
        Warning::OtherWork { cpus, .. } => cpus.is_empty().to_string(),
        Warning::Other(OtherWarning { code, .. }) => code.clone(),
        // Of these there is one in a run, or one for each thread or CPU.
        Warning::NoRealTime { .. }
        | Warning::RealTimeTimeout { .. }
        | Warning::MemoryNotLocked { .. }
        | Warning::DmaLatencyNotHeld { .. }
        | Warning::IntervalShort { .. }
        | Warning::DiskSlow { .. }
        | Warning::NotWatched { .. }
        | Warning::ClockStepped { .. }
        | Warning::ThreadUnresponsive { .. }
        | Warning::SamplesLost { .. }
        | Warning::AccountEventsLost { .. }
        | Warning::PageFaults { .. }
        | Warning::GovernorNotPerformance { .. }
        | Warning::FrequencyChanged { .. }
        | Warning::Hypervisor { .. }
        | Warning::StealTime { .. }
        | Warning::CpuOfflineChanged { .. }
        | Warning::IsolatedNotMeasured { .. }
        | Warning::CpusNotAllowed { .. }
        | Warning::SiblingsMeasured { .. }
        | Warning::StreamOffPeriod { .. }
        | Warning::RowsUntraced { .. }
        | Warning::TraceEventsLost { .. }
        | Warning::FellBack { .. }
        | Warning::ProgramEnded { .. } => String::new(),
    }
}

/// How bad it is by its figures, of several with one subject; none of a kind whose figures are not
/// more or less of anything.
#[expect(clippy::cast_precision_loss, reason = "compared with others of its kind")]
pub(crate) fn size(warning: &Warning) -> Option<f64> {
    Some(match warning {
        Warning::StealTime { cpus } => cpus.iter().map(|cpu| cpu.percent()).fold(0.0, f64::max),
        Warning::OtherWork { percent, .. } => *percent,
        Warning::LoadOffTarget { requested, reached, .. } => (reached - requested).abs(),
        Warning::SamplesLost { lost: n, .. }
        | Warning::AccountEventsLost { events: n, .. }
        | Warning::StreamUnreadable { records: n, .. }
        | Warning::StreamBackwards { steps: n, .. }
        | Warning::StreamMissed { missed: n, .. }
        | Warning::StreamUnread { bytes: n, .. }
        | Warning::RowsUntraced { rows: n, .. }
        | Warning::TraceEventsLost { events: n, .. } => *n as f64,
        Warning::PageFaults { minor, major, .. } => minor.saturating_add(*major) as f64,
        Warning::FellBack { switches, .. } => switches.unwrap_or(0) as f64,
        Warning::ThreadUnresponsive { waited_ns: ns, .. }
        | Warning::StreamSilent { silent_ns: ns, .. } => ns.0 as f64,
        Warning::ClockStepped { forwards_ns, backwards_ns, .. } => {
            (*forwards_ns).max(*backwards_ns).0 as f64
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests;
