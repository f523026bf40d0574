// SPDX-License-Identifier: MIT OR Apache-2.0
//! Everything that is said of one thread's latencies, from its rows.

use crate::accounting::Sink;
use crate::distribution::{Counted, Distribution};
use crate::quantile::{Population, Refinement};
use crate::rank::at_rank;
use crate::rows::Chunk;
use crate::{
    Accounting, AccountingRule, Activations, Between, Bounds, Bucket, Envelope, Extent, Histogram,
    Level, LinearHistogram, Moments, Rows, Worst, WorstActivations,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Latencies in brief, ns. Quantiles are nearest-rank: values that were observed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    pub count: u64,
    /// The smallest.
    pub min: i64,
    pub mean: f64,
    /// The standard deviation, divisor n - 1; none for a single value.
    pub sd: Option<f64>,
    /// The largest.
    pub max: i64,
    /// The median; this and the other quantiles are none where only the figures above are known.
    pub p50: Option<i64>,
    /// 90 % were at most this.
    pub p90: Option<i64>,
    /// 99 %.
    pub p99: Option<i64>,
    /// 99.9 %.
    pub p999: Option<i64>,
    /// 99.99 %.
    pub p9999: Option<i64>,
    /// Between what those lie that are not exactly known.
    #[serde(default, skip_serializing_if = "Bounds::is_none")]
    pub between: Bounds,
}

impl Summary {
    /// Those of [`Level::ALL`].
    pub const fn quantiles(&self) -> [Option<i64>; Level::ALL.len()] {
        [self.p50, self.p90, self.p99, self.p999, self.p9999]
    }

    /// What these figures say of the sizes of the same values: none of them is below the true one.
    #[expect(clippy::cast_precision_loss, reason = "a bound of a mean")]
    pub fn sizes(&self) -> Summary {
        let max = self.min.saturating_abs().max(self.max.saturating_abs());
        let min = if self.min <= 0 && self.max >= 0 {
            0
        } else {
            self.min.saturating_abs().min(self.max.saturating_abs())
        };
        // A mean of sizes is at most the root of the mean of squares.
        let mean = self.sd.map_or(max as f64, |sd| sd.hypot(self.mean)).min(max as f64);
        Summary {
            count: self.count,
            min,
            mean,
            sd: None,
            max,
            p50: None,
            p90: None,
            p99: None,
            p999: None,
            p9999: None,
            between: Bounds::default(),
        }
    }

    /// A quantile, if it is one of those and known.
    pub fn quantile(&self, level: Level) -> Option<i64> {
        Level::ALL
            .iter()
            .position(|known| *known == level)
            .and_then(|place| self.quantiles()[place])
    }
}

const WORST: usize = 10;

/// Statistics of one thread's rows.
#[derive(Clone, Debug, PartialEq)]
pub struct Statistics {
    /// On time, late, skipped.
    pub activations: Activations,
    /// Rows without a sample that no overrun explains.
    pub lost: u64,
    /// Latencies as measured; none when nothing woke.
    pub latency: Option<Summary>,
    /// With each skipped activation counted in: it waited from its own planned time.
    pub latency_with_skipped: Option<Summary>,
    pub histogram: Histogram,
    /// Of the latencies as measured, for combining threads.
    pub moments: Moments,
    /// Both with each skipped activation counted in; none where nothing was skipped.
    pub with_skipped: Option<(Histogram, Moments)>,
    /// The ten worst activations.
    pub worst: Vec<Worst>,
    pub envelope: Envelope,
    /// The smallest and the largest jitter of each step of the envelope, ns: by how much the time
    /// between two successive wake-ups differed from the interval, below zero where it was
    /// shorter. None where no two activations in succession woke. Empty unless
    /// [`crate::analyse`] was asked.
    pub jitter: Vec<Option<(i64, i64)>>,
    /// Latencies as measured, in bins of equal width. Empty unless [`crate::analyse`] was asked.
    pub linear: LinearHistogram,
}

impl Statistics {
    /// What is left where only a histogram is known: each latency as large as its bucket allows, so
    /// that no figure is below the true one. What happened when and how far latencies lie from
    /// one another is not known.
    pub fn from_histogram(buckets: &[Bucket]) -> Statistics {
        of_buckets(buckets, &ExactRequest::default()).0
    }

