// SPDX-License-Identifier: MIT OR Apache-2.0
//! Rounds whose truth is known.

use super::*;
use crate::Histogram;
use proptest::prelude::*;

#[test]
fn every_round_has_each_twice_and_both_orders_occur() {
    let orders: Vec<[bool; 4]> = RoundOrder::new(1).take(1_000).collect();
    let begins_off = orders.iter().filter(|order| **order == [false, true, true, false]).count();
    let begins_on = orders.iter().filter(|order| **order == [true, false, false, true]).count();
    assert_eq!(begins_off + begins_on, 1_000);
    assert!((440..560).contains(&begins_off), "{begins_off}");
    assert_eq!(orders, RoundOrder::new(1).take(1_000).collect::<Vec<_>>());
    assert_ne!(orders, RoundOrder::new(2).take(1_000).collect::<Vec<_>>());
}

/// Against tables: F. Wilcoxon and R. A. Wilcox, "Some Rapid Approximate Statistical Procedures"
/// (1964), table 2, two-sided.
#[test]
fn critical_sums_are_those_of_the_tables() {
    for (rounds, error, sum) in [
        (6, 0.05, 0),
        (8, 0.05, 3),
        (8, 0.01, 0),
        (10, 0.05, 8),
        (10, 0.01, 3),
        (15, 0.05, 25),
        (20, 0.01, 37),
        (25, 0.05, 89),
    ] {
        assert_eq!(ranks_beyond(rounds, error), Some(sum), "{rounds} {error}");
    }
    assert_eq!(ranks_beyond(5, 0.05), None);
    assert_eq!([0.05, 0.05 / 3.0, 0.05 / 15.0].map(min_rounds), [6, 7, 10]);
}

#[test]
fn the_estimate_is_the_median_of_the_means() {
    let round = |on| Round { off: [1_000; 2], on: [on; 2] };
    let rounds: Vec<Round> = [500, 510, 490, 500, 505, 495, 2_000].map(round).to_vec();
    let effect = Effect::from_rounds(&rounds, 0.05).unwrap();
    assert!((0.49..0.52).contains(&effect.ratio), "one burst moves it little: {effect:?}");
    assert_eq!(
        effect.evidence(),
        Evidence::Neither,
        "one of seven against it is too much: {effect:?}"
    );
    let effect = Effect::from_rounds(&rounds[..6], 0.05).unwrap();
    let (lower, upper) = effect.interval.unwrap();
    assert!((lower - 0.49).abs() < 1e-9 && (upper - 0.51).abs() < 1e-9, "{effect:?}");
    assert_eq!(effect.evidence(), Evidence::Helps);
    let swapped: Vec<Round> =
        rounds[..6].iter().map(|round| Round { off: round.on, on: round.off }).collect();
    assert_eq!(Effect::from_rounds(&swapped, 0.05).unwrap().evidence(), Evidence::Worse);
    assert_eq!(Effect::from_rounds(&rounds[..5], 0.05).unwrap().interval, None);
    assert_eq!(Effect::from_rounds(&[], 0.05), None);
    let none = vec![Round { off: [0; 2], on: [0; 2] }; 20];
    assert_eq!(Effect::from_rounds(&none, 0.05).unwrap().evidence(), Evidence::Neither);
}

/// Latencies of a machine that gets slower, slow for a while now and then, and late by far
/// sometimes: blocks in succession are alike.
struct Machine {
    numbers: Numbers,
    slow: f64,
    blocks: u32,
}

impl Machine {
    fn new(seed: u64) -> Machine {
        Machine { numbers: Numbers::new(seed), slow: 0.0, blocks: 0 }
    }

    #[expect(clippy::cast_possible_truncation)]
    fn block(&mut self, effect: f64) -> i64 {
        self.blocks += 1;
        self.slow = 0.9 * self.slow + 0.1 * self.numbers.normal();
        let burst = if self.numbers.below(10) == 0 { self.numbers.pareto(0.5) } else { 0.0 };
        let log =
            10.0 + 0.02 * f64::from(self.blocks) + self.slow + 0.1 * self.numbers.normal() + burst;
        (effect * log.exp()) as i64
    }

    fn rounds(&mut self, count: usize, orders: &mut RoundOrder, effect: f64) -> Vec<Round> {
        let one = |order: [bool; 4]| {
            let (mut off, mut on) = (Vec::new(), Vec::new());
            for is_on in order {
                if is_on { on.push(self.block(effect)) } else { off.push(self.block(1.0)) }
            }
            Round { off: [off[0], off[1]], on: [on[0], on[1]] }
        };
        orders.take(count).map(one).collect()
    }
}

