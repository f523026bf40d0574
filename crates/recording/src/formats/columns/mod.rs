// SPDX-License-Identifier: MIT OR Apache-2.0
//! Plain columns of latencies, as spreadsheets and scripts write them. A file that is nothing but
//! such a table is taken, and a table whose heading names latencies or a unit; nothing that stands
//! in a log by chance.

mod layout;
mod names;
mod notation;

use self::layout::{Layout, MAX_ABOVE, ROWS_ALIKE, is_comment, is_rule};
use self::names::{Holds, cpu, is_of_figure, kind};
use self::notation::Notation;
use super::numbers::whole;
use super::{Import, ImportError, Lines, Output, Program};
use model::{Column, RowKind};
use plan::CpuId;

const fn program(rows: RowKind, is_planned: bool) -> Program {
    Program {
        name: "columns",
        measuring_point: "not said: a column of latencies in a table",
        column: Column::ns("latency_ns", "not said: a column of latencies in a table"),
        rows,
        is_planned,
        passes_over: false,
        resolution_ns: 1,
    }
}

static ROWS: Program = program(RowKind::Activations, true);
/// Of a table that says when each happened.
static TIMED: Program = program(RowKind::Events, false);

/// Rows of a histogram at most.
const MAX_BUCKETS: u64 = 1 << 20;
/// Bytes of rows that are kept until it is known how their numbers are written.
const MAX_OPEN: usize = 8 << 20;
/// What tells recordings of one column each apart.
const PARTS: [&str; 16] = [
    "column-1",
    "column-2",
    "column-3",
    "column-4",
    "column-5",
    "column-6",
    "column-7",
    "column-8",
    "column-9",
    "column-10",
    "column-11",
    "column-12",
    "column-13",
    "column-14",
    "column-15",
    "column-16",
];

/// Whether a table may begin here.
pub(crate) fn begins(lines: &[&str]) -> bool {
    Layout::of(lines).is_some()
}

/// What becomes of a column.
#[derive(Clone, Copy)]
enum Use {
    Nothing,
    /// In this unit, ns.
    Time(i64),
    Value {
        output: usize,
        thread: usize,
        unit_ns: i64,
    },
    Bucket(i64),
    Count(usize),
}

/// A table as it is read.
struct Table {
    layout: Layout,
    uses: Vec<Use>,
    outputs: Vec<Output>,
    /// What values of each output are whole multiples of.
    resolutions: Vec<i64>,
    /// Whether a column has ended.
    has_ended: Vec<bool>,
    notation: Notation,
    rows: u64,
    /// The first time, and the last after it.
    times: Option<(i64, i64)>,
}

/// The next lines, as many as show how a table is laid out.
fn ahead(lines: &mut Lines<'_>) -> Result<Vec<String>, ImportError> {
    let mut ahead = Vec::new();
    for behind in 0..MAX_ABOVE + ROWS_ALIKE {
        ahead.extend(lines.peek_behind(behind)?.map(str::to_owned));
    }
    Ok(ahead)
}

/// Reads it.
pub(crate) fn read(lines: &mut Lines<'_>, import: &mut Import<'_>) -> Result<(), ImportError> {
    let begin = lines.number();
    let ahead = ahead(lines)?;
    let ahead: Vec<&str> = ahead.iter().map(String::as_str).collect();
    let Some(layout) = Layout::of(&ahead) else { return Ok(()) };
    let (is_named, is_at_start) = (layout.is_named(), import.is_at_start());
    if !(is_named || is_at_start) {
        return Ok(());
    }
    if let Some(name) = layout.names.iter().find(|name| is_of_figure(name)) {
        let why = format!("'{name}' is a figure of several latencies: rows of them are not read");
        return if is_at_start { Err(ImportError::at(begin, why)) } else { Ok(()) };
    }
    let first_row = begin + layout.above as u64;
    if layout.is_ambiguous {
        let row = ahead[layout.above].trim();
        let why = format!("'{row}' may be one number or two: headings have to name the columns");
        return Err(ImportError::at(first_row, why));
    }
    let unsaid = || "the unit of the values is not said: say the unit with --unit".to_owned();
    let mut table = match Table::new(layout, begin, import).and_then(|of| of.ok_or_else(unsaid)) {
        Ok(table) => table,
        // In the middle of something else it may be anything.
        Err(_) if !is_at_start => return Ok(()),
        Err(why) => return Err(ImportError::at(begin, why)),
    };
    for _ in 0..table.layout.above {
        lines.advance();
    }
    table.read(lines, is_named)?;
    table.finish(import)
}

