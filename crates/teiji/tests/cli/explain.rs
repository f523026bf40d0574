// SPDX-License-Identifier: MIT OR Apache-2.0
//! `teiji explain` of recordings that cannot be explained, each for a reason of its own; what can
//! be is in `tests/lab/test_explain.py`.

use crate::sessions::synthetic::{self, Numbers};
use crate::support::{Output, TestFolder};
use serde_json::{Value, json};
use std::path::Path;

/// A recording whose document was changed.
pub(crate) fn changed(change: impl Fn(&mut Value)) -> TestFolder {
    let place = TestFolder::new();
    synthetic::write(&place.join("rec.teiji"), 1, 500, Numbers::tailed_ns).unwrap();
    let path = place.join("rec.teiji/run.json");
    let mut document: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    change(&mut document);
    std::fs::write(&path, document.to_string()).unwrap();
    place
}

/// The lab's part of a document: a guest that can be explained.
pub(crate) fn lab() -> Value {
    let file = |path: &str| json!({ "path": path, "sha256": "00" });
    json!({
        "guest": {
            "machine": "x86_64", "memory_mib": 512, "cpus": 1,
            "time": { "mode": "virtual", "shift": 0 }, "kernel_args": "",
        },
        "ns_per_instruction": 1, "deterministic": true, "accelerator": "tcg",
        "kernel": {
            "name": "/nowhere/vmlinuz", "image": file("/nowhere/vmlinuz"), "modules": null,
        },
        "device_tree": null, "program": file("/nowhere/teiji"), "modules": [],
        "initramfs_sha256": "00", "qemu": { "version": "0", "command_line": [] }, "host_ms": 1,
    })
}

#[track_caller]
fn assert_refused(place: &TestFolder, words: &str, says: &str) {
    let Output { code, out, err } = place.teiji(&format!("explain rec.teiji {words}"));
    assert_eq!((code, out.as_str()), (Some(2), ""), "{err}");
    assert!(err.contains(says), "{err}");
    assert!(!Path::new(&place.join("rec.teiji/explain.json")).exists());
}

#[test]
fn only_the_lab_runs_the_same_instructions_again() {
    assert_refused(&changed(|_| ()), "", "was not recorded in the lab");
    let refused = |change: fn(&mut Value), says| {
        let place = changed(|document| {
            document["lab"] = lab();
            change(document);
        });
        assert_refused(&place, "", says);
    };
    refused(|document| document["lab"]["deterministic"] = json!(false), "on the host's clock");
    let only = "only guests of the machines x86_64 and aarch64 can be explained";
    refused(|document| document["lab"]["guest"]["machine"] = json!("armv7"), only);
    refused(|document| document["lab"]["guest"]["machine"] = json!("raspi3b"), only);
    let board_of_the_host = |document: &mut Value| {
        document["lab"]["guest"]["machine"] = json!("raspi3b");
        document["lab"]["deterministic"] = json!(false);
    };
    // No advice to measure in virtual time, which that machine does not have.
    refused(board_of_the_host, only);
    refused(|document| document["probe"]["name"] = json!("timerlat"), "by the probe timerlat");
    refused(|document| document["run"]["probe"] = json!("timerlat"), "by the probe timerlat");
    // Nothing is wrong with it but that its kernel has to be named.
    assert_refused(&changed(|document| document["lab"] = lab()), "", "it says '/nowhere/vmlinuz'");
}

#[test]
fn what_is_asked_for_must_be_there() {
    let place = changed(|document| document["lab"] = lab());
    assert_refused(&place, "--activation 500", "has no activation 500 that ran");
    assert_refused(&place, "--above 1s", "no latency is above 1s: the largest is ");
    std::fs::write(place.join("kept"), "precious").unwrap();
    assert_refused(&place, "--svg kept", "kept exists, and teiji did not write it");
    assert_refused(&place, "--folded kept", "kept exists");
    assert_refused(&place, "--svg new --folded ./new", "./new is named twice");
    assert_refused(&place, "--trace nowhere/new", "cannot write nowhere/new: nowhere is no folder");
    assert_refused(&place, "--svg rec.teiji", "rec.teiji is a folder");
}

/// Before a guest is started for it.
#[test]
fn a_vmlinux_that_cannot_be_used_is_refused() {
    let place = changed(|document| document["lab"] = lab());
    assert_refused(&place, "--vmlinux gone", "cannot read gone");
    std::fs::write(place.join("vmlinuz"), b"MZ compressed").unwrap();
    assert_refused(
        &place,
        "--vmlinux vmlinuz",
        "vmlinuz: not a vmlinux: expected an uncompressed kernel for x86_64",
    );
    let of_another = changed(|document| {
        document["lab"] = lab();
        document["lab"]["guest"]["machine"] = json!("aarch64");
    });
    assert_refused(
        &of_another,
        "--vmlinux gone",
        "was recorded on aarch64: --vmlinux works with guests of x86_64 only",
    );
    assert_refused(&of_another, "", "it says '/nowhere/vmlinuz'");
}
