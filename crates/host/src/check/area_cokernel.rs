// SPDX-License-Identifier: MIT OR Apache-2.0
//! A co-kernel beside Linux: its state, and what disturbs it.

use super::machine::Machine;
use super::{ALL, Check, Seen, listed};

pub(super) const CHECKS: &[Check] = &[Check {
    id: "co-kernel",
    why: "Only threads that call a co-kernel run on it. All others, and all of Linux, run after it.",
    reference: "docs/cokernels.md",
    tunable: false,
    matters: ALL,
    look: co_kernel,
}];

/// Options that a co-kernel's makers say to switch off.
const BAD_NEIGHBOURS: [&str; 6] = ["CPU_IDLE", "CPU_FREQ", "MIGRATION", "COMPACTION", "TRANSPARENT_HUGEPAGE", "KSM"];

fn co_kernel(machine: &Machine<'_>) -> Option<Seen> {
    let cobalt = machine.text("proc/xenomai/version");
    let state = machine.text("sys/class/evl/control/state");
    let found = match (cobalt, state) {
        (Some(version), _) => {
            let clock = machine.text("proc/xenomai/clock/coreclk").unwrap_or_default();
            let gravity =
                clock.lines().find_map(|line| line.trim().strip_prefix("gravity:")).unwrap_or("unknown").trim().to_owned();
            let group = machine.text("sys/module/xenomai/parameters/allowed_group");
            let who = match group.as_deref() {
                Some("-1") | None => "root only".to_owned(),
                Some(group) => format!("root and group {group}"),
            };
            format!("Cobalt {version}, gravity {gravity}, for {who}")
        }
        (None, Some(state)) => {
            let abi = machine.text("sys/class/evl/control/abi").unwrap_or_else(|| "unknown".to_owned());
            let gravity = machine.text("sys/devices/virtual/clock/monotonic/gravity").unwrap_or_else(|| "unknown".to_owned());
            if state != "running" {
                return Seen::bad(
                    format!("EVL, ABI {abi}: {state}"),
                    "start it by 'evl start', or boot without evl.state=stopped",
                );
            }
            format!("EVL, ABI {abi}, gravity {gravity}")
        }
        (None, None) => return None,
    };
    let neighbours: Vec<String> = match machine.config() {
        Ok(config) => BAD_NEIGHBOURS.into_iter().filter(|option| config.has(option)).map(str::to_owned).collect(),
        Err(_) => Vec::new(),
    };
    if neighbours.is_empty() {
        return Seen::ok(found);
    }
    Seen::warn(format!("{found}, beside {}", listed(&neighbours)), "build the kernel without them, as the co-kernel's makers say")
}
