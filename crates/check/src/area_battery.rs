// SPDX-License-Identifier: MIT OR Apache-2.0
//! What feeds the machine.

use super::finding::{Check, Seen, check};
use super::machine::Machine;

pub(crate) const CHECKS: &[Check] = &[check("battery", &[], battery)];

fn battery(machine: &Machine<'_>) -> Option<Seen> {
    let supplies = machine.names("sys/class/power_supply");
    let of =
        |name: &str, file: &str| machine.text(&format!("sys/class/power_supply/{name}/{file}"));
    let is_battery = |name: &&String| {
        of(name, "type").as_deref() == Some("Battery")
            && of(name, "scope").as_deref() != Some("Device")
    };
    let discharging = supplies
        .iter()
        .filter(is_battery)
        .any(|name| of(name, "status").as_deref() == Some("Discharging"));
    if !supplies.iter().any(|name| is_battery(&name)) {
        return None;
    }
    if discharging {
        Seen::warn("runs on battery", "connect it to its supply")
    } else {
        Seen::ok("connected to its supply")
    }
}
