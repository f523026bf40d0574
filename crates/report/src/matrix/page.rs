// SPDX-License-Identifier: MIT OR Apache-2.0
//! The offline page of a plan: every combination in a table and as a heat map, and any of them laid over one another.

use super::Matrix;
use super::circumstances::FactRow;
use super::drawing::{FIGURES, Room};
use super::sheet::Sheet;
use crate::charts;
use crate::format::{self, count, counted};
use crate::method::Command;
use crate::notices::{GroupedWarning, Notice};
use crate::page::{ChartView, Frame, Hero, MOST_BYTES, ThreadChoice, embedded, rendered, unbroken};
use crate::words::Chart;
use askama::Template;

/// Rows of the table that a browser scrolls through with ease.
const MOST_ROWS: usize = 2_000;
/// Bytes of the plan that the page shows.
const LONGEST_PLAN: usize = 20_000;

#[derive(Template)]
#[template(path = "plan.html")]
struct Page {
    frame: Frame,
    headline: String,
    hero: Option<Hero>,
    about: String,
    notices: Vec<Notice>,
    head: Vec<Head>,
    rows: Vec<Row>,
    left_out: usize,
    notes: Vec<String>,
    heat: Option<HeatView>,
    charts: Vec<ChartView>,
    thread_choices: Vec<ThreadChoice>,
    warnings: Vec<GroupedWarning>,
    facts: Vec<FactRow>,
    plan: String,
    commands: Vec<Command>,
    data: String,
    plan_js: &'static str,
}

struct Head {
    name: String,
    is_factor: bool,
}

/// A line of the table.
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
    /// `same` as in the line above, `max`, `bad`, or nothing.
    kind: &'static str,
}

/// The heat map: its picture, and what can be chosen where scripts run.
struct HeatView {
    svg: String,
    figures: Vec<&'static str>,
    factors: Vec<(usize, String)>,
}

impl Matrix {
    /// One offline page, under 2 MB however many runs the plan has. `plan` is the plan as run; `command_line` is what the page
    /// says it was made by.
    #[must_use]
    pub fn html(&self, plan: &str, command_line: &str) -> String {
        let mut room = Room::WHOLE;
        let mut rows = MOST_ROWS;
        loop {
            let page = self.page(plan, command_line, room, rows);
            match room.less() {
                Some(less) if page.len() >= MOST_BYTES => (room, rows) = (less, (rows / 2).max(100)),
                _ => return page,
            }
        }
    }

    fn page(&self, plan: &str, command_line: &str, room: Room, rows: usize) -> String {
        let verdict = self.verdict();
        let sheet = Sheet::new(self);
        let (head, rows, left_out) = self.table(&sheet, rows);
        let views = self.views();
        let page = Page {
            frame: Frame::new(self.title.as_deref().unwrap_or("A plan"), &verdict),
            headline: unbroken(&self.headline()),
            hero: self.hero(),
            about: self.about(),
            notices: self.notices(),
            head,
            rows,
            left_out,
            notes: self.notes().into_iter().chain(sheet.sources()).collect(),
            heat: self.heat_view(),
            charts: views,
            thread_choices: Vec::new(),
            warnings: self.circumstances.warnings(),
            facts: self.circumstances.rows(),
            plan: format::clip(plan, LONGEST_PLAN),
            commands: vec![Command { what: "this page".into(), line: command_line.to_owned() }],
            data: embedded(&self.drawing(room)),
            plan_js: include_str!("../../assets/plan.js"),
        };
        rendered(&page)
    }

    fn hero(&self) -> Option<Hero> {
        let worst = &self.rows[*self.latest_first().first()?];
        let text = format::at_most(worst.moments.max()?);
        let (number, unit) = text.rsplit_once(' ')?;
        Some(Hero {
            number: number.to_owned(),
            unit: unit.to_owned(),
            label: "the worst wake-up of all combinations".to_owned(),
            claim_of: String::new(),
            claim: self.by_first_factor(),
        })
    }

    /// How much was measured, in one line.
    fn about(&self) -> String {
        let runs: u64 = self.rows.iter().map(|row| u64::from(row.runs)).sum();
        let title = self.title.iter().map(|title| format::clip(title, 200));
        let mut parts: Vec<String> = title.collect();
        parts.push(counted(self.rows.len() as u64, "combination"));
        parts.push(counted(runs, "run"));
        parts.extend((self.missing > 0).then(|| format!("{} missing", count(self.missing as u64))));
        parts.join(" · ")
    }

