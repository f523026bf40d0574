// SPDX-License-Identifier: MIT OR Apache-2.0
//! Recordings and folders of plans, named together and evaluated as one: two boots of a board are
//! two folders, and the kernel is what they differ in. Whatever the recordings differ in becomes a
//! factor, as if one plan had varied it.

use super::named::{Boots, Named, each_once, named, same};
use super::plan_limits::PlanLimits;
use super::run::{self, Begun, Made};
use crate::exit::Failure;
use plan::{DEFAULT_PROBE, PHASE};
use recording::Recording;
use report::{BootsMissing, Matrix, Resumption, SETTINGS, normalised, settings_of};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The factor that is named even where it has one value: what people boot for.
const ALWAYS: &str = "kernel";

/// Everything that was named.
pub struct Joint {
    title: Option<String>,
    /// What is varied.
    pub keys: Vec<String>,
    /// Grouped as the factors order them.
    pub rows: Vec<Row>,
    limits: PlanLimits,
    incomplete: Vec<String>,
    unplanned: BTreeSet<String>,
    are_several_plans: bool,
    boots_missing: BootsMissing,
    resumption: Resumption,
    left_out: Vec<String>,
}

/// The table of what was named, a folder of a plan among it.
pub fn table(paths: &[PathBuf], detail: run::TableDetail) -> Result<Matrix, Failure> {
    match paths {
        [folder] if run::is_folder(folder) => Ok(run::table(folder, detail)?),
        _ => Joint::read(paths)?.matrix(detail),
    }
}

/// One combination of what is varied.
pub struct Row {
    /// The value of each factor; none where it is not known.
    pub values: Vec<Option<String>>,
    pub recordings: Vec<PathBuf>,
    /// Runs of a plan that have no recording.
    not_made: Vec<Made<'static>>,
}

/// A run that was named, by itself or with its folder.
struct Entry {
    settings: BTreeMap<String, String>,
    recording: Option<PathBuf>,
    /// Whether its machine cannot measure it.
    is_left_out: bool,
}

/// The kernels that plans were measured on.
#[derive(Default)]
struct Kernels {
    /// As each plan asks for it, by its text.
    asked_for: BTreeMap<String, BTreeSet<String>>,
    /// As a plan, which is named first, does not.
    unplanned: BTreeSet<(String, String)>,
}

impl Kernels {
    /// Adds a folder's; `unplanned`: its kernel, if its plan does not ask for that boot.
    fn add(&mut self, plan: &str, runs: &[Entry], unplanned: Option<&String>) {
        let asked_for = self.asked_for.entry(plan.to_owned()).or_default();
        match unplanned {
            Some(kernel) => drop(self.unplanned.insert((plan.to_owned(), kernel.clone()))),
            None => asked_for.extend(runs.iter().filter_map(Entry::kernel)),
        }
    }

    /// Those that no other plan asks for either.
    fn unplanned(&self) -> BTreeSet<String> {
        let is_of_another = |plan: &String, kernel: &String| {
            self.asked_for.iter().any(|(other, kernels)| other != plan && kernels.contains(kernel))
        };
        let unplanned = self.unplanned.iter().filter(|(plan, kernel)| !is_of_another(plan, kernel));
        unplanned.map(|(_, kernel)| kernel.clone()).collect()
    }
}

impl Entry {
    /// That it was measured on; none of one without a recording.
    fn kernel(&self) -> Option<String> {
        self.recording.as_ref().and_then(|_| self.settings.get(ALWAYS)).cloned()
    }
}

