// SPDX-License-Identifier: MIT OR Apache-2.0
//! Limits held against recordings: pass, fail, or not enough evidence, each with its margin.
//!
//! Latencies are those of every activation that was due, skipped ones counted in. A latency is that of the thread that is worst in
//! it; a rate and a count are those of all threads of a recording together. Each limit must hold in each recording.

mod baseline;
mod formats;
#[cfg(test)]
mod gate_tests;
mod limit;

use crate::cautions;
use crate::format;
use crate::language::{Language, say, speaking};
use crate::overview::Overview;
pub(crate) use baseline::change;
pub(crate) use limit::Count;
pub(crate) use limit::LimitLine;
use limit::{Latency, Relation, Subject};
pub use limit::{Limit, LimitError};
use model::{Recorded, State, Thread};
use plan::Nanos;
use serde::Serialize;
use stats::{Analysis, Level, Statistics, Summary};

/// A recording and what its samples tell beyond their figures.
pub struct Examined {
    /// The recording.
    pub recorded: Recorded,
    /// By thread.
    pub analyses: Vec<Analysis>,
}

/// What became of a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// It holds.
    Pass,
    /// The recording does not show whether it does.
    NotEnough,
    /// It does not hold.
    Fail,
}

impl Verdict {
    /// As JSON, JUnit and TAP have it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Verdict::Pass => "pass",
            Verdict::NotEnough => "not enough evidence",
            Verdict::Fail => "fail",
        }
    }

    /// As a sign, for those who see no colours.
    pub(crate) const fn sign(self) -> &'static str {
        match self {
            Verdict::Pass => "✓",
            Verdict::NotEnough => "?",
            Verdict::Fail => "✗",
        }
    }
}

/// A limit held against one recording.
#[derive(Clone, Debug)]
pub struct Judged {
    /// As it was written.
    pub limit: String,
    /// The recording's path.
    pub recording: String,
    /// What became of it.
    pub verdict: Verdict,
    /// The figure that decided, in words.
    pub seen: String,
    /// How far the deciding figure lies below the limit, as a share of the limit; negative beyond it. None where there is no
    /// such figure, or the limit is 0.
    pub margin: Option<f64>,
    /// Why there is not enough evidence, and what would be.
    pub lacking: Option<String>,
}

/// All limits, held against all recordings.
#[derive(Clone, Debug, Default)]
pub struct Gate {
    /// In the order of the recordings, and within each of the limits.
    pub judged: Vec<Judged>,
    /// What to know before the figures of a recording, by its path.
    pub caveats: Vec<(String, String)>,
}

impl Gate {
    /// Holds every limit against every recording.
    #[must_use]
    pub fn of(limits: &[Limit], recordings: &[Examined]) -> Gate {
        let judge = |examined| limits.iter().map(move |limit| judge(limit, examined));
        let of = |examined: &Examined| {
            let path = examined.recorded.path.display().to_string();
            cautions::of(&Overview::of(&examined.recorded)).into_iter().map(move |caveat| (path.clone(), caveat))
        };
        Gate { judged: recordings.iter().flat_map(judge).collect(), caveats: recordings.iter().flat_map(of).collect() }
    }

    /// Adds what became of limits in other recordings.
    pub fn merge(&mut self, other: Gate) {
        self.judged.extend(other.judged);
        self.caveats.extend(other.caveats);
    }

    /// The worst of all: a limit that fails, otherwise one that cannot be told.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        self.judged.iter().map(|judged| judged.verdict).max().unwrap_or(Verdict::NotEnough)
    }
}

/// What a limit finds, before what spoils a recording is considered.
struct Finding {
    verdict: Verdict,
    seen: String,
    margin: Option<f64>,
    lacking: Option<String>,
}

fn judge(limit: &Limit, examined: &Examined) -> Judged {
    #[expect(clippy::cast_precision_loss, reason = "a latency that is held against a limit that people write")]
    let largest: fn(&Summary) -> f64 = |summary| summary.max as f64;
    // In English, whatever is spoken: a page recognises the pieces and says them in its language.
    let found = speaking(Language::English, || match limit.subject {
        Subject::Latency { of: Latency::Quantile(level), limit: most, confidence } => {
            quantile(examined, level, most, limit.relation, confidence)
        }
        Subject::Latency { of: Latency::Max, limit: most, .. } => observed(examined, largest, most, limit.relation),
        Subject::Latency { of: Latency::Mean, limit: most, .. } => {
            observed(examined, |summary| summary.mean, most, limit.relation)
        }
        Subject::Rate { beyond, limit: most, confidence } => rate(examined, beyond, most, limit.relation, confidence),
        Subject::Count { of, limit: most } => count(examined, of, most, limit.relation),
    });
    let mut judged = Judged {
        limit: limit.to_string(),
        recording: examined.recorded.path.display().to_string(),
        verdict: found.verdict,
        seen: found.seen,
        margin: found.margin,
        lacking: found.lacking,
    };
    // What fails in part of a run fails; what passes there need not pass in the rest.
    let about_losses = matches!(limit.subject, Subject::Count { of: Count::Lost, .. });
    if judged.verdict == Verdict::Pass
        && !about_losses
        && let Some(spoiled) = spoiled(&examined.recorded)
    {
        (judged.verdict, judged.lacking) = (Verdict::NotEnough, Some(spoiled));
    }
    judged
}

