// SPDX-License-Identifier: MIT OR Apache-2.0
//! The table of a plan's results for programs: comma-separated values, and JSON. Times are ns.

use super::Matrix;
use super::cell_stats::{CellStats, CellThread, Figures, parts};
use super::published::{PublishedRun, PublishedTime};
use super::table::Signs;
use crate::csv_rows::CsvRows;
use crate::format;
use crate::language::{Language, in_language};
use crate::phases;
use crate::sections::latencies::Figure;
use crate::sections::time_kind::TimeKind;
use crate::threads::{BETWEEN, in_a_cell};
use judge::Verdict;
use serde_json::{Map, Value, json};

/// Columns behind the factors.
const OURS: [&str; 39] = [
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
    BETWEEN,
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

/// The same of the activations that ran; the largest is the same.
const AS_MEASURED: [Figure; 7] =
    [Figure::Min, Figure::Mean, Figure::Sd, Figure::P50, Figure::P99, Figure::P999, Figure::P9999];
/// Unknown where nothing is recorded.
const OF_RUNS: [&str; 4] = ["n", "as_measured", "overruns", "skipped"];

/// A value of JSON as a cell.
fn cell(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Number(n) if n.is_f64() => n.as_f64().map(|n| n.to_string()).unwrap_or_default(),
        Value::Array(all) => all.iter().map(cell).collect::<Vec<_>>().join(" "),
        other => other.to_string(),
    }
}

impl Matrix {
    /// As comma-separated values, RFC 4180: factors, then figures in ns. What was not measured is
    /// empty. A row that others have measured more than once stands there as often.
    pub fn csv(&self) -> String {
        in_language(Language::English, || {
            let mut rows = CsvRows::new();
            let theirs = if self.published.is_some() { &THEIRS[..] } else { &[] };
            let factors = self.factors.iter().map(|factor| factor.name.as_str());
            rows.push(factors.chain(OURS).chain(theirs.iter().copied()).map(str::to_owned));
            for row in &self.rows {
                let mut of_row = self.row_json(row);
                // No column shows them.
                for name in ["threads", "phases", "max_of_runs_ns"] {
                    of_row[name] = Value::Null;
                }
                for part in parts(row) {
                    let object = self.flat(of_row.clone(), row, part);
                    let factors = (0..self.factors.len())
                        .map(|factor| self.value(row, factor).unwrap_or_default().to_owned());
                    let ours: Vec<String> =
                        factors.chain(OURS.map(|heading| cell(&object[heading]))).collect();
                    let beside = object["published"].as_array().map_or(&[][..], Vec::as_slice);
                    for run in beside {
                        let theirs = THEIRS.map(|heading| {
                            cell(&run[heading.strip_prefix("published_").unwrap_or(heading)])
                        });
                        rows.push(ours.iter().cloned().chain(theirs));
                    }
                    if beside.is_empty() {
                        rows.push(ours.into_iter().chain(theirs.iter().map(|_| String::new())));
                    }
                }
            }
            rows.text()
        })
    }

    /// A row of [`Matrix::json`] with each value below a heading of [`OURS`]; of one thread, where
    /// threads have lines of their own. What is true of the whole row stands in each of them.
    fn flat(&self, mut object: Value, row: &CellStats, part: Option<&CellThread>) -> Value {
        let all = part.map_or_else(|| row.figures(), CellThread::figures);
        for (name, value) in part.map_or_else(Map::new, |part| self.thread_json(part)) {
            object[name] = value;
        }
        for (name, value) in object["as_measured"].as_object().cloned().unwrap_or_default() {
            object[format!("as_measured_{name}")] = value;
        }
        if part.is_none() {
            object["interval_ns"] = json!(row.interval_ns.filter(|_| row.runs > 0));
        }
        let (low, high) = all.spread().unzip();
        (object["max_of_runs_min_ns"], object["max_of_runs_max_ns"]) = (json!(low), json!(high));
        // Of several loads, in their order.
        let (low, high): (Vec<f64>, Vec<f64>) = row.reached.iter().copied().unzip();
        (object["loads_least_percent"], object["loads_most_percent"]) = (json!(low), json!(high));
        object["caveats"] = json!(row.caveats().join("; "));
        object[BETWEEN] = in_a_cell(&all.due.between_by_key()).into();
        object
    }

