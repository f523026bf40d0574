// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the charts show. The page and the SVG files draw from these values and from nothing else.
//!
//! Points are reduced here and nowhere later: neighbours are joined, extremes and counts are never
//! dropped.

use crate::charts::bins::{Bins, FLOOR_NS, bin_of};
use crate::charts::equal_bins::EqualBins;
use crate::charts::fitted::FittedTail;
use crate::charts::load_course::{self, LoadCourses};
use crate::charts::options::{ChartOptions, OverTime, Style};
use crate::explained::cause_of;
use crate::format;
use crate::gate::LimitLine;
use crate::language::tr;
use crate::overview::{self, Overview, Totals};
use crate::sections::columns::Measured;
use crate::sections::due::due_since_first;
use crate::sections::due::start_since_first;
use crate::sections::inference::{self, Inference};
use crate::sections::rows::Rows;
use model::{Account, Recorded};
use plan::Nanos;
use serde::Serialize;
use stats::{Bucket, Histogram, Moments};

/// All charts of a report.
#[derive(Debug, Serialize)]
pub(crate) struct Charts {
    /// Bin `i` of every histogram holds latencies from `edges_ns[i]` up to, not including,
    /// `edges_ns[i + 1]`; the first also holds what lies below.
    pub(crate) edges_ns: Vec<i64>,
    pub(crate) recordings: Vec<Series>,
    pub(crate) style: Style,
    pub(crate) limits: Vec<LimitLine>,
    /// Activations of all recordings that were skipped, and are in no picture.
    #[serde(skip)]
    pub(crate) skipped: u64,
    #[serde(skip)]
    pub(crate) rows: Rows,
    #[serde(skip)]
    pub(crate) measured: Measured,
}

/// How the latencies of one recording, or of several taken together, are distributed.
#[derive(Debug, Serialize)]
pub(crate) struct Curve {
    pub(crate) name: String,
    pub(crate) samples: u64,
    pub(crate) interval: Option<Interval>,
    pub(crate) min_ns: Option<i64>,
    pub(crate) max_ns: Option<i64>,
    /// Counts by bin of [`Charts::edges_ns`].
    pub(crate) counts: Vec<u64>,
    /// The same in bins of equal width.
    pub(crate) equal: EqualBins,
    pub(crate) exceedance: Exceedance,
}

/// The interval of a recording, as a line in its charts: what lies behind it is late.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Interval {
    pub(crate) ns: i64,
    pub(crate) name: String,
}

impl Interval {
    fn new(ns: i64) -> Interval {
        Interval { ns, name: tr!(one_interval_time, time = format::span(Nanos(ns))) }
    }
}

/// One recording's.
#[derive(Debug, Serialize)]
pub(crate) struct Series {
    #[serde(flatten)]
    pub(crate) curve: Curve,
    pub(crate) time: Time,
    /// Each thread; empty if there is no room for them.
    pub(crate) threads: Vec<ThreadSeries>,
    /// The ten worst of all threads, worst first.
    pub(crate) worst: Vec<WorstPoint>,
    /// Latencies whose cause is known, the largest.
    pub(crate) explained: Vec<ExplainedPoint>,
    /// What the loads reached meanwhile.
    pub(crate) loads: LoadCourses,
    /// How the distribution goes on, where that can be said.
    pub(crate) tail: Option<FittedTail>,
    /// Late wake-ups that recur, thread by thread.
    pub(crate) periods: Vec<Recurring>,
}

/// Late wake-ups of a thread that recur.
#[derive(Debug, Serialize)]
pub(crate) struct Recurring {
    pub(crate) thread: usize,
    /// The first of their times, since the first activation of the run, and from each to the next.
    pub(crate) first_ns: f64,
    pub(crate) period_ns: f64,
    /// `late every 5,000 activations (5.00 s), ...`.
    pub(crate) words: String,
}

