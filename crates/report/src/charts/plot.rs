// SPDX-License-Identifier: MIT OR Apache-2.0
//! What pictures of charts share: their size, title and legend, and the part that values are drawn
//! in, with its grid, its axes and the limits.

use crate::charts::definition::Chart;
use crate::charts::scale::{Scale, tick_label};
use crate::charts::series::Charts;
use crate::charts::svg::{Anchor, Svg, colour, dash};
use crate::gate::LimitLine;
use crate::terminal::text;
use judge::Verdict;

pub(crate) const WIDTH: f64 = 960.0;
pub(crate) const LEFT: f64 = 92.0;
pub(crate) const RIGHT: f64 = 24.0;
pub(crate) const BOTTOM: f64 = 54.0;
/// Steps of latency over time in all panels of an SVG file.
pub(crate) const STEPS_OF_A_FILE: usize = 20_000;
/// The title's line.
const TITLE: f64 = 26.0;
const LEGEND_LINE: f64 = 20.0;

const GRID: &str = "stroke=\"#e3e5e8\" fill=\"none\"";
const AXIS: &str = "stroke=\"#8a9099\" fill=\"none\"";
pub(crate) const SOFT: &str = "fill=\"#5b626b\"";

/// The part of a picture that values are drawn in.
pub(crate) struct Plot {
    pub(crate) x: Scale,
    pub(crate) y: Scale,
    pub(crate) left: f64,
    pub(crate) right: f64,
    pub(crate) top: f64,
    pub(crate) bottom: f64,
}

pub(crate) fn us(ns: i64) -> f64 {
    ns as f64 / 1e3
}

/// A picture of the usual size with title, legend and room for a plot.
pub(crate) fn framed(chart: Chart, charts: &Charts, description: &str, height: f64) -> (Svg, f64) {
    let names: Vec<String> =
        charts.recordings.iter().map(|series| series.curve.name.clone()).collect();
    let rows = legend_rows(&names, WIDTH - 32.0);
    let title = &chart.headed(charts);
    let top = TITLE + 20.0 + rows.len() as f64 * LEGEND_LINE;
    let mut svg = Svg::new(WIDTH, height + top, title, description);
    svg.text(
        16.0,
        TITLE,
        Anchor::Start,
        "class=\"title\" font-size=\"16\" font-weight=\"600\" fill=\"#16191d\"",
        title,
    );
    for (line, row) in rows.iter().enumerate() {
        let y = TITLE + 24.0 + line as f64 * LEGEND_LINE;
        for (x, place, name) in row {
            let x = x + 16.0;
            svg.line((x, y - 4.0), (x + 28.0, y - 4.0), &stroke(*place, 2.0));
            svg.text(x + 36.0, y, Anchor::Start, "fill=\"#16191d\"", name);
        }
    }
    (svg, top)
}

/// A letter is taken to be 7 pixels wide, one of double width 14.
fn width_of(text: &str) -> f64 {
    7.0 * text::columns(text) as f64
}

/// Rows of a legend `width` wide: where each name begins, which it is, and itself.
pub(crate) fn legend_rows(names: &[String], width: f64) -> Vec<Vec<(f64, usize, &str)>> {
    let mut rows: Vec<Vec<(f64, usize, &str)>> = vec![Vec::new()];
    let mut x = 0.0;
    for (place, name) in names.iter().enumerate() {
        let wide = 60.0 + width_of(name);
        if x + wide > width + 16.0 && x > 0.0 {
            rows.push(Vec::new());
            x = 0.0;
        }
        if let Some(row) = rows.last_mut() {
            row.push((x, place, name.as_str()));
        }
        x += wide;
    }
    rows
}

pub(crate) fn stroke(place: usize, width: f64) -> String {
    line_of(colour(place), dash(place), width)
}

/// A line's attributes; `dash` is empty for a solid one.
pub(crate) fn line_of(colour: &str, dash: &str, width: f64) -> String {
    let dash =
        if dash.is_empty() { String::new() } else { format!(" stroke-dasharray=\"{dash}\"") };
    format!(
        "stroke=\"{colour}\" stroke-width=\"{width}\" stroke-linejoin=\"round\" \
         fill=\"none\"{dash}"
    )
}

