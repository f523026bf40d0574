// SPDX-License-Identifier: MIT OR Apache-2.0
//! SIGKILL at each system call that writes to a boot loader's files: each file is the old one or
//! the new one, and undoing has the first.

use crate::support::machine::lay_out;
use crate::support::skipped::{Need, skipped};
use crate::support::{Output, Running, TEIJI, TestFolder, beside_others, is_root, to_be_killed_at};
use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

/// What changes something on disk, or stands between two such calls.
const CALLS: [&str; 8] =
    ["openat", "read", "write", "fsync", "rename", "unlink", "fchown", "fchmod"];

const ENTRY: &str = "m/boot/loader/entries/one.conf";
const CMDLINE: &str = "m/etc/kernel/cmdline";
/// Of two, so that one may be new and the other old.
const FILES: [(&str, &str); 2] = [
    (ENTRY, "title One\nlinux /vmlinuz\noptions root=/dev/a quiet\n"),
    (CMDLINE, "root=/dev/a rcu_nocbs=0\n"),
];

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Asked {
    /// Arguments, written to files as they were at first.
    First,
    /// Arguments for other CPUs, when some were written.
    Second,
    /// The files as they were at first.
    Undo,
}

impl Asked {
    fn words(self) -> &'static str {
        match self {
            Asked::First => "tune --boot --root m --cpus 2-3 --write",
            Asked::Second => "tune --boot --root m --cpus 1-3 --write",
            Asked::Undo => "tune --boot --root m --undo",
        }
    }
}

struct Machine {
    place: TestFolder,
    /// All that was there at first, by name.
    names: Vec<String>,
}

type Texts = BTreeMap<&'static str, String>;

impl Machine {
    fn new() -> Machine {
        let place = TestFolder::on_disk();
        lay_out(&place.join("m"), "laptop");
        for (file, text) in FILES {
            let path = place.join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, text).unwrap();
            if is_root() {
                std::os::unix::fs::chown(&path, Some(12), Some(34)).unwrap();
            }
            fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o640))
                .unwrap();
        }
        let mut machine = Machine { place, names: Vec::new() };
        machine.names = machine.listing();
        machine
    }

    fn listing(&self) -> Vec<String> {
        self.place
            .listing()
            .into_iter()
            .filter(|name| !name.starts_with("m/var") && name != "trace")
            .collect()
    }

    fn texts(&self) -> Texts {
        FILES.iter().map(|(file, _)| (*file, self.place.read(file))).collect()
    }

    fn run(&self, asked: Asked) -> Output {
        self.place.teiji(asked.words())
    }

    /// As it is to be before this is asked for.
    fn prepare(&self, asked: Asked) {
        assert_eq!(self.run(Asked::Undo).code, Some(0));
        if asked != Asked::First {
            assert_eq!(self.run(Asked::First).code, Some(0));
        }
    }

    fn traced(&self, calls: &str) -> Command {
        let mut command = self.place.command("strace");
        command.args(["-qq", "-e", &format!("trace={calls}")]);
        command
    }

    /// The calls of this name since the lock is taken: the first and the last, by their number.
    /// None without strace.
    fn calls(&self, call: &str, asked: Asked) -> Option<(usize, usize)> {
        self.prepare(asked);
        let mut command = self.traced(&format!("openat,{call}"));
        command.args(["-o", "trace", TEIJI]).args(asked.words().split(' '));
        if !command.output().ok()?.status.success() {
            return None;
        }
        let trace = self.place.read("trace");
        let is_call = |line: &&str| line.starts_with(&format!("{call}("));
        let before =
            trace.lines().take_while(|line| !line.contains("/lock\"")).filter(is_call).count();
        Some((before + 1, trace.lines().filter(is_call).count()))
    }

    fn kill_at(&self, call: &str, number: usize, asked: Asked) {
        self.prepare(asked);
        let mut command = self.traced(call);
        let inject = format!("inject={call}:signal=SIGKILL:when={number}");
        command.args(["-e", &inject, "-o", "/dev/null", TEIJI]).args(asked.words().split(' '));
        assert_eq!(Running::start(command).end().code, None, "{asked:?}: {call} {number}");
    }

    /// Everything is as at first, and nothing is left beside it.
    fn assert_first(&self, when: &str) {
        assert!(
            FILES.iter().all(|(file, text)| self.place.read(file) == *text),
            "{when}: {:?}",
            self.texts()
        );
        assert_eq!(self.listing(), self.names, "{when}");
        assert!(!self.place.join("m/var/lib/teiji/tune/boot.json").exists(), "{when}");
        for (file, _) in FILES {
            let found = fs::metadata(self.place.join(file)).unwrap();
            assert_eq!(
                std::os::unix::fs::PermissionsExt::mode(&found.permissions()) & 0o777,
                0o640,
                "{when}"
            );
            assert!(!is_root() || std::os::unix::fs::MetadataExt::uid(&found) == 12, "{when}");
        }
    }

    /// Kills it at each call in turn. How many calls, and what was seen of the files.
    fn walk(&self, asked: Asked) -> Option<(usize, Vec<Texts>)> {
        self.prepare(asked);
        let old = self.texts();
        assert_eq!(self.run(asked).code, Some(0));
        let new = self.texts();
        let (mut calls, mut killed, mut seen) = (0, 0, Vec::new());
        for call in CALLS {
            let (first, last) = self.calls(call, asked)?;
            calls += last + 1 - first;
            for number in to_be_killed_at(first, last) {
                self.kill_at(call, number, asked);
                killed += 1;
                let when = format!("{asked:?} killed at {call} {number} of {last}");
                let now = self.texts();
                assert!(
                    now.iter().all(|(file, text)| *text == old[file] || *text == new[file]),
                    "{when}: {now:?}"
                );
                if !seen.contains(&now) {
                    seen.push(now);
                }
                // Each other time it is asked for once more, and done.
                if killed % 2 == 0 {
                    let again = self.run(asked);
                    assert!(again.code == Some(0) && self.texts() == new, "{when}: {again:?}");
                }
                let undone = self.run(Asked::Undo);
                assert!(undone.code == Some(0) && undone.err.is_empty(), "{when}: {undone:?}");
                self.assert_first(&when);
            }
        }
        Some((calls, seen))
    }
}

fn walk(asked: Asked) {
    let _turn = beside_others();
    match Machine::new().walk(asked) {
        Some((calls, seen)) => {
            assert!(calls > 30, "{calls}");
            assert_eq!(seen.len(), 3, "none, one and both of the files: {seen:?}");
        }
        None => skipped(Need::Strace, "strace does not run the program"),
    }
}

#[test]
fn killed_at_each_call_a_boot_loaders_file_is_old_or_new() {
    walk(Asked::First);
}

#[test]
fn killed_at_each_call_of_a_second_writing_the_first_text_is_known() {
    walk(Asked::Second);
}

#[test]
fn killed_at_each_call_undoing_can_be_begun_again() {
    walk(Asked::Undo);
}