impl Joint {
    /// Reads what was named, without samples.
    pub fn read(paths: &[PathBuf]) -> Result<Self, Failure> {
        let mut entries = Vec::new();
        let mut titles = Vec::new();
        let (mut incomplete, mut left_out) = (Vec::new(), Vec::new());
        let mut kernels = Kernels::default();
        let mut missing = BootsMissing::default();
        let (mut known, mut not_resumed) = (BTreeSet::new(), Vec::new());
        for path in each_once(paths) {
            let mut boots = Boots::default();
            for one in named(path)? {
                match one {
                    Named::Recording(path) => {
                        let settings = settings(&path)?;
                        let recording = Some(path);
                        entries.push(Entry { settings, recording, is_left_out: false });
                        titles.push(None);
                    }
                    Named::Plan(path) => {
                        let begun = Begun::read(&path)?;
                        if !known.insert(same(&path)) {
                            boots.add(path, &begun);
                            continue;
                        }
                        let runs = of_plan(&begun)?;
                        not_resumed.extend(run::resumption(&path, &begun));
                        let seed = begun.plan.order.seed.unwrap_or_default();
                        let text = run::in_each_boot(&begun.plan, seed);
                        kernels.add(&text, &runs, begun.unplanned.as_ref());
                        boots.add(path, &begun);
                        entries.extend(runs);
                        titles.push(begun.plan.title);
                        incomplete.extend(begun.incomplete);
                        left_out.extend(begun.left_out.into_iter().map(|(_, why)| why));
                    }
                }
            }
            for one in boots.missing(path) {
                missing.runs += one.runs;
                let boot = one.boot.to_string();
                if !missing.boots.contains(&boot) {
                    missing.boots.push(boot);
                }
            }
        }
        let mut known = BTreeSet::new();
        entries
            .retain(|entry| entry.recording.as_deref().is_none_or(|path| known.insert(same(path))));
        titles.dedup();
        let title = if titles.len() == 1 { titles.pop().flatten() } else { None };
        let keys = varied(&entries);
        let rows = rows(&keys, entries);
        // Whatever some of them lack, others go on.
        let can_resume = not_resumed.contains(&Resumption::Possible);
        let not_resumed = not_resumed.into_iter().find(|_| !can_resume);
        Ok(Joint {
            title,
            keys,
            rows,
            limits: PlanLimits::read(paths)?,
            incomplete,
            unplanned: kernels.unplanned(),
            are_several_plans: kernels.asked_for.len() > 1,
            boots_missing: missing,
            resumption: not_resumed.unwrap_or_default(),
            left_out,
        })
    }

    /// The table of all of it.
    pub fn matrix(&self, detail: run::TableDetail) -> Result<Matrix, Failure> {
        let values = self.rows.iter().map(|row| row.values.clone());
        let mut matrix = Matrix::new(self.title.clone(), self.keys.clone(), values);
        matrix.limits = self.limits.all();
        if self.limits.differ() {
            matrix.limits_of = self.limits.sources();
        }
        matrix.incomplete.clone_from(&self.incomplete);
        matrix.unplanned.clone_from(&self.unplanned);
        matrix.are_several_plans = self.are_several_plans;
        matrix.boots_missing.clone_from(&self.boots_missing);
        matrix.resumption.clone_from(&self.resumption);
        matrix.left_out.clone_from(&self.left_out);
        let repeats = self.rows.iter().enumerate().flat_map(|(place, row)| {
            let recordings = row
                .recordings
                .iter()
                .zip(1_u32..)
                .map(move |(path, repeat)| (place, repeat, Made::Recorded(path)));
            let not_made = row.not_made.iter().map(move |made| (place, 0, *made));
            recordings.chain(not_made)
        });
        run::fill(&mut matrix, repeats.collect(), &|recording| self.limits.of(recording), detail)?;
        Ok(matrix)
    }