impl Plot {
    /// From where to where its axes go.
    pub(crate) const fn new(x: Scale, y: Scale) -> Plot {
        Plot { left: x.start, right: x.end, top: y.end, bottom: y.start, x, y }
    }

    /// Lines at round values, and their labels.
    pub(crate) fn grid(
        &self,
        svg: &mut Svg,
        x_ticks: usize,
        y_ticks: usize,
        y_label: fn(f64) -> String,
    ) {
        self.lines(svg, x_ticks, y_ticks, y_label);
        for tick in self.x.ticks(x_ticks) {
            let label = tick_label(tick);
            // The last number stands half beyond the plot.
            let x = self.x.at(tick).min(svg.width - width_of(&label) / 2.0);
            svg.text(x, self.bottom + 18.0, Anchor::Middle, SOFT, &label);
        }
    }

    /// The same without labels of the horizontal axis.
    pub(crate) fn lines(
        &self,
        svg: &mut Svg,
        x_ticks: usize,
        y_ticks: usize,
        y_label: fn(f64) -> String,
    ) {
        for tick in self.y.ticks(y_ticks) {
            let y = self.y.at(tick);
            svg.line((self.left, y), (self.right, y), GRID);
            svg.text(self.left - 8.0, y + 4.0, Anchor::End, SOFT, &y_label(tick));
        }
        for tick in self.x.ticks(x_ticks) {
            let x = self.x.at(tick);
            svg.line((x, self.top), (x, self.bottom), GRID);
        }
        svg.line((self.left, self.bottom), (self.right, self.bottom), AXIS);
    }

    pub(crate) fn names(&self, svg: &mut Svg, x: &str, y: &str) {
        svg.text((self.left + self.right) / 2.0, self.bottom + 40.0, Anchor::Middle, SOFT, x);
        self.name_y(svg, y);
    }

    pub(crate) fn name_y(&self, svg: &mut Svg, y: &str) {
        let middle = f64::midpoint(self.top, self.bottom);
        svg.text(
            18.0,
            middle,
            Anchor::Middle,
            &format!("{SOFT} transform=\"rotate(-90 18 {middle:.1})\""),
            y,
        );
    }

    /// A line at one interval: what lies to its right is late.
    pub(crate) fn interval(&self, svg: &mut Svg, charts: &Charts) {
        if let Some(interval) = charts.interval().filter(|interval| self.x.holds(us(interval.ns))) {
            let x = self.x.at(us(interval.ns));
            svg.line(
                (x, self.top),
                (x, self.bottom),
                "stroke=\"#5b626b\" stroke-dasharray=\"1 3\" fill=\"none\"",
            );
            let style = format!("{SOFT} font-size=\"11\"");
            self.name_line(svg, (x, self.top + 12.0), Anchor::End, &style, &interval.name);
        }
    }

    /// Lines at limits of latency on the horizontal axis, with a ground beyond those that fail;
    /// where `share`, beyond all of them and above the share of activations that each allows.
    pub(crate) fn limits_across(&self, svg: &mut Svg, charts: &Charts, share: bool) {
        // The share of what is at least so long has no lower side.
        let drawn = charts.limits.iter().filter(|limit| !(share && limit.is_lower));
        for (row, limit) in drawn.enumerate() {
            let (x, ink) = (self.x.at(us(limit.latency_ns)), ink_of(limit));
            let foot = limit.share.filter(|_| share).map_or(self.bottom, |share| self.y.at(share));
            let has_ground = if share { limit.share.is_some() } else { fails(limit) };
            if has_ground {
                let (from, to) = if limit.is_lower { (self.left, x) } else { (x, self.right) };
                svg.rect(
                    (from, self.top),
                    (to - from, foot - self.top),
                    &format!("fill=\"{ink}\" fill-opacity=\"0.07\""),
                );
            }
            if foot < self.bottom {
                svg.line((x, foot), (self.right, foot), &line_of(ink, "6 3", 1.0));
            }
            svg.line((x, self.top), (x, self.bottom), &line_of(ink, "6 3", 1.6));
            let y = self.top + 28.0 + 15.0 * row as f64;
            let beyond = x > f64::midpoint(self.left, self.right);
            let anchor = if beyond { Anchor::End } else { Anchor::Start };
            self.name_line(svg, (x, y), anchor, &bold(ink), &limit.name);
        }
    }

