// SPDX-License-Identifier: MIT OR Apache-2.0
//! The runs of a search: a generation after the other, of which only the worst recording is kept;
//! then the worst with one thing simpler each.

use super::{RunFlags, checked, lab_run};
use crate::commands::lab::show::Show;
use crate::exit::Failure;
use anyhow::{Context, anyhow};
use lab::{LabError, LabRun, Target};
use model::Recorded;
use plan::{Candidate, Nanos, Run, Search, SearchSpace, Simpler};
use recording::Recording;
use runner::Signals;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The recording with the largest latency.
pub const WORST: &str = "worst.teiji";

/// The part of the time for exploring; the rest is for the worst with one thing simpler each.
const EXPLORING: f64 = 0.75;

/// How long to search.
pub struct Limits {
    /// On the host's clock.
    pub time: Duration,
    /// Or so many runs.
    pub runs: Option<u32>,
}

/// A run that was tried.
pub struct Tried {
    /// What was run.
    pub flags: RunFlags,
    /// The same, checked.
    pub run: Run,
    /// Its largest latency, ns.
    pub largest_ns: Option<i64>,
    /// Why it came to nothing.
    pub failure: Option<String>,
}

/// What the worst is with one thing simpler.
pub struct Instead {
    /// Which thing.
    pub what: Simpler,
    /// Which run that was; none where the time was over.
    pub tried: Option<usize>,
}

/// What a search ends with.
pub struct Found {
    /// The recording with the largest latency.
    pub worst: Recorded,
    /// Which candidate that is.
    pub candidate: Candidate,
    /// Which of those tried, from 0.
    pub number: usize,
    /// All that were tried, in their order.
    pub tried: Vec<Tried>,
    /// How many of them were explored; the others are the worst of these with one thing simpler.
    pub explored: usize,
    /// Which was the worst of those explored.
    pub changed: usize,
    /// With one thing simpler each.
    pub instead: Vec<Instead>,
    /// The space that was searched.
    pub space: SearchSpace,
    /// How long it took.
    pub took: Duration,
}

/// The worst so far.
struct Worst {
    candidate: Candidate,
    number: usize,
    largest_ns: i64,
    path: PathBuf,
}

/// With what runs are made.
pub struct Means<'m> {
    /// Guests at once.
    pub jobs: usize,
    pub signals: &'m Signals,
    pub show: &'m mut Show,
}

/// A search under way.
pub struct Explorer<'s> {
    search: Search,
    measured: &'s RunFlags,
    target: &'s Target,
    output: &'s Path,
    limits: &'s Limits,
    began: Instant,
    tried: Vec<Tried>,
    explored: usize,
    changed: usize,
    worst: Option<Worst>,
    instead: Vec<Instead>,
}

impl<'s> Explorer<'s> {
    pub fn new(
        space: SearchSpace,
        seed: u64,
        measured: &'s RunFlags,
        target: &'s Target,
        output: &'s Path,
        limits: &'s Limits,
    ) -> Self {
        Explorer {
            search: Search::new(space, seed),
            measured,
            target,
            output,
            limits,
            began: Instant::now(),
            tried: Vec::new(),
            explored: 0,
            changed: 0,
            worst: None,
            instead: Vec::new(),
        }
    }

    /// Tries generation after generation until the time is over, or a signal comes.
    pub fn explore(&mut self, with: &mut Means<'_>) -> Result<(), Failure> {
        let mut generations = 0_u32;
        while with.signals.caught().is_none() && !self.is_over(generations) {
            let mut candidates = self.search.generation();
            if let Some(runs) = self.limits.runs {
                candidates.truncate(usize::try_from(runs).unwrap_or(usize::MAX) - self.tried.len());
            }
            if candidates.is_empty() {
                break;
            }
            let numbers = self.try_all(&candidates, with)?;
            for (candidate, number) in candidates.into_iter().zip(numbers) {
                if let Some(tried) = number.map(|number| &self.tried[number]) {
                    self.search.found(candidate, tried.largest_ns);
                }
            }
            generations += 1;
        }
        self.explored = self.tried.len();
        self.changed = self.worst.as_ref().map_or(0, |worst| worst.number);
        Ok(())
    }

    /// Whether another generation would take too long.
    fn is_over(&self, generations: u32) -> bool {
        if let Some(runs) = self.limits.runs {
            return self.tried.len() >= usize::try_from(runs).unwrap_or(usize::MAX);
        }
        let one = self.began.elapsed().checked_div(generations).unwrap_or_default();
        generations > 0 && self.began.elapsed() + one > self.limits.time.mul_f64(EXPLORING)
    }

    /// Tries the worst with one thing simpler each, until the time is over. What is worse still
    /// takes its place.
    pub fn make_simpler(&mut self, with: &mut Means<'_>) -> Result<(), Failure> {
        let Some(worst) = &self.worst else { return Ok(()) };
        let simpler = self.search.space().simpler(&worst.candidate);
        for at_once in simpler.chunks(with.jobs.max(1)) {
            let is_over = self.limits.runs.is_none() && self.began.elapsed() > self.limits.time;
            let candidates: Vec<Candidate> =
                at_once.iter().map(|(_, candidate)| candidate.clone()).collect();
            let is_tried = with.signals.caught().is_none() && !is_over;
            let numbers = if is_tried {
                self.try_all(&candidates, with)?
            } else {
                vec![None; candidates.len()]
            };
            self.instead.extend(
                at_once
                    .iter()
                    .zip(numbers)
                    .map(|((what, _), tried)| Instead { what: *what, tried }),
            );
        }
        Ok(())
    }

