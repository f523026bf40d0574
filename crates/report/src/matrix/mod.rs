// SPDX-License-Identifier: MIT OR Apache-2.0
//! A plan's results: a row for each combination of its factors, repeats pooled.
//!
//! Pooled means: as if all repeats had been one run. What the repeats differ in is shown beside it,
//! as the smallest and the largest of their maxima. Recordings are added one by one and let go, but
//! for those with the latest wake-ups that a page is to draw, so a plan of thousands needs no more
//! memory than its histograms.

mod by;
mod cell_stats;
mod conditions;
mod drawing;
mod heat;
mod heat_svg;
mod joined;
#[cfg(test)]
mod matrix_tests;
mod page;
#[cfg(test)]
mod page_tests;
mod published;
mod settings;
mod stages;
mod table;
mod values;
mod verdict;

pub use by::AlikeRows;
pub use published::{Published, PublishedError};
pub use settings::{InForce, SETTINGS, in_force, normalised, settings_of};

use crate::alike::{each_once, grouped};
use crate::charts::options::ChartOptions;
use crate::format::list;
use crate::format::{self, count, counted};
use crate::gate::lacking;
use crate::language::{InEach, texts, tr};
use crate::overview::Overview;
use crate::phases;
use crate::sections::caveats;
use crate::sections::co_kernel;
use crate::sections::columns::{Measured, Probes, judged_name};
use crate::sections::grouped_warnings;
use crate::sections::inference::Inference;
use crate::sections::lab;
use crate::sections::time_kind::TimeKind;
use crate::warnings::warning_text;
use cell_stats::CellStats;
use conditions::Conditions;
use judge::{Judged, Verdict};
use model::{CoKernel, Examined, Quantity, Recorded, Warning};
use plan::Limit;
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap};
use std::fmt::Display;
use std::path::PathBuf;
use table::Signs;

/// Combinations that a note names.
const MAX_NAMED: usize = 4;
/// Reasons that are listed why a limit is inconclusive.
const MAX_REASONS: usize = 3;
/// Kinds of caveats that are listed.
const MAX_CAVEATS: usize = 8;
/// Recordings that are kept to be drawn: tens of MB at most.
const MAX_RETAINED: usize = 256;

/// All combinations of a plan.
#[derive(Debug, Default)]
pub struct Matrix {
    title: Option<String>,
    /// Kernels of boots that were measured and that the plan does not ask for; of several plans,
    /// none of them.
    pub unplanned: BTreeSet<String>,
    pub are_several_plans: bool,
    factors: Vec<Factor>,
    /// Places of the factors that take more than one value.
    varied: Vec<usize>,
    rows: Vec<CellStats>,
    /// What the plan wants its figures to stay below; of several plans, the limits of all of them.
    pub limits: Vec<Limit>,
    /// Of several plans whose limits differ, those of each, by its file.
    pub limits_of: Vec<(PathBuf, Vec<Limit>)>,
    /// How its charts are drawn.
    pub options: ChartOptions,
    /// Published figures to compare with.
    pub published: Option<Published>,
    /// Recordings of runs that did not come to their end: in no row, and named.
    pub incomplete: Vec<String>,
    /// Boots that the plan asks for and nobody has made: in no row, and named.
    pub boots_missing: BootsMissing,
    /// Whether the other missing runs can be made here.
    pub resumption: Resumption,
    /// Why runs were left out, for each of them.
    pub left_out: Vec<String>,
    /// Confidence intervals were not computed, because there are more than so many.
    pub inference_left_out_above: Option<usize>,
    /// What all its runs measure.
    measured: Option<Measured>,
    probes: Probes,
    /// What the ns are, for figures from the lab, each once with the rows it is true of.
    times: InEach<Vec<(String, BTreeSet<usize>)>>,
    /// The co-kernels that threads ran on, each once with the rows it is true of.
    cores: Vec<(CoKernel, BTreeSet<usize>)>,
    /// That real-time rights were lacking, in the first run that says so.
    denied: Option<Warning>,
    conditions: InEach<Conditions>,
    /// Those with the latest wake-ups.
    top_runs: Vec<TopRun>,
}

/// Boots of a plan that nobody has made.
#[derive(Clone, Debug, Default)]
pub struct BootsMissing {
    /// As the plan asks for them: `kernel=6.1.0-rt append=nohz_full=2`.
    pub boots: Vec<String>,
    /// Their runs.
    pub runs: usize,
}

