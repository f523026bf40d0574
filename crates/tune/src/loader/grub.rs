// SPDX-License-Identifier: MIT OR Apache-2.0
//! GRUB: two variables of a shell, in /etc/default/grub and, where the distribution reads them, in
//! files beside it.
//!
//! Only what is certain is changed: a plain assignment, with the shell's quotes kept. Whatever a
//! shell would have to be asked for is refused, with its line.

use super::error::LoaderError;
use super::layout::{CommandLine, Layout, Source};
use super::line::Piece;
use super::variables::{Assignment, assignments};
use host::HostRoot;

pub(super) const FILE: &str = "etc/default/grub";
const FOLDER: &str = "etc/default/grub.d";
/// Only Debian's and its descendants' `grub-mkconfig` reads the folder, and only they have this.
const UPDATE: &str = "usr/sbin/update-grub";
const ALL: &str = "GRUB_CMDLINE_LINUX";
/// For all entries but those for recovery, after the others.
const DEFAULT: &str = "GRUB_CMDLINE_LINUX_DEFAULT";

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
        all.extend(
            assignments(text, &[ALL, DEFAULT])
                .map_err(unclear)?
                .into_iter()
                .map(|one| (number, one)),
        );
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

#[cfg(test)]
#[path = "grub_tests.rs"]
mod tests;
