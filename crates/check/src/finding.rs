// SPDX-License-Identifier: MIT OR Apache-2.0
//! A check, and what it finds.

use super::machine::{Machine, Purpose};
use model::{CheckText, check_text};

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
    #[must_use]
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
    pub(crate) found: String,
    pub(crate) action: Option<String>,
}

impl Seen {
    pub(crate) fn ok(found: impl Into<String>) -> Option<Seen> {
        Some(Seen { status: Status::Ok, found: found.into(), action: None })
    }

    pub(crate) fn warn(found: impl Into<String>, action: impl Into<String>) -> Option<Seen> {
        Some(Seen { status: Status::Warn, found: found.into(), action: Some(action.into()) })
    }

    pub(crate) fn bad(found: impl Into<String>, action: impl Into<String>) -> Option<Seen> {
        Some(Seen { status: Status::Bad, found: found.into(), action: Some(action.into()) })
    }

    pub(crate) fn unknown(found: impl Into<String>) -> Option<Seen> {
        Some(Seen { status: Status::Unknown, found: found.into(), action: None })
    }

    /// What to do to find it out.
    pub(crate) fn unknown_until(
        found: impl Into<String>,
        action: impl Into<String>,
    ) -> Option<Seen> {
        Some(Seen { status: Status::Unknown, found: found.into(), action: Some(action.into()) })
    }
}

/// One thing that is looked at.
pub struct Check {
    /// Its name, as users and recordings have it.
    pub id: &'static str,
    /// Whether it can be changed while the machine runs, by writing to files.
    pub tunable: bool,
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
    Check { id, tunable: false, matters, look }
}

pub(crate) const fn tunable(
    id: &'static str,
    matters: &'static [Purpose],
    look: fn(&Machine<'_>) -> Option<Seen>,
) -> Check {
    Check { id, tunable: true, matters, look }
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
    pub found: String,
    /// Why it matters for latency, and where that is documented.
    pub text: CheckText,
    /// What to do: the exact command, or the kernel argument.
    pub action: Option<String>,
    /// Whether it is of a kind that `teiji tune` changes. The crate `tune` knows whether it would
    /// on this machine.
    pub tunable: bool,
}

pub(crate) const ALL: &[Purpose] = &Purpose::ALL;
