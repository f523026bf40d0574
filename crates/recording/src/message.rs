// SPDX-License-Identifier: MIT OR Apache-2.0
//! A batch of whole numbers as one message of an Arrow IPC stream.
//!
//! The library's own writer compresses all of a batch or nothing. Of ours only the marks that say which rows hold a value
//! are worth it: they shrink to next to nothing, the values hardly, at many times the cost of copying them. The format
//! allows to choose for each buffer, so a batch with gaps is written here with its marks compressed and its values as they
//! are.
//! Format: <https://arrow.apache.org/docs/format/Columnar.html#recordbatch-message>.

use arrow_array::{Array, RecordBatch};
use arrow_buffer::NullBuffer;
use arrow_ipc::{
    BodyCompressionArgs, BodyCompressionMethod, Buffer, CompressionType, FieldNode, MessageArgs, MessageHeader, MetadataVersion,
    RecordBatchArgs,
};
use arrow_schema::ArrowError;
use flatbuffers::FlatBufferBuilder;
use lz4_flex::frame::FrameEncoder;
use std::io::Write;

/// In front of every message.
const CONTINUATION: u32 = 0xFFFF_FFFF;
/// Where a compressed buffer's size stands: this one is not.
const AS_IT_IS: i64 = -1;
/// Messages and buffers begin at multiples of this.
const ALIGNMENT: usize = 8;

/// The mark that says a stream is whole: a message without content.
pub(crate) fn end_mark() -> [u8; 8] {
    u64::from(CONTINUATION).to_le_bytes()
}

/// The bytes of a batch whose columns are of whole numbers.
///
/// # Errors
/// When the marks cannot be compressed.
pub(crate) fn encode(batch: &RecordBatch) -> Result<Vec<u8>, ArrowError> {
    let columns: Vec<_> = batch.columns().iter().map(|column| column.to_data()).collect();
    let gaps = columns.iter().any(|column| column.null_count() > 0);
    let mut body = Body { bytes: Vec::with_capacity(batch.get_array_memory_size() + 1024), buffers: Vec::new(), packed: gaps };
    for column in &columns {
        match column.nulls().filter(|nulls| nulls.null_count() > 0) {
            Some(nulls) => body.add_compressed(&marks(nulls))?,
            None => body.add(&[]),
        }
        let width = column.data_type().primitive_width().unwrap_or_default();
        body.add(&column.buffers()[0].as_slice()[column.offset() * width..][..column.len() * width]);
    }
    let nodes = columns.iter().map(|column| FieldNode::new(signed(column.len()), signed(column.null_count())));
    let head = head(signed(batch.num_rows()), &nodes.collect::<Vec<_>>(), &body);

    let length = (head.len() + 2 * size_of::<u32>()).next_multiple_of(ALIGNMENT);
    let mut message = Vec::with_capacity(length + body.bytes.len());
    message.extend(CONTINUATION.to_le_bytes());
    #[expect(clippy::cast_possible_truncation, reason = "some hundred bytes: it grows with the columns, which are at most two")]
    message.extend(((length - 2 * size_of::<u32>()) as u32).to_le_bytes());
    message.extend(head);
    message.resize(length, 0);
    message.extend(body.bytes);
    Ok(message)
}

fn signed(length: usize) -> i64 {
    i64::try_from(length).unwrap_or(i64::MAX)
}

/// A bit a row, 1 where there is a value, from the first row on.
fn marks(nulls: &NullBuffer) -> Vec<u8> {
    nulls.inner().sliced().as_slice()[..nulls.len().div_ceil(8)].to_vec()
}

/// What follows a message's head: the columns' buffers.
struct Body {
    bytes: Vec<u8>,
    buffers: Vec<Buffer>,
    /// Whether each buffer states if it is compressed.
    packed: bool,
}

impl Body {
    fn add(&mut self, content: &[u8]) {
        let start = self.bytes.len();
        if self.packed && !content.is_empty() {
            self.bytes.extend(AS_IT_IS.to_le_bytes());
        }
        self.bytes.extend(content);
        self.end_buffer(start);
    }

