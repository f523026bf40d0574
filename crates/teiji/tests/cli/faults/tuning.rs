// SPDX-License-Identifier: MIT OR Apache-2.0
//! SIGKILL at each system call of a tuning in turn, and what the next call makes of it: every file
//! as it was before.

use crate::support::machine::{contents, lay_out};
use crate::support::skipped::{Need, skipped};
use crate::support::{
    Output, Running, TEIJI, TestFolder, beside_others, exclusive, is_root, quiet_cpu, soon,
    to_be_killed_at,
};
use rustix::process::Signal;
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

/// What changes something on disk or in the kernel, or stands between two such calls.
const CALLS: [&str; 6] = ["openat", "write", "fsync", "rename", "unlink", "read"];

/// A tuning of some machine.
struct Tuned {
    place: TestFolder,
    /// Flags that say which machine.
    machine: Vec<String>,
    /// Flags that say what to change.
    changes: Vec<String>,
    /// The only files whose calls count; all where there are none. How many others this machine
    /// has changes from call to call.
    files: Vec<PathBuf>,
}

impl Tuned {
    fn command(&self, program: &str) -> Command {
        let mut command = self.place.command(program);
        command.env("TEIJI_STATE", self.place.join("state"));
        command
    }

    /// strace, of some calls.
    fn traced(&self, calls: &str) -> Command {
        let mut command = self.command("strace");
        command.args(["-qq", "-e", &format!("trace={calls}")]);
        for file in &self.files {
            command.arg("-P").arg(file);
        }
        command
    }

    fn words(&self, undo: bool) -> Vec<String> {
        let what = if undo { vec!["--undo".to_owned()] } else { self.changes.clone() };
        [vec!["tune".to_owned()], self.machine.clone(), what].concat()
    }

    fn end(&self, undo: bool) -> Output {
        let mut command = self.command(TEIJI);
        command.args(self.words(undo));
        Running::start(command).end()
    }

    /// Any verb puts right what was killed on this machine, and leaves alone what had come to its
    /// end.
    fn any_verb(
        &self,
        state: &dyn Fn() -> BTreeMap<String, String>,
        before: &BTreeMap<String, String>,
    ) {
        let left = state();
        let mut command = self.command(TEIJI);
        command.args(["plan-length", "--rate", "1/1000"]);
        let output = Running::start(command).end();
        assert!(output.code == Some(0) && output.err.lines().count() <= 1, "{output:?}");
        match fs::read_to_string(self.place.join("state/journal.json")) {
            Ok(journal) => {
                assert!(journal.contains("\"phase\": \"applied\"") && state() == left, "{journal}")
            }
            Err(_) => assert!(state() == *before, "{output:?}"),
        }
        assert_eq!(
            output.err.contains("of a teiji tune that was killed put back"),
            state() != left,
            "{output:?}"
        );
    }

    /// The calls of this name from when the journal is first written, or read to undo: the first
    /// and the last, by their number. None without strace.
    fn calls(&self, call: &str, undo: bool) -> Option<(usize, usize)> {
        let mut command = self.traced(&format!("openat,{call}"));
        command.args(["-o", "trace", TEIJI]).args(self.words(undo));
        if !command.output().ok()?.status.success() {
            return None;
        }
        let trace = self.place.read("trace");
        let is_call = |line: &&str| line.starts_with(&format!("{call}("));
        let begin = if undo { "/lock\"" } else { "/journal.json.new\"" };
        let before = trace.lines().take_while(|line| !line.contains(begin)).filter(is_call).count();
        Some((before + 1, trace.lines().filter(is_call).count()))
    }

    /// Kills it as it begins such a call.
    fn killed_at(&self, call: &str, number: usize, undo: bool) -> bool {
        let mut command = self.traced(call);
        let inject = format!("inject={call}:signal=SIGKILL:when={number}");
        command.args(["-e", &inject, "-o", "/dev/null", TEIJI]).args(self.words(undo));
        Running::start(command).end().code.is_none()
    }

