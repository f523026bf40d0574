// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the charts show, in words: for screen readers, and beside the SVG files.

use crate::charts::options::OverTime;
use crate::charts::series::Charts;
use crate::format::{count, counted, latency};
use crate::language::{tr, translated};
use crate::overview::Overview;
use crate::sections::columns::Measured;
use crate::sections::loads;
use crate::sections::rows::Rows;
use plan::Nanos;
use stats::Level;

/// Recordings whose figures are read out; a text alternative of a page's length helps nobody.
const MAX_READ_OUT: usize = 6;

/// One of the three charts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Chart {
    Histogram,
    Time,
    Exceedance,
}

impl Chart {
    pub(crate) const ALL: [Chart; 3] = [Chart::Histogram, Chart::Time, Chart::Exceedance];

    /// Name of its SVG file, without `.svg`.
    pub(crate) const fn file(self) -> &'static str {
        match self {
            Chart::Histogram => "histogram",
            Chart::Time => "latency-over-time",
            Chart::Exceedance => "exceedance",
        }
    }

    pub(crate) fn title(self) -> &'static str {
        translated(match self {
            Chart::Histogram => "Histogram of latencies",
            Chart::Time => "Latency over time",
            Chart::Exceedance => "Exceedance",
        })
    }

    /// The title where these are drawn.
    pub(crate) fn title_of(self, measured: Measured) -> &'static str {
        match self {
            Chart::Time if measured.is_two_sided() => translated("Interval by sample number"),
            Chart::Histogram if measured.is_two_sided() => translated("Histogram of jitter"),
            Chart::Exceedance if measured.is_two_sided() => translated("Exceedance of |jitter|"),
            _ => self.title(),
        }
    }

    /// The title of a picture: what is without its skipped activations says so, as tables count
    /// them in.
    pub(crate) fn headed(self, charts: &Charts) -> String {
        let jitter = self == Chart::Time && charts.style.over_time == OverTime::Jitter;
        let title =
            if jitter { translated("Jitter over time") } else { self.title_of(charts.measured) };
        match without_skipped(charts) {
            Some(without) => tr!("{title}, as measured, {without}", title, without),
            None => title.to_owned(),
        }
    }

    /// What it shows, with its figures.
    pub(crate) fn described(self, charts: &Charts, all: &[Overview<'_>]) -> String {
        let what = match self {
            Chart::Histogram => charts
                .measured
                .pick("Number of activations by latency.", "How many there were of each latency."),
            Chart::Time if charts.style.over_time == OverTime::Jitter => {
                "Smallest and largest jitter over the time of each recording."
            }
            Chart::Time if charts.measured.is_two_sided() => {
                "Smallest and largest interval by sample number, of each recording."
            }
            Chart::Time if charts.recordings.iter().all(|series| series.loads.drawn.is_empty()) => {
                "Smallest and largest latency over the time of each recording."
            }
            Chart::Time => {
                "Smallest and largest latency over the time of each recording, and below it the \
                 CPU use of its loads."
            }
            Chart::Exceedance if charts.measured.is_two_sided() => {
                "Share of intervals that are off their period by at least this, either way, both \
                 axes logarithmic."
            }
            Chart::Exceedance if charts.style.below_zero => charts.measured.pick(
                "Share of activations with at least this latency, the share on a logarithmic axis.",
                "Share with at least this latency, the share on a logarithmic axis.",
            ),
            Chart::Exceedance => charts.measured.pick(
                "Share of activations with at least this latency, both axes logarithmic.",
                "Share with at least this latency, both axes logarithmic.",
            ),
        };
        let mut parts = vec![translated(what).to_owned()];
        parts
            .extend(without_skipped(charts).map(|without| tr!("As measured, {without}.", without)));
        for (place, overview) in all.iter().enumerate().take(MAX_READ_OUT) {
            let figures = match self {
                Chart::Histogram => distribution(overview),
                Chart::Time => course(charts, place, overview),
                Chart::Exceedance => rarity(overview),
            };
            parts.push(tr!("{name}: {figures}.", name = overview.name, figures));
        }
        if all.len() > MAX_READ_OUT {
            parts.push(tr!(
                "And {recordings} more.",
                recordings = counted((all.len() - MAX_READ_OUT) as u64, "recording")
            ));
        }
        parts.join(" ")
    }
}

/// `without the 3 skipped activations`, where there are any.
fn without_skipped(charts: &Charts) -> Option<String> {
    (charts.skipped > 0).then(|| {
        tr!("without the {skipped}", skipped = charts.rows.counted_skipped(charts.skipped))
    })
}

