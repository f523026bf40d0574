// SPDX-License-Identifier: MIT OR Apache-2.0
//! Runs in the lab: several guests at once, each becoming a recording.

use crate::again::NotNamed;
use crate::archive;
use crate::boot::{BootError, GuestOutput, Stage};
use crate::emulator::EmulatorError;
use crate::guest_limits::TooMuch;
use crate::guest_run::{GuestRun, Shared};
use crate::kernels::{Kernel, KernelError};
use crate::order::{Refusal, Task};
use crate::pinned_fetch::can_have_qemu;
use crate::plugin::Plugin;
use crate::program::{Program, ProgramError};
use model::{DefaultCpus, Lab, Recorded};
use plan::{AUTO_PROBE, DEFAULT_PROBE, Guest, GuestError, Machine, Qemu, Run};
use recording::RecordingError;
use runner::Signals;
use sha2::{Digest, Sha256};
use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// Between two checks of the guests.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// The program's own hidden verbs, by which it is started anew.
#[derive(Clone, Copy, Debug)]
pub struct Verbs {
    /// In a guest, as its first process: [`crate::init`].
    pub init: &'static str,
    /// On the host, as QEMU: [`crate::become_emulator`].
    pub emulator: &'static str,
}

/// Where a task is to run.
#[derive(Clone, Debug)]
pub struct Target {
    pub guest: Guest,
    pub qemu: Qemu,
    pub kernel: Kernel,
    /// A device tree instead of the one that comes with the kernel.
    pub device_tree: Option<PathBuf>,
    /// The teiji that goes in, instead of the one found.
    pub program: Option<PathBuf>,
    /// Files that go in as well: the path in the guest without its first slash, and the content.
    pub files: Vec<(String, Vec<u8>)>,
    pub boot_timeout: Duration,
    /// What QEMU is to load beside it.
    pub plugin: Option<Plugin>,
}

/// One run in the lab.
#[derive(Clone, Debug)]
pub struct LabRun {
    pub run: Run,
    /// Set if its CPUs were not named; then those of `run` are all that the guest has.
    pub default_cpus: Option<DefaultCpus>,
    pub target: Target,
    /// The recording's folder, to be made.
    pub directory: PathBuf,
    /// Its name while it runs.
    pub name: String,
    pub command_line: Vec<String>,
}

