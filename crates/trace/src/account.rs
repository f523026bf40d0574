// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where a latency went, from the events of its CPU: each ns from the planned time to the reading
//! of the clock is one part's.
//!
//! What events show is graded ([`Evidence`]): between two of them it is known what ran; that a
//! timer's interrupt came late is seen, and why is not.

use crate::events::{Event, NameId, Names, What, softirq};
use crate::watch::Window;
use model::{Account, Evidence, Part, PartKind, Span, Timeline};
use plan::CpuId;
use std::collections::HashMap;

/// A latency that is to be explained.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spike {
    /// The thread's index in the recording.
    pub thread: usize,
    /// Its number as the kernel counts.
    pub number: i64,
    pub cpu: CpuId,
    pub activation: u64,
    /// When it was due, CLOCK_MONOTONIC ns.
    pub planned: i64,
    /// When it read the clock, ns.
    pub woke: i64,
}

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

/// What a CPU does at a time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct State {
    /// None where no event has shown it yet.
    running: Option<i64>,
    /// The innermost last.
    contexts: Vec<Context>,
}

impl State {
    /// Takes in an event. Returns whether it showed a thread that no switch had led to.
    fn apply(&mut self, event: &Event) -> bool {
        let before = self.running;
        match event.what {
            What::Switch { to, .. } => {
                self.running = Some(to);
                // A switch is made in no interrupt: the end of one was not recorded.
                self.contexts.clear();
            }
            What::Interrupt { name, begins: true } => self.contexts.push(Context::Interrupt(name)),
            What::Softirq { vector, begins: true } => self.contexts.push(Context::Softirq(vector)),
            What::Interrupt { begins: false, .. } => {
                self.leave(|context| matches!(context, Context::Interrupt(_)));
            }
            What::Softirq { begins: false, .. } => {
                self.leave(|context| matches!(context, Context::Softirq(_)));
            }
            What::Waking { .. } | What::Migrate { .. } | What::Idle { .. } => {}
        }
        if matches!(event.what, What::Switch { .. }) {
            return before.is_some_and(|before| before != event.by);
        }
        self.running = Some(event.by);
        before.is_some_and(|before| before != event.by)
    }

    fn leave(&mut self, is_left: impl Fn(&Context) -> bool) {
        if let Some(place) = self.contexts.iter().rposition(is_left) {
            self.contexts.truncate(place);
        }
    }
}

/// Accounts for a latency.
pub fn account(spike: &Spike, window: &Window<'_>, beside: &Beside) -> Account {
    let latency_ns = u64::try_from(spike.woke - spike.planned).unwrap_or(0);
    let mut account = Account {
        thread: spike.thread,
        activation: spike.activation,
        latency_ns,
        parts: Vec::new(),
        timeline: Timeline::default(),
    };
    let unseen = |length_ns| Part { length_ns, ..Part::default() };
    if window.complete_from > spike.planned {
        account.parts.push(unseen(latency_ns));
        return account;
    }
    let (segments, timeline) = Scene::of(spike, window).segments();
    let named = segments.iter().map(|segment| segment.part(spike, window.names));
    for part in named {
        match account.parts.last_mut() {
            Some(last) if is_one(last, &part) => last.length_ns += part.length_ns,
            _ => account.parts.push(part),
        }
    }
    account.parts = without_stolen(account.parts, beside);
    account.timeline = timeline;
    if account.parts.is_empty() && latency_ns > 0 {
        account.parts.push(unseen(latency_ns));
    }
    account
}

fn is_one(one: &Part, other: &Part) -> bool {
    let what = |part: &Part| Part { begin_ns: 0, length_ns: 0, ..part.clone() };
    what(one) == what(other)
}

/// A while in which a CPU did one thing.
#[derive(Debug)]
struct Segment {
    begin: i64,
    end: i64,
    kind: PartKind,
    running: Option<i64>,
    context: Option<Context>,
    evidence: Option<Evidence>,
}

impl Segment {
    fn part(&self, spike: &Spike, names: &Names) -> Part {
        let task = self.running.map(|thread| match thread {
            0 => "idle".to_owned(),
            _ => names.task(thread).map_or_else(|| thread.to_string(), |task| task.name.clone()),
        });
        let priority = self.running.and_then(|thread| names.task(thread)?.real_time());
        let name = self.context.map(|context| match context {
            Context::Interrupt(name) => names.name(name).to_owned(),
            Context::Softirq(vector) => softirq(vector).to_owned(),
        });
        let ns = |time: i64| u64::try_from(time).unwrap_or(0);
        Part {
            kind: self.kind,
            begin_ns: ns(self.begin - spike.planned),
            length_ns: ns(self.end - self.begin),
            name,
            task,
            priority,
            evidence: self.evidence,
            ..Part::default()
        }
    }
}

impl crate::events::Task {
    /// Its real-time priority, 1 to 99.
    fn real_time(&self) -> Option<u8> {
        u8::try_from(99 - self.priority).ok().filter(|priority| (1..=99).contains(priority))
    }
}

/// When what happened of a wake-up.
struct Scene<'a> {
    spike: &'a Spike,
    window: &'a Window<'a>,
    /// When the interrupt came that made the thread runnable; the end where none is seen.
    interrupted: i64,
    /// When it was made runnable.
    woken: i64,
    /// What ran then.
    woken_in: Option<i64>,
    /// When a switch led to the thread.
    switched: Option<i64>,
}

