// SPDX-License-Identifier: MIT OR Apache-2.0
//! The summary in a terminal: the headline first, as on the page, then one table, then confidence
//! intervals and the tail.

use crate::sections::accounts::{Accounts, cpu_of};
use crate::sections::columns::{self as of_columns, ColumnRow, Meaning};
use crate::sections::{imported, method};
pub(crate) mod head;
pub(crate) mod histogram;
pub(crate) mod load_table;
pub(crate) mod plan_length;
pub(crate) mod side_by_side;
pub(crate) mod text;

use crate::format::{self, count, counted};
use crate::language::{Language, Text, in_language, texts, tr};
use crate::overview::Overview;
use crate::paint::Paint;
use crate::report::Report;
use crate::sections::grouped_warnings::GroupedWarning;
use crate::sections::inference::{self, Message};
use crate::sections::jitter;
use crate::sections::lab;
use crate::sections::latencies::{FEW, Figure, Latencies, OrNothing, signs_said};
use crate::sections::loads;
use crate::sections::rows::Rows;
use crate::sections::time_kind::TimeKind;
use crate::warnings::{NextStep, WarningText};
use model::{TakenBy, Thread, Unknown};
use stats::Level;
use text::{Table, columns, left, unwrapped, wrapped};

impl Report<'_> {
    /// The figure with its conditions, then what became of all that was due, then the caveats, each
    /// in a line.
    pub fn headline(&self, paint: Paint, language: Language) -> String {
        in_language(language, || head::headline(&self.texts().headline, paint))
    }

    /// What `teiji measure` ends with and `teiji show` prints again: the headline first, then each
    /// recording, then their warnings, within 80 columns unless a figure is longer.
    pub fn terminal_summary(&self, paint: Paint, language: Language) -> String {
        in_language(language, || {
            let mut out = head::headline(&self.texts().headline, paint);
            for overview in &self.charted {
                out.push('\n');
                heading(&mut out, overview);
                out.push('\n');
                let table = activations(overview);
                out.push_str(&table.painted(paint, &[texts::late.said(), texts::skipped.said()]));
                legend(&mut out, overview, &table, paint);
                if let Some(jitter) = jitter::sentence(overview) {
                    wrapped(&mut out, "", &jitter);
                }
                if let Some(supports) = overview.supported_rate() {
                    wrapped(&mut out, "", &(supports + texts::full_stop.said()));
                }
                as_measured(&mut out, overview);
                further_columns(&mut out, overview);
                load(&mut out, overview);
            }
            let times = lab::times(&self.charted);
            if !times.is_empty() {
                out.push('\n');
            }
            times.iter().for_each(|what| wrapped(&mut out, "", what));
            for warning in &self.texts().warnings {
                out.push('\n');
                warn(&mut out, warning, paint);
            }
            out
        })
    }

    /// What `teiji show` adds to that: the histogram, and the confidence intervals and tail, by
    /// thread.
    pub fn terminal_inference(&self, language: Language) -> String {
        in_language(language, || self.charted.iter().map(inference_paragraph).collect())
    }
}

fn inference_paragraph(overview: &Overview<'_>) -> String {
    let inferences = overview.inferences;
    let histogram = histogram::histogram(&overview.totals.histogram);
    let mut out = if histogram.is_empty() { histogram } else { format!("\n{histogram}") };
    if let Some(beyond) = overview.beyond_in_words() {
        wrapped(&mut out, "", &format!("{beyond}{}", texts::full_stop.said()));
    }
    if overview.has_skipped() {
        wrapped(&mut out, "", &tr!(measured_skipped_rows_not, rows = rows_of(overview).plural()));
    }
    let document = overview.document();
    let latest = |(index, _): &(usize, &Thread)| {
        overview.recorded.threads.get(*index).and_then(|thread| thread.moments.max())
    };
    // Of many threads the worst; a report has them all.
    let shown = document.threads.iter().enumerate().max_by_key(latest).map(|(index, _)| index);
    for (index, (thread, inference)) in document.threads.iter().zip(inferences).enumerate() {
        let messages = inference::of_thread(inference, document, thread);
        if messages.is_empty() || document.threads.len() > MAX_THREADS && shown != Some(index) {
            continue;
        }
        out.push('\n');
        let heading = match (document.threads.len(), thread.index) {
            (1, _) => tr!(what_data_supports_confidence),
            (2..=MAX_THREADS, thread) => {
                tr!(what_data_thread_supports, thread)
            }
            (_, thread) => {
                tr!(what_data_thread_one, thread)
            }
        };
        wrapped(&mut out, "", &heading);
        list_messages(&mut out, &messages);
    }
    let at_once = inference::at_once(document, inferences);
    if !at_once.is_empty() {
        out.push('\n');
        list_messages(&mut out, &at_once);
    }
    out
}

