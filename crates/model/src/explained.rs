// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where latencies went, as `explain.json` keeps it beside a recording: in the lab from the
//! instructions that were executed, elsewhere from the events that the kernel traced meanwhile.

use plan::CpuId;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The file of a recording that holds it.
pub const EXPLAINED: &str = "explain.json";
pub const EXPLAINED_VERSION: u32 = 1;

/// All that was explained of a recording.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Explained {
    pub version: u32,
    /// Samples that were made again in the lab, and were identical; none where all accounts are
    /// from events.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identical_samples: Option<u64>,
    /// The largest latency first.
    pub accounts: Vec<Account>,
}

/// Where one latency went.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Account {
    /// The thread's index in the recording.
    pub thread: usize,
    /// The thread that was late, where it is one of another program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<ProgramThread>,
    pub activation: u64,
    /// Its latency, ns.
    pub latency_ns: u64,
    /// In order, without gaps, and as long as the latency together.
    pub parts: Vec<Part>,
    /// Which functions ran when.
    #[serde(default, skip_serializing_if = "Timeline::is_empty")]
    pub timeline: Timeline,
}

/// A thread of a program that is measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProgramThread {
    /// As it was called when it ran; null if no event says it.
    pub name: Option<String>,
    /// Its number as the kernel counts.
    pub number: i64,
    /// Its real-time priority, 1 to 99; null if it has none.
    pub priority: Option<u8>,
    /// Where it ran.
    pub cpu: CpuId,
}

/// How a part is known, where it is not from the instructions that were executed. The stronger
/// first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Evidence {
    /// An event of the kernel at its beginning and another at its end.
    Traced,
    /// What ran is known from events, and why it ran so long is not.
    Inferred,
    /// A counter of the machine moved meanwhile.
    Counted,
}

/// What the processor did in a part of a latency.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum PartKind {
    /// Interrupts were off, so the timer's could not come.
    InterruptsOff,
    /// The processor halted until the timer's interrupt.
    Idle,
    /// Interrupts were on, and the timer's had not come.
    TimerPending,
    /// A hardware interrupt's handler.
    HardInterrupt,
    Softirq,
    /// The processor spun until another CPU released a lock.
    OtherCpu,
    /// The thread was runnable, and what ran in the kernel was not preempted.
    PreemptionOff,
    /// The thread was runnable, and another one that goes before it ran.
    OtherThread,
    /// From the idle thread's waking to the scheduler.
    LeavingIdle,
    Scheduling,
    /// The change from one thread to another.
    Switch,
    /// The measuring thread in the kernel, on its way back from its sleep.
    Return,
    /// The measuring thread in its own code: it reads the clock.
    Thread,
    /// A signal or a debugger had stopped the thread.
    Stopped,
    /// A program's thread had not asked for the planned time yet: it ran.
    Busy,
    /// The same: it slept for something else.
    Blocked,
    /// The hypervisor ran something else, as far as its count of steal time moved.
    Hypervisor,
    /// Not seen.
    #[default]
    Unattributed,
}

/// Some of a latency, without a gap to the next.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// What the processor did.
    pub kind: PartKind,
    /// From the planned time, ns.
    pub begin_ns: u64,
    /// How long, ns.
    pub length_ns: u64,
    /// The kernel's function that all or most of it was in, or its address if it has no symbol;
    /// null outside the kernel and where several had a share.
    pub function: Option<String>,
    /// The interrupt or softirq by its name in /proc, where that is what is known of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What called that, innermost first, as far as it was seen, up to the interrupt or the system
    /// call.
    pub called_by: Vec<String>,
    /// The running task's name; null if it is not known.
    pub task: Option<String>,
    /// That task's real-time priority, 1 to 99, where it is known to have one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<u8>,
    /// How it is known; absent where it is from instructions, and of what is not attributed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<Evidence>,
    /// Of a change to another thread, that thread's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_task: Option<String>,
    /// Of an interrupt's handler, the function that was interrupted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interrupted: Option<String>,
    /// Where interrupts were switched off, if they were off; null if that was before what was
    /// seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub off_at: Option<String>,
    /// Where they were switched on again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_at: Option<String>,
    /// How long before the planned time they were switched off, ns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub off_before_ns: Option<u64>,
    /// Of a wait for another CPU, what that one did meanwhile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub other_cpu: Option<OtherCpu>,
    /// The functions with most time of their own, most first.
    pub mostly: Vec<FunctionTime>,
    /// Where all of these are in the kernel's source.
    #[serde(default, skip_serializing_if = "Sources::is_empty")]
    pub sources: Sources,
}

/// Where what a part names is in the kernel's source, as far as its debug information says it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sources {
    /// Where in the function most of the part's time was spent, what it called included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub function: Option<Source>,
    /// Of each of `called_by`, where it called the one before it. Empty if none is known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub called_by: Vec<Option<Source>>,
    /// Where the interrupt came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interrupted: Option<Source>,
    /// Where interrupts were switched off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub off_at: Option<Source>,
    /// Where they were switched on again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_at: Option<Source>,
}

