// SPDX-License-Identifier: MIT OR Apache-2.0
//! `teiji tune`, on files that stand for another machine and on harmless settings of this one.

use crate::support::machine::{contents, lay_out};
use crate::support::pty::OnTerminal;
use crate::support::{Output, Running, TEIJI, TestFolder, exclusive, is_root, soon};
use rustix::process::Signal;
use serde_json::Value;
use std::fs;

/// A folder with a laptop in it.
fn with_laptop() -> TestFolder {
    let place = TestFolder::new();
    lay_out(&place.join("m"), "laptop");
    place
}

const INTERVAL: &str = "m/proc/sys/vm/stat_interval";
const JOURNAL: &str = "m/var/lib/teiji/tune/journal.json";

#[test]
fn a_plan_shows_differences_and_changes_nothing() {
    let place = with_laptop();
    let before = contents(&place.join("m"));
    let output = place.well("tune --plan --root m --cpus 2-3");
    assert!(
        output.out.starts_with(
            "12 settings to change for CPUs 2-3. Apply: sudo teiji tune --cpus 2-3 --root m\n"
        ),
        "{output:?}"
    );
    let one = place
        .well("tune --plan --root m --cpus 2-3 --only governor,watchdogs --except watchdogs")
        .out;
    assert!(
        one.contains(
            " Apply: sudo teiji tune --cpus 2-3 --root m --only governor,watchdogs --except \
             watchdogs\n"
        ),
        "{one}"
    );
    let governor = concat!(
        "    /sys/devices/system/cpu/cpu2/cpufreq/scaling_governor\n",
        "    - powersave\n",
        "    + performance\n",
    );
    assert!(output.out.contains(governor), "{output:?}");
    assert!(output.out.contains("    Risk: More power and heat."), "{output:?}");
    assert!(output.out.contains("\nOnly when asked for: --also turbo\n"), "{output:?}");
    assert!(
        output.out.contains("\nNever changed on this machine\n    RT throttling"),
        "{output:?}"
    );
    assert!(output.out.contains("\nNote: irqbalance runs"), "{output:?}");
    let json: Value =
        serde_json::from_str(&place.well("tune --plan --root m --cpus 2-3 --json").out).unwrap();
    assert_eq!(json["changes"].as_array().unwrap().len(), 12);
    assert_eq!(json["changes"][0]["check"], "governor");
    assert_eq!(contents(&place.join("m")), before);
    assert!(!place.join("m/var").exists());
}

#[test]
fn changes_stay_until_they_are_undone() {
    let place = with_laptop();
    let before = contents(&place.join("m"));
    let output = place.well("tune --root m --cpus 2-3");
    assert!(
        output.out.starts_with(
            "12 settings changed for CPUs 2-3. Undo: sudo teiji tune --undo --root m."
        ),
        "{output:?}"
    );
    assert_eq!(place.read(INTERVAL), "120");
    let checked = place.teiji("check --root m -a 2-3").out;
    assert!(checked.contains("12 changes by teiji tune"), "{checked}");
    // Tuned anew, the first values are still those from before.
    let output = place.well("tune --root m --cpus 1-3 --json");
    assert!(output.err.contains("note: 12 settings of an earlier teiji tune stay\n"), "{output:?}");
    let json: Value = serde_json::from_str(&output.out).unwrap();
    let changes = json["changes"].as_array().unwrap();
    assert!(
        !changes.is_empty() && changes.iter().all(|change| change["changed"] == true),
        "{json}"
    );
    let tuned = contents(&place.join("m"));
    place.well("tune --root m --cpus 1-3 -- true");
    place.well("tune --root m --cpus 0-2 -- true");
    assert_eq!(contents(&place.join("m")), tuned, "a command leaves what stays");
    place.well("tune --undo --root m");
    assert_eq!(contents(&place.join("m")), before);
    assert_eq!(place.well("tune --undo --root m").out, "Nothing to put back.\n");
}