    /// Sets of rows that differ in one factor, the first that is varied; and that factor. A setting
    /// that follows from its value, as a boot's arguments may from its kernel, divides no set:
    /// whoever compares says that it differs too.
    ///
    /// Of a kernel with a co-kernel the threads on it stand first beside those of other kernels.
    /// All that ran on Linux, also beside a co-kernel, has sets of its own.
    pub fn alike(&self) -> Option<(&str, Vec<Alike<'_>>)> {
        let rows: Vec<&Row> = self.rows.iter().filter(|row| !row.recordings.is_empty()).collect();
        let stages = self.stages();
        if !rows.iter().any(|row| stages.is_beside(row, &rows)) {
            return self.alike_of(&rows, &stages);
        }
        let (best, linux): (Vec<&Row>, Vec<&Row>) = (
            rows.iter().copied().filter(|row| stages.is_best(row, &rows)).collect(),
            rows.iter().copied().filter(|row| !stages.is_on_core(row)).collect(),
        );
        let (factor, mut sets) = self.alike_of(&best, &stages)?;
        let on_linux = self
            .alike_of(&linux, &stages)
            .filter(|(known, _)| *known == factor)
            .map(|(_, sets)| sets);
        let mut on_linux = on_linux.unwrap_or_default();
        for (sets, on) in [(&mut sets, ON_CORES), (&mut on_linux, "on Linux")] {
            sets.iter_mut()
                .for_each(|set| set.common = format!("{on} {}", set.common).trim_end().to_owned());
        }
        sets.extend(on_linux);
        Some((factor, sets))
    }

    fn place(&self, key: &str) -> Option<usize> {
        self.keys.iter().position(|known| known == key)
    }

    /// The same sets by each factor that is varied, of a co-kernel's threads and of those on Linux
    /// alike.
    pub fn alike_by_each(&self) -> Vec<(&str, Vec<Alike<'_>>)> {
        let rows: Vec<&Row> = self.rows.iter().filter(|row| !row.recordings.is_empty()).collect();
        let stages = self.stages();
        let varied = (0..self.keys.len()).filter(|place| is_varied(&rows, *place));
        varied.map(|factor| self.alike_in(factor, &rows, &stages)).collect()
    }

    fn stages(&self) -> Stages {
        Stages { probe: self.place("probe"), core: self.place("co-kernel") }
    }

    fn alike_of<'j>(
        &'j self,
        rows: &[&'j Row],
        stages: &Stages,
    ) -> Option<(&'j str, Vec<Alike<'j>>)> {
        let factor = (0..self.keys.len()).find(|place| is_varied(rows, *place))?;
        Some(self.alike_in(factor, rows, stages))
    }

    fn alike_in<'j>(
        &'j self,
        factor: usize,
        rows: &[&'j Row],
        stages: &Stages,
    ) -> (&'j str, Vec<Alike<'j>>) {
        let follows = |place: &usize| {
            let differ = |a: &Row, b: &Row| {
                a.values[factor] == b.values[factor] && a.values[*place] != b.values[*place]
            };
            !rows.iter().any(|a| rows.iter().any(|b| differ(a, b)))
        };
        let others: Vec<usize> = (0..self.keys.len())
            .filter(|place| *place != factor && is_varied(rows, *place) && !follows(place))
            .collect();
        let mut sets: Vec<Alike<'_>> = Vec::new();
        for row in rows {
            let shared = others.iter().filter_map(|place| {
                Some(format!("{}={}", self.keys[*place], row.values[*place].as_ref()?))
            });
            let common = shared.collect::<Vec<_>>().join(" ");
            let own = (row.values[factor].as_deref().unwrap_or("not known"), *row);
            match sets.iter_mut().find(|known| known.common == common) {
                Some(known) => known.rows.push(own),
                None => sets.push(Alike { common, rows: vec![own], of_cores: false }),
            }
        }
        for set in &mut sets {
            let on_core = set.rows.iter().filter(|(_, row)| stages.is_on_core(row)).count();
            set.of_cores = on_core > 0 && factor != stages.probe.unwrap_or(usize::MAX);
        }
        (&self.keys[factor], sets)
    }
}

/// Whether these rows differ in the factor at this place.
fn is_varied(rows: &[&Row], place: usize) -> bool {
    rows.iter().any(|row| row.values[place] != rows[0].values[place])
}

