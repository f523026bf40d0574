// SPDX-License-Identifier: MIT OR Apache-2.0
//! Phases of a run in the lab, as `teiji lab run --phases` ends with them: figures of all of them
//! together, the range of their maxima, and the worst with the command that makes it again.

use crate::format::{capitalised, counted, exact_micros};
use crate::language::{Language, in_language, texts, tr};
use crate::overview::Overview;
use crate::sections::inference::{self, Inference};
use crate::sections::latencies::{Figure, MANY};
use crate::terminal::side_by_side;
use crate::terminal::text::wrapped;
use judge::{PhaseMaxima, PhaseMaximum};
use model::{Examined, Quantity, Recorded};
use serde_json::{Value, json};
use stats::{Analysis, QuantileInterval};
use std::path::{Path, PathBuf};

pub struct Phases<'p> {
    /// What the run is called.
    pub name: String,
    pub examined: &'p Examined,
    /// The command that makes the worst one again.
    pub again: String,
}

impl<'p> Phases<'p> {
    /// Phases that are judged together; `again` is the command that makes one again, by its
    /// recording.
    pub fn new(
        name: String,
        examined: &'p Examined,
        again: impl FnOnce(&Recorded) -> String,
    ) -> Self {
        let again = again(&examined.recorded);
        Phases { name, examined, again }
    }

    fn recordings(&self) -> Vec<&'p Recorded> {
        self.examined.recordings().collect()
    }

    fn maxima(&self) -> PhaseMaxima {
        PhaseMaxima::new(self.recordings())
    }

    /// `95 % confidence intervals p50 4.29–4.31, p99 14.8–15.0 µs.`; none of several threads, each
    /// of which has its own.
    fn intervals(&self) -> Option<String> {
        let [only] = analyses(self.examined) else { return None };
        let one = |interval: &QuantileInterval| {
            let (_, ends) = inference::interval(interval);
            (!ends.is_empty()).then(|| format!("{} {ends}", interval.level))
        };
        let intervals: Vec<String> =
            Inference::from_analysis(only).quantiles.iter().filter_map(one).collect();
        (!intervals.is_empty()).then(|| {
            tr!(confidence_95_intervals_us, intervals = intervals.join(texts::comma.said()))
        })
    }

    /// `maxima of 50 phases from 16.12 to 18.65 µs, median 16.4. Worst: phase 17, 18.65 µs. Again:`
    fn sentence(&self) -> Option<String> {
        sentence(&self.maxima())
    }
}

/// The analyses of what the figures are of. Of jitter they are those of its size, and figures have
/// its sign.
fn analyses(examined: &Examined) -> &[Analysis] {
    if examined.recorded.document.probe.quantity == Quantity::Jitter {
        &[]
    } else {
        &examined.analyses
    }
}

/// The range of the maxima of phases, and which is the worst. The command that makes it again
/// follows.
pub(crate) fn sentence(maxima: &PhaseMaxima) -> Option<String> {
    let (worst, [smallest, median, max]) = maxima.worst().zip(maxima.spread())?;
    let [smallest, median, max] = [smallest, median, max].map(exact_micros);
    Some(tr!(
        maxima_phases_from_smallest,
        phases = counted(maxima.of_each.len() as u64, texts::n_phases),
        smallest,
        median,
        max,
        phase = worst.phase
    ))
}

/// The same as a sentence of its own, and the command that makes it again by its recording, of
/// which these are the paths.
pub(crate) fn worst_and_again(maxima: &PhaseMaxima, paths: &[PathBuf]) -> Option<(String, String)> {
    let path = paths[maxima.worst()?.place].display().to_string();
    let again = plan::command_line(&["teiji", "lab", "rerun", &path]);
    Some((capitalised(&sentence(maxima)?), again))
}

