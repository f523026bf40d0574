// SPDX-License-Identifier: MIT OR Apache-2.0
//! One guest, from its start to its result, or to its snapshot.

use crate::board::{Accelerator, Board, CONSOLE, DISK, INITRAMFS, RESULTS, Start, TASK};
use crate::channel::{self, FrameKind, Scanned};
use crate::confine::{Access, Confinement};
use crate::emulator::{self, Emulator};
use crate::monitor::Monitor;
use crate::order::Refusal;
use crate::plugin::{self, Plugin};
use crate::qcow2;
use crate::scratch::ScratchFolder;
use crate::snapshot::Snapshot;
use crate::timeouts::Timeouts;
use plan::Guest;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus};
use std::time::{Duration, Instant};

/// Lines of the console shown with an error.
const LAST_LINES: usize = 12;
const LAST_COLUMNS: usize = 160;
/// Characters of a guest's reason for a refusal.
const MAX_REASON: usize = 2_000;
/// What a guest may print. Debian's kernels print 30 KB; one that prints all the time would fill
/// the host's disk.
pub(crate) const MAX_CONSOLE: u64 = 8 << 20;
/// Of a guest's results at once: it may write noise without end.
const MAX_READ: u64 = 16 << 20;
/// A kernel that has panicked reboots at once, which ends QEMU; one that cannot reboot is ended
/// after this.
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
    Booting,
    Measuring,
    /// Results arrive: bytes that are here, of all.
    Sending {
        received: u64,
        of: u64,
    },
}

/// Why nothing came of a guest. All but the last show what the kernel said at last.
#[derive(Debug, thiserror::Error)]
pub enum BootError {
    #[error("the kernel panicked: {why}{hint}{console}")]
    Panicked {
        why: String,
        hint: &'static str,
        /// The last lines of its console.
        console: LastLines,
    },
    /// Nothing was ever heard.
    #[error(
        "the kernel printed nothing for {} s: it has no driver for this machine's serial line, is built for another machine, or \
         hangs early. To allow more time: --boot-timeout", after.as_secs()
    )]
    Silent { after: Duration },
    /// It did not come as far as its first process.
    #[error("the kernel did not finish booting in {} s; to allow more: --boot-timeout{console}", after.as_secs())]
    NotBooted {
        after: Duration,
        /// The last lines of its console.
        console: LastLines,
    },
    /// It booted, and then never came back.
    #[error("the guest booted, but sent no results within {} s: it hangs, or this host is too slow for it; to allow more: --boot-timeout{console}", after.as_secs())]
    Hangs {
        after: Duration,
        /// The last lines of its console.
        console: LastLines,
    },
    /// QEMU was killed or could not go on.
    #[error("QEMU ended before the guest had sent its results ({status}): {complaint}{console}")]
    EmulatorEnded {
        status: ExitStatus,
        complaint: String,
        /// The last lines of the console.
        console: LastLines,
    },
    /// The machine switched itself off.
    #[error("the guest switched itself off without sending results{hint}{console}")]
    SwitchedOff {
        hint: &'static str,
        /// The last lines of its console.
        console: LastLines,
    },
    /// It began to send, and then stood still.
    #[error("the guest sent {received} of {of} bytes of its results, and then nothing for {} s{console}", after.as_secs())]
    StoppedSending {
        received: u64,
        of: u64,
        after: Duration,
        /// The last lines of its console.
        console: LastLines,
    },
    /// What arrived is not what was sent.
    #[error("the results were damaged in transit: {why}{console}")]
    Damaged {
        why: String,
        /// The last lines of the console.
        console: LastLines,
    },
    #[error("the guest printed more than {} MiB on its console, and was ended{console}", MAX_CONSOLE >> 20)]
    Chatters {
        /// The last lines of its console.
        console: LastLines,
    },
    /// The guest says why it could not.
    #[error("in the guest: {}", .0.error)]
    Refused(Refusal),
    /// It has booted, and cannot stop to be saved.
    #[error("the guest cannot stop for its snapshot: {why}")]
    CannotStop { why: String },
    /// QEMU skipped to a timer between the guest's stop and its own.
    #[error(
        "QEMU let {ns} ns of the guest's time pass while the guest was stopped for its snapshot, \
         in each of several trials"
    )]
    TimeSkipped { ns: u64 },
    #[error(
        "QEMU was ended as it wrote more than {} MiB into one file: a guest's results, console and snapshot may not be larger{console}",
        limit >> 20
    )]
    Fills {
        /// Bytes that a file may have.
        limit: u64,
        /// The last lines of its console.
        console: LastLines,
    },
    /// QEMU has not what the plugin takes.
    #[error(
        "this QEMU cannot load the plugin that explain and several CPUs in virtual time need \
         ({complaint}). Get one that can: teiji lab fetch qemu"
    )]
    PluginNotLoaded { complaint: String },
    /// QEMU could not save it.
    #[error("QEMU cannot save the booted guest: {why}")]
    NotSaved { why: String },
    /// The host's files.
    #[error("cannot {doing} {}: {source}", path.display())]
    Io { doing: &'static str, path: PathBuf, source: io::Error },
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
        let lines: Vec<String> = console
            .lines()
            .map(|line| harmless(line, LAST_COLUMNS))
            .filter(|line| !line.trim().is_empty())
            .collect();
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

/// What is to be booted, or continued.
#[derive(Debug)]
pub(crate) struct Boot<'a> {
    pub(crate) guest: &'a Guest,
    pub(crate) emulator: &'a Emulator,
    pub(crate) accelerator: Accelerator,
    pub(crate) kernel: &'a Path,
    pub(crate) device_tree: Option<&'a Path>,
    pub(crate) initramfs: &'a [u8],
    pub(crate) begin: Begin<'a>,
    pub(crate) init_verb: &'a str,
    pub(crate) emulator_verb: &'a OsStr,
    pub(crate) timeouts: Timeouts,
    pub(crate) plugin: Option<&'a Plugin>,
}

