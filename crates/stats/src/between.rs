// SPDX-License-Identifier: MIT OR Apache-2.0
//! Between what the figures of a histogram lie: its buckets say no more.

use crate::{Bucket, Level, Summary};
use serde::{Deserialize, Serialize};

/// A figure that is not exactly known, ns. It is at least and at most so much; without an upper
/// end it may be any that is larger.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "(i64, Option<i64>)", into = "(i64, Option<i64>)")]
pub struct Between {
    pub least: i64,
    pub most: Option<i64>,
}

/// What a figure's value is of the true one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// The true one is more than 1 % below it, for all that is known.
    AtMost,
    /// The true one may be anywhere above it.
    AtLeast,
}

impl From<(i64, Option<i64>)> for Between {
    fn from((least, most): (i64, Option<i64>)) -> Self {
        Between { least, most }
    }
}

impl From<Between> for (i64, Option<i64>) {
    fn from(between: Between) -> Self {
        (between.least, between.most)
    }
}

impl Between {
    const fn exactly(ns: i64) -> Between {
        Between { least: ns, most: Some(ns) }
    }

    /// That of values of a bucket; none where they are all the same.
    pub(crate) fn ends(bucket: &Bucket) -> Option<Between> {
        (bucket.lower < bucket.upper)
            .then_some(Between { least: bucket.lower, most: Some(bucket.upper) })
    }

    /// The upper end, which the figure's value is, or the lower one where there is none.
    pub fn value(self) -> i64 {
        self.most.unwrap_or(self.least)
    }

    /// None where the value is the true one, to 1 %.
    pub fn bound(self) -> Option<Bound> {
        let Some(most) = self.most else { return Some(Bound::AtLeast) };
        (most.abs_diff(self.least) > most.unsigned_abs() / 100).then_some(Bound::AtMost)
    }

    /// Both ends by themselves; without one that both have, there is none.
    fn with(self, other: Between, of: impl Fn(i64, i64) -> i64) -> Between {
        let most = self.most.zip(other.most).map(|(a, b)| of(a, b));
        Between { least: of(self.least, other.least), most }
    }
}

/// Between what figures lie that are not exactly known; none of those that are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bounds {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min: Option<Between>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean: Option<Between>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max: Option<Between>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p50: Option<Between>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p90: Option<Between>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p99: Option<Between>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p999: Option<Between>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p9999: Option<Between>,
    /// Whether any bucket is wider than 1 %: others of the same values may be in it.
    #[serde(skip)]
    pub(crate) has_wide: bool,
}

impl Bounds {
    /// Whether every figure is exactly known.
    pub fn is_none(&self) -> bool {
        Bounds { has_wide: false, ..*self } == Bounds::default()
    }

    /// Those of [`Level::ALL`].
    pub const fn quantiles(&self) -> [Option<Between>; Level::ALL.len()] {
        [self.p50, self.p90, self.p99, self.p999, self.p9999]
    }

    #[must_use]
    pub const fn with_quantiles(self, all: [Option<Between>; Level::ALL.len()]) -> Bounds {
        let [p50, p90, p99, p999, p9999] = all;
        Bounds { p50, p90, p99, p999, p9999, ..self }
    }

    /// From the smallest to the largest, of both of which it is known where they lie.
    pub fn peak_to_peak(&self, min: i64, max: i64) -> Option<Between> {
        if self.min.is_none() && self.max.is_none() {
            return None;
        }
        let [min, max] =
            [(self.min, min), (self.max, max)].map(|(of, ns)| of.unwrap_or(Between::exactly(ns)));
        let most = max.most.map(|most| most.saturating_sub(min.least));
        Some(Between { least: max.least.saturating_sub(min.value()).max(0), most })
    }
}

impl Summary {
    /// A value up to here may be any that is larger, where values may be beyond the histogram.
    pub(crate) fn opened(&self, of: Between) -> Between {
        let is_open = self.between.max.is_some_and(|max| max.most.is_none());
        let most = of.most.filter(|most| !is_open || *most < self.max);
        Between { most, ..of }
    }

    /// Says that there may be values beyond the last bucket, so that nobody knows how large those
    /// are that were counted in it.
    pub fn open(&mut self) {
        let least = self.between.max.map_or(self.max, |max| max.least);
        self.between.max = Some(Between { least, most: None });
        let open = |of: Option<Between>| of.map(|of| self.opened(of));
        let quantiles = self.between.quantiles().map(open);
        let mean = self.between.mean.map(|mean| Between { most: None, ..mean });
        self.between = Bounds { mean, ..self.between.with_quantiles(quantiles) };
    }
}

/// Between what the figures of several histograms together lie.
#[derive(Clone, Copy, Debug, Default)]
pub struct PooledBounds {
    /// Of figures that are exactly known, too.
    all: Option<(Bounds, u64)>,
}

impl PooledBounds {
    pub fn add(&mut self, one: &Summary) {
        let exactly = |of: Option<Between>, ns: i64| Some(of.unwrap_or(Between::exactly(ns)));
        let mut quantiles = one.between.quantiles().into_iter().zip(one.quantiles());
        #[expect(clippy::cast_possible_truncation, reason = "to the nearest ns")]
        let mean = one.mean.round() as i64;
        let own = Bounds {
            min: exactly(one.between.min, one.min),
            mean: exactly(one.between.mean, mean),
            max: exactly(one.between.max, one.max),
            ..one.between
        }
        .with_quantiles(std::array::from_fn(|_| {
            let (of, ns) = quantiles.next()?;
            exactly(of, ns?)
        }));
        self.merge(&PooledBounds { all: Some((own, one.count)) });
    }

    pub fn merge(&mut self, other: &PooledBounds) {
        let Some((ours, theirs)) = self.all.zip(other.all) else {
            self.all = self.all.or(other.all);
            return;
        };
        let ((a, n), (b, m)) = (ours, theirs);
        let both = |a: Option<Between>, b: Option<Between>, of: fn(i64, i64) -> i64| {
            a.zip(b).map(|(a, b)| a.with(b, of))
        };
        let weighted = |a: i64, b: i64| {
            let (all, sum) = (
                i128::from(n) + i128::from(m),
                i128::from(a) * i128::from(n) + i128::from(b) * i128::from(m),
            );
            i64::try_from(sum / all.max(1)).unwrap_or(i64::MAX)
        };
        let mut quantiles = a.quantiles().into_iter().zip(b.quantiles());
        let bounds = Bounds {
            min: both(a.min, b.min, i64::min),
            mean: a.mean.zip(b.mean).map(|(a, b)| a.with(b, weighted)),
            max: both(a.max, b.max, i64::max),
            has_wide: a.has_wide || b.has_wide,
            ..Bounds::default()
        }
        // That of all is none below all of them, and may be in any bucket.
        .with_quantiles(std::array::from_fn(|_| {
            let (a, b) = quantiles.next()?;
            both(a, b, i64::min)
        }));
        self.all = Some((bounds, n.saturating_add(m)));
    }

    /// Those of all together. A quantile is at least so much; its upper end is the value that is
    /// found for it.
    pub fn bounds(&self) -> Bounds {
        let Some((all, _)) = self.all else { return Bounds::default() };
        let uncertain = |of: &Between| of.most != Some(of.least);
        Bounds {
            min: all.min.filter(uncertain),
            mean: all.mean.filter(uncertain),
            max: all.max.filter(uncertain),
            ..all
        }
        .with_quantiles(all.quantiles().map(|of| of.filter(|_| all.has_wide)))
    }
}
