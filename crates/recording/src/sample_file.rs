// SPDX-License-Identifier: MIT OR Apache-2.0
//! The samples of one thread being read.

use crate::RecordingError;
use crate::column::{Column, Values};
use crate::decoder::Decoder;
use crate::samples::{long_path, max_bytes_per_hundred_rows};
use arrow_buffer::NullBuffer;
use model::ProbeStatement;
use stats::{Rows, Span};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufReader, ErrorKind, Read};
use std::path::{Path, PathBuf};

/// One column of the samples of one thread, to be read as often as needed. What is appended after opening is not seen, so that every
/// pass sees the same.
#[derive(Clone, Debug)]
pub struct SampleFile {
    path: PathBuf,
    bytes: u64,
    /// Which of the columns beside an event's time, from 0.
    column: usize,
    /// The most that a hundred rows take in a finished file.
    bytes_per_hundred_rows: u64,
    /// Values beyond 32 bits of that column, by row.
    long: BTreeMap<u64, i64>,
    /// Whether the end may be missing: then reading stops at the last whole batch.
    cut: bool,
}

impl SampleFile {
    /// What the file says of itself: thread, CPU, start and interval.
    ///
    /// # Errors
    /// When it cannot be read.
    pub(crate) fn labels(path: &Path) -> Result<BTreeMap<String, String>, RecordingError> {
        let damaged = |why| RecordingError::Samples { path: path.to_owned(), rows: 0, why };
        decoder(path, u64::MAX)?.map(|decoder| decoder.labels().clone()).map_err(damaged)
    }

    /// Opens one of the columns that a probe states; `cut` says that the file may end anywhere.
    ///
    /// # Errors
    /// When the file is not there.
    pub fn open_column(path: &Path, column: usize, probe: &ProbeStatement, cut: bool) -> Result<Self, RecordingError> {
        let bytes = match std::fs::metadata(path) {
            // Cut off after the document and before the samples.
            Err(error) if cut && error.kind() == ErrorKind::NotFound => 0,
            found => found.map_err(RecordingError::io("read", path))?.len(),
        };
        let long = long_path(path);
        let long = if long.exists() { read_long(&long, column, cut)? } else { BTreeMap::new() };
        let bytes_per_hundred_rows = max_bytes_per_hundred_rows(probe.columns.len(), probe.rows);
        Ok(SampleFile { path: path.to_owned(), bytes, column, bytes_per_hundred_rows, long, cut })
    }

    /// Hands the columns of each batch to `visit`, with the number of its first row.
    fn each_batch(&self, mut visit: impl FnMut(u64, &[Column]) -> Result<(), String>) -> Result<(), RecordingError> {
        if self.cut && self.bytes == 0 {
            return Ok(());
        }
        let mut row = 0_u64;
        let read = decoder(&self.path, self.bytes)?.and_then(|mut decoder| {
            // What is wrong with the columns is wrong with a file without batches too.
            visit(0, decoder.columns())?;
            while let Some(columns) = decoder.next()? {
                visit(row, columns)?;
                row += columns.first().map_or(0, |column| column.values.len()) as u64;
            }
            Ok(())
        });
        match read {
            Err(why) if !self.cut => Err(RecordingError::Samples { path: self.path.clone(), rows: row, why }),
            _ => Ok(()),
        }
    }
}

fn decoder(path: &Path, bytes: u64) -> Result<Result<Decoder<impl Read>, String>, RecordingError> {
    let file = File::open(path).map_err(RecordingError::io("read", path))?;
    Ok(Decoder::open(BufReader::with_capacity(1 << 18, file.take(bytes))))
}

