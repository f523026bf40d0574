// SPDX-License-Identifier: MIT OR Apache-2.0
//! Holds a task at its level: a duty cycle, closed on the CPU time that the task itself has used.
//!
//! The task works in small steps and throttles between them. In each period it may use CPU time
//! until it lies on the line `level x time since the start`; then it sleeps until the period ends.
//! What one period used too much or too little, the next ones make good, so the error does not grow
//! with time. Page faults and system calls count, for they are CPU time of the task.
//!
//! Periods are not all of one length: a load that always slept at the same phase of the kernel's
//! tick would be invisible to /proc/stat or fill it, and one in step with the measured thread would
//! meet it always or never.

use std::time::{Duration, Instant};

/// The whole CPU, in parts per million.
const WHOLE: u64 = 1_000_000;
/// What a task is owed at most, periods of its level: kept from running for a second, it shall not
/// run a second without sleep afterwards, for that would be another load than the one asked for.
const MAX_OWED: u64 = 10;

/// The clocks of a task, ns.
pub(crate) trait Clocks {
    /// Time since some instant. Cheap.
    fn wall_ns(&self) -> u64;
    /// CPU time the task has used, user and system.
    fn used_ns(&self) -> u64;
    /// Sleeps until this wall time.
    fn sleep_until(&self, wall_ns: u64);
}

/// The duty cycle of one task.
#[derive(Debug)]
pub(crate) struct DutyCycle<C> {
    clocks: C,
    level_ppm: u64,
    period_ns: u64,
    wall_from: u64,
    used_from: u64,
    /// CPU time that is not owed any more.
    forgiven_ns: u64,
    period_end: u64,
    periods: u64,
    /// Where in the sequence of their lengths the first of them lies.
    seed: u64,
    /// Before this wall time the CPU time of this period cannot be used up: a task uses no more
    /// than passes.
    next_check_ns: u64,
}

impl<C: Clocks> DutyCycle<C> {
    /// The duty cycle of a task that begins now, at a level in percent. The lengths of its periods
    /// follow from `seed`.
    pub(crate) fn new(clocks: C, level_percent: f64, period: Duration, seed: u64) -> Self {
        let (wall_from, used_from) = (clocks.wall_ns(), clocks.used_ns());
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a level is above 0 and at most 100"
        )]
        let level_ppm = (level_percent * 1e4).round() as u64;
        let period_ns = u64::try_from(period.as_nanos()).unwrap_or(u64::MAX).max(1);
        let mut cycle = DutyCycle {
            clocks,
            level_ppm,
            period_ns,
            wall_from,
            used_from,
            forgiven_ns: 0,
            period_end: wall_from,
            periods: 0,
            seed,
            next_check_ns: wall_from,
        };
        cycle.begin_period(wall_from);
        cycle
    }

    /// Call between two steps of work: sleeps if the task is ahead of its level. At 100 % never.
    pub(crate) fn throttle(&mut self) {
        if self.level_ppm >= WHOLE {
            return;
        }
        let mut now = self.clocks.wall_ns();
        if now < self.next_check_ns {
            return;
        }
        loop {
            if now >= self.period_end {
                self.begin_period(now);
            }
            let left = self.allowed_ns().saturating_sub(self.counted_ns());
            if left > 0 {
                self.next_check_ns = self.period_end.min(now + left);
                return;
            }
            self.clocks.sleep_until(self.period_end);
            now = self.clocks.wall_ns();
        }
    }

    fn begin_period(&mut self, now: u64) {
        self.period_end = now + self.next_length();
        let max_owed_ns = MAX_OWED * self.share(self.period_ns);
        let owed = self.allowed_ns().saturating_sub(self.counted_ns());
        self.forgiven_ns += owed.saturating_sub(max_owed_ns);
    }

    /// Three quarters to five quarters of a period, evenly: multiples of the golden ratio fall
    /// between one another for ever.
    fn next_length(&mut self) -> u64 {
        const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;
        self.periods += 1;
        let place = self.seed.wrapping_add(self.periods.wrapping_mul(GOLDEN)) >> 32;
        let half = (u128::from(self.period_ns) * u128::from(place)) >> 33;
        (self.period_ns - self.period_ns / 4)
            .saturating_add(u64::try_from(half).unwrap_or(0))
            .max(1)
    }

    /// What may have been used by the end of this period.
    fn allowed_ns(&self) -> u64 {
        self.share(self.period_end - self.wall_from)
    }

    fn counted_ns(&self) -> u64 {
        self.clocks.used_ns() - self.used_from + self.forgiven_ns
    }

    fn share(&self, span_ns: u64) -> u64 {
        let share = u128::from(span_ns) * u128::from(self.level_ppm) / u128::from(WHOLE);
        u64::try_from(share).unwrap_or(u64::MAX)
    }
}

