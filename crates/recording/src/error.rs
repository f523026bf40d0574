// SPDX-License-Identifier: MIT OR Apache-2.0
//! What can go wrong with a recording, each with the path it happened on.

use crate::run_json::DOCUMENT;
use std::io;
use std::path::{Path, PathBuf};

/// Why a recording could not be written or read.
#[derive(Debug, thiserror::Error)]
pub enum RecordingError {
    #[error(
        "{} exists already: a recording is never overwritten. \
         Choose another name with -o, or remove it",
        shown(.0),
    )]
    Exists(PathBuf),
    #[error("cannot {doing} {}: {source}", shown(path))]
    Io { doing: &'static str, path: PathBuf, source: io::Error },
    /// There is no recording there.
    #[error("{} is not a recording: there is no run.json in it{}", shown(path), recordings(holds))]
    NotARecording {
        path: PathBuf,
        /// Names of recordings in that folder.
        holds: Vec<String>,
    },
    /// `run.json` is not what it should be.
    #[error("{} cannot be understood: {why}", shown(path))]
    Document { path: PathBuf, why: String },
    /// A link to what is not part of the recording.
    #[error(
        "{} is a link to {}, which is not in its folder: a recording is read from its own folder \
         only. Copy it there if it belongs to it",
        shown(path),
        shown(target)
    )]
    LeadsOut { path: PathBuf, target: PathBuf },
    /// A FIFO, a device, a folder.
    #[error("{} is {what}: expected a file", shown(path))]
    NoFile { path: PathBuf, what: &'static str },
    /// More than any such file takes.
    #[error(
        "{} is larger than {} MB, the most that is read of such a file",
        shown(path),
        max_bytes >> 20,
    )]
    TooLarge { path: PathBuf, max_bytes: u64 },
    /// Only a histogram or figures are known.
    #[error("{} holds no samples", shown(.0))]
    NoSamples(PathBuf),
    /// A samples file is damaged.
    #[error("{} is damaged after row {rows}: {why}", shown(path))]
    Samples {
        path: PathBuf,
        /// Rows that could be read.
        rows: u64,
        why: String,
    },
}

/// What is added where a folder of recordings was taken for one of them.
fn recordings(holds: &[String]) -> String {
    match holds {
        [] => String::new(),
        [only] => format!(". It holds one: {only}"),
        [first, ..] => format!(". It holds {}, such as {first}", holds.len()),
    }
}

/// A path in one line: those of a folder that somebody sent are named by him.
fn shown(path: &Path) -> String {
    let text = path.display().to_string();
    let one =
        |c: char| if c.is_control() { format!("\\u{:04x}", u32::from(c)) } else { c.to_string() };
    if text.chars().any(char::is_control) { text.chars().map(one).collect() } else { text }
}

impl RecordingError {
    pub(crate) fn not_a_recording(path: &Path) -> Self {
        let entries = path.read_dir().into_iter().flatten().flatten();
        let recordings = entries.filter(|entry| entry.path().join(DOCUMENT).is_file());
        let mut holds: Vec<_> =
            recordings.map(|entry| shown(Path::new(&entry.file_name()))).collect();
        holds.sort();
        RecordingError::NotARecording { path: path.to_owned(), holds }
    }

    pub(crate) fn io(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> RecordingError {
        move |source| RecordingError::Io { doing, path: path.to_owned(), source }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_of_recordings_tells_their_names() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().display();
        let said = || RecordingError::not_a_recording(folder.path()).to_string();
        assert_eq!(said(), format!("{place} is not a recording: there is no run.json in it"));
        assert_eq!(shown(Path::new("a\u{1b}\n/µ")), "a\\u001b\\u000a/µ");
        for (name, holds) in [("b.teiji", "one: b.teiji"), ("a.teiji", "2, such as a.teiji")] {
            std::fs::create_dir(folder.path().join(name)).unwrap();
            std::fs::write(folder.path().join(name).join(DOCUMENT), "{}").unwrap();
            assert_eq!(
                said(),
                format!("{place} is not a recording: there is no run.json in it. It holds {holds}")
            );
        }
    }
}
