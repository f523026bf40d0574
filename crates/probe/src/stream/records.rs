// SPDX-License-Identifier: MIT OR Apache-2.0
//! Cuts the bytes of a stream into records, in whatever portions they come.

use super::number::{Number, text_number, without_comment};

/// How a stream writes its numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    Text,
    /// Integers of a fixed size.
    Binary {
        /// Of each integer, at most 8.
        bytes: usize,
        /// Whether the most significant byte comes first.
        big_endian: bool,
        /// Whether the most significant bit is the sign.
        signed: bool,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// Number of its line, or of the integer, from 1.
    pub position: u64,
    /// Where it begins, bytes from the beginning of the stream.
    pub offset: u64,
    /// What it says; none if that is no number.
    pub number: Option<Number>,
}

/// Bytes that are read at once, and memory for them.
const BUFFER: usize = 1 << 16;
/// No number takes more bytes, without the blanks around it and a comment. The rest of a line is
/// passed over as it comes.
const MAX_NUMBER: usize = 256;
/// So many bytes of a record are quoted.
const QUOTED: usize = 24;

/// Bytes on their way to become records.
pub struct Records {
    format: Format,
    buffer: Box<[u8]>,
    start: usize,
    end: usize,
    /// Of `start` in the stream.
    offset: u64,
    position: u64,
    /// What a line says is known, and its end has not come.
    passing_over: bool,
    /// Blanks of the line that has begun that were taken out of the buffer.
    squeezed: usize,
    /// The last record in the buffer.
    last: (usize, usize),
}

impl Records {
    /// None yet.
    pub fn new(format: Format) -> Self {
        let buffer = vec![0; BUFFER].into_boxed_slice();
        Records {
            format,
            buffer,
            start: 0,
            end: 0,
            offset: 0,
            position: 0,
            passing_over: false,
            squeezed: 0,
            last: (0, 0),
        }
    }

    /// Where the next bytes go. To be called when there is no further record in those before: then
    /// it is not empty.
    pub fn free(&mut self) -> &mut [u8] {
        self.buffer.copy_within(self.start..self.end, 0);
        (self.start, self.end, self.last) = (0, self.end - self.start, (0, 0));
        &mut self.buffer[self.end..]
    }

    /// So many bytes were put there.
    pub fn filled(&mut self, bytes: usize) {
        self.end = (self.end + bytes).min(self.buffer.len());
    }

    /// The next whole record, if there is one. Lines without anything but a comment are no records.
    pub fn next_record(&mut self) -> Option<Record> {
        match self.format {
            Format::Text => self.next_line(),
            Format::Binary { bytes, big_endian, signed } => {
                let integer = self.buffer[self.start..self.end].get(..bytes)?;
                let number = Number::whole(integer_of(integer, big_endian, signed));
                let record = Record {
                    position: self.position + 1,
                    offset: self.offset,
                    number: Some(number),
                };
                self.take(bytes, bytes);
                self.position += 1;
                Some(record)
            }
        }
    }

    fn next_line(&mut self) -> Option<Record> {
        loop {
            let waiting = &self.buffer[self.start..self.end];
            let Some(length) = waiting.iter().position(|byte| *byte == b'\n') else {
                if !self.passing_over && !self.is_known() {
                    self.squeeze();
                    return None;
                }
                let begun = waiting.len();
                let record = self.line(begun);
                self.take(begun, begun);
                self.passing_over = true;
                return record;
            };
            let record = self.line(length);
            self.take(length + 1, length);
            self.passing_over = false;
            if record.is_some() {
                return record;
            }
        }
    }

    /// Whether a line that has begun is long, and nothing that may come changes what it says. Does
    /// not depend on what was squeezed.
    fn is_known(&self) -> bool {
        let begun = &self.buffer[self.start..self.end];
        let says = begun.trim_ascii();
        let is_decided = || {
            says.contains(&b'#')
                || says.len() > MAX_NUMBER
                || says.iter().any(u8::is_ascii_whitespace)
        };
        begun.len() + self.squeezed > MAX_NUMBER && is_decided()
    }

    /// Takes blanks out of a long line that has begun: all at its beginning, and all but one behind
    /// what it says.
    fn squeeze(&mut self) {
        let begun = &self.buffer[self.start..self.end];
        if begun.len() <= MAX_NUMBER {
            return;
        }
        let says = begun.trim_ascii_start();
        let (leading, says) = (begun.len() - says.len(), says.trim_ascii_end().len());
        let kept = (says + 1).min(begun.len() - leading);
        self.squeezed += begun.len() - kept;
        self.buffer.copy_within(self.start + leading..self.start + leading + kept, self.start);
        self.end = self.start + kept;
    }

