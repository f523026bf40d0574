// SPDX-License-Identifier: MIT OR Apache-2.0
//! Frequency and idle states.

use super::change::Change;
use super::journal::Entry;
use super::setting::{self, Form};
use super::wanted::Wanted;
use check::{Machine, SLOW_EXIT_US};
use host::HostRoot;
use plan::CpuId;

const GOVERNOR: &str = "scaling_governor";
const PERFORMANCE: &str = "performance";
/// What a processor that chooses its own speed is to prefer.
const PREFERENCE: &str = "energy_performance_preference";
/// What the governor `userspace` was told.
const SPEED: &str = "scaling_setspeed";

pub(super) fn governor(machine: &Machine<'_>) -> Vec<Wanted> {
    let mut wanted = Vec::new();
    for cpu in machine.measured() {
        let file = |name: &str| format!("sys/devices/system/cpu/cpu{cpu}/cpufreq/{name}");
        let text = |name: &str| machine.text(&file(name));
        let (Some(now), highest) = (text(GOVERNOR), text("scaling_max_freq")) else { continue };
        let is_highest =
            |speed: Option<String>| speed.is_some() && speed == text("cpuinfo_max_freq");
        let is_fixed = highest.is_some() && text("scaling_min_freq") == highest;
        if now == PERFORMANCE || is_fixed || now == "userspace" && is_highest(text(SPEED)) {
            continue;
        }
        let has_performance = text("scaling_available_governors")
            .is_none_or(|all| all.split_whitespace().any(|name| name == PERFORMANCE));
        wanted.push(match highest {
            Some(highest) if !has_performance => Wanted::plain(file("scaling_min_freq"), highest),
            _ => Wanted::plain(file(GOVERNOR), PERFORMANCE),
        });
    }
    wanted
}

/// What changes with the governor and is put back after it: its settings, which it forgets when it
/// ends, and the preference, which amd-pstate and intel_pstate set with the governor `performance`
/// and refuse to change as long as it is there. amd-pstate keeps it.
pub(super) fn companions(machine: &Machine<'_>, changes: &[Change]) -> Vec<Entry> {
    let mut entries: Vec<Entry> = Vec::new();
    for change in changes {
        let Some(policy) = change.file.strip_suffix(GOVERNOR) else { continue };
        let governor = change.from.trim();
        if let Some(entry) = preference(machine, policy, &change.to)
            && !entries.iter().any(|other| other.file == entry.file)
        {
            entries.push(entry);
        }
        let of_policy = (governor == "userspace").then(|| format!("{policy}{SPEED}"));
        let folders =
            [format!("{policy}{governor}"), format!("sys/devices/system/cpu/cpufreq/{governor}")];
        let in_folders = folders.iter().flat_map(|folder| {
            let names = machine.names(folder).into_iter();
            names.map(move |name| format!("{folder}/{name}"))
        });
        for file in of_policy.into_iter().chain(in_folders) {
            if let Ok(from) = setting::read(machine.root(), &file, Form::Plain)
                && !entries.iter().any(|entry| entry.file == file)
            {
                entries.push(Entry {
                    file,
                    form: Form::Plain,
                    from,
                    to: None,
                    comes_and_goes: true,
                });
            }
        }
    }
    entries
}

/// What the preference is, where the governor will change it.
fn preference(machine: &Machine<'_>, policy: &str, governor: &str) -> Option<Entry> {
    let file = format!("{policy}{PREFERENCE}");
    let from = setting::read(machine.root(), &file, Form::Plain).ok()?;
    let is_changed = governor == PERFORMANCE && from.trim() != PERFORMANCE;
    is_changed.then(|| Entry {
        file,
        form: Form::Plain,
        from,
        to: Some(PERFORMANCE.to_owned()),
        comes_and_goes: true,
    })
}

pub(super) fn turbo(machine: &Machine<'_>) -> Vec<Wanted> {
    const INTEL: &str = "sys/devices/system/cpu/intel_pstate/no_turbo";
    const OTHERS: &str = "sys/devices/system/cpu/cpufreq/boost";
    let wanted =
        if machine.exists(INTEL) { Wanted::plain(INTEL, "1") } else { Wanted::plain(OTHERS, "0") };
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
                wanted.push(Wanted {
                    subject,
                    ..Wanted::plain(format!("{folder}/{state}/disable"), "1")
                });
            }
        }
    }
    wanted
}

/// The idle states of a CPU from this number on, the deeper ones, switched off.
pub(super) fn idle_states_from(root: &HostRoot, cpu: CpuId, first: usize) -> Vec<Wanted> {
    let files = (first..)
        .map(|state| format!("sys/devices/system/cpu/cpu{cpu}/cpuidle/state{state}/disable"));
    let there = files.take_while(|file| root.path(file).exists());
    there.map(|file| Wanted::plain(file, "1")).collect()
}

#[cfg(test)]
mod tests {
    use crate::TuningOptions;
    use crate::tests::files::lay;
    use crate::{Tuning, TuningPlan};
    use host::HostRoot;
    use std::fs;

    const POLICY: &str = "sys/devices/system/cpu/cpu0/cpufreq";

    fn tuned() -> (tempfile::TempDir, HostRoot) {
        let file = |name: &str| format!("{POLICY}/{name}");
        let (dir, root) = lay(&[
            ("proc/sys/kernel/random/boot_id", "first\n"),
            ("proc/stat", "btime 1000\n"),
            ("sys/devices/system/cpu/online", "0\n"),
            (&file("scaling_driver"), "amd-pstate-epp\n"),
            (&file("scaling_governor"), "powersave\n"),
            (&file("scaling_available_governors"), "performance powersave\n"),
            (&file("energy_performance_preference"), "balance_performance\n"),
        ]);
        let plan = TuningPlan::new(
            &root,
            &TuningOptions { only: vec!["governor".to_owned()], ..TuningOptions::default() },
        )
        .unwrap();
        assert_eq!(plan.changes.len(), 1);
        Tuning::begin(&root).unwrap().apply(&plan, true, &|| false).unwrap();
        // As the kernel does with the governor.
        fs::write(root.path(&file("energy_performance_preference")), "performance\n").unwrap();
        (dir, root)
    }

    fn undone(root: &HostRoot) -> Vec<(String, bool)> {
        let results = Tuning::begin(root).unwrap().undo(false).unwrap();
        results.into_iter().map(|result| (result.file, result.obstacle.is_none())).collect()
    }

    #[test]
    fn the_preference_that_the_governor_changed_is_put_back_after_it() {
        let (_dir, root) = tuned();
        let back = [("scaling_governor", true), ("energy_performance_preference", true)];
        assert_eq!(
            undone(&root),
            back.map(|(name, is_back)| (format!("{POLICY}/{name}"), is_back))
        );
        assert_eq!(
            fs::read_to_string(root.path(&format!("{POLICY}/energy_performance_preference")))
                .unwrap(),
            "balance_performance\n"
        );
    }

    #[test]
    fn a_preference_that_somebody_else_chose_stays() {
        let (_dir, root) = tuned();
        let file = format!("{POLICY}/energy_performance_preference");
        fs::write(root.path(&file), "power\n").unwrap();
        assert_eq!(undone(&root)[1], (file.clone(), false));
        assert_eq!(fs::read_to_string(root.path(&file)).unwrap(), "power\n");
    }
}
