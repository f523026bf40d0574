// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reading files below a root, and keeping account of what could not be read.
//!
//! A fact may be missing for two reasons. The machine does not have it (no cpufreq driver, debugfs
//! not mounted): that is how most machines are, and `None` says enough. Or it should be there and
//! could not be read: then the file, the line and the reason are recorded. [`FactReader`]
//! distinguishes the two.

use crate::regular_file;
use model::Unreadable;
use plan::CpuId;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// Larger than any machine Linux runs on; a garbled number must not be taken for a CPU.
const HIGHEST_CPU: u32 = 65_535;

/// The directory below which the machine's files lie: `/`, or what a test laid out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostRoot {
    root: PathBuf,
}

impl HostRoot {
    pub fn system() -> Self {
        Self::at("/")
    }

    /// A directory that stands for a machine's `/`.
    pub fn at(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// Where a file of the machine lies, given its path without the leading slash, such as
    /// `proc/stat`.
    pub fn path(&self, relative: &str) -> PathBuf {
        // An absolute path would replace the root when joined, and a test would read the real
        // machine.
        self.root.join(relative.trim_start_matches('/'))
    }

    /// Whether this is the machine the program runs on, so that system calls speak of it too.
    pub fn is_system(&self) -> bool {
        self.root == Path::new("/")
    }

    /// Whether these are the files of a running kernel, and not copies of them.
    pub fn is_running(&self) -> bool {
        rustix::fs::statfs(self.path("proc"))
            .is_ok_and(|system| system.f_type == rustix::fs::PROC_SUPER_MAGIC)
    }

    /// What a regular file holds. No other kind is opened.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn bytes(&self, relative: &str) -> io::Result<Vec<u8>> {
        regular_file::read(&self.path(relative))
    }

    /// The text of a regular file. Device trees end their strings with NUL.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn text(&self, relative: &str) -> io::Result<String> {
        Ok(regular_file::text_of(self.bytes(relative)?))
    }
}

/// What a parser could not make sense of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// From 1; none where the whole file lacks the item.
    pub line: Option<usize>,
    pub item: String,
    pub error: String,
}

impl Fault {
    pub(crate) fn at(line: usize, item: impl Into<String>, error: impl Into<String>) -> Self {
        Fault { line: Some(line), item: item.into(), error: error.into() }
    }

    pub(crate) fn without_line(item: impl Into<String>, error: impl Into<String>) -> Self {
        Fault { line: None, item: item.into(), error: error.into() }
    }
}

/// Reads the files of a machine for one snapshot, and records what could not be read.
pub(crate) struct FactReader<'a> {
    root: &'a HostRoot,
    pub unreadable: Vec<Unreadable>,
}

impl<'a> FactReader<'a> {
    pub fn new(root: &'a HostRoot) -> Self {
        FactReader { root, unreadable: Vec::new() }
    }

    /// A file that every Linux has.
    pub fn expected(&mut self, relative: &str, item: &str) -> Option<String> {
        self.text(relative, item, |_| false)
    }

    /// A file that many machines do not have.
    pub(crate) fn optional(&mut self, relative: &str, item: &str) -> Option<String> {
        self.text(relative, item, is_absent)
    }

    fn text(
        &mut self,
        relative: &str,
        item: &str,
        is_normal: impl Fn(ErrorKind) -> bool,
    ) -> Option<String> {
        match self.root.text(relative) {
            Ok(text) => return Some(text),
            Err(error) if is_normal(error.kind()) => {}
            Err(error) => self.fault(relative, Fault::without_line(item, error.to_string())),
        }
        None
    }

    /// The value, or none with its fault recorded.
    pub fn record<T>(&mut self, relative: &str, parsed: Result<T, Fault>) -> Option<T> {
        parsed.map_err(|fault| self.fault(relative, fault)).ok()
    }

    /// What is parsed from a file that should be there.
    pub(crate) fn parsed<T>(
        &mut self,
        relative: &str,
        item: &str,
        parse: impl FnOnce(&str) -> Result<T, Fault>,
    ) -> Option<T> {
        let text = self.expected(relative, item)?;
        self.record(relative, parse(&text))
    }

    /// The same of a file whose lines may be wrong each by itself.
    pub(crate) fn lines_of<T>(
        &mut self,
        relative: &str,
        item: &str,
        parse: impl FnOnce(&str, &mut Vec<Fault>) -> T,
    ) -> Option<T> {
        let text = self.expected(relative, item)?;
        let mut faults = Vec::new();
        let parsed = parse(&text, &mut faults);
        faults.into_iter().for_each(|fault| self.fault(relative, fault));
        Some(parsed)
    }

    pub fn fault(&mut self, relative: &str, fault: Fault) {
        let path = self.root.path(relative).display().to_string();
        self.unreadable.push(Unreadable {
            path,
            line: fault.line,
            item: fault.item,
            error: fault.error,
        });
    }
}

fn is_absent(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::NotFound | ErrorKind::NotADirectory)
}

/// A file that holds one number.
pub(crate) fn one_number<T: std::str::FromStr>(text: &str, item: &str) -> Result<T, Fault> {
    let text = text.trim();
    text.parse().map_err(|_| Fault::at(1, item, not_a_number(text)))
}

pub(crate) fn not_a_number(text: &str) -> String {
    // A fault goes into the recording; a megabyte of garbage must not.
    let shown: String = text.chars().take(40).collect();
    format!("'{shown}' is not a number that fits")
}

/// The number behind `cpu` or `CPU`.
pub(crate) fn cpu_number(text: &str) -> Option<CpuId> {
    // `+1` parses as a number and is none of the kernel's.
    if !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    text.parse().ok().filter(|cpu| *cpu <= HIGHEST_CPU).map(CpuId)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_path_escapes_the_root() {
        let root = HostRoot::at("/somewhere");
        assert_eq!(root.path("proc/stat"), Path::new("/somewhere/proc/stat"));
        assert_eq!(root.path("/proc/stat"), Path::new("/somewhere/proc/stat"));
        assert_eq!(HostRoot::system().path("proc/stat"), Path::new("/proc/stat"));
    }

    #[test]
    fn absent_is_a_fault_only_where_it_was_expected() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("file"), "x").unwrap();
        let root = HostRoot::at(dir.path());
        let mut reader = FactReader::new(&root);
        assert_eq!(reader.optional("proc/none", "a"), None);
        assert_eq!(reader.optional("file/below", "a"), None);
        assert_eq!(reader.unreadable, []);
        assert_eq!(reader.expected("proc/none", "an item"), None);
        let [entry] = &reader.unreadable[..] else { panic!("one entry") };
        assert_eq!(entry.path, dir.path().join("proc/none").display().to_string());
        assert_eq!((entry.line, entry.item.as_str()), (None, "an item"));
        assert!(entry.error.contains("No such file"), "{}", entry.error);
    }

    #[test]
    fn a_directory_in_a_files_place_is_a_fault_even_where_it_is_optional() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("governor")).unwrap();
        let root = HostRoot::at(dir.path());
        let mut reader = FactReader::new(&root);
        assert_eq!(reader.optional("governor", "governor"), None);
        assert_eq!(reader.unreadable.len(), 1);
    }

    #[test]
    fn numbers_of_cpus() {
        assert_eq!(cpu_number("12"), Some(CpuId(12)));
        for text in ["", "+1", "-1", "4294967295", "x", "1 "] {
            assert_eq!(cpu_number(text), None, "{text}");
        }
    }
}
