// SPDX-License-Identifier: MIT OR Apache-2.0
//! One guest from preparation to output: prepared, held while KVM is tried out, booted, and polled until it has ended.

use crate::board::{Accelerator, Board};
use crate::boot::{Boot, GuestOutput, Running, Stage};
use crate::emulator::Emulator;
use crate::init::initramfs;
use crate::kernels::{self, KernelError};
use crate::kvm::KvmTrials;
use crate::modules;
use crate::order::{Order, Task};
use crate::program::Program;
use crate::session::{GuestObserver, GuestProgress, LabError, Target, Verbs, sha256};
use crate::timeouts::Timeouts;
use model::{Lab, LabFile, LabKernel, LabQemu};
use plan::{Guest, GuestTime, Machine};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime};

/// A guest and how far it is. Dropped, it is gone.
pub(crate) struct GuestRun {
    state: State,
    made_ready: Instant,
    begun: Option<SystemTime>,
}

enum State {
    /// It starts as soon as its accelerator is known.
    Ready(Box<Prepared>),
    Runs(Box<(Running, Lab)>),
    Over,
}

/// A machine made ready, and everything that is put down about it.
struct Prepared {
    guest: Guest,
    emulator: Emulator,
    kernel: PathBuf,
    device_tree: Option<PathBuf>,
    initramfs: Vec<u8>,
    timeouts: Timeouts,
    facts: Lab,
}

impl GuestRun {
    /// Makes a guest ready for a task that takes `expected` on the guest's clock.
    ///
    /// # Errors
    /// What is missing or does not fit.
    pub(crate) fn begin(target: &Target, task: Task, expected: Duration) -> Result<Self, LabError> {
        let state = State::Ready(Box::new(prepare(target, task, expected)?));
        Ok(GuestRun { state, made_ready: Instant::now(), begun: None })
    }

    /// Looks at it, without waiting, and starts it when it can be. Once this has returned something the guest is gone.
    pub(crate) fn poll(
        &mut self,
        kvm: &mut KvmTrials,
        verbs: Verbs,
        observer: &mut dyn GuestObserver,
    ) -> Option<Result<(GuestOutput, Lab), LabError>> {
        if let State::Ready(prepared) = &self.state {
            let accelerator = prepared.accelerator(kvm, verbs, observer)?;
            let State::Ready(prepared) = std::mem::replace(&mut self.state, State::Over) else { return None };
            match prepared.start(accelerator, verbs) {
                Ok(started) => self.state = State::Runs(Box::new(started)),
                Err(error) => return Some(Err(error)),
            }
        }
        let State::Runs(runs) = &mut self.state else { return None };
        let (running, facts) = &mut **runs;
        let result = running.poll();
        if self.begun.is_none() && running.stage() != Stage::Booting {
            self.begun = Some(SystemTime::now());
        }
        result.map(|result| result.map(|left| (left, facts.clone())).map_err(LabError::from))
    }

    /// When its task began, by the host's calendar.
    pub(crate) const fn begun(&self) -> Option<SystemTime> {
        self.begun
    }

    /// How far it is.
    pub(crate) fn progress(&self, name: String) -> GuestProgress {
        match &self.state {
            State::Runs(runs) => GuestProgress { name, stage: runs.0.stage(), elapsed: runs.0.elapsed() },
            _ => GuestProgress { name, stage: Stage::TryingKvm, elapsed: self.made_ready.elapsed() },
        }
    }
}

