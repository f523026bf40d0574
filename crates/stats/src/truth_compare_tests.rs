// SPDX-License-Identifier: MIT OR Apache-2.0
//! How often a comparison finds a difference: where there is none, and where there is one of known
//! size, of processes as unlike as latencies are.

use super::{SERIES, analysis, normal, ns, pareto};
use crate::random::Numbers;
use crate::{Comparison, Group, Level, Measured, NotCompared, Side, compare};

/// Activations of a run.
const COUNT: usize = 20_000;
/// Of 1,000 pairs so many are 5 % within the error of 1,000.
const MAX_FALSE: usize = 64;

/// A process: a run of it by its seed and length.
type Process = fn(u64, usize) -> Vec<i32>;

fn exponential(seed: u64, count: usize) -> Vec<i32> {
    let mut numbers = Numbers::new(seed);
    (0..count).map(|_| ns(10_000.0 * numbers.exponential())).collect()
}

/// Log-normal, and each latency depends on the one before.
fn correlated(seed: u64, count: usize, memory: f64) -> Vec<i32> {
    normal(seed, count, memory)
        .into_iter()
        .map(|latency| ns(10_000.0 * (f64::from(latency - 20_000) / 6_000.0).exp()))
        .collect()
}

/// Once in 1,000 activations something makes the next 20 to 60 late, all of them about as much, and
/// how much has a heavy tail.
fn bursty(seed: u64, count: usize) -> Vec<i32> {
    let mut numbers = Numbers::new(seed);
    let (mut left, mut size) = (0, 0.0);
    let next = |_| {
        if left == 0 && numbers.below(1_000) == 0 {
            (left, size) = (20 + numbers.below(41), 50_000.0 * (1.0 + numbers.pareto(0.5)));
        }
        let quiet = 5_000.0 + 2_000.0 * numbers.exponential();
        let is_late = left > 0;
        left = left.saturating_sub(1);
        ns(if is_late { quiet + size * (0.5 + 0.5 * numbers.share()) } else { quiet })
    };
    (0..count).map(next).collect()
}

/// Every 997 activations eight in a row are late, from a phase on that no two runs share.
fn periodic(seed: u64, count: usize) -> Vec<i32> {
    let mut latencies = exponential(seed, count);
    let mut numbers = Numbers::new(seed ^ 0xfeed);
    let phase = numbers.below(997);
    for (place, latency) in latencies.iter_mut().enumerate() {
        if (place + phase) % 997 < 8 {
            *latency += 30_000 + ns(10_000.0 * numbers.share());
        }
    }
    latencies
}

/// As a clock with steps of 10 µs has them.
fn coarse(seed: u64, count: usize) -> Vec<i32> {
    exponential(seed, count).into_iter().map(|latency| latency / 10_000 * 10_000).collect()
}

/// Slow for some 300 activations, once in 1,800.
fn switching(seed: u64, count: usize) -> Vec<i32> {
    let mut numbers = Numbers::new(seed);
    let mut is_slow = numbers.below(6) == 0;
    let next = |_| {
        if numbers.below(if is_slow { 300 } else { 1_500 }) == 0 {
            is_slow = !is_slow;
        }
        ns(if is_slow { 30_000.0 } else { 10_000.0 } * numbers.exponential())
    };
    (0..count).map(next).collect()
}

/// At one of these levels, each as likely as the others, for so many activations on average.
fn regimes(seed: u64, count: usize, levels: &[f64], length: f64) -> Vec<i32> {
    let mut numbers = Numbers::new(seed);
    let mut latencies = Vec::new();
    while latencies.len() < count {
        let level = levels[numbers.below(levels.len())];
        let end = latencies.len() as f64 + 1.0 + length * numbers.exponential();
        while latencies.len() < count && (latencies.len() as f64) < end {
            latencies.push(ns(level * (10_000.0 + 5_000.0 * numbers.exponential())));
        }
    }
    latencies
}

/// One in 100 is late, by 100 µs or by 300 µs in phases of this share of a run, the first of which
/// began before it.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "numbers of phases")]
fn sizes_in_phases(seed: u64, count: usize, share: f64) -> Vec<i32> {
    let mut numbers = Numbers::new(seed ^ 0xabcd);
    let length = share * count as f64;
    let first = length * numbers.share();
    let sizes: Vec<f64> = (0..1 + (1.0 / share).ceil() as usize)
        .map(|_| if numbers.below(2) == 0 { 100_000.0 } else { 300_000.0 })
        .collect();
    let next = |place: usize| {
        let phase = ((place as f64 + length - first) / length) as usize;
        let quiet = 5_000.0 + 2_000.0 * numbers.exponential();
        let is_late = numbers.below(100) == 0;
        ns(if is_late { quiet + sizes[phase] * (0.9 + 0.2 * numbers.share()) } else { quiet })
    };
    (0..count).map(next).collect()
}

