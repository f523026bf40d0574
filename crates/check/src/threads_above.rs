// SPDX-License-Identifier: MIT OR Apache-2.0
//! Threads that come before what is to be on time.

use super::machine::Machine;
use super::sets::sorted;
use super::thread::{SCHED_RR, Thread, is_handler, is_raised_worker};
use super::words::{cpu_words, for_each};
use model::{Phrase, phrase};
use plan::CpuId;
use std::collections::BTreeMap;

/// A thread that comes before what is to be on time, and on which of its CPUs.
pub struct Above<'a> {
    pub thread: &'a Thread,
    pub(crate) cpus: Vec<CpuId>,
}

impl Above<'_> {
    /// Its name, its number, and where it stands.
    pub(crate) fn words(&self) -> Phrase {
        let Thread { name, id, priority, .. } = self.thread;
        let (thread, cpus) = (format!("{name} {id}"), cpu_words(&self.cpus));
        if self.thread.is_deadline() {
            phrase!("deadline-thread-on", thread, cpus)
        } else {
            phrase!("thread-at-on", thread, priority = *priority, cpus)
        }
    }
}

/// Threads at or above the priority of what is to be on time that may run on its CPUs, the highest
/// first.
pub(crate) fn all_above<'a>(machine: &'a Machine<'_>) -> Vec<Above<'a>> {
    let measured = machine.measured();
    let threads = machine.threads().iter();
    let mut above: Vec<Above<'a>> = threads
        .filter(|thread| {
            thread.rank() > 0
                && thread.rank() >= machine.options.priority
                && !machine.is_spared(thread.pid)
        })
        .map(|thread| Above { thread, cpus: thread.on(&measured, &machine.isolated) })
        .filter(|above| !above.cpus.is_empty())
        .collect();
    above.sort_by_key(|above| (std::cmp::Reverse(above.thread.rank()), above.thread.id));
    above
}

/// Threads that every kernel has at the highest priority, which stop a CPU for a moment when it is
/// hot-plugged or code is patched.
pub(crate) const STOPPERS: [&str; 3] = ["migration/", "cpuhp/", "idle_inject/"];

/// Threads that come before what is to be on time, but for handlers of interrupts, for workers of
/// the kernel, whose priority is wrong wherever they run, for those that guard the machine, and for
/// those of another teiji that measures.
pub fn threads_above<'a>(machine: &'a Machine<'_>) -> Vec<Above<'a>> {
    let mut above = all_above(machine);
    above.retain(|Above { thread, .. }| {
        let is_stopper =
            thread.is_kernel && STOPPERS.iter().any(|name| thread.name.starts_with(name));
        !is_stopper
            && !is_handler(thread)
            && !is_raised_worker(thread)
            && guard(thread).is_none()
            && !is_of_measuring(machine, thread)
    });
    above
}

/// Whether a thread is one of those with which a teiji measures, as its name says.
fn measures(thread: &Thread) -> bool {
    let number = thread.name.strip_prefix("teiji-").unwrap_or_default();
    !thread.is_kernel && !number.is_empty() && number.bytes().all(|digit| digit.is_ascii_digit())
}

/// Whether a thread is one of a process that measures so.
fn is_of_measuring(machine: &Machine<'_>, thread: &Thread) -> bool {
    machine.threads().iter().any(|other| other.pid == thread.pid && measures(other))
}

/// Other teijis that measure, and come before what is to be on time.
pub(crate) fn measuring_above(machine: &Machine<'_>) -> Vec<Phrase> {
    let mut by_process: BTreeMap<u32, Vec<Above<'_>>> = BTreeMap::new();
    for above in all_above(machine).into_iter().filter(|above| measures(above.thread)) {
        by_process.entry(above.thread.pid).or_default().push(above);
    }
    let words = |(process, threads): (u32, Vec<Above<'_>>)| {
        let highest = threads.first()?.thread;
        let scheduling = match highest.policy {
            _ if highest.is_deadline() => "SCHED_DEADLINE".to_owned(),
            SCHED_RR => format!("SCHED_RR {}", highest.priority),
            _ => format!("SCHED_FIFO {}", highest.priority),
        };
        let cpus = cpu_words(&sorted(threads.into_iter().flat_map(|above| above.cpus)));
        Some(phrase!("teiji-measures", process = process.to_string(), cpus, scheduling))
    };
    by_process.into_iter().filter_map(words).collect()
}

/// Threads that come before what is to be on time and have to, because they guard the machine.
pub(crate) fn guards_above<'a>(machine: &'a Machine<'_>) -> Vec<Above<'a>> {
    let mut above = all_above(machine);
    above.retain(|above| guard(above.thread).is_some());
    above
}

/// What a thread guards the machine from: at a lower priority it would not be able to.
pub(crate) fn guard(thread: &Thread) -> Option<Phrase> {
    match (thread.is_kernel, thread.name.as_str()) {
        (false, "rtkit-daemon") => Some(phrase!("guards-from-starving")),
        (false, "watchdog" | "wd_keepalive") | (true, "watchdogd") => {
            Some(phrase!("guards-from-watchdog"))
        }
        (true, name) if name.starts_with("watchdog/") => Some(phrase!("guards-from-lockups")),
        _ => None,
    }
}

/// Handlers of interrupts that come before what is to be on time.
pub fn interrupt_threads_above<'a>(machine: &'a Machine<'_>) -> Vec<Above<'a>> {
    let mut above = all_above(machine);
    above.retain(|above| is_handler(above.thread));
    above
}

/// The priority that a thread gets so that it comes later; none where no real-time priority is
/// lower.
pub fn lower_priority(machine: &Machine<'_>, at_most: u8) -> Option<u8> {
    Some(machine.options.priority.saturating_sub(1).min(at_most)).filter(|priority| *priority > 0)
}

/// What lets threads come after what is to be on time: real numbers, and priorities that are below
/// its own.
pub(crate) fn lowering(machine: &Machine<'_>, above: &[Above<'_>], at_most: u8) -> Phrase {
    let ids = |is_wanted: &dyn Fn(&Thread) -> bool| -> Vec<u32> {
        let wanted = above
            .iter()
            .map(|above| above.thread)
            .filter(|thread| !thread.is_of_governor() && is_wanted(thread));
        wanted.map(|thread| thread.id).collect()
    };
    let mut ways: Vec<Phrase> = Vec::new();
    match lower_priority(machine, at_most) {
        Some(to) => {
            for (flag, ids) in [
                ("-f", ids(&|thread| thread.policy != SCHED_RR)),
                ("-r", ids(&|thread| thread.policy == SCHED_RR)),
            ] {
                if !ids.is_empty() {
                    ways.push(for_each(&format!("sudo chrt {flag} -p {to} $i"), ids).into());
                }
            }
        }
        None => ways.push(phrase!("no-lower-priority")),
    }
    if above.iter().any(|above| above.thread.is_of_governor()) {
        let command = "echo performance | sudo tee \
                       /sys/devices/system/cpu/cpufreq/policy*/scaling_governor";
        ways.push(phrase!("without-schedutil", command));
    }
    let lowered = Phrase::joined("and", ways);
    let highest = above.iter().map(|above| above.thread.rank()).max().unwrap_or(0);
    let run_above = match highest {
        99.. => return lowered,
        98 => phrase!("run-at", priority = 99_u8),
        _ => phrase!("run-at-or-above", priority = highest + 1),
    };
    let key = if lower_priority(machine, at_most).is_some() { "or" } else { "then" };
    Phrase::joined(key, [lowered, run_above])
}
