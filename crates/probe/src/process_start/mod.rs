// SPDX-License-Identifier: MIT OR Apache-2.0
//! One start of a process, timed: from the call to the first instruction that the new program
//! executes.
//!
//! The program is as small as one can be, so that what is measured is the kernel's and the C
//! library's work: a copy of the task, an exec, a few page faults. It lives in memory, so that no
//! disk is part of it.
//!
//! The child inherits the CPU, the policy and the priority of the thread that starts it: a
//! real-time thread on one CPU therefore runs on until it waits, and only then does its child run
//! (but for `vfork`, which holds it). Its memory is not locked: locks do not survive an exec. No
//! signal is blocked in it. Signals that its parent ignores it ignores too.

mod image;
#[expect(unsafe_code, reason = "makes processes, and shares memory with them; see the file's head")]
mod sys;

use rustix::fs::{MemfdFlags, Mode};
use rustix::io::Errno;
use rustix::pipe::PipeFlags;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::Ordering;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Method {
    /// `posix_spawn`, as the C library does it: in glibc and musl a `clone` in the parent's memory,
    /// which holds the parent.
    PosixSpawn,
    /// `fork`: a copy of the memory map.
    Fork,
    /// What `vfork` is to the kernel: `clone(CLONE_VM | CLONE_VFORK)`, the parent held until the
    /// exec.
    Vfork,
    /// `clone(CLONE_VM)`: the child shares the parent's memory until its exec, and the parent
    /// continues.
    Clone,
}

#[cfg(test)]
impl Method {
    const ALL: [Method; 4] = [Method::PosixSpawn, Method::Fork, Method::Vfork, Method::Clone];
}

/// One process start. All times CLOCK_MONOTONIC, ns.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Started {
    pub(crate) called_ns: i64,
    /// The call's return in the child; none with [`Method::PosixSpawn`], which does not show it.
    pub(crate) child_ns: Option<i64>,
    /// The child's first instructions after the exec: a system call that reads the clock.
    pub(crate) first_instruction_ns: i64,
    /// The child has ended and was reaped.
    pub(crate) ended_ns: i64,
}

/// A tiny program in memory, and all that starting it needs. It reads the clock, writes the time to
/// a pipe, and ends.
pub(crate) struct ChildProgram {
    launch: sys::Launch,
    /// The pipe's other end; never blocks.
    times: OwnedFd,
}

impl ChildProgram {
    /// Makes it. Signal handlers of this process should be installed before: those that are found
    /// are left out of children.
    pub(crate) fn new() -> io::Result<Self> {
        Self::from_image(&image::image(sys::code()))
    }

    fn from_image(image: &[u8]) -> io::Result<Self> {
        let program = program_in_memory(image)?;
        let (times, output) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?;
        Ok(ChildProgram { launch: sys::Launch::new(program, output)?, times })
    }

    /// The time a child has written; leaves the pipe empty.
    fn first_instruction_ns(&self) -> io::Result<Option<i64>> {
        // The kernel's timespec: seconds and nanoseconds, 64 bits each. Room for more shows whether
        // there was more.
        let mut bytes = [0; 32];
        match rustix::io::read(&self.times, &mut bytes) {
            Ok(16) => {
                let half =
                    |at: usize| i64::from_ne_bytes(std::array::from_fn(|byte| bytes[at + byte]));
                Ok(Some(half(0) * 1_000_000_000 + half(8)))
            }
            Ok(_) | Err(Errno::AGAIN) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

/// An executable file in memory.
fn program_in_memory(image: &[u8]) -> io::Result<OwnedFd> {
    // MFD_EXEC is needed where `vm.memfd_noexec` is set, and unknown before Linux 6.3.
    let program =
        match rustix::fs::memfd_create("teiji-child", MemfdFlags::CLOEXEC | MemfdFlags::EXEC) {
            Err(Errno::INVAL) => rustix::fs::memfd_create("teiji-child", MemfdFlags::CLOEXEC)?,
            result => result?,
        };
    let mut rest = image;
    while !rest.is_empty() {
        rest = &rest[rustix::io::write(&program, rest)?..];
    }
    // Nobody may read it, so the kernel lets nobody trace the child: it runs at a priority that its
    // caller may not have, where the file of teiji has capabilities.
    rustix::fs::fchmod(&program, Mode::XUSR | Mode::XGRP | Mode::XOTH)?;
    Ok(program)
}

fn monotonic_ns() -> i64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec.wrapping_mul(1_000_000_000).wrapping_add(now.tv_nsec)
}

/// Starts the program once and waits for its end, with all signals kept from this thread meanwhile:
/// one that stops the run is delivered on return. Allocates nothing.
///
/// # Errors
/// The call's or the exec's error. [`io::ErrorKind::Interrupted`] if a signal ended the child
/// before it stored its time, as Ctrl-C does, which goes to all processes of a terminal: the start
/// is lost, and may be repeated.
pub(crate) fn start(program: &ChildProgram, method: Method) -> io::Result<Started> {
    let signals = sys::BlockedSignals::new();
    let report = program.launch.report();
    report.child_ns.store(0, Ordering::Relaxed);
    report.errno.store(0, Ordering::Relaxed);
    let called_ns = monotonic_ns();
    let ended = program.launch.run(method);
    let ended_ns = monotonic_ns();
    drop(signals);
    // In any case, so that the next start finds the pipe empty.
    let first_instruction_ns = program.first_instruction_ns();
    let status = ended?;
    match (report.errno.load(Ordering::Relaxed), first_instruction_ns?) {
        (0, Some(first_instruction_ns)) => {
            let child_ns = Some(report.child_ns.load(Ordering::Relaxed)).filter(|&time| time != 0);
            Ok(Started { called_ns, child_ns, first_instruction_ns, ended_ns })
        }
        (0, None) => Err(silent(status.terminating_signal())),
        (errno, _) => Err(io::Error::from_raw_os_error(errno)),
    }
}

/// The error of a child that ended without a time, by a signal or not.
fn silent(signal: Option<i32>) -> io::Error {
    let from_outside = [libc::SIGHUP, libc::SIGINT, libc::SIGQUIT, libc::SIGTERM];
    match signal {
        Some(signal) if from_outside.contains(&signal) => io::ErrorKind::Interrupted.into(),
        _ => io::ErrorKind::UnexpectedEof.into(),
    }
}

#[cfg(test)]
pub(crate) use sys::tests::one_at_a_time;

#[cfg(test)]
mod tests;
