// SPDX-License-Identifier: MIT OR Apache-2.0
//! Why the kernel refuses threads of this process a real-time policy. The checks `rights-real-time`
//! and `rt-group-scheduling` say the same of a machine on which nothing was asked for yet.

use super::area_rights::{priority_limit, refused_call};
use super::machine::{CheckOptions, Machine};
use super::rt_share::without_time;
use host::HostRoot;
use model::RefusalCause;
use plan::Scheduling;

/// All that keeps threads of this process from a real-time policy and priority; empty where nothing
/// of it is found. To be asked once the kernel has refused them: a limit alone is no refusal where
/// the thread has that priority already.
pub fn refusal_causes(root: &HostRoot, asked: Scheduling) -> Vec<RefusalCause> {
    let options = CheckOptions::to_measure(None, asked.rank());
    let machine = Machine::new(root, &options);
    let causes = [refused_call(&machine), priority_limit(&machine), without_time(&machine)];
    causes.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::files::lay;

    const LIMITS: &str = "Max realtime priority     20                   20                   \n";
    const ROOT: (&str, &str) = ("proc/self/status", "CapEff:\t000001ffffffffff\n");
    const MACHINE: (&str, &str) = ("proc/self/uid_map", "0 0 4294967295");

    fn causes(files: &[(&str, &str)]) -> Vec<RefusalCause> {
        let (_dir, root) = lay(&[files, &[("proc/self/limits", LIMITS)]].concat());
        refusal_causes(&root, Scheduling::DEFAULT)
    }

    fn limit(in_user_namespace: bool, container: Option<&str>) -> RefusalCause {
        let container = container.map(str::to_owned);
        RefusalCause::Limit { allowed: 20, hard: Some(20), in_user_namespace, container }
    }

    /// Root in a group without time was told to give the program capabilities, which it had.
    #[test]
    fn a_group_without_time_is_the_cause_where_no_limit_holds() {
        let own = ("proc/self/cgroup", "4:cpu,cpuacct:/a/b\n0::/c\n");
        let share = |text| ("sys/fs/cgroup/cpu/a/b/cpu.rt_runtime_us", text);
        let group =
            RefusalCause::ControlGroup { group: "/sys/fs/cgroup/cpu/a/b".into(), version: 1 };
        assert_eq!(causes(&[ROOT, MACHINE, own, share("0")]), std::slice::from_ref(&group));
        assert_eq!(causes(&[own, share("0")]), [limit(false, None), group]);
        assert_eq!(causes(&[ROOT, MACHINE, own, share("950000")]), []);
        // Where nobody is held to a share, none lacks one.
        let unlimited = ("proc/sys/kernel/sched_rt_runtime_us", "-1");
        assert_eq!(causes(&[ROOT, MACHINE, own, share("0"), unlimited]), []);
    }

    /// Version 2 has no file that says so: the kernel's configuration does.
    #[test]
    fn a_group_of_version_2_has_no_time_where_the_kernel_shares_it_out() {
        let own = ("proc/self/cgroup", "0::/user.slice\n");
        let files = |config| {
            [
                ROOT,
                MACHINE,
                own,
                ("sys/fs/cgroup/user.slice/cpu.weight", "100"),
                ("proc/sys/kernel/osrelease", "6.1.0"),
                ("boot/config-6.1.0", config),
            ]
        };
        let group =
            RefusalCause::ControlGroup { group: "/sys/fs/cgroup/user.slice".into(), version: 2 };
        assert_eq!(causes(&files("CONFIG_RT_GROUP_SCHED=y\n")), [group]);
        assert_eq!(causes(&files("# CONFIG_RT_GROUP_SCHED is not set\n")), []);
    }

    #[test]
    fn the_limit_counts_where_the_capability_does_not() {
        assert_eq!(causes(&[ROOT, MACHINE]), []);
        assert_eq!(causes(&[]), [limit(false, None)]);
        let mapped = ("proc/self/uid_map", "0 1000 1");
        assert_eq!(causes(&[ROOT, mapped]), [limit(true, None)]);
        let container = ("run/.containerenv", "rootless=1\n");
        assert_eq!(causes(&[ROOT, mapped, container]), [limit(true, Some("podman"))]);
    }
}
