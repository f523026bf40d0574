// SPDX-License-Identifier: MIT OR Apache-2.0
//! Groups of recordings held against one another: what differs in their latencies, with confidence,
//! and what else differs between them, which may be why.

mod differs;
mod forest;
mod formats;
mod page;
mod words;

use crate::format::{self, counted};
use crate::language::{InEach, Language, current_language, in_language, texts, tr};
use crate::overview::Overview;
use crate::sections::cautions;
use crate::sections::caveats;
use crate::sections::time_kind::TimeKind;
use crate::sections::verdict::{Headline, fitting};
use differs::{Differing, differing};
pub(crate) use differs::{different_quantities, incomparable};
use model::{Document, Examined, Quantity, Recorded, RunIdentity};
use stats::{Between, Comparison, Group, Measured, PooledBounds, compare};

/// Recordings that are taken to be repeats of one another.
pub struct Repeats {
    recordings: Vec<Recorded>,
    group: Group,
    /// What the group is known by; none: its recordings' names.
    called: Option<String>,
    /// Of which runs they are.
    runs: Vec<RunIdentity>,
    /// Recordings of the same run as an earlier one, as repeats in the lab are, and copies: they
    /// add nothing, and are left out.
    identical: usize,
}

impl Repeats {
    /// Puts recordings together.
    pub fn new(examined: Vec<Examined>) -> Self {
        let (recordings, runs) = (Vec::new(), Vec::new());
        let mut repeats =
            Repeats { recordings, group: Group::default(), called: None, runs, identical: 0 };
        // Of phases that are all there is, quantiles are known exactly.
        if let [one] = examined.as_slice() {
            repeats.group.quantiles = one.group().quantiles;
            repeats.called = name_of_phases(one);
        }
        for examined in examined {
            let group = examined.group();
            let others = examined.pool.map_or_else(Vec::new, |pool| pool.others);
            std::iter::once(examined.recorded)
                .chain(others)
                .zip(group.runs)
                .for_each(|(one, measured)| repeats.add(one, measured));
        }
        repeats
    }

    fn add(&mut self, recorded: Recorded, measured: Vec<Measured>) {
        let run = RunIdentity::from_recorded(&recorded);
        if self.runs.contains(&run) {
            self.identical += 1;
            return;
        }
        self.runs.push(run);
        self.group.runs.push(measured);
        self.recordings.push(recorded);
    }

    /// Known by this instead of by its recordings' names.
    pub fn called(self, name: String) -> Self {
        Repeats { called: Some(name), ..self }
    }

    /// What is said before any figure: where its ns come from.
    fn what_time_is(&self) -> Option<String> {
        self.recordings
            .iter()
            .find_map(|recorded| crate::what_time_is(recorded, current_language()))
            .map(|text| text.trim_end().to_owned())
    }

    /// Each of its recordings; they go by the group's name, unless they are phases, which have
    /// their own.
    fn overviews(&self) -> impl Iterator<Item = Overview<'_>> {
        let are_several = self.recordings.len() > 1;
        self.recordings.iter().zip(1..).map(move |(recorded, repeat)| {
            let overview = Overview::new(recorded);
            match &self.called {
                Some(name) if !are_several => Overview { name: name.clone(), ..overview },
                Some(name) if recorded.document.run.phase.is_none() => {
                    Overview { name: tr!(name_run_repeat, name, repeat), ..overview }
                }
                _ => overview,
            }
        })
    }

    /// Those of all groups, with names that distinguish them.
    fn all_overviews<'r>(groups: impl Iterator<Item = &'r Repeats>) -> Vec<Overview<'r>> {
        let mut all: Vec<Overview<'_>> = groups.flat_map(Repeats::overviews).collect();
        Overview::number(&mut all);
        all
    }

    /// Between what the largest latency lies, if it is not exactly known.
    fn max_between(&self) -> Option<Between> {
        let mut all = PooledBounds::default();
        let threads = self.recordings.iter().flat_map(|recorded| &recorded.threads);
        threads.filter_map(|thread| thread.latency_with_skipped).for_each(|one| all.add(&one));
        all.bounds().max
    }

    /// `vanilla`, or `vanilla and 2 more`.
    fn name(&self) -> String {
        if let Some(name) = &self.called {
            return name.clone();
        }
        let first = self.recordings.first().map(Recorded::name).unwrap_or_default();
        if self.recordings.len() > 1 {
            tr!(first_and_n_more, first, n = self.recordings.len() - 1)
        } else {
            first
        }
    }
}

/// One group held against the first.
struct Compared {
    comparison: Comparison,
    /// What both are of. Of jitter, quantiles, maximum and rate are those of its size.
    quantity: Quantity,
    time: TimeKind,
    /// Whether the quantiles of both groups are latencies that were observed.
    observed: [bool; 2],
    /// Between what the maxima of both groups lie that are not exactly known.
    max_between: [Option<Between>; 2],
    texts: InEach<Texts>,
}

