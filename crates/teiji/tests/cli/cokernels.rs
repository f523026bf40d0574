// SPDX-License-Identifier: MIT OR Apache-2.0
//! Co-kernels that are none: `tests/outside/fake_core.py` answers the program's calls of them, by a
//! filter of system calls. So everything but the core itself is real, and the core does what no
//! real one does when it is wanted.

use crate::support::skipped::{Need, skipped};
use crate::support::{Output, Running, TEIJI, TestFolder, beside_others};

const FAKE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/outside/fake_core.py");

/// However late: a core that does something else in mid-run counts its calls.
const EACH: &str = "--catch-up";

/// Exit code where such a filter cannot be set.
const CANNOT: i32 = 77;

/// Cobalt, and EVL of each way to call it; with the name and the probe of each.
const CORES: [(&str, &str, &str); 4] = [
    ("cobalt", "Cobalt", "cobalt"),
    ("evl26", "EVL", "evl"),
    ("evl32", "EVL", "evl"),
    ("evl36", "EVL", "evl"),
];

/// A run on a core that behaves like this; none where it cannot be here.
fn run_on(place: &TestFolder, core: &str, behaviour: &str, words: &str) -> Option<Output> {
    if !rustix::process::geteuid().is_root() {
        skipped(Need::RealTime, "not root: threads of a co-kernel need all memory locked");
        return None;
    }
    let _ = std::fs::remove_dir_all(place.join("x.teiji"));
    let mut command = place.command("python3");
    command.args([FAKE, core, behaviour, TEIJI, "measure"]);
    command
        .args(["-i", "10ms", "-n", "30", "-t", "1", "--warmup", "0", "-q", "-o", "x.teiji"])
        .args(words.split_whitespace());
    let output = Running::start(command).end();
    if output.code == Some(CANNOT) {
        skipped(
            Need::SystemCallFilter,
            "no filter of system calls that asks another process can be set",
        );
        return None;
    }
    Some(output)
}

#[test]
fn a_core_that_runs_is_measured_on() {
    let _turn = beside_others();
    let place = TestFolder::new();
    for (core, name, probe) in CORES {
        let Some(output) = run_on(&place, core, "runs", "") else { return };
        assert_eq!(output.code, Some(0), "{output:?}");
        let document = place.document("x.teiji");
        document.assert_adds_up();
        assert_eq!((document.text("/run/probe"), document.text("/probe/name")), (probe, probe));
        let found = document.at("/instrument/co_kernel");
        assert_eq!((&found["name"], &found["chosen"]), (&name.into(), &true.into()));
        assert_eq!(document.threads()[0].whole("/evidence/fallen_back"), 0);
        assert!(!document.warns_of("fell-back"), "{:?}", document.at("/warnings"));
        let shown = output.out.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            shown.contains(&format!("on {name} ")) && shown.contains("beside Linux"),
            "{output:?}"
        );
    }
}

/// What the core does not count Linux does: to which every sleep of this one is a call that waits.
#[test]
fn a_core_that_counts_nothing_marks_the_run() {
    let _turn = beside_others();
    let place = TestFolder::new();
    let Some(output) = run_on(&place, "evl26", "counts-nothing", "--limit max<10s") else { return };
    assert_eq!(output.code, Some(3), "{output:?}");
    let document = place.document("x.teiji");
    assert!(document.warns_of("fell-back"), "{:?}", document.at("/warnings"));
    let thread = &document.threads()[0];
    let skipped = thread.whole("/activations/skipped");
    assert!(thread.whole("/evidence/fallen_back") + skipped >= 29, "{thread:?}");
}

#[test]
fn a_core_whose_devices_are_hidden_is_not_passed_over() {
    let _turn = beside_others();
    let place = TestFolder::new();
    for words in ["", "--probe evl"] {
        let Some(output) = run_on(&place, "evl26", "hides-devices", words) else { return };
        assert_eq!(output.code, Some(4), "{output:?}");
        assert!(output.err.contains("there is no /dev/evl here"), "{output:?}");
    }
}

