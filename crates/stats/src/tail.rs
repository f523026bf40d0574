// SPDX-License-Identifier: MIT OR Apache-2.0
//! The largest so many of any number of values, so that a quantile far out in the tail is known
//! after one pass.

/// Keeps the largest values.
#[derive(Clone, Debug)]
pub(crate) struct Tail {
    keep: usize,
    /// The largest values, and some that came before the least of them was known.
    values: Vec<i64>,
    /// What is no larger need not be kept.
    min: i64,
}

impl Tail {
    /// Keeps the largest `keep`, at least one.
    pub(crate) fn new(keep: usize) -> Self {
        Tail { keep: keep.max(1), values: Vec::new(), min: i64::MIN }
    }

    pub(crate) const fn keeps(&self) -> usize {
        self.keep
    }

    pub(crate) fn offer(&mut self, value: i64) {
        if value <= self.min {
            return;
        }
        self.values.push(value);
        if self.values.len() == 2 * self.keep {
            let (_, min, _) = self.values.select_nth_unstable_by(self.keep - 1, |a, b| b.cmp(a));
            self.min = *min;
            self.values.truncate(self.keep);
        }
    }

    /// Offers what another has kept.
    pub(crate) fn merge(&mut self, other: &Tail) {
        other.values.iter().for_each(|value| self.offer(*value));
    }

    /// Those that are kept, largest first.
    pub(crate) fn largest(&self) -> Vec<i64> {
        let mut values = self.values.clone();
        values.sort_unstable_by(|a, b| b.cmp(a));
        values.truncate(self.keep);
        values
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_same_as_sorting(mut values in proptest::collection::vec(prop_oneof![0_i64..50, any::<i64>()], 0..400), cut in 0_usize..400, keep in 1_usize..50) {
            let (first, second) = values.split_at(cut.min(values.len()));
            let (mut tail, mut other) = (Tail::new(keep), Tail::new(keep));
            first.iter().for_each(|value| tail.offer(*value));
            second.iter().for_each(|value| other.offer(*value));
            tail.merge(&other);
            values.sort_unstable_by(|a, b| b.cmp(a));
            values.truncate(keep);
            prop_assert_eq!(tail.largest(), values);
        }
    }
}
