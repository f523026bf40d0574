// SPDX-License-Identifier: MIT OR Apache-2.0
//! `cyclic`: a thread that sleeps until an absolute time, again and again; or by another call, or
//! on another clock.

use super::probe::{Probe, SetProbe, SettingConflict, conflict};
use super::setting::ProbeSetting;
use crate::Monotonic;
use crate::attachment::{Attachment, Linux};
use crate::outcome::{SampleError, Woken};
use crate::sampler::{Overrun, Sampler};
use crate::sleep::{Absolute, AlarmSignal, Clock, Poll, Relative, SignalTimer, Sleep, TimerFile};
use crate::thread::{Launched, ThreadConfig};
use model::{Column, ProbeStatement};
use plan::{Nanos, ProbeSettings, Run};
use std::io;
use std::sync::Arc;

pub(super) const PROBE: Probe = Probe {
    settings: &[SLEEP, CLOCK],
    ..Probe::new(plan::DEFAULT_PROBE, "wake-up latency of a periodic thread", |settings| {
        Arc::new(Settings::from(settings))
    })
};

const SLEEP: ProbeSetting = ProbeSetting::one_of(
    "sleep",
    "How the thread sleeps until its next planned time",
    &["absolute", "relative", "timerfd", "signal", "itimer", "poll"],
)
.default_not_recorded();

const CLOCK: ProbeSetting = ProbeSetting::one_of(
    "clock",
    "The clock that the thread follows",
    &["monotonic", "realtime", "tai"],
)
.default_not_recorded();

/// The further columns, as far as the settings ask for them, in their order.
const OVERRUNS: Column = Column::count(
    "timer_overruns",
    "expiries of the timer that the kernel counted beside the one awaited",
);
const STEP: Column =
    Column::ns(Column::STEP, "how far the clock was set since the row before, forwards above 0");

struct Settings {
    sleep: String,
    clock: Clock,
}

impl From<&ProbeSettings> for Settings {
    fn from(settings: &ProbeSettings) -> Self {
        let clock = match CLOCK.text(settings) {
            "realtime" => Clock::Realtime,
            "tai" => Clock::Tai,
            _ => Clock::Monotonic,
        };
        Settings { sleep: SLEEP.text(settings).to_owned(), clock }
    }
}

impl Settings {
    fn counts_overruns(&self) -> bool {
        matches!(self.sleep.as_str(), "timerfd" | "signal")
    }
}

impl SetProbe for Settings {
    fn statement(&self, _: &Run) -> ProbeStatement {
        let (sleep, clock) = (self.sleep.as_str(), self.clock);
        if (sleep, clock) == ("absolute", Clock::Monotonic) {
            return ProbeStatement::cyclic();
        }
        let mut columns = ProbeStatement::cyclic().columns;
        columns.extend(self.counts_overruns().then_some(OVERRUNS));
        columns.extend((clock != Clock::Monotonic).then_some(STEP));
        let call = match sleep {
            "relative" => {
                "the end of the time given to clock_nanosleep, what was left until the planned \
                 time,"
            }
            "timerfd" => "the expiry of a periodic timerfd",
            "signal" => "the expiry of a periodic POSIX timer that signals the thread",
            "itimer" => {
                "the end of the time given to setitimer(ITIMER_REAL), what was left until the \
                 planned time,"
            }
            "poll" => {
                "the end of the timeout given to ppoll, what was left until the planned time,"
            }
            _ => "the absolute time given to clock_nanosleep",
        };
        let measuring_point =
            format!("from {call} to the clock read after the thread woke, in user space").into();
        ProbeStatement {
            columns,
            clock: clock.name().into(),
            measuring_point,
            ..ProbeStatement::cyclic()
        }
    }

    fn conflict(&self, _: &Run) -> Option<SettingConflict> {
        let (sleep, clock) = (self.sleep.as_str(), self.clock.name());
        match (sleep, self.clock) {
            (_, Clock::Monotonic) | ("absolute" | "signal", _) | ("timerfd", Clock::Realtime) => {
                None
            }
            ("timerfd", _) => conflict(CLOCK.name, format!("Linux has no timerfd on {clock}")),
            _ => conflict(
                CLOCK.name,
                format!(
                    "'{sleep}' sleeps for what is left, which Linux counts on CLOCK_MONOTONIC, \
                     not on {clock}"
                ),
            ),
        }
    }

    /// A process has one timer of setitimer.
    fn max_threads(&self) -> Option<usize> {
        (self.sleep == "itimer").then_some(1)
    }

