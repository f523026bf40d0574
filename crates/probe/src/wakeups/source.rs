// SPDX-License-Identifier: MIT OR Apache-2.0
//! Wake-ups as rows, for the engine.

use super::account::{Account, Cause, Clocks, Found, Wakeup};
use super::periods::Periods;
use super::program::Program;
use super::trace::Trace;
use crate::attachment::Attachment;
use crate::clock::ns_of;
use crate::outcome::{SampleError, Woken};
use crate::sampler::{Awaited, EventSource, Untraced};
use model::{Warning, WithoutPeriod};
use plan::Nanos;
use rustix::time::{ClockId, DynamicClockId, clock_gettime, clock_gettime_dynamic};
use std::collections::VecDeque;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::sync::Arc;
use trace::Session;

/// `latency_ns`, `switch_ns`, `missed`, `cause`, `tid`, `on_cpu`.
pub(crate) const COLUMNS: usize = 6;
/// With the time in front.
pub(crate) const SLOT: usize = COLUMNS + 1;

/// Between two times that the kernel's buffers are read: seldom, as the reader is one more task
/// beside the program.
const EVERY: Nanos = Nanos::from_millis(100);
/// At the end, for events that are on their way.
const SETTLE: Nanos = Nanos::from_millis(3);
const ROWS: usize = 1 << 16;
/// At the end the kernel's buffers are read so often at most, each time as far as there is room:
/// many times what they hold.
const MAX_LAST_READINGS: u32 = 1_000;

/// The wake-ups of a program.
pub(crate) struct Wakeups {
    program: Program,
    trace: Trace,
    account: Account,
    rows: VecDeque<Wakeup>,
    wanted: Option<Cause>,
    /// Rows before it are from before the run.
    begun: Option<i64>,
    /// The run is over: what happened until then is still read.
    is_ending: bool,
    /// No more is read.
    is_over: bool,
    last_readings: u32,
    /// When the run was to begin.
    start: Nanos,
    /// When it was to end, and then when it did. Of later wake-ups nothing is recorded.
    until: Nanos,
    /// When the end of the program was seen, and that of the run.
    ended: Option<(Nanos, Nanos)>,
    /// Rows that have no values, so far: those that the trace does not show as a whole, and those
    /// that there was no room for.
    untraced: Untraced,
    no_room: u64,
    told_lost: u64,
    events_lost: u64,
    /// Rows with values were handed over.
    has_rows: bool,
    periods: Periods,
}

impl Wakeups {
    /// Traces a program from now on, and takes the wake-ups of one cause, or all.
    pub(crate) fn of(program: Program, wanted: Option<Cause>) -> io::Result<Self> {
        let (trace, threads) = Trace::begin(|| program.threads()).map_err(io::Error::other)?;
        let account = Account::new(trace.functions, &threads, program.held());
        let rows = VecDeque::with_capacity(ROWS);
        Ok(Wakeups {
            program,
            trace,
            account,
            rows,
            wanted,
            begun: None,
            is_ending: false,
            is_over: false,
            last_readings: 0,
            start: Nanos::ZERO,
            until: Nanos(i64::MAX),
            ended: None,
            untraced: Untraced::default(),
            no_room: 0,
            told_lost: 0,
            events_lost: 0,
            has_rows: false,
            periods: Periods::default(),
        })
    }

    /// What is to end when the run is over: it can take seconds.
    pub(crate) fn session(&self) -> Arc<Session> {
        Arc::clone(&self.trace.session)
    }

    /// Returns the time before which all was read.
    fn read(&mut self, now: i64) -> io::Result<i64> {
        self.account.clocks = clocks();
        let (begun, until) = (self.begun.unwrap_or(now), self.until.0);
        let Wakeups { trace, account, rows, wanted, untraced, no_room, events_lost, .. } = self;
        let counts = |time, cause| {
            (begun..until).contains(&time) && wanted.is_none_or(|wanted| wanted == cause)
        };
        let taken = trace.take(now, |event| {
            account.take(event, &mut |found| match found {
                Found::Wakeup(wakeup) if !counts(wakeup.running, wakeup.cause) => {}
                Found::Wakeup(wakeup) if rows.len() < ROWS => rows.push_back(wakeup),
                Found::Wakeup(_) => *no_room += 1,
                Found::Unseen { cause, woken, without_switch } if counts(woken, cause) => {
                    untraced.rows += 1;
                    untraced.without_switch += u64::from(without_switch);
                }
                Found::Unseen { .. } => {}
                // Of a page that could not be read no time is known.
                Found::EventsLost { time, events } => {
                    *events_lost += if time == 0 || time >= begun { events } else { 0 }
                }
            });
        })?;
        // One that is known by what the thread did next comes after others.
        rows.make_contiguous().sort_unstable_by_key(|wakeup| wakeup.running);
        Ok(taken)
    }

    fn next_row(&mut self) -> Option<Awaited<COLUMNS>> {
        let lost = self.untraced.rows + self.no_room;
        if lost > self.told_lost {
            let more = lost - self.told_lost;
            self.told_lost = lost;
            return Some(Awaited::Lost(more));
        }
        let wakeup = self.rows.pop_front()?;
        self.has_rows = true;
        self.periods.take(&wakeup);
        Some(Awaited::Event(Nanos(wakeup.running), columns(&wakeup)))
    }

