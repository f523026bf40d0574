// SPDX-License-Identifier: MIT OR Apache-2.0
//! Several recordings in a terminal, a line each, below what they must not be read without.

use crate::format::count;
use crate::language::{Language, Text, in_language, texts};
use crate::overview::Overview;
use crate::paint::Paint;
use crate::sections::cautions;
use crate::sections::caveats;
use crate::sections::columns::Probes;
use crate::sections::jitter;
use crate::sections::lab;
use crate::sections::latencies::{FEW, Figure, OrNothing};
use crate::terminal::text::{Table, wrapped};
use crate::terminal::{GIVEN_UP, head};
use model::Recorded;

const OF_INTERVALS: [Figure; 6] =
    [Figure::Sd, Figure::PeakToPeak, Figure::Min, Figure::P50, Figure::P99, Figure::Max];

/// What `teiji lab run` ends with: the caveats, then recordings below one another, a line each,
/// then what their figures are.
pub fn side_by_side(recordings: &[Recorded], language: Language) -> String {
    in_language(language, || {
        let all = Overview::all(recordings);
        table_of(&all, &all)
    })
}

/// The same of lines that are made of several recordings each; `recordings` are those, whose
/// caveats come first.
pub(crate) fn table_of(all: &[Overview<'_>], recordings: &[Overview<'_>]) -> String {
    // Of intervals how much they vary comes first.
    let figures = if all.iter().all(jitter::is_judged) { OF_INTERVALS } else { FEW };
    let due = Probes::from_overviews(all).due();
    let head = [texts::recording, due, texts::late, texts::skipped]
        .into_iter()
        .chain(figures.map(Figure::name))
        .map(Text::said)
        .collect();
    let table = Table { head, rows: all.iter().map(|overview| row(overview, &figures)).collect() };
    let table = table.fitted(&GIVEN_UP.map(Text::said));
    // What the ns of the lab are stands below the table.
    let banners = caveats::banners(recordings);
    let banners = banners.iter().filter(|banner| !banner.kind.is_of_time());
    let mut out = head::caveats(banners, Paint::Plain);
    if !out.is_empty() {
        out.push('\n');
    }
    out += &table.render();
    out.push('\n');
    let has_skipped = all.iter().any(Overview::has_skipped);
    let mut population = Probes::from_overviews(all).population(has_skipped);
    if table.has_about() {
        population += texts::from_histogram_up_1.said();
    }
    wrapped(&mut out, "", &population);
    for what in lab::times(all) {
        wrapped(&mut out, "", &what);
    }
    for what in cautions::co_kernel_notes(all) {
        wrapped(&mut out, "", &what);
    }
    out
}

fn row(overview: &Overview<'_>, figures: &[Figure]) -> Vec<String> {
    let due = overview.due();
    let mut row = vec![overview.name.clone()];
    let accounts = overview.totals.activations.shown(overview.document(), due.count());
    let [all, _, late, skipped] = accounts.map(|n| n.map(count).or_nothing());
    row.extend([all, late, skipped]);
    row.extend(figures.iter().map(|figure| due.in_micros(*figure, overview.time())));
    row
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::Synthetic;

    #[test]
    fn intervals_have_how_much_they_vary() {
        let mut recorded =
            Synthetic::idle().threads(1).samples(&[-9_000, 0, 300]).title("rtc").build();
        recorded.document.probe.quantity = model::Quantity::Jitter;
        let text = side_by_side(&[recorded], Language::English);
        let cells: Vec<Vec<&str>> = text
            .lines()
            .take(2)
            .map(|line| line.split("  ").filter(|cell| !cell.is_empty()).collect())
            .collect();
        assert!(cells[0].iter().any(|cell| cell.trim() == "peak to peak"), "{text}");
        assert!(cells[1].iter().any(|cell| cell.trim() == "9.3"), "{text}");
    }

    /// Two kernels of the lab were 81 columns wide, and the last figure was on a line of its own.
    #[test]
    fn a_table_is_not_wider_than_a_terminal() {
        let long = "debian-amd64-6.1.0-56-and-more-of-a-name";
        let recorded = Synthetic::idle().threads(1).samples(&[123_456_789; 2_000]);
        let text = side_by_side(&[recorded.title(long).build()], Language::English);
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        assert!(text.lines().any(|line| line.ends_with("max")), "{text}");
    }

    /// What a wake-up that never was would have taken, nobody knows.
    #[test]
    fn skipped_ones_are_counted_in_where_their_probe_says_so() {
        let cyclic = Synthetic::idle().threads(1).samples(&[2_239_001, 0, 0, 9_000]).build();
        let mut wakeup = Synthetic::idle().threads(1).samples(&[9_000]).title("wakeup").build();
        let mut noise = wakeup.clone();
        (wakeup.document.probe.name, wakeup.document.probe.overrun_column) =
            ("wakeup".into(), Some(1));
        (noise.document.probe.name, noise.document.probe.overrun_column) = ("noise".into(), None);
        let footer = |all: &[Recorded]| {
            let text = side_by_side(all, Language::English);
            let footer = text.rsplit("\n\n").next().unwrap();
            footer.split_whitespace().collect::<Vec<_>>().join(" ")
        };
        assert_eq!(
            footer(&[cyclic.clone(), wakeup.clone(), noise.clone()]),
            "Latencies in µs. Of cyclic skipped ones are counted in, each from its planned time. \
             Of wakeup and noise they are as measured."
        );
        assert_eq!(
            footer(&[cyclic]),
            "Latencies in µs, skipped ones counted in, each from its planned time."
        );
        assert_eq!(footer(&[wakeup, noise]), "Latencies in µs, as measured.");
    }

    /// It stood before a figure of two threads, and nothing said what it is.
    #[test]
    fn the_sign_of_what_was_not_observed_is_explained_where_it_stands() {
        let two = Synthetic::idle().build();
        let one = Synthetic::idle().threads(1).build();
        let legend = "~: from the histogram, up to 1 % above.";
        let text = side_by_side(&[two.clone(), one.clone()], Language::English);
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains(" ~1") && words.contains(legend), "{text}");
        let text = side_by_side(&[one], Language::English);
        assert!(!text.contains('~'), "{text}");
    }

    #[test]
    fn caveats_stand_above_the_table() {
        let mut recordings = [Synthetic::idle().build(), Synthetic::hackbench().build()];
        recordings[1].document.load_off_target = true;
        let text = side_by_side(&recordings, Language::English);
        let output = "\
✗ hackbench: load off target: off by more than 5 points
! hackbench: steal time 1.0 % (100 ms) on CPU 1
! hackbench: clocksource changed from tsc to hpet";
        let (front, rest) = text.split_once("\n\n").unwrap();
        assert_eq!(front, output, "{text}");
        assert!(rest.starts_with("recording "), "{text}");
        assert!(
            side_by_side(&[Synthetic::idle().build()], Language::English).starts_with("recording ")
        );
    }
}
