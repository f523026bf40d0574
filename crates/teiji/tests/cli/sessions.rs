// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the program says where all goes well, as whole sessions in `tests/sessions/*.txt`: of
//! recordings that nobody measured and that are the same on every machine, of plans before they
//! begin, and its help. To be read and judged as a whole; to write them anew after a change on
//! purpose: `TEIJI_WRITE_GOLDEN=1 cargo test -p teiji sessions`, and look at the diff.

use crate::support::{Output, TestFolder};
use model::Document;
use serde_json::json;
use std::fmt::Write as _;
use std::path::Path;

// The benches' recordings: xorshift, exactly the same numbers everywhere.
#[path = "../../../recording/examples/synthetic_recording.rs"]
#[expect(dead_code, reason = "its main program is not needed here")]
pub(crate) mod synthetic;
use synthetic::Numbers;

/// The sessions.
const SESSIONS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/sessions");

/// What every session finds in its directory: two recordings of a machine that does well, one of
/// them longer, one of a machine that overruns its interval now and then, and a plan.
fn furnished() -> TestFolder {
    let place = TestFolder::new();
    let write = |name: &str, threads, activations, latency| {
        synthetic::write(&place.join(name), threads, activations, latency)
    };
    write("good.teiji", 2, 20_000, Numbers::tailed_ns).unwrap();
    write("short.teiji", 1, 500, Numbers::tailed_ns).unwrap();
    write("late.teiji", 2, 100_000, Numbers::latency_ns).unwrap();
    let plan = "[measure]\nsamples = 1000\ninterval = '1ms'\ncpus = '0'\npolicy = \
                'other'\n\n[vary]\nload = ['none', 'cpu@50%,cpus=0']\nthreads = [1, \
                2]\n\n[order]\nrepeat = 2\nseed = 7\nshuffle = true\n";
    std::fs::write(place.join("plan.toml"), plan).unwrap();
    for (kernel, latency) in [
        ("amd64", Numbers::latency_ns as fn(&mut Numbers) -> i64),
        ("rt-amd64", Numbers::tailed_ns),
    ] {
        std::fs::create_dir(place.join(kernel)).unwrap();
        for phase in 1..=6 {
            let document = in_phase(kernel, phase);
            let path = place.join(&format!("{kernel}/debian-{kernel}-phase-{phase}.teiji"));
            synthetic::write_another(&path, &document, latency, 10 * u64::from(phase)).unwrap();
        }
    }
    place
}

/// A run of a kernel in the lab, in this phase.
fn in_phase(kernel: &str, phase: u32) -> Document {
    let mut document = synthetic::initial_document(1, 5_000);
    let file = |name: &str| json!({ "path": name, "sha256": name });
    let guest = json!({
        "machine": "x86_64", "memory_mib": 512, "cpus": 1,
        "time": { "mode": "virtual", "shift": 0 }, "kernel_args": "",
    });
    let lab = json!({
        "guest": guest, "ns_per_instruction": 1, "deterministic": true, "accelerator": "tcg",
        "kernel": {
            "name": format!("debian:{kernel}=6.1"), "image": file(kernel), "modules": null,
        },
        "device_tree": null,
        "program": file("teiji"), "modules": [], "initramfs_sha256": phase.to_string(),
        "qemu": { "version": "7.2.22", "command_line": [] }, "host_ms": 5,
    });
    document.lab = serde_json::from_value(lab).unwrap();
    document.run.title = None;
    document.run.phase = phase.to_string().parse().unwrap();
    document
}

/// Runs each command of a session, one after the other in one directory, and writes down what
/// happens.
fn replayed(session: &str) -> String {
    let place = furnished();
    let mut text = String::new();
    for line in session.lines() {
        if line.starts_with('#') {
            let _ = writeln!(text, "{line}");
        }
        let Some(words) = line.strip_prefix("$ teiji ") else { continue };
        let Output { code, out, err } = place.teiji(words);
        let _ = write!(text, "\n$ teiji {words}\n{out}");
        if !err.is_empty() {
            let _ = write!(text, "[standard error]\n{err}");
        }
        let code = code.map_or("none".to_owned(), |code| code.to_string());
        let _ = writeln!(text, "[exit {code}]");
    }
    text
}

fn assert_session(name: &str) {
    let path = Path::new(SESSIONS).join(name);
    let session = std::fs::read_to_string(&path).unwrap();
    let replayed = replayed(&session);
    if std::env::var_os("TEIJI_WRITE_GOLDEN").is_some() {
        std::fs::write(&path, replayed).unwrap();
        return;
    }
    let commands = session.split("\n$ ").zip(replayed.split("\n$ "));
    let differ = commands.filter(|(expected, got)| expected != got);
    let differences: Vec<String> = differ
        .map(|(expected, got)| format!("-- expected --\n{expected}\n-- got --\n{got}"))
        .collect();
    assert!(
        differences.is_empty() && session.len() == replayed.len(),
        "{name}:\n{}",
        differences.join("\n")
    );
}

#[test]
fn recordings_are_shown_and_verified() {
    assert_session("show.txt");
}

#[test]
fn limits_are_judged() {
    assert_session("gate.txt");
}

#[test]
fn recordings_are_compared() {
    assert_session("compare.txt");
}

#[test]
fn phases_are_shown_judged_and_compared_together() {
    assert_session("phases.txt");
}

#[test]
fn a_report_says_what_it_is_about() {
    assert_session("report.txt");
}

#[test]
fn a_plan_says_what_it_would_do() {
    assert_session("plan.txt");
}

#[test]
fn command_lines_of_cyclictest_are_linted() {
    assert_session("lint.txt");
}

#[test]
fn every_verb_has_its_help() {
    assert_session("help.txt");
}

/// Commands that a session names for what to do next do it.
#[test]
fn what_comes_next_can_be_run() {
    let sessions = std::fs::read_dir(SESSIONS).unwrap().map(|entry| entry.unwrap().path());
    let text: String = sessions.map(|path| std::fs::read_to_string(path).unwrap()).collect();
    let mut next: Vec<&str> =
        text.lines().filter_map(|line| line.strip_prefix("Next: teiji ")).collect();
    next.sort_unstable();
    next.dedup();
    assert!(!next.is_empty());
    let place = furnished();
    for words in next {
        let ended = place.teiji(words);
        assert_eq!(ended.code, Some(0), "teiji {words}: {ended:?}");
    }
}

/// A verb that is new is in the session of help, too.
#[test]
fn no_verb_is_without_its_help() {
    let session = std::fs::read_to_string(Path::new(SESSIONS).join("help.txt")).unwrap();
    let verbs_of = |words: &str| {
        let help = TestFolder::new().well(&format!("{words}--help")).out;
        let listed =
            help.split("\nCommands:\n").nth(1).unwrap().split("\n\n").next().unwrap().to_owned();
        let verbs =
            listed.lines().filter(|line| line.starts_with("  ") && !line.starts_with("   "));
        let named =
            verbs.map(|line| format!("{words}{} ", line.split_whitespace().next().unwrap()));
        named.filter(|verb| !verb.ends_with("help ")).collect::<Vec<_>>()
    };
    let verbs = [verbs_of(""), verbs_of("lab ")].concat();
    assert!(verbs.len() >= 18, "{verbs:?}");
    for verb in verbs {
        assert!(
            session.contains(&format!("\n$ teiji {verb}--help\n")),
            "help.txt has no help of {verb}"
        );
    }
}
