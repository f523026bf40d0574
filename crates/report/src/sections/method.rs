// SPDX-License-Identifier: MIT OR Apache-2.0
//! How it was measured.

use crate::format::{self, count};
use crate::language::{Text, texts, tr};
use crate::overview::Overview;
use crate::sections::latencies::{NOTHING, OrNothing};
use crate::sections::rows::Rows;
use crate::sections::{columns, imported};
use model::{Document, TakenBy, Thread, ThreadEvidence, Unknown};
use plan::{Length, Nanos, OverrunPolicy, command_line};

/// One property of all recordings.
pub(crate) struct MethodRow {
    pub(crate) name: Text,
    pub(crate) values: Vec<String>,
}

impl MethodRow {
    pub(crate) fn one_for_all(&self) -> bool {
        self.values.iter().all(|value| *value == self.values[0])
    }
}

/// A command line that was used.
pub(crate) struct Command {
    pub(crate) what: String,
    pub(crate) line: String,
}

/// The phase of a run in the lab; no other has one.
pub(crate) const PHASE: Text = texts::phase;

/// What says nothing of times that were taken elsewhere.
const OF_MEASURING: [Text; 9] = [
    texts::interval_heading,
    texts::scheduling_heading,
    texts::after_an_overrun,
    texts::warm_up_not_counted,
    texts::memory_locked,
    texts::cpu_latency_dev_cpu_dma_latency,
    texts::start_until_measuring_began,
    texts::page_faults_while_measuring,
    texts::preempted_while_measuring,
];

/// What a run of this program has alone.
const OF_OWN_RUNS: [Text; 3] = [texts::break_above, texts::events_recorded, texts::clock];

/// What only outputs of other programs have.
const OF_OUTPUT: [Text; 4] = [
    texts::source_of_output,
    texts::not_said_by_output,
    texts::values_of_output,
    texts::in_words_of_output,
];

