// SPDX-License-Identifier: MIT OR Apache-2.0
//! The messages of an Arrow IPC stream of whole numbers: how they are encoded, and the numbers of
//! their fields. Schemas: `Message.fbs` and `Schema.fbs` of Apache Arrow.

use crate::column::{Column, Values};
use crate::flatbuffer::{Builder, Place, Value};
use std::collections::BTreeMap;

/// In front of every message.
pub(crate) const CONTINUATION: u32 = 0xFFFF_FFFF;
/// Messages and buffers begin at multiples of this: the least the format allows. With 64, which
/// others choose, a batch of 500 rows takes 96 bytes more.
const ALIGNMENT: usize = 8;
/// The version of messages.
pub(crate) const V5: i16 = 4;

pub(crate) mod envelope {
    pub(crate) const VERSION: usize = 0;
    pub(crate) const HEADER_TYPE: usize = 1;
    pub(crate) const HEADER: usize = 2;
    pub(crate) const BODY_LENGTH: usize = 3;
    pub(crate) const LABELS: usize = 4;

    /// Types of header.
    pub(crate) const SCHEMA: u8 = 1;
    pub(crate) const BATCH: u8 = 3;
}

pub(crate) mod schema {
    /// 0: the bytes of a number from the lowest on.
    pub(crate) const BYTE_ORDER: usize = 0;
    pub(crate) const FIELDS: usize = 1;
    pub(crate) const LABELS: usize = 2;
}

pub(crate) mod label {
    pub(crate) const KEY: usize = 0;
    pub(crate) const VALUE: usize = 1;
}

pub(crate) mod field {
    pub(crate) const NAME: usize = 0;
    pub(crate) const NULLABLE: usize = 1;
    pub(crate) const TYPE: usize = 2;
    pub(crate) const TYPE_TABLE: usize = 3;
    pub(crate) const DICTIONARY: usize = 4;
    pub(crate) const CHILDREN: usize = 5;
    pub(crate) const LABELS: usize = 6;

    /// The type of whole numbers, and the fields of its table.
    pub(crate) const INT: u8 = 2;
    pub(crate) const BITS: usize = 0;
    pub(crate) const IS_SIGNED: usize = 1;
}

pub(crate) mod batch {
    pub(crate) const ROWS: usize = 0;
    /// Of each column its rows, and how many of them are null.
    pub(crate) const NODES: usize = 1;
    /// Of each buffer its place in the body, and its length.
    pub(crate) const BUFFERS: usize = 2;
    pub(crate) const COMPRESSION: usize = 3;

    /// The field of the table of compression, and its value for LZ4.
    pub(crate) const CODEC: usize = 0;
    pub(crate) const LZ4: u8 = 0;
}

/// The columns of a stream, and what it says of itself.
#[derive(Clone, Debug, Default)]
pub(crate) struct Schema {
    pub(crate) columns: Vec<ColumnSchema>,
    pub(crate) labels: BTreeMap<String, String>,
}

#[derive(Clone, Debug)]
pub(crate) struct ColumnSchema {
    pub(crate) name: String,
    /// Of this type; without rows.
    pub(crate) values: Values,
    pub(crate) nullable: bool,
}

/// Writes the first message of a stream.
pub(crate) fn write_schema(schema: &Schema, into: &mut Vec<u8>) {
    let mut builder = Builder::default();
    let columns: Vec<Place> =
        schema.columns.iter().map(|column| column_schema(&mut builder, column)).collect();
    let mut fields = vec![(schema::FIELDS, Value::At(builder.tables(&columns)))];
    if !schema.labels.is_empty() {
        let labels: Vec<Place> = schema
            .labels
            .iter()
            .map(|(key, value)| {
                let (key, value) = (builder.text(key), builder.text(value));
                builder.table(&[(label::KEY, Value::At(key)), (label::VALUE, Value::At(value))])
            })
            .collect();
        fields.push((schema::LABELS, Value::At(builder.tables(&labels))));
    }
    let header = builder.table(&fields);
    write_message(builder, envelope::SCHEMA, 0, header, into);
}

fn column_schema(builder: &mut Builder, column: &ColumnSchema) -> Place {
    let name = builder.text(&column.name);
    let children = builder.tables(&[]);
    let bits = if matches!(column.values, Values::Int32(_)) { 32 } else { 64 };
    let whole_numbers =
        builder.table(&[(field::IS_SIGNED, Value::Byte(1)), (field::BITS, Value::Int(bits))]);
    let nullable = column.nullable.then_some((field::NULLABLE, Value::Byte(1)));
    let fields = [(field::NAME, Value::At(name)), (field::TYPE, Value::Byte(field::INT))]
        .into_iter()
        .chain(nullable)
        .chain([
            (field::CHILDREN, Value::At(children)),
            (field::TYPE_TABLE, Value::At(whole_numbers)),
        ]);
    builder.table(&fields.collect::<Vec<_>>())
}

/// Writes a batch of rows: columns of the same length.
pub(crate) fn write_batch(columns: &[Column], into: &mut Vec<u8>) {
    let rows = columns.first().map_or(0, |column| column.values.len());
    let (mut nodes, mut buffers, mut body) = (Vec::new(), Vec::new(), 0);
    for column in columns {
        nodes.push((number(rows), number(column.null_rows())));
        let validity = if column.nulls.is_empty() { 0 } else { rows.div_ceil(8) };
        for length in [validity, rows * column.values.width()] {
            buffers.push((number(body), number(length)));
            body += length.next_multiple_of(ALIGNMENT);
        }
    }
    let mut builder = Builder::default();
    let (buffers, nodes) = (builder.pairs(&buffers), builder.pairs(&nodes));
    let header = builder.table(&[
        (batch::ROWS, Value::Long(number(rows))),
        (batch::NODES, Value::At(nodes)),
        (batch::BUFFERS, Value::At(buffers)),
    ]);
    write_message(builder, envelope::BATCH, body, header, into);
    for column in columns {
        column.write_validity(into);
        pad(into);
        column.values.write(into);
        pad(into);
    }
}

/// Writes the mark at the end of a stream.
pub(crate) fn write_end(into: &mut Vec<u8>) {
    into.extend([CONTINUATION.to_le_bytes(), [0; 4]].as_flattened());
}

/// Writes all of a message but its body, of so many bytes.
pub(crate) fn write_message(
    mut builder: Builder,
    header_type: u8,
    body: usize,
    header: Place,
    into: &mut Vec<u8>,
) {
    let body = (body > 0).then_some((envelope::BODY_LENGTH, Value::Long(number(body))));
    let fields: Vec<_> =
        [(envelope::VERSION, Value::Short(V5)), (envelope::HEADER_TYPE, Value::Byte(header_type))]
            .into_iter()
            .chain(body)
            .chain([(envelope::HEADER, Value::At(header))])
            .collect();
    let root = builder.table(&fields);
    let metadata = builder.finish(root);
    let length = metadata.len().next_multiple_of(ALIGNMENT);
    into.extend(CONTINUATION.to_le_bytes());
    into.extend(u32::try_from(length).unwrap_or(u32::MAX).to_le_bytes());
    into.extend(metadata);
    pad(into);
}

/// What is encoded at once begins at a multiple of the alignment.
fn pad(into: &mut Vec<u8>) {
    into.resize(into.len().next_multiple_of(ALIGNMENT), 0);
}

fn number(size: usize) -> i64 {
    i64::try_from(size).unwrap_or(i64::MAX)
}
