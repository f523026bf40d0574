// SPDX-License-Identifier: MIT OR Apache-2.0
//! Control groups whose threads may run on the CPUs that are to be on time.

use super::cgroups::{GROUPS, InvalidPartition, PARTITION, branch, invalid_partitions, own_path};
use super::cpuset::allowed;
use super::cpuset_v1::cpuset_limits;
use super::finding::{ALL, Check, Seen, check, tunable};
use super::isolating::cpus_of;
use super::machine::{Machine, Purpose};
use super::sets::without;
use super::words::{bring_online, cpu_words, for_each, listed};
use model::{Phrase, phrase};
use plan::{CpuId, CpuList, quoted};

pub(crate) const CHECKS: &[Check] = &[
    tunable("control-groups", &[Purpose::Telco], groups),
    check("partitions", ALL, partitions),
    check("allowed-cpus", ALL, allowed),
];

/// Groups directly below the root whose threads may run on measured CPUs: those this process is not
/// in, and which keep no CPUs for themselves.
pub fn groups_on_measured(machine: &Machine<'_>) -> Vec<String> {
    let measured = machine.measured();
    let controllers = machine.text(&format!("{GROUPS}/cgroup.controllers")).unwrap_or_default();
    let is_isolated = measured.iter().all(|cpu| machine.isolated.contains(cpu));
    if !machine.has_chosen_cpus()
        || is_isolated
        || !controllers.split_whitespace().any(|name| name == "cpuset")
    {
        return Vec::new();
    }
    let own = own_path(machine, None).unwrap_or_default();
    let may_run = |group: &String| {
        let file = |name: &str| format!("{GROUPS}/{group}/{name}");
        let partition = machine.text(&file(PARTITION));
        // Without the controller it has the CPUs of the root.
        let cpus =
            machine.cpus(&file("cpuset.cpus.effective")).unwrap_or_else(|| machine.online.clone());
        group != branch(&own)
            && machine.exists(&file("cgroup.procs"))
            // One that is to be a partition, and is none yet, is for what is to be on time too.
            && partition.is_none_or(|said| said == "member")
            && cpus.iter().any(|cpu| measured.contains(cpu))
    };
    machine.names(GROUPS).into_iter().filter(may_run).collect()
}

fn groups(machine: &Machine<'_>) -> Option<Seen> {
    let groups = groups_on_measured(machine);
    if groups.is_empty() {
        return groups_of_version_1(machine);
    }
    let others: &[CpuId] = &machine.others();
    Seen::warn(
        format!("{} may run on {}", listed(groups.clone()), cpu_words(&machine.measured())),
        keeping(&groups, &CpuList::format(others)),
    )
}

fn groups_of_version_1(machine: &Machine<'_>) -> Option<Seen> {
    let limits = cpuset_limits(machine)?;
    let mut found = limits.names();
    if limits.threads > 0 {
        found.push(match limits.threads {
            1 => "a thread in the root cpuset".to_owned(),
            threads => format!("{threads} threads in the root cpuset"),
        });
    }
    if found.is_empty() {
        return None;
    }
    let measured = machine.measured();
    let tune =
        || format!("sudo teiji tune --only control-groups --cpus {}", CpuList::format(&measured));
    let action = match (limits.command(), limits.groups.len()) {
        (Some(command), 1) if limits.threads == 0 => command,
        _ => tune(),
    };
    Seen::warn(format!("{} may run on {}", listed(found), cpu_words(&measured)), action)
}

/// Groups that somebody made partitions of, and the kernel did not.
fn partitions(machine: &Machine<'_>) -> Option<Seen> {
    let invalid = invalid_partitions(machine);
    if invalid.is_empty() {
        return None;
    }
    let found = invalid.iter().map(|InvalidPartition { group, kind, reason }| {
        let (group, kind) = (group.as_str(), kind.as_str());
        match reason.as_deref() {
            Some(reason) => phrase!("partition-refused", group, kind, reason),
            None => phrase!("partition-invalid", group, kind),
        }
    });
    let actions = invalid.iter().map(|partition| making_valid(machine, partition));
    Seen::bad(Phrase::joined("sentences", found), Phrase::joined("and", actions))
}

