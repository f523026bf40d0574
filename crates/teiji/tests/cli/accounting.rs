// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whatever is asked for: as many activations are accounted for as were asked for, and every figure
//! follows from the samples.

use crate::support::{
    MILLISECOND, TestFolder, beside_others, exclusive, is_whole, may_real_time_or_skip,
};

/// Every interval with every policy, for a tenth of a second each, by one thread and two in turn.
#[test]
fn what_was_asked_for_was_due() {
    let _turn = beside_others();
    let place = TestFolder::new();
    let policies =
        if may_real_time_or_skip() { vec!["fifo", "rr", "other"] } else { vec!["other", "batch"] };
    for (of_intervals, interval_us) in [50, 137, 400, 1_000, 2_000].into_iter().enumerate() {
        for (of_policies, policy) in policies.iter().enumerate() {
            let one = 1 + (of_intervals + of_policies) % 2;
            for threads in if is_whole() { 1..=2 } else { one..=one } {
                let due = 100_000 / interval_us;
                let name = format!("{interval_us}-{policy}-{threads}.teiji");
                let words = format!(
                    "measure -i {interval_us} -n {due} --policy {policy} -t {threads} --warmup \
                     5ms -o {name}"
                );
                place.well(&words);
                let document = place.document(&name);
                document.assert_adds_up();
                assert_eq!(document.threads().len(), threads);
                for thread in document.threads() {
                    assert_eq!(thread.whole("/activations/due"), due, "{words}");
                    assert_eq!(thread.whole("/interval_ns"), interval_us * 1_000);
                    assert_eq!(thread.text("/scheduling/policy"), *policy);
                    let is_ordinary = matches!(*policy, "other" | "batch");
                    assert_eq!(thread.has("/timer_slack_ns"), is_ordinary, "{words}");
                    if is_ordinary {
                        assert_eq!(thread.whole("/timer_slack_ns"), 1, "{words}");
                    }
                }
                place.well(&format!("verify {name}"));
            }
        }
    }
}

/// A length in time is one in activations: whole intervals of each thread.
#[test]
fn durations_and_distances() {
    let _turn = beside_others();
    let place = TestFolder::new();
    place.well("measure -i 1ms -d 200ms -t 2 --distance 500us --aligned=250us -o x.teiji");
    let document = place.document("x.teiji");
    document.assert_adds_up();
    let threads = document.threads();
    let values = |place| threads.iter().map(|thread| thread.whole(place)).collect::<Vec<_>>();
    assert_eq!(values("/activations/due"), [200, 133]);
    assert_eq!(values("/interval_ns"), [MILLISECOND, 1_500_000]);
    let starts = values("/start_ns");
    assert_eq!(starts[1] - starts[0], 250_000);
}

/// Beside forty busy processes a thread of ordinary priority is late; every activation is run
/// nevertheless.
#[test]
fn catching_up_skips_nothing() {
    let _turn = exclusive();
    let place = TestFolder::new();
    place.well(
        "measure -i 50us -n 8000 --catch-up -t 1 --load hackbench,groups=1 --policy other -o \
         x.teiji",
    );
    let document = place.document("x.teiji");
    document.assert_adds_up();
    let thread = &document.threads()[0];
    assert_eq!(
        (thread.whole("/activations/due"), thread.whole("/activations/skipped")),
        (8_000, 0)
    );
    assert_eq!(thread.at("/latency_ns"), thread.at("/latency_with_skipped_ns"));
    place.well("verify x.teiji");
}
