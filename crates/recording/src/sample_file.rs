// SPDX-License-Identifier: MIT OR Apache-2.0
//! The samples of one thread being read.

use crate::RecordingError;
use crate::column::{Column, Values};
use crate::decoder::Decoder;
use crate::samples::long_path;
use arrow_buffer::NullBuffer;
use stats::{Rows, Span};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufReader, ErrorKind, Read};
use std::path::{Path, PathBuf};

/// 4, and what batches cost that hold half a second or more.
const MAX_BYTES_PER_ROW: u64 = 5;

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
        decoder(path, u64::MAX)?.map(|decoder| decoder.labels().clone()).map_err(damaged)
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

fn decoder(path: &Path, bytes: u64) -> Result<Result<Decoder<impl Read>, String>, RecordingError> {
    let file = File::open(path).map_err(RecordingError::io("read", path))?;
    Ok(Decoder::open(BufReader::with_capacity(1 << 18, file.take(bytes))))
}

fn read_long(path: &Path, cut: bool) -> Result<BTreeMap<u64, i64>, RecordingError> {
    let mut latencies = BTreeMap::new();
    let read = decoder(path, u64::MAX)?.and_then(|mut decoder| {
        while let Some(columns) = decoder.next()? {
            let [Column { values: Values::Int64(rows), .. }, Column { values: Values::Int64(values), .. }] = columns else {
                return Err("two Int64 columns, activation and latency_ns, expected".to_owned());
            };
            latencies.extend(rows.iter().map(|row| row.cast_unsigned()).zip(values.iter().copied()));
        }
        Ok(())
    });
    match read {
        Err(why) if !cut => Err(RecordingError::Samples { path: path.to_owned(), rows: latencies.len() as u64, why }),
        _ => Ok(latencies),
    }
}

/// The one column of a samples file.
pub(crate) fn latencies(columns: &[Column]) -> Result<(&[i32], Option<&NullBuffer>), String> {
    match columns {
        [Column { values: Values::Int32(values), nulls }] => Ok((values, nulls.as_ref())),
        _ => Err("one Int32 column, latency_ns, expected".to_owned()),
    }
}

impl Rows for SampleFile {
    type Error = RecordingError;

    fn size_hint(&self) -> u64 {
        self.bytes / MAX_BYTES_PER_ROW
    }

    fn replay(&self, visit: &mut dyn FnMut(Span<'_>)) -> Result<(), RecordingError> {
        if self.cut && self.bytes == 0 {
            return Ok(());
        }
        let mut row = 0_u64;
        let read = decoder(&self.path, self.bytes)?.and_then(|mut decoder| {
            latencies(decoder.columns())?;
            while let Some(columns) = decoder.next()? {
                let (values, nulls) = latencies(columns)?;
                self.visit_batch(row, values, nulls, visit);
                row += values.len() as u64;
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