/// What removes the kernel's reason. It looks again at a partition when the CPUs of a group beside
/// it change, and at the latest when it is asked again.
fn making_valid(
    machine: &Machine<'_>,
    InvalidPartition { group, kind, reason }: &InvalidPartition,
) -> Phrase {
    let own = wanted_cpus(machine, group);
    let ask_for = |kind: &str| {
        for_each(&format!("echo {kind} | sudo tee /{GROUPS}/\"$i\"/{PARTITION}"), [quoted(group)])
    };
    let (again, group) = (ask_for(kind), group.as_str());
    // Older kernels say none, and were asked for CPUs that others have, as a rule.
    let reason = reason.as_deref().unwrap_or("not exclusive").to_lowercase();
    let has_reason = |words: &[&str]| words.iter().any(|word| reason.contains(word));
    if has_reason(&["not exclusive"]) {
        return without_sharing(machine, group, &own, again);
    }
    if has_reason(&["housekeeping"]) {
        let of = |name| cpus_of(machine, name).unwrap_or_default();
        let isolcpus = of("isolcpus");
        let others = without(&own, &isolcpus);
        return if kind == "isolated" {
            // Those of isolcpus= and nohz_full= keep no house, in the partition or out of it.
            match without(&others, &of("nohz_full")).as_slice() {
                [] => phrase!("remove-reason-of-kernel", again),
                _ => phrase!("leave-a-cpu", group, again),
            }
        } else if others.len() == own.len() {
            phrase!("remove-reason-of-kernel", again)
        } else if others.is_empty() {
            ask_for("isolated").into()
        } else {
            phrase!("isolate-partition", group, again, command = ask_for("isolated"))
        };
    }
    if has_reason(&["hotplug"]) && !own.is_empty() {
        let offline = without(&own, &machine.online);
        let is_there =
            |cpu: &CpuId| machine.exists(&format!("sys/devices/system/cpu/cpu{cpu}/online"));
        let there: Vec<CpuId> = offline.iter().copied().filter(is_there).collect();
        return if !there.is_empty() {
            Phrase::joined("and", [bring_online(&there), again].map(Phrase::from))
        } else if offline.len() == own.len() {
            phrase!("give-cpus-that-are-there", group, again)
        } else {
            again.into()
        };
    }
    // As root it may be one.
    if has_reason(&["permission", "not permitted"]) {
        again.into()
    } else if own.is_empty() {
        phrase!("give-cpus", group, again)
    } else if has_reason(&["parent is"]) {
        phrase!("make-parent-a-partition", group, again)
    } else if has_reason(&["unable to distribute"]) {
        phrase!("leave-parent-a-cpu", group, again)
    } else {
        phrase!("remove-reason-of-kernel", again)
    }
}

/// The CPUs that a group asks for.
fn wanted_cpus(machine: &Machine<'_>, group: &str) -> Vec<CpuId> {
    let mut files = ["cpuset.cpus", "cpuset.cpus.exclusive"].into_iter();
    let cpus = |file| machine.cpus(&format!("{GROUPS}/{group}/{file}"));
    files.find_map(|file| cpus(file).filter(|cpus| !cpus.is_empty())).unwrap_or_default()
}

/// How groups beside a partition give up its CPUs.
fn without_sharing(machine: &Machine<'_>, group: &str, own: &[CpuId], again: String) -> Phrase {
    let mut beside = machine.names(GROUPS);
    beside.retain(|other| {
        other != group && wanted_cpus(machine, other).iter().any(|cpu| own.contains(cpu))
    });
    // What each has beside these. One that is a partition, or is to be one, has its CPUs for
    // itself.
    let left = |other: &String| without(&wanted_cpus(machine, other), own);
    let is_member = |other: &String| {
        let said = machine.text(&format!("{GROUPS}/{other}/{PARTITION}"));
        said.is_none_or(|said| said == "member")
    };
    let gives = |other: &String| is_member(other) && !left(other).is_empty();
    if beside.is_empty() || !beside.iter().all(gives) {
        return phrase!("correct-partition", group, again);
    }
    let keep = beside
        .iter()
        .map(|other| keeping(std::slice::from_ref(other), &CpuList::format(&left(other))));
    Phrase::joined("and", keep.chain([again]).map(Phrase::from))
}

/// Kinds of units that can be given CPUs by the service manager, which would undo what is written
/// to their groups.
const UNITS: [&str; 6] = [".slice", ".scope", ".service", ".mount", ".socket", ".swap"];

/// Commands that keep groups to CPUs.
fn keeping(groups: &[String], cpus: &str) -> String {
    let is_unit = |group: &&String| UNITS.iter().any(|kind| group.ends_with(kind));
    let (units, others): (Vec<&String>, Vec<&String>) = groups.iter().partition(is_unit);
    let mut commands = Vec::new();
    if !units.is_empty() {
        commands.push(for_each(
            &format!("sudo systemctl set-property --runtime \"$i\" AllowedCPUs={cpus}"),
            units.into_iter().map(|unit| quoted(unit)),
        ));
    }
    if !others.is_empty() {
        commands.push(for_each(
            &format!("echo {cpus} | sudo tee /{GROUPS}/\"$i\"/cpuset.cpus"),
            others.into_iter().map(|group| quoted(group)),
        ));
    }
    commands.join(", and ")
}

