// SPDX-License-Identifier: MIT OR Apache-2.0
//! Every activation that was due is on time, late or skipped.

use crate::Span;
use crate::rows::Chunk;
use serde::{Deserialize, Serialize};

/// Counts of activations by what happened to them. `due = on_time + late + skipped`, always.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Activations {
    /// Activations whose planned time lay within the run.
    pub due: u64,
    /// Woken less than one interval late.
    pub on_time: u64,
    /// Woken one interval late or more.
    pub late: u64,
    /// Never run, because an earlier one was late.
    pub skipped: u64,
}

impl Activations {
    /// What [`Activations::due`] is, unless a file was changed.
    pub const fn total(&self) -> u64 {
        self.on_time.saturating_add(self.late).saturating_add(self.skipped)
    }

    /// Adds another thread's.
    pub fn merge(&mut self, other: &Activations) {
        self.due += other.due;
        self.on_time += other.on_time;
        self.late += other.late;
        self.skipped += other.skipped;
    }
}

/// What the measuring thread did after an overrun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AfterOverrun {
    /// It continued at the next planned time in the future.
    Skip,
    /// It ran every activation, late, unless it was stopped before.
    CatchUp,
    /// Unknown from these values: none of them is late, and a row without one is only missing.
    Unknown,
}

/// How rows without a sample are classified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AccountingRule {
    /// What the thread did after an overrun.
    pub after: AfterOverrun,
    /// For a thread that something kept from its CPU until the run was ended without it: when that
    /// was, ns since the planned time of its activation 0. The activations it never ran had
    /// waited at least until then.
    pub given_up_ns: Option<i64>,
}

impl From<AfterOverrun> for AccountingRule {
    fn from(after: AfterOverrun) -> Self {
        AccountingRule { after, given_up_ns: None }
    }
}

/// Receives each row's meaning.
pub(crate) trait Sink {
    /// Activations from number `first` on that woke.
    fn woken(&mut self, first: u64, latencies: Chunk<'_>);
    /// One activation that woke.
    fn woken_one(&mut self, activation: u64, latency_ns: i64);
    /// One activation that was skipped, and how long it had waited from its own planned time when
    /// the thread next ran.
    fn skipped(&mut self, waited_ns: i64);
    /// Activations that neither woke nor were skipped according to the rows: their samples were
    /// lost.
    fn lost(&mut self, rows: u64);
}

/// Classifies rows in order: late or on time, skipped or lost.
#[derive(Clone, Debug)]
pub struct Accounting {
    interval_ns: i64,
    rule: AccountingRule,
    next_row: u64,
    /// The overrun that rows without a sample are owed to.
    overrun: Option<Overrun>,
    /// Rows without a sample, while it matters whether the thread woke once more and that is not
    /// known yet.
    open: u64,
    on_time: u64,
    late: u64,
    skipped: u64,
    lost: u64,
}

#[derive(Clone, Copy, Debug)]
struct Overrun {
    row: u64,
    latency_ns: i64,
}

impl Accounting {
    /// Starts at activation 0 of a thread with this interval.
    pub fn new(interval_ns: i64, rule: impl Into<AccountingRule>) -> Self {
        let rule = rule.into();
        Accounting {
            interval_ns: if rule.after == AfterOverrun::Unknown {
                i64::MAX
            } else {
                interval_ns.max(1)
            },
            rule,
            next_row: 0,
            overrun: None,
            open: 0,
            on_time: 0,
            late: 0,
            skipped: 0,
            lost: 0,
        }
    }

    /// The counts so far. Lost rows are in none of the four; see [`Accounting::lost`].
    pub const fn activations(&self) -> Activations {
        let (on_time, late, skipped) = (self.on_time, self.late, self.skipped);
        Activations { due: on_time + late + skipped, on_time, late, skipped }
    }

    /// Rows without a sample that no overrun explains.
    pub const fn lost(&self) -> u64 {
        self.lost
    }

