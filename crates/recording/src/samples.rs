// SPDX-License-Identifier: MIT OR Apache-2.0
//! The samples of one thread: an Arrow IPC stream with one row per due activation, or per event.
//!
//! Row k is activation k, planned at `start_ns + k x interval_ns`; its values are null where the
//! activation was skipped or its sample lost. So every sample keeps its place in time at the cost
//! of its values alone. Rows of events have their time, 64 bits, in front.
//!
//! A value beyond 32 bits (2.1 s) stands in the row as the nearest 32-bit value, and in full, with
//! its row and the number of its column, in a file `samples-<thread>-long.arrows`, which is written
//! first and exists only then.

use crate::RecordingError;
use crate::column::{Column, Values};
use crate::message::{ColumnSchema, Schema};
use crate::stream::{Stream, coalesce};
use model::{ProbeStatement, RowKind, Thread};
use std::collections::BTreeMap;
use std::fs::File;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Rows after which a batch is written without being asked for: bounds memory after a long stall.
const MAX_ROWS: usize = 1 << 16;

/// Latencies this near to zero surely fit 32 bits, which is found out for many at once.
const NEAR: i64 = 1 << 30;

/// Room for the rows of half a second at 5 kHz.
const FIRST_ROWS: usize = 2_560;

/// The most that a hundred rows of a finished file take per column: one that takes more is written
/// again in larger batches. At 1 ms, the batches of a run that may be cut off any moment cost 0.29
/// bytes a row on top of 4.13, which is what values and a validity bitmap take.
const MAX_BYTES_PER_HUNDRED_ROWS: u64 = 420;
/// The same of the times of events.
const MAX_TIME_BYTES_PER_HUNDRED_ROWS: u64 = 820;

/// The most that a hundred rows of a finished file take, with so many columns.
pub(crate) fn max_bytes_per_hundred_rows(columns: usize, rows: RowKind) -> u64 {
    columns as u64 * MAX_BYTES_PER_HUNDRED_ROWS
        + if rows == RowKind::Events { MAX_TIME_BYTES_PER_HUNDRED_ROWS } else { 0 }
}

/// The column of an event's time in the samples file: ns since `start_ns`.
const TIME: &str = "time_ns";

/// What the file of values beyond 32 bits says of each: its row, the number of its column from 0,
/// and the value.
const LONG_COLUMNS: [&str; 3] = ["row", "column", "value"];

/// `samples-0.arrows` -> `samples-0-long.arrows`.
pub(crate) fn long_path(path: &Path) -> PathBuf {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!("{stem}-long.arrows"))
}

/// What stands in the row of a value beyond 32 bits.
pub(crate) const fn stands_for(value: i64) -> i32 {
    if value < 0 { i32::MIN } else { i32::MAX }
}

/// Writes the samples of one thread.
pub struct SampleWriter {
    stream: Stream,
    /// Times of the events that are not on disk yet; none where rows were planned. 0 in rows
    /// without a sample.
    times: Option<Vec<i64>>,
    /// Values of the rows that are not on disk yet, column by column; 0 in rows without a sample.
    columns: Vec<Vec<i32>>,
    /// Which of them hold none, gap by gap.
    nulls: Vec<Range<usize>>,
    next_row: u64,
    long: Option<Stream>,
    long_values: [Vec<i64>; 3],
    /// Whether the file says something else of itself than when it was begun.
    is_relabelled: bool,
}

