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

/// Whether no mains feed the machine. A battery may be discharged beside them too.
pub(crate) fn runs_on_battery_alone(machine: &Machine<'_>) -> bool {
    const FOLDER: &str = "sys/class/power_supply";
    let is_mains = |name: &String| {
        let has = |file: &str, text: &str| {
            machine.text(&format!("{FOLDER}/{name}/{file}")).as_deref() == Some(text)
        };
        has("type", "Mains") && has("online", "1")
    };
    batteries(machine).contains(&true) && !machine.names(FOLDER).iter().any(is_mains)
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