#[cfg(test)]
mod tests {
    use crate::Status;
    use crate::one_finding::{OneFinding, finding};
    use crate::tests::threads::{file, four_cpus};
    use host::HostRoot;
    use tempfile::TempDir;

    /// Four CPUs, and control groups.
    struct Groups(TempDir);

    impl Groups {
        /// With the controller, as this file of the root says.
        fn with_cpusets_in(file: &str) -> Groups {
            let groups = Groups(four_cpus(""));
            groups.put(".", file, "cpuset cpu\n");
            groups
        }

        fn put(&self, group: &str, name: &str, text: &str) {
            file(self.0.path(), &format!("sys/fs/cgroup/{group}/{name}"), text);
        }

        fn partition(&self) -> Option<OneFinding> {
            finding(&HostRoot::at(self.0.path()), "partitions", None)
        }

        /// What is to be done for CPUs 2 and 3.
        fn action(&self) -> String {
            let root = HostRoot::at(self.0.path());
            finding(&root, "control-groups", Some(&[2, 3])).unwrap().action
        }
    }

    /// The command was once for the first alone.
    #[test]
    fn each_group_has_a_command() {
        let groups = Groups::with_cpusets_in("cgroup.controllers");
        groups.put("system.slice", "cgroup.procs", "");
        assert_eq!(
            groups.action(),
            "sudo systemctl set-property --runtime system.slice AllowedCPUs=0-1"
        );
        for group in ["user.slice", "lxc", r"a\x2db.mount"] {
            groups.put(group, "cgroup.procs", "");
        }
        let expected = concat!(
            r"for i in 'a\x2db.mount' system.slice user.slice; ",
            r#"do sudo systemctl set-property --runtime "$i" AllowedCPUs=0-1; done, "#,
            "and echo 0-1 | sudo tee /sys/fs/cgroup/lxc/cpuset.cpus",
        );
        assert_eq!(groups.action(), expected);
    }

    /// The kernel says why, in a file that was read and not shown.
    #[test]
    fn invalid_partitions_are_named_with_the_kernels_reason() {
        let groups = Groups::with_cpusets_in("cgroup.subtree_control");
        let seen = || {
            let finding = groups.partition()?;
            Some((finding.status, finding.found, finding.action))
        };
        groups.put("rt.slice", "cpuset.cpus", "2-3");
        groups.put("system.slice", "cpuset.cpus", "");
        for valid in ["member", "root", "isolated", "$(x) invalid"] {
            groups.put("rt.slice", "cpuset.cpus.partition", valid);
            assert_eq!(seen(), None, "{valid}");
        }
        groups.put("rt.slice", "cpuset.cpus.partition", "root invalid\n");
        let found = "rt.slice is not a valid root partition: the kernel says that it is invalid";
        let again = "echo root | sudo tee /sys/fs/cgroup/rt.slice/cpuset.cpus.partition";
        let action = format!("correct cpuset.cpus of rt.slice, then {again}");
        assert_eq!(seen(), Some((Status::Bad, found.to_owned(), action)));
        let reason = "isolated invalid (Cpu list in cpuset.cpus not exclusive)\n";
        groups.put("rt.slice", "cpuset.cpus.partition", reason);
        groups.put("system.slice", "cpuset.cpus", "1-2");
        let found = "rt.slice is not a valid isolated partition. The kernel's reason: Cpu list in \
                     cpuset.cpus not exclusive";
        let again = "echo isolated | sudo tee /sys/fs/cgroup/rt.slice/cpuset.cpus.partition";
        let action = format!(
            "sudo systemctl set-property --runtime system.slice AllowedCPUs=1, and {again}"
        );
        assert_eq!(seen(), Some((Status::Bad, found.to_owned(), action)));
        // Nobody takes a partition's CPUs, and no group is left without any.
        let action = format!("correct cpuset.cpus of rt.slice, then {again}");
        groups.put("system.slice", "cpuset.cpus.partition", "isolated");
        assert_eq!(seen(), Some((Status::Bad, found.to_owned(), action.clone())));
        groups.put("system.slice", "cpuset.cpus.partition", "member");
        groups.put("system.slice", "cpuset.cpus", "3");
        assert_eq!(seen(), Some((Status::Bad, found.to_owned(), action)));
    }

