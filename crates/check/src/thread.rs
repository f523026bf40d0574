// SPDX-License-Identifier: MIT OR Apache-2.0
//! Threads as /proc shows them: their policy and priority, and the CPUs that they may run on.

use super::files::Files;
use host::ProcessLines;
use plan::CpuId;
use system::process::Stat;

/// A thread that was seen.
pub struct Thread {
    pub pid: u32,
    pub id: u32,
    /// The process that started it.
    pub(crate) parent: u32,
    pub name: String,
    /// Its priority by SCHED_FIFO or SCHED_RR; 0 without one.
    pub priority: u8,
    /// When it began, in ticks since boot: its number may be another thread's by now.
    pub started: u64,
    /// The CPU that it was last on.
    pub(crate) cpu: CpuId,
    /// The CPUs that it may run on; only looked up for those of a real-time policy.
    allowed: Option<Vec<CpuId>>,
    pub(crate) is_kernel: bool,
    pub(crate) policy: u64,
}

const SCHED_FIFO: u64 = 1;
pub(crate) const SCHED_RR: u64 = 2;
const SCHED_DEADLINE: u64 = 6;
/// Where a thread of SCHED_DEADLINE stands: before every priority, of which 99 is the highest.
pub(crate) const RANK_OF_DEADLINE: u8 = 100;

/// A line of /proc/PID/task/TID/stat.
pub fn thread(pid: u32, line: &str) -> Option<Thread> {
    let stat = Stat::parse(line)?;
    let policy = stat.field(41)?;
    Some(Thread {
        pid,
        id: stat.field(1)?,
        parent: stat.parent()?,
        name: stat.name.to_owned(),
        started: stat.started()?,
        priority: if matches!(policy, SCHED_FIFO | SCHED_RR) { stat.field(40)? } else { 0 },
        cpu: CpuId(stat.field(39)?),
        allowed: None,
        is_kernel: stat.is_kernel_thread()?,
        policy,
    })
}

impl Thread {
    /// Where it stands among the real-time threads: 0 for an ordinary one.
    pub(crate) fn rank(&self) -> u8 {
        if self.is_deadline() { RANK_OF_DEADLINE } else { self.priority }
    }

    pub fn is_deadline(&self) -> bool {
        self.policy == SCHED_DEADLINE
    }

    /// The thread with which the governor schedutil changes frequencies. No program can change how
    /// it is scheduled.
    pub(crate) fn is_of_governor(&self) -> bool {
        self.is_kernel && self.is_deadline() && self.name.starts_with("sugov:")
    }

    /// The CPUs that it may run on, as far as they are known.
    pub(crate) fn cpus(&self) -> Vec<CpuId> {
        self.allowed.clone().unwrap_or_default()
    }

    /// Those of these CPUs on which it may run. No balancing brings a thread to an isolated CPU as
    /// long as it may also run on another.
    pub(crate) fn on(&self, cpus: &[CpuId], isolated: &[CpuId]) -> Vec<CpuId> {
        let is_kept_there = |allowed: &[CpuId]| allowed.iter().all(|cpu| isolated.contains(cpu));
        let may_come = |cpu: CpuId| {
            let is_brought = |allowed: &Vec<CpuId>| {
                allowed.contains(&cpu) && (!isolated.contains(&cpu) || is_kept_there(allowed))
            };
            cpu == self.cpu || self.allowed.as_ref().is_some_and(is_brought)
        };
        cpus.iter().copied().filter(|cpu| may_come(*cpu)).collect()
    }
}

/// Every thread of these processes. One file is read of each, and a second one of those with a
/// real-time policy. Where a process has one thread, as most have, its line is that one's.
pub(crate) fn all(files: &Files<'_>, processes: &ProcessLines) -> Vec<Thread> {
    let of = |(pid, line)| match only_thread(files, pid, line) {
        Some(thread) => vec![thread],
        None => threads_of(files, pid),
    };
    processes.iter().flat_map(of).collect()
}

fn only_thread(files: &Files<'_>, pid: u32, line: &str) -> Option<Thread> {
    let is_only = Stat::parse(line)?.field(20) == Some(1);
    is_only.then(|| thread_in(files, pid, &format!("proc/{pid}"), line)).flatten()
}

fn threads_of(files: &Files<'_>, pid: u32) -> Vec<Thread> {
    let tasks = format!("proc/{pid}/task");
    let of = |id: String| {
        let folder = format!("{tasks}/{id}");
        let line = files.text(&format!("{folder}/stat"))?;
        thread_in(files, pid, &folder, &line)
    };
    files.names(&tasks).into_iter().filter_map(of).collect()
}

/// The thread that this folder and its line are of.
fn thread_in(files: &Files<'_>, pid: u32, folder: &str, line: &str) -> Option<Thread> {
    let mut thread = thread(pid, line)?;
    if thread.rank() > 0 {
        thread.allowed = allowed(files, &format!("{folder}/status"));
    }
    Some(thread)
}

fn allowed(files: &Files<'_>, status: &str) -> Option<Vec<CpuId>> {
    let text = files.text(status)?;
    let list = text.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?;
    host::cpu::list(list)
}

/// A process and all that it started, as far as it still runs.
pub(crate) fn with_descendants(threads: &[Thread], process: u32) -> Vec<u32> {
    let mut found = vec![process];
    let mut next = 0;
    while let Some(parent) = found.get(next).copied() {
        next += 1;
        for thread in threads {
            if thread.parent == parent && !found.contains(&thread.pid) {
                found.push(thread.pid);
            }
        }
    }
    found
}

/// Whether it is a worker of the kernel with a real-time priority. Its work is ordinary.
pub(crate) fn is_raised_worker(thread: &Thread) -> bool {
    thread.is_kernel && thread.name.starts_with("kworker/") && thread.priority > 0
}

/// Whether it handles an interrupt.
pub(crate) fn is_handler(thread: &Thread) -> bool {
    thread.is_kernel && thread.name.starts_with("irq/")
}
