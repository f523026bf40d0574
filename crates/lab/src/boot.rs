// SPDX-License-Identifier: MIT OR Apache-2.0
//! One guest, from its start to its result.

use crate::board::{Accelerator, Board, CONSOLE, INITRAMFS, RESULTS};
use crate::channel::{self, FrameKind, Scanned};
use crate::emulator::{self, Emulator};
use crate::order::Refusal;
use crate::scratch::ScratchFolder;
use crate::timeouts::Timeouts;
use plan::Guest;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus};
use std::time::{Duration, Instant};

/// Lines of the console shown with an error.
const LAST_LINES: usize = 12;
/// Columns of each.
const LAST_COLUMNS: usize = 160;
/// Characters of a guest's reason for a refusal.
const MAX_REASON: usize = 2_000;
/// What a guest may print. Debian's kernels print 30 KB; one that prints all the time would fill the host's disk.
const MAX_CONSOLE: u64 = 8 << 20;
/// A kernel that has panicked reboots at once, which ends QEMU; one that cannot reboot is ended after this.
const AFTER_PANIC: Duration = Duration::from_secs(3);
/// Between two bytes of results: many times what a guest rests between chunks of them.
const SENDING_TIMEOUT: Duration = Duration::from_secs(60);
/// How often the console is read through for a panic.
const CONSOLE_POLL_INTERVAL: Duration = Duration::from_secs(1);

/// How far a guest has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Whether KVM runs the kernel is tried out.
    TryingKvm,
    /// The kernel boots.
    Booting,
    /// The task runs.
    Measuring,
    /// Results arrive: bytes that are here, of all.
    Sending {
        /// Here.
        received: u64,
        /// In all.
        of: u64,
    },
}

/// Why nothing came of a guest. All but the last show what the kernel said at last.
#[derive(Debug, thiserror::Error)]
pub enum BootError {
    /// The kernel gave up.
    #[error("the kernel panicked: {why}{hint}{console}")]
    Panicked {
        /// In its own words.
        why: String,
        /// What that may mean.
        hint: &'static str,
        /// The last lines of its console.
        console: LastLines,
    },
    /// Nothing was ever heard.
    #[error(
        "the kernel printed nothing for {} s: it has no driver for this machine's serial line, is built for another machine, or \
         hangs early. To allow more time: --boot-timeout", after.as_secs()
    )]
    Silent {
        /// How long.
        after: Duration,
    },
    /// It did not come as far as its first process.
    #[error("the kernel did not finish booting in {} s; to allow more: --boot-timeout{console}", after.as_secs())]
    NotBooted {
        /// How long.
        after: Duration,
        /// The last lines of its console.
        console: LastLines,
    },
    /// It booted, and then never came back.
    #[error("the guest booted, but sent no results within {} s: it hangs, or this host is too slow for it; to allow more: --boot-timeout{console}", after.as_secs())]
    Hangs {
        /// How long.
        after: Duration,
        /// The last lines of its console.
        console: LastLines,
    },
    /// QEMU was killed or could not go on.
    #[error("QEMU ended before the guest had sent its results ({status}): {complaint}{console}")]
    EmulatorEnded {
        /// How.
        status: ExitStatus,
        /// Its last complaint.
        complaint: String,
        /// The last lines of the console.
        console: LastLines,
    },
    /// The machine switched itself off.
    #[error("the guest switched itself off without sending results{hint}{console}")]
    SwitchedOff {
        /// What that may mean.
        hint: &'static str,
        /// The last lines of its console.
        console: LastLines,
    },
    /// It began to send, and then stood still.
    #[error("the guest sent {received} of {of} bytes of its results, and then nothing for {} s{console}", after.as_secs())]
    StoppedSending {
        /// Bytes that arrived.
        received: u64,
        /// Bytes there should be.
        of: u64,
        /// How long nothing came.
        after: Duration,
        /// The last lines of its console.
        console: LastLines,
    },
    /// What arrived is not what was sent.
    #[error("the results were damaged in transit: {why}{console}")]
    Damaged {
        /// What is wrong.
        why: String,
        /// The last lines of the console.
        console: LastLines,
    },
    /// It prints and prints.
    #[error("the guest printed more than {} MiB on its console, and was ended{console}", MAX_CONSOLE >> 20)]
    Chatters {
        /// The last lines of its console.
        console: LastLines,
    },
    /// The guest says why it could not.
    #[error("in the guest: {}", .0.error)]
    Refused(Refusal),
    /// The host's files.
    #[error("cannot {doing} {}: {source}", path.display())]
    Io {
        /// What was tried.
        doing: &'static str,
        /// On what.
        path: PathBuf,
        /// Why it failed.
        source: io::Error,
    },
}

