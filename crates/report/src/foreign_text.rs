// SPDX-License-Identifier: MIT OR Apache-2.0
//! Text from outside: what would steer a terminal, or turn a page around, stands there as its code.

use crate::paint::{OWN_CODES, Paint};
use std::borrow::Cow;
use std::fmt::Write as _;

/// What was written by others does not steer the terminal, or the page, of whoever reads it:
/// characters that would are written as `\u001b`, also in JSON, where that means the same. Lines
/// and columns stay, and the colours of our own where there are any.
pub fn shown(text: &str, paint: Paint) -> Cow<'_, str> {
    if !text.chars().any(steers) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let after = &rest[c.len_utf8()..];
        let own = if paint == Paint::Colour { colour(rest) } else { 0 };
        if own > 0 {
            out.push_str(&rest[..own]);
            rest = &rest[own..];
            continue;
        }
        if steers(c) && !(c == '\r' && after.starts_with('\n')) {
            let _ = write!(out, "\\u{:04x}", u32::from(c));
        } else {
            out.push(c);
        }
        rest = after;
    }
    Cow::Owned(out)
}

/// Control characters, and those that turn the direction in which text is read.
pub(crate) fn steers(c: char) -> bool {
    c.is_control() && !matches!(c, '\n' | '\t')
        || matches!(
            c,
            '\u{061c}'
                | '\u{200e}'
                | '\u{200f}'
                | '\u{202a}'..='\u{202e}'
                | '\u{2066}'..='\u{2069}'
        )
}

/// How long the sequence is that begins here and is one of ours: another may hide what follows.
fn colour(text: &str) -> usize {
    let codes = text.strip_prefix("\u{1b}[").unwrap_or_default();
    let end = codes.find(|c: char| !c.is_ascii_digit() && c != ';');
    end.filter(|end| OWN_CODES.contains(&&codes[..*end]) && codes[*end..].starts_with('m'))
        .map_or(0, |end| end + 3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_is_not_steered() {
        let text = "\u{1b}]0;title\u{7}\u{1b}[2J\u{9b}31m \
                    \u{1b}[1;31mbad\u{1b}[0m\u{1b}[8m\u{202e}\rover\r\nµs\tx\n";
        let plain = "\\u001b]0;title\\u0007\\u001b[2J\\u009b31m \
                     \\u001b[1;31mbad\\u001b[0m\\u001b[8m\\u202e\\u000dover\r\nµs\tx\n";
        assert_eq!(shown(text, Paint::Plain), plain);
        let coloured =
            plain.replace("\\u001b[1;31m", "\u{1b}[1;31m").replace("\\u001b[0m", "\u{1b}[0m");
        assert_eq!(shown(text, Paint::Colour), coloured);
        assert!(matches!(shown("µs\n\t", Paint::Plain), Cow::Borrowed(_)));
    }
}
