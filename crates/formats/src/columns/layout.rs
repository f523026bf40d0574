// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where a table begins, what sets its fields apart, and what stands above it.

use super::names::{
    Holds, holds, is_of_table, names_columns, names_latency, says_nothing, unit_alone,
    unit_in_brackets, unit_in_text, unit_of,
};
use super::notation::is_number;

pub(crate) const MAX_FIELDS: usize = 512;
/// Lines above them at most.
pub(crate) const MAX_ABOVE: usize = 6;
/// Rows that are alike before it is a table.
pub(crate) const ROWS_ALIKE: usize = 5;
/// What sets fields apart: this, or blanks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Separator(pub Option<char>);

impl Separator {
    /// The first that fits is taken.
    const ALL: [Separator; 5] = [
        Separator(Some(';')),
        Separator(Some('|')),
        Separator(Some('\t')),
        Separator(Some(',')),
        Separator(None),
    ];

    pub(crate) fn split(self, line: &str) -> Vec<&str> {
        let Some(mark) = self.0 else {
            return line.split_whitespace().take(MAX_FIELDS + 1).collect();
        };
        let mut line = line.trim_matches(' ');
        if mark == '|' {
            // Markdown has it around them, too.
            line = line.strip_prefix(mark).unwrap_or(line);
            line = line.strip_suffix(mark).unwrap_or(line);
        }
        let fields = line.split(mark).take(MAX_FIELDS + 1);
        fields.map(|field| field.trim().trim_matches('"').trim()).collect()
    }

    pub(crate) fn is_in(self, line: &str) -> bool {
        self.0.is_none_or(|mark| line.contains(mark))
    }

    /// The fields of a row: numbers, and nothing where a column has ended.
    pub(crate) fn row(self, line: &str) -> Option<Vec<&str>> {
        let fields = if self.is_in(line) { self.split(line) } else { return None };
        let is_row = fields.len() <= MAX_FIELDS
            && fields.iter().all(|field| field.is_empty() || is_number(field))
            && fields.iter().any(|field| !field.is_empty());
        is_row.then_some(fields)
    }

    /// The headings of so many columns.
    fn names(self, heading: &str, fields: usize) -> Option<Vec<String>> {
        let heading = uncommented(heading);
        if fields == 1 && self.0.is_none() {
            return Some(vec![heading.to_owned()]);
        }
        let mut names: Vec<String> = Vec::new();
        for part in self.split(heading) {
            match names.last_mut() {
                // A unit in brackets behind a blank.
                Some(name) if self.0.is_none() && part.starts_with(['(', '[']) => {
                    name.push(' ');
                    name.push_str(part);
                }
                _ => names.push(part.to_owned()),
            }
        }
        if names.len() != fields && self.0.is_none() {
            let apart = heading.split("  ").map(str::trim).filter(|name| !name.is_empty());
            names = apart.take(MAX_FIELDS + 1).map(str::to_owned).collect();
        }
        (names.len() == fields).then_some(names)
    }
}

/// Whether it is of nothing but what a row may have, which is quick to see.
fn may_be_row(line: &str) -> bool {
    let is_of_row = |byte: u8| byte.is_ascii_digit() || b" \t;|,.+-eE\"".contains(&byte);
    line.bytes().all(is_of_row) && line.bytes().any(|byte| byte.is_ascii_digit())
}

pub(crate) fn is_comment(line: &str) -> bool {
    ["#", "%", "//"].iter().any(|mark| line.trim_start().starts_with(mark))
}

fn uncommented(line: &str) -> &str {
    line.trim().trim_start_matches(['#', '%', '/']).trim()
}

/// `|---|--:|`, below the heading of a table in Markdown.
pub(crate) fn is_rule(line: &str) -> bool {
    line.contains("--") && line.chars().all(|letter| "|-:+ ".contains(letter))
}

/// How a table is laid out.
pub(crate) struct Layout {
    pub separator: Separator,
    pub fields: usize,
    /// Lines above the first row.
    pub above: usize,
    /// By column; none where nothing names them.
    pub names: Vec<String>,
    /// What stands above the table beside that.
    pub texts: Vec<String>,
    /// Whether each row may be one number as well as two.
    pub is_ambiguous: bool,
}

impl Layout {
    pub(crate) fn of(lines: &[&str]) -> Option<Layout> {
        let above = lines.iter().position(|line| may_be_row(line)).filter(|n| *n <= MAX_ABOVE)?;
        let rows = lines.get(above..above + ROWS_ALIKE)?;
        rows.iter().all(|line| may_be_row(line)).then_some(())?;
        Separator::ALL.iter().find_map(|separator| separator.layout(&lines[..above], rows))
    }

