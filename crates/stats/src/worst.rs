// SPDX-License-Identifier: MIT OR Apache-2.0
//! The worst activations of a thread, with their place.

use serde::{Deserialize, Serialize};
use std::cmp::Ordering;

/// One activation worth looking at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Worst {
    /// Its number, from 0.
    pub activation: u64,
    /// How late it woke, ns.
    pub latency_ns: i64,
}

impl Worst {
    /// Worst first. Among equals the earlier one counts as worse, so that a list does not depend on
    /// the order in which parts are merged.
    fn order(&self, other: &Worst) -> Ordering {
        other.latency_ns.cmp(&self.latency_ns).then(self.activation.cmp(&other.activation))
    }
}

/// Keeps the worst so many.
#[derive(Clone, Debug)]
pub struct WorstActivations {
    keep: usize,
    /// The worst, and some that came before the least of them was known.
    known: Vec<Worst>,
    /// The least of those that are kept for certain.
    min: i64,
}

impl WorstActivations {
    /// Keeps the worst `keep`, at least one.
    pub const fn new(keep: usize) -> Self {
        WorstActivations {
            keep: if keep == 0 { 1 } else { keep },
            known: Vec::new(),
            min: i64::MIN,
        }
    }

    /// A later activation has to be above this to be among the worst.
    pub const fn threshold(&self) -> i64 {
        self.min
    }

    pub(crate) const fn keeps(&self) -> usize {
        self.keep
    }

    /// Offers an activation. Successive calls have ascending `activation`, or all the same where
    /// only the latencies are asked for.
    pub(crate) fn offer(&mut self, activation: u64, latency_ns: i64) {
        if latency_ns > self.min || self.known.len() < self.keep {
            self.insert(Worst { activation, latency_ns });
        }
    }

    /// Offers successive activations of which this is the largest latency.
    #[inline]
    pub(crate) fn offer_chunk(&mut self, first: u64, latencies: &[i32], max: i64) {
        if max > self.threshold() {
            for (activation, value) in (first..).zip(latencies) {
                self.offer(activation, i64::from(*value));
            }
        }
    }

    /// Offers what another has kept, of whichever part of the run.
    pub fn merge(&mut self, other: &WorstActivations) {
        other
            .known
            .iter()
            .filter(|worst| worst.latency_ns >= self.min)
            .for_each(|worst| self.known.push(*worst));
        self.cut();
    }

    fn insert(&mut self, worst: Worst) {
        self.known.push(worst);
        if self.known.len() >= 2 * self.keep {
            self.cut();
        }
    }

    fn cut(&mut self) {
        if self.known.len() > self.keep {
            let (_, min, _) = self.known.select_nth_unstable_by(self.keep - 1, Worst::order);
            self.min = min.latency_ns;
            self.known.truncate(self.keep);
        }
    }

    pub fn list(&self) -> Vec<Worst> {
        let mut list = self.known.clone();
        list.sort_unstable_by(Worst::order);
        list.truncate(self.keep);
        list
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_same_as_sorting_everything(
            latencies in proptest::collection::vec(-5_i64..50, 0..200),
            cut in 0_usize..200,
            keep in 1_usize..20,
        ) {
            let all: Vec<Worst> = (0..)
                .zip(&latencies)
                .map(|(activation, latency_ns)| Worst { activation, latency_ns: *latency_ns })
                .collect();
            let kept = |part: &[Worst]| {
                let mut worst = WorstActivations::new(keep);
                part.iter().for_each(|one| worst.offer(one.activation, one.latency_ns));
                worst
            };
            let mut expected = all.clone();
            expected.sort_by_key(|w| (-w.latency_ns, w.activation));
            expected.truncate(keep);
            prop_assert_eq!(kept(&all).list(), expected.as_slice());
            // Parts, in whichever order they come.
            let (first, second) = all.split_at(cut.min(all.len()));
            let (mut forwards, mut backwards) = (kept(first), kept(second));
            forwards.merge(&kept(second));
            backwards.merge(&kept(first));
            prop_assert_eq!(forwards.list(), expected.as_slice());
            prop_assert_eq!(backwards.list(), expected.as_slice());
        }
    }
}
