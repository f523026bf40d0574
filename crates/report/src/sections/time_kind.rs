// SPDX-License-Identifier: MIT OR Apache-2.0
//! On what time figures are, and with how many digits they are written.

use crate::format;
use crate::language::texts;
use model::Document;

/// On what time figures are: no two kinds can be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum TimeKind {
    Machine,
    /// The lab's count of instructions.
    Virtual,
    /// Emulated, on the host's clock.
    Emulated,
}

impl TimeKind {
    pub(crate) fn from_document(document: &Document) -> TimeKind {
        match document.lab.as_ref().map(|lab| lab.ns_per_instruction) {
            // A program in a guest, which is told no more of the lab.
            None if document.instrument.virtual_time => TimeKind::Virtual,
            None => TimeKind::Machine,
            Some(Some(_)) => TimeKind::Virtual,
            Some(None) => TimeKind::Emulated,
        }
    }

    /// Of figures beside one another, each ns is meant only where it is of all.
    pub(crate) fn of_all(mut all: impl Iterator<Item = TimeKind>) -> TimeKind {
        if all.all(|kind| kind == TimeKind::Virtual) {
            TimeKind::Virtual
        } else {
            TimeKind::Machine
        }
    }

    /// µs as tables show them: in virtual time each ns is meant, on a machine the next run is off
    /// by more than a tenth of a µs.
    pub(crate) fn micros(self, ns: i64) -> String {
        if self == TimeKind::Virtual { format::exact_micros(ns) } else { format::micros(ns) }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            TimeKind::Machine => texts::time_of_a_machine,
            TimeKind::Virtual => texts::virtual_time_kind,
            TimeKind::Emulated => texts::emulated_time_kind,
        }
        .said()
    }

    pub(crate) const fn key(self) -> &'static str {
        match self {
            TimeKind::Machine => "machine",
            TimeKind::Virtual => "virtual",
            TimeKind::Emulated => "emulated",
        }
    }
}
