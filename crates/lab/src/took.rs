// SPDX-License-Identifier: MIT OR Apache-2.0
//! How long runs took on this host, so that it can be said before others of their kind begin.

use crate::cache::user_cache;
use crate::order::GuestCommand;
use crate::prepared::continued_key;
use crate::snapshot::SnapshotKey;
use crate::snapshot_cache::SnapshotCache;
use crate::target::{LabRun, Target};
use plan::{GuestTime, Nanos};
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

/// At least and at most how long something takes.
pub type Expected = (Duration, Duration);

/// Of a guest of which nothing is known, what comes to its time: continued from a snapshot that is
/// there, and booted on a slow machine.
const BEGUN: Expected = (Duration::from_secs(1), Duration::from_secs(30));
/// How many times as long as it measures a guest takes in virtual time: idle, and under a load that
/// never sleeps.
const TIMES: (u32, u32) = (1, 20);
/// The same run takes so much less or more for reasons that are not known.
const SPREAD: (f64, f64) = (0.8, 1.25);
/// What QEMU's plugin sees makes the two runs of an explanation longer than the one that is
/// explained: both together take so many times as long.
const EXPLAINED: (f64, f64) = (2.0, 4.0);
/// How many times as long as on an idle host a recorded run may have taken, where only that is
/// known.
const SLOWED: f64 = 2.0;

/// The last run of its kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Took {
    kind: String,
    /// What it had planned, on the guest's clock, ns.
    planned_ns: u64,
    /// What it took, on the host's clock, ms.
    host_ms: u64,
    /// What it would have taken with a CPU of the host for itself, ms: the emulator's CPU time, of
    /// a guest in virtual time.
    alone_ms: u64,
}

/// How many times as long as with a CPU for itself each of some guests takes, while the host has
/// other things to do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Slowdown(f64);

impl Slowdown {
    /// Of an idle host.
    pub const NONE: Slowdown = Slowdown(1.0);

    /// Now, of so many guests at once.
    pub fn now(jobs: usize) -> Self {
        // The kernel's mean over the last minute, in units of 2^-16.
        let [runnable, ..] = rustix::system::sysinfo().loads;
        let cpus = std::thread::available_parallelism().map_or(1, usize::from);
        Slowdown::of(runnable as f64 / 65_536.0, jobs, cpus)
    }

    /// Of guests on this many CPUs, beside so many threads that want one.
    fn of(runnable: f64, jobs: usize, cpus: usize) -> Self {
        Slowdown(((runnable + jobs as f64) / cpus as f64).max(1.0))
    }

    /// Of what takes so long on an idle host, and took so long when it was run.
    fn range(self, alone: Duration, before: Duration) -> Expected {
        let most = before.max(times(alone, self.0));
        (times(alone.min(before), SPREAD.0), times(most, SPREAD.1))
    }

    /// A guess of how long a run takes that measures for so long, where none of its kind has run.
    pub fn guess(self, time: GuestTime, measured: Nanos) -> Expected {
        let (least, most) = if time == GuestTime::Host { (1, 1) } else { TIMES };
        let of = |begun: Duration, times: u32| {
            begun.saturating_add(measured.duration().saturating_mul(times))
        };
        (of(BEGUN.0, least), times(of(BEGUN.1, most), self.0))
    }

    /// The same of a guest that boots.
    pub fn guess_of_boot(self) -> Expected {
        (BEGUN.0, times(BEGUN.1, self.0))
    }
}

fn times(time: Duration, factor: f64) -> Duration {
    Duration::try_from_secs_f64(time.as_secs_f64() * factor).unwrap_or(Duration::MAX)
}

/// How long this run takes on this host, by the last one of the same kernel, machine, probe and
/// loads. None where there was none.
pub fn expected(lab_run: &LabRun, slowdown: Slowdown) -> Option<Expected> {
    let (kind, planned_ns) = of_run(lab_run);
    expected_in(&user_cache()?, &kind, planned_ns, slowdown)
}

/// How long a recorded run takes when it is made again on this host: by the last one of its kind
/// here or, where there was none, as it took when it was recorded.
pub fn expected_again(lab_run: &LabRun, recorded: Duration) -> Expected {
    let slowdown = Slowdown::now(1);
    expected(lab_run, slowdown)
        .unwrap_or_else(|| slowdown.range(times(recorded, 1.0 / SLOWED), recorded))
}

/// How long it takes to explain what takes so long to be made.
pub fn expected_to_explain((least, most): Expected) -> Expected {
    (times(least, EXPLAINED.0), times(most, EXPLAINED.1))
}

/// How long these programs take on this host, as the same ones did in such a guest.
pub fn expected_of_commands(target: &Target, commands: &[GuestCommand]) -> Option<Expected> {
    let (kind, planned_ns) = of_commands(target, commands);
    expected_in(&user_cache()?, &kind, planned_ns, Slowdown::now(1))
}

