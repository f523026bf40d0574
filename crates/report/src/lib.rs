// SPDX-License-Identifier: MIT OR Apache-2.0
//! Recordings as people read them.
//!
//! Here live the summary in a terminal, the headline, the offline HTML page, Markdown
//! and the SVG files, of single recordings, plans (`matrix/`), comparisons and what a gate judged;
//! each in the languages of `language/`. Both kinds of chart are drawn from the same series, so
//! that they cannot disagree.
//!
//! In: recordings as read back, [`model::Recorded`], with what [`judge`] found. Out: text, in the
//! language that each function is given; what only programs read (JSON, CSV, JUnit's XML, TAP) is
//! English. Must not touch: files, clocks, the machine; whoever calls knows where the text goes.
#![forbid(unsafe_code)]

mod alike;
mod charts;
mod compare;
mod csv_rows;
mod explained;
mod foreign_text;
mod format;
mod gate;
mod language;
mod matrix;
mod overview;
mod page;
mod paint;
mod phases;
mod report;
mod sections;
mod terminal;
mod threads;
mod warnings;

#[cfg(test)]
#[path = "../examples/synthetic/mod.rs"]
mod synthetic;

pub use charts::options::{AxisScale, ChartOptions, Heights, OverTime};
pub use compare::{Comparisons, Repeats, can_be_compared, refused_with_commands};
pub use csv_rows::csv_cell;
pub use explained::{
    cause_of_latency, compared_causes, explained_text, timeline_svg, watched_text,
};
pub use foreign_text::shown;
pub use format::{counted_in_english, exact_micros, latency};
pub use gate::GateReport;
use judge::Judged;
pub use language::Language;
use language::{in_language, texts, tr};
pub use matrix::{
    AlikeRows, BootsMissing, InForce, Matrix, Published, PublishedError, Resumption, SETTINGS,
    in_force, normalised, settings_of,
};
use model::{Document, Recorded, Warning};
use overview::Overview;
pub use paint::Paint;
pub use phases::{Phases, phases, phases_json, worst_phase};
use plan::Nanos;
pub use report::Report;
pub use sections::inference::Inference;
use sections::verdict::Headline;
use sections::{caveats, ending, lab};
use std::path::Path;
pub use terminal::load_table::load_table;
pub use terminal::plan_length::PlanLength;
pub use terminal::side_by_side::side_by_side;
use terminal::text;
pub use terminal::text::{columns, in_lines};
pub use threads::{OneFigure as Figure, threads_csv, threads_markdown};
pub use warnings::{NextStep, WarningText};

/// What the ns of a recording from the lab are, to be shown with any figure of it; none for a real
/// machine.
pub fn what_time_is(recorded: &Recorded, language: Language) -> Option<String> {
    in_language(language, || {
        let mut out = String::new();
        recorded
            .document
            .lab
            .as_ref()
            .map(|lab| text::wrapped(&mut out, "", &lab::time_of(lab)))?;
        Some(out)
    })
}

/// The headline of one recording among many, whose name says what it was measured under: a line of
/// figures, and where it has caveats one of them, in a few letters each.
pub fn headline_of_one(recorded: &Recorded, language: Language) -> Vec<String> {
    in_language(language, || {
        let figures = Headline::without_conditions(&[Overview::new(recorded)]).in_words();
        let caveats = caveats(&recorded.document, language);
        let caveats = caveats.map(|caveats| tr!(caveats_listed, caveats));
        std::iter::once(figures).chain(caveats).collect()
    })
}

/// What a run's figures must not be read without, in a few letters each: `cut short, steal 26.3 %`;
/// none where nothing is amiss.
pub fn caveats(document: &Document, language: Language) -> Option<String> {
    in_language(language, || {
        let short = caveats::in_short(document);
        (!short.is_empty()).then(|| short.join(texts::comma.said()))
    })
}

/// Whose figures those of an imported recording are, and what its output does not say; none for one
/// that teiji measured.
pub fn imported(document: &Document, language: Language) -> Option<String> {
    in_language(language, || sections::imported::caveat(document))
}

/// Of an output of another program that states no unit, which one its times were read in.
pub fn unit_assumed(document: &Document, language: Language) -> Option<String> {
    in_language(language, || sections::imported::unit_assumed(document))
}

/// Why a recording holds less than was asked for: `stopped early by SIGINT`.
pub fn cut_short(document: &Document, language: Language) -> Option<String> {
    in_language(language, || ending::cut_short(document))
}

/// A warning as sentences.
pub fn warning_text(warning: &Warning, language: Language) -> WarningText {
    in_language(language, || warnings::warning_text(warning))
}

/// Where a page is.
pub fn page_is_in(file: &Path, language: Language) -> String {
    in_language(language, || tr!(report_is_in, file = file.display()))
}

/// What to know of a file before it is sent, and what takes that out of it.
pub fn has_names(without: &str, language: Language) -> String {
    in_language(language, || tr!(file_names_the_machine, without))
}

/// What was seen, how far off the limit, and what is lacking.
pub fn judged_in_words(judged: &Judged, language: Language) -> String {
    in_language(language, || gate::judged_in_words(judged))
}

/// What a ratio does to a figure, between two ends: `31 to 44 % lower`, `between 4 % lower and 12 %
/// higher`.
pub fn change_in_words(lower: f64, upper: f64, language: Language) -> String {
    in_language(language, || gate::change(lower, upper))
}

/// A length of time: `10 s`, `2.5 min`, `3 h`, `34.7 days`.
pub fn span(length: Nanos, language: Language) -> String {
    in_language(language, || format::span(length))
}
