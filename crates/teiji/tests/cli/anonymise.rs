// SPDX-License-Identifier: MIT OR Apache-2.0
//! Recordings and reports without names: nothing that is one is in any file that they are made of,
//! and every figure is as it was.

use crate::support::{NAMES, Output, TEIJI, TestFolder, beside_others, copy_recording};
use serde_json::{Value, json};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// In the recording, each in its own place; none is a word of teiji or the kernel.
const SECRETS: [&str; 12] = [
    "robot-3", "zq7title", "zq7proc", "zq7token", "zq7user", "zq7host", "zq7load", "zq7note",
    "zq7login", "zq7image", "zq7task", "zq7disk",
];

/// A recording as of a lab of somebody's own kernel, with a name in each place that has one.
fn recorded() -> TestFolder {
    let _turn = beside_others();
    let place = TestFolder::new();
    place.well("measure -q -n 60 -t 1 --policy other -o acme.teiji");
    let path = place.join("acme.teiji/run.json");
    let mut value: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    value["command_line"] =
        json!(["/home/zq7user/teiji", "measure", "--title", "zq7title", "-o", "zq7note"]);
    value["run"]["title"] = json!("zq7title");
    value["run"]["loads"] =
        json!(["cmd:\"zq7load --now\",nice=3", "disk,dir=/home/zq7user/zq7disk"]);
    for facts in ["before", "after"] {
        let facts = &mut value["host"][facts];
        facts["hostname"] = json!("robot-3");
        facts["kernel_version"] =
            json!("Linux version 6.1.0-rt (zq7user@zq7host) (gcc 12) #1 SMP PREEMPT_RT");
        facts["kernel_command_line"] =
            json!("root=/dev/zq7disk isolcpus=1 nohz_full=1 token=zq7token");
    }
    value["host"]["processes"] = json!({"own_ms": 1, "others_ms": 900, "kernel_ms": 9, "busiest": [
        {"pid": 77, "name": "zq7proc", "cpu_ms": 900, "kernel_thread": false},
        {"pid": 12, "name": "kworker/0:1-events", "cpu_ms": 9, "kernel_thread": true}
    ]});
    let found = "zq7proc of robot-3 at 98 on CPU 0";
    value["warnings"] = json!([{
        "code": "machine-check", "check": "threads-above", "found": found, "why": "It runs first.",
        "action": null,
    }]);
    let file = json!({"path": "/home/zq7user/zq7image", "sha256": "00ff"});
    value["lab"] = json!({
        "guest": {
            "machine": "x86_64", "memory_mib": 512, "cpus": 1,
            "time": {"mode": "virtual", "shift": 0}, "kernel_args": "token=zq7token",
        },
        "ns_per_instruction": 1, "deterministic": true, "accelerator": "tcg",
        "kernel": {"name": "/home/zq7user/zq7image", "image": file, "modules": null},
        "device_tree": null, "program": file, "modules": [],
        "initramfs_sha256": "01",
        "qemu": {
            "version": "10.0.0", "origin": "path",
            "command_line": ["/home/zq7user/qemu", "-kernel", "/home/zq7user/zq7image"],
        },
        "host_ms": 5
    });
    std::fs::write(&path, value.to_string()).unwrap();
    for facts in ["before", "after"] {
        std::fs::write(
            place.join(&format!("acme.teiji/host-{facts}.json")),
            value["host"][facts].to_string(),
        )
        .unwrap();
    }
    let console = "[    0.000000] Command line: token=zq7token isolcpus=1\n[    0.010000] tsc: \
                   Detected 999.993 MHz processor\n[    0.020000] robot-3 mounts \
                   /home/zq7user/zq7disk\nzq7login: \n";
    std::fs::write(place.join("acme.teiji/console.log"), console).unwrap();
    let worst = &value["threads"][0]["worst"][0];
    let latency = &worst["latency_ns"];
    let part = json!({
        "kind": "other-thread", "begin_ns": 0, "length_ns": latency, "function": "schedule",
        "called_by": [], "task": "zq7task", "mostly": [],
    });
    let explained = json!({
        "version": 1, "identical_samples": value["threads"][0]["latency_ns"]["samples"],
        "accounts": [{
            "thread": 0, "activation": worst["activation"], "latency_ns": latency, "parts": [part],
        }],
    });
    std::fs::write(place.join("acme.teiji/explain.json"), explained.to_string()).unwrap();
    std::fs::write(place.join("acme.teiji/zq7note.txt"), "zq7note").unwrap();
    place
}

