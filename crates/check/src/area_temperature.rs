// SPDX-License-Identifier: MIT OR Apache-2.0
//! How near the CPUs are to the temperature at which they are slowed down or switched off.
//!
//! Only what measures CPUs counts: a radio module or a disk is hot for reasons of its own.

use super::board::board;
use super::board_config::config_value;
use super::finding::{ALL, Check, Seen, check};
use super::machine::Machine;
use model::{Phrase, phrase};

pub(crate) const CHECKS: &[Check] = &[check("temperature", ALL, temperature)];

/// As near to a limit as this is too near, thousandths of a degree.
const NEAR: i64 = 5_000;
/// What no CPU reports while it runs, thousandths of a degree.
const HIGHEST: i64 = 200_000;

/// A temperature and its limit, thousandths of a degree.
struct Reading {
    now: i64,
    limit: i64,
    /// The key of its phrase.
    effect: &'static str,
}

impl Reading {
    fn left(&self) -> i64 {
        self.limit - self.now
    }
}

const SLOWED: &str = "slowed-down";
const OFF: &str = "switched-off";

/// Parts of the names of thermal zones that measure CPUs, and of the drivers that do so through
/// hwmon.
const CPU_ZONES: [&str; 7] =
    ["cpu", "soc", "x86_pkg_temp", "coretemp", "cluster", "bigcore", "littlecore"];
const CPU_SENSORS: [&str; 4] = ["coretemp", "k10temp", "cpu_thermal", "soc_thermal"];

fn temperature_in(machine: &Machine<'_>, file: &str) -> Option<i64> {
    machine.number(file).filter(|value| (1..HIGHEST).contains(value))
}

/// What the kernel's thermal zones of CPUs say.
fn zones(machine: &Machine<'_>) -> Vec<Reading> {
    const FOLDER: &str = "sys/class/thermal";
    let mut readings = Vec::new();
    for zone in machine.names(FOLDER).into_iter().filter(|name| name.starts_with("thermal_zone")) {
        let folder = format!("{FOLDER}/{zone}");
        let kind = machine.text(&format!("{folder}/type")).unwrap_or_default().to_lowercase();
        if !CPU_ZONES.iter().any(|name| kind.contains(name)) {
            continue;
        }
        let Some(now) = temperature_in(machine, &format!("{folder}/temp")) else { continue };
        let names = machine.names(&folder);
        let trips =
            names.iter().filter_map(|name| name.strip_prefix("trip_point_")?.strip_suffix("_type"));
        for trip in trips {
            let effect = match machine.text(&format!("{folder}/trip_point_{trip}_type")).as_deref()
            {
                Some("passive" | "hot") => SLOWED,
                Some("critical") => OFF,
                _ => continue,
            };
            if let Some(limit) =
                temperature_in(machine, &format!("{folder}/trip_point_{trip}_temp"))
            {
                readings.push(Reading { now, limit, effect });
            }
        }
        readings.extend(raspberry_pi_limit(machine).map(|limit| Reading {
            now,
            limit,
            effect: SLOWED,
        }));
    }
    readings
}

/// Where the firmware of a Raspberry Pi begins to lower the frequency, which no file of the kernel
/// says.
fn raspberry_pi_limit(machine: &Machine<'_>) -> Option<i64> {
    let board = board(machine).filter(|board| board.starts_with("Raspberry Pi"))?;
    let has_soft_limit = ["Raspberry Pi 3 Model B Plus", "Raspberry Pi 3 Model A Plus"]
        .iter()
        .any(|name| board.starts_with(name));
    if !has_soft_limit {
        return Some(80_000);
    }
    let given =
        config_value(machine, "temp_soft_limit").and_then(|degrees| degrees.parse::<i64>().ok());
    Some(given.unwrap_or(60).clamp(0, 70) * 1_000)
}

/// What sensors of CPUs say. At the critical temperature such a CPU lowers its frequency by itself.
fn sensors(machine: &Machine<'_>) -> Vec<Reading> {
    const FOLDER: &str = "sys/class/hwmon";
    let mut readings = Vec::new();
    for sensor in machine.names(FOLDER) {
        let folder = format!("{FOLDER}/{sensor}");
        if !machine
            .text(&format!("{folder}/name"))
            .is_some_and(|name| CPU_SENSORS.contains(&name.as_str()))
        {
            continue;
        }
        for name in machine.names(&folder) {
            let Some(input) = name.strip_suffix("_input").filter(|input| input.starts_with("temp"))
            else {
                continue;
            };
            let value = |what: &str| temperature_in(machine, &format!("{folder}/{input}_{what}"));
            if let (Some(now), Some(limit)) = (value("input"), value("crit")) {
                readings.push(Reading { now, limit, effect: SLOWED });
            }
        }
    }
    readings
}

/// How often a CPU was slowed down since boot, of those that count it.
fn times_slowed(machine: &Machine<'_>) -> i64 {
    let count = |cpu, what| {
        machine.number(&format!(
            "sys/devices/system/cpu/cpu{cpu}/thermal_throttle/{what}_throttle_count"
        ))
    };
    let cpus = machine.online.iter();
    cpus.flat_map(|cpu| [count(cpu, "core"), count(cpu, "package")]).flatten().max().unwrap_or(0)
}