/// A wave of the machine's temperature, twice as long as a run: all latencies by 5 % more at its
/// crest.
fn thermal(seed: u64, count: usize) -> Vec<i32> {
    let phase = Numbers::new(seed ^ 0x99).share();
    let level = |place: usize| {
        let turns = place as f64 / count as f64 / 2.0 + phase;
        1.0 + 0.025 * (std::f64::consts::TAU * turns).sin()
    };
    let latencies = exponential(seed, count).into_iter().enumerate();
    latencies.map(|(place, one)| ns((5_000.0 + 0.2 * f64::from(one)) * level(place))).collect()
}

/// Twenty in a row are late, every so many activations.
fn stalls(seed: u64, count: usize, period: usize) -> Vec<i32> {
    let mut latencies = exponential(seed, count);
    let mut numbers = Numbers::new(seed ^ 0x55);
    let phase = numbers.below(period);
    for (place, latency) in latencies.iter_mut().enumerate() {
        if (place + phase) % period < 20 {
            *latency += 100_000 + ns(10_000.0 * numbers.share());
        }
    }
    latencies
}

/// The first tenth is three times as late.
fn starting_up(seed: u64, count: usize) -> Vec<i32> {
    let latencies = exponential(seed, count).into_iter().enumerate();
    let later = |(place, one)| if 10 * place < count { 10_000 + 3 * one } else { 5_000 + one };
    latencies.map(later).collect()
}

/// In whole µs, nearly all of them 3 or 4, as cyclictest prints them.
fn whole_us(seed: u64, count: usize) -> Vec<i32> {
    let latencies = exponential(seed, count).into_iter();
    latencies.map(|one| (3_000 + one * 2 / 25) / 1_000 * 1_000).collect()
}

fn group(runs: impl IntoIterator<Item = Vec<i32>>) -> Group {
    let of_run = |latencies: Vec<i32>| vec![Measured::from(&analysis(&latencies))];
    Group { runs: runs.into_iter().map(of_run).collect(), quantiles: None }
}

/// What is different in it, by the names of its rows.
fn different(compared: &Comparison) -> Vec<String> {
    let quantiles = compared.quantiles.iter().filter(|one| one.is_significant());
    let mut rows: Vec<String> = quantiles.map(|one| one.level.to_string()).collect();
    rows.extend(compared.rate.filter(|rate| rate.is_significant()).map(|_| "rate".to_owned()));
    rows.extend(compared.maximum.is_significant().then(|| "max".to_owned()));
    rows
}

/// Of 1,000 pairs of runs of one process, of these lengths, so few are called different. Of how
/// many the medians are compared, and of how many the maxima.
fn call_equal(
    what: &str,
    process: impl Fn(u64, usize) -> Vec<i32>,
    counts: (usize, usize),
) -> (usize, usize) {
    call_equal_but(MAX_FALSE, what, process, counts)
}

/// The same of a process of which more are, at most so many.
fn call_equal_but(
    max: usize,
    what: &str,
    process: impl Fn(u64, usize) -> Vec<i32>,
    counts: (usize, usize),
) -> (usize, usize) {
    let mut rows: Vec<String> = Vec::new();
    let (mut pairs, mut medians, mut maxima) = (0, 0, 0);
    for seed in 0..SERIES {
        let (first, second) = (process(2 * seed, counts.0), process(2 * seed + 1, counts.1));
        let compared = compare(&group([first]), &group([second]));
        let different = different(&compared);
        pairs += usize::from(!different.is_empty());
        rows.extend(different);
        medians += usize::from(compared.quantiles[0].ratio.is_ok());
        maxima += usize::from(compared.maximum.test.is_ok());
    }
    let names = ["p50", "p90", "p99", "p99.9", "rate", "max"];
    let by_row = names.map(|name| rows.iter().filter(|row| *row == name).count());
    println!(
        "equal, {what}: {pairs} of {SERIES}; {names:?}: {by_row:?}; compared: {medians}, {maxima}"
    );
    assert!(pairs <= max, "equal, {what}: {pairs} of {SERIES}; {names:?}: {by_row:?}");
    (medians, maxima)
}

