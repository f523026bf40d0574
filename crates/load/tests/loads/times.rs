// SPDX-License-Identifier: MIT OR Apache-2.0
//! Loads that start and stop while measuring.

use super::{children, members, start};
use plan::{Nanos, Settle};
use rustix::process::getpid;
use std::thread::sleep;
use std::time::Duration;

pub fn loads_start_and_stop_while_measuring() {
    let mut loads =
        start(&["cpu,start=300ms,stop=900ms", "hackbench,groups=1,start=100ms", "fork,stop=500ms"]);
    let supervisors = children(getpid());
    loads.begin();
    let begin = now_ns();
    loads.measured_from(Nanos(begin));
    assert!(loads.poll());
    sleep(Duration::from_millis(1_500));
    assert!(loads.poll(), "what was stopped on time has not failed");
    let living = members(&supervisors).len();
    assert_eq!(living, 3 + 40, "supervisors, and the tasks of hackbench alone");
    let [cpu, hackbench, fork] = &loads.stop()[..] else { panic!("three loads, three evidences") };
    let after = |time: Option<u64>| i64::try_from(time.unwrap()).unwrap() - begin;
    // How late a busy machine lets a supervisor run, nobody knows; early it never is.
    for (time, at_ms) in [
        (cpu.started_ns, 300),
        (cpu.stopped_ns, 900),
        (hackbench.started_ns, 100),
        (fork.stopped_ns, 500),
    ] {
        assert!(
            (at_ms * 1_000_000..at_ms * 1_000_000 + 500_000_000).contains(&after(time)),
            "{at_ms} ms: {}",
            after(time)
        );
    }
    assert_eq!((hackbench.stopped_ns, fork.started_ns, cpu.settled_after_ns), (None, None, None));
    for load in [cpu, hackbench, fork] {
        assert!(load.alive && load.reached.unwrap().mean > 1.0, "{load:?}");
        assert!(load.rate.values().any(|rate| *rate > 0.0), "{load:?}");
    }
    // Of its own time, not of the whole run.
    assert!(cpu.course.iter().all(|(at, _)| after(Some(*at)) < 1_500_000_000), "{:?}", cpu.course);
}

pub fn a_load_that_was_to_start_later_than_the_end_has_not_run() {
    let mut loads = start(&["cpu,start=30s"]);
    assert!(loads.settle(Settle::Auto, || false).unwrap() < Duration::from_secs(5));
    assert!(loads.not_settled().is_empty());
    loads.begin();
    loads.measured_from(Nanos(now_ns()));
    sleep(Duration::from_millis(200));
    let evidence = loads.stop().remove(0);
    assert_eq!((evidence.started_ns, evidence.reached, evidence.alive), (None, None, true));
}

/// CLOCK_MONOTONIC.
fn now_ns() -> i64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec * 1_000_000_000 + now.tv_nsec
}
