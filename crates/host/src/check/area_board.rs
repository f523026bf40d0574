// SPDX-License-Identifier: MIT OR Apache-2.0
//! Raspberry Pis: what their firmware does, and how it was told to.

use super::machine::Machine;
use super::{ALL, Check, Seen};
use crate::kernel::one_line;

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "board-throttled",
        why: "A Raspberry Pi lowers its frequency when its supply is weak or it is hot, and nothing else says so.",
        reference: "Raspberry Pi documentation: vcgencmd get_throttled",
        tunable: false,
        matters: ALL,
        look: throttled,
    },
    Check {
        id: "board-usb-interrupts",
        why: "The USB controller of Raspberry Pis up to 3 takes fast interrupts, which PREEMPT_RT cannot delay and which crash older RT kernels.",
        reference: "Raspberry Pi documentation: dwc_otg.fiq_enable, dwc_otg.fiq_fsm_enable",
        tunable: false,
        matters: ALL,
        look: usb_interrupts,
    },
    Check {
        id: "board-config",
        why: "A fixed frequency and a known temperature limit make figures of a Raspberry Pi repeatable.",
        reference: "Raspberry Pi documentation: config.txt, arm_freq, force_turbo, temp_soft_limit",
        tunable: false,
        matters: &[],
        look: board_config,
    },
];

/// The board's name, where a device tree has it.
pub(super) fn board(machine: &Machine<'_>) -> Option<String> {
    one_line(&machine.text("proc/device-tree/model")?)
}

/// What the bits of get_throttled stand for; the same 16 bits higher stand for: since boot.
const THROTTLED: [&str; 4] = ["under-voltage", "frequency capped", "throttled", "soft temperature limit"];

fn throttled(machine: &Machine<'_>) -> Option<Seen> {
    if !board(machine)?.starts_with("Raspberry Pi") {
        return None;
    }
    let files = ["sys/devices/platform/soc/soc:firmware/get_throttled", "sys/devices/platform/soc/firmware/get_throttled"];
    let Some(text) = files.iter().find_map(|file| machine.text(file)) else {
        let alarm = machine
            .names("sys/class/hwmon")
            .into_iter()
            .find_map(|name| machine.number(&format!("sys/class/hwmon/{name}/in0_lcrit_alarm")));
        return match alarm {
            Some(0) => Seen::ok("no under-voltage now (hwmon); vcgencmd get_throttled says more"),
            Some(_) => Seen::bad("under-voltage now (hwmon)", "use a supply that holds 5 V under load"),
            None => Seen::unknown_until("no file shows it", "vcgencmd get_throttled"),
        };
    };
    let Ok(bits) = u32::from_str_radix(text.trim_start_matches("throttled=").trim_start_matches("0x"), 16) else {
        return Seen::unknown(format!("'{text}' is no such value"));
    };
    let named = |shift: usize| {
        THROTTLED.iter().enumerate().filter(move |(bit, _)| bits & (1 << (bit + shift)) != 0).map(|(_, word)| *word)
    };
    let (now, since): (Vec<&str>, Vec<&str>) = (named(0).collect(), named(16).collect());
    let action = "use a supply that holds 5 V under load, cool it, or fix a lower frequency (arm_freq=)";
    if !now.is_empty() {
        return Seen::bad(format!("now: {}", now.join(", ")), action);
    }
    if !since.is_empty() {
        return Seen::bad(format!("since boot: {}", since.join(", ")), action);
    }
    Seen::ok("not since boot")
}

fn usb_interrupts(machine: &Machine<'_>) -> Option<Seen> {
    let board = board(machine)?;
    if !["Raspberry Pi 3", "Raspberry Pi 2", "Raspberry Pi Zero", "Raspberry Pi Model"].iter().any(|name| board.starts_with(name))
    {
        return None;
    }
    let is_off = |name: &str| machine.arguments.value(name) == Some("0");
    if is_off("dwc_otg.fiq_enable") && is_off("dwc_otg.fiq_fsm_enable") {
        return Seen::ok("off (dwc_otg.fiq_enable=0 dwc_otg.fiq_fsm_enable=0)");
    }
    let version = machine.text("proc/version").unwrap_or_default();
    if !version.contains("PREEMPT_RT") && !version.contains("PREEMPT RT") {
        return Seen::warn("on", "with PREEMPT_RT boot with dwc_otg.fiq_enable=0 dwc_otg.fiq_fsm_enable=0");
    }
    Seen::bad("on", "add dwc_otg.fiq_enable=0 dwc_otg.fiq_fsm_enable=0 to cmdline.txt")
}

/// The last value that the firmware's config.txt gives a setting.
pub(super) fn config_value(machine: &Machine<'_>, name: &str) -> Option<String> {
    let text = config_text(machine)?;
    let value = |line: &str| {
        let value = line.trim().strip_prefix(name)?.trim_start().strip_prefix('=')?;
        Some(value.split('#').next().unwrap_or_default().trim().to_owned())
    };
    text.lines().rev().find_map(value)
}

fn config_text(machine: &Machine<'_>) -> Option<String> {
    ["boot/firmware/config.txt", "boot/config.txt"].iter().find_map(|file| machine.text(file))
}

fn board_config(machine: &Machine<'_>) -> Option<Seen> {
    if !board(machine)?.starts_with("Raspberry Pi") {
        return None;
    }
    config_text(machine)?;
    let given: Vec<String> = ["arm_freq", "force_turbo", "temp_soft_limit", "over_voltage"]
        .into_iter()
        .filter_map(|name| Some(format!("{name}={}", config_value(machine, name)?)))
        .collect();
    if given.is_empty() {
        return Seen::warn(
            "the frequency follows load and heat",
            "set arm_freq= to what the board holds when it is hot, in config.txt",
        );
    }
    Seen::ok(given.join(" "))
}