/// The end of a console log, for a message.
#[derive(Debug, PartialEq, Eq)]
pub struct LastLines(Vec<String>);

impl LastLines {
    /// Of what a guest has printed.
    pub(crate) fn from_bytes(console: &[u8]) -> Self {
        LastLines::from_text(&String::from_utf8_lossy(console))
    }

    fn from_text(console: &str) -> Self {
        let lines: Vec<String> =
            console.lines().map(|line| harmless(line, LAST_COLUMNS)).filter(|line| !line.trim().is_empty()).collect();
        LastLines(lines[lines.len().saturating_sub(LAST_LINES)..].to_vec())
    }
}

/// What a guest says may hold anything; a terminal is not to obey it.
fn harmless(text: &str, longest: usize) -> String {
    text.chars().filter(|c| !c.is_control()).take(longest).collect()
}

impl std::fmt::Display for LastLines {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0.as_slice() {
            [] => f.write_str("\nThe console says nothing."),
            lines => write!(f, "\nThe console's last lines:\n  {}", lines.join("\n  ")),
        }
    }
}

/// What is to be booted.
#[derive(Debug)]
pub(crate) struct Boot<'a> {
    pub(crate) guest: &'a Guest,
    pub(crate) emulator: &'a Emulator,
    pub(crate) accelerator: Accelerator,
    pub(crate) kernel: &'a Path,
    pub(crate) device_tree: Option<&'a Path>,
    pub(crate) initramfs: &'a [u8],
    pub(crate) init_verb: &'a str,
    pub(crate) emulator_verb: &'a OsStr,
    pub(crate) timeouts: Timeouts,
}

/// What a guest has left.
#[derive(Debug)]
pub(crate) struct GuestOutput {
    /// The archive it sent.
    pub(crate) archive: Vec<u8>,
    /// All that it printed.
    pub(crate) console: Vec<u8>,
    /// How long it took on the host's clock.
    pub(crate) took: Duration,
}

impl GuestOutput {
    pub(crate) fn took_ms(&self) -> u64 {
        u64::try_from(self.took.as_millis()).unwrap_or(u64::MAX)
    }
}

/// A guest that runs. Dropped, it is gone.
#[derive(Debug)]
pub(crate) struct Running {
    directory: ScratchFolder,
    child: Child,
    pub(crate) command_line: Vec<String>,
    timeouts: Timeouts,
    started: Instant,
    begun: Option<Instant>,
    panic_seen: Option<Instant>,
    console_read: Instant,
    stage: Stage,
    /// What was read of the channel and is not yet understood.
    bytes: Vec<u8>,
    read: u64,
    /// When the last of it came.
    heard: Instant,
}

impl Boot<'_> {
    pub(crate) fn start(&self) -> Result<Running, BootError> {
        let io = |doing: &'static str, path: &Path| {
            let path = path.to_owned();
            move |source: io::Error| BootError::Io { doing, path, source }
        };
        let directory = ScratchFolder::new().map_err(io("make a folder in", &std::env::temp_dir()))?;
        let initramfs = directory.path().join(INITRAMFS);
        fs::write(&initramfs, self.initramfs).map_err(io("write", &initramfs))?;
        let board = Board::for_machine(self.guest.machine);
        let words = board.command_line(self.guest, self.accelerator, self.kernel, self.device_tree, self.init_verb);
        let child = self.emulator.spawn(&words, directory.path(), self.emulator_verb);
        let child = child.map_err(io("start", self.emulator.path()))?;
        let now = Instant::now();
        Ok(Running {
            directory,
            child,
            command_line: self.emulator.command_line(&words),
            timeouts: self.timeouts,
            started: now,
            begun: None,
            panic_seen: None,
            console_read: now,
            stage: Stage::Booting,
            bytes: Vec::new(),
            read: 0,
            heard: now,
        })
    }
}

