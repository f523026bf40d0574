// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where a latency went, from the events of its CPU: each ns from the planned time to the reading
//! of the clock is one part's.
//!
//! What events show is graded ([`Evidence`]): between two of them it is known what ran; that a
//! timer's interrupt came late is seen, and why is not.

use crate::events::{Event, NameId, Names, Own, Task, TaskId, What, softirq};
use crate::watch::{Leg, Spike};
use model::{Account, Evidence, Part, PartKind, ProgramThread, Span, Timeline};
use std::collections::HashMap;

/// What is known beside events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Beside {
    /// How much of the time a hypervisor may have taken, ns, as its count of steal time moved.
    pub stolen_ns: u64,
    /// How long leaving an idle state takes at most, ns.
    pub idle_exit_ns: u64,
}

/// Something that interrupts a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Context {
    Interrupt(NameId),
    Softirq(u8),
}

/// Where the idle thread is in its loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Idle {
    Halted,
    /// An interrupt came, and no event has ended the halt since: on its way out of it.
    Interrupted,
    /// The halt ended with interrupts off, before the interrupt that ended it came.
    Resumed,
    Runs,
}

/// What a CPU does at a time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct State {
    /// None where no event has shown it yet.
    running: Option<i64>,
    /// Its name and priority, as the switch to it has them.
    task: Option<TaskId>,
    /// The innermost last.
    contexts: Vec<Context>,
    /// What workers of the kernel execute, by their threads.
    works: Vec<(i64, NameId)>,
    /// None where no event tells.
    idle: Option<Idle>,
}

impl State {
    /// Before the first of these events.
    fn before(events: &[Event]) -> Self {
        let idle = events.iter().find_map(|event| match event.what {
            What::Idle { begins } => Some(if begins { Idle::Runs } else { Idle::Halted }),
            _ => None,
        });
        State { idle, ..State::default() }
    }

    fn apply(&mut self, event: &Event) {
        self.idle = match (event.what, self.idle) {
            (What::Idle { begins: true }, _) => Some(Idle::Halted),
            (What::Idle { begins: false }, Some(Idle::Halted)) => Some(Idle::Resumed),
            (What::Interrupt { begins: true, .. }, Some(Idle::Halted)) => Some(Idle::Interrupted),
            (What::Idle { begins: false }, Some(Idle::Interrupted))
            | (What::Interrupt { begins: true, .. }, Some(Idle::Resumed))
            | (What::Switch { .. }, Some(_)) => Some(Idle::Runs),
            (_, idle) => idle,
        };
        match event.what {
            What::Switch { to, to_task, .. } => {
                (self.running, self.task) = (Some(to), Some(to_task));
                // A switch is made in no interrupt: the end of one was not recorded.
                self.contexts.clear();
                return;
            }
            What::Interrupt { name, begins: true } => self.contexts.push(Context::Interrupt(name)),
            What::Softirq { vector, begins: true } => self.contexts.push(Context::Softirq(vector)),
            What::Interrupt { begins: false, .. } => {
                self.leave(|context| matches!(context, Context::Interrupt(_)));
            }
            What::Softirq { begins: false, .. } => {
                self.leave(|context| matches!(context, Context::Softirq(_)));
            }
            What::Work { function, begins } => {
                self.works.retain(|(worker, _)| *worker != event.by);
                if begins {
                    self.works.push((event.by, function));
                }
            }
            What::Waking { .. } | What::Migrated { .. } | What::Idle { .. } => {}
        }
        // By a thread that no switch led to: it was not recorded.
        if self.running != Some(event.by) {
            (self.running, self.task) = (Some(event.by), None);
        }
    }

    /// What the running thread executes for the kernel.
    fn work(&self) -> Option<NameId> {
        let is_running = |(worker, _): &&(i64, NameId)| Some(*worker) == self.running;
        self.works.iter().find(is_running).map(|(_, function)| *function)
    }

    fn leave(&mut self, is_left: impl Fn(&Context) -> bool) {
        if let Some(place) = self.contexts.iter().rposition(is_left) {
            self.contexts.truncate(place);
        }
    }
}