/// What a set is called in which each kernel stands with the threads on its co-kernel.
const ON_CORES: &str = "on the co-kernel where there is one";

/// Where among the values of rows it stands on what threads ran.
struct Stages {
    probe: Option<usize>,
    core: Option<usize>,
}

impl Stages {
    fn is_on_core(&self, row: &Row) -> bool {
        self.core.and_then(|place| row.values[place].as_deref()).is_some_and(|core| core != "none")
    }

    fn is_on_linux(&self, row: &Row) -> bool {
        let is_cyclic =
            self.probe.is_none_or(|place| row.values[place].as_deref() == Some(DEFAULT_PROBE));
        is_cyclic && !self.is_on_core(row)
    }

    /// Whether this is the Linux beside a co-kernel on which threads ran too, all else equal.
    fn is_beside(&self, row: &Row, all: &[&Row]) -> bool {
        let is_stage = |place: usize| Some(place) == self.probe || Some(place) == self.core;
        let elsewhere = |row: &Row| -> Vec<Option<String>> {
            row.values
                .iter()
                .enumerate()
                .filter(|(place, _)| !is_stage(*place))
                .map(|(_, value)| value.clone())
                .collect()
        };
        self.is_on_linux(row)
            && all.iter().any(|core| self.is_on_core(core) && elsewhere(core) == elsewhere(row))
    }

    fn is_best(&self, row: &Row, all: &[&Row]) -> bool {
        self.is_on_core(row) || (self.is_on_linux(row) && !self.is_beside(row, all))
    }
}

/// Rows that differ in one factor.
pub struct Alike<'j> {
    /// Other settings, as people read them; empty where there is one set.
    pub common: String,
    /// The factor's value, and the row.
    pub rows: Vec<(&'j str, &'j Row)>,
    /// Whether threads of a co-kernel are among them: their probes differ from those of others as
    /// their kernels do.
    pub of_cores: bool,
}

fn settings(path: &Path) -> Result<BTreeMap<String, String>, Failure> {
    let recording = Recording::open(path)?;
    Ok(settings_of(recording.document())
        .into_iter()
        .map(|(key, value)| (key.to_owned(), value))
        .collect())
}

/// The runs of a plan, by its combinations: a factor's first value is the first that is written,
/// whichever run was made first. Of a run without a recording it is known what the plan says, and
/// what all others have in common.
fn of_plan(begun: &Begun) -> Result<Vec<Entry>, Failure> {
    let mut entries = Vec::new();
    let mut runs: Vec<_> = begun.runs.iter().enumerate().collect();
    runs.sort_by_key(|(_, (run, _))| run.combination);
    for (place, (run, recording)) in runs {
        let planned = begun.combinations[run.combination].settings.iter();
        // Phases are pooled, whatever a plan says of them.
        let planned = planned.filter(|setting| setting.key != PHASE);
        let planned = planned.map(|setting| {
            (setting.key.clone(), normalised(&setting.key, &setting.value.to_string()))
        });
        let mut known: BTreeMap<String, String> = planned.collect();
        if let Some(path) = recording {
            known.extend(settings(path)?);
        }
        let is_left_out = recording.is_none() && begun.is_left_out(place);
        entries.push(Entry { settings: known, recording: recording.clone(), is_left_out });
    }
    let mut common: Option<BTreeMap<String, String>> = None;
    for entry in entries.iter().filter(|entry| entry.recording.is_some()) {
        match &mut common {
            None => common = Some(entry.settings.clone()),
            Some(common) => common.retain(|key, value| entry.settings.get(key) == Some(value)),
        }
    }
    for entry in entries.iter_mut().filter(|entry| entry.recording.is_none()) {
        for (key, value) in common.iter().flatten() {
            entry.settings.entry(key.clone()).or_insert_with(|| value.clone());
        }
    }
    Ok(entries)
}

