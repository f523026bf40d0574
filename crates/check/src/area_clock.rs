// SPDX-License-Identifier: MIT OR Apache-2.0
//! What time is kept with.

use super::finding::{ALL, Check, Seen, tunable};
use super::machine::Machine;
use host::{FAST_CLOCKSOURCES, SLOW_CLOCKSOURCES};
use model::{Phrase, phrase};

pub(crate) const CHECKS: &[Check] =
    &[tunable("clocksource", ALL, clocksource), tunable("timer-migration", &[], timer_migration)];

fn clocksource(machine: &Machine<'_>) -> Option<Seen> {
    const FOLDER: &str = "sys/devices/system/clocksource/clocksource0";
    let current = machine.text(&format!("{FOLDER}/current_clocksource"))?;
    let available = machine.text(&format!("{FOLDER}/available_clocksource")).unwrap_or_default();
    if !SLOW_CLOCKSOURCES.contains(&current.as_str()) {
        return Seen::ok(format!("{current} (available: {available})"));
    }
    let fast = FAST_CLOCKSOURCES
        .into_iter()
        .find(|fast| available.split_whitespace().any(|name| name == *fast));
    let command = fast.map(|fast| format!("echo {fast} | sudo tee /{FOLDER}/current_clocksource"));
    // What the kernel was told at boot comes back at the next one.
    if machine.arguments.value("clocksource") == Some(&current) {
        let written = format!("clocksource={current}");
        let action = phrase!("remove-arguments", arguments = written.clone());
        let action = match command {
            Some(command) => phrase!("for-now", action, command),
            None => action,
        };
        return Seen::bad(phrase!("slow-clock-given", clock = current, written), action);
    }
    if machine.arguments.value("tsc") == Some("unstable") {
        let written = "tsc=unstable";
        return Seen::bad(
            phrase!("slow-clock-given", clock = current, written),
            phrase!("remove-arguments", arguments = written),
        );
    }
    let action = command.map_or_else(|| phrase!("look-why-clock-was-left"), Phrase::from);
    Seen::bad(phrase!("slow-clock", clock = current, clocks = available), action)
}

fn timer_migration(machine: &Machine<'_>) -> Option<Seen> {
    match machine.number("proc/sys/kernel/timer_migration")? {
        0 => Seen::ok("off"),
        _ if !machine.has_chosen_cpus() => Seen::ok("on; no CPUs are set apart"),
        _ => Seen::warn("on", "sudo sysctl kernel.timer_migration=0"),
    }
}
