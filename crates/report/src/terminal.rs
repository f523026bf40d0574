// SPDX-License-Identifier: MIT OR Apache-2.0
//! The summary in a terminal: what spoils the figures first, then one table, then what the figures may claim.

use crate::format::{self, count, counted, micros, micros_f64};
use crate::notices::{NO_REAL_TIME, did};
use crate::overview::{Overview, Quantile};
use recording::Warning;
use stats::Summary;
use std::fmt::Write as _;

/// Columns of a terminal that nobody has widened.
const WIDTH: usize = 80;
/// Shown where the samples do not carry a figure.
const NOTHING: &str = "–";

/// What `teiji measure` ends with and `teiji show` prints again.
pub(crate) fn summary(overview: &Overview<'_>) -> String {
    let mut out = String::new();
    for line in spoilers(overview) {
        wrapped(&mut out, "", &line);
    }
    if !out.is_empty() {
        out.push('\n');
    }
    heading(&mut out, overview);
    out.push('\n');
    out.push_str(&activations(overview).render());
    notes(&mut out, overview);
    skipped(&mut out, overview);
    load(&mut out, overview);
    for warning in &overview.recorded.document.warnings {
        if warning.code != NO_REAL_TIME || overview.no_real_time().is_none() {
            out.push('\n');
            warn(&mut out, warning);
        }
    }
    out
}

fn spoilers(overview: &Overview<'_>) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(how) = overview.no_real_time() {
        lines.push(format!("NO REAL-TIME RIGHTS: measured with {how}."));
        let warning = overview.recorded.document.warnings.iter().find(|warning| warning.code == NO_REAL_TIME);
        lines.extend(warning.filter(|warning| !warning.next_step.is_empty()).map(|warning| format!("  To grant them: {}", warning.next_step)));
    }
    if let Some(policy) = overview.ordinary() {
        lines.push(format!("ORDINARY SCHEDULING: measured with {policy}, as asked; no real-time figures."));
    }
    lines.extend(overview.cut_short().map(|how| format!("NOT THE WHOLE RUN: this recording {how}.")));
    if overview.lost > 0 {
        lines.push(format!("SAMPLES LOST: {}; what they would have shown is not known.", count(overview.lost)));
    }
    lines
}

fn heading(out: &mut String, overview: &Overview<'_>) {
    let document = &overview.recorded.document;
    let host = &document.host.before;
    let mut parts = vec![format!("{}: cyclic, every {}", overview.name, document.run.interval_ns)];
    if document.run.distance_ns.0 != 0 {
        parts[0] += &format!(" (+{} for each further thread)", document.run.distance_ns);
    }
    parts.push(format!("{} planned", length(overview)));
    parts.push(overview.condition());
    let mut machine: Vec<&str> = Vec::new();
    machine.extend(host.kernel.as_deref());
    machine.extend(host.preemption.as_deref());
    let mut granted: Vec<String> = document.threads.iter().map(|thread| thread.scheduling.to_string()).collect();
    granted.dedup();
    wrapped(out, "", &parts.join(", "));
    wrapped(out, "", &format!("{} on Linux {}", granted.join(", "), machine.join(", ")));
}

/// How long the run was to be.
pub(crate) fn length(overview: &Overview<'_>) -> String {
    let run = &overview.recorded.document.run;
    match run.length {
        plan::Length::Samples(n) => format!("{} of each thread", counted(n, "activation")),
        plan::Length::DurationNs(duration) => format::span(duration),
    }
}

/// Rows of text below a heading, flush right.
struct Table {
    head: Vec<&'static str>,
    rows: Vec<Vec<String>>,
    /// Columns to leave out first when the table is too wide.
    expendable: &'static [&'static str],
}

impl Table {
    fn render(&self) -> String {
        let widths: Vec<usize> = (0..self.head.len())
            .map(|column| self.rows.iter().map(|row| row[column].chars().count()).chain([self.head[column].chars().count()]).max().unwrap_or(0))
            .collect();
        let mut shown: Vec<usize> = (0..self.head.len()).collect();
        let mut gap = 2;
        let total = |shown: &[usize], gap: usize| shown.iter().map(|column| widths[*column] + gap).sum::<usize>() - gap;
        let mut expendable = self.expendable.iter();
        while total(&shown, gap) > WIDTH {
            if gap > 1 {
                gap -= 1;
            } else if let Some(name) = expendable.next() {
                shown.retain(|column| self.head[*column] != *name);
            } else {
                break;
            }
        }
        let mut out = String::new();
        let head: Vec<String> = self.head.iter().map(|name| (*name).to_owned()).collect();
        for row in std::iter::once(&head).chain(&self.rows) {
            let cells: Vec<String> = shown.iter().map(|column| format!("{:>width$}", row[*column], width = widths[*column])).collect();
            out.push_str(cells.join(&" ".repeat(gap)).trim_end());
            out.push('\n');
        }
        out
    }
}

