// SPDX-License-Identifier: MIT OR Apache-2.0
//! The decoder of samples: an Arrow IPC stream of whole numbers.
//!
//! The library's own reader trusts the lengths that a message states and panics where they are
//! wrong. A recording may have been cut off, be on a failing SD card, or come from an untrusted
//! source, so every length is checked against the bytes there are. Format: <https://arrow.apache.org/docs/format/Columnar.html#ipc-streaming-format>.

use crate::column::{Column, Plain, Values};
use arrow_ipc::{CompressionType, Message, MessageHeader, root_as_message};
use std::collections::BTreeMap;
use std::io::{ErrorKind, Read};

/// In front of every message.
const CONTINUATION: u32 = 0xFFFF_FFFF;
/// Far above the metadata of a stream with a handful of columns.
const MAX_METADATA: u32 = 1 << 20;
/// What the metadata of a batch take at most, without and for each column: a column takes 48 bytes.
const MAX_BATCH_METADATA: (usize, usize) = (256, 64);
/// The alignments of buffers that are in use. The padding between two of them stays below it.
const ALIGNMENTS: [i64; 2] = [8, 64];
/// Values of a batch, bytes, and what it takes in a file: rows of our own batches are 131,072 at
/// most, and the library's a million. Of up to four threads a batch is in memory at once, in three
/// forms.
const MAX_BATCH: u64 = 8 << 20;
/// A power cut leaves what was written last, seconds of it, as zeros.
const MAX_ZEROS: usize = 32 << 20;
/// Memory that is reserved on a message's word alone.
const MAX_TRUSTED: u64 = 1 << 20;

/// Why a stream cannot be read any further.
#[derive(Debug, PartialEq)]
pub(crate) enum Broken {
    /// It ends before its end mark, at a message or within one that is whole as far as it goes: the
    /// rest was not written.
    Unfinished(String),
    /// It holds what nobody has written.
    Damaged(String),
}

impl Broken {
    pub(crate) fn why(self) -> String {
        match self {
            Broken::Unfinished(why) | Broken::Damaged(why) => why,
        }
    }
}

impl From<String> for Broken {
    fn from(why: String) -> Self {
        Broken::Damaged(why)
    }
}

impl From<&str> for Broken {
    fn from(why: &str) -> Self {
        Broken::Damaged(why.to_owned())
    }
}

/// Reads a stream batch by batch, all into the same memory.
pub(crate) struct Decoder<R> {
    source: R,
    labels: BTreeMap<String, String>,
    columns: Vec<Column>,
    metadata: Vec<u8>,
    /// Bytes of the last batch's metadata: of all batches of a stream they are equally many.
    batch_metadata: Option<usize>,
    body: Vec<u8>,
    plain: Plain,
}

impl<R: Read> Decoder<R> {
    /// Reads the schema, the first message of every stream.
    pub(crate) fn open(mut source: R) -> Result<Self, Broken> {
        let (mut metadata, mut body) = (Vec::new(), Vec::new());
        let Some(length) = read_head(&mut source)? else { return Err("it holds nothing".into()) };
        read_exactly(&mut source, u64::from(length), &mut metadata)?;
        let message = root_as_message(&metadata)
            .map_err(|error| format!("its first message is malformed: {error}"))?;
        read_exactly(&mut source, bounded(body_length(&message)?)?, &mut body)?;
        let schema = message.header_as_schema().ok_or("it does not begin with a schema")?;
        let fields = schema.fields().ok_or("its schema has no fields")?;
        let columns =
            fields.iter().map(|field| integer_column(&field)).collect::<Result<Vec<_>, _>>()?;
        let labels = schema.custom_metadata().into_iter().flatten();
        let labels = labels
            .filter_map(|label| Some((label.key()?.to_owned(), label.value()?.to_owned())))
            .collect();
        Ok(Decoder {
            source,
            labels,
            columns,
            metadata,
            batch_metadata: None,
            body,
            plain: Plain::new(),
        })
    }

    /// What the file says of itself.
    pub(crate) const fn labels(&self) -> &BTreeMap<String, String> {
        &self.labels
    }

    pub(crate) const fn source(&mut self) -> &mut R {
        &mut self.source
    }

    /// Whether the last bytes of the batch that was read last are zeros, as of a file that was
    /// grown and not written to its end.
    pub(crate) fn ends_in_zeros(&self) -> bool {
        self.body.ends_with(&[0; 8])
    }

