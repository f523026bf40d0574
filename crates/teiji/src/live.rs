// SPDX-License-Identifier: MIT OR Apache-2.0
//! A run on a terminal while it goes on: how far it is, and a line per thread, drawn over itself.

use plan::Nanos;
use runner::{LiveThread, Progress, Watch};
use std::fmt::Write as _;
use std::io::{IsTerminal, Write, stdout};

/// Draws, or does not.
pub struct Live {
    terminal: bool,
    /// Lines of the last drawing, to be drawn over.
    drawn: usize,
    since_drawn: u32,
}

/// Looks per drawing: five drawings in two seconds are enough for an eye.
const EVERY: u32 = 4;
/// Rows of a terminal that does not tell its size.
const USUAL_ROWS: u16 = 24;
const HEADING: &str = " thread  cpu        min       last       mean        p99        max   late  skipped";

impl Live {
    /// Draws on standard output if that is a terminal, unless told to be quiet.
    pub fn new(quiet: bool) -> Self {
        Live { terminal: !quiet && stdout().is_terminal(), drawn: 0, since_drawn: EVERY }
    }

    /// Removes the drawing.
    pub fn clear(&mut self) {
        if self.drawn > 0 {
            self.put(&format!("\x1b[{}A\r\x1b[J", self.drawn));
            self.drawn = 0;
        }
    }

    fn put(&self, text: &str) {
        let mut out = stdout().lock();
        let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    }
}

impl Watch for Live {
    fn looks_on(&self) -> bool {
        self.terminal
    }

    fn progress(&mut self, progress: &Progress) {
        self.since_drawn += 1;
        if self.since_drawn < EVERY {
            return;
        }
        self.since_drawn = 0;
        let rows = rustix::termios::tcgetwinsize(stdout()).ok().map(|size| size.ws_row).filter(|rows| *rows > 0);
        let lines = draw(progress, usize::from(rows.unwrap_or(USUAL_ROWS)).saturating_sub(4).max(1));
        let mut text = if self.drawn > 0 { format!("\x1b[{}A", self.drawn) } else { String::new() };
        for line in &lines {
            // Each line erases what the one below it left over.
            let _ = writeln!(text, "\r{line}\x1b[K");
        }
        text.push_str("\x1b[J");
        self.drawn = lines.len();
        self.put(&text);
    }
}

/// The lines, with at most so many threads.
fn draw(progress: &Progress, most_threads: usize) -> Vec<String> {
    let mut lines = vec![how_far(progress), HEADING.to_owned()];
    let threads = progress.threads.iter().enumerate();
    lines.extend(threads.take(most_threads).map(|(index, thread)| line(index, thread)));
    if progress.threads.len() > most_threads {
        lines.push(format!(" ... and {} more threads", progress.threads.len() - most_threads));
    }
    lines
}

const BAR: i64 = 28;

fn how_far(progress: &Progress) -> String {
    let (elapsed, expected) = (progress.elapsed_ns.0, progress.expected_ns.0.max(1));
    if elapsed < 0 {
        return "warming up".to_owned();
    }
    let done = (i128::from(elapsed) * i128::from(BAR) / i128::from(expected)).clamp(0, i128::from(BAR));
    let done = usize::try_from(done).unwrap_or(0);
    let bar = format!("{}{}", "#".repeat(done), ".".repeat(usize::try_from(BAR).unwrap_or(0) - done));
    let left = Nanos((expected - elapsed).max(0));
    let loads = if progress.loads_alive { "" } else { "   a load has stopped!" };
    format!("[{bar}] {} of {}, {} left{loads}", clock(Nanos(elapsed.min(expected))), clock(Nanos(expected)), clock(left))
}

/// `1:02:03` or `02:03`; seconds are rounded up, so that nothing has "0 left" before it ends.
fn clock(span: Nanos) -> String {
    let seconds = span.0.div_euclid(1_000_000_000) + i64::from(span.0.rem_euclid(1_000_000_000) > 0);
    let (hours, minutes, seconds) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    if hours > 0 { format!("{hours}:{minutes:02}:{seconds:02}") } else { format!("{minutes:02}:{seconds:02}") }
}

fn line(index: usize, thread: &LiveThread) -> String {
    let us = |ns: Option<i64>| ns.map_or_else(|| "-".to_owned(), |ns| format!("{:.1} us", Nanos(ns).as_micros_f64()));
    let mean = thread.mean.map_or_else(|| "-".to_owned(), |ns| format!("{:.1} us", ns / 1e3));
    format!(
        " {index:>6} {:>4} {:>10} {:>10} {mean:>10} {:>10} {:>10} {:>6} {:>8}",
        thread.cpu.0,
        us(thread.min),
        us(thread.last),
        us(thread.p99),
        us(thread.max),
        thread.late,
        thread.skipped
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use plan::CpuId;

    fn thread(cpu: u32) -> LiveThread {
        LiveThread {
            cpu: CpuId(cpu),
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
            expected_ns: Nanos::from_secs(10),
            threads: vec![thread(0), thread(1), thread(2)],
            loads_alive: true,
        };
        let lines = draw(&progress, 2);
        assert_eq!(lines[0], "[#######.....................] 00:03 of 00:10, 00:08 left");
        assert_eq!(lines[2], "      0    0     3.2 us    70.0 us    65.4 us   100.0 us 12345.7 us      3       21");
        assert_eq!(lines[3..], [line(1, &thread(1)), " ... and 1 more threads".to_owned()]);
        assert!(lines.iter().all(|line| line.len() <= 82), "{lines:#?}");
    }

    #[test]
    fn before_the_first_activation() {
        let progress = Progress { elapsed_ns: Nanos(-5), expected_ns: Nanos(1), threads: Vec::new(), loads_alive: true };
        assert_eq!(draw(&progress, 9)[0], "warming up");
    }
}