#[test]
fn what_cannot_be_put_back_is_said_and_kept() {
    let place = with_laptop();
    let before = contents(&place.join("m"));
    place.well("tune --root m --cpus 2-3");
    fs::write(place.join(INTERVAL), "7\n").unwrap();
    let output = place.teiji("tune --undo --root m");
    assert_eq!(output.code, Some(4), "{output:?}");
    let line =
        "error: not put back: /proc/sys/vm/stat_interval: somebody else has changed it to '7'\n";
    assert_eq!(output.err, line);
    assert!(
        output.out.starts_with("11 of 12 settings put back. The others stay in the journal"),
        "{output:?}"
    );
    assert!(place.join(JOURNAL).exists());
    assert_eq!(place.well("tune --undo --force --root m").out, "1 setting put back.\n");
    assert_eq!(contents(&place.join("m")), before);
    assert!(!place.join(JOURNAL).exists());
}

#[test]
fn after_a_reboot_there_is_nothing_to_put_back() {
    let place = with_laptop();
    let boot_id = place.join("m/proc/sys/kernel/random/boot_id");
    fs::create_dir_all(boot_id.parent().unwrap()).unwrap();
    fs::write(&boot_id, "first\n").unwrap();
    place.well("tune --root m --cpus 2-3");
    fs::write(&boot_id, "second\n").unwrap();
    let output = place.well("tune --undo --root m");
    assert!(
        output.out.starts_with("Nothing to put back: the machine was booted since"),
        "{output:?}"
    );
    assert_eq!(place.read(INTERVAL), "120");
    assert!(!place.join(JOURNAL).exists());
}

#[test]
fn arguments_of_the_kernel_are_printed() {
    let place = TestFolder::new();
    lay_out(&place.join("m"), "pi-3-document-002");
    fs::write(place.join("m/boot/cmdline.txt"), "quiet\n").unwrap();
    let output = place.well("tune --boot --root m");
    assert!(
        output
            .out
            .contains("\n    - rcu_nocbs=0\n    + rcu_nocbs=1-3\n    RCU callbacks run in threads"),
        "{output:?}"
    );
    assert!(output.out.contains("\n    + irqaffinity=0\n"), "{output:?}");
    assert!(
        output.out.contains(
            "\nRight already: isolcpus=1-3 nohz_full=1-3 dwc_otg.fiq_enable=0\n\
             dwc_otg.fiq_fsm_enable=0\n"
        ),
        "{output:?}"
    );
    assert!(
        output.out.contains("\nWhere: /boot/cmdline.txt (all in its one line), then reboot\n"),
        "{output:?}"
    );
    // A terminal would break them within a word.
    for words in ["--boot", "--plan --cpus 1-3"] {
        let output = place.well(&format!("tune {words} --root m"));
        assert!(output.out.lines().all(|line| line.chars().count() <= 80), "{output:?}");
    }
    let json: Value =
        serde_json::from_str(&place.well("tune --boot --root m --cpus 2-3 --json").out).unwrap();
    assert_eq!(json["changes"][0]["from"], "isolcpus=1-3");
    assert_eq!(json["changes"][0]["to"], "isolcpus=2-3", "this kernel knows no managed_irq");
    assert_eq!(place.read("m/boot/cmdline.txt"), "quiet\n");
}

/// The machine runs without them until it is booted.
#[test]
fn a_file_that_has_the_arguments_already_is_named() {
    let place = TestFolder::new();
    lay_out(&place.join("m"), "pi-3-document-002");
    fs::write(place.join("m/boot/cmdline.txt"), "quiet\n").unwrap();
    let shown = || place.well("tune --boot --root m").out.replace('\n', " ");
    assert!(shown().contains("Nothing is written without --write. "));
    place.well("tune --boot --write --root m");
    let output = place.well("tune --boot --root m").out;
    assert!(
        shown().contains(" /boot/cmdline.txt has them already: they count from the next boot. "),
        "{output}"
    );
    assert!(
        output.contains("\n    + irqaffinity=0\n")
            && !output.contains("--write\n")
            && !output.contains("\nWhere: "),
        "{output}"
    );
    let json: Value = serde_json::from_str(&place.well("tune --boot --root m --json").out).unwrap();
    assert_eq!(json["written"][0], "/boot/cmdline.txt");
    place.well("tune --boot --undo --root m");
    assert!(shown().contains("Nothing is written without --write. "));
}