/// By a timer file, whose calls are others before Xenomai 3.3 than since. A time that has come is
/// not waited for.
#[test]
fn a_timer_of_cobalt_is_waited_for() {
    let _turn = beside_others();
    let place = TestFolder::new();
    let by_timer = "--sleep timerfd";
    for core in if cfg!(target_arch = "x86_64") {
        ["cobalt18", "cobalt19"]
    } else {
        ["cobalt2", "cobalt20"]
    } {
        let Some(output) = run_on(&place, core, "runs", by_timer) else { return };
        assert_eq!(output.code, Some(0), "{output:?}");
        let document = place.document("x.teiji");
        document.assert_adds_up();
        assert_eq!(
            (document.text("/run/probe"), document.text("/run/probe_settings/sleep")),
            ("cobalt", "timerfd")
        );
        assert!(document.text("/probe/measuring_point").contains("timerfd of Cobalt"));
        assert_eq!(document.threads()[0].whole("/evidence/fallen_back"), 0);

        let Some(output) = run_on(&place, core, "oversleeps", by_timer) else { return };
        assert_eq!(output.code, Some(0), "{output:?}");
        let document = place.document("x.teiji");
        document.assert_adds_up();
        let thread = &document.threads()[0];
        assert!(thread.whole("/activations/skipped") >= 2, "{:?}", document.at("/threads"));
        assert!(
            (25_000_000..1_000_000_000).contains(&thread.whole("/latency_ns/max")),
            "{:?}",
            document.at("/threads")
        );
        assert!(thread.whole("/latency_ns/min") >= 0, "{:?}", document.at("/threads"));
        place.well("verify x.teiji");
    }
    let Some(output) = run_on(&place, "cobalt", "vanishes", by_timer) else { return };
    assert_eq!(output.code, Some(4), "{output:?}");
    assert!(place.document("x.teiji").text("/end/error").contains("Function not implemented"));
    let Some(output) = run_on(&place, "cobalt", "runs", "--sleep poll") else { return };
    assert_eq!(output.code, Some(2), "{output:?}");
    assert!(
        output.err.contains("cobalt") && output.err.contains("absolute, timerfd"),
        "{output:?}"
    );
}

/// To a kernel that has none a core's call is unknown, and a filter of system calls may end who
/// makes it.
#[test]
fn without_a_core_none_is_called() {
    let _turn = beside_others();
    let place = TestFolder::new();
    for words in ["", "--probe cyclic"] {
        let Some(output) = run_on(&place, "cobalt", "none", words) else { return };
        assert_eq!(output.code, Some(0), "{output:?}");
        assert!(output.err.contains("calls of the core: 0, EVL looked for: False"), "{output:?}");
        assert_eq!(place.document("x.teiji").text("/run/probe"), "cyclic");
    }
    // A kernel with a pipeline may have the other one.
    let Some(output) = run_on(&place, "evl26", "none", "") else { return };
    assert!(output.err.contains("EVL looked for: True"), "{output:?}");
    assert_eq!(place.document("x.teiji").text("/run/probe"), "cyclic");
}

#[test]
fn a_core_that_refuses_ends_the_run() {
    let _turn = beside_others();
    let place = TestFolder::new();
    for (core, name, probe) in CORES {
        for (behaviour, says) in [
            ("stopped", format!("{name} is stopped: start it by")),
            ("forbids", format!("{name} does not permit it: be root, or have root ")),
            (
                "unknown",
                format!("the running {name} has ABI revision 99, which is unknown. Known are"),
            ),
        ] {
            let named = format!("--probe {probe}");
            for (words, says_also) in
                [("", "is measured by the probe cyclic: --probe cyclic"), (&named, "")]
            {
                let Some(output) = run_on(&place, core, behaviour, words) else { return };
                assert_eq!(output.code, Some(4), "{output:?}");
                assert!(output.err.contains(&says) && output.err.contains(says_also), "{output:?}");
                assert!(!place.join("x.teiji").exists());
            }
        }
    }
}

/// Beside a core that refuses, where that is what somebody wants.
#[test]
fn linux_is_measured_when_it_is_asked_for() {
    let _turn = beside_others();
    let place = TestFolder::new();
    let Some(output) = run_on(&place, "cobalt", "stopped", "--probe cyclic") else { return };
    assert_eq!(output.code, Some(0), "{output:?}");
    assert_eq!(place.document("x.teiji").text("/run/probe"), "cyclic");
}

#[test]
fn a_thread_that_falls_back_in_mid_run_marks_it() {
    let _turn = beside_others();
    let place = TestFolder::new();
    for (core, ..) in CORES {
        let Some(output) = run_on(&place, core, "falls-back", &format!("--limit max<10s {EACH}"))
        else {
            return;
        };
        assert_eq!(output.code, Some(3), "a pass would be wrong: {output:?}");
        let document = place.document("x.teiji");
        document.assert_adds_up();
        assert_eq!(document.threads()[0].whole("/evidence/fallen_back"), 1);
        assert!(document.warns_of("fell-back"), "{:?}", document.at("/warnings"));
    }
}

#[test]
fn a_core_that_vanishes_in_mid_run_ends_it() {
    let _turn = beside_others();
    let place = TestFolder::new();
    for (core, ..) in CORES {
        let Some(output) = run_on(&place, core, "vanishes", EACH) else { return };
        assert_eq!(output.code, Some(4), "{output:?}");
        let document = place.document("x.teiji");
        document.assert_adds_up();
        assert_eq!(
            (document.text("/state"), document.text("/end/reason")),
            ("stopped", "probe-failed")
        );
        assert!(
            document.text("/end/error").contains("Function not implemented"),
            "{:?}",
            document.at("/end")
        );
        // A busy machine skips any number besides.
        let count = |name: &str| document.threads()[0].whole(&format!("/activations/{name}"));
        assert!(
            (1..30).contains(&(count("on_time") + count("late"))),
            "{:?}",
            document.at("/threads")
        );
        place.well("verify x.teiji");
    }
}
