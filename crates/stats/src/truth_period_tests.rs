// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which periods are found in series of known ones, and that none is found where there is none.

use super::{analysis, holds, normal, ns};
use crate::random::Numbers;

#[test]
fn noise_has_no_period() {
    for memory in [0.0, 0.5, 0.9, 0.99] {
        holds(&format!("noise, memory {memory}"), 0, 9, |seed| {
            !analysis(&normal(seed, 10_000, memory)).periods.is_empty()
        });
    }
}

/// Latencies with a spike at every so many activations, itself off its place by up to `jitter`.
fn spiked(seed: u64, count: usize, period: usize, jitter: usize, height: f64) -> Vec<i32> {
    let mut latencies = normal(seed, count, 0.3);
    let mut numbers = Numbers::new(seed ^ 0xabcd);
    let mut due = numbers.below(period);
    while due + jitter < count {
        let place = due + numbers.below(jitter + 1);
        latencies[place] += ns(height * (1.0 + 0.3 * numbers.exponential()));
        due += period;
    }
    latencies
}

/// What a spike of this period, off its place by up to so many activations, is found as: whether it
/// is the one period found, as exactly as its jitter lets it be.
fn is_found(seed: u64, count: usize, period: usize, jitter: usize, height: f64) -> bool {
    let found = analysis(&spiked(seed, count, period, jitter, height)).periods;
    #[expect(clippy::cast_precision_loss)]
    let (period, jitter) = (period as f64, jitter as f64);
    let [one] = found.as_slice() else { return false };
    (one.activations - period).abs() <= 0.001 * period + 0.1 * jitter
        && one.present >= 0.6
        && one.jitter <= jitter + 1.0
}

#[test]
fn a_spike_every_5_000_is_found() {
    holds("a spike every 5,000 of 100,000, off by up to 3", 990, 1_000, |seed| {
        is_found(seed, 100_000, 5_000, 3, 60_000.0)
    });
}

#[test]
fn spikes_are_found_at_any_period() {
    let mut missed = Vec::new();
    for (count, period, jitter, height) in [
        (20_000, 2, 0, 4_000.0),
        (20_000, 3, 0, 4_000.0),
        (20_000, 4, 0, 4_000.0),
        (20_000, 10, 0, 8_000.0),
        (30_000, 250, 2, 15_000.0),
        (100_000, 5_000, 50, 60_000.0),
        (1_000_000, 5_000, 5, 30_000.0),
        (1_000_000, 60_000, 10, 60_000.0),
    ] {
        let found = (0..20).filter(|seed| is_found(*seed, count, period, jitter, height)).count();
        println!("every {period} of {count}, off by up to {jitter}: {found} of 20");
        if found < 19 {
            missed.push((period, found));
        }
    }
    assert!(missed.is_empty(), "{missed:?}");
}

/// Distances between spikes of one period and those of another are multiples of their common
/// divisor, which is no period itself.
#[test]
fn two_periods_are_found_and_not_what_divides_both() {
    let mut missed = Vec::new();
    for (one, other) in [(70_u16, 100_u16), (50, 120), (97, 101), (500, 750), (70, 300)] {
        let found = |seed: u64| {
            let mut latencies = normal(seed, 20_000, 0.3);
            for (period, first) in [(one, 13), (other, 3)] {
                latencies[first..]
                    .iter_mut()
                    .step_by(period.into())
                    .for_each(|latency| *latency = 90_000);
            }
            analysis(&latencies)
                .periods
                .iter()
                .map(|period| period.activations.round())
                .collect::<Vec<_>>()
        };
        let right =
            (0..20).filter(|seed| found(*seed) == [f64::from(one), f64::from(other)]).count();
        println!("every {one} and every {other}: {right} of 20; {:?}", found(0));
        if right < 19 {
            missed.push((one, other, right));
        }
    }
    assert!(missed.is_empty(), "{missed:?}");
    // What is late at three of ten places of one period, by chance, is of that period.
    let found = |seed: u64| {
        let mut numbers = Numbers::new(seed ^ 0x1234);
        let mut latencies = normal(seed, 20_000, 0.3);
        let often = latencies.iter_mut().step_by(10).filter(|_| numbers.below(10) < 3);
        often.for_each(|latency| *latency = 90_000);
        analysis(&latencies).periods.first().map(|period| period.activations.round())
    };
    let right = (0..20).filter(|seed| found(*seed) == Some(10.0)).count();
    assert!(right >= 19, "every 10, at three of ten places: {right} of 20");
}

/// Every fifth latency is regular, and no later than the others: a clock's step, or a cache line.
#[test]
fn what_is_regular_and_not_later_is_no_period() {
    let mut numbers = Numbers::new(3);
    let regular: Vec<i32> = (0..20_000)
        .map(|k| if k % 5 == 0 { 3_540 } else { 3_520 + i32::from(numbers.below(2) == 1) * 10 })
        .collect();
    let found = analysis(&regular).periods;
    assert!(found.is_empty(), "{found:?}");
    // The same half as late again is one.
    let later: Vec<i32> = regular
        .iter()
        .zip(0..)
        .map(|(latency, k): (&i32, i32)| if k % 5 == 0 { 5_300 } else { *latency })
        .collect();
    let found = analysis(&later).periods;
    assert!(matches!(found.as_slice(), [one] if (one.activations - 5.0).abs() < 0.01), "{found:?}");
}

/// One of four phases is a tenth earlier than the other three, which are alike: none of those is
/// later than the rest.
#[test]
fn a_phase_that_is_earlier_makes_no_period_of_the_others() {
    for (memory, spread) in [(0.0, 0.3), (0.0, 0.7), (0.5, 0.3), (0.5, 0.7), (0.9, 0.7)] {
        let latency = |(latency, k): (i32, i32)| {
            let latency = 22_500.0 + spread * f64::from(latency - 20_000);
            ns(if k % 4 == 0 { 0.9 * latency } else { latency })
        };
        for seed in 0..50 {
            let latencies: Vec<i32> =
                normal(seed, 10_000, memory).into_iter().zip(0..).map(latency).collect();
            let found = analysis(&latencies).periods;
            assert!(found.is_empty(), "memory {memory}, spread {spread}, series {seed}: {found:?}");
        }
    }
}

/// What one phase of four has more than the others is told by all of its latencies, late or not.
#[test]
fn a_period_is_as_late_as_half_of_its_wake_ups() {
    // A timer of 250 Hz beside activations of 1 kHz.
    let latencies: Vec<i32> = normal(1, 20_000, 0.3)
        .into_iter()
        .zip(0..)
        .map(|(latency, k): (i32, i32)| {
            let usual = if k % 4 == 1 { 4_250 } else { 3_580 };
            usual + (latency - 20_000) / 60
        })
        .collect();
    let found = analysis(&latencies).periods;
    assert!(
        matches!(
            found.as_slice(),
            [one] if (one.activations - 4.0).abs() < 0.001 && one.jitter < 0.5,
        ),
        "{found:?}"
    );
    assert!((found[0].latency_ns - 4_250).abs() <= 5 && found[0].present > 0.95, "{found:?}");
}
