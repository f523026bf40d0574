// SPDX-License-Identifier: MIT OR Apache-2.0
//! What must stand beside every figure from the lab: what its ns are, and what is not in them.

use crate::overview::{Overview, list};
use recording::Lab;

/// What the ns of one recording are; none for a machine of its own.
pub(crate) fn time_of(lab: &Lab) -> String {
    match lab.ns_per_instruction {
        Some(ns) => format!(
            "Virtual ns: instructions x 2^{} (each instruction takes {ns} ns). The kernel's paths, locks and preemption points \
             are real; caches, buses, firmware and other hardware are not there.",
            ns.trailing_zeros()
        ),
        None => format!(
            "Emulated on the host's clock ({}): whatever else the host did is in the figures, and they cannot be repeated.",
            if lab.accelerator == "kvm" { "KVM" } else { "QEMU translating each instruction" }
        ),
    }
}

/// The same for several recordings, said once.
pub(crate) fn what_time_is(all: &[Overview<'_>]) -> Option<String> {
    let of = |overview: &Overview<'_>| overview.recorded.document.lab.as_ref().map(time_of);
    let said: Vec<Option<String>> = all.iter().map(of).collect();
    let mut distinct: Vec<&String> = Vec::new();
    for text in said.iter().flatten() {
        if !distinct.contains(&text) {
            distinct.push(text);
        }
    }
    match distinct.as_slice() {
        [] => None,
        [one] if said.iter().all(Option::is_some) => Some((*one).clone()),
        _ => {
            let sentences = distinct.iter().map(|text| {
                let names: Vec<&str> = all
                    .iter()
                    .zip(&said)
                    .filter(|(_, said)| said.as_ref() == Some(*text))
                    .map(|(o, _)| o.name.as_str())
                    .collect();
                format!("{}: {text}", list(&names))
            });
            Some(sentences.collect::<Vec<_>>().join(" "))
        }
    }
}

/// Whether all ran in virtual time, where a figure is exact to the ns.
pub(crate) fn is_virtual(all: &[Overview<'_>]) -> bool {
    all.iter().all(|overview| overview.recorded.document.lab.as_ref().is_some_and(|lab| lab.ns_per_instruction.is_some()))
}

/// For a verdict: the words before the figures, if all are of one kind.
pub(crate) fn in_short(all: &[Overview<'_>]) -> Option<&'static str> {
    let labs = || all.iter().map(|overview| overview.recorded.document.lab.as_ref());
    if labs().all(|lab| lab.is_none()) {
        None
    } else if is_virtual(all) {
        Some("In the lab's virtual time (instructions, not a board's ns): ")
    } else if labs().all(|lab| lab.is_some()) {
        Some("In the lab, emulated: ")
    } else {
        Some("Partly in the lab, partly on real machines: ")
    }
}
