// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a comparison says: its sentences, the rows of its table, and why a figure has no ratio.

use super::{Compared, Texts};
use crate::format::{self, counted, list, ratio};
use crate::gate::change;
use crate::language::{texts, tr};
use crate::sections::latencies::{OrNothing, bounded};
use crate::sections::time_kind::TimeKind;
use crate::sections::verdict::fitting;
use model::Quantity;
use stats::{
    BlockMaxima, Comparison, MaximumDifference, NotCompared, QuantileDifference, RateDifference,
    Side,
};

/// `p99.9 is 31 to 44 % lower`.
fn changed(figure: &str, (lower, upper): (f64, f64)) -> String {
    tr!(figure_is_change, figure, change = change(lower, upper))
}

/// Not of significance: the figure is of these very runs.
fn not_judged() -> String {
    tr!(runs_grows_their_length)
}

impl Compared {
    /// A figure by its name: of jitter, one of its size.
    pub(super) fn named(&self, figure: &str) -> String {
        if self.quantity == Quantity::Jitter {
            tr!(size_of_jitter_figure, figure)
        } else {
            figure.to_owned()
        }
    }

    /// `7 independent blocks of idle, 16 needed`.
    pub(super) fn reason(&self, (why, side): (NotCompared, Side)) -> String {
        let count = format::count;
        let whose = match side {
            Side::First => &self.texts().base,
            _ => &self.texts().other,
        };
        let of_needed = |what, needed| {
            let what = match side {
                Side::BothAtMost => tr!(at_most_of_each, what),
                Side::Both => tr!(what_of_each, what),
                Side::First | Side::Second => tr!(what_of_whose, what, whose),
            };
            tr!(of_needed, what, needed)
        };
        match why {
            NotCompared::NoSamples if side == Side::Both => tr!(neither_has_samples),
            NotCompared::NoSamples => tr!(has_no_samples, whose),
            NotCompared::Threads => tr!(runs_differ_in_threads),
            NotCompared::FewSamples { samples, needed } => {
                of_needed(counted(samples, texts::n_samples), count(needed))
            }
            NotCompared::FewBlocks { blocks, needed } => {
                of_needed(counted(blocks, texts::n_independent_blocks), count(needed))
            }
            NotCompared::FewAbove { independent, needed, level, .. }
                if side == Side::BothAtMost =>
            {
                let independent = counted(independent, texts::n_independent_samples);
                of_needed(tr!(independent_above_level, independent, level), count(needed))
            }
            NotCompared::FewAbove { independent, needed, above, level } => {
                let independent = counted(independent, texts::n_independent_samples);
                let above = count(above);
                let what = if side == Side::Both {
                    tr!(above_of_each_worth_independent, above, level, independent)
                } else {
                    tr!(above_worth_independent, above, whose, level, independent)
                };
                tr!(of_needed, what, needed = count(needed))
            }
            NotCompared::LongPhases if side == Side::Both => tr!(each_has_long_phases),
            NotCompared::LongPhases => tr!(has_long_phases, whose),
            NotCompared::Equal => tr!(the_largest_are_equal),
        }
    }

    fn not_compared(&self, why: (NotCompared, Side)) -> String {
        tr!(not_compared_why, why = self.reason(why))
    }

    /// A figure in a table, if it is exact. Of jitter, which is less than 1 µs on most machines,
    /// with three digits.
    fn micros(&self, ns: i64) -> String {
        self.micros_on(self.time, ns)
    }

    fn micros_on(&self, time: TimeKind, ns: i64) -> String {
        if self.quantity == Quantity::Latency || time == TimeKind::Virtual {
            time.micros(ns)
        } else {
            format::fine_micros(ns)
        }
    }

