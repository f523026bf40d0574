// SPDX-License-Identifier: MIT OR Apache-2.0
//! Files that were compressed (gz, bz2), and archives (tar): each member is read as a file would
//! be, in memory a buffer at a time. Nothing is written to the disk, and what all of them unpack to
//! is bounded.

use super::{BUFFER, Import, ImportError, import_from};
use bzip2_rs::decoder::{Decoder, ReadState, WriteState};
use flate2::bufread::MultiGzDecoder;
use std::cell::Cell;
use std::io::{self, BufRead, BufReader, ErrorKind, Read};
use std::rc::Rc;

/// Bytes that a file may unpack to, those of archives within it counted too.
pub(super) const MAX_UNPACKED: u64 = 256 << 20;
/// Archives within one another: a member that is compressed, of an archive that is.
const MAX_DEPTH: usize = 3;
/// Members of an archive at most.
const MAX_MEMBERS: usize = 10_000;
/// Bytes of a member's name at most.
const MAX_NAME: u64 = 4_096;
/// How often a decoder of bz2 is told that there is no more.
const MAX_ENDS: u32 = 4;
/// What a tar consists of.
const BLOCK: usize = 512;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Gz,
    Bz2,
    Tar,
}

/// Whether a file that begins so is an archive.
pub(super) fn kind(head: &[u8]) -> Option<Kind> {
    if head.starts_with(&[0x1f, 0x8b, 8]) {
        return Some(Kind::Gz);
    }
    let is_bz2 = head.starts_with(b"BZh") && head.get(4..10) == Some(b"1AY&SY");
    if is_bz2 {
        return Some(Kind::Bz2);
    }
    let block = head.first_chunk::<BLOCK>()?;
    (block[257..].starts_with(b"ustar") && Header::new(block).is_some()).then_some(Kind::Tar)
}

/// Reads what is in it.
pub(super) fn read(
    kind: Kind,
    source: &mut dyn BufRead,
    import: &mut Import<'_>,
) -> Result<(), ImportError> {
    if import.depth >= MAX_DEPTH {
        let why = format!("more than {MAX_DEPTH} archives within one another are not read");
        return Err(ImportError::Whole(why));
    }
    import.depth += 1;
    let left = Rc::clone(&import.unpacked);
    let mut packed = Packed { source, taken: Rc::default() };
    let taken = Some((kind, Rc::clone(&packed.taken)));
    let read = match kind {
        Kind::Gz => {
            import_from(&mut Unpacked::new(MultiGzDecoder::new(packed), left, taken), import)
        }
        Kind::Bz2 => {
            let decoder = Bz2 { decoder: Decoder::new(), source: &mut packed, ends: 0 };
            import_from(&mut Unpacked::new(decoder, left, taken), import)
        }
        Kind::Tar => members(packed.source, import),
    };
    import.depth -= 1;
    read
}

/// How a file that begins so is compressed, where that is not read.
pub(super) fn unread(head: &[u8]) -> Option<&'static str> {
    const BEGINNINGS: [(&[u8], &str); 8] = [
        (&[0xfd, b'7', b'z', b'X', b'Z', 0], "xz"),
        (&[0x28, 0xb5, 0x2f, 0xfd], "zstd"),
        (b"PK\x03\x04", "zip"),
        (&[b'7', b'z', 0xbc, 0xaf, 0x27, 0x1c], "7z"),
        (&[0x04, 0x22, 0x4d, 0x18], "lz4"),
        (b"LZIP", "lzip"),
        (b"Rar!\x1a\x07", "rar"),
        (&[0x1f, 0x9d], "compress (.Z)"),
    ];
    BEGINNINGS.iter().find(|(magic, _)| head.starts_with(magic)).map(|(_, name)| *name)
}

/// What a file looks like in which no output is known that begins so; nothing of a text.
pub(super) fn looks_like(head: &[u8]) -> &'static str {
    /// Objects and arrays within one another that a document of any known program may have.
    const MAX_LEVELS: usize = 128;
    let first = head.iter().find(|byte| !byte.is_ascii_whitespace());
    let levels = || {
        let deeper = |depth: usize, byte: &u8| match byte {
            b'{' | b'[' => depth + 1,
            b'}' | b']' => depth.saturating_sub(1),
            _ => depth,
        };
        let depths = head.iter().scan(0, |depth, byte| {
            *depth = deeper(*depth, byte);
            Some(*depth)
        });
        depths.max().unwrap_or(0)
    };
    match first {
        None => ": it is empty",
        Some(b'{' | b'[') if levels() > MAX_LEVELS => {
            ": it looks like JSON with more than 128 levels, which is not read"
        }
        Some(b'{' | b'[') => ": it looks like JSON, with keys of no known program",
        Some(b'<') => ": it looks like XML, and not like rteval's summary.xml",
        _ if head.contains(&0) => ": it looks like a binary file, and not like samples.raw",
        _ => "",
    }
}

