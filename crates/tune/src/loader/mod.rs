// SPDX-License-Identifier: MIT OR Apache-2.0
//! Writing the kernel's arguments to where the boot loader of this machine has them, and putting
//! the file back.
//!
//! In: the arguments that are planned. Out: files of the boot loader, each replaced as a whole,
//! with a copy beside it and a journal that outlives reboots. Must not touch: other arguments,
//! other entries, and anything that is made from these files. The commands that make it are told,
//! not run.

mod attributes;
mod entries;
mod grub;
mod journal;
mod line;
mod replace;
mod shell;
mod write;

use host::HostRoot;
use host::regular_file;
use line::{Piece, Quoting};
use std::fmt;
use std::io::{self, ErrorKind};
use std::ops::Range;
pub use write::{LoaderFile, LoaderUndo, LoaderWrite};

/// Why nothing was written or put back.
#[derive(Debug, thiserror::Error)]
pub enum LoaderError {
    /// None of those that are known is here.
    #[error(
        "no place known where this machine's boot loader has the kernel's arguments. Looked for \
         /etc/default/grub (GRUB), loader/entries in /boot, /efi and /boot/efi and \
         /etc/kernel/cmdline (systemd-boot), /boot/firmware/cmdline.txt and /boot/cmdline.txt \
         (Raspberry Pi)"
    )]
    NoPlace,
    /// It is not known which of them boots the machine.
    #[error("this machine has several: {}. Name the one that boots it with --place", listed(.0))]
    Several(Vec<LoaderPlace>),
    /// The one that was named is not here.
    #[error("this machine has no {}, but {}", .0.name(), listed(.1))]
    NotHere(LoaderPlace, Vec<LoaderPlace>),
    /// What is there is not certain enough to be changed by a program.
    #[error("{0}. Nothing was written: edit it by hand")]
    Unclear(String),
    /// Another program has to do it here.
    #[error(
        "GRUB takes the arguments from entries here, not from /etc/default/grub. Nothing was \
         written. Run: {0}"
    )]
    Entries(String),
    /// A file that cannot be read or written.
    #[error("cannot {action} /{file}: {source}{}", hint(.source))]
    File {
        action: &'static str,
        /// Without the slash that it begins with.
        file: String,
        source: io::Error,
    },
    /// A link that leads out of the machine whose files these are, or to no file.
    #[error("/{file} {why}. Nothing was written")]
    Elsewhere {
        /// Without the slash that it begins with.
        file: String,
        why: &'static str,
    },
    /// The first text is known, but this is neither that nor what was written.
    #[error(
        "/{file} was changed since teiji wrote it. teiji tune --boot --undo --force puts the \
         first text back. To keep it as it is, remove {journal}"
    )]
    ChangedByOthers {
        /// Without the slash that it begins with.
        file: String,
        journal: String,
    },
    /// An entry that was made of what was written.
    #[error(
        "/{file} has {arguments} too, and teiji did not write it. Take them out by hand, or make \
         the entry anew"
    )]
    InAnotherEntry {
        /// Without the slash that it begins with.
        file: String,
        /// Those that were written elsewhere.
        arguments: String,
    },
    /// Somebody else's, or of a journal that is gone.
    #[error("/{0} is there already, and says something else: move it away. Nothing was written")]
    BackupInTheWay(String),
    /// Another process is at it.
    #[error("teiji tune runs already{}: end it first", super::apply::of_process(.0))]
    Held(String),
    /// Without a journal nothing is written.
    #[error("cannot {action} the journal {path}: {source}{}", hint(.source))]
    Journal { action: &'static str, path: String, source: io::Error },
}

fn listed(places: &[LoaderPlace]) -> String {
    places.iter().map(|place| place.name()).collect::<Vec<_>>().join(", ")
}

fn hint(error: &io::Error) -> &'static str {
    match error.kind() {
        ErrorKind::PermissionDenied => " (it takes root)",
        ErrorKind::ReadOnlyFilesystem => " (mounted read-only)",
        _ => "",
    }
}