/// Accounts for a latency, whose legs follow one another; `own` is what the thread was at from
/// which time on. None where events are missing, or none shows how the thread came to run.
pub fn account(
    spike: &Spike,
    legs: &[Leg<'_>],
    own: &[(i64, Own)],
    beside: &Beside,
) -> Option<Account> {
    let names = legs.first()?.window.names;
    if legs.iter().any(|leg| leg.window.complete_from > leg.from) {
        return None;
    }
    let scene = Scene::of(spike, legs, own)?;
    let mut parts: Vec<Part> = Vec::new();
    for segment in legs.iter().flat_map(|leg| scene.segments(leg)) {
        let part = segment.part(spike, names);
        match parts.last_mut() {
            Some(last) if is_one(last, &part) => last.length_ns += part.length_ns,
            _ => parts.push(part),
        }
    }
    let parts = coarse(without_stolen(parts, beside));
    Some(Account {
        thread: spike.thread,
        program: spike.woken.map(|_| scene.program()),
        activation: spike.activation,
        latency_ns: u64::try_from(spike.woke - spike.planned).unwrap_or(0),
        timeline: timeline(&parts),
        parts,
    })
}

fn is_one(one: &Part, other: &Part) -> bool {
    let what = |part: &Part| Part { begin_ns: 0, length_ns: 0, ..part.clone() };
    what(one) == what(other)
}

/// A while in which a CPU did one thing.
#[derive(Debug, Default)]
struct Segment {
    begin: i64,
    end: i64,
    kind: PartKind,
    running: Option<i64>,
    task: Option<TaskId>,
    context: Option<Context>,
    work: Option<NameId>,
    /// None of what is not attributed.
    evidence: Option<Evidence>,
}

impl Segment {
    fn part(&self, spike: &Spike, names: &Names) -> Part {
        let known = self.task.and_then(|task| names.task(task));
        let task = self.running.map(|thread| match (thread, known) {
            (0, _) => "idle".to_owned(),
            (_, Some(task)) => task.name.clone(),
            (thread, None) => thread.to_string(),
        });
        let name = self.context.map(|context| match context {
            Context::Interrupt(name) => names.name(name).to_owned(),
            Context::Softirq(vector) => softirq(vector).to_owned(),
        });
        let name = name.or_else(|| self.work.map(|work| names.name(work).to_owned()));
        let ns = |time: i64| u64::try_from(time).unwrap_or(0);
        Part {
            kind: self.kind,
            begin_ns: ns(self.begin - spike.planned),
            length_ns: ns(self.end - self.begin),
            name,
            task,
            priority: known.and_then(Task::real_time),
            evidence: self.evidence,
            ..Part::default()
        }
    }
}

impl Task {
    /// Its real-time priority, 1 to 99.
    fn real_time(&self) -> Option<u8> {
        u8::try_from(99 - self.priority.clamp(-1, 200)).ok().filter(|prio| (1..=99).contains(prio))
    }
}

/// When what happened of a wake-up.
struct Scene<'a> {
    spike: &'a Spike,
    names: &'a Names,
    own: &'a [(i64, Own)],
    /// From when on the thread waited for this time: a program's may be late for it already.
    asks_from: i64,
    /// The thread, as the switch to it has it.
    task: Option<TaskId>,
    /// When the interrupt came that made the thread runnable.
    interrupted: i64,
    /// When it was made runnable.
    woken: i64,
    /// What ran then.
    woken_in: Option<i64>,
    /// By a CPU that the thread was not on.
    is_woken_elsewhere: bool,
    /// The thread's own priority, as the kernel counts.
    priority: Option<i64>,
}

