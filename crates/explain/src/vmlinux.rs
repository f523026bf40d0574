// SPDX-License-Identifier: MIT OR Apache-2.0
//! A kernel's `vmlinux` with debug information: which line of the source an address belongs to.
//!
//! A vmlinux of another build would name wrong lines, and nothing in it says which guest it belongs
//! to. So its functions are compared with those of the guest, one by one.

use crate::symbols::Line;
use addr2line::Context;
use addr2line::gimli::{Dwarf, EndianSlice, LittleEndian, SectionId};
use flate2::read::ZlibDecoder;
use model::{Inlined, Source};
use object::read::elf::ElfFile64;
use object::{
    CompressedFileRange, CompressionFormat, Object, ObjectSection, ObjectSymbol, ReadCache,
    SymbolKind,
};
use std::collections::HashMap;
use std::io::{self, Read, Seek, SeekFrom};

/// The sections that lines and inlined functions are in.
const SECTIONS: [SectionId; 9] = [
    SectionId::DebugAbbrev,
    SectionId::DebugAddr,
    SectionId::DebugAranges,
    SectionId::DebugInfo,
    SectionId::DebugLine,
    SectionId::DebugLineStr,
    SectionId::DebugRanges,
    SectionId::DebugRngLists,
    SectionId::DebugStr,
];
/// Functions by whose files the folder of the source is known, and these files. What is assembled
/// may name it otherwise.
const LANDMARKS: [(&str, &str); 2] =
    [("start_kernel", "init/main.c"), ("__switch_to_asm", "arch/x86/entry/entry_64.S")];

/// A kernel's functions and its debug information, in memory: some 220 MB of Debian's.
pub struct Vmlinux {
    functions: Vec<(u64, String)>,
    sections: HashMap<SectionId, Vec<u8>>,
}

#[derive(Debug, thiserror::Error)]
pub enum VmlinuxError {
    /// Something else: a `vmlinuz`, for example.
    #[error(
        "not a vmlinux: expected an uncompressed kernel for x86_64, an ELF file, as the build \
         leaves it beside its System.map"
    )]
    NotElf,
    /// An ELF file that contradicts itself, or ends early.
    #[error("damaged: {0}")]
    Damaged(String),
    #[error(transparent)]
    Io(#[from] io::Error),
    /// Compressed in a way that is not read.
    #[error(
        "its debug information is compressed with zstd, which is not supported: objcopy \
         --decompress-debug-sections FILE"
    )]
    Compression,
    #[error(
        "no debug information in it: build the kernel with \
         CONFIG_DEBUG_INFO_DWARF_TOOLCHAIN_DEFAULT=y, or use its debug package"
    )]
    NoLines,
    /// Without a symbol table.
    #[error("no symbols in it: it cannot be compared with the guest's kernel")]
    NoSymbols,
    /// Another kernel's.
    #[error(
        "not the guest's kernel: {elsewhere} of {compared} functions have another address, for \
         example {name}: {there:#x} in the file, {here:#x} in the guest"
    )]
    OtherAddresses {
        elsewhere: usize,
        /// Of how many that both have.
        compared: usize,
        name: String,
        there: u64,
        here: u64,
    },
    /// Another kernel's, or not a kernel's at all.
    #[error("not the guest's kernel: of the file's {all} functions the guest has {known}")]
    OtherFunctions {
        all: usize,
        /// Of these in the guest.
        known: usize,
    },
}

impl Vmlinux {
    /// Reads its symbols and its debug information.
    ///
    /// # Errors
    /// When it is none, or lacks either.
    pub fn read(file: impl Read + Seek) -> Result<Self, VmlinuxError> {
        let damaged = |error: object::Error| VmlinuxError::Damaged(error.to_string());
        let cache = ReadCache::new(file);
        let (functions, ranges) = {
            let elf =
                ElfFile64::<LittleEndianElf, _>::parse(&cache).map_err(|_| VmlinuxError::NotElf)?;
            if elf.architecture() != object::Architecture::X86_64 {
                return Err(VmlinuxError::NotElf);
            }
            let mut functions = Vec::new();
            for symbol in elf
                .symbols()
                .filter(|symbol| symbol.kind() == SymbolKind::Text && symbol.is_definition())
            {
                functions.push((symbol.address(), symbol.name().map_err(damaged)?.to_owned()));
            }
            let mut ranges: Vec<(SectionId, CompressedFileRange)> = Vec::new();
            for id in SECTIONS {
                if let Some(section) = elf.section_by_name(id.name()) {
                    ranges.push((id, section.compressed_file_range().map_err(damaged)?));
                }
            }
            (functions, ranges)
        };
        let has = |wanted| ranges.iter().any(|(id, _)| *id == wanted);
        if !has(SectionId::DebugLine) || !has(SectionId::DebugInfo) {
            return Err(VmlinuxError::NoLines);
        }
        if functions.is_empty() {
            return Err(VmlinuxError::NoSymbols);
        }
        let mut file = cache.into_inner();
        let sections: Result<_, VmlinuxError> =
            ranges.into_iter().map(|(id, range)| Ok((id, section(&mut file, &range)?))).collect();
        Ok(Vmlinux { functions, sections: sections? })
    }

