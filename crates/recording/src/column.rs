// SPDX-License-Identifier: MIT OR Apache-2.0
//! Latencies out of a message's bytes, into memory that is used again for the next: a long recording is thousands of batches, and
//! memory that is asked for and given back for each of them costs more than all that is done with it.

use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer};
use lz4_flex::frame::FrameDecoder;
use std::io::{Cursor, Read};

/// One column of 32-bit numbers, batch after batch.
pub(crate) struct Column {
    /// One for each row; whatever in rows without.
    pub(crate) values: Vec<i32>,
    /// Which rows have one; none where all of them do.
    pub(crate) nulls: Option<NullBuffer>,
    bytes: Vec<u8>,
    unpacker: Unpacker,
}

/// A decompressor that keeps its buffers from one frame to the next.
struct Unpacker(FrameDecoder<Cursor<Vec<u8>>>);

impl Unpacker {
    /// The bytes of one LZ4 frame, exactly so many.
    fn unpack(&mut self, packed: &[u8], length: usize, into: &mut Vec<u8>) -> Result<(), String> {
        let source = self.0.get_mut();
        source.get_mut().clear();
        source.get_mut().extend_from_slice(packed);
        source.set_position(0);
        into.resize(length, 0);
        self.0.read_exact(into).map_err(|error| format!("a batch cannot be decompressed: {error}"))?;
        // The frame's own end, without which the next would be taken for its continuation.
        match self.0.read(&mut [0]) {
            Ok(0) => Ok(()),
            Ok(_) => Err("a batch's compressed buffer holds more than it states".to_owned()),
            Err(error) => Err(format!("a batch cannot be decompressed: {error}")),
        }
    }
}

impl Column {
    pub(crate) fn new() -> Self {
        let unpacker = Unpacker(FrameDecoder::new(Cursor::new(Vec::new())));
        Column { values: Vec::new(), nulls: None, bytes: Vec::new(), unpacker }
    }

    /// Takes a batch of so many rows: its two buffers as they stand in the message, `nulls` only where rows are without a value.
    pub(crate) fn take(&mut self, rows: usize, nulls: Option<&[u8]>, values: &[u8], packed: bool) -> Result<(), String> {
        self.nulls = match nulls {
            None => None,
            Some(nulls) => {
                let bits = self.plain(nulls, packed)?;
                if bits.len().saturating_mul(8) < rows {
                    return Err("a batch does not say which of its rows hold something".to_owned());
                }
                Some(NullBuffer::new(BooleanBuffer::new(Buffer::from(bits.to_vec()), 0, rows)))
            }
        };
        let mut latencies = std::mem::take(&mut self.values);
        latencies.clear();
        let (fours, _) = self.plain(values, packed)?.as_chunks::<4>();
        latencies.extend(fours.iter().take(rows).map(|four| i32::from_le_bytes(*four)));
        self.values = latencies;
        if self.values.len() == rows { Ok(()) } else { Err("a batch's columns are not of its length".to_owned()) }
    }

    /// A buffer's bytes, decompressed where they are not as they are.
    fn plain<'a>(&'a mut self, buffer: &'a [u8], packed: bool) -> Result<&'a [u8], String> {
        if !packed || buffer.is_empty() {
            return Ok(buffer);
        }
        let (length, packed) = buffer.split_first_chunk::<8>().ok_or("a batch's compressed buffer states no size")?;
        match i64::from_le_bytes(*length) {
            // Stored as it was, because it would not shrink.
            -1 => Ok(packed),
            length => {
                let length = usize::try_from(length).map_err(|_| "a batch's compressed buffer states an impossible size")?;
                self.unpacker.unpack(packed, length, &mut self.bytes)?;
                Ok(&self.bytes)
            }
        }
    }
}
