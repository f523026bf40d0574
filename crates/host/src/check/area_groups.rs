// SPDX-License-Identifier: MIT OR Apache-2.0
//! Control groups whose threads may run on the CPUs that are to be on time.

use super::cpuset::allowed;
use super::machine::{Machine, Purpose, cpu_words};
use super::{ALL, Check, Seen, listed};
use plan::{CpuId, CpuList};

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "control-groups",
        why: "Threads of services run on any CPU that their control group has, unless the CPU is isolated.",
        reference: "kernel: Documentation/admin-guide/cgroup-v2.rst, cpuset.cpus",
        tunable: true,
        matters: &[Purpose::Telco],
        look: groups,
    },
    Check {
        id: "allowed-cpus",
        why: "A program cannot run on CPUs that its control group does not have, whatever affinity it asks for.",
        reference: "kernel: Documentation/admin-guide/cgroup-v2.rst, cpuset.cpus.effective; cpuset(7)",
        tunable: false,
        matters: ALL,
        look: allowed,
    },
];

/// Where version 2 is mounted.
pub(crate) const GROUPS: &str = "sys/fs/cgroup";

/// Groups directly below the root whose threads may run on measured CPUs: those this process is not in, and which keep no CPUs for
/// themselves.
pub(crate) fn groups_on_measured(machine: &Machine<'_>) -> Vec<String> {
    let measured = machine.measured();
    let controllers = machine.text(&format!("{GROUPS}/cgroup.controllers")).unwrap_or_default();
    let is_isolated = measured.iter().all(|cpu| machine.isolated.contains(cpu));
    if !machine.has_chosen_cpus() || is_isolated || !controllers.split_whitespace().any(|name| name == "cpuset") {
        return Vec::new();
    }
    let membership = machine.text("proc/self/cgroup").unwrap_or_default();
    let own = membership.lines().find_map(|line| line.strip_prefix("0::/")?.split('/').next()).unwrap_or_default();
    let may_run = |group: &String| {
        let file = |name: &str| format!("{GROUPS}/{group}/{name}");
        let partition = machine.text(&file("cpuset.cpus.partition"));
        // Without the controller it has the CPUs of the root.
        let cpus = machine.cpus(&file("cpuset.cpus.effective")).unwrap_or_else(|| machine.online.clone());
        group != own
            && machine.exists(&file("cgroup.procs"))
            && partition.is_none_or(|partition| partition == "member")
            && cpus.iter().any(|cpu| measured.contains(cpu))
    };
    machine.names(GROUPS).into_iter().filter(may_run).collect()
}

fn groups(machine: &Machine<'_>) -> Option<Seen> {
    let groups = groups_on_measured(machine);
    if groups.is_empty() {
        return None;
    }
    let others: &[CpuId] = &machine.others();
    Seen::warn(
        format!("{} may run on {}", listed(&groups), cpu_words(&machine.measured())),
        format!("sudo systemctl set-property --runtime {} AllowedCPUs={}, and so for each", groups[0], CpuList::format(others)),
    )
}
