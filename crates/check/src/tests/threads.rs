// SPDX-License-Identifier: MIT OR Apache-2.0
//! Threads as the kernel shows them, on a machine of four CPUs.

use super::trees::laid_out;
use std::fs;
use std::path::Path;

pub(crate) const FIFO: u32 = 1;
pub(crate) const RR: u32 = 2;
pub(crate) const KERNEL: u64 = 0x0020_0000;

pub(crate) struct Made<'a> {
    pub(crate) id: u32,
    pub(crate) parent: u32,
    pub(crate) name: &'a str,
    pub(crate) policy: u32,
    pub(crate) priority: u32,
    pub(crate) cpu: u32,
    pub(crate) flags: u64,
    pub(crate) allowed: Option<&'a str>,
}

impl Default for Made<'_> {
    fn default() -> Self {
        Made {
            id: 0,
            parent: 1,
            name: "daemon",
            policy: FIFO,
            priority: 0,
            cpu: 0,
            flags: 0,
            allowed: None,
        }
    }
}

pub(crate) fn file(root: &Path, path: &str, text: &str) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// A thread of the process with its own number.
pub(crate) fn make(
    root: &Path,
    Made { id, name, policy, priority, cpu, flags, allowed, parent }: &Made<'_>,
) {
    // Fields 10 to 19 and 23 to 38; a process of one thread.
    let (first, second) = ("0 ".repeat(10), "0 ".repeat(16));
    let line = format!(
        "{id} ({name}) S {parent} 0 0 0 -1 {flags} {first}1 0 7 {second}{cpu} {priority} {policy} \
         0 0 0\n"
    );
    for folder in [format!("proc/{id}"), format!("proc/{id}/task/{id}")] {
        file(root, &format!("{folder}/stat"), &line);
        if let Some(allowed) = allowed {
            file(
                root,
                &format!("{folder}/status"),
                &format!("Name:\t{name}\nCpus_allowed_list:\t{allowed}\n"),
            );
        }
    }
}

pub(crate) fn four_cpus(isolated: &str) -> tempfile::TempDir {
    let dir = laid_out(&format!(
        "=== sys/devices/system/cpu/online\n0-3\n=== \
         sys/devices/system/cpu/isolated\n{isolated}\n=== proc/1/x\n\n"
    ))
    .0;
    make(
        dir.path(),
        &Made { id: 2, name: "kthreadd", policy: 0, flags: KERNEL, ..Made::default() },
    );
    dir
}
