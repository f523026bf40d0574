// SPDX-License-Identifier: MIT OR Apache-2.0
//! Parquet: the table that `--samples` writes as CSV, and run.json beside it. Pages are plain and
//! compressed by gzip, which every reader knows. The numbers of fields and types are those of the
//! public parquet.thrift, in thrift's compact protocol.

use super::csv::{RowNames, each_table_row};
use super::{ExportError, Source, varint};
use flate2::Compression;
use flate2::write::GzEncoder;
use std::io::{self, Write};

const MAGIC: &[u8] = b"PAR1";
/// Rows of a group, which is held in memory.
const GROUP: usize = 1 << 16;

/// Types of thrift.
const I32: u8 = 5;
const I64: u8 = 6;
const BINARY: u8 = 8;
const LIST: u8 = 9;
const STRUCT: u8 = 12;

/// Of parquet.thrift: `Type.INT64`, `FieldRepetitionType.OPTIONAL`, `Encoding.RLE`,
/// `CompressionCodec.GZIP`. `Encoding.PLAIN` and `PageType.DATA_PAGE` are 0.
const INT64: i64 = 2;
const OPTIONAL: i64 = 1;
const PLAIN: i64 = 0;
const RLE: i64 = 3;
const GZIP: i64 = 2;
const DATA_PAGE: i64 = 0;

/// A whole number of either sign.
fn number(to: &mut Vec<u8>, value: i64) {
    varint(to, ((value << 1) ^ (value >> 63)).cast_unsigned());
}

fn text(to: &mut Vec<u8>, text: &str) {
    varint(to, text.len() as u64);
    to.extend(text.as_bytes());
}

/// The header of a list.
fn list(to: &mut Vec<u8>, of: u8, length: usize) {
    match u8::try_from(length) {
        Ok(short @ 0..15) => to.push(short << 4 | of),
        _ => {
            to.push(0xf0 | of);
            varint(to, length as u64);
        }
    }
}

/// A struct of thrift: its fields, in the order of their numbers.
#[derive(Default)]
struct Struct {
    bytes: Vec<u8>,
    last: u8,
}

impl Struct {
    fn field(mut self, id: u8, kind: u8, write: impl FnOnce(&mut Vec<u8>)) -> Self {
        self.bytes.push((id - self.last) << 4 | kind);
        self.last = id;
        write(&mut self.bytes);
        self
    }

    fn number(self, id: u8, kind: u8, value: i64) -> Self {
        self.field(id, kind, |to| number(to, value))
    }

    fn text(self, id: u8, value: &str) -> Self {
        self.field(id, BINARY, |to| text(to, value))
    }

    fn inner(self, id: u8, value: Struct) -> Self {
        self.field(id, STRUCT, |to| to.extend(value.end()))
    }

    fn list(self, id: u8, of: Vec<Struct>) -> Self {
        self.field(id, LIST, |to| {
            list(to, STRUCT, of.len());
            of.into_iter().for_each(|one| to.extend(one.end()));
        })
    }

    fn end(mut self) -> Vec<u8> {
        self.bytes.push(0);
        self.bytes
    }
}

/// What is written so far, and the groups of it.
struct File<'a> {
    out: &'a mut dyn Write,
    length: i64,
    names: Vec<String>,
    /// Of each column the values of the group that is not written yet.
    columns: Vec<Vec<Option<i64>>>,
    groups: Vec<Struct>,
    rows: i64,
}

