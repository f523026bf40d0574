// SPDX-License-Identifier: MIT OR Apache-2.0
//! Programs that set frequencies and settings of the kernel by a profile. What is written beside
//! them holds until they set it again.

use super::finding::Seen;
use super::machine::Machine;
use super::words::listed;
use model::{Phrase, phrase};

/// The profile that tuned has in force, where tuned runs.
fn tuned_profile(machine: &Machine<'_>) -> Option<String> {
    let profile = machine.text("etc/tuned/active_profile")?;
    (!profile.is_empty() && !machine.processes("tuned").is_empty()).then_some(profile)
}

/// Where tuned has profiles, the first before the others.
const PROFILES: [&str; 4] =
    ["etc/tuned/profiles", "etc/tuned", "usr/lib/tuned/profiles", "usr/lib/tuned"];
/// A profile includes others, which include others.
const MAX_INCLUDED: usize = 8;

/// The file of a profile of tuned. Its name is part of a path.
fn file_of(machine: &Machine<'_>, profile: &str) -> Option<String> {
    let is_name = profile.starts_with(|letter: char| letter.is_ascii_alphanumeric())
        && profile.chars().all(|letter| letter.is_ascii_alphanumeric() || "-_.".contains(letter));
    let mut files = PROFILES.iter().map(|folder| format!("{folder}/{profile}/tuned.conf"));
    files.find(|file| is_name && machine.exists(file))
}

/// What a profile of tuned says of a key: the value, and the file that has it.
fn of_profile(
    machine: &Machine<'_>,
    profile: &str,
    section: &str,
    key: &str,
    depth: usize,
) -> Option<(String, String)> {
    let file = file_of(machine, profile).filter(|_| depth > 0)?;
    let text = machine.text(&file)?;
    let (mut current, mut own, mut included) = ("", None, "");
    for line in text.lines().map(str::trim) {
        if let Some(name) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            current = name;
        } else if let Some((name, value)) = line.split_once('=') {
            match (current, name.trim()) {
                ("main", "include") => included = value.trim(),
                (of, name) if of == section && name == key => own = Some(value.trim().to_owned()),
                _ => {}
            }
        }
    }
    own.map(|value| (value, format!("/{file}"))).or_else(|| {
        let mut others = included.split([',', ' ']).filter(|name| !name.is_empty()).rev();
        others.find_map(|other| of_profile(machine, other, section, key, depth - 1))
    })
}

/// What the profiles in force say of a key. The last of several counts.
fn of_profiles(
    machine: &Machine<'_>,
    profiles: &str,
    section: &str,
    key: &str,
) -> Option<(String, String)> {
    let mut names = profiles.split_whitespace().rev();
    names.find_map(|profile| of_profile(machine, profile, section, key, MAX_INCLUDED))
}

/// Settings of TLP that choose the governor, with their files.
fn governors_of_tlp(machine: &Machine<'_>) -> Vec<String> {
    const NAMES: [&str; 2] = ["CPU_SCALING_GOVERNOR_ON_AC", "CPU_SCALING_GOVERNOR_ON_BAT"];
    // It makes this folder when it starts, and is no process afterwards.
    if !machine.exists("run/tlp") {
        return Vec::new();
    }
    let files = machine.names("etc/tlp.d").into_iter().filter(|name| name.ends_with(".conf"));
    let files: Vec<String> =
        files.map(|name| format!("etc/tlp.d/{name}")).chain(["etc/tlp.conf".to_owned()]).collect();
    let texts: Vec<String> = files.iter().filter_map(|file| machine.text(file)).collect();
    let value = |name: &str| {
        let of = |line: &str| {
            let value = line.trim().strip_prefix(name)?.strip_prefix('=')?;
            Some(value.trim().trim_matches(['"', '\'']).to_owned())
        };
        texts.iter().flat_map(|text| text.lines()).filter_map(of).next_back()
    };
    let slow = |name: &&str| Some(format!("{name}={}", value(name).filter(|to| is_slow(to))?));
    NAMES.iter().filter_map(slow).collect()
}

fn is_slow(governor: &str) -> bool {
    !governor.is_empty() && governor != "performance"
}

/// What runs that chooses the governor, and what to do there instead of writing it, or before.
pub(crate) fn chooses_governor(machine: &Machine<'_>, write: String) -> Option<(String, String)> {
    if let Some(profile) = tuned_profile(machine) {
        let chosen = of_profiles(machine, &profile, "cpu", "governor");
        let is_known = profile.split_whitespace().all(|name| file_of(machine, name).is_some());
        // Of several the first that the kernel has is taken.
        if chosen.is_some_and(|(governor, _)| !governor.starts_with("performance")) || !is_known {
            return Some((
                format!("tuned runs with profile {profile}, and sets it anew when it starts"),
                "sudo tuned-adm profile latency-performance".to_owned(),
            ));
        }
    }
    if !machine.processes("power-profiles-").is_empty() {
        return Some((
            "power-profiles-daemon runs, and sets it anew with each profile".to_owned(),
            format!("powerprofilesctl set performance; {write}"),
        ));
    }
    let of_tlp = governors_of_tlp(machine);
    (!of_tlp.is_empty()).then(|| {
        let names: Vec<String> = of_tlp
            .iter()
            .filter_map(|setting| Some(format!("{}=performance", setting.split_once('=')?.0)))
            .collect();
        (
            format!("TLP sets it when it starts ({})", listed(of_tlp)),
            format!("set {} in /etc/tlp.conf, then sudo tlp start", listed(names)),
        )
    })
}