fn temperature(machine: &Machine<'_>) -> Option<Seen> {
    let action = phrase!("cool-or-lower");
    let times = times_slowed(machine);
    let slowed = (times > 0).then(|| phrase!("slowed-down-times", times));
    let readings = zones(machine).into_iter().chain(sensors(machine));
    let Some(nearest) = readings.min_by_key(Reading::left) else {
        return Seen::warn(slowed?, action);
    };
    let (now, limit) = (nearest.now / 1_000, nearest.limit / 1_000);
    let found = phrase!("degrees", now, effect = Phrase::keyed(nearest.effect, []), limit);
    let was_slowed = slowed.is_some();
    let found = Phrase::joined("comma", std::iter::once(found).chain(slowed));
    if nearest.left() <= NEAR {
        return Seen::bad(found, action);
    }
    if was_slowed { Seen::warn(found, action) } else { Seen::ok(found) }
}

#[cfg(test)]
mod tests {
    use crate::Status;
    use crate::one_finding::{OneFinding, finding};
    use crate::tests::files::lay;

    const ZONE: &str = "sys/class/thermal/thermal_zone0";

    /// A machine with one zone of this type, temperature, and trip.
    fn zone(
        kind: &str,
        now: &str,
        trip: (&str, &str),
        others: &[(&str, &str)],
    ) -> Option<OneFinding> {
        let file = |name: &str| format!("{ZONE}/{name}");
        let names =
            [file("type"), file("temp"), file("trip_point_0_type"), file("trip_point_0_temp")];
        let texts = [kind, now, trip.0, trip.1];
        let files: Vec<(&str, &str)> =
            names.iter().map(String::as_str).zip(texts).chain(others.iter().copied()).collect();
        let (_dir, root) = lay(&files);
        finding(&root, "temperature", None)
    }

    fn status(finding: Option<OneFinding>) -> Option<(Status, String)> {
        finding.map(|finding| (finding.status, finding.found))
    }

    #[test]
    fn critical_trips_count() {
        let seen = status(zone("cpu-thermal", "107000", ("critical", "110000"), &[]));
        assert_eq!(seen, Some((Status::Bad, "107 °C, switched off from 110 °C on".to_owned())));
        let seen = status(zone("x86_pkg_temp", "50000", ("passive", "95000"), &[]));
        assert_eq!(seen, Some((Status::Ok, "50 °C, slowed down from 95 °C on".to_owned())));
    }

    /// A radio at its limit was taken for a hot CPU.
    #[test]
    fn only_cpus_count() {
        for kind in ["iwlwifi_1", "nvme", "gpu-thermal", "acpitz"] {
            assert!(zone(kind, "99000", ("passive", "99000"), &[]).is_none(), "{kind}");
        }
    }

    #[test]
    fn sensors_of_cpus_count_too() {
        let (_dir, root) = lay(&[
            ("sys/class/hwmon/hwmon1/name", "coretemp\n"),
            ("sys/class/hwmon/hwmon1/temp1_input", "97000\n"),
            ("sys/class/hwmon/hwmon1/temp1_crit", "100000\n"),
            ("sys/class/hwmon/hwmon2/name", "nvme\n"),
            ("sys/class/hwmon/hwmon2/temp1_input", "99000\n"),
            ("sys/class/hwmon/hwmon2/temp1_crit", "99000\n"),
        ]);
        let finding = finding(&root, "temperature", None).unwrap();
        assert_eq!(
            (finding.status, finding.found.as_str()),
            (Status::Bad, "97 °C, slowed down from 100 °C on")
        );
    }

    #[test]
    fn what_the_firmware_of_a_raspberry_pi_does_is_known() {
        let critical = ("critical", "110000");
        for (board, now, config, expected) in [
            (
                "Raspberry Pi 4 Model B Rev 1.4",
                "70000",
                "",
                (Status::Ok, "70 °C, slowed down from 80 °C on"),
            ),
            (
                "Raspberry Pi 3 Model B Plus Rev 1.3",
                "58000",
                "",
                (Status::Bad, "58 °C, slowed down from 60 °C on"),
            ),
            (
                "Raspberry Pi 3 Model B Plus Rev 1.3",
                "58000",
                "temp_soft_limit=70",
                (Status::Ok, "58 °C, slowed down from 70 °C on"),
            ),
        ] {
            let others = [("proc/device-tree/model", board), ("boot/config.txt", config)];
            let seen = status(zone("cpu-thermal", now, critical, &others)).unwrap();
            assert_eq!((seen.0, seen.1.as_str()), expected, "{board}");
        }
    }

    #[test]
    fn a_cpu_that_was_slowed_down_is_named() {
        let count =
            [("sys/devices/system/cpu/cpu0/thermal_throttle/package_throttle_count", "7\n")];
        let seen = status(zone("x86_pkg_temp", "50000", ("passive", "95000"), &count));
        assert_eq!(
            seen,
            Some((
                Status::Warn,
                "50 °C, slowed down from 95 °C on, slowed down 7 times since boot".to_owned()
            ))
        );
    }
}
