// SPDX-License-Identifier: MIT OR Apache-2.0
//! The table of a plan's results, from the recordings of its folder, on any machine.

use super::{resumption, runs};
use crate::exit::in_full;
use crate::suggestion::command;
use anyhow::bail;
use executor::{RecordingState, find_recording, plan_file};
use judge::Gate;
use plan::{Combination, Limit, PHASE, Plan, PlannedRun, Value};
use recording::Recording;
use report::{InForce, Inference, Matrix};
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
    /// The kernel of a boot that the plan does not ask for.
    pub unplanned: Option<String>,
    /// The runs, by their places, that its machine cannot measure, and why.
    pub left_out: Vec<(usize, String)>,
}

impl Begun {
    /// Reads the plan of a folder, and finds which of its runs are done.
    pub fn read(path: &Path) -> anyhow::Result<Self> {
        let plan = executor::read_plan(path)?;
        let combinations = plan.combinations()?;
        let labels: Vec<String> =
            combinations.iter().map(|combination| plan.label(combination)).collect();
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
            let is_done = match find_recording(&recording)? {
                RecordingState::Done => true,
                RecordingState::Nothing | RecordingState::Partial => false,
                RecordingState::Damaged => {
                    let resume = command(&[&"run", &"--resume", &path]);
                    bail!(
                        "{}. To measure that run again: {resume}",
                        in_full(&executor::damage(&recording))
                    );
                }
            };
            runs.push((*run, is_done.then_some(recording)));
        }
        let incomplete =
            executor::incomplete(path)?.iter().map(|path| path.display().to_string()).collect();
        let unplanned = executor::unplanned_kernel(path);
        let left_out = executor::left_out(path);
        // Of a boot that the plan does not ask for nothing is missing that it cannot measure.
        if unplanned.is_some() {
            let mut places = 0..;
            runs.retain(|(_, recording)| {
                let place = places.next().unwrap_or(0);
                recording.is_some() || !left_out.iter().any(|(known, _)| *known == place)
            });
        }
        Ok(Begun { plan, keys, combinations, runs, incomplete, unplanned, left_out })
    }

    /// Whether the machine cannot measure the run at this place, for which the plan asks.
    pub fn is_left_out(&self, place: usize) -> bool {
        self.unplanned.is_none() && self.left_out.iter().any(|(known, _)| *known == place)
    }

    /// What a setting is in a combination, as the plan writes it.
    pub fn value(&self, combination: usize, key: &str) -> Option<String> {
        let settings = &self.combinations[combination].settings;
        settings.iter().rfind(|setting| setting.key == key).map(|setting| setting.value.to_string())
    }
}

/// A row for each combination, its phases together, and one more for each other set of settings
/// that was in force in its runs.
pub fn table(path: &Path, detail: TableDetail) -> anyhow::Result<Matrix> {
    let begun = Begun::read(path)?;
    let rows = rows(&begun.combinations);
    let in_force = |(_, recording): &(_, Option<PathBuf>)| -> anyhow::Result<_> {
        let Some(path) = recording else { return Ok(None) };
        Ok(Some(report::in_force(Recording::open(path)?.document())))
    };
    let in_force = begun.runs.iter().map(in_force).collect::<anyhow::Result<Vec<_>>>()?;
    let lines = Lines::new(&begun, &rows, &in_force);
    let mut matrix =
        Matrix::new(begun.plan.title.clone(), lines.keys.clone(), lines.values.into_iter());
    matrix.limits.clone_from(&begun.plan.limits);
    matrix.incomplete.clone_from(&begun.incomplete);
    matrix.unplanned.extend(begun.unplanned.clone());
    matrix.left_out = begun.left_out.iter().map(|(_, why)| why.clone()).collect();
    matrix.resumption = resumption(path, &begun).unwrap_or_default();
    // Several phases in one round are as many runs, and what was not alike is in several lines.
    let is_numbered = lines.count == begun.combinations.len();
    let mut of_line: Vec<u32> = vec![0; lines.count];
    let runs = begun.runs.iter().zip(&lines.of_run).enumerate();
    let runs = runs.map(|(place, ((run, recording), line))| {
        of_line[*line] += 1;
        let number = if is_numbered { run.repeat } else { of_line[*line] };
        let made = match recording {
            Some(recording) => Made::Recorded(recording),
            None if begun.is_left_out(place) => Made::LeftOut,
            None => Made::Missing,
        };
        (*line, number, made)
    });
    fill(&mut matrix, runs.collect(), &|_| &begun.plan.limits, detail)?;
    Ok(matrix)
}

