// SPDX-License-Identifier: MIT OR Apache-2.0
//! Progress of a run on a terminal: how far it is, and a line per thread or load, drawn over
//! itself.

use load::LoadNow;
use plan::Nanos;
use report::{Paint, shown};
use runner::{LiveThread, Progress, ProgressObserver};
use rustix::termios::Winsize;
use std::fmt::Write as _;
use std::io::{IsTerminal, Write, stdout};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::{Builder, JoinHandle};

pub struct Live {
    drawing: Drawing,
    /// What stands above it all.
    heading: Option<String>,
}

/// Lines that are drawn over themselves. A terminal may be held (Ctrl-S, a stalled connection) and
/// then keeps whoever writes to it waiting. That must not be the recorder, so a thread of its own
/// draws.
pub struct Drawing {
    /// None: nothing is drawn.
    thread: Option<(SyncSender<Next>, JoinHandle<()>)>,
    /// Looks per drawing, and how many there were since the last.
    every: u32,
    since_drawn: u32,
}

/// What comes next onto the terminal.
enum Next {
    /// These lines instead of the last ones.
    Lines(Vec<String>),
    /// This line for good, above whatever is drawn.
    Above(String),
}

/// Looks per drawing: five drawings in two seconds are enough for an eye.
const EVERY: u32 = 4;
/// Rows of a terminal of unknown size.
const USUAL_ROWS: u16 = 24;
/// Columns of one of unknown size.
const USUAL_COLUMNS: u16 = 80;
/// Small, because with all memory locked every page of it is there from the beginning.
const STACK_BYTES: usize = 128 * 1024;
const HEADING: &str = "             latency, us:";
const COLUMNS: &str =
    " thread  cpu       min      last      mean       p99       max   late  skipped";

impl Live {
    /// Draws on standard output if that is a terminal, unless `quiet`.
    pub fn new(quiet: bool) -> Self {
        Live { drawing: Drawing::new(quiet, EVERY), heading: None }
    }

    /// The same below a line, such as how far a plan is.
    pub fn under(quiet: bool, heading: String) -> Self {
        Live { heading: Some(heading), ..Live::new(quiet) }
    }

    /// Removes the drawing.
    pub fn clear(&mut self) {
        self.drawing.clear();
    }
}

impl ProgressObserver for Live {
    fn observes(&self) -> bool {
        self.drawing.is_shown()
    }

    fn progress(&mut self, progress: &Progress) {
        self.drawing.show(|| {
            let lines = draw(progress, rows().saturating_sub(6 + progress.loads.len()).max(1));
            self.heading.iter().cloned().chain(lines).collect()
        });
    }
}

impl Drawing {
    /// On standard output, if that is a terminal, unless `quiet`.
    pub fn new(quiet: bool, every: u32) -> Self {
        let thread = if quiet || !stdout().is_terminal() { None } else { begin() };
        Drawing { thread, every, since_drawn: every }
    }

    pub const fn is_shown(&self) -> bool {
        self.thread.is_some()
    }

    /// Draws these lines over the last ones, once there were enough looks. If the last ones are not
    /// on the terminal yet, these need not be either.
    pub fn show(&mut self, lines: impl FnOnce() -> Vec<String>) {
        self.since_drawn += 1;
        if let Some((next, _)) = self.thread.as_ref().filter(|_| self.since_drawn >= self.every) {
            self.since_drawn = 0;
            let _ = next.try_send(Next::Lines(lines()));
        }
    }

    /// Puts a line above the drawing, to stay, where there is one. Waits for the terminal: not for
    /// whoever measures.
    pub fn say(&self, line: &str) {
        if let Some((next, _)) = &self.thread {
            let _ = next.send(Next::Above(line.to_owned()));
        }
    }

    /// Removes what was drawn; nothing more is.
    pub fn clear(&mut self) {
        if let Some((next, thread)) = self.thread.take() {
            drop(next);
            let _ = thread.join();
        }
    }
}

fn begin() -> Option<(SyncSender<Next>, JoinHandle<()>)> {
    let (next, drawings) = sync_channel::<Next>(1);
    let draw = move || {
        let mut drawn = 0;
        for next in drawings {
            drawn = match next {
                Next::Lines(lines) => draw_over(drawn, &lines),
                Next::Above(line) => {
                    erase(drawn);
                    put(&format!("{line}\n"));
                    0
                }
            };
        }
        erase(drawn);
    };
    let thread = Builder::new().name("teiji-live".into()).stack_size(STACK_BYTES).spawn(draw);
    Some((next, thread.ok()?))
}

/// Rows of the terminal.
pub fn rows() -> usize {
    size(|size| size.ws_row, USUAL_ROWS)
}

fn size(side: fn(Winsize) -> u16, usual: u16) -> usize {
    let known = rustix::termios::tcgetwinsize(stdout()).map_or(0, side);
    usize::from(if known > 0 { known } else { usual })
}

/// Removes so many lines.
fn erase(drawn: usize) {
    if drawn > 0 {
        put(&format!("\x1b[{drawn}A\r\x1b[J"));
    }
}

/// Draws over so many lines, and returns how many lines that gave.
fn draw_over(drawn: usize, lines: &[String]) -> usize {
    let mut text = if drawn > 0 { format!("\x1b[{drawn}A") } else { String::new() };
    let max = size(|size| size.ws_col, USUAL_COLUMNS);
    for line in lines {
        // One that is wider would be two lines, and the next drawing one off.
        let line: String = shown(line, Paint::Plain).chars().take(max).collect();
        // Each line erases what the one below it left over.
        let _ = writeln!(text, "\r{line}\x1b[K");
    }
    text.push_str("\x1b[J");
    put(&text);
    lines.len()
}

fn put(text: &str) {
    let mut out = stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

/// The lines, with at most so many threads.
fn draw(progress: &Progress, most_threads: usize) -> Vec<String> {
    let mut lines = vec![how_far(progress), HEADING.to_owned(), COLUMNS.to_owned()];
    let threads = progress.threads.iter().enumerate();
    lines.extend(threads.take(most_threads).map(|(index, thread)| line(index, thread)));
    if progress.threads.len() > most_threads {
        lines.push(format!(" ... and {} more threads", progress.threads.len() - most_threads));
    }
    lines.extend(progress.loads.iter().map(load_line));
    lines
}

const BAR: i64 = 24;

fn how_far(progress: &Progress) -> String {
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

fn line(index: usize, thread: &LiveThread) -> String {
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
fn load_line(load: &LoadNow) -> String {
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
            [line(1, &thread(1)), " ... and 1 more threads".to_owned(), load.to_owned()]
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
        };
        assert_eq!(draw(&progress, 9)[0], "warming up");
    }
}
