// SPDX-License-Identifier: MIT OR Apache-2.0
//! /dev/cpu_dma_latency: asking the kernel to keep CPUs out of sleep states they would take long to
//! leave.
//!
//! The kernel's interface (Documentation/power/pm_qos_interface.rst) is a promise tied to an open
//! file: four bytes say how many µs a CPU may take to wake, and the request ends when the file is
//! closed. So the guard has nothing to restore that could fail, and a killed program gives the
//! state back as well.

use crate::{HostRoot, proc_stat};
use model::{NotHeld, Warning};
use plan::CpuId;
use rustix::fs::OFlags;
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::PathBuf;

/// The kernel's file, below the root.
const FILE: &str = "dev/cpu_dma_latency";

/// Holds /dev/cpu_dma_latency until it is dropped.
#[derive(Debug)]
#[must_use = "the request ends when this is dropped"]
pub struct DmaLatency {
    /// Never read: that it is open is the request.
    _file: File,
}

/// Why the machine could not be put into the state asked for.
#[derive(Debug, thiserror::Error)]
pub enum HostError {
    /// /dev/cpu_dma_latency could not be opened or written.
    #[error("cannot hold {path} at 0: {source}", path = path.display())]
    DmaLatency { path: PathBuf, source: io::Error },
}

impl From<HostError> for Warning {
    fn from(error: HostError) -> Self {
        let HostError::DmaLatency { path, source } = error;
        let reason = match source.kind() {
            ErrorKind::NotFound => NotHeld::NotFound,
            ErrorKind::PermissionDenied => NotHeld::PermissionDenied,
            _ => NotHeld::Failed,
        };
        Warning::DmaLatencyNotHeld {
            path: path.display().to_string(),
            reason,
            error: source.to_string(),
        }
    }
}

impl HostError {
    /// What to warn of: nothing where there are no idle states to be held off.
    pub fn warning(self, root: &HostRoot) -> Option<Warning> {
        root.has_idle_states().then(|| self.into())
    }
}

impl HostRoot {
    /// Whether the kernel has a choice of idle states. Without (no CONFIG_CPU_IDLE, no driver) a
    /// CPU halts in the same way whatever latency is asked for.
    pub fn has_idle_states(&self) -> bool {
        self.path("sys/devices/system/cpu/cpu0/cpuidle/state0").exists()
    }
}

impl HostRoot {
    /// How long leaving an idle state of this CPU takes at most, µs, as the kernel's table has it:
    /// of those that are not disabled. None where there is no table.
    pub fn idle_exit_us(&self, cpu: CpuId) -> Option<u64> {
        let folder = format!("sys/devices/system/cpu/cpu{cpu}/cpuidle");
        let number = |state: &str, file: &str| {
            self.text(&format!("{folder}/{state}/{file}")).ok()?.trim().parse::<u64>().ok()
        };
        let states = std::fs::read_dir(self.path(&folder)).ok()?.flatten();
        let names = states.filter_map(|state| state.file_name().into_string().ok());
        names
            .filter(|state| number(state, "disable") != Some(1))
            .filter_map(|state| number(&state, "latency"))
            .max()
    }

    /// The time that a hypervisor has had of each CPU, ms.
    pub fn stolen_ms(&self) -> BTreeMap<CpuId, u64> {
        let text = self.text("proc/stat").unwrap_or_default();
        let cpus = proc_stat::parse(&text, &mut Vec::new());
        let stolen =
            |(cpu, times): (CpuId, BTreeMap<String, u64>)| Some((cpu, *times.get("steal")?));
        cpus.into_iter().filter_map(stolen).collect()
    }
}