impl Recurring {
    fn all(overview: &Overview<'_>) -> Vec<Recurring> {
        // A number of events is no time.
        let inferences =
            if overview.document().probe.is_planned() { overview.inferences } else { &[] };
        let threads = overview.document().threads.iter().zip(inferences);
        let several = overview.document().threads.len() > 1;
        let of = |(thread, inference): (&model::Thread, &Inference)| {
            let (index, interval) = (thread.index, thread.interval_ns);
            let rows = overview.document().probe.rows.into();
            let start_ns = start_since_first(overview.document(), thread) as f64;
            let recurring = move |period: &stats::Period| Recurring {
                thread: index,
                first_ns: start_ns + period.first * interval.0 as f64,
                period_ns: period.activations * interval.0 as f64,
                words: if several {
                    tr!(
                        thread_words,
                        thread = index,
                        words = inference::period(period, interval, rows)
                    )
                } else {
                    inference::period(period, interval, rows)
                },
            };
            inference.periods.iter().map(recurring).collect::<Vec<_>>()
        };
        threads.flat_map(of).take(MAX_PERIODS).collect()
    }
}

/// Periods of one recording that are drawn.
const MAX_PERIODS: usize = 12;

/// How many activations were at least so late.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Exceedance {
    pub(crate) latency_ns: Vec<i64>,
    /// Descending, and never 0.
    pub(crate) at_least: Vec<u64>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct Time {
    /// When the first step begins, since the first activation of the run; 0 in everything that is
    /// drawn.
    #[serde(skip)]
    pub(crate) start_ns: i64,
    /// Step `i` covers the time from `i * step_ns` after that.
    pub(crate) step_ns: i64,
    /// How long it is; the last step may be shorter than the others.
    pub(crate) length_ns: i64,
    /// ns; null where nothing woke.
    pub(crate) min_ns: Vec<Option<i64>>,
    pub(crate) max_ns: Vec<Option<i64>>,
    /// Smallest and largest jitter, ns, below zero where wake-ups came closer than the interval;
    /// null where no two activations in succession woke, or none was computed.
    pub(crate) jitter_min_ns: Vec<Option<i64>>,
    pub(crate) jitter_max_ns: Vec<Option<i64>>,
    /// `[step, activations without a sample]`, where there are any.
    pub(crate) missing: Vec<(usize, u64)>,
}

#[derive(Debug, Serialize)]
pub(crate) struct ThreadSeries {
    pub(crate) thread: usize,
    pub(crate) cpu: Option<u32>,
    pub(crate) time: Time,
}

/// One of the worst activations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct WorstPoint {
    pub(crate) thread: usize,
    pub(crate) cpu: Option<u32>,
    pub(crate) activation: u64,
    /// When it was due, since the first activation of the run.
    pub(crate) since_start_ns: i64,
    pub(crate) latency_ns: i64,
}

/// A latency whose cause is known.
#[derive(Debug, Serialize)]
pub(crate) struct ExplainedPoint {
    pub(crate) thread: usize,
    /// When it was due, since the first activation of the run.
    pub(crate) since_start_ns: i64,
    pub(crate) latency_ns: i64,
    pub(crate) cause: String,
}

/// Of those as many are drawn at most.
const MAX_EXPLAINED: usize = 200;

impl ExplainedPoint {
    /// Of rows that have a time of their own it is known of the worst alone.
    fn all(recorded: &Recorded, worst: &[WorstPoint]) -> Vec<ExplainedPoint> {
        let document = &recorded.document;
        let of = |account: &Account| {
            let thread = document.threads.get(account.thread)?;
            let is_it = |worst: &&WorstPoint| {
                (worst.thread, worst.activation) == (thread.index, account.activation)
            };
            let since_start_ns = if document.probe.is_planned() {
                due_since_first(document, thread, account.activation)
            } else {
                worst.iter().find(is_it)?.since_start_ns
            };
            Some(ExplainedPoint {
                thread: thread.index,
                since_start_ns,
                latency_ns: account.latency_ns.cast_signed(),
                cause: cause_of(account)?,
            })
        };
        let accounts = recorded.explained.iter().flat_map(|explained| &explained.accounts);
        accounts.filter_map(of).take(MAX_EXPLAINED).collect()
    }
}

