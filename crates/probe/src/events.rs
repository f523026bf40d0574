// SPDX-License-Identifier: MIT OR Apache-2.0
//! The loop that waits for events.
//!
//! Events are numbered as they come; nothing was planned, so none is late or skipped. In front of
//! its columns each row has the event's time, ns since the planned start of the thread. Those that
//! were recorded elsewhere, by the kernel or with a time of their own, wait where the ring is full,
//! as nothing is due.

use crate::attachment::Attachment;
use crate::cycle::BreakLimit;
use crate::guard::StarvationCheck;
use crate::outcome::{SampleError, Woken};
use crate::sampler::{Awaited, EventSource};
use crate::{Control, Counts, Cycle, Producer, StopReason};
use plan::Nanos;

/// Takes events until the end of the cycle: `activations` intervals after its start. `WIDTH` is `N`
/// and one, for the time.
pub(crate) fn measure<A: Attachment, const N: usize, const WIDTH: usize>(
    attachment: &mut A,
    source: &mut impl EventSource<A, N>,
    cycle: &Cycle,
    ring: &mut Producer<WIDTH>,
    control: &Control,
) -> Counts {
    const { assert!(WIDTH == N + 1) };
    let length =
        cycle.interval.0.saturating_mul(i64::try_from(cycle.activations).unwrap_or(i64::MAX));
    let end = Nanos(cycle.start.0.saturating_add(length));
    let limit = cycle.break_above.unwrap_or(BreakLimit::NONE);
    source.begin(attachment, cycle.start, cycle.interval);
    // What happens before the start is not recorded.
    while attachment.now() < cycle.start && !control.is_stopped() {
        if let Woken::Failed(errno) = attachment.sleep_until(cycle.start) {
            control.probe_failed(cycle.thread, SampleError { doing: "clock_nanosleep", errno });
        }
    }
    let mut rows = Rows { cycle, ring, events: 0 };
    let judge = |event: Option<(u64, i64)>| match event {
        Some((event, latency_ns)) if limit.is_broken_by(latency_ns) => {
            control.stop(StopReason::BreakAbove {
                thread: cycle.thread,
                activation: event,
                latency_ns,
            });
        }
        _ => {}
    };
    let mut starvation = StarvationCheck::new();
    while !control.is_stopped() {
        // Whether the run may end with it. What was read together is recorded together, or it would
        // be nowhere.
        let (now, may_end) = match source.next(attachment, end) {
            Awaited::Event(time, values) => {
                if source.keeps_events() {
                    wait_for_room(attachment, rows.ring, |_| !control.is_stopped());
                }
                judge(rows.event(time, &values));
                (if time < cycle.start { attachment.now() } else { time }, true)
            }
            Awaited::Recorded(time, values) => {
                wait_for_room(attachment, rows.ring, |_| !control.is_stopped());
                judge(rows.recorded(time, &values));
                (attachment.now(), false)
            }
            // They have numbers, and no rows. Rows may follow that were there before the end.
            Awaited::Lost(missing) => {
                rows.events += missing;
                (attachment.now(), false)
            }
            Awaited::More => (attachment.now(), false),
            Awaited::Ended => break,
            Awaited::Nothing => (attachment.now(), true),
            Awaited::Failed(error) => {
                control.probe_failed(cycle.thread, error);
                break;
            }
        };
        if may_end && now >= end {
            break;
        }
        if starvation.is_due(now.0) {
            starvation.check(now.0, control);
        }
    }
    record_left(attachment, source, &mut rows);
    Counts { on_time: rows.events, late: 0, skipped: 0 }
}

/// Events on their way to the recorder.
struct Rows<'a, const WIDTH: usize> {
    cycle: &'a Cycle,
    ring: &'a mut Producer<WIDTH>,
    /// So far, recorded or missing.
    events: u64,
}

