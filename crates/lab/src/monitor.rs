// SPDX-License-Identifier: MIT OR Apache-2.0
//! QEMU's monitor, on its standard input and output: waits until the guest has stopped itself, has
//! it saved, and lets it continue.
//!
//! Messages are JSON, one a line (docs/interop/qmp-spec.rst). Only the guest that makes a snapshot
//! has a monitor.

use plan::{Policy, Scheduling};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::thread::Pid;
use serde_json::{Value, json};
use std::fs;
use std::io::{self, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout};
use system::process::Stat;
use system::scheduling::set_scheduling;

/// What the snapshot is called within its file.
pub(crate) const SNAPSHOT: &str = "ready";

/// A message is some KB at most; one that does not end would fill the memory.
const MAX_MESSAGE: usize = 1 << 20;

/// A connection to the monitor.
#[derive(Debug)]
pub(crate) struct Monitor {
    to: ChildStdin,
    from: ChildStdout,
    main_loop: Pid,
    /// What came and is not yet a line.
    bytes: Vec<u8>,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Running,
    Saving,
}

impl Monitor {
    /// Of an emulator that was just started, with pipes.
    ///
    /// # Errors
    /// When it has none, or has ended.
    pub(crate) fn connect(child: &mut Child) -> io::Result<Self> {
        let pipes = child.stdin.take().zip(child.stdout.take());
        let (to, from) =
            pipes.ok_or_else(|| io::Error::other("the emulator was started without pipes"))?;
        fcntl_setfl(&from, fcntl_getfl(&from)? | OFlags::NONBLOCK)?;
        let main_loop = Pid::from_child(child);
        let mut monitor = Monitor { to, from, main_loop, bytes: Vec::new(), state: State::Running };
        monitor.send(&json!({"execute": "qmp_capabilities"}))?;
        Ok(monitor)
    }

    fn send(&mut self, command: &Value) -> io::Result<()> {
        self.to.write_all(format!("{command}\n").as_bytes())
    }

    /// Whether the guest was just saved. Does not wait.
    ///
    /// # Errors
    /// What QEMU says of why it cannot be saved.
    pub(crate) fn poll(&mut self) -> io::Result<bool> {
        if read_some(&mut self.from, &mut self.bytes)? {
            return Ok(false);
        }
        while let Some(end) = self.bytes.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.bytes.drain(..=end).collect();
            let message: Value = serde_json::from_slice(&line)?;
            match next(self.state, &message)? {
                Next::Nothing => {}
                // Where it may not, the guest takes more trials, or is not saved.
                Next::Runs => drop(let_preempt(self.main_loop)),
                Next::Save => {
                    self.state = State::Saving;
                    let command = format!("savevm {SNAPSHOT}");
                    self.send(&json!({
                        "execute": "human-monitor-command",
                        "arguments": {"command-line": command},
                    }))?;
                }
                Next::Saved => return Ok(true),
            }
        }
        Ok(false)
    }

    /// Lets the guest run again.
    pub(crate) fn continue_guest(&mut self) -> io::Result<()> {
        self.send(&json!({"execute": "cont"}))
    }
}

/// Reads what has come, and returns whether that was the end.
fn read_some(from: &mut impl Read, bytes: &mut Vec<u8>) -> io::Result<bool> {
    let mut some = [0; 4096];
    loop {
        match from.read(&mut some) {
            Ok(0) => return Ok(true),
            Ok(length) => bytes.extend_from_slice(&some[..length]),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
        if bytes.len() > MAX_MESSAGE {
            return Err(io::Error::other(format!(
                "its monitor sent more than {} MiB at once",
                MAX_MESSAGE >> 20
            )));
        }
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Next {
    Nothing,
    /// All of its threads are there.
    Runs,
    Save,
    Saved,
}

/// What follows from a message.
fn next(state: State, message: &Value) -> io::Result<Next> {
    if let Some(error) = message.get("error") {
        return Err(io::Error::other(
            error["desc"].as_str().unwrap_or("an error without a description").to_owned(),
        ));
    }
    match state {
        State::Running if message.get("return").is_some() => Ok(Next::Runs),
        State::Running if message["event"] == "STOP" => Ok(Next::Save),
        // The human monitor prints nothing where all went well.
        State::Saving if message.get("return").is_some() => {
            match message["return"].as_str().unwrap_or_default().trim() {
                "" => Ok(Next::Saved),
                complaint => {
                    Err(io::Error::other(complaint.trim_start_matches("Error: ").to_owned()))
                }
            }
        }
        _ => Ok(Next::Nothing),
    }
}

/// Has the main loop of QEMU run as soon as it is woken, which threads of SCHED_IDLE and
/// SCHED_BATCH do not. All other threads keep their policy.
///
/// # Errors
/// When it may not: SCHED_IDLE is only left with the right to a lower nice level.
fn let_preempt(main_loop: Pid) -> io::Result<()> {
    /// Of a line of `/proc/PID/stat`, from 1.
    const POLICY: usize = 41;
    let line = fs::read_to_string(format!("/proc/{main_loop}/stat"))?;
    let policy: Option<u32> = Stat::parse(&line).and_then(|stat| stat.field(POLICY));
    let waits = [Policy::Batch, Policy::Idle].map(|policy| policy.number().into());
    if policy.is_some_and(|policy| waits.contains(&policy)) {
        set_scheduling(Some(main_loop), Scheduling::OTHER)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guest_that_has_stopped_is_saved() {
        let follows = |state, text: &str| {
            next(state, &serde_json::from_str(text).unwrap()).map_err(|error| error.to_string())
        };
        let running = |text| follows(State::Running, text);
        assert_eq!(running(r#"{"QMP": {"version": {}, "capabilities": []}}"#), Ok(Next::Nothing));
        assert_eq!(running(r#"{"return": {}}"#), Ok(Next::Runs));
        assert_eq!(
            running(r#"{"event": "GUEST_PANICKED", "data": {"action": "pause"}}"#),
            Ok(Next::Nothing)
        );
        assert_eq!(running(r#"{"event": "STOP"}"#), Ok(Next::Save));
        let saving = |text| follows(State::Saving, text);
        assert_eq!(saving(r#"{"event": "STOP"}"#), Ok(Next::Nothing));
        assert_eq!(saving(r#"{"return": ""}"#), Ok(Next::Saved));
        assert_eq!(
            saving(r#"{"return": "Error: No space left on device\r\n"}"#),
            Err("No space left on device".to_owned())
        );
        assert_eq!(
            saving(r#"{"error": {"class": "GenericError", "desc": "no"}}"#),
            Err("no".to_owned())
        );
    }

    #[test]
    fn a_message_without_an_end_is_an_error() {
        let mut bytes = Vec::new();
        let error =
            read_some(&mut io::repeat(b'x').take(1 << 24), &mut bytes).unwrap_err().to_string();
        assert_eq!(
            (error.as_str(), bytes.len() < 2 * MAX_MESSAGE),
            ("its monitor sent more than 1 MiB at once", true)
        );
        assert!(read_some(&mut &b"short\n"[..], &mut Vec::new()).unwrap(), "it has ended");
    }
}
