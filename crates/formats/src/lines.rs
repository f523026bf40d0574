// SPDX-License-Identifier: MIT OR Apache-2.0
//! The lines of a file that may hold the output of another program, as the program printed them:
//! without what a terminal, a log or a quotation added, and never more of them in memory than are
//! looked at.

use super::ImportError;
use std::collections::VecDeque;
use std::io::BufRead;

/// Bytes of a line at most: a document of one line is the longest there is.
const MAX_LINE: usize = 8 << 20;
/// Lines that are looked at before it is known what they are.
const MAX_AHEAD: usize = 12;
/// Bytes of them at most, but for the last, and of a line whose memory is kept for others.
const MAX_BYTES_AHEAD: usize = 1 << 20;
/// Characters of what a log puts before a line at most.
const MAX_PREFIX: usize = 100;
/// Places at which what was added may end that are tried.
const MAX_PLACES: usize = 10;

/// Lines, with some ahead of the one that is read.
pub(crate) struct Lines<'f> {
    source: &'f mut dyn BufRead,
    /// Those that were read and not taken, the first at the front.
    ahead: VecDeque<String>,
    /// Lines that were taken, to be filled again.
    spare: Vec<String>,
    bytes: Vec<u8>,
    /// Of the line at the front, from 1.
    number: u64,
    has_ended: bool,
    /// The last line, where it ends within a number as if the file was cut there.
    cut: Option<u64>,
    /// The last line, where it has no end.
    unended: Option<u64>,
    /// What stands before each line, its digits as 0 and its letters as a.
    prefix: Vec<char>,
}

impl<'f> Lines<'f> {
    pub(crate) fn new(source: &'f mut dyn BufRead) -> Self {
        Lines {
            source,
            ahead: VecDeque::new(),
            spare: Vec::new(),
            bytes: Vec::new(),
            number: 1,
            has_ended: false,
            cut: None,
            unended: None,
            prefix: Vec::new(),
        }
    }

    /// The number of the next line, from 1.
    pub(crate) const fn number(&self) -> u64 {
        self.number
    }

    /// The next line; none at the end.
    pub(crate) fn peek(&mut self) -> Result<Option<&str>, ImportError> {
        self.fill(1)?;
        Ok(self.ahead.front().map(|line| without(&self.prefix, line)))
    }

    /// The line so many lines behind the next one; none where the file has no more,
    /// or those before it are too long.
    pub(crate) fn peek_behind(&mut self, lines: usize) -> Result<Option<&str>, ImportError> {
        self.fill(lines + 1)?;
        Ok(self.ahead.get(lines).map(|line| without(&self.prefix, line)))
    }

    /// Takes the line that was looked at.
    pub(crate) fn advance(&mut self) {
        if let Some(line) = self.ahead.pop_front() {
            self.number += 1;
            if line.capacity() <= MAX_BYTES_AHEAD {
                self.spare.push(line);
            }
        }
    }

    /// Takes the next line.
    pub(crate) fn take(&mut self) -> Result<Option<String>, ImportError> {
        let line = self.peek()?.map(str::to_owned);
        self.advance();
        Ok(line)
    }

