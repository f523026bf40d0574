// SPDX-License-Identifier: MIT OR Apache-2.0
//! The heat map of a plan as a picture: its largest latencies, one factor down, the others across.

use super::Matrix;
use super::heat::{Cells, FIGURES, Figure, HeatMap, SHADES};
use crate::charts::plot::{SOFT, WIDTH};
use crate::charts::svg::{Anchor, Svg, mixed};
use crate::format::list;
use crate::language::{texts, tr};
use crate::sections::latencies::{NOTHING, OrNothing};

const ROW: f64 = 26.0;
const LINE: f64 = 18.0;
/// A letter's width.
const LETTER: f64 = 7.5;
/// Letters of a value that have room.
const MAX_LETTERS: usize = 34;

/// Grounds and the figures on them, as the page's style has them for light colours.
const COLD: &str = "#e8f0f8";
const HOT: &str = "#083c6e";
const ON_COLD: &str = "#16191d";
const ON_HOT: &str = "#ffffff";

impl Matrix {
    /// The picture; none where fewer than two factors vary, or one has too many values.
    pub(crate) fn heat_map(&self) -> Option<String> {
        let (map, figure) = (self.heat()?, &FIGURES[0]);
        let cells = self.cells(&map, figure)?;
        let across: Vec<&str> =
            map.across.iter().map(|factor| self.factors[*factor].name.as_str()).collect();
        let folded = if cells.folded { texts::worst_all_other_factors.said() } else { "" };
        let on = cells.kind.map_or_else(String::new, |kind| tr!(time_kind, kind = kind.name()));
        let title = tr!(
            largest_latency_down_across,
            down = self.factors[map.down].name,
            across = list(&across),
            folded,
            on
        );
        Some(draw(&map, &cells, figure, &title, self))
    }
}

fn label(value: Option<&str>) -> String {
    crate::format::clip(value.unwrap_or(NOTHING), MAX_LETTERS)
}

fn draw(map: &HeatMap, cells: &Cells<'_>, figure: &Figure, title: &str, matrix: &Matrix) -> String {
    let down = &matrix.factors[map.down];
    let label =
        |factor: usize, value: usize| label(matrix.factors[factor].values[value].as_deref());
    let longest = (0..down.values.len())
        .map(|value| label(map.down, value).chars().count())
        .max()
        .unwrap_or(0);
    let longest = longest.max(down.name.chars().count());
    let left = 38.0 + LETTER * longest as f64;
    let top = 52.0 + LINE * map.across.len() as f64;
    let height = top + ROW * cells.cells.len() as f64 + 44.0;
    let range = cells.range();
    let (low, high) = range.map_or((0, 0), |[(_, low), (_, high)]| (low, high));
    let [from, to] = range.map_or([NOTHING, NOTHING].map(str::to_owned), |ends| {
        ends.map(|(row, value)| figure.label(row, value))
    });
    let description = tr!(from_low_high_each, low = from, high = to);
    let mut svg = Svg::new(WIDTH, height, title, &description);
    let ink = "fill=\"#16191d\"";
    let soft = SOFT;
    svg.text(
        16.0,
        26.0,
        Anchor::Start,
        &format!("class=\"title\" font-size=\"16\" font-weight=\"600\" {ink}"),
        title,
    );
    let width = (WIDTH - left - 16.0) / cells.columns.len() as f64;
    for level in 0..map.across.len() {
        let y = 58.0 + LINE * level as f64;
        // A value stands once above all columns that have it and everything above it in common.
        let mut begin = 0;
        for group in cells.columns.chunk_by(|a, b| a[..=level] == b[..=level]) {
            let (start, wide) = (left + width * begin as f64, width * group.len() as f64);
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "pixels")]
            let letters = ((wide / LETTER) as usize).max(3);
            let text = crate::format::clip(&label(map.across[level], group[0][level]), letters);
            svg.text(
                start + wide / 2.0,
                y,
                Anchor::Middle,
                if level == 0 { ink } else { soft },
                &text,
            );
            begin += group.len();
        }
    }
    svg.text(16.0, top - 12.0, Anchor::Start, soft, &down.name);
    for (row, line) in cells.cells.iter().enumerate() {
        let y = top + ROW * row as f64;
        svg.text(left - 10.0, y + 17.0, Anchor::End, ink, &label(map.down, row));
        for (column, cell) in line.iter().enumerate() {
            let share = cell.map(|(_, value)| figure.share(value, low, high));
            let fill =
                share.map_or("#f0f1f3".to_owned(), |share| mixed(COLD, HOT, SHADES.of_hot(share)));
            let x = left + width * column as f64;
            svg.rect((x, y), (width - 1.5, ROW - 1.5), &format!("fill=\"{fill}\""));
            let colour =
                if share.is_some_and(|share| SHADES.is_hot(share)) { ON_HOT } else { ON_COLD };
            let text = cell.map(|(row, value)| figure.label(row, value)).or_nothing();
            let size = if width < 52.0 { 9 } else { 11 };
            svg.text(
                x + width / 2.0,
                y + 17.0,
                Anchor::Middle,
                &format!("fill=\"{colour}\" font-size=\"{size}\""),
                &text,
            );
        }
    }
    let below = top + ROW * cells.cells.len() as f64 + 24.0;
    let scale = if figure.is_linear(low) {
        tr!(largest_latency_all_repeats, low = from, high = to)
    } else {
        tr!(largest_latency_all_repeats_darker, low = from, high = to)
    };
    svg.text(left, below, Anchor::Start, soft, &scale);
    svg.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_has_the_same_colours() {
        let style = include_str!("../../assets/page.css");
        let light =
            format!("--cold: {COLD}; --hot: {HOT}; --on-cold: {ON_COLD}; --on-hot: {ON_HOT};");
        assert_eq!(
            style.matches(&light).count(),
            2,
            "on a screen with light colours, and on paper"
        );
        assert!(style.contains("color-mix(in oklab, var(--hot) var(--share), var(--cold))"));
    }
}
