// SPDX-License-Identifier: MIT OR Apache-2.0
//! The thread that wakes the measuring one.

use super::{Named, Way};
use crate::attachment::{Attachment, Linux};
use crate::outcome::errno_of;
use crate::thread::{STACK_BYTES, prefault_stack};
use crate::{Monotonic, sys};
use plan::{CpuId, Nanos, Scheduling};
use rustix::io::Errno;
use rustix::thread::{Pid, futex};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicI64, AtomicU32, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::thread::{Builder, JoinHandle, sleep};
use std::time::Duration;

/// What the two threads share.
struct Shared {
    /// By which the partner is asked.
    asks: Box<dyn Way>,
    way: Box<dyn Way>,
    /// The measuring thread, for when the partner fails; 0 before it has said so.
    measuring: AtomicI32,
    /// The last wake-up that the partner has begun, from 1 on.
    begun: AtomicU32,
    /// When it did, just before the call that wakes, ns.
    called_ns: AtomicI64,
    /// On which CPU that was.
    cpu: AtomicU32,
    /// When that call had returned, ns.
    returned_ns: AtomicI64,
    /// The last wake-up of which both times are there.
    returned: AtomicU32,
    /// Whether the measuring thread sleeps until the next is.
    is_awaited: AtomicBool,
    /// What the partner failed with; 0: it did not.
    errno: AtomicI32,
    ends: AtomicBool,
}

/// A thread that wakes the one that asks it to. It ends when this is dropped.
pub(crate) struct Partner {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
    pid: Pid,
    wake_call: &'static str,
    /// How often it was asked.
    asked: u32,
}

/// One wake-up, CLOCK_MONOTONIC, ns.
pub(crate) struct Woke {
    /// Read by the partner just before the call that wakes.
    pub(crate) called_ns: i64,
    pub(crate) returned_ns: i64,
    /// The CPU the partner ran on.
    pub(crate) cpu: u32,
    /// Read by the thread that was woken as the first thing.
    pub(crate) woken_ns: i64,
    pub(crate) done_ns: i64,
}

/// Once the run is being stopped, a partner has so long to wake: something may keep it from its CPU
/// for ever.
const LAST_WAKE: i64 = Nanos::from_millis(100).0;
/// A partner that has failed tells the measuring thread so again and again: it may not wait yet.
const FAILED_AGAIN: Duration = Duration::from_millis(5);
/// So long to end. Less than [`crate::JOIN_TIMEOUT`], after which the measuring thread that waits
/// for it would be given up.
const END_TIMEOUT: Duration = Duration::from_secs(1);

impl Partner {
    /// Makes it. It is ready: bound to this CPU, with this scheduling.
    pub(crate) fn start(
        way: &Named,
        index: usize,
        cpu: CpuId,
        scheduling: Scheduling,
    ) -> io::Result<Partner> {
        let shared = Arc::new(Shared::new(way)?);
        let (sender, receiver) = channel();
        let its_own = Arc::clone(&shared);
        let thread = Builder::new()
            .name(format!("teiji-wakes-{index}"))
            .stack_size(STACK_BYTES)
            .spawn(move || its_own.run(cpu, scheduling, &sender))
            .inspect_err(|_| shared.remove())?;
        let pid = receiver
            .recv()
            .unwrap_or_else(|_| Err(io::Error::other("the thread that wakes panicked")));
        let pid = pid.inspect_err(|_| shared.remove())?;
        Ok(Partner { shared, thread: Some(thread), pid, wake_call: way.wake_call, asked: 0 })
    }

    /// Makes the calling thread the one that it wakes.
    pub(crate) fn attach(&self) {
        self.shared.way.attach();
        self.shared
            .measuring
            .store(rustix::thread::gettid().as_raw_nonzero().get(), Ordering::Release);
    }

    pub(crate) const fn pid(&self) -> Pid {
        self.pid
    }

