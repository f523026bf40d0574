// SPDX-License-Identifier: MIT OR Apache-2.0
//! Folders for files that are needed for one call, below the directory for temporary files, that do
//! not stay.
//!
//! A program that is killed cannot remove its folders: the next one does. Each folder holds a file
//! that its process keeps locked, and the kernel releases the lock however the process ends.
//! Process ids would not do: they are used again, and mean something else in each container.

use crate::files::{Lock, open_lock_of_another};
use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::sync::Once;
use tempfile::TempDir;

/// The file that is locked while the folder is in use.
const LOCK: &str = "owner";

/// A folder of this process. Dropped, it is gone.
#[derive(Debug)]
pub struct ScratchFolder {
    folder: TempDir,
    _lock: Lock,
}

impl ScratchFolder {
    /// How the folders' names begin.
    const PREFIX: &'static str = "teiji-scratch-";

    /// Makes one; the first time, removes those whose processes are dead.
    ///
    /// # Errors
    /// When it cannot be made in the directory for temporary files.
    pub fn new() -> io::Result<Self> {
        static REMOVED: Once = Once::new();
        REMOVED.call_once(|| remove_abandoned(&std::env::temp_dir(), Self::PREFIX));
        Self::make(&std::env::temp_dir(), Self::PREFIX)
    }

    /// Makes one in another directory, whose name begins so; removes those of such names there
    /// whose processes are dead.
    ///
    /// # Errors
    /// When it cannot be made there.
    pub fn new_in(directory: &Path, prefix: &str) -> io::Result<Self> {
        remove_abandoned(directory, prefix);
        Self::make(directory, prefix)
    }

    fn make(directory: &Path, prefix: &str) -> io::Result<Self> {
        // For its owner alone: of another user's guest nobody reads the console and the results.
        let folder = tempfile::Builder::new()
            .prefix(prefix)
            .permissions(Permissions::from_mode(0o700))
            .tempdir_in(directory)?;
        // Under its name only once it is locked: another process may look at any moment.
        let unlocked = folder.path().join("owner.new");
        let lock = File::create_new(&unlocked)?;
        lock.lock()?;
        fs::rename(&unlocked, folder.path().join(LOCK))?;
        Ok(ScratchFolder { folder, _lock: Lock(lock) })
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Whether this is such a folder in the directory for temporary files, and not one that is only
    /// called alike.
    pub fn is_at(path: &Path) -> bool {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        path.parent() == Some(&std::env::temp_dir())
            && name.starts_with(Self::PREFIX)
            && path.join(LOCK).is_file()
    }
}

/// Removes folders whose processes are dead. What cannot be read or removed stays: it belongs to
/// another user.
fn remove_abandoned(directory: &Path, prefix: &str) {
    let user = rustix::process::geteuid().as_raw();
    let is_ours = |path: &Path| {
        path.symlink_metadata().is_ok_and(|found| found.is_dir() && found.uid() == user)
    };
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let path = entry.path();
        if entry.file_name().to_string_lossy().starts_with(prefix)
            && is_ours(&path)
            && is_abandoned(&path.join(LOCK))
        {
            let _ = fs::remove_dir_all(&path);
        }
    }
}

fn is_abandoned(lock: &Path) -> bool {
    open_lock_of_another(lock).is_ok_and(|lock| lock.try_lock().is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_of_the_dead_are_removed_and_no_others() {
        let place = tempfile::tempdir().unwrap();
        let alive = ScratchFolder::make(place.path(), ScratchFolder::PREFIX).unwrap();
        let dead = place.path().join("teiji-scratch-dead");
        let foreign = place.path().join("teiji-scratch-foreign");
        for folder in [&dead, &foreign] {
            fs::create_dir(folder).unwrap();
            fs::write(folder.join("console"), "x").unwrap();
        }
        fs::write(dead.join(LOCK), "").unwrap();
        fs::write(place.path().join("teiji-scratch-file"), "").unwrap();
        remove_abandoned(place.path(), ".other-");
        assert!(dead.exists());
        remove_abandoned(place.path(), ScratchFolder::PREFIX);
        assert!(!dead.exists());
        assert_eq!(alive.path().metadata().unwrap().mode() & 0o777, 0o700);
        assert!(
            alive.path().exists()
                && foreign.exists()
                && place.path().join("teiji-scratch-file").exists()
        );
        let path = alive.path().to_owned();
        drop(alive);
        assert!(!path.exists());
    }

    /// By the name alone, what lay in a folder called alike was shown without its path.
    #[test]
    fn a_folder_that_is_called_alike_is_no_scratch_folder() {
        let place = tempfile::tempdir().unwrap();
        let alike = place.path().join("teiji-scratch-notes");
        fs::create_dir(&alike).unwrap();
        fs::write(alike.join(LOCK), "").unwrap();
        assert!(!ScratchFolder::is_at(&alike));
        assert!(ScratchFolder::is_at(ScratchFolder::new().unwrap().path()));
    }
}
