// SPDX-License-Identifier: MIT OR Apache-2.0
//! A guest made ready: everything that it takes, found, read and checked before it starts.

use crate::board::{Accelerator, Board, Start};
use crate::emulator::Emulator;
use crate::error::LabError;
use crate::file_error::FileError;
use crate::hash::sha256;
use crate::initramfs::initramfs;
use crate::kernels::{self, KernelError};
use crate::modules::{self, Module};
use crate::order::{Order, Task};
use crate::plugin::Plugin;
use crate::program::Program;
use crate::snapshot::SnapshotKey;
use crate::target::Target;
use crate::timeouts::Timeouts;
use model::{Lab, LabFile, LabKernel, LabQemu};
use plan::GuestTime;
use std::cell::OnceCell;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

#[derive(Debug)]
pub(crate) struct Prepared {
    /// With the plugin and the device tree that it needs.
    pub target: Target,
    pub emulator: Emulator,
    /// Where its program came from, and its SHA-256, unless it is the pinned one.
    pub emulator_program: Option<String>,
    program: Vec<u8>,
    modules: Vec<Module>,
    pub task: Task,
    pub timeouts: Timeouts,
    /// Of what it is by the time of its snapshot, once that was asked for.
    pub snapshot_key: OnceCell<SnapshotKey>,
    /// What is put down about it.
    pub facts: Lab,
}

impl Prepared {
    /// Gathers everything `target` needs; `expected` is how long the task takes on the guest's
    /// clock.
    ///
    /// # Errors
    /// What is missing or does not fit.
    pub(crate) fn new(target: &Target, task: Task, expected: Duration) -> Result<Self, LabError> {
        let mut target = target.clone();
        let (guest, kernel) = (&target.guest, &target.kernel);
        let board = Board::for_machine(guest.machine);
        let image = kernels::image(kernel, guest.machine)?;
        let emulator = Emulator::find(guest.machine, &target.qemu)?;
        let emulator_program = emulator.program_if_not_pinned()?;
        if guest.has_turns() && target.plugin.is_none() {
            target.plugin = Some(Plugin::for_turns().ok_or(LabError::NoPlugin)?);
        }
        if guest.has_turns() {
            emulator.check_for_turns(guest.cpus)?;
        }
        if guest.time != GuestTime::Host && task.takes_hpet() {
            emulator.check_for_hpet()?;
        }
        let program = Program::find(guest.machine, target.program.as_deref())?;
        target.device_tree = device_tree(&target, board)?;
        let modules = kernel.modules.as_deref().map_or(Ok(Vec::new()), |path| {
            modules::needed(board.modules, path)
                .map_err(FileError::of("read the kernel's modules in", path))
        })?;
        let device_tree = target.device_tree.as_ref().map(|path| {
            let bytes = fs::read(path).map_err(FileError::of("read the device tree", path))?;
            Ok::<_, LabError>(LabFile { path: path.clone(), sha256: sha256(&bytes) })
        });
        let facts = Lab {
            guest: guest.clone(),
            ns_per_instruction: guest.ns_per_instruction(),
            deterministic: matches!(guest.time, GuestTime::Virtual { .. }),
            accelerator: String::new(),
            kernel: LabKernel {
                name: kernel.name.clone(),
                image: LabFile { path: kernel.image.clone(), sha256: sha256(&image) },
                modules: kernel.modules.clone(),
            },
            device_tree: device_tree.transpose()?,
            program: LabFile { path: program.path, sha256: sha256(&program.bytes) },
            modules: modules.iter().map(|module| module.name.clone()).collect(),
            initramfs_sha256: String::new(),
            snapshot: None,
            qemu: LabQemu {
                version: emulator.version.clone(),
                origin: emulator.origin,
                command_line: Vec::new(),
            },
            probe_left_open: task.leaves_probe_open(),
            default_cpus: task.default_cpus(),
            host_ms: 0,
        };
        let timeouts = Timeouts::new(target.boot_timeout, expected, guest);
        let program = program.bytes;
        let snapshot_key = OnceCell::new();
        Ok(Prepared {
            target,
            emulator,
            emulator_program,
            program,
            modules,
            task,
            timeouts,
            snapshot_key,
            facts,
        })
    }

