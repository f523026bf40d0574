// SPDX-License-Identifier: MIT OR Apache-2.0
//! A plan's results: a row for each combination of its factors, repeats pooled.
//!
//! Pooled means: as if all repeats had been one run. What the repeats differ in is shown beside it, as the smallest and the
//! largest of their maxima. Recordings are added one by one and let go, so a plan of thousands needs no more memory than its
//! histograms.

use crate::format::{count, exact_micros, micros, rounded};
use crate::lab;
use crate::overview::{Overview, Quantile};
use crate::text::wrapped;
use recording::Recorded;
use serde_json::{Value, json};
use stats::{Activations, Histogram, Moments, nearest_rank};
use std::fmt::Write as _;

/// Shown where there is no figure.
const NOTHING: &str = "–";

/// One combination, with all that was recorded of it.
#[derive(Debug, Default)]
struct Pooled {
    /// The values of the factors, in order; none where a combination does not say.
    factors: Vec<Option<String>>,
    activations: Activations,
    lost: u64,
    histogram: Histogram,
    moments: Moments,
    /// The maximum of each repeat, ns.
    maxima: Vec<i64>,
    /// The smallest and the largest CPU use that each load reached, percent, in the loads' order.
    reached: Vec<(f64, f64)>,
    missed: bool,
    spoiled: Vec<String>,
    runs: u32,
}

impl Pooled {
    /// A combination of which nothing is recorded yet.
    fn of(factors: Vec<Option<String>>) -> Self {
        Pooled { factors, ..Pooled::default() }
    }

    fn add(&mut self, recorded: &Recorded) {
        let overview = Overview::of(recorded);
        self.runs += 1;
        self.activations.merge(&overview.activations);
        self.lost += overview.lost;
        self.histogram.merge(&overview.histogram);
        self.moments.merge(&overview.moments);
        self.maxima.extend(overview.moments.max());
        for (place, reached) in recorded.document.load.iter().filter_map(|load| load.reached).enumerate() {
            match self.reached.get_mut(place) {
                Some((low, high)) => (*low, *high) = (low.min(reached.mean), high.max(reached.mean)),
                None => self.reached.push((reached.mean, reached.mean)),
            }
        }
        self.missed |= recorded.document.load_missed;
        let spoilers = [
            overview.no_real_time().map(|how| format!("measured with {how}")),
            overview.cut_short(),
            (overview.lost > 0).then(|| format!("lost {} samples", count(overview.lost))),
        ];
        self.spoiled.extend(spoilers.into_iter().flatten().filter(|what| !self.spoiled.contains(what)).collect::<Vec<_>>());
    }

    /// From the histogram: up to 1 % above the exact one.
    fn p9999(&self) -> Option<i64> {
        let samples = self.moments.count();
        if !Quantile::P9999.is_carried_by(samples) {
            return None;
        }
        let (bucket, _) = self.histogram.bucket_of_rank(nearest_rank(samples, 9_999, 10_000))?;
        self.moments.max().map(|max| bucket.upper.min(max))
    }

    fn spread(&self) -> Option<(i64, i64)> {
        Some((*self.maxima.iter().min()?, *self.maxima.iter().max()?))
    }
}

/// All combinations of a plan.
#[derive(Debug, Default)]
pub struct Matrix {
    title: Option<String>,
    factors: Vec<String>,
    rows: Vec<Pooled>,
    /// Runs of the plan that have no recording.
    pub missing: usize,
    /// What the ns are, for figures from the lab: each kind once.
    times: Vec<String>,
    /// Whether every figure is exact to the ns.
    is_virtual: Option<bool>,
}

/// The names of the figures.
const HEAD: [&str; 9] = ["n", "mean", "sd", "p99.99", "max", "max of runs", "overruns", "skipped", "load, %"];

impl Matrix {
    /// With the plan's title, the factors' names in order, and for each combination, in the plan's order, their values.
    #[must_use]
    pub fn new(title: Option<String>, factors: Vec<String>, combinations: impl Iterator<Item = Vec<Option<String>>>) -> Self {
        Matrix { title, factors, rows: combinations.map(Pooled::of).collect(), ..Matrix::default() }
    }

    /// Adds a repeat to a row.
    pub fn add(&mut self, row: usize, recorded: &Recorded) {
        self.rows[row].add(recorded);
        let one = [Overview::of(recorded)];
        for (_, text) in lab::times(&one) {
            if !self.times.contains(&text) {
                self.times.push(text);
            }
        }
        self.is_virtual = Some(self.is_virtual.unwrap_or(true) && lab::is_virtual(&one));
    }

