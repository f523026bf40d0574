// SPDX-License-Identifier: MIT OR Apache-2.0
//! The table of a plan's results as people read it: in a terminal, in Markdown, and in the page.

use super::Matrix;
use super::cell_stats::{CellStats, CellThread, beside, parts};
use super::published::PublishedRun;
use crate::format::{clip, count, counted};
use crate::language::{Language, Text, in_language, texts, tr};
use crate::page::localised::markdown;
use crate::paint::Paint;
use crate::sections::latencies::{Figure, NOTHING, OrNothing, signs_said};
use crate::sections::noise;
use crate::terminal::head;
use crate::terminal::text::{WIDTH, aligned, aligned_width, columns, unwrapped, wrapped};
use judge::Verdict;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::Arc;

/// The names of our figures.
const OURS: [Text; 18] = [
    texts::caveats,
    texts::thread,
    texts::runs,
    texts::n,
    texts::min,
    texts::mean,
    texts::standard_deviation_short,
    texts::peak_to_peak,
    texts::p50,
    texts::p99,
    texts::p99_9,
    texts::p99_99,
    texts::max,
    texts::max_of_runs,
    texts::noise_percent,
    texts::late,
    texts::skipped,
    texts::load_percent,
];
/// The names of what others have published; the last is a reference.
const THEIRS: [Text; 6] = [
    texts::their_min,
    texts::their_mean,
    texts::their_sd,
    texts::their_max,
    texts::their_late,
    texts::source,
];

/// Figures that a terminal gives up, one after the other, until the table fits it.
const GIVEN_UP: [Text; 14] = [
    texts::their_sd,
    texts::their_min,
    texts::their_mean,
    texts::p99_99,
    texts::standard_deviation_short,
    texts::min,
    texts::max_of_runs,
    texts::mean,
    texts::n,
    texts::runs,
    texts::load_percent,
    texts::p50,
    texts::p99_9,
    texts::skipped,
];
/// What it gives up where that is not enough, once texts have lost their ends.
const GIVEN_UP_LAST: [Text; 3] = [texts::caveats, texts::their_late, texts::late];
/// Columns that a text keeps in a table that is too wide.
const MIN_TEXT: usize = 16;

/// What stands in a table that a note has to explain.
#[derive(Clone, Copy)]
pub(super) struct Signs {
    /// The column of each run's maximum.
    pub(super) max_of_runs: bool,
    /// `~`, of a figure that is not the observed one.
    pub(super) about: bool,
    /// What those of bounds mean, `≤` and `≥`.
    pub(super) bounds: [Option<&'static str>; 2],
}

impl Signs {
    /// Those of a heading and lines of which so many columns, the first, are texts.
    pub(super) fn in_lines(lines: &[Vec<String>], texts: usize) -> Signs {
        let max_of_runs = texts::max_of_runs.said();
        let figures = || lines.iter().flat_map(|line| &line[texts..]);
        Signs {
            max_of_runs: figures().any(|cell| cell == max_of_runs),
            about: figures().any(|cell| cell.starts_with('~')),
            bounds: signs_said(figures().map(String::as_str)),
        }
    }
}

/// The table, cell by cell.
pub(super) struct Table {
    pub(super) head: Vec<Column>,
    /// Columns of factors, read from the left; figures are read from the point.
    pub(super) factors: usize,
    pub(super) lines: Vec<Line>,
    /// What the references of the last column stand for.
    pub(super) references: Vec<String>,
    /// Published figures that match a combination, of how many.
    published: Option<(usize, usize)>,
}

/// As much of a table as a terminal shows.
struct InTerminal<'t> {
    /// Its heading first.
    lines: Vec<Vec<String>>,
    /// How many columns, the first, are read from the left.
    texts: usize,
    /// `interval=1ms`, of factors that are the same in all lines.
    alike: Vec<String>,
    left_out: Vec<&'t str>,
    /// Whether there is room for it, and its lines still have factors of their own.
    is_within_room: bool,
}

/// A column's heading.
pub(super) struct Column {
    pub(super) name: String,
    /// The figure that stands there; none for a factor.
    pub(super) figure: Option<Text>,
}

impl Column {
    fn figure_column(name: Text) -> Self {
        Column { name: name.said().to_owned(), figure: Some(name) }
    }

    fn factor_column(name: &str) -> Self {
        // What comes from outside cannot move a cursor or break a line.
        Column { name: name.replace(char::is_control, " "), figure: None }
    }
}