    /// What the next line is, as far as it has come.
    fn line(&mut self, length: usize) -> Option<Record> {
        if self.passing_over {
            return None;
        }
        self.position += 1;
        let line = &self.buffer[self.start..self.start + length];
        let (position, offset) = (self.position, self.offset);
        let record = |number| Record { position, offset, number };
        match text_number(line) {
            Ok(None) => None,
            Ok(number) if without_comment(line).len() <= MAX_NUMBER => Some(record(number)),
            Ok(_) | Err(()) => Some(record(None)),
        }
    }

    fn take(&mut self, bytes: usize, record: usize) {
        self.last = (self.start, self.start + record);
        self.start += bytes;
        self.offset += (bytes + std::mem::take(&mut self.squeezed)) as u64;
    }

    /// Bytes of a record that has begun and not ended, and where it begins. None of a comment, and
    /// of the rest of a line that was too long and is counted.
    pub fn half(&self) -> Option<(u64, u64)> {
        let rest = &self.buffer[self.start..self.end];
        let is_record = !rest.is_empty()
            && !self.passing_over
            && (self.format != Format::Text || text_number(rest) != Ok(None));
        is_record.then_some(((rest.len() + self.squeezed) as u64, self.offset))
    }

    /// Whether they are lines of text.
    pub const fn is_text(&self) -> bool {
        matches!(self.format, Format::Text)
    }

    /// Bytes of the stream that are taken.
    pub const fn taken(&self) -> u64 {
        self.offset
    }

    /// The first bytes of the last record, and how many they are.
    pub fn quoted(&self) -> ([u8; QUOTED], usize) {
        let (start, end) = self.last;
        let bytes = &self.buffer[start..end.min(start + QUOTED)];
        let mut quoted = [0; QUOTED];
        quoted[..bytes.len()].copy_from_slice(bytes);
        (quoted, bytes.len())
    }
}

/// An integer of up to eight bytes.
fn integer_of(bytes: &[u8], big_endian: bool, signed: bool) -> i128 {
    let push = |sum: u64, byte: &u8| sum << 8 | u64::from(*byte);
    let bits =
        if big_endian { bytes.iter().fold(0, push) } else { bytes.iter().rev().fold(0, push) };
    let limit = 1_i128 << (8 * bytes.len());
    let number = i128::from(bits);
    if signed && number >= limit / 2 { number - limit } else { number }
}

#[cfg(test)]
mod tests {
    use super::super::number::ONE;
    use super::*;
    use proptest::prelude::*;

    /// The records of these bytes, given in portions of at most so many, and what is left of one.
    fn records(format: Format, bytes: &[u8], portion: usize) -> (Vec<Record>, u64) {
        let mut records = Records::new(format);
        let mut found = Vec::new();
        for mut portion in bytes.chunks(portion.max(1)) {
            while !portion.is_empty() {
                let free = records.free();
                let (now, rest) = portion.split_at(portion.len().min(free.len()));
                free[..now.len()].copy_from_slice(now);
                records.filled(now.len());
                found.extend(std::iter::from_fn(|| records.next_record()));
                portion = rest;
            }
        }
        (found, records.half().map_or(0, |(bytes, _)| bytes))
    }

    fn numbers(found: &[Record]) -> Vec<Option<i128>> {
        found.iter().map(|record| record.number.map(|Number(size)| size / ONE)).collect()
    }

    fn binary(bytes: usize, big_endian: bool, signed: bool) -> Format {
        Format::Binary { bytes, big_endian, signed }
    }

    #[test]
    fn lines_of_every_kind() {
        let text = b"# RTC at 1024 Hz\n1\r\n\n  2 # late\nrubbish\n3\n4";
        for portion in [1, 2, 7, 100] {
            let (found, unfinished) = records(Format::Text, text, portion);
            assert_eq!((numbers(&found), unfinished), (vec![Some(1), Some(2), None, Some(3)], 1));
            let places: Vec<(u64, u64)> =
                found.iter().map(|record| (record.position, record.offset)).collect();
            assert_eq!(places, [(2, 17), (4, 21), (5, 32), (6, 40)]);
        }
    }

    /// A line without an end costs no memory, and is one record, or none if it is blank or a
    /// comment.
    #[test]
    fn a_line_that_does_not_end() {
        for (first, expected) in [
            (b'7', vec![Some(1), None, Some(2)]),
            (b'#', vec![Some(1), Some(2)]),
            (b' ', vec![Some(1), Some(2)]),
        ] {
            let mut text = b"1\n".to_vec();
            text.extend(std::iter::repeat_n(first, 300_000));
            text.extend(b"\n2\n");
            for portion in [100, 30_000, BUFFER] {
                let (found, unfinished) = records(Format::Text, &text, portion);
                assert_eq!((numbers(&found), unfinished), (expected.clone(), 0), "{portion}");
            }
        }
    }

