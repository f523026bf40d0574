// SPDX-License-Identifier: MIT OR Apache-2.0
//! The values of one factor side by side, and the rows of that table that can be compared: the plan
//! varies nothing else between them. What a value does is not said here. That takes `compare`,
//! which also says what else differs.

use super::Matrix;
use super::cell_stats::Figure::{Latency, Overruns};
use super::cell_stats::{self, CellStats, CellThread, Figures, parts};
use super::table::Signs;
use crate::alike::each_once;
use crate::format::count;
use crate::language::{Language, in_language, texts, tr};
use crate::sections::latencies::{Figure, NOTHING, OrNothing};
use crate::terminal::text::{WIDTH, aligned_in_blocks, aligned_width, fit_in_blocks, wrapped};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Combinations that differ in one factor alone.
pub struct AlikeRows<'m> {
    /// What each is called, and its recordings; that with the factor's first value comes first.
    pub rows: Vec<(String, &'m [PathBuf])>,
    /// Whether some ran on a co-kernel and others on Linux, with a clock and a probe of its own.
    pub is_on_cores: bool,
}

/// What is shown of each combination.
const OF_LATENCIES: [cell_stats::Figure; 5] = [
    Latency(Figure::P50),
    Latency(Figure::P99),
    Latency(Figure::P999),
    Latency(Figure::Max),
    Overruns,
];
/// The same of intervals: how much they vary comes first.
const OF_INTERVALS: [cell_stats::Figure; 5] = [
    Latency(Figure::Sd),
    Latency(Figure::PeakToPeak),
    Latency(Figure::P99),
    Latency(Figure::Max),
    Overruns,
];

/// A combination, or one of its threads where these have intervals of their own: figures of one are
/// no figures of the other.
#[derive(Clone, Copy)]
struct Case<'m> {
    row: &'m CellStats,
    thread: Option<&'m CellThread>,
}

impl<'m> Case<'m> {
    fn figures(self) -> Figures<'m> {
        self.thread.map_or_else(|| self.row.figures(), CellThread::figures)
    }

    /// `1: 1500us`, as the table has it.
    fn thread(self) -> String {
        self.thread.map(CellThread::label).or_nothing()
    }
}

/// Cases that differ in one factor only, by their other factors and by their thread: for each value
/// of the factor, its case.
type Alike<'m> = BTreeMap<(Vec<usize>, Option<usize>), Vec<Option<Case<'m>>>>;

/// A case by its number, and what that stands for.
struct NamedCase {
    /// Its first line.
    line: usize,
    number: usize,
    name: String,
}

/// A table as a terminal has it.
struct Shown {
    /// Its heading first.
    lines: Vec<Vec<String>>,
    /// How many columns, the first, are read from the left.
    texts: usize,
    /// What numbers and letters in it stand for.
    below: Vec<String>,
}

impl Shown {
    /// A number in the place of all other factors, so many.
    fn numbered(&self, others: usize, named: &[NamedCase]) -> Shown {
        let mut lines = self.lines.clone();
        for line in &mut lines {
            line.splice(..others, [String::new()]);
        }
        "#".clone_into(&mut lines[0][0]);
        for NamedCase { line, number, .. } in named {
            lines[*line][0] = number.to_string();
        }
        let name = |case: &NamedCase| format!("{}: {}", case.number, case.name);
        let below = each_once(named.iter().map(name));
        Shown { lines, texts: self.texts + 1 - others, below }
    }

    /// A letter in the place of each value; none where there are not enough letters.
    fn lettered(&self) -> Option<Shown> {
        let mut lines = self.lines.clone();
        let values = &mut lines[0][self.texts..];
        if values.len() > usize::from(b'Z' - b'A') {
            return None;
        }
        let mut below = Vec::new();
        for (value, letter) in values.iter_mut().zip('A'..) {
            below.push(format!("{letter}: {value}"));
            *value = letter.to_string();
        }
        below.extend(self.below.iter().cloned());
        Some(Shown { lines, texts: self.texts, below })
    }
}