impl DmaLatency {
    /// Asks that no CPU takes longer than this to wake, µs.
    ///
    /// # Errors
    /// The file is not there, may not be opened for writing (it is root's alone unless that was
    /// changed), or refuses the value.
    pub fn hold(root: &HostRoot, micros: i32) -> Result<Self, HostError> {
        let path = root.path(FILE);
        // Neither created nor truncated: a regular file of that name would not be a request. Nor
        // does a FIFO in its place wait for a reader.
        let flags = OFlags::NONBLOCK.bits().cast_signed();
        let opened =
            OpenOptions::new().write(true).custom_flags(flags).open(&path).and_then(|mut file| {
                // The kernel takes a native 32-bit number, in one write.
                file.write_all(&micros.to_ne_bytes())?;
                Ok(file)
            });
        match opened {
            Ok(file) => Ok(DmaLatency { _file: file }),
            Err(source) => Err(HostError::DmaLatency { path, source }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fifo_in_its_place_is_not_waited_for() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("dev")).unwrap();
        let fifo = dir.path().join(FILE);
        rustix::fs::mknodat(
            rustix::fs::CWD,
            &fifo,
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RWXU,
            0,
        )
        .unwrap();
        assert!(DmaLatency::hold(&HostRoot::at(dir.path()), 0).is_err());
    }

    fn open_files() -> Vec<PathBuf> {
        let links = std::fs::read_dir("/proc/self/fd").unwrap();
        links.filter_map(|entry| std::fs::read_link(entry.unwrap().path()).ok()).collect()
    }

    fn machine() -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("dev")).unwrap();
        // Links in /proc are resolved, and a temporary directory may be reached by a symbolic link.
        let file = dir.path().canonicalize().unwrap().join(FILE);
        (dir, file)
    }

    #[test]
    fn zero_is_asked_for_and_held_until_dropped() {
        let (dir, file) = machine();
        std::fs::write(&file, "").unwrap();
        let opened = DmaLatency::hold(&HostRoot::at(dir.path()), 0).unwrap();
        assert_eq!(std::fs::read(&file).unwrap(), [0; 4]);
        assert!(open_files().contains(&file), "closing the file would end the request");
        drop(opened);
        assert!(!open_files().contains(&file), "the request outlives its guard");
    }

    #[test]
    fn a_missing_file_is_named_and_not_made() {
        let (dir, file) = machine();
        let refused =
            DmaLatency::hold(&HostRoot::at(dir.path().canonicalize().unwrap()), 0).unwrap_err();
        let text = refused.to_string();
        assert!(
            text.contains(&file.display().to_string()) && text.contains("No such file"),
            "{text}"
        );
        let path = file.display().to_string();
        let error = "No such file or directory (os error 2)".to_owned();
        assert_eq!(
            Warning::from(refused),
            Warning::DmaLatencyNotHeld { path, reason: NotHeld::NotFound, error }
        );
        assert!(!file.exists());
    }

    /// Of a kernel without CPU_IDLE it was said that its CPUs may enter deep idle states.
    #[test]
    fn what_is_not_there_need_not_be_held_off() {
        let (dir, file) = machine();
        let root = HostRoot::at(dir.path().canonicalize().unwrap());
        let warning = || DmaLatency::hold(&root, 0).unwrap_err().warning(&root);
        assert_eq!(warning(), None);
        std::fs::create_dir_all(root.path("sys/devices/system/cpu/cpu0/cpuidle/state0")).unwrap();
        let path = file.display().to_string();
        let error = "No such file or directory (os error 2)".to_owned();
        // As in a container.
        let expected = Warning::DmaLatencyNotHeld { path, reason: NotHeld::NotFound, error };
        assert_eq!(warning(), Some(expected));
    }

    #[test]
    fn a_refused_write_is_an_error() {
        let (dir, file) = machine();
        std::os::unix::fs::symlink("/dev/full", &file).unwrap();
        let HostError::DmaLatency { source, .. } =
            DmaLatency::hold(&HostRoot::at(dir.path()), 0).unwrap_err();
        assert_eq!(source.kind(), ErrorKind::StorageFull);
    }

    #[test]
    fn a_lack_of_rights_is_its_own_reason() {
        let source = io::Error::from_raw_os_error(13);
        let warning = Warning::from(HostError::DmaLatency {
            path: PathBuf::from("/dev/cpu_dma_latency"),
            source,
        });
        assert!(
            matches!(warning, Warning::DmaLatencyNotHeld { reason: NotHeld::PermissionDenied, .. }),
            "{warning:?}"
        );
    }
}