impl SampleWriter {
    /// Begins the samples file of one thread of this probe.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn create(
        path: &Path,
        thread: &Thread,
        probe: &ProbeStatement,
    ) -> Result<Self, RecordingError> {
        let is_timed = probe.rows == RowKind::Events;
        let time = is_timed.then(|| (TIME, Values::Int64(Vec::new())));
        let columns =
            probe.columns.iter().map(|column| (column.name.as_ref(), Values::Int32(Vec::new())));
        let schema = Schema {
            columns: schema_of(time.into_iter().chain(columns), true),
            labels: labels(thread),
        };
        Ok(SampleWriter {
            stream: Stream::create(path, &schema)?,
            times: is_timed.then(Vec::new),
            columns: probe.columns.iter().map(|_| Vec::with_capacity(FIRST_ROWS)).collect(),
            nulls: Vec::new(),
            next_row: 0,
            long: None,
            long_values: Default::default(),
            is_relabelled: false,
        })
    }

    /// Adds successive rows: column after column, times of events in front. Rows between them and
    /// those before have no sample.
    ///
    /// # Errors
    /// When a batch had to be written and could not be.
    // In a function of its own, or it is inlined into its caller, which is built for size: both
    // loops run for every sample.
    #[inline(never)]
    pub fn extend(&mut self, first_row: u64, values: &[i64]) -> Result<(), RecordingError> {
        if first_row > self.next_row {
            self.missing_until(first_row)?;
        }
        let rows = values.len() / (self.columns.len() + usize::from(self.times.is_some()));
        let mut columns = values.chunks_exact(rows.max(1));
        if let Some(times) = &mut self.times {
            times.extend_from_slice(columns.next().unwrap_or_default());
        }
        for (index, values) in columns.enumerate() {
            if !append_near(&mut self.columns[index], values) {
                self.extend_far(index, values);
            }
        }
        self.next_row += rows as u64;
        if self.buffered() >= MAX_ROWS { self.flush() } else { Ok(()) }
    }

    /// Rows that are not on disk yet.
    fn buffered(&self) -> usize {
        self.columns.first().map_or(0, Vec::len)
    }

    #[cold]
    fn extend_far(&mut self, column: usize, values: &[i64]) {
        for (row, value) in (self.next_row..).zip(values) {
            let stored = match i32::try_from(*value) {
                Ok(stored) if stored != i32::MIN && stored != i32::MAX => stored,
                _ => self.long(row, column, *value),
            };
            self.columns[column].push(stored);
        }
    }

    /// What stands in the row of a value beyond 32 bits. The two values that do are themselves
    /// written in full as well.
    fn long(&mut self, row: u64, column: usize, value: i64) -> i32 {
        let [rows, columns, values] = &mut self.long_values;
        rows.push(row.cast_signed());
        columns.push(i64::try_from(column).unwrap_or(i64::MAX));
        values.push(value);
        stands_for(value)
    }

    #[cold]
    fn missing_until(&mut self, row: u64) -> Result<(), RecordingError> {
        while self.next_row < row {
            let buffered = self.buffered();
            let rows_left = MAX_ROWS - buffered;
            let now =
                usize::try_from(row - self.next_row).map_or(rows_left, |rows| rows.min(rows_left));
            self.nulls.push(buffered..buffered + now);
            self.times.iter_mut().for_each(|times| times.resize(buffered + now, 0));
            self.columns.iter_mut().for_each(|column| column.resize(buffered + now, 0));
            self.next_row += now as u64;
            if buffered + now >= MAX_ROWS {
                self.flush()?;
            }
        }
        Ok(())
    }

    /// Writes what there is as a batch, so that it survives whatever happens next.
    ///
    /// # Errors
    /// When it cannot be written; the file then still ends on the last whole batch.
    pub fn flush(&mut self) -> Result<(), RecordingError> {
        if self.buffered() == 0 {
            return Ok(());
        }
        self.flush_long()?;
        let times = self.times.iter_mut().map(|times| Values::Int64(std::mem::take(times)));
        let columns = self
            .columns
            .iter_mut()
            .map(|rows| Values::Int32(std::mem::replace(rows, Vec::with_capacity(FIRST_ROWS))));
        let columns: Vec<Column> = times
            .chain(columns)
            .map(|values| Column { values, nulls: self.nulls.clone() })
            .collect();
        self.nulls.clear();
        self.stream.write(&columns)
    }

    fn flush_long(&mut self) -> Result<(), RecordingError> {
        if self.long_values[0].is_empty() {
            return Ok(());
        }
        let mut stream = match self.long.take() {
            Some(stream) => stream,
            None => {
                let columns = LONG_COLUMNS.map(|name| (name, Values::Int64(Vec::new())));
                let schema = Schema { columns: schema_of(columns, false), labels: BTreeMap::new() };
                Stream::create(&long_path(self.stream.path()), &schema)?
            }
        };
        let columns = self
            .long_values
            .each_mut()
            .map(|values| Column::new(Values::Int64(std::mem::take(values))));
        stream.write(&columns)?;
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
        self.stream.finish()?;
        let max = max_bytes_per_hundred_rows(
            self.columns.len(),
            if self.times.is_some() { RowKind::Events } else { RowKind::Activations },
        );
        if self.is_relabelled {
            coalesce(&self.stream)?;
        } else if self.stream.bytes() > self.next_row * max / 100 {
            // The file is whole as it is; if the disk is too full for a better one, it stays.
            let _ = coalesce(&self.stream);
        }
        Ok(())
    }

    /// Lets the file say of itself, once it is finished, what is known of its thread by now.
    pub fn relabel(&mut self, thread: &Thread) {
        self.is_relabelled |= self.stream.relabel(labels(thread));
    }

    /// The files there are so far, for the syncer. Another may come with the first latency beyond
    /// 32 bits.
    pub fn files(&self) -> impl Iterator<Item = &File> {
        self.long.iter().chain([&self.stream]).flat_map(Stream::files)
    }
}

