// SPDX-License-Identifier: MIT OR Apache-2.0
//! The charts of a page: their pictures for who has no scripts, what can be chosen where scripts run, and the figures behind them.

use crate::charts;
use crate::language::{say, word};
use crate::overview::Overview;
use crate::page::embedded;
use crate::series::{Charts, Series};
use crate::tables::{self, DataTable};
use crate::words::Chart;
use serde::Serialize;

/// What a page draws.
pub(crate) struct Drawn {
    pub(crate) charts: Vec<ChartView>,
    pub(crate) thread_choices: Vec<ThreadChoice>,
    /// Whether jitter can be drawn in the stead of latency.
    pub(crate) jitter: bool,
    /// What its scripts draw from, as JSON.
    pub(crate) data: String,
}

impl Drawn {
    /// The charts of recordings over one another.
    pub(crate) fn of(series: &Charts, all: &[Overview<'_>]) -> Drawn {
        Drawn::new(Chart::ALL.into_iter().map(|chart| view(chart, series, all)).collect(), &series.recordings, series)
    }

    /// These charts, whose scripts draw the recordings from the data.
    pub(crate) fn new(charts: Vec<ChartView>, recordings: &[Series], data: &impl Serialize) -> Drawn {
        Drawn {
            charts,
            thread_choices: thread_choices(recordings),
            jitter: recordings.iter().any(|series| series.time.has_jitter()),
            data: embedded(data),
        }
    }
}

/// One of the charts.
#[derive(Clone)]
pub(crate) struct ChartView {
    pub(crate) id: &'static str,
    pub(crate) title: &'static str,
    pub(crate) lead: &'static str,
    pub(crate) alternative: String,
    pub(crate) svg: String,
    /// The figures behind it, where what is drawn is always the same.
    pub(crate) table: Option<DataTable>,
}

/// A thread that latency over time can be shown of.
pub(crate) struct ThreadChoice {
    pub(crate) index: usize,
    pub(crate) name: String,
}

const EXCEEDANCE: &str = "Read across: one in so many activations woke at least so late.";
const EXCEEDANCE_AND_TAIL: &str = "Read across: one in so many activations woke at least so late. Dotted: how the tail goes on if \
                                   nothing changes, with its 95 % band; it is not drawn where a check forbids it.";
const OVER_TIME: &str = "From the smallest to the largest latency of each moment; no extreme is averaged away. Rings are the ten \
                         worst, triangles at the top skipped or lost activations.";
const OVER_TIME_AND_LOADS: &str = "From the smallest to the largest latency of each moment; no extreme is averaged away. Rings are \
                                   the ten worst, triangles at the top skipped or lost activations. Below, at the same times: the \
                                   CPU use that each load reached, in percent of one CPU; thin dashes are the level asked for.";

fn view(chart: Chart, series: &Charts, all: &[Overview<'_>]) -> ChartView {
    let (lead, table) = match chart {
        Chart::Histogram => (
            "Activations by their latency, in steps of 4.4 %. Each woken activation is in it, and nothing else.",
            tables::histogram(series),
        ),
        Chart::Time if series.recordings.iter().all(|one| one.loads.drawn.is_empty()) => (OVER_TIME, tables::time(series)),
        Chart::Time => (OVER_TIME_AND_LOADS, tables::time(series)),
        Chart::Exceedance => {
            let continued = series.recordings.iter().any(|one| one.tail.is_some());
            (if continued { EXCEEDANCE_AND_TAIL } else { EXCEEDANCE }, tables::exceedance(all))
        }
    };
    let alternative = chart.described(series, all);
    let svg = charts::draw(chart, series, all);
    ChartView { id: chart.file(), title: chart.title(), lead: word(lead), alternative, svg, table: Some(table) }
}

fn thread_choices(recordings: &[Series]) -> Vec<ThreadChoice> {
    let Some(most) = recordings.iter().map(|series| &series.threads).max_by_key(|threads| threads.len()) else {
        return Vec::new();
    };
    most.iter()
        .map(|thread| ThreadChoice {
            index: thread.thread,
            name: say!("thread {thread}, CPU {cpu}", thread = thread.thread, cpu = thread.cpu),
        })
        .collect()
}
