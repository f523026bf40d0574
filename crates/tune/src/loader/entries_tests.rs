// SPDX-License-Identifier: MIT OR Apache-2.0
//! Entries of systemd-boot: the one of the kernel that runs is written, and no other.

use super::super::tests::{Machine, error};
use super::*;
use crate::LoaderUndo;

const OLD: &str = "title Old\nversion 6.0.0\noptions root=/dev/a\nlinux /m/6.0.0/linux\n";
const RUNS: &str = "title Runs\nversion 6.1.0-rt\noptions root=/dev/a rw\noptions quiet\nlinux \
                    /m/6.1.0-rt/linux\n";
const ENTRIES: &str = "boot/efi/loader/entries";

fn file(name: &str) -> String {
    format!("{ENTRIES}/{name}.conf")
}

/// Which entry was booted, as the firmware has it.
fn selected(id: &str) -> Vec<u8> {
    let units = id.encode_utf16().chain([0]).flat_map(u16::to_le_bytes);
    [6, 0, 0, 0].into_iter().chain(units).collect()
}

#[test]
fn the_entry_of_the_kernel_that_runs_and_the_line_for_new_ones_are_written() {
    let machine = Machine::new(&[
        (&file("m-6.0.0"), OLD),
        (&file("m-6.1.0-rt"), RUNS),
        ("etc/kernel/cmdline", "root=/dev/a rw rcu_nocbs=0 quiet\n"),
        ("boot/efi/loader/loader.conf", "timeout 3\ndefault m-6.0.0.conf\n"),
    ]);
    let written = machine.write().unwrap();
    let arguments = machine.arguments();
    assert_eq!(
        machine.read(&file("m-6.1.0-rt")),
        RUNS.replace("quiet", &format!("quiet {arguments}"))
    );
    assert_eq!(machine.read(&file("m-6.0.0")), OLD);
    let others = arguments.replace("rcu_nocbs=1-3 ", "");
    assert_eq!(
        machine.read("etc/kernel/cmdline"),
        format!("root=/dev/a rw rcu_nocbs=1-3 quiet {others}\n")
    );
    assert_eq!(written.run, None, "the entry is what is booted");
    let note = "/boot/efi/loader/loader.conf boots m-6.0.0.conf: choose \
                /boot/efi/loader/entries/m-6.1.0-rt.conf in the menu";
    assert_eq!(written.notes, [note]);
    let undone = LoaderUndo::undo(&machine.root, false).unwrap();
    assert_eq!(undone.back.len(), 2);
    assert_eq!(machine.read(&file("m-6.1.0-rt")), RUNS);
}

#[test]
fn the_firmware_says_which_entry_was_booted() {
    let arch = "title Arch\nlinux /vmlinuz-linux\noptions root=/dev/a\n";
    let machine = Machine::new(&[(&file("arch+2-1"), arch), (&file("arch-fallback"), arch)]);
    let error = error(machine.write());
    assert!(
        error.contains(
            "which of these entries was booted is not known: \
             /boot/efi/loader/entries/arch+2-1.conf, /boot"
        ),
        "{error}"
    );
    std::fs::create_dir_all(machine.root.path(SELECTED).parent().unwrap()).unwrap();
    std::fs::write(machine.root.path(SELECTED), selected("arch.conf")).unwrap();
    let written = machine.write().unwrap();
    assert_eq!(written.files.len(), 1);
    assert_eq!(written.files[0].file, file("arch+2-1"));
    assert_eq!(machine.read(&file("arch-fallback")), arch);
}

#[test]
fn an_image_has_its_arguments_within() {
    let machine = Machine::new(&[(&file("m-6.1.0-rt"), RUNS)]);
    std::fs::create_dir_all(machine.root.path(SELECTED).parent().unwrap()).unwrap();
    std::fs::write(machine.root.path(SELECTED), selected("linux.efi")).unwrap();
    let error = error(machine.write());
    assert!(
        error.starts_with("linux.efi was booted, an image with its arguments within"),
        "{error}"
    );
    let machine = Machine::new(&[("etc/kernel/cmdline", "quiet")]);
    let written = machine.write().unwrap();
    assert_eq!(machine.read("etc/kernel/cmdline"), format!("quiet {}", machine.arguments()));
    assert!(written.run.unwrap().starts_with("sudo kernel-install add-all"));
}

#[test]
fn an_entry_without_options_gets_some() {
    let machine = Machine::new(&[(&file("only"), "title Only\nlinux /vmlinuz")]);
    machine.write().unwrap();
    assert_eq!(
        machine.read(&file("only")),
        format!("title Only\nlinux /vmlinuz\noptions {}\n", machine.arguments())
    );
    LoaderUndo::undo(&machine.root, false).unwrap();
    assert_eq!(machine.read(&file("only")), "title Only\nlinux /vmlinuz");
}

/// kernel-install makes entries from /etc/kernel/cmdline, and without it from the arguments of the
/// kernel that runs.
#[test]
fn an_entry_that_was_made_meanwhile_is_named() {
    let machine = Machine::new(&[
        (&file("m-6.1.0-rt"), RUNS),
        (&file("m-6.0.0"), OLD),
        ("etc/kernel/cmdline", "root=/dev/a\n"),
    ]);
    machine.write().unwrap();
    let new = format!(
        "version 6.1.0-2\noptions {}linux /m/6.1.0-2/linux\n",
        machine.read("etc/kernel/cmdline")
    );
    std::fs::write(machine.root.path(&file("m-6.1.0-2")), &new).unwrap();
    let undone = LoaderUndo::undo(&machine.root, false).unwrap();
    assert_eq!(undone.back.len(), 2);
    let said: Vec<String> = undone.left.iter().map(|(_, error)| error.to_string()).collect();
    let expected = format!(
        "/{} has {} too, and teiji did not write it.",
        file("m-6.1.0-2"),
        machine.arguments()
    );
    assert!(said.len() == 1 && said[0].starts_with(&expected), "{said:?}");
    assert_eq!(machine.read(&file("m-6.1.0-2")), new);
    assert!(LoaderUndo::undo(&machine.root, false).unwrap().left.is_empty(), "the journal is gone");
}

#[test]
fn what_is_for_init_ends_the_arguments() {
    let machine = Machine::new(&[(&file("only"), "linux /vmlinuz\noptions a -- b\noptions c\n")]);
    let error = error(machine.write());
    assert!(
        error.contains("/only.conf, line 2: what follows its -- goes to init. Nothing was written"),
        "{error}"
    );
    let machine = Machine::new(&[(&file("only"), "linux /vmlinuz\noptions a\noptions b -- c\n")]);
    machine.write().unwrap();
    assert!(
        machine.read(&file("only")).ends_with(&format!("options b {} -- c\n", machine.arguments()))
    );
}

#[test]
fn tries_are_no_part_of_a_name() {
    assert_eq!(
        ["a", "a+3", "a+3-1", "a+b", "a+"].map(without_counter),
        ["a", "a", "a", "a+b", "a+"]
    );
}
