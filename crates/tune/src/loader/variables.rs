// SPDX-License-Identifier: MIT OR Apache-2.0
//! Variables that a shell's file sets: those of plain assignments, with the shell's quotes.
//! Whatever a shell would have to be asked for is refused, with its line.

use super::line::{Quoting, is_closed};
use super::shell::{self, GOES_ON};
use std::ops::Range;

/// A variable that is set, or added to.
pub(super) struct Assignment {
    pub(super) variable: &'static str,
    /// What is between the quotes.
    pub(super) range: Range<usize>,
    pub(super) quoting: Quoting,
    /// Whether what was there before stays.
    pub(super) adds: bool,
}

/// Each assignment of these variables, or the line that is not plain, and why.
pub(super) fn assignments(
    text: &str,
    variables: &[&'static str],
) -> Result<Vec<Assignment>, (usize, &'static str)> {
    let (mut found, mut at) = (Vec::<Assignment>::new(), 0);
    for (number, line) in text.split_inclusive('\n').enumerate() {
        let line_at = at;
        at += line.len();
        let trimmed = line.trim();
        if !trimmed.starts_with('#') && names_one(trimmed, variables) {
            found.push(assignment(line, line_at, variables).map_err(|why| (number + 1, why))?);
        }
    }
    let depths = shell::depths(text)?;
    let line_of = |one: &Assignment| text[..one.range.start].matches('\n').count();
    let is_conditional = |line: &usize| depths.get(*line).is_none_or(|depth| *depth > 0);
    match found.iter().map(line_of).find(is_conditional) {
        Some(line) => Err((line + 1, "this depends on something else")),
        None => Ok(found),
    }
}

/// Whether one of them is named in it, and not only one whose name begins alike.
fn names_one(line: &str, variables: &[&str]) -> bool {
    line.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_')
        .any(|word| variables.contains(&word))
}

const NOT_PLAIN: &str = "this is not a plain assignment";

fn assignment(
    line: &str,
    at: usize,
    variables: &[&'static str],
) -> Result<Assignment, &'static str> {
    let begun = line.trim_start();
    let begun = begun.strip_prefix("export ").map_or(begun, str::trim_start);
    let name_end = begun
        .find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_')
        .ok_or(NOT_PLAIN)?;
    let variable = *variables.iter().find(|name| **name == &begun[..name_end]).ok_or(NOT_PLAIN)?;
    let (is_addition, rest) = match &begun[name_end..] {
        rest if rest.starts_with("+=") => (true, &rest[2..]),
        rest if rest.starts_with('=') => (false, &rest[1..]),
        _ => return Err(NOT_PLAIN),
    };
    let (value, quoting, after) = value(rest)?;
    let after = after.trim_end();
    if !(after.is_empty()
        || after.starts_with(char::is_whitespace) && after.trim_start().starts_with('#'))
    {
        return Err(NOT_PLAIN);
    }
    let text = &rest[value.clone()];
    let adds_itself = quoting == Quoting::WithinShell && refers_only_to(text, variable)?;
    if !is_closed(text, quoting) {
        return Err("a quote in it is not closed");
    }
    let begin = at + line.len() - rest.len();
    Ok(Assignment {
        variable,
        range: begin + value.start..begin + value.end,
        quoting,
        adds: is_addition || adds_itself,
    })
}

/// Where the value lies, how it is quoted, and what follows.
fn value(rest: &str) -> Result<(Range<usize>, Quoting, &str), &'static str> {
    if let Some(text) = rest.strip_prefix('\'') {
        let end = text.find('\'').ok_or(GOES_ON)?;
        return Ok((1..end + 1, Quoting::Kernel, &text[end + 1..]));
    }
    if let Some(text) = rest.strip_prefix('"') {
        let mut is_escaped = false;
        let end = text.find(|letter: char| {
            let is_end = letter == '"' && !is_escaped;
            is_escaped = letter == '\\' && !is_escaped;
            is_end
        });
        let end = end.ok_or(GOES_ON)?;
        return Ok((1..end + 1, Quoting::WithinShell, &text[end + 1..]));
    }
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "_-=,.:/@%+".contains(letter);
    let end = rest.find(|letter: char| !is_plain(letter)).unwrap_or(rest.len());
    Ok((0..end, Quoting::Bare, &rest[end..]))
}

/// Whether a shell would put the variable's own value in; an error where it would put in anything
/// else.
fn refers_only_to(text: &str, variable: &str) -> Result<bool, &'static str> {
    let (mut refers, mut is_escaped) = (false, false);
    for (at, letter) in text.char_indices() {
        if !is_escaped && letter == '`' {
            return Err(FROM_ELSEWHERE);
        }
        if !is_escaped && letter == '$' {
            let rest = &text[at + 1..];
            let name = match rest.strip_prefix('{') {
                Some(rest) => rest.split('}').next().unwrap_or_default(),
                None => rest
                    .split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_')
                    .next()
                    .unwrap_or_default(),
            };
            if name != variable {
                return Err(FROM_ELSEWHERE);
            }
            refers = true;
        }
        is_escaped = letter == '\\' && !is_escaped;
    }
    Ok(refers)
}

const FROM_ELSEWHERE: &str = "a part of it comes from elsewhere";
