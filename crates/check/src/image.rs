// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a kernel image holds: the kernel that is compressed in it, and names in that one. It is
//! read as it is decompressed, and is never in memory as a whole.
//!
//! Sources: Documentation/arch/x86/boot.rst (`payload_offset`, `payload_length`), and
//! drivers/firmware/efi/libstub/zboot-header.S for kernels that EFI decompresses.

use host::{HostRoot, regular_file};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::fmt;
use std::io::{self, ErrorKind, Read, Write};
use std::ops::Range;
use std::path::PathBuf;
use std::process::{ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};
use system::files::read_up_to;
use system::rights;

/// Larger than any kernel, decompressed, bytes.
pub(crate) const LARGEST: u64 = 256 << 20;
/// Larger than any image that is installed, bytes.
const LARGEST_IMAGE: u64 = 64 << 20;
/// How long a program may take to decompress it.
const MAX_TIME: Duration = Duration::from_secs(20);
/// So much of a kernel is in memory, bytes.
const CHUNK: usize = 256 << 10;
/// No kernel takes a longer command line: more names than fit there are not looked for.
const MAX_NAMES: usize = 1_000;
const MAX_NAME: usize = 64;

/// How a payload that is compressed by gzip begins.
pub(crate) const GZIP: [u8; 3] = [0x1f, 0x8b, 0x08];
/// How others begin, and the program that decompresses them.
const COMPRESSIONS: [(&[u8], &[&str]); 5] = [
    (&[0xfd, b'7', b'z', b'X', b'Z', 0], &["xz", "-dcq", "--single-stream"]),
    (&[0x28, 0xb5, 0x2f, 0xfd], &["zstd", "-dcq"]),
    (&[0x02, 0x21, 0x4c, 0x18], &["lz4", "-dcq"]),
    (b"BZh9", &["bzip2", "-dcq"]),
    (&[0x5d, 0, 0, 0], &["xz", "-dcq", "--format=lzma"]),
];
/// A program that decompresses a kernel and is not installed.
#[derive(Debug)]
pub(crate) struct NotInstalled(pub(crate) &'static str);

impl fmt::Display for NotInstalled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "it takes {} to decompress it, which is not installed", self.0)
    }
}

impl std::error::Error for NotInstalled {}

impl NotInstalled {
    fn package(&self) -> &'static str {
        if self.0 == "xz" { "xz-utils (on Debian and Ubuntu) or xz" } else { self.0 }
    }
}

const NOT_READ: &str = "its kernel is damaged, or compressed otherwise than by gzip, xz, zstd, \
                        lz4, bzip2 or lzma";

/// How the kernel's debugging types begin; where their names are follows. These are names of C.
const BTF: [u8; 3] = [0x9f, 0xeb, 1];
const BTF_HEADER: usize = 24;

/// Kernels that are compressed within an image, which begins with the code that decompresses them:
/// where its header says, or else whatever begins as one.
pub(crate) fn payloads(image: &[u8]) -> Vec<&[u8]> {
    if let Some(place) = payload(image) {
        return vec![&image[place]];
    }
    let begins = [&GZIP[..]].into_iter().chain(COMPRESSIONS.iter().map(|(begin, _)| *begin));
    begins.filter_map(|begin| Some(&image[find(image, begin)?..])).collect()
}

/// Where an image's header says that its kernel is: that of a PC, or of one for EFI.
fn payload(image: &[u8]) -> Option<Range<usize>> {
    // What is not gzip has its size appended.
    let place = |start: usize, length: usize, size: usize| {
        let is_gzip = image.get(start..)?.starts_with(&GZIP);
        let end = start.checked_add(length)?.checked_sub(if is_gzip { 0 } else { size })?;
        image.get(start..end).map(|_| start..end)
    };
    if image.get(4..)?.starts_with(b"zimg") {
        return place(number(image, 8)?, number(image, 12)?, 0);
    }
    if image.get(0x202..)?.starts_with(b"HdrS") {
        let sectors = image.get(0x1f1).map_or(4, |sectors| usize::from(*sectors));
        let setup = (if sectors == 0 { 4 } else { sectors } + 1) * 512;
        return place(setup.checked_add(number(image, 0x248)?)?, number(image, 0x24c)?, 4);
    }
    None
}

