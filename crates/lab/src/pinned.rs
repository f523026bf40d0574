// SPDX-License-Identifier: MIT OR Apache-2.0
//! The QEMU that this teiji is for: Debian 13's, with the loader and all libraries it is loaded
//! with and the firmware of its machines, so that it runs on any distribution, and a figure is of
//! the same nanosecond everywhere.
//!
//! ```text
//! ~/.cache/teiji/qemu/qemu-10.0.13-37bb2564/       qemu-system-x86_64  lib/  share/
//! ~/.cache/teiji/qemu/qemu-arm-10.0.13-5f76782d/   qemu-system-aarch64  qemu-system-arm  lib/
//! ```
//!
//! Which packages, and what their files have to be, stands in `pinned.txt`; `scripts/pin-qemu.sh`
//! writes it.

use crate::cache::user_cache;
use crate::hash::sha256;
use plan::Machine;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::{Mutex, PoisonError};

const TABLE: &str = include_str!("pinned.txt");
/// What loads the emulators, in their folder.
const LOADER: &str = "lib/ld-linux-x86-64.so.2";

/// What stands before an emulator and after it, paths in its folder: nothing of the host's is to be
/// found by chance, neither libraries nor firmware. `model::LabQemu::machine` leaves it out.
const BEFORE_PROGRAM: [&str; 4] = [LOADER, "--inhibit-cache", "--library-path", "lib"];
const AFTER_PROGRAM: [&str; 2] = ["-L", "share"];

/// What of the pinned QEMU is fetched by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QemuPart {
    X86,
    /// Those of the ARM machines.
    Arm,
}

impl QemuPart {
    pub const ALL: [QemuPart; 2] = [QemuPart::X86, QemuPart::Arm];

    /// As written on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            QemuPart::X86 => "qemu",
            QemuPart::Arm => "qemu-arm",
        }
    }

    /// The one that emulates this machine.
    pub(crate) const fn for_machine(machine: Machine) -> Self {
        match machine {
            Machine::X86_64 => QemuPart::X86,
            Machine::Aarch64 | Machine::Armv7 | Machine::Raspi3b => QemuPart::Arm,
        }
    }

    const fn key(self) -> &'static str {
        match self {
            QemuPart::X86 => "x86",
            QemuPart::Arm => "arm",
        }
    }
}

impl FromStr for QemuPart {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        QemuPart::ALL.into_iter().find(|part| part.name() == text).ok_or(())
    }
}

/// The words after the first one of the table's line that begins so.
fn line(key: &str) -> &'static str {
    TABLE.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(' ')).unwrap_or_default()
}

/// QEMU's version.
pub(crate) fn version() -> &'static str {
    line("version")
}

/// A time at which Debian's archive had all of the packages, as snapshot.debian.org writes it.
pub(crate) fn snapshot() -> &'static str {
    line("snapshot")
}

/// A package of Debian's.
#[derive(Debug)]
pub(crate) struct Package {
    pub sha256: &'static str,
    pub bytes: u64,
    /// Below the server, from `debian/` or `debian-security/` on.
    pub path: &'static str,
    pub files: Vec<PackageFile>,
}

#[derive(Debug)]
pub(crate) struct PackageFile {
    /// What it is called in the package, without its folder.
    pub name: &'static str,
    /// Its path in the QEMU's folder.
    pub place: String,
}

impl PackageFile {
    fn read(text: &'static str) -> Self {
        let (name, last) = text.split_once('=').unwrap_or((text, text));
        let folder = match name {
            emulator if emulator.starts_with("qemu-system-") => "",
            firmware if firmware.ends_with(".bin") => "share/",
            _ => "lib/",
        };
        PackageFile { name, place: format!("{folder}{last}") }
    }
}

impl QemuPart {
    /// The packages it is made of.
    pub(crate) fn packages(self) -> Vec<Package> {
        let package = |line: &'static str| {
            let mut words = line.split(' ');
            words.next().filter(|parts| ["both", self.key()].contains(parts))?;
            let sha256 = words.next()?;
            let bytes = words.next()?.parse().ok()?;
            let path = words.next()?;
            Some(Package { sha256, bytes, path, files: words.map(PackageFile::read).collect() })
        };
        TABLE.lines().filter(|line| !line.starts_with('#')).filter_map(package).collect()
    }

    /// SHA-256 of what `sha256sum` prints of all its files, sorted by name.
    fn expected(self) -> &'static str {
        line(self.key())
    }

    /// What its folder is called: another QEMU, and the same one with another library, has another
    /// name.
    pub(crate) fn folder_name(self) -> String {
        format!("{}-{}-{}", self.name(), version(), self.expected().get(..8).unwrap_or_default())
    }

    /// Whether this folder holds exactly its files.
    pub(crate) fn is_in(self, folder: &Path) -> bool {
        let mut places: Vec<String> = self
            .packages()
            .into_iter()
            .flat_map(|package| package.files)
            .map(|file| file.place)
            .collect();
        places.sort_unstable();
        let mut sums = String::new();
        for place in &places {
            let Ok(bytes) = fs::read(folder.join(place)) else { return false };
            let _ = writeln!(sums, "{}  {place}", sha256(&bytes));
        }
        sha256(sums.as_bytes()) == self.expected()
    }
}