    fn add_compressed(&mut self, content: &[u8]) -> Result<(), ArrowError> {
        let start = self.bytes.len();
        self.bytes.extend(signed(content.len()).to_le_bytes());
        let mut encoder = FrameEncoder::new(&mut self.bytes);
        encoder.write_all(content)?;
        encoder.finish().map_err(|error| ArrowError::ExternalError(Box::new(error)))?;
        self.end_buffer(start);
        Ok(())
    }

    fn end_buffer(&mut self, start: usize) {
        self.buffers.push(Buffer::new(signed(start), signed(self.bytes.len() - start)));
        self.bytes.resize(self.bytes.len().next_multiple_of(ALIGNMENT), 0);
    }
}

fn head(rows: i64, nodes: &[FieldNode], body: &Body) -> Vec<u8> {
    let mut builder = FlatBufferBuilder::new();
    let codec = BodyCompressionArgs { codec: CompressionType::LZ4_FRAME, method: BodyCompressionMethod::BUFFER };
    let compression = body.packed.then(|| arrow_ipc::BodyCompression::create(&mut builder, &codec));
    let nodes = builder.create_vector(nodes);
    let buffers = builder.create_vector(&body.buffers);
    let batch =
        RecordBatchArgs { length: rows, nodes: Some(nodes), buffers: Some(buffers), compression, ..RecordBatchArgs::default() };
    let batch = arrow_ipc::RecordBatch::create(&mut builder, &batch);
    let message = MessageArgs {
        version: MetadataVersion::V5,
        header_type: MessageHeader::RecordBatch,
        header: Some(batch.as_union_value()),
        bodyLength: signed(body.bytes.len()),
        ..MessageArgs::default()
    };
    let message = arrow_ipc::Message::create(&mut builder, &message);
    builder.finish(message, None);
    builder.finished_data().to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::{Int32Array, Int64Array};
    use arrow_ipc::reader::StreamReader;
    use arrow_ipc::writer::StreamWriter;
    use proptest::prelude::*;
    use std::sync::Arc;

    /// What the library reads from a stream of these batches.
    fn read_by_the_library(batches: &[RecordBatch]) -> Vec<RecordBatch> {
        let writer = StreamWriter::try_new(Vec::new(), &batches[0].schema()).unwrap();
        let mut stream = writer.get_ref().clone();
        batches.iter().for_each(|batch| stream.extend(encode(batch).unwrap()));
        stream.extend(end_mark());
        StreamReader::try_new(stream.as_slice(), None).unwrap().map(Result::unwrap).collect()
    }

    proptest! {
        #[test]
        fn the_library_reads_the_same(
            rows in proptest::collection::vec((any::<Option<i32>>(), any::<i64>()), 0..300),
            from in 0_usize..100,
        ) {
            let (latencies, others): (Vec<_>, Vec<_>) = rows.into_iter().unzip();
            let columns: [(&str, Arc<dyn Array>); 2] =
                [("latency_ns", Arc::new(Int32Array::from(latencies))), ("other", Arc::new(Int64Array::from(others)))];
            let batch = RecordBatch::try_from_iter_with_nullable(columns.map(|(name, column)| (name, column, true))).unwrap();
            let part = batch.slice(from.min(batch.num_rows()), batch.num_rows().saturating_sub(from));
            let batches = [batch, part];
            prop_assert_eq!(read_by_the_library(&batches), batches);
        }
    }

    #[test]
    fn a_gap_costs_a_few_bytes() {
        let latencies = |gap| Int32Array::from_iter((0..2_500).map(|row| (row != gap).then_some(row * 7_919 % 4_096)));
        let bytes = |gap| {
            let batch =
                RecordBatch::try_from_iter_with_nullable([("latency_ns", Arc::new(latencies(gap)) as Arc<dyn Array>, true)]);
            encode(&batch.unwrap()).unwrap().len()
        };
        let (whole, with_gap) = (bytes(-1), bytes(1_000));
        assert!(whole <= 10_200 && with_gap <= whole + 120, "{whole} bytes, with a gap {with_gap}");
    }
}
