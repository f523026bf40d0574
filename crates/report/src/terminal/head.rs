// SPDX-License-Identifier: MIT OR Apache-2.0
//! What stands at the top in a terminal.

use crate::paint::Paint;
use crate::sections::caveats::{Banner, Severity};
use crate::sections::verdict::Headline;
use crate::terminal::text::wrapped;

/// The headline, what became of all that was due, and the caveats, each in a line.
pub(crate) fn headline(headline: &Headline, paint: Paint) -> String {
    let mut sentence = String::new();
    wrapped(&mut sentence, "", &headline.sentence);
    let mut out = paint.headline(&sentence);
    if !headline.account.is_empty() {
        wrapped(&mut out, "", &headline.account);
    }
    if !headline.caveats.is_empty() {
        out.push('\n');
    }
    out + &caveats(headline.caveats.iter(), paint)
}

/// Each in a line, in the colour of how bad it is.
pub(crate) fn caveats<'b>(all: impl Iterator<Item = &'b Banner>, paint: Paint) -> String {
    let line = |banner: &Banner| {
        let mut line = String::new();
        wrapped(&mut line, "  ", &banner.text);
        let line = format!("{} {}", banner.severity().sign(), line.trim_start());
        match banner.severity() {
            Severity::Bad => paint.bad(&line),
            Severity::Caution => paint.warning(&line),
            Severity::Note => paint.soft(&line),
        }
    };
    all.map(line).collect()
}
