// SPDX-License-Identifier: MIT OR Apache-2.0
//! What can go wrong with a recording, each with the path it happened on.

use std::io;
use std::path::{Path, PathBuf};

/// Why a recording could not be written or read.
#[derive(Debug, thiserror::Error)]
pub enum RecordingError {
    /// The place is taken.
    #[error("{} exists already: a recording is never overwritten. Choose another name with -o, or remove it", .0.display())]
    Exists(PathBuf),
    /// The system refused.
    #[error("cannot {doing} {}: {source}", path.display())]
    Io {
        /// What was tried.
        doing: &'static str,
        /// On what.
        path: PathBuf,
        /// Why it failed.
        source: io::Error,
    },
    /// There is no recording there.
    #[error("{} is not a recording: there is no run.json in it", .0.display())]
    NotARecording(PathBuf),
    /// `run.json` is not what it should be.
    #[error("{} cannot be understood: {why}", path.display())]
    Document {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// Only a histogram or figures are known.
    #[error("{} holds no samples", .0.display())]
    NoSamples(PathBuf),
    /// A samples file is damaged.
    #[error("{} is damaged after row {rows}: {why}", path.display())]
    Samples {
        /// The file.
        path: PathBuf,
        /// Rows that could be read.
        rows: u64,
        /// What is wrong with it.
        why: String,
    },
}

impl RecordingError {
    pub(crate) fn io(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> RecordingError {
        move |source| RecordingError::Io { doing, path: path.to_owned(), source }
    }
}
