// SPDX-License-Identifier: MIT OR Apache-2.0
//! What became of limits, for people and for programs; what is judged, and how, is in the crate
//! `judge`.

mod formats;
#[cfg(test)]
mod gate_tests;
mod sources;
mod words;

use crate::compare::incomparable;
use crate::format::counted;
use crate::language::{InEach, Language, in_language, texts, tr};
use crate::overview::Overview;
use crate::sections::cautions;
use judge::{
    Examined, Judged, PhaseMaxima, Verdict, judge, judge_against, nothing_recorded, without_limit,
};
use plan::{Figure, Limit, Subject};
use serde::Serialize;
pub use sources::LimitSources;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
pub(crate) use words::{change, criterion, judged_in_words, lacking};

/// All limits, held against all recordings.
#[derive(Clone, Debug, Default)]
pub struct Gate {
    /// In the order of the recordings, and within each of the limits.
    pub judged: Vec<Judged>,
    /// What to know before the figures of a recording, by its path.
    caveats: InEach<Vec<(String, String)>>,
    /// Of phases that were judged together, the maxima.
    pools: Vec<JudgedPool>,
    /// Where the limits come from, if that was to be said.
    sources: LimitSources,
    /// Runs of plans that have no recording, and so keep it from passing.
    missing: usize,
}

/// Phases that were judged together.
#[derive(Clone, Debug)]
struct JudgedPool {
    /// What they are called together.
    path: PathBuf,
    maxima: PhaseMaxima,
    /// Their recordings, by the places of the maxima.
    recordings: Vec<PathBuf>,
}

impl JudgedPool {
    /// None of a recording that was judged by itself.
    fn from_examined(examined: &Examined) -> Option<JudgedPool> {
        examined.pool.as_ref()?;
        let recordings = examined.recordings().map(|recorded| recorded.path.clone()).collect();
        Some(JudgedPool {
            path: examined.path(),
            maxima: PhaseMaxima::new(examined.recordings()),
            recordings,
        })
    }
}

impl Gate {
    /// Holds every limit against every recording.
    #[must_use]
    pub fn judge(limits: &[Limit], recordings: &[Examined]) -> Gate {
        let judge = |examined| limits.iter().map(move |limit| judge(limit, examined));
        // Of phases that are judged together each may have its own, and most have the same.
        let of = |examined: &Examined| {
            let path = examined.path().display().to_string();
            let mut caveats: Vec<String> = Vec::new();
            for caveat in examined
                .recordings()
                .flat_map(|recorded| cautions::collect(&Overview::new(recorded)))
            {
                if !caveats.contains(&caveat) {
                    caveats.push(caveat);
                }
            }
            caveats.into_iter().map(move |caveat| (path.clone(), caveat))
        };
        Gate {
            judged: recordings.iter().flat_map(judge).collect(),
            caveats: InEach::new(|| recordings.iter().flat_map(of).collect()),
            pools: recordings.iter().filter_map(JudgedPool::from_examined).collect(),
            sources: LimitSources::default(),
            missing: 0,
        }
    }

    /// The same of a recording among others that have limits: without any, it cannot pass.
    #[must_use]
    pub fn judge_among(limits: &[Limit], examined: &Examined, others_have_limits: bool) -> Gate {
        let mut gate = Gate::judge(limits, std::slice::from_ref(examined));
        gate.judged
            .extend((limits.is_empty() && others_have_limits).then(|| without_limit(examined)));
        gate
    }

    /// Says where the limits come from. Those of a plan of which nothing is recorded, where plans
    /// have the word, are not known to hold.
    pub fn with_sources(&mut self, sources: LimitSources) {
        for (plan, limits) in sources.plans.iter().filter(|_| sources.named.is_empty()) {
            let folder = plan.parent().unwrap_or(plan);
            if !self.judged.iter().any(|judged| judged.recording.starts_with(folder)) {
                self.judged.extend(nothing_recorded(folder, limits));
            }
        }
        self.sources = sources;
    }

    /// So many runs of plans have no recording: what is not recorded cannot pass.
    pub fn with_missing(&mut self, runs: usize) {
        self.missing = runs;
    }

    /// Adds whether each recording is worse than `baseline` by more than `worse_than`, a share, in
    /// any quantile that both have latencies enough for; at 95 % confidence for all of them
    /// together.
    ///
    /// # Errors
    /// Why one of them cannot be compared with it at all, in this language.
    pub fn against(
        &mut self,
        baseline: &Examined,
        worse_than: f64,
        recordings: &[Examined],
        language: Language,
    ) -> Result<(), String> {
        for examined in recordings {
            let why = || {
                incomparable(&[&examined.recorded.document, &baseline.recorded.document])
                    .into_iter()
                    .next()
            };
            let sentence = |why| {
                tr!(
                    "{second} cannot be compared with {first}: {why}",
                    second = examined.path().display(),
                    first = baseline.path().display(),
                    why
                )
            };
            if let Some(sentence) = in_language(language, || why().map(sentence)) {
                return Err(sentence);
            }
            let path = examined.path().display().to_string();
            let both: Vec<Overview<'_>> =
                baseline.recordings().chain(examined.recordings()).map(Overview::new).collect();
            let first = baseline.recordings().count();
            self.caveats.each(|caveats| {
                let mut apart = cautions::between(&both, first);
                apart.extend(cautions::gravity_apart(&both[..first], &both[first..]));
                let against = apart
                    .iter()
                    .map(|one| format!("{} ({})", one.in_words(), baseline.path().display()));
                caveats.extend(against.map(|caveat| (path.clone(), caveat)));
            });
            self.judged.extend(judge_against(baseline, worse_than, examined));
        }
        Ok(())
    }