    /// The smallest, the mean, the largest and the quantiles as they were written down beside a
    /// histogram, whose buckets may be wider than that: those quantiles that can be ones of it.
    #[must_use]
    pub fn stated(mut self, figures: &Summary, buckets: &[Bucket]) -> Statistics {
        let places = Places::new(buckets);
        let state = |own: Summary| {
            let stated = figures.quantiles().into_iter().zip(figures.between.quantiles());
            let own_of = own.quantiles().into_iter().zip(own.between.quantiles());
            let mut known = stated.zip(own_of).zip(Level::ALL).map(|((stated, own), level)| {
                if stated.0.is_some_and(|ns| places.can_be(level, ns)) { stated } else { own }
            });
            let known: [_; Level::ALL.len()] =
                std::array::from_fn(|_| known.next().unwrap_or_default());
            let [p50, p90, p99, p999, p9999] = known.map(|(ns, _)| ns);
            let has_wide = own.between.has_wide;
            let between = Bounds { has_wide, ..figures.between };
            let between = between.with_quantiles(known.map(|(_, between)| between));
            Summary { count: own.count, p50, p90, p99, p999, p9999, between, ..*figures }
        };
        self.latency = self.latency.map(state);
        self.latency_with_skipped = self.latency_with_skipped.map(state);
        if let Some(latency) = &self.latency {
            self.moments = Moments::from_figures(latency);
        }
        self
    }

    /// The same of a smallest value that is not known.
    #[must_use]
    pub fn without_min(mut self) -> Statistics {
        self.moments.forget_min();
        self
    }

    /// The same of a mean that is not known.
    #[must_use]
    pub fn without_mean(mut self) -> Statistics {
        self.moments.forget_mean();
        self
    }

    /// The same where it is not known of how many values they are.
    #[must_use]
    pub fn without_count(mut self) -> Statistics {
        self.moments.forget_count();
        self
    }

    /// What is left where only figures were written down: they say neither how latencies were
    /// distributed nor what happened when.
    pub fn from_figures(figures: Option<Summary>) -> Statistics {
        Statistics {
            activations: Activations::default(),
            lost: 0,
            latency: figures,
            latency_with_skipped: figures,
            histogram: Histogram::default(),
            moments: figures
                .map_or_else(Moments::default, |figures| Moments::from_figures(&figures)),
            with_skipped: None,
            worst: Vec::new(),
            envelope: Envelope::new(2),
            jitter: Vec::new(),
            linear: LinearHistogram::default(),
        }
    }

    /// Latencies of every activation that was due, skipped ones counted in: in the histogram's
    /// buckets, and their sums.
    pub fn of_all_due(&self) -> (&Histogram, &Moments) {
        self.with_skipped
            .as_ref()
            .map_or((&self.histogram, &self.moments), |(histogram, moments)| (histogram, moments))
    }
}

/// The figures of a histogram's buckets, and all that was counted. Takes no longer however many
/// there are in a bucket.
pub(crate) fn of_buckets(buckets: &[Bucket], exact: &ExactRequest) -> (Statistics, Counted) {
    let (mut all, mut linear) = (Distribution::new(TAIL), LinearHistogram::default());
    let places = Places::new(buckets);
    let ascending = || places.buckets.iter().map(|(_, bucket)| bucket);
    for bucket in ascending() {
        all.record_n(bucket.upper, bucket.count);
    }
    let moments = all.moments();
    let counted = Counted::from(all);
    let mut histogram = counted.histogram().clone();
    let width = |bucket: &Bucket| bucket.upper.abs_diff(bucket.lower);
    if let Some(((_, last), others)) = places.buckets.split_last() {
        let widest = others.iter().map(|(_, bucket)| width(bucket)).max().unwrap_or(0);
        let usual = last.lower.unsigned_abs().min(widest.saturating_mul(4));
        if width(last) > usual.max(NARROW_NS) {
            histogram.set_beyond(*last);
        }
    }
    let within = counted.count() - histogram.beyond();
    for (_, bucket) in places.buckets.iter().filter(|(up_to, _)| *up_to <= within) {
        linear.record_n(bucket.upper, bucket.count);
    }
    linear.pack();
    let between = places.bounds(counted.count(), within);
    let value = |rank: u64| {
        let counts = ascending().map(|bucket| (bucket.upper, bucket.count));
        at_rank(counts, rank).map(|(value, _)| (rank, value))
    };
    let levels = Level::ALL.iter().chain(&exact.levels);
    let by_rank: BTreeMap<u64, i64> =
        ranks(counted.count(), levels).into_iter().filter_map(value).collect();
    let above = |limit: &i64| {
        (
            *limit,
            ascending().filter(|bucket| bucket.upper > *limit).map(|bucket| bucket.count).sum(),
        )
    };
    let latency = in_brief(&moments, &by_rank).map(|summary| {
        let known = |of: Option<i64>, level: Level| {
            of.filter(|_| histogram.knows_rank(level.rank(summary.count)))
        };
        Summary {
            sd: None,
            p50: known(summary.p50, Level::P50),
            p90: known(summary.p90, Level::P90),
            p99: known(summary.p99, Level::P99),
            p999: known(summary.p999, Level::P999),
            p9999: known(summary.p9999, Level::P9999),
            between,
            ..summary
        }
    });
    let count = counted.count();
    let statistics = Statistics {
        activations: Activations { due: count, on_time: count, late: 0, skipped: 0 },
        histogram,
        moments,
        linear,
        latency_with_skipped: latency,
        ..Statistics::from_figures(latency)
    };
    (statistics, counted.knowing(by_rank, exact.limits_ns.iter().map(above).collect()))
}

