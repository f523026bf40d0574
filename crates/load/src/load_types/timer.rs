// SPDX-License-Identifier: MIT OR Apache-2.0
//! `timer`: thousands of armed timers, one task pinned on each CPU: the timers expire one after the
//! other, and each time the task is woken.

use crate::load_types::{Generator, LoadType, on_each_cpu};
use crate::options::{Options, SpecError};
use crate::worker_pool::StartBarrier;
use plan::{Nanos, Unit};
use rustix::buffer::spare_capacity;
use rustix::event::epoll;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};
use std::convert::Infallible;
use std::io;

pub(crate) const LOAD_TYPE: LoadType = LoadType {
    keys: &["timers", "every"],
    ..LoadType::new("timer", &["expirations", "wakeups"], read)
};

/// On each CPU, unless `timers=` says otherwise.
const TIMERS: usize = 1_000;
const MAX_TIMERS: usize = 10_000;
/// Between two expirations of one timer, ns, unless `every=` says otherwise.
const EVERY: i64 = 100_000_000;
/// Taken in at one wake-up.
const EVENTS: usize = 64;

fn read(options: &Options<'_>) -> Result<Box<dyn Generator>, SpecError> {
    let timers = options.number("timers", 1..=MAX_TIMERS)?;
    let every_ns = options.parsed("every", "a time from 100us to 10s", |text| {
        Nanos::parse(text, Unit::Microsecond)
            .ok()
            .map(|time| time.0)
            .filter(|ns| (100_000..=10_000_000_000).contains(ns))
    })?;
    let (timers, every_ns) = (timers.unwrap_or(TIMERS), every_ns.unwrap_or(EVERY));
    on_each_cpu(move |barrier| expire(timers, every_ns, barrier))
}

fn time(ns: i64) -> Timespec {
    Timespec { tv_sec: ns / 1_000_000_000, tv_nsec: ns % 1_000_000_000 }
}

fn expire(timers: usize, every_ns: i64, barrier: StartBarrier<'_>) -> io::Result<Infallible> {
    let queue = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    let mut armed = Vec::with_capacity(timers);
    for number in 0..timers {
        let timer = timerfd_create(
            TimerfdClockId::Monotonic,
            TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK,
        )
        .map_err(|error| {
            io::Error::other(format!(
                "timer {} of {timers} could not be made: {error}; see ulimit -n",
                number + 1
            ))
        })?;
        epoll::add(
            &queue,
            &timer,
            epoll::EventData::new_u64(number as u64),
            epoll::EventFlags::IN,
        )?;
        armed.push(timer);
    }
    let worker = barrier.wait()?;
    // One after the other, not all at once.
    let apart = every_ns / i64::try_from(timers).unwrap_or(1).max(1);
    for (first, timer) in (1..).map(|number| number * apart.max(1)).zip(&armed) {
        let spec = Itimerspec { it_interval: time(every_ns), it_value: time(first) };
        timerfd_settime(timer, TimerfdTimerFlags::empty(), &spec)?;
    }
    let mut events = Vec::with_capacity(EVENTS);
    loop {
        events.clear();
        match epoll::wait(&queue, spare_capacity(&mut events), None) {
            Err(rustix::io::Errno::INTR) => continue,
            other => other?,
        };
        worker.add(1, 1);
        for event in &events {
            let mut count = [0; 8];
            let timer = usize::try_from(event.data.u64()).ok().and_then(|number| armed.get(number));
            if let Some(timer) = timer
                && rustix::io::read(timer, &mut count).is_ok()
            {
                worker.add(0, u64::from_ne_bytes(count));
            }
        }
    }
}
