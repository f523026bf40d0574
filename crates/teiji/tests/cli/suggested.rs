// SPDX-License-Identifier: MIT OR Apache-2.0
//! Commands that teiji suggests, run as `tests/suggested.txt` says. That the list has all of them
//! is held by `src/suggestion_tests.rs`.

use crate::import::HISTOGRAM;
use crate::sessions::synthetic::{self, Numbers};
use crate::support::machine::lay_out;
use crate::support::skipped::{Need, skipped};
use crate::support::{Running, TEIJI, TestFolder, beside_others, cpus, exclusive};
use std::fs;
use std::os::unix::fs::PermissionsExt;

const PLAN: &str = "[measure]\nsamples = 50\n\n[vary]\nthreads = [1, 2]\n\n[limits]\nmax = '10s'\n";

/// What the commands name.
fn furnished() -> TestFolder {
    let place = TestFolder::new();
    for (name, latency) in [
        ("good.teiji", Numbers::tailed_ns as fn(&mut Numbers) -> i64),
        ("short.teiji", Numbers::tailed_ns),
        ("late.teiji", Numbers::latency_ns),
    ] {
        synthetic::write(&place.join(name), 2, 2_000, latency).unwrap();
    }
    lay_out(&place.join("m"), "laptop");
    fs::write(place.join("plan.toml"), PLAN).unwrap();
    fs::write(place.join("hist.txt"), HISTOGRAM).unwrap();
    fs::write(place.join("my-loop"), "#!/bin/sh\nwhile :; do sleep 0.01; done\n").unwrap();
    fs::set_permissions(place.join("my-loop"), fs::Permissions::from_mode(0o755)).unwrap();
    place.well("run plan.toml -o begun");
    place
}

/// The probe whose needs these words have: of the kernel's events those of `app`.
fn probe_of(words: &[String]) -> Option<&str> {
    if words.iter().any(|word| word.starts_with("--explain")) {
        return Some("app");
    }
    words.iter().skip_while(|word| *word != "--probe").nth(1).map(String::as_str)
}

/// What this machine lacks for it.
fn lacks(probe: &str) -> Option<String> {
    probe::PROBES.iter().find(|one| one.name == probe).unwrap().lacks()
}

#[test]
fn suggested_commands_can_be_run() {
    if cpus().len() < 2 {
        return skipped(Need::TwoCpus, "one CPU may be used");
    }
    let place = furnished();
    let rows = include_str!("../suggested.txt").lines().filter(|line| !line.starts_with('#'));
    let (mut ran, mut read, mut wrongs) = (0, Vec::new(), Vec::new());
    for (command, how) in rows.filter_map(|line| line.split_once(" => ")) {
        let Some(how) = how.strip_prefix("run ") else {
            read.push(format!("teiji {command}: {}", how.trim_start_matches("read ")));
            continue;
        };
        let (code, words) = match how.strip_prefix('[').and_then(|how| how.split_once("] ")) {
            Some((code, words)) => (code.parse().unwrap(), words),
            None => (0, how),
        };
        let words = shlex::split(words).unwrap();
        let probe = probe_of(&words);
        let lacks = probe.and_then(lacks);
        // What there is once is the tracers.
        let _alone = probe.map(|_| exclusive());
        let _beside = probe.is_none().then(beside_others);
        let mut started = place.command(TEIJI);
        started.args(&words);
        let ended = Running::start(started).end();
        let expected = if lacks.is_some() { 4 } else { code };
        if ended.code != Some(expected) {
            wrongs.push(format!("teiji {how}: {ended:?}"));
        }
        match lacks {
            Some(lacks) => read.push(format!("teiji {command}: {lacks}")),
            None => ran += 1,
        }
    }
    assert!(wrongs.is_empty(), "{}", wrongs.join("\n"));
    eprintln!("{ran} suggested commands run, {} only read:\n{}", read.len(), read.join("\n"));
}
