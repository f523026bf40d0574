// SPDX-License-Identifier: MIT OR Apache-2.0
//! A plan's largest latencies as a picture: one factor down, the others across.

use super::Matrix;
use crate::charts::svg::{Anchor, Svg};
use crate::format::at_most;
use crate::language::{say, word};
use crate::overview::list;
use crate::sections::lab::Kind;
use std::collections::BTreeSet;

/// Columns that a picture has room for.
const MAX_COLUMNS: usize = 24;
/// Rows that are still a picture.
const MAX_ROWS: usize = 200;
/// Factors across that are named above one another.
const MAX_ACROSS: usize = 3;
const WIDTH: f64 = 960.0;
const ROW: f64 = 26.0;
const LINE: f64 = 18.0;
/// A letter's width.
const LETTER: f64 = 7.5;
/// Letters of a value that have room.
const LONGEST: usize = 34;

/// What the picture shows.
struct Heat {
    /// The factor that goes down, and those that go across.
    down: usize,
    across: Vec<usize>,
    /// Combinations of the values of those across, in the plan's order.
    columns: Vec<Vec<usize>>,
    /// The largest latency, ns: `cells[value down][column]`.
    cells: Vec<Vec<Option<i64>>>,
    /// Whether there are factors that neither goes along.
    folded: bool,
    /// Of figures on several kinds of time, those that are shown.
    kind: Option<Kind>,
}

impl Heat {
    /// None where fewer than two factors vary, or none of them has few enough values for a picture.
    fn of(matrix: &Matrix) -> Option<Heat> {
        let values_of = |factor: usize| matrix.factors[factor].values.len();
        let mut by_values = matrix.varied.clone();
        by_values.sort_by_key(|factor| (std::cmp::Reverse(values_of(*factor)), *factor));
        let down = *by_values.first().filter(|down| values_of(**down) <= MAX_ROWS)?;
        // As many factors across as there is room for; the worst of the others is shown.
        let mut across: Vec<usize> = Vec::new();
        let mut room = MAX_COLUMNS;
        for factor in by_values[1..].iter().rev().filter(|factor| values_of(**factor) <= MAX_COLUMNS) {
            if values_of(*factor) <= room && across.len() < MAX_ACROSS {
                room /= values_of(*factor);
                across.push(*factor);
            }
        }
        across.sort_unstable();
        if across.is_empty() {
            return None;
        }
        let column_of = |at: &[usize]| -> Vec<usize> { across.iter().map(|factor| at[*factor]).collect() };
        let columns: BTreeSet<Vec<usize>> = matrix.rows.iter().map(|row| column_of(&row.at)).collect();
        let columns: Vec<Vec<usize>> = columns.into_iter().collect();
        let mut cells = vec![vec![None; columns.len()]; values_of(down)];
        let kinds = matrix.kinds();
        let kind = kinds.first().copied()?;
        for row in matrix.rows.iter().filter(|row| row.kind == Some(kind)) {
            let column = columns.binary_search(&column_of(&row.at)).ok()?;
            let cell: &mut Option<i64> = &mut cells[row.at[down]][column];
            *cell = (*cell).max(row.stats.max());
        }
        let folded = across.len() + 1 < matrix.varied.len();
        Some(Heat { down, across, columns, cells, folded, kind: (kinds.len() > 1).then_some(kind) })
    }

    /// The smallest and the largest cell, ns.
    fn range(&self) -> (i64, i64) {
        let cells = || self.cells.iter().flatten().flatten();
        (cells().min().copied().unwrap_or(1).max(1), cells().max().copied().unwrap_or(1).max(1))
    }
}

impl Matrix {
    /// The picture; none where fewer than two factors vary, or one has too many values.
    #[must_use]
    pub(crate) fn heat_map(&self) -> Option<String> {
        let heat = Heat::of(self)?;
        let across: Vec<&str> = heat.across.iter().map(|factor| self.factors[*factor].name.as_str()).collect();
        let folded = if heat.folded { word(", the worst of all other factors") } else { "" };
        let on = heat.kind.map_or_else(String::new, |kind| say!(" (time: {kind})", kind = kind.name()));
        let title = say!(
            "Largest latency by {down} and {across}{folded}{on}",
            down = self.factors[heat.down].name,
            across = list(&across),
            folded,
            on
        );
        Some(draw(&heat, &title, self))
    }
}

fn label(value: Option<&str>) -> String {
    crate::format::clip(value.unwrap_or("–"), LONGEST)
}

