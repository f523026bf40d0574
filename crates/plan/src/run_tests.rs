// SPDX-License-Identifier: MIT OR Apache-2.0
//! Runs: their lengths, their starts, and the bounds of their times.

use super::*;
use proptest::prelude::*;

fn run() -> Run {
    Run {
        length: Length::DurationNs(Nanos::from_secs(10)),
        cpus: vec![CpuId(0), CpuId(1)],
        warmup_ns: Nanos::from_millis(100),
        loads: vec!["hackbench,groups=2".parse().unwrap()],
        ..Run::example(Nanos::from_millis(1), 0)
    }
}

#[test]
fn length_and_distance() {
    let mut run = run();
    assert_eq!(run.activations_of(0), 10_000);
    run.distance_ns = Nanos::from_micros(500);
    assert_eq!((run.interval_of(1).0, run.activations_of(1)), (1_500_000, 6_666));
    run.length = Length::Samples(4_000);
    assert_eq!(run.activations_of(1), 4_000);
    assert_eq!(run.expected_ns(), Nanos(600_000_000 + 500_000 + 4_000 * 1_500_000));
    run.settle = Settle::ForNs(Nanos::ZERO);
    assert_eq!(run.whole_warmup_ns(), Nanos(100_000_000));
    assert_eq!(run.check(), Ok(()));
}

/// The second of two threads would begin half an interval later, 50 s after the end of the run.
#[test]
fn threads_begin_within_a_run_shorter_than_its_interval() {
    let mut run = run();
    assert_eq!(run.offset_of(1), Nanos::from_micros(500));
    run.interval_ns = Nanos::from_secs(100);
    run.length = Length::DurationNs(Nanos::from_secs(1));
    assert_eq!((run.activations_of(1), run.offset_of(1)), (1, Nanos::from_millis(500)));
    run.length = Length::Samples(2);
    assert_eq!(run.offset_of(1), Nanos::from_secs(50));
}

/// Threads that begin beside a load disturb it, however it was decided that the load has settled.
#[test]
fn threads_warm_up_longer_beside_loads_that_settled() {
    let mut run = run();
    let long = Nanos::from_millis(600);
    for (settle, warmup) in [
        (Settle::Auto, long),
        (Settle::ForNs(Nanos::from_secs(1)), long),
        (Settle::ForNs(Nanos::ZERO), Nanos::from_millis(100)),
    ] {
        run.settle = settle;
        assert_eq!(run.whole_warmup_ns(), warmup, "{settle:?}");
    }
    run.settle = Settle::ForNs(Nanos::from_secs(1));
    assert_eq!(run.expected_ns(), Nanos(600_000_000 + 500_000 + 10_000_000_000));
    run.loads.clear();
    assert_eq!(run.whole_warmup_ns(), Nanos::from_millis(100));
}

#[test]
fn a_run_ends_with_the_thread_that_begins_last() {
    let mut run = run();
    run.aligned_ns = Some(Nanos::from_secs(5));
    assert_eq!((run.offset_of(0), run.offset_of(1)), (Nanos::ZERO, Nanos::from_secs(5)));
    assert_eq!(run.expected_ns(), Nanos(600_000_000 + 5_000_000_000 + 10_000_000_000));
    run.aligned_ns = None;
    assert_eq!(run.offset_of(1), Nanos::from_micros(500));
}

#[test]
fn impossible_runs() {
    let check = |change: fn(&mut Run)| {
        let mut run = run();
        change(&mut run);
        run.check()
    };
    assert_eq!(check(|run| run.interval_ns = Nanos(0)), Err(RunError::Interval(Nanos(0))));
    let long = Nanos(3_600_000_000_001);
    assert_eq!(
        check(|run| run.interval_ns = Nanos(3_600_000_000_001)),
        Err(RunError::Interval(long))
    );
    assert!(matches!(check(|run| run.length = Length::Samples(0)), Err(RunError::Empty(_))));
    assert!(matches!(
        check(|run| run.length = Length::DurationNs(Nanos(0))),
        Err(RunError::Empty(_))
    ));
    assert!(matches!(check(|run| run.cpus.clear()), Err(RunError::Threads { asked: 0, .. })));
    assert!(matches!(
        check(|run| run.length = Length::Samples(u64::MAX)),
        Err(RunError::TooLong(_))
    ));
}

