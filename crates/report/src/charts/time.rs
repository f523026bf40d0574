// SPDX-License-Identifier: MIT OR Apache-2.0
//! Latency or jitter over time as SVG: recordings stacked, each with its loads, or overlaid.

use crate::charts::definition::Chart;
use crate::charts::definition::{Axes, Definition};
use crate::charts::load;
use crate::charts::options::{AxisScale, OverTime};
use crate::charts::plot::{BOTTOM, LEFT, Plot, RIGHT, SOFT, WIDTH, framed, us};
use crate::charts::scale::{Scale, tick_label};
use crate::charts::series::{Charts, Series};
use crate::charts::svg::{Anchor, Svg, colour};

const PANEL: f64 = 150.0;
/// Half the width and height, at least, of a value that stands alone.
const MARK: f64 = 1.3;
/// A panel of several recordings.
const OVERLAID: f64 = 320.0;
/// Steps of a panel: two pixels each.
const PANEL_STEPS: usize = 420;

pub(crate) fn draw(charts: &Charts, description: &str) -> String {
    if charts.style.overlay {
        overlaid(charts, description)
    } else {
        below_one_another(charts, description)
    }
}

/// The vertical axis of all panels.
fn vertical(charts: &Charts, bottom: f64, top: f64) -> Scale {
    let what = charts.style.over_time;
    let (min, max) = charts.range_ns(what).unwrap_or((1_000, 10_000));
    let (min, max, scale) = match what {
        OverTime::Latency => {
            let shift = charts.measured.period_ns();
            let limits = || charts.limits.iter().map(|limit| limit.latency_ns + shift);
            let linear = charts.measured.is_two_sided() || charts.style.below_zero;
            let scale = if linear { AxisScale::Linear } else { AxisScale::Log };
            (limits().fold(min, i64::min), limits().fold(max, i64::max), scale)
        }
        // Jitter has two sides, and so no logarithm.
        OverTime::Jitter => (min, max, AxisScale::Linear),
    };
    Scale::new(
        scale,
        Definition::new(charts.measured).over_time(what).y.range(scale, us(min), us(max)),
        bottom,
        top,
    )
}

/// The name of that axis, which says that it is logarithmic where it is.
fn name_of_values(charts: &Charts, axes: &Axes) -> &'static str {
    let linear = charts.style.below_zero && charts.style.over_time == OverTime::Latency;
    if linear { charts.measured.latency_us().said() } else { axes.y.full_name }
}

/// Recordings overlaid in one panel, at the same times.
fn overlaid(charts: &Charts, description: &str) -> String {
    let right = WIDTH - RIGHT;
    let (mut svg, top) = framed(Chart::Time, charts, description, 10.0 + OVERLAID + BOTTOM);
    let (top, bottom) = (top + 10.0, top + 10.0 + OVERLAID);
    let longest =
        charts.recordings.iter().map(|series| series.time.length_ns).max().unwrap_or(1).max(1);
    let what = charts.style.over_time;
    let definition = Definition::new(charts.measured);
    let (axes, unit) = (definition.over_time(what), definition.unit_ns);
    let x = Scale::linear(0.0, in_units(longest, unit), LEFT, right);
    let plot = Plot::new(x, vertical(charts, bottom, top));
    plot.grid(&mut svg, 10, 8, tick_label);
    // The widest first, so that the narrower ones are seen before them.
    let width = |series: &Series| {
        let (min, max) = series.time.drawn(what);
        min.iter().flatten().min().zip(max.iter().flatten().max()).map(|(min, max)| max - min)
    };
    let mut order: Vec<usize> = (0..charts.recordings.len()).collect();
    order.sort_by_key(|place| std::cmp::Reverse(width(&charts.recordings[*place])));
    for place in order {
        band(&mut svg, &plot, place, &charts.recordings[place], (what, unit));
    }
    if what == OverTime::Latency {
        plot.limits_up(&mut svg, charts);
    }
    plot.names(&mut svg, axes.x.full_name, name_of_values(charts, axes));
    svg.finish()
}

