// SPDX-License-Identifier: MIT OR Apache-2.0
//! Intervals and tests checked against known truth: series whose distribution is known, a thousand
//! at a time, and what scipy makes of the same numbers (`truth/extremes.json`, written by
//! `truth/extremes.py`).

use crate::chance::normal_quantile;
use crate::extreme::goodness::anderson_darling;
use crate::random::Numbers;
use crate::{
    AfterOverrun, Analysis, ChangeKind, ExactRequest, Excesses, Gev, Gpd, Group, Level, Measured,
    Part, Refusal, Span, analyse, compare,
};
use serde_json::Value;

#[path = "truth_compare_tests.rs"]
pub(crate) mod comparisons;
#[path = "truth_period_tests.rs"]
mod periods;

/// Number of series per check.
const SERIES: u64 = 1_000;
const INTERVAL_NS: i64 = 1_000_000;

fn analysis(latencies: &[i32]) -> Analysis {
    analysis_with(latencies, &ExactRequest::default())
}

fn analysis_with(latencies: &[i32], exact: &ExactRequest) -> Analysis {
    let Ok(analysis) =
        analyse(&[Span::Woken(latencies)][..], INTERVAL_NS, AfterOverrun::Skip, 64, exact);
    analysis
}

/// Rounded to ns, as a clock gives it.
#[expect(clippy::cast_possible_truncation)]
fn ns(latency: f64) -> i32 {
    latency.round() as i32
}

/// Latencies around 20 µs, each of which depends on the one before as `memory` says: none 0,
/// entirely 1.
fn normal(seed: u64, count: usize, memory: f64) -> Vec<i32> {
    let mut numbers = Numbers::new(seed);
    let mut state = numbers.normal();
    let next = |_| {
        let now = state;
        state = memory * state + (1.0 - memory * memory).sqrt() * numbers.normal();
        ns(20_000.0 + 3_000.0 * now)
    };
    (0..count).map(next).collect()
}

/// Latencies with a generalised Pareto tail, the largest of the last `together` of them: clusters
/// of that many.
fn pareto(seed: u64, count: usize, shape: f64, together: usize) -> Vec<i32> {
    let mut numbers = Numbers::new(seed);
    let all: Vec<f64> =
        (0..count + together - 1).map(|_| 10_000.0 + 2_000.0 * numbers.pareto(shape)).collect();
    all.windows(together).map(|last| ns(last.iter().copied().fold(0.0, f64::max))).collect()
}

/// Of all series, how many hold; at least and at most so many of 1,000 should.
fn holds(what: &str, min: usize, max: usize, one: impl Fn(u64) -> bool) {
    let count = (0..SERIES).filter(|seed| one(*seed)).count();
    println!("{what}: {count} of {SERIES}");
    assert!((min..=max).contains(&count), "{what}: {count} of {SERIES}");
}

/// 93 to 97 % of 1,000 series, which is what 95 % intervals are to hold.
fn covers(what: &str, inside: usize, of: usize) {
    println!("{what}: {inside} of {of}");
    assert!(inside * 100 >= of * 93 && inside * 100 <= of * 97, "{what}: {inside} of {of}");
}

fn holds_at_least(what: &str, inside: usize, of: usize) {
    println!("{what}: {inside} of {of}");
    assert!(inside * 100 >= of * 93, "{what}: {inside} of {of}");
}

