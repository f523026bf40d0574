// SPDX-License-Identifier: MIT OR Apache-2.0
//! systemd-boot: the entry of the kernel that runs, and the file from which new entries are made.
//!
//! Entries: the Boot Loader Specification, uapi-group.org. Variables of the firmware:
//! systemd.io/BOOT_LOADER_INTERFACE.

use super::error::LoaderError;
use super::grub;
use super::layout::{CommandLine, Layout, Source, names, only_line, text};
use super::line::{self, Piece, Quoting, is_closed};
use host::HostRoot;
use std::ops::Range;

/// New entries are made with this one line.
pub(super) const CMDLINE: &str = "etc/kernel/cmdline";
/// Where the partition of the boot loader is mounted.
pub(super) const MOUNTS: [&str; 3] = ["boot", "efi", "boot/efi"];
/// Which entry was booted, as the boot loader tells.
const SELECTED: &str =
    "sys/firmware/efi/efivars/LoaderEntrySelected-4a67b082-0a4c-41cf-b6c7-440b29bb8c4f";
/// The first bytes of such a variable are its attributes.
const ATTRIBUTES: usize = 4;

/// An entry: its file, its name, and what it says.
struct Entry {
    file: String,
    id: String,
    text: String,
}

/// Whether this machine has it.
pub(super) fn is_here(root: &HostRoot) -> Result<bool, LoaderError> {
    // GRUB makes its menu from such entries too.
    if grub::uses_entries(root) {
        return Ok(false);
    }
    let has_loader = MOUNTS.iter().any(|mount| {
        root.path(&format!("{mount}/EFI/systemd")).exists()
            || root.path(&format!("{mount}/loader/loader.conf")).exists()
    });
    Ok(has_loader || root.path(CMDLINE).exists() || !entries(root)?.is_empty())
}

/// The files, and where in them the arguments stand.
pub(super) fn layout(root: &HostRoot) -> Result<Layout, LoaderError> {
    let mut layout = Layout::default();
    if let Some(entry) = entry_of_kernel(root)? {
        layout.notes.extend(other_default(root, &entry.file));
        add_entry(&mut layout, entry)?;
    }
    if root.path(CMDLINE).exists() {
        // Images have the arguments within themselves.
        layout.run = layout.files.is_empty().then(|| MADE_ANEW.to_owned());
        let source = Source::read(root, CMDLINE)?;
        layout
            .lines
            .push(CommandLine::in_one(layout.files.len(), only_line(CMDLINE, &source.text)?));
        layout.files.push(source);
    }
    if layout.files.is_empty() {
        return Err(LoaderError::Unclear(
            "systemd-boot has no entry here, and there is no /etc/kernel/cmdline".to_owned(),
        ));
    }
    Ok(layout)
}

/// Where the arguments are written, and what is done with them then.
pub(super) fn place(root: &HostRoot) -> &'static str {
    let has_entries = entries(root).is_ok_and(|entries| !entries.is_empty());
    if root.path(CMDLINE).exists() && !has_entries {
        return "/etc/kernel/cmdline (one line), then sudo kernel-install add-all, and reboot";
    }
    "the lines options of the entry that is booted (loader/entries in /boot, /efi or /boot/efi), \
     and /etc/kernel/cmdline for entries to come, then reboot"
}

/// For a system without entries. What it names comes with systemd 256.
const MADE_ANEW: &str = "sudo kernel-install add-all (before systemd 256: sudo kernel-install add \
                         \"$(uname -r)\" IMAGE)";

fn add_entry(layout: &mut Layout, entry: Entry) -> Result<(), LoaderError> {
    let Entry { file, text, .. } = entry;
    let mut source = Source { file, extended: text.clone(), text };
    if options(&source.text).is_empty() {
        source.extend("options \n");
    }
    let ranges = options(&source.extended);
    if ranges.iter().any(|range| !is_closed(&source.extended[range.clone()], Quoting::Kernel)) {
        return Err(LoaderError::Unclear(format!("/{}: a quote in it is not closed", source.file)));
    }
    let pieces: Vec<Piece> = ranges
        .into_iter()
        .map(|range| Piece { file: 0, range, quoting: Quoting::Kernel })
        .collect();
    layout.lines.push(CommandLine { new_in: pieces.len() - 1, pieces });
    layout.files.push(source);
    Ok(())
}

/// Where the arguments stand: lines `options ...`, one after the other.
fn options(text: &str) -> Vec<Range<usize>> {
    let (mut found, mut at) = (Vec::new(), 0);
    for line in text.split_inclusive('\n') {
        let begin = at;
        at += line.len();
        let begun = line.trim_start();
        let Some(rest) = begun.strip_prefix("options").filter(|rest| rest.starts_with([' ', '\t']))
        else {
            continue;
        };
        let rest = &rest[1..];
        found.push(begin + line.len() - rest.len()..begin + line.len());
    }
    found
}

