// SPDX-License-Identifier: MIT OR Apache-2.0
//! Wrong use is loud: exit 2, a message that names what was wrong, nothing on standard output, and
//! nothing left behind.
//!
//! What is said stands in `tests/golden/*.txt`, one session per file, to be read and judged as a
//! whole. To write the files anew after a message was changed on purpose: `TEIJI_WRITE_GOLDEN=1
//! cargo test -p teiji bad_input`, and look at the diff.

use crate::support::{Output, Running, TEIJI, TestFolder, is_root};
use plan::CpuList;
use std::fmt::Write as _;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// The sessions.
const GOLDEN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden");

/// What every command finds in its directory.
fn furnished() -> TestFolder {
    let place = TestFolder::new();
    std::fs::create_dir(place.join("taken.teiji")).unwrap();
    std::fs::write(place.join("taken.teiji/precious"), "data").unwrap();
    std::fs::write(place.join("file"), "").unwrap();
    std::fs::create_dir(place.join("newer.teiji")).unwrap();
    std::fs::write(
        place.join("newer.teiji/run.json"),
        r#"{"format": "teiji-recording", "version": 2}"#,
    )
    .unwrap();
    std::fs::write(place.join("plan.toml"), "[measure]\nsamples = 10\n[vary]\nprio = [10, 20]\n")
        .unwrap();
    std::fs::write(place.join("typo.toml"), "[measure]\nsamples = 10\n[vary]\nprio = [10, 120]\n")
        .unwrap();
    let faults = "[measure]\nsampels = 10\nprio = 120\npolicy = fast\n[vary]\nload = ['cup', \
                  'cpu', 'cpu']\n[limits]\nmax = 'low'\n[order]\nrepeat = 0\n";
    std::fs::write(place.join("faults.toml"), faults).unwrap();
    std::fs::write(
        place.join("policies.toml"),
        "[measure]\nsamples = 10\nprio = 80\n[vary]\npolicy = ['other', 'fifo']\n",
    )
    .unwrap();
    for (name, plan) in [
        (
            "round-robin.toml",
            "[measure]\nsamples = 10\nprio = 80\n[vary]\npolicy = ['rr', 'batch']\n",
        ),
        ("one-policy.toml", "[measure]\nsamples = 10\npolicy = 'other'\nprio = 80\n"),
    ] {
        std::fs::write(place.join(name), plan).unwrap();
    }
    std::fs::write(place.join("words.toml"), "[vary]\nload = ['none',\n  cpu]\n").unwrap();
    std::fs::write(
        place.join("guests.toml"),
        "[measure]\nprogram = 'nosuch'\n[vary]\nkernel = ['debian:amd64']\n",
    )
    .unwrap();
    std::fs::create_dir(place.join("begun")).unwrap();
    std::fs::write(place.join("begun/plan.toml"), "[vary]\nprio = [10, 20]\n[order]\nseed = 1\n")
        .unwrap();
    std::fs::write(place.join("headless.csv"), "source,year\nSomebody,2010\n").unwrap();
    std::fs::create_dir(place.join("foreign.teiji")).unwrap();
    std::fs::write(place.join("foreign.teiji/run.json"), r#"{"version": 1}"#).unwrap();
    place
}

/// What depends on the machine, and on who runs the tests: somebody without real-time rights hears
/// of that first.
fn masked(text: &str) -> String {
    let cpus = CpuList::format(&probe::process_cpus().unwrap().usable);
    let text = text
        .split_inclusive('\n')
        .filter(|line| !line.starts_with("No real-time rights"))
        .collect::<String>();
    text.replace(&format!("Usable CPUs: {cpus}\n"), "Usable CPUs: [CPUS]\n")
        .replace(&format!("no CPU of {cpus}\n"), "no CPU of [CPUS]\n")
        .lines()
        .map(|line| {
            line.find(", from 4K up to ")
                .map_or(line.to_owned(), |at| format!("{}, from 4K up to [MEMORY]", &line[..at]))
        })
        .fold(String::new(), |text, line| text + &line + "\n")
        .replace("Operation not permitted (os error 1)", "[REFUSED]")
        .replace("Permission denied (os error 13)", "[REFUSED]")
}

/// Runs each command of a session and writes down what happens, in the form of the session.
fn replayed(session: &str) -> String {
    let mut text = String::new();
    for line in session.lines() {
        if line.starts_with('#') {
            let _ = writeln!(text, "{line}");
        }
        let Some(words) = line.strip_prefix("$ teiji ") else { continue };
        let place = furnished();
        let before = place.listing();
        let Output { code, out, err } = place.teiji(words);
        assert_eq!(out, "", "teiji {words}: nothing belongs on standard output");
        assert_eq!(place.listing(), before, "teiji {words}: something was left behind");
        let code = code.map_or("none".to_owned(), |code| code.to_string());
        let _ = write!(text, "\n$ teiji {words}\n{}[exit {code}]\n", masked(&err));
    }
    text
}

fn assert_golden(name: &str) {
    let path = Path::new(GOLDEN).join(name);
    let session = std::fs::read_to_string(&path).unwrap();
    let replayed = replayed(&session);
    if std::env::var_os("TEIJI_WRITE_GOLDEN").is_some() {
        std::fs::write(&path, replayed).unwrap();
        return;
    }
    let differences: Vec<String> = differences(&session, &replayed).collect();
    assert!(differences.is_empty(), "{name}:\n{}", differences.join("\n"));
}

/// Command by command.
fn differences<'a>(expected: &'a str, got: &'a str) -> impl Iterator<Item = String> + 'a {
    let pairs = expected.split("\n$ ").zip(got.split("\n$ "));
    pairs
        .filter(|(expected, got)| expected != got)
        .map(|(expected, got)| format!("-- expected --\n{expected}\n-- got --\n{got}"))
}

#[test]
fn gates_and_comparisons() {
    assert_golden("judging.txt");
}

#[test]
fn cyclictest() {
    assert_golden("cyclictest.txt");
}

#[test]
fn times_and_lengths() {
    assert_golden("times.txt");
}

#[test]
fn cpus_and_threads() {
    assert_golden("cpus.txt");
}

#[test]
fn scheduling() {
    assert_golden("scheduling.txt");
}

#[test]
fn loads() {
    assert_golden("loads.txt");
}

#[test]
fn lab() {
    assert_golden("lab.txt");
}

#[test]
fn explanations() {
    assert_golden("explain.txt");
}

#[test]
fn plans() {
    assert_golden("plans.txt");
}

#[test]
fn places_for_recordings() {
    assert_golden("output.txt");
}

#[test]
fn recordings_that_are_none() {
    assert_golden("reading.txt");
}

/// Every message of the sessions comes with exit code 2: a golden file written anew cannot let
/// another one in.
#[test]
fn bad_input_is_always_exit_2() {
    let mut commands = 0;
    for file in std::fs::read_dir(GOLDEN).unwrap() {
        let path = file.unwrap().path();
        let session = std::fs::read_to_string(&path).unwrap();
        for part in session.split("\n$ ").skip(1) {
            commands += 1;
            let path = path.display();
            assert!(part.ends_with("[exit 2]\n") && part.contains("\nerror: "), "{path}: {part}");
            assert_eq!(
                part.matches("(os error").count().max(1),
                1,
                "{path}: the system's reason stands twice: {part}"
            );
        }
    }
    assert!(commands > 40, "{commands}");
}

/// A folder that may not be written to, for somebody who is not root: to root everything is open.
#[test]
fn a_folder_without_the_right_to_write() {
    let place = TestFolder::new();
    let open = |mode| {
        std::fs::set_permissions(place.path(), std::fs::Permissions::from_mode(mode)).unwrap()
    };
    std::fs::copy(TEIJI, place.join("teiji")).unwrap();
    open(0o555);
    let mut command = place.command(if is_root() { "setpriv" } else { "env" });
    if is_root() {
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]);
    }
    command.arg(place.join("teiji")).args(["measure", "-d", "100ms", "-o", "x.teiji"]);
    let Output { code, out, err } = Running::start(command).end();
    open(0o755);
    assert_eq!((code, out.as_str()), (Some(2), ""), "{err}");
    assert!(
        err.ends_with("error: cannot make the folder x.teiji: Permission denied (os error 13)\n"),
        "{err}"
    );
    assert_eq!(place.listing(), ["teiji"]);
}

/// What was wrong is found before anything is started: a load least of all.
#[test]
fn found_at_once() {
    let place = furnished();
    let before = std::time::Instant::now();
    let output = place.teiji("measure --load hackbench,groups=100 -o taken.teiji");
    assert_eq!((output.code, output.out.as_str()), (Some(2), ""));
    assert!(before.elapsed().as_secs() < 2, "{output:?}");
}
