// SPDX-License-Identifier: MIT OR Apache-2.0
//! Frequency and idle states.

use super::Change;
use super::journal::Entry;
use super::proposals::Wanted;
use super::setting::{self, Form};
use crate::check::{Machine, SLOW_EXIT_US};

const GOVERNOR: &str = "scaling_governor";

pub(super) fn governor(machine: &Machine<'_>) -> Vec<Wanted> {
    let mut wanted = Vec::new();
    for cpu in machine.measured() {
        let file = |name: &str| format!("sys/devices/system/cpu/cpu{cpu}/cpufreq/{name}");
        let text = |name: &str| machine.text(&file(name));
        let (Some(now), highest) = (text(GOVERNOR), text("scaling_max_freq")) else { continue };
        if now == "performance" || highest.is_some() && text("scaling_min_freq") == highest {
            continue;
        }
        let has_performance =
            text("scaling_available_governors").is_none_or(|all| all.split_whitespace().any(|name| name == "performance"));
        wanted.push(match highest {
            // Another governor would forget the speed that was set.
            Some(highest) if now == "userspace" && text("scaling_setspeed").is_some() => {
                Wanted::plain(file("scaling_setspeed"), highest)
            }
            Some(highest) if !has_performance => Wanted::plain(file("scaling_min_freq"), highest),
            _ => Wanted::plain(file(GOVERNOR), "performance"),
        });
    }
    wanted
}

/// The settings of governors that are replaced: a governor forgets them when it ends.
pub(super) fn companions(machine: &Machine<'_>, changes: &[Change]) -> Vec<Entry> {
    let mut entries: Vec<Entry> = Vec::new();
    for change in changes {
        let Some(policy) = change.file.strip_suffix(GOVERNOR) else { continue };
        let governor = change.from.trim();
        for folder in [format!("{policy}{governor}"), format!("sys/devices/system/cpu/cpufreq/{governor}")] {
            for name in machine.names(&folder) {
                let file = format!("{folder}/{name}");
                if let Ok(from) = setting::read(machine.root(), &file, Form::Plain)
                    && !entries.iter().any(|entry| entry.file == file)
                {
                    entries.push(Entry { file, form: Form::Plain, from, to: None, comes_and_goes: true });
                }
            }
        }
    }
    entries
}

pub(super) fn turbo(machine: &Machine<'_>) -> Vec<Wanted> {
    const INTEL: &str = "sys/devices/system/cpu/intel_pstate/no_turbo";
    const OTHERS: &str = "sys/devices/system/cpu/cpufreq/boost";
    let wanted = if machine.exists(INTEL) { Wanted::plain(INTEL, "1") } else { Wanted::plain(OTHERS, "0") };
    vec![wanted]
}

pub(super) fn idle_states(machine: &Machine<'_>) -> Vec<Wanted> {
    let mut wanted = Vec::new();
    for cpu in machine.measured() {
        let folder = format!("sys/devices/system/cpu/cpu{cpu}/cpuidle");
        for state in machine.names(&folder) {
            let exit = machine.number(&format!("{folder}/{state}/latency")).unwrap_or(0);
            if exit > SLOW_EXIT_US {
                let name = machine.text(&format!("{folder}/{state}/name")).unwrap_or_default();
                let subject = format!("{name}, {exit} µs to wake");
                wanted.push(Wanted { subject, ..Wanted::plain(format!("{folder}/{state}/disable"), "1") });
            }
        }
    }
    wanted
}
