// SPDX-License-Identifier: MIT OR Apache-2.0
//! The kernel's events that wake-ups are made of, out of the bytes that it stores.

use trace::{Field, Format, Session, TraceError};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Event {
    /// CLOCK_MONOTONIC, ns.
    pub(crate) time: i64,
    pub(crate) cpu: u32,
    /// The thread that ran there.
    pub(crate) by: i64,
    /// Whether an interrupt had come between.
    pub(crate) in_interrupt: bool,
    pub(crate) what: What,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    /// A timer was made, for this clock.
    TimerMade {
        timer: i64,
        clock: i64,
    },
    /// A timer was armed: the earliest time that was asked for, on its clock.
    TimerArmed {
        timer: i64,
        function: i64,
        expires: i64,
        is_absolute: bool,
    },
    TimerOff {
        timer: i64,
    },
    Waking {
        thread: i64,
    },
    /// A CPU goes from one thread to another.
    Switch {
        from: i64,
        sleeps: bool,
        to: i64,
    },
    /// A thread or process was made.
    Made {
        thread: i64,
    },
    /// A thread runs another program from now on.
    Executes {
        thread: i64,
    },
    Ended {
        thread: i64,
    },
    /// So many events before this one are missing.
    Lost {
        events: u64,
    },
}

impl Event {
    /// That events before this time are missing.
    pub(crate) const fn lost(time: i64, cpu: u32, events: u64) -> Self {
        Event { time, cpu, by: 0, in_interrupt: false, what: What::Lost { events } }
    }
}

/// Set in `common_flags` in a hard or soft interrupt.
const IN_INTERRUPT: i64 = 0x08 | 0x10;
/// Set in a timer's mode where it is told how long, and not until when.
const RELATIVE: i64 = 1;
/// The bits of a thread's state: none while it can run.
const STATES: i64 = 0xff;

/// The events that are recorded.
pub(crate) const EVENTS: [&str; 8] = [
    "sched/sched_waking",
    "sched/sched_switch",
    "timer/hrtimer_start",
    "timer/hrtimer_cancel",
    TIMER_MADE,
    "sched/sched_process_fork",
    "sched/sched_process_exec",
    "sched/sched_process_exit",
];
const TIMER_MADE: &str = "timer/hrtimer_setup";
/// Its name before Linux 6.15.
const TIMER_MADE_BEFORE: &str = "timer/hrtimer_init";

/// Enables them, those that some kernels name otherwise by the name that is there.
pub(crate) fn enable(session: &Session) -> Result<(), TraceError> {
    EVENTS.iter().try_for_each(|event| session.enable(named(session, event), None))
}

fn named(session: &Session, event: &'static str) -> &'static str {
    let has = session.folder().join("events").join(event).exists();
    if event == TIMER_MADE && !has { TIMER_MADE_BEFORE } else { event }
}

/// How they lie in memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layout {
    flags: Field,
    by: Field,
    number: Field,
    events: [(u16, [Field; 4]); EVENTS.len()],
}

/// The fields that are read of each, in the order of [`EVENTS`].
const FIELDS: [&[&str]; EVENTS.len()] = [
    &["pid"],
    &["prev_pid", "prev_state", "next_pid"],
    &["hrtimer", "function", "softexpires", "mode"],
    &["hrtimer"],
    &["hrtimer", "clockid"],
    &["child_pid"],
    &["pid"],
    &["pid"],
];

impl Layout {
    /// Reads it from the kernel.
    pub(crate) fn of(session: &Session) -> Result<Self, TraceError> {
        let mut formats = Vec::new();
        for event in EVENTS {
            formats.push(session.format(named(session, event))?);
        }
        Self::from_formats(&formats).map_err(TraceError::Missing)
    }

    fn from_formats(formats: &[Format]) -> Result<Self, String> {
        let field = |index: usize, name: &str| {
            let format = formats.get(index);
            format
                .and_then(|format| format.field(name))
                .ok_or_else(|| format!("the event {} has no {name}", EVENTS[index]))
        };
        let by = field(0, "common_pid")?;
        let mut events = [(0, [by; 4]); EVENTS.len()];
        for (index, (event, names)) in events.iter_mut().zip(FIELDS).enumerate() {
            event.0 = formats[index].id;
            for (place, name) in event.1.iter_mut().zip(names) {
                *place = field(index, name)?;
            }
        }
        Ok(Layout {
            flags: field(0, "common_flags")?,
            by,
            number: field(0, "common_type")?,
            events,
        })
    }

