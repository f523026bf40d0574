// SPDX-License-Identifier: MIT OR Apache-2.0
//! Raspberry Pis: what their firmware does, and how it was told to.

use super::board::{
    FAST_INTERRUPTS, board, has_fast_interrupts, switched_off, will_have_preempt_rt,
};
use super::board_config::board_config;
use super::finding::{ALL, Check, Seen, check};
use super::machine::Machine;
use model::{Phrase, phrase};

pub(crate) const CHECKS: &[Check] = &[
    check("board-throttled", ALL, throttled),
    check("board-usb-interrupts", ALL, usb_interrupts),
    check("board-config", &[], board_config),
];

/// What the bits of get_throttled stand for; the same 16 bits higher stand for: since boot.
const THROTTLED: [&str; 4] = ["under-voltage", "frequency-capped", "throttled", "soft-limit"];

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
            Some(_) => Seen::bad(phrase!("under-voltage-now"), phrase!("use-supply")),
            None => Seen::unknown_until("no file shows it", "vcgencmd get_throttled"),
        };
    };
    let Ok(bits) =
        u32::from_str_radix(text.trim_start_matches("throttled=").trim_start_matches("0x"), 16)
    else {
        return Seen::unknown(format!("'{text}' is no such value"));
    };
    let named = |shift: usize| {
        let is_set = |bit: usize| bits & (1 << (bit + shift)) != 0;
        let seen = (0..).zip(THROTTLED).filter(|(bit, _)| is_set(*bit));
        let words: Vec<Phrase> = seen.map(|(_, key)| Phrase::keyed(key, [])).collect();
        (!words.is_empty()).then(|| Phrase::joined("comma", words))
    };
    let now = named(0).map(|what| phrase!("now", what));
    let since = named(16).map(|what| phrase!("since-boot", what));
    if now.is_none() && since.is_none() {
        return Seen::ok("not since boot");
    }
    Seen::bad(Phrase::joined("and", now.into_iter().chain(since)), against(bits))
}

/// What makes a weak supply or heat go away, that of now first. Where neither is named, either may
/// be the cause.
fn against(bits: u32) -> Phrase {
    // A weak supply throttles a board too, as heat does.
    let of = |bits: u32| (bits & 0b0001 != 0, bits & 0b1100 != 0);
    let (supply, cool) = (phrase!("use-supply"), phrase!("cool-or-fix"));
    let mut ways: Vec<&Phrase> = Vec::new();
    for (is_weak, is_hot) in [of(bits), of(bits >> 16)] {
        for (is_cause, way) in [(is_weak, &supply), (is_hot, &cool)] {
            if is_cause && !ways.contains(&way) {
                ways.push(way);
            }
        }
    }
    if ways.is_empty() {
        ways = vec![&supply, &cool];
    }
    Phrase::joined("and", ways.into_iter().cloned())
}

fn usb_interrupts(machine: &Machine<'_>) -> Option<Seen> {
    if !has_fast_interrupts(machine) {
        return None;
    }
    let off = FAST_INTERRUPTS.map(|name| switched_off(machine, name));
    let given: Vec<String> =
        FAST_INTERRUPTS.iter().filter_map(|name| machine.arguments.written(name)).collect();
    let (mut changes, mut added) = (Vec::new(), Vec::new());
    for (name, to) in off {
        match machine.arguments.written(name) {
            Some(from) if from == to => {}
            Some(from) => changes.push(phrase!("replace", from, to)),
            None => added.push(to),
        }
    }
    if changes.is_empty() && added.is_empty() {
        return Seen::ok(format!("off ({})", given.join(" ")));
    }
    if !added.is_empty() {
        changes.push(phrase!("add", arguments = added.join(" ")));
    }
    let file = ["boot/firmware/cmdline.txt", "boot/cmdline.txt"]
        .into_iter()
        .find(|file| machine.exists(file));
    let file = file.map_or_else(|| "cmdline.txt".to_owned(), |file| format!("/{file}"));
    let action = phrase!("in-file", file, changes = Phrase::joined("and", changes));
    let found = if given.is_empty() {
        phrase!("on")
    } else {
        phrase!("on-with", arguments = given.join(" "))
    };
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
