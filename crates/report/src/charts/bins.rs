// SPDX-License-Identifier: MIT OR Apache-2.0
//! The bins of the histogram as drawn: coarser than those counted, and about equally wide on a
//! logarithmic axis.

use crate::format::rounded;
use stats::{Histogram, Moments};
use std::sync::LazyLock;

/// Latencies below this share the first bin, the early ones (below 0) too: no kernel wakes a thread
/// within 128 ns, and a logarithmic axis has to begin somewhere.
pub(crate) const FLOOR_NS: i64 = 128;
/// Bins of an octave, from coarse to fine: steps of 4.4, 2.2 and 1.1 % of a value. Finer ones would
/// be narrower than the buckets.
const PER_OCTAVE: [usize; 3] = [16, 32, 64];
/// The finest steps that need no more bins than this are taken: each is then some pixels wide.
const MAX_BINS: usize = 160;
/// Latencies for each bin, so that few of them are not drawn as a comb.
const MIN_EACH: u64 = 20;
/// Octaves of the largest latency there can be.
const OCTAVES: usize = 56;

/// Edges within an octave as steps of 1/128 of its lower bound: the whole steps nearest to equal
/// ones on a logarithmic axis, so that every bucket of [`stats::Histogram`] lies in exactly one
/// bin.
static STEPS: LazyLock<[Vec<i64>; PER_OCTAVE.len()]> = LazyLock::new(|| {
    PER_OCTAVE.map(|bins| {
        let edge =
            |bin: usize| rounded(FLOOR_NS as f64 * ((bin as f64 / bins as f64).exp2() - 1.0));
        (0..=bins).map(edge).collect()
    })
});

/// The coarse bin of a latency.
pub(crate) fn bin_of(value: i64) -> usize {
    bin_in(0, value)
}

fn bin_in(grain: usize, value: i64) -> usize {
    if value < FLOOR_NS {
        return 0;
    }
    let octave = value.ilog2() - FLOOR_NS.ilog2();
    let step = (value >> octave) - FLOOR_NS;
    1 + octave as usize * PER_OCTAVE[grain] + STEPS[grain].partition_point(|edge| *edge <= step) - 1
}

/// Smallest latency of a bin.
fn lower_edge(grain: usize, bin: usize) -> i64 {
    let Some(above) = bin.checked_sub(1) else { return FLOOR_NS / 2 };
    let octave = u32::try_from(above / PER_OCTAVE[grain]).unwrap_or(u32::MAX);
    let edge = (FLOOR_NS + STEPS[grain][above % PER_OCTAVE[grain]]).checked_shl(octave);
    edge.filter(|edge| *edge > 0 && (octave as usize) < OCTAVES).unwrap_or(i64::MAX)
}

/// The bins that some histograms are drawn in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bins {
    /// Place in [`PER_OCTAVE`].
    grain: usize,
    first: usize,
    last: usize,
}

impl Bins {
    /// From the first to the last bin that holds something in any of them, and one more on both
    /// sides: as fine as latencies that lie close together need, and as there are enough of
    /// them for.
    pub(crate) fn from_moments<'m>(all: impl Iterator<Item = &'m Moments>) -> Bins {
        let ends = |moments: &Moments| Some((moments.min()?, moments.max()?, moments.count()));
        let ends: Vec<(i64, i64, u64)> = all.filter_map(ends).collect();
        let min = ends.iter().map(|(min, ..)| *min).min().unwrap_or(FLOOR_NS);
        let max = ends.iter().map(|(_, max, _)| *max).max().unwrap_or(FLOOR_NS);
        let fewest = ends.iter().map(|(.., count)| *count).min().unwrap_or(0);
        let within = |grain: usize| {
            let (first, last) = (bin_in(grain, min), bin_in(grain, max));
            // An empty bin on both sides, so that the drawing comes back to 0.
            Bins {
                grain,
                first: first.saturating_sub(1),
                last: (last + 1).min(OCTAVES * PER_OCTAVE[grain]),
            }
        };
        let fits = |bins: &Bins| {
            let n = bins.last - bins.first;
            n <= MAX_BINS && n as u64 * MIN_EACH <= fewest
        };
        (1..PER_OCTAVE.len()).rev().map(within).find(fits).unwrap_or_else(|| within(0))
    }

    /// How much larger the next bin's values are, percent.
    pub(crate) fn step_percent(self) -> f64 {
        ((PER_OCTAVE[self.grain] as f64).recip().exp2() - 1.0) * 100.0
    }

    /// Bin `i` holds latencies from `edges[i]` up to, not including, `edges[i + 1]`.
    pub(crate) fn edges(self) -> Vec<i64> {
        (self.first..=self.last + 1).map(|bin| lower_edge(self.grain, bin)).collect()
    }

    /// The counts of a histogram that lies within; without those beyond what was counted.
    pub(crate) fn counts(self, histogram: &Histogram) -> Vec<u64> {
        let mut counts = vec![0; self.last + 1 - self.first];
        histogram.within().buckets().for_each(|bucket| {
            counts[bin_in(self.grain, bucket.lower) - self.first] += bucket.count
        });
        counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_touch_and_hold_every_latency() {
        for (grain, per_octave) in PER_OCTAVE.into_iter().enumerate() {
            for bin in 1..=OCTAVES * per_octave {
                let lower = lower_edge(grain, bin);
                assert_eq!(bin_in(grain, lower), bin);
                assert_eq!(bin_in(grain, lower - 1), bin - 1);
            }
            assert_eq!(
                (bin_in(grain, i64::MIN), bin_in(grain, i64::MAX)),
                (0, OCTAVES * per_octave)
            );
        }
    }

    #[test]
    fn latencies_that_lie_close_together_have_finer_bins() {
        let of = |values: &mut dyn Iterator<Item = i64>| {
            let mut moments = Moments::default();
            values.for_each(|value| moments.record(value));
            let bins = Bins::from_moments(std::iter::once(&moments));
            (bins.edges().len() - 1, format!("{:.1}", bins.step_percent()))
        };
        // As a kernel in the lab: most around 3.5 µs, some up to 16.
        assert_eq!(
            of(&mut (0..5_000).map(|n| 3_400 + n % 300 + (n % 100 / 99) * 13_000)),
            (150, "1.1".to_owned())
        );
        assert_eq!(of(&mut (0..5_000).map(|n| 3_400 + n * 300)).1, "4.4");
        // Too few for fine ones.
        assert_eq!(of(&mut (0..50).map(|n| 3_400 + n)).1, "4.4");
    }
}
