// SPDX-License-Identifier: MIT OR Apache-2.0
//! Rows from what timerlat prints.
//!
//! The kernel counts interrupts, not periods: a period that its thread missed has no number. It
//! shows in the time only, when the timer was set to expire, which is a line's time without its
//! latency. Lines come in whole µs and are made somewhat after the clock was read, so that time is
//! known to a few µs, and far longer periods can be counted by it.

use plan::Nanos;
use trace::{Context, Line, TimerLatency};

/// One activation of the kernel's thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) thread_ns: i64,
    pub(crate) irq_ns: i64,
    /// Until a thread in user space was back there; 0 of the kernel's.
    pub(crate) user_ns: i64,
    /// Activations that passed before the thread waited for the next.
    pub(crate) missed: i64,
    /// Activations that came after those, and of which lines were lost.
    pub(crate) lost: u64,
}

/// One that has been seen, while what follows it is not yet.
#[derive(Clone, Copy, Debug)]
struct Seen {
    number: u64,
    expiry: i64,
    thread_ns: i64,
    irq_ns: i64,
    user_ns: i64,
}

/// Makes rows of lines, from the first activation at or after a time.
#[derive(Debug)]
pub(crate) struct Rows {
    first: i64,
    interval: i64,
    /// The interrupt whose thread has not run yet: its number, its latency, and when it was due.
    irq: Option<(u64, i64, i64)>,
    /// Whether the thread is back in user space at the end, and one that is not there yet.
    has_user: bool,
    thread: Option<Seen>,
    seen: Option<Seen>,
    /// Activations before the first row, since the time it was to begin.
    passed_before: i64,
}

impl Rows {
    pub(crate) fn new(first: Nanos, interval: Nanos) -> Self {
        Rows {
            first: first.0,
            interval: interval.0,
            irq: None,
            has_user: false,
            thread: None,
            seen: None,
            passed_before: 0,
        }
    }

    /// Of a thread in user space, which has one line more.
    pub(crate) const fn with_user(self) -> Self {
        Rows { has_user: true, ..self }
    }

    /// Begins at another time. An activation that was seen already, because what preceded it had to
    /// be complete, may be the first.
    pub(crate) fn restart(&mut self, first: Nanos, interval: Nanos) {
        (self.first, self.interval) = (first.0, interval.0);
        self.seen = self.seen.filter(|seen| seen.expiry >= first.0);
        self.passed_before = self.seen.map_or(0, |seen| (seen.expiry - first.0) / interval.0);
    }

    /// Takes a line. Returns the activation before it, when that is complete: what it missed is
    /// known from the one that follows.
    pub(crate) fn line(&mut self, line: &str) -> Option<Row> {
        let line = Line::parse(line)?;
        let TimerLatency { number, context, latency } = TimerLatency::parse(line.payload)?;
        let expiry = line.time.0 - latency.0;
        match context {
            Context::Irq => {
                self.irq = Some((number, latency.0, expiry));
                None
            }
            // A thread whose interrupt is not known is a row with a value missing: it counts as
            // lost.
            Context::Thread => {
                let (_, irq_ns, irq_expiry) = self.irq.take().filter(|(of, ..)| *of == number)?;
                let seen = Seen {
                    number,
                    expiry: expiry.min(irq_expiry),
                    thread_ns: latency.0,
                    irq_ns,
                    user_ns: 0,
                };
                if self.has_user {
                    self.thread = Some(seen);
                    return None;
                }
                self.activation(seen)
            }
            // Nor is one that did not come back.
            Context::User => {
                let seen = self.thread.take().filter(|seen| seen.number == number)?;
                self.activation(Seen { user_ns: latency.0, ..seen })
            }
        }
    }

