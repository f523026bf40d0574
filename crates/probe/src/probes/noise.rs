// SPDX-License-Identifier: MIT OR Apache-2.0
//! `noise`: gaps in a loop that reads the clock again and again.
//!
//! The thread polls for a part of each interval and sleeps in the rest, so that other work has its
//! CPU then. Whatever takes the CPU from the loop, or stops it, is a gap between two readings. One
//! above the threshold is an event. How long the loop polled is handed over at the end: noise is a
//! share of that time.

use super::probe::{Probe, SetProbe, SettingConflict, conflict};
use super::setting::{ProbeSetting, SettingValues};
use crate::attachment::{Attachment, Linux};
use crate::osnoise::{self, Accounted};
use crate::sampler::{Awaited, EventSource};
use crate::thread::{Launched, ThreadConfig};
use model::{Column, FairServer, Polling as Polled, ProbeStatement, RowKind};
use plan::{CpuId, Nanos, ProbeSettings, Run, Scheduling};
use std::io;
use std::path::Path;
use std::sync::Arc;

pub(super) const PROBE: Probe = Probe {
    needs: "nothing. With --account osnoise the osnoise tracer (CONFIG_OSNOISE_TRACER, with its \
            option OSNOISE_WORKLOAD), and root",
    settings: &[THRESHOLD, POLL, ACCOUNT],
    default_interval: Nanos::from_secs(1),
    ..Probe::new(
        "noise",
        "gaps in a loop that reads the clock: what takes the CPU away from a thread",
        |settings| Arc::new(Settings::from(settings)),
    )
};

const COLUMNS: usize = 1;

const THRESHOLD: ProbeSetting =
    ProbeSetting::new("threshold", "Record gaps above this", SettingValues::Time, "1us");

/// At most what the kernel leaves real-time threads by default; how much of that is safe depends on
/// the interval.
const POLL: ProbeSetting = ProbeSetting::new(
    "poll",
    "Percent of each interval in which the thread polls. It sleeps in the rest",
    SettingValues::Number(1, 95),
    "90",
);

const ACCOUNT: ProbeSetting = ProbeSetting::one_of(
    "account",
    "Who says what was in a gap: nobody, or the kernel's osnoise tracer",
    &["none", "osnoise"],
)
.default_not_recorded();

/// The longest time to poll without sleep. Nothing of lower priority runs on the CPU meanwhile: the
/// guard ends a run after 5 s of that.
const MAX_POLL: Nanos = Nanos::from_secs(2);

struct Settings {
    threshold: Nanos,
    poll_percent: i64,
    has_account: bool,
}

impl From<&ProbeSettings> for Settings {
    fn from(settings: &ProbeSettings) -> Self {
        Settings {
            threshold: THRESHOLD.time(settings).unwrap_or(Nanos(1_000)),
            poll_percent: POLL.number(settings).unwrap_or(90),
            has_account: ACCOUNT.text(settings) == "osnoise",
        }
    }
}

impl SetProbe for Settings {
    fn statement(&self, _: &Run) -> ProbeStatement {
        let mut columns = vec![Column::ns(
            "gap_ns",
            "time between two successive clock reads of the polling loop",
        )];
        if self.has_account {
            columns.extend([
                Column::ns("nmi_ns", "of the gap, non-maskable interrupts"),
                Column::ns("irq_ns", "of the gap, interrupt handlers"),
                Column::ns("softirq_ns", "of the gap, soft interrupts"),
                Column::ns("thread_ns", "of the gap, other threads"),
                Column::ns(
                    "unexplained_ns",
                    "of the gap, the rest: hardware or a hypervisor, and the way into the kernel \
                     and back",
                ),
                Column::count(
                    "lost_events",
                    "trace events that were lost around the gap: what they were of is in \
                     unexplained_ns",
                ),
            ]);
        }
        ProbeStatement {
            rows: RowKind::Events,
            columns,
            overrun_column: None,
            measuring_point: "from the last clock read before the gap to the first one after it, \
                              in user space"
                .into(),
            ..ProbeStatement::cyclic()
        }
    }

