// SPDX-License-Identifier: MIT OR Apache-2.0
//! The loop that measures, and its accounting.
//!
//! Activation k is planned at `start + k x interval`, whatever happened before. An activation that
//! wakes an interval or more after that is late; in the meantime the times of its successors
//! passed, and those are skipped: the next one that runs is the first with a planned time in the
//! future. `skipped = floor(latency / interval)` follows from the late one's latency alone, so a
//! recording needs to store nothing else to distinguish skipped from lost. Where a probe does more
//! than wake up, the same follows from the time until it was done. Where the rows come from a timer
//! whose phase is its own, it follows from the number of periods that the timer says were missed.

use crate::attachment::Attachment;
use crate::guard::StarvationCheck;
use crate::outcome::{SampleError, Woken};
use crate::sampler::{Overrun, Sampler};
use crate::{Control, Producer, StopReason};
use plan::{Nanos, OverrunPolicy};

/// What one thread is to do.
#[derive(Clone, Copy, Debug)]
pub struct Cycle {
    /// Thread index; only named in [`StopReason::BreakAbove`].
    pub thread: usize,
    /// Planned time of activation 0, ns.
    pub start: Nanos,
    /// Between two activations, ns.
    pub interval: Nanos,
    pub activations: u64,
    /// A judged value beyond this stops the run.
    pub break_above: Option<BreakLimit>,
    /// What happens after an overrun.
    pub overrun_policy: OverrunPolicy,
}

/// The judged values, ns, that a run may have without being stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BreakLimit {
    min: i64,
    max: i64,
}

impl BreakLimit {
    pub(crate) const NONE: BreakLimit = BreakLimit { min: i64::MIN, max: i64::MAX };

    /// Of latencies, all that are not above this.
    pub const fn above(limit: Nanos) -> Self {
        BreakLimit { min: i64::MIN, max: limit.0 }
    }

    /// Of jitter, all that are not further from 0 than this: an interval may be too short as well
    /// as too long.
    pub const fn either_side(limit: Nanos) -> Self {
        BreakLimit { min: limit.0.saturating_neg(), max: limit.0 }
    }

    /// Whether a value stops the run.
    pub(crate) const fn is_broken_by(self, value: i64) -> bool {
        value > self.max || value < self.min
    }
}

/// What became of the activations. `due` is their sum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Woken less than one interval late.
    pub on_time: u64,
    /// Woken one interval late or more.
    pub late: u64,
    pub skipped: u64,
}

impl Counts {
    /// Activations whose time came.
    pub const fn due(&self) -> u64 {
        self.on_time + self.late + self.skipped
    }
}