/// How a guest comes to its task; as [`Start`], with what it takes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Begin<'a> {
    Boot,
    /// It is to be saved first.
    UntilSnapshot,
    /// From this snapshot, with this task.
    FromSnapshot(&'a Snapshot, &'a [u8]),
}

impl Begin<'_> {
    const fn start(&self) -> Start {
        match self {
            Begin::Boot => Start::Boot,
            Begin::UntilSnapshot => Start::UntilSnapshot,
            Begin::FromSnapshot(..) => Start::FromSnapshot,
        }
    }
}

#[derive(Debug)]
pub(crate) struct GuestOutput {
    pub(crate) archive: Vec<u8>,
    pub(crate) console: Vec<u8>,
    /// How long it took on the host's clock.
    pub(crate) took: Duration,
    /// What QEMU's plugin wrote, if it records.
    pub(crate) plugin: Option<Vec<u8>>,
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
    /// What any of its files may hold.
    file_bytes: u64,
    pub(crate) command_line: Vec<String>,
    timeouts: Timeouts,
    /// Of a guest that is to be saved.
    monitor: Option<Monitor>,
    /// What it had printed before it was saved.
    printed_before: Vec<u8>,
    /// Whether it ran again after it was saved, and nothing had been skipped.
    continued: bool,
    /// What it had printed when it was saved.
    printed_when_saved: Option<Vec<u8>>,
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
    /// What it sent, while QEMU's plugin has not written all.
    archive: Option<Vec<u8>>,
    has_plugin: bool,
    /// Whether that one records.
    records: bool,
}

