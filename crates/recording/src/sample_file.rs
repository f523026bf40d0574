// SPDX-License-Identifier: MIT OR Apache-2.0
//! The samples of one thread being read.

use crate::RecordingError;
use crate::checked::checked;
use crate::column::{Column, Values};
use crate::contents::open_file;
use crate::decoder::Broken;
use crate::long_values::LongValues;
use crate::samples::{labels, long_path, max_bytes_per_hundred_rows, stands_for};
use model::{ProbeStatement, Thread};
use stats::{Rows, Span};
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// What is still good for something in a file that is damaged further on.
const EXPORTABLE: &str = "Its rows before that can still be exported (teiji export --samples)";

/// One column of the samples of one thread, to be read as often as needed. What is appended after
/// opening is not seen, so that every pass sees the same.
#[derive(Clone, Debug)]
pub struct SampleFile {
    path: PathBuf,
    bytes: u64,
    /// Which of the columns beside an event's time, from 0.
    column: usize,
    /// The most that a hundred rows take in a finished file.
    bytes_per_hundred_rows: u64,
    /// Values beyond 32 bits of that column.
    long: LongValues,
    /// Whether the end may be missing: then reading stops at the last whole batch.
    cut: bool,
}

impl SampleFile {
    /// What the file says of itself: thread, CPU, start and interval.
    ///
    /// # Errors
    /// When it cannot be read.
    pub(crate) fn labels(path: &Path) -> Result<BTreeMap<String, String>, RecordingError> {
        let damaged = |broken: Broken| RecordingError::Samples {
            path: path.to_owned(),
            rows: 0,
            why: broken.why(),
        };
        checked(path, u64::MAX, false)?
            .map(|stream| stream.decoder.labels().clone())
            .map_err(damaged)
    }

    /// Whether the file says of itself what `run.json` says of its thread.
    ///
    /// # Errors
    /// When it does not, or cannot be read.
    pub(crate) fn check_labels(path: &Path, thread: &Thread) -> Result<(), RecordingError> {
        let found = SampleFile::labels(path)?;
        let (label, recorded) = match labels(thread)
            .into_iter()
            .find(|(label, recorded)| found.get(label) != Some(recorded))
        {
            None => return Ok(()),
            Some(differs) => differs,
        };
        let own = found.get(&label).map_or("nothing", String::as_str);
        let why = format!("it says that {label} is {own}, and run.json that it is {recorded}");
        Err(RecordingError::Samples { path: path.to_owned(), rows: 0, why })
    }

    /// Opens one of the columns that a probe states; `cut` says that the file may end after any
    /// byte behind its schema, which is written before there is a document that names the file.
    ///
    /// # Errors
    /// When the file is not there.
    pub fn open_column(
        path: &Path,
        column: usize,
        probe: &ProbeStatement,
        cut: bool,
    ) -> Result<Self, RecordingError> {
        let bytes = open_file(path)?.metadata().map_err(RecordingError::io("read", path))?.len();
        let long = long_path(path);
        let long = if long.exists() {
            LongValues::read(&long, column, cut)?
        } else {
            LongValues::default()
        };
        let bytes_per_hundred_rows = max_bytes_per_hundred_rows(probe.columns.len(), probe.rows);
        Ok(SampleFile { path: path.to_owned(), bytes, column, bytes_per_hundred_rows, long, cut })
    }

    /// Hands the columns of each batch to `visit`, with the number of its first row.
    fn each_batch(
        &self,
        mut visit: impl FnMut(u64, &[Column]) -> Result<(), String>,
    ) -> Result<(), RecordingError> {
        let mut row = 0_u64;
        let mut has_schema = false;
        let read = checked(&self.path, self.bytes, self.cut)?.and_then(|mut stream| {
            has_schema = true;
            // What is wrong with the columns is wrong with a file without batches too.
            visit(0, stream.decoder.columns())?;
            while let Some(columns) = stream.next()? {
                visit(row, columns)?;
                row += columns.first().map_or(0, |column| column.values.len()) as u64;
            }
            Ok(())
        });
        let why = match read {
            Ok(()) => return Ok(()),
            Err(Broken::Unfinished(_)) if self.cut && has_schema => return Ok(()),
            Err(broken) if row == 0 => broken.why(),
            Err(broken) => format!("{}. {EXPORTABLE}", broken.why()),
        };
        Err(RecordingError::Samples { path: self.path.clone(), rows: row, why })
    }
}

/// One row of a samples file.
pub struct Row<'a> {
    pub number: u64,
    /// Of an event, ns since the thread's start; none where it is not known or rows were planned.
    pub time_ns: Option<i64>,
    /// A value for each column asked for; none where it has none.
    pub values: &'a [Option<i64>],
}

