// SPDX-License-Identifier: MIT OR Apache-2.0
//! Analysis of one thread's rows: statistics, confidence intervals, the extrapolated tail, periods,
//! changes and modes.

use crate::accounting::Sink;
use crate::blocks::Blocks;
use crate::bound::AllThreads;
use crate::collect_in_blocks::CollectInBlocks;
use crate::distribution::{Counted, Distribution};
use crate::extreme::{Observed, Tail, latest};
use crate::group;
use crate::interval::Latencies;
use crate::rows::Chunk;
use crate::summary::{Collect, Places, of_buckets};
use crate::time::{Change, JitterOverTime, Recurrence};
use crate::{
    Accounting, AccountingRule, Between, Bucket, ExactRequest, Level, LinearHistogram, Mode,
    Moments, Period, QuantileInterval, RateInterval, Refusal, Rows, Statistics, Summary, TailFit,
    Worst, WorstActivations,
};

/// How many of the largest latencies are stored with their activations. Tails and clusters are
/// fitted to them.
const LARGEST: usize = 4_096;

/// The first pass: statistics, blocks, the largest latencies, periods, jitter and linear bins.
struct FirstPass {
    blocks: CollectInBlocks,
    largest: WorstActivations,
    skipped: WorstActivations,
    recurrence: Recurrence,
    jitter: JitterOverTime,
    linear: LinearHistogram,
}

impl Sink for FirstPass {
    fn woken(&mut self, first: u64, latencies: Chunk<'_>) {
        let extent = self.blocks.add_chunk(first, latencies);
        self.largest.offer_chunk(first, latencies.values, extent.max);
        self.recurrence.woken(first, latencies, extent.max);
        self.jitter.woken(latencies.values, extent);
        self.linear.record_all(latencies.values);
    }

    fn woken_one(&mut self, activation: u64, latency_ns: i64) {
        self.blocks.woken_one(activation, latency_ns);
        self.largest.offer(activation, latency_ns);
        self.recurrence.woken_one(activation, latency_ns);
        self.jitter.woken_one(latency_ns);
        self.linear.record(latency_ns);
    }

    fn skipped(&mut self, waited_ns: i64) {
        self.blocks.skipped(waited_ns);
        self.skipped.offer(0, waited_ns);
        self.jitter.missing(1);
    }

    fn lost(&mut self, rows: u64) {
        self.blocks.lost(rows);
        self.jitter.missing(rows);
    }
}

/// Statistics of one thread with the data for intervals, tails and periods.
#[derive(Clone, Debug)]
pub struct Analysis {
    /// As [`crate::summarise`] gives them, and jitter and bins of equal width.
    pub statistics: Statistics,
    /// The run in blocks, skipped activations counted in.
    pub blocks: Blocks,
    /// The largest latencies as measured, worst first.
    pub largest: Vec<Worst>,
    /// How long the skipped activations waited that waited longest, ns, worst first: as many as a
    /// comparison of the largest latencies may need.
    pub(crate) skipped: Vec<i64>,
    /// Late wake-ups that recur, the shortest period first.
    pub periods: Vec<Period>,
    /// Skipped activations counted in.
    counted: Counted,
    /// Sums of the run in blocks, with the values' sign; empty where nobody asked how much they
    /// vary.
    pub sums: Vec<Moments>,
    /// Of a histogram, between what the quantiles lie that were asked for.
    ends: Vec<(Level, Between)>,
    interval_ns: i64,
    rows: u64,
    /// Whether rows came in the order in which they were measured.
    is_ordered: bool,
}

/// Analyses the rows of one thread, in the same passes as [`crate::summarise`]. Memory does not
/// grow with the run: a few MB. What `exact` asks for may take a further pass.
///
/// # Errors
/// Errors of reading the rows.
pub fn analyse<R: Rows + ?Sized>(
    rows: &R,
    interval_ns: i64,
    rule: impl Into<AccountingRule>,
    max_steps: usize,
    exact: &ExactRequest,
) -> Result<Analysis, R::Error> {
    let rule = rule.into();
    let mut first_pass = FirstPass {
        blocks: CollectInBlocks::new(
            Collect::new(max_steps, rows.size_hint()),
            Blocks::for_rows(rows.size_hint()),
        ),
        largest: WorstActivations::new(LARGEST),
        skipped: WorstActivations::new(group::LARGEST + 1),
        recurrence: Recurrence::new(),
        jitter: JitterOverTime::for_rows(max_steps, rows.size_hint()),
        linear: LinearHistogram::default(),
    };
    let mut accounting = Accounting::new(interval_ns, rule);
    rows.replay(&mut |span| accounting.visit(span, &mut first_pass))?;
    accounting.finish(&mut first_pass);
    let FirstPass { blocks, largest, skipped, recurrence, jitter, linear } = first_pass;
    let (collect, blocks) = blocks.finish();
    let mut periods = recurrence.finish();
    let (mut statistics, counted) =
        collect.finish(&[(rows, rule)], interval_ns, &[accounting], exact)?;
    statistics.jitter = jitter.finish();
    statistics.linear = linear;
    periods.retain(|period| period.stands_out_of(&counted));
    let rows = statistics.activations.due + statistics.lost;
    Ok(Analysis {
        statistics,
        blocks,
        largest: largest.list(),
        skipped: skipped.list().iter().map(|worst| worst.latency_ns).collect(),
        periods,
        counted,
        sums: Vec::new(),
        interval_ns,
        rows,
        ends: Vec::new(),
        is_ordered: true,
    })
}

