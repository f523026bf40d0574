// SPDX-License-Identifier: MIT OR Apache-2.0
//! The charts as SVG: for files, for paper, and for a browser that runs no scripts.

pub(crate) mod bins;
pub(crate) mod definition;
pub(crate) mod equal_bins;
mod exceedance;
pub(crate) mod fitted;
pub(crate) mod histogram;
pub(crate) mod load;
pub(crate) mod load_course;
pub(crate) mod options;
pub(crate) mod plot;
pub(crate) mod scale;
pub(crate) mod series;
pub(crate) mod svg;
pub(crate) mod time;
pub(crate) mod words;

use crate::overview::Overview;
use definition::Chart;
use series::Charts;

/// One chart of these recordings.
pub(crate) fn draw(chart: Chart, charts: &Charts, all: &[Overview<'_>]) -> String {
    let description = chart.described(charts, all);
    match chart {
        Chart::Histogram => histogram::draw(charts, &description),
        Chart::Time => time::draw(charts, &description),
        Chart::Exceedance => exceedance::draw(charts, &description),
    }
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
