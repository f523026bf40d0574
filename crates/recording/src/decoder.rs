// SPDX-License-Identifier: MIT OR Apache-2.0
//! The decoder of samples: an Arrow IPC stream of whole numbers.
//!
//! The library's own reader trusts the lengths that a message states and panics where they are wrong. A recording may have been cut off,
//! be on a failing SD card, or come from an untrusted source, so every length is checked against the bytes there are.
//! Format: <https://arrow.apache.org/docs/format/Columnar.html#ipc-streaming-format>.

use crate::column::{Column, Plain, Values};
use arrow_ipc::{CompressionType, MessageHeader, root_as_message};
use std::collections::BTreeMap;
use std::io::Read;

/// In front of every message.
const CONTINUATION: u32 = 0xFFFF_FFFF;
/// Far above the metadata of a stream with a handful of columns.
const MAX_METADATA: u32 = 1 << 20;
/// Memory that is reserved on a message's word alone.
const MAX_TRUSTED: u64 = 1 << 20;

/// Reads a stream batch by batch, all into the same memory.
pub(crate) struct Decoder<R> {
    source: R,
    labels: BTreeMap<String, String>,
    columns: Vec<Column>,
    metadata: Vec<u8>,
    body: Vec<u8>,
    plain: Plain,
}

impl<R: Read> Decoder<R> {
    /// Reads the schema, the first message of every stream.
    pub(crate) fn open(mut source: R) -> Result<Self, String> {
        let (mut metadata, mut body) = (Vec::new(), Vec::new());
        if !read_metadata(&mut source, &mut metadata)? {
            return Err("it holds nothing".to_owned());
        }
        let message = root_as_message(&metadata).map_err(|error| format!("its first message is malformed: {error}"))?;
        read_body(&mut source, message.bodyLength(), &mut body)?;
        let schema = message.header_as_schema().ok_or("it does not begin with a schema")?;
        let fields = schema.fields().ok_or("its schema has no fields")?;
        let columns = fields.iter().map(|field| integer_column(&field)).collect::<Result<Vec<_>, _>>()?;
        let labels = schema.custom_metadata().into_iter().flatten();
        let labels = labels.filter_map(|label| Some((label.key()?.to_owned(), label.value()?.to_owned()))).collect();
        Ok(Decoder { source, labels, columns, metadata, body, plain: Plain::new() })
    }

    /// What the file says of itself.
    pub(crate) const fn labels(&self) -> &BTreeMap<String, String> {
        &self.labels
    }

    /// The columns of the batch that was read last; without rows before the first.
    pub(crate) fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// The columns of the next batch; none at the end mark. An error where the stream stops without it: it was cut off there, or is
    /// damaged.
    pub(crate) fn next(&mut self) -> Result<Option<&[Column]>, String> {
        if !read_metadata(&mut self.source, &mut self.metadata)? {
            return Ok(None);
        }
        let message = root_as_message(&self.metadata).map_err(|error| format!("a message is malformed: {error}"))?;
        if message.header_type() != MessageHeader::RecordBatch {
            return Err(format!("a message is of an unexpected kind, {:?}", message.header_type()));
        }
        read_body(&mut self.source, message.bodyLength(), &mut self.body)?;
        let batch = message.header_as_record_batch().ok_or("a message has no content")?;
        if batch.compression().is_some_and(|compression| compression.codec() != CompressionType::LZ4_FRAME) {
            return Err("a batch is compressed otherwise than by LZ4".to_owned());
        }
        self.plain.compressed = batch.compression().is_some();

        let (nodes, buffers) = batch.nodes().zip(batch.buffers()).ok_or("a batch has no columns")?;
        // Each column has two buffers: its validity bitmap, and its values.
        if nodes.len() != self.columns.len() || buffers.len() != 2 * self.columns.len() {
            return Err("a batch has other columns than its stream".to_owned());
        }
        let wrong_length = || "a batch's columns are not of its length".to_owned();
        let rows = usize::try_from(batch.length()).map_err(|_| wrong_length())?;
        for (index, (column, node)) in self.columns.iter_mut().zip(nodes).enumerate() {
            if node.length() != batch.length() || !(0..=node.length()).contains(&node.null_count()) {
                return Err(wrong_length());
            }
            let validity = (node.null_count() > 0).then(|| within(buffers.get(2 * index), &self.body)).transpose()?;
            column.decode(rows, validity, within(buffers.get(2 * index + 1), &self.body)?, &mut self.plain)?;
        }
        Ok(Some(&self.columns))
    }
}

