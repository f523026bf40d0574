// SPDX-License-Identifier: MIT OR Apache-2.0
//! A guest that runs, to its result or to its snapshot: polled until it has ended.

use crate::board::{CONSOLE, DISK, RESULTS};
use crate::boot_error::{BootError, BootFailure, NO_SERIAL_LINE};
use crate::console::{LastLines, MAX_CONSOLE};
use crate::emulator;
use crate::file_error::FileError;
use crate::monitor::Monitor;
use crate::plugin;
use crate::progress::Stage;
use crate::results::{Message, Results};
use crate::timeouts::Timeouts;
use rustix::process::Pid;
use std::fs;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Child, ExitStatus};
use std::time::{Duration, Instant};
use system::ScratchFolder;
use system::usage::process_cpu_time_ns;

/// A kernel that has panicked reboots at once, which ends QEMU; one that cannot reboot is ended
/// after this.
const AFTER_PANIC: Duration = Duration::from_secs(3);
/// Between two bytes of results: many times what a guest rests between chunks of them.
const SENDING_TIMEOUT: Duration = Duration::from_secs(60);
/// How often the console is read through for a panic.
const CONSOLE_POLL_INTERVAL: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(crate) struct GuestOutput {
    pub archive: Vec<u8>,
    pub console: Vec<u8>,
    /// How long it took on the host's clock.
    pub took: Duration,
    /// The CPU time of its emulator.
    pub used: Duration,
    /// What QEMU's plugin wrote, if it records.
    pub plugin: Option<Vec<u8>>,
}

impl GuestOutput {
    pub(crate) fn took_ms(&self) -> u64 {
        u64::try_from(self.took.as_millis()).unwrap_or(u64::MAX)
    }
}

/// An emulator that was started. Dropped, it is gone.
#[derive(Debug)]
pub(crate) struct Process {
    pub directory: ScratchFolder,
    pub child: Child,
    /// Of a guest that is to be saved.
    pub monitor: Option<Monitor>,
    /// What any of its files may hold.
    pub file_bytes: u64,
    pub command_line: Vec<String>,
    pub timeouts: Timeouts,
    pub has_plugin: bool,
    /// Whether that one records.
    pub records: bool,
}

impl Drop for Process {
    fn drop(&mut self) {
        emulator::end(&mut self.child);
    }
}

/// A guest that runs.
#[derive(Debug)]
pub(crate) struct Running {
    process: Process,
    /// What it had printed before it was saved.
    printed_before: Vec<u8>,
    /// Whether it ran again after it was saved.
    continued: bool,
    /// What it had printed when it was saved.
    printed_when_saved: Option<Vec<u8>>,
    started: Instant,
    used: Duration,
    begun: Option<Instant>,
    panic_seen: Option<Instant>,
    console_read: Instant,
    stage: Stage,
    results: Results,
    /// What it sent, while QEMU's plugin has not written all.
    archive: Option<Vec<u8>>,
}

impl Running {
    pub(crate) fn booting(process: Process) -> Self {
        let now = Instant::now();
        Running {
            results: Results::new(process.directory.path().join(RESULTS), process.file_bytes),
            process,
            printed_before: Vec::new(),
            continued: false,
            printed_when_saved: None,
            started: now,
            used: Duration::ZERO,
            begun: None,
            panic_seen: None,
            console_read: now,
            stage: Stage::Booting,
            archive: None,
        }
    }

    /// A guest that had printed this when it was saved.
    pub(crate) fn continued(process: Process, printed: &[u8]) -> Self {
        Running {
            begun: Some(Instant::now()),
            printed_before: printed.to_vec(),
            stage: Stage::Measuring,
            ..Running::booting(process)
        }
    }

    pub(crate) const fn stage(&self) -> Stage {
        self.stage
    }

    pub(crate) fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    /// The CPU time of the emulator, as far as it was seen.
    pub(crate) const fn used(&self) -> Duration {
        self.used
    }

    pub(crate) fn command_line(&self) -> &[String] {
        &self.process.command_line
    }

    /// Checks the guest, without waiting. When this returns a result, the guest has ended.
    pub(crate) fn poll(&mut self) -> Option<Result<GuestOutput, BootError>> {
        let result = self.check().transpose()?;
        emulator::end(&mut self.process.child);
        Some(result)
    }

    /// Checks a guest that is to be saved, without waiting: its disk and what it printed, once it
    /// is. Then the guest has ended.
    pub(crate) fn poll_saved(&mut self) -> Option<Result<(PathBuf, Vec<u8>), BootError>> {
        let result = self.check_saved().transpose()?;
        emulator::end(&mut self.process.child);
        Some(result)
    }

    fn check_saved(&mut self) -> Result<Option<(PathBuf, Vec<u8>)>, BootError> {
        let output = self.check();
        if let Some(printed) = self.printed_when_saved.take_if(|_| self.continued) {
            return Ok(Some((self.file(DISK), printed)));
        }
        // What the guest says of itself tells more than that its emulator is gone.
        if output?.is_some() {
            let why = "it did not stop for its snapshot".to_owned();
            return Err(self.failed(BootFailure::Damaged(why)));
        }
        let not_saved = |error: io::Error| BootFailure::NotSaved { why: error.to_string() };
        let monitor = self.process.monitor.as_mut();
        if monitor.map_or(Ok(false), Monitor::poll).map_err(not_saved)? {
            self.printed_when_saved = Some(self.console());
            self.process
                .monitor
                .as_mut()
                .map_or(Ok(()), Monitor::continue_guest)
                .map_err(not_saved)?;
        }
        Ok(None)
    }

