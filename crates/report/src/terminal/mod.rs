// SPDX-License-Identifier: MIT OR Apache-2.0
//! The summary in a terminal: the verdict first, as on the page, then one table, then confidence intervals and the tail.

use crate::sections::accounts::Accounts;
use crate::sections::columns::{self, ColumnRow, Meaning};
pub(crate) mod histogram;
pub(crate) mod load_table;
pub(crate) mod paint;
pub(crate) mod plan_length;
pub(crate) mod side_by_side;
pub(crate) mod text;

use crate::format::{self, count, counted, micros, micros_f64};
use crate::language::say;
use crate::overview::Overview;
use crate::sections::banners;
use crate::sections::claims::{self, Claims, Said};
use crate::sections::lab;
use crate::sections::loads;
use crate::sections::verdict;
use crate::warnings::{NextStep, warning_text};
use model::{Thread, Warning};
use paint::Paint;
use stats::{Level, Summary};
use text::{Table, unwrapped, wrapped};

/// Shown where there are too few samples for a figure.
const NOTHING: &str = "–";

/// What `teiji measure` ends with and `teiji show` prints again.
pub(crate) fn summary(overview: &Overview<'_>, paint: Paint) -> String {
    let mut out = String::new();
    headline(&mut out, overview, paint);
    out.push('\n');
    heading(&mut out, overview);
    out.push('\n');
    out.push_str(&activations(overview).painted(paint, &["late", "skipped"]));
    legend(&mut out, overview, paint);
    if let Some(claim) = overview.claim() {
        wrapped(&mut out, "", &format!("{claim}."));
    }
    as_measured(&mut out, overview);
    further_columns(&mut out, overview);
    load(&mut out, overview);
    for warning in banners::below_the_top(overview) {
        out.push('\n');
        warn(&mut out, warning, paint);
    }
    out
}

/// The verdict, with what would grant rights that were lacking, and what the ns of the lab are.
fn headline(out: &mut String, overview: &Overview<'_>, paint: Paint) {
    let mut verdict = String::new();
    wrapped(&mut verdict, "", &verdict::verdict(std::slice::from_ref(overview)));
    out.push_str(&paint.headline(&verdict));
    let document = &overview.recorded.document;
    if let Some(warning) = banners::denied(document).filter(|_| overview.no_real_time().is_some()) {
        next_step(out, &warning_text(warning).next_step);
    }
    if let Some(lab) = &document.lab {
        wrapped(out, "", &lab::time_of(lab));
    }
}

/// The histogram of all threads, and their confidence intervals and tails.
pub(crate) fn claims(overview: &Overview<'_>, claims: &[Claims]) -> String {
    let mut out = String::from("\n");
    out.push_str(&histogram::histogram(&overview.histogram));
    if overview.has_skipped() {
        wrapped(&mut out, "", "As measured: skipped activations are not drawn.");
    }
    let document = &overview.recorded.document;
    let latest = |(index, _): &(usize, &Thread)| overview.recorded.threads.get(*index).and_then(|thread| thread.moments.max());
    // Of many threads the worst; a report has them all.
    let shown = document.threads.iter().enumerate().max_by_key(latest).map(|(index, _)| index);
    for (index, (thread, claims)) in document.threads.iter().zip(claims).enumerate() {
        if document.threads.len() > MAX_THREADS && shown != Some(index) {
            continue;
        }
        out.push('\n');
        let which = match document.threads.len() {
            1 => String::new(),
            2..=MAX_THREADS => format!(" of thread {}", thread.index),
            _ => format!(" of thread {}, the one with the latest wake-up,", thread.index),
        };
        wrapped(&mut out, "", &format!("What the data{which} supports, at 95 % confidence:"));
        list_claims(&mut out, &claims::of_thread(claims, document, thread));
    }
    let at_once = claims::at_once(document, claims);
    if !at_once.is_empty() {
        out.push('\n');
        list_claims(&mut out, &at_once);
    }
    out
}

/// Threads whose claims are all shown.
const MAX_THREADS: usize = 2;

/// One below the other, what each is about in front.
fn list_claims(out: &mut String, all: &[Said]) {
    for Said { about, words, .. } in all {
        let mut lines = String::new();
        wrapped(&mut lines, "          ", words);
        // What it is about stands where its first line is indented.
        let lead = format!("  {about:<8}");
        out.push_str(&lead);
        out.push_str(lines.get(lead.len()..).unwrap_or(&lines));
    }
}

