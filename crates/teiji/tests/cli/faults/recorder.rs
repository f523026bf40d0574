// SPDX-License-Identifier: MIT OR Apache-2.0
//! Who takes samples out of the rings is kept from it for longer than they hold. What is lost is
//! counted, to the sample, and nobody else notices.

use super::disk::beside_a_disk;
use crate::support::document::Document;
use crate::support::{Running, TestFolder, beside_others, cpus, soon};
use rustix::process::Pid;

/// At 1 ms, so that it is also a number of samples.
const STOPPED_MS: i64 = 11_000;
/// Of the run: on a busy machine seconds pass before anything stands still.
const SECONDS: i64 = 18;
/// A busy machine has the recorder come later to the rings than by its plan.
const LATER_MS: i64 = 500;

/// The number of the thread of this name, once there is one.
fn thread_named(process: Pid, name: &str) -> String {
    let mut found = None;
    soon("the thread is there", || {
        let tasks = std::fs::read_dir(format!("/proc/{process}/task"))
            .unwrap()
            .map(|entry| entry.unwrap().path());
        let mut named = tasks.filter(|task| {
            std::fs::read_to_string(task.join("comm")).is_ok_and(|comm| comm.trim() == name)
        });
        found = named.next();
        found.is_some()
    });
    found.unwrap().file_name().unwrap().to_str().unwrap().to_owned()
}

/// What woke was written but for what came while the rings were full: what they hold was kept, and
/// all after it was lost until somebody took from them again. That is as many as came in the time
/// between, by its shortest and its longest.
fn assert_lost_what_rings_do_not_hold(
    place: &TestFolder,
    document: &Document,
    least_ms: i64,
    most_ms: i64,
) {
    assert_eq!(document.text("/state"), "complete");
    // Each activation that woke is in the histogram, which is made of the samples on the disk, or
    // counted as lost.
    document.assert_adds_up();
    assert!(document.warns_of("samples-lost"), "{:?}", document.at("/warnings"));
    let held = document.whole("/instrument/ring_slots");
    for thread in document.threads() {
        assert_eq!(thread.whole("/activations/due"), SECONDS * 1_000);
        // A busy machine skips some of them, which are not lost.
        let skipped = thread.whole("/activations/skipped");
        let lost = thread.whole("/evidence/samples_lost");
        assert!(
            (least_ms - held - skipped..=most_ms - held).contains(&lost),
            "{lost} lost, rings of {held}: {thread:?}"
        );
    }
    place.well("verify x.teiji");
    let shown = place.well("show x.teiji").out;
    assert!(shown.contains(" lost"), "{shown}");
    // Had its end never been written, each row would be accounted for all the same.
    let file = place.join("x.teiji/run.json");
    let mut cut: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    (cut["state"], cut["end"]) = ("running".into(), serde_json::Value::Null);
    std::fs::write(&file, cut.to_string()).unwrap();
    let due: i64 = place.well("show x.teiji --figure due").out.trim().parse().unwrap();
    assert_eq!(due, SECONDS * 1_000 * i64::try_from(document.threads().len()).unwrap());
}

/// A recorder that stands still, by itself: strace holds this one thread within a system call.
#[test]
fn a_recorder_that_is_stopped_loses_what_the_rings_do_not_hold() {
    let _turn = beside_others();
    let place = TestFolder::on_disk();
    let running = place.start(&format!("measure -q -i 1ms -d {SECONDS}s -o x.teiji"));
    running.begun("x.teiji");
    let mut strace = place.command("strace");
    strace.args(["-qq", "-o", "/dev/null", "-e", "trace=futex", "-e"]);
    strace.arg(format!("inject=futex:delay_enter={STOPPED_MS}ms:when=1"));
    strace.args(["-p", &thread_named(running.pid(), "teiji-recorder")]);
    let strace = Running::start(strace);
    let output = running.end();
    assert_eq!(output.code, Some(0), "{output:?}\n{:?}", strace.end());
    let document = place.document("x.teiji");
    assert_eq!(document.threads().len(), cpus().len());
    // It had last emptied the rings at most 250 ms before, by its plan.
    assert_lost_what_rings_do_not_hold(&place, &document, STOPPED_MS, STOPPED_MS + LATER_MS);
}

/// The same for a disk that takes nothing meanwhile. It may take what is small into memory, for a
/// while.
#[test]
fn a_disk_that_stalls_longer_than_the_rings_hold_loses_what_is_counted() {
    let _turn = beside_others();
    let place = TestFolder::on_disk();
    let script = format!(
        "\"$TEIJI\" measure -q -i 1ms -d {SECONDS}s -o disk/x.teiji & teiji=$!
        sleep 1.5; fsfreeze -f disk; sleep {}; fsfreeze -u disk
        code=0; wait $teiji || code=$?; echo code $code; cp -r disk/x.teiji .",
        STOPPED_MS / 1_000
    );
    let Some(output) = beside_a_disk(&place, &script) else { return };
    assert!(output.code == Some(0) && output.out.contains("code 0\n"), "{output:?}");
    let document = place.document("x.teiji");
    // It writes twice a second, and takes from the rings until a batch is full.
    assert_lost_what_rings_do_not_hold(
        &place,
        &document,
        STOPPED_MS - 1_000,
        STOPPED_MS + LATER_MS,
    );
    assert!(document.warns_of("disk-slow"), "{:?}", document.at("/warnings"));
}
