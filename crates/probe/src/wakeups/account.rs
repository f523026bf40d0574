// SPDX-License-Identifier: MIT OR Apache-2.0
//! From the events of a program to its wake-ups. Pure: events in the order of their time go in,
//! wake-ups come out.
//!
//! A thread that sleeps with a timer of its own arms it just before: the time it asked for is the
//! planned one. Timers of a process (timer files, POSIX timers) wake whichever of its threads waits
//! for them. They count as the cause where they expired while that thread slept, and the wake-up
//! came from an interrupt. All other wake-ups have another cause.

use super::deadlines::Deadlines;
use super::event::{Event, What};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    /// A timer of the program.
    Timer = 1,
    /// Anything else: another thread, a device, a signal.
    Other = 2,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wakeup {
    pub(crate) cause: Cause,
    pub(crate) thread: i64,
    /// The CPU that it ran on.
    pub(crate) cpu: u32,
    /// The time that a timer was to expire at; of another cause, when the thread was woken.
    pub(crate) planned: i64,
    pub(crate) woken: i64,
    /// When it was on a CPU.
    pub(crate) running: i64,
    /// Deadlines that passed since the one before.
    pub(crate) missed: i64,
    /// Whether it is one of a known period, so that 0 missed says something.
    pub(crate) is_periodic: bool,
}

/// What the events tell of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    Wakeup(Wakeup),
    /// A thread was woken then, and when it ran is not in the trace.
    Unseen {
        cause: Cause,
        woken: i64,
        /// No event was lost.
        without_switch: bool,
    },
    /// So many events before this time are missing, of an unknown number of wake-ups.
    EventsLost {
        time: i64,
        events: u64,
    },
}

/// The kernel's functions that timers of programs call, by their address.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Functions {
    /// Of a thread that sleeps.
    pub(crate) sleeper: i64,
    /// Of timer files, POSIX timers and interval timers; 0 where there is none.
    pub(crate) process: [i64; 3],
}

/// How far other clocks are ahead of CLOCK_MONOTONIC, ns.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Clocks {
    pub(crate) realtime: i64,
    pub(crate) tai: i64,
    pub(crate) boottime: i64,
}

const REALTIME: i64 = 0;
const BOOTTIME: i64 = 7;
const TAI: i64 = 11;
/// No machine is up for so long, ns: a later time is of a clock that counts since 1970.
const TEN_YEARS: i64 = 315_360_000_000_000_000;

