// SPDX-License-Identifier: MIT OR Apache-2.0
//! The summary in a terminal: what spoils the figures first, then one table, then what the figures may claim.

use crate::claims::{self, Claims, Said};
use crate::format::{self, count, counted, micros, micros_f64};
use crate::lab;
use crate::language::say;
use crate::loads;
use crate::notices::{NO_REAL_TIME, is_command};
use crate::overview::{Overview, Quantile};
use crate::terminal_histogram;
use crate::text::{Table, unwrapped, wrapped};
use recording::{Thread, Warning};
use stats::Summary;

/// Shown where the samples do not carry a figure.
const NOTHING: &str = "–";

/// What `teiji measure` ends with and `teiji show` prints again.
pub(crate) fn summary(overview: &Overview<'_>) -> String {
    let mut out = String::new();
    spoilers(&mut out, overview);
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

/// The histogram of all threads, and what their figures may claim.
pub(crate) fn claims(overview: &Overview<'_>, claims: &[Claims]) -> String {
    let mut out = String::from("\n");
    out.push_str(&terminal_histogram::histogram(&overview.histogram));
    let document = &overview.recorded.document;
    let latest = |(index, _): &(usize, &Thread)| overview.recorded.threads.get(*index).and_then(|thread| thread.moments.max());
    // Of many threads the worst; a report has them all.
    let shown = document.threads.iter().enumerate().max_by_key(latest).map(|(index, _)| index);
    for (index, (thread, claims)) in document.threads.iter().zip(claims).enumerate() {
        if document.threads.len() > MOST_THREADS && shown != Some(index) {
            continue;
        }
        out.push('\n');
        let which = match document.threads.len() {
            1 => String::new(),
            2..=MOST_THREADS => format!(" of thread {}", thread.index),
            _ => format!(" of thread {}, the one with the latest wake-up,", thread.index),
        };
        wrapped(&mut out, "", &format!("What the figures{which} may claim at 95 % confidence:"));
        list_claims(&mut out, &claims::of_thread(claims, thread));
    }
    let at_once = claims::at_once(document, claims);
    if !at_once.is_empty() {
        out.push('\n');
        list_claims(&mut out, &at_once);
    }
    out
}

/// Threads whose claims are all shown.
const MOST_THREADS: usize = 2;

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

fn spoilers(out: &mut String, overview: &Overview<'_>) {
    if let Some(how) = overview.no_real_time() {
        wrapped(out, "", &format!("NO REAL-TIME RIGHTS: measured with {how}."));
        let warning = overview.recorded.document.warnings.iter().find(|warning| warning.code == NO_REAL_TIME);
        if let Some(warning) = warning.filter(|warning| !warning.next_step.is_empty()) {
            next_step(out, &warning.next_step);
        }
    }
    if let Some(policy) = overview.ordinary() {
        wrapped(out, "", &format!("ORDINARY SCHEDULING: measured with {policy}, as asked; no real-time figures."));
    }
    if let Some(how) = overview.cut_short() {
        wrapped(out, "", &format!("NOT THE WHOLE RUN: this recording {how}."));
    }
    if overview.lost > 0 {
        wrapped(out, "", &format!("SAMPLES LOST: {}; what they would have shown is not known.", count(overview.lost)));
    }
    if let Some(lab) = &overview.recorded.document.lab {
        wrapped(out, "", &lab::time_of(lab));
    }
    if let Some(which) = overview.load_missed() {
        wrapped(out, "", &format!("LOAD MISSED (load_missed): {which}."));
    }
}

fn heading(out: &mut String, overview: &Overview<'_>) {
    let document = &overview.recorded.document;
    let host = &document.host.before;
    let mut parts = vec![format!("{}: cyclic, every {}", overview.name, document.run.interval_ns)];
    if document.run.distance_ns.0 != 0 {
        parts[0] += &format!(" (+{} for each further thread)", document.run.distance_ns);
    }
    parts.push(format!("{} planned", length(overview)));
    parts.extend(overview.condition_unless_named());
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
    let head = vec!["thread", "cpu", "due", "on time", "late", "skipped", "min", "mean", "p50", "p99", "p99.9", "max"];
    let threads = overview.recorded.document.threads.iter().zip(&overview.recorded.threads);
    let mut rows: Vec<Vec<String>> = threads
        .map(|(thread, statistics)| {
            let mut row = vec![thread.index.to_string(), thread.cpu.to_string()];
            row.extend(accounts(&thread.activations));
            row.extend(statistics.latency.as_ref().map_or_else(
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
    Table { head, rows, expendable: &["p50"] }
}

fn accounts(activations: &stats::Activations) -> [String; 4] {
    [activations.due, activations.on_time, activations.late, activations.skipped].map(count)
}

/// Mean, p50, p99, p99.9, max.
fn figures(summary: &Summary) -> [String; 5] {
    let quantile =
        |quantile: Quantile, ns: i64| if quantile.is_carried_by(summary.count) { micros(ns) } else { NOTHING.to_owned() };
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
        text += &format!(" The first {} were warm-up and are not in the figures.", format::span(warmup));
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
    let table = Table {
        head: vec!["thread", "cpu", "count", "mean", "p50", "p99", "p99.9", "max"],
        rows: rows.collect(),
        expendable: &[],
    };
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
        each_cpu(out, load);
    }
}

/// What a load was asked for and what it did, as one phrase.
fn reached(load: &recording::LoadEvidence) -> String {
    let mut parts = vec![format!("asked for {}", loads::requested(load))];
    if load.missed {
        parts.push("MISSED".to_owned());
    }
    parts.push(load.reached.map_or_else(
        || "what it reached could not be observed".to_owned(),
        |reached| format!("{:.1} % of each CPU reached ({:.1} % in its worst second)", reached.mean, reached.worst_second),
    ));
    parts.extend(loads::busy(load).map(|busy| format!("machine {busy:.1} % busy there")));
    parts.extend(loads::did(load));
    parts.push(counted(load.tasks, "task"));
    parts.push(if load.alive { "alive throughout" } else { "IT DID NOT RUN THE WHOLE TIME" }.to_owned());
    parts.join(", ")
}

/// Where a load has several CPUs, what it reached on each.
fn each_cpu(out: &mut String, load: &recording::LoadEvidence) {
    let (listed, more) = loads::cpus_listed(load);
    if listed.is_empty() {
        return;
    }
    let rows = listed.into_iter().map(|row| vec![row.cpu, row.mean, row.worst, row.busy]).collect();
    let table = Table { head: vec!["cpu", "reached", "worst second", "machine busy"], rows, expendable: &[] };
    table.render().lines().for_each(|line| unwrapped(out, "  ", line));
    if more > 0 {
        wrapped(out, "  ", &format!("{} more, on which it reached no less.", counted(more as u64, "CPU")));
    }
}

/// A command stays on one line, so that it can be copied.
fn next_step(out: &mut String, text: &str) {
    let line = format!("Next: {text}");
    if is_command(text) { unwrapped(out, "  ", &line) } else { wrapped(out, "  ", &line) }
}

fn warn(out: &mut String, warning: &Warning) {
    wrapped(out, "", &format!("Warning: {}", warning.message));
    if !warning.evidence.is_empty() {
        wrapped(out, "  ", &format!("Seen: {}", warning.evidence));
    }
    if !warning.next_step.is_empty() {
        next_step(out, &warning.next_step);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::Synthetic;
    use crate::text::WIDTH;
    use recording::State;

    const TWO_THREADS: &str = "\
hackbench: cyclic, every 1ms, 10,000 activations of each thread planned
SCHED_FIFO 90 on Linux 6.1.0-37-amd64, voluntary (PREEMPT_DYNAMIC)

thread  cpu     due  on time  late  skipped  min  mean    p99   p99.9      max
     0    0  10,000    9,996     2        2  2.8  12.5   59.4   319.2  1,358.1
     1    1  10,000    9,998     1        1  2.8  12.1   56.6   213.9  1,446.9
   all       20,000   19,994     3        3  2.8  12.3  ~58.1  ~282.6  1,446.9

Latencies in µs, as measured. ~ is at most 1 % above the exact value. The first
100 ms were warm-up and are not in the figures.
0 of 19,997 were beyond the maximum: at 95 % confidence fewer than 1 in 6,675
activations is worse, if they are independent.

With the skipped activations counted in, each from its own planned time:
thread  cpu   count  mean  p50   p99  p99.9      max
     0    0  10,000  12.5  9.7  59.6  319.2  1,358.1
     1    1  10,000  12.2  9.6  56.6  213.9  1,446.9

Load hackbench,groups=10: asked for as much as it gets, 97.8 % of each CPU
reached (94.1 % in its worst second), machine 98.9 % busy there, 812,345
messages/s, 400 tasks, alive throughout.
  cpu  reached  worst second  machine busy
    0        –             –        99.1 %
    1        –             –        98.7 %

Warning: The CPU frequency may change during the run.
  Seen: governor schedutil on CPUs 0-1
  Next: sudo cpupower frequency-set -g performance
";

    const SPOILED: &str = "\
NO REAL-TIME RIGHTS: measured with SCHED_OTHER instead of SCHED_FIFO 90.
  Next: sudo setcap cap_sys_nice,cap_ipc_lock=ep target/x86_64-unknown-linux-musl/release/teiji
NOT THE WHOLE RUN: this recording is incomplete: it was cut off, and up to its
last second is missing.
SAMPLES LOST: 3; what they would have shown is not known.

idle: cyclic, every 1ms, 2 activations of each thread planned
SCHED_OTHER on Linux 6.1.0-37-amd64, voluntary (PREEMPT_DYNAMIC)

thread  cpu  due  on time  late  skipped   min  mean   p50  p99  p99.9   max
     0    0    2        2     0        0  10.0  46.7  10.0    –      –  83.4

Latencies in µs, as measured. – stands where there are too few samples for the
figure. The first 100 ms were warm-up and are not in the figures.
";

    const MISSED: &str = "\
Load cpu@50%: asked for 50 %, MISSED, 31.2 % of each CPU reached (12.0 % in its
worst second), machine 98.9 % busy there, 45,120 rounds/s, 2 tasks, IT DID NOT
RUN THE WHOLE TIME.
  cpu  reached  worst second  machine busy
    0   50.0 %        48.8 %        99.1 %
    1   49.6 %        48.4 %        98.7 %
";

    fn said(recorded: &recording::Recorded) -> String {
        summary(&Overview::of(recorded))
    }

    #[test]
    fn two_threads_under_load() {
        let said = said(&Synthetic::hackbench().build());
        assert_eq!(said, TWO_THREADS, "\n{said}");
        assert!(said.lines().all(|line| line.chars().count() <= WIDTH));
    }

    #[test]
    fn what_spoils_the_figures_comes_first() {
        let mut recorded = Synthetic::idle().threads(1).samples(&[10_000, 83_449]).build();
        recorded.document.state = State::Running;
        recorded.document.instrument.real_time = false;
        recorded.document.threads[0].scheduling = plan::Scheduling::OTHER;
        recorded.document.threads[0].proof.samples_lost = 3;
        recorded.document.warnings[0] = Warning {
            code: NO_REAL_TIME.into(),
            message: "Not said twice.".into(),
            evidence: String::new(),
            next_step: "sudo setcap cap_sys_nice,cap_ipc_lock=ep target/x86_64-unknown-linux-musl/release/teiji".into(),
        };
        let said = said(&recorded);
        assert_eq!(said, SPOILED, "\n{said}");
    }

    #[test]
    fn a_load_off_its_level_comes_first_and_stands_with_its_cpus() {
        let mut recorded = Synthetic::idle().load("cpu@50%").build();
        recorded.document.load_missed = true;
        let load = &mut recorded.document.load[0];
        (load.missed, load.alive) = (true, false);
        load.reached = Some(recording::Reached { mean: 31.2, worst_second: 12.0 });
        let said = said(&recorded);
        assert!(said.starts_with("LOAD MISSED (load_missed): cpu@50% reached 31.2 % of each CPU instead of 50 %.\n"), "{said}");
        assert!(said.contains(MISSED), "{said}");
    }

    #[test]
    fn a_terminal_is_not_steered_from_outside() {
        let said = said(&Synthetic::idle().title("\u{1b}[2Jgone\u{7}").build());
        assert!(said.chars().all(|c| c == '\n' || !c.is_control()), "{said:?}");
    }

    #[test]
    fn long_figures_leave_the_median_out_and_stay_narrow() {
        let long = Synthetic::hackbench().due(1_000_000).samples(&[999_999, 123_456]).threads(1).build();
        assert!(said(&long).lines().all(|line| line.chars().count() <= WIDTH));
    }
}