    fn check(&mut self) -> Result<Option<GuestOutput>, BootError> {
        let used = process_cpu_time_ns(Pid::from_child(&self.process.child));
        self.used = used.map_or(self.used, Duration::from_nanos);
        // Asked first: what it wrote before it ended is then all there is to read.
        let ended = self.process.child.try_wait().ok().flatten();
        if self.archive.is_none() {
            self.archive = self.receive()?;
        }
        // A plugin writes its last words as QEMU ends.
        if (ended.is_some() || !self.process.records)
            && let Some(archive) = self.archive.take()
        {
            return Ok(Some(GuestOutput {
                archive,
                console: self.console(),
                took: self.elapsed(),
                used: self.used,
                plugin: self.plugin_output()?,
            }));
        }
        match ended {
            Some(status) => Err(self.post_mortem(status)),
            None => {
                self.check_console()?;
                self.check_timeouts().map_or(Ok(None), |cause| Err(self.failed(cause)))
            }
        }
    }

    /// Reads what has arrived, and returns results that are whole.
    fn receive(&mut self) -> Result<Option<Vec<u8>>, BootError> {
        while let Some(message) = self.results.next().map_err(|cause| self.failed(cause))? {
            match message {
                Message::Begun => {
                    // The first time that it says so.
                    self.begun.get_or_insert_with(Instant::now);
                    self.stage = Stage::Measuring;
                }
                Message::Continued => self.continued = true,
                Message::Results(archive) => return Ok(Some(archive)),
            }
        }
        if let Some((received, of)) = self.results.arriving() {
            self.stage = Stage::Sending { received, of };
        }
        Ok(None)
    }

    fn post_mortem(&self, status: ExitStatus) -> BootError {
        let console = String::from_utf8_lossy(&self.console()).into_owned();
        if let Some(error) = BootError::panicked(&console) {
            return error;
        }
        let lines = LastLines::from_text(&console);
        let complaint = emulator::complaints(self.process.directory.path());
        let cause = if status.signal() == Some(libc::SIGXFSZ) {
            BootFailure::Fills { limit: self.process.file_bytes }
        } else if self.process.has_plugin && complaint.contains("plugin") {
            BootFailure::PluginNotLoaded { complaint }
        } else if status.success() && !complaint.contains("terminating on signal") {
            // Asked to end, QEMU ends as if its guest had switched itself off.
            let hint = if lines.is_empty() { NO_SERIAL_LINE } else { "" };
            BootFailure::SwitchedOff { hint }
        } else {
            BootFailure::EmulatorEnded { status, complaint }
        };
        BootError::new(cause, lines)
    }

    /// Whether the guest prints without end, or its kernel panicked and still runs.
    fn check_console(&mut self) -> Result<(), BootError> {
        if self.console_read.elapsed() < CONSOLE_POLL_INTERVAL {
            return Ok(());
        }
        self.console_read = Instant::now();
        if fs::metadata(self.file(CONSOLE)).is_ok_and(|file| file.len() > MAX_CONSOLE) {
            return Err(self.failed(BootFailure::Chatters));
        }
        let Some(error) = BootError::panicked(&String::from_utf8_lossy(&self.console())) else {
            return Ok(());
        };
        let seen = *self.panic_seen.get_or_insert_with(Instant::now);
        if seen.elapsed() >= AFTER_PANIC { Err(error) } else { Ok(()) }
    }

    fn check_timeouts(&self) -> Option<BootFailure> {
        let Timeouts { boot, task } = self.process.timeouts;
        match (self.stage, self.begun) {
            // Results of many megabytes take minutes, and may, as long as they go on arriving.
            (Stage::Sending { received, of }, _) => {
                let after = SENDING_TIMEOUT;
                (self.results.silence() > after).then_some(BootFailure::StoppedSending {
                    received,
                    of,
                    after,
                })
            }
            (_, Some(begun)) => {
                (begun.elapsed() > task).then_some(BootFailure::Hangs { after: task })
            }
            (_, None) if self.elapsed() <= boot => None,
            (_, None) if self.last_lines().is_empty() => Some(BootFailure::Silent { after: boot }),
            (_, None) => Some(BootFailure::NotBooted { after: boot }),
        }
    }

    fn plugin_output(&self) -> Result<Option<Vec<u8>>, FileError> {
        let path = self.file(plugin::OUTPUT);
        let read = || fs::read(&path).map_err(FileError::of("read", &path));
        self.process.records.then(read).transpose()
    }

    fn file(&self, name: &str) -> PathBuf {
        self.process.directory.path().join(name)
    }

    fn console(&self) -> Vec<u8> {
        let printed = emulator::read_end(&self.file(CONSOLE), MAX_CONSOLE).unwrap_or_default();
        [self.printed_before.as_slice(), &printed].concat()
    }

    fn last_lines(&self) -> LastLines {
        LastLines::from_bytes(&self.console())
    }

    fn failed(&self, cause: BootFailure) -> BootError {
        BootError::new(cause, self.last_lines())
    }
}
