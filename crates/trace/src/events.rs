// SPDX-License-Identifier: MIT OR Apache-2.0
//! The events that say what a CPU does: which thread runs, and what interrupts it.
//!
//! Kernels differ in which of them they have. Switches and wake-ups are needed; what else is there
//! is recorded, and what is not is named.

use crate::{Field, Format, Session, TextField, TraceError};
use plan::CpuId;
use std::collections::HashMap;

/// An event of one CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// CLOCK_MONOTONIC, ns.
    pub time: i64,
    /// The thread that ran there; 0 while idle.
    pub by: i64,
    pub what: What,
}

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// The CPU goes from one thread to another. Of both, name and priority at this moment; and
    /// how the first leaves it.
    Switch {
        from: i64,
        from_task: TaskId,
        leaves: Own,
        to: i64,
        to_task: TaskId,
    },
    /// A thread becomes runnable, with this priority.
    Waking {
        thread: i64,
        priority: i64,
    },
    /// A thread goes from one CPU to another.
    Migrated {
        thread: i64,
        from: CpuId,
        to: CpuId,
    },
    /// An interrupt's handler begins or ends.
    Interrupt {
        name: NameId,
        begins: bool,
    },
    Softirq {
        vector: u8,
        begins: bool,
    },
    /// A worker of the kernel begins to execute this function, or has.
    Work {
        function: NameId,
        begins: bool,
    },
    /// The CPU goes to an idle state, or leaves it.
    Idle {
        begins: bool,
    },
}

impl Event {
    /// What it makes of a thread.
    pub(crate) fn own(&self, number: i64) -> Option<Own> {
        match self.what {
            What::Waking { thread, .. } if thread == number => Some(Own::Waits),
            What::Switch { from, leaves, .. } if from == number => Some(leaves),
            What::Switch { to, .. } if to == number => Some(Own::Runs),
            _ => None,
        }
    }
}

/// What a thread is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Own {
    Runs,
    /// It could run.
    Waits,
    Sleeps,
    /// A signal or a debugger has stopped it.
    Stopped,
}

/// A thread's name and priority that [`Names`] keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TaskId(u32);

/// A name that [`Names`] keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct NameId(u32);

/// What events name: interrupts, and threads with their priority.
#[derive(Debug, Default)]
pub struct Names {
    names: Vec<String>,
    known: HashMap<Vec<u8>, NameId>,
    tasks: Vec<Task>,
    known_tasks: HashMap<(Vec<u8>, i64), TaskId>,
}

/// A thread, as an event has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    pub name: String,
    /// As the kernel counts: below 100 real-time, the smaller the more urgent.
    pub priority: i64,
}

/// Names of interrupts, and threads, that are kept at most.
const MAX_NAMES: usize = 4_096;
const MAX_TASKS: usize = 65_536;

impl Names {
    pub fn name(&self, id: NameId) -> &str {
        self.names.get(id.0 as usize).map_or("", String::as_str)
    }

    pub fn task(&self, id: TaskId) -> Option<&Task> {
        self.tasks.get(id.0 as usize)
    }

    pub(crate) fn id(&mut self, bytes: &[u8]) -> NameId {
        if let Some(id) = self.known.get(bytes) {
            return *id;
        }
        if self.names.len() >= MAX_NAMES {
            return NameId(u32::MAX);
        }
        let id = NameId(u32::try_from(self.names.len()).unwrap_or(u32::MAX));
        self.names.push(String::from_utf8_lossy(bytes).into_owned());
        self.known.insert(bytes.to_vec(), id);
        id
    }

    pub(crate) fn task_id(&mut self, name: &[u8], priority: i64) -> TaskId {
        let key = (name.to_vec(), priority);
        if let Some(id) = self.known_tasks.get(&key) {
            return *id;
        }
        if self.tasks.len() >= MAX_TASKS {
            return TaskId(u32::MAX);
        }
        let id = TaskId(u32::try_from(self.tasks.len()).unwrap_or(u32::MAX));
        self.tasks.push(Task { name: String::from_utf8_lossy(name).into_owned(), priority });
        self.known_tasks.insert(key, id);
        id
    }
}

/// What an event is read as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Switch,
    Waking,
    Migrated,
    Handler(bool),
    Softirq(bool),
    Work(bool),
    Idle,
    /// Of an interrupt that has its own event, by what people call it.
    Vector(&'static str, bool),
}

