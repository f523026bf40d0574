// SPDX-License-Identifier: MIT OR Apache-2.0
//! Raspberry Pis: what their firmware does, and how it was told to.

use super::board::{
    FAST_INTERRUPTS, board, has_fast_interrupts, switched_off, will_have_preempt_rt,
};
use super::board_config::board_config;
use super::finding::{ALL, Check, Seen, check};
use super::machine::Machine;

pub(crate) const CHECKS: &[Check] = &[
    check("board-throttled", ALL, throttled),
    check("board-usb-interrupts", ALL, usb_interrupts),
    check("board-config", &[], board_config),
];

/// What the bits of get_throttled stand for; the same 16 bits higher stand for: since boot.
const THROTTLED: [&str; 4] =
    ["under-voltage", "frequency capped", "throttled", "soft temperature limit"];

fn throttled(machine: &Machine<'_>) -> Option<Seen> {
    if !board(machine)?.starts_with("Raspberry Pi") {
        return None;
    }
    let files = [
        "sys/devices/platform/soc/soc:firmware/get_throttled",
        "sys/devices/platform/soc/firmware/get_throttled",
    ];
    let Some(text) = files.iter().find_map(|file| machine.text(file)) else {
        let alarm = machine
            .names("sys/class/hwmon")
            .into_iter()
            .find_map(|name| machine.number(&format!("sys/class/hwmon/{name}/in0_lcrit_alarm")));
        return match alarm {
            Some(0) => Seen::ok("no under-voltage now (hwmon); vcgencmd get_throttled says more"),
            Some(_) => {
                Seen::bad("under-voltage now (hwmon)", "use a supply that holds 5 V under load")
            }
            None => Seen::unknown_until("no file shows it", "vcgencmd get_throttled"),
        };
    };
    let Ok(bits) =
        u32::from_str_radix(text.trim_start_matches("throttled=").trim_start_matches("0x"), 16)
    else {
        return Seen::unknown(format!("'{text}' is no such value"));
    };
    let named = |shift: usize| {
        THROTTLED
            .iter()
            .enumerate()
            .filter(move |(bit, _)| bits & (1 << (bit + shift)) != 0)
            .map(|(_, word)| *word)
    };
    let (now, since): (Vec<&str>, Vec<&str>) = (named(0).collect(), named(16).collect());
    let words = [("now", &now), ("since boot", &since)];
    let found: Vec<String> = words
        .into_iter()
        .filter(|(_, seen)| !seen.is_empty())
        .map(|(when, seen)| format!("{when}: {}", seen.join(", ")))
        .collect();
    if found.is_empty() {
        return Seen::ok("not since boot");
    }
    Seen::bad(found.join(", and "), against(bits))
}

/// What makes a weak supply or heat go away, that of now first. Where neither is named, either may
/// be the cause.
fn against(bits: u32) -> String {
    const SUPPLY: &str = "use a supply that holds 5 V under load";
    const COOL: &str = "cool it, or fix a lower frequency (arm_freq=)";
    // A weak supply throttles a board too, as heat does.
    let of = |bits: u32| (bits & 0b0001 != 0, bits & 0b1100 != 0);
    let mut ways: Vec<&str> = Vec::new();
    for (is_weak, is_hot) in [of(bits), of(bits >> 16)] {
        ways.extend(is_weak.then_some(SUPPLY));
        ways.extend(is_hot.then_some(COOL));
    }
    if ways.is_empty() {
        ways = vec![SUPPLY, COOL];
    }
    let mut said: Vec<&str> = Vec::new();
    for way in ways {
        if !said.contains(&way) {
            said.push(way);
        }
    }
    said.join(", and ")
}

fn usb_interrupts(machine: &Machine<'_>) -> Option<Seen> {
    if !has_fast_interrupts(machine) {
        return None;
    }
    let off = FAST_INTERRUPTS.map(|name| switched_off(machine, name));
    let given: Vec<String> =
        FAST_INTERRUPTS.iter().filter_map(|name| machine.arguments.written(name)).collect();
    let (mut replaced, mut added) = (Vec::new(), Vec::new());
    for (name, to) in off {
        match machine.arguments.written(name) {
            Some(from) if from == to => {}
            Some(from) => replaced.push(format!("replace {from} by {to}")),
            None => added.push(to),
        }
    }
    if replaced.is_empty() && added.is_empty() {
        return Seen::ok(format!("off ({})", given.join(" ")));
    }
    if !added.is_empty() {
        replaced.push(format!("add {}", added.join(" ")));
    }
    let file = ["boot/firmware/cmdline.txt", "boot/cmdline.txt"]
        .into_iter()
        .find(|file| machine.exists(file));
    let file = file.map_or_else(|| "cmdline.txt".to_owned(), |file| format!("/{file}"));
    let action = format!("in {file} {}", replaced.join(", and "));
    let found =
        if given.is_empty() { "on".to_owned() } else { format!("on ({})", given.join(" ")) };
    if will_have_preempt_rt(machine) {
        Seen::bad(found, action)
    } else {
        Seen::warn(found, format!("with PREEMPT_RT {action}"))
    }
}

#[cfg(test)]
mod tests {
    use crate::one_finding::finding;
    use crate::tests::files::lay;

    const BOTH: &str =
        "use a supply that holds 5 V under load, and cool it, or fix a lower frequency (arm_freq=)";

    /// What was since boot is lost otherwise, and a hot board needs no other supply.
    #[test]
    fn what_is_and_what_was_are_both_named() {
        for (bits, found, action) in [
            (
                "0xd0008",
                "now: soft temperature limit, and since boot: under-voltage, throttled, soft \
                 temperature limit",
                "cool it, or fix a lower frequency (arm_freq=), and use a supply that holds 5 V \
                 under load",
            ),
            ("0x50000", "since boot: under-voltage, throttled", BOTH),
            ("0x1", "now: under-voltage", "use a supply that holds 5 V under load"),
            ("0x2", "now: frequency capped", BOTH),
            (
                "0x80000",
                "since boot: soft temperature limit",
                "cool it, or fix a lower frequency (arm_freq=)",
            ),
            ("0x4", "now: throttled", "cool it, or fix a lower frequency (arm_freq=)"),
            ("0x0", "not since boot", ""),
        ] {
            let (_dir, root) = lay(&[
                ("proc/device-tree/model", "Raspberry Pi 4 Model B Rev 1.4"),
                ("sys/devices/platform/soc/soc:firmware/get_throttled", bits),
            ]);
            let seen = finding(&root, "board-throttled", None).unwrap();
            assert_eq!((seen.found.as_str(), seen.action.as_str()), (found, action), "{bits}");
        }
    }
}
