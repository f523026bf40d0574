// SPDX-License-Identifier: MIT OR Apache-2.0
//! Recordings as people read them.
//!
//! Here live the summary in a terminal, the verdict in one line, the offline HTML page and the SVG files. Both kinds of
//! chart are drawn from the same series, so that they cannot disagree.
//!
//! In: recordings as read back, [`model::Recorded`]. Out: text. Must not touch: files, clocks, the machine; whoever
//! calls knows where the text goes.
#![forbid(unsafe_code)]

mod charts;
mod compare;
mod format;
mod gate;
mod language;
mod matrix;
mod overview;
mod page;
mod report;
mod sections;
mod terminal;
mod threads;
mod warnings;

#[cfg(test)]
#[path = "../examples/synthetic/mod.rs"]
mod synthetic;

pub use charts::options::{AxisScale, ChartOptions, Heights, OverTime};
pub use compare::{Comparisons, Repeats, time_of_groups};
pub use format::{at_most, counted, span};
pub use gate::{Gate, judged_in_words};
use language::word;
pub use language::{Language, speaking};
pub use matrix::{Matrix, Published, PublishedError, SETTINGS, kernel_arguments, normalised, settings_of};
use model::{LoadEvidence, Recorded};
use overview::Overview;
pub use overview::cut_short;
pub use report::Report;
pub use sections::claims::Claims;
use sections::{caveats, lab};
pub use terminal::paint::Paint;
pub use terminal::plan_length::plan_length;
use terminal::text;
pub use threads::{Figure, threads_csv, threads_markdown};
pub use warnings::{NextStep, WarningText, warning_text};

/// What `teiji measure` ends with and `teiji show` prints again: the verdict first, within 80 columns unless a figure is longer.
#[must_use]
pub fn terminal_summary(recorded: &Recorded, paint: Paint) -> String {
    terminal::summary(&Overview::of(recorded), paint)
}

/// What `teiji show` adds to that: the histogram, and the confidence intervals and tail, by thread.
#[must_use]
pub fn terminal_claims(recorded: &Recorded, claims: &[Claims]) -> String {
    terminal::claims(&Overview::of(recorded), claims)
}

/// What `teiji lab run` ends with: recordings below one another, a line each.
#[must_use]
pub fn side_by_side(recordings: &[Recorded]) -> String {
    terminal::side_by_side::table(recordings)
}

/// What the ns of a recording from the lab are, to be shown with any figure of it; none for a real machine.
#[must_use]
pub fn what_time_is(recorded: &Recorded) -> Option<String> {
    let mut out = String::new();
    recorded.document.lab.as_ref().map(|lab| text::wrapped(&mut out, "", &lab::time_of(lab)))?;
    Some(out)
}

/// What `teiji load` ends with: what each load reached, on each of its CPUs.
#[must_use]
pub fn load_table(loads: &[LoadEvidence]) -> String {
    terminal::load_table::table(loads)
}

/// One line with the one figure, and with its caveats: no real-time rights, a run cut short, lost samples.
#[must_use]
pub fn verdict(recordings: &[Recorded]) -> String {
    sections::verdict::verdict(&Overview::of_all(recordings))
}

/// The same of one recording among many, each of which need not say again what the ns of the lab are.
#[must_use]
pub fn verdict_of_one(recorded: &Recorded) -> String {
    sections::verdict::without_lab(&[Overview::of(recorded)])
}

/// What a run's figures must not be read without, in a few letters each: `cut short, steal 26.3 %`; none where nothing is
/// amiss.
#[must_use]
pub fn caveats(document: &model::Document) -> Option<String> {
    let short = caveats::in_short(document);
    (!short.is_empty()).then(|| short.join(word(", ")))
}