impl Matrix {
    /// The table.
    ///
    /// # Errors
    /// When the plan does not vary this factor: says which it varies.
    pub fn by(&self, factor: &str, language: Language) -> Result<String, String> {
        in_language(language, || {
            let factor = self.varied_factor(factor)?;
            let (alike, beside) = self.alike(factor);
            let (mut out, mut signs) = self.side_by_side(factor, &alike);
            out.push('\n');
            if !beside.is_empty() {
                wrapped(&mut out, "", texts::on_linux_each_beside.said());
                out.push('\n');
                let (table, of_table) = self.side_by_side(factor, &beside);
                signs.about |= of_table.about;
                for (known, of_table) in signs.bounds.iter_mut().zip(of_table.bounds) {
                    *known = known.or(of_table);
                }
                out += &table;
                out.push('\n');
            }
            if alike.values().all(|rows| rows.iter().flatten().count() < 2) {
                let name = &self.factors[factor].name;
                let nothing = tr!(not_measured_no_two, name);
                wrapped(&mut out, "", &nothing);
            }
            wrapped(&mut out, "", texts::intervals_teiji_compare.said());
            self.notes(signs).iter().for_each(|note| wrapped(&mut out, "", note));
            Ok(out)
        })
    }

    /// The rows of that table that can be compared with one that has the factor's first value.
    ///
    /// # Errors
    /// When the plan does not vary this factor: says which it varies.
    pub fn alike_by(&self, factor: &str, language: Language) -> Result<Vec<AlikeRows<'_>>, String> {
        in_language(language, || {
            let factor = self.varied_factor(factor)?;
            let (alike, _) = self.alike(factor);
            let mut sets: Vec<(&Vec<usize>, AlikeRows<'_>)> = Vec::new();
            for ((others, _), cases) in &alike {
                let rows: Vec<&CellStats> = cases.iter().flatten().map(|case| case.row).collect();
                // A combination is compared with all its threads together.
                let is_known = sets.last().is_some_and(|(known, _)| *known == others);
                if is_known || cases[0].is_none() || rows.len() < 2 {
                    continue;
                }
                let is_on_cores =
                    !self.is_stage(factor) && rows.iter().any(|row| row.core().is_some());
                let rows = rows.into_iter().map(|row| (self.name(row), row.recordings())).collect();
                sets.push((others, AlikeRows { rows, is_on_cores }));
            }
            Ok(sets.into_iter().map(|(_, set)| set).collect())
        })
    }

    /// The place of a factor that is varied.
    fn varied_factor(&self, name: &str) -> Result<usize, String> {
        let mut varied = self.varied.iter().copied();
        let factor = varied.find(|place| self.factors[*place].name == name).ok_or_else(|| {
            let known = self.factors.iter().find(|factor| factor.name == name);
            if let Some([Some(value)]) = known.map(|factor| factor.values.as_slice()) {
                return tr!(one_value_recorded, factor = name, value);
            }
            let known: Vec<&str> =
                self.varied.iter().map(|place| self.factors[*place].name.as_str()).collect();
            let known =
                if known.is_empty() { tr!(nothing) } else { known.join(texts::comma.said()) };
            tr!(plan_does_not_vary, factor = name, known)
        })?;
        match self.quantities_differ_by(factor) {
            Some(why) => Err(tr!(rows_cannot_be_held, why)),
            None => Ok(factor),
        }
    }

    /// Cases by what they have beside this factor; and of kernels with a co-kernel those on Linux.
    fn alike(&self, factor: usize) -> (Alike<'_>, Alike<'_>) {
        let values = self.factors[factor].values.len();
        let is_stage = self.is_stage(factor);
        let (mut alike, mut beside): (Alike<'_>, Alike<'_>) = Default::default();
        for row in &self.rows {
            let mut others = row.at.clone();
            others.remove(factor);
            // The Linux beside a co-kernel has a table of its own, with all that is on Linux.
            if !is_stage && self.has_beside() && row.is_of_linux() {
                enter(&mut beside, &others, (factor, values), row);
            }
            if is_stage {
                enter(&mut alike, &others, (factor, values), row);
            } else if !self.is_beside(row) {
                enter(&mut alike, &self.all_else(row, factor), (factor, values), row);
            }
        }
        (alike, beside)
    }

