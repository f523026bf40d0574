// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whether every figure in `run.json` follows from the samples, and whether the samples files are
//! those of the recording.

use crate::SampleFile;
use crate::samples::labels;
use model::{Contradiction, Detail, Recorded, State, Thread, contradictions, samples_file};
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
    differences
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
