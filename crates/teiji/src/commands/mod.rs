// SPDX-License-Identifier: MIT OR Apache-2.0
//! One file per verb.

pub mod anonymise;
mod chart_flags;
pub mod check;
pub mod compare;
pub mod explain;
pub mod export;
pub mod gate;
pub mod hackbench;
mod joint;
pub mod lab;
pub mod lab_emulator;
pub mod lab_init;
pub mod load;
pub mod load_worker;
pub mod measure;
pub mod plan_length;
mod plan_limits;
pub mod plans;
mod probe_flags;
pub mod probes;
pub mod report;
pub mod run;
mod run_flags;
pub mod show;
pub mod tune;
pub mod verify;

use self::plan_limits::Judge;
use crate::exit::Failure;
use ::report::{Gate, Inference, Language};
use anyhow::Context;
use judge::Examined;
use model::Recorded;
use plan::Limit;
use recording::{Recording, RecordingError};
use stats::{Analysis, ExactRequest};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// A language by its tag.
fn language(tag: &str) -> Result<Language, String> {
    let tags = || Language::ALL.map(Language::tag).join(" or ");
    Language::ALL
        .into_iter()
        .find(|language| language.tag() == tag)
        .ok_or_else(|| format!("it is {}", tags()))
}

/// Reads recordings with all their samples.
fn read(paths: &[PathBuf]) -> Result<Vec<Recorded>, Failure> {
    paths
        .iter()
        .map(|path| {
            Recording::open(path).and_then(Recording::summarise).map_err(Failure::bad_input)
        })
        .collect()
}

/// Reads recordings with all their samples, and what limits and comparisons judge in them; what
/// `exact` asks for is known exactly.
fn examine(paths: &[PathBuf], exact: &ExactRequest) -> Result<Vec<Examined>, Failure> {
    let examine = |path: &PathBuf| {
        let (examined, _) = Recording::open(path)
            .and_then(|one| one.examine(exact, |_| ()))
            .map_err(Failure::bad_input)?;
        Ok(examined)
    };
    paths.iter().map(examine).collect()
}

/// Which recordings are judged together: phases of one run; everything else by itself.
fn pools(paths: &[PathBuf]) -> Result<Vec<Vec<PathBuf>>, Failure> {
    let opened = paths
        .iter()
        .map(|path| Recording::open(path).map_err(Failure::bad_input))
        .collect::<Result<Vec<_>, _>>()?;
    let pools = judge::pools(opened.iter().map(Recording::document));
    Ok(pools
        .into_iter()
        .map(|pool| pool.into_iter().map(|place| paths[place].clone()).collect())
        .collect())
}

/// Reads what is judged together, one thing after the other.
fn examine_pools(pools: &[Vec<PathBuf>], exact: &ExactRequest) -> Result<Vec<Examined>, Failure> {
    let examine_one = |pool: &Vec<PathBuf>| {
        let mut opened = pool
            .iter()
            .map(|path| Recording::open(path).map_err(Failure::bad_input))
            .collect::<Result<Vec<_>, _>>()?;
        let others = opened.split_off(1.min(opened.len()));
        let Some(first) = opened.pop() else { return Ok(None) };
        if others.is_empty() {
            return first
                .examine(exact, |_| ())
                .map(|(examined, _)| Some(examined))
                .map_err(Failure::bad_input);
        }
        recording::examine_pool(first, others, exact).map(Some).map_err(Failure::bad_input)
    };
    pools.iter().filter_map(|pool| examine_one(pool).transpose()).collect()
}

/// Reads recordings with all their samples, as they were measured: jitter has its sign.
fn as_measured(paths: &[PathBuf], exact: &ExactRequest) -> Result<Vec<Examined>, Failure> {
    let read = |path: &PathBuf| {
        let (recorded, analyses) = Recording::open(path)
            .and_then(|one| one.analyse(exact, Analysis::clone))
            .map_err(Failure::bad_input)?;
        Ok(Examined { recorded, analyses, pool: None })
    };
    paths.iter().map(read).collect()
}

/// A recording, and each thread's confidence intervals and tail.
type WithInference = (Recorded, Vec<Inference>);