    /// The columns of the batch that was read last; without rows before the first.
    pub(crate) fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// The columns of the next batch; none at the end mark. An error where the stream stops without
    /// it, which says whether it was cut off there or is damaged.
    pub(crate) fn next(&mut self) -> Result<Option<&[Column]>, Broken> {
        let Some(length) = read_head(&mut self.source)? else {
            // Nothing is written behind it: it is there by accident.
            return if reads_nothing_but(&mut self.source, None)? {
                Ok(None)
            } else {
                Err("more follows its end mark".into())
            };
        };
        let is_usual = self.is_usual_length(length);
        match self.next_batch(length) {
            // What made it end too early is its length.
            Err(Broken::Unfinished(_)) if !is_usual => {
                Err(format!("a message states {length} bytes of metadata").into())
            }
            Err(broken) => Err(broken),
            Ok(()) => Ok(Some(&self.columns)),
        }
    }

    /// Reads a batch with so many bytes of metadata.
    fn next_batch(&mut self, length: u32) -> Result<(), Broken> {
        read_exactly(&mut self.source, u64::from(length), &mut self.metadata)?;
        let message = root_as_message(&self.metadata)
            .map_err(|error| format!("a message is malformed: {error}"))?;
        if message.header_type() != MessageHeader::RecordBatch {
            return Err(
                format!("a message is of an unexpected kind, {:?}", message.header_type()).into()
            );
        }
        let batch = message.header_as_record_batch().ok_or("a message has no content")?;
        let (nodes, buffers) =
            batch.nodes().zip(batch.buffers()).ok_or("a batch has no columns")?;
        // Each column has two buffers: its validity bitmap, and its values.
        if nodes.len() != self.columns.len() || buffers.len() != 2 * self.columns.len() {
            return Err("a batch has other columns than its stream".into());
        }
        // Before the body is read: a length that is wrong would make it look unfinished.
        check_layout(buffers.iter(), message.bodyLength())?;
        let row_bytes: u64 = self.columns.iter().map(|column| column.values.width()).sum();
        bounded(u64::try_from(batch.length()).unwrap_or(0).saturating_mul(row_bytes))?;
        read_exactly(&mut self.source, bounded(body_length(&message)?)?, &mut self.body)?;
        if batch
            .compression()
            .is_some_and(|compression| compression.codec() != CompressionType::LZ4_FRAME)
        {
            return Err("a batch is compressed otherwise than by LZ4".into());
        }
        self.plain.compressed = batch.compression().is_some();

        let wrong_length = || "a batch's columns are not of its length".to_owned();
        let rows = usize::try_from(batch.length()).map_err(|_| wrong_length())?;
        for (index, (column, node)) in self.columns.iter_mut().zip(nodes).enumerate() {
            if node.length() != batch.length() {
                return Err(wrong_length().into());
            }
            let nulls = usize::try_from(node.null_count()).map_err(|_| wrong_length())?;
            let [validity, values] =
                [2 * index, 2 * index + 1].map(|buffer| within(buffers.get(buffer), &self.body));
            column.decode(rows, nulls, validity?, values?, &mut self.plain)?;
        }
        Ok(())
    }

    /// Whether so many bytes of metadata are what a batch of this stream has.
    fn is_usual_length(&mut self, length: u32) -> bool {
        let (without, of_each) = MAX_BATCH_METADATA;
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        let max = without + of_each * self.columns.len();
        self.batch_metadata.replace(length).map_or(length <= max, |of_others| length == of_others)
    }
}

/// What a stream says of itself in words: names of its columns, without a value, and keys with
/// theirs.
pub(crate) fn schema_texts(mut source: impl Read) -> Result<Vec<(String, Option<String>)>, Broken> {
    let mut metadata = Vec::new();
    let Some(length) = read_head(&mut source)? else { return Err("it holds nothing".into()) };
    read_exactly(&mut source, u64::from(length), &mut metadata)?;
    let message = root_as_message(&metadata)
        .map_err(|error| format!("its first message is malformed: {error}"))?;
    let schema = message.header_as_schema().ok_or("it does not begin with a schema")?;
    let fields = || schema.fields().into_iter().flatten();
    let labels =
        [message.custom_metadata(), schema.custom_metadata()].into_iter().flatten().flatten();
    let labels = labels.chain(fields().filter_map(|field| field.custom_metadata()).flatten());
    let text = |text: Option<&str>| text.unwrap_or_default().to_owned();
    let names = fields().map(|field| (text(field.name()), None));
    Ok(names.chain(labels.map(|label| (text(label.key()), Some(text(label.value()))))).collect())
}

/// A column for a field of whole numbers.
fn integer_column(field: &arrow_ipc::Field<'_>) -> Result<Column, String> {
    let width = field
        .type_as_int()
        .filter(|int| int.is_signed() && field.dictionary().is_none())
        .map(|int| int.bitWidth());
    match width {
        Some(32) => Ok(Column::new(Values::Int32(Vec::new()))),
        Some(64) => Ok(Column::new(Values::Int64(Vec::new()))),
        _ => Err(format!(
            "its column '{}' is not of signed 32- or 64-bit integers",
            field.name().unwrap_or_default()
        )),
    }
}

