// SPDX-License-Identifier: MIT OR Apache-2.0
//! The emulated machine. Which files it was made of stays known by their hashes, and where they
//! were does not.

use super::Anonymiser;
use super::words::{Vocabulary, is_plain};
use crate::{Lab, LabFile, LabKernel, LabQemu, LabSnapshot};
use plan::Guest;
use std::path::PathBuf;

/// Options of QEMU before a path, and what is no path of the user's.
const BEFORE_PATHS: [&str; 4] = ["-kernel", "-dtb", "-initrd", "-L"];
const OF_THE_LAB: &str = "initramfs";

/// The paths that a lab names.
pub(super) fn paths(lab: &Lab) -> Vec<PathBuf> {
    let files = [Some(&lab.kernel.image), lab.device_tree.as_ref(), Some(&lab.program)];
    let mut paths: Vec<PathBuf> =
        files.into_iter().flatten().map(|file| file.path.clone()).collect();
    paths.extend(lab.kernel.modules.clone());
    paths
}

/// The command lines of its kernel.
pub(super) fn kernel_lines(lab: &Lab) -> impl Iterator<Item = &str> {
    let appended = lab
        .qemu
        .command_line
        .windows(2)
        .filter(|pair| pair[0] == "-append")
        .map(|pair| pair[1].as_str());
    appended.chain([lab.guest.kernel_args.as_str()])
}

impl Anonymiser<'_> {
    pub(super) fn lab(&self, lab: Lab) -> Lab {
        let Lab {
            guest,
            ns_per_instruction,
            deterministic,
            accelerator,
            kernel,
            device_tree,
            program,
            modules,
            initramfs_sha256,
            snapshot,
            qemu,
            probe_left_open,
            default_cpus,
            host_ms,
        } = lab;
        let LabKernel { name, image, modules: modules_in } = kernel;
        let saved = |LabSnapshot { key, task_sha256 }| LabSnapshot {
            key: self.hash(key),
            task_sha256: self.hash(task_sha256),
        };
        let is_of_debian = name.starts_with("debian:");
        let LabQemu { version, origin, command_line } = qemu;
        Lab {
            guest: self.guest(guest),
            ns_per_instruction,
            deterministic,
            accelerator: self.ours("value", &accelerator),
            kernel: LabKernel {
                name: if is_of_debian {
                    self.whole("path", &name)
                } else {
                    self.name("path", &name)
                },
                image: self.file(image),
                modules: modules_in.map(|path| self.path(&path)),
            },
            device_tree: device_tree.map(|file| self.file(file)),
            program: self.file(program),
            modules: modules.iter().map(|module| self.ours("module", module)).collect(),
            initramfs_sha256: self.hash(initramfs_sha256),
            snapshot: snapshot.map(saved),
            qemu: LabQemu {
                version: self.sentence(&version),
                origin,
                command_line: self.emulator(&command_line),
            },
            probe_left_open,
            default_cpus,
            host_ms,
        }
    }

    fn guest(&self, Guest { machine, memory_mib, cpus, time, kernel_args }: Guest) -> Guest {
        Guest { machine, memory_mib, cpus, time, kernel_args: self.kernel_arguments(&kernel_args) }
    }

    fn file(&self, LabFile { path, sha256 }: LabFile) -> LabFile {
        LabFile { path: self.path(&path), sha256: self.hash(sha256) }
    }

    /// The hash of a file tells nothing to those who have not the file.
    fn hash(&self, hash: String) -> String {
        if hash.chars().all(|digit| digit.is_ascii_hexdigit()) {
            hash
        } else {
            self.name("value", &hash)
        }
    }

    fn emulator(&self, words: &[String]) -> Vec<String> {
        let mut before = "";
        let mut out = Vec::with_capacity(words.len());
        for (place, word) in words.iter().enumerate() {
            out.push(match before {
                _ if place == 0 => self.name("path", word),
                "-append" => self.kernel_arguments(word),
                before if BEFORE_PATHS.contains(&before) && word != OF_THE_LAB => {
                    self.name("path", word)
                }
                _ if self.secret(word).is_none() && is_plain(word, Vocabulary::Terms) => {
                    word.clone()
                }
                _ => self.name(if word.contains('/') { "path" } else { "value" }, word),
            });
            before = word;
        }
        out
    }
}
