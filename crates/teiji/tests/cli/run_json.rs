// SPDX-License-Identifier: MIT OR Apache-2.0
//! `run.json` is what others build on: its keys are a promise, and its figures agree with one
//! another.

use crate::support::document::Document;
use crate::support::skipped::{Need, skipped};
use crate::support::{SECOND, TestFolder, beside_others, cpus, is_root, may_real_time};
use serde_json::Value;
use std::time::Duration;

const QUANTILES: [&str; 5] = ["p50", "p90", "p99", "p999", "p9999"];
/// What is promised of each thread.
const OF_A_THREAD: [&str; 12] = [
    "index",
    "cpu",
    "scheduling",
    "interval_ns",
    "start_ns",
    "samples_file",
    "activations",
    "latency_ns",
    "latency_with_skipped_ns",
    "histogram_ns",
    "worst",
    "evidence",
];
/// What is promised of the machine, before and after.
const OF_THE_MACHINE: [&str; 16] = [
    "hostname",
    "architecture",
    "kernel",
    "kernel_version",
    "preemption",
    "kernel_command_line",
    "cpu_model",
    "cpus",
    "clocksource",
    "clocksources_available",
    "rt_runtime_us",
    "rt_period_us",
    "load_average",
    "interrupts",
    "softirqs",
    "unreadable",
];

/// One run with a load, on every CPU.
#[test]
fn all_that_is_promised_is_there() {
    let _turn = beside_others();
    let place = TestFolder::new();
    let output =
        place.well("measure -i 500us -d 1500ms --load cpu@25% --title promised --json -o x.teiji");
    // Standard output is the document and nothing else; byte for byte what lies on the disk.
    assert_eq!(output.out, place.read("x.teiji/run.json"));
    let document = Document::parse(&output.out);

    assert_eq!((document.text("/format"), document.whole("/version")), ("teiji-recording", 1));
    assert_eq!((document.text("/state"), document.text("/end/reason")), ("complete", "done"));
    assert_eq!(document.text("/teiji"), env!("CARGO_PKG_VERSION"));
    assert_eq!(document.text("/run/title"), "promised");
    assert_eq!(document.list("/command_line").len(), 13);
    assert!(document.text("/started_at") < document.text("/ended_at"));
    assert_eq!(document.threads().len(), cpus().len());
    document.assert_adds_up();
    for (index, thread) in document.threads().iter().enumerate() {
        OF_A_THREAD.iter().for_each(|key| assert!(thread.has(&format!("/{key}")), "{key}"));
        assert_eq!(thread.whole("/index"), i64::try_from(index).unwrap());
        assert_eq!(thread.whole("/activations/due"), 3_000);
        assert_ordered(thread, "/latency_ns");
        assert_ordered(thread, "/latency_with_skipped_ns");
        assert_eq!(thread.whole("/latency_ns/count"), thread.counted());
        assert_worst(thread);
        assert_histogram(thread);
        assert_proof(thread);
    }
    assert_instrument(&document);
    assert_load(&document);
    assert_machine(&document);
    assert_eq!(
        &Document::parse(&place.read("x.teiji/host-before.json")).0,
        document.at("/host/before")
    );
    assert_eq!(
        &Document::parse(&place.read("x.teiji/host-after.json")).0,
        document.at("/host/after")
    );
}

/// From the smallest to the largest, and the mean between them.
fn assert_ordered(thread: &Document, place: &str) {
    let figure = |name: &str| thread.whole(&format!("{place}/{name}"));
    let mut figures = vec![figure("min")];
    figures.extend(QUANTILES.map(figure));
    figures.push(figure("max"));
    assert!(figures.is_sorted(), "{place}: {figures:?}");
    let (mean, sd) =
        (thread.number(&format!("{place}/mean")), thread.number(&format!("{place}/sd")));
    assert!(mean >= figures[0] as f64 && mean <= figures[6] as f64, "{mean} of {figures:?}");
    assert!(sd >= 0.0 && sd <= (figures[6] - figures[0]) as f64, "{sd} of {figures:?}");
}

/// Ten, the worst first, each with its place in time.
fn assert_worst(thread: &Document) {
    let worst = thread.list("/worst");
    let latencies: Vec<i64> = worst.iter().map(|worst| worst.whole("/latency_ns")).collect();
    assert_eq!((worst.len(), latencies[0]), (10, thread.whole("/latency_ns/max")));
    assert!(latencies.is_sorted_by(|a, b| a >= b), "{latencies:?}");
    for one in worst {
        let since_start = one.whole("/activation") * thread.whole("/interval_ns");
        assert_eq!(one.whole("/since_start_ns"), since_start);
        assert_eq!(one.whole("/planned_ns"), thread.whole("/start_ns") + since_start);
    }
}

