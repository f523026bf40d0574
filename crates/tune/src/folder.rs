// SPDX-License-Identifier: MIT OR Apache-2.0
//! The folder of the journals: where it lies, who may change it, and the lock in it.
//!
//! What a journal says is written with root's rights. So nobody else may put a file there, and no
//! link leads out of it.

use host::{HostRoot, regular_file};

use rustix::io::Errno;
use rustix::process::{Pid, geteuid, test_kill_process};
use std::fs::{self, DirBuilder, File, Permissions, TryLockError};
use std::io::{self, ErrorKind, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use system::files::{
    self, Durability, Links, OpenError, open_lock, open_lock_of_another, open_regular, replace,
    sync_folder_of,
};

/// The folder, on a machine.
const FOLDER: &str = "var/lib/teiji/tune";
/// Names another folder for this machine; it does not count for a root that stands for one.
const VARIABLE: &str = "TEIJI_STATE";
const LOCK: &str = "lock";
/// Which process holds the lock, for those who may not open it.
const HOLDER: &str = "holder";
/// This machine's lock, whatever the folder is called.
const MACHINE_LOCK: &str = "/run/teiji-tune.lock";
/// The mode of what everybody may read.
pub(super) const READABLE: u32 = 0o644;
/// The mode of folders, whatever the umask is.
const LISTABLE: u32 = 0o755;
const OTHERS_MAY_WRITE: u32 = 0o002;
const GROUP_MAY_WRITE: u32 = 0o020;
const ONLY_OWN_NAMES: u32 = 0o1000;

/// The folder of the journal.
pub(super) fn folder(root: &HostRoot) -> PathBuf {
    named(root).unwrap_or_else(|| root.path(FOLDER))
}

/// Whether TEIJI_STATE names it.
pub(super) fn is_named(root: &HostRoot) -> bool {
    named(root).is_some()
}

/// The folder that would be it if TEIJI_STATE named no other.
pub(super) fn passed_over(root: &HostRoot) -> Option<PathBuf> {
    let usual = root.path(FOLDER);
    named(root).filter(|named| *named != usual).map(|_| usual)
}

fn named(root: &HostRoot) -> Option<PathBuf> {
    std::env::var_os(VARIABLE)
        .filter(|named| root.is_system() && !named.is_empty())
        .map(PathBuf::from)
}

/// What a file says that root or whoever runs this wrote. None where there is none.
pub(super) fn read(path: &Path) -> io::Result<Option<String>> {
    let file = match open_regular(path, Links::Refused).map_err(OpenError::into_io) {
        Ok(file) => file,
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(error) => return Err(error),
    };
    let found = file.metadata()?;
    if !is_trusted(found.uid()) {
        return Err(io::Error::other(format!("it belongs to user {}", found.uid())));
    }
    regular_file::as_text(regular_file::all_of(&file)?).map(Some)
}

fn is_trusted(owner: u32) -> bool {
    owner == 0 || owner == geteuid().as_raw()
}

/// Puts a text in its place, under a name and with a mode. When this returns, it is on disk.
pub(super) fn store(folder: &Path, name: &str, mode: u32, text: &str) -> io::Result<()> {
    let beside = folder.join(format!("{name}.new"));
    replace(&folder.join(name), &beside, mode, Durability::OnDisk, |file| write(file, mode, text))
}

fn write(file: &mut File, mode: u32, text: &str) -> io::Result<()> {
    // Whatever the umask is.
    file.set_permissions(Permissions::from_mode(mode))?;
    file.write_all(text.as_bytes())
}

/// Removes a file of this name, where it is.
pub(super) fn remove(folder: &Path, name: &str) -> io::Result<()> {
    let path = folder.join(name);
    files::remove(&path)?;
    sync_folder_of(&path)
}

/// Makes the folder, where it is not. Everybody may look into what is made.
fn make(root: &HostRoot, folder: &Path) -> io::Result<()> {
    let mut paths: Vec<&Path> =
        folder.ancestors().filter(|path| !path.as_os_str().is_empty()).collect();
    paths.reverse();
    for path in paths {
        match DirBuilder::new().mode(LISTABLE).create(path) {
            Ok(()) => fs::set_permissions(path, Permissions::from_mode(LISTABLE))?,
            Err(error) if path.is_dir() || error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
        let is_of_the_root = path.starts_with(root.path(""));
        if !root.is_system()
            && is_of_the_root
            && !path.canonicalize()?.starts_with(root.path("").canonicalize()?)
        {
            return Err(io::Error::other(format!(
                "{} is a link that leads out of this machine's files",
                path.display()
            )));
        }
    }
    Ok(())
}

/// Refuses a folder in which others could put a journal of theirs.
fn check(root: &HostRoot, folder: &Path) -> io::Result<()> {
    refuse_writable(folder, 0)?;
    // Where a folder lies that somebody named is theirs to know.
    if !root.is_system() || is_named(root) {
        return Ok(());
    }
    folder.ancestors().skip(1).try_for_each(|path| refuse_writable(path, ONLY_OWN_NAMES))
}

/// Unless a bit of its mode makes up for it.
fn refuse_writable(folder: &Path, excuse: u32) -> io::Result<()> {
    let found = fs::metadata(folder)?;
    if !is_trusted(found.uid()) {
        return Err(io::Error::other(format!(
            "{} belongs to user {}",
            folder.display(),
            found.uid()
        )));
    }
    let is_of_another_group = geteuid().is_root() && found.gid() != 0;
    let is_writable = found.mode() & OTHERS_MAY_WRITE != 0
        || found.mode() & GROUP_MAY_WRITE != 0 && is_of_another_group;
    if is_writable && found.mode() & excuse == 0 {
        return Err(io::Error::other(format!(
            "others may write to {0}: chmod go-w {0}",
            folder.display()
        )));
    }
    Ok(())
}

/// Why the lock is not ours.
pub(super) enum NotLocked {
    /// Another process holds it: its number, as far as it is known.
    Held(String),
    Failed(io::Error),
}

/// The lock of a folder, and of the machine. It is given back when this goes, however the process
/// ends.
pub(super) struct Lock {
    holder: PathBuf,
    /// The folder's, and the machine's.
    _files: (files::Lock, Option<files::Lock>),
}

impl Drop for Lock {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.holder);
    }
}