/// The clocks of the calling thread.
#[derive(Debug)]
pub(crate) struct OwnClocks {
    start: Instant,
}

impl OwnClocks {
    pub(crate) fn new() -> Self {
        OwnClocks { start: Instant::now() }
    }
}

impl Clocks for OwnClocks {
    fn wall_ns(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    fn used_ns(&self) -> u64 {
        let used = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
        u64::try_from(used.tv_sec).unwrap_or(0) * 1_000_000_000
            + u64::try_from(used.tv_nsec).unwrap_or(0)
    }

    fn sleep_until(&self, wall_ns: u64) {
        std::thread::sleep(Duration::from_nanos(wall_ns.saturating_sub(self.wall_ns())));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::cell::Cell;

    const PERIOD: Duration = Duration::from_millis(10);
    const SECOND: u64 = 1_000_000_000;

    /// A CPU on which time passes as a test says.
    #[derive(Default)]
    struct Scripted {
        wall: Cell<u64>,
        used: Cell<u64>,
        /// How much later than asked a sleep ends.
        oversleep: u64,
        sleeps: Cell<u64>,
    }

    impl Clocks for &Scripted {
        fn wall_ns(&self) -> u64 {
            self.wall.get()
        }

        fn used_ns(&self) -> u64 {
            self.used.get()
        }

        fn sleep_until(&self, wall_ns: u64) {
            self.sleeps.set(self.sleeps.get() + 1);
            self.wall.set(self.wall.get().max(wall_ns) + self.oversleep);
        }
    }

    impl Scripted {
        /// Works for so long, during which others run for so long.
        fn work(&self, used: u64, others: u64) {
            self.used.set(self.used.get() + used);
            self.wall.set(self.wall.get() + used + others);
        }

        fn reached(&self) -> f64 {
            100.0 * self.used.get() as f64 / self.wall.get() as f64
        }
    }

    #[test]
    fn a_hundred_percent_never_sleeps() {
        let clocks = Scripted::default();
        let mut cycle = DutyCycle::new(&clocks, 100.0, PERIOD, 0);
        for _ in 0..10_000 {
            clocks.work(100_000, 0);
            cycle.throttle();
        }
        assert_eq!(clocks.sleeps.get(), 0);
    }

    #[test]
    fn starved_it_catches_up_a_little_and_not_for_long() {
        let clocks = Scripted::default();
        let mut cycle = DutyCycle::new(&clocks, 50.0, PERIOD, 0);
        clocks.work(0, 10 * SECOND);
        let (mut longest, mut since) = (0, clocks.wall.get());
        while clocks.wall.get() < 12 * SECOND {
            clocks.work(100_000, 0);
            let before = clocks.wall.get();
            cycle.throttle();
            if clocks.wall.get() > before {
                longest = longest.max(before - since);
                since = clocks.wall.get();
            }
        }
        assert!((50_000_000..150_000_000).contains(&longest), "{longest} ns without sleep");
    }

    #[test]
    fn periods_differ_and_are_right_on_average() {
        let clocks = Scripted::default();
        let lengths = |seed| {
            let mut cycle = DutyCycle::new(&clocks, 50.0, PERIOD, seed);
            (0..1_000).map(|_| cycle.next_length()).collect::<Vec<u64>>()
        };
        for seed in [0, 1 << 63, u64::MAX, 0x1234_5678_9abc_def0] {
            let lengths = lengths(seed);
            assert!(lengths.iter().all(|length| (7_500_000..=12_500_000).contains(length)));
            let mean = lengths.iter().sum::<u64>() / 1_000;
            assert!((9_980_000..10_020_000).contains(&mean), "{mean}");
            assert!(lengths.windows(2).all(|pair| pair[0].abs_diff(pair[1]) > 500_000));
        }
        assert_ne!(lengths(0), lengths(1 << 63));
    }

    proptest! {
        /// Whatever the pieces, the disturbance and the sleeps' lateness,
        /// as long as the CPU can be had.
        #[test]
        fn the_level_is_held(
            level in 5.0..75.0_f64,
            piece in 1_000..3_000_000_u64,
            others in 0..20_u64,
            oversleep in 0..500_000_u64,
        ) {
            let clocks = Scripted { oversleep, ..Scripted::default() };
            let mut cycle = DutyCycle::new(&clocks, level, PERIOD, 0);
            while clocks.wall.get() < 5 * SECOND {
                clocks.work(piece, piece * others / 100);
                cycle.throttle();
            }
            prop_assert!(
                (clocks.reached() - level).abs() < 0.5,
                "{} instead of {level}",
                clocks.reached()
            );
        }
    }
}
