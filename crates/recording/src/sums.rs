// SPDX-License-Identifier: MIT OR Apache-2.0
//! Check sums of a file that may be cut off any moment: what a complete recording's figures are for
//! its samples.
//!
//! Beside `samples-0.arrows` there is `samples-0.sums` until the run has come to its end: of each
//! message of the stream four bytes of CRC-32, and how long it is, four bytes more, all with the
//! least significant byte first. A message's sum is written before it.

use crate::contents::read_file;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use system::files::{USUAL, create};

/// Bytes that are read of them in any case.
const MIN_READ: u64 = 1 << 20;
/// Bytes for each message.
const ENTRY: usize = 8;

/// `samples-0.arrows` -> `samples-0.sums`.
pub(crate) fn sums_path(stream: &Path) -> PathBuf {
    stream.with_extension("sums")
}

pub(crate) struct SumsWriter {
    path: PathBuf,
    file: File,
}

impl SumsWriter {
    /// Of a stream that is begun.
    pub(crate) fn create(stream: &Path) -> io::Result<Self> {
        let path = sums_path(stream);
        let file = create(&path, USUAL)?;
        Ok(SumsWriter { path, file })
    }

    /// Enters a message that is going to be written.
    pub(crate) fn add(&mut self, message: &[u8]) -> io::Result<()> {
        let mut sum = Sum::new();
        sum.add(message);
        self.file.write_all(&sum.entry())
    }

    /// The file, for the syncer.
    pub(crate) const fn file(&self) -> &File {
        &self.file
    }

    /// The stream has come to its end.
    pub(crate) fn remove(self) -> io::Result<()> {
        fs::remove_file(&self.path)
    }
}

/// The sums of a stream, as far as they are known.
#[derive(Default)]
pub(crate) struct Sums(Vec<u8>);

impl Sums {
    /// None in recordings that have none, nor behind what a power cut left of them.
    pub(crate) fn of(stream: &Path) -> Self {
        // Each message has more bytes than its sum; of a stream that lost its end to a power cut
        // more may be there.
        let most = stream.metadata().map_or(0, |stream| stream.len()).max(MIN_READ);
        Sums(read_file(&sums_path(stream), most).unwrap_or_default())
    }

    /// Whether this message, from 0, is known to be another.
    pub(crate) fn differs(&self, message: usize, sum: Sum) -> bool {
        let known = self.0.as_chunks::<ENTRY>().0.get(message);
        // No message is of no bytes: that entry was not written, or not to its end.
        known.is_some_and(|known| known[4..] != [0; 4] && *known != sum.entry())
    }
}

/// CRC-32 of IEEE 802.3, and the number of bytes.
#[derive(Clone)]
pub(crate) struct Sum {
    crc: crc32fast::Hasher,
    bytes: u32,
}

impl Sum {
    pub(crate) fn new() -> Self {
        Sum { crc: crc32fast::Hasher::new(), bytes: 0 }
    }

    pub(crate) fn add(&mut self, bytes: &[u8]) {
        self.crc.update(bytes);
        self.bytes = self.bytes.wrapping_add(u32::try_from(bytes.len()).unwrap_or(0));
    }

    fn entry(self) -> [u8; ENTRY] {
        let mut entry = [0; ENTRY];
        entry[..4].copy_from_slice(&self.crc.finalize().to_le_bytes());
        entry[4..].copy_from_slice(&self.bytes.to_le_bytes());
        entry
    }
}

/// Sums up what is read, where that is wanted.
pub(crate) struct Summed<R> {
    source: R,
    sum: Option<Sum>,
}

impl<R> Summed<R> {
    pub(crate) fn new(source: R, is_wanted: bool) -> Self {
        Summed { source, sum: is_wanted.then(Sum::new) }
    }

    /// Of what was read since the call before.
    pub(crate) fn take(&mut self) -> Option<Sum> {
        self.sum.as_mut().map(|sum| std::mem::replace(sum, Sum::new()))
    }
}

impl<R: Read> Read for Summed<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let bytes = self.source.read(buffer)?;
        if let Some(sum) = &mut self.sum {
            sum.add(&buffer[..bytes]);
        }
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_check_value_of_the_standard() {
        let mut sum = Sum::new();
        sum.add(b"1234");
        sum.add(b"56789");
        assert_eq!(sum.entry(), [0x26, 0x39, 0xf4, 0xcb, 9, 0, 0, 0]);
    }
}
