// SPDX-License-Identifier: MIT OR Apache-2.0
//! How long runs took on this host, so that it can be said before others of their kind begin.

use crate::cache::user_cache;
use crate::order::GuestCommand;
use crate::target::{LabRun, Target};
use serde::{Deserialize, Serialize};
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
