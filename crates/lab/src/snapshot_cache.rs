// SPDX-License-Identifier: MIT OR Apache-2.0
//! Snapshots on disk, for later commands.
//!
//! ```text
//! ~/.cache/teiji/snapshots/snapshot-KEY/   snapshot.qcow2  console  about.json
//! ```
//!
//! What is not whole, or not what was written, is treated as if it were not there and removed:
//! making it anew costs a boot, and a wrong one would cost wrong figures. The newest stay: beyond
//! [`MAX_BYTES`] those that were used longest ago are removed.

use crate::cache::{LockedFolder, user_cache};
use crate::hash::sha256;
use crate::snapshot::{Snapshot, SnapshotKey};
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// The image in a snapshot's folder.
const DISK: &str = "snapshot.qcow2";
/// What the guest had printed.
const CONSOLE: &str = "console";
/// What the snapshot is, and the hashes of both files; written last.
const ABOUT: &str = "about.json";
/// How the folder of a snapshot begins.
const PREFIX: &str = "snapshot-";
/// What all of them may take together.
const MAX_BYTES: u64 = 2 << 30;

/// What lies beside a snapshot.
#[derive(Debug, Serialize, Deserialize)]
struct About {
    /// Kernel and machine, for people.
    of: String,
    key: String,
    disk_sha256: String,
    console_sha256: String,
}

/// The folder of snapshots.
#[derive(Clone, Debug)]
pub(crate) struct SnapshotCache {
    directory: PathBuf,
    max_bytes: u64,
}

/// One snapshot, as a list shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StoredSnapshot {
    pub path: PathBuf,
    pub of: String,
    pub bytes: u64,
    pub used: SystemTime,
}

impl SnapshotCache {
    /// Beside the user's kernels; none where the environment names no place.
    pub(crate) fn for_user() -> Option<Self> {
        user_cache().map(|cache| SnapshotCache::below(&cache))
    }

    /// In teiji's folder of a cache.
    pub(crate) fn below(cache: &Path) -> Self {
        SnapshotCache { directory: cache.join("snapshots"), max_bytes: MAX_BYTES }
    }

    fn place(&self, key: &SnapshotKey) -> PathBuf {
        self.directory.join(format!("{PREFIX}{}", key.0))
    }

    /// Whether there is a snapshot of this key, by its looks.
    pub(crate) fn has(&self, key: &SnapshotKey) -> bool {
        self.place(key).join(ABOUT).is_file()
    }

    /// The snapshot of this key, if it is there and what was written.
    pub(crate) fn find(&self, key: &SnapshotKey) -> Option<Snapshot> {
        let place = self.place(key);
        if !place.is_dir() {
            return None;
        }
        let found = read(&place, key);
        match &found {
            // For what is removed first.
            Some(_) => drop(
                File::options()
                    .append(true)
                    .open(place.join(ABOUT))
                    .and_then(|file| file.set_modified(SystemTime::now())),
            ),
            None => self.remove(key),
        }
        found
    }

    /// Keeps a snapshot, and removes others if all together are too large.
    pub(crate) fn store(&self, key: &SnapshotKey, of: &str, snapshot: &Snapshot) -> io::Result<()> {
        let locked = LockedFolder::new(&self.directory, &mut || ()).map_err(io::Error::other)?;
        let part = locked.part().map_err(io::Error::other)?;
        let write = |name: &str, bytes: &[u8]| {
            let mut file = File::create(part.path().join(name))?;
            file.write_all(bytes)?;
            file.sync_all()
        };
        let disk = snapshot.read_disk()?;
        write(DISK, &disk)?;
        write(CONSOLE, &snapshot.console)?;
        let about = About {
            of: of.to_owned(),
            key: key.0.clone(),
            disk_sha256: sha256(&disk),
            console_sha256: sha256(&snapshot.console),
        };
        write(ABOUT, &serde_json::to_vec(&about)?)?;
        // Another process may have been quicker, and its snapshot is as good.
        let _ = fs::remove_dir_all(self.place(key));
        fs::rename(part.path(), self.place(key))?;
        self.shrink(&self.place(key));
        Ok(())
    }

    pub(crate) fn remove(&self, key: &SnapshotKey) {
        let _ = fs::remove_dir_all(self.place(key));
    }

    /// All that are whole by their looks, the one that was used last first.
    pub(crate) fn list(&self) -> Vec<StoredSnapshot> {
        let entries = fs::read_dir(&self.directory).into_iter().flatten().flatten();
        let mut all: Vec<StoredSnapshot> =
            entries.filter_map(|entry| stored(&entry.path())).collect();
        all.sort_by(|one, other| other.used.cmp(&one.used).then_with(|| one.path.cmp(&other.path)));
        all
    }

    /// Removes those used longest ago, but for `newest`.
    fn shrink(&self, newest: &Path) {
        let mut bytes = 0;
        for stored in self.list() {
            bytes += stored.bytes;
            if bytes > self.max_bytes && stored.path != newest {
                let _ = fs::remove_dir_all(&stored.path);
            }
        }
    }
}

