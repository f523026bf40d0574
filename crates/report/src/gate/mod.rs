// SPDX-License-Identifier: MIT OR Apache-2.0
//! What became of limits, for people and for programs; what is judged, and how, is in the crate
//! `judge`.

pub(crate) mod formats;
#[cfg(test)]
mod gate_tests;
mod sources;
mod words;

use crate::compare::incomparable;
use crate::format::counted;
use crate::language::{InEach, Language, in_language, texts, tr};
use crate::overview::Overview;
use crate::sections::cautions;
use judge::{Gate, Verdict, judge_against};
use model::Examined;
use plan::{Figure, Limit, Subject};
use serde::Serialize;
pub(crate) use sources::in_words as sources_in_words;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
pub(crate) use words::{change, criterion, judged_in_words, lacking};

/// What a gate judged, with what to know before the figures.
#[derive(Clone, Debug, Default)]
pub struct GateReport {
    pub gate: Gate,
    /// The caveats of each recording, by its path.
    caveats: InEach<Vec<(String, String)>>,
}

impl GateReport {
    /// Holds every limit against every recording.
    pub fn judge(limits: &[Limit], recordings: &[Examined]) -> GateReport {
        let mut report = GateReport::default();
        for examined in recordings {
            report.add(Gate::judge(limits, std::slice::from_ref(examined)), examined);
        }
        report
    }

    /// Adds what became of limits in one more recording.
    pub fn add(&mut self, gate: Gate, examined: &Examined) {
        self.gate.merge(gate);
        let path = examined.path().display().to_string();
        self.caveats.each(|known| {
            // Of phases that are judged together each may have its own, and most have the same.
            let first = known.len();
            for caveat in examined
                .recordings()
                .flat_map(|recorded| cautions::collect(&Overview::new(recorded)))
            {
                if known[first..].iter().all(|(_, known)| *known != caveat) {
                    known.push((path.clone(), caveat));
                }
            }
        });
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
                    second_cannot_be_compared,
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
            self.gate.judged.extend(judge_against(baseline, worse_than, examined));
        }
        Ok(())
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

/// What has verdicts, and how many of it fail and lack evidence: the limits of one recording;
/// of several, the recordings.
pub(crate) fn tally(gate: &Gate) -> Tally {
    let mut recordings: BTreeMap<&Path, Verdict> = BTreeMap::new();
    for judged in &gate.judged {
        let worst = recordings.entry(&judged.recording).or_insert(judged.verdict);
        *worst = judged.verdict.max(*worst);
    }
    if recordings.len() <= 1 {
        let all = counted(gate.judged.len() as u64, texts::n_limits);
        return Tally {
            all,
            fail: gate.count(Verdict::Fail),
            lack: gate.count(Verdict::NotEnough),
        };
    }
    let limits: BTreeSet<String> = gate.judged.iter().map(criterion).collect();
    let have_all = limits.len() * recordings.len() == gate.judged.len();
    let with =
        |verdict: Verdict| recordings.values().filter(|worst| **worst == verdict).count() as u64;
    let n = counted(recordings.len() as u64, texts::n_recordings);
    let all = if have_all {
        tr!(
            recordings_checked_against_limits,
            recordings = n,
            limits = counted(limits.len() as u64, texts::n_limits)
        )
    } else {
        tr!(recordings_each_checked_against, recordings = n)
    };
    Tally { all, fail: with(Verdict::Fail), lack: with(Verdict::NotEnough) }
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
            | Subject::Count { .. }
            | Subject::Column { .. } => return None,
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
