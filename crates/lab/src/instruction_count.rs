// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a program costs, in instructions of the whole machine: its own, the kernel's on its behalf,
//! and every interrupt's.
//!
//! In virtual time an instruction takes a fixed number of ns, but an idle processor skips to its
//! next timer, so elapsed time shows nothing. Beside a *spinner*, a process of the lowest
//! scheduling that never sleeps, the processor is never idle: what the spinner did not get of the
//! elapsed time was executed for something else. Two lengths of the same program, and a
//! span in which nothing happens, take away what it costs to start a program and what the machine
//! does by itself.

use crate::archive::{self, Writer};
use crate::error::LabError;
use crate::kernels::KernelError;
use crate::order::{GuestCommand, Refusal, Task};
use crate::progress::GuestObserver;
use crate::session;
use crate::target::Target;
use crate::took;
use crate::verbs::INIT_VERB;
use model::Lab;
use plan::{MachineTime, Nanos, Policy, Scheduling, Unit};
use probe::Monotonic;
use runner::Signals;
use serde::{Deserialize, Serialize};
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use system::scheduling::set_scheduling;

/// The argument by which the init verb becomes the spinner.
pub const SPIN: &str = "spin";
/// How the init verb's argument for a span in which nothing happens begins: `rest=2s`.
pub const REST: &str = "rest=";
/// How the init verb's argument for a file to be printed begins: `read=/proc/kallsyms`.
pub const READ: &str = "read=";
/// The variable by which a program of the guest knows whether its clocks count instructions:
/// nothing else shows it there.
const TIME: &str = "TEIJI_GUEST_TIME";
const VIRTUAL: &str = "virtual";
/// The file in the archive that holds the costs.
const COSTS: &str = "costs.json";

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandCost {
    pub words: Vec<String>,
    /// Its exit code; none if a signal ended it.
    pub code: Option<i32>,
    pub stdout: String,
    /// What it complained about.
    pub stderr: String,
    /// From its start to its end, on the guest's clock, ns.
    pub elapsed_ns: u64,
    /// Of these, what was spent on anything but the spinner, ns; none if it was not counted.
    pub busy_ns: Option<u64>,
}

/// In the guest: runs the programs, one after the other.
pub(crate) fn execute(commands: &[GuestCommand], time: MachineTime) -> Result<Vec<u8>, Refusal> {
    let refused = |error: io::Error| Refusal { error: error.to_string(), bad_input: false };
    let costs =
        commands.iter().map(|command| run_command(command, time)).collect::<io::Result<_>>();
    let costs: Vec<CommandCost> = costs.map_err(refused)?;
    let mut archive = Writer::default();
    archive.file(COSTS, &serde_json::to_vec(&costs).unwrap_or_default());
    Ok(archive.finish())
}

/// The time of the guest that this program was started in as one of its programs; real outside.
pub fn time_here() -> MachineTime {
    time_named(std::env::var_os(TIME).as_deref())
}

fn time_named(value: Option<&OsStr>) -> MachineTime {
    if value.is_some_and(|value| value == VIRTUAL) {
        MachineTime::Virtual
    } else {
        MachineTime::Real
    }
}

/// The environment of a program in a guest of this time.
fn environment(time: MachineTime) -> Option<(&'static str, &'static str)> {
    (time == MachineTime::Virtual).then_some((TIME, VIRTUAL))
}

fn run_command(command: &GuestCommand, time: MachineTime) -> io::Result<CommandCost> {
    let mut spinner = if command.counted { Some(spinner()?) } else { None };
    let spun_before = spinner.as_ref().map(spun).transpose()?;
    let began = Monotonic.now();
    let output = Command::new(&command.words[0])
        .args(&command.words[1..])
        .envs(environment(time))
        .stdin(Stdio::null())
        .output();
    let elapsed_ns = (Monotonic.now().0 - began.0).unsigned_abs();
    let spun_after = spinner.as_ref().map(spun).transpose()?;
    if let Some(spinner) = &mut spinner {
        spinner.kill()?;
        spinner.wait()?;
    }
    let output =
        output.map_err(|error| io::Error::other(format!("{}: {error}", command.words[0])))?;
    Ok(CommandCost {
        words: command.words.clone(),
        code: output.status.code(),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        elapsed_ns,
        // The spinner cannot have had more than all of it.
        busy_ns: spun_after
            .zip(spun_before)
            .map(|(after, before)| elapsed_ns.saturating_sub(after - before)),
    })
}

