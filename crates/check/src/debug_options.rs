// SPDX-License-Identifier: MIT OR Apache-2.0
//! The options and arguments of a kernel that make it check itself, where they cost latency.

use super::debug_table::{
    DEBUG_ARGUMENTS, DEBUG_OPTIONS, DebugArgument, LIGHT_OPTIONS, SELECTED_OPTIONS,
};
use super::finding::Seen;
use super::machine::Machine;
use model::{Phrase, phrase};

pub(crate) fn debug_options(machine: &Machine<'_>) -> Option<Seen> {
    let by_argument = by_argument(machine);
    let config = match machine.config() {
        Ok(config) => config,
        Err(error) if by_argument.is_empty() => return Seen::unknown(error),
        Err(_) => return with_arguments(&by_argument),
    };
    let is_on = |option: &&str| {
        config.has(option)
            && match *option {
                // It gives up at boot, unless it is asked for.
                "DEBUG_KMEMLEAK" => !config.has("DEBUG_KMEMLEAK_DEFAULT_OFF"),
                // The processor does it.
                "KASAN" => !config.has("KASAN_HW_TAGS"),
                _ => true,
            }
    };
    let on: Vec<&str> = DEBUG_OPTIONS.into_iter().filter(is_on).collect();
    if on.is_empty() {
        return if by_argument.is_empty() {
            Seen::ok("none that costs latency is on")
        } else {
            with_arguments(&by_argument)
        };
    }
    let options = on.iter().map(|option| costs(option, option));
    let found = Phrase::joined("comma", options.chain(with_costs(&by_argument)));
    let off: Vec<String> = on
        .iter()
        .filter(|option| !SELECTED_OPTIONS.contains(option))
        .map(|option| format!("-d {option}"))
        .collect();
    let build = if off.is_empty() {
        phrase!("build-without-selecting")
    } else {
        phrase!("build-without", options = off.join(" "))
    };
    let remove = (!by_argument.is_empty()).then(|| removed(&by_argument));
    let action = Phrase::joined("and", remove.into_iter().chain([build]));
    let is_heavy =
        !by_argument.is_empty() || on.iter().any(|option| !LIGHT_OPTIONS.contains(option));
    if is_heavy { Seen::bad(found, action) } else { Seen::warn(found, action) }
}

/// Arguments of the running kernel, each as it is written and with the option that it is of.
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
    DEBUG_ARGUMENTS.iter().filter_map(|debug| Some((written(debug)?, debug.option))).collect()
}

fn costs(written: &str, option: &str) -> Phrase {
    phrase!("costs", written, cost = Phrase::keyed(option, []))
}

fn with_costs(by_argument: &[(String, &str)]) -> impl Iterator<Item = Phrase> {
    by_argument.iter().map(|(written, option)| costs(written, option))
}

fn with_arguments(by_argument: &[(String, &str)]) -> Option<Seen> {
    Seen::bad(Phrase::joined("comma", with_costs(by_argument)), removed(by_argument))
}

fn removed(by_argument: &[(String, &str)]) -> Phrase {
    let written: Vec<&str> = by_argument.iter().map(|(written, _)| written.as_str()).collect();
    phrase!("remove-arguments", arguments = written.join(" "))
}
