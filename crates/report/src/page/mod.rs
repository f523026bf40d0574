// SPDX-License-Identifier: MIT OR Apache-2.0
//! The offline page: everything in one file, for a browser without a network.

pub(crate) mod chart_set;
pub(crate) mod intervals;
pub(crate) mod limits;
pub(crate) mod localised;
#[cfg(test)]
pub(crate) mod page_tests;
pub(crate) mod page_texts;
pub(crate) mod tables;

use crate::charts::definition::Definition;
use crate::charts::series::Charts;
use crate::charts::words::rarities;
use crate::explained::{self, ExplainedView};
use crate::foreign_text::shown;
use crate::format;
use crate::language::{self, Language, Text, in_language, texts, tr};
use crate::overview::Overview;
use crate::paint::Paint;
use crate::report::Report;
use crate::sections::activity::Activity;
use crate::sections::caveats::Banner;
use crate::sections::co_kernel;
use crate::sections::columns::{self, ColumnRow, Meaning, Measured, Probes};
use crate::sections::conditions::Fact;
use crate::sections::glossary::{self, Word};
use crate::sections::grouped_warnings::GroupedWarning;
use crate::sections::lab;
use crate::sections::latencies::{FEW, Figure, MANY, NOTHING, signs_said};
use crate::sections::loads::{self, LoadRow};
use crate::sections::method::{self, Command, MethodRow};
use crate::sections::rows::Rows;
use crate::sections::verdict::Headline;
use askama::Template;
use chart_set::ChartSet;
use intervals::{RecordingInference, inference_lead, inference_rows};
use limits::LimitsView;
use localised::Localised;
use model::Document;
use page_texts::BigFigure;
use tables::{SummaryRecording, WorstTable};

/// A page stays below this, whatever was recorded.
pub(crate) const MAX_BYTES: usize = 2_000_000;

/// Everything the template shows. Texts are escaped by the template, except those marked `safe` in
/// it: assets, SVG (escaped by its writer) and the data (escaped by [`embedded`]).
#[derive(Template)]
#[template(path = "page.html")]
struct Page<'r> {
    frame: Frame,
    header: Header,
    limits: Option<LimitsView>,
    columns: [Text; MANY.len()],
    summary: Vec<SummaryRecording>,
    rows_left_out: String,
    tall: bool,
    /// Whether something in the table is not known.
    has_unknown: bool,
    approximate: bool,
    /// What the signs of figures that are bounds mean.
    bounds: [Option<&'static str>; 2],
    /// What `as measured` leaves out, where figures are so.
    without_skipped: Option<String>,
    warmup: String,
    /// What latency means here.
    lead: String,
    /// What latencies are called above their columns.
    latency_us: &'static str,
    /// Why tables have no numbers of late and skipped activations, where they have none.
    why_none: Option<&'static str>,
    meanings: Vec<Meaning>,
    further: Vec<ColumnRow>,
    further_figures: [Text; FEW.len()],
    further_left_out: String,
    inferences: Vec<RecordingInference>,
    inference_lead: String,
    drawn: ChartSet,
    worst: Vec<WorstTable>,
    worst_title: &'static str,
    worst_head: [&'static str; 5],
    /// Without samples it is not known when its largest latencies were.
    worst_unknown: bool,
    explained: Vec<ExplainedView>,
    warnings: &'r [GroupedWarning],
    loads: Vec<LoadRow>,
    loads_left_out: String,
    names: Vec<String>,
    facts: &'r [Fact],
    activity: &'r [Activity],
    method: &'r [MethodRow],
    commands: Vec<Command>,
}

/// What every page has around its sections.
pub(crate) struct Frame {
    pub(crate) version: &'static str,
    pub(crate) title: String,
    /// What it says, for whoever lists pages.
    pub(crate) description: String,
    pub(crate) language: &'static str,
    pub(crate) words: Vec<Word>,
    /// What its recordings are of.
    pub(crate) rows: Rows,
    /// The heading of how many there are.
    pub(crate) due: Text,
    /// What its scripts say, by their English.
    pub(crate) scripts: String,
    /// What each chart is, as JSON.
    pub(crate) definition: String,
    pub(crate) css: &'static str,
    pub(crate) uplot_css: &'static str,
    pub(crate) uplot_js: &'static str,
    pub(crate) uplot_licence: &'static str,
    pub(crate) charts_js: &'static str,
    pub(crate) page_js: &'static str,
}

impl Localised for Page<'_> {
    fn frame(&self) -> &Frame {
        &self.frame
    }
}

