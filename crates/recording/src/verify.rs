// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whether every figure in `run.json` follows from the samples, and whether the samples files are
//! those of the recording.

use crate::samples::labels;
use crate::{Recording, RecordingError, SampleFile, each_row};
use model::{
    Contradiction, Detail, EXPLAINED, Explained, Recorded, State, Thread, Watched, contradictions,
    samples_file,
};
use std::collections::HashMap;
use std::path::Path;

/// Compares each recorded figure with what was computed from the samples, and whatever else of the
/// document follows from another part of it. Nothing is rounded, nothing is tolerated.
pub fn verify(recorded: &Recorded) -> Vec<Contradiction> {
    if recorded.document.state == State::Running {
        return vec![Contradiction {
            place: "state".to_owned(),
            recorded: "running".to_owned(),
            recomputed: "the run was cut off, or is still going on: there are no recorded \
                         statistics to check"
                .to_owned(),
        }];
    }
    let mut differences = contradictions(recorded);
    for (index, thread) in recorded.document.threads.iter().enumerate() {
        let place = format!("threads[{index}]");
        let own = samples_file(index);
        if thread.detail != Detail::Samples {
            continue;
        }
        if thread.samples_file != own {
            let place = format!("{place}.samples_file");
            differences.push(Contradiction::between(place, &thread.samples_file, own));
        }
        // What was read: a samples file lies beside its document, whatever that says.
        let name = Path::new(&thread.samples_file).file_name().unwrap_or_default();
        self_description(&place, &recorded.path.join(name), thread, &mut differences);
    }
    if let Some(explained) = &recorded.explained {
        explanations(recorded, explained, &mut differences).unwrap_or_else(|error| {
            let (place, recorded) = (EXPLAINED.to_owned(), "latencies".to_owned());
            differences.push(Contradiction { place, recorded, recomputed: error.to_string() });
        });
    }
    differences
}

/// What was explained against the samples that it is about, and against what the run says of it.
fn explanations(
    recorded: &Recorded,
    explained: &Explained,
    differences: &mut Vec<Contradiction>,
) -> Result<(), RecordingError> {
    let document = &recorded.document;
    let recording = Recording::from_document(&recorded.path, document.clone());
    let mut found = HashMap::new();
    let told: HashMap<(usize, u64), u64> = explained
        .accounts
        .iter()
        .map(|account| ((account.thread, account.activation), account.latency_ns))
        .collect();
    let (mut samples, mut above) = (0, 0);
    let threshold = document.run.explain_above_ns.map_or(i64::MAX, |above| above.0);
    for (index, thread) in document.threads.iter().enumerate() {
        each_row(&[recording.judged_samples(thread)?], &mut |row| {
            let Some(Some(latency)) = row.values.first() else { return };
            samples += 1;
            above += u64::from(*latency > threshold);
            if told.contains_key(&(index, row.number)) {
                found.insert((index, row.number), *latency);
            }
        })?;
    }
    for (place, account) in explained.accounts.iter().enumerate() {
        let sample = found.get(&(account.thread, account.activation)).copied();
        if sample != Some(account.latency_ns.cast_signed()) {
            let place = format!("{EXPLAINED}: accounts[{place}].latency_ns");
            let sample = sample.map_or_else(|| "no sample".to_owned(), |ns| ns.to_string());
            differences.push(Contradiction::between(place, account.latency_ns, sample));
        }
    }
    let mut hold = |place: &str, recorded: u64, recomputed: u64| {
        if recorded != recomputed {
            differences.push(Contradiction::between(place, recorded, recomputed));
        }
    };
    if let Some(identical) = explained.identical_samples {
        hold(&format!("{EXPLAINED}: identical_samples"), identical, samples);
    }
    if let Some(watched) = &document.instrument.watched {
        let Watched { accounted, overwritten, unwatched, unseen, kept, .. } = *watched;
        hold("instrument.watched.above", watched.above, above);
        let in_all = [accounted, overwritten, unwatched, unseen];
        let in_all = in_all.into_iter().fold(0, u64::saturating_add);
        hold("instrument.watched.above", watched.above, in_all);
        hold("instrument.watched.kept", kept, explained.accounts.len() as u64);
    }
    Ok(())
}

/// What the samples file says of itself against what `run.json` says of it.
fn self_description(
    place: &str,
    file: &Path,
    thread: &Thread,
    differences: &mut Vec<Contradiction>,
) {
    let expected = labels(thread);
    let found = SampleFile::labels(file).unwrap_or_default();
    for (label, recorded) in expected {
        let recomputed = found.get(&label).map_or("nothing", String::as_str);
        if recorded != recomputed {
            let place = format!("{place}: {label}");
            differences.push(Contradiction::between(place, recorded, recomputed));
        }
    }
}
