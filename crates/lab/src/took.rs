// SPDX-License-Identifier: MIT OR Apache-2.0
//! How long runs took on this host, so that it can be said before others of their kind begin.

use crate::cache::user_cache;
use crate::order::GuestCommand;
use crate::prepared::continued_key;
use crate::snapshot::SnapshotKey;
use crate::snapshot_cache::SnapshotCache;
use crate::target::{LabRun, Target};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::time::Duration;
use system::files::{Durability, USUAL, replace};

/// In teiji's folder of the user's cache.
const FILE: &str = "took.json";
/// Kinds that are kept, the latest.
const MAX_KINDS: usize = 200;

/// The last run of its kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Took {
    kind: String,
    /// What it had planned, on the guest's clock, ns.
    planned_ns: u64,
    /// What it took, on the host's clock, ms.
    host_ms: u64,
}

/// At least and at most how long this run takes on this host, by the last one of the same kernel,
/// machine, probe and loads. None where there was none.
pub fn expected(lab_run: &LabRun) -> Option<(Duration, Duration)> {
    let (kind, planned_ns) = of_run(lab_run);
    expected_in(&user_cache()?, &kind, planned_ns)
}

/// How long these programs take on this host, as the same ones did in such a guest.
pub fn expected_of_commands(target: &Target, commands: &[GuestCommand]) -> Option<Duration> {
    let (kind, planned_ns) = of_commands(target, commands);
    expected_in(&user_cache()?, &kind, planned_ns).map(|(as_then, _)| as_then)
}

/// How long these guests boot on this host before their first task, as the last of their kind did:
/// those that continue a snapshot which is not there yet. None where one of them has not booted.
pub fn expected_of_boots<'a>(targets: impl Iterator<Item = &'a Target>) -> Option<Vec<Duration>> {
    let cache = user_cache()?;
    let kinds: BTreeMap<String, &Target> =
        targets.map(|target| (of_boot(target), target)).collect();
    // A guest that lacks something does not boot at all, and says what when it is to begin.
    let keys = kinds.iter().filter_map(|(kind, target)| Some((kind, continued_key(target).ok()??)));
    boots_in(&cache, keys)
}

/// Keeps how long a guest took until it was saved.
pub(crate) fn keep_boot(target: &Target, time: Duration) {
    keep((of_boot(target), 1), u64::try_from(time.as_millis()).unwrap_or(u64::MAX));
}

/// Keeps how long something took. Where that cannot be written, nothing is known of it later.
pub(crate) fn keep((kind, planned_ns): (String, u64), host_ms: u64) {
    if let Some(cache) = user_cache() {
        let _ = keep_in(&cache, Took { kind, planned_ns, host_ms });
    }
}

/// A run's kind, and what it plans, ns.
pub(crate) fn of_run(LabRun { run, target, .. }: &LabRun) -> (String, u64) {
    let loads: Vec<String> = run.loads.iter().map(ToString::to_string).collect();
    let kind = format!("{} {} {}", of_guest(target), run.probe, loads.join(" "));
    (kind, run.expected_ns().0.unsigned_abs())
}

/// The same of programs. How long they take is known only of those that were the same.
pub(crate) fn of_commands(target: &Target, commands: &[GuestCommand]) -> (String, u64) {
    let commands = serde_json::to_string(commands).unwrap_or_default();
    (format!("{} {commands}", of_guest(target)), 1)
}

fn of_boot(target: &Target) -> String {
    format!("boot {}", of_guest(target))
}

fn of_guest(target: &Target) -> String {
    let guest = serde_json::to_string(&target.guest).unwrap_or_default();
    format!("{} {guest}", target.kernel.name)
}

fn read(cache: &Path) -> Vec<Took> {
    let text = fs::read(cache.join(FILE)).unwrap_or_default();
    serde_json::from_slice(&text).unwrap_or_default()
}

fn expected_in(cache: &Path, kind: &str, planned_ns: u64) -> Option<(Duration, Duration)> {
    let last = read(cache).into_iter().find(|took| took.kind == kind)?;
    // How much of it was the beginning and the end, which a longer run has once too, is not known.
    let as_then = last.host_ms;
    let as_long = u128::from(as_then) * u128::from(planned_ns) / u128::from(last.planned_ns.max(1));
    let as_long = u64::try_from(as_long).unwrap_or(u64::MAX);
    let [least, most] = [as_then.min(as_long), as_then.max(as_long)].map(Duration::from_millis);
    Some((least, most))
}