/// How long these guests boot on this host before their first task, as the last of their kind did:
/// those that continue a snapshot which is not there yet. None of one that has not booted.
pub fn expected_of_boots<'a>(
    targets: impl Iterator<Item = &'a Target>,
    slowdown: Slowdown,
) -> Vec<Option<Expected>> {
    let Some(cache) = user_cache() else { return Vec::new() };
    let kinds: BTreeMap<String, &Target> =
        targets.map(|target| (of_boot(target), target)).collect();
    // A guest that lacks something does not boot at all, and says what when it is to begin.
    let keys = kinds.iter().filter_map(|(kind, target)| Some((kind, continued_key(target).ok()??)));
    boots_in(&cache, keys, slowdown)
}

/// Keeps how long a guest took until it was saved.
pub(crate) fn keep_boot(target: &Target, took: Duration, used: Duration) {
    keep((of_boot(target), 1), target.guest.time, took, used);
}

/// Keeps how long a run took, and how much CPU time.
pub(crate) fn keep_run(lab_run: &LabRun, took: Duration, used: Duration) {
    keep(of_run(lab_run), lab_run.target.guest.time, took, used);
}

/// The same of programs.
pub(crate) fn keep_commands(
    target: &Target,
    commands: &[GuestCommand],
    took: Duration,
    used: Duration,
) {
    keep(of_commands(target, commands), target.guest.time, took, used);
}

/// Where that cannot be written, nothing is known of it later.
fn keep((kind, planned_ns): (String, u64), time: GuestTime, took: Duration, used: Duration) {
    let ms = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    // A guest on the host's clock waits, and an idle host changes nothing of that.
    let alone = if time == GuestTime::Host { took } else { used.min(took) };
    if let Some(cache) = user_cache() {
        let took = Took { kind, planned_ns, host_ms: ms(took), alone_ms: ms(alone) };
        let _ = keep_in(&cache, took);
    }
}

/// A run's kind, and what it plans, ns.
fn of_run(LabRun { run, target, .. }: &LabRun) -> (String, u64) {
    let loads: Vec<String> = run.loads.iter().map(ToString::to_string).collect();
    let kind = format!("{} {} {}", of_guest(target), run.probe, loads.join(" "));
    (kind, run.expected_ns().0.unsigned_abs())
}

/// The same of programs. How long they take is known only of those that were the same.
fn of_commands(target: &Target, commands: &[GuestCommand]) -> (String, u64) {
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
    let all: Vec<serde_json::Value> = serde_json::from_slice(&text).unwrap_or_default();
    // Others keep what has another form, and read this one's.
    all.into_iter().filter_map(|took| serde_json::from_value(took).ok()).collect()
}

fn expected_in(cache: &Path, kind: &str, planned_ns: u64, slowdown: Slowdown) -> Option<Expected> {
    let last = read(cache).into_iter().find(|took| took.kind == kind)?;
    // How much of it was the beginning and the end, which a longer run has once too, is not known.
    let length = planned_ns as f64 / last.planned_ns.max(1) as f64;
    let of = |length: f64| {
        let of = |ms: u64| times(Duration::from_millis(ms), length);
        slowdown.range(of(last.alone_ms), of(last.host_ms))
    };
    Some((of(length.min(1.0)).0, of(length.max(1.0)).1))
}

