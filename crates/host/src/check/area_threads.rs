// SPDX-License-Identifier: MIT OR Apache-2.0
//! Threads that come before what is to be on time.

use super::machine::{Machine, Purpose, cpu_words};
use super::{ALL, Check, Seen};
use plan::CpuId;

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "threads-above",
        why: "A thread of the same or a higher real-time priority on the same CPU runs first, for as long as it wants.",
        reference: "sched(7)",
        tunable: true,
        matters: ALL,
        look: above,
    },
    Check {
        id: "interrupt-threads",
        why: "Handlers in threads run at priority 50 unless somebody changed it. Those above what is to be on time delay it.",
        reference: "kernel-parameters: threadirqs; kernel: irq_thread()",
        tunable: true,
        matters: &[Purpose::Robotics, Purpose::Measure],
        look: interrupt_threads,
    },
    Check {
        id: "kernel-workers",
        why: "Work of the kernel has an ordinary priority. At a real-time one it delays what is to be on time, or floods the machine.",
        reference: "kernel: Documentation/core-api/workqueue.rst",
        tunable: false,
        matters: ALL,
        look: workers,
    },
    Check {
        id: "desktop",
        why: "A desktop draws, plays and indexes, and its graphics driver holds interrupts and locks.",
        reference: "systemd.special(7), multi-user.target",
        tunable: false,
        matters: &[Purpose::Robotics, Purpose::Telco, Purpose::Measure],
        look: desktop,
    },
];

/// A thread that was seen.
pub(crate) struct Thread {
    pub(crate) pid: u32,
    pub(crate) id: u32,
    pub(crate) name: String,
    /// Its real-time priority; 0 without one.
    pub(crate) priority: u8,
    /// When it began, in ticks since boot: its number may be another thread's by now.
    pub(crate) started: u64,
    /// The CPU that it was last on.
    pub(super) cpu: CpuId,
    pub(super) is_kernel: bool,
}

/// SCHED_FIFO and SCHED_RR.
const REAL_TIME: [u64; 2] = [1, 2];
/// The flag of a kernel thread (include/linux/sched.h).
const KERNEL_THREAD: u64 = 0x0020_0000;

/// A line of /proc/PID/task/TID/stat: see proc_pid_stat(5).
pub(crate) fn thread(pid: u32, line: &str) -> Option<Thread> {
    let (head, rest) = line.rsplit_once(')')?;
    let (id, name) = head.split_once('(')?;
    let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
    let field = |number: usize| fields.get(number - 3)?.parse::<u64>().ok();
    let is_real_time = REAL_TIME.contains(&field(41)?);
    Some(Thread {
        pid,
        id: id.trim().parse().ok()?,
        name: name.to_owned(),
        started: field(22)?,
        priority: if is_real_time { u8::try_from(field(40)?).ok()? } else { 0 },
        cpu: CpuId(u32::try_from(field(39)?).ok()?),
        is_kernel: field(9)? & KERNEL_THREAD != 0,
    })
}

/// Threads that every kernel has at the highest priority, which stop a CPU for a moment when it is hot-plugged or code is patched.
const STOPPERS: [&str; 3] = ["migration/", "cpuhp/", "idle_inject/"];

/// Threads at or above the priority of what is to be on time, on its CPUs, the highest first.
pub(crate) fn threads_above<'a>(machine: &'a Machine<'_>) -> Vec<&'a Thread> {
    let priority = machine.options.priority;
    let measured = machine.measured();
    let own = std::process::id();
    let mut above: Vec<&Thread> = machine
        .threads()
        .iter()
        .filter(|thread| thread.priority >= priority && thread.pid != own && measured.contains(&thread.cpu))
        .filter(|thread| !STOPPERS.iter().any(|name| thread.name.starts_with(name)) && !thread.name.starts_with("irq/"))
        .collect();
    above.sort_by_key(|thread| (std::cmp::Reverse(thread.priority), thread.id));
    above
}

fn above(machine: &Machine<'_>) -> Option<Seen> {
    let (priority, measured) = (machine.options.priority, machine.measured());
    let above = threads_above(machine);
    let Some(first) = above.first() else {
        return Seen::ok(format!("none at {priority} or above on {}", cpu_words(&measured)));
    };
    let named: Vec<String> = above
        .iter()
        .take(8)
        .map(|thread| format!("{} {} at {} on CPU {}", thread.name, thread.id, thread.priority, thread.cpu))
        .collect();
    let further = if above.len() > named.len() { format!(", and {} more", above.len() - named.len()) } else { String::new() };
    Seen::bad(
        format!("{}{further}", named.join(", ")),
        format!("sudo chrt -f -p {} {}, or measure at a higher priority", priority.saturating_sub(1).max(1), first.id),
    )
}

/// Handlers of interrupts in threads.
fn handlers<'a>(machine: &'a Machine<'_>) -> impl Iterator<Item = &'a Thread> {
    machine.threads().iter().filter(|thread| thread.is_kernel && thread.name.starts_with("irq/"))
}

/// Those at or above the priority of what is to be on time, on its CPUs.
pub(crate) fn interrupt_threads_above<'a>(machine: &'a Machine<'_>) -> Vec<&'a Thread> {
    let measured = machine.measured();
    handlers(machine).filter(|thread| thread.priority >= machine.options.priority && measured.contains(&thread.cpu)).collect()
}

fn interrupt_threads(machine: &Machine<'_>) -> Option<Seen> {
    let all = handlers(machine).count();
    if all == 0 {
        return None;
    }
    let named = |thread: &Thread| format!("{} at {} on CPU {}", thread.name, thread.priority, thread.cpu);
    let above: Vec<String> = interrupt_threads_above(machine).into_iter().map(named).collect();
    if above.is_empty() {
        return Seen::ok(format!("{all}, none at {} or above", machine.options.priority));
    }
    Seen::bad(above.join(", "), "sudo chrt -f -p 50 THREAD, or measure at a higher priority")
}

fn workers(machine: &Machine<'_>) -> Option<Seen> {
    let raised: Vec<String> = machine
        .threads()
        .iter()
        .filter(|thread| thread.is_kernel && thread.name.starts_with("kworker/") && thread.priority > 0)
        .map(|thread| format!("{} at {}", thread.name, thread.priority))
        .collect();
    if raised.is_empty() {
        return None;
    }
    Seen::bad(raised.join(", "), "sudo chrt -o -p 0 THREAD")
}

const DESKTOPS: [&str; 8] = ["gnome-shell", "kwin_wayland", "kwin_x11", "plasmashell", "Xorg", "Xwayland", "labwc", "wayfire"];

fn desktop(machine: &Machine<'_>) -> Option<Seen> {
    let there: Vec<&str> = DESKTOPS.into_iter().filter(|name| !machine.processes(name).is_empty()).collect();
    if there.is_empty() {
        return None;
    }
    Seen::warn(format!("{} runs", there.join(" and ")), "sudo systemctl isolate multi-user.target, while it matters")
}
