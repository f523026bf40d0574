// SPDX-License-Identifier: MIT OR Apache-2.0
//! Gets the pinned QEMU into the cache: its packages by apt's downloader, which knows the host's
//! proxies and mirrors, each accepted by the SHA-256 that this program carries. No package list and
//! no key is needed, whatever the host's release.

use crate::cache::LockedFolder;
use crate::debian::{
    ARCHIVE, Apt, SECURITY_ARCHIVE, first_complaint, mirrors, not_started, not_unpacked, untar,
};
use crate::emulator::{Emulator, EmulatorError};
use crate::file_error::FileError;
use crate::pinned::{
    InCache, Package, PinnedError, QemuPart, directory, is_for_this_host, look_for, snapshot,
    version,
};
use plan::{Machine, Qemu};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Where apt puts it; never on the search path.
const DOWNLOADER: &str = "/usr/lib/apt/apt-helper";
/// What no mirror has any more is here: Debian's archive as it was at any time.
const SNAPSHOTS: &str = "http://snapshot.debian.org/archive";

/// Gets a part of the pinned QEMU into the cache if it is not there, and reports progress to `say`;
/// where it is.
///
/// # Errors
/// When it cannot be fetched.
pub fn fetch_qemu(part: QemuPart, say: &mut dyn FnMut(&str)) -> Result<PathBuf, PinnedError> {
    if let InCache::Whole(folder) = look_for(part)? {
        return Ok(folder);
    }
    let name = part.name();
    let failed = |error: FileError| PinnedError::Unavailable(error.to_string());
    let directory = directory()?;
    let mut waiting = || say(&format!("{name}: waiting for another teiji that is fetching a QEMU"));
    let locked = LockedFolder::new(&directory, &mut waiting).map_err(failed)?;
    let target = match look_for(part)? {
        InCache::Whole(folder) => return Ok(folder),
        InCache::Damaged(folder) => {
            say(&format!("{name}: {} is damaged and is fetched anew", folder.display()));
            folder
        }
        InCache::Nothing(folder) => folder,
    };
    let filled = locked.part().map_err(failed)?;
    let made = filled.path().join(name);
    fill(part, filled.path(), &made, &directory.join(".apt"), say)
        .map_err(PinnedError::Unavailable)?;
    let put = |from: &Path, to: &Path| {
        fs::rename(from, to).map_err(FileError::of("put in place", to)).map_err(failed)
    };
    if target.exists() {
        put(&target, &filled.path().join("damaged"))?;
    }
    put(&made, &target)?;
    Ok(target)
}

/// Fills a folder with the files of a part, and checks that they are.
fn fill(
    part: QemuPart,
    work: &Path,
    made: &Path,
    state: &Path,
    say: &mut dyn FnMut(&str),
) -> Result<(), String> {
    let packages = part.packages();
    let mib = packages.iter().map(|package| package.bytes).sum::<u64>() >> 20;
    say(&format!(
        "{}: downloading Debian 13's QEMU {}, {} packages, {mib} MiB",
        part.name(),
        version(),
        packages.len()
    ));
    let archives = work.join("archives");
    for folder in [&archives, &made.join("lib"), &made.join("share")] {
        fs::create_dir_all(folder).map_err(FileError::of("make", folder))?;
    }
    download(&packages, &archives, &Apt::prepare(state, "amd64", "")?)?;
    say(&format!("{}: unpacking", part.name()));
    let unpacked = work.join("unpacked");
    for package in &packages {
        let archive = archives.join(archive_name(package));
        let files = package
            .files
            .iter()
            .map(|file| format!("./usr/{}/{}", folder_in_package(&file.place), file.name));
        let arguments: Vec<String> = ["--wildcards", "--transform=s|.*/||"]
            .map(str::to_owned)
            .into_iter()
            .chain(files)
            .collect();
        let tar = untar(&archive, &unpacked, &arguments)?;
        if !tar.status.success() {
            return Err(not_unpacked(&archive, &tar));
        }
        for file in &package.files {
            let (from, to) = (unpacked.join(file.name), made.join(&file.place));
            fs::rename(&from, &to).map_err(FileError::of("put in place", &to))?;
        }
    }
    if part.is_in(made) {
        Ok(())
    } else {
        Err("what was unpacked is not what it has to be".to_owned())
    }
}

/// Where packages have a file that is to be in this place.
fn folder_in_package(place: &str) -> &'static str {
    match place.split_once('/') {
        None => "bin",
        Some(("share", _)) => "share/*",
        Some(_) => "lib/x86_64-linux-gnu",
    }
}

fn archive_name(package: &Package) -> &'static str {
    package.path.rsplit('/').next().unwrap_or_default()
}