    fn rows_of_spread(&self) -> Vec<[String; 4]> {
        let Some(spread) = &self.comparison.spread else { return Vec::new() };
        let prefix = if spread.is_significant() { "" } else { texts::not_significant.said() };
        let verdict = match spread.ratio {
            Some((lower, upper)) => format!("{prefix}{}", change(lower, upper)),
            None => tr!(too_few_independent_samples),
        };
        let sd = |ns: f64| self.micros(format::rounded(ns));
        vec![
            [
                texts::standard_deviation_short.said().to_owned(),
                sd(spread.base_sd_ns),
                sd(spread.other_sd_ns),
                verdict,
            ],
            [
                tr!(peak_to_peak),
                self.micros(spread.base_peak_to_peak_ns),
                self.micros(spread.other_peak_to_peak_ns),
                not_judged(),
            ],
        ]
    }

    /// Whether any of its figures is significant.
    pub(super) fn differs(&self) -> bool {
        let Comparison { quantiles, maximum, spread, .. } = &self.comparison;
        quantiles.iter().any(QuantileDifference::is_significant)
            || maximum.is_significant()
            || self.rate().is_some()
            || spread.is_some_and(|spread| spread.is_significant())
    }

    /// The rate beyond a limit, where it differs significantly.
    fn rate(&self) -> Option<&RateDifference> {
        self.comparison.rate.as_ref().filter(|rate| rate.is_significant())
    }

    /// `35.3 µs is exceeded 0.09 to 0.89 times as often`, where that is significant.
    fn rate_in_words(&self) -> Option<String> {
        let rate = self.rate()?;
        let limit = format::latency(rate.limit_ns);
        Some(tr!(beyond_limit_how_often, limit, how_often = how_often(rate)))
    }

    /// The figures that were compared and do not differ significantly.
    fn same(&self) -> Vec<String> {
        let Comparison { quantiles, maximum, spread, .. } = &self.comparison;
        let spread = spread.filter(|one| one.ratio.is_some() && !one.is_significant());
        let is_same = |one: &&QuantileDifference| one.ratio.is_ok() && !one.is_significant();
        let quantiles = quantiles.iter().filter(is_same);
        let maximum = maximum.test.as_ref().is_ok_and(|test| !test.is_significant);
        let spread = spread.map(|_| tr!(the_standard_deviation));
        let quantiles = quantiles.map(|one| self.named(&one.level.to_string()));
        spread.into_iter().chain(quantiles).chain(maximum.then(|| self.maximum())).collect()
    }

    fn maximum(&self) -> String {
        match self.quantity {
            Quantity::Jitter => tr!(maximum_size_jitter),
            _ => tr!(the_maximum),
        }
    }

    /// Whether any of its figures has been compared.
    pub(super) fn is_compared(&self) -> bool {
        self.differs() || !self.same().is_empty()
    }

    /// Whether all of them have.
    fn is_compared_in_all(&self) -> bool {
        let Comparison { quantiles, maximum, spread, .. } = &self.comparison;
        quantiles.iter().all(|one| one.ratio.is_ok())
            && maximum.test.is_ok()
            && spread.is_none_or(|spread| spread.ratio.is_some())
    }

    /// The significant quantile that is farthest out in the tail: its name, and what differs.
    fn farthest_quantile(&self) -> Option<(String, (f64, f64))> {
        let largest = self.comparison.quantiles.iter().rfind(|one| one.is_significant())?;
        Some((self.named(&largest.level.to_string()), largest.ratio.ok()?))
    }

