// SPDX-License-Identifier: MIT OR Apache-2.0
//! How the kernel can be preempted.

use super::config::KernelConfig;
use super::machine::Machine;
use host::kernel;
use model::{Phrase, phrase};

const VOLUNTARY_OR_NONE: &str = "voluntary or none";

/// How the kernel can be preempted, as far as it is known.
pub(crate) fn model(machine: &Machine<'_>) -> Option<String> {
    // A configuration that is asked about says it by itself.
    if let Some(config) = &machine.options.config {
        return Some(configured_model(config));
    }
    let text = |path: &str| machine.text(path);
    let (version, realtime) = (text("proc/version"), text("sys/kernel/realtime"));
    let (mode, line) = (text(MODES_OF_KERNEL), text("proc/cmdline"));
    let model = |knows_lazy| {
        kernel::preemption(
            version.as_deref(),
            realtime.as_deref(),
            mode.as_deref(),
            line.as_deref(),
            knows_lazy,
        )
    };
    let unsure = model(None)?;
    if unsure != "PREEMPT_DYNAMIC" {
        return Some(unsure);
    }
    // Only root can read the mode. Without an argument it is what the kernel was built with.
    let Ok(config) = machine.config() else { return Some(unsure) };
    model(Some(has_lazy(config)))
        .filter(|model| *model != unsure)
        .or_else(|| Some(configured_model(config)))
}

/// The modes that a kernel knows, for root alone.
pub(crate) const MODES_OF_KERNEL: &str = "sys/kernel/debug/sched/preempt";

fn has_lazy(config: &KernelConfig) -> bool {
    ["ARCH_HAS_PREEMPT_LAZY", "PREEMPT_LAZY"].iter().any(|option| config.has(option))
}

/// Whether the kernel knows `preempt=lazy`, where that can be found out. No version says it:
/// processors came to it one by one, and distributions bring it to older kernels.
pub(crate) fn knows_lazy(machine: &Machine<'_>) -> Option<bool> {
    match machine.text(MODES_OF_KERNEL) {
        Some(modes) => Some(modes.contains(kernel::LAZY)),
        None => machine.config().ok().map(has_lazy),
    }
}

/// Whether the kernel cannot choose at boot how it is preempted, and passes `preempt=` over. False
/// where that is not known: some that can call themselves `PREEMPT`, and those with PREEMPT_RT do
/// not say it.
pub(crate) fn is_fixed(machine: &Machine<'_>) -> bool {
    let Some(model) = model(machine) else { return false };
    if model == "PREEMPT_RT" || dynamic_mode(&model).is_some() {
        return false;
    }
    model == VOLUNTARY_OR_NONE
        || machine.config().is_ok_and(|config| !config.has("PREEMPT_DYNAMIC"))
}

pub(crate) fn configured_model(config: &KernelConfig) -> String {
    let first_of =
        |options: &[&'static str]| options.iter().find(|option| config.has(option)).copied();
    match first_of(&["PREEMPT_RT", "PREEMPT_RT_FULL", "PREEMPT_DYNAMIC", "PREEMPT_LAZY", "PREEMPT"])
    {
        Some("PREEMPT_RT" | "PREEMPT_RT_FULL") => "PREEMPT_RT".to_owned(),
        Some("PREEMPT_DYNAMIC") => {
            let mode = match first_of(&["PREEMPT_NONE", "PREEMPT_VOLUNTARY", "PREEMPT_LAZY"]) {
                Some("PREEMPT_NONE") => "none",
                Some("PREEMPT_VOLUNTARY") => "voluntary",
                Some(_) => "lazy",
                None => "full",
            };
            format!("PREEMPT_DYNAMIC ({mode} by default)")
        }
        Some(model) => model.to_owned(),
        None => VOLUNTARY_OR_NONE.to_owned(),
    }
}

/// How the kernel can be preempted, to be said.
pub(crate) fn words(model: &str) -> Phrase {
    let mode = model.strip_prefix("PREEMPT_DYNAMIC (").and_then(|mode| mode.strip_suffix(')'));
    if let Some(mode) = mode.and_then(|mode| mode.strip_suffix(" by default")) {
        phrase!("preempt-by-default", mode)
    } else if let Some(mode) = mode.and_then(|mode| mode.strip_prefix("booted with preempt=")) {
        phrase!("preempt-booted", mode)
    } else if model == VOLUNTARY_OR_NONE {
        phrase!("voluntary-or-none")
    } else {
        model.into()
    }
}

/// The mode of a kernel that can choose it at boot: empty where it is not known. None where it
/// cannot.
pub(crate) fn dynamic_mode(model: &str) -> Option<&str> {
    let mode = model.strip_prefix("PREEMPT_DYNAMIC")?.trim_start().trim_matches(['(', ')']);
    mode.strip_prefix("booted with preempt=").or_else(|| mode.split(' ').next())
}

/// In the mode `lazy` a thread of ordinary priority waits for the tick, and a real-time one
/// preempts at once, as in the mode `full`.
pub(crate) fn is_preempted_at_once(mode: &str) -> bool {
    mode == "full" || mode == "lazy"
}

/// Whether a kernel that can choose it at boot lets a real-time thread preempt it in most places.
/// None where there is no choice.
pub(crate) fn preempts_fully(machine: &Machine<'_>) -> Option<bool> {
    Some(is_preempted_at_once(dynamic_mode(&model(machine)?)?))
}
