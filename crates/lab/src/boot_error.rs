// SPDX-License-Identifier: MIT OR Apache-2.0
//! Why nothing came of a guest, with what its kernel said at last.

use crate::console::{LAST_COLUMNS, LastLines, MAX_CONSOLE, harmless};
use crate::file_error::FileError;
use crate::order::Refusal;
use std::fmt;
use std::process::ExitStatus;
use std::time::Duration;

#[derive(Debug, thiserror::Error)]
pub struct BootError {
    #[source]
    pub(crate) cause: BootFailure,
    console: LastLines,
}

#[derive(Debug, thiserror::Error)]
pub enum BootFailure {
    #[error("the kernel panicked: {why}{hint}")]
    Panicked { why: String, hint: &'static str },
    #[error(
        "the kernel printed nothing for {} s: it has no driver for this machine's serial line, is \
         built for another machine, or hangs early. To allow more time: --boot-timeout",
        after.as_secs()
    )]
    Silent { after: Duration },
    /// It did not come as far as its first process.
    #[error(
        "the kernel did not finish booting in {} s; to allow more: --boot-timeout",
        after.as_secs()
    )]
    NotBooted { after: Duration },
    #[error(
        "the guest booted, but sent no results within {} s: it hangs, or this host is too slow for \
         it; to allow more: --boot-timeout",
        after.as_secs()
    )]
    Hangs { after: Duration },
    #[error("QEMU ended before the guest had sent its results ({status}): {complaint}")]
    EmulatorEnded { status: ExitStatus, complaint: String },
    #[error("the guest switched itself off without sending results{hint}")]
    SwitchedOff { hint: &'static str },
    #[error(
        "the guest sent {received} of {of} bytes of its results, and then nothing for {} s",
        after.as_secs()
    )]
    StoppedSending { received: u64, of: u64, after: Duration },
    #[error("the results were damaged in transit: {0}")]
    Damaged(String),
    #[error("the guest printed more than {} MiB on its console, and was ended", MAX_CONSOLE >> 20)]
    Chatters,
    #[error("in the guest: {}", .0.error)]
    Refused(Refusal),
    #[error("the guest cannot stop for its snapshot: {why}")]
    CannotStop { why: String },
    /// QEMU skipped to a timer between the guest's stop and its own.
    #[error(
        "QEMU let {ns} ns of the guest's time pass while the guest was stopped for its snapshot, \
         in each of several trials. Under SCHED_IDLE or SCHED_BATCH, run it with ordinary \
         scheduling: chrt -o 0 teiji"
    )]
    TimeSkipped { ns: u64 },
    #[error(
        "QEMU was ended as it wrote more than {} MiB into one file: a guest's results, console and \
         snapshot may not be larger",
        limit >> 20
    )]
    Fills { limit: u64 },
    #[error(
        "this QEMU cannot load the plugin that explain and several CPUs in virtual time need \
         ({complaint}). Get one that can: teiji lab fetch qemu"
    )]
    PluginNotLoaded { complaint: String },
    #[error("QEMU cannot save the booted guest: {why}")]
    NotSaved { why: String },
    #[error(transparent)]
    File(#[from] FileError),
}

impl BootFailure {
    /// Whether what the kernel said may tell more.
    const fn shows_console(&self) -> bool {
        use BootFailure::{
            Chatters, Damaged, EmulatorEnded, Fills, Hangs, NotBooted, Panicked, StoppedSending,
            SwitchedOff,
        };
        matches!(
            self,
            Panicked { .. }
                | NotBooted { .. }
                | Hangs { .. }
                | EmulatorEnded { .. }
                | SwitchedOff { .. }
                | StoppedSending { .. }
                | Damaged(_)
                | Chatters
                | Fills { .. }
        )
    }
}

impl BootError {
    pub(crate) const fn new(cause: BootFailure, console: LastLines) -> Self {
        BootError { cause, console }
    }

    /// The panic that a console shows, if it does.
    pub(crate) fn panicked(console: &str) -> Option<Self> {
        const WORDS: &str = "Kernel panic - not syncing: ";
        let at = console.find(WORDS)?;
        let line = &console[at + WORDS.len()..];
        let why = harmless(line.lines().next().unwrap_or_default(), LAST_COLUMNS);
        let hint = HINTS.iter().find(|(words, _)| why.contains(words)).map_or("", |(_, hint)| hint);
        // What led to it stands above; what follows is mostly registers.
        let end = console[at..].find('\n').map_or(console.len(), |end| at + end);
        let cause = BootFailure::Panicked { why, hint };
        Some(BootError::new(cause, LastLines::from_text(&console[..end])))
    }
}

impl fmt::Display for BootError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.cause)?;
        if self.cause.shows_console() { write!(f, "{}", self.console) } else { Ok(()) }
    }
}

/// Of what is no matter of the guest's.
impl<E: Into<BootFailure>> From<E> for BootError {
    fn from(cause: E) -> Self {
        BootError::new(cause.into(), LastLines::default())
    }
}

/// What silence, or the words of a panic, may mean.
pub(crate) const NO_SERIAL_LINE: &str =
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_explained() {
        let console = "[ 0.1] one\r\n[ 0.2] Kernel panic - not syncing: VFS: Unable to mount root \
                       fs on unknown-block(0,0)\r\n[ 0.3] CPU: 0\r\n";
        let text = BootError::panicked(console).unwrap().to_string();
        assert!(
            text.starts_with(
                "the kernel panicked: VFS: Unable to mount root fs on unknown-block(0,0); it did \
                 not"
            ),
            "{text}"
        );
        assert!(text.contains("\n  [ 0.1] one\n") && !text.contains("CPU: 0"), "{text}");
        assert!(BootError::panicked("[ 0.1] all is well").is_none());
    }
}
