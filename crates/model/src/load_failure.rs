// SPDX-License-Identifier: MIT OR Apache-2.0
//! Why a load did not hold.

use serde::{Deserialize, Serialize};

/// What happened to a load. As an error, which ends a run before there is a recording, it says so
/// itself; a warning's sentence is the report's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(tag = "reason", rename_all = "kebab-case")]
pub enum LoadFailure {
    /// A task ended that should not.
    #[error("task {task} of {tasks} (process {pid}) exited early: {status}{}", more(*others))]
    TaskExited {
        /// Which, counted from 1.
        task: usize,
        tasks: usize,
        pid: i32,
        /// How it ended, in the system's words.
        status: String,
        /// So many others ended at the same time.
        others: usize,
    },
    /// Tasks were missing at the end.
    #[error("{alive} of its {tasks} tasks ran to the end")]
    TasksMissing {
        /// Tasks that ran to the end.
        alive: usize,
        tasks: usize,
    },
    /// Its supervisor ended before it was asked to.
    #[error("its supervisor exited early: {status}")]
    SupervisorExited {
        /// How it ended, in the system's words.
        status: String,
    },
    /// Its supervisor did not end, not even killed.
    #[error("its supervisor exited early: it could not be killed")]
    SupervisorNotKilled,
    /// Its supervisor gave up.
    #[error("{error}")]
    SupervisorFailed { error: String },
    /// Its supervisor printed what is no report.
    #[error("unexpected message from its supervisor, '{line}': {error}")]
    UnexpectedMessage {
        line: String,
        /// Why that is none.
        error: String,
    },
    /// It did not stop when it was asked to.
    #[error("it did not stop within {waited_s} s")]
    NotStopped {
        /// How long it was given, s.
        waited_s: u64,
    },
}

fn more(others: usize) -> String {
    if others > 0 { format!(", and {others} more") } else { String::new() }
}