fn number(bytes: &[u8], place: usize) -> Option<usize> {
    let field = bytes.get(place..)?.first_chunk()?;
    usize::try_from(u32::from_le_bytes(*field)).ok()
}

pub(crate) fn find(bytes: &[u8], part: &[u8]) -> Option<usize> {
    bytes.windows(part.len()).position(|window| window == part)
}

/// All that these bytes are, decompressed, or as much of it as can be.
pub(crate) fn all_of(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut all = Vec::new();
    // Something else may follow in an image.
    let _ = decompressed(bytes, |kernel| kernel.read_to_end(&mut all).map(|_| ()));
    (!all.is_empty()).then_some(all)
}

/// Gives what these bytes begin with, decompressed, to whoever reads it.
///
/// # Errors
/// When there is nothing to decompress it, when it is damaged, or by what reads it.
fn decompressed(
    bytes: &[u8],
    read: impl FnOnce(&mut dyn Read) -> io::Result<()>,
) -> io::Result<()> {
    if bytes.starts_with(&GZIP) {
        let mut kernel = flate2::read::GzDecoder::new(bytes).take(LARGEST);
        read(&mut kernel)?;
        return within_limit(kernel.limit());
    }
    let found = COMPRESSIONS.iter().find(|(begin, _)| bytes.starts_with(begin));
    let not_read = || io::Error::other(NOT_READ);
    let (program, options) =
        found.and_then(|(_, command)| command.split_first()).ok_or_else(not_read)?;
    rights::may_start_programs().map_err(io::Error::other)?;
    let not_started = |error: io::Error| match error.kind() {
        ErrorKind::NotFound => io::Error::other(NotInstalled(program)),
        _ => io::Error::other(format!("it is decompressed by {program}: {error}")),
    };
    let mut child = Command::new(program)
        .args(options)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(not_started)?;
    let pipes = child.stdin.take().zip(child.stdout.take());
    let (mut input, output) = pipes.ok_or(ErrorKind::BrokenPipe)?;
    std::thread::scope(|scope| {
        scope.spawn(move || input.write_all(bytes));
        let mut kernel = Until { of: output, at: Instant::now() + MAX_TIME }.take(LARGEST);
        let end = read(&mut kernel).and_then(|()| within_limit(kernel.limit()));
        // It has ended by itself where all was read.
        if end.is_err() {
            let _ = child.kill();
        }
        drop(kernel);
        let has_succeeded = child.wait()?.success();
        // It complains of what follows the payload.
        end.and(if has_succeeded { Ok(()) } else { Err(not_read()) })
    })
}

/// Reads what a program writes, until then.
struct Until {
    of: ChildStdout,
    at: Instant,
}

impl Read for Until {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = self.at.saturating_duration_since(Instant::now());
        let left = Timespec::try_from(left).map_err(io::Error::other)?;
        let mut wanted = [PollFd::new(&self.of, PollFlags::IN)];
        if poll(&mut wanted, Some(&left))? == 0 {
            let why = format!("it was not decompressed within {} s", MAX_TIME.as_secs());
            return Err(io::Error::new(ErrorKind::TimedOut, why));
        }
        self.of.read(buffer)
    }
}

fn within_limit(left: u64) -> io::Result<()> {
    if left == 0 { Err(ErrorKind::FileTooLarge.into()) } else { Ok(()) }
}

