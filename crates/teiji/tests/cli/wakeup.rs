// SPDX-License-Identifier: MIT OR Apache-2.0
//! One thread wakes another.

use crate::probes::assert_read_everywhere;
use crate::support::{TestFolder, exclusive};
use rustix::process::Signal;
use std::thread::sleep;
use std::time::Duration;

/// By every way, on the same CPU and on another, with the priority that was granted.
#[test]
fn one_thread_wakes_another_by_every_way() {
    let _turn = exclusive();
    let place = TestFolder::new();
    let cpus = probe::process_cpus().unwrap().usable;
    let places: &[&str] = if cpus.len() > 1 { &["same", "other"] } else { &["same"] };
    for by in ["futex", "mutex", "semaphore", "mq", "signal", "eventfd", "pipe", "socketpair"] {
        for wake_on in places {
            let name = format!("{by}-{wake_on}.teiji");
            place.well(&format!(
                "measure --probe wakeup --by {by} --wake-on {wake_on} -i 2ms -n 50 -t 1 -q -o \
                 {name}"
            ));
            let document = place.document(&name);
            document.assert_adds_up();
            assert!(document.whole("/threads/0/latency_ns/min") > 0, "{name}");
            let columns = document.list("/threads/0/columns");
            let of = |name: &str| columns.iter().find(|column| column.text("/name") == name);
            let median = |name: &str| of(name).unwrap().whole("/values/p50");
            // Each row is in order, so their medians are.
            assert!(
                median("done_ns") > median("wakeup_ns")
                    && median("done_ns") > document.whole("/threads/0/latency_ns/p50")
            );
            assert!(median("return_ns") < median("done_ns"), "{name}");
            let own_cpu = document.whole("/threads/0/cpu");
            let waker_cpu = of("waker_cpu")
                .map(|column| (column.whole("/values/min"), column.whole("/values/max")));
            match *wake_on {
                "same" => assert_eq!(waker_cpu, None),
                _ => assert!(
                    waker_cpu.is_some_and(|(min, max)| min == max && max != own_cpu),
                    "{waker_cpu:?}"
                ),
            }
        }
    }
    assert_read_everywhere(&place, "futex-same", &["wakeup, µs", "done, µs", "return, µs"]);
}

/// A run that is stopped while either side waits ends, complete, and leaves no semaphore.
#[test]
fn a_wakeup_run_that_is_stopped_leaves_nothing() {
    let _turn = exclusive();
    let place = TestFolder::new();
    // The list is there where the kernel has semaphores.
    let semaphores =
        || std::fs::read_to_string("/proc/sysvipc/sem").map_or(0, |list| list.lines().count());
    let before = semaphores();
    for (by, interval) in [
        ("semaphore", "200us"),
        ("semaphore", "1h"),
        ("mq", "200us"),
        ("mutex", "1h"),
        ("signal", "200us"),
    ] {
        let name = format!("{by}-{interval}.teiji");
        let running = place.start(&format!(
            "measure --probe wakeup --by {by} -i {interval} -n 80000 -q -o {name}"
        ));
        running.begun(&name);
        sleep(Duration::from_millis(300));
        running.signal(Signal::INT);
        let output = running.end();
        assert_eq!(output.code, Some(4), "{name}: {output:?}");
        place.well(&format!("verify {name}"));
    }
    let output = place.teiji(
        "measure --probe wakeup --by semaphore -i 1ms -d 5s --break-above 1ns -q -o above.teiji",
    );
    assert_eq!(output.code, Some(1), "{output:?}");
    assert_eq!(semaphores(), before);
}

/// The semaphores of a run that was killed, which nobody else can know, go with the next run.
#[test]
fn what_a_killed_wakeup_run_leaves_the_next_one_removes() {
    let _turn = exclusive();
    let place = TestFolder::new();
    let semaphores =
        || std::fs::read_to_string("/proc/sysvipc/sem").map_or(0, |list| list.lines().count());
    let measure = "measure --probe wakeup --by semaphore -t 1 -i 1ms";
    place.well(&format!("{measure} -n 10 -q -o first.teiji"));
    let before = semaphores();
    let running = place.start(&format!("{measure} -d 60s -q -o killed.teiji"));
    running.begun("killed.teiji");
    running.signal(Signal::KILL);
    running.end();
    // One by which the thread is woken, and one by which it asks for that.
    assert_eq!(semaphores(), before + 2);
    place.well(&format!("{measure} -n 10 -q -o next.teiji"));
    assert_eq!(semaphores(), before);
}

/// The setting is named.
#[test]
fn a_place_that_there_is_not() {
    let _turn = exclusive();
    let place = TestFolder::new();
    let output = place.teiji("measure --probe wakeup --wake-on elsewhere -n 10 -q -o x.teiji");
    assert!(output.code == Some(2) && output.err.contains("'wake-on'"), "{output:?}");
    assert!(place.listing().is_empty(), "{:?}", place.listing());
}