/// Analyses the rows of one thread in several runs, in order, as those of one run: `runs` are its
/// rows and their rule in each. They are runs that differ in chance alone, as phases do, and are
/// independent of one another. Figures are those of all rows together, and exact. What depends on
/// when in a run something was is not known of them: the largest latencies, periods, jitter,
/// changes, the tail.
///
/// # Errors
/// Errors of reading the rows.
pub fn analyse_pool<R: Rows + ?Sized>(
    runs: &[(&R, AccountingRule)],
    interval_ns: i64,
    exact: &ExactRequest,
) -> Result<Analysis, R::Error> {
    let rows_of_one = runs.iter().map(|(rows, _)| rows.size_hint()).max().unwrap_or(0);
    let rows_of_all = runs.iter().map(|(rows, _)| rows.size_hint()).sum();
    let blocks = Blocks::for_runs(runs.len(), rows_of_one);
    let mut pass = CollectInBlocks::new(Collect::new(STEPS_OF_POOL, rows_of_all), blocks);
    let mut accountings = Vec::with_capacity(runs.len());
    for (place, (rows, rule)) in runs.iter().enumerate() {
        if place > 0 {
            pass.begin_run();
        }
        let mut accounting = Accounting::new(interval_ns, *rule);
        rows.replay(&mut |span| accounting.visit(span, &mut pass))?;
        accounting.finish(&mut pass);
        accountings.push(accounting);
    }
    let (collect, blocks) = pass.finish();
    let (mut statistics, counted) = collect.finish(runs, interval_ns, &accountings, exact)?;
    statistics.worst.clear();
    let rows = statistics.activations.due + statistics.lost;
    Ok(Analysis {
        statistics,
        counted,
        blocks,
        rows,
        ends: Vec::new(),
        is_ordered: true,
        ..Analysis::from_figures(None, interval_ns)
    })
}

/// Nobody draws a pool over time.
const STEPS_OF_POOL: usize = 2;

impl Analysis {
    /// What is left where only figures were written down.
    pub fn from_figures(figures: Option<Summary>, interval_ns: i64) -> Analysis {
        Analysis {
            statistics: Statistics::from_figures(figures),
            blocks: Blocks::for_rows(0),
            largest: Vec::new(),
            skipped: Vec::new(),
            periods: Vec::new(),
            counted: Counted::from(Distribution::new(0)),
            sums: Vec::new(),
            interval_ns,
            rows: 0,
            ends: Vec::new(),
            is_ordered: false,
        }
    }

    /// What is left where only a histogram is known: see [`Statistics::from_histogram`]. No
    /// intervals are given then, because they depend on how successive latencies are
    /// correlated.
    pub fn from_histogram(buckets: &[Bucket], interval_ns: i64, exact: &ExactRequest) -> Analysis {
        let (statistics, counted) = of_buckets(buckets, exact);
        let (rows, places) = (statistics.activations.due, Places::new(buckets));
        let ends = Level::ALL.iter().chain(&exact.levels).filter_map(|level| {
            let bucket = places.bucket(level.rank(counted.count()))?;
            Some((*level, Between::ends(bucket)?))
        });
        let ends = ends.collect();
        Analysis { statistics, counted, ends, rows, ..Analysis::from_figures(None, interval_ns) }
    }

    #[cfg(test)]
    pub(crate) fn counted(&self) -> &Counted {
        &self.counted
    }

