// SPDX-License-Identifier: MIT OR Apache-2.0
//! Gaps, and what the kernel's events say ran in them. Pure: gaps and events in the order of their
//! time go in.

/// What had the CPU, in the order of the columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    Nmi = 0,
    Irq = 1,
    Softirq = 2,
    Thread = 3,
}

pub(crate) const PARTS: usize = 4;

/// A gap of the loop. Times are of CLOCK_MONOTONIC, ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Gap {
    pub(crate) begin: i64,
    pub(crate) end: i64,
    /// How long each source had the CPU.
    pub(crate) parts: [i64; PARTS],
    /// Events that were lost then, or close to it.
    pub(crate) lost: u64,
}

impl Gap {
    /// What none of the events explain.
    pub(crate) fn unexplained(&self) -> i64 {
        self.end - self.begin - self.parts.iter().sum::<i64>()
    }
}

/// Gaps until they are accounted for.
#[derive(Debug)]
pub(crate) struct Account {
    gaps: Vec<Gap>,
    /// Those before it ended before the last event.
    at: usize,
    /// When the last event was.
    last: i64,
    /// Events that were lost in all, and gaps that they may be of.
    total: (u64, u64),
}

impl Account {
    /// With room for so many gaps.
    pub(crate) fn new(room: usize) -> Self {
        Account { gaps: Vec::with_capacity(room), at: 0, last: i64::MIN, total: (0, 0) }
    }

    /// Takes a gap, which is later than all before.
    pub(crate) fn gap(&mut self, begin: i64, end: i64) {
        if !self.is_full() {
            self.gaps.push(Gap { begin, end, parts: [0; PARTS], lost: 0 });
        }
    }

    pub(crate) fn is_full(&self) -> bool {
        self.gaps.len() == self.gaps.capacity()
    }

    /// Takes an event: at this time a source had had the CPU for so long. The loop itself ran at
    /// the beginning of the gap, so whatever ended within it began there.
    pub(crate) fn ran(&mut self, time: i64, source: Source, duration: i64) {
        self.last = time;
        while self.gaps.get(self.at).is_some_and(|gap| gap.end < time) {
            self.at += 1;
        }
        if let Some(gap) = self.gaps.get_mut(self.at).filter(|gap| gap.begin < time) {
            gap.parts[source as usize] += duration;
        }
    }

    /// Events are missing, after the last one and until this time.
    pub(crate) fn lost(&mut self, until: i64, events: u64) {
        let touched = self
            .gaps
            .iter_mut()
            .skip(self.at)
            .filter(|gap| gap.end > self.last && gap.begin < until);
        let mut gaps = 0;
        for gap in touched {
            gaps += u64::from(gap.lost == 0);
            gap.lost += events;
        }
        self.total = (self.total.0 + events, self.total.1 + gaps);
    }

    /// Events that were lost so far, and gaps that they may be of.
    pub(crate) const fn total_lost(&self) -> (u64, u64) {
        self.total
    }

    /// A gap that is accounted for, by its number.
    pub(crate) fn get(&self, number: usize) -> Option<Gap> {
        self.gaps.get(number).copied()
    }

    pub(crate) fn clear(&mut self) {
        self.gaps.clear();
        self.at = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn account(gaps: &[(i64, i64)]) -> Account {
        let mut account = Account::new(8);
        gaps.iter().for_each(|(begin, end)| account.gap(*begin, *end));
        account
    }

    #[test]
    fn parts_and_what_they_leave_are_the_gap() {
        let mut account = account(&[(1_000, 9_000), (20_000, 21_000), (30_000, 30_500)]);
        // Below the threshold of a gap; in the first; between two; exactly at the end of the
        // second.
        for (time, source, duration) in [
            (500, Source::Irq, 100),
            (2_000, Source::Irq, 700),
            (3_000, Source::Softirq, 300),
            (8_000, Source::Thread, 4_000),
            (8_500, Source::Thread, 500),
            (12_000, Source::Irq, 100),
            (21_000, Source::Nmi, 50),
        ] {
            account.ran(time, source, duration);
        }
        let gaps = [0, 1, 2].map(|number| account.get(number).unwrap());
        assert_eq!(gaps.map(|gap| gap.parts), [[0, 700, 300, 4_500], [50, 0, 0, 0], [0; 4]]);
        assert_eq!(gaps.map(|gap| gap.unexplained()), [2_500, 950, 500]);
        account.clear();
        assert_eq!(account.get(0), None);
        account.gap(40_000, 50_000);
        account.ran(41_000, Source::Thread, 900);
        assert_eq!(account.get(0).map(|gap| gap.parts), Some([0, 0, 0, 900]));
    }

    /// They may have been of any gap since the last event that is there.
    #[test]
    fn lost_events_are_counted_in_the_gaps_they_may_be_of() {
        let mut account =
            account(&[(1_000, 2_000), (3_000, 4_000), (5_000, 6_000), (9_000, 9_500)]);
        account.ran(3_500, Source::Irq, 100);
        account.lost(8_000, 17);
        account.ran(9_100, Source::Irq, 60);
        let lost = [0, 1, 2, 3].map(|number| account.get(number).unwrap().lost);
        assert_eq!((lost, account.total_lost()), ([0, 17, 17, 0], (17, 2)));
        assert_eq!(account.get(3).unwrap().unexplained(), 440);
    }

    #[test]
    fn a_full_account_says_so() {
        let mut account = Account::new(1);
        assert!(!account.is_full());
        account.gap(1, 2);
        assert!(account.is_full());
    }
}