    /// Whatever the kernel said, CPUs were once to be taken from system.slice.
    #[test]
    fn the_way_to_a_valid_partition_depends_on_the_reason() {
        let groups = Groups::with_cpusets_in("cgroup.subtree_control");
        file(groups.0.path(), "sys/devices/system/cpu/online", "0-1");
        for cpu in [2, 3] {
            file(groups.0.path(), &format!("sys/devices/system/cpu/cpu{cpu}/online"), "0");
        }
        groups.put("system.slice", "cpuset.cpus", "0-3");
        let housekeeping = "partition config conflicts with housekeeping setup";
        let hotplug = "No cpu available due to hotplug";
        let ask = |kind: &str| {
            format!("echo {kind} | sudo tee /sys/fs/cgroup/rt.slice/cpuset.cpus.partition")
        };
        let online =
            |cpu: u32| format!("echo 1 | sudo tee /sys/devices/system/cpu/cpu{cpu}/online");
        let each = "for i in 2 3; do echo 1 | sudo tee /sys/devices/system/cpu/cpu$i/online; done";
        let isolate = format!(
            "take the CPUs of isolcpus= out of cpuset.cpus of rt.slice, then {}, or make it an \
             isolated partition, which may have them: {}",
            ask("root"),
            ask("isolated")
        );
        let then = |first: &str, kind: &str| format!("{first}, then {}", ask(kind));
        let reason = "remove the reason that the kernel names";
        let empty = "set cpuset.cpus of rt.slice";
        let parent = "make the group above rt.slice a valid partition";
        let leave = "leave a CPU that is in neither isolcpus= nor nohz_full= out of cpuset.cpus \
                     of rt.slice";
        let spare = "set cpuset.cpus of rt.slice to CPUs that the group above it can spare: it \
                     keeps one, and has none of other partitions";
        let isolated = "isolcpus=2";
        for (kind, reason, arguments, cpus, action) in [
            ("root", housekeeping, isolated, "2-3", isolate),
            ("root", housekeeping, isolated, "2", ask("isolated")),
            ("root", housekeeping, "nohz_full=2-3", "2-3", then(reason, "root")),
            ("isolated", housekeeping, isolated, "2-3", then(leave, "isolated")),
            ("isolated", housekeeping, "isolcpus=2-3", "2-3", then(reason, "isolated")),
            ("isolated", housekeeping, "isolcpus=2 nohz_full=3", "2-3", then(reason, "isolated")),
            ("root", hotplug, "", "2", format!("{}, and {}", online(2), ask("root"))),
            ("isolated", hotplug, "", "2-3", format!("{each}, and {}", ask("isolated"))),
            ("isolated", hotplug, "", "0", ask("isolated")),
            (
                "root",
                hotplug,
                "",
                "8-9",
                then("set cpuset.cpus of rt.slice to CPUs that this machine has", "root"),
            ),
            ("root", hotplug, "", "", then(empty, "root")),
            (
                "root",
                "cpuset.cpus and cpuset.cpus.exclusive are empty",
                "",
                "",
                then(empty, "root"),
            ),
            ("isolated", "Parent is not a partition root", "", "2-3", then(parent, "isolated")),
            ("root", "Parent is an invalid partition root", "", "2-3", then(parent, "root")),
            (
                "root",
                "Parent unable to distribute cpu downstream",
                "",
                "2-3",
                format!("{spare}. Then {}", ask("root")),
            ),
            ("root", "Access permission denied", "", "2-3", ask("root")),
            ("root", "Enable partition not permitted", "", "2-3", ask("root")),
            ("root", "Have remote partition underneath", "", "2-3", then(reason, "root")),
        ] {
            file(groups.0.path(), "proc/cmdline", arguments);
            groups.put("rt.slice", "cpuset.cpus", cpus);
            groups.put(
                "rt.slice",
                "cpuset.cpus.partition",
                &format!("{kind} invalid ({reason})\n"),
            );
            let finding = groups.partition().unwrap();
            let found =
                format!("rt.slice is not a valid {kind} partition. The kernel's reason: {reason}");
            assert_eq!((finding.found, finding.action), (found, action), "{arguments}");
        }
    }

    /// What it was asked to have for itself was once to be taken from it.
    #[test]
    fn a_group_that_is_to_be_a_partition_keeps_its_cpus() {
        let groups = Groups::with_cpusets_in("cgroup.controllers");
        file(groups.0.path(), "proc/self/cgroup", "0::/own.slice\n");
        for name in ["rt.slice", "system.slice"] {
            groups.put(name, "cgroup.procs", "");
            groups.put(name, "cpuset.cpus.effective", "2-3");
        }
        let keep =
            |group: &str| format!("sudo systemctl set-property --runtime {group} AllowedCPUs=0-1");
        groups.put("rt.slice", "cpuset.cpus.partition", "isolated invalid (x)");
        assert_eq!(groups.action(), keep("system.slice"));
        groups.put("rt.slice", "cpuset.cpus.partition", "member");
        groups.put("system.slice", "cpuset.cpus.partition", "isolated");
        assert_eq!(groups.action(), keep("rt.slice"));
    }
}
