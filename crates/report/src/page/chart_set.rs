// SPDX-License-Identifier: MIT OR Apache-2.0
//! The charts of a page: their pictures for who has no scripts, what can be chosen where scripts
//! run, and the figures behind them.

use crate::charts;
use crate::charts::options::OverTime;
use crate::charts::series::{Charts, Series};
use crate::charts::words::Chart;
use crate::language::{tr, translated};
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
    /// The charts of overlaid recordings.
    pub(crate) fn overlaid(series: &Charts, all: &[Overview<'_>]) -> ChartSet {
        ChartSet::new(
            Chart::ALL.into_iter().map(|chart| view(chart, series, all)).collect(),
            &series.recordings,
            series.measured,
            series,
        )
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

const EVERY: &str = "Activations by latency: every activation that woke.";
const EVERY_OTHER: &str = "Latencies: every one that was measured.";
const EXCEEDANCE_OF_OTHERS: &str = "Vertical: one in so many had at least this latency.";
const EXCEEDANCE_AND_TAIL_OF_OTHERS: &str = "Vertical: one in so many had at least this latency. \
                                             Dotted: the extrapolated tail with its 95 % band, if \
                                             nothing changes. It is not drawn if a check fails.";
const EXCEEDANCE: &str = "Vertical: one in so many activations had at least this latency.";
const EXCEEDANCE_AND_TAIL: &str = "Vertical: one in so many activations had at least this \
                                   latency. Dotted: the extrapolated tail with its 95 % band, if \
                                   nothing changes. It is not drawn if a check fails.";
const EXCEEDANCE_OF_JITTER: &str =
    "Vertical: one in so many intervals was off its period by at least this, either way.";
const OVER_TIME: &str = "Smallest to largest latency at each moment. No extreme is averaged away. \
                         Rings: the ten worst. Triangles at the top: skipped or lost ones.";
const OVER_TIME_AND_LOADS: &str = "Smallest to largest latency at each moment. No extreme is averaged away. Rings: the ten \
     worst. Triangles at the top: skipped or lost ones. Below: CPU use of each load over the same \
     time, in percent of one CPU. Thin dashes: the requested level.";

const INTERVALS: &str = "Time between two successive interrupts or records: smallest to largest \
                         at each sample number. No extreme is averaged away. Rings: the ten \
                         longest. Triangles at the top: skipped or lost ones.";

/// The page's scripts say the same where jitter is chosen there.
const JITTER: &str = "Jitter: by how much the time between two successive wake-ups differs from \
                      the interval, smallest to largest at each moment. Below 0: closer together. \
                      Triangles at the top: skipped or lost ones.";

/// Whether there is a recording that this chart can show something of.
fn knows_any(chart: Chart, all: &[Overview<'_>]) -> bool {
    all.iter().any(|one| match chart {
        Chart::Histogram | Chart::Exceedance => one.measured().knows_distribution(),
        Chart::Time => judge::knows_order(&one.recorded.document),
    })
}

/// What a reader must know to read the chart.
pub(crate) fn lead(chart: Chart, series: &Charts, all: &[Overview<'_>]) -> String {
    if !all.is_empty() && !knows_any(chart, all) {
        return tr!("Nothing to draw: there are no samples.");
    }
    let any = |of: fn(&Series) -> bool| series.recordings.iter().any(of);
    let lead = translated(match chart {
        Chart::Histogram => series.measured.pick(EVERY, EVERY_OTHER),
        Chart::Time if series.measured.is_two_sided() => INTERVALS,
        Chart::Time if series.style.over_time == OverTime::Jitter => JITTER,
        Chart::Time if any(|one| !one.loads.drawn.is_empty()) && !series.style.overlay => {
            OVER_TIME_AND_LOADS
        }
        Chart::Time => OVER_TIME,
        Chart::Exceedance if series.measured.is_two_sided() => EXCEEDANCE_OF_JITTER,
        Chart::Exceedance if any(|one| one.tail.is_some()) => {
            series.measured.pick(EXCEEDANCE_AND_TAIL, EXCEEDANCE_AND_TAIL_OF_OTHERS)
        }
        Chart::Exceedance => series.measured.pick(EXCEEDANCE, EXCEEDANCE_OF_OTHERS),
    });
    let recurring = matches!(chart, Chart::Time) && any(|one| !one.periods.is_empty());
    let without =
        !matches!(chart, Chart::Time) && all.iter().any(|one| one.skipped_and_not_drawn() > 0);
    let without = if without {
        tr!(" As measured: skipped {rows} are not drawn.", rows = series.rows.plural())
    } else {
        String::new()
    };
    format!(
        "{lead}{without}{}",
        if recurring {
            translated(" Dotted lines and ticks at the bottom: large latencies that recur.")
        } else {
            ""
        }
    )
}

/// The figures behind the chart.
pub(crate) fn table(chart: Chart, series: &Charts, all: &[Overview<'_>]) -> DataTable {
    match chart {
        Chart::Histogram => tables::histogram(series),
        Chart::Time => tables::time(series),
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
                Some(cpu) => tr!("thread {thread}, CPU {cpu}", thread = thread.thread, cpu),
                None => tr!("thread {thread}", thread = thread.thread),
            },
        })
        .collect()
}
