// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which runs to try next, of those that a search may make, so that the largest latency grows.
//!
//! In virtual time a run is a computation: the same candidate has the same largest latency, and
//! another one may have any. So nothing is gained by repeating, and what is near a good candidate
//! is only likelier to be good. The search therefore keeps the worst it has seen, changes one or
//! two things of it, and now and then tries something new. Which candidates come follows from a
//! seed and from the latencies that were found, and not from how fast a machine is.

use crate::chance::Chance;
use crate::phase::SPAN;
use crate::{LoadSpec, Nanos, Phase};

/// What a search may vary. What is written in a load, its level or its times, stays.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchSpace {
    pub loads: Vec<SearchLoad>,
    /// Whether loads may start and stop while measuring.
    pub varies_times: bool,
    /// Intervals that may be measured at, both ends included; none for the one given.
    pub intervals: Option<(Nanos, Nanos)>,
    /// Priorities of the measuring threads, likewise.
    pub prios: Option<(u8, u8)>,
}

/// A load that a search may start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchLoad {
    pub spec: LoadSpec,
    /// Whether it has a level and none is given.
    pub varies_level: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Candidate {
    pub phase: Phase,
    /// What each load of the space does; none where it is left out.
    pub loads: Vec<Option<LoadChoice>>,
    /// The interval; none for the one given.
    pub interval: Option<Nanos>,
    /// The priority; none for the one given.
    pub prio: Option<u8>,
}

/// What a load does in a candidate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct LoadChoice {
    /// Its level, percent; none for as much as it gets, or as given.
    pub level: Option<u8>,
    /// When it begins to work, in percent of the run; none for before it, or as given.
    pub start: Option<u8>,
    /// When it is stopped, in percent of the run; none for after it, or as given.
    pub stop: Option<u8>,
}

/// One thing of a candidate that is made as if the search did not vary it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Simpler {
    Without(usize),
    /// This load at no level.
    Unlimited(usize),
    /// This load from before the measuring on.
    FromBefore(usize),
    /// This load until after the measuring.
    UntilAfter(usize),
    Interval,
    Prio,
    OtherPhase(Phase),
}

/// Candidates that are tried before the next follow from what they gave.
pub(crate) const GENERATION: usize = 8;
/// Of these, those that are changed from the worst so far; the others are new.
const CHANGED: usize = 6;
/// How many of the worst are changed.
const KEPT: usize = 4;
/// Phases are drawn from 1 to this.
const PHASES: usize = 100_000;
/// Steps of levels and times, percent.
const LEVEL_STEP: u8 = 10;
const TIME_STEP: u8 = 5;
/// Steps of intervals between their ends, by ratio.
const INTERVAL_STEPS: usize = 12;
/// Other phases that are tried of the worst.
const OTHER_PHASES: usize = 4;
/// How often another candidate is drawn instead of one that was tried.
const ATTEMPTS: usize = 50;

impl SearchSpace {
    /// Whether a run that measures for so long leaves room for times.
    pub const fn has_times(length: Nanos) -> bool {
        length.0 > 2 * SPAN.0
    }

    /// Everything as given, in this phase.
    fn as_given(&self, phase: Phase) -> Candidate {
        Candidate {
            phase,
            loads: vec![Some(LoadChoice::default()); self.loads.len()],
            interval: None,
            prio: None,
        }
    }

    /// The loads of a candidate, whose run measures for `length`.
    pub fn loads_of(&self, candidate: &Candidate, length: Nanos) -> Vec<LoadSpec> {
        // A phase adds some, and even the last is to begin within the run.
        let length = length.0.saturating_sub(SPAN.0).max(0);
        let at = |percent: u8| {
            Nanos((i128::from(length) * i128::from(percent) / 100).try_into().unwrap_or(0))
        };
        let one = |(load, choice): (&SearchLoad, &Option<LoadChoice>)| {
            let choice = (*choice)?;
            let level = choice.level.map(|percent| format!("{percent}%"));
            let times = [("start", choice.start), ("stop", choice.stop)];
            let times: Vec<_> = times
                .iter()
                .filter_map(|(key, percent)| Some((*key, at((*percent)?).to_string())))
                .collect();
            Some(load.spec.with(level, &times))
        };
        self.loads.iter().zip(&candidate.loads).filter_map(one).collect()
    }

