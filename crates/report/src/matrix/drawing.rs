// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the page of a plan draws from: each combination's figures for the heat map, its
//! distribution, and the course of its runs over time, of as many as there is room for.

use super::heat::{FIGURES, HeatMap};
use super::{Factor, Matrix, TopRun};
use crate::charts::bins::Bins;
use crate::charts::equal_bins::EqualBins;
use crate::charts::load_course;
use crate::charts::options::Style;
use crate::charts::series::{self, Curve, Series, Steps};
use crate::gate::LimitLine;
use crate::language::tr;
use crate::overview::Overview;
use crate::sections::time_kind::TimeKind;
use model::Quantity;
use serde::Serialize;
use stats::Moments;
use std::collections::{BTreeSet, HashMap};

/// Curves that are drawn before anyone has chosen.
const MAX_SELECTED: usize = 4;

#[derive(Serialize)]
pub(super) struct Drawing<'m> {
    pub(super) edges_ns: Vec<i64>,
    style: Style,
    limits: Vec<LimitLine>,
    /// Runs, with their course over time.
    pub(super) recordings: Vec<Series>,
    plan: Choices<'m>,
}

/// What can be chosen from.
#[derive(Serialize)]
struct Choices<'m> {
    factors: &'m [Factor],
    /// None: fewer than two factors vary.
    heat: Option<HeatMap>,
    /// What is written into the cells of the heat map.
    labels: Vec<String>,
    /// Places of the factors that take more than one value.
    varied: &'m [usize],
    /// Combinations of the plan, also those for which there is no room.
    all: usize,
    combinations: Vec<Combination>,
    /// Rows of the table that are drawn at first.
    selected: Vec<usize>,
}

#[derive(Serialize)]
struct Combination {
    row: usize,
    /// For each factor, which of its values.
    at: Vec<usize>,
    /// In the order of the figures; none: not measured, or too few samples.
    figures: Vec<Option<i64>>,
    /// As it is written, places in the labels.
    labels: Vec<Option<usize>>,
    /// Repeats pooled; none: there is no room for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    curve: Option<Curve>,
    /// Places in the recordings of those of its runs that are there.
    runs: Vec<usize>,
    /// How many there are altogether that are not another's repetition.
    recorded: u32,
    /// On what time its figures are.
    time: Option<&'static str>,
}

/// Texts, each once: of thousands of combinations many figures are written the same.
#[derive(Default)]
struct Labels {
    texts: Vec<String>,
    known: HashMap<String, usize>,
}

impl Labels {
    fn place(&mut self, text: String) -> usize {
        let texts = &mut self.texts;
        *self.known.entry(text).or_insert_with_key(|text| {
            texts.push(text.clone());
            texts.len() - 1
        })
    }
}

/// How much of everything.
#[derive(Clone, Copy)]
pub(super) struct SizeBudget {
    pub(super) rows: usize,
    /// Rows with a distribution.
    pub(super) curves: usize,
    /// Runs with a course over time.
    pub(super) runs: usize,
    pub(super) steps: usize,
    /// Bins of equal width of all distributions.
    pub(super) equal_bins: usize,
}

impl SizeBudget {
    pub(super) const FULL: SizeBudget = SizeBudget {
        rows: 12_000,
        curves: 600,
        runs: super::MAX_RETAINED,
        steps: 24_000,
        equal_bins: 40_000,
    };

    /// Half of what weighs most, or of everything; none if hardly anything is left.
    pub(super) fn smaller(self) -> Option<SizeBudget> {
        let half = SizeBudget {
            rows: self.rows,
            curves: self.curves / 2,
            runs: self.runs / 2,
            steps: self.steps / 2,
            equal_bins: self.equal_bins / 2,
        };
        match half {
            half if half.curves >= 16 => Some(half),
            _ if self.rows > 100 => Some(SizeBudget { rows: self.rows / 2, ..self }),
            _ => None,
        }
    }
}

impl Matrix {
    /// What is drawn first: all combinations if they are few; otherwise the worst, beside those
    /// that differ from it in the first factor alone.
    pub(super) fn selected(&self) -> Vec<usize> {
        // Curves on another kind of time are for the reader to add.
        let mut latest =
            self.kinds().first().map(|kind| self.largest_of(*kind)).unwrap_or_default();
        latest.retain(|row| !self.is_beside(&self.rows[*row]));
        if latest.len() <= MAX_SELECTED {
            let mut all = latest;
            all.sort_unstable();
            return all;
        }
        let (Some(worst), Some(first)) = (latest.first().copied(), self.varied.first().copied())
        else {
            return Vec::new();
        };
        let alike = |row: &usize| {
            self.all_else(&self.rows[*row], first) == self.all_else(&self.rows[worst], first)
        };
        let mut chosen: Vec<usize> = latest.into_iter().filter(alike).take(MAX_SELECTED).collect();
        chosen.sort_unstable();
        chosen
    }

    /// Rows that there is room for: the selected ones first, then those with the largest latencies,
    /// then those without any.
    pub(super) fn first_rows(&self, max_rows: usize) -> BTreeSet<usize> {
        let mut order = self.selected();
        order.extend(self.largest_first());
        order.extend(0..self.rows.len());
        let mut rows = BTreeSet::new();
        for row in order {
            if rows.len() == max_rows {
                break;
            }
            rows.insert(row);
        }
        rows
    }

