// SPDX-License-Identifier: MIT OR Apache-2.0
//! Groups of version 1, on small machines.

use super::*;
use crate::tests::cpusets::*;
use crate::tests::threads::file;
use crate::tests::trees::{Shown, shown};
use crate::{CheckOptions, Status};
use host::HostRoot;
use tempfile::TempDir;

fn seen(dir: &TempDir, cpus: &[u32]) -> Option<(Status, String, String)> {
    let host = HostRoot::at(dir.path());
    shown(&host, &options(cpus), "control-groups").map(Shown::words)
}

fn options(cpus: &[u32]) -> CheckOptions {
    let cpus = Some(cpus.iter().copied().map(CpuId).collect());
    CheckOptions { cpus, ..CheckOptions::default() }
}

fn limits(dir: &TempDir, cpus: &[u32]) -> Option<CpusetLimits> {
    let (root, options) = (HostRoot::at(dir.path()), options(cpus));
    cpuset_limits(&Machine::new(&root, &options))
}

/// Files of groups and their CPUs.
fn groups(dir: &TempDir, cpus: &[u32]) -> Vec<(String, String)> {
    let groups = limits(dir, cpus).unwrap().groups;
    groups
        .into_iter()
        .map(|(file, cpus)| (file.replace(&format!("{MOUNT}/"), ""), CpuList::format(&cpus)))
        .collect()
}

fn owned(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(file, cpus)| ((*file).to_owned(), (*cpus).to_owned())).collect()
}

#[test]
fn threads_that_sit_in_the_root_are_found() {
    let dir = machine();
    let (status, found, action) = seen(&dir, &[2, 3]).unwrap();
    assert_eq!(
        (status, found.as_str()),
        (Status::Warn, "3 threads in the root cpuset may run on CPUs 2-3")
    );
    assert_eq!(action, "sudo teiji tune --only control-groups --cpus 2-3");
    // All CPUs are measured, or those are that no thread comes to.
    assert_eq!(seen(&dir, &[0, 1, 2, 3]), None);
    file(dir.path(), "sys/devices/system/cpu/isolated", "2-3\n");
    assert_eq!(seen(&dir, &[2, 3]), None);
}

/// Neither bound ones, nor what started this process, nor what it started.
#[test]
fn threads_that_could_not_be_brought_back_stay() {
    let dir = machine();
    let moved = |dir: &TempDir| {
        root_threads(&HostRoot::at(dir.path()), MOUNT)
            .iter()
            .map(|thread| thread.id)
            .collect::<Vec<_>>()
    };
    assert_eq!(moved(&dir), [1, 2, 40, 41]);
    // The first process of a container is the shell, or what started it.
    thread(dir.path(), "1", 1, 0, "0-3", PROGRAM);
    thread(dir.path(), "self", 70, 61, "0-3", PROGRAM);
    let session = |id: &str, parent: u32, process: u32| {
        let text = format!(
            "Tgid:\t{process}\nPPid:\t{parent}\nNSsid:\t1\n{PROGRAM}Cpus_allowed_list:\t0-3\n"
        );
        file(dir.path(), &format!("proc/{id}/status"), &text);
    };
    session("1", 0, 1);
    session("self", 61, 70);
    assert_eq!(moved(&dir), [2, 40, 41]);
}

#[test]
fn a_group_is_limited_after_those_below_it() {
    let dir = machine();
    for (name, cpus) in [
        ("docker", "0-3\n"),
        ("docker/a", "1-3\n"),
        ("docker/a/b", "2-3\n"),
        ("system", "0-1\n"),
        ("new", "\n"),
    ] {
        group(dir.path(), name, cpus);
    }
    let expected = [
        ("docker/a/b/cpuset.cpus", "2"),
        ("docker/a/cpuset.cpus", "1-2"),
        ("docker/cpuset.cpus", "0-2"),
    ];
    assert_eq!(groups(&dir, &[3]), owned(&expected));
    let found = seen(&dir, &[3]).unwrap().1;
    assert_eq!(
        found,
        "docker/a/b, docker/a, docker and 3 threads in the root cpuset may run on CPU 3"
    );
    file(dir.path(), &format!("{MOUNT}/tasks"), "");
    let (_, found, action) = seen(&dir, &[1, 2, 3]).unwrap();
    assert_eq!(found, "system may run on CPUs 1-3", "one below docker has no other CPUs");
    assert_eq!(action, "echo 0 | sudo tee /sys/fs/cgroup/cpuset/system/cpuset.cpus");
    let (_, found, action) = seen(&dir, &[0]).unwrap();
    assert_eq!(
        (found.as_str(), action.as_str()),
        ("docker and system may run on CPU 0", "sudo teiji tune --only control-groups --cpus 0")
    );
    std::fs::remove_dir_all(dir.path().join(MOUNT).join("docker")).unwrap();
    assert_eq!(
        seen(&dir, &[1]).unwrap().2,
        "echo 0 | sudo tee /sys/fs/cgroup/cpuset/system/cpuset.cpus"
    );
}

/// Version 1 refuses a group that lacks a CPU of one below it.
#[test]
fn groups_that_have_their_cpus_for_a_reason_keep_them() {
    let dir = machine();
    for (name, cpus) in [
        ("docker", "0-3\n"),
        ("docker/a", "0-3\n"),
        ("docker/rt", "2\n"),
        ("mine/shell", "0-3\n"),
        ("mine", "0-3\n"),
    ] {
        group(dir.path(), name, cpus);
    }
    file(dir.path(), "proc/self/cgroup", "4:memory:/\n3:cpuset,cpu:/mine/shell\n0::/\n");
    assert_eq!(
        groups(&dir, &[2, 3]),
        owned(&[("docker/a/cpuset.cpus", "0-1"), ("docker/cpuset.cpus", "0-2")])
    );
    assert_eq!(limits(&dir, &[2, 3]).unwrap().only_measured, ["docker/rt"]);
    file(dir.path(), &format!("{MOUNT}/docker/cpuset.cpu_exclusive"), "1\n");
    let alone = limits(&dir, &[2, 3]).unwrap();
    assert_eq!((alone.groups.len(), alone.threads), (0, 0), "{alone:?}");
    // Another group may have only what no exclusive one has.
    file(dir.path(), &format!("{MOUNT}/docker/cpuset.cpus"), "1-3\n");
    assert_eq!(limits(&dir, &[2, 3]).unwrap().of_threads, [CpuId(0)]);
}

#[test]
fn only_a_whole_hierarchy_below_sys_that_can_be_written_counts() {
    assert_eq!(mount_point(MOUNTED.trim()), Some(MOUNT));
    let several =
        "33 26 0:29 / /sys/fs/cgroup/cpu,cpuset rw,nosuid shared:12 - cgroup cgroup rw,cpu,cpuset";
    assert_eq!(mount_point(several), Some("sys/fs/cgroup/cpu,cpuset"));
    for other in [
        "34 31 0:31 /docker/1 /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset",
        "34 31 0:31 / /sys/fs/cgroup/cpuset ro - cgroup cgroup rw,cpuset",
        "34 31 0:31 / /dev/cpuset rw - cgroup none rw,cpuset,noprefix",
        "34 31 0:31 / /cpuset rw - cgroup none rw,cpuset",
        "34 31 0:31 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu",
        "34 31 0:31 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw",
        "",
    ] {
        assert_eq!(mount_point(other), None, "{other}");
    }
}
