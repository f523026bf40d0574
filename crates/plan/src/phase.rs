// SPDX-License-Identifier: MIT OR Apache-2.0
//! The phase of a run: which way its timers meet.
//!
//! In virtual time a run is a computation, and its maximum is that of one way in which the kernel's
//! tick, the loads and the measuring threads fell upon one another. A phase is another way, known
//! by its number: it shifts when loads and threads start, and seeds what loads draw at random. The
//! same number is the same run, bit by bit, so the shifts are part of what is recorded and
//! must never change: `docs/method.md` has the formula.

use crate::{GuestError, LoadSpec, Nanos};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// The number of a phase; 0: none, nothing is shifted.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Phase(u32);

/// Starts are shifted over this. It is a whole number of ticks of kernels at 100, 250, 300 and
/// 1,000 Hz, so that each place between two ticks is as likely as any other.
pub(crate) const SPAN: Nanos = Nanos::from_millis(20);

/// Places in the sequence of a phase: two numbers of the threads, then two of each load.
const THREADS_IN_INTERVAL: u64 = 0;
const THREADS_IN_SPAN: u64 = 1;
const LOADS: u64 = 2;

/// How many phases can be asked for at once.
const MAX_LISTED: u32 = 100_000;

impl Phase {
    /// Nothing is shifted: the run as it is outside of the lab.
    pub const NONE: Phase = Phase(0);

    /// The phase of this number.
    pub(crate) const fn new(number: u32) -> Self {
        Phase(number)
    }

    /// The phases from 1 to this number.
    pub fn first(count: u32) -> impl Iterator<Item = Phase> {
        (1..=count).map(Phase)
    }

    /// Whether nothing is shifted.
    pub const fn is_none(&self) -> bool {
        self.0 == 0
    }

    /// The phases of a list such as `1..50`; none if it is no such list.
    pub(crate) fn listed(text: &str) -> Option<impl Iterator<Item = Phase> + use<>> {
        let (first, last) = text.split_once("..")?;
        let (first, last): (u32, u32) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
        (first <= last && last - first < MAX_LISTED).then(|| (first..=last).map(Phase))
    }

    /// How much later all threads of an interval start, ns: evenly over the interval, and over 20
    /// ms more.
    pub(crate) fn threads_shift(self, interval: Nanos) -> Nanos {
        Nanos(
            self.share_of(THREADS_IN_INTERVAL, interval)
                .0
                .saturating_add(self.share_of(THREADS_IN_SPAN, SPAN).0),
        )
    }

    /// How much later the load of this place starts, ns: below 20 ms.
    pub fn load_shift(self, load: usize) -> Nanos {
        self.share_of(LOADS + 2 * load as u64, SPAN)
    }

    /// What the numbers of the load of this place follow from, wherever it draws some; 0 without a
    /// phase.
    pub fn load_seed(self, load: usize) -> u64 {
        if self.is_none() { 0 } else { self.number(LOADS + 2 * load as u64 + 1) }
    }

    /// The longest that loads start later than without a phase, ns.
    pub(crate) fn max_load_shift(self, loads: &[LoadSpec]) -> Nanos {
        (0..loads.len()).map(|load| self.load_shift(load)).max().unwrap_or(Nanos::ZERO)
    }

    /// One of the numbers of this phase.
    const fn number(self, place: u64) -> u64 {
        stats::Numbers::at(self.0 as u64, place)
    }

    /// From 0 to below `whole`, as one of the numbers says.
    fn share_of(self, place: u64, whole: Nanos) -> Nanos {
        if self.is_none() {
            return Nanos::ZERO;
        }
        let share =
            (u128::from(self.number(place)) * u128::from(whole.0.max(0).unsigned_abs())) >> 64;
        Nanos(i64::try_from(share).unwrap_or(0))
    }
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for Phase {
    type Err = GuestError;

    fn from_str(text: &str) -> Result<Self, GuestError> {
        text.parse().map(Phase).map_err(|_| GuestError::Phase(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INTERVAL: Nanos = Nanos::from_millis(1);

    #[test]
    fn without_a_phase_nothing_is_shifted() {
        let none = Phase::NONE;
        assert_eq!(
            (none.threads_shift(INTERVAL), none.load_shift(3), none.load_seed(3)),
            (Nanos::ZERO, Nanos::ZERO, 0)
        );
        assert_eq!(
            Phase::first(3).map(|phase| phase.to_string()).collect::<Vec<_>>(),
            ["1", "2", "3"]
        );
    }

    /// Recordings name phases by their numbers: what each is must stay as it is.
    #[test]
    fn a_number_is_the_same_phase_for_ever() {
        let of = |number| {
            (
                Phase(number).threads_shift(INTERVAL).0,
                Phase(number).load_shift(0).0,
                Phase(number).load_seed(1),
            )
        };
        assert_eq!(of(1), (15_482_196, 19_420_055, 14_072_917_602_864_530_048));
        assert_eq!(of(17), (8_330_694, 6_566_596, 1_502_954_475_416_400_618));
    }

    /// Of 4,000 phases, to 5 standard deviations.
    #[test]
    fn each_place_in_interval_and_tick_is_as_likely_as_any_other() {
        for interval in
            [Nanos::from_micros(300), INTERVAL, Nanos::from_millis(7), Nanos::from_millis(100)]
        {
            for within in
                [interval, Nanos::from_millis(1), Nanos::from_millis(4), Nanos::from_millis(10)]
            {
                let mut counts = [0_i64; 10];
                for phase in Phase::first(4_000) {
                    let place = phase.threads_shift(interval).0 % within.0 * 10 / within.0;
                    counts[usize::try_from(place).unwrap()] += 1;
                }
                assert!(
                    counts.iter().all(|count| (count - 400).abs() < 95),
                    "{interval} within {within}: {counts:?}"
                );
            }
        }
        let mut counts = [0_i64; 10];
        Phase::first(4_000).for_each(|phase| {
            counts[usize::try_from(phase.load_shift(0).0 / 2_000_000).unwrap()] += 1
        });
        assert!(counts.iter().all(|count| (count - 400).abs() < 95), "{counts:?}");
    }

    #[test]
    fn loads_start_apart_from_one_another() {
        let phase = Phase(5);
        assert!(
            phase.load_shift(0) != phase.load_shift(1) && phase.load_seed(0) != phase.load_seed(1)
        );
    }

    #[test]
    fn what_is_written() {
        assert_eq!("17".parse(), Ok(Phase(17)));
        for wrong in ["", "-1", "1..3", "4294967296", "x"] {
            assert!(wrong.parse::<Phase>().is_err(), "{wrong}");
        }
        let listed = |text: &str| {
            Phase::listed(text).map(|phases| phases.map(|phase| phase.0).collect::<Vec<_>>())
        };
        assert_eq!(listed("1..3"), Some(vec![1, 2, 3]));
        assert_eq!(listed("7 .. 7"), Some(vec![7]));
        for wrong in ["3", "3..1", "1..", "..3", "1..9999999", "a..b"] {
            assert_eq!(listed(wrong), None, "{wrong}");
        }
    }
}