/// What there is of a run.
#[derive(Clone, Copy)]
pub enum Made<'p> {
    Recorded(&'p Path),
    /// Nothing: the machine cannot measure it.
    LeftOut,
    /// Nothing yet.
    Missing,
}

impl<'p> Made<'p> {
    const fn recording(self) -> Option<&'p Path> {
        match self {
            Made::Recorded(path) => Some(path),
            Made::LeftOut | Made::Missing => None,
        }
    }
}

/// What was in force in a run; none where it has no recording.
type Known = Option<Vec<InForce>>;

/// The lines of a table. What was measured with ordinary scheduling is no repeat of what was
/// measured in real time, whatever both asked for.
struct Lines {
    keys: Vec<String>,
    /// Of each line, by key.
    values: Vec<Vec<Option<String>>>,
    /// The line of each run.
    of_run: Vec<usize>,
    count: usize,
}

impl Lines {
    fn new(begun: &Begun, rows: &[usize], in_force: &[Known]) -> Lines {
        // Of each row: its first combination, and what was in force in its runs, each once.
        let mut all: Vec<(usize, Vec<&[InForce]>)> = Vec::new();
        for (combination, row) in rows.iter().enumerate() {
            if *row == all.len() {
                all.push((combination, Vec::new()));
            }
        }
        let runs = || begun.runs.iter().map(|(run, _)| rows[run.combination]).zip(in_force);
        for (row, known) in runs() {
            let of_row = &mut all[row].1;
            let known = known.as_deref().filter(|known| !of_row.contains(known));
            of_row.extend(known);
        }
        let mut keys = begun.keys.clone();
        let differing = all.iter().flat_map(|(_, known)| differing(known));
        for name in differing {
            if !keys.iter().any(|key| key == name) {
                keys.push(name.to_owned());
            }
        }
        let value = |combination: usize, known: &[InForce], key: &String| {
            let is_planned = begun.keys.contains(key);
            let refused = known.iter().find(|one| one.name == key);
            let refused = refused.filter(|one| !(is_planned && one.is_as_asked));
            refused.map(|one| one.value.clone()).or_else(|| begun.value(combination, key))
        };
        let (mut values, mut first_line) = (Vec::new(), Vec::new());
        for (row, (combination, known)) in all.iter().enumerate() {
            first_line.push(values.len());
            // None of its runs is one of this boot.
            if runs().all(|(of_run, _)| of_run != row) {
                continue;
            }
            let nothing: &[&[InForce]] = &[&[]];
            let known = if known.is_empty() { nothing } else { known.as_slice() };
            let line = |known: &&[InForce]| {
                keys.iter().map(|key| value(*combination, known, key)).collect::<Vec<_>>()
            };
            values.extend(known.iter().map(line));
        }
        let line = |(row, known): (usize, &Known)| {
            let place = known
                .as_deref()
                .and_then(|known| all[row].1.iter().position(|other| *other == known));
            first_line[row] + place.unwrap_or(0)
        };
        let of_run = runs().map(line).collect();
        let count = values.len();
        Lines { keys, values, of_run, count }
    }
}

/// The settings that were not the same in all runs of a row.
fn differing(known: &[&[InForce]]) -> Vec<&'static str> {
    let Some((first, others)) = known.split_first() else { return Vec::new() };
    let is_varied = |one: &&InForce| others.iter().any(|other| !other.contains(one));
    first.iter().filter(is_varied).map(|one| one.name).collect()
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