/// Quantiles and rates of series without memory, and with much of it.
#[test]
fn quantiles_and_rates_are_where_they_are_said_to_be() {
    for (memory, count) in [(0.0, 20_000), (0.5, 20_000), (0.9, 40_000)] {
        let levels = [Level::P50, Level::P90, Level::P99, Level::P999];
        let mut inside = [(0, 0); 4];
        for seed in 0..SERIES {
            let analysis = analysis(&normal(seed, count, memory));
            for (level, (quantiles, rates)) in levels.into_iter().zip(&mut inside) {
                let truth = i64::from(ns(20_000.0 + 3_000.0 * normal_quantile(level.share())));
                let found = analysis.quantile(level, 0.975).unwrap();
                *quantiles += usize::from(
                    found.lower.is_none_or(|lower| lower <= truth)
                        && found.upper.is_none_or(|upper| upper >= truth),
                );
                let found =
                    Analysis::rate_of_all(std::slice::from_ref(&analysis), truth, 0.975).unwrap();
                let rate = 1.0 - level.share();
                *rates += usize::from(found.lower <= rate && rate <= found.upper);
            }
        }
        for (level, (quantiles, rates)) in levels.into_iter().zip(inside) {
            covers(&format!("{level} of {count}, memory {memory}"), quantiles, 1_000);
            let what = format!("rate beyond {level} of {count}, memory {memory}");
            // Clopper and Pearson's limits hold at least as often as they say, and oftener where
            // few are counted.
            if level == Level::P999 {
                holds_at_least(&what, rates, 1_000)
            } else {
                covers(&what, rates, 1_000)
            }
        }
    }
}

/// Short series: too few blocks to see whether they depend on one another, or blocks that all do.
/// What is stated holds nearly as often as it says, or nothing is.
#[test]
fn intervals_of_short_series_cover_the_truth() {
    for (count, memory, min) in
        [(250, 0.9, 93), (2_000, 0.9, 93), (2_000, 0.99, 90), (20_000, 0.99, 90)]
    {
        for level in [Level::P50, Level::P90] {
            let truth = i64::from(ns(20_000.0 + 3_000.0 * normal_quantile(level.share())));
            let inside = |seed: &u64| {
                let found = analysis(&normal(*seed, count, memory)).quantile(level, 0.975).unwrap();
                found.lower.is_none_or(|lower| lower <= truth)
                    && found.upper.is_none_or(|upper| upper >= truth)
            };
            let inside = (0..400).filter(inside).count();
            println!("{level} of {count}, memory {memory}: {inside} of 400");
            assert!(
                inside * 100 >= 400 * min,
                "{level} of {count}, memory {memory}: {inside} of 400"
            );
        }
    }
    // 256 that do not depend on one another cannot show it; of 20,000 the largest is surely below a
    // quantile that few are beyond.
    let few = analysis(&normal(1, 256, 0.0)).quantile(Level::P90, 0.975).unwrap();
    assert_eq!((few.lower, few.upper), (None, None));
    let all: Vec<Option<i64>> = {
        let many = analysis(&normal(1, 20_000, 0.0));
        Level::ALL.into_iter().map(|level| many.quantile(level, 0.975).unwrap().lower).collect()
    };
    assert!(all.iter().all(Option::is_some) && all.is_sorted(), "{all:?}");
}

/// A run of two halves shows as much of its median as one or two latencies would: nothing.
#[test]
fn latencies_that_all_depend_on_one_another_do_not_bound_a_median() {
    for seed in 0..50 {
        let mut latencies = normal(seed, 400, 0.0);
        latencies[128..].iter_mut().for_each(|latency| *latency += 40_000);
        let found = analysis(&latencies).quantile(Level::P50, 0.975).unwrap();
        assert!(found.effective < 4.0, "{found:?}");
        assert_eq!((found.lower, found.upper), (None, None), "{found:?}");
    }
}

/// What is exceeded once in ten runs, by tails that end, are exponential and are heavy, alone and
/// in clusters.
#[test]
fn levels_are_where_they_are_said_to_be() {
    for (shape, count, together) in
        [(-0.2, 10_000, 1), (0.0, 10_000, 1), (0.2, 10_000, 1), (0.1, 20_000, 3)]
    {
        #[expect(clippy::cast_precision_loss)]
        let longer = 10.0 * count as f64;
        let truth = 10_000.0 + 2_000.0 * Gpd { shape, scale: 1.0 }.excess_at(longer.ln());
        let (mut inside, mut significant) = (0, 0);
        for seed in 0..SERIES {
            if let Ok(fit) = analysis(&pareto(seed, count, shape, together)).tail() {
                significant += 1;
                inside += usize::from(
                    fit.exceeded_once_in(longer)
                        .is_none_or(|(_, lower, upper)| lower <= truth && truth <= upper),
                );
            }
        }
        assert!(significant >= 950, "shape {shape}: refused {} of 1,000", 1_000 - significant);
        covers(&format!("shape {shape}, {together} together"), inside, significant);
    }
}

