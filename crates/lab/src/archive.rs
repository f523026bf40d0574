// SPDX-License-Identifier: MIT OR Apache-2.0
//! Archives in the "newc" format of cpio, which is what a kernel unpacks as its initramfs. Results
//! come out of a guest in the same format.
//!
//! Source of the format: Documentation/driver-api/early-userspace/buffer-format.rst of the kernel.
//! Times and owners are 0 and numbers run from 1, so that equal content gives equal bytes: what a
//! kernel does in the lab depends on all of them.

use std::fmt::Write as _;

const MAGIC: &str = "070701";
const HEADER: usize = 110;
const FIELD: usize = 8;
const TRAILER: &str = "TRAILER!!!";
/// No path in an initramfs of ours or a recording is as long.
const MAX_NAME: usize = 4_096;

const DIRECTORY: u32 = 0o040_755;
const FILE: u32 = 0o100_644;
const PROGRAM: u32 = 0o100_755;
const CHARACTER_DEVICE: u32 = 0o020_600;

/// An archive being written.
#[derive(Debug, Default)]
pub(crate) struct Writer {
    bytes: Vec<u8>,
    entries: u32,
}

impl Writer {
    /// Reserves memory for this many bytes of files and a few headers.
    pub(crate) fn for_about(bytes: usize) -> Self {
        Writer { bytes: Vec::with_capacity(bytes + (16 << 10)), entries: 0 }
    }

    pub(crate) fn directory(&mut self, name: &str) {
        self.entry(name, DIRECTORY, (0, 0), &[]);
    }

    pub(crate) fn file(&mut self, name: &str, content: &[u8]) {
        self.entry(name, FILE, (0, 0), content);
    }

    pub(crate) fn program(&mut self, name: &str, content: &[u8]) {
        self.entry(name, PROGRAM, (0, 0), content);
    }

    /// A character device of these numbers.
    pub(crate) fn device(&mut self, name: &str, major: u32, minor: u32) {
        self.entry(name, CHARACTER_DEVICE, (major, minor), &[]);
    }

    /// The whole, with its end.
    pub(crate) fn finish(mut self) -> Vec<u8> {
        self.entries = 0;
        self.entry(TRAILER, 0, (0, 0), &[]);
        self.bytes
    }

    fn entry(&mut self, name: &str, mode: u32, device: (u32, u32), content: &[u8]) {
        self.entries += 1;
        let length = |bytes: usize| u32::try_from(bytes).unwrap_or(u32::MAX);
        let number = if mode == 0 { 0 } else { self.entries };
        let fields = [
            number,
            mode,
            0,
            0,
            1,
            0,
            length(content.len()),
            0,
            0,
            device.0,
            device.1,
            length(name.len() + 1),
            0,
        ];
        let mut header = MAGIC.to_owned();
        for field in fields {
            let _ = write!(header, "{field:08X}");
        }
        self.bytes.extend_from_slice(header.as_bytes());
        self.bytes.extend_from_slice(name.as_bytes());
        self.bytes.push(0);
        self.pad();
        self.bytes.extend_from_slice(content);
        self.pad();
    }

    fn pad(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }
}

/// Why bytes are no archive.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the archive is damaged at byte {at}: {what}")]
pub struct ArchiveError {
    pub at: usize,
    pub what: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry<'a> {
    /// Its path as written; nothing is promised of it.
    pub name: &'a str,
    /// What is in it.
    pub content: &'a [u8],
}