/// Runs the rows of one thread. This is the path that is measured: it allocates nothing and calls
/// nothing but the clock and the probe.
pub(crate) fn measure<A: Attachment, S: Sampler<A, N>, const N: usize>(
    attachment: &mut A,
    sampler: &mut S,
    cycle: &Cycle,
    ring: &mut Producer<N>,
    control: &Control,
) -> Counts {
    let interval = cycle.interval.0.max(1);
    let limit = cycle.break_above.unwrap_or(BreakLimit::NONE);
    let (overrun_column, unit) = (S::OVERRUN.column(), S::OVERRUN.unit(interval));
    // One comparison decides whether an activation is ordinary, where one column decides both. That
    // column is a latency: only what is above the limit stops the run.
    let remarkable = if overrun_column == 0 { unit.min(limit.max.saturating_add(1)) } else { unit };
    let (mut late, mut skipped) = (0, 0);
    let mut overrun = 0;
    let mut next = 0;
    let mut planned = cycle.start.0;
    let mut starvation = StarvationCheck::new();
    if let Err(error) = sampler.begin(attachment, cycle.start, Nanos(interval)) {
        control.probe_failed(cycle.thread, error);
        return Counts::default();
    }
    while next < cycle.activations {
        match sampler.wait(attachment, Nanos(planned)) {
            Woken::OnTime => {}
            Woken::Interrupted if control.is_stopped() => break,
            Woken::Interrupted => continue,
            Woken::Failed(errno) => {
                let doing = sampler.wait_call();
                control.probe_failed(cycle.thread, SampleError { doing, errno });
                break;
            }
        }
        let values = match sampler.sample(attachment, Nanos(planned)) {
            Ok(values) => values,
            Err(error) => {
                control.probe_failed(cycle.thread, error);
                break;
            }
        };
        overrun = values[overrun_column];
        let now = match S::OVERRUN {
            Overrun::Time(_) => planned + overrun,
            Overrun::Missed(_) => attachment.now().0,
        };
        ring.push(next, values);
        if overrun >= remarkable || (overrun_column != 0 && limit.is_broken_by(values[0])) {
            if limit.is_broken_by(values[0]) {
                control.stop(StopReason::BreakAbove {
                    thread: cycle.thread,
                    activation: next,
                    latency_ns: values[0],
                });
            }
            if overrun >= unit {
                late += 1;
                let passed = match cycle.overrun_policy {
                    OverrunPolicy::CatchUp => 0,
                    OverrunPolicy::Skip => {
                        rows_left(sampler.passed(overrun, unit), cycle.activations - 1 - next)
                    }
                };
                skipped += passed;
                next += passed;
                planned += passed.cast_signed() * interval;
            }
        }
        next += 1;
        planned += interval;
        let lost = sampler.lost();
        if lost > 0 {
            let lost = lost.min(cycle.activations - next);
            next += lost;
            planned += lost.cast_signed() * interval;
            // The rows that passed did so at this one, or at any of those.
            late += rows_left(overrun / unit - 1, lost);
        }
        if starvation.is_due(now) {
            starvation.check(now, control);
        }
        if control.is_stopped() {
            break;
        }
    }
    let left = never_caught_up(overrun, unit, cycle, next);
    Counts { on_time: next - late - skipped, late, skipped: skipped + left }
}

/// Activations whose time had come when a thread that catches up woke last, `next - 1` with this
/// overrun, and that it did not come to run because the run was stopped.
fn never_caught_up(overrun: i64, unit: i64, cycle: &Cycle, next: u64) -> u64 {
    match cycle.overrun_policy {
        OverrunPolicy::CatchUp => rows_left(overrun / unit, cycle.activations - next),
        OverrunPolicy::Skip => 0,
    }
}