/// What resuming a plan would do about its missing runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Resumption {
    /// It would make some of them.
    #[default]
    Possible,
    /// It would make none of them: why.
    Lacks(String),
}

/// Some of these names, and how many more there are.
fn some(mut names: impl Iterator<Item = String>, between: &str) -> String {
    let mut named: Vec<String> = names.by_ref().take(MAX_NAMED).collect();
    let more = names.count();
    named.extend((more > 0).then(|| tr!(n_more, n = count(more as u64))));
    named.join(between)
}

/// A factor, and its values in the plan's order; none where a combination does not say.
#[derive(Debug, Serialize)]
struct Factor {
    name: String,
    values: Vec<Option<String>>,
}

/// A recording that may be drawn.
#[derive(Debug)]
struct TopRun {
    row: usize,
    /// From 1.
    repeat: u32,
    recorded: Recorded,
    inferences: Vec<Inference>,
}

impl TopRun {
    /// The largest latency, ns.
    fn max(&self) -> Option<i64> {
        self.recorded
            .threads
            .iter()
            .filter_map(|thread| thread.latency_with_skipped.map(|summary| summary.max))
            .max()
    }
}

impl Matrix {
    /// With the plan's title, the factors' names in order, and for each combination, in the plan's
    /// order, their values.
    pub fn new(
        title: Option<String>,
        factors: Vec<String>,
        combinations: impl Iterator<Item = Vec<Option<String>>>,
    ) -> Self {
        let mut factors: Vec<Factor> =
            factors.into_iter().map(|name| Factor { name, values: Vec::new() }).collect();
        let mut known: Vec<HashMap<Option<String>, usize>> =
            factors.iter().map(|_| HashMap::new()).collect();
        let mut at = |values: Vec<Option<String>>| -> Vec<usize> {
            let places = values.into_iter().zip(&mut factors).zip(&mut known).map(
                |((value, factor), known)| {
                    *known.entry(value.clone()).or_insert_with(|| {
                        factor.values.push(value);
                        factor.values.len() - 1
                    })
                },
            );
            places.collect()
        };
        let rows = combinations.map(|values| CellStats::new(at(values))).collect();
        let varied =
            (0..factors.len()).filter(|factor| factors[*factor].values.len() > 1).collect();
        Matrix { title, factors, varied, rows, ..Matrix::default() }
    }

    /// The plan's title, which may name kernels that were not measured: with those that it does not
    /// ask for, whether it has a title or not.
    fn title(&self) -> Option<String> {
        if self.unplanned.is_empty() {
            return self.title.clone();
        }
        let untitled = if self.are_several_plans { texts::several_plans } else { texts::a_plan };
        let title = self.title.as_deref().unwrap_or_else(|| untitled.said());
        let kernels: Vec<&str> = self.unplanned.iter().map(String::as_str).collect();
        let kernels = kernels.join(texts::comma.said());
        Some(if self.are_several_plans {
            tr!(title_of_unplanned_by_any, title, kernels)
        } else {
            tr!(title_of_unplanned, title, kernels)
        })
    }

    /// The value that a factor has in a row; none where the combination does not say.
    fn value(&self, row: &CellStats, factor: usize) -> Option<&str> {
        self.factors[factor].values[row.at[factor]].as_deref()
    }

    /// The same as a table shows it: a policy without priority has none.
    fn shown_value(&self, row: &CellStats, factor: usize) -> Option<&str> {
        let is_prio = self.factors[factor].name == "prio";
        self.value(row, factor).filter(|value| !(is_prio && *value == "none"))
    }

    /// What all its runs measure.
    fn measured(&self) -> Measured {
        self.measured.unwrap_or_default()
    }

    /// Adds a repeat, numbered from 1, to a row.
    pub fn add(&mut self, row: usize, repeat: u32, recorded: Recorded) {
        self.add_run(row, repeat, recorded, Vec::new(), Vec::new());
    }

