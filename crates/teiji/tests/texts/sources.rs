// SPDX-License-Identifier: MIT OR Apache-2.0
//! The sources as tests of texts read them: files of a folder, and the strings and spans in them.

use std::fs;
use std::path::{Path, PathBuf};

/// Every file of this folder, or the file itself, with one of these extensions.
pub fn files_of(path: &Path, extensions: &[&str]) -> Vec<PathBuf> {
    if path.is_dir() {
        let mut entries: Vec<PathBuf> = fs::read_dir(path)
            .expect("a folder of the repository")
            .flatten()
            .map(|entry| entry.path())
            .collect();
        entries.sort();
        return entries.iter().flat_map(|entry| files_of(entry, extensions)).collect();
    }
    let is_one =
        path.extension().is_some_and(|found| extensions.iter().any(|wanted| *wanted == found));
    is_one.then(|| path.to_owned()).into_iter().collect()
}

pub fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// What is between backquotes.
pub fn spans(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// The string literals of a Rust source before its unit tests, each on a line of its own, continued
/// lines joined as the compiler does.
pub fn strings(source: &str) -> String {
    let source = source.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
    let mut out = String::new();
    let mut rest = source;
    while let Some(at) = rest.find(['"', '/', '\'']) {
        let behind = &rest[at..];
        rest = if behind.starts_with("//") {
            behind.find('\n').map_or("", |end| &behind[end..])
        } else if behind.starts_with('"') {
            let raw = rest[..at].ends_with("r#");
            let end = if raw {
                behind.find("\"#").unwrap_or(behind.len())
            } else {
                end_of_string(behind)
            };
            let mut lines = behind[1..end].split("\\\n");
            out += lines.next().unwrap_or_default();
            lines.for_each(|line| out += line.trim_start());
            out.push('\n');
            behind.get(end + 1..).unwrap_or_default()
        } else if behind.starts_with("'\"'") || behind.starts_with("'\\\"'") {
            &behind[if behind.starts_with("'\"'") { 3 } else { 4 }..]
        } else {
            &behind[1..]
        };
    }
    out
}

/// Where the quote is that ends the string that begins here.
fn end_of_string(text: &str) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            '"' if !escaped => return at,
            '\\' => escaped = !escaped,
            _ => escaped = false,
        }
    }
    text.len()
}
