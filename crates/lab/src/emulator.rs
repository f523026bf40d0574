// SPDX-License-Identifier: MIT OR Apache-2.0
//! QEMU as a process that cannot outlive the lab.
//!
//! The kernel kills a process when its parent ends only if the process itself has asked for that,
//! and QEMU cannot ask. So the lab starts this program once more under a hidden verb, whose body is
//! [`become_emulator`]: it asks, gives up what QEMU does not need, and then becomes QEMU.

use crate::board::{Board, COMPLAINTS};
use crate::confine::{Access, Confinement};
use crate::hash::sha256;
use crate::pinned::{self, PinnedError};
use crate::verbs::EMULATOR_VERB;
use model::QemuOrigin;
use plan::{Machine, Qemu};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, getppid, set_parent_process_death_signal};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Emulator {
    /// The words that start it: its program, and what is needed to have that one and no other.
    invocation: Vec<OsString>,
    /// What it says of itself.
    pub version: String,
    pub origin: QemuOrigin,
    /// Whether it can give up system calls that it does not need.
    pub(crate) has_sandbox: bool,
}

/// What QEMU gives up by itself as soon as it is set up: obsolete system calls, other users, new
/// programs, other priorities.
const SANDBOX: [&str; 2] =
    ["-sandbox", "on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny"];

/// Where a system has programs and libraries.
const SYSTEM: [&str; 9] = [
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/etc/ld.so.cache",
    "/etc/alternatives",
    "/nix/store",
];
/// Where a program that is not the system's has its libraries and firmware, beside itself or its
/// own folder.
const BESIDE_PROGRAM: [&str; 6] = ["share", "lib", "lib64", "libexec", "pc-bios", "qemu-bundle"];
/// Of the environment, what a program that is not ours may need to be loaded.
const ENVIRONMENT: [&str; 3] = ["PATH", "LD_LIBRARY_PATH", "LD_PRELOAD"];

/// The first version that boots several CPUs while it counts instructions.
const MIN_FOR_TURNS: u32 = 10;

/// The first version whose HPET may interrupt twice in each period where time is counted exactly:
/// 7.2's does not, 10.0's does.
const HPET_TWICE: u32 = 9;

/// Why no emulator was found.
#[derive(Debug, thiserror::Error)]
pub enum EmulatorError {
    /// Not installed.
    #[error(
        "{program} is not on this machine, and the lab emulates {machine} with it. On Debian: \
         sudo apt-get install {package}"
    )]
    Missing {
        /// QEMU's program.
        program: &'static str,
        machine: Machine,
        /// The package that has it.
        package: &'static str,
    },
    /// A program that was named, and is none.
    #[error("there is no QEMU {}: it is no file", .0.display())]
    NoFile(PathBuf),
    #[error(transparent)]
    Pinned(#[from] PinnedError),
    /// Neither the lab's own nor the system's.
    #[error(
        "{system}. The lab's own QEMU {version} cannot be had either: {why}",
        version = pinned::version(),
    )]
    Neither {
        /// Of the system's.
        system: Box<EmulatorError>,
        /// Of the lab's own.
        why: String,
    },
    /// Several CPUs in virtual time, and it is older than that.
    #[error(
        "{cpus} CPUs in virtual time need QEMU {MIN_FOR_TURNS} or later, and this is {version}, \
         in which a guest hangs when it starts its second CPU. To get the lab's own QEMU: teiji \
         lab fetch qemu"
    )]
    TooOldForTurns { cpus: u32, version: String },
    /// The HPET's interrupts, in virtual time, and it is newer than that.
    #[error(
        "the HPET of QEMU {version} interrupts twice in each period in virtual time: its \
         interrupts cannot be measured. Use --probe rtc, or --qemu with one before version \
         {HPET_TWICE}"
    )]
    HpetTwice { version: String },
    /// It does not run.
    #[error("{} does not run: {why}", path.display())]
    Broken {
        /// QEMU's program.
        path: PathBuf,
        why: String,
    },
}

