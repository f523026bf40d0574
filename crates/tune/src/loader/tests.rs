// SPDX-License-Identifier: MIT OR Apache-2.0
//! Machines for the tests of this folder.

use super::{LoaderError, LoaderWrite};
use crate::BootPlan;
use host::HostRoot;
use plan::CpuId;
use std::fs;
use tempfile::TempDir;

/// Four CPUs, Linux 6.1, booted with `rcu_nocbs=0`.
pub(super) struct Machine {
    dir: TempDir,
    pub(super) root: HostRoot,
    arguments: String,
}

impl Machine {
    pub(super) fn new(files: &[(&str, &str)]) -> Machine {
        let dir = tempfile::tempdir().unwrap();
        let machine = [
            ("proc/cmdline", "rcu_nocbs=0\n"),
            ("proc/version", "Linux version 6.1.0-rt SMP PREEMPT_RT\n"),
            ("proc/sys/kernel/osrelease", "6.1.0-rt\n"),
            ("proc/sys/kernel/random/boot_id", "one\n"),
            ("sys/devices/system/cpu/online", "0-3\n"),
            ("sys/devices/system/cpu/possible", "0-3\n"),
        ];
        for (file, text) in machine.iter().chain(files) {
            let path = dir.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let root = HostRoot::at(dir.path());
        let mut machine = Machine { dir, root, arguments: String::new() };
        let plan = machine.plan(&[1, 2, 3]);
        let texts: Vec<&str> =
            plan.arguments.iter().map(|argument| argument.text.as_str()).collect();
        machine.arguments = texts.join(" ");
        machine
    }

    pub(super) fn plan(&self, cpus: &[u32]) -> BootPlan {
        BootPlan::new(&self.root, Some(cpus.iter().copied().map(CpuId).collect())).unwrap()
    }

    /// All that are planned for CPUs 1 to 3.
    pub(super) fn arguments(&self) -> &str {
        &self.arguments
    }

    pub(super) fn write(&self) -> Result<LoaderWrite, LoaderError> {
        self.write_for(&[1, 2, 3])
    }

    pub(super) fn write_for(&self, cpus: &[u32]) -> Result<LoaderWrite, LoaderError> {
        self.plan(cpus).write(&self.root, None)
    }

    pub(super) fn read(&self, file: &str) -> String {
        fs::read_to_string(self.root.path(file)).unwrap()
    }

    /// All files but those of teiji, by name.
    pub(super) fn names(&self) -> Vec<String> {
        let (mut names, mut folders) = (Vec::new(), vec![self.dir.path().to_owned()]);
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
                if entry.file_type().unwrap().is_dir() {
                    folders.push(entry.path());
                }
                names.push(entry.path().display().to_string());
            }
        }
        names.retain(|name| !name.contains("/var"));
        names.sort();
        names
    }
}

/// What is said when it is refused.
pub(super) fn error(result: Result<LoaderWrite, LoaderError>) -> String {
    result.unwrap_err().to_string()
}