/// The same, and nearly all are compared.
fn equal_runs(what: &str, process: impl Fn(u64, usize) -> Vec<i32>, counts: (usize, usize)) {
    let (medians, maxima) = call_equal(what, process, counts);
    assert!(medians >= 900 && maxima >= 900, "compared: {medians} medians, {maxima} maxima");
}

#[test]
fn equal_exponential_runs() {
    equal_runs("exponential", exponential, (COUNT, COUNT));
}

#[test]
fn equal_correlated_runs() {
    for memory in [0.9, 0.99] {
        let process = |seed, count| correlated(seed, count, memory);
        equal_runs(&format!("log-normal, memory {memory}"), process, (COUNT, COUNT));
    }
}

#[test]
fn equal_bursty_runs() {
    equal_runs("bursts", bursty, (COUNT, COUNT));
}

#[test]
fn equal_periodic_runs() {
    equal_runs("periodic", periodic, (COUNT, COUNT));
}

#[test]
fn equal_runs_of_a_coarse_clock() {
    equal_runs("steps of 10 µs", coarse, (COUNT, COUNT));
}

#[test]
fn equal_runs_that_switch() {
    let (medians, maxima) = call_equal("slow at times", switching, (COUNT, COUNT));
    assert!(medians >= 900 && maxima >= 900, "compared: {medians} medians, {maxima} maxima");
}

/// A run is long enough for three or four regimes, and whether these are what the next one has
/// cannot be said from it.
#[test]
fn equal_runs_in_regimes() {
    let four = |seed, count| regimes(seed, count, &[1.0, 1.0, 1.0, 2.0, 5.0], 6_000.0);
    call_equal("levels of 1, 2 and 5 for 6,000 at a time", four, (COUNT, COUNT));
    let two = |seed, count| regimes(seed, count, &[1.0, 1.5], 5_000.0);
    call_equal("levels of 1 and 1.5 for 5,000 at a time", two, (COUNT, COUNT));
}

/// What is late is late by another amount for long: of phases that last, a run has too few.
#[test]
fn equal_runs_whose_outliers_change_their_size() {
    for share in [0.02, 0.1, 0.33] {
        let process = |seed, count| sizes_in_phases(seed, count, share);
        let what = format!("outliers of 100 or 300 µs for {share} of a run");
        let (medians, _) = call_equal(&what, process, (COUNT, COUNT));
        assert!(medians >= 900, "compared: {medians} medians");
    }
}

/// So many of these pairs of equal runs are called different.
pub(crate) fn called_different_in_phases(pairs: u64) -> usize {
    let run = |seed| group([sizes_in_phases(seed, COUNT, 0.2)]);
    let is_different =
        |seed: &u64| !different(&compare(&run(2 * seed), &run(2 * seed + 1))).is_empty();
    (0..pairs).filter(is_different).count()
}

#[test]
fn equal_runs_of_a_disturbed_machine() {
    // The limit that docs/method.md states: half a wave does not show what the other half is like.
    call_equal_but(100, "medians in a wave of 5 %", thermal, (COUNT, COUNT));
    let twice = |seed, count: usize| stalls(seed, count, count * 2 / 3);
    call_equal("a stall or two in a run", twice, (COUNT, COUNT));
    let often = |seed, count: usize| stalls(seed, count, count * 2 / 7);
    call_equal("three stalls or four in a run", often, (COUNT, COUNT));
    call_equal("a first tenth of start-up", starting_up, (COUNT, COUNT));
    equal_runs("whole µs", whole_us, (COUNT, COUNT));
}

#[test]
fn equal_runs_of_unequal_lengths() {
    equal_runs("bursts, three times as long", bursty, (COUNT, 3 * COUNT));
    equal_runs("bursts, short", bursty, (3_000, 3_000));
}

/// What is different in each of 200 pairs of which the second has latencies that are so many times
/// as large.
fn found(process: Process, times: f64) -> Vec<Vec<String>> {
    let larger = |latency: i32| ns(f64::from(latency) * times);
    let different_in = |seed: u64| {
        let (first, second) = (process(2 * seed, COUNT), process(2 * seed + 1, COUNT));
        let second = second.into_iter().map(larger).collect();
        different(&compare(&group([first]), &group([second])))
    };
    (10_000..10_200).map(different_in).collect()
}

