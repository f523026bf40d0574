// SPDX-License-Identifier: MIT OR Apache-2.0
//! A run in progress as lines: how far it is, and one for each thread and load.

use load::LoadNow;
use plan::Nanos;
use runner::{LiveThread, Progress};

const HEADING: &str = "             latency, us:";
/// Above threads.
pub const COLUMNS: &str =
    " thread  cpu       min      last      mean       p99       max   late  skipped";

/// The lines, with at most so many threads.
pub fn draw(progress: &Progress, max_threads: usize) -> Vec<String> {
    let mut lines = vec![how_far(progress), HEADING.to_owned(), COLUMNS.to_owned()];
    let threads = progress.threads.iter().enumerate();
    lines.extend(threads.take(max_threads).map(|(index, thread)| thread_line(index, thread)));
    if progress.threads.len() > max_threads {
        lines.push(format!(" ... and {} more threads", progress.threads.len() - max_threads));
    }
    lines.extend(progress.loads.iter().map(load_line));
    lines
}

const BAR: i64 = 24;

/// How far a run is.
pub fn how_far(progress: &Progress) -> String {
    let elapsed = progress.elapsed_ns.0;
    if elapsed < 0 {
        return "warming up".to_owned();
    }
    let Some(expected) = progress.expected_ns.map(|expected| expected.0.max(1)) else {
        return format!("{}, until Ctrl-C", clock(elapsed / SECOND));
    };
    let done =
        (i128::from(elapsed) * i128::from(BAR) / i128::from(expected)).clamp(0, i128::from(BAR));
    let done = usize::try_from(done).unwrap_or(0);
    let bar =
        format!("{}{}", "#".repeat(done), ".".repeat(usize::try_from(BAR).unwrap_or(0) - done));
    // Whole seconds that add up. What has passed is rounded down, so that nothing has "0 left"
    // before it ends; threads that start some µs after one another make a run of 2 s none of 3
    // s.
    let all = ((expected + SECOND - HARDLY) / SECOND).max(1);
    let passed = if elapsed >= expected { all } else { (elapsed / SECOND).min(all) };
    format!("[{bar}] {} of {}, {} left", clock(passed), clock(all), clock(all - passed))
}

const SECOND: i64 = 1_000_000_000;
/// What is no second more, ns.
const HARDLY: i64 = 10_000_000;

/// Seconds as `1:02:03` or `02:03`.
fn clock(seconds: i64) -> String {
    let (hours, minutes, seconds) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    if hours > 0 {
        format!("{hours}:{minutes:02}:{seconds:02}")
    } else {
        format!("{minutes:02}:{seconds:02}")
    }
}

/// Below [`COLUMNS`].
pub fn thread_line(index: usize, thread: &LiveThread) -> String {
    let us = |ns: Option<i64>| decimal(ns.map(|ns| Nanos(ns).as_micros_f64()));
    let mean = decimal(thread.mean.map(|ns| ns / 1e3));
    let [min, last, p99, max] = [thread.min, thread.last, thread.p99, thread.max].map(us);
    let cpu = thread.cpu.map_or_else(|| "any".to_owned(), |cpu| cpu.to_string());
    let LiveThread { late, skipped, .. } = thread;
    format!(
        " {index:>6} {:>4} {min:>9} {last:>9} {mean:>9} {p99:>9} {max:>9} {late:>6} {skipped:>8}",
        cpu
    )
}

/// With one decimal; a dash where there is none.
pub fn decimal(value: Option<f64>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| format!("{value:.1}"))
}

/// What a load asked for and what it has, percent of one CPU.
pub fn load_line(load: &LoadNow) -> String {
    let percent =
        |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |value| format!("{value:.1} %"));
    let asked = load.requested.map_or_else(String::new, |asked| format!(", {asked} % asked"));
    let spec: String = load.spec.chars().take(MAX_OF_A_SPEC).collect();
    let state = if load.alive { "" } else { ", stopped!" };
    format!(
        " load {spec}: {} now, {} mean{asked}{state}",
        percent(load.latest),
        percent(load.reached.map(|reached| reached.mean))
    )
}

/// What fits a line beside the rest.
const MAX_OF_A_SPEC: usize = 20;

#[cfg(test)]
mod tests {
    use super::*;
    use plan::CpuId;

    fn thread(cpu: u32) -> LiveThread {
        LiveThread {
            cpu: Some(CpuId(cpu)),
            min: Some(3_210),
            last: Some(70_000),
            mean: Some(65_432.1),
            p99: Some(99_999),
            max: Some(12_345_678),
            late: 3,
            skipped: 21,
            history: None,
        }
    }

    #[test]
    fn what_a_terminal_shows() {
        let progress = Progress {
            elapsed_ns: Nanos(2_500_000_000),
            expected_ns: Some(Nanos::from_secs(10)),
            threads: vec![thread(0), thread(1), thread(2)],
            loads: vec![LoadNow {
                spec: "cpu@50%,cpus=0".to_owned(),
                requested: Some(50.0),
                latest: Some(49.98),
                reached: None,
                rate: std::collections::BTreeMap::new(),
                alive: false,
            }],
            explain_above: None,
            causes: None,
        };
        let lines = draw(&progress, 2);
        assert_eq!(lines[0], "[######..................] 00:02 of 00:10, 00:08 left");
        assert_eq!(
            lines[3],
            "      0    0       3.2      70.0      65.4     100.0   12345.7      3       21"
        );
        let load = " load cpu@50%,cpus=0: 50.0 % now, - mean, 50 % asked, stopped!";
        assert_eq!(
            lines[4..],
            [thread_line(1, &thread(1)), " ... and 1 more threads".to_owned(), load.to_owned()]
        );
        assert!(lines.iter().all(|line| line.len() < 80), "{lines:#?}");
    }

    #[test]
    fn seconds_passed_and_left_are_seconds_in_all() {
        let shown = |elapsed_ms: i64, expected_ms: i64| {
            let ns = |ms: i64| Nanos(ms * 1_000_000);
            let progress = Progress {
                elapsed_ns: ns(elapsed_ms),
                expected_ns: Some(ns(expected_ms)),
                threads: vec![],
                loads: vec![],
                explain_above: None,
                causes: None,
            };
            how_far(&progress).split_once("] ").unwrap().1.to_owned()
        };
        assert_eq!(shown(1_300, 4_000), "00:01 of 00:04, 00:03 left");
        assert_eq!(shown(3_999, 4_000), "00:03 of 00:04, 00:01 left");
        assert_eq!(shown(3_400, 3_500), "00:03 of 00:04, 00:01 left");
        assert_eq!(shown(4_100, 4_000), "00:04 of 00:04, 00:00 left");
        assert_eq!(shown(1_300, 2_001), "00:01 of 00:02, 00:01 left");
        assert_eq!(shown(0, 3_723_000), "00:00 of 1:02:03, 1:02:03 left");
    }

    #[test]
    fn before_the_first_activation() {
        let progress = Progress {
            elapsed_ns: Nanos(-5),
            expected_ns: Some(Nanos(1)),
            threads: Vec::new(),
            loads: Vec::new(),
            explain_above: None,
            causes: None,
        };
        assert_eq!(draw(&progress, 9)[0], "warming up");
    }
}