    /// The candidate in other phases, then made simpler in one thing each: what it has that the
    /// search chose.
    pub fn simpler(&self, candidate: &Candidate) -> Vec<(Simpler, Candidate)> {
        let mut all = Vec::new();
        let running: Vec<usize> =
            (0..candidate.loads.len()).filter(|load| candidate.loads[*load].is_some()).collect();
        let mut add = |what, change: &dyn Fn(&mut Candidate)| {
            let mut simpler = candidate.clone();
            change(&mut simpler);
            if simpler != *candidate {
                all.push((what, simpler));
            }
        };
        // First, since they show what is chance.
        for phase in
            Phase::first(u32::MAX).filter(|phase| *phase != candidate.phase).take(OTHER_PHASES)
        {
            add(Simpler::OtherPhase(phase), &|simpler| simpler.phase = phase);
        }
        for load in running.iter().copied() {
            add(Simpler::Without(load), &|simpler| simpler.loads[load] = None);
        }
        for load in running {
            let change = |simpler: &mut Candidate, change: fn(&mut LoadChoice)| {
                simpler.loads[load].iter_mut().for_each(change)
            };
            add(Simpler::Unlimited(load), &|simpler| change(simpler, |choice| choice.level = None));
            add(Simpler::FromBefore(load), &|simpler| {
                change(simpler, |choice| choice.start = None)
            });
            add(Simpler::UntilAfter(load), &|simpler| change(simpler, |choice| choice.stop = None));
        }
        add(Simpler::Interval, &|simpler| simpler.interval = None);
        add(Simpler::Prio, &|simpler| simpler.prio = None);
        all
    }
}

/// A search: what was tried, and what comes next.
#[derive(Debug)]
pub struct Search {
    space: SearchSpace,
    chance: Chance,
    tried: Vec<(Candidate, Option<i64>)>,
}

impl Search {
    /// A search whose candidates follow from this seed.
    pub fn new(space: SearchSpace, seed: u64) -> Self {
        Search { space, chance: Chance::new(seed), tried: Vec::new() }
    }

    pub const fn space(&self) -> &SearchSpace {
        &self.space
    }

    /// The next candidates, none of which was tried; fewer than [`GENERATION`] where there are no
    /// more.
    pub fn generation(&mut self) -> Vec<Candidate> {
        let mut next: Vec<Candidate> = Vec::new();
        if self.tried.is_empty() {
            next.extend(Phase::first(2).map(|phase| self.space.as_given(phase)));
        }
        let worst: Vec<Candidate> = self.worst_first().into_iter().take(KEPT).cloned().collect();
        for place in next.len()..GENERATION {
            for _ in 0..ATTEMPTS {
                let drawn = if place < CHANGED && !worst.is_empty() {
                    self.changed_from(&worst)
                } else {
                    self.new_one()
                };
                if !next.contains(&drawn) && !self.was_tried(&drawn) {
                    next.push(drawn);
                    break;
                }
            }
        }
        next
    }

    /// Takes in the largest latency of a candidate, ns; none if its run came to nothing.
    pub fn found(&mut self, candidate: Candidate, latency_ns: Option<i64>) {
        self.tried.push((candidate, latency_ns));
    }

    fn was_tried(&self, candidate: &Candidate) -> bool {
        self.tried.iter().any(|(tried, _)| tried == candidate)
    }

    /// By their largest latencies; of equal ones the earlier first.
    fn worst_first(&self) -> Vec<&Candidate> {
        let mut found: Vec<(i64, &Candidate)> = self
            .tried
            .iter()
            .filter_map(|(candidate, latency)| Some(((*latency)?, candidate)))
            .collect();
        found.sort_by_key(|(latency, _)| std::cmp::Reverse(*latency));
        found.into_iter().map(|(_, candidate)| candidate).collect()
    }

    /// Anything that the space allows.
    fn new_one(&mut self) -> Candidate {
        let phase = self.phase();
        let mut candidate = self.space.as_given(phase);
        for load in 0..self.space.loads.len() {
            let choice = self.choice(load);
            candidate.loads[load] = choice.filter(|_| self.one_in(2) || self.one_in(3));
        }
        self.keep_one_load(&mut candidate);
        candidate.interval = self.interval();
        candidate.prio = self.prio();
        candidate
    }

