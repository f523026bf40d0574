// SPDX-License-Identifier: MIT OR Apache-2.0
//! Guests while they run: on a terminal a line each, drawn over itself; elsewhere only what is
//! worth a line.

use crate::live::sheet::{Row, Sheet};
use crate::live::{Display, Drawing};
use crate::output;
use lab::{GuestObserver, GuestProgress, Stage};
use std::collections::BTreeSet;

/// Looks per drawing.
const EVERY: u32 = 8;

pub struct Show {
    drawing: Drawing,
    display: Display,
    noted: BTreeSet<String>,
    /// What stands above the guests; how many are done, unless it is given.
    pub heading: Option<String>,
}

impl Show {
    pub fn new(display: Display) -> Self {
        let drawing = Drawing::new(display, EVERY);
        Show { drawing, display, noted: BTreeSet::new(), heading: None }
    }

    /// A line that stays, on standard output.
    pub fn say(&mut self, text: &str) {
        self.drawing.say(text);
        if !self.drawing.is_shown() && !self.display.is_quiet() {
            output::say(text);
        }
    }

    /// Does something that writes to the terminal by itself; what is drawn is gone meanwhile, and
    /// comes again.
    pub fn without<T>(&mut self, act: impl FnOnce() -> T) -> T {
        let drew = self.drawing.is_shown();
        self.clear();
        let done = act();
        self.drawing = Drawing::new(if drew { self.display } else { Display::Nothing }, EVERY);
        done
    }

    /// Removes the drawing.
    pub fn clear(&mut self) {
        self.drawing.clear();
    }
}

impl GuestObserver for Show {
    fn progress(&mut self, running: &[GuestProgress], done: usize, all: usize) {
        let heading = || self.heading.clone().unwrap_or_else(|| format!(" {done} of {all} done"));
        self.drawing.show(
            || std::iter::once(heading()).chain(running.iter().map(line)).collect(),
            || sheet(heading(), running),
        );
    }

    fn note(&mut self, text: &str) {
        // Of many guests each would say it again.
        if !self.display.is_quiet() && self.noted.insert(text.to_owned()) {
            self.without(|| output::complain(text));
        }
    }
}

/// A guest has its figures in itself until it ends.
fn sheet(how_far: String, running: &[GuestProgress]) -> Sheet {
    let row = |guest: &GuestProgress| Row { text: line(guest), ..Row::default() };
    Sheet {
        how_far: how_far.trim_start().to_owned(),
        columns: format!("   {:<40}  {:>6}  stage", "guest", "time"),
        rows: running.iter().map(row).collect(),
        list: Some((
            "Not known before a guest has ended: its latencies, and what its loads reached".into(),
            Vec::new(),
        )),
        ..Sheet::default()
    }
}

fn line(guest: &GuestProgress) -> String {
    let stage = match guest.stage {
        Stage::TryingKvm => "trying KVM".to_owned(),
        Stage::Booting => "booting".to_owned(),
        Stage::Measuring => "measuring".to_owned(),
        Stage::Sending { received, of } => {
            format!("sending, {} of {} KiB", received >> 10, of >> 10)
        }
    };
    // A recording's name may hold anything.
    let name: String = guest.name.chars().filter(|c| !c.is_control()).take(40).collect();
    format!("   {name:<40}  {:>4} s  {stage}", guest.elapsed.as_secs())
}
