// SPDX-License-Identifier: MIT OR Apache-2.0
//! What `teiji tune` has left behind.

use super::machine::Machine;
use super::{ALL, Check, Seen};
use crate::tune::{self, Phase};

pub(super) const CHECKS: &[Check] = &[Check {
    id: "tuning",
    why: "What teiji tune changed for a while and did not put back stays changed until the next \
          boot.",
    reference: "docs/tune.md",
    tunable: false,
    matters: ALL,
    look: tuning,
}];

const UNDO: &str = "sudo teiji tune --undo";

fn tuning(machine: &Machine<'_>) -> Option<Seen> {
    let (changes, phase) = match tune::left_over(machine.root()) {
        Ok(left) => left?,
        Err(error) if error.contains("Permission denied") => {
            return Seen::unknown_until(error, "sudo teiji check");
        }
        Err(error) if error.contains("boot_id") => {
            return Seen::unknown_until(error, "run teiji check outside of the container");
        }
        Err(error) => {
            return Seen::unknown_until(
                error,
                "reboot, which undoes every change, and remove the file",
            );
        }
    };
    let word = if changes == 1 { "change" } else { "changes" };
    match phase {
        Phase::Applied => return applied(machine, &format!("{changes} {word} by teiji tune")),
        Phase::Left => {
            return Seen::warn(
                format!("{changes} {word} by teiji tune could not be put back"),
                UNDO,
            );
        }
        Phase::Unfinished => {}
    }
    if tune::is_in_use(machine.root()) {
        return Seen::ok(format!("{changes} {word} by teiji tune, while its command runs"));
    }
    Seen::warn(format!("teiji tune was cut off: up to {changes} {word} left to undo"), UNDO)
}

/// How many files are named.
const NAMED: usize = 3;

/// What is to stay, and whether it has stayed.
fn applied(machine: &Machine<'_>, changes: &str) -> Option<Seen> {
    let changed = tune::changed_since(machine.root());
    if changed.is_empty() {
        return Seen::ok(changes);
    }
    let named: Vec<String> =
        changed.iter().take(NAMED).map(|(file, now)| format!("/{file} is {now}")).collect();
    let more = if changed.len() > NAMED { ", and others" } else { "" };
    Seen::warn(
        format!(
            "{changes}, {} of them changed since by somebody else: {}{more}",
            changed.len(),
            named.join(", ")
        ),
        "sudo teiji tune --undo, find what changes it, then teiji tune again",
    )
}
