// SPDX-License-Identifier: MIT OR Apache-2.0
//! /dev/cpu_dma_latency: asking the kernel to keep CPUs out of sleep states they would take long to leave.
//!
//! The kernel's interface (Documentation/power/pm_qos_interface.rst) is a promise tied to an open file: four bytes say how
//! many µs a CPU may take to wake, and the request ends when the file is closed. So the guard has nothing to restore that
//! could fail, and a killed program gives the state back as well.

use crate::HostRoot;
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::PathBuf;

/// The kernel's file, below the root.
const FILE: &str = "dev/cpu_dma_latency";

/// Holds /dev/cpu_dma_latency at 0 µs until it is dropped.
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
    #[error("cannot hold {path} at 0, so CPUs may enter deep idle states between activations and wake late: {source}; {advice}", path = path.display())]
    DmaLatency {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
        /// What to do.
        advice: &'static str,
    },
}

impl DmaLatency {
    /// Asks for 0 µs.
    ///
    /// # Errors
    /// The file is not there, may not be opened for writing (it is root's alone unless somebody changed that), or refuses
    /// the value.
    pub fn hold(root: &HostRoot) -> Result<Self, HostError> {
        let path = root.path(FILE);
        // Neither created nor truncated: a regular file of that name would be a request to nobody.
        let held = OpenOptions::new().write(true).open(&path).and_then(|mut file| {
            // The kernel takes a native 32-bit number, in one write.
            file.write_all(&0_i32.to_ne_bytes())?;
            Ok(file)
        });
        match held {
            Ok(file) => Ok(DmaLatency { _file: file }),
            Err(source) => Err(HostError::DmaLatency { advice: advice(source.kind()), path, source }),
        }
    }
}

fn advice(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::NotFound => {
            "in a container, pass the device in; on an x86 kernel without it, boot with processor.max_cstate=1"
        }
        ErrorKind::PermissionDenied => "run as root, or own the file until the next boot: sudo chown $USER /dev/cpu_dma_latency",
        _ => "run without holding it if that is meant, the recording will say so",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let held = DmaLatency::hold(&HostRoot::at(dir.path())).unwrap();
        assert_eq!(std::fs::read(&file).unwrap(), [0; 4]);
        assert!(open_files().contains(&file), "closing the file would end the request");
        drop(held);
        assert!(!open_files().contains(&file), "the request outlives its guard");
    }

    #[test]
    fn a_missing_file_is_named_and_not_made() {
        let (dir, file) = machine();
        let text = DmaLatency::hold(&HostRoot::at(dir.path().canonicalize().unwrap())).unwrap_err().to_string();
        assert!(text.contains(&file.display().to_string()), "{text}");
        assert!(text.contains("No such file") && text.contains("in a container"), "{text}");
        assert!(!file.exists());
    }

    #[test]
    fn a_refused_write_is_an_error() {
        let (dir, file) = machine();
        std::os::unix::fs::symlink("/dev/full", &file).unwrap();
        let HostError::DmaLatency { source, .. } = DmaLatency::hold(&HostRoot::at(dir.path())).unwrap_err();
        assert_eq!(source.kind(), ErrorKind::StorageFull);
    }

    #[test]
    fn who_lacks_the_right_is_told_how_to_get_it() {
        assert!(advice(ErrorKind::PermissionDenied).contains("sudo chown"));
    }
}
