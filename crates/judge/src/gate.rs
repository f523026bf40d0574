// SPDX-License-Identifier: MIT OR Apache-2.0
//! All limits, held against all recordings.

use crate::limits::{nothing_recorded, without_limit};
use crate::{Judged, PhaseMaxima, Verdict, judge};
use model::Examined;
use plan::Limit;
use std::path::{Path, PathBuf};

/// What became of limits.
#[derive(Clone, Debug, Default)]
pub struct Gate {
    /// In the order of the recordings, and within each of the limits.
    pub judged: Vec<Judged>,
    /// Of phases that were judged together, the maxima.
    pub pools: Vec<JudgedPool>,
    /// Where the limits come from, if that was to be said.
    pub sources: LimitSources,
    /// Runs of plans that have no recording: what is not recorded cannot pass.
    pub missing: usize,
}

/// Phases that were judged together.
#[derive(Clone, Debug)]
pub struct JudgedPool {
    /// What they are called together.
    pub path: PathBuf,
    pub maxima: PhaseMaxima,
    /// Their recordings, by the places of the maxima.
    pub recordings: Vec<PathBuf>,
}

/// The limits of all that is judged, as they were written.
#[derive(Clone, Debug, Default)]
pub struct LimitSources {
    /// Those of plans, each with the plan's file in the folder of its recordings. Plans without
    /// limits are left out.
    pub plans: Vec<(PathBuf, Vec<Limit>)>,
    /// Those of the command line, which take the place of all others; empty where it names none.
    pub named: Vec<Limit>,
}

impl JudgedPool {
    /// None of a recording that was judged by itself.
    fn from_examined(examined: &Examined) -> Option<JudgedPool> {
        examined.pool.as_ref()?;
        let recordings = examined.recordings().map(|recorded| recorded.path.clone()).collect();
        let maxima = PhaseMaxima::new(examined.recordings());
        Some(JudgedPool { path: examined.path(), maxima, recordings })
    }
}

impl Gate {
    /// Holds every limit against every recording.
    pub fn judge(limits: &[Limit], recordings: &[Examined]) -> Gate {
        let judge = |examined| limits.iter().map(move |limit| judge(limit, examined));
        Gate {
            judged: recordings.iter().flat_map(judge).collect(),
            pools: recordings.iter().filter_map(JudgedPool::from_examined).collect(),
            ..Gate::default()
        }
    }

    /// The same of a recording among others that have limits: without any, it cannot pass.
    pub fn judge_among(limits: &[Limit], examined: &Examined, others_have_limits: bool) -> Gate {
        let mut gate = Gate::judge(limits, std::slice::from_ref(examined));
        gate.judged
            .extend((limits.is_empty() && others_have_limits).then(|| without_limit(examined)));
        gate
    }

    /// Says where the limits come from. Those of a plan of which nothing is recorded, where plans
    /// have the word, are not known to hold. Whether anything is, `is_recorded` says of a plan's
    /// folder: one folder has many names.
    pub fn with_sources(&mut self, sources: LimitSources, is_recorded: impl Fn(&Path) -> bool) {
        for (plan, limits) in sources.plans.iter().filter(|_| sources.named.is_empty()) {
            let folder = plan.parent().unwrap_or(plan);
            if !is_recorded(folder) {
                self.judged.extend(nothing_recorded(folder, limits));
            }
        }
        self.sources = sources;
    }

    /// Adds what became of limits in other recordings.
    pub fn merge(&mut self, other: Gate) {
        self.judged.extend(other.judged);
        self.pools.extend(other.pools);
    }

    /// The worst of all: a limit that fails, otherwise an inconclusive one.
    pub fn verdict(&self) -> Verdict {
        let worst =
            self.judged.iter().map(|judged| judged.verdict).max().unwrap_or(Verdict::NotEnough);
        if self.missing > 0 { worst.max(Verdict::NotEnough) } else { worst }
    }

    /// How many limits have this verdict, each counted in each recording.
    pub fn count(&self, verdict: Verdict) -> u64 {
        self.judged.iter().filter(|judged| judged.verdict == verdict).count() as u64
    }
}
