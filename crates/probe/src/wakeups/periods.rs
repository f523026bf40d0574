// SPDX-License-Identifier: MIT OR Apache-2.0
//! Of how many wake-ups of a program the period is known, thread by thread.

use super::account::{Cause, Wakeup};
use model::WithoutPeriod;
use std::collections::BTreeMap;

/// A thread without more wake-ups by a timer of which no period is known is no loop that went
/// unseen: it takes three to learn a period, and programs wait now and then while they start.
const FEW: u64 = 10;

#[derive(Debug, Default)]
pub(crate) struct Periods {
    periodic: u64,
    /// By thread.
    others: BTreeMap<i64, u64>,
}

impl Periods {
    pub(crate) fn take(&mut self, wakeup: &Wakeup) {
        if wakeup.is_periodic {
            self.periodic += 1;
        } else if wakeup.cause == Cause::Timer {
            *self.others.entry(wakeup.thread).or_default() += 1;
        }
    }

    /// Wake-ups of a known period.
    pub(crate) const fn periodic(&self) -> u64 {
        self.periodic
    }

    pub(crate) fn without(&self) -> WithoutPeriod {
        let many = || self.others.values().filter(|rows| **rows > FEW);
        WithoutPeriod { rows: many().sum(), threads: many().count() as u64 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Wake-ups of a thread: so many by timers, and whether they are of a known period.
    fn counted(threads: &[(i64, u64, Cause, bool)]) -> (u64, WithoutPeriod) {
        let mut periods = Periods::default();
        for &(thread, rows, cause, is_periodic) in threads {
            let (planned, woken, running, missed, cpu) = (1, 2, 3, 0, 0);
            let wakeup =
                Wakeup { cause, thread, cpu, planned, woken, running, missed, is_periodic };
            (0..rows).for_each(|_| periods.take(&wakeup));
        }
        (periods.periodic(), periods.without())
    }

    #[test]
    fn a_loop_without_a_period_beside_one_with() {
        let counts = counted(&[
            (7, 3, Cause::Timer, false),
            (7, 997, Cause::Timer, true),
            (8, 500, Cause::Timer, false),
            (9, 11, Cause::Timer, false),
        ]);
        assert_eq!(counts, (997, WithoutPeriod { rows: 511, threads: 2 }));
    }

    #[test]
    fn a_few_waits_are_no_loop() {
        let counts = counted(&[
            (7, 10, Cause::Timer, false),
            (8, 10, Cause::Timer, false),
            (9, 900, Cause::Other, false),
        ]);
        assert_eq!(counts, (0, WithoutPeriod { rows: 0, threads: 0 }));
    }
}
