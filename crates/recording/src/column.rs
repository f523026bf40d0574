// SPDX-License-Identifier: MIT OR Apache-2.0
//! A column out of a message's bytes, into memory that is used again for the next batch: a long
//! recording is thousands of batches, and allocating for each of them costs more than all that is
//! done with it.

use lz4_flex::frame::FrameDecoder;
use std::io::{Cursor, Read};
use std::ops::Range;

/// LZ4 cannot shrink anything by more than this.
const MAX_COMPRESSION: usize = 256;

/// What a buffer has beyond its rows.
const MAX_PADDING: usize = 64;

#[derive(Debug)]
pub(crate) struct Column {
    /// One for each row; anything in rows that are null.
    pub(crate) values: Values,
    /// Which rows have no value, gap by gap.
    pub(crate) nulls: Vec<Range<usize>>,
}

/// The types a column may have.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Values {
    Int32(Vec<i32>),
    Int64(Vec<i64>),
}

impl Values {
    pub(crate) const fn len(&self) -> usize {
        match self {
            Values::Int32(values) => values.len(),
            Values::Int64(values) => values.len(),
        }
    }

    /// Bytes of a value.
    pub(crate) const fn width(&self) -> usize {
        match self {
            Values::Int32(_) => 4,
            Values::Int64(_) => 8,
        }
    }

    /// None of the same type.
    pub(crate) const fn empty(&self) -> Self {
        match self {
            Values::Int32(_) => Values::Int32(Vec::new()),
            Values::Int64(_) => Values::Int64(Vec::new()),
        }
    }

    pub(crate) fn write(&self, into: &mut Vec<u8>) {
        match self {
            Values::Int32(values) => append(into, values, i32::to_le_bytes),
            Values::Int64(values) => append(into, values, i64::to_le_bytes),
        }
    }
}

fn append<T: Copy, const WIDTH: usize>(
    bytes: &mut Vec<u8>,
    values: &[T],
    encode: impl Fn(T) -> [u8; WIDTH],
) {
    let before = bytes.len();
    bytes.resize(before + WIDTH * values.len(), 0);
    let (places, _) = bytes[before..].as_chunks_mut();
    places.iter_mut().zip(values).for_each(|(place, value)| *place = encode(*value));
}

impl Column {
    pub(crate) const fn new(values: Values) -> Self {
        Column { values, nulls: Vec::new() }
    }

    pub(crate) fn has(&self, row: usize) -> bool {
        let next = self.nulls.partition_point(|gap| gap.end <= row);
        self.nulls.get(next).is_none_or(|gap| row < gap.start)
    }

    pub(crate) fn null_rows(&self) -> usize {
        self.nulls.iter().map(ExactSizeIterator::len).sum()
    }

    /// Appends rows of a column of the same type.
    pub(crate) fn append(&mut self, more: &Column) {
        let rows = self.values.len();
        self.nulls.extend(more.nulls.iter().map(|gap| rows + gap.start..rows + gap.end));
        match (&mut self.values, &more.values) {
            (Values::Int32(all), Values::Int32(more)) => all.extend_from_slice(more),
            (Values::Int64(all), Values::Int64(more)) => all.extend_from_slice(more),
            // A decoder's columns keep their types.
            _ => {}
        }
    }

    pub(crate) fn clear(&mut self) {
        self.nulls.clear();
        self.values = self.values.empty();
    }

    /// Writes a bit for each row, set where it has a value; nothing where all of them do.
    pub(crate) fn write_validity(&self, into: &mut Vec<u8>) {
        if self.nulls.is_empty() {
            return;
        }
        let (before, rows) = (into.len(), self.values.len());
        into.resize(before + rows.div_ceil(8), u8::MAX);
        let bits = &mut into[before..];
        let behind = rows..rows.next_multiple_of(8);
        for row in self.nulls.iter().cloned().chain([behind]).flatten() {
            bits[row / 8] &= !(1 << (row % 8));
        }
    }