/// So many rows, none if it is below zero, and no more than there are.
#[cold]
fn rows_left(rows: i64, at_most: u64) -> u64 {
    u64::try_from(rows).unwrap_or(0).min(at_most)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probes::Cyclic;
    use crate::{Consumer, ring};
    use plan::{CpuId, Scheduling};
    use proptest::prelude::*;
    use rustix::thread::Pid;
    use std::collections::VecDeque;

    /// A clock that is wrong by exactly what a test says: the n-th sleep ends this much after its
    /// time (before it, if negative), or where the clock stands, if that is later.
    struct Scripted {
        now: i64,
        lateness: VecDeque<i64>,
        sleeps: u64,
        stop_after: Option<(u64, Control)>,
        /// From this sleep on the clock refuses, with this error.
        fail_after: Option<(u64, i32)>,
    }

    impl Attachment for Scripted {
        fn attach(&mut self, _: CpuId, _: Scheduling) -> std::io::Result<Pid> {
            Ok(rustix::thread::gettid())
        }

        fn interrupt(_: Pid) {}

        fn detach(&mut self) {}

        fn now(&mut self) -> Nanos {
            Nanos(self.now)
        }

        fn sleep_until(&mut self, time: Nanos) -> Woken {
            if let Some((sleeps, control)) = &self.stop_after
                && self.sleeps == *sleeps
            {
                control.stop(StopReason::Asked);
                return Woken::Interrupted;
            }
            if let Some((_, errno)) = self.fail_after.filter(|(sleeps, _)| self.sleeps == *sleeps) {
                return Woken::Failed(errno);
            }
            self.sleeps += 1;
            self.now = time.0 + self.lateness.pop_front().unwrap_or(0);
            Woken::OnTime
        }
    }

    const INTERVAL: i64 = 1_000;

    fn cycle(activations: u64) -> Cycle {
        Cycle {
            thread: 3,
            start: Nanos(1_000_000),
            interval: Nanos(INTERVAL),
            activations,
            break_above: None,
            overrun_policy: OverrunPolicy::Skip,
        }
    }

    fn drained(consumer: &mut Consumer) -> Vec<(u64, i64)> {
        let mut samples = Vec::new();
        let Ok(()) = consumer.drain(|first, latencies| {
            samples.extend((first..).zip(latencies.iter().copied()));
            Ok::<_, std::convert::Infallible>(())
        });
        samples
    }

    fn run(cycle: &Cycle, lateness: &[i64]) -> (Counts, Vec<(u64, i64)>, Control) {
        let (mut producer, mut consumer) = ring::<1>(4_096, 1);
        let control = Control::new();
        let mut clock = Scripted {
            now: 0,
            lateness: lateness.to_vec().into(),
            sleeps: 0,
            stop_after: None,
            fail_after: None,
        };
        let counts = measure(&mut clock, &mut Cyclic, cycle, &mut producer, &control);
        (counts, drained(&mut consumer), control)
    }

    #[test]
    fn on_time() {
        let (counts, samples, _) = run(&cycle(3), &[5, 0, 999]);
        assert_eq!(counts, Counts { on_time: 3, late: 0, skipped: 0 });
        assert_eq!(samples, [(0, 5), (1, 0), (2, 999)]);
    }

    #[test]
    fn woken_early() {
        let (counts, samples, _) = run(&cycle(3), &[5, -40, 6]);
        assert_eq!(counts, Counts { on_time: 3, late: 0, skipped: 0 });
        assert_eq!(samples, [(0, 5), (1, -40), (2, 6)]);
    }

    #[test]
    fn exactly_one_interval_late() {
        let (counts, samples, _) = run(&cycle(4), &[0, INTERVAL, 7]);
        assert_eq!(counts, Counts { on_time: 2, late: 1, skipped: 1 });
        assert_eq!(samples, [(0, 0), (1, 1_000), (3, 7)]);
    }

    #[test]
    fn two_and_a_half_intervals_late() {
        let (counts, samples, _) = run(&cycle(6), &[0, 2_500, 7, 8]);
        assert_eq!(counts, Counts { on_time: 3, late: 1, skipped: 2 });
        assert_eq!(samples, [(0, 0), (1, 2_500), (4, 7), (5, 8)]);
    }

    #[test]
    fn the_clock_steps_back() {
        let (counts, samples, _) = run(&cycle(4), &[0, -5_000, 3, 4]);
        assert_eq!(counts, Counts { on_time: 4, late: 0, skipped: 0 });
        assert_eq!(samples, [(0, 0), (1, -5_000), (2, 3), (3, 4)]);
    }

    #[test]
    fn the_last_activation_is_late() {
        let (counts, samples, _) = run(&cycle(3), &[0, 0, 5_700]);
        assert_eq!(counts, Counts { on_time: 2, late: 1, skipped: 0 });
        assert_eq!(samples, [(0, 0), (1, 0), (2, 5_700)]);
    }

    #[test]
    fn the_run_ends_within_an_overrun() {
        let (counts, samples, _) = run(&cycle(5), &[0, 0, 5_700]);
        assert_eq!((counts, counts.due()), (Counts { on_time: 2, late: 1, skipped: 2 }, 5));
        assert_eq!(samples.last(), Some(&(2, 5_700)));
    }

    #[test]
    fn catching_up_skips_nothing() {
        let cycle = Cycle { overrun_policy: OverrunPolicy::CatchUp, ..cycle(4) };
        let (counts, samples, _) = run(&cycle, &[0, 2_500, 1_500, 500]);
        assert_eq!(counts, Counts { on_time: 2, late: 2, skipped: 0 });
        assert_eq!(samples, [(0, 0), (1, 2_500), (2, 1_500), (3, 500)]);
    }

    /// Those whose time had come are not run any more, and do not vanish.
    #[test]
    fn stopped_while_catching_up() {
        let cycle = Cycle {
            overrun_policy: OverrunPolicy::CatchUp,
            break_above: Some(BreakLimit::above(Nanos(4_000))),
            ..cycle(10)
        };
        let (counts, samples, _) = run(&cycle, &[0, 1_500, 5_700]);
        assert_eq!(counts, Counts { on_time: 1, late: 2, skipped: 5 });
        assert_eq!(samples.len(), 3);
        let (counts, ..) = run(&Cycle { activations: 6, ..cycle }, &[0, 1_500, 5_700]);
        assert_eq!((counts, counts.due()), (Counts { on_time: 1, late: 2, skipped: 3 }, 6));
    }

    #[test]
    fn a_latency_above_the_limit_ends_the_run() {
        let cycle = Cycle { break_above: Some(BreakLimit::above(Nanos(300))), ..cycle(10) };
        let (counts, samples, control) = run(&cycle, &[0, 300, 301, 0]);
        assert_eq!(counts, Counts { on_time: 3, late: 0, skipped: 0 });
        assert_eq!(samples.len(), 3);
        assert_eq!(
            control.reason(),
            Some(StopReason::BreakAbove { thread: 3, activation: 2, latency_ns: 301 })
        );
    }

    #[test]
    fn a_limit_above_the_interval() {
        let cycle = Cycle { break_above: Some(BreakLimit::above(Nanos(2_000))), ..cycle(10) };
        let (counts, _, control) = run(&cycle, &[0, 1_500, 0, 2_600]);
        assert_eq!(counts, Counts { on_time: 2, late: 2, skipped: 3 });
        assert_eq!(
            control.reason(),
            Some(StopReason::BreakAbove { thread: 3, activation: 4, latency_ns: 2_600 })
        );
    }

    #[test]
    fn stopped_while_asleep_the_activation_was_not_due() {
        let (mut producer, mut consumer) = ring::<1>(16, 1);
        let control = Control::new();
        let mut clock = Scripted {
            now: 0,
            lateness: [1, 2].into(),
            sleeps: 0,
            stop_after: Some((2, control.clone())),
            fail_after: None,
        };
        let counts = measure(&mut clock, &mut Cyclic, &cycle(10), &mut producer, &control);
        assert_eq!(
            (counts, drained(&mut consumer)),
            (Counts { on_time: 2, late: 0, skipped: 0 }, vec![(0, 1), (1, 2)])
        );
    }

    /// Not a signal: to sleep again and again would be to spin for ever at the highest priority.
    #[test]
    fn a_clock_that_cannot_be_slept_on_ends_the_run() {
        let (mut producer, _) = ring::<1>(16, 1);
        let control = Control::new();
        let mut clock = Scripted {
            now: 0,
            lateness: [1, 2].into(),
            sleeps: 0,
            stop_after: None,
            fail_after: Some((2, libc::EPERM)),
        };
        let counts = measure(&mut clock, &mut Cyclic, &cycle(10), &mut producer, &control);
        assert_eq!(counts, Counts { on_time: 2, late: 0, skipped: 0 });
        assert_eq!(
            control.reason(),
            Some(StopReason::ProbeFailed {
                thread: 3,
                doing: "clock_nanosleep",
                errno: libc::EPERM
            })
        );
    }

    /// A timer of which each row says how many expiries were missed before it.
    struct Counting(VecDeque<i64>);

    impl<A: Attachment> Sampler<A, 2> for Counting {
        const OVERRUN: Overrun = Overrun::Missed(1);

        fn wait(&mut self, _: &mut A, _: Nanos) -> Woken {
            Woken::OnTime
        }

        /// However large the judged value is, it says nothing of overruns.
        fn sample(&mut self, _: &mut A, _: Nanos) -> Result<[i64; 2], SampleError> {
            Ok([5 * INTERVAL, self.0.pop_front().unwrap_or(0)])
        }
    }

    #[test]
    fn what_a_timer_says_was_missed_is_skipped() {
        let (mut producer, mut consumer) = ring::<2>(16, 2);
        let mut clock = Scripted {
            now: 0,
            lateness: VecDeque::new(),
            sleeps: 0,
            stop_after: None,
            fail_after: None,
        };
        let counts = measure(
            &mut clock,
            &mut Counting([0, 2, 0, 9].into()),
            &cycle(8),
            &mut producer,
            &Control::new(),
        );
        // The last one missed more than the run had left.
        assert_eq!((counts, counts.due()), (Counts { on_time: 2, late: 2, skipped: 4 }, 8));
        let mut rows = Vec::new();
        let Ok(()) = consumer.drain(|first, values| {
            rows.push((first, values.to_vec()));
            Ok::<_, std::convert::Infallible>(())
        });
        let judged = 5 * INTERVAL;
        assert_eq!(rows, [(0, vec![judged, judged, 0, 2]), (4, vec![judged, judged, 0, 9])]);
    }

    /// Intervals that differ from their period by these, ns.
    struct Jittering(VecDeque<i64>);

    impl<A: Attachment> Sampler<A, 2> for Jittering {
        const OVERRUN: Overrun = Overrun::Missed(1);

        fn wait(&mut self, _: &mut A, _: Nanos) -> Woken {
            Woken::OnTime
        }

        fn sample(&mut self, _: &mut A, _: Nanos) -> Result<[i64; 2], SampleError> {
            Ok([self.0.pop_front().unwrap_or(0), 0])
        }
    }

    #[test]
    fn an_interval_that_is_too_short_stops_the_run_as_one_that_is_too_long() {
        let stopped = |break_above| {
            let (mut producer, _) = ring::<2>(16, 2);
            let mut clock = Scripted {
                now: 0,
                lateness: VecDeque::new(),
                sleeps: 0,
                stop_after: None,
                fail_after: None,
            };
            let control = Control::new();
            let cycle = Cycle { break_above: Some(break_above), ..cycle(5) };
            measure(
                &mut clock,
                &mut Jittering([100, -100, -101, 101].into()),
                &cycle,
                &mut producer,
                &control,
            );
            control.reason()
        };
        let at = |activation, latency_ns| {
            Some(StopReason::BreakAbove { thread: 3, activation, latency_ns })
        };
        assert_eq!(stopped(BreakLimit::either_side(Nanos(100))), at(2, -101));
        assert_eq!(stopped(BreakLimit::above(Nanos(100))), at(3, 101));
    }

    /// Rows of which two in each four are lost on their way.
    struct Lossy(i64);

    impl<A: Attachment> Sampler<A, 1> for Lossy {
        const OVERRUN: Overrun = Overrun::Time(0);

        fn wait(&mut self, _: &mut A, _: Nanos) -> Woken {
            Woken::OnTime
        }

        fn sample(&mut self, _: &mut A, _: Nanos) -> Result<[i64; 1], SampleError> {
            self.0 += 1;
            Ok([self.0])
        }

        fn lost(&mut self) -> u64 {
            if self.0 % 2 == 0 { 2 } else { 0 }
        }
    }

    /// They were due and came, keep their numbers, and have no sample.
    #[test]
    fn what_is_lost_on_its_way_is_due_and_has_no_sample() {
        let (mut producer, mut consumer) = ring::<1>(16, 1);
        let mut clock = Scripted {
            now: 0,
            lateness: VecDeque::new(),
            sleeps: 0,
            stop_after: None,
            fail_after: None,
        };
        let counts = measure(&mut clock, &mut Lossy(0), &cycle(7), &mut producer, &Control::new());
        assert_eq!(counts, Counts { on_time: 7, late: 0, skipped: 0 });
        assert_eq!(drained(&mut consumer), [(0, 1), (1, 2), (4, 3), (5, 4)]);
    }

    /// A timer of which rows are lost, and that says how many expiries were missed at one of them.
    struct LossyCounting(VecDeque<(i64, u64)>, u64);

    impl<A: Attachment> Sampler<A, 2> for LossyCounting {
        const OVERRUN: Overrun = Overrun::Missed(1);

        fn wait(&mut self, _: &mut A, _: Nanos) -> Woken {
            Woken::OnTime
        }

        fn sample(&mut self, _: &mut A, _: Nanos) -> Result<[i64; 2], SampleError> {
            let (missed, lost) = self.0.pop_front().unwrap_or_default();
            self.1 = lost;
            Ok([0, missed])
        }

        fn lost(&mut self) -> u64 {
            std::mem::take(&mut self.1)
        }
    }

    /// Of so many missed expiries each may be another row's: as many rows as can have been late are
    /// not said to be on time.
    #[test]
    fn lost_rows_that_may_have_been_late_are_not_on_time() {
        for (missed, lost, late) in
            [(0, 2, 0), (1, 2, 1), (2, 2, 2), (3, 2, 3), (9, 2, 3), (3, 0, 1)]
        {
            let (mut producer, _) = ring::<2>(16, 2);
            let mut clock = Scripted {
                now: 0,
                lateness: VecDeque::new(),
                sleeps: 0,
                stop_after: None,
                fail_after: None,
            };
            let mut timer = LossyCounting([(0, 0), (missed, lost)].into(), 0);
            let counts =
                measure(&mut clock, &mut timer, &cycle(20), &mut producer, &Control::new());
            let skipped = missed.unsigned_abs();
            assert_eq!(
                counts,
                Counts { on_time: 20 - late - skipped, late, skipped },
                "{missed} missed, {lost} lost"
            );
        }
    }

    /// Ordinary threads never get to run beside it: it ends itself.
    #[test]
    fn a_thread_that_leaves_no_time_ends_the_run() {
        let (mut producer, _) = ring::<1>(16, 1);
        let control = Control::new();
        control.record_heartbeat(7);
        let cycle = Cycle { interval: Nanos(100_000_000), ..cycle(1_000) };
        let mut clock = Scripted {
            now: 0,
            lateness: VecDeque::new(),
            sleeps: 0,
            stop_after: None,
            fail_after: None,
        };
        let counts = measure(&mut clock, &mut Cyclic, &cycle, &mut producer, &control);
        assert_eq!(
            control.reason(),
            Some(StopReason::Starved { for_ns: 5_000_000_000, cpu: None })
        );
        assert_eq!(counts, Counts { on_time: 51, late: 0, skipped: 0 });
    }

    proptest! {
        /// Whatever the clock does: all that was due is accounted for, planned times never repeat,
        /// and the rows alone give the same accounting.
        #[test]
        fn nothing_vanishes(
            lateness in proptest::collection::vec(
                prop_oneof![0..900_i64, -2_000..9_000_i64],
                0..300,
            ),
            due in 1_u64..300,
        ) {
            let (counts, samples, _) = run(&cycle(due), &lateness);
            prop_assert_eq!(counts.due(), due);
            prop_assert_eq!(counts.on_time + counts.late, samples.len() as u64);
            prop_assert!(samples.windows(2).all(|pair| pair[0].0 < pair[1].0));
            let mut expected = 0;
            for (activation, latency) in &samples {
                prop_assert_eq!(*activation, expected);
                expected +=
                    1 + if *latency >= INTERVAL { (*latency / INTERVAL).unsigned_abs() } else { 0 };
            }
            prop_assert!(expected >= due);
        }
    }
}
