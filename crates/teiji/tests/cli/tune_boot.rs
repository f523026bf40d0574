// SPDX-License-Identifier: MIT OR Apache-2.0
//! `teiji tune --boot --write`, on files that stand for another machine.

use crate::ordinary_user::{powerless, public};
use crate::support::machine::lay_out;
use crate::support::skipped::{Need, skipped};
use crate::support::{Running, TEIJI, TestFolder, beside_others};
use serde_json::Value;
use std::fs;

const CMDLINE: &str = "m/boot/cmdline.txt";
const TEXT: &str = "console=tty1 isolcpus=1-3 nohz_full=1-3 rcu_nocbs=0 rootwait\n";
const WRITTEN: &str = "console=tty1 isolcpus=1-3 nohz_full=1-3 rcu_nocbs=1-3 rootwait \
                       irqaffinity=0 dwc_otg.fiq_enable=0 dwc_otg.fiq_fsm_enable=0\n";

fn with_pi() -> TestFolder {
    let place = TestFolder::new();
    lay_out_pi(&place, "m");
    place
}

fn lay_out_pi(place: &TestFolder, folder: &str) {
    lay_out(&place.join(folder), "pi-3-document-002");
    fs::write(place.join(folder).join("boot/cmdline.txt"), TEXT).unwrap();
}

#[test]
fn arguments_are_written_when_told_and_put_back() {
    let place = with_pi();
    let before = place.listing();
    let output = place.well("tune --boot --root m --write");
    assert_eq!(
        output.out,
        format!(
            "Written to /boot/cmdline.txt. As it was: /boot/cmdline.txt.before-teiji\n    - \
             {TEXT}    + {WRITTEN}The arguments count from the next boot. Undo: sudo teiji tune \
             --boot --undo --root m\n"
        )
    );
    assert!(
        output.err.contains("note: a reboot with other arguments may not come up"),
        "{output:?}"
    );
    assert_eq!(
        (place.read(CMDLINE).as_str(), place.read("m/boot/cmdline.txt.before-teiji").as_str()),
        (WRITTEN, TEXT)
    );
    assert_eq!(
        place.well("tune --boot --root m --write").out,
        "/boot/cmdline.txt has these arguments already.\n"
    );
    // What is changed while the machine runs is another matter.
    assert_eq!(place.well("tune --undo --root m").out, "Nothing to put back.\n");
    assert_eq!(place.read(CMDLINE), WRITTEN);
    let undone = place.well("tune --boot --undo --root m").out;
    assert_eq!(undone, "/boot/cmdline.txt is as it was.\nThis counts from the next boot.\n");
    assert_eq!(place.read(CMDLINE), TEXT);
    assert_eq!(place.well("tune --boot --undo --root m").out, "Nothing to put back.\n");
    let left: Vec<String> =
        place.listing().into_iter().filter(|name| !name.starts_with("m/var")).collect();
    assert_eq!(left, before);
}