    /// The significant difference that is farthest out in the tail, or that there is none, in which
    /// figures; the fullest first.
    fn found(&self) -> Vec<String> {
        let Comparison { maximum, spread, .. } = &self.comparison;
        let quantile = || {
            let (figure, (lower, upper)) = self.farthest_quantile()?;
            Some(tr!(figure_change, figure, change = change(lower, upper)))
        };
        let of_spread = || {
            let ratio = spread.filter(|spread| spread.is_significant())?.ratio?;
            let figure = format::capitalised(texts::the_standard_deviation.said());
            Some(tr!(figure_change, figure, change = change(ratio.0, ratio.1)))
        };
        let of_maximum = || maximum.is_significant().then(|| tr!(largest_latencies_differ));
        let significant = quantile()
            .or_else(of_spread)
            .or_else(|| Some(format::capitalised(&of_maximum().or_else(|| self.rate_in_words())?)));
        if let Some(significant) = significant {
            return vec![significant];
        }
        let same = self.same();
        let found = if same.is_empty() {
            vec![self.nothing_compared()]
        } else if self.is_compared_in_all() {
            vec![tr!(no_significant_difference)]
        } else {
            let n = counted(same.len() as u64, texts::n_figures);
            vec![
                tr!(no_significant_difference_in, figures = list(&same)),
                tr!(no_significant_difference_compared, figures = n),
            ]
        };
        found.iter().map(|found| format::capitalised(found)).collect()
    }

    /// Why none of its figures was compared.
    fn nothing_compared(&self) -> String {
        if self.texts().unordered.is_empty() {
            tr!(too_few_independent_samples)
        } else {
            tr!(not_compared_unordered)
        }
    }

    /// What was found, and of which recordings.
    pub(super) fn headline(&self) -> String {
        let Texts { base: first, other: second, .. } = self.texts();
        let clipped = |max| [first, second].map(|name| format::clip(name, max));
        let whole = [first.clone(), second.clone()];
        // As much of both as there is room for.
        let named = std::iter::once(whole).chain((12..=40).rev().map(clipped));
        let named = named.filter(|[first, second]| first != second);
        let in_words = [texts::first, texts::second].map(|name| name.said().to_owned());
        let named: Vec<[String; 2]> = named.chain([in_words]).collect();
        let found = self.found();
        fitting(found.iter().flat_map(|found| {
            named
                .iter()
                .map(move |[first, second]| tr!(found_second_against_first, found, second, first))
        }))
    }

    /// What the headline leaves out: which other differences are significant, and which are not, or
    /// why nothing is compared.
    pub(super) fn beside_headline(&self) -> String {
        let sentence = |part: &str| {
            // The name of a quantile stays as it is in the table.
            let is_quantile = part.chars().nth(1).is_some_and(|letter| letter.is_ascii_digit());
            let part = if is_quantile { part.to_owned() } else { format::capitalised(part) };
            format!("{part}{}", texts::full_stop.said())
        };
        if !self.is_compared() {
            return if self.texts().unordered.is_empty() {
                String::new()
            } else {
                sentence(texts::order_samples_unknown_so.said())
            };
        }
        let headline = self.headline();
        let of_quantile = self.farthest_quantile().map(|(figure, ratio)| changed(&figure, ratio));
        let is_said = |part: &String| {
            of_quantile.as_ref() == Some(part) || headline.starts_with(&format::capitalised(part))
        };
        let parts = self.parts().into_iter().filter(|part| !is_said(part));
        parts.map(|part| sentence(&part)).collect::<Vec<_>>().join(" ")
    }

    /// One sentence: which differences are significant, and which are not.
    pub(super) fn verdict(&self) -> String {
        let Texts { base: first, other: second, unordered, .. } = self.texts();
        if !self.is_compared() {
            return if unordered.is_empty() {
                tr!(second_against_first_too, second, first)
            } else {
                tr!(second_against_first_not, second, first)
            };
        }
        let parts = self.parts().join(texts::semicolon.said());
        tr!(second_against_first_parts, second, first, parts)
    }

