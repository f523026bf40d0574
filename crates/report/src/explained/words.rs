// SPDX-License-Identifier: MIT OR Apache-2.0
//! The words for what a processor did while a thread waited to wake up.

use crate::alike::grouped;
use crate::format::{self, exact_micros};
use crate::language::{texts, tr};
use model::{Account, Cause, Evidence, Inlined, OtherCpu, Part, PartKind, ProgramThread, Source};

/// Callers that a sentence names; the table's details name all that are known.
const CALLERS: usize = 3;

/// What the processor did. Events do not tell whether preemption was off, or the scheduler was at
/// work.
pub(crate) fn kind_name(kind: PartKind, from_events: bool) -> &'static str {
    match kind {
        PartKind::PreemptionOff if from_events => texts::not_preempted,
        PartKind::InterruptsOff => texts::interrupts_off,
        PartKind::Idle => texts::idle,
        PartKind::TimerPending => texts::timer_not_yet_fired,
        PartKind::HardInterrupt => texts::hard_interrupt,
        PartKind::Softirq => texts::softirqs,
        PartKind::OtherCpu => texts::waiting_for_another_cpu,
        PartKind::PreemptionOff => texts::preemption_off,
        PartKind::OtherThread => texts::another_thread_first,
        PartKind::LeavingIdle => texts::leaving_idle,
        PartKind::Scheduling => texts::scheduling,
        PartKind::Switch => texts::context_switch,
        PartKind::Return => texts::return_to_user_space,
        PartKind::Thread => texts::the_thread_itself,
        PartKind::Stopped => texts::stopped_by_a_signal,
        PartKind::Busy => texts::still_busy,
        PartKind::Blocked => texts::asleep_for_something_else,
        PartKind::Hypervisor => texts::hypervisor_ran,
        PartKind::Unattributed => texts::not_attributed,
    }
    .said()
}

fn micros(ns: u64) -> String {
    exact_micros(ns.cast_signed())
}

/// A function, and where it is in the kernel's source if that is known.
fn located(function: &str, source: Option<&Source>) -> String {
    source.map_or_else(
        || function.to_owned(),
        |source| tr!(function_at_file_line, function, file = source.file, line = source.line),
    )
}

/// The same, and the innermost function that was inlined there.
fn located_within(function: &str, source: Option<&Source>) -> String {
    let located = located(function, source);
    match source.and_then(|source| source.inlined.first()) {
        Some(Inlined { function, file, line }) => {
            tr!(located_inlined_function_file, located, function, file, line)
        }
        None => located,
    }
}

/// The stack of a part, innermost first, with what was inlined.
fn stack(part: &Part) -> Vec<String> {
    let sources = std::iter::once(part.sources.function.as_ref());
    let sources = sources
        .chain(part.sources.called_by.iter().map(Option::as_ref))
        .chain(std::iter::repeat(None));
    let mut stack = Vec::new();
    for (function, source) in part.function.iter().chain(&part.called_by).zip(sources) {
        for Inlined { function, file, line } in
            source.into_iter().flat_map(|source| &source.inlined)
        {
            stack.push(tr!(function_file_line_inlined, function, file, line));
        }
        stack.push(located(function, source));
    }
    stack
}

/// What all of these have; none where they differ in it.
fn of_all<'a, T: PartialEq>(
    parts: &[&'a Part],
    of: impl Fn(&'a Part) -> Option<&'a T>,
) -> Option<&'a T> {
    let (&first, others) = parts.split_first()?;
    of(first).filter(|value| others.iter().all(|&part| of(part) == Some(*value)))
}

/// The callers that all of these have, innermost first.
fn callers(parts: &[&Part]) -> Vec<String> {
    let Some((first, others)) = parts.split_first() else { return Vec::new() };
    let is_of_all = |(place, function): &(usize, &String)| {
        others.iter().all(|part| part.called_by.get(*place) == Some(*function))
    };
    let known = first.called_by.iter().enumerate().take(CALLERS);
    known.take_while(is_of_all).map(|(_, function)| function.clone()).collect()
}

