// SPDX-License-Identifier: MIT OR Apache-2.0
//! The tables of the page: the summary, the figures behind each chart, the worst wake-ups.

use crate::charts::equal_bins::{self, EqualBins};
use crate::charts::load_course::LoadCourse;
use crate::charts::series::{Charts, Series, Time};
use crate::charts::svg;
use crate::charts::words::{self, Rarity};
use crate::format::{self, count, exact_micros, micros};
use crate::language::{Text, texts, tr};
use crate::overview::Overview;
use crate::sections::accounts::{Accounts, cpu_of};
use crate::sections::columns::Measured;
use crate::sections::latencies::{Latencies, MANY, NOTHING, OrNothing};
use crate::sections::loads;
use crate::sections::time_kind::TimeKind;
use plan::Nanos;

pub(crate) struct SummaryRecording {
    pub(crate) place: usize,
    /// Which of the page's colours.
    pub(crate) colour: usize,
    pub(crate) condition: String,
    pub(crate) rows: Vec<Row>,
}

pub(crate) struct Row {
    /// `whole`, `thread` or `measured`.
    pub(crate) kind: &'static str,
    pub(crate) thread: usize,
    pub(crate) name: String,
    pub(crate) cpu: String,
    pub(crate) accounts: Vec<Account>,
    pub(crate) figures: [Cell; MANY.len()],
}

pub(crate) struct Account {
    pub(crate) key: &'static str,
    pub(crate) value: String,
    pub(crate) text: String,
    pub(crate) bad: bool,
}

pub(crate) struct Cell {
    pub(crate) key: &'static str,
    /// The value itself, where it is exact.
    pub(crate) ns: Option<String>,
    pub(crate) exact: String,
    pub(crate) text: String,
}

/// A table behind a chart.
#[derive(Clone)]
pub(crate) struct DataTable {
    pub(crate) title: &'static str,
    pub(crate) head: Vec<String>,
    pub(crate) rows: Vec<Vec<String>>,
}

pub(crate) struct WorstTable {
    pub(crate) name: String,
    pub(crate) colour: usize,
    pub(crate) rows: Vec<[String; 5]>,
}

