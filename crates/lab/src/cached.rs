// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the cache holds, and how it is emptied. A new kind of thing in it is a function in
//! `LISTED`.

use crate::cache::{LockedFolder, user_cache};
use crate::file_error::FileError;
use crate::kernels::{Cache, Kernel, KernelError, KernelName};
use crate::pinned::{InCache, QemuPart, look_for};
use crate::snapshot_cache::{SnapshotCache, StoredSnapshot};
use std::fs;
use std::path::{Path, PathBuf};

/// Something in the cache that is fetched, used and removed as a whole.
#[derive(Clone, Debug)]
pub struct Cached {
    /// What it is called: by this name it is removed.
    pub name: String,
    /// The machine that it is for.
    pub machine: &'static str,
    /// What it is: of a kernel, how it may be preempted.
    pub what: String,
    /// Whether it is what is used by default, or why it is not used. May be empty.
    pub note: &'static str,
    pub folder: PathBuf,
    pub bytes: u64,
}

/// All kinds of things, in the order of the list, each by teiji's folder in the cache.
const LISTED: [fn(&Path) -> Vec<Cached>; 3] = [kernels, qemus, snapshots];

/// Everything in the user's cache.
#[derive(Clone, Debug)]
pub struct CacheContents {
    pub directory: PathBuf,
    /// What can be used, and removed by name.
    pub entries: Vec<Cached>,
    /// Of all files, also of package lists and what is left over.
    pub bytes: u64,
}

/// Looks through the user's cache.
///
/// # Errors
/// When the environment names no place.
pub fn cached() -> Result<CacheContents, KernelError> {
    let directory = user_cache().ok_or(KernelError::NoCache)?;
    let entries = LISTED.iter().flat_map(|list| list(&directory)).collect();
    let bytes = size(&directory);
    Ok(CacheContents { directory, entries, bytes })
}

/// Removes something from the cache. A guest that uses it goes on; one that is about to start
/// fails. `waiting` is called where something is being fetched just then.
///
/// # Errors
/// When it cannot be removed.
pub fn remove_cached(entry: &Cached, waiting: &mut dyn FnMut()) -> Result<(), KernelError> {
    let parent = entry.folder.parent().unwrap_or(Path::new("/"));
    let locked = LockedFolder::new(parent, waiting)?;
    let going = locked.part()?;
    let rename = fs::rename(&entry.folder, going.path().join("removed"));
    let removed = rename.and_then(|()| going.close());
    Ok(removed.map_err(FileError::of("remove", &entry.folder))?)
}

fn kernels(cache: &Path) -> Vec<Cached> {
    let cache = Cache::at(&cache.join("kernels"));
    let entry = |kernel: Kernel| {
        let is_usual = match kernel.name.parse() {
            Ok(KernelName::Debian { flavour, .. }) => {
                cache.find(flavour, None).is_some_and(|usual| usual == kernel)
            }
            _ => false,
        };
        let folder = kernel.image.parent().unwrap_or(&kernel.image).to_owned();
        Cached {
            machine: kernel.machine.map_or("", plan::Machine::name),
            what: kernel.preemption().unwrap_or_else(|| "preemption not known".to_owned()),
            note: if is_usual { "default" } else { "" },
            bytes: size(&folder),
            name: kernel.name,
            folder,
        }
    };
    cache.list().into_iter().map(entry).collect()
}

fn qemus(cache: &Path) -> Vec<Cached> {
    let entry = |folder: PathBuf| {
        let name = folder.file_name()?.to_string_lossy().into_owned();
        // The longer name first: it begins with the other.
        let part = QemuPart::ALL
            .into_iter()
            .rev()
            .find(|part| name.starts_with(&format!("{}-", part.name())))?;
        let version = name[part.name().len() + 1..].rsplit_once('-')?.0;
        let note = match look_for(part) {
            _ if name != part.folder_name() => "of another teiji",
            Ok(InCache::Whole(_)) => "default",
            _ => "damaged: fetched again when used",
        };
        let machine = match part {
            QemuPart::X86 => "x86_64",
            QemuPart::Arm => "ARM",
        };
        Some(Cached {
            machine,
            what: format!("QEMU {version}"),
            note,
            bytes: size(&folder),
            name,
            folder,
        })
    };
    let folders =
        fs::read_dir(cache.join("qemu")).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut all: Vec<Cached> = folders.filter(|path| path.is_dir()).filter_map(entry).collect();
    all.sort_by(|one, other| one.name.cmp(&other.name));
    all
}