    /// Kills it at each call in turn, and has the next call put everything back. How many calls.
    fn walk(&self, state: &dyn Fn() -> BTreeMap<String, String>) -> Option<usize> {
        let (before, mut calls, mut killed, mut seen) = (state(), 0, 0, Vec::new());
        for undo in [false, true] {
            for call in CALLS {
                if undo {
                    assert_eq!(self.end(false).code, Some(0));
                }
                let (first, last) = self.calls(call, undo)?;
                // A second tuning would find nothing to change.
                assert_eq!(self.end(true).code, Some(0));
                calls += last + 1 - first;
                for number in to_be_killed_at(first, last) {
                    if undo {
                        assert_eq!(self.end(false).code, Some(0));
                    }
                    assert!(self.killed_at(call, number, undo), "{call} {number} of {last}");
                    killed += 1;
                    let left = state();
                    if !seen.contains(&left) {
                        seen.push(left);
                    }
                    // Each third time it is not asked to put back, and does so before it changes
                    // anything.
                    if killed % 3 == 0 {
                        assert_eq!(self.end(false).code, Some(0), "after {call} {number}");
                    } else if killed % 3 == 1 && self.machine.ends_with(&["/".to_owned()]) {
                        self.any_verb(state, &before);
                    }
                    let undone = self.end(true);
                    assert!(
                        undone.code == Some(0) && undone.err.is_empty(),
                        "after {call} {number}: {undone:?}"
                    );
                    assert!(state() == before, "after {call} {number}: {:?}", state());
                    assert!(!self.place.join("state/journal.json").exists());
                }
                assert_eq!(self.end(true).code, Some(0));
            }
        }
        // Without changes, with all of them, and with each number in between.
        assert!(seen.len() > 2, "{seen:?}");
        Some(calls)
    }
}

/// Kills a tuning on top of one that stays at each of these calls in turn. The next call has what
/// stayed, or all of it where that was to stay too and was done. Undoing has what was there first.
/// How many calls.
fn walk_on_top(
    tuned: &Tuned,
    first: &Tuned,
    calls: &[&str],
    state: &dyn Fn() -> BTreeMap<String, String>,
) -> Option<usize> {
    let (before, mut numbers, mut killed) = (state(), 0, 0);
    assert_eq!(first.end(false).code, Some(0));
    let stayed = state();
    let to_stay = !tuned.changes.contains(&"--".to_owned());
    for call in calls {
        let (begin, last) = tuned.calls(call, false)?;
        let all = state();
        assert_eq!(all != stayed, to_stay);
        numbers += last + 1 - begin;
        for number in to_be_killed_at(begin, last) {
            assert_eq!(tuned.end(true).code, Some(0));
            assert!(state() == before, "before {call} {number}");
            assert_eq!(first.end(false).code, Some(0));
            assert!(tuned.killed_at(call, number, false), "{call} {number} of {last}");
            killed += 1;
            // Each other time it is undone at once.
            if killed % 2 == 0 {
                assert_eq!(first.end(false).code, Some(0));
                assert!(
                    state() == stayed || to_stay && state() == all,
                    "after {call} {number}: {:?}",
                    state()
                );
            }
        }
        assert_eq!(tuned.end(true).code, Some(0));
        assert!(
            state() == before && !tuned.place.join("m/var/lib/teiji/tune/journal.json").exists()
        );
        assert_eq!(first.end(false).code, Some(0));
    }
    Some(numbers)
}

#[test]
fn killed_at_each_call_on_top_of_what_stays() {
    let _turn = beside_others();
    let (place, other) = (TestFolder::on_disk(), TestFolder::new());
    let root = place.join("m");
    lay_out(&root, "laptop");
    let machine = vec!["--root".to_owned(), root.display().to_string()];
    let on = |place, changes| Tuned {
        place,
        machine: machine.clone(),
        changes: owned(changes),
        files: Vec::new(),
    };
    let first = on(other, "--cpus 2 --only governor,watchdogs,statistics-interval");
    let second =
        on(place, "--cpus 2-3 --only governor,watchdogs,timer-migration,transparent-hugepages");
    // How often a program reads until its command has ended is not always the same.
    let command = Tuned {
        changes: owned("--cpus 1-3 --only governor,timer-migration -- true"),
        ..on(TestFolder::on_disk(), "")
    };
    let calls = walk_on_top(&second, &first, &CALLS, &|| contents(&root)).and_then(|calls| {
        Some(
            calls + {
                first.end(true);
                walk_on_top(&command, &first, &["write", "fsync", "rename"], &|| contents(&root))?
            },
        )
    });
    match calls {
        Some(calls) => assert!(calls > 60, "{calls}"),
        None => skipped(Need::Strace, "strace does not run the program"),
    }
}

fn owned(words: &str) -> Vec<String> {
    words.split(' ').map(str::to_owned).collect()
}

#[test]
fn killed_at_each_call_every_file_comes_back() {
    let _turn = beside_others();
    let place = TestFolder::on_disk();
    let root = place.join("m");
    lay_out(&root, "laptop");
    let tuned = Tuned {
        place,
        machine: owned("--root m"),
        changes: owned("--cpus 2-3"),
        files: Vec::new(),
    };
    match tuned.walk(&|| contents(&root)) {
        Some(calls) => assert!(calls > 200, "{calls}"),
        None => skipped(Need::Strace, "strace does not run the program"),
    }
}

