// SPDX-License-Identifier: MIT OR Apache-2.0
//! Threads as /proc shows them: their policy and priority, and the CPUs that they may run on.

use super::files::Files;
use plan::CpuId;

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
/// The flag of a kernel thread (include/linux/sched.h).
const KERNEL_THREAD: u64 = 0x0020_0000;

/// A line of /proc/PID/task/TID/stat: see proc_pid_stat(5).
pub fn thread(pid: u32, line: &str) -> Option<Thread> {
    let (head, rest) = line.rsplit_once(')')?;
    let (id, name) = head.split_once('(')?;
    let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
    let field = |number: usize| fields.get(number - 3)?.parse::<u64>().ok();
    let policy = field(41)?;
    Some(Thread {
        pid,
        id: id.trim().parse().ok()?,
        parent: u32::try_from(field(4)?).ok()?,
        name: name.to_owned(),
        started: field(22)?,
        priority: if matches!(policy, SCHED_FIFO | SCHED_RR) {
            u8::try_from(field(40)?).ok()?
        } else {
            0
        },
        cpu: CpuId(u32::try_from(field(39)?).ok()?),
        allowed: None,
        is_kernel: field(9)? & KERNEL_THREAD != 0,
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

/// Every thread that can be seen. One file is read of each, and a second one of those with a
/// real-time policy.
pub(crate) fn all(files: &Files<'_>) -> Vec<Thread> {
    let pids = files.names("proc").into_iter().filter_map(|name| name.parse::<u32>().ok());
    let of = |pid: u32| {
        let folder = format!("proc/{pid}/task");
        files.names(&folder).into_iter().filter_map(move |id| {
            let mut thread = thread(pid, &files.text(&format!("{folder}/{id}/stat"))?)?;
            if thread.rank() > 0 {
                thread.allowed = allowed(files, &format!("{folder}/{id}/status"));
            }
            Some(thread)
        })
    };
    pids.flat_map(of).collect()
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