/// One line; where others have measured a row more than once, it has more lines than one.
pub(super) struct Line {
    pub(super) row: usize,
    pub(super) cells: Vec<String>,
}

impl Table {
    pub(super) fn new(matrix: &Matrix) -> Table {
        let mut head: Vec<Column> =
            matrix.factors.iter().map(|factor| Column::factor_column(&factor.name)).collect();
        head.extend(OURS.map(Column::figure_column));
        head.extend((!matrix.limits.is_empty()).then(|| Column::figure_column(texts::beyond)));
        let ours = head.len();
        if matrix.published.is_some() {
            head.extend(THEIRS.map(Column::figure_column));
        }
        let mut table = Table {
            head,
            factors: matrix.factors.len(),
            lines: Vec::new(),
            references: Vec::new(),
            published: None,
        };
        let mut matched = BTreeSet::new();
        let whole = matrix.rows.iter().all(|row| row.runs == 1);
        for (place, row) in matrix.rows.iter().enumerate() {
            for part in parts(row) {
                let mut cells = ours_of(matrix, row, part, whole);
                let Some(published) = &matrix.published else {
                    table.lines.push(Line { row: place, cells });
                    continue;
                };
                let theirs = beside(row, part, published);
                matched.extend(theirs.iter().map(|run| run.place));
                for run in &theirs {
                    cells.resize(ours, String::new());
                    cells.extend(table.theirs(run));
                    table.lines.push(Line { row: place, cells: std::mem::take(&mut cells) });
                }
                if theirs.is_empty() {
                    cells.extend(THEIRS.map(|_| NOTHING.to_owned()));
                    table.lines.push(Line { row: place, cells });
                }
            }
        }
        // What comes from outside cannot move a cursor or break a line.
        let cells = table.lines.iter_mut().flat_map(|line| &mut line.cells);
        cells
            .filter(|cell| cell.contains(char::is_control))
            .for_each(|cell| *cell = cell.replace(char::is_control, " "));
        table.published =
            matrix.published.as_ref().map(|published| (matched.len(), published.len()));
        table
    }

    fn theirs(&mut self, run: &Arc<PublishedRun>) -> [String; THEIRS.len()] {
        let [min, mean, sd, max] = [&run.min, &run.mean, &run.sd, &run.max]
            .map(|time| time.as_ref().map(|time| time.us.clone()).or_nothing());
        let overruns = run.overruns.map(count).or_nothing();
        [min, mean, sd, max, overruns, format!("[{}]", self.reference(run))]
    }

    /// The number of a source, from 1.
    fn reference(&mut self, run: &PublishedRun) -> usize {
        let mut parts = vec![
            run.source.clone(),
            run.hardware.clone(),
            format!("Linux {}", run.kernel),
            run.thread(),
        ];
        parts.extend(run.samples.map(|samples| tr!(n_wake_ups, n = count(samples))));
        parts.extend(Some(run.note.clone()).filter(|note| !note.is_empty()));
        let text = parts.join("; ");
        let known = self.references.iter().position(|known| *known == text).unwrap_or_else(|| {
            self.references.push(text);
            self.references.len() - 1
        });
        known + 1
    }

    pub(super) fn is_text(&self, column: usize) -> bool {
        matches!(self.head[column].figure, None | Some(texts::caveats | texts::thread))
    }

    /// The heading and the lines, of these columns; and how many of them, the first, are read from
    /// the left.
    fn shown(&self, columns: &[usize]) -> (Vec<Vec<String>>, usize) {
        let head = columns.iter().map(|column| self.head[*column].name.clone()).collect();
        let line = |line: &Line| columns.iter().map(|column| line.cells[*column].clone()).collect();
        let lines = std::iter::once(head).chain(self.lines.iter().map(line)).collect();
        (lines, columns.iter().filter(|column| self.is_text(**column)).count())
    }

