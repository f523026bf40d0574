// SPDX-License-Identifier: MIT OR Apache-2.0
//! Why the output of another program is not imported.

use recording::RecordingError;

/// Where reading ended, and why.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// What stands there is not what the format has.
    #[error("line {line}: {why}")]
    Line {
        /// From 1.
        line: u64,
        why: String,
    },
    /// The same of a file that has no lines.
    #[error("byte {offset}: {why}")]
    Byte {
        /// From 0.
        offset: u64,
        why: String,
    },
    /// The same of a member of an archive.
    #[error("{member}: {error}")]
    Member { member: String, error: Box<ImportError> },
    /// Nothing in it is known.
    #[error("{0}")]
    Nothing(String),
    /// All of it was read.
    #[error("{0}")]
    Whole(String),
    /// The recording cannot be written.
    #[error(transparent)]
    Recording(#[from] RecordingError),
}

impl ImportError {
    pub(crate) fn at(line: u64, why: impl Into<String>) -> ImportError {
        ImportError::Line { line, why: why.into() }
    }
}
