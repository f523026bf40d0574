// SPDX-License-Identifier: MIT OR Apache-2.0
//! A check, and what it finds.

use super::machine::{Machine, Purpose};
use model::{CheckText, Phrase, Warning, check_text};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Status {
    Ok,
    /// It could not be found out.
    Unknown,
    /// It may cost some latency, or only some uses suffer from it.
    Warn,
    /// Latencies suffer from it.
    Bad,
}

impl Status {
    pub const fn word(self) -> &'static str {
        match self {
            Status::Ok => "ok",
            Status::Unknown => "unknown",
            Status::Warn => "warn",
            Status::Bad => "bad",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) status: Status,
    pub(crate) found: Phrase,
    pub(crate) action: Option<Phrase>,
}

/// What is bad is recorded, and said in other languages. All else may be plain text.
impl Seen {
    fn new(status: Status, found: impl Into<Phrase>, action: Option<Phrase>) -> Option<Seen> {
        Some(Seen { status, found: found.into(), action })
    }

    pub(crate) fn ok(found: impl Into<Phrase>) -> Option<Seen> {
        Seen::new(Status::Ok, found, None)
    }

    pub(crate) fn warn(found: impl Into<Phrase>, action: impl Into<Phrase>) -> Option<Seen> {
        Seen::new(Status::Warn, found, Some(action.into()))
    }

    pub(crate) fn bad(found: Phrase, action: impl Into<Phrase>) -> Option<Seen> {
        Seen::new(Status::Bad, found, Some(action.into()))
    }

    pub(crate) fn unknown(found: impl Into<Phrase>) -> Option<Seen> {
        Seen::new(Status::Unknown, found, None)
    }

    /// What to do to find it out.
    pub(crate) fn unknown_until(
        found: impl Into<Phrase>,
        action: impl Into<Phrase>,
    ) -> Option<Seen> {
        Seen::new(Status::Unknown, found, Some(action.into()))
    }
}

/// One thing that is looked at.
pub struct Check {
    /// Its name, as users and recordings have it.
    pub id: &'static str,
    /// Whether it can be changed while the machine runs, by writing to files.
    pub tunable: bool,
    /// Whether a kernel's configuration decides it alone, so that one can be looked at that does
    /// not run.
    pub(crate) is_of_config: bool,
    /// For which purposes it is as bad as it was seen; for the others it warns at most.
    pub(crate) matters: &'static [Purpose],
    /// Looks; none where the machine does not have it.
    pub(crate) look: fn(&Machine<'_>) -> Option<Seen>,
}

pub(crate) const fn check(
    id: &'static str,
    matters: &'static [Purpose],
    look: fn(&Machine<'_>) -> Option<Seen>,
) -> Check {
    Check { id, tunable: false, is_of_config: false, matters, look }
}

pub(crate) const fn tunable(
    id: &'static str,
    matters: &'static [Purpose],
    look: fn(&Machine<'_>) -> Option<Seen>,
) -> Check {
    Check { id, tunable: true, is_of_config: false, matters, look }
}

/// A check of what a kernel's configuration decides.
pub(crate) const fn of_config(
    id: &'static str,
    matters: &'static [Purpose],
    look: fn(&Machine<'_>) -> Option<Seen>,
) -> Check {
    Check { id, tunable: false, is_of_config: true, matters, look }
}

impl Check {
    /// # Panics
    /// When the table of texts lacks the check: each has an entry there.
    pub(crate) fn text(&self) -> CheckText {
        check_text(self.id).expect("each check has a text")
    }
}

/// What was found of one thing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Its name, such as `governor`.
    pub id: &'static str,
    pub status: Status,
    pub found: Phrase,
    /// Why it matters for latency, and where that is documented.
    pub text: CheckText,
    /// What to do: the exact command, or the kernel argument.
    pub action: Option<Phrase>,
    /// Whether it is of a kind that `teiji tune` changes. The crate `tune` knows whether it would
    /// on this machine.
    pub tunable: bool,
}

impl From<Finding> for Warning {
    fn from(Finding { id, found, text, action, .. }: Finding) -> Warning {
        // A text is the same in every language.
        let is_said_otherwise = |phrase: &Phrase| !matches!(phrase, Phrase::Text(_));
        Warning::MachineCheck {
            check: id.to_owned(),
            found: found.to_string(),
            why: text.why.to_owned(),
            action: action.as_ref().map(Phrase::to_string),
            found_phrase: Some(found).filter(is_said_otherwise),
            action_phrase: action.filter(is_said_otherwise),
        }
    }
}

pub(crate) const ALL: &[Purpose] = &Purpose::ALL;
