// SPDX-License-Identifier: MIT OR Apache-2.0
//! Files opened, made and replaced so that nothing somebody else has put there takes part in it.

use rustix::fs::{FileType, Mode, OFlags, fstat, open};
use rustix::io::Errno;
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, ErrorKind, Read as _};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Component, Path};

/// More than most files have, bytes. A file below /proc has no size that would say how much there
/// is, and some are slow to make: so it is read in few calls.
const AT_ONCE: usize = 4_096;
/// Who may open a lock may hold it.
const PRIVATE: u32 = 0o600;
const LINK: &str = "it is a link";
/// The mode of files whose mode the umask decides.
pub const USUAL: u32 = 0o666;

/// Whether a file may be at the end of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Links {
    Followed,
    Refused,
}

/// Why a file is not opened.
#[derive(Debug)]
pub enum OpenError {
    Io(io::Error),
    /// It is no regular file, but this.
    Kind(FileType),
}

impl<E: Into<io::Error>> From<E> for OpenError {
    fn from(error: E) -> Self {
        OpenError::Io(error.into())
    }
}

impl OpenError {
    /// For those who say no more of it.
    pub fn into_io(self) -> io::Error {
        match self {
            OpenError::Io(error) => error,
            OpenError::Kind(FileType::Directory) => Errno::ISDIR.into(),
            OpenError::Kind(FileType::Symlink) => io::Error::other(LINK),
            OpenError::Kind(_) => {
                io::Error::other("it is a device, a FIFO or a socket, and no file")
            }
        }
    }
}

/// Opens a regular file to be read, and nothing else. Whoever opens a device starts it:
/// /dev/watchdog restarts the machine a minute later. A FIFO waits for somebody who writes. So a
/// file is first opened by its place only (O_PATH), which reaches no driver.
///
/// # Errors
/// When it cannot be opened, or is no regular file.
pub fn open_regular(path: &Path, links: Links) -> Result<File, OpenError> {
    // Without waiting for whoever holds a lease on it.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    if links == Links::Followed && is_of_kernel(path) {
        return regular(open(path, flags, Mode::empty())?).map(File::from);
    }
    let end = if links == Links::Refused { OFlags::NOFOLLOW } else { OFlags::empty() };
    let place = regular(open(path, OFlags::PATH | OFlags::CLOEXEC | end, Mode::empty())?)?;
    match open(format!("/proc/self/fd/{}", place.as_raw_fd()), flags, Mode::empty()) {
        Ok(file) => Ok(file.into()),
        // /proc is of other processes, or not there. Not the file: that was found.
        Err(Errno::NOENT | Errno::NOTDIR) => again(path, &place, flags | end),
        Err(error) => Err(error.into()),
    }
}

/// Opens by its path what was found there.
fn again(path: &Path, found: &OwnedFd, flags: OFlags) -> Result<File, OpenError> {
    let file = regular(open(path, flags | OFlags::NOCTTY, Mode::empty())?)?;
    let (seen, opened) = (fstat(found)?, fstat(&file)?);
    if (seen.st_dev, seen.st_ino) != (opened.st_dev, opened.st_ino) {
        return Err(io::Error::other("it was replaced meanwhile").into());
    }
    Ok(file.into())
}

fn regular(file: OwnedFd) -> Result<OwnedFd, OpenError> {
    match FileType::from_raw_mode(fstat(&file)?.st_mode) {
        FileType::RegularFile => Ok(file),
        kind => Err(OpenError::Kind(kind)),
    }
}

/// Whether a path leads to where the kernel, or root, has files. Opening these once is enough, and
/// a run opens several hundred.
fn is_of_kernel(path: &Path) -> bool {
    // What a process shows of others' files.
    const ELSEWHERE: [&str; 5] = ["cwd", "exe", "fd", "map_files", "root"];
    (path.starts_with("/proc") || path.starts_with("/sys"))
        && path.components().skip(1).all(|part| match part {
            Component::Normal(name) => ELSEWHERE.iter().all(|other| name != *other),
            _ => false,
        })
}