/// What was asked, how it was done, and the evidence that the threads measured undisturbed by
/// themselves.
pub(crate) fn rows(all: &[Overview<'_>]) -> Vec<MethodRow> {
    type Answer = fn(&Overview<'_>) -> String;
    let questions: [(Text, Answer); 21] = [
        (texts::source_of_output, |o| imported::origin(o.document()).or_nothing()),
        (texts::not_said_by_output, |o| imported::lacking(o.document()).or_nothing()),
        (texts::values_of_output, |o| imported::resolution(o.document()).or_nothing()),
        (texts::in_words_of_output, |o| imported::says(o.document()).or_nothing()),
        (texts::recorded, |o| match o.document().started_at.as_str() {
            "" => tr!(not_known),
            time => time.to_owned(),
        }),
        (texts::length_heading, |o| length(o).or_nothing()),
        (texts::interval_heading, interval),
        (PHASE, |o| match o.document().run.phase {
            phase if phase.is_none() => tr!(none),
            phase => phase.to_string(),
        }),
        (texts::scheduling_heading, scheduling),
        (texts::probe, |o| columns::probe(o.document())),
        (texts::after_an_overrun, |o| match o.document().run.overrun_policy {
            OverrunPolicy::Skip => {
                tr!(continue_next_planned_time)
            }
            OverrunPolicy::CatchUp => tr!(run_each_missed_one),
        }),
        (texts::warm_up_not_counted, |o| o.warmup_ns().to_string()),
        (texts::break_above, |o| match o.document().run.break_above_ns {
            Some(limit) => limit.to_string(),
            None if o.document().imported.is_some() => tr!(not_known),
            None => tr!(never),
        }),
        (texts::events_recorded, |o| {
            let asked = o.document().run.explain_above_ns;
            match (&o.document().instrument.watched, asked) {
                (Some(watched), Some(above)) => {
                    tr!(events_explain_above, events = watched.events.len(), above)
                }
                _ => tr!(none),
            }
        }),
        (texts::clock, clock),
        (texts::memory_locked, |o| yes(o.document().instrument.memory_locked)),
        (texts::cpu_latency_dev_cpu_dma_latency, |o| {
            let document = o.document();
            match (document.instrument.dma_latency_held, document.run.hold_dma_latency) {
                (true, _) => texts::held_0_no_deep,
                (false, true) => texts::unchanged_though_asked,
                (false, false) => texts::unchanged,
            }
            .said()
            .to_owned()
        }),
        (texts::start_until_measuring_began, |o| {
            o.recorded
                .document
                .instrument
                .start_to_first_activation_ns
                .map_or_else(|| tr!(not_known), format::latency)
        }),
        (texts::page_faults_while_measuring, |o| {
            evidence(o, |evidence| Some(evidence.minor_faults? + evidence.major_faults?))
        }),
        (texts::preempted_while_measuring, |o| {
            evidence(o, |evidence| evidence.involuntary_switches)
        }),
        (texts::samples_lost_heading, |o| {
            o.totals.activations.lost().map_or_else(|| tr!(not_known), count)
        }),
    ];
    let row = |(name, answer): (Text, Answer)| MethodRow {
        name,
        // Beside ours, another program's threads.
        values: all
            .iter()
            .map(|overview| match is_unknown(overview.document(), name) {
                true => tr!(not_known),
                false => answer(overview),
            })
            .collect(),
    };
    let elsewhere =
        all.iter().all(|overview| overview.document().probe.taken_by() == TakenBy::AnotherMachine);
    let in_phases = all.iter().any(|overview| !overview.document().run.phase.is_none());
    let has_length = all.iter().any(|overview| overview.document().length().is_some());
    let is_imported = |overview: &Overview<'_>| overview.document().imported.is_some();
    let (any_imported, all_imported) = (all.iter().any(is_imported), all.iter().all(is_imported));
    let is_asked = |name: &Text| match *name {
        PHASE => in_phases,
        texts::length_heading => has_length,
        name if OF_OUTPUT.contains(&name) => any_imported,
        texts::interval_heading | texts::scheduling_heading if all_imported => true,
        name => !(elsewhere && OF_MEASURING.contains(&name)),
    };
    // What no output says is said once, in a row of its own.
    let is_said = |row: &MethodRow| {
        let nothing = [tr!(not_known), NOTHING.to_owned()];
        !all_imported || row.values.iter().any(|value| !nothing.contains(value))
    };
    let asked = questions.into_iter().filter(|(name, _)| is_asked(name)).map(row).filter(is_said);
    if all.is_empty() { Vec::new() } else { asked.collect() }
}

/// Whether what another program measured has no answer there.
fn is_unknown(document: &Document, name: Text) -> bool {
    match name {
        texts::interval_heading => document.imported.is_some() && !document.has_intervals(),
        texts::scheduling_heading => document.lacks(Unknown::Scheduling),
        name => {
            document.imported.is_some()
                && (OF_MEASURING.contains(&name) || OF_OWN_RUNS.contains(&name))
        }
    }
}

fn yes(is: bool) -> String {
    if is { texts::yes } else { texts::no }.said().to_owned()
}

/// How long the run was to be, unless it read a file to its end.
pub(crate) fn length(overview: &Overview<'_>) -> Option<String> {
    let document = overview.document();
    Some(match document.length()? {
        Length::Samples(n) => {
            tr!(rows_of_each_thread, rows = Rows::from(document.probe.rows).counted(n))
        }
        Length::DurationNs(duration) => format::span(duration),
        Length::Forever => tr!(until_it_was_ended),
    })
}

fn interval(overview: &Overview<'_>) -> String {
    let run = &overview.document().run;
    if run.distance_ns == Nanos::ZERO {
        run.interval_ns.to_string()
    } else {
        tr!(interval_each_further_thread, interval = run.interval_ns, distance = run.distance_ns)
    }
}

/// The scheduling that threads were granted, each once: `SCHED_OTHER with 1 ns timer slack`.
pub(crate) fn granted(document: &Document) -> String {
    let in_full = |thread: &Thread| match thread.timer_slack_ns {
        Some(ns) => tr!(scheduling_with_slack, scheduling = thread.granted(), ns = count(ns)),
        None => thread.granted(),
    };
    let mut granted: Vec<String> = document.threads.iter().map(in_full).collect();
    granted.dedup();
    granted.join(", ")
}

fn scheduling(overview: &Overview<'_>) -> String {
    let document = overview.document();
    match granted(document) {
        none if none.is_empty() => {
            tr!(scheduling_asked_for, scheduling = document.run.scheduling)
        }
        granted if document.probe.taken_by() == TakenBy::OwnThreads => {
            let asked = document.run.scheduling;
            let is_as_asked = document.threads.iter().all(|thread| thread.scheduling == asked);
            if is_as_asked { granted } else { tr!(granted_instead_of_asked, granted, asked) }
        }
        granted if document.imported.is_some() => granted,
        granted => tr!(scheduling_thread_only_reads, scheduling = granted),
    }
}

fn clock(overview: &Overview<'_>) -> String {
    let document = overview.document();
    let instrument = &document.instrument;
    if document.probe.taken_by() == TakenBy::AnotherMachine {
        return tr!(of_the_stream);
    }
    tr!(
        clock_resolution_ns_reading,
        clock = instrument.clock,
        resolution = instrument.clock_resolution_ns,
        cost = instrument.clock_read_ns
    )
}

/// A sum over all threads; a thread that did not live to say leaves the sum unknown.
fn evidence(overview: &Overview<'_>, of: fn(&ThreadEvidence) -> Option<u64>) -> String {
    let sum: Option<u64> =
        overview.document().threads.iter().map(|thread| of(&thread.evidence)).sum();
    sum.map_or_else(|| tr!(not_known), |n| if n == 0 { tr!(none) } else { count(n) })
}

/// What is said of the warm-up below the summary.
pub(crate) fn warmup(all: &[Overview<'_>]) -> String {
    let warmups = || all.iter().map(Overview::warmup_ns);
    let (Some(min), Some(max)) = (warmups().min(), warmups().max()) else { return String::new() };
    match (min, max) {
        (_, Nanos(..=0)) => String::new(),
        _ if min == max => {
            tr!(first_time_each_recording, time = format::span(max))
        }
        // Threads warm up longer beside loads.
        _ => tr!(first_min_max_each, min = format::span(min), max = format::span(max)),
    }
}

/// Characters of a command line.
const MAX_COMMAND: usize = 2_000;

/// The command lines that made the recordings, and this page.
pub(crate) fn commands(all: &[Overview<'_>], of_page: &str) -> Vec<Command> {
    let mut commands: Vec<Command> = all
        .iter()
        .map(|overview| Command {
            what: overview.name.clone(),
            line: format::clip(&command_line(&overview.document().command_line), MAX_COMMAND),
        })
        .filter(|command| !command.line.is_empty())
        .collect();
    if !of_page.is_empty() {
        commands.push(Command { what: tr!(this_page), line: format::clip(of_page, MAX_COMMAND) });
    }
    commands
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn different_warm_ups_are_both_shown() {
        let recordings = [
            crate::synthetic::Synthetic::idle().build(),
            crate::synthetic::Synthetic::hackbench().build(),
        ];
        let all = Overview::all(&recordings);
        assert!(
            warmup(&all[..1]).starts_with("The first 100 ms of each recording"),
            "{}",
            warmup(&all[..1])
        );
        assert!(
            warmup(&all).starts_with("The first 100 ms to 600 ms of each recording"),
            "{}",
            warmup(&all)
        );
        assert_eq!(warmup(&[]), "");
    }
}
