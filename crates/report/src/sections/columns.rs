// SPDX-License-Identifier: MIT OR Apache-2.0
//! The probe of a recording in words, and the figures of its columns that are not judged.

use crate::alike::grouped;
use crate::format::{capitalised, count, list};
use crate::language::{Text, meaning, texts, tr};
use crate::overview::Overview;
use crate::sections::latencies::{FEW, Latencies, OrNothing, Value};
use crate::sections::rows::Rows;
use crate::sections::time_kind::TimeKind;
use crate::sections::{imported, noise, smis};
use model::{ColumnUnit, Document, ProbeStatement, Quantity, RowKind, Unknown};

/// A further column of one thread.
pub(crate) struct ColumnRow {
    pub(crate) recording: String,
    /// Its name and unit: `done, µs`.
    pub(crate) name: String,
    pub(crate) thread: usize,
    pub(crate) figures: [String; FEW.len()],
}

/// What a column says of itself.
pub(crate) struct Meaning {
    pub(crate) name: String,
    pub(crate) meaning: String,
}

/// `cyclic`, `spawn (method fork)`.
pub(crate) fn probe(document: &Document) -> String {
    imported::unknown_program(document).unwrap_or_else(|| probe_without(document, ""))
}

/// The same without this setting.
pub(crate) fn probe_without(document: &Document, setting: &str) -> String {
    let settings = document.run.probe_settings.iter().filter(|(name, _)| *name != setting);
    let settings: Vec<String> = settings.map(|(name, value)| format!("{name} {value}")).collect();
    let name = &document.probe.name;
    if settings.is_empty() { name.to_string() } else { format!("{name} ({})", settings.join(", ")) }
}

/// Every further column of every thread that is not of names, at most so many rows, and how many
/// rows were left out.
pub(crate) fn rows(all: &[Overview<'_>], max: usize) -> (Vec<ColumnRow>, usize) {
    let mut rows = Vec::new();
    for overview in all {
        let document = overview.document();
        for (thread, beside) in document.threads.iter().zip(&overview.recorded.beside) {
            let columns = document.probe.others().zip(&beside.columns);
            for ((_, column), statistics) in columns.filter(|((_, one), _)| !one.is_of_names()) {
                rows.push(ColumnRow {
                    recording: overview.name.clone(),
                    name: title(&column.name, column.unit),
                    thread: thread.index,
                    figures: figures(
                        &Latencies::measured(statistics),
                        column.unit,
                        overview.time(),
                    ),
                });
            }
        }
    }
    let left_out = rows.len().saturating_sub(max);
    rows.truncate(max);
    (rows, left_out)
}

/// What is judged, and what each further column is; nothing where there is but the one probe that
/// needs no explanation. What is not the same in all recordings is said with the names of those it
/// holds for.
pub(crate) fn meanings(all: &[Overview<'_>]) -> Vec<Meaning> {
    if all.iter().all(|overview| overview.document().probe == ProbeStatement::cyclic()) {
        return Vec::new();
    }
    let found = grouped(all.iter().flat_map(|overview| {
        let probe = &overview.document().probe;
        probe.columns.iter().enumerate().map(|(index, column)| {
            let judged = || judged_name(probe.quantity).to_owned();
            let (name, said) = match index {
                0 => (judged(), judged_meaning(probe)),
                _ => (title(&column.name, column.unit), column.meaning.as_ref()),
            };
            ((name, meaning(said)), &overview.name)
        })
    }));
    let named = |((name, meaning), recordings): ((String, String), Vec<&String>)| {
        let of_all = recordings.len() == all.len();
        let name =
            if of_all { name } else { tr!(name_recordings, name, recordings = list(&recordings)) };
        Meaning { name, meaning }
    };
    let of_gaps = noise::of_each(all).into_iter().chain(smis::of_each(all));
    let of_gaps = of_gaps.map(|(name, meaning)| Meaning { name, meaning });
    found.into_iter().map(named).chain(of_gaps).collect()
}

/// What a judged time is called.
pub(crate) fn judged_name(quantity: Quantity) -> &'static str {
    match quantity {
        Quantity::Latency => texts::latency,
        Quantity::Jitter => texts::jitter,
        Quantity::Interval => texts::interval,
    }
    .said()
}

/// What a probe judges, in English. Of wake-ups it is the measuring point: what they have in common
/// does not tell those of a co-kernel, or by another call, from others.
fn judged_meaning(probe: &ProbeStatement) -> &str {
    let judged = probe.columns.first().map_or("", |column| column.meaning.as_ref());
    if judged == ProbeStatement::UNTIL_IT_RUNS { &probe.measuring_point } else { judged }
}

/// The name of a probe, and what it judges, in English.
fn named(probe: &ProbeStatement) -> (String, String) {
    (probe.name.to_string(), judged_meaning(probe).to_owned())
}

/// The probes of recordings, as far as words depend on them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Probes {
    rows: Option<Rows>,
    /// Whether any of them has activations.
    has_activations: bool,
    /// Whether of any more is inferred than figures: not of another program's histogram.
    has_inferences: bool,
    /// Whether of any it is known how many were measured, and not how many were due.
    has_undue: bool,
    /// What they judge, each once.
    quantities: Vec<Quantity>,
    /// The name of each, and what it judges, in English.
    judged: Vec<(String, String)>,
    /// The names of those of which skipped rows are counted in, and of the others, of which they
    /// have no value.
    counting_skipped: [Vec<String>; 2],
    /// Of outputs without a unit, which one was taken, each once.
    units_assumed: Vec<String>,
}

