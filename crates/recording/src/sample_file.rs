// SPDX-License-Identifier: MIT OR Apache-2.0
//! The samples of one thread being read.

use crate::RecordingError;
use crate::column::Column;
use crate::frames::{Frame, Frames};
use crate::samples::long_path;
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use stats::{Rows, Span};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufReader, ErrorKind, Read};
use std::path::{Path, PathBuf};

/// 4, and what batches cost that hold half a second or more.
const MOST_BYTES_PER_ROW: u64 = 5;

/// The samples of one thread, to be read as often as needed. What is appended after opening is not seen, so that every
/// pass sees the same.
#[derive(Clone, Debug)]
pub struct SampleFile {
    path: PathBuf,
    bytes: u64,
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
        frames(path, u64::MAX)?.map(|frames| frames.labels().clone()).map_err(damaged)
    }

    /// Opens the samples of a recording; `cut` says that it may end anywhere.
    ///
    /// # Errors
    /// When the file is not there.
    pub fn open(path: &Path, cut: bool) -> Result<Self, RecordingError> {
        let bytes = match std::fs::metadata(path) {
            // Cut off after the document and before the samples.
            Err(error) if cut && error.kind() == ErrorKind::NotFound => 0,
            found => found.map_err(RecordingError::io("read", path))?.len(),
        };
        let long = long_path(path);
        let long = if long.exists() { read_long(&long, cut)? } else { BTreeMap::new() };
        Ok(SampleFile { path: path.to_owned(), bytes, long, cut })
    }
}

fn frames(path: &Path, bytes: u64) -> Result<Result<Frames<impl Read>, String>, RecordingError> {
    let file = File::open(path).map_err(RecordingError::io("read", path))?;
    Ok(Frames::open(BufReader::with_capacity(1 << 18, file.take(bytes))))
}

fn read_long(path: &Path, cut: bool) -> Result<BTreeMap<u64, i64>, RecordingError> {
    let mut found = BTreeMap::new();
    let read = frames(path, u64::MAX)?.and_then(|mut frames| {
        while let Frame::Batch(batch) = frames.next()? {
            let columns: Vec<_> = batch.columns().iter().map(|c| c.as_primitive_opt::<Int64Type>()).collect();
            let &[Some(rows), Some(latencies)] = columns.as_slice() else { return Err("two Int64 columns expected".to_owned()) };
            found.extend(rows.values().iter().map(|row| row.cast_unsigned()).zip(latencies.values().iter().copied()));
        }
        Ok(())
    });
    match read {
        Err(why) if !cut => Err(RecordingError::Samples { path: path.to_owned(), rows: found.len() as u64, why }),
        _ => Ok(found),
    }
}

impl Rows for SampleFile {
    type Error = RecordingError;

    fn size_hint(&self) -> u64 {
        self.bytes / MOST_BYTES_PER_ROW
    }

    fn replay(&self, visit: &mut dyn FnMut(Span<'_>)) -> Result<(), RecordingError> {
        if self.cut && self.bytes == 0 {
            return Ok(());
        }
        let mut row = 0_u64;
        let read = frames(&self.path, self.bytes)?.and_then(|mut frames| {
            if !frames.is_one_column() {
                return Err("one Int32 column, latency_ns, expected".to_owned());
            }
            let mut column = Column::new();
            while frames.next_column(&mut column)? {
                self.visit_batch(row, &column, visit);
                row += column.values.len() as u64;
            }
            Ok(())
        });
        match read {
            Err(why) if !self.cut => Err(RecordingError::Samples { path: self.path.clone(), rows: row, why }),
            _ => Ok(()),
        }
    }
}

impl SampleFile {
    fn visit_batch(&self, first: u64, latencies: &Column, visit: &mut dyn FnMut(Span<'_>)) {
        let rows = latencies.values.len();
        let Some(nulls) = latencies.nulls.as_ref().filter(|nulls| nulls.null_count() > 0) else {
            self.visit_woken(first, &latencies.values, visit);
            return;
        };
        let mut done = 0;
        for (start, end) in nulls.valid_slices() {
            if start > done {
                visit(Span::Missing((start - done) as u64));
            }
            self.visit_woken(first + start as u64, &latencies.values[start..end], visit);
            done = end;
        }
        if done < rows {
            visit(Span::Missing((rows - done) as u64));
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