impl Running {
    pub(crate) const fn stage(&self) -> Stage {
        self.stage
    }

    pub(crate) fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    /// Checks the guest, without waiting. When this returns a result, the guest has ended.
    pub(crate) fn poll(&mut self) -> Option<Result<GuestOutput, BootError>> {
        let result = self.check().transpose()?;
        emulator::end(&mut self.child);
        Some(result)
    }

    fn check(&mut self) -> Result<Option<GuestOutput>, BootError> {
        // Asked first: what it wrote before it ended is then all there is to read.
        let ended = self.child.try_wait().ok().flatten();
        if let Some(archive) = self.receive()? {
            return Ok(Some(GuestOutput { archive, console: self.console(), took: self.elapsed() }));
        }
        match ended {
            Some(status) => Err(self.post_mortem(status)),
            None => self.check_timeouts().map_or(Ok(None), Err),
        }
    }

    /// Reads what has arrived, and returns results that are whole.
    fn receive(&mut self) -> Result<Option<Vec<u8>>, BootError> {
        let path = self.directory.path().join(RESULTS);
        let Ok(mut file) = File::open(&path) else { return Ok(None) };
        let before = self.bytes.len();
        let read = file.seek(SeekFrom::Start(self.read)).and_then(|_| file.read_to_end(&mut self.bytes));
        self.read += read.map_err(|source| BootError::Io { doing: "read", path, source })? as u64;
        if self.bytes.len() == before {
            return Ok(None);
        }
        self.heard = Instant::now();
        loop {
            let end = match channel::find(&self.bytes) {
                Scanned::Part { received, of } if of > 0 => {
                    self.stage = Stage::Sending { received, of };
                    return Ok(None);
                }
                Scanned::Part { .. } => {
                    // Noise so far; only its end can be the beginning of something.
                    let noise = self.bytes.len().saturating_sub(channel::HEADER);
                    self.bytes.drain(..noise);
                    return Ok(None);
                }
                Scanned::Damaged { why, .. } => {
                    return Err(BootError::Damaged { why: why.to_owned(), console: self.last_lines() });
                }
                Scanned::Frame { kind: FrameKind::Begun, end, .. } => {
                    self.begun = Some(Instant::now());
                    self.stage = Stage::Measuring;
                    end
                }
                Scanned::Frame { kind: FrameKind::Results, payload, .. } => return Ok(Some(payload.to_vec())),
                Scanned::Frame { kind: FrameKind::Refused, payload, .. } => {
                    let refusal: Refusal = serde_json::from_slice(payload).unwrap_or_else(|error| Refusal {
                        error: format!("it could not do it, and its reason cannot be read: {error}"),
                        bad_input: false,
                    });
                    return Err(BootError::Refused(Refusal { error: harmless(&refusal.error, MAX_REASON), ..refusal }));
                }
            };
            self.bytes.drain(..end);
        }
    }

    fn post_mortem(&self, status: ExitStatus) -> BootError {
        let console = String::from_utf8_lossy(&self.console()).into_owned();
        if let Some(error) = panicked(&console) {
            return error;
        }
        let lines = LastLines::from_text(&console);
        let complaint = emulator::complaints(self.directory.path());
        // Asked to end, QEMU ends as if its guest had switched itself off.
        if status.success() && !complaint.contains("terminating on signal") {
            let hint = if lines.0.is_empty() { NO_SERIAL_LINE } else { "" };
            return BootError::SwitchedOff { hint, console: lines };
        }
        BootError::EmulatorEnded { status, complaint, console: lines }
    }

