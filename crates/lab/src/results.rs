// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a guest sends, read from the file that the emulator appends it to.

use crate::boot_error::BootFailure;
use crate::channel::{self, FrameKind, Scanned};
use crate::console::harmless;
use crate::file_error::FileError;
use crate::order::Refusal;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Characters of a guest's reason for a refusal.
const MAX_REASON: usize = 2_000;
/// Of a guest's results at once: it may write noise without end.
const MAX_READ: u64 = 16 << 20;

/// What a guest says that is no reason to give up.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Message {
    /// Its first process runs.
    Begun,
    /// It runs again after it was saved, and nothing had been skipped.
    Continued,
    /// All that its task left, an archive.
    Results(Vec<u8>),
}

#[derive(Debug)]
pub(crate) struct Results {
    path: PathBuf,
    /// What the file may hold.
    max_bytes: u64,
    /// What was read and is not yet understood.
    bytes: Vec<u8>,
    read: u64,
    /// When the last of it came.
    heard: Instant,
    /// Of a frame that is not whole yet, the bytes that are here and all.
    arriving: Option<(u64, u64)>,
}

impl Results {
    pub(crate) fn new(path: PathBuf, max_bytes: u64) -> Self {
        let heard = Instant::now();
        Results { path, max_bytes, bytes: Vec::new(), read: 0, heard, arriving: None }
    }

    /// Of a frame that is not whole yet, the bytes that are here and all.
    pub(crate) const fn arriving(&self) -> Option<(u64, u64)> {
        self.arriving
    }

    /// For how long nothing came.
    pub(crate) fn silence(&self) -> Duration {
        self.heard.elapsed()
    }

    /// The next message, if all of it is there.
    pub(crate) fn next(&mut self) -> Result<Option<Message>, BootFailure> {
        loop {
            let message = self.understand()?;
            if message.is_some() || self.read_more()? == 0 {
                return Ok(message);
            }
        }
    }

    /// Reads what the file has from here on, or the first [`MAX_READ`] of it, and says how many
    /// bytes; nothing where there is no file.
    fn read_more(&mut self) -> Result<u64, FileError> {
        let Ok(file) = File::open(&self.path) else { return Ok(0) };
        let read = || -> io::Result<usize> {
            (&file).seek(SeekFrom::Start(self.read))?;
            file.take(MAX_READ).read_to_end(&mut self.bytes)
        };
        let read = read().map_err(FileError::of("read", &self.path))? as u64;
        self.read += read;
        if read > 0 {
            self.heard = Instant::now();
        }
        Ok(read)
    }

    /// Takes the first frame out of what was read.
    fn understand(&mut self) -> Result<Option<Message>, BootFailure> {
        self.arriving = None;
        let (message, end) = match channel::find(&self.bytes) {
            Scanned::Part { of, .. } if of > self.max_bytes => {
                return Err(BootFailure::Damaged("its length is impossible".to_owned()));
            }
            Scanned::Part { received, of } if of > 0 => {
                self.arriving = Some((received, of));
                return Ok(None);
            }
            Scanned::Part { .. } => {
                // Noise so far; only its end can be the beginning of something.
                let noise = self.bytes.len().saturating_sub(channel::HEADER);
                self.bytes.drain(..noise);
                return Ok(None);
            }
            Scanned::Damaged { why, .. } => return Err(BootFailure::Damaged(why.to_owned())),
            Scanned::Frame { kind, payload, end } => (message(kind, payload)?, end),
        };
        self.bytes.drain(..end);
        Ok(Some(message))
    }
}

fn message(kind: FrameKind, payload: &[u8]) -> Result<Message, BootFailure> {
    let text = String::from_utf8_lossy(payload);
    match kind {
        FrameKind::Begun => Ok(Message::Begun),
        FrameKind::Results => Ok(Message::Results(payload.to_vec())),
        // What cannot be read is no 0.
        FrameKind::Continued => match text.parse().unwrap_or(u64::MAX) {
            0 => Ok(Message::Continued),
            ns => Err(BootFailure::TimeSkipped { ns }),
        },
        FrameKind::NoSnapshot => Err(BootFailure::CannotStop { why: harmless(&text, MAX_REASON) }),
        FrameKind::Refused => Err(BootFailure::Refused(refusal(payload))),
    }
}

fn refusal(payload: &[u8]) -> Refusal {
    let refusal: Refusal = serde_json::from_slice(payload).unwrap_or_else(|error| Refusal {
        error: format!("it could not do it, and its reason cannot be read: {error}"),
        bad_input: false,
    });
    Refusal { error: harmless(&refusal.error, MAX_REASON), ..refusal }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_without_end_are_read_bit_by_bit() {
        let place = tempfile::tempdir().unwrap();
        let mut results = Results::new(place.path().join("results"), 1 << 40);
        assert_eq!(results.read_more().unwrap(), 0);
        let file = File::create(&results.path).unwrap();
        file.set_len((4 << 30) + 3).unwrap();
        assert_eq!(results.read_more().unwrap(), MAX_READ);
        assert_eq!((results.read, results.bytes.len() as u64), (MAX_READ, MAX_READ));
        results.read = 4 << 30;
        assert_eq!(results.read_more().unwrap(), 3);
    }

    #[test]
    fn a_guest_that_stops_sending_is_noticed() {
        let place = tempfile::tempdir().unwrap();
        let mut results = Results::new(place.path().join("results"), 1 << 20);
        let mut sent = Vec::new();
        channel::send(&mut sent, FrameKind::Begun, &[]).unwrap();
        channel::send(&mut sent, FrameKind::Results, &[7; 100]).unwrap();
        std::fs::write(&results.path, &sent[..sent.len() - 40]).unwrap();
        assert_eq!(results.next().unwrap(), Some(Message::Begun));
        assert_eq!(results.next().unwrap(), None);
        let heard = results.heard;
        std::thread::sleep(Duration::from_millis(2));
        assert_eq!(results.next().unwrap(), None);
        assert_eq!((results.arriving(), results.heard), (Some((60, 100)), heard));
        std::fs::write(&results.path, &sent).unwrap();
        assert_eq!(results.next().unwrap(), Some(Message::Results(vec![7; 100])));
        assert!(results.heard > heard && results.arriving().is_none());
    }
}
