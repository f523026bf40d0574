// SPDX-License-Identifier: MIT OR Apache-2.0
//! What was missed and makes no row late: periods that passed without an event, which no row stands
//! for, and deadlines of jobs. One period can make the largest interval, and of those before a
//! wake-up that was on time no latency says anything.

use crate::format;
use crate::language::tr;
use crate::overview::Overview;
use model::{Column, Document, Recorded, WithoutPeriod};

/// `, 12 periods missed` of all of them together; empty where none is known to be. Where no period
/// was found, of the program or of some of its threads, that is said. Of deadlines it is said that
/// none is too, since rows that are on time may have missed theirs.
pub(crate) fn in_words(all: &[Overview<'_>]) -> String {
    let documents = || all.iter().map(|overview| &overview.recorded.document);
    let has_no_period = documents().any(Document::has_no_period);
    let periods = match all.iter().filter_map(|overview| of_events(overview.recorded)).sum() {
        0 if has_no_period => tr!(no_period_found),
        0 => String::new(),
        1 => tr!(n1_period_missed),
        more => tr!(n_periods_missed, n = format::count(more)),
    };
    let without: WithoutPeriod = documents().map(Document::without_period).sum();
    let without = match without.rows {
        rows if rows > 0 && !has_no_period => {
            tr!(no_period_found_for, rows = format::count(rows))
        }
        _ => String::new(),
    };
    let deadlines = all.iter().map(|overview| total(overview.recorded, Column::DEADLINE_MISSED));
    let deadlines = match deadlines.flatten().reduce(u64::saturating_add) {
        None => String::new(),
        Some(0) => tr!(no_deadline_missed),
        Some(1) => tr!(n1_deadline_missed),
        Some(more) => tr!(n_deadlines_missed, n = format::count(more)),
    };
    periods + &without + &deadlines
}

/// How many periods of a recording of events. Those of planned rows are skipped rows.
fn of_events(recorded: &Recorded) -> Option<u64> {
    let is_planned = recorded.document.probe.is_planned();
    total(recorded, Column::MISSED).filter(|_| !is_planned)
}

/// What a further column adds up to; none where there is none of this name, or no samples.
fn total(recorded: &Recorded, name: &str) -> Option<u64> {
    let at = recorded.document.probe.columns.iter().position(|column| column.name == name)?;
    judge::knows_order(&recorded.document).then(|| judge::total(recorded, at))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sections::verdict::Headline;
    use crate::synthetic::Synthetic;
    use model::{Beside, ColumnUnit, RowKind};
    use stats::{AfterOverrun, Span, summarise};

    fn missed(values: &[i32], overrun_column: Option<usize>) -> Recorded {
        let mut recorded = Synthetic::idle().threads(1).samples(&[100, 200]).build();
        let probe = &mut recorded.document.probe;
        let count = Column {
            name: Column::MISSED.into(),
            unit: ColumnUnit::Count,
            meaning: "missed".into(),
        };
        (probe.rows, probe.overrun_column) = (RowKind::Events, overrun_column);
        probe.columns =
            vec![Column::ns("latency_ns", "judged"), Column::ns("switch_ns", "other"), count];
        let of = |values: &[i32]| {
            let Ok(statistics) =
                summarise(&[Span::Woken(values)][..], 1_000_000, AfterOverrun::Unknown, 2);
            statistics
        };
        recorded.beside =
            vec![Beside { columns: vec![of(&[5, 6]), of(values)], worst_times_ns: Vec::new() }];
        recorded
    }

    #[test]
    fn missed_periods_are_in_the_verdict() {
        let words = |recorded: &[Recorded]| in_words(&Overview::all(recorded));
        assert_eq!(words(&[missed(&[0, 0], None)]), "");
        assert_eq!(words(&[missed(&[0, 1], None)]), ", 1 period missed");
        assert_eq!(
            words(&[missed(&[1_000, 3], None), missed(&[2, 0], None)]),
            ", 1,005 periods missed"
        );
        let mut without_period = missed(&[0, 0], None);
        without_period.document.threads[0].evidence.periodic_rows = Some(0);
        assert_eq!(words(&[without_period]), ", no period found");
        let mut of_some = missed(&[0, 1], None);
        let evidence = &mut of_some.document.threads[0].evidence;
        evidence.periodic_rows = Some(2);
        evidence.without_period = Some(WithoutPeriod { rows: 500, threads: 1 });
        assert_eq!(words(&[of_some]), ", 1 period missed, 500 of no known period");
        // These are said to be skipped.
        assert_eq!(words(&[missed(&[0, 1], Some(2))]), "");
        let headline = Headline::new(&Overview::all(&[missed(&[0, 12], None)]));
        assert_eq!(headline.account, "2 events, 12 periods missed.");
    }

    /// A job that is on time for its period may be late for its deadline, and one that was skipped
    /// has missed it.
    #[test]
    fn missed_deadlines_are_in_the_verdict() {
        let of = |values: &[i32], skipped: u64| {
            let mut recorded = missed(values, Some(0));
            recorded.document.probe.columns[2].name = Column::DEADLINE_MISSED.into();
            recorded.threads[0].activations.skipped = skipped;
            in_words(&Overview::all(&[recorded]))
        };
        assert_eq!(of(&[0, 0], 0), ", no deadline missed");
        assert_eq!(of(&[0, 1], 0), ", 1 deadline missed");
        assert_eq!(of(&[1, 1], 3), ", 5 deadlines missed");
    }
}
