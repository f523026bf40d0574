// SPDX-License-Identifier: MIT OR Apache-2.0
//! Keeps a run from locking up the machine.
//!
//! Real-time threads that need all of their CPUs' time lock out everything else, the recorder and
//! the user's shell first. Two things end such a run.
//!
//! - A heartbeat: a thread of ordinary priority beats once a second. The measuring threads
//!   themselves check as often that it still does ([`StarvationCheck`]). A thread of higher
//!   priority would have to interrupt what is measured.
//! - Each measured CPU: once a second the same thread compares the CPU time of our threads there,
//!   and of our children. Where it is more than half, it wakes a thread bound to that CPU, the
//!   canary, and checks that it ran. On CPUs with time to spare nothing wakes.

use crate::{Control, Monotonic, StopReason, sys};
use plan::{CpuId, Scheduling};
use rustix::thread::Pid;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;
use system::usage::{children_cpu_time_ns, thread_cpu_time_ns};

/// Checks in a row without a sign of life: longer than a busy machine makes a thread of ordinary
/// priority wait, shorter than a watchdog's timeout. Checks and not seconds, because a process that
/// was stopped (Ctrl-Z) or a machine that was suspended shows no life for hours, but then nothing
/// checks either.
const MAX_SILENT_CHECKS: u32 = 5;
const CHECK_EVERY: Duration = Duration::from_secs(1);
const CHECK_EVERY_NS: i64 = 1_000_000_000;
/// Ordinary scheduling still, but ahead of the loads: among hundreds of busy tasks an ordinary
/// thread waits for seconds.
const NICE: i32 = -20;
/// Our threads' share of a CPU, percent, from which the CPU itself is checked.
const SUSPICIOUS_PERCENT: i64 = 50;
/// These threads call next to nothing.
const SMALL_STACK_BYTES: usize = 32 * 1024;

/// A running guard; ends when asked to.
pub(crate) struct Guard {
    threads: Vec<JoinHandle<()>>,
    starting: Vec<StartingCanary>,
    off_duty: Control,
}

impl Guard {
    /// A guard over threads of this scheduling, which may be on these CPUs; none is needed over
    /// those without real-time priority, of which the scheduler takes care. It watches once it
    /// is told to: until then its own threads start, beside those that will measure.
    pub(crate) fn over(
        scheduling: Scheduling,
        cpus: impl Iterator<Item = CpuId>,
    ) -> std::io::Result<Option<Guard>> {
        if !scheduling.policy.is_real_time() {
            return Ok(None);
        }
        let mut guard =
            Guard { threads: Vec::new(), starting: Vec::new(), off_duty: Control::new() };
        let cpus: BTreeSet<CpuId> = cpus.collect();
        match cpus.into_iter().try_for_each(|cpu| guard.start_canary(cpu)) {
            Ok(()) => Ok(Some(guard)),
            Err(error) => {
                guard.end();
                Err(error)
            }
        }
    }

    /// Watches over threads, each with its CPU, from now on.
    pub(crate) fn watch(
        &mut self,
        measuring: &[(CpuId, Pid)],
        control: &Control,
    ) -> std::io::Result<()> {
        control.record_heartbeat(Monotonic.now().0);
        let mut watches = Vec::new();
        for starting in std::mem::take(&mut self.starting) {
            let cpu = starting.cpu;
            let threads =
                measuring.iter().filter(|(on, _)| *on == cpu).map(|(_, pid)| *pid).collect();
            watches.push(CpuWatch {
                cpu,
                threads,
                canary: starting.bound()?,
                used_ns: 0,
                checked_ns: 0,
                asked: 0,
                silent: 0,
            });
        }
        let (control, duty) = (control.clone(), self.off_duty.clone());
        let guard = move || {
            sys::block_all_signals();
            // Without the right to, it stays as it is.
            let _ = rustix::process::setpriority_process(None, NICE);
            while !duty.is_stopped() {
                let now = Monotonic.now().0;
                control.record_heartbeat(now);
                for watch in &mut watches {
                    // Children of a probe that starts processes have its priority. Which CPU they
                    // were on is not known: on each they are a reason to look.
                    let used: u64 =
                        watch.threads.iter().filter_map(|thread| thread_cpu_time_ns(*thread)).sum();
                    let used = used + children_cpu_time_ns();
                    watch.check(i64::try_from(used).unwrap_or(i64::MAX), now, &control);
                }
                std::thread::park_timeout(CHECK_EVERY);
            }
        };
        let thread = Builder::new().name("teiji-guard".into()).stack_size(SMALL_STACK_BYTES);
        self.threads.push(thread.spawn(guard)?);
        Ok(())
    }