/// Buckets at most 1 % wide, in order, from the smallest latency to the largest.
fn assert_histogram(thread: &Document) {
    assert!(thread.number("/histogram_ns/relative_error") <= 0.01);
    let buckets = thread.list("/histogram_ns/buckets");
    let bounds: Vec<(i64, i64)> =
        buckets.iter().map(|bucket| (bucket.whole("/0"), bucket.whole("/1"))).collect();
    assert!(bounds.is_sorted_by(|a, b| a.1 < b.0), "{bounds:?}");
    assert!(
        bounds.iter().all(|(lower, upper)| (upper - lower) * 100 <= lower.abs().min(upper.abs())),
        "{bounds:?}"
    );
    let within = |value: i64, (lower, upper): (i64, i64)| (lower..=upper).contains(&value);
    assert!(
        within(thread.whole("/latency_ns/min"), bounds[0])
            && within(thread.whole("/latency_ns/max"), bounds[bounds.len() - 1])
    );
}

/// The evidence that a thread did nothing but sleep and wake.
fn assert_proof(thread: &Document) {
    for key in [
        "minor_faults",
        "major_faults",
        "voluntary_switches",
        "involuntary_switches",
        "samples_lost",
    ] {
        assert!(thread.whole(&format!("/evidence/{key}")) >= 0, "{key}");
    }
    assert_eq!(thread.whole("/evidence/samples_lost"), 0);
    assert_eq!(thread.whole("/evidence/major_faults"), 0);
    // It never sleeps more often than it is due, a few stray wake-ups aside.
    let woken = thread.whole("/activations/on_time") + thread.whole("/activations/late");
    let sleeps = thread.whole("/evidence/voluntary_switches");
    assert!(
        sleeps <= woken + 10 && sleeps >= thread.whole("/activations/on_time") / 2,
        "{sleeps} of {woken}"
    );
}

/// With its memory locked the engine faults no page by itself, in any run. The kernel may move a
/// locked page once in a long while, which is a fault too: that does not happen three times in a
/// row.
#[test]
fn locked_memory_faults_no_page() {
    let _turn = beside_others();
    let place = TestFolder::new();
    let runs = ["a.teiji", "b.teiji", "c.teiji"].iter().map(|name| {
        place.well(&format!("measure -i 500us -d 400ms --load hackbench,groups=1 -o {name}"));
        place.document(name)
    });
    let mut faults = Vec::new();
    for document in runs {
        if *document.at("/instrument/memory_locked") == Value::Bool(false) {
            assert!(document.warns_of("memory-not-locked"));
            return skipped(Need::LockedMemory, "memory cannot be locked by this user");
        }
        let of = |thread: &Document| {
            ["minor", "major"].map(|kind| thread.whole(&format!("/evidence/{kind}_faults")))
        };
        faults = document.threads().iter().map(of).collect();
        assert_eq!(
            document.warns_of("page-faults"),
            faults.iter().any(|faults| *faults != [0, 0]),
            "{faults:?}"
        );
        if faults.iter().all(|faults| *faults == [0, 0]) {
            return;
        }
    }
    panic!("page faults in each of three runs, the last: {faults:?}");
}

fn assert_instrument(document: &Document) {
    assert_eq!(document.text("/instrument/clock"), "CLOCK_MONOTONIC");
    assert!((1..=4_000_000).contains(&document.whole("/instrument/clock_resolution_ns")));
    assert!((1..100_000).contains(&document.whole("/instrument/clock_read_ns")));
    assert_eq!(*document.at("/instrument/real_time"), Value::Bool(may_real_time()));
    // Eight seconds, or all of a shorter run.
    let due = document.whole("/threads/0/activations/due");
    assert!(document.whole("/instrument/ring_slots") >= due.min(8 * SECOND / 500_000));
    // Loads and warm-up excluded this is below 50 ms on a real machine; a shared one takes what it
    // takes.
    assert!((0..5 * SECOND).contains(&document.whole("/instrument/start_to_first_activation_ns")));
    if is_root() {
        assert_eq!(*document.at("/instrument/memory_locked"), Value::Bool(true));
        let has_device = std::path::Path::new("/dev/cpu_dma_latency").exists();
        assert_eq!(*document.at("/instrument/dma_latency_held"), Value::Bool(has_device));
    }
}

