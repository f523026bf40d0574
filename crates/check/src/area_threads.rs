// SPDX-License-Identifier: MIT OR Apache-2.0
//! Threads that come before what is to be on time.

use super::finding::{ALL, Check, Seen, Status, check, tunable};
use super::machine::{Machine, Purpose};
use super::thread::{RANK_OF_DEADLINE, Thread, is_handler, is_raised_worker};
use super::threads_above::{
    Above, guard, guards_above, interrupt_threads_above, lowering, measuring_above, threads_above,
};
use super::words::{cpu_words, for_each};
use model::{Phrase, phrase};

pub(crate) const CHECKS: &[Check] = &[
    tunable("threads-above", ALL, above),
    tunable("interrupt-threads", &[Purpose::Robotics, Purpose::Measure], interrupt_threads),
    check("kernel-workers", ALL, workers),
    check("desktop", &[Purpose::Robotics, Purpose::Telco, Purpose::Measure], desktop),
];

/// Why it is not known which threads come first: none of the kernel's own can be seen, which every
/// machine has.
fn hidden(machine: &Machine<'_>) -> Option<String> {
    match machine.threads() {
        [] => Some("no thread can be seen in /proc".to_owned()),
        threads if threads.iter().any(|thread| thread.is_kernel) => None,
        threads => Some(format!(
            "{} can be seen, and none of the kernel's: a container or hidepid hides the others",
            counted(threads.len())
        )),
    }
}

fn counted(threads: usize) -> String {
    if threads == 1 { "1 thread".to_owned() } else { format!("{threads} threads") }
}

/// Where something that comes first is counted from.
fn rank_words(machine: &Machine<'_>) -> String {
    match machine.options.priority {
        RANK_OF_DEADLINE => "with SCHED_DEADLINE".to_owned(),
        priority => format!("at {priority} or above"),
    }
}

fn above(machine: &Machine<'_>) -> Option<Seen> {
    let (above, guards) = (threads_above(machine), guards_above(machine));
    let guard_words = |above: &Above<'_>| {
        Some(phrase!("guard", thread = above.words(), guards = guard(above.thread)?))
    };
    let measuring = measuring_above(machine);
    let lowered = (!above.is_empty()).then(|| lowering(machine, &above, u8::MAX));
    let alone = (!measuring.is_empty()).then(|| phrase!("measure-one-by-one"));
    let found = above.iter().map(Above::words).chain(measuring);
    let found = Phrase::joined("comma", found.chain(guards.iter().filter_map(guard_words)));
    if lowered.is_some() || alone.is_some() {
        return Seen::bad(found, Phrase::joined("and", lowered.into_iter().chain(alone)));
    }
    if !guards.is_empty() {
        return Some(Seen { status: Status::Warn, found, action: None });
    }
    let raised = machine.threads().iter().any(is_raised_worker);
    let but = if raised { " but those of kernel-workers" } else { "" };
    let none = format!("none{but} {} on {}", rank_words(machine), cpu_words(&machine.measured()));
    match hidden(machine) {
        Some(why) => Seen::unknown(why),
        None => Seen::ok(none),
    }
}

/// What handlers in threads have unless somebody changed it.
pub const OF_INTERRUPTS: u8 = 50;

fn interrupt_threads(machine: &Machine<'_>) -> Option<Seen> {
    let all = machine.threads().iter().filter(|thread| is_handler(thread)).count();
    if all == 0 {
        return hidden(machine).and_then(Seen::unknown);
    }
    let above = interrupt_threads_above(machine);
    if above.is_empty() {
        return Seen::ok(format!(
            "{all}, none {} on {}",
            rank_words(machine),
            cpu_words(&machine.measured())
        ));
    }
    let found = Phrase::joined("comma", above.iter().map(Above::words));
    Seen::bad(found, lowering(machine, &above, OF_INTERRUPTS))
}

fn workers(machine: &Machine<'_>) -> Option<Seen> {
    let raised: Vec<&Thread> =
        machine.threads().iter().filter(|thread| is_raised_worker(thread)).collect();
    if raised.is_empty() {
        return None;
    }
    let words = raised.iter().map(|thread| {
        phrase!("thread-at", thread = thread.name.as_str(), priority = thread.priority)
    });
    let ids = raised.iter().map(|thread| thread.id);
    Seen::bad(Phrase::joined("comma", words), for_each("sudo chrt -o -p 0 $i", ids))
}

const DESKTOPS: [&str; 8] = [
    "gnome-shell",
    "kwin_wayland",
    "kwin_x11",
    "plasmashell",
    "Xorg",
    "Xwayland",
    "labwc",
    "wayfire",
];

fn desktop(machine: &Machine<'_>) -> Option<Seen> {
    let there: Vec<&str> =
        DESKTOPS.into_iter().filter(|name| !machine.processes(name).is_empty()).collect();
    if there.is_empty() {
        return None;
    }
    let found = format!("{} runs", there.join(" and "));
    // Programs for audio have windows.
    if machine.options.purpose == Purpose::Audio {
        return Seen::ok(found);
    }
    Seen::warn(
        found,
        "save all work, because this ends the session of everybody at a screen: sudo systemctl \
         isolate multi-user.target",
    )
}

#[cfg(test)]
#[path = "area_threads_tests.rs"]
pub(crate) mod tests;
