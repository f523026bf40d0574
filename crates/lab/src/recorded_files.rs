// SPDX-License-Identifier: MIT OR Apache-2.0
//! Files in a recording's folder, which may come from anybody: ordinary ones only, and none that is a link to another place.

use crate::boot::MAX_CONSOLE;
use rustix::fs::OFlags;
use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Opens an ordinary file, without waiting for a writer where it is a FIFO.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path).map_err(|error| match error.raw_os_error() {
        Some(number) if number == rustix::io::Errno::LOOP.raw_os_error() => io::Error::other("it is a link, and is not followed"),
        _ => error,
    })?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is no ordinary file"));
    }
    Ok(file)
}

/// Whether two files hold the same bytes.
pub(crate) fn are_same(one: File, other: File) -> io::Result<bool> {
    let length = one.metadata()?.len();
    if length != other.metadata()?.len() {
        return Ok(false);
    }
    let (mut one, mut other) = (one.take(length), other.take(length));
    let (mut block, mut same_place) = (vec![0; 1 << 16], vec![0; 1 << 16]);
    loop {
        let read = one.read(&mut block)?;
        if read == 0 {
            return Ok(true);
        }
        other.read_exact(&mut same_place[..read])?;
        if block[..read] != same_place[..read] {
            return Ok(false);
        }
    }
}

/// What a guest printed, as its recording keeps it; nothing where that cannot be read.
#[must_use]
pub fn recorded_console(recording: &Path) -> String {
    let mut bytes = Vec::new();
    let read = open(&recording.join("console.log")).and_then(|file| file.take(2 * MAX_CONSOLE).read_to_end(&mut bytes));
    if read.is_ok() { String::from_utf8_lossy(&bytes).into_owned() } else { String::new() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    #[test]
    fn only_ordinary_files_of_the_folder_are_read() {
        let place = tempfile::tempdir().unwrap();
        let path = |name: &str| place.path().join(name);
        fs::write(path("file"), "text").unwrap();
        symlink("file", path("link")).unwrap();
        symlink("/dev/zero", path("zeros")).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(path("fifo")).status().unwrap().success());
        assert!(open(&path("file")).is_ok());
        for (name, says) in
            [("link", "not followed"), ("zeros", "not followed"), ("fifo", "no ordinary file"), ("..", "no ordinary")]
        {
            let error = open(&path(name)).unwrap_err().to_string();
            assert!(error.contains(says), "{name}: {error}");
        }
        symlink("/etc/hostname", path("console.log")).unwrap();
        assert_eq!(recorded_console(place.path()), "");
        fs::remove_file(path("console.log")).unwrap();
        fs::write(path("console.log"), b"tsc: Detected\xff").unwrap();
        assert!(recorded_console(place.path()).starts_with("tsc: Detected"));
    }

    #[test]
    fn files_are_compared_by_their_bytes() {
        let place = tempfile::tempdir().unwrap();
        let file = |name: &str, bytes: &[u8]| {
            fs::write(place.path().join(name), bytes).unwrap();
            open(&place.path().join(name)).unwrap()
        };
        let mut long = vec![7; 200_000];
        assert!(are_same(file("one", &long), file("other", &long)).unwrap());
        let one = file("one", &long);
        long[199_999] = 8;
        assert!(!are_same(one, file("other", &long)).unwrap());
        assert!(!are_same(file("one", b"ab"), file("other", b"abc")).unwrap());
    }
}