    fn conflict(&self, run: &Run) -> Option<SettingConflict> {
        let longest = run.interval_of(run.cpus.len().saturating_sub(1));
        let poll = Nanos(poll_of(longest, self.poll_percent));
        if poll <= MAX_POLL {
            return None;
        }
        conflict(
            POLL.name,
            format!(
                "at an interval of {longest} it polls for {poll} without sleep, and nothing of \
                 lower priority runs on its CPU in that time. At most {MAX_POLL} is allowed: give \
                 a shorter interval or a smaller share"
            ),
        )
    }

    fn lacks(&self, interval: Nanos, scheduling: Scheduling) -> Option<String> {
        // Ordinary threads are held to none of these.
        let is_real_time = scheduling.policy.is_real_time();
        let limits = if is_real_time { real_time_limits() } else { Vec::new() };
        let timed_out = || {
            let timeout = system::scheduling::real_time_timeout().filter(|_| is_real_time)?;
            ended_by(timeout, interval, self.poll_percent)
        };
        let unaccounted = || if self.has_account { osnoise::lacks() } else { None };
        limited(&limits, interval, self.poll_percent)
            .or_else(timed_out)
            .or_else(unaccounted)
            .or_else(|| {
                let (turn, threshold) = (Nanos(turn_ns()), self.threshold);
                (turn >= threshold).then(|| {
                    format!(
                        "one turn of its loop takes {turn}, and the threshold of a gap is \
                     {threshold}. Give a higher --threshold, or the kernel a faster clock \
                     (/sys/devices/system/clocksource/clocksource0/available_clocksource)"
                    )
                })
            })
    }

    fn launch(&self, config: ThreadConfig) -> io::Result<Launched> {
        let noise = Noise::new(self.threshold, self.poll_percent);
        if !self.has_account {
            return config.launch_events::<_, COLUMNS, { COLUMNS + 1 }>(Linux, noise);
        }
        let accounted = Accounted::on(config.cpu, noise).map_err(io::Error::other)?;
        let outlives = Some(accounted.tracer());
        let launched = config
            .launch_events::<_, { osnoise::COLUMNS }, { osnoise::COLUMNS + 1 }>(Linux, accounted)?;
        Ok(Launched { outlives, ..launched })
    }
}

/// Part of an interval, ns.
fn poll_of(interval: Nanos, percent: i64) -> i64 {
    interval.0 / 100 * percent + interval.0 % 100 * percent / 100
}

/// What takes real-time threads off their CPU, and when.
#[derive(Clone, Copy, Debug)]
struct RealTimeLimit {
    /// What it leaves them in each of its periods, ns.
    runtime_ns: i64,
    period_ns: i64,
    by: LimitedBy,
}

#[derive(Clone, Copy, Debug)]
enum LimitedBy {
    Throttling,
    /// It lets ordinary threads run that wait.
    FairServer {
        is_known: bool,
    },
}

/// Where version 1 of control groups shares out real-time threads' time.
const GROUP_SHARE: &str = "sys/fs/cgroup/cpu/cpu.rt_runtime_us";
const SETTINGS: &str = "proc/sys/kernel";

fn real_time_limits() -> Vec<RealTimeLimit> {
    let text = |path: &str| std::fs::read_to_string(Path::new("/").join(path)).ok();
    let number = |path: &str| text(path)?.trim().parse::<i64>().ok();
    limits_of(text(&format!("{SETTINGS}/osrelease")).as_deref(), number)
}