/// A number of the expectations, or a list of them.
fn number(value: &Value) -> f64 {
    value.as_f64().unwrap()
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(number).collect()
}

fn near(what: &str, found: f64, expected: f64, tolerance: f64) {
    assert!(
        (found - expected).abs() <= tolerance * expected.abs().max(0.1),
        "{what}: {found} is not {expected}"
    );
}

#[test]
fn as_scipy_fits_them() {
    let truth: Value = serde_json::from_str(include_str!("../truth/extremes.json")).unwrap();
    for case in truth["gpd"].as_array().unwrap() {
        let (name, values) = (case["name"].as_str().unwrap(), numbers(&case["excesses"]));
        let excesses = Excesses::from_values(&values).unwrap();
        let fit = excesses.fit();
        near(name, fit.shape, number(&case["shape"]), 0.003);
        near(name, fit.scale, number(&case["scale"]), 0.001);
        near(name, fit.log_likelihood(&values), number(&case["log_likelihood"]), 1e-6);
        near(name, anderson_darling(&fit, &values), number(&case["anderson_darling"]), 0.003);
        let exponential = number(&case["horizon"]).ln();
        near(name, fit.excess_at(exponential), number(&case["level"]), 0.003);
        let region = excesses.region(&fit, 1.0);
        let (lower, upper) = region.excess_at(exponential);
        let interval = numbers(&case["level_interval"]);
        near(name, lower, interval[0], 0.005);
        near(name, upper.unwrap(), interval[1], 0.01);
        let interval = numbers(&case["shape_interval"]);
        near(name, region.shape.0, interval[0].max(-0.5), 0.01);
        near(name, region.shape.1, interval[1], 0.01);
    }
    for case in truth["gev"].as_array().unwrap() {
        let (name, maxima) = (case["name"].as_str().unwrap(), numbers(&case["maxima"]));
        let fit = Gev::fit(&maxima).unwrap();
        near(name, fit.shape, number(&case["shape"]), 0.01);
        near(name, fit.location, number(&case["location"]), 0.001);
        near(name, fit.scale, number(&case["scale"]), 0.002);
        near(name, fit.log_likelihood(&maxima), number(&case["log_likelihood"]), 1e-6);
        let blocks = number(&case["blocks"]);
        near(name, fit.level(blocks), number(&case["level"]), 0.002);
        let (lower, upper) = fit.level_interval(&maxima, blocks);
        let interval = numbers(&case["level_interval"]);
        near(name, lower, interval[0], 0.005);
        near(name, upper.unwrap(), interval[1], 0.01);
    }
}

/// Document 004: 20 µs, and once in 100,000 activations 28 ms.
#[test]
fn an_outlier_is_not_continued() {
    for (count, outliers) in [(100_000, 1), (1_000_000, 10)] {
        for seed in 0..20 {
            let mut latencies = normal(seed, count, 0.3);
            let mut numbers = Numbers::new(seed + 77);
            for outlier in 0..outliers {
                latencies[outlier * 100_000 + numbers.below(100_000)] =
                    28_000_000 + ns(40_000.0 * numbers.normal());
            }
            let refusal = analysis(&latencies).tail().unwrap_err();
            let Refusal::Apart(apart) = refusal else { panic!("{refusal:?}") };
            assert_eq!(apart.count, outliers, "{refusal:?}");
            assert!((27e6..29e6).contains(&apart.min) && apart.next < 50_000.0, "{refusal:?}");
        }
    }
}

