// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a recording supports beyond its figures, in words: quantiles with their intervals, the tail
//! or why it is not extrapolated, periods, changes, what happened on several CPUs at once.

use crate::format::list;
use crate::format::{self, count, latency};
use crate::language::{Text, texts, tr};
use crate::sections::due::due_since_first;
use crate::sections::latencies::bounded;
use crate::sections::refusals;
use crate::sections::rows::Rows;
use model::{Document, Thread};
use plan::Nanos;
use stats::{
    Analysis, Change, ChangeKind, Level, Mode, Period, QuantileInterval, Refusal, TailFit,
    Together, Worst, together,
};

/// What one thread's samples support beyond its figures: confidence intervals, tail, periods,
/// changes. Light, so that many recordings can be held at once.
#[derive(Clone, Debug)]
pub struct Inference {
    pub(crate) quantiles: Vec<QuantileInterval>,
    pub(crate) tail: Result<TailFit, Refusal>,
    pub(crate) periods: Vec<Period>,
    pub(crate) changes: Vec<Change>,
    pub(crate) modes: Vec<Mode>,
    /// The latest wake-ups, for comparison with other threads.
    latest: Vec<Worst>,
}

/// The latest wake-ups of a thread, independent of one another, whose times are compared with
/// others'.
const LATEST: usize = 200;
/// Each of a quantile's two ends.
const CONFIDENCE: f64 = 0.975;
/// Two threads are called late together where chance alone makes any two so in less of all runs
/// than this.
const CHANCE: f64 = 1e-3;

impl Inference {
    /// From an analysis of the thread's samples.
    pub fn from_analysis(analysis: &Analysis) -> Inference {
        let woken = analysis.statistics.latency_with_skipped.map_or(0, |summary| summary.count);
        let supported = Level::ALL.into_iter().filter(|level| woken >= level.needs());
        Inference {
            quantiles: supported.filter_map(|level| analysis.quantile(level, CONFIDENCE)).collect(),
            tail: analysis.tail(),
            periods: analysis.periods.clone(),
            changes: analysis.changes(),
            modes: analysis.modes(),
            latest: analysis.latest(LATEST),
        }
    }
}

/// A sentence: what it is about, and what it says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Message {
    /// `p99.9`, `tail`, `period`, `change`, `together`.
    pub(crate) about: String,
    /// The word that says what that is.
    pub(crate) term: &'static str,
    pub(crate) words: String,
}

fn message(about: Text, words: String) -> Message {
    Message { about: about.said().to_owned(), term: about.in_english(), words }
}

/// Everything that is inferred about one thread.
pub(crate) fn of_thread(
    inference: &Inference,
    document: &Document,
    thread: &Thread,
) -> Vec<Message> {
    inference
        .quantiles
        .iter()
        .map(quantile)
        .chain(beside_quantiles(inference, document, thread))
        .collect()
}

/// A quantile and its interval in a table, µs: `16.6` and `16.1–17.3`, `≥ 16.1`, or nothing.
pub(crate) fn interval(interval: &QuantileInterval) -> (String, String) {
    let ends = match format::fine_micros_outward(interval.lower, interval.upper) {
        (Some(lower), Some(upper)) => format!("{lower}–{upper}"),
        (Some(lower), None) => format!("≥ {lower}"),
        (None, Some(upper)) => format!("≤ {upper}"),
        (None, None) => String::new(),
    };
    (bounded(interval.between, interval.observed, format::fine_micros), ends)
}

/// The same without the quantiles.
pub(crate) fn beside_quantiles(
    inference: &Inference,
    document: &Document,
    thread: &Thread,
) -> Vec<Message> {
    let rows = Rows::from(document.probe.rows);
    // How far a tail goes on is said by time, and a number of events is none.
    let mut all: Vec<Message> =
        document.probe.is_planned().then(|| tail(&inference.tail, rows)).into_iter().collect();
    all.extend((!inference.modes.is_empty()).then(|| modes(&inference.modes)));
    // A number of events is no time.
    if !document.probe.is_planned() {
        return all;
    }
    all.extend(
        inference
            .periods
            .iter()
            .map(|one| message(texts::period, period(one, thread.interval_ns, rows))),
    );
    all.extend(
        inference.changes.iter().map(|one| message(texts::change, change(one, document, thread))),
    );
    all
}

/// `83.4 µs, between 80.1 µs and 90.2 µs`.
fn quantile(interval: &QuantileInterval) -> Message {
    let seen = bounded(interval.between, interval.observed, latency);
    let words = match (interval.lower.map(format::at_least), interval.upper.map(format::at_most)) {
        (Some(lower), Some(upper)) => {
            tr!(seen_between_lower_upper, seen, lower, upper)
        }
        (Some(lower), None) => tr!(seen_least_lower_too, seen, lower),
        (None, Some(upper)) => tr!(seen_at_most_upper, seen, upper),
        (None, None) if interval.effective <= 0.0 => {
            tr!(seen_no_interval_recording, seen)
        }
        (None, None) => tr!(seen_too_few_independent, seen),
    };
    Message { about: interval.level.to_string(), term: "p99.9", words }
}