impl File<'_> {
    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.length += size(bytes);
        self.out.write_all(bytes)
    }

    fn add(&mut self, values: impl Iterator<Item = Option<i64>>) -> io::Result<()> {
        for (column, value) in self.columns.iter_mut().zip(values) {
            column.push(value);
        }
        if self.columns[0].len() == GROUP { self.end_group() } else { Ok(()) }
    }

    fn end_group(&mut self) -> io::Result<()> {
        let rows = size(&self.columns[0]);
        if rows == 0 {
            return Ok(());
        }
        let (mut chunks, mut total) = (Vec::new(), 0);
        for column in 0..self.columns.len() {
            let page = page(&self.columns[column]);
            self.columns[column].clear();
            let mut compressed = GzEncoder::new(Vec::new(), Compression::fast());
            compressed.write_all(&page)?;
            let compressed = compressed.finish()?;
            let of_data = Struct::default()
                .number(1, I32, rows)
                .number(2, I32, PLAIN)
                .number(3, I32, RLE)
                .number(4, I32, RLE);
            let header = Struct::default()
                .number(1, I32, DATA_PAGE)
                .number(2, I32, size(&page))
                .number(3, I32, size(&compressed))
                .inner(5, of_data)
                .end();
            let (begins, head) = (self.length, size(&header));
            self.put(&header)?;
            self.put(&compressed)?;
            total += head + size(&page);
            let about = Struct::default()
                .number(1, I32, INT64)
                .field(2, LIST, |to| {
                    list(to, I32, 2);
                    number(to, PLAIN);
                    number(to, RLE);
                })
                .field(3, LIST, |to| {
                    list(to, BINARY, 1);
                    text(to, &self.names[column]);
                })
                .number(4, I32, GZIP)
                .number(5, I64, rows)
                .number(6, I64, head + size(&page))
                .number(7, I64, head + size(&compressed))
                .number(9, I64, begins);
            chunks.push(Struct::default().number(2, I64, begins).inner(3, about));
        }
        let group = Struct::default().list(1, chunks).number(2, I64, total).number(3, I64, rows);
        self.groups.push(group);
        self.rows += rows;
        Ok(())
    }

    fn end(mut self, run_json: &str) -> io::Result<()> {
        self.end_group()?;
        let root = Struct::default().text(4, "teiji").number(5, I32, size(&self.names));
        let columns = self.names.iter().map(|name| {
            Struct::default().number(1, I32, INT64).number(3, I32, OPTIONAL).text(4, name)
        });
        let schema = [root].into_iter().chain(columns).collect();
        let run_json = Struct::default().text(1, "run.json").text(2, run_json);
        let footer = Struct::default()
            .number(1, I32, 1)
            .list(2, schema)
            .number(3, I64, self.rows)
            .list(4, std::mem::take(&mut self.groups))
            .list(5, vec![run_json])
            .text(6, concat!("teiji version ", env!("CARGO_PKG_VERSION")))
            .end();
        self.put(&footer)?;
        let length = u32::try_from(footer.len()).map_err(io::Error::other)?;
        self.put(&length.to_le_bytes())?;
        self.put(MAGIC)
    }
}

/// Levels of definition, which say where a value is, in runs; then the values.
fn page(column: &[Option<i64>]) -> Vec<u8> {
    let mut levels = Vec::new();
    for run in column.chunk_by(|one, next| one.is_some() == next.is_some()) {
        varint(&mut levels, (run.len() as u64) << 1);
        levels.push(u8::from(run[0].is_some()));
    }
    // A group is short.
    let length = u32::try_from(levels.len()).unwrap_or(u32::MAX);
    let mut page = length.to_le_bytes().to_vec();
    page.extend(levels);
    column.iter().flatten().for_each(|value| page.extend(value.to_le_bytes()));
    page
}

/// How many there are, as thrift has it.
fn size<T>(of: &[T]) -> i64 {
    i64::try_from(of.len()).unwrap_or(i64::MAX)
}

pub(super) fn write(source: &Source<'_>, out: &mut dyn Write) -> Result<Vec<String>, ExportError> {
    let document = source.recording.document();
    let RowNames { row, time } = RowNames::of(&document.probe);
    let names: Vec<String> = ["thread", "cpu", row, time]
        .into_iter()
        .chain(document.probe.columns.iter().map(|column| &*column.name))
        .map(str::to_owned)
        .collect();
    let columns = vec![Vec::new(); names.len()];
    let mut file = File { out, length: 0, names, columns, groups: Vec::new(), rows: 0 };
    file.put(MAGIC)?;
    each_table_row(source.recording, &mut |thread, row, time| {
        let cpu = document.probe.cpu_of(thread).map(|cpu| i64::from(cpu.0));
        let first = [i64::try_from(thread.index).ok(), cpu, i64::try_from(row.number).ok(), time];
        file.add(first.into_iter().chain(row.values.iter().copied()))
    })?;
    file.end(&serde_json::to_string(document).map_err(io::Error::other)?)?;
    Ok(Vec::new())
}