#[test]
fn a_run_that_changes_is_not_continued() {
    let mut refused = 0;
    for seed in 0..50 {
        let mut latencies = normal(seed, 40_000, 0.3);
        latencies[30_000..].iter_mut().for_each(|latency| *latency += 4_000);
        let analysis = analysis(&latencies);
        refused += usize::from(matches!(analysis.tail(), Err(Refusal::Changed(_))));
        let changes = analysis.changes();
        assert!((1..=2).contains(&changes.len()), "{changes:?}");
        for change in changes {
            assert_eq!(change.kind, ChangeKind::Step, "{change:?}");
            assert!(
                change.activation.abs_diff(30_000) <= 600 && change.after_ns > change.before_ns,
                "{change:?}"
            );
        }
    }
    assert_eq!(refused, 50, "continued though it changed");
}

#[test]
fn what_stays_the_same_does_not_change() {
    for memory in [0.0, 0.9, 0.99, 0.995] {
        holds(&format!("changes, memory {memory}"), 0, 5, |seed| {
            !analysis(&normal(seed, 20_000, memory)).changes().is_empty()
        });
    }
    // Rising a quarter from the first activation to the last.
    let rising: Vec<i32> = normal(1, 40_000, 0.3)
        .into_iter()
        .zip(0..)
        .map(|(latency, k): (i32, i32)| latency + k / 8)
        .collect();
    let changes = analysis(&rising).changes();
    assert!(
        changes
            .iter()
            .any(|change| change.part == Part::Middle && change.kind == ChangeKind::Drift),
        "{changes:?}"
    );
}

/// Two parts of a run, put together, are the run.
mod parts {
    use super::*;
    use crate::{Histogram, Moments, WorstActivations};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn merged_are_the_whole(
            mut values in proptest::collection::vec(
                prop_oneof![0..40_000_i32, -9..3_000_000_i32],
                2..3_000,
            ),
            cut in 0.0..1.0_f64,
        ) {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                clippy::cast_precision_loss
            )]
            let cut = (values.len() as f64 * cut) as usize;
            let of = |some: &[i32]| {
                let (mut histogram, mut moments, mut worst) =
                    (Histogram::default(), Moments::default(), WorstActivations::new(50));
                for (activation, value) in (0..).zip(some) {
                    histogram.record(i64::from(*value));
                    moments.record(i64::from(*value));
                    worst.offer(activation, i64::from(*value));
                }
                (histogram, moments, worst)
            };
            let whole = analysis(&values);
            prop_assert_eq!(&whole.statistics.histogram, &of(&values).0);
            let (mut histogram, mut moments, _) = of(&values[..cut]);
            let rest = of(&values[cut..]);
            histogram.merge(&rest.0);
            moments.merge(&rest.1);
            prop_assert_eq!(&whole.statistics.histogram, &histogram);
            prop_assert_eq!(whole.statistics.moments, moments);
            // The blocks hold what the whole holds, whatever they were joined to.
            for times in [1, 2, 5, 1_000] {
                let blocks = whole.blocks.coarser(times);
                let all = blocks.iter().fold(crate::Block::default(), |all, block| all.join(block));
                prop_assert_eq!(all.counts.total(), moments.count());
                prop_assert_eq!(all.max, moments.max());
                for limit in [0, 100, 20_000, 131_072, 1_000_000] {
                    prop_assert_eq!(
                        all.counts.above(limit),
                        histogram
                            .buckets()
                            .filter(|bucket| bucket.lower > limit)
                            .map(|bucket| bucket.count)
                            .sum::<u64>()
                    );
                }
            }
            // Rates are counted exactly, and neither they nor quantiles depend on the order
            // within a block.
            let limit = i64::from(values[values.len() / 2]);
            let above = values.iter().filter(|value| i64::from(**value) > limit).count() as u64;
            prop_assert_eq!(
                Analysis::rate_of_all(std::slice::from_ref(&whole), limit, 0.95).unwrap().beyond,
                above
            );
            let before = whole.quantile(Level::P99, 0.95);
            values.chunks_mut(128).for_each(|block| block.reverse());
            prop_assert_eq!(analysis(&values).quantile(Level::P99, 0.95), before);
        }
    }
}