/// Downloads what is not there yet: from the host's own mirrors, from Debian, and from its archive
/// of all times.
fn download(packages: &[Package], into: &Path, apt: &Apt) -> Result<(), String> {
    let debian = (ARCHIVE.to_owned(), SECURITY_ARCHIVE.to_owned());
    let of_time = |archive: &str| format!("{SNAPSHOTS}/{archive}/{}", snapshot());
    let mut servers = vec![mirrors(), debian, (of_time("debian"), of_time("debian-security"))];
    servers.dedup();
    let mut complaint = None;
    for (main, security) in &servers {
        let missing: Vec<&Package> =
            packages.iter().filter(|package| !into.join(archive_name(package)).is_file()).collect();
        if missing.is_empty() {
            break;
        }
        let mut command = apt.command(DOWNLOADER);
        command.args([
            "-q=2",
            "-o",
            "Acquire::Retries=1",
            "-o",
            "Acquire::http::Timeout=20",
            "download-file",
        ]);
        for package in missing {
            let (archive, path) = package.path.split_once('/').unwrap_or_default();
            let server = if archive == "debian" { main } else { security };
            command
                .arg(format!("{}/{path}", server.trim_end_matches('/')))
                .arg(into.join(archive_name(package)));
            command.arg(format!("SHA256:{}", package.sha256));
        }
        let output = command.output().map_err(not_started(&format!("apt's {DOWNLOADER}")))?;
        // What a mirror lacks another one has; what they say of it is of interest where none has
        // it.
        complaint =
            complaint.or_else(|| (!output.status.success()).then(|| first_complaint(&output)));
    }
    match packages.iter().find(|package| !into.join(archive_name(package)).is_file()) {
        None => Ok(()),
        // It names the address.
        Some(package) => Err(complaint.map_or_else(
            || format!("{} could not be downloaded", archive_name(package)),
            |complaint| complaint.trim_start_matches("E: ").replace("  ", ": "),
        )),
    }
}

/// The QEMU for guests of this machine: the one that was asked for. If none was, the pinned one,
/// which is fetched if need be, or the system's: then all guests of this process run in that one,
/// and only the first time there is a note, to be said.
///
/// # Errors
/// When there is none, or not the one that was asked for.
pub fn choose_qemu(
    asked: Option<&Qemu>,
    machine: Machine,
    say: &mut dyn FnMut(&str),
) -> Result<(Qemu, Option<String>), EmulatorError> {
    /// Whose emulators could not be had.
    static WITHOUT: Mutex<Vec<QemuPart>> = Mutex::new(Vec::new());
    let part = QemuPart::for_machine(machine);
    let chosen = |qemu: Qemu| (qemu, None);
    match asked {
        Some(Qemu::Pinned) => {
            fetch_qemu(part, say)?;
            return Ok(chosen(Qemu::Pinned));
        }
        Some(Qemu::Path(path)) => {
            return Ok(chosen(Qemu::Path(fs::canonicalize(path).unwrap_or_else(|_| path.clone()))));
        }
        Some(Qemu::System) => return Ok(chosen(Qemu::System)),
        None => {}
    }
    let mut without = WITHOUT.lock().unwrap_or_else(PoisonError::into_inner);
    if without.contains(&part) {
        return Ok(chosen(Qemu::System));
    }
    let pinned = fetch_qemu(part, say)
        .map_err(EmulatorError::from)
        .and_then(|_| Emulator::find(machine, &Qemu::Pinned));
    let why = match pinned {
        Ok(_) => return Ok(chosen(Qemu::Pinned)),
        Err(EmulatorError::Pinned(PinnedError::Unavailable(why))) => why,
        Err(other) => other.to_string(),
    };
    let system = match Emulator::find(machine, &Qemu::System) {
        Ok(system) => system.version,
        Err(system) => return Err(EmulatorError::Neither { system: Box::new(system), why }),
    };
    without.push(part);
    let pinned = version();
    let note = format!(
        "Guests run in this system's QEMU {system}, and not in {pinned}, the one that the lab \
         uses everywhere: {why}. Their samples are not those of {pinned}. With --qemu system that \
         one is not looked for."
    );
    Ok((Qemu::System, Some(note)))
}

/// Whether there is a QEMU for this machine, or one could be fetched: found without fetching it.
///
/// # Errors
/// What is missing.
pub(crate) fn can_have_qemu(asked: Option<&Qemu>, machine: Machine) -> Result<(), EmulatorError> {
    let part = QemuPart::for_machine(machine);
    // Each byte of it is looked at when it is used.
    let has_pinned = is_for_this_host()
        && (Path::new(DOWNLOADER).exists()
            || directory().is_ok_and(|directory| directory.join(part.folder_name()).is_dir()));
    match asked {
        None | Some(Qemu::Pinned) if has_pinned => Ok(()),
        None => Emulator::find(machine, &Qemu::System).map(|_| ()),
        Some(qemu) => Emulator::find(machine, qemu).map(|_| ()),
    }
}
