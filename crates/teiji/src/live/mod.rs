// SPDX-License-Identifier: MIT OR Apache-2.0
//! Progress of a run on a terminal: how far it is, and a line per thread or load, drawn over
//! itself; or all of a screen (`--live`).

mod lines;
mod screen;
pub mod sheet;
mod terminal;
mod view;

use anyhow::bail;
pub use lines::decimal;
use report::{Paint, shown};
use runner::{Progress, ProgressObserver};
use sheet::{Next, Sheet};
use std::fmt::Write as _;
use std::io::{IsTerminal, stdin, stdout};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{Builder, JoinHandle};
pub use terminal::rows;
use terminal::{columns, put};

/// How progress is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Display {
    Nothing,
    /// Some lines on standard output, if that is a terminal.
    Lines,
    /// All of the terminal.
    Screen,
}

pub struct Live {
    drawing: Drawing,
    /// What stands above it all.
    heading: Option<String>,
}

/// What is drawn over itself. A terminal may be held (Ctrl-S, a stalled connection) and
/// then keeps whoever writes to it waiting. That must not be the recorder, so a thread of its own
/// draws.
pub struct Drawing {
    /// None: nothing is drawn.
    thread: Option<(SyncSender<Next>, JoinHandle<()>)>,
    /// Looks per drawing, and how many there were since the last.
    every: u32,
    since_drawn: u32,
    is_screen: bool,
}

/// Looks per drawing: five drawings in two seconds are enough for an eye.
const EVERY: u32 = 4;
/// Of a screen, whose keys are answered meanwhile.
const EVERY_OF_A_SCREEN: u32 = 2;
/// Small, because with all memory locked every page of it is there from the beginning.
const STACK_BYTES: usize = 128 * 1024;

impl Display {
    /// What flags ask for.
    ///
    /// # Errors
    /// Where a screen was asked for and there is none.
    pub fn asked(live: bool, quiet: bool) -> anyhow::Result<Self> {
        let has_terminal = stdin().is_terminal() && stdout().is_terminal();
        match (live, quiet) {
            (true, _) if !has_terminal => bail!(
                "--live needs a terminal on standard input and output: over ssh use ssh -t, or \
                 leave out --live"
            ),
            (true, _) => Ok(Display::Screen),
            (false, quiet) => Ok(Display::lines(quiet)),
        }
    }

    pub const fn lines(quiet: bool) -> Self {
        if quiet { Display::Nothing } else { Display::Lines }
    }

    pub fn is_quiet(self) -> bool {
        self == Display::Nothing
    }
}

impl Live {
    pub fn new(display: Display) -> Self {
        let every = if display == Display::Screen { EVERY_OF_A_SCREEN } else { EVERY };
        Live { drawing: Drawing::new(display, every), heading: None }
    }

    /// The same below a line, such as how far a plan is.
    pub fn under(display: Display, heading: String) -> Self {
        Live { heading: Some(heading), ..Live::new(display) }
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

    fn observes_histories(&self) -> bool {
        self.drawing.is_screen
    }

    fn progress(&mut self, progress: &Progress) {
        let heading = &self.heading;
        self.drawing.show(
            || {
                let lines =
                    lines::draw(progress, rows().saturating_sub(6 + progress.loads.len()).max(1));
                heading.iter().cloned().chain(lines).collect()
            },
            || sheet::of_run(progress, heading.clone()),
        );
    }
}

impl Drawing {
    pub fn new(display: Display, every: u32) -> Self {
        let thread = match display {
            Display::Nothing => None,
            Display::Lines if !stdout().is_terminal() => None,
            Display::Lines => begin(draw_lines, STACK_BYTES),
            Display::Screen => begin(screen::draw, screen::STACK_BYTES),
        };
        Drawing { thread, every, since_drawn: every, is_screen: display == Display::Screen }
    }

    pub const fn is_shown(&self) -> bool {
        self.thread.is_some()
    }

    /// Draws these lines over the last ones, or this screen, once there were enough looks. If the
    /// last ones are not on the terminal yet, these need not be either.
    pub fn show(&mut self, lines: impl FnOnce() -> Vec<String>, sheet: impl FnOnce() -> Sheet) {
        self.since_drawn += 1;
        if let Some((next, _)) = self.thread.as_ref().filter(|_| self.since_drawn >= self.every) {
            self.since_drawn = 0;
            let _ = next.try_send(if self.is_screen {
                Next::Sheet(Box::new(sheet()))
            } else {
                Next::Lines(lines())
            });
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

fn begin(
    draw: fn(Receiver<Next>),
    stack_bytes: usize,
) -> Option<(SyncSender<Next>, JoinHandle<()>)> {
    let (next, drawings) = sync_channel::<Next>(1);
    let builder = Builder::new().name("teiji-live".into()).stack_size(stack_bytes);
    Some((next, builder.spawn(move || draw(drawings)).ok()?))
}

fn draw_lines(drawings: Receiver<Next>) {
    let mut drawn = 0;
    for next in drawings {
        drawn = match next {
            Next::Lines(lines) => draw_over(drawn, &lines),
            Next::Above(line) => {
                erase(drawn);
                put(&format!("{line}\n"));
                0
            }
            Next::Sheet(_) => drawn,
        };
    }
    erase(drawn);
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
    let max = columns();
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