fn draw(heat: &Heat, title: &str, matrix: &Matrix) -> String {
    let down = &matrix.factors[heat.down];
    let label = |factor: usize, value: usize| label(matrix.factors[factor].values[value].as_deref());
    let longest = (0..down.values.len()).map(|value| label(heat.down, value).chars().count()).max().unwrap_or(0);
    let longest = longest.max(down.name.chars().count());
    let left = 38.0 + LETTER * longest as f64;
    let top = 52.0 + LINE * heat.across.len() as f64;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "some thousand pixels at most")]
    let height = (top + ROW * heat.cells.len() as f64 + 44.0) as u32;
    let (low, high) = heat.range();
    let description =
        say!("From {low} to {high}; each cell has its figure written into it.", low = at_most(low), high = at_most(high));
    let mut svg = Svg::new(960, height, title, &description);
    let ink = "fill=\"#16191d\"";
    let soft = crate::charts::SOFT;
    svg.text(16.0, 26.0, Anchor::Start, &format!("class=\"title\" font-size=\"16\" font-weight=\"600\" {ink}"), title);
    let width = (WIDTH - left - 16.0) / heat.columns.len() as f64;
    for level in 0..heat.across.len() {
        let y = 58.0 + LINE * level as f64;
        // A value stands once above all columns that have it and everything above it in common.
        let mut from = 0;
        for group in heat.columns.chunk_by(|a, b| a[..=level] == b[..=level]) {
            let (start, wide) = (left + width * from as f64, width * group.len() as f64);
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "pixels")]
            let room = ((wide / LETTER) as usize).max(3);
            let text = crate::format::clip(&label(heat.across[level], group[0][level]), room);
            svg.text(start + wide / 2.0, y, Anchor::Middle, if level == 0 { ink } else { soft }, &text);
            from += group.len();
        }
    }
    svg.text(16.0, top - 12.0, Anchor::Start, soft, &down.name);
    for (row, cells) in heat.cells.iter().enumerate() {
        let y = top + ROW * row as f64;
        svg.text(left - 10.0, y + 17.0, Anchor::End, ink, &label(heat.down, row));
        for (column, cell) in cells.iter().enumerate() {
            let share = cell.map(|ns| share(ns, low, high));
            let fill = share.map_or("#f0f1f3".to_owned(), ground);
            let x = left + width * column as f64;
            svg.rect((x, y), (width - 1.5, ROW - 1.5), &format!("fill=\"{fill}\""));
            let colour = if share.is_some_and(|share| share > 0.5) { "#ffffff" } else { "#16191d" };
            let text = cell.map_or_else(|| "–".to_owned(), at_most);
            let size = if width < 52.0 { 9 } else { 11 };
            svg.text(x + width / 2.0, y + 17.0, Anchor::Middle, &format!("fill=\"{colour}\" font-size=\"{size}\""), &text);
        }
    }
    let below = top + ROW * heat.cells.len() as f64 + 24.0;
    let scale = say!(
        "largest latency of all repeats; darker is larger, logarithmic from {low} to {high}",
        low = at_most(low),
        high = at_most(high)
    );
    svg.text(left, below, Anchor::Start, soft, &scale);
    svg.finish()
}

/// Where a latency lies between the smallest and the largest, logarithmically: 0 to 1.
fn share(ns: i64, low: i64, high: i64) -> f64 {
    let (value, low, high) = (ns.max(1) as f64, low as f64, high as f64);
    if high <= low { 0.0 } else { ((value / low).ln() / (high / low).ln()).clamp(0.0, 1.0) }
}

/// From nearly white to dark blue: lightness alone tells, so that any eye and any printer can.
fn ground(share: f64) -> String {
    // The middle is left out: neither dark nor light figures can be read well on it.
    let share = if share > 0.5 { 0.66 + (share - 0.5) * 0.68 } else { share * 0.88 };
    let mix = |from: f64, to: f64| from + (to - from) * share;
    let (r, g, b) = (mix(232.0, 8.0), mix(240.0, 60.0), mix(248.0, 110.0));
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to 255")]
    let byte = |value: f64| value.round() as u8;
    format!("#{:02x}{:02x}{:02x}", byte(r), byte(g), byte(b))
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
                .flat_map(|row| values.iter().map(|value| row.iter().cloned().chain([Some((*value).to_owned())]).collect()))
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

    #[test]
    fn one_factor_down_the_others_across() {
        let heat = Heat::of(&matrix(&[("kernel", &["a", "b"]), ("one", &["x"]), ("load", &["p", "q", "r"])])).unwrap();
        assert_eq!((heat.down, heat.across.as_slice(), heat.folded), (2, [0].as_slice(), false));
        assert_eq!(heat.cells, [[Some(1_000), Some(4_000)], [Some(2_000), Some(5_000)], [Some(3_000), Some(6_000)]]);
    }

    #[test]
    fn what_has_no_room_is_folded_to_its_worst() {
        let many = ["1", "2", "3", "4", "5", "6", "7", "8"];
        let wide =
            matrix(&[("down", &["a", "b", "c", "d", "e", "f", "g", "h", "i"]), ("x", &many), ("y", &["p", "q", "r", "s"])]);
        let heat = Heat::of(&wide).unwrap();
        assert_eq!((heat.down, heat.across.as_slice(), heat.folded), (0, [2].as_slice(), true));
        assert_eq!(heat.cells[0], [29_000, 30_000, 31_000, 32_000].map(Some));
        assert!(wide.heat_map().unwrap().contains("the worst of all other factors"));
    }

    #[test]
    fn nothing_to_draw_and_nothing_measured() {
        assert!(matrix(&[("kernel", &["a", "b"]), ("one", &["x"])]).heat_map().is_none());
        let names = vec!["a".to_owned(), "<b".to_owned()];
        let rows = [("1", "x"), ("2", "y")].map(|(a, b)| vec![Some(a.to_owned()), Some(b.to_owned())]);
        let mut matrix = Matrix::new(None, names, rows.into_iter());
        assert!(matrix.heat_map().is_none(), "nothing is recorded yet");
        matrix.add(0, 1, Synthetic::idle().threads(1).samples(&[500]).build());
        let svg = matrix.heat_map().unwrap();
        assert!(!svg.contains("NaN") && !svg.contains("<b") && svg.matches('–').count() == 3, "{svg}");
    }
}
