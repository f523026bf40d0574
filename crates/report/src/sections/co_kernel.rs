// SPDX-License-Identifier: MIT OR Apache-2.0
//! What co-kernels recordings were measured on, wherever their figures are shown, and what a core's
//! gravity does to them: a core sets its timer early by it, so two figures that differ in it alone
//! are of two conditions.

use crate::format;
use crate::language::{texts, tr};
use model::{CoKernel, Document, Thread};
use plan::Nanos;

/// The co-kernel that the threads of a recording ran on; none: Linux.
pub(crate) const fn of(document: &Document) -> Option<&CoKernel> {
    document.instrument.co_kernel.as_ref()
}

/// By how much it sets the timer of a thread in user space early, ns: `irq=0 kernel=2000
/// user=2000`, or `0i 3000k 3000u`.
fn gravity_ns(core: &CoKernel) -> Option<i64> {
    let words = || core.gravity.as_deref().unwrap_or_default().split_whitespace();
    let named = words().find_map(|word| word.strip_prefix("user="));
    named.or_else(|| words().find_map(|word| word.strip_suffix('u')))?.parse().ok()
}

/// The same for people, as `2 µs`; what cannot be read is as the core said it.
pub(crate) fn gravity(core: &CoKernel) -> Option<String> {
    match gravity_ns(core) {
        Some(ns) => Some(tr!(
            micros_us,
            micros = format::exact_micros(ns).trim_end_matches('0').trim_end_matches('.')
        )),
        None => core.gravity.clone(),
    }
}

/// `Cobalt, gravity 2 µs`, or `Linux`: beside a name.
pub(crate) fn in_short(core: Option<&CoKernel>) -> String {
    match core {
        None => "Linux".to_owned(),
        Some(core) => match gravity(core) {
            Some(time) => tr!(core_gravity_time, core = core.name, time),
            None => core.name.clone(),
        },
    }
}

/// As the value of a setting that tables have a column of: `Cobalt 3.3.1, gravity 2us`.
pub(crate) fn as_setting(core: &CoKernel) -> String {
    let gravity = gravity_ns(core).map(|ns| Nanos(ns).to_string()).or_else(|| core.gravity.clone());
    gravity
        .into_iter()
        .fold(format::named_co_kernel(core), |core, gravity| format!("{core}, gravity {gravity}"))
}

/// What its gravity does to its figures, as a phrase; none where it has none, or does not say it.
pub(crate) fn effect(core: &CoKernel) -> Option<String> {
    let time = gravity(core).filter(|_| gravity_ns(core).is_some_and(|ns| ns != 0))?;
    Some(tr!(core_sets_timer_time, core = core.name, time))
}

pub(crate) fn effect_as_sentence(core: &CoKernel) -> Option<String> {
    effect(core).map(|effect| effect + texts::full_stop.said())
}

/// At so many ns an instruction the way from a core's timer to its thread takes longer than any
/// gravity that was seen.
const SLOW_ENOUGH_NS: u64 = 8;

/// Of a guest whose instructions are so short that a timer which is set early comes before the
/// planned time: what to do about it.
pub(crate) fn too_early(document: &Document) -> Option<String> {
    let core = of(document).filter(|core| effect(core).is_some())?;
    let ns = document.lab.as_ref()?.ns_per_instruction.filter(|ns| *ns < SLOW_ENOUGH_NS)?;
    let is_below =
        |thread: &Thread| thread.latency_ns.as_ref().is_some_and(|latency| latency.min < 0);
    let core = &core.name;
    document.threads.iter().any(is_below).then(|| {
        let (enough, mips) = (SLOW_ENOUGH_NS, 1_000 / SLOW_ENOUGH_NS);
        tr!(core_timer_too_early, core, ns, enough, mips)
    })
}

/// That these rows, by their names, were measured on this core, and what its gravity does to them.
pub(crate) fn note(rows: &str, core: &CoKernel) -> String {
    let measured_on = tr!(rows_measured_on_core, rows, core = format::co_kernel(core));
    std::iter::once(measured_on).chain(effect_as_sentence(core)).collect::<Vec<_>>().join(" ")
}

/// Whether recordings were measured on more than one of Linux and co-kernels, or at more than one
/// gravity.
pub(crate) fn differ(all: &[&Document]) -> bool {
    let told = |document: &Document| of(document).map(format::co_kernel);
    all.iter().any(|document| told(document) != told(all[0]))
}

/// Cobalt with this gravity, for tests.
#[cfg(test)]
pub(crate) fn cobalt(user_ns: u32) -> CoKernel {
    CoKernel {
        name: "Cobalt".to_owned(),
        version: Some("3.3.1".to_owned()),
        abi: 19,
        gravity: Some(format!("irq=0 kernel=2000 user={user_ns}")),
        chosen: true,
    }
}

#[cfg(test)]
#[path = "co_kernel_tests.rs"]
mod tests;