    /// Finds what was added before each of the next lines, if without it they are what is looked
    /// for, and leaves it out from here on.
    pub(crate) fn strip(
        &mut self,
        mut is_wanted: impl FnMut(&[&str]) -> bool,
    ) -> Result<bool, ImportError> {
        self.prefix.clear();
        self.fill(MAX_AHEAD)?;
        let Some(first) = self.ahead.front() else { return Ok(false) };
        let ends = first.char_indices().take(MAX_PREFIX).filter(|(_, letter)| *letter == ' ');
        let ends = ends.map(|(at, _)| at + 1).take(MAX_PLACES);
        let (mut prefix, mut from) = (Vec::new(), 0);
        // Each place is behind the one before, and so is what is left of each line.
        let mut left: Vec<Option<&str>> = self.ahead.iter().map(|line| Some(&**line)).collect();
        let mut lines = Vec::with_capacity(left.len());
        for place in std::iter::once(0).chain(ends) {
            let known = prefix.len();
            prefix.extend(first[from..place].chars().map(shape));
            from = place;
            lines.clear();
            for (left, line) in left.iter_mut().zip(&self.ahead) {
                *left = left.and_then(|left| behind(&prefix[known..], left));
                lines.push(left.unwrap_or(line));
            }
            if is_wanted(&lines) {
                self.prefix = prefix;
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Fails if a line was taken whose last number may be the beginning of another.
    pub(crate) fn are_whole(&self) -> Result<(), ImportError> {
        let why = "the last line has no end: the file may be cut within a number; add a line end \
                   if it is whole";
        self.cut
            .filter(|cut| *cut < self.number)
            .map_or(Ok(()), |cut| Err(ImportError::at(cut, why)))
    }

    /// Whether the file ends within the next line, which was looked at.
    pub(crate) fn is_unended(&self) -> bool {
        self.unended == Some(self.number)
    }

    /// The same of a line that lacks more than some of its last number.
    pub(crate) fn is_cut(&self) -> bool {
        self.is_unended() && self.cut.is_none()
    }

    /// An error at the next line.
    pub(crate) fn error(&self, why: impl Into<String>) -> ImportError {
        ImportError::at(self.number, why)
    }

    fn fill(&mut self, lines: usize) -> Result<(), ImportError> {
        let is_room = |ahead: &VecDeque<String>| {
            ahead.iter().map(String::len).sum::<usize>() < MAX_BYTES_AHEAD
        };
        while self.ahead.len() < lines && !self.has_ended && is_room(&self.ahead) {
            self.bytes.clear();
            let number = self.number + self.ahead.len() as u64;
            let mut limited = std::io::Read::take(&mut *self.source, MAX_LINE as u64);
            let read = limited
                .read_until(b'\n', &mut self.bytes)
                .map_err(|error| ImportError::at(number, format!("it cannot be read: {error}")))?;
            let too_long = || {
                let why = format!("the line is longer than {} MB", MAX_LINE >> 20);
                Err(ImportError::at(number, why))
            };
            if read == MAX_LINE {
                return too_long();
            }
            if read == 0 {
                self.has_ended = true;
                return Ok(());
            }
            if !self.bytes.ends_with(b"\n") {
                self.unended = Some(number);
            }
            if ends_in_number(&self.bytes) {
                self.cut = Some(number);
            }
            let mut line = self.spare.pop().unwrap_or_default();
            line.clear();
            clean(&self.bytes, &mut line);
            // What is no text takes three times as much.
            if line.len() >= MAX_LINE {
                return too_long();
            }
            self.ahead.push_back(line);
        }
        Ok(())
    }
}

/// Whether it has no end and may lack some of its last number, or a field behind that.
fn ends_in_number(bytes: &[u8]) -> bool {
    let number = bytes.strip_suffix(b".").or_else(|| bytes.strip_suffix(b","));
    let number = number.or_else(|| bytes.strip_suffix(b";")).unwrap_or(bytes);
    number.last().is_some_and(u8::is_ascii_digit)
}

/// A letter of what stands before lines, as far as it is the same before each.
const fn shape(letter: char) -> char {
    match letter {
        '0'..='9' => '0',
        'a'..='z' | 'A'..='Z' => 'a',
        other => other,
    }
}

/// The line without what stands before it, where that is of this shape.
fn without<'l>(prefix: &[char], line: &'l str) -> &'l str {
    behind(prefix, line).unwrap_or(line)
}

/// What stands behind the beginning of this shape.
fn behind<'l>(prefix: &[char], line: &'l str) -> Option<&'l str> {
    let mut rest = line.chars();
    prefix.iter().all(|expected| rest.next().map(shape) == Some(*expected)).then_some(rest.as_str())
}