/// Latencies of several modes: each `(share, centre, spread)` in ns.
fn mixed(seed: u64, count: usize, modes: &[(f64, f64, f64)]) -> Vec<i32> {
    let mut numbers = Numbers::new(seed);
    let next = |_| {
        let mut left = numbers.share();
        let mode = modes.iter().find(|(share, ..)| {
            left -= share;
            left < 0.0
        });
        let (_, centre, spread) = mode.unwrap_or(&modes[0]);
        ns(centre + spread * numbers.normal())
    };
    (0..count).map(next).collect()
}

#[test]
fn one_mode_is_not_several() {
    let several = |latencies: &[i32]| usize::from(!analysis(latencies).modes().is_empty());
    for memory in [0.0, 0.9, 0.99] {
        let found: usize = (0..200).map(|seed| several(&normal(seed, 20_000, memory))).sum();
        assert!(found <= 1, "memory {memory}: {found} of 200");
    }
    for shape in [-0.2, 0.0, 0.3] {
        let found: usize = (0..100).map(|seed| several(&pareto(seed, 20_000, shape, 1))).sum();
        assert!(found <= 1, "shape {shape}: {found} of 100");
    }
    // A coarse clock has steps and no modes: 1 µs, and 24, 19.2, 14.3 and 3.58 MHz, which are no
    // whole ns; also with a stray value.
    for step in [1_000.0, 41.666_7, 52.083_3, 69.841_3, 279.365] {
        let found: usize = (0..40)
            .map(|seed| {
                let mut latencies: Vec<i32> = normal(seed, 20_000, 0.3)
                    .iter()
                    .map(|value| ns((f64::from(*value) / 4.0 / step).round() * step))
                    .collect();
                latencies[77] = 23_457;
                several(&latencies)
            })
            .sum();
        assert!(found <= 1, "steps of {step} ns: {found} of 40");
    }
    // A section that is long now and then, evenly: nothing gathers at its end.
    let found: usize = (0..40)
        .map(|seed| {
            let mut numbers = Numbers::new(seed);
            let next = |_| {
                ns(2_000.0
                    + if numbers.share() < 0.7 { 2_000.0 } else { 48_000.0 } * numbers.share())
            };
            several(&(0..20_000).map(next).collect::<Vec<i32>>())
        })
        .sum();
    assert!(found <= 1, "a plateau: {found} of 40");
}

/// As in the lab's virtual time: nothing but a few values, far apart.
#[test]
fn modes_of_a_few_values_are_those_values() {
    let latencies: Vec<i32> = (0..20_000_i32)
        .map(|k| {
            let centre = match k * 7 % 10 {
                0..6 => 4_261,
                6..9 => 15_642,
                _ => 30_000,
            };
            centre + k % 3
        })
        .collect();
    let found = analysis(&latencies).modes();
    let expected = [(4_261, 0.6), (15_642, 0.3), (30_000, 0.1)];
    let near = found.iter().zip(expected).all(|(mode, (peak, share))| {
        (mode.peak_ns - peak).abs() < 200 && (mode.share - share).abs() < 0.01
    });
    assert!(found.len() == 3 && near, "{found:?}");
}

#[test]
fn several_modes_are_found_and_where_they_are() {
    for (modes, tolerance) in [
        (&[(0.7, 20_000.0, 1_000.0), (0.3, 26_000.0, 1_000.0)][..], 0.08),
        (&[(0.9, 12_000.0, 800.0), (0.07, 31_000.0, 2_000.0), (0.03, 83_000.0, 6_000.0)][..], 0.15),
        (&[(0.5, 6_026.0, 30.0), (0.5, 6_568.0, 30.0)][..], 0.02),
    ] {
        for seed in 0..20 {
            let found = analysis(&mixed(seed, 20_000, modes)).modes();
            assert_eq!(found.len(), modes.len(), "{found:?}");
            for (mode, (share, centre, _)) in found.iter().zip(modes) {
                #[expect(clippy::cast_precision_loss)]
                let off = (mode.peak_ns as f64 / centre - 1.0).abs();
                assert!(
                    off < tolerance && (mode.share - share).abs() < 0.02,
                    "{mode:?} is not {share} around {centre}"
                );
            }
        }
    }
}

