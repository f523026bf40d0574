// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the heat map of a plan is, whatever is drawn in it: the figures it can show and what is
//! written into their cells, its axes and what stands in each cell, and how a figure becomes a
//! shade. The SVG writer (`heat_svg.rs`) draws by these values, and the page's script by the same
//! ones as JSON.

use super::Matrix;
use super::cell_stats::{self, CellStats};
use crate::format::{count, latency};
use crate::language::Text;
use crate::sections::latencies::{self, NOTHING};
use crate::sections::time_kind::TimeKind;
use serde::Serialize;
use std::collections::BTreeSet;

/// Columns that a picture has room for.
const MAX_COLUMNS: usize = 24;
/// Rows that are still a picture.
const MAX_ROWS: usize = 200;
/// Factors across that are named above one another.
const MAX_ACROSS: usize = 3;

/// A figure that the heat map can show.
#[derive(Serialize)]
pub(super) struct Figure {
    pub(super) name: Text,
    /// `ns`, or `n` for a count.
    unit: &'static str,
    /// Where values lie on the scale of shades: at the logarithm of the value plus so much, ...
    plus: f64,
    /// ... which is at least this; where the smallest is below 0, shades are spread evenly
    /// instead. A count of 0 is not the same as one of 1.
    min: f64,
    #[serde(skip)]
    of: cell_stats::Figure,
}

const fn latency_figure(of: latencies::Figure) -> Figure {
    let of = cell_stats::Figure::Latency(of);
    Figure { name: of.name(), unit: "ns", plus: 0.0, min: 1.0, of }
}

const fn number(of: cell_stats::Figure) -> Figure {
    Figure { name: of.name(), unit: "n", plus: 1.0, min: 0.0, of }
}

/// The first is shown until a reader chooses another.
pub(super) const FIGURES: [Figure; 9] = [
    latency_figure(latencies::Figure::Max),
    latency_figure(latencies::Figure::P9999),
    latency_figure(latencies::Figure::P999),
    latency_figure(latencies::Figure::P99),
    latency_figure(latencies::Figure::Mean),
    latency_figure(latencies::Figure::Sd),
    latency_figure(latencies::Figure::PeakToPeak),
    number(cell_stats::Figure::Overruns),
    number(cell_stats::Figure::Skipped),
];

impl Figure {
    pub(super) fn value(&self, row: &CellStats) -> Option<i64> {
        row.figures().rounded(self.of).filter(|_| row.runs > 0)
    }

    /// What is written into the cell of a combination with this value.
    pub(super) fn label(&self, row: &CellStats, value: i64) -> String {
        if self.unit == "n" {
            return count(value.unsigned_abs());
        }
        let cell_stats::Figure::Latency(of) = self.of else { return latency(value) };
        // Of an unstated unit the number alone.
        let text = row.unstated_unit.map_or_else(|| latency(value), |ns| (value / ns).to_string());
        format!("{}{text}", row.figures().due.sign(of))
    }

    /// Whether shades are spread evenly, because the smallest has no logarithm: a latency of a
    /// thread that was woken early.
    pub(super) fn is_linear(&self, low: i64) -> bool {
        low < 0 && self.min > 0.0
    }

    /// Where a value lies between the smallest and the largest: 0 to 1.
    pub(super) fn share(&self, value: i64, low: i64, high: i64) -> f64 {
        if self.is_linear(low) {
            return if high > low {
                (value as f64 - low as f64) / (high as f64 - low as f64)
            } else {
                0.0
            };
        }
        let at = |value: i64| ((value as f64).max(self.min) + self.plus).ln();
        if at(high) > at(low) { (at(value) - at(low)) / (at(high) - at(low)) } else { 0.0 }
    }
}

/// Shades from cold to hot, where lightness alone is enough, so that any eye and any printer can.
/// The middle is left out: neither dark nor light figures can be read well on it.
#[derive(Serialize)]
pub(super) struct Shades {
    /// From this share on a cell is hot, and its figure stands on a strong ground.
    hot_from: f64,
    /// How much of the hot colour there is in the ground, at both ends of the cold cells ...
    cold: [f64; 2],
    /// ... and of the hot ones.
    hot: [f64; 2],
}

pub(super) const SHADES: Shades = Shades { hot_from: 0.5, cold: [0.0, 0.44], hot: [0.66, 1.0] };

impl Shades {
    /// Whether a cell is hot that lies there between the smallest and the largest.
    pub(super) fn is_hot(&self, share: f64) -> bool {
        share > self.hot_from
    }

    /// How much of the hot colour there is in its ground: 0 to 1.
    pub(super) fn of_hot(&self, share: f64) -> f64 {
        let ([from, to], along) = if self.is_hot(share) {
            (self.hot, (share - self.hot_from) / (1.0 - self.hot_from))
        } else {
            (self.cold, share / self.hot_from)
        };
        from + (to - from) * along
    }
}