fn boots_in<'a>(
    cache: &Path,
    kinds: impl Iterator<Item = (&'a String, SnapshotKey)>,
    slowdown: Slowdown,
) -> Vec<Option<Expected>> {
    let snapshots = SnapshotCache::below(cache);
    kinds
        .filter(|(_, key)| !snapshots.has(key))
        .map(|(kind, _)| expected_in(cache, kind, 1, slowdown))
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

    fn took(kind: &str, planned_ns: u64, host_ms: u64, alone_ms: u64) -> Took {
        Took { kind: kind.to_owned(), planned_ns, host_ms, alone_ms }
    }

    fn seconds((least, most): Expected) -> (f64, f64) {
        (least.as_secs_f64(), most.as_secs_f64())
    }

    #[test]
    fn a_boot_is_expected_where_the_snapshot_is_not_there() {
        let place = tempfile::tempdir().unwrap();
        let [amd64, rt] = ["boot amd64", "boot rt-amd64"].map(str::to_owned);
        let expected = |keys: [&str; 2]| {
            let keys = keys.map(|key| SnapshotKey(key.to_owned()));
            let keys = [&amd64, &rt].into_iter().zip(keys);
            let times = boots_in(place.path(), keys, Slowdown::NONE).into_iter();
            times.map(|time| Some(seconds(time?))).collect::<Vec<_>>()
        };
        let keep = |kind: &String, ms| keep_in(place.path(), took(kind, 1, ms, ms)).unwrap();
        assert_eq!(expected(["a", "b"]), [None, None], "none has booted");
        keep(&amd64, 32_000);
        let of_amd64 = Some((25.6, 40.0));
        assert_eq!(expected(["a", "b"]), [of_amd64, None], "one of them has");
        keep(&rt, 40_000);
        let of_rt = Some((32.0, 50.0));
        assert_eq!(expected(["a", "b"]), [of_amd64, of_rt]);
        let disk = place.path().join("disk");
        fs::write(&disk, "").unwrap();
        let disk = fs::File::open(&disk).unwrap();
        let snapshot = Snapshot { disk, console: Vec::new(), from_cache: false };
        let snapshots = SnapshotCache::below(place.path());
        snapshots.store(&SnapshotKey("a".to_owned()), "amd64", &snapshot).unwrap();
        assert_eq!(expected(["a", "b"]), [of_rt], "one is there");
        assert_eq!(expected(["a2", "b"]), [of_amd64, of_rt], "another file is in it");
    }

    #[test]
    fn a_run_is_expected_to_take_what_the_last_of_its_kind_did() {
        let place = tempfile::tempdir().unwrap();
        let expected = |kind: &str, planned_ns| {
            expected_in(place.path(), kind, planned_ns, Slowdown::NONE).map(seconds)
        };
        let keep = |kind: &str, planned_ns, ms| {
            keep_in(place.path(), took(kind, planned_ns, ms, ms)).unwrap();
        };
        assert_eq!(expected("amd64", 3_000), None);
        keep("amd64", 3_000, 12_000);
        assert_eq!(expected("amd64", 3_000), Some((9.6, 15.0)));
        assert_eq!(expected("amd64", 30_000), Some((9.6, 150.0)));
        assert_eq!(expected("amd64", 300), Some((0.96, 15.0)));
        assert_eq!(expected("rt-amd64", 300), None);
        keep("amd64", 30_000, 80_000);
        assert_eq!(expected("amd64", 30_000), Some((64.0, 100.0)));
        (0..MAX_KINDS).for_each(|kind| keep(&kind.to_string(), 1, 1_000));
        assert_eq!((expected("amd64", 1), expected("0", 1)), (None, Some((0.8, 1.25))));
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 1);
        let others = r#"[{"kind":"0","planned_ns":1,"host_ms":9},
            {"kind":"1","planned_ns":1,"host_ms":1000,"alone_ms":1000}]"#;
        fs::write(place.path().join(FILE), others).unwrap();
        assert_eq!((expected("0", 1), expected("1", 1)), (None, Some((0.8, 1.25))));
        fs::write(place.path().join(FILE), "[{").unwrap();
        assert_eq!(expected("0", 1), None);
    }

    /// Two runs took 1 min 1 s and 13.5 s. What was said was 3.2 to 5.5 min and 35 to 66.9 s, by
    /// runs of the same kinds on the busy host.
    #[test]
    fn what_was_recorded_on_a_busy_host_takes_less_on_an_idle_one() {
        let place = tempfile::tempdir().unwrap();
        let kept = |kind, host_ms, alone_ms| {
            keep_in(place.path(), took(kind, 10, host_ms, alone_ms)).unwrap();
        };
        kept("long", 192_000, 48_000);
        kept("short", 35_000, 12_600);
        let expected =
            |kind, slowdown| expected_in(place.path(), kind, 10, slowdown).map(seconds).unwrap();
        for (kind, real) in [("long", 61.0), ("short", 13.5)] {
            let (least, most) = expected(kind, Slowdown::NONE);
            assert!(least <= real && real <= most, "{kind}: {least} {real} {most}");
        }
        // Recorded on an idle host, and four guests' worth of other work now.
        kept("idle", 10_000, 10_000);
        let busy = Slowdown::of(6.0, 2, 2);
        assert_eq!(expected("idle", busy), (8.0, 50.0));
        assert_eq!(expected("idle", Slowdown::of(0.5, 2, 4)), (8.0, 12.5));
    }

    #[test]
    fn where_nothing_is_known_the_guess_is_wide() {
        let virtual_time = GuestTime::Virtual { shift: 0 };
        let second = Nanos::from_millis(1_000);
        assert_eq!(seconds(Slowdown::NONE.guess(virtual_time, second)), (2.0, 50.0));
        assert_eq!(seconds(Slowdown(3.0).guess(virtual_time, second)), (2.0, 150.0));
        assert_eq!(seconds(Slowdown::NONE.guess(GuestTime::Host, second)), (2.0, 31.0));
    }

    /// 3.1 min when it was recorded.
    #[test]
    fn to_explain_takes_a_sum_of_two_runs() {
        let recorded = Duration::from_secs(186);
        let alone = Slowdown::NONE.range(recorded, recorded);
        assert_eq!(seconds(expected_to_explain(alone)), (297.6, 930.0));
    }
}
