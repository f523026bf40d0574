// SPDX-License-Identifier: MIT OR Apache-2.0
//! A pipe that is read without waiting.

use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::os::fd::OwnedFd;

/// The reading end of a pipe, and what has come out of it.
#[derive(Debug)]
pub(crate) struct PipeReader {
    /// None once it has ended.
    pipe: Option<File>,
    bytes: Vec<u8>,
    /// Whether some were forgotten.
    is_cut: bool,
}

const AT_ONCE: usize = 64 * 1024;

impl PipeReader {
    /// Takes a pipe over. Only this end stops waiting; the writer's is another.
    pub(crate) fn new(pipe: OwnedFd) -> io::Result<Self> {
        rustix::io::ioctl_fionbio(&pipe, true)?;
        Ok(PipeReader { pipe: Some(File::from(pipe)), bytes: Vec::new(), is_cut: false })
    }

    /// Takes in what is there, or as much of it as a pipe usually holds: who writes without end
    /// shall not keep us.
    pub(crate) fn drain(&mut self) {
        let Some(pipe) = &mut self.pipe else { return };
        let mut chunk = [0; 4096];
        let max = self.bytes.len() + AT_ONCE;
        while self.bytes.len() < max {
            match pipe.read(&mut chunk) {
                Ok(count @ 1..) => self.bytes.extend_from_slice(&chunk[..count]),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Ok(0) | Err(_) => {
                    self.pipe = None;
                    return;
                }
            }
        }
    }

    /// Whether the other end is closed.
    pub(crate) fn ended(&self) -> bool {
        self.pipe.is_none()
    }

    /// Takes the whole lines out.
    pub(crate) fn lines(&mut self) -> Vec<String> {
        let Some(end) = self.bytes.iter().rposition(|byte| *byte == b'\n') else {
            return Vec::new();
        };
        let rest = self.bytes.split_off(end + 1);
        let whole = std::mem::replace(&mut self.bytes, rest);
        String::from_utf8_lossy(&whole).lines().map(str::to_owned).collect()
    }

    /// Forgets all but the first bytes.
    pub(crate) fn truncate(&mut self, limit: usize) {
        self.is_cut |= self.bytes.len() > limit;
        self.bytes.truncate(limit);
    }

    /// All that is there, in one line, each once: all tasks of a load may say the same. Of lines of
    /// which the last was cut off, the whole ones.
    pub(crate) fn text(&self) -> String {
        let whole = self.bytes.iter().rposition(|byte| *byte == b'\n').filter(|_| self.is_cut);
        let text = String::from_utf8_lossy(&self.bytes[..whole.unwrap_or(self.bytes.len())]);
        let mut lines: Vec<&str> = Vec::new();
        for line in text.lines().map(str::trim) {
            if !lines.contains(&line) {
                lines.push(line);
            }
        }
        lines.join("; ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn lines_come_whole() {
        let (source, mut sink) = io::pipe().unwrap();
        let mut reader = PipeReader::new(source.into()).unwrap();
        reader.drain();
        assert!(reader.lines().is_empty() && !reader.ended());
        sink.write_all(b"one\ntw").unwrap();
        reader.drain();
        assert_eq!(reader.lines(), ["one"]);
        sink.write_all(b"o\nthree\nrest").unwrap();
        drop(sink);
        reader.drain();
        assert_eq!(reader.lines(), ["two", "three"]);
        assert!(reader.ended() && reader.lines().is_empty());
        reader.truncate(3);
        assert_eq!(reader.text(), "res");
    }

    /// The last of what many tasks said ended in the middle of a word.
    #[test]
    fn a_line_beyond_the_limit_is_left_out() {
        let (source, mut sink) = io::pipe().unwrap();
        let mut reader = PipeReader::new(source.into()).unwrap();
        sink.write_all(b"one\ntwo\nthree\n").unwrap();
        reader.drain();
        reader.truncate(14);
        assert_eq!(reader.text(), "one; two; three");
        reader.truncate(12);
        assert_eq!(reader.text(), "one; two");
        sink.write_all(b"four\n").unwrap();
        reader.drain();
        reader.truncate(12);
        assert_eq!(reader.text(), "one; two");
        reader.truncate(2);
        assert_eq!(reader.text(), "on");
    }

    /// Each of a load's eight tasks said that it may not have a nice level.
    #[test]
    fn what_all_tasks_say_is_said_once() {
        let (source, mut sink) = io::pipe().unwrap();
        let mut reader = PipeReader::new(source.into()).unwrap();
        sink.write_all(b"not allowed\nnot allowed\n another\nnot allowed\n").unwrap();
        reader.drain();
        assert_eq!(reader.text(), "not allowed; another");
    }
}