/// Appends values that all lie near to zero, or none of them: whether they do.
#[inline(never)]
fn append_near(column: &mut Vec<i32>, values: &[i64]) -> bool {
    let (before, mut all) = (column.len(), 0);
    column.extend(values.iter().map(|value| {
        all |= value.wrapping_add(NEAR).cast_unsigned();
        #[expect(
            clippy::cast_possible_truncation,
            reason = "where it does not lie within 2^30 of zero, it is taken off again"
        )]
        let value = *value as i32;
        value
    }));
    let are_near = all >> 31 == 0;
    if !are_near {
        column.truncate(before);
    }
    are_near
}

/// By which a samples file says something of itself.
pub(crate) const LABELS: [&str; 4] =
    ["teiji.thread", "teiji.cpu", "teiji.start_ns", "teiji.interval_ns"];

/// What a samples file says of itself, so that it can be read without its folder.
pub(crate) fn labels(thread: &Thread) -> BTreeMap<String, String> {
    let cpu = if thread.pinned { thread.cpu.to_string() } else { String::new() };
    let values = [
        thread.index.to_string(),
        cpu,
        thread.start_ns.0.to_string(),
        thread.interval_ns.0.to_string(),
    ];
    LABELS.map(str::to_owned).into_iter().zip(values).collect()
}

