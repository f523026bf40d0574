// SPDX-License-Identifier: MIT OR Apache-2.0
//! The exit code of a run that a signal ends: 4 where it was to have more, as where `timeout` ends
//! a CI job, and 0 where it was to run until then.

use crate::stream::{PERIOD, fifo, lines, timestamps, writer};
use crate::support::document::Document;
use crate::support::{MILLISECOND, Output, TestFolder, beside_others, sleep_until};
use rustix::process::Signal;
use std::io::Write;
use std::thread::sleep;
use std::time::Duration;

/// Ends a run 200 ms after its start.
fn ended(place: &TestFolder, words: &str, signal: Signal) -> Output {
    let running = place.start(&format!("measure -t 1 -i 1ms -q -o x.teiji {words}"));
    sleep_until(running.begun("x.teiji").whole("/threads/0/start_ns") + 200 * MILLISECOND);
    running.signal(signal);
    running.end()
}

fn remove(place: &TestFolder) {
    std::fs::remove_dir_all(place.join("x.teiji")).unwrap();
}

#[test]
fn a_run_ended_while_it_warms_up_is_no_success() {
    let _turn = beside_others();
    let place = TestFolder::new();
    for words in ["-n 5", "-d forever"] {
        let running = place.start(&format!("measure --warmup 100s -t 1 {words} -o x.teiji"));
        // A second into it: on a busy machine the start may be planned anew until it is there.
        sleep_until(running.begun("x.teiji").whole("/threads/0/start_ns") - 99_000 * MILLISECOND);
        running.signal(Signal::TERM);
        let output = running.end();
        assert_eq!(output.code, Some(4), "{output:?}");
        assert!(output.out.contains("\n✗ Stopped early by SIGTERM\n"), "{output:?}");
        assert_eq!(place.document("x.teiji").text("/state"), "stopped");
        place.well("verify x.teiji");
        remove(&place);
    }
}

#[test]
fn a_limit_that_was_exceeded_goes_first() {
    let _turn = beside_others();
    let place = TestFolder::new();
    for (limit, code, verdict) in [("max<1ns", 1, "FAIL"), ("max<1h", 4, "NOT ENOUGH EVIDENCE")] {
        let output = ended(&place, &format!("-d 60s --limit {limit}"), Signal::TERM);
        assert_eq!(output.code, Some(code), "{output:?}");
        assert!(output.out.contains(verdict), "{output:?}");
        let gate = place.teiji(&format!("gate x.teiji --limit {limit}"));
        assert_eq!(gate.code, Some(if code == 1 { 1 } else { 3 }), "{gate:?}");
        remove(&place);
    }
}

#[test]
fn a_run_without_end_did_what_was_asked() {
    let _turn = beside_others();
    let place = TestFolder::new();
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        let output = ended(&place, "-d forever --limit max<1h", signal);
        assert_eq!(output.code, Some(0), "{output:?}");
        assert!(output.out.contains("PASS") && !output.out.contains("early"), "{output:?}");
        let document = place.document("x.teiji");
        let length =
            (document.text("/run/length"), document.text("/state"), document.text("/end/reason"));
        assert_eq!(length, ("forever", "stopped", "signal"));
        document.assert_adds_up();
        place.well("verify x.teiji");
        place.well("gate x.teiji --limit max<1h");
        assert!(place.well("show x.teiji").out.contains("until it was ended"));
        place.well("report x.teiji");
        assert_eq!(place.teiji("gate x.teiji --limit max<1ns").code, Some(1));
        remove(&place);
    }
}

/// A stream ends by itself, and a run without end waits for that.
#[test]
fn a_stream_is_read_to_its_end() {
    let _turn = beside_others();
    let place = TestFolder::new();
    fifo(&place.join("in"));
    // The input of a run that ends by the clock may have been meant to be longer. All that its
    // writer wrote has come, as of a file.
    for (length, ends_early) in [("forever", false), ("60s", true)] {
        let running = place
            .start(&format!("measure --probe stream --from in {PERIOD} -d {length} -q -o x.teiji"));
        let mut input = writer(&place.join("in"));
        input.write_all(&lines(timestamps(0))).unwrap();
        drop(input);
        let output = running.end();
        assert_eq!(output.code, Some(0), "{output:?}");
        let document = place.document("x.teiji");
        assert_eq!(
            (document.text("/state"), document.warns_of("stream-ended")),
            ("complete", ends_early),
            "{output:?}"
        );
        place.well("gate x.teiji --limit max<1h");
        remove(&place);
    }

    let mut pipe =
        std::fs::OpenOptions::new().read(true).write(true).open(place.join("in")).unwrap();
    pipe.write_all(&lines(timestamps(0))).unwrap();
    let running =
        place.start(&format!("measure --probe stream --from in {PERIOD} -d forever -q -o x.teiji"));
    running.begun("x.teiji");
    sleep(Duration::from_millis(500));
    running.signal(Signal::TERM);
    let output = running.end();
    assert_eq!(output.code, Some(0), "{output:?}");
}

#[test]
fn a_guest_or_a_plan_has_an_end() {
    let place = TestFolder::new();
    std::fs::write(place.join("plan.toml"), "[measure]\nduration = 'forever'\n").unwrap();
    let wanted = "a run of a plan or in a guest ends by itself: give it a duration such as 10s, \
                  or samples, instead of forever";
    for words in ["run plan.toml", "run --dry-run plan.toml", "lab run -k debian:amd64 -d forever"]
    {
        let output = place.teiji(words);
        assert_eq!(output.code, Some(2), "{output:?}");
        assert!(output.err.contains(wanted), "{output:?}");
    }
    assert_eq!(place.listing(), ["plan.toml"]);
}

#[test]
fn loads_that_are_to_run_for_a_time_run_for_it() {
    let place = TestFolder::new();
    for (words, code) in [("-d 60s", 4), ("", 0)] {
        let running = place.start(&format!("load timer --json {words}"));
        sleep(Duration::from_millis(500));
        running.signal(Signal::TERM);
        let output = running.end();
        assert_eq!(output.code, Some(code), "{output:?}");
        assert_eq!(Document::parse(&output.out).list("/load").len(), 1);
        assert_eq!(output.err.contains("stopped early by SIGTERM"), code == 4, "{output:?}");
    }
}