impl<'a> Scene<'a> {
    fn of(spike: &'a Spike, window: &'a Window<'a>) -> Self {
        let is_ours = |event: &&Event| event.what == What::Waking { thread: spike.number };
        let waking = window.events.iter().position(|event| {
            is_ours(&event) && (spike.planned..=spike.woke).contains(&event.time)
        });
        let mut scene = Scene {
            spike,
            window,
            interrupted: spike.woke,
            woken: spike.woke,
            woken_in: None,
            switched: None,
        };
        let to_us =
            |event: &&Event| matches!(event.what, What::Switch { to, .. } if to == spike.number);
        let from = waking.unwrap_or(0);
        let since = |event: &&Event| event.time >= spike.planned;
        scene.switched =
            window.events[from..].iter().filter(since).find(to_us).map(|event| event.time);
        let Some(waking) = waking else {
            // Another CPU may have made it runnable: then the switch alone is seen.
            scene.woken = scene.switched.unwrap_or(spike.woke);
            scene.interrupted = scene.woken;
            return scene;
        };
        let event = &window.events[waking];
        (scene.woken, scene.woken_in) = (event.time, Some(event.by));
        // The outermost interrupt that it is in began where the last one began in none.
        let (mut state, mut began) = (State::default(), None);
        for event in &window.events[..waking] {
            let was_out = state.contexts.is_empty();
            state.apply(event);
            match state.contexts.len() {
                0 => began = None,
                _ if was_out => began = Some(event.time),
                _ => {}
            }
        }
        scene.interrupted = began.unwrap_or(scene.woken).max(spike.planned);
        scene
    }

    /// What the CPU did from the planned time on, without gaps, and the same as a picture.
    fn segments(&self) -> (Vec<Segment>, Timeline) {
        let (planned, woke) = (self.spike.planned, self.spike.woke);
        let (mut state, mut segments) = (State::default(), Vec::new());
        let before = self.window.events.partition_point(|event| event.time < planned);
        self.window.events[..before].iter().for_each(|event| {
            state.apply(event);
        });
        let within = &self.window.events[before..];
        // What ran before the first event is who is there in it.
        if state.running.is_none() {
            state.running = within.first().map(|event| match event.what {
                What::Switch { from, .. } => from,
                _ => event.by,
            });
        }
        let mut at = planned;
        for event in within {
            // The moments of a wake-up are events, so that no segment has one inside.
            self.close(&mut segments, &state, at, event.time, event);
            at = event.time;
            state.apply(event);
        }
        let end = Event { time: woke, by: self.spike.number, what: What::Idle { begins: false } };
        self.close(&mut segments, &state, at, woke, &end);
        let timeline = self.timeline(&segments);
        (segments, timeline)
    }

    fn close(
        &self,
        segments: &mut Vec<Segment>,
        state: &State,
        begin: i64,
        end: i64,
        next: &Event,
    ) {
        if end <= begin {
            return;
        }
        let spike = self.spike;
        let running = state.running;
        let is_ours = running == Some(spike.number);
        let context = state.contexts.last().copied();
        // An event by a thread that no switch led to: it was not recorded.
        let unseen = running.is_some_and(|running| running != next.by)
            && !matches!(next.what, What::Switch { .. });
        let traced = if unseen { Evidence::Inferred } else { Evidence::Traced };
        let (kind, evidence) = match context {
            Some(Context::Interrupt(_)) => (PartKind::HardInterrupt, traced),
            Some(Context::Softirq(_)) => (PartKind::Softirq, traced),
            None if begin < self.interrupted => match running {
                Some(0) => (PartKind::Idle, Evidence::Inferred),
                _ if is_ours => (PartKind::Thread, traced),
                _ => (PartKind::TimerPending, Evidence::Inferred),
            },
            None if is_ours => (PartKind::Return, traced),
            None if begin < self.woken => (PartKind::TimerPending, Evidence::Inferred),
            None if running == Some(0) => (PartKind::LeavingIdle, traced),
            None if running == self.woken_in && !self.goes_before(running) => {
                (PartKind::PreemptionOff, traced)
            }
            None => (PartKind::OtherThread, traced),
        };
        let context =
            context.filter(|_| matches!(kind, PartKind::HardInterrupt | PartKind::Softirq));
        segments.push(Segment { begin, end, kind, running, context, evidence: Some(evidence) });
    }

    /// Whether a thread goes before the measuring one.
    fn goes_before(&self, thread: Option<i64>) -> bool {
        let priority = |thread: i64| self.window.names.task(thread).map(|task| task.priority);
        let ours = priority(self.spike.number);
        thread.and_then(priority).zip(ours).is_some_and(|(theirs, ours)| theirs <= ours)
    }

    fn timeline(&self, segments: &[Segment]) -> Timeline {
        let mut timeline = Timeline { left_out: Some(0), ..Timeline::default() };
        let mut known: HashMap<String, u32> = HashMap::new();
        for depth in [0, 1] {
            let mut last: Option<Span> = None;
            for segment in segments {
                let part = segment.part(self.spike, self.window.names);
                let name = if depth == 0 { part.task } else { part.name };
                let Some(name) = name else {
                    timeline.spans.extend(last.take());
                    continue;
                };
                let next = u32::try_from(timeline.names.len()).unwrap_or(u32::MAX);
                let id = *known.entry(name.clone()).or_insert_with(|| {
                    timeline.names.push(name);
                    next
                });
                match &mut last {
                    Some(span) if span.name == id => span.length_ns += part.length_ns,
                    _ => {
                        timeline.spans.extend(last.take());
                        let (begin_ns, length_ns) = (part.begin_ns, part.length_ns);
                        last = Some(Span { depth, name: id, begin_ns, length_ns });
                    }
                }
            }
            timeline.spans.extend(last);
        }
        timeline.spans.sort_by_key(|span| (span.begin_ns, span.depth));
        timeline
    }
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
        let unexplained = Part { task: part.task.clone(), ..Part::default() };
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