struct Known {
    event: &'static str,
    kind: Kind,
    numbers: &'static [&'static str],
    texts: &'static [&'static str],
    /// Whether only what is of measuring threads is recorded.
    filtered: bool,
}

const fn known(event: &'static str, kind: Kind, numbers: &'static [&'static str]) -> Known {
    Known { event, kind, numbers, texts: &[], filtered: false }
}

const fn vector(event: &'static str, name: &'static str, begins: bool) -> Known {
    known(event, Kind::Vector(name, begins), &[])
}

/// Of these at least what is needed has to be there: the first two.
const EVENTS: [Known; 30] = [
    Known {
        texts: &["prev_comm", "next_comm"],
        ..known(
            "sched/sched_switch",
            Kind::Switch,
            &["prev_pid", "prev_prio", "next_pid", "next_prio", "prev_state"],
        )
    },
    Known { filtered: true, ..known("sched/sched_waking", Kind::Waking, &["pid", "prio"]) },
    Known {
        filtered: true,
        ..known("sched/sched_migrate_task", Kind::Migrated, &["pid", "orig_cpu", "dest_cpu"])
    },
    Known { texts: &["name"], ..known("irq/irq_handler_entry", Kind::Handler(true), &["irq"]) },
    known("irq/irq_handler_exit", Kind::Handler(false), &["irq"]),
    known("irq/softirq_entry", Kind::Softirq(true), &["vec"]),
    known("irq/softirq_exit", Kind::Softirq(false), &["vec"]),
    known("workqueue/workqueue_execute_start", Kind::Work(true), &["function"]),
    known("workqueue/workqueue_execute_end", Kind::Work(false), &[]),
    known("power/cpu_idle", Kind::Idle, &["state"]),
    vector("irq_vectors/local_timer_entry", "local timer", true),
    vector("irq_vectors/local_timer_exit", "local timer", false),
    vector("irq_vectors/reschedule_entry", "rescheduling", true),
    vector("irq_vectors/reschedule_exit", "rescheduling", false),
    vector("irq_vectors/call_function_entry", "function call", true),
    vector("irq_vectors/call_function_exit", "function call", false),
    vector("irq_vectors/call_function_single_entry", "function call", true),
    vector("irq_vectors/call_function_single_exit", "function call", false),
    vector("irq_vectors/irq_work_entry", "IRQ work", true),
    vector("irq_vectors/irq_work_exit", "IRQ work", false),
    vector("irq_vectors/thermal_apic_entry", "thermal event", true),
    vector("irq_vectors/thermal_apic_exit", "thermal event", false),
    vector("irq_vectors/error_apic_entry", "APIC error", true),
    vector("irq_vectors/error_apic_exit", "APIC error", false),
    vector("irq_vectors/spurious_apic_entry", "spurious", true),
    vector("irq_vectors/spurious_apic_exit", "spurious", false),
    vector("irq_vectors/x86_platform_ipi_entry", "platform", true),
    vector("irq_vectors/x86_platform_ipi_exit", "platform", false),
    vector("ipi/ipi_entry", "IPI", true),
    vector("ipi/ipi_exit", "IPI", false),
];
const NEEDED: usize = 2;
/// The bits of a thread's state: none while it can run.
const STATES: i64 = 0xff;
/// Those of one that a signal or a debugger has stopped.
const STOPPED: i64 = 0x4 | 0x8;
/// The state of `cpu_idle` that says it is left.
const NOT_IDLE: i64 = 0xffff_ffff;

/// How the events of this kernel lie in memory.
#[derive(Debug)]
pub(crate) struct Layout {
    number: Field,
    by: Field,
    kinds: Vec<Laid>,
}

#[derive(Debug)]
struct Laid {
    id: i64,
    kind: Kind,
    numbers: [Option<Field>; 5],
    texts: [Option<TextField>; 2],
}

/// Which events this kernel has of those that are asked for, and which it has not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recorded {
    pub events: Vec<String>,
    pub lacking: Vec<String>,
}

