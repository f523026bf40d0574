// SPDX-License-Identifier: MIT OR Apache-2.0
//! When a load is in its steady state. Pure.
//!
//! Every task has done its work at least once, and the load's rate has been level for [`LEVEL_MS`]:
//! its mean over the second half of that time differs from the first half's by no more than a
//! tenth, or by no more than chance would have it. So a load whose rate is uneven by nature (a disk
//! that is synced) settles too, and one that is still growing does not.

use std::collections::VecDeque;

/// Between two readings of what the load has done.
pub(crate) const WINDOW_NS: u64 = 25_000_000;
/// Readings in each of the two halves that are compared.
const HALF: usize = 8;
/// How long the rate must have been level.
pub(crate) const LEVEL_MS: u64 = WINDOW_NS / 1_000_000 * 2 * HALF as u64;
/// A program of which nothing is known but that it runs has this time to start.
pub(crate) const UNKNOWN_NS: u64 = 1_000_000_000;
/// Halves this near to one another are level.
const MAX_RELATIVE_DIFFERENCE: f64 = 0.1;
/// ... and those whose difference is at most so many standard errors.
const MAX_STANDARD_ERRORS: f64 = 2.0;

/// A load on its way to its steady state.
#[derive(Debug)]
pub(crate) struct Settling {
    since_ns: u64,
    last: Option<(u64, u64)>,
    rates: VecDeque<f64>,
}

impl Settling {
    /// Of a load whose tasks were released at this time.
    pub(crate) fn new(since_ns: u64) -> Self {
        Settling { since_ns, last: None, rates: VecDeque::with_capacity(2 * HALF) }
    }

    /// Takes in what the load has done in all until `at_ns`: none, if that is not known of this
    /// kind of load. Returns how long the load took, once it is in its steady state.
    pub(crate) fn observe(
        &mut self,
        at_ns: u64,
        done: Option<u64>,
        every_task_has_worked: bool,
    ) -> Option<u64> {
        let took = at_ns.saturating_sub(self.since_ns);
        let Some(done) = done else { return (took >= UNKNOWN_NS).then_some(took) };
        if !every_task_has_worked {
            return None;
        }
        if let Some((before_ns, before)) = self.last.replace((at_ns, done)) {
            if self.rates.len() == 2 * HALF {
                self.rates.pop_front();
            }
            self.rates.push_back(
                done.wrapping_sub(before) as f64 / at_ns.saturating_sub(before_ns).max(1) as f64,
            );
        }
        self.is_level().then_some(took)
    }

    fn is_level(&self) -> bool {
        if self.rates.len() < 2 * HALF {
            return false;
        }
        let (first, second) =
            (moments(self.rates.iter().take(HALF)), moments(self.rates.iter().skip(HALF)));
        let difference = (second.0 - first.0).abs();
        let mean = f64::midpoint(first.0, second.0);
        let standard_error = ((first.1 + second.1) / HALF as f64).sqrt();
        mean > 0.0
            && (difference <= MAX_RELATIVE_DIFFERENCE * mean
                || difference <= MAX_STANDARD_ERRORS * standard_error)
    }
}

fn moments<'a>(values: impl Iterator<Item = &'a f64> + Clone) -> (f64, f64) {
    let mean = values.clone().sum::<f64>() / HALF as f64;
    let variance = values.map(|value| (value - mean).powi(2)).sum::<f64>() / (HALF - 1) as f64;
    (mean, variance)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// When a load with this rate, as a function of the window's number, has settled; in windows.
    fn settles_after(rate: impl Fn(u64) -> u64, working_from: u64) -> Option<u64> {
        let (mut settling, mut done) = (Settling::new(0), 0);
        (1..400).find_map(|window| {
            done += rate(window);
            settling
                .observe(window * WINDOW_NS, Some(done), window >= working_from)
                .map(|took| took / WINDOW_NS)
        })
    }

    #[test]
    fn an_even_rate_is_level_once_it_has_been_watched_long_enough() {
        assert_eq!(settles_after(|_| 1_000, 1), Some(17));
        assert_eq!(LEVEL_MS, 400);
    }

    #[test]
    fn tasks_that_have_not_worked_yet_are_waited_for() {
        assert_eq!(settles_after(|_| 1_000, 50), Some(66));
    }

    #[test]
    fn a_rate_that_still_grows_is_not_level() {
        // Steadily growing until window 100, by then by so little that it is level.
        assert_eq!(settles_after(|window| window.min(100) * 50, 1), Some(88));
        assert_eq!(settles_after(|window| 1 << (window / 8).min(20), 1), Some(173));
    }

    #[test]
    fn a_rate_uneven_by_nature_settles() {
        let uneven = |window: u64| if window.is_multiple_of(5) { 16 } else { window * 7 % 3 };
        assert!(settles_after(uneven, 1).is_some_and(|windows| windows < 40));
    }

    #[test]
    fn what_does_nothing_has_no_steady_state() {
        assert_eq!(settles_after(|_| 0, 1), None);
    }

    #[test]
    fn a_program_of_which_nothing_is_known_has_a_second() {
        let mut settling = Settling::new(5);
        assert_eq!(settling.observe(UNKNOWN_NS, None, false), None);
        assert_eq!(settling.observe(UNKNOWN_NS + 5, None, false), Some(UNKNOWN_NS));
    }
}
