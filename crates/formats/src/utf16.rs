// SPDX-License-Identifier: MIT OR Apache-2.0
//! Text that a byte order mark says is in UTF-16, as spreadsheets and PowerShell write it.

use std::io::{self, BufRead, Read};

/// How the bytes of a unit follow one another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ByteOrder {
    Little,
    Big,
}

impl ByteOrder {
    /// Of a file that begins so; none where no mark says that it is in UTF-16.
    pub(crate) fn of(head: &[u8]) -> Option<ByteOrder> {
        match head {
            [0xff, 0xfe, ..] => Some(ByteOrder::Little),
            [0xfe, 0xff, ..] => Some(ByteOrder::Big),
            _ => None,
        }
    }
}

/// The same text in UTF-8. What is no character becomes U+FFFD.
pub(crate) struct Decoded<'s> {
    source: &'s mut dyn BufRead,
    order: ByteOrder,
    /// The first byte of a unit, and the first unit of a pair, whose second was not read yet.
    byte: Option<u8>,
    unit: Option<u16>,
    /// What was decoded, and how much of it was taken.
    text: String,
    taken: usize,
}

impl<'s> Decoded<'s> {
    pub(crate) fn new(source: &'s mut dyn BufRead, order: ByteOrder) -> Self {
        Decoded { source, order, byte: None, unit: None, text: String::new(), taken: 0 }
    }

    fn put(&mut self, unit: u16) {
        let is_first = (0xd800..0xdc00).contains(&unit);
        let pair = self.unit.take().into_iter().chain((!is_first).then_some(unit));
        let decoded = char::decode_utf16(pair);
        self.text.extend(decoded.map(|letter| letter.unwrap_or(char::REPLACEMENT_CHARACTER)));
        self.unit = is_first.then_some(unit);
    }
}

impl BufRead for Decoded<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.taken == self.text.len() {
            self.text.clear();
            self.taken = 0;
        }
        while self.text.is_empty() {
            let bytes = self.source.fill_buf()?.to_vec();
            if bytes.is_empty() {
                // The file is cut within a character.
                if self.byte.take().is_some() | self.unit.take().is_some() {
                    self.text.push(char::REPLACEMENT_CHARACTER);
                }
                break;
            }
            self.source.consume(bytes.len());
            for byte in bytes {
                let Some(first) = self.byte.take() else {
                    self.byte = Some(byte);
                    continue;
                };
                self.put(match self.order {
                    ByteOrder::Little => u16::from_le_bytes([first, byte]),
                    ByteOrder::Big => u16::from_be_bytes([first, byte]),
                });
            }
        }
        Ok(&self.text.as_bytes()[self.taken..])
    }

    fn consume(&mut self, amount: usize) {
        self.taken = (self.taken + amount).min(self.text.len());
    }
}

impl Read for Decoded<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.fill_buf()?.read(into)?;
        self.consume(read);
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::BufReader;

    #[test]
    fn both_orders_are_read_however_they_are_cut() {
        let text = "\u{feff}latency_us\n1\u{1f552}2\n";
        for order in [ByteOrder::Little, ByteOrder::Big] {
            let bytes = |unit: u16| match order {
                ByteOrder::Little => unit.to_le_bytes(),
                ByteOrder::Big => unit.to_be_bytes(),
            };
            let whole: Vec<u8> = text.encode_utf16().flat_map(bytes).collect();
            assert_eq!(ByteOrder::of(&whole), Some(order));
            for capacity in [1, 3, 64] {
                let mut source = BufReader::with_capacity(capacity, whole.as_slice());
                let mut read = String::new();
                Decoded::new(&mut source, order).read_to_string(&mut read).unwrap();
                assert_eq!(read, text);
            }
            let mut cut = &whole[..whole.len() - 1];
            let mut read = String::new();
            Decoded::new(&mut cut, order).read_to_string(&mut read).unwrap();
            assert!(read.ends_with("2\u{fffd}"), "{read:?}");
        }
        assert_eq!(ByteOrder::of(b"latency_us"), None);
    }

    #[test]
    fn halves_of_pairs_are_no_characters() {
        let units = [0xd83d_u16, 0x31, 0xdd52, 0x32, 0xd83d];
        let bytes: Vec<u8> = units.into_iter().flat_map(u16::to_le_bytes).collect();
        let mut read = String::new();
        Decoded::new(&mut bytes.as_slice(), ByteOrder::Little).read_to_string(&mut read).unwrap();
        assert_eq!(read, "\u{fffd}1\u{fffd}2\u{fffd}");
    }
}
