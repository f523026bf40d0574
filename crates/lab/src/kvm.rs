// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whether KVM runs a kernel on this host.
//!
//! There are device files that open and then hang, and some that run the firmware and no kernel. So
//! it is tried, once for each kernel, in a process of its own that is looked at now and then: other
//! guests and Ctrl-C do not wait for it.

use crate::confine::{Access, Confinement};
use crate::emulator::{Emulator, complaints, end};
use plan::{Guest, Machine};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Child;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use system::ScratchFolder;

/// How long KVM may take to show that it runs a kernel. Where it works, that takes a second or two.
const KVM_TIMEOUT: Duration = Duration::from_secs(10);

/// Trials under way, by kernel. Dropped, they end.
#[derive(Debug, Default)]
pub(crate) struct KvmTrials(BTreeMap<PathBuf, Trial>);

/// A kernel that KVM is to boot.
#[derive(Debug)]
struct Trial {
    child: Child,
    folder: ScratchFolder,
    deadline: Instant,
}

impl KvmTrials {
    /// Whether KVM runs this kernel: none as long as that is not known. To be asked again and
    /// again; the first time begins the trial. An error says why it cannot be used, as a
    /// sentence's end.
    pub(crate) fn poll(
        &mut self,
        guest: &Guest,
        emulator: &Emulator,
        kernel: &Path,
    ) -> Option<Result<(), String>> {
        static TRIED: Mutex<BTreeMap<PathBuf, Result<(), String>>> = Mutex::new(BTreeMap::new());
        if guest.machine != Machine::X86_64 || std::env::consts::ARCH != "x86_64" {
            return Some(Err(format!(
                "a guest of {} cannot use it on {}",
                guest.machine,
                std::env::consts::ARCH
            )));
        }
        let mut tried = TRIED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = tried.get(kernel) {
            return Some(known.clone());
        }
        let result = match self.0.get_mut(kernel) {
            Some(trial) => trial.poll()?,
            None => match Trial::begin(guest, emulator, kernel) {
                Ok(trial) => {
                    self.0.insert(kernel.to_owned(), trial);
                    return None;
                }
                Err(why) => Err(why),
            },
        };
        self.0.remove(kernel);
        tried.insert(kernel.to_owned(), result.clone());
        Some(result)
    }
}

impl Trial {
    /// Boots the kernel with nothing to go on with, until it panics for want of that, which ends
    /// QEMU.
    fn begin(guest: &Guest, emulator: &Emulator, kernel: &Path) -> Result<Self, String> {
        File::options()
            .read(true)
            .write(true)
            .open("/dev/kvm")
            .map_err(|error| format!("/dev/kvm: {error}"))?;
        let folder = ScratchFolder::new().map_err(|error| error.to_string())?;
        let (cpus, memory) = (guest.cpus.to_string(), guest.memory_mib.to_string());
        let console =
            fs::canonicalize(folder.path()).map_err(|error| error.to_string())?.join("console");
        File::create(&console).map_err(|error| error.to_string())?;
        let mut may = Confinement::new(guest.memory_mib, false, true);
        may.allow(Access::Read, kernel);
        may.allow(Access::Write, console);
        let kernel = kernel.display().to_string();
        let words = [
            "-nodefaults",
            "-no-user-config",
            "-display",
            "none",
            "-no-reboot",
            "-accel",
            "kvm",
            "-cpu",
            "host",
        ];
        let machine = ["-smp", &cpus, "-m", &memory, "-serial", "file:console"];
        let boot = ["-kernel", &kernel, "-append", "console=ttyS0 panic=-1"];
        let words: Vec<String> =
            words.into_iter().chain(machine).chain(boot).map(str::to_owned).collect();
        let child =
            emulator.spawn(&words, folder.path(), may).map_err(|error| error.to_string())?;
        Ok(Trial { child, folder, deadline: Instant::now() + KVM_TIMEOUT })
    }

    fn poll(&mut self) -> Option<Result<(), String>> {
        let folder = self.folder.path();
        let printed = || fs::metadata(folder.join("console")).is_ok_and(|file| file.len() > 0);
        match self.child.try_wait() {
            Ok(Some(status)) if status.success() && printed() => Some(Ok(())),
            Ok(Some(status)) => {
                Some(Err(format!("QEMU ended with {status}: {}", complaints(folder))))
            }
            _ if Instant::now() > self.deadline => {
                let seconds = KVM_TIMEOUT.as_secs();
                Some(Err(format!(
                    "/dev/kvm opens, but the kernel did not get through its boot in {seconds} s"
                )))
            }
            _ => None,
        }
    }
}

impl Drop for Trial {
    fn drop(&mut self) {
        end(&mut self.child);
    }
}