/// Adds runs, each to its row, numbered within it. Where all runs of a
/// row are phases of one run, the row has the figures of all of them together. Each recording is
/// judged by the limits of its plan.
pub fn fill<'p, 'l>(
    matrix: &mut Matrix,
    runs: Vec<(usize, u32, Made<'p>)>,
    limits_of: &dyn Fn(&Path) -> &'l [Limit],
    detail: TableDetail,
) -> anyhow::Result<()> {
    let are_few = runs.len() <= MAX_INFERRED;
    if detail == TableDetail::Inference && !are_few {
        matrix.inference_left_out_above = Some(MAX_INFERRED);
    }
    let phases = phases(&runs)?;
    for (row, repeat, made) in runs {
        let limits = made.recording().map_or(&[][..], limits_of);
        let exact = Limit::exact_request(limits);
        match made {
            Made::Recorded(path) if !limits.is_empty() && !phases.contains_key(&row) => {
                let is_inferred = are_few && detail == TableDetail::Inference;
                let infer =
                    |analysis: &Analysis| is_inferred.then(|| Inference::from_analysis(analysis));
                let (examined, inferences) = Recording::open(path)?.examine(&exact, infer)?;
                let inferences = inferences.into_iter().flatten().collect();
                let judged = Gate::judge(limits, std::slice::from_ref(&examined)).judged;
                matrix.add_run(row, repeat, examined.recorded, inferences, judged);
            }
            Made::Recorded(path) if detail == TableDetail::Inference && are_few => {
                let (recorded, inferences) =
                    Recording::open(path)?.analyse(&exact, Inference::from_analysis)?;
                matrix.add_run(row, repeat, recorded, inferences, Vec::new());
            }
            Made::Recorded(path) => matrix.add(row, repeat, Recording::open(path)?.summarise()?),
            Made::LeftOut => matrix.add_left_out(row),
            Made::Missing => matrix.add_missing(row),
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
fn phases<'p>(runs: &[(usize, u32, Made<'p>)]) -> anyhow::Result<BTreeMap<usize, Vec<&'p Path>>> {
    let mut rows: BTreeMap<usize, Vec<(&Path, Recording)>> = BTreeMap::new();
    for (row, path) in runs.iter().filter_map(|(row, _, made)| Some((*row, made.recording()?))) {
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

    /// Of three repeats with SCHED_FIFO one that got SCHED_OTHER was pooled with the others.
    #[test]
    fn runs_with_other_scheduling_have_a_line_of_their_own() {
        let text = "[order]\nrepeat = 3\n[vary]\nload = ['none', 'cpu']\n";
        let plan = Plan::read(Path::new("plan.toml"), &mut |_| Ok(text.to_owned())).unwrap();
        let combinations = plan.combinations().unwrap();
        let run = |combination, repeat| (PlannedRun { combination, repeat }, None);
        let runs = vec![run(0, 1), run(1, 1), run(0, 2), run(1, 2), run(0, 3)];
        let keys = vec!["load".to_owned()];
        let (incomplete, unplanned, left_out) = (Vec::new(), None, Vec::new());
        let begun = Begun { plan, keys, combinations, runs, incomplete, unplanned, left_out };
        let known = |policy: &str, is_as_asked| {
            let value = policy.to_owned();
            Some(vec![InForce { name: "policy", value, is_as_asked }])
        };
        let (fifo, other) = (known("fifo", true), known("other (asked for: fifo)", false));
        let in_force = [fifo.clone(), fifo.clone(), other.clone(), None, fifo.clone()];
        let lines = Lines::new(&begun, &[0, 1], &in_force);
        assert_eq!(lines.keys, ["load", "policy"]);
        let values =
            |load: &str, policy: &str| vec![Some(load.to_owned()), Some(policy.to_owned())];
        let expected = [
            values("none", "fifo"),
            values("none", "other (asked for: fifo)"),
            values("cpu", "fifo"),
        ];
        assert_eq!(lines.values, expected);
        assert_eq!(lines.of_run, [0, 2, 1, 2, 0]);
        // What all runs of a combination share divides nothing.
        let alike = Lines::new(&begun, &[0, 1], &[other.clone(), fifo, other.clone(), None, other]);
        assert_eq!((alike.keys, alike.of_run), (vec!["load".to_owned()], vec![0, 1, 0, 1, 0]));
    }
}