    fn cells(&self, row: &Pooled) -> Vec<String> {
        let text = if self.is_virtual == Some(true) { exact_micros } else { micros };
        let or_nothing = |ns: Option<i64>| ns.map_or_else(|| NOTHING.to_owned(), text);
        let spread = row.spread().filter(|_| row.runs > 1).map(|(low, high)| format!("{}–{}", text(low), text(high)));
        let range = |(low, high): &(f64, f64)| {
            let (low, high) = (format!("{low:.1}"), format!("{high:.1}"));
            if low == high { low } else { format!("{low}–{high}") }
        };
        let reached = row.reached.iter().map(range).collect::<Vec<_>>().join(" + ");
        let reached = match (reached.as_str(), row.missed) {
            ("", true) => "missed".to_owned(),
            ("", false) => NOTHING.to_owned(),
            (reached, true) => format!("{reached} missed"),
            (reached, false) => reached.to_owned(),
        };
        let figures = [
            count(row.moments.count()),
            or_nothing(row.moments.mean().map(rounded)),
            or_nothing(row.moments.sd().map(rounded)),
            row.p9999().map_or_else(|| NOTHING.to_owned(), |ns| format!("~{}", micros(ns))),
            or_nothing(row.moments.max()),
            spread.unwrap_or_else(|| NOTHING.to_owned()),
            count(row.activations.late),
            count(row.activations.skipped),
            reached,
        ];
        let names = row.factors.iter().map(|value| value.clone().unwrap_or_else(|| NOTHING.to_owned()));
        if row.runs == 0 {
            return names.chain(HEAD.iter().map(|_| NOTHING.to_owned())).collect();
        }
        names.chain(figures).collect()
    }

    fn head(&self) -> Vec<String> {
        self.factors.iter().cloned().chain(HEAD.map(str::to_owned)).collect()
    }

    /// What must be known of the figures.
    fn notes(&self) -> Vec<String> {
        let mut notes = vec![
            "Latencies in µs, as measured; repeats pooled. ~: from the histogram, up to 1 % above. max of runs: the smallest and \
             the largest maximum of the repeats."
                .to_owned(),
        ];
        notes.extend(self.times.iter().cloned());
        for row in self.rows.iter().filter(|row| !row.spoiled.is_empty()) {
            let values: Vec<&str> = row.factors.iter().flatten().map(String::as_str).collect();
            notes.push(format!("{}: {}.", values.join(", "), row.spoiled.join("; ")));
        }
        if self.missing > 0 {
            notes.push(format!("{} runs of the plan have no recording.", count(self.missing as u64)));
        }
        notes
    }

    /// For a terminal. A plan with many factors is wider than 80 columns.
    #[must_use]
    pub fn text(&self) -> String {
        let rows: Vec<Vec<String>> = std::iter::once(self.head()).chain(self.rows.iter().map(|row| self.cells(row))).collect();
        let mut out = self.title.as_ref().map_or_else(String::new, |title| format!("{title}\n\n"));
        // A column in which nothing stands says nothing.
        let empty = |column: usize| column >= self.factors.len() && rows[1..].iter().all(|row| row[column] == NOTHING);
        let shown: Vec<usize> = (0..rows[0].len()).filter(|column| !empty(*column)).collect();
        let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
        for row in &rows {
            let cell = |column: &usize| {
                let width = width(*column);
                // Factors are read from the left, figures from the point.
                if *column < self.factors.len() {
                    format!("{:<width$}", row[*column])
                } else {
                    format!("{:>width$}", row[*column])
                }
            };
            out.push_str(shown.iter().map(cell).collect::<Vec<_>>().join("  ").trim_end());
            out.push('\n');
        }
        out.push('\n');
        for note in self.notes() {
            wrapped(&mut out, "", &note);
        }
        out
    }

    /// As a table of Markdown, for an issue or a wiki.
    #[must_use]
    pub fn markdown(&self) -> String {
        let line = |cells: &[String]| {
            let cells: Vec<String> = cells.iter().map(|cell| cell.replace('|', "\\|").replace(char::is_control, " ")).collect();
            format!("| {} |\n", cells.join(" | "))
        };
        let mut out =
            self.title.as_ref().map_or_else(String::new, |title| format!("### {}\n\n", title.replace(char::is_control, " ")));
        out += &line(&self.head());
        let rule = |column: usize| if column < self.factors.len() { "---" } else { "--:" };
        let _ = writeln!(out, "| {} |", (0..self.head().len()).map(rule).collect::<Vec<_>>().join(" | "));
        for row in &self.rows {
            out += &line(&self.cells(row));
        }
        for note in self.notes() {
            let _ = write!(out, "\n{note}\n");
        }
        out
    }

    /// As comma-separated values, RFC 4180: factors, then figures in ns. What was not measured is empty.
    #[must_use]
    pub fn csv(&self) -> String {
        let figures = [
            "runs",
            "n",
            "mean_ns",
            "sd_ns",
            "p9999_ns",
            "max_ns",
            "max_of_runs_least_ns",
            "max_of_runs_most_ns",
            "overruns",
            "skipped",
            "lost",
            "loads_least_percent",
            "loads_most_percent",
            "load_missed",
        ];
        let mut out = String::new();
        let line = |cells: Vec<String>| cells.iter().map(|cell| csv_cell(cell)).collect::<Vec<_>>().join(",") + "\r\n";
        out += &line(self.factors.iter().cloned().chain(figures.map(str::to_owned)).collect());
        for row in &self.rows {
            let whole = |ns: Option<i64>| ns.map_or_else(String::new, |ns| ns.to_string());
            let real = |value: Option<f64>| value.map_or_else(String::new, |value| value.to_string());
            // Of several loads, in their order.
            let percent = |of: fn(&(f64, f64)) -> String| row.reached.iter().map(of).collect::<Vec<_>>().join(" ");
            let cells = [
                row.runs.to_string(),
                row.moments.count().to_string(),
                real(row.moments.mean()),
                real(row.moments.sd()),
                whole(row.p9999()),
                whole(row.moments.max()),
                whole(row.spread().map(|(low, _)| low)),
                whole(row.spread().map(|(_, high)| high)),
                row.activations.late.to_string(),
                row.activations.skipped.to_string(),
                row.lost.to_string(),
                percent(|(low, _)| low.to_string()),
                percent(|(_, high)| high.to_string()),
                row.missed.to_string(),
            ];
            out += &line(row.factors.iter().map(|value| value.clone().unwrap_or_default()).chain(cells).collect());
        }
        out
    }

