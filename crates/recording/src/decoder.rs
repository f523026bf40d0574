// SPDX-License-Identifier: MIT OR Apache-2.0
//! The decoder of samples: an Arrow IPC stream of whole numbers.
//!
//! A recording may have been cut off, be on a failing SD card, or come from an untrusted source, so
//! every length is checked against the bytes there are. Format:
//! <https://arrow.apache.org/docs/format/Columnar.html#ipc-streaming-format>.

use crate::column::{Column, Plain, Values};
use crate::flatbuffer::{Buffer, Malformed, Table};
use crate::message::{CONTINUATION, batch, envelope, field, label, schema};
use std::collections::BTreeMap;
use std::io::{ErrorKind, Read};

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

impl From<Malformed> for Broken {
    fn from(_: Malformed) -> Self {
        "a message is malformed".into()
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
        let buffer = Buffer::new(&metadata);
        let (message, schema) = schema_of(&buffer)?;
        read_exactly(&mut source, bounded(body_length(message)?)?, &mut body)?;
        let columns = schema
            .tables(schema::FIELDS)?
            .map(|field| integer_column(field?))
            .collect::<Result<Vec<_>, _>>()?;
        let labels = schema
            .tables(schema::LABELS)?
            .map(|label| {
                let label = label?;
                Ok((label.text(label::KEY)?.to_owned(), label.text(label::VALUE)?.to_owned()))
            })
            .collect::<Result<_, Malformed>>()?;
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
        let buffer = Buffer::new(&self.metadata);
        let message = buffer.root()?;
        let kind = message.byte(envelope::HEADER_TYPE)?;
        if kind != envelope::BATCH {
            return Err(format!("a message is of an unexpected kind, {kind}").into());
        }
        let batch = message.table(envelope::HEADER)?.ok_or("a message has no content")?;
        let nodes = batch.pairs(batch::NODES)?;
        let mut buffers = batch.pairs(batch::BUFFERS)?;
        // Each column has two buffers: its validity bitmap, and its values.
        if nodes.len() != self.columns.len() || buffers.len() != 2 * self.columns.len() {
            return Err("a batch has other columns than its stream".into());
        }
        // Before the body is read: a length that is wrong would make it look unfinished.
        check_layout(buffers.clone(), message.long(envelope::BODY_LENGTH)?)?;
        let row_bytes: usize = self.columns.iter().map(|column| column.values.width()).sum();
        let length = batch.long(batch::ROWS)?;
        bounded(u64::try_from(length).unwrap_or(0).saturating_mul(row_bytes as u64))?;
        read_exactly(&mut self.source, bounded(body_length(message)?)?, &mut self.body)?;
        let compression = batch.table(batch::COMPRESSION)?;
        if let Some(compression) = compression
            && compression.byte(batch::CODEC)? != batch::LZ4
        {
            return Err("a batch is compressed otherwise than by LZ4".into());
        }
        self.plain.compressed = compression.is_some();

        let wrong_length = || "a batch's columns are not of its length".to_owned();
        let rows = usize::try_from(length).map_err(|_| wrong_length())?;
        for (column, (of_column, null_rows)) in self.columns.iter_mut().zip(nodes) {
            if of_column != length {
                return Err(wrong_length().into());
            }
            let null_rows = usize::try_from(null_rows).map_err(|_| wrong_length())?;
            let mut next = || within(buffers.next().unwrap_or_default(), &self.body);
            column.decode(rows, null_rows, next()?, next()?, &mut self.plain)?;
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
    let buffer = Buffer::new(&metadata);
    let (message, schema) = schema_of(&buffer)?;
    let fields = schema.tables(schema::FIELDS)?.collect::<Result<Vec<_>, _>>()?;
    let mut texts = Vec::new();
    for field in &fields {
        texts.push((field.text(field::NAME)?.to_owned(), None));
    }
    let labelled = [(message, envelope::LABELS), (schema, schema::LABELS)];
    for (table, labels) in
        labelled.into_iter().chain(fields.into_iter().map(|field| (field, field::LABELS)))
    {
        for label in table.tables(labels)? {
            let label = label?;
            let value = label.text(label::VALUE)?.to_owned();
            texts.push((label.text(label::KEY)?.to_owned(), Some(value)));
        }
    }
    Ok(texts)
}

/// The first message of a stream, and the schema in it.
fn schema_of<'a>(buffer: &'a Buffer<'a>) -> Result<(Table<'a>, Table<'a>), Broken> {
    let message = buffer.root()?;
    let is_schema = message.byte(envelope::HEADER_TYPE)? == envelope::SCHEMA;
    let schema = message.table(envelope::HEADER)?.filter(|_| is_schema);
    let schema = schema.ok_or("it does not begin with a schema")?;
    if message.short(envelope::VERSION)? > crate::message::V5 {
        return Err("its messages are of a later version".into());
    }
    if schema.short(schema::BYTE_ORDER)? != 0 {
        return Err("its numbers have their highest byte first".into());
    }
    Ok((message, schema))
}

/// A column for a field of whole numbers.
fn integer_column(field: Table<'_>) -> Result<Column, Broken> {
    let is_integer = field.byte(field::TYPE)? == field::INT;
    let integer = field.table(field::TYPE_TABLE)?.filter(|_| is_integer);
    let bits = match integer {
        Some(integer)
            if integer.byte(field::IS_SIGNED)? != 0
                && field.table(field::DICTIONARY)?.is_none() =>
        {
            integer.int(field::BITS)?
        }
        _ => 0,
    };
    match bits {
        32 => Ok(Column::new(Values::Int32(Vec::new()))),
        64 => Ok(Column::new(Values::Int64(Vec::new()))),
        _ => Err(format!(
            "its column '{}' is not of signed 32- or 64-bit integers",
            field.text(field::NAME)?
        )
        .into()),
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
fn body_length(message: Table<'_>) -> Result<u64, Broken> {
    u64::try_from(message.long(envelope::BODY_LENGTH)?)
        .map_err(|_| "a message states a negative length".into())
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
fn check_layout(
    buffers: impl Iterator<Item = (i64, i64)> + Clone,
    body: i64,
) -> Result<(), String> {
    let is_aligned = |alignment: &i64| {
        let is_next = |end: i64, place: i64| {
            place % alignment == 0 && (0..*alignment).contains(&place.saturating_sub(end))
        };
        // Where an empty one is means nothing.
        let end = buffers.clone().filter(|(_, length)| *length != 0).try_fold(
            0,
            |end, (place, length)| {
                let next = place.checked_add(length).filter(|next| *next > place);
                next.filter(|_| is_next(end, place))
            },
        );
        end.is_some_and(|end| is_next(end, body))
    };
    if ALIGNMENTS.iter().any(is_aligned) {
        Ok(())
    } else {
        Err("a batch's buffers do not fill it".to_owned())
    }
}

/// The bytes of a buffer; an error where it lies outside the body.
fn within((place, length): (i64, i64), body: &[u8]) -> Result<&[u8], String> {
    if length == 0 {
        return Ok(&[]);
    }
    (usize::try_from(place).ok())
        .zip(usize::try_from(length).ok())
        .and_then(|(place, length)| body.get(place..place.checked_add(length)?))
        .ok_or_else(|| "a batch's buffer lies outside it".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flatbuffer::{Builder, Value};
    use crate::message::{ColumnSchema, Schema, write_end, write_message, write_schema};
    use lz4_flex::frame::FrameEncoder;
    use proptest::prelude::*;
    use std::io::Write;

    type Row = (Option<i32>, Option<i64>);

    fn columns(rows: &[Row]) -> [Column; 2] {
        let nulls = |has: &dyn Fn(&Row) -> bool| {
            let gaps = rows.iter().enumerate().filter(|(_, row)| !has(row));
            gaps.map(|(row, _)| row..row + 1).collect()
        };
        let (narrow, wide) = rows
            .iter()
            .map(|(narrow, wide)| (narrow.unwrap_or_default(), wide.unwrap_or_default()))
            .unzip();
        [
            Column { values: Values::Int32(narrow), nulls: nulls(&|row| row.0.is_some()) },
            Column { values: Values::Int64(wide), nulls: nulls(&|row| row.1.is_some()) },
        ]
    }

    /// A stream as other programs write it, and where each of its batches ends.
    fn written(batches: &[[Column; 2]], alignment: usize, lz4: bool) -> (Vec<u8>, Vec<usize>) {
        let mut stream = Vec::new();
        let named = [("latency_ns", 0), ("other", 1)].map(|(name, column)| ColumnSchema {
            name: name.to_owned(),
            values: columns(&[])[column].values.clone(),
            nullable: true,
        });
        write_schema(&Schema { columns: named.into(), ..Schema::default() }, &mut stream);
        let ends = batches.iter().map(|batch| {
            write_aligned(batch, alignment, lz4, &mut stream);
            stream.len()
        });
        let ends = ends.collect();
        write_end(&mut stream);
        (stream, ends)
    }

    fn write_aligned(columns: &[Column], alignment: usize, lz4: bool, stream: &mut Vec<u8>) {
        let number = |size: usize| i64::try_from(size).unwrap();
        let mut builder = Builder::default();
        // Its fields have their defaults: LZ4, each buffer by itself.
        let compression = lz4.then(|| builder.table(&[]));
        let (mut nodes, mut buffers, mut body) = (Vec::new(), Vec::new(), Vec::new());
        for column in columns {
            nodes.push((number(column.values.len()), number(column.null_rows())));
            let (mut validity, mut values) = (Vec::new(), Vec::new());
            column.write_validity(&mut validity);
            column.values.write(&mut values);
            for plain in [validity, values] {
                let buffer = if lz4 && !plain.is_empty() { shrunk(&plain) } else { plain };
                buffers.push((number(body.len()), number(buffer.len())));
                body.extend(buffer);
                body.resize(body.len().next_multiple_of(alignment), 0);
            }
        }
        let (buffers, nodes) = (builder.pairs(&buffers), builder.pairs(&nodes));
        let mut fields = vec![
            (batch::ROWS, Value::Long(number(columns[0].values.len()))),
            (batch::NODES, Value::At(nodes)),
            (batch::BUFFERS, Value::At(buffers)),
        ];
        fields.extend(compression.map(|table| (batch::COMPRESSION, Value::At(table))));
        let header = builder.table(&fields);
        write_message(builder, envelope::BATCH, body.len(), header, stream);
        stream.extend(body);
    }

    fn shrunk(plain: &[u8]) -> Vec<u8> {
        let mut encoder = FrameEncoder::new(Vec::new());
        encoder.write_all(plain).unwrap();
        let frame = encoder.finish().unwrap();
        // Stored as it was where it would not shrink.
        if frame.len() < plain.len() {
            [&plain.len().to_le_bytes(), &frame[..]].concat()
        } else {
            [&(-1_i64).to_le_bytes(), plain].concat()
        }
    }

    /// 64 MB of one value are 256 kB in the file.
    #[test]
    fn a_batch_of_more_than_memory_allows() {
        let batch = |rows: usize| {
            [Values::Int32(vec![7; rows]), Values::Int64(vec![7; rows])].map(Column::new)
        };
        let most = usize::try_from(MAX_BATCH).unwrap() / 12;
        for lz4 in [false, true] {
            let (stream, _) = written(&[batch(most)], 64, lz4);
            assert_eq!(read(&stream).1, Ok(()));
            let (stream, _) = written(&[batch(2 * most)], 64, lz4);
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
                let row = |row| {
                    (narrow.has(row).then(|| values[row]), wide.has(row).then(|| others[row]))
                };
                batches.push((0..values.len()).map(row).collect());
            }
            Ok(())
        });
        (batches, read)
    }

    /// Two batches: one without nulls, one with, of values that LZ4 shrinks.
    fn two_batches() -> [Vec<Row>; 2] {
        let full = (0..40).map(|row| (Some(row), Some(7))).collect();
        let holed = (0..90)
            .map(|row| ((row % 9 > 0).then_some(5), (row % 50 > 0).then_some(i64::MIN)))
            .collect();
        [full, holed]
    }

    /// By arrow-rs 58.4.1: the same rows aligned to 8 and to 64 bytes, plain and compressed.
    #[test]
    fn streams_written_by_the_library_are_read() {
        let [full, holed] = two_batches();
        let expected = (vec![full, Vec::new(), holed], Ok(()));
        for stream in [
            &include_bytes!("streams/plain-8.arrows")[..],
            include_bytes!("streams/plain-64.arrows"),
            include_bytes!("streams/lz4-8.arrows"),
            include_bytes!("streams/lz4-64.arrows"),
        ] {
            assert_eq!(read(stream), expected);
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(
            all in proptest::collection::vec((any::<Option<i32>>(), any::<Option<i64>>()), 1..300),
            from in 0_usize..100,
            alignment in prop_oneof![Just(8), Just(64)],
            lz4: bool,
        ) {
            let batches = [all[from.min(all.len())..].to_vec(), Vec::new(), all];
            let (stream, _) =
                written(&batches.each_ref().map(|rows| columns(rows)), alignment, lz4);
            prop_assert_eq!(read(&stream), (batches.to_vec(), Ok(())));
        }
    }

    /// A kilobyte of labels that all lead to the same text must not become gigabytes.
    #[test]
    fn a_schema_that_says_much_by_few_bytes_is_refused() {
        let mut builder = Builder::default();
        let text = builder.text(&"x".repeat(1 << 16));
        let label =
            builder.table(&[(label::KEY, Value::At(text)), (label::VALUE, Value::At(text))]);
        let (labels, fields) = (builder.tables(&[label; 1 << 14]), builder.tables(&[]));
        let header = builder
            .table(&[(schema::FIELDS, Value::At(fields)), (schema::LABELS, Value::At(labels))]);
        let mut stream = Vec::new();
        write_message(builder, envelope::SCHEMA, 0, header, &mut stream);
        write_end(&mut stream);
        let malformed = Broken::from(Malformed);
        assert_eq!(Decoder::open(&stream[..]).err(), Some(Broken::from(Malformed)));
        assert_eq!(schema_texts(&stream[..]), Err(malformed));
    }

    /// Read as it stands, each latency would be another number.
    #[test]
    fn a_schema_of_the_other_byte_order_is_refused() {
        let mut builder = Builder::default();
        let fields = builder.tables(&[]);
        let header = builder
            .table(&[(schema::BYTE_ORDER, Value::Short(1)), (schema::FIELDS, Value::At(fields))]);
        let mut stream = Vec::new();
        write_message(builder, envelope::SCHEMA, 0, header, &mut stream);
        write_end(&mut stream);
        let refused = Decoder::open(&stream[..]).err().unwrap();
        assert!(matches!(refused, Broken::Damaged(why) if why.contains("highest byte first")));
    }

    #[test]
    fn a_stream_cut_at_any_byte_gives_its_whole_batches() {
        for lz4 in [false, true] {
            let batches = two_batches();
            let (stream, ends) = written(&batches.each_ref().map(|rows| columns(rows)), 8, lz4);
            for cut in 0..stream.len() {
                let whole = ends.iter().filter(|end| **end <= cut).count();
                let (found, end) = read(&stream[..cut]);
                assert_eq!(found, batches[..whole], "cut at {cut}");
                assert!(matches!(end, Err(Broken::Unfinished(_))), "cut at {cut}: {end:?}");
            }
        }
    }

    /// What is read either is refused, or every column has all rows.
    #[test]
    fn a_stream_damaged_at_any_byte_is_refused_or_read() {
        for lz4 in [false, true] {
            let (mut stream, _) = written(&two_batches().map(|rows| columns(&rows)), 8, lz4);
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
