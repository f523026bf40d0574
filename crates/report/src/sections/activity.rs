// SPDX-License-Identifier: MIT OR Apache-2.0
//! The tables of what happened on the machine meanwhile.

use crate::format::{self, count, rounded_count};
use crate::language::{texts, tr};
use crate::overview::Overview;
use crate::sections::caveats;
use crate::sections::events::{self, Delta, Source};

pub(crate) struct Activity {
    pub(crate) title: &'static str,
    pub(crate) lead: String,
    pub(crate) rows: Vec<Row>,
}

pub(crate) struct Row {
    pub(crate) name: String,
    pub(crate) description: String,
    /// One for each recording.
    pub(crate) cells: Vec<Cell>,
}

pub(crate) struct Cell {
    pub(crate) figure: String,
    pub(crate) beside: String,
    pub(crate) bad: bool,
}

/// CPU time, interrupts, softirqs.
pub(crate) fn all(all: &[Overview<'_>]) -> Vec<Activity> {
    vec![
        Activity {
            title: texts::where_cpus_time_went.said(),
            lead: tr!(all_cpus_between_two),
            rows: cpu_time(all),
        },
        counted(texts::interrupts_during_the_run.said(), events::interrupts(all)),
        counted(texts::softirqs_during_the_run.said(), events::softirqs(all)),
    ]
}

fn counted(title: &'static str, (sources, more): (Vec<Source>, usize)) -> Activity {
    let mut lead = tr!(counts_on_all_cpus);
    if more > 0 {
        lead +=
            &tr!(left_out_sources_fewer, sources = format::counted(more as u64, texts::n_sources));
    }
    let row = |source: Source| Row {
        name: format::clip(&source.name, 40),
        description: format::clip(&source.description, 80),
        cells: source
            .deltas
            .iter()
            .map(|delta| delta.as_ref().map_or_else(not_known, cell))
            .collect(),
    };
    Activity { title, lead, rows: sources.into_iter().map(row).collect() }
}

fn not_known() -> Cell {
    Cell { figure: "–".into(), beside: String::new(), bad: false }
}

fn cell(delta: &Delta) -> Cell {
    let rate = delta.per_second.map(|rate| {
        if rate < 10.0 { format!("{rate:.1}/s") } else { format!("{}/s", rounded_count(rate)) }
    });
    let mostly = delta.mostly.map(|(cpu, percent)| tr!(percent_on_cpu, percent, cpu));
    Cell {
        figure: count(delta.count),
        beside: rate.into_iter().chain(mostly).collect::<Vec<_>>().join(", "),
        bad: false,
    }
}

fn cpu_time(all: &[Overview<'_>]) -> Vec<Row> {
    events::cpu_time(all)
        .into_iter()
        .filter(|row| row.shares.iter().flatten().any(|(_, ms)| *ms > 0) || row.kind == "steal")
        .map(|row| Row {
            cells: if row.kind == "steal" {
                all.iter().map(stolen).collect()
            } else {
                row.shares.iter().map(|share| share.map_or_else(not_known, time)).collect()
            },
            description: meaning(&row.kind).to_owned(),
            name: row.kind,
        })
        .collect()
}

fn time((percent, ms): (f64, u64)) -> Cell {
    Cell { figure: format!("{percent:.1} %"), beside: format!("{} ms", count(ms)), bad: false }
}

/// Time that somebody else took, which a hypervisor's guest cannot distinguish from its own
/// lateness: the figure of its caveat.
fn stolen(overview: &Overview<'_>) -> Cell {
    let document = overview.document();
    if document.steal().is_none() {
        return not_known();
    }
    let Some((stolen, most)) = document.steal_at_worst() else {
        return Cell { figure: "0 %".into(), beside: String::new(), bad: false };
    };
    let (time, cpu) = (caveats::time_stolen(&stolen), stolen.cpu);
    let beside = match most {
        Some(most) => {
            let (other, most) = (most.cpu, format::share(most.percent()));
            tr!(time_on_cpu_at_worst, time, cpu, most, other)
        }
        None => tr!(time_on_cpu, time, cpu),
    };
    Cell { figure: format!("{} %", format::share(stolen.percent())), beside, bad: true }
}

fn meaning(kind: &str) -> &'static str {
    match kind {
        "iowait" => texts::idle_waiting_for_i,
        "irq" => texts::in_interrupt_handlers,
        "softirq" => texts::in_softirqs,
        "steal" => texts::steal_taken_hypervisor,
        _ => return "",
    }
    .said()
}