    fn activation(&mut self, new: Seen) -> Option<Row> {
        if new.expiry < self.first {
            return None;
        }
        let Some(seen) = self.seen.replace(new) else {
            self.passed_before = (new.expiry - self.first) / self.interval;
            return None;
        };
        let periods = (new.expiry - seen.expiry + self.interval / 2) / self.interval;
        let came = i64::try_from(new.number.saturating_sub(seen.number)).unwrap_or(i64::MAX).max(1);
        let missed = (periods - came).max(0) + std::mem::take(&mut self.passed_before);
        Some(Row {
            thread_ns: seen.thread_ns,
            irq_ns: seen.irq_ns,
            user_ns: seen.user_ns,
            missed,
            lost: (came - 1).unsigned_abs(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines of one activation that was due at so many µs.
    fn lines(number: u64, due_us: i64, irq_ns: i64, thread_ns: i64) -> [String; 2] {
        let at = |us: i64| format!("{}.{:06}", us / 1_000_000, us % 1_000_000);
        [
            format!(
                "          <idle>-0       [000] d..h1..     {}: #{number}     context    irq \
                 timer_latency       {irq_ns} ns",
                at(due_us + irq_ns / 1_000 + 1)
            ),
            format!(
                "           <...>-97      [000] .......     {}: #{number}     context thread \
                 timer_latency      {thread_ns} ns",
                at(due_us + thread_ns / 1_000 + 1)
            ),
        ]
    }

    fn rows(first_us: i64, activations: &[[String; 2]]) -> Vec<Row> {
        let mut rows = Rows::new(Nanos(first_us * 1_000), Nanos(1_000_000));
        activations.iter().flatten().filter_map(|line| rows.line(line)).collect()
    }

    fn row(thread_ns: i64, irq_ns: i64, missed: i64, lost: u64) -> Row {
        Row { thread_ns, irq_ns, user_ns: 0, missed, lost }
    }

    #[test]
    fn each_activation_is_a_row_from_the_first_one_on() {
        let all = [
            lines(1, 10_000, 600, 4_000),
            lines(2, 11_000, 700, 4_100),
            lines(3, 12_000, 800, 4_200),
            lines(4, 13_000, 1, 2),
        ];
        assert_eq!(rows(10_500, &all), [row(4_100, 700, 0, 0), row(4_200, 800, 0, 0)]);
    }

    /// The line of the return stands behind the other two. Without it the row is lost.
    #[test]
    fn a_thread_in_user_space_has_three_lines() {
        let mut rows = Rows::new(Nanos(9_900_000), Nanos(1_000_000)).with_user();
        let mut found = Vec::new();
        for (number, due_us, user_ns) in [
            (1, 10_000, Some(5_100)),
            (2, 11_000, None),
            (3, 12_000, Some(5_300)),
            (4, 13_000, Some(1)),
        ] {
            let [irq, thread] = lines(number, due_us, 600, 4_000);
            let back = user_ns.map(|ns| {
                thread
                    .replace("context thread", "context user-ret")
                    .replace("4000 ns", &format!("{ns} ns"))
            });
            found.extend(
                [Some(irq), Some(thread), back]
                    .into_iter()
                    .flatten()
                    .filter_map(|line| rows.line(&line)),
            );
        }
        let row = |user_ns, lost| Row { user_ns, ..row(4_000, 600, 0, lost) };
        assert_eq!(found, [row(5_100, 1), row(5_300, 0)]);
    }

    /// Threads of two CPUs have lines of their own, and a number each: what one missed is none of
    /// the other's.
    #[test]
    fn rows_of_two_cpus() {
        let on_cpu = |cpu: u32, all: &[[String; 2]]| -> Vec<[String; 2]> {
            let moved = |line: &String| line.replace("[000]", &format!("[{cpu:03}]"));
            all.iter().map(|[irq, thread]| [moved(irq), moved(thread)]).collect()
        };
        let first = on_cpu(
            0,
            &[lines(1, 10_000, 600, 4_000), lines(2, 11_000, 700, 4_100), lines(3, 12_000, 1, 2)],
        );
        let second = on_cpu(
            1,
            &[
                lines(1, 10_000, 500, 2_400_000),
                lines(2, 13_000, 550, 3_900),
                lines(3, 14_000, 1, 2),
            ],
        );
        assert_eq!(rows(9_900, &first), [row(4_000, 600, 0, 0), row(4_100, 700, 0, 0)]);
        assert_eq!(rows(9_900, &second), [row(2_400_000, 500, 2, 0), row(3_900, 550, 0, 0)]);
    }

    /// The kernel's number does not count them.
    #[test]
    fn periods_that_the_thread_was_too_late_for_are_missed() {
        let all = [
            lines(1, 10_000, 600, 3_400_000),
            lines(2, 14_000, 700, 999_999),
            lines(3, 15_000, 1, 2),
        ];
        assert_eq!(rows(9_900, &all), [row(3_400_000, 600, 3, 0), row(999_999, 700, 0, 0)]);
    }

    #[test]
    fn lost_lines_are_counted_apart_from_missed_periods() {
        let all = [
            lines(1, 10_000, 600, 4_000),
            lines(4, 13_000, 700, 4_100),
            lines(6, 18_000, 7, 8),
            lines(7, 19_000, 7, 8),
        ];
        assert_eq!(
            rows(9_900, &all),
            [row(4_000, 600, 0, 2), row(4_100, 700, 3, 1), row(8, 7, 0, 0)]
        );
    }

    /// Warming up reads one activation further than it has rows.
    #[test]
    fn the_first_row_has_been_seen_before_it_begins() {
        let mut rows = Rows::new(Nanos(9_000_000), Nanos(1_000_000));
        let mut feed = |activations: &[[String; 2]], restart| {
            let found: Vec<Row> =
                activations.iter().flatten().filter_map(|line| rows.line(line)).collect();
            if restart {
                rows.restart(Nanos(10_500_000), Nanos(1_000_000));
            }
            found
        };
        assert_eq!(
            feed(&[lines(1, 10_000, 600, 4_000), lines(2, 11_000, 700, 4_100)], true).len(),
            1
        );
        assert_eq!(feed(&[lines(3, 12_000, 800, 4_200)], false), [row(4_100, 700, 0, 0)]);
    }

    #[test]
    fn half_an_activation_is_lost() {
        let [mut all, second, third] =
            [lines(1, 10_000, 600, 4_000), lines(2, 11_000, 700, 4_100), lines(3, 12_000, 7, 8)];
        all[1].clone_from(&second[1]);
        let fourth = lines(4, 13_000, 7, 8);
        assert_eq!(rows(9_900, &[all, third, fourth]).len(), 1);
    }

    #[test]
    fn a_first_activation_that_is_late_has_passed_others() {
        let all = [lines(1, 12_100, 600, 4_000), lines(2, 13_100, 700, 4_100)];
        assert_eq!(rows(10_000, &all), [row(4_000, 600, 2, 0)]);
    }
}
