// SPDX-License-Identifier: MIT OR Apache-2.0
//! The values of one factor side by side, all else equal, and in words what each value does.

use super::Matrix;
use super::cell_stats::Figure::{Latency, Overruns};
use super::cell_stats::{self, CellStats, CellThread, Figures, parts};
use crate::alike::each_once;
use crate::format::{count, fine_micros, micros};
use crate::language::{Language, in_language, texts, tr};
use crate::sections::latencies::{Figure, NOTHING, OrNothing};
use crate::terminal::text::{aligned_in_blocks, wrapped};
use std::collections::BTreeMap;

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

impl Matrix {
    /// The table, and above it a sentence for each difference that a factor's values make where all
    /// else is equal.
    ///
    /// # Errors
    /// When the plan does not vary this factor: says which it varies.
    pub fn by(&self, factor: &str, language: Language) -> Result<String, String> {
        in_language(language, || {
            let factor = self
                .varied
                .iter()
                .copied()
                .find(|place| self.factors[*place].name == factor)
                .ok_or_else(|| {
                    let known: Vec<&str> = self
                        .varied
                        .iter()
                        .map(|place| self.factors[*place].name.as_str())
                        .collect();
                    let known = if known.is_empty() {
                        tr!(nothing)
                    } else {
                        known.join(texts::comma.said())
                    };
                    tr!(plan_does_not_vary, factor, known)
                })?;
            if let Some(why) = self.quantities_differ_by(factor) {
                return Err(tr!(rows_cannot_be_held, why));
            }
            let values = &self.factors[factor].values;
            let is_stage = self.is_stage(factor);
            let (mut alike, mut beside): (Alike<'_>, Alike<'_>) = Default::default();
            for row in &self.rows {
                let mut others = row.at.clone();
                others.remove(factor);
                // The Linux beside a co-kernel has a table of its own, with all that is on Linux.
                if !is_stage && self.has_beside() && row.is_of_linux() {
                    enter(&mut beside, &others, (factor, values.len()), row);
                }
                if is_stage {
                    enter(&mut alike, &others, (factor, values.len()), row);
                } else if !self.is_beside(row) {
                    enter(&mut alike, &self.all_else(row, factor), (factor, values.len()), row);
                }
            }
            let mut out = String::new();
            self.effects(factor, &alike)
                .iter()
                .for_each(|sentence| wrapped(&mut out, "", sentence));
            if !out.is_empty() {
                out.push('\n');
            }
            out += &self.side_by_side(factor, &alike);
            out.push('\n');
            if !beside.is_empty() {
                wrapped(&mut out, "", texts::on_linux_each_beside.said());
                out.push('\n');
                out += &self.side_by_side(factor, &beside);
                out.push('\n');
            }
            if alike.values().all(|rows| rows.iter().flatten().count() < 2) {
                let name = &self.factors[factor].name;
                let nothing = tr!(not_measured_no_two, name);
                wrapped(&mut out, "", &nothing);
            }
            wrapped(&mut out, "", texts::how_certain_difference_teiji.said());
            self.notes().iter().for_each(|note| wrapped(&mut out, "", note));
            Ok(out)
        })
    }

