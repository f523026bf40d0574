// SPDX-License-Identifier: MIT OR Apache-2.0
//! What was tried with a file or folder, and why it failed.

use std::io;
use std::path::{Path, PathBuf};

#[derive(Debug, thiserror::Error)]
#[error("cannot {doing} {}: {source}", path.display())]
pub struct FileError {
    pub(crate) doing: &'static str,
    path: PathBuf,
    source: io::Error,
}

impl FileError {
    /// What becomes of an error of doing this with that file.
    pub(crate) fn of(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| FileError { doing, path, source }
    }
}

impl From<FileError> for String {
    fn from(error: FileError) -> Self {
        error.to_string()
    }
}