fn heading(out: &mut String, overview: &Overview<'_>) {
    let document = &overview.recorded.document;
    let host = &document.host.before;
    let mut parts = vec![format!("{}: {}", overview.name, columns::probe(document))];
    if document.probe.is_planned() {
        parts[0] += &format!(", every {}", document.run.interval_ns);
    }
    if document.probe.is_planned() && document.run.distance_ns.0 != 0 {
        parts[0] += &format!(" (+{} for each further thread)", document.run.distance_ns);
    }
    parts.push(format!("{} planned", length(overview)));
    parts.push(overview.load_added());
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
        plan::Length::Samples(n) => say!("{activations} of each thread", activations = counted(n, "activation")),
        plan::Length::DurationNs(duration) => format::span(duration),
    }
}

fn activations(overview: &Overview<'_>) -> Table {
    let head = vec!["thread", "cpu", "due", "on-time", "late", "skipped", "min", "mean", "p50", "p99", "p99.9", "max"];
    let threads = overview.recorded.document.threads.iter().zip(&overview.recorded.threads);
    let mut rows: Vec<Vec<String>> = threads
        .map(|(thread, statistics)| {
            let mut row = vec![thread.index.to_string(), thread.cpu.to_string()];
            row.extend(accounts(&Accounts::of(thread, &overview.recorded.document.probe)));
            row.extend(statistics.latency_with_skipped.as_ref().map_or_else(
                || vec![NOTHING.to_owned(); 6],
                |summary| {
                    let mut cells = vec![micros(summary.min)];
                    cells.extend(figures(summary));
                    cells
                },
            ));
            row
        })
        .collect();
    if rows.len() > 1 {
        let moments = &overview.due_moments;
        let mut row = vec!["all".to_owned(), String::new()];
        row.extend(accounts(&overview.activations));
        row.push(moments.min().map_or_else(|| NOTHING.to_owned(), micros));
        row.push(moments.mean().map_or_else(|| NOTHING.to_owned(), micros_f64));
        row.extend(
            [Level::P50, Level::P99, Level::P999]
                .map(|quantile| overview.quantile(quantile).map_or_else(|| NOTHING.to_owned(), |ns| format!("~{}", micros(ns)))),
        );
        row.push(moments.max().map_or_else(|| NOTHING.to_owned(), micros));
        rows.push(row);
    }
    Table { head, rows }
}

fn accounts(activations: &Accounts) -> [String; 4] {
    activations.all().map(|n| n.map_or_else(|| NOTHING.to_owned(), count))
}

/// Mean, p50, p99, p99.9, max.
fn figures(summary: &Summary) -> [String; 5] {
    let quantile = |quantile: Level, ns: i64| if summary.count >= quantile.needs() { micros(ns) } else { NOTHING.to_owned() };
    [
        micros_f64(summary.mean),
        quantile(Level::P50, summary.p50),
        quantile(Level::P99, summary.p99),
        quantile(Level::P999, summary.p999),
        micros(summary.max),
    ]
}

/// What the signs of the table mean, in one line.
fn legend(out: &mut String, overview: &Overview<'_>, paint: Paint) {
    let latencies = if overview.has_skipped() { "µs with skipped counted in" } else { "µs as measured" };
    let mut parts = vec![latencies.to_owned()];
    if overview.recorded.threads.len() > 1 {
        parts.push("~ up to 1 % high".to_owned());
    }
    if overview.recorded.threads.iter().any(|thread| thread.latency_with_skipped.is_some_and(|s| s.count < Level::P999.needs())) {
        parts.push("– too few samples".to_owned());
    }
    parts.extend(overview.activations.why_none().map(|why| format!("{NOTHING} of activations: {why}")));
    let warmup = overview.warmup_ns();
    if warmup.0 > 0 {
        parts.push(format!("without {} of warm-up", format::span(warmup)));
    }
    let mut legend = String::from("\n");
    wrapped(&mut legend, "", &parts.join("; "));
    out.push_str(&paint.soft(&legend));
}

/// The same figures of the activations that ran, where some did not.
fn as_measured(out: &mut String, overview: &Overview<'_>) {
    let with: Vec<_> = overview
        .recorded
        .document
        .threads
        .iter()
        .zip(&overview.recorded.threads)
        .filter(|(_, statistics)| statistics.with_skipped.is_some())
        .filter_map(|(thread, statistics)| Some((thread, statistics.latency?)))
        .collect();
    if with.is_empty() {
        return;
    }
    out.push('\n');
    wrapped(out, "", "As measured, without the skipped activations:");
    let rows = with.iter().map(|(thread, summary)| {
        let mut row = vec![thread.index.to_string(), thread.cpu.to_string(), count(summary.count), micros(summary.min)];
        row.extend(figures(summary));
        row
    });
    let table = Table { head: vec!["thread", "cpu", "count", "min", "mean", "p50", "p99", "p99.9", "max"], rows: rows.collect() };
    out.push_str(&table.render());
}

