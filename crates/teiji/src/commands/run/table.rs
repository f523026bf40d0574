// SPDX-License-Identifier: MIT OR Apache-2.0
//! The table of a plan's results, from the recordings of its folder, on any machine.

use super::runs;
use super::settings::label;
use executor::{RecordingState, find_recording, plan_file};
use judge::Gate;
use plan::{Combination, Limit, PHASE, Plan, PlannedRun, Value};
use recording::Recording;
use report::{Inference, Matrix};
use stats::Analysis;
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

/// Whether this is the folder of a plan.
pub fn is_folder(path: &Path) -> bool {
    plan_file(path).is_file()
}

/// The plan as run.
pub fn text(path: &Path) -> anyhow::Result<String> {
    Ok(recording::read_text(&plan_file(path))?)
}

/// The limits of the plan in this folder.
pub fn limits(path: &Path) -> anyhow::Result<Vec<Limit>> {
    Ok(executor::read_plan(path)?.limits)
}

/// More runs than these are read for their figures alone: their confidence intervals take some
/// milliseconds a run.
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
        let plan = executor::read_plan(path)?;
        let combinations = plan.combinations()?;
        let labels: Vec<String> =
            combinations.iter().map(|combination| label(&plan, combination)).collect();
        // Phases are pooled, as repeats are.
        let mut keys: Vec<String> =
            plan.vary.iter().map(|factor| factor.key.clone()).filter(|key| key != PHASE).collect();
        for setting in plan.include.iter().flatten().filter(|setting| setting.key != PHASE) {
            if !keys.contains(&setting.key) {
                keys.push(setting.key.clone());
            }
        }
        let planned = runs(&plan, combinations.len())?;
        let mut runs = Vec::with_capacity(planned.len());
        for (place, run) in planned.iter().enumerate() {
            let recording =
                executor::recording(path, place, planned.len(), &labels[run.combination]);
            let is_done = find_recording(&recording)? == RecordingState::Done;
            runs.push((*run, is_done.then_some(recording)));
        }
        let incomplete =
            executor::incomplete(path)?.iter().map(|path| path.display().to_string()).collect();
        Ok(Begun { plan, keys, combinations, runs, incomplete })
    }

    /// What a setting is in a combination, as the plan writes it.
    pub fn value(&self, combination: usize, key: &str) -> Option<String> {
        let settings = &self.combinations[combination].settings;
        settings.iter().rfind(|setting| setting.key == key).map(|setting| setting.value.to_string())
    }
}

/// A row for each combination, its phases together.
pub fn table(path: &Path, detail: TableDetail) -> anyhow::Result<Matrix> {
    let begun = Begun::read(path)?;
    let rows = rows(&begun.combinations);
    let mut first_of_each: Vec<usize> = Vec::new();
    for (place, row) in rows.iter().enumerate() {
        if *row == first_of_each.len() {
            first_of_each.push(place);
        }
    }
    let values = first_of_each
        .iter()
        .map(|place| begun.keys.iter().map(|key| begun.value(*place, key)).collect());
    let mut matrix = Matrix::new(begun.plan.title.clone(), begun.keys.clone(), values);
    matrix.limits.clone_from(&begun.plan.limits);
    matrix.incomplete.clone_from(&begun.incomplete);
    let mut of_row: Vec<u32> = vec![0; first_of_each.len()];
    let runs = begun.runs.iter().map(|(run, recording)| {
        let row = rows[run.combination];
        of_row[row] += 1;
        // Several phases in one round are as many runs.
        let number = if first_of_each.len() == rows.len() { run.repeat } else { of_row[row] };
        (row, number, recording.as_deref())
    });
    fill(&mut matrix, runs.collect(), &|_| &begun.plan.limits, detail)?;
    Ok(matrix)
}