/// The summary in at most about `most_rows` rows, the latest threads first to be kept; and how many
/// threads were left out.
pub(crate) fn summary(all: &[Overview<'_>], most_rows: usize) -> (Vec<SummaryRecording>, usize) {
    let mut maxima: Vec<Option<i64>> = all
        .iter()
        .flat_map(|overview| &overview.recorded.threads)
        .map(|statistics| statistics.latency.map(|summary| summary.max))
        .collect();
    maxima.sort_unstable_by(|a, b| b.cmp(a));
    let threads = maxima.len();
    let min = maxima.get(most_rows).copied().flatten();
    let mut shown = 0;
    let mut recordings = Vec::new();
    for (place, overview) in all.iter().enumerate() {
        let kind = overview.time();
        let mut rows = vec![whole(overview)];
        for (thread, statistics) in
            overview.document().threads.iter().zip(&overview.recorded.threads)
        {
            if shown == most_rows
                || threads > most_rows && statistics.latency.map(|summary| summary.max) < min
            {
                continue;
            }
            shown += 1;
            let document = overview.document();
            rows.push(Row {
                kind: "thread",
                thread: thread.index,
                name: tr!(thread_2, thread = thread.index),
                cpu: cpu_of(&document.probe, thread),
                accounts: accounts(
                    Accounts::from_thread(thread, document, statistics)
                        .shown(document, Latencies::due(statistics).count()),
                ),
                figures: figures(&Latencies::due(statistics), kind),
            });
            if statistics.with_skipped.is_some() {
                rows.push(Row {
                    kind: "measured",
                    thread: thread.index,
                    name: tr!(as_measured),
                    cpu: String::new(),
                    accounts: empty(),
                    figures: figures(&Latencies::measured(statistics), kind),
                });
            }
        }
        recordings.push(SummaryRecording {
            place,
            colour: place % svg::COLOURS.len(),
            condition: overview.load_added(),
            rows,
        });
    }
    (recordings, threads - shown)
}

fn whole(overview: &Overview<'_>) -> Row {
    let document = overview.document();
    let cpus = plan::CpuList::format(
        &document
            .threads
            .iter()
            .filter_map(|thread| document.probe.cpu_of(thread))
            .collect::<Vec<_>>(),
    );
    Row {
        kind: "whole",
        thread: 0,
        name: overview.name.clone(),
        cpu: cpus,
        accounts: accounts(overview.totals.activations.shown(document, overview.due().count())),
        figures: figures(&overview.due(), overview.time()),
    }
}

fn accounts(counts: [Option<u64>; 4]) -> Vec<Account> {
    let account = |(key, n): (&'static str, Option<u64>)| match n {
        Some(n) => Account {
            key,
            value: n.to_string(),
            text: count(n),
            bad: n > 0 && matches!(key, "late" | "skipped"),
        },
        None => Account { key, value: String::new(), text: NOTHING.to_owned(), bad: false },
    };
    ["due", "on_time", "late", "skipped"].into_iter().zip(counts).map(account).collect()
}

fn empty() -> Vec<Account> {
    ["", "", "", ""]
        .map(|key| Account { key, value: String::new(), text: String::new(), bad: false })
        .into()
}

/// Of one thread each with its value to the ns, which a browser shows beside it.
fn figures(of: &Latencies<'_>, kind: TimeKind) -> [Cell; MANY.len()] {
    MANY.map(|figure| {
        let ns = of.figure(figure).filter(|_| of.observed.is_some());
        Cell {
            key: figure.key(),
            ns: ns.map(|ns| ns.to_string()),
            exact: ns.map_or_else(String::new, |ns| format!("{ns:.1} ns")),
            text: of.in_micros(figure, kind),
        }
    })
}

fn head(first: &str, charts: &Charts) -> Vec<String> {
    std::iter::once(first.to_owned())
        .chain(charts.recordings.iter().map(|series| series.curve.name.clone()))
        .collect()
}

/// Rows of the histogram's table, or a few less: each is some bins of the chart.
const ROWS_OF_BINS: usize = 40;

pub(crate) fn histogram(charts: &Charts) -> DataTable {
    let equal: Vec<&EqualBins> =
        charts.recordings.iter().map(|series| &series.curve.equal).collect();
    // Bins that grow with their values have one for all that is not above 0.
    let in_equal = (charts.style.below_zero || charts.measured.is_two_sided())
        && equal.iter().any(|equal| !equal.is_empty());
    let (edges, counts) = if in_equal {
        let drawn =
            equal_bins::drawn(&equal, equal_bins::possible(&equal, charts.style.auto_bin_ns));
        (drawn.edges_ns, drawn.counts)
    } else {
        (
            charts.edges_ns.clone(),
            charts.recordings.iter().map(|series| series.curve.counts.clone()).collect(),
        )
    };
    let text = if in_equal { exact_micros } else { micros };
    let bins = edges.len().saturating_sub(1);
    let bins_a_row = bins.div_ceil(ROWS_OF_BINS).max(1);
    let rows = edges[..bins].chunks(bins_a_row).enumerate().filter_map(|(row, of_row)| {
        let first = row * bins_a_row;
        let sums: Vec<u64> = counts
            .iter()
            .map(|counts| counts.iter().skip(first).take(of_row.len()).sum())
            .collect();
        let (from, to) = (of_row.first()?, edges.get(first + of_row.len())?);
        let range = format!("{} – {}", text(*from), text(*to));
        sums.iter()
            .any(|sum| *sum > 0)
            .then(|| std::iter::once(range).chain(sums.into_iter().map(count)).collect())
    });
    DataTable { title: texts::counts_table.said(), head: head("µs", charts), rows: rows.collect() }
}

pub(crate) fn exceedance(all: &[Overview<'_>]) -> DataTable {
    let rarities: Vec<Vec<Rarity>> = all.iter().map(words::rarities).collect();
    let longest = rarities.iter().max_by_key(|points| points.len()).cloned().unwrap_or_default();
    let text = |rarity: &Rarity, one: &Overview<'_>| {
        if rarity.is_exact {
            one.time().micros(rarity.ns)
        } else {
            format!("~{}", micros(rarity.ns))
        }
    };
    let rows = longest.iter().enumerate().map(|(row, Rarity { one_in, .. })| {
        let cells = rarities
            .iter()
            .zip(all)
            .map(|(points, one)| points.get(row).map(|rarity| text(rarity, one)).or_nothing());
        std::iter::once(tr!(n1_in_n, n = count(*one_in))).chain(cells).collect()
    });
    let mut rows: Vec<Vec<String>> = rows.collect();
    let max = |one: &Overview<'_>| one.max_judged(|ns| one.time().micros(ns));
    let maxima = all.iter().map(|one| max(one).or_nothing());
    rows.push(std::iter::once(tr!(the_worst)).chain(maxima).collect());
    let head = std::iter::once(tr!(latency_at_least_us))
        .chain(all.iter().map(|overview| overview.name.clone()))
        .collect();
    DataTable { title: texts::curve_table.said(), head, rows }
}

/// Blocks of time in the table.
const BLOCKS: usize = 12;

pub(crate) fn time(charts: &Charts, all: &[Overview<'_>]) -> DataTable {
    let mut rows = Vec::new();
    let any_load = charts.recordings.iter().any(|series| !series.loads.drawn.is_empty());
    let any_jitter = charts.recordings.iter().any(|series| series.time.has_jitter());
    for (series, one) in charts.recordings.iter().zip(all) {
        let time: Time = series.time.reduced(BLOCKS);
        let missing = |block: usize| {
            time.missing.iter().find(|(step, _)| *step == block).map_or(0, |(_, n)| *n)
        };
        let jitter = time.jitter_min_ns.iter().zip(&time.jitter_max_ns);
        for (block, ((min, max), jitter)) in
            time.min_ns.iter().zip(&time.max_ns).zip(jitter).enumerate()
        {
            let seconds = Nanos(time.step_ns).as_secs_f64();
            let from = seconds * block as f64;
            let to = (from + seconds).min(Nanos(series.time.length_ns).as_secs_f64());
            let micros = |ns| one.time().micros(ns);
            let figure = |value: &Option<i64>| value.map(micros).or_nothing();
            let block_name = format!("{}, {from:.2} – {to:.2} s", series.curve.name);
            let mut row = vec![block_name, figure(min), figure(max)];
            if any_jitter {
                row.extend([figure(jitter.0), figure(jitter.1)]);
            }
            row.push(count(missing(block)));
            if any_load {
                let reached = |load: &LoadCourse| loads::percent(load.mean_between(from, to));
                let each: Vec<String> = series.loads.drawn.iter().map(reached).collect();
                row.push(if each.is_empty() { NOTHING.to_owned() } else { each.join(", ") });
            }
            rows.push(row);
        }
    }
    let mut head = vec![tr!(recording_and_time), tr!(min_us), tr!(max_us)];
    if any_jitter {
        head.extend([tr!(min_jitter_us), tr!(max_jitter_us)]);
    }
    head.push(tr!(skipped_or_lost));
    head.extend(any_load.then(|| tr!(cpu_use_each_load)));
    DataTable { title: texts::course_table.said(), head, rows }
}

pub(crate) fn worst_title(measured: Measured) -> &'static str {
    measured.pick(texts::the_worst_wake_ups, texts::the_largest_latencies).said()
}

pub(crate) fn worst_head(measured: Measured) -> [&'static str; 5] {
    [
        measured.latency_us(),
        texts::at_s,
        texts::cpu_heading,
        texts::thread,
        measured.pick(texts::activation, texts::number),
    ]
    .map(Text::said)
}

pub(crate) fn worst(charts: &Charts, all: &[Overview<'_>]) -> Vec<WorstTable> {
    let table = |(place, (series, one)): (usize, (&Series, &Overview<'_>))| WorstTable {
        name: series.curve.name.clone(),
        colour: place % svg::COLOURS.len(),
        rows: series
            .worst
            .iter()
            .map(|worst| {
                let at = || format!("{:.3}", Nanos(worst.since_start_ns).as_secs_f64());
                [
                    one.time().micros(worst.latency_ns),
                    one.document().knows_times().then(at).or_nothing(),
                    worst.cpu.map(|cpu| cpu.to_string()).or_nothing(),
                    worst.thread.to_string(),
                    format::count(worst.activation),
                ]
            })
            .collect(),
    };
    let each = charts.recordings.iter().zip(all).enumerate();
    each.map(table).filter(|table| !table.rows.is_empty()).collect()
}