const CHANGES: u32 = 15;
const ERROR: f64 = 0.05;

/// 400 tunings of 15 changes that do nothing: at most 5 % of them may name any of the changes.
#[test]
fn changes_without_effect_are_seldom_said_to_have_one() {
    let error = ERROR / f64::from(CHANGES);
    let wrong = |seed: u64| {
        let (mut machine, mut orders) = (Machine::new(seed), RoundOrder::new(seed + 10_000));
        (0..CHANGES).any(|_| {
            let effect = Effect::from_rounds(&machine.rounds(12, &mut orders, 1.0), error).unwrap();
            effect.evidence() != Evidence::Neither
        })
    };
    let all = (0..400).filter(|seed| wrong(*seed)).count();
    // Of 400 at 5 %: 20, and by chance at most 33 (99.8 %).
    assert!((2..=33).contains(&all), "{all}");
}

/// Without the correction it is one in two.
#[test]
fn without_the_correction_they_often_are() {
    let wrong = |seed: u64| {
        let (mut machine, mut orders) = (Machine::new(seed), RoundOrder::new(seed + 10_000));
        (0..CHANGES).any(|_| {
            let effect = Effect::from_rounds(&machine.rounds(12, &mut orders, 1.0), ERROR).unwrap();
            effect.evidence() != Evidence::Neither
        })
    };
    let all = (0..200).filter(|seed| wrong(*seed)).count();
    assert!(all > 60, "{all}");
}

#[test]
fn a_real_effect_is_found_and_its_interval_holds_it() {
    let error = ERROR / f64::from(CHANGES);
    let effects = |truth: f64| {
        (0..300).map(move |seed| {
            let (mut machine, mut orders) = (Machine::new(seed), RoundOrder::new(seed + 10_000));
            Effect::from_rounds(&machine.rounds(12, &mut orders, truth), error).unwrap()
        })
    };
    let helps = effects(0.25).filter(|effect| effect.evidence() == Evidence::Helps).count();
    let worse = effects(4.0).filter(|effect| effect.evidence() == Evidence::Worse).count();
    assert!(helps > 240 && worse > 240, "{helps} {worse}");
    assert!(effects(0.25).all(|effect| effect.evidence() != Evidence::Worse));
    let holds = |effect: &Effect| {
        effect.interval.is_some_and(|(lower, upper)| (lower..=upper).contains(&0.4))
    };
    let held = effects(0.4).filter(holds).count();
    // 99.67 % of 300 are 299.
    assert!(held >= 295, "{held}");
}

#[test]
fn what_is_judged_is_what_a_block_has_enough_of() {
    for (latencies, level) in [
        (19, None),
        (20, Some(Level::P50)),
        (100, Some(Level::P90)),
        (1_000, Some(Level::P99)),
        (9_999, Some(Level::P99)),
        (10_000, Some(Level::P999)),
        (100_000, Some(Level::P9999)),
    ] {
        assert_eq!(judged_level(latencies), level, "{latencies}");
    }
    let mut histogram = Histogram::default();
    (1..=100).for_each(|value| histogram.record(value));
    assert_eq!(histogram.quantile(Level::P99), Some(99));
    assert_eq!(Histogram::default().quantile(Level::P99), None);
}

proptest! {
    #[test]
    fn what_is_exchanged_is_turned_round(
        blocks in proptest::collection::vec(
            [1_i64..1_000_000, 1..1_000_000, 1..1_000_000, 1..1_000_000],
            6..20,
        ),
    ) {
        let rounds: Vec<Round> =
            blocks.iter().map(|[a, b, c, d]| Round { off: [*a, *b], on: [*c, *d] }).collect();
        let exchanged: Vec<Round> =
            rounds.iter().map(|round| Round { off: round.on, on: round.off }).collect();
        let (one, other) = (
            Effect::from_rounds(&rounds, 0.05).unwrap(),
            Effect::from_rounds(&exchanged, 0.05).unwrap(),
        );
        let ((lower, upper), (from, to)) = (one.interval.unwrap(), other.interval.unwrap());
        prop_assert!((lower * to - 1.0).abs() < 1e-9 && (upper * from - 1.0).abs() < 1e-9);
        prop_assert!(lower <= one.ratio && one.ratio <= upper);
        let turned = match one.evidence() {
            Evidence::Helps => Evidence::Worse,
            Evidence::Worse => Evidence::Helps,
            Evidence::Neither => Evidence::Neither,
        };
        prop_assert_eq!(other.evidence(), turned);
    }
}
