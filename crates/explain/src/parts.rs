// SPDX-License-Identifier: MIT OR Apache-2.0
//! The parts of a latency: what a processor did, and where.

use crate::calls::{Calls, Step, Switched, Way};
use crate::code::{Code, FrameId};
use crate::dump::Window;
use crate::kernel::{Entrance, Kernel, Role};
use crate::places::Places;
use crate::timed::{Timed, nanos};
use model::{FunctionTime, Part, PartKind, Source, Sources};
use std::collections::HashMap;
use std::ops::Range;

/// Functions named of each part.
const MOSTLY: usize = 4;
/// Callers named of each part.
const CALLERS: usize = 8;

/// The task that had most of these steps' time.
fn longest_task(steps: &[Step], lengths: &[u64]) -> Option<usize> {
    let time_of = |task: Option<usize>| {
        steps
            .iter()
            .zip(lengths)
            .filter(|(step, _)| step.task == task)
            .map(|(_, length)| *length)
            .sum::<u64>()
    };
    let mut tasks: Vec<Option<usize>> = steps.iter().map(|step| step.task).collect();
    tasks.dedup();
    tasks.into_iter().max_by_key(|task| time_of(*task)).flatten()
}

type Key = ((PartKind, Option<FrameId>), Option<usize>);

/// Once the scheduler has begun to change to another thread, all is the change until it is left.
fn join_switches(keys: &mut [Key]) {
    let mut switches = false;
    for ((kind, _), task) in keys.iter_mut() {
        if *kind == PartKind::InterruptsOff {
            // They stay so from one thread to the next.
            *task = None;
        }
        switches = match *kind {
            PartKind::Switch => true,
            PartKind::Scheduling | PartKind::OtherCpu => switches,
            _ => false,
        };
        if switches && *kind != PartKind::OtherCpu {
            *kind = PartKind::Switch;
            *task = None;
        }
    }
}

/// Where a processor halts with interrupts off, as on arm64, it goes on for a while before the
/// interrupt that ended it comes.
fn resumed(calls: &Calls, interrupted: u64) -> Range<u64> {
    let before = calls.steps.partition_point(|step| step.begin < interrupted);
    let Some(halt) =
        calls.steps[..before].iter().rposition(|step| step.halts && step.interrupts == Some(false))
    else {
        return 0..0;
    };
    let is_interrupt = |step: &Step| {
        calls.chain(step.frame).any(|(_, frame)| frame.way == Way::Entrance(Entrance::Interrupt))
    };
    let end = calls.steps[halt + 1..before]
        .iter()
        .find(|step| is_interrupt(step))
        .map_or(interrupted, |step| step.begin);
    calls.steps[halt].end..end
}

/// Where the phases of a wake-up begin, as indices of steps.
pub(crate) struct Accountant<'a> {
    timed: &'a Timed,
    window: &'a Window,
    kernel: &'a Kernel<'a>,
    /// Lines of the kernel's source; none without its debug information.
    places: Option<Places<'a>>,
    /// When the thread was made runnable, instructions.
    woken: u64,
    /// When the interrupt that did it came.
    interrupted: u64,
    /// When the processor last went to another thread.
    changed: u64,
    /// From the end of its last halt until an interrupt comes.
    resumed: Range<u64>,
}

impl<'a> Accountant<'a> {
    pub fn new(
        timed: &'a Timed,
        window: &'a Window,
        kernel: &'a Kernel<'a>,
        places: Option<Places<'a>>,
    ) -> Self {
        let calls = &timed.calls;
        let begin = calls.steps.get(timed.first).map_or(calls.end, |step| step.begin);
        let changed =
            calls.thread_changed.last().copied().filter(|at| *at >= begin).unwrap_or(begin);
        let mut made_runnable =
            calls.woken.iter().filter(|(at, _)| (begin..=changed).contains(at)).copied();
        // Its timer is due, so the first interrupt that handles timers makes it runnable, whatever
        // becomes runnable later. Where no timer did, it was the last before the processor
        // went to it.
        let by_timer = |(_, frame): &(u64, FrameId)| {
            let has = |wanted| {
                calls.chain(*frame).any(|(_, frame)| kernel.role(frame.code) == Some(wanted))
            };
            has(Role::TimesOut) && !has(Role::Ticks)
        };
        let woken = made_runnable.clone().find(by_timer).or_else(|| made_runnable.next_back());
        let interrupt = woken.and_then(|(_, frame)| {
            let is_interrupt = |way| way == Way::Entrance(Entrance::Interrupt);
            // Not one in which the running thread was preempted, nor whose softirqs it came into.
            let is_left = |code| kernel.role(code) == Some(Role::Schedules);
            let mut since = calls.chain(frame).take_while(|(_, frame)| !is_left(frame.code));
            since.find(|(_, frame)| is_interrupt(frame.way)).map(|(id, _)| id)
        });
        let interrupted = interrupt.and_then(|frame| {
            let within = |step: &&Step| calls.chain(step.frame).any(|(id, _)| id == frame);
            calls.steps.iter().find(within).map(|step| step.begin)
        });
        let woken = woken.map_or(begin, |(at, _)| at);
        let interrupted = interrupted.unwrap_or(woken);
        let resumed = resumed(calls, interrupted);
        Accountant { timed, window, kernel, places, woken, interrupted, changed, resumed }
    }