    /// How many lines these columns distinguish.
    fn different(&self, columns: &[usize]) -> usize {
        let values = |line: &'_ Line| {
            columns.iter().map(|column| line.cells[*column].clone()).collect::<Vec<_>>()
        };
        self.lines.iter().map(values).collect::<BTreeSet<_>>().len()
    }

    /// The same with a number in the place of all factors, of which a list says what it stands for.
    fn numbered(&self) -> Table {
        let number = |line: &Line, before: Option<&Line>| {
            let is_first = before.is_none_or(|before| before.row != line.row);
            if is_first { (line.row + 1).to_string() } else { String::new() }
        };
        let before = std::iter::once(None).chain(self.lines.iter().map(Some));
        let line = |(line, before): (&Line, Option<&Line>)| {
            let figures = line.cells[self.factors..].iter().cloned();
            Line {
                row: line.row,
                cells: std::iter::once(number(line, before)).chain(figures).collect(),
            }
        };
        let figures = self.head.iter().filter_map(|column| column.figure);
        let head = std::iter::once(Column::factor_column("#"));
        Table {
            head: head.chain(figures.map(Column::figure_column)).collect(),
            factors: 1,
            lines: self.lines.iter().zip(before).map(line).collect(),
            references: self.references.clone(),
            published: self.published,
        }
    }

    /// What a terminal shows of it.
    fn in_terminal(&self) -> InTerminal<'_> {
        let (columns, alike, left_out) = self.shown_in_terminal();
        let (mut lines, texts) = self.shown(&columns);
        let factors = columns.iter().filter(|column| **column < self.factors).count();
        let different = |lines: &[Vec<String>]| {
            lines.iter().map(|line| line[..factors].to_vec()).collect::<BTreeSet<_>>().len()
        };
        let all = different(&lines);
        clip_texts(&mut lines, texts);
        let is_within_room = aligned_width(&lines) <= WIDTH && different(&lines) == all;
        InTerminal { lines, texts, alike, left_out, is_within_room }
    }

    fn is_alike(&self, column: usize) -> bool {
        self.lines.iter().all(|line| line.cells[column] == self.lines[0].cells[column])
    }

    /// `interval=1ms`, of a column that is the same in all lines.
    fn value_of_all(&self, column: usize) -> String {
        format!("{}={}", self.head[column].name, self.lines[0].cells[column])
    }

    /// The columns that a terminal has room for; factors that are left out as all combinations have
    /// one value of them, `interval=1ms`; and what else is left out: figures, and then factors that
    /// the others determine, as probes have settings of their own.
    fn shown_in_terminal(&self) -> (Vec<usize>, Vec<String>, Vec<&str>) {
        let mut columns = self.columns();
        let (mut alike, mut left_out) = (Vec::new(), Vec::new());
        let of_figure =
            |figure: &Text| self.head.iter().position(|column| column.figure == Some(*figure));
        let caveats = of_figure(&texts::caveats);
        let alike_in_all = (0..self.factors).chain(caveats).filter(|column| self.is_alike(*column));
        for column in alike_in_all.chain(GIVEN_UP.iter().filter_map(of_figure)) {
            if aligned_width(&self.shown(&columns).0) <= WIDTH {
                break;
            }
            if !columns.contains(&column) {
                continue;
            }
            columns.retain(|shown| *shown != column);
            if column < self.factors || Some(column) == caveats {
                alike.push(self.value_of_all(column));
            } else {
                left_out.push(self.head[column].name.as_str());
            }
        }
        let is_too_wide = |columns: &[usize]| {
            let (mut lines, texts) = self.shown(columns);
            clip_texts(&mut lines, texts);
            aligned_width(&lines) > WIDTH
        };
        let mut factors: Vec<usize> =
            columns.iter().copied().filter(|column| *column < self.factors).collect();
        let all = self.different(&factors);
        for factor in factors.clone().into_iter().rev() {
            let others: Vec<usize> =
                factors.iter().copied().filter(|column| *column != factor).collect();
            if is_too_wide(&columns) && self.different(&others) == all {
                columns.retain(|column| *column != factor);
                left_out.push(self.head[factor].name.as_str());
                factors = others;
            }
        }
        for column in GIVEN_UP_LAST.iter().filter_map(of_figure) {
            if is_too_wide(&columns) && columns.contains(&column) {
                columns.retain(|shown| *shown != column);
                left_out.push(self.head[column].name.as_str());
            }
        }
        (columns, alike, left_out)
    }

    /// Those of all its columns.
    pub(super) fn signs(&self) -> Signs {
        let (lines, texts) = self.shown(&self.columns());
        Signs::in_lines(&lines, texts)
    }

    /// Columns in which something stands; one of nothing says nothing.
    pub(super) fn columns(&self) -> Vec<usize> {
        let empty = |column: &usize| {
            self.lines
                .iter()
                .all(|line| line.cells[*column] == NOTHING || line.cells[*column].is_empty())
        };
        (0..self.head.len()).filter(|column| *column < self.factors || !empty(column)).collect()
    }
}