/// Deviations on either side of 0, as those of intervals are: one is short after one that is long.
fn deviations(seed: u64, count: usize, tail: Option<f64>, times: i32) -> Group {
    let (mut numbers, mut before) = (Numbers::new(seed), 0.0);
    let mut late = || {
        numbers.share().max(1e-9).ln() * -300.0
            + tail.map_or(0.0, |shape| 100.0 * numbers.pareto(shape))
    };
    let values: Vec<i32> = (0..count)
        .map(|_| {
            let now = late();
            times * ns(now - std::mem::replace(&mut before, now))
        })
        .collect();
    let mut analysis = Analysis::from_figures(None, 1_000_000);
    let Ok(sums) = crate::block_moments(&[crate::Span::Woken(&values)][..]);
    analysis.sums = sums;
    Group { runs: vec![vec![Measured::from(&analysis)]], quantiles: None }
}

#[test]
fn groups_that_vary_alike_do_not_differ_significantly() {
    for (tail, count) in [(None, 10_240), (Some(0.0), 10_240), (Some(0.2), 16_384)] {
        let series: Vec<Group> =
            (0..=SERIES).map(|seed| deviations(seed + 7_000, count, tail, 1)).collect();
        holds(&format!("vary alike, tail {tail:?}"), 30, 75, |seed| {
            let seed = usize::try_from(seed).unwrap();
            let spread =
                crate::spread::compare_spread(&series[seed], &series[seed + 1], 0.05, false)
                    .unwrap();
            assert!(spread.ratio.is_some_and(|(lower, upper)| lower < upper));
            spread.is_significant()
        });
    }
}

#[test]
fn what_varies_more_is_seen_with_how_much() {
    for seed in 0..20 {
        let spread =
            compare(&deviations(seed, 20_000, None, 1), &deviations(seed + 500, 20_000, None, 2))
                .spread
                .unwrap();
        let (lower, upper) = spread.ratio.unwrap();
        assert!(spread.is_significant() && lower > 1.75 && upper < 2.3, "{spread:?}");
        assert!(
            (spread.base_sd_ns / 424.3 - 1.0).abs() < 0.05
                && spread.other_peak_to_peak_ns > spread.base_peak_to_peak_ns
        );
    }
}

/// Latencies beyond the counters of one ns each, more of them than are kept: what is said to be
/// observed was observed.
#[test]
fn a_quantile_is_a_latency_that_was_observed_also_of_long_ones() {
    let mut numbers = Numbers::new(5);
    let latencies: Vec<i32> =
        (0..20_000).map(|_| 300_000 + i32::try_from(numbers.below(199_901)).unwrap()).collect();
    let mut sorted = latencies.clone();
    sorted.sort_unstable();
    let (own, limit) = (Level::percent("77.7").unwrap(), 441_237);
    let analysis =
        analysis_with(&latencies, &ExactRequest { levels: vec![own], limits_ns: vec![limit] });
    for level in Level::ALL.into_iter().chain([own]) {
        let found = analysis.quantile(level, 0.95).unwrap();
        let rank = usize::try_from(level.rank(20_000)).unwrap();
        assert_eq!(found.observed, i64::from(sorted[rank - 1]), "{level}");
        assert!(found.lower.is_none_or(|lower| lower <= found.observed), "{found:?}");
        assert!(
            found
                .upper
                .is_none_or(|upper| found.observed <= upper && upper <= i64::from(sorted[19_999])),
            "{found:?}"
        );
    }
    let above = sorted.iter().filter(|value| i64::from(**value) > limit).count() as u64;
    assert_eq!(
        Analysis::rate_of_all(std::slice::from_ref(&analysis), limit, 0.95).unwrap().beyond,
        above
    );
}
