// SPDX-License-Identifier: MIT OR Apache-2.0
//! The samples of one thread: an Arrow IPC stream with one row per due activation.
//!
//! Row k is activation k, planned at `start_ns + k x interval_ns`; its latency is null where the activation was skipped
//! or its sample lost. So every sample keeps its place in time at the cost of its latency alone.
//!
//! A latency beyond 32 bits (2.1 s) stands in the row as the nearest 32-bit value, and in full, with its row, in a file
//! `samples-<thread>-long.arrows`, which is written first and exists only then.

use crate::RecordingError;
use crate::frames::{Frame, Frames};
use arrow_array::builder::{ArrayBuilder, Int32Builder};
use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type};
use arrow_array::{Array, Int32Array, Int64Array, RecordBatch};
use arrow_ipc::writer::{IpcWriteOptions, StreamWriter};
use arrow_ipc::{CompressionType, MetadataVersion};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use plan::{CpuId, Nanos};
use stats::{Rows, Span};
use std::collections::{BTreeMap, HashMap};
use std::fs::{File, OpenOptions};
use std::io::{BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Rows after which a batch is written though nobody asked for it: bounds memory after a long stall.
const MOST_ROWS: usize = 1 << 16;

/// A stream of Arrow batches in a file that ends on a whole batch, whatever happens.
struct Stream {
    path: PathBuf,
    file: File,
    encoder: StreamWriter<Vec<u8>>,
    /// Bytes of the file that are whole batches.
    good: u64,
}

impl Stream {
    fn create(path: &Path, schema: &SchemaRef) -> Result<Self, RecordingError> {
        let file =
            OpenOptions::new().write(true).create_new(true).open(path).map_err(RecordingError::io("create", path))?;
        let options = IpcWriteOptions::try_new(8, false, MetadataVersion::V5)
            .and_then(|options| options.try_with_compression(Some(CompressionType::LZ4_FRAME)))
            .map_err(|error| arrow(path, 0, &error))?;
        let encoder =
            StreamWriter::try_new_with_options(Vec::new(), schema, options).map_err(|error| arrow(path, 0, &error))?;
        let mut stream = Stream { path: path.to_owned(), file, encoder, good: 0 };
        stream.write_out()?;
        Ok(stream)
    }

    fn write(&mut self, batch: &RecordBatch) -> Result<(), RecordingError> {
        self.encoder.write(batch).map_err(|error| arrow(&self.path, 0, &error))?;
        self.write_out()
    }

    fn finish(&mut self) -> Result<(), RecordingError> {
        self.encoder.finish().map_err(|error| arrow(&self.path, 0, &error))?;
        self.write_out()
    }

    /// Writes what the encoder holds, all of it or nothing.
    fn write_out(&mut self) -> Result<(), RecordingError> {
        let bytes = std::mem::take(self.encoder.get_mut());
        let written = self.file.write_all(&bytes);
        if let Err(source) = written {
            // Half a batch helps nobody; what was whole before stays.
            let _ = self.file.set_len(self.good).and_then(|()| self.file.seek(SeekFrom::Start(self.good)));
            return Err(RecordingError::Io { doing: "write to", path: self.path.clone(), source });
        }
        self.good += bytes.len() as u64;
        // The allocation is used again.
        *self.encoder.get_mut() = bytes;
        self.encoder.get_mut().clear();
        Ok(())
    }
}

fn arrow(path: &Path, rows: u64, error: &ArrowError) -> RecordingError {
    RecordingError::Samples { path: path.to_owned(), rows, why: error.to_string() }
}

/// `samples-0.arrows` -> `samples-0-long.arrows`.
fn long_path(path: &Path) -> PathBuf {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!("{stem}-long.arrows"))
}

/// Writes the samples of one thread.
pub struct SampleWriter {
    stream: Stream,
    schema: SchemaRef,
    rows: Int32Builder,
    next_row: u64,
    written_rows: u64,
    written_samples: u64,
    samples: u64,
    long: Option<Stream>,
    long_rows: Vec<(i64, i64)>,
}

impl SampleWriter {
    pub(crate) fn create(path: &Path, thread: usize, cpu: CpuId, start: Nanos, interval: Nanos) -> Result<Self, RecordingError> {
        let metadata = HashMap::from([
            ("teiji.thread".to_owned(), thread.to_string()),
            ("teiji.cpu".to_owned(), cpu.to_string()),
            ("teiji.start_ns".to_owned(), start.0.to_string()),
            ("teiji.interval_ns".to_owned(), interval.0.to_string()),
        ]);
        let field = Field::new("latency_ns", DataType::Int32, true);
        let schema = Arc::new(Schema::new_with_metadata(vec![field], metadata));
        Ok(SampleWriter {
            stream: Stream::create(path, &schema)?,
            schema,
            rows: Int32Builder::new(),
            next_row: 0,
            written_rows: 0,
            written_samples: 0,
            samples: 0,
            long: None,
            long_rows: Vec::new(),
        })
    }