/// Why a recording does not show all that it should have.
pub(crate) fn spoiled(recorded: &Recorded) -> Option<String> {
    let document = &recorded.document;
    let lost: u64 = document.threads.iter().map(|thread| thread.proof.samples_lost).sum();
    if document.state != State::Complete {
        return Some(say!("the run ended early: what the rest would have shown is not known"));
    }
    if lost > 0 {
        return Some(say!("{samples} lost: what they would have shown is not known", samples = format::counted(lost, "sample")));
    }
    if document.load_missed {
        return Some(say!("a load was off the level asked for"));
    }
    let contradicts = !judge::contradictions(recorded).is_empty();
    contradicts.then(|| say!("run.json does not say what its samples say: teiji verify names what differs"))
}

/// How far below a limit, as a share of it.
#[expect(clippy::cast_precision_loss, reason = "shown to three digits")]
fn margin(figure: i64, limit: i64) -> Option<f64> {
    (limit > 0).then(|| (limit - figure) as f64 / limit as f64)
}

fn nothing(why: &str) -> Finding {
    Finding { verdict: Verdict::NotEnough, seen: why.to_owned(), margin: None, lacking: Some(why.to_owned()) }
}

fn verdict(holds: bool) -> Verdict {
    if holds { Verdict::Pass } else { Verdict::Fail }
}

/// ` on thread 1` where there are several.
fn on_thread(examined: &Examined, thread: usize) -> String {
    if examined.analyses.len() > 1 { format!(" on thread {thread}") } else { String::new() }
}

/// The largest latency or their mean, of the thread that is worst in it.
fn observed(examined: &Examined, figure: fn(&Summary) -> f64, limit: Nanos, relation: Relation) -> Finding {
    let mut worst: Option<(f64, usize)> = None;
    for (thread, analysis) in examined.analyses.iter().enumerate() {
        let Some(summary) = analysis.statistics.latency_with_skipped else {
            return nothing(&format!("thread {thread} never woke"));
        };
        let value = figure(&summary);
        if worst.is_none_or(|(known, _)| value > known) {
            worst = Some((value, thread));
        }
    }
    let Some((value, thread)) = worst else { return nothing("it has no threads") };
    #[expect(clippy::cast_precision_loss, reason = "a limit that people write")]
    let most = limit.0 as f64;
    // A mean is no whole number of ns: it is rounded to nearest, but stays on the side of the limit that it lies on.
    let nearest = format::rounded(value);
    let beside = format::rounded(if value < most { value.floor() } else { value.ceil() });
    let shown = if nearest == limit.0 { beside } else { nearest };
    let seen = format!("{} µs{}", format::exact_micros(shown), on_thread(examined, thread));
    Finding { verdict: verdict(relation.holds(value, most)), seen, margin: margin(shown, limit.0), lacking: None }
}

/// A single latency beyond a limit breaks it where so few were to be expected that there would be one in fewer than 1 of 20 runs.
const UNLIKELY: f64 = 0.05;

/// Whether a recording by itself breaks a limit that allows this share of latencies beyond it, `over` saying that more are. One
/// latency beyond is as many as a run shorter than the limit speaks of may well have.
#[expect(clippy::cast_precision_loss, reason = "a count that is multiplied")]
fn is_broken(over: bool, beyond: u64, of: u64, allowed: f64) -> bool {
    over && (beyond >= 2 || of as f64 * allowed < UNLIKELY)
}

/// A quantile of the thread that is worst in it.
///
/// It fails where the recording breaks it, whatever the confidence: more latencies are beyond the limit than the quantile allows.
/// Otherwise it takes latencies enough to speak of that quantile, and with a confidence an upper bound below the limit. So a
/// stricter limit never gets a better verdict.
fn quantile(examined: &Examined, level: Level, limit: Nanos, relation: Relation, confidence: Option<f64>) -> Finding {
    let mut worst: Option<(i64, Finding)> = None;
    for (thread, analysis) in examined.analyses.iter().enumerate() {
        let (observed, finding) = match analysis.quantile(level, ENOUGH) {
            Some(interval) => {
                let on = on_thread(examined, thread);
                (interval.observed, quantile_of(analysis, interval.observed, &on, level, limit, relation, confidence))
            }
            None => (i64::MIN, nothing(&format!("thread {thread} never woke"))),
        };
        let worse = |(known, of): &(i64, Finding)| (finding.verdict, observed) > (of.verdict, *known);
        if worst.as_ref().is_none_or(worse) {
            worst = Some((observed, finding));
        }
    }
    worst.map_or_else(|| nothing("it has no threads"), |(_, finding)| finding)
}

/// Any confidence serves where only the observed value is asked for.
const ENOUGH: f64 = 0.95;

