// SPDX-License-Identifier: MIT OR Apache-2.0
//! A file replaced as a whole: whenever this is cut off, there is the old one or the new one.

use super::attributes;
use super::error::LoaderError;
use host::HostRoot;
use host::regular_file;

use std::io::{self, ErrorKind, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use system::files::{self, Durability, sync_folder_of};

/// What a copy of the first text is called, behind the name of its file: no boot loader reads such
/// a name.
pub(super) const BACKUP: &str = ".before-teiji";
/// For root alone, until it has the mode of the file that it replaces.
const PRIVATE: u32 = 0o600;

/// Where a file really lies: at the end of links that stay on the machine.
pub(super) fn real_path(root: &HostRoot, file: &str) -> Result<PathBuf, LoaderError> {
    let failed = LoaderError::file("read", file);
    let elsewhere = |why| LoaderError::Elsewhere { file: file.to_owned(), why };
    let path = root.path(file);
    let real = match path.canonicalize() {
        Err(error) if error.kind() == ErrorKind::NotFound && path.is_symlink() => {
            return Err(elsewhere("is a link to a file that is not there"));
        }
        real => real.map_err(&failed)?,
    };
    if !real.starts_with(root.path("").canonicalize().map_err(&failed)?) {
        return Err(elsewhere("is a link that leads out of this machine's files"));
    }
    if !real.metadata().map_err(&failed)?.is_file() {
        return Err(elsewhere("is not a file"));
    }
    Ok(real)
}

fn with_name(path: &Path, name: impl Fn(&str) -> String) -> io::Result<PathBuf> {
    let own = path.file_name().and_then(|name| name.to_str()).ok_or(ErrorKind::InvalidFilename)?;
    Ok(path.with_file_name(name(own)))
}

/// The copy that is kept beside a file.
pub(super) fn backup_of(path: &Path) -> io::Result<PathBuf> {
    with_name(path, |name| format!("{name}{BACKUP}"))
}

/// What is to take its place. Always the same name, so that one that was left is found.
fn new_of(path: &Path) -> io::Result<PathBuf> {
    with_name(path, |name| format!(".{name}.teiji-new"))
}

/// The same of a file that is to be replaced, which cuts it off from its other names.
pub(super) fn only_path(root: &HostRoot, file: &str) -> Result<PathBuf, LoaderError> {
    let path = real_path(root, file)?;
    let found = path.metadata().map_err(LoaderError::file("read", file))?;
    if found.nlink() > 1 {
        let why = "has other names (hard links), which would keep the old text";
        return Err(LoaderError::Elsewhere { file: file.to_owned(), why });
    }
    Ok(path)
}

/// Puts a text in a file's place, with all that the file `like` has beside its text. When this
/// returns, it is on disk.
pub(super) fn replace(path: &Path, text: &str, like: &Path) -> io::Result<()> {
    files::replace(path, &new_of(path)?, PRIVATE, Durability::OnDisk, |file| {
        file.write_all(text.as_bytes())?;
        attributes::copy(like, file)
    })
}

/// Removes the copy beside a file, if it is ours, and what was never put in its place.
pub(super) fn tidy(path: &Path, from: &str) -> io::Result<()> {
    let backup = backup_of(path)?;
    if regular_file::read(&backup).is_ok_and(|text| text == from.as_bytes()) {
        files::remove(&backup)?;
    }
    files::remove(&new_of(&backup)?)?;
    files::remove(&new_of(path)?)?;
    sync_folder_of(path)
}