/// A panel for each recording, with its loads below it.
fn below_one_another(charts: &Charts, description: &str) -> String {
    let right = WIDTH - RIGHT;
    let heights: Vec<f64> = charts
        .recordings
        .iter()
        .map(|series| PANEL + 24.0 + load::height(&series.loads, right - LEFT))
        .collect();
    let whole = heights.iter().sum::<f64>().max(PANEL + 24.0) + BOTTOM - 12.0;
    let (mut svg, top) = framed(Chart::Time, charts, description, whole);
    let what = charts.style.over_time;
    let definition = Definition::new(charts.measured);
    let axes = definition.over_time(what);
    let mut next = top + 10.0;
    for (place, (series, height)) in charts.recordings.iter().zip(&heights).enumerate() {
        let (top, bottom) = (next, next + PANEL);
        next += height;
        let plot = Plot {
            x: Scale::linear(
                0.0,
                in_units(series.time.length_ns.max(1), definition.unit_ns),
                LEFT,
                right,
            ),
            y: vertical(charts, bottom, top),
            left: LEFT,
            right,
            top,
            bottom,
        };
        if series.loads.drawn.is_empty() {
            plot.grid(&mut svg, 10, 5, tick_label);
        } else {
            plot.lines(&mut svg, 10, 5, tick_label);
            load::draw(&mut svg, &plot, place, &series.loads);
        }
        recurring(&mut svg, &plot, series, definition.unit_ns);
        band(&mut svg, &plot, place, series, (what, definition.unit_ns));
        if what == OverTime::Latency {
            plot.limits_up(&mut svg, charts);
        }
        plot.name_y(&mut svg, name_of_values(charts, axes));
    }
    let below = svg.height - 8.0;
    svg.text(f64::midpoint(LEFT, right), below, Anchor::Middle, SOFT, axes.x.full_name);
    svg.finish()
}

/// Where late wake-ups recur: dotted lines, or ticks at the foot where those would be too near;
/// none nearer than that.
fn recurring(svg: &mut Svg, plot: &Plot, series: &Series, unit: i64) {
    let end = in_units(series.time.length_ns.max(1), unit);
    for period in &series.periods {
        let (first, every) = (period.first_ns / unit as f64, period.period_ns / unit as f64);
        let apart = plot.x.at(every) - plot.x.at(0.0);
        if apart.is_nan() || apart < 3.0 {
            continue;
        }
        let times = (0_u32..).map(|n| first + f64::from(n) * every).take_while(|at| *at <= end);
        let (top, style) = if apart >= 24.0 {
            (plot.top, " stroke-dasharray=\"2 4\"")
        } else {
            (plot.bottom - 6.0, "")
        };
        let lines: Vec<Vec<(f64, f64)>> =
            times.map(|at| vec![(plot.x.at(at), top), (plot.x.at(at), plot.bottom)]).collect();
        svg.path(
            &lines,
            &format!(
                "fill=\"none\" stroke=\"#16191d\" stroke-opacity=\"0.4\" \
                 stroke-width=\"0.8\"{style}"
            ),
        );
    }
}

/// A time in units of the horizontal axis.
fn in_units(ns: i64, unit: i64) -> f64 {
    ns as f64 / unit as f64
}