    /// The guest's initramfs; without the task it is the same for every one.
    pub(crate) fn initramfs(&self, task: Option<&Task>) -> Vec<u8> {
        let guest = &self.target.guest;
        let order = Order {
            channel: Board::for_machine(guest.machine).channel.to_owned(),
            modules: self.facts.modules.clone(),
            turns: guest.has_turns().then_some(guest.cpus),
            task: task.cloned(),
        };
        initramfs(&self.program, &order, &self.modules, &self.target.files)
    }

    /// Of the snapshot that it continues, unless it is a guest that boots for each task.
    pub(crate) fn continued_key(&self, accelerator: Accelerator) -> Option<&SnapshotKey> {
        let guest = &self.target.guest;
        // Once: all that goes into the guest is hashed for it, and guests are looked at 20 times a
        // second.
        let key = || self.key(accelerator, &self.initramfs(None));
        let can_be_saved = Board::for_machine(guest.machine).can_be_saved(guest);
        can_be_saved.then(|| self.snapshot_key.get_or_init(key))
    }

    /// All that has a part in what the guest is by the time of its snapshot.
    fn key(&self, accelerator: Accelerator, initramfs: &[u8]) -> SnapshotKey {
        let board = Board::for_machine(self.target.guest.machine);
        // Files are known by their content.
        let tree = self.target.device_tree.as_ref().map(|_| Path::new("dtb"));
        let words = board
            .command_line(
                &self.target.guest,
                accelerator,
                Path::new("kernel"),
                tree,
                Start::FromSnapshot,
            )
            .join("\n");
        let tree = self.facts.device_tree.as_ref().map_or("", |file| &file.sha256);
        let initramfs = sha256(initramfs);
        let machine = [&words, &self.facts.kernel.image.sha256, tree, &initramfs];
        snapshot_key(&self.emulator.version, self.emulator_program.as_deref(), machine)
    }
}

/// Of a machine in an emulator: the pinned one is known by its version. Of any other its program is
/// told, with where it came from: what it says of its version may be another one's.
fn snapshot_key(version: &str, program: Option<&str>, machine: [&str; 4]) -> SnapshotKey {
    /// To be raised when a snapshot is made in another way.
    const FORMAT: &str = "1";
    let parts: Vec<&str> = [FORMAT, version].into_iter().chain(machine).chain(program).collect();
    SnapshotKey(sha256(parts.join("\n").as_bytes()))
}

/// The snapshot that such a guest continues; none where it boots for each task.
///
/// # Errors
/// What is missing or does not fit.
pub(crate) fn continued_key(target: &Target) -> Result<Option<SnapshotKey>, LabError> {
    // Its task comes after the snapshot.
    let task = Task::Execute { commands: Vec::new(), time: target.guest.time.into() };
    let prepared = Prepared::new(target, task, Duration::ZERO)?;
    // What can be saved counts instructions, for which there is no other.
    Ok(prepared.continued_key(Accelerator::Tcg).cloned())
}

/// The device tree that was named, or the one of the machine that comes with the kernel.
fn device_tree(target: &Target, board: &Board) -> Result<Option<PathBuf>, LabError> {
    let file = match (&target.device_tree, board.device_tree) {
        (Some(path), _) => {
            return Ok(Some(fs::canonicalize(path).unwrap_or_else(|_| path.clone())));
        }
        (None, None) => return Ok(None),
        (None, Some(file)) => file,
    };
    let found = target.kernel.device_trees.as_ref().map(|directory| directory.join(file));
    let (machine, name) = (target.guest.machine, target.kernel.name.clone());
    let found = found.filter(|path| path.is_file());
    Ok(Some(found.ok_or(KernelError::NoDeviceTree { machine, file, name })?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_snapshot_of_a_program_that_says_it_is_another_is_its_own() {
        let machine = ["-m\n512", "kernel", "", "initramfs"];
        let of = |program| snapshot_key("10.0.13", program, machine).0;
        let keys = [of(None), of(Some("system\n00")), of(Some("path\n00")), of(Some("path\n01"))];
        let different: std::collections::BTreeSet<_> = keys.iter().collect();
        assert_eq!(different.len(), keys.len());
        assert_eq!(
            keys[0],
            sha256(b"1\n10.0.13\n-m\n512\nkernel\n\ninitramfs"),
            "the pinned one's stay valid"
        );
    }
}