    /// Which differences are significant, and which are not.
    fn parts(&self) -> Vec<String> {
        let Comparison { quantiles, maximum, spread, .. } = &self.comparison;
        let spread = spread.filter(|spread| spread.is_significant()).and_then(|one| one.ratio);
        let spread = spread.map(|ratio| changed(texts::the_standard_deviation.said(), ratio));
        let quantiles = quantiles.iter().filter(|one| one.is_significant());
        let of_quantile = |one: &QuantileDifference| {
            Some(changed(&self.named(&one.level.to_string()), one.ratio.ok()?))
        };
        let mut parts: Vec<String> =
            spread.into_iter().chain(quantiles.filter_map(of_quantile)).collect();
        parts.extend(self.rate_in_words());
        let test = maximum.test.as_ref().ok().filter(|test| test.is_significant);
        let of_test =
            |test| tr!(figure_is_change, figure = self.maximum(), change = of_blocks(test));
        parts.extend(test.map(of_test));
        let same = self.same();
        if !same.is_empty() {
            parts.push(tr!(no_significant_difference_in, figures = list(&same)));
        }
        parts
    }

    pub(super) fn rows(&self) -> Vec<[String; 4]> {
        let about = self.observed.map(|observed| if observed { "" } else { "~" });
        let mut rows = self.rows_of_spread();
        let value = |about: &str, ns: Option<i64>| {
            let text = |ns| match about {
                "" => self.micros(ns),
                about => format!("{about}{}", self.micros_on(TimeKind::Machine, ns)),
            };
            ns.map(text).or_nothing()
        };
        rows.extend(self.comparison.quantiles.iter().map(|one| {
            let prefix = if one.is_significant() { "" } else { texts::not_significant.said() };
            [
                self.named(&one.level.to_string()),
                value(about[0], one.base_ns),
                value(about[1], one.other_ns),
                match one.ratio {
                    Ok((lower, upper)) => format!("{prefix}{}", change(lower, upper)),
                    Err(why) => self.not_compared(why),
                },
            ]
        }));
        let maximum = &self.comparison.maximum;
        let max = |ns: Option<i64>, between| {
            ns.map(|ns| bounded(between, ns, |ns| self.micros(ns))).or_nothing()
        };
        rows.push([
            self.named(texts::max.said()),
            max(maximum.base_ns, self.max_between[0]),
            max(maximum.other_ns, self.max_between[1]),
            maximum.test.as_ref().map_or_else(|why| self.not_compared(*why), of_blocks),
        ]);
        rows.extend(of_the_largest(maximum));
        if let Some(rate) = &self.comparison.rate {
            let share = |(beyond, of): (u64, u64)| {
                tr!(n_of_all, n = format::count(beyond), all = format::count(of))
            };
            let name = self.named(&format!(">{}", format::latency(rate.limit_ns)));
            rows.push([name, share(rate.base), share(rate.other), times(rate)]);
        }
        rows
    }

    /// What to keep in mind.
    pub(super) fn notes(&self) -> Vec<String> {
        let mut notes = self.texts().reservations.clone();
        let unordered = &self.texts().unordered;
        if !unordered.is_empty() {
            notes.push(tr!(no_samples_in_recordings, recordings = list(unordered)));
        }
        let Comparison { quantiles, maximum, .. } = &self.comparison;
        let is_known = |one: &QuantileDifference| one.base_ns.or(one.other_ns).is_some();
        if self.observed.contains(&false) && quantiles.iter().any(is_known) {
            notes.push(tr!(all_threads_runs_together));
        }
        notes.extend(maximum.test.as_ref().ok().map(what_worst_blocks_are));
        if self.comparison.has_long_phases() {
            notes.push(tr!(few_phases_make_longer_runs));
        }
        if !self.comparison.between_runs {
            notes.push(tr!(few_runs_each_holds));
        }
        notes
    }
}

/// `lower: the second has 3 of the 20 worst blocks, 10.0 expected`.
fn of_blocks(test: &BlockMaxima) -> String {
    let (base, n) = test.worst;
    let expected = format!("{:.1}", test.expected);
    let blocks = tr!(second_has_n_worst_blocks, n, all = base + n, expected);
    let lead = match test.is_significant {
        false => texts::not_significant,
        true if n as f64 > test.expected => texts::higher_lead,
        true => texts::lower_lead,
    };
    let but = if test.disagrees { texts::but_largest_in_other.said() } else { "" };
    format!("{}{blocks}{but}", lead.said())
}