impl Clocks {
    /// A time of one of these clocks on CLOCK_MONOTONIC. Of a timer that was made before anybody
    /// looked the clock is not known.
    fn monotonic(&self, time: i64, clock: Option<i64>) -> i64 {
        match clock {
            Some(REALTIME) => time - self.realtime,
            None if time > TEN_YEARS => time - self.realtime,
            Some(TAI) => time - self.tai,
            Some(BOOTTIME) => time - self.boottime,
            _ => time,
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Armed {
    planned: i64,
    missed: Option<i64>,
}

impl Armed {
    fn missed(self) -> i64 {
        self.missed.unwrap_or(0)
    }
}

/// A wake-up that is under way.
#[derive(Clone, Copy, Debug)]
struct Begun {
    cause: Cause,
    planned: i64,
    woken: i64,
    missed: i64,
    is_periodic: bool,
    /// The thread had not left its CPU yet.
    while_running: bool,
    /// It left since. What it does next tells whether it was on its way to sleep when it was
    /// woken, or slept anew.
    left: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct Thread {
    number: i64,
    cpu: u32,
    /// Whether it is on a CPU.
    is_running: bool,
    slept_at: i64,
    /// The timer that it made last, and its clock.
    made: Option<(i64, i64)>,
    sleeper: Option<Armed>,
    deadlines: Deadlines,
    begun: Option<Begun>,
    /// Deadlines that passed, of wake-ups that were lost.
    carried: i64,
}

#[derive(Clone, Copy, Debug, Default)]
struct ProcessTimer {
    timer: i64,
    clock: Option<i64>,
    armed: Option<Armed>,
    deadlines: Deadlines,
}

/// What is kept in advance, so that nothing is allocated later. Threads and timers beyond it are
/// counted, and not followed.
const MAX_THREADS: usize = 4_096;
const MAX_TIMERS: usize = 4_096;
/// A thread that was woken before it left its CPU does so, or does not, within this, ns.
const ON_ITS_WAY: i64 = 50_000;

/// The wake-ups of a program.
pub(crate) struct Account {
    functions: Functions,
    pub(crate) clocks: Clocks,
    /// Ascending by number.
    threads: Vec<Thread>,
    timers: Vec<ProcessTimer>,
    unfollowed: u64,
    /// Nothing counts before this thread executes its program.
    awaited: Option<i64>,
}

impl Account {
    /// Of these threads, and of those they make; where a program is started, from when this thread
    /// executes it.
    pub(crate) fn new(functions: Functions, threads: &[i64], awaited: Option<i64>) -> Self {
        let mut account = Account {
            functions,
            clocks: Clocks::default(),
            threads: Vec::with_capacity(MAX_THREADS),
            timers: Vec::with_capacity(MAX_TIMERS),
            unfollowed: 0,
            awaited,
        };
        threads.iter().for_each(|thread| account.follow(*thread));
        account
    }

    /// Threads and timers so far that there was no room for.
    pub(crate) const fn unfollowed(&self) -> u64 {
        self.unfollowed
    }

    fn follow(&mut self, number: i64) {
        let Err(place) = self.threads.binary_search_by_key(&number, |thread| thread.number) else {
            return;
        };
        if self.threads.len() == MAX_THREADS {
            self.unfollowed += 1;
            return;
        }
        let thread = Thread { number, slept_at: i64::MIN, ..Thread::default() };
        self.threads.insert(place, thread);
    }

    fn thread(&mut self, number: i64) -> Option<&mut Thread> {
        let place = self.threads.binary_search_by_key(&number, |thread| thread.number).ok()?;
        self.threads.get_mut(place)
    }

    /// Takes the next event. A switch can end two wake-ups.
    pub(crate) fn take(&mut self, event: &Event, each: &mut impl FnMut(Found)) {
        if let What::Lost { events } = event.what {
            each(Found::EventsLost { time: event.time, events });
            self.forget(each);
            return;
        }
        if let Some(awaited) = self.awaited {
            if let What::Executes { thread } = event.what
                && thread == awaited
            {
                self.awaited = None;
                if let Some(thread) = self.thread(thread) {
                    (thread.is_running, thread.cpu) = (true, event.cpu);
                }
            }
            return;
        }
        match event.what {
            What::TimerMade { timer, clock } => self.made(event, timer, clock),
            What::TimerArmed { timer, function, expires, is_absolute } => {
                self.settle(event.by, each);
                self.armed(event, timer, function, expires, is_absolute);
            }
            What::TimerOff { timer } if !event.in_interrupt => {
                if let Some(timer) = self.timers.iter_mut().find(|known| known.timer == timer) {
                    timer.armed = None;
                }
            }
            What::TimerOff { .. } | What::Executes { .. } | What::Lost { .. } => {}
            What::Waking { thread } => self.woken(event, thread, each),
            What::Switch { from, sleeps, to } => {
                self.leaves(event, from, sleeps, each);
                self.enters(event, to, each);
            }
            What::Made { thread } => self.follow(thread),
            What::Ended { thread } => {
                self.settle(thread, each);
                self.threads.retain(|known| known.number != thread);
            }
        }
    }

    /// What was under way may have gone on unseen.
    fn forget(&mut self, each: &mut impl FnMut(Found)) {
        for thread in &mut self.threads {
            thread.carried += thread.sleeper.map_or(0, Armed::missed)
                + thread.begun.map_or(0, |begun| begun.missed);
            thread.begun.iter().for_each(|begun| each(begun.unseen(false)));
            (thread.sleeper, thread.begun, thread.is_running) = (None, None, false);
        }
        self.timers.iter_mut().for_each(|timer| timer.armed = None);
    }

    fn made(&mut self, event: &Event, timer: i64, clock: i64) {
        if let Some(thread) = self.thread(event.by).filter(|_| !event.in_interrupt) {
            thread.made = Some((timer, clock));
        }
        if let Some(known) = self.timers.iter_mut().find(|known| known.timer == timer) {
            *known = ProcessTimer { timer, clock: Some(clock), ..ProcessTimer::default() };
        }
    }

    fn armed(&mut self, event: &Event, timer: i64, function: i64, expires: i64, is_absolute: bool) {
        let (functions, clocks) = (self.functions, self.clocks);
        let Some(thread) = self.thread(event.by) else { return };
        let made = thread.made.filter(|(made, _)| *made == timer).map(|(_, clock)| clock);
        // The kernel takes the time that is left on CLOCK_REALTIME as one on CLOCK_MONOTONIC.
        let clock = |clock: Option<i64>| {
            if is_absolute { clock } else { clock.filter(|clock| *clock != REALTIME) }
        };
        if function == functions.sleeper && !event.in_interrupt {
            let missed = if is_absolute { thread.deadlines.next(expires) } else { None };
            let planned = clocks.monotonic(expires, clock(made));
            thread.sleeper = Some(Armed { planned, missed });
            return;
        }
        if function == 0 || !functions.process.contains(&function) {
            return;
        }
        let place = self.timers.iter().position(|known| known.timer == timer).or_else(|| {
            let has_room = self.timers.len() < MAX_TIMERS;
            if has_room {
                self.timers.push(ProcessTimer { timer, clock: made, ..ProcessTimer::default() });
            } else {
                self.unfollowed += 1;
            }
            has_room.then(|| self.timers.len() - 1)
        });
        if let Some(known) = place.and_then(|place| self.timers.get_mut(place)) {
            let missed = known.deadlines.next(expires);
            let planned = clocks.monotonic(expires, clock(known.clock));
            known.armed = Some(Armed { planned, missed });
        }
    }

    fn woken(&mut self, event: &Event, number: i64, each: &mut impl FnMut(Found)) {
        self.settle(number, each);
        let by_process_timer = self.process_timer(event, number);
        let Some(thread) = self.thread(number) else { return };
        // It ran since, unseen.
        let unseen = thread.begun.take();
        thread.carried += unseen.map_or(0, |begun| begun.missed);
        unseen.iter().for_each(|begun| each(begun.unseen(true)));
        let by_own_timer = thread.sleeper.take().filter(|timer| timer.planned <= event.time);
        let timer = by_own_timer.or(by_process_timer);
        thread.begun = Some(Begun {
            cause: if timer.is_some() { Cause::Timer } else { Cause::Other },
            planned: timer.map_or(event.time, |timer| timer.planned),
            woken: event.time,
            missed: std::mem::take(&mut thread.carried) + timer.map_or(0, Armed::missed),
            is_periodic: timer.is_some_and(|timer| timer.missed.is_some()),
            while_running: thread.is_running,
            left: false,
        });
    }

    /// The timer of the process that expired last while this thread slept.
    fn process_timer(&mut self, event: &Event, number: i64) -> Option<Armed> {
        let thread = self.thread(number)?;
        let slept_at = thread.slept_at;
        if !event.in_interrupt || thread.sleeper.is_some_and(|timer| timer.planned <= event.time) {
            return None;
        }
        let expired = |timer: &&mut ProcessTimer| {
            timer.armed.is_some_and(|armed| (slept_at..=event.time).contains(&armed.planned))
        };
        let last = self
            .timers
            .iter_mut()
            .filter(expired)
            .max_by_key(|timer| timer.armed.map(|armed| armed.planned))?;
        last.armed.take()
    }

    /// Of a thread that was woken before it left its CPU: it did not leave it for that sleep.
    fn settle(&mut self, number: i64, each: &mut impl FnMut(Found)) {
        let Some(thread) = self.thread(number) else { return };
        if let Some(begun) = thread.begun.take_if(|begun| begun.while_running) {
            each(begun.ended(number, thread.cpu, begun.woken));
        }
    }

    fn leaves(&mut self, event: &Event, number: i64, sleeps: bool, each: &mut impl FnMut(Found)) {
        let Some(thread) = self.thread(number) else { return };
        (thread.is_running, thread.cpu) = (false, event.cpu);
        if sleeps {
            thread.slept_at = event.time;
        }
        let Some(begun) = thread.begun.as_mut().filter(|begun| begun.while_running) else { return };
        if sleeps && event.time - begun.woken <= ON_ITS_WAY {
            begun.left = true;
        } else {
            self.settle(number, each);
        }
    }

    fn enters(&mut self, event: &Event, number: i64, each: &mut impl FnMut(Found)) {
        let Some(thread) = self.thread(number) else { return };
        (thread.is_running, thread.cpu) = (true, event.cpu);
        if let Some(begun) = thread.begun.take() {
            let running = if begun.while_running && !begun.left { begun.woken } else { event.time };
            each(begun.ended(number, event.cpu, running));
        }
    }
}

impl Begun {
    const fn ended(self, thread: i64, cpu: u32, running: i64) -> Found {
        let Begun { cause, planned, woken, missed, is_periodic, .. } = self;
        Found::Wakeup(Wakeup { cause, thread, cpu, planned, woken, running, missed, is_periodic })
    }

    const fn unseen(&self, without_switch: bool) -> Found {
        Found::Unseen { cause: self.cause, woken: self.woken, without_switch }
    }
}

#[cfg(test)]
mod tests;
