// SPDX-License-Identifier: MIT OR Apache-2.0
//! `cobalt` and `evl`: what `cyclic` measures, by a thread of a co-kernel on that co-kernel's
//! timer.

use super::cyclic::Cyclic;
use super::probe::{Probe, SetProbe, SettingConflict, conflict};
use super::setting::ProbeSetting;
use crate::cokernel::{OnCore, cobalt, evl, lacking};
use crate::thread::{Launched, ThreadConfig};
use model::{CoKernel, ProbeStatement};
use plan::{Nanos, Run, Scheduling};
use std::io;
use std::sync::Arc;

pub(super) const COBALT: Probe = Probe {
    needs: "a running Cobalt on x86_64 or arm64, and root or a group that it allows",
    settings: &[SLEEP],
    ..Probe::new(
        "cobalt",
        "wake-up latency of a periodic thread of Cobalt, the co-kernel of Xenomai 3",
        |settings| Arc::new(Cobalt { is_by_timer: SLEEP.text(settings) == "timerfd" }),
    )
};

const SLEEP: ProbeSetting = ProbeSetting::one_of(
    "sleep",
    "How the thread sleeps until its next planned time",
    &["absolute", "timerfd"],
)
.default_not_recorded();

pub(super) const EVL: Probe = Probe {
    needs: "a running EVL on x86_64 or arm64, and access to /dev/evl",
    ..Probe::new(
        "evl",
        "wake-up latency of a periodic thread of EVL, the co-kernel of Xenomai 4",
        |_| Arc::new(Evl),
    )
};

struct Cobalt {
    is_by_timer: bool,
}

impl SetProbe for Cobalt {
    fn statement(&self, _: &Run) -> ProbeStatement {
        let timer_or_sleep =
            if self.is_by_timer { "a timerfd of Cobalt" } else { "Cobalt's clock_nanosleep" };
        statement("CLOCK_MONOTONIC of Cobalt", timer_or_sleep)
    }

    fn conflict(&self, run: &Run) -> Option<SettingConflict> {
        policy_conflict(run)
    }

    fn lacks(&self, _: Nanos, _: Scheduling) -> Option<String> {
        lacking(cobalt::find)
    }

    fn co_kernel(&self) -> Option<CoKernel> {
        cobalt::find().ok().map(CoKernel::from)
    }

    fn launch(&self, config: ThreadConfig) -> io::Result<Launched> {
        check_granted(&config)?;
        if self.is_by_timer {
            let timer = cobalt::TimerFile::new().map_err(io::Error::other)?;
            return config.launch(OnCore::new(timer), Cyclic);
        }
        config.launch(OnCore::new(cobalt::Cobalt), Cyclic)
    }
}

struct Evl;

impl SetProbe for Evl {
    fn statement(&self, _: &Run) -> ProbeStatement {
        statement("monotonic clock of EVL", "EVL's clock sleep")
    }

    fn conflict(&self, run: &Run) -> Option<SettingConflict> {
        policy_conflict(run)
    }

    fn lacks(&self, _: Nanos, _: Scheduling) -> Option<String> {
        lacking(evl::find)
    }

    fn co_kernel(&self) -> Option<CoKernel> {
        evl::find().ok().map(CoKernel::from)
    }

    fn launch(&self, config: ThreadConfig) -> io::Result<Launched> {
        check_granted(&config)?;
        let convention = evl::convention().map_err(io::Error::other)?;
        config.launch(OnCore::new(evl::Evl::new(convention)?), Cyclic)
    }
}

fn statement(clock: &'static str, call: &str) -> ProbeStatement {
    let measuring_point = format!(
        "from the absolute time given to {call} to the clock read after its return, in user space"
    );
    ProbeStatement {
        clock: clock.into(),
        measuring_point: measuring_point.into(),
        ..ProbeStatement::cyclic()
    }
}

/// A thread of another policy falls back to Linux after each call.
fn policy_conflict(run: &Run) -> Option<SettingConflict> {
    if run.scheduling.policy.is_real_time() {
        return None;
    }
    let scheduling = run.scheduling;
    conflict(
        "policy",
        format!("a co-kernel keeps real-time threads only, fifo or rr, not {scheduling}"),
    )
}

/// A thread without the right to a real-time priority falls back to Linux after each call.
fn check_granted(config: &ThreadConfig) -> io::Result<()> {
    if config.scheduling.policy.is_real_time() {
        return Ok(());
    }
    let error = "a co-kernel keeps real-time threads only, which this user may not have: raise \
                 its limit (ulimit -r), or be root";
    Err(io::Error::new(io::ErrorKind::PermissionDenied, error))
}

#[cfg(test)]
mod tests {
    use crate::test_runs::{statement, test_run};
    use plan::{Nanos, Scheduling};

    #[test]
    fn threads_of_other_policies_are_refused() {
        for probe in ["cobalt", "evl"] {
            let mut run = test_run(Nanos::from_millis(1), 5);
            run.probe = probe.to_owned();
            run.scheduling = Scheduling::OTHER;
            let found = statement(&run).unwrap_err();
            assert_eq!(found.setting(), "policy");
            assert!(
                found.to_string().contains("a co-kernel keeps real-time threads only"),
                "{found}"
            );
            run.scheduling = Scheduling::DEFAULT;
            assert!(
                statement(&run)
                    .unwrap()
                    .measuring_point
                    .contains("the clock read after its return")
            );
        }
    }
}
