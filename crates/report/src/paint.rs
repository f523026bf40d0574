// SPDX-License-Identifier: MIT OR Apache-2.0
//! Colour in a terminal: what is bad stands out, and nothing is said by colour alone.

/// Whether text is for a terminal that shows colour. Whoever calls knows where it goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Paint {
    /// As it is: a file, a pipe, a terminal whose user wants no colour.
    #[default]
    Plain,
    /// With the terminal's own bold, red, yellow and grey, which follow its theme.
    Colour,
}

/// What is written between `ESC [` and `m`.
pub(crate) const OWN_CODES: [&str; 5] = ["1", "1;31", "33", "2", "0"];

impl Paint {
    /// The one line for a reader with ten seconds.
    pub(crate) fn headline(self, text: &str) -> String {
        self.with("1", text)
    }

    /// An overrun, a lost sample, a load off target.
    pub(crate) fn bad(self, text: &str) -> String {
        self.with("1;31", text)
    }

    pub(crate) fn warning(self, text: &str) -> String {
        self.with("33", text)
    }

    pub(crate) fn soft(self, text: &str) -> String {
        self.with("2", text)
    }

    /// Each line by itself, so that a pager that cuts lines shows each as it is.
    fn with(self, code: &str, text: &str) -> String {
        if self == Paint::Plain {
            return text.to_owned();
        }
        let line = |line: &str| {
            if line.is_empty() { String::new() } else { format!("\u{1b}[{code}m{line}\u{1b}[0m") }
        };
        text.split('\n').map(line).collect::<Vec<_>>().join("\n")
    }
}