/// The heat map of a plan.
#[derive(Serialize)]
pub(super) struct HeatMap {
    figures: &'static [Figure],
    shades: Shades,
    /// Written where there is no figure.
    nothing: &'static str,
    /// The factor that goes down; on a page, until another is chosen.
    pub(super) down: usize,
    /// Those that go across, one above the other; on a page, the first of them until another is
    /// chosen.
    pub(super) across: Vec<usize>,
    /// The kinds of time that figures are on, which no cell compares. The first is shown until
    /// another is chosen.
    times: Vec<&'static str>,
    /// Whether a picture has room for it.
    #[serde(skip)]
    fits: bool,
}

/// What stands in a picture.
pub(super) struct Cells<'m> {
    /// Combinations of the values of the factors across, in the plan's order.
    pub(super) columns: Vec<Vec<usize>>,
    /// The combination with the largest figure, and that figure: `cells[value down][column]`.
    pub(super) cells: Vec<Vec<Option<(&'m CellStats, i64)>>>,
    /// Whether there are factors that neither goes along.
    pub(super) folded: bool,
    /// Of figures on several kinds of time, those that are shown.
    pub(super) kind: Option<TimeKind>,
}

impl Cells<'_> {
    /// Those with the smallest and the largest figure; of equals the first.
    pub(super) fn range(&self) -> Option<[(&CellStats, i64); 2]> {
        let cells = || self.cells.iter().flatten().flatten().copied();
        Some([
            cells().min_by_key(|(_, value)| *value)?,
            cells().rev().max_by_key(|(_, value)| *value)?,
        ])
    }
}

impl Matrix {
    /// None where fewer than two factors vary.
    pub(super) fn heat(&self) -> Option<HeatMap> {
        let values_of = |factor: usize| self.factors[factor].values.len();
        let mut by_values = self.varied.clone();
        by_values.sort_by_key(|factor| (std::cmp::Reverse(values_of(*factor)), *factor));
        let (down, others) = by_values.split_first()?;
        // As many factors across as there is room for; the worst of the others is shown.
        let mut across: Vec<usize> = Vec::new();
        let mut columns_left = MAX_COLUMNS;
        for factor in others.iter().rev().filter(|factor| values_of(**factor) <= MAX_COLUMNS) {
            if values_of(*factor) <= columns_left && across.len() < MAX_ACROSS {
                columns_left /= values_of(*factor);
                across.push(*factor);
            }
        }
        across.sort_unstable();
        let fits = !across.is_empty() && values_of(*down) <= MAX_ROWS;
        if across.is_empty() {
            across.push(*others.iter().min()?);
        }
        let times = self.kinds().into_iter().map(TimeKind::key).collect();
        Some(HeatMap {
            figures: &FIGURES,
            shades: SHADES,
            nothing: NOTHING,
            down: *down,
            across,
            times,
            fits,
        })
    }

