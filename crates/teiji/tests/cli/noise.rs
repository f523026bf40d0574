// SPDX-License-Identifier: MIT OR Apache-2.0
//! A polling loop sees what takes its CPU away: when, for how long, and which share of its time.

use crate::support::{
    MILLISECOND, TestFolder, exclusive, may_real_time_or_skip, now, quiet_cpu, sleep_until,
};
use plan::{CpuId, Policy, Scheduling};
use rustix::thread::{CpuSet, sched_setaffinity};

const HOGS: i64 = 10;
const LENGTH: i64 = 5 * MILLISECOND;
/// From the start to the first hog, and from each to the next: two in each interval, while the loop
/// polls.
const FIRST: i64 = 100 * MILLISECOND;
const APART: i64 = 250 * MILLISECOND;

/// Takes the CPU away with a higher priority, and reads the clock when it has it and before it
/// gives it back.
fn take_away(cpu: CpuId, start: i64) -> Vec<(i64, i64)> {
    let hog = std::thread::spawn(move || {
        let mut set = CpuSet::new();
        set.set(usize::try_from(cpu.0).unwrap());
        sched_setaffinity(None, &set).unwrap();
        system::scheduling::set_scheduling(
            None,
            Scheduling { policy: Policy::Fifo, prio: Some(95) },
        )
        .unwrap();
        let one = |number| {
            sleep_until(start + FIRST + number * APART);
            let begin = now();
            while now() < begin + LENGTH {
                std::hint::spin_loop();
            }
            (begin, now())
        };
        (0..HOGS).map(one).collect()
    });
    hog.join().unwrap()
}

#[test]
fn a_hog_is_a_gap_of_its_length() {
    if !may_real_time_or_skip() {
        return;
    }
    let _turn = exclusive();
    let (place, cpu) = (TestFolder::new(), quiet_cpu());
    let running = place
        .start(&format!("measure --probe noise --poll 80 -i 500ms -d 3s -a {cpu} -o noise.teiji"));
    let start = running.begun("noise.teiji").threads()[0].whole("/start_ns");
    let hogs = take_away(cpu, start);
    let output = running.end();
    assert_eq!(output.code, Some(0), "{output:?}");
    place.well("verify noise.teiji");

    let samples = place.well("export noise.teiji --samples").out;
    assert!(samples.starts_with("thread,cpu,event,time_ns,gap_ns\n"), "{samples:.200}");
    let cell =
        |line: &str, column: usize| line.split(',').nth(column).unwrap().parse::<i64>().unwrap();
    let gaps: Vec<(i64, i64)> =
        samples.lines().skip(1).map(|line| (cell(line, 3), cell(line, 4))).collect();
    // What the loop saw encloses what the hog saw, by the same clock.
    let gap_of = |(begin, end): &(i64, i64)| {
        gaps.iter().find(|(time, gap)| time <= begin && time + gap >= *end)
    };
    let mut longer: Vec<i64> = hogs
        .iter()
        .map(|hog| {
            gap_of(hog)
                .map(|(_, gap)| gap - (hog.1 - hog.0))
                .unwrap_or_else(|| panic!("no gap of the hog at {hog:?}"))
        })
        .collect();
    longer.sort_unstable();
    assert!(longer[0] >= 0 && longer[longer.len() / 2] < MILLISECOND, "{longer:?}");

    // 80 % of six intervals, less what it woke late and more by a gap at an end.
    let thread = &place.document("noise.teiji").threads()[0];
    let polled = thread.whole("/polling/polled_ns");
    assert!((2_100 * MILLISECOND..2_600 * MILLISECOND).contains(&polled), "{polled}");
    let noise: i64 = gaps.iter().map(|(_, gap)| gap).sum();
    assert!((HOGS * LENGTH..polled).contains(&noise), "{noise} of {polled}");
    assert!(
        thread.whole("/polling/resolution_ns") < 1_000 && thread.whole("/polling/readings") > 1_000,
        "{thread:?}"
    );
    let show = place.well("show noise.teiji").out;
    assert!(show.contains("% of the 2.") && show.contains(" s polled, in "), "{show}");
    // A recording with more noise than polled time contradicts itself.
    let path = place.join("noise.teiji/run.json");
    let text = std::fs::read_to_string(&path)
        .unwrap()
        .replace(&format!("\"polled_ns\": {polled}"), "\"polled_ns\": 1000");
    std::fs::write(&path, text).unwrap();
    let output = place.teiji("verify noise.teiji");
    assert!(
        output.code == Some(1) && output.out.contains("threads[0].polling.polled_ns"),
        "{output:?}"
    );
}

#[test]
fn what_a_polling_loop_cannot_do() {
    let place = TestFolder::new();
    for (flags, code, error) in [
        ("--threshold 1ns", 4, "the probe noise cannot measure here: one turn of its loop takes"),
        ("--poll 96", 2, "it is a whole number from 1 to 95"),
        ("-i 4s", 2, "'poll' of the probe noise is impossible here: at an interval of 4s"),
        ("-n 5", 2, "Give a duration instead of a number of samples"),
    ] {
        let output = place.teiji(&format!("measure --probe noise {flags} -t 1 -q -o x.teiji"));
        assert!(output.code == Some(code) && output.err.contains(error), "{flags}: {output:?}");
        assert!(!place.join("x.teiji").exists(), "{flags}");
    }
    // What the kernel leaves real-time threads is another on other machines.
    let text = |path: &str| std::fs::read_to_string(path).ok();
    let release = text("/proc/sys/kernel/osrelease").unwrap();
    let is_limited = if model::FairServer::is_in(release.trim()) {
        text("/sys/kernel/debug/sched/fair_server/cpu0/runtime")
            .is_none_or(|runtime| runtime.trim() == "50000000")
    } else {
        text("/proc/sys/kernel/sched_rt_runtime_us").unwrap().trim() == "950000"
    };
    let output = place.teiji("measure --probe noise --poll 95 -d 1s -t 1 -q -o y.teiji");
    let is_refused = output.code == Some(4) && output.err.contains("it would poll for 950ms of 1s");
    assert_eq!(is_refused, is_limited, "{release}: {output:?}");
    // Ordinary threads are taken off their CPU by other things.
    let ordinary = "measure --probe noise --poll 95 --policy other -d 1s -t 1 -q -o z.teiji";
    assert_eq!(place.teiji(ordinary).code, Some(0));
}
