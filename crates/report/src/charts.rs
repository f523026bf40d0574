// SPDX-License-Identifier: MIT OR Apache-2.0
//! The charts as SVG: for files, for paper, and for a browser that runs no scripts.

use crate::format;
use crate::language::{say, word};
use crate::load_chart;
use crate::overview::Overview;
use crate::scale::{Scale, tick_label};
use crate::series::{Charts, Series};
use crate::svg::{Anchor, Svg, colour, dash};
use crate::text;
use crate::words::Chart;

const WIDTH: u32 = 960;
const LEFT: f64 = 92.0;
const RIGHT: f64 = 24.0;
const BOTTOM: f64 = 54.0;
/// The title's line.
const TITLE: f64 = 26.0;
const LEGEND_LINE: f64 = 20.0;
const PANEL: f64 = 150.0;
/// Steps of a panel: two pixels each.
const PANEL_STEPS: usize = 420;

const GRID: &str = "stroke=\"#e3e5e8\" fill=\"none\"";
const AXIS: &str = "stroke=\"#8a9099\" fill=\"none\"";
pub(crate) const SOFT: &str = "fill=\"#5b626b\"";

/// One chart of these recordings.
pub(crate) fn draw(chart: Chart, charts: &Charts, all: &[Overview<'_>]) -> String {
    let description = chart.described(charts, all);
    match chart {
        Chart::Histogram => histogram(charts, &description),
        Chart::Time => over_time(charts, &description),
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

fn us(ns: i64) -> f64 {
    ns as f64 / 1e3
}

/// A picture of the usual size with title, legend and room for a plot.
fn framed(chart: Chart, charts: &Charts, description: &str, height: u32) -> (Svg, f64) {
    let names: Vec<String> = charts.recordings.iter().map(|series| series.curve.name.clone()).collect();
    let rows = legend_rows(&names, f64::from(WIDTH) - 32.0);
    let top = TITLE + 20.0 + rows.len() as f64 * LEGEND_LINE;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a few hundred pixels")]
    let mut svg = Svg::new(WIDTH, height + top as u32, chart.title(), description);
    svg.text(16.0, TITLE, Anchor::Start, "class=\"title\" font-size=\"16\" font-weight=\"600\" fill=\"#16191d\"", chart.title());
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

/// Rows of a legend `width` wide: where each name begins, which it is, and itself. A letter is taken to be 7 pixels wide, one of
/// double width 14.
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

fn stroke(place: usize, width: f64) -> String {
    line_of(colour(place), dash(place), width)
}

/// A line's attributes; `dash` is empty for a solid one.
pub(crate) fn line_of(colour: &str, dash: &str, width: f64) -> String {
    let dash = if dash.is_empty() { String::new() } else { format!(" stroke-dasharray=\"{dash}\"") };
    format!("stroke=\"{colour}\" stroke-width=\"{width}\" stroke-linejoin=\"round\" fill=\"none\"{dash}")
}

impl Plot {
    /// Lines at round values, and their labels.
    pub(crate) fn grid(&self, svg: &mut Svg, x_ticks: usize, y_ticks: usize, y_label: fn(f64) -> String) {
        self.lines(svg, x_ticks, y_ticks, y_label);
        for tick in self.x.ticks(x_ticks) {
            svg.text(self.x.at(tick), self.bottom + 18.0, Anchor::Middle, SOFT, &tick_label(tick));
        }
    }

    /// The same without labels of the horizontal axis.
    fn lines(&self, svg: &mut Svg, x_ticks: usize, y_ticks: usize, y_label: fn(f64) -> String) {
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

    fn names(&self, svg: &mut Svg, x: &str, y: &str) {
        svg.text((self.left + self.right) / 2.0, self.bottom + 40.0, Anchor::Middle, SOFT, x);
        self.name_y(svg, y);
    }

    fn name_y(&self, svg: &mut Svg, y: &str) {
        let middle = f64::midpoint(self.top, self.bottom);
        svg.text(18.0, middle, Anchor::Middle, &format!("{SOFT} transform=\"rotate(-90 18 {middle:.1})\""), y);
    }

    /// A line at one interval: what lies to its right is late.
    fn interval(&self, svg: &mut Svg, charts: &Charts) {
        if let Some(interval) = charts.interval_ns().filter(|interval| self.x.holds(us(*interval))) {
            let x = self.x.at(us(interval));
            svg.line((x, self.top), (x, self.bottom), "stroke=\"#5b626b\" stroke-dasharray=\"1 3\" fill=\"none\"");
            let label = say!("one interval, {time}", time = format::span(plan::Nanos(interval)));
            svg.text(x - 5.0, self.top + 12.0, Anchor::End, &format!("{SOFT} font-size=\"11\""), &label);
        }
    }
}

fn histogram(charts: &Charts, description: &str) -> String {
    let (mut svg, top) = framed(Chart::Histogram, charts, description, 360);
    let most = charts.recordings.iter().flat_map(|series| &series.curve.counts).max().copied().unwrap_or(1).max(1);
    let edges: Vec<f64> = charts.edges_ns.iter().map(|ns| us(*ns)).collect();
    let (bottom, right) = (svg.height() - BOTTOM, svg.width() - RIGHT);
    let plot = Plot {
        x: Scale::log(edges[0], edges[edges.len() - 1], LEFT, right),
        y: Scale::log(0.5, most as f64 * 1.6, bottom, top),
        left: LEFT,
        right,
        top,
        bottom,
    };
    plot.grid(&mut svg, 12, 7, tick_label);
    plot.interval(&mut svg, charts);
    for (place, series) in charts.recordings.iter().enumerate() {
        let steps = steps(&plot, &edges, series);
        let fill = format!("fill=\"{}\" fill-opacity=\"0.12\" stroke=\"none\"", colour(place));
        // More than three grounds over one another are mud.
        if charts.recordings.len() <= 3 {
            svg.path(std::slice::from_ref(&steps), &fill);
        }
        svg.path(&[steps], &stroke(place, 1.6));
    }
    plot.names(&mut svg, word("wake-up latency, µs (logarithmic)"), word("activations in a step of 4.4 % (logarithmic)"));
    svg.finish()
}

fn steps(plot: &Plot, edges: &[f64], series: &Series) -> Vec<(f64, f64)> {
    let mut points = vec![(plot.x.at(edges[0]), plot.bottom)];
    for (count, edge) in series.curve.counts.iter().zip(edges.windows(2)) {
        let y = plot.y.at(*count as f64);
        if points.last().is_some_and(|(_, last)| (*last - y).abs() > 0.01) {
            points.push((plot.x.at(edge[0]), points[points.len() - 1].1));
            points.push((plot.x.at(edge[0]), y));
        }
    }
    points.push((plot.x.at(edges[edges.len() - 1]), points[points.len() - 1].1));
    points.push((plot.x.at(edges[edges.len() - 1]), plot.bottom));
    points
}

fn exceedance(charts: &Charts, description: &str) -> String {
    let (mut svg, top) = framed(Chart::Exceedance, charts, description, 380);
    let curves = || charts.recordings.iter().map(|series| (&series.curve, &series.curve.exceedance.latency_ns));
    let from = curves().filter_map(|(_, x)| x.first()).min().copied().unwrap_or(1_000);
    let tails = || charts.recordings.iter().map(|series| series.tail.as_ref());
    let last = tails().flatten().filter_map(|tail| tail.latency_ns.last());
    let to = curves().filter_map(|(_, x)| x.last()).chain(last).max().copied().unwrap_or(10_000);
    let most = charts.recordings.iter().map(|series| series.curve.samples).max().unwrap_or(1).max(10);
    // A fitted tail goes on to a tenth of one.
    let most = if tails().any(|tail| tail.is_some()) { most.saturating_mul(10) } else { most };
    let (bottom, right) = (svg.height() - BOTTOM, svg.width() - RIGHT);
    let plot = Plot {
        x: Scale::log(us(from), us(to) * 1.05, LEFT, right),
        y: Scale::log(0.7 / most as f64, 1.0, bottom, top),
        left: LEFT,
        right,
        top,
        bottom,
    };
    plot.grid(&mut svg, 12, 9, one_in);
    plot.interval(&mut svg, charts);
    for (place, tail) in tails().enumerate() {
        let Some(tail) = tail else { continue };
        let along = |shares: &[f64]| -> Vec<(f64, f64)> {
            let y = |share: f64| plot.y.at(share.clamp(0.7 / most as f64, 1.0));
            tail.latency_ns.iter().zip(shares).map(|(ns, share)| (plot.x.at(us(*ns)), y(*share))).collect()
        };
        let mut band = along(&tail.upper);
        band.extend(along(&tail.lower).into_iter().rev());
        svg.path(&[band], &format!("fill=\"{}\" fill-opacity=\"0.15\" stroke=\"none\"", colour(place)));
        svg.path(
            &[along(&tail.share)],
            &format!("fill=\"none\" stroke=\"{}\" stroke-width=\"1.4\" stroke-dasharray=\"2 3\"", colour(place)),
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
    plot.names(&mut svg, word("wake-up latency, µs (logarithmic)"), word("share of activations at least so late"));
    svg.finish()
}

/// A share as people say it: `1 in 1,000`.
fn one_in(share: f64) -> String {
    if share > 0.999 { say!("all") } else { say!("1 in {n}", n = tick_label((1.0 / share).round())) }
}

fn over_time(charts: &Charts, description: &str) -> String {
    let right = f64::from(WIDTH) - RIGHT;
    let heights: Vec<f64> =
        charts.recordings.iter().map(|series| PANEL + 24.0 + load_chart::height(&series.loads, right - LEFT)).collect();
    let whole = heights.iter().sum::<f64>().max(PANEL + 24.0) + BOTTOM - 12.0;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at most sixteen panels")]
    let (mut svg, top) = framed(Chart::Time, charts, description, whole as u32);
    let (min, max) = charts.range_ns().unwrap_or((1_000, 10_000));
    let mut next = top + 10.0;
    for (place, (series, height)) in charts.recordings.iter().zip(&heights).enumerate() {
        let (top, bottom) = (next, next + PANEL);
        next += height;
        let seconds = plan::Nanos(series.time.length_ns.max(1)).as_secs_f64();
        let plot = Plot {
            x: Scale::linear(0.0, seconds, LEFT, right),
            y: Scale::log(us(min).max(0.1) * 0.8, us(max).max(0.2) * 1.25, bottom, top),
            left: LEFT,
            right,
            top,
            bottom,
        };
        if series.loads.drawn.is_empty() {
            plot.grid(&mut svg, 10, 5, tick_label);
        } else {
            plot.lines(&mut svg, 10, 5, tick_label);
            load_chart::draw(&mut svg, &plot, place, &series.loads);
        }
        recurring(&mut svg, &plot, series);
        band(&mut svg, &plot, place, series);
        plot.name_y(&mut svg, word("latency, µs (logarithmic)"));
    }
    let below = svg.height() - 8.0;
    svg.text(f64::midpoint(LEFT, right), below, Anchor::Middle, SOFT, word("time since the first activation, s"));
    svg.finish()
}

/// Where late wake-ups recur: dotted lines, or ticks at the foot where those would be too near; none nearer than that.
fn recurring(svg: &mut Svg, plot: &Plot, series: &Series) {
    let end = plan::Nanos(series.time.length_ns.max(1)).as_secs_f64();
    for period in &series.periods {
        let (first, every) = (period.first_ns / 1e9, period.period_ns / 1e9);
        let apart = plot.x.at(every) - plot.x.at(0.0);
        if apart.is_nan() || apart < 3.0 {
            continue;
        }
        let times = (0_u32..).map(|n| first + f64::from(n) * every).take_while(|at| *at <= end);
        let (top, style) = if apart >= 24.0 { (plot.top, " stroke-dasharray=\"2 4\"") } else { (plot.bottom - 6.0, "") };
        let lines: Vec<Vec<(f64, f64)>> = times.map(|at| vec![(plot.x.at(at), top), (plot.x.at(at), plot.bottom)]).collect();
        svg.path(&lines, &format!("fill=\"none\" stroke=\"#16191d\" stroke-opacity=\"0.4\" stroke-width=\"0.8\"{style}"));
    }
}

fn band(svg: &mut Svg, plot: &Plot, place: usize, series: &Series) {
    let time = series.time.reduced(PANEL_STEPS);
    let at = |step: usize| plot.x.at(plan::Nanos(time.step_ns).as_secs_f64() * step as f64);
    let extents: Vec<Option<(f64, f64)>> = time
        .min_ns
        .iter()
        .zip(&time.max_ns)
        .map(|(min, max)| min.zip(*max).map(|(min, max)| (plot.y.at(us(min)), plot.y.at(us(max)))))
        .collect();
    let mut parts = Vec::new();
    let mut step = 0;
    for run in extents.chunk_by(|a, b| a.is_some() == b.is_some()) {
        let bounds: Vec<(f64, f64)> = run.iter().flatten().copied().collect();
        let upper = (step..).zip(&bounds).flat_map(|(step, (_, max))| [(at(step), *max), (at(step + 1), *max)]);
        let lower =
            (step..step + bounds.len()).zip(&bounds).rev().flat_map(|(step, (min, _))| [(at(step + 1), *min), (at(step), *min)]);
        parts.push(upper.chain(lower).collect());
        step += run.len();
    }
    let colour = colour(place);
    svg.path(&parts, &format!("fill=\"{colour}\" fill-opacity=\"0.45\" stroke=\"{colour}\" stroke-width=\"0.7\""));
    for worst in &series.worst {
        let x = plot.x.at(plan::Nanos(worst.since_start_ns).as_secs_f64());
        svg.circle(
            x,
            plot.y.at(us(worst.latency_ns)),
            2.6,
            &format!("fill=\"#ffffff\" stroke=\"{colour}\" stroke-width=\"1.3\""),
        );
    }
    let marks: Vec<Vec<(f64, f64)>> = time
        .missing
        .iter()
        .map(|(step, _)| vec![(at(*step) - 3.0, plot.top - 7.0), (at(*step) + 3.0, plot.top - 7.0), (at(*step), plot.top - 1.0)])
        .collect();
    if !marks.is_empty() {
        svg.path(&marks, "fill=\"#16191d\" stroke=\"none\"");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::Synthetic;

    #[test]
    fn each_chart_is_one_whole_picture_with_words() {
        let recordings = [Synthetic::idle().title("</svg><script>").build(), Synthetic::hackbench().build()];
        let all = Overview::of_all(&recordings);
        let charts = Charts::new(&all, 10_000);
        for chart in Chart::ALL {
            let svg = draw(chart, &charts, &all);
            assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n") && svg.matches("</svg>").count() == 1);
            assert!(!svg.contains("<script>") && svg.contains("hackbench: "), "{chart:?}");
            assert!(!svg.contains("NaN") && !svg.contains("inf"), "{chart:?}");
            assert!(svg.len() < 120_000, "{chart:?}: {}", svg.len());
        }
    }

    #[test]
    fn nothing_woke_and_all_the_same_are_drawn_too() {
        for samples in [&[][..], &[5_000], &[-3, -3, -3], &[0, i32::MAX]] {
            let recordings = [Synthetic::idle().samples(samples).build()];
            let all = Overview::of_all(&recordings);
            let charts = Charts::new(&all, 1_000);
            for chart in Chart::ALL {
                let svg = draw(chart, &charts, &all);
                assert!(!svg.contains("NaN") && !svg.contains("inf\""), "{chart:?} of {samples:?}: {svg}");
            }
        }
    }
}
