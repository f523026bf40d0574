// SPDX-License-Identifier: MIT OR Apache-2.0
//! The offline page of a plan: every combination in a table and as a heat map, and any of them
//! overlaid.

use super::Matrix;
use super::conditions::FactRow;
use super::drawing::SizeBudget;
use super::heat::FIGURES;
use super::table::Table;
use crate::charts;
use crate::charts::definition::Chart;
use crate::charts::series::Charts;
use crate::foreign_text::shown;
use crate::format::{self, count, counted};
use crate::gate::Tally;
use crate::language::{Language, Text, in_language, texts, tr};
use crate::overview::{self, Overview};
use crate::page::chart_set::{self, ChartSet, ChartView};
use crate::page::intervals::{RecordingInference, inference_lead, inference_rows};
use crate::page::limits::LimitsView;
use crate::page::localised::Localised;
use crate::page::page_texts::BigFigure;
use crate::page::{Frame, Header, MAX_BYTES, left_out, rendered};
use crate::paint::Paint;
use crate::sections::grouped_warnings::GroupedWarning;
use crate::sections::latencies::NOTHING;
use crate::sections::method::{self, Command};
use askama::Template;
use judge::Verdict;

/// Rows of the table that a browser scrolls through with ease.
const MAX_ROWS: usize = 2_000;
/// Rows of inferences: of each run that is drawn at first those of a few threads.
const MAX_INFERENCE_ROWS: usize = 64;
/// Characters of a factor's value in one line.
const MAX_LINE: usize = 32;
/// Characters of the plan that the page shows.
const MAX_PLAN: usize = 20_000;

#[derive(Template)]
#[template(path = "plan.html")]
struct Page {
    frame: Frame,
    header: Header,
    limits: Option<LimitsView>,
    head: Vec<Head>,
    rows: Vec<Row>,
    left_out: String,
    notes: Vec<String>,
    heat: Option<HeatView>,
    inferences: Vec<RecordingInference>,
    inference_lead: String,
    drawn: ChartSet,
    warnings: Vec<GroupedWarning>,
    more_warnings: String,
    facts: Vec<FactRow>,
    plan: String,
    commands: Vec<Command>,
    plan_js: &'static str,
}

impl Localised for Page {
    fn frame(&self) -> &Frame {
        &self.frame
    }
}

#[derive(Template)]
#[template(path = "plan.md")]
struct Markdown {
    page: Page,
    pictures: Option<String>,
}

impl Localised for Markdown {
    fn frame(&self) -> &Frame {
        &self.page.frame
    }
}

impl Markdown {
    /// Lines that cannot end the block they stand in.
    fn fenced(&self, text: &str) -> String {
        shown(text, Paint::Plain).replace("~~~", "~ ~ ~")
    }
}

struct Head {
    name: String,
    is_factor: bool,
}

struct Row {
    row: usize,
    name: String,
    /// Whether it is the first line of its combination, which can be drawn.
    can_be_drawn: bool,
    /// It begins another value of the first factor.
    begins_group: bool,
    cells: Vec<Cell>,
}

struct Cell {
    text: String,
    is_factor: bool,
    /// Longer than a column should be wide.
    is_long: bool,
    /// `same` as in the line above, `max`, `bad`, or nothing.
    kind: &'static str,
}

/// The heat map: its picture, and what can be chosen where scripts run.
struct HeatView {
    /// None: one of the factors has too many values for it.
    svg: Option<String>,
    figures: Vec<Text>,
    factors: Vec<(usize, String)>,
}

impl Matrix {
    /// One offline page, under 2 MB however many runs the plan has. `plan` is the plan as run;
    /// `command_line` is what the page says it was made by.
    pub fn html(&self, plan: &str, command_line: &str, language: Language) -> String {
        in_language(language, || {
            let mut budget = SizeBudget::FULL;
            let mut rows = MAX_ROWS;
            // Pictures are of what is drawn at first, whatever the budget.
            let charts = self.views(10_000, false);
            loop {
                let page = self.page(plan, command_line, charts.clone(), budget, rows);
                match budget.smaller() {
                    Some(smaller) if page.len() >= MAX_BYTES => {
                        (budget, rows) = (smaller, (rows / 2).max(100))
                    }
                    _ => return page,
                }
            }
        })
    }

    /// The same content as Markdown, for an issue or a wiki. `pictures` is where the files of
    /// [`Matrix::svg_charts`] lie, as a link says it.
    pub fn page_as_markdown(
        &self,
        plan: &str,
        command_line: &str,
        pictures: Option<&str>,
        language: Language,
    ) -> String {
        let budget = SizeBudget { rows: 0, curves: 0, runs: 0, steps: 2, equal_bins: 0 };
        in_language(language, || {
            let page = self.content(plan, command_line, self.views(10_000, true), budget, MAX_ROWS);
            rendered(&Markdown { page, pictures: pictures.map(str::to_owned) })
        })
    }

