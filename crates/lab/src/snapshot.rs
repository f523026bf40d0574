// SPDX-License-Identifier: MIT OR Apache-2.0
//! A guest that has booted, saved.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::path::Path;

/// What a snapshot is of: the hash of all that went into the guest up to it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SnapshotKey(pub(crate) String);

/// A booted guest that was saved.
#[derive(Debug)]
pub(crate) struct Snapshot {
    /// Open, so that it stays even if it is removed from the cache meanwhile.
    pub disk: File,
    /// What the guest had printed.
    pub console: Vec<u8>,
    /// Whether it was made by an earlier command, and so might not be what it was.
    pub from_cache: bool,
}

impl Snapshot {
    /// A disk of its own for a guest: it writes there as it starts.
    pub(crate) fn copy_disk(&self, to: &Path) -> io::Result<()> {
        let mut from = &self.disk;
        from.rewind()?;
        io::copy(&mut from, &mut File::create(to)?).map(|_| ())
    }

    pub(crate) fn read_disk(&self) -> io::Result<Vec<u8>> {
        let mut from = &self.disk;
        from.rewind()?;
        let mut bytes = Vec::new();
        from.read_to_end(&mut bytes)?;
        Ok(bytes)
    }
}