    /// Whether something says that it is of latencies.
    pub(crate) fn is_named(&self) -> bool {
        if self.names.is_empty() {
            return self.texts.iter().any(|text| is_of_table(text));
        }
        let all = self.holds(false);
        let says = |(what, name): (&Holds, &String)| match what {
            Holds::Values => !says_nothing(name) || self.unit(0).is_some(),
            Holds::Buckets => unit_of(name).is_some(),
            _ => false,
        };
        all.iter().zip(&self.names).any(says)
    }

    /// What each column holds. If one of them names latencies, others do only that do so too; and
    /// if none, all of them where they are in a unit of time, or it is said elsewhere.
    pub(crate) fn holds(&self, is_unit_said: bool) -> Vec<Holds> {
        let mut all: Vec<Holds> = self.names.iter().map(|name| holds(name)).collect();
        all.resize(self.fields, Holds::Values);
        let replace = |all: &mut [Holds], from: Holds, to: Holds| {
            all.iter_mut().filter(|one| **one == from).for_each(|one| *one = to);
        };
        if all.contains(&Holds::Buckets) {
            // All that stands beside buckets is counted in them.
            replace(&mut all, Holds::Values, Holds::Counts);
            return all;
        }
        if all.contains(&Holds::Counts) {
            replace(&mut all, Holds::Values, Holds::Buckets);
            return all;
        }
        if let Some(first) = all.iter().position(|one| *one == Holds::Values) {
            // A number of the row stands before what it is of.
            replace(&mut all[first..], Holds::Index, Holds::Other);
        }
        let values = |is: fn(&str) -> bool| {
            let mut values = self.names.iter().zip(&all).filter(|(_, of)| **of == Holds::Values);
            values.all(|(name, _)| is(name))
        };
        let is_any = self.names.iter().any(|name| names_latency(name));
        let are_all = self.names.is_empty()
            || is_unit_said
            || values(|name| unit_in_brackets(name).is_some())
            || values(|name| unit_alone(name).is_some() || says_nothing(name))
            || self.texts.iter().any(|text| is_of_table(text));
        for (one, name) in all.iter_mut().zip(&self.names) {
            let is_value = names_latency(name) || !is_any && are_all;
            if *one == Holds::Values && !is_value {
                *one = Holds::Other;
            }
        }
        all
    }

    /// The unit of a column, ns, where it is said.
    pub(crate) fn unit(&self, column: usize) -> Option<i64> {
        let all_alone =
            || self.names.iter().all(|name| unit_of(name).or_else(|| unit_alone(name)).is_some());
        let name = self.names.get(column);
        name.and_then(|name| unit_of(name))
            .or_else(|| name.filter(|_| all_alone()).and_then(|name| unit_alone(name)))
            .or_else(|| self.texts.iter().find_map(|text| unit_in_text(text)))
    }

    pub(crate) fn name(&self, column: usize) -> &str {
        self.names.get(column).map_or("", String::as_str)
    }
}

impl Separator {
    fn layout(self, above: &[&str], rows: &[&str]) -> Option<Layout> {
        let fields = self.row(rows[0])?.len();
        rows.iter().all(|row| self.row(row).is_some_and(|row| row.len() == fields)).then_some(())?;
        let heads = || above.iter().filter(|line| !line.trim().is_empty() && !is_rule(line));
        let last = heads().next_back();
        // One line that is no comment, just above the rows.
        let others = heads().count().saturating_sub(1);
        heads().take(others).all(|line| is_comment(line)).then_some(())?;
        let names = last.and_then(|heading| self.names(heading, fields));
        let is_misfit = |line: &&str| {
            // It names columns, and not these; or nothing.
            fields > 1 && names_columns(line) || !is_comment(line) && !is_of_table(line)
        };
        if names.is_none() && last.is_some_and(is_misfit) {
            return None;
        }
        let is_one = self.0 == Some(',') && rows.iter().all(|row| is_number(row.trim()));
        if is_one && names.is_none() && last.is_some_and(|heading| !heading.contains(',')) {
            return None;
        }
        let texts = heads().filter(|line| names.is_none() || Some(*line) != last);
        Some(Layout {
            separator: self,
            fields,
            above: above.len(),
            texts: texts.map(|line| uncommented(line).to_owned()).collect(),
            is_ambiguous: is_one && names.is_none(),
            names: names.unwrap_or_default(),
        })
    }
}
