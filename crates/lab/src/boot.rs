// SPDX-License-Identifier: MIT OR Apache-2.0
//! Starts a guest: its files, its emulator, and what that may do.

use crate::board::{Accelerator, Board, CONSOLE, DISK, INITRAMFS, RESULTS, Start, TASK};
use crate::boot_error::BootError;
use crate::confine::{Access, Confinement};
use crate::file_error::FileError;
use crate::monitor::Monitor;
use crate::plugin::{self, Plugin};
use crate::prepared::Prepared;
use crate::qcow2;
use crate::running::{Process, Running};
use crate::snapshot::Snapshot;
use crate::target::Target;
use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::process::Child;
use system::ScratchFolder;

/// What is to be booted, or continued.
#[derive(Debug)]
pub(crate) struct Boot<'a> {
    pub prepared: &'a Prepared,
    pub accelerator: Accelerator,
    pub initramfs: &'a [u8],
    pub begin: Begin<'a>,
}

/// How a guest comes to its task; as [`Start`], with what it takes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Begin<'a> {
    Boot,
    /// It is to be saved first.
    UntilSnapshot,
    /// From this snapshot, with this task.
    FromSnapshot(&'a Snapshot, &'a [u8]),
}

impl Begin<'_> {
    const fn start(&self) -> Start {
        match self {
            Begin::Boot => Start::Boot,
            Begin::UntilSnapshot => Start::UntilSnapshot,
            Begin::FromSnapshot(..) => Start::FromSnapshot,
        }
    }
}

impl Boot<'_> {
    pub(crate) fn start(&self) -> Result<Running, BootError> {
        let scratch = ScratchFolder::new()
            .map_err(FileError::of("make a folder in", &std::env::temp_dir()))?;
        // As the emulator's process will see it.
        let directory = fs::canonicalize(scratch.path());
        let directory = &directory.map_err(FileError::of("find", scratch.path()))?;
        // What is saved is the same with and without it.
        let Prepared { target, emulator, timeouts, .. } = self.prepared;
        let plugin = target.plugin.as_ref().filter(|_| self.begin.start() != Start::UntilSnapshot);
        self.write_files(directory, plugin)?;
        let words = self.words(plugin);
        let may = self.confinement(directory, plugin);
        let file_bytes = may.file_bytes;
        // The emulator makes no file: it writes into those that are there.
        let written = may.paths.iter().filter(|(access, _)| *access == Access::Write);
        for (_, path) in written.filter(|(_, path)| !path.exists()) {
            File::create(path).map_err(FileError::of("write", path))?;
        }
        let (child, monitor) =
            self.spawn(&words, directory, may).map_err(FileError::of("start", emulator.path()))?;
        let process = Process {
            directory: scratch,
            child,
            monitor,
            file_bytes,
            command_line: emulator.command_line(&words),
            timeouts: *timeouts,
            has_plugin: plugin.is_some(),
            records: plugin.is_some_and(|plugin| plugin.records),
        };
        Ok(match self.begin {
            Begin::FromSnapshot(snapshot, _) => Running::continued(process, &snapshot.console),
            Begin::Boot | Begin::UntilSnapshot => Running::booting(process),
        })
    }

    fn write_files(&self, directory: &Path, plugin: Option<&Plugin>) -> Result<(), FileError> {
        let write = |name: &str, bytes: &[u8]| {
            let path = directory.join(name);
            fs::write(&path, bytes).map_err(FileError::of("write", &path))
        };
        write(INITRAMFS, self.initramfs)?;
        match self.begin {
            Begin::Boot => {}
            Begin::UntilSnapshot => {
                write(TASK, b"")?;
                write(DISK, &qcow2::empty())?;
            }
            Begin::FromSnapshot(snapshot, task) => {
                write(TASK, task)?;
                let disk = directory.join(DISK);
                let doing = "copy the snapshot of the booted guest to";
                snapshot.copy_disk(&disk).map_err(FileError::of(doing, &disk))?;
            }
        }
        let files = plugin.into_iter().flat_map(Plugin::files);
        files.into_iter().try_for_each(|(name, content)| write(name, content))
    }

    fn words(&self, plugin: Option<&Plugin>) -> Vec<String> {
        let Target { guest, kernel, device_tree, .. } = &self.prepared.target;
        let mut words = Board::for_machine(guest.machine).command_line(
            guest,
            self.accelerator,
            &kernel.image,
            device_tree.as_deref(),
            self.begin.start(),
        );
        words.extend(plugin.into_iter().flat_map(|plugin| plugin.arguments(guest.cpus)));
        words
    }

    fn spawn(
        &self,
        words: &[String],
        directory: &Path,
        may: Confinement,
    ) -> io::Result<(Child, Option<Monitor>)> {
        let emulator = &self.prepared.emulator;
        if self.begin.start() != Start::UntilSnapshot {
            return Ok((emulator.spawn(words, directory, may)?, None));
        }
        let mut child = emulator.spawn_to_be_saved(words, directory, may)?;
        let monitor = Monitor::connect(&mut child)?;
        Ok((child, Some(monitor)))
    }

    /// What the emulator may do, beside what it needs for itself.
    fn confinement(&self, directory: &Path, plugin: Option<&Plugin>) -> Confinement {
        let records = plugin.is_some_and(|plugin| plugin.records);
        let Target { guest, kernel, device_tree, .. } = &self.prepared.target;
        let mut may =
            Confinement::new(guest.memory_mib, records, self.accelerator == Accelerator::Kvm);
        may.allow(Access::Read, &kernel.image);
        if let Some(tree) = device_tree {
            may.allow(Access::Read, tree);
        }
        let start = self.begin.start();
        let task = (start != Start::Boot).then_some(TASK);
        let read = [INITRAMFS]
            .into_iter()
            .chain(task)
            .chain(plugin.into_iter().flat_map(Plugin::files).map(|(name, _)| name));
        read.for_each(|name| may.allow(Access::Read, directory.join(name)));
        let disk = (start != Start::Boot).then_some(DISK);
        let written =
            [CONSOLE, RESULTS].into_iter().chain(disk).chain(records.then_some(plugin::OUTPUT));
        written.for_each(|name| may.allow(Access::Write, directory.join(name)));
        may
    }
}
