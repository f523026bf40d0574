// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the rows of recordings are called: as their probe has it, and by a common word where a text
//! is about several probes.

use crate::format::{count, counted};
use crate::language::{Text, texts, tr};
use model::{Document, RowKind};

/// What the rows of one or several recordings are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Rows {
    One(RowKind),
    /// Of several kinds, or of none.
    #[default]
    Several,
}

impl Rows {
    /// Those of what is recorded.
    pub(crate) fn from_documents<'d>(all: impl Iterator<Item = &'d Document>) -> Rows {
        all.map(|document| Rows::One(document.probe.rows)).reduce(Rows::and).unwrap_or_default()
    }

    pub(crate) fn and(self, other: Rows) -> Rows {
        if self == other { self } else { Rows::Several }
    }

    /// So many of them: `1,000 trials`.
    pub(crate) fn counted(self, n: u64) -> String {
        counted(
            n,
            self.pick(
                texts::n_activations,
                texts::n_trials,
                texts::n_events,
                texts::n_measurements,
            ),
        )
    }

    pub(crate) fn counted_more(self, n: u64) -> String {
        counted(
            n,
            self.pick(
                texts::n_more_activations,
                texts::n_more_trials,
                texts::n_more_events,
                texts::n_more_measurements,
            ),
        )
    }

    /// So many of them that were skipped.
    pub(crate) fn counted_skipped(self, n: u64) -> String {
        counted(
            n,
            self.pick(
                texts::n_skipped_activations,
                texts::n_skipped_trials,
                texts::n_skipped_events,
                texts::n_skipped_measurements,
            ),
        )
    }

    /// One of them by its number: `trial 4,711`.
    pub(crate) fn numbered(self, n: u64) -> String {
        let n = count(n);
        match self {
            Rows::One(RowKind::Activations) => tr!(activation_n, n),
            Rows::One(RowKind::Trials) => tr!(trial_n, n),
            Rows::One(RowKind::Events) => tr!(event_n, n),
            Rows::Several => tr!(measurement_n, n),
        }
    }

    pub(crate) fn singular(self) -> &'static str {
        self.pick(
            texts::activation.said(),
            texts::trial.said(),
            texts::event.said(),
            texts::measurement.said(),
        )
    }

    pub(crate) fn plural(self) -> &'static str {
        self.pick(
            texts::activations.said(),
            texts::trials.said(),
            texts::events.said(),
            texts::measurements.said(),
        )
    }

    /// The heading of how many there are: events are due at no time, and may be among several.
    pub(crate) fn due(self) -> Text {
        self.pick(texts::due, texts::due, texts::events, texts::measurements)
    }

    /// The one that is about these.
    pub(crate) fn pick<T>(self, activations: T, trials: T, events: T, several: T) -> T {
        match self {
            Rows::One(RowKind::Activations) => activations,
            Rows::One(RowKind::Trials) => trials,
            Rows::One(RowKind::Events) => events,
            Rows::Several => several,
        }
    }
}

impl From<RowKind> for Rows {
    fn from(kind: RowKind) -> Rows {
        Rows::One(kind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::language::{Language, in_language};

    const ALL: [Rows; 4] = [
        Rows::One(RowKind::Activations),
        Rows::One(RowKind::Trials),
        Rows::One(RowKind::Events),
        Rows::Several,
    ];

    #[test]
    fn every_kind_has_its_own_words_in_each_language() {
        for language in Language::ALL {
            let words = |rows: Rows| {
                [
                    rows.counted(1_000),
                    rows.counted_more(2),
                    rows.counted_skipped(3),
                    rows.numbered(4_711),
                    rows.singular().to_owned(),
                    rows.plural().to_owned(),
                ]
            };
            let all = ALL.map(|rows| in_language(language, || words(rows)));
            for (place, words) in all.iter().enumerate() {
                assert!(words[0].contains("1,000") && words[3].contains("4,711"), "{words:?}");
                for other in &all[..place] {
                    assert!(
                        words.iter().zip(other).all(|(one, other)| one != other),
                        "{words:?} {other:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn what_is_of_several_kinds_has_the_common_word() {
        let [activations, trials, ..] = ALL;
        assert_eq!(activations.and(activations), activations);
        assert_eq!(activations.and(trials).counted(2), "2 measurements");
        assert_eq!(trials.counted(1), "1 trial");
    }
}

#[cfg(test)]
#[path = "rows_tests.rs"]
mod everywhere;