impl<const WIDTH: usize> Rows<'_, WIDTH> {
    /// One that happened at this time, unless the run had not begun. Returns its number and its
    /// judged value.
    fn event(&mut self, time: Nanos, values: &[i64]) -> Option<(u64, i64)> {
        if time < self.cycle.start {
            None
        } else {
            self.recorded(Nanos(time.0 - self.cycle.start.0), values)
        }
    }

    /// One with a time of its own.
    fn recorded(&mut self, time: Nanos, values: &[i64]) -> Option<(u64, i64)> {
        let mut row = [time.0; WIDTH];
        row[1..].copy_from_slice(values);
        self.ring.push(self.events, row);
        self.events += 1;
        values.first().map(|judged| (self.events - 1, *judged))
    }
}

/// What is left when the run has ended, or was stopped, is recorded as well.
fn record_left<A: Attachment, const N: usize, const WIDTH: usize>(
    attachment: &mut A,
    source: &mut impl EventSource<A, N>,
    rows: &mut Rows<'_, WIDTH>,
) {
    // The recorder takes rows until all threads have ended. If it does not, what has no room is
    // lost, and counted.
    let until = Nanos(attachment.now().0.saturating_add(MAX_WAIT.0));
    while let Some(left) = source.left(attachment) {
        if matches!(left, Awaited::Recorded(..)) || source.keeps_events() {
            wait_for_room(attachment, rows.ring, |attachment| attachment.now() < until);
        }
        match left {
            Awaited::Event(time, values) => {
                rows.event(time, &values);
            }
            Awaited::Recorded(time, values) => {
                rows.recorded(time, &values);
            }
            Awaited::Lost(missing) => rows.events += missing,
            Awaited::More => {}
            Awaited::Ended | Awaited::Nothing | Awaited::Failed(_) => break,
        }
    }
}

/// A full ring is checked again after this long.
const UNTIL_TAKEN: Nanos = Nanos::from_micros(200);
/// The rows that are left wait no longer for room.
const MAX_WAIT: Nanos = Nanos::from_secs(1);