impl Charts {
    /// At most `max_steps` steps of latency over time in all, and a quarter as many points of loads
    /// and bins.
    pub(crate) fn new(all: &[Overview<'_>], options: &ChartOptions, max_steps: usize) -> Charts {
        let bins = Bins::from_moments(all.iter().map(|overview| &overview.totals.moments));
        let steps = Steps::share(all, max_steps);
        let points = load_course::points_each(all, max_steps / 4);
        let measured = Measured::from_overviews(all);
        let equal_bins = max_steps / 4 / all.len().max(1);
        let resolution =
            Resolution { bins, equal_bins, steps, points, shift_ns: measured.period_ns() };
        let recordings: Vec<Series> =
            all.iter().map(|overview| Series::new(overview, resolution)).collect();
        let moments: Vec<&Moments> = all.iter().map(|overview| &overview.totals.moments).collect();
        let equal: Vec<&EqualBins> = recordings.iter().map(|series| &series.curve.equal).collect();
        let style = Style::new(options, measured, &moments, bins, &equal);
        let skipped = all.iter().map(Overview::skipped_and_not_drawn).sum();
        let (limits, rows) = (options.lines(measured), overview::rows_of(all));
        Charts { edges_ns: bins.edges(), recordings, style, limits, skipped, rows, measured }
    }

    /// Smallest and largest value over time of all, ns.
    pub(crate) fn range_ns(&self, what: OverTime) -> Option<(i64, i64)> {
        let min = self
            .recordings
            .iter()
            .flat_map(|series| series.time.drawn(what).0.iter().flatten())
            .min()?;
        let max = self
            .recordings
            .iter()
            .flat_map(|series| series.time.drawn(what).1.iter().flatten())
            .max()?;
        Some((*min, *max))
    }

    /// The interval of every recording, where they share one: what is later is late.
    pub(crate) fn interval(&self) -> Option<&Interval> {
        let first = self.recordings.first()?.curve.interval.as_ref();
        first.filter(|_| {
            self.recordings.iter().all(|series| series.curve.interval.as_ref() == first)
        })
    }
}

/// In what bins and steps one recording is drawn, and in how many.
#[derive(Clone, Copy)]
pub(crate) struct Resolution {
    pub(crate) bins: Bins,
    pub(crate) equal_bins: usize,
    pub(crate) steps: Steps,
    pub(crate) points: usize,
    /// Added to values over time, ns.
    pub(crate) shift_ns: i64,
}

impl Curve {
    /// The latencies of `totals`, judged `by_size` or not, in `bins` and in at most so many
    /// `equal_bins`.
    pub(crate) fn new(
        name: String,
        interval_ns: Option<i64>,
        (totals, by_size): (&Totals, bool),
        bins: Bins,
        equal_bins: usize,
    ) -> Curve {
        let moments = &totals.moments;
        let (judged, largest) = totals.judged(by_size);
        Curve {
            name,
            samples: moments.count(),
            interval: interval_ns.map(Interval::new),
            min_ns: moments.min(),
            max_ns: moments.max(),
            counts: bins.counts(&totals.histogram),
            equal: EqualBins::new(&totals.linear, equal_bins),
            // Sizes begin at 0.
            exceedance: Exceedance::new(
                &judged,
                largest,
                !by_size && moments.min().is_some_and(|min| min <= 0),
            ),
        }
    }
}

impl Series {
    pub(crate) fn new(overview: &Overview<'_>, resolution: Resolution) -> Series {
        let Resolution { bins, equal_bins, steps, points, shift_ns } = resolution;
        let recorded = overview.recorded;
        let document = &recorded.document;
        let threads = document.threads.iter().zip(&recorded.threads);
        let whole: Vec<Time> = threads
            .clone()
            .map(|(thread, statistics)| {
                let time = Time::new(
                    statistics,
                    &document.probe,
                    thread.interval_ns.0,
                    start_since_first(document, thread),
                );
                time.shifted(shift_ns)
            })
            .collect();
        let mut worst: Vec<WorstPoint> = threads
            .clone()
            .enumerate()
            .flat_map(|(index, (thread, statistics))| {
                // Events happened when they happened, and not at their number.
                let times = overview
                    .recorded
                    .beside
                    .get(index)
                    .map_or(&[][..], |beside| &beside.worst_times_ns);
                let happened =
                    |place: usize| Some(times.get(place)? + start_since_first(document, thread));
                statistics.worst.iter().enumerate().map(move |(place, worst)| WorstPoint {
                    thread: thread.index,
                    cpu: document.probe.cpu_of(thread).map(|cpu| cpu.0),
                    activation: worst.activation,
                    since_start_ns: happened(place)
                        .unwrap_or_else(|| due_since_first(document, thread, worst.activation)),
                    latency_ns: worst.latency_ns + shift_ns,
                })
            })
            .collect();
        worst.sort_by_key(|worst| (std::cmp::Reverse(worst.latency_ns), worst.since_start_ns));
        worst.truncate(10);
        let time = Time::together(&whole, steps.together);
        let loads = LoadCourses::from_overview(overview, time.length_ns, points);
        // Nothing that was not planned is late.
        let interval_ns = overview.interval_ns().filter(|_| document.probe.is_planned());
        Series {
            curve: Curve::new(
                overview.name.clone(),
                interval_ns,
                (&overview.totals, overview.by_size()),
                bins,
                equal_bins,
            ),
            time,
            threads: threads
                .zip(&whole)
                .filter(|_| steps.each > 0)
                .map(|((thread, _), time)| ThreadSeries {
                    thread: thread.index,
                    cpu: document.probe.cpu_of(thread).map(|cpu| cpu.0),
                    time: time.reduced(steps.each),
                })
                .collect(),
            explained: ExplainedPoint::all(recorded, &worst),
            worst,
            loads,
            // That of jitter is fitted to intervals that were too long, and the curve is of both
            // sides.
            tail: FittedTail::from_overview(overview).filter(|_| !overview.by_size()),
            periods: Recurring::all(overview),
        }
    }
}

/// Steps over time for all threads of a recording together, and for each thread.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Steps {
    together: usize,
    each: usize,
}