/// What is compressed, and how many bytes of it were taken.
struct Packed<'s> {
    source: &'s mut dyn BufRead,
    taken: Rc<Cell<u64>>,
}

impl Read for Packed<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.source.read(buffer)?;
        self.taken.set(self.taken.get().saturating_add(read as u64));
        Ok(read)
    }
}

impl BufRead for Packed<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.source.fill_buf()
    }

    fn consume(&mut self, amount: usize) {
        self.taken.set(self.taken.get().saturating_add(amount as u64));
        self.source.consume(amount);
    }
}

/// What is unpacked, as much as may be.
struct Unpacked<R> {
    source: R,
    left: Rc<Cell<u64>>,
    /// What it is unpacked from, and how many bytes of that were taken.
    taken: Option<(Kind, Rc<Cell<u64>>)>,
}

impl<R: Read> Unpacked<R> {
    fn new(
        source: R,
        left: Rc<Cell<u64>>,
        taken: Option<(Kind, Rc<Cell<u64>>)>,
    ) -> BufReader<Self> {
        BufReader::with_capacity(BUFFER, Unpacked { source, left, taken })
    }

    /// Says where it was found.
    fn placed(&self, error: io::Error) -> io::Error {
        let Some((kind, taken)) = &self.taken else { return error };
        let what = if *kind == Kind::Gz { "gz" } else { "bz2" };
        let why = format!("the {what} file is damaged before its byte {}: {error}", taken.get());
        io::Error::new(error.kind(), why)
    }
}

impl<R: Read> Read for Unpacked<R> {
    /// Fills the buffer, so that all of it is seen when a file is to be known by its beginning.
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut filled = 0;
        while filled < buffer.len() {
            match self.source.read(&mut buffer[filled..]) {
                Ok(0) => break,
                Ok(read) => filled += read,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(self.placed(error)),
            }
        }
        let left = self.left.get().checked_sub(filled as u64).ok_or_else(|| {
            io::Error::other(format!("it unpacks to more than {} MB", MAX_UNPACKED >> 20))
        })?;
        self.left.set(left);
        Ok(filled)
    }
}

/// What a bz2 unpacks to.
struct Bz2<'s> {
    decoder: Decoder,
    source: &'s mut dyn BufRead,
    /// How often the decoder was told that the source has ended, since it last gave anything. It
    /// asks again at the end of a block and of the file.
    ends: u32,
}

impl Read for Bz2<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.decoder.read(buffer)? {
                ReadState::Read(read) => {
                    self.ends = 0;
                    return Ok(read);
                }
                ReadState::Eof => return Ok(0),
                ReadState::NeedsWrite(_) if self.ends > MAX_ENDS => {
                    return Err(ErrorKind::UnexpectedEof.into());
                }
                ReadState::NeedsWrite(space) => {
                    let packed = self.source.fill_buf()?;
                    let packed = &packed[..packed.len().min(space)];
                    self.ends += u32::from(packed.is_empty());
                    let written = match self.decoder.write(packed)? {
                        WriteState::Written(written) => written,
                        WriteState::NeedsRead => 0,
                    };
                    self.source.consume(written);
                }
            }
        }
    }
}

/// What stands before a member.
struct Header {
    name: String,
    size: u64,
    kind: u8,
}

impl Header {
    /// Reads it, if its check sum is right.
    fn new(block: &[u8; BLOCK]) -> Option<Header> {
        let is_of_sum = |at: usize| (148..156).contains(&at);
        let bytes = block.iter().enumerate();
        let sum: u64 =
            bytes.map(|(at, byte)| u64::from(if is_of_sum(at) { b' ' } else { *byte })).sum();
        if octal(&block[148..156])? != sum {
            return None;
        }
        let (prefix, name) = match block[257..263] == *b"ustar\0" {
            true => (text(&block[345..500]), text(&block[..100])),
            false => (String::new(), text(&block[..100])),
        };
        let name = if prefix.is_empty() { name } else { format!("{prefix}/{name}") };
        Some(Header { name, size: octal(&block[124..136])?, kind: block[156] })
    }
}

/// A number of octal digits, ended by a blank or a zero byte.
fn octal(field: &[u8]) -> Option<u64> {
    let digits = std::str::from_utf8(field).ok()?.trim_matches(['\0', ' ']);
    if digits.is_empty() { Some(0) } else { u64::from_str_radix(digits, 8).ok() }
}

