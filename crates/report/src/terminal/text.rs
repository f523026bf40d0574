// SPDX-License-Identifier: MIT OR Apache-2.0
//! Plain text for a terminal: tables and paragraphs that fit it.

use crate::paint::Paint;
use std::fmt::Write as _;

/// Columns of a terminal that nobody has widened.
pub(crate) const WIDTH: usize = 80;

/// Rows of text below a heading, flush right. A table that is too wide gives up its gaps, and then
/// whole columns as far as it may; a figure that is shown is shown in full.
pub(crate) struct Table {
    pub(crate) head: Vec<&'static str>,
    pub(crate) rows: Vec<Vec<String>>,
}

impl Table {
    pub(crate) fn render(&self) -> String {
        self.painted(Paint::Plain, &[])
    }

    /// Whether it fits a terminal that nobody has widened, if need be without its gaps.
    pub(crate) fn fits(&self) -> bool {
        let widths = self.widths();
        widths.iter().sum::<usize>() + widths.len().saturating_sub(1) <= WIDTH
    }

    /// Whether a figure is not the observed one.
    pub(crate) fn has_about(&self) -> bool {
        self.rows.iter().flatten().any(|cell| cell.starts_with('~'))
    }

    /// The same without as many of these columns, one after the other, as it takes to fit.
    pub(crate) fn fitted(mut self, given_up: &[&str]) -> Table {
        for name in given_up {
            if self.fits() {
                break;
            }
            if let Some(column) = self.head.iter().position(|head| head == name) {
                self.head.remove(column);
                self.rows.iter_mut().for_each(|row| drop(row.remove(column)));
            }
        }
        self
    }

    fn widths(&self) -> Vec<usize> {
        (0..self.head.len())
            .map(|column| {
                self.rows
                    .iter()
                    .map(|row| columns(&row[column]))
                    .chain([columns(self.head[column])])
                    .max()
                    .unwrap_or(0)
            })
            .collect()
    }

    /// In these columns, anything but a 0 is bad.
    pub(crate) fn painted(&self, paint: Paint, bad: &[&str]) -> String {
        let widths = self.widths();
        let gaps = widths.len().saturating_sub(1);
        let gap = if widths.iter().sum::<usize>() + 2 * gaps > WIDTH { " " } else { "  " };
        let line = |cell: &dyn Fn(usize, String) -> String| {
            let cells: Vec<String> = widths
                .iter()
                .enumerate()
                .map(|(column, width)| cell(column, " ".repeat(*width)))
                .collect();
            format!("{}\n", cells.join(gap).trim_end())
        };
        let flush = |text: &str, width: String| right(text, width.len());
        let mut out = line(&|column, width| flush(self.head[column], width));
        for row in &self.rows {
            out += &line(&|column, width| {
                let text = flush(&row[column], width);
                let is_bad = bad.contains(&self.head[column])
                    && !["0", "–", ""].contains(&row[column].as_str());
                if is_bad { paint.bad(&text) } else { text }
            });
        }
        out
    }
}

/// Columns that a text takes: Chinese characters, kana and the like take two.
pub fn columns(text: &str) -> usize {
    text.chars().map(|c| if is_wide(c) { 2 } else { 1 }).sum()
}

/// East Asian wide characters (Unicode Standard Annex 11), as far as a report has any.
const fn is_wide(c: char) -> bool {
    matches!(
        c as u32,
        0x1100..=0x115f
            | 0x2e80..=0xa4cf
            | 0xac00..=0xd7a3
            | 0xf900..=0xfaff
            | 0xfe30..=0xfe6f
            | 0xff00..=0xff60
            | 0xffe0..=0xffe6
    )
}

/// Flush right in so many columns.
pub(crate) fn right(text: &str, width: usize) -> String {
    format!("{}{text}", " ".repeat(width.saturating_sub(columns(text))))
}

pub(crate) fn left(text: &str, width: usize) -> String {
    format!("{text}{}", " ".repeat(width.saturating_sub(columns(text))))
}

/// Lines of cells below one another: the first so many read from the left, the others from the
/// right.
pub(crate) fn aligned(lines: &[Vec<String>], texts: usize) -> String {
    let width = |column: usize| lines.iter().map(|line| columns(&line[column])).max().unwrap_or(0);
    let widths: Vec<usize> = (0..lines.first().map_or(0, Vec::len)).map(width).collect();
    let mut out = String::new();
    for line in lines {
        let cell = |(column, width): (usize, &usize)| {
            let text = line[column].replace(char::is_control, " ");
            if column < texts { left(&text, *width) } else { right(&text, *width) }
        };
        let cells: Vec<String> = widths.iter().enumerate().map(cell).collect();
        out += cells.join("  ").trim_end();
        out.push('\n');
    }
    out
}

/// Columns that such lines take.
pub(crate) fn aligned_width(lines: &[Vec<String>]) -> usize {
    let width = |column: usize| lines.iter().map(|line| columns(&line[column])).max().unwrap_or(0);
    let count = lines.first().map_or(0, Vec::len);
    (0..count).map(width).sum::<usize>() + 2 * count.saturating_sub(1)
}

/// Whether each column fits a terminal behind the first ones, which are texts.
pub(crate) fn fit_in_blocks(lines: &[Vec<String>], texts: usize) -> bool {
    let behind = |column: usize| -> Vec<Vec<String>> {
        let of = |line: &Vec<String>| [&line[..texts], &line[column..=column]].concat();
        lines.iter().map(of).collect()
    };
    let count = lines.first().map_or(0, Vec::len);
    (texts..count).all(|column| aligned_width(&behind(column)) <= WIDTH)
}

