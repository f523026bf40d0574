// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where the lab keeps what it has fetched, and how it is put there: one process at a time, whole
//! or not at all.

use crate::file_error::FileError;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use system::files::{Lock, open_lock};

/// How a folder is called while it is being filled.
const PART: &str = ".part-";

/// teiji's folder in the user's cache, where the XDG base directory specification puts it. None
/// when the environment names no place.
pub(crate) fn user_cache() -> Option<PathBuf> {
    // A path that is not absolute is to be ignored, says the specification.
    let set = |name: &str| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let base = set("XDG_CACHE_HOME").or_else(|| set("HOME").map(|home| home.join(".cache")))?;
    Some(base.join("teiji"))
}

/// A folder in which no other process puts anything as long as this is held.
#[derive(Debug)]
pub(crate) struct LockedFolder {
    path: PathBuf,
    _lock: Lock,
}

impl LockedFolder {
    /// Makes the folder if it is not there, and waits for whoever fills it. What one that was
    /// killed has left is removed.
    pub(crate) fn new(path: &Path, waiting: &mut dyn FnMut()) -> Result<Self, FileError> {
        fs::create_dir_all(path).map_err(FileError::of("make the folder", path))?;
        let name = path.join(".lock");
        let lock = Lock(open_lock(&name).map_err(FileError::of("write", &name))?);
        if lock.0.try_lock().is_err() {
            waiting();
            lock.0.lock().map_err(FileError::of("lock", &name))?;
        }
        for entry in fs::read_dir(path).into_iter().flatten().flatten() {
            if entry.file_name().to_string_lossy().starts_with(PART) {
                let _ = fs::remove_dir_all(entry.path());
            }
        }
        Ok(LockedFolder { path: path.to_owned(), _lock: lock })
    }

    /// A folder in it for what is not whole yet. Dropped, it is gone.
    pub(crate) fn part(&self) -> Result<tempfile::TempDir, FileError> {
        let part = tempfile::Builder::new().prefix(PART).tempdir_in(&self.path);
        part.map_err(FileError::of("make a folder in", &self.path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_killed_one_has_left_is_removed() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("qemu");
        fs::create_dir_all(folder.join(".part-killed")).unwrap();
        fs::create_dir_all(folder.join("whole")).unwrap();
        let locked = LockedFolder::new(&folder, &mut || panic!("nobody else is there")).unwrap();
        assert!(!folder.join(".part-killed").exists() && folder.join("whole").exists());
        let part = locked.part().unwrap().path().to_owned();
        assert!(part.starts_with(&folder) && !part.exists(), "it goes with whoever made it");
    }

    #[test]
    fn a_lock_that_is_a_link_is_refused_and_what_it_leads_to_is_kept() {
        let place = tempfile::tempdir().unwrap();
        let (folder, victim) = (place.path().join("qemu"), place.path().join("victim"));
        fs::create_dir(&folder).unwrap();
        fs::write(&victim, "precious").unwrap();
        std::os::unix::fs::symlink(&victim, folder.join(".lock")).unwrap();
        let error = LockedFolder::new(&folder, &mut || ()).unwrap_err().to_string();
        assert!(error.starts_with(&format!("cannot write {}: ", folder.join(".lock").display())));
        assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");
        fs::remove_file(folder.join(".lock")).unwrap();
        fs::hard_link(&victim, folder.join(".lock")).unwrap();
        let before = fs::metadata(&victim).unwrap().permissions();
        assert!(LockedFolder::new(&folder, &mut || ()).is_err());
        assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");
        assert_eq!(fs::metadata(&victim).unwrap().permissions(), before);
    }
}