fn distribution(overview: &Overview<'_>) -> String {
    let (Some(min), Some(max)) = (overview.moments.min(), overview.moments.max()) else {
        return tr!("no latency was measured");
    };
    let mut text = tr!(
        "{latencies} from {min} to {max}",
        latencies = counted(overview.moments.count(), "latency"),
        min = latency(min),
        max = latency(max)
    );
    // Of what is drawn, which has no skipped activations.
    let measured = overview.measured();
    if let Some(median) = measured.quantile(Level::P50) {
        text += &tr!(", half of them up to {median}", median = latency(median));
    }
    if let Some(p99) = measured.quantile(Level::P99) {
        text += &tr!(", 99 % up to {p99}", p99 = latency(p99));
    }
    text
}

fn course(charts: &Charts, place: usize, overview: &Overview<'_>) -> String {
    let series = &charts.recordings[place];
    let mut text = format!("{:.1} s", Nanos(series.time.length_ns).as_secs_f64());
    if let (Some(worst), Some(min)) = (series.worst.first(), overview.moments.min()) {
        let (min, max) = (latency(min), latency(worst.latency_ns));
        let at = format!("{:.3}", Nanos(worst.since_start_ns).as_secs_f64());
        text += &match worst.cpu {
            Some(cpu) => tr!(
                ", latencies from {min} to {max}; the worst was at {at} s on CPU {cpu}",
                min,
                max,
                at,
                cpu
            ),
            None => tr!(", latencies from {min} to {max}; the worst was at {at} s", min, max, at),
        };
    }
    let missing: u64 = series.time.missing.iter().map(|(_, n)| n).sum();
    if missing > 0 {
        text += &tr!(
            "; {rows} skipped or lost",
            rows = Rows::from(overview.recorded.document.probe.rows).counted(missing)
        );
    }
    for load in &series.loads.drawn {
        let percent = || load.points.iter().map(|(_, percent)| *percent);
        let (min, max) = (percent().fold(f64::INFINITY, f64::min), percent().fold(0.0, f64::max));
        let asked = load.requested.map_or_else(|| tr!("as much as it gets"), loads::level);
        text += &tr!(
            "; load {load}, asked for {asked}, used from {min} % to {max} % of each of its CPUs",
            load = load.spec,
            asked,
            min = format!("{min:.1}"),
            max = format!("{max:.1}")
        );
    }
    if series.loads.left_out > 0 {
        text += &tr!("; {loads} not drawn", loads = counted(series.loads.left_out as u64, "load"));
    }
    text
}

fn rarity(overview: &Overview<'_>) -> String {
    let points = rarities(overview);
    if !overview.measured().knows_distribution() {
        return tr!("not known");
    }
    if points.is_empty() {
        return tr!("no latency was measured");
    }
    let points: Vec<String> = points
        .into_iter()
        .map(|(one_in, ns)| {
            tr!("1 in {one_in} at {time} or more", one_in = count(one_in), time = latency(ns))
        })
        .collect();
    tr!(
        "{points}; the worst at {max}",
        points = points.join(translated(", ")),
        max = latency(overview.counted().judged().1.unwrap_or(0))
    )
}

/// `(n, latency in ns)`: at least 1 activation in n woke so late or later. As far as the samples
/// carry. Where only the histogram is known, the lower end of a bucket: so late were all that are
/// in it.
pub(crate) fn rarities(overview: &Overview<'_>) -> Vec<(u64, i64)> {
    if !overview.measured().knows_distribution() {
        return Vec::new();
    }
    let counted = overview.counted();
    let (judged, _) = counted.judged();
    let observed = overview.measured().observed.filter(|_| !counted.by_size);
    (1..=12)
        .map_while(|power| {
            let one_in = 10_u64.pow(power);
            let beyond = overview.moments.count() / one_in;
            if beyond == 0 {
                return None;
            }
            // The figure of the table, where it has one.
            let level = Level::ALL.into_iter().find(|level| level.needs() == one_in);
            let exact = level.and_then(|level| observed?.quantile(level));
            let rank = overview.moments.count() + 1 - beyond;
            let bucket = || judged.bucket_of_rank(rank).map(|(bucket, _)| bucket.lower);
            exact.or_else(bucket).map(|ns| (one_in, ns))
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
            for (one_in, ns) in found {
                let so_late =
                    samples.iter().filter(|latency| i64::from(**latency) >= ns).count() as u64;
                assert!(
                    so_late * one_in >= 3_000,
                    "{threads} threads: {so_late} of 3,000 were {ns} or later, said 1 in {one_in}"
                );
            }
            let exact = (threads == 1).then(|| overview.measured().quantile(Level::P99).unwrap());
            assert!(exact.is_none_or(|p99| rarities(&overview)[1] == (100, p99)));
        }
    }
}