    /// Adds the sample of an activation; activations between it and the one before become rows without a sample.
    ///
    /// # Errors
    /// When a batch had to be written and could not be.
    pub fn push(&mut self, activation: u64, latency_ns: i64) -> Result<(), RecordingError> {
        self.missing_until(activation)?;
        let stored = i32::try_from(latency_ns).unwrap_or(if latency_ns < 0 { i32::MIN } else { i32::MAX });
        // The two values that stand for "beyond 32 bits" are themselves written in full as well.
        if stored == i32::MIN || stored == i32::MAX {
            self.long_rows.push((self.next_row.cast_signed(), latency_ns));
        }
        self.rows.append_value(stored);
        self.samples += 1;
        self.row_added()
    }

    fn missing_until(&mut self, activation: u64) -> Result<(), RecordingError> {
        while self.next_row < activation {
            let room = (MOST_ROWS - self.rows.len()) as u64;
            let now = room.min(activation - self.next_row);
            self.rows.append_nulls(usize::try_from(now).unwrap_or(MOST_ROWS));
            self.next_row += now - 1;
            self.row_added()?;
        }
        Ok(())
    }

    fn row_added(&mut self) -> Result<(), RecordingError> {
        self.next_row += 1;
        if self.rows.len() >= MOST_ROWS { self.flush() } else { Ok(()) }
    }

    /// Writes what there is as a batch, so that it survives whatever happens next.
    ///
    /// # Errors
    /// When it cannot be written; the file then still ends on the last whole batch.
    pub fn flush(&mut self) -> Result<(), RecordingError> {
        if self.rows.is_empty() {
            return Ok(());
        }
        self.flush_long()?;
        let batch = RecordBatch::try_new(self.schema.clone(), vec![Arc::new(self.rows.finish())])
            .map_err(|error| arrow(&self.stream.path, self.written_rows, &error))?;
        self.stream.write(&batch)?;
        self.written_rows = self.next_row;
        self.written_samples = self.samples;
        Ok(())
    }

    fn flush_long(&mut self) -> Result<(), RecordingError> {
        if self.long_rows.is_empty() {
            return Ok(());
        }
        let fields = ["activation", "latency_ns"].map(|name| Field::new(name, DataType::Int64, false));
        let schema = Arc::new(Schema::new(fields.to_vec()));
        let mut stream = match self.long.take() {
            Some(stream) => stream,
            None => Stream::create(&long_path(&self.stream.path), &schema)?,
        };
        let (rows, latencies): (Vec<i64>, Vec<i64>) = self.long_rows.drain(..).unzip();
        let columns: Vec<Arc<dyn Array>> = vec![Arc::new(Int64Array::from(rows)), Arc::new(Int64Array::from(latencies))];
        let batch = RecordBatch::try_new(schema, columns).map_err(|error| arrow(&stream.path, 0, &error))?;
        stream.write(&batch)?;
        self.long = Some(stream);
        Ok(())
    }

    /// Ends the file: rows up to `due` without a sample are added.
    ///
    /// # Errors
    /// When the rest cannot be written.
    pub fn finish(&mut self, due: u64) -> Result<(), RecordingError> {
        self.missing_until(due)?;
        self.flush()?;
        if let Some(long) = &mut self.long {
            long.finish()?;
        }
        self.stream.finish()
    }