/// Threads whose inferences are all shown.
const MAX_THREADS: usize = 2;

/// One below the other, what each is about in front.
fn list_messages(out: &mut String, all: &[Message]) {
    for Message { about, words, .. } in all {
        let mut lines = String::new();
        wrapped(&mut lines, "          ", words);
        // What it is about stands where its first line is indented.
        let lead = left(&format!("  {about}"), 10);
        out.push_str(&lead);
        out.push_str(if columns(&lead) > 10 { " " } else { "" });
        out.push_str(lines.trim_start());
    }
}

fn heading(out: &mut String, overview: &Overview<'_>) {
    let document = overview.document();
    let host = &document.host.before;
    let mut parts = vec![format!("{}: {}", overview.name, of_columns::probe(document))];
    let has_intervals = document.has_intervals();
    // Without a distance all threads have one, or they are distinguished by their rows.
    let is_even = document.run.distance_ns.0 != 0 || overview.interval_ns().is_some();
    if has_intervals && document.run.interval_ns.0 > 1 && is_even {
        parts[0] += &tr!(every_interval, interval = document.run.interval_ns);
    }
    if has_intervals && document.run.distance_ns.0 != 0 {
        parts[0] += &tr!(distance_for_each_further, distance = document.run.distance_ns);
    }
    parts.extend(method::length(overview).map(|length| tr!(length_planned, length)));
    parts.push(overview.load_added());
    let mut machine: Vec<String> = Vec::new();
    machine.extend(host.kernel.clone());
    machine.extend(format::preemption(host));
    wrapped(out, "", &parts.join(texts::comma.said()));
    let (scheduling, machine) = (method::granted(document), machine.join(", "));
    let of = match (document.probe.taken_by(), &document.instrument.co_kernel) {
        (TakenBy::OwnThreads, Some(core)) => {
            tr!(scheduling_on_core_beside, scheduling, core = format::co_kernel(core), machine)
        }
        (TakenBy::OwnThreads, None) => tr!(scheduling_on_linux_machine, scheduling, machine),
        (TakenBy::ThisMachine, _) => tr!(observed_on_linux_machine, machine),
        (TakenBy::AnotherMachine, _) => match imported::origin(document) {
            Some(origin) => {
                let scheduling = Some(scheduling).filter(|_| !document.lacks(Unknown::Scheduling));
                let machine = Some(machine).filter(|machine| !machine.is_empty());
                let machine = machine.map(|machine| format!("Linux {machine}"));
                let all = std::iter::once(origin).chain(scheduling).chain(machine);
                all.collect::<Vec<_>>().join(texts::semicolon.said())
            }
            None => tr!(measured_elsewhere_recorded_on, machine),
        },
    };
    wrapped(out, "", &of);
    if document.anonymous {
        wrapped(out, "", &tr!(anonymous_names_replaced_pseudonyms));
    }
}

fn rows_of(overview: &Overview<'_>) -> Rows {
    overview.document().probe.rows.into()
}

/// What a table of threads, or of recordings, gives up, one after the other, to fit a terminal.
pub(crate) const GIVEN_UP: [Text; 5] =
    [texts::min, texts::mean, texts::on_time_2, texts::p50, texts::p99];

/// With as many digits as there is room for, in virtual time each ns, and then with fewer columns.
fn activations(overview: &Overview<'_>) -> Table {
    let kinds = [overview.time(), TimeKind::Machine];
    let mut tables = kinds.into_iter().map(|kind| activations_in(overview, |of| of.few(kind)));
    tables.find(Table::fits).unwrap_or_else(|| {
        let whole = |of: &Latencies<'_>| FEW.map(|figure| of.text(figure, format::whole_micros));
        activations_in(overview, whole).fitted(&GIVEN_UP.map(Text::said))
    })
}

