// SPDX-License-Identifier: MIT OR Apache-2.0
//! The figures of latencies, for every table, list and file that has any: which of them there are
//! enough latencies for, which are known at all, and which are observed values. Terminal, page,
//! Markdown, CSV and JSON take them from here, each with its own number of digits.

use crate::format::{self, micros};
use crate::language::{Text, texts};
use crate::sections::time_kind::TimeKind;
use serde::Serialize;
use serde_json::{Map, json};
use stats::{Between, Bound, Bounds, Histogram, Level, Moments, Statistics, Summary};
use std::fmt;

/// Shown where there is no figure.
pub(crate) const NOTHING: &str = "–";
/// Before a quantile from a histogram, up to 1 % high.
const ABOUT: &str = "~";
/// Before an upper bound.
const AT_MOST: &str = "≤";
/// Before a lower one.
const AT_LEAST: &str = "≥";

/// What is written before a figure that is not exactly known.
pub(crate) fn sign(between: Option<Between>) -> &'static str {
    match between.and_then(Between::bound) {
        Some(Bound::AtMost) => AT_MOST,
        Some(Bound::AtLeast) => AT_LEAST,
        None => "",
    }
}

/// What those signs mean that these cells begin with.
pub(crate) fn signs_said<'c>(cells: impl Iterator<Item = &'c str>) -> [Option<&'static str>; 2] {
    let mut signs =
        [(AT_MOST, texts::upper_end_of_bucket), (AT_LEAST, texts::more_beyond_histogram)]
            .map(|(sign, text)| (sign, text, false));
    for cell in cells {
        signs.iter_mut().for_each(|(sign, _, is_there)| *is_there |= cell.starts_with(*sign));
    }
    signs.map(|(_, text, is_there)| is_there.then(|| text.said()))
}

/// A figure, ns, as it is written where it is not exactly known: `≤319 µs`.
pub(crate) fn bounded(between: Option<Between>, ns: i64, text: impl Fn(i64) -> String) -> String {
    format!("{}{}", sign(between), text(between.map_or(ns, Between::value)))
}

/// A figure of latencies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Figure {
    Min,
    Mean,
    /// Standard deviation.
    Sd,
    /// From the smallest to the largest.
    PeakToPeak,
    Quantile(Level),
    Max,
}

impl Figure {
    pub(crate) const P50: Figure = Figure::Quantile(Level::P50);
    pub(crate) const P90: Figure = Figure::Quantile(Level::P90);
    pub(crate) const P99: Figure = Figure::Quantile(Level::P99);
    pub(crate) const P999: Figure = Figure::Quantile(Level::P999);
    pub(crate) const P9999: Figure = Figure::Quantile(Level::P9999);

    /// As tables name it.
    pub(crate) const fn name(self) -> Text {
        match self {
            Figure::Min => texts::min,
            Figure::Mean => texts::mean,
            Figure::Sd => texts::standard_deviation_short,
            Figure::PeakToPeak => texts::peak_to_peak,
            Figure::Quantile(Level::P50) => texts::p50,
            Figure::Quantile(Level::P90) => texts::p90,
            Figure::Quantile(Level::P99) => texts::p99,
            Figure::Quantile(Level::P999) => texts::p99_9,
            Figure::Quantile(_) => texts::p99_99,
            Figure::Max => texts::max,
        }
    }

    /// As programs name it.
    pub(crate) const fn key(self) -> &'static str {
        match self {
            Figure::Min => "min",
            Figure::Mean => "mean",
            Figure::Sd => "sd",
            Figure::PeakToPeak => "peak_to_peak",
            Figure::Quantile(Level::P50) => "p50",
            Figure::Quantile(Level::P90) => "p90",
            Figure::Quantile(Level::P99) => "p99",
            Figure::Quantile(Level::P999) => "p999",
            Figure::Quantile(_) => "p9999",
            Figure::Max => "max",
        }
    }
}

/// What a figure is: a latency as measured, or something computed, ns.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub(crate) enum Value {
    Whole(i64),
    Real(f64),
}

impl Value {
    pub(crate) fn rounded(self) -> i64 {
        match self {
            Value::Whole(ns) => ns,
            Value::Real(ns) => format::rounded(ns),
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Whole(ns) => ns.fmt(f),
            Value::Real(ns) => ns.fmt(f),
        }
    }
}

