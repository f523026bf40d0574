// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the page of a plan draws from: each combination's figures for the heat map, its distribution, and the course of its
//! runs over time, of as many as there is room for.

use super::Matrix;
use super::pooled::Pooled;
use crate::bins::Bins;
use crate::format::rounded;
use crate::load_course;
use crate::overview::{Overview, Quantile};
use crate::series::{Charts, Curve, Series, Steps};
use serde::Serialize;
use std::collections::BTreeSet;

/// Curves that are drawn before anyone has chosen.
const MOST_SELECTED: usize = 4;

/// A figure that the heat map can show.
#[derive(Serialize)]
pub(super) struct Figure {
    pub(super) name: &'static str,
    /// `ns`, or `n` for a count.
    unit: &'static str,
    #[serde(skip)]
    of: fn(&Pooled) -> Option<i64>,
}

const fn latency(name: &'static str, of: fn(&Pooled) -> Option<i64>) -> Figure {
    Figure { name, unit: "ns", of }
}

const fn number(name: &'static str, of: fn(&Pooled) -> Option<i64>) -> Figure {
    Figure { name, unit: "n", of }
}

pub(super) const FIGURES: [Figure; 8] = [
    latency("max", |row| row.moments.max()),
    latency("p99.99", |row| row.quantile(Quantile::P9999)),
    latency("p99.9", |row| row.quantile(Quantile::P999)),
    latency("p99", |row| row.quantile(Quantile::P99)),
    latency("mean", |row| row.moments.mean().map(rounded)),
    latency("sd", |row| row.moments.sd().map(rounded)),
    number("overruns", |row| whole(row, row.activations.late)),
    number("skipped", |row| whole(row, row.activations.skipped)),
];

fn whole(row: &Pooled, n: u64) -> Option<i64> {
    (row.runs > 0).then(|| i64::try_from(n).unwrap_or(i64::MAX))
}

/// Everything.
#[derive(Serialize)]
pub(super) struct Drawing {
    pub(super) edges_ns: Vec<i64>,
    /// Runs, with their course over time.
    pub(super) recordings: Vec<Series>,
    plan: Choices,
}

/// What can be chosen from.
#[derive(Serialize)]
struct Choices {
    factors: Vec<Factor>,
    figures: &'static [Figure],
    /// Places of the factors that take more than one value.
    varied: Vec<usize>,
    combinations: Vec<Combination>,
    /// Rows of the table that are drawn at first.
    selected: Vec<usize>,
}

#[derive(Serialize)]
struct Factor {
    name: String,
    /// In the plan's order; none where a combination does not say.
    values: Vec<Option<String>>,
}

#[derive(Serialize)]
struct Combination {
    /// Row of the table.
    row: usize,
    /// For each factor, which of its values.
    at: Vec<usize>,
    /// In the order of the figures; none: not measured, or too few samples.
    figures: Vec<Option<i64>>,
    /// Repeats pooled; none: there is no room for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    curve: Option<Curve>,
    /// Places in the recordings of those of its runs that are there.
    runs: Vec<usize>,
    /// How many there are altogether.
    recorded: u32,
}

/// How much of everything.
#[derive(Clone, Copy)]
pub(super) struct Room {
    /// Rows with figures.
    pub(super) rows: usize,
    /// Rows with a distribution.
    pub(super) curves: usize,
    /// Runs with a course over time.
    pub(super) runs: usize,
    /// Steps of all courses.
    pub(super) steps: usize,
}

impl Room {
    pub(super) const WHOLE: Room = Room { rows: 12_000, curves: 600, runs: super::MOST_KEPT, steps: 36_000 };

    /// Half of what weighs most, or of everything; none if hardly anything is left.
    pub(super) fn less(self) -> Option<Room> {
        let half = Room { rows: self.rows, curves: self.curves / 2, runs: self.runs / 2, steps: self.steps / 2 };
        match half {
            half if half.curves >= 16 => Some(half),
            _ if self.rows > 100 => Some(Room { rows: self.rows / 2, ..self }),
            _ => None,
        }
    }
}

