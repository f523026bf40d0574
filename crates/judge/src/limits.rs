// SPDX-License-Identifier: MIT OR Apache-2.0
//! Judges a recording by limits: pass, fail, or not enough evidence, each with its margin.
//!
//! Latencies are those of every activation that was due, skipped ones counted in. A latency is that
//! of the thread that is worst in it; a rate and a count are those of all threads of a recording
//! together. Of jitter its size is judged: an interval that is too short breaks a limit as one that
//! is too long does. How much values vary is judged as they were measured. Of a column that a limit
//! names the largest time is judged, of any thread, or the sum of what it counts, of all.

use crate::ending::incomplete_among;
use crate::judged::Judgement;
use crate::meaning::{named, without_meaning};
use crate::{Criterion, Incomplete, Judged, Lacking, Seen, Verdict, knows_order};
use model::{
    Accounted, Column, ColumnUnit, Document, Examined, ProbeStatement, Quantity, Recorded, RowKind,
    Thread, Unknown, WithoutPeriod,
};
use plan::{Count, Figure, Limit, Nanos, Relation, Subject};
use stats::{Analysis, Between, Level, QuantileInterval, Statistics, Summary};
use std::path::Path;

/// Holds a limit against a recording.
pub fn judge(limit: &Limit, examined: &Examined) -> Judged {
    let probe = &examined.recorded.document.probe;
    let subject = subject(limit, probe);
    let mut judged = match subject {
        Subject::Latency { of: Figure::Quantile(level), limit: bound, confidence } => {
            quantile(examined, level, bound, limit.relation, confidence)
        }
        Subject::Latency { of, limit: bound, .. } => match worst(examined, of) {
            Ok(worst) => held(&worst, examined, bound, limit.relation),
            Err(why) => nothing(why),
        },
        Subject::Rate { beyond, limit: bound, confidence } => {
            rate(examined, beyond, bound, limit.relation, confidence)
        }
        Subject::Count { of, limit: bound } => count(examined, of, bound, limit.relation),
        Subject::Column { time, number } => match (named(limit, probe), number) {
            (Some((at, Column { unit: ColumnUnit::Nanoseconds, .. })), _) => {
                match largest(examined, at) {
                    Ok(worst) => held(&worst, examined, time, limit.relation),
                    Err(why) => nothing(why),
                }
            }
            (Some((at, _)), Some(number)) => sum(examined, at, number, limit.relation),
            _ => nothing(Seen::Unknown),
        },
    };
    // What fails in part of a run fails; what passes there need not pass in the rest.
    if let Some(lacking) = unknown(limit, examined, judged.verdict) {
        let is_unknown = match subject {
            Subject::Count { .. }
            | Subject::Latency { of: Figure::Sd | Figure::PeakToPeak, .. } => true,
            Subject::Column { .. } => !matches!(lacking, Lacking::ValuesOfSkipped(_)),
            _ => false,
        };
        let seen = if is_unknown { Seen::Unknown } else { judged.seen };
        judged = Judgement::not_enough(seen, lacking);
    }
    // A limit that does not hold of a figure may hold of the true one.
    if let (Verdict::Fail, Subject::Latency { of, limit: bound, .. }) =
        (judged.verdict, limit.subject)
        && let Some(least) = at_least(of, examined)
    {
        let surely = held(&least, examined, bound, limit.relation);
        if surely.verdict == Verdict::Pass {
            let lacking = Some(Lacking::Bucket);
            judged = Judgement { verdict: Verdict::NotEnough, lacking, ..judged };
        } else if matches!(judged.seen, Seen::Latency { between: Some(_), .. }) {
            judged = surely;
        }
    }
    if judged.verdict == Verdict::Pass
        && let Some(step) = too_coarse(limit, examined, &judged)
    {
        let lacking = Some(Lacking::Resolution(step));
        judged = Judgement { verdict: Verdict::NotEnough, lacking, ..judged };
    }
    let is_about_losses = matches!(subject, Subject::Count { of: Count::Lost, .. });
    // What the limit allows is no reason against it; losses that nobody could count are.
    let is_allowed = |why: &Incomplete| match why {
        Incomplete::SamplesLost(_) | Incomplete::LoadOffTarget => is_about_losses,
        Incomplete::PeriodsMissed => limit.names(Column::MISSED),
        _ => false,
    };
    if judged.verdict == Verdict::Pass
        && let Some(why) = incomplete_among(examined)
        && !is_allowed(&why)
    {
        (judged.verdict, judged.lacking) = (Verdict::NotEnough, Some(Lacking::Whole(why)));
    }
    let judged = judged.of(Criterion::Limit(limit.clone()), examined);
    // A further column has its own sign.
    let is_beside = matches!(subject, Subject::Column { .. });
    Judged { quantity: if is_beside { Quantity::Latency } else { judged.quantity }, ..judged }
}