    fn launch(&self, config: ThreadConfig) -> io::Result<Launched> {
        let clock = self.clock;
        let sleep: Box<dyn Sleep> = match self.sleep.as_str() {
            "relative" => Box::new(Relative),
            "poll" => Box::new(Poll),
            "itimer" => Box::new(AlarmSignal::new()),
            "signal" => Box::new(SignalTimer::new(clock)),
            "timerfd" => Box::new(TimerFile::new(clock)?),
            _ if clock == Clock::Monotonic => return config.launch(Linux, Cyclic),
            _ => Box::new(Absolute(clock)),
        };
        config.launch(
            Linux,
            Sleeping {
                sleep,
                clock,
                planned_ahead: 0,
                ahead: 0,
                left: 0,
                overruns: 0,
                counts_overruns: self.counts_overruns(),
            },
        )
    }
}

pub(crate) struct Cyclic;

impl<A: Attachment> Sampler<A, 1> for Cyclic {
    const OVERRUN: Overrun = Overrun::Time(0);

    #[inline]
    fn sample(&mut self, attachment: &mut A, planned: Nanos) -> Result<[i64; 1], SampleError> {
        Ok([attachment.now().0 - planned.0])
    }
}

/// Sleeps by another call, or follows another clock.
struct Sleeping {
    sleep: Box<dyn Sleep>,
    clock: Clock,
    /// By how much the clock was ahead of CLOCK_MONOTONIC when row 0 was planned, ns. Planned
    /// times stay where they are on the thread's clock when it is set, as those of a program
    /// that follows it do.
    planned_ahead: i64,
    ahead: i64,
    /// Expiries that the kernel's timer counted and that are not run yet.
    left: u64,
    /// Expiries that it counted beside the last one awaited.
    overruns: u64,
    /// Whether a row says how many expiries passed.
    counts_overruns: bool,
}

/// Attempts to read two clocks at one moment.
const READINGS: usize = 5;

impl Sleeping {
    fn now(&self) -> i64 {
        self.clock.now()
    }

    /// By how much the clock is ahead of CLOCK_MONOTONIC, ns, from the closest of several readings.
    fn ahead_now(&self) -> i64 {
        if self.clock == Clock::Monotonic {
            return 0;
        }
        let reading = |_| {
            let (before, now, after) = (Monotonic.now().0, self.now(), Monotonic.now().0);
            (after - before, now - before - (after - before) / 2)
        };
        (0..READINGS).map(reading).min().map_or(0, |(_, ahead)| ahead)
    }

    /// How far the clock was set since the row before, ns; it was just read as `now`. Within what
    /// the readings leave open it was not.
    fn step(&mut self, now: i64) -> i64 {
        if self.clock == Clock::Monotonic {
            return 0;
        }
        let expected = Monotonic.now().0 + self.ahead;
        let step = step_between(expected, now, self.now());
        self.ahead += step;
        step
    }
}

/// The offset of two clocks is known to this, ns: a clock is set by no less.
const CLOSE: i64 = 1_000;

/// How far a clock was set that was read before and after a time which was expected to lie between
/// the two, ns.
const fn step_between(expected: i64, before: i64, after: i64) -> i64 {
    if expected < before - CLOSE {
        before - expected
    } else if expected > after + CLOSE {
        after - expected
    } else {
        0
    }
}

impl<A: Attachment> Sampler<A, 3> for Sleeping {
    const OVERRUN: Overrun = Overrun::Time(0);

    fn begin(
        &mut self,
        _attachment: &mut A,
        first: Nanos,
        interval: Nanos,
    ) -> Result<(), SampleError> {
        self.planned_ahead = self.ahead_now();
        (self.ahead, self.left) = (self.planned_ahead, 0);
        let begun = self.sleep.begin(Nanos(first.0 + self.planned_ahead), interval);
        begun.map_err(|error| SampleError::new(self.sleep.call(), &error))
    }

    fn wait(&mut self, _attachment: &mut A, planned: Nanos) -> Woken {
        if self.left > 0 {
            (self.left, self.overruns) = (self.left - 1, 0);
            return Woken::OnTime;
        }
        let woken = self.sleep.until(Nanos(planned.0 + self.planned_ahead));
        // What it counted last time is of that time, where this one was interrupted.
        self.overruns = if woken == Woken::OnTime { self.sleep.overruns().unwrap_or(0) } else { 0 };
        self.left = self.overruns;
        woken
    }

