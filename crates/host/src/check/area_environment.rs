// SPDX-License-Identifier: MIT OR Apache-2.0
//! What feeds and heats the CPUs.

use super::machine::Machine;
use super::{ALL, Check, Seen};

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "battery",
        why: "On battery the firmware lowers frequencies and limits.",
        reference: "kernel: Documentation/ABI/testing/sysfs-class-power",
        tunable: false,
        matters: &[],
        look: battery,
    },
    Check {
        id: "temperature",
        why: "Near its limit a CPU is slowed down, or stopped for moments.",
        reference: "kernel: Documentation/driver-api/thermal/sysfs-api.rst",
        tunable: false,
        matters: ALL,
        look: temperature,
    },
];

fn battery(machine: &Machine<'_>) -> Option<Seen> {
    let supplies = machine.names("sys/class/power_supply");
    let of = |name: &str, file: &str| machine.text(&format!("sys/class/power_supply/{name}/{file}"));
    let is_battery =
        |name: &&String| of(name, "type").as_deref() == Some("Battery") && of(name, "scope").as_deref() != Some("Device");
    let discharging = supplies.iter().filter(is_battery).any(|name| of(name, "status").as_deref() == Some("Discharging"));
    if !supplies.iter().any(|name| is_battery(&name)) {
        return None;
    }
    if discharging { Seen::warn("runs on battery", "connect it to its supply") } else { Seen::ok("connected to its supply") }
}

/// As near to a limit as this it is named, thousandths of a degree.
const NEAR: i64 = 5_000;

fn temperature(machine: &Machine<'_>) -> Option<Seen> {
    let mut hottest: Option<(i64, i64, String)> = None;
    for zone in machine.names("sys/class/thermal").into_iter().filter(|name| name.starts_with("thermal_zone")) {
        let folder = format!("sys/class/thermal/{zone}");
        let Some(now) = machine.number(&format!("{folder}/temp")) else { continue };
        let trips = machine
            .names(&folder)
            .into_iter()
            .filter_map(|name| name.strip_prefix("trip_point_")?.strip_suffix("_type").map(str::to_owned));
        for trip in trips {
            let kind = machine.text(&format!("{folder}/trip_point_{trip}_type")).unwrap_or_default();
            let Some(limit) = machine.number(&format!("{folder}/trip_point_{trip}_temp")).filter(|limit| *limit > 0) else {
                continue;
            };
            if (kind == "passive" || kind == "hot") && hottest.as_ref().is_none_or(|(left, ..)| limit - now < *left) {
                hottest = Some((limit - now, now, format!("{} °C", limit / 1_000)));
            }
        }
    }
    let (left, now, limit) = hottest?;
    let found = format!("{} °C, slowed down from {limit} on", now / 1_000);
    if left <= NEAR { Seen::bad(found, "cool it, or lower its frequency") } else { Seen::ok(found) }
}
