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

use crate::format;
use crate::language::say;
pub(crate) use baseline::change;
use limit::{Count, Latency, Relation, Subject};
pub use limit::{Limit, LimitError};
use plan::Nanos;
use recording::{Recorded, State};
use stats::{Analysis, Level};

/// A recording and what its samples tell beyond their figures.
pub struct Examined {
    /// The recording.
    pub recorded: Recorded,
    /// By thread.
    pub analyses: Vec<Analysis>,
}

/// What became of a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
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
}

impl Gate {
    /// Holds every limit against every recording.
    #[must_use]
    pub fn of(limits: &[Limit], recordings: &[Examined]) -> Gate {
        let judge = |examined| limits.iter().map(move |limit| judge(limit, examined));
        Gate { judged: recordings.iter().flat_map(judge).collect() }
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
    let found = match limit.subject {
        Subject::Latency { of, limit: most, confidence: Some(confidence) } => match of {
            Latency::Quantile(level) => sure_quantile(examined, level, most, limit.relation, confidence),
            _ => Finding { verdict: Verdict::NotEnough, seen: String::new(), margin: None, lacking: None },
        },
        Subject::Latency { of, limit: most, confidence: None } => latency(examined, of, most, limit.relation),
        Subject::Rate { beyond, limit: most, confidence } => rate(examined, beyond, most, limit.relation, confidence),
        Subject::Count { of, limit: most } => count(examined, of, most, limit.relation),
    };
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
    document.load_missed.then(|| say!("a load was off the level asked for"))
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

/// A latency as it was observed, of the thread that is worst in it.
fn latency(examined: &Examined, of: Latency, limit: Nanos, relation: Relation) -> Finding {
    let mut worst: Option<(i64, usize)> = None;
    for (thread, analysis) in examined.analyses.iter().enumerate() {
        let Some(summary) = analysis.statistics.latency_with_skipped else {
            return nothing(&format!("thread {thread} never woke"));
        };
        let value = match of {
            Latency::Max => summary.max,
            Latency::Mean => format::rounded(summary.mean.ceil()),
            Latency::Quantile(level) if summary.count < level.needs() => {
                let (has, needs) = (format::counted(summary.count, "activation"), format::count(level.needs()));
                return Finding {
                    lacking: Some(format!("a {level} takes {needs}")),
                    ..nothing(&format!("{has} do not carry it"))
                };
            }
            Latency::Quantile(level) => match analysis.quantile(level, ENOUGH) {
                Some(interval) => interval.observed,
                None => return nothing(&format!("thread {thread} never woke")),
            },
        };
        if worst.is_none_or(|(known, _)| value > known) {
            worst = Some((value, thread));
        }
    }
    let Some((value, thread)) = worst else { return nothing("it has no threads") };
    let seen = format!("{} µs{}", format::exact_micros(value), on_thread(examined, thread));
    Finding { verdict: verdict(relation.holds(value, limit.0)), seen, margin: margin(value, limit.0), lacking: None }
}

/// Any confidence serves where only the observed value is asked for.
const ENOUGH: f64 = 0.95;

/// A quantile with its confidence: every thread's upper end below the limit passes, any thread's lower end beyond it fails, that end
/// being as sure for all threads together.
#[expect(clippy::cast_precision_loss, reason = "a number of threads")]
fn sure_quantile(examined: &Examined, level: Level, limit: Nanos, relation: Relation, confidence: f64) -> Finding {
    let together = 1.0 - (1.0 - confidence) / examined.analyses.len().max(1) as f64;
    let mut highest: Option<(Option<i64>, i64, usize)> = None;
    for (thread, analysis) in examined.analyses.iter().enumerate() {
        let (Some(surely), Some(interval)) = (analysis.quantile(level, together), analysis.quantile(level, confidence)) else {
            return nothing(&format!("thread {thread} never woke"));
        };
        if let Some(lower) = surely.lower.filter(|lower| !relation.holds(*lower, limit.0)) {
            let seen = format!("at least {} µs{}", format::exact_micros(lower), on_thread(examined, thread));
            return Finding { verdict: Verdict::Fail, seen, margin: margin(lower, limit.0), lacking: None };
        }
        // None is no upper end at all, and worse than any.
        let worse = highest
            .is_none_or(|(upper, ..)| upper.is_some() && interval.upper.is_none_or(|new| upper.is_some_and(|old| new > old)));
        if worse {
            highest = Some((interval.upper, interval.observed, thread));
        }
    }
    let Some((upper, observed, thread)) = highest else { return nothing("it has no threads") };
    let on = on_thread(examined, thread);
    let Some(upper) = upper else {
        return Finding {
            verdict: Verdict::NotEnough,
            seen: format!("{} µs observed{on}, at most: not known", format::exact_micros(observed)),
            margin: None,
            lacking: Some(format!("too few activations to bound a {level} at this confidence")),
        };
    };
    let holds = relation.holds(upper, limit.0);
    Finding {
        verdict: if holds { Verdict::Pass } else { Verdict::NotEnough },
        seen: format!("at most {} µs, {} observed{on}", format::exact_micros(upper), format::exact_micros(observed)),
        margin: margin(upper, limit.0),
        lacking: (!holds).then(|| "a longer run would bound it closer".to_owned()),
    }
}

/// The share of activations beyond a latency, of all threads.
fn rate(examined: &Examined, beyond: Nanos, limit: f64, relation: Relation, confidence: f64) -> Finding {
    let Some(found) = Analysis::rate_of_all(&examined.analyses, beyond.0, confidence) else {
        return nothing("nothing woke");
    };
    let of = format!("{} of {} beyond {beyond}", format::count(found.beyond), format::count(found.of));
    let margin = |rate: f64| Some((limit - rate) / limit);
    if relation.holds(found.upper, limit) {
        return Finding {
            verdict: Verdict::Pass,
            seen: format!("{of}: a rate of at most {:.2e}", found.upper),
            margin: margin(found.upper),
            lacking: None,
        };
    }
    if !relation.holds(found.lower, limit) {
        return Finding {
            verdict: Verdict::Fail,
            seen: format!("{of}: a rate of at least {:.2e}", found.lower),
            margin: margin(found.lower),
            lacking: None,
        };
    }
    let lacking = if found.beyond == 0 {
        let more = stats::samples_for_rate(limit, confidence).saturating_sub(found.of).max(1);
        format!("it takes {} without one beyond", format::counted(more, "more activation"))
    } else {
        "a longer run would tell".to_owned()
    };
    Finding {
        verdict: Verdict::NotEnough,
        seen: format!("{of}: a rate of at most {:.2e}", found.upper),
        margin: margin(found.upper),
        lacking: Some(lacking),
    }
}

/// What was counted, of all threads.
fn count(examined: &Examined, of: Count, limit: u64, relation: Relation) -> Finding {
    let threads = &examined.recorded.document.threads;
    let counted: u64 = match of {
        Count::Skipped => threads.iter().map(|thread| thread.activations.skipped).sum(),
        Count::Late => threads.iter().map(|thread| thread.activations.late).sum(),
        Count::Lost => threads.iter().map(|thread| thread.proof.samples_lost).sum(),
    };
    let due: u64 = threads.iter().map(|thread| thread.activations.due).sum();
    let seen = format!("{} of {}", format::count(counted), format::counted(due, "activation"));
    #[expect(clippy::cast_precision_loss, reason = "shown to three digits")]
    let margin = (limit > 0).then(|| (limit as f64 - counted as f64) / limit as f64);
    Finding { verdict: verdict(relation.holds(counted, limit)), seen, margin, lacking: None }
}
