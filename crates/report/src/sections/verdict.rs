// SPDX-License-Identifier: MIT OR Apache-2.0
//! The headline, for a reader with ten seconds: a figure and its conditions, then what became of
//! all that was due, then the caveats.

use crate::alike::each_once;
use crate::format::{self, capitalised, list};
use crate::language::{Text, filled, texts, tr};
use crate::overview::Overview;
use crate::sections::accounts;
use crate::sections::caveats::{self, Banner};
use crate::sections::co_kernel;
use crate::sections::columns::Measured;
use crate::sections::imported::unstated_unit;
use crate::sections::jitter::{self, Spread};
use crate::sections::lab;
use crate::sections::latencies::Figure;
use crate::sections::missed;
use crate::terminal::text::columns;
use model::{Document, End, TakenBy, Thread};
use plan::{Length, Nanos, Unit};
use std::collections::BTreeSet;

/// Columns of a headline: one line of a wide terminal, two of a narrow one.
const MAX_COLUMNS: usize = 90;
/// More recordings than this are not listed one by one.
const MAX_LISTED: usize = 3;

/// What stands at the top of everything.
#[derive(Clone, Debug)]
pub(crate) struct Headline {
    /// A figure and its conditions, in at most [`MAX_COLUMNS`].
    pub(crate) sentence: String,
    /// What became of all that was due; empty where nothing was.
    pub(crate) account: String,
    /// The worst first.
    pub(crate) caveats: Vec<Banner>,
}