    fn page(
        &self,
        plan: &str,
        command_line: &str,
        charts: Vec<ChartView>,
        budget: SizeBudget,
        rows: usize,
    ) -> String {
        rendered(&self.content(plan, command_line, charts, budget, rows))
    }

    fn content(
        &self,
        plan: &str,
        command_line: &str,
        charts: Vec<ChartView>,
        budget: SizeBudget,
        rows: usize,
    ) -> Page {
        let headline = self.headline();
        let table = Table::new(self);
        let (head, rows, without) = self.table(&table, rows);
        let drawing = self.drawing(budget);
        let inferences = inference_rows(&self.inferred(), MAX_INFERENCE_ROWS);
        Page {
            frame: Frame::new(
                &self.title().unwrap_or_else(|| self.untitled(plan)),
                &headline.in_words(),
                self.measured(),
                &self.probes,
            ),
            // The table's notes have what the ns of the lab are.
            header: Header::new(headline, self.worst_figure(), self.about(), Vec::new()),
            limits: LimitsView::from_gate(&self.options.gate).or_else(|| self.limits_view()),
            head,
            rows,
            left_out: left_out(without, |n| tr!(n_more_combinations_left, n)),
            notes: self
                .notes_and_phases(table.signs())
                .into_iter()
                .chain(table.sources())
                .collect(),
            heat: self.heat_view(),
            inference_lead: inference_lead(&self.worst_runs(), &inferences),
            inferences,
            drawn: ChartSet::new(charts, &drawing.recordings, self.measured(), &drawing),
            warnings: self.conditions.get().warnings(),
            more_warnings: left_out(self.conditions.get().more_warnings(), |n| {
                tr!(more_warnings_each_some, n)
            }),
            facts: self.conditions.get().rows(),
            plan: format::clip(plan, MAX_PLAN),
            commands: method::commands(&[], command_line),
            plan_js: include_str!("../../assets/plan.js"),
        }
    }

    /// What it is called if nothing names it: a folder without a plan holds a recording, phases of
    /// a run, or recordings.
    fn untitled(&self, plan: &str) -> String {
        if !plan.is_empty() {
            return tr!(a_plan);
        }
        match (self.top_runs.as_slice(), self.rows.as_slice()) {
            ([one], [row]) if row.runs == 1 => Overview::new(&one.recorded).name,
            (_, [row]) if row.phases().is_some() => tr!(phases_of_a_run),
            _ => tr!(recordings),
        }
    }

    /// What became of the plan's own limits, in a line: `✗ Fail: 2 of 2 combinations, checked
    /// against 2 limits`. None where nothing was judged.
    pub fn verdict(&self, language: Language) -> Option<String> {
        let line = |view: LimitsView| format!("{} {}", view.sign, view.headline);
        in_language(language, || self.limits_view().map(line))
    }

    /// The same with what was seen, in the worst run of each combination.
    fn limits_view(&self) -> Option<LimitsView> {
        let rows = self.rows.iter().filter(|row| !row.judged.is_empty());
        let verdicts: Vec<Verdict> =
            rows.clone().filter_map(|row| row.judged.iter().map(|one| one.verdict).max()).collect();
        let with = |verdict| verdicts.iter().filter(|one| **one == verdict).count() as u64;
        let tally = Tally {
            all: tr!(
                recordings_checked_against_limits,
                recordings = counted(verdicts.len() as u64, texts::n_combinations),
                limits = counted(self.limits.len() as u64, texts::n_limits)
            ),
            fail: with(Verdict::Fail),
            lack: with(Verdict::NotEnough),
        };
        // What is not recorded cannot pass.
        let unproven = (self.missing() > 0).then_some(Verdict::NotEnough);
        let verdict = verdicts.iter().copied().chain(unproven).max()?;
        let judged = rows.flat_map(|row| row.judged.clone()).collect();
        LimitsView::new(verdict, &tally, self.missing(), judged, Vec::new())
    }

    fn worst_figure(&self) -> Option<BigFigure> {
        let worst = *self.largest_of_first_kind().first()?;
        let label = match self.measured() {
            _ if worst.is_of_intervals() => texts::largest_peak_peak_2,
            measured => measured.pick(texts::the_worst_wake_up, texts::the_largest_latency),
        };
        Some(BigFigure {
            supports_of: format!("{}: ", self.name(worst)),
            supports: overview::supported_rate(&worst.stats.totals),
            ..BigFigure::of_latency(
                &worst.figures().due,
                worst.ranked_by(),
                worst.unstated_unit,
                label.said().to_owned(),
            )?
        })
    }