/// Gathers everything `target` needs; `expected` is how long the task takes on the guest's clock.
fn prepare(target: &Target, task: Task, expected: Duration) -> Result<Prepared, LabError> {
    let guest = &target.guest;
    let board = Board::for_machine(guest.machine);
    let kernel = &target.kernel;
    let image = kernels::image(kernel, guest.machine)?;
    let emulator = Emulator::find(guest.machine, &target.qemu)?;
    let program = Program::find(guest.machine, target.program.as_deref())?;
    let device_tree = device_tree(target, board, guest.machine)?;
    let modules = kernel.modules.as_deref().map_or(Ok(Vec::new()), |path| {
        modules::needed(board.modules, path).map_err(|source| LabError::Modules { path: path.to_owned(), source })
    })?;
    let names: Vec<String> = modules.iter().map(|module| module.name.clone()).collect();
    let probe_left_open = task.leaves_probe_open();
    let order = Order { channel: board.channel.to_owned(), modules: names.clone(), task };
    let initramfs = initramfs(&program.bytes, &order, &modules, &target.files);
    let facts = Lab {
        guest: guest.clone(),
        ns_per_instruction: guest.time.ns_per_instruction(),
        deterministic: matches!(guest.time, GuestTime::Virtual { .. }),
        accelerator: String::new(),
        kernel: LabKernel {
            name: kernel.name.clone(),
            image: LabFile { path: kernel.image.clone(), sha256: sha256(&image) },
            modules: kernel.modules.clone(),
        },
        device_tree: device_tree.as_ref().map(|(path, bytes)| LabFile { path: path.clone(), sha256: sha256(bytes) }),
        program: LabFile { path: program.path, sha256: sha256(&program.bytes) },
        modules: names,
        initramfs_sha256: sha256(&initramfs),
        qemu: LabQemu { version: emulator.version.clone(), origin: emulator.origin, command_line: Vec::new() },
        probe_left_open,
        host_ms: 0,
    };
    let timeouts = Timeouts::new(target.boot_timeout, expected, guest.time);
    let device_tree = device_tree.map(|(path, _)| path);
    Ok(Prepared { guest: guest.clone(), emulator, kernel: kernel.image.clone(), device_tree, initramfs, timeouts, facts })
}

fn device_tree(target: &Target, board: &Board, machine: Machine) -> Result<Option<(PathBuf, Vec<u8>)>, LabError> {
    let path = match (&target.device_tree, board.device_tree) {
        (Some(path), _) => fs::canonicalize(path).unwrap_or_else(|_| path.clone()),
        (None, None) => return Ok(None),
        (None, Some(file)) => {
            let found = target.kernel.device_trees.as_ref().map(|directory| directory.join(file)).filter(|path| path.is_file());
            let name = target.kernel.name.clone();
            found.ok_or(KernelError::NoDeviceTree { machine, file, name })?
        }
    };
    let bytes = fs::read(&path).map_err(|source| LabError::DeviceTree { path: path.clone(), source })?;
    Ok(Some((path, bytes)))
}

impl Prepared {
    /// KVM only in the host's time, and only where it truly works; none as long as that is not known.
    fn accelerator(&self, kvm: &mut KvmTrials, verbs: Verbs, observer: &mut dyn GuestObserver) -> Option<Accelerator> {
        if self.guest.time != GuestTime::Host {
            return Some(Accelerator::Tcg);
        }
        Some(match kvm.poll(&self.guest, &self.emulator, &self.kernel, OsStr::new(verbs.emulator))? {
            Ok(()) => Accelerator::Kvm,
            Err(why) => {
                observer.note(&format!(
                    "Without KVM, since {why}: the emulator translates the guest's instructions, on the host's clock."
                ));
                Accelerator::Tcg
            }
        })
    }

    fn start(self, accelerator: Accelerator, verbs: Verbs) -> Result<(Running, Lab), LabError> {
        let verb = OsString::from(verbs.emulator);
        let boot = Boot {
            guest: &self.guest,
            emulator: &self.emulator,
            accelerator,
            kernel: &self.kernel,
            device_tree: self.device_tree.as_deref(),
            initramfs: &self.initramfs,
            init_verb: verbs.init,
            emulator_verb: &verb,
            timeouts: self.timeouts,
        };
        let running = boot.start()?;
        let mut facts = self.facts;
        facts.accelerator = accelerator.name().to_owned();
        facts.qemu.command_line.clone_from(&running.command_line);
        Ok((running, facts))
    }
}