impl Boot<'_> {
    pub(crate) fn start(&self) -> Result<Running, BootError> {
        let io = |doing: &'static str, path: &Path| {
            let path = path.to_owned();
            move |source: io::Error| BootError::Io { doing, path, source }
        };
        let scratch =
            ScratchFolder::new().map_err(io("make a folder in", &std::env::temp_dir()))?;
        // As the emulator's process will see it.
        let directory = &fs::canonicalize(scratch.path()).map_err(io("find", scratch.path()))?;
        let write = |name: &str, bytes: &[u8]| {
            let path = directory.join(name);
            fs::write(&path, bytes).map_err(io("write", &path))
        };
        write(INITRAMFS, self.initramfs)?;
        match self.begin {
            Begin::Boot => {}
            Begin::UntilSnapshot => {
                write(TASK, b"")?;
                write(DISK, &qcow2::empty())?;
            }
            Begin::FromSnapshot(snapshot, task) => {
                write(TASK, task)?;
                let disk = directory.join(DISK);
                snapshot
                    .copy_disk(&disk)
                    .map_err(io("copy the snapshot of the booted guest to", &disk))?;
            }
        }
        let board = Board::for_machine(self.guest.machine);
        let start = self.begin.start();
        let mut words = board.command_line(
            self.guest,
            self.accelerator,
            self.kernel,
            self.device_tree,
            self.init_verb,
            start,
        );
        // What is saved is the same with and without it.
        let plugin = self.plugin.filter(|_| start != Start::UntilSnapshot);
        for (name, content) in plugin.into_iter().flat_map(Plugin::files) {
            write(name, content)?;
        }
        words.extend(plugin.into_iter().flat_map(|plugin| plugin.arguments(self.guest.cpus)));
        let may = self.confinement(directory, plugin);
        let file_bytes = may.file_bytes;
        // The emulator makes no file: it writes into those that are there.
        for (_, path) in
            may.paths.iter().filter(|(access, path)| *access == Access::Write && !path.exists())
        {
            File::create(path).map_err(io("write", path))?;
        }
        let not_started = |source| io("start", self.emulator.path())(source);
        let (child, monitor) = if start == Start::UntilSnapshot {
            let child = self.emulator.spawn_to_be_saved(&words, directory, self.emulator_verb, may);
            let mut child = child.map_err(not_started)?;
            let monitor = Monitor::connect(&mut child).map_err(not_started)?;
            (child, Some(monitor))
        } else {
            (
                self.emulator
                    .spawn(&words, directory, self.emulator_verb, may)
                    .map_err(not_started)?,
                None,
            )
        };
        let now = Instant::now();
        let (begun, printed_before, stage) = match self.begin {
            Begin::FromSnapshot(snapshot, _) => {
                (Some(now), snapshot.console.clone(), Stage::Measuring)
            }
            _ => (None, Vec::new(), Stage::Booting),
        };
        Ok(Running {
            directory: scratch,
            child,
            file_bytes,
            command_line: self.emulator.command_line(&words),
            timeouts: self.timeouts,
            monitor,
            printed_before,
            continued: false,
            printed_when_saved: None,
            started: now,
            begun,
            panic_seen: None,
            console_read: now,
            stage,
            bytes: Vec::new(),
            read: 0,
            heard: now,
            archive: None,
            has_plugin: plugin.is_some(),
            records: plugin.is_some_and(|plugin| plugin.records),
        })
    }
}

