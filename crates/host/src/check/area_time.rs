// SPDX-License-Identifier: MIT OR Apache-2.0
//! Who sets the time of day.

use super::machine::Machine;
use super::{Check, Seen};

pub(super) const CHECKS: &[Check] = &[Check {
    id: "time-synchronisation",
    why: "A service that sets the time of day makes CLOCK_REALTIME step. CLOCK_MONOTONIC never steps, and only its rate is adjusted.",
    reference: "adjtimex(2); chronyd(8)",
    tunable: false,
    matters: &[],
    look: time_synchronisation,
}];

const SERVICES: [&str; 5] = ["chronyd", "ntpd", "systemd-timesyn", "ntpsec", "ptp4l"];

fn time_synchronisation(machine: &Machine<'_>) -> Option<Seen> {
    let there: Vec<&str> = SERVICES.into_iter().filter(|name| !machine.processes(name).is_empty()).collect();
    if there.is_empty() {
        Seen::ok("no service sets the time of day")
    } else {
        Seen::ok(format!("{} keeps the time of day", there.join(" and ")))
    }
}
