// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a killed tuning left on this machine, and any call that comes next: on settings of the
//! kernel that nothing depends on for a moment.

use super::tuning::{PutBack, harmless};
use crate::ordinary_user::{powerless, public};
use crate::support::skipped::{Need, skipped};
use crate::support::{Output, Running, TEIJI, TestFolder, exclusive, is_root, quiet_cpu, soon};
use rustix::process::Signal;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;

const INTERVAL: &str = "/proc/sys/vm/stat_interval";
/// Cheap ones, that do different things.
const VERBS: [&str; 4] = [
    "probes",
    "plan-length --rate 1/1000",
    "plans",
    "tune --plan --cpus 0 --only statistics-interval",
];

/// This machine, with a value that there is something to change of.
struct Machine {
    place: TestFolder,
    _restored: PutBack,
}

impl Machine {
    /// None without the right to change it.
    fn new() -> Option<Machine> {
        if !is_root() {
            skipped(Need::RealTime, "only root may change the kernel's settings");
            return None;
        }
        let restored = PutBack(harmless());
        fs::write(INTERVAL, "3").unwrap();
        Some(Machine { place: public(), _restored: restored })
    }

    fn start(&self, words: &str, command: &[&str]) -> Running {
        let mut program = self.place.command(TEIJI);
        program
            .env("TEIJI_STATE", self.place.join("state"))
            .args(words.split_whitespace())
            .args(command);
        Running::start(program)
    }

    fn call(&self, words: &str) -> Output {
        self.start(words, &[]).end()
    }

    fn tune(&self, command: &[&str]) -> Running {
        self.start(&format!("tune --cpus {} --only statistics-interval", quiet_cpu()), command)
    }

    /// Tuned for a command that runs.
    fn tuned(&self) -> Running {
        let running = self.tune(&["--", "sh", "-c", "echo > begun; exec sleep 30"]);
        soon("the command runs", || self.place.join("begun").exists());
        assert_eq!(interval(), "120");
        fs::remove_file(self.place.join("begun")).unwrap();
        running
    }

    fn killed(&self) {
        let running = self.tuned();
        let command = running.descendants();
        running.signal(Signal::KILL);
        command.iter().for_each(|process| process.signal(Signal::KILL));
        assert_eq!(running.end().code, None);
        assert_eq!(interval(), "120");
    }

    fn has_journal(&self) -> bool {
        self.place.join("state/journal.json").exists()
    }
}

fn interval() -> String {
    fs::read_to_string(INTERVAL).unwrap().trim().to_owned()
}

const SAID: &str = "note: 1 setting of a teiji tune that was killed put back\n";

#[test]
fn any_call_puts_right_what_was_killed() {
    let _turn = exclusive();
    let Some(machine) = Machine::new() else { return };
    for verb in VERBS {
        machine.killed();
        for quiet in ["--help", "--version", "probes --help", "no-such-verb"] {
            assert!(!machine.call(quiet).err.contains("killed"), "{quiet}");
            assert_eq!(interval(), "120", "{quiet}");
        }
        let output = machine.call(verb);
        assert!(output.code == Some(0) && output.err.starts_with(SAID), "{verb}: {output:?}");
        assert_eq!(interval(), "3", "{verb}");
        assert!(!machine.has_journal());
        assert!(!machine.call(verb).err.contains("killed"), "{verb}");
    }
}

/// It is measured on the machine as it was, and the recording says so.
#[test]
fn a_run_begins_on_a_machine_that_was_put_right() {
    let _turn = exclusive();
    let Some(machine) = Machine::new() else { return };
    machine.killed();
    let output = machine.call("measure -q -i 1ms -n 20 -o x.teiji");
    assert!(output.code == Some(0) && output.err.starts_with(SAID), "{output:?}");
    assert_eq!(interval(), "3");
}

