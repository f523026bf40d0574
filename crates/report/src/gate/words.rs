// SPDX-License-Identifier: MIT OR Apache-2.0
//! A criterion, what was seen and what is lacking, in the current language.

use crate::format::{self, count, counted, exact_micros, ratio as at_scale};
use crate::language::{texts, tr};
use crate::sections::caveats::incomplete_reason;
use crate::sections::latencies::bounded;
use crate::sections::rows::Rows;
use judge::{Criterion, Judged, Lacking, Seen};
use model::{Quantity, WithoutPeriod};
use plan::{Figure, Limit, Subject};
use stats::Between;

/// The criterion: a limit as it was written.
pub(crate) fn criterion(judged: &Judged) -> String {
    match &judged.criterion {
        Criterion::Limit(limit) => limit.to_string(),
        Criterion::NoLimit => tr!(no_limit),
        Criterion::NotWorse { level, by, than } => {
            let (percent, than) = (percent(*by), than.display());
            match level {
                Some(level) => {
                    tr!(level_most_percent_worse, level, percent, than)
                }
                None => tr!(no_quantile_more_than, percent, than),
            }
        }
    }
}

/// What decided; empty where there is nothing. Of jitter it says that its size was judged.
pub(crate) fn seen(judged: &Judged) -> String {
    let figure = figure_seen(judged);
    if judges_sizes(judged) { tr!(size_of_jitter_figure, figure) } else { figure }
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
        Seen::Latency { ns, between, thread } => {
            let micros = bounded(between, ns, |ns| micros_beside(ns, between, &judged.criterion));
            match thread {
                None => tr!(micros_us, micros),
                Some(thread) => tr!(micros_us_on_thread, micros, thread),
            }
        }
        Seen::Quantile { observed_ns, upper_ns, thread } => {
            quantile(&exact_micros(observed_ns), upper_ns, thread)
        }
        Seen::Beyond { n, of, level, thread: None } => tr!(
            n_all_above_level,
            n = count(n),
            all = count(of),
            level,
            one_in = count(level.needs())
        ),
        Seen::Beyond { n, of, level, thread: Some(thread) } => tr!(
            n_all_above_on,
            n = count(n),
            all = count(of),
            thread,
            level,
            one_in = count(level.needs())
        ),
        Seen::TooFew { of } => tr!(rows_too_few, rows = rows.counted(of)),
        Seen::Rate { n, of, beyond, rate, is_bound } => {
            let (n, all, rate) = (count(n), count(of), rate_beside(rate, &judged.criterion));
            if is_bound {
                tr!(n_all_above_limit_rate, n, all, limit = beyond, rate)
            } else {
                tr!(n_all_above_limit, n, all, limit = beyond, rate)
            }
        }
        Seen::Count { n, due } => tr!(n_of_rows, n = count(n), rows = rows.counted(due)),
        Seen::Sum { n, rows: all } => tr!(n_in_rows, n = count(n), rows = rows.counted(all)),
        Seen::Change { ns, is_exact, base_ns, base_is_exact, lower, upper } => tr!(
            is_after_was_change,
            is = compared(ns, is_exact),
            was = compared(base_ns, base_is_exact),
            change = change(lower, upper)
        ),
        Seen::ThreadWithoutRows(thread) => tr!(thread_measured_nothing, thread),
        Seen::NoRows => tr!(nothing_was_measured),
        Seen::NoThreads => tr!(no_threads),
        Seen::Nothing => String::new(),
        Seen::Unknown => tr!(not_known),
    }
}

/// A latency to the ns. A mean of which only a bound is known has the digits that tables show, if
/// it stands to the limit so as it does itself.
fn micros_beside(ns: i64, between: Option<Between>, criterion: &Criterion) -> String {
    let Criterion::Limit(Limit {
        subject: Subject::Latency { of: Figure::Mean, limit, .. }, ..
    }) = criterion
    else {
        return exact_micros(ns);
    };
    let shown = (ns + 50).div_euclid(100) * 100;
    let stands = shown.cmp(&limit.0) == ns.cmp(&limit.0);
    if between.is_some() && stands { format::micros(ns) } else { exact_micros(ns) }
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
            tr!(most_upper_us_observed, upper, observed = micros)
        }
        (Some(upper), Some(thread)) => {
            tr!(most_upper_us_observed_on, upper, observed = micros, thread)
        }
        (None, None) => tr!(micros_us_observed_upper, micros),
        (None, Some(thread)) => {
            tr!(micros_us_observed_on, micros, thread)
        }
    }
}

/// A quantile as it is shown: of several threads it is that of all of them together, and not quite
/// the observed one.
fn compared(ns: i64, is_exact: bool) -> String {
    let time = format::latency(ns);
    if is_exact { time } else { tr!(time_of_all_threads, time) }
}