    /// Replaces what it holds by the rows of the next batch: its two buffers as they stand in the
    /// message, and how many rows are said to be null. Where none are, `validity` may be empty.
    pub(crate) fn decode(
        &mut self,
        rows: usize,
        null_rows: usize,
        validity: &[u8],
        values: &[u8],
        plain: &mut Plain,
    ) -> Result<(), String> {
        let bits = plain.bytes(validity, rows)?;
        if null_rows == 0 && bits.is_empty() {
            self.nulls.clear();
        } else if bits.len() < rows.div_ceil(8) {
            return Err("a batch does not say which of its rows hold something".to_owned());
        } else {
            find_gaps(bits, rows, &mut self.nulls);
            if self.null_rows() != null_rows {
                return Err("a batch has another number of rows that hold nothing than it states"
                    .to_owned());
            }
        }
        let bytes = plain.bytes(values, rows.saturating_mul(self.values.width()))?;
        let decoded = match &mut self.values {
            Values::Int32(values) => fill(values, bytes, rows, i32::from_le_bytes),
            Values::Int64(values) => fill(values, bytes, rows, i64::from_le_bytes),
        };
        if decoded == rows {
            Ok(())
        } else {
            Err("a batch's columns are not of its length".to_owned())
        }
    }
}

/// The gaps between the first `rows` bits that are set.
fn find_gaps(bits: &[u8], rows: usize, gaps: &mut Vec<Range<usize>>) {
    gaps.clear();
    for (byte, first) in bits.iter().zip((0..rows).step_by(8)) {
        if *byte == u8::MAX {
            continue;
        }
        for row in (first..rows.min(first + 8)).filter(|row| byte >> (row % 8) & 1 == 0) {
            match gaps.last_mut() {
                Some(gap) if gap.end == row => gap.end += 1,
                _ => gaps.push(row..row + 1),
            }
        }
    }
}

/// The first `rows` values in `bytes`; how many there are.
fn fill<T, const WIDTH: usize>(
    values: &mut Vec<T>,
    bytes: &[u8],
    rows: usize,
    decode: impl Fn([u8; WIDTH]) -> T,
) -> usize {
    values.clear();
    values.extend(bytes.as_chunks().0.iter().take(rows).map(|value| decode(*value)));
    values.len()
}

/// Buffers as they were before they were compressed, if they were. Keeps its memory from one to the
/// next.
pub(crate) struct Plain {
    /// Whether the buffers of the batch state if they are compressed.
    pub(crate) compressed: bool,
    bytes: Vec<u8>,
    decompressor: FrameDecoder<Cursor<Vec<u8>>>,
}

impl Plain {
    pub(crate) fn new() -> Self {
        Plain {
            compressed: false,
            bytes: Vec::new(),
            decompressor: FrameDecoder::new(Cursor::new(Vec::new())),
        }
    }

    /// The plain bytes of a buffer, which may be padded beyond those of its rows.
    fn bytes<'a>(&'a mut self, buffer: &'a [u8], of_rows: usize) -> Result<&'a [u8], String> {
        if !self.compressed || buffer.is_empty() {
            return Ok(buffer);
        }
        let (size, content) =
            buffer.split_first_chunk::<8>().ok_or("a batch's compressed buffer states no size")?;
        match i64::from_le_bytes(*size) {
            // Stored as it was, because it would not shrink.
            -1 => Ok(content),
            size => {
                let size = usize::try_from(size).ok().filter(|size| {
                    *size <= content.len().saturating_mul(MAX_COMPRESSION)
                        && *size <= of_rows.saturating_add(MAX_PADDING)
                });
                self.decompress(
                    content,
                    size.ok_or("a batch's compressed buffer states an impossible size")?,
                )?;
                Ok(&self.bytes)
            }
        }
    }

    /// Exactly one LZ4 frame, of exactly so many bytes.
    fn decompress(&mut self, frame: &[u8], size: usize) -> Result<(), String> {
        let source = self.decompressor.get_mut();
        source.get_mut().clear();
        source.get_mut().extend_from_slice(frame);
        source.set_position(0);
        self.bytes.resize(size, 0);
        let failed = |error| format!("a batch cannot be decompressed: {error}");
        self.decompressor.read_exact(&mut self.bytes).map_err(failed)?;
        // The frame's own end, without which the next would be taken for its continuation.
        match self.decompressor.read(&mut [0]).map_err(failed)? {
            0 => Ok(()),
            _ => Err("a batch's compressed buffer holds more than it states".to_owned()),
        }
    }
}