    /// Runs these, and keeps the recording of the worst of all alone. Returns which of those tried
    /// each is; none for those that were not.
    fn try_all(
        &mut self,
        candidates: &[Candidate],
        with: &mut Means<'_>,
    ) -> Result<Vec<Option<usize>>, Failure> {
        let runs: Vec<(RunFlags, Run)> =
            candidates.iter().map(|candidate| self.run_of(candidate)).collect::<Result<_, _>>()?;
        // The same run is the same latency.
        let known = |run: &Run| self.tried.iter().position(|tried| tried.run == *run);
        let mut numbers: Vec<Option<usize>> = runs.iter().map(|(_, run)| known(run)).collect();
        let new = numbers_of_new(&numbers, self.tried.len());
        let lab_runs: Vec<LabRun> =
            new.iter().map(|(place, number)| self.lab_run(&runs[*place], *number)).collect();
        with.show.heading = Some(self.heading());
        let results = lab::run_in_guests(&lab_runs, with.jobs, with.signals, with.show);
        for (((place, _), lab_run), result) in new.into_iter().zip(lab_runs).zip(results) {
            let (largest_ns, failure) = match result {
                Ok(recorded) => (recorded.largest_ns(), None),
                // It was not tried.
                Err(LabError::Interrupted(_)) => continue,
                Err(error) => (None, Some(error.to_string())),
            };
            let number = self.tried.len();
            numbers[place] = Some(number);
            let flags = runs[place].0.clone();
            self.tried.push(Tried { flags, run: lab_run.run, largest_ns, failure });
            self.keep_if_worst(&candidates[place], number, lab_run.directory, with.show)?;
        }
        if self.worst.is_none() && with.signals.caught().is_none() {
            let why = self.tried.iter().find_map(|tried| tried.failure.clone());
            let none = "none of them recorded a latency".to_owned();
            return Err(Failure::run_failed(anyhow!(
                "no run came to anything: {}",
                why.unwrap_or(none)
            )));
        }
        Ok(numbers)
    }

    fn keep_if_worst(
        &mut self,
        candidate: &Candidate,
        number: usize,
        path: PathBuf,
        show: &mut Show,
    ) -> Result<(), Failure> {
        let largest_ns = self.tried[number].largest_ns;
        let is_worst =
            |largest: i64| self.worst.as_ref().is_none_or(|worst| largest > worst.largest_ns);
        let worse = largest_ns.filter(|largest| is_worst(*largest));
        let gone = match worse {
            Some(largest_ns) => {
                show.say(&format!("{} µs: run {}", report::exact_micros(largest_ns), number + 1));
                let new = Worst { candidate: candidate.clone(), number, largest_ns, path };
                self.worst.replace(new).map(|before| before.path)
            }
            None => Some(path),
        };
        let remove =
            |path: &PathBuf| path.exists().then(|| std::fs::remove_dir_all(path)).transpose();
        let removed = gone.as_ref().map(remove).transpose();
        let removed =
            removed.with_context(|| format!("cannot remove the recording of run {}", number + 1));
        removed.map_err(Failure::run_failed)?;
        Ok(())
    }

    fn heading(&self) -> String {
        let worst = self.worst.as_ref().map_or_else(String::new, |worst| {
            format!(", the largest latency {} µs so far", report::exact_micros(worst.largest_ns))
        });
        let left = match self.limits.runs {
            Some(runs) => format!(" of {runs}"),
            None => format!(
                ", {} s left",
                self.limits.time.saturating_sub(self.began.elapsed()).as_secs()
            ),
        };
        format!(" {} runs{left}{worst}", self.tried.len())
    }

    fn run_of(&self, candidate: &Candidate) -> anyhow::Result<(RunFlags, Run)> {
        let guest = &self.target.guest;
        let with = |loads| self.measured.varied(loads, candidate.interval, candidate.prio);
        // How long it measures follows from interval and threads, not from loads.
        let length: Nanos = checked(&with(Vec::new()), candidate.phase, guest)?.measured_ns();
        let flags = with(self.search.space().loads_of(candidate, length));
        let run = checked(&flags, candidate.phase, guest)?;
        Ok((flags, run))
    }

    fn lab_run(&self, (flags, run): &(RunFlags, Run), number: usize) -> LabRun {
        let name = format!("run-{:04}", number + 1);
        let directory = self.output.join(format!("{name}.teiji"));
        lab_run(flags, run.clone(), self.target, directory, name)
    }

    /// What was found, its recording under its last name.
    pub fn end(self) -> Result<Found, Failure> {
        let Some(worst) = self.worst else {
            let _ = std::fs::remove_dir(self.output);
            return Err(Failure::run_failed(anyhow!("interrupted before anything was found")));
        };
        let path = self.output.join(WORST);
        std::fs::rename(&worst.path, &path)
            .with_context(|| format!("cannot rename {}", worst.path.display()))
            .map_err(Failure::run_failed)?;
        let recorded =
            Recording::open(&path).and_then(Recording::summarise).map_err(Failure::run_failed)?;
        Ok(Found {
            worst: recorded,
            candidate: worst.candidate,
            number: worst.number,
            tried: self.tried,
            explored: self.explored,
            changed: self.changed,
            instead: self.instead,
            space: self.search.space().clone(),
            took: self.began.elapsed(),
        })
    }
}

/// Where the runs stand that are not known yet, and the numbers of their folders, which no other
/// run has: the worst so far lies under its own.
fn numbers_of_new(known: &[Option<usize>], first: usize) -> Vec<(usize, usize)> {
    let new = known.iter().enumerate().filter(|(_, number)| number.is_none());
    new.map(|(place, _)| place).zip(first..).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_that_is_known_takes_no_number() {
        assert_eq!(numbers_of_new(&[Some(1), None, Some(0), None], 2), [(1, 2), (3, 3)]);
        // What is tried next begins behind them.
        assert_eq!(numbers_of_new(&[None], 4), [(0, 4)]);
    }
}
