// SPDX-License-Identifier: MIT OR Apache-2.0
//! What else differs between groups of recordings, and which differences forbid to compare them.

use crate::alike::each_once;
use crate::format::exact_micros;
use crate::language::{Text, texts, tr};
use crate::overview::Overview;
use crate::sections::cautions::Apart;
use crate::sections::columns::judged_name;
use crate::sections::conditions;
use crate::sections::method;
use crate::sections::time_kind::TimeKind;
use model::{Document, Recorded, Unknown};
use plan::{CpuId, CpuList};
use std::collections::BTreeSet;

/// A fact that is not the same in both groups.
#[derive(Clone)]
pub(super) struct Differing {
    pub(super) name: String,
    /// All values of the first group.
    pub(super) base: Vec<String>,
    pub(super) other: Vec<String>,
}

/// Facts that differ at every run, and say nothing; nor do phases, which are pooled.
const ALWAYS: [Text; 5] = [
    texts::recorded,
    texts::clock,
    texts::start_until_measuring_began,
    texts::preempted_while_measuring,
    method::PHASE,
];

/// Every fact of machine and method in which the groups differ, and what was not alike while they
/// were measured.
pub(super) fn differing(
    base: &[Recorded],
    other: &[Recorded],
    apart: Vec<Apart>,
) -> Vec<Differing> {
    let all: Vec<Overview<'_>> = base.iter().chain(other).map(Overview::new).collect();
    let unknown = || tr!(not_known);
    let facts = conditions::facts(&all).into_iter().filter(|fact| fact.differs).map(|fact| {
        let values: Vec<String> =
            fact.values.into_iter().map(|value| value.before.unwrap_or_else(unknown)).collect();
        (fact.name, values)
    });
    let rows = method::rows(&all)
        .into_iter()
        .filter(|row| !row.one_for_all() && !ALWAYS.contains(&row.name));
    let loads: Vec<String> = all.iter().map(Overview::condition).collect();
    // In order of thread: one on each, or several in turn.
    let cpus = |one: &Overview<'_>| {
        let of_threads = one.document().threads.iter().map(|thread| thread.cpu);
        let cpus: Vec<CpuId> = of_threads.collect();
        tr!(threads_on_cpus, threads = cpus.len(), cpus = CpuList::format(&cpus))
    };
    let cpus: Vec<String> = all.iter().map(cpus).collect();
    let distinct = |values: &[String]| {
        values.iter().cloned().collect::<BTreeSet<_>>().into_iter().collect::<Vec<_>>()
    };
    (facts.chain(rows.map(|row| (row.name, row.values))))
        .chain([(texts::load_heading, loads), (texts::measuring_threads, cpus)])
        .map(|(name, values)| Differing {
            name: name.said().to_owned(),
            base: distinct(&values[..base.len()]),
            other: distinct(&values[base.len()..]),
        })
        .filter(|fact| fact.base != fact.other)
        .chain(apart.into_iter().map(|one| Differing {
            name: one.name,
            base: vec![one.base],
            other: vec![one.other],
        }))
        .collect()
}

/// Where the ns of a recording come from.
fn time_of(document: &Document) -> &'static str {
    match TimeKind::from_document(document) {
        TimeKind::Machine => texts::a_real_machine,
        TimeKind::Virtual => texts::the_labs_virtual_time,
        TimeKind::Emulated => texts::the_lab_emulated,
    }
    .said()
}

/// That these recordings are of different quantities, such as jitter and latency: no figure of one
/// has its like in the other.
pub(crate) fn different_quantities(documents: &[&Document]) -> Option<String> {
    let names = each_once(documents.iter().map(|document| judged_name(document.probe.quantity)));
    let quantities = (names.len() > 1).then(|| names.join(texts::semicolon.said()))?;
    Some(tr!(their_quantities_differ_quantities, quantities))
}

/// Why figures of these must not be held against one another, the gravest first. The values of each
/// are in the order of the documents.
pub(crate) fn incomparable(documents: &[&Document]) -> Vec<String> {
    type Answer = fn(&Document) -> String;
    let questions: [(Text, Answer); 6] = [
        (texts::their_times_different_kinds, |document| time_of(document).to_owned()),
        (texts::their_probes_differ, |document| document.probe.name.to_string()),
        (texts::their_clocks_differ, |document| document.instrument.clock.clone()),
        (texts::their_intervals_differ, |document| match document.lacks(Unknown::Interval) {
            true => tr!(not_known),
            false => document.run.interval_ns.to_string(),
        }),
        (texts::their_periods_differ, |document| {
            document
                .probe
                .period_ns
                .map_or_else(|| tr!(none), |period| tr!(micros_us, micros = exact_micros(period.0)))
        }),
        (texts::their_overrun_rules_differ, |document| match document.run.overrun_policy {
            plan::OverrunPolicy::Skip => tr!(skipping),
            plan::OverrunPolicy::CatchUp => tr!(catching_up),
        }),
    ];
    let differing = questions.into_iter().filter_map(|(why, answer)| {
        // In the order of the recordings, which are named in it too.
        let answers = each_once(documents.iter().map(|document| answer(document)));
        let answers = (answers.len() > 1).then(|| answers.join("; "))?;
        Some(tr!(why_answers, why = why.said(), answers))
    });
    different_quantities(documents).into_iter().chain(differing).collect()
}