/// The factors' values and our figures, of one thread or of all. What is true of the whole row
/// stands in its first line. How many runs there are is shown unless it is one each, `whole`.
fn ours_of(
    matrix: &Matrix,
    row: &CellStats,
    part: Option<&CellThread>,
    whole: bool,
) -> Vec<String> {
    let again =
        part.is_some_and(|part| row.threads.first().is_none_or(|first| first.index != part.index));
    let of_row = |text: String| if again { String::new() } else { text };
    let all = part.map_or_else(|| row.figures(), CellThread::figures);
    let figure = |figure| row.in_micros(&all, figure);
    let text = |ns| row.time().micros(ns);
    let spread = all.spread().filter(|_| row.runs > 1).map(|(low, high)| match row.identical {
        same if same + 1 == row.runs => tr!(n_identical, n = row.runs),
        _ => format!("{}–{}", text(low), text(high)),
    });
    let runs = match row.missing {
        0 if whole => NOTHING.to_owned(),
        0 => count(row.runs.into()),
        missing => tr!(n_of_all, n = row.runs, all = row.runs + missing),
    };
    let value = |factor| of_row(matrix.shown_value(row, factor).unwrap_or(NOTHING).to_owned());
    let mut cells: Vec<String> = (0..matrix.factors.len()).map(value).collect();
    let thread = part.map(CellThread::label).or_nothing();
    let caveats = row.in_short().join(texts::comma.said());
    let caveats = if caveats.is_empty() { NOTHING.to_owned() } else { caveats };
    // What found the ring full is in no sum.
    let at_least = if row.samples_lost() > Some(0) { "≥" } else { "" };
    let noise =
        all.noise().map(|percent| format!("{at_least}{}", noise::digits(percent))).or_nothing();
    let figures = [
        of_row(caveats),
        thread,
        of_row(runs),
        all.due.known_count().map(count).or_nothing(),
        figure(Figure::Min),
        figure(Figure::Mean),
        figure(Figure::Sd),
        row.is_of_intervals().then(|| figure(Figure::PeakToPeak)).or_nothing(),
        figure(Figure::P50),
        figure(Figure::P99),
        figure(Figure::P999),
        figure(Figure::P9999),
        figure(Figure::Max),
        spread.or_nothing(),
        noise,
        all.activations.late().map(count).or_nothing(),
        all.activations.skipped().map(count).or_nothing(),
        of_row(reached(row)),
    ];
    let of_no_run = |(figure, cell)| {
        let is_said = matches!(figure, texts::runs | texts::caveats);
        if is_said { cell } else { NOTHING.to_owned() }
    };
    let figures = OURS.into_iter().zip(figures);
    cells.extend(figures.map(|one| if row.runs == 0 { of_no_run(one) } else { one.1 }));
    if !matrix.limits.is_empty() {
        let exceedance = |(limit, verdict): (String, Verdict)| match verdict {
            Verdict::Fail => Some(limit),
            Verdict::NotEnough => Some(format!("{limit}?")),
            Verdict::Pass => None,
        };
        let beyond = matrix.judged(row).filter_map(exceedance).collect::<Vec<_>>().join(" ");
        cells.push(of_row(if beyond.is_empty() { NOTHING.to_owned() } else { beyond }));
    }
    cells
}

/// The CPU use its loads reached.
fn reached(row: &CellStats) -> String {
    let range = |(low, high): &(f64, f64)| {
        let (low, high) = (format!("{low:.1}"), format!("{high:.1}"));
        if low == high { low } else { format!("{low}–{high}") }
    };
    let reached = row.reached.iter().map(range).collect::<Vec<_>>().join(" + ");
    match (reached.as_str(), row.off_target) {
        ("", true) => tr!(off_target),
        ("", false) => NOTHING.to_owned(),
        (reached, true) => tr!(reached_off_target, reached),
        (reached, false) => reached.to_owned(),
    }
}