/// What a file holds; none if that is more than so many bytes.
///
/// # Errors
/// When it cannot be read.
pub fn read_up_to(file: &File, max_bytes: u64) -> io::Result<Option<Vec<u8>>> {
    let mut rest = file.take(max_bytes.saturating_add(1));
    // Most files are read by the first call, into memory that costs nothing to have.
    let mut first = [0; AT_ONCE];
    let length = loop {
        match rest.read(&mut first) {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            read => break read?,
        }
    };
    let mut bytes = first[..length].to_vec();
    if length > 0 {
        rest.read_to_end(&mut bytes)?;
    }
    Ok((bytes.len() as u64 <= max_bytes).then_some(bytes))
}

/// Makes a file in the place of whatever is there. Where that is a link the link is replaced, and
/// not what it leads to: somebody else may write to the folder, or may have made it.
///
/// # Errors
/// When it cannot be made.
pub fn create(path: &Path, mode: u32) -> io::Result<File> {
    remove(path)?;
    OpenOptions::new().write(true).create_new(true).mode(mode).open(path)
}

/// Removes a file, where it is.
///
/// # Errors
/// When it cannot be removed.
pub fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// How far a file is to have got when it takes its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// Whatever happens to this process.
    Written,
    /// Whatever happens to the machine.
    OnDisk,
}

/// Puts a file in its place whole: whenever this is cut off, there is the old one or the new one.
/// It is written beside, and gone from there if that fails.
///
/// # Errors
/// What writing said, or when it cannot be put in place.
pub fn replace<E: From<io::Error>>(
    path: &Path,
    beside: &Path,
    mode: u32,
    durability: Durability,
    write: impl FnOnce(&mut File) -> Result<(), E>,
) -> Result<(), E> {
    let mut file = create(beside, mode)?;
    let is_on_disk = durability == Durability::OnDisk;
    let written = write(&mut file)
        .and_then(|()| if is_on_disk { file.sync_all().map_err(E::from) } else { Ok(()) });
    let placed = written.and_then(|()| fs::rename(beside, path).map_err(E::from));
    if placed.is_err() {
        let _ = fs::remove_file(beside);
    }
    placed?;
    if is_on_disk { Ok(sync_folder_of(path)?) } else { Ok(()) }
}

/// Has the names in the folder of a file go to the disk.
///
/// # Errors
/// When the disk does not take them.
pub fn sync_folder_of(path: &Path) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
}

/// Options to open a file by, never at the end of a link, and never to wait for whoever writes into
/// a FIFO.
fn itself() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).custom_flags((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed());
    options
}

/// Opens the file of a lock, which is for its owner alone and made if it is not there. Where
/// nothing can be written it is enough to read it.
///
/// # Errors
/// When it cannot be opened or made, or is a link.
pub fn open_lock(path: &Path) -> io::Result<File> {
    let file = itself().write(true).create(true).truncate(false).mode(PRIVATE).open(path);
    let file = file.or_else(|error| match error.kind() {
        ErrorKind::ReadOnlyFilesystem => itself().open(path).map_err(|_| error),
        _ if Errno::from_io_error(&error) == Some(Errno::LOOP) => Err(io::Error::other(LINK)),
        _ => Err(error),
    })?;
    // One that has another name may be anybody's.
    let is_ours = file.metadata().is_ok_and(|file| file.is_file() && file.nlink() == 1);
    if !is_ours {
        return Err(io::Error::other("it is no file of its own"));
    }
    let _ = file.set_permissions(Permissions::from_mode(PRIVATE));
    Ok(file)
}

/// Opens the file of a lock that another process made, to see whether it is held.
///
/// # Errors
/// When it cannot be opened, or is a link.
pub fn open_lock_of_another(path: &Path) -> io::Result<File> {
    itself().open(path)
}

/// A file that this process has locked. It is given back when this goes, however the process ends.
#[derive(Debug)]
pub struct Lock(pub File);