    fn check_timeouts(&mut self) -> Option<BootError> {
        if self.console_read.elapsed() >= CONSOLE_POLL_INTERVAL {
            self.console_read = Instant::now();
            if fs::metadata(self.directory.path().join(CONSOLE)).is_ok_and(|file| file.len() > MAX_CONSOLE) {
                return Some(BootError::Chatters { console: self.last_lines() });
            }
            if let Some(error) = panicked(&String::from_utf8_lossy(&self.console())) {
                let seen = *self.panic_seen.get_or_insert_with(Instant::now);
                if seen.elapsed() >= AFTER_PANIC {
                    return Some(error);
                }
            }
        }
        if let Stage::Sending { received, of } = self.stage
            && self.heard.elapsed() > SENDING_TIMEOUT
        {
            return Some(BootError::StoppedSending { received, of, after: SENDING_TIMEOUT, console: self.last_lines() });
        }
        match self.begun {
            None if self.elapsed() > self.timeouts.boot => {
                let (after, console) = (self.timeouts.boot, self.last_lines());
                Some(if console.0.is_empty() { BootError::Silent { after } } else { BootError::NotBooted { after, console } })
            }
            // Results of many megabytes take minutes, and may, as long as they go on arriving.
            Some(begun) if self.stage == Stage::Measuring && begun.elapsed() > self.timeouts.task => {
                Some(BootError::Hangs { after: self.timeouts.task, console: self.last_lines() })
            }
            _ => None,
        }
    }

    fn console(&self) -> Vec<u8> {
        fs::read(self.directory.path().join(CONSOLE)).unwrap_or_default()
    }

    fn last_lines(&self) -> LastLines {
        LastLines::from_bytes(&self.console())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        emulator::end(&mut self.child);
    }
}

/// What silence, or the words of a panic, may mean.
const NO_SERIAL_LINE: &str = "; the kernel may have no driver for this machine's serial lines, which carry them";
const NO_INITRAMFS: &str = "; it did not unpack the initramfs: it lacks CONFIG_BLK_DEV_INITRD, or memory (--memory)";
const OUT_OF_MEMORY: &str = "; give the guest more memory with --memory";
const HINTS: [(&str, &str); 4] = [
    ("Unable to mount root fs", NO_INITRAMFS),
    ("No working init found", "; its processor cannot run this teiji, or the initramfs was not unpacked"),
    ("System is deadlocked on memory", OUT_OF_MEMORY),
    ("Out of memory", OUT_OF_MEMORY),
];

fn panicked(console: &str) -> Option<BootError> {
    const WORDS: &str = "Kernel panic - not syncing: ";
    let why = console.lines().find_map(|line| line.split_once(WORDS)).map(|(_, why)| why)?;
    let why = harmless(why, LAST_COLUMNS);
    let hint = HINTS.iter().find(|(words, _)| why.contains(words)).map_or("", |(_, hint)| hint);
    // What led to it stands above; what follows is mostly registers.
    let until = console.find(WORDS).map_or(console.len(), |at| at + console[at..].find('\n').unwrap_or(console.len() - at));
    Some(BootError::Panicked { why, hint, console: LastLines::from_text(&console[..until]) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_explained() {
        let console = "[ 0.1] one\r\n[ 0.2] Kernel panic - not syncing: VFS: Unable to mount root fs on unknown-block(0,0)\r\n[ 0.3] CPU: 0\r\n";
        let text = panicked(console).unwrap().to_string();
        assert!(
            text.starts_with("the kernel panicked: VFS: Unable to mount root fs on unknown-block(0,0); it did not"),
            "{text}"
        );
        assert!(text.contains("\n  [ 0.1] one\n") && !text.contains("CPU: 0"), "{text}");
        assert!(panicked("[ 0.1] all is well").is_none());
    }

    #[test]
    fn the_consoles_last_lines_cannot_command_a_terminal() {
        let many: String = (0..40).map(|n| format!("line {n}\x1b[2J\r\n\r\n")).collect();
        let lines = LastLines::from_text(&many);
        assert_eq!(lines.0.len(), LAST_LINES);
        assert_eq!(lines.0.last().unwrap(), "line 39[2J");
        assert!(LastLines::from_text("").to_string().contains("says nothing"));
    }
}
