// SPDX-License-Identifier: MIT OR Apache-2.0
//! Exact quantiles of any number of values in bounded memory.
//!
//! The first pass has counted the values, which shows where each quantile lies: exactly up to 262
//! µs and far out in the tail, the bucket elsewhere. Each further pass counts what falls into those
//! buckets at a finer resolution, until a cell is one nanosecond wide. One further pass suffices up
//! to 8 ms, two up to nine minutes.

use crate::Bucket;
use crate::accounting::Sink;
use crate::distribution::Counted;
use crate::histogram::{BUCKETS_32, index_of_32};
use crate::rank::at_rank;
use crate::rows::Chunk;
use std::collections::BTreeMap;

/// Cells that one pass resolves a bucket into.
const CELLS: u64 = 1 << 16;

/// Which latencies a rank counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Population {
    Measured,
    WithSkipped,
}

#[derive(Clone, Debug)]
struct RankRequest {
    population: Population,
    /// Its rank among all (1 = smallest).
    of_all: u64,
    /// What is known of where it lies, and its rank within (1 = smallest).
    bucket: Bucket,
    rank: u64,
}

/// How many values are above a limit, counted during the first further pass.
#[derive(Clone, Copy, Debug)]
struct Above {
    population: Population,
    limit: i64,
    count: u64,
}

impl Above {
    fn record(&mut self, value: i64) {
        self.count += u64::from(value > self.limit);
    }
}

impl RankRequest {
    fn value(&self) -> Option<i64> {
        (self.bucket.lower == self.bucket.upper).then_some(self.bucket.lower)
    }
}

/// Values within one bucket, counted finely.
#[derive(Clone, Debug)]
struct Window {
    population: Population,
    lower: i64,
    upper: i64,
    cell: u64,
    counts: Vec<u64>,
}

impl Window {
    fn over(population: Population, bucket: Bucket) -> Self {
        let cell = bucket.upper.abs_diff(bucket.lower) / CELLS + 1;
        let cells = bucket.upper.abs_diff(bucket.lower) / cell + 1;
        let counts = vec![0; usize::try_from(cells).unwrap_or(0)];
        Window { population, lower: bucket.lower, upper: bucket.upper, cell, counts }
    }

    fn record(&mut self, value: i64) {
        if (self.lower..=self.upper).contains(&value)
            && let Ok(cell) = usize::try_from(value.abs_diff(self.lower) / self.cell)
        {
            self.counts[cell] += 1;
        }
    }

    fn covers(&self, request: &RankRequest) -> bool {
        self.population == request.population
            && self.lower == request.bucket.lower
            && self.upper == request.bucket.upper
    }

    /// The cell that holds what is wanted, and its rank within it.
    fn narrow(&self, request: &RankRequest) -> Option<RankRequest> {
        let cells = (0_u64..).zip(&self.counts).map(|(cell, count)| ((cell, *count), *count));
        let ((cell, count), rank) = at_rank(cells, request.rank)?;
        let lower = self.lower.saturating_add_unsigned(cell * self.cell);
        let upper = lower.saturating_add_unsigned(self.cell - 1).min(self.upper);
        Some(RankRequest { bucket: Bucket { lower, upper, count }, rank, ..request.clone() })
    }
}

/// Finds the values of some ranks, of latencies as measured and with skipped activations counted
/// in.
#[derive(Clone, Debug, Default)]
pub(crate) struct Refinement {
    requests: Vec<RankRequest>,
    windows: Vec<Window>,
    limits: Vec<Above>,
    limits_counted: bool,
    /// By histogram bucket of a value that fits 31 bits: whether a window lies there.
    interesting: Vec<bool>,
}

impl Refinement {
    /// Wants the values of these ranks among what was counted.
    pub(crate) fn request(&mut self, population: Population, counted: &Counted, ranks: &[u64]) {
        let located = ranks.iter().zip(counted.locate(ranks));
        self.requests.extend(located.map(|(of_all, (bucket, rank))| RankRequest {
            population,
            of_all: *of_all,
            bucket,
            rank,
        }));
        self.open_windows();
    }

    /// Wants to know how many values are above this limit, where the counts do not show it.
    pub(crate) fn want_above(&mut self, population: Population, counted: &Counted, limit: i64) {
        let (surely, max) = counted.above(limit);
        if surely != max {
            self.limits.push(Above { population, limit, count: 0 });
        }
    }

    /// Whether all values are known.
    pub(crate) fn is_done(&self) -> bool {
        self.windows.is_empty() && (self.limits_counted || self.limits.is_empty())
    }

    /// The values of a population by their ranks, as far as they are known.
    pub(crate) fn values(&self, population: Population) -> BTreeMap<u64, i64> {
        let of = self.requests.iter().filter(|request| request.population == population);
        of.filter_map(|request| Some((request.of_all, request.value()?))).collect()
    }

