// SPDX-License-Identifier: MIT OR Apache-2.0
//! One recording as a whole: its threads added up, what it is called, and what a reader must know
//! before its figures.

use crate::format::{self, list};
use crate::language::{texts, tr};
use crate::sections::accounts::Accounts;
use crate::sections::co_kernel;
use crate::sections::imported::unstated_unit;
use crate::sections::inference::Inference;
use crate::sections::latencies::{Figure, Latencies};
use crate::sections::rows::Rows;
use crate::sections::time_kind::TimeKind;

use model::{Document, Examined, Quantity, Recorded, TakenBy, Thread, Unknown};
use plan::Nanos;
use stats::{Histogram, LinearHistogram, Moments, PooledBounds, Statistics, Summary};
use std::borrow::Cow;

/// Characters of a name that a table or a sentence has room for.
const MAX_NAME: usize = 60;

/// Recordings that a chart is still readable with; the latest wake-ups are among them.
pub(crate) const MAX_CHARTED: usize = 16;

/// What is counted of threads and recordings, of all of them together.
#[derive(Clone, Debug, Default)]
pub(crate) struct Totals {
    pub(crate) activations: Accounts,
    pub(crate) histogram: Histogram,
    /// The same in bins of equal width.
    pub(crate) linear: LinearHistogram,
    pub(crate) moments: Moments,
    /// Latencies of every activation that was due, skipped ones counted in: what every figure of a
    /// table is of.
    pub(crate) due_histogram: Histogram,
    pub(crate) due_moments: Moments,
    /// Between what their figures lie.
    bounds: PooledBounds,
    /// Whether of some it is not known how many there were.
    is_uncounted: bool,
}

impl Totals {
    pub(crate) fn merge(&mut self, other: &Totals) {
        self.activations.merge(&other.activations);
        self.histogram.merge(&other.histogram);
        self.linear.merge(&other.linear);
        self.moments.merge(&other.moments);
        self.due_histogram.merge(&other.due_histogram);
        self.due_moments.merge(&other.due_moments);
        self.bounds.merge(&other.bounds);
        self.is_uncounted |= other.is_uncounted;
    }

    /// Adds a thread of a recording.
    pub(crate) fn add(&mut self, document: &Document, thread: &Thread, statistics: &Statistics) {
        self.activations.merge(&Accounts::from_thread(thread, document, statistics));
        self.is_uncounted |= document.lacks(Unknown::Count);
        self.linear.merge(&statistics.linear);
        self.add_latencies(statistics);
    }

    fn add_latencies(&mut self, statistics: &Statistics) {
        self.histogram.merge(&statistics.histogram);
        self.moments.merge(&statistics.moments);
        let (histogram, moments) = statistics.of_all_due();
        self.due_histogram.merge(histogram);
        self.due_moments.merge(moments);
        statistics.latency_with_skipped.iter().for_each(|all| self.bounds.add(all));
    }

    /// Skipped activations counted in; `observed` where they are those of one thread of one run.
    pub(crate) fn due<'a>(&'a self, observed: Option<&'a Summary>) -> Latencies<'a> {
        let (histogram, moments) = (&self.due_histogram, &self.due_moments);
        let has_sd = self.activations.due().is_some();
        let is_counted = !self.is_uncounted;
        let bounds = observed.map_or_else(|| self.bounds.bounds(), |all| all.between);
        Latencies { histogram, moments, observed, has_sd, is_counted, bounds }
    }

    pub(crate) fn measured<'a>(&'a self, observed: Option<&'a Summary>) -> Latencies<'a> {
        Latencies { histogram: &self.histogram, moments: &self.moments, ..self.due(observed) }
    }

    /// What exceeds a limit is counted in, and the largest, ns; `by_size` as jitter is judged.
    pub(crate) fn judged(&self, by_size: bool) -> (Cow<'_, Histogram>, Option<i64>) {
        if by_size {
            (Cow::Owned(self.histogram.sizes()), self.moments.max_size())
        } else {
            (Cow::Borrowed(&self.histogram), self.moments.max())
        }
    }
}