/// Hands every row of these columns, which are of one file, to `visit`, in order.
///
/// # Errors
/// When the samples cannot be read.
pub fn each_row(
    columns: &[SampleFile],
    visit: &mut dyn FnMut(Row<'_>),
) -> Result<(), RecordingError> {
    let Some(first) = columns.first() else { return Ok(()) };
    let mut values = vec![None; columns.len()];
    first.each_batch(|first_row, batch| {
        let decoded =
            columns.iter().map(|of| column(batch, of.column)).collect::<Result<Vec<_>, _>>()?;
        let times = batch.first().and_then(|column| match &column.values {
            Values::Int64(times) => Some((column, times)),
            Values::Int32(_) => None,
        });
        for row in 0..batch.first().map_or(0, |column| column.values.len()) {
            let number = first_row + row as u64;
            for ((value, of), (column, stored)) in values.iter_mut().zip(columns).zip(&decoded) {
                *value = column.has(row).then(|| of.value(number, stored[row])).transpose()?;
            }
            let time_ns = times.filter(|(column, _)| column.has(row)).map(|(_, times)| times[row]);
            visit(Row { number, time_ns, values: &values });
        }
        Ok(())
    })
}

/// One of the columns of a samples file; the time of events is not counted.
fn column(columns: &[Column], index: usize) -> Result<(&Column, &[i32]), String> {
    let timed = usize::from(matches!(columns, [Column { values: Values::Int64(_), .. }, ..]));
    match columns.get(timed + index) {
        Some(column @ Column { values: Values::Int32(values), .. }) => Ok((column, values)),
        _ => Err(format!("column {index} is not there, or not of 32-bit integers")),
    }
}

impl Rows for SampleFile {
    type Error = RecordingError;

    fn size_hint(&self) -> u64 {
        // Of a file that was cut off the batches are smaller.
        let certain = if self.cut { 80 } else { 100 };
        self.bytes.saturating_mul(certain).checked_div(self.bytes_per_hundred_rows).unwrap_or(0)
    }

    fn replay(&self, visit: &mut dyn FnMut(Span<'_>)) -> Result<(), RecordingError> {
        self.each_batch(|first, columns| {
            let (column, values) = column(columns, self.column)?;
            self.visit_batch(first, values, &column.nulls, visit)
        })
    }
}

impl SampleFile {
    /// The value of a row: in its place, or among those beyond 32 bits.
    fn value(&self, row: u64, stored: i32) -> Result<i64, String> {
        match self.long.of_row(row) {
            Some(value) if stored == stands_for(value) => Ok(value),
            None if !matches!(stored, i32::MIN | i32::MAX) => Ok(i64::from(stored)),
            _ => Err(self.long_differs(row)),
        }
    }

    #[cold]
    fn long_differs(&self, row: u64) -> String {
        let long = long_path(&self.path);
        let name = long.file_name().unwrap_or_default().display();
        match self.long.of_row(row).is_some() {
            true => format!("the value of row {row} fits 32 bits, and {name} has another"),
            false => {
                format!("the value of row {row} does not fit 32 bits, and {name} does not have it")
            }
        }
    }

    fn visit_batch(
        &self,
        first: u64,
        values: &[i32],
        nulls: &[Range<usize>],
        visit: &mut dyn FnMut(Span<'_>),
    ) -> Result<(), String> {
        let mut done = 0;
        for gap in nulls {
            if gap.start > done {
                self.visit_woken(first + done as u64, &values[done..gap.start], visit)?;
            }
            visit(Span::Missing(gap.len() as u64));
            done = gap.end;
        }
        if done < values.len() {
            self.visit_woken(first + done as u64, &values[done..], visit)?;
        }
        Ok(())
    }

    fn visit_woken(
        &self,
        first: u64,
        mut values: &[i32],
        visit: &mut dyn FnMut(Span<'_>),
    ) -> Result<(), String> {
        let mut row = first;
        for (long_row, latency) in self.long.of_rows(first, values.len()) {
            let Some((now, [stored, rest @ ..])) =
                usize::try_from(long_row - row).ok().and_then(|at| values.split_at_checked(at))
            else {
                break;
            };
            self.visit_near(row, now, visit)?;
            if *stored != stands_for(*latency) {
                return Err(self.long_differs(*long_row));
            }
            visit(Span::Long(*latency));
            values = rest;
            row = long_row + 1;
        }
        self.visit_near(row, values, visit)
    }

    /// Values of rows that all fit 32 bits.
    fn visit_near(
        &self,
        first: u64,
        values: &[i32],
        visit: &mut dyn FnMut(Span<'_>),
    ) -> Result<(), String> {
        if has_stand_in(values) {
            let place =
                values.iter().position(|value| matches!(*value, i32::MIN | i32::MAX)).unwrap_or(0);
            return Err(self.long_differs(first + place as u64));
        }
        if !values.is_empty() {
            visit(Span::Woken(values));
        }
        Ok(())
    }
}

/// Whether one of them stands for a value beyond 32 bits. Without branches, because it is asked of
/// every sample.
#[inline(never)]
fn has_stand_in(values: &[i32]) -> bool {
    values.iter().fold(false, |found, value| found | (*value == i32::MIN) | (*value == i32::MAX))
}
