// SPDX-License-Identifier: MIT OR Apache-2.0
//! Several recordings in a terminal, a line each.

use crate::format::{count, exact_micros, micros, rounded};
use crate::lab;
use crate::overview::{Overview, Quantile};
use crate::text::{Table, wrapped};
use recording::Recorded;

/// Shown where the samples do not carry a figure.
const NOTHING: &str = "–";

/// The table, and what must be known of its figures.
pub(crate) fn table(recordings: &[Recorded]) -> String {
    let all = Overview::of_all(recordings);
    let head = vec!["recording", "due", "late", "skipped", "min", "mean", "p50", "p99", "p99.9", "max"];
    // In virtual time each ns is meant; on a machine of its own the next run is off by more than a tenth of a µs.
    let text = if lab::is_virtual(&all) { exact_micros } else { micros };
    let rows = all.iter().map(|overview| row(overview, text)).collect();
    let table = Table { head, rows, expendable: &["min", "mean"] };
    let mut out = table.render();
    out.push('\n');
    wrapped(&mut out, "", "Latencies in µs, as measured.");
    for overview in &all {
        let of = |text: String| if all.len() == 1 { text } else { format!("{}: {text}", overview.name) };
        if let Some(how) = overview.no_real_time() {
            wrapped(&mut out, "", &of(format!("NO REAL-TIME RIGHTS: measured with {how}.")));
        }
        if let Some(how) = overview.cut_short() {
            wrapped(&mut out, "", &of(format!("NOT THE WHOLE RUN: this recording {how}.")));
        }
        if overview.lost > 0 {
            wrapped(&mut out, "", &of(format!("SAMPLES LOST: {}.", count(overview.lost))));
        }
        if let Some(which) = overview.load_missed() {
            wrapped(&mut out, "", &of(format!("LOAD MISSED (load_missed): {which}.")));
        }
    }
    for (_, what) in lab::times(&all) {
        wrapped(&mut out, "", &what);
    }
    out
}

fn row(overview: &Overview<'_>, text: fn(i64) -> String) -> Vec<String> {
    let activations = &overview.activations;
    let mut row = vec![overview.name.clone()];
    row.extend([activations.due, activations.late, activations.skipped].map(count));
    let or_nothing = |ns: Option<i64>| ns.map_or_else(|| NOTHING.to_owned(), text);
    row.push(or_nothing(overview.moments.min()));
    row.push(or_nothing(overview.moments.mean().map(rounded)));
    // Over several threads only the histogram knows, to within a hundredth.
    let several = overview.recorded.threads.len() > 1;
    let quantile = |ns: Option<i64>| match ns {
        Some(ns) if several => format!("~{}", micros(ns)),
        ns => or_nothing(ns),
    };
    row.extend([Quantile::P50, Quantile::P99, Quantile::P999].map(|which| quantile(exact(overview, which))));
    row.push(or_nothing(overview.moments.max()));
    row
}

/// The observed value where there is one thread; over several, the histogram's.
fn exact(overview: &Overview<'_>, quantile: Quantile) -> Option<i64> {
    let [thread] = overview.recorded.threads.as_slice() else { return overview.quantile(quantile) };
    let summary = thread.latency.filter(|summary| quantile.is_carried_by(summary.count))?;
    Some(match quantile.denominator {
        1_000 => summary.p999,
        _ if quantile.numerator == 50 => summary.p50,
        _ => summary.p99,
    })
}