/// A recording by its path, or by a pseudonym and without names.
type Opened<'a> = dyn Fn(&Path) -> Result<(Recording, PathBuf), RecordingError> + 'a;

/// As it is.
fn with_names(path: &Path) -> Result<(Recording, PathBuf), RecordingError> {
    Ok((Recording::open(path)?, path.to_owned()))
}

/// Reads recordings with all their samples, and keeps each thread's confidence intervals and tail.
fn read_with_inference(
    paths: &[PathBuf],
    open: &Opened<'_>,
) -> Result<Vec<WithInference>, Failure> {
    let exact = ExactRequest::default();
    let read = |path: &PathBuf| {
        let (one, shown) = open(path)?;
        let (recorded, inferences) = one.analyse(&exact, Inference::from_analysis)?;
        Ok((Recorded { path: shown, ..recorded }, inferences))
    };
    paths
        .iter()
        .map(|path| read(path).map_err(|error: RecordingError| Failure::bad_input(error)))
        .collect()
}

/// The same, with limits held against each.
fn read_and_judge(
    paths: &[PathBuf],
    limits: &[Limit],
    open: &Opened<'_>,
) -> Result<(Vec<WithInference>, Gate), Failure> {
    if limits.is_empty() {
        return Ok((read_with_inference(paths, open)?, Gate::default()));
    }
    let mut gate = Gate::default();
    let mut all = Vec::with_capacity(paths.len());
    for path in paths {
        // One after the other: an analysis takes some MB a thread, and what is inferred from it
        // hardly any.
        let exact = Limit::exact_request(limits);
        let (one, shown) = open(path).map_err(Failure::bad_input)?;
        let (mut examined, inferences) =
            one.examine(&exact, Inference::from_analysis).map_err(Failure::bad_input)?;
        examined.recorded.path = shown;
        gate.merge(Gate::judge(limits, std::slice::from_ref(&examined)));
        all.push((examined.recorded, inferences));
    }
    Ok((all, gate))
}

/// Limits held against all that was named, folders of plans among it.
fn judge_all(paths: &[PathBuf], limits: &[Limit]) -> Result<Gate, Failure> {
    let mut gate = Gate::default();
    if limits.is_empty() {
        return Ok(gate);
    }
    let judge = Judge::new(paths, limits)?;
    for together in joint::judged_together(&joint::recordings(paths)?.0)? {
        for examined in
            examine_pools(std::slice::from_ref(&together), &Limit::exact_request(limits))?
        {
            gate.merge(judge.judge(&together, &examined));
        }
    }
    gate.with_sources(judge.sources());
    Ok(gate)
}

/// How a command ends that holds limits against recordings.
fn exit_of(gate: &Gate) -> ExitCode {
    ExitCode::from(gate::code(gate.verdict()))
}

/// Bytes of such figures: 10,000 lines.
const MAX_PUBLISHED: u64 = 2 << 20;

/// The figures of others that `--beside` asks for.
fn published(asked: &Path) -> anyhow::Result<::report::Published> {
    if asked == Path::new("published") {
        return Ok(::report::Published::along()?);
    }
    let cannot = || format!("cannot read {}", asked.display());
    // Of a stranger's, perhaps: a FIFO is waited for without end.
    let found = std::fs::metadata(asked).with_context(cannot)?;
    anyhow::ensure!(found.is_file(), "cannot read {}: it is not a file", asked.display());
    let mut text = Vec::new();
    std::fs::File::open(asked)
        .and_then(|file| file.take(MAX_PUBLISHED + 1).read_to_end(&mut text))
        .with_context(cannot)?;
    anyhow::ensure!(
        text.len() as u64 <= MAX_PUBLISHED,
        "{}: larger than {} MB",
        asked.display(),
        MAX_PUBLISHED >> 20
    );
    Ok(::report::Published::read(&asked.display().to_string(), &text)?)
}

/// The table of what was named, a folder of a plan among it.
fn table(paths: &[PathBuf], detail: run::TableDetail) -> Result<::report::Matrix, Failure> {
    match paths {
        [folder] if run::is_folder(folder) => {
            run::table(folder, detail).map_err(Failure::bad_input)
        }
        _ => joint::Joint::read(paths)?.matrix(detail),
    }
}