    fn latencies(&self) -> Latencies<'_> {
        Latencies { counted: &self.counted, blocks: &self.blocks }
    }

    /// A quantile of all activations, skipped ones counted in, with an interval each of whose two
    /// ends has this confidence (above one half). None where nothing woke.
    pub fn quantile(&self, level: Level, confidence: f64) -> Option<QuantileInterval> {
        let histogram = &self.statistics.histogram;
        if !histogram.knows_rank(level.rank(self.counted.count())) {
            return None;
        }
        let found = self.latencies().quantile(level, confidence)?;
        if self.is_ordered {
            return Some(found);
        }
        // It may have been stated beside the buckets.
        let all = self.statistics.latency_with_skipped;
        let stated = Level::ALL.iter().position(|known| *known == level);
        let stated = all
            .zip(stated)
            .map(|(all, place)| (all.quantiles()[place], all.between.quantiles()[place]));
        let (observed, between) = stated.unwrap_or_else(|| {
            let ends = self.ends.iter().find(|(of, _)| *of == level).map(|(_, ends)| *ends);
            (None, ends.map(|ends| all.map_or(ends, |all| all.opened(ends))))
        });
        let observed = observed.unwrap_or(found.observed);
        Some(QuantileInterval {
            observed,
            between,
            lower: None,
            upper: None,
            effective: 0.0,
            level,
        })
    }

    /// Whether this quantile was written down beside a histogram which does not tell it.
    pub fn states(&self, level: Level) -> bool {
        let is_known = self.counted.count() == 0 || self.ends.iter().any(|(of, _)| *of == level);
        let place = Level::ALL.iter().position(|known| *known == level);
        let all = self.statistics.latency_with_skipped.zip(place);
        let stated = all.is_some_and(|(all, place)| {
            all.quantiles()[place].is_some() && all.between.quantiles()[place].is_none()
        });
        !self.is_ordered && is_known && stated
    }

    /// The rate of activations of several threads later than `limit` ns, skipped ones counted in,
    /// with an interval each of whose two ends has this confidence (above one half). None where
    /// nothing woke.
    pub fn rate_of_all(threads: &[Analysis], limit: i64, confidence: f64) -> Option<RateInterval> {
        let found = AllThreads::new(&threads.iter().map(Analysis::latencies).collect::<Vec<_>>())?
            .rate(limit, confidence);
        let is_known = threads.iter().all(|thread| thread.is_ordered);
        Some(if is_known {
            found
        } else {
            RateInterval { lower: 0.0, upper: 1.0, effective: 0.0, ..found }
        })
    }

    /// The upper end of that interval; it never rises with the limit, and is above the interval's
    /// own end where that of a higher limit is. What a gate judges a rate by.
    pub fn rate_bound_of_all(threads: &[Analysis], limit: i64, confidence: f64) -> Option<f64> {
        let bound = AllThreads::new(&threads.iter().map(Analysis::latencies).collect::<Vec<_>>())?
            .bound(limit, confidence);
        Some(if threads.iter().all(|thread| thread.is_ordered) { bound } else { 1.0 })
    }

    /// A quantile is at most this, ns, at a confidence; it never falls with the level. What a gate
    /// judges a quantile by. None where the data do not bound it.
    pub fn quantile_bound(&self, level: Level, confidence: f64) -> Option<i64> {
        if !self.is_ordered {
            return None;
        }
        AllThreads::new(&[self.latencies()])?.smallest_bounded(1.0 - level.share(), confidence)
    }

    /// How many activations were later than `limit` ns, skipped ones counted in; where the limit
    /// lies within a bucket of the histogram and was not asked for beforehand, at most so many.
    pub fn above(&self, limit: i64) -> u64 {
        self.counted.above(limit).1
    }

    /// The tail beyond the observed latencies, if the data support one.
    ///
    /// # Errors
    /// Why the tail is not extrapolated.
    pub fn tail(&self) -> Result<TailFit, Refusal> {
        if !self.is_ordered {
            return Err(Refusal::OrderUnknown);
        }
        if self.blocks.are_pooled() {
            return Err(Refusal::Pooled);
        }
        Tail::fit(&Observed {
            largest: &self.largest,
            blocks: &self.blocks,
            rows: self.rows,
            woken: self.statistics.moments.count(),
            interval_ns: self.interval_ns,
        })
    }

    /// The latest wake-ups that are independent of one another, at most so many.
    pub fn latest(&self, max: usize) -> Vec<Worst> {
        latest(&self.largest, max)
    }

    /// The modes of the latencies, if there are several.
    pub fn modes(&self) -> Vec<Mode> {
        crate::modes::modes(&self.counted, self.blocks.list())
    }

    /// Where and how the latencies changed during the run, if they did.
    pub fn changes(&self) -> Vec<Change> {
        if self.blocks.are_pooled() { Vec::new() } else { crate::time::changes(&self.blocks) }
    }
}