/// The text of a line: without its end, terminal controls, NULs, and what was drawn over.
fn clean(bytes: &[u8], line: &mut String) {
    let bytes = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    let is_plain = |byte: &u8| !matches!(byte, 0 | b'\r' | 0x08 | 0x1b | 0x80..);
    if bytes.iter().all(is_plain) {
        line.push_str(std::str::from_utf8(bytes).unwrap_or_default());
        return;
    }
    let mut bytes = bytes;
    while let Some(rest) = bytes.strip_prefix("\u{feff}".as_bytes()) {
        bytes = rest;
    }
    while let Some(rest) = bytes.strip_suffix(b"\r") {
        bytes = rest;
    }
    let drawn = bytes.rsplit(|byte| *byte == b'\r').next().unwrap_or(bytes);
    // As `from_utf8_lossy` has it, without a second line in memory.
    let mut letters = drawn.utf8_chunks().flat_map(|chunk| {
        let invalid = (!chunk.invalid().is_empty()).then_some(char::REPLACEMENT_CHARACTER);
        chunk.valid().chars().chain(invalid)
    });
    while let Some(letter) = letters.next().filter(|_| line.len() < MAX_LINE) {
        match letter {
            '\0' => {}
            '\u{8}' => {
                line.pop();
            }
            '\u{1b}' => match letters.next() {
                // A control sequence ends at its first letter.
                Some('[') => {
                    letters.by_ref().find(char::is_ascii_alphabetic);
                }
                Some('(' | ')') => {
                    letters.next();
                }
                _ => {}
            },
            _ => line.push(letter),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &[u8]) -> Vec<String> {
        let mut source = text;
        let mut lines = Lines::new(&mut source);
        std::iter::from_fn(|| lines.take().unwrap()).collect()
    }

    #[test]
    fn what_a_terminal_adds_is_left_out() {
        assert_eq!(
            all(b"\0\0\0T: 0\r\n\x1b[2AT: 1 \x1b[K\n\x1bcx\nold\rnew\nl\xb5s\nend"),
            ["T: 0", "T: 1 ", "x", "new", "l\u{fffd}s", "end"]
        );
    }

    #[test]
    fn what_a_log_adds_is_left_out_while_it_looks_the_same() {
        let text = "2026-11-20T08:00:01Z stdout F # Histogram\n\
                    2026-11-20T08:00:02Z stderr F 000001\nbare\n> 3\n";
        let mut source = text.as_bytes();
        let mut lines = Lines::new(&mut source);
        assert!(lines.strip(|lines| lines[0].starts_with("# Hist")).unwrap());
        let found: Vec<String> = std::iter::from_fn(|| lines.take().unwrap()).collect();
        assert_eq!(found, ["# Histogram", "000001", "bare", "> 3"]);
    }

    #[test]
    fn a_last_line_that_may_be_cut_is_known() {
        for (text, is_whole) in [
            ("1\n12", false),
            ("1\n12.", false),
            ("1\n12,", false),
            ("1\n12\n", true),
            ("1\n12\r\n", true),
            ("1\n}", true),
            ("1\n12 us", true),
        ] {
            let mut source = text.as_bytes();
            let mut lines = Lines::new(&mut source);
            lines.take().unwrap();
            lines.peek().unwrap();
            assert!(lines.are_whole().is_ok(), "{text:?}: it was looked at only");
            lines.take().unwrap();
            assert_eq!(lines.are_whole().is_ok(), is_whole, "{text:?}");
        }
    }

    #[test]
    fn long_lines_ahead_do_not_add_up() {
        let text = format!("{}\n", "x".repeat(MAX_BYTES_AHEAD)).repeat(3);
        let mut source = text.as_bytes();
        let mut lines = Lines::new(&mut source);
        let mut ahead = 0;
        lines
            .strip(|lines| {
                ahead = lines.len();
                false
            })
            .unwrap();
        assert_eq!(ahead, 1);
        lines.advance();
        assert!(lines.peek().unwrap().is_some());
    }

    #[test]
    fn no_line_takes_all_memory() {
        let text = vec![b'x'; MAX_LINE + 1];
        let mut source = text.as_slice();
        let error = Lines::new(&mut source).peek().unwrap_err();
        assert_eq!(error.to_string(), "line 1: the line is longer than 8 MB");
    }

    /// 7 MB that are no text took 64 MB.
    #[test]
    fn a_line_that_is_no_text_is_bounded_as_text() {
        let bytes = vec![0xff; MAX_LINE / 2];
        let mut source = bytes.as_slice();
        let error = Lines::new(&mut source).peek().map(|_| ()).unwrap_err();
        assert_eq!(error.to_string(), "line 1: the line is longer than 8 MB");
    }
}