/// Of a kernel of this release, with these numbers in its files.
fn limits_of(release: Option<&str>, number: impl Fn(&str) -> Option<i64>) -> Vec<RealTimeLimit> {
    let has_fair_server = release.is_some_and(FairServer::is_in);
    let throttling = || {
        let micros = |name| number(&format!("{SETTINGS}/sched_rt_{name}_us"))?.checked_mul(1_000);
        let (runtime_ns, period_ns) = (micros("runtime")?, micros("period")?);
        let is_in_force = !has_fair_server || number(GROUP_SHARE).is_some();
        (is_in_force && runtime_ns >= 0 && period_ns > 0).then_some(RealTimeLimit {
            runtime_ns,
            period_ns,
            by: LimitedBy::Throttling,
        })
    };
    let fair_server = || {
        // The servers of all CPUs are set alike, by whoever sets them.
        let read = FairServer::of_cpu(CpuId(0), &number);
        let FairServer { runtime_ns, period_ns } = read.unwrap_or(FairServer::DEFAULT);
        (has_fair_server && runtime_ns > 0).then_some(RealTimeLimit {
            runtime_ns: period_ns - runtime_ns,
            period_ns,
            by: LimitedBy::FairServer { is_known: read.is_some() },
        })
    };
    throttling().into_iter().chain(fair_server()).collect()
}

/// Of a limit, what the other real-time threads of this program and of the machine may take.
const FOR_OTHERS: f64 = 0.02;

/// How long it polls at most in so long a time, ns.
fn poll_within(period: i64, interval: Nanos, percent: i64) -> i64 {
    let (interval, poll) = (interval.0.max(1), poll_of(interval, percent));
    (period / interval).saturating_mul(poll) + (period % interval).min(poll)
}

impl RealTimeLimit {
    /// How long the loop would poll in a period of it, if that is too long.
    fn refuses(self, interval: Nanos, percent: i64) -> Option<Nanos> {
        let polled = poll_within(self.period_ns, interval, percent);
        #[expect(clippy::cast_precision_loss, reason = "times of seconds, in ns")]
        let (left, reserve) = (self.runtime_ns as f64, FOR_OTHERS * self.period_ns as f64);
        (polled as f64 > left - reserve).then_some(Nanos(polled))
    }

    /// What it does, and what would switch it off.
    const fn words(self) -> (&'static str, &'static str) {
        match self.by {
            LimitedBy::Throttling => (
                "the kernel takes real-time threads off their CPU",
                "write -1 to /proc/sys/kernel/sched_rt_runtime_us",
            ),
            LimitedBy::FairServer { is_known: true } => (
                "the kernel's fair server lets waiting ordinary threads run",
                "write 0 to /sys/kernel/debug/sched/fair_server/cpu*/runtime",
            ),
            LimitedBy::FairServer { is_known: false } => (
                "the kernel's fair server, as it is unless root has set it, lets waiting ordinary \
                 threads run",
                "write 0 to /sys/kernel/debug/sched/fair_server/cpu*/runtime",
            ),
        }
    }
}

/// Where the kernel would take the loop off its CPU, by which a gap would be this program's own
/// doing.
fn limited(limits: &[RealTimeLimit], interval: Nanos, percent: i64) -> Option<String> {
    let refusing = |limit: &RealTimeLimit| Some((*limit, limit.refuses(interval, percent)?));
    let refusing: Vec<(RealTimeLimit, Nanos)> = limits.iter().filter_map(refusing).collect();
    let (first, polled) = refusing.first()?;
    let after = |(limit, _): &(RealTimeLimit, Nanos)| {
        let (runtime, period) = (Nanos(limit.runtime_ns), Nanos(limit.period_ns));
        format!("after {runtime} of {period} {}", limit.words().0)
    };
    let after: Vec<String> = refusing.iter().map(after).collect();
    let instead: Vec<&str> = refusing.iter().map(|(limit, _)| limit.words().1).collect();
    Some(format!(
        "it would poll for {polled} of {}, and {}, which would be gaps. Give a smaller --poll or a \
         shorter interval, or {}",
        Nanos(first.period_ns),
        after.join(", and "),
        instead.join(" and ")
    ))
}