    /// The call that wakes, for errors.
    pub(crate) const fn wake_call(&self) -> &'static str {
        self.wake_call
    }

    /// What ends the measuring thread's wait where no signal does.
    pub(crate) fn release(&self) -> impl Fn() + Send + Sync + 'static {
        let shared = Arc::clone(&self.shared);
        move || shared.way.release()
    }

    /// Asks it to wake the calling thread, and waits for that.
    ///
    /// # Errors
    /// Either call's; EINTR where it did not wake in a run that is being stopped.
    #[inline]
    pub(crate) fn wake(&mut self) -> io::Result<Woke> {
        self.asked = self.asked.wrapping_add(1);
        let shared = &self.shared;
        shared.asks.wake()?;
        let woken_ns = shared.wait_until_woken(self.asked)?;
        shared.wait_until_returned(self.asked)?;
        let done_ns = Monotonic.now().0;
        let of = |time: &AtomicI64| time.load(Ordering::Relaxed);
        let (called_ns, returned_ns) = (of(&shared.called_ns), of(&shared.returned_ns));
        Ok(Woke {
            called_ns,
            returned_ns,
            cpu: shared.cpu.load(Ordering::Relaxed),
            woken_ns,
            done_ns,
        })
    }
}

impl Drop for Partner {
    fn drop(&mut self) {
        self.shared.ends.store(true, Ordering::SeqCst);
        // A partner that cannot be asked any more has failed, and sees it too.
        let _ = self.shared.asks.wake();
        let step = Duration::from_millis(1);
        let mut waited = Duration::ZERO;
        let Some(thread) = self.thread.take() else { return };
        // While it is in the call that wakes, the calling thread must not end: a signal would go to
        // whoever has its number next.
        while !thread.is_finished() && (waited < END_TIMEOUT || self.shared.is_in_call()) {
            sleep(step);
            waited += step;
        }
        self.shared.remove();
        if thread.is_finished() {
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn new(way: &Named) -> io::Result<Self> {
        Ok(Shared {
            asks: (way.make)()?,
            way: (way.make)()?,
            measuring: AtomicI32::new(0),
            begun: AtomicU32::new(0),
            called_ns: AtomicI64::new(0),
            cpu: AtomicU32::new(0),
            returned_ns: AtomicI64::new(0),
            returned: AtomicU32::new(0),
            is_awaited: AtomicBool::new(false),
            errno: AtomicI32::new(0),
            ends: AtomicBool::new(false),
        })
    }

    /// The partner, from its start to its end.
    fn run(&self, cpu: CpuId, scheduling: Scheduling, ready: &Sender<io::Result<Pid>>) {
        sys::block_all_signals();
        prefault_stack();
        self.asks.attach();
        let attached = Linux.attach(cpu, scheduling);
        let is_ready = attached.is_ok();
        if ready.send(attached).is_ok() && is_ready {
            let mut wakes: u32 = 0;
            let error = loop {
                wakes = wakes.wrapping_add(1);
                match self.wake_when_asked(wakes) {
                    Ok(true) => {}
                    Ok(false) => break None,
                    Err(error) => break Some(error),
                }
            };
            Linux.detach();
            if let Some(error) = error {
                self.fail(&error);
            }
        }
        Linux.detach();
    }

    /// Waits to be asked and wakes the measuring thread; whether it goes on.
    fn wake_when_asked(&self, wake: u32) -> io::Result<bool> {
        while let Err(error) = self.asks.wait() {
            if error.kind() != io::ErrorKind::Interrupted {
                return Err(error);
            }
        }
        self.cpu.store(
            u32::try_from(rustix::thread::sched_getcpu()).unwrap_or(u32::MAX),
            Ordering::Relaxed,
        );
        self.begun.store(wake, Ordering::SeqCst);
        if self.ends.load(Ordering::SeqCst) {
            return Ok(false);
        }
        let called_ns = Monotonic.now().0;
        self.called_ns.store(called_ns, Ordering::Relaxed);
        self.way.wake()?;
        self.returned_ns.store(Monotonic.now().0, Ordering::Relaxed);
        self.returned.store(wake, Ordering::SeqCst);
        if self.is_awaited.load(Ordering::SeqCst) {
            futex::wake(&self.returned, futex::Flags::PRIVATE, 1)?;
        }
        Ok(true)
    }

    /// Whether the partner may be in the call that wakes.
    fn is_in_call(&self) -> bool {
        self.begun.load(Ordering::SeqCst) != self.returned.load(Ordering::SeqCst)
    }

    /// Tells the measuring thread, wherever it waits, until it ends the run for it.
    #[cold]
    fn fail(&self, error: &io::Error) {
        self.errno.store(errno_of(error), Ordering::Release);
        while !self.ends.load(Ordering::Acquire) {
            self.way.release();
            if let Some(measuring) = Pid::from_raw(self.measuring.load(Ordering::Acquire)) {
                sys::wake(measuring);
            }
            sleep(FAILED_AGAIN);
        }
    }

    /// Waits for this wake-up; when the thread had it, ns.
    #[inline]
    fn wait_until_woken(&self, wake: u32) -> io::Result<i64> {
        let mut first_interruption = None;
        loop {
            let waited = self.way.wait();
            let woken_ns = Monotonic.now().0;
            if waited.is_ok() && self.begun.load(Ordering::Acquire) == wake {
                return Ok(woken_ns);
            }
            self.interrupted(waited, &mut first_interruption)?;
        }
    }

    /// Waits until the partner's call has returned. On the same CPU and with real-time priority it
    /// has: otherwise this would not run.
    #[inline]
    fn wait_until_returned(&self, wake: u32) -> io::Result<()> {
        if self.returned.load(Ordering::SeqCst) == wake {
            Ok(())
        } else {
            self.sleep_until_returned(wake)
        }
    }

    fn sleep_until_returned(&self, wake: u32) -> io::Result<()> {
        let mut first_interruption = None;
        self.is_awaited.store(true, Ordering::SeqCst);
        loop {
            let returned = self.returned.load(Ordering::SeqCst);
            if returned == wake {
                break;
            }
            let waited = futex::wait(&self.returned, futex::Flags::PRIVATE, returned, None);
            let is_again = matches!(waited, Ok(()) | Err(Errno::AGAIN));
            if !is_again {
                self.interrupted(waited.map_err(io::Error::from), &mut first_interruption)?;
            }
        }
        self.is_awaited.store(false, Ordering::SeqCst);
        Ok(())
    }

    /// Whether a wait that ended early goes on: it does until the partner has had the time for its
    /// last wake-up, however many signals come. The first may also say that the process was
    /// stopped and goes on.
    #[cold]
    fn interrupted(&self, waited: io::Result<()>, first: &mut Option<i64>) -> io::Result<()> {
        if let Some(error) = waited.err().filter(|error| error.kind() != io::ErrorKind::Interrupted)
        {
            return Err(error);
        }
        match self.errno.load(Ordering::Acquire) {
            0 => {}
            errno => return Err(io::Error::from_raw_os_error(errno)),
        }
        let now = Monotonic.now().0;
        if now - *first.get_or_insert(now) < LAST_WAKE { Ok(()) } else { Err(Errno::INTR.into()) }
    }

    /// Removes what would outlive the process.
    fn remove(&self) {
        self.way.remove();
        self.asks.remove();
    }
}

#[cfg(test)]
mod tests {
    use super::super::{NAMES, WAYS};
    use super::*;

    fn other() -> (CpuId, Scheduling) {
        (crate::process_cpus().unwrap().inherited[0], Scheduling::OTHER)
    }

    /// A thread of its own, whose mask of signals goes with it.
    fn in_a_measuring_thread<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
        let measures = || {
            sys::block_all_signals_but_wake();
            work()
        };
        std::thread::spawn(measures).join().unwrap()
    }

    #[test]
    fn every_way_wakes_and_tells_when() {
        in_a_measuring_thread(wake_by_every_way);
    }

    fn wake_by_every_way() {
        let (cpu, scheduling) = other();
        for way in &WAYS {
            let mut partner = Partner::start(way, 0, cpu, scheduling).unwrap();
            partner.attach();
            for _ in 0..200 {
                let woke = partner.wake().unwrap();
                let name = way.name;
                assert!(woke.called_ns < woke.woken_ns && woke.woken_ns < woke.done_ns, "{name}");
                assert!(
                    woke.called_ns < woke.returned_ns && woke.returned_ns < woke.done_ns,
                    "{name}"
                );
                assert_eq!(woke.cpu, cpu.0, "{name}");
            }
            let pid = partner.pid();
            drop(partner);
            assert!(
                system::usage::thread_cpu_time_ns(pid).is_none(),
                "{}: the partner is still there",
                way.name
            );
        }
        assert_eq!(NAMES.len(), WAYS.len());
    }

    /// As a run that is stopped before its first row does.
    #[test]
    fn a_partner_that_was_never_asked_ends() {
        let (cpu, scheduling) = other();
        for way in &WAYS {
            let partner = Partner::start(way, 0, cpu, scheduling).unwrap();
            let pid = partner.pid();
            drop(partner);
            assert!(system::usage::thread_cpu_time_ns(pid).is_none(), "{}", way.name);
        }
    }

    /// It is awaited for a while after the first signal, and no longer.
    #[test]
    fn a_partner_that_does_not_wake_holds_up_no_stop() {
        sys::let_wake_interrupt().unwrap();
        for way in &WAYS {
            for wait in [
                |shared: &Shared| shared.wait_until_woken(1).map(drop),
                |shared: &Shared| shared.wait_until_returned(1),
            ] {
                is_given_up(way, wait);
            }
        }
    }

    fn is_given_up(way: &Named, wait: fn(&Shared) -> io::Result<()>) {
        let shared = Arc::new(Shared::new(way).unwrap());
        let its_own = Arc::clone(&shared);
        let (sender, receiver) = channel();
        let woken = std::thread::spawn(move || {
            sys::block_all_signals_but_wake();
            its_own.way.attach();
            sender.send(rustix::thread::gettid()).unwrap();
            wait(&its_own)
        });
        let pid = receiver.recv().unwrap();
        while !woken.is_finished() {
            sys::wake(pid);
            shared.way.release();
            sleep(Duration::from_millis(5));
        }
        assert_eq!(woken.join().unwrap().unwrap_err().kind(), io::ErrorKind::Interrupted);
    }

    /// However the measuring thread waits: it learns what the other failed with.
    #[test]
    fn a_partner_that_fails_ends_the_wait() {
        sys::let_wake_interrupt().unwrap();
        for way in &WAYS {
            let shared = Arc::new(Shared::new(way).unwrap());
            let mut partner = Partner {
                shared,
                thread: None,
                pid: rustix::thread::gettid(),
                wake_call: "",
                asked: 0,
            };
            let its_own = Arc::clone(&partner.shared);
            let (sender, receiver) = channel();
            let fails = std::thread::spawn(move || {
                sys::block_all_signals();
                its_own.asks.attach();
                sender.send(()).unwrap();
                its_own.fail(&Errno::IDRM.into());
            });
            receiver.recv().unwrap();
            let error = in_a_measuring_thread(move || {
                partner.attach();
                partner.wake().err()
            });
            assert_eq!(
                error.and_then(|error| error.raw_os_error()),
                Some(libc::EIDRM),
                "{}",
                way.name
            );
            fails.join().unwrap();
        }
    }

    #[test]
    fn a_cpu_that_is_not_there_is_an_error_and_leaves_nothing() {
        for way in &WAYS {
            assert!(Partner::start(way, 0, CpuId(1_000), Scheduling::OTHER).is_err());
        }
    }
}