impl Headline {
    pub(crate) fn new(all: &[Overview<'_>]) -> Headline {
        let sentence = sentence(all, &conditions(all));
        Headline { sentence, account: account(all), caveats: caveats::banners(all) }
    }

    /// Where the conditions are said beside it; what the ns are stays.
    pub(crate) fn without_conditions(all: &[Overview<'_>]) -> Headline {
        let least = conditions(all).pop();
        Headline { sentence: sentence(all, least.as_slice()), ..Headline::new(all) }
    }

    /// Without its caveats, as running text.
    pub(crate) fn in_words(&self) -> String {
        let words = format!("{}{} {}", self.sentence, texts::full_stop.said(), self.account);
        words.trim_end().to_owned()
    }
}

/// The first of these, the fullest first, that a headline has room for; where none is short enough,
/// the last without its end.
pub(crate) fn fitting(candidates: impl IntoIterator<Item = String>) -> String {
    let mut last = String::new();
    for candidate in candidates {
        last = candidate.replace(char::is_control, " ");
        if columns(&last) <= MAX_COLUMNS {
            return last;
        }
    }
    let mut clipped = (1..=MAX_COLUMNS).rev().map(|max| format::clip(&last, max));
    clipped.find(|text| columns(text) <= MAX_COLUMNS).unwrap_or_default()
}

/// How each recording is named: by its load where loads differ, otherwise by its name.
pub(crate) fn labels(all: &[Overview<'_>]) -> Vec<String> {
    let conditions: Vec<String> = all.iter().map(Overview::condition).collect();
    let distinct: BTreeSet<&String> = conditions.iter().collect();
    if distinct.len() == all.len() {
        conditions
    } else {
        all.iter().map(|overview| tr!(in_name, name = overview.name)).collect()
    }
}

fn sentence(all: &[Overview<'_>], conditions: &[Vec<String>]) -> String {
    let found = if !all.is_empty() && all.iter().all(jitter::is_judged) {
        Figures::of_intervals(all)
    } else {
        Figures::of_latencies(all)
    };
    let Some(figures) = found else { return fitting([capitalised(&nothing_measured(all))]) };
    let figures = figures.in_words(all.len());
    let with = |conditions: &[String]| {
        figures
            .iter()
            .map(|figure| {
                let parts: Vec<&str> =
                    std::iter::once(figure).chain(conditions).map(String::as_str).collect();
                parts.join(texts::comma.said())
            })
            .collect::<Vec<_>>()
    };
    fitting(conditions.iter().flat_map(|conditions| with(conditions)))
}

/// The figures of recordings, the worst first.
struct Figures {
    /// What they are, around them.
    what: Text,
    /// Each with the name of its recording.
    labelled: Vec<String>,
    /// The worst without that.
    worst: String,
    /// The smallest with it, where that says something.
    best: Option<String>,
    between: &'static str,
    /// Recordings that are none of those.
    left_out: usize,
}

impl Figures {
    fn of_latencies(all: &[Overview<'_>]) -> Option<Figures> {
        let labels = labels(all);
        let mut maxima: Vec<(i64, &str, &Overview<'_>)> = all
            .iter()
            .zip(&labels)
            .filter_map(|(one, label)| Some((one.totals.due_moments.max()?, label.as_str(), one)))
            .collect();
        // Nobody knows where those of an unstated unit would be among the others.
        let has_unit =
            |(_, _, of): &(i64, &str, &Overview<'_>)| unstated_unit(of.document()).is_none();
        let found = maxima.len();
        if maxima.iter().any(has_unit) {
            maxima.retain(has_unit);
        }
        maxima.sort_by_key(|(max, ..)| std::cmp::Reverse(*max));
        let late = |of: &Overview<'_>| {
            let written = |max| late(max, unstated_unit(of.document()));
            of.due().written(Figure::Max, written).unwrap_or_default()
        };
        let (_, _, worst) = maxima.first()?;
        let measured = Measured::from_overviews(all);
        let best = maxima.last().filter(|_| maxima.len() > 1);
        Some(Figures {
            what: measured.pick(texts::worst_wake_up_figure, texts::worst_latency_figure),
            worst: late(worst),
            best: best.map(|(_, label, of)| tr!(max_label_the_best, max = late(of), label)),
            labelled: maxima
                .iter()
                .map(|(_, label, of)| tr!(late_label, late = late(of), label))
                .collect(),
            between: texts::comma.said(),
            left_out: found - maxima.len(),
        })
    }

    /// How much intervals vary, the widest first.
    fn of_intervals(all: &[Overview<'_>]) -> Option<Figures> {
        let labels = labels(all);
        let mut spreads: Vec<(Spread, &str)> = all
            .iter()
            .zip(&labels)
            .filter_map(|(one, label)| Some((Spread::from_overview(one)?, label.as_str())))
            .collect();
        spreads.sort_by_key(|(spread, _)| std::cmp::Reverse(spread.peak_to_peak_ns));
        Some(Figures {
            what: texts::jitter_figure,
            worst: spreads.first()?.0.in_words(),
            best: None,
            labelled: spreads
                .iter()
                .map(|(spread, label)| tr!(spread_label, spread = spread.in_words(), label))
                .collect(),
            between: texts::semicolon.said(),
            left_out: 0,
        })
    }

    /// In words that become fewer.
    fn in_words(&self, recordings: usize) -> Vec<String> {
        let of_all = {
            let ranked = recordings - self.left_out;
            tr!(worst_n_recordings, n = format::count(ranked as u64))
        };
        let worst = || format!("{}{of_all}", self.labelled[0]);
        let figures = match &self.best {
            _ if recordings == 1 => vec![self.worst.clone()],
            Some(best) if recordings > MAX_LISTED => {
                vec![format!("{}{}{best}", worst(), self.between)]
            }
            _ if recordings > MAX_LISTED => Vec::new(),
            _ => vec![self.labelled.join(self.between)],
        };
        let shorter = [worst(), format!("{}{of_all}", self.worst)];
        let shorter = shorter.into_iter().filter(|_| recordings > 1);
        figures
            .into_iter()
            .chain(shorter)
            .map(|figure| filled(self.what, &[("figure", &figure)]))
            .collect()
    }
}

/// `1.24 ms`; a latency below 0 is early. Without a unit where nobody said which it is, but what it
/// is taken for.
pub(crate) fn late(max: i64, unstated_unit: Option<i64>) -> String {
    if let Some(unit_ns) = unstated_unit {
        return tr!(value_of_unknown_unit, value = max / unit_ns);
    }
    if max < 0 { tr!(time_early, time = format::latency(-max)) } else { format::latency(max) }
}

/// What all figures have in common, in words that become fewer: in full, without the names of
/// loads, without loads, and no more than what the ns are.
fn conditions(all: &[Overview<'_>]) -> Vec<Vec<String>> {
    let scheduling = of_all(all, scheduling);
    let time = lab::in_short(all).map(str::to_owned);
    let loads = [
        of_all(all, |overview| Some(overview.load_added())),
        of_all(all, |overview| Some(loads_counted(overview))),
        None,
    ];
    let with =
        |load: Option<String>| scheduling.clone().into_iter().chain(load).chain(time.clone());
    let mut conditions: Vec<Vec<String>> =
        loads.into_iter().map(|load| with(load).collect()).collect();
    conditions.push(time.clone().into_iter().collect());
    conditions
}

/// What is the same of all.
fn of_all(all: &[Overview<'_>], of: impl Fn(&Overview<'_>) -> Option<String>) -> Option<String> {
    let mut values = each_once(all.iter().map(of));
    if values.len() == 1 { values.remove(0) } else { None }
}

/// The scheduling that was granted, and what instead of, on which co-kernel, where this program's
/// threads took the times.
fn scheduling(overview: &Overview<'_>) -> Option<String> {
    let document = overview.document();
    let granted = granted(document);
    let scheduling = caveats::denied(document).or(granted)?;
    Some(match co_kernel::of(document) {
        Some(core) => tr!(scheduling_on_core, scheduling, core = core.name),
        None => scheduling,
    })
}

/// `SCHED_FIFO 90`, where this program's threads took the times.
pub(crate) fn granted(document: &Document) -> Option<String> {
    if document.probe.taken_by() != TakenBy::OwnThreads {
        return None;
    }
    let mut granted = each_once(document.threads.iter().map(Thread::granted));
    let more = granted.len().saturating_sub(1);
    granted.truncate(1);
    granted.extend((more > 0).then(|| tr!(n_more, n = more)));
    (!granted.is_empty()).then(|| list(&granted))
}

fn loads_counted(overview: &Overview<'_>) -> String {
    match overview.document().run.loads.len() {
        0 | 1 => overview.load_added(),
        n => tr!(under_n_loads, n),
    }
}

/// What became of all rows, and how many periods have none.
fn account(all: &[Overview<'_>]) -> String {
    if all.iter().all(|overview| overview.totals.activations.due() == Some(0)) {
        return String::new();
    }
    let accounts = accounts::in_words(all.iter().map(|overview| overview.totals.activations));
    format!("{accounts}{}{}", missed::in_words(all), texts::full_stop.said())
}

/// Where events are recorded only above a threshold, in windows, none of them is a finding.
pub(crate) fn nothing_measured(all: &[Overview<'_>]) -> String {
    if all.is_empty() {
        return tr!(no_recording_was_given);
    }
    let mut found = each_once(all.iter().map(no_gap));
    match found.pop().flatten() {
        Some(no_gap) if found.is_empty() => no_gap,
        _ if all.iter().all(jitter::is_judged) => tr!(no_interval_was_measured),
        _ => tr!(no_latency_was_measured),
    }
}

/// `no gap above 10us was found in 5 windows of 1s`. How many of a run that ended early is not
/// said.
fn no_gap(overview: &Overview<'_>) -> Option<String> {
    let document = overview.document();
    let settings = &document.run.probe_settings;
    let set = |ending: &str| {
        settings.iter().find(|(name, _)| name.ends_with(ending)).map(|(_, value)| value.as_str())
    };
    let (threshold, window) = (set("-threshold")?, set("-window")?);
    let window_ns = Nanos::parse(window, Unit::Microsecond).ok()?.0.max(1);
    match (&document.end, document.run.length) {
        (Some(End::Done), Length::DurationNs(length)) => {
            let windows = (length.0 / window_ns).unsigned_abs();
            let windows = format::counted(windows, texts::n_windows);
            Some(tr!(no_gap_above_threshold_found, threshold, windows, window))
        }
        _ => Some(tr!(no_gap_above_threshold, threshold)),
    }
}

#[cfg(test)]
#[path = "verdict_tests.rs"]
mod tests;
