// SPDX-License-Identifier: MIT OR Apache-2.0
//! Threads under SCHED_DEADLINE: a runtime in each period, which the kernel promises before they
//! start and enforces.
//!
//! The kernel refuses this policy to a thread that may not run on all CPUs of its root domain, so
//! these threads are bound to none.

use crate::attachment::{Attachment, Linux};
use plan::{CpuId, Nanos, Scheduling};
use rustix::thread::Pid;
use std::io;
use system::scheduling::{Reservation, on_own_thread, set_affinity_to_all, set_deadline};

/// Threads of Linux with a reservation, on CLOCK_MONOTONIC.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reserved(pub(crate) Reservation);

impl Attachment for Reserved {
    /// On every CPU, whichever is named: see above.
    fn attach(&mut self, _: CpuId, _: Scheduling) -> io::Result<Pid> {
        // What was inherited may be less than the root domain (taskset). Where asking is forbidden,
        // the next call says so.
        let _ = set_affinity_to_all(None);
        let Reservation { runtime, deadline, period } = self.0;
        let asked = format!(" with runtime {runtime}, deadline {deadline}, period {period}");
        set_deadline(self.0)
            .map_err(|error| io::Error::new(error.kind(), refusal(&asked, &error)))?;
        Ok(rustix::thread::gettid())
    }
}

/// Why this machine refuses any reservation, tried with a small one; none where it does not.
pub(crate) fn refused() -> Option<String> {
    let period = Nanos::from_millis(100);
    let small = Reservation { runtime: Nanos::from_micros(10), deadline: period, period };
    let tried = on_own_thread("teiji-try", move || {
        let _ = set_affinity_to_all(None);
        let tried = set_deadline(small);
        Linux.detach();
        tried
    });
    // What was tried is not what will be asked for.
    tried.err().map(|error| refusal("", &error))
}

/// What the kernel's error means here, and what to do. `asked` is what was asked for, if somebody
/// asked for it.
fn refusal(asked: &str, error: &io::Error) -> String {
    let why = match error.raw_os_error() {
        Some(libc::EBUSY) => {
            "admission control has not so much bandwidth left. Give a shorter --runtime, a longer \
             interval or fewer threads, or end other SCHED_DEADLINE threads (chrt -p PID shows \
             them)"
        }
        Some(libc::EPERM) => {
            "it needs root or CAP_SYS_NICE, threads that may run on every CPU of their root domain \
             (no cpuset or container that leaves some out), and real-time bandwidth \
             (/proc/sys/kernel/sched_rt_runtime_us above 0)"
        }
        Some(libc::EINVAL) => {
            "the kernel takes a runtime of 1024 ns or more, and a period between \
             /proc/sys/kernel/sched_deadline_period_min_us and sched_deadline_period_max_us"
        }
        Some(libc::ENOSYS) => "the kernel has no sched_setattr: Linux 3.14 or later is needed",
        _ => "the kernel refuses it",
    };
    format!("SCHED_DEADLINE{asked}: {error}: {why}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_say_what_to_do() {
        for (errno, what) in [
            (libc::EBUSY, "shorter --runtime"),
            (libc::EPERM, "CAP_SYS_NICE"),
            (libc::EINVAL, "period_min_us"),
        ] {
            let error = io::Error::from_raw_os_error(errno);
            let text = refusal(" with runtime 200us", &error);
            let front = format!("SCHED_DEADLINE with runtime 200us: {error}: ");
            assert!(text.starts_with(&front) && text.contains(what), "{text}");
        }
    }

    /// Whether any reservation is granted is tried with a small one, of which nobody has heard.
    #[test]
    fn a_trial_does_not_name_what_nobody_asked_for() {
        assert!(!refused().unwrap_or_default().contains("10us"));
        let error = io::Error::from_raw_os_error(libc::EPERM);
        assert!(
            refusal("", &error).starts_with(&format!("SCHED_DEADLINE: {error}: it needs root"))
        );
    }

    /// 1 ns in 100 ms is below what the kernel can count with, whoever asks.
    #[test]
    fn a_refusal_leaves_the_thread_as_it_was() {
        let period = Nanos::from_millis(100);
        let asked = Reserved(Reservation { runtime: Nanos(1), deadline: period, period });
        let tried = std::thread::spawn(move || {
            let mut asked = asked;
            asked.attach(CpuId(0), Scheduling::DEADLINE).map(|_| ())
        });
        assert!(tried.join().unwrap().is_err());
    }
}
