// SPDX-License-Identifier: MIT OR Apache-2.0
//! The table of a plan's results for programs: comma-separated values, and JSON. Times are ns.

use super::Matrix;
use super::cell_stats::{CellStats, CellThread, beside, parts};
use super::published::PublishedRun;
use crate::csv_rows::CsvRows;
use crate::format;
use crate::language::{Language, in_language};
use crate::phases;
use crate::sections::lab::TimeKind;
use crate::sections::latencies::Latencies;
use judge::Verdict;
use serde_json::{Map, Value, json};
use stats::Level;

/// Columns behind the factors.
const OURS: [&str; 38] = [
    "thread",
    "interval_ns",
    "runs",
    "runs_missing",
    "runs_identical",
    "time",
    "n",
    "min_ns",
    "mean_ns",
    "sd_ns",
    "peak_to_peak_ns",
    "p50_ns",
    "p99_ns",
    "p999_ns",
    "p9999_ns",
    "max_ns",
    "max_of_runs_min_ns",
    "max_of_runs_max_ns",
    "noise_percent",
    "overruns",
    "skipped",
    "lost",
    "loads_least_percent",
    "loads_most_percent",
    "load_off_target",
    "caveats",
    "beyond",
    "inconclusive",
    "as_measured_n",
    "as_measured_min_ns",
    "as_measured_mean_ns",
    "as_measured_sd_ns",
    "as_measured_p50_ns",
    "as_measured_p99_ns",
    "as_measured_p999_ns",
    "as_measured_p9999_ns",
    "co_kernel",
    "gravity",
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
    /// As comma-separated values, RFC 4180: factors, then figures in ns. What was not measured is
    /// empty. A row that others have measured more than once stands there as often.
    #[must_use]
    pub fn csv(&self) -> String {
        in_language(Language::English, || self.in_csv())
    }

    fn in_csv(&self) -> String {
        let mut rows = CsvRows::new();
        let theirs = if self.published.is_some() { &THEIRS[..] } else { &[] };
        let factors = self.factors.iter().map(|factor| factor.name.as_str());
        rows.push(factors.chain(OURS).chain(theirs.iter().copied()).map(str::to_owned));
        for row in &self.rows {
            for part in parts(row) {
                let factors = (0..self.factors.len()).map(|factor| text(self.value(row, factor)));
                let ours: Vec<String> = factors.chain(self.ours(row, part)).collect();
                let beside = self.published.as_ref().map(|published| beside(row, part, published));
                match beside.as_deref() {
                    None => rows.push(ours),
                    Some([]) => {
                        rows.push(ours.into_iter().chain(THEIRS.map(|_| String::new())));
                    }
                    Some(runs) => runs.iter().for_each(|run| {
                        rows.push(ours.iter().cloned().chain(theirs_of(run)));
                    }),
                }
            }
        }
        rows.text()
    }

    /// Of one thread, where threads have lines of their own; what is true of the whole row stands
    /// in each of them.
    fn ours(&self, row: &CellStats, part: Option<&CellThread>) -> [String; OURS.len()] {
        let all = part.map_or_else(|| row.figures(), CellThread::figures);
        // Of several loads, in their order.
        let percent = |of: fn(&(f64, f64)) -> String| {
            row.reached.iter().map(of).collect::<Vec<_>>().join(" ")
        };
        let of_runs = |n: u64| text((row.runs > 0).then_some(n));
        let interval_ns = part.map_or(row.interval_ns, |part| Some(part.interval_ns.0));
        [
            text(part.map(|part| part.index)),
            text(interval_ns.filter(|_| row.runs > 0)),
            row.runs.to_string(),
            row.missing.to_string(),
            of_runs(row.identical.into()),
            text(row.kind.map(TimeKind::key)),
            of_runs(all.due.count()),
            text(all.due.min()),
            text(all.due.mean()),
            text(all.due.sd()),
            text(all.peak_to_peak()),
            text(all.due.quantile(Level::P50)),
            text(all.due.quantile(Level::P99)),
            text(all.due.quantile(Level::P999)),
            text(all.due.quantile(Level::P9999)),
            text(all.due.max()),
            text(all.spread().map(|(low, _)| low)),
            text(all.spread().map(|(_, high)| high)),
            text(all.noise()),
            text(all.activations.late().filter(|_| row.runs > 0)),
            text(all.activations.skipped().filter(|_| row.runs > 0)),
            text(row.samples_lost()),
            percent(|(low, _)| low.to_string()),
            percent(|(_, high)| high.to_string()),
            text((row.runs > 0).then_some(row.off_target)),
            caveats(row).join("; "),
            self.standing(row, Verdict::Fail).join(" "),
            self.standing(row, Verdict::NotEnough).join(" "),
            of_runs(all.as_measured.count()),
            text(all.as_measured.min()),
            text(all.as_measured.mean()),
            text(all.as_measured.sd()),
            text(all.as_measured.quantile(Level::P50)),
            text(all.as_measured.quantile(Level::P99)),
            text(all.as_measured.quantile(Level::P999)),
            text(all.as_measured.quantile(Level::P9999)),
            text(row.on_cores(format::co_kernel_without_gravity)),
            text(row.on_cores(|core| core.gravity.clone().unwrap_or_default())),
        ]
    }

    /// The figures of the limits that have this verdict.
    fn standing(&self, row: &CellStats, verdict: Verdict) -> Vec<String> {
        self.judged(row)
            .filter(|(_, of)| *of == verdict)
            .map(|(limit, _)| limit.to_owned())
            .collect()
    }

    #[must_use]
    pub fn json(&self) -> Value {
        in_language(Language::English, || self.in_json())
    }

    fn in_json(&self) -> Value {
        let row = |row: &CellStats| {
            let factors: Map<String, Value> = self
                .factors
                .iter()
                .enumerate()
                .map(|(place, factor)| (factor.name.clone(), json!(self.value(row, place))))
                .collect();
            let of_runs = |n: u64| (row.runs > 0).then_some(n);
            let all = row.figures();
            let mut object = json!({
                "factors": factors,
                "runs": row.runs,
                "runs_missing": row.missing,
                "runs_identical": of_runs(row.identical.into()),
                "time": row.kind.map(TimeKind::key),
                "co_kernel": row.on_cores(format::co_kernel_without_gravity),
                "gravity": row.on_cores(|core| core.gravity.clone().unwrap_or_default()),
                "n": of_runs(all.due.count()),
                "min_ns": all.due.min(),
                "mean_ns": all.due.mean(),
                "sd_ns": all.due.sd(),
                "peak_to_peak_ns": all.peak_to_peak(),
                "p50_ns": all.due.quantile(Level::P50),
                "p99_ns": all.due.quantile(Level::P99),
                "p999_ns": all.due.quantile(Level::P999),
                "p9999_ns": all.due.quantile(Level::P9999),
                "max_ns": all.due.max(),
                "as_measured": (row.runs > 0).then(|| as_measured(all.as_measured)),
                "max_of_runs_ns": row.stats.maxima,
                "noise_percent": all.noise(),
                "overruns": all.activations.late().filter(|_| row.runs > 0),
                "skipped": all.activations.skipped().filter(|_| row.runs > 0),
                "lost": row.samples_lost(),
                "loads_percent": row.reached.iter().map(|(low, high)| [low, high]).collect::<Vec<_>>(),
                "load_off_target": (row.runs > 0).then_some(row.off_target),
                "caveats": caveats(row),
                "beyond": self.standing(row, Verdict::Fail),
                "inconclusive": self.standing(row, Verdict::NotEnough),
            });
            if let Some(published) = &self.published {
                object["published"] =
                    row.beside(published).iter().map(|run| published_json(run)).collect();
            }
            if let Some((maxima, paths)) = row.phases() {
                object["phases"] = phases::maxima_json(maxima, |place| paths[place].as_path());
            }
            if !row.threads.is_empty() {
                object["threads"] =
                    row.threads.iter().map(|thread| self.thread_json(thread)).collect();
            }
            object
        };
        json!({
            "title": self.title,
            "combinations": self.rows.iter().map(row).collect::<Vec<_>>(),
            "missing_runs": self.missing(),
            "notes": self.notes_and_phases(),
        })
    }
}