/// The power that docs/method.md states.
#[test]
fn differences_of_known_size_are_found() {
    let processes: [(&str, Process, [usize; 3]); 6] = [
        ("exponential", exponential, [160, 190, 190]),
        ("log-normal, memory 0.9", |seed, count| correlated(seed, count, 0.9), [50, 160, 180]),
        ("bursts", bursty, [0, 190, 15]),
        ("periodic", periodic, [160, 190, 190]),
        ("steps of 10 µs", coarse, [180, 190, 150]),
        ("slow at times", switching, [0, 0, 15]),
    ];
    for (what, process, min) in processes {
        let (tenth, twice) = (found(process, 1.1), found(process, 2.0));
        let of = |pairs: &[Vec<String>], row: &str| {
            pairs.iter().filter(|rows| rows.iter().any(|one| one == row)).count()
        };
        let any = tenth.iter().filter(|rows| !rows.is_empty()).count();
        let counts = [of(&tenth, "p99"), any, of(&twice, "max")];
        println!("{what}: p99 at 1.1, any at 1.1, max at 2: {counts:?} of 200");
        assert!(counts.iter().zip(min).all(|(count, min)| *count >= min), "{what}: {counts:?}");
    }
}

/// Four threads with latencies of their own, and stalls that make all of them late at once.
fn stalled(seed: u64) -> Group {
    let mut numbers = Numbers::new(seed + 4_000);
    let stalls: Vec<(usize, i32)> = (0..40)
        .map(|_| (numbers.below(8_192), ns(40_000.0 + 9_000.0 * numbers.pareto(0.0))))
        .collect();
    let thread = |thread: u64| {
        let mut latencies = normal(4 * seed + thread, 8_192, 0.0);
        stalls
            .iter()
            .for_each(|(at, height)| latencies[*at] = height + i32::try_from(thread).unwrap());
        Measured::from(&analysis(&latencies))
    };
    Group { runs: vec![(0..4).map(thread).collect()], quantiles: None }
}

#[test]
fn what_makes_all_threads_late_counts_once() {
    let groups: Vec<Group> = (0..=150).map(stalled).collect();
    let significant =
        groups.windows(2).filter(|pair| compare(&pair[0], &pair[1]).maximum.is_significant());
    let significant = significant.count();
    println!("the latest of threads that are late together: {significant} of 150");
    assert!(significant <= 4, "{significant} of 150");
}

#[test]
fn one_thread_has_no_maximum_beside_four() {
    let one = group([normal(7, 8_192, 0.0)]);
    assert_eq!(compare(&stalled(1), &one).maximum.test, Err((NotCompared::Threads, Side::Both)));
}

/// Of latencies in coarse steps, equal ones are of no order: which group they are of does not make
/// it the later one.
#[test]
fn equal_maxima_tell_nothing() {
    let coarse = |latencies: &[i32]| {
        latencies.iter().map(|latency| latency / 10_000 * 10_000).collect::<Vec<i32>>()
    };
    let groups: Vec<Group> =
        (0..=150).map(|seed| group([coarse(&pareto(seed, 8_192, 0.0, 1))])).collect();
    let significant =
        groups.windows(2).filter(|pair| compare(&pair[0], &pair[1]).maximum.is_significant());
    let significant = significant.count();
    println!("maxima in steps of 10 µs: {significant} of 150");
    assert!(significant <= 4, "{significant} of 150");
    let constant = || group([vec![5_000; 8_192]]);
    let compared = compare(&constant(), &constant());
    assert_eq!(compared.maximum.test, Err((NotCompared::Equal, Side::Both)));
    assert_eq!(compared.maximum.largest, (0, 0));
    assert_eq!(compared.quantiles[3].ratio, Ok((1.0, 1.0)), "{compared:?}");
}

/// A desktop under SCHED_OTHER has the latest wake-ups, in a few bursts, beside a quiet run under
/// SCHED_FIFO. Counting bursts, weighted by how many latencies come together, said the reverse.
#[test]
fn the_group_with_the_latest_wake_ups_is_not_said_to_have_the_earlier() {
    let mut judged = 0;
    for seed in 0..20 {
        let quiet = exponential(seed + 900, COUNT);
        let mut late = exponential(seed, COUNT);
        let mut numbers = Numbers::new(seed);
        for _ in 0..5 {
            let (begin, height) = (numbers.below(COUNT - 200), 100_000_000 + numbers.below(9));
            for latency in &mut late[begin..begin + 100] {
                *latency += i32::try_from(height).unwrap();
            }
        }
        let compared = compare(&group([late]), &group([quiet])).maximum;
        assert_eq!(compared.largest, (20, 0), "{compared:?}");
        let Ok(test) = compared.test else {
            assert!(matches!(compared.test, Err((NotCompared::LongPhases, _))), "{compared:?}");
            continue;
        };
        judged += 1;
        assert!(!test.is_significant || (test.worst.1 as f64) < test.expected, "{compared:?}");
    }
    assert!(judged >= 19, "only {judged} of 20 are judged");
}