/// A name up to its zero byte, without what would steer a terminal.
fn text(field: &[u8]) -> String {
    let end = field.iter().position(|byte| *byte == 0).unwrap_or(field.len());
    let shown = |letter: char| if letter.is_control() { '?' } else { letter };
    String::from_utf8_lossy(&field[..end]).chars().map(shown).collect()
}

/// Reads the members of a tar.
fn members(source: &mut dyn BufRead, import: &mut Import<'_>) -> Result<(), ImportError> {
    let mut offset = 0_u64;
    let mut long_name = None;
    for number in 0.. {
        let error = |why: String| ImportError::Byte { offset, why };
        let failed = |failed: io::Error| error(format!("it cannot be read: {failed}"));
        let mut block = [0; BLOCK];
        source.read_exact(&mut block).map_err(failed)?;
        if block.iter().all(|byte| *byte == 0) {
            break;
        }
        if number >= MAX_MEMBERS {
            return Err(error(format!(
                "an archive of more than {MAX_MEMBERS} members is not read"
            )));
        }
        let Some(Header { name, size, kind }) = Header::new(&block) else {
            return Err(error("it is no header of a member".to_owned()));
        };
        let mut member = source.take(size);
        match kind {
            // The name of the next, where it is long.
            b'L' => {
                let mut bytes = Vec::new();
                (&mut member).take(MAX_NAME).read_to_end(&mut bytes).map_err(failed)?;
                long_name = Some(text(&bytes));
            }
            0 | b'0' => {
                let name = long_name.take().unwrap_or(name);
                read_member(&name, &mut member, import)?;
            }
            _ => long_name = None,
        }
        io::copy(&mut member, &mut io::sink()).map_err(failed)?;
        if member.limit() > 0 {
            return Err(error("the member is cut off".to_owned()));
        }
        let padded = size.div_ceil(BLOCK as u64).saturating_mul(BLOCK as u64);
        io::copy(&mut (&mut *source).take(padded - size), &mut io::sink()).map_err(failed)?;
        offset = offset.saturating_add(BLOCK as u64).saturating_add(padded);
    }
    Ok(())
}

