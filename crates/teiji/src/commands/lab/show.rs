// SPDX-License-Identifier: MIT OR Apache-2.0
//! Guests while they run: on a terminal a line each, drawn over itself; elsewhere only what is
//! worth a line.

use crate::live::Drawing;
use crate::output;
use lab::{GuestObserver, GuestProgress, Stage};
use std::collections::BTreeSet;

/// Looks per drawing.
const EVERY: u32 = 8;

pub struct Show {
    drawing: Option<Drawing>,
    since_drawn: u32,
    quiet: bool,
    noted: BTreeSet<String>,
    /// What stands above the guests; how many are done, unless it is given.
    pub heading: Option<String>,
}

impl Show {
    /// Draws on standard output if that is a terminal, unless `quiet`.
    pub fn new(quiet: bool) -> Self {
        Show {
            drawing: if quiet { None } else { Drawing::begin() },
            since_drawn: EVERY,
            quiet,
            noted: BTreeSet::new(),
            heading: None,
        }
    }

    /// A line that stays, on standard output.
    pub fn say(&mut self, text: &str) {
        match &self.drawing {
            Some(drawing) => drawing.say(text),
            None if !self.quiet => output::say(text),
            None => {}
        }
    }

    /// Does something that writes to the terminal by itself; what is drawn is gone meanwhile, and
    /// comes again.
    pub fn without<T>(&mut self, act: impl FnOnce() -> T) -> T {
        let drew = self.drawing.is_some();
        self.clear();
        let done = act();
        self.drawing = if drew { Drawing::begin() } else { None };
        done
    }

    /// Removes the drawing.
    pub fn clear(&mut self) {
        if let Some(drawing) = self.drawing.take() {
            drawing.clear();
        }
    }
}

impl GuestObserver for Show {
    fn progress(&mut self, running: &[GuestProgress], done: usize, all: usize) {
        self.since_drawn += 1;
        if let Some(drawing) = self.drawing.as_ref().filter(|_| self.since_drawn >= EVERY) {
            self.since_drawn = 0;
            let mut lines =
                vec![self.heading.clone().unwrap_or_else(|| format!(" {done} of {all} done"))];
            lines.extend(running.iter().map(line));
            drawing.show(lines);
        }
    }

    fn note(&mut self, text: &str) {
        // Of many guests each would say it again.
        if !self.quiet && self.noted.insert(text.to_owned()) {
            self.without(|| output::complain(text));
        }
    }
}

fn line(guest: &GuestProgress) -> String {
    let stage = match guest.stage {
        Stage::TryingKvm => "trying KVM".to_owned(),
        Stage::Booting => "booting".to_owned(),
        Stage::Measuring => "measuring".to_owned(),
        Stage::Sending { received, of } => {
            format!("sending its results, {} of {} KiB", received >> 10, of >> 10)
        }
    };
    // A recording's name may hold anything.
    let name: String = guest.name.chars().filter(|c| !c.is_control()).take(40).collect();
    format!("   {name:<40}  {:>4} s  {stage}", guest.elapsed.as_secs())
}