impl LoaderError {
    /// Whether another command line is what helps.
    #[must_use]
    pub fn is_usage(&self) -> bool {
        matches!(self, LoaderError::Several(_) | LoaderError::NotHere(..))
    }
}

/// A kind of boot loader whose files can be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoaderPlace {
    /// /etc/default/grub.
    Grub,
    /// Entries, and what new ones are made from.
    SystemdBoot,
    /// cmdline.txt, of a Raspberry Pi.
    CmdlineTxt,
}

impl LoaderPlace {
    pub const ALL: [LoaderPlace; 3] =
        [LoaderPlace::Grub, LoaderPlace::SystemdBoot, LoaderPlace::CmdlineTxt];

    /// As it is named on a command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            LoaderPlace::Grub => "grub",
            LoaderPlace::SystemdBoot => "systemd-boot",
            LoaderPlace::CmdlineTxt => "cmdline.txt",
        }
    }

    fn is_here(self, root: &HostRoot) -> Result<bool, LoaderError> {
        match self {
            LoaderPlace::Grub => Ok(root.path(grub::FILE).exists()),
            LoaderPlace::SystemdBoot => entries::is_here(root),
            LoaderPlace::CmdlineTxt => Ok(cmdline_txt(root).is_some()),
        }
    }

    /// The one that was named, or the only one.
    fn find(root: &HostRoot, named: Option<LoaderPlace>) -> Result<LoaderPlace, LoaderError> {
        let mut here = Vec::new();
        for place in LoaderPlace::ALL {
            if place.is_here(root)? {
                here.push(place);
            }
        }
        match (named, &here[..]) {
            (_, []) => Err(LoaderError::NoPlace),
            (Some(named), here) if here.contains(&named) => Ok(named),
            (Some(named), _) => Err(LoaderError::NotHere(named, here)),
            (None, [only]) => Ok(*only),
            (None, _) => Err(LoaderError::Several(here)),
        }
    }

    fn layout(self, root: &HostRoot) -> Result<Layout, LoaderError> {
        let layout = match self {
            LoaderPlace::Grub => grub::layout(root),
            LoaderPlace::SystemdBoot => entries::layout(root),
            LoaderPlace::CmdlineTxt => cmdline_txt_layout(root),
        }?;
        layout.has_arguments_only()?;
        Ok(layout)
    }
}

impl fmt::Display for LoaderPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Files with command lines in them.
#[derive(Debug, Default)]
struct Layout {
    files: Vec<Source>,
    /// No two in the same file.
    lines: Vec<CommandLine>,
    /// What makes the boot loader take it.
    run: Option<String>,
    notes: Vec<String>,
}

impl Layout {
    /// Refuses a command line that goes on in another piece behind its `--`: that piece is for
    /// init.
    fn has_arguments_only(&self) -> Result<(), LoaderError> {
        let ends_early = |piece: &&Piece| {
            line::has_part_for_init(
                &self.files[piece.file].extended[piece.range.clone()],
                piece.quoting,
            )
        };
        let mut followed = self
            .lines
            .iter()
            .filter_map(|line| line.pieces.split_last())
            .flat_map(|(_, before)| before);
        match followed.find(ends_early) {
            None => Ok(()),
            Some(piece) => {
                let Source { file, extended, .. } = &self.files[piece.file];
                let number = extended[..piece.range.start].matches('\n').count() + 1;
                Err(LoaderError::Unclear(format!(
                    "/{file}, line {number}: what follows its -- goes to init"
                )))
            }
        }
    }
}

/// A file of a boot loader.
#[derive(Debug)]
struct Source {
    file: String,
    text: String,
    /// The same with room for arguments, where it has none.
    extended: String,
}

impl Source {
    fn read(root: &HostRoot, file: &str) -> Result<Source, LoaderError> {
        let text = text(root, file)?;
        Ok(Source { file: file.to_owned(), extended: text.clone(), text })
    }

    fn extend(&mut self, line: &str) {
        if !self.extended.is_empty() && !self.extended.ends_with('\n') {
            self.extended.push('\n');
        }
        self.extended += line;
    }
}