/// `once an hour 120 µs (110 to 140 µs), once a day ...`, or why not.
fn tail(tail: &Result<TailFit, Refusal>, rows: Rows) -> Message {
    let fit = match tail {
        Ok(fit) => fit,
        Err(why) => {
            return message(
                texts::tail,
                tr!(not_extrapolated_why, why = refusals::words(why, rows)),
            );
        }
    };
    let levels: Vec<String> = (fit.levels.iter())
        .map(|level| {
            let [at, lower, upper] = [level.level_ns, level.lower_ns, level.upper_ns]
                .map(|ns| latency(format::rounded(ns)));
            let once = match level.horizon.name {
                "hour" => texts::once_an_hour,
                "day" => texts::once_a_day,
                _ => texts::once_a_year,
            }
            .said();
            tr!(once_above_lower_upper, once, at, lower, upper)
        })
        .collect();
    let shape = match fit.region.shape {
        (_, upper) if upper < 0.0 => texts::bounded,
        (lower, _) if lower > 0.0 => texts::heavy_tailed,
        _ => texts::bounded_heavy_tailed_not,
    }
    .said();
    let two = |value: f64| format!("{value:.2}");
    let basis = tr!(
        latencies_above_threshold_in,
        latencies = format::counted(fit.exceedances as u64, texts::n_latencies),
        threshold = latency(fit.threshold_ns),
        clusters = format::counted(fit.clusters as u64, texts::n_clusters),
        xi = two(fit.gpd.shape),
        lower = two(fit.region.shape.0),
        upper = two(fit.region.shape.1),
        shape
    );
    if levels.is_empty() {
        let words = tr!(not_extrapolated_run_too, basis);
        return message(texts::tail, words);
    }
    message(texts::tail, tr!(levels_if_nothing_changes, levels = list(&levels), basis))
}

/// `71 % around 12.3 µs, 24 % around 31.0 µs and 5 % around 83.4 µs`.
fn modes(modes: &[Mode]) -> Message {
    let one = |mode: &Mode| {
        tr!(
            share_percent_around_peak,
            share = format!("{:.0}", mode.share * 100.0),
            peak = latency(mode.peak_ns)
        )
    };
    message(texts::modes, list(&modes.iter().map(one).collect::<Vec<_>>()))
}

/// `slower every 5,000 activations (5 s) ...`; late is an interval or more.
pub(crate) fn period(period: &Period, interval: Nanos, rows: Rows) -> String {
    let ns = period.activations * interval.0 as f64;
    let activations = format!("{:.2}", period.activations);
    let activations = activations.trim_end_matches('0').trim_end_matches('.');
    let (n, time) = (thousands(activations), latency(format::rounded(ns)));
    let every = if period.latency_ns >= interval.0 {
        tr!(late_every_n_rows, n, rows = rows.plural(), time)
    } else {
        tr!(slower_every_n_rows, n, rows = rows.plural(), time)
    };
    let text = tr!(
        every_typically_latency_present,
        every,
        latency = latency(period.latency_ns),
        present = format!("{:.0}", period.present * 100.0),
        when = off(period.jitter, rows)
    );
    if is_as_often_as_samples_are_written(ns) {
        return tr!(period_about_period_teijis, period = text);
    }
    text
}

/// The recorder writes twice a second. Where every CPU is measured, it runs on one of them, and
/// what it has the kernel do there is seen.
fn is_as_often_as_samples_are_written(ns: f64) -> bool {
    let flush_ns = model::FLUSH_INTERVAL.0 as f64;
    // It looks at the clock a few times a second, and writes at the first look behind the interval.
    (0.98 * flush_ns..1.06 * flush_ns).contains(&ns)
}

/// How far half of what comes every so often is from its time, in activations.
fn off(jitter: f64, rows: Rows) -> String {
    match format!("{:.0}", jitter.ceil()).as_str() {
        "0" => tr!(half_them_exact_row, row = rows.singular()),
        n => tr!(half_them_within_rows, rows = rows.counted(n.parse().unwrap_or(0))),
    }
}

/// Thousands apart, what stands behind a point as it is.
fn thousands(number: &str) -> String {
    let (whole, behind) =
        number.split_once('.').map_or((number, None), |(whole, behind)| (whole, Some(behind)));
    let whole = whole.parse().map_or_else(|_| whole.to_owned(), count);
    behind.map_or_else(|| whole.clone(), |behind| format!("{whole}.{behind}"))
}

fn change(change: &Change, document: &Document, thread: &Thread) -> String {
    let which = refusals::part(change.part);
    let (before, after) = (latency(change.before_ns), latency(change.after_ns));
    match change.kind {
        ChangeKind::Step => {
            let at = due_since_first(document, thread, change.activation);
            tr!(goes_from_before_after, which, before, after, at = format::span(Nanos(at)))
        }
        ChangeKind::Drift => {
            tr!(drifts_from_before_after, which, before, after)
        }
    }
}