/// A column for a field of whole numbers.
fn integer_column(field: &arrow_ipc::Field<'_>) -> Result<Column, String> {
    let width = field.type_as_int().filter(|int| int.is_signed() && field.dictionary().is_none()).map(|int| int.bitWidth());
    match width {
        Some(32) => Ok(Column::new(Values::Int32(Vec::new()))),
        Some(64) => Ok(Column::new(Values::Int64(Vec::new()))),
        _ => Err(format!("its column '{}' is not of signed 32- or 64-bit integers", field.name().unwrap_or_default())),
    }
}

/// What a message says of itself; false at the end mark.
fn read_metadata(source: &mut impl Read, metadata: &mut Vec<u8>) -> Result<bool, String> {
    if read_u32(source)? != CONTINUATION {
        return Err("a message does not begin as one".to_owned());
    }
    let length = read_u32(source)?;
    if length > MAX_METADATA {
        return Err(format!("a message states {length} bytes of metadata"));
    }
    read_exactly(source, u64::from(length), metadata)?;
    Ok(length > 0)
}

/// What follows a message's metadata.
fn read_body(source: &mut impl Read, length: i64, body: &mut Vec<u8>) -> Result<(), String> {
    let length = u64::try_from(length).map_err(|_| "a message states a negative length".to_owned())?;
    read_exactly(source, length, body)
}

fn read_u32(source: &mut impl Read) -> Result<u32, String> {
    let mut bytes = [0; 4];
    source.read_exact(&mut bytes).map_err(|error| format!("it ends before its end mark ({error})"))?;
    Ok(u32::from_le_bytes(bytes))
}

