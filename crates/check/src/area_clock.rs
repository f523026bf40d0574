// SPDX-License-Identifier: MIT OR Apache-2.0
//! What time is kept with.

use super::finding::{ALL, Check, Seen, tunable};
use super::machine::Machine;
use host::{FAST_CLOCKSOURCES, SLOW_CLOCKSOURCES};

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
    // What the kernel was told at boot comes back at the next one.
    if machine.arguments.value("clocksource") == Some(&current) {
        let written = format!("clocksource={current}");
        let now = fast.map(|fast| {
            format!(", and for now: echo {fast} | sudo tee /{FOLDER}/current_clocksource")
        });
        return Seen::bad(
            format!("{current}, which is slow to read: {written} was given"),
            format!("remove {written} from the kernel's arguments{}", now.unwrap_or_default()),
        );
    }
    if machine.arguments.value("tsc") == Some("unstable") {
        return Seen::bad(
            format!("{current}, which is slow to read: tsc=unstable was given"),
            "remove tsc=unstable from the kernel's arguments",
        );
    }
    let action = match fast {
        Some(fast) => format!("echo {fast} | sudo tee /{FOLDER}/current_clocksource"),
        None => "look in dmesg why the kernel gave up the fast clock (\"Marking clocksource 'tsc' \
                 as unstable\"). Where the clock is good, boot with tsc=reliable"
            .to_owned(),
    };
    Seen::bad(format!("{current}, which is slow to read (available: {available})"), action)
}

fn timer_migration(machine: &Machine<'_>) -> Option<Seen> {
    match machine.number("proc/sys/kernel/timer_migration")? {
        0 => Seen::ok("off"),
        _ if !machine.has_chosen_cpus() => Seen::ok("on; no CPUs are set apart"),
        _ => Seen::warn("on", "sudo sysctl kernel.timer_migration=0"),
    }
}
