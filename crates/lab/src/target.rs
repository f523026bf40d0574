// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is to run, and where.

use crate::kernels::Kernel;
use crate::plugin::Plugin;
use model::DefaultCpus;
use plan::{Guest, Qemu, Run};
use std::path::PathBuf;
use std::time::Duration;

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
