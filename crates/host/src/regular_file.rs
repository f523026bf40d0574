// SPDX-License-Identifier: MIT OR Apache-2.0
//! Opening a machine's files to read them, and nothing else.
//!
//! Names of files come from elsewhere too: from another machine's tree, or from the command line of
//! a service that runs. Whoever opens a device starts it: /dev/watchdog restarts the machine a
//! minute later. A FIFO waits for somebody who writes, and a file may be larger than memory. So a
//! file is first opened by its place only (O_PATH), which reaches no driver. It is opened to be
//! read when that is a regular file, as all are that the kernel itself has in /proc and /sys.

use rustix::fs::{FileType, Mode, OFlags, fstat, open};
use rustix::io::Errno;
use std::fs::File;
use std::io::{self, ErrorKind, Read as _};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::path::{Component, Path};
use std::sync::mpsc;
use std::time::Duration;

/// More than any file that is read has: that of all interrupts of 1,000 CPUs has some 10 MB.
pub const MAX_BYTES: u64 = 32 << 20;
/// More than most files have, bytes. A file below /proc has no size that would say how much there
/// is, and some are slow to make: so it is read in few calls.
const AT_ONCE: usize = 4_096;
/// Reading another process's command line takes some µs.
const PATIENCE: Duration = Duration::from_millis(500);
/// Where memory is locked, all of it is.
const STACK: usize = 64 << 10;

/// A regular file, open to be read. Links are followed.
pub fn opened(path: &Path) -> io::Result<File> {
    // Without waiting for whoever holds a lease on it.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    if is_of_kernel(path) {
        let file = open(path, flags, Mode::empty())?;
        return is_regular(&file).map(|()| file.into());
    }
    let place = open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
    is_regular(&place)?;
    Ok(open(format!("/proc/self/fd/{}", place.as_raw_fd()), flags, Mode::empty())?.into())
}

/// Whether a path leads to where the kernel alone has files, of which none is a device: then the
/// second opening is saved, of several hundred in each run.
fn is_of_kernel(path: &Path) -> bool {
    // What a process shows of others' files.
    const ELSEWHERE: [&str; 5] = ["cwd", "exe", "fd", "map_files", "root"];
    (path.starts_with("/proc") || path.starts_with("/sys"))
        && path.components().skip(1).all(|part| match part {
            Component::Normal(name) => ELSEWHERE.iter().all(|other| name != *other),
            _ => false,
        })
}

fn is_regular(file: &OwnedFd) -> io::Result<()> {
    match FileType::from_raw_mode(fstat(file)?.st_mode) {
        FileType::RegularFile => Ok(()),
        FileType::Directory => Err(Errno::ISDIR.into()),
        _ => Err(io::Error::other("it is a device, a FIFO or a socket, and no file")),
    }
}

pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut file = opened(path)?.take(MAX_BYTES + 1);
    // Most files are read by the first call, into memory that costs nothing to have.
    let mut first = [0; AT_ONCE];
    let length = file.read(&mut first)?;
    let mut bytes = first[..length].to_vec();
    if length > 0 {
        file.read_to_end(&mut bytes)?;
    }
    if bytes.len() as u64 > MAX_BYTES {
        return Err(io::Error::new(
            ErrorKind::FileTooLarge,
            format!("it is larger than {} MiB", MAX_BYTES >> 20),
        ));
    }
    Ok(bytes)
}

/// All of a regular file that the kernel makes from another process's memory, such as its command
/// line. It waits until no thread of that process changes what is mapped there: for ever, where
/// that one waits for a disk or a server that does not answer.
pub fn read_of_process(path: &Path) -> io::Result<Vec<u8>> {
    let path = path.to_owned();
    within(PATIENCE, move || read(&path))
}

fn within<T: Send + 'static>(
    time: Duration,
    what: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    let (sender, receiver) = mpsc::channel();
    // Whatever it waits for ends with this process.
    std::thread::Builder::new().stack_size(STACK).spawn(move || drop(sender.send(what())))?;
    let late = || {
        io::Error::new(
            ErrorKind::TimedOut,
            format!("it could not be read within {} ms", time.as_millis()),
        )
    };
    receiver.recv_timeout(time).unwrap_or_else(|_| Err(late()))
}

/// All of a regular file that is a text.
pub fn text(path: &Path) -> io::Result<String> {
    String::from_utf8(read(path)?)
        .map_err(|_| io::Error::new(ErrorKind::InvalidData, "it is not a text"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{CWD, inotify, mknodat};

    #[test]
    fn only_regular_files_are_opened() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        std::fs::write(path("file"), "text\n").unwrap();
        std::os::unix::fs::symlink("file", path("link")).unwrap();
        assert_eq!(text(&path("link")).unwrap(), "text\n");
        assert!(!read(Path::new("/proc/stat")).unwrap().is_empty());
        for (path, is_of_kernel_alone) in [
            ("/proc/stat", true),
            ("/sys/devices/system/cpu/online", true),
            ("/proc/self/fd/0", false),
            ("/proc/1/root/dev/watchdog", false),
            ("/proc/../dev/watchdog", false),
            ("/processes", false),
            ("/etc/ntp.conf", false),
        ] {
            assert_eq!(is_of_kernel(Path::new(path)), is_of_kernel_alone, "{path}");
        }
        assert_eq!(read(dir.path()).unwrap_err().kind(), ErrorKind::IsADirectory);
        assert_eq!(read(&path("none")).unwrap_err().kind(), ErrorKind::NotFound);
        // A FIFO would wait here for ever.
        mknodat(CWD, path("fifo"), FileType::Fifo, Mode::RUSR, 0).unwrap();
        std::os::unix::fs::symlink("/dev/zero", path("device")).unwrap();
        for name in ["fifo", "device"] {
            let watch = inotify::init(inotify::CreateFlags::NONBLOCK).unwrap();
            inotify::add_watch(&watch, path(name), inotify::WatchFlags::OPEN).unwrap();
            assert!(
                read(&path(name)).unwrap_err().to_string().starts_with("it is a device"),
                "{name}"
            );
            let seen = rustix::io::read(&watch, &mut [0_u8; 512]);
            assert!(name == "device" || seen == Err(Errno::AGAIN), "{name} was opened");
        }
    }

    #[test]
    fn what_does_not_answer_is_given_up() {
        assert_eq!(within(PATIENCE, || Ok(7)).unwrap(), 7);
        let asleep = || {
            std::thread::sleep(Duration::from_secs(5));
            Ok(())
        };
        let error = within(Duration::from_millis(20), asleep).unwrap_err();
        assert_eq!(
            (error.kind(), error.to_string().as_str()),
            (ErrorKind::TimedOut, "it could not be read within 20 ms")
        );
        assert!(read_of_process(Path::new("/proc/self/cmdline")).unwrap().len() > 1);
    }

    #[test]
    fn a_file_larger_than_any_of_a_machine_is_not_read() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        File::create(&path).unwrap().set_len(1 << 40).unwrap();
        assert_eq!(read(&path).unwrap_err().to_string(), "it is larger than 32 MiB");
    }
}