/// Why what an image's header names is not decompressed, where a program for it is not installed.
pub(crate) fn lacks_program(image: &[u8]) -> Option<String> {
    let error = decompressed(&image[payload(image)?], |_| Ok(())).err()?;
    let program = error.get_ref()?.downcast_ref::<NotInstalled>()?;
    Some(format!("{program}: install {}", program.package()))
}

/// Why the running kernel's image was not read.
pub(crate) struct ImageError {
    pub(crate) reason: String,
    pub(crate) remedy: Option<ImageRemedy>,
}

/// What to do about it.
pub(crate) enum ImageRemedy {
    AsRoot,
    Do(String),
}

impl ImageError {
    pub(crate) fn new(source: &str, error: &io::Error) -> ImageError {
        let program = error.get_ref().and_then(|error| error.downcast_ref::<NotInstalled>());
        let remedy = match (program, error.kind()) {
            (Some(program), _) => Some(ImageRemedy::Do(format!("install {}", program.package()))),
            (None, ErrorKind::PermissionDenied) => Some(ImageRemedy::AsRoot),
            (None, ErrorKind::UnexpectedEof) => {
                Some(ImageRemedy::Do("install this kernel's package again".to_owned()))
            }
            _ => None,
        };
        ImageError { reason: format!("{source}: {error}"), remedy }
    }
}

/// How a kernel holds a name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Held {
    #[default]
    No,
    /// A longer one ends with it, and both may be kept in one.
    AtEnd,
    /// As a string, with or without the `=` of an argument.
    Whole,
}

/// Looks for names in a kernel. A dash and an underscore are the same to it.
struct Search {
    names: Vec<(Vec<u8>, Held)>,
    /// What a name ends with.
    lasts: [bool; 256],
    longest: usize,
}

impl Search {
    fn new(names: impl IntoIterator<Item = String>) -> Search {
        let names: Vec<(Vec<u8>, Held)> = names
            .into_iter()
            .map(|name| (name.replace('-', "_").into_bytes(), Held::No))
            .filter(|(name, _)| !name.is_empty())
            .collect();
        let mut lasts = [false; 256];
        for last in names.iter().filter_map(|(name, _)| name.last()) {
            lasts[usize::from(*last)] = true;
        }
        let longest = names.iter().map(|(name, _)| name.len()).max().unwrap_or_default();
        Search { names, lasts, longest }
    }

    /// Reads to the end.
    fn read(&mut self, kernel: &mut dyn Read) -> io::Result<()> {
        let mut buffer = vec![0; CHUNK.max(4 * self.longest)];
        // What of the buffer is filled, where in the kernel it begins, and which names are of C.
        let (mut filled, mut place, mut of_c) = (0, 0, 0..0);
        loop {
            let read = match kernel.read(&mut buffer[filled..]) {
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                read => read?,
            };
            filled += read;
            let is_end = read == 0;
            let mut at = 0;
            while let Some(length) = buffer[at..filled].iter().position(|byte| *byte == 0) {
                let end = at + length;
                let text = &buffer[at..end];
                if text.ends_with(&BTF) {
                    let header = end - BTF.len();
                    match of_types(&buffer[header..filled]) {
                        Some(names) => {
                            let begin = place + header;
                            of_c =
                                begin.saturating_add(names.start)..begin.saturating_add(names.end);
                        }
                        None if !is_end && filled - header < BTF_HEADER => break,
                        None => {}
                    }
                }
                if length > 1 && !of_c.contains(&(place + at)) {
                    self.see(text);
                }
                at = end + 1;
            }
            if is_end {
                return Ok(());
            }
            // A string may be longer than all of the buffer: only its end counts.
            if at == 0 && filled == buffer.len() {
                at = filled - self.longest - BTF_HEADER;
            }
            buffer.copy_within(at..filled, 0);
            (filled, place) = (filled - at, place + at);
        }
    }

