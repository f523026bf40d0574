// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the charts show, in words: for screen readers, and beside the SVG files.

use crate::charts::definition::Chart;
use crate::charts::options::OverTime;
use crate::charts::series::Charts;
use crate::format::{count, counted, latency};
use crate::language::{texts, tr};
use crate::overview::Overview;
use crate::sections::columns::Measured;
use crate::sections::latencies::Figure;
use crate::sections::loads;
use crate::sections::rows::Rows;
use plan::Nanos;
use stats::Level;

/// Recordings whose figures are read out; a text alternative of a page's length helps nobody.
const MAX_READ_OUT: usize = 6;

impl Chart {
    pub(crate) fn title(self) -> &'static str {
        match self {
            Chart::Histogram => texts::histogram_of_latencies,
            Chart::Time => texts::latency_over_time,
            Chart::Exceedance => texts::exceedance_heading,
        }
        .said()
    }

    /// The title where these are drawn.
    pub(crate) fn title_of(self, measured: Measured) -> &'static str {
        match self {
            Chart::Time if measured.is_two_sided() => texts::interval_by_sample_number.said(),
            Chart::Histogram if measured.is_two_sided() => texts::histogram_of_jitter.said(),
            Chart::Exceedance if measured.is_two_sided() => texts::exceedance_size_jitter.said(),
            _ => self.title(),
        }
    }

    /// The title of a picture: what is without its skipped activations says so, as tables count
    /// them in.
    pub(crate) fn headed(self, charts: &Charts) -> String {
        let jitter = self == Chart::Time && charts.style.over_time == OverTime::Jitter;
        let title =
            if jitter { texts::jitter_over_time.said() } else { self.title_of(charts.measured) };
        match without_skipped(charts) {
            Some(without) => tr!(title_as_measured_without, title, without),
            None => title.to_owned(),
        }
    }

    /// What it shows, with its figures.
    pub(crate) fn described(self, charts: &Charts, all: &[Overview<'_>]) -> String {
        let what = match self {
            Chart::Histogram => {
                charts.measured.pick(texts::number_activations_latency, texts::how_many_there_each)
            }
            Chart::Time if charts.style.over_time == OverTime::Jitter => {
                texts::smallest_largest_jitter_over
            }
            Chart::Time if charts.measured.is_two_sided() => {
                texts::smallest_largest_interval_sample
            }
            Chart::Time if charts.recordings.iter().all(|series| series.loads.drawn.is_empty()) => {
                texts::smallest_largest_latency_over
            }
            Chart::Time => texts::smallest_largest_latency_over_time,
            Chart::Exceedance if charts.measured.is_two_sided() => texts::share_intervals_off_their,
            Chart::Exceedance if charts.style.below_zero => charts.measured.pick(
                texts::share_activations_least_latency_share,
                texts::share_least_latency_share,
            ),
            Chart::Exceedance => charts
                .measured
                .pick(texts::share_activations_least_latency_both, texts::share_least_latency_both),
        };
        let mut parts = vec![what.said().to_owned()];
        parts.extend(without_skipped(charts).map(|without| tr!(as_measured_without, without)));
        for (place, overview) in all.iter().enumerate().take(MAX_READ_OUT) {
            let figures = match self {
                Chart::Histogram => distribution(overview),
                Chart::Time => course(charts, place, overview),
                Chart::Exceedance => rarity(overview),
            };
            parts.push(tr!(name_figures, name = overview.name, figures));
            let beyond = overview.beyond_in_words().filter(|_| self != Chart::Time);
            parts.extend(beyond.map(|beyond| format!("{beyond}{}", texts::full_stop.said())));
        }
        if all.len() > MAX_READ_OUT {
            parts.push(tr!(
                and_recordings_more,
                recordings = counted((all.len() - MAX_READ_OUT) as u64, texts::n_recordings)
            ));
        }
        parts.join(" ")
    }
}

/// `without the 3 skipped activations`, where there are any.
fn without_skipped(charts: &Charts) -> Option<String> {
    (charts.skipped > 0)
        .then(|| tr!(without_the_skipped, skipped = charts.rows.counted_skipped(charts.skipped)))
}

fn distribution(overview: &Overview<'_>) -> String {
    // Of what is drawn, which has no skipped activations.
    let measured = overview.measured();
    let written = |figure| measured.written(figure, latency);
    let (Some(min), Some(max)) = (written(Figure::Min), written(Figure::Max)) else {
        return tr!(no_latency_was_measured);
    };
    let mut text = tr!(
        latencies_from_min_max,
        latencies = counted(overview.totals.moments.count(), texts::n_latencies),
        min,
        max
    );
    if let Some(median) = written(Figure::P50) {
        text += &tr!(half_them_up_median, median);
    }
    if let Some(p99) = written(Figure::P99) {
        text += &tr!(n99_percent_up_p99, p99);
    }
    text
}

