// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is proposed to be changed.

use super::setting::Form;
use check::Machine;

pub(super) struct Proposal {
    /// The check's name.
    pub(super) check: &'static str,
    /// Whether it changes nothing unless it is asked for.
    pub(super) only_when_asked: bool,
    /// What it costs, or may do.
    pub(super) risk: &'static str,
    pub(super) may_be_refused: bool,
    pub(super) propose: fn(&Machine<'_>) -> Vec<Wanted>,
}

impl Proposal {
    pub(super) const fn new(
        check: &'static str,
        propose: fn(&Machine<'_>) -> Vec<Wanted>,
        risk: &'static str,
    ) -> Self {
        Proposal { check, only_when_asked: false, risk, may_be_refused: false, propose }
    }

    pub(super) const fn only_when_asked(self) -> Self {
        Proposal { only_when_asked: true, ..self }
    }

    pub(super) const fn that_may_be_refused(self) -> Self {
        Proposal { may_be_refused: true, ..self }
    }
}

/// A value that a file should have.
pub(super) struct Wanted {
    pub(super) file: String,
    pub(super) subject: String,
    pub(super) form: Form,
    pub(super) to: String,
    /// What the file says first, where it comes only with a change before this one.
    pub(super) when_new: Option<&'static str>,
}

impl Wanted {
    pub(super) fn plain(file: impl Into<String>, to: impl Into<String>) -> Wanted {
        Wanted {
            file: file.into(),
            subject: String::new(),
            form: Form::Plain,
            to: to.into(),
            when_new: None,
        }
    }
}
