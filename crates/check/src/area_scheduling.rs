// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the kernel lets run when: throttling, watchdogs, statistics.

use super::finding::{ALL, Check, Seen, check, of_config, tunable};
use super::machine::{Machine, Purpose};
use super::rt_share::{group_scheduling, throttling};
use super::words::listed;
use model::phrase;

pub(crate) const CHECKS: &[Check] = &[
    tunable("rt-throttling", ALL, throttling),
    of_config("rt-group-scheduling", ALL, group_scheduling),
    tunable("watchdogs", &[Purpose::Telco], watchdogs),
    tunable("statistics-interval", &[], statistics),
    check("timer-slack", ALL, timer_slack),
];

fn watchdogs(machine: &Machine<'_>) -> Option<Seen> {
    let is_on =
        |name: &str| machine.number(&format!("proc/sys/kernel/{name}")).map(|value| value != 0);
    let known: Vec<(&str, bool)> = ["nmi_watchdog", "soft_watchdog"]
        .into_iter()
        .filter_map(|name| Some((name, is_on(name)?)))
        .collect();
    if known.is_empty() {
        return None;
    }
    let on: Vec<&str> = known.iter().filter(|(_, is_on)| *is_on).map(|(name, _)| *name).collect();
    if on.is_empty() {
        return Seen::ok("off");
    }
    let switches = listed(on);
    if machine.has_chosen_cpus() {
        let measured = machine.measured();
        let watched = machine.cpus("proc/sys/kernel/watchdog_cpumask");
        if watched.is_some_and(|watched| measured.iter().all(|cpu| !watched.contains(cpu))) {
            return Seen::ok(format!("{switches} on, on other CPUs"));
        }
    }
    Seen::bad(phrase!("switches-on", switches), "sudo sysctl kernel.watchdog=0")
}

fn statistics(machine: &Machine<'_>) -> Option<Seen> {
    let interval = machine.number("proc/sys/vm/stat_interval")?;
    let found = format!("every {interval} s");
    if interval < 10 && machine.options.purpose == Purpose::Telco {
        return Seen::warn(found, "sudo sysctl vm.stat_interval=120");
    }
    // A proof can show whether it helps here.
    Seen::ok(if (1..10).contains(&interval) {
        format!("{found}. teiji tune makes it 120 s")
    } else {
        found
    })
}

/// What threads have unless somebody changed it, ns.
const USUAL_SLACK: i64 = 50_000;

fn timer_slack(machine: &Machine<'_>) -> Option<Seen> {
    let process =
        machine.program().map_or_else(|| "self".to_owned(), |process| process.to_string());
    let slack = machine.number(&format!("proc/{process}/timerslack_ns"))?;
    let found = format!("{}.{:03} µs", slack / 1_000, slack % 1_000).replace(".000 ", " ");
    if machine.is_ordinary() {
        if slack <= USUAL_SLACK {
            return Seen::ok(found);
        }
        let command = format!("echo 1 | sudo tee /proc/{process}/timerslack_ns");
        return Seen::bad(found.into(), phrase!("or-real-time-policy", command));
    }
    let found = format!("{found} for ordinary threads. Those of a real-time policy have none");
    if slack > USUAL_SLACK {
        return Seen::warn(
            found,
            format!(
                "echo {USUAL_SLACK} | sudo tee /proc/$$/timerslack_ns, and start ordinary threads \
                 from this shell"
            ),
        );
    }
    Seen::ok(found)
}

#[cfg(test)]
#[path = "area_scheduling_tests.rs"]
mod tests;
