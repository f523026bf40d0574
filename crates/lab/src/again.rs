// SPDX-License-Identifier: MIT OR Apache-2.0
//! The machine of a recording, to make the same run again.
//!
//! A recording may come from anybody, so nothing that it names is executed or read here. What it
//! was made with is found again by its kind: the lab's own QEMU or the system's, a kernel of the
//! cache, this program. Everything else is named again by the user, and what was recorded serves to
//! compare.

use crate::board::Board;
use crate::error::{LabError, NotNamed, quoted};
use crate::file_error::FileError;
use crate::guest_limits::GuestLimits;
use crate::hash::sha256;
use crate::kernels::{self, Kernel, KernelError, KernelName};
use crate::program::Program;
use crate::target::Target;
use crate::timeouts::BOOT_TIMEOUT;
use model::{Lab, QemuOrigin};
use plan::{GuestTime, Qemu, Run};
use std::fs;
use std::path::{Path, PathBuf};

/// What the user names to make a recording again.
#[derive(Clone, Debug, Default)]
pub struct Named {
    pub qemu: Option<Qemu>,
    pub kernel: Option<Kernel>,
    pub modules: Option<PathBuf>,
    pub device_tree: Option<PathBuf>,
    /// The teiji for the guest.
    pub program: Option<PathBuf>,
    /// What the guest may take here.
    pub limits: GuestLimits,
}

/// The kind of QEMU that a recording was made in; none where it was given by its path.
pub const fn qemu_of(lab: &Lab) -> Option<Qemu> {
    match lab.qemu.origin {
        QemuOrigin::Pinned => Some(Qemu::Pinned),
        QemuOrigin::System => Some(Qemu::System),
        QemuOrigin::Path => None,
    }
}

/// The machine of a recording's run, to repeat it.
///
/// # Errors
/// When something has to be named, the guest may not have what it asks for, or its kernel is not in
/// the cache.
pub fn again(lab: &Lab, run: &Run, named: &Named) -> Result<Target, LabError> {
    if lab.guest.time == GuestTime::Host {
        return Err(LabError::HostTime);
    }
    lab.guest.check()?;
    named.limits.check(&lab.guest, run)?;
    let qemu = named.qemu.clone().or_else(|| qemu_of(lab)).ok_or_else(|| {
        let recorded = lab.qemu.command_line.first().cloned().unwrap_or_default();
        NotNamed { what: "the QEMU", flag: "--qemu FILE", recorded, hash: None }
    })?;
    let kernel = match &named.kernel {
        Some(kernel) => kernel.clone(),
        None => kernel_of(lab)?,
    };
    let modules = modules_of(lab, named, &kernel)?;
    let device_tree = match (&named.device_tree, &lab.device_tree) {
        (None, Some(file)) if Board::for_machine(lab.guest.machine).device_tree.is_none() => {
            return Err(NotNamed::file("the device tree", "--dtb FILE", file).into());
        }
        (named, _) => named.clone(),
    };
    Ok(Target {
        guest: lab.guest.clone(),
        qemu,
        kernel: Kernel { modules, ..kernel },
        device_tree,
        program: named.program.clone(),
        files: Vec::new(),
        boot_timeout: BOOT_TIMEOUT,
        plugin: None,
    })
}

/// The recording's kernel, if that is one of the cache: of this very version.
fn kernel_of(lab: &Lab) -> Result<Kernel, LabError> {
    let name = &lab.kernel.name;
    let Ok(KernelName::Debian { flavour, version: Some(version) }) = name.parse::<KernelName>()
    else {
        return Err(NotNamed {
            recorded: name.clone(),
            ..NotNamed::file("the kernel", "-k FILE", &lab.kernel.image)
        }
        .into());
    };
    let found = kernels::Cache::for_user()?
        .find(flavour, Some(&version))
        .filter(|found| found.name == *name);
    found.ok_or_else(|| {
        let why = format!("it is not in the cache any more; get it with: teiji lab fetch {name}");
        KernelError::Fetch { name: name.clone(), why }.into()
    })
}

/// The modules: those named, or those of the kernel. A recording that loaded none needs none.
fn modules_of(lab: &Lab, named: &Named, kernel: &Kernel) -> Result<Option<PathBuf>, LabError> {
    let recorded = match (&named.modules, &lab.kernel.modules) {
        (Some(named), _) => return Ok(Some(named.clone())),
        (None, Some(recorded)) if !lab.modules.is_empty() => recorded,
        (None, _) => return Ok(kernel.modules.clone()),
    };
    if kernel.modules.is_some() && is_of_cache(recorded, &lab.kernel.name) {
        return Ok(kernel.modules.clone());
    }
    let recorded = recorded.display().to_string();
    Err(NotNamed { what: "the folder of modules", flag: "--modules DIR", recorded, hash: None }
        .into())
}