/// Why there is not enough evidence; none where what was seen says it.
pub(crate) fn lacking(lacking: Lacking, rows: Rows) -> Option<String> {
    Some(match lacking {
        Lacking::Figure => return None,
        Lacking::Limit => {
            tr!(no_limit_named_for_add)
        }
        Lacking::Whole(why) => incomplete_reason(why),
        Lacking::Activations(level) => {
            tr!(level_needs, level, needs = count(level.needs()))
        }
        Lacking::Bound(level) => {
            tr!(too_few_rows_for, level, rows = rows.plural())
        }
        Lacking::CloserBound => tr!(longer_run_would_give),
        Lacking::MoreWithin(more) => {
            tr!(needs_rows_none_above, rows = rows.counted_more(more))
        }
        Lacking::LongerRun => tr!(needs_a_longer_run),
        Lacking::LongerRuns => tr!(needs_longer_runs),
        Lacking::Samples => {
            tr!(recording_holds_no_samples)
        }
        Lacking::Unplanned => tr!(events_not_planned_none),
        Lacking::Column => tr!(probe_has_no_such_column),
        Lacking::ColumnUnit => tr!(column_is_of_other_kind),
        Lacking::Period => tr!(no_period_was_found),
        Lacking::PeriodOf(WithoutPeriod { rows, threads }) => tr!(
            no_period_was_found_for,
            rows = counted(rows, texts::n_wake_ups),
            threads = counted(threads, texts::n_threads)
        ),
        Lacking::ValuesOfSkipped(skipped) => {
            tr!(skipped_have_no_value, skipped = count(skipped))
        }
        Lacking::Independent => tr!(too_few_independent_samples),
        Lacking::PassedOver => tr!(periods_passed_over_uncounted),
        Lacking::Others => tr!(others_not_said),
        Lacking::Unit => tr!(unit_of_values_not_said),
        Lacking::Bucket => tr!(anywhere_in_a_bucket),
        Lacking::Beyond => tr!(values_beyond_histogram_unknown),
        Lacking::Resolution(step) => {
            tr!(values_dropped_what_was_beyond, step = exact_micros(step.0))
        }
        Lacking::Order => tr!(order_samples_unknown_so),
    })
}

/// `16.6 % below the limit`.
fn margin(margin: f64) -> String {
    let percent = (margin.abs() * 100.0 * 10.0).round() / 10.0;
    if margin == 0.0 {
        tr!(at_the_limit)
    } else if percent <= 0.0 && margin > 0.0 {
        tr!(less_than_0_1_percent)
    } else if percent <= 0.0 && margin < 0.0 {
        tr!(less_than_0_1_percent_above)
    } else if margin > 0.0 {
        // All of a limit is below it only at 0.
        let percent = if margin < 1.0 { percent.min(99.9) } else { percent };
        tr!(percent_below_the_limit, percent)
    } else if percent >= 1_000.0 {
        // At 10 times the limit a percentage helps nobody.
        tr!(n_times_the_limit, n = format!("{:.0}", margin.abs() + 1.0))
    } else {
        tr!(percent_above_the_limit, percent)
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
    parts.into_iter().flatten().collect::<Vec<_>>().join(texts::semicolon.said())
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
        ratio if percent(ratio) < 1.0 => tr!(the_same),
        ratio if ratio < 1.0 => tr!(n_percent_lower, n = percent_lower(ratio)),
        ratio if ratio < TIMES => tr!(n_percent_higher, n = percent(ratio)),
        ratio => tr!(n_times_as_high, n = at_scale(ratio)),
    };
    let (low, high) = (percent(lower), percent(upper));
    match (lower < 1.0, upper < 1.0) {
        _ if low < 1.0 && high < 1.0 => tr!(same_1_percent),
        (true, true) if percent_lower(lower) == percent_lower(upper) => {
            tr!(n_percent_lower, n = percent_lower(lower))
        }
        (false, false) if low == high && upper < TIMES => tr!(n_percent_higher, n = low),
        (false, false) if low >= 1.0 && upper >= TIMES && at_scale(lower) == at_scale(upper) => {
            tr!(n_times_as_high, n = at_scale(lower))
        }
        (true, true) if high >= 1.0 => {
            tr!(low_high_percent_lower, low = percent_lower(upper), high = percent_lower(lower))
        }
        (false, false) if low >= 1.0 && upper < TIMES => tr!(low_high_percent_higher, low, high),
        (false, false) if low >= 1.0 => {
            tr!(low_high_times_high, low = at_scale(lower), high = at_scale(upper))
        }
        _ => tr!(between_low_and_high, low = side(lower), high = side(upper)),
    }
}

/// By how much a ratio is below 1: `31`, and `99.85` where 100 would say that nothing is left.
fn percent_lower(ratio: f64) -> String {
    let percent = (1.0 - ratio) * 100.0;
    if percent < 99.5 || ratio <= 0.0 {
        return percent.round().to_string();
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a few digits, two of which are of what is left"
    )]
    let digits = (1.0 - (ratio * 100.0).log10().floor()) as usize;
    format!("{percent:.digits$}")
}

/// From this ratio on a percentage is harder to read than the ratio.
const TIMES: f64 = 3.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn margins_in_words() {
        for (of, words) in [
            (0.0, "at the limit"),
            (0.166, "16.6 % below the limit"),
            (0.99998, "99.9 % below the limit"),
            (1.0, "100 % below the limit"),
            (0.0001, "less than 0.1 % below the limit"),
            (-0.0001, "less than 0.1 % above the limit"),
            (-0.5, "50 % above the limit"),
            (-11.0, "12 times the limit"),
        ] {
            assert_eq!(margin(of), words);
        }
    }

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
            // 21,495.8 against 32.4 µs: "100 % lower" said that nothing was left.
            (0.001_5, 0.001_52, "99.85 % lower"),
            (0.001_5, 0.01, "99 to 99.85 % lower"),
            (0.000_015, 1.2, "between 99.9985 % lower and 20 % higher"),
            (0.0, 0.5, "50 to 100 % lower"),
            (1.068, 1.072, "7 % higher"),
            (27.1, 27.4, "27 times as high"),
        ] {
            assert_eq!(change(lower, upper), words);
        }
    }
}
