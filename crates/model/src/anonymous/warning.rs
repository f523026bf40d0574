// SPDX-License-Identifier: MIT OR Apache-2.0
//! Warnings, and why loads failed.

use super::Anonymiser;
use crate::{LoadFailure, MemoryNotLocked, OtherWarning, Warning};
use serde_json::{Map, Value};

impl Anonymiser<'_> {
    pub(super) fn warning(&self, warning: Warning) -> Warning {
        let ours = |text: String| self.ours("value", &text);
        let path = |from: String| self.whole("path", &from);
        match warning {
            Warning::NoRealTime { asked, granted, error, program } => Warning::NoRealTime {
                asked,
                granted,
                error: self.error(&error),
                program: self.whole("path", &program),
            },
            Warning::MemoryNotLocked { reason: MemoryNotLocked::Error(error) } => {
                Warning::MemoryNotLocked { reason: MemoryNotLocked::Error(self.error(&error)) }
            }
            Warning::DmaLatencyNotHeld { path, reason, error } => Warning::DmaLatencyNotHeld {
                path: self.whole("path", &path),
                reason,
                error: self.error(&error),
            },
            Warning::ClockStepped { clock, forwards_ns, backwards_ns } => {
                Warning::ClockStepped { clock: ours(clock), forwards_ns, backwards_ns }
            }
            Warning::AccountingDiffers { place, counted, recorded } => Warning::AccountingDiffers {
                place: self.sentence(&place),
                counted: self.terms("value", &counted),
                recorded: self.terms("value", &recorded),
            },
            Warning::GovernorNotPerformance { governors } => Warning::GovernorNotPerformance {
                governors: governors
                    .into_iter()
                    .map(|(governor, cpus)| (ours(governor), cpus))
                    .collect(),
            },
            Warning::ClocksourceChanged { before, after } => {
                Warning::ClocksourceChanged { before: ours(before), after: ours(after) }
            }
            Warning::ClocksourceSlow { clocksource, available, fast } => Warning::ClocksourceSlow {
                clocksource: ours(clocksource),
                available: available.into_iter().map(ours).collect(),
                fast: fast.map(ours),
            },
            // As in the facts of the machine.
            Warning::Hypervisor { cpu_model } => Warning::Hypervisor { cpu_model },
            Warning::MachineCheck { check, found, why, action } => Warning::MachineCheck {
                check: self.words_of_check(&check),
                found: self.sentence(&found),
                why: self.sentence(&why),
                action: action.map(|action| self.sentence(&action)),
            },
            Warning::OtherWork { percent, cpus, processes } => {
                Warning::OtherWork { percent, cpus, processes: self.processes(processes) }
            }
            Warning::LoadsElsewhere { bare, loaded, load } => {
                Warning::LoadsElsewhere { bare, loaded, load: self.load(&load) }
            }
            Warning::LoadNotSettled { load, steady } => {
                Warning::LoadNotSettled { load: self.load(&load), steady }
            }
            Warning::LoadConditions { load, nice } => {
                Warning::LoadConditions { load: self.load(&load), nice }
            }
            Warning::LoadOffTarget { load, requested, reached, cpu, machine } => {
                Warning::LoadOffTarget { load: self.load(&load), requested, reached, cpu, machine }
            }
            Warning::LoadDied { load, failure, output } => Warning::LoadDied {
                load: self.load(&load),
                failure: self.failure(failure),
                // What a program printed is its own.
                output: self.name("output", &output),
            },
            Warning::StreamUnreadable { from, records, numbers, first, first_offset, text } => {
                Warning::StreamUnreadable {
                    from: path(from),
                    records,
                    numbers,
                    first,
                    first_offset,
                    text: self.name("text", &text),
                }
            }
            Warning::StreamHalfRecord { from, bytes, offset, ended } => {
                Warning::StreamHalfRecord { from: path(from), bytes, offset, ended }
            }
            Warning::StreamBackwards { from, steps, first, furthest_ns } => {
                Warning::StreamBackwards { from: path(from), steps, first, furthest_ns }
            }
            Warning::StreamTrailing { from, unreadable, backwards } => {
                Warning::StreamTrailing { from: path(from), unreadable, backwards }
            }
            Warning::StreamMissed { from, missed, period_ns } => {
                Warning::StreamMissed { from: path(from), missed, period_ns }
            }
            Warning::StreamEnded { from, numbers, after_ns } => {
                Warning::StreamEnded { from: path(from), numbers, after_ns }
            }
            Warning::StreamSilent { from, numbers, silent_ns } => {
                Warning::StreamSilent { from: path(from), numbers, silent_ns }
            }
            Warning::StreamUnread { from, bytes } => {
                Warning::StreamUnread { from: path(from), bytes }
            }
            // Numbers alone. Each field is named, so that one more asks whether it is a name.
            warning @ (Warning::MemoryNotLocked { reason: MemoryNotLocked::LimitBytes(_) }
            | Warning::IntervalShort { interval_ns: _, missed_percent: _, cpu: _ }
            | Warning::DiskSlow { max_delay_ns: _ }
            | Warning::ThreadUnresponsive { thread: _, cpu: _, waited_ns: _ }
            | Warning::SamplesLost { thread: _, lost: _, woken: _ }
            | Warning::AccountEventsLost { cpu: _, events: _, rows: _ }
            | Warning::PageFaults { thread: _, minor: _, major: _ }
            | Warning::FrequencyChanged { cpus: _ }
            | Warning::StealTime { cpus: _ }
            | Warning::CpuOfflineChanged { before: _, after: _ }
            | Warning::IsolatedNotMeasured { isolated: _, measured: _, left_out: _ }
            | Warning::StreamOffPeriod { period_ns: _, median_ns: _, intervals: _ }
            | Warning::RowsUntraced { thread: _, rows: _, measured: _ }
            | Warning::TraceEventsLost { events: _, buffer_kib: _, unfollowed: _ }
            | Warning::FellBack { thread: _, switches: _, measured: _ }
            | Warning::ProgramEnded {
                after_ns: _,
                planned_ns: _,
                status: _,
                signal: _,
            }) => warning,
            Warning::Other(OtherWarning { code, fields }) => {
                Warning::Other(OtherWarning { code: ours(code), fields: self.fields(fields) })
            }
        }
    }

    fn words_of_check(&self, check: &str) -> String {
        let is_ours = super::words::is_plain(check, super::words::Vocabulary::Sentences);
        if is_ours { check.to_owned() } else { self.name("value", check) }
    }

    fn failure(&self, failure: LoadFailure) -> LoadFailure {
        match failure {
            LoadFailure::TaskExited { task, tasks, pid, status, others } => {
                LoadFailure::TaskExited { task, tasks, pid, status: self.sentence(&status), others }
            }
            LoadFailure::SupervisorExited { status } => {
                LoadFailure::SupervisorExited { status: self.sentence(&status) }
            }
            LoadFailure::SupervisorFailed { error } => {
                LoadFailure::SupervisorFailed { error: self.error(&error) }
            }
            LoadFailure::UnexpectedMessage { line, error } => LoadFailure::UnexpectedMessage {
                line: self.name("text", &line),
                error: self.error(&error),
            },
            failure @ (LoadFailure::TasksMissing { alive: _, tasks: _ }
            | LoadFailure::SupervisorNotKilled
            | LoadFailure::NotStopped { waited_s: _ }) => failure,
        }
    }

    /// Of a warning that this version does not know.
    fn fields(&self, fields: Map<String, Value>) -> Map<String, Value> {
        fields
            .into_iter()
            .map(|(key, value)| (self.ours("value", &key), self.field(value)))
            .collect()
    }

    fn field(&self, value: Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.sentence(&text)),
            Value::Array(values) => values.into_iter().map(|value| self.field(value)).collect(),
            Value::Object(fields) => Value::Object(self.fields(fields)),
            value @ (Value::Null | Value::Bool(_) | Value::Number(_)) => value,
        }
    }
}
