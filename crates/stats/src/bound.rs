// SPDX-License-Identifier: MIT OR Apache-2.0
//! Upper bound on the rate of latencies above a value. It never rises with the value. For gates.
//!
//! Beyond a higher value lie no more latencies than beyond a lower one. The bound of each value
//! alone need not say so, since how dependent latencies are is estimated anew at each. Where the
//! bound of a higher value is above that of a lower one, the lower one has underestimated how
//! dependent they are, and takes the higher bound: a stricter limit never gets a better verdict.

use crate::blocks::{Block, aligned, merged};
use crate::histogram::{Counts, signed_bounds, signed_index};
use crate::interval::{Dependence, ENOUGH_BEYOND, Latencies, RateInterval, lower_rate, upper_rate};

/// Latencies of several threads; what happens in the same block of time on several of them is
/// counted together.
pub(crate) struct AllThreads<'a> {
    threads: &'a [Latencies<'a>],
    blocks: Vec<Vec<Counts>>,
    /// Buckets that hold something, ascending.
    occupied: Vec<i32>,
    of: u64,
    /// A value that so many are beyond that it shows whether they come together.
    common: Option<i64>,
}

/// What all threads counted in each block of each run.
fn aligned_runs(threads: &[Latencies<'_>]) -> Vec<Vec<Counts>> {
    let mut each: Vec<_> = threads.iter().map(|thread| thread.blocks.runs()).collect();
    let mut runs = Vec::new();
    loop {
        let run: Option<Vec<&[Block]>> = each.iter_mut().map(Iterator::next).collect();
        match run.filter(|run| !run.is_empty()) {
            Some(run) => runs.push(aligned(&run, |block| &block.counts)),
            None => return runs,
        }
    }
}

impl<'a> AllThreads<'a> {
    /// None where nothing woke.
    pub(crate) fn new(threads: &'a [Latencies<'a>]) -> Option<Self> {
        let of: u64 = threads.iter().map(|thread| thread.counted.count()).sum();
        let blocks = aligned_runs(threads);
        let all = merged(blocks.iter().flatten());
        let occupied = all.list().iter().map(|(bucket, _)| *bucket).collect();
        let common = threads.iter().filter_map(Latencies::still_common).min();
        (of > 0).then_some(AllThreads { threads, blocks, occupied, of, common })
    }

    /// Latencies above `limit`, ns: at least and at most so many, which are equal where that is
    /// known exactly.
    fn above(&self, limit: i64) -> (u64, u64) {
        let counted = self.threads.iter().map(|thread| thread.counted.above(limit));
        counted.fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1))
    }

    /// The effective number of independent latencies for the rate above `limit`, at this
    /// confidence. With no exceedances the dependence cannot be estimated; independence is
    /// assumed.
    #[expect(clippy::cast_precision_loss, reason = "counts that are divided")]
    fn effective(&self, limit: i64, beyond: u64, confidence: f64) -> f64 {
        if beyond == 0 {
            return self.of as f64;
        }
        // A handful does not show whether exceedances are clustered. A lower value has more of
        // them.
        let few = self.common.filter(|_| beyond < ENOUGH_BEYOND);
        let limit = few.map_or(limit, |common| common.min(limit));
        let of = |run: &Vec<Counts>| {
            run.iter().map(|counts| (counts.total(), counts.above(limit))).collect()
        };
        let together: Vec<Vec<(u64, u64)>> = self.blocks.iter().map(of).collect();
        Dependence::between(&together).effective(self.of, confidence)
    }

    /// The interval of the rate of latencies above `limit`, ns; `confidence` (above one half) is
    /// that of each of its two ends.
    #[expect(clippy::cast_precision_loss, reason = "counts that are divided")]
    pub(crate) fn rate(&self, limit: i64, confidence: f64) -> RateInterval {
        let (surely, beyond) = self.above(limit);
        let effective = self.effective(limit, beyond, confidence);
        let scale = effective / self.of as f64;
        let (min, max) = (surely as f64 * scale, beyond as f64 * scale);
        let (lower, upper) =
            (lower_rate(min, effective, confidence), upper_rate(max, effective, confidence));
        RateInterval { beyond, of: self.of, lower, upper, effective }
    }

    /// The upper end of that interval by itself, or of the interval of a higher value where that
    /// end is higher.
    pub(crate) fn bound(&self, limit: i64, confidence: f64) -> f64 {
        let bucket = signed_index(limit);
        let higher = self.occupied.iter().rev().take_while(|other| **other > bucket);
        let higher = higher.map(|other| self.rate(signed_bounds(*other).0, confidence).upper);
        higher.fold(self.rate(limit, confidence).upper, f64::max)
    }

    /// The smallest value, ns, of which [`AllThreads::bound`] is at most `share`; none where there
    /// is none.
    pub(crate) fn smallest_bounded(&self, share: f64, confidence: f64) -> Option<i64> {
        let (mut highest, mut found) = (0.0_f64, None);
        for bucket in self.occupied.iter().rev() {
            let (lower, upper) = signed_bounds(*bucket);
            let holds = |value: i64| self.rate(value, confidence).upper.max(highest) <= share;
            if !holds(upper) {
                break;
            }
            let at_lower = self.rate(lower, confidence).upper.max(highest);
            if at_lower > share {
                let (mut fails, mut known) = (lower, upper);
                while known.abs_diff(fails) > 1 {
                    let middle = i64::midpoint(fails, known);
                    if holds(middle) { known = middle } else { fails = middle }
                }
                found = Some(known);
                break;
            }
            (highest, found) = (at_lower, Some(lower));
        }
        found
    }
}
