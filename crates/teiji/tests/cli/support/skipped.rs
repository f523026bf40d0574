// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tests that cannot be run here. One that returned without a word would look like one that passed;
//! so each says what it lacks to `scripts/test.sh`, which counts and names them, and fails where
//! the machine is known to have it.

use std::fmt::Display;
use std::fs::OpenOptions;
use std::io::Write;

/// What a test needs that a machine, or whoever runs the tests, may not have.
#[derive(Clone, Copy, Debug)]
pub enum Need {
    /// The right to real-time priority.
    RealTime,
    /// The right to raise limits, CAP_SYS_RESOURCE.
    HigherLimits,
    /// The right to lock memory.
    LockedMemory,
    /// The right to mount a file system, in a namespace if need be.
    Mount,
    /// The right to mount a block device, which only root has.
    BlockDevice,
    /// Two CPUs that may be used.
    TwoCpus,
    /// The kernel's events, in tracefs.
    Tracing,
    Strace,
    /// Capabilities of a file: root, setcap, and a file system that keeps and heeds them.
    FileCapabilities,
    /// A filter of system calls whose calls another process answers.
    SystemCallFilter,
}

impl Need {
    /// Its name in `.ci/lacks`.
    fn name(self) -> &'static str {
        match self {
            Need::RealTime => "real-time",
            Need::HigherLimits => "higher-limits",
            Need::LockedMemory => "locked-memory",
            Need::Mount => "mount",
            Need::BlockDevice => "block-device",
            Need::TwoCpus => "two-cpus",
            Need::Tracing => "tracing",
            Need::Strace => "strace",
            Need::FileCapabilities => "file-capabilities",
            Need::SystemCallFilter => "system-call-filter",
        }
    }
}

/// Says that the test which calls this is left out, or a part of it, and why. To be returned from.
pub fn skipped(need: Need, reason: impl Display) {
    let test = std::thread::current().name().unwrap_or("a test").to_owned();
    eprintln!("skipped: {test}: {reason}");
    if let Some(list) = std::env::var_os("TEIJI_SKIPPED_TESTS") {
        let mut list = OpenOptions::new().append(true).create(true).open(list).unwrap();
        // In one go, because tests run side by side.
        list.write_all(format!("{test}\t{}\t{reason}\n", need.name()).as_bytes()).unwrap();
    }
}