    fn read_further<A: Attachment>(&mut self, attachment: &mut A) -> io::Result<()> {
        if self.is_ending {
            return self.read_rest(attachment);
        }
        let has_ended = self.program.has_ended();
        let now = attachment.now();
        if has_ended || now >= self.until {
            self.ended = has_ended.then_some((now, self.until));
            self.end_at(now.min(self.until), attachment);
            return self.read_rest(attachment);
        }
        self.read(now.0).map(drop)
    }

    /// The run is over from this time on. What happened before is on its way for a moment.
    fn end_at<A: Attachment>(&mut self, time: Nanos, attachment: &mut A) {
        (self.is_ending, self.until) = (true, time);
        let settled = Nanos(attachment.now().0 + SETTLE.0);
        // What asks the thread to stop ends its sleep.
        while attachment.now() < settled
            && !matches!(attachment.sleep_until(settled), Woken::Failed(_))
        {}
    }

    /// Reads on until all of the run was read.
    fn read_rest<A: Attachment>(&mut self, attachment: &mut A) -> io::Result<()> {
        let taken = self.read(attachment.now().0)?;
        self.last_readings += 1;
        self.is_over = taken >= self.until.0;
        if !self.is_over && self.last_readings >= MAX_LAST_READINGS {
            self.is_over = true;
            // How many more there are is not known.
            self.events_lost += 1;
        }
        Ok(())
    }
}

fn columns(wakeup: &Wakeup) -> [i64; COLUMNS] {
    let Wakeup { cause, thread, cpu, planned, woken, running, missed, .. } = *wakeup;
    [running - planned, running - woken, missed, cause as i64, thread, i64::from(cpu)]
}

fn nothing_seen(wanted: Option<Cause>) -> Awaited<COLUMNS> {
    let doing = match wanted {
        None => "no wake-up of the program was seen",
        Some(Cause::Timer) => "no wake-up by a timer of the program was seen",
        Some(Cause::Other) => "no wake-up of the program was seen but by its timers",
    };
    Awaited::Failed(SampleError { doing, errno: 0 })
}

fn failed(doing: &'static str) -> impl Fn(io::Error) -> Awaited<COLUMNS> {
    move |error| Awaited::Failed(SampleError::new(doing, &error))
}

impl<A: Attachment> EventSource<A, COLUMNS> for Wakeups {
    fn begin(&mut self, _attachment: &mut A, start: Nanos, _interval: Nanos) {
        self.start = start;
    }

    fn next(&mut self, attachment: &mut A, until: Nanos) -> Awaited<COLUMNS> {
        if self.begun.is_none() {
            self.until = until;
            self.begun = Some(attachment.now().0);
            if let Err(error) = self.program.release() {
                return failed("execute the command")(error);
            }
        }
        loop {
            if let Some(row) = self.next_row() {
                return row;
            }
            if self.is_over && !self.has_rows {
                return nothing_seen(self.wanted);
            }
            if self.is_over {
                return Awaited::Ended;
            }
            let next = if self.is_ending {
                attachment.now()
            } else {
                Nanos(attachment.now().0 + EVERY.0).min(until)
            };
            if let Some(ended) = Awaited::after_sleep(attachment.sleep_until(next)) {
                return ended;
            }
            if let Err(error) = self.read_further(attachment) {
                return failed("read the kernel's events")(error);
            }
        }
    }

    /// What the kernel recorded until the run was stopped.
    fn left(&mut self, attachment: &mut A) -> Option<Awaited<COLUMNS>> {
        self.begun?;
        if !self.is_ending {
            self.end_at(attachment.now().min(self.until), attachment);
        }
        loop {
            if let Some(row) = self.next_row() {
                return Some(row);
            }
            if self.is_over {
                return None;
            }
            if self.read_rest(attachment).is_err() {
                self.is_over = true;
                // How many there were is not known.
                self.events_lost += 1;
            }
        }
    }

    fn keeps_events(&self) -> bool {
        true
    }

    fn findings(&self, _attachment: &mut A) -> Vec<Warning> {
        let mut warnings = Vec::new();
        let (events, unfollowed) = (self.events_lost, self.account.unfollowed());
        if events + unfollowed > 0 {
            let buffer_kib = self.trace.buffer_kib;
            warnings.push(Warning::TraceEventsLost { events, buffer_kib, unfollowed });
        }
        if let Some((ended, until)) = self.ended {
            let status = self.program.status();
            warnings.push(Warning::ProgramEnded {
                after_ns: Nanos(ended.0 - self.start.0),
                planned_ns: Nanos(until.0 - self.start.0),
                status: status.and_then(|status| status.code()),
                signal: status.and_then(|status| status.signal()),
                default_length: false,
            });
        }
        warnings
    }

    fn untraced(&self) -> Untraced {
        self.untraced
    }

    fn periodic_rows(&self) -> Option<(u64, WithoutPeriod)> {
        Some((self.periods.periodic(), self.periods.without()))
    }
}

fn clocks() -> Clocks {
    let (monotonic, realtime) =
        (ns_of(clock_gettime(ClockId::Monotonic)), ns_of(clock_gettime(ClockId::Realtime)));
    // Where the kernel has no such clock, nothing sleeps on it.
    let ahead = |clock| clock_gettime_dynamic(clock).map_or(0, |time| ns_of(time) - monotonic);
    Clocks {
        realtime: realtime - monotonic,
        tai: ahead(DynamicClockId::Tai),
        boottime: ahead(DynamicClockId::Boottime),
    }
}
