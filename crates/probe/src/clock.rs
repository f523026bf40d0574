// SPDX-License-Identifier: MIT OR Apache-2.0
//! The clock activations are planned on.

use crate::outcome::Woken;
use plan::Nanos;
use rustix::thread::ClockId;
use rustix::time::Timespec;

/// CLOCK_MONOTONIC: not set by anybody, slewed by NTP at most, stands still while the machine is
/// suspended.
#[derive(Clone, Copy, Debug, Default)]
pub struct Monotonic;

pub(crate) const NANOS_PER_SEC: i64 = 1_000_000_000;

/// A time of the system's, ns.
#[inline]
pub(crate) const fn ns_of(time: Timespec) -> i64 {
    time.tv_sec * NANOS_PER_SEC + time.tv_nsec
}

impl Monotonic {
    /// The time, ns.
    #[inline]
    pub fn now(self) -> Nanos {
        Nanos(ns_of(rustix::time::clock_gettime(rustix::time::ClockId::Monotonic)))
    }

    /// Sleeps until an absolute time; returns at once if it has passed.
    #[inline]
    pub fn sleep_until(self, time: Nanos) -> Woken {
        // Unsigned, because that division is the cheaper one; below zero cannot be, the clock began
        // at boot.
        let (time, second) = (time.0.cast_unsigned(), NANOS_PER_SEC.cast_unsigned());
        let request = Timespec {
            tv_sec: (time / second).cast_signed(),
            tv_nsec: (time % second).cast_signed(),
        };
        match rustix::thread::clock_nanosleep_absolute(ClockId::Monotonic, &request) {
            Ok(()) => Woken::OnTime,
            Err(error) => error.into(),
        }
    }
}

/// What the clock itself costs and resolves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Calibration {
    /// As the kernel states it, ns.
    pub resolution_ns: i64,
    /// Median cost of one reading, ns. Every latency contains it once; it is not subtracted.
    pub read_ns: i64,
}

/// Readings per timed group: enough to resolve a fraction of the clock's own step.
const GROUP: i64 = 64;
/// Groups timed; their median is not disturbed by an interrupt or two.
const GROUPS: usize = 31;

impl Calibration {
    /// Measures CLOCK_MONOTONIC on the CPU this runs on; takes well under a millisecond.
    pub fn measure() -> Self {
        let resolution = rustix::time::clock_getres(rustix::time::ClockId::Monotonic);
        let mut costs: Vec<i64> = (0..GROUPS)
            .map(|_| {
                let start = Monotonic.now();
                for _ in 1..GROUP {
                    std::hint::black_box(Monotonic.now());
                }
                (Monotonic.now().0 - start.0) / GROUP
            })
            .collect();
        costs.sort_unstable();
        Calibration { resolution_ns: ns_of(resolution), read_ns: costs[GROUPS / 2] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sleeps_no_shorter_than_asked() {
        let until = Nanos(Monotonic.now().0 + 2_000_000);
        assert_eq!(Monotonic.sleep_until(until), Woken::OnTime);
        assert!(Monotonic.now() >= until);
    }

    #[test]
    fn a_reading_costs_something_below_a_millisecond() {
        let calibration = Calibration::measure();
        assert!((1..1_000_000).contains(&calibration.read_ns), "{calibration:?}");
    }
}
