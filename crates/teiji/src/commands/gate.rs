// SPDX-License-Identifier: MIT OR Apache-2.0
//! `teiji gate`: limits held against recordings, for what runs builds.

use crate::commands::plan_limits::Judge;
use crate::commands::run::{self, Begun};
use crate::commands::{import, named, recordings};
use crate::exit::{CommandResult, Failure, of_verdict};
use crate::output;
use crate::overwrite::{self, FileKind};
use crate::suggestion::command;
use anyhow::Context;
use model::Examined;
use plan::Limit;
use report::{Language, Resumption};
use stats::ExactRequest;
use std::collections::BTreeMap;
use std::path::PathBuf;

#[derive(clap::Args)]
pub struct Args {
    /// Recordings (NAME.teiji) and folders of them; every limit must hold in each recording, and
    /// in all phases of a run together where their folder is named. Outputs of other programs too,
    /// as `teiji import` reads them
    #[arg(required = true, value_name = "REC|DIR|FILE")]
    recordings: Vec<PathBuf>,
    /// A limit: 'max<100us', 'mean<20us', 'p99.99<50us', 'p99.99<50us@95%',
    /// 'rate(>80us)<1e-6@95%', 'sd<2us', 'peak-to-peak<50us', 'skipped==0', 'late<3',
    /// 'lost==0', or of a column of the probe by its name: 'missed==0', 'done<5ms'; may be given
    /// several times. Of jitter its size is judged, on either side of the period [default: for
    /// each recording the [limits] of its plan]
    #[arg(long = "limit", value_name = "LIMIT")]
    limits: Vec<Limit>,
    /// An earlier recording, or a folder with the phases of one run; none of these may be worse in
    /// any quantile
    #[arg(long, value_name = "REC")]
    baseline: Option<PathBuf>,
    /// By how much a recording may be worse
    #[arg(
        long,
        value_name = "PERCENT",
        default_value = "10%",
        requires = "baseline",
        value_parser = share,
    )]
    worse_than: f64,
    /// The unit of values of other programs whose output does not say it: ns, us, ms or s
    #[arg(long, value_name = "UNIT", value_parser = import::unit)]
    unit: Option<i64>,
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

pub fn run(mut args: Args) -> CommandResult {
    let options = formats::ImportOptions { unit_ns: args.unit, ..Default::default() };
    let mut baseline: Vec<PathBuf> = args.baseline.take().into_iter().collect();
    let recording = args.recordings.iter().chain(&baseline).find(|path| path.is_dir());
    if let Some(recording) = recording.filter(|_| args.unit.is_some()) {
        refuse!(
            "--unit is of outputs of other programs, and {} is a recording: import its output \
             again, as by teiji import --unit us FILE -o DIR",
            recording.display()
        );
    }
    let _made = import::in_place([&mut args.recordings, &mut baseline], options)?;
    let args = &args;
    let junit = args.junit.as_deref().map(|path| (path, FileKind::Junit));
    overwrite::refuse_foreign(junit, args.force)?;
    let judge = Judge::new(&args.recordings, &args.limits)?;
    if judge.has_none() && baseline.is_empty() {
        refuse!("no limit: name a --limit, such as 'max<100us', or a --baseline");
    }
    let (found, missing) = named::recordings(&args.recordings)?;
    if found.is_empty() {
        let folder = &args.recordings[0];
        if run::is_folder(folder)
            && let Some(Resumption::Lacks(why)) = run::resumption(folder, &Begun::read(folder)?)
        {
            refuse!("nothing is recorded yet, and nothing can be here: {why}");
        }
        let resume = command(&[&"run", &"--resume", folder]);
        refuse!("nothing is recorded yet. Resume the plan: {resume}");
    }
    let mut recordings = Vec::new();
    let mut report = judge.judge(&found, |examined| recordings.push(examined))?;
    report.gate.missing = missing;
    if !baseline.is_empty() {
        let baseline = of_baseline(&baseline)?;
        report
            .against(&baseline, args.worse_than, &recordings, Language::English)
            .map_err(anyhow::Error::msg)?;
    }
    if let Some(path) = &args.junit {
        output::write_whole(path, &report.junit())?;
    }
    output::say(&match (args.json, args.tap) {
        (true, _) => model::document_text(&report.json())?,
        (_, true) => report.tap(),
        _ => report.text(Language::English),
    });
    if missing > 0 {
        complain!(
            "no recording of {}: what is not recorded cannot pass",
            output::counted(missing, "run")
        );
    }
    let folders = named::plans(&args.recordings)?;
    let mut left_out: BTreeMap<String, usize> = BTreeMap::new();
    for (_, why) in folders.iter().flat_map(|folder| executor::left_out(folder)) {
        *left_out.entry(why).or_default() += 1;
    }
    for (why, runs) in left_out {
        complain!("{} left out: {why}", output::counted(runs, "run"));
    }
    Ok(of_verdict(report.gate.verdict()))
}

/// What recordings are compared with: a recording, or a folder that holds the phases of one run.
fn of_baseline(named: &[PathBuf]) -> Result<Examined, Failure> {
    let pools = named::judged_together(&named::recordings(named)?.0)?;
    let [one] = pools.as_slice() else {
        let runs = pools.len();
        let path = named[0].display();
        refuse!("--baseline {path}: name one recording, not {runs}");
    };
    recordings::examine_pool(one, &ExactRequest::default())
}

/// 0 and more.
fn share(text: &str) -> anyhow::Result<f64> {
    plan::share(text)
        .filter(|share| (0.0..=100.0).contains(share))
        .context("write a percentage, such as 10%")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentages() {
        assert_eq!(["10%", "0.25", "0 %"].map(|text| share(text).unwrap()), [0.1, 0.25, 0.0]);
        for wrong in ["", "-1%", "nan", "ten", "inf"] {
            assert!(share(wrong).is_err(), "{wrong}");
        }
    }
}
