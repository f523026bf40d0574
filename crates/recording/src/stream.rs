// SPDX-License-Identifier: MIT OR Apache-2.0
//! An Arrow IPC stream being written to a file that ends on a whole batch, whatever happens.

use crate::RecordingError;
use crate::decoder::Decoder;
use crate::message;
use crate::sample_file::latencies;
use arrow_array::{Int32Array, RecordBatch};
use arrow_buffer::{NullBuffer, NullBufferBuilder};
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{ArrowError, SchemaRef};
use std::fs::{self, File, OpenOptions};
use std::io::{BufReader, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A stream of batches.
pub(crate) struct Stream {
    path: PathBuf,
    file: File,
    /// Bytes of the file that are whole batches.
    good: u64,
}

impl Stream {
    /// A new file that holds the schema.
    pub(crate) fn create(path: &Path, schema: &SchemaRef) -> Result<Self, RecordingError> {
        let file = OpenOptions::new().write(true).create_new(true).open(path).map_err(RecordingError::io("create", path))?;
        let head = StreamWriter::try_new(Vec::new(), schema).map_err(|error| unencodable(path, &error))?;
        let mut stream = Stream { path: path.to_owned(), file, good: 0 };
        stream.write_out(head.get_ref())?;
        Ok(stream)
    }

    /// Adds a batch.
    pub(crate) fn write(&mut self, batch: &RecordBatch) -> Result<(), RecordingError> {
        let message = message::encode(batch).map_err(|error| unencodable(&self.path, &error))?;
        self.write_out(&message)
    }

    /// Adds a batch of one column.
    pub(crate) fn write_column(
        &mut self,
        schema: &SchemaRef,
        values: Vec<i32>,
        nulls: Option<NullBuffer>,
    ) -> Result<(), RecordingError> {
        let column = Arc::new(Int32Array::new(values.into(), nulls));
        let batch = RecordBatch::try_new(schema.clone(), vec![column]).map_err(|error| self.unencodable(&error))?;
        self.write(&batch)
    }

    /// Writes the mark that says the stream is whole.
    pub(crate) fn finish(&mut self) -> Result<(), RecordingError> {
        self.write_out(&message::end_mark())
    }

    /// The file, for whoever forces it to the disk.
    pub(crate) const fn file(&self) -> &File {
        &self.file
    }

    /// Where it lies.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Bytes of whole batches in the file.
    pub(crate) const fn bytes(&self) -> u64 {
        self.good
    }

    /// The library will not encode it.
    pub(crate) fn unencodable(&self, error: &ArrowError) -> RecordingError {
        unencodable(&self.path, error)
    }

    /// Writes all of these bytes or none of them.
    fn write_out(&mut self, bytes: &[u8]) -> Result<(), RecordingError> {
        if let Err(source) = self.file.write_all(bytes) {
            // Half a batch helps nobody; what was whole before stays.
            let _ = self.file.set_len(self.good).and_then(|()| self.file.seek(SeekFrom::Start(self.good)));
            return Err(RecordingError::Io { doing: "write to", path: self.path.clone(), source });
        }
        self.good += bytes.len() as u64;
        Ok(())
    }
}

fn unencodable(path: &Path, error: &ArrowError) -> RecordingError {
    RecordingError::Samples { path: path.to_owned(), rows: 0, why: error.to_string() }
}

/// Rows of a batch of a file that need not fear to be cut off.
const ROWS_WHEN_WHOLE: usize = 1 << 16;

/// Puts a finished stream in larger batches into the place of itself. The old file stays until the new one is whole.
pub(crate) fn coalesce(stream: &Stream, schema: &SchemaRef) -> Result<(), RecordingError> {
    let path = stream.path();
    let new_path = path.with_extension("arrows.new");
    let result = rewrite(path, &new_path, schema)
        .and_then(|()| fs::rename(&new_path, path).map_err(RecordingError::io("put in place", path)));
    if result.is_err() {
        let _ = fs::remove_file(&new_path);
    }
    result
}

fn rewrite(old: &Path, new: &Path, schema: &SchemaRef) -> Result<(), RecordingError> {
    let damaged = |why| RecordingError::Samples { path: old.to_owned(), rows: 0, why };
    let file = File::open(old).map_err(RecordingError::io("read", old))?;
    let mut decoder = Decoder::open(BufReader::new(file)).map_err(damaged)?;
    let mut larger = Stream::create(new, schema)?;
    let (mut rows, mut validity) = (Vec::new(), NullBufferBuilder::new(0));
    while let Some(columns) = decoder.next().map_err(damaged)? {
        let (values, nulls) = latencies(columns).map_err(damaged)?;
        rows.extend_from_slice(values);
        match nulls {
            Some(nulls) => validity.append_buffer(nulls),
            None => validity.append_n_non_nulls(values.len()),
        }
        if rows.len() >= ROWS_WHEN_WHOLE {
            larger.write_column(schema, std::mem::take(&mut rows), validity.finish())?;
        }
    }
    if !rows.is_empty() {
        larger.write_column(schema, rows, validity.finish())?;
    }
    larger.finish()?;
    // On the disk before it takes the old one's place, or a power cut might leave neither.
    larger.file.sync_all().map_err(RecordingError::io("write", new))
}