#[test]
fn what_is_to_be_run_is_said() {
    let place = TestFolder::new();
    lay_out(&place.join("m"), "laptop");
    for (file, text) in [
        ("etc/default/grub", "GRUB_CMDLINE_LINUX_DEFAULT=\"quiet\"\n"),
        ("usr/sbin/update-grub", ""),
    ] {
        let path = place.join("m").join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let json: Value =
        serde_json::from_str(&place.well("tune --boot --root m --cpus 2-3 --write --json").out)
            .unwrap();
    assert_eq!(
        (json["place"].as_str(), json["run"].as_str()),
        (Some("grub"), Some("sudo update-grub"))
    );
    assert_eq!(json["written"][0]["file"], "/etc/default/grub");
    assert_eq!(json["written"][0]["backup"], "/etc/default/grub.before-teiji");
    let again = place.well("tune --boot --root m --cpus 2-3 --write").out;
    let expected = "/etc/default/grub has these arguments already.\nRun, if that was not done \
                    since: sudo update-grub\n";
    assert_eq!(again, expected);
    let json: Value =
        serde_json::from_str(&place.well("tune --boot --undo --root m --json").out).unwrap();
    assert_eq!(
        (json["put_back"][0].as_str(), json["run"][0].as_str()),
        (Some("/etc/default/grub"), Some("sudo update-grub"))
    );
}

/// With nothing to do it failed, and `--boot` named another file than `--write`.
#[test]
fn of_u_boot_it_is_said_what_its_file_lacks() {
    const FILE: &str = "m/boot/extlinux/extlinux.conf";
    let place = TestFolder::new();
    lay_out(&place.join("m"), "laptop");
    fs::create_dir_all(place.join("m/boot/extlinux")).unwrap();
    fs::write(place.join("m/boot/armbianEnv.txt"), "extraargs=quiet\n").unwrap();
    fs::write(place.join(FILE), "label a\n  append quiet isolcpus=managed_irq,domain,2-3\n")
        .unwrap();
    let written_in = "the line APPEND of the label that is booted in \
                      /boot/extlinux/extlinux.conf, then reboot";
    let json: Value =
        serde_json::from_str(&place.well("tune --boot --root m --cpus 2-3 --json").out).unwrap();
    assert_eq!(json["where"], written_in);
    let output = place.teiji("tune --boot --root m --cpus 2-3 --write");
    let said = format!(
        "error: teiji does not write where this machine's boot loader has the kernel's \
         arguments. Nothing was written. By hand: add nohz_full=2-3 rcu_nocbs=2-3 \
         irqaffinity=0-1 preempt=full. Where: {written_in}\n"
    );
    assert_eq!((output.code, output.err), (Some(4), said));
    let all = "isolcpus=managed_irq,domain,2-3 nohz_full=2-3 rcu_nocbs=2-3 irqaffinity=0-1 \
               preempt=full";
    fs::write(place.join(FILE), format!("label a\n  append quiet {all}\n")).unwrap();
    let has = "/boot/extlinux/extlinux.conf has these arguments already.\n";
    assert_eq!(place.well("tune --boot --root m --cpus 2-3 --write").out, has);
    // Made of another file, which has them, it is to be made.
    for folder in ["m/usr/sbin", "m/etc/default"] {
        fs::create_dir_all(place.join(folder)).unwrap();
    }
    fs::write(place.join("m/usr/sbin/u-boot-update"), "").unwrap();
    fs::write(place.join("m/etc/default/u-boot"), format!("U_BOOT_PARAMETERS=\"{all}\"\n"))
        .unwrap();
    fs::write(place.join(FILE), "label a\n  append quiet\n").unwrap();
    let output = place.well("tune --boot --root m --cpus 2-3 --write");
    let run = "/etc/default/u-boot has these arguments already.\n\
               Run, if that was not done since: sudo u-boot-update\n";
    assert_eq!(output.out, run);
    let note = "note: /boot/extlinux/extlinux.conf does not have them yet\n";
    assert!(output.err.starts_with(note), "{}", output.err);
    fs::remove_file(place.join("m/usr/sbin/u-boot-update")).unwrap();
    fs::remove_dir_all(place.join("m/boot")).unwrap();
    fs::write(place.join("m/proc/cmdline"), all).unwrap();
    let nothing = "Nothing to write: this kernel was booted with these arguments.\n";
    assert_eq!(place.well("tune --boot --root m --cpus 2-3 --write").out, nothing);
}

#[test]
fn what_is_refused_is_said_in_a_line() {
    let place = with_pi();
    for (words, code, said) in [
        ("tune --write --root m", 2, "--boot"),
        ("tune --boot --undo --write --root m", 2, "cannot be used with"),
        ("tune --boot --place grub --root m", 2, "--write"),
        (
            "tune --boot --write --place lilo --root m",
            2,
            "it is one of grub, systemd-boot, cmdline.txt, u-boot",
        ),
        (
            "tune --boot --write --place grub --root m",
            2,
            "error: this machine has no grub, but cmdline.txt\n",
        ),
    ] {
        let output = place.teiji(words);
        assert!(output.code == Some(code) && output.err.contains(said), "{words}: {output:?}");
    }
    fs::write(place.join(CMDLINE), "a\nb\n").unwrap();
    let output = place.teiji("tune --boot --write --root m");
    let said =
        "error: /boot/cmdline.txt has more than one line. Nothing was written: edit it by hand\n";
    assert_eq!((output.code, output.err.as_str()), (Some(4), said));
    fs::create_dir_all(place.join("m/etc/kernel")).unwrap();
    fs::write(place.join("m/etc/kernel/cmdline"), "quiet\n").unwrap();
    let output = place.teiji("tune --boot --write --root m");
    let said = "error: this machine has several: systemd-boot, cmdline.txt. Name the one that \
                boots it with --place\n";
    assert_eq!((output.code, output.err.as_str()), (Some(2), said));
    fs::remove_file(place.join("m/etc/kernel/cmdline")).unwrap();
    fs::remove_file(place.join(CMDLINE)).unwrap();
    let output = place.teiji("tune --boot --write --root m");
    assert!(
        output.code == Some(4)
            && output.err.contains("no place known where this machine's boot loader"),
        "{output:?}"
    );
    assert!(!place.join("m/var").exists());
}

#[test]
fn a_file_that_was_changed_since_is_put_back_only_by_force() {
    let place = with_pi();
    place.well("tune --boot --root m --write");
    fs::write(place.join(CMDLINE), "mine\n").unwrap();
    let output = place.teiji("tune --boot --undo --root m");
    assert_eq!(output.code, Some(4));
    assert!(
        output.err.starts_with(
            "error: not put back: /boot/cmdline.txt was changed since teiji wrote it."
        ),
        "{output:?}"
    );
    assert_eq!(place.read(CMDLINE), "mine\n");
    place.well("tune --boot --undo --force --root m");
    assert_eq!(place.read(CMDLINE), TEXT);
}

/// Whoever may not write is told, and nothing is left.
#[test]
fn without_rights_nothing_is_written() {
    let place = public();
    lay_out_pi(&place, "m");
    let run = || {
        let mut command = powerless(&place);
        command.args(["tune", "--boot", "--write", "--root", "m"]);
        Running::start(command).end()
    };
    if !crate::support::is_root() {
        return skipped(Need::RealTime, "whoever runs the tests may write their own files");
    }
    // As many folders as this have no mode for anybody else to write.
    let output = run();
    assert!(
        output.code == Some(4)
            && output.err.contains("Permission denied")
            && output.err.contains("(it takes root)"),
        "{output:?}"
    );
    assert_eq!(place.read(CMDLINE), TEXT);
    // Where it may keep the journal, the folder of the file says no.
    let state = place.join("m/var/lib/teiji/tune");
    fs::create_dir_all(&state).unwrap();
    std::os::unix::fs::chown(&state, Some(65_534), None).unwrap();
    let output = run();
    let said = "error: cannot write /boot/cmdline.txt.before-teiji: Permission denied (os error \
                13) (it takes root)\n";
    assert_eq!((output.code, output.err.as_str()), (Some(4), said));
    assert!(!state.join("boot.json").exists());
    assert_eq!(place.read(CMDLINE), TEXT);
}

#[test]
fn a_boot_partition_that_is_mounted_read_only_is_named() {
    let _turn = beside_others();
    let place = with_pi();
    let script = format!(
        "mount --bind m/boot m/boot && mount -o remount,ro,bind m/boot && {TEIJI} tune --boot \
         --write --root m; echo code $?"
    );
    let mut command = place.command("unshare");
    command.args(["--mount", "--map-root-user", "sh", "-c", &script]);
    let output = Running::start(command).end();
    if output.out.is_empty() {
        return skipped(Need::Mount, output.err);
    }
    let said = "error: cannot write /boot/cmdline.txt.before-teiji: Read-only file system (os \
                error 30) (mounted read-only)\n";
    assert_eq!((output.out.as_str(), output.err.as_str()), ("code 4\n", said));
    assert!(!place.join("m/var/lib/teiji/tune/boot.json").exists());
}
