// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sleeps by the number of a clock, timers that send a signal, and the wait for it. Safe by what
//! the types hold: a timer is deleted before its number is forgotten.

use super::Clock;
use crate::sys::{KERNEL_SIGNALS, zero_or_errno};
use rustix::io::Errno;
use rustix::time::Timespec;
use std::io;
use std::mem::MaybeUninit;
use std::ptr;
use system::done;

fn zero() -> libc::timespec {
    // SAFETY: timespec consists of integers, padding among them on some targets, for which zeroes
    // are valid.
    unsafe { MaybeUninit::zeroed().assume_init() }
}

/// Sleeps until a time of a clock.
pub(super) fn sleep_until(clock: Clock, time: Timespec) -> io::Result<()> {
    let time = native(time);
    // SAFETY: `time` is alive and initialised; what is left of an absolute sleep is not wanted.
    zero_or_errno(unsafe {
        libc::clock_nanosleep(clock.number(), libc::TIMER_ABSTIME, &raw const time, ptr::null_mut())
    })
}

/// The C library's form of a time, which is neither below 0 nor centuries away.
fn native(time: Timespec) -> libc::timespec {
    let mut native = zero();
    native.tv_sec = time.tv_sec as _;
    native.tv_nsec = time.tv_nsec as _;
    native
}

/// A periodic timer that signals the thread that started it.
pub(crate) struct SignalTimer {
    clock: Clock,
    /// None before its first start.
    timer: Option<TimerId>,
    /// Expiries that the last signal stands for beside its own.
    pub(super) overruns: u64,
}

struct TimerId(libc::timer_t);

// SAFETY: the number of a timer belongs to the process, and every thread of it may set or delete
// the timer; musl and glibc encode it in a pointer, which is never followed here.
unsafe impl Send for TimerId {}

impl Drop for TimerId {
    fn drop(&mut self) {
        // SAFETY: the timer was created by this process and is deleted here only; the call touches
        // no memory of ours.
        unsafe { libc::timer_delete(self.0) };
    }
}

/// The signal of [`SignalTimer`]; measuring threads block it with all others.
fn timer_signal() -> libc::c_int {
    libc::SIGRTMIN()
}

impl SignalTimer {
    pub(crate) fn new(clock: Clock) -> SignalTimer {
        SignalTimer { clock, timer: None, overruns: 0 }
    }

    /// Starts or restarts it; signals the calling thread.
    pub(super) fn start(&mut self, first: Timespec, interval: Timespec) -> io::Result<()> {
        let timer = match &self.timer {
            Some(timer) => timer.0,
            None => self.timer.insert(timer_for_this_thread(self.clock)?).0,
        };
        set(timer, Timespec::default(), Timespec::default())?;
        // What an earlier start has left.
        while awaited(timer_signal(), Await::Nothing).is_ok() {}
        set(timer, first, interval)
    }

    /// Waits for the next signal.
    pub(super) fn wait(&mut self) -> io::Result<()> {
        awaited(timer_signal(), Await::Signal)?;
        let timer = self.timer.as_ref().ok_or(Errno::INVAL)?;
        // SAFETY: the timer exists as long as it is in `self.timer`; the call touches no memory of
        // ours.
        let overruns = unsafe { libc::timer_getoverrun(timer.0) };
        self.overruns = u64::try_from(overruns).map_err(|_| io::Error::last_os_error())?;
        Ok(())
    }
}

fn timer_for_this_thread(clock: Clock) -> io::Result<TimerId> {
    // SAFETY: sigevent consists of integers and a pointer, for which zeroes are valid; nothing
    // follows the pointer.
    let mut event: libc::sigevent = unsafe { MaybeUninit::zeroed().assume_init() };
    event.sigev_notify = libc::SIGEV_THREAD_ID;
    event.sigev_signo = timer_signal();
    event.sigev_notify_thread_id = rustix::thread::gettid().as_raw_nonzero().get();
    let mut timer = MaybeUninit::<libc::timer_t>::uninit();
    // SAFETY: both pointers are to live memory of the right types, the second writable; an unknown
    // clock is an error.
    if unsafe { libc::timer_create(clock.number(), &raw mut event, timer.as_mut_ptr()) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: timer_create succeeded, so it has written the timer's number.
    Ok(TimerId(unsafe { timer.assume_init() }))
}

/// Sets a timer's first expiry, absolute, and its interval; zeroes switch it off.
fn set(timer: libc::timer_t, first: Timespec, interval: Timespec) -> io::Result<()> {
    let times = libc::itimerspec { it_interval: native(interval), it_value: native(first) };
    // SAFETY: the timer exists, as callers hold its `TimerId`; `times` is alive and initialised;
    // the old setting is not wanted.
    done(
        unsafe {
            libc::timer_settime(timer, libc::TIMER_ABSTIME, &raw const times, ptr::null_mut())
        }
        .into(),
    )
}

/// The process's interval timer ITIMER_REAL. Its signal goes to any thread that does not block it,
/// so there is one, and all others have to be started after it.
pub(crate) struct AlarmSignal;

impl AlarmSignal {
    /// Blocks SIGALRM in the calling thread, and so in all that it starts from now on.
    pub(crate) fn new() -> AlarmSignal {
        crate::sys::block(&[libc::SIGALRM]);
        AlarmSignal
    }

    /// Sleeps for so many microseconds, at least one.
    pub(super) fn sleep(&mut self, micros: i64) -> io::Result<()> {
        set_alarm(micros)?;
        awaited(libc::SIGALRM, Await::Signal)
    }
}

impl Drop for AlarmSignal {
    fn drop(&mut self) {
        // What is still to come would interrupt nothing, but end up pending.
        let _ = set_alarm(0);
    }
}

fn set_alarm(micros: i64) -> io::Result<()> {
    let nothing = libc::timeval { tv_sec: 0, tv_usec: 0 };
    let once =
        libc::timeval { tv_sec: (micros / 1_000_000) as _, tv_usec: (micros % 1_000_000) as _ };
    let times = libc::itimerval { it_interval: nothing, it_value: once };
    // SAFETY: `times` is alive and initialised; the old setting is not wanted.
    done(unsafe { libc::setitimer(libc::ITIMER_REAL, &raw const times, ptr::null_mut()) }.into())
}

/// How long to wait for a signal.
#[derive(Clone, Copy)]
enum Await {
    /// Until it comes, or another one.
    Signal,
    /// Not at all: takes it if it is there.
    Nothing,
}

/// Takes a signal that the calling thread blocks. By the raw system call: musl's function goes on
/// waiting when another signal comes.
fn awaited(signal: libc::c_int, how_long: Await) -> io::Result<()> {
    let set = 1_u64 << (signal - 1);
    // Nothing is the same in every layout of a timespec.
    let nothing = [0_u64; 2];
    let timeout = match how_long {
        Await::Signal => ptr::null(),
        Await::Nothing => nothing.as_ptr(),
    };
    let information: *mut libc::siginfo_t = ptr::null_mut();
    // SAFETY: the set is 64 bits, as the length says and the kernel takes them on every
    // little-endian machine; the timeout is null or two zeroed words, as long as the longest
    // timespec; what comes with the signal is not wanted.
    let result = unsafe {
        libc::syscall(
            libc::SYS_rt_sigtimedwait,
            &raw const set,
            information,
            timeout,
            KERNEL_SIGNALS,
        )
    };
    if result == libc::c_long::from(signal) { Ok(()) } else { Err(io::Error::last_os_error()) }
}