    /// What spoils figures, in few words; the table's notes name each combination.
    fn notices(&self) -> Vec<Notice> {
        let notice = |title, text| Notice { title, text, next_step: String::new(), is_command: false };
        let mut notices: Vec<Notice> = self.times.iter().map(|text| notice("From the lab.", text.clone())).collect();
        let rows = |n: usize| counted(n as u64, "combination");
        let spoiled = self.rows.iter().filter(|row| !row.spoiled.is_empty()).count();
        if spoiled > 0 {
            notices.push(notice("Spoiled figures.", format!("{}: which, and by what, stands below the table.", rows(spoiled))));
        }
        let missed = self.rows.iter().filter(|row| row.missed).count();
        if missed > 0 {
            let text = format!("{}, marked in the table. The figures stand, but not for the load asked for.", rows(missed));
            notices.push(notice("Load missed.", text));
        }
        if self.missing > 0 {
            let text = format!(
                "{} of the plan have no recording. teiji run --resume goes on with them.",
                counted(self.missing as u64, "run")
            );
            notices.push(notice("Not the whole plan.", text));
        }
        notices
    }

    /// Heading and lines; and how many combinations have no line, for want of room.
    fn table(&self, sheet: &Sheet, room: usize) -> (Vec<Head>, Vec<Row>, usize) {
        let columns = sheet.columns();
        let head = columns.iter().map(|column| Head { name: sheet.head[*column].clone(), is_factor: *column < sheet.factors });
        let wanted = self.first_rows(room);
        let varied = self.varied();
        let mut rows: Vec<Row> = Vec::new();
        let mut before: Option<&super::sheet::Line> = None;
        for line in sheet.lines.iter().filter(|line| wanted.contains(&line.row)) {
            let again = before.is_some_and(|before| before.row == line.row);
            // Same as above, in this factor and all before it.
            let same = |column: usize| before.is_some_and(|before| before.cells[..=column] == line.cells[..=column]);
            let begins_group = !again && varied.first().is_some_and(|first| !same(*first));
            let cell = |column: &usize| Cell {
                text: line.cells[*column].clone(),
                is_factor: *column < sheet.factors,
                kind: match sheet.head[*column].as_str() {
                    _ if *column < sheet.factors && same(*column) => "same",
                    "max" => "max",
                    "load, %" if self.rows[line.row].missed => "bad",
                    "overruns" | "skipped" if !matches!(line.cells[*column].as_str(), "0" | "–" | "") => "bad",
                    "beyond" if line.cells[*column] != "–" => "bad",
                    _ => "",
                },
            };
            rows.push(Row {
                row: line.row,
                name: self.rows[line.row].name(&varied),
                can_be_drawn: !again && self.rows[line.row].runs > 0,
                begins_group,
                cells: columns.iter().map(cell).collect(),
            });
            // A second line of a combination has no factors to compare with.
            before = if again { before } else { Some(line) };
        }
        (head.collect(), rows, self.rows.len() - wanted.len())
    }

    fn heat_view(&self) -> Option<HeatView> {
        let factors = self.varied().into_iter().map(|factor| (factor, self.factors[factor].clone())).collect();
        Some(HeatView { svg: self.heat_map()?, figures: FIGURES.iter().map(|figure| figure.name).collect(), factors })
    }

    /// The three charts, with the pictures of what is drawn at first.
    fn views(&self) -> Vec<ChartView> {
        let (charts, overviews) = self.charts(10_000);
        let lead = |chart| match chart {
            Chart::Histogram => "Activations by their latency, in steps of 4.4 %.",
            Chart::Time => {
                "From the smallest to the largest latency of each moment; no extreme is averaged away. Rings are the ten \
                            worst, triangles at the top skipped or lost activations. A panel for each run."
            }
            Chart::Exceedance => "Read across: one in so many activations woke at least so late.",
        };
        let view = |chart: Chart| ChartView {
            id: chart.file(),
            title: chart.title(),
            lead: lead(chart),
            alternative: chart.described(&charts, &overviews),
            svg: charts::draw(chart, &charts, &overviews),
            table: None,
        };
        Chart::ALL.into_iter().map(view).collect()
    }

    /// The charts as files: name and content; of what the page draws at first, of each combination its worst run.
    #[must_use]
    pub fn svg_charts(&self) -> Vec<(String, String)> {
        let (charts, overviews) = self.charts(crate::STEPS_OF_A_FILE);
        let drawn = Chart::ALL.into_iter().map(|chart| (chart.file(), charts::draw(chart, &charts, &overviews)));
        drawn.chain(self.heat_map().map(|svg| ("heat-map", svg))).map(|(name, svg)| (format!("{name}.svg"), svg)).collect()
    }
}