    /// One of these with something changed: the first as often as the others together, and so on.
    fn changed_from(&mut self, worst: &[Candidate]) -> Candidate {
        let halvings = self.chance.below(1 << worst.len()).trailing_zeros();
        let which = usize::try_from(halvings).unwrap_or(0).min(worst.len() - 1);
        self.changed(&worst[which])
    }

    /// The same with one or two things changed.
    fn changed(&mut self, candidate: &Candidate) -> Candidate {
        let mut changed = candidate.clone();
        for _ in 0..=self.chance.below(2) {
            let loads = self.space.loads.len();
            // As likely each load as the phase twice, interval or priority.
            match self.chance.below(loads + 4) {
                0 | 1 => changed.phase = self.phase(),
                2 => changed.interval = self.interval(),
                3 => changed.prio = self.prio(),
                load => self.change_load(&mut changed, load - 4),
            }
        }
        self.keep_one_load(&mut changed);
        changed
    }

    fn change_load(&mut self, candidate: &mut Candidate, load: usize) {
        let new = self.choice(load);
        match (&mut candidate.loads[load], new) {
            (Some(choice), Some(new)) => match self.chance.below(4) {
                0 => candidate.loads[load] = None,
                1 => choice.level = new.level,
                2 => {
                    choice.start =
                        new.start.filter(|start| choice.stop.is_none_or(|stop| *start < stop))
                }
                _ => {
                    choice.stop =
                        new.stop.filter(|stop| choice.start.is_none_or(|start| start < *stop))
                }
            },
            (place, new) => *place = new,
        }
    }

    /// A search without any load would be another one.
    fn keep_one_load(&mut self, candidate: &mut Candidate) {
        if !candidate.loads.is_empty() && candidate.loads.iter().all(Option::is_none) {
            let load = self.chance.below(candidate.loads.len());
            candidate.loads[load] = self.choice(load);
        }
    }

    fn choice(&mut self, load: usize) -> Option<LoadChoice> {
        let known = self.space.loads.get(load)?;
        let is_given = |key: &str| known.spec.options().any(|(known, _)| known == key);
        let varies_times = self.space.varies_times && !is_given("start") && !is_given("stop");
        let varies_level = known.varies_level;
        let level =
            self.percent(LEVEL_STEP, LEVEL_STEP, 100).filter(|_| varies_level && self.one_in(2));
        let start =
            self.percent(0, TIME_STEP, 100 - TIME_STEP).filter(|_| varies_times && self.one_in(2));
        let first = start.map_or(TIME_STEP, |start| start + TIME_STEP);
        let stop = self.percent(first, TIME_STEP, 100).filter(|_| varies_times && self.one_in(3));
        Some(LoadChoice { level, start, stop })
    }

    /// One of the steps from `first` to below `end`; none if there is none.
    fn percent(&mut self, first: u8, step: u8, end: u8) -> Option<u8> {
        let steps: Vec<u8> = (first..end).step_by(step.into()).collect();
        if steps.is_empty() { None } else { Some(steps[self.chance.below(steps.len())]) }
    }

    fn interval(&mut self) -> Option<Nanos> {
        let (least, most) = self.space.intervals?;
        let part = self.chance.below(INTERVAL_STEPS + 1) as f64 / INTERVAL_STEPS as f64;
        let nanos = least.0 as f64 * (most.0 as f64 / least.0.max(1) as f64).powf(part);
        #[expect(clippy::cast_possible_truncation, reason = "between two of them")]
        let micros = (nanos / 1_000.0).round() as i64;
        Some(Nanos(micros.saturating_mul(1_000)).clamp(least, most))
    }

    fn prio(&mut self) -> Option<u8> {
        let (least, most) = self.space.prios?;
        let above = self.chance.below(usize::from(most.saturating_sub(least)) + 1);
        Some(least + u8::try_from(above).unwrap_or(0))
    }

    fn phase(&mut self) -> Phase {
        Phase::new(u32::try_from(self.chance.below(PHASES)).unwrap_or(0) + 1)
    }

    fn one_in(&mut self, count: usize) -> bool {
        self.chance.below(count) == 0
    }
}

#[cfg(test)]
#[path = "search_tests.rs"]
mod tests;
