// SPDX-License-Identifier: MIT OR Apache-2.0
//! The table of a plan's results, from the recordings of its folder, on any machine.

use super::settings::label;
use super::{read, runs};
use anyhow::Context;
use executor::{RecordingState, find_recording, plan_file};
use plan::Limit;
use plan::{Combination, Plan, PlannedRun};
use recording::Recording;
use report::{Gate, Inference, Matrix};
use stats::Analysis;
use std::path::{Path, PathBuf};

/// Whether this is the folder of a plan.
pub fn is_folder(path: &Path) -> bool {
    plan_file(path).is_file()
}

/// The plan as run.
pub fn text(path: &Path) -> anyhow::Result<String> {
    let plan = plan_file(path);
    std::fs::read_to_string(&plan).with_context(|| format!("cannot read {}", plan.display()))
}

/// More runs than these are read for their figures alone: their confidence intervals take some milliseconds a run.
const MAX_INFERRED: usize = 512;

/// What is wanted of a plan's runs beside their figures.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum TableDetail {
    /// Nothing.
    Figures,
    /// Their confidence intervals and tails, unless there are very many.
    Inference,
}

/// A plan that was begun, with what there is of it.
pub struct Begun {
    pub plan: Plan,
    /// Names of the columns: what is varied, then what distinguishes combinations that were added.
    pub keys: Vec<String>,
    pub combinations: Vec<Combination>,
    /// In the order they ran, each with its recording if that is whole.
    pub runs: Vec<(PlannedRun, Option<PathBuf>)>,
    /// Recordings of runs that did not come to their end.
    pub incomplete: Vec<String>,
}

impl Begun {
    /// Reads the plan of a folder, and finds which of its runs are done.
    pub fn read(path: &Path) -> anyhow::Result<Self> {
        let plan = read(&plan_file(path))?;
        let combinations = plan.combinations()?;
        let labels: Vec<String> = combinations.iter().map(|combination| label(&plan, combination)).collect();
        let mut keys: Vec<String> = plan.vary.iter().map(|factor| factor.key.clone()).collect();
        for setting in plan.include.iter().flatten() {
            if !keys.contains(&setting.key) {
                keys.push(setting.key.clone());
            }
        }
        let planned = runs(&plan, combinations.len())?;
        let mut runs = Vec::with_capacity(planned.len());
        for (place, run) in planned.iter().enumerate() {
            let recording = executor::recording(path, place, planned.len(), &labels[run.combination]);
            let is_done = find_recording(&recording)? == RecordingState::Done;
            runs.push((*run, is_done.then_some(recording)));
        }
        let incomplete = executor::incomplete(path)?.iter().map(|path| path.display().to_string()).collect();
        Ok(Begun { plan, keys, combinations, runs, incomplete })
    }

    /// What a setting is in a combination, as the plan writes it.
    pub fn value(&self, combination: usize, key: &str) -> Option<String> {
        let settings = &self.combinations[combination].settings;
        settings.iter().rfind(|setting| setting.key == key).map(|setting| setting.value.to_string())
    }
}

/// A row for each combination.
pub fn table(path: &Path, detail: TableDetail) -> anyhow::Result<Matrix> {
    let begun = Begun::read(path)?;
    let values = (0..begun.combinations.len()).map(|place| begun.keys.iter().map(|key| begun.value(place, key)).collect());
    let mut matrix = Matrix::new(begun.plan.title.clone(), begun.keys.clone(), values);
    matrix.limits.clone_from(&begun.plan.limits);
    matrix.incomplete.clone_from(&begun.incomplete);
    let runs = begun.runs.iter().map(|(run, recording)| (run.combination, run.repeat, recording.as_deref()));
    fill(&mut matrix, runs, detail)?;
    Ok(matrix)
}

/// Adds runs, each to its row, numbered within it; none: there is no recording.
pub fn fill<'p>(
    matrix: &mut Matrix,
    runs: impl ExactSizeIterator<Item = (usize, u32, Option<&'p Path>)>,
    detail: TableDetail,
) -> anyhow::Result<()> {
    let are_few = runs.len() <= MAX_INFERRED;
    if detail == TableDetail::Inference && !are_few {
        matrix.inference_left_out_above = Some(MAX_INFERRED);
    }
    let limits = matrix.limits.clone();
    let exact = Limit::exact_request(&limits);
    for (row, repeat, recording) in runs {
        match recording {
            Some(path) if !limits.is_empty() => {
                let is_inferred = are_few && detail == TableDetail::Inference;
                let infer = |analysis: &Analysis| is_inferred.then(|| Inference::from_analysis(analysis));
                let (examined, inferences) = Recording::open(path)?.examine(&exact, infer)?;
                let inferences = inferences.into_iter().flatten().collect();
                let judged = Gate::judge(&limits, std::slice::from_ref(&examined)).judged;
                matrix.add_run(row, repeat, examined.recorded, inferences, judged);
            }
            Some(path) if detail == TableDetail::Inference && are_few => {
                let (recorded, inferences) = Recording::open(path)?.analyse(&exact, Inference::from_analysis)?;
                matrix.add_run(row, repeat, recorded, inferences, Vec::new());
            }
            Some(path) => matrix.add(row, repeat, Recording::open(path)?.summarise()?),
            None => matrix.add_missing(row),
        }
    }
    Ok(())
}