fn quantile_of(
    analysis: &Analysis,
    observed: i64,
    on: &str,
    level: Level,
    limit: Nanos,
    relation: Relation,
    confidence: Option<f64>,
) -> Finding {
    let of = analysis.statistics.latency_with_skipped.map_or(0, |summary| summary.count);
    let beyond = analysis.above(relation.highest_allowed(limit));
    let (is_carried, over) = (of >= level.needs(), beyond > of.saturating_sub(level.rank(of)));
    let micros = format::exact_micros(observed);
    if is_broken(over, beyond, of, 1.0 - level.share()) {
        let (seen, margin) = if is_carried {
            (format!("{micros} µs{on}"), margin(observed, limit.0))
        } else {
            let (beyond, one_in) = (format::count(beyond), format::count(level.needs()));
            (format!("{beyond} of {} beyond it{on}, a {level} allows 1 in {one_in}", format::count(of)), None)
        };
        return Finding { verdict: Verdict::Fail, seen, margin, lacking: None };
    }
    if !is_carried {
        let (has, needs) = (format::counted(of, "activation"), format::count(level.needs()));
        let lacking = Some(format!("a {level} takes {needs}"));
        let verb = if of == 1 { "does" } else { "do" };
        return Finding { lacking, ..nothing(&format!("{has} {verb} not carry it")) };
    }
    let Some(confidence) = confidence else {
        let seen = format!("{micros} µs{on}");
        return Finding { verdict: Verdict::Pass, seen, margin: margin(observed, limit.0), lacking: None };
    };
    let Some(upper) = analysis.quantile_bound(level, confidence) else {
        return Finding {
            verdict: Verdict::NotEnough,
            seen: format!("{micros} µs observed{on}, at most: not known"),
            margin: None,
            lacking: Some(format!("too few activations to bound a {level} at this confidence")),
        };
    };
    let holds = relation.holds(upper, limit.0);
    Finding {
        verdict: if holds { Verdict::Pass } else { Verdict::NotEnough },
        seen: format!("at most {} µs, {micros} observed{on}", format::exact_micros(upper)),
        margin: margin(upper, limit.0),
        lacking: (!holds).then(|| "a longer run would bound it closer".to_owned()),
    }
}

/// The share of activations beyond a latency, of all threads. As a quantile, it fails where the recording breaks it.
fn rate(examined: &Examined, beyond: Nanos, limit: f64, relation: Relation, confidence: f64) -> Finding {
    let found = Analysis::rate_of_all(&examined.analyses, beyond.0, confidence);
    let bound = Analysis::rate_bound_of_all(&examined.analyses, beyond.0, confidence);
    let Some((found, upper)) = found.zip(bound) else { return nothing("nothing woke") };
    let seen = format!("{} of {} beyond {beyond}", format::count(found.beyond), format::count(found.of));
    #[expect(clippy::cast_precision_loss, reason = "counts that are divided")]
    let share = found.beyond as f64 / found.of as f64;
    let margin = |rate: f64| Some((limit - rate) / limit);
    if is_broken(!relation.holds(share, limit), found.beyond, found.of, limit) {
        let seen = format!("{seen}: a rate of {share:.2e}");
        return Finding { verdict: Verdict::Fail, seen, margin: margin(share), lacking: None };
    }
    let seen = format!("{seen}: a rate of at most {upper:.2e}");
    if relation.holds(upper, limit) {
        return Finding { verdict: Verdict::Pass, seen, margin: margin(upper), lacking: None };
    }
    let lacking = if found.beyond == 0 {
        let more = stats::samples_for_rate(limit, confidence).saturating_sub(found.of).max(1);
        format!("it takes {} without one beyond", format::counted(more, "more activation"))
    } else {
        "a longer run would tell".to_owned()
    };
    Finding { verdict: Verdict::NotEnough, seen, margin: margin(upper), lacking: Some(lacking) }
}

/// How many there were, of all threads.
pub(crate) fn counted(recorded: &Recorded, of: Count) -> u64 {
    let threads = &recorded.document.threads;
    // A thread knows of activations that never ran and have no row; what it says is not believed where its samples say more.
    let sum = |said: fn(&Thread) -> u64, seen: fn(&Statistics) -> u64| -> u64 {
        threads.iter().zip(&recorded.threads).map(|(thread, samples)| said(thread).max(seen(samples))).sum()
    };
    match of {
        Count::Skipped => sum(|thread| thread.activations.skipped, |samples| samples.activations.skipped),
        Count::Late => sum(|thread| thread.activations.late, |samples| samples.activations.late),
        Count::Lost => threads.iter().map(|thread| thread.proof.samples_lost).sum(),
    }
}

/// What was counted, of all threads.
fn count(examined: &Examined, of: Count, limit: u64, relation: Relation) -> Finding {
    let threads = &examined.recorded.document.threads;
    let counted = counted(&examined.recorded, of);
    let due: u64 = threads.iter().map(|thread| thread.activations.due).sum();
    let seen = format!("{} of {}", format::count(counted), format::counted(due, "activation"));
    #[expect(clippy::cast_precision_loss, reason = "shown to three digits")]
    let margin = (limit > 0).then(|| (limit as f64 - counted as f64) / limit as f64);
    Finding { verdict: verdict(relation.holds(counted, limit)), seen, margin, lacking: None }
}