fn assert_nameless(place: &TestFolder, path: &Path) {
    let files = if path.is_dir() {
        std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()).collect()
    } else {
        vec![path.to_owned()]
    };
    assert!(!files.is_empty());
    let own = place.path().file_name().unwrap().to_str().unwrap();
    for file in files {
        let content = String::from_utf8_lossy(&std::fs::read(&file).unwrap()).into_owned();
        for secret in SECRETS.iter().chain([&own, &"acme"]) {
            assert!(!content.contains(secret), "{}: {secret}", file.display());
            assert!(
                !file.file_name().unwrap().to_str().unwrap().contains(secret),
                "{}",
                file.display()
            );
        }
    }
}

#[test]
fn a_recording_that_can_be_sent() {
    let place = recorded();
    let output = place.well("anonymise acme.teiji -o sent.teiji");
    assert!(output.out.starts_with("Anonymous recording: sent.teiji\n"), "{output:?}");
    assert!(
        output.err.contains("zq7note.txt")
            && output.err.contains("1 line that the kernel did not write"),
        "{output:?}"
    );
    assert_nameless(&place, &place.join("sent.teiji"));

    let read = |name: &str| serde_json::from_str::<Value>(&place.read(name)).unwrap();
    let (named, sent) = (read("acme.teiji/run.json"), read("sent.teiji/run.json"));
    assert_eq!((&sent["threads"], &sent["anonymous"]), (&named["threads"], &json!(true)));
    assert_eq!(
        std::fs::read(place.join("sent.teiji/samples-0.arrows")).unwrap(),
        std::fs::read(place.join("acme.teiji/samples-0.arrows")).unwrap()
    );
    assert_eq!(read("sent.teiji/host-before.json"), sent["host"]["before"]);
    // What decides latency, and one pseudonym for one name.
    let facts = &sent["host"]["before"];
    assert!(
        facts["kernel_command_line"]
            .as_str()
            .unwrap()
            .contains(" isolcpus=1 nohz_full=1 argument-"),
        "{facts}"
    );
    assert!(
        facts["kernel_version"].as_str().unwrap().ends_with(" (gcc 12) #1 SMP PREEMPT_RT"),
        "{facts}"
    );
    assert_eq!(sent["host"]["processes"]["busiest"][1]["name"], "kworker/0:1-events");
    let (host, process) = (
        facts["hostname"].as_str().unwrap(),
        sent["host"]["processes"]["busiest"][0]["name"].as_str().unwrap(),
    );
    assert_eq!(sent["warnings"][0]["found"], format!("{process} of {host} at 98 on CPU 0"));
    let console = place.read("sent.teiji/console.log");
    assert!(
        console.contains("tsc: Detected 999.993 MHz processor\n")
            && console.contains(&format!("{host} mounts path-")),
        "{console}"
    );
    assert!(
        console.contains("Command line: argument-") && console.contains(" isolcpus=1\n"),
        "{console}"
    );
}

#[test]
fn an_anonymous_recording_is_read_by_every_verb() {
    let place = recorded();
    place.well("anonymise acme.teiji -o sent.teiji");
    assert!(
        place
            .well("show sent.teiji")
            .out
            .contains("\nAnonymous: names are replaced by pseudonyms\n")
    );
    place.well("verify sent.teiji");
    place.well("gate sent.teiji --limit max<10s");
    place.well("compare acme.teiji sent.teiji --anyway");
    place.well("export sent.teiji --samples");
    let figure = |name: &str| place.well(&format!("show {name} --figure max")).out;
    assert_eq!(figure("acme.teiji"), figure("sent.teiji"));
    let output = place.well("report sent.teiji -o page.html");
    assert!(!output.out.contains("It names"), "{output:?}");
    assert!(place.read("page.html").contains("pseudonyms (anonymous recording)"));
    // What was run is not known any more, nor where its files are.
    let refused = |words: &str, expected: &str| {
        let Output { code, err, .. } = place.teiji(words);
        assert!(
            matches!(code, Some(2 | 4)) && err.contains(expected) && !err.contains("panicked"),
            "{words}: {err}"
        );
    };
    let again = ["explain sent.teiji", "lab rerun sent.teiji -o again.teiji"];
    again.iter().for_each(|words| {
        refused(
            words,
            "sent.teiji is anonymous, and what it was run with is not known any more: command-",
        )
    });
    let path = place.join("sent.teiji/run.json");
    let mut value: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    (value["run"]["loads"], value["lab"]["guest"]["kernel_args"]) =
        (json!([]), json!("isolcpus=1"));
    std::fs::write(&path, value.to_string()).unwrap();
    again.iter().for_each(|words| refused(words, "path-"));
}