/// The files of an archive, in order; directories and devices are left out.
///
/// # Errors
/// When it is not an archive or not a whole one.
pub fn files(bytes: &[u8]) -> Result<Vec<Entry<'_>>, ArchiveError> {
    let mut files = Vec::new();
    let mut at = 0;
    loop {
        let fail = |what| ArchiveError { at, what };
        let header = bytes.get(at..at + HEADER).ok_or(fail("it ends before its trailer"))?;
        let header = std::str::from_utf8(header).map_err(|_| fail("there is no header here"))?;
        let fields = header.strip_prefix(MAGIC).ok_or(fail("there is no header here"))?;
        let field = |index: usize| {
            let digits = fields
                .get(index * FIELD..(index + 1) * FIELD)
                .filter(|text| text.bytes().all(|b| b.is_ascii_hexdigit()));
            digits
                .and_then(|digits| usize::from_str_radix(digits, 16).ok())
                .ok_or(fail("a field is not a number"))
        };
        let (mode, size, name_size) = (field(1)?, field(6)?, field(11)?);
        if !(1..=MAX_NAME).contains(&name_size) {
            return Err(fail("a name has an impossible length"));
        }
        let name_at = at + HEADER;
        let name = bytes.get(name_at..name_at + name_size).ok_or(fail("it ends within a name"))?;
        let name = name
            .strip_suffix(&[0])
            .and_then(|name| std::str::from_utf8(name).ok())
            .ok_or(fail("a name is not text"))?;
        if name == TRAILER {
            return Ok(files);
        }
        let content_at = (name_at + name_size).next_multiple_of(4);
        let content = bytes
            .get(content_at..)
            .and_then(|rest| rest.get(..size))
            .ok_or(fail("it ends within a file"))?;
        if mode & 0o170_000 == 0o100_000 {
            files.push(Entry { name, content });
        }
        at = (content_at + size).next_multiple_of(4);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::process::{Command, Stdio};

    fn archive() -> Vec<u8> {
        let mut writer = Writer::default();
        writer.directory("dev");
        writer.device("dev/console", 5, 1);
        writer.program("teiji", b"#!program");
        writer.file("order.json", b"{}");
        writer.finish()
    }

    #[test]
    fn what_was_written_is_read() {
        let bytes = archive();
        let found = files(&bytes).unwrap();
        let file = |name, content| Entry { name, content };
        assert_eq!(found, [file("teiji", b"#!program".as_slice()), file("order.json", b"{}")]);
        assert_eq!(bytes, archive(), "equal content, equal bytes");
    }

    /// GNU cpio, where there is one, reads the same.
    #[test]
    fn another_program_agrees() {
        let spawned = Command::new("cpio")
            .args(["-itv", "--quiet"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn();
        let Ok(mut cpio) = spawned else {
            println!("not compared: there is no cpio on this machine");
            return;
        };
        std::io::Write::write_all(&mut cpio.stdin.take().unwrap(), &archive()).unwrap();
        let listed = String::from_utf8(cpio.wait_with_output().unwrap().stdout).unwrap();
        let lines: Vec<&str> = listed.lines().collect();
        assert_eq!(lines.len(), 4, "{listed}");
        assert!(lines[0].starts_with("drwxr-xr-x") && lines[0].ends_with(" dev"), "{listed}");
        assert!(lines[1].starts_with("crw-------") && lines[1].contains("5,   1"), "{listed}");
        assert!(lines[2].starts_with("-rwxr-xr-x") && lines[2].contains(" 9 "), "{listed}");
    }

    #[test]
    fn cut_anywhere_it_is_an_error() {
        let bytes = archive();
        for length in 0..bytes.len() - 4 {
            assert!(files(&bytes[..length]).is_err(), "cut at {length}");
        }
    }

    proptest! {
        #[test]
        fn any_files_survive(
            contents in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..200), 0..8),
        ) {
            let mut writer = Writer::default();
            for (index, content) in contents.iter().enumerate() {
                writer.file(&format!("file-{index}"), content);
            }
            let bytes = writer.finish();
            let found: Vec<Vec<u8>> =
                files(&bytes).unwrap().into_iter().map(|entry| entry.content.to_vec()).collect();
            prop_assert_eq!(found, contents);
        }

        #[test]
        fn damage_never_panics(at in 0_usize..600, value in any::<u8>()) {
            let mut bytes = archive();
            let at = at % bytes.len();
            bytes[at] = value;
            let _ = files(&bytes);
        }
    }
}