fn course(charts: &Charts, place: usize, overview: &Overview<'_>) -> String {
    let series = &charts.recordings[place];
    let mut text = format!("{:.1} s", Nanos(series.time.length_ns).as_secs_f64());
    if let (Some(worst), Some(min)) = (series.worst.first(), overview.totals.moments.min()) {
        let (min, max) = (latency(min), latency(worst.latency_ns));
        let at = format!("{:.3}", Nanos(worst.since_start_ns).as_secs_f64());
        text += &match worst.cpu {
            Some(cpu) => tr!(latencies_from_min_max_worst_s, min, max, at, cpu),
            None => tr!(latencies_from_min_max_worst, min, max, at),
        };
    }
    let missing: u64 = series.time.missing.iter().map(|(_, n)| n).sum();
    if missing > 0 {
        text += &tr!(
            rows_skipped_or_lost,
            rows = Rows::from(overview.document().probe.rows).counted(missing)
        );
    }
    for load in &series.loads.drawn {
        let percent = || load.points.iter().map(|(_, percent)| *percent);
        let (min, max) = (percent().fold(f64::INFINITY, f64::min), percent().fold(0.0, f64::max));
        let asked = load.requested.map_or_else(|| tr!(much_gets), loads::level);
        text += &tr!(
            load_asked_for_asked_used,
            load = load.spec,
            asked,
            min = format!("{min:.1}"),
            max = format!("{max:.1}")
        );
    }
    if series.loads.left_out > 0 {
        text += &tr!(
            loads_not_drawn_after,
            loads = counted(series.loads.left_out as u64, texts::n_loads)
        );
    }
    text
}

fn rarity(overview: &Overview<'_>) -> String {
    let points = rarities(overview);
    if !overview.measured().knows_distribution() {
        return tr!(not_known);
    }
    if points.is_empty() {
        return tr!(no_latency_was_measured);
    }
    let points: Vec<String> = points
        .into_iter()
        .map(|Rarity { one_in, ns, .. }| {
            tr!(n1_in_one_in_time, one_in = count(one_in), time = latency(ns))
        })
        .collect();
    tr!(
        points_worst_max,
        points = points.join(texts::comma.said()),
        max = overview.max_judged(latency).unwrap_or_default()
    )
}

/// At least 1 activation in so many woke so late or later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rarity {
    pub(crate) one_in: u64,
    pub(crate) ns: i64,
    /// Whether it was observed. Where only the histogram is known, it is the lower end of a bucket:
    /// so late were all that are in it.
    pub(crate) is_exact: bool,
}

/// As far as the samples carry.
pub(crate) fn rarities(overview: &Overview<'_>) -> Vec<Rarity> {
    if !overview.measured().knows_distribution() {
        return Vec::new();
    }
    let (judged, _) = overview.totals.judged(overview.by_size());
    let observed = overview.measured().observed.filter(|_| !overview.by_size());
    (1..=12)
        .map_while(|power| {
            let one_in = 10_u64.pow(power);
            let count = overview.totals.moments.count();
            if count < one_in {
                return None;
            }
            // The figure of the table, where it has one.
            let level = Level::ALL.into_iter().find(|level| level.needs() == one_in);
            let exact = level.and_then(|level| observed?.quantile(level));
            let rank = count + 1 - count.div_ceil(one_in);
            let exact = exact.map(|ns| Rarity { one_in, ns, is_exact: true });
            exact.or_else(|| {
                let (bucket, _) =
                    judged.bucket_of_rank(rank).filter(|_| judged.knows_rank(rank))?;
                let is_exact = bucket.lower == bucket.upper;
                Some(Rarity { one_in, ns: bucket.lower, is_exact })
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::Synthetic;

    #[test]
    fn so_many_were_so_late() {
        let samples: Vec<i32> = (0..3_000).map(|n| 3_000 + 7 * n).collect();
        for threads in [1, 2] {
            let recorded = Synthetic::idle().threads(threads).samples(&samples).build();
            let overview = Overview::new(&recorded);
            let found = rarities(&overview);
            assert_eq!(found.len(), 3, "{threads}");
            for Rarity { one_in, ns, .. } in found {
                let so_late =
                    samples.iter().filter(|latency| i64::from(**latency) >= ns).count() as u64;
                assert!(
                    so_late * one_in >= 3_000,
                    "{threads} threads: {so_late} of 3,000 were {ns} or later, said 1 in {one_in}"
                );
            }
            // Of 350, one in a hundred is the fourth largest: the third has too few beside it.
            let few = Synthetic::idle().threads(threads).samples(&samples[..350]).build();
            let Rarity { ns, is_exact, .. } = rarities(&Overview::new(&few))[1];
            assert_eq!(is_exact, threads == 1, "what is not is within 1 % by its legend");
            let exact = 3_000 + 7 * 346;
            assert!(ns <= exact && ns > exact * 99 / 100, "{ns}");
            let exact = (threads == 1).then(|| overview.measured().quantile(Level::P99).unwrap());
            let found = rarities(&overview)[1];
            assert!(exact.is_none_or(|ns| found == Rarity { one_in: 100, ns, is_exact: true }));
        }
    }
}
