// SPDX-License-Identifier: MIT OR Apache-2.0
//! What must be shown with every figure from the lab: what its ns are, and what is not in them.

use crate::alike::grouped;
use crate::format::list;
use crate::language::{texts, tr};
use crate::overview::Overview;
use crate::sections::time_kind::TimeKind;
use model::Lab;

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

/// For a headline: on what time the figures are; none of a machine.
pub(crate) fn in_short(all: &[Overview<'_>]) -> Option<&'static str> {
    in_short_of(all.iter().map(Overview::time))
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