/// The row of each combination: those that differ in their phase alone share one.
fn rows(combinations: &[Combination]) -> Vec<usize> {
    let mut known: HashMap<Vec<(String, Value)>, usize> = HashMap::new();
    let row = |combination: &Combination| {
        let settings = combination.settings.iter().filter(|setting| setting.key != PHASE);
        let mut settings: Vec<(String, Value)> =
            settings.map(|setting| (setting.key.clone(), setting.value.clone())).collect();
        settings.sort();
        let next = known.len();
        *known.entry(settings).or_insert(next)
    };
    combinations.iter().map(row).collect()
}

/// Adds runs, each to its row, numbered within it; none: there is no recording. Where all runs of a
/// row are phases of one run, the row has the figures of all of them together. Each recording is
/// judged by the limits of its plan.
pub fn fill<'p, 'l>(
    matrix: &mut Matrix,
    runs: Vec<(usize, u32, Option<&'p Path>)>,
    limits_of: &dyn Fn(&Path) -> &'l [Limit],
    detail: TableDetail,
) -> anyhow::Result<()> {
    let are_few = runs.len() <= MAX_INFERRED;
    if detail == TableDetail::Inference && !are_few {
        matrix.inference_left_out_above = Some(MAX_INFERRED);
    }
    let phases = phases(&runs)?;
    for (row, repeat, recording) in runs {
        let limits = recording.map_or(&[][..], limits_of);
        let exact = Limit::exact_request(limits);
        match recording {
            Some(path) if !limits.is_empty() && !phases.contains_key(&row) => {
                let is_inferred = are_few && detail == TableDetail::Inference;
                let infer =
                    |analysis: &Analysis| is_inferred.then(|| Inference::from_analysis(analysis));
                let (examined, inferences) = Recording::open(path)?.examine(&exact, infer)?;
                let inferences = inferences.into_iter().flatten().collect();
                let judged = Gate::judge(limits, std::slice::from_ref(&examined)).judged;
                matrix.add_run(row, repeat, examined.recorded, inferences, judged);
            }
            Some(path) if detail == TableDetail::Inference && are_few => {
                let (recorded, inferences) =
                    Recording::open(path)?.analyse(&exact, Inference::from_analysis)?;
                matrix.add_run(row, repeat, recorded, inferences, Vec::new());
            }
            Some(path) => matrix.add(row, repeat, Recording::open(path)?.summarise()?),
            None => matrix.add_missing(row),
        }
    }
    for (row, paths) in phases {
        let limits = Limit::each_once(paths.iter().flat_map(|path| limits_of(path)));
        let exact = Limit::exact_request(&limits);
        let Some(examined) = recording::examine_pool(&paths, &exact)? else { continue };
        let judged = Gate::judge(&limits, std::slice::from_ref(&examined)).judged;
        matrix.pool(row, &examined, judged);
    }
    Ok(())
}

/// The recordings of each row whose runs are phases of one run.
fn phases<'p>(
    runs: &[(usize, u32, Option<&'p Path>)],
) -> anyhow::Result<BTreeMap<usize, Vec<&'p Path>>> {
    let mut rows: BTreeMap<usize, Vec<(&Path, Recording)>> = BTreeMap::new();
    for (row, path) in runs.iter().filter_map(|(row, _, path)| Some((*row, (*path)?))) {
        rows.entry(row).or_default().push((path, Recording::open(path)?));
    }
    let is_pool = |all: &[(&Path, Recording)]| {
        all.len() > 1 && judge::pools(all.iter().map(|(_, one)| one.document())).len() == 1
    };
    let pools = rows.into_iter().filter(|(_, all)| is_pool(all));
    Ok(pools.map(|(row, all)| (row, all.into_iter().map(|(path, _)| path).collect())).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn combinations_that_differ_in_their_phase_alone_share_a_row() {
        let text = "[measure]\nkernel = 'debian:amd64'\n[vary]\nphase = '1..3'\nload = ['none', \
                    'cpu']\n[[include]]\nload = 'cpu'\nphase = 9\n[[include]]\nload = 'net'\n";
        let plan = Plan::read(Path::new("plan.toml"), &mut |_| Ok(text.to_owned())).unwrap();
        assert_eq!(rows(&plan.combinations().unwrap()), [0, 1, 0, 1, 0, 1, 1, 2]);
    }
}