impl Table {
    /// A table of which nothing was read yet; none if no unit is said.
    fn new(layout: Layout, begin: u64, import: &mut Import<'_>) -> Result<Option<Table>, String> {
        let all = layout.holds();
        let asked = (!import.is_unit_open()).then(|| import.unit_ns(1));
        let unit = |column: usize| layout.unit(column).or(asked);
        let with = |what: Holds| (0..layout.fields).filter(|column| all[*column] == what).collect();
        let (values, buckets): (Vec<usize>, Vec<usize>) =
            (with(Holds::Values), with(Holds::Buckets));
        let counts: Vec<usize> = with(Holds::Counts);
        let mut uses = vec![Use::Nothing; layout.fields];
        let time = with(Holds::Times).into_iter().find_map(|column: usize| {
            Some((column, layout.unit(column).filter(|_| buckets.is_empty())?))
        });
        if let Some((column, unit_ns)) = time {
            uses[column] = Use::Time(unit_ns);
        }
        let program = if time.is_some() { &TIMED } else { &ROWS };
        let mut outputs = Vec::new();
        if let ([bucket], [_, ..]) = (&buckets[..], &counts[..]) {
            let Some(unit_ns) = unit(*bucket) else { return Ok(None) };
            let mut output = import.output(program, begin);
            output.may_have_more = true;
            uses[*bucket] = Use::Bucket(unit_ns);
            for (thread, column) in counts.iter().enumerate() {
                put_thread(&mut output, thread, layout.name(*column))?;
                uses[*column] = Use::Count(thread);
            }
            outputs.push(output);
        } else if !(buckets.is_empty() && counts.is_empty()) {
            return Err("which values the counts are of is not said by the headings".to_owned());
        } else {
            let used: Vec<(usize, i64)> = values
                .iter()
                .filter_map(|column| unit(*column).map(|unit_ns| (*column, unit_ns)))
                .collect();
            let Some((first, _)) = used.first() else {
                return if values.is_empty() {
                    Err("no column holds latencies, by the headings".to_owned())
                } else {
                    Ok(None)
                };
            };
            let is_one = |(column, _): &(usize, i64)| {
                kind(layout.name(*column)) == kind(layout.name(*first))
            };
            let are_threads = used.iter().all(is_one);
            if !are_threads && used.len() > PARTS.len() {
                return Err(format!("there are more than {} kinds of columns", PARTS.len()));
            }
            for (index, (column, unit_ns)) in used.iter().enumerate() {
                let (output, thread) = if are_threads { (0, index) } else { (index, 0) };
                if outputs.len() <= output {
                    outputs.push(import.output(program, begin));
                }
                put_thread(&mut outputs[output], thread, layout.name(*column))?;
                uses[*column] = Use::Value { output, thread, unit_ns: *unit_ns };
            }
        }
        for output in &mut outputs {
            for text in &layout.texts {
                output.say("heading", text);
            }
            for (column, name) in layout.names.iter().enumerate() {
                let is_left_out = matches!(uses[column], Use::Nothing) && !name.is_empty();
                if is_left_out && all[column] != Holds::Index {
                    output.say("column left out", name);
                }
            }
        }
        let is_semicolon = layout.separator.0 == Some(';');
        Ok(Some(Table {
            notation: if is_semicolon { Notation::WITH_DECIMAL_COMMA } else { Notation::default() },
            resolutions: vec![i64::MAX; outputs.len()],
            has_ended: vec![false; layout.fields],
            uses,
            outputs,
            layout,
            rows: 0,
            times: None,
        }))
    }

    /// Reads the rows. A table that nothing names is all of its file.
    fn read(&mut self, lines: &mut Lines<'_>, is_named: bool) -> Result<(), ImportError> {
        let separator = self.layout.separator;
        // Rows that are not read before it is known how their numbers are written.
        let (mut open, mut bytes): (Vec<(u64, String)>, usize) = (Vec::new(), 0);
        // Of a table that something names an empty line may be its end.
        let mut empty = None;
        while let Some(line) = lines.peek()? {
            let text = line.trim();
            if text.is_empty() {
                empty.get_or_insert_with(|| lines.number());
                lines.advance();
                continue;
            }
            if is_comment(text) || is_rule(text) {
                lines.advance();
                continue;
            }
            let fields = separator.row(line).filter(|fields| self.is_row(fields));
            let Some(fields) = fields else {
                let is_fence = text.starts_with("```");
                if is_named && (is_fence || empty.is_some() && self.is_other_text(lines)?) {
                    break;
                }
                return Err(lines.error(self.misfit()));
            };
            if let Some(empty) = empty.filter(|_| is_named) {
                return Err(ImportError::at(empty, self.misfit()));
            }
            let learned = fields.iter().filter(|field| !field.is_empty());
            let learned = learned.into_iter().try_for_each(|field| self.notation.learn(field));
            if let Err(why) = learned {
                return Err(lines.error(why));
            }
            let line = line.to_owned();
            let number = lines.number();
            lines.advance();
            bytes = bytes.saturating_add(line.len());
            open.push((number, line));
            if self.notation.is_open() && bytes <= MAX_OPEN {
                continue;
            }
            self.take(&mut open)?;
            bytes = 0;
        }
        self.take(&mut open)
    }