/// Lets the recorder take what the ring holds, as long as that may take.
fn wait_for_room<A: Attachment, const WIDTH: usize>(
    attachment: &mut A,
    ring: &mut Producer<WIDTH>,
    may_wait: impl Fn(&mut A) -> bool,
) {
    while ring.is_full() && may_wait(attachment) {
        let until = attachment.now().0 + UNTIL_TAKEN.0;
        attachment.sleep_until(Nanos(until));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attachment::Linux;
    use crate::ring;
    use plan::OverrunPolicy;

    /// A run that is stopped while it holds events back: three that are missing, and two.
    struct HoldsBack {
        control: Control,
        left: i64,
    }

    impl EventSource<Linux, 1> for HoldsBack {
        fn next(&mut self, _: &mut Linux, _: Nanos) -> Awaited<1> {
            self.control.stop(StopReason::Asked);
            Awaited::Nothing
        }

        fn left(&mut self, _: &mut Linux) -> Option<Awaited<1>> {
            self.left -= 1;
            let time = 1_000 + 100 * (2 - self.left);
            match self.left {
                2.. => Some(Awaited::Lost(3)),
                1 => Some(Awaited::Event(Nanos(time), [self.left])),
                0 => Some(Awaited::Recorded(Nanos(200), [self.left])),
                _ => None,
            }
        }
    }

    /// Reads what the kernel recorded when the run is over.
    struct ReadsAtTheEnd(Vec<Awaited<1>>);

    impl EventSource<Linux, 1> for ReadsAtTheEnd {
        fn next(&mut self, _: &mut Linux, _: Nanos) -> Awaited<1> {
            self.0.pop().unwrap_or(Awaited::Ended)
        }
    }

    /// A run of 500 ns that is long over.
    fn cycle() -> Cycle {
        Cycle {
            thread: 0,
            start: Nanos(1_000),
            interval: Nanos(500),
            activations: 1,
            break_above: None,
            overrun_policy: OverrunPolicy::Skip,
        }
    }

    /// The number and the rows of such a run.
    fn recorded(mut source: ReadsAtTheEnd) -> (u64, Vec<(u64, Vec<i64>)>) {
        let control = Control::new();
        let (mut producer, mut consumer) = ring::<2>(8, 2);
        let counts = measure(&mut Linux, &mut source, &cycle(), &mut producer, &control);
        let mut rows = Vec::new();
        let Ok(()) = consumer.drain(|first, values| {
            rows.push((first, values.to_vec()));
            Ok::<_, std::convert::Infallible>(())
        });
        (counts.due(), rows)
    }

    /// More events than the ring holds, read at once when the run is over.
    struct Backlog {
        events: i64,
        is_kept: bool,
    }

    impl EventSource<Linux, 1> for Backlog {
        fn next(&mut self, _: &mut Linux, _: Nanos) -> Awaited<1> {
            self.events -= 1;
            // Before the end of a run of 500 ns, or the first would be the last.
            let time = Nanos(1_400 - self.events);
            if self.events < 0 { Awaited::Ended } else { Awaited::Event(time, [self.events]) }
        }

        fn keeps_events(&self) -> bool {
            self.is_kept
        }
    }

    /// A hundred thousand wake-ups of a program were lost where the kernel still had them: its
    /// buffers were full when the run had ended, and were read faster than the recorder takes.
    #[test]
    fn what_the_kernel_keeps_waits_for_the_recorder() {
        let lost = |is_kept| {
            let (mut producer, mut consumer) = ring::<2>(8, 2);
            let (taken, counts) = std::thread::scope(|scope| {
                let measuring = scope.spawn(|| {
                    let mut source = Backlog { events: 100, is_kept };
                    measure(&mut Linux, &mut source, &cycle(), &mut producer, &Control::new())
                });
                let mut taken = 0;
                loop {
                    std::thread::sleep(std::time::Duration::from_millis(1));
                    let is_over = measuring.is_finished();
                    let Ok(()) = consumer.drain(|_, values| {
                        taken += values.len() / 2;
                        Ok::<_, std::convert::Infallible>(())
                    });
                    if is_over {
                        break (taken, measuring.join().unwrap());
                    }
                }
            });
            assert_eq!((counts.due(), producer.lost() + taken as u64), (100, 100));
            producer.lost()
        };
        assert_eq!(lost(true), 0);
        assert!(lost(false) > 0);
    }

    /// The row vanished, and was counted nowhere.
    #[test]
    fn a_row_after_lost_ones_at_the_end_is_recorded() {
        let source = ReadsAtTheEnd(vec![Awaited::Event(Nanos(1_100), [7]), Awaited::Lost(2)]);
        assert_eq!(recorded(source), (3, vec![(2, vec![100, 7])]));
    }

    /// So did those that had been read from a pipe, which are nowhere else.
    #[test]
    fn rows_that_were_read_before_the_end_are_recorded() {
        let rows = vec![
            Awaited::Nothing,
            Awaited::Recorded(Nanos(9), [8]),
            Awaited::Recorded(Nanos(5), [7]),
            Awaited::More,
        ];
        let (due, rows) = recorded(ReadsAtTheEnd(rows));
        assert_eq!((due, rows.len()), (2, 1), "one portion: {rows:?}");
        assert_eq!(rows[0], (0, vec![5, 9, 7, 8]));
    }

    #[test]
    fn what_a_stopped_run_held_back_is_recorded() {
        let control = Control::new();
        let mut source = HoldsBack { control: control.clone(), left: 3 };
        let cycle = Cycle { interval: Nanos::from_millis(1), activations: 1 << 50, ..cycle() };
        let (mut producer, mut consumer) = ring::<2>(8, 2);
        let counts = measure(&mut Linux, &mut source, &cycle, &mut producer, &control);
        let mut rows = Vec::new();
        let Ok(()) = consumer.drain(|first, values| {
            rows.push((first, values.to_vec()));
            Ok::<_, std::convert::Infallible>(())
        });
        // Column after column: when, and what.
        assert_eq!((counts.due(), rows), (5, vec![(3, vec![100, 200, 1, 0])]));
    }
}
