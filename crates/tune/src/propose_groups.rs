// SPDX-License-Identifier: MIT OR Apache-2.0
//! Services, off the CPUs that are to be on time: by the CPUs of their control groups.
//!
//! A group that has no CPUs of its own cannot have none again once it has some, as long as a
//! process is in it (ENOSPC). So it gets some only together with the controller, whose removal
//! takes them away.

use super::propose_interrupts::without_measured;
use super::setting::{ADD_CPUSET, Form};
use super::wanted::Wanted;
use check::{CpusetLimits, GROUPS, Machine, cpuset_limits, groups_on_measured};
use plan::{CpuId, CpuList, quoted};

const CONTROLLERS: &str = "sys/fs/cgroup/cgroup.subtree_control";

fn has_controller(machine: &Machine<'_>) -> bool {
    machine
        .text(CONTROLLERS)
        .is_some_and(|controllers| controllers.split_whitespace().any(|name| name == "cpuset"))
}

fn cpus_of(machine: &Machine<'_>, group: &str) -> Vec<CpuId> {
    machine.cpus(&format!("{GROUPS}/{group}/cpuset.cpus")).unwrap_or_default()
}

pub(super) fn control_groups(machine: &Machine<'_>) -> Vec<Wanted> {
    let mut wanted = version_2(machine);
    wanted.extend(cpuset_limits(machine).iter().flat_map(version_1));
    wanted
}

/// Groups from the lowest up, and a group of our own for threads that sit in the root.
fn version_1(limits: &CpusetLimits) -> Vec<Wanted> {
    let group = |(file, cpus): &(String, Vec<CpuId>)| Wanted {
        form: Form::CpuList,
        ..Wanted::plain(file, CpuList::format(cpus))
    };
    let mut wanted: Vec<Wanted> = limits.groups.iter().map(group).collect();
    if limits.threads > 0 {
        let threads =
            if limits.threads == 1 { "a thread" } else { &format!("{} threads", limits.threads) };
        let subject = format!("a new group, for {threads} of the root");
        let to = CpuList::format(&limits.of_threads);
        wanted.push(Wanted {
            form: Form::OwnGroup,
            subject,
            ..Wanted::plain(limits.own_group(), to)
        });
    }
    wanted
}

fn version_2(machine: &Machine<'_>) -> Vec<Wanted> {
    let groups = groups_on_measured(machine);
    if groups.is_empty() {
        return Vec::new();
    }
    let has_controller = has_controller(machine);
    let mut wanted = Vec::new();
    if !has_controller {
        wanted.push(Wanted { form: Form::Controllers, ..Wanted::plain(CONTROLLERS, ADD_CPUSET) });
    }
    for group in groups {
        let own = cpus_of(machine, &group);
        if has_controller && own.is_empty() {
            continue;
        }
        let to = CpuList::format(&without_measured(machine, &own));
        let when_new = (!has_controller).then_some("\n");
        wanted.push(Wanted {
            form: Form::CpuList,
            when_new,
            ..Wanted::plain(format!("{GROUPS}/{group}/cpuset.cpus"), to)
        });
    }
    wanted
}

/// Groups that are left on measured CPUs.
pub(super) fn left_alone(machine: &Machine<'_>) -> Option<String> {
    version_2_left(machine).or_else(|| {
        let kept = cpuset_limits(machine)?.only_measured;
        let have = if kept.len() == 1 { "has" } else { "have" };
        (!kept.is_empty())
            .then(|| format!("{} {have} no other CPUs, and {have} them still", kept.join(", ")))
    })
}

fn version_2_left(machine: &Machine<'_>) -> Option<String> {
    let mut groups = if has_controller(machine) { groups_on_measured(machine) } else { Vec::new() };
    groups.retain(|group| cpus_of(machine, group).is_empty());
    let first = quoted(groups.first()?);
    Some(format!(
        "services in {} may run on these CPUs, and the kernel could not take that back exactly: \
         sudo systemctl set-property --runtime {first} AllowedCPUs={}, and so for each",
        groups.join(", "),
        CpuList::format(&machine.others())
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TuningOptions;
    use crate::tests::files::lay;
    use crate::{Tuning, TuningPlan};
    use std::fs;

    /// Whoever else uses control groups adds controllers meanwhile.
    #[test]
    fn other_controllers_come_and_go_by_others() {
        for (before, after) in
            [("memory\n", "memory pids\n"), ("cpu memory\n", "pids\n"), ("\n", "\n")]
        {
            let (_dir, root) = lay(&[
                ("proc/sys/kernel/random/boot_id", "first\n"),
                ("proc/stat", "btime 1000\n"),
                ("proc/self/cgroup", "0::/user.slice\n"),
                ("sys/devices/system/cpu/online", "0-1\n"),
                ("sys/fs/cgroup/cgroup.controllers", "cpuset cpu memory pids\n"),
                (CONTROLLERS, before),
                ("sys/fs/cgroup/system.slice/cgroup.procs", "7\n"),
                ("sys/fs/cgroup/system.slice/cpuset.cpus", "\n"),
            ]);
            let only = vec!["control-groups".to_owned()];
            let options =
                TuningOptions { cpus: Some(vec![CpuId(1)]), only, ..TuningOptions::default() };
            let plan = TuningPlan::new(&root, &options).unwrap();
            assert_eq!(
                plan.changes.iter().filter(|change| change.file == CONTROLLERS).count(),
                1,
                "{:?}",
                plan.changes
            );
            Tuning::begin(&root).unwrap().apply(&plan, true, &|| false).unwrap();
            let now = fs::read_to_string(root.path(CONTROLLERS)).unwrap();
            assert!(now.split_whitespace().any(|name| name == "cpuset"), "{now}");
            fs::write(root.path(CONTROLLERS), format!("cpuset {after}")).unwrap();
            let undone = Tuning::begin(&root).unwrap().undo(false).unwrap();
            assert!(undone.iter().all(|result| result.obstacle.is_none()), "{undone:?}");
            assert_eq!(fs::read_to_string(root.path(CONTROLLERS)).unwrap(), after);
            assert!(!crate::has_been_tuned(&root));
        }
    }
}