    /// The same, with its threads' confidence intervals and tail, and what became of each of the
    /// limits in it, as a gate judges.
    pub fn add_run(
        &mut self,
        row: usize,
        repeat: u32,
        recorded: Recorded,
        inferences: Vec<Inference>,
        judged: Vec<Judged>,
    ) {
        self.rows[row].judge(judged);
        let one = [Overview::new(&recorded)];
        let is_new = self.rows[row].add(&one[0]);
        self.measured =
            self.measured.into_iter().chain([Measured::from_overviews(&one)]).reduce(Measured::and);
        self.probes.add(one[0].document());
        self.conditions.each(|conditions| conditions.add(&one[0]));
        if let Some(core) = co_kernel::of(one[0].document()) {
            match self
                .cores
                .iter_mut()
                .find(|(known, _)| format::co_kernel(known) == format::co_kernel(core))
            {
                Some((_, rows)) => drop(rows.insert(row)),
                None => self.cores.push((core.clone(), BTreeSet::from([row]))),
            }
        }
        self.times.each(|times| {
            for text in lab::times(&one) {
                match times.iter_mut().find(|(known, _)| *known == text) {
                    Some((_, rows)) => drop(rows.insert(row)),
                    None => times.push((text, BTreeSet::from([row]))),
                }
            }
        });
        if self.denied.is_none() && caveats::denied(&recorded.document).is_some() {
            self.denied = grouped_warnings::denied(&recorded.document).cloned();
        }
        if is_new {
            self.top_runs.push(TopRun { row, repeat, recorded, inferences });
        }
        if self.top_runs.len() > MAX_RETAINED {
            let min = self
                .top_runs
                .iter()
                .enumerate()
                .min_by_key(|(_, top_runs)| top_runs.max())
                .map_or(0, |(place, _)| place);
            self.top_runs.swap_remove(min);
        }
    }

    /// The runs that were added to a row are phases of one run, and these are all of them together:
    /// the row's figures are exact. With what became of the limits in it, as a gate judges.
    pub fn pool(&mut self, row: usize, examined: &Examined, judged: Vec<Judged>) {
        self.rows[row].judge(judged);
        self.rows[row].pool(examined);
    }

    /// A run of this row has no recording.
    pub fn add_missing(&mut self, row: usize) {
        self.rows[row].missing += 1;
    }

    /// The same of one that its machine cannot measure.
    pub fn add_left_out(&mut self, row: usize) {
        self.add_missing(row);
        self.rows[row].is_left_out = true;
    }

    /// Runs of the plan that have no recording, those of boots among them that nobody has made.
    pub fn missing(&self) -> u64 {
        let of_rows: u64 = self.rows.iter().map(|row| u64::from(row.missing)).sum();
        of_rows + self.boots_missing.runs as u64
    }

    /// What distinguishes a combination from the others: `debian:amd64=6.1.0-56, interval=500us,
    /// mem-alloc@100%`. Kernels and loads are known by their looks.
    fn name(&self, row: &CellStats) -> String {
        let values: Vec<String> =
            self.varied.iter().filter_map(|factor| self.named(row, *factor)).collect();
        match values.as_slice() {
            [] if self.rows.len() > 1 => tr!(settings_of_measure),
            [] => tr!(all_runs),
            values => values.join(texts::comma.said()),
        }
    }

    /// The part of that name that one factor has; none where it says nothing.
    fn named(&self, row: &CellStats, factor: usize) -> Option<String> {
        let has_policy = self.varied.iter().any(|factor| self.factors[*factor].name == "policy");
        let (key, value) = (self.factors[factor].name.as_str(), self.value(row, factor)?);
        match (key, value) {
            ("load", "none") => Some(tr!(no_load)),
            // Its policy says that it has none.
            ("prio", "none") => (!has_policy).then(|| tr!(no_priority)),
            ("kernel" | "load", value) if value != "none" => Some(value.to_owned()),
            (key, value) => Some(format!("{key}={value}")),
        }
    }

