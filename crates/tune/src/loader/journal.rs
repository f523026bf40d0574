// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the files of the boot loader said before, and what was written to them. It has no id of a
//! boot: a reboot undoes none of it.

use super::error::LoaderError;
use super::place::is_known_file;
use crate::folder::{self as tuning, Lock, NotLocked};
use host::HostRoot;
use serde::{Deserialize, Serialize};
use std::io::ErrorKind;
use std::path::PathBuf;

/// In the folder of the other journal, with the same lock.
const FILE: &str = "boot.json";
/// Files of a boot loader may be for root alone.
const MODE: u32 = 0o600;
/// Of this form; another one is not read.
const VERSION: u32 = 1;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Entry {
    /// Without the slash that it begins with.
    pub(super) file: String,
    /// What it said before teiji wrote it first.
    pub(super) from: String,
    /// What it says if it is ours: two texts where a second writing was cut off.
    pub(super) wrote: Vec<String>,
    /// What makes the boot loader take it.
    pub(super) run: Option<String>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    version: u32,
    files: Vec<Entry>,
}

/// The journal of a machine, with its lock.
pub(super) struct Journal {
    folder: PathBuf,
    pub(super) files: Vec<Entry>,
    _lock: Lock,
}

pub(super) fn is_there(root: &HostRoot) -> bool {
    !matches!(
        tuning::folder(root).join(FILE).symlink_metadata(),
        Err(error) if error.kind() == ErrorKind::NotFound,
    )
}

impl Journal {
    /// Takes the lock, and reads what is there.
    pub(super) fn open(root: &HostRoot) -> Result<Journal, LoaderError> {
        let folder = tuning::folder(root);
        let path = folder.join(FILE).display().to_string();
        let failed = |action, source| LoaderError::Journal { action, path: path.clone(), source };
        let lock = tuning::lock(root).map_err(|error| match error {
            NotLocked::Held(holder) => LoaderError::Held(holder),
            NotLocked::Failed(source) => failed("keep", source),
        })?;
        let text = tuning::read(&folder.join(FILE)).map_err(|error| failed("read", error))?;
        let files = text.map_or(Ok(Vec::new()), |text| {
            parsed(&text).map_err(|why| failed("read", std::io::Error::other(why)))
        })?;
        Ok(Journal { folder, files, _lock: lock })
    }

    pub(super) fn path(&self) -> String {
        self.folder.join(FILE).display().to_string()
    }

    pub(super) fn entry(&self, file: &str) -> Option<&Entry> {
        self.files.iter().find(|entry| entry.file == file)
    }

    /// Puts it on disk with these files; without any, it goes.
    pub(super) fn keep(&mut self, files: Vec<Entry>) -> Result<(), LoaderError> {
        let stored = if files.is_empty() {
            tuning::remove(&self.folder, FILE)
        } else {
            let text =
                serde_json::to_string_pretty(&Stored { version: VERSION, files: files.clone() });
            text.map_err(Into::into).and_then(|text| tuning::store(&self.folder, FILE, MODE, &text))
        };
        stored.map_err(|source| LoaderError::Journal {
            action: "write",
            path: self.path(),
            source,
        })?;
        self.files = files;
        Ok(())
    }
}

fn parsed(text: &str) -> Result<Vec<Entry>, String> {
    let stored: Stored =
        serde_json::from_str(text).map_err(|error| format!("it is damaged: {error}"))?;
    if stored.version != VERSION {
        return Err(format!("version {}, expected {VERSION}", stored.version));
    }
    match stored.files.iter().find(|entry| !is_known_file(&entry.file)) {
        Some(entry) => Err(format!("'{}' is no file of a boot loader", entry.file)),
        None => Ok(stored.files),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_journal_leads_to_other_files() {
        let text = |file: &str| {
            let entry =
                Entry { file: file.to_owned(), from: String::new(), wrote: Vec::new(), run: None };
            serde_json::to_string(&Stored { version: VERSION, files: vec![entry] }).unwrap()
        };
        for file in [
            "etc/default/grub",
            "etc/default/grub.d/a.cfg",
            "boot/efi/loader/entries/a.conf",
            "boot/cmdline.txt",
        ] {
            assert!(parsed(&text(file)).is_ok(), "{file}");
        }
        for file in [
            "etc/passwd",
            "/etc/default/grub",
            "etc/default/grub.d/../../a.cfg",
            "boot/loader/entries/.conf",
            "boot/a.conf",
        ] {
            assert!(
                parsed(&text(file))
                    .is_err_and(|error| error.contains("is no file of a boot loader")),
                "{file}"
            );
        }
        assert!(parsed("{").is_err_and(|error| error.starts_with("it is damaged")));
        assert!(
            parsed("{\"version\":2,\"files\":[]}")
                .is_err_and(|error| error.starts_with("version 2"))
        );
    }
}
