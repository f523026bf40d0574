// SPDX-License-Identifier: MIT OR Apache-2.0
//! A criterion, what was seen and what is lacking, in the current language.

use crate::format::{self, count, exact_micros, ratio as at_scale};
use crate::language::tr;
use crate::sections::caveats::incomplete_reason;
use crate::sections::rows::Rows;
use judge::{Criterion, Judged, Lacking, Seen};
use model::Quantity;
use plan::{Figure, Limit, Subject};

/// The criterion: a limit as it was written.
pub(crate) fn criterion(judged: &Judged) -> String {
    match &judged.criterion {
        Criterion::Limit(limit) => limit.to_string(),
        Criterion::NoLimit => tr!("no limit"),
        Criterion::NotWorse { level, by, than } => {
            let (percent, than) = (percent(*by), than.display());
            match level {
                Some(level) => {
                    tr!("{level} at most {percent} worse than {than}", level, percent, than)
                }
                None => tr!("no quantile more than {percent} worse than {than}", percent, than),
            }
        }
    }
}

/// What decided; empty where there is nothing. Of jitter it says that its size was judged.
pub(crate) fn seen(judged: &Judged) -> String {
    let figure = figure_seen(judged);
    if judges_sizes(judged) { tr!("|jitter| {figure}", figure) } else { figure }
}

/// Whether the figure is one of the size of jitter, on either side of the period.
fn judges_sizes(judged: &Judged) -> bool {
    let is_figure = matches!(
        judged.seen,
        Seen::Latency { .. }
            | Seen::Quantile { .. }
            | Seen::Beyond { .. }
            | Seen::Rate { .. }
            | Seen::Change { .. }
    );
    let varies = matches!(
        &judged.criterion,
        Criterion::Limit(Limit {
            subject: Subject::Latency { of: Figure::Sd | Figure::PeakToPeak, .. },
            ..
        })
    );
    judged.quantity == Quantity::Jitter && is_figure && !varies
}

fn figure_seen(judged: &Judged) -> String {
    let rows = Rows::from(judged.rows);
    match judged.seen {
        Seen::Latency { ns, thread: None } => tr!("{micros} µs", micros = exact_micros(ns)),
        Seen::Latency { ns, thread: Some(thread) } => {
            tr!("{micros} µs on thread {thread}", micros = exact_micros(ns), thread)
        }
        Seen::Quantile { observed_ns, upper_ns, thread } => {
            quantile(&exact_micros(observed_ns), upper_ns, thread)
        }
        Seen::Beyond { n, of, level, thread: None } => tr!(
            "{n} of {all} above it, {level} allows 1 in {one_in}",
            n = count(n),
            all = count(of),
            level,
            one_in = count(level.needs())
        ),
        Seen::Beyond { n, of, level, thread: Some(thread) } => tr!(
            "{n} of {all} above it on thread {thread}, {level} allows 1 in {one_in}",
            n = count(n),
            all = count(of),
            thread,
            level,
            one_in = count(level.needs())
        ),
        Seen::TooFew { of } => tr!("{rows}: too few", rows = rows.counted(of)),
        Seen::Rate { n, of, beyond, rate, is_bound } => {
            let (n, all, rate) = (count(n), count(of), rate_beside(rate, &judged.criterion));
            if is_bound {
                tr!("{n} of {all} above {limit}, rate at most {rate}", n, all, limit = beyond, rate)
            } else {
                tr!("{n} of {all} above {limit}, rate {rate}", n, all, limit = beyond, rate)
            }
        }
        Seen::Count { n, due } => tr!("{n} of {rows}", n = count(n), rows = rows.counted(due)),
        Seen::Change { ns, is_exact, base_ns, base_is_exact, lower, upper } => tr!(
            "{is} after {was}: {change}",
            is = compared(ns, is_exact),
            was = compared(base_ns, base_is_exact),
            change = change(lower, upper)
        ),
        Seen::ThreadWithoutRows(thread) => tr!("thread {thread} measured nothing", thread),
        Seen::NoRows => tr!("nothing was measured"),
        Seen::NoThreads => tr!("no threads"),
        Seen::Nothing => String::new(),
        Seen::Unknown => tr!("not known"),
    }
}

/// A rate to three digits, or to as many as it takes to stand to the limit as the rate itself does.
fn rate_beside(rate: f64, criterion: &Criterion) -> String {
    let Criterion::Limit(Limit { subject: Subject::Rate { limit, .. }, .. }) = criterion else {
        return format!("{rate:.2e}");
    };
    let stands = |shown: &String| {
        shown.parse::<f64>().is_ok_and(|shown| shown.total_cmp(limit) == rate.total_cmp(limit))
    };
    (2..)
        .map(|places: usize| format!("{rate:.places$e}"))
        .take(16)
        .find(stands)
        .unwrap_or_else(|| format!("{rate:e}"))
}

fn quantile(micros: &str, upper_ns: Option<i64>, thread: Option<usize>) -> String {
    match (upper_ns.map(exact_micros), thread) {
        (Some(upper), None) => {
            tr!("at most {upper} µs, {observed} observed", upper, observed = micros)
        }
        (Some(upper), Some(thread)) => {
            tr!(
                "at most {upper} µs, {observed} observed on thread {thread}",
                upper,
                observed = micros,
                thread
            )
        }
        (None, None) => tr!("{micros} µs observed, upper bound unknown", micros),
        (None, Some(thread)) => {
            tr!("{micros} µs observed on thread {thread}, upper bound unknown", micros, thread)
        }
    }
}