    /// The same on the vertical axis.
    pub(crate) fn limits_up(&self, svg: &mut Svg, charts: &Charts) {
        let at = |limit: &LimitLine| us(limit.latency_ns + charts.measured.period_ns());
        for limit in charts.limits.iter().filter(|limit| self.y.holds(at(limit))) {
            let (y, ink) = (self.y.at(at(limit)), ink_of(limit));
            if fails(limit) {
                let (top, foot) = if limit.is_lower { (y, self.bottom) } else { (self.top, y) };
                let size = (self.right - self.left, foot - top);
                svg.rect((self.left, top), size, &format!("fill=\"{ink}\" fill-opacity=\"0.07\""));
            }
            svg.line((self.left, y), (self.right, y), &line_of(ink, "6 3", 1.6));
            self.name_line(svg, (self.right, y - 5.0), Anchor::End, &bold(ink), &limit.name);
        }
    }

    /// The name of a line at `x`, to its left or right, moved to where all of it is in the plot.
    fn name_line(
        &self,
        svg: &mut Svg,
        (x, y): (f64, f64),
        anchor: Anchor,
        style: &str,
        name: &str,
    ) {
        let width = width_of(name);
        let x = match anchor {
            Anchor::End => (x - 6.0).max(self.left + width),
            _ => (x + 6.0).min(self.right - width),
        };
        svg.text(x, y, anchor, style, name);
    }
}

/// On whatever is drawn below it.
fn bold(ink: &str) -> String {
    format!(
        "fill=\"{ink}\" font-size=\"11\" font-weight=\"600\" stroke=\"#ffffff\" \
         stroke-width=\"3\" paint-order=\"stroke\""
    )
}

fn fails(limit: &LimitLine) -> bool {
    limit.verdict == Some(Verdict::Fail)
}

/// Dark on white, and none of a recording's colours.
const fn ink_of(limit: &LimitLine) -> &'static str {
    match limit.verdict {
        Some(Verdict::Fail) => "#b3004b",
        Some(Verdict::Pass) => "#00705a",
        Some(Verdict::NotEnough) | None => "#7a5c00",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where the text begins and ends, by the same width of a letter.
    fn extent(svg: &str, text: &str) -> (f64, f64) {
        let line = svg.lines().find(|line| line.ends_with(&format!(">{text}</text>"))).unwrap();
        let of = |key: &str| line.split_once(&format!("{key}=\"")).unwrap().1;
        let x: f64 = of("x").split('"').next().unwrap().parse().unwrap();
        let width = width_of(text);
        match of("text-anchor").split('"').next().unwrap() {
            "start" => (x, x + width),
            "middle" => (x - width / 2.0, x + width / 2.0),
            _ => (x - width, x),
        }
    }

    #[test]
    fn labels_at_an_edge_are_within_the_picture() {
        let mut svg = Svg::new(WIDTH, 400.0, "", "");
        let x = Scale::log(10.0, 10_000_000.0, LEFT, WIDTH - RIGHT);
        let plot = Plot::new(x, Scale::linear(0.0, 1.0, 300.0, 20.0));
        plot.grid(&mut svg, 8, 2, tick_label);
        plot.name_line(&mut svg, (LEFT + 9.0, 30.0), Anchor::End, SOFT, "one interval, 200 µs");
        plot.name_line(&mut svg, (WIDTH - 40.0, 30.0), Anchor::Start, SOFT, "at most 5 ms");
        let written = svg.finish();
        assert_eq!(extent(&written, "10,000,000"), (890.0, 960.0));
        assert_eq!(extent(&written, "one interval, 200 µs"), (92.0, 232.0));
        assert_eq!(extent(&written, "at most 5 ms").1, WIDTH - RIGHT);
    }
}