#[test]
fn while_another_tune_lives_nothing_is_touched() {
    let _turn = exclusive();
    let Some(machine) = Machine::new() else { return };
    let running = machine.tuned();
    for verb in VERBS {
        let output = machine.call(verb);
        assert!(output.code == Some(0) && !output.err.contains("killed"), "{output:?}");
        assert_eq!(interval(), "120", "{verb}");
    }
    running.signal(Signal::TERM);
    running.end();
    assert_eq!(interval(), "3");
}

#[test]
fn changes_that_are_to_stay_stay() {
    let _turn = exclusive();
    let Some(machine) = Machine::new() else { return };
    assert_eq!(machine.tune(&[]).end().code, Some(0));
    let output = machine.call("probes");
    assert_eq!((output.err.as_str(), interval().as_str()), ("", "120"));
    assert!(machine.has_journal());
    assert_eq!(machine.call("tune --undo").out, "1 setting put back.\n");
}

#[test]
fn after_a_reboot_the_journal_goes_with_the_next_undoing() {
    let _turn = exclusive();
    let Some(machine) = Machine::new() else { return };
    machine.killed();
    let path = machine.place.join("state/journal.json");
    let boot_id = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    let journal = fs::read_to_string(&path).unwrap();
    fs::write(&path, journal.replace(boot_id.trim(), "another")).unwrap();
    assert_eq!(machine.call("probes").err, "");
    assert!(machine.has_journal());
    let undone = machine.call("tune --undo").out;
    assert!(undone.contains("the machine was booted since"), "{undone}");
    assert!(!machine.has_journal());
    assert_eq!(interval(), "120");
}

/// Whoever may not put it back is told, and goes on.
#[test]
fn an_ordinary_user_is_told_and_goes_on() {
    let _turn = exclusive();
    let Some(machine) = Machine::new() else { return };
    machine.killed();
    let ordinary = |verb: &str| {
        let mut command = powerless(&machine.place);
        command.env("TEIJI_STATE", machine.place.join("state")).args(verb.split_whitespace());
        Running::start(command).end()
    };
    let said =
        "note: 1 setting of a teiji tune that was killed left. Put back: sudo teiji tune --undo\n";
    let is_told = || {
        for verb in &VERBS[..3] {
            let output = ordinary(verb);
            assert_eq!((output.code, output.err.as_str()), (Some(0), said), "{verb}");
            assert_eq!(interval(), "120", "{verb}");
        }
    };
    is_told();
    // A journal that may be written does not make the kernel's settings so, and root does not obey
    // what others could have put there.
    let state = machine.place.join("state");
    fs::set_permissions(&state, fs::Permissions::from_mode(0o777)).unwrap();
    is_told();
    let undone = machine.call("tune --undo");
    assert!(undone.code == Some(4) && undone.err.contains("others may write to "), "{undone:?}");
    assert_eq!(interval(), "120");
    fs::set_permissions(&state, fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(machine.call("probes").err, SAID);
    // While one lives, there is nothing to tell.
    let running = machine.tuned();
    assert_eq!(ordinary("probes").err, "");
    running.signal(Signal::TERM);
    running.end();
}

/// Where nothing is left, it costs one file that cannot be opened.
#[test]
fn without_a_journal_one_open_fails_and_nothing_else_is_done() {
    let place = TestFolder::on_disk();
    let mut command = place.command("strace");
    command.env("TEIJI_STATE", place.join("state")).args([
        "-f",
        "-qq",
        "-o",
        "trace",
        TEIJI,
        "plan-length",
        "--rate",
        "1/1000",
    ]);
    if !command.output().is_ok_and(|output| output.status.success()) {
        return skipped(Need::Strace, "strace does not run the program");
    }
    let trace = place.read("trace");
    let ours: Vec<&str> = trace.lines().filter(|line| line.contains("/state")).collect();
    let [open] = ours[..] else { panic!("{ours:?}") };
    assert!(
        open.contains(" open") && open.contains("/journal.json\"") && open.contains("ENOENT"),
        "{open}"
    );
    assert!(!place.join("state").exists());
}