    pub(super) fn drawing(&self, budget: SizeBudget) -> Drawing<'_> {
        let bins = Bins::from_moments(self.rows.iter().map(|row| &row.stats.totals.moments));
        let curves = self.first_rows(budget.curves);
        let mut top_runs: Vec<_> =
            self.top_runs.iter().filter(|top_run| curves.contains(&top_run.row)).collect();
        // The selected ones are the last to go.
        let selected = self.selected();
        top_runs.sort_by_key(|top_run| {
            (!selected.contains(&top_run.row), std::cmp::Reverse(top_run.max()))
        });
        top_runs.truncate(budget.runs);
        top_runs.sort_by_key(|top_run| (top_run.row, top_run.repeat));
        let overviews: Vec<Overview<'_>> =
            top_runs.iter().map(|top_run| self.overview(top_run)).collect();
        let steps = Steps::share(&overviews, budget.steps);
        let points = load_course::points_each(&overviews, budget.steps / 4);
        let drawn = curves.len() + overviews.len();
        let resolution = series::Resolution {
            bins,
            equal_bins: budget.equal_bins / drawn.max(1),
            steps,
            points,
            shift_ns: self.measured().period_ns(),
        };
        let recordings: Vec<Series> =
            overviews.iter().map(|overview| Series::new(overview, resolution)).collect();
        let mut labels = Labels::default();
        let mut combination = |place: usize| {
            let row = &self.rows[place];
            let runs = top_runs
                .iter()
                .enumerate()
                .filter(|(_, top_run)| top_run.row == place)
                .map(|(run, _)| run);
            Combination {
                row: place,
                at: row.at.clone(),
                figures: FIGURES.iter().map(|figure| figure.value(row)).collect(),
                labels: FIGURES
                    .iter()
                    .map(|figure| Some(labels.place(figure.label(row, figure.value(row)?))))
                    .collect(),
                curve: (curves.contains(&place) && row.runs > 0).then(|| {
                    Curve::new(
                        self.name_drawn(row),
                        row.interval_ns,
                        (&row.stats.totals, row.quantity == Quantity::Jitter),
                        bins,
                        resolution.equal_bins,
                    )
                }),
                runs: runs.collect(),
                recorded: row.runs - row.identical,
                time: row.kind.map(TimeKind::key),
            }
        };
        let combinations: Vec<Combination> =
            self.first_rows(budget.rows).into_iter().map(&mut combination).collect();
        let moments: Vec<&Moments> =
            selected.iter().map(|row| &self.rows[*row].stats.totals.moments).collect();
        let chosen = combinations.iter().filter(|one| selected.contains(&one.row));
        let equal: Vec<&EqualBins> =
            chosen.filter_map(|one| Some(&one.curve.as_ref()?.equal)).collect();
        let style = Style::new(&self.options, self.measured(), &moments, bins, &equal);
        let limits = self.options.lines(self.measured());
        let (factors, varied, all) =
            (self.factors.as_slice(), self.varied.as_slice(), self.rows.len());
        let (heat, labels) = (self.heat(), labels.texts);
        let plan = Choices { factors, heat, labels, varied, all, combinations, selected };
        Drawing { edges_ns: bins.edges(), style, limits, recordings, plan }
    }

    /// A run by its combination's name, and which of several it is.
    fn overview<'k>(&self, top_run: &'k TopRun) -> Overview<'k> {
        let row = &self.rows[top_run.row];
        let name = self.name_drawn(row);
        let phase = top_run.recorded.document.run.phase;
        let name = if row.runs - row.identical <= 1 {
            name
        } else if row.phases().is_some() {
            tr!(name_phase, name, phase)
        } else {
            tr!(name_run_repeat, name, repeat = top_run.repeat)
        };
        Overview { name, inferences: &top_run.inferences, ..Overview::new(&top_run.recorded) }
    }

    /// The run of a combination with the largest latency.
    fn worst_of(&self, row: usize) -> Option<&TopRun> {
        self.top_runs
            .iter()
            .filter(|top_run| top_run.row == row)
            .max_by_key(|top_run| top_run.max())
    }

    /// Of each combination that is drawn at first the run with the largest latency: for pictures
    /// over time.
    pub(super) fn worst_runs(&self) -> Vec<Overview<'_>> {
        let worst = |row| self.worst_of(row).map(|top_run| self.overview(top_run));
        self.selected().into_iter().filter_map(worst).collect()
    }

    /// The same with what is inferred: of that run, or of all phases of its combination together.
    pub(super) fn inferred(&self) -> Vec<Overview<'_>> {
        let of = |row: usize| {
            let (worst, row) = (self.overview(self.worst_of(row)?), &self.rows[row]);
            if row.inferences.is_empty() {
                return Some(worst);
            }
            Some(Overview { name: self.name_drawn(row), inferences: &row.inferences, ..worst })
        };
        self.selected().into_iter().filter_map(of).collect()
    }

    /// The same combinations with all their repeats: for pictures of distributions.
    pub(super) fn selected_pooled(&self) -> Vec<Overview<'_>> {
        let pooled = |row: usize| {
            let (of, top_run) = (&self.rows[row], self.worst_of(row)?);
            let worst = Overview::new(&top_run.recorded);
            let is_one = of.runs - of.identical == 1;
            Some(Overview {
                name: self.name_drawn(of),
                only: worst.only.filter(|_| is_one),
                totals: of.stats.totals.clone(),
                // Nothing is inferred from several runs together.
                inferences: if is_one { &top_run.inferences } else { &[] },
                ..worst
            })
        };
        self.selected().into_iter().filter_map(pooled).collect()
    }
}