/// What the probe measures beside what is judged.
fn further_columns(out: &mut String, overview: &Overview<'_>) {
    let all = std::slice::from_ref(overview);
    let meanings = columns::meanings(all);
    if meanings.is_empty() {
        return;
    }
    out.push('\n');
    let (rows, left_out) = columns::rows(all, MAX_COLUMN_ROWS);
    if !rows.is_empty() {
        let head = [&["column", "thread"][..], &columns::FIGURES].concat();
        let cells = |row: ColumnRow| [row.name, row.thread.to_string()].into_iter().chain(row.figures).collect();
        out.push_str(&Table { head, rows: rows.into_iter().map(cells).collect() }.render());
        if left_out > 0 {
            wrapped(out, "", &format!("Not shown: {}.", format::counted(left_out as u64, "row")));
        }
        out.push('\n');
    }
    for Meaning { name, meaning } in meanings {
        wrapped(out, "", &format!("{name}: {meaning}."));
    }
}

/// Rows of further columns; a report has them all.
const MAX_COLUMN_ROWS: usize = 24;

fn load(out: &mut String, overview: &Overview<'_>) {
    let document = &overview.recorded.document;
    if document.load.is_empty() && document.run.loads.is_empty() {
        return;
    }
    out.push('\n');
    if document.load.is_empty() {
        wrapped(out, "", "Load: requested, but its CPU use was not recorded.");
    }
    for load in &document.load {
        let place = if load.cpus.len() == 1 { "CPU" } else { "CPUs" };
        let cpus = plan::CpuList::format(&load.cpus);
        wrapped(out, "", &format!("Load {} on {place} {cpus}: {}.", load.spec, reached(load)));
        each_cpu(out, load);
    }
}

/// What a load was asked for and what it did, as one phrase.
fn reached(load: &model::LoadEvidence) -> String {
    let mut parts = vec![format!("asked for {}", loads::requested(load))];
    if load.missed {
        parts.push("OFF TARGET".to_owned());
    }
    parts.push(load.reached.map_or_else(
        || "its CPU use could not be measured".to_owned(),
        |reached| format!("{:.1} % of each CPU reached ({:.1} % in its worst second)", reached.mean, reached.worst_second),
    ));
    parts.extend(loads::busy(load).map(|busy| format!("machine {busy:.1} % busy there")));
    parts.extend(loads::did(load));
    parts.push(counted(load.tasks, "task"));
    parts.push(loads::settled(load));
    parts.push(if load.alive { "alive throughout" } else { "EXITED EARLY" }.to_owned());
    parts.join(", ")
}

/// Where a load has several CPUs, what it reached on each.
fn each_cpu(out: &mut String, load: &model::LoadEvidence) {
    let (listed, more) = loads::cpus_listed(load);
    if listed.is_empty() {
        return;
    }
    let rows = listed.into_iter().map(|row| vec![row.cpu, row.mean, row.worst, row.busy]).collect();
    let table = Table { head: vec!["cpu", "reached", "worst second", "machine busy"], rows };
    table.render().lines().for_each(|line| unwrapped(out, "  ", line));
    if more > 0 {
        wrapped(out, "  ", &format!("{} more, with no lower CPU use.", counted(more as u64, "CPU")));
    }
}

/// A command stays on one line, so that it can be copied.
fn next_step(out: &mut String, step: &NextStep) {
    match step {
        NextStep::Unknown => {}
        NextStep::Command(text) => unwrapped(out, "  ", &format!("Next: {text}")),
        NextStep::Advice(text) => wrapped(out, "  ", &format!("Next: {text}")),
    }
}

fn warn(out: &mut String, warning: &Warning, paint: Paint) {
    let text = warning_text(warning);
    let mut message = String::new();
    wrapped(&mut message, "", &format!("Warning: {}", text.message));
    out.push_str(&paint.warning(&message));
    if !text.evidence.is_empty() {
        wrapped(out, "  ", &format!("Seen: {}", text.evidence));
    }
    next_step(out, &text.next_step);
}

#[cfg(test)]
#[path = "terminal_tests.rs"]
mod tests;
