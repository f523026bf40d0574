// SPDX-License-Identifier: MIT OR Apache-2.0
//! Programs that set frequencies and settings of the kernel by a profile. What is written beside
//! them holds until they set it again.

use super::area_battery::runs_on_battery_alone;
use super::finding::Seen;
use super::machine::Machine;
use super::pam_limits::shown;
use super::tuned::{Tuned, TunedSetting};
use model::{Phrase, phrase};
use plan::quoted;

/// The setting of TLP that chose the governor, and its value.
fn governor_of_tlp(machine: &Machine<'_>) -> Option<(&'static str, String)> {
    // It makes this folder when it starts, and is no process afterwards.
    if !machine.exists("run/tlp") {
        return None;
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
    // Otherwise its default is for machines whose supply is not known.
    let is_persistent = value("TLP_PERSISTENT_DEFAULT").is_some_and(|value| value == "1");
    let mode = value("TLP_DEFAULT_MODE").filter(|_| is_persistent);
    let name = match mode.as_deref() {
        Some(mode) if mode.eq_ignore_ascii_case("BAT") => "CPU_SCALING_GOVERNOR_ON_BAT",
        None if runs_on_battery_alone(machine) => "CPU_SCALING_GOVERNOR_ON_BAT",
        _ => "CPU_SCALING_GOVERNOR_ON_AC",
    };
    Some((name, value(name)?))
}

fn is_slow(governor: &str) -> bool {
    // Of several the first that the kernel has is taken.
    !governor.is_empty() && governor.split('|').next().map(str::trim) != Some("performance")
}

/// Drivers beside which power-profiles-daemon sets governors, while they are active.
const DRIVERS_OF_PROFILES: [&str; 2] = ["intel_pstate", "amd_pstate"];

/// What tuned does to the governor, and what to do about it.
fn by_tuned(tuned: Tuned, write: &str) -> Option<(Phrase, Phrase)> {
    let setting = tuned.setting("cpu", "governor");
    let profile = tuned.profile;
    match setting {
        TunedSetting::Is { value, file } if is_slow(&value) => {
            let names: Vec<String> = profile.split_whitespace().map(quoted).collect();
            let command = format!("sudo tuned-adm profile {}", names.join(" "));
            let setting = format!("governor={}", shown(&value));
            Some((
                phrase!("governor-by-tuned", profile, setting, file = file.clone()),
                phrase!("set-in-tuned", setting = "governor=performance", file, command),
            ))
        }
        TunedSetting::Unexpanded { value, file } => {
            let setting = format!("governor={}", shown(&value));
            Some((phrase!("governor-by-unknown-tuned", profile, setting, file), write.into()))
        }
        TunedSetting::Unseen(name) if profile.split_whitespace().any(|asked| asked == name) => {
            Some((phrase!("governor-by-unseen-tuned", profile), write.into()))
        }
        TunedSetting::Unseen(included) => {
            let included = shown(&included);
            let phrase = phrase!("governor-by-unseen-include", profile, included);
            Some((phrase, write.into()))
        }
        TunedSetting::Is { .. } | TunedSetting::None => None,
    }
}

/// What runs that chooses the governor, and what to do there instead of writing it, or before.
pub(crate) fn chooses_governor(machine: &Machine<'_>, write: &str) -> Option<(Phrase, Phrase)> {
    if let Some(by) = Tuned::in_force(machine).and_then(|tuned| by_tuned(tuned, write)) {
        return Some(by);
    }
    let is_active = |driver: &str| {
        let status = machine.text(&format!("sys/devices/system/cpu/{driver}/status"));
        status.as_deref() == Some("active")
    };
    if DRIVERS_OF_PROFILES.iter().any(|driver| is_active(driver))
        && !machine.processes("power-profiles-").is_empty()
    {
        let command = format!("powerprofilesctl set performance; {write}");
        return Some((phrase!("governor-by-power-profiles"), command.into()));
    }
    let (name, governor) = governor_of_tlp(machine).filter(|(_, governor)| is_slow(governor))?;
    Some((
        phrase!("governor-by-tlp", setting = format!("{name}={governor}")),
        phrase!("set-in-tlp", setting = format!("{name}=performance")),
    ))
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
        let TunedSetting::Is { value, file } = Tuned::in_force(machine)?.setting("sysctl", setting)
        else {
            return None;
        };
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
        let fast = ("usr/lib/tuned/fast/tuned.conf", "[cpu]\ngovernor=performance|powersave\n");
        let unseen = ". tuned runs with profile mine, whose tuned.conf was not found: it may set \
                      the governor anew";
        let tuned = ". tuned runs with profile mine, which sets governor=ondemand|powersave in \
                     /usr/lib/tuned/powersave/tuned.conf";
        let there = "set governor=performance in /usr/lib/tuned/powersave/tuned.conf (a profile \
                     of your own is in /etc/tuned), then sudo tuned-adm profile mine";
        let active = |driver| (driver, "active\n");
        let (intel, amd) = (
            "sys/devices/system/cpu/intel_pstate/status",
            "sys/devices/system/cpu/amd_pstate/status",
        );
        let ppd = ". power-profiles-daemon runs, and sets it anew with each profile";
        let both = format!("powerprofilesctl set performance; {WRITE}");
        for (process, files, what, action) in [
            (Some("tuned"), &[profile][..], unseen, WRITE),
            (Some("tuned"), &[profile, own("[main]\ninclude=powersave\n"), slow], tuned, there),
            (Some("tuned"), &[profile, own("[main]\ninclude=fast\n"), fast], "", WRITE),
            (Some("tuned"), &[], "", WRITE),
            (None, &[profile], "", WRITE),
            // Beside another driver it sets none.
            (Some("power-profiles-"), &[], "", WRITE),
            (Some("power-profiles-"), &[(intel, "passive\n")], "", WRITE),
            (Some("power-profiles-"), &[active(intel)], ppd, &both),
            (Some("power-profiles-"), &[active(amd)], ppd, &both),
            (None, &[active(amd)], "", WRITE),
        ] {
            let expected = (Status::Bad, format!("powersave on CPUs 0-3{what}"), action.to_owned());
            assert_eq!(seen(&machine(process, files), "governor"), expected, "{files:?}");
        }
    }

    /// As tuned reads them: what it would not take was said to be in force.
    #[test]
    fn profiles_are_read_as_tuned_reads_them() {
        let found = |own: &str, others: &[(&str, &str)]| {
            let others = others.iter().map(|(name, text)| {
                (format!("usr/lib/tuned/{name}/tuned.conf"), (*text).to_owned())
            });
            let own = ("etc/tuned/mine/tuned.conf".to_owned(), own.to_owned());
            let files: Vec<(String, String)> = others.chain([own]).collect();
            let mut files: Vec<(&str, &str)> =
                files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
            files.push(("etc/tuned/active_profile", "mine\n"));
            let found = seen(&machine(Some("tuned"), &files), "governor").1;
            found.strip_prefix("powersave on CPUs 0-3").unwrap().to_owned()
        };
        let sets = |value: &str, file: &str| {
            format!(". tuned runs with profile mine, which sets governor={value} in /{file}")
        };
        let (mine, slow) = ("etc/tuned/mine/tuned.conf", "[cpu]\ngovernor=ondemand\n");
        let of = |name: &str| format!("usr/lib/tuned/{name}/tuned.conf");
        // Comments, and lines that go on.
        for (text, value) in [
            ("[cpu]\ngovernor = ondemand # as it was\n", "ondemand"),
            ("[cpu]\n;governor=performance\n  # governor=x\ngovernor=ondemand\n", "ondemand"),
            ("[cpu] # of cpus\ngovernor=a#b\n", "a#b"),
            ("[cpu]\ngovernor=ondemand\nx=1\n  governor=performance\n", "ondemand"),
            ("[variables]\na=onde\nb=${a}mand\n[cpu]\ngovernor=${b}\n", "ondemand"),
            ("[variables]\ninclude=/etc/x\na=slow\n[cpu]\ngovernor=${a}\n", "slow"),
        ] {
            assert_eq!(found(text, &[]), sets(value, mine), "{text}");
        }
        // Of units that count under conditions nothing is said, nor of files that tuned refuses.
        let slow_if = |line: &str| format!("[cpu]\ngovernor=ondemand\n{line}\n");
        for line in [
            "enabled=0",
            "enabled=false",
            "type=disk",
            "devices=cpu1",
            "uname_regex=arm",
            "cpuinfo_regex=x",
            "devices_udev_regex=x",
            "no setting",
            "[other]\ntype=cpu",
            "[DEFAULT]\na=1",
        ] {
            assert_eq!(found(&slow_if(line), &[]), "", "{line}");
        }
        for line in ["replace=1", "drop=governor", "drop=x, governor", "enabled=0", "devices=cpu1"]
        {
            let text = format!("[main]\ninclude=b\n[cpu]\n{line}\n");
            assert_eq!(found(&text, &[("b", slow)]), "", "{line}");
        }
        for line in ["enabled=1", "type=cpu", "replace=1", "drop=x"] {
            assert_eq!(found(&slow_if(line), &[]), sets("ondemand", mine), "{line}");
        }
        let on_again = "[main]\ninclude=b\n[cpu]\nx=1\n";
        let off = [("b", "[cpu]\nenabled=0\ngovernor=ondemand\n")];
        assert_eq!(found(on_again, &off), sets("ondemand", &of("b")));
        assert_eq!(found("[cpu]\ngovernor=performance |powersave\n", &[]), "");
        // Variables that expand into one another were all expanded, and filled the memory.
        let more = |n: u32| format!("a{}={}\n", n + 1, format!("${{a{n}}}").repeat(10));
        let grown: String = (0..30).map(more).collect();
        let grown = format!("[variables]\na0=xxxxxxxxxx\n{grown}[cpu]\ngovernor=${{a30}}\n");
        let unknown = ", and that value is not known: it may set the governor anew";
        assert_eq!(found(&grown, &[]), sets("${a30}", mine) + unknown);
        let long = format!("[cpu]\ngovernor={}\n", "x".repeat(4000));
        assert_eq!(found(&long, &[]), sets(&"x".repeat(40), mine));
        // What only tuned knows.
        for (text, value) in [
            ("[cpu]\ngovernor=${a}\n", "${a}"),
            ("[variables]\na=${b}\nb=slow\n[cpu]\ngovernor=${a}\n", "${a}"),
            ("[variables]\na=slow\ninclude=/etc/x\n[cpu]\ngovernor=${a}\n", "${a}"),
            ("[cpu]\ngovernor=${f:exec:cat:/etc/x}\n", "${f:exec:cat:/etc/x}"),
            ("[variables]\na=slow\n[cpu]\ngovernor=\\${a}\n", "\\${a}"),
            ("[main]\ninclude=gone\n[variables]\na=slow\n[cpu]\ngovernor=${a}\n", "${a}"),
        ] {
            assert_eq!(found(text, &[]), sets(value, mine) + unknown, "{text}");
        }
        // The last that is included counts, and what includes it before that.
        for include in ["a,b", "a;b", "a ; b", "a,\n  b", "-gone,a,b", "-a , b # these"] {
            let text = format!("[main]\ninclude={include}\n");
            let others = [("a", "[cpu]\ngovernor=performance\n"), ("b", slow)];
            assert_eq!(found(&text, &others), sets("ondemand", &of("b")), "{text}");
        }
        let fast = "[main]\ninclude=b\n[cpu]\ngovernor=performance\n";
        assert_eq!(found(fast, &[("b", slow)]), "");
        assert_eq!(
            found("[main]\ninclude=mine\n", &[("mine", slow)]),
            sets("ondemand", &of("mine"))
        );
        let variable = [("b", "[variables]\na=fast\n[cpu]\ngovernor=${a}\n")];
        let text = "[main]\ninclude=b\n[variables]\na=slow\n";
        assert_eq!(found(text, &variable), sets("slow", &of("b")));
        // One that was not found.
        for (include, named) in [
            ("gone", "gone"),
            ("b,gone", "gone"),
            ("b gone", "b gone"),
            ("${f:virt_check:b:a}", "${f:virt_check:b:a}"),
        ] {
            let text = format!("[main]\ninclude={include}\n");
            let unseen = format!(
                ". tuned runs with profile mine, which includes {named}, whose tuned.conf was not \
                 found: it may set the governor anew"
            );
            assert_eq!(found(&text, &[("b", slow)]), unseen, "{text}");
        }
        let known = "[main]\ninclude=gone\n[cpu]\ngovernor=ondemand\n";
        assert_eq!(found(known, &[]), sets("ondemand", mine));
    }

    /// What is for the other supply was to be changed, and did nothing.
    #[test]
    fn the_setting_of_tlp_is_that_for_the_supply() {
        let battery = |status: &'static str| {
            [
                ("sys/class/power_supply/BAT0/type", "Battery\n"),
                ("sys/class/power_supply/BAT0/status", status),
            ]
        };
        let both = "CPU_SCALING_GOVERNOR_ON_AC=powersave\nCPU_SCALING_GOVERNOR_ON_BAT=schedutil\n";
        let kept = format!("TLP_DEFAULT_MODE=BAT\nTLP_PERSISTENT_DEFAULT=1\n{both}");
        let small = kept.replace("BAT\n", "bat\n");
        let not_kept = format!("TLP_DEFAULT_MODE=BAT\n{both}");
        let (ac, bat) = (Some(("AC", "powersave")), Some(("BAT", "schedutil")));
        for (supply, conf, set) in [
            ("Charging", both, ac),
            ("Discharging", both, bat),
            ("Charging", &kept, bat),
            ("Charging", &small, bat),
            ("Charging", &not_kept, ac),
            ("Charging", "CPU_SCALING_GOVERNOR_ON_BAT=powersave\n", None),
            ("Discharging", "CPU_SCALING_GOVERNOR_ON_AC=powersave\n", None),
            ("Charging", "#CPU_SCALING_GOVERNOR_ON_AC=powersave\n", None),
            ("Charging", "CPU_SCALING_GOVERNOR_ON_AC=\"\"\n", None),
        ] {
            let files = [&battery(supply)[..], &[("etc/tlp.conf", conf)]].concat();
            let (what, action) = match set {
                Some((of, governor)) => (
                    format!(
                        ". TLP sets it when it starts (CPU_SCALING_GOVERNOR_ON_{of}={governor})"
                    ),
                    format!(
                        "set CPU_SCALING_GOVERNOR_ON_{of}=performance in /etc/tlp.conf, then sudo \
                         tlp start"
                    ),
                ),
                None => (String::new(), WRITE.to_owned()),
            };
            let expected = (Status::Bad, format!("powersave on CPUs 0-3{what}"), action);
            let started = machine(None, &[&files[..], &[("run/tlp/lock", "")]].concat());
            assert_eq!(seen(&started, "governor"), expected, "{supply} {conf}");
            let found = seen(&machine(None, &files), "governor").1;
            assert_eq!(found, "powersave on CPUs 0-3", "it did not start");
        }
        let mains = [
            ("sys/class/power_supply/AC/type", "Mains\n"),
            ("sys/class/power_supply/AC/online", "1\n"),
            ("run/tlp/lock", ""),
            ("etc/tlp.conf", both),
        ];
        let calibrated = machine(None, &[&battery("Discharging")[..], &mains].concat());
        assert_eq!(
            seen(&calibrated, "governor").1,
            "powersave on CPUs 0-3. TLP sets it when it starts \
             (CPU_SCALING_GOVERNOR_ON_AC=powersave)"
        );
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
        // Another unit of the type says it too, or nothing of it.
        let too = |key: &str| format!("{sets}[sysctl.arm]\ntype=sysctl\n{key}=1\n");
        assert_eq!(action("1", &too("kernel.numa_balancing")), command);
        assert_eq!(action("1", &too("vm.swappiness")), format!("{command}{there}"));
        // Somebody else has.
        assert_eq!(action("1", "[sysctl]\nkernel.numa_balancing=0\n"), command);
        assert_eq!(action("1", "[vm]\nkernel.numa_balancing=1\n"), command);
    }
}
