// SPDX-License-Identifier: MIT OR Apache-2.0
//! The worst activations of a thread, with their place.

use serde::{Deserialize, Serialize};

/// One activation worth looking at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Worst {
    /// Its number, from 0.
    pub activation: u64,
    /// How late it woke, ns.
    pub latency_ns: i64,
}

/// Keeps the worst so many. Among equals the earlier one counts as worse, so that the list does not depend on the order
/// in which parts are merged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorstActivations {
    keep: usize,
    /// Worst first.
    list: Vec<Worst>,
}

impl WorstActivations {
    /// Keeps the worst `keep`.
    #[must_use]
    pub fn new(keep: usize) -> Self {
        WorstActivations { keep, list: Vec::with_capacity(keep + 1) }
    }

    /// A latency has to be above this to enter the list.
    #[must_use]
    pub fn threshold(&self) -> i64 {
        if self.list.len() < self.keep { i64::MIN } else { self.list.last().map_or(i64::MAX, |least| least.latency_ns) }
    }

    /// Offers an activation; successive calls have ascending `activation`.
    pub fn offer(&mut self, activation: u64, latency_ns: i64) {
        if self.list.len() == self.keep && latency_ns <= self.threshold() {
            return;
        }
        let place = self.list.partition_point(|known| known.latency_ns >= latency_ns);
        self.list.insert(place, Worst { activation, latency_ns });
        self.list.truncate(self.keep);
    }

    /// Worst first.
    #[must_use]
    pub fn list(&self) -> &[Worst] {
        &self.list
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_same_as_sorting_everything(latencies in proptest::collection::vec(-5_i64..50, 0..200)) {
            let mut worst = WorstActivations::new(10);
            let mut all = Vec::new();
            for (activation, latency_ns) in (0..).zip(&latencies) {
                worst.offer(activation, *latency_ns);
                all.push(Worst { activation, latency_ns: *latency_ns });
            }
            all.sort_by_key(|w| (-w.latency_ns, w.activation));
            all.truncate(10);
            prop_assert_eq!(worst.list(), all);
        }
    }
}