/// By how much a latency may have been larger than the value that another program kept of it, where
/// a limit would not hold then.
fn too_coarse(limit: &Limit, examined: &Examined, judged: &Judgement) -> Option<Nanos> {
    let imported = examined.recorded.document.imported.as_ref()?;
    let (Subject::Latency { of, limit: bound, .. }, Seen::Latency { ns, thread, .. }) =
        (limit.subject, judged.seen)
    else {
        return None;
    };
    // A quantile that is stated is that program's own judgement.
    if let Figure::Quantile(level) = of
        && examined.analyses.get(thread.unwrap_or(0)).is_some_and(|one| one.states(level))
    {
        return None;
    }
    #[expect(clippy::cast_precision_loss, reason = "latencies that are compared with a limit")]
    let (highest, bound) = (ns.saturating_add(imported.resolution_ns - 1) as f64, bound.0 as f64);
    (!limit.relation.holds(highest, bound)).then_some(Nanos(imported.resolution_ns))
}

/// What the figure of a limit is at least, of the thread of which that is most, where another
/// program's histogram does not tell the true one.
#[expect(clippy::cast_precision_loss, reason = "latencies that are compared with a limit")]
fn at_least(of: Figure, examined: &Examined) -> Option<Worst> {
    examined.recorded.document.imported.as_ref()?;
    let least = |analysis: &Analysis| {
        let figures = analysis.statistics.latency_with_skipped?;
        let least = |between: Option<Between>| between.map(|between| between.least as f64);
        Some(match of {
            // One of those beyond the histogram, of which the largest is known.
            Figure::Quantile(level) => analysis.quantile(level, ENOUGH).map_or_else(
                || figures.max as f64,
                |found| least(found.between).unwrap_or(found.observed as f64),
            ),
            Figure::Max => least(figures.between.max).unwrap_or(figures.max as f64),
            Figure::Mean => least(figures.between.mean).unwrap_or(figures.mean),
            Figure::Sd | Figure::PeakToPeak => return None,
        })
    };
    let all = examined.analyses.iter().map(least).collect::<Option<Vec<_>>>()?;
    let all = all.into_iter().enumerate();
    let (thread, value) = all.max_by(|(_, a), (_, b)| a.total_cmp(b))?;
    let between = Some(Between { least: nearest(value), most: None });
    Some(Worst { value, between, thread })
}

/// Why what another program measured does not tell what a limit is of: it passes over periods that
/// went by, without counting them.
fn uncounted(limit: &Limit, document: &Document, verdict: Verdict) -> Option<Lacking> {
    let imported = document.imported.as_ref()?;
    let may_have = |thread: &Thread| {
        document.lacks(Unknown::Interval)
            || thread.latency_ns.is_some_and(|summary| summary.max >= thread.interval_ns.0)
    };
    let is_of_time = matches!(limit.subject, Subject::Latency { .. } | Subject::Rate { .. });
    if is_of_time && document.lacks(Unknown::Unit) {
        return Some(Lacking::Unit);
    }
    match limit.subject {
        Subject::Count { of: Count::Late | Count::Skipped, .. } => {
            Some(match imported.passes_over {
                true => Lacking::PassedOver,
                false => Lacking::Others,
            })
        }
        Subject::Count { of: Count::Lost, .. } => {
            (verdict == Verdict::Pass).then_some(Lacking::Others)
        }
        Subject::Latency { .. } | Subject::Rate { .. }
            if verdict == Verdict::Pass && document.lacks(Unknown::Beyond) =>
        {
            Some(Lacking::Beyond)
        }
        // How late the one was that made it pass over others is known.
        Subject::Latency { of: Figure::Max, .. } => None,
        Subject::Latency { of: Figure::Quantile(_), .. } | Subject::Rate { .. }
            if verdict == Verdict::Pass && document.lacks(Unknown::Count) =>
        {
            Some(Lacking::Samples)
        }
        Subject::Latency { .. } | Subject::Rate { .. } => (verdict == Verdict::Pass
            && imported.passes_over
            && document.threads.iter().any(may_have))
        .then_some(Lacking::PassedOver),
        _ => None,
    }
}

