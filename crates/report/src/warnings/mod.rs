// SPDX-License-Identifier: MIT OR Apache-2.0
//! Warnings as sentences: the same value in any language.
//!
//! A recording holds what was observed (`model::Warning`). Here each kind gets its message, its
//! evidence and its next step, with one file per language. A kind without a sentence in one of them
//! does not compile.

mod english;
mod findings;
mod japanese;

use crate::language::{Language, current_language};
use model::{OtherWarning, Warning};
use plan::{LoadSpec, Nanos};
use serde_json::Value;
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
}

impl fmt::Display for NextStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NextStep::Unknown => Ok(()),
            NextStep::Command(text) | NextStep::Advice(text) => f.write_str(text),
        }
    }
}

/// What a check found, in the current language.
pub(crate) fn localised_finding(found: &str) -> String {
    match current_language() {
        Language::English => found.to_owned(),
        Language::Japanese => findings::in_japanese(found),
    }
}

/// A warning in the current language.
pub(crate) fn warning_text(warning: &Warning) -> WarningText {
    match current_language() {
        Language::English => english::text(warning),
        Language::Japanese => japanese::text(warning),
    }
}

/// As many as a tired engineer reads; the recording holds them all.
const MAX_NAMED: usize = 8;

/// Items of a list, `more` for those left out.
fn list(items: impl ExactSizeIterator<Item = String>, more: impl Fn(usize) -> String) -> String {
    let left_out = items.len().saturating_sub(MAX_NAMED);
    let mut named: Vec<String> = items.take(MAX_NAMED).collect();
    named.extend((left_out > 0).then(|| more(left_out)));
    named.join("; ")
}

/// A share to a tenth of a percent, rounded.
enum Share {
    Unknown,
    /// More than none, and rounded to none.
    BelowATenth,
    Percent(f64),
}

fn share(part: u64, whole: u64) -> Share {
    match part as f64 / whole as f64 * 100.0 {
        _ if whole == 0 => Share::Unknown,
        percent if part > 0 && percent < 0.05 => Share::BelowATenth,
        percent => Share::Percent(percent),
    }
}

/// The load with `cpus=all` added. A command without quotes goes to the end of its text, so it gets
/// quotes first.
fn on_all_cpus(spec: &LoadSpec) -> String {
    match spec.command() {
        Some(command) if !spec.to_string().starts_with("cmd:\"") => {
            format!("cmd:\"{command}\",cpus=all")
        }
        _ => format!("{spec},cpus=all"),
    }
}

/// An interval that may do where this one is too short.
fn longer(interval: Nanos) -> Nanos {
    Nanos(interval.0.saturating_mul(2)).max(Nanos::from_micros(200))
}

/// One argument for a shell.
fn shell_quoted(text: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_./+=@%,:".contains(c);
    if text.chars().all(plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', "'\\''"))
    }
}

/// Seconds to a tenth, whole ones without a fraction.
fn seconds(time: Nanos) -> String {
    #[expect(clippy::cast_precision_loss, reason = "a tenth of a second")]
    let text = format!("{:.1}", time.0 as f64 / 1e9);
    text.strip_suffix(".0").map(str::to_owned).unwrap_or(text)
}

/// The fields of a warning that is not known, as they were recorded.
fn raw(warning: &OtherWarning) -> String {
    let value = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    warning
        .fields
        .iter()
        .map(|(name, content)| format!("{name}: {}", value(content)))
        .collect::<Vec<_>>()
        .join("; ")
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
        Warning::AccountingDiffers { place, .. } => place.clone(),
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
        Warning::NoRealTime { .. }
        | Warning::MemoryNotLocked { .. }
        | Warning::DmaLatencyNotHeld { .. }
        | Warning::IntervalShort { .. }
        | Warning::DiskSlow { .. }
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
        | Warning::StreamOffPeriod { .. }
        | Warning::RowsUntraced { .. }
        | Warning::TraceEventsLost { .. }
        | Warning::FellBack { .. }
        | Warning::ProgramEnded { .. } => String::new(),
    }
}

#[cfg(test)]
mod tests;