impl Matrix {
    /// A thread with an interval of its own.
    fn thread_json(&self, thread: &CellThread) -> Value {
        let all = thread.figures();
        let mut object = json!({
            "thread": thread.index,
            "interval_ns": thread.interval_ns.0,
            "n": all.due.count(),
            "min_ns": all.due.min(),
            "mean_ns": all.due.mean(),
            "sd_ns": all.due.sd(),
            "peak_to_peak_ns": all.peak_to_peak(),
            "p50_ns": all.due.quantile(Level::P50),
            "p99_ns": all.due.quantile(Level::P99),
            "p999_ns": all.due.quantile(Level::P999),
            "p9999_ns": all.due.quantile(Level::P9999),
            "max_ns": all.due.max(),
            "as_measured": as_measured(all.as_measured),
            "noise_percent": all.noise(),
            "overruns": all.activations.late(),
            "skipped": all.activations.skipped(),
        });
        if let Some(published) = &self.published {
            object["published"] =
                thread.beside(published).iter().map(|run| published_json(run)).collect();
        }
        object
    }
}

/// The same figures of the activations that ran; the largest is the same.
fn as_measured(latencies: Latencies<'_>) -> Value {
    json!({
        "n": latencies.count(),
        "min_ns": latencies.min(),
        "mean_ns": latencies.mean(),
        "sd_ns": latencies.sd(),
        "p50_ns": latencies.quantile(Level::P50),
        "p99_ns": latencies.quantile(Level::P99),
        "p999_ns": latencies.quantile(Level::P999),
        "p9999_ns": latencies.quantile(Level::P9999),
    })
}

fn caveats(row: &CellStats) -> Vec<&str> {
    let texts = row.texts();
    let caveats = texts.caveats.iter().map(|caveat| &caveat.phrase);
    texts.rights.iter().chain(&texts.run_caveats).chain(caveats).map(String::as_str).collect()
}

fn theirs_of(run: &PublishedRun) -> [String; THEIRS.len()] {
    [
        run.source.clone(),
        text(run.year),
        run.hardware.clone(),
        run.kernel.clone(),
        run.thread(),
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
        "thread": run.thread(),
        "n": run.samples,
        "min_ns": run.min_ns,
        "mean_ns": run.mean_ns,
        "sd_ns": run.sd_ns,
        "max_ns": run.max_ns,
        "overruns": run.overruns,
        "note": run.note,
    })
}