    /// Whether a function is how something was done, not what.
    fn is_helper(&self, code: Code) -> bool {
        matches!(self.kernel.role(code), Some(Role::Helper | Role::Waits))
    }

    /// What a step is part of: its kind, and the frame that distinguishes it from the next of its
    /// kind.
    fn kind(&self, step: &Step) -> (PartKind, Option<FrameId>) {
        for (id, frame) in self.timed.calls.chain(step.frame) {
            if frame.way == Way::Entrance(Entrance::Interrupt) {
                return (PartKind::HardInterrupt, Some(id));
            }
            match self.kernel.role(frame.code) {
                Some(Role::Waits) if self.timed.calls.has_others => {
                    return (PartKind::OtherCpu, Some(id));
                }
                // Before the thread was runnable these only kept the timer's interrupt out, as any
                // other code can, and whatever interrupt they were called from.
                Some(
                    Role::Softirqs
                    | Role::Switches
                    | Role::SwitchesStack
                    | Role::Schedules
                    | Role::BeginsThread,
                ) if step.begin < self.interrupted => break,
                // The thread's own work, which is called from there, is not how it got to run.
                Some(Role::BeginsThread) if id == step.frame => return (PartKind::Switch, None),
                Some(Role::Softirqs) => return (PartKind::Softirq, Some(id)),
                Some(Role::Switches | Role::SwitchesStack) => return (PartKind::Switch, None),
                Some(Role::Schedules) => return (PartKind::Scheduling, None),
                _ => {}
            }
        }
        let is_user = self.timed.calls.frame(step.frame).code == Code::User;
        let is_idle = self
            .timed
            .calls
            .chain(step.frame)
            .any(|(_, frame)| self.kernel.role(frame.code) == Some(Role::Idles));
        if step.begin >= self.changed && self.changed > 0 {
            return (if is_user { PartKind::Thread } else { PartKind::Return }, None);
        }
        if step.begin < self.interrupted {
            return match step.interrupts {
                _ if step.halts => (PartKind::Idle, None),
                Some(false) if self.resumed.contains(&step.begin) => (PartKind::LeavingIdle, None),
                Some(false) => (PartKind::InterruptsOff, None),
                _ => (PartKind::TimerPending, None),
            };
        }
        if step.begin < self.woken {
            return (PartKind::TimerPending, None);
        }
        if is_idle {
            return (PartKind::LeavingIdle, None);
        }
        let changed_before =
            self.timed.calls.thread_changed.iter().any(|at| (self.woken..=step.begin).contains(at));
        (
            if changed_before || is_user { PartKind::OtherThread } else { PartKind::PreemptionOff },
            None,
        )
    }

    pub fn parts(&self, latency_ns: u64) -> Vec<Part> {
        let mut parts: Vec<Part> = Vec::new();
        let seen =
            self.timed.times[self.timed.first].clamp(0, latency_ns.cast_signed()).unsigned_abs();
        if seen > 0 {
            // From the planned time on nothing is known.
            parts.push(Part { length_ns: seen, ..Part::default() });
        }
        let steps: Vec<(usize, &Step)> = self.timed.steps().collect();
        let mut keys: Vec<_> = steps.iter().map(|(_, step)| (self.kind(step), step.task)).collect();
        join_switches(&mut keys);
        let mut from = 0;
        while from < steps.len() {
            let until =
                (from..steps.len()).find(|index| keys[*index] != keys[from]).unwrap_or(steps.len());
            let part = self.part(keys[from].0.0, steps[from].0..steps[until - 1].0 + 1);
            if part.length_ns > 0 {
                parts.push(part);
            }
            from = until;
        }
        parts
    }