/// Several runs in several phases each: a line for each run, its phases together, then the worst
/// phase of each.
pub fn phases(all: &[Phases<'_>], language: Language) -> String {
    in_language(language, || in_text(all))
}

fn in_text(all: &[Phases<'_>]) -> String {
    let pooled: Vec<Overview<'_>> =
        all.iter().map(|one| Overview::of_phases(one.examined, one.name.clone())).collect();
    let each: Vec<Overview<'_>> =
        all.iter().flat_map(Phases::recordings).map(Overview::new).collect();
    let mut out = side_by_side::table_of(&pooled, &each);
    let note = tr!(each_line_all_phases);
    wrapped(&mut out, "", &note);
    for one in all {
        let Some(sentence) = one.sentence() else { continue };
        out.push('\n');
        let sentences =
            one.intervals().map(|intervals| format!("{intervals} {}", capitalised(&sentence)));
        wrapped(&mut out, "", &format!("{}: {}", one.name, sentences.unwrap_or(sentence)));
        // In one piece, to be copied.
        out += &format!("  {}\n", one.again);
    }
    out
}

/// The range of the maxima of one run's phases, and the worst with the command that makes it again;
/// none of a run in one phase.
pub fn worst_phase(one: &Phases<'_>, language: Language) -> Option<String> {
    in_language(language, || {
        let sentence = one.sentence().filter(|_| one.recordings().len() > 1)?;
        Some(format!("  {}\n  {}", capitalised(&sentence), one.again))
    })
}

/// The same for a program. Times are ns.
pub fn phases_json(all: &[Phases<'_>]) -> Value {
    in_language(Language::English, || all.iter().map(one_in_json).collect())
}

fn one_in_json(one: &Phases<'_>) -> Value {
    let overview = Overview::of_phases(one.examined, one.name.clone());
    let (due, recordings, maxima, again) =
        (overview.due(), one.recordings(), one.maxima(), &one.again);
    let counts = &overview.totals.activations;
    let mut phases = maxima_json(&maxima, |place| recordings[place].path.as_path());
    if let Some(one) = maxima.worst() {
        let (thread, activation) = where_worst(recordings[one.place], one.max_ns);
        let worst = &mut phases["worst"];
        (worst["thread"], worst["activation"], worst["command"]) =
            (json!(thread), json!(activation), json!(again));
    }
    let intervals: Vec<Value> =
        analyses(one.examined).iter().enumerate().flat_map(intervals_json).collect();
    let mut object = json!({
        "name": one.name,
        "due": counts.due(),
        "late": counts.late(),
        "skipped": counts.skipped(),
        "lost": counts.lost(),
        "intervals": intervals,
        "phases": phases,
    });
    for figure in MANY {
        let is_bound = matches!(figure, Figure::Quantile(_)) && !due.about().is_empty();
        object[format!("{}_ns", figure.key())] = json!(due.figure(figure).filter(|_| !is_bound));
    }
    object
}

/// The confidence intervals of a thread, ns; an end that the data do not show is null.
fn intervals_json((thread, analysis): (usize, &Analysis)) -> Vec<Value> {
    let one = |interval: &QuantileInterval| {
        json!({
            "thread": thread, "quantile": interval.level.to_string(),
            "observed_ns": interval.observed, "lower_ns": interval.lower,
            "upper_ns": interval.upper,
        })
    };
    Inference::from_analysis(analysis).quantiles.iter().map(one).collect()
}

/// The maxima of phases for a program, ns, each with its recording.
pub(crate) fn maxima_json<'p>(maxima: &PhaseMaxima, path: impl Fn(usize) -> &'p Path) -> Value {
    let one = |one: PhaseMaximum| {
        json!({
            "phase": one.phase,
            "max_ns": one.max_ns,
            "recording": path(one.place),
        })
    };
    let [smallest, median, largest] = maxima.spread().map_or([None; 3], |spread| spread.map(Some));
    json!({
        "count": maxima.of_each.len(),
        "smallest_max_ns": smallest,
        "median_max_ns": median,
        "largest_max_ns": largest,
        "worst": maxima.worst().map(one),
        "of_each": maxima.of_each.iter().copied().map(one).collect::<Vec<_>>(),
    })
}

/// On which thread, and at which of its activations, a recording has its largest latency.
fn where_worst(recorded: &Recorded, max: i64) -> (Option<usize>, Option<u64>) {
    let probe = &recorded.document.probe;
    let found = recorded.threads.iter().enumerate().find_map(|(thread, statistics)| {
        let worst =
            statistics.worst.iter().find(|worst| probe.judged_size(worst.latency_ns) == max)?;
        Some((thread, worst.activation))
    });
    found.unzip()
}

#[cfg(test)]
#[path = "phases_tests.rs"]
mod tests;