/// What a limit is of. The judged column goes by its name too, and has a maximum.
fn subject(limit: &Limit, probe: &ProbeStatement) -> Subject {
    match (limit.subject, named(limit, probe)) {
        (Subject::Column { time, .. }, Some((0, _))) => {
            Subject::Latency { of: Figure::Max, limit: time, confidence: None }
        }
        (subject, _) => subject,
    }
}

/// What becomes of a recording that no limit is named for, where others have some: it cannot pass.
pub(crate) fn without_limit(examined: &Examined) -> Judged {
    Judgement::not_enough(Seen::Nothing, Lacking::Limit).of(Criterion::NoLimit, examined)
}

/// What becomes of the limits of a plan of which nothing is recorded, in this folder.
pub(crate) fn nothing_recorded<'l>(
    folder: &'l Path,
    limits: &'l [Limit],
) -> impl Iterator<Item = Judged> + 'l {
    limits.iter().map(|limit| Judged {
        criterion: Criterion::Limit(limit.clone()),
        recording: folder.to_owned(),
        rows: RowKind::Activations,
        quantity: Quantity::Latency,
        verdict: Verdict::NotEnough,
        seen: Seen::NoRows,
        margin: None,
        lacking: Some(Lacking::Figure),
    })
}

/// Why a limit cannot be judged. Events have no planned time, so none of them is late. Where the
/// judged column is not the lateness of its rows, skipped rows have no value. Without samples it is
/// not known what was late, skipped or lost. Without a period of the program it is not known what
/// it missed. Nor is the dependence known that a confidence needs,
/// nor, where a latency reached the interval, how many skipped activations a quantile or mean
/// leaves out.
fn unknown(limit: &Limit, examined: &Examined, verdict: Verdict) -> Option<Lacking> {
    let document = &examined.recorded.document;
    let uncounted = uncounted(limit, document, verdict);
    if uncounted.is_some() {
        return uncounted;
    }
    let without_meaning = without_meaning(limit, &document.probe);
    if without_meaning.is_some() {
        return without_meaning;
    }
    if verdict == Verdict::Pass && limit.names(Column::MISSED) {
        let documents = || examined.recordings().map(|recorded| &recorded.document);
        if documents().any(Document::has_no_period) {
            return Some(Lacking::Period);
        }
        let without: WithoutPeriod = documents().map(Document::without_period).sum();
        if without.rows > 0 {
            return Some(Lacking::PeriodOf(without));
        }
    }
    if let Some(skipped) = without_skipped(limit, examined, verdict) {
        return Some(Lacking::ValuesOfSkipped(skipped));
    }
    let is_late = |thread: &Thread| {
        thread.latency_ns.is_some_and(|summary| summary.max >= thread.interval_ns.0)
    };
    let needs_samples = match subject(limit, &document.probe) {
        _ if knows_order(document) => false,
        Subject::Count { .. }
        | Subject::Column { .. }
        | Subject::Latency { of: Figure::Sd | Figure::PeakToPeak, .. } => true,
        _ if verdict == Verdict::Fail => false,
        Subject::Rate { .. }
        | Subject::Latency { of: Figure::Quantile(_), confidence: Some(_), .. } => true,
        Subject::Latency { of: Figure::Max, .. } => false,
        // Another program's overruns have been looked at.
        Subject::Latency { .. } if document.imported.is_some() => false,
        Subject::Latency { .. } => {
            document.threads.iter().any(|thread| !thread.detail.is_samples() && is_late(thread))
        }
    };
    needs_samples.then_some(Lacking::Samples)
}