    /// What the processor did in these steps.
    pub fn part(&self, kind: PartKind, steps: Range<usize>) -> Part {
        let lengths = steps.clone().map(|step| self.timed.extent(step).1).collect();
        self.part_of(kind, steps, lengths)
    }

    /// The same, of no more than so many ns of each.
    pub fn part_of(&self, kind: PartKind, steps: Range<usize>, lengths: Vec<u64>) -> Part {
        let calls = &self.timed.calls;
        let begin_ns = self.timed.extent(steps.start).0;
        let length_ns = lengths.iter().sum();
        let all = &calls.steps[steps.clone()];
        let longest = longest_task(all, &lengths);
        let place = self.place(kind, all, &lengths, longest);
        let stack: Vec<FrameId> =
            place.into_iter().flat_map(|frame| calls.chain(frame)).map(|(id, _)| id).collect();
        let is_entrance = |id: &FrameId| matches!(calls.frame(*id).way, Way::Entrance(_));
        let entrance = stack.iter().position(is_entrance);
        let own_stack = &stack[..entrance.map_or(stack.len(), |entrance| entrance + 1)];
        let is_program = |id: &&FrameId| calls.frame(**id).code == Code::User;
        let named: Vec<FrameId> =
            own_stack.iter().filter(|id| !is_program(id)).take(CALLERS + 1).copied().collect();
        let mut names = named.iter().map(|id| self.kernel.name(calls.frame(*id).code));
        let function = names.next();
        let called_by = names.collect();
        let entrance = entrance.filter(|_| kind == PartKind::HardInterrupt);
        let interrupted = entrance
            .and_then(|entrance| stack.get(entrance + 1))
            .map(|id| self.kernel.name(calls.frame(*id).code));
        let mut own: HashMap<Code, u64> = HashMap::new();
        for (step, length) in all.iter().zip(&lengths) {
            *own.entry(calls.frame(step.frame).code).or_default() += length;
        }
        let mostly = self.mostly(&steps, own);
        let (off, on) =
            if kind == PartKind::InterruptsOff { self.switched(&steps) } else { (None, None) };
        let describe = |switched: &Switched| self.kernel.symbols().describe(switched.address);
        let sources = self.places.as_ref().map_or_else(Sources::default, |places| {
            let at = |switched: Option<Switched>| (places.find)(switched?.address);
            Sources {
                function: named
                    .first()
                    .and_then(|id| places.most_of(steps.clone(), calls.frame(*id).code)),
                called_by: known(
                    named
                        .iter()
                        .zip(named.iter().skip(1))
                        .map(|(id, _)| places.source_of_call(*id))
                        .collect(),
                ),
                interrupted: entrance.and_then(|entrance| places.source_of_call(stack[entrance])),
                off_at: at(off),
                on_at: at(on),
            }
        });
        let name = |task: Option<usize>| {
            task.map(|task| self.window.tasks[task].name.clone()).filter(|name| !name.is_empty())
        };
        // A change begins on the thread that is left. Else more than one runs only where interrupts
        // stay off, or on another CPU.
        let task = match kind {
            PartKind::Switch => {
                steps.start.checked_sub(1).map_or(all[0].task, |before| calls.steps[before].task)
            }
            _ => longest,
        };
        let next_task =
            all.last().filter(|last| last.task != task).and_then(|last| name(last.task));
        Part {
            kind,
            begin_ns,
            length_ns,
            function,
            called_by,
            task: name(task),
            next_task,
            interrupted,
            off_at: off.as_ref().map(describe),
            on_at: on.as_ref().map(describe),
            off_before_ns: off.and_then(|off| self.before_planned(off.at)),
            mostly,
            sources,
            ..Part::default()
        }
    }

