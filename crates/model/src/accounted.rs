// SPDX-License-Identifier: MIT OR Apache-2.0
//! What became of every row that was due: the one source of what is shown and judged of it.

use crate::{Detail, Thread};
use stats::{Activations, Statistics};
use std::iter::Sum;

/// What became of the rows that were due, and how many of those that woke have no sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Accounted {
    /// Those that were lost are among those on time or late.
    pub rows: Activations,
    pub lost: u64,
}

impl Accounted {
    /// As the samples have it, whatever the thread counted: it is believed only in what they do not
    /// tell, which is how many of the rows without a sample woke, and how many of these were late.
    /// None of a thread without samples.
    pub fn new(thread: &Thread, statistics: &Statistics) -> Option<Accounted> {
        if thread.detail != Detail::Samples {
            return None;
        }
        let (seen, evidence) = (statistics.activations, &thread.evidence);
        let counted = thread.activations.map(|counts| counts.all()).unwrap_or_default();
        let woken = seen.on_time + seen.late;
        let rows = woken + seen.skipped + statistics.lost;
        let (due, lost) = match evidence.samples_lost {
            // Of a thread that did not come back nothing says which of its rows between others were
            // lost.
            0 if evidence.voluntary_switches.is_none() => (rows, 0),
            0 => (rows, statistics.lost),
            // A file that could not be written to its end has fewer rows than were due.
            lost => {
                let told = woken.saturating_add(lost).saturating_add(counted.skipped);
                (rows.max(counted.total().min(told)), lost)
            }
        };
        let missing = due - woken;
        // No row that an overrun explains can have woken.
        let lost = lost.min(missing - seen.skipped);
        let skipped = missing - lost;
        let late = counted.late.clamp(seen.late, seen.late + missing - skipped);
        Some(Accounted {
            rows: Activations { due, on_time: due - late - skipped, late, skipped },
            lost,
        })
    }
}

impl Sum for Accounted {
    fn sum<I: Iterator<Item = Accounted>>(of: I) -> Accounted {
        of.fold(Accounted::default(), |mut sum, one| {
            sum.rows.merge(&one.rows);
            sum.lost = sum.lost.saturating_add(one.lost);
            sum
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RowCounts;
    use plan::{CpuId, Nanos, Scheduling};
    use stats::{AfterOverrun, Span};

    /// Ten rows: one late by two and a half periods, and two without a sample that it does not
    /// explain.
    const ROWS: [Span<'_>; 4] =
        [Span::Woken(&[10, 2_500]), Span::Missing(4), Span::Woken(&[7, 8]), Span::Woken(&[9, 4])];

    fn of(counted: [u64; 4], lost: u64, voluntary_switches: Option<u64>) -> Option<Accounted> {
        let mut thread = Thread::unmeasured(0, CpuId(0), Scheduling::OTHER, Nanos(1_000), Nanos(0));
        let [due, on_time, late, skipped] = counted;
        thread.activations = Some(RowCounts::Planned(Activations { due, on_time, late, skipped }));
        thread.evidence.samples_lost = lost;
        thread.evidence.voluntary_switches = voluntary_switches;
        let Ok(statistics) = stats::summarise(&ROWS[..], 1_000, AfterOverrun::Skip, 2);
        Accounted::new(&thread, &statistics)
    }

    fn accounted([due, on_time, late, skipped]: [u64; 4], lost: u64) -> Option<Accounted> {
        Some(Accounted { rows: Activations { due, on_time, late, skipped }, lost })
    }

    /// The thread knows whether what was lost was late, and how many rows were skipped after it.
    #[test]
    fn a_thread_is_believed_where_samples_do_not_tell() {
        for own in [[10, 7, 1, 2], [10, 6, 2, 2]] {
            assert_eq!(of(own, 2, Some(9)), accounted(own, 2));
        }
        assert_eq!(of([10, 5, 2, 3], 1, Some(9)), accounted([10, 5, 2, 3], 1));
        assert_eq!(of([14, 9, 1, 4], 4, Some(9)), accounted([14, 9, 1, 4], 4), "a file cut off");
    }

    /// Skipped rows that the samples show vanished behind as many samples said to be lost, and rows
    /// that were due in `run.json` alone were skipped.
    #[test]
    fn lost_samples_hide_no_row_that_was_skipped() {
        assert_eq!(of([10, 9, 1, 0], 4, Some(9)), accounted([10, 7, 1, 2], 2));
        assert_eq!(of([10, 7, 1, 2], 9, Some(9)), accounted([10, 7, 1, 2], 2));
        assert_eq!(of([2_000, 7, 1, 2], 3, Some(9)), accounted([10, 7, 1, 2], 2));
        assert_eq!(of([2_000, 1_997, 1, 2], 3, Some(9)), accounted([11, 8, 1, 2], 3));
        assert_eq!(of([10, u64::MAX, 1, 2], u64::MAX, Some(9)).unwrap().rows.skipped, 2);
    }

    /// The counts of `run.json` and those of the samples were mixed: three more than were due.
    #[test]
    fn counts_add_up_whatever_a_thread_says() {
        let expected = accounted([10, 7, 1, 2], 2);
        for own in [[10, 8, 0, 2], [10, 7, 0, 3], [0, 0, 0, 0], [10, 10, 0, 0]] {
            assert_eq!(of(own, 2, Some(9)), expected, "{own:?}");
        }
        assert_eq!(of([10, 0, 9, 1], 2, Some(9)), accounted([10, 5, 3, 2], 2));
        assert_eq!(of([8, 5, 1, 2], 0, Some(9)), expected, "rows that nothing explains");
        assert_eq!(of([8, 5, 1, 2], 0, None), accounted([10, 5, 1, 4], 0), "it did not come back");
    }
}
