// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the lab adds to `run.json`: the emulated machine, and everything needed to have the same
//! run once more.

use plan::Guest;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// A run in the lab: which kernel, on which emulated machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lab {
    pub guest: Guest,
    /// What one instruction took, ns; null where the host's clock drove the guest.
    pub ns_per_instruction: Option<u64>,
    /// Whether the same run has to give the same samples, bit by bit.
    pub deterministic: bool,
    /// What executed the guest's instructions: `tcg`, which translates them, or `kvm`.
    pub accelerator: String,
    pub kernel: LabKernel,
    /// The device tree given to the kernel; null where the machine brings its own.
    pub device_tree: Option<LabFile>,
    /// The teiji that measured.
    pub program: LabFile,
    /// Modules loaded before the run, in order.
    pub modules: Vec<String>,
    pub initramfs_sha256: String,
    /// What the run continued; null where the guest booted for it.
    #[serde(default)]
    pub snapshot: Option<LabSnapshot>,
    pub qemu: LabQemu,
    /// Whether the guest looked for a co-kernel to choose the probe, because none was named and
    /// its kernel might have one.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub probe_left_open: bool,
    /// Set if no CPUs were named, where there are several: the guest took its default ones.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub default_cpus: Option<DefaultCpus>,
    /// From the start of QEMU to the end of the transfer, on the host's clock, ms.
    pub host_ms: u64,
}

/// The default CPUs: those on which the guest's first process runs, as anywhere else. Isolated ones
/// are not among them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DefaultCpus {
    /// How many threads take turns on them; none: one on each.
    pub threads: Option<usize>,
}

/// A booted guest that was saved, from which runs continue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LabSnapshot {
    /// SHA-256 of all that had gone into the guest when it was saved, hexadecimal.
    pub key: String,
    /// SHA-256 of what it was then told to do, which is not in its initramfs.
    pub task_sha256: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LabKernel {
    /// What it is called: `debian:amd64=6.1.0-56`, or the path of its image.
    pub name: String,
    pub image: LabFile,
    /// Where its modules were looked for.
    pub modules: Option<PathBuf>,
}

/// A file, known again by its content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LabFile {
    pub path: PathBuf,
    /// SHA-256 of its content, hexadecimal.
    pub sha256: String,
}

/// Where an emulator came from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum QemuOrigin {
    /// The lab's own, the same everywhere.
    Pinned,
    /// It was installed. So were those of recordings that do not tell.
    #[default]
    System,
    Path,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LabQemu {
    /// What it says of itself.
    pub version: String,
    #[serde(default)]
    pub origin: QemuOrigin,
    /// Its command line, word by word, in a directory that holds `initramfs` and takes `console`
    /// and `results`.
    pub command_line: Vec<String>,
}

impl LabQemu {
    /// The words of its command line that make the machine, without those that say where its
    /// program is, and the lab's own also its loader, its libraries and its firmware: `LOADER
    /// ... PROGRAM -L FIRMWARE`.
    pub fn machine(&self) -> &[String] {
        let place = match self.origin {
            QemuOrigin::Pinned => self
                .command_line
                .iter()
                .position(|word| word == "-L")
                .map_or(0, |before| before + 2),
            QemuOrigin::System | QemuOrigin::Path => 1,
        };
        self.command_line.get(place..).unwrap_or_default()
    }
}