fn read_long(path: &Path, column: usize, cut: bool) -> Result<BTreeMap<u64, i64>, RecordingError> {
    let mut latencies = BTreeMap::new();
    let read = decoder(path, u64::MAX)?.and_then(|mut decoder| {
        while let Some(columns) = decoder.next()? {
            let columns: &[Column; 3] = columns.try_into().map_err(|_| "three columns, row, column and value, expected")?;
            let [Values::Int64(rows), Values::Int64(of), Values::Int64(values)] = columns.each_ref().map(|column| &column.values)
            else {
                return Err("three Int64 columns, row, column and value, expected".to_owned());
            };
            let all = rows.iter().map(|row| row.cast_unsigned()).zip(of.iter().zip(values));
            let own = all.filter(|(_, (of, _))| usize::try_from(**of) == Ok(column));
            latencies.extend(own.map(|(row, (_, value))| (row, *value)));
        }
        Ok(())
    });
    match read {
        Err(why) if !cut => Err(RecordingError::Samples { path: path.to_owned(), rows: latencies.len() as u64, why }),
        _ => Ok(latencies),
    }
}

/// One row of a samples file.
pub struct Row<'a> {
    /// Its number.
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
pub fn each_row(columns: &[SampleFile], visit: &mut dyn FnMut(Row<'_>)) -> Result<(), RecordingError> {
    let Some(first) = columns.first() else { return Ok(()) };
    let mut values = vec![None; columns.len()];
    first.each_batch(|first_row, batch| {
        let decoded = columns.iter().map(|of| column(batch, of.column)).collect::<Result<Vec<_>, _>>()?;
        let times = match batch {
            [Column { values: Values::Int64(times), nulls }, ..] => Some((times, nulls)),
            _ => None,
        };
        for row in 0..batch.first().map_or(0, |column| column.values.len()) {
            let number = first_row + row as u64;
            for ((value, of), (stored, nulls)) in values.iter_mut().zip(columns).zip(&decoded) {
                let is_there = nulls.is_none_or(|nulls| nulls.is_valid(row));
                *value = is_there.then(|| of.long.get(&number).copied().unwrap_or_else(|| i64::from(stored[row])));
            }
            let known = |(times, nulls): &(&Vec<i64>, &Option<NullBuffer>)| {
                nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row)).then(|| times[row])
            };
            visit(Row { number, time_ns: times.as_ref().and_then(known), values: &values });
        }
        Ok(())
    })
}

/// One of the columns of a samples file; the time of events is not counted.
fn column(columns: &[Column], index: usize) -> Result<(&[i32], Option<&NullBuffer>), String> {
    let timed = usize::from(matches!(columns, [Column { values: Values::Int64(_), .. }, ..]));
    match columns.get(timed + index) {
        Some(Column { values: Values::Int32(values), nulls }) => Ok((values, nulls.as_ref())),
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
            let (values, nulls) = column(columns, self.column)?;
            self.visit_batch(first, values, nulls, visit);
            Ok(())
        })
    }
}

impl SampleFile {
    fn visit_batch(&self, first: u64, values: &[i32], nulls: Option<&NullBuffer>, visit: &mut dyn FnMut(Span<'_>)) {
        let Some(nulls) = nulls else {
            self.visit_woken(first, values, visit);
            return;
        };
        let mut done = 0;
        for (start, end) in nulls.valid_slices() {
            if start > done {
                visit(Span::Missing((start - done) as u64));
            }
            self.visit_woken(first + start as u64, &values[start..end], visit);
            done = end;
        }
        if done < values.len() {
            visit(Span::Missing((values.len() - done) as u64));
        }
    }

    fn visit_woken(&self, first: u64, mut values: &[i32], visit: &mut dyn FnMut(Span<'_>)) {
        let mut row = first;
        for (long_row, latency) in self.long.range(first..first + values.len() as u64) {
            let Ok(before) = usize::try_from(long_row - row) else { break };
            let (now, rest) = values.split_at(before);
            if !now.is_empty() {
                visit(Span::Woken(now));
            }
            visit(Span::Long(*latency));
            values = rest.get(1..).unwrap_or_default();
            row = long_row + 1;
        }
        if !values.is_empty() {
            visit(Span::Woken(values));
        }
    }
}