impl Frame {
    pub(crate) fn new(
        title: &str,
        description: &str,
        measured: Measured,
        probes: &Probes,
    ) -> Frame {
        Frame {
            version: env!("CARGO_PKG_VERSION"),
            title: format!("{title} – teiji"),
            description: description.to_owned(),
            language: language::current_language().tag(),
            words: glossary::words(probes),
            rows: probes.rows(),
            due: probes.due(),
            scripts: embedded(&language::of_scripts()),
            definition: embedded(&Definition::new(measured)),
            css: include_str!("../../assets/page.css"),
            uplot_css: include_str!("../../assets/uPlot.min.css"),
            uplot_js: include_str!("../../assets/uPlot.iife.min.js"),
            uplot_licence: include_str!("../../assets/uPlot.LICENSE"),
            charts_js: include_str!("../../assets/charts.js"),
            page_js: include_str!("../../assets/page.js"),
        }
    }
}

#[derive(Template)]
#[template(path = "page.md")]
struct Markdown<'r> {
    page: Page<'r>,
    pictures: Option<String>,
}

impl Localised for Markdown<'_> {
    fn frame(&self) -> &Frame {
        &self.page.frame
    }
}

/// What every page begins with.
pub(crate) struct Header {
    /// The headline with figures that stay on one line with their units.
    pub(crate) sentence: String,
    /// What became of all that was due.
    pub(crate) account: String,
    pub(crate) figure: Option<BigFigure>,
    /// What was measured, in one line.
    pub(crate) about: String,
    pub(crate) banners: Vec<Banner>,
    /// What the ns of the lab are.
    pub(crate) times: Vec<String>,
}

impl Header {
    pub(crate) fn new(
        headline: Headline,
        figure: Option<BigFigure>,
        about: String,
        times: Vec<String>,
    ) -> Header {
        let Headline { sentence, account, caveats: banners } = headline;
        Header {
            sentence: unbroken(&sentence),
            account: unbroken(&account),
            figure,
            about,
            banners,
            times,
        }
    }
}

/// How much of everything the page holds.
#[derive(Clone, Copy)]
struct SizeBudget {
    steps: usize,
    rows: usize,
}

impl SizeBudget {
    const FULL: SizeBudget = SizeBudget { steps: 24_000, rows: 600 };
}

impl Report<'_> {
    /// One offline page, under 2 MB whatever was recorded: no script, style, font or picture from
    /// anywhere else. When it grows too large it is written again with fewer steps and rows;
    /// extremes stay.
    ///
    /// `command_line` is what the page says it was made by.
    pub fn html(&self, command_line: &str, language: Language) -> String {
        in_language(language, || {
            let mut budget = SizeBudget::FULL;
            loop {
                let page = rendered(&Page::new(self, command_line, budget));
                if page.len() < MAX_BYTES || budget.steps < 64 {
                    return page;
                }
                budget = SizeBudget { steps: budget.steps / 2, rows: (budget.rows / 2).max(16) };
            }
        })
    }

    /// The same content as Markdown, for an issue or a wiki. `pictures` is where the files of
    /// [`Report::svg_charts`] lie, as a link says it.
    pub fn markdown(
        &self,
        command_line: &str,
        pictures: Option<&str>,
        language: Language,
    ) -> String {
        in_language(language, || {
            let page = Page::new(self, command_line, SizeBudget::FULL);
            rendered(&Markdown { page, pictures: pictures.map(str::to_owned) })
        })
    }
}

