// SPDX-License-Identifier: MIT OR Apache-2.0
//! A stream being read, each message compared with the sum that was written before it.

use crate::RecordingError;
use crate::column::Column;
use crate::contents::open_file;
use crate::decoder::{Broken, Decoder};
use crate::sums::{Summed, Sums, sums_path};
use std::fs::File;
use std::io::{BufReader, Read, Take};
use std::path::{Path, PathBuf};

/// A stream whose messages are held against their sums, where there are any.
pub(crate) struct Checked {
    path: PathBuf,
    pub(crate) decoder: Decoder<Summed<BufReader<Take<File>>>>,
    sums: Sums,
    /// Messages before the next.
    messages: usize,
}

/// Opens a stream up to so many bytes. Only of one that may be cut off there are sums.
pub(crate) fn checked(
    path: &Path,
    bytes: u64,
    cut: bool,
) -> Result<Result<Checked, Broken>, RecordingError> {
    let file = open_file(path)?;
    let sums = if cut { Sums::of(path) } else { Sums::default() };
    let source = Summed::new(BufReader::with_capacity(1 << 18, file.take(bytes)), cut);
    Ok(Decoder::open(source).and_then(|decoder| {
        let mut stream = Checked { path: path.to_owned(), decoder, sums, messages: 0 };
        if stream.differs() {
            Err("its schema is not the one that was written".into())
        } else {
            Ok(stream)
        }
    }))
}

impl Checked {
    /// The columns of the next batch; none at the end mark.
    pub(crate) fn next(&mut self) -> Result<Option<&[Column]>, Broken> {
        if self.decoder.next()?.is_none() {
            return Ok(None);
        }
        if self.differs() {
            let is_unwritten = self.decoder.ends_in_zeros()
                && matches!(self.decoder.next(), Err(Broken::Unfinished(_)));
            let why = "a batch is not the one that was written".to_owned();
            return Err(if is_unwritten { Broken::Unfinished(why) } else { Broken::Damaged(why) });
        }
        Ok(Some(self.decoder.columns()))
    }

    /// Whether the last message is another than was written. The sums are removed as a run comes to
    /// its end, and the file may be another one then.
    fn differs(&mut self) -> bool {
        let Some(sum) = self.decoder.source().take() else { return false };
        self.messages += 1;
        self.sums.differs(self.messages - 1, sum) && sums_path(&self.path).exists()
    }
}