    /// `mem-alloc raises overruns from 0 to 71.`: against the factor's first value, over all cases
    /// that have both.
    fn effects(&self, factor: usize, alike: &Alike<'_>) -> Vec<String> {
        let name = |value: usize| {
            self.factors[factor].values[value].as_deref().unwrap_or(NOTHING).to_owned()
        };
        let mut changes = Vec::new();
        for value in 1..self.factors[factor].values.len() {
            let pairs: Vec<(Case<'_>, Case<'_>)> =
                alike.values().filter_map(|rows| Some((rows[0]?, rows[value]?))).collect();
            let Some((first, _)) = pairs.first() else { continue };
            // Figures on different clocks, or of different quantities, are not compared.
            let is_like_first = |case: &Case<'_>| {
                (case.row.kind, case.row.quantity) == (first.row.kind, first.row.quantity)
            };
            if !pairs.iter().all(|(was, is)| is_like_first(was) && is_like_first(is)) {
                continue;
            }
            let change = Change { value: name(value), first: name(0), cases: pairs.len() };
            let late =
                pairs.iter().map(|(was, is)| Late::between(*was, *is)).collect::<Option<Vec<_>>>();
            changes.extend(late.and_then(|late| change.of_overruns(&late)));
            let is_about = pairs
                .iter()
                .any(|(was, is)| was.figures().due.about() != "" || is.figures().due.about() != "");
            let about = if is_about { "~" } else { "" };
            let figures = if first.row.is_of_intervals() {
                // Figures with a sign have no factor.
                [(Figure::Sd, "sd", ""), (Figure::PeakToPeak, texts::peak_to_peak.said(), "")]
            } else {
                [(Figure::P99, "p99", about), (Figure::Max, texts::max.said(), "")]
            };
            for (figure, name, about) in figures {
                let of = |case: &Case<'_>| case.figures().due.rounded(figure);
                let each: Option<Vec<_>> =
                    pairs.iter().map(|(was, is)| of(was).zip(of(is))).collect();
                changes.extend(each.and_then(|pairs| change.of_latency((name, about), &pairs)));
            }
        }
        changes
    }

    /// What these cases have of another factor, each once: on a co-kernel the probe is another.
    fn values_of(&self, cases: &[Option<Case<'_>>], factor: usize) -> String {
        let values = cases.iter().flatten().map(|case| self.value(case.row, factor));
        each_once(values.map(|value| value.unwrap_or(NOTHING))).join(texts::comma.said())
    }

    fn side_by_side(&self, factor: usize, alike: &Alike<'_>) -> String {
        let others: Vec<usize> = (0..self.factors.len())
            .filter(|place| *place != factor && self.varied.contains(place))
            .collect();
        let mut head: Vec<String> =
            others.iter().map(|place| self.factors[*place].name.clone()).collect();
        let by_thread = alike.keys().any(|(_, thread)| thread.is_some());
        head.extend(by_thread.then(|| tr!(thread)));
        head.push(tr!(figure));
        let texts = head.len();
        head.extend(self.factors[factor].values.iter().map(|value| value.clone().or_nothing()));
        let mut lines = vec![head];
        for cases in alike.values() {
            let Some(one) = cases.iter().flatten().next() else { continue };
            let figures = if one.row.is_of_intervals() { &OF_INTERVALS } else { &OF_LATENCIES };
            for (index, figure) in figures.iter().enumerate() {
                let value = |place: &usize| self.values_of(cases, *place);
                let mut line: Vec<String> = others
                    .iter()
                    .map(|place| if index == 0 { value(place) } else { String::new() })
                    .collect();
                line.extend(
                    by_thread.then(|| if index == 0 { one.thread() } else { String::new() }),
                );
                line.push(figure.name().said().to_owned());
                let text = |case: Case<'_>| text(&case.figures(), *figure);
                line.extend(cases.iter().map(|case| case.map(text).or_nothing()));
                lines.push(line);
            }
            if cases.iter().flatten().any(|case| !case.row.in_short().is_empty()) {
                let mut line = vec![String::new(); others.len() + usize::from(by_thread)];
                line.push(tr!(caveats));
                let caveats = |row: &CellStats| {
                    Some(row.in_short().join(texts::comma.said())).filter(|text| !text.is_empty())
                };
                line.extend(
                    cases.iter().map(|case| case.and_then(|case| caveats(case.row)).or_nothing()),
                );
                lines.push(line);
            }
        }
        aligned_in_blocks(&lines, texts)
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

fn text(all: &Figures<'_>, figure: cell_stats::Figure) -> String {
    match figure {
        // On most machines less than 1 µs.
        Latency(of) if figure.is_spread() => all.due.text(of, fine_micros),
        Latency(of) => all.due.text(of, micros),
        _ => all.rounded(figure).map(|n| count(n.unsigned_abs())).or_nothing(),
    }
}

/// Overruns of a combination and of the one beside it, each with how many activations were due.
#[derive(Clone, Copy, Default)]
struct Late {
    was: u64,
    is: u64,
    due_was: u64,
    due_is: u64,
}

impl Late {
    /// None where it is not known.
    fn between(was: Case<'_>, is: Case<'_>) -> Option<Late> {
        let (was, is) = (*was.figures().activations, *is.figures().activations);
        Some(Late { was: was.late()?, is: is.late()?, due_was: was.due()?, due_is: is.due()? })
    }

    fn sum(of: &[Late]) -> Late {
        of.iter().fold(Late::default(), |sum, one| Late {
            was: sum.was + one.was,
            is: sum.is + one.is,
            due_was: sum.due_was + one.due_was,
            due_is: sum.due_is + one.due_is,
        })
    }

    /// How many activations were due beside how many were before.
    fn exposed(self) -> f64 {
        self.due_is as f64 / self.due_was.max(1) as f64
    }

    /// Counts differ significantly from two standard deviations apart on: that of a difference of
    /// counts is the root of their sum.
    fn way(self) -> Way {
        let expected = self.was as f64 * self.exposed();
        if (self.is as f64 - expected).abs()
            <= 2.0 * (self.is as f64 + expected * self.exposed()).sqrt()
        {
            Way::Neither
        } else if self.is as f64 > expected {
            Way::Up
        } else {
            Way::Down
        }
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Way {
    Up,
    Down,
    Neither,
}

/// A latency that differs by less than this factor is said to differ by nobody who measures twice.
const MIN_FACTOR: f64 = 1.1;

fn factor((was, is): (i64, i64)) -> f64 {
    is as f64 / was.max(1) as f64
}

fn way(pair: (i64, i64)) -> Way {
    match factor(pair) {
        factor if factor >= MIN_FACTOR => Way::Up,
        factor if factor <= 1.0 / MIN_FACTOR => Way::Down,
        _ => Way::Neither,
    }
}

/// What one value does, as against another, in so many cases with all else equal.
struct Change {
    value: String,
    first: String,
    cases: usize,
}

impl Change {
    /// Counts are summed over the cases, where they do not go both ways.
    fn of_overruns(&self, late: &[Late]) -> Option<String> {
        let sum = Late::sum(late);
        if sum.was == 0 && sum.is == 0 {
            let (value, cases) = (&self.value, self.in_all());
            return Some(if self.first == "none" {
                tr!(value_no_overruns_without, value, cases)
            } else {
                tr!(value_no_overruns_first, value, first = self.first, cases)
            });
        }
        let ways: Vec<Way> = late.iter().map(|late| late.way()).collect();
        if let Some(unlike) = self.unlike(texts::overruns.said(), &ways) {
            return Some(unlike);
        }
        let of = |n: u64, due: u64| {
            let (n, all) = (count(n), count(due));
            if (0.95..=1.05).contains(&sum.exposed()) { n } else { tr!(n_of_all, n, all) }
        };
        let (was, is) = (of(sum.was, sum.due_was), of(sum.is, sum.due_is));
        let total = if self.cases > 1 { texts::in_all_after.said() } else { "" };
        let (value, rest) = (&self.value, self.against() + &self.in_all());
        match sum.way() {
            Way::Up => Some(tr!(value_raises_overruns_from, value, was, is, total, rest)),
            Way::Down => Some(tr!(value_lowers_overruns_from, value, was, is, total, rest)),
            Way::Neither => None,
        }
    }

    /// The latencies of one case, or by what factor they differ in each of several.
    fn of_latency(&self, (figure, about): (&str, &str), pairs: &[(i64, i64)]) -> Option<String> {
        let ways: Vec<Way> = pairs.iter().map(|pair| way(*pair)).collect();
        if let Some(unlike) = self.unlike(figure, &ways) {
            return Some(unlike);
        }
        let decided = ways.iter().copied().find(|way| *way != Way::Neither)?;
        let (value, against) = (&self.value, self.against());
        if let [(was, is)] = pairs {
            let (was, is) = (format!("{about}{}", micros(*was)), format!("{about}{}", micros(*is)));
            return Some(if decided == Way::Down {
                tr!(value_lowers_figure_from, value, figure, was, is, against)
            } else {
                tr!(value_raises_figure_from, value, figure, was, is, against)
            });
        }
        let times =
            |pair: (i64, i64)| if decided == Way::Down { 1.0 / factor(pair) } else { factor(pair) };
        let factors: Vec<f64> =
            pairs.iter().filter(|pair| way(**pair) == decided).map(|pair| times(*pair)).collect();
        let (min, max) = factors
            .iter()
            .fold((f64::MAX, 0.0_f64), |(min, max), one| (min.min(*one), max.max(*one)));
        let (min, max) = (format!("{min:.1}"), format!("{max:.1}"));
        let times = if min == max { max } else { tr!(min_to_max, min, max) };
        let cases = if factors.len() == self.cases {
            self.in_all()
        } else {
            tr!(in_n_all_cases, n = factors.len(), all = self.cases)
        };
        Some(if decided == Way::Down {
            tr!(value_lowers_figure_times, value, figure, times, against, cases)
        } else {
            tr!(value_raises_figure_times, value, figure, times, against, cases)
        })
    }

    /// What is said where some cases go up and others down.
    fn unlike(&self, figure: &str, ways: &[Way]) -> Option<String> {
        let of = |way: Way| ways.iter().filter(|one| **one == way).count();
        (of(Way::Up) > 0 && of(Way::Down) > 0).then(|| {
            tr!(
                value_raises_figure_in,
                value = self.value,
                figure,
                up = of(Way::Up),
                down = of(Way::Down),
                all = self.cases,
                against = self.against()
            )
        })
    }

    fn against(&self) -> String {
        if self.first == "none" { String::new() } else { tr!(against_first, first = self.first) }
    }

    fn in_all(&self) -> String {
        if self.cases > 1 {
            tr!(all_else_equal_in, n = count(self.cases as u64))
        } else {
            String::new()
        }
    }
}