/// Where in a histogram each rank is.
pub struct Places {
    /// In ascending order, each with how many values are up to its end.
    buckets: Vec<(u64, Bucket)>,
}

impl Places {
    pub fn new(buckets: &[Bucket]) -> Places {
        let mut ascending: Vec<Bucket> =
            buckets.iter().copied().filter(|bucket| bucket.count > 0).collect();
        ascending.sort_by_key(|bucket| bucket.upper);
        let mut up_to = 0_u64;
        let buckets = ascending.into_iter().map(|bucket| {
            up_to = up_to.saturating_add(bucket.count);
            (up_to, bucket)
        });
        Places { buckets: buckets.collect() }
    }

    /// The bucket of the value of this rank (1 = smallest).
    pub(crate) fn bucket(&self, rank: u64) -> Option<&Bucket> {
        self.buckets.iter().find(|(up_to, _)| *up_to >= rank).map(|(_, bucket)| bucket)
    }

    /// Between what figures lie, of so many values, of which so many are within the histogram.
    fn bounds(&self, count: u64, within: u64) -> Bounds {
        let ends = |bucket: &Bucket| Between::ends(bucket);
        let mean = |of: fn(&Bucket) -> i64| {
            let sum =
                |(_, bucket): &(u64, Bucket)| i128::from(of(bucket)) * i128::from(bucket.count);
            let sum = self.buckets.iter().map(sum).fold(0_i128, i128::saturating_add);
            i64::try_from(sum.div_euclid(i128::from(count.max(1)))).unwrap_or(i64::MAX)
        };
        let (least, most) = (mean(|bucket| bucket.lower), mean(|bucket| bucket.upper));
        let wide = |(up_to, bucket): &(u64, Bucket)| {
            *up_to <= within && ends(bucket).and_then(Between::bound).is_some()
        };
        let bounds = Bounds {
            min: self.buckets.first().and_then(|(_, first)| ends(first)),
            mean: (least < most).then_some(Between { least, most: Some(most) }),
            max: self.buckets.last().and_then(|(_, last)| ends(last)),
            has_wide: self.buckets.iter().any(wide),
            ..Bounds::default()
        };
        bounds.with_quantiles(Level::ALL.map(|level| self.bucket(level.rank(count)).and_then(ends)))
    }

    /// Whether a quantile can be this many ns. Programs differ by one in the rank that it has.
    pub fn can_be(&self, level: Level, ns: i64) -> bool {
        let Some((count, _)) = self.buckets.last() else { return false };
        let rank = level.rank(*count);
        let lowest = self.bucket(rank.saturating_sub(1).max(1)).map(|bucket| bucket.lower);
        let highest = self.bucket(rank.saturating_add(1).min(*count)).map(|bucket| bucket.upper);
        lowest.zip(highest).is_some_and(|(lowest, highest)| (lowest..=highest).contains(&ns))
    }
}

