// SPDX-License-Identifier: MIT OR Apache-2.0
//! Opens a stream and reads it: a file, FIFO, device, serial port or socket.
//!
//! Nothing here waits longer than it is told to, and a signal ends each wait: a FIFO without a
//! writer is opened without waiting for one. A serial port's settings are borrowed: they are put
//! back when the stream is dropped.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Access, FileType, Mode, OFlags};
use rustix::io::Errno;
use rustix::termios::{ControlModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use std::io;
use std::net::{TcpStream, ToSocketAddrs};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

/// Connecting takes no longer.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// After a device was not ready that said it was.
const NOT_READY: Duration = Duration::from_millis(1);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place<'a> {
    StandardInput,
    Path(&'a str),
    Unix(&'a str),
    Tcp(&'a str),
}

impl<'a> Place<'a> {
    /// From what a user writes. Fails with what it is not.
    pub(crate) fn parse(text: &'a str) -> Result<Self, &'static str> {
        match text.split_once(':') {
            Some(("unix", "")) => Err("unix: names a socket, such as unix:/run/stream.sock"),
            Some(("unix", path)) => Ok(Place::Unix(path)),
            Some(("tcp", address)) => match address.rsplit_once(':') {
                Some((host, port)) if !host.is_empty() && port.parse::<u16>().is_ok() => {
                    Ok(Place::Tcp(address))
                }
                _ => Err("tcp: names a host and a port, such as tcp:192.168.0.5:4000"),
            },
            _ if text == "-" => Ok(Place::StandardInput),
            _ => Ok(Place::Path(text)),
        }
    }
}

/// Why a place cannot be one, in one line.
pub(crate) fn place_error(from: &str) -> Option<&'static str> {
    Place::parse(from).err()
}

/// Whether a regular file is read from there.
pub(crate) fn is_file(from: &str) -> bool {
    let found = match Place::parse(from) {
        Ok(Place::StandardInput) => rustix::fs::fstat(io::stdin()),
        Ok(Place::Path(path)) => rustix::fs::stat(path),
        _ => return false,
    };
    found.is_ok_and(|found| FileType::from_raw_mode(found.st_mode) == FileType::RegularFile)
}

pub(crate) struct Input {
    file: OwnedFd,
    /// What a serial port was set to.
    saved: Option<Box<Termios>>,
    /// Of a regular file, whose bytes are all there: where reading begins. Standard input may have
    /// been read before.
    file_begin: Option<u64>,
    /// A FIFO, or what a shell puts between two programs.
    is_pipe: bool,
}

pub(crate) enum Read {
    Bytes(usize),
    /// Nothing came in time, or a signal did.
    Nothing,
    /// Nothing more will come.
    Ended,
    Failed(&'static str, i32),
}

/// What is missing of a place, in one line, without touching what is there.
pub(crate) fn absent(from: &str, baud: Option<u32>) -> Option<String> {
    let (path, socket) = match Place::parse(from) {
        Ok(Place::Path(path)) => (path, false),
        Ok(Place::Unix(path)) => (path, true),
        _ => return None,
    };
    let kind = match std::fs::metadata(path) {
        Ok(found) => found.file_type(),
        Err(error) if error.kind() == io::ErrorKind::NotFound && socket => {
            return Some(format!(
                "there is no socket {path}: start the program that listens on it first"
            ));
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Some(missing(path));
        }
        Err(error) => return Some(format!("{path}: {error}")),
    };
    let wrong = |is: &str, instead: &str| Some(format!("{path} is {is}: {instead}"));
    if socket != kind.is_socket() {
        return if socket {
            wrong("not a socket", "name it without 'unix:'")
        } else {
            wrong("a socket", &format!("name it as unix:{path}"))
        };
    }
    if kind.is_dir() || kind.is_block_device() {
        return wrong(
            if kind.is_dir() { "a directory" } else { "a block device" },
            "name a file, FIFO, device or socket",
        );
    }
    if baud.is_some() && !kind.is_char_device() {
        return wrong("not a serial port", "leave out --baud");
    }
    let refused = rustix::fs::access(Path::new(path), Access::READ_OK).err()?;
    Some(format!("{path} may not be read: {refused}. Run as root, or as a user who may"))
}

/// What is missing at a path where there is nothing, by its name.
fn missing(path: &str) -> String {
    let name = Path::new(path).file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    if name.contains("fifo") || name.contains("pipe") {
        format!(
            "there is no FIFO {path}: start the program that makes it, or make it with 'mkfifo \
             {path}' and have it written"
        )
    } else if path.starts_with("/dev/") {
        format!("there is no device {path}: connect it, or load its driver")
    } else {
        format!("there is no file {path}")
    }
}

impl Input {
    /// Opens it. A serial port is put into raw mode, and set to so many bits per second if that is
    /// said.
    pub(crate) fn open(from: &str, baud: Option<u32>) -> io::Result<Self> {
        let failed = |error: io::Error, doing: &str| {
            system::named(format_args!("cannot {doing} {from}"), error)
        };
        let place = Place::parse(from).map_err(io::Error::other)?;
        let connected =
            |file: io::Result<OwnedFd>| file.map_err(|error| failed(error, "connect to"));
        let file = match place {
            Place::StandardInput => rustix::io::fcntl_dupfd_cloexec(io::stdin().as_fd(), 0)?,
            Place::Path(path) => {
                let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
                rustix::fs::open(path, flags, Mode::empty())
                    .map_err(|error| failed(error.into(), "open"))?
            }
            Place::Unix(path) => connected(UnixStream::connect(path).map(OwnedFd::from))?,
            Place::Tcp(address) => connected(connect(address).map(OwnedFd::from))?,
        };
        let kind = FileType::from_raw_mode(rustix::fs::fstat(&file)?.st_mode);
        let is_file = kind == FileType::RegularFile;
        let file_begin = if is_file { Some(rustix::fs::tell(&file)?) } else { None };
        let is_pipe = kind == FileType::Fifo;
        let mut input = Input { file, saved: None, file_begin, is_pipe };
        let is_terminal = matches!(place, Place::Path(_)) && rustix::termios::isatty(&input.file);
        if is_terminal {
            input.make_raw(baud).map_err(|error| failed(error, "set"))?;
        } else if baud.is_some() {
            return Err(io::Error::other(format!("{from} is not a serial port: leave out --baud")));
        }
        Ok(input)
    }

    fn make_raw(&mut self, baud: Option<u32>) -> io::Result<()> {
        let saved = tcgetattr(&self.file)?;
        let mut raw = saved.clone();
        raw.make_raw();
        // Whatever the modem lines say.
        raw.control_modes |= ControlModes::CLOCAL | ControlModes::CREAD;
        if let Some(baud) = baud {
            raw.set_speed(baud)?;
        }
        self.saved = Some(Box::new(saved));
        tcsetattr(&self.file, OptionalActions::Now, &raw)?;
        Ok(())
    }

    /// Waits for bytes, so many nanoseconds at most, and reads them.
    pub(crate) fn read(&self, buffer: &mut [u8], timeout_ns: i64) -> Read {
        let timeout_ns = timeout_ns.max(0);
        let timeout =
            Timespec { tv_sec: timeout_ns / 1_000_000_000, tv_nsec: timeout_ns % 1_000_000_000 };
        match poll(&mut [PollFd::new(&self.file, PollFlags::IN)], Some(&timeout)) {
            Ok(0) | Err(Errno::INTR) => return Read::Nothing,
            Ok(_) => {}
            Err(error) => return Read::Failed("poll", error.raw_os_error()),
        }
        match rustix::io::read(&self.file, buffer) {
            Ok(0) => Read::Ended,
            Ok(bytes) => Read::Bytes(bytes),
            Err(Errno::INTR) => Read::Nothing,
            Err(Errno::AGAIN) => {
                std::thread::sleep(NOT_READY);
                Read::Nothing
            }
            // The other side of a terminal, or of a connection, is gone.
            Err(Errno::IO) if self.saved.is_some() => Read::Ended,
            Err(Errno::CONNRESET) => Read::Ended,
            Err(error) => Read::Failed("read", error.raw_os_error()),
        }
    }

    /// Whether it is a regular file: its end is no event.
    pub(crate) const fn is_file(&self) -> bool {
        self.file_begin.is_some()
    }

    /// Whether it is a pipe, which ends where its writers close it.
    pub(crate) const fn is_pipe(&self) -> bool {
        self.is_pipe
    }

    /// Bytes of a regular file beyond this one, which is counted from where reading began.
    pub(crate) fn beyond(&self, offset: u64) -> Option<u64> {
        let taken = self.file_begin?.saturating_add(offset);
        let size = rustix::fs::fstat(&self.file).ok()?.st_size;
        u64::try_from(size).ok().map(|size| size.saturating_sub(taken))
    }
}

impl Drop for Input {
    fn drop(&mut self) {
        if let Some(saved) = &self.saved {
            let _ = tcsetattr(&self.file, OptionalActions::Now, saved);
        }
    }
}

/// Tries each address of the host.
fn connect(address: &str) -> io::Result<TcpStream> {
    let mut refused = io::Error::new(io::ErrorKind::NotFound, "the host has no address");
    for address in address.to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, CONNECT_TIMEOUT) {
            Ok(stream) => return stream.set_nonblocking(true).map(|()| stream),
            Err(error) => refused = error,
        }
    }
    Err(refused)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places() {
        for (text, expected) in [
            ("-", Ok(Place::StandardInput)),
            ("/dev/rtf0", Ok(Place::Path("/dev/rtf0"))),
            ("odd:name", Ok(Place::Path("odd:name"))),
            ("unix:/run/x", Ok(Place::Unix("/run/x"))),
            ("tcp:[::1]:80", Ok(Place::Tcp("[::1]:80"))),
        ] {
            assert_eq!(Place::parse(text), expected);
        }
        for text in ["unix:", "tcp:", "tcp:80", "tcp::80", "tcp:host:", "tcp:host:70000"] {
            assert!(Place::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn what_is_absent_is_named() {
        for (from, baud, expected) in [
            ("/nonexistent/log.txt", None, "there is no file /nonexistent/log.txt"),
            (
                "/nonexistent/My-FIFO",
                None,
                "there is no FIFO /nonexistent/My-FIFO: start the program that makes it, or make",
            ),
            ("/dev/rtf99", None, "there is no device /dev/rtf99: connect it, or load its driver"),
            ("unix:/nonexistent/x", None, "there is no socket /nonexistent/x: start the program"),
            ("/proc", None, "/proc is a directory: name a file"),
            ("unix:/dev/null", None, "/dev/null is not a socket: name it without 'unix:'"),
            (
                "/proc/self/stat",
                Some(9_600),
                "/proc/self/stat is not a serial port: leave out --baud",
            ),
        ] {
            let found = absent(from, baud).unwrap_or_default();
            assert!(found.starts_with(expected), "{found}");
        }
        for from in ["-", "/dev/null", "tcp:127.0.0.1:1"] {
            assert_eq!(absent(from, None), None);
        }
        let error = Input::open("/dev/null", Some(9_600)).err().unwrap().to_string();
        assert_eq!(error, "/dev/null is not a serial port: leave out --baud");
    }
}
