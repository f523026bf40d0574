// SPDX-License-Identifier: MIT OR Apache-2.0
//! The options and arguments of a kernel that make it check itself, where they cost latency.

use super::debug_table::{DEBUG_ARGUMENTS, DEBUG_OPTIONS, DebugArgument, DebugOption, Weight};
use super::finding::Seen;
use super::machine::Machine;

pub(crate) fn debug_options(machine: &Machine<'_>) -> Option<Seen> {
    let by_argument = by_argument(machine);
    let config = match machine.config() {
        Ok(config) => config,
        Err(error) if by_argument.is_empty() => return Seen::unknown(error),
        Err(_) => return with_arguments(&by_argument),
    };
    let is_on = |debug: &&DebugOption| {
        config.has(debug.option)
            && match debug.option {
                // It gives up at boot, unless it is asked for.
                "DEBUG_KMEMLEAK" => !config.has("DEBUG_KMEMLEAK_DEFAULT_OFF"),
                // The processor does it.
                "KASAN" => !config.has("KASAN_HW_TAGS"),
                _ => true,
            }
    };
    let on: Vec<&DebugOption> = DEBUG_OPTIONS.iter().filter(is_on).collect();
    if on.is_empty() {
        return if by_argument.is_empty() {
            Seen::ok("none that costs latency is on")
        } else {
            with_arguments(&by_argument)
        };
    }
    let options = on.iter().map(|debug| format!("{} ({})", debug.option, debug.cost));
    let found: Vec<String> = options
        .chain(by_argument.iter().map(|(written, cost)| format!("{written} ({cost})")))
        .collect();
    let off: Vec<String> = on
        .iter()
        .filter(|debug| !debug.is_selected)
        .map(|debug| format!("-d {}", debug.option))
        .collect();
    let build = if off.is_empty() {
        "build the kernel without what selects it".to_owned()
    } else {
        format!(
            "build the kernel without: scripts/config {}, then make olddefconfig",
            off.join(" ")
        )
    };
    let action = match removed(&by_argument) {
        Some(remove) => format!("{remove}, and {build}"),
        None => build,
    };
    let is_heavy = !by_argument.is_empty() || on.iter().any(|debug| debug.weight == Weight::Heavy);
    if is_heavy {
        Seen::bad(found.join(", "), action)
    } else {
        Seen::warn(found.join(", "), action)
    }
}

/// Arguments of the running kernel, each as it is written and with what it costs.
fn by_argument(machine: &Machine<'_>) -> Vec<(String, &'static str)> {
    if machine.options.config.is_some() {
        return Vec::new();
    }
    let config = machine.config().ok();
    let written = |debug: &DebugArgument| {
        let value = machine.arguments.value(debug.name)?;
        // `slub_debug=-` switches off what the kernel was built to do.
        let is_on = if debug.values.is_empty() {
            value != "-" && value != "off"
        } else {
            debug.values.contains(&value)
        };
        let is_known = config.is_none_or(|config| config.has(debug.option));
        (is_on && is_known).then(|| machine.arguments.written(debug.name)).flatten()
    };
    DEBUG_ARGUMENTS.iter().filter_map(|debug| Some((written(debug)?, debug.cost))).collect()
}

fn with_arguments(by_argument: &[(String, &str)]) -> Option<Seen> {
    let found: Vec<String> =
        by_argument.iter().map(|(written, cost)| format!("{written} ({cost})")).collect();
    Seen::bad(found.join(", "), removed(by_argument).unwrap_or_default())
}

fn removed(by_argument: &[(String, &str)]) -> Option<String> {
    let written: Vec<&str> = by_argument.iter().map(|(written, _)| written.as_str()).collect();
    (!written.is_empty())
        .then(|| format!("remove {} from the kernel's arguments", written.join(" ")))
}
