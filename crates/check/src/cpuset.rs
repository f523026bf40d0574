// SPDX-License-Identifier: MIT OR Apache-2.0
//! The CPUs of control groups: partitions that isolate some, and those that this process may use.

use super::cgroups::{GROUPS, own_group, partitions};
use super::finding::Seen;
use super::machine::Machine;
use super::sets::without;
use super::words::{cpu_words, from_shell_in};
use model::{Phrase, phrase};
use plan::{CpuId, CpuList};

/// The CPUs that this process's control group has, and the group. None where no group says so.
fn own_cpus(machine: &Machine<'_>) -> Option<(String, Vec<CpuId>)> {
    let of = |group: &str, file: &str| {
        machine.cpus(&format!("{group}/{file}")).filter(|cpus| !cpus.is_empty())
    };
    if let Some(group) = own_group(machine, Some("cpuset")) {
        let group = group.trim_end_matches('/').to_owned();
        let cpus = of(&group, "cpuset.effective_cpus").or_else(|| of(&group, "cpuset.cpus"))?;
        return Some((group, cpus));
    }
    let mut group = own_group(machine, None)?.trim_end_matches('/').to_owned();
    loop {
        // One without the controller has the CPUs of the group above.
        if let Some(cpus) = of(&group, "cpuset.cpus.effective") {
            return Some((group, cpus));
        }
        let (parent, _) =
            group.rsplit_once('/').filter(|(parent, _)| parent.starts_with(GROUPS))?;
        group = parent.to_owned();
    }
}

/// The CPUs that this process was given of those that are to be on time, where nobody named these:
/// fewer than there are, and none beside them, as a container is given some.
pub(crate) fn given(machine: &Machine<'_>) -> Option<Vec<CpuId>> {
    let (_, cpus) = own_cpus(machine).filter(|_| machine.options.cpus.is_none())?;
    let is_part = !without(&machine.online, &cpus).is_empty();
    (is_part && without(&cpus, &machine.measured()).is_empty()).then_some(cpus)
}

pub(crate) fn allowed(machine: &Machine<'_>) -> Option<Seen> {
    // Another program is in a group of its own.
    if machine.program().is_some() {
        return None;
    }
    let (group, cpus) = own_cpus(machine)?;
    if without(&machine.online, &cpus).is_empty() {
        return None;
    }
    let wanted = without(&machine.measured(), &cpus);
    let (cpus, all) = (cpu_words(&cpus), CpuList::format(&machine.online));
    if wanted.is_empty() || given(machine).is_some() {
        return Seen::ok(format!("this control group has {cpus} of {all}"));
    }
    Seen::bad(
        phrase!("group-lacks-cpus", cpus, all, missing = cpu_words(&wanted)),
        way_out(machine, &group, &wanted),
    )
}

