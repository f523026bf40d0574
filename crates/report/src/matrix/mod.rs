// SPDX-License-Identifier: MIT OR Apache-2.0
//! A plan's results: a row for each combination of its factors, repeats pooled.
//!
//! Pooled means: as if all repeats had been one run. What the repeats differ in is shown beside it, as the smallest and the
//! largest of their maxima. Recordings are added one by one and let go, but for those with the latest wake-ups that a page
//! is to draw, so a plan of thousands needs no more memory than its histograms.

mod circumstances;
mod drawing;
mod heat;
mod page;
#[cfg(test)]
mod page_tests;
mod pooled;
mod published;
mod sheet;
mod values;
mod verdict;

pub use published::{Published, PublishedError};

use crate::format::count;
use crate::lab;
use crate::overview::{Overview, Quantile, list};
use circumstances::Circumstances;
use plan::Limit;
use pooled::Pooled;
use recording::Recorded;

/// Recordings that are kept to be drawn: some ten MB.
const MOST_KEPT: usize = 256;

/// All combinations of a plan.
#[derive(Debug, Default)]
pub struct Matrix {
    title: Option<String>,
    factors: Vec<String>,
    rows: Vec<Pooled>,
    /// What the plan wants its figures to stay below.
    pub limits: Vec<Limit>,
    /// Runs of the plan that have no recording.
    pub missing: usize,
    /// Figures of others to stand beside ours.
    pub published: Option<Published>,
    /// What the ns are, for figures from the lab: each kind once.
    times: Vec<String>,
    /// Whether every figure is exact to the ns.
    is_virtual: Option<bool>,
    circumstances: Circumstances,
    /// Those with the latest wake-ups.
    kept: Vec<Kept>,
}

/// A recording that may be drawn.
#[derive(Debug)]
struct Kept {
    row: usize,
    /// From 1.
    repeat: u32,
    recorded: Recorded,
}

impl Kept {
    /// The latest wake-up, ns.
    fn max(&self) -> Option<i64> {
        self.recorded.threads.iter().filter_map(|thread| thread.latency.map(|summary| summary.max)).max()
    }
}

impl Matrix {
    /// With the plan's title, the factors' names in order, and for each combination, in the plan's order, their values.
    #[must_use]
    pub fn new(title: Option<String>, factors: Vec<String>, combinations: impl Iterator<Item = Vec<Option<String>>>) -> Self {
        Matrix { title, factors, rows: combinations.map(Pooled::of).collect(), ..Matrix::default() }
    }

    /// Adds a repeat, numbered from 1, to a row.
    pub fn add(&mut self, row: usize, repeat: u32, recorded: Recorded) {
        let one = [Overview::of(&recorded)];
        self.rows[row].add(&one[0]);
        self.circumstances.add(&one[0]);
        for (_, text) in lab::times(&one) {
            if !self.times.contains(&text) {
                self.times.push(text);
            }
        }
        self.is_virtual = Some(self.is_virtual.unwrap_or(true) && lab::is_virtual(&one));
        self.kept.push(Kept { row, repeat, recorded });
        if self.kept.len() > MOST_KEPT {
            let least = self.kept.iter().enumerate().min_by_key(|(_, kept)| kept.max()).map_or(0, |(place, _)| place);
            self.kept.swap_remove(least);
        }
    }

    /// Places of the factors that take more than one value.
    fn varied(&self) -> Vec<usize> {
        let differs = |factor: &usize| self.rows.iter().any(|row| row.factors[*factor] != self.rows[0].factors[*factor]);
        (0..self.factors.len()).filter(differs).collect()
    }

    /// What must be known of the figures.
    fn notes(&self) -> Vec<String> {
        let mut notes = vec!["Latencies in µs, as measured.".to_owned()];
        if self.rows.iter().any(|row| row.quantile(Quantile::P9999).is_some()) {
            notes[0] += " ~: from the histogram, up to 1 % above.";
        }
        if self.rows.iter().any(|row| row.runs > 1) {
            notes[0] += " Repeats are pooled; max of runs: the smallest and the largest of their maxima.";
        }
        notes.extend(self.times.iter().cloned());
        let varied = self.varied();
        for row in self.rows.iter().filter(|row| !row.spoiled.is_empty()) {
            notes.push(format!("{}: {}.", row.name(&varied), row.spoiled.join("; ")));
        }
        notes.extend(self.limits_judged());
        if self.missing > 0 {
            notes.push(format!("{} runs of the plan have no recording.", count(self.missing as u64)));
        }
        notes
    }