/// The task of these parts; of several, the time in each, the longest first. None of what is no
/// task's.
fn tasks(parts: &[&Part]) -> String {
    let is_of_none = |part: &&Part| {
        let is_of_none = matches!(
            part.kind,
            PartKind::Stopped | PartKind::Blocked | PartKind::Hypervisor | PartKind::Unattributed
        );
        is_of_none && part.task.is_none()
    };
    if parts.iter().all(is_of_none) {
        return String::new();
    }
    let mut tasks = grouped(parts.iter().map(|part| (part.task.clone(), part.length_ns)));
    if let [(task, _)] = tasks.as_slice() {
        return task.as_ref().map_or_else(|| tr!(task_unknown), |task| tr!(in_task, task));
    }
    tasks.sort_by_key(|(_, times)| std::cmp::Reverse(times.iter().sum::<u64>()));
    let each = tasks.iter().map(|(task, times)| {
        let task = task.as_deref().unwrap_or_else(|| texts::not_known.said());
        tr!(task_for_time, task, time = micros(times.iter().sum()))
    });
    tr!(in_tasks, tasks = format::list(&each.collect::<Vec<_>>()))
}

/// The one sentence about a latency. Where its cause is of several parts it names what all of them
/// have, and the time in each task.
pub(crate) fn sentence(account: &Account) -> String {
    let title = account_title(account);
    let Some((part, sum)) = account.cause() else { return title };
    let parts = account.parts_of_cause();
    let what = tr!(what_for_time_us, what = kind_of(part.kind, part.evidence), time = micros(sum));
    let source = of_all(&parts, |part| part.sources.function.as_ref());
    let place = match (&part.function, &part.name) {
        (Some(function), _) => tr!(in_function, function = located(function, source)),
        (None, Some(name)) => tr!(in_function, function = name),
        (None, None) => String::new(),
    };
    let callers = callers(&parts);
    let callers = if callers.is_empty() {
        String::new()
    } else {
        tr!(called_by_callers, callers = callers.join(texts::comma.said()))
    };
    let task = tasks(&parts);
    let meanwhile = of_all(&parts, |part| part.other_cpu.as_ref()?.function.as_ref());
    let meanwhile =
        meanwhile.map_or_else(String::new, |function| tr!(while_cpu_ran_function, function));
    tr!(title_what_place_callers, title, what, place, callers, task, meanwhile)
}

pub(crate) fn account_title(account: &Account) -> String {
    let time = micros(account.latency_ns);
    if let Some(ProgramThread { name, number, .. }) = &account.program {
        let program = name.clone().unwrap_or_else(|| number.to_string());
        return tr!(
            time_us_at_wake_up,
            time,
            activation = format::count(account.activation),
            program
        );
    }
    match account.thread {
        0 => tr!(time_us_at_activation, time, activation = format::count(account.activation)),
        thread => tr!(
            time_us_activation_thread,
            time,
            activation = format::count(account.activation),
            thread
        ),
    }
}

/// Of each part: its begin, its length, what it was, and where.
pub(crate) fn part_rows(account: &Account) -> Vec<[String; 4]> {
    let row = |part: &Part| {
        let times = [part.begin_ns, part.length_ns].map(micros);
        let [begin, length] = times;
        [begin, length, kind_of(part.kind, part.evidence), place(part)]
    };
    account.parts.iter().map(row).collect()
}

/// What the processor did, marked where that is inferred from what ran.
pub(crate) fn kind_of(kind: PartKind, evidence: Option<Evidence>) -> String {
    let what = kind_name(kind, evidence.is_some());
    match evidence {
        Some(Evidence::Inferred) => tr!(inferred_part, what),
        _ => what.to_owned(),
    }
}

/// A task, and its priority where it has one in real time.
fn task_of(task: &str, part: &Part) -> String {
    part.priority.map_or_else(|| task.to_owned(), |priority| tr!(at_priority, task, priority))
}