impl Sources {
    /// Whether nothing is known.
    pub fn is_empty(&self) -> bool {
        *self == Sources::default()
    }
}

/// A place in the kernel's source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    /// The file, from the folder of the kernel's source on.
    pub file: String,
    /// The line, in the function that has the symbol.
    pub line: u32,
    /// The functions that the compiler inlined there, innermost first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inlined: Vec<Inlined>,
}

/// A place in an inlined function.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Inlined {
    pub function: String,
    pub file: String,
    /// The line in it.
    pub line: u32,
}

/// What a CPU did while another one waited for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OtherCpu {
    /// The function that most of it was in.
    pub function: Option<String>,
    /// What called that, innermost first.
    pub called_by: Vec<String>,
    /// The running task's name.
    pub task: Option<String>,
}

/// Time in one function.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FunctionTime {
    /// Its name, or its address if it has none.
    pub function: String,
    /// Without what it called, ns.
    pub own_ns: u64,
    /// Where most of that was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<Source>,
}

/// Which functions ran when, from the planned time on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timeline {
    /// Names of functions and tasks.
    pub names: Vec<String>,
    /// Ascending by begin; of the same begin the outermost first.
    pub spans: Vec<Span>,
    /// How many there were besides, each shorter than these; none if that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_out: Option<u64>,
}

/// One call of a function, or one task's turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "(u32, u32, u64, u64)", from = "(u32, u32, u64, u64)")]
pub struct Span {
    /// 0 for tasks; then functions, each one deeper than what called it.
    pub depth: u32,
    /// Its name, an index into [`Timeline::names`].
    pub name: u32,
    /// From the planned time, ns.
    pub begin_ns: u64,
    /// Until it was left, ns.
    pub length_ns: u64,
}

impl From<Span> for (u32, u32, u64, u64) {
    fn from(span: Span) -> Self {
        (span.depth, span.name, span.begin_ns, span.length_ns)
    }
}

impl From<(u32, u32, u64, u64)> for Span {
    fn from((depth, name, begin_ns, length_ns): (u32, u32, u64, u64)) -> Self {
        Span { depth, name, begin_ns, length_ns }
    }
}

impl Timeline {
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    /// A span's name.
    pub fn name(&self, span: &Span) -> &str {
        self.names.get(span.name as usize).map_or("", String::as_str)
    }

    /// The longest spans alone, at most so many: what is left out is too short to be drawn.
    pub fn longest(&self, most: usize) -> Timeline {
        let mut lengths: Vec<u64> = self.spans.iter().map(|span| span.length_ns).collect();
        lengths.sort_unstable_by_key(|length| std::cmp::Reverse(*length));
        let least = lengths.get(most).map_or(0, |length| length + 1);
        let mut names = BTreeMap::new();
        let mut timeline = Timeline::default();
        for span in self.spans.iter().filter(|span| span.length_ns >= least) {
            let next = u32::try_from(timeline.names.len()).unwrap_or(u32::MAX);
            let name = *names.entry(span.name).or_insert(next);
            if name == next {
                timeline.names.push(self.name(span).to_owned());
            }
            timeline.spans.push(Span { name, ..*span });
        }
        let left_out = (self.spans.len() - timeline.spans.len()) as u64;
        timeline.left_out = self.left_out.map(|before| before + left_out);
        timeline
    }
}

impl Part {
    /// What it was in: a function, an interrupt or a softirq; where nothing of these is known, the
    /// task that ran.
    pub fn place(&self) -> Option<&str> {
        let of_events = self.evidence.and(self.name.as_deref().or(self.task.as_deref()));
        self.function.as_deref().or(of_events)
    }
}

impl Account {
    /// Whether it is from the kernel's events, not from instructions.
    pub fn is_from_events(&self) -> bool {
        self.parts.iter().any(|part| part.evidence.is_some())
    }

    /// The parts of that cause, in order; what they do not have in common is not true of all of it.
    pub fn parts_of_cause(&self) -> Vec<&Part> {
        let Some((cause, _)) = self.cause() else { return Vec::new() };
        let is_one = |part: &&Part| (part.kind, part.place()) == (cause.kind, cause.place());
        self.parts.iter().filter(is_one).collect()
    }

    /// What most of the latency was: parts of one kind in one place count together.
    pub fn cause(&self) -> Option<(&Part, u64)> {
        let mut sums: BTreeMap<(PartKind, Option<&str>), u64> = BTreeMap::new();
        for part in &self.parts {
            *sums.entry((part.kind, part.place())).or_default() += part.length_ns;
        }
        let sum = |part: &Part| sums.get(&(part.kind, part.place())).copied().unwrap_or(0);
        // The longest of them stands for all.
        self.parts
            .iter()
            .max_by_key(|part| (sum(part), part.length_ns))
            .map(|part| (part, sum(part)))
    }
}

