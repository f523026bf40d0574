// SPDX-License-Identifier: MIT OR Apache-2.0
//! Threads that come before what is to be on time.

use super::machine::Machine;
use super::thread::{SCHED_RR, Thread, is_handler, is_raised_worker};
use super::words::{cpu_words, for_each};
use plan::CpuId;

/// A thread that comes before what is to be on time, and on which of its CPUs.
pub struct Above<'a> {
    pub thread: &'a Thread,
    pub(crate) cpus: Vec<CpuId>,
}

impl Above<'_> {
    /// Its name, its number, and where it stands.
    pub(crate) fn words(&self) -> String {
        let Thread { name, id, priority, .. } = self.thread;
        let on = cpu_words(&self.cpus);
        if self.thread.is_deadline() {
            format!("{name} {id} with SCHED_DEADLINE on {on}")
        } else {
            format!("{name} {id} at {priority} on {on}")
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
/// the kernel, whose priority is wrong wherever they run, and for those that guard the machine.
pub fn threads_above<'a>(machine: &'a Machine<'_>) -> Vec<Above<'a>> {
    let mut above = all_above(machine);
    above.retain(|Above { thread, .. }| {
        let is_stopper =
            thread.is_kernel && STOPPERS.iter().any(|name| thread.name.starts_with(name));
        !is_stopper && !is_handler(thread) && !is_raised_worker(thread) && guard(thread).is_none()
    });
    above
}

/// Threads that come before what is to be on time and have to, because they guard the machine.
pub(crate) fn guards_above<'a>(machine: &'a Machine<'_>) -> Vec<Above<'a>> {
    let mut above = all_above(machine);
    above.retain(|above| guard(above.thread).is_some());
    above
}

/// What a thread guards the machine from: at a lower priority it would not be able to.
pub(crate) fn guard(thread: &Thread) -> Option<&'static str> {
    match (thread.is_kernel, thread.name.as_str()) {
        (false, "rtkit-daemon") => Some(
            "of RealtimeKit: it sleeps, and takes real-time priorities away when ordinary threads \
             starve",
        ),
        (false, "watchdog" | "wd_keepalive") | (true, "watchdogd") => {
            Some("keeps the hardware's watchdog from restarting the machine")
        }
        (true, name) if name.starts_with("watchdog/") => {
            Some("the kernel's detector of lockups: see watchdogs")
        }
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
pub(crate) fn lowering(machine: &Machine<'_>, above: &[Above<'_>], at_most: u8) -> String {
    let ids = |is_wanted: &dyn Fn(&Thread) -> bool| -> Vec<String> {
        let wanted = above
            .iter()
            .map(|above| above.thread)
            .filter(|thread| !thread.is_of_governor() && is_wanted(thread));
        wanted.map(|thread| thread.id.to_string()).collect()
    };
    let mut ways = Vec::new();
    match lower_priority(machine, at_most) {
        Some(to) => {
            for (flag, ids) in [
                ("-f", ids(&|thread| thread.policy != SCHED_RR)),
                ("-r", ids(&|thread| thread.policy == SCHED_RR)),
            ] {
                if !ids.is_empty() {
                    ways.push(for_each(&format!("sudo chrt {flag} -p {to} $i"), &ids));
                }
            }
        }
        None => ways.push("no real-time priority is below 1".to_owned()),
    }
    if above.iter().any(|above| above.thread.is_of_governor()) {
        ways.push(
            "without the governor schedutil: echo performance | sudo tee \
             /sys/devices/system/cpu/cpufreq/policy*/scaling_governor"
                .to_owned(),
        );
    }
    let mut text = ways.join(", and ");
    let highest = above.iter().map(|above| above.thread.rank()).max().unwrap_or(0);
    if highest < 99 {
        let joined = if lower_priority(machine, at_most).is_some() { "or run" } else { "run" };
        let or_above = if highest < 98 { " or above" } else { "" };
        text += &format!(", {joined} what is to be on time at {}{or_above}", highest + 1);
    }
    text
}
