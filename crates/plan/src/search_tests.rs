// SPDX-License-Identifier: MIT OR Apache-2.0

use super::*;
use proptest::prelude::*;

fn space(loads: &[&str]) -> SearchSpace {
    let load = |text: &&str| {
        let spec: LoadSpec = text.parse().unwrap();
        SearchLoad { varies_level: spec.name() != "hackbench" && spec.level().is_none(), spec }
    };
    SearchSpace {
        loads: loads.iter().map(load).collect(),
        varies_times: true,
        intervals: None,
        prios: None,
    }
}

fn wide() -> SearchSpace {
    SearchSpace {
        intervals: Some((Nanos::from_micros(200), Nanos::from_millis(5))),
        prios: Some((50, 52)),
        ..space(&["hackbench", "mem-alloc", "cpu@50%,start=3ms"])
    }
}

/// What the search cannot know: several things have to come together.
fn latency(candidate: &Candidate) -> i64 {
    let near = |value: Option<u8>, best: i64| {
        value.map_or(0, |value| 100 - (i64::from(value) - best).abs())
    };
    let of = |load: usize| candidate.loads.get(load).copied().flatten().unwrap_or_default();
    let alone = if candidate.loads[2].is_none() { 100 } else { 0 };
    near(of(0).start, 70)
        + near(of(0).stop, 90)
        + near(of(1).level, 30)
        + near(of(1).start, 40)
        + alone
}

#[test]
fn everything_as_given_comes_first() {
    let mut search = Search::new(wide(), 1);
    let first = search.generation();
    assert_eq!(first.len(), GENERATION);
    assert_eq!(first[0], search.space().as_given("1".parse().unwrap()));
    assert_eq!(first[1], search.space().as_given("2".parse().unwrap()));
    let texts = |candidate: &Candidate| {
        let loads = search.space().loads_of(candidate, Nanos::from_secs(1));
        loads.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(texts(&first[0]), ["hackbench", "mem-alloc", "cpu@50%,start=3ms"]);
}

#[test]
fn the_same_seed_and_latencies_give_the_same_candidates() {
    let run = |seed| {
        let mut search = Search::new(wide(), seed);
        let mut all = Vec::new();
        for _ in 0..6 {
            for candidate in search.generation() {
                search.found(candidate.clone(), Some(latency(&candidate)));
                all.push(candidate);
            }
        }
        all
    };
    assert_eq!(run(7), run(7));
    assert_ne!(run(7), run(8));
}

/// Where it goes on from the worst, it finds more than where candidates are drawn without looking.
#[test]
fn looking_finds_more_than_drawing() {
    let worst_of = |looks: bool| {
        (1..=20).map(move |seed| {
            let mut search = Search::new(space(&["hackbench", "mem-alloc", "fork"]), seed);
            let mut worst = 0;
            for _ in 0..8 {
                for candidate in search.generation() {
                    worst = worst.max(latency(&candidate));
                    search.found(candidate.clone(), looks.then(|| latency(&candidate)));
                }
            }
            worst
        })
    };
    let (looking, drawing): (i64, i64) = (worst_of(true).sum(), worst_of(false).sum());
    assert!(looking > drawing, "{looking} and {drawing}");
}

#[test]
fn what_failed_is_not_gone_on_from() {
    let mut search = Search::new(space(&["hackbench", "mem-alloc"]), 3);
    let first = search.generation();
    first.iter().for_each(|candidate| search.found(candidate.clone(), None));
    assert_eq!(search.worst_first(), Vec::<&Candidate>::new());
    assert_eq!(search.generation().len(), GENERATION);
}

#[test]
fn phases_alone_may_be_searched() {
    let mut search = Search::new(space(&[]), 3);
    let all: Vec<Candidate> = search.generation();
    assert_eq!(all.len(), GENERATION);
    assert!(all.iter().all(|candidate| candidate.loads.is_empty() && !candidate.phase.is_none()));
}

#[test]
fn one_thing_is_made_simpler_at_a_time() {
    let space = wide();
    let candidate = Candidate {
        phase: "3".parse().unwrap(),
        loads: vec![
            Some(LoadChoice { level: None, start: Some(20), stop: Some(40) }),
            None,
            Some(LoadChoice::default()),
        ],
        interval: Some(Nanos::from_micros(500)),
        prio: None,
    };
    let simpler: Vec<Simpler> =
        space.simpler(&candidate).into_iter().map(|(what, _)| what).collect();
    let phase = |number: &str| Simpler::OtherPhase(number.parse().unwrap());
    let expected = [
        phase("1"),
        phase("2"),
        phase("4"),
        phase("5"),
        Simpler::Without(0),
        Simpler::Without(2),
        Simpler::FromBefore(0),
        Simpler::UntilAfter(0),
        Simpler::Interval,
    ];
    assert_eq!(simpler, expected);
    let texts: Vec<String> =
        space.loads_of(&candidate, Nanos::from_secs(2)).iter().map(ToString::to_string).collect();
    assert_eq!(texts, ["hackbench,start=396ms,stop=792ms", "cpu@50%,start=3ms"]);
    assert!(
        SearchSpace::has_times(Nanos::from_millis(41))
            && !SearchSpace::has_times(Nanos::from_millis(40))
    );
}

proptest! {
    /// Times are in order, levels and the rest within what is told, nothing comes twice, and what
    /// is given stays.
    #[test]
    fn candidates_are_of_the_space(
        seed in any::<u64>(),
        latencies in proptest::collection::vec(0..1_000_i64, 40),
    ) {
        let mut search = Search::new(wide(), seed);
        let mut known = std::collections::HashSet::new();
        let mut latencies = latencies.into_iter();
        for _ in 0..5 {
            for candidate in search.generation() {
                prop_assert!(candidate.loads.iter().any(Option::is_some));
                for choice in candidate.loads.iter().flatten() {
                    prop_assert!(
                        choice.start.zip(choice.stop).is_none_or(|(start, stop)| start < stop),
                        "{choice:?}"
                    );
                    prop_assert!(
                        choice.level.is_none_or(|level| (1..100).contains(&level)),
                        "{choice:?}"
                    );
                }
                prop_assert!(candidate.loads[0].is_none_or(|choice| choice.level.is_none()));
                prop_assert!(
                    candidate.loads[2].is_none_or(|choice| choice == LoadChoice::default())
                );
                if let Some(interval) = candidate.interval {
                    prop_assert!(
                        (Nanos::from_micros(200)..=Nanos::from_millis(5)).contains(&interval)
                    );
                }
                prop_assert!(candidate.prio.is_none_or(|prio| (50..=52).contains(&prio)));
                prop_assert!(known.insert(candidate.clone()));
                search.found(candidate, latencies.next());
            }
        }
    }
}