impl Boot<'_> {
    /// What the emulator may do, beside what it needs for itself.
    fn confinement(&self, directory: &Path, plugin: Option<&Plugin>) -> Confinement {
        let records = plugin.is_some_and(|plugin| plugin.records);
        let mut may =
            Confinement::new(self.guest.memory_mib, records, self.accelerator == Accelerator::Kvm);
        may.allow(Access::Read, self.kernel);
        if let Some(tree) = self.device_tree {
            may.allow(Access::Read, tree);
        }
        let start = self.begin.start();
        let task = (start != Start::Boot).then_some(TASK);
        let read = [INITRAMFS]
            .into_iter()
            .chain(task)
            .chain(plugin.into_iter().flat_map(Plugin::files).map(|(name, _)| name));
        read.for_each(|name| may.allow(Access::Read, directory.join(name)));
        let disk = (start != Start::Boot).then_some(DISK);
        let written =
            [CONSOLE, RESULTS].into_iter().chain(disk).chain(records.then_some(plugin::OUTPUT));
        written.for_each(|name| may.allow(Access::Write, directory.join(name)));
        may
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

    /// Checks a guest that is to be saved, without waiting: its disk and what it printed, once it
    /// is. Then the guest has ended.
    pub(crate) fn poll_saved(&mut self) -> Option<Result<(PathBuf, Vec<u8>), BootError>> {
        let result = self.check_saved().transpose()?;
        emulator::end(&mut self.child);
        Some(result)
    }

    fn check_saved(&mut self) -> Result<Option<(PathBuf, Vec<u8>)>, BootError> {
        let output = self.check();
        if let Some(printed) = self.printed_when_saved.take_if(|_| self.continued) {
            return Ok(Some((self.directory.path().join(DISK), printed)));
        }
        // What the guest says of itself tells more than that its emulator is gone.
        if output?.is_some() {
            return Err(BootError::Damaged {
                why: "it did not stop for its snapshot".to_owned(),
                console: self.last_lines(),
            });
        }
        let not_saved = |error: io::Error| BootError::NotSaved { why: error.to_string() };
        if self.monitor.as_mut().map_or(Ok(false), Monitor::poll).map_err(not_saved)? {
            self.printed_when_saved = Some(self.console());
            self.monitor.as_mut().map_or(Ok(()), Monitor::continue_guest).map_err(not_saved)?;
        }
        Ok(None)
    }

    fn check(&mut self) -> Result<Option<GuestOutput>, BootError> {
        // Asked first: what it wrote before it ended is then all there is to read.
        let ended = self.child.try_wait().ok().flatten();
        if self.archive.is_none() {
            self.archive = self.receive()?;
        }
        // A plugin writes its last words as QEMU ends.
        if (ended.is_some() || !self.records)
            && let Some(archive) = self.archive.take()
        {
            return Ok(Some(GuestOutput {
                archive,
                console: self.console(),
                took: self.elapsed(),
                plugin: self.plugin_output()?,
            }));
        }
        match ended {
            Some(status) => Err(self.post_mortem(status)),
            None => self.check_timeouts().map_or(Ok(None), Err),
        }
    }

    /// Reads what has arrived, and returns results that are whole.
    fn receive(&mut self) -> Result<Option<Vec<u8>>, BootError> {
        let path = self.directory.path().join(RESULTS);
        loop {
            let read = read_more(&path, &mut self.read, &mut self.bytes);
            let is_all =
                read.map_err(|source| BootError::Io { doing: "read", path: path.clone(), source })?
                    < MAX_READ;
            let results = self.understand()?;
            if results.is_some() || is_all {
                return Ok(results);
            }
        }
    }

    /// Takes the whole frames out of what was read.
    fn understand(&mut self) -> Result<Option<Vec<u8>>, BootError> {
        self.heard = Instant::now();
        loop {
            let end = match channel::find(&self.bytes) {
                Scanned::Part { of, .. } if of > self.file_bytes => {
                    let why = "its length is impossible".to_owned();
                    return Err(BootError::Damaged { why, console: self.last_lines() });
                }
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
                    return Err(BootError::Damaged {
                        why: why.to_owned(),
                        console: self.last_lines(),
                    });
                }
                Scanned::Frame { kind: FrameKind::Begun, end, .. } => {
                    // The first time that it says so.
                    self.begun.get_or_insert_with(Instant::now);
                    self.stage = Stage::Measuring;
                    end
                }
                Scanned::Frame { kind: FrameKind::Results, payload, .. } => {
                    return Ok(Some(payload.to_vec()));
                }
                Scanned::Frame { kind: FrameKind::Continued, payload, end } => {
                    // What cannot be read is no 0.
                    let skipped_ns = String::from_utf8_lossy(payload).parse().unwrap_or(u64::MAX);
                    if skipped_ns > 0 {
                        return Err(BootError::TimeSkipped { ns: skipped_ns });
                    }
                    self.continued = true;
                    end
                }
                Scanned::Frame { kind: FrameKind::NoSnapshot, payload, .. } => {
                    let why = harmless(&String::from_utf8_lossy(payload), MAX_REASON);
                    return Err(BootError::CannotStop { why });
                }
                Scanned::Frame { kind: FrameKind::Refused, payload, .. } => {
                    let refusal: Refusal =
                        serde_json::from_slice(payload).unwrap_or_else(|error| Refusal {
                            error: format!(
                                "it could not do it, and its reason cannot be read: {error}"
                            ),
                            bad_input: false,
                        });
                    return Err(BootError::Refused(Refusal {
                        error: harmless(&refusal.error, MAX_REASON),
                        ..refusal
                    }));
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
        if status.signal() == Some(libc::SIGXFSZ) {
            return BootError::Fills { limit: self.file_bytes, console: lines };
        }
        let complaint = emulator::complaints(self.directory.path());
        if self.has_plugin && complaint.contains("plugin") {
            return BootError::PluginNotLoaded { complaint };
        }
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
            if fs::metadata(self.directory.path().join(CONSOLE))
                .is_ok_and(|file| file.len() > MAX_CONSOLE)
            {
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
            return Some(BootError::StoppedSending {
                received,
                of,
                after: SENDING_TIMEOUT,
                console: self.last_lines(),
            });
        }
        match self.begun {
            None if self.elapsed() > self.timeouts.boot => {
                let (after, console) = (self.timeouts.boot, self.last_lines());
                Some(if console.0.is_empty() {
                    BootError::Silent { after }
                } else {
                    BootError::NotBooted { after, console }
                })
            }
            // Results of many megabytes take minutes, and may, as long as they go on arriving.
            Some(begun)
                if self.stage == Stage::Measuring && begun.elapsed() > self.timeouts.task =>
            {
                Some(BootError::Hangs { after: self.timeouts.task, console: self.last_lines() })
            }
            _ => None,
        }
    }

    fn plugin_output(&self) -> Result<Option<Vec<u8>>, BootError> {
        let path = self.directory.path().join(plugin::OUTPUT);
        let read = || {
            fs::read(&path).map_err(|source| BootError::Io {
                doing: "read",
                path: path.clone(),
                source,
            })
        };
        self.records.then(read).transpose()
    }

    fn console(&self) -> Vec<u8> {
        let mut printed = self.printed_before.clone();
        printed.extend(
            emulator::read_end(&self.directory.path().join(CONSOLE), MAX_CONSOLE)
                .unwrap_or_default(),
        );
        printed
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

/// Reads what a file has from here on, or the first [`MAX_READ`] of it, and says how many bytes;
/// nothing where there is no file.
fn read_more(path: &Path, from: &mut u64, bytes: &mut Vec<u8>) -> io::Result<u64> {
    let Ok(mut file) = File::open(path) else { return Ok(0) };
    file.seek(SeekFrom::Start(*from))?;
    let read = file.take(MAX_READ).read_to_end(bytes)? as u64;
    *from += read;
    Ok(read)
}

/// What silence, or the words of a panic, may mean.
const NO_SERIAL_LINE: &str =
    "; the kernel may have no driver for this machine's serial lines, which carry them";
const NO_INITRAMFS: &str =
    "; it did not unpack the initramfs: it lacks CONFIG_BLK_DEV_INITRD, or memory (--memory)";
const OUT_OF_MEMORY: &str = "; give the guest more memory with --memory";
const HINTS: [(&str, &str); 4] = [
    ("Unable to mount root fs", NO_INITRAMFS),
    (
        "No working init found",
        "; its processor cannot run this teiji, or the initramfs was not unpacked",
    ),
    ("System is deadlocked on memory", OUT_OF_MEMORY),
    ("Out of memory", OUT_OF_MEMORY),
];

fn panicked(console: &str) -> Option<BootError> {
    const WORDS: &str = "Kernel panic - not syncing: ";
    let why = console.lines().find_map(|line| line.split_once(WORDS)).map(|(_, why)| why)?;
    let why = harmless(why, LAST_COLUMNS);
    let hint = HINTS.iter().find(|(words, _)| why.contains(words)).map_or("", |(_, hint)| hint);
    // What led to it stands above; what follows is mostly registers.
    let until = console
        .find(WORDS)
        .map_or(console.len(), |at| at + console[at..].find('\n').unwrap_or(console.len() - at));
    Some(BootError::Panicked { why, hint, console: LastLines::from_text(&console[..until]) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_explained() {
        let console = "[ 0.1] one\r\n[ 0.2] Kernel panic - not syncing: VFS: Unable to mount root \
                       fs on unknown-block(0,0)\r\n[ 0.3] CPU: 0\r\n";
        let text = panicked(console).unwrap().to_string();
        assert!(
            text.starts_with(
                "the kernel panicked: VFS: Unable to mount root fs on unknown-block(0,0); it did \
                 not"
            ),
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

    #[test]
    fn results_without_end_are_read_bit_by_bit() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join(RESULTS);
        let (mut from, mut bytes) = (0, Vec::new());
        assert_eq!(read_more(&path, &mut from, &mut bytes).unwrap(), 0);
        let file = File::create(&path).unwrap();
        file.set_len((4 << 30) + 3).unwrap();
        assert_eq!(read_more(&path, &mut from, &mut bytes).unwrap(), MAX_READ);
        assert_eq!((from, bytes.len() as u64), (MAX_READ, MAX_READ));
        from = 4 << 30;
        assert_eq!(read_more(&path, &mut from, &mut bytes).unwrap(), 3);
    }
}