/// What is said of two groups apart from their figures.
#[derive(Clone, Default)]
struct Texts {
    base: String,
    other: String,
    /// What to know before the figures: their caveats, and conditions that differ though nobody
    /// varied them.
    caveats: Vec<String>,
    /// Recordings of which the order of samples is unknown.
    unordered: Vec<String>,
    /// Why they should not be compared at all.
    incomparable: Vec<String>,
    /// The same, and why the figures are hardly comparable.
    reservations: Vec<String>,
    differing: Vec<Differing>,
}

/// All groups held against the first.
#[derive(Default)]
pub struct Comparisons {
    all: Vec<Compared>,
    /// What the ns are, where any are the lab's.
    time: InEach<Option<String>>,
}

impl Comparisons {
    /// Compares each group with the first.
    ///
    /// # Errors
    /// Why they cannot be compared, in this language, unless `anyway`.
    pub fn new(
        groups: &[Repeats],
        anyway: bool,
        language: Language,
    ) -> Result<Comparisons, String> {
        let Some((base, others)) = groups.split_first() else { return Ok(Comparisons::default()) };
        let all = others
            .iter()
            .map(|other| Compared::new(base, other, anyway, language))
            .collect::<Result<_, _>>()
            .map_err(|refused| in_language(language, || refused.with_flag()))?;
        let time = InEach::new(|| groups.iter().find_map(Repeats::what_time_is));
        Ok(Comparisons { all, time })
    }
}

/// Why two groups are not compared.
struct Refused {
    sentence: String,
    /// Whether `--anyway` compares them.
    is_by_default: bool,
}

impl Refused {
    /// Where there is that flag.
    fn with_flag(self) -> String {
        match self.is_by_default {
            true => tr!(refused_unless_anyway, refused = self.sentence),
            false => self.sentence,
        }
    }
}

/// Whether nothing is against a comparison of recordings with these documents.
pub fn can_be_compared(documents: &[&Document]) -> bool {
    incomparable(documents).is_empty()
}

/// Why recordings are not compared, and below it the commands that compare some of them.
pub fn refused_with_commands(why: &str, commands: &[String], language: Language) -> String {
    if commands.is_empty() {
        return why.to_owned();
    }
    let lines = commands.iter().map(|command| format!("\n  {command}")).collect::<String>();
    in_language(language, || format!("{why}\n{}{lines}", texts::what_can_be_compared.said()))
}

impl Compared {
    fn new(
        base: &Repeats,
        other: &Repeats,
        anyway: bool,
        language: Language,
    ) -> Result<Compared, Refused> {
        let both =
            || base.recordings.iter().chain(&other.recordings).map(|recorded| &recorded.document);
        let quantities = || different_quantities(&both().collect::<Vec<_>>());
        let refusal =
            |why| tr!(first_second_cannot_be, first = base.name(), second = other.name(), why);
        // There is nothing to compare, whatever is asked.
        if let Some(sentence) = in_language(language, || quantities().map(refusal)) {
            return Err(Refused { sentence, is_by_default: false });
        }
        let texts = InEach::new(|| Texts::new(base, other));
        if !anyway
            && let Some(sentence) = in_language(language, || texts.get().refusal(base, other))
        {
            return Err(Refused { sentence, is_by_default: true });
        }
        Ok(Compared {
            comparison: compare(&base.group, &other.group),
            quantity: both()
                .next()
                .map_or_else(Quantity::default, |document| document.probe.quantity),
            time: TimeKind::of_all(both().map(TimeKind::from_document)),
            observed: [&base.group, &other.group].map(stats::Group::has_observed_quantiles),
            max_between: [base, other].map(Repeats::max_between),
            texts,
        })
    }

    /// In the current language.
    fn texts(&self) -> &Texts {
        self.texts.get()
    }
}

impl Texts {
    fn new(base: &Repeats, other: &Repeats) -> Texts {
        let both: Vec<&Recorded> = base.recordings.iter().chain(&other.recordings).collect();
        let incomparable =
            incomparable(&both.iter().map(|recorded| &recorded.document).collect::<Vec<_>>());
        let mut reservations = incomparable.clone();
        let all = Repeats::all_overviews([base, other].into_iter());
        let mut caveats = cautions::of_each(&all);
        let apart = cautions::between(&all, base.recordings.len());
        let (of_base, of_other) = all.split_at(base.recordings.len());
        caveats.extend(
            apart
                .iter()
                .chain(&cautions::gravity_apart(of_base, of_other))
                .map(cautions::Apart::in_words),
        );
        let in_both = |run: &RunIdentity| !run.is_deterministic() && base.runs.contains(run);
        let again = other.recordings.iter().zip(&other.runs).filter(|(_, run)| in_both(run));
        reservations.extend(
            again.map(|(one, _)| tr!(recording_given_twice_counts, recording = one.name())),
        );
        let (of_base, of_other) = distinct(base.name(), other.name(), other);
        for (repeats, group) in [(base, &of_base), (other, &of_other)] {
            if repeats.identical > 0 {
                let recordings = counted(repeats.identical as u64, texts::n_recordings);
                reservations.push(tr!(recordings_group_left_out, recordings, group));
            }
        }
        let differing = differing(&base.recordings, &other.recordings, apart);
        let unordered = all
            .iter()
            .filter(|one| !judge::knows_order(one.document()))
            .map(|one| one.name.clone());
        let unordered = unordered.collect();
        Texts {
            base: of_base,
            other: of_other,
            caveats,
            unordered,
            incomparable,
            reservations,
            differing,
        }
    }