/// Takes the lock; the folder is made.
pub(super) fn lock(root: &HostRoot) -> Result<Lock, NotLocked> {
    let folder = folder(root);
    let holder = folder.join(HOLDER);
    make(root, &folder).and_then(|()| check(root, &folder)).map_err(NotLocked::Failed)?;
    let own = open_lock(&folder.join(LOCK)).map_err(NotLocked::Failed)?;
    let own = take(own, || fs::read_to_string(&holder))?;
    let machine = if root.is_system() { open_lock(Path::new(MACHINE_LOCK)).ok() } else { None };
    let machine =
        machine.map(|machine| take(machine, || fs::read_to_string(MACHINE_LOCK))).transpose()?;
    // For whoever finds it held; nothing depends on it, and a disk that is mounted read-only takes
    // none.
    let said = said();
    let _ = files::create(&holder, READABLE).and_then(|mut file| write(&mut file, READABLE, &said));
    let _ = machine.as_ref().map(|files::Lock(file)| {
        file.set_len(0).and_then(|()| (&*file).write_all(said.as_bytes()))
    });
    Ok(Lock { holder, _files: (own, machine) })
}

fn take(file: File, holder: impl Fn() -> io::Result<String>) -> Result<files::Lock, NotLocked> {
    match file.try_lock() {
        Ok(()) => Ok(files::Lock(file)),
        Err(TryLockError::WouldBlock) => {
            let alive = holder().ok().and_then(|said| alive(&said));
            Err(NotLocked::Held(alive.map(|process| process.to_string()).unwrap_or_default()))
        }
        Err(TryLockError::Error(error)) => Err(NotLocked::Failed(error)),
    }
}

/// This process, and when it began: its number may be another one's later.
fn said() -> String {
    let process = std::process::id();
    format!("{process} {}\n", began(process).unwrap_or(0))
}

fn began(process: u32) -> Option<u64> {
    system::process::started(Path::new("/proc"), process)
}

/// The process that a lock's holder has named, if it still runs.
fn alive(said: &str) -> Option<u32> {
    let (process, then) = said.trim().split_once(' ')?;
    let process: u32 = process.parse().ok()?;
    let is_there = || {
        let id = i32::try_from(process).ok().and_then(Pid::from_raw);
        id.is_some_and(|id| !matches!(test_kill_process(id), Err(Errno::SRCH)))
    };
    // Processes of others may be hidden, but whether they are there the kernel says.
    let runs = began(process).map_or_else(is_there, |began| then.parse() == Ok(began));
    runs.then_some(process)
}

/// Whether a process that changes settings runs now.
pub(crate) fn is_in_use(root: &HostRoot) -> bool {
    let folder = folder(root);
    match open_lock_of_another(&folder.join(LOCK)) {
        Ok(file) => matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)),
        Err(error) if error.kind() == ErrorKind::NotFound => false,
        // Who may not open it reads who holds it.
        Err(_) => holder(root).is_some(),
    }
}

/// The process that changes settings now, where it has said its number.
pub(crate) fn holder(root: &HostRoot) -> Option<u32> {
    alive(&fs::read_to_string(folder(root).join(HOLDER)).ok()?)
}

#[cfg(test)]
#[path = "folder_tests.rs"]
mod tests;