/// A run whose latest wake-ups are all of one cluster, against a short one without any: nothing is
/// said about what was not looked at.
#[test]
fn many_late_at_once_hide_no_others() {
    let mut long = normal(3, 20_000, 0.0);
    long[9_000..11_000].iter_mut().zip(0..).for_each(|(latency, k)| *latency = 500_000 - 100 * k);
    long.iter_mut().step_by(40).for_each(|latency| *latency += 60_000);
    let compared = compare(&group([long]), &group([normal(4, 300, 0.0)]));
    assert_eq!(compared.maximum.largest, (20, 0));
    let few = |blocks| (NotCompared::FewBlocks { blocks, needed: 16 }, Side::Second);
    // In blocks as long as those of the other.
    assert_eq!(compared.maximum.test, Err(few(1)), "{compared:?}");
    let refused: Vec<_> = compared.quantiles.iter().map(|one| one.ratio.unwrap_err()).collect();
    let samples = |needed| (NotCompared::FewSamples { samples: 300, needed }, Side::Second);
    let both = (NotCompared::FewSamples { samples: 20_000, needed: 70_000 }, Side::BothAtMost);
    assert_eq!(refused, [few(3), few(3), samples(700), samples(7_000), both]);
    let known: Vec<_> = compared.quantiles.iter().map(|one| one.other_ns.is_some()).collect();
    assert_eq!(known, [true, true, true, false, false]);
}

/// Of a quantile whose latencies all come from a few bursts nothing is said.
#[test]
fn a_quantile_of_three_bursts_is_not_compared() {
    let three = |seed| {
        let mut latencies = exponential(seed, COUNT);
        for begin in [3_000, 9_000, 15_000] {
            latencies[begin..begin + 100].iter_mut().for_each(|latency| *latency += 900_000);
        }
        group([latencies])
    };
    let compared = compare(&three(1), &three(2));
    let few = NotCompared::FewAbove { independent: 3, needed: 7, above: 200, level: Level::P99 };
    assert_eq!(compared.quantiles[2].ratio, Err((few, Side::Both)), "{compared:?}");
    assert!(compared.quantiles[1].ratio.is_ok(), "{compared:?}");
}

/// What the run's level decides is not compared where the level changed too seldom: not the
/// maximum, and not the quantiles that too few samples are above to show it.
#[test]
fn nothing_is_compared_of_runs_in_two_regimes() {
    let run = |seed| {
        let mut latencies = exponential(seed, COUNT);
        latencies[12_000..].iter_mut().for_each(|latency| *latency = 30_000 + *latency * 5);
        latencies
    };
    let compared = compare(&group([run(1)]), &group([exponential(2, COUNT)]));
    let refused = [0, 1, 2].map(|place| compared.quantiles[place].ratio);
    assert_eq!(
        (refused[0], compared.maximum.test),
        (Err((NotCompared::LongPhases, Side::First)), Err((NotCompared::LongPhases, Side::First)))
    );
    assert!(refused.iter().all(Result::is_err) && compared.rate.is_none(), "{compared:?}");
}

#[test]
fn differences_are_significant_with_their_size() {
    let slower =
        |latencies: Vec<i32>| latencies.into_iter().map(|latency| latency * 3 / 2).collect();
    for seed in 0..20 {
        let compared = compare(
            &group([normal(seed, 20_000, 0.5)]),
            &group([slower(normal(seed + 500, 20_000, 0.5))]),
        );
        for difference in &compared.quantiles[..4] {
            let (lower, upper) = difference.ratio.unwrap();
            assert!(difference.is_significant() && lower < 1.5 && upper > 1.5, "{difference:?}");
        }
        assert!(
            compared.rate.is_some_and(|rate| rate.lower > 1.0) && compared.maximum.is_significant(),
            "{compared:?}"
        );
    }
    // The middle is the same and the tail is not.
    let tailed = |seed| {
        pareto(seed, 40_000, 0.0, 1)
            .into_iter()
            .map(|latency| if latency > 17_000 { latency * 2 } else { latency })
            .collect()
    };
    let compared = compare(&group([pareto(1, 40_000, 0.0, 1)]), &group([tailed(2)]));
    let significant: Vec<Level> = compared
        .quantiles
        .iter()
        .filter(|difference| difference.is_significant())
        .map(|difference| difference.level)
        .collect();
    assert_eq!(significant, [Level::P99, Level::P999], "{compared:?}");
}