fn spinner() -> io::Result<Child> {
    let spinner =
        Command::new("/proc/self/exe").args([INIT_VERB, SPIN]).stdin(Stdio::null()).spawn()?;
    // Until it is past its own start and does nothing but spin.
    while spun(&spinner)? < 50_000_000 {
        std::thread::sleep(Duration::from_millis(10));
    }
    Ok(spinner)
}

/// The spinner's time on the processor, ns: the first field of its schedstat.
fn spun(spinner: &Child) -> io::Result<u64> {
    let path = format!("/proc/{}/schedstat", spinner.id());
    let text = fs::read_to_string(&path)?;
    let first = text.split_whitespace().next().and_then(|field| field.parse().ok());
    first
        .ok_or_else(|| io::Error::other(format!("{path}: '{}' begins with no number", text.trim())))
}

/// The body of the spinner.
pub fn spin() -> ! {
    let _ = set_scheduling(None, Scheduling { policy: Policy::Idle, prio: None });
    // No pause instruction: an emulator leaves its translated code for each, and the guest stands
    // still.
    let mut turns = 0_u64;
    loop {
        turns = std::hint::black_box(turns.wrapping_add(1));
    }
}

/// Does nothing for as long as written: what the machine costs by itself.
///
/// # Errors
/// When the argument cannot be read.
pub fn rest(argument: &str) -> Result<(), String> {
    let span = argument.strip_prefix(REST).and_then(|text| Nanos::parse(text, Unit::Second).ok());
    let span = span.ok_or_else(|| format!("'{argument}' is not written as rest=2s"))?;
    std::thread::sleep(Duration::from_nanos(span.0.unsigned_abs()));
    Ok(())
}

/// Prints a file of the guest's as it is.
///
/// # Errors
/// When it cannot be read or printed.
pub fn read(argument: &str) -> Result<(), String> {
    let path = argument.strip_prefix(READ).unwrap_or(argument);
    let copied = fs::File::open(path).and_then(|mut file| io::copy(&mut file, &mut io::stdout()));
    copied.map(drop).map_err(|error| format!("{path}: {error}"))
}

/// On the host: boots a guest and runs these programs in it. `expected` is what they take together,
/// on its clock.
///
/// # Errors
/// When it fails. A program that fails in the guest is not an error.
pub fn run(
    target: &Target,
    commands: Vec<GuestCommand>,
    expected: Duration,
    signals: &Signals,
    observer: &mut dyn GuestObserver,
) -> Result<(Vec<CommandCost>, Lab), LabError> {
    let task = Task::Execute { commands: commands.clone(), time: target.guest.time.into() };
    let (output, lab) = session::execute(target, task, expected, signals, observer)?;
    took::keep_commands(target, &commands, output.took, output.used);
    let unreadable = |why: String| KernelError::Fetch { name: COSTS.to_owned(), why };
    let files = archive::files(&output.archive).map_err(|error| unreadable(error.to_string()))?;
    let costs =
        files.iter().find(|entry| entry.name == COSTS).map_or(&b""[..], |entry| entry.content);
    Ok((serde_json::from_slice(costs).map_err(|error| unreadable(error.to_string()))?, lab))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_in_a_guest_is_told_what_its_clocks_count() {
        for time in [MachineTime::Real, MachineTime::Virtual] {
            let value = environment(time).map(|(_, value)| OsStr::new(value));
            assert_eq!(time_named(value), time);
        }
        assert_eq!(time_named(Some(OsStr::new("host"))), MachineTime::Real);
    }
}
