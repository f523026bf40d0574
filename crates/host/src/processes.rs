// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which processes used CPU time between two snapshots.
//!
//! CPU time shows how busy a machine was; this shows with what. One small file is read for each
//! process: some 20 µs each, before and after a run, and what looks at threads then reads none of
//! them again. Those that ended between the snapshots are not seen: how much work there was, CPU
//! times say.

use crate::HostRoot;
use crate::proc_stat::MS_PER_TICK;
use model::{BusyProcess, Processes};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use system::process::{Stat, numbers};

/// Processes that a recording names.
const MAX_NAMED: usize = 8;

/// /proc/PID/stat of every process that can be seen, at one moment.
#[derive(Clone, Debug, Default)]
pub struct ProcessLines(BTreeMap<u32, String>);

/// What a later snapshot is compared with: kept while a run measures, in locked memory.
#[derive(Clone, Debug, Default)]
pub struct ProcessTimes(BTreeMap<u32, ProcessTime>);

#[derive(Clone, Debug)]
struct ProcessTime {
    started: u64,
    cpu_ms: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Process {
    name: String,
    kernel_thread: bool,
    cpu_ms: u64,
    /// Of its children that it has waited for.
    waited_for_ms: u64,
    /// Since boot, ticks: a number that is used again belongs to another process.
    started: u64,
}

impl HostRoot {
    /// Looks at all processes. Of one that ends meanwhile, or that may not be read, the line is
    /// empty.
    pub fn process_lines(&self) -> ProcessLines {
        let read = |pid| (pid, self.text(&format!("proc/{pid}/stat")).unwrap_or_default());
        ProcessLines(numbers(&self.path("proc")).map(read).collect())
    }
}

impl HostRoot {
    /// CPU time of the children of a process that it has waited for, ms: work of its own that
    /// snapshots of processes do not see.
    pub fn waited_for_ms(&self, pid: u32) -> u64 {
        let line = self.text(&format!("proc/{pid}/stat")).unwrap_or_default();
        process(&line).map_or(0, |process| process.waited_for_ms)
    }
}

impl ProcessLines {
    /// The lines with the numbers of their processes, ascending.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &str)> {
        self.0.iter().map(|(pid, line)| (*pid, line.as_str()))
    }

    fn process(&self, pid: u32) -> Option<Process> {
        process(self.0.get(&pid)?)
    }

    /// The CPU time of each.
    pub fn times(&self) -> ProcessTimes {
        let time = |(pid, line)| {
            let Process { started, cpu_ms, .. } = process(line)?;
            Some((pid, ProcessTime { started, cpu_ms }))
        };
        ProcessTimes(self.iter().filter_map(time).collect())
    }

    /// What was used since an earlier snapshot, by process `own` and by the others.
    pub fn since(&self, before: &ProcessTimes, own: u32) -> Processes {
        let used = |pid: u32, is: &Process| {
            let was = before.0.get(&pid).filter(|was| was.started == is.started);
            is.cpu_ms.saturating_sub(was.map_or(0, |was| was.cpu_ms))
        };
        let own_ms = self.process(own).map_or(0, |is| used(own, &is));
        let others = self.0.keys().copied().filter(|pid| *pid != own);
        let mut busiest: Vec<BusyProcess> = others
            .filter_map(|pid| Some((pid, self.process(pid)?)))
            .map(|(pid, is)| BusyProcess {
                pid,
                cpu_ms: used(pid, &is),
                name: is.name,
                kernel_thread: is.kernel_thread,
            })
            .filter(|process| process.cpu_ms > 0)
            .collect();
        busiest.sort_by_key(|process| (Reverse(process.cpu_ms), process.pid));
        // Before the list is cut: thirty small processes are as much work as one large one.
        let sum = |kernel| {
            busiest
                .iter()
                .filter(|process| process.kernel_thread == kernel)
                .map(|process| process.cpu_ms)
                .sum()
        };
        let (others_ms, kernel_ms) = (Some(sum(false)), Some(sum(true)));
        busiest.truncate(MAX_NAMED);
        Processes { own_ms, others_ms, kernel_ms, elapsed_ms: None, busiest }
    }
}

fn process(line: &str) -> Option<Process> {
    let stat = Stat::parse(line)?;
    Some(Process {
        name: stat.name.replace(char::is_control, " "),
        kernel_thread: stat.is_kernel_thread()?,
        cpu_ms: stat.own_ticks()?.saturating_mul(MS_PER_TICK),
        waited_for_ms: stat.waited_for_ticks()?.saturating_mul(MS_PER_TICK),
        started: stat.started()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::fs;

    const KERNEL_THREAD: u64 = 0x0020_0000;

    fn line(pid: u32, name: &str, flags: u64, user: u64, system: u64, started: u64) -> String {
        format!(
            "{pid} ({name}) S 1 1 1 0 -1 {flags} 0 0 0 0 {user} {system} 7 7 20 0 1 0 {started} \
             1000 10 0 0\n"
        )
    }

    fn machine(processes: &[String]) -> (tempfile::TempDir, HostRoot) {
        let dir = tempfile::tempdir().unwrap();
        for process in processes {
            let folder = dir.path().join("proc").join(process.split(' ').next().unwrap());
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join("stat"), process).unwrap();
        }
        let root = HostRoot::at(dir.path());
        (dir, root)
    }

    #[test]
    fn the_busiest_first_and_this_one_apart() {
        let (_before, before) = machine(&[
            line(2, "kworker/0:1", KERNEL_THREAD, 0, 100, 5),
            line(40, "sh", 0, 500, 0, 9),
            line(41, "idle", 0, 3, 3, 9),
            line(50, "teiji", 0, 10, 0, 9),
        ]);
        let (_after, after) = machine(&[
            line(2, "kworker/0:1", KERNEL_THREAD, 0, 130, 5),
            // The number of the shell, used again.
            line(40, "odd) (name", 0, 60, 20, 900),
            line(41, "idle", 0, 3, 3, 9),
            line(50, "teiji", 0, 12, 3, 9),
        ]);
        let found = after.process_lines().since(&before.process_lines().times(), 50);
        assert_eq!((found.own_ms, after.waited_for_ms(50), after.waited_for_ms(51)), (50, 140, 0));
        let busy = |pid, name: &str, cpu_ms, kernel_thread| BusyProcess {
            pid,
            name: name.to_owned(),
            cpu_ms,
            kernel_thread,
        };
        assert_eq!(
            found.busiest,
            [busy(40, "odd) (name", 800, false), busy(2, "kworker/0:1", 300, true)]
        );
    }

    #[test]
    fn those_that_are_not_named_are_in_the_sums() {
        let (_before, before) = machine(&[]);
        let shells = (100..132).map(|pid| line(pid, "sh", 0, 5, 1, 9));
        let kernel = (10..20).map(|pid| line(pid, "ksoftirqd", KERNEL_THREAD, 0, 2, 9));
        let (_after, after) = machine(&shells.chain(kernel).collect::<Vec<_>>());
        let found = after.process_lines().since(&before.process_lines().times(), 50);
        assert_eq!(
            (found.others_ms, found.kernel_ms, found.busiest.len()),
            (Some(32 * 60), Some(10 * 20), MAX_NAMED)
        );
    }

    #[test]
    fn this_process_is_there() {
        let lines = HostRoot::system().process_lines();
        assert!(lines.0.contains_key(&std::process::id()));
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "[0-9]{0,5} ?\\(?\\PC{0,10}\\)?( [-0-9]{0,22}){0,25}") {
            let _ = process(&text);
        }
    }
}