    /// Samples that have reached the file.
    #[must_use]
    pub const fn written_samples(&self) -> u64 {
        self.written_samples
    }
}

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
    /// Opens the samples of a recording; `cut` says that it may end anywhere.
    ///
    /// # Errors
    /// When the file is not there.
    pub fn open(path: &Path, cut: bool) -> Result<Self, RecordingError> {
        let bytes = std::fs::metadata(path).map_err(RecordingError::io("read", path))?.len();
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

    fn replay(&self, visit: &mut dyn FnMut(Span<'_>)) -> Result<(), RecordingError> {
        let mut row = 0_u64;
        let read = frames(&self.path, self.bytes)?.and_then(|mut frames| {
            if frames.schema().fields().len() != 1 || frames.schema().field(0).data_type() != &DataType::Int32 {
                return Err("one Int32 column, latency_ns, expected".to_owned());
            }
            while let Frame::Batch(batch) = frames.next()? {
                let latencies = batch.column(0).as_primitive::<Int32Type>();
                self.visit_batch(row, latencies, visit);
                row += latencies.len() as u64;
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
    fn visit_batch(&self, first: u64, latencies: &Int32Array, visit: &mut dyn FnMut(Span<'_>)) {
        let Some(nulls) = latencies.nulls().filter(|nulls| nulls.null_count() > 0) else {
            self.visit_woken(first, latencies.values(), visit);
            return;
        };
        let mut done = 0;
        for (start, end) in nulls.valid_slices() {
            if start > done {
                visit(Span::Missing((start - done) as u64));
            }
            self.visit_woken(first + start as u64, &latencies.values()[start..end], visit);
            done = end;
        }
        if done < latencies.len() {
            visit(Span::Missing((latencies.len() - done) as u64));
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// (activation, latency) of every sample, and the number of rows.
    fn read(file: &SampleFile) -> Result<(Vec<(u64, i64)>, u64), RecordingError> {
        let (mut samples, mut row) = (Vec::new(), 0);
        file.replay(&mut |span| match span {
            Span::Woken(values) => {
                samples.extend((row..).zip(values.iter().map(|v| i64::from(*v))));
                row += values.len() as u64;
            }
            Span::Long(value) => {
                samples.push((row, value));
                row += 1;
            }
            Span::Missing(rows) => row += rows,
        })?;
        Ok((samples, row))
    }

    fn write(path: &Path, samples: &[(u64, i64)], due: u64, flush_every: usize) -> Vec<u64> {
        let mut writer = SampleWriter::create(path, 0, CpuId(1), Nanos(5), Nanos(1_000)).unwrap();
        let mut good = vec![writer.stream.good];
        for chunk in samples.chunks(flush_every) {
            chunk.iter().for_each(|(activation, latency)| writer.push(*activation, *latency).unwrap());
            writer.flush().unwrap();
            good.push(writer.stream.good);
        }
        writer.finish(due).unwrap();
        assert_eq!(writer.written_samples(), samples.len() as u64);
        good
    }

    fn some_samples() -> impl Strategy<Value = Vec<(u64, i64)>> {
        let latency = some_latency();
        proptest::collection::vec((1_u64..4, latency), 1..200).prop_map(|steps| {
            let mut activation = 0;
            steps.into_iter().map(|(step, latency)| { activation += step; (activation, latency) }).collect()
        })
    }

    fn some_latency() -> impl Strategy<Value = i64> {
        prop_oneof![8 => 0_i64..100_000, 1 => any::<i64>(), 1 => Just(i64::from(i32::MAX)), 1 => Just(i64::from(i32::MIN))]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]

        #[test]
        fn what_is_written_is_read(samples in some_samples(), every in 1_usize..50, more in 0_u64..5) {
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("samples-0.arrows");
            let due = samples.last().unwrap().0 + 1 + more;
            write(&path, &samples, due, every);
            prop_assert_eq!(read(&SampleFile::open(&path, false).unwrap()).unwrap(), (samples, due));
        }

        /// Cut anywhere: every batch that was flushed before the cut is there, and nothing else.
        #[test]
        fn cut_anywhere(samples in some_samples(), every in 1_usize..50, cut in 0.0..1.0_f64) {
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("samples-0.arrows");
            let good = write(&path, &samples, samples.last().unwrap().0 + 1, every);
            let bytes = std::fs::metadata(&path).unwrap().len();
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss)]
            let cut = (bytes as f64 * cut) as u64;
            OpenOptions::new().write(true).open(&path).unwrap().set_len(cut).unwrap();
            let (found, _) = read(&SampleFile::open(&path, true).unwrap()).unwrap();
            let flushes = good.iter().filter(|end| **end <= cut).count().saturating_sub(1);
            prop_assert_eq!(found.as_slice(), &samples[..samples.len().min(flushes * every)]);
        }

        /// Foreign bytes: an error or some rows, never a panic.
        #[test]
        fn damaged_anywhere(samples in some_samples(), place in 0.0..1.0_f64, byte: u8) {
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("samples-0.arrows");
            write(&path, &samples, samples.last().unwrap().0 + 1, 20);
            let mut bytes = std::fs::read(&path).unwrap();
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss)]
            let place = (bytes.len() as f64 * place) as usize;
            bytes[place] = byte;
            std::fs::write(&path, bytes).unwrap();
            let _ = SampleFile::open(&path, false).and_then(|file| read(&file));
        }
    }

    #[test]
    fn a_stall_of_many_rows_is_written_in_pieces() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("samples-0.arrows");
        write(&path, &[(0, 5_000_000_000), (300_000, 7)], 300_001, 10);
        let (samples, rows) = read(&SampleFile::open(&path, false).unwrap()).unwrap();
        assert_eq!((samples, rows), (vec![(0, 5_000_000_000), (300_000, 7)], 300_001));
    }

    #[test]
    fn a_full_disk_leaves_whole_batches() {
        let mut stream = SampleWriter::create(Path::new("/dev/full"), 0, CpuId(0), Nanos(0), Nanos(1));
        assert!(stream.as_mut().is_err_and(|error| matches!(error, RecordingError::Io { .. })), "create_new on a device");
    }
}
