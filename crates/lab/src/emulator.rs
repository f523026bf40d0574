// SPDX-License-Identifier: MIT OR Apache-2.0
//! QEMU as a process that cannot outlive the lab.
//!
//! The kernel kills a process when its parent ends only if the process itself has asked for that, and QEMU cannot ask. So the
//! lab starts this program once more under a hidden verb, whose body is [`become_emulator`]: it asks, and then becomes QEMU.

use crate::board::{Board, COMPLAINTS};
use plan::{Guest, Machine};
use rustix::process::{Signal, getppid, set_parent_process_death_signal};
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long KVM may take to show that it carries out a kernel. Where it works, that takes a second or two.
const KVM_PATIENCE: Duration = Duration::from_secs(10);
/// QEMU for one machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Emulator {
    /// Its program.
    pub path: PathBuf,
    /// What it says of itself.
    pub version: String,
}

/// Why there is no emulator.
#[derive(Debug, thiserror::Error)]
pub enum EmulatorError {
    /// Not installed.
    #[error(
        "{program} is not on this machine, and the lab emulates {machine} with it; on Debian: sudo apt-get install {package}"
    )]
    Missing {
        /// QEMU's program.
        program: &'static str,
        /// The machine asked for.
        machine: Machine,
        /// The package that has it.
        package: &'static str,
    },
    /// It does not run.
    #[error("{} does not run: {why}", path.display())]
    Broken {
        /// QEMU's program.
        path: PathBuf,
        /// What came of it.
        why: String,
    },
}

impl Emulator {
    /// Finds it on the search path and asks for its version.
    ///
    /// # Errors
    /// When it is not there or does not run.
    pub fn find(machine: Machine) -> Result<Self, EmulatorError> {
        let Board { emulator: program, package, .. } = *Board::of(machine);
        let path = std::env::var_os("PATH").unwrap_or_default();
        let found = std::env::split_paths(&path).map(|directory| directory.join(program)).find(|path| path.is_file());
        let path = found.ok_or(EmulatorError::Missing { program, machine, package })?;
        let broken = |why: String| EmulatorError::Broken { path: path.clone(), why };
        let output = Command::new(&path).arg("--version").output().map_err(|error| broken(error.to_string()))?;
        let said = String::from_utf8_lossy(&output.stdout);
        let version =
            said.lines().next().and_then(|line| line.split_once("version ")).map(|(_, version)| version.trim().to_owned());
        let version = version.filter(|_| output.status.success());
        let version = version.ok_or_else(|| broken(format!("asked for its version, it ended with {}", output.status)))?;
        Ok(Emulator { path, version })
    }

    /// Whether KVM carries out this kernel on this host; an error says why not. There are device files that open and then hang,
    /// and some that carry out the firmware and no kernel. So it is tried out, for at most ten seconds, once for each kernel.
    ///
    /// # Errors
    /// Why it cannot be used, as a sentence's end.
    pub(crate) fn kvm(&self, guest: &Guest, kernel: &Path, verb: &OsStr) -> Result<(), String> {
        static TRIED: Mutex<BTreeMap<PathBuf, Result<(), String>>> = Mutex::new(BTreeMap::new());
        if guest.machine != Machine::X86_64 || std::env::consts::ARCH != "x86_64" {
            return Err(format!("a guest of {} cannot use it on {}", guest.machine, std::env::consts::ARCH));
        }
        let mut tried = TRIED.lock().unwrap_or_else(PoisonError::into_inner);
        tried.entry(kernel.to_owned()).or_insert_with(|| self.try_kvm(guest, kernel, verb)).clone()
    }

    /// Boots the kernel with nothing to go on with, until it panics for want of that, which ends QEMU.
    fn try_kvm(&self, guest: &Guest, kernel: &Path, verb: &OsStr) -> Result<(), String> {
        File::options().read(true).write(true).open("/dev/kvm").map_err(|error| format!("/dev/kvm: {error}"))?;
        let place = tempfile::tempdir().map_err(|error| error.to_string())?;
        let (cpus, memory) = (guest.cpus.to_string(), guest.memory_mib.to_string());
        let kernel = kernel.display().to_string();
        let words = ["-nodefaults", "-no-user-config", "-display", "none", "-no-reboot", "-accel", "kvm", "-cpu", "host"];
        let machine = ["-smp", &cpus, "-m", &memory, "-serial", "file:console"];
        let boot = ["-kernel", &kernel, "-append", "console=ttyS0 panic=-1"];
        let words: Vec<String> = words.into_iter().chain(machine).chain(boot).map(str::to_owned).collect();
        let mut child = self.spawn(&words, place.path(), verb).map_err(|error| error.to_string())?;
        let said = || fs::metadata(place.path().join("console")).is_ok_and(|file| file.len() > 0);
        let deadline = Instant::now() + KVM_PATIENCE;
        let result = loop {
            match child.try_wait() {
                Ok(Some(status)) if status.success() && said() => break Ok(()),
                Ok(Some(status)) => break Err(format!("QEMU ended with {status}: {}", complaints(place.path()))),
                _ if Instant::now() > deadline => {
                    let seconds = KVM_PATIENCE.as_secs();
                    break Err(format!("/dev/kvm opens, but the kernel did not get through its boot in {seconds} s"));
                }
                _ => std::thread::sleep(Duration::from_millis(20)),
            }
        };
        end(&mut child);
        result
    }

    /// Starts it in this directory. To be called on a thread that outlives it, such as the main thread.
    ///
    /// # Errors
    /// When the program cannot be started anew.
    pub(crate) fn spawn(&self, words: &[String], directory: &Path, verb: &OsStr) -> io::Result<Child> {
        Command::new("/proc/self/exe")
            .arg(verb)
            .arg(std::process::id().to_string())
            .arg(&self.path)
            .args(words)
            .current_dir(directory)
            // Ctrl-C is for the lab, which ends its guests in good order.
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(File::create(directory.join(COMPLAINTS))?)
            .spawn()
    }
}

/// The last line QEMU complained with.
pub(crate) fn complaints(directory: &Path) -> String {
    let said = fs::read_to_string(directory.join(COMPLAINTS)).unwrap_or_default();
    said.lines().map(str::trim).rfind(|line| !line.is_empty()).unwrap_or("it said nothing").to_owned()
}

/// Kills and waits. QEMU owns nothing that would want an orderly end: its disk is memory.
pub(crate) fn end(child: &mut Child) {
    let _ = child.kill();
    let _ = child.wait();
}

/// The body of the hidden verb: `words` are the process id of the owner, QEMU's program and its arguments. Returns only if
/// QEMU cannot be started.
#[must_use]
pub fn become_emulator(words: &[OsString]) -> io::Error {
    let [owner, program, arguments @ ..] = words else {
        return io::Error::other("this verb is for the program itself");
    };
    if let Err(error) = set_parent_process_death_signal(Some(Signal::KILL)) {
        return error.into();
    }
    // The owner may have ended before it was asked for.
    let parent = getppid().map(|pid| pid.as_raw_nonzero().to_string());
    if parent.as_deref().map(OsStr::new) != Some(owner) {
        return io::Error::other("its owner is gone");
    }
    Command::new(program).args(arguments).exec()
}