#[test]
fn times_have_an_end() {
    let check = |change: fn(&mut Run)| {
        let mut run = run();
        change(&mut run);
        run.check().map_err(|error| error.to_string())
    };
    for (change, error) in [
        (
            (|run| run.warmup_ns = Nanos::from_secs(9_223_372_036)) as fn(&mut Run),
            "a warm-up of 9223372036s is too long: at most 24h",
        ),
        (
            |run| run.aligned_ns = Some(Nanos::from_secs(4_000_000_000)),
            "a shift between the starts of threads of 4000000000s is too long",
        ),
        (
            |run| run.settle = Settle::ForNs(Nanos::from_secs(86_401)),
            "a settling time of 86401s is too long: at most 24h",
        ),
        (|run| run.length = Length::DurationNs(Nanos(Nanos::LONGEST.0 + 1)), "a run of "),
        (|run| run.break_above_ns = Some(Nanos(i64::MAX)), "a latency to stop at of "),
        (
            |run| {
                (run.length, run.interval_ns) =
                    (Length::Samples(900_000_000_000), Nanos::from_secs(3_600))
            },
            "900000000000 samples, 1h apart, take longer than 87600h (10 years), and a run cannot",
        ),
    ] {
        let said = check(change).unwrap_err();
        assert!(said.starts_with(error), "{said}\nnot: {error}");
    }
    assert_eq!(check(|run| run.length = Length::Forever), Ok(()));
    assert_eq!(check(|run| run.warmup_ns = Nanos::from_secs(86_400)), Ok(()));
}

#[test]
fn a_run_without_end_has_as_many_rows_as_there_can_be() {
    let mut run = Run { length: Length::Forever, ..run() };
    assert_eq!(run.activations_of(0), 315_360_000_000);
    run.interval_ns = Nanos(1_000);
    assert_eq!(run.activations_of(0), MAX_ACTIVATIONS);
    assert_eq!(serde_json::to_string(&run.length).unwrap(), format!("{:?}", Length::FOREVER));
}

/// A time of any size, many of them near the bounds.
fn time() -> impl Strategy<Value = Nanos> {
    let near = (0..4_usize, -2_i64..3).prop_map(|(place, off)| {
        let bounds = [MAX_BEFORE.0, MAX_INTERVAL.0, Nanos::LONGEST.0, i64::MAX - 2];
        Nanos(bounds[place].saturating_add(off))
    });
    prop_oneof![(0..=i64::MAX).prop_map(Nanos), (0..=MAX_INTERVAL.0).prop_map(Nanos), near]
}

fn length() -> impl Strategy<Value = Length> {
    let samples = prop_oneof![1..=u64::MAX, 1..=MAX_ACTIVATIONS].prop_map(Length::Samples);
    prop_oneof![samples, time().prop_map(Length::DurationNs), Just(Length::Forever)]
}

proptest! {
    #[test]
    fn no_sum_of_times_overflows(
        (interval, distance, length) in (
            time(),
            prop_oneof![Just(Nanos::ZERO), (0..10_000_i64).prop_map(Nanos), time()],
            length(),
        ),
        (aligned, warmup, settle) in (proptest::option::of(time()), time(), time()),
        (threads, loaded, phase) in (1..=MAX_THREADS, any::<bool>(), 0..100_u32),
    ) {
        let loads = if loaded { vec!["cpu".parse().unwrap()] } else { Vec::new() };
        let run = Run {
            interval_ns: interval,
            distance_ns: distance,
            length,
            cpus: vec![CpuId(0); threads],
            aligned_ns: aligned,
            warmup_ns: warmup,
            settle: Settle::ForNs(settle),
            loads,
            phase: phase.to_string().parse().unwrap(),
            ..Run::example(interval, 1)
        };
        if run.check().is_ok() {
            let wide = |time: Nanos| i128::from(time.0);
            for index in [0, threads / 2, threads - 1] {
                let interval =
                    wide(run.interval_ns) + wide(run.distance_ns) * i128::try_from(index).unwrap();
                prop_assert_eq!(wide(run.interval_of(index)), interval);
                let offset = aligned.map(|shift| wide(shift) * i128::try_from(index).unwrap());
                prop_assert!(offset.is_none_or(|offset| offset == wide(run.offset_of(index))));
                let measures = i128::from(run.activations_of(index)) * interval;
                let before = wide(run.whole_warmup_ns())
                    + wide(run.settle.bound_ns())
                    + wide(run.phase_shift());
                // A machine's own clock counts from its start:
                // half of what there is stays free for that.
                prop_assert!(
                    before + wide(run.offset_of(index)) + measures < i128::from(i64::MAX / 2)
                );
                prop_assert!(wide(run.expected_ns()) >= wide(run.offset_of(index)) + measures);
            }
            prop_assert!(run.max_duration_ns().0 < i64::MAX / 2);
        }
    }
}