/// The figures that a table has where it has few.
pub(crate) const FEW: [Figure; 6] =
    [Figure::Min, Figure::Mean, Figure::P50, Figure::P99, Figure::P999, Figure::Max];

/// Those that it has where it has room.
pub(crate) const MANY: [Figure; 9] = [
    Figure::Min,
    Figure::Mean,
    Figure::Sd,
    Figure::P50,
    Figure::P90,
    Figure::P99,
    Figure::P999,
    Figure::P9999,
    Figure::Max,
];

pub(crate) trait OrNothing {
    /// The figure as text, or [`NOTHING`].
    fn or_nothing(self) -> String;
}

impl OrNothing for Option<String> {
    fn or_nothing(self) -> String {
        self.unwrap_or_else(|| NOTHING.to_owned())
    }
}

/// Latencies of one kind, of a thread or of several together: of all activations that were due, or
/// as measured.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Latencies<'a> {
    pub(crate) histogram: &'a Histogram,
    pub(crate) moments: &'a Moments,
    /// Where they are those of one thread of one run.
    pub(crate) observed: Option<&'a Summary>,
    /// Of the buckets of a histogram it is not known how far they lie from one another.
    pub(crate) has_sd: bool,
    /// Another program may not say how many there are.
    pub(crate) is_counted: bool,
    /// Between what figures lie that are not exactly known.
    pub(crate) bounds: Bounds,
}

impl<'a> Latencies<'a> {
    /// Of one thread, skipped activations counted in.
    pub(crate) fn due(thread: &'a Statistics) -> Latencies<'a> {
        let (histogram, moments) = thread.of_all_due();
        Latencies {
            histogram,
            moments,
            observed: thread.latency_with_skipped.as_ref(),
            has_sd: true,
            is_counted: true,
            bounds: thread.latency_with_skipped.map_or_else(Bounds::default, |all| all.between),
        }
    }

    /// Of one thread, as measured.
    pub(crate) fn measured(thread: &'a Statistics) -> Latencies<'a> {
        let (histogram, moments) = (&thread.histogram, &thread.moments);
        let observed = thread.latency.as_ref();
        Latencies { histogram, moments, observed, ..Latencies::due(thread) }
    }

    pub(crate) fn count(&self) -> u64 {
        self.moments.count()
    }

    /// The same, where it is known.
    pub(crate) fn known_count(&self) -> Option<u64> {
        self.is_counted.then_some(self.count())
    }

    /// Whether each is in the histogram: not where only figures are known of some.
    pub(crate) fn knows_distribution(&self) -> bool {
        self.histogram.total() == self.count()
    }

    /// The smallest, ns.
    pub(crate) fn min(&self) -> Option<i64> {
        self.moments.min()
    }

    /// ns.
    pub(crate) fn mean(&self) -> Option<f64> {
        self.moments.mean()
    }

    /// Standard deviation, ns.
    pub(crate) fn sd(&self) -> Option<f64> {
        self.observed
            .map_or_else(|| self.moments.sd().filter(|_| self.has_sd), |summary| summary.sd)
    }

    /// The largest, ns.
    pub(crate) fn max(&self) -> Option<i64> {
        self.moments.max()
    }

    /// A quantile, ns, if there are enough latencies to speak of it: the observed one of one thread
    /// of one run, otherwise from the histogram and up to 1 % above. None at other levels than
    /// a summary's.
    pub(crate) fn quantile(&self, level: Level) -> Option<i64> {
        let samples = self.count();
        if samples < level.needs() {
            return None;
        }
        let Some(summary) = self.observed else {
            if !self.knows_distribution() {
                return None;
            }
            return Some(self.histogram.quantile(level)?.min(self.max()?));
        };
        summary.quantile(level)
    }

    pub(crate) fn figure(&self, figure: Figure) -> Option<Value> {
        match figure {
            Figure::Min => self.min().map(Value::Whole),
            Figure::Mean => self.mean().map(Value::Real),
            Figure::Sd => self.sd().map(Value::Real),
            Figure::PeakToPeak => {
                let (min, max) = (self.min()?, self.max()?);
                let between = self.bounds.peak_to_peak(min, max);
                let exactly = max.saturating_sub(min);
                Some(Value::Whole(between.map_or(exactly, Between::value)))
            }
            Figure::Quantile(level) => self.quantile(level).map(Value::Whole),
            Figure::Max => self.max().map(Value::Whole),
        }
    }

    /// To the nearest ns.
    pub(crate) fn rounded(&self, figure: Figure) -> Option<i64> {
        self.figure(figure).map(Value::rounded)
    }

    /// Figures by their keys, `min_ns`, for a program.
    pub(crate) fn by_key(&self, figures: &[Figure]) -> Map<String, serde_json::Value> {
        let entry = |of: &Figure| (format!("{}_ns", of.key()), json!(self.figure(*of)));
        figures.iter().map(entry).collect()
    }

    /// Between what a figure lies, ns; none where it is exactly known, or not at all.
    pub(crate) fn between(&self, figure: Figure) -> Option<Between> {
        let bounds = &self.bounds;
        match figure {
            Figure::Min => bounds.min.filter(|_| self.min().is_some()),
            Figure::Mean => bounds.mean,
            Figure::Max => bounds.max,
            Figure::Sd => None,
            Figure::PeakToPeak => bounds.peak_to_peak(self.min()?, self.max()?),
            Figure::Quantile(level) => {
                let place = Level::ALL.iter().position(|known| *known == level)?;
                let between = bounds.quantiles()[place]?;
                let value = self.quantile(level)?;
                let is_pooled = self.observed.is_none() && between.most.is_some();
                Some(if is_pooled { Between { most: Some(value), ..between } } else { between })
            }
        }
    }

    /// Figures that are not exactly known, by their keys, each with what it is at least and at
    /// most, ns.
    pub(crate) fn between_by_key(&self) -> Map<String, serde_json::Value> {
        let entry = |of: &Figure| Some((of.key().to_owned(), json!(self.between(*of)?)));
        MANY.iter().filter_map(entry).collect()
    }

    /// What stands before a quantile that is not the observed one.
    pub(crate) const fn about(&self) -> &'static str {
        if self.observed.is_some() { "" } else { ABOUT }
    }

    /// What is written before a figure: the sign of a bound, or `~` before a quantile from the
    /// histogram.
    pub(crate) fn sign(&self, figure: Figure) -> &'static str {
        match (sign(self.between(figure)), figure) {
            ("", Figure::Quantile(_)) => self.about(),
            (sign, _) => sign,
        }
    }

