// SPDX-License-Identifier: MIT OR Apache-2.0
//! What every page says in the same way: its words, where they are explained, and text from outside
//! as Markdown.

use crate::charts::svg::escape;
use crate::foreign_text::{shown, steers};
use crate::page::Frame;
use crate::paint::Paint;
use crate::sections::inference::Message;
use askama::filters::{Escaper, Html};
use std::fmt;

/// What askama does to each expression of a template of Markdown.
#[derive(Clone, Copy)]
pub(crate) struct InMarkdown;

impl Escaper for InMarkdown {
    fn write_escaped_str<W: fmt::Write>(&self, mut to: W, text: &str) -> fmt::Result {
        to.write_str(&markdown(text))
    }
}

/// What askama does to each expression of a template of HTML.
#[derive(Clone, Copy)]
pub(crate) struct InPage;

impl Escaper for InPage {
    fn write_escaped_str<W: fmt::Write>(&self, to: W, text: &str) -> fmt::Result {
        Html.write_escaped_str(to, &shown(text, Paint::Plain))
    }
}

/// Text from outside as Markdown: it stays text, and one line, also at the beginning of one.
pub(crate) fn markdown(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let is_negative =
        text.strip_prefix('-').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    for (place, c) in text.chars().enumerate() {
        match c {
            '-' if place == 0 && is_negative => out.push(c),
            '|' | '*' | '`' | '~' | '\\' => out.extend(['\\', c]),
            // A link's address; brackets alone are none.
            '(' if out.ends_with(']') => out.push_str("\\("),
            '#' | '-' | '+' | '=' | '>' | '_' if place == 0 => out.extend(['\\', c]),
            '<' => out.push_str("&lt;"),
            '&' => out.push_str("&amp;"),
            c if c.is_control() => out.push(' '),
            c if steers(c) => out.push_str(&shown(c.encode_utf8(&mut [0; 4]), Paint::Plain)),
            c => out.push(c),
        }
    }
    out
}

/// As HTML: a text of ours, and where its meaning stands, which a recording may have brought along.
fn link(frame: &Frame, text: &str, term: &str) -> String {
    let meaning =
        frame.words.iter().find(|word| word.term == term).map(|word| escape(&word.meaning));
    debug_assert!(meaning.is_some(), "nobody says what {term:?} means");
    let place = place_of(term);
    format!(
        "<a class=\"term\" href=\"#{place}\" title=\"{}\">{text}</a>",
        meaning.unwrap_or_default()
    )
}

/// The place in the page where a term's meaning stands.
fn place_of(term: &str) -> String {
    format!("word-{}", term.replace(|c: char| !c.is_ascii_alphanumeric(), "-"))
}

/// What every page can say; for templates.
pub(crate) trait Localised {
    /// What the page has around its sections, its words among it.
    fn frame(&self) -> &Frame;

    /// A text, and where its meaning stands: a term of the page's words.
    fn defined(&self, text: &str, term: &str) -> String {
        link(self.frame(), text, term)
    }

    /// What rows of the page's recordings are called, and where that is explained.
    fn rows(&self) -> String {
        link(self.frame(), self.frame().rows.plural(), "row")
    }

    /// Where a term's meaning stands.
    fn place(&self, term: &str) -> String {
        place_of(term)
    }

    /// A sentence's subject, with a link to its definition.
    fn subject(&self, message: &Message) -> String {
        link(self.frame(), &message.about, message.term)
    }

    /// Text from outside as code in a cell of Markdown, whose cells end at a bar even there.
    fn code_cell(&self, text: &str) -> String {
        self.code(text).replace('|', "\\|")
    }

    fn code(&self, text: &str) -> String {
        let text = text.replace(char::is_control, " ");
        let text = shown(&text, Paint::Plain);
        // A fence longer than any in it.
        let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
        let (fence, space) = ("`".repeat(longest + 1), if longest > 0 { " " } else { "" });
        format!("{fence}{space}{text}{space}{fence}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sections::columns::{Measured, Probes};

    struct Anything(Frame);
    impl Localised for Anything {
        fn frame(&self) -> &Frame {
            &self.0
        }
    }

    #[test]
    fn what_a_recording_says_of_its_latency_stays_text() {
        let mut recorded = crate::synthetic::Synthetic::idle().build();
        recorded.document.probe.columns[0].meaning = "from \"a\" to <script>".into();
        let probes = Probes::from_overviews(&[crate::overview::Overview::new(&recorded)]);
        let output =
            Anything(Frame::new("", "", Measured::Other, &probes)).defined("latency", "latency");
        assert!(output.contains("title=\"From &quot;a&quot; to &lt;script&gt;.\""), "{output}");
    }

    #[test]
    fn text_from_outside_is_neither_a_cell_nor_a_tag_nor_a_block() {
        assert_eq!(
            markdown("a|b <img src=x> [c](d) *e*\n~~~"),
            r"a\|b &lt;img src=x> [c]\(d) \*e\* \~\~\~"
        );
        assert_eq!(
            (markdown("# x").as_str(), markdown("- x").as_str(), markdown("6.1.0-56-rt").as_str()),
            (r"\# x", r"\- x", "6.1.0-56-rt")
        );
        let anything = Anything(Frame::new("", "", Measured::Other, &Probes::default()));
        assert_eq!(anything.code("a `b` c"), "`` a `b` c ``");
        assert_eq!(anything.code_cell("run:a | b"), r"`run:a \| b`");
    }
}
