// SPDX-License-Identifier: MIT OR Apache-2.0
//! What must be shown with every figure from the lab: what its ns are, and what is not in them.

use crate::alike::grouped;
use crate::format::{self, list};
use crate::language::{texts, tr};
use crate::overview::Overview;
use model::{Document, Lab};

/// What the ns of one recording are; none for a real machine.
pub(crate) fn time_of(lab: &Lab) -> String {
    match lab.ns_per_instruction {
        Some(ns) if lab.guest.cpus > 1 => tr!(virtual_ns_cpus_take, cpus = lab.guest.cpus, ns),
        Some(ns) => tr!(virtual_ns_instructions_x, shift = ns.trailing_zeros(), ns),
        None => tr!(
            emulated_on_hosts_clock,
            how = if lab.accelerator == "kvm" {
                "KVM"
            } else {
                texts::qemu_translating_each_instruction.said()
            }
        ),
    }
}

/// For the recordings that are from the lab, each kind of time once: a sentence, which names its
/// recordings unless it is true of all.
pub(crate) fn times(all: &[Overview<'_>]) -> Vec<String> {
    let kinds =
        grouped(all.iter().filter_map(|overview| {
            Some((time_of(overview.document().lab.as_ref()?), &overview.name))
        }));
    let named = |(text, names): (String, Vec<&String>)| {
        if names.len() == all.len() { text } else { format!("{}: {text}", list(&names)) }
    };
    kinds.into_iter().map(named).collect()
}

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

    pub(crate) fn of(overview: &Overview<'_>) -> TimeKind {
        TimeKind::from_document(overview.document())
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

/// For a headline: on what time the figures are; none of a machine.
pub(crate) fn in_short(all: &[Overview<'_>]) -> Option<&'static str> {
    in_short_of(all.iter().map(TimeKind::of))
}

/// The same of kinds alone.
pub(crate) fn in_short_of(kinds: impl Iterator<Item = TimeKind> + Clone) -> Option<&'static str> {
    let all = |kind: TimeKind| kinds.clone().all(|known| known == kind);
    if all(TimeKind::Machine) {
        None
    } else if all(TimeKind::Virtual) {
        Some(texts::in_virtual_time.said())
    } else if kinds.clone().all(|kind| kind != TimeKind::Machine) {
        Some(texts::emulated_in_lab.said())
    } else {
        Some(texts::partly_in_lab.said())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::Synthetic;

    #[test]
    fn each_kind_of_time_is_said_once() {
        let recorded = |title: &str, lab: Option<Option<u64>>| {
            let made = Synthetic::idle().samples(&[1, 2, 3]).title(title);
            if let Some(lab) = lab { made.in_lab(lab).build() } else { made.build() }
        };
        let both = [recorded("one", Some(Some(2))), recorded("two", Some(Some(2)))];
        let output = times(&Overview::all(&both));
        let [text] = output.as_slice() else { panic!("{output:?}") };
        assert!(
            text.starts_with("Virtual ns: instructions x 2^1 (each instruction takes 2 ns)"),
            "{text}"
        );

        let mixed = [
            recorded("one", Some(Some(1))),
            recorded("real", None),
            recorded("two", Some(None)),
            recorded("three", Some(Some(1))),
        ];
        let all = Overview::all(&mixed);
        let output = times(&all);
        let [first, second] = output.as_slice() else { panic!("{output:?}") };
        assert!(first.starts_with("one and three: Virtual ns"), "{first}");
        assert!(second.starts_with("two: Emulated"), "{second}");
        assert!(times(&Overview::all(&mixed[1..2])).is_empty());
    }
}
