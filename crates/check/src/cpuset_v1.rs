// SPDX-License-Identifier: MIT OR Apache-2.0
//! Control groups of version 1 that share out CPUs: those with measured ones, and the threads of
//! the root, which always has all CPUs.
//!
//! There a group has no CPU that the group above it lacks. So a group is never smaller than what
//! the groups below it keep.

use super::cgroups::{branch, own_path};
use super::machine::Machine;
use super::root_threads::root_threads;
use super::sets::{sorted, without};
use plan::{CpuId, CpuList, quoted};

/// The group that tuning makes for threads of the root.
const OWN_GROUP: &str = "teiji";

/// What keeps threads off the measured CPUs in such a hierarchy.
#[derive(Debug, Default)]
pub struct CpusetLimits {
    /// Where it is mounted, without the slash that this begins with.
    pub mount: String,
    /// Files of groups, each with its CPUs that are not measured. Groups come after those below
    /// them.
    pub groups: Vec<(String, Vec<CpuId>)>,
    /// Groups that have measured CPUs only.
    pub only_measured: Vec<String>,
    /// Threads of programs that sit in the root, and for which there is another group.
    pub threads: usize,
    /// CPUs for these threads: those that are not measured, and that no other group has for
    /// itself.
    pub of_threads: Vec<CpuId>,
}

impl CpusetLimits {
    /// Names of the groups, as below the root.
    pub(crate) fn names(&self) -> Vec<String> {
        let below = |file: &String| {
            Some(
                file.strip_prefix(&self.mount)?
                    .strip_suffix("/cpuset.cpus")?
                    .trim_matches('/')
                    .to_owned(),
            )
        };
        self.groups.iter().filter_map(|(file, _)| below(file)).collect()
    }

    /// The group that the root's threads are moved into.
    pub fn own_group(&self) -> String {
        format!("{}/{OWN_GROUP}", self.mount)
    }

    /// What limits the first group, as a command.
    pub(crate) fn command(&self) -> Option<String> {
        let (file, cpus) = self.groups.first()?;
        Some(format!("echo {} | sudo tee {}", CpuList::format(cpus), quoted(&format!("/{file}"))))
    }
}

/// Where a line of mountinfo has the whole hierarchy, and lets it be written.
fn mount_point(line: &str) -> Option<&str> {
    let (mount, kind) = line.split_once(" - ")?;
    let kind: Vec<&str> = kind.split(' ').collect();
    let fields: Vec<&str> = mount.split(' ').collect();
    let has = |options: Option<&&str>, name: &str| {
        options.is_some_and(|options| options.split(',').any(|one| one == name))
    };
    let is_cpuset = kind.first() == Some(&"cgroup")
        && has(kind.last(), "cpuset")
        && !has(kind.last(), "noprefix");
    let is_whole = fields.get(3) == Some(&"/") && has(fields.get(5), "rw");
    let point = fields.get(4)?.trim_start_matches('/');
    // Only what lies below /sys is ever written.
    (is_cpuset && is_whole && point.starts_with("sys/") && !point.contains('\\')).then_some(point)
}

fn mount(machine: &Machine<'_>) -> Option<String> {
    let mounts = machine.text("proc/self/mountinfo")?;
    mounts.lines().find_map(mount_point).map(str::to_owned)
}

/// The group directly below the root that this process is in, or below which it is. Empty for the
/// root.
fn own_branch(machine: &Machine<'_>) -> String {
    branch(&own_path(machine, Some("cpuset")).unwrap_or_default()).to_owned()
}

/// Looks at groups, and at those below them.
struct Walk<'a, 'b> {
    machine: &'a Machine<'b>,
    measured: Vec<CpuId>,
    limits: CpusetLimits,
}

impl Walk<'_, '_> {
    fn cpus(&self, group: &str) -> Vec<CpuId> {
        self.machine.cpus(&format!("{group}/cpuset.cpus")).unwrap_or_default()
    }

    fn below(&self, group: &str) -> Vec<String> {
        let names = self.machine.names(group).into_iter().map(|name| format!("{group}/{name}"));
        names.filter(|below| self.machine.exists(&format!("{below}/cpuset.cpus"))).collect()
    }

    /// Whether it has its CPUs for itself: somebody shared them out.
    fn is_set_apart(&self, group: &str) -> bool {
        let number = |name: &str| self.machine.number(&format!("{group}/{name}"));
        number("cpuset.cpu_exclusive") == Some(1) || number("cpuset.sched_load_balance") == Some(0)
    }

    /// The CPUs that a group has when it and those below it are limited.
    fn limit(&mut self, group: &str) -> Vec<CpuId> {
        let own = self.cpus(group);
        if own.is_empty() || self.is_set_apart(group) {
            return own;
        }
        if own.iter().all(|cpu| self.measured.contains(cpu)) {
            self.limits.only_measured.push(
                group
                    .strip_prefix(&self.limits.mount)
                    .unwrap_or(group)
                    .trim_matches('/')
                    .to_owned(),
            );
            return own;
        }
        let mut left = without(&own, &self.measured);
        for below in self.below(group) {
            left.extend(self.limit(&below));
        }
        let left = sorted(left);
        if left != own {
            self.limits.groups.push((format!("{group}/cpuset.cpus"), left.clone()));
        }
        left
    }

    /// Threads of the root need a group of their own, unless there is one of that name.
    fn threads(&mut self, groups: &[String]) {
        let exclusive = |group: &&String| {
            self.machine.number(&format!("{group}/cpuset.cpu_exclusive")) == Some(1)
        };
        let taken: Vec<CpuId> =
            groups.iter().filter(exclusive).flat_map(|group| self.cpus(group)).collect();
        self.limits.of_threads = without(&self.machine.others(), &taken);
        if !self.limits.of_threads.is_empty() && !groups.contains(&self.limits.own_group()) {
            let threads = root_threads(self.machine.root(), &self.limits.mount);
            self.limits.threads = threads.iter().filter(|thread| !thread.is_kernel).count();
        }
    }
}

/// What could be limited. None where no such hierarchy is mounted, or nothing is to be moved.
pub fn cpuset_limits(machine: &Machine<'_>) -> Option<CpusetLimits> {
    let measured = machine.measured();
    let is_isolated = measured.iter().all(|cpu| machine.isolated.contains(cpu));
    if !machine.has_chosen_cpus() || is_isolated || machine.others().is_empty() {
        return None;
    }
    let mount = mount(machine)?;
    let own = format!("{mount}/{}", own_branch(machine));
    let mut walk = Walk {
        machine,
        measured,
        limits: CpusetLimits { mount: mount.clone(), ..CpusetLimits::default() },
    };
    let groups = walk.below(&mount);
    for group in &groups {
        if *group != own {
            walk.limit(group);
        }
    }
    walk.threads(&groups);
    Some(walk.limits)
}

#[cfg(test)]
#[path = "cpuset_v1_tests.rs"]
pub mod tests;
