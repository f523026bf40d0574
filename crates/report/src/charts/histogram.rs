// SPDX-License-Identifier: MIT OR Apache-2.0
//! The histogram as SVG: bins that grow with their values or all of one width, on either axis, as
//! counts or as shares.

use crate::charts::definition::Chart;
use crate::charts::definition::Definition;
use crate::charts::equal_bins::{self, EqualBins};
use crate::charts::options::{AxisScale, Heights};
use crate::charts::plot::{BOTTOM, LEFT, Plot, RIGHT, framed, stroke, us};
use crate::charts::scale::{Scale, tick_label};
use crate::charts::series::Charts;
use crate::charts::svg::colour;
use crate::language::tr;

/// Edges in µs, and the heights between them of each recording.
struct Bars {
    edges: Vec<f64>,
    heights: Vec<Vec<f64>>,
    label: String,
}

impl Bars {
    fn from_charts(charts: &Charts) -> Bars {
        let style = &charts.style;
        let equal: Vec<&EqualBins> =
            charts.recordings.iter().map(|series| &series.curve.equal).collect();
        let asked = style.bin_ns.or((style.x == AxisScale::Linear).then_some(style.auto_bin_ns));
        let shares = style.heights == Heights::Shares;
        let (edges, counts, width) = match asked
            .filter(|_| equal.iter().any(|equal| !equal.is_empty()))
        {
            Some(asked) => {
                let width = equal_bins::possible(&equal, asked);
                let drawn = equal_bins::drawn(&equal, width);
                (drawn.edges_ns, drawn.counts, Some(format!("{} µs", tick_label(us(width)))))
            }
            None => {
                let counts =
                    charts.recordings.iter().map(|series| series.curve.counts.clone()).collect();
                (charts.edges_ns.clone(), counts, None)
            }
        };
        let height =
            |n: u64, of: u64| if shares { 100.0 * n as f64 / of.max(1) as f64 } else { n as f64 };
        let heights = charts.recordings.iter().zip(&counts).map(|(series, counts)| {
            let all = series.curve.samples;
            counts.iter().map(|n| height(*n, all)).collect()
        });
        let label = Definition::new(charts.measured).steps.name(
            width.as_deref(),
            style.step_percent,
            style.heights,
        );
        Bars { heights: heights.collect(), edges: edges.iter().map(|ns| us(*ns)).collect(), label }
    }

    /// The height that one activation has at least.
    fn one(&self) -> f64 {
        let some = self.heights.iter().flatten().copied().filter(|height| *height > 0.0);
        some.fold(f64::INFINITY, f64::min).min(self.highest())
    }

    fn highest(&self) -> f64 {
        self.heights.iter().flatten().copied().fold(0.0, f64::max)
    }
}

pub(crate) fn draw(charts: &Charts, description: &str) -> String {
    let (mut svg, top) = framed(Chart::Histogram, charts, description, 360.0);
    let bars = Bars::from_charts(charts);
    let definition = Definition::new(charts.measured);
    let axes = &definition.histogram;
    let (bottom, right) = (svg.height - BOTTOM, svg.width - RIGHT);
    let limits = || charts.limits.iter().map(|limit| us(limit.latency_ns));
    let from = limits().chain(bars.edges.first().copied()).fold(f64::INFINITY, f64::min);
    let to = limits()
        .map(|limit| limit * definition.beyond_limit)
        .chain(bars.edges.last().copied())
        .fold(f64::NEG_INFINITY, f64::max);
    let (from, to) = if from < to { (from, to) } else { (1.0, 10.0) };
    let (one, highest) = (bars.one(), bars.highest());
    let (one, highest) = if highest > 0.0 { (one, highest) } else { (1.0, 1.0) };
    let style = &charts.style;
    let smallest = if style.y == AxisScale::Log { one } else { 0.0 };
    let plot = Plot::new(
        Scale::new(style.x, axes.x.range(style.x, from, to), LEFT, right),
        Scale::new(style.y, axes.y.range(style.y, smallest, highest), bottom, top),
    );
    plot.grid(&mut svg, 12, 7, tick_label);
    plot.interval(&mut svg, charts);
    plot.limits_across(&mut svg, charts, false);
    for (place, heights) in bars.heights.iter().enumerate() {
        let steps = steps(&plot, &bars.edges, heights);
        let fill = format!("fill=\"{}\" fill-opacity=\"0.12\" stroke=\"none\"", colour(place));
        // More than three grounds over one another are mud.
        if charts.recordings.len() <= 3 {
            svg.path(std::slice::from_ref(&steps), &fill);
        }
        svg.path(&[steps], &stroke(place, 1.6));
    }
    let x = if style.x == AxisScale::Log { axes.x.full_name } else { axes.x.name };
    let y = if style.y == AxisScale::Log {
        tr!(what_logarithmic, what = bars.label)
    } else {
        bars.label
    };
    plot.names(&mut svg, x, &y);
    svg.finish()
}

