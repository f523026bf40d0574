// SPDX-License-Identifier: MIT OR Apache-2.0
//! A recording once more, without names: another document, the same samples, and what lies beside
//! them.

use crate::contents::{CONSOLE, MAX_TEXT, open_file, read_file, write_file};
use crate::decoder::schema_texts;
use crate::folder::Folder;
use crate::run_json::DOCUMENT;
use crate::samples::{LABELS, long_path};
use crate::sums::sums_path;
use crate::{Recording, RecordingError, read_explained, write_explained};
use model::{Anonymiser, Detail, Document, EXPLAINED, Pseudonyms, Thread};
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// Files that are made of the document, or hold nothing.
const MADE_ANEW: [&str; 4] = [DOCUMENT, "host-before.json", "host-after.json", ".reserve"];
/// Columns that every samples file or one of values beyond 32 bits may have.
const COLUMNS: [&str; 4] = ["time_ns", "row", "column", "value"];

/// What a recording without names does not have of the one it was made of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// Files that no recording has.
    pub files: Vec<String>,
    /// Lines of the console that were not the kernel's.
    pub console_lines: usize,
}

impl Recording {
    /// The same recording, with names replaced in its document. Its samples are found where they
    /// were.
    pub fn anonymous(self, pseudonyms: &Pseudonyms) -> Recording {
        let document =
            Anonymiser::new(pseudonyms, self.document()).document(self.document().clone());
        Recording::from_document(self.path(), document)
    }

    /// Writes it without names. The new folder appears under its name in one step, whole.
    ///
    /// # Errors
    /// When there is one of that name, a file cannot be read or written, or a samples file has
    /// texts that teiji did not write.
    pub fn write_anonymous(
        &self,
        to: &Path,
        pseudonyms: &Pseudonyms,
    ) -> Result<LeftOut, RecordingError> {
        let anonymiser = Anonymiser::new(pseudonyms, self.document());
        let document = anonymiser.document(self.document().clone());
        let mut left_out = LeftOut::default();
        let mut copied: BTreeSet<PathBuf> =
            MADE_ANEW.iter().map(|name| self.path().join(name)).collect();
        let folder = Folder::part(to)?;
        for (old, new) in self.document().threads.iter().zip(&document.threads) {
            self.copy_samples(old, new, folder.path(), &mut copied)?;
        }
        if let Some(explained) = read_explained(self.path())? {
            write_explained(folder.path(), &anonymiser.explained(explained))?;
        }
        copied.insert(self.path().join(EXPLAINED));
        let console = self.path().join(CONSOLE);
        if console.symlink_metadata().is_ok() {
            let shown =
                anonymiser.console(&String::from_utf8_lossy(&read_file(&console, MAX_TEXT)?));
            left_out.console_lines = shown.left_out;
            let new = folder.path().join(CONSOLE);
            write_file(&new, shown.text.as_bytes()).map_err(RecordingError::io("write", &new))?;
        }
        copied.insert(console);
        folder.put_down(&document, to)?;
        left_out.files = self.others(&copied)?;
        Ok(left_out)
    }

    /// Copies what there is of a thread's samples, byte for byte.
    fn copy_samples(
        &self,
        old: &Thread,
        new: &Thread,
        folder: &Path,
        copied: &mut BTreeSet<PathBuf>,
    ) -> Result<(), RecordingError> {
        if old.detail != Detail::Samples {
            return Ok(());
        }
        let from = self.path().join(Path::new(&old.samples_file).file_name().unwrap_or_default());
        let to = folder.join(&new.samples_file);
        check_texts(&from, self.document())?;
        copy(&from, &to)?;
        copied.insert(from.clone());
        for of in [long_path, sums_path, |path: &Path| sums_path(&long_path(path))] {
            let (from, to) = (of(&from), of(&to));
            if from.symlink_metadata().is_ok() {
                if from.extension().is_some_and(|ending| ending == "arrows") {
                    check_texts(&from, self.document())?;
                }
                copy(&from, &to)?;
            }
            copied.insert(from);
        }
        Ok(())
    }

    /// Names of what else is in the folder.
    fn others(&self, known: &BTreeSet<PathBuf>) -> Result<Vec<String>, RecordingError> {
        let mut names = Vec::new();
        for entry in fs::read_dir(self.path()).map_err(RecordingError::io("read", self.path()))? {
            let entry = entry.map_err(RecordingError::io("read", self.path()))?;
            if !known.contains(&entry.path()) {
                names.push(entry.file_name().to_string_lossy().into_owned());
            }
        }
        names.sort();
        Ok(names)
    }
}

fn copy(from: &Path, to: &Path) -> Result<(), RecordingError> {
    let mut source = open_file(from)?;
    File::create_new(to)
        .and_then(|mut file| io::copy(&mut source, &mut file))
        .map_err(RecordingError::io("write", to))?;
    Ok(())
}

/// Refuses a samples file that says more of itself than teiji writes: another program may have
/// added to it who it was written by.
fn check_texts(path: &Path, document: &Document) -> Result<(), RecordingError> {
    let damaged = |why: String| RecordingError::Samples { path: path.to_owned(), rows: 0, why };
    let texts = schema_texts(open_file(path)?).map_err(|broken| damaged(broken.why()))?;
    let is_column = |name: &str| {
        COLUMNS.contains(&name) || document.probe.columns.iter().any(|column| column.name == name)
    };
    let is_number = |text: &str| text.chars().all(|digit| digit.is_ascii_digit() || digit == '-');
    let strange = texts.into_iter().find(|(key, value)| match value {
        None => !is_column(key),
        Some(value) => !LABELS.contains(&key.as_str()) || !is_number(value),
    });
    match strange {
        None => Ok(()),
        Some((key, _)) => Err(damaged(format!(
            "it says '{key}' of itself, which teiji did not write and which may hold names. Read \
             it and write it again without that"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::column::{Column, Values};
    use crate::message::{ColumnSchema, Schema, write_batch, write_end, write_schema};

    fn refused(samples: &[u8]) -> bool {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("samples-0.arrows");
        std::fs::write(&path, samples).unwrap();
        let document =
            serde_json::from_str(include_str!("../../../fuzz/corpus/run_json/complete.json"))
                .unwrap();
        check_texts(&path, &document).is_err()
    }

    /// Samples with this label, and their column called so.
    fn labelled(key: &str, value: &str, column: &str) -> Vec<u8> {
        let values = Values::Int32(vec![1, 2]);
        let name = column.to_owned();
        let schema = Schema {
            columns: vec![ColumnSchema { name, values: values.empty(), nullable: true }],
            labels: [(key.to_owned(), value.to_owned())].into(),
        };
        let mut stream = Vec::new();
        write_schema(&schema, &mut stream);
        write_batch(&[Column::new(values)], &mut stream);
        write_end(&mut stream);
        stream
    }

    #[test]
    fn samples_that_say_more_than_teiji_writes_are_refused() {
        assert!(!refused(&labelled("teiji.cpu", "3", "latency_ns")));
        assert!(refused(&labelled("pandas", "{}", "latency_ns")));
        // By pyarrow, with `written_by` of the column.
        assert!(refused(include_bytes!("streams/labelled-column.arrows")));
        assert!(refused(&labelled("teiji.cpu", "alice", "latency_ns")));
        assert!(refused(&labelled("teiji.cpu", "3", "alice")));
    }
}