/// Nested groups, and threads in the root that are moved into another one.
#[test]
fn killed_at_each_call_groups_of_version_1_come_back() {
    let _turn = beside_others();
    let place = TestFolder::on_disk();
    let root = place.join("m");
    lay_out(&root, "laptop");
    let file = |path: &str, text: &str| {
        fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
        fs::write(root.join(path), text).unwrap();
    };
    file(
        "proc/self/mountinfo",
        "34 31 0:31 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n",
    );
    for (group, cpus) in [("", "0-3\n"), ("/docker", "0-3\n"), ("/docker/a", "1-2\n")] {
        file(&format!("sys/fs/cgroup/cpuset{group}/cpuset.cpus"), cpus);
        file(&format!("sys/fs/cgroup/cpuset{group}/cpuset.mems"), "0\n");
    }
    file("sys/fs/cgroup/cpuset/tasks", "1\n41\n");
    for thread in [1, 41] {
        let status =
            format!("Tgid:\t{thread}\nPPid:\t0\nVmSize:\t100 kB\nCpus_allowed_list:\t0-3\n");
        file(&format!("proc/{thread}/status"), &status);
    }
    let tuned = Tuned {
        place,
        machine: owned("--root m"),
        changes: owned("--cpus 2-3 --only control-groups"),
        files: Vec::new(),
    };
    // A folder that is left behind has files.
    match tuned.walk(&|| contents(&root)) {
        Some(calls) => assert!(calls > 100, "{calls}"),
        None => skipped(Need::Strace, "strace does not run the program"),
    }
    assert!(!root.join("sys/fs/cgroup/cpuset/teiji").exists());
}

/// Settings of this machine that nothing depends on for a moment.
const HARMLESS: [&str; 5] = [
    "/proc/sys/vm/stat_interval",
    "/proc/sys/vm/compaction_proactiveness",
    "/proc/sys/kernel/timer_migration",
    "/proc/sys/kernel/numa_balancing",
    "/sys/kernel/mm/transparent_hugepage/enabled",
];

/// Puts them back, whatever becomes of the test.
pub struct PutBack(pub BTreeMap<String, String>);

impl Drop for PutBack {
    fn drop(&mut self) {
        for (file, text) in &self.0 {
            let value = text
                .split_once('[')
                .and_then(|(_, rest)| rest.split_once(']'))
                .map_or(text.as_str(), |(value, _)| value);
            let _ = fs::write(file, value);
        }
    }
}

pub fn harmless() -> BTreeMap<String, String> {
    HARMLESS
        .iter()
        .filter_map(|file| Some(((*file).to_owned(), fs::read_to_string(file).ok()?)))
        .collect()
}

#[test]
fn killed_at_each_call_the_kernels_settings_come_back() {
    let _turn = exclusive();
    if !is_root() {
        return skipped(Need::RealTime, "only root may change the kernel's settings");
    }
    let _restored = PutBack(harmless());
    // A value with something to change, whatever this machine has.
    fs::write("/proc/sys/vm/stat_interval", "3").unwrap();
    let only = "--only statistics-interval,compaction,timer-migration,numa-balancing,\
                transparent-hugepages";
    let changes = owned(&format!("--cpus {} {only}", quiet_cpu()));
    let place = TestFolder::on_disk();
    let state = ["state", "state/lock", "state/journal.json", "state/journal.json.new"]
        .map(|name| place.join(name));
    let files = state.into_iter().chain(HARMLESS.map(PathBuf::from)).collect();
    let tuned = Tuned { place, machine: owned("--root /"), changes, files };
    match tuned.walk(&harmless) {
        Some(calls) => assert!(calls > 60, "{calls}"),
        None => skipped(Need::Strace, "strace does not run the program"),
    }
}

/// Nobody is left to put anything back when the command ends.
#[test]
fn killed_while_its_command_runs() {
    let place = TestFolder::on_disk();
    let root = place.join("m");
    lay_out(&root, "laptop");
    let before = contents(&root);
    let mut command = place.command(TEIJI);
    command.args([
        "tune",
        "--root",
        "m",
        "--cpus",
        "2-3",
        "--",
        "sh",
        "-c",
        "echo > begun; exec sleep 3",
    ]);
    let running = Running::start(command);
    soon("the command runs", || place.join("begun").exists());
    running.signal(Signal::KILL);
    assert_eq!(running.end().code, None);
    let checked = place.teiji("check --root m").out;
    assert!(checked.contains("teiji tune was cut off: up to 12 changes left to undo"), "{checked}");
    assert!(checked.contains("Do: sudo teiji tune --undo"), "{checked}");
    let undone = place.well("tune --root m --undo");
    assert_eq!(undone.out, "12 settings put back.\n");
    assert_eq!(contents(&root), before);
    let checked = place.teiji("check --root m").out;
    assert!(!checked.contains("teiji tune was"), "{checked}");
}