/// What the kernel gets as one.
#[derive(Debug)]
struct CommandLine {
    /// In the order in which the kernel reads them.
    pieces: Vec<Piece>,
    /// The piece that takes what is not there yet.
    new_in: usize,
}

impl CommandLine {
    fn in_one(file: usize, range: Range<usize>) -> CommandLine {
        CommandLine { pieces: vec![Piece { file, range, quoting: Quoting::Kernel }], new_in: 0 }
    }
}

/// The text of a file that is to be changed.
fn text(root: &HostRoot, file: &str) -> Result<String, LoaderError> {
    let path = replace::real_path(root, file)?;
    regular_file::text(&path).map_err(|source| LoaderError::File {
        action: "read",
        file: file.to_owned(),
        source,
    })
}

/// Names in a folder, sorted; none where it is not there.
fn names(root: &HostRoot, folder: &str) -> Result<Vec<String>, LoaderError> {
    let unreadable = |source| LoaderError::File { action: "read", file: folder.to_owned(), source };
    let entries = match std::fs::read_dir(root.path(folder)) {
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Ok(Vec::new());
        }
        entries => entries.map_err(unreadable)?,
    };
    let names = entries
        .map(|entry| entry.map(|entry| entry.file_name()))
        .collect::<io::Result<Vec<_>>>()
        .map_err(unreadable)?;
    let mut names: Vec<String> =
        names.into_iter().filter_map(|name| name.into_string().ok()).collect();
    names.sort();
    Ok(names)
}

/// Where the one line of a file lies.
fn only_line(file: &str, text: &str) -> Result<Range<usize>, LoaderError> {
    let unclear = |why: &str| LoaderError::Unclear(format!("/{file} {why}"));
    let end = text.find('\n').unwrap_or(text.len());
    if !text[end..].trim().is_empty() {
        return Err(unclear("has more than one line"));
    }
    if text.trim().is_empty() {
        return Err(unclear("is empty"));
    }
    if !line::is_closed(&text[..end], Quoting::Kernel) {
        return Err(unclear("has a quote that is not closed"));
    }
    Ok(0..end)
}

/// Where a Raspberry Pi has it. Where it has both, the second is a text that says so.
fn cmdline_txt(root: &HostRoot) -> Option<&'static str> {
    ["boot/firmware/cmdline.txt", "boot/cmdline.txt"]
        .into_iter()
        .find(|file| root.path(file).exists())
}

fn cmdline_txt_layout(root: &HostRoot) -> Result<Layout, LoaderError> {
    let file = cmdline_txt(root).ok_or(LoaderError::NoPlace)?;
    let config = format!("{}config.txt", file.trim_end_matches("cmdline.txt"));
    if root.path(&config).exists() {
        let names_another = |line: &str| match line.trim().split_once('=') {
            Some(("cmdline", value)) => value.trim() != "cmdline.txt",
            Some(("os_prefix", value)) => !value.trim().is_empty(),
            _ => false,
        };
        if let Some(line) = text(root, &config)?.lines().find(|line| names_another(line)) {
            return Err(LoaderError::Unclear(format!(
                "/{config} names another file: {}",
                line.trim()
            )));
        }
    }
    let source = Source::read(root, file)?;
    let line = CommandLine::in_one(0, only_line(file, &source.text)?);
    Ok(Layout { files: vec![source], lines: vec![line], ..Layout::default() })
}

/// Whether a file is one that may be written here: a journal names it, and is obeyed with root's
/// rights.
fn is_known_file(file: &str) -> bool {
    let is_in = |folder: &str, ending: &str| {
        file.strip_prefix(folder).is_some_and(|name| {
            name.ends_with(ending) && !name.contains('/') && !name.starts_with('.')
        })
    };
    [grub::FILE, entries::CMDLINE, "boot/firmware/cmdline.txt", "boot/cmdline.txt"].contains(&file)
        || is_in("etc/default/grub.d/", ".cfg")
        || entries::MOUNTS.iter().any(|mount| is_in(&format!("{mount}/loader/entries/"), ".conf"))
}

#[cfg(test)]
mod tests;