fn boots_in<'a>(
    cache: &Path,
    kinds: impl Iterator<Item = (&'a String, SnapshotKey)>,
) -> Option<Vec<Duration>> {
    let snapshots = SnapshotCache::below(cache);
    kinds
        .filter(|(_, key)| !snapshots.has(key))
        .map(|(kind, _)| expected_in(cache, kind, 1).map(|(as_then, _)| as_then))
        .collect()
}

fn keep_in(cache: &Path, took: Took) -> std::io::Result<()> {
    let mut all = read(cache);
    all.retain(|known| known.kind != took.kind);
    all.insert(0, took);
    all.truncate(MAX_KINDS);
    let beside = cache.join(format!(".{FILE}-{}", std::process::id()));
    replace(&cache.join(FILE), &beside, USUAL, Durability::Written, |file| {
        file.write_all(&serde_json::to_vec(&all)?)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::snapshot::Snapshot;

    #[test]
    fn a_boot_is_expected_where_the_snapshot_is_not_there() {
        let place = tempfile::tempdir().unwrap();
        let [amd64, rt] = ["boot amd64", "boot rt-amd64"].map(str::to_owned);
        let expected = |keys: [&str; 2]| {
            let keys = keys.map(|key| SnapshotKey(key.to_owned()));
            let times = boots_in(place.path(), [&amd64, &rt].into_iter().zip(keys))?;
            Some(times.iter().map(Duration::as_secs).collect::<Vec<u64>>())
        };
        let keep = |kind: &String, host_ms| {
            keep_in(place.path(), Took { kind: kind.clone(), planned_ns: 1, host_ms }).unwrap();
        };
        assert_eq!(expected(["a", "b"]), None, "none has booted");
        keep(&amd64, 33_000);
        assert_eq!(expected(["a", "b"]), None, "one of them has");
        keep(&rt, 40_000);
        assert_eq!(expected(["a", "b"]), Some(vec![33, 40]));
        let disk = place.path().join("disk");
        fs::write(&disk, "").unwrap();
        let disk = fs::File::open(&disk).unwrap();
        let snapshot = Snapshot { disk, console: Vec::new(), from_cache: false };
        let snapshots = SnapshotCache::below(place.path());
        snapshots.store(&SnapshotKey("a".to_owned()), "amd64", &snapshot).unwrap();
        assert_eq!(expected(["a", "b"]), Some(vec![40]), "one is there");
        assert_eq!(expected(["a2", "b"]), Some(vec![33, 40]), "another file is in it");
    }

    #[test]
    fn a_run_is_expected_to_take_what_the_last_of_its_kind_did() {
        let place = tempfile::tempdir().unwrap();
        let expected = |kind: &str, planned_ns| {
            let (least, most) = expected_in(place.path(), kind, planned_ns)?;
            Some((least.as_millis(), most.as_millis()))
        };
        let keep = |kind: &str, planned_ns, host_ms| {
            let took = Took { kind: kind.to_owned(), planned_ns, host_ms };
            keep_in(place.path(), took).unwrap();
        };
        assert_eq!(expected("amd64", 3_000), None);
        keep("amd64", 3_000, 12_000);
        assert_eq!(expected("amd64", 3_000), Some((12_000, 12_000)));
        assert_eq!(expected("amd64", 30_000), Some((12_000, 120_000)));
        assert_eq!(expected("amd64", 300), Some((1_200, 12_000)));
        assert_eq!(expected("rt-amd64", 300), None);
        keep("amd64", 30_000, 80_000);
        assert_eq!(expected("amd64", 30_000), Some((80_000, 80_000)));
        (0..MAX_KINDS).for_each(|kind| keep(&kind.to_string(), 1, 1));
        assert_eq!((expected("amd64", 1), expected("0", 1)), (None, Some((1, 1))));
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 1);
        fs::write(place.path().join(FILE), "[{").unwrap();
        assert_eq!(expected("0", 1), None);
    }
}