/// As it can be copied, on the CPUs that were checked. The files here are copies.
#[test]
fn check_prints_the_command_of_tune() {
    let place = with_laptop();
    let checked = place.teiji("check --root m -a 2-3").out;
    assert!(
        checked.contains("        Or on that machine: sudo teiji tune --cpus 2-3\n"),
        "{checked}"
    );
    assert!(
        checked.contains("        Or on that machine: sudo teiji tune --cpus 2-3 --also turbo\n"),
        "{checked}"
    );
    let checked = place.teiji("check --root m").out;
    assert!(
        checked.contains("        Or on that machine: sudo teiji tune --cpus 0-3\n"),
        "{checked}"
    );
}

#[test]
fn wrong_usage_changes_nothing() {
    let place = with_laptop();
    place.well("tune --root m --cpus 2-3");
    for (words, said) in [
        ("tune", "no CPUs named: teiji tune --plan shows"),
        ("tune --root m --cpus 9", "CPU 9 cannot be used"),
        (
            "tune --root m --cpus 1 --also gouvernor",
            "unknown change 'gouvernor': expected one of governor, turbo, ",
        ),
        (
            "tune --root m --cpus 1 --also rt-throttling",
            "is never changed on this machine. Without PREEMPT_RT",
        ),
        ("tune --plan --undo", "cannot be used with"),
        ("tune --plan -p 50", "--prio is for --prove"),
        ("tune --root m --cpus 1 --load idle", "--prove"),
        ("tune --root m", "sudo teiji tune --cpus 1,3 changes it for CPUs 1,3"),
        ("tune --root m --boot", "no CPU would be left for everything else"),
        ("tune --force", "--undo"),
        ("tune --root m/proc --cpus 1", "has no proc"),
    ] {
        let output = place.teiji(words);
        assert!(output.code == Some(2) && output.err.contains(said), "{words}: {output:?}");
        assert_eq!(place.read(INTERVAL), "120", "{words}");
    }
}

/// A command of a shell, tuned for.
fn for_command(place: &TestFolder, script: &str) -> Running {
    let mut command = place.command(TEIJI);
    command.args(["tune", "--root", "m", "--cpus", "2-3", "--", "sh", "-c", script]);
    Running::start(command)
}

#[test]
fn a_command_has_the_settings_while_it_runs() {
    let place = with_laptop();
    let before = contents(&place.join("m"));
    let Output { code, out, err } = for_command(&place, &format!("cat {INTERVAL}; exit 7")).end();
    assert_eq!((code, out.as_str()), (Some(7), "120"), "{err}");
    let note =
        "note: irqbalance runs, and may move interrupts back: sudo systemctl stop irqbalance\n";
    assert_eq!(err, format!("{note}12 settings changed for CPUs 2-3.\n"));
    assert_eq!(contents(&place.join("m")), before);
    let missing = place.teiji("tune --root m --cpus 2-3 -- no-such-program");
    assert!(
        missing.code == Some(2) && missing.err.contains("cannot run no-such-program: "),
        "{missing:?}"
    );
    assert_eq!(contents(&place.join("m")), before);
}

/// Put back by somebody else, it needs not be put back, and the command did not have it.
#[test]
fn what_did_not_stay_while_the_command_ran_is_named() {
    let place = with_laptop();
    let before = contents(&place.join("m"));
    let was = place.read(INTERVAL);
    let output = for_command(&place, &format!("printf '{was}' > {INTERVAL}")).end();
    let note = format!(
        "note: not as it was to be when the command ended: /proc/sys/vm/stat_interval: somebody \
         else has changed it to '{}'\n",
        was.trim()
    );
    assert!(output.code == Some(0) && output.err.ends_with(&note), "{output:?}");
    assert_eq!(contents(&place.join("m")), before);
}

#[test]
fn a_signal_goes_to_the_command_and_everything_is_put_back() {
    for (signal, script, code) in [
        (Signal::TERM, "echo begun; exec sleep 60", 128 + 15),
        (Signal::INT, "trap 'exit 9' INT; echo begun; while :; do sleep 0.05; done", 9),
        (Signal::HUP, "echo begun; exec sleep 60", 128 + 1),
    ] {
        let place = with_laptop();
        let before = contents(&place.join("m"));
        let running = for_command(
            &place,
            &format!("{script} >> begun").replace("begun; ", "begun > begun; "),
        );
        soon("the command runs", || place.join("begun").exists());
        assert_eq!(place.read(INTERVAL), "120");
        running.signal(signal);
        let output = running.end();
        assert_eq!(output.code, Some(code), "{output:?}");
        assert_eq!(contents(&place.join("m")), before);
        assert!(!place.join(JOURNAL).exists());
    }
}

