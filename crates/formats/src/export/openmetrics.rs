// SPDX-License-Identifier: MIT OR Apache-2.0
//! `OpenMetrics` text: a classic histogram of each thread, in buckets that double, and gauges.

use super::{ExportError, Source, counted};
use model::{Quantity, RowCounts, Thread};
use stats::Summary;
use std::io::Write;

/// The upper bound of the first bucket, ns.
const FIRST_NS: i64 = 1_000;
/// Each is twice as large as the one before: up to about 1 s.
const BUCKETS: usize = 21;

fn bucket(ns: i64) -> usize {
    (0..BUCKETS).find(|bucket| ns <= FIRST_NS << bucket).unwrap_or(BUCKETS)
}

/// What values come to by their mean.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    reason = "rounded first, saturating"
)]
fn sum_ns(stated: &Summary) -> i128 {
    (stated.mean * stated.count as f64).round() as i128
}

/// The values of one thread.
#[derive(Clone, Default)]
struct Counts {
    buckets: [u64; BUCKETS + 1],
    sum_ns: i128,
    early: u64,
}

pub(super) fn write(source: &Source<'_>, out: &mut dyn Write) -> Result<Vec<String>, ExportError> {
    let document = &source.recorded.document;
    let mut all = vec![Counts::default(); source.threads()];
    for (place, counts) in all.iter_mut().enumerate() {
        let bucket_number = |ns| i64::try_from(bucket(ns)).unwrap_or(i64::MAX);
        source.each_value(place, bucket_number, false, &mut |_, ns, n| {
            let count = &mut counts.buckets[bucket(ns)];
            *count = count.saturating_add(n);
            let of_all = i128::from(ns).saturating_mul(i128::from(n));
            counts.sum_ns = counts.sum_ns.saturating_add(of_all);
            counts.early = counts.early.saturating_add(if ns < 0 { n } else { 0 });
        })?;
        if let Some(stated) = source.stated(place) {
            counts.sum_ns = sum_ns(&stated);
        }
    }
    let quantity = match document.probe.quantity {
        Quantity::Latency => "latency",
        Quantity::Jitter => "jitter",
        Quantity::Interval => "interval",
    };
    let labels: Vec<String> =
        document.threads.iter().map(|thread| labels(source, thread)).collect();
    let name = format!("teiji_{quantity}_seconds");
    writeln!(out, "# TYPE {name} histogram\n# UNIT {name} seconds")?;
    writeln!(out, "# HELP {name} {}", escaped(source, &document.probe.columns[0].meaning))?;
    for (labels, counts) in labels.iter().zip(&all) {
        let mut up_to = 0_u64;
        for (number, count) in counts.buckets.iter().enumerate() {
            up_to = up_to.saturating_add(*count);
            let bound =
                if number == BUCKETS { "+Inf".to_owned() } else { bound(FIRST_NS << number) };
            writeln!(out, "{name}_bucket{{{labels},le=\"{bound}\"}} {up_to}")?;
        }
        writeln!(out, "{name}_count{{{labels}}} {up_to}")?;
        writeln!(out, "{name}_sum{{{labels}}} {}", seconds(counts.sum_ns))?;
    }
    let max =
        |place: usize| source.recorded.threads[place].latency.map(|of| seconds(i128::from(of.max)));
    let planned = |place: usize| match document.threads[place].activations {
        Some(RowCounts::Planned(counts)) => Some(counts),
        Some(RowCounts::Events { .. }) | None => None,
    };
    let late = |place: usize| Some(planned(place)?.late.to_string());
    let skipped = |place: usize| Some(planned(place)?.skipped.to_string());
    let lost = |place: usize| {
        let lost = source.recorded.threads[place].lost;
        document.knows_lost(&document.threads[place], lost).then(|| lost.to_string())
    };
    type Value<'a> = &'a dyn Fn(usize) -> Option<String>;
    let gauges: [(&str, &str, &str, Value<'_>); 4] = [
        (&format!("teiji_{quantity}_max_seconds"), "seconds", "The largest value", &max),
        ("teiji_late_activations", "", "Activations that were late by a period or more", &late),
        ("teiji_skipped_activations", "", "Activations that never ran", &skipped),
        ("teiji_lost_samples", "", "Samples that were not recorded", &lost),
    ];
    for (name, unit, help, value) in gauges {
        writeln!(out, "# TYPE {name} gauge")?;
        if !unit.is_empty() {
            writeln!(out, "# UNIT {name} {unit}")?;
        }
        writeln!(out, "# HELP {name} {help}")?;
        for (place, labels) in labels.iter().enumerate() {
            if let Some(value) = value(place) {
                writeln!(out, "{name}{{{labels}}} {value}")?;
            }
        }
    }
    writeln!(out, "# EOF")?;
    let early = all.iter().fold(0, |sum: u64, counts| sum.saturating_add(counts.early));
    let below = counted(early, "value below 0", "values below 0");
    Ok(below.map(|of| format!("{of} (in the first bucket there)")).into_iter().collect())
}

fn labels(source: &Source<'_>, thread: &Thread) -> String {
    let cpu = source.recorded.document.probe.cpu_text(thread);
    let name = escaped(source, &source.options.name);
    format!("recording=\"{name}\",thread=\"{}\",cpu=\"{cpu}\"", thread.index)
}

fn escaped(source: &Source<'_>, text: &str) -> String {
    let mut escaped = String::new();
    for letter in (source.options.shown)(text).chars() {
        match letter {
            '\\' | '"' => escaped.extend(['\\', letter]),
            '\n' => escaped.push_str("\\n"),
            _ => escaped.push(letter),
        }
    }
    escaped
}

/// Seconds, exactly.
fn seconds(ns: i128) -> String {
    let sign = if ns < 0 { "-" } else { "" };
    let (whole, rest) = (ns.unsigned_abs() / 1_000_000_000, ns.unsigned_abs() % 1_000_000_000);
    let text = format!("{sign}{whole}.{rest:09}");
    let short = text.trim_end_matches('0');
    if short.ends_with('.') { format!("{short}0") } else { short.to_owned() }
}

/// A bucket's bound as the standard writes it, of at least 1 µs: below 0.0001 with an exponent.
fn bound(ns: i64) -> String {
    let exponent = ns.checked_ilog10().unwrap_or(0);
    if exponent >= 5 {
        return seconds(i128::from(ns));
    }
    let digits = ns.to_string();
    let (first, rest) = digits.split_at(1);
    let rest = rest.trim_end_matches('0');
    let dot = if rest.is_empty() { "" } else { "." };
    format!("{first}{dot}{rest}e-{:02}", 9 - exponent)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_as_the_standard_has_them() {
        let bounds = [1_000, 16_000, 64_000, 128_000, 1_048_576_000].map(bound);
        assert_eq!(bounds, ["1e-06", "1.6e-05", "6.4e-05", "0.000128", "1.048576"]);
        assert_eq!([0, -1_500_000_000, 2_000].map(seconds), ["0.0", "-1.5", "0.000002"]);
        assert_eq!([-5, 1_000, 1_001, 1_048_576_000, i64::MAX].map(bucket), [0, 0, 1, 20, 21]);
    }
}