/// Skipped rows of a probe that judges another time than the lateness of its rows have no value
/// that could be judged: what a limit allows may not have been what they would have been. A
/// quantile without confidence passes where it holds even if all of them were beyond the limit. How
/// many they are, where it matters.
fn without_skipped(limit: &Limit, examined: &Examined, verdict: Verdict) -> Option<u64> {
    if verdict != Verdict::Pass || knows_skipped(limit, &examined.recorded.document.probe) {
        return None;
    }
    let skipped = |analysis: &Analysis| analysis.statistics.activations.skipped;
    let all_skipped: u64 = examined.analyses.iter().map(skipped).sum();
    if all_skipped == 0 {
        return None;
    }
    if let Subject::Latency { of: Figure::Quantile(level), limit: bound, confidence: None } =
        limit.subject
    {
        let holds = |analysis: &Analysis| {
            let known = analysis.statistics.latency.map_or(0, |summary| summary.count);
            known - analysis.above(limit.relation.highest_allowed(bound))
                >= level.rank(known + skipped(analysis))
        };
        if examined.analyses.iter().all(holds) {
            return None;
        }
    }
    Some(all_skipped)
}

/// Whether what a limit is of is known of skipped rows too: their time, or that they add nothing.
fn knows_skipped(limit: &Limit, probe: &ProbeStatement) -> bool {
    match (subject(limit, probe), named(limit, probe)) {
        (Subject::Count { .. }, _) => true,
        (Subject::Column { .. }, Some((at, column))) => {
            column.unit == ColumnUnit::Count || probe.overrun_column == Some(at)
        }
        _ => probe.judges_overruns(),
    }
}

/// How far below a limit, as a share of it.
#[expect(clippy::cast_precision_loss, reason = "shown to three digits")]
fn margin(figure: i64, limit: i64) -> Option<f64> {
    (limit > 0).then(|| (limit - figure) as f64 / limit as f64)
}

/// To the nearest whole ns.
#[expect(clippy::cast_possible_truncation, reason = "rounded first, saturating")]
fn nearest(ns: f64) -> i64 {
    ns.round() as i64
}

fn nothing(why: Seen) -> Judgement {
    Judgement::not_enough(why, Lacking::Figure)
}

fn verdict(holds: bool) -> Verdict {
    if holds { Verdict::Pass } else { Verdict::Fail }
}

/// The thread where there are several.
fn among_several(examined: &Examined, thread: usize) -> Option<usize> {
    (examined.analyses.len() > 1).then_some(thread)
}

/// A figure of the thread that is worst in it, ns.
struct Worst {
    value: f64,
    /// Where the true one lies, if it is not exactly known.
    between: Option<Between>,
    thread: usize,
}

/// A figure of the thread that is worst in it. How much values vary is that of
/// what was measured, with its sign. A quantile has its own judgement.
///
/// # Errors
/// Why there is none: a thread never woke or too seldom, or there are no threads.
#[expect(clippy::cast_precision_loss, reason = "latencies that are compared with a limit")]
fn worst(examined: &Examined, of: Figure) -> Result<Worst, Seen> {
    let judged = || examined.analyses.iter().map(|analysis| &analysis.statistics);
    match of {
        Figure::Max => worst_of(judged(), largest_of),
        Figure::Mean if examined.recorded.document.lacks(Unknown::Mean) => Err(Seen::Unknown),
        Figure::Mean => worst_of(judged(), |summary| Some((summary.mean, summary.between.mean))),
        Figure::Sd => worst_of(examined.statistics().iter(), |summary| Some((summary.sd?, None))),
        Figure::PeakToPeak if examined.recorded.document.lacks(Unknown::Minimum) => {
            Err(Seen::Unknown)
        }
        Figure::PeakToPeak => worst_of(examined.statistics().iter(), |summary| {
            let between = summary.between.peak_to_peak(summary.min, summary.max);
            let exactly = summary.max.saturating_sub(summary.min);
            Some((between.map_or(exactly, Between::value) as f64, between))
        }),
        Figure::Quantile(_) => Err(Seen::Unknown),
    }
}

/// A figure, ns, and where the true one lies if it is not exactly known.
type Known = (f64, Option<Between>);

/// The largest.
#[expect(clippy::cast_precision_loss, reason = "latencies that are compared with a limit")]
fn largest_of(summary: &Summary) -> Option<Known> {
    Some((summary.max as f64, summary.between.max))
}

