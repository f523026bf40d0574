// SPDX-License-Identifier: MIT OR Apache-2.0
//! The files of a boot loader that have command lines in them.

use super::error::LoaderError;
use super::line::{self, Piece, Quoting};
use super::replace;
use host::{HostRoot, regular_file};
use std::io::{self, ErrorKind};
use std::ops::Range;

/// Files with command lines in them.
#[derive(Debug, Default)]
pub(super) struct Layout {
    pub(super) files: Vec<Source>,
    /// No two in the same file.
    pub(super) lines: Vec<CommandLine>,
    /// What makes the boot loader take it.
    pub(super) run: Option<String>,
    pub(super) notes: Vec<String>,
}

impl Layout {
    /// Refuses a command line that goes on in another piece behind its `--`: that piece is for
    /// init.
    pub(super) fn has_arguments_only(&self) -> Result<(), LoaderError> {
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
pub(super) struct Source {
    pub(super) file: String,
    pub(super) text: String,
    /// The same with room for arguments, where it has none.
    pub(super) extended: String,
}

impl Source {
    pub(super) fn read(root: &HostRoot, file: &str) -> Result<Source, LoaderError> {
        let text = text(root, file)?;
        Ok(Source { file: file.to_owned(), extended: text.clone(), text })
    }

    pub(super) fn extend(&mut self, line: &str) {
        if !self.extended.is_empty() && !self.extended.ends_with('\n') {
            self.extended.push('\n');
        }
        self.extended += line;
    }
}

/// What the kernel gets as one.
#[derive(Debug)]
pub(super) struct CommandLine {
    /// In the order in which the kernel reads them.
    pub(super) pieces: Vec<Piece>,
    /// The piece that takes what is not there yet.
    pub(super) new_in: usize,
}

impl CommandLine {
    pub(super) fn in_one(file: usize, range: Range<usize>) -> CommandLine {
        CommandLine { pieces: vec![Piece { file, range, quoting: Quoting::Kernel }], new_in: 0 }
    }

    /// The same in the file of this number.
    pub(super) fn in_file(mut self, file: usize) -> CommandLine {
        self.pieces.iter_mut().for_each(|piece| piece.file = file);
        self
    }
}

/// The text of a file that is to be changed.
pub(super) fn text(root: &HostRoot, file: &str) -> Result<String, LoaderError> {
    let path = replace::real_path(root, file)?;
    regular_file::text(&path).map_err(LoaderError::file("read", file))
}

/// Names in a folder, sorted; none where it is not there.
pub(super) fn names(root: &HostRoot, folder: &str) -> Result<Vec<String>, LoaderError> {
    let unreadable = LoaderError::file("read", folder);
    let entries = match std::fs::read_dir(root.path(folder)) {
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Ok(Vec::new());
        }
        entries => entries.map_err(&unreadable)?,
    };
    let names = entries
        .map(|entry| entry.map(|entry| entry.file_name()))
        .collect::<io::Result<Vec<_>>>()
        .map_err(&unreadable)?;
    let mut names: Vec<String> =
        names.into_iter().filter_map(|name| name.into_string().ok()).collect();
    names.sort();
    Ok(names)
}

/// Where the one line of a file lies.
pub(super) fn only_line(file: &str, text: &str) -> Result<Range<usize>, LoaderError> {
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