fn read_member(
    name: &str,
    member: &mut dyn Read,
    import: &mut Import<'_>,
) -> Result<(), ImportError> {
    let outer = import.member.clone();
    import.member = Some(match &outer {
        Some(outer) => format!("{outer}:{name}"),
        None => name.to_owned(),
    });
    import.before.clear();
    let left = Rc::clone(&import.unpacked);
    let read = import_from(&mut Unpacked::new(member, left, None), import);
    import.member = outer;
    read.map_err(|error| match error {
        ImportError::Recording(error) => ImportError::Recording(error),
        error => ImportError::Member { member: name.to_owned(), error: Box::new(error) },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ImportOptions;
    use crate::tests::{figures, of_file};
    use std::io::Write;

    /// A folder with summary.xml, a log, and below it compressed lines and samples.raw.
    const ARCHIVE: &[u8] = include_bytes!("samples/rteval.tar.bz2");

    fn unpacked() -> Vec<u8> {
        let mut tar = Vec::new();
        let source = &mut &*ARCHIVE;
        Bz2 { decoder: Decoder::new(), source, ends: 0 }.read_to_end(&mut tar).unwrap();
        tar
    }

    fn packed(content: &[u8]) -> Vec<u8> {
        let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gz.write_all(content).unwrap();
        gz.finish().unwrap()
    }

    fn error(content: &[u8]) -> String {
        of_file(content, ImportOptions::default()).unwrap_err().to_string()
    }

    #[test]
    fn each_member_that_is_known() {
        let tar = unpacked();
        for content in [ARCHIVE, &tar, &packed(&tar)] {
            let all = of_file(content, ImportOptions::default()).unwrap();
            let of: Vec<(&str, &str)> = all
                .iter()
                .map(|one| {
                    let source = one.document.imported.as_ref().unwrap();
                    (source.format.as_str(), source.file.as_str())
                })
                .collect();
            assert_eq!(
                of,
                [
                    ("jitterdebugger", "output.txt:rteval-20240502-1/logs/jitterdebugger.txt.gz"),
                    ("jitterdebugger-raw", "output.txt:rteval-20240502-1/logs/samples.raw"),
                    ("rteval", "output.txt:rteval-20240502-1/summary.xml"),
                ]
            );
            assert_eq!(figures(&all[2].document)[0].0, 600_000);
        }
        let options = ImportOptions { format: crate::format("rteval"), unit_ns: None };
        assert_eq!(of_file(ARCHIVE, options).unwrap().len(), 1);
    }

    #[test]
    fn a_member_that_is_damaged_is_named() {
        let tar = unpacked();
        let at = tar.windows(8).position(|bytes| bytes == b"</rteval").unwrap();
        let mut wrong = tar.clone();
        wrong[at + 2..at + 8].copy_from_slice(b"rtevil");
        let why = error(&wrong);
        assert!(why.starts_with("rteval-20240502-1/summary.xml: byte "), "{why}");
        let cut = error(&tar[..at]);
        assert!(cut.ends_with("the document ends within an element"), "{cut}");
        let mut header = tar.clone();
        let next = tar.windows(5).rposition(|bytes| bytes == b"ustar").unwrap();
        header[next - 257] ^= 1;
        assert!(error(&header).ends_with(": it is no header of a member"), "{}", error(&header));
    }

    #[test]
    fn what_is_compressed_and_damaged() {
        let gz = packed(&unpacked());
        for (name, content) in [("gz", gz.as_slice()), ("bz2", ARCHIVE)] {
            let half = content.len() / 2;
            let mut wrong = content.to_vec();
            wrong[half..half + 64].fill(0x55);
            for why in [error(&wrong), error(&content[..half])] {
                let (_, at) = why
                    .split_once(&format!("the {name} file is damaged before its byte "))
                    .unwrap_or_else(|| panic!("{why}"));
                let (at, why) = at.split_once(": ").unwrap();
                let at: usize = at.parse().unwrap();
                assert!(at > 0 && at <= content.len() && !why.is_empty(), "{at}: {why}");
            }
        }
    }

    #[test]
    fn how_it_is_compressed_that_is_not_read() {
        let xz = [&[0xfd, b'7', b'z', b'X', b'Z', 0], [7; 90].as_slice()].concat();
        let why = "it is compressed as xz, which is not read: unpack it first";
        assert_eq!(error(&xz), why);
        let others: [(&[u8], &str); 3] =
            [(b"PK\x03\x04xxxx", "zip"), (&[0x28, 0xb5, 0x2f, 0xfd], "zstd"), (b"LZIPx", "lzip")];
        for (content, how) in others {
            assert_eq!(error(content), why.replace("xz", how));
        }
        let mut of_tar = unpacked();
        of_tar.truncate(BLOCK);
        let name = text(&of_tar[..100]);
        let mut header = of_tar;
        header[124..136].copy_from_slice(b"00000000006\0");
        header[156] = b'0';
        header[148..156].fill(b' ');
        let sum: u64 = header.iter().map(|byte| u64::from(*byte)).sum();
        header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        let mut block = [0; BLOCK];
        block[..6].copy_from_slice(&xz[..6]);
        let tar = [&header[..], &block, &[0; BLOCK], &[0; BLOCK]].concat();
        assert_eq!(error(&tar), format!("{name}: line 1: {why}"), "a member by its name");
    }

    /// They were all said to hold nothing that is known.
    #[test]
    fn what_is_not_known_is_said_by_its_looks() {
        let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
        for (content, looks) in [
            (&b" \n\n"[..], "it is empty"),
            (b"{\"a\": [1]}", "it looks like JSON, with keys of no known program"),
            (deep.as_bytes(), "it looks like JSON with more than 128 levels, which is not read"),
            (
                b"<?xml version=\"1.0\"?><html/>",
                "it looks like XML, and not like rteval's summary.xml",
            ),
            (&[7, 0, 0, 0, 1], "it looks like a binary file, and not like samples.raw"),
        ] {
            assert_eq!(error(content), format!("no output of a known format is in it: {looks}"));
        }
        assert_eq!(error(b"Nothing.\n"), "no output of a known format is in it");
    }

    #[test]
    fn what_unpacks_to_too_much_is_refused() {
        let mut line = vec![b'x'; 1 << 20];
        line.push(b'\n');
        let long = error(&packed(&line).repeat(300));
        assert!(long.ends_with("it unpacks to more than 256 MB"), "{long}");
        let mut nested = b"x".to_vec();
        for _ in 0..5 {
            nested = packed(&nested);
        }
        assert_eq!(error(&nested), "more than 3 archives within one another are not read");
    }

    /// Whatever is changed in it, or cut off, reading ends, and ends without a panic.
    #[test]
    fn reading_ends() {
        let tar = unpacked();
        for content in [ARCHIVE, &packed(&tar)] {
            for at in (0..content.len()).step_by(1_999) {
                let _ = of_file(&content[..at], ImportOptions::default());
                let mut wrong = content.to_vec();
                wrong[at] ^= 0x55;
                let _ = of_file(&wrong, ImportOptions::default());
            }
        }
    }
}