    /// An event from its bytes; none if it is another one or too short.
    pub(crate) fn decode(&self, time: i64, cpu: u32, bytes: &[u8]) -> Option<Event> {
        let number = self.number.of(bytes)?;
        let (index, (_, fields)) =
            self.events.iter().enumerate().find(|(_, (id, _))| i64::from(*id) == number)?;
        let field = |place: usize| fields[place].of(bytes);
        let what = match index {
            0 => What::Waking { thread: field(0)? },
            1 => What::Switch { from: field(0)?, sleeps: field(1)? & STATES != 0, to: field(2)? },
            2 => What::TimerArmed {
                timer: field(0)?,
                function: field(1)?,
                expires: field(2)?,
                is_absolute: field(3)? & RELATIVE == 0,
            },
            3 => What::TimerOff { timer: field(0)? },
            4 => What::TimerMade { timer: field(0)?, clock: field(1)? },
            5 => What::Made { thread: field(0)? },
            6 => What::Executes { thread: field(0)? },
            _ => What::Ended { thread: field(0)? },
        };
        let in_interrupt = self.flags.of(bytes)? & IN_INTERRUPT != 0;
        Some(Event { time, cpu, by: self.by.of(bytes)?, in_interrupt, what })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn formats() -> Vec<Format> {
        let common = "\tfield:unsigned short \
                      common_type;\toffset:0;\tsize:2;\tsigned:0;\n\tfield:unsigned char \
                      common_flags;\toffset:2;\tsize:1;\tsigned:0;\n\tfield:int \
                      common_pid;\toffset:4;\tsize:4;\tsigned:1;\n";
        let format = |(index, names): (usize, &&[&str])| {
            let fields = (0..).zip(*names).map(|(place, name)| {
                format!("\tfield:long {name};\toffset:{};\tsize:8;\tsigned:1;\n", 8 + 8 * place)
            });
            let text = format!("ID: {}\n{common}{}", 100 + index, fields.collect::<String>());
            Format::parse(&text).unwrap()
        };
        FIELDS.iter().enumerate().map(format).collect()
    }

    fn bytes(id: u16, flags: u8, by: i32, fields: &[i64]) -> Vec<u8> {
        let mut bytes = [id.to_ne_bytes().as_slice(), &[flags, 0], &by.to_ne_bytes()].concat();
        fields.iter().for_each(|field| bytes.extend(field.to_ne_bytes()));
        bytes
    }

    #[test]
    fn events_are_decoded() {
        let layout = Layout::from_formats(&formats()).unwrap();
        let event = layout.decode(5, 1, &bytes(100, 0x08, 7, &[42])).unwrap();
        assert_eq!(
            event,
            Event { time: 5, cpu: 1, by: 7, in_interrupt: true, what: What::Waking { thread: 42 } }
        );
        let what = |bytes: &[u8]| layout.decode(5, 1, bytes).map(|event| event.what);
        // Preempted, not asleep.
        assert_eq!(
            what(&bytes(101, 0, 7, &[42, 0x100, 0])),
            Some(What::Switch { from: 42, sleeps: false, to: 0 })
        );
        let armed = What::TimerArmed { timer: 1, function: 2, expires: 3, is_absolute: false };
        assert_eq!(what(&bytes(102, 0, 7, &[1, 2, 3, 9])), Some(armed));
        assert_eq!((what(&bytes(102, 0, 7, &[1, 2])), what(&bytes(99, 0, 7, &[1]))), (None, None));
    }

    #[test]
    fn a_field_that_is_missing_is_named() {
        let mut formats = formats();
        formats[1] = Format::parse("ID: 5\n").unwrap();
        assert!(
            Layout::from_formats(&formats)
                .unwrap_err()
                .contains("sched/sched_switch has no prev_pid")
        );
    }
}
