// SPDX-License-Identifier: MIT OR Apache-2.0
//! Recordings read with all their samples, one after the other: an analysis takes some MB a thread,
//! and what is kept of it hardly any.

use crate::exit::Failure;
use anyhow::anyhow;
use judge::Gate;
use model::{Examined, ProbeStatement, Recorded};
use plan::Limit;
use recording::{Recording, RecordingError};
use report::{GateReport, Inference};
use stats::{Analysis, ExactRequest};
use std::path::{Path, PathBuf};

fn each<T>(
    paths: &[PathBuf],
    read: impl FnMut(&PathBuf) -> Result<T, RecordingError>,
) -> Result<Vec<T>, Failure> {
    Ok(paths.iter().map(read).collect::<Result<_, _>>()?)
}

pub fn read(paths: &[PathBuf]) -> Result<Vec<Recorded>, Failure> {
    each(paths, |path| Recording::open(path)?.summarise())
}

/// Which recordings are judged together: phases of one run; everything else by itself.
pub fn pools(paths: &[PathBuf]) -> Result<Vec<Vec<PathBuf>>, Failure> {
    let opened = each(paths, |path| Recording::open(path))?;
    let pools = judge::pools(opened.iter().map(Recording::document)).into_iter();
    Ok(pools.map(|pool| pool.into_iter().map(|place| paths[place].clone()).collect()).collect())
}

/// What is judged together, as one, with what limits and comparisons judge in it; what `exact` asks
/// for is known exactly.
pub fn examine_pool(together: &[PathBuf], exact: &ExactRequest) -> Result<Examined, Failure> {
    recording::examine_pool(together, exact)?.ok_or_else(|| anyhow!("no recording").into())
}

/// As they were measured: jitter has its sign.
pub fn as_measured(paths: &[PathBuf], exact: &ExactRequest) -> Result<Vec<Examined>, Failure> {
    each(paths, |path| {
        let (recorded, analyses) = Recording::open(path)?.analyse(exact, Analysis::clone)?;
        Ok(Examined { recorded, analyses, pool: None })
    })
}

/// Refuses a limit that names a column which none of these probes has: it is misspelt. What
/// otherwise says nothing of a recording is not enough evidence.
pub fn check_columns<'p>(
    limits: &[Limit],
    probes: impl Iterator<Item = &'p ProbeStatement>,
) -> Result<(), Failure> {
    let probes: Vec<&ProbeStatement> = probes.collect();
    let mut meaningless = limits.iter().filter_map(|limit| judge::no_meaning(limit, &probes));
    Ok(meaningless.find(|why| why.is_of_column).map_or(Ok(()), Err)?)
}

/// A recording, and each thread's confidence intervals and tail.
type WithInference = (Recorded, Vec<Inference>);

/// A recording by its path, or by a pseudonym and without names.
type Opened<'a> = dyn Fn(&Path) -> Result<(Recording, PathBuf), RecordingError> + 'a;

/// As it is.
pub fn with_names(path: &Path) -> Result<(Recording, PathBuf), RecordingError> {
    let recording = Recording::open(path)?;
    let shown = recording.shown_path();
    Ok((recording, shown))
}

/// With each thread's confidence intervals and tail, and limits held against each recording.
pub fn read_and_judge(
    paths: &[PathBuf],
    limits: &[Limit],
    open: &Opened<'_>,
) -> Result<(Vec<WithInference>, GateReport), Failure> {
    let mut report = GateReport::default();
    let exact = Limit::exact_request(limits);
    let all = each(paths, |path| {
        let (one, shown) = open(path)?;
        if limits.is_empty() {
            let (recorded, inferences) = one.analyse(&exact, Inference::from_analysis)?;
            return Ok((Recorded { path: shown, ..recorded }, inferences));
        }
        let (mut examined, inferences) = one.examine(&exact, Inference::from_analysis)?;
        examined.recorded.path = shown;
        report.add(Gate::judge(limits, std::slice::from_ref(&examined)), &examined);
        Ok((examined.recorded, inferences))
    })?;
    check_columns(limits, all.iter().map(|(recorded, _)| &recorded.document.probe))?;
    Ok((all, report))
}