impl Probes {
    /// Those of these recordings.
    pub(crate) fn from_overviews(all: &[Overview<'_>]) -> Probes {
        let mut probes = Probes::default();
        all.iter().for_each(|overview| probes.add(overview.document()));
        probes
    }

    pub(crate) fn add(&mut self, document: &Document) {
        let probe = &document.probe;
        let unit = imported::unit_assumed(document);
        self.units_assumed.extend(unit.filter(|unit| !self.units_assumed.contains(unit)));
        self.rows = self.rows.into_iter().chain([probe.rows.into()]).reduce(Rows::and);
        self.has_activations |= probe.rows == RowKind::Activations;
        self.has_inferences |= document.imported.is_none() || judge::knows_order(document);
        self.has_undue |= probe.is_imported() && probe.rows != RowKind::Events;
        if !self.quantities.contains(&probe.quantity) {
            self.quantities.push(probe.quantity);
        }
        let one = named(probe);
        let names = &mut self.counting_skipped[usize::from(!probe.judges_overruns())];
        if !names.contains(&one.0) {
            names.push(one.0.clone());
        }
        if !self.judged.contains(&one) {
            self.judged.push(one);
        }
    }

    /// Of which rows a table's latencies are, of which some may be counted in that were skipped.
    pub(crate) fn population(&self, has_skipped: bool) -> String {
        let name = |quantity: &Quantity| match quantity {
            Quantity::Latency => texts::latencies.said(),
            Quantity::Jitter => texts::jitter.said(),
            Quantity::Interval => texts::intervals.said(),
        };
        // What nothing is recorded of would be latencies.
        let judged =
            if self.quantities.is_empty() { &[Quantity::Latency] } else { &self.quantities[..] };
        let what = capitalised(&list(&judged.iter().map(name).collect::<Vec<_>>()));
        let population = match &self.counting_skipped {
            _ if !has_skipped => tr!(latencies_in_us_measured, what),
            [_, as_measured] if as_measured.is_empty() => tr!(latencies_in_us_skipped, what),
            [with_skipped, as_measured] => tr!(
                latencies_in_us_of_each,
                what,
                with_skipped = list(with_skipped),
                as_measured = list(as_measured)
            ),
        };
        with_units(population, &self.units_assumed)
    }

    /// What `as measured` leaves out that other figures count in.
    pub(crate) fn without_skipped(&self) -> String {
        match &self.counting_skipped {
            [_, as_measured] if as_measured.is_empty() => tr!(without_skipped_ones_all),
            [with_skipped, _] => tr!(without_skipped_ones_of, probes = list(with_skipped)),
        }
    }

    pub(crate) fn rows(&self) -> Rows {
        self.rows.unwrap_or_default()
    }

    /// The heading of how many there are.
    pub(crate) fn due(&self) -> Text {
        if self.has_undue { texts::measurements } else { self.rows().due() }
    }

    /// Whether the time between two wake-ups is anything that a reader may meet.
    pub(crate) const fn has_activations(&self) -> bool {
        self.has_activations
    }

    /// Whether of any more is inferred than its figures.
    pub(crate) const fn has_inferences(&self) -> bool {
        self.has_inferences
    }

    /// The name of each and what it judges, in the current language; none where all is said of the
    /// one that needs no explanation.
    pub(crate) fn judged(&self) -> Vec<(&str, String)> {
        match self.judged.as_slice() {
            [only] if *only == named(&ProbeStatement::cyclic()) => Vec::new(),
            all => all.iter().map(|(name, judged)| (name.as_str(), meaning(judged))).collect(),
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Measured {
    /// Activations that each woke late or on time, one by one.
    #[default]
    WakeUps,
    /// By how much intervals differ from one period, this many ns.
    Jitter(i64),
    /// Something else: trials, events, or counts of a histogram of which nothing more is known.
    Other,
    /// The same, and some of them have no unit that is known.
    OfAssumedUnit,
}

impl Measured {
    /// What all of these are, if they are one.
    pub(crate) fn from_overviews(all: &[Overview<'_>]) -> Measured {
        Measured::from_documents(all.iter().map(|overview| overview.document()))
    }

    pub(crate) fn from_documents<'d>(all: impl Iterator<Item = &'d Document>) -> Measured {
        all.map(Measured::from_document).reduce(Measured::and).unwrap_or_default()
    }

    fn from_document(document: &Document) -> Measured {
        match (document.probe.quantity, document.probe.period_ns) {
            _ if document.lacks(Unknown::Unit) => Measured::OfAssumedUnit,
            (Quantity::Jitter, Some(period)) if judge::knows_order(document) => {
                Measured::Jitter(period.0)
            }
            (Quantity::Latency, _)
                if document.probe.rows == RowKind::Activations && judge::knows_order(document) =>
            {
                Measured::WakeUps
            }
            _ => Measured::Other,
        }
    }

    /// What two of them are, if they are one.
    pub(crate) fn and(self, other: Measured) -> Measured {
        match (self, other) {
            (Measured::OfAssumedUnit, _) | (_, Measured::OfAssumedUnit) => Measured::OfAssumedUnit,
            _ if self == other => self,
            _ => Measured::Other,
        }
    }

    /// The period that intervals are compared with, ns; 0 where none is drawn.
    pub(crate) const fn period_ns(self) -> i64 {
        match self {
            Measured::Jitter(period) => period,
            Measured::WakeUps | Measured::Other | Measured::OfAssumedUnit => 0,
        }
    }

    /// Whether values lie on both sides of 0, so that no logarithm can be taken.
    pub(crate) const fn is_two_sided(self) -> bool {
        matches!(self, Measured::Jitter(_))
    }

    pub(crate) const fn pick<T: Copy>(self, of_wake_ups: T, of_others: T) -> T {
        match self {
            Measured::WakeUps => of_wake_ups,
            Measured::Jitter(_) | Measured::Other | Measured::OfAssumedUnit => of_others,
        }
    }

    /// What an axis or a column of latencies is called.
    pub(crate) const fn latency_us(self) -> Text {
        match self {
            Measured::OfAssumedUnit => texts::latency_us_assumed,
            _ => texts::latency_us,
        }
    }

    /// The same where the axis is logarithmic.
    pub(crate) const fn latency_us_logarithmic(self) -> Text {
        match self {
            Measured::OfAssumedUnit => texts::latency_us_assumed_logarithmic,
            _ => texts::latency_us_logarithmic,
        }
    }
}

/// What a latency is, in these recordings.
pub(crate) fn lead(all: &[Overview<'_>]) -> String {
    let lead = if matches!(Measured::from_overviews(all), Measured::Jitter(_)) {
        texts::what_called_latency_here.said()
    } else if meanings(all).is_empty() {
        texts::latency_how_long_after.said()
    } else {
        texts::latency_what_recordings_probe.said()
    };
    with_units(lead.to_owned(), &Probes::from_overviews(all).units_assumed)
}

/// A sentence on times in µs, and what that is worth of outputs without a unit.
fn with_units(sentence: String, units_assumed: &[String]) -> String {
    let units = units_assumed.iter().map(|unit| capitalised(unit));
    units.fold(sentence, |sentence, unit| tr!(unit_assumed_sentence, sentence, unit))
}

fn title(name: &str, unit: ColumnUnit) -> String {
    match unit {
        ColumnUnit::Nanoseconds => format!("{}, µs", name.strip_suffix("_ns").unwrap_or(name)),
        ColumnUnit::Count => name.to_owned(),
    }
}

fn figures(of: &Latencies<'_>, unit: ColumnUnit, kind: TimeKind) -> [String; FEW.len()] {
    let text = |value: Value| match (value, unit) {
        (_, ColumnUnit::Nanoseconds) => kind.micros(value.rounded()),
        (Value::Real(mean), ColumnUnit::Count) if mean.abs() < 1_000.0 => format!("{mean:.1}"),
        (_, ColumnUnit::Count) => whole(value.rounded()),
    };
    FEW.map(|figure| of.figure(figure).map(text).or_nothing())
}

fn whole(value: i64) -> String {
    let sign = if value < 0 { "-" } else { "" };
    format!("{sign}{}", count(value.unsigned_abs()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::language::{Language, in_language};
    use crate::synthetic::Synthetic;
    use model::{Beside, Column};
    use stats::{AfterOverrun, Span, summarise};

    #[test]
    fn further_columns_have_their_own_units() {
        let mut recorded = Synthetic::idle().threads(1).build();
        let number = Column {
            name: "number".into(),
            unit: ColumnUnit::Count,
            meaning: "of the event".into(),
        };
        recorded.document.probe.columns = vec![
            Column::ns("exec_ns", "to exec"),
            Column::ns("done_ns", "to the end"),
            number,
            Column::count(Column::ON_CPU, "of the event"),
        ];
        recorded.document.probe.name = "spawn".into();
        recorded.document.run.probe_settings = [("method".to_owned(), "fork".to_owned())].into();
        let of = |values: &[i32]| {
            let Ok(statistics) =
                summarise(&[Span::Woken(values)][..], 1_000_000, AfterOverrun::Unknown, 2);
            statistics
        };
        recorded.beside = vec![Beside {
            columns: vec![of(&[1_500, 2_500]), of(&[1_000, 3_000]), of(&[0, 1])],
            worst_times_ns: Vec::new(),
        }];
        assert_eq!(probe(&recorded.document), "spawn (method fork)");
        let all = Overview::all(std::slice::from_ref(&recorded));
        let (found, left_out) = rows(&all, 10);
        assert_eq!(left_out, 0);
        assert_eq!(
            (found[0].name.as_str(), found[0].figures.join(" ")),
            ("done, µs", "1.5 2.0 1.5 – – 2.5".to_owned())
        );
        assert_eq!(
            (found[1].name.as_str(), found[1].figures.join(" ")),
            ("number", "1,000 2,000 1,000 – – 3,000".to_owned())
        );
        assert_eq!(rows(&all, 1).1, 1);
        assert_eq!(found.len(), 2, "a mean of CPU numbers says nothing");
        let output: Vec<String> = meanings(&all)
            .into_iter()
            .map(|one| format!("{}: {}", one.name, one.meaning))
            .collect();
        let of_columns = ["done, µs: to the end", "number: of the event", "on_cpu: of the event"];
        assert_eq!(output[0], "latency: to exec");
        assert_eq!(output[1..], of_columns);
    }

    /// What the two have in common was said of both.
    #[test]
    fn wake_ups_of_a_co_kernel_have_their_measuring_point() {
        let mut on_core = Synthetic::idle().title("core").build();
        on_core.document.probe.name = "cobalt".into();
        on_core.document.probe.measuring_point =
            "from the absolute time given to Cobalt's clock_nanosleep to the clock read after its \
             return, in user space"
                .into();
        let both = [on_core, Synthetic::idle().title("linux").build()];
        let all = Overview::all(&both);
        let output: Vec<String> = meanings(&all)
            .into_iter()
            .map(|one| format!("{}: {}", one.name, one.meaning))
            .collect();
        let call = |call: &str| {
            format!(
                "from the absolute time given to {call} to the clock read after its return, in \
                 user space"
            )
        };
        assert_eq!(
            output,
            [
                format!("latency (core): {}", call("Cobalt's clock_nanosleep")),
                format!("latency (linux): {}", call("clock_nanosleep")),
            ]
        );
        let japanese = in_language(Language::Japanese, || meanings(&all)[0].meaning.clone());
        assert!(japanese.starts_with("Cobalt の clock_nanosleep に"), "{japanese}");
    }

    #[test]
    fn wake_ups_need_no_explanation() {
        let recorded = Synthetic::idle().build();
        let all = Overview::all(std::slice::from_ref(&recorded));
        assert!(meanings(&all).is_empty() && rows(&all, 10).0.is_empty());
    }
}