impl Drop for Lock {
    /// Closing the file is not enough: a process that another thread is starting has it open too,
    /// until it executes its program.
    fn drop(&mut self) {
        let _ = self.0.unlock();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{CWD, inotify, mknodat};
    use std::io::Write as _;
    use std::os::unix::fs::symlink;

    fn read(path: &Path, links: Links) -> io::Result<Vec<u8>> {
        let file = open_regular(path, links).map_err(OpenError::into_io)?;
        read_up_to(&file, 100)?.ok_or(ErrorKind::FileTooLarge.into())
    }

    #[test]
    fn only_regular_files_are_opened() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        fs::write(path("file"), "text\n").unwrap();
        symlink("file", path("link")).unwrap();
        assert_eq!(read(&path("link"), Links::Followed).unwrap(), b"text\n");
        assert_eq!(read(&path("link"), Links::Refused).unwrap_err().to_string(), "it is a link");
        assert_eq!(read(dir.path(), Links::Followed).unwrap_err().kind(), ErrorKind::IsADirectory);
        assert_eq!(read(&path("none"), Links::Followed).unwrap_err().kind(), ErrorKind::NotFound);
        // A FIFO would wait here for ever.
        mknodat(CWD, path("fifo"), FileType::Fifo, Mode::RUSR, 0).unwrap();
        symlink("/dev/zero", path("device")).unwrap();
        for name in ["fifo", "device"] {
            let watch = inotify::init(inotify::CreateFlags::NONBLOCK).unwrap();
            inotify::add_watch(&watch, path(name), inotify::WatchFlags::OPEN).unwrap();
            let refused = read(&path(name), Links::Followed).unwrap_err().to_string();
            assert!(refused.starts_with("it is a device"), "{name}: {refused}");
            let seen = rustix::io::read(&watch, &mut [0_u8; 512]);
            assert!(name == "device" || seen == Err(Errno::AGAIN), "{name} was opened");
        }
    }

    /// As in another PID namespace, or without /proc.
    #[test]
    fn a_file_is_opened_by_its_path_where_proc_does_not_lead_to_it() {
        let dir = tempfile::tempdir().unwrap();
        let [one, other] = ["one", "other"].map(|name| dir.path().join(name));
        fs::write(&one, "text").unwrap();
        fs::write(&other, "text").unwrap();
        let found = open(&one, OFlags::PATH, Mode::empty()).unwrap();
        let file = again(&one, &found, OFlags::RDONLY).unwrap();
        assert_eq!(read_up_to(&file, 100).unwrap().unwrap(), b"text");
        assert!(again(&other, &found, OFlags::RDONLY).is_err());
    }

    #[test]
    fn what_is_the_kernels_is_told_by_its_path() {
        for (path, is_the_kernels) in [
            ("/proc/stat", true),
            ("/sys/devices/system/cpu/online", true),
            ("/proc/self/fd/0", false),
            ("/proc/1/root/dev/watchdog", false),
            ("/proc/../dev/watchdog", false),
            ("/processes", false),
            ("/etc/ntp.conf", false),
        ] {
            assert_eq!(is_of_kernel(Path::new(path)), is_the_kernels, "{path}");
        }
    }

    #[test]
    fn no_more_is_read_than_there_may_be() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        File::create(&path).unwrap().set_len(1 << 40).unwrap();
        let file = File::open(&path).unwrap();
        assert_eq!(read_up_to(&file, 32 << 10).unwrap(), None);
        assert!(
            !read(Path::new("/proc/version"), Links::Refused).is_ok_and(|text| text.is_empty())
        );
    }

    #[test]
    fn a_link_is_replaced_and_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let [victim, new, path] = ["victim", "new", "path"].map(|name| dir.path().join(name));
        fs::write(&victim, "precious").unwrap();
        symlink("victim", &new).unwrap();
        for durability in [Durability::Written, Durability::OnDisk] {
            replace(&path, &new, USUAL, durability, |file| file.write_all(b"text")).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), "text");
        }
        let full = |_: &mut File| Err(io::Error::from(ErrorKind::StorageFull));
        assert!(replace(&path, &new, USUAL, Durability::Written, full).is_err());
        assert_eq!(fs::read_to_string(&path).unwrap(), "text");
        assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");
        assert!(!new.exists());
    }

    /// One that another thread is starting has all files of its parent until it executes its
    /// program.
    #[test]
    fn a_process_being_started_does_not_keep_a_lock() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lock");
        let lock = Lock(open_lock(&path).unwrap());
        lock.0.try_lock().unwrap();
        let starting = lock.0.try_clone().unwrap();
        assert!(open_lock(&path).unwrap().try_lock().is_err());
        drop(lock);
        open_lock(&path).unwrap().try_lock().unwrap();
        drop(starting);
        let twice = dir.path().join("twice");
        fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
        fs::hard_link(&path, &twice).unwrap();
        assert!(open_lock(&twice).is_err());
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o644);
        let (link, other) = (dir.path().join("link"), dir.path().join("other"));
        symlink("other", &link).unwrap();
        assert!(open_lock(&link).is_err() && !other.exists());
    }
}