/// The same in as many blocks below one another as it takes to fit a terminal, each with the first
/// columns, which are texts.
pub(crate) fn aligned_in_blocks(lines: &[Vec<String>], texts: usize) -> String {
    let block = |columns: &[usize]| -> Vec<Vec<String>> {
        let of = |line: &Vec<String>| {
            (0..texts).chain(columns.iter().copied()).map(|column| line[column].clone()).collect()
        };
        lines.iter().map(of).collect()
    };
    let mut blocks: Vec<Vec<usize>> = Vec::new();
    for column in texts..lines.first().map_or(0, Vec::len) {
        match blocks.last_mut() {
            Some(last)
                if aligned_width(&block(&[last.as_slice(), &[column]].concat())) <= WIDTH =>
            {
                last.push(column);
            }
            _ => blocks.push(vec![column]),
        }
    }
    let blocks = blocks.iter().map(|columns| aligned(&block(columns), texts));
    blocks.collect::<Vec<_>>().join("\n")
}

/// Where a line may end within a word: behind wide characters, but not before what closes
/// something.
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

/// Adds lines of at most [`WIDTH`] columns.
pub(crate) fn wrapped(out: &mut String, indent: &str, text: &str) {
    let hanging = if indent.is_empty() { 0 } else { 2 };
    let lines = in_lines(text, WIDTH - indent.len(), hanging);
    let _ = writeln!(out, "{indent}{}", lines.join(&format!("\n{indent}{:hanging$}", "")));
}

/// Lines of at most so many columns, after the first one so many fewer; a word longer than that
/// stays whole. What comes from outside cannot move the cursor: control characters become spaces.
pub fn in_lines(text: &str, width: usize, hanging: usize) -> Vec<String> {
    let (mut lines, mut line) = (Vec::new(), String::new());
    for word in
        text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty())
    {
        for (place, part) in parts(word).into_iter().enumerate() {
            let space = if place == 0 && !line.is_empty() { " " } else { "" };
            let left = if lines.is_empty() { width } else { width.saturating_sub(hanging) };
            if !line.is_empty() && columns(&line) + space.len() + columns(part) > left {
                lines.push(std::mem::take(&mut line));
            } else {
                line.push_str(space);
            }
            line.push_str(part);
        }
    }
    if !line.is_empty() {
        lines.push(line);
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_gives_up_its_gaps_and_no_column() {
        let table = |width: usize| Table {
            head: vec!["a", "late", "b"],
            rows: vec![vec!["1".into(), "2".into(), "x".repeat(width)]],
        };
        assert_eq!(table(3).render(), "a  late    b\n1     2  xxx\n");
        let last =
            |width: usize| table(width).render().lines().last().unwrap_or_default().to_owned();
        assert!(
            last(71).starts_with("1     2  x")
                && last(72).starts_with("1    2 x")
                && last(90).starts_with("1    2 x")
        );
        assert_eq!(
            table(3).painted(Paint::Colour, &["late"]),
            "a  late    b\n1  \u{1b}[1;31m   2\u{1b}[0m  xxx\n"
        );
    }

    #[test]
    fn a_table_that_is_too_wide_gives_up_columns_in_their_order() {
        let table = |width: usize| Table {
            head: vec!["a", "late", "b"],
            rows: vec![vec!["1".into(), "2".into(), "x".repeat(width)]],
        };
        let head = |width: usize| table(width).fitted(&["late", "a"]).head;
        assert_eq!(head(73), ["a", "late", "b"]);
        assert_eq!(head(74), ["a", "b"]);
        assert_eq!(head(79), ["b"]);
        assert_eq!(head(99), ["b"]);
    }

    #[test]
    fn what_is_too_wide_goes_on_below() {
        let line = |cells: [&str; 4]| cells.map(str::to_owned).to_vec();
        let (wide, value) = ("x".repeat(40), "y".repeat(35));
        let lines = [line(["load", &wide, "b", &wide]), line(["cpu", &value, "1", "2"])];
        let first = format!("load  {wide}  b\ncpu   {value:>40}  1\n");
        let second = format!("load  {wide}\ncpu   {:>40}\n", 2);
        assert_eq!(aligned_in_blocks(&lines, 1), format!("{first}\n{second}"));
        let narrow = [line(["a", "b", "c", "d"]), line(["1", "2", "3", "4"])];
        assert_eq!(aligned_in_blocks(&narrow, 1), aligned(&narrow, 1));
    }

    #[test]
    fn wide_characters_take_two_columns_and_may_end_a_line() {
        let table =
            Table { head: vec!["µs", "番目"], rows: vec![vec!["p50".into(), "1.0".into()]] };
        assert_eq!(table.render(), " µs  番目\np50   1.0\n");
        let mut out = String::new();
        wrapped(&mut out, "", &"レイテンシが、".repeat(9));
        assert!(
            out.lines().count() == 2
                && out.lines().all(|line| columns(line) <= WIDTH && !line.starts_with('、')),
            "{out}"
        );
    }

    #[test]
    fn long_words_stay_whole() {
        let mut out = String::new();
        wrapped(&mut out, "", &format!("a\tb\u{1b} {} c", "x".repeat(90)));
        assert_eq!(out, format!("a b\n{}\nc\n", "x".repeat(90)));
    }
}