impl Steps {
    /// More steps than a screen has columns leave something to zoom into.
    const MAX_STEPS: usize = 4_096;
    /// Fewer would be no picture of a thread.
    const MIN_STEPS: usize = 24;

    pub(crate) fn share(all: &[Overview<'_>], max_steps: usize) -> Steps {
        let threads: usize = all.iter().map(|overview| overview.recorded.threads.len()).sum();
        let together = (max_steps / 3 / all.len().max(1)).clamp(2, Self::MAX_STEPS);
        let each = (max_steps * 2 / 3 / threads.max(1)).min(Self::MAX_STEPS);
        // A single thread of each recording is all of its threads together.
        let shown = each >= Self::MIN_STEPS && threads > all.len();
        Steps {
            together: if shown {
                together
            } else {
                (max_steps / all.len().max(1)).clamp(2, Self::MAX_STEPS)
            },
            each: if shown { each } else { 0 },
        }
    }
}

impl Time {
    fn new(
        statistics: &stats::Statistics,
        probe: &model::ProbeStatement,
        interval_ns: i64,
        start_ns: i64,
    ) -> Time {
        let lasting =
            |rows: u64| i64::try_from(rows).unwrap_or(i64::MAX).saturating_mul(interval_ns);
        let steps = statistics.envelope.steps();
        // Steps of events are by time, and not by how many there were.
        let rows = if probe.is_planned() {
            statistics.activations.due + statistics.lost
        } else {
            statistics.envelope.rows_per_step() * steps.len() as u64
        };
        Time {
            start_ns,
            step_ns: lasting(statistics.envelope.rows_per_step()),
            // Of a histogram nobody knows when anything was.
            length_ns: if steps.is_empty() { 0 } else { lasting(rows) },
            min_ns: steps.iter().map(|step| step.range().map(|(min, _)| min)).collect(),
            max_ns: steps.iter().map(|step| step.range().map(|(_, max)| max)).collect(),
            jitter_min_ns: statistics.jitter.iter().map(|step| step.map(|(min, _)| min)).collect(),
            jitter_max_ns: statistics.jitter.iter().map(|step| step.map(|(_, max)| max)).collect(),
            missing: steps
                .iter()
                .enumerate()
                .filter(|(_, step)| step.missing > 0)
                .map(|(place, step)| (place, step.missing))
                .collect(),
        }
    }