/// The settings that have more than one value: those that recordings know, then whatever else plans
/// set.
fn varied(entries: &[Entry]) -> Vec<String> {
    let mut keys: Vec<String> = SETTINGS.map(str::to_owned).into();
    for key in entries.iter().flat_map(|entry| entry.settings.keys()) {
        if !keys.contains(key) {
            keys.push(key.clone());
        }
    }
    let first = |key: &str| entries.first().and_then(|entry| entry.settings.get(key));
    let is_varied =
        |key: &String| entries.iter().any(|entry| entry.settings.get(key) != first(key));
    keys.retain(|key| is_varied(key) || (key == ALWAYS && first(key).is_some()));
    keys
}

/// The rows, each factor's values in the order in which they were first met.
fn rows(keys: &[String], entries: Vec<Entry>) -> Vec<Row> {
    let mut met: Vec<Vec<Option<String>>> = vec![Vec::new(); keys.len()];
    let mut rows: BTreeMap<Vec<usize>, Row> = BTreeMap::new();
    for entry in entries {
        let values: Vec<Option<String>> =
            keys.iter().map(|key| entry.settings.get(key).cloned()).collect();
        let place = |(value, met): (&Option<String>, &mut Vec<Option<String>>)| {
            met.iter().position(|known| known == value).unwrap_or_else(|| {
                met.push(value.clone());
                met.len() - 1
            })
        };
        let at = values.iter().zip(&mut met).map(place).collect();
        let row =
            rows.entry(at).or_insert_with(|| Row { values, recordings: vec![], not_made: vec![] });
        match entry.recording {
            Some(path) => row.recordings.push(path),
            None => {
                row.not_made.push(if entry.is_left_out { Made::LeftOut } else { Made::Missing })
            }
        }
    }
    rows.into_values().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_are_compared_by_their_co_kernels_and_then_on_linux() {
        let row = |values: [&str; 3]| Row {
            values: values.map(|value| Some(value.to_owned())).to_vec(),
            recordings: vec![PathBuf::from(values.join("-"))],
            not_made: Vec::new(),
        };
        let joint = |rows: &[[&str; 3]]| Joint {
            title: None,
            keys: ["kernel", "probe", "co-kernel"].map(str::to_owned).to_vec(),
            rows: rows.iter().copied().map(row).collect(),
            limits: PlanLimits::default(),
            incomplete: Vec::new(),
            unplanned: BTreeSet::new(),
            are_several_plans: false,
            boots_missing: BootsMissing::default(),
            resumption: Resumption::default(),
            left_out: Vec::new(),
        };
        let sets = |joint: &Joint| -> Vec<(String, Vec<String>, bool)> {
            let (factor, sets) = joint.alike().unwrap();
            assert_eq!(factor, "kernel");
            let probe = |(_, row): &(&str, &Row)| {
                row.values[..2].iter().flatten().cloned().collect::<Vec<_>>().join("/")
            };
            sets.iter()
                .map(|set| (set.common.clone(), set.rows.iter().map(probe).collect(), set.of_cores))
                .collect()
        };
        let all = joint(&[
            ["vanilla", "cyclic", "none"],
            ["rt", "cyclic", "none"],
            ["both", "cobalt", "Cobalt 3.3.1"],
            ["both", "cyclic", "none"],
        ]);
        let names =
            |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        assert_eq!(
            sets(&all),
            [
                (ON_CORES.to_owned(), names(&["vanilla/cyclic", "rt/cyclic", "both/cobalt"]), true),
                (
                    "on Linux".to_owned(),
                    names(&["vanilla/cyclic", "rt/cyclic", "both/cyclic"]),
                    false
                ),
            ]
        );
        let without = joint(&[["vanilla", "cyclic", "none"], ["rt", "cyclic", "none"]]);
        assert_eq!(
            sets(&without),
            [(String::new(), names(&["vanilla/cyclic", "rt/cyclic"]), false)]
        );
    }
}