/// How long a message's metadata are; none at the end mark.
fn read_head(source: &mut impl Read) -> Result<Option<u32>, Broken> {
    match read_u32(source)? {
        CONTINUATION => {}
        // A file that was grown and not written, as a power cut may leave it.
        0 if reads_nothing_but(source, Some(0))? => {
            return Err(Broken::Unfinished("it ends in zeros".to_owned()));
        }
        _ => return Err("a message does not begin as one".into()),
    }
    match read_u32(source)? {
        0 => Ok(None),
        length if length > MAX_METADATA => {
            Err(format!("a message states {length} bytes of metadata").into())
        }
        length => Ok(Some(length)),
    }
}

/// Whether all that is left are such bytes, or there are none.
fn reads_nothing_but(source: &mut impl Read, byte: Option<u8>) -> Result<bool, String> {
    let mut bytes = [0; 4096];
    let mut left = MAX_ZEROS;
    loop {
        match source.read(&mut bytes) {
            Ok(0) => return Ok(true),
            Ok(n) if n > left => {
                return Err(format!("more than {} MB of zeros follow", MAX_ZEROS >> 20));
            }
            Ok(n) if bytes[..n].iter().all(|read| Some(*read) == byte) => left -= n,
            Ok(_) => return Ok(false),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error.to_string()),
        }
    }
}

/// How much follows a message's metadata.
fn body_length(message: &Message<'_>) -> Result<u64, String> {
    u64::try_from(message.bodyLength()).map_err(|_| "a message states a negative length".to_owned())
}

/// So many bytes, if a batch may take them.
fn bounded(bytes: u64) -> Result<u64, String> {
    // Beside the values there are bits that say where there are none.
    if bytes <= MAX_BATCH + MAX_BATCH / 4 {
        return Ok(bytes);
    }
    Err(format!(
        "a batch takes {bytes} bytes, more than the {} MB that are read at once. Write it in \
         smaller ones",
        MAX_BATCH >> 20
    ))
}

fn read_u32(source: &mut impl Read) -> Result<u32, Broken> {
    let mut bytes = [0; 4];
    source.read_exact(&mut bytes).map_err(|error| {
        let why = format!("it ends before its end mark ({error})");
        if error.kind() == ErrorKind::UnexpectedEof {
            Broken::Unfinished(why)
        } else {
            Broken::Damaged(why)
        }
    })?;
    Ok(u32::from_le_bytes(bytes))
}

/// Exactly so many bytes, without believing the number before they are there.
fn read_exactly(source: &mut impl Read, length: u64, bytes: &mut Vec<u8>) -> Result<(), Broken> {
    bytes.clear();
    bytes.reserve(usize::try_from(length.min(MAX_TRUSTED)).unwrap_or(0));
    source.take(length).read_to_end(bytes).map_err(|error| error.to_string())?;
    if bytes.len() as u64 == length {
        Ok(())
    } else {
        Err(Broken::Unfinished("it ends within a message".to_owned()))
    }
}

/// Whether a batch's buffers follow one another and fill its body, but for padding.
fn check_layout<'a>(
    buffers: impl Iterator<Item = &'a arrow_ipc::Buffer> + Clone,
    body: i64,
) -> Result<(), String> {
    let is_aligned = |alignment: &i64| {
        let is_next = |end: i64, place: i64| {
            place % alignment == 0 && (0..*alignment).contains(&place.saturating_sub(end))
        };
        // Where an empty one is means nothing.
        let end =
            buffers.clone().filter(|buffer| buffer.length() != 0).try_fold(0, |end, buffer| {
                let next = buffer
                    .offset()
                    .checked_add(buffer.length())
                    .filter(|next| *next > buffer.offset());
                next.filter(|_| is_next(end, buffer.offset()))
            });
        end.is_some_and(|end| is_next(end, body))
    };
    if ALIGNMENTS.iter().any(is_aligned) {
        Ok(())
    } else {
        Err("a batch's buffers do not fill it".to_owned())
    }
}

