// SPDX-License-Identifier: MIT OR Apache-2.0
//! Plain columns of latencies, as spreadsheets and scripts write them. A file that is nothing but
//! such a table is taken, and a table whose heading names latencies or a unit; nothing that stands
//! in a log by chance.

mod layout;
mod names;
mod notation;

use self::layout::{Layout, MAX_ABOVE, ROWS_ALIKE, is_comment, is_rule};
use self::names::{Holds, cpu, holds, is_of_cpus, is_of_figure, kind};
use self::notation::Notation;
use super::numbers::whole;
use super::output::of_thread;
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
    /// The number of the row.
    Index,
    /// Which thread the row is of.
    Thread,
    /// Its CPU.
    Cpu,
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
    /// Its first line.
    begin: u64,
    /// Those that rows are of, where a column says it.
    threads: Vec<OfRows>,
    /// By column, the last value as long as each was above the one before.
    rising: Vec<Option<i64>>,
    /// The last bin, and how far two that follow one another are apart at least, where bins are
    /// said to be some.
    bins: Option<(Option<i64>, i64)>,
}

/// A thread by what columns say of its rows.
struct OfRows {
    thread: Option<u64>,
    cpu: Option<u64>,
    /// The number of its last row.
    index: Option<u64>,
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
        let asked = (!import.is_unit_open()).then(|| import.unit_ns(1));
        let all = layout.holds(asked.is_some());
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
        for column in with(Holds::Index) {
            uses[column] = Use::Index;
        }
        let rows_of: Vec<usize> = with(Holds::Threads);
        // Of a thread and its CPU the thread says which rows are together.
        let thread = rows_of.iter().find(|column| !is_of_cpus(layout.name(**column)));
        for column in &rows_of {
            uses[*column] = if is_of_cpus(layout.name(*column)) { Use::Cpu } else { Use::Thread };
        }
        if rows_of.len() > 2 || rows_of.len() == 2 && thread.is_none() {
            return Err("several columns say which thread a row is of".to_owned());
        }
        let program = if time.is_some() { &TIMED } else { &ROWS };
        let mut outputs = Vec::new();
        if let ([bucket], [_, ..]) = (&buckets[..], &counts[..]) {
            let Some(unit_ns) = unit(*bucket) else { return Ok(None) };
            if !rows_of.is_empty() {
                return Err("counts of several threads stand below one another".to_owned());
            }
            let mut output = begun(import, program, begin);
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
                    Err("no heading names a latency".to_owned())
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
            if !rows_of.is_empty() && used.len() > 1 {
                return Err("rows of several threads have more than one latency".to_owned());
            }
            for (index, (column, unit_ns)) in used.iter().enumerate() {
                let (output, thread) = if are_threads { (0, index) } else { (index, 0) };
                if outputs.len() <= output {
                    outputs.push(begun(import, program, begin));
                }
                if rows_of.is_empty() {
                    put_thread(&mut outputs[output], thread, layout.name(*column))?;
                } else {
                    outputs[output].say("column", layout.name(*column));
                }
                uses[*column] = Use::Value { output, thread, unit_ns: *unit_ns };
            }
        }
        for output in &mut outputs {
            for text in &layout.texts {
                output.say("heading", text);
            }
            for (column, name) in layout.names.iter().enumerate() {
                let is_left_out = matches!(uses[column], Use::Nothing) && !name.is_empty();
                if is_left_out {
                    output.say("column left out", name);
                }
            }
        }
        let rising = vec![Some(i64::MIN); layout.fields];
        // A latency by its name is one, and no bin.
        let is_bin = |(column, name): (usize, &String)| {
            matches!(uses[column], Use::Bucket(_)) && holds(name) == Holds::Buckets
        };
        let bins = layout.names.iter().enumerate().any(is_bin).then_some((None, i64::MAX));
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
            begin,
            threads: Vec::new(),
            rising,
            bins,
        }))
    }

    /// Reads the rows. A table that nothing names is all of its file.
    fn read(&mut self, lines: &mut Lines<'_>, is_named: bool) -> Result<(), ImportError> {
        let separator = self.layout.separator;
        // Rows that are not read before it is known how their numbers are written.
        let (mut open, mut bytes): (Vec<(u64, String)>, usize) = (Vec::new(), 0);
        // An empty line is its end, or the place of a row that is missing.
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
            if let Some(empty) = empty {
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
        match self.layout.fields {
            1 => "the row is no number as those above".to_owned(),
            fields => format!("the row is not {fields} numbers as those above"),
        }
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
        let row_of = self.thread_of(line, &fields)?;
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
                    if let Some((last, width)) = &mut self.bins {
                        let apart =
                            last.replace(value).map_or(0, |last| value.saturating_sub(last));
                        *width = if apart > 0 { apart.min(*width) } else { *width };
                    }
                }
                _ => {}
            }
        }
        for (column, of) in self.uses.iter().enumerate() {
            match *of {
                Use::Value { output, thread, unit_ns } => {
                    let thread = row_of.unwrap_or(thread);
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
                    if let Some(rising) = self.rising.get_mut(column) {
                        *rising = rising.filter(|last| self.rows == 0 || *last < ns).map(|_| ns);
                    }
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

    /// The thread that a row is of, where a column says it. Rows of each follow one another.
    fn thread_of(&mut self, line: u64, fields: &[&str]) -> Result<Option<usize>, ImportError> {
        let error = |why: String| ImportError::at(line, why);
        let number = |column: usize| {
            let text = fields.get(column).copied().unwrap_or_default();
            whole(text).ok_or_else(|| error(format!("'{text}' is no whole number")))
        };
        let (mut thread, mut cpu, mut indices) = (None, None, Vec::new());
        for (column, of) in self.uses.iter().enumerate() {
            match of {
                Use::Thread => thread = Some(number(column)?),
                // It is empty where the thread was on no certain one.
                Use::Cpu if fields.get(column).is_some_and(|text| text.is_empty()) => {}
                Use::Cpu => cpu = Some(number(column)?),
                Use::Index => indices.push(number(column)?),
                _ => {}
            }
        }
        let is_said = self.uses.iter().any(|of| matches!(of, Use::Thread | Use::Cpu));
        let is_it =
            |of: &OfRows| if thread.is_some() { of.thread == thread } else { of.cpu == cpu };
        let known = self.threads.iter().position(is_it);
        let at = known.unwrap_or(self.threads.len());
        if known.is_none() {
            if is_said {
                let pinned = cpu.and_then(|cpu| u32::try_from(cpu).ok()).map(CpuId);
                self.outputs[0].thread(at)?.cpu = pinned;
            }
            self.threads.push(OfRows { thread, cpu, index: None });
        }
        let of = &mut self.threads[at];
        if of.cpu != cpu {
            return Err(error("the thread is on another CPU than in its rows above".to_owned()));
        }
        if let Some(index) = indices.first() {
            if let Some(last) = of.index.filter(|last| last.checked_add(1) != Some(*index)) {
                return Err(error(format!("the row's number {index} does not follow {last}")));
            }
            of.index = Some(*index);
        }
        Ok(is_said.then_some(at))
    }

    /// Whether it may be something else, as all of its rows show: values that only rise are the
    /// numbers of rows, or buckets of the counts beside them.
    fn is_doubtful(&self) -> Result<(), ImportError> {
        let is_rising =
            |(of, last): (&Use, &Option<i64>)| matches!(of, Use::Value { .. }) && last.is_some();
        if !self.uses.iter().zip(&self.rising).any(is_rising) || self.layout.fields == 1 {
            return Ok(());
        }
        let error = |why: &str| Err(ImportError::at(self.begin, why));
        if self.layout.names.is_empty() {
            return error(
                "a column may be the number of the row: headings have to name the columns",
            );
        }
        if self.uses.iter().any(|of| matches!(of, Use::Nothing)) {
            return error(
                "it may be a histogram, as each latency is above the last: counts need the heading \
                 'count'",
            );
        }
        Ok(())
    }

    fn finish(mut self, import: &mut Import<'_>) -> Result<(), ImportError> {
        self.is_doubtful()?;
        if let Some((_, width)) = self.bins.filter(|(_, width)| *width < i64::MAX) {
            // A bin is called by its lower end.
            let buckets = self.outputs[0].threads.iter_mut().flat_map(|of| &mut of.buckets);
            buckets.for_each(|of| of.upper = of.lower.saturating_add(width - self.resolutions[0]));
        }
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

/// A table says nothing of the program that measured.
fn begun(import: &mut Import<'_>, program: &'static Program, line: u64) -> Output {
    let mut output = import.output(program, line);
    output.is_of_unknown_program = true;
    output
}

/// Makes a thread of a column.
fn put_thread(output: &mut Output, thread: usize, name: &str) -> Result<(), String> {
    if !name.is_empty() {
        output.say(&of_thread(thread, "name"), name);
    }
    let thread = output.thread(thread).map_err(|error| error.to_string())?;
    thread.cpu = cpu(name).map(CpuId);
    Ok(())
}

#[cfg(test)]
mod tests;
