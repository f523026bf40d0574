// SPDX-License-Identifier: MIT OR Apache-2.0
//! Opening a machine's files to read them, and nothing else.
//!
//! Names of files come from elsewhere too: from another machine's tree, or from the command line of
//! a service that runs. So only regular files are opened, as all of /proc and /sys are, and no more
//! is read than memory allows.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::path::Path;
use std::sync::mpsc;
use std::time::Duration;
use system::files::{Links, OpenError, open_regular, read_up_to};

/// More than any file that is read has: that of all interrupts of 1,000 CPUs has some 10 MB.
pub const MAX_BYTES: u64 = 32 << 20;
/// Reading another process's command line takes some µs.
const PATIENCE: Duration = Duration::from_millis(500);
/// Where memory is locked, all of it is.
const STACK: usize = 64 << 10;

/// A regular file, open to be read. Links are followed.
pub fn opened(path: &Path) -> io::Result<File> {
    open_regular(path, Links::Followed).map_err(OpenError::into_io)
}

pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    all_of(&opened(path)?)
}

/// What a file holds.
pub fn all_of(file: &File) -> io::Result<Vec<u8>> {
    read_up_to(file, MAX_BYTES)?.ok_or_else(|| {
        io::Error::new(
            ErrorKind::FileTooLarge,
            format!("it is larger than {} MiB", MAX_BYTES >> 20),
        )
    })
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

/// The text that these bytes are, whatever of them is none: nothing promises UTF-8, and no byte may
/// cost us the rest of a file.
pub fn text_of(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// All of a regular file that is a text.
pub fn text(path: &Path) -> io::Result<String> {
    as_text(read(path)?)
}

pub fn as_text(bytes: Vec<u8>) -> io::Result<String> {
    String::from_utf8(bytes).map_err(|_| io::Error::new(ErrorKind::InvalidData, "it is not a text"))
}

#[cfg(test)]
mod tests {
    use super::*;

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
