// SPDX-License-Identifier: MIT OR Apache-2.0
//! The processes below one: what a load has started by itself.

use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, kill_process, wait, waitpid};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use system::process::{self, Stat};

/// One process as in /proc/PID/stat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Process {
    parent: i32,
    /// Ended, and not yet waited for: it needs no killing.
    ended: bool,
    /// Its own CPU time and that of the children it has waited for, in ticks.
    ticks: u64,
}

fn parse(stat: &str) -> Option<Process> {
    let stat = Stat::parse(stat)?;
    Some(Process {
        parent: stat.field(4)?,
        ended: stat.has_ended(),
        ticks: stat.own_ticks()?.saturating_add(stat.waited_for_ticks()?),
    })
}

/// All processes by number.
fn processes() -> BTreeMap<i32, Process> {
    let read =
        |pid: i32| Some((pid, parse(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)?));
    process::numbers(Path::new("/proc")).filter_map(read).collect()
}

/// Of these processes, those below `root`.
fn below(root: i32, processes: &BTreeMap<i32, Process>) -> Vec<i32> {
    let mut found: Vec<i32> = Vec::new();
    let mut next = vec![root];
    while let Some(parent) = next.pop() {
        let children = processes
            .iter()
            .filter(|(pid, process)| process.parent == parent && **pid != root)
            .map(|(pid, _)| *pid);
        let new: Vec<i32> = children.filter(|pid| !found.contains(pid)).collect();
        found.extend(&new);
        next.extend(new);
    }
    found
}

/// CPU time of everything below this process, user and system, ns. It moves in ticks.
pub(crate) fn cpu_time_ns(root: Pid) -> u64 {
    let processes = processes();
    let ticks: u64 =
        below(root.as_raw_nonzero().get(), &processes).iter().map(|pid| processes[pid].ticks).sum();
    ticks * (1_000_000_000 / rustix::param::clock_ticks_per_second().max(1))
}

/// Kills everything below this process, the caller, until there is nothing. Children that lost
/// their parent come to the caller, which has asked for them, so that none gets away.
pub(crate) fn kill_all_below(root: Pid) {
    loop {
        let processes = processes();
        let mut below = below(root.as_raw_nonzero().get(), &processes);
        below.retain(|pid| !processes[pid].ended);
        for pid in below.iter().filter_map(|pid| Pid::from_raw(*pid)) {
            let _ = kill_process(pid, Signal::KILL);
        }
        // Whatever group they are in.
        while matches!(wait(WaitOptions::NOHANG), Ok(Some(_))) {}
        if below.is_empty() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
}

/// Kills these children, all at once, and waits for them.
pub(crate) fn kill_children(children: impl Iterator<Item = Pid> + Clone) {
    for child in children.clone() {
        let _ = kill_process(child, Signal::KILL);
    }
    for child in children {
        while matches!(waitpid(Some(child), WaitOptions::empty()), Err(Errno::INTR)) {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_stat() {
        let line = "42 (a ) b) S 7 42 42 0 -1 4194304 1 2 3 4 10 20 30 40 20 0 1 0 5";
        assert_eq!(parse(line), Some(Process { parent: 7, ended: false, ticks: 100 }));
        assert_eq!(parse("42 (x) S 7"), None);
    }

    #[test]
    fn children_and_theirs() {
        let process = |parent| Process { parent, ended: false, ticks: 1 };
        let all = BTreeMap::from([
            (1, process(0)),
            (2, process(1)),
            (3, process(2)),
            (4, process(1)),
            (9, process(8)),
        ]);
        let mut found = below(1, &all);
        found.sort_unstable();
        assert_eq!(found, [2, 3, 4]);
    }
}
