// SPDX-License-Identifier: MIT OR Apache-2.0
//! Runs in the lab: several guests at once, each becoming a recording.

use crate::archive;
use crate::board::{Accelerator, Board};
use crate::boot::{Boot, BootError, Left, Patience, Running, Stage};
use crate::emulator::{Emulator, EmulatorError};
use crate::init::initramfs;
use crate::kernels::{self, Kernel, KernelError};
use crate::modules;
use crate::order::{Order, Refusal, Task};
use crate::program::{Program, ProgramError};
use plan::{Guest, GuestTime, Machine, Run};
use recording::{Lab, LabFile, LabKernel, LabQemu, Recorded, RecordingError};
use runner::Signals;
use sha2::{Digest, Sha256};
use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use std::{fs, io};

/// Between two looks at the guests.
const LOOK: Duration = Duration::from_millis(50);
/// Until a guest's first process runs: several times what a busy two-core machine needs.
pub const BOOT_PATIENCE: Duration = Duration::from_secs(120);
/// What a task may take beyond its own length, and how many times slower than real time a guest may be. An emulator carries
/// out some hundred million instructions a second of the thousand million that virtual time counts.
const TASK_PATIENCE: Duration = Duration::from_secs(60);
const SLOWER: u32 = 60;

/// The program's own hidden verbs, by which it is started anew.
#[derive(Clone, Copy, Debug)]
pub struct Verbs {
    /// In a guest, as its first process: [`crate::init`].
    pub init: &'static str,
    /// On the host, as QEMU: [`crate::become_emulator`].
    pub emulator: &'static str,
}

/// Where a task is to be carried out.
#[derive(Clone, Debug)]
pub struct Place {
    /// The machine.
    pub guest: Guest,
    /// The kernel.
    pub kernel: Kernel,
    /// A device tree instead of the one that comes with the kernel.
    pub device_tree: Option<PathBuf>,
    /// The teiji that goes in, instead of the one found.
    pub program: Option<PathBuf>,
    /// Files that go in as well: the path in the guest without its first slash, and the content.
    pub files: Vec<(String, Vec<u8>)>,
    /// How long booting may take.
    pub boot_patience: Duration,
}