    /// The figures of the limits that have this verdict.
    fn standing(&self, row: &CellStats, verdict: Verdict) -> Vec<String> {
        self.judged(row)
            .filter(|(_, of)| *of == verdict)
            .map(|(limit, _)| limit.to_owned())
            .collect()
    }

    pub fn json(&self) -> Value {
        in_language(Language::English, || {
            let about = self.rows.iter().any(CellStats::is_about);
            let signs = Signs { max_of_runs: false, about, bounds: [None; 2] };
            json!({
                "title": self.title,
                "unplanned_kernels": self.unplanned,
                "combinations": self.rows.iter().map(|row| self.row_json(row)).collect::<Vec<_>>(),
                "missing_runs": self.missing(),
                "missing_boots": self.boots_missing.boots,
                "notes": self.notes_and_phases(signs),
            })
        })
    }

    fn row_json(&self, row: &CellStats) -> Value {
        let factors: Map<String, Value> = self
            .factors
            .iter()
            .enumerate()
            .map(|(place, factor)| (factor.name.clone(), json!(self.value(row, place))))
            .collect();
        let mut object = json!({
            "factors": factors,
            "runs": row.runs,
            "runs_missing": row.missing,
            "runs_identical": row.identical,
            "time": row.kind.map(TimeKind::key),
            "co_kernel": row.on_cores(format::co_kernel_without_gravity),
            "gravity": row.on_cores(|core| core.gravity.clone().unwrap_or_default()),
            "max_of_runs_ns": row.stats.maxima,
            "lost": row.samples_lost(),
            "loads_percent": row.reached,
            "load_off_target": row.known_off_target(),
            "caveats": row.caveats(),
            "beyond": self.standing(row, Verdict::Fail),
            "inconclusive": self.standing(row, Verdict::NotEnough),
        });
        for (name, value) in figures(&row.figures()) {
            object[name] = value;
        }
        if row.runs == 0 {
            for name in ["runs_identical", "load_off_target"].into_iter().chain(OF_RUNS) {
                object[name] = Value::Null;
            }
        }
        if let Some(published) = &self.published {
            object["published"] =
                row.beside(published).iter().map(|run| published_json(run)).collect();
        }
        if let Some((maxima, paths)) = row.phases() {
            object["phases"] = phases::maxima_json(maxima, |place| paths[place].as_path());
        }
        if !row.threads.is_empty() {
            object["threads"] = row.threads.iter().map(|thread| self.thread_json(thread)).collect();
        }
        object
    }

    /// A thread with an interval of its own.
    fn thread_json(&self, thread: &CellThread) -> Map<String, Value> {
        let mut object = figures(&thread.figures());
        object.insert("thread".to_owned(), json!(thread.index));
        object.insert("interval_ns".to_owned(), json!(thread.interval_ns));
        if let Some(published) = &self.published {
            let beside = thread.beside(published).iter().map(|run| published_json(run)).collect();
            object.insert("published".to_owned(), beside);
        }
        object
    }
}

/// Those of a combination or of one of its threads, by their names.
fn figures(all: &Figures<'_>) -> Map<String, Value> {
    let mut as_measured = all.as_measured.by_key(&AS_MEASURED);
    as_measured.insert("n".to_owned(), json!(all.as_measured.known_count()));
    let mut object = all.due.by_key(&AS_MEASURED);
    object.append(&mut all.due.by_key(&[Figure::PeakToPeak, Figure::Max]));
    let between = all.due.between_by_key();
    if !between.is_empty() {
        object.insert(BETWEEN.to_owned(), between.into());
    }
    object.insert("noise_percent".to_owned(), json!(all.noise()));
    let (overruns, skipped) = (all.activations.late(), all.activations.skipped());
    let of_runs =
        [json!(all.due.known_count()), json!(as_measured), json!(overruns), json!(skipped)];
    object.extend(OF_RUNS.map(str::to_owned).into_iter().zip(of_runs));
    object
}

fn published_json(run: &PublishedRun) -> Value {
    let ns = |time: &Option<PublishedTime>| time.as_ref().map(|time| time.ns);
    json!({
        "source": run.source,
        "year": run.year,
        "hardware": run.hardware,
        "kernel": run.kernel,
        "thread": run.thread(),
        "n": run.samples,
        "min_ns": ns(&run.min),
        "mean_ns": ns(&run.mean),
        "sd_ns": ns(&run.sd),
        "max_ns": ns(&run.max),
        "overruns": run.overruns,
        "note": run.note,
    })
}