impl Matrix {
    /// What is drawn first: all combinations if they are few; otherwise the worst, beside those that differ from it in the first
    /// factor alone.
    pub(super) fn selected(&self) -> Vec<usize> {
        let latest = self.latest_first();
        if latest.len() <= MOST_SELECTED {
            let mut all = latest;
            all.sort_unstable();
            return all;
        }
        let (Some(worst), Some(first)) = (latest.first().copied(), self.varied().first().copied()) else { return Vec::new() };
        let alike = |row: &usize| {
            let pairs = self.rows[*row].factors.iter().zip(&self.rows[worst].factors).enumerate();
            pairs.filter(|(factor, _)| *factor != first).all(|(_, (one, other))| one == other)
        };
        let mut chosen: Vec<usize> = latest.into_iter().filter(alike).take(MOST_SELECTED).collect();
        chosen.sort_unstable();
        chosen
    }

    /// Rows that there is room for: the selected ones first, then those with the latest wake-ups, then those without any.
    pub(super) fn first_rows(&self, room: usize) -> BTreeSet<usize> {
        let mut order = self.selected();
        order.extend(self.latest_first());
        order.extend(0..self.rows.len());
        let mut rows = BTreeSet::new();
        for row in order {
            if rows.len() == room {
                break;
            }
            rows.insert(row);
        }
        rows
    }

    pub(super) fn drawing(&self, room: Room) -> Drawing {
        let bins = Bins::of(self.rows.iter().map(|row| &row.moments));
        let curves = self.first_rows(room.curves);
        let mut kept: Vec<_> = self.kept.iter().filter(|kept| curves.contains(&kept.row)).collect();
        // The selected ones are the last to go.
        let selected = self.selected();
        kept.sort_by_key(|kept| (!selected.contains(&kept.row), std::cmp::Reverse(kept.max())));
        kept.truncate(room.runs);
        kept.sort_by_key(|kept| (kept.row, kept.repeat));
        let varied = self.varied();
        let overviews: Vec<Overview<'_>> = kept
            .iter()
            .map(|kept| {
                let row = &self.rows[kept.row];
                let name = row.name(&varied);
                Overview {
                    name: if row.runs > 1 { format!("{name}, run {}", kept.repeat) } else { name },
                    ..Overview::of(&kept.recorded)
                }
            })
            .collect();
        let steps = Steps::share(&overviews, room.steps);
        let points = load_course::points_each(&overviews, room.steps / 4);
        let recordings = overviews.iter().map(|overview| Series::new(overview, bins, steps, points)).collect();
        let factors: Vec<Factor> = self
            .factors
            .iter()
            .enumerate()
            .map(|(place, name)| Factor { name: name.clone(), values: self.values_of(place) })
            .collect();
        let combination = |place: usize| {
            let row = &self.rows[place];
            let at = row.factors.iter().zip(&factors);
            let runs = kept.iter().enumerate().filter(|(_, kept)| kept.row == place).map(|(run, _)| run);
            Combination {
                row: place,
                at: at.map(|(value, factor)| factor.values.iter().position(|known| known == value).unwrap_or(0)).collect(),
                figures: FIGURES.iter().map(|figure| (figure.of)(row)).collect(),
                curve: (curves.contains(&place) && row.runs > 0)
                    .then(|| Curve::new(row.name(&varied), row.interval_ns, &row.histogram, &row.moments, bins)),
                runs: runs.collect(),
                recorded: row.runs,
            }
        };
        let combinations = self.first_rows(room.rows).into_iter().map(combination).collect();
        let plan = Choices { figures: &FIGURES, varied, combinations, selected, factors };
        Drawing { edges_ns: bins.edges(), recordings, plan }
    }

    /// The charts of what is drawn at first, for files, paper and browsers without scripts: of each combination its worst run.
    pub(super) fn charts(&self, steps: usize) -> (Charts, Vec<Overview<'_>>) {
        let varied = self.varied();
        let worst = |row: usize| self.kept.iter().filter(|kept| kept.row == row).max_by_key(|kept| kept.max());
        let overviews: Vec<Overview<'_>> = self
            .selected()
            .into_iter()
            .filter_map(worst)
            .map(|kept| Overview { name: self.rows[kept.row].name(&varied), ..Overview::of(&kept.recorded) })
            .collect();
        (Charts::new(&overviews, steps), overviews)
    }
}
