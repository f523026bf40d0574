// SPDX-License-Identifier: MIT OR Apache-2.0
//! The bins of the histogram as drawn: coarser than those counted, and about equally wide on a logarithmic axis.

use stats::{Histogram, Moments};

/// Latencies below this share the first bin, the early ones (below 0) too: no kernel wakes a thread within 128 ns, and a
/// logarithmic axis has to begin somewhere.
pub(crate) const FLOOR_NS: i64 = 128;
/// Bins of an octave as steps of 1/128 of its lower bound: the whole steps nearest to 16 equal steps of a logarithmic axis,
/// so that every bucket of [`stats::Histogram`] lies in exactly one bin.
const STEPS: [i64; 17] = [0, 6, 12, 18, 24, 31, 38, 45, 53, 61, 69, 78, 87, 97, 107, 117, 128];
const BINS_PER_OCTAVE: usize = STEPS.len() - 1;

pub(crate) fn bin_of(value: i64) -> usize {
    if value < FLOOR_NS {
        return 0;
    }
    let octave = value.ilog2() - FLOOR_NS.ilog2();
    let step = (value >> octave) - FLOOR_NS;
    1 + octave as usize * BINS_PER_OCTAVE + STEPS.partition_point(|edge| *edge <= step) - 1
}

/// Smallest latency of a bin.
fn lower_edge(bin: usize) -> i64 {
    let Some(above) = bin.checked_sub(1) else { return FLOOR_NS / 2 };
    let octave = u32::try_from(above / BINS_PER_OCTAVE).unwrap_or(u32::MAX);
    (FLOOR_NS + STEPS[above % BINS_PER_OCTAVE]).checked_shl(octave).filter(|edge| *edge > 0 && octave < 56).unwrap_or(i64::MAX)
}

/// The bin of the largest latency there can be.
const LAST_BIN: usize = 56 * BINS_PER_OCTAVE;

/// The bins that some histograms are drawn in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bins {
    first: usize,
    last: usize,
}

impl Bins {
    /// From the first to the last bin that holds something in any of them, and one more on both sides.
    pub(crate) fn of<'m>(all: impl Iterator<Item = &'m Moments>) -> Bins {
        let ends = |moments: &Moments| Some((bin_of(moments.min()?), bin_of(moments.max()?)));
        let ends: Vec<(usize, usize)> = all.filter_map(ends).collect();
        let first = ends.iter().map(|(first, _)| *first).min().unwrap_or(1);
        let last = ends.iter().map(|(_, last)| *last).max().unwrap_or(1);
        // An empty bin on both sides, so that the drawing comes back to 0.
        Bins { first: first.saturating_sub(1), last: (last + 1).min(LAST_BIN) }
    }

    /// Bin `i` holds latencies from `edges[i]` up to, not including, `edges[i + 1]`.
    pub(crate) fn edges(self) -> Vec<i64> {
        (self.first..=self.last + 1).map(lower_edge).collect()
    }

    /// The counts of a histogram that lies within.
    pub(crate) fn counts(self, histogram: &Histogram) -> Vec<u64> {
        let mut counts = vec![0; self.last + 1 - self.first];
        histogram.buckets().for_each(|bucket| counts[bin_of(bucket.lower) - self.first] += bucket.count);
        counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_touch_and_hold_every_latency() {
        for bin in 1..=LAST_BIN {
            let lower = lower_edge(bin);
            assert_eq!(bin_of(lower), bin);
            assert_eq!(bin_of(lower - 1), bin - 1);
        }
        assert_eq!((bin_of(i64::MIN), bin_of(i64::MAX)), (0, LAST_BIN));
    }
}
