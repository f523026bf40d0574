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

/// Rows of a legend `width` wide: where each name begins, which it is, and itself. A letter is
/// taken to be 7 pixels wide, one of double width 14.
pub(crate) fn legend_rows(names: &[String], width: f64) -> Vec<Vec<(f64, usize, &str)>> {
    let mut rows: Vec<Vec<(f64, usize, &str)>> = vec![Vec::new()];
    let mut x = 0.0;
    for (place, name) in names.iter().enumerate() {
        let wide = 60.0 + 7.0 * text::columns(name) as f64;
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
            svg.text(self.x.at(tick), self.bottom + 18.0, Anchor::Middle, SOFT, &tick_label(tick));
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
            svg.text(
                x - 5.0,
                self.top + 12.0,
                Anchor::End,
                &format!("{SOFT} font-size=\"11\""),
                &interval.name,
            );
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
            let (x, anchor) = if x > f64::midpoint(self.left, self.right) {
                (x - 6.0, Anchor::End)
            } else {
                (x + 6.0, Anchor::Start)
            };
            label(svg, (x, y), anchor, ink, &limit.name);
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
            label(svg, (self.right - 6.0, y - 5.0), Anchor::End, ink, &limit.name);
        }
    }
}

/// On whatever is drawn below it.
fn label(svg: &mut Svg, (x, y): (f64, f64), anchor: Anchor, ink: &str, text: &str) {
    let style = "font-size=\"11\" font-weight=\"600\" stroke=\"#ffffff\" stroke-width=\"3\" \
                 paint-order=\"stroke\"";
    svg.text(x, y, anchor, &format!("fill=\"{ink}\" {style}"), text);
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
