// SPDX-License-Identifier: MIT OR Apache-2.0
//! Several recordings in a terminal, a line each, below what they must not be read without.

use crate::format::{count, exact_micros, micros, rounded};
use crate::language::translated;
use crate::overview::{Overview, population};
use crate::sections::lab;
use crate::sections::latencies::NOTHING;
use crate::sections::verdict;
use crate::terminal::text::{Table, wrapped};
use model::Recorded;
use stats::Level;

/// The caveats, then the table, then what its figures are.
pub(crate) fn table(recordings: &[Recorded]) -> String {
    let all = Overview::all(recordings);
    let head = ["recording", "due", "late", "skipped", "min", "mean", "p50", "p99", "p99.9", "max"].map(translated).to_vec();
    // In virtual time each ns is meant; on a real machine the next run is off by more than a tenth of a µs.
    let text = if lab::is_virtual(&all) { exact_micros } else { micros };
    let rows = all.iter().map(|overview| row(overview, text)).collect();
    let mut out = String::new();
    let caveats = verdict::caveats_alone(&all);
    if !caveats.is_empty() {
        wrapped(&mut out, "", &caveats);
        out.push('\n');
    }
    out += &Table { head, rows }.render();
    out.push('\n');
    wrapped(&mut out, "", population(all.iter().any(Overview::has_skipped)));
    for (_, what) in lab::times(&all) {
        wrapped(&mut out, "", &what);
    }
    out
}

fn row(overview: &Overview<'_>, text: fn(i64) -> String) -> Vec<String> {
    let activations = &overview.activations;
    let mut row = vec![overview.name.clone()];
    let counts = [activations.due(), activations.late(), activations.skipped()];
    row.extend(counts.map(|n| n.map_or_else(|| NOTHING.to_owned(), count)));
    let or_nothing = |ns: Option<i64>| ns.map_or_else(|| NOTHING.to_owned(), text);
    let due = overview.due();
    row.push(or_nothing(due.min()));
    row.push(or_nothing(due.mean().map(rounded)));
    // Over several threads only the histogram knows, to within a hundredth.
    let quantile = |level| if due.about().is_empty() { or_nothing(due.quantile(level)) } else { due.quantile_text(level) };
    row.extend([Level::P50, Level::P99, Level::P999].map(quantile));
    row.push(or_nothing(due.max()));
    row
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::Synthetic;

    #[test]
    fn caveats_stand_above_the_table() {
        let mut recordings = [Synthetic::idle().build(), Synthetic::hackbench().build()];
        recordings[1].document.load_off_target = true;
        let text = table(&recordings);
        let output = "Load off target in hackbench: off by more than 5 points (load_off_target). Steal time 1.0 % \
                    (100 ms) on CPU 0 in hackbench; clocksource changed from tsc to hpet in hackbench.";
        let (front, rest) = text.split_once("\n\n").unwrap();
        assert_eq!(front.replace("\n  ", " ").replace('\n', " "), output, "{text}");
        assert!(rest.starts_with("recording "), "{text}");
        assert!(table(&[Synthetic::idle().build()]).starts_with("recording "));
    }
}
