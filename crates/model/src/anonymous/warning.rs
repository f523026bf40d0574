// SPDX-License-Identifier: MIT OR Apache-2.0
//! Warnings, and why loads failed.

use super::words::{Vocabulary, is_plain};
use super::{Anonymiser, each, each_key};
use crate::{LoadFailure, MemoryNotLocked, OtherWarning, Phrase, RefusalCause, Warning};
use serde_json::{Map, Value};

impl Anonymiser<'_> {
    pub(super) fn warning(&self, warning: &mut Warning) {
        let ours = |text: &str| self.ours("value", text);
        let whole = |text: &str| self.whole("path", text);
        match warning {
            Warning::NoRealTime { error, program, causes, asked: _, granted: _ } => {
                *error = self.error(error);
                *program = whole(program);
                causes.iter_mut().for_each(|cause| self.cause(cause));
            }
            Warning::MemoryNotLocked { reason: MemoryNotLocked::Error(error) } => {
                *error = self.error(error);
            }
            Warning::DmaLatencyNotHeld { path, error, reason: _ } => {
                *path = whole(path);
                *error = self.error(error);
            }
            Warning::ClockStepped { clock, forwards_ns: _, backwards_ns: _ } => {
                *clock = ours(clock);
            }
            Warning::AccountingDiffers { place, counted, recorded } => {
                *place = self.sentence(place);
                each([counted, recorded], |text| self.terms("value", text));
            }
            Warning::GovernorNotPerformance { governors } => each_key(governors, ours),
            Warning::ClocksourceChanged { before, after } => each([before, after], ours),
            Warning::ClocksourceSlow { clocksource, available, fast } => {
                each([clocksource].into_iter().chain(available).chain(fast), ours);
            }
            // As in the facts of the machine.
            Warning::Hypervisor { cpu_model: _ } => {}
            Warning::MachineCheck { check, found, why, action, found_phrase, action_phrase } => {
                if !is_plain(check, Vocabulary::Sentences) {
                    *check = self.name("value", check);
                }
                self.phrase(found_phrase, Some(found));
                self.phrase(action_phrase, action.as_deref());
                each([&mut *found, why].into_iter().chain(&mut *action), |text| {
                    self.sentence(text)
                });
                // A phrase whose values have lost other words than the text would tell names.
                keep_if_it_says(found_phrase, Some(found));
                keep_if_it_says(action_phrase, action.as_deref());
            }
            Warning::OtherWork { processes, percent: _, cpus: _, unnamed_ms: _ } => {
                self.processes(processes)
            }
            Warning::LoadsElsewhere { load, bare: _, loaded: _ }
            | Warning::LoadNotSettled { load, steady: _ }
            | Warning::LoadConditions { load, nice: _ }
            | Warning::LoadOffTarget { load, requested: _, reached: _, cpu: _, machine: _ } => {
                self.load(load);
            }
            Warning::LoadDied { load, failure, output } => {
                self.load(load);
                self.failure(failure);
                // What a program printed is its own.
                *output = self.name("output", output);
            }
            Warning::StreamUnreadable {
                from,
                text,
                records: _,
                numbers: _,
                first: _,
                first_offset: _,
            } => {
                *from = whole(from);
                *text = self.name("text", text);
            }
            Warning::StreamHalfRecord { from, bytes: _, offset: _, ended: _ }
            | Warning::StreamBackwards { from, steps: _, first: _, furthest_ns: _ }
            | Warning::StreamTrailing { from, unreadable: _, backwards: _ }
            | Warning::StreamMissed { from, missed: _, period_ns: _ }
            | Warning::StreamEnded { from, numbers: _, after_ns: _, closed: _ }
            | Warning::StreamSilent { from, numbers: _, silent_ns: _ }
            | Warning::StreamUnread { from, bytes: _ } => *from = whole(from),
            Warning::SourceContradicts { place, stated, found } => {
                each([place, stated, found], |text| self.ours("value", text));
            }
            Warning::NotWatched { error } => *error = self.sentence(error),
            // Numbers alone. Each field is named, so that one more asks whether it is a name.
            Warning::MemoryNotLocked { reason: MemoryNotLocked::LimitBytes(_) }
            | Warning::RealTimeTimeout { after_ns: _ }
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
            | Warning::CpusNotAllowed { allowed: _, left_out: _ }
            | Warning::SiblingsMeasured { cores: _, one_each: _ }
            | Warning::StreamOffPeriod { period_ns: _, median_ns: _, intervals: _ }
            | Warning::RowsUntraced { thread: _, rows: _, without_switch: _, measured: _ }
            | Warning::TraceEventsLost { events: _, buffer_kib: _, unfollowed: _ }
            | Warning::FellBack { thread: _, switches: _, measured: _ }
            | Warning::ProgramEnded {
                after_ns: _,
                planned_ns: _,
                status: _,
                signal: _,
                default_length: _,
            } => {}
            Warning::Other(OtherWarning { code, fields }) => {
                *code = ours(code);
                self.fields(fields);
            }
        }
    }

    /// One that does not say what stands beside it may have anything in it, and goes.
    fn phrase(&self, phrase: &mut Option<Phrase>, said: Option<&str>) {
        keep_if_it_says(phrase, said);
        if let Some(phrase) = phrase {
            phrase.texts_mut(&|text| *text = self.sentence(text));
        }
    }

    fn cause(&self, cause: &mut RefusalCause) {
        match cause {
            RefusalCause::Limit { container, allowed: _, hard: _, in_user_namespace: _ } => {
                each(container, |text| self.ours("value", text));
            }
            RefusalCause::ControlGroup { group, version: _ } => *group = self.whole("path", group),
            RefusalCause::SystemCall { seccomp: _ } => {}
        }
    }

    fn failure(&self, failure: &mut LoadFailure) {
        match failure {
            LoadFailure::TaskExited { status, task: _, tasks: _, pid: _, others: _ }
            | LoadFailure::SupervisorExited { status } => *status = self.sentence(status),
            LoadFailure::SupervisorFailed { error } => *error = self.error(error),
            LoadFailure::UnexpectedMessage { line, error } => {
                *line = self.name("text", line);
                *error = self.error(error);
            }
            LoadFailure::TasksMissing { alive: _, tasks: _ }
            | LoadFailure::SupervisorNotKilled
            | LoadFailure::NotStopped { waited_s: _ } => {}
        }
    }

    /// Of a warning that this version does not know.
    fn fields(&self, fields: &mut Map<String, Value>) {
        for (key, mut value) in std::mem::take(fields) {
            self.field(&mut value);
            fields.insert(self.ours("value", &key), value);
        }
    }

    fn field(&self, value: &mut Value) {
        match value {
            Value::String(text) => *text = self.sentence(text),
            Value::Array(values) => values.iter_mut().for_each(|value| self.field(value)),
            Value::Object(fields) => self.fields(fields),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
}

fn keep_if_it_says(phrase: &mut Option<Phrase>, said: Option<&str>) {
    *phrase = phrase.take().filter(|phrase| said.is_some_and(|said| phrase.says(said)));
}
