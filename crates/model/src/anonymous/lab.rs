// SPDX-License-Identifier: MIT OR Apache-2.0
//! The emulated machine. Which files it was made of stays known by their hashes, and where they
//! were does not.

use super::words::{Vocabulary, is_plain};
use super::{Anonymiser, each};
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
    pub(super) fn lab(&self, lab: &mut Lab) {
        let Lab {
            guest: Guest { kernel_args, machine: _, memory_mib: _, cpus: _, time: _ },
            accelerator,
            kernel: LabKernel { name, image, modules: modules_in },
            device_tree,
            program,
            modules,
            initramfs_sha256,
            snapshot,
            qemu: LabQemu { version, command_line, origin: _ },
            ns_per_instruction: _,
            deterministic: _,
            probe_left_open: _,
            default_cpus: _,
            host_ms: _,
        } = lab;
        *kernel_args = self.kernel_arguments(kernel_args);
        *accelerator = self.ours("value", accelerator);
        *name = if name.starts_with("debian:") {
            self.whole("path", name)
        } else {
            self.name("path", name)
        };
        let files = [image, program].into_iter().chain(device_tree);
        let (paths, hashes): (Vec<_>, Vec<_>) =
            files.map(|LabFile { path, sha256 }| (path, sha256)).unzip();
        paths.into_iter().chain(modules_in).for_each(|path| self.path(path));
        each(modules, |module| self.ours("module", module));
        let saved =
            snapshot.iter_mut().flat_map(|LabSnapshot { key, task_sha256 }| [key, task_sha256]);
        each(hashes.into_iter().chain([initramfs_sha256]).chain(saved), |hash| self.hash(hash));
        *version = self.sentence(version);
        *command_line = self.emulator(command_line);
    }

    /// The hash of a file tells nothing to those who have not the file.
    fn hash(&self, hash: &str) -> String {
        if hash.chars().all(|digit| digit.is_ascii_hexdigit()) {
            hash.to_owned()
        } else {
            self.name("value", hash)
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