/// The terminal sends it to both; the command gets it once.
#[test]
fn what_is_typed_on_a_terminal_reaches_the_command_once() {
    let place = with_laptop();
    let before = contents(&place.join("m"));
    let script = "n=0\ntrap 'n=$((n+1))' INT\necho begun\ni=0\nwhile [ $i -lt 20 ]; do sleep \
                  0.05; i=$((i+1)); done\nexit $n\n";
    fs::write(place.join("script"), script).unwrap();
    let mut terminal = OnTerminal::start(&place, "tune --root m --cpus 2-3 -- sh script");
    terminal.look_until("begun");
    terminal.press(b"\x03");
    let output = terminal.running.end();
    assert_eq!(output.code, Some(1), "{output:?}");
    assert_eq!(contents(&place.join("m")), before);
}

#[test]
fn while_one_runs_another_does_not() {
    let place = with_laptop();
    let before = contents(&place.join("m"));
    let running = for_command(&place, "echo > begun; exec sleep 60");
    soon("the command runs", || place.join("begun").exists());
    for words in ["tune --root m --cpus 1", "tune --root m --undo"] {
        let output = place.teiji(words);
        let said = format!(
            "error: teiji tune runs already (process {}): end it first\n",
            running.pid().as_raw_nonzero()
        );
        assert_eq!((output.code, output.err.as_str()), (Some(4), said.as_str()));
    }
    let checked = place.teiji("check --root m").out;
    assert!(checked.contains("12 changes by teiji tune, while its command runs"), "{checked}");
    running.signal(Signal::TERM);
    running.end();
    assert_eq!(contents(&place.join("m")), before);
}

/// Who may not write says so for each setting, and nothing is left.
#[test]
fn without_rights_each_setting_is_named() {
    if is_root() {
        return without_a_journal_nothing_is_changed();
    }
    let place = TestFolder::new();
    let mut command = place.command(TEIJI);
    command.env("TEIJI_STATE", place.join("state")).args([
        "tune",
        "--cpus",
        "0",
        "--only",
        "statistics-interval",
    ]);
    let output = Running::start(command).end();
    assert_eq!(output.code, Some(4), "{output:?}");
    assert!(
        output.err.contains("not changed: /proc/sys/vm/stat_interval: the kernel refuses it: "),
        "{output:?}"
    );
    without_a_journal_nothing_is_changed();
}

fn without_a_journal_nothing_is_changed() {
    let place = with_laptop();
    let before = contents(&place.join("m"));
    fs::write(place.join("m/var"), "").unwrap();
    let output = place.teiji("tune --root m --cpus 2-3");
    assert_eq!(output.code, Some(4), "{output:?}");
    assert!(
        output.err.contains("cannot use the journal in ")
            && output.err.ends_with("Nothing was changed\n"),
        "{output:?}"
    );
    assert_eq!(contents(&place.join("m")), before);
}

/// A file system that is mounted read-only, as /sys is in a container.
#[test]
fn a_read_only_sys_is_named_and_the_rest_goes_on() {
    let _turn = exclusive();
    let place = with_laptop();
    let before = contents(&place.join("m"));
    let mut command = place.command("unshare");
    let script = format!(
        "mount --bind m/sys m/sys && mount -o remount,ro,bind m/sys && {TEIJI} tune --root m \
         --cpus 2-3; echo code $?; cat {INTERVAL}; {TEIJI} tune --root m --undo"
    );
    command.args(["--mount", "--map-root-user", "sh", "-c", &script]);
    let output = Running::start(command).end();
    if output.out.is_empty() {
        return crate::support::skipped::skipped(crate::support::skipped::Need::Mount, output.err);
    }
    assert!(
        output.out.contains("changed for CPUs 2-3.") && output.out.contains("\ncode 4\n120"),
        "{output:?}"
    );
    let refused = "error: not changed: /sys/kernel/mm/ksm/run: the kernel refuses it: Read-only \
                   file system (os error 30) (mounted read-only, as in a container)\n";
    assert!(output.err.contains(refused), "{output:?}");
    assert_eq!(output.code, Some(0), "{output:?}");
    assert_eq!(contents(&place.join("m")), before);
}