impl Layout {
    /// Reads it from the kernel.
    ///
    /// # Errors
    /// When an event is missing without which nothing can be said.
    pub(crate) fn of(session: &Session) -> Result<(Self, Recorded), TraceError> {
        let mut recorded = Recorded::default();
        let (mut kinds, mut common) = (Vec::new(), None);
        for (index, known) in EVENTS.iter().enumerate() {
            match session.format(known.event) {
                Ok(format) => {
                    let fields = format.field("common_type").zip(format.field("common_pid"));
                    common = common.or(fields);
                    kinds.push(Laid::of(known, &format));
                    recorded.events.push(known.event.to_owned());
                }
                Err(error) if index < NEEDED => return Err(error),
                Err(_) => recorded.lacking.push(known.event.to_owned()),
            }
        }
        let (number, by) = common.ok_or_else(|| {
            TraceError::Missing("this kernel's events do not say what they are".to_owned())
        })?;
        Ok((Layout { number, by, kinds }, recorded))
    }

    /// An event from its bytes; none if it is another one or too short.
    pub(crate) fn decode(&self, time: i64, bytes: &[u8], names: &mut Names) -> Option<Event> {
        let number = self.number.of(bytes)?;
        let laid = self.kinds.iter().find(|laid| laid.id == number)?;
        let field = |index: usize| laid.numbers[index]?.of(bytes);
        let text = |index: usize| laid.texts[index]?.of(bytes);
        let what = match laid.kind {
            Kind::Switch => {
                let mut task = |name, priority| {
                    let (name, priority) = (text(name), field(priority));
                    names.task_id(name.unwrap_or_default(), priority.unwrap_or(i64::MAX))
                };
                let (from_task, to_task) = (task(0, 1), task(1, 3));
                let leaves = match field(4).map_or(0, |state| state & STATES) {
                    0 => Own::Waits,
                    state if state & STOPPED != 0 => Own::Stopped,
                    _ => Own::Sleeps,
                };
                What::Switch { from: field(0)?, from_task, leaves, to: field(2)?, to_task }
            }
            Kind::Waking => What::Waking { thread: field(0)?, priority: field(1)? },
            Kind::Migrated => {
                let cpu = |index| Some(CpuId(u32::try_from(field(index)?).ok()?));
                What::Migrated { thread: field(0)?, from: cpu(1)?, to: cpu(2)? }
            }
            Kind::Handler(begins) => {
                let name = names.id(text(0).unwrap_or_default());
                What::Interrupt { name, begins }
            }
            Kind::Vector(name, begins) => {
                What::Interrupt { name: names.id(name.as_bytes()), begins }
            }
            Kind::Softirq(begins) => {
                What::Softirq { vector: u8::try_from(field(0)?).unwrap_or(u8::MAX), begins }
            }
            Kind::Work(begins) => {
                // A place in the kernel until its symbols are read.
                let place = field(0).map_or_else(String::new, |place| format!("{place:#x}"));
                What::Work { function: names.id(place.as_bytes()), begins }
            }
            Kind::Idle => What::Idle { begins: field(0)? & NOT_IDLE != NOT_IDLE },
        };
        Some(Event { time, by: self.by.of(bytes)?, what })
    }
}

impl Laid {
    fn of(known: &Known, format: &Format) -> Self {
        let mut laid = Laid {
            id: i64::from(format.id),
            kind: known.kind,
            numbers: [None; 5],
            texts: [None; 2],
        };
        for (place, name) in laid.numbers.iter_mut().zip(known.numbers) {
            *place = format.field(name);
        }
        for (place, name) in laid.texts.iter_mut().zip(known.texts) {
            *place = format.text(name);
        }
        laid
    }
}

/// Enables what this kernel has of them; wake-ups of these threads alone, where there are some and
/// they can be listed.
pub(crate) fn enable(
    session: &Session,
    recorded: &Recorded,
    threads: &[i64],
) -> Result<(), TraceError> {
    /// The kernel takes no longer filter than a page.
    const MOST: usize = 64;
    let one = |thread: &i64| format!("pid=={thread}");
    let filter = (1..=MOST)
        .contains(&threads.len())
        .then(|| threads.iter().map(one).collect::<Vec<_>>().join("||"));
    let is_there = |known: &&Known| recorded.events.iter().any(|event| event == known.event);
    for known in EVENTS.iter().filter(is_there) {
        session.enable(known.event, filter.as_deref().filter(|_| known.filtered))?;
    }
    Ok(())
}

/// Softirqs by their vectors, as /proc/softirqs names them.
const SOFTIRQS: [&str; 10] =
    ["HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET", "SCHED", "HRTIMER", "RCU"];

/// A softirq by its vector.
pub(crate) fn softirq(vector: u8) -> &'static str {
    SOFTIRQS.get(usize::from(vector)).copied().unwrap_or("unknown")
}
