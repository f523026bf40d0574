// SPDX-License-Identifier: MIT OR Apache-2.0
//! The messages of an Arrow IPC stream, checked before they are decoded.
//!
//! The library's own stream reader trusts the lengths that a message states and panics where they lie. A recording may
//! have been cut off, sit on a failing SD card, or come from a stranger, so the framing is read here, every length is
//! held against the bytes there are, and only then the library decodes the batch.
//! Format: <https://arrow.apache.org/docs/format/Columnar.html#ipc-streaming-format>.

use crate::column::Column;
use crate::message::CONTINUATION;
use arrow_array::RecordBatch;
use arrow_buffer::Buffer;
use arrow_ipc::reader::read_record_batch;
use arrow_ipc::{CompressionType, Message, MessageHeader, root_as_message};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use std::collections::{BTreeMap, HashMap};
use std::io::Read;
use std::sync::Arc;

/// Far above the metadata of a stream with a handful of columns.
const MOST_METADATA: u32 = 1 << 20;
/// LZ4 cannot shrink anything by more than this.
const MOST_COMPRESSION: i64 = 256;

/// What a stream gives next.
pub(crate) enum Frame {
    /// Rows.
    Batch(RecordBatch),
    /// The mark that says the stream is whole.
    End,
}

/// Reads a stream message by message.
pub(crate) struct Frames<R> {
    source: R,
    schema: SchemaRef,
    labels: BTreeMap<String, String>,
    /// The body of the message that was read last, where its memory is used again.
    body: Vec<u8>,
}

impl<R: Read> Frames<R> {
    /// Reads the schema, the first message of every stream.
    pub(crate) fn open(mut source: R) -> Result<Self, String> {
        let metadata = read_metadata(&mut source)?.ok_or("it holds nothing")?;
        let message = root_as_message(&metadata).map_err(|error| format!("its first message is malformed: {error}"))?;
        read_body(&mut source, message)?;
        let schema = message.header_as_schema().ok_or("it does not begin with a schema")?;
        let fields = schema.fields().ok_or("its schema has no fields")?;
        let fields = fields.iter().map(|field| integer_field(&field)).collect::<Result<Vec<_>, _>>()?;
        let labels = schema.custom_metadata().into_iter().flatten();
        let labels = labels.filter_map(|label| Some((label.key()?.to_owned(), label.value()?.to_owned()))).collect();
        Ok(Frames { source, schema: Arc::new(Schema::new(fields)), labels, body: Vec::new() })
    }

    /// What the file says of itself.
    pub(crate) fn labels(&self) -> &BTreeMap<String, String> {
        &self.labels
    }

    /// The next batch. An error where the stream stops without its end mark: it was cut off there, or is damaged.
    pub(crate) fn next(&mut self) -> Result<Frame, String> {
        let Some(metadata) = read_metadata(&mut self.source)? else { return Ok(Frame::End) };
        let message = root_as_message(&metadata).map_err(|error| format!("a message is malformed: {error}"))?;
        if message.header_type() != MessageHeader::RecordBatch {
            return Err(format!("a message is of an unexpected kind, {:?}", message.header_type()));
        }
        let body = read_body(&mut self.source, message)?;
        let batch = message.header_as_record_batch().ok_or("a message has no content")?;
        check_lengths(&batch, &body)?;
        read_record_batch(&Buffer::from(body), batch, self.schema.clone(), &HashMap::new(), None, &message.version())
            .map(Frame::Batch)
            .map_err(|error| error.to_string())
    }
}

impl<R: Read> Frames<R> {
    /// Whether the stream has one column, of 32-bit numbers.
    pub(crate) fn is_one_column(&self) -> bool {
        self.schema.fields().len() == 1 && self.schema.field(0).data_type() == &DataType::Int32
    }

    /// Reads the next batch of a stream of one column into memory that is there already; false at the end mark. An error where
    /// the stream stops without it.
    pub(crate) fn next_column(&mut self, column: &mut Column) -> Result<bool, String> {
        let Some(metadata) = read_metadata(&mut self.source)? else { return Ok(false) };
        let message = root_as_message(&metadata).map_err(|error| format!("a message is malformed: {error}"))?;
        if message.header_type() != MessageHeader::RecordBatch {
            return Err(format!("a message is of an unexpected kind, {:?}", message.header_type()));
        }
        let length = u64::try_from(message.bodyLength()).map_err(|_| "a message states a negative length".to_owned())?;
        read_into(&mut self.source, length, &mut self.body)?;
        let batch = message.header_as_record_batch().ok_or("a message has no content")?;
        check_lengths(&batch, &self.body)?;
        let buffers: Vec<&[u8]> =
            batch.buffers().into_iter().flatten().map(|buffer| within(buffer, &self.body)).collect::<Result<_, _>>()?;
        let (nodes, compression) = (batch.nodes().ok_or("a batch has no columns")?, batch.compression());
        if compression.is_some_and(|compression| compression.codec() != CompressionType::LZ4_FRAME) {
            return Err("a batch is compressed otherwise than by LZ4".to_owned());
        }
        let &[nulls, values] = buffers.as_slice() else { return Err("a batch is not of one column".to_owned()) };
        let has_nulls = nodes.iter().any(|node| node.null_count() > 0);
        let rows = usize::try_from(batch.length()).map_err(|_| "a batch's columns are not of its length".to_owned())?;
        column.take(rows, has_nulls.then_some(nulls), values, compression.is_some())?;
        Ok(true)
    }
}