/// A quantile as it is shown: of several threads it is that of all of them together, and not quite
/// the observed one.
fn compared(ns: i64, is_exact: bool) -> String {
    let time = format::latency(ns);
    if is_exact { time } else { tr!("~{time} of all threads", time) }
}

/// Why there is not enough evidence; none where what was seen says it.
pub(crate) fn lacking(lacking: Lacking, rows: Rows) -> Option<String> {
    Some(match lacking {
        Lacking::Figure => return None,
        Lacking::Limit => {
            tr!("no limit is named for it: add [limits] to its plan, or name a --limit")
        }
        Lacking::Whole(why) => incomplete_reason(why),
        Lacking::Activations(level) => {
            tr!("{level} needs {needs}", level, needs = count(level.needs()))
        }
        Lacking::Bound(level) => {
            tr!(
                "too few {rows} for an upper bound of {level} at this confidence",
                level,
                rows = rows.plural()
            )
        }
        Lacking::CloserBound => tr!("a longer run would give a tighter bound"),
        Lacking::MoreWithin(more) => {
            tr!("needs {rows}, none above the limit", rows = rows.counted_more(more))
        }
        Lacking::LongerRun => tr!("needs a longer run"),
        Lacking::LongerRuns => tr!("needs longer runs"),
        Lacking::Samples => {
            tr!("the recording holds no samples, which would show what was late, skipped or lost \
                 and how latencies were distributed")
        }
        Lacking::Unplanned => tr!("events are not planned: none is late or skipped"),
        Lacking::ValuesOfSkipped(skipped) => {
            tr!("{skipped} skipped, which have no value to be judged", skipped = count(skipped))
        }
        Lacking::Independent => tr!("too few independent samples to compare any quantile"),
        Lacking::Order => tr!("the order of samples is unknown, so how they depend on one \
                               another cannot be estimated"),
    })
}

/// `16.6 % below the limit`.
fn margin(margin: f64) -> String {
    let percent = (margin.abs() * 100.0 * 10.0).round() / 10.0;
    if percent <= 0.0 && margin > 0.0 {
        tr!("less than 0.1 % below the limit")
    } else if percent <= 0.0 && margin < 0.0 {
        tr!("less than 0.1 % above the limit")
    } else if margin >= 0.0 {
        tr!("{percent} % below the limit", percent)
    } else if percent >= 1_000.0 {
        // At 10 times the limit a percentage helps nobody.
        tr!("{n} times the limit", n = format!("{:.0}", margin.abs() + 1.0))
    } else {
        tr!("{percent} % above the limit", percent)
    }
}

/// What was seen, how far off the limit, and what is lacking.
pub(crate) fn judged_in_words(judged: &Judged) -> String {
    let seen = Some(seen(judged)).filter(|seen| !seen.is_empty());
    let parts = [
        seen,
        judged.margin.map(margin),
        judged.lacking.and_then(|what| lacking(what, judged.rows.into())),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join("; ")
}

/// `10 %`, `2.5 %`.
fn percent(share: f64) -> String {
    let text = format!("{:.1}", share * 100.0);
    format!("{} %", text.strip_suffix(".0").unwrap_or(&text))
}

/// `31 to 44 % lower`, `between 4 % lower and 12 % higher`, `between 6 % lower and 11 times as
/// high`.
pub(crate) fn change(lower: f64, upper: f64) -> String {
    let percent = |ratio: f64| ((ratio - 1.0).abs() * 100.0).round();
    let side = |ratio: f64| match ratio {
        ratio if percent(ratio) < 1.0 => tr!("the same"),
        ratio if ratio < 1.0 => tr!("{n} % lower", n = percent(ratio)),
        ratio if ratio < TIMES => tr!("{n} % higher", n = percent(ratio)),
        ratio => tr!("{n} times as high", n = at_scale(ratio)),
    };
    let (low, high) = (percent(lower), percent(upper));
    match (lower < 1.0, upper < 1.0) {
        _ if low < 1.0 && high < 1.0 => tr!("the same to 1 %"),
        (true, true) if low == high => tr!("{n} % lower", n = low),
        (false, false) if low == high && upper < TIMES => tr!("{n} % higher", n = low),
        (false, false) if low >= 1.0 && upper >= TIMES && at_scale(lower) == at_scale(upper) => {
            tr!("{n} times as high", n = at_scale(lower))
        }
        (true, true) if high >= 1.0 => tr!("{low} to {high} % lower", low = high, high = low),
        (false, false) if low >= 1.0 && upper < TIMES => tr!("{low} to {high} % higher", low, high),
        (false, false) if low >= 1.0 => {
            tr!("{low} to {high} times as high", low = at_scale(lower), high = at_scale(upper))
        }
        _ => tr!("between {low} and {high}", low = side(lower), high = side(upper)),
    }
}

/// From this ratio on a percentage is harder to read than the ratio.
const TIMES: f64 = 3.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_in_words() {
        for (lower, upper, words) in [
            (0.56, 0.69, "31 to 44 % lower"),
            (1.04, 1.12, "4 to 12 % higher"),
            (0.96, 1.12, "between 4 % lower and 12 % higher"),
            (0.998, 1.003, "the same to 1 %"),
            (0.998, 1.2, "between the same and 20 % higher"),
            (0.9, 151.4, "between 10 % lower and 151 times as high"),
            (1.5, 4.25, "1.50 to 4.25 times as high"),
            (0.931, 0.934, "7 % lower"),
            (1.068, 1.072, "7 % higher"),
            (27.1, 27.4, "27 times as high"),
        ] {
            assert_eq!(change(lower, upper), words);
        }
    }
}
