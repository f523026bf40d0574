// SPDX-License-Identifier: MIT OR Apache-2.0
//! What became of activations, of threads and runs together, as far as that is known: of a
//! histogram it is not, and events were never planned.

use crate::format;
use crate::language::{texts, tr};
use crate::sections::latencies::NOTHING;
use crate::sections::rows::Rows;
use model::{Accounted, Document, ProbeStatement, RowKind, TakenBy, Thread, Unknown};
use plan::Count;
use stats::{Activations, Statistics};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Accounts {
    planned: Activations,
    /// What those that were planned are; none before there are any.
    planned_rows: Option<Rows>,
    events: u64,
    /// Whether there could be events, also where none happened.
    has_events: bool,
    lost: u64,
    /// Whether more may have been lost.
    may_have_lost: bool,
    is_unknown: bool,
    /// Whether another program measured some of them.
    is_imported: bool,
}

impl Accounts {
    pub(crate) fn from_thread(
        thread: &Thread,
        document: &Document,
        statistics: &Statistics,
    ) -> Accounts {
        let accounted = document.accounted(thread, statistics);
        let lost = accounted.map_or(thread.evidence.samples_lost, |all| all.lost);
        Accounts {
            lost,
            may_have_lost: !document.knows_lost(thread, lost),
            is_imported: document.imported.is_some(),
            ..Accounts::new(accounted, &document.probe)
        }
    }

    fn new(accounted: Option<Accounted>, probe: &ProbeStatement) -> Accounts {
        let Some(Accounted { rows, lost }) = accounted else {
            return Accounts { is_unknown: true, may_have_lost: true, ..Accounts::default() };
        };
        if probe.rows == RowKind::Events {
            Accounts { events: rows.due, has_events: true, lost, ..Accounts::default() }
        } else {
            let planned_rows = Some(probe.rows.into());
            Accounts { planned: rows, planned_rows, lost, ..Accounts::default() }
        }
    }

    pub(crate) fn merge(&mut self, other: &Accounts) {
        self.planned.merge(&other.planned);
        self.planned_rows =
            self.planned_rows.into_iter().chain(other.planned_rows).reduce(Rows::and);
        self.events += other.events;
        self.has_events |= other.has_events;
        self.lost = self.lost.saturating_add(other.lost);
        self.may_have_lost |= other.may_have_lost;
        self.is_unknown |= other.is_unknown;
        self.is_imported |= other.is_imported;
    }

    /// Whether all there is happened unplanned.
    pub(crate) const fn is_of_events(&self) -> bool {
        self.has_events && self.planned.due == 0
    }

    pub(crate) fn rows(&self) -> Rows {
        let events = self.has_events.then_some(Rows::One(RowKind::Events));
        let planned = self.planned_rows.filter(|_| self.planned.due > 0 || events.is_none());
        planned.into_iter().chain(events).reduce(Rows::and).unwrap_or_default()
    }

    const fn known(&self, n: u64) -> Option<u64> {
        if self.is_unknown || self.is_of_events() { None } else { Some(n) }
    }

    /// Activations that were due, or events that happened.
    pub(crate) const fn due(&self) -> Option<u64> {
        if self.is_unknown { None } else { Some(self.planned.due + self.events) }
    }

    pub(crate) const fn on_time(&self) -> Option<u64> {
        self.known(self.planned.on_time)
    }

    pub(crate) const fn late(&self) -> Option<u64> {
        self.known(self.planned.late)
    }

    pub(crate) const fn skipped(&self) -> Option<u64> {
        self.known(self.planned.skipped)
    }

    /// Samples that were lost, of activations or events that were due; at least, where more may
    /// have been.
    pub(crate) const fn lost(&self) -> Option<u64> {
        if self.may_have_lost && self.lost == 0 { None } else { Some(self.lost) }
    }

    pub(crate) const fn of(&self, count: Count) -> Option<u64> {
        match count {
            Count::Late => self.late(),
            Count::Skipped => self.skipped(),
            Count::Lost => self.lost(),
        }
    }

    /// Why there are no numbers of late and skipped activations, where there are none.
    pub(crate) fn why_none(&self) -> Option<&'static str> {
        if self.is_unknown {
            return Some(texts::not_known.said());
        }
        self.is_of_events().then(|| texts::events_are_not_planned.said())
    }

    /// Due, on time, late, skipped.
    pub(crate) const fn all(&self) -> [Option<u64>; 4] {
        [self.due(), self.on_time(), self.late(), self.skipped()]
    }

    /// The same as tables show it of so many that were measured. Of what another program measured
    /// it is known how many there are, where its output says it, and not what became of others.
    pub(crate) fn shown(&self, document: &Document, measured: u64) -> [Option<u64>; 4] {
        let is_counted = document.imported.is_some() && !document.lacks(Unknown::Count);
        let [due, rest @ ..] = self.all();
        let due = due.or_else(|| (is_counted && measured > 0).then_some(measured));
        let [on_time, late, skipped] = rest;
        [due, on_time, late, skipped]
    }
}