    /// How many values of a population are above the limits that were wanted, as far as a pass has
    /// counted them.
    pub(crate) fn counts_above(&self, population: Population) -> BTreeMap<i64, u64> {
        let of = self
            .limits
            .iter()
            .filter(|above| self.limits_counted && above.population == population);
        of.map(|above| (above.limit, above.count)).collect()
    }

    /// Limits whose values are yet to be counted.
    fn open_limits(&mut self) -> &mut [Above] {
        if self.limits_counted { &mut [] } else { &mut self.limits }
    }

    fn open_windows(&mut self) {
        let unknown = self.requests.iter().filter(|request| request.value().is_none());
        let mut open: Vec<(Population, Bucket)> =
            unknown.map(|request| (request.population, request.bucket)).collect();
        open.sort_by_key(|(population, bucket)| (*population as u8, bucket.lower));
        open.dedup();
        self.interesting.clear();
        self.interesting.resize(BUCKETS_32, false);
        for (_, bucket) in &open {
            if let Ok(upper) = u32::try_from(bucket.upper)
                && let Some(place) = self.interesting.get_mut(index_of_32(upper))
            {
                *place = true;
            }
        }
        self.windows =
            open.into_iter().map(|(population, bucket)| Window::over(population, bucket)).collect();
    }

    /// Ends a pass: the counts narrow down where each value lies.
    pub(crate) fn end_pass(&mut self) {
        self.limits_counted = true;
        for request in self.requests.iter_mut().filter(|request| request.value().is_none()) {
            let window = self.windows.iter().find(|window| window.covers(request));
            if let Some(narrower) = window.and_then(|window| window.narrow(request)) {
                *request = narrower;
            }
        }
        self.open_windows();
    }
}

/// Later passes.
impl Sink for Refinement {
    /// Counts activations that woke.
    fn woken(&mut self, _first: u64, chunk: Chunk<'_>) {
        for above in self.open_limits().iter_mut().filter(|above| !chunk.is_below(above.limit)) {
            chunk.values.iter().for_each(|value| above.record(i64::from(*value)));
        }
        // Most quantiles are known after the first pass; those that are not lie in the tail, and
        // few chunks reach it.
        if self.windows.iter().all(|window| chunk.is_below(window.lower)) {
            return;
        }
        for value in chunk.values {
            // Latencies below zero are few.
            if u32::try_from(*value).is_ok_and(|value| !self.interesting[index_of_32(value)]) {
                continue;
            }
            self.windows.iter_mut().for_each(|window| window.record(i64::from(*value)));
        }
    }

    /// Counts one activation that woke.
    fn woken_one(&mut self, _activation: u64, value: i64) {
        self.open_limits().iter_mut().for_each(|above| above.record(value));
        self.windows.iter_mut().for_each(|window| window.record(value));
    }

    /// Counts how long a skipped activation had waited.
    fn skipped(&mut self, value: i64) {
        let limits = self
            .open_limits()
            .iter_mut()
            .filter(|above| above.population == Population::WithSkipped);
        limits.for_each(|above| above.record(value));
        let windows =
            self.windows.iter_mut().filter(|window| window.population == Population::WithSkipped);
        windows.for_each(|window| window.record(value));
    }

    fn lost(&mut self, _rows: u64) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::distribution::Distribution;
    use crate::nearest_rank;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn exact_for_any_values(
            mut values in proptest::collection::vec(
                prop_oneof![0_i64..100_000, any::<i64>(), 8_000_000_i64..9_000_000],
                1..400,
            ),
        ) {
            let mut counted = Distribution::new(3);
            values.iter().for_each(|v| counted.record(*v));
            let ranks: Vec<u64> = [1, 50, 99, 100]
                .into_iter()
                .map(|q| nearest_rank(values.len() as u64, q, 100))
                .collect();
            let mut refinement = Refinement::default();
            refinement.request(Population::WithSkipped, &Counted::from(counted), &ranks);
            let mut passes = 0;
            while !refinement.is_done() {
                for (index, value) in values.iter().enumerate() {
                    match (index % 3, i32::try_from(*value)) {
                        (0, _) => refinement.skipped(*value),
                        (_, Ok(value)) => refinement.woken(0, Chunk::new(&[value])),
                        (_, Err(_)) => refinement.woken_one(0, *value),
                    }
                }
                refinement.end_pass();
                passes += 1;
                prop_assert!(passes <= 5);
            }
            values.sort_unstable();
            let expected: BTreeMap<u64, i64> = ranks
                .iter()
                .map(|rank| (*rank, values[usize::try_from(*rank).unwrap() - 1]))
                .collect();
            prop_assert_eq!(refinement.values(Population::WithSkipped), expected);
        }
    }
}
