// SPDX-License-Identifier: MIT OR Apache-2.0
//! The protocol between a load's parent and its supervisor.

use model::LoadFailure;
use plan::{CpuId, LoadSpec};
use serde::{Deserialize, Serialize};
use std::io::{self, Write};

/// How many things a task can count.
pub(crate) const COUNTERS: usize = 4;

/// To the supervisor, on its stdin: release the tasks. The end of stdin means stop.
pub(crate) const GO: u8 = b'g';
/// To the supervisor: the measured span begins.
pub(crate) const BEGIN: u8 = b'b';
/// To the supervisor of a load that begins or is stopped meanwhile: measuring begins at the time
/// that follows, CLOCK_MONOTONIC, ns, little-endian.
pub(crate) const MEASURED_FROM: u8 = b'm';

/// The supervisor's one argument.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct SupervisorArgument {
    pub spec: LoadSpec,
    pub cpus: Vec<CpuId>,
    /// Memory that it may fill, bytes, as found when it was checked.
    pub memory: u64,
    /// Loads that run at the same time.
    pub loads: usize,
    /// What it draws at random follows from this; 0 without a phase.
    #[serde(skip_serializing_if = "is_zero", default)]
    pub seed: u64,
    /// How much later than without its phase a load begins or is stopped that is to while
    /// measuring, ns.
    #[serde(skip_serializing_if = "is_zero", default)]
    pub shift_ns: u64,
    /// The process id of the parent; a supervisor with another parent has been left behind.
    pub parent: u32,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
const fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// What a load has used and done, in all, up to an instant.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Reading {
    /// The instant, CLOCK_MONOTONIC.
    pub at_ns: u64,
    /// CPU time of all tasks.
    pub cpu_ns: u64,
    /// The same on each of the load's CPUs; empty if its tasks move.
    pub per_cpu_ns: Vec<u64>,
    /// Time that each of its CPUs was busy, with whatever; empty if unknown, and within a span.
    pub busy_ns: Vec<u64>,
    /// What they counted, in the order of the units of its type.
    pub work: Vec<u64>,
    pub alive: usize,
}

/// From the supervisor, on its stdout, one line each.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub(crate) enum Report {
    /// Every task waits at its barrier.
    Prepared,
    /// They have been released.
    Running(Reading),
    /// It is in its steady state.
    Settled {
        /// Since the release, ns.
        after_ns: u64,
    },
    /// The measured span begins here.
    Begun(Reading),
    /// At least a second has passed since the last reading.
    Second(Reading),
    /// A load that begins while measuring begins now.
    Started { at_ns: u64 },
    /// A load that is stopped while measuring has been: its last reading before that.
    Stopped(Reading),
    /// The last reading; the tasks are killed now.
    Final(Reading),
    /// It runs at a nice level that it inherited and may not leave.
    Nice { nice: i32 },
    /// A task ended that should not.
    Died { failure: LoadFailure },
    /// The load cannot be run.
    Failed { error: String },
}

/// Says something on standard error in one write: a load's tasks share it, and what several write
/// in parts mixes.
pub(crate) fn complain(text: &str) {
    let _ = io::stderr().write_all(format!("{text}\n").as_bytes());
}

/// An error of the kernel's, with what a load needs where that is what the machine refuses.
pub(crate) fn explained(error: &io::Error) -> String {
    let why = match error.raw_os_error() {
        Some(libc::EMFILE) => {
            "; it needs more open files at once than the limit of a process: raise it (ulimit -n), \
             or ask for a smaller load"
        }
        Some(libc::ENFILE) => {
            "; it needs more open files than this machine allows: raise /proc/sys/fs/file-max, or \
             ask for a smaller load"
        }
        Some(libc::ENOMEM) => {
            "; it needs more memory than is free or allowed (ulimit -v, the memory limit of the \
             cgroup): ask for a smaller load"
        }
        _ => "",
    };
    format!("{error}{why}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_of_the_machine_is_named() {
        let of = |errno| explained(&io::Error::from_raw_os_error(errno));
        assert_eq!(
            of(libc::EMFILE),
            "Too many open files (os error 24); it needs more open files at once than the limit of \
             a process: raise it (ulimit -n), or ask for a smaller load"
        );
        assert!(of(libc::ENFILE).contains("raise /proc/sys/fs/file-max"));
        assert!(of(libc::ENOMEM).contains("the memory limit of the cgroup"));
        assert_eq!(explained(&io::Error::other("its threads ended")), "its threads ended");
    }
}
