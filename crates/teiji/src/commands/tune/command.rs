// SPDX-License-Identifier: MIT OR Apache-2.0
//! The command that a machine is tuned for: started, waited for, and sent the signals that we get.

use super::signals::Signals;
use crate::exit::Failure;
use anyhow::anyhow;
use rustix::process::{Pid, Signal, getpgrp, kill_process};
use signal_hook::consts::{SIGINT, SIGQUIT};
use std::ffi::OsString;
use std::fs::File;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, Command, ExitStatus};

/// A shell's exit code for a command that a signal ended is this and the signal's number.
const BY_SIGNAL: i32 = 128;

/// Runs it to its end: its exit code.
pub fn run(command: &[OsString], signals: &Signals) -> Result<u8, Failure> {
    let Some((program, words)) = command.split_first() else { return Ok(0) };
    let started = Command::new(program).args(words).spawn();
    let mut child =
        started.map_err(|error| anyhow!("cannot run {}: {error}", program.to_string_lossy()))?;
    loop {
        if let Some(status) = child.try_wait().map_err(Failure::run_failed)? {
            return Ok(code(status));
        }
        for signal in signals.wait().map_err(Failure::run_failed)? {
            forward(&child, signal);
        }
    }
}

fn code(status: ExitStatus) -> u8 {
    let code = status.code().or_else(|| status.signal().map(|signal| BY_SIGNAL + signal));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(u8::MAX)
}

fn forward(child: &Child, signal: i32) {
    // What is typed on a terminal (Ctrl-C, Ctrl-\) goes to the command by itself.
    if [SIGINT, SIGQUIT].contains(&signal) && is_in_foreground() {
        return;
    }
    if let (Some(pid), Some(signal)) =
        (i32::try_from(child.id()).ok().and_then(Pid::from_raw), Signal::from_named_raw(signal))
    {
        // It may have ended.
        let _ = kill_process(pid, signal);
    }
}

/// Whether what is typed on the terminal goes to this process, wherever its standard input comes
/// from.
fn is_in_foreground() -> bool {
    let terminal = File::open("/dev/tty");
    terminal.is_ok_and(|terminal| {
        rustix::termios::tcgetpgrp(terminal).is_ok_and(|group| group == getpgrp())
    })
}