/// Booted guests, each called by the first of what would be too long to type.
fn snapshots(cache: &Path) -> Vec<Cached> {
    const NAME: usize = "snapshot-".len() + 12;
    let entry = |stored: StoredSnapshot| {
        let name = stored
            .path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .chars()
            .take(NAME)
            .collect();
        let (machine, what) = stored.of.split_once(", ").unwrap_or(("", &stored.of));
        // A line of a terminal has no room for the version.
        let what = what.split(", QEMU ").next().unwrap_or(what);
        let machine = machine.parse().map_or("", plan::Machine::name);
        Cached {
            name,
            machine,
            what: what.to_owned(),
            note: "",
            bytes: stored.bytes,
            folder: stored.path,
        }
    };
    SnapshotCache::below(cache).list().into_iter().map(entry).collect()
}

/// Of all files below a folder; links are not followed.
fn size(folder: &Path) -> u64 {
    let of_entry = |entry: fs::DirEntry| match entry.metadata() {
        Ok(data) if data.is_dir() => size(&entry.path()),
        Ok(data) => data.len(),
        Err(_) => 0,
    };
    fs::read_dir(folder).into_iter().flatten().flatten().map(of_entry).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(path: &Path, bytes: usize) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, vec![0; bytes]).unwrap();
    }

    #[test]
    fn a_cache_is_listed_and_emptied() {
        let place = tempfile::tempdir().unwrap();
        let cache = place.path();
        put(&cache.join("kernels/debian/6.1.0-56-amd64/vmlinuz"), 100);
        put(&cache.join("kernels/debian/6.1.0-56-amd64/modules/a.ko"), 20);
        put(&cache.join("kernels/debian/.apt/lists"), 7);
        put(&cache.join("qemu/qemu-9.0.0-00000000/qemu-system-x86_64"), 30);
        put(&cache.join("qemu/qemu-arm-9.0.0-00000000/lib/a.so"), 3);
        put(&cache.join("qemu/.apt/status"), 1);
        let about = concat!(
            r#"{"of": "x86_64, debian:amd64, 512 MiB", "key": "", "#,
            r#""disk_sha256": "", "console_sha256": ""}"#,
        );
        put(&cache.join("snapshots/snapshot-0123456789abcdef/console"), 5);
        fs::write(cache.join("snapshots/snapshot-0123456789abcdef/about.json"), about).unwrap();
        let list = || -> Vec<Cached> { LISTED.iter().flat_map(|list| list(cache)).collect() };
        let shown: Vec<_> = list()
            .into_iter()
            .map(|entry| (entry.name, entry.machine, entry.what, entry.bytes))
            .collect();
        let expected = |name: &str, machine: &'static str, what: &str, bytes| {
            (name.to_owned(), machine, what.to_owned(), bytes)
        };
        assert_eq!(
            shown,
            [
                expected("debian:amd64=6.1.0-56", "x86_64", "preemption not known", 120),
                expected("qemu-9.0.0-00000000", "x86_64", "QEMU 9.0.0", 30),
                expected("qemu-arm-9.0.0-00000000", "ARM", "QEMU 9.0.0", 3),
                expected(
                    "snapshot-0123456789ab",
                    "x86_64",
                    "debian:amd64, 512 MiB",
                    5 + about.len() as u64
                ),
            ]
        );
        assert_eq!(size(cache), 166 + about.len() as u64);
        for entry in list() {
            remove_cached(&entry, &mut || ()).unwrap();
            assert!(!entry.folder.exists(), "{}", entry.name);
        }
        assert!(list().is_empty());
    }
}