/// A bucket no wider than this is none that everything beyond a histogram was put into, ns.
const NARROW_NS: u64 = 1_000;

/// First pass: all but the quantiles.
pub(crate) struct Collect {
    measured: Distribution,
    skipped: Distribution,
    worst: WorstActivations,
    envelope: Envelope,
}

/// Largest latencies kept as they are: enough for the 99.99th percentile of 40 million.
const TAIL: usize = 4_096;

/// What is to be known exactly of one thread's latencies, skipped activations counted in, beyond
/// what every summary has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExactRequest {
    pub levels: Vec<Level>,
    /// Limits, ns: how many latencies are above each.
    pub limits_ns: Vec<i64>,
}

/// The ranks of quantiles of so many latencies.
fn ranks<'a>(count: u64, levels: impl IntoIterator<Item = &'a Level>) -> Vec<u64> {
    levels.into_iter().map(|level| level.rank(count)).collect()
}

fn in_brief(moments: &Moments, by_rank: &BTreeMap<u64, i64>) -> Option<Summary> {
    let value = |level: Level| by_rank.get(&level.rank(moments.count())).copied();
    let [p50, p90, p99, p999, p9999] = Level::ALL.map(value);
    let (p50, p90, p99, p999, p9999) =
        (Some(p50?), Some(p90?), Some(p99?), Some(p999?), Some(p9999?));
    let (min, max, mean) = (moments.min()?, moments.max()?, moments.mean()?);
    Some(Summary {
        count: moments.count(),
        min,
        mean,
        sd: moments.sd(),
        max,
        p50,
        p90,
        p99,
        p999,
        p9999,
        between: Bounds::default(),
    })
}

impl Collect {
    pub(crate) fn new(max_steps: usize, rows: u64) -> Self {
        Collect {
            measured: Distribution::new(TAIL),
            skipped: Distribution::new(TAIL),
            worst: WorstActivations::new(WORST),
            envelope: Envelope::for_rows(max_steps, rows),
        }
    }

    /// Activations that woke; returns their extremes.
    pub(crate) fn add_chunk(&mut self, first: u64, latencies: Chunk<'_>) -> Extent {
        let extent = self.envelope.woken(latencies.values);
        self.measured.record_chunk(latencies);
        self.worst.offer_chunk(first, latencies.values, extent.max);
        extent
    }

    /// How many latencies there have been so far in each bucket of the histogram that may hold
    /// values from `min` to `max`, skipped activations counted in.
    pub(crate) fn counted_between(&self, min: i64, max: i64, mut visit: impl FnMut(i32, u64)) {
        if self.skipped.count() == 0 {
            self.measured.between(min, max, visit);
            return;
        }
        let mut skipped = Vec::new();
        self.skipped.between(min, max, |_, count| skipped.push(count));
        let mut skipped = skipped.into_iter();
        self.measured
            .between(min, max, |bucket, count| visit(bucket, count + skipped.next().unwrap_or(0)));
    }

    /// The figures, after as many further passes over the same rows as the quantiles take, and all
    /// that was counted, skipped activations counted in; of one thread in one run, or in
    /// several that are pooled.
    ///
    /// # Errors
    /// What the rows' source reports.
    pub(crate) fn finish<R: Rows + ?Sized>(
        self,
        runs: &[(&R, AccountingRule)],
        interval_ns: i64,
        accountings: &[Accounting],
        exact: &ExactRequest,
    ) -> Result<(Statistics, Counted), R::Error> {
        let Collect { measured, skipped, worst, envelope } = self;
        let moments = measured.moments();
        let mut counted = Counted::from(measured);
        let histogram = counted.histogram().clone();
        let mut refinement = Refinement::default();
        refinement.request(Population::Measured, &counted, &ranks(counted.count(), &Level::ALL));
        let (mut with_skipped, mut all) = (None, Population::Measured);
        if skipped.count() > 0 {
            counted = counted.with(&skipped);
            let mut sums = moments;
            sums.merge(&skipped.moments());
            (with_skipped, all) =
                (Some((counted.histogram().clone(), sums)), Population::WithSkipped);
            refinement.request(all, &counted, &ranks(counted.count(), &Level::ALL));
        }
        drop(skipped);
        refinement.request(all, &counted, &ranks(counted.count(), &exact.levels));
        exact.limits_ns.iter().for_each(|limit| refinement.want_above(all, &counted, *limit));
        for _ in 0..MAX_PASSES {
            if refinement.is_done() {
                break;
            }
            for (rows, rule) in runs {
                let mut accounting = Accounting::new(interval_ns, *rule);
                rows.replay(&mut |span| accounting.visit(span, &mut refinement))?;
                accounting.finish(&mut refinement);
            }
            refinement.end_pass();
        }
        let latency = in_brief(&moments, &refinement.values(Population::Measured));
        let latency_with_skipped = with_skipped.as_ref().map_or(latency, |(_, moments)| {
            in_brief(moments, &refinement.values(Population::WithSkipped))
        });
        let mut activations = Activations::default();
        accountings.iter().for_each(|accounting| activations.merge(&accounting.activations()));
        let statistics = Statistics {
            activations,
            lost: accountings.iter().map(Accounting::lost).sum(),
            latency,
            latency_with_skipped,
            histogram,
            moments,
            with_skipped,
            worst: worst.list(),
            envelope,
            jitter: Vec::new(),
            linear: LinearHistogram::default(),
        };
        Ok((statistics, counted.knowing(refinement.values(all), refinement.counts_above(all))))
    }
}

