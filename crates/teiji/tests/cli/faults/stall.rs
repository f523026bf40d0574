// SPDX-License-Identifier: MIT OR Apache-2.0
//! Nothing vanishes: a CPU that is blocked five times for 20 ms shows as about a hundred late and
//! skipped activations, each stall with its time. A tool that silently skips the periods it slept
//! through reports about 15.

use crate::support::document::Document;
use crate::support::processes::is_stopped;
use crate::support::{
    MILLISECOND, Running, TestFolder, exclusive, may_real_time_or_skip, now, quiet_cpu,
    sleep_until, soon,
};
use plan::{CpuId, Policy, Scheduling};
use rustix::process::Signal;
use rustix::thread::{CpuSet, sched_setaffinity};

const STALLS: i64 = 5;
const LENGTH: i64 = 20 * MILLISECOND;
/// From the first activation to the first stall, and from each to the next.
const APART: i64 = 700 * MILLISECOND;

/// When a stall began and ended, CLOCK_MONOTONIC ns.
type Stall = (i64, i64);

/// Occupies the CPU with a priority above the measuring thread's.
fn occupy(cpu: CpuId, start: i64) -> Vec<Stall> {
    let hog = std::thread::spawn(move || {
        let mut set = CpuSet::new();
        set.set(usize::try_from(cpu.0).unwrap());
        sched_setaffinity(None, &set).unwrap();
        system::scheduling::set_scheduling(
            None,
            Scheduling { policy: Policy::Fifo, prio: Some(95) },
        )
        .unwrap();
        let stall = |number| {
            sleep_until(start + number * APART);
            let begin = now();
            while now() < begin + LENGTH {
                std::hint::spin_loop();
            }
            (begin, now())
        };
        (1..=STALLS).map(stall).collect()
    });
    hog.join().unwrap()
}

/// What anybody may do to a program of one's own: stops it as a whole, and lets it go on.
fn stop_and_go(running: &Running, start: i64) -> Vec<Stall> {
    let stall = |number| {
        sleep_until(start + number * APART);
        let begin = now();
        running.signal(Signal::STOP);
        soon("the program is stopped", || is_stopped(running.pid()));
        sleep_until(now() + LENGTH);
        running.signal(Signal::CONT);
        (begin, now())
    };
    (1..=STALLS).map(stall).collect()
}

fn five_stalls_show(scheduling: &str, stall: impl FnOnce(&Running, CpuId, i64) -> Vec<Stall>) {
    let _turn = exclusive();
    let (place, cpu) = (TestFolder::on_disk(), quiet_cpu());
    let running =
        place.start(&format!("measure -i 1ms -n 4000 {scheduling} -a {cpu} -o stalled.teiji"));
    let start = running.begun("stalled.teiji").threads()[0].whole("/start_ns");
    let stalls = stall(&running, cpu, start);
    let output = running.end();
    assert_eq!(output.code, Some(0), "{output:?}");

    let document = place.document("stalled.teiji");
    document.assert_adds_up();
    let thread = &document.threads()[0];
    let [due, late, skipped] =
        ["due", "late", "skipped"].map(|what| thread.whole(&format!("/activations/{what}")));
    assert!((3999..=4001).contains(&due), "{thread:?}");
    assert!(late + skipped >= 95, "{late} late and {skipped} skipped");
    assert!(thread.whole("/latency_ns/max") >= 19 * MILLISECOND, "{thread:?}");
    let worst = thread.list("/worst");
    assert_eq!(worst.len(), 10);
    for (begin, end) in stalls {
        let named = worst.iter().any(|one| {
            let planned = one.whole("/planned_ns");
            let woke = planned + one.whole("/latency_ns");
            woke.min(end) - planned.max(begin) >= 19 * MILLISECOND
        });
        // Where others keep the machine busy, ten may be as late as those in a stall.
        let are_all_late = worst[9].whole("/latency_ns") >= 19 * MILLISECOND;
        assert!(
            named || are_all_late,
            "no activation of {worst:?} waited in the stall from {begin} to {end}"
        );
    }
    // Each skipped one waited from its own planned time, so nobody is left out of these figures.
    assert_eq!(thread.whole("/latency_with_skipped_ns/count"), due);
    assert!(thread.number("/latency_with_skipped_ns/mean") > thread.number("/latency_ns/mean"));
    assert!(thread.whole("/latency_with_skipped_ns/p99") > thread.whole("/latency_ns/p90"));
    place.well("verify stalled.teiji");
    one_figure(&place, thread);
}

/// The tables, the figure alone and the gate have the p99 with skipped activations counted in.
fn one_figure(place: &TestFolder, thread: &Document) {
    let p99 = thread.whole("/latency_with_skipped_ns/p99");
    let exclusive = place.well("show stalled.teiji --figure p99").out;
    assert_eq!(exclusive.trim(), format!("{}.{:03}", p99 / 1_000, p99 % 1_000));
    let gate = Document::parse(&place.well("gate stalled.teiji --limit p99<1h --json").out);
    assert_eq!(gate.text("/limits/0/seen").replace(',', ""), format!("{} µs", exclusive.trim()));
    let csv = place.well("show stalled.teiji --csv").out;
    let mut lines = csv.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let (head, cells) = (lines.next().unwrap(), lines.next().unwrap());
    let cell =
        |name: &str| cells[head.iter().position(|head| *head == name).unwrap()].parse::<i64>();
    assert_eq!(
        (cell("p99_ns"), cell("as_measured_p99_ns")),
        (Ok(p99), Ok(thread.whole("/latency_ns/p99")))
    );
    let table = place.well("show stalled.teiji").out;
    assert!(
        table.contains("µs with skipped counted in") && table.contains("\nAs measured, "),
        "{table}"
    );
}

#[test]
fn a_cpu_that_is_occupied() {
    // Without it nobody can be kept from a CPU.
    if !may_real_time_or_skip() {
        return;
    }
    five_stalls_show("-p 80", |_, cpu, start| occupy(cpu, start));
}

#[test]
fn a_program_that_is_stopped() {
    five_stalls_show("--policy other", |running, _, start| stop_and_go(running, start));
}
