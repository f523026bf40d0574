// SPDX-License-Identifier: MIT OR Apache-2.0
//! Periods that passed without an event, which no row stands for: one of them can make the largest
//! interval, and of those before a wake-up that was on time no latency says anything.

use crate::format;
use crate::language::tr;
use crate::overview::Overview;
use model::Column;

/// `, 12 periods missed` of all of them together; empty where none is known to be.
pub(crate) fn in_words(all: &[Overview<'_>]) -> String {
    match all.iter().map(of_events).sum() {
        0 => String::new(),
        1 => tr!(n1_period_missed),
        more => tr!(n_periods_missed, n = format::count(more)),
    }
}

/// How many of a recording of events. Those of planned rows are skipped rows.
fn of_events(overview: &Overview<'_>) -> u64 {
    let recorded = overview.recorded;
    let mut others =
        recorded.document.probe.others().filter(|_| !recorded.document.probe.is_planned());
    let Some((column, _)) = others.find(|(_, column)| column.name == Column::MISSED) else {
        return 0;
    };
    let sums = recorded
        .beside
        .iter()
        .filter_map(|beside| beside.columns.get(column - 1))
        .map(|missed| missed.moments.sum());
    sums.filter_map(|sum| u64::try_from(sum).ok()).fold(0, u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::Synthetic;
    use model::{Beside, ColumnUnit, Recorded, RowKind};
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
        // These are said to be skipped.
        assert_eq!(words(&[missed(&[0, 1], Some(2))]), "");
        let verdict = crate::sections::verdict::verdict(&Overview::all(&[missed(&[0, 12], None)]));
        assert!(verdict.ends_with(", 12 periods missed."), "{verdict}");
    }
}