/// Why a run in the lab came to nothing.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// No such kernel, or not a usable one.
    #[error(transparent)]
    Kernel(#[from] KernelError),
    /// No emulator.
    #[error(transparent)]
    Emulator(#[from] EmulatorError),
    /// Nothing that could measure in the guest.
    #[error(transparent)]
    Program(#[from] ProgramError),
    /// The guest came to nothing.
    #[error(transparent)]
    Boot(#[from] BootError),
    /// The recording could not be written.
    #[error(transparent)]
    Recording(#[from] RecordingError),
    /// Modules that cannot be read.
    #[error("cannot read the kernel's modules in {}: {source}", path.display())]
    Modules {
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// A device tree that cannot be read.
    #[error("cannot read the device tree {}: {source}", path.display())]
    DeviceTree {
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// Several CPUs in virtual time, and this program has no plugin.
    #[error(
        "several CPUs in virtual time: this teiji was built for a processor that QEMU's plugin \
         was not written for. Use x86_64 or aarch64, one CPU, or --time host"
    )]
    NoPlugin,
    /// A recording names something that is not opened because it does.
    #[error(transparent)]
    NotNamed(#[from] NotNamed),
    /// A recording asks for more than it may have.
    #[error(transparent)]
    TooMuch(#[from] TooMuch),
    /// A recording asks for a machine that cannot be.
    #[error("the recording's guest cannot be: {0}")]
    Guest(#[from] GuestError),
    /// A recording of the host's clock.
    #[error("the recording's guest ran on the host's clock, and no two such runs are the same")]
    HostTime,
    /// Somebody asked for the end.
    #[error("interrupted by {0} before the results arrived. Nothing was recorded")]
    Interrupted(&'static str),
}

impl LabError {
    /// Whether what was asked is at fault, and not the guest, the kernel or this machine.
    #[must_use]
    pub const fn is_bad_input(&self) -> bool {
        matches!(
            self,
            LabError::Recording(_)
                | LabError::Boot(BootError::Refused(Refusal { bad_input: true, .. }))
                | LabError::Program(_)
                | LabError::NotNamed(_)
                | LabError::TooMuch(_)
                | LabError::Guest(_)
                | LabError::HostTime
        )
    }
}

#[derive(Clone, Debug)]
pub struct GuestProgress {
    pub name: String,
    pub stage: Stage,
    /// Since its start, on the host's clock.
    pub elapsed: Duration,
}

/// Observes the guests. Called a few times a second.
pub trait GuestObserver {
    /// How far each guest that runs is, how many are done, and how many there are in all.
    fn progress(&mut self, running: &[GuestProgress], done: usize, all: usize);
    /// Something worth a line.
    fn note(&mut self, text: &str);
}

/// Runs these runs, at most `jobs` guests at once, and returns what came of each, in order; see
/// [`run_each_in_guest`].
pub fn run_in_guests<L: GuestObserver>(
    runs: &[LabRun],
    jobs: usize,
    verbs: Verbs,
    signals: &Signals,
    observer: &mut L,
) -> Vec<Result<Recorded, LabError>> {
    let mut results: Vec<Option<Result<Recorded, LabError>>> = runs.iter().map(|_| None).collect();
    run_each_in_guest(runs, jobs, verbs, signals, observer, &mut |index, result, _| {
        results[index] = Some(result)
    });
    let never = || Err(LabError::Interrupted(signals.caught().unwrap_or("nobody")));
    results.into_iter().map(|result| result.unwrap_or_else(never)).collect()
}

/// Receives the result of each run, by its index, as soon as it is there.
pub(crate) type RunEnded<'a, L> = dyn FnMut(usize, Result<Recorded, LabError>, &mut L) + 'a;

/// Runs these runs, at most `jobs` guests at once, and hands over what came of each as soon as it
/// is there. After a signal no more come. To be called on the program's main thread: guests end
/// with the thread that started them.
pub fn run_each_in_guest<L: GuestObserver>(
    runs: &[LabRun],
    jobs: usize,
    verbs: Verbs,
    signals: &Signals,
    observer: &mut L,
    ended: &mut RunEnded<'_, L>,
) {
    let mut running: Vec<(usize, GuestRun)> = Vec::new();
    let mut shared = Shared::new();
    let mut waiting = 0..runs.len();
    let mut done = 0;
    loop {
        while running.len() < jobs.max(1)
            && signals.caught().is_none()
            && let Some(index) = waiting.next()
        {
            match begin(&runs[index]) {
                Ok(guest) => running.push((index, guest)),
                Err(error) => {
                    done += 1;
                    ended(index, Err(error), observer);
                }
            }
        }
        // Guests that still run are ended as they are dropped.
        if signals.caught().is_some() || running.is_empty() {
            return;
        }
        running.retain_mut(|(index, guest)| {
            let Some(result) = guest.poll(&mut shared, verbs, observer) else { return true };
            let begun = guest.begun().unwrap_or_else(SystemTime::now);
            let recorded =
                result.and_then(|(output, facts)| store(&runs[*index], output, &facts, begun));
            done += 1;
            ended(*index, recorded, observer);
            false
        });
        let progress: Vec<GuestProgress> = running
            .iter()
            .map(|(index, guest)| guest.progress(runs[*index].name.clone()))
            .collect();
        observer.progress(&progress, done, runs.len());
        std::thread::sleep(POLL_INTERVAL);
    }
}

fn begin(lab_run: &LabRun) -> Result<GuestRun, LabError> {
    if lab_run.directory.symlink_metadata().is_ok() {
        return Err(RecordingError::Exists(lab_run.directory.clone()).into());
    }
    let run = &decided(&lab_run.run, &lab_run.target.kernel);
    let task = Task::measure(run, lab_run.default_cpus, lab_run.target.guest.time);
    let expected = Duration::from_nanos(run.max_duration_ns().0.unsigned_abs());
    GuestRun::begin(&lab_run.target, task, expected)
}

/// The run with its probe, where that need not be left to the guest: looking for a co-kernel takes
/// instructions, which count there.
fn decided(run: &Run, kernel: &Kernel) -> Run {
    let is_decided = run.probe == AUTO_PROBE && !kernel.may_have_co_kernel();
    let probe = if is_decided { DEFAULT_PROBE.to_owned() } else { run.probe.clone() };
    Run { probe, ..run.clone() }
}

/// Runs programs in a guest, one after the other, and returns the files it left.
///
/// # Errors
/// When it fails.
pub(crate) fn execute(
    target: &Target,
    task: Task,
    expected: Duration,
    verbs: Verbs,
    signals: &Signals,
    observer: &mut dyn GuestObserver,
) -> Result<(GuestOutput, Lab), LabError> {
    let mut guest = GuestRun::begin(target, task, expected)?;
    let (output, mut facts) = wait(&mut guest, &target.kernel.name, verbs, signals, observer)?;
    facts.host_ms = output.took_ms();
    Ok((output, facts))
}

/// Makes one run in a guest with a plugin, and returns what that wrote as well.
pub(crate) fn run_one(
    lab_run: &LabRun,
    verbs: Verbs,
    signals: &Signals,
    observer: &mut dyn GuestObserver,
) -> Result<(Recorded, Vec<u8>), LabError> {
    let mut guest = begin(lab_run)?;
    let (mut output, facts) = wait(&mut guest, &lab_run.name, verbs, signals, observer)?;
    let written = output.plugin.take().unwrap_or_default();
    let begun = guest.begun().unwrap_or_else(SystemTime::now);
    Ok((store(lab_run, output, &facts, begun)?, written))
}

/// Waits until a guest has ended.
fn wait(
    guest: &mut GuestRun,
    name: &str,
    verbs: Verbs,
    signals: &Signals,
    observer: &mut dyn GuestObserver,
) -> Result<(GuestOutput, Lab), LabError> {
    let mut shared = Shared::new();
    loop {
        if let Some(result) = guest.poll(&mut shared, verbs, observer) {
            return result;
        }
        if let Some(signal) = signals.caught() {
            return Err(LabError::Interrupted(signal));
        }
        observer.progress(&[guest.progress(name.to_owned())], 0, 1);
        std::thread::sleep(POLL_INTERVAL);
    }
}

/// Whether this machine has what any guest of a kind needs: the emulator, and a program for the
/// guest's processor. So that who begins with many guests need not find out at each.
///
/// # Errors
/// What is missing.
pub fn can_begin(
    machine: Machine,
    program: Option<&Path>,
    qemu: Option<&Qemu>,
) -> Result<(), LabError> {
    Program::find(machine, program)?;
    can_have_qemu(qemu, machine)?;
    Ok(())
}

/// Writes the output of a guest as a recording.
fn store(
    lab_run: &LabRun,
    output: GuestOutput,
    facts: &Lab,
    begun: SystemTime,
) -> Result<Recorded, LabError> {
    let damaged = |why: String| BootError::Damaged {
        why,
        console: crate::boot::LastLines::from_bytes(&output.console),
    };
    let entries = archive::files(&output.archive).map_err(|error| damaged(error.to_string()))?;
    if let Some(entry) = entries.iter().find(|entry| !is_of_a_run(entry.name)) {
        return Err(
            damaged(format!("a file in them is called '{}'", entry.name.escape_debug())).into()
        );
    }
    let mut files: Vec<(&str, &[u8])> =
        entries.iter().map(|entry| (entry.name, entry.content)).collect();
    files.push(("console.log", &output.console));
    let ended = SystemTime::now();
    let complete = |document: &mut model::Document| {
        let mut lab = facts.clone();
        lab.host_ms = output.took_ms();
        // The guest's own calendar starts anew at every boot.
        document.started_at = humantime::format_rfc3339_millis(begun).to_string();
        document.ended_at = Some(humantime::format_rfc3339_millis(ended).to_string());
        document.run.title.clone_from(&lab_run.run.title);
        document.command_line.clone_from(&lab_run.command_line);
        document.lab = Some(lab);
        // What is added here has names, whatever the guest said.
        document.anonymous = false;
    };
    Ok(recording::adopt(&lab_run.directory, &files, complete)?)
}

/// Whether a run leaves a file of this name: a guest is somebody else's, and explains nothing by
/// itself.
fn is_of_a_run(name: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-.".contains(c);
    let is_samples = name.starts_with("samples-")
        && [".arrows", ".sums"].iter().any(|ending| name.ends_with(ending));
    name.chars().all(is_plain)
        && (["run.json", "host-before.json", "host-after.json"].contains(&name) || is_samples)
}

/// SHA-256, hexadecimal.
#[must_use]
pub fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().fold(String::with_capacity(64), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_guest_leaves_what_a_run_leaves() {
        for name in [
            "run.json",
            "host-before.json",
            "samples-0.arrows",
            "samples-12-long.arrows",
            "samples-0.sums",
        ] {
            assert!(is_of_a_run(name), "{name}");
        }
        for name in [
            "explain.json",
            "console.log",
            "samples-/../x.arrows",
            "samples-\u{1b}.arrows",
            ".run.json",
            "",
        ] {
            assert!(!is_of_a_run(name), "{name}");
        }
    }

    /// Otherwise the guest looks.
    #[test]
    fn a_kernel_that_is_known_to_have_no_co_kernel_is_not_asked() {
        let place = tempfile::tempdir().unwrap();
        let image = place.path().join("vmlinuz-1.2.3");
        fs::write(&image, "").unwrap();
        let of = |probe: &str| {
            let run =
                Run { probe: probe.to_owned(), ..Run::example(plan::Nanos::from_millis(1), 1) };
            decided(&run, &Kernel::at(&image).unwrap()).probe
        };
        assert_eq!(of("auto"), "auto", "nothing is known of it");
        for (option, expected) in [("PREEMPT_RT", "cyclic"), ("XENOMAI", "auto"), ("EVL", "auto")] {
            fs::write(place.path().join("config-1.2.3"), format!("CONFIG_{option}=y\n")).unwrap();
            assert_eq!((of("auto"), of("spawn")), (expected.to_owned(), "spawn".to_owned()));
        }
    }
}