    /// What these cases have of another factor, each once: on a co-kernel the probe is another.
    fn values_of(&self, cases: &[Option<Case<'_>>], factor: usize) -> String {
        let values = cases.iter().flatten().map(|case| self.value(case.row, factor));
        each_once(values.map(|value| value.unwrap_or(NOTHING))).join(texts::comma.said())
    }

    /// The table, in which no column of a value is below another one where caveats and names can
    /// stand below it instead. Values that are too many for columns are rows.
    fn side_by_side(&self, factor: usize, alike: &Alike<'_>) -> (String, Signs) {
        let others: Vec<usize> = (0..self.factors.len())
            .filter(|place| *place != factor && self.varied.contains(place))
            .collect();
        let by_thread = alike.keys().any(|(_, thread)| thread.is_some());
        let texts = others.len() + usize::from(by_thread) + 1;
        let (mut lines, mut named) = self.lines(factor, &others, alike, true);
        let mut caveats = String::new();
        if aligned_width(&lines) > WIDTH {
            (lines, named) = self.lines(factor, &others, alike, false);
            let rows = |row: &&CellStats| {
                alike.values().flatten().flatten().any(|case| std::ptr::eq(case.row, *row))
            };
            let below = self.caveats_below(self.rows.iter().filter(rows));
            caveats.extend((!below.is_empty()).then_some('\n'));
            below.iter().for_each(|text| wrapped(&mut caveats, "", text));
        }
        let signs = Signs::in_lines(&lines, texts);
        let plain = Shown { lines, texts, below: Vec::new() };
        let numbered = || plain.numbered(others.len(), &named);
        let fits = |shown: &Shown| aligned_width(&shown.lines) <= WIDTH;
        let has_others = !others.is_empty();
        let shown = if fits(&plain) {
            plain
        } else if let Some(numbered) = Some(numbered()).filter(|shown| has_others && fits(shown)) {
            numbered
        } else if let Some(lettered) = plain.lettered().filter(fits) {
            lettered
        } else if let Some(both) = numbered().lettered().filter(|shown| has_others && fits(shown)) {
            both
        } else if let Some(rows) = self.values_in_rows(factor, &others, alike).filter(fits) {
            rows
        } else if has_others && !fit_in_blocks(&plain.lines, texts) {
            numbered()
        } else {
            plain
        };
        let mut out = aligned_in_blocks(&shown.lines, shown.texts);
        out.extend((!shown.below.is_empty()).then_some('\n'));
        shown.below.iter().for_each(|text| wrapped(&mut out, "  ", text));
        (out + &caveats, signs)
    }

    /// The table with a row for each value and the figures as columns; with a number in the place
    /// of other factors where it takes one to fit. None where cases have different figures.
    fn values_in_rows(&self, factor: usize, others: &[usize], alike: &Alike<'_>) -> Option<Shown> {
        let all = || alike.values().flatten().flatten();
        let are_of_intervals = all().all(|case| case.row.is_of_intervals());
        if !are_of_intervals && all().any(|case| case.row.is_of_intervals()) {
            return None;
        }
        let figures = if are_of_intervals { OF_INTERVALS } else { OF_LATENCIES };
        let by_thread = alike.keys().any(|(_, thread)| thread.is_some());
        let mut head = self.heading(others, by_thread);
        head.push(self.factors[factor].name.clone());
        let texts = head.len();
        head.extend(figures.map(|figure| figure.name().said().to_owned()));
        let (mut lines, mut named) = (vec![head], Vec::new());
        for cases in alike.values() {
            let values = self.factors[factor].values.iter().zip(cases);
            let there = values.filter_map(|(value, case)| Some((value, (*case)?)));
            for (index, (value, case)) in there.enumerate() {
                let mut line = if index == 0 {
                    named.push(self.named_case(lines.len(), cases, case.row, others));
                    self.others_of(cases, case, others, by_thread)
                } else {
                    vec![String::new(); texts - 1]
                };
                line.push(value.clone().or_nothing());
                line.extend(figures.map(|figure| text(case, figure)));
                lines.push(line);
            }
        }
        let plain = Shown { lines, texts, below: Vec::new() };
        let is_wide = aligned_width(&plain.lines) > WIDTH && !others.is_empty();
        Some(if is_wide { plain.numbered(others.len(), &named) } else { plain })
    }

    /// The names of columns that are texts, but for the last.
    fn heading(&self, others: &[usize], by_thread: bool) -> Vec<String> {
        let names = others.iter().map(|place| self.factors[*place].name.clone());
        names.chain(by_thread.then(|| tr!(thread))).collect()
    }

    /// What stands below them in the first line of cases, of which this is the first.
    fn others_of(
        &self,
        cases: &[Option<Case<'_>>],
        first: Case<'_>,
        others: &[usize],
        by_thread: bool,
    ) -> Vec<String> {
        let values = others.iter().map(|place| self.values_of(cases, *place));
        values.chain(by_thread.then(|| first.thread())).collect()
    }

    /// The number of cases with this first line, and what it stands for.
    fn named_case(
        &self,
        line: usize,
        cases: &[Option<Case<'_>>],
        row: &CellStats,
        others: &[usize],
    ) -> NamedCase {
        let values = others.iter().map(|place| {
            format!("{}={}", self.factors[*place].name, self.values_of(cases, *place))
        });
        let name = values.collect::<Vec<_>>().join(texts::comma.said());
        NamedCase { line, number: self.number(row), name }
    }

    /// The lines of the table, its heading first; and its cases.
    fn lines(
        &self,
        factor: usize,
        others: &[usize],
        alike: &Alike<'_>,
        with_caveats: bool,
    ) -> (Vec<Vec<String>>, Vec<NamedCase>) {
        let by_thread = alike.keys().any(|(_, thread)| thread.is_some());
        let mut head = self.heading(others, by_thread);
        head.push(tr!(figure));
        head.extend(self.factors[factor].values.iter().map(|value| value.clone().or_nothing()));
        let mut lines = vec![head];
        let mut named = Vec::new();
        for cases in alike.values() {
            let Some(one) = cases.iter().flatten().next() else { continue };
            let figures = if one.row.is_of_intervals() { &OF_INTERVALS } else { &OF_LATENCIES };
            for (index, figure) in figures.iter().enumerate() {
                let mut line = if index == 0 {
                    named.push(self.named_case(lines.len(), cases, one.row, others));
                    self.others_of(cases, *one, others, by_thread)
                } else {
                    vec![String::new(); others.len() + usize::from(by_thread)]
                };
                line.push(figure.name().said().to_owned());
                let text = |case: Case<'_>| text(case, *figure);
                line.extend(cases.iter().map(|case| case.map(text).or_nothing()));
                lines.push(line);
            }
            if with_caveats && cases.iter().flatten().any(|case| !case.row.in_short().is_empty()) {
                let mut line = vec![String::new(); others.len() + usize::from(by_thread)];
                line.push(tr!(caveats));
                let caveats = |case: Case<'_>| caveats(case.row);
                line.extend(cases.iter().map(|case| case.and_then(caveats).or_nothing()));
                lines.push(line);
            }
        }
        (lines, named)
    }

    /// The number that a combination has in the plan's table, also where it is the first of several
    /// that differ in one factor.
    fn number(&self, row: &CellStats) -> usize {
        self.rows.iter().position(|one| std::ptr::eq(one, row)).map_or(0, |place| place + 1)
    }
}

/// Enters a row, by its value of a factor that has so many, among those that are equal to it in
/// these others.
fn enter<'m>(
    alike: &mut Alike<'m>,
    others: &[usize],
    (factor, values): (usize, usize),
    row: &'m CellStats,
) {
    for thread in parts(row) {
        let key = (others.to_vec(), thread.map(|thread| thread.index));
        let cases = alike.entry(key).or_insert_with(|| vec![None; values]);
        let case = Some(Case { row, thread }).filter(|case| case.row.runs > 0);
        // One of which nothing is recorded stands before none.
        cases[row.at[factor]] = case.or(cases[row.at[factor]]);
    }
}

/// What figures of a combination must not be read without.
fn caveats(row: &CellStats) -> Option<String> {
    Some(row.in_short().join(texts::comma.said())).filter(|text| !text.is_empty())
}

fn text(case: Case<'_>, figure: cell_stats::Figure) -> String {
    let all = case.figures();
    match figure {
        Latency(of) => case.row.in_micros(&all, of),
        _ => all.rounded(figure).map(|n| count(n.unsigned_abs())).or_nothing(),
    }
}