/// The bytes of a buffer; an error where it lies outside the body.
fn within<'a>(buffer: &arrow_ipc::Buffer, body: &'a [u8]) -> Result<&'a [u8], String> {
    if buffer.length() == 0 {
        return Ok(&[]);
    }
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
    fn written_by_the_library(
        batches: &[RecordBatch],
        alignment: usize,
        lz4: bool,
    ) -> (Vec<u8>, Vec<usize>) {
        let options = IpcWriteOptions::try_new(alignment, false, MetadataVersion::V5).unwrap();
        let options =
            options.try_with_compression(lz4.then_some(CompressionType::LZ4_FRAME)).unwrap();
        let mut writer =
            StreamWriter::try_new_with_options(Vec::new(), &batches[0].schema(), options).unwrap();
        let ends = batches.iter().map(|batch| {
            writer.write(batch).unwrap();
            writer.get_ref().len()
        });
        let ends = ends.collect();
        (writer.into_inner().unwrap(), ends)
    }

    fn batch(rows: &[Row]) -> RecordBatch {
        let (narrow, wide): (Vec<_>, Vec<_>) = rows.iter().copied().unzip();
        let columns: [(&str, Arc<dyn Array>); 2] = [
            ("latency_ns", Arc::new(Int32Array::from(narrow))),
            ("other", Arc::new(Int64Array::from(wide))),
        ];
        RecordBatch::try_from_iter_with_nullable(columns.map(|(name, column)| (name, column, true)))
            .unwrap()
    }

    /// 64 MB of one value are 256 kB in the file.
    #[test]
    fn a_batch_of_more_than_memory_allows() {
        let batch = |rows: usize| {
            let columns: [(&str, Arc<dyn Array>); 2] = [
                ("latency_ns", Arc::new(Int32Array::from(vec![7; rows]))),
                ("other", Arc::new(Int64Array::from(vec![7; rows]))),
            ];
            RecordBatch::try_from_iter(columns).unwrap()
        };
        let most = usize::try_from(MAX_BATCH).unwrap() / 12;
        for lz4 in [false, true] {
            let (stream, _) = written_by_the_library(&[batch(most)], 64, lz4);
            assert_eq!(read(&stream).1, Ok(()));
            let (stream, _) = written_by_the_library(&[batch(2 * most)], 64, lz4);
            let (batches, ended) = read(&stream);
            assert!(
                batches.is_empty()
                    && matches!(&ended, Err(Broken::Damaged(why)) if why.contains("smaller ones")),
                "{ended:?}"
            );
        }
    }

    /// The rows of each batch, as far as they can be read, and how the stream ends.
    fn read(stream: &[u8]) -> (Vec<Vec<Row>>, Result<(), Broken>) {
        let mut batches = Vec::new();
        let read = Decoder::open(stream).and_then(|mut decoder| {
            while let Some(columns) = decoder.next()? {
                let [narrow, wide] = columns else { panic!("{} columns", columns.len()) };
                let (Values::Int32(values), Values::Int64(others)) = (&narrow.values, &wide.values)
                else {
                    return Err("other types".into());
                };
                assert_eq!(values.len(), others.len());
                let valid = |column: &Column, row| {
                    column.nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row))
                };
                let row = |row| {
                    (valid(narrow, row).then(|| values[row]), valid(wide, row).then(|| others[row]))
                };
                batches.push((0..values.len()).map(row).collect());
            }
            Ok(())
        });
        (batches, read)
    }

    fn rows(batch: &RecordBatch) -> Vec<Row> {
        let (narrow, wide) = (
            batch.column(0).as_primitive::<Int32Type>(),
            batch.column(1).as_primitive::<Int64Type>(),
        );
        narrow.iter().zip(wide.iter()).collect()
    }

    /// Two batches: one without nulls, one with, of values that LZ4 shrinks.
    fn two_batches() -> [RecordBatch; 2] {
        let full: Vec<_> = (0..40).map(|row| (Some(row), Some(7))).collect();
        let holed: Vec<_> = (0..90)
            .map(|row| ((row % 9 > 0).then_some(5), (row % 50 > 0).then_some(i64::MIN)))
            .collect();
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
                assert_eq!(
                    found,
                    batches[..whole].iter().map(rows).collect::<Vec<_>>(),
                    "cut at {cut}"
                );
                assert!(matches!(end, Err(Broken::Unfinished(_))), "cut at {cut}: {end:?}");
            }
        }
    }

    /// The library's own reader panics on some of these. What is read either is refused, or every
    /// column has all rows.
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
            column.decode(1, 0, &[], &buffer, &mut plain).map(|()| format!("{:?}", column.values))
        };
        assert_eq!(decode(-1, &[7, 0, 0, 0]), Ok("Int32([7])".to_owned()));
        let impossible = Err("a batch's compressed buffer states an impossible size".to_owned());
        assert_eq!(decode(i64::MAX, &[7, 0, 0, 0]), impossible);
        assert_eq!(decode(-2, &[7, 0, 0, 0]), impossible);
        assert_eq!(decode(4 * 256 + 1, &[7, 0, 0, 0]), impossible);
        assert_eq!(
            decode(-1, &[7, 0, 0]),
            Err("a batch's columns are not of its length".to_owned())
        );
    }
}