impl Emulator {
    /// Finds the one that is meant, in the cache, on the search path or where it was said to be,
    /// and asks for its version.
    ///
    /// # Errors
    /// When it is not there or does not run.
    pub fn find(machine: Machine, qemu: &Qemu) -> Result<Self, EmulatorError> {
        let Board { emulator: program, package, .. } = *Board::for_machine(machine);
        let (invocation, origin) = match qemu {
            Qemu::Pinned => (pinned::invocation(machine, program)?, QemuOrigin::Pinned),
            Qemu::System => {
                let path = std::env::var_os("PATH").unwrap_or_default();
                let found = std::env::split_paths(&path)
                    .map(|directory| directory.join(program))
                    .find(|path| path.is_file());
                let path = found.ok_or(EmulatorError::Missing { program, machine, package })?;
                (vec![path.into()], QemuOrigin::System)
            }
            Qemu::Path(path) if path.is_file() => (vec![path.into()], QemuOrigin::Path),
            Qemu::Path(path) => return Err(EmulatorError::NoFile(path.clone())),
        };
        // A QEMU that was built without seccomp does not know the option.
        let with_sandbox = version_of(&invocation, origin, &SANDBOX);
        let has_sandbox = with_sandbox.is_ok();
        let version = with_sandbox.or_else(|_| version_of(&invocation, origin, &[]));
        let version = version
            .map_err(|why| EmulatorError::Broken { path: invocation[0].clone().into(), why })?;
        Ok(Emulator { invocation, version, origin, has_sandbox })
    }

    /// Whether it may be tried with several CPUs in virtual time; the guest then measures whether
    /// their turns are even.
    ///
    /// # Errors
    /// When it is too old.
    pub(crate) fn check_for_turns(&self, cpus: u32) -> Result<(), EmulatorError> {
        // A version that cannot be read may be a new one's.
        if self.major().is_some_and(|major| major < MIN_FOR_TURNS) {
            return Err(EmulatorError::TooOldForTurns { cpus, version: self.version.clone() });
        }
        Ok(())
    }

    /// Whether its HPET interrupts once in each period, in virtual time.
    ///
    /// # Errors
    /// When it does not.
    pub(crate) fn check_for_hpet(&self) -> Result<(), EmulatorError> {
        if self.major().is_none_or(|major| major >= HPET_TWICE) {
            return Err(EmulatorError::HpetTwice { version: self.version.clone() });
        }
        Ok(())
    }

    fn major(&self) -> Option<u32> {
        self.version.split('.').next()?.parse().ok()
    }

    /// Its command line, word by word.
    pub(crate) fn command_line(&self, words: &[String]) -> Vec<String> {
        let before = self.invocation.iter().map(|word| word.to_string_lossy().into_owned());
        before.chain(self.sandbox().map(str::to_owned)).chain(words.iter().cloned()).collect()
    }

