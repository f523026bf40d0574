// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a guest has printed on its console, as a terminal can take it.

use std::fmt;

/// Lines of the console shown with an error.
const LAST_LINES: usize = 12;
pub(crate) const LAST_COLUMNS: usize = 160;
/// What a guest may print. Debian's kernels print 30 KB; one that prints all the time would fill
/// the host's disk.
pub(crate) const MAX_CONSOLE: u64 = 8 << 20;

/// The end of a console log, for a message.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct LastLines(Vec<String>);

impl LastLines {
    pub(crate) fn from_bytes(console: &[u8]) -> Self {
        LastLines::from_text(&String::from_utf8_lossy(console))
    }

    pub(crate) fn from_text(console: &str) -> Self {
        let lines: Vec<String> = console
            .lines()
            .map(|line| harmless(line, LAST_COLUMNS))
            .filter(|line| !line.trim().is_empty())
            .collect();
        LastLines(lines[lines.len().saturating_sub(LAST_LINES)..].to_vec())
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// What a guest says may hold anything; a terminal is not to obey it.
pub(crate) fn harmless(text: &str, longest: usize) -> String {
    text.chars().filter(|c| !c.is_control()).take(longest).collect()
}

impl fmt::Display for LastLines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.as_slice() {
            [] => f.write_str("\nThe console says nothing."),
            lines => write!(f, "\nThe console's last lines:\n  {}", lines.join("\n  ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_consoles_last_lines_cannot_command_a_terminal() {
        let many: String = (0..40).map(|n| format!("line {n}\x1b[2J\r\n\r\n")).collect();
        let lines = LastLines::from_text(&many);
        assert_eq!(lines.0.len(), LAST_LINES);
        assert_eq!(lines.0.last().unwrap(), "line 39[2J");
        assert!(LastLines::from_text("").to_string().contains("says nothing"));
    }
}
