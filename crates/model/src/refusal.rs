// SPDX-License-Identifier: MIT OR Apache-2.0
//! Why the kernel refuses threads a real-time policy.

use serde::{Deserialize, Serialize};

/// One thing that keeps threads from the scheduling asked for, as the crate `check` finds it.
/// Without it another may still do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "cause", rename_all = "kebab-case")]
pub enum RefusalCause {
    /// The limit on real-time priorities (RLIMIT_RTPRIO) is lower than the priority asked for, and
    /// CAP_SYS_NICE does not lift it.
    Limit {
        /// The highest priority allowed now; 0: none.
        allowed: u64,
        /// What the process may raise that to by itself; null: anything.
        hard: Option<u64>,
        /// Whether CAP_SYS_NICE is held in a user namespace, where it does not count.
        in_user_namespace: bool,
        /// The container around the process; null: none is seen.
        container: Option<String>,
    },
    /// The control group has no time for real-time threads (RT_GROUP_SCHED).
    ControlGroup {
        /// Its folder.
        group: String,
        /// The version of the hierarchy: 1 or 2, where no group but the root can have any.
        version: u8,
    },
    /// `sched_setattr` is refused whatever it asks for.
    SystemCall {
        /// Whether a filter of system calls is active.
        seccomp: bool,
    },
}

impl RefusalCause {
    /// The file that lists the threads of the root control group, of a control group's cause: a
    /// shell in it, and what is started from there, are held to no share.
    pub fn root_threads(&self) -> Option<&'static str> {
        match self {
            RefusalCause::ControlGroup { version: 1, .. } => Some("/sys/fs/cgroup/cpu/tasks"),
            RefusalCause::ControlGroup { .. } => Some("/sys/fs/cgroup/cgroup.procs"),
            RefusalCause::Limit { .. } | RefusalCause::SystemCall { .. } => None,
        }
    }
}