fn activations_in(
    overview: &Overview<'_>,
    figures: impl Fn(&Latencies<'_>) -> [String; FEW.len()],
) -> Table {
    let totals = &overview.totals.activations;
    let accounts_head = [totals.rows().due(), texts::on_time_2, texts::late, texts::skipped];
    // No event is on time, late or skipped.
    let counts = if totals.is_of_events() { 1 } else { accounts_head.len() };
    let head =
        [texts::thread, texts::cpu].into_iter().chain(accounts_head.into_iter().take(counts));
    let head = head.chain(FEW.map(Figure::name));
    let threads = overview.document().threads.iter().zip(&overview.recorded.threads);
    let mut rows: Vec<Vec<String>> = threads
        .map(|(thread, statistics)| {
            let document = overview.document();
            let mut row = vec![thread.index.to_string(), cpu_of(&document.probe, thread)];
            let of_thread = Accounts::from_thread(thread, document, statistics);
            let measured = Latencies::due(statistics).count();
            row.extend(accounts(overview, &of_thread, measured).into_iter().take(counts));
            row.extend(figures(&Latencies::due(statistics)));
            row
        })
        .collect();
    if rows.len() > 1 {
        let mut row = vec![tr!(all), String::new()];
        let measured = overview.due().count();
        row.extend(accounts(overview, totals, measured).into_iter().take(counts));
        row.extend(figures(&overview.due()));
        rows.push(row);
    }
    Table { head: head.map(Text::said).collect(), rows }
}

fn accounts(overview: &Overview<'_>, activations: &Accounts, measured: u64) -> [String; 4] {
    activations.shown(overview.document(), measured).map(|n| n.map(count).or_nothing())
}

/// What the signs of the table mean, in one line.
fn legend(out: &mut String, overview: &Overview<'_>, table: &Table, paint: Paint) {
    let mut parts =
        vec![if overview.has_skipped() { tr!(us_skipped_counted_in) } else { tr!(us_as_measured) }];
    parts.extend(imported::unit_assumed(overview.document()));
    if table.has_about() {
        parts.push(tr!(up_1_percent_high));
    }
    let cells = table.rows.iter().flatten().map(String::as_str);
    parts.extend(signs_said(cells).into_iter().flatten().map(str::to_owned));
    let too_few = |latencies: Latencies<'_>| {
        latencies.count() > 0 && latencies.quantile(Level::P999).is_none()
    };
    if overview.recorded.threads.iter().map(Latencies::due).any(too_few) {
        let has_all = overview.measured().histogram.beyond() == 0;
        parts.push(if has_all && overview.measured().knows_distribution() {
            tr!(too_few_samples)
        } else {
            tr!(not_known_2)
        });
    }
    let totals = &overview.totals.activations;
    let why_none = totals.why_none().filter(|_| !totals.is_of_events());
    parts.extend(why_none.map(|why| tr!(of_counts_why, why)));
    let warmup = overview.warmup_ns();
    if warmup.0 > 0 {
        parts.push(tr!(without_time_warm_up, time = format::span(warmup)));
    }
    let mut legend = String::from("\n");
    wrapped(&mut legend, "", &parts.join(texts::semicolon.said()));
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
        .map(|(thread, statistics)| (thread, Latencies::measured(statistics)))
        .collect();
    if with.is_empty() {
        return;
    }
    out.push('\n');
    wrapped(out, "", &tr!(measured_without_skipped_rows, rows = rows_of(overview).plural()));
    let kind = overview.time();
    let rows = with.iter().map(|(thread, latencies)| {
        let mut row = vec![
            thread.index.to_string(),
            cpu_of(&overview.document().probe, thread),
            count(latencies.count()),
        ];
        row.extend(latencies.few(kind));
        row
    });
    let head = [texts::thread, texts::cpu, texts::count].into_iter().chain(FEW.map(Figure::name));
    let head = head.map(Text::said).collect();
    out.push_str(&Table { head, rows: rows.collect() }.render());
}

