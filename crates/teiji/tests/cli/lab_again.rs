// SPDX-License-Identifier: MIT OR Apache-2.0
//! Recordings of the lab that come from a stranger: what they name is neither run nor read, and
//! what they ask for is bounded.

use crate::explain::{changed, lab};
use crate::support::{Output, TestFolder};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::PermissionsExt;

/// The verbs that make a run again.
const VERBS: [&str; 2] = ["explain rec.teiji", "lab rerun rec.teiji"];

/// As much of a bzImage as is looked at.
fn image() -> Vec<u8> {
    let mut image = vec![0; 2_560];
    image[0x1f1] = 4;
    image[0x202..0x206].copy_from_slice(b"HdrS");
    image[0x236] = 1;
    image
}

/// As much of a static program for a PC.
fn program() -> Vec<u8> {
    let mut program = vec![0; 64];
    program[..5].copy_from_slice(b"\x7fELF\x02");
    program[18] = 62;
    program
}

/// A recording that names a script in its own folder as its QEMU, beside an image and a program
/// that can be used.
fn hostile(change: impl Fn(&mut Value)) -> TestFolder {
    let place = changed(|_| ());
    let path = place.join("rec.teiji/run.json");
    let mut document: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    document["lab"] = lab();
    let script = place.join("rec.teiji/qemu.sh");
    document["lab"]["qemu"] = json!({ "version": "0", "origin": "path", "command_line": [script] });
    document["lab"]["kernel"]["name"] = json!(place.join("vmlinuz"));
    change(&mut document["lab"]);
    fs::write(&path, document.to_string()).unwrap();
    fs::write(&script, format!("#!/bin/sh\ntouch '{}'\n", place.join("mark").display())).unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    fs::write(place.join("vmlinuz"), image()).unwrap();
    fs::write(place.join("teiji-static"), program()).unwrap();
    place
}

#[track_caller]
fn assert_refused(place: &TestFolder, flags: &str, says: &str) {
    for verb in VERBS {
        let Output { code, err, .. } = place.teiji(&format!("{verb} {flags}"));
        assert_eq!(code, Some(2), "{verb}: {err}");
        assert!(err.contains(says), "{verb}: {err}");
        assert!(!place.join("mark").exists(), "{verb}: the recording's program was run");
    }
}

#[test]
fn what_a_recording_names_is_not_run() {
    let place = hostile(|_| ());
    let script = place.join("rec.teiji/qemu.sh").display().to_string();
    for flags in ["", "-k vmlinuz", "-k vmlinuz --program teiji-static"] {
        assert_refused(&place, flags, "the QEMU has to be named: --qemu FILE");
        assert_refused(&place, flags, &format!("it says '{script}'"));
    }
    // Named by the user it is: that it left no mark is no chance.
    let Output { err, .. } = place
        .teiji(&format!("lab rerun rec.teiji -k vmlinuz --program teiji-static --qemu {script}"));
    assert!(place.join("mark").exists(), "{err}");
}

#[test]
fn what_a_recording_names_is_not_read() {
    let with_qemu = |change: fn(&mut Value)| {
        hostile(|lab| {
            lab["qemu"] = json!({ "version": "0", "origin": "system", "command_line": [] });
            change(lab);
        })
    };
    assert_refused(&with_qemu(|_| ()), "", "the kernel has to be named: -k FILE");
    let elsewhere = with_qemu(|lab| {
        lab["kernel"]["name"] = json!("debian:amd64=6.1.0-56/../../../../../\u{1b}[2J")
    });
    assert_refused(&elsewhere, "", "it says 'debian:amd64=6.1.0-56/../../../../../\\u{1b}[2J'");
    let modules = with_qemu(|lab| {
        lab["kernel"]["modules"] = json!("/etc");
        lab["modules"] = json!(["passwd"]);
    });
    assert_refused(&modules, "-k vmlinuz", "the folder of modules has to be named: --modules DIR");
    let tree =
        with_qemu(|lab| lab["device_tree"] = json!({ "path": "/etc/passwd", "sha256": "00" }));
    assert_refused(&tree, "-k vmlinuz", "the device tree has to be named: --dtb FILE");
}

#[test]
fn a_recording_cannot_raise_what_its_guest_takes() {
    let place = hostile(|lab| lab["guest"]["memory_mib"] = json!(900_000));
    assert_refused(
        &place,
        "-k vmlinuz",
        "asks for a guest of 900000 MiB, and may have 2048. To allow more: --memory 900000",
    );
    assert_refused(&hostile(|lab| lab["guest"]["cpus"] = json!(400)), "-k vmlinuz", "400 CPUs");
    assert_refused(
        &hostile(|lab| lab["guest"]["kernel_args"] = json!("init=/x")),
        "-k vmlinuz",
        "'init=/x' is not allowed",
    );
    assert_refused(
        &hostile(|lab| lab["guest"]["time"] = json!({ "mode": "host" })),
        "-k vmlinuz",
        "on the host's clock",
    );
    let place = hostile(|_| ());
    assert_refused(&place, "-k vmlinuz --expect 1us", "may take 0. To allow more: --expect");
}

#[test]
fn another_kernel_is_said_and_not_explained() {
    let place = hostile(|_| ());
    let script = place.join("rec.teiji/qemu.sh").display().to_string();
    let flags = format!("-k vmlinuz --program teiji-static --qemu {script}");
    let explained = place.teiji(&format!("explain rec.teiji {flags}"));
    assert_eq!(explained.code, Some(2), "{}", explained.err);
    let says = "the kernel's image is not the recorded one: ";
    assert!(explained.err.contains(says) && !place.join("mark").exists(), "{}", explained.err);
    let rerun = place.teiji(&format!("lab rerun rec.teiji {flags}"));
    assert!(
        rerun.err.contains(says)
            && rerun.err.contains("the teiji in the guest is not the recorded one: "),
        "{}",
        rerun.err
    );
    assert_eq!(rerun.code, Some(4), "{}", rerun.err);
}
