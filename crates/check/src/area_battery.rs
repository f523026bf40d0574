// SPDX-License-Identifier: MIT OR Apache-2.0
//! What feeds the machine.

use super::finding::{Check, Seen, check};
use super::machine::Machine;

pub(crate) const CHECKS: &[Check] = &[check("battery", &[], battery)];

/// Whether each battery of the machine itself is being discharged; empty where it has none.
fn batteries(machine: &Machine<'_>) -> Vec<bool> {
    let of =
        |name: &str, file: &str| machine.text(&format!("sys/class/power_supply/{name}/{file}"));
    let is_battery = |name: &String| {
        of(name, "type").as_deref() == Some("Battery")
            && of(name, "scope").as_deref() != Some("Device")
    };
    let supplies = machine.names("sys/class/power_supply").into_iter().filter(is_battery);
    supplies.map(|name| of(&name, "status").as_deref() == Some("Discharging")).collect()
}

pub(crate) fn runs_on_battery(machine: &Machine<'_>) -> bool {
    batteries(machine).contains(&true)
}

fn battery(machine: &Machine<'_>) -> Option<Seen> {
    match batteries(machine).as_slice() {
        [] => None,
        batteries if batteries.contains(&true) => {
            Seen::warn("runs on battery", "connect it to its supply")
        }
        _ => Seen::ok("connected to its supply"),
    }
}
