// SPDX-License-Identifier: MIT OR Apache-2.0
//! The table of a plan's results for programs: comma-separated values, and JSON. Times are ns.

use super::Matrix;
use super::pooled::Pooled;
use super::published::PublishedRun;
use crate::overview::Quantile;
use serde_json::{Map, Value, json};

/// Columns behind the factors.
const OURS: [&str; 15] = [
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
    "beyond",
];
/// Columns of what others have published, where it was asked for.
const THEIRS: [&str; 9] = [
    "published_source",
    "published_hardware",
    "published_kernel",
    "published_n",
    "published_min_ns",
    "published_mean_ns",
    "published_sd_ns",
    "published_max_ns",
    "published_overruns",
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
        write(self.factors.iter().map(String::as_str).chain(OURS).chain(theirs.iter().copied()).map(str::to_owned).collect());
        for row in &self.rows {
            let factors = row.factors.iter().map(|value| text(value.as_ref()));
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
        [
            row.runs.to_string(),
            row.moments.count().to_string(),
            text(row.moments.mean()),
            text(row.moments.sd()),
            text(row.quantile(Quantile::P9999)),
            text(row.moments.max()),
            text(row.spread().map(|(low, _)| low)),
            text(row.spread().map(|(_, high)| high)),
            row.activations.late.to_string(),
            row.activations.skipped.to_string(),
            row.lost.to_string(),
            percent(|(low, _)| low.to_string()),
            percent(|(_, high)| high.to_string()),
            row.missed.to_string(),
            self.beyond(row).join(" "),
        ]
    }

    /// Which figures were seen beyond the plan's limit.
    pub(super) fn beyond(&self, row: &Pooled) -> Vec<String> {
        let beyond = self.limits.iter().filter(|limit| row.is_beyond(limit) == Some(true));
        beyond.map(|limit| limit.figure.to_string()).collect()
    }

    /// For a program.
    #[must_use]
    pub fn json(&self) -> Value {
        let row = |row: &Pooled| {
            let factors: Map<String, Value> =
                self.factors.iter().cloned().zip(row.factors.iter().map(|value| json!(value))).collect();
            let mut object = json!({
                "factors": factors,
                "runs": row.runs,
                "n": row.moments.count(),
                "mean_ns": row.moments.mean(),
                "sd_ns": row.moments.sd(),
                "p9999_ns": row.quantile(Quantile::P9999),
                "max_ns": row.moments.max(),
                "max_of_runs_ns": row.maxima,
                "overruns": row.activations.late,
                "skipped": row.activations.skipped,
                "lost": row.lost,
                "loads_percent": row.reached.iter().map(|(low, high)| [low, high]).collect::<Vec<_>>(),
                "load_missed": row.missed,
                "beyond": self.beyond(row),
            });
            if let Some(published) = &self.published {
                object["published"] = row.beside(published).iter().map(|run| published_json(run)).collect();
            }
            object
        };
        json!({
            "title": self.title,
            "combinations": self.rows.iter().map(row).collect::<Vec<_>>(),
            "missing_runs": self.missing,
            "notes": self.notes(),
        })
    }
}

fn theirs_of(run: &PublishedRun) -> [String; THEIRS.len()] {
    [
        run.source.clone(),
        run.hardware.clone(),
        run.kernel.clone(),
        text(run.samples),
        text(run.min_ns),
        text(run.mean_ns),
        text(run.sd_ns),
        text(run.max_ns),
        text(run.overruns),
    ]
}

fn published_json(run: &PublishedRun) -> Value {
    json!({
        "source": run.source,
        "year": run.year,
        "hardware": run.hardware,
        "kernel": run.kernel,
        "n": run.samples,
        "min_ns": run.min_ns,
        "mean_ns": run.mean_ns,
        "sd_ns": run.sd_ns,
        "max_ns": run.max_ns,
        "overruns": run.overruns,
        "note": run.note,
    })
}