/// The function of a part and its task, as far as they say something.
fn place(part: &Part) -> String {
    let function = part
        .function
        .as_ref()
        .map_or_else(String::new, |function| located(function, part.sources.function.as_ref()));
    let task = match (&part.task, &part.next_task) {
        (Some(from), Some(to)) => tr!(from_to, from, to),
        (Some(task), None) => tr!(task_2, task = task_of(task, part)),
        (None, _) => String::new(),
    };
    let interrupted = part
        .interrupted
        .as_ref()
        .map_or_else(String::new, |function| tr!(interrupted_function, function));
    let meanwhile = part.other_cpu.as_ref().and_then(|other| other.function.as_ref());
    let meanwhile =
        meanwhile.map_or_else(String::new, |function| tr!(that_cpu_in_function, function));
    let name = part.name.clone().unwrap_or_default();
    [name, function, interrupted, task, meanwhile]
        .into_iter()
        .filter(|text| !text.is_empty())
        .collect::<Vec<_>>()
        .join(texts::comma.said())
}

/// What else is known of a cause: sentences. Of several parts they are of the longest, which they
/// begin with.
pub(crate) fn details(account: &Account) -> Vec<String> {
    let Some((part, _)) = account.cause() else { return Vec::new() };
    let mut lines = Vec::new();
    if account.parts_of_cause().len() > 1 {
        let [time, begin] = [part.length_ns, part.begin_ns].map(micros);
        lines.push(tr!(of_its_longest_part, time, begin));
    }
    let before = lines.len();
    if part.kind == PartKind::InterruptsOff {
        let off_at =
            part.off_at.as_ref().map(|place| located_within(place, part.sources.off_at.as_ref()));
        let off = off_at.map_or_else(
            || tr!(interrupts_switched_off_before),
            |place| match part.off_before_ns {
                Some(0) | None => tr!(interrupts_switched_off_place, place),
                Some(before) => {
                    tr!(interrupts_switched_off_place_before, place, before = micros(before))
                }
            },
        );
        let on =
            part.on_at.as_ref().map(|place| located_within(place, part.sources.on_at.as_ref()));
        let on = on.map_or_else(String::new, |place| tr!(on_again_place, place));
        lines.push(tr!(off_on, off, on));
    }
    if let Some(OtherCpu { function: Some(function), called_by, task }) = &part.other_cpu {
        let stack: Vec<&str> =
            std::iter::once(function).chain(called_by).map(String::as_str).collect();
        let task = task.as_ref().map_or_else(|| tr!(task_unknown), |task| tr!(in_task, task));
        lines.push(tr!(other_cpu_meanwhile_innermost, stack = stack.join(" < "), task));
    }
    if !part.called_by.is_empty() {
        lines.push(tr!(stack_innermost_first_stack, stack = stack(part).join(" < ")));
    }
    if part.mostly.len() > 1 {
        let mostly = part.mostly.iter().map(|time| {
            let function = located_within(&time.function, time.source.as_ref());
            format!("{function} {}", micros(time.own_ns))
        });
        let mostly: Vec<String> = mostly.collect();
        lines.push(tr!(most_own_time_us, functions = mostly.join(texts::comma.said())));
    }
    if lines.len() == before { Vec::new() } else { lines }
}

pub(crate) fn cause_name(cause: &Cause) -> String {
    named(cause.kind, cause.evidence, cause.function.as_deref().or(cause.place.as_deref()))
}

/// The cause of one latency, in a few words.
pub(crate) fn cause_of(account: &Account) -> Option<String> {
    account.cause().map(|(part, _)| named(part.kind, part.evidence, part.place()))
}

fn named(kind: PartKind, evidence: Option<Evidence>, place: Option<&str>) -> String {
    let what = kind_of(kind, evidence);
    match place {
        Some(function) => tr!(what_in_function, what, function),
        None => what,
    }
}

/// Of each cause: how many latencies, their share, the largest, its activation, and the cause.
pub(crate) fn cause_rows(causes: &[Cause], all: usize) -> Vec<Vec<String>> {
    let row = |cause: &Cause| {
        let share = cause.count as f64 / all.max(1) as f64;
        let activation = match cause.example {
            (0, activation) => format::count(activation),
            (thread, activation) => {
                tr!(activation_of_thread, activation = format::count(activation), thread)
            }
        };
        vec![
            format::count(cause.count),
            format!("{:.0} %", share * 100.0),
            micros(cause.worst_ns),
            activation,
            cause_name(cause),
        ]
    };
    causes.iter().map(row).collect()
}
