// SPDX-License-Identifier: MIT OR Apache-2.0
//! One CPU's events, as text: its `trace_pipe`, read without waiting. What the kernel says that it
//! lost is counted.

use crate::Text;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::time::Timespec;
use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::Duration;

/// Far more than the longest line that the kernel makes, which is a page.
const BUFFER_BYTES: usize = 64 << 10;

/// Reads one CPU's events. After it is made it allocates nothing.
#[derive(Debug)]
pub struct Reader<F = File> {
    file: F,
    buffer: Box<[u8]>,
    /// What has been read and not returned yet lies between the two.
    start: usize,
    end: usize,
    lost: u64,
    /// Whether the rest of a line that was too long is still to come.
    skipping: bool,
}

/// Opens a file of events, whose reads do not wait for any.
pub(crate) fn nonblocking(path: &Path) -> io::Result<File> {
    let flags = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
    OpenOptions::new().read(true).custom_flags(flags).open(path)
}

impl Reader {
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        Ok(Reader::over(nonblocking(path)?))
    }

    /// Waits until there is something to read, and says whether there is. A signal ends it, with an
    /// error of kind `Interrupted`. While somebody waits, recording an event makes an interrupt
    /// on the CPU that records it.
    ///
    /// # Errors
    /// What poll(2) says.
    pub fn wait(&self, at_most: Duration) -> io::Result<bool> {
        let timeout = Timespec::try_from(at_most).map_err(io::Error::other)?;
        Ok(poll(&mut [PollFd::new(&self.file, PollFlags::IN)], Some(&timeout))? > 0)
    }
}

impl<F: Read> Reader<F> {
    /// Reads from any source of the same text.
    pub(crate) fn over(file: F) -> Self {
        Reader {
            file,
            buffer: vec![0; BUFFER_BYTES].into(),
            start: 0,
            end: 0,
            lost: 0,
            skipping: false,
        }
    }

    /// Events that the kernel said it lost so far; where it did not say how many, one.
    pub const fn lost(&self) -> u64 {
        self.lost
    }

    /// The next line; none if there is none now.
    ///
    /// # Errors
    /// What read(2) says, except that there is nothing.
    #[expect(clippy::should_implement_trait, reason = "what it returns lies in its own buffer")]
    pub fn next(&mut self) -> io::Result<Option<Text<'_>>> {
        loop {
            let unread = &self.buffer[self.start..self.end];
            if let Some(length) = unread.iter().position(|byte| *byte == b'\n') {
                let line = self.start..self.start + length;
                self.start += length + 1;
                if std::mem::take(&mut self.skipping) || line.is_empty() {
                    continue;
                }
                make_text(&mut self.buffer[line.clone()]);
                let text = Text::of(std::str::from_utf8(&self.buffer[line]).unwrap_or_default());
                if let Text::Lost(events) = text {
                    self.lost += events.unwrap_or(1);
                }
                return Ok(Some(text));
            }
            if !self.fill()? {
                return Ok(None);
            }
        }
    }

    /// Reads more behind what is there; false if there is nothing now.
    fn fill(&mut self) -> io::Result<bool> {
        self.buffer.copy_within(self.start..self.end, 0);
        (self.start, self.end) = (0, self.end - self.start);
        if self.end == self.buffer.len() {
            // No line of the kernel's is so long. What it was is counted, once.
            self.lost += u64::from(!self.skipping);
            (self.end, self.skipping) = (0, true);
        }
        match self.file.read(&mut self.buffer[self.end..]) {
            Ok(bytes) => {
                self.end += bytes;
                Ok(bytes > 0)
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(false),
            Err(error) => Err(error),
        }
    }
}

/// Puts a question mark for each byte that is no text: names of tasks may be of any bytes.
fn make_text(bytes: &mut [u8]) {
    while let Err(error) = std::str::from_utf8(bytes) {
        bytes[error.valid_up_to()] = b'?';
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives its text in pieces, with nothing there between them.
    struct Pieces(Vec<Vec<u8>>);

    impl Read for Pieces {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            if self.0.is_empty() {
                return Err(io::ErrorKind::WouldBlock.into());
            }
            let piece = &mut self.0[0];
            let bytes = piece.len().min(buffer.len());
            buffer[..bytes].copy_from_slice(&piece[..bytes]);
            piece.drain(..bytes);
            if piece.is_empty() {
                self.0.remove(0);
            }
            Ok(bytes)
        }
    }

    fn lines(pieces: &[&[u8]]) -> (Vec<String>, u64) {
        let mut reader = Reader::over(Pieces(pieces.iter().map(|piece| piece.to_vec()).collect()));
        let mut lines = Vec::new();
        while let Some(text) = reader.next().unwrap() {
            if let Text::Line(line) = text {
                lines.push(line.to_owned());
            }
        }
        (lines, reader.lost())
    }

    #[test]
    fn lines_come_whole_however_they_were_read() {
        let (read, lost) = lines(&[b"one\ntw", b"o\nth", b"ree\nunfinished"]);
        assert_eq!((read, lost), (vec!["one".into(), "two".into(), "three".into()], 0));
    }

    #[test]
    fn what_the_kernel_lost_is_counted() {
        let (read, lost) = lines(&[b"CPU:1 [LOST 17 EVENTS]\none\nCPU:1 [LOST EVENTS]\n"]);
        assert_eq!((read, lost), (vec!["one".into()], 18));
    }

    #[test]
    fn a_line_without_end_is_lost_and_what_follows_is_not() {
        let (read, lost) = lines(&[&vec![b'x'; 3 * BUFFER_BYTES], b"\nnext\n"]);
        assert_eq!((read, lost), (vec!["next".into()], 1));
    }

    #[test]
    fn bytes_that_are_no_text() {
        assert_eq!(lines(&[b"a\xff\xfeb\n"]).0, ["a??b"]);
    }
}