/// One run in the lab.
#[derive(Clone, Debug)]
pub struct LabRun {
    /// What to measure.
    pub run: Run,
    /// On what.
    pub place: Place,
    /// The recording's folder, to be made.
    pub directory: PathBuf,
    /// What it is called while it goes on.
    pub name: String,
    /// For the recording.
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
        /// Where.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// A device tree that cannot be read.
    #[error("cannot read the device tree {}: {source}", path.display())]
    DeviceTree {
        /// Where.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// Somebody asked for the end.
    #[error("ended by {0} before its results were here; nothing was recorded")]
    Interrupted(&'static str),
}

impl LabError {
    /// Whether what was asked is at fault, and not the guest, the kernel or this machine.
    #[must_use]
    pub const fn is_bad_input(&self) -> bool {
        matches!(
            self,
            LabError::Recording(_) | LabError::Boot(BootError::Refused(Refusal { bad_input: true, .. })) | LabError::Program(_)
        )
    }
}

/// How far one guest is.
#[derive(Clone, Debug)]
pub struct GuestProgress {
    /// What it is called.
    pub name: String,
    /// What it does.
    pub stage: Stage,
    /// Since its start, on the host's clock.
    pub elapsed: Duration,
}

/// Looks on. Called some times a second.
pub trait Look {
    /// How far each guest that runs is, how many are done, and how many there are in all.
    fn progress(&mut self, running: &[GuestProgress], done: usize, all: usize);
    /// Something worth a line.
    fn note(&mut self, text: &str);
}

/// A machine made ready, and everything that is put down about it.
struct Prepared {
    guest: Guest,
    emulator: Emulator,
    accelerator: Accelerator,
    kernel: PathBuf,
    device_tree: Option<PathBuf>,
    initramfs: Vec<u8>,
    patience: Patience,
    facts: Lab,
}

/// Carries out these runs, at most `jobs` guests at once, and returns what came of each, in order; see [`carry_out_each`].
pub fn carry_out<L: Look>(
    runs: &[LabRun],
    jobs: usize,
    verbs: Verbs,
    signals: &Signals,
    look: &mut L,
) -> Vec<Result<Recorded, LabError>> {
    let mut results: Vec<Option<Result<Recorded, LabError>>> = runs.iter().map(|_| None).collect();
    carry_out_each(runs, jobs, verbs, signals, look, &mut |index, result, _| results[index] = Some(result));
    let never = || Err(LabError::Interrupted(signals.caught().unwrap_or("nobody")));
    results.into_iter().map(|result| result.unwrap_or_else(never)).collect()
}

/// Takes what came of the run at a place, as soon as it is there.
pub type Ended<'a, L> = dyn FnMut(usize, Result<Recorded, LabError>, &mut L) + 'a;

/// Carries out these runs, at most `jobs` guests at once, and hands over what came of each as soon as it is there. After a
/// signal no more come. To be called on the program's main thread: guests end with the thread that started them.
pub fn carry_out_each<L: Look>(
    runs: &[LabRun],
    jobs: usize,
    verbs: Verbs,
    signals: &Signals,
    look: &mut L,
    ended: &mut Ended<'_, L>,
) {
    let mut running: Vec<(usize, Running, Lab, Option<SystemTime>)> = Vec::new();
    let mut waiting = 0..runs.len();
    let mut done = 0;
    loop {
        while running.len() < jobs.max(1)
            && signals.caught().is_none()
            && let Some(index) = waiting.next()
        {
            match begin(&runs[index], verbs, look) {
                Ok((guest, facts)) => running.push((index, guest, facts, None)),
                Err(error) => {
                    done += 1;
                    ended(index, Err(error), look);
                }
            }
        }
        // Guests that still run are ended as they are dropped.
        if signals.caught().is_some() || running.is_empty() {
            return;
        }
        running.retain_mut(|(index, guest, facts, begun)| {
            let result = guest.poll();
            if begun.is_none() && guest.stage() != Stage::Booting {
                *begun = Some(SystemTime::now());
            }
            let Some(result) = result else { return true };
            let begun = begun.unwrap_or_else(SystemTime::now);
            let recorded = result.map_err(LabError::from).and_then(|left| keep(&runs[*index], left, facts, begun));
            done += 1;
            ended(*index, recorded, look);
            false
        });
        let shown = |(index, guest, ..): &(usize, Running, Lab, Option<SystemTime>)| GuestProgress {
            name: runs[*index].name.clone(),
            stage: guest.stage(),
            elapsed: guest.elapsed(),
        };
        let progress: Vec<GuestProgress> = running.iter().map(shown).collect();
        look.progress(&progress, done, runs.len());
        std::thread::sleep(LOOK);
    }
}

fn begin(lab_run: &LabRun, verbs: Verbs, look: &mut dyn Look) -> Result<(Running, Lab), LabError> {
    if lab_run.directory.symlink_metadata().is_ok() {
        return Err(RecordingError::Exists(lab_run.directory.clone()).into());
    }
    let run = &lab_run.run;
    let task = Task::Measure { run: Box::new(Run { title: None, ..run.clone() }) };
    let expected = Duration::from_nanos(run.expected_ns().0.unsigned_abs());
    let prepared = prepare(&lab_run.place, task, expected, verbs, look)?;
    prepared.start(verbs)
}

/// Carries out programs in a guest, one after the other, and returns the files it left.
///
/// # Errors
/// When nothing comes of it.
pub(crate) fn execute(
    place: &Place,
    task: Task,
    expected: Duration,
    verbs: Verbs,
    signals: &Signals,
    look: &mut dyn Look,
) -> Result<(Left, Lab), LabError> {
    let (mut guest, mut facts) = prepare(place, task, expected, verbs, look)?.start(verbs)?;
    loop {
        if let Some(result) = guest.poll() {
            let left = result?;
            facts.host_ms = left.took_ms();
            return Ok((left, facts));
        }
        if let Some(signal) = signals.caught() {
            return Err(LabError::Interrupted(signal));
        }
        let progress = GuestProgress { name: place.kernel.name.clone(), stage: guest.stage(), elapsed: guest.elapsed() };
        look.progress(&[progress], 0, 1);
        std::thread::sleep(LOOK);
    }
}

/// Whether this machine has what any guest of a kind needs: the emulator, and a program for the guest's processor. So that
/// who begins with many guests need not find out at each.
///
/// # Errors
/// What is missing.
pub fn can_begin(machine: Machine, program: Option<&Path>) -> Result<(), LabError> {
    Program::find(machine, program)?;
    Emulator::find(machine)?;
    Ok(())
}

fn prepare(place: &Place, task: Task, expected: Duration, verbs: Verbs, look: &mut dyn Look) -> Result<Prepared, LabError> {
    let guest = &place.guest;
    let board = Board::of(guest.machine);
    let kernel = &place.kernel;
    let image = kernels::image(kernel, guest.machine)?;
    let emulator = Emulator::find(guest.machine)?;
    let program = Program::find(guest.machine, place.program.as_deref())?;
    let device_tree = device_tree(place, board, guest.machine)?;
    let modules = kernel.modules.as_deref().map_or(Ok(Vec::new()), |path| {
        modules::needed(board.modules, path).map_err(|source| LabError::Modules { path: path.to_owned(), source })
    })?;
    let accelerator = accelerator(guest, &emulator, &kernel.image, OsStr::new(verbs.emulator), look);
    let names: Vec<String> = modules.iter().map(|module| module.name.clone()).collect();
    let order = Order { channel: board.channel.to_owned(), modules: names.clone(), task };
    let initramfs = initramfs(&program.bytes, &order, &modules, &place.files);
    let facts = Lab {
        guest: guest.clone(),
        ns_per_instruction: guest.time.ns_per_instruction(),
        deterministic: matches!(guest.time, GuestTime::Virtual { .. }),
        accelerator: accelerator.name().to_owned(),
        kernel: LabKernel {
            name: kernel.name.clone(),
            image: LabFile { path: kernel.image.clone(), sha256: sha256(&image) },
            modules: kernel.modules.clone(),
        },
        device_tree: device_tree.as_ref().map(|(path, bytes)| LabFile { path: path.clone(), sha256: sha256(bytes) }),
        program: LabFile { path: program.path, sha256: sha256(&program.bytes) },
        modules: names,
        initramfs_sha256: sha256(&initramfs),
        qemu: LabQemu { version: emulator.version.clone(), command_line: Vec::new() },
        host_ms: 0,
    };
    let patience = Patience { boot: place.boot_patience, task: TASK_PATIENCE + expected * SLOWER };
    let device_tree = device_tree.map(|(path, _)| path);
    Ok(Prepared {
        guest: guest.clone(),
        emulator,
        accelerator,
        kernel: kernel.image.clone(),
        device_tree,
        initramfs,
        patience,
        facts,
    })
}

fn device_tree(place: &Place, board: &Board, machine: Machine) -> Result<Option<(PathBuf, Vec<u8>)>, LabError> {
    let path = match (&place.device_tree, board.device_tree) {
        (Some(path), _) => fs::canonicalize(path).unwrap_or_else(|_| path.clone()),
        (None, None) => return Ok(None),
        (None, Some(file)) => {
            let found = place.kernel.device_trees.as_ref().map(|directory| directory.join(file)).filter(|path| path.is_file());
            let name = place.kernel.name.clone();
            found.ok_or(KernelError::NoDeviceTree { machine, file, name })?
        }
    };
    let bytes = fs::read(&path).map_err(|source| LabError::DeviceTree { path: path.clone(), source })?;
    Ok(Some((path, bytes)))
}

/// KVM only in the host's time, and only where it truly works.
fn accelerator(guest: &Guest, emulator: &Emulator, kernel: &Path, verb: &OsStr, look: &mut dyn Look) -> Accelerator {
    if guest.time != GuestTime::Host {
        return Accelerator::Tcg;
    }
    match emulator.kvm(guest, kernel, verb) {
        Ok(()) => Accelerator::Kvm,
        Err(why) => {
            look.note(&format!(
                "Without KVM, since {why}: the emulator translates the guest's instructions, on the host's clock."
            ));
            Accelerator::Tcg
        }
    }
}

impl Prepared {
    fn start(self, verbs: Verbs) -> Result<(Running, Lab), LabError> {
        let verb = OsString::from(verbs.emulator);
        let boot = Boot {
            guest: &self.guest,
            emulator: &self.emulator,
            accelerator: self.accelerator,
            kernel: &self.kernel,
            device_tree: self.device_tree.as_deref(),
            initramfs: &self.initramfs,
            init_verb: verbs.init,
            emulator_verb: &verb,
            patience: self.patience,
        };
        let running = boot.start()?;
        let mut facts = self.facts;
        facts.qemu.command_line.clone_from(&running.command_line);
        Ok((running, facts))
    }
}

/// Makes a recording of what a guest left.
fn keep(lab_run: &LabRun, left: Left, facts: &Lab, begun: SystemTime) -> Result<Recorded, LabError> {
    let damaged = |why: String| BootError::Damaged { why, console: crate::boot::LastLines::of_bytes(&left.console) };
    let entries = archive::files(&left.archive).map_err(|error| damaged(error.to_string()))?;
    let is_plain = |name: &str| !name.is_empty() && !name.starts_with('.') && !name.contains('/');
    if let Some(entry) = entries.iter().find(|entry| !is_plain(entry.name)) {
        return Err(damaged(format!("a file in them is called '{}'", entry.name.escape_debug())).into());
    }
    let mut files: Vec<(&str, &[u8])> = entries.iter().map(|entry| (entry.name, entry.content)).collect();
    files.push(("console.log", &left.console));
    let ended = SystemTime::now();
    let complete = |document: &mut recording::Document| {
        let mut lab = facts.clone();
        lab.host_ms = left.took_ms();
        // The guest's own calendar starts anew at every boot.
        document.started_at = humantime::format_rfc3339_millis(begun).to_string();
        document.ended_at = Some(humantime::format_rfc3339_millis(ended).to_string());
        if lab.deterministic {
            // Nothing else runs below: in virtual time, nobody takes any away.
            document.warnings.retain(|warning| warning.code != host::code::HYPERVISOR);
        }
        document.run.title.clone_from(&lab_run.run.title);
        document.command_line.clone_from(&lab_run.command_line);
        document.lab = Some(lab);
    };
    Ok(recording::adopt(&lab_run.directory, &files, complete)?)
}

/// SHA-256, hexadecimal.
#[must_use]
pub fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().fold(String::with_capacity(64), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// The machine and the recording's kernel, found again by name, to carry out the same run once more. What is not what it was
/// is found by [`differences`].
///
/// # Errors
/// When the kernel is not there any more.
pub fn again(lab: &Lab) -> Result<Place, LabError> {
    let name: kernels::KernelName = lab.kernel.name.parse()?;
    let kernel = match name {
        kernels::KernelName::Debian { flavour, version } => {
            kernels::Cache::of_user()?.find(flavour, version.as_deref()).ok_or_else(|| {
                let why = format!("it is not in the cache any more; get it with: teiji lab fetch {}", lab.kernel.name);
                KernelError::Fetch { name: lab.kernel.name.clone(), why }
            })?
        }
        kernels::KernelName::Path(path) => Kernel::at(&path)?,
    };
    let modules = lab.kernel.modules.clone().filter(|path| path.is_dir()).or_else(|| kernel.modules.clone());
    let is_the_same = |path: &PathBuf| fs::read(path).is_ok_and(|bytes| sha256(&bytes) == lab.program.sha256);
    Ok(Place {
        guest: lab.guest.clone(),
        kernel: Kernel { modules, ..kernel },
        device_tree: lab.device_tree.as_ref().map(|file| file.path.clone()),
        program: Some(lab.program.path.clone()).filter(is_the_same),
        files: Vec::new(),
        boot_patience: BOOT_PATIENCE,
    })
}

/// What differs between the conditions of two runs in the lab: names of what is not the same.
#[must_use]
pub fn differences(before: &Lab, now: &Lab) -> Vec<&'static str> {
    let all: [(&str, bool); 6] = [
        ("the machine", before.guest == now.guest),
        ("the kernel's image", before.kernel.image.sha256 == now.kernel.image.sha256),
        (
            "the device tree",
            before.device_tree.as_ref().map(|file| &file.sha256) == now.device_tree.as_ref().map(|file| &file.sha256),
        ),
        ("the teiji in the guest", before.program.sha256 == now.program.sha256),
        ("the initramfs", before.initramfs_sha256 == now.initramfs_sha256),
        ("QEMU", before.qemu.version == now.qemu.version),
    ];
    all.into_iter().filter(|(_, same)| !same).map(|(name, _)| name).collect()
}