/// Checks of one setting of the kernel each, which profiles of tuned have too.
const OF_TUNED: [(&str, &str); 4] = [
    ("statistics-interval", "vm.stat_interval"),
    ("numa-balancing", "kernel.numa_balancing"),
    ("compaction", "vm.compaction_proactiveness"),
    ("timer-migration", "kernel.timer_migration"),
];

/// A finding about such a setting, with where tuned sets it, if it is as tuned has set it.
pub(crate) fn with_tuned(machine: &Machine<'_>, check: &str, seen: Seen) -> Seen {
    let set = || {
        let (_, setting) = OF_TUNED.iter().find(|(of, _)| *of == check)?;
        let (value, file) = of_profiles(machine, &tuned_profile(machine)?, "sysctl", setting)?;
        let now = machine.text(&format!("proc/sys/{}", setting.replace('.', "/")))?;
        (now == value).then(|| phrase!("change-in-tuned", setting = *setting, file))
    };
    let Seen { status, found, action } = seen;
    let action = action.map(|action| match set() {
        Some(set) => Phrase::joined("and", [action, set]),
        None => action,
    });
    Seen { status, found, action }
}

#[cfg(test)]
mod tests {
    use crate::Status;
    use crate::one_finding::finding;
    use crate::tests::files::put;
    use crate::tests::threads::{Made, four_cpus, make};
    use host::HostRoot;
    use tempfile::TempDir;

    const WRITE: &str = "echo performance | sudo tee \
                         /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor";

    fn machine(process: Option<&str>, files: &[(&str, &str)]) -> TempDir {
        let dir = four_cpus("");
        if let Some(name) = process {
            make(dir.path(), &Made { id: 700, name, policy: 0, ..Made::default() });
        }
        for cpu in 0..4 {
            let file = format!("sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_governor");
            put(&dir, &file, "powersave");
        }
        files.iter().for_each(|(path, text)| put(&dir, path, text));
        dir
    }

    fn seen(dir: &TempDir, id: &str) -> (Status, String, String) {
        let finding = finding(&HostRoot::at(dir.path()), id, None).unwrap();
        (finding.status, finding.found, finding.action)
    }

    /// What was written beside them held until their profile was set again.
    #[test]
    fn what_chooses_the_governor_is_named_with_its_own_command() {
        let profile = ("etc/tuned/active_profile", "mine\n");
        let own = |text| ("etc/tuned/mine/tuned.conf", text);
        let slow = ("usr/lib/tuned/powersave/tuned.conf", "[cpu]\ngovernor=ondemand|powersave\n");
        let fast = ("usr/lib/tuned/fast/tuned.conf", "[cpu]\ngovernor=performance\n");
        let tuned = ". tuned runs with profile mine, and sets it anew when it starts";
        let adm = "sudo tuned-adm profile latency-performance";
        let tlp = ("run/tlp/lock", "");
        let of_tlp = ". TLP sets it when it starts (CPU_SCALING_GOVERNOR_ON_AC=powersave)";
        let set =
            "set CPU_SCALING_GOVERNOR_ON_AC=performance in /etc/tlp.conf, then sudo tlp start";
        let on_ac = (
            "etc/tlp.conf",
            "#CPU_SCALING_GOVERNOR_ON_BAT=x\nCPU_SCALING_GOVERNOR_ON_AC=powersave\n",
        );
        let ppd = ". power-profiles-daemon runs, and sets it anew with each profile";
        let both = format!("powerprofilesctl set performance; {WRITE}");
        for (process, files, what, action) in [
            (Some("tuned"), &[profile][..], tuned, adm),
            (Some("tuned"), &[profile, own("[main]\ninclude=powersave\n"), slow], tuned, adm),
            (Some("tuned"), &[profile, own("[main]\ninclude=fast\n"), fast], "", WRITE),
            (Some("tuned"), &[], "", WRITE),
            (None, &[profile], "", WRITE),
            (Some("power-profiles-"), &[], ppd, &both),
            (None, &[tlp, on_ac], of_tlp, set),
            (None, &[tlp, ("etc/tlp.conf", "#CPU_SCALING_GOVERNOR_ON_AC=powersave\n")], "", WRITE),
            (None, &[on_ac], "", WRITE),
        ] {
            let expected = (Status::Bad, format!("powersave on CPUs 0-3{what}"), action.to_owned());
            assert_eq!(seen(&machine(process, files), "governor"), expected, "{files:?}");
        }
    }

    #[test]
    fn a_setting_that_tuned_has_set_is_changed_there_too() {
        let action = |now: &str, profile: &str| {
            let files = [
                ("etc/tuned/active_profile", "a b"),
                ("etc/tuned/a/tuned.conf", "[sysctl]\nkernel.numa_balancing = 0\n"),
                ("usr/lib/tuned/b/tuned.conf", profile),
                ("proc/sys/kernel/numa_balancing", now),
            ];
            let dir = machine(Some("tuned"), &files);
            seen(&dir, "numa-balancing").2
        };
        let command = "sudo sysctl kernel.numa_balancing=0";
        let there = ", and change kernel.numa_balancing in /usr/lib/tuned/b/tuned.conf, from where \
                     tuned sets it (a profile of your own is in /etc/tuned)";
        let sets = "[main]\ninclude=../../x\n[sysctl]\nkernel.numa_balancing = 1\n";
        assert_eq!(action("1", sets), format!("{command}{there}"));
        // Somebody else has.
        assert_eq!(action("1", "[sysctl]\nkernel.numa_balancing=0\n"), command);
        assert_eq!(action("1", "[vm]\nkernel.numa_balancing=1\n"), command);
    }
}
