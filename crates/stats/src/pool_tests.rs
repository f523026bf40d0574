// SPDX-License-Identifier: MIT OR Apache-2.0
//! Runs that are pooled: figures are those of all their rows, and no block is of two runs.

use crate::accounting::Sink;
use crate::random::Numbers;
use crate::rows::Chunk;
use crate::{
    Accounting, AccountingRule, Activations, AfterOverrun, Analysis, ExactRequest, Level, Refusal,
    Span, analyse, analyse_pool,
};
use proptest::prelude::*;

const INTERVAL: i64 = 1_000;

/// A span that a test can own.
#[derive(Clone, Debug)]
enum Owned {
    Woken(Vec<i32>),
    Long(i64),
    Missing(u64),
}

impl Owned {
    fn span(&self) -> Span<'_> {
        match self {
            Owned::Woken(values) => Span::Woken(values),
            Owned::Long(value) => Span::Long(*value),
            Owned::Missing(rows) => Span::Missing(*rows),
        }
    }
}

fn spans() -> impl Strategy<Value = Vec<Owned>> {
    let values = prop_oneof![0..900_i32, -50..2_000, 200_000..400_000, any::<i32>()];
    let span = prop_oneof![
        5 => proptest::collection::vec(values, 1..300).prop_map(Owned::Woken),
        1 => (0..5_000_000_000_i64).prop_map(Owned::Long),
        2 => (1..6_u64).prop_map(Owned::Missing),
    ];
    proptest::collection::vec(span, 0..6)
}

