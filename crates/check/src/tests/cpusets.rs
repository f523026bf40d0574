// SPDX-License-Identifier: MIT OR Apache-2.0
//! A machine with control groups of version 1.

use super::threads::{file, four_cpus};
use std::path::Path;
use tempfile::TempDir;

pub(crate) const MOUNT: &str = "sys/fs/cgroup/cpuset";
pub(crate) const MOUNTED: &str =
    "34 31 0:31 / /sys/fs/cgroup/cpuset rw,relatime - cgroup cgroup rw,cpuset\n";

pub(crate) fn group(dir: &Path, name: &str, cpus: &str) {
    let group = format!("{MOUNT}/{name}");
    file(dir, &format!("{group}/cpuset.cpus"), cpus);
    file(dir, &format!("{group}/cpuset.mems"), "0\n");
    file(dir, &format!("{group}/tasks"), "");
}

/// A thread in the root, with its process, the process that started it and the CPUs that it may run
/// on.
pub(crate) fn thread(dir: &Path, id: &str, process: u32, parent: u32, cpus: &str, memory: &str) {
    let text = format!(
        "Name:\tx\nTgid:\t{process}\nPPid:\t{parent}\nNSsid:\t{process}\n\
         {memory}Cpus_allowed_list:\t{cpus}\n"
    );
    file(dir, &format!("proc/{id}/status"), &text);
}

pub(crate) const PROGRAM: &str = "VmSize:\t100 kB\n";
pub(crate) const KERNEL: &str = "";

/// init, threads of the kernel, a daemon with two threads, one that is bound, a login and its
/// shell, which has started this process, which has started another.
pub(crate) fn machine() -> TempDir {
    let dir = four_cpus("");
    let at = dir.path();
    file(at, "sys/devices/system/cpu/possible", "0-3\n");
    file(at, "proc/self/mountinfo", MOUNTED);
    file(at, "proc/self/cgroup", "3:cpuset:/\n");
    group(at, "", "0-3\n");
    file(at, &format!("{MOUNT}/tasks"), "1\n2\n3\n40\n41\n50\n60\n61\n70\n71\n99\n");
    thread(at, "1", 1, 0, "0-3", PROGRAM);
    thread(at, "2", 2, 0, "0-3", KERNEL);
    thread(at, "3", 3, 2, "1", KERNEL);
    thread(at, "40", 40, 1, "0-3", PROGRAM);
    thread(at, "41", 40, 1, "0-3", PROGRAM);
    thread(at, "50", 50, 1, "1-2", PROGRAM);
    thread(at, "60", 60, 1, "0-3", PROGRAM);
    thread(at, "61", 61, 60, "0-3", PROGRAM);
    thread(at, "70", 70, 61, "0-3", PROGRAM);
    thread(at, "self", 70, 61, "0-3", PROGRAM);
    thread(at, "71", 71, 70, "0-3", PROGRAM);
    dir
}
