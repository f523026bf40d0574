// SPDX-License-Identifier: MIT OR Apache-2.0
//! Intervals as people write them, and those that a machine cannot carry.

use crate::support::{TestFolder, beside_others, may_real_time_or_skip};

/// One microsecond where one millisecond was meant: it starved both CPUs for five seconds, and
/// nothing named the interval.
#[test]
fn an_interval_shorter_than_a_wake_up_is_refused_before_the_run() {
    let _turn = beside_others();
    let place = TestFolder::new();
    let output = place.teiji("measure -i 1 -d 500ms -o x.teiji");
    let bare = "Interval 1us: '1' has no unit, and a bare number counts microseconds. For \
                milliseconds write 1ms.";
    assert!(output.err.contains(bare), "{output:?}");
    // Without it, it is measured with ordinary scheduling.
    if !may_real_time_or_skip() {
        assert!(output.err.contains("An interval of 1us is short for this machine"), "{output:?}");
        return;
    }
    assert_eq!((output.code, output.out.as_str()), (Some(2), ""), "{output:?}");
    assert!(
        output.err.contains("error: an interval of 1us is too short for this machine: "),
        "{output:?}"
    );
    assert_eq!(place.listing(), Vec::<String>::new());
}

/// Ordinary threads starve nobody: measured, and the warning is recorded.
#[test]
fn ordinary_threads_are_warned() {
    let _turn = beside_others();
    let place = TestFolder::new();
    let output = place.well("measure -i 1us -d 100ms --policy other -t 1 -o x.teiji");
    assert!(
        output.err.contains("Warning: An interval of 1us is short for this machine"),
        "{output:?}"
    );
    let document = place.document("x.teiji");
    assert!(
        document.list("/warnings").iter().any(|warning| warning.text("/code") == "interval-short")
    );
}

#[test]
fn rates_and_fractions() {
    let _turn = beside_others();
    let place = TestFolder::new();
    for (written, ns, note) in [
        ("1kHz", 1_000_000, ""),
        (
            "1024Hz",
            976_563,
            "Interval 976563 ns: '1024Hz' is 976562.5 ns, rounded to the nearest nanosecond.\n",
        ),
        (
            "1/1024s",
            976_563,
            "Interval 976563 ns: '1/1024s' is 976562.5 ns, rounded to the nearest nanosecond.\n",
        ),
        (
            "976.5625us",
            976_563,
            "Interval 976563 ns: '976.5625us' is 976562.5 ns, rounded to the nearest nanosecond.\n",
        ),
    ] {
        let name = format!("{ns}-{}.teiji", written.replace('/', "-"));
        let output =
            place.well(&format!("measure -i {written} -n 20 -t 1 --policy other -o {name}"));
        assert_eq!(output.err, note);
        assert_eq!(place.document(&name).whole("/run/interval_ns"), ns);
    }
}
