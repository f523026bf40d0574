// SPDX-License-Identifier: MIT OR Apache-2.0
//! Threads under SCHED_DEADLINE: a runtime in each period, which the kernel promises before they
//! start and enforces.
//!
//! The kernel refuses this policy to a thread that may not run on all CPUs of its root domain, so
//! these threads are bound to none.

use crate::attachment::{Attachment, Linux};
use plan::{CpuId, Nanos, Scheduling};
use rustix::thread::{CapabilitySet, Pid, capabilities};
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
        set_deadline(self.0).map_err(|error| {
            io::Error::new(error.kind(), refusal(Some(self.0), &error, &Conditions::here()))
        })?;
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
    tried.err().map(|error| refusal(None, &error, &Conditions::here()))
}

/// What the kernel's answer depends on, as far as it can be seen: its error names none of it.
struct Conditions {
    /// The shortest and the longest period.
    periods: [Option<Nanos>; 2],
    bandwidth_us: Option<i64>,
    has_right: bool,
}

impl Conditions {
    fn here() -> Self {
        let value = |name: &str| {
            let text = std::fs::read_to_string(format!("/proc/sys/kernel/{name}")).ok()?;
            text.trim().parse().ok()
        };
        let periods = ["sched_deadline_period_min_us", "sched_deadline_period_max_us"];
        let has_right =
            capabilities(None).is_ok_and(|sets| sets.effective.contains(CapabilitySet::SYS_NICE));
        Conditions {
            periods: periods.map(|name| value(name).map(Nanos::from_micros)),
            bandwidth_us: value("sched_rt_runtime_us"),
            has_right,
        }
    }

    /// Which limit of the kernel's a reservation breaks.
    fn broken(&self, asked: Option<Reservation>) -> String {
        let period = asked.map(|asked| asked.period);
        match (period, self.periods) {
            (Some(period), [Some(least), _]) if period < least => format!(
                "the period, which is the interval, is shorter than the {least} of \
                 /proc/sys/kernel/sched_deadline_period_min_us. Give a longer -i"
            ),
            (Some(period), [_, Some(most)]) if period > most => format!(
                "the period, which is the interval, is longer than the {most} of \
                 /proc/sys/kernel/sched_deadline_period_max_us. Give a shorter -i"
            ),
            _ => "the kernel takes a runtime of 1024 ns or more, and a period between \
                  /proc/sys/kernel/sched_deadline_period_min_us and sched_deadline_period_max_us"
                .to_owned(),
        }
    }

    /// What is lacking where the kernel permits none.
    fn lacking(&self) -> &'static str {
        match (self.has_right, self.bandwidth_us) {
            (false, _) => "it needs root or CAP_SYS_NICE",
            (true, Some(0)) => {
                "there is no real-time bandwidth: write 950000 to \
                 /proc/sys/kernel/sched_rt_runtime_us"
            }
            (true, _) => {
                "its threads have to be allowed on every CPU of their root domain, and to have \
                 CAP_SYS_NICE outside of any user namespace: run it outside of a cpuset or \
                 container"
            }
        }
    }
}

/// What the kernel's error means here, and what to do. `asked` is what was asked for, if somebody
/// asked for it.
fn refusal(asked: Option<Reservation>, error: &io::Error, conditions: &Conditions) -> String {
    let why = match error.raw_os_error() {
        Some(libc::EBUSY) => {
            "admission control has not so much bandwidth left. Give a shorter --runtime, a longer \
             interval or fewer threads, or end other SCHED_DEADLINE threads (chrt -p PID shows \
             them)"
                .to_owned()
        }
        Some(libc::EPERM) => conditions.lacking().to_owned(),
        Some(libc::EINVAL) => conditions.broken(asked),
        Some(libc::ENOSYS) => {
            "the kernel has no sched_setattr: Linux 3.14 or later is needed".to_owned()
        }
        _ => "the kernel refuses it".to_owned(),
    };
    let asked = asked.map_or_else(String::new, |Reservation { runtime, deadline, period }| {
        format!(" with runtime {runtime}, deadline {deadline}, period {period}")
    });
    format!("SCHED_DEADLINE{asked}: {error}: {why}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_say_what_to_do() {
        let error = io::Error::from_raw_os_error(libc::EBUSY);
        let period = Nanos::from_millis(1);
        let asked = Reservation { runtime: Nanos::from_micros(200), deadline: period, period };
        let text = refusal(Some(asked), &error, &conditions(true, 950_000));
        let front = format!(
            "SCHED_DEADLINE with runtime 200us, deadline 1ms, period 1ms: {error}: admission \
             control has not so much bandwidth left. Give a shorter --runtime"
        );
        assert!(text.starts_with(&front), "{text}");
    }

    fn conditions(has_right: bool, bandwidth_us: i64) -> Conditions {
        let periods = [Some(Nanos::from_micros(100)), Some(Nanos::from_secs(4))];
        Conditions { periods, bandwidth_us: Some(bandwidth_us), has_right }
    }

    /// All that the kernel might mean was listed, for the reader to find out which it is.
    #[test]
    fn a_refusal_names_the_condition_that_failed() {
        let of_period = |period| {
            let asked = Reservation { runtime: Nanos::from_micros(50), deadline: period, period };
            conditions(true, -1).broken(Some(asked))
        };
        assert_eq!(
            of_period(Nanos::from_secs(10)),
            "the period, which is the interval, is longer than the 4s of \
             /proc/sys/kernel/sched_deadline_period_max_us. Give a shorter -i"
        );
        assert_eq!(
            of_period(Nanos::from_micros(60)),
            "the period, which is the interval, is shorter than the 100us of \
             /proc/sys/kernel/sched_deadline_period_min_us. Give a longer -i"
        );
        assert!(of_period(Nanos::from_millis(1)).starts_with("the kernel takes a runtime of"));
        assert_eq!(conditions(false, 0).lacking(), "it needs root or CAP_SYS_NICE");
        assert_eq!(
            conditions(true, 0).lacking(),
            "there is no real-time bandwidth: write 950000 to /proc/sys/kernel/sched_rt_runtime_us"
        );
        assert!(conditions(true, -1).lacking().starts_with("its threads have to be allowed on"));
    }

    /// Whether any reservation is granted is tried with a small one, of which nobody has heard.
    #[test]
    fn a_trial_does_not_name_what_nobody_asked_for() {
        assert!(!refused().unwrap_or_default().contains("10us"));
        let error = io::Error::from_raw_os_error(libc::EPERM);
        assert_eq!(
            refusal(None, &error, &conditions(false, -1)),
            format!("SCHED_DEADLINE: {error}: it needs root or CAP_SYS_NICE")
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