fn pooled(runs: &[Vec<Owned>], exact: &ExactRequest) -> Analysis {
    let runs: Vec<Vec<Span<'_>>> =
        runs.iter().map(|run| run.iter().map(Owned::span).collect()).collect();
    let rule = AccountingRule::from(AfterOverrun::Skip);
    let runs: Vec<(&[Span<'_>], AccountingRule)> =
        runs.iter().map(|run| (run.as_slice(), rule)).collect();
    let Ok(analysis) = analyse_pool(&runs, INTERVAL, exact);
    analysis
}

/// Every latency, one by one.
#[derive(Default)]
struct Listed {
    measured: Vec<i64>,
    all: Vec<i64>,
}

impl Sink for Listed {
    fn woken(&mut self, _: u64, latencies: Chunk<'_>) {
        latencies.values.iter().for_each(|value| self.woken_one(0, i64::from(*value)));
    }

    fn woken_one(&mut self, _: u64, latency_ns: i64) {
        self.measured.push(latency_ns);
        self.all.push(latency_ns);
    }

    fn skipped(&mut self, waited_ns: i64) {
        self.all.push(waited_ns);
    }

    fn lost(&mut self, _: u64) {}
}

/// All latencies of these runs in ascending order, what became of their activations, and how many
/// each run has.
fn listed(runs: &[Vec<Owned>]) -> (Listed, Activations, u64, Vec<u64>) {
    let (mut listed, mut counts, mut lost, mut of_each) =
        (Listed::default(), Activations::default(), 0, Vec::new());
    for run in runs {
        let before = listed.all.len();
        let mut accounting = Accounting::new(INTERVAL, AfterOverrun::Skip);
        run.iter().for_each(|span| accounting.visit(span.span(), &mut listed));
        accounting.finish(&mut listed);
        counts.merge(&accounting.activations());
        lost += accounting.lost();
        of_each.push((listed.all.len() - before) as u64);
    }
    listed.measured.sort_unstable();
    listed.all.sort_unstable();
    (listed, counts, lost, of_each)
}

fn at(sorted: &[i64], level: Level) -> Option<i64> {
    let rank = usize::try_from(level.rank(sorted.len() as u64)).unwrap();
    sorted.get(rank.checked_sub(1)?).copied()
}

proptest! {
    #[test]
    fn figures_are_those_of_all_rows_together(
        runs in proptest::collection::vec(spans(), 1..8),
        limit in prop_oneof![-50..2_000_i64, any::<i64>()],
    ) {
        let exact = ExactRequest { levels: vec![Level::P90], limits_ns: vec![limit] };
        let pool = pooled(&runs, &exact);
        let (listed, counts, lost, of_each) = listed(&runs);
        prop_assert_eq!((pool.statistics.activations, pool.statistics.lost), (counts, lost));
        let both = [
            (&listed.measured, pool.statistics.latency),
            (&listed.all, pool.statistics.latency_with_skipped),
        ];
        for (sorted, summary) in both {
            prop_assert_eq!(summary.map_or(0, |summary| summary.count), sorted.len() as u64);
            let Some(summary) = summary else { continue };
            prop_assert_eq!(
                (Some(summary.min), Some(summary.max)),
                (sorted.first().copied(), sorted.last().copied())
            );
            prop_assert_eq!(summary.quantiles(), Level::ALL.map(|level| at(sorted, level)));
            let sum: i128 = sorted.iter().map(|value| i128::from(*value)).sum();
            #[expect(clippy::cast_precision_loss)]
            let mean = sum as f64 / sorted.len() as f64;
            prop_assert!(
                (summary.mean - mean).abs() <= mean.abs() * 1e-12,
                "{} {mean}",
                summary.mean
            );
        }
        prop_assert_eq!(
            pool.above(limit),
            listed.all.iter().filter(|value| **value > limit).count() as u64
        );
        prop_assert_eq!(
            pool.quantile(Level::P90, 0.95).map(|interval| interval.observed),
            at(&listed.all, Level::P90)
        );
        let of_blocks: Vec<u64> = pool
            .blocks
            .runs()
            .map(|run| run.iter().map(|block| block.counts.total()).sum::<u64>())
            .collect();
        prop_assert_eq!(of_blocks, of_each);
    }

    /// A pool of one run is that run.
    #[test]
    fn one_run_is_no_pool(run in spans(), limit in 0..2_000_i64) {
        let exact = ExactRequest { levels: vec![Level::P99], limits_ns: vec![limit] };
        let spans: Vec<Span<'_>> = run.iter().map(Owned::span).collect();
        let Ok(alone) = analyse(spans.as_slice(), INTERVAL, AfterOverrun::Skip, 64, &exact);
        let pool = pooled(std::slice::from_ref(&run), &exact);
        prop_assert_eq!(
            (pool.statistics.latency, pool.statistics.activations),
            (alone.statistics.latency, alone.statistics.activations)
        );
        for level in Level::ALL {
            prop_assert_eq!(pool.quantile(level, 0.95), alone.quantile(level, 0.95));
            prop_assert_eq!(pool.quantile_bound(level, 0.95), alone.quantile_bound(level, 0.95));
        }
        let rate = |analysis| Analysis::rate_of_all(std::slice::from_ref(analysis), limit, 0.95);
        prop_assert_eq!(rate(&pool), rate(&alone));
    }
}

/// Runs of 3,000 latencies: each of about 5 µs, in ns, its level shifted by `apart` times chance.
fn shifted_runs(runs: usize, apart: f64) -> Vec<Vec<Owned>> {
    let mut numbers = Numbers::new(7);
    let run = |_| {
        let level = 5_000.0 + apart * numbers.normal();
        #[expect(clippy::cast_possible_truncation)]
        let one = |_| (level + 100.0 * numbers.normal()) as i32;
        vec![Owned::Woken((0..3_000).map(one).collect())]
    };
    (0..runs).map(run).collect()
}

/// Where runs differ from one another by more than their rows do, there is hardly more to know than
/// one thing of each.
#[test]
fn intervals_allow_for_what_differs_from_run_to_run() {
    let effective = |apart| {
        pooled(&shifted_runs(50, apart), &ExactRequest::default())
            .quantile(Level::P50, 0.975)
            .unwrap()
            .effective
    };
    let (alike, apart) = (effective(0.0), effective(1_000.0));
    assert!(alike > 100_000.0, "{alike} of 150,000 independent ones");
    assert!((10.0..100.0).contains(&apart), "{apart} of 50 runs");
}

/// Runs that come one after the other by chance alone do not make latencies that change.
#[test]
fn a_pool_has_no_course_in_time() {
    let pool = pooled(&shifted_runs(20, 1_000.0), &ExactRequest::default());
    assert!(matches!(pool.tail(), Err(Refusal::Pooled)) && pool.changes().is_empty());
    assert!(pool.statistics.worst.is_empty() && pool.periods.is_empty());
}

/// Of thousands of runs there are no more than a few blocks each.
#[test]
fn blocks_of_many_runs_are_few() {
    let pool = pooled(&shifted_runs(300, 0.0), &ExactRequest::default());
    let runs: Vec<usize> = pool.blocks.runs().map(<[_]>::len).collect();
    assert_eq!(runs.len(), 300);
    assert!(runs.iter().sum::<usize>() <= 1_024, "{runs:?}");
}