    pub(crate) fn visit(&mut self, span: Span<'_>, sink: &mut impl Sink) {
        match span {
            Span::Woken([]) | Span::Missing(0) => {}
            Span::Missing(rows) if self.depends_on_what_follows() => self.open += rows,
            Span::Missing(rows) => self.missing(rows, sink),
            Span::Woken(values) => {
                self.woke_again(sink);
                self.woken(values, sink);
            }
            Span::Long(latency) => {
                self.woke_again(sink);
                self.woken_one(latency, sink);
            }
        }
    }

    /// A thread that catches up runs what it missed: rows without a sample are lost, unless none
    /// follows, because the run was stopped. One that the run was ended without never ran what
    /// is behind its last sample.
    fn depends_on_what_follows(&self) -> bool {
        self.rule.given_up_ns.is_some()
            || (self.rule.after == AfterOverrun::CatchUp && self.overrun.is_some())
    }

    fn woke_again(&mut self, sink: &mut impl Sink) {
        if self.open == 0 {
            return;
        }
        if self.rule.after == AfterOverrun::CatchUp {
            self.overrun = None;
        }
        let rows = std::mem::take(&mut self.open);
        self.missing(rows, sink);
    }

    /// Call after the last row.
    pub(crate) fn finish(&mut self, sink: &mut impl Sink) {
        let end = self.next_row + std::mem::take(&mut self.open);
        self.skip(end, sink, Self::waited);
        if let Some(given_up_ns) = self.rule.given_up_ns {
            self.skip(end, sink, |accounting, row| {
                let planned = i64::try_from(row).ok()?.checked_mul(accounting.interval_ns)?;
                Some(given_up_ns - planned).filter(|waited| *waited >= 0)
            });
        }
        self.missing(end - self.next_row, sink);
    }

    fn woken(&mut self, values: &[i32], sink: &mut impl Sink) {
        for chunk in Chunk::each_from(self.next_row, values) {
            sink.woken(self.next_row, chunk);
            if chunk.is_below(self.interval_ns) {
                self.on_time += chunk.values.len() as u64;
                self.overrun = None;
            } else {
                for (row, value) in (self.next_row..).zip(chunk.values) {
                    self.count(row, i64::from(*value));
                }
            }
            self.next_row += chunk.values.len() as u64;
        }
    }

    fn woken_one(&mut self, latency_ns: i64, sink: &mut impl Sink) {
        sink.woken_one(self.next_row, latency_ns);
        self.count(self.next_row, latency_ns);
        self.next_row += 1;
    }

    fn count(&mut self, row: u64, latency_ns: i64) {
        let late = latency_ns >= self.interval_ns;
        self.late += u64::from(late);
        self.on_time += u64::from(!late);
        self.overrun = late.then_some(Overrun { row, latency_ns });
    }

    fn missing(&mut self, rows: u64, sink: &mut impl Sink) {
        let end = self.next_row + rows;
        self.skip(end, sink, Self::waited);
        let lost = end - self.next_row;
        if lost > 0 {
            sink.lost(lost);
            self.lost += lost;
            self.next_row = end;
        }
    }

    /// Rows up to `end` that were skipped, as long as it is known how long each had waited.
    fn skip(&mut self, end: u64, sink: &mut impl Sink, waited: impl Fn(&Self, u64) -> Option<i64>) {
        while self.next_row < end
            && let Some(waited) = waited(self, self.next_row)
        {
            sink.skipped(waited);
            self.skipped += 1;
            self.next_row += 1;
        }
    }

