// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whether every figure in `run.json` follows from the samples.

use crate::recorded::fill_in;
use crate::samples::labels;
use crate::{Recorded, SampleFile, State, Thread};
use serde_json::Value;
use stats::Statistics;
use std::path::Path;

/// A figure that does not follow from the samples.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// Where it stands in `run.json`, such as `threads[0].latency_ns.max`.
    pub place: String,
    /// What stands there.
    pub recorded: String,
    /// What the samples say.
    pub recomputed: String,
}

/// Compares each recorded figure with what was computed from the samples. Nothing is rounded, nothing is tolerated.
#[must_use]
pub fn verify(recorded: &Recorded) -> Vec<Difference> {
    let mut differences = Vec::new();
    if recorded.document.state == State::Running {
        return vec![Difference {
            place: "state".to_owned(),
            recorded: "running".to_owned(),
            recomputed: "the run was cut off, or is still going on: there are no recorded statistics to check".to_owned(),
        }];
    }
    if recorded.document.threads.len() != recorded.threads.len() {
        differences.push(difference("threads", &recorded.document.threads.len(), &recorded.threads.len()));
    }
    for (index, (thread, statistics)) in recorded.document.threads.iter().zip(&recorded.threads).enumerate() {
        let place = format!("threads[{index}]");
        let mut recomputed = thread.clone();
        fill_in(&mut recomputed, statistics);
        match (serde_json::to_value(thread), serde_json::to_value(&recomputed)) {
            (Ok(old), Ok(new)) => compare(&place, &old, &new, &mut differences),
            (Err(error), _) | (_, Err(error)) => differences.push(difference(&place, &error, &"")),
        }
        accounting(&place, thread, statistics, &mut differences);
        self_description(&place, &recorded.path.join(&thread.samples_file), thread, &mut differences);
    }
    differences
}

/// What the samples file says of itself against what `run.json` says of it.
fn self_description(place: &str, file: &Path, thread: &Thread, differences: &mut Vec<Difference>) {
    let expected = labels(thread.index, thread.cpu, thread.start_ns, thread.interval_ns);
    let found = SampleFile::labels(file).unwrap_or_default();
    for (label, recorded) in expected {
        let said = found.get(&label).map_or("nothing", String::as_str);
        if recorded != said {
            differences.push(difference(&format!("{place}: {label}"), &recorded, &said));
        }
    }
}

fn difference(place: &str, recorded: &impl ToString, recomputed: &impl ToString) -> Difference {
    Difference { place: place.to_owned(), recorded: recorded.to_string(), recomputed: recomputed.to_string() }
}

/// Goes down both trees side by side; through JSON, so that a field added later is compared without anyone thinking of it.
fn compare(place: &str, recorded: &Value, recomputed: &Value, differences: &mut Vec<Difference>) {
    if recorded == recomputed {
        return;
    }
    match (recorded, recomputed) {
        (Value::Object(old), Value::Object(new)) if old.len() == new.len() => {
            for (key, value) in old {
                compare(&format!("{place}.{key}"), value, &new[key], differences);
            }
        }
        (Value::Array(old), Value::Array(new)) if old.len() == new.len() => {
            for (index, (a, b)) in old.iter().zip(new).enumerate() {
                compare(&format!("{place}[{index}]"), a, b, differences);
            }
        }
        _ => differences.push(difference(place, recorded, recomputed)),
    }
}

/// The thread's own accounting against the rows. Where samples were lost the rows know less than the thread did, and only
/// the sums can be checked; where none were, everything is.
fn accounting(place: &str, thread: &Thread, statistics: &Statistics, differences: &mut Vec<Difference>) {
    let (counted, rows) = (thread.activations, statistics.activations);
    let mut expect = |what: &str, recorded: u64, recomputed: u64| {
        if recorded != recomputed {
            differences.push(difference(&format!("{place}.{what}"), &recorded, &recomputed));
        }
    };
    expect("activations.due", counted.due, counted.on_time + counted.late + counted.skipped);
    expect(
        "proof.samples_lost",
        thread.proof.samples_lost,
        (counted.on_time + counted.late).saturating_sub(rows.on_time + rows.late),
    );
    if thread.proof.samples_lost == 0 {
        expect("activations.on_time", counted.on_time, rows.on_time);
        expect("activations.late", counted.late, rows.late);
        // A thread that did not come back has no proof, and nobody to say which of its rows an overrun explains.
        let never_run = if thread.proof.voluntary_switches.is_none() { statistics.lost } else { 0 };
        expect("activations.skipped", counted.skipped, rows.skipped + never_run);
    }
}