/// What the probe measures beside what is judged.
fn further_columns(out: &mut String, overview: &Overview<'_>) {
    let all = std::slice::from_ref(overview);
    let meanings = of_columns::meanings(all);
    if meanings.is_empty() {
        return;
    }
    out.push('\n');
    let (rows, left_out) = of_columns::rows(all, MAX_COLUMN_ROWS);
    if !rows.is_empty() {
        let head = [texts::column, texts::thread].into_iter().chain(FEW.map(Figure::name));
        let head = head.map(Text::said).collect();
        let cells = |row: ColumnRow| {
            [row.name, row.thread.to_string()].into_iter().chain(row.figures).collect()
        };
        out.push_str(&Table { head, rows: rows.into_iter().map(cells).collect() }.render());
        if left_out > 0 {
            wrapped(out, "", &tr!(not_shown_rows, rows = counted(left_out as u64, texts::n_rows)));
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
    let document = overview.document();
    if document.load.is_empty() && document.run.loads.is_empty() {
        return;
    }
    out.push('\n');
    if document.load.is_empty() {
        wrapped(out, "", texts::load_requested_but_cpu.said());
    }
    for load in &document.load {
        let (cpus, did) = (plan::CpuList::format(&load.cpus), reached(load));
        let sentence = if load.cpus.len() == 1 {
            tr!(load_on_cpu_cpus, load = load.spec, cpus, did)
        } else {
            tr!(load_on_cpus_did, load = load.spec, cpus, did)
        };
        wrapped(out, "", &sentence);
        each_cpu(out, load);
    }
}

/// What a load was asked for and what it did, as one phrase.
fn reached(load: &model::LoadEvidence) -> String {
    let mut parts = vec![tr!(asked_for_level, level = loads::requested(load))];
    if load.off_target {
        parts.push(tr!(off_target_loud));
    }
    let percent = |value| loads::percent(Some(value));
    parts.push(load.reached.map_or_else(
        || tr!(cpu_use_could_not),
        |reached| {
            let (mean, worst) = (percent(reached.mean), percent(reached.worst_second));
            tr!(mean_each_cpu_reached, mean, worst)
        },
    ));
    parts.extend(loads::busy(load).map(|busy| tr!(machine_busy_there, busy = percent(busy))));
    parts.extend(loads::did(load));
    parts.push(counted(load.tasks, texts::n_tasks));
    parts.push(loads::settled(load));
    parts.push(loads::until(load));
    parts.join(texts::comma.said())
}

/// Where a load has several CPUs, what it reached on each.
fn each_cpu(out: &mut String, load: &model::LoadEvidence) {
    let (listed, more) = loads::cpus_listed(load);
    if listed.is_empty() {
        return;
    }
    let rows = listed.into_iter().map(|row| vec![row.cpu, row.mean, row.worst, row.busy]).collect();
    let head = [texts::cpu, texts::reached, texts::worst_second, texts::machine_busy]
        .map(Text::said)
        .to_vec();
    Table { head, rows }.render().lines().for_each(|line| unwrapped(out, "  ", line));
    if more > 0 {
        wrapped(out, "  ", &tr!(cpus_more_no_lower, cpus = counted(more as u64, texts::n_cpus)));
    }
}

/// A command stays on one line, so that it can be copied.
fn next_step(out: &mut String, step: &NextStep) {
    let text = format!("{} {step}", texts::next.said());
    match step {
        NextStep::Unknown => {}
        NextStep::Command(_) => unwrapped(out, "  ", &text),
        NextStep::Advice(_) => wrapped(out, "  ", &text),
    }
}

fn warn(out: &mut String, warning: &GroupedWarning, paint: Paint) {
    let GroupedWarning { text: WarningText { message, evidence, next_step: step }, recordings } =
        warning;
    let sentence = if recordings.is_empty() {
        tr!(warning_message, message)
    } else {
        tr!(warning_in_recordings_message, recordings, message)
    };
    let mut lines = String::new();
    wrapped(&mut lines, "", &sentence);
    out.push_str(&paint.warning(&lines));
    if !evidence.is_empty() {
        wrapped(out, "  ", &tr!(seen_evidence, evidence));
    }
    next_step(out, step);
}

#[cfg(test)]
#[path = "terminal_tests.rs"]
mod tests;