/// Every entry, of all partitions.
fn entries(root: &HostRoot) -> Result<Vec<Entry>, LoaderError> {
    let mut found: Vec<Entry> = Vec::new();
    let mut folders = Vec::new();
    for mount in MOUNTS {
        let folder = format!("{mount}/loader/entries");
        // One may be a link to another.
        match root.path(&folder).canonicalize() {
            Ok(real) if !folders.contains(&real) => folders.push(real),
            Ok(_) => continue,
            Err(_) => {}
        }
        for name in names(root, &folder)? {
            let Some(id) = name.strip_suffix(".conf") else { continue };
            let file = format!("{folder}/{name}");
            let text = text(root, &file)?;
            found.push(Entry { file, id: without_counter(id).to_owned(), text });
        }
    }
    Ok(found)
}

/// Whether entries are made with what such a file says.
pub(super) fn is_source_of_entries(file: &str) -> bool {
    file == CMDLINE || file.ends_with(".conf")
}

/// Entries other than these files that have some of these arguments: such an entry was made since
/// from what was written, or from the arguments of the kernel that ran.
pub(super) fn others_with(
    root: &HostRoot,
    files: &[&str],
    arguments: &[&str],
) -> Result<Vec<LoaderError>, LoaderError> {
    let mut found = Vec::new();
    for Entry { file, text, .. } in
        entries(root)?.into_iter().filter(|entry| !files.contains(&entry.file.as_str()))
    {
        let own: String = options(&text).into_iter().map(|range| &text[range]).collect();
        let mut same = line::added("", &own);
        same.retain(|argument| arguments.contains(argument));
        if !same.is_empty() {
            found.push(LoaderError::InAnotherEntry { file, arguments: same.join(" ") });
        }
    }
    Ok(found)
}

/// `linux+3-1` is `linux` with the tries that it has left and has had.
fn without_counter(id: &str) -> &str {
    let is_counter = |text: &str| {
        !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-')
    };
    id.rsplit_once('+').filter(|(_, counter)| is_counter(counter)).map_or(id, |(id, _)| id)
}

/// The entry that was booted. None where an image was, which has its arguments within.
fn entry_of_kernel(root: &HostRoot) -> Result<Option<Entry>, LoaderError> {
    let mut all = entries(root)?;
    if let Some(selected) = selected(root) {
        let Some(id) = selected.strip_suffix(".conf") else {
            return if root.path(CMDLINE).exists() { Ok(None) } else { Err(is_image(&selected)) };
        };
        if let Some(place) = all.iter().position(|entry| entry.id == without_counter(id)) {
            return Ok(Some(all.swap_remove(place)));
        }
    }
    let release = root.text("proc/sys/kernel/osrelease").unwrap_or_default();
    let of_kernel: Vec<usize> =
        (0..all.len()).filter(|place| is_of(&all[*place].text, release.trim())).collect();
    match (&of_kernel[..], all.len()) {
        ([place], _) => Ok(Some(all.swap_remove(*place))),
        ([], 0) => Ok(None),
        ([], 1) => Ok(all.pop()),
        _ => {
            let files: Vec<String> = all.iter().map(|entry| format!("/{}", entry.file)).collect();
            Err(LoaderError::Unclear(format!(
                "which of these entries was booted is not known: {}",
                files.join(", ")
            )))
        }
    }
}

fn is_image(id: &str) -> LoaderError {
    LoaderError::Unclear(format!(
        "{id} was booted, an image with its arguments within, and there is no /etc/kernel/cmdline \
         for a new one"
    ))
}

/// The name of the entry that was booted, in UTF-16.
fn selected(root: &HostRoot) -> Option<String> {
    let bytes = root.bytes(SELECTED).ok()?;
    let units =
        bytes.get(ATTRIBUTES..)?.chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]]));
    String::from_utf16(&units.take_while(|unit| *unit != 0).collect::<Vec<_>>())
        .ok()
        .filter(|id| !id.is_empty())
}

/// Whether an entry boots the kernel of a release.
fn is_of(text: &str, release: &str) -> bool {
    let value = |key: &str| {
        text.lines()
            .find_map(|line| line.trim_start().strip_prefix(key)?.strip_prefix([' ', '\t']))
            .map(str::trim)
            .unwrap_or_default()
    };
    let image = value("linux");
    let is_named = image.split('/').any(|part| {
        part == release || part.strip_suffix(release).is_some_and(|rest| rest.ends_with('-'))
    });
    !release.is_empty() && (value("version") == release || is_named)
}

/// What is to be known where another entry is booted by default.
fn other_default(root: &HostRoot, file: &str) -> Option<String> {
    let own = file.rsplit('/').next()?.strip_suffix(".conf").map(without_counter)?;
    MOUNTS.iter().find_map(|mount| {
        let path = format!("{mount}/loader/loader.conf");
        let text = root.text(&path).ok()?;
        let value = text
            .lines()
            .find_map(|line| line.trim().strip_prefix("default")?.strip_prefix([' ', '\t']))?
            .trim();
        // A pattern, or the entry that was chosen last.
        let is_name = !value.contains(['*', '?', '[', '@']);
        let is_other = value.strip_suffix(".conf").unwrap_or(value) != own;
        (is_name && is_other).then(|| format!("/{path} boots {value}: choose /{file} in the menu"))
    })
}

#[cfg(test)]
#[path = "entries_tests.rs"]
mod tests;