#[test]
fn an_anonymous_report() {
    let place = recorded();
    let output = place.well(
        "report acme.teiji --anonymous -o page.html --md page.md --svg charts --limit max<10s",
    );
    assert!(!output.out.contains("It names"), "{output:?}");
    ["page.html", "page.md", "charts"]
        .iter()
        .for_each(|name| assert_nameless(&place, &place.join(name)));
    assert!(SECRETS.iter().all(|secret| !output.out.contains(secret)), "{output:?}");
    assert!(place.read("page.html").contains("process-"), "the accounts are shown");
    let output = place.well("report acme.teiji -o page.html");
    assert!(
        output.out.ends_with(
            "Report: page.html\nIt names the machine, its kernel arguments and processes: see \
             --anonymous\n"
        ),
        "{output:?}"
    );
    let table = place.well("export acme.teiji --samples --anonymous").out;
    assert_eq!(table, place.well("export acme.teiji --samples").out);
}

/// A comparison of two that were anonymised by one user still tells whether they are of one
/// machine. Of another user nobody knows.
#[test]
fn a_name_has_one_pseudonym_for_each_user() {
    let place = recorded();
    copy_recording(&place.join("acme.teiji"), &place.join("other.teiji"));
    let host = |name: &str| place.document(name).text("/host/before/hostname").to_owned();
    place.well("anonymise acme.teiji -o one");
    place.well("anonymise other.teiji -o two");
    let key = std::fs::metadata(place.join("state/teiji/pseudonyms.key")).unwrap();
    assert_eq!((key.mode() & 0o777, key.len()), (0o600, 32));
    let mut command = place.command(TEIJI);
    command
        .args(["anonymise", "acme.teiji", "-o", "three"])
        .env("XDG_STATE_HOME", place.join("of another user"));
    assert!(command.output().unwrap().status.success());
    assert!(
        host("one") == host("two") && host("one") != host("three"),
        "{} {} {}",
        host("one"),
        host("two"),
        host("three")
    );
    let mut command = place.command(TEIJI);
    command.args(["anonymise", "acme.teiji", "-o", "four"]).env("XDG_STATE_HOME", "/proc/nowhere");
    let output = command.output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(
        output.status.success()
            && said.contains("Note: pseudonyms differ next time: cannot keep their key in "),
        "{said}"
    );
    assert_ne!(host("four"), host("one"));
}

#[test]
fn what_cannot_be_made_anonymous_is_refused() {
    let place = recorded();
    place.well("anonymise acme.teiji -o sent.teiji");
    let before = place.listing();
    for (words, expected) in [
        ("anonymise acme.teiji -o sent.teiji", "sent.teiji exists already"),
        ("anonymise sent.teiji -o again.teiji", "sent.teiji is anonymous already"),
        ("anonymise nowhere -o again.teiji", "nowhere"),
        ("anonymise acme.teiji -o nowhere/again.teiji", "nowhere/again.teiji"),
    ] {
        let output = place.teiji(words);
        assert!(output.code == Some(2) && output.err.contains(expected), "{words}: {output:?}");
    }
    std::fs::remove_file(place.join("acme.teiji/samples-0.arrows")).unwrap();
    assert_eq!(place.teiji("anonymise acme.teiji -o again.teiji").code, Some(2));
    let left =
        before.into_iter().filter(|name| name != "acme.teiji/samples-0.arrows").collect::<Vec<_>>();
    assert_eq!(place.listing(), left, "nothing is left behind");
}

#[test]
fn what_a_recording_holds_is_said_where_it_is_named() {
    let _turn = beside_others();
    let place = TestFolder::new();
    let said = |words: &str| place.well(words).out.contains(NAMES);
    assert!(NAMES.trim_end().len() <= 80);
    assert!(said("measure -n 20 -t 1 -o loud.teiji"));
    assert!(
        !said("measure -q -n 20 -t 1 -o quiet.teiji")
            && !said("measure --json -n 20 -t 1 -o json.teiji")
    );
}