/// From which group the largest latencies are, one by one; none where all are equal.
fn of_the_largest(maximum: &MaximumDifference) -> Option<[String; 4]> {
    let (base, other) = maximum.largest;
    (base + other > 0).then(|| {
        let name = tr!(largest_n, n = base + other);
        [name, base.to_string(), other.to_string(), tr!(raw_count_of_samples)]
    })
}

fn what_worst_blocks_are(test: &BlockMaxima) -> String {
    let (base, other) = test.blocks;
    let [latencies, base, other] = [test.latencies, base as u64, other as u64].map(format::count);
    tr!(worst_blocks_are, latencies, base, other, all = test.worst.0 + test.worst.1)
}

/// `2.1 to 3.4 times as often`.
pub(super) fn how_often(rate: &RateDifference) -> String {
    // What two digits show as 0.00 is no bound.
    let is_nothing = |ratio: f64| ratio < 0.005;
    match rate.upper {
        Some(upper) if is_nothing(upper) => tr!(less_than_0_01_times),
        Some(upper) if is_nothing(rate.lower) => {
            tr!(most_high_times_often, high = ratio(upper))
        }
        None if is_nothing(rate.lower) => tr!(the_ratio_is_inconclusive),
        Some(upper) => {
            tr!(low_high_times_often, low = ratio(rate.lower), high = ratio(upper))
        }
        None => tr!(least_low_times_often, low = ratio(rate.lower)),
    }
}