impl Sink for Collect {
    fn woken(&mut self, first: u64, latencies: Chunk<'_>) {
        self.add_chunk(first, latencies);
    }

    fn woken_one(&mut self, activation: u64, latency_ns: i64) {
        self.measured.record(latency_ns);
        self.envelope.woken_one(latency_ns);
        self.worst.offer(activation, latency_ns);
    }

    fn skipped(&mut self, waited_ns: i64) {
        self.skipped.record(waited_ns);
        self.envelope.missing(1);
    }

    fn lost(&mut self, rows: u64) {
        self.envelope.missing(rows);
    }
}

/// More passes than 64 bits need at 16 bits a pass; a source that changes between passes must not
/// hang us.
const MAX_PASSES: usize = 6;

/// Computes everything from the rows of one thread, in one to five passes and bounded memory.
///
/// `interval_ns` is the thread's own; `max_steps` bounds the envelope.
///
/// # Errors
/// What the rows' source reports.
pub fn summarise<R: Rows + ?Sized>(
    rows: &R,
    interval_ns: i64,
    rule: impl Into<AccountingRule>,
    max_steps: usize,
) -> Result<Statistics, R::Error> {
    let rule = rule.into();
    let mut collect = Collect::new(max_steps, rows.size_hint());
    let mut accounting = Accounting::new(interval_ns, rule);
    rows.replay(&mut |span| accounting.visit(span, &mut collect))?;
    accounting.finish(&mut collect);
    Ok(collect.finish(&[(rows, rule)], interval_ns, &[accounting], &ExactRequest::default())?.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::AfterOverrun;
    use proptest::prelude::*;

    fn stats(spans: &[Span<'_>]) -> Statistics {
        let Ok(statistics) = summarise(spans, 1_000, AfterOverrun::Skip, 64);
        statistics
    }
    use crate::Span;

    #[test]
    fn nothing_woke() {
        let nothing = stats(&[Span::Missing(3)]);
        assert_eq!((nothing.latency, nothing.latency_with_skipped, nothing.lost), (None, None, 3));
    }

    #[test]
    fn skipped_activations_waited_from_their_own_time() {
        let statistics = stats(&[Span::Woken(&[10, 3_200]), Span::Missing(3), Span::Woken(&[20])]);
        let measured = statistics.latency.unwrap();
        let all = statistics.latency_with_skipped.unwrap();
        assert_eq!((measured.count, measured.p50, measured.max), (3, Some(20), 3_200));
        // 10, 20, 200, 1200, 2200, 3200
        assert_eq!((all.count, all.p50, all.p90, all.min), (6, Some(200), Some(3_200), 10));
        assert_eq!(statistics.worst[0], Worst { activation: 1, latency_ns: 3_200 });
    }

    /// Far more in a bucket than could be gone through one by one.
    #[test]
    fn a_bucket_is_counted_at_once() {
        let max = 1 << 52;
        let buckets = [
            Bucket { lower: 5_000, upper: 5_010, count: max },
            Bucket { lower: 9_000_000, upper: 9_000_100, count: 3 },
        ];
        let statistics = Statistics::from_histogram(&buckets);
        let latency = statistics.latency.unwrap();
        assert_eq!(
            (latency.count, latency.min, latency.max, latency.sd),
            (max + 3, 5_010, 9_000_100, None)
        );
        assert_eq!((latency.p50, latency.p9999), (Some(5_010), Some(5_010)));
        assert_eq!(
            statistics.activations,
            Activations { due: max + 3, on_time: max + 3, late: 0, skipped: 0 }
        );
    }

    /// Its values are anywhere in it, and only the largest is known.
    #[test]
    fn an_open_bucket_tells_its_largest_value_alone() {
        let buckets = [
            Bucket { lower: 5_000, upper: 5_010, count: 600 },
            Bucket { lower: 9_000_000, upper: 90_000_000, count: 600 },
        ];
        let latency = Statistics::from_histogram(&buckets).latency.unwrap();
        assert_eq!((latency.p50, latency.p90), (Some(5_010), None));
        assert_eq!((latency.p9999, latency.max), (Some(90_000_000), 90_000_000));
    }

    proptest! {
        /// The same as going through every latency, each as large as its bucket allows.
        #[test]
        fn buckets_are_their_latencies(
            sizes in proptest::collection::btree_map(
                prop_oneof![-300..400_000_i64, any::<i64>()],
                0..5_000_u64,
                1..9,
            ),
            limit in prop_oneof![-300..400_000_i64, any::<i64>()],
        ) {
            let buckets: Vec<Bucket> = sizes
                .iter()
                .rev()
                .map(|(upper, count)| Bucket {
                    lower: upper.saturating_sub(3),
                    upper: *upper,
                    count: *count,
                })
                .collect();
            let rows: Vec<Span<'_>> = buckets
                .iter()
                .flat_map(|bucket| (0..bucket.count).map(|_| Span::Long(bucket.upper)))
                .collect();
            let exact =
                ExactRequest { levels: vec![Level::P50, Level::P99], limits_ns: vec![limit] };
            let (found, counted) = of_buckets(&buckets, &exact);
            let Ok(expected) =
                crate::analyse(rows.as_slice(), 1_000, AfterOverrun::Unknown, 2, &exact);
            let of_rows = &expected.statistics;
            prop_assert_eq!(
                found.latency,
                of_rows.latency.map(|summary| Summary {
                    sd: None,
                    between: found.latency.unwrap_or(summary).between,
                    ..summary
                })
            );
            prop_assert_eq!(
                (&found.histogram, &found.linear),
                (&of_rows.histogram, &of_rows.linear)
            );
            prop_assert_eq!(
                (found.moments, found.activations, found.lost),
                (of_rows.moments, of_rows.activations, of_rows.lost)
            );
            prop_assert_eq!(counted.above(limit), expected.counted().above(limit));
            for rank in [1, counted.count() / 2, counted.count()] {
                prop_assert_eq!(counted.at_rank(rank), expected.counted().at_rank(rank));
            }
        }

        /// Against sorting everything, the obvious way.
        #[test]
        fn exact(
            values in proptest::collection::vec(
                prop_oneof![0..900_i32, -50..2_000_i32, any::<i32>()],
                1..2_000,
            ),
        ) {
            let statistics = stats(&[Span::Woken(&values)]);
            let summary = statistics.latency.unwrap();
            let mut sorted = values.clone();
            sorted.sort_unstable();
            let at = |q: f64| {
                #[expect(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    clippy::cast_precision_loss
                )]
                let rank = ((sorted.len() as f64 * q - 1e-9).ceil() as usize).max(1);
                i64::from(sorted[rank - 1])
            };
            prop_assert_eq!((summary.min, summary.max), (at(0.0), at(1.0)));
            prop_assert_eq!(
                summary.quantiles(),
                [0.5, 0.9, 0.99, 0.999, 0.9999].map(|share| Some(at(share)))
            );
            prop_assert_eq!(statistics.histogram.total(), summary.count);
            let late = values.iter().filter(|v| **v >= 1_000).count() as u64;
            prop_assert_eq!(
                statistics.activations,
                Activations { due: summary.count, on_time: summary.count - late, late, skipped: 0 }
            );
        }
    }
}