/// Latencies with the same cause.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cause {
    /// What the processor did.
    pub kind: PartKind,
    pub function: Option<String>,
    /// Where no function is known, what else of the parts is: [`Part::place`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
    /// How the part of the largest is known, where it is not from instructions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<Evidence>,
    pub count: u64,
    /// The largest of them, ns.
    pub worst_ns: u64,
    /// What the cause took of that, ns.
    pub worst_part_ns: u64,
    /// Which that was: thread and activation.
    pub example: (usize, u64),
}

impl Cause {
    /// Whether it is the same one, of other latencies.
    pub fn is(&self, other: &Cause) -> bool {
        let named = |cause: &Cause| (cause.kind, cause.function.clone(), cause.place.clone());
        named(self) == named(other)
    }
}

/// The causes of these latencies, the one with the largest first.
pub fn causes(accounts: &[Account]) -> Vec<Cause> {
    let mut causes: Vec<Cause> = Vec::new();
    for account in accounts {
        let Some((part, part_ns)) = account.cause() else { continue };
        let place = || part.place().map(str::to_owned);
        let this = Cause {
            kind: part.kind,
            function: part.function.clone(),
            place: part.function.is_none().then(place).flatten(),
            evidence: part.evidence,
            count: 1,
            worst_ns: account.latency_ns,
            worst_part_ns: part_ns,
            example: (account.thread, account.activation),
        };
        match causes.iter_mut().find(|cause| cause.is(&this)) {
            Some(cause) if cause.worst_ns < this.worst_ns => {
                *cause = Cause { count: cause.count + 1, ..this }
            }
            Some(cause) => cause.count += 1,
            None => causes.push(this),
        }
    }
    causes.sort_by(|one, other| {
        let place = |cause: &Cause| (cause.function.clone(), cause.place.clone());
        other.worst_ns.cmp(&one.worst_ns).then_with(|| place(one).cmp(&place(other)))
    });
    causes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn account(activation: u64, parts: &[(PartKind, &str, u64)]) -> Account {
        let mut begin_ns = 0;
        let parts = parts.iter().map(|(kind, function, length_ns)| {
            begin_ns += length_ns;
            Part {
                kind: *kind,
                begin_ns: begin_ns - length_ns,
                length_ns: *length_ns,
                function: Some((*function).to_owned()),
                ..Part::default()
            }
        });
        let parts: Vec<Part> = parts.collect();
        Account {
            thread: 0,
            activation,
            latency_ns: begin_ns,
            parts,
            timeline: Timeline::default(),
            ..Account::default()
        }
    }

    #[test]
    fn parts_of_one_function_count_together() {
        let all = account(
            1,
            &[
                (PartKind::Softirq, "net_rx", 40),
                (PartKind::Scheduling, "schedule", 50),
                (PartKind::Softirq, "net_rx", 30),
                (PartKind::Softirq, "rcu", 20),
            ],
        );
        let (part, sum) = all.cause().unwrap();
        assert_eq!((part.function.as_deref(), part.begin_ns, sum), (Some("net_rx"), 0, 70));
    }

    #[test]
    fn causes_are_counted_with_their_worst() {
        let off = |activation, length| {
            account(
                activation,
                &[(PartKind::InterruptsOff, "free", length), (PartKind::Return, "x", 5)],
            )
        };
        let all = [off(7, 90), account(8, &[(PartKind::PreemptionOff, "write", 95)]), off(9, 200)];
        let causes = causes(&all);
        let seen: Vec<_> = causes
            .iter()
            .map(|c| (c.function.as_deref(), c.count, c.worst_ns, c.worst_part_ns, c.example.1))
            .collect();
        assert_eq!(seen, [(Some("free"), 2, 205, 200, 9), (Some("write"), 1, 95, 95, 8)]);
    }

    #[test]
    fn the_longest_spans_are_kept_with_their_names() {
        let span = |name, begin_ns, length_ns| Span { depth: name, name, begin_ns, length_ns };
        let names = ["task", "short", "long"].map(str::to_owned).to_vec();
        let timeline = Timeline {
            names,
            spans: vec![span(0, 0, 100), span(1, 0, 2), span(2, 2, 98)],
            left_out: Some(0),
        };
        let kept = timeline.longest(2);
        assert_eq!((kept.left_out, kept.longest(1).left_out), (Some(1), Some(2)));
        assert_eq!(kept.names, ["task", "long"]);
        assert_eq!(
            kept.spans.iter().map(|span| kept.name(span)).collect::<Vec<_>>(),
            ["task", "long"]
        );
        assert_eq!(timeline.longest(3), timeline);
    }

    #[test]
    fn a_span_is_four_numbers() {
        let span = Span { depth: 1, name: 2, begin_ns: 3, length_ns: 4 };
        let text = serde_json::to_string(&span).unwrap();
        assert_eq!(
            (text.as_str(), serde_json::from_str::<Span>(&text).unwrap()),
            ("[1,2,3,4]", span)
        );
    }
}