    /// The cells of a picture of this figure; none where it has no room, or nothing is measured.
    pub(super) fn cells(&self, map: &HeatMap, figure: &Figure) -> Option<Cells<'_>> {
        let kinds = self.kinds();
        let kind = kinds.first().copied().filter(|_| map.fits)?;
        let column_of =
            |at: &[usize]| -> Vec<usize> { map.across.iter().map(|factor| at[*factor]).collect() };
        let columns: BTreeSet<Vec<usize>> =
            self.rows.iter().map(|row| column_of(&row.at)).collect();
        let columns: Vec<Vec<usize>> = columns.into_iter().collect();
        let mut cells = vec![vec![None; columns.len()]; self.factors[map.down].values.len()];
        for row in self.rows.iter().filter(|row| row.kind == Some(kind)) {
            let column = columns.binary_search(&column_of(&row.at)).ok()?;
            let cell: &mut Option<(&CellStats, i64)> = &mut cells[row.at[map.down]][column];
            let is_larger = |value: &i64| cell.is_none_or(|(_, known)| *value > known);
            if let Some(value) = figure.value(row).filter(is_larger) {
                *cell = Some((row, value));
            }
        }
        let folded = map.across.len() + 1 < self.varied.len();
        Some(Cells { columns, cells, folded, kind: (kinds.len() > 1).then_some(kind) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::Synthetic;

    fn matrix(factors: &[(&str, &[&str])]) -> Matrix {
        let mut combinations: Vec<Vec<Option<String>>> = vec![vec![]];
        for (_, values) in factors {
            combinations = combinations
                .iter()
                .flat_map(|row| {
                    values.iter().map(|value| {
                        row.iter().cloned().chain([Some((*value).to_owned())]).collect()
                    })
                })
                .collect();
        }
        let names = factors.iter().map(|(name, _)| (*name).to_owned()).collect();
        let mut matrix = Matrix::new(None, names, combinations.clone().into_iter());
        for row in 0..combinations.len() {
            let max = 1_000 * (i32::try_from(row).unwrap() + 1);
            matrix.add(row, 1, Synthetic::idle().threads(1).samples(&[500, max]).build());
        }
        matrix
    }

    fn values(cells: &Cells<'_>) -> Vec<Vec<Option<i64>>> {
        cells
            .cells
            .iter()
            .map(|line| line.iter().map(|cell| cell.map(|(_, value)| value)).collect())
            .collect()
    }

    #[test]
    fn one_factor_down_the_others_across() {
        let all = matrix(&[("kernel", &["a", "b"]), ("one", &["x"]), ("load", &["p", "q", "r"])]);
        let map = all.heat().unwrap();
        assert_eq!((map.down, map.across.as_slice()), (2, [0].as_slice()));
        let cells = all.cells(&map, &FIGURES[0]).unwrap();
        assert!(!cells.folded && cells.kind.is_none());
        assert_eq!(
            values(&cells),
            [[Some(1_000), Some(4_000)], [Some(2_000), Some(5_000)], [Some(3_000), Some(6_000)]]
        );
    }

    #[test]
    fn what_has_no_room_is_folded_to_its_worst() {
        let many = ["1", "2", "3", "4", "5", "6", "7", "8"];
        let wide = matrix(&[
            ("down", &["a", "b", "c", "d", "e", "f", "g", "h", "i"]),
            ("x", &many),
            ("y", &["p", "q", "r", "s"]),
        ]);
        let map = wide.heat().unwrap();
        assert_eq!((map.down, map.across.as_slice()), (0, [2].as_slice()));
        let cells = wide.cells(&map, &FIGURES[0]).unwrap();
        assert!(cells.folded);
        assert_eq!(values(&cells)[0], [29_000, 30_000, 31_000, 32_000].map(Some));
        assert!(wide.heat_map().unwrap().contains("the worst of all other factors"));
    }

    #[test]
    fn nothing_to_draw_and_nothing_measured() {
        assert!(matrix(&[("kernel", &["a", "b"]), ("one", &["x"])]).heat_map().is_none());
        let names = vec!["a".to_owned(), "<b".to_owned()];
        let rows =
            [("1", "x"), ("2", "y")].map(|(a, b)| vec![Some(a.to_owned()), Some(b.to_owned())]);
        let mut matrix = Matrix::new(None, names, rows.into_iter());
        assert!(matrix.heat_map().is_none(), "nothing is recorded yet");
        matrix.add(0, 1, Synthetic::idle().threads(1).samples(&[500]).build());
        let svg = matrix.heat_map().unwrap();
        assert!(
            !svg.contains("NaN") && !svg.contains("<b") && svg.matches('–').count() == 3,
            "{svg}"
        );
    }

    #[test]
    fn a_figure_becomes_a_label_and_a_shade() {
        let all = matrix(&[("kernel", &["a", "b"]), ("load", &["p", "q"])]);
        let row = &all.rows[0];
        let of =
            |name: &str| FIGURES.iter().find(|figure| figure.name.in_english() == name).unwrap();
        assert_eq!(of("max").label(row, 1_244_900), "1.24 ms", "as in every table");
        assert_eq!(of("mean").label(row, 1_244_900), "1.24 ms");
        assert_eq!(of("p99").label(row, 1_244_900), "1.24 ms", "of one run the observed one");
        let mut again = matrix(&[("kernel", &["a", "b"]), ("load", &["p", "q"])]);
        again.add(0, 2, Synthetic::idle().threads(1).samples(&[500, 700]).build());
        assert_eq!(of("p99").label(&again.rows[0], 1_244_900), "~1.24 ms");
        assert_eq!(of("skipped").label(row, 1_234), "1,234");
        assert_eq!([1, 10, 100].map(|ns| of("max").share(ns, 1, 100)), [0.0, 0.5, 1.0]);
        assert_eq!(of("max").share(-5, -5, 1), 0.0, "the earliest is the coldest");
        assert_eq!(
            [-5, 0, 5].map(|ns| of("max").share(ns, -5, 5)),
            [0.0, 0.5, 1.0],
            "evenly, as none has a logarithm"
        );
        assert_eq!(
            [0, 1, 3].map(|n| of("skipped").share(n, 0, 3)),
            [0.0, 0.5, 1.0],
            "none is less than one"
        );
        assert_eq!([0.0, 0.5, 1.0].map(|share| SHADES.of_hot(share)), [0.0, 0.44, 1.0]);
        assert!(SHADES.of_hot(0.500_001) > 0.66 && SHADES.is_hot(0.500_001) && !SHADES.is_hot(0.5));
    }
}