    /// The same with so much added to its values, ns.
    fn shifted(mut self, by_ns: i64) -> Time {
        self.min_ns.iter_mut().chain(&mut self.max_ns).flatten().for_each(|value| *value += by_ns);
        self
    }

    pub(crate) fn has_jitter(&self) -> bool {
        self.jitter_max_ns.iter().any(Option::is_some)
    }

    /// What is drawn of each step: its smallest and its largest value, ns.
    pub(crate) fn drawn(&self, what: OverTime) -> (&[Option<i64>], &[Option<i64>]) {
        match what {
            OverTime::Latency => (&self.min_ns, &self.max_ns),
            OverTime::Jitter => (&self.jitter_min_ns, &self.jitter_max_ns),
        }
    }

    /// The same in at most `max` steps.
    pub(crate) fn reduced(&self, max: usize) -> Time {
        Time::together(std::slice::from_ref(self), max)
    }

    /// Several as one that begins with the first activation of the run, in at most `max_steps`
    /// steps. A step that straddles two goes to the earlier.
    fn together(parts: &[Time], max_steps: usize) -> Time {
        let finest = parts.iter().map(|part| part.step_ns).max().unwrap_or(1).max(1);
        let length_ns = parts
            .iter()
            .map(|part| part.start_ns.saturating_add(part.length_ns))
            .max()
            .unwrap_or(0);
        let max_steps = i64::try_from(max_steps.max(1)).unwrap_or(i64::MAX);
        // Whole multiples of the coarsest part's step, so that equal parts are joined without
        // moving anything.
        let step_ns =
            finest.saturating_mul(div_ceil(div_ceil(length_ns, finest), max_steps).max(1));
        let steps = usize::try_from(div_ceil(length_ns, step_ns)).unwrap_or(0);
        let none = || vec![None; steps];
        let mut time = Time {
            start_ns: 0,
            step_ns,
            length_ns,
            min_ns: none(),
            max_ns: none(),
            jitter_min_ns: none(),
            jitter_max_ns: none(),
            missing: Vec::new(),
        };
        let mut missing = vec![0_u64; steps];
        for part in parts {
            let place = |step: usize| {
                let begins = i64::try_from(step)
                    .unwrap_or(0)
                    .saturating_mul(part.step_ns)
                    .saturating_add(part.start_ns);
                usize::try_from(begins / step_ns).unwrap_or(0)
            };
            let joined = |into: &mut (&mut [Option<i64>], &mut [Option<i64>]),
                          of: (&[Option<i64>], &[Option<i64>])| {
                for (step, (min, max)) in of.0.iter().zip(of.1).enumerate() {
                    let place = place(step);
                    // An interval that somebody has edited may be anything.
                    if let (Some(smallest), Some(largest)) =
                        (into.0.get_mut(place), into.1.get_mut(place))
                    {
                        *smallest = [*smallest, *min].into_iter().flatten().min();
                        *largest = (*largest).max(*max);
                    }
                }
            };
            joined(&mut (&mut time.min_ns, &mut time.max_ns), part.drawn(OverTime::Latency));
            joined(
                &mut (&mut time.jitter_min_ns, &mut time.jitter_max_ns),
                part.drawn(OverTime::Jitter),
            );
            for (step, n) in &part.missing {
                if let Some(all) = missing.get_mut(place(*step)) {
                    *all += n;
                }
            }
        }
        time.missing = missing.into_iter().enumerate().filter(|(_, n)| *n > 0).collect();
        time
    }
}

/// Division of positive numbers, rounded up.
const fn div_ceil(n: i64, by: i64) -> i64 {
    n / by + (n % by != 0) as i64
}

impl Exceedance {
    /// Where any is `below_zero`, on a linear axis, all are where they are; a logarithmic one has
    /// to begin somewhere.
    fn new(histogram: &Histogram, max: Option<i64>, below_zero: bool) -> Exceedance {
        let floor = if below_zero { i64::MIN } else { FLOOR_NS };
        let within = histogram.within();
        let buckets: Vec<Bucket> = within.buckets().collect();
        let mut exceedance = Exceedance::default();
        let mut above = histogram.total();
        let mut bin = None;
        for bucket in &buckets {
            // A point at the first bucket of each bin, and wherever the curve has fallen by 2 %:
            // there the count of everything from the bucket on is exact.
            let fell = exceedance
                .at_least
                .last()
                .is_none_or(|last| (last - above).saturating_mul(50) > *last);
            if bin.replace(bin_of(bucket.lower)) != Some(bin_of(bucket.lower))
                || fell && bucket.lower >= floor
            {
                exceedance.latency_ns.push(bucket.lower.max(floor));
                exceedance.at_least.push(above);
            }
            above -= bucket.count;
        }
        // Where those beyond the histogram lie is not known: the curve ends above them.
        let beyond = histogram.beyond();
        if beyond > 0 {
            exceedance.latency_ns.extend(buckets.last().map(|last| last.upper));
            exceedance.at_least.extend(buckets.last().map(|_| beyond));
        } else if let Some(max) =
            max.filter(|max| exceedance.latency_ns.last().is_some_and(|last| last < max))
        {
            exceedance.latency_ns.push(max);
            exceedance.at_least.push(1);
        }
        exceedance
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::Synthetic;

    #[test]
    fn no_activation_is_dropped_and_no_extreme_lost() {
        let recordings = [Synthetic::idle().build(), Synthetic::hackbench().build()];
        let all = Overview::all(&recordings);
        for max_steps in [10_000, 300, 2] {
            let charts = Charts::new(&all, &ChartOptions::default(), max_steps);
            for (series, overview) in charts.recordings.iter().zip(&all) {
                assert_eq!(
                    series.curve.counts.iter().sum::<u64>(),
                    overview.totals.moments.count()
                );
                assert_eq!(
                    series.time.max_ns.iter().flatten().max().copied(),
                    overview.totals.moments.max()
                );
                assert_eq!(
                    series.time.min_ns.iter().flatten().min().copied(),
                    overview.totals.moments.min()
                );
                assert_eq!(
                    series.time.missing.iter().map(|(_, n)| n).sum::<u64>(),
                    overview.totals.activations.skipped().unwrap()
                );
                for (thread, statistics) in series.threads.iter().zip(&overview.recorded.threads) {
                    assert_eq!(
                        thread.time.max_ns.iter().flatten().max().copied(),
                        statistics.latency.map(|summary| summary.max)
                    );
                    assert!(thread.time.max_ns.len() <= max_steps / 3);
                }
                assert_eq!(
                    series.worst.first().map(|worst| worst.latency_ns),
                    overview.totals.moments.max()
                );
            }
        }
    }

    #[test]
    fn exceedance_falls_from_all_to_one() {
        let recordings = [Synthetic::hackbench().build()];
        let all = Overview::all(&recordings);
        let exceedance =
            &Charts::new(&all, &ChartOptions::default(), 100).recordings[0].curve.exceedance;
        assert_eq!(exceedance.at_least.first().copied(), Some(all[0].totals.moments.count()));
        assert_eq!(exceedance.latency_ns.last().copied(), all[0].totals.moments.max());
        assert!(
            exceedance.at_least.is_sorted_by(|a, b| a >= b)
                && exceedance.at_least.iter().all(|n| *n > 0)
        );
        assert!(exceedance.latency_ns.is_sorted_by(|a, b| a < b));
    }

    /// With `--aligned=TIME` each thread starts that much later than the one before.
    #[test]
    fn threads_that_start_later_are_drawn_later() {
        let mut latencies = [5_000; 1_000];
        latencies[10] = 90_000;
        let mut recordings = [Synthetic::idle().samples(&latencies).build()];
        recordings[0].document.threads[1].start_ns.0 += 500_000_000;
        let period = stats::Period {
            activations: 4.0,
            first: 1.0,
            jitter: 0.0,
            present: 1.0,
            latency_ns: 9_000,
            chance: 1e-9,
        };
        let inferences = vec![vec![inference_of(vec![period]); 2]];
        let all = Overview::all_with(&recordings, &inferences);
        let series = &Charts::new(&all, &ChartOptions::default(), 10_000).recordings[0];
        let latest: Vec<i64> =
            series.worst.iter().take(2).map(|worst| worst.since_start_ns).collect();
        assert_eq!(latest, [10_000_000, 510_000_000]);
        let first = |time: &Time| {
            time.min_ns.iter().position(Option::is_some).unwrap()
                * usize::try_from(time.step_ns).unwrap()
        };
        let begins: Vec<usize> = series.threads.iter().map(|thread| first(&thread.time)).collect();
        assert_eq!(begins, [0, 500_000_000]);
        assert_eq!(series.time.length_ns, 1_500_000_000);
        let recurs: Vec<f64> = series.periods.iter().map(|period| period.first_ns).collect();
        assert_eq!(recurs, [1e6, 501e6]);
    }

    /// Of a thread with these periods, and nothing else to say.
    fn inference_of(periods: Vec<stats::Period>) -> Inference {
        let Ok(analysis) = stats::analyse(
            &[stats::Span::Woken(&[5_000; 1_000])][..],
            1_000_000,
            stats::AfterOverrun::Skip,
            64,
            &stats::ExactRequest::default(),
        );
        let mut inference = Inference::from_analysis(&analysis);
        inference.periods = periods;
        inference
    }

    #[test]
    fn threads_of_different_intervals_share_one_time_axis() {
        let slow = Time {
            start_ns: 0,
            step_ns: 3_000,
            length_ns: 6_000,
            min_ns: vec![Some(1), Some(2)],
            max_ns: vec![Some(9), Some(8)],
            jitter_min_ns: vec![None, Some(-2)],
            jitter_max_ns: vec![None, Some(3)],
            missing: vec![],
        };
        let fast = Time {
            start_ns: 0,
            step_ns: 2_000,
            length_ns: 5_000,
            min_ns: vec![Some(5), None, Some(0)],
            max_ns: vec![Some(5), None, Some(30)],
            jitter_min_ns: vec![Some(-7), None, Some(1)],
            jitter_max_ns: vec![Some(7), None, Some(1)],
            missing: vec![(1, 4)],
        };
        let both = Time::together(&[slow, fast], 100);
        assert_eq!(
            both,
            Time {
                start_ns: 0,
                step_ns: 3_000,
                length_ns: 6_000,
                min_ns: vec![Some(1), Some(0)],
                max_ns: vec![Some(9), Some(30)],
                jitter_min_ns: vec![Some(-7), Some(-2)],
                jitter_max_ns: vec![Some(7), Some(3)],
                missing: vec![(0, 4)]
            }
        );
        assert_eq!(both.reduced(1).max_ns, [Some(30)]);
    }
}