    /// What was seen beyond the plan's limits. That nothing was is no promise, and not said as one.
    fn limits_judged(&self) -> Option<String> {
        let wanted: Vec<String> = self.limits.iter().map(ToString::to_string).collect();
        let measured = || self.rows.iter().filter(|row| row.runs > 0);
        let judged = |limit: &Limit| {
            let beyond = measured().filter(|row| row.is_beyond(limit) == Some(true)).count();
            let unknown = measured().filter(|row| row.is_beyond(limit).is_none()).count();
            let unknown = (unknown > 0).then(|| format!(" and not to be told of {unknown}, which have too few samples"));
            format!("{} was beyond its limit in {beyond} of {}{}", limit.figure, measured().count(), unknown.unwrap_or_default())
        };
        let judged: Vec<String> = self.limits.iter().map(judged).collect();
        (!self.limits.is_empty()).then(|| format!("The plan wants {}: {}.", list(&wanted), judged.join("; ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::Synthetic;
    use serde_json::{Value, json};

    fn matrix() -> Matrix {
        let factor = |text: &str| vec![Some("1ms".to_owned()), Some(text.to_owned())];
        let factors = vec!["interval".to_owned(), "load".to_owned()];
        let combinations = [factor("none"), factor("cpu@50%, of \"one\" | core"), vec![None, Some("net".to_owned())]];
        let mut matrix = Matrix::new(Some("A plan".to_owned()), factors, combinations.into_iter());
        matrix.missing = 2;
        matrix.add(0, 1, Synthetic::idle().threads(1).samples(&[10_000, 20_000, 30_000]).build());
        matrix.add(0, 2, Synthetic::idle().threads(1).samples(&[20_000, 20_000, 60_000]).build());
        matrix.add(1, 1, Synthetic::idle().threads(1).samples(&[1_000; 10]).build());
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

    #[test]
    fn what_is_beyond_a_limit_is_said_and_what_cannot_be_told() {
        let mut matrix = matrix();
        matrix.limits = ["max<60us", "p90<20us", "p99<1us"].map(|limit| limit.parse().unwrap()).into();
        let json = matrix.json();
        // Six samples: their 90 % is not carried; ten carry it, and theirs is 1 µs.
        assert_eq!((&json["combinations"][0]["beyond"], &json["combinations"][1]["beyond"]), (&json!(["max"]), &json!([])));
        let text = matrix.text();
        assert!(text.lines().nth(3).unwrap().ends_with("max"), "{text}");
        let said = "The plan wants max < 60us, p90 < 20us and p99 < 1us: max was beyond its limit in 1 of 2; p90 was beyond its \
                    limit in 0 of 2 and not to be told of 1, which have too few samples; p99 was beyond its limit in 0 of 2 and \
                    not to be told of 2";
        assert!(text.replace("\n  ", " ").replace('\n', " ").contains(said), "{text}");
    }

    #[test]
    fn what_others_published_stands_beside_it() {
        let mut matrix = matrix();
        let lines = "source,year,hardware,kernel,patch,policy,load,load_pct,period_us,samples,min_us,avg_us,max_us,sd_us,overruns,note\n\
                     Somebody,2010,a board,2.6.31,none,,none,0,1000,100000,,7.036,402.131,3.167,4,\n\
                     Another,2020,a desk,4.19,none,fifo,none,0,1000,30000,3,5,289,,,\n";
        matrix.published = Some(Published::read("a.csv", lines.as_bytes()).unwrap());
        let text = matrix.text();
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[2].ends_with("their mean  their sd  their max  their overruns  whose"), "{text}");
        assert!(lines[3].ends_with("  7.0       3.2      402.1               4    [1]"), "{text}");
        // Loads are told by the recording, not by a factor's name. A second one of the same combination: a line of its own, with nothing of ours.
        assert!(lines[4].trim_start().starts_with("5.0") && lines[4].ends_with("[2]"), "{text}");
        assert!(lines[7].trim_end_matches(['–', ' ']).ends_with("net"), "{text}");
        assert!(text.contains("[1] Somebody; a board; Linux 2.6.31; 100,000 wake-ups"), "{text}");
        let csv = matrix.csv();
        assert_eq!(csv.lines().count(), 6, "{csv}");
        assert!(csv.contains("1ms,none,2,6,") && csv.contains(",Another,a desk,4.19,30000,3000,5000,,289000,"), "{csv}");
        let json = matrix.json();
        assert_eq!(json["combinations"][0]["published"][0]["mean_ns"], json!(7_036));
        assert_eq!(json["combinations"][2]["published"], json!([]));
    }
}
