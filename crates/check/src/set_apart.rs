// SPDX-License-Identifier: MIT OR Apache-2.0
//! CPUs that somebody set apart for what is to be on time, however that was done. What looks for
//! them asks here: checks, the advice, `tune`, and the default CPUs of `measure`.
//!
//! There are several ways, and machines have more than one. The first of these counts that leaves
//! CPUs for everything else:
//!
//! 1. isolation from the scheduler's balancing, by isolcpus= or by an isolated partition of control
//!    groups;
//! 2. nohz_full=, as the kernel has it in effect;
//! 3. a root partition of control groups;
//! 4. the affinity of systemd, which everything inherits that it starts: CPUAffinity= of its
//!    configuration, or AllowedCPUs= of its own group;
//! 5. rcu_nocbs=.

use super::arguments::Arguments;
use super::cgroups::partitions;
use super::container::container_kind;
use super::files::Files;
use super::sets::{sorted, without};
use host::cpu;
use model::{Phrase, phrase};
use plan::CpuId;

/// CPUs without a tick while one thread runs there.
pub(crate) const TICKLESS: &str = "sys/devices/system/cpu/nohz_full";

/// CPUs that are set apart, of those that are online.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SetApart {
    pub(crate) cpus: Vec<CpuId>,
    /// What sets them apart.
    pub(crate) by: Phrase,
}

impl SetApart {
    /// Of a machine with these CPUs, some of them isolated from balancing. None where all are
    /// alike.
    pub(crate) fn of(
        files: &Files<'_>,
        arguments: &Arguments,
        online: &[CpuId],
        isolated: &[CpuId],
    ) -> Option<SetApart> {
        let here = |cpus: &[CpuId]| -> Vec<CpuId> {
            online.iter().copied().filter(|cpu| cpus.contains(cpu)).collect()
        };
        let isolated = here(isolated);
        if !isolated.is_empty() {
            return Some(SetApart { cpus: isolated, by: phrase!("isolation") });
        }
        let some = |cpus: Vec<CpuId>, by: Phrase| {
            let cpus = here(&cpus);
            let leaves_others = cpus.len() < online.len();
            (!cpus.is_empty() && leaves_others).then_some(SetApart { cpus, by })
        };
        let offloaded = || {
            let highest = online.last().copied().unwrap_or(CpuId(0));
            arguments.cpus("rcu_nocbs", highest).and_then(Result::ok).unwrap_or_default()
        };
        some(files.cpus(TICKLESS).unwrap_or_default(), "nohz_full=".into())
            .or_else(|| some(of_partitions(files), "cpuset.cpus.partition".into()))
            .or_else(|| some(beside_systemd(files, online), phrase!("affinity-of-systemd")))
            .or_else(|| some(offloaded(), "rcu_nocbs=".into()))
    }
}

fn of_partitions(files: &Files<'_>) -> Vec<CpuId> {
    sorted(partitions(files).into_iter().flat_map(|(.., cpus)| cpus))
}

/// CPUs that systemd is kept off. In a container it has the CPUs of that.
fn beside_systemd(files: &Files<'_>, online: &[CpuId]) -> Vec<CpuId> {
    let allowed = || {
        let status = files.text("proc/1/status")?;
        cpu::list(status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?)
    };
    let is_systemd = files.text("proc/1/comm").is_some_and(|name| name == "systemd");
    match allowed().filter(|_| is_systemd && container_kind(files).is_none()) {
        Some(allowed) => without(online, &allowed),
        None => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use crate::tests::files::{lay, put};
    use crate::tests::trees::{laid_out, trees};
    use crate::{Advice, set_apart_cpus};
    use host::HostRoot;
    use plan::{CpuId, CpuList};

    const SYSTEMD: [(&str, &str); 3] = [
        ("proc/1/comm", "systemd\n"),
        ("proc/1/status", "Name:\tsystemd\nCpus_allowed_list:\t0-1\n"),
        ("sys/devices/system/cpu/online", "0-3\n"),
    ];

    fn apart(files: &[(&str, &str)]) -> String {
        let (_dir, root) = lay(&[&[("sys/devices/system/cpu/online", "0-3\n")], files].concat());
        CpuList::format(&set_apart_cpus(&root))
    }

    #[test]
    fn each_way_sets_cpus_apart() {
        let isolated = ("sys/devices/system/cpu/isolated", "3\n");
        let tickless = ("sys/devices/system/cpu/nohz_full", "1-3\n");
        let offloaded = ("proc/cmdline", "rcu_nocbs=2\n");
        let partition = [
            ("sys/fs/cgroup/cgroup.subtree_control", "cpuset\n"),
            ("sys/fs/cgroup/rt/cpuset.cpus.partition", "root\n"),
            ("sys/fs/cgroup/rt/cpuset.cpus.effective", "2-3\n"),
        ];
        assert_eq!(apart(&[]), "");
        assert_eq!(apart(&[isolated]), "3");
        assert_eq!(apart(&[tickless]), "1-3");
        assert_eq!(apart(&[offloaded]), "2");
        assert_eq!(apart(&partition), "2-3");
        assert_eq!(apart(&SYSTEMD), "2-3");
        assert_eq!(apart(&[tickless, isolated, offloaded]), "3");
        assert_eq!(apart(&[tickless, offloaded]), "1-3");
    }

    /// Recipes offload all CPUs, and a kernel without a list has no tick on none.
    #[test]
    fn what_all_cpus_have_sets_none_apart() {
        assert_eq!(apart(&[("proc/cmdline", "rcu_nocbs=all\n")]), "");
        assert_eq!(apart(&[("sys/devices/system/cpu/nohz_full", "(null)\n")]), "");
        assert_eq!(apart(&[("sys/devices/system/cpu/nohz_full", "9\n")]), "");
    }

    /// The advice was once for other CPUs than those that its user had chosen.
    #[test]
    fn the_advice_keeps_cpus_that_are_set_apart() {
        let tree = std::fs::read_to_string(trees().join("tuned-cpu-partitioning.tree")).unwrap();
        let (dir, _) = laid_out(&tree);
        let advice = Advice::for_machine(&HostRoot::at(dir.path()), None).unwrap();
        assert_eq!(CpuList::format(&advice.housekeeping), "0-3,14-15");
        assert_eq!(CpuList::format(&advice.isolated), "4-13,16-27");
        assert_eq!((advice.measured, advice.idle), (CpuId(27), Vec::new()));
        assert_eq!(advice.reasons[0], "CPUs 4-13,16-27 set apart already, by nohz_full=");
    }

    #[test]
    fn cpus_of_a_container_are_not_set_apart() {
        let (dir, root) = lay(&SYSTEMD);
        assert_eq!(CpuList::format(&set_apart_cpus(&root)), "2-3");
        put(&dir, "run/systemd/container", "lxc\n");
        assert_eq!(set_apart_cpus(&root), []);
        assert_eq!(apart(&[("proc/1/comm", "init\n"), SYSTEMD[1]]), "");
    }
}