    /// Starts a thread of ordinary priority that is asleep until it is asked whether it can run.
    fn start_canary(&mut self, cpu: CpuId) -> std::io::Result<()> {
        let (duty, answers) = (self.off_duty.clone(), Arc::new(AtomicU64::new(0)));
        let count = Arc::clone(&answers);
        let (sender, started) = channel();
        let thread = Builder::new()
            .name("teiji-canary".into())
            .stack_size(SMALL_STACK_BYTES)
            .spawn(move || {
                sys::block_all_signals();
                let _ = sender.send(rustix::thread::gettid());
                while !duty.is_stopped() {
                    std::thread::park();
                    count.fetch_add(1, Ordering::Relaxed);
                }
            })?;
        self.starting.push(StartingCanary {
            cpu,
            started,
            canary: Canary { thread: thread.thread().clone(), answers },
        });
        self.threads.push(thread);
        Ok(())
    }

    pub(crate) fn end(self) {
        self.off_duty.stop(StopReason::Asked);
        for thread in self.threads {
            thread.thread().unpark();
            // One that is bound to a CPU it cannot have may take as long as what keeps it from
            // there.
            if thread.thread().name() != Some("teiji-canary") {
                let _ = thread.join();
            }
        }
    }
}

/// A measuring thread's own check that threads of ordinary priority get to run. Costs one
/// comparison an activation, and one load of an atomic a second.
pub(crate) struct StarvationCheck {
    due_ns: i64,
    heartbeat: i64,
    silent: u32,
}

impl StarvationCheck {
    /// The first check is due at once.
    pub(crate) const fn new() -> Self {
        StarvationCheck { due_ns: 0, heartbeat: 0, silent: 0 }
    }

    /// Whether it is time to [`check`](Self::check).
    #[inline]
    pub(crate) const fn is_due(&self, now_ns: i64) -> bool {
        now_ns >= self.due_ns
    }

    /// Stops the run if there was no heartbeat for some checks. A run that has none at all is not
    /// checked.
    #[cold]
    pub(crate) fn check(&mut self, now_ns: i64, control: &Control) {
        self.due_ns = now_ns.saturating_add(CHECK_EVERY_NS);
        let heartbeat = control.last_heartbeat();
        self.silent =
            if heartbeat == self.heartbeat && heartbeat != 0 { self.silent + 1 } else { 0 };
        self.heartbeat = heartbeat;
        stop_if_silent(self.silent, None, control);
    }
}

/// Shows whether an ordinary thread can run on its CPU.
struct Canary {
    thread: std::thread::Thread,
    answers: Arc<AtomicU64>,
}

/// A canary that may not have run yet.
struct StartingCanary {
    cpu: CpuId,
    started: Receiver<Pid>,
    canary: Canary,
}

impl StartingCanary {
    /// The canary, bound to its CPU. Bound from here: another real-time thread may keep that CPU
    /// from it, and nothing shall wait for it.
    fn bound(self) -> std::io::Result<Canary> {
        if let Ok(pid) = self.started.recv() {
            crate::attachment::pin(Some(pid), self.cpu)?;
        }
        Ok(self.canary)
    }
}

/// One measured CPU.
struct CpuWatch {
    cpu: CpuId,
    threads: Vec<Pid>,
    canary: Canary,
    /// CPU time of our threads at the last check, and when that was.
    used_ns: i64,
    checked_ns: i64,
    /// Answers there were when the canary was last asked.
    asked: u64,
    silent: u32,
}

impl CpuWatch {
    /// `used_ns` is the CPU time that our threads on this CPU have used until `now_ns`.
    fn check(&mut self, used_ns: i64, now_ns: i64, control: &Control) {
        let (used, elapsed) = (used_ns - self.used_ns, now_ns - self.checked_ns);
        (self.used_ns, self.checked_ns) = (used_ns, now_ns);
        let answers = self.canary.answers.load(Ordering::Relaxed);
        if used.saturating_mul(100) < elapsed.saturating_mul(SUSPICIOUS_PERCENT) {
            self.silent = 0;
            return;
        }
        self.silent = if answers == self.asked { self.silent + 1 } else { 0 };
        self.asked = answers;
        self.canary.thread.unpark();
        stop_if_silent(self.silent, Some(self.cpu), control);
    }
}