fn worst_of<'s>(
    threads: impl Iterator<Item = &'s Statistics>,
    figure: fn(&Summary) -> Option<Known>,
) -> Result<Worst, Seen> {
    let mut worst: Option<Worst> = None;
    for (thread, statistics) in threads.enumerate() {
        let summary = statistics.latency_with_skipped.ok_or(Seen::ThreadWithoutRows(thread))?;
        let lacking =
            if summary.count < 2 { Seen::TooFew { of: summary.count } } else { Seen::Unknown };
        let (value, between) = figure(&summary).ok_or(lacking)?;
        if worst.as_ref().is_none_or(|known| value > known.value) {
            worst = Some(Worst { value, between, thread });
        }
    }
    worst.ok_or(Seen::NoThreads)
}

/// A figure of what was examined, ns: of the thread that is worst in it, skipped activations
/// counted in, and where it lies if it is not exactly known. None where a thread never woke, or has
/// too few latencies for it.
pub fn figure(examined: &Examined, of: Figure) -> Option<(i64, Option<Between>)> {
    match of {
        Figure::Quantile(level) => {
            let observed = examined.analyses.iter().map(|analysis| {
                let summary = analysis
                    .statistics
                    .latency_with_skipped
                    .filter(|summary| summary.count >= level.needs())?;
                analysis
                    .quantile(level, ENOUGH)
                    .map(|interval| (interval.observed, interval.between))
                    .or_else(|| Some((summary.quantile(level)?, None)))
            });
            let observed = observed.collect::<Option<Vec<_>>>()?;
            observed.into_iter().max_by_key(|(ns, _)| *ns)
        }
        of => worst(examined, of).ok().map(|worst| (nearest(worst.value), worst.between)),
    }
}

/// A figure of a thread, held against its limit.
fn held(worst: &Worst, examined: &Examined, limit: Nanos, relation: Relation) -> Judgement {
    let Worst { value, between, thread } = *worst;
    #[expect(clippy::cast_precision_loss, reason = "a limit as written")]
    let bound = limit.0 as f64;
    // A mean and a standard deviation are no whole number of ns: they are rounded to nearest, but
    // stay on the side of the limit that they lie on.
    let nearest = nearest(value);
    let beside = self::nearest(if value < bound { value.floor() } else { value.ceil() });
    let shown = if nearest == limit.0 { beside } else { nearest };
    let verdict = verdict(relation.holds(value, bound));
    latency(verdict, (shown, between), among_several(examined, thread), limit)
}

/// What was judged by a latency alone.
fn latency(
    verdict: Verdict,
    (ns, between): (i64, Option<Between>),
    thread: Option<usize>,
    limit: Nanos,
) -> Judgement {
    let (seen, margin) = (Seen::Latency { ns, between, thread }, margin(ns, limit.0));
    Judgement { verdict, seen, margin, lacking: None }
}

/// A single latency beyond a limit breaks it where so few were to be expected that there would be
/// one in fewer than 1 of 20 runs.
const UNLIKELY: f64 = 0.05;

/// Whether a recording by itself breaks a limit that allows this share of latencies beyond it,
/// `over` saying that more are. One latency beyond is as many as a run shorter than the limit
/// speaks of may well have.
#[expect(clippy::cast_precision_loss, reason = "a count that is multiplied")]
fn is_broken(over: bool, beyond: u64, of: u64, allowed: f64) -> bool {
    over && (beyond >= 2 || of as f64 * allowed < UNLIKELY)
}

