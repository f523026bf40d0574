// SPDX-License-Identifier: MIT OR Apache-2.0
//! One combination of a plan's factors, with all that was recorded of it: repeats as if they had been one run.
//!
//! In the lab's virtual time a repeat is the first run over again. It tells that nothing else was at work, and nothing more
//! about latencies, so it is counted as a run and not as samples.

use super::published::{MatchKey, Published, PublishedRun};
use crate::format::counted;
use crate::lab::Kind;
use crate::language::say;
use crate::overview::{Overview, Quantile};
use plan::{Figure, Limit};
use recording::{Document, Recorded};
use stats::{Activations, Histogram, Moments};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;

/// Shown where there is no figure.
pub(super) const NOTHING: &str = "–";

/// The figures that can be limited.
const JUDGED: [Figure; 7] = [Figure::Mean, Figure::P50, Figure::P90, Figure::P99, Figure::P999, Figure::P9999, Figure::Max];

/// How a figure stands to its limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Judgement {
    /// It was seen at or above it.
    Beyond,
    /// It was seen below it, which is no promise.
    Below,
    /// Too few samples, or not all of them.
    NotTold,
}

/// The worst of a figure over all runs and threads.
#[derive(Clone, Copy, Debug, Default)]
struct Judged {
    most_ns: Option<i64>,
    /// Of some run it cannot be told.
    not_told: bool,
}

#[derive(Debug, Default)]
pub(super) struct Pooled {
    /// Which of its values each factor has.
    pub(super) at: Vec<usize>,
    pub(super) runs: u32,
    /// Runs that were bit for bit the first one.
    pub(super) identical: u32,
    /// Runs of the plan that have no recording.
    pub(super) missing: u32,
    pub(super) activations: Activations,
    pub(super) lost: u64,
    pub(super) histogram: Histogram,
    pub(super) moments: Moments,
    /// The maximum of each repeat, ns.
    pub(super) maxima: Vec<i64>,
    /// The interval of all threads of all repeats, ns, while they share one.
    pub(super) interval_ns: Option<i64>,
    /// On what time the figures are; of the first run.
    pub(super) kind: Option<Kind>,
    /// The smallest and the largest CPU use that each load reached, percent, in the loads' order.
    pub(super) reached: Vec<(f64, f64)>,
    pub(super) missed: bool,
    /// Real-time scheduling that was asked for and not granted, or ordinary scheduling that was asked for; and whether it is
    /// the former.
    pub(super) rights: Option<String>,
    pub(super) denied: bool,
    /// What else a reader must know before the figures, each once.
    pub(super) spoiled: Vec<String>,
    judged: [Judged; JUDGED.len()],
    /// Of the first repeat; the others differ in nothing that is asked for.
    key: Option<MatchKey>,
    /// Of each repeat that is not another's, where repeats can be identical.
    fingerprints: Vec<u64>,
    /// Machine, kernel and program of the first repeat: those of the others have to be the same.
    made_by: Option<String>,
}

impl Pooled {
    /// A combination of which nothing is recorded yet.
    pub(super) fn of(at: Vec<usize>) -> Self {
        Pooled { at, ..Pooled::default() }
    }

    /// Adds a run; whether it tells anything that none before it told.
    pub(super) fn add(&mut self, overview: &Overview<'_>) -> bool {
        let document = &overview.recorded.document;
        let interval_ns = overview.interval_ns();
        if self.runs == 0 {
            self.interval_ns = interval_ns;
            self.kind = Some(Kind::of(document.lab.as_ref()));
            self.key = MatchKey::of(overview);
        }
        self.interval_ns = self.interval_ns.filter(|ours| Some(*ours) == interval_ns);
        self.runs += 1;
        self.maxima.extend(overview.moments.max());
        let deterministic = document.lab.as_ref().is_some_and(|lab| lab.deterministic);
        let fingerprint = deterministic.then(|| fingerprint(overview.recorded));
        if fingerprint.is_some_and(|fingerprint| self.fingerprints.contains(&fingerprint)) {
            self.identical += 1;
            return false;
        }
        self.fingerprints.extend(fingerprint);
        self.activations.merge(&overview.activations);
        self.lost += overview.lost;
        self.histogram.merge(&overview.histogram);
        self.moments.merge(&overview.moments);
        self.judge(document);
        for (place, reached) in document.load.iter().filter_map(|load| load.reached).enumerate() {
            match self.reached.get_mut(place) {
                Some((low, high)) => (*low, *high) = (low.min(reached.mean), high.max(reached.mean)),
                None => self.reached.push((reached.mean, reached.mean)),
            }
        }
        self.missed |= document.load_missed;
        self.spoil(overview);
        true
    }