/// Our files have columns of whole numbers only; the library's conversion of any other type may panic.
fn integer_field(field: &arrow_ipc::Field<'_>) -> Result<Field, String> {
    let name = field.name().unwrap_or_default();
    let width = field.type_as_int().filter(|int| int.is_signed() && field.dictionary().is_none()).map(|int| int.bitWidth());
    let data_type = match width {
        Some(32) => DataType::Int32,
        Some(64) => DataType::Int64,
        _ => return Err(format!("its column '{name}' is not of signed 32- or 64-bit integers")),
    };
    Ok(Field::new(name, data_type, field.nullable()))
}

/// What a message says of itself; none at the end mark.
fn read_metadata(source: &mut impl Read) -> Result<Option<Vec<u8>>, String> {
    if read_u32(source)? != CONTINUATION {
        return Err("a message does not begin as one".to_owned());
    }
    let length = read_u32(source)?;
    if length == 0 {
        return Ok(None);
    }
    if length > MOST_METADATA {
        return Err(format!("a message states {length} bytes of metadata"));
    }
    read_exactly(source, u64::from(length)).map(Some)
}

/// What follows a message's metadata.
fn read_body(source: &mut impl Read, message: Message<'_>) -> Result<Vec<u8>, String> {
    let length = u64::try_from(message.bodyLength()).map_err(|_| "a message states a negative length".to_owned())?;
    read_exactly(source, length)
}

fn read_u32(source: &mut impl Read) -> Result<u32, String> {
    let mut bytes = [0; 4];
    source.read_exact(&mut bytes).map_err(|error| format!("it ends before its end mark ({error})"))?;
    Ok(u32::from_le_bytes(bytes))
}

/// Exactly so many bytes, without believing the number before they are there.
fn read_exactly(source: &mut impl Read, length: u64) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    read_into(source, length, &mut bytes)?;
    Ok(bytes)
}

/// The same, into memory that may be there already.
fn read_into(source: &mut impl Read, length: u64, bytes: &mut Vec<u8>) -> Result<(), String> {
    bytes.clear();
    bytes.reserve(usize::try_from(length.min(1 << 20)).unwrap_or(0));
    source.take(length).read_to_end(bytes).map_err(|error| error.to_string())?;
    if bytes.len() as u64 == length { Ok(()) } else { Err("it ends within a message".to_owned()) }
}

/// The bytes of a buffer; an error where it lies outside the body.
fn within<'a>(buffer: &arrow_ipc::Buffer, body: &'a [u8]) -> Result<&'a [u8], String> {
    (usize::try_from(buffer.offset()).ok())
        .zip(usize::try_from(buffer.length()).ok())
        .and_then(|(offset, length)| body.get(offset..offset.checked_add(length)?))
        .ok_or_else(|| "a batch's buffer lies outside it".to_owned())
}

/// Every buffer lies within the body, unpacks to no more than its rows need, and no column claims rows it does not have.
fn check_lengths(batch: &arrow_ipc::RecordBatch<'_>, body: &[u8]) -> Result<(), String> {
    let rows = batch.length();
    let nodes = batch.nodes().ok_or("a batch has no columns")?;
    if rows < 0 || nodes.iter().any(|node| node.length() != rows || !(0..=rows).contains(&node.null_count())) {
        return Err("a batch's columns are not of its length".to_owned());
    }
    if batch.variadicBufferCounts().is_some_and(|counts| !counts.is_empty()) {
        return Err("a batch has buffers that whole numbers do not need".to_owned());
    }
    let buffers = batch.buffers().into_iter().flatten();
    let sizes =
        buffers.map(|buffer| unpacked_size(buffer, batch.compression().is_some(), body)).collect::<Result<Vec<_>, _>>()?;
    // Each column has two: which rows hold something, and what.
    for (node, pair) in nodes.iter().zip(sizes.chunks(2)) {
        if node.null_count() > 0 && pair.first().is_none_or(|bytes| bytes.saturating_mul(8) < rows) {
            return Err("a batch does not say which of its rows hold something".to_owned());
        }
    }
    Ok(())
}

/// Bytes of a buffer once decompressed; an error where it lies outside the body or states an impossible size.
fn unpacked_size(buffer: &arrow_ipc::Buffer, compressed: bool, body: &[u8]) -> Result<i64, String> {
    let bytes = within(buffer, body)?;
    if !compressed || bytes.is_empty() {
        return Ok(buffer.length());
    }
    let prefix = bytes.get(..8).and_then(|prefix| prefix.try_into().ok()).map(i64::from_le_bytes);
    match prefix {
        // Stored as it was, because it would not shrink.
        Some(-1) => Ok(buffer.length() - 8),
        Some(size) if (0..=buffer.length().saturating_mul(MOST_COMPRESSION)).contains(&size) => Ok(size),
        _ => Err("a batch's compressed buffer states an impossible size".to_owned()),
    }
}