/// The same with whether that is more than chance.
fn times(rate: &RateDifference) -> String {
    format!(
        "{}{}",
        if rate.is_significant() { "" } else { texts::not_significant.said() },
        how_often(rate)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use stats::{Group, Level, compare};

    #[test]
    fn a_ratio_that_shows_as_nothing_is_no_bound() {
        let often = |lower: f64, upper: Option<f64>| {
            how_often(&RateDifference { limit_ns: 1, base: (0, 10), other: (0, 10), lower, upper })
        };
        assert_eq!(often(2.1, Some(3.4)), "2.10 to 3.40 times as often");
        assert_eq!(often(66.44, Some(1_733.41)), "66 to 1,733 times as often");
        assert_eq!(often(0.0, Some(3.4)), "at most 3.40 times as often");
        assert_eq!(often(2.1, None), "at least 2.10 times as often");
        assert_eq!(often(0.001, None), "the ratio is inconclusive");
        assert_eq!(often(0.0, Some(0.004)), "less than 0.01 times as often");
    }

    /// Two groups of which nothing is compared.
    fn compared(base: &str, other: &str) -> Compared {
        let texts = || Texts { base: base.into(), other: other.into(), ..Texts::default() };
        Compared {
            comparison: compare(&Group::default(), &Group::default()),
            time: TimeKind::Machine,
            quantity: Quantity::Latency,
            observed: [true, false],
            max_between: [None; 2],
            texts: crate::language::InEach::new(texts),
        }
    }

    /// The headline said that there is no significant difference, and the sentence below it that
    /// nothing could be compared, or the other way round.
    #[test]
    fn a_headline_speaks_of_what_was_compared() {
        let said = |compared: &Compared| (compared.headline(), compared.verdict());
        let mut of = compared("idle", "busy");
        let spread = |ratio| {
            Some(stats::SpreadDifference {
                base_sd_ns: 2.0,
                other_sd_ns: 2.0,
                ratio,
                base_peak_to_peak_ns: 9,
                other_peak_to_peak_ns: 9,
            })
        };
        of.comparison.spread = spread(None);
        let nothing = (
            "Too few independent samples to compare: busy against idle".to_owned(),
            "busy against idle: too few independent samples to compare.".to_owned(),
        );
        assert_eq!(said(&of), nothing);
        of.comparison.spread = None;
        of.comparison.maximum.test = Ok(BlockMaxima {
            latencies: 128,
            blocks: (99, 99),
            worst: (10, 10),
            expected: 10.0,
            is_significant: false,
            disagrees: false,
        });
        let maximum = "o significant difference in the maximum";
        assert_eq!(
            said(&of),
            (format!("N{maximum}: busy against idle"), format!("busy against idle: n{maximum}."))
        );
        of.comparison.spread = spread(Some((0.9, 1.1)));
        (of.comparison.quantiles[0].ratio, of.quantity) = (Ok((0.9, 1.1)), Quantity::Jitter);
        let figures = "the standard deviation, |jitter| p50 and the maximum of |jitter|";
        assert_eq!(
            said(&of),
            (
                "No significant difference in the 3 figures compared: busy against idle".to_owned(),
                format!("busy against idle: no significant difference in {figures}.")
            )
        );
        of.comparison.quantiles.iter_mut().for_each(|one| one.ratio = Ok((0.9, 1.1)));
        assert_eq!(of.headline(), "No significant difference: busy against idle");
        // It was said twice.
        of.quantity = Quantity::Latency;
        of.comparison.quantiles[0].ratio = Ok((0.5, 0.6));
        of.comparison.quantiles[1].ratio = Ok((0.3, 0.4));
        assert_eq!(of.headline(), "p90 60 to 70 % lower: busy against idle");
        let more = of.beside_headline();
        assert!(
            more.starts_with("p50 is 40 to 50 % lower. No significant difference in"),
            "{more}"
        );
        let mut unordered = compared("idle", "busy");
        unordered.texts = crate::language::InEach::new(|| Texts {
            unordered: vec!["idle".into()],
            ..unordered.texts().clone()
        });
        assert_eq!(
            unordered.headline(),
            "Not compared, since the order of samples is unknown: busy against idle"
        );
    }

    /// Each figure has a row: both values, and the ratio or why there is none.
    #[test]
    fn each_quantile_has_its_row() {
        let mut compared = compared("idle", "busy");
        let Comparison { quantiles, maximum, .. } = &mut compared.comparison;
        let why = [
            (NotCompared::NoSamples, Side::Second),
            (NotCompared::FewBlocks { blocks: 7, needed: 16 }, Side::First),
            (
                NotCompared::FewAbove { independent: 1, needed: 7, above: 300, level: Level::P99 },
                Side::Second,
            ),
            (NotCompared::FewSamples { samples: 990, needed: 1_000 }, Side::Both),
        ];
        for (quantile, why) in quantiles.iter_mut().zip(why) {
            (quantile.base_ns, quantile.other_ns) = (Some(12_900_000), Some(23_000));
            quantile.ratio = Err(why);
        }
        quantiles[4].base_ns = Some(246_000_000);
        quantiles[4].ratio = Ok((0.5, 0.6));
        (maximum.base_ns, maximum.other_ns) = (Some(246_000_000), None);
        (maximum.largest, maximum.test) = ((20, 0), Err((NotCompared::Threads, Side::Both)));
        let reasons = [
            (
                NotCompared::FewSamples { samples: 990, needed: 1_000 },
                "at most 990 samples of each, 1,000 needed",
            ),
            (
                NotCompared::FewAbove { independent: 3, needed: 7, above: 300, level: Level::P99 },
                "at most 3 independent samples above p99 of each, 7 needed",
            ),
        ];
        for (why, expected) in reasons {
            assert_eq!(compared.reason((why, Side::BothAtMost)), expected);
        }
        // A space stands behind the name of a recording alone.
        let of = |side| {
            let why = NotCompared::FewSamples { samples: 990, needed: 1_000 };
            let japanese = crate::language::Language::Japanese;
            crate::language::in_language(japanese, || compared.reason((why, side)))
        };
        assert!(of(Side::Both).starts_with("それぞれの"), "{}", of(Side::Both));
        assert!(of(Side::First).starts_with("idle の"), "{}", of(Side::First));
        let row = |name: &str, base: &str, other: &str, verdict: &str| {
            [name, base, other, verdict].map(str::to_owned)
        };
        assert_eq!(
            compared.rows(),
            [
                row("p50", "12,900.0", "~23.0", "not compared: busy has no samples"),
                row(
                    "p90",
                    "12,900.0",
                    "~23.0",
                    "not compared: 7 independent blocks of idle, 16 needed"
                ),
                row(
                    "p99",
                    "12,900.0",
                    "~23.0",
                    "not compared: the 300 samples of busy above p99 come in bursts and are worth \
                     1 independent sample, 7 needed"
                ),
                row(
                    "p99.9",
                    "12,900.0",
                    "~23.0",
                    "not compared: 990 samples of each, 1,000 needed"
                ),
                row("p99.99", "246,000.0", "–", "40 to 50 % lower"),
                row(
                    "max",
                    "246,000.0",
                    "–",
                    "not compared: the runs differ in their number of threads"
                ),
                row("largest 20", "20", "0", "raw count of samples, bursts included"),
            ]
        );
    }

    /// Two runs of a machine with a neighbour that comes and goes were said to differ.
    #[test]
    fn phases_that_last_are_named_with_what_would_help() {
        let mut compared = compared("idle", "busy");
        compared.comparison.maximum.test = Err((NotCompared::LongPhases, Side::First));
        let rows = compared.rows();
        let max = rows.iter().find(|row| row[0] == "max").unwrap();
        assert_eq!(max[3], "not compared: idle has phases longer than a sixteenth of a run");
        let both = compared.reason((NotCompared::LongPhases, Side::Both));
        assert_eq!(both, "each has phases longer than a sixteenth of a run");
        let notes = compared.notes();
        let note = notes.iter().find(|note| note.starts_with("phases: ")).unwrap();
        assert!(note.ends_with("compare runs several times as long, or at least five of each"));
    }

    /// Both were cut to 12 letters, whatever room there was.
    #[test]
    fn a_headline_has_as_much_of_two_names_as_it_has_room_for() {
        let headline = |base: &str, other: &str| compared(base, other).headline();
        assert_eq!(
            headline("debian-amd64-6.1.0-56", "debian-rt-amd64-6.1.0-56"),
            "Too few independent samples to compare: debian-rt-amd64-6.1… against \
             debian-amd64-6.1.0-…"
        );
        assert_eq!(
            headline(&format!("{}1", "a".repeat(50)), &format!("{}2", "a".repeat(50))),
            "Too few independent samples to compare: second against first"
        );
    }

    /// Counts of latencies, weighted by their clusters, were called latencies and fewer than
    /// expected, where the first had none of the largest.
    #[test]
    fn what_was_counted_is_said() {
        let test = BlockMaxima {
            latencies: 128,
            blocks: (157, 471),
            worst: (17, 3),
            expected: 15.0,
            is_significant: true,
            disagrees: false,
        };
        assert_eq!(
            of_blocks(&test),
            "lower: the second has 3 of the 20 worst blocks, 15.0 expected"
        );
        let higher = BlockMaxima { worst: (0, 20), ..test };
        assert_eq!(
            of_blocks(&higher),
            "higher: the second has 20 of the 20 worst blocks, 15.0 expected"
        );
        let disagrees = BlockMaxima { is_significant: false, disagrees: true, ..test };
        assert_eq!(
            of_blocks(&disagrees),
            "not significant: the second has 3 of the 20 worst blocks, 15.0 expected, but the \
             largest is in the other"
        );
        assert_eq!(
            what_worst_blocks_are(&test),
            "worst blocks: the runs are cut into blocks of 128 samples, 157 of the first and 471 \
             of the second. The worst are the 20 with the largest maxima. Expected is the second's \
             share of all blocks"
        );
    }
}
