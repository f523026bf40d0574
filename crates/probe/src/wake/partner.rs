// SPDX-License-Identifier: MIT OR Apache-2.0
//! The thread that is woken.

use super::{Named, Way};
use crate::attachment::{Attachment, Linux};
use crate::thread::{STACK_BYTES, prefault_stack};
use crate::{Monotonic, sys};
use plan::{CpuId, Nanos, Scheduling};
use rustix::io::Errno;
use rustix::thread::Pid;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicI64, AtomicU32, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

/// What the two threads share.
struct Shared {
    way: Box<dyn Way>,
    answer: Box<dyn Way>,
    /// When the partner last read the clock, ns.
    woken_ns: AtomicI64,
    /// On which CPU that was.
    cpu: AtomicU32,
    /// What its wait failed with; 0: it did not.
    errno: AtomicI32,
    /// How often it has answered.
    answers: AtomicU32,
    ends: AtomicBool,
}

/// A thread that waits to be woken. It ends when this is dropped.
pub(crate) struct Partner {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
    pid: Pid,
    wake_call: &'static str,
}

/// One wake-up, CLOCK_MONOTONIC, ns.
pub(crate) struct Woke {
    /// Just before the call that wakes.
    pub(crate) called_ns: i64,
    /// Just after it.
    pub(crate) returned_ns: i64,
    /// The partner's own reading.
    pub(crate) woken_ns: i64,
    /// The CPU it ran on.
    pub(crate) cpu: u32,
    /// The thread that woke it has its answer.
    pub(crate) done_ns: i64,
}

/// Once the run is being stopped, a partner has so long to answer: something may keep it from its CPU for ever.
const LAST_ANSWER: Nanos = Nanos::from_millis(100);
/// Between two checks for it.
const POLL: Nanos = Nanos::from_micros(100);
/// So long to end. Less than [`crate::JOIN_TIMEOUT`], after which the measuring thread that waits for it would be given up.
const END_TIMEOUT: Duration = Duration::from_secs(1);

impl Partner {
    /// Makes it. It is ready: bound to this CPU, with this scheduling.
    pub(crate) fn start(way: &Named, index: usize, cpu: CpuId, scheduling: Scheduling) -> io::Result<Partner> {
        let shared = Arc::new(Shared {
            way: (way.make)()?,
            answer: (way.make_answer)()?,
            woken_ns: AtomicI64::new(0),
            cpu: AtomicU32::new(0),
            errno: AtomicI32::new(0),
            answers: AtomicU32::new(0),
            ends: AtomicBool::new(false),
        });
        let (sender, receiver) = channel();
        let its_own = Arc::clone(&shared);
        let thread = Builder::new()
            .name(format!("teiji-woken-{index}"))
            .stack_size(STACK_BYTES)
            .spawn(move || its_own.run(cpu, scheduling, &sender))
            .inspect_err(|_| shared.remove())?;
        let pid = receiver.recv().unwrap_or_else(|_| Err(io::Error::other("the thread that is woken panicked")));
        let pid = pid.inspect_err(|_| shared.remove())?;
        Ok(Partner { shared, thread: Some(thread), pid, wake_call: way.wake_call })
    }

    /// Makes the calling thread the one that wakes it.
    pub(crate) fn attach(&self) {
        self.shared.answer.attach();
    }

    /// Its number.
    pub(crate) const fn pid(&self) -> Pid {
        self.pid
    }

    /// The call that wakes it, for errors.
    pub(crate) const fn wake_call(&self) -> &'static str {
        self.wake_call
    }

    /// Wakes it and waits for its answer.
    ///
    /// # Errors
    /// Either call's; EINTR where it did not answer in a run that is being stopped.
    #[inline]
    pub(crate) fn wake(&self) -> io::Result<Woke> {
        let answers = self.shared.answers.load(Ordering::Relaxed);
        let called_ns = Monotonic.now().0;
        self.shared.way.wake()?;
        let returned_ns = Monotonic.now().0;
        self.shared.wait_for_answer(answers)?;
        let done_ns = Monotonic.now().0;
        match self.shared.errno.load(Ordering::Relaxed) {
            0 => {
                let (woken_ns, cpu) = (self.shared.woken_ns.load(Ordering::Relaxed), self.shared.cpu.load(Ordering::Relaxed));
                Ok(Woke { called_ns, returned_ns, woken_ns, cpu, done_ns })
            }
            errno => Err(io::Error::from_raw_os_error(errno)),
        }
    }
}

impl Drop for Partner {
    fn drop(&mut self) {
        self.shared.ends.store(true, Ordering::Release);
        // A partner that cannot be woken any more has ended, or ends by what is removed now.
        let _ = self.shared.way.wake();
        let thread = self.thread.take();
        let step = Duration::from_millis(1);
        let mut waited = Duration::ZERO;
        let is_left = |thread: &JoinHandle<()>| !thread.is_finished();
        while thread.as_ref().is_some_and(is_left) && waited < END_TIMEOUT {
            std::thread::sleep(step);
            waited += step;
        }
        self.shared.remove();
        if let Some(thread) = thread.filter(JoinHandle::is_finished) {
            let _ = thread.join();
        }
    }
}

impl Shared {
    /// The partner, from its start to its end.
    fn run(&self, cpu: CpuId, scheduling: Scheduling, ready: &Sender<io::Result<Pid>>) {
        sys::block_all_signals();
        prefault_stack();
        self.way.attach();
        let attached = Linux.attach(cpu, scheduling);
        let is_ready = attached.is_ok();
        if ready.send(attached).is_ok() && is_ready {
            while self.answer_one() {}
        }
        Linux.detach();
    }

