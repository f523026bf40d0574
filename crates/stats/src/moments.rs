// SPDX-License-Identifier: MIT OR Apache-2.0
//! Count, extremes, mean and standard deviation from whole-number sums.

use crate::Summary;

/// Sums over latencies in ns. Exact as long as count x max^2 stays below 2^127; from there on,
/// squares stay at that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moments {
    count: u64,
    min: i64,
    max: i64,
    sum: i128,
    squares: i128,
    is_mean_unknown: bool,
    /// Whether there may be more values: with others nobody knows what their mean is.
    is_count_unknown: bool,
}

impl Default for Moments {
    fn default() -> Self {
        Moments {
            count: 0,
            min: i64::MAX,
            max: i64::MIN,
            sum: 0,
            squares: 0,
            is_mean_unknown: false,
            is_count_unknown: false,
        }
    }
}

/// In the place of a smallest value that is not known, also of others together with it.
const UNKNOWN_MIN: i64 = i64::MIN;

impl Moments {
    /// Those of figures that were written down; without a spread where no standard deviation was.
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        reason = "a mean is a rounded figure, and so are its sums"
    )]
    pub(crate) fn from_figures(figures: &Summary) -> Moments {
        let (n, sd) = (figures.count as f64, figures.sd.unwrap_or(0.0));
        let mean = figures.mean.max(figures.min as f64).min(figures.max as f64);
        let squares = sd * sd * (n - 1.0).max(0.0) + n * mean * mean;
        let (sum, squares) = ((mean * n).round() as i128, squares.round() as i128);
        let Summary { count, min, max, .. } = *figures;
        Moments { count, min, max, sum, squares, ..Moments::default() }
    }

    /// The smallest is not known.
    pub(crate) fn forget_min(&mut self) {
        if self.count > 0 {
            self.min = UNKNOWN_MIN;
        }
    }

    /// The mean is not known.
    pub(crate) fn forget_mean(&mut self) {
        self.is_mean_unknown = true;
    }

    /// It is not known how many there are.
    pub(crate) fn forget_count(&mut self) {
        self.is_count_unknown = true;
    }

    pub fn record(&mut self, value: i64) {
        self.count += 1;
        self.min = self.min.min(value);
        self.max = self.max.max(value);
        self.sum += i128::from(value);
        self.squares = self.squares.saturating_add(i128::from(value) * i128::from(value));
    }

    /// Adds `n` equal values.
    pub(crate) fn record_n(&mut self, value: i64, n: u64) {
        if n == 0 {
            return;
        }
        let [times, wide] = [i128::from(n), i128::from(value)];
        let squares = times.saturating_mul(wide * wide);
        let sum = times * wide;
        let other =
            Moments { count: n, min: value, max: value, sum, squares, ..Moments::default() };
        self.merge(&other);
    }

    /// Adds how often each value from `first` on occurred, in ascending order; few enough that sums
    /// of their distances from the first fit 64 bits.
    pub(crate) fn record_counts(&mut self, first: i64, counts: impl IntoIterator<Item = u64>) {
        let value = |place: u64| first.saturating_add(i64::try_from(place).unwrap_or(i64::MAX));
        let (mut min, mut max) = (None, 0);
        let (mut count, mut sum, mut squares) = (0_u64, 0_u64, 0_u64);
        // Most are 0, and products of 64 bits cost more than to pass one over.
        for (place, n) in (0_u64..).zip(counts).filter(|(_, n)| *n > 0) {
            min.get_or_insert(place);
            max = place;
            count += n;
            sum += place * n;
            squares += place * place * n;
        }
        let Some(min) = min else { return };
        self.min = self.min.min(value(min));
        self.max = self.max.max(value(max));
        self.count += count;
        let [first, n, sum, squares] =
            [i128::from(first), i128::from(count), i128::from(sum), i128::from(squares)];
        self.sum += first * n + sum;
        self.squares = self.squares.saturating_add(first * first * n + 2 * first * sum + squares);
    }

    /// Adds what another has seen.
    pub fn merge(&mut self, other: &Moments) {
        let are_both = self.count > 0 && other.count > 0;
        self.is_count_unknown |= other.is_count_unknown;
        self.is_mean_unknown |= other.is_mean_unknown || are_both && self.is_count_unknown;
        self.count = self.count.saturating_add(other.count);
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
        self.sum = self.sum.saturating_add(other.sum);
        self.squares = self.squares.saturating_add(other.squares);
    }

    /// Sums of the distances of all values from this one and of the squares of these, exact.
    pub(crate) fn about(&self, value: i64) -> (i128, i128) {
        let (value, count) = (i128::from(value), i128::from(self.count));
        let sum = self.sum - count * value;
        (
            sum,
            self.squares.saturating_sub(2 * value * self.sum).saturating_add(count * value * value),
        )
    }

    pub const fn count(&self) -> u64 {
        self.count
    }

    /// The smallest value, ns.
    pub fn min(&self) -> Option<i64> {
        (self.count > 0 && self.min != UNKNOWN_MIN).then_some(self.min)
    }

    /// The largest value, ns.
    pub fn max(&self) -> Option<i64> {
        (self.count > 0).then_some(self.max)
    }

    /// The largest size of a value, ns.
    pub fn max_size(&self) -> Option<i64> {
        Some(self.min()?.saturating_abs().max(self.max()?.saturating_abs()))
    }

    pub const fn sum(&self) -> i128 {
        self.sum
    }

    /// The arithmetic mean, ns.
    #[expect(
        clippy::cast_precision_loss,
        reason = "a mean is a rounded figure; the sum before it was exact"
    )]
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0 && !self.is_mean_unknown).then(|| self.sum as f64 / self.count as f64)
    }

    /// The standard deviation with divisor n - 1, ns; none for fewer than two values.
    #[expect(clippy::cast_precision_loss, reason = "rounded once, after an exact difference")]
    pub fn sd(&self) -> Option<f64> {
        if self.count < 2 {
            return None;
        }
        // n x sum(x^2) - sum(x)^2 in whole numbers, so that nothing cancels; in floating point
        // where that overflows.
        let n = i128::from(self.count);
        let exact = n
            .checked_mul(self.squares)
            .zip(self.sum.checked_mul(self.sum))
            .and_then(|(a, b)| a.checked_sub(b));
        let spread = exact.map_or_else(
            || {
                let (n, sum) = (self.count as f64, self.sum as f64);
                (n * self.squares as f64 - sum * sum).max(0.0)
            },
            |exact| exact as f64,
        );
        Some((spread / self.count as f64 / (self.count - 1) as f64).sqrt())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Bounds;
    use proptest::prelude::*;

    #[test]
    fn known_values() {
        let mut moments = Moments::default();
        assert_eq!((moments.min(), moments.mean(), moments.sd()), (None, None, None));
        moments.record_counts(1, [0, 1, 0, 3, 2]);
        moments.record_counts(6, []);
        moments.record_counts(6, [0, 1, 0, 1, 0, 0]);
        assert_eq!(
            (moments.count(), moments.min(), moments.max(), moments.mean()),
            (8, Some(2), Some(9), Some(5.0))
        );
        assert!((moments.sd().unwrap() - (32.0_f64 / 7.0).sqrt()).abs() < 1e-12);
    }

    #[test]
    fn figures_on_paper_are_those_of_the_values() {
        let mut moments = Moments::default();
        (0..1_000).for_each(|value| moments.record(value * 17));
        let (min, max) = (moments.min().unwrap(), moments.max().unwrap());
        let (mean, sd) = (moments.mean().unwrap(), moments.sd());
        let [p50, p90, p99, p999, p9999] = [None; 5];
        let figures = Summary {
            count: 1_000,
            min,
            mean,
            sd,
            max,
            p50,
            p90,
            p99,
            p999,
            p9999,
            between: Bounds::default(),
        };
        assert_eq!(Moments::from_figures(&figures), moments);
    }

    proptest! {
        #[test]
        fn many_at_once_equals_one_by_one(
            first in -1_000_000_000..1_000_000_000_i64,
            counts in proptest::collection::vec(0_u64..9, 0..300),
            cut in 0_usize..300,
        ) {
            let mut one = Moments::default();
            (first..).zip(&counts).for_each(|(value, n)| (0..*n).for_each(|_| one.record(value)));
            let (a, b) = counts.split_at(cut.min(counts.len()));
            let (mut smaller, mut larger) = (Moments::default(), Moments::default());
            smaller.record_counts(first, a.iter().copied());
            larger.record_counts(first + i64::try_from(a.len()).unwrap(), b.iter().copied());
            smaller.merge(&larger);
            prop_assert_eq!(smaller, one);
        }
    }
}