    /// Whether it is of the kernel that lists these symbols in `/proc/kallsyms`.
    ///
    /// # Errors
    /// When one function is elsewhere there, or most are missing.
    pub fn check(&self, kallsyms: &str) -> Result<(), VmlinuxError> {
        let mut guest: HashMap<&str, Vec<u64>> = HashMap::new();
        let own = |line: &Line<'_>| line.is_function && !line.is_of_module;
        for line in kallsyms.lines().filter_map(Line::parse).filter(own) {
            guest.entry(line.name).or_default().push(line.address);
        }
        let (mut compared, mut elsewhere) = (0, Vec::new());
        for (there, name) in &self.functions {
            let Some(addresses) = guest.get(name.as_str()) else { continue };
            compared += 1;
            if !addresses.contains(there) {
                elsewhere.push((name, *there, addresses[0]));
            }
        }
        match elsewhere.first() {
            Some((name, there, here)) => Err(VmlinuxError::OtherAddresses {
                elsewhere: elsewhere.len(),
                compared,
                name: (*name).clone(),
                there: *there,
                here: *here,
            }),
            // The guest leaves out a few that the linker made.
            None if compared < self.functions.len() / 2 + 1 => {
                Err(VmlinuxError::OtherFunctions { all: self.functions.len(), known: compared })
            }
            None => Ok(()),
        }
    }

    /// Its lines, to be looked up.
    ///
    /// # Errors
    /// When its debug information cannot be read.
    pub fn lines(&self) -> Result<Lines<'_>, VmlinuxError> {
        let slice = |id: SectionId| {
            EndianSlice::new(self.sections.get(&id).map_or(&[][..], Vec::as_slice), LittleEndian)
        };
        let dwarf = Dwarf::load(|id| Ok::<_, addr2line::gimli::Error>(slice(id)));
        let context = dwarf
            .and_then(Context::from_dwarf)
            .map_err(|error| VmlinuxError::Damaged(error.to_string()))?;
        let mut lines = Lines { context, folders: Vec::new() };
        let folders = LANDMARKS.iter().filter_map(|(function, file)| {
            let (address, _) = self.functions.iter().find(|(_, name)| name == function)?;
            Some(lines.find(*address)?.file.strip_suffix(file)?.to_owned())
        });
        lines.folders = folders.collect();
        Ok(lines)
    }

    /// The addresses of its functions, with their names.
    pub fn functions(&self) -> impl Iterator<Item = (u64, &str)> {
        self.functions.iter().map(|(address, name)| (*address, name.as_str()))
    }
}

/// The byte order of ELF files for x86_64.
type LittleEndianElf = object::LittleEndian;

/// What is in a section, uncompressed.
fn section(
    file: &mut (impl Read + Seek),
    range: &CompressedFileRange,
) -> Result<Vec<u8>, VmlinuxError> {
    file.seek(SeekFrom::Start(range.offset))?;
    let (stored, mut bytes) = (file.take(range.compressed_size), Vec::new());
    match range.format {
        CompressionFormat::None => {
            let mut stored = stored;
            stored.read_to_end(&mut bytes)?
        }
        CompressionFormat::Zlib => {
            ZlibDecoder::new(stored).take(range.uncompressed_size).read_to_end(&mut bytes)?
        }
        _ => return Err(VmlinuxError::Compression),
    };
    if bytes.len() as u64 == range.uncompressed_size {
        Ok(bytes)
    } else {
        Err(VmlinuxError::Damaged("a section ends early".to_owned()))
    }
}

/// The lines of a kernel's source, by address.
pub struct Lines<'a> {
    context: Context<EndianSlice<'a, LittleEndian>>,
    /// The folder of the source, by each of its names. Files are named without it.
    folders: Vec<String>,
}

impl Lines<'_> {
    /// The place in the source of the instruction at an address; none where debug information has
    /// no line for it.
    pub fn find(&self, address: u64) -> Option<Source> {
        // The last of all addresses would overflow in there.
        address.checked_add(1)?;
        let mut frames = self.context.find_frames(address).skip_all_loads().ok()?;
        let mut inlined = Vec::new();
        // Innermost first; the last is the function itself.
        while let Ok(Some(frame)) = frames.next() {
            let function = frame
                .function
                .as_ref()
                .and_then(|name| name.raw_name().ok())
                .unwrap_or_default()
                .into_owned();
            let Some((file, line)) =
                frame.location.and_then(|location| location.file.zip(location.line))
            else {
                continue;
            };
            inlined.push(Inlined { function, file: self.below_the_folder(file), line });
        }
        let Inlined { file, line, .. } = inlined.pop()?;
        Some(Source { file, line, inlined })
    }

    fn below_the_folder(&self, path: &str) -> String {
        let path = without_dots(path);
        let below = self
            .folders
            .iter()
            .find_map(|folder| path.strip_prefix(folder.as_str()).filter(|_| !folder.is_empty()));
        below.map_or_else(|| path.clone(), str::to_owned)
    }
}

/// A path without `.` and `..`, as its words have it.
fn without_dots(path: &str) -> String {
    let mut words: Vec<&str> = Vec::new();
    for word in path.split('/') {
        match word {
            "." => {}
            ".." if words.last().is_some_and(|last| !matches!(*last, "" | "..")) => {
                words.pop();
            }
            word => words.push(word),
        }
    }
    words.join("/")
}