/// The CPU that a thread measured, `any` where it was not one, and nothing where it was none of
/// this machine.
pub(crate) fn cpu_of(probe: &ProbeStatement, thread: &Thread) -> String {
    let other = || {
        if probe.taken_by() == TakenBy::AnotherMachine { NOTHING.to_owned() } else { tr!(any) }
    };
    probe.cpu_of(thread).map_or_else(other, |cpu| cpu.to_string())
}

/// `19,998 of 20,000 activations on time, 1 late, 1 skipped`, of all of them together.
pub(crate) fn in_words(all: impl Iterator<Item = Accounts>) -> String {
    let mut sum = Accounts::default();
    all.for_each(|one| sum.merge(&one));
    if sum.is_unknown {
        return if sum.is_imported {
            tr!(late_skipped_lost_unknown)
        } else {
            tr!(recording_has_no_samples)
        };
    }
    if sum.is_of_events() {
        return sum.rows().counted(sum.events);
    }
    let rows = sum.planned_rows.unwrap_or_default();
    let Activations { due, on_time, late, skipped } = sum.planned;
    let mut text = tr!(n_due_on_time, n = format::count(on_time), due = rows.counted(due));
    if late > 0 {
        text += &tr!(n_late, n = format::count(late));
    }
    if skipped > 0 {
        text += &tr!(n_skipped, n = format::count(skipped));
    }
    if sum.events > 0 {
        text += &tr!(and_events, events = Rows::One(RowKind::Events).counted(sum.events));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::overview::Overview;
    use crate::synthetic::Synthetic;
    use model::Recorded;

    fn of(rows: Option<Activations>, probe: &ProbeStatement) -> Accounts {
        Accounts::new(rows.map(|rows| Accounted { rows, lost: 0 }), probe)
    }

    /// `show` had the counts of run.json in its headline, `--figure` and `gate` those of samples.
    #[test]
    fn counts_that_the_samples_contradict_are_not_shown() {
        let mut recorded =
            Synthetic::idle().threads(1).samples(&[2_500_000, 10_000, 12_000]).due(8).build();
        let words = |recorded: &Recorded| {
            in_words(std::iter::once(Overview::new(recorded).totals.activations))
        };
        let is = "2 of 5 activations on time, 1 late, 2 skipped";
        assert_eq!(words(&recorded), is);
        let counts = Activations { due: 5, on_time: 5, late: 0, skipped: 0 };
        recorded.document.threads[0].activations = Some(model::RowCounts::Planned(counts));
        assert_eq!(words(&recorded), is);
    }

    #[test]
    fn what_is_not_known_is_not_zero() {
        let (cyclic, all) =
            (ProbeStatement::cyclic(), Activations { due: 5, on_time: 3, late: 1, skipped: 1 });
        let events = ProbeStatement {
            rows: RowKind::Events,
            overrun_column: None,
            ..ProbeStatement::cyclic()
        };
        let planned = of(Some(all), &cyclic);
        let happened = of(Some(Activations { due: 7, on_time: 7, late: 0, skipped: 0 }), &events);
        let unknown = of(None, &cyclic);
        assert_eq!(planned.all(), [Some(5), Some(3), Some(1), Some(1)]);
        assert_eq!(happened.all(), [Some(7), None, None, None]);
        assert_eq!(unknown.all(), [None; 4]);
        assert_eq!([planned.lost(), happened.lost(), unknown.lost()], [Some(0), Some(0), None]);
        assert_eq!((planned.why_none(), unknown.why_none()), (None, Some("not known")));
        let words = |all: &[Accounts]| in_words(all.iter().copied());
        assert_eq!(words(&[planned]), "3 of 5 activations on time, 1 late, 1 skipped");
        assert_eq!(words(&[happened]), "7 events");
        assert_eq!(
            words(&[planned, happened]),
            "3 of 5 activations on time, 1 late, 1 skipped, and 7 events"
        );
        assert_eq!(
            words(&[planned, unknown]),
            "The recording has no samples: what was late, skipped or lost is unknown"
        );
    }

    #[test]
    fn counts_are_of_what_the_probe_has() {
        let all = Activations { due: 5, on_time: 3, late: 1, skipped: 1 };
        let spawn = ProbeStatement { rows: RowKind::Trials, ..ProbeStatement::cyclic() };
        let [activations, trials] =
            [ProbeStatement::cyclic(), spawn].map(|probe| of(Some(all), &probe));
        assert_eq!(
            in_words([trials, trials].into_iter()),
            "6 of 10 trials on time, 2 late, 2 skipped"
        );
        assert_eq!(
            in_words([activations, trials].into_iter()),
            "6 of 10 measurements on time, 2 late, 2 skipped"
        );
    }
}
