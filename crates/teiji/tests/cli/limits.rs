// SPDX-License-Identifier: MIT OR Apache-2.0
//! Runs that end because of what they measured.

use crate::support::{TestFolder, beside_others};

/// No machine wakes a thread within a microsecond for ten seconds.
#[test]
fn a_latency_above_the_limit_ends_the_run() {
    let _turn = beside_others();
    let place = TestFolder::new();
    let output = place.teiji("measure -i 1ms -d 10s -b 1us -t 2 -o x.teiji");
    assert_eq!(output.code, Some(1), "{output:?}");
    let document = place.document("x.teiji");
    document.assert_adds_up();
    assert_eq!((document.text("/state"), document.text("/end/reason")), ("stopped", "break-above"));
    let (thread, activation) = (document.whole("/end/thread"), document.whole("/end/activation"));
    assert!(document.whole("/end/latency_ns") > 1_000);
    // The one that is named was measured, and is the last of its thread.
    let thread = &document.threads()[usize::try_from(thread).unwrap()];
    assert_eq!(thread.whole("/activations/due"), activation + 1);
    let worst = thread.list("/worst");
    let named = worst.iter().find(|worst| worst.whole("/activation") == activation);
    assert_eq!(
        named.map(|worst| worst.whole("/latency_ns")),
        Some(document.whole("/end/latency_ns")),
        "{worst:?}"
    );
    assert!(output.out.contains("\n✗ Stopped by --break-above: activation "), "{}", output.out);
    place.well("verify x.teiji");
}

#[test]
fn a_limit_that_is_not_exceeded_changes_nothing() {
    let _turn = beside_others();
    let place = TestFolder::new();
    place.well("measure -i 1ms -n 100 -b 1h -o x.teiji");
    assert_eq!(place.document("x.teiji").text("/state"), "complete");
}

/// In a plan such a run is recorded: it is not tried again, and does not make the plan a failure.
#[test]
fn a_run_of_a_plan_that_a_latency_ends_is_recorded() {
    let _turn = beside_others();
    let place = TestFolder::new();
    std::fs::write(
        place.join("plan.toml"),
        "[measure]\nduration = '10s'\nbreak-above = '1us'\n[vary]\nprio = [10]\n",
    )
    .unwrap();
    place.well("run plan.toml -q -o out");
    let document = place.document("out/01-prio=10.teiji");
    assert_eq!((document.text("/state"), document.text("/end/reason")), ("stopped", "break-above"));
    let before = place.read("out/01-prio=10.teiji/run.json");
    let output = place.well("run --resume out -q");
    assert!(output.out.starts_with("1 of 1 run"), "{output:?}");
    assert_eq!(place.read("out/01-prio=10.teiji/run.json"), before);
    assert!(place.well("show out").out.contains("cut short"));
}
