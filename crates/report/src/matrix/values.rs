// SPDX-License-Identifier: MIT OR Apache-2.0
//! The table of a plan's results for programs: comma-separated values, and JSON. Times are ns.

use super::Matrix;
use super::pooled::{Judgement, Pooled};
use super::published::PublishedRun;
use crate::lab::Kind;
use crate::overview::Quantile;
use serde_json::{Map, Value, json};

/// Columns behind the factors.
const OURS: [&str; 20] = [
    "runs",
    "runs_missing",
    "runs_identical",
    "time",
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
    "spoiled",
    "beyond",
    "not_told",
];
/// Columns of what others have published, where it was asked for.
const THEIRS: [&str; 12] = [
    "published_source",
    "published_year",
    "published_hardware",
    "published_kernel",
    "published_thread",
    "published_n",
    "published_min_ns",
    "published_mean_ns",
    "published_sd_ns",
    "published_max_ns",
    "published_overruns",
    "published_note",
];

fn text<T: ToString>(value: Option<T>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}

impl Matrix {
    /// As comma-separated values, RFC 4180: factors, then figures in ns. What was not measured is empty. A row that others
    /// have measured more than once stands there as often.
    #[must_use]
    pub fn csv(&self) -> String {
        let mut writer = csv::WriterBuilder::new().terminator(csv::Terminator::CRLF).from_writer(Vec::new());
        // Into memory, and each record as long as the first: nothing can fail.
        let mut write = |cells: Vec<String>| drop(writer.write_record(&cells));
        let theirs = if self.published.is_some() { &THEIRS[..] } else { &[] };
        write(
            self.factors
                .iter()
                .map(|factor| factor.name.as_str())
                .chain(OURS)
                .chain(theirs.iter().copied())
                .map(str::to_owned)
                .collect(),
        );
        for row in &self.rows {
            let factors = (0..self.factors.len()).map(|factor| text(self.value(row, factor)));
            let ours: Vec<String> = factors.chain(self.ours(row)).collect();
            let beside = self.published.as_ref().map(|published| row.beside(published));
            match beside.as_deref() {
                None => write(ours),
                Some([]) => write(ours.into_iter().chain(THEIRS.map(|_| String::new())).collect()),
                Some(runs) => runs.iter().for_each(|run| write(ours.iter().cloned().chain(theirs_of(run)).collect())),
            }
        }
        writer.into_inner().ok().and_then(|bytes| String::from_utf8(bytes).ok()).unwrap_or_default()
    }

    fn ours(&self, row: &Pooled) -> [String; OURS.len()] {
        // Of several loads, in their order.
        let percent = |of: fn(&(f64, f64)) -> String| row.reached.iter().map(of).collect::<Vec<_>>().join(" ");
        let of_runs = |n: u64| text((row.runs > 0).then_some(n));
        [
            row.runs.to_string(),
            row.missing.to_string(),
            of_runs(row.identical.into()),
            text(row.kind.map(Kind::key)),
            of_runs(row.moments.count()),
            text(row.moments.mean()),
            text(row.moments.sd()),
            text(row.quantile(Quantile::P9999)),
            text(row.moments.max()),
            text(row.spread().map(|(low, _)| low)),
            text(row.spread().map(|(_, high)| high)),
            of_runs(row.activations.late),
            of_runs(row.activations.skipped),
            of_runs(row.lost),
            percent(|(low, _)| low.to_string()),
            percent(|(_, high)| high.to_string()),
            text((row.runs > 0).then_some(row.missed)),
            spoilers(row).join("; "),
            self.standing(row, Judgement::Beyond).join(" "),
            self.standing(row, Judgement::NotTold).join(" "),
        ]
    }

    /// The figures that stand so to the plan's limits; none of what is not recorded.
    fn standing(&self, row: &Pooled, stand: Judgement) -> Vec<String> {
        let standing = self.limits.iter().filter(|limit| row.runs > 0 && row.judge_by(limit) == stand);
        standing.map(|limit| limit.figure.to_string()).collect()
    }

    /// For a program.
    #[must_use]
    pub fn json(&self) -> Value {
        let row = |row: &Pooled| {
            let factors: Map<String, Value> = self
                .factors
                .iter()
                .enumerate()
                .map(|(place, factor)| (factor.name.clone(), json!(self.value(row, place))))
                .collect();
            let of_runs = |n: u64| (row.runs > 0).then_some(n);
            let mut object = json!({
                "factors": factors,
                "runs": row.runs,
                "runs_missing": row.missing,
                "runs_identical": of_runs(row.identical.into()),
                "time": row.kind.map(Kind::key),
                "n": of_runs(row.moments.count()),
                "mean_ns": row.moments.mean(),
                "sd_ns": row.moments.sd(),
                "p9999_ns": row.quantile(Quantile::P9999),
                "max_ns": row.moments.max(),
                "max_of_runs_ns": row.maxima,
                "overruns": of_runs(row.activations.late),
                "skipped": of_runs(row.activations.skipped),
                "lost": of_runs(row.lost),
                "loads_percent": row.reached.iter().map(|(low, high)| [low, high]).collect::<Vec<_>>(),
                "load_missed": (row.runs > 0).then_some(row.missed),
                "spoiled": spoilers(row),
                "beyond": self.standing(row, Judgement::Beyond),
                "not_told": self.standing(row, Judgement::NotTold),
            });
            if let Some(published) = &self.published {
                object["published"] = row.beside(published).iter().map(|run| published_json(run)).collect();
            }
            object
        };
        json!({
            "title": self.title,
            "combinations": self.rows.iter().map(row).collect::<Vec<_>>(),
            "missing_runs": self.missing(),
            "notes": self.notes(),
        })
    }
}

fn spoilers(row: &Pooled) -> Vec<&str> {
    row.rights.iter().chain(&row.spoiled).map(String::as_str).collect()
}

fn theirs_of(run: &PublishedRun) -> [String; THEIRS.len()] {
    [
        run.source.clone(),
        text(run.year),
        run.hardware.clone(),
        run.kernel.clone(),
        run.thread.clone(),
        text(run.samples),
        text(run.min_ns),
        text(run.mean_ns),
        text(run.sd_ns),
        text(run.max_ns),
        text(run.overruns),
        run.note.clone(),
    ]
}

fn published_json(run: &PublishedRun) -> Value {
    json!({
        "source": run.source,
        "year": run.year,
        "hardware": run.hardware,
        "kernel": run.kernel,
        "thread": run.thread,
        "n": run.samples,
        "min_ns": run.min_ns,
        "mean_ns": run.mean_ns,
        "sd_ns": run.sd_ns,
        "max_ns": run.max_ns,
        "overruns": run.overruns,
        "note": run.note,
    })
}