    /// A string of it.
    fn see(&mut self, text: &[u8]) {
        let text = text.strip_suffix(b"=").unwrap_or(text);
        let Some(last) = text.last() else { return };
        // An underscore in a name may be a dash here.
        let last = if *last == b'-' { b'_' } else { *last };
        if !self.lasts[usize::from(last)] {
            return;
        }
        let same = |one: &u8, other: &u8| one == other || *one == b'-' && *other == b'_';
        for (name, held) in &mut self.names {
            let Some(before) = text.len().checked_sub(name.len()) else { continue };
            if text[before..].iter().zip(&*name).all(|(one, other)| same(one, other)) {
                *held = (*held).max(if before == 0 { Held::Whole } else { Held::AtEnd });
            }
        }
    }

    fn held(&self, name: &str) -> Option<Held> {
        let name = name.replace('-', "_").into_bytes();
        self.names.iter().find(|(other, _)| *other == name).map(|(_, held)| *held)
    }
}

/// Where names of C are, of a header of types.
fn of_types(header: &[u8]) -> Option<Range<usize>> {
    let (start, length) = (number(header, 16)?, number(header, 20)?);
    let start = BTF_HEADER.checked_add(start).filter(|_| number(header, 4) == Some(BTF_HEADER))?;
    Some(start..start.checked_add(length)?)
}

/// Names in the image of the running kernel, of those that were looked for.
pub struct ImageNames {
    search: Search,
    source: String,
}

impl ImageNames {
    /// Of the machine below a root; none where no image is there. Only one that has the text of
    /// `/proc/version` is the running kernel's.
    pub(crate) fn of_machine(
        root: &HostRoot,
        names: impl IntoIterator<Item = String>,
    ) -> Option<Result<ImageNames, ImageError>> {
        let text =
            |file| Some(root.text(file).ok()?.trim().to_owned()).filter(|text| !text.is_empty());
        let (release, version) = (text("proc/sys/kernel/osrelease")?, text("proc/version")?);
        let is_name = |letter: char| letter.is_ascii_alphanumeric() || "._-+~".contains(letter);
        if !release.chars().all(is_name) {
            return None;
        }
        let places = [
            format!("boot/vmlinuz-{release}"),
            format!("lib/modules/{release}/vmlinuz"),
            format!("usr/lib/modules/{release}/vmlinuz"),
            format!("boot/vmlinux-{release}"),
            format!("boot/Image-{release}"),
            format!("boot/zImage-{release}"),
            format!("boot/bzImage-{release}"),
        ];
        // What is in a folder that may not be looked into may be there.
        let may_be_there = |path: &PathBuf| match path.metadata() {
            Ok(metadata) => metadata.is_file(),
            Err(error) => error.kind() == ErrorKind::PermissionDenied,
        };
        let path = places.iter().map(|place| root.path(place)).find(may_be_there)?;
        let source = path.display().to_string();
        let names = regular_file::opened(&path)
            .and_then(|file| {
                read_up_to(&file, LARGEST_IMAGE)?.ok_or(ErrorKind::FileTooLarge.into())
            })
            .and_then(|image| ImageNames::from_bytes(&image, &version, names, &source));
        Some(names.map_err(|error| ImageError::new(&source, &error)))
    }

    /// Of an image of the kernel whose `/proc/version` this is.
    ///
    /// # Errors
    /// When it is another's, when it is empty or damaged, or when nothing here decompresses it.
    pub fn from_bytes(
        image: &[u8],
        version: &str,
        names: impl IntoIterator<Item = String>,
        source: &str,
    ) -> io::Result<ImageNames> {
        if image.is_empty() {
            return Err(io::Error::new(ErrorKind::UnexpectedEof, "it is empty"));
        }
        let banner = format!("{}\n", version.trim());
        let names = names.into_iter().filter(|name| name.len() <= MAX_NAME).take(MAX_NAMES);
        let mut search = Search::new(names.chain([banner.clone()]));
        let has_banner = |search: &Search| search.held(&banner) > Some(Held::No);
        if image.starts_with(&GZIP) {
            decompressed(image, |kernel| search.read(kernel))?;
        } else if let Some(place) = payload(image) {
            // The code around it takes arguments too.
            search.read(&mut &image[..place.start])?;
            search.read(&mut &image[place.end..])?;
            decompressed(&image[place], |kernel| search.read(kernel))?;
        } else {
            search.read(&mut &*image)?;
            let mut end = Ok(());
            for payload in payloads(image) {
                if has_banner(&search) {
                    break;
                }
                end = decompressed(payload, |kernel| search.read(kernel));
            }
            end?;
        }
        if has_banner(&search) {
            Ok(ImageNames { search, source: source.to_owned() })
        } else {
            Err(io::Error::other("it is not the image of the kernel that runs"))
        }
    }