fn stop_if_silent(checks: u32, cpu: Option<CpuId>, control: &Control) {
    if checks >= MAX_SILENT_CHECKS {
        control.stop(StopReason::Starved {
            for_ns: CHECK_EVERY_NS.saturating_mul(i64::from(checks)),
            cpu,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_that_leaves_no_time_is_stopped() {
        let (control, mut starvation) = (Control::new(), StarvationCheck::new());
        let mut check = |control: &Control| starvation.check(0, control);
        control.record_heartbeat(1_000);
        (0..MAX_SILENT_CHECKS).for_each(|_| check(&control));
        assert!(!control.is_stopped(), "the first check found a sign of life");
        control.record_heartbeat(2_000);
        (0..MAX_SILENT_CHECKS).for_each(|_| check(&control));
        assert!(!control.is_stopped(), "there was another one");
        check(&control);
        assert_eq!(
            control.reason(),
            Some(StopReason::Starved { for_ns: 5_000_000_000, cpu: None })
        );
    }

    /// Without real-time priority there is no heartbeat, and nothing to guard against.
    #[test]
    fn a_run_without_a_heartbeat_is_not_stopped() {
        let (control, mut starvation) = (Control::new(), StarvationCheck::new());
        (0..100).for_each(|_| starvation.check(0, &control));
        assert!(!control.is_stopped());
    }

    #[test]
    fn checks_are_a_second_apart() {
        let (control, mut starvation) = (Control::new(), StarvationCheck::new());
        assert!(starvation.is_due(7));
        starvation.check(7, &control);
        assert!(!starvation.is_due(SECOND + 6) && starvation.is_due(SECOND + 7));
    }

    const SECOND: i64 = 1_000_000_000;

    fn watch() -> CpuWatch {
        let canary = Canary { thread: std::thread::current(), answers: Arc::default() };
        CpuWatch {
            cpu: CpuId(3),
            threads: Vec::new(),
            canary,
            used_ns: 0,
            checked_ns: 0,
            asked: 0,
            silent: 0,
        }
    }

    /// Elsewhere on the machine ordinary threads may run as they like.
    #[test]
    fn a_run_that_leaves_one_cpu_no_time_is_stopped() {
        let (control, mut watch) = (Control::new(), watch());
        for second in 1..=i64::from(MAX_SILENT_CHECKS) {
            assert!(!control.is_stopped());
            watch.check(second * SECOND, second * SECOND, &control);
        }
        assert_eq!(
            control.reason(),
            Some(StopReason::Starved { for_ns: 5 * SECOND, cpu: Some(CpuId(3)) })
        );
    }

    #[test]
    fn a_busy_cpu_on_which_ordinary_threads_run_is_left_alone() {
        let (control, mut watch) = (Control::new(), watch());
        for second in 1..100 {
            watch.check(second * SECOND * 9 / 10, second * SECOND, &control);
            if second % 4 == 0 {
                watch.canary.answers.fetch_add(1, Ordering::Relaxed);
            }
        }
        assert!(!control.is_stopped());
    }

    /// Nothing is woken on a CPU that our threads hardly use.
    #[test]
    fn a_cpu_with_time_to_spare_is_not_disturbed() {
        let (control, mut watch) = (Control::new(), watch());
        for second in 1..100 {
            watch.check(second * SECOND / 10, second * SECOND, &control);
        }
        assert_eq!((watch.silent, control.is_stopped()), (0, false));
    }

    #[test]
    fn a_canary_answers() {
        let cpu = crate::process_cpus().unwrap().inherited[0];
        let mut guard = Guard::over(Scheduling::DEFAULT, [cpu, cpu].into_iter()).unwrap().unwrap();
        assert_eq!(guard.starting.len(), 1, "one for each CPU");
        let canary = guard.starting.pop().unwrap().bound().unwrap();
        canary.thread.unpark();
        let deadline = std::time::Instant::now() + Duration::from_secs(20);
        while canary.answers.load(Ordering::Relaxed) == 0 {
            assert!(std::time::Instant::now() < deadline);
            std::thread::sleep(Duration::from_millis(2));
        }
        guard.end();
    }

    #[test]
    fn ends_when_asked_to() {
        let control = Control::new();
        let mut guard = Guard::over(Scheduling::DEFAULT, std::iter::empty()).unwrap().unwrap();
        guard.watch(&[], &control).unwrap();
        // As it begins to watch, and then again and again.
        let (mut beats, mut last) = (0, control.last_heartbeat());
        let until = std::time::Instant::now() + Duration::from_secs(60);
        while beats < 2 && std::time::Instant::now() < until {
            std::thread::sleep(Duration::from_millis(10));
            let now = control.last_heartbeat();
            beats += i32::from(now != last);
            last = now;
        }
        assert_eq!(beats, 2);
        guard.end();
        assert!(Guard::over(Scheduling::OTHER, std::iter::empty()).unwrap().is_none());
        assert!(!control.is_stopped() && last != 0);
    }
}