/// Whether modules came with a kernel of a cache, wherever that was: it is only compared, never
/// opened.
fn is_of_cache(modules: &Path, name: &str) -> bool {
    match name.parse() {
        Ok(KernelName::Debian { flavour, version: Some(version) }) => {
            modules.ends_with(format!("debian/{version}-{}/modules", flavour.name))
        }
        _ => false,
    }
}

/// A file that is not the one that was recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Changed {
    /// Which, as in [`differences`].
    what: &'static str,
    /// The flag that names it.
    flag: &'static str,
    /// The one that is there, and both hashes.
    text: String,
}

impl Changed {
    /// Whether an account of what the guest executed would be another one, whatever the samples
    /// are.
    pub fn decides_account(&self) -> bool {
        self.what != PROGRAM
    }
}

impl std::fmt::Display for Changed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} is not the recorded one: {}. To name it: {}", self.what, self.text, self.flag)
    }
}

const PROGRAM: &str = "the teiji in the guest";

/// A file by what it is, and its hash where there is one.
type Hash<'l> = (&'static str, Option<&'l str>);

/// The files that a run was made of.
fn hashes(lab: &Lab) -> [Hash<'_>; 3] {
    [
        ("the kernel's image", Some(&lab.kernel.image.sha256)),
        ("the device tree", lab.device_tree.as_ref().map(|file| file.sha256.as_str())),
        (PROGRAM, Some(&lab.program.sha256)),
    ]
}

/// Which of its files differ from what was recorded, before a guest boots.
///
/// # Errors
/// When one cannot be read.
pub fn changed_files(lab: &Lab, target: &Target) -> Result<Vec<Changed>, LabError> {
    let read = |doing, path: &Path| fs::read(path).map_err(FileError::of(doing, path));
    let image = read("read", &target.kernel.image)?;
    let program = Program::find(target.guest.machine, target.program.as_deref())?;
    let tree = target
        .device_tree
        .as_deref()
        .map(|path| read("read the device tree", path).map(|bytes| (path, sha256(&bytes))));
    let found = [
        ("-k", Some((target.kernel.image.as_path(), sha256(&image)))),
        ("--dtb", tree.transpose()?),
        ("--program", Some((program.path.as_path(), sha256(&program.bytes)))),
    ];
    let files = hashes(lab).into_iter().zip(found);
    let differs = |((_, recorded), (_, found)): &(Hash<'_>, (_, Option<(&Path, String)>))| {
        found.as_ref().map(|(_, hash)| hash.as_str()) != *recorded
    };
    let changed = files.into_iter().filter(differs).map(|((what, recorded), (flag, found))| {
        let found = found.map_or_else(
            || "there is none".to_owned(),
            |(path, hash)| format!("{} has SHA-256 {hash}", path.display()),
        );
        let recorded = recorded.map_or_else(|| "none".to_owned(), quoted);
        Changed { what, flag, text: format!("{found}, and the recording says {recorded}") }
    });
    Ok(changed.collect())
}

/// QEMU's command line without where it is, without paths of files, which are known by their
/// content, and without what it may do on this machine.
fn options(qemu: &model::LabQemu) -> impl Iterator<Item = &String> {
    let is_left_out = |word: &String| word == "-kernel" || word == "-dtb" || word == "-sandbox";
    let words = qemu.machine();
    let before = std::iter::once(None).chain(words.iter().map(Some));
    let is_kept = move |before: Option<&String>, word: &String| {
        !before.is_some_and(is_left_out) && word != "-sandbox"
    };
    before.zip(words).filter(move |(before, word)| is_kept(*before, word)).map(|(_, word)| word)
}

/// What differs between the conditions of two runs in the lab: names of what is not the same.
pub fn differences(before: &Lab, now: &Lab) -> Vec<&'static str> {
    let files = hashes(before).into_iter().zip(hashes(now));
    let files = files.map(|((name, before), (_, now))| (name, before == now));
    let all = [
        ("the initramfs", before.initramfs_sha256 == now.initramfs_sha256),
        ("its task or its snapshot", before.snapshot == now.snapshot),
        ("QEMU", before.qemu.version == now.qemu.version),
        ("QEMU's options", options(&before.qemu).eq(options(&now.qemu))),
    ];
    let machine = ("the machine", before.guest == now.guest);
    let all = std::iter::once(machine).chain(files).chain(all);
    all.filter(|(_, same)| !same).map(|(name, _)| name).collect()
}

#[cfg(test)]
#[path = "again_tests.rs"]
mod tests;