/// Where a limit would end the program.
fn ended_by(timeout: Nanos, interval: Nanos, percent: i64) -> Option<String> {
    let polled = Nanos(poll_of(interval, percent));
    (polled >= timeout).then(|| {
        format!(
            "it would poll for {polled} without sleep, and the kernel ends a program whose \
             real-time thread runs for {timeout} so (RLIMIT_RTTIME). Give a smaller --poll or a \
             shorter interval, or lift the limit: sudo prlimit --pid $$ --rttime=unlimited"
        )
    })
}

/// Trials of the loop, and the length of each.
const TRIALS: usize = 20;
const TRIAL_NS: i64 = 50_000;

/// What one turn of the loop takes, on average of the best trial, ns.
fn turn_ns() -> i64 {
    let trial = |_| {
        let mut noise = Noise::new(Nanos(i64::MAX), 100);
        let now = Linux.now().0;
        let _ = noise.poll(&mut Linux, Polling { last_ns: now, end_ns: now + TRIAL_NS });
        noise.polled.polled_ns / noise.polled.readings.max(1).cast_signed()
    };
    (0..TRIALS).map(trial).min().unwrap_or(0)
}

/// After so long the loop returns to the engine, which sees whether the run is to stop. Its turn
/// then is longer by that.
const RETURN_EVERY_NS: i64 = 10_000_000;

pub(crate) struct Noise {
    threshold_ns: i64,
    poll_percent: i64,
    start_ns: i64,
    interval_ns: i64,
    poll_ns: i64,
    polling: Option<Polling>,
    polled: Polled,
}

#[derive(Clone, Copy)]
struct Polling {
    last_ns: i64,
    /// When it is time to sleep.
    end_ns: i64,
}

impl Noise {
    fn new(threshold: Nanos, poll_percent: i64) -> Noise {
        let (threshold_ns, polled) = (threshold.0, Polled::default());
        Noise {
            threshold_ns,
            poll_percent,
            start_ns: 0,
            interval_ns: 1,
            poll_ns: 1,
            polling: None,
            polled,
        }
    }

    /// Whether it is not to sleep yet.
    pub(crate) const fn is_polling(&self) -> bool {
        self.polling.is_some()
    }

    pub(crate) const fn readings(&self) -> u64 {
        self.polled.readings
    }

    /// Until when to poll at this time, or until when to sleep.
    const fn part_of_interval(&self, now_ns: i64) -> Result<i64, i64> {
        let into_ns = (now_ns - self.start_ns).rem_euclid(self.interval_ns);
        let begin_ns = now_ns - into_ns;
        if into_ns < self.poll_ns {
            Ok(begin_ns + self.poll_ns)
        } else {
            Err(begin_ns + self.interval_ns)
        }
    }

    /// Polls until there is a gap, the time to poll is over, or the engine is to have a look.
    #[inline]
    fn poll<A: Attachment>(&mut self, attachment: &mut A, from: Polling) -> Awaited<COLUMNS> {
        let return_ns = from.end_ns.min(from.last_ns + RETURN_EVERY_NS);
        let (mut last, mut readings, mut smallest) =
            (from.last_ns, 0, self.polled.resolution_ns.unwrap_or(i64::MAX));
        let gap = loop {
            let now = attachment.now().0;
            let turn = now - last;
            readings += 1;
            if turn > 0 {
                smallest = smallest.min(turn);
            }
            if turn > self.threshold_ns {
                break Some((std::mem::replace(&mut last, now), turn));
            }
            last = now;
            if now >= return_ns {
                break None;
            }
        };
        self.polled.readings += readings;
        self.polled.polled_ns += last - from.last_ns;
        self.polled.resolution_ns = (smallest < i64::MAX).then_some(smallest);
        self.polling = (last < from.end_ns).then_some(Polling { last_ns: last, ..from });
        gap.map_or(Awaited::Nothing, |(begin, length)| Awaited::Event(Nanos(begin), [length]))
    }
}

