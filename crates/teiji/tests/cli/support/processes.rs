// SPDX-License-Identifier: MIT OR Apache-2.0
//! Processes as /proc shows them: a load must be gone with whoever started it, however that ended.

use super::soon;
use rustix::process::{Pid, Signal, kill_process};

/// A process that cannot be mistaken for a later one with the same number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Process {
    pid: i32,
    parent: i32,
    state: char,
    /// Clock ticks since boot.
    started: u64,
}

impl Process {
    pub fn pid(&self) -> Pid {
        Pid::from_raw(self.pid).unwrap()
    }

    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_raw(self.pid).unwrap(), signal).unwrap();
    }
}

/// One process; none if there is no such.
fn process(pid: i32) -> Option<Process> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in parentheses may hold anything.
    let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace();
    let (state, parent) = (fields.next()?.chars().next()?, fields.next()?.parse().ok()?);
    Some(Process { pid, parent, state, started: fields.nth(17)?.parse().ok()? })
}

/// The process's children, theirs, and so on.
pub fn descendants(of: Pid) -> Vec<Process> {
    let numbers = std::fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    let all: Vec<Process> = numbers.filter_map(process).collect();
    let mut parents = vec![of.as_raw_nonzero().get()];
    let mut found = Vec::new();
    while let Some(parent) = parents.pop() {
        let children = all.iter().filter(|process| process.parent == parent);
        children.for_each(|child| {
            parents.push(child.pid);
            found.push(*child);
        });
    }
    found
}

/// Whether a process is stopped.
pub fn is_stopped(pid: Pid) -> bool {
    process(pid.as_raw_nonzero().get()).is_some_and(|process| process.state == 'T')
}

/// Waits until all of them are gone. One that is dead and only waits to be noticed by its parent
/// counts as gone.
pub fn assert_gone(processes: &[Process]) {
    let alive = |known: &Process| {
        process(known.pid).is_some_and(|now| now.started == known.started && now.state != 'Z')
    };
    soon("all processes of the loads are gone", || !processes.iter().any(alive));
}