fn steps(plot: &Plot, edges: &[f64], heights: &[f64]) -> Vec<(f64, f64)> {
    let (Some(first), Some(last)) = (edges.first(), edges.last()) else { return Vec::new() };
    let mut points = vec![(plot.x.at(*first), plot.bottom)];
    for (height, edge) in heights.iter().zip(edges.windows(2)) {
        let y = plot.y.at(*height);
        if points.last().is_some_and(|(_, last)| (*last - y).abs() > 0.01) {
            points.push((plot.x.at(edge[0]), points[points.len() - 1].1));
            points.push((plot.x.at(edge[0]), y));
        }
    }
    points.push((plot.x.at(*last), points[points.len() - 1].1));
    points.push((plot.x.at(*last), plot.bottom));
    points
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ChartOptions;
    use crate::overview::Overview;
    use crate::synthetic::Synthetic;
    use plan::Nanos;

    fn bars(recordings: &[model::Recorded], options: &ChartOptions) -> (AxisScale, Bars) {
        let charts = Charts::new(&Overview::all(recordings), options, 10_000);
        (charts.style.x, Bars::from_charts(&charts))
    }

    #[test]
    fn a_microsecond_wide_where_asked_and_exact() {
        let recordings =
            [Synthetic::idle().threads(1).samples(&[4_999, 5_000, 5_999, 6_000]).build()];
        let (x, bars) =
            bars(&recordings, &ChartOptions { bin: Some(Nanos(1_000)), ..ChartOptions::default() });
        assert_eq!((x, bars.label.as_str()), (AxisScale::Linear, "activations in bins of 1 µs"));
        assert_eq!(bars.edges, [4.0, 5.0, 6.0, 7.0]);
        assert_eq!(bars.heights, [[1.0, 2.0, 1.0]]);
    }

    #[test]
    fn latencies_close_together_are_on_a_linear_axis_in_many_bins() {
        let close: Vec<i32> = (0..4_000).map(|n| 3_500 + n % 61 * 10).collect();
        let (x, bars) = bars(
            &[Synthetic::idle().threads(1).due(4_000).samples(&close).build()],
            &ChartOptions::default(),
        );
        assert_eq!(x, AxisScale::Linear);
        assert!(bars.heights[0].len() >= 30, "{:?}", bars.edges);
    }

    #[test]
    fn recordings_of_different_length_are_compared_by_shares() {
        let all =
            [Synthetic::idle().due(20_000).build(), Synthetic::hackbench().due(10_000).build()];
        let (_, shares) = bars(&all, &ChartOptions::default());
        assert!(shares.label.starts_with("% of activations in a step of "), "{}", shares.label);
        assert!(
            shares.heights.iter().all(|heights| (heights.iter().sum::<f64>() - 100.0).abs() < 1e-6)
        );
        let (_, counts) =
            bars(&all, &ChartOptions { heights: Some(Heights::Counts), ..ChartOptions::default() });
        assert!(counts.label.starts_with("activations in "));
        let (_, alike) = bars(
            &[Synthetic::idle().build(), Synthetic::idle().seed(2).build()],
            &ChartOptions::default(),
        );
        assert!(alike.label.starts_with("activations in "));
    }
}