impl<A: Attachment> EventSource<A, COLUMNS> for Noise {
    fn begin(&mut self, attachment: &mut A, start: Nanos, interval: Nanos) {
        (self.start_ns, self.interval_ns) = (start.0, interval.0.max(1));
        self.poll_ns = poll_of(interval, self.poll_percent).max(1);
        // The first turns fill the caches. They are not kept.
        for _ in 0..TRIALS {
            let now = attachment.now().0;
            let _ = self.poll(attachment, Polling { last_ns: now, end_ns: now + TRIAL_NS });
        }
        (self.polling, self.polled) = (None, Polled::default());
    }

    fn next(&mut self, attachment: &mut A, until: Nanos) -> Awaited<COLUMNS> {
        if let Some(polling) = self.polling {
            return self.poll(attachment, polling);
        }
        let now = attachment.now();
        if now >= until {
            return Awaited::Nothing;
        }
        match self.part_of_interval(now.0) {
            Ok(end_ns) => {
                self.poll(attachment, Polling { last_ns: now.0, end_ns: end_ns.min(until.0) })
            }
            Err(begin_ns) => {
                let woken = attachment.sleep_until(Nanos(begin_ns).min(until));
                Awaited::after_sleep(woken).unwrap_or(Awaited::Nothing)
            }
        }
    }