fn read(place: &Path, key: &SnapshotKey) -> Option<Snapshot> {
    let about: About = serde_json::from_slice(&fs::read(place.join(ABOUT)).ok()?).ok()?;
    let console = fs::read(place.join(CONSOLE)).ok()?;
    let disk = fs::read(place.join(DISK)).ok()?;
    let is_whole = about.key == key.0
        && sha256(&console) == about.console_sha256
        && sha256(&disk) == about.disk_sha256;
    let disk = File::open(place.join(DISK)).ok().filter(|_| is_whole)?;
    Some(Snapshot { disk, console, from_cache: true })
}

fn stored(place: &Path) -> Option<StoredSnapshot> {
    place.file_name()?.to_str()?.strip_prefix(PREFIX)?;
    let about: About = serde_json::from_slice(&fs::read(place.join(ABOUT)).ok()?).ok()?;
    let bytes = [DISK, CONSOLE, ABOUT]
        .iter()
        .map(|name| fs::metadata(place.join(name)).map_or(0, |file| file.len()))
        .sum();
    let used = fs::metadata(place.join(ABOUT)).and_then(|file| file.modified()).ok()?;
    Some(StoredSnapshot { path: place.to_owned(), of: about.of, bytes, used })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(name: &str) -> SnapshotKey {
        SnapshotKey(name.to_owned())
    }

    fn snapshot(place: &Path, disk: &[u8]) -> Snapshot {
        fs::write(place, disk).unwrap();
        Snapshot {
            disk: File::open(place).unwrap(),
            console: b"[ 0.1] booted\n".to_vec(),
            from_cache: false,
        }
    }

    fn cache(max_bytes: u64) -> (tempfile::TempDir, SnapshotCache) {
        let place = tempfile::tempdir().unwrap();
        let cache = SnapshotCache { directory: place.path().join("snapshots"), max_bytes };
        (place, cache)
    }

    #[test]
    fn a_snapshot_is_found_as_it_was_stored() {
        let (place, cache) = cache(MAX_BYTES);
        assert!(cache.find(&key("a")).is_none() && !cache.has(&key("a")));
        cache
            .store(&key("a"), "debian:amd64", &snapshot(&place.path().join("disk"), &[7; 10_000]))
            .unwrap();
        let found = cache.find(&key("a")).unwrap();
        assert_eq!(
            (found.read_disk().unwrap(), found.console, found.from_cache),
            (vec![7; 10_000], b"[ 0.1] booted\n".to_vec(), true)
        );
        assert!(cache.has(&key("a")) && !cache.has(&key("b")));
        assert!(cache.find(&key("b")).is_none());
        let names: Vec<String> = cache.list().into_iter().map(|stored| stored.of).collect();
        assert_eq!(names, ["debian:amd64"]);
    }

    #[test]
    fn a_damaged_snapshot_is_removed() {
        for (file, damage) in [
            (DISK, "flipped"),
            (DISK, "cut off"),
            (CONSOLE, "flipped"),
            (ABOUT, "cut off"),
            (DISK, "gone"),
        ] {
            let (place, cache) = cache(MAX_BYTES);
            cache
                .store(&key("a"), "x", &snapshot(&place.path().join("disk"), &[7; 10_000]))
                .unwrap();
            let path = cache.place(&key("a")).join(file);
            let mut bytes = fs::read(&path).unwrap();
            match damage {
                "flipped" => bytes[9] ^= 1,
                "cut off" => bytes.truncate(9),
                _ => {}
            }
            if damage == "gone" {
                fs::remove_file(&path).unwrap()
            } else {
                fs::write(&path, bytes).unwrap()
            }
            assert!(cache.find(&key("a")).is_none(), "{file} {damage}");
            assert!(!cache.place(&key("a")).exists(), "{file} {damage}");
        }
    }

    #[test]
    fn a_snapshot_of_another_machine_is_not_taken() {
        let (place, cache) = cache(MAX_BYTES);
        cache.store(&key("a"), "x", &snapshot(&place.path().join("disk"), &[7; 10_000])).unwrap();
        fs::rename(cache.place(&key("a")), cache.place(&key("b"))).unwrap();
        assert!(cache.find(&key("b")).is_none());
    }

    #[test]
    fn the_ones_used_longest_ago_are_removed_first() {
        let (place, cache) = cache(25_000);
        let snapshot = snapshot(&place.path().join("disk"), &[7; 10_000]);
        for (age, name) in [(3, "old"), (2, "older still, but used"), (1, "new")] {
            cache.store(&key(name), name, &snapshot).unwrap();
            let about =
                File::options().append(true).open(cache.place(&key(name)).join(ABOUT)).unwrap();
            about
                .set_modified(SystemTime::now() - std::time::Duration::from_secs(age * 60))
                .unwrap();
            if name == "older still, but used" {
                assert!(cache.find(&key(name)).is_some());
            }
        }
        cache.store(&key("newest"), "newest", &snapshot).unwrap();
        let left: Vec<String> = cache.list().into_iter().map(|stored| stored.of).collect();
        assert_eq!(left, ["newest", "older still, but used"]);
    }

    #[test]
    fn what_a_killed_process_left_is_no_snapshot() {
        let (place, cache) = cache(MAX_BYTES);
        fs::create_dir_all(cache.directory.join(".part-x")).unwrap();
        cache.store(&key("a"), "x", &snapshot(&place.path().join("disk"), &[7; 100])).unwrap();
        assert_eq!(cache.list().len(), 1);
    }
}
