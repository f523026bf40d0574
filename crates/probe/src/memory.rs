// SPDX-License-Identifier: MIT OR Apache-2.0
//! Locked memory.

use crate::sys;
use rustix::process::{Resource, getrlimit};
use rustix::thread::{CapabilitySet, capabilities};

/// Whether the process's memory is locked, and if not, why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MemoryLock {
    /// All of it, now and later.
    Locked,
    /// The limit is too low and the process may not exceed it, bytes.
    Limited(u64),
    Refused(String),
}

/// Locks all memory of the process, present and future.
///
/// Below a finite limit nothing is locked: a later allocation that runs into the limit would end
/// the run, and a page fault is the lesser evil and shows in the recording.
pub fn lock_memory() -> MemoryLock {
    let limit = getrlimit(Resource::Memlock).current;
    let exempt =
        capabilities(None).is_ok_and(|sets| sets.effective.contains(CapabilitySet::IPC_LOCK));
    if let (Some(limit), false) = (limit, exempt) {
        return MemoryLock::Limited(limit);
    }
    match sys::lock_all_memory() {
        Ok(()) => MemoryLock::Locked,
        Err(error) => MemoryLock::Refused(error.to_string()),
    }
}

/// Lets memory go again: what is touched from now on is no business of a measuring thread.
pub fn unlock_memory() {
    // It cannot fail, and if it did, more memory than necessary would stay where it is.
    let _ = rustix::mm::munlockall();
}