fn activations(overview: &Overview<'_>) -> Table {
    let head = vec!["thread", "cpu", "due", "on time", "late", "skipped", "min", "mean", "p50", "p99", "p99.9", "max"];
    let threads = overview.recorded.document.threads.iter().zip(&overview.recorded.threads);
    let mut rows: Vec<Vec<String>> = threads
        .map(|(thread, statistics)| {
            let mut row = vec![thread.index.to_string(), thread.cpu.to_string()];
            row.extend(accounts(&statistics.activations));
            row.extend(statistics.latency.as_ref().map_or_else(|| vec![NOTHING.to_owned(); 6], |summary| {
                let mut cells = vec![micros(summary.min)];
                cells.extend(figures(summary));
                cells
            }));
            row
        })
        .collect();
    if rows.len() > 1 {
        let moments = &overview.moments;
        let mut row = vec!["all".to_owned(), String::new()];
        row.extend(accounts(&overview.activations));
        row.push(moments.min().map_or_else(|| NOTHING.to_owned(), micros));
        row.push(moments.mean().map_or_else(|| NOTHING.to_owned(), micros_f64));
        row.extend(
            [Quantile::P50, Quantile::P99, Quantile::P999]
                .map(|quantile| overview.quantile(quantile).map_or_else(|| NOTHING.to_owned(), |ns| format!("~{}", micros(ns)))),
        );
        row.push(moments.max().map_or_else(|| NOTHING.to_owned(), micros));
        rows.push(row);
    }
    Table { head, rows, expendable: &["p50", "mean", "on time"] }
}

fn accounts(activations: &stats::Activations) -> [String; 4] {
    [activations.due, activations.on_time, activations.late, activations.skipped].map(count)
}

/// Mean, p50, p99, p99.9, max.
fn figures(summary: &Summary) -> [String; 5] {
    let quantile = |quantile: Quantile, ns: i64| if quantile.is_carried_by(summary.count) { micros(ns) } else { NOTHING.to_owned() };
    [
        micros_f64(summary.mean),
        quantile(Quantile::P50, summary.p50),
        quantile(Quantile::P99, summary.p99),
        quantile(Quantile::P999, summary.p999),
        micros(summary.max),
    ]
}

fn notes(out: &mut String, overview: &Overview<'_>) {
    out.push('\n');
    let mut text = "Latencies in µs, as measured.".to_owned();
    if overview.recorded.threads.len() > 1 {
        text += " ~ is at most 1 % above the exact value.";
    }
    if overview.recorded.threads.iter().any(|thread| thread.latency.is_some_and(|s| !Quantile::P999.is_carried_by(s.count))) {
        text += " – stands where there are too few samples for the figure.";
    }
    let warmup = overview.recorded.document.run.warmup_ns;
    if warmup.0 > 0 {
        text += &format!(" The first {warmup} were warm-up and are not in the figures.");
    }
    wrapped(out, "", &text);
    if let Some(claim) = overview.claim() {
        wrapped(out, "", &format!("{claim}."));
    }
}

fn skipped(out: &mut String, overview: &Overview<'_>) {
    let with: Vec<_> = overview
        .recorded
        .document
        .threads
        .iter()
        .zip(&overview.recorded.threads)
        .filter(|(_, statistics)| statistics.activations.skipped > 0)
        .filter_map(|(thread, statistics)| Some((thread, statistics.latency_with_skipped?)))
        .collect();
    if with.is_empty() {
        return;
    }
    out.push('\n');
    wrapped(out, "", "With the skipped activations counted in, each from its own planned time:");
    let rows = with.iter().map(|(thread, summary)| {
        let mut row = vec![thread.index.to_string(), thread.cpu.to_string(), count(summary.count)];
        row.extend(figures(summary));
        row
    });
    let table = Table { head: vec!["thread", "cpu", "count", "mean", "p50", "p99", "p99.9", "max"], rows: rows.collect(), expendable: &[] };
    out.push_str(&table.render());
}

fn load(out: &mut String, overview: &Overview<'_>) {
    let document = &overview.recorded.document;
    if document.load.is_empty() && document.run.loads.is_empty() {
        return;
    }
    out.push('\n');
    if document.load.is_empty() {
        wrapped(out, "", "Load: asked for, and what it reached was not recorded.");
    }
    for load in &document.load {
        wrapped(out, "", &format!("Load {}: {}.", load.spec, reached(load)));
    }
}

/// What a load was asked for and what it did, as one phrase.
fn reached(load: &recording::LoadEvidence) -> String {
    let mut parts = Vec::new();
    if let Some(requested) = load.requested {
        parts.push(format!("{requested:.0} % asked for"));
    }
    parts.push(load.reached.map_or_else(
        || "what it reached could not be observed".to_owned(),
        |reached| format!("{:.1} % of each CPU reached ({:.1} % in its worst second)", reached.mean, reached.worst_second),
    ));
    parts.extend(did(load));
    parts.push(counted(load.tasks, "task"));
    if !load.alive {
        parts.push("IT DID NOT RUN THE WHOLE TIME".to_owned());
    }
    parts.join(", ")
}

fn warn(out: &mut String, warning: &Warning) {
    wrapped(out, "", &format!("Warning: {}", warning.message));
    if !warning.evidence.is_empty() {
        wrapped(out, "  ", &format!("Seen: {}", warning.evidence));
    }
    if !warning.next_step.is_empty() {
        wrapped(out, "  ", &format!("Do: {}", warning.next_step));
    }
}

/// Adds lines of at most [`WIDTH`] columns; a word longer than a line stays whole, so that a command can be copied.
/// What comes from outside cannot move the cursor: control characters become spaces.
fn wrapped(out: &mut String, indent: &str, text: &str) {
    let lead: String = text.chars().take_while(|c| *c == ' ').collect();
    let indent = format!("{indent}{lead}");
    let mut line = indent.clone();
    for word in text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty()) {
        if line.len() > indent.len() && line.chars().count() + 1 + word.chars().count() > WIDTH {
            let _ = writeln!(out, "{line}");
            line = format!("{indent}  ");
        } else if line.trim_start().len() > 0 {
            line.push(' ');
        }
        line.push_str(word);
    }
    let _ = writeln!(out, "{line}");
}