    /// What is around a number does not make it another, however long it is. Two numbers are none,
    /// however far apart.
    #[test]
    fn a_number_between_blanks_or_before_a_comment() {
        for length in [1, 200, 300, BUFFER, 2 * BUFFER] {
            let (blanks, comment) = (" ".repeat(length), "x ".repeat(length / 2));
            for (line, expected) in [
                (format!("12{blanks}"), Some(12)),
                (format!("{blanks}12"), Some(12)),
                (format!("{blanks}12{blanks}\r"), Some(12)),
                (format!("12 # {comment}"), Some(12)),
                (format!("{blanks}12{blanks}# {blanks}{comment}"), Some(12)),
                (format!("12{blanks}34"), None),
                (format!("{blanks}1x{blanks}"), None),
            ] {
                let text = format!("1\n{line}\n{blanks}# {comment}\n2\n{blanks}3{blanks}");
                for portion in [7, 255, 30_000, BUFFER] {
                    let (found, unfinished) = records(Format::Text, text.as_bytes(), portion);
                    let half = 2 * blanks.len() + 1;
                    assert_eq!(
                        (numbers(&found), unfinished),
                        (vec![Some(1), expected, Some(2)], half as u64),
                        "{length} {portion}"
                    );
                    let places: Vec<(u64, u64)> =
                        found.iter().map(|record| (record.position, record.offset)).collect();
                    let third = (2 + line.len() + 1 + blanks.len() + 2 + comment.len() + 1) as u64;
                    assert_eq!(places, [(1, 0), (2, 2), (4, third)], "{length} {portion}");
                }
            }
        }
    }

    /// Digits without end are no number, whatever follows them and wherever the buffer ends.
    #[test]
    fn a_number_of_too_many_digits() {
        for (digits, expected) in [(MAX_NUMBER, Some(1)), (MAX_NUMBER + 1, None)] {
            let text = format!("{}1 # x\n", "0".repeat(digits - 1));
            for portion in [1, 100, 1_000] {
                assert_eq!(
                    numbers(&records(Format::Text, text.as_bytes(), portion).0),
                    [expected],
                    "{digits} {portion}"
                );
            }
        }
    }

    #[test]
    fn integers_of_every_kind() {
        let bytes = [0x01, 0x02, 0x03, 0xff, 0x05, 0x06, 0x07, 0x08, 0x09];
        let cases = [
            (binary(4, false, false), vec![Some(0xff03_0201), Some(0x0807_0605)]),
            (binary(4, false, true), vec![Some(0xff03_0201 - (1 << 32)), Some(0x0807_0605)]),
            (binary(4, true, true), vec![Some(0x0102_03ff), Some(0x0506_0708)]),
            (binary(8, false, false), vec![Some(0x0807_0605_ff03_0201)]),
            (binary(8, true, false), vec![Some(0x0102_03ff_0506_0708)]),
        ];
        for (format, expected) in cases {
            for portion in [1, 3, 9] {
                let (found, unfinished) = records(format, &bytes, portion);
                assert_eq!((numbers(&found), unfinished), (expected.clone(), 1), "{format:?}");
            }
        }
    }

    #[test]
    fn what_is_quoted() {
        let mut records = Records::new(Format::Text);
        let line = b"no number, and quite a long line at that\n";
        records.free()[..line.len()].copy_from_slice(line);
        records.filled(line.len());
        assert_eq!(records.next_record().unwrap().number, None);
        let (bytes, length) = records.quoted();
        assert_eq!(&bytes[..length], &line[..QUOTED]);
    }

    proptest! {
        /// However the bytes are cut, the records are the same, and every byte is of one or left.
        #[test]
        fn portions_do_not_matter(
            text in "([0-9]{1,12}|#|x| |\n|\r|\\.|a{200}| {200}){0,60}",
            portion in 1_usize..40,
        ) {
            prop_assert_eq!(
                records(Format::Text, text.as_bytes(), portion),
                records(Format::Text, text.as_bytes(), BUFFER)
            );
        }

        #[test]
        fn integers_are_read_as_written(
            values in proptest::collection::vec(any::<u64>(), 0..50),
            portion in 1_usize..20,
        ) {
            for big_endian in [false, true] {
                let bytes = |value: &u64| {
                    if big_endian { value.to_be_bytes() } else { value.to_le_bytes() }
                };
                let bytes: Vec<u8> = values.iter().flat_map(bytes).collect();
                let (found, unfinished) = records(binary(8, big_endian, false), &bytes, portion);
                let expected: Vec<Option<i128>> =
                    values.iter().map(|value| Some(i128::from(*value))).collect();
                prop_assert_eq!((numbers(&found), unfinished), (expected, 0));
                let (found, _) = records(binary(8, big_endian, true), &bytes, portion);
                let expected: Vec<Option<i128>> =
                    values.iter().map(|value| Some(i128::from(value.cast_signed()))).collect();
                prop_assert_eq!(numbers(&found), expected);
            }
        }
    }
}