impl<'a> Scene<'a> {
    /// None where no event shows how the thread came to run.
    fn of(spike: &'a Spike, legs: &'a [Leg<'a>], own: &'a [(i64, Own)]) -> Option<Self> {
        let names = legs.first()?.window.names;
        let ours = spike.number;
        let events = || legs.iter().flat_map(|leg| &leg.window.events);
        let task = events().rev().find_map(|event| match event.what {
            What::Switch { to, to_task, .. } if to == ours => Some(to_task),
            _ => None,
        });
        let waking = |event: &Event| match event.what {
            What::Waking { thread, priority } if thread == ours => Some(priority),
            _ => None,
        };
        let of_task = task.and_then(|task| names.task(task)).map(|task| task.priority);
        let priority = events().find_map(waking).or(of_task);
        let asks_from = asks_from(spike, own);
        let within = |event: &Event| (asks_from..=spike.woke).contains(&event.time);
        let is_waking = |event: &Event| waking(event).is_some() && within(event);
        let on_leg = legs.iter().find_map(|leg| {
            let events = &leg.window.events;
            events.iter().position(is_waking).map(|place| (events, place))
        });
        let at = |interrupted: i64, woken: i64, woken_in| Scene {
            spike,
            names,
            own,
            asks_from,
            task,
            interrupted,
            woken,
            woken_in,
            is_woken_elsewhere: spike.woken.is_some() && on_leg.is_none(),
            priority,
        };
        // It was late already.
        let before = own.partition_point(|(time, _)| *time < spike.planned);
        let was = own[..before].last().map(|(_, was)| *was);
        if spike.woken.is_none() && matches!(was, Some(Own::Runs | Own::Waits)) {
            return Some(at(spike.planned, spike.planned, None));
        }
        let Some((events, place)) = on_leg else {
            // Another CPU may have made it runnable: then the switch alone is seen.
            let to_us = |event: &&Event| {
                matches!(event.what, What::Switch { to, .. } if to == ours) && within(event)
            };
            let woken = spike.woken.or_else(|| events().find(to_us).map(|event| event.time))?;
            return Some(at(woken, woken, None));
        };
        // A softirq that the outermost interrupt came into began before it.
        let (mut state, mut begins) = (State::default(), Vec::new());
        for event in &events[..place] {
            state.apply(event);
            begins.resize(state.contexts.len(), event.time);
        }
        let is_interrupt = |context: &Context| matches!(context, Context::Interrupt(_));
        let outermost = state.contexts.iter().position(is_interrupt).unwrap_or(0);
        let woken = &events[place];
        let interrupted = begins.get(outermost).copied().unwrap_or(woken.time).max(spike.planned);
        Some(at(interrupted, woken.time, Some(woken.by)))
    }

    fn program(&self) -> ProgramThread {
        let task = self.task.and_then(|task| self.names.task(task));
        let Spike { number, cpu, .. } = *self.spike;
        let priority = task.and_then(Task::real_time);
        ProgramThread { name: task.map(|task| task.name.clone()), number, priority, cpu }
    }

    /// What the CPU of a leg did meanwhile, without gaps.
    fn segments(&self, leg: &Leg<'_>) -> Vec<Segment> {
        let Leg { from, until, window } = leg;
        let (mut state, mut segments) = (State::before(&window.events), Vec::new());
        let before = window.events.partition_point(|event| event.time < *from);
        window.events[..before].iter().for_each(|event| state.apply(event));
        let behind = window.events.partition_point(|event| event.time <= *until).max(before);
        let within = &window.events[before..behind];
        // What ran before the first event is who is there in it.
        if state.running.is_none() {
            state.running = window.events[before..].first().map(|event| match event.what {
                What::Switch { from, .. } => from,
                _ => event.by,
            });
        }
        let mut at = *from;
        for (index, event) in within.iter().enumerate() {
            // The moments of a wake-up are events, so that no segment has one inside.
            self.close(&mut segments, &state, (at, event.time), &window.events[before + index..]);
            at = event.time;
            state.apply(event);
        }
        self.close(&mut segments, &state, (at, *until), &window.events[behind..]);
        segments
    }

    /// Ends a segment, with the events from its end on.
    fn close(
        &self,
        segments: &mut Vec<Segment>,
        state: &State,
        (begin, end): (i64, i64),
        later: &[Event],
    ) {
        if end <= begin {
            return;
        }
        // Another CPU's events: here is none at that time.
        let own = self.own.partition_point(|(time, _)| *time <= begin);
        let changes = self.own.get(own).map(|(time, _)| *time);
        let within = |time: &i64| begin < *time && *time < end;
        let inner = changes.into_iter().chain([self.asks_from, self.woken]).filter(within).min();
        if let Some(time) = inner {
            self.close(segments, state, (begin, time), later);
            self.close(segments, state, (time, end), later);
            return;
        }
        let own = self.own[..own].last().map(|(_, own)| *own);
        // A program's thread may be late for one planned time while it waits since another.
        let is_woken = begin >= self.woken || own == Some(Own::Waits);
        let has_not_asked = begin < self.asks_from;
        let is_interrupted = is_woken || has_not_asked || begin >= self.interrupted;
        let running = state.running;
        let is_ours = running == Some(self.spike.number);
        // As the switch from it has it, where none to it was recorded.
        let left = later.iter().find_map(|event| match event.what {
            What::Switch { from, from_task, .. } if Some(from) == running => Some(from_task),
            _ => None,
        });
        let task = state.task.or(left);
        let goes_before = || [state.task, left].into_iter().flatten().any(|id| self.is_before(id));
        // One that is left by a switch, as PREEMPT_RT leaves softirqs, could be preempted.
        let is_left = later.iter().find_map(|event| match event.what {
            What::Switch { .. } => Some(true),
            What::Softirq { begins: false, .. } => Some(false),
            _ => None,
        });
        let is_preempted = |context: &Context| {
            matches!(context, Context::Softirq(_)) && is_interrupted && is_left == Some(true)
        };
        let context = state.contexts.last().copied().filter(|context| !is_preempted(context));
        let next = later.first().map_or(self.spike.number, |event| match event.what {
            What::Switch { from, .. } => from,
            _ => event.by,
        });
        let traced = if running == Some(next) { Evidence::Traced } else { Evidence::Inferred };
        let (kind, evidence) = match context {
            // Whatever ran meanwhile did not make it late.
            _ if own == Some(Own::Stopped) => {
                let (kind, evidence) = (PartKind::Stopped, Some(Evidence::Traced));
                segments.push(Segment { begin, end, kind, evidence, ..Segment::default() });
                return;
            }
            // Nor did what ran while it slept for something else.
            _ if has_not_asked && !is_ours && own == Some(Own::Sleeps) => {
                let (kind, evidence) = (PartKind::Blocked, Some(Evidence::Traced));
                segments.push(Segment { begin, end, kind, evidence, ..Segment::default() });
                return;
            }
            None if has_not_asked && is_ours => (PartKind::Busy, traced),
            _ if has_not_asked && !is_ours && own.is_none() => {
                segments.push(Segment { begin, end, ..Segment::default() });
                return;
            }
            // What kept the timer is on a CPU that is not known.
            _ if self.is_woken_elsewhere && !is_woken => {
                segments.push(Segment { begin, end, ..Segment::default() });
                return;
            }
            Some(Context::Interrupt(_)) => (PartKind::HardInterrupt, traced),
            // It runs with interrupts on: what kept the timer's out did so within it.
            Some(Context::Softirq(_)) if !is_interrupted => {
                (PartKind::TimerPending, Evidence::Inferred)
            }
            Some(Context::Softirq(_)) => (PartKind::Softirq, traced),
            None if is_ours => (if is_woken { PartKind::Return } else { PartKind::Thread }, traced),
            None if !is_interrupted && running == Some(0) => match state.idle {
                Some(Idle::Resumed) => (PartKind::LeavingIdle, traced),
                // As on the way out of an interrupt that came before the timer's.
                Some(Idle::Interrupted | Idle::Runs) if running == Some(next) => {
                    (PartKind::TimerPending, Evidence::Inferred)
                }
                // Or a switch out of idle was not recorded, and what ran is not known.
                _ => (PartKind::Idle, Evidence::Inferred),
            },
            None if !is_woken => (PartKind::TimerPending, Evidence::Inferred),
            None if running == Some(0) => (PartKind::LeavingIdle, traced),
            None if goes_before() => (PartKind::OtherThread, traced),
            None if self.woken_in.is_none() || running == self.woken_in => {
                (PartKind::PreemptionOff, traced)
            }
            None => (PartKind::OtherThread, traced),
        };
        let (work, evidence) = (state.work().filter(|_| context.is_none()), Some(evidence));
        segments.push(Segment { begin, end, kind, running, task, context, work, evidence });
    }

    /// Whether a thread goes before the measuring one.
    fn is_before(&self, task: TaskId) -> bool {
        let theirs = self.names.task(task).map(|task| task.priority);
        theirs.zip(self.priority).is_some_and(|(theirs, ours)| theirs <= ours)
    }
}

/// From when on a thread waited for its planned time: that time, or when it slept the last time
/// before it was woken; where it did not sleep, when it was seen.
fn asks_from(spike: &Spike, own: &[(i64, Own)]) -> i64 {
    let Some(woken) = spike.woken else { return spike.planned };
    let sleeps = |(time, own): &&(i64, Own)| *own == Own::Sleeps && *time <= woken;
    let slept = own.iter().rev().find(sleeps).map_or(spike.planned, |(time, _)| *time);
    let from = if woken >= spike.woke { woken } else { slept };
    from.max(spike.planned)
}

/// Tasks, and what interrupted them, over time.
fn timeline(parts: &[Part]) -> Timeline {
    let mut timeline = Timeline { left_out: Some(0), ..Timeline::default() };
    let mut known: HashMap<String, u32> = HashMap::new();
    for depth in [0, 1] {
        let mut last: Option<Span> = None;
        for part in parts {
            let name = match (depth, part.kind) {
                (0, PartKind::Hypervisor) => Some("hypervisor"),
                (0, _) => part.task.as_deref(),
                _ => part.name.as_deref(),
            };
            let Some(name) = name else {
                timeline.spans.extend(last.take());
                continue;
            };
            let next = u32::try_from(timeline.names.len()).unwrap_or(u32::MAX);
            let id = *known.entry(name.to_owned()).or_insert_with(|| {
                timeline.names.push(name.to_owned());
                next
            });
            match &mut last {
                Some(span) if span.name == id => span.length_ns += part.length_ns,
                _ => {
                    timeline.spans.extend(last.take());
                    let Part { begin_ns, length_ns, .. } = *part;
                    last = Some(Span { depth, name: id, begin_ns, length_ns });
                }
            }
        }
        timeline.spans.extend(last);
    }
    timeline.spans.sort_by_key(|span| (span.begin_ns, span.depth));
    timeline
}

/// Parts of one account, about: a thread that waits behind thousands of others has one for each.
const MAX_PARTS: usize = 1_000;

/// The longest parts; shorter ones that follow one another are together one that is not
/// attributed, so that an account has no more than twice as many.
fn coarse(parts: Vec<Part>) -> Vec<Part> {
    if parts.len() <= MAX_PARTS {
        return parts;
    }
    let mut longest: Vec<usize> = (0..parts.len()).collect();
    longest.sort_by_key(|index| std::cmp::Reverse(parts[*index].length_ns));
    let mut is_long = vec![false; parts.len()];
    longest.iter().take(MAX_PARTS).for_each(|index| is_long[*index] = true);
    let mut out: Vec<Part> = Vec::new();
    for (part, is_long) in parts.into_iter().zip(is_long) {
        if is_long {
            out.push(part);
            continue;
        }
        match out.last_mut() {
            Some(last) if last.kind == PartKind::Unattributed => last.length_ns += part.length_ns,
            _ => {
                let Part { begin_ns, length_ns, .. } = part;
                out.push(Part { begin_ns, length_ns, ..Part::default() });
            }
        }
    }
    out
}

/// A shorter part says nothing of a hypervisor, whose count moves in ticks of 10 ms.
const LEAST_STOLEN_NS: u64 = 100_000;

/// What nothing else accounts for is the hypervisor's, as far as its count says so, the longest
/// first; and of a halt that ended late no more is the idle state's than leaving one takes.
fn without_stolen(parts: Vec<Part>, beside: &Beside) -> Vec<Part> {
    let may_be = |part: &Part| {
        part.length_ns >= LEAST_STOLEN_NS
            && matches!(
                part.kind,
                PartKind::Idle
                    | PartKind::TimerPending
                    | PartKind::PreemptionOff
                    | PartKind::LeavingIdle
                    | PartKind::Return
            )
    };
    let mut longest: Vec<usize> = (0..parts.len()).filter(|index| may_be(&parts[*index])).collect();
    longest.sort_by_key(|index| std::cmp::Reverse(parts[*index].length_ns));
    let (mut stolen, mut left) = (vec![0; parts.len()], beside.stolen_ns);
    for index in longest {
        let usual = if parts[index].kind == PartKind::Idle { beside.idle_exit_ns } else { 0 };
        let taken = parts[index].length_ns.saturating_sub(usual).min(left);
        (stolen[index], left) = (taken, left - taken);
    }
    let mut out = Vec::new();
    for (part, stolen_ns) in parts.into_iter().zip(stolen) {
        let is_idle = part.kind == PartKind::Idle;
        let rest_ns = part.length_ns - stolen_ns;
        let usual_ns = if is_idle { rest_ns.min(beside.idle_exit_ns) } else { rest_ns };
        let hypervisor = Part {
            kind: PartKind::Hypervisor,
            evidence: Some(Evidence::Counted),
            ..Part::default()
        };
        let unexplained = Part::default();
        let mut begin_ns = part.begin_ns;
        let pieces = [(hypervisor, stolen_ns), (unexplained, rest_ns - usual_ns), (part, usual_ns)];
        for (piece, length_ns) in pieces {
            if length_ns > 0 {
                out.push(Part { begin_ns, length_ns, ..piece });
                begin_ns += length_ns;
            }
        }
    }
    out
}

#[cfg(test)]
#[path = "account_tests.rs"]
mod tests;
