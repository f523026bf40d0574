// SPDX-License-Identifier: MIT OR Apache-2.0
//! The figures of probes that judge intervals: how much these vary, before how large any of them
//! is.

use crate::format::{self, exact_micros, latency};
use crate::language::{texts, tr};
use crate::overview::Overview;
use model::Quantity;

/// Whether a recording is of intervals, whose first figure is how much they vary.
pub(crate) fn is_judged(overview: &Overview<'_>) -> bool {
    overview.document().probe.quantity != Quantity::Latency
}

/// The spread of the intervals of a recording.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Spread {
    /// Standard deviation, ns; none of fewer than two, or where it is not known.
    pub(crate) sd_ns: Option<f64>,
    /// From the shortest interval to the longest, ns.
    pub(crate) peak_to_peak_ns: i64,
    pub(crate) min_ns: i64,
    pub(crate) max_ns: i64,
    /// The period that they are compared with, ns.
    period_ns: Option<i64>,
}

impl Spread {
    /// None where nothing was measured, or latencies were.
    pub(crate) fn from_overview(overview: &Overview<'_>) -> Option<Spread> {
        let measured = overview.measured();
        let (min_ns, max_ns) =
            measured.min().zip(measured.max()).filter(|_| is_judged(overview))?;
        let period_ns = overview.document().probe.period_ns.map(|period| period.0);
        Some(Spread {
            sd_ns: measured.sd(),
            peak_to_peak_ns: max_ns - min_ns,
            min_ns,
            max_ns,
            period_ns,
        })
    }

    /// `378 ns`, the standard deviation.
    pub(crate) fn sd(&self) -> Option<String> {
        self.sd_ns.map(|sd| latency(format::rounded(sd)))
    }

    /// `standard deviation 0.378 µs, peak to peak 4.57 µs`.
    pub(crate) fn in_words(&self) -> String {
        let peak_to_peak = latency(self.peak_to_peak_ns);
        match self.sd() {
            Some(sd) => {
                tr!(standard_deviation_sd_peak, sd, peak_to_peak)
            }
            None => tr!(peak_to_peak_peak_to_peak, peak_to_peak),
        }
    }

    /// How far the intervals reach on either side of their period.
    pub(crate) fn around(&self) -> Option<String> {
        let period = self.period_ns?;
        let signed = |ns: i64| {
            if ns < 0 { format!("-{}", latency(-ns)) } else { format!("+{}", latency(ns)) }
        };
        let (min, max) = (signed(self.min_ns), signed(self.max_ns));
        Some(tr!(from_min_max_around, min, max, period = exact_micros(period)))
    }
}

/// `Jitter: standard deviation 0.378 µs, peak to peak 4.57 µs, from -2.28 µs to +2.29 µs around the
/// period of 976.562 µs.`
pub(crate) fn sentence(overview: &Overview<'_>) -> Option<String> {
    let spread = Spread::from_overview(overview)?;
    let figures: Vec<String> =
        [Some(spread.in_words()), spread.around()].into_iter().flatten().collect();
    Some(tr!(jitter_figures, figures = figures.join(texts::comma.said())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::charts::definition::Chart;
    use crate::charts::series::Charts;
    use crate::sections::verdict::Headline;
    use crate::synthetic::Synthetic;
    use crate::{ChartOptions, Report};
    use model::Recorded;
    use plan::Nanos;

    /// Intervals that differ from 976.562 µs by these, ns.
    fn jitter(title: &str, differences: &[i32]) -> Recorded {
        let mut recorded = Synthetic::idle().title(title).threads(1).samples(differences).build();
        recorded.document.probe.quantity = Quantity::Jitter;
        recorded.document.probe.period_ns = Some(Nanos(976_562));
        recorded
    }

    #[test]
    fn the_spread_is_the_first_figure() {
        let all = [jitter("idle", &[-300, 0, 300]), jitter("busy", &[-9_000, 0, 9_000])];
        let overviews = Overview::all(&all);
        assert_eq!(
            Headline::new(&overviews).in_words(),
            "Jitter: standard deviation 9.00 µs, peak to peak 18.0 µs (the worst of 2 recordings). \
             6 of 6 activations on time."
        );
        assert_eq!(
            sentence(&overviews[0]).unwrap(),
            "Jitter: standard deviation 300 ns, peak to peak 600 ns, from -300 ns to +300 ns \
             around the period of 976.562 µs."
        );
        let latencies = Synthetic::idle().build();
        assert_eq!(sentence(&Overview::new(&latencies)), None);
        // Beside latencies, which have no spread for a first figure, the worst of all is said.
        let mixed = [all[0].clone(), latencies];
        assert!(Headline::new(&Overview::all(&mixed)).sentence.starts_with("Worst latency "));
    }

    #[test]
    fn intervals_are_drawn_by_sample_number_one_recording_over_another() {
        let all = [jitter("idle", &[-300, 0, 300]), jitter("busy", &[-9_000, 0, 9_000])];
        let overviews = Overview::all(&all);
        let charts = Charts::new(&overviews, &ChartOptions::default(), 1_000);
        let svg = crate::charts::draw(Chart::Time, &charts, &overviews);
        assert!(
            svg.contains(">sample number</text>") && svg.contains(">interval, µs</text>"),
            "{svg}"
        );
        assert_eq!(svg.matches("fill-opacity=\"0.45\"").count(), 2, "one panel: {svg}");
        assert_eq!(svg.matches(">interval, µs</text>").count(), 1, "one panel: {svg}");
        // Three samples, around the period.
        assert!(
            svg.contains(">3</text>") && svg.contains(">980</text>") && !svg.contains(">-5</text>"),
            "{svg}"
        );
        let largest = charts.recordings[1].worst[0].latency_ns;
        assert_eq!(largest, 985_562);
        let histogram = crate::charts::draw(Chart::Histogram, &charts, &overviews);
        assert!(
            histogram.contains("Histogram of jitter") && histogram.contains(">jitter, µs</text>"),
            "{histogram}"
        );
    }

    /// With another period, or among latencies, there is no common interval to draw.
    #[test]
    fn different_periods_are_not_drawn_as_one() {
        let mut all = [jitter("a", &[-300, 300]), jitter("b", &[-300, 300])];
        all[1].document.probe.period_ns = Some(Nanos(488_281));
        let overviews = Overview::all(&all);
        let charts = Charts::new(&overviews, &ChartOptions::default(), 1_000);
        assert_eq!(charts.measured.period_ns(), 0);
        assert!(!crate::charts::draw(Chart::Time, &charts, &overviews).contains("sample number"));
    }

    #[test]
    fn a_page_names_it_as_the_summary_does() {
        let all = [jitter("idle", &[-300, 0, 300])];
        let options = ChartOptions::default();
        let report = Report::new(&all, &[], &options);
        let summary = report.terminal_summary(crate::Paint::Plain, crate::Language::English);
        assert!(summary.contains("standard deviation 300 ns"), "{summary}");
        let headline = crate::page::page_texts::worst_figure(&Overview::all(&all)).unwrap();
        assert_eq!((headline.number.as_str(), headline.unit.as_str()), ("300", "ns"));
        assert_eq!(headline.label, "standard deviation of the interval, with no load added");
    }
}
