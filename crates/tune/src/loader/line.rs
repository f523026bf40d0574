// SPDX-License-Identifier: MIT OR Apache-2.0
//! Arguments within a command line of the kernel, replaced where they stand. Whatever else is there
//! stays byte for byte.
//!
//! A command line may lie in several pieces, in one file or more: two variables of GRUB, some lines
//! of an entry. The last argument of a name is the one that counts.

use super::super::boot::PlannedArgument;
use std::ops::Range;

/// How a piece writes a space within an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Quoting {
    /// As the kernel reads it: between two `"`.
    Kernel,
    /// Between the `"` of a shell, so that each of the kernel's is `\"`.
    WithinShell,
    /// A word of a shell without quotes, which it needs as soon as there are two arguments.
    Bare,
}

/// A piece of a command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    /// The number of its file.
    pub(super) file: usize,
    /// Where in the text of the file.
    pub(super) range: Range<usize>,
    pub(super) quoting: Quoting,
}

/// What takes the place of a range of a file's text.
struct Edit {
    file: usize,
    range: Range<usize>,
    to: String,
}

/// An argument of a piece: where in its file.
struct Word {
    piece: usize,
    range: Range<usize>,
}

/// Where the words of a text stand, and whether each quote in it has its other end.
fn scanned(text: &str, quoting: Quoting) -> (Vec<Range<usize>>, bool) {
    let (mut words, mut begin, mut is_quoted, mut is_escaped) = (Vec::new(), None, false, false);
    for (at, letter) in text.char_indices() {
        is_quoted ^= letter == '"' && (is_escaped || quoting != Quoting::WithinShell);
        is_escaped = letter == '\\' && !is_escaped;
        match (letter.is_ascii_whitespace() && !is_quoted, begin) {
            (true, Some(first)) => {
                words.push(first..at);
                begin = None;
            }
            (false, None) => begin = Some(at),
            _ => {}
        }
    }
    words.extend(begin.map(|first| first..text.len()));
    (words, !is_quoted)
}

/// Where its arguments stand, up to `--`: what follows is for init.
fn words(text: &str, quoting: Quoting) -> Vec<Range<usize>> {
    let mut words = scanned(text, quoting).0;
    let end = words.iter().position(|word| &text[word.clone()] == "--").unwrap_or(words.len());
    words.truncate(end);
    words
}

/// Arguments of the kernel that a text has and another one has not.
pub(super) fn added<'a>(before: &str, after: &'a str) -> Vec<&'a str> {
    let of = |text| words(text, Quoting::Kernel);
    let earlier: Vec<&str> = of(before).into_iter().map(|word| &before[word]).collect();
    of(after).into_iter().map(|word| &after[word]).filter(|word| !earlier.contains(word)).collect()
}

/// Whether a part of it is not for the kernel.
pub(super) fn has_part_for_init(text: &str, quoting: Quoting) -> bool {
    scanned(text, quoting).0.into_iter().any(|word| &text[word] == "--")
}

/// Whether each quote in it has its other end: what is appended would be within it.
pub(super) fn is_closed(text: &str, quoting: Quoting) -> bool {
    scanned(text, quoting).1
}

/// The texts of files with these arguments in their pieces. Those that are not there yet go to the
/// end of one piece, its number last.
pub(super) fn edited(
    texts: &[String],
    pieces: &[Piece],
    arguments: &[PlannedArgument],
    is_right: &dyn Fn(&PlannedArgument, &str) -> bool,
    new_in: usize,
) -> Vec<String> {
    let all: Vec<Word> = pieces
        .iter()
        .enumerate()
        .flat_map(|(number, piece)| words_of(texts, number, piece))
        .collect();
    let text_of = |word: &Word| &texts[pieces[word.piece].file][word.range.clone()];
    let (mut edits, mut new) = (Vec::new(), Vec::new());
    for argument in arguments {
        let mut found: Vec<&Word> =
            all.iter().filter(|word| is_named(text_of(word), argument.name)).collect();
        match found.pop() {
            None => new.push(argument.text.as_str()),
            // One that is there twice is as right as once.
            Some(last) if is_right(argument, text_of(last)) => {
                found.retain(|word| text_of(word) != text_of(last));
            }
            Some(last) => {
                edits.push(Edit {
                    file: pieces[last.piece].file,
                    range: last.range.clone(),
                    to: argument.text.clone(),
                });
            }
        }
        edits.extend(
            found
                .into_iter()
                .map(|word| removal(&texts[pieces[word.piece].file], &pieces[word.piece], word)),
        );
    }
    if !new.is_empty() {
        edits.push(insertion(texts, &pieces[new_in], &new.join(" ")));
    }
    applied(texts, edits)
}

/// Whether a piece has an argument of one of these names. Its file is as it was read.
pub(super) fn has_any(texts: &[String], piece: &Piece, arguments: &[PlannedArgument]) -> bool {
    words_of(texts, 0, piece).into_iter().any(|word| {
        let text = &texts[piece.file][word.range];
        arguments.iter().any(|argument| is_named(text, argument.name))
    })
}

fn words_of(texts: &[String], number: usize, piece: &Piece) -> Vec<Word> {
    let text = &texts[piece.file][piece.range.clone()];
    let at = |word: Range<usize>| Word {
        piece: number,
        range: word.start + piece.range.start..word.end + piece.range.start,
    };
    words(text, piece.quoting).into_iter().map(at).collect()
}

/// Whether an argument has a name: a dash and an underscore in it are the same to the kernel.
fn is_named(argument: &str, name: &str) -> bool {
    argument.split('=').next().is_some_and(|own| own.replace('-', "_") == name.replace('-', "_"))
}

/// Takes an argument away with the space before it, or after it where it is the first.
fn removal(text: &str, piece: &Piece, word: &Word) -> Edit {
    let before = &text[piece.range.start..word.range.start];
    let range = if before.trim_end().is_empty() {
        let after = &text[word.range.end..piece.range.end];
        word.range.start..word.range.end + (after.len() - after.trim_start().len())
    } else {
        piece.range.start + before.trim_end().len()..word.range.end
    };
    Edit { file: piece.file, range, to: String::new() }
}

fn insertion(texts: &[String], piece: &Piece, new: &str) -> Edit {
    let text = &texts[piece.file][piece.range.clone()];
    let last = words(text, piece.quoting).pop();
    let at = piece.range.start + last.as_ref().map_or(0, |word| word.end);
    let is_before_more =
        text[at - piece.range.start..].starts_with(|letter: char| !letter.is_ascii_whitespace());
    let to = format!(
        "{}{new}{}",
        if last.is_some() { " " } else { "" },
        if is_before_more { " " } else { "" }
    );
    if piece.quoting == Quoting::Bare {
        return Edit {
            file: piece.file,
            range: piece.range.clone(),
            to: format!("\"{text}{to}\""),
        };
    }
    Edit { file: piece.file, range: at..at, to }
}

/// The last first, so that what lies before stays where it is.
fn applied(texts: &[String], mut edits: Vec<Edit>) -> Vec<String> {
    let mut texts = texts.to_vec();
    edits.sort_by_key(|edit| (edit.range.start, edit.range.end));
    for Edit { file, range, to } in edits.into_iter().rev() {
        texts[file].replace_range(range, &to);
    }
    texts
}

#[cfg(test)]
#[path = "line_tests.rs"]
mod tests;
