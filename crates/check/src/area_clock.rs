// SPDX-License-Identifier: MIT OR Apache-2.0
//! What time is kept with.

use super::finding::{ALL, Check, Seen, tunable};
use super::machine::Machine;
use super::recommended::{tick_kept_by, tickless};
use super::sets::without;
use super::words::cpu_words;
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
    let is_unstable = machine.arguments.values("tsc").any(|value| value == "unstable");
    let unstable = is_unstable.then(|| "tsc=unstable".to_owned());
    if let Some(written) = unstable.or_else(|| machine.arguments.written("notsc")) {
        let action = phrase!("remove-arguments", arguments = written.clone());
        return Seen::bad(phrase!("slow-clock-given", clock = current, written), action);
    }
    let action = command.map_or_else(|| phrase!("look-why-clock-was-left"), Phrase::from);
    Seen::bad(phrase!("slow-clock", clock = current, clocks = available), action)
}

/// Whether timers of other CPUs may move to those that are to be on time. They do not to CPUs that
/// nohz_full= set apart at boot, whose own timers move to others.
pub fn takes_timers_of_others(machine: &Machine<'_>) -> bool {
    machine.has_chosen_cpus() && !without(&machine.measured(), &tickless(machine)).is_empty()
}

fn timer_migration(machine: &Machine<'_>) -> Option<Seen> {
    const OFF: &str = "sudo sysctl kernel.timer_migration=0";
    match machine.number("proc/sys/kernel/timer_migration")? {
        0 => Seen::ok("off"),
        // The kernel moves no timers then.
        _ if tick_kept_by(machine).is_some() => {
            Seen::ok(phrase!("switched-off-by", argument = tick_kept_by(machine)?))
        }
        _ if !machine.has_chosen_cpus() => Seen::ok("on; no CPUs are set apart"),
        _ if takes_timers_of_others(machine) => Seen::warn(
            "on",
            format!(
                "for CPUs that programs get while the machine runs: {OFF}. For CPUs that \
                 nohz_full= sets apart at boot leave it on: their timers move to others"
            ),
        ),
        _ => Seen::ok(format!(
            "on: the timers of {}, which nohz_full= sets apart at boot, move to others. For CPUs \
             that programs get while the machine runs: {OFF}",
            cpu_words(&machine.measured())
        )),
    }
}
