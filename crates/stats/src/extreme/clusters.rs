// SPDX-License-Identifier: MIT OR Apache-2.0
//! Late wake-ups come in clusters: one cause makes several activations late. What counts for the
//! tail is each cluster's largest.
//!
//! Exceedances that are independent come at exponential times (M. R. Leadbetter, "Extremes and
//! local dependence in stationary sequences", Zeitschrift fuer Wahrscheinlichkeitstheorie 65 (1983)
//! 291-306). Two of them belong to one cluster where their time apart is so short that such times
//! are more than twice as many as independent clusters would make them: a longer rule
//! would put together what is independent, and bend the tail.

use crate::Worst;

/// Values above a threshold, put together by cause.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Clusters {
    /// The largest of each cluster, in order of time.
    pub(crate) largest: Vec<Worst>,
    /// Clusters per value above the threshold: the extremal index by the runs estimator.
    pub(crate) extremal_index: f64,
    /// Values at most so many activations apart belong together.
    pub(crate) run: u64,
}

/// Rounds after which the number of clusters does not change any more, or too little to matter.
const ROUNDS: usize = 8;

/// The longest time within a cluster, of these between successive exceedances (ascending): where
/// the number of times up to it is farthest above twice that of independent clusters.
#[expect(clippy::cast_precision_loss, reason = "counts that are divided")]
fn longest_within(times: &[u64]) -> u64 {
    let span: f64 = times.iter().map(|time| *time as f64).sum();
    let mut run = 0;
    for _ in 0..ROUNDS {
        let between = (times.len() - times.partition_point(|time| *time <= run)) as f64;
        let rate = between / span;
        let independent = |time: u64| between * -(-rate * time as f64).exp_m1();
        let above = |index: usize| (index + 1) as f64 - 2.0 * independent(times[index]);
        let last_of_equals = |index: &usize| times.get(index + 1) != Some(&times[*index]);
        let best =
            (0..times.len()).filter(last_of_equals).max_by(|a, b| above(*a).total_cmp(&above(*b)));
        // A handful is what chance makes.
        let next = best
            .filter(|best| above(*best) > CHANCE * (times.len() as f64).sqrt().max(1.0).ln())
            .map_or(0, |best| times[best]);
        if next == run {
            break;
        }
        run = next;
    }
    run
}

/// How far the sum exceeds 0 at random, times the logarithm of how many there are.
const CHANCE: f64 = 1.0;

impl Clusters {
    /// Puts exceedances together, given in order of time.
    #[expect(clippy::cast_precision_loss, reason = "counts that are divided")]
    pub(crate) fn from_exceedances(exceedances: &[Worst]) -> Clusters {
        let mut times: Vec<u64> =
            exceedances.windows(2).map(|pair| pair[1].activation - pair[0].activation).collect();
        times.sort_unstable();
        let run = if times.is_empty() { 0 } else { longest_within(&times) };
        let mut largest: Vec<Worst> = Vec::new();
        let mut last: Option<u64> = None;
        for exceedance in exceedances {
            let together = last.is_some_and(|last| exceedance.activation - last <= run);
            last = Some(exceedance.activation);
            match largest.last_mut() {
                Some(known) if together => {
                    if exceedance.latency_ns > known.latency_ns {
                        *known = *exceedance;
                    }
                }
                _ => largest.push(*exceedance),
            }
        }
        let extremal_index = if exceedances.is_empty() {
            1.0
        } else {
            largest.len() as f64 / exceedances.len() as f64
        };
        Clusters { largest, extremal_index, run }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Numbers;

    fn at(activation: u64, latency_ns: i64) -> Worst {
        Worst { activation, latency_ns }
    }

    /// Every cause makes four in a row late; causes come at random, one in about 200 activations.
    #[test]
    fn four_in_a_row_are_one() {
        let mut numbers = Numbers::new(3);
        let (mut exceedances, mut activation) = (Vec::new(), 0);
        for _ in 0..500 {
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
            let pause = (numbers.exponential() * 200.0) as u64 + 20;
            activation += pause;
            for step in 0..4 {
                exceedances.push(at(activation + step, 100 + step.cast_signed()));
            }
        }
        let clusters = Clusters::from_exceedances(&exceedances);
        assert!((clusters.extremal_index - 0.25).abs() < 0.03, "{}", clusters.extremal_index);
        assert!(clusters.largest.len().abs_diff(500) < 30, "{}", clusters.largest.len());
        assert!(clusters.largest.iter().all(|worst| worst.latency_ns == 103));
    }

    #[test]
    fn independent_ones_stay_apart() {
        let mut numbers = Numbers::new(4);
        let mut activations: Vec<u64> =
            (0..1_000).map(|_| numbers.below(1_000_000) as u64).collect();
        activations.sort_unstable();
        activations.dedup();
        let clusters = Clusters::from_exceedances(
            &activations.iter().map(|activation| at(*activation, 7)).collect::<Vec<_>>(),
        );
        assert!(clusters.extremal_index > 0.9 && clusters.largest.len() > 900, "{clusters:?}");
        assert_eq!(Clusters::from_exceedances(&[at(5, 1)]).largest, [at(5, 1)]);
        assert!(Clusters::from_exceedances(&[]).largest.is_empty());
    }
}
