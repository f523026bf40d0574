// SPDX-License-Identifier: MIT OR Apache-2.0
//! The values of one factor side by side, all else equal, and in words what each value does.

use super::Matrix;
use super::pooled::{NOTHING, Pooled};
use crate::format::{count, micros};
use crate::overview::Quantile;
use crate::text::{columns, right, wrapped};
use std::collections::BTreeMap;

/// What is shown of each combination.
const FIGURES: [(&str, Of); 5] = [
    ("p50", Of::Quantile(Quantile::P50)),
    ("p99", Of::Quantile(Quantile::P99)),
    ("p99.9", Of::Quantile(Quantile::P999)),
    ("max", Of::Ns(|row| row.moments.max())),
    ("overruns", Of::Count(|row| row.activations.late)),
];

/// A figure of a combination.
#[derive(Clone, Copy)]
enum Of {
    Ns(fn(&Pooled) -> Option<i64>),
    Quantile(Quantile),
    Count(fn(&Pooled) -> u64),
}

/// Combinations that differ in one factor only, by their other factors: for each value of the factor, its row.
type Alike<'m> = BTreeMap<Vec<usize>, Vec<Option<&'m Pooled>>>;

impl Matrix {
    /// The table, and above it a sentence for each difference that a factor's values make where all else is equal.
    ///
    /// # Errors
    /// When the plan does not vary this factor: says which it varies.
    pub fn by(&self, factor: &str) -> Result<String, String> {
        let factor = self.varied.iter().copied().find(|place| self.factors[*place].name == factor).ok_or_else(|| {
            let known: Vec<&str> = self.varied.iter().map(|place| self.factors[*place].name.as_str()).collect();
            let known = if known.is_empty() { "nothing".to_owned() } else { known.join(", ") };
            format!("the plan does not vary '{factor}': it varies {known}")
        })?;
        let values = &self.factors[factor].values;
        let mut alike: Alike<'_> = BTreeMap::new();
        for row in &self.rows {
            let mut others = row.at.clone();
            let value = others.remove(factor);
            alike.entry(others).or_insert_with(|| vec![None; values.len()])[value] = Some(row).filter(|row| row.runs > 0);
        }
        let mut out = String::new();
        self.effects(factor, &alike).iter().for_each(|sentence| wrapped(&mut out, "", sentence));
        if !out.is_empty() {
            out.push('\n');
        }
        out += &self.side_by_side(factor, &alike);
        out.push('\n');
        wrapped(&mut out, "", "How certain a difference is: teiji compare, with a recording of each.");
        self.notes().iter().for_each(|note| wrapped(&mut out, "", note));
        Ok(out)
    }

    /// `mem-alloc raises overruns from 0 to 71.`: against the factor's first value, over all cases that have both.
    fn effects(&self, factor: usize, alike: &Alike<'_>) -> Vec<String> {
        let name = |value: usize| self.factors[factor].values[value].as_deref().unwrap_or(NOTHING).to_owned();
        let mut said = Vec::new();
        for value in 1..self.factors[factor].values.len() {
            let pairs: Vec<(&Pooled, &Pooled)> = alike.values().filter_map(|rows| Some((rows[0]?, rows[value]?))).collect();
            let Some((first, _)) = pairs.first() else { continue };
            // Figures on different clocks are not compared.
            if pairs.iter().any(|(a, b)| a.kind != first.kind || b.kind != first.kind) {
                continue;
            }
            let sum = |of: fn(&Pooled) -> u64| pairs.iter().fold((0, 0), |(a, b), (was, is)| (a + of(was), b + of(is)));
            let (late, due) = (sum(|row| row.activations.late), sum(|row| row.activations.due));
            let largest = |of: fn(&Pooled) -> Option<i64>| {
                let was = pairs.iter().filter_map(|(was, _)| of(was)).max()?;
                Some((was, pairs.iter().filter_map(|(_, is)| of(is)).max()?))
            };
            let change = Change {
                value: name(value),
                first: name(0),
                cases: if pairs.len() > 1 {
                    format!(", all else equal in {} cases", count(pairs.len() as u64))
                } else {
                    String::new()
                },
            };
            said.extend(change.of_overruns(late, due));
            said.extend(largest(|row| row.quantile(Quantile::P99)).and_then(|(was, is)| change.of_latency("p99", was, is)));
            said.extend(largest(|row| row.moments.max()).and_then(|(was, is)| change.of_latency("max", was, is)));
        }
        said
    }