    fn sandbox(&self) -> impl Iterator<Item = &'static str> {
        SANDBOX.into_iter().filter(|_| self.has_sandbox)
    }

    /// What it reads and runs of itself.
    fn files(&self) -> Vec<PathBuf> {
        let folder = |path: &Path| path.parent().map(Path::to_owned).unwrap_or_default();
        let program = Path::new(&self.invocation[0]);
        if self.origin == QemuOrigin::Pinned {
            // One by one: its folder may be for its owner only.
            let own = folder(&folder(program));
            let places = [own.clone(), own.join("lib"), own.join("share")];
            let entries =
                places.iter().flat_map(fs::read_dir).flatten().flatten().map(|entry| entry.path());
            return entries.filter(|path| path.is_file()).collect();
        }
        SYSTEM
            .iter()
            .map(PathBuf::from)
            .filter(|path| path.exists())
            .chain(files_of(program))
            .collect()
    }

    /// Where its program came from, and the SHA-256 of that; none of the pinned one, whose files
    /// are known.
    ///
    /// # Errors
    /// When it cannot be read.
    pub(crate) fn program_if_not_pinned(&self) -> Result<Option<String>, EmulatorError> {
        let origin = match self.origin {
            QemuOrigin::Pinned => return Ok(None),
            QemuOrigin::System => "system",
            QemuOrigin::Path => "path",
        };
        let broken = |error: io::Error| EmulatorError::Broken {
            path: self.path().to_owned(),
            why: error.to_string(),
        };
        Ok(Some(format!("{origin}\n{}", sha256(&fs::read(self.path()).map_err(broken)?))))
    }

    pub(crate) fn path(&self) -> &Path {
        Path::new(&self.invocation[0])
    }

    /// Starts it in this directory. To be called on a thread that outlives it, such as the main
    /// thread.
    ///
    /// # Errors
    /// When the program cannot be started anew.
    pub(crate) fn spawn(
        &self,
        words: &[String],
        directory: &Path,
        may: Confinement,
    ) -> io::Result<Child> {
        self.command(words, directory, may)?.spawn()
    }

    /// Starts it to be saved: with its standard input and output connected to us, for its monitor,
    /// and on a single one of the host's CPUs.
    ///
    /// A guest that stops itself asks QEMU's main loop to stop the machine, and then its CPU's
    /// thread stops. Where that thread comes first, the main loop sees a machine that runs and has
    /// nothing to do, and skips to the next timer. On the same CPU it runs as soon as it is asked.
    ///
    /// # Errors
    /// When the program cannot be started anew.
    pub(crate) fn spawn_to_be_saved(
        &self,
        words: &[String],
        directory: &Path,
        may: Confinement,
    ) -> io::Result<Child> {
        let child = self
            .command(words, directory, may)?
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        // Without, it takes more trials.
        let _ = keep_on_one_cpu(Pid::from_child(&child));
        Ok(child)
    }

    fn command(
        &self,
        words: &[String],
        directory: &Path,
        mut may: Confinement,
    ) -> io::Result<Command> {
        self.files().into_iter().for_each(|path| may.allow(Access::Run, path));
        let mut command = Command::new("/proc/self/exe");
        in_its_environment(&mut command, self.origin)
            .arg(EMULATOR_VERB)
            .arg(std::process::id().to_string())
            .args(may.words())
            .args(&self.invocation)
            .args(self.sandbox())
            .args(words)
            .current_dir(directory)
            // Ctrl-C is for the lab, which ends its guests in good order.
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(File::create(directory.join(COMPLAINTS))?);
        Ok(command)
    }
}

/// What a program that was named is made of: it may lie anywhere, as in a home folder, and what
/// else is there stays closed.
fn files_of(program: &Path) -> Vec<PathBuf> {
    let real = fs::canonicalize(program).unwrap_or_else(|_| program.to_owned());
    let folders: Vec<&Path> = [program, &real].into_iter().filter_map(Path::parent).collect();
    let entries = folders.iter().flat_map(fs::read_dir).flatten().flatten();
    let is_library = |path: &Path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.ends_with(".so") || name.contains(".so.")
    };
    let libraries =
        entries.map(|entry| entry.path()).filter(|path| path.is_file() && is_library(path));
    let places = real.parent().into_iter().chain(real.parent().and_then(Path::parent));
    let beside = places
        .flat_map(|place| BESIDE_PROGRAM.map(|name| place.join(name)))
        .filter(|path| path.is_dir());
    let mut files: Vec<PathBuf> =
        [program.to_owned(), real.clone()].into_iter().chain(libraries).chain(beside).collect();
    files.sort_unstable();
    files.dedup();
    files
}

/// What a QEMU says of its version, with these words; an error says why it does not, as a
/// sentence's end.
fn version_of(
    invocation: &[OsString],
    origin: QemuOrigin,
    words: &[&str],
) -> Result<String, String> {
    let mut command = Command::new(&invocation[0]);
    let output = in_its_environment(&mut command, origin)
        .args(&invocation[1..])
        .args(words)
        .arg("--version")
        .output();
    let output = output.map_err(|error| error.to_string())?;
    let printed = String::from_utf8_lossy(&output.stdout);
    let version = printed
        .lines()
        .next()
        .and_then(|line| line.split_once("version "))
        .map(|(_, version)| version.trim().to_owned());
    version
        .filter(|_| output.status.success())
        .ok_or_else(|| format!("its --version ended with {}", output.status))
}

/// Has this process run on one of the CPUs that this program may use, another one each time.
fn keep_on_one_cpu(process: Pid) -> Result<(), Errno> {
    static STARTED: AtomicUsize = AtomicUsize::new(0);
    let allowed = sched_getaffinity(None)?;
    let cpus: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|cpu| allowed.is_set(*cpu)).collect();
    let Some(cpu) = cpus.get(STARTED.fetch_add(1, Ordering::Relaxed) % cpus.len().max(1)) else {
        return Ok(());
    };
    let mut one = CpuSet::new();
    one.set(*cpu);
    sched_setaffinity(Some(process), &one)
}

