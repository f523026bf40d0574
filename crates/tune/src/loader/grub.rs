// SPDX-License-Identifier: MIT OR Apache-2.0
//! GRUB: two variables of a shell, in /etc/default/grub and, where the distribution reads them, in
//! files beside it.
//!
//! Only what is certain is changed: a plain assignment, with the shell's quotes kept. Whatever a
//! shell would have to be asked for is refused, with its line.

use super::error::LoaderError;
use super::layout::{CommandLine, Layout, Source};
use super::line::{Piece, Quoting, is_closed};
use super::shell::{self, GOES_ON};
use host::HostRoot;
use std::ops::Range;

pub(super) const FILE: &str = "etc/default/grub";
const FOLDER: &str = "etc/default/grub.d";
/// Only Debian's and its descendants' `grub-mkconfig` reads the folder, and only they have this.
const UPDATE: &str = "usr/sbin/update-grub";
const ALL: &str = "GRUB_CMDLINE_LINUX";
/// For all entries but those for recovery, after the others.
const DEFAULT: &str = "GRUB_CMDLINE_LINUX_DEFAULT";

/// A variable that is set, or added to.
struct Assignment {
    variable: &'static str,
    /// What is between the quotes.
    range: Range<usize>,
    quoting: Quoting,
    /// Whether what was there before stays.
    adds: bool,
}

/// Whether GRUB makes its menu from the entries of the Boot Loader Specification, and not from
/// these variables.
pub(super) fn uses_entries(root: &HostRoot) -> bool {
    let text = root.text(FILE).unwrap_or_default();
    let is = |line: &str| {
        line.trim()
            .strip_prefix("GRUB_ENABLE_BLSCFG=")
            .is_some_and(|value| value.trim_matches(['"', '\'']) == "true")
    };
    text.lines().rev().any(is)
}

/// The files, and where in them the arguments stand.
pub(super) fn layout(root: &HostRoot) -> Result<Layout, LoaderError> {
    let mut files =
        files(root)?.iter().map(|file| Source::read(root, file)).collect::<Result<Vec<_>, _>>()?;
    let mut found = assignments_of(&files)?;
    if found.is_empty() {
        files[0].extend(&format!("{DEFAULT}=\"\"\n"));
        found = assignments_of(&files)?;
    }
    let mut pieces = in_force(&found, ALL);
    let default = in_force(&found, DEFAULT);
    // New ones go where the default entries have theirs, and not to what a package adds to them.
    let new_in = if default.is_empty() { 0 } else { pieces.len() };
    pieces.extend(default);
    Ok(Layout {
        files,
        lines: vec![CommandLine { pieces, new_in }],
        run: Some(run(root).to_owned()),
        notes: Vec::new(),
    })
}

fn files(root: &HostRoot) -> Result<Vec<String>, LoaderError> {
    let mut files = vec![FILE.to_owned()];
    if root.path(UPDATE).exists() {
        let names = super::layout::names(root, FOLDER)?;
        files.extend(
            names
                .iter()
                .filter(|name| name.ends_with(".cfg"))
                .map(|name| format!("{FOLDER}/{name}")),
        );
    }
    Ok(files)
}

/// Where the arguments are written, and what is done with them then.
pub(super) fn place(root: &HostRoot) -> String {
    if uses_entries(root) {
        return "sudo grubby --update-kernel=ALL --args='...' --remove-args='...', then reboot"
            .to_owned();
    }
    format!("{DEFAULT} in /{FILE}, then {}, and reboot", run(root))
}

fn run(root: &HostRoot) -> &'static str {
    if root.path(UPDATE).exists() {
        "sudo update-grub"
    } else if root.path("boot/grub2").exists() {
        "sudo grub2-mkconfig -o /boot/grub2/grub.cfg"
    } else {
        "sudo grub-mkconfig -o /boot/grub/grub.cfg"
    }
}

fn assignments_of(files: &[Source]) -> Result<Vec<(usize, Assignment)>, LoaderError> {
    let mut all = Vec::new();
    for (number, Source { file, extended: text, .. }) in files.iter().enumerate() {
        let unclear = |(line, why): (usize, &str)| {
            LoaderError::Unclear(format!("/{file}, line {line}: {why}"))
        };
        all.extend(assignments(text).map_err(unclear)?.into_iter().map(|one| (number, one)));
    }
    Ok(all)
}

/// What makes up a variable in the end: its last assignment, and what was added since.
fn in_force(found: &[(usize, Assignment)], variable: &str) -> Vec<Piece> {
    let mut pieces = Vec::new();
    for (file, one) in found.iter().filter(|(_, one)| one.variable == variable) {
        if !one.adds {
            pieces.clear();
        }
        pieces.push(Piece { file: *file, range: one.range.clone(), quoting: one.quoting });
    }
    pieces
}

/// Each assignment of the two variables, or the line that is not plain, and why.
fn assignments(text: &str) -> Result<Vec<Assignment>, (usize, &'static str)> {
    let (mut found, mut at) = (Vec::<Assignment>::new(), 0);
    for (number, line) in text.split_inclusive('\n').enumerate() {
        let line_at = at;
        at += line.len();
        let trimmed = line.trim();
        if !trimmed.starts_with('#') && names_a_variable(trimmed) {
            found.push(assignment(line, line_at).map_err(|why| (number + 1, why))?);
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

/// Whether one of the two is named in it, and not only one whose name begins alike.
fn names_a_variable(line: &str) -> bool {
    line.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_')
        .any(|word| word == ALL || word == DEFAULT)
}

const NOT_PLAIN: &str = "this is not a plain assignment";

fn assignment(line: &str, at: usize) -> Result<Assignment, &'static str> {
    let begun = line.trim_start();
    let begun = begun.strip_prefix("export ").map_or(begun, str::trim_start);
    let name_end = begun
        .find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_')
        .ok_or(NOT_PLAIN)?;
    let variable =
        [ALL, DEFAULT].into_iter().find(|name| *name == &begun[..name_end]).ok_or(NOT_PLAIN)?;
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

#[cfg(test)]
#[path = "grub_tests.rs"]
mod tests;
