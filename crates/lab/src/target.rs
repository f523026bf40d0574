// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is to run, and where.

use crate::emulator::Emulator;
use crate::error::LabError;
use crate::kernels::{self, Kernel};
use crate::plugin::Plugin;
use crate::program::Program;
use model::{DefaultCpus, Lab, Recorded};
use plan::{AUTO_PROBE, Guest, Qemu, Run};
use std::path::PathBuf;
use std::time::Duration;

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

impl Target {
    /// Whether its kernel can be booted, and its QEMU and the program for it are there. So that
    /// what is wrong is said before anything begins.
    ///
    /// # Errors
    /// What is missing or does not fit.
    pub fn check(&self) -> Result<(), LabError> {
        let machine = self.guest.machine;
        kernels::image(&self.kernel, machine)?;
        Emulator::find(machine, &self.qemu)?;
        Program::find(machine, self.program.as_deref())?;
        Ok(())
    }
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

impl LabRun {
    /// The run of a recording once more.
    pub fn again(recorded: &Recorded, facts: &Lab, target: Target, directory: PathBuf) -> Self {
        let mut run = recorded.document.run.clone();
        if facts.probe_left_open {
            // To look for a co-kernel takes instructions.
            AUTO_PROBE.clone_into(&mut run.probe);
        }
        LabRun {
            run,
            default_cpus: facts.default_cpus,
            target,
            directory,
            name: recorded.name(),
            command_line: recorded.document.command_line.clone(),
        }
    }
}
