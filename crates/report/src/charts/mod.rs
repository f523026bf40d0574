// SPDX-License-Identifier: MIT OR Apache-2.0
//! The charts as SVG: for files, for paper, and for a browser that runs no scripts. What they share
//! is here, with the exceedance.

pub(crate) mod bins;
pub(crate) mod definition;
pub(crate) mod equal_bins;
pub(crate) mod fitted;
pub(crate) mod histogram;
pub(crate) mod load;
pub(crate) mod load_course;
pub(crate) mod options;
pub(crate) mod scale;
pub(crate) mod series;
pub(crate) mod svg;
pub(crate) mod time;
pub(crate) mod words;

use crate::gate::LimitLine;
use crate::language::tr;
use crate::overview::Overview;
use crate::terminal::text;
use definition::Definition;
use judge::Verdict;
use options::AxisScale;
use scale::{Scale, tick_label};
use series::Charts;
use svg::{Anchor, Svg, colour, dash};
use words::Chart;

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

/// One chart of these recordings.
pub(crate) fn draw(chart: Chart, charts: &Charts, all: &[Overview<'_>]) -> String {
    let description = chart.described(charts, all);
    match chart {
        Chart::Histogram => histogram::draw(charts, &description),
        Chart::Time => time::draw(charts, &description),
        Chart::Exceedance => exceedance(charts, &description),
    }
}

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

fn exceedance(charts: &Charts, description: &str) -> String {
    let (mut svg, top) = framed(Chart::Exceedance, charts, description, 380.0);
    let definition = Definition::new(charts.measured);
    let axes = &definition.exceedance;
    let curves = || {
        charts.recordings.iter().map(|series| (&series.curve, &series.curve.exceedance.latency_ns))
    };
    let from = curves().filter_map(|(_, x)| x.first()).min().copied().unwrap_or(1_000);
    let tails = || charts.recordings.iter().map(|series| series.tail.as_ref());
    let last = tails().flatten().filter_map(|tail| tail.latency_ns.last());
    let limits = || charts.limits.iter().map(|limit| &limit.latency_ns);
    let from = limits().filter(|ns| **ns > 0).min().map_or(from, |limit| from.min(*limit));
    let to = curves()
        .filter_map(|(_, x)| x.last())
        .chain(last)
        .chain(limits())
        .max()
        .copied()
        .unwrap_or(10_000);
    let max =
        charts.recordings.iter().map(|series| series.curve.samples).max().unwrap_or(1).max(10);
    // A fitted tail goes on to a tenth of one.
    let max = if tails().any(|tail| tail.is_some()) { max.saturating_mul(10) } else { max };
    let (bottom, right) = (svg.height - BOTTOM, svg.width - RIGHT);
    let (min, all) = axes.y.range(AxisScale::Log, 1.0 / max as f64, 1.0);
    let x = if charts.style.below_zero {
        let beyond = (definition.beyond_limit - 1.0) * us(to - from);
        Scale::linear(us(from), us(to) + beyond, LEFT, right)
    } else {
        Scale::log(us(from), us(to) * definition.beyond_limit, LEFT, right)
    };
    let plot = Plot::new(x, Scale::log(min, all, bottom, top));
    plot.grid(&mut svg, 12, 9, one_in);
    plot.interval(&mut svg, charts);
    plot.limits_across(&mut svg, charts, true);
    for (place, tail) in tails().enumerate() {
        let Some(tail) = tail else { continue };
        let along = |shares: &[f64]| -> Vec<(f64, f64)> {
            let y = |share: f64| plot.y.at(share.clamp(min, all));
            tail.latency_ns
                .iter()
                .zip(shares)
                .map(|(ns, share)| (plot.x.at(us(*ns)), y(*share)))
                .collect()
        };
        let mut band = along(&tail.upper);
        band.extend(along(&tail.lower).into_iter().rev());
        svg.path(
            &[band],
            &format!("fill=\"{}\" fill-opacity=\"0.15\" stroke=\"none\"", colour(place)),
        );
        svg.path(
            &[along(&tail.share)],
            &format!(
                "fill=\"none\" stroke=\"{}\" stroke-width=\"1.4\" stroke-dasharray=\"2 3\"",
                colour(place)
            ),
        );
    }
    for (place, (curve, latencies)) in curves().enumerate() {
        let mut points: Vec<(f64, f64)> = Vec::new();
        for (ns, at_least) in latencies.iter().zip(&curve.exceedance.at_least) {
            let y = plot.y.at(*at_least as f64 / curve.samples as f64);
            points.extend(points.last().map(|(x, _)| (*x, y)));
            points.push((plot.x.at(us(*ns)), y));
        }
        if let Some((x, y)) = points.last().copied() {
            svg.path(&[points], &stroke(place, 1.8));
            svg.circle(x, y, 3.2, &format!("fill=\"{}\"", colour(place)));
        }
    }
    let x = if charts.style.below_zero { axes.x.name } else { axes.x.full_name };
    plot.names(&mut svg, x, axes.y.full_name);
    svg.finish()
}

/// A share as people say it: `1 in 1,000`.
fn one_in(share: f64) -> String {
    if share > 0.999 { tr!(all) } else { tr!(n1_in_n, n = tick_label((1.0 / share).round())) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ChartOptions;
    use crate::synthetic::Synthetic;

    #[test]
    fn each_chart_is_one_whole_picture_with_words() {
        let recordings =
            [Synthetic::idle().title("</svg><script>").build(), Synthetic::hackbench().build()];
        let all = Overview::all(&recordings);
        let charts = Charts::new(&all, &ChartOptions::default(), 10_000);
        for chart in Chart::ALL {
            let svg = draw(chart, &charts, &all);
            assert!(
                svg.starts_with("<svg ")
                    && svg.ends_with("</svg>\n")
                    && svg.matches("</svg>").count() == 1
            );
            assert!(!svg.contains("<script>") && svg.contains("hackbench: "), "{chart:?}");
            assert!(!svg.contains("NaN") && !svg.contains("inf"), "{chart:?}");
            assert!(svg.len() < 120_000, "{chart:?}: {}", svg.len());
        }
    }

    /// Where activations were skipped, tables count them in and charts do not.
    #[test]
    fn what_is_drawn_without_skipped_activations_says_so() {
        let drawn = |overruns: &[usize]| {
            let mut latencies = [10_000; 200];
            overruns.iter().for_each(|at| latencies[*at] = 5_500_000);
            let recordings = [Synthetic::idle().threads(1).title("a").samples(&latencies).build()];
            let all = Overview::all(&recordings);
            let charts = Charts::new(&all, &ChartOptions::default(), 1_000);
            Chart::ALL.map(|chart| draw(chart, &charts, &all))
        };
        for svg in drawn(&[]) {
            assert!(!svg.contains("s measured"), "{svg}");
        }
        for svg in drawn(&[10, 100]) {
            let (head, picture) = svg.split_once("</desc>").unwrap();
            let (title, description) = head.split_once("<desc").unwrap();
            assert!(
                title.contains(", as measured, without the 10 skipped activations</title>"),
                "{title}"
            );
            assert!(
                description.contains("As measured, without the 10 skipped activations."),
                "{description}"
            );
            assert!(
                picture.contains(", as measured, without the 10 skipped activations</text>"),
                "{picture}"
            );
        }
    }

    /// A core may wake a thread early. A logarithm has no place for that, and none is put where it
    /// is not.
    #[test]
    fn latencies_below_zero_are_where_they_are() {
        let early: Vec<i32> = (0..500).map(|n| -1_600 + n % 100).collect();
        let early = Synthetic::idle().threads(1).due(500).samples(&early).title("early").build();
        let late =
            Synthetic::idle().threads(1).due(500).samples(&[27_600; 500]).title("late").build();
        let asked = ChartOptions { x: Some(options::AxisScale::Log), ..ChartOptions::default() };
        for recordings in [vec![early.clone()], vec![late.clone(), early]] {
            let all = Overview::all(&recordings);
            for options in [&ChartOptions::default(), &asked] {
                let charts = Charts::new(&all, options, 10_000);
                assert!(charts.style.below_zero && charts.style.x == options::AxisScale::Linear);
                let rows = crate::page::tables::histogram(&charts).rows;
                let early = recordings.len();
                assert!(rows[0][0].starts_with("-1.6") && rows[0][early] != "0", "{rows:?}");
                assert!(
                    recordings.len() == 1
                        || rows.iter().any(|row| row[0].starts_with("27.") && row[1] == "500"),
                    "{rows:?}"
                );
                let points = &charts.recordings.last().unwrap().curve.exceedance;
                assert!(points.latency_ns.len() > 10, "{points:?}");
                assert!(
                    points.latency_ns[0] <= -1_600 && points.latency_ns.last() == Some(&-1_501),
                    "{points:?}"
                );
                for chart in Chart::ALL {
                    let svg = draw(chart, &charts, &all);
                    assert!(
                        !svg.contains("latency, µs (logarithmic)")
                            && !svg.contains("both axes logarithmic"),
                        "{svg}"
                    );
                    assert!(svg.contains(">-1") || recordings.len() > 1, "a tick below 0: {svg}");
                    assert!(!svg.contains("NaN") && !svg.contains("inf\""), "{svg}");
                }
            }
        }
        let recordings = [late];
        let all = Overview::all(&recordings);
        let charts = Charts::new(&all, &asked, 10_000);
        assert!(
            !charts.style.below_zero
                && draw(Chart::Exceedance, &charts, &all).contains("µs (logarithmic)")
        );
    }

    #[test]
    fn nothing_woke_and_all_the_same_are_drawn_too() {
        for samples in [&[][..], &[5_000], &[-3, -3, -3], &[0, i32::MAX]] {
            let recordings = [Synthetic::idle().samples(samples).build()];
            let all = Overview::all(&recordings);
            let charts = Charts::new(&all, &ChartOptions::default(), 1_000);
            for chart in Chart::ALL {
                let svg = draw(chart, &charts, &all);
                assert!(
                    !svg.contains("NaN") && !svg.contains("inf\""),
                    "{chart:?} of {samples:?}: {svg}"
                );
            }
        }
    }
}