fn band(svg: &mut Svg, plot: &Plot, place: usize, series: &Series, (what, unit): (OverTime, i64)) {
    let time = series.time.reduced(PANEL_STEPS);
    let (min_ns, max_ns) = time.drawn(what);
    let at = |step: usize| plot.x.at(in_units(time.step_ns, unit) * step as f64);
    let extents: Vec<Option<(f64, f64)>> = min_ns
        .iter()
        .zip(max_ns)
        .map(|(min, max)| min.zip(*max).map(|(min, max)| (plot.y.at(us(min)), plot.y.at(us(max)))))
        .collect();
    let mut parts = Vec::new();
    let mut step = 0;
    for run in extents.chunk_by(|a, b| a.is_some() == b.is_some()) {
        let bounds: Vec<(f64, f64)> = run.iter().flatten().copied().collect();
        // One step between others without a value is a mark that can be seen.
        if let [(min, max)] = bounds.as_slice() {
            let (x, y) = (f64::midpoint(at(step), at(step + 1)), f64::midpoint(*min, *max));
            let (right, down) =
                (((at(step + 1) - at(step)) / 2.0).max(MARK), ((min - max).abs() / 2.0).max(MARK));
            parts.push(vec![
                (x - right, y - down),
                (x + right, y - down),
                (x + right, y + down),
                (x - right, y + down),
            ]);
            step += 1;
            continue;
        }
        let upper = (step..)
            .zip(&bounds)
            .flat_map(|(step, (_, max))| [(at(step), *max), (at(step + 1), *max)]);
        let lower = (step..step + bounds.len())
            .zip(&bounds)
            .rev()
            .flat_map(|(step, (min, _))| [(at(step + 1), *min), (at(step), *min)]);
        parts.push(upper.chain(lower).collect());
        step += run.len();
    }
    let colour = colour(place);
    svg.path(
        &parts,
        &format!(
            "fill=\"{colour}\" fill-opacity=\"0.45\" stroke=\"{colour}\" stroke-width=\"0.7\""
        ),
    );
    let diamond =
        |x: f64, y: f64| vec![(x - 4.0, y), (x, y - 4.0), (x + 4.0, y), (x, y + 4.0), (x - 4.0, y)];
    let explained = series.explained.iter().filter(|_| what == OverTime::Latency);
    let explained: Vec<Vec<(f64, f64)>> = explained
        .map(|one| {
            diamond(plot.x.at(in_units(one.since_start_ns, unit)), plot.y.at(us(one.latency_ns)))
        })
        .collect();
    if !explained.is_empty() {
        svg.path(&explained, "fill=\"#16191d\" stroke=\"none\"");
    }
    for worst in series.worst.iter().filter(|_| what == OverTime::Latency) {
        let x = plot.x.at(in_units(worst.since_start_ns, unit));
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
        .map(|(step, _)| {
            vec![
                (at(*step) - 3.0, plot.top - 7.0),
                (at(*step) + 3.0, plot.top - 7.0),
                (at(*step), plot.top - 1.0),
            ]
        })
        .collect();
    if !marks.is_empty() {
        svg.path(&marks, "fill=\"#16191d\" stroke=\"none\"");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ChartOptions;
    use crate::overview::Overview;
    use crate::synthetic::Synthetic;

    fn drawn(options: &ChartOptions) -> String {
        let recordings =
            [Synthetic::idle().with_jitter().build(), Synthetic::hackbench().with_jitter().build()];
        draw(&Charts::new(&Overview::all(&recordings), options, 10_000), "")
    }

    #[test]
    fn jitter_is_drawn_on_both_sides_of_zero() {
        let svg = drawn(&ChartOptions { over_time: OverTime::Jitter, ..ChartOptions::default() });
        assert!(svg.contains(">jitter, µs</text>") && svg.contains(">-"), "{svg}");
        assert!(!svg.contains("NaN"));
    }

    /// One event among steps without any has an extent of its own, in width and height.
    #[test]
    fn a_value_that_stands_alone_is_seen() {
        let mut recorded = Synthetic::idle().threads(1).build();
        let extents: Vec<stats::Extent> = (0..10)
            .map(|step| {
                let mut extent = stats::Extent::NOTHING;
                if step == 4 {
                    extent.record(20_000);
                }
                extent
            })
            .collect();
        recorded.threads[0].envelope = stats::Envelope::from_steps(1_000, extents);
        let recordings = [recorded];
        let svg =
            draw(&Charts::new(&Overview::all(&recordings), &ChartOptions::default(), 10_000), "");
        let path = svg.lines().find(|line| line.contains("fill-opacity=\"0.45\"")).unwrap();
        assert!(path.contains('H') && path.contains('V'), "it has no height: {path}");
    }

    #[test]
    fn two_runs_lie_over_one_another() {
        let apart = drawn(&ChartOptions::default());
        let over = drawn(&ChartOptions { overlay: true, ..ChartOptions::default() });
        let axes = |svg: &str| svg.matches("latency, µs (logarithmic)</text>").count();
        assert_eq!((axes(&apart), axes(&over)), (2, 1));
        let bands = |svg: &str| svg.matches("fill-opacity=\"0.45\"").count();
        assert_eq!((bands(&apart), bands(&over)), (2, 2));
    }
}