    /// Whether what follows an empty line is text that goes on without rows of this table, or a
    /// table of its own.
    fn is_other_text(&self, lines: &mut Lines<'_>) -> Result<bool, ImportError> {
        let ahead = ahead(lines)?;
        let ahead: Vec<&str> = ahead.iter().map(String::as_str).collect();
        if Layout::of(&ahead).is_some_and(|layout| layout.is_named()) {
            return Ok(true);
        }
        let separator = self.layout.separator;
        let is_row = |line: &&str| separator.row(line).is_some_and(|fields| self.is_row(&fields));
        let is_text = ahead.first().is_some_and(|line| {
            let text = line.trim();
            text.contains(' ')
                && !text.starts_with(|first: char| {
                    first.is_ascii_digit() || "+-.,;|<>\"".contains(first)
                })
        });
        Ok(is_text && !ahead.iter().any(is_row))
    }

    fn misfit(&self) -> String {
        format!("the row is not {} numbers as those above", self.layout.fields)
    }

    fn is_row(&self, fields: &[&str]) -> bool {
        match self.layout.separator.0 {
            Some(_) => fields.len() <= self.layout.fields,
            None => fields.len() == self.layout.fields,
        }
    }

    /// Takes the rows that were read so far.
    fn take(&mut self, rows: &mut Vec<(u64, String)>) -> Result<(), ImportError> {
        if let Some((line, _)) = rows.first().filter(|_| self.notation.is_open()) {
            return Err(ImportError::at(
                *line,
                "no number shows whether commas are decimal ones or set thousands apart: write \
                 points, or set columns apart by semicolons",
            ));
        }
        for (line, row) in rows.drain(..) {
            self.take_row(line, &row)?;
        }
        Ok(())
    }

    fn take_row(&mut self, line: u64, row: &str) -> Result<(), ImportError> {
        let error = |why: &str| ImportError::at(line, why);
        let too_large = || error("no latency is so large");
        let fields = self.layout.separator.split(row);
        let get = |column: usize| fields.get(column).copied().filter(|field| !field.is_empty());
        let mut time = None;
        let mut bucket = None;
        for (column, of) in self.uses.iter().enumerate() {
            match of {
                Use::Time(unit_ns) => {
                    let text = get(column).ok_or_else(|| error("the time is missing"))?;
                    let (now, _) = self.notation.read(text, *unit_ns).ok_or_else(too_large)?;
                    let (first, last) = self.times.unwrap_or((now, 0));
                    let since = now.checked_sub(first).filter(|since| *since >= last);
                    let since = since.ok_or_else(|| error("the time is before the one above"))?;
                    self.times = Some((first, since));
                    time = Some(since);
                }
                Use::Bucket(unit_ns) => {
                    let text = get(column).ok_or_else(|| error("the bucket is missing"))?;
                    let (value, decimals) =
                        self.notation.read(text, *unit_ns).ok_or_else(too_large)?;
                    self.resolutions[0] = self.resolutions[0].min(resolution(*unit_ns, decimals));
                    bucket = Some(value);
                }
                _ => {}
            }
        }
        for (column, of) in self.uses.iter().enumerate() {
            match *of {
                Use::Value { output, thread, unit_ns } => {
                    let Some(text) = get(column) else {
                        self.has_ended[column] = true;
                        continue;
                    };
                    if self.has_ended[column] {
                        return Err(error(
                            "the field above is empty: which rows it lacks is unknown",
                        ));
                    }
                    let (ns, decimals) = self.notation.read(text, unit_ns).ok_or_else(too_large)?;
                    let finest = &mut self.resolutions[output];
                    *finest = (*finest).min(resolution(unit_ns, decimals));
                    match time {
                        Some(time) => self.outputs[output].event(thread, time, ns)?,
                        None => self.outputs[output].sample(thread, ns)?,
                    }
                }
                Use::Count(thread) => {
                    let count = get(column).map_or(Some(0), whole);
                    let count = count.ok_or_else(|| error("the count is no whole number"))?;
                    let value = bucket.ok_or_else(too_large)?;
                    self.outputs[0].thread(thread)?.bucket(value, count);
                    if self.rows > MAX_BUCKETS {
                        return Err(error("no histogram has so many buckets"));
                    }
                }
                _ => {}
            }
        }
        self.rows += 1;
        Ok(())
    }

    fn finish(self, import: &mut Import<'_>) -> Result<(), ImportError> {
        let are_parts = self.outputs.len() > 1;
        let parts = PARTS.iter().zip(self.outputs).zip(self.resolutions);
        for ((part, mut output), resolution) in parts {
            output.resolution_ns = resolution;
            import.add_part(if are_parts { part } else { "" }, output)?;
        }
        Ok(())
    }
}

/// What values with so many decimals are whole multiples of.
fn resolution(unit_ns: i64, decimals: usize) -> i64 {
    let parts = u32::try_from(decimals).ok().and_then(|decimals| 10_i64.checked_pow(decimals));
    parts.map_or(1, |parts| (unit_ns / parts).max(1))
}

/// Makes a thread of a column.
fn put_thread(output: &mut Output, thread: usize, name: &str) -> Result<(), String> {
    if !name.is_empty() {
        output.say("column", name);
    }
    let thread = output.thread(thread).map_err(|error| error.to_string())?;
    thread.cpu = cpu(name).map(CpuId);
    Ok(())
}

#[cfg(test)]
mod tests;