/// A quantile of the thread that is worst in it.
///
/// It fails where the recording breaks it, whatever the confidence: more latencies are beyond the
/// limit than the quantile allows. Otherwise it takes latencies enough to speak of that quantile,
/// and with a confidence an upper bound below the limit. So a stricter limit never gets a better
/// verdict.
fn quantile(
    examined: &Examined,
    level: Level,
    limit: Nanos,
    relation: Relation,
    confidence: Option<f64>,
) -> Judgement {
    let mut worst: Option<(i64, Judgement)> = None;
    for (thread, analysis) in examined.analyses.iter().enumerate() {
        let (observed, judgement) = match analysis.quantile(level, ENOUGH) {
            Some(interval) => {
                let (ns, on) = (interval.observed, among_several(examined, thread));
                (ns, quantile_of(analysis, &interval, on, limit, relation, confidence))
            }
            None => match analysis.statistics.latency_with_skipped {
                None => (i64::MIN, nothing(Seen::ThreadWithoutRows(thread))),
                // Of such a thread only figures are known.
                Some(figures) => {
                    let known = figures.quantile(level).filter(|_| figures.count >= level.needs());
                    // It is one of those beyond the histogram, of which the largest is known.
                    let is_beyond = analysis.statistics.histogram.beyond() > 0;
                    let is_below = relation.holds(figures.max, limit.0);
                    let known = known.or((is_beyond && is_below).then_some(figures.max));
                    let lacking = if is_beyond { Lacking::Beyond } else { Lacking::Samples };
                    let judgement = known.map_or_else(
                        || Judgement::not_enough(Seen::Unknown, lacking),
                        |ns| {
                            let holds = verdict(relation.holds(ns, limit.0));
                            latency(holds, (ns, None), among_several(examined, thread), limit)
                        },
                    );
                    (known.unwrap_or(i64::MIN), judgement)
                }
            },
        };
        let worse =
            |(known, of): &(i64, Judgement)| (judgement.verdict, observed) > (of.verdict, *known);
        if worst.as_ref().is_none_or(worse) {
            worst = Some((observed, judgement));
        }
    }
    worst.map_or_else(|| nothing(Seen::NoThreads), |(_, judgement)| judgement)
}

/// Any confidence serves where only the observed value is asked for.
const ENOUGH: f64 = 0.95;

fn quantile_of(
    analysis: &Analysis,
    found: &QuantileInterval,
    thread: Option<usize>,
    limit: Nanos,
    relation: Relation,
    confidence: Option<f64>,
) -> Judgement {
    let QuantileInterval { level, observed, between, .. } = *found;
    let of = analysis.statistics.latency_with_skipped.map_or(0, |summary| summary.count);
    let beyond = analysis.above(relation.highest_allowed(limit));
    let (is_supported, over) = (of >= level.needs(), beyond > of.saturating_sub(level.rank(of)));
    if is_supported && confidence.is_none() && analysis.states(level) {
        return latency(
            verdict(relation.holds(observed, limit.0)),
            (observed, None),
            thread,
            limit,
        );
    }
    if is_broken(over, beyond, of, 1.0 - level.share()) {
        if is_supported {
            return latency(Verdict::Fail, (observed, between), thread, limit);
        }
        let seen = Seen::Beyond { n: beyond, of, level, thread };
        return Judgement { verdict: Verdict::Fail, seen, margin: None, lacking: None };
    }
    if !is_supported {
        return Judgement::not_enough(Seen::TooFew { of }, Lacking::Activations(level));
    }
    let Some(confidence) = confidence else {
        return latency(Verdict::Pass, (observed, between), thread, limit);
    };
    let Some(upper) = analysis.quantile_bound(level, confidence) else {
        let seen = Seen::Quantile { observed_ns: observed, upper_ns: None, thread };
        return Judgement::not_enough(seen, Lacking::Bound(level));
    };
    let holds = relation.holds(upper, limit.0);
    Judgement {
        verdict: if holds { Verdict::Pass } else { Verdict::NotEnough },
        seen: Seen::Quantile { observed_ns: observed, upper_ns: Some(upper), thread },
        margin: margin(upper, limit.0),
        lacking: (!holds).then_some(Lacking::CloserBound),
    }
}