    fn judge(&mut self, document: &Document) {
        for (figure, judged) in JUDGED.into_iter().zip(&mut self.judged) {
            match document.worst(figure) {
                Ok(ns) => judged.most_ns = judged.most_ns.max(Some(ns)),
                Err(_) => judged.not_told = true,
            }
        }
    }

    fn spoil(&mut self, overview: &Overview<'_>) {
        let denied = overview.no_real_time().map(|how| say!("No real-time rights ({how})", how));
        self.denied |= denied.is_some();
        let ordinary = || overview.ordinary().map(|policy| say!("Ordinary scheduling ({policy})", policy));
        self.rights = self.rights.take().or(denied).or_else(ordinary);
        let made_by = made_by(&overview.recorded.document);
        let other = self.made_by.as_ref().is_some_and(|first| *first != made_by);
        self.made_by.get_or_insert(made_by);
        let spoilers = [
            overview.cut_short(),
            (overview.lost > 0).then(|| say!("lost {samples}", samples = counted(overview.lost, "sample"))),
            other.then(|| say!("its repeats were not made by one machine, kernel and program")),
            (self.fingerprints.len() > 1).then(|| say!("its repeats in the lab differ, which equal runs do not")),
        ];
        for spoiler in spoilers.into_iter().flatten() {
            if !self.spoiled.contains(&spoiler) {
                self.spoiled.push(spoiler);
            }
        }
    }

    /// Whether its figures are all that was asked for.
    pub(super) fn is_whole(&self) -> bool {
        self.runs > 0 && self.missing == 0 && self.spoiled.is_empty() && !self.missed && !self.denied
    }

    /// The smallest and the largest maximum of the repeats, ns.
    pub(super) fn spread(&self) -> Option<(i64, i64)> {
        Some((*self.maxima.iter().min()?, *self.maxima.iter().max()?))
    }

    /// A quantile of all repeats, ns: up to 1 % above the exact one.
    pub(super) fn quantile(&self, quantile: Quantile) -> Option<i64> {
        quantile.of(&self.histogram, &self.moments)
    }

    /// How a figure of the worst thread of the worst run, with the skipped activations counted in, stands to its limit.
    pub(super) fn judge_by(&self, limit: &Limit) -> Judgement {
        let place = JUDGED.iter().position(|figure| *figure == limit.figure).unwrap_or(JUDGED.len() - 1);
        let Judged { most_ns, not_told } = self.judged[place];
        // What was seen was seen, whatever is missing beside it.
        let seen = if limit.figure == Figure::Max { most_ns.max(self.moments.max()) } else { most_ns };
        match seen {
            Some(ns) if ns >= limit.below.0 => Judgement::Beyond,
            Some(_) if !not_told => Judgement::Below,
            _ => Judgement::NotTold,
        }
    }

    /// What others have measured under the same circumstances.
    pub(super) fn beside(&self, published: &Published) -> Vec<Arc<PublishedRun>> {
        self.key.as_ref().map_or_else(Vec::new, |key| published.beside(key))
    }
}

/// What has to be the same of runs that are pooled: in the lab the program too, since every byte of a guest moves its figures.
fn made_by(document: &Document) -> String {
    let before = &document.host.before;
    let lab = document.lab.as_ref().map(|lab| (&lab.program.sha256, &lab.kernel.image.sha256));
    format!("{:?} {:?} {:?} {:?} {lab:?}", before.hostname, before.cpu_model, before.kernel, before.preemption)
}

/// What two runs have in common if all their samples are the same.
fn fingerprint(recorded: &Recorded) -> u64 {
    let mut hasher = DefaultHasher::new();
    for thread in &recorded.threads {
        let Activations { due, on_time, late, skipped } = thread.activations;
        (due, on_time, late, skipped, thread.lost).hash(&mut hasher);
        thread.histogram.buckets().for_each(|bucket| (bucket.lower, bucket.count).hash(&mut hasher));
        thread.envelope.steps().iter().for_each(|step| (step.range(), step.missing).hash(&mut hasher));
        thread.worst.iter().for_each(|worst| (worst.activation, worst.latency_ns).hash(&mut hasher));
        if let Some(summary) = &thread.latency {
            (summary.min, summary.max, summary.p50, summary.p90, summary.p99, summary.p999).hash(&mut hasher);
            (summary.mean.to_bits(), summary.sd.map(f64::to_bits)).hash(&mut hasher);
        }
    }
    hasher.finish()
}
