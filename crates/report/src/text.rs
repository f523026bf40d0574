// SPDX-License-Identifier: MIT OR Apache-2.0
//! Plain text for a terminal: tables and paragraphs that fit it.

use std::fmt::Write as _;

/// Columns of a terminal that nobody has widened.
pub(crate) const WIDTH: usize = 80;

/// Rows of text below a heading, flush right.
pub(crate) struct Table {
    pub(crate) head: Vec<&'static str>,
    pub(crate) rows: Vec<Vec<String>>,
    /// Columns to leave out first when the table is too wide.
    pub(crate) expendable: &'static [&'static str],
}

impl Table {
    pub(crate) fn render(&self) -> String {
        let widths: Vec<usize> = (0..self.head.len())
            .map(|column| {
                self.rows.iter().map(|row| columns(&row[column])).chain([columns(self.head[column])]).max().unwrap_or(0)
            })
            .collect();
        let mut shown: Vec<usize> = (0..self.head.len()).collect();
        let mut gap = 2;
        let total = |shown: &[usize], gap: usize| shown.iter().map(|column| widths[*column] + gap).sum::<usize>() - gap;
        let mut expendable = self.expendable.iter();
        while total(&shown, gap) > WIDTH {
            if let Some(name) = expendable.next() {
                shown.retain(|column| self.head[*column] != *name);
            } else if gap > 1 {
                gap -= 1;
            } else {
                break;
            }
        }
        let mut out = String::new();
        let head: Vec<String> = self.head.iter().map(|name| (*name).to_owned()).collect();
        for row in std::iter::once(&head).chain(&self.rows) {
            let cells: Vec<String> = shown.iter().map(|column| right(&row[*column], widths[*column])).collect();
            out.push_str(cells.join(&" ".repeat(gap)).trim_end());
            out.push('\n');
        }
        out
    }
}

/// Columns that a text takes: Chinese characters, kana and the like take two.
pub(crate) fn columns(text: &str) -> usize {
    text.chars().map(|c| if is_wide(c) { 2 } else { 1 }).sum()
}

/// East Asian wide characters (Unicode Standard Annex 11), as far as a report has any.
const fn is_wide(c: char) -> bool {
    matches!(c as u32, 0x1100..=0x115f | 0x2e80..=0xa4cf | 0xac00..=0xd7a3 | 0xf900..=0xfaff | 0xfe30..=0xfe6f | 0xff00..=0xff60 | 0xffe0..=0xffe6)
}

/// Flush right in so many columns.
pub(crate) fn right(text: &str, width: usize) -> String {
    format!("{}{text}", " ".repeat(width.saturating_sub(columns(text))))
}

/// Where a line may end within a word: behind wide characters, but not before what closes something.
fn parts(word: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut start, mut before) = (0, ' ');
    for (place, c) in word.char_indices() {
        if is_wide(before) && !"、。)」ーっゃゅょッャュョ:".contains(c) {
            parts.push(&word[start..place]);
            start = place;
        }
        before = c;
    }
    parts.push(&word[start..]);
    parts
}

/// Adds one line as long as it is, so that a command can be copied.
pub(crate) fn unwrapped(out: &mut String, lead: &str, text: &str) {
    let _ = writeln!(out, "{lead}{}", text.replace(char::is_control, " "));
}

/// Adds lines of at most [`WIDTH`] columns; a word longer than that stays whole. What comes from outside cannot move the
/// cursor: control characters become spaces.
pub(crate) fn wrapped(out: &mut String, indent: &str, text: &str) {
    let hanging = if indent.is_empty() { "" } else { "  " };
    let mut line = indent.to_owned();
    for word in text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty()) {
        for (place, part) in parts(word).into_iter().enumerate() {
            let space = usize::from(place == 0);
            if line.len() > indent.len() && columns(&line) + space + columns(part) > WIDTH {
                let _ = writeln!(out, "{line}");
                line = format!("{indent}{hanging}");
            } else if space == 1 && !line.trim_start().is_empty() {
                line.push(' ');
            }
            line.push_str(part);
        }
    }
    let _ = writeln!(out, "{line}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_gives_up_what_it_can_spare_and_then_its_gaps() {
        let table = |width: usize| Table {
            head: vec!["a", "spare", "b"],
            rows: vec![vec!["1".into(), "2".into(), "x".repeat(width)]],
            expendable: &["spare"],
        };
        assert_eq!(table(3).render(), "a  spare    b\n1      2  xxx\n");
        assert_eq!(table(77).render().lines().last().map(|line| line.starts_with("1  x")), Some(true));
        assert_eq!(table(78).render().lines().last().map(|line| line.starts_with("1 x")), Some(true));
    }

    #[test]
    fn wide_characters_take_two_columns_and_may_end_a_line() {
        let table = Table { head: vec!["µs", "番目"], rows: vec![vec!["p50".into(), "1.0".into()]], expendable: &[] };
        assert_eq!(table.render(), " µs  番目\np50   1.0\n");
        let mut out = String::new();
        wrapped(&mut out, "", &"レイテンシが、".repeat(9));
        assert!(out.lines().count() == 2 && out.lines().all(|line| columns(line) <= WIDTH && !line.starts_with('、')), "{out}");
    }

    #[test]
    fn long_words_stay_whole() {
        let mut out = String::new();
        wrapped(&mut out, "", &format!("a\tb\u{1b} {} c", "x".repeat(90)));
        assert_eq!(out, format!("a b\n{}\nc\n", "x".repeat(90)));
    }
}
