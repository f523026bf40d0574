// SPDX-License-Identifier: MIT OR Apache-2.0
//! What goes wrong below a run: a clock that refuses, threads that do not end, loads that never
//! settle. Each ends in time, with a recording that says what happened, or leaves nothing.

use crate::support::{MILLISECOND, Running, TEIJI, TestFolder, beside_others, soon};
use rustix::process::Signal;
use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

/// The program with a system call spoilt by strace, for each of its threads; where a call has
/// several names, by each that this machine has.
fn injected(place: &TestFolder, call: &str, fault: &str) -> Command {
    let mut command = place.command("strace");
    let (trace, inject) = (format!("trace={call}"), format!("inject={call}:{fault}"));
    command.args([
        "-f",
        "--seccomp-bpf",
        "-qq",
        "-o",
        "/dev/null",
        "-e",
        &trace,
        "-e",
        &inject,
        TEIJI,
    ]);
    command
}

fn in_one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn a_clock_that_cannot_be_slept_on_ends_the_run() {
    let _turn = beside_others();
    let place = TestFolder::on_disk();
    let mut command = injected(&place, "clock_nanosleep", "error=EPERM");
    command.args("measure --policy other -i 1ms -d 30s --warmup 0 -t 1 -o x.teiji".split(' '));
    let output = Running::start(command).end();
    assert_eq!(output.code, Some(4), "{output:?}");
    let document = place.document("x.teiji");
    assert_eq!(
        (document.text("/state"), document.text("/end/reason")),
        ("stopped", "probe-failed")
    );
    assert!(document.text("/end/error").contains("Operation not permitted"));
    assert!(
        in_one_line(&output.out).contains("measuring failed (thread 0: clock_nanosleep: "),
        "{output:?}"
    );
    document.assert_adds_up();
}

/// Each sleep takes ten intervals, and every activation is to be run: it would take ten times as
/// long as asked for.
#[test]
fn no_run_outlives_its_end_by_much() {
    let _turn = beside_others();
    let place = TestFolder::on_disk();
    let mut command = injected(&place, "clock_nanosleep", "delay_exit=10000");
    command.args(
        "measure --policy other --catch-up -i 1ms -d 2s --warmup 0 -t 1 -o x.teiji".split(' '),
    );
    let output = Running::start(command).end();
    assert_eq!(output.code, Some(4), "{output:?}");
    let document = place.document("x.teiji");
    assert_eq!((document.text("/state"), document.text("/end/reason")), ("stopped", "overtime"));
    assert!(
        (10_000_000_000..14_000_000_000).contains(&document.whole("/end/by_ns")),
        "{:?}",
        document.at("/end")
    );
    assert!(in_one_line(&output.out).contains("its threads had not ended 10"), "{output:?}");
    place.well("verify x.teiji");
}

#[test]
fn a_run_that_does_not_wait_for_its_loads_says_so() {
    let _turn = beside_others();
    let place = TestFolder::on_disk();
    place.well("measure -q -n 100 --settle 0 --load hackbench,groups=1 -o hasty.teiji");
    let document = place.document("hasty.teiji");
    assert!(document.warns_of("load-not-settled"), "{:?}", document.at("/warnings"));
    assert_eq!(document.at("/load/0/settled_after_ns"), &serde_json::Value::Null);
    place.well("measure -q -n 100 --load hackbench,groups=1 -o settled.teiji");
    let document = place.document("settled.teiji");
    assert!(!document.warns_of("load-not-settled"), "{:?}", document.at("/warnings"));
    // Each task has worked, and the rate was level for 400 ms after that.
    let (load, run) =
        (document.whole("/load/0/settled_after_ns"), document.whole("/instrument/settled_in_ns"));
    assert!(
        (400_000_000..=run + 500_000_000).contains(&load) && run < 11_000_000_000,
        "{load} of {run}"
    );
}

/// A program of which nothing is known has a second to start, and however long loads settle, Ctrl-C
/// is heard.
#[test]
fn interrupted_while_loads_settle() {
    let _turn = beside_others();
    let place = TestFolder::on_disk();
    let mut command = place.command(TEIJI);
    command.args([
        "measure",
        "-d",
        "10s",
        "--settle",
        "60s",
        "--load",
        "cmd:sleep 60",
        "-o",
        "x.teiji",
    ]);
    let running = Running::start(command);
    soon("the load runs", || running.descendants().len() >= 2);
    running.signal(Signal::INT);
    let output = running.end();
    assert_eq!(output.code, Some(4), "{output:?}");
    assert!(
        output.err.contains("interrupted before the loads were in their steady state"),
        "{output:?}"
    );
    assert_eq!(place.listing(), Vec::<String>::new());
}

/// A disk that takes samples and then says that it has lost them: no use in measuring to the end.
#[test]
fn a_disk_that_refuses_to_sync_ends_the_run() {
    let _turn = beside_others();
    let place = TestFolder::on_disk();
    let mut command = injected(&place, "fdatasync", "error=EIO:when=2+");
    command.args("measure -q -i 10ms -d 30s -t 1 -o x.teiji".split(' '));
    let output = Running::start(command).end();
    assert_eq!(output.code, Some(4), "{output:?}");
    let document = place.document("x.teiji");
    assert_eq!(
        (document.text("/state"), document.text("/end/reason")),
        ("stopped", "recording-failed")
    );
    assert!(document.text("/end/error").contains("force to the disk"), "{:?}", document.at("/end"));
    assert!(document.threads()[0].whole("/activations/due") < 1_500, "{output:?}");
    document.assert_adds_up();
    place.well("verify x.teiji");
}

/// A disk on which each file takes three seconds to sync: whoever interrupts waits for one of them,
/// not for all.
#[test]
fn interrupted_while_files_are_synced() {
    let _turn = beside_others();
    let place = TestFolder::on_disk();
    let mut command = injected(&place, "fsync", "delay_exit=3000000");
    command.args("measure -q -i 10ms -d 30s -t 1 -o x.teiji".split(' '));
    let running = Running::start(command);
    soon("the folder is there", || place.join("x.teiji").exists());
    sleep(Duration::from_millis(500));
    running.descendants()[0].signal(Signal::INT);
    let output = running.end();
    assert_eq!(output.code, Some(4), "{output:?}");
    assert!(output.err.contains("interrupted before measuring began"), "{output:?}");
    assert_eq!(place.listing(), Vec::<String>::new());
}

/// Giving the document its name is the last thing before the threads begin. Where that takes long,
/// they begin later: our own wait is none of the machine's latencies.
#[test]
fn a_slow_disk_is_in_no_latency() {
    let _turn = beside_others();
    let place = TestFolder::on_disk();
    let mut command = injected(&place, "/^rename", "delay_exit=700000");
    command.args("measure -q -i 1ms -d 1s -t 1 -o x.teiji".split(' '));
    let output = Running::start(command).end();
    assert_eq!(output.code, Some(0), "{output:?}");
    let document = place.document("x.teiji");
    // Whatever else the machine did meanwhile: the wait would end with the first activation.
    let first = document.threads()[0]
        .list("/worst")
        .into_iter()
        .find(|worst| worst.whole("/activation") == 0);
    assert!(
        first.as_ref().is_none_or(|first| first.whole("/latency_ns") < 250 * MILLISECOND),
        "{first:?}"
    );
}
