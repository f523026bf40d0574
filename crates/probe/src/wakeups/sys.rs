// SPDX-License-Identifier: MIT OR Apache-2.0
//! Holds a child between fork and exec. Nothing unsafe leaves this file.

use rustix::fd::{AsRawFd, OwnedFd};
use rustix::io::Errno;
use rustix::process::{Signal, getpid, getppid, set_parent_process_death_signal};
use std::os::unix::process::CommandExt;
use std::process::Command;

/// The ends of two pipes, both closed by exec.
pub(crate) struct Held {
    /// Where the child writes its number, 4 bytes.
    pub(crate) number: OwnedFd,
    /// Where it reads one byte before it goes on. At the end of the file it ends instead.
    pub(crate) go: OwnedFd,
}

/// Lets the command's child say its number and wait before exec. `release` is the other end of
/// `go`: its copy in the child is closed, so that the end of this process is the end of the file
/// there. The child is killed when the thread that starts it ends.
pub(crate) fn hold_before_exec(command: &mut Command, held: Held, release: &OwnedFd) {
    let release = release.as_raw_fd();
    let parent = getpid();
    let hold = move || {
        set_parent_process_death_signal(Some(Signal::KILL))?;
        // The parent may have ended before.
        if getppid() != Some(parent) {
            return Err(Errno::CANCELED.into());
        }
        close(release);
        rustix::io::write(&held.number, &std::process::id().to_ne_bytes())?;
        let mut go = [0_u8];
        match rustix::io::read(&held.go, &mut go)? {
            0 => Err(Errno::CANCELED.into()),
            _ => Ok(()),
        }
    };
    // SAFETY: between fork and exec of a process with several threads the closure only makes system
    // calls (prctl, getppid, close, getpid, write, read), takes no lock and allocates nothing:
    // errors made from a number hold no memory of the heap. What it owns is alive in `command`.
    unsafe {
        command.pre_exec(hold);
    }
}

/// Closes a descriptor of the child's copy of the table.
fn close(descriptor: i32) {
    // SAFETY: called in the child alone, whose table is its own; nothing in the child uses this
    // descriptor, whose owner lives in the parent. Closing a number that is not open does
    // nothing.
    unsafe {
        libc::close(descriptor);
    }
}
