// SPDX-License-Identifier: MIT OR Apache-2.0
//! How somebody outside sees the figures so far: a named pipe, and a file in shared memory that a
//! signal has written.

use rustix::fs::{CWD, FileType, Mode, OFlags, mknodat};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{FileTypeExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use system::files::{create, remove};

/// A named pipe: who opens it gets the lines of the threads once.
pub struct Pipe {
    path: PathBuf,
    written: Option<Instant>,
}

/// A reader that was served is gone by then.
const BETWEEN: Duration = Duration::from_millis(100);

impl Pipe {
    /// Makes it, in the place of one that an earlier run has left.
    pub fn make(path: &Path) -> io::Result<Self> {
        if fs::symlink_metadata(path).is_ok_and(|found| found.file_type().is_fifo()) {
            remove(path)?;
        }
        mknodat(CWD, path, FileType::Fifo, Mode::from_raw_mode(0o644), 0)?;
        Ok(Pipe { path: path.to_owned(), written: None })
    }

    /// Writes to a reader, if there is one.
    pub fn serve(&mut self, lines: impl FnOnce() -> String) {
        if self.written.is_some_and(|written| written.elapsed() < BETWEEN) {
            return;
        }
        let flags = (OFlags::NONBLOCK | OFlags::NOFOLLOW).bits().cast_signed();
        // Without a reader it cannot be opened.
        let opened = OpenOptions::new().write(true).custom_flags(flags).open(&self.path);
        if let Ok(mut pipe) = opened {
            let _ = pipe.write_all(lines().as_bytes());
            self.written = Some(Instant::now());
        }
    }
}

/// The file in shared memory that get_cyclictest_snapshot reads.
pub struct SharedFile {
    path: PathBuf,
    file: File,
}

impl SharedFile {
    /// Makes the file of this process.
    pub fn make() -> io::Result<Self> {
        let path = PathBuf::from(format!("/dev/shm/cyclictest{}", std::process::id()));
        let file = create(&path, 0o644)?;
        Ok(SharedFile { path, file })
    }

    /// Replaces what is in it.
    pub fn write(&self, text: &str) -> io::Result<()> {
        use std::os::unix::fs::FileExt as _;
        self.file.set_len(0)?;
        self.file.write_all_at(text.as_bytes(), 0)
    }
}

impl Drop for SharedFile {
    fn drop(&mut self) {
        let _ = remove(&self.path);
    }
}