/// The share of activations beyond a latency, of all threads. As a quantile, it fails where the
/// recording breaks it.
fn rate(
    examined: &Examined,
    beyond: Nanos,
    limit: f64,
    relation: Relation,
    confidence: f64,
) -> Judgement {
    let found = Analysis::rate_of_all(&examined.analyses, beyond.0, confidence);
    let bound = Analysis::rate_bound_of_all(&examined.analyses, beyond.0, confidence);
    let Some((found, upper)) = found.zip(bound) else { return nothing(Seen::NoRows) };
    let seen = |rate: f64, is_bound: bool| Seen::Rate {
        n: found.beyond,
        of: found.of,
        beyond,
        rate,
        is_bound,
    };
    #[expect(clippy::cast_precision_loss, reason = "counts that are divided")]
    let share = found.beyond as f64 / found.of as f64;
    let margin = |rate: f64| Some((limit - rate) / limit);
    // Some may be below it: they are anywhere beyond the histogram.
    let maybe: u64 =
        examined.analyses.iter().map(|analysis| analysis.statistics.histogram.beyond()).sum();
    let surely = found.beyond.saturating_sub(maybe);
    #[expect(clippy::cast_precision_loss, reason = "counts that are divided")]
    let least = surely as f64 / found.of as f64;
    if is_broken(!relation.holds(least, limit), surely, found.of, limit) {
        let (seen, margin) = (seen(share, false), margin(share));
        return Judgement { verdict: Verdict::Fail, seen, margin, lacking: None };
    }
    let seen = seen(upper, true);
    if relation.holds(upper, limit) {
        return Judgement { verdict: Verdict::Pass, seen, margin: margin(upper), lacking: None };
    }
    let lacking = if found.beyond == 0 {
        let more = stats::samples_for_rate(limit, confidence).saturating_sub(found.of).max(1);
        Lacking::MoreWithin(more)
    } else {
        Lacking::LongerRun
    };
    Judgement { verdict: Verdict::NotEnough, seen, margin: margin(upper), lacking: Some(lacking) }
}

/// What became of the rows of all threads that have samples.
fn accounted(recorded: &Recorded) -> Accounted {
    let threads = recorded.document.threads.iter().zip(&recorded.threads);
    threads.filter_map(|(thread, samples)| Accounted::new(thread, samples)).sum()
}

/// How many there were, of all threads.
fn counted(recorded: &Recorded, of: Count) -> u64 {
    let Accounted { rows, lost } = accounted(recorded);
    match of {
        Count::Skipped => rows.skipped,
        Count::Late => rows.late,
        Count::Lost => lost,
    }
}

/// The largest of a further column, of the thread that is worst in it.
///
/// # Errors
/// Why there is none: a thread never woke, or there are no threads.
fn largest(examined: &Examined, at: usize) -> Result<Worst, Seen> {
    let mut largest: Option<Worst> = None;
    for recorded in examined.recordings() {
        let found = worst_of(beside(recorded, at), largest_of)?;
        if largest.as_ref().is_none_or(|known| found.value > known.value) {
            largest = Some(found);
        }
    }
    largest.ok_or(Seen::NoThreads)
}

/// A further column of each thread.
fn beside(recorded: &Recorded, at: usize) -> impl Iterator<Item = &Statistics> {
    recorded.beside.iter().filter_map(move |beside| beside.columns.get(at.checked_sub(1)?))
}

/// What a further column that counts, by its number, adds up to in all threads. A row that was
/// skipped has missed its deadline.
pub fn total(recorded: &Recorded, at: usize) -> u64 {
    let sum = beside(recorded, at).map(|column| column.moments.sum()).fold(0, i128::saturating_add);
    let sum = u64::try_from(sum.max(0)).unwrap_or(u64::MAX);
    let columns = &recorded.document.probe.columns;
    if columns.get(at).is_some_and(|column| column.name == Column::DEADLINE_MISSED) {
        sum.saturating_add(counted(recorded, Count::Skipped))
    } else {
        sum
    }
}

/// What a further column adds up to.
fn sum(examined: &Examined, at: usize, limit: u64, relation: Relation) -> Judgement {
    let n = examined.recordings().map(|recorded| total(recorded, at)).fold(0, u64::saturating_add);
    held_count(Seen::Sum { n, rows: due(examined) }, n, limit, relation)
}

/// What was counted, of all threads.
fn count(examined: &Examined, of: Count, limit: u64, relation: Relation) -> Judgement {
    let n: u64 = examined.recordings().map(|recorded| counted(recorded, of)).sum();
    held_count(Seen::Count { n, due: due(examined) }, n, limit, relation)
}

/// Rows that were due, of all threads.
fn due(examined: &Examined) -> u64 {
    examined.recordings().map(|recorded| accounted(recorded).rows.due).sum()
}

/// A count, held against its limit.
fn held_count(seen: Seen, n: u64, limit: u64, relation: Relation) -> Judgement {
    #[expect(clippy::cast_precision_loss, reason = "shown to three digits")]
    let margin = (limit > 0).then(|| (limit as f64 - n as f64) / limit as f64);
    Judgement { verdict: verdict(relation.holds(n, limit)), seen, margin, lacking: None }
}
