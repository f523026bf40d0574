// SPDX-License-Identifier: MIT OR Apache-2.0
//! The share of activations that were later than each latency, with fitted tails.

use crate::charts::definition::{Chart, Definition};
use crate::charts::options::AxisScale;
use crate::charts::plot::{BOTTOM, LEFT, Plot, RIGHT, framed, stroke, us};
use crate::charts::scale::{Scale, tick_label};
use crate::charts::series::Charts;
use crate::charts::svg::colour;
use crate::language::tr;

pub(crate) fn draw(charts: &Charts, description: &str) -> String {
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