    fn wait_call(&self) -> &'static str {
        self.sleep.call()
    }

    fn sample(&mut self, _attachment: &mut A, planned: Nanos) -> Result<[i64; 3], SampleError> {
        let now = self.now();
        let latency = now - self.planned_ahead - planned.0;
        let (overruns, step) = (self.overruns.cast_signed(), self.step(now));
        Ok(if self.counts_overruns { [latency, overruns, step] } else { [latency, step, 0] })
    }

    /// A timer that runs by itself has passed those that it counted, even if one more has passed
    /// since.
    fn passed(&mut self, overrun: i64, unit: i64) -> i64 {
        match self.sleep.overruns() {
            Some(_) => std::mem::take(&mut self.left).cast_signed(),
            None => overrun / unit,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_runs::test_run;

    /// However long the thread was kept from its CPU between two readings, a clock that nobody sets
    /// has no step.
    #[test]
    fn only_what_readings_leave_no_room_for_is_a_step() {
        let (before, after) = (1_000_000, 1_000_050);
        for expected in [1_000_020, before - CLOSE, after + CLOSE] {
            assert_eq!(step_between(expected, before, after), 0);
        }
        assert_eq!(step_between(1_500_000, 1_000_000, 9_000_000), 0);
        assert_eq!(step_between(before - 50_000, before, after), 50_000);
        assert_eq!(step_between(after + 50_000, before, after), -50_000);
    }

    /// A timer that does what a test wants, in turn.
    struct Scripted(Vec<(Woken, u64)>, u64);

    impl Sleep for Scripted {
        fn call(&self) -> &'static str {
            "scripted"
        }

        fn until(&mut self, _: Nanos) -> Woken {
            let (woken, overruns) = self.0.remove(0);
            if woken == Woken::OnTime {
                self.1 = overruns;
            }
            woken
        }

        fn overruns(&self) -> Option<u64> {
            Some(self.1)
        }
    }

    /// As one is by any signal, also one that does not end the run.
    #[test]
    fn an_interrupted_sleep_has_no_overruns() {
        let script = vec![(Woken::OnTime, 3), (Woken::Interrupted, 0), (Woken::OnTime, 0)];
        let sleep = Box::new(Scripted(script, 0));
        let mut sleeping = Sleeping {
            sleep,
            clock: Clock::Monotonic,
            planned_ahead: 0,
            ahead: 0,
            left: 0,
            overruns: 0,
            counts_overruns: true,
        };
        let wait = |sleeping: &mut Sleeping, planned| {
            let woken = Sampler::<Linux, 3>::wait(sleeping, &mut Linux, Nanos(planned));
            (woken, sleeping.overruns, sleeping.left)
        };
        assert_eq!(wait(&mut sleeping, 1), (Woken::OnTime, 3, 3));
        assert_eq!(Sampler::<Linux, 3>::passed(&mut sleeping, 3, 1), 3);
        assert_eq!(wait(&mut sleeping, 5), (Woken::Interrupted, 0, 0));
        assert_eq!(wait(&mut sleeping, 5), (Woken::OnTime, 0, 0));
    }

    fn error(settings: &[(&str, &str)], threads: usize) -> Option<String> {
        let mut run = test_run(Nanos::from_millis(1), 5);
        run.cpus = vec![run.cpus[0]; threads];
        run.probe_settings = settings
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        crate::test_runs::statement(&run).err().map(|error| format!("{}: {error}", error.setting()))
    }

    #[test]
    fn what_linux_cannot_sleep_by() {
        for (sleep, clock) in [
            ("absolute", "tai"),
            ("signal", "tai"),
            ("signal", "realtime"),
            ("timerfd", "realtime"),
        ] {
            assert_eq!(error(&[("sleep", sleep), ("clock", clock)], 2), None);
        }
        for sleep in ["relative", "poll", "itimer"] {
            let found = error(&[("sleep", sleep), ("clock", "realtime")], 1).unwrap();
            let expected = format!(
                "clock: 'clock' of the probe cyclic is impossible here: '{sleep}' sleeps for what \
                 is left"
            );
            assert!(found.starts_with(&expected), "{found}");
        }
        assert!(
            error(&[("sleep", "timerfd"), ("clock", "tai")], 1)
                .unwrap()
                .ends_with("no timerfd on CLOCK_TAI")
        );
        assert_eq!(error(&[("sleep", "itimer")], 1), None);
        let found = error(&[("sleep", "itimer")], 2).unwrap();
        assert_eq!(
            found,
            "threads: the probe cyclic measures with at most 1 thread, not 2, as it is set: give \
             -t 1"
        );
    }
}