    fn side_by_side(&self, factor: usize, alike: &Alike<'_>) -> String {
        let others: Vec<usize> =
            (0..self.factors.len()).filter(|place| *place != factor && self.varied.contains(place)).collect();
        let mut head: Vec<String> = others.iter().map(|place| self.factors[*place].name.clone()).collect();
        head.push("figure".to_owned());
        let texts = head.len();
        head.extend(self.factors[factor].values.iter().map(|value| value.clone().unwrap_or_else(|| NOTHING.to_owned())));
        let mut lines = vec![head];
        for rows in alike.values() {
            let Some(one) = rows.iter().flatten().next() else { continue };
            for (index, (figure, of)) in FIGURES.iter().enumerate() {
                let value = |place: &usize| self.value(one, *place).unwrap_or(NOTHING).to_owned();
                let mut line: Vec<String> =
                    others.iter().map(|place| if index == 0 { value(place) } else { String::new() }).collect();
                line.push((*figure).to_owned());
                line.extend(rows.iter().map(|row| row.map_or_else(|| NOTHING.to_owned(), |row| of.text(row))));
                lines.push(line);
            }
            if rows.iter().flatten().any(|row| !row.in_short().is_empty()) {
                let mut line = vec![String::new(); others.len()];
                line.push("caveats".to_owned());
                let caveats = |row: &Pooled| Some(row.in_short().join(", ")).filter(|text| !text.is_empty());
                line.extend(rows.iter().map(|row| row.and_then(caveats).unwrap_or_else(|| NOTHING.to_owned())));
                lines.push(line);
            }
        }
        aligned(&lines, texts)
    }
}

impl Of {
    fn text(self, row: &Pooled) -> String {
        match self {
            Of::Ns(of) => of(row).map_or_else(|| NOTHING.to_owned(), micros),
            Of::Quantile(quantile) => row.quantile(quantile).map_or_else(|| NOTHING.to_owned(), |ns| format!("~{}", micros(ns))),
            Of::Count(of) => count(of(row)),
        }
    }
}

/// What one value does, as against another.
struct Change {
    value: String,
    first: String,
    cases: String,
}

/// A latency that differs by less than this factor is said to differ by nobody who measures twice.
const MIN_FACTOR: f64 = 1.1;

impl Change {
    /// Counts are told apart where they lie more than two standard deviations from one another: that of a difference of counts
    /// is the root of their sum.
    fn of_overruns(&self, (was, is): (u64, u64), (due_was, due_is): (u64, u64)) -> Option<String> {
        if was == 0 && is == 0 {
            return Some(format!("{}: no overruns, as {}{}.", self.value, self.first_said(), self.cases));
        }
        let exposed = due_is as f64 / due_was.max(1) as f64;
        let expected = was as f64 * exposed;
        if (is as f64 - expected).abs() <= 2.0 * (is as f64 + expected * exposed).sqrt() {
            return None;
        }
        let verb = if is as f64 > expected { "raises" } else { "lowers" };
        let of = |n: u64, due: u64| {
            if (0.95..=1.05).contains(&exposed) { count(n) } else { format!("{} of {}", count(n), count(due)) }
        };
        Some(self.said(verb, "overruns", &of(was, due_was), &of(is, due_is)))
    }

    fn of_latency(&self, figure: &str, was: i64, is: i64) -> Option<String> {
        let factor = is as f64 / was.max(1) as f64;
        let verb = if factor >= MIN_FACTOR { "raises" } else { "lowers" };
        (factor >= MIN_FACTOR || factor <= 1.0 / MIN_FACTOR)
            .then(|| self.said(verb, figure, &micros(was), &format!("{} µs", micros(is))))
    }

    fn said(&self, verb: &str, figure: &str, was: &str, is: &str) -> String {
        let against = if self.first == "none" { String::new() } else { format!(" against {}", self.first) };
        format!("{} {verb} {figure} from {was} to {is}{against}{}.", self.value, self.cases)
    }

    fn first_said(&self) -> String {
        if self.first == "none" { "without".to_owned() } else { format!("with {}", self.first) }
    }
}

/// Lines of cells below one another: the first so many read from the left, the others from the right.
fn aligned(lines: &[Vec<String>], texts: usize) -> String {
    let width = |column: usize| lines.iter().map(|line| columns(&line[column])).max().unwrap_or(0);
    let widths: Vec<usize> = (0..lines.first().map_or(0, Vec::len)).map(width).collect();
    let mut out = String::new();
    for line in lines {
        let cell = |(column, width): (usize, &usize)| {
            let text = line[column].replace(char::is_control, " ");
            if column < texts {
                format!("{text}{}", " ".repeat(width.saturating_sub(columns(&text))))
            } else {
                right(&text, *width)
            }
        };
        let cells: Vec<String> = widths.iter().enumerate().map(cell).collect();
        out += cells.join("  ").trim_end();
        out.push('\n');
    }
    out
}