/// What is said of a recording, over all its threads.
pub(crate) struct Overview<'a> {
    pub(crate) recorded: &'a Recorded,
    /// Differs from every other recording's of the same report.
    pub(crate) name: String,
    pub(crate) totals: Totals,
    /// Where it has one thread only, that one: its figures are observed values.
    pub(crate) only: Option<&'a Statistics>,
    /// Each thread's confidence intervals and tail; empty where not asked for.
    pub(crate) inferences: &'a [Inference],
}

impl<'a> Overview<'a> {
    /// Several recordings as if they were one, by this name; in everything but their figures, the
    /// one with the largest latency.
    pub(crate) fn pooled(recordings: &'a [Recorded], name: String) -> Option<Overview<'a>> {
        let all: Vec<Overview<'a>> = recordings.iter().map(Overview::new).collect();
        let worst = all.iter().max_by_key(|one| one.totals.moments.max())?.recorded;
        if all.len() == 1 {
            return Some(Overview { name, ..Overview::new(worst) });
        }
        let mut pooled = Overview::empty(worst, name);
        all.iter().for_each(|one| pooled.totals.merge(&one.totals));
        Some(pooled)
    }

    /// Phases of one run that are judged together, as one, by this name: figures of all of them,
    /// and exact.
    pub(crate) fn of_phases(examined: &'a Examined, name: String) -> Overview<'a> {
        let mut all = Overview::empty(&examined.recorded, name);
        let threads = examined.statistics();
        for one in examined.recordings().map(Overview::new) {
            all.totals.activations.merge(&one.totals.activations);
            all.totals.linear.merge(&one.totals.linear);
            all.totals.is_uncounted |= one.totals.is_uncounted;
        }
        threads.iter().for_each(|statistics| all.totals.add_latencies(statistics));
        all.only = if let [only] = threads { Some(only) } else { None };
        all
    }

    /// All recordings of a report, in order, with names that distinguish them.
    pub(crate) fn all(recordings: &'a [Recorded]) -> Vec<Overview<'a>> {
        let mut all: Vec<Overview<'a>> = recordings.iter().map(Overview::new).collect();
        if co_kernel::differ(
            &recordings.iter().map(|recorded| &recorded.document).collect::<Vec<_>>(),
        ) {
            for overview in &mut all {
                let on = co_kernel::in_short(co_kernel::of(overview.document()));
                overview.name = tr!(name_on, name = overview.name, on);
            }
        }
        Overview::number(&mut all);
        all
    }

    /// Numbers those that have a name that one before them has.
    pub(crate) fn number(all: &mut [Overview<'_>]) {
        for place in 1..all.len() {
            let same = all[..place]
                .iter()
                .filter(|before| {
                    before.name == all[place].name || is_numbered(&before.name, &all[place].name)
                })
                .count();
            if same > 0 {
                all[place].name = format!("{} ({})", all[place].name, same + 1);
            }
        }
    }

    /// The same, each with its confidence intervals and tail, as far as given.
    pub(crate) fn all_with(
        recordings: &'a [Recorded],
        inferences: &'a [Vec<Inference>],
    ) -> Vec<Overview<'a>> {
        let mut all = Overview::all(recordings);
        all.iter_mut()
            .zip(inferences)
            .for_each(|(overview, inferences)| overview.inferences = inferences);
        all
    }

    pub(crate) const fn document(&self) -> &'a Document {
        &self.recorded.document
    }

    pub(crate) fn new(recorded: &'a Recorded) -> Overview<'a> {
        let mut overview = Overview::empty(recorded, format::clip(&recorded.name(), MAX_NAME));
        overview.only = if let [only] = recorded.threads.as_slice() { Some(only) } else { None };
        for (statistics, thread) in recorded.threads.iter().zip(&recorded.document.threads) {
            overview.totals.add(&recorded.document, thread, statistics);
        }
        overview
    }

    /// Of nothing yet.
    fn empty(recorded: &'a Recorded, name: String) -> Overview<'a> {
        Overview { recorded, name, totals: Totals::default(), only: None, inferences: &[] }
    }

    /// Whether latencies are judged by their size, as jitter is.
    pub(crate) fn by_size(&self) -> bool {
        self.document().probe.quantity == Quantity::Jitter
    }

    /// The loads by name: `hackbench and cpu`; none when the machine was left alone.
    pub(crate) fn loads(&self) -> Option<String> {
        let names: Vec<&str> = self.document().run.loads.iter().map(plan::LoadSpec::name).collect();
        (!names.is_empty()).then(|| list(&names))
    }

    /// `under hackbench` or `with no load added`: what else the machine had to do is not ours to
    /// say here. Of another machine's times, `read from /dev/ttyUSB0`.
    pub(crate) fn condition(&self) -> String {
        self.under().unwrap_or_else(|| tr!(with_no_load_added))
    }

    pub(crate) fn time(&self) -> TimeKind {
        TimeKind::from_document(self.document())
    }

    /// The same for a heading: `no load added`.
    pub(crate) fn load_added(&self) -> String {
        self.under().unwrap_or_else(|| tr!(no_load_added))
    }

    fn under(&self) -> Option<String> {
        let loads = self.loads();
        let under = loads.map(|loads| tr!(under_loads, loads = format::clip(&loads, MAX_NAME)));
        under.or_else(|| self.source())
    }

    /// Where times came from that another machine took: what that had to do nobody here knows.
    pub(crate) fn source(&self) -> Option<String> {
        let document = self.document();
        if document.probe.taken_by() != TakenBy::AnotherMachine {
            return None;
        }
        if let Some(imported) = &document.imported {
            let stated = imported.load.as_ref().map(|load| format::clip(load, MAX_NAME));
            return Some(stated.map_or_else(|| tr!(load_not_known), |load| tr!(load_stated, load)));
        }
        Some(match document.run.probe_settings.get("from").map(String::as_str) {
            None => tr!(taken_elsewhere),
            Some("-") => tr!(read_from_standard_input),
            Some(from) => tr!(read_from_place, from = format::clip(from, MAX_NAME)),
        })
    }

    /// Latencies over all threads, skipped activations counted in.
    pub(crate) fn due(&self) -> Latencies<'_> {
        self.only.map_or(self.totals.due(None), Latencies::due)
    }

    pub(crate) fn measured(&self) -> Latencies<'_> {
        self.only.map_or(self.totals.measured(None), Latencies::measured)
    }

    /// Whether skipped activations are counted in where they can be.
    pub(crate) fn has_skipped(&self) -> bool {
        self.recorded.threads.iter().any(|statistics| statistics.with_skipped.is_some())
    }

    /// Activations that are drawn in no chart, as they did not wake, and that tables count in.
    pub(crate) fn skipped_and_not_drawn(&self) -> u64 {
        self.totals.due_moments.count().saturating_sub(self.totals.moments.count())
    }

    /// The largest as it is judged, written.
    pub(crate) fn max_judged(&self, text: impl Fn(i64) -> String) -> Option<String> {
        match self.by_size() {
            true => self.totals.moments.max_size().map(text),
            false => self.measured().written(Figure::Max, text),
        }
    }

    /// That values beyond the histogram are drawn nowhere; none without any.
    pub(crate) fn beyond_in_words(&self) -> Option<String> {
        let beyond = self.totals.histogram.bucket_beyond()?;
        let [from, to] =
            [beyond.lower, beyond.upper].map(|ns| match unstated_unit(self.document()) {
                Some(unit) => (ns / unit).to_string(),
                None => format::latency(ns),
            });
        let n = format::counted(beyond.count, texts::n_latencies);
        Some(tr!(beyond_histogram_not_drawn, n, from, to))
    }

    /// How rare latencies above the maximum are.
    pub(crate) fn supported_rate(&self) -> Option<String> {
        supported_rate(&self.totals)
    }

    /// How long threads ran before what is recorded; nobody warms up for events.
    pub(crate) fn warmup_ns(&self) -> Nanos {
        let document = self.document();
        if document.probe.is_planned() { document.run.whole_warmup_ns() } else { Nanos::ZERO }
    }

    /// Interval of all threads where they share one, ns.
    pub(crate) fn interval_ns(&self) -> Option<i64> {
        let threads = &self.document().threads;
        let first = threads.first()?.interval_ns;
        threads.iter().all(|thread| thread.interval_ns == first).then_some(first.0)
    }
}

/// What the rows of all of them are.
pub(crate) fn rows_of(all: &[Overview<'_>]) -> Rows {
    Rows::from_documents(all.iter().map(|overview| overview.document()))
}

/// How rare latencies above the maximum of so many are: of all that were due, as a gate judges
/// rates.
pub(crate) fn supported_rate(of: &Totals) -> Option<String> {
    // Without samples it is not known whether any were lost, or came together.
    of.activations.due()?;
    let samples = of.due_moments.count();
    let rate = stats::rate_beyond_maximum(samples, 0.95)?;
    // Of one or two samples nothing can be said that is worth saying.
    (samples >= 10).then(|| {
        tr!(
            confidence_95_samples_without,
            samples = of.activations.rows().counted(samples),
            one_in = format::one_in(rate)
        )
    })
}

/// The recordings with the latest wake-ups, as many as a chart is readable with, in their own
/// order.
pub(crate) fn charted(mut all: Vec<Overview<'_>>) -> Vec<Overview<'_>> {
    let max = |overview: &Overview<'_>| overview.totals.moments.max();
    let mut maxima: Vec<Option<i64>> = all.iter().map(max).collect();
    maxima.sort_unstable_by(|a, b| b.cmp(a));
    if let Some(min) = maxima.get(MAX_CHARTED - 1).copied() {
        all.retain(|overview| max(overview) >= min);
        all.truncate(MAX_CHARTED);
    }
    all
}

fn is_numbered(name: &str, base: &str) -> bool {
    name.strip_prefix(base).is_some_and(|rest| rest.starts_with(" (") && rest.ends_with(')'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::Synthetic;
    use model::ProbeStatement;

    #[test]
    fn a_name_says_nothing_of_the_load() {
        for name in ["notidle", "idle", "rpi3-cpu", "hackbench"] {
            let recorded = Synthetic::idle().title(name).build();
            assert_eq!(Overview::new(&recorded).condition(), "with no load added", "{name}");
            let recorded = Synthetic::idle().load("cpu@50%").title(name).build();
            assert_eq!(Overview::new(&recorded).condition(), "under cpu", "{name}");
            let output = crate::Report::new(
                std::slice::from_ref(&recorded),
                &[],
                &crate::ChartOptions::default(),
            )
            .terminal_summary(crate::Paint::Plain, crate::Language::English)
            .replace('\n', " ");
            assert!(output.contains("of each thread planned, under cpu SCHED_FIFO"), "{output}");
        }
    }

    /// Whether anything loaded the machine that took the times, nobody here knows.
    #[test]
    fn a_stream_says_where_it_came_from_and_nothing_of_load() {
        let mut recorded = Synthetic::idle().build();
        recorded.document.probe.only_observes = true;
        recorded.document.probe.clock = ProbeStatement::CLOCK_OF_STREAM.into();
        let mut of = |from: Option<&str>| {
            let settings = from.map(|from| ("from".to_owned(), from.to_owned()));
            recorded.document.run.probe_settings = settings.into_iter().collect();
            let overview = Overview::new(&recorded);
            assert_eq!(overview.condition(), overview.load_added());
            overview.condition()
        };
        assert_eq!(of(Some("/dev/rtf0")), "read from /dev/rtf0");
        assert_eq!(of(Some("-")), "read from standard input");
        assert_eq!(of(None), "taken elsewhere");
        let (options, english) = (crate::ChartOptions::default(), crate::Language::English);
        let report = crate::Report::new(std::slice::from_ref(&recorded), &[], &options);
        for text in [
            report.terminal_summary(crate::Paint::Plain, english),
            report.html("teiji report", english),
            report.markdown("teiji report", None, english),
        ] {
            assert!(text.contains("taken elsewhere") && !text.contains("no load added"), "{text}");
        }
    }

    #[test]
    fn equal_names_get_a_number() {
        let same =
            [Synthetic::idle().build(), Synthetic::idle().build(), Synthetic::idle().build()];
        let names: Vec<String> =
            Overview::all(&same).into_iter().map(|overview| overview.name).collect();
        assert_eq!(names, ["idle", "idle (2)", "idle (3)"]);
    }
}
