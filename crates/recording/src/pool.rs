// SPDX-License-Identifier: MIT OR Apache-2.0
//! Several phases of one run, read as one: every figure is that of all their samples, and exact.

use crate::reader::{JUDGED, ThreadSamples};
use crate::{Recording, RecordingError, SampleFile};
use model::{Examined, Pool, Quantity, Recorded, RunIdentity};
use stats::{AccountingRule, Analysis, ExactRequest, Measured, Sizes, Statistics, analyse_pool};
use std::path::Path;

/// Reads recordings of one run in several phases, as the crate `judge` finds them, with what limits
/// and comparisons judge in them all together; or one by itself. A copy of another adds nothing and
/// is left out. None of no recordings.
///
/// # Errors
/// As [`Recording::open`] and [`Recording::summarise`].
pub fn examine_pool<P: AsRef<Path>>(
    paths: &[P],
    exact: &ExactRequest,
) -> Result<Option<Examined>, RecordingError> {
    let opened = paths.iter().map(|path| Recording::open(path.as_ref()));
    let mut opened: Vec<Recording> = opened.collect::<Result<_, _>>()?;
    if opened.len() > 1 {
        return examine_phases(opened, exact).map(Some);
    }
    let only = opened.pop().map(|only| only.examine(exact, |_| ()));
    Ok(only.transpose()?.map(|(examined, _)| examined))
}

fn examine_phases(
    recordings: Vec<Recording>,
    exact: &ExactRequest,
) -> Result<Examined, RecordingError> {
    let mut phases: Vec<Phase> = Vec::new();
    for recording in recordings {
        let (examined, _) = recording.clone().examine(&ExactRequest::default(), |_| ())?;
        let identity = RunIdentity::from_recorded(&examined.recorded);
        if phases.iter().all(|known| known.identity != identity) {
            let measured = examined.analyses.iter().map(Measured::from).collect();
            phases.push(Phase { recording, recorded: examined.recorded, measured, identity });
        }
    }
    // As long as there are none worse, the first.
    let worst = (0..phases.len())
        .rev()
        .max_by_key(|place| phases[*place].recorded.largest_ns())
        .unwrap_or(0);
    if let [only] = phases.as_slice() {
        return Ok(only.recording.clone().examine(exact, |_| ())?.0);
    }
    phases[..=worst].rotate_right(1);
    let pooled = phases[0]
        .recording
        .of_each_thread(|samples| pooled_thread(&phases, samples.thread.index, exact))?;
    let (threads, analyses) = pooled.into_iter().unzip();
    let (mut recorded, mut runs) = (Vec::new(), Vec::new());
    for phase in phases {
        recorded.push(phase.recorded);
        runs.push(phase.measured);
    }
    let first = recorded.remove(0);
    Ok(Examined {
        recorded: first,
        analyses,
        pool: Some(Box::new(Pool { others: recorded, threads, runs })),
    })
}

/// One of the phases, as far as it is known by itself.
struct Phase {
    recording: Recording,
    recorded: Recorded,
    measured: Vec<Measured>,
    identity: RunIdentity,
}

/// A thread over all phases: as measured, and what is judged of it.
fn pooled_thread(
    phases: &[Phase],
    index: usize,
    exact: &ExactRequest,
) -> Result<(Statistics, Analysis), RecordingError> {
    let samples: Vec<ThreadSamples<'_>> =
        phases.iter().filter_map(|phase| phase.recording.thread(index)).collect();
    let interval_ns = samples.first().map_or(1, ThreadSamples::interval_ns);
    let files: Vec<SampleFile> =
        samples.iter().map(|samples| samples.open(JUDGED)).collect::<Result<_, _>>()?;
    let rules: Vec<AccountingRule> = samples.iter().map(|samples| samples.rule(JUDGED)).collect();
    let rows: Vec<(&SampleFile, AccountingRule)> =
        files.iter().zip(rules.iter().copied()).collect();
    let mut analysis = analyse_pool(&rows, interval_ns, exact)?;
    // Where another column decides what was late or skipped, each phase by itself knows.
    let of_each = || phases.iter().filter_map(|phase| phase.recorded.threads.get(index));
    let mut activations = stats::Activations::default();
    of_each().for_each(|thread| activations.merge(&thread.activations));
    let lost = of_each().map(|thread| thread.lost).sum();
    (analysis.statistics.activations, analysis.statistics.lost) = (activations, lost);
    let measured = analysis.statistics.clone();
    let is_jitter =
        phases.iter().any(|phase| phase.recorded.document.probe.quantity == Quantity::Jitter);
    if is_jitter {
        let sizes: Vec<Sizes<'_, SampleFile>> = files.iter().map(Sizes).collect();
        let rows: Vec<(&Sizes<'_, SampleFile>, AccountingRule)> = sizes.iter().zip(rules).collect();
        analysis = analyse_pool(&rows, interval_ns, exact)?;
        (analysis.statistics.activations, analysis.statistics.lost) = (activations, lost);
    }
    Ok((measured, analysis))
}

#[cfg(test)]
#[path = "pool_tests.rs"]
mod tests;