impl<'r> Page<'r> {
    /// As much of a report as the budget allows.
    fn new(report: &'r Report<'_>, command_line: &str, budget: SizeBudget) -> Page<'r> {
        let all = report.charted.as_slice();
        let (texts, more) = (report.texts(), report.page_texts());
        let series = Charts::new(all, report.options, budget.steps);
        let (summary, rows_left_out) = tables::summary(all, budget.rows);
        let (further, further_left_out) = columns::rows(all, budget.rows);
        let (loads, loads_left_out) = loads::loads(named_documents(all), budget.rows);
        let title = all
            .first()
            .map_or_else(|| texts::no_recording.said(), |overview| overview.name.as_str());
        let probes = Probes::from_overviews(all);
        let inferences = inference_rows(all, budget.rows);
        let figures = || summary.iter().flat_map(|one| &one.rows).flat_map(|row| &row.figures);
        let counts = summary.iter().flat_map(|one| &one.rows).flat_map(|row| &row.accounts);
        let mut cells = figures().map(|cell| &cell.text).chain(counts.map(|one| &one.text));
        let has_unknown = cells.any(|text| text == NOTHING);
        let bounds = signs_said(figures().map(|cell| cell.text.as_str()));
        let approximate = figures().any(|cell| cell.text.starts_with('~'))
            || all.iter().flat_map(|one| rarities(one)).any(|rarity| !rarity.is_exact);
        Page {
            frame: Frame::new(title, &texts.headline.in_words(), series.measured, &probes),
            header: Header::new(
                texts.headline.clone(),
                more.figure.clone(),
                about(all, report.recorded),
                lab::times(all),
            ),
            limits: LimitsView::from_gate(&report.options.gate),
            columns: MANY.map(Figure::name),
            tall: summary.iter().map(|recording| recording.rows.len()).sum::<usize>() > 40,
            summary,
            rows_left_out: left_out(rows_left_out, |n| {
                tr!(not_shown_threads_none, threads = format::counted(n as u64, texts::n_threads))
            }),
            has_unknown,
            approximate,
            bounds,
            without_skipped: all
                .iter()
                .any(Overview::has_skipped)
                .then(|| probes.without_skipped()),
            warmup: method::warmup(all),
            lead: columns::lead(all),
            latency_us: series.measured.latency_us().said(),
            why_none: all.iter().find_map(|overview| overview.totals.activations.why_none()),
            meanings: columns::meanings(all),
            further,
            further_figures: FEW.map(Figure::name),
            further_left_out: left_out(further_left_out, |n| {
                tr!(not_shown_rows, rows = format::counted(n as u64, texts::n_rows))
            }),
            inference_lead: inference_lead(all, &inferences),
            inferences,
            drawn: ChartSet::overlaid(&series, all),
            worst: tables::worst(&series, all),
            worst_title: tables::worst_title(series.measured),
            worst_head: tables::worst_head(series.measured),
            worst_unknown: all.iter().any(|one| !judge::knows_order(one.document())),
            explained: explained::views(all),
            warnings: &texts.warnings,
            loads,
            loads_left_out: left_out(loads_left_out, |n| {
                tr!(not_listed_loads, loads = format::counted(n as u64, texts::n_loads))
            }),
            names: all.iter().map(|overview| overview.name.clone()).collect(),
            facts: &more.facts,
            activity: &more.activity,
            method: &more.method,
            commands: method::commands(all, command_line),
        }
    }
}

/// The documents of recordings, by their names.
fn named_documents<'a>(all: &'a [Overview<'_>]) -> impl Iterator<Item = (&'a str, &'a Document)> {
    all.iter().map(|overview| (overview.name.as_str(), overview.document()))
}

/// A sentence about what has no room; nothing about nothing.
pub(crate) fn left_out(n: usize, sentence: impl FnOnce(usize) -> String) -> String {
    if n > 0 { sentence(n) } else { String::new() }
}

/// A String takes every character, so that nothing can fail here but the template itself, which the
/// tests render.
pub(crate) fn rendered(page: &impl Template) -> String {
    page.render().unwrap_or_else(|error| {
        format!("<!doctype html><title>teiji</title><p>The page could not be written: {error}")
    })
}

/// Figures stay on one line with their units.
pub(crate) fn unbroken(text: &str) -> String {
    [" ns", " µs", " ms", " s late", " s early", " %"]
        .iter()
        .fold(text.to_owned(), |text, unit| text.replace(unit, &unit.replacen(' ', "\u{a0}", 1)))
}

/// JSON inside a script element: a browser ends the element at `</`, and knows `<!--` there too.
pub(crate) fn embedded(data: &impl serde::Serialize) -> String {
    let text =
        serde_json::to_string(data).unwrap_or_else(|_| "{}".to_owned()).replace('<', "\\u003c");
    shown(&text, Paint::Plain).into_owned()
}

/// The machine and the time, in one line.
fn about(all: &[Overview<'_>], recorded: usize) -> String {
    let mut parts = Vec::new();
    if let Some(first) = all.first() {
        let document = first.document();
        let host = &document.host.before;
        parts.extend(host.hostname.as_deref().map(|name| format::clip(name, 80)));
        parts.extend(host.cpu_model.as_deref().map(|name| format::clip(name, 80)));
        parts
            .extend(host.kernel.as_deref().map(|name| format!("Linux {}", format::clip(name, 80))));
        parts.extend(format::preemption(host).map(|name| format::clip(&name, 80)));
        // Where they differ in it, each recording's name says it.
        if !co_kernel::differ(&all.iter().map(|one| one.document()).collect::<Vec<_>>()) {
            parts.extend(
                co_kernel::of(document).map(|core| format::clip(&format::co_kernel(core), 80)),
            );
        }
        parts.push(document.started_at.replacen('T', " ", 1).replace('Z', " UTC"));
    }
    if all.len() < recorded {
        let n = all.len();
        parts.push(match Measured::from_overviews(all) {
            Measured::WakeUps => tr!(n_recorded_recordings_shown_those, recorded, n),
            Measured::Jitter(_) | Measured::Other | Measured::OfAssumedUnit => {
                tr!(n_recorded_recordings_shown, recorded, n)
            }
        });
    }
    parts.join(" · ")
}