    fn polled(&self) -> Option<Polled> {
        Some(self.polled)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::Woken;
    use crate::test_runs::test_run;
    use crate::{Control, Counts, Cycle, StopReason, events, ring};
    use plan::OverrunPolicy;
    use rustix::thread::Pid;

    #[test]
    fn what_the_kernel_would_throttle_is_refused() {
        let second = 1_000_000_000;
        let of =
            |runtime_ns| RealTimeLimit { runtime_ns, period_ns: second, by: LimitedBy::Throttling };
        let refused =
            |interval, percent| of(950_000_000).refuses(Nanos(interval), percent).is_some();
        assert!(
            !refused(second, 90)
                && !refused(second, 93)
                && !refused(500_000_000, 93)
                && !refused(20_000_000, 93)
        );
        // 950 ms leave nothing for others; 1.8 s in one piece are longer than a period; of 700 ms,
        // 2 begin within a period.
        assert!(refused(second, 95) && refused(2 * second, 90) && refused(700_000_000, 93));
        assert!(!refused(2 * second, 46) && of(second).refuses(Nanos(2 * second), 95).is_some());
        assert_eq!(poll_within(second, Nanos(300_000_000), 50), 3 * 150_000_000 + 100_000_000);
    }

    /// On a kernel with a fair server -1 in sched_rt_runtime_us was advised, and done so there were
    /// gaps of 50 ms.
    #[test]
    fn advice_is_that_of_what_limits_real_time_threads_here() {
        let said = |release: &str, files: &[(&str, i64)]| {
            let number = |path: &str| {
                files.iter().find(|(known, _)| *known == path).map(|(_, number)| *number)
            };
            limited(&limits_of(Some(release), number), Nanos::from_secs(1), 95)
        };
        let throttling = [
            ("proc/sys/kernel/sched_rt_runtime_us", 950_000),
            ("proc/sys/kernel/sched_rt_period_us", 1_000_000),
        ];
        let unlimited = [("proc/sys/kernel/sched_rt_runtime_us", -1), throttling[1]];
        let server = |runtime| {
            [
                ("sys/kernel/debug/sched/fair_server/cpu0/runtime", runtime),
                ("sys/kernel/debug/sched/fair_server/cpu0/period", 1_000_000_000),
            ]
        };
        assert_eq!(
            said("6.1.0-56-rt-amd64", &throttling).unwrap(),
            "it would poll for 950ms of 1s, and after 950ms of 1s the kernel takes real-time \
             threads off their CPU, which would be gaps. Give a smaller --poll or a shorter \
             interval, or write -1 to /proc/sys/kernel/sched_rt_runtime_us"
        );
        assert_eq!(said("6.1.0-56-rt-amd64", &unlimited), None);
        let advice = "which would be gaps. Give a smaller --poll or a shorter interval, or write 0 \
                      to /sys/kernel/debug/sched/fair_server/cpu*/runtime";
        assert_eq!(
            said("6.18.4", &[&unlimited[..], &server(50_000_000)].concat()).unwrap(),
            format!(
                "it would poll for 950ms of 1s, and after 950ms of 1s the kernel's fair server \
                 lets waiting ordinary threads run, {advice}"
            )
        );
        // Where nobody may look.
        assert_eq!(
            said("6.12.0", &unlimited).unwrap(),
            format!(
                "it would poll for 950ms of 1s, and after 950ms of 1s the kernel's fair server, \
                 as it is unless root has set it, lets waiting ordinary threads run, {advice}"
            )
        );
        assert_eq!(said("6.18.4", &[&throttling[..], &server(0)].concat()), None);
        // Where groups have shares, there are both.
        let grouped = [&throttling[..], &[(GROUP_SHARE, 950_000)]].concat();
        assert!(said("6.18.4", &grouped).unwrap().ends_with(
            "or write -1 to /proc/sys/kernel/sched_rt_runtime_us and write 0 to \
             /sys/kernel/debug/sched/fair_server/cpu*/runtime"
        ));
    }

    #[test]
    fn a_loop_that_a_limit_would_end_is_refused() {
        let said = |percent| ended_by(Nanos::from_millis(200), Nanos::from_secs(1), percent);
        assert_eq!(said(19), None);
        assert_eq!(
            said(90).unwrap(),
            "it would poll for 900ms without sleep, and the kernel ends a program whose real-time \
             thread runs for 200ms so (RLIMIT_RTTIME). Give a smaller --poll or a shorter \
             interval, or lift the limit: sudo prlimit --pid $$ --rttime=unlimited"
        );
    }

    /// A clock that each reading moves on by 50 ns, and by what a script says beside that: at this
    /// time by so much.
    struct Scripted {
        now: i64,
        script: Vec<(i64, i64)>,
        late: i64,
    }

    impl Attachment for Scripted {
        fn attach(&mut self, _: CpuId, _: Scheduling) -> std::io::Result<Pid> {
            Ok(rustix::thread::gettid())
        }

        fn interrupt(_: Pid) {}

        fn detach(&mut self) {}

        fn now(&mut self) -> Nanos {
            self.now += 50;
            if self.script.first().is_some_and(|(at, _)| self.now >= *at) {
                self.now += self.script.remove(0).1;
            }
            Nanos(self.now)
        }

        fn sleep_until(&mut self, time: Nanos) -> Woken {
            self.now = self.now.max(time.0 + self.late);
            Woken::OnTime
        }
    }

    /// Of ten intervals of 1 ms, 60 % polled: events, and how long it polled.
    fn measured(script: &[(i64, i64)], late: i64) -> (Vec<(i64, i64)>, Polled, Counts) {
        let cycle = Cycle {
            thread: 0,
            start: Nanos(1_000_000),
            interval: Nanos(1_000_000),
            activations: 10,
            break_above: None,
            overrun_policy: OverrunPolicy::Skip,
        };
        let mut noise = Noise::new(Nanos(1_000), 60);
        let (mut producer, mut consumer) = ring::<2>(4_096, 2);
        let mut clock = Scripted { now: -2_000_000, script: script.to_vec(), late };
        let counts =
            events::measure(&mut clock, &mut noise, &cycle, &mut producer, &Control::new());
        let mut rows = Vec::new();
        let Ok(()) = consumer.drain(|_, values| {
            let (times, gaps) = values.split_at(values.len() / 2);
            rows.extend(times.iter().copied().zip(gaps.iter().copied()));
            Ok::<_, std::convert::Infallible>(())
        });
        (rows, noise.polled, counts)
    }

    #[test]
    fn a_loop_that_nothing_disturbs_has_no_gaps() {
        let (rows, polled, counts) = measured(&[], 0);
        assert_eq!((rows, counts.due()), (Vec::new(), 0));
        // Each time it begins 50 ns into the interval, or 100 where the engine read the clock too,
        // and ends with the first reading beyond.
        assert!((5_998_000..=6_000_000).contains(&polled.polled_ns), "{polled:?}");
        assert_eq!(
            (polled.resolution_ns, polled.readings * 50),
            (Some(50), u64::try_from(polled.polled_ns).unwrap())
        );
    }

    #[test]
    fn gaps_have_their_time_and_length() {
        // At the threshold; above it; while it sleeps; over the end of the time to poll; over
        // several intervals, to the end.
        let script = [
            (1_100_000, 950),
            (1_200_000, 7_000),
            (1_700_000, 9_000),
            (2_590_000, 50_000),
            (9_100_000, 5_000_000),
        ];
        let (rows, polled, counts) = measured(&script, 0);
        let expected = [(199_950, 7_050), (1_589_950, 50_050), (8_099_950, 5_000_050)];
        assert_eq!((rows.as_slice(), counts.on_time), (&expected[..], 3));
        // Whole gaps are polled time, so that no share of it is above 1. What delayed its wake-up,
        // 9 us, is not.
        let whole = 8 * 600_000 - 9_000 + 40_000 + 100_000 + 5_000_000;
        assert!((whole - 2_000..=whole + 100).contains(&polled.polled_ns), "{polled:?}");
    }

    #[test]
    fn a_late_wake_up_is_not_a_gap() {
        let (rows, polled, _) = measured(&[], 100_000);
        assert_eq!(rows, []);
        assert!((4_998_000..=5_000_000).contains(&polled.polled_ns), "{polled:?}");
    }

    /// A loop that makes no system call does not see the signal of a run that is stopped.
    #[test]
    fn a_run_is_stopped_while_it_polls() {
        let mut run = test_run(Nanos::from_secs(1), 10);
        run.cpus.truncate(1);
        run.length = plan::Length::DurationNs(Nanos::from_secs(20));
        run.probe = PROBE.name.to_owned();
        let control = Control::new();
        let mut measurement = crate::test_runs::prepare(&run, &control).unwrap();
        measurement.begin(measurement.earliest());
        std::thread::sleep(std::time::Duration::from_millis(100));
        control.stop(StopReason::Asked);
        let before = std::time::Instant::now();
        let results = measurement.join();
        assert!(before.elapsed() < std::time::Duration::from_secs(1));
        let polled = results[0].as_ref().unwrap().polled.unwrap();
        assert!(
            polled.polled_ns > 0 && polled.readings > 0 && polled.resolution_ns.is_some(),
            "{polled:?}"
        );
    }

    fn error(interval: Nanos, settings: &[(&str, &str)]) -> Option<String> {
        let mut run = test_run(interval, 10);
        run.length = plan::Length::DurationNs(Nanos::from_secs(10));
        run.probe = PROBE.name.to_owned();
        run.probe_settings = settings
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        crate::test_runs::statement(&run).err().map(|error| format!("{}: {error}", error.setting()))
    }

    #[test]
    fn a_loop_leaves_its_cpu_to_others_in_time() {
        assert_eq!(error(Nanos::from_secs(2), &[]), None);
        let found = error(Nanos::from_secs(3), &[("poll", "80")]).unwrap();
        assert!(
            found.starts_with(
                "poll: 'poll' of the probe noise is impossible here: at an interval of 3s it \
                 polls for"
            ),
            "{found}"
        );
        assert!(
            error(Nanos::from_secs(1), &[("poll", "96")])
                .unwrap()
                .contains("a whole number from 1 to 95")
        );
    }

    #[test]
    fn a_threshold_below_the_loop_itself_is_refused() {
        let lacks = |threshold: &str| {
            let settings = [("threshold".to_owned(), threshold.to_owned())].into();
            Settings::from(&settings).lacks(Nanos::from_secs(1), Scheduling::DEFAULT)
        };
        assert_eq!(lacks("1ms"), None);
        assert!(
            lacks("1ns")
                .unwrap()
                .contains("the threshold of a gap is 1ns. Give a higher --threshold")
        );
    }
}