/// Whether the packages are for this processor.
pub(crate) const fn is_for_this_host() -> bool {
    cfg!(target_arch = "x86_64")
}

/// Where pinned QEMUs are.
pub(crate) fn directory() -> Result<PathBuf, PinnedError> {
    Ok(user_cache().ok_or(PinnedError::NoCache)?.join("qemu"))
}

/// Why it cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum PinnedError {
    #[error("cannot locate the cache: set XDG_CACHE_HOME or HOME")]
    NoCache,
    #[error("the lab's own QEMU {version} cannot be had: {0}", version = version())]
    Unavailable(String),
}

/// What is in the cache of a part.
#[derive(Debug)]
pub(crate) enum InCache {
    /// All of it, in this folder.
    Whole(PathBuf),
    Damaged(PathBuf),
    Nothing(PathBuf),
}

/// Looks for a part in the cache, and at each byte of it: the guest's time is what these files make
/// of it.
pub(crate) fn look_for(part: QemuPart) -> Result<InCache, PinnedError> {
    /// Read through once by this process.
    static WHOLE: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());
    if !is_for_this_host() {
        let why = format!("there is none for {}", std::env::consts::ARCH);
        return Err(PinnedError::Unavailable(why));
    }
    let folder = directory()?.join(part.folder_name());
    if !folder.is_dir() {
        return Ok(InCache::Nothing(folder));
    }
    let mut whole = WHOLE.lock().unwrap_or_else(PoisonError::into_inner);
    if !whole.contains(&folder) {
        if !part.is_in(&folder) {
            return Ok(InCache::Damaged(folder));
        }
        whole.push(folder.clone());
    }
    Ok(InCache::Whole(folder))
}

/// The words that start one of its emulators, without those for a machine.
pub(crate) fn invocation(machine: Machine, program: &str) -> Result<Vec<OsString>, PinnedError> {
    let part = QemuPart::for_machine(machine);
    let fetch = format!("get it with: teiji lab fetch {}", part.name());
    let folder = match look_for(part)? {
        InCache::Whole(folder) => Ok(folder),
        InCache::Damaged(folder) => Err(format!("{} is damaged; {fetch}", folder.display())),
        InCache::Nothing(_) => Err(format!("it is not in the cache; {fetch}")),
    };
    let folder = folder.map_err(PinnedError::Unavailable)?;
    let word =
        |word: &str| if word.starts_with('-') { word.into() } else { folder.join(word).into() };
    Ok(BEFORE_PROGRAM.into_iter().chain([program]).chain(AFTER_PROGRAM).map(word).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_whole() {
        let is_hash = |text: &str| {
            text.len() == 64 && text.chars().all(|c| matches!(c, '0'..='9' | 'a'..='f'))
        };
        assert!(version().split('.').all(|number| number.parse::<u32>().is_ok()), "{}", version());
        assert!(snapshot().len() == 16 && snapshot().ends_with('Z'), "{}", snapshot());
        let mut lines = 0;
        for part in QemuPart::ALL {
            assert!(is_hash(part.expected()), "{part:?}");
            let packages = part.packages();
            lines = lines.max(packages.len());
            for package in &packages {
                assert!(is_hash(package.sha256), "{package:?}");
                assert!((1..50_000_000).contains(&package.bytes), "{package:?}");
                let archive = package.path.split('/').next();
                assert!(
                    archive == Some("debian") || archive == Some("debian-security"),
                    "{package:?}"
                );
                assert!(
                    package.path.contains("/pool/") && package.path.ends_with(".deb"),
                    "{package:?}"
                );
                assert!(!package.files.is_empty(), "{package:?}");
            }
            let mut places: Vec<&str> = packages
                .iter()
                .flat_map(|package| &package.files)
                .map(|file| file.place.as_str())
                .collect();
            let all = places.len();
            places.sort_unstable();
            places.dedup();
            assert_eq!(places.len(), all, "two files in one place");
            assert!(places.contains(&LOADER) && places.contains(&"lib/libc.so.6"), "{places:?}");
        }
        let written = TABLE.lines().filter(|line| line.contains("/pool/")).count();
        // One has the emulators of the other part.
        assert_eq!(lines + 1, written, "a line was not understood");
    }

    /// By the same program and the same kernel, whichever machine asks.
    #[test]
    fn each_machine_has_its_emulator() {
        for machine in Machine::ALL {
            let program = crate::board::Board::for_machine(machine).emulator;
            let packages = QemuPart::for_machine(machine).packages();
            assert!(
                packages
                    .iter()
                    .flat_map(|package| &package.files)
                    .any(|file| file.place == program),
                "{machine}"
            );
        }
        let firmware = |part: QemuPart| {
            part.packages().iter().flat_map(|p| &p.files).any(|f| f.place == "share/bios-256k.bin")
        };
        assert!(firmware(QemuPart::X86) && !firmware(QemuPart::Arm));
    }

    #[test]
    fn a_folder_that_is_not_exactly_that_is_noticed() {
        let place = tempfile::tempdir().unwrap();
        assert!(!QemuPart::X86.is_in(place.path()), "it is empty");
        for file in QemuPart::X86.packages().into_iter().flat_map(|package| package.files) {
            let path = place.path().join(file.place);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "something else").unwrap();
        }
        assert!(!QemuPart::X86.is_in(place.path()), "every file is another");
    }
}
