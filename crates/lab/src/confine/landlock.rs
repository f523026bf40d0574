// SPDX-License-Identifier: MIT OR Apache-2.0
//! Landlock: which files a process may open, whoever it is
//! (Documentation/userspace-api/landlock.rst).

use super::Access;
use super::sys::{Ruleset, landlock_allow, landlock_restrict, landlock_ruleset, landlock_version};
use rustix::fs::OFlags;
use rustix::io::Errno;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;

const EXECUTE: u64 = 1;
const WRITE_FILE: u64 = 1 << 1;
const READ_FILE: u64 = 1 << 2;
const READ_DIR: u64 = 1 << 3;
const TRUNCATE: u64 = 1 << 14;
const IOCTL_DEV: u64 = 1 << 15;

/// What a version of Landlock can deny: so many kinds of access to files, TCP, and signals and
/// sockets of others.
fn denied_by(version: i32) -> (Ruleset, usize) {
    let kinds = match version {
        ..=1 => 13,
        2 => 14,
        3 | 4 => 15,
        5.. => 16,
    };
    let ruleset = Ruleset {
        files: (1 << kinds) - 1,
        network: if version >= 4 { 0b11 } else { 0 },
        scoped: if version >= 6 { 0b11 } else { 0 },
    };
    let fields = match version {
        ..=3 => 1,
        4 | 5 => 2,
        6.. => 3,
    };
    (ruleset, fields * size_of::<u64>())
}

/// Restricts this thread to these files, and to no TCP and no signals where the kernel can; to
/// nothing where it has no Landlock. What is not there is left out.
pub(super) fn restrict<'p>(paths: impl Iterator<Item = (Access, &'p Path)>) -> io::Result<()> {
    let version = match landlock_version() {
        Ok(version) => version,
        Err(error)
            if [Errno::NOSYS, Errno::OPNOTSUPP]
                .map(Errno::raw_os_error)
                .map(Some)
                .contains(&error.raw_os_error()) =>
        {
            return Ok(());
        }
        Err(error) => return Err(error),
    };
    let (denied, length) = denied_by(version);
    let ruleset = landlock_ruleset(&denied, length)?;
    for (access, path) in paths {
        let opened = OpenOptions::new()
            .read(true)
            .custom_flags(OFlags::PATH.bits().cast_signed())
            .open(path);
        let file = match opened {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => {
                return Err(io::Error::new(error.kind(), format!("{}: {error}", path.display())));
            }
        };
        landlock_allow(ruleset.as_fd(), &file, allowed(access, &file)? & denied.files)?;
    }
    landlock_restrict(ruleset.as_fd())
}

fn allowed(access: Access, file: &File) -> io::Result<u64> {
    let found = file.metadata()?;
    let kinds = match access {
        Access::Read => READ_FILE | READ_DIR,
        Access::Run => EXECUTE | READ_FILE | READ_DIR,
        // KVM is used by ioctl.
        Access::Write if found.file_type().is_char_device() => READ_FILE | WRITE_FILE | IOCTL_DEV,
        Access::Write => READ_FILE | WRITE_FILE | TRUNCATE,
    };
    Ok(if found.is_dir() { kinds } else { kinds & !READ_DIR })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::net::TcpListener;

    /// On a thread of its own: what it gave up does not come back.
    #[test]
    fn a_thread_opens_what_it_was_given_and_nothing_else() {
        if landlock_version().is_err() {
            return;
        }
        let place = tempfile::tempdir().unwrap();
        let path = |name: &str| place.path().join(name);
        for name in ["read", "write", "other"] {
            fs::write(path(name), "x").unwrap();
        }
        let (read, write, other, made) = (path("read"), path("write"), path("other"), path("made"));
        let tried = std::thread::spawn(move || {
            rustix::thread::set_no_new_privs(true).unwrap();
            let gone = Path::new("/nowhere");
            let allowed = [
                (Access::Read, read.as_path()),
                (Access::Write, write.as_path()),
                (Access::Run, gone),
            ];
            restrict(allowed.into_iter()).unwrap();
            [
                fs::read(&read).is_ok(),
                fs::write(&write, "y").is_ok(),
                fs::write(&read, "y").is_ok(),
                fs::read(&other).is_ok(),
                fs::write(&made, "y").is_ok(),
                fs::read("/etc/passwd").is_ok(),
            ]
        });
        assert_eq!(tried.join().unwrap(), [true, true, false, false, false, false]);
    }

    #[test]
    fn a_thread_has_no_tcp_where_the_kernel_can_deny_it() {
        if !landlock_version().is_ok_and(|version| version >= 4) {
            return;
        }
        let tried = std::thread::spawn(|| {
            rustix::thread::set_no_new_privs(true).unwrap();
            restrict(std::iter::empty()).unwrap();
            TcpListener::bind("127.0.0.1:0").is_ok()
        });
        assert!(!tried.join().unwrap());
    }

    #[test]
    fn each_version_is_asked_for_what_it_knows() {
        let of = |version| {
            let (ruleset, length) = denied_by(version);
            (ruleset.files.count_ones(), ruleset.network, ruleset.scoped, length)
        };
        assert_eq!((of(1), of(2), of(3)), ((13, 0, 0, 8), (14, 0, 0, 8), (15, 0, 0, 8)));
        assert_eq!((of(4), of(5), of(7)), ((15, 3, 0, 16), (16, 3, 0, 16), (16, 3, 3, 24)));
    }
}