    /// A figure as tables show it, in this writing; `~` is before a quantile from the histogram.
    pub(crate) fn text(&self, figure: Figure, text: impl Fn(i64) -> String) -> String {
        let about = if self.sign(figure) == ABOUT { ABOUT } else { "" };
        self.written(figure, text).map(|text| format!("{about}{text}")).or_nothing()
    }

    /// The same without `~`; none where it is not known.
    pub(crate) fn written(&self, figure: Figure, text: impl Fn(i64) -> String) -> Option<String> {
        self.rounded(figure).map(|ns| bounded(self.between(figure), ns, text))
    }

    /// A figure as tables show it, µs, with the digits that it is good for: each ns in virtual
    /// time, but for what only a histogram knows, to within a hundredth.
    pub(crate) fn in_micros(&self, figure: Figure, kind: TimeKind) -> String {
        let is_about = matches!(figure, Figure::Quantile(_)) && !self.about().is_empty();
        if is_about { self.text(figure, micros) } else { self.text(figure, |ns| kind.micros(ns)) }
    }

    /// Those of [`FEW`].
    pub(crate) fn few(&self, kind: TimeKind) -> [String; FEW.len()] {
        FEW.map(|figure| self.in_micros(figure, kind))
    }
}

/// What is left of statistics where only their histogram is known.
#[cfg(test)]
pub(crate) fn from_histogram(statistics: &Statistics) -> Statistics {
    Statistics::from_histogram(&statistics.histogram.buckets().collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::overview::Overview;
    use crate::synthetic::Synthetic;

    #[test]
    fn quantiles_need_their_samples() {
        let of = |samples: usize, level| {
            let recorded = Synthetic::idle().threads(1).samples(&vec![1_000; samples]).build();
            let observed = Latencies::due(&recorded.threads[0]).quantile(level);
            let from_histogram =
                Latencies { observed: None, ..Latencies::due(&recorded.threads[0]) };
            assert_eq!(observed, from_histogram.quantile(level), "{samples}");
            observed
        };
        assert_eq!((of(100, Level::P99), of(99, Level::P99)), (Some(1_000), None));
        assert_eq!((of(10_000, Level::P9999), of(9_999, Level::P9999)), (Some(1_000), None));
        assert_eq!((of(2, Level::P50), of(1, Level::P50)), (Some(1_000), None));
    }

    #[test]
    fn combined_quantiles_are_at_most_one_percent_above_the_exact_ones() {
        let recorded = Synthetic::idle().threads(1).build();
        let exact = Latencies::due(&recorded.threads[0]);
        let combined = Latencies { observed: None, ..exact };
        for level in [Level::P50, Level::P99, Level::P999] {
            let (exact, combined) =
                (exact.quantile(level).unwrap(), combined.quantile(level).unwrap());
            assert!(combined >= exact && combined - exact <= exact / 100, "{combined} for {exact}");
        }
    }

    /// The same figures, whatever shows them.
    #[test]
    fn every_table_has_the_same_figures() {
        for recorded in [
            Synthetic::hackbench().threads(1).build(),
            Synthetic::idle().threads(1).samples(&[1_500]).build(),
        ] {
            let all = std::slice::from_ref(&recorded);
            let language = crate::Language::English;
            let due = Latencies::due(&recorded.threads[0]);
            // Put together here, figure by figure, so that a table of the wrong ones is seen.
            let of = |ns: Option<i64>| ns.map(micros).or_nothing();
            let quantile = |level| of(due.quantile(level));
            let shown = [
                of(due.moments.min()),
                of(due.moments.mean().map(format::rounded)),
                quantile(Level::P50),
                quantile(Level::P99),
                quantile(Level::P999),
                of(due.moments.max()),
            ];
            let row_of = |text: &str| -> Vec<String> {
                let cells = text
                    .split(|c: char| c == '|' || c.is_whitespace())
                    .filter(|cell| !cell.is_empty());
                cells.map(str::to_owned).collect()
            };
            let has_row = |text: &str| text.lines().any(|line| row_of(line).ends_with(&shown));
            let summary = crate::Report::new(all, &[], &crate::ChartOptions::default())
                .terminal_summary(crate::Paint::Plain, language);
            assert!(has_row(&summary), "{shown:?} in {summary}");
            let table = crate::side_by_side(all, language);
            assert!(has_row(&table), "{shown:?} in {table}");
            let markdown = crate::threads_markdown(all, language);
            assert!(markdown.contains(&shown.join(" | ")), "{shown:?} in {markdown}");
            let csv = crate::threads_csv(all);
            let lines: Vec<Vec<&str>> = csv.lines().map(|line| line.split(',').collect()).collect();
            let cell =
                |name: &str| lines[1][lines[0].iter().position(|known| *known == name).unwrap()];
            let written = |ns: Option<i64>| ns.map_or_else(String::new, |ns| ns.to_string());
            assert_eq!(cell("p50_ns"), written(due.quantile(Level::P50)));
            assert_eq!(cell("p999_ns"), written(due.quantile(Level::P999)));
            assert_eq!(cell("max_ns"), written(due.max()));
            let all = Overview::all(all);
            assert_eq!(all[0].due().quantile(Level::P99), due.quantile(Level::P99));
        }
    }

    /// How far latencies lie from one another is known of no histogram, also where several are
    /// pooled.
    #[test]
    fn a_histogram_has_no_standard_deviation() {
        let mut recorded = Synthetic::idle().threads(2).build();
        recorded.threads =
            recorded.threads.iter().map(crate::sections::latencies::from_histogram).collect();
        for thread in &mut recorded.document.threads {
            (thread.activations, thread.detail) = (None, model::Detail::Histogram);
        }
        let overview = Overview::new(&recorded);
        assert!(overview.totals.moments.sd().is_some() && overview.due().sd().is_none());
        let mut matrix = crate::Matrix::new(None, vec!["load".into()], std::iter::once(vec![None]));
        matrix.add(0, 1, recorded.clone());
        matrix.add(0, 2, recorded);
        assert_eq!(matrix.json()["combinations"][0]["sd_ns"], serde_json::Value::Null);
    }
}