    /// For a program.
    #[must_use]
    pub fn json(&self) -> Value {
        let row = |row: &Pooled| {
            let factors: serde_json::Map<String, Value> =
                self.factors.iter().cloned().zip(row.factors.iter().map(|value| json!(value))).collect();
            json!({
                "factors": factors,
                "runs": row.runs,
                "n": row.moments.count(),
                "mean_ns": row.moments.mean(),
                "sd_ns": row.moments.sd(),
                "p9999_ns": row.p9999(),
                "max_ns": row.moments.max(),
                "max_of_runs_ns": row.maxima,
                "overruns": row.activations.late,
                "skipped": row.activations.skipped,
                "lost": row.lost,
                "loads_percent": row.reached.iter().map(|(low, high)| [low, high]).collect::<Vec<_>>(),
                "load_missed": row.missed,
            })
        };
        json!({
            "title": self.title,
            "combinations": self.rows.iter().map(row).collect::<Vec<_>>(),
            "missing_runs": self.missing,
            "notes": self.notes(),
        })
    }
}

/// Quoted where it must be; never read as a formula by a spreadsheet.
fn csv_cell(cell: &str) -> String {
    if cell.contains([',', '"', '\n', '\r']) { format!("\"{}\"", cell.replace('"', "\"\"")) } else { cell.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::Synthetic;

    fn matrix() -> Matrix {
        let factor = |text: &str| vec![Some("1ms".to_owned()), Some(text.to_owned())];
        let factors = vec!["interval".to_owned(), "load".to_owned()];
        let combinations = [factor("none"), factor("cpu@50%, of \"one\" | core"), vec![None, Some("net".to_owned())]];
        let mut matrix = Matrix::new(Some("A plan".to_owned()), factors, combinations.into_iter());
        matrix.missing = 2;
        matrix.add(0, &Synthetic::idle().threads(1).samples(&[10_000, 20_000, 30_000]).build());
        matrix.add(0, &Synthetic::idle().threads(1).samples(&[20_000, 20_000, 60_000]).build());
        matrix.add(1, &Synthetic::idle().threads(1).samples(&[1_000; 10]).build());
        matrix
    }

    #[test]
    fn repeats_are_pooled_as_if_they_were_one() {
        let json = matrix().json();
        let first = &json["combinations"][0];
        assert_eq!((&first["runs"], &first["n"]), (&json!(2), &json!(6)));
        assert_eq!(first["max_of_runs_ns"], json!([30_000, 60_000]));
        // 10, 20, 30, 20, 20, 60: a mean of 80/3, and by hand a deviation of 17.5119.
        assert!((first["mean_ns"].as_f64().unwrap() - 26_666.666_67).abs() < 0.01, "{first}");
        assert!((first["sd_ns"].as_f64().unwrap() - 17_511.900_7).abs() < 0.01, "{first}");
        assert_eq!(first["p9999_ns"], Value::Null, "six samples carry none");
        assert_eq!(json["combinations"][2]["max_ns"], Value::Null);
        assert_eq!(json["missing_runs"], json!(2));
    }

    #[test]
    fn the_table_has_every_cell() {
        let text = matrix().text();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "A plan");
        assert!(lines[2].starts_with("interval  load") && lines[2].contains("max of runs"), "{text}");
        assert!(lines[3].contains("26.7") && lines[3].contains("30.0–60.0"), "{text}");
        assert!(lines[5].contains("net") && lines[5].contains('–'), "{text}");
        assert!(!lines[2].contains("p99.99"), "no row has one: {text}");
        assert!(text.contains("2 runs of the plan have no recording."), "{text}");
    }

    #[test]
    fn cells_cannot_break_their_tables() {
        let csv = matrix().csv();
        assert_eq!(csv.lines().count(), 4);
        assert!(csv.contains("\r\n1ms,\"cpu@50%, of \"\"one\"\" | core\",1,10,1000,"), "{csv}");
        let markdown = matrix().markdown();
        assert!(markdown.contains("| 1ms | cpu@50%, of \"one\" \\| core | 10 |"), "{markdown}");
        assert_eq!(markdown.lines().filter(|line| line.starts_with("| ")).count(), 5, "{markdown}");
    }
}
