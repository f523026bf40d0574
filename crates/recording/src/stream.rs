// SPDX-License-Identifier: MIT OR Apache-2.0
//! An Arrow IPC stream being written to a file that ends on a whole batch, whatever happens.

use crate::RecordingError;
use crate::column::{Column, Values};
use crate::decoder::{Broken, Decoder};
use crate::sums::{SumsWriter, sums_path};
use arrow_array::{ArrayRef, Int32Array, Int64Array, RecordBatch};
use arrow_buffer::{NullBuffer, NullBufferBuilder};
use arrow_ipc::MetadataVersion;
use arrow_ipc::writer::{IpcWriteOptions, StreamWriter};
use arrow_schema::{ArrowError, SchemaRef};
use std::fs::{self, File, OpenOptions};
use std::io::{BufReader, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Messages and buffers begin at multiples of this: the least the format allows. With the library's
/// own choice, 64, a batch of 500 rows takes 96 bytes more.
const ALIGNMENT: usize = 8;

pub(crate) struct Stream {
    path: PathBuf,
    file: File,
    schema: SchemaRef,
    /// Encodes into memory, so that the file gets a batch in one piece.
    encoder: StreamWriter<Vec<u8>>,
    /// Bytes of the file that are whole batches.
    good: u64,
    /// Until it has come to its end.
    sums: Option<SumsWriter>,
}

impl Stream {
    /// A new file that holds the schema, and the sums of what it will hold.
    pub(crate) fn create(path: &Path, schema: &SchemaRef) -> Result<Self, RecordingError> {
        let sums =
            SumsWriter::create(path).map_err(RecordingError::io("create", &sums_path(path)))?;
        Stream::begin(path, schema, Some(sums))
    }

    fn begin(
        path: &Path,
        schema: &SchemaRef,
        sums: Option<SumsWriter>,
    ) -> Result<Self, RecordingError> {
        let file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(path)
            .map_err(RecordingError::io("create", path))?;
        let encoder = IpcWriteOptions::try_new(ALIGNMENT, false, MetadataVersion::V5)
            .and_then(|options| StreamWriter::try_new_with_options(Vec::new(), schema, options))
            .map_err(|error| unencodable(path, &error))?;
        let mut stream = Stream {
            path: path.to_owned(),
            file,
            schema: Arc::clone(schema),
            encoder,
            good: 0,
            sums,
        };
        stream.write_out()?;
        Ok(stream)
    }

    pub(crate) fn write(&mut self, columns: Vec<ArrayRef>) -> Result<(), RecordingError> {
        let encoded = RecordBatch::try_new(Arc::clone(&self.schema), columns)
            .and_then(|batch| self.encoder.write(&batch));
        encoded.map_err(|error| unencodable(&self.path, &error))?;
        self.write_out()
    }

    /// Writes the mark that says the stream is whole. From here on the figures of the recording say
    /// whether it is.
    pub(crate) fn finish(&mut self) -> Result<(), RecordingError> {
        self.encoder.finish().map_err(|error| unencodable(&self.path, &error))?;
        self.write_out()?;
        let removed = self.sums.take().map_or(Ok(()), SumsWriter::remove);
        removed.map_err(RecordingError::io("remove", &sums_path(&self.path)))
    }

    /// The files, for the syncer.
    pub(crate) fn files(&self) -> impl Iterator<Item = &File> {
        self.sums.iter().map(SumsWriter::file).chain([&self.file])
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Bytes of whole batches in the file.
    pub(crate) const fn bytes(&self) -> u64 {
        self.good
    }

    /// Writes all that was encoded or none of it.
    fn write_out(&mut self) -> Result<(), RecordingError> {
        let bytes = self.encoder.get_mut();
        let length = bytes.len() as u64;
        let summed = self.sums.as_mut().map_or(Ok(()), |sums| sums.add(bytes));
        let written = summed.and_then(|()| self.file.write_all(bytes));
        bytes.clear();
        if let Err(source) = written {
            // Half a batch is useless; what was whole before stays.
            let _ = self
                .file
                .set_len(self.good)
                .and_then(|()| self.file.seek(SeekFrom::Start(self.good)));
            return Err(RecordingError::Io { doing: "write to", path: self.path.clone(), source });
        }
        self.good += length;
        Ok(())
    }
}

fn unencodable(path: &Path, error: &ArrowError) -> RecordingError {
    RecordingError::Samples { path: path.to_owned(), rows: 0, why: error.to_string() }
}

/// Rows of a batch of a file that need not fear to be cut off.
const ROWS_WHEN_WHOLE: usize = 1 << 16;

/// Puts a finished stream in larger batches into the place of itself. The old file stays until the
/// new one is whole.
pub(crate) fn coalesce(stream: &Stream) -> Result<(), RecordingError> {
    let path = stream.path();
    let new_path = path.with_extension("arrows.new");
    let result = rewrite(path, &new_path, &stream.schema).and_then(|()| {
        fs::rename(&new_path, path).map_err(RecordingError::io("put in place", path))
    });
    if result.is_err() {
        let _ = fs::remove_file(&new_path);
    }
    result
}

pub(crate) fn array(values: Values, nulls: Option<NullBuffer>) -> ArrayRef {
    match values {
        Values::Int32(values) => Arc::new(Int32Array::new(values.into(), nulls)),
        Values::Int64(values) => Arc::new(Int64Array::new(values.into(), nulls)),
    }
}

struct Growing {
    values: Values,
    validity: NullBufferBuilder,
}

impl Growing {
    fn append(&mut self, column: &Column) {
        match (&mut self.values, &column.values) {
            (Values::Int32(all), Values::Int32(more)) => all.extend_from_slice(more),
            (Values::Int64(all), Values::Int64(more)) => all.extend_from_slice(more),
            // A decoder's columns keep their types.
            _ => {}
        }
        match &column.nulls {
            Some(nulls) => self.validity.append_buffer(nulls),
            None => self.validity.append_n_non_nulls(column.values.len()),
        }
    }

    /// What there is, as a column of a batch; it begins anew.
    fn finish_array(&mut self) -> ArrayRef {
        let empty = self.values.empty();
        array(std::mem::replace(&mut self.values, empty), self.validity.finish())
    }
}

fn rewrite(old: &Path, new: &Path, schema: &SchemaRef) -> Result<(), RecordingError> {
    let damaged = |broken: Broken| RecordingError::Samples {
        path: old.to_owned(),
        rows: 0,
        why: broken.why(),
    };
    let file = File::open(old).map_err(RecordingError::io("read", old))?;
    let mut decoder = Decoder::open(BufReader::new(file)).map_err(damaged)?;
    let mut larger = Stream::begin(new, schema, None)?;
    let growing = |column: &Column| Growing {
        values: column.values.empty(),
        validity: NullBufferBuilder::new(0),
    };
    let mut grown: Vec<Growing> = decoder.columns().iter().map(growing).collect();
    let rows = |grown: &[Growing]| grown.first().map_or(0, |column| column.values.len());
    while let Some(columns) = decoder.next().map_err(damaged)? {
        grown.iter_mut().zip(columns).for_each(|(grown, column)| grown.append(column));
        if rows(&grown) >= ROWS_WHEN_WHOLE {
            larger.write(grown.iter_mut().map(Growing::finish_array).collect())?;
        }
    }
    if rows(&grown) > 0 {
        larger.write(grown.iter_mut().map(Growing::finish_array).collect())?;
    }
    larger.finish()?;
    // On the disk before it takes the old one's place, or a power cut might leave neither.
    larger.file.sync_all().map_err(RecordingError::io("write", new))
}