/// Libraries that the user has loaded into each program are for those of the system.
fn in_its_environment(command: &mut Command, origin: QemuOrigin) -> &mut Command {
    if origin == QemuOrigin::Pinned { command.env_remove("LD_PRELOAD") } else { command }
}

/// The end of a file that something may have made as large as it could.
pub(crate) fn read_end(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    file.seek(SeekFrom::Start(file.metadata()?.len().saturating_sub(most)))?;
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The last line QEMU complained with.
pub(crate) fn complaints(directory: &Path) -> String {
    const LAST: u64 = 64 << 10;
    let printed = read_end(&directory.join(COMPLAINTS), LAST).unwrap_or_default();
    let printed = String::from_utf8_lossy(&printed);
    printed
        .lines()
        .map(str::trim)
        .rfind(|line| !line.is_empty())
        .unwrap_or("it printed nothing")
        .to_owned()
}

/// Kills and waits. QEMU owns nothing that would want an orderly end: its disk is memory.
pub(crate) fn end(child: &mut Child) {
    let _ = child.kill();
    let _ = child.wait();
}

/// The body of the hidden verb: `words` are the process id of the parent, what QEMU may do, QEMU's
/// program and its arguments. Returns only if QEMU cannot be started.
pub fn become_emulator(words: &[OsString]) -> io::Error {
    let parsed = words
        .split_first()
        .and_then(|(parent, words)| Some((parent, Confinement::from_words(words)?)));
    let Some((expected_parent, (may, [program, arguments @ ..]))) = parsed else {
        return io::Error::other("this verb is for the program itself");
    };
    // Another user, or another namespace, forgets who is to end with whom: it is asked for
    // afterwards.
    let ready = may.enter().and_then(|()| Ok(set_parent_process_death_signal(Some(Signal::KILL))?));
    if let Err(error) = ready {
        return error;
    }
    // The parent may have ended before it was asked for.
    let parent = getppid().map(|pid| pid.as_raw_nonzero().to_string());
    if parent.as_deref().map(OsStr::new) != Some(expected_parent) {
        return io::Error::other("its parent is gone");
    }
    let kept = ENVIRONMENT.into_iter().filter_map(|name| Some((name, std::env::var_os(name)?)));
    Command::new(program).args(arguments).env_clear().envs(kept).exec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_to_be_saved_has_one_cpu() {
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        let process = Pid::from_child(&child);
        let kept = keep_on_one_cpu(process);
        let allowed = sched_getaffinity(Some(process));
        end(&mut child);
        assert_eq!((kept, allowed.map(|allowed| allowed.count())), (Ok(()), Ok(1)));
    }

    #[test]
    fn a_program_in_a_home_folder_does_not_open_it() {
        let place = tempfile::tempdir().unwrap();
        let home = fs::canonicalize(place.path()).unwrap();
        for folder in ["lib", "pc-bios", "documents", "bin"] {
            fs::create_dir(home.join(folder)).unwrap();
        }
        for file in ["qemu", "libslirp.so.0", "notes.some", "secret"] {
            fs::write(home.join(file), "").unwrap();
        }
        let named = |names: &[&str]| names.iter().map(|name| home.join(name)).collect::<Vec<_>>();
        assert_eq!(
            files_of(&home.join("qemu")),
            named(&["lib", "libslirp.so.0", "pc-bios", "qemu"])
        );
        std::os::unix::fs::symlink("../qemu", home.join("bin/qemu")).unwrap();
        assert_eq!(
            files_of(&home.join("bin/qemu")),
            named(&["bin/qemu", "lib", "libslirp.so.0", "pc-bios", "qemu"])
        );
    }

    #[test]
    fn of_complaints_without_end_the_last_is_shown() {
        let place = tempfile::tempdir().unwrap();
        let file = File::create(place.path().join(COMPLAINTS)).unwrap();
        file.set_len(4 << 30).unwrap();
        let mut file = file;
        file.seek(SeekFrom::End(0)).unwrap();
        io::Write::write_all(&mut file, b"\nqemu: no memory\n").unwrap();
        assert_eq!(read_end(&place.path().join(COMPLAINTS), 64 << 10).unwrap().len(), 64 << 10);
        assert_eq!(complaints(place.path()), "qemu: no memory");
    }
}