    /// The functions with most time of their own.
    fn mostly(&self, steps: &Range<usize>, own: HashMap<Code, u64>) -> Vec<FunctionTime> {
        let mut own: Vec<(String, u64, Code)> = own
            .into_iter()
            .filter(|(_, own_ns)| *own_ns > 0)
            .map(|(code, own_ns)| (self.kernel.name(code), own_ns, code))
            .collect();
        own.sort_by(|one, other| other.1.cmp(&one.1).then_with(|| one.0.cmp(&other.0)));
        let source = |code| {
            self.places.as_ref().filter(|_| code != Code::User)?.most_of_own(steps.clone(), code)
        };
        let time =
            |(function, own_ns, code)| FunctionTime { function, own_ns, source: source(code) };
        own.into_iter().take(MOSTLY).map(time).collect()
    }

    /// The function that most of these steps were in: the innermost one that all of them were in,
    /// or one that it called for most of it. Stacks of two threads have nothing in common: then
    /// that of the one with most time.
    fn place(
        &self,
        kind: PartKind,
        steps: &[Step],
        lengths: &[u64],
        longest: Option<usize>,
    ) -> Option<FrameId> {
        let calls = &self.timed.calls;
        let length_ns: u64 = lengths.iter().sum();
        let frames = || steps.iter().map(|step| step.frame);
        let of_longest = || steps.iter().filter(|step| step.task == longest).map(|step| step.frame);
        let mut place = calls.common(frames()).or_else(|| calls.common(of_longest()))?;
        // Only what is nearly all of it: the whole of it is said to be of this function.
        let most_of = match kind {
            PartKind::InterruptsOff
            | PartKind::PreemptionOff
            | PartKind::OtherThread
            | PartKind::Softirq
            | PartKind::TimerPending => length_ns - length_ns / 20,
            _ => u64::MAX,
        };
        // Of each step, with its length, the frames that lie within that one, outermost first.
        let within = |frame: FrameId| {
            let mut path: Vec<FrameId> =
                calls.chain(frame).map(|(id, _)| id).take_while(|id| *id != place).collect();
            path.reverse();
            path
        };
        let mut paths: Vec<(Vec<FrameId>, u64)> =
            steps.iter().map(|step| within(step.frame)).zip(lengths.iter().copied()).collect();
        for depth in 0.. {
            // Calls of the same function count together.
            let mut below: HashMap<Code, (u64, FrameId)> = HashMap::new();
            for (path, length) in &paths {
                if let Some(frame) = path.get(depth) {
                    below.entry(calls.frame(*frame).code).or_insert((0, *frame)).0 += length;
                }
            }
            let Some((code, (length, frame))) =
                below.into_iter().max_by_key(|(_, (length, frame))| (*length, *frame))
            else {
                break;
            };
            if length < most_of || self.is_helper(code) {
                break;
            }
            place = frame;
            paths.retain(|(path, _)| {
                path.get(depth).is_some_and(|frame| calls.frame(*frame).code == code)
            });
        }
        // Locks and the like are how it was done, not where.
        let outer =
            calls.chain(place).map(|(id, _)| id).find(|id| !self.is_helper(calls.frame(*id).code));
        outer.or(Some(place))
    }

    /// Where interrupts were switched off before these steps, and where they were switched on.
    fn switched(&self, steps: &Range<usize>) -> (Option<Switched>, Option<Switched>) {
        let calls = &self.timed.calls;
        let (begin, end) = (calls.steps[steps.start].begin, calls.steps[steps.end - 1].end);
        let off =
            calls.switched.iter().rfind(|switched| switched.at < begin.max(1) + 1 && !switched.on);
        // Behind the instruction that does it there may be the other CPU's turn.
        let within = calls
            .switched
            .iter()
            .rfind(|switched| (begin..end).contains(&switched.at) && switched.on);
        let on = within
            .or_else(|| calls.switched.iter().find(|switched| switched.at >= end && switched.on));
        (off.copied(), on.copied())
    }

    /// How long before the planned time so many instructions were done; none if that was after it.
    fn before_planned(&self, at: u64) -> Option<u64> {
        let steps = &self.timed.calls.steps;
        let step = steps.partition_point(|step| step.begin <= at).saturating_sub(1);
        let since = nanos(at - steps[step].begin, self.timed.ns_per_instruction);
        let time = self.timed.times[step].saturating_add(since);
        u64::try_from(time.saturating_neg()).ok()
    }
}

/// Nothing where none is known.
fn known(sources: Vec<Option<Source>>) -> Vec<Option<Source>> {
    if sources.iter().all(Option::is_none) { Vec::new() } else { sources }
}