/// Takes the ends of the widest texts, which are in the first columns, where lines are too wide.
fn clip_texts(lines: &mut [Vec<String>], texts: usize) {
    for _ in 0..texts {
        let over = aligned_width(lines).saturating_sub(WIDTH);
        let width = |column: usize| lines.iter().map(|line| columns(&line[column])).max();
        let widest = (0..texts).map(|column| (width(column).unwrap_or(0), column)).max();
        let Some((width, column)) = widest.filter(|(width, _)| *width > MIN_TEXT && over > 0)
        else {
            return;
        };
        let kept = width.saturating_sub(over).max(MIN_TEXT);
        for line in lines.iter_mut() {
            line[column] = clip(&line[column], kept);
        }
    }
}

impl Matrix {
    /// For a terminal: the headline, then as much of the table as it has room for.
    pub fn text(&self, language: Language) -> String {
        self.painted(Paint::Plain, language)
    }

    /// The same for a terminal that may show colour.
    pub fn painted(&self, paint: Paint, language: Language) -> String {
        in_language(language, || {
            let table = Table::new(self);
            let mut out = String::new();
            if let Some(title) = self.title() {
                wrapped(&mut out, "", &title.replace(char::is_control, " "));
                out.push('\n');
            }
            out += &head::headline(&self.headline(), paint);
            out.push('\n');
            let numbered = table.numbered();
            let fits = |table: &Table| table.in_terminal().is_within_room;
            let is_numbered = !self.varied.is_empty() && !fits(&table) && fits(&numbered);
            let shown = if is_numbered { &numbered } else { &table };
            let InTerminal { lines, texts, mut alike, mut left_out, .. } = shown.in_terminal();
            if is_numbered {
                let of_factors = (0..table.factors).filter(|column| table.is_alike(*column));
                alike.splice(0..0, of_factors.map(|column| table.value_of_all(column)));
            }
            out += &aligned(&lines, texts);
            out.push('\n');
            if is_numbered {
                let named = self.rows.iter().map(|row| self.name(row)).zip(1_usize..);
                named.for_each(|(name, n)| wrapped(&mut out, "  ", &format!("{n}: {name}")));
                out.push('\n');
            }
            if left_out.contains(&texts::caveats.said()) {
                let below = self.caveats_below(self.rows.iter());
                below.iter().for_each(|text| wrapped(&mut out, "", text));
                out.push('\n');
                left_out.retain(|name| *name != texts::caveats.said());
            }
            if !alike.is_empty() {
                let factors = alike.join(texts::comma.said());
                wrapped(&mut out, "", &tr!(all_have_factors, factors));
            }
            if !left_out.is_empty() {
                let columns = left_out.join(texts::comma.said());
                wrapped(&mut out, "", &tr!(columns_not_shown, columns));
            }
            let signs = Signs::in_lines(&lines, texts);
            for note in self.notes(signs).into_iter().chain(table.sources()) {
                wrapped(&mut out, "", &note);
            }
            for (sentence, again) in self.worst_phases() {
                wrapped(&mut out, "", &sentence);
                // In one piece, to be copied.
                unwrapped(&mut out, "  ", &again);
            }
            out
        })
    }

    /// As a table of Markdown, for an issue or a wiki.
    pub fn markdown(&self, language: Language) -> String {
        in_language(language, || {
            let table = Table::new(self);
            let plain = |text: &str| markdown(text);
            let (lines, texts) = table.shown(&table.columns());
            let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
            let mut out =
                self.title().map_or_else(String::new, |title| format!("### {}\n\n", plain(&title)));
            for (place, cells) in lines.iter().enumerate() {
                out += &line(&cells.iter().map(|cell| plain(cell)).collect::<Vec<_>>());
                if place == 0 {
                    let rule = |column| if column < texts { "---" } else { "--:" }.to_owned();
                    out += &line(&(0..cells.len()).map(rule).collect::<Vec<_>>());
                }
            }
            let notes = self.notes_and_phases(Signs::in_lines(&lines, texts));
            for note in notes.into_iter().chain(table.sources()) {
                let _ = write!(out, "\n{}\n", plain(&note));
            }
            out
        })
    }
}

impl Table {
    /// `[1] who, when, on what`; and how many stand there at all.
    pub(super) fn sources(&self) -> impl Iterator<Item = String> + '_ {
        let theirs = |(beside, all): (usize, usize)| {
            tr!(
                beside_all_match_combination,
                beside,
                all = counted(all as u64, texts::n_published_figures)
            )
        };
        let references = self
            .references
            .iter()
            .enumerate()
            .map(|(place, text)| format!("[{}] {text}", place + 1));
        self.published.map(theirs).into_iter().chain(references)
    }
}