    /// Waits to be woken and answers; whether it goes on.
    fn answer_one(&self) -> bool {
        let mut waited = self.way.wait();
        let mut woken_ns = Monotonic.now().0;
        while waited.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::Interrupted) {
            waited = self.way.wait();
            woken_ns = Monotonic.now().0;
        }
        if self.ends.load(Ordering::Acquire) {
            return false;
        }
        self.woken_ns.store(woken_ns, Ordering::Relaxed);
        self.cpu.store(u32::try_from(rustix::thread::sched_getcpu()).unwrap_or(u32::MAX), Ordering::Relaxed);
        let errno = waited.as_ref().err().map_or(0, |error| error.raw_os_error().unwrap_or(libc::EIO));
        self.errno.store(errno, Ordering::Relaxed);
        self.answers.fetch_add(1, Ordering::Release);
        self.answer.wake().is_ok() && waited.is_ok()
    }

    /// Waits for one more answer than so many.
    fn wait_for_answer(&self, answers: u32) -> io::Result<()> {
        match self.answer.wait() {
            // Only the signal that stops a run comes through, or the process was stopped and goes on.
            Err(error) if error.kind() == io::ErrorKind::Interrupted => self.wait_for_last_answer(answers),
            result => result,
        }
    }

    /// The same for so long as an answer may take, however many signals come.
    #[cold]
    fn wait_for_last_answer(&self, answers: u32) -> io::Result<()> {
        let until = Monotonic.now().0 + LAST_ANSWER.0;
        while self.answers.load(Ordering::Acquire) == answers {
            let now = Monotonic.now().0;
            if now >= until {
                return Err(Errno::INTR.into());
            }
            let _ = Monotonic.sleep_until(Nanos(now + POLL.0));
        }
        // Takes it, so that the next wait is not for this one. Where a signal comes again there is no next.
        match self.answer.wait() {
            Err(error) if error.kind() != io::ErrorKind::Interrupted => Err(error),
            _ => Ok(()),
        }
    }

    /// Removes what would outlive the process.
    fn remove(&self) {
        self.way.remove();
        self.answer.remove();
    }
}

#[cfg(test)]
mod tests {
    use super::super::{NAMES, WAYS};
    use super::*;

    fn other() -> (CpuId, Scheduling) {
        (crate::process_cpus().unwrap().inherited[0], Scheduling::OTHER)
    }

    #[test]
    fn every_way_wakes_and_tells_when() {
        // A thread of its own, whose mask of signals goes with it.
        std::thread::spawn(wake_by_every_way).join().unwrap();
    }

    fn wake_by_every_way() {
        sys::block_all_signals_but_wake();
        let (cpu, scheduling) = other();
        for way in &WAYS {
            let partner = Partner::start(way, 0, cpu, scheduling).unwrap();
            partner.attach();
            for _ in 0..200 {
                let woke = partner.wake().unwrap();
                let name = way.name;
                assert!(woke.called_ns < woke.woken_ns && woke.woken_ns < woke.done_ns, "{name}");
                assert!(woke.called_ns < woke.returned_ns && woke.returned_ns < woke.done_ns, "{name}");
                assert_eq!(woke.cpu, cpu.0, "{name}");
            }
            let pid = partner.pid();
            drop(partner);
            assert!(sys::thread_cpu_time_ns(pid).is_none(), "{}: the partner is still there", way.name);
        }
        assert_eq!(NAMES.len(), WAYS.len());
    }

    /// As a run that is stopped before its first row does.
    #[test]
    fn a_partner_that_was_never_woken_ends() {
        let (cpu, scheduling) = other();
        for way in &WAYS {
            let partner = Partner::start(way, 0, cpu, scheduling).unwrap();
            let pid = partner.pid();
            drop(partner);
            assert!(sys::thread_cpu_time_ns(pid).is_none(), "{}", way.name);
        }
    }

    /// Its answer is awaited for a while after the first signal, and no longer.
    #[test]
    fn a_partner_that_does_not_answer_holds_up_no_stop() {
        sys::let_wake_interrupt().unwrap();
        WAYS.iter().for_each(is_given_up);
    }

    fn is_given_up(way: &Named) {
        let shared = Arc::new(Shared {
            way: (way.make)().unwrap(),
            answer: (way.make_answer)().unwrap(),
            woken_ns: AtomicI64::new(0),
            cpu: AtomicU32::new(0),
            errno: AtomicI32::new(0),
            answers: AtomicU32::new(0),
            ends: AtomicBool::new(false),
        });
        let (sender, receiver) = channel();
        let waker = std::thread::spawn(move || {
            sys::block_all_signals_but_wake();
            sender.send(rustix::thread::gettid()).unwrap();
            shared.wait_for_answer(0)
        });
        let pid = receiver.recv().unwrap();
        while !waker.is_finished() {
            sys::wake(pid);
            std::thread::sleep(Duration::from_millis(5));
        }
        assert_eq!(waker.join().unwrap().unwrap_err().kind(), io::ErrorKind::Interrupted);
    }

    #[test]
    fn a_cpu_that_is_not_there_is_an_error_and_leaves_nothing() {
        for way in &WAYS {
            assert!(Partner::start(way, 0, CpuId(1_000), Scheduling::OTHER).is_err());
        }
    }
}