    /// How long the activation of this row had waited when the late one before it woke, if that is
    /// why it is missing.
    fn waited(&self, row: u64) -> Option<i64> {
        let overrun = self.overrun?;
        let behind = i64::try_from(row - overrun.row).ok()?.checked_mul(self.interval_ns)?;
        Some(overrun.latency_ns - behind).filter(|waited| *waited >= 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct Seen {
        skipped: Vec<i64>,
    }

    impl Sink for Seen {
        fn woken(&mut self, _: u64, _: Chunk<'_>) {}
        fn woken_one(&mut self, _: u64, _: i64) {}
        fn skipped(&mut self, waited_ns: i64) {
            self.skipped.push(waited_ns);
        }
        fn lost(&mut self, _: u64) {}
    }

    fn account(
        rule: impl Into<AccountingRule>,
        spans: &[Span<'_>],
    ) -> (Activations, u64, Vec<i64>) {
        let (mut accounting, mut seen) = (Accounting::new(1_000, rule), Seen::default());
        spans.iter().for_each(|span| accounting.visit(*span, &mut seen));
        accounting.finish(&mut seen);
        (accounting.activations(), accounting.lost(), seen.skipped)
    }

    #[test]
    fn two_and_a_half_intervals_late_skip_two() {
        let spans = [Span::Woken(&[10, 2_500]), Span::Missing(2), Span::Woken(&[7])];
        let expected = Activations { due: 5, on_time: 2, late: 1, skipped: 2 };
        assert_eq!(account(AfterOverrun::Skip, &spans), (expected, 0, vec![1_500, 500]));
    }

    #[test]
    fn exactly_one_interval_late_skips_the_next() {
        let spans = [Span::Woken(&[1_000]), Span::Missing(1), Span::Woken(&[-3])];
        let expected = Activations { due: 3, on_time: 1, late: 1, skipped: 1 };
        assert_eq!(account(AfterOverrun::Skip, &spans), (expected, 0, vec![0]));
    }

    #[test]
    fn rows_that_no_overrun_explains_are_lost() {
        let spans = [
            Span::Woken(&[10]),
            Span::Missing(3),
            Span::Long(5_000_000_000),
            Span::Missing(1),
            Span::Woken(&[4]),
        ];
        let expected = Activations { due: 4, on_time: 2, late: 1, skipped: 1 };
        assert_eq!(account(AfterOverrun::Skip, &spans), (expected, 3, vec![4_999_999_000]));
        assert_eq!(account(AfterOverrun::CatchUp, &spans).1, 4);
    }

    /// A thread that catches up runs what it missed, so that rows between its samples are lost; at
    /// the end of a run that was stopped it did not come to that.
    #[test]
    fn stopped_while_catching_up() {
        let spans = [
            Span::Woken(&[10, 2_500]),
            Span::Missing(2),
            Span::Woken(&[1_700, 4_200]),
            Span::Missing(3),
            Span::Missing(2),
        ];
        let expected = Activations { due: 8, on_time: 1, late: 3, skipped: 4 };
        assert_eq!(
            account(AfterOverrun::CatchUp, &spans),
            (expected, 3, vec![3_200, 2_200, 1_200, 200])
        );
    }

    /// What a thread that the run was ended without never ran had waited at least until then.
    #[test]
    fn ended_without_the_thread() {
        let rule = AccountingRule { after: AfterOverrun::Skip, given_up_ns: Some(9_400) };
        let spans = [
            Span::Woken(&[10]),
            Span::Missing(1),
            Span::Woken(&[7, 1_500]),
            Span::Missing(1),
            Span::Missing(5),
        ];
        let expected = Activations { due: 9, on_time: 2, late: 1, skipped: 6 };
        assert_eq!(
            account(rule, &spans),
            (expected, 1, vec![500, 4_400, 3_400, 2_400, 1_400, 400])
        );
    }

    /// However large a value is, it says nothing of the rows that follow.
    #[test]
    fn values_that_do_not_tell_overruns() {
        let spans = [
            Span::Woken(&[5_000, 7]),
            Span::Missing(2),
            Span::Long(5_000_000_000),
            Span::Missing(1),
        ];
        let expected = Activations { due: 3, on_time: 3, late: 0, skipped: 0 };
        assert_eq!(account(AfterOverrun::Unknown, &spans), (expected, 3, vec![]));
    }

    #[test]
    fn a_long_overrun_explains_only_its_own_rows() {
        let spans = [Span::Woken(&[1_200]), Span::Missing(4)];
        let expected = Activations { due: 2, on_time: 0, late: 1, skipped: 1 };
        assert_eq!(account(AfterOverrun::Skip, &spans), (expected, 3, vec![200]));
    }
}
