// SPDX-License-Identifier: MIT OR Apache-2.0
//! The charts of a page: their pictures for who has no scripts, what can be chosen where scripts
//! run, and the figures behind them.

use crate::charts;
use crate::charts::definition::Chart;
use crate::charts::options::OverTime;
use crate::charts::series::{Charts, Series};
use crate::language::{texts, tr};
use crate::overview::Overview;
use crate::page::embedded;
use crate::page::tables::{self, DataTable};
use crate::sections::columns::Measured;
use serde::Serialize;

pub(crate) struct ChartSet {
    pub(crate) charts: Vec<ChartView>,
    pub(crate) thread_choices: Vec<ThreadChoice>,
    /// Whether jitter can be drawn in the stead of latency.
    pub(crate) jitter: bool,
    /// Whether there are several to overlay.
    pub(crate) several: bool,
    /// Whether the histogram can be drawn in bins of equal width.
    pub(crate) equal_bins: bool,
    /// What its scripts draw from, as JSON.
    pub(crate) data: String,
}

impl ChartSet {
    /// The charts of overlaid recordings, of which something is known that they show.
    pub(crate) fn overlaid(series: &Charts, all: &[Overview<'_>]) -> ChartSet {
        let known = Chart::ALL.into_iter().filter(|chart| all.is_empty() || knows_any(*chart, all));
        ChartSet::new(
            known.map(|chart| view(chart, series, all)).collect(),
            &series.recordings,
            series.measured,
            series,
        )
    }

    /// Whether it has a chart of this id.
    pub(crate) fn has(&self, id: &str) -> bool {
        self.charts.iter().any(|chart| chart.id == id)
    }

    /// These charts, whose scripts draw the recordings from the data.
    pub(crate) fn new(
        charts: Vec<ChartView>,
        recordings: &[Series],
        measured: Measured,
        data: &impl Serialize,
    ) -> ChartSet {
        ChartSet {
            charts,
            thread_choices: thread_choices(recordings),
            several: recordings.len() > 1,
            equal_bins: recordings.iter().any(|series| !series.curve.equal.is_empty()),
            jitter: !measured.is_two_sided()
                && recordings.iter().any(|series| series.time.has_jitter()),
            data: embedded(data),
        }
    }
}

#[derive(Clone)]
pub(crate) struct ChartView {
    pub(crate) id: &'static str,
    pub(crate) title: &'static str,
    pub(crate) lead: String,
    pub(crate) alternative: String,
    /// None where nothing is known that it could show, and nothing can be chosen: axes alone would
    /// make up a range.
    pub(crate) svg: Option<String>,
    /// The figures behind it, where what is drawn is always the same.
    pub(crate) table: Option<DataTable>,
}

/// A thread that latency over time can be shown of.
pub(crate) struct ThreadChoice {
    pub(crate) index: usize,
    pub(crate) name: String,
}

/// Whether there is a recording that this chart can show something of.
fn knows_any(chart: Chart, all: &[Overview<'_>]) -> bool {
    all.iter().any(|one| match chart {
        Chart::Histogram | Chart::Exceedance => one.measured().knows_distribution(),
        Chart::Time => judge::knows_order(one.document()) && one.document().knows_times(),
    })
}

/// What a reader must know to read the chart.
pub(crate) fn lead(chart: Chart, series: &Charts, all: &[Overview<'_>]) -> String {
    if !all.is_empty() && !knows_any(chart, all) {
        return tr!(nothing_draw_there_no);
    }
    let of_each = all.iter().filter(|_| !matches!(chart, Chart::Time));
    let mut beyond = of_each.filter_map(|one| Some((one, one.beyond_in_words()?))).peekable();
    let any = |of: fn(&Series) -> bool| series.recordings.iter().any(of);
    let lead = match chart {
        Chart::Histogram if beyond.peek().is_some() => {
            series.measured.pick(texts::number_activations_latency, texts::how_many_there_each)
        }
        Chart::Histogram => series
            .measured
            .pick(texts::activations_latency_every_activation, texts::latencies_every_one_measured),
        Chart::Time if series.measured.is_two_sided() => texts::time_between_two_successive,
        Chart::Time if series.style.over_time == OverTime::Jitter => texts::jitter_how_much_time,
        Chart::Time if any(|one| !one.loads.drawn.is_empty()) && !series.style.overlay => {
            texts::smallest_largest_latency_each_moment
        }
        Chart::Time => texts::smallest_largest_latency_each,
        Chart::Exceedance if series.measured.is_two_sided() => {
            texts::vertical_one_in_so_many_intervals
        }
        Chart::Exceedance if any(|one| one.tail.is_some()) => series
            .measured
            .pick(texts::vertical_one_in_so_many_activations, texts::vertical_one_in_so_many_had),
        Chart::Exceedance => {
            series.measured.pick(texts::vertical_one_in_so_many, texts::vertical_one_in_so)
        }
    }
    .said();
    let recurring = matches!(chart, Chart::Time) && any(|one| !one.periods.is_empty());
    let shows_latency = matches!(chart, Chart::Time) && series.style.over_time == OverTime::Latency;
    let explained = if shows_latency && any(|one| !one.explained.is_empty()) {
        tr!(diamonds_cause_known)
    } else {
        String::new()
    };
    let beyond: String = beyond
        .map(|(one, beyond)| match all.len() {
            1 => format!(" {beyond}{}", texts::full_stop.said()),
            _ => format!(" {}", tr!(name_figures, name = one.name, figures = beyond)),
        })
        .collect();
    let without =
        !matches!(chart, Chart::Time) && all.iter().any(|one| one.skipped_and_not_drawn() > 0);
    let without = if without {
        tr!(measured_skipped_rows_not, rows = series.rows.plural())
    } else {
        String::new()
    };
    format!(
        "{lead}{explained}{without}{beyond}{}",
        if recurring { texts::dotted_lines_ticks_bottom.said() } else { "" }
    )
}

/// The figures behind the chart.
pub(crate) fn table(chart: Chart, series: &Charts, all: &[Overview<'_>]) -> DataTable {
    match chart {
        Chart::Histogram => tables::histogram(series),
        Chart::Time => tables::time(series, all),
        Chart::Exceedance => tables::exceedance(all),
    }
}

fn view(chart: Chart, series: &Charts, all: &[Overview<'_>]) -> ChartView {
    let drawn = knows_any(chart, all);
    ChartView {
        id: chart.file(),
        title: chart.title_of(series.measured),
        lead: lead(chart, series, all),
        alternative: chart.described(series, all),
        svg: drawn.then(|| charts::draw(chart, series, all)),
        table: drawn.then(|| table(chart, series, all)),
    }
}

fn thread_choices(recordings: &[Series]) -> Vec<ThreadChoice> {
    let Some(max) =
        recordings.iter().map(|series| &series.threads).max_by_key(|threads| threads.len())
    else {
        return Vec::new();
    };
    max.iter()
        .map(|thread| ThreadChoice {
            index: thread.thread,
            name: match thread.cpu {
                Some(cpu) => tr!(thread_cpu, thread = thread.thread, cpu),
                None => tr!(thread_2, thread = thread.thread),
            },
        })
        .collect()
}
