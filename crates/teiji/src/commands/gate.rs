// SPDX-License-Identifier: MIT OR Apache-2.0
//! `teiji gate`: limits held against recordings, for what runs builds.

use crate::commands::joint;
use crate::commands::plan_limits::Judge;
use crate::exit::{CommandResult, EXCEEDED, Failure, NOT_ENOUGH_EVIDENCE};
use crate::output;
use crate::overwrite::{self, FileKind};
use ::report::{self, Gate, Language};
use anyhow::{Context, anyhow};
use judge::{Examined, Verdict};
use model::ProbeStatement;
use plan::Limit;
use stats::ExactRequest;
use std::path::PathBuf;

#[derive(clap::Args)]
pub struct Args {
    /// Recordings (NAME.teiji) and folders of them; every limit must hold in each recording, and
    /// in all phases of a run together where their folder is named
    #[arg(required = true, value_name = "REC|DIR")]
    recordings: Vec<PathBuf>,
    /// A limit: 'max<100us', 'mean<20us', 'p99.99<50us', 'p99.99<50us@95%',
    /// 'rate(>80us)<1e-6@95%', 'sd<2us', 'peak-to-peak<50us', 'skipped==0', 'late<3',
    /// 'lost==0'; may be given several times. Of jitter its size is judged, on either side of
    /// the period [default: for each recording the [limits] of its plan]
    #[arg(long = "limit", value_name = "LIMIT")]
    limits: Vec<Limit>,
    /// An earlier recording, or a folder with the phases of one run; none of these may be worse in
    /// any quantile
    #[arg(long, value_name = "REC")]
    baseline: Option<PathBuf>,
    /// By how much a recording may be worse
    #[arg(long, value_name = "PERCENT", default_value = "10%", requires = "baseline", value_parser = share)]
    worse_than: f64,
    /// Write JUnit XML to this file as well
    #[arg(long, value_name = "FILE.xml")]
    junit: Option<PathBuf>,
    /// Replace any file; without this, only an earlier JUnit file of teiji's
    #[arg(long, requires = "junit")]
    force: bool,
    /// Print JSON
    #[arg(long, group = "form")]
    json: bool,
    /// Print TAP
    #[arg(long, group = "form")]
    tap: bool,
}

pub fn run(args: &Args) -> CommandResult {
    let junit = args.junit.as_deref().map(|path| (path, FileKind::Junit));
    overwrite::refuse_foreign(junit, args.force).map_err(Failure::bad_input)?;
    let judge = Judge::new(&args.recordings, &args.limits)?;
    if judge.has_none() && args.baseline.is_none() {
        return Err(Failure::bad_input(anyhow!(
            "no limit: name a --limit, such as 'max<100us', or a --baseline"
        )));
    }
    let (found, missing) = joint::recordings(&args.recordings)?;
    if found.is_empty() {
        return Err(Failure::bad_input(anyhow!(
            "nothing is recorded yet. Resume the plan with teiji run --resume"
        )));
    }
    let mut gate = Gate::default();
    let mut recordings = Vec::new();
    for together in joint::judged_together(&found)? {
        let exact = Limit::exact_request(&judge.limits_of(&together));
        for examined in super::examine_pools(std::slice::from_ref(&together), &exact)? {
            gate.merge(judge.judge(&together, &examined));
            recordings.push(examined);
        }
    }
    gate.with_sources(judge.sources());
    gate.with_missing(missing);
    if let Some(path) = &args.baseline {
        let baseline = baseline(path)?;
        gate.against(&baseline, args.worse_than, &recordings, Language::English)
            .map_err(|why| Failure::bad_input(anyhow!(why)))?;
    }
    if let Some(path) = &args.junit {
        output::write_whole(path, &gate.junit()).map_err(Failure::bad_input)?;
    }
    output::say(&match (args.json, args.tap) {
        (true, _) => model::document_text(&gate.json()).map_err(Failure::run_failed)?,
        (_, true) => gate.tap(),
        _ => gate.text(Language::English),
    });
    if missing > 0 {
        output::complain(&format!(
            "no recording of {}: what is not recorded cannot pass",
            report::counted_in_english(missing as u64, "run")
        ));
    }
    Ok(super::exit_of(&gate))
}

/// What recordings are compared with: a recording, or a folder that holds the phases of one run.
fn baseline(path: &PathBuf) -> Result<Examined, Failure> {
    let pools = joint::judged_together(&joint::recordings(std::slice::from_ref(path))?.0)?;
    let [_] = pools.as_slice() else {
        let runs = pools.len();
        return Err(Failure::bad_input(anyhow!(
            "--baseline {}: name one recording, not {runs}",
            path.display()
        )));
    };
    super::examine_pools(&pools, &ExactRequest::default())?
        .pop()
        .context("no baseline")
        .map_err(Failure::bad_input)
}

/// Refuses limits that say nothing of what a run will measure.
pub fn check_meaning(limits: &[Limit], probe: &ProbeStatement) -> anyhow::Result<()> {
    match limits.iter().find(|limit| !judge::has_meaning(limit, probe)) {
        Some(limit) => Err(anyhow!(no_meaning(limit, &probe.name))),
        None => Ok(()),
    }
}

/// Why a limit says nothing of what these probes measure.
pub fn no_meaning(limit: &Limit, probes: &str) -> String {
    format!(
        "the limit '{limit}' has no meaning for the probe {probes}: its events are not planned, \
         so none is late or skipped. Limit max, a quantile, a rate or lost"
    )
}

/// The exit code of a verdict.
pub const fn code(verdict: Verdict) -> u8 {
    match verdict {
        Verdict::Pass => 0,
        Verdict::Fail => EXCEEDED,
        Verdict::NotEnough => NOT_ENOUGH_EVIDENCE,
    }
}

/// `10%` or `0.1`; 0 and more.
fn share(text: &str) -> Result<f64, String> {
    let read = || match text.strip_suffix('%') {
        Some(percent) => percent.trim().parse::<f64>().ok().map(|percent| percent / 100.0),
        None => text.parse().ok(),
    };
    read()
        .filter(|share| (0.0..=100.0).contains(share))
        .ok_or_else(|| "write a percentage, such as 10%".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentages() {
        assert_eq!((share("10%"), share("0.25"), share("0 %")), (Ok(0.1), Ok(0.25), Ok(0.0)));
        for wrong in ["", "-1%", "nan", "ten", "inf"] {
            assert!(share(wrong).is_err(), "{wrong}");
        }
    }
}
