// SPDX-License-Identifier: MIT OR Apache-2.0
//! `cobalt` and `evl`: what `cyclic` measures, by a thread of a co-kernel on that co-kernel's
//! timer.

use super::cyclic::Cyclic;
use super::{DEFAULT_INTERVAL, Probe, ProbeSetting, SettingConflict, SettingValues};
use crate::cokernel::{OnCore, cobalt, evl, lacking};
use crate::thread::{Launched, ThreadConfig};
use model::{CoKernel, ProbeStatement};
use plan::{ProbeSettings, Run, Scheduling};
use std::borrow::Cow;
use std::io;

pub(super) const COBALT: Probe = Probe {
    name: "cobalt",
    summary: "wake-up latency of a periodic thread of Cobalt, the co-kernel of Xenomai 3",
    needs: "a running Cobalt on x86_64 or arm64, and root or a group that it allows",
    settings: &[SLEEP],
    statement: |run| cobalt_statement(is_by_timer(&run.probe_settings)),
    conflict,
    max_threads: |_| None,
    lacks: |_, _| lacking(cobalt::find),
    default_interval: DEFAULT_INTERVAL,
    default_scheduling: Scheduling::DEFAULT,
    launch: launch_on_cobalt,
};

const SLEEP: ProbeSetting = ProbeSetting {
    name: "sleep",
    help: "How the thread sleeps until its next planned time",
    values: SettingValues::OneOf(&["absolute", "timerfd"]),
    default: "absolute",
    default_is_recorded: false,
};

fn is_by_timer(settings: &ProbeSettings) -> bool {
    SLEEP.value_in(settings) == "timerfd"
}

pub(super) const EVL: Probe = Probe {
    name: "evl",
    summary: "wake-up latency of a periodic thread of EVL, the co-kernel of Xenomai 4",
    needs: "a running EVL on x86_64 or arm64, and access to /dev/evl",
    settings: &[],
    statement: |_| {
        statement(
            "evl",
            "monotonic clock of EVL",
            "from the absolute time given to EVL's clock sleep to the clock read after its \
             return, in user space",
        )
    },
    conflict,
    max_threads: |_| None,
    lacks: |_, _| lacking(evl::find),
    default_interval: DEFAULT_INTERVAL,
    default_scheduling: Scheduling::DEFAULT,
    launch: |_, config| launch_on_evl(config),
};

/// The co-kernel that a probe measures on, while it runs.
pub(super) fn running(probe: &str) -> Option<CoKernel> {
    let find = match probe {
        "cobalt" => cobalt::find,
        "evl" => evl::find,
        _ => return None,
    };
    find().ok().map(CoKernel::from)
}

fn statement(
    name: &'static str,
    clock: &'static str,
    measuring_point: impl Into<Cow<'static, str>>,
) -> ProbeStatement {
    ProbeStatement {
        name: name.into(),
        clock: clock.into(),
        measuring_point: measuring_point.into(),
        ..ProbeStatement::cyclic()
    }
}

fn cobalt_statement(by_timer: bool) -> ProbeStatement {
    let call = if by_timer { "a timerfd of Cobalt" } else { "Cobalt's clock_nanosleep" };
    let measuring_point = format!(
        "from the absolute time given to {call} to the clock read after its return, in user space"
    );
    statement("cobalt", "CLOCK_MONOTONIC of Cobalt", measuring_point)
}

/// A thread of another policy falls back to Linux after each call.
fn conflict(run: &Run) -> Option<SettingConflict> {
    let reason =
        format!("a co-kernel keeps real-time threads only, fifo or rr, not {}", run.scheduling);
    (!run.scheduling.policy.is_real_time()).then_some(SettingConflict { setting: "policy", reason })
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

fn launch_on_cobalt(settings: &ProbeSettings, config: ThreadConfig) -> io::Result<Launched> {
    check_granted(&config)?;
    if is_by_timer(settings) {
        let timer = cobalt::TimerFile::new().map_err(io::Error::other)?;
        return config.launch(OnCore::new(timer), Cyclic);
    }
    config.launch(OnCore::new(cobalt::Cobalt), Cyclic)
}

fn launch_on_evl(config: ThreadConfig) -> io::Result<Launched> {
    check_granted(&config)?;
    let convention = evl::convention().map_err(io::Error::other)?;
    config.launch(OnCore::new(evl::Evl::new(convention)?), Cyclic)
}

#[cfg(test)]
mod tests {
    use super::super::statement;
    use crate::test_runs::test_run;
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