/// Threads that are late at the same moments, beyond chance.
pub(crate) fn at_once(document: &Document, inferences: &[Inference]) -> Vec<Message> {
    if !document.probe.is_planned() {
        return Vec::new();
    }
    let times = |(thread, inference): (&Thread, &Inference)| -> Vec<i64> {
        // Late is when the thread woke, not when it was due: what kept two of them waiting ended
        // for both at once.
        let woke = |worst: &Worst| {
            let behind = i64::try_from(worst.activation).ok()?.checked_mul(thread.interval_ns.0)?;
            thread.start_ns.0.checked_add(behind)?.checked_add(worst.latency_ns)
        };
        let mut times: Vec<i64> = inference.latest.iter().filter_map(woke).collect();
        times.sort_unstable();
        times
    };
    let threads =
        &document.threads[..document.threads.len().min(inferences.len()).min(MAX_COMPARED)];
    let times: Vec<Vec<i64>> = threads.iter().zip(inferences).map(times).collect();
    let pairs = threads.len() * threads.len().saturating_sub(1) / 2;
    let span = |thread: &Thread| {
        i64::try_from(thread.activations.map_or(0, |counts| counts.all().due))
            .unwrap_or(i64::MAX)
            .saturating_mul(thread.interval_ns.0)
    };
    let mut found = Vec::new();
    for (one, first) in threads.iter().enumerate() {
        for (other, second) in threads.iter().enumerate().skip(one + 1) {
            let apart = first.interval_ns.0.max(second.interval_ns.0) / 2;
            let both = together(&times[one], &times[other], apart, span(first).min(span(second)));
            // Of many pairs some fall together by chance.
            found.extend(
                both.filter(|both| both.chance < CHANCE / pairs as f64)
                    .map(|both| (one, other, both)),
            );
        }
    }
    found.sort_by_key(|(_, _, both)| std::cmp::Reverse(both.together));
    let more = found.len().saturating_sub(MAX_PAIRS);
    let mut all: Vec<Message> = found
        .iter()
        .take(MAX_PAIRS)
        .map(|(one, other, both)| message(texts::at_once, pair(*one, *other, both)))
        .collect();
    if more > 0 {
        all.push(message(
            texts::at_once,
            tr!(and_more_of_pairs, more, pairs = format::counted(pairs as u64, texts::n_pairs)),
        ));
    }
    all
}

/// Threads that are compared with one another: more pairs would take longer than all else of a
/// page.
const MAX_COMPARED: usize = 256;
/// Pairs of threads that are listed.
const MAX_PAIRS: usize = 3;

fn pair(one: usize, other: usize, both: &Together) -> String {
    tr!(
        n_latest_largest_latencies,
        n = both.together,
        latest = both.of,
        one,
        other,
        expected = format!("{:.1}", both.expected)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const ACTIVATIONS: Rows = Rows::One(model::RowKind::Activations);

    /// An interval that is rounded does not become narrower.
    #[test]
    fn the_lower_end_is_rounded_down() {
        let seen = QuantileInterval {
            between: None,
            level: Level::P999,
            observed: 5_001_000,
            lower: Some(3_257_700),
            upper: None,
            effective: 100.0,
        };
        assert_eq!(
            quantile(&seen).words,
            "5.00 ms, at least 3.25 ms (too few independent samples for an upper bound)"
        );
        let both = QuantileInterval { upper: Some(6_001_000), ..seen };
        assert_eq!(quantile(&both).words, "5.00 ms, between 3.25 ms and 6.01 ms");
        let early = QuantileInterval { lower: Some(-3_257_700), ..both };
        assert_eq!(quantile(&early).words, "5.00 ms, between -3.26 ms and 6.01 ms");
    }

    #[test]
    fn periods_in_words() {
        let five_seconds = Period {
            activations: 5_000.0,
            first: 17.0,
            jitter: 0.4,
            present: 0.98,
            latency_ns: 83_449,
            chance: 1e-9,
        };
        assert_eq!(
            period(&five_seconds, Nanos::from_millis(1), ACTIVATIONS),
            "slower every 5,000 activations (5.00 s): typically 83.4 µs, at 98 % of these times, \
             half of them within 1 activation"
        );
        let of_ours = Period { activations: 512.0, ..five_seconds };
        let text = period(&of_ours, Nanos::from_millis(1), ACTIVATIONS);
        assert!(text.ends_with("; about the period of teiji's recorder"), "{text}");
        assert_eq!(off(0.0, ACTIVATIONS), "half of them at the exact activation");
        assert_eq!(off(2.5, ACTIVATIONS), "half of them within 3 activations");
        let overruns = Period { latency_ns: 1_000_000, ..five_seconds };
        assert!(
            period(&overruns, Nanos::from_millis(1), ACTIVATIONS)
                .starts_with("late every 5,000 activations")
        );
        assert_eq!(thousands("12345.25"), "12,345.25");
    }
}