    /// Whether the kernel holds a name; none where that is not certain, or was not looked for.
    pub fn holds(&self, name: &str) -> Option<bool> {
        match self.search.held(name)? {
            Held::No => Some(false),
            Held::AtEnd => None,
            Held::Whole => Some(true),
        }
    }

    pub(crate) fn source(&self) -> &str {
        &self.source
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use proptest::prelude::*;

    pub(crate) const VERSION: &str = "Linux version 6.1.0-x (a@b) (gcc 12) #1 SMP 2026-01-01";

    pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    /// A kernel with these strings.
    pub(crate) fn kernel(strings: &[&str]) -> Vec<u8> {
        let version = format!("{VERSION}\n");
        let strings = strings.iter().copied().chain([version.as_str()]);
        strings.flat_map(|text| [b"\0", text.as_bytes()].concat()).chain(*b"\0\xff code").collect()
    }

    /// An image for PCs, with an argument that the code before the kernel takes.
    pub(crate) fn bz_image(payload: &[u8]) -> Vec<u8> {
        let mut image = vec![0xcc; 1_024 + 64];
        image[0x1f1] = 1;
        image[0x202..0x206].copy_from_slice(b"HdrS");
        image[0x248..0x24c].copy_from_slice(&64_u32.to_le_bytes());
        let length = u32::try_from(payload.len()).unwrap();
        image[0x24c..0x250].copy_from_slice(&length.to_le_bytes());
        [&image[..], payload, b"\xcc\0nokaslr\0\x1f\x8b\x08"].concat()
    }

    fn efi_image(payload: &[u8]) -> Vec<u8> {
        let length = u32::try_from(payload.len()).unwrap().to_le_bytes();
        let header =
            [b"MZ\0\0zimg", &32_u32.to_le_bytes()[..], &length, &[0; 16], payload].concat();
        [&header[..], b"size"].concat()
    }

    fn held(image: &[u8], names: &[&str]) -> Result<Vec<Option<bool>>, String> {
        let wanted = names.iter().map(|name| (*name).to_owned());
        let found = ImageNames::from_bytes(image, VERSION, wanted, "image");
        let found = found.map_err(|error| error.to_string())?;
        Ok(names.iter().map(|name| found.holds(name)).collect())
    }

    #[test]
    fn a_program_that_does_not_end_is_not_waited_for() {
        let mut child = Command::new("sleep").arg("100").stdout(Stdio::piped()).spawn().unwrap();
        let mut output = Until { of: child.stdout.take().unwrap(), at: Instant::now() };
        let error = output.read(&mut [0]).unwrap_err();
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(error.to_string(), "it was not decompressed within 20 s");
    }

    #[test]
    fn names_are_found_in_each_kind_of_image() {
        let kernel = kernel(&["isolcpus=", "of-vendor", "workqueue.power_efficient", "xnosmt"]);
        let names = ["isolcpus", "of_vendor", "workqueue.power-efficient", "nosmt", "noht"];
        let expected = Ok(vec![Some(true), Some(true), Some(true), None, Some(false)]);
        let packed = gzip(&kernel);
        for image in [
            kernel.clone(),
            packed.clone(),
            bz_image(&packed),
            efi_image(&packed),
            [b"\x03zImage\0", &packed[..], b"\0trailer"].concat(),
        ] {
            assert_eq!(held(&image, &names), expected);
        }
        assert_eq!(held(&bz_image(&packed), &["nokaslr"]), Ok(vec![Some(true)]));
    }

    /// By the programs that a machine has. The size that an image for PCs has behind it is cut off.
    #[test]
    fn other_compressions_are_read_by_their_programs() {
        let kernel = kernel(&["isolcpus="]);
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("kernel");
        std::fs::write(&path, &kernel).unwrap();
        for command in [&["xz", "-c"][..], &["zstd", "-cq"], &["lz4", "-lcq"], &["bzip2", "-c"]] {
            let made = Command::new(command[0]).args(&command[1..]).arg(&path).output();
            let Ok(packed) = made else { continue };
            let image = bz_image(&[&packed.stdout[..], b"size"].concat());
            let names = ["isolcpus", "noht"];
            assert_eq!(held(&image, &names), Ok(vec![Some(true), Some(false)]), "{command:?}");
            assert_eq!(held(&efi_image(&packed.stdout), &names), held(&image, &names));
        }
    }

    #[test]
    fn of_a_damaged_image_and_of_another_kernels_nothing_is_said() {
        let image = bz_image(&gzip(&kernel(&["isolcpus="])));
        assert!(held(&image, &["isolcpus"]).is_ok());
        for length in [0, 100, 1_000, 1_090, image.len() - 40] {
            assert!(held(&image[..length], &["isolcpus"]).is_err(), "{length}");
        }
        let other = bz_image(&gzip(b"\0isolcpus=\0Linux version 6.1.0-y\n\0"));
        assert_eq!(
            held(&other, &["isolcpus"]),
            Err("it is not the image of the kernel that runs".to_owned())
        );
        let unknown = held(&bz_image(b"\x89LZO"), &["isolcpus"]).unwrap_err();
        assert!(unknown.contains("compressed otherwise"), "{unknown}");
    }

    /// The debugging types have the names of all that C calls so.
    #[test]
    fn names_of_c_are_no_names_of_arguments() {
        let names = b"\0max_cpus\0nosmt\0";
        let length = u32::try_from(names.len()).unwrap().to_le_bytes();
        let [size, types, zero] = [24_u32, 4, 0].map(u32::to_le_bytes);
        let header = [&BTF[..], &[0], &size, &zero, &types, &types, &length, b"\0typ"].concat();
        for before in [0, 10, CHUNK - 30, CHUNK - 20, CHUNK - 10, CHUNK - 1, CHUNK, 3 * CHUNK] {
            let kernel = [&vec![7; before][..], &header, names, &kernel(&["nosmt"])].concat();
            let expected = Ok(vec![Some(false), Some(true)]);
            assert_eq!(held(&kernel, &["max_cpus", "nosmt"]), expected, "{before}");
        }
    }

    #[test]
    fn a_name_is_found_wherever_the_kernel_is_cut() {
        for before in CHUNK - 12..CHUNK + 2 {
            for filler in [0, 7] {
                let kernel = [&vec![filler; before][..], &kernel(&["isolcpus="])].concat();
                assert_eq!(held(&kernel, &["isolcpus"]), Ok(vec![Some(true)]), "{before}");
            }
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_survived(
            at in 0_usize..1_200,
            value in prop::collection::vec(any::<u8>(), 1..8),
        ) {
            let mut image = bz_image(&gzip(&kernel(&["isolcpus="])));
            let end = (at + value.len()).min(image.len());
            let at = at.min(end);
            image[at..end].copy_from_slice(&value[..end - at]);
            let _ = (held(&image, &["isolcpus"]), held(&image[at..], &["isolcpus"]));
        }
    }
}
