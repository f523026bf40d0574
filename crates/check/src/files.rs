// SPDX-License-Identifier: MIT OR Apache-2.0
//! The files of a machine, and those of them that could not be read.

use host::{HostRoot, cpu, regular_file};
use plan::CpuId;
use std::cell::{Cell, RefCell};
use std::io::{self, ErrorKind};

/// Reads files below a root.
pub struct Files<'a> {
    root: &'a HostRoot,
    /// Files and folders that were read.
    reads: Cell<u64>,
    /// Files that are there and could not be read, since this was asked last.
    unreadable: RefCell<Vec<String>>,
}

impl<'a> Files<'a> {
    pub(crate) fn new(root: &'a HostRoot) -> Files<'a> {
        Files { root, reads: Cell::new(0), unreadable: RefCell::default() }
    }

    pub fn root(&self) -> &HostRoot {
        self.root
    }

    /// The text of a file, without what is white around it, where it can be read.
    pub fn text(&self, path: &str) -> Option<String> {
        self.recorded(path, regular_file::read(&self.root.path(path)))
    }

    /// The same of a file that the kernel makes from a process's own memory, such as its command
    /// line.
    pub(crate) fn text_of_process(&self, path: &str) -> Option<String> {
        self.recorded(path, regular_file::read_of_process(&self.root.path(path)))
    }

    fn recorded(&self, path: &str, read: io::Result<Vec<u8>>) -> Option<String> {
        self.reads.set(self.reads.get() + 1);
        match read {
            Ok(bytes) => Some(regular_file::text_of(bytes).trim().to_owned()),
            Err(error) => {
                if !matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) {
                    self.unreadable.borrow_mut().push(format!("/{path}: {error}"));
                }
                None
            }
        }
    }

    /// How many files and folders were read.
    #[cfg(test)]
    pub(crate) fn reads(&self) -> u64 {
        self.reads.get()
    }

    /// Files that could not be read since this was asked last.
    pub(crate) fn take_unreadable(&self) -> Vec<String> {
        self.unreadable.take()
    }

    /// The number in a file.
    pub fn number(&self, path: &str) -> Option<i64> {
        self.text(path)?.parse().ok()
    }

    pub fn exists(&self, path: &str) -> bool {
        self.root.path(path).exists()
    }

    /// Names in a folder, sorted, those with numbers by their number.
    pub fn names(&self, path: &str) -> Vec<String> {
        self.reads.set(self.reads.get() + 1);
        let entries = std::fs::read_dir(self.root.path(path)).into_iter().flatten().flatten();
        let mut names: Vec<String> =
            entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.sort_by_key(|name| {
            (
                name.trim_start_matches(|c: char| !c.is_ascii_digit()).parse::<u64>().ok(),
                name.clone(),
            )
        });
        names
    }

    /// The CPUs of a list in a file.
    pub fn cpus(&self, path: &str) -> Option<Vec<CpuId>> {
        let text = self.text(path)?;
        if matches!(text.as_str(), "" | "(null)") { Some(Vec::new()) } else { cpu::list(&text) }
    }

    /// Whether this process may write to a file.
    pub(crate) fn can_write(&self, path: &str) -> bool {
        rustix::fs::access(self.root.path(path), rustix::fs::Access::WRITE_OK).is_ok()
    }
}