/// What was asked of the load, and what came of it beside measuring threads of higher priority and
/// other users.
fn assert_load(document: &Document) {
    let loads = document.list("/load");
    assert_eq!(loads.len(), 1);
    let load = &loads[0];
    assert_eq!((load.text("/spec"), load.number("/requested")), ("cpu@25%", 25.0));
    let (mean, worst) = (load.number("/reached/mean"), load.number("/reached/worst_second"));
    assert!((0.1..101.0).contains(&mean) && (0.0..101.0).contains(&worst), "{load:?}");
    assert!(load.number("/rate/iterations_per_s") > 1e4, "{load:?}");
    assert_eq!(*load.at("/alive"), Value::Bool(true));
    assert_eq!(load.list("/cpus").len(), cpus().len());
    assert_eq!(
        (load.list("/per_cpu").len(), load.at("/off_target") == document.at("/load_off_target")),
        (cpus().len(), true)
    );
    let start = document.threads()[0].whole("/start_ns");
    for point in load.list("/course") {
        assert!(
            point.whole("/0") > start && (0.0..101.0).contains(&point.number("/1")),
            "{load:?}"
        );
    }
}

/// The machine, twice.
fn assert_machine(document: &Document) {
    for when in ["before", "after"] {
        let host = Document(document.at(&format!("/host/{when}")).clone());
        OF_THE_MACHINE
            .iter()
            .for_each(|key| assert!(host.has(&format!("/{key}")), "{when}: {key}"));
        assert_eq!(
            host.text("/kernel"),
            std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap().trim()
        );
        assert!(host.text("/kernel_version").starts_with("Linux version "));
        for cpu in host.list("/cpus") {
            for key in
                ["cpu", "governor", "frequency_khz", "frequency_min_khz", "frequency_max_khz"]
            {
                assert!(cpu.has(&format!("/{key}")), "{key}");
            }
            assert!(cpu.whole("/time_ms/steal") >= 0 && cpu.whole("/time_ms/iowait") >= 0);
        }
        for counts in host.list("/interrupts").iter().chain(&host.list("/softirqs")) {
            // Errors the kernel counts for the machine as a whole.
            let expected = if ["ERR", "MIS"].contains(&counts.text("/name")) {
                1
            } else {
                host.list("/cpus").len()
            };
            assert_eq!(counts.list("/counts").len(), expected, "{counts:?}");
        }
        assert!(host.list("/softirqs").iter().any(|softirq| softirq.text("/name") == "TIMER"));
    }
}

/// What is not known yet is null while the run goes on, and the figures are not there.
#[test]
fn while_it_runs() {
    let _turn = beside_others();
    let place = TestFolder::new();
    let mut running = place.start("measure -n 300 -o x.teiji");
    let mut document = running.begun("x.teiji");
    for place in [
        "/end",
        "/ended_at",
        "/host/after",
        "/threads/0/latency_ns",
        "/threads/0/evidence/minor_faults",
    ] {
        assert_eq!(document.at(place), &Value::Null, "{place}");
    }
    // On a busy machine the start is planned anew until it can be kept, and the last plan stands.
    while running.runs() {
        let now = place.document("x.teiji");
        if now.text("/state") == "running" {
            document = now;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(running.end().code, Some(0));
    assert_eq!(
        place.document("x.teiji").at("/threads/0/start_ns"),
        document.at("/threads/0/start_ns")
    );
}

/// A single sample has no standard deviation, and no figure pretends otherwise.
#[test]
fn one_sample() {
    let _turn = beside_others();
    let place = TestFolder::new();
    place.well("measure -n 1 -t 1 -o x.teiji");
    let document = place.document("x.teiji");
    assert_eq!(
        (document.whole("/threads/0/latency_ns/count"), document.at("/threads/0/latency_ns/sd")),
        (1, &Value::Null)
    );
    place.well("verify x.teiji");
    place.well("show x.teiji");
}

/// Without -o the recording is named for its date; the name is the last line that is said.
#[test]
fn a_recording_without_a_name() {
    let _turn = beside_others();
    let place = TestFolder::new();
    let first = place.well("measure -n 20 -i 1ms").out;
    let second = place.well("measure -n 20 -i 1ms").out;
    let names = [first, second].map(|out| {
        out.lines().find_map(|line| line.strip_prefix("Recording: ")).unwrap().to_owned()
    });
    assert!(
        names
            .iter()
            .all(|name| name.starts_with("teiji-20") && place.join(name).join("run.json").exists()),
        "{names:?}"
    );
    assert_ne!(names[0], names[1]);
}