    /// Adds what became of limits in other recordings.
    pub fn merge(&mut self, other: Gate) {
        self.judged.extend(other.judged);
        self.pools.extend(other.pools);
        self.caveats.each(|caveats| caveats.extend(other.caveats.get().iter().cloned()));
    }

    /// The worst of all: a limit that fails, otherwise an inconclusive one.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        let worst =
            self.judged.iter().map(|judged| judged.verdict).max().unwrap_or(Verdict::NotEnough);
        if self.missing > 0 { worst.max(Verdict::NotEnough) } else { worst }
    }

    /// How many limits have this verdict, each counted in each recording.
    fn count(&self, verdict: Verdict) -> u64 {
        self.judged.iter().filter(|judged| judged.verdict == verdict).count() as u64
    }

    /// What has verdicts, and how many of it fail and lack evidence: the limits of one recording;
    /// of several, the recordings.
    pub(crate) fn tally(&self) -> Tally {
        let mut recordings: BTreeMap<&Path, Verdict> = BTreeMap::new();
        for judged in &self.judged {
            let worst = recordings.entry(&judged.recording).or_insert(judged.verdict);
            *worst = judged.verdict.max(*worst);
        }
        if recordings.len() <= 1 {
            let all = counted(self.judged.len() as u64, texts::n_limits);
            return Tally {
                all,
                fail: self.count(Verdict::Fail),
                lack: self.count(Verdict::NotEnough),
            };
        }
        let limits: BTreeSet<String> = self.judged.iter().map(criterion).collect();
        let have_all = limits.len() * recordings.len() == self.judged.len();
        let with = |verdict: Verdict| {
            recordings.values().filter(|worst| **worst == verdict).count() as u64
        };
        let n = counted(recordings.len() as u64, texts::n_recordings);
        let all = if have_all {
            tr!(
                "{recordings}, checked against {limits}",
                recordings = n,
                limits = counted(limits.len() as u64, texts::n_limits)
            )
        } else {
            tr!("{recordings}, each checked against the limits of its plan", recordings = n)
        };
        Tally { all, fail: with(Verdict::Fail), lack: with(Verdict::NotEnough) }
    }

    /// The caveats of one recording.
    fn caveats_of<'a>(&'a self, recording: &'a Path) -> impl Iterator<Item = &'a str> {
        self.caveats
            .get()
            .iter()
            .filter(move |(of, _)| Path::new(of) == recording)
            .map(|(_, caveat)| caveat.as_str())
    }
}

/// How many of what was judged have which verdict.
pub(crate) struct Tally {
    /// `3 limits`, or `4 recordings, checked against 1 limit`.
    pub(crate) all: String,
    pub(crate) fail: u64,
    pub(crate) lack: u64,
}

/// A verdict as a sign, for those who see no colours.
pub(crate) const fn sign(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Pass => "✓",
        Verdict::NotEnough => "?",
        Verdict::Fail => "✗",
    }
}

/// Where a limit lies in charts of latencies.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct LimitLine {
    /// Beside its line: as it was written, behind the sign of what became of it, which no colour
    /// has to be known for.
    pub(crate) name: String,
    pub(crate) latency_ns: i64,
    /// No larger share of activations may be beyond it; none where that is no share, as of a mean.
    pub(crate) share: Option<f64>,
    /// Whether it is the lower of two, below which nothing may be.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) is_lower: bool,
    /// What became of it, if anyone asked.
    pub(crate) verdict: Option<Verdict>,
}

impl LimitLine {
    /// None for what is no latency.
    pub(crate) fn from_limit(limit: &Limit) -> Option<LimitLine> {
        let (latency, share) = match limit.subject {
            Subject::Latency { of: Figure::Max, limit, .. } => (limit, Some(0.0)),
            Subject::Latency { of: Figure::Mean, limit, .. } => (limit, None),
            Subject::Latency { of: Figure::Quantile(level), limit, .. } => {
                (limit, Some(1.0 - level.share()))
            }
            Subject::Rate { beyond, limit, .. } => (beyond, Some(limit)),
            Subject::Latency { of: Figure::Sd | Figure::PeakToPeak, .. }
            | Subject::Count { .. } => return None,
        };
        Some(LimitLine {
            name: limit.to_string(),
            latency_ns: latency.0,
            share,
            is_lower: false,
            verdict: None,
        })
    }

    /// Of jitter, the same line on both sides of the period.
    pub(crate) fn either_side(self) -> [LimitLine; 2] {
        let lower = LimitLine { latency_ns: -self.latency_ns, is_lower: true, ..self.clone() };
        [self, lower]
    }

    /// The same with what became of it.
    pub(crate) fn judged(self, verdict: Verdict) -> LimitLine {
        LimitLine {
            name: format!("{} {}", sign(verdict), self.name),
            verdict: Some(verdict),
            ..self
        }
    }
}
