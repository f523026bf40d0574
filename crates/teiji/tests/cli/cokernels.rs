// SPDX-License-Identifier: MIT OR Apache-2.0
//! A Cobalt that is none: `tests/outside/fake_cobalt.py` answers the program's calls of it, by a filter of system calls. So everything but the
//! core itself is real, and the core does what no real one does when it is wanted.

use crate::support::skipped::{Need, skipped};
use crate::support::{Output, Running, TEIJI, TestFolder, exclusive};

const FAKE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/outside/fake_cobalt.py");

/// Exit code where such a filter cannot be set.
const CANNOT: i32 = 77;

/// A run on a core that behaves like this; none where it cannot be here.
fn run_on(place: &TestFolder, core: &str, words: &str) -> Option<Output> {
    if !rustix::process::geteuid().is_root() {
        skipped(Need::RealTime, "not root: threads of a co-kernel need all memory locked");
        return None;
    }
    let mut command = place.command("python3");
    command.args([FAKE, core, TEIJI, "measure"]);
    command.args(["-i", "10ms", "-n", "30", "-t", "1", "--warmup", "0", "-q", "-o", "x.teiji"]).args(words.split_whitespace());
    let output = Running::start(command).end();
    if output.code == Some(CANNOT) {
        skipped(Need::SystemCallFilter, "no filter of system calls that asks another process can be set");
        return None;
    }
    Some(output)
}

#[test]
fn a_core_that_runs_is_measured_on() {
    let _turn = exclusive();
    let place = TestFolder::new();
    let Some(output) = run_on(&place, "runs", "") else { return };
    assert_eq!(output.code, Some(0), "{output:?}");
    let document = place.document("x.teiji");
    document.assert_adds_up();
    assert_eq!((document.text("/run/probe"), document.text("/probe/name")), ("cobalt", "cobalt"));
    let core = document.at("/instrument/co_kernel");
    assert_eq!((&core["name"], &core["version"], &core["abi"]), (&"Cobalt".into(), &"3.3.1".into(), &19.into()));
    assert_eq!(core["chosen"], true);
    assert_eq!(document.threads()[0].whole("/evidence/fallen_back"), 0);
    assert!(!document.warns_of("fell-back"), "{:?}", document.at("/warnings"));
    let shown = output.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(shown.contains("on Cobalt 3.3.1 (ABI revision 19), beside Linux"), "{output:?}");
}

/// Of the program itself: one call, and nothing else that a co-kernel has.
#[test]
fn without_a_core_one_call_is_made() {
    let _turn = exclusive();
    let place = TestFolder::new();
    let Some(output) = run_on(&place, "none", "") else { return };
    assert_eq!(output.code, Some(0), "{output:?}");
    assert!(output.err.contains("calls of Cobalt: 1, EVL looked for: False"), "{output:?}");
    assert_eq!(place.document("x.teiji").text("/run/probe"), "cyclic");
    std::fs::remove_dir_all(place.join("x.teiji")).unwrap();
    let Some(output) = run_on(&place, "none", "--probe cyclic") else { return };
    assert!(output.err.contains("calls of Cobalt: 0"), "{output:?}");
}

#[test]
fn a_core_that_refuses_ends_the_run() {
    let _turn = exclusive();
    let place = TestFolder::new();
    for (core, says) in [
        ("stopped", "Cobalt is stopped: start it by"),
        ("forbids", "Cobalt does not permit it: be root, or have root write a group"),
        ("unknown", "the running Cobalt has ABI revision 99, which is unknown. Known are"),
    ] {
        for (words, says_also) in [("", "is measured by the probe cyclic: --probe cyclic"), ("--probe cobalt", "")] {
            let Some(output) = run_on(&place, core, words) else { return };
            assert_eq!(output.code, Some(4), "{output:?}");
            assert!(output.err.contains(says) && output.err.contains(says_also), "{output:?}");
            assert!(!place.join("x.teiji").exists());
        }
    }
}

/// Beside a core that refuses, where that is what somebody wants.
#[test]
fn linux_is_measured_when_it_is_asked_for() {
    let _turn = exclusive();
    let place = TestFolder::new();
    let Some(output) = run_on(&place, "stopped", "--probe cyclic") else { return };
    assert_eq!(output.code, Some(0), "{output:?}");
    assert_eq!(place.document("x.teiji").text("/run/probe"), "cyclic");
}

#[test]
fn a_thread_that_falls_back_in_mid_run_marks_it() {
    let _turn = exclusive();
    let place = TestFolder::new();
    let Some(output) = run_on(&place, "falls-back", "--limit max<10s") else { return };
    assert_eq!(output.code, Some(3), "a pass would be wrong: {output:?}");
    let document = place.document("x.teiji");
    document.assert_adds_up();
    assert_eq!(document.threads()[0].whole("/evidence/fallen_back"), 1);
    assert!(document.warns_of("fell-back"), "{:?}", document.at("/warnings"));
}

#[test]
fn a_core_that_vanishes_in_mid_run_ends_it() {
    let _turn = exclusive();
    let place = TestFolder::new();
    let Some(output) = run_on(&place, "vanishes", "") else { return };
    assert_eq!(output.code, Some(4), "{output:?}");
    let document = place.document("x.teiji");
    document.assert_adds_up();
    assert_eq!((document.text("/state"), document.text("/end/reason")), ("stopped", "probe-failed"));
    assert!(document.text("/end/error").contains("Function not implemented"), "{:?}", document.at("/end"));
    assert!((1..30).contains(&document.threads()[0].whole("/activations/due")), "{:?}", document.at("/threads"));
    place.well("verify x.teiji");
}