    /// Some of these rows by name: `a; b; 52 more`. Names have commas of their own.
    fn names<'r>(&self, rows: impl Iterator<Item = &'r CellStats>) -> String {
        some(rows.map(|row| self.name(row)), "; ")
    }

    /// That rows are of different quantities, such as jitter and latency; none where they are of
    /// one.
    fn quantities_differ(&self) -> Option<String> {
        let names: Vec<&str> = self.quantities().into_iter().map(judged_name).collect();
        (names.len() > 1).then(|| {
            tr!(
                their_quantities_differ_quantities,
                quantities = names.join(texts::semicolon.said())
            )
        })
    }

    /// The same of rows that are equal in all but this factor.
    fn quantities_differ_by(&self, factor: usize) -> Option<String> {
        let mut known: HashMap<Vec<usize>, Quantity> = HashMap::new();
        let is_mixed = self.rows.iter().filter(|row| row.runs > 0).any(|row| {
            let mut others = row.at.clone();
            others.remove(factor);
            *known.entry(others).or_insert(row.quantity) != row.quantity
        });
        self.quantities_differ().filter(|_| is_mixed)
    }

    /// What must be known of the figures, and what these signs mean.
    fn notes(&self, signs: Signs) -> Vec<String> {
        let has_skipped = self.rows.iter().any(CellStats::has_skipped);
        let mut notes = vec![self.probes.population(has_skipped)];
        if signs.about {
            notes[0] += texts::from_histogram_up_1.said();
        }
        for meaning in signs.bounds.into_iter().flatten() {
            notes[0] += &format!(" {meaning}{}", texts::full_stop.said());
        }
        let pooled = |phases: bool| {
            self.rows.iter().any(|row| row.runs > 1 && row.phases().is_some() == phases)
        };
        notes[0] += match (pooled(false), pooled(true)) {
            (true, true) => texts::repeats_and_phases_pooled.said(),
            (true, false) => texts::repeats_pooled_in_table.said(),
            (false, true) => texts::phases_pooled.said(),
            (false, false) => "",
        };
        if signs.max_of_runs {
            notes[0] += texts::what_max_of_runs_is.said();
        }
        let identical = |in_lab: bool| {
            self.rows
                .iter()
                .any(|row| row.identical > 0 && (row.kind == Some(TimeKind::Virtual)) == in_lab)
        };
        if identical(true) {
            notes[0] += texts::repeat_identical_first_expected.said();
        }
        if identical(false) {
            notes[0] += texts::copy_recording_adds_nothing.said();
        }
        let measured = self.rows.iter().filter(|row| row.runs > 0).count();
        for (text, rows) in self.times.get() {
            let of = if rows.len() == measured {
                String::new()
            } else {
                format!("{}: ", self.names(rows.iter().map(|row| &self.rows[*row])))
            };
            notes.push(format!("{of}{text}"));
        }
        for (core, rows) in &self.cores {
            let rows = self.names(rows.iter().map(|row| &self.rows[*row]));
            notes.push(co_kernel::note(&rows, core));
        }
        if self.has_beside() {
            notes.push(tr!(compared_drawn_first_kernels));
        }
        if self.kinds().len() > 1 {
            notes.push(tr!(figures_in_virtual_ns));
        }
        notes.extend(self.quantities_differ().map(|why| tr!(rows_not_comparable_why, why)));
        notes.extend(self.caveat_notes());
        notes.extend(self.limits_judged());
        if self.missing() > 0 {
            let rows = self.rows.iter().filter(|row| row.missing > 0).map(|row| self.name(row));
            let boots = self.boots_missing.boots.iter().map(|boot| tr!(boot_missing, boot));
            let rows = some(boots.chain(rows), "; ");
            let mut note = tr!(
                runs_plan_without_recording_rows,
                runs = counted(self.missing(), texts::n_runs),
                rows
            );
            if !self.boots_missing.boots.is_empty() {
                note += texts::boot_then_run.said();
            }
            notes.push(note);
        }
        notes.extend(self.reasons_in_full());
        if !self.incomplete.is_empty() {
            notes.push(tr!(
                recordings_incomplete_runs_not,
                recordings = counted(self.incomplete.len() as u64, texts::n_recordings),
                names = some(self.incomplete.iter().cloned(), ", ") + "."
            ));
        }
        if let Some(max) = self.inference_left_out_above {
            notes.push(tr!(plans_more_than_n, n = max));
        }
        notes
    }

    /// The same with the worst phases, which have commands.
    fn notes_and_phases(&self, signs: Signs) -> Vec<String> {
        let phases =
            self.worst_phases().into_iter().map(|(sentence, again)| format!("{sentence} {again}"));
        self.notes(signs).into_iter().chain(phases).collect()
    }

    /// The worst phase of each row, and the command that makes it again; of some rows, the largest
    /// first.
    fn worst_phases(&self) -> Vec<(String, String)> {
        let of_row = |row: usize| {
            let row = &self.rows[row];
            let (maxima, paths) = row.phases()?;
            let (sentence, again) = phases::worst_and_again(maxima, paths)?;
            let name =
                if self.rows.len() > 1 { format!("{}: ", self.name(row)) } else { String::new() };
            Some((format!("{name}{sentence}"), again))
        };
        self.largest_first().into_iter().filter_map(of_row).take(MAX_NAMED).collect()
    }

    /// The caveats, each once, with its rows, the worst first.
    fn caveat_notes(&self) -> Vec<String> {
        let has_more_sources = self.has_more_sources();
        let mut known = grouped(self.rows.iter().flat_map(|row| {
            let texts = row.texts();
            let caveats = texts.rights.iter().chain(texts.of_runs()).chain(&texts.set_up_badly);
            let sources = texts.of_source.iter().filter(move |_| has_more_sources);
            caveats.chain(sources).map(move |caveat| ((caveat.kind, &caveat.phrase), row))
        }));
        known.sort_by_key(|((kind, _), _)| *kind);
        let known: Vec<_> = known.into_iter().map(|((_, text), rows)| (text, rows)).collect();
        let mut notes = self.some_of(&known);
        let grant = self.denied.as_ref().map(|warning| warning_text(warning).next_step);
        notes.extend(grant.map(|grant| grant.to_string()));
        notes
    }

    /// What a table had no room for: what else the machine did, and what is wrong with runs, in a
    /// few letters each; what most of them have comes first.
    fn caveats_below<'r>(&self, rows: impl Iterator<Item = &'r CellStats>) -> Vec<String> {
        let short = rows.flat_map(|row| row.in_short().into_iter().map(move |text| (text, row)));
        let mut known = grouped(short);
        known.sort_by_key(|(_, rows)| Reverse(rows.len()));
        self.some_of(&known)
    }

    /// Texts, each with its rows, as many as are listed.
    fn some_of<T: Display>(&self, known: &[(T, Vec<&CellStats>)]) -> Vec<String> {
        let (known, further) = known.split_at(known.len().min(MAX_CAVEATS));
        let phrase = |(text, rows): &(T, Vec<&CellStats>)| {
            tr!(rows_and_text, rows = self.names(rows.iter().copied()), text)
        };
        let more = further.iter().map(|(_, rows)| rows.len() as u64).sum();
        let more = (more > 0)
            .then(|| tr!(and_rows_like_these, rows = counted(more, texts::n_combinations)));
        known.iter().map(phrase).chain(more).collect()
    }

    /// What was seen beyond the plan's limits. That nothing was is no promise, and not said as one.
    fn limits_judged(&self) -> Option<String> {
        let measured: Vec<&CellStats> = self.rows.iter().filter(|row| row.runs > 0).collect();
        if self.limits.is_empty() || measured.is_empty() {
            return None;
        }
        let judged = |limit: &Limit| {
            let all: Vec<&Judged> = measured.iter().filter_map(|row| row.judged(limit)).collect();
            let with = |verdict| all.iter().filter(|judged| judged.verdict == verdict).count();
            let (beyond, inconclusive) = (with(Verdict::Fail), with(Verdict::NotEnough));
            let reasons = all.iter().filter_map(|judged| judged.lacking);
            let mut reasons =
                each_once(reasons.filter_map(|what| lacking(what, self.probes.rows())));
            let further = reasons.len().saturating_sub(MAX_REASONS);
            reasons.truncate(MAX_REASONS);
            reasons.extend((further > 0).then(|| tr!(n_more, n = further)));
            let inconclusive = (inconclusive > 0)
                .then(|| tr!(inconclusive_in_inconclusive_why, inconclusive, why = list(&reasons)));
            tr!(
                figure_exceeded_limit_in,
                figure = self.figure_of(limit),
                beyond,
                all = all.len(),
                inconclusive = inconclusive.unwrap_or_default()
            )
        };
        let judged: Vec<String> = self.limits.iter().map(judged).collect();
        let (limits, mut judged) = (self.limits_listed(), judged.join(texts::semicolon.said()));
        if measured.iter().any(|row| row.phases().is_some()) {
            judged += texts::phases_run_together.said();
        }
        let without: Vec<&CellStats> =
            measured.iter().copied().filter(|row| row.has_no_limit()).collect();
        if !without.is_empty() {
            judged += &tr!(no_limit_named_for, rows = self.names(without.into_iter()));
        }
        // Skipped rows without a latency are judged nowhere.
        Some(if self.rows.iter().any(CellStats::has_skipped) {
            tr!(limits_plan_limits_for_worst, limits, judged)
        } else {
            tr!(limits_plan_limits_for, limits, judged)
        })
    }

    /// `max<1us and p99<10us`; where plans differ in them `max<1us (a/plan.toml) and p99<10us
    /// (b/plan.toml)`.
    fn limits_listed(&self) -> String {
        let of = |(plan, limits): &(PathBuf, Vec<Limit>)| -> Vec<String> {
            limits.iter().map(|limit| format!("{limit} ({})", plan.display())).collect()
        };
        if self.limits_of.is_empty() {
            return list(&self.limits.iter().map(ToString::to_string).collect::<Vec<_>>());
        }
        list(&self.limits_of.iter().flat_map(of).collect::<Vec<_>>())
    }
}