fn schema_of<'a>(
    columns: impl IntoIterator<Item = (&'a str, Values)>,
    nullable: bool,
) -> Vec<ColumnSchema> {
    let column =
        |(name, values): (&str, Values)| ColumnSchema { name: name.to_owned(), values, nullable };
    columns.into_iter().map(column).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SampleFile;
    use crate::sums::sums_path;
    use model::Column;
    use plan::{CpuId, Nanos, Scheduling};
    use proptest::prelude::*;
    use stats::{Rows, Span};
    use std::fs::OpenOptions;

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

    fn open(path: &Path, cut: bool) -> Result<SampleFile, RecordingError> {
        SampleFile::open_column(path, 0, &ProbeStatement::cyclic(), cut)
    }

    fn thread() -> Thread {
        Thread::unmeasured(0, CpuId(1), Scheduling::OTHER, Nanos(1_000), Nanos(5))
    }

    /// A file that was never finished, and its length after each flush.
    fn write_unfinished(
        path: &Path,
        samples: &[(u64, i64)],
        flush_every: usize,
    ) -> (SampleWriter, Vec<u64>) {
        let mut writer = SampleWriter::create(path, &thread(), &ProbeStatement::cyclic()).unwrap();
        let mut lengths = vec![writer.stream.bytes()];
        for chunk in samples.chunks(flush_every) {
            chunk
                .iter()
                .for_each(|(activation, latency)| writer.extend(*activation, &[*latency]).unwrap());
            writer.flush().unwrap();
            lengths.push(writer.stream.bytes());
        }
        (writer, lengths)
    }

    fn write(path: &Path, samples: &[(u64, i64)], due: u64, flush_every: usize) {
        let (mut writer, _) = write_unfinished(path, samples, flush_every);
        writer.finish(due).unwrap();
    }

    fn some_samples() -> impl Strategy<Value = Vec<(u64, i64)>> {
        let latency = some_latency();
        proptest::collection::vec((1_u64..4, latency), 1..200).prop_map(|steps| {
            let mut activation = 0;
            steps
                .into_iter()
                .map(|(step, latency)| {
                    activation += step;
                    (activation, latency)
                })
                .collect()
        })
    }

    fn some_latency() -> impl Strategy<Value = i64> {
        prop_oneof![
            8 => 0_i64..100_000,
            1 => any::<i64>(),
            1 => Just(i64::from(i32::MAX)),
            1 => Just(i64::from(i32::MIN)),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]

        #[test]
        fn what_is_written_is_read(
            samples in some_samples(),
            every in 1_usize..50,
            more in 0_u64..5,
        ) {
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("samples-0.arrows");
            let due = samples.last().unwrap().0 + 1 + more;
            write(&path, &samples, due, every);
            prop_assert_eq!(read(&open(&path, false).unwrap()).unwrap(), (samples, due));
        }

        /// Cut anywhere: every batch that was flushed before the cut is there, and nothing else.
        #[test]
        fn cut_anywhere(samples in some_samples(), every in 1_usize..50, cut in 0.0..1.0_f64) {
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("samples-0.arrows");
            let (_, lengths) = write_unfinished(&path, &samples, every);
            let bytes = std::fs::metadata(&path).unwrap().len();
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                clippy::cast_precision_loss
            )]
            let cut = (bytes as f64 * cut) as u64;
            let cut = cut.max(lengths[0]);
            OpenOptions::new().write(true).open(&path).unwrap().set_len(cut).unwrap();
            let (found, _) = read(&open(&path, true).unwrap()).unwrap();
            let flushes = lengths.iter().filter(|end| **end <= cut).count().saturating_sub(1);
            prop_assert_eq!(found.as_slice(), &samples[..samples.len().min(flushes * every)]);
        }

        /// Foreign bytes: an error or some rows, never a panic.
        #[test]
        fn damaged_anywhere(samples in some_samples(), place in 0.0..1.0_f64, byte: u8) {
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("samples-0.arrows");
            write(&path, &samples, samples.last().unwrap().0 + 1, 20);
            let mut bytes = std::fs::read(&path).unwrap();
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                clippy::cast_precision_loss
            )]
            let place = (bytes.len() as f64 * place) as usize;
            bytes[place] = byte;
            std::fs::write(&path, bytes).unwrap();
            let _ = open(&path, false).and_then(|file| read(&file));
        }
    }

    /// The same at every byte of a small file, with rows that are null and latencies beyond 32
    /// bits.
    #[test]
    fn cut_at_every_byte() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("samples-0.arrows");
        let samples =
            [(0, 7), (1, -3), (4, 5_000_000_000), (9, 1), (10, 2), (30, i64::MIN), (31, 4)];
        let (_, lengths) = write_unfinished(&path, &samples, 2);
        let bytes = std::fs::read(&path).unwrap();
        assert_eq!(lengths.len(), 5, "a schema and four batches");
        for cut in 0..=bytes.len() {
            std::fs::write(&path, &bytes[..cut]).unwrap();
            let flushes =
                lengths.iter().filter(|end| **end <= cut as u64).count().saturating_sub(1);
            let found = samples.len().min(2 * flushes);
            let rows = if found == 0 { 0 } else { samples[found - 1].0 + 1 };
            let as_cut_off = open(&path, true).and_then(|file| read(&file));
            if (cut as u64) < lengths[0] {
                assert!(
                    as_cut_off.is_err(),
                    "cut at {cut}, within the schema, which is there before the run begins"
                );
            } else {
                assert_eq!(as_cut_off.unwrap(), (samples[..found].to_vec(), rows), "cut at {cut}");
            }
            assert!(
                open(&path, false).and_then(|file| read(&file)).is_err(),
                "cut at {cut}, read as a whole one"
            );
        }
    }

    /// Whichever bit is flipped, a file that was cut off is not taken for a good one, nor for one
    /// that merely ends earlier: by its sums, and without them wherever the bit is not of a
    /// value.
    #[test]
    fn cut_off_and_damaged_at_any_bit() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("samples-0.arrows");
        let samples: Vec<(u64, i64)> = (0..140_u64)
            .filter(|row| row % 7 > 0)
            .map(|row| (row, 900 + row.cast_signed()))
            .collect();
        let (_, lengths) = write_unfinished(&path, &samples, 30);
        let bytes = std::fs::read(&path).unwrap();
        let sums = std::fs::read(sums_path(&path)).unwrap();
        assert_eq!(sums.len(), 8 * lengths.len());
        // The last batch may be whole, or half of it not yet written, which is not read.
        for (end, whole, rows) in [
            (bytes.len(), bytes.len(), 140),
            (bytes.len() - 50, usize::try_from(lengths[3]).unwrap(), samples[89].0 + 1),
        ] {
            for has_sums in [true, false] {
                std::fs::write(sums_path(&path), if has_sums { sums.as_slice() } else { &[] })
                    .unwrap();
                let mut refused = 0;
                for (place, bit) in (0..end).flat_map(|place| {
                    (0..8).filter(|bit| !has_sums || *bit == 3).map(move |bit| (place, bit))
                }) {
                    let mut bytes = bytes[..end].to_vec();
                    bytes[place] ^= 1 << bit;
                    std::fs::write(&path, bytes).unwrap();
                    match open(&path, true).and_then(|file| read(&file)) {
                        Err(_) => refused += 1,
                        Ok((_, found)) => assert!(
                            found == rows && !(has_sums && place < whole),
                            "byte {place} of {lengths:?}, bit {bit}: {found} rows"
                        ),
                    }
                }
                assert!(refused > if has_sums { whole - 1 } else { 4_000 }, "{refused} refused");
            }
        }
    }

    /// What a power cut leaves of sums is used as far as it goes, and a batch that was not written
    /// to its end is no damage.
    #[test]
    fn sums_and_batches_after_a_power_cut() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("samples-0.arrows");
        let samples: Vec<(u64, i64)> = (0..60).map(|row| (row, 900)).collect();
        let (_, lengths) = write_unfinished(&path, &samples, 20);
        let (bytes, sums) =
            (std::fs::read(&path).unwrap(), std::fs::read(sums_path(&path)).unwrap());
        let rows = || {
            open(&path, true)
                .and_then(|file| read(&file))
                .map(|(_, rows)| rows)
                .map_err(|error| error.to_string())
        };
        for kept in [0, 8, 12, sums.len()] {
            std::fs::write(sums_path(&path), &sums[..kept]).unwrap();
            assert_eq!(rows(), Ok(60));
            // A file that was grown and not written.
            let grown = [&sums[..kept], &vec![0; sums.len() - kept]].concat();
            std::fs::write(sums_path(&path), grown).unwrap();
            assert_eq!(rows(), Ok(60));
        }
        std::fs::write(sums_path(&path), &sums).unwrap();
        let mut half = bytes.clone();
        half[bytes.len() - 40..].fill(0);
        std::fs::write(&path, half).unwrap();
        assert_eq!(rows(), Ok(40));
        let mut damaged = bytes;
        let end = usize::try_from(lengths[2]).unwrap();
        damaged[end - 40..end].fill(0);
        std::fs::write(&path, damaged).unwrap();
        let why = rows().unwrap_err();
        assert!(
            why.contains(
                "is damaged after row 20: a batch is not the one that was written. Its rows"
            ),
            "{why}"
        );
    }

    #[test]
    fn a_file_that_was_grown_and_not_written_was_cut_off() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("samples-0.arrows");
        write_unfinished(&path, &[(0, 7), (1, 8)], 2);
        let file = OpenOptions::new().write(true).open(&path).unwrap();
        let length = file.metadata().unwrap().len();
        for more in [1, 4, 8, 5_000] {
            file.set_len(length + more).unwrap();
            assert_eq!(read(&open(&path, true).unwrap()).unwrap().1, 2, "{more} zeros");
            assert!(read(&open(&path, false).unwrap()).is_err(), "{more} zeros");
        }
        let mut bytes = std::fs::read(&path).unwrap();
        *bytes.last_mut().unwrap() = 1;
        std::fs::write(&path, bytes).unwrap();
        let error = read(&open(&path, true).unwrap()).unwrap_err().to_string();
        assert!(
            error.ends_with(
                "is damaged after row 2: a message does not begin as one. Its rows before that \
                 can still be exported (teiji export --samples)"
            ),
            "{error}"
        );
    }

    /// A value beyond 32 bits is in two places, and neither says it alone.
    #[test]
    fn a_long_value_that_is_gone_or_too_much() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("samples-0.arrows");
        write_unfinished(&path, &[(0, 7), (1, 5_000_000_000), (2, 8)], 3);
        let long = long_path(&path);
        let refused = |what: &str| {
            for cut in [false, true] {
                let file = open(&path, cut).unwrap();
                let error = read(&file).unwrap_err().to_string();
                assert!(error.contains(what), "{error}");
                let error = crate::each_row(&[file], &mut |_| ()).unwrap_err().to_string();
                assert!(error.contains(what), "{error}");
            }
        };
        std::fs::rename(&long, dir.path().join("kept")).unwrap();
        refused(
            "the value of row 1 does not fit 32 bits, and samples-0-long.arrows does not have it",
        );
        std::fs::remove_file(&path).unwrap();
        write_unfinished(&path, &[(0, 7), (1, 6), (2, 8)], 3);
        let mut kept = std::fs::read(dir.path().join("kept")).unwrap();
        kept.extend([0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0]);
        std::fs::write(&long, kept).unwrap();
        refused("the value of row 1 fits 32 bits, and samples-0-long.arrows has another");
    }

    #[test]
    fn a_stall_of_many_rows_is_written_in_batches() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("samples-0.arrows");
        write(&path, &[(0, 5_000_000_000), (300_000, 7)], 300_001, 10);
        let (samples, rows) = read(&open(&path, false).unwrap()).unwrap();
        assert_eq!((samples, rows), (vec![(0, 5_000_000_000), (300_000, 7)], 300_001));
    }

    #[test]
    fn a_finished_file_costs_little_more_than_its_rows() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("samples-0.arrows");
        // Every hundredth activation was skipped.
        let woken = (0..10_000_u64).filter(|activation| activation % 100 != 50);
        let samples: Vec<(u64, i64)> = woken
            .map(|activation| (activation, 20_000 + (activation * 7_919 % 4_096).cast_signed()))
            .collect();
        let (mut writer, lengths) = write_unfinished(&path, &samples, 500);
        let before = lengths.last().unwrap();
        writer.finish(10_000).unwrap();
        let after = std::fs::metadata(&path).unwrap().len();
        assert!(after < *before && after <= 42_000, "{before} bytes, then {after}");
        assert_eq!(read(&open(&path, false).unwrap()).unwrap(), (samples, 10_000));
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1, "nothing else is left");
        let hint = open(&path, false).unwrap().size_hint();
        assert!((9_500..=10_000).contains(&hint), "{hint} rows from the size of the file");
    }

    /// Rows of several columns, with times, rows without a sample, and values beyond 32 bits in any
    /// of them: written, cut into batches, coalesced, and read column by column.
    #[test]
    fn events_of_two_columns() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("samples-0.arrows");
        let columns = vec![Column::ns("length_ns", ""), Column::ns("other_ns", "")];
        let probe = ProbeStatement {
            rows: RowKind::Events,
            columns,
            overrun_column: None,
            ..ProbeStatement::cyclic()
        };
        let mut writer = SampleWriter::create(&path, &thread(), &probe).unwrap();
        writer.extend(0, &[7_000_000_000, 7_000_000_500, 11, 5_000_000_000, -1, -2]).unwrap();
        writer.flush().unwrap();
        writer.extend(4, &[9_000_000_000, 12, i64::MIN]).unwrap();
        for row in 5..2_000 {
            writer.extend(row, &[9_000_000_000 + row.cast_signed(), 13, -3]).unwrap();
            writer.flush().unwrap();
        }
        writer.finish(2_001).unwrap();
        let open = |column| SampleFile::open_column(&path, column, &probe, false).unwrap();
        let (first, rows) = read(&open(0)).unwrap();
        assert_eq!((&first[..3], rows), (&[(0, 11), (1, 5_000_000_000), (4, 12)][..], 2_001));
        let (second, rows) = read(&open(1)).unwrap();
        assert_eq!(
            (&second[..3], rows, second.len()),
            (&[(0, -1), (1, -2), (4, i64::MIN)][..], 2_001, 1_998)
        );
        let mut rows = Vec::new();
        crate::each_row(&[open(0), open(1)], &mut |row| {
            rows.push((row.number, row.time_ns, row.values.to_vec()))
        })
        .unwrap();
        assert_eq!(rows[1], (1, Some(7_000_000_500), vec![Some(5_000_000_000), Some(-2)]));
        assert_eq!(
            (&rows[2], &rows[2_000]),
            (&(2, None, vec![None; 2]), &(2_000, None, vec![None; 2]))
        );
        assert_eq!(rows[4], (4, Some(9_000_000_000), vec![Some(12), Some(i64::MIN)]));
        assert_eq!(rows.len(), 2_001);
        assert!(read(&open(2)).unwrap_err().to_string().contains("column 2"));
        let bytes = std::fs::metadata(&path).unwrap().len();
        assert!(bytes < 2_001 * 17, "{bytes} bytes: written again in larger batches");
        // The schema is counted in, which makes out little of a file that is worth a hint.
        assert!(
            (1_900..=2_200).contains(&open(0).size_hint()),
            "{} rows from {bytes} bytes",
            open(0).size_hint()
        );
    }

    /// As arrow-rs 58.4.1 encoded the same rows: finished and in larger batches, and cut off.
    #[test]
    fn files_are_written_as_the_library_wrote_them() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("samples-0.arrows");
        let bytes = |path: &Path| std::fs::read(path).unwrap();
        let samples =
            [(0, 7), (1, -3), (4, 5_000_000_000), (9, 1), (10, 2), (30, i64::MIN), (31, 4)];
        let unfinished = write_unfinished(&path, &samples, 3);
        assert_eq!(bytes(&path), include_bytes!("streams/unfinished-0.arrows"));
        drop(unfinished);
        std::fs::remove_file(&path).unwrap();
        std::fs::remove_file(long_path(&path)).unwrap();
        write(&path, &samples, 40, 3);
        assert_eq!(bytes(&path), include_bytes!("streams/samples-0.arrows"));
        assert_eq!(bytes(&long_path(&path)), include_bytes!("streams/samples-0-long.arrows"));
    }
}