/// Exactly so many bytes, without believing the number before they are there.
fn read_exactly(source: &mut impl Read, length: u64, bytes: &mut Vec<u8>) -> Result<(), String> {
    bytes.clear();
    bytes.reserve(usize::try_from(length.min(MAX_TRUSTED)).unwrap_or(0));
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

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::cast::AsArray;
    use arrow_array::types::{Int32Type, Int64Type};
    use arrow_array::{Array, Int32Array, Int64Array, RecordBatch};
    use arrow_ipc::MetadataVersion;
    use arrow_ipc::writer::{IpcWriteOptions, StreamWriter};
    use proptest::prelude::*;
    use std::sync::Arc;

    type Row = (Option<i32>, Option<i64>);

    /// A stream as the library writes it, and where each of its batches ends.
    fn written_by_the_library(batches: &[RecordBatch], alignment: usize, lz4: bool) -> (Vec<u8>, Vec<usize>) {
        let options = IpcWriteOptions::try_new(alignment, false, MetadataVersion::V5).unwrap();
        let options = options.try_with_compression(lz4.then_some(CompressionType::LZ4_FRAME)).unwrap();
        let mut writer = StreamWriter::try_new_with_options(Vec::new(), &batches[0].schema(), options).unwrap();
        let ends = batches.iter().map(|batch| {
            writer.write(batch).unwrap();
            writer.get_ref().len()
        });
        let ends = ends.collect();
        (writer.into_inner().unwrap(), ends)
    }

    fn batch(rows: &[Row]) -> RecordBatch {
        let (narrow, wide): (Vec<_>, Vec<_>) = rows.iter().copied().unzip();
        let columns: [(&str, Arc<dyn Array>); 2] =
            [("latency_ns", Arc::new(Int32Array::from(narrow))), ("other", Arc::new(Int64Array::from(wide)))];
        RecordBatch::try_from_iter_with_nullable(columns.map(|(name, column)| (name, column, true))).unwrap()
    }

    /// The rows of each batch, as far as they can be read, and how the stream ends.
    fn read(stream: &[u8]) -> (Vec<Vec<Row>>, Result<(), String>) {
        let mut batches = Vec::new();
        let read = Decoder::open(stream).and_then(|mut decoder| {
            while let Some(columns) = decoder.next()? {
                let [narrow, wide] = columns else { panic!("{} columns", columns.len()) };
                let (Values::Int32(values), Values::Int64(others)) = (&narrow.values, &wide.values) else {
                    return Err("other types".to_owned());
                };
                assert_eq!(values.len(), others.len());
                let valid = |column: &Column, row| column.nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row));
                let row = |row| (valid(narrow, row).then(|| values[row]), valid(wide, row).then(|| others[row]));
                batches.push((0..values.len()).map(row).collect());
            }
            Ok(())
        });
        (batches, read)
    }

    fn rows(batch: &RecordBatch) -> Vec<Row> {
        let (narrow, wide) = (batch.column(0).as_primitive::<Int32Type>(), batch.column(1).as_primitive::<Int64Type>());
        narrow.iter().zip(wide.iter()).collect()
    }

    /// Two batches: one without nulls, one with, of values that LZ4 shrinks.
    fn two_batches() -> [RecordBatch; 2] {
        let full: Vec<_> = (0..40).map(|row| (Some(row), Some(7))).collect();
        let holed: Vec<_> = (0..90).map(|row| ((row % 9 > 0).then_some(5), (row % 50 > 0).then_some(i64::MIN))).collect();
        [batch(&full), batch(&holed)]
    }

    proptest! {
        #[test]
        fn what_the_library_writes_is_read(
            all in proptest::collection::vec((any::<Option<i32>>(), any::<Option<i64>>()), 1..300),
            from in 0_usize..100,
            alignment in prop_oneof![Just(8), Just(64)],
            lz4: bool,
        ) {
            let whole = batch(&all);
            let from = from.min(whole.num_rows());
            let batches = [whole.slice(from, whole.num_rows() - from), batch(&[]), whole];
            let (stream, _) = written_by_the_library(&batches, alignment, lz4);
            prop_assert_eq!(read(&stream), (batches.iter().map(rows).collect(), Ok(())));
        }
    }

    #[test]
    fn a_stream_cut_at_any_byte_gives_its_whole_batches() {
        for lz4 in [false, true] {
            let batches = two_batches();
            let (stream, ends) = written_by_the_library(&batches, 8, lz4);
            for cut in 0..stream.len() {
                let whole = ends.iter().filter(|end| **end <= cut).count();
                let (found, end) = read(&stream[..cut]);
                assert_eq!(found, batches[..whole].iter().map(rows).collect::<Vec<_>>(), "cut at {cut}");
                assert!(end.is_err(), "cut at {cut}");
            }
        }
    }

    /// The library's own reader panics on some of these. What is read either is refused, or every column has all rows.
    #[test]
    fn a_stream_damaged_at_any_byte_is_refused_or_read() {
        for lz4 in [false, true] {
            let (mut stream, _) = written_by_the_library(&two_batches(), 8, lz4);
            let mut refused = 0;
            for place in 0..stream.len() {
                let was = stream[place];
                for byte in [0, 1, 0x7f, 0x80, 0xff, was ^ 4] {
                    stream[place] = byte;
                    refused += usize::from(read(&stream).1.is_err());
                }
                stream[place] = was;
            }
            assert!(refused > 500, "{refused}");
        }
    }

    #[test]
    fn what_states_an_impossible_size_is_refused() {
        let mut plain = Plain::new();
        plain.compressed = true;
        let mut column = Column::new(Values::Int32(Vec::new()));
        let mut decode = |size: i64, content: &[u8]| {
            let buffer = [&size.to_le_bytes(), content].concat();
            column.decode(1, None, &buffer, &mut plain).map(|()| format!("{:?}", column.values))
        };
        assert_eq!(decode(-1, &[7, 0, 0, 0]), Ok("Int32([7])".to_owned()));
        let impossible = Err("a batch's compressed buffer states an impossible size".to_owned());
        assert_eq!(decode(i64::MAX, &[7, 0, 0, 0]), impossible);
        assert_eq!(decode(-2, &[7, 0, 0, 0]), impossible);
        assert_eq!(decode(4 * 256 + 1, &[7, 0, 0, 0]), impossible);
        assert_eq!(decode(-1, &[7, 0, 0]), Err("a batch's columns are not of its length".to_owned()));
    }
}
