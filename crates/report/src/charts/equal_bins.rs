// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bins of equal width, such as 1 µs, as a histogram is drawn in them.

use serde::Serialize;
use stats::LinearHistogram;

/// How many latencies are in each bin: bin `k` begins at `k x width_ns`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct EqualBins {
    width_ns: i64,
    /// `[k, latencies]`, ascending; empty bins are left out.
    bins: Vec<(i64, u64)>,
}

impl EqualBins {
    /// At most about so many; fewer and wider ones where there are more.
    pub(crate) fn new(linear: &LinearHistogram, max: usize) -> EqualBins {
        let mut equal = EqualBins { width_ns: linear.width_ns(), bins: linear.bins().collect() };
        while equal.bins.len() > max.max(1) {
            equal = EqualBins {
                bins: joined(&equal.bins, 2),
                width_ns: equal.width_ns.saturating_mul(2),
            };
            // Widths that people say: 10, 20, 50, 100.
            if equal.width_ns.to_string().starts_with('4') {
                equal = EqualBins::from_linear(linear, equal.width_ns / 4 * 5);
            }
        }
        equal
    }

    /// Bins of this width, which is a multiple of the histogram's.
    fn from_linear(linear: &LinearHistogram, width_ns: i64) -> EqualBins {
        let bins: Vec<(i64, u64)> = linear.bins().collect();
        EqualBins { width_ns, bins: joined(&bins, width_ns / linear.width_ns()) }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.bins.is_empty()
    }
}

/// Bins of `times` each.
fn joined(bins: &[(i64, u64)], times: i64) -> Vec<(i64, u64)> {
    bins.chunk_by(|(one, _), (next, _)| one.div_euclid(times) == next.div_euclid(times))
        .filter_map(|of| Some((of.first()?.0.div_euclid(times), of.iter().map(|(_, n)| n).sum())))
        .collect()
}

/// The width that bins of all of these have when this one is asked for: the next that all their
/// bins make up, ns.
pub(crate) fn possible(all: &[&EqualBins], asked_ns: i64) -> i64 {
    // Widths are 1, 2 or 5 times a power of ten; so is what all of them divide.
    let mut common = 1;
    for width in all.iter().filter(|equal| !equal.is_empty()).map(|equal| equal.width_ns) {
        common = common / greatest_divisor(common, width) * width;
    }
    asked_ns.max(1).saturating_add(common - 1) / common * common
}

fn greatest_divisor(one: i64, other: i64) -> i64 {
    if other == 0 { one } else { greatest_divisor(other, one % other) }
}

/// Bins of the body of the latencies, from their smallest to their 99th percentile.
const BINS_OF_BODY: i64 = 40;
/// Bins from the smallest latency to the largest.
const MAX_BINS: i64 = 2_000;

/// A width that shows the body of them all.
pub(crate) fn automatic(all: &[&EqualBins]) -> i64 {
    let mut widest = 1;
    for equal in all {
        let count: u64 = equal.bins.iter().map(|(_, n)| n).sum();
        let (Some((first, _)), Some((last, _))) = (equal.bins.first(), equal.bins.last()) else {
            continue;
        };
        let mut left = stats::nearest_rank(count, 99, 100);
        let body = equal.bins.iter().find(|(_, n)| {
            let here = left <= *n;
            left = left.saturating_sub(*n);
            here
        });
        let distance = |to: i64, bins: i64| (to - first + 1).saturating_mul(equal.width_ns) / bins;
        widest = widest
            .max(distance(body.map_or(*last, |(bin, _)| *bin), BINS_OF_BODY))
            .max(distance(*last, MAX_BINS));
    }
    possible(all, rounded_up(widest))
}

/// The next width that people say: 1, 2 or 5 times a power of ten.
fn rounded_up(width: i64) -> i64 {
    let power = 10_i64.saturating_pow(width.max(1).ilog10());
    [1, 2, 5, 10]
        .into_iter()
        .map(|times| power.saturating_mul(times))
        .find(|round| *round >= width)
        .unwrap_or(width)
}

/// Edges of the bins that hold something in any of them, in ns, and how many each has there:
/// between two edges lies a bin, or several that are empty.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct ChartSet {
    pub(crate) edges_ns: Vec<i64>,
    pub(crate) counts: Vec<Vec<u64>>,
}

/// All of them in bins of this width, which is a [`possible`] one.
pub(crate) fn drawn(all: &[&EqualBins], width_ns: i64) -> ChartSet {
    let each: Vec<Vec<(i64, u64)>> = all
        .iter()
        .map(|equal| {
            if equal.is_empty() {
                Vec::new()
            } else {
                joined(&equal.bins, width_ns / equal.width_ns)
            }
        })
        .collect();
    let mut edges: Vec<i64> = each.iter().flatten().flat_map(|(bin, _)| [*bin, bin + 1]).collect();
    edges.sort_unstable();
    edges.dedup();
    let counts = each.iter().map(|bins| {
        let mut bins = bins.iter().peekable();
        let holds = |edge: &i64| bins.next_if(|(bin, _)| bin == edge).map_or(0, |(_, n)| *n);
        edges.iter().take(edges.len().saturating_sub(1)).map(holds).collect()
    });
    ChartSet {
        counts: counts.collect(),
        edges_ns: edges.iter().map(|edge| edge.saturating_mul(width_ns)).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn linear(values: &[i32]) -> LinearHistogram {
        let mut all = LinearHistogram::default();
        all.record_all(values);
        all
    }

    #[test]
    fn bins_of_a_microsecond_hold_what_lies_in_it() {
        let (one, other) = (linear(&[4_999, 5_000, 5_999, 9_000]), linear(&[-1, 5_500]));
        let all = [&EqualBins::new(&one, 100), &EqualBins::new(&other, 100)];
        assert_eq!((possible(&all, 1_000), possible(&all, 1_001)), (1_000, 1_010));
        let drawn = drawn(&all, 1_000);
        assert_eq!(drawn.edges_ns, [-1_000, 0, 4_000, 5_000, 6_000, 9_000, 10_000]);
        assert_eq!(drawn.counts, [[0, 0, 1, 2, 0, 1], [1, 0, 0, 1, 0, 0]]);
    }

    #[test]
    fn many_bins_are_joined_to_widths_that_people_say() {
        let all = linear(&(0..3_000).map(|n| n * 10).collect::<Vec<_>>());
        let widths = [4_000, 1_500, 1_000, 300, 100].map(|max| EqualBins::new(&all, max).width_ns);
        assert_eq!(widths, [10, 20, 50, 100, 500]);
        let few = EqualBins::new(&all, 100);
        assert_eq!(few.bins.iter().map(|(_, n)| n).sum::<u64>(), 3_000);
        assert_eq!(
            (automatic(&[&few]), rounded_up(1), rounded_up(21), rounded_up(6_000)),
            (1_000, 1, 50, 10_000)
        );
    }
}