/// How a program gets onto CPUs that this control group does not have.
fn way_out(machine: &Machine<'_>, group: &str, wanted: &[CpuId]) -> Phrase {
    let has_all = |cpus: &[CpuId]| wanted.iter().all(|cpu| cpus.contains(cpu));
    if let Some((partition, ..)) = partitions(machine).into_iter().find(|(.., cpus)| has_all(cpus))
    {
        return from_shell_in(&format!("{GROUPS}/{partition}/cgroup.procs"));
    }
    match group.strip_prefix(GROUPS).unwrap_or_default() {
        // The root of what can be seen lacks them: a container's.
        "" | "/cpuset" => {
            phrase!("start-container", list = CpuList::format(&machine.measured()))
        }
        version_1 if version_1.starts_with("/cpuset/") => {
            from_shell_in(&format!("{GROUPS}/cpuset/tasks"))
        }
        _ => from_shell_in(&format!("{GROUPS}/cgroup.procs")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::threads::{file, four_cpus};
    use crate::tests::trees::{Shown, shown};
    use crate::{CheckOptions, Status};
    use host::HostRoot;

    fn finding(
        dir: &tempfile::TempDir,
        cpus: Option<&[u32]>,
        id: &str,
    ) -> Option<(Status, String, String)> {
        let cpus = cpus.map(|cpus| cpus.iter().copied().map(CpuId).collect());
        let options = CheckOptions { cpus, ..CheckOptions::default() };
        shown(&HostRoot::at(dir.path()), &options, id).map(Shown::words)
    }

    #[test]
    fn partitions_isolate() {
        let dir = four_cpus("");
        let isolation = || finding(&dir, None, "isolation").unwrap();
        assert_eq!(isolation().0, Status::Warn);
        file(dir.path(), "sys/fs/cgroup/cgroup.subtree_control", "cpuset cpu\n");
        file(dir.path(), "sys/fs/cgroup/rt/cpuset.cpus.partition", "isolated\n");
        file(dir.path(), "sys/fs/cgroup/rt/cpuset.cpus.effective", "2-3\n");
        assert_eq!(isolation().0, Status::Ok);
        file(
            dir.path(),
            "sys/fs/cgroup/rt/cpuset.cpus.partition",
            "isolated invalid (Cpu list in cpuset.cpus not exclusive)\n",
        );
        assert_eq!(isolation().0, Status::Warn);
        // Newer kernels have them in one file.
        file(dir.path(), "sys/fs/cgroup/cpuset.cpus.isolated", "3\n");
        assert_eq!(isolation().0, Status::Ok);
    }

    #[test]
    fn a_control_group_that_lacks_the_cpus() {
        let dir = four_cpus("");
        let seen = |cpus| finding(&dir, cpus, "allowed-cpus");
        assert_eq!(seen(Some(&[3])), None);
        file(dir.path(), "proc/self/cgroup", "0::/user.slice/session.scope\n");
        file(dir.path(), "sys/fs/cgroup/cpuset.cpus.effective", "0-3\n");
        assert_eq!(seen(Some(&[3])), None);
        file(dir.path(), "sys/fs/cgroup/user.slice/cpuset.cpus.effective", "0-1\n");
        assert_eq!(
            seen(Some(&[1])),
            Some((Status::Ok, "this control group has CPUs 0-1 of 0-3".to_owned(), String::new()))
        );
        assert_eq!(seen(None).map(|seen| seen.0), Some(Status::Ok));
        let (status, found, action) = seen(Some(&[1, 3])).unwrap();
        assert_eq!(
            (status, found.as_str()),
            (Status::Bad, "this control group has CPUs 0-1 of 0-3, and not CPU 3")
        );
        assert_eq!(
            action,
            "echo $$ | sudo tee /sys/fs/cgroup/cgroup.procs, and start it from this shell"
        );
        // They are in a partition.
        file(dir.path(), "sys/fs/cgroup/cgroup.subtree_control", "cpuset\n");
        file(dir.path(), "sys/fs/cgroup/rt/cpuset.cpus.partition", "root\n");
        file(dir.path(), "sys/fs/cgroup/rt/cpuset.cpus.effective", "2-3\n");
        let action = seen(Some(&[3])).unwrap().2;
        assert_eq!(
            action,
            "echo $$ | sudo tee /sys/fs/cgroup/rt/cgroup.procs, and start it from this shell"
        );
    }

    #[test]
    fn a_container_that_lacks_the_cpus() {
        for (membership, folder) in
            [("0::/\n", "sys/fs/cgroup"), ("2:cpuset:/\n0::/\n", "sys/fs/cgroup/cpuset")]
        {
            let dir = four_cpus("");
            file(dir.path(), "proc/self/cgroup", membership);
            let name = if folder.ends_with("cpuset") {
                "cpuset.effective_cpus"
            } else {
                "cpuset.cpus.effective"
            };
            file(dir.path(), &format!("{folder}/{name}"), "0-1\n");
            let (status, _, action) = finding(&dir, Some(&[2, 3]), "allowed-cpus").unwrap();
            assert_eq!(
                (status, action.as_str()),
                (Status::Bad, "start the container with --cpuset-cpus=2-3")
            );
        }
    }

    /// A container that was given its CPUs was once told to take all of them.
    #[test]
    fn a_container_keeps_the_cpus_that_it_was_given() {
        let start = "run it with --cap-add SYS_NICE --cap-add IPC_LOCK --ulimit rtprio=95 --ulimit \
                     memlock=-1";
        for (isolated, given, asked, cpus) in [
            ("", "2-3", None, " --cpuset-cpus 2-3"),
            ("", "0-3", None, ""),
            ("1-3", "2-3", None, " --cpuset-cpus 2-3"),
            ("2-3", "0-3", None, " --cpuset-cpus 2-3"),
            ("", "2-3", Some(&[1_u32][..]), " --cpuset-cpus 1"),
        ] {
            let dir = four_cpus(isolated);
            file(dir.path(), "proc/self/cgroup", "0::/\n");
            file(dir.path(), ".dockerenv", "");
            file(dir.path(), "sys/fs/cgroup/cpuset.cpus.effective", given);
            let action = finding(&dir, asked, "container").unwrap().2;
            assert_eq!(action, format!("{start}{cpus}"), "{isolated} {given}");
            let allowed = finding(&dir, asked, "allowed-cpus").map(|finding| finding.0);
            let is_part = given != "0-3";
            let status = if asked.is_some() { Status::Bad } else { Status::Ok };
            assert_eq!(allowed, is_part.then_some(status), "{isolated} {given}");
        }
    }
}
