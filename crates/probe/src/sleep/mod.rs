// SPDX-License-Identifier: MIT OR Apache-2.0
//! The calls by which a periodic thread can sleep until its next planned time, on each clock that a
//! thread may follow.
//!
//! Two kinds: a call for each sleep, with an absolute time or with what is left of it; and a timer
//! that the kernel runs by itself, of which the thread awaits one expiry after the other. The
//! kernel counts those that passed while the thread was busy.

#[expect(
    unsafe_code,
    reason = "timers that signal a thread have no safe interface; see the file's head"
)]
mod sys;

use crate::Monotonic;
use crate::clock::{NANOS_PER_SEC, ns_of};
use crate::outcome::Woken;
use plan::Nanos;
use rustix::fd::OwnedFd;
use rustix::thread::NanosleepRelativeResult;
use rustix::time::{
    ClockId, DynamicClockId, Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec,
    clock_gettime, clock_gettime_dynamic,
};
use std::io;

pub(crate) use sys::{AlarmSignal, SignalTimer};

/// A clock that a thread can follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Clock {
    /// Set by nobody: the engine's own.
    Monotonic,
    Realtime,
    /// The time of day without leap seconds.
    Tai,
}

impl Clock {
    /// As the kernel calls it.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Clock::Monotonic => "CLOCK_MONOTONIC",
            Clock::Realtime => "CLOCK_REALTIME",
            Clock::Tai => "CLOCK_TAI",
        }
    }

    /// As the kernel numbers it.
    const fn number(self) -> libc::clockid_t {
        match self {
            Clock::Monotonic => libc::CLOCK_MONOTONIC,
            Clock::Realtime => libc::CLOCK_REALTIME,
            Clock::Tai => libc::CLOCK_TAI,
        }
    }

    /// The time, ns; 0 where there is no such clock.
    pub(crate) fn now(self) -> i64 {
        ns_of(match self {
            Clock::Monotonic => clock_gettime(ClockId::Monotonic),
            Clock::Realtime => clock_gettime(ClockId::Realtime),
            Clock::Tai => clock_gettime_dynamic(DynamicClockId::Tai).unwrap_or_default(),
        })
    }
}

/// A call that a thread can sleep by.
pub(crate) trait Sleep: Send {
    fn call(&self) -> &'static str;
    /// Starts what runs by itself: the first expiry at this time, then one in each interval. Called
    /// by the thread that will wait.
    fn begin(&mut self, _first: Nanos, _interval: Nanos) -> io::Result<()> {
        Ok(())
    }
    /// Sleeps until this time of the thread's clock, or until the next expiry of a timer that runs
    /// by itself.
    fn until(&mut self, time: Nanos) -> Woken;
    /// How many expiries the kernel counted beside the one that was awaited last; none where it
    /// runs no timer by itself.
    fn overruns(&self) -> Option<u64> {
        None
    }
}

/// `clock_nanosleep` with an absolute time, on a clock other than the engine's own.
pub(crate) struct Absolute(pub(crate) Clock);

impl Sleep for Absolute {
    fn call(&self) -> &'static str {
        "clock_nanosleep"
    }

    fn until(&mut self, time: Nanos) -> Woken {
        sys::sleep_until(self.0, timespec(time)).map_or_else(Woken::from, |()| Woken::OnTime)
    }
}

/// `clock_nanosleep` with what is left until the time.
pub(crate) struct Relative;

impl Sleep for Relative {
    fn call(&self) -> &'static str {
        "clock_nanosleep"
    }

    fn until(&mut self, time: Nanos) -> Woken {
        let Some(left) = left_until(time) else { return Woken::OnTime };
        match rustix::thread::clock_nanosleep_relative(ClockId::Monotonic, &left) {
            NanosleepRelativeResult::Ok => Woken::OnTime,
            NanosleepRelativeResult::Interrupted(_) => Woken::Interrupted,
            NanosleepRelativeResult::Err(error) => error.into(),
        }
    }
}

/// `ppoll` of nothing, with what is left until the time as its timeout.
pub(crate) struct Poll;

impl Sleep for Poll {
    fn call(&self) -> &'static str {
        "ppoll"
    }

    fn until(&mut self, time: Nanos) -> Woken {
        let Some(left) = left_until(time) else { return Woken::OnTime };
        match rustix::event::poll(&mut [], Some(&left)) {
            Ok(_) => Woken::OnTime,
            Err(error) => error.into(),
        }
    }
}

/// A timer file descriptor that expires once in each interval.
pub(crate) struct TimerFile {
    file: OwnedFd,
    overruns: u64,
}

impl TimerFile {
    /// On CLOCK_REALTIME or, for any other, on CLOCK_MONOTONIC: Linux has no others of that kind.
    pub(crate) fn new(clock: Clock) -> io::Result<TimerFile> {
        let clock = if clock == Clock::Realtime {
            TimerfdClockId::Realtime
        } else {
            TimerfdClockId::Monotonic
        };
        Ok(TimerFile {
            file: rustix::time::timerfd_create(clock, TimerfdFlags::CLOEXEC)?,
            overruns: 0,
        })
    }
}

impl Sleep for TimerFile {
    fn call(&self) -> &'static str {
        "read of a timerfd"
    }

    fn begin(&mut self, first: Nanos, interval: Nanos) -> io::Result<()> {
        let periodic = Itimerspec { it_interval: timespec(interval), it_value: timespec(first) };
        rustix::time::timerfd_settime(&self.file, TimerfdTimerFlags::ABSTIME, &periodic)?;
        Ok(())
    }

    fn until(&mut self, _time: Nanos) -> Woken {
        let mut expiries = [0; 8];
        match rustix::io::read(&self.file, &mut expiries) {
            Ok(8) => {
                self.overruns = u64::from_ne_bytes(expiries).saturating_sub(1);
                Woken::OnTime
            }
            Ok(_) => Woken::Failed(libc::EIO),
            Err(error) => error.into(),
        }
    }

    fn overruns(&self) -> Option<u64> {
        Some(self.overruns)
    }
}

/// A POSIX timer, whose signal the thread awaits.
impl Sleep for SignalTimer {
    fn call(&self) -> &'static str {
        "rt_sigtimedwait"
    }

    fn begin(&mut self, first: Nanos, interval: Nanos) -> io::Result<()> {
        self.start(timespec(first), timespec(interval))
    }

    fn until(&mut self, _time: Nanos) -> Woken {
        self.wait().map_or_else(Woken::from, |()| Woken::OnTime)
    }

    fn overruns(&self) -> Option<u64> {
        Some(self.overruns)
    }
}

/// `setitimer(ITIMER_REAL)` with what is left until the time, in whole microseconds as it takes
/// them, rounded up.
impl Sleep for AlarmSignal {
    fn call(&self) -> &'static str {
        "setitimer"
    }

    fn until(&mut self, time: Nanos) -> Woken {
        // Nothing left would switch the timer off.
        let micros = (time.0 - Monotonic.now().0).div_euclid(1_000) + 1;
        self.sleep(micros.max(1)).map_or_else(Woken::from, |()| Woken::OnTime)
    }
}

/// What is left until a time; none if it has passed.
fn left_until(time: Nanos) -> Option<Timespec> {
    let left = time.0 - Monotonic.now().0;
    (left > 0).then(|| timespec(Nanos(left)))
}

fn timespec(time: Nanos) -> Timespec {
    Timespec { tv_sec: time.0.div_euclid(NANOS_PER_SEC), tv_nsec: time.0.rem_euclid(NANOS_PER_SEC) }
}
