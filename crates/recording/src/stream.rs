// SPDX-License-Identifier: MIT OR Apache-2.0
//! An Arrow IPC stream being written to a file that ends on a whole batch, whatever happens.

use crate::RecordingError;
use crate::column::Column;
use crate::decoder::{Broken, Decoder};
use crate::message::{Schema, write_batch, write_end, write_schema};
use crate::sums::{SumsWriter, sums_path};
use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{BufReader, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

pub(crate) struct Stream {
    path: PathBuf,
    file: File,
    schema: Schema,
    /// What is encoded and not yet written, so that the file gets a batch in one piece.
    encoded: Vec<u8>,
    /// Bytes of the file that are whole batches.
    good: u64,
    /// Until it has come to its end.
    sums: Option<SumsWriter>,
}

impl Stream {
    /// A new file that holds the schema, and the sums of what it will hold.
    pub(crate) fn create(path: &Path, schema: &Schema) -> Result<Self, RecordingError> {
        let sums =
            SumsWriter::create(path).map_err(RecordingError::io("create", &sums_path(path)))?;
        Stream::begin(path, schema, Some(sums))
    }

    fn begin(
        path: &Path,
        schema: &Schema,
        sums: Option<SumsWriter>,
    ) -> Result<Self, RecordingError> {
        let file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(path)
            .map_err(RecordingError::io("create", path))?;
        let mut stream = Stream {
            path: path.to_owned(),
            file,
            schema: schema.clone(),
            encoded: Vec::new(),
            good: 0,
            sums,
        };
        write_schema(schema, &mut stream.encoded);
        stream.write_out()?;
        Ok(stream)
    }

    pub(crate) fn write(&mut self, columns: &[Column]) -> Result<(), RecordingError> {
        write_batch(columns, &mut self.encoded);
        self.write_out()
    }

    /// Writes the mark that says the stream is whole. From here on the figures of the recording say
    /// whether it is.
    pub(crate) fn finish(&mut self) -> Result<(), RecordingError> {
        write_end(&mut self.encoded);
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

    /// Changes what the file says of itself, which [`coalesce`] then writes. Whether it differs.
    pub(crate) fn relabel(&mut self, labels: BTreeMap<String, String>) -> bool {
        std::mem::replace(&mut self.schema.labels, labels) != self.schema.labels
    }

    /// Bytes of whole batches in the file.
    pub(crate) const fn bytes(&self) -> u64 {
        self.good
    }

    /// Writes all that was encoded or none of it.
    fn write_out(&mut self) -> Result<(), RecordingError> {
        let bytes = &mut self.encoded;
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

fn rewrite(old: &Path, new: &Path, schema: &Schema) -> Result<(), RecordingError> {
    let damaged = |broken: Broken| RecordingError::Samples {
        path: old.to_owned(),
        rows: 0,
        why: broken.why(),
    };
    let file = File::open(old).map_err(RecordingError::io("read", old))?;
    let mut decoder = Decoder::open(BufReader::new(file)).map_err(damaged)?;
    let mut larger = Stream::begin(new, schema, None)?;
    let mut grown: Vec<Column> =
        decoder.columns().iter().map(|column| Column::new(column.values.empty())).collect();
    let rows = |grown: &[Column]| grown.first().map_or(0, |column| column.values.len());
    while let Some(columns) = decoder.next().map_err(damaged)? {
        grown.iter_mut().zip(columns).for_each(|(grown, column)| grown.append(column));
        if rows(&grown) >= ROWS_WHEN_WHOLE {
            larger.write(&grown)?;
            grown.iter_mut().for_each(Column::clear);
        }
    }
    if rows(&grown) > 0 {
        larger.write(&grown)?;
    }
    larger.finish()?;
    // On the disk before it takes the old one's place, or a power cut might leave neither.
    larger.file.sync_all().map_err(RecordingError::io("write", new))
}