    /// Why the groups are not compared; none if nothing is against it.
    fn refusal(&self, base: &Repeats, other: &Repeats) -> Option<String> {
        let why = self.incomparable.first()?;
        Some(tr!(first_second_cannot_be, first = base.name(), second = other.name(), why))
    }
}

/// `debian-amd64-6.1.0-56-phase-*`; none of what is no pool, or has a title, or nothing in common
/// but a `*`.
fn name_of_phases(examined: &Examined) -> Option<String> {
    examined.pool.as_ref().filter(|_| examined.recorded.document.run.title.is_none())?;
    let name = examined.path().file_stem()?.to_string_lossy().into_owned();
    Some(name).filter(|name| name != "*")
}

/// Names that distinguish the groups.
fn distinct(base: String, other: String, group: &Repeats) -> (String, String) {
    if base != other {
        return (base, other);
    }
    let path = group
        .recordings
        .first()
        .map(|recorded| recorded.path.display().to_string())
        .unwrap_or_default();
    (base, format!("{other} ({path})"))
}

impl Comparisons {
    /// The largest difference of one group, or how many groups differ; then what else the figures
    /// of one say, and the caveats of the recordings.
    fn headline(&self, each: &[Overview<'_>]) -> Headline {
        let caveats = caveats::banners(each);
        if let [only] = self.all.as_slice() {
            let (sentence, account) = (only.headline(), only.beside_headline());
            return Headline { sentence, account, caveats };
        }
        let first = self.all.first().map_or("", |one| one.texts().base.as_str());
        let count = |is: fn(&Compared) -> bool| self.all.iter().filter(|one| is(one)).count();
        let (n, all) = (count(Compared::differs), count(Compared::is_compared));
        let sentence = if all == 0 {
            format::capitalised(&tr!(too_few_independent_samples))
        } else {
            let others = match self.all.len() - all {
                0 => String::new(),
                others => tr!(n_not_compared, n = others),
            };
            let sentences =
                [tr!(n_of_all_differ, n, all, first), tr!(n_of_all_groups_differ, n, all)];
            fitting(sentences.map(|sentence| sentence + &others))
        };
        Headline { sentence, account: String::new(), caveats }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::Synthetic;

    fn group(name: &str) -> Repeats {
        let mut one = Synthetic::hackbench().build();
        (one.document.run.title, one.path) = (None, "01.teiji".into());
        Repeats {
            recordings: vec![one],
            group: Group::default(),
            called: Some(name.to_owned()),
            runs: Vec::new(),
            identical: 0,
        }
    }

    /// It was `0 of 2 differ significantly`.
    #[test]
    fn groups_that_were_not_compared_are_not_counted_among_those_that_were() {
        let groups = ["a", "b", "c"].map(group);
        let mut comparisons = Comparisons::new(&groups, true, Language::English).unwrap();
        assert_eq!(comparisons.headline(&[]).sentence, "Too few independent samples to compare");
        comparisons.all[0].comparison.quantiles[0].ratio = Ok((0.5, 0.6));
        let said = "1 of 1 differ significantly from a, 1 not compared";
        assert_eq!(comparisons.headline(&[]).sentence, said);
    }

    /// A combination of nothing but a plan's `[measure]` was "01", by its file.
    #[test]
    fn a_group_of_one_goes_by_one_name() {
        let mut other = group("policy=other");
        let texts = Texts::new(&group("settings of [measure]"), &other);
        assert_eq!(
            texts.caveats[..2],
            [
                "settings of [measure] and policy=other: steal time 1.0 % (100 ms) on CPU 1",
                "settings of [measure] and policy=other: clocksource changed from tsc to hpet"
            ]
        );
        // All repeats had one name, which their title is.
        let again = other.recordings[0].clone();
        other.recordings.push(again);
        assert_eq!(
            Texts::new(&group("settings of [measure]"), &other).caveats[0],
            "settings of [measure], policy=other (run 1) and policy=other (run 2): steal time \
             1.0 % (100 ms) on CPU 1"
        );
    }
}