    /// How much was measured, in one line.
    fn about(&self) -> String {
        let runs: u64 = self.rows.iter().map(|row| u64::from(row.runs)).sum();
        let title = self.title().map(|title| format::clip(&title, 200));
        let mut parts: Vec<String> = title.into_iter().collect();
        parts.push(counted(self.rows.len() as u64, texts::n_combinations));
        let identical: u64 = self.rows.iter().map(|row| u64::from(row.identical)).sum();
        let again = if identical > 0 {
            tr!(n_them_identical_another, n = count(identical))
        } else {
            String::new()
        };
        parts.push(format!("{}{again}", counted(runs, texts::n_runs)));
        parts.extend((self.missing() > 0).then(|| tr!(n_missing, n = count(self.missing()))));
        parts.extend(self.by_first_factor());
        parts.join(" · ")
    }

    /// Heading and lines; and how many combinations have no line, for want of room.
    fn table(&self, table: &Table, max_rows: usize) -> (Vec<Head>, Vec<Row>, usize) {
        let columns = table.columns();
        let head = columns.iter().map(|column| Head {
            name: table.head[*column].name.clone(),
            is_factor: table.is_text(*column),
        });
        let shown = self.first_rows(max_rows);
        let mut rows: Vec<Row> = Vec::new();
        let mut before: Option<&super::table::Line> = None;
        for line in table.lines.iter().filter(|line| shown.contains(&line.row)) {
            let again = before.is_some_and(|before| before.row == line.row);
            // Same as above, in this factor and all before it.
            let same = |column: usize| {
                before.is_some_and(|before| before.cells[..=column] == line.cells[..=column])
            };
            let begins_group = !again && self.varied.first().is_some_and(|first| !same(*first));
            let cell = |column: &usize| Cell {
                text: line.cells[*column].clone(),
                is_long: line.cells[*column].chars().count() > MAX_LINE,
                is_factor: table.is_text(*column),
                kind: match (table.head[*column].figure, line.cells[*column].as_str()) {
                    (None, _) if same(*column) => "same",
                    (Some(texts::max), _) => "max",
                    // A second line of a combination says nothing again.
                    (_, "0" | NOTHING | "") => "",
                    (Some(texts::load_percent), _) if self.rows[line.row].off_target => "bad",
                    (Some(texts::caveats | texts::late | texts::skipped | texts::beyond), _) => {
                        "bad"
                    }
                    _ => "",
                },
            };
            rows.push(Row {
                row: line.row,
                name: self.name(&self.rows[line.row]),
                can_be_drawn: !again && self.rows[line.row].runs > 0,
                begins_group,
                cells: columns.iter().map(cell).collect(),
            });
            // A second line of a combination has no factors to compare with.
            before = if again { before } else { Some(line) };
        }
        (head.collect(), rows, self.rows.len() - shown.len())
    }

    fn heat_view(&self) -> Option<HeatView> {
        let factors: Vec<(usize, String)> = self
            .varied
            .iter()
            .map(|factor| (*factor, self.factors[*factor].name.clone()))
            .collect();
        let figures = FIGURES.iter().map(|figure| figure.name).collect();
        (factors.len() > 1).then(|| HeatView { svg: self.heat_map(), figures, factors })
    }

    /// The three charts of what is drawn at first: distributions of all repeats, over time the
    /// worst run. With the figures behind them where nothing else can be chosen.
    fn views(&self, steps: usize, fixed: bool) -> Vec<ChartView> {
        let view = |chart: Chart| {
            let over_time = chart == Chart::Time;
            let all = if over_time { self.worst_runs() } else { self.selected_pooled() };
            let series = Charts::new(&all, &self.options, steps);
            let panels = if over_time { texts::panel_for_each_run.said() } else { "" };
            ChartView {
                id: chart.file(),
                title: chart.title_of(self.measured()),
                lead: format!("{}{panels}", chart_set::lead(chart, &series, &all)),
                alternative: chart.described(&series, &all),
                svg: Some(charts::draw(chart, &series, &all)),
                table: fixed.then(|| chart_set::table(chart, &series, &all)),
            }
        };
        // Nothing has no axes.
        if self.selected().is_empty() {
            Vec::new()
        } else {
            Chart::ALL.into_iter().map(view).collect()
        }
    }

    /// The charts as files: name and content; of what the page draws at first, over time of each
    /// combination its worst run.
    pub fn svg_charts(&self, language: Language) -> Vec<(String, String)> {
        in_language(language, || {
            let drawn = self
                .views(charts::plot::STEPS_OF_A_FILE, false)
                .into_iter()
                .filter_map(|view| Some((view.id, view.svg?)));
            drawn
                .chain(self.heat_map().map(|svg| ("heat-map", svg)))
                .map(|(name, svg)| (format!("{name}.svg"), svg))
                .collect()
        })
    }
}
