// SPDX-License-Identifier: MIT OR Apache-2.0
//! A recording without names: of the machine, its users, their programs and files.
//!
//! What decides latency stays: kernel, CPU, drivers, clocks, settings, every figure. All else that
//! may be a name becomes a pseudonym, in its place. Structs are taken apart field by field, what
//! stays with a `_`, so that a new field does not compile before somebody has decided whether it
//! may be sent, and words stay by a list of those that may ([`words`]). In: a document, and the key
//! of the pseudonyms. Out: a document.

mod asked;
mod document;
mod explained;
mod host;
mod kernel;
mod lab;
mod pseudonyms;
mod secrets;
mod text;
mod warning;
mod words;

pub use kernel::Console;
pub use pseudonyms::Pseudonyms;

use crate::{Document, Warning};
use secrets::Secrets;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// Shorter than this a name is a word of any text.
const MIN_LETTERS: usize = 2;

/// Takes the names out of one recording.
pub struct Anonymiser<'k> {
    pseudonyms: &'k Pseudonyms,
    /// What is known to be a name.
    secrets: Secrets,
}

impl<'k> Anonymiser<'k> {
    /// Of the recording with this document, in which it looks up what is a name.
    pub fn new(pseudonyms: &'k Pseudonyms, document: &Document) -> Self {
        let mut anonymiser = Anonymiser { pseudonyms, secrets: Secrets::default() };
        let mut known = BTreeMap::new();
        anonymiser.collect(document, &mut |kind, name| {
            if name.chars().count() >= MIN_LETTERS && name != "teiji" {
                known.entry(name.to_owned()).or_insert_with(|| pseudonyms.of(kind, name));
            }
        });
        anonymiser.secrets = Secrets::new(known);
        anonymiser
    }

    /// Replaces a path, which is shown but leads nowhere.
    fn path(&self, path: &mut PathBuf) {
        *path = self.name("path", &path.to_string_lossy()).into();
    }

    /// What stands for a name.
    fn name(&self, kind: &str, name: &str) -> String {
        if name.is_empty() { String::new() } else { self.pseudonyms.of(kind, name) }
    }

    /// What stands for it, if it is known to be a name.
    fn secret(&self, text: &str) -> Option<&str> {
        self.secrets.of(text)
    }

    /// What is known to be a name because of where it is.
    fn collect(&self, document: &Document, found: &mut dyn FnMut(&str, &str)) {
        let host = &document.host;
        for facts in [Some(&host.before), host.after.as_ref()].into_iter().flatten() {
            facts.hostname.iter().for_each(|name| found("host", name));
        }
        let of_warnings = document.warnings.iter().filter_map(|warning| match warning {
            Warning::OtherWork { processes, .. } => Some(processes),
            _ => None,
        });
        let busiest =
            host.processes.iter().map(|processes| &processes.busiest).chain(of_warnings).flatten();
        busiest
            .filter(|process| !process.kernel_thread)
            .for_each(|process| found("process", &process.name));
        document.run.title.iter().for_each(|title| found("title", title));
        document
            .run
            .loads
            .iter()
            .filter_map(|load| load.command())
            .for_each(|command| found("command", command));
        let of_host = [Some(&host.before), host.after.as_ref()].into_iter().flatten();
        let lines = of_host.filter_map(|facts| facts.kernel_command_line.as_deref());
        lines
            .chain(document.lab.iter().flat_map(lab::kernel_lines))
            .for_each(|line| kernel::hidden(line, found));
        let words = document.command_line.iter().map(PathBuf::from);
        for path in words
            .chain(document.lab.iter().flat_map(lab::paths))
            .filter(|path| path.components().count() > 1)
        {
            found("path", &path.to_string_lossy());
            user_of(&path).into_iter().for_each(|user| found("user", user));
        }
    }
}

/// Replaces each of these texts.
fn each<'t>(texts: impl IntoIterator<Item = &'t mut String>, with: impl Fn(&str) -> String) {
    texts.into_iter().for_each(|text| *text = with(text));
}

/// Replaces the keys of a map.
fn each_key<V>(map: &mut BTreeMap<String, V>, with: impl Fn(&str) -> String) {
    *map = std::mem::take(map).into_iter().map(|(key, value)| (with(&key), value)).collect();
}

/// Whose home a path leads into.
fn user_of(path: &Path) -> Option<&str> {
    path.strip_prefix("/home").ok()?.iter().next().and_then(OsStr::to_str)
}

#[cfg(test)]
mod tests;
