// SPDX-License-Identifier: MIT OR Apache-2.0
//! The kernel's configuration, from wherever it is: `/proc/config.gz`, `/boot`, the modules' folder, a kernel image, or a file.

use crate::HostRoot;
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};

/// Larger than any kernel, decompressed, bytes.
const LARGEST: u64 = 256 << 20;
/// What stands before the configuration in a kernel image that holds it (`CONFIG_IKCONFIG`), and after it.
const BEGIN: &[u8] = b"IKCFG_ST";

/// A kernel's configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelConfig {
    options: BTreeMap<String, String>,
    source: String,
}

impl KernelConfig {
    /// From the text of a configuration. Lines that are none are left out.
    #[must_use]
    pub fn parse(text: &str, source: &str) -> KernelConfig {
        let line = |line: &str| {
            let line = line.trim();
            if let Some(name) = line.strip_prefix("# CONFIG_") {
                return Some((name.strip_suffix(" is not set")?.to_owned(), "n".to_owned()));
            }
            let (name, value) = line.strip_prefix("CONFIG_")?.split_once('=')?;
            Some((name.to_owned(), value.trim_matches('"').to_owned()))
        };
        KernelConfig { options: text.lines().filter_map(line).collect(), source: source.to_owned() }
    }

    /// From a file: a configuration, one that is compressed by gzip, or a kernel image that holds its own, compressed or not.
    ///
    /// # Errors
    /// When it cannot be read, or holds none.
    pub fn from_file(path: &Path) -> Result<KernelConfig, String> {
        let source = path.display().to_string();
        let bytes = std::fs::read(path).map_err(|error| format!("{source}: {error}"))?;
        let compressed = bytes.starts_with(&GZIP).then(|| gunzip(&bytes)).flatten();
        let text = match compressed.as_deref().unwrap_or(&bytes) {
            image if find(image, BEGIN).is_some() => embedded(image),
            text if std::str::from_utf8(text).is_ok() => Some(text.to_vec()),
            image => payloads(image).find_map(|payload| embedded(&payload)),
        };
        let config = KernelConfig::parse(&String::from_utf8_lossy(&text.unwrap_or_default()), &source);
        if config.options.is_empty() {
            return Err(format!("{source}: it holds no kernel configuration (CONFIG_IKCONFIG)"));
        }
        Ok(config)
    }

    /// The running kernel's, below a root.
    pub(super) fn of_machine(root: &HostRoot) -> Result<KernelConfig, String> {
        let release = std::fs::read_to_string(root.path("proc/sys/kernel/osrelease")).unwrap_or_default();
        let release = release.trim();
        let places = [
            "proc/config.gz".to_owned(),
            format!("boot/config-{release}"),
            format!("lib/modules/{release}/config"),
            format!("lib/modules/{release}/build/.config"),
            format!("usr/lib/modules/{release}/config"),
        ];
        let there = places.iter().map(|place| root.path(place)).find(|path| path.is_file());
        let Some(path) = there else {
            return Err(format!("neither /proc/config.gz nor /boot/config-{release} is there"));
        };
        KernelConfig::from_file(&path)
    }

    /// `y`, `m`, a number or a text; none where it is not set or not known to this kernel.
    pub(super) fn value(&self, option: &str) -> Option<&str> {
        self.options.get(option).map(String::as_str).filter(|value| *value != "n")
    }

    pub(crate) fn has(&self, option: &str) -> bool {
        self.value(option).is_some()
    }

    /// Where it was found.
    pub(super) fn source(&self) -> &str {
        &self.source
    }
}

/// How a payload that is compressed by gzip begins.
const GZIP: [u8; 3] = [0x1f, 0x8b, 0x08];
/// How others begin, and the program that decompresses them.
const COMPRESSIONS: [(&[u8], &[&str]); 5] = [
    (&[0xfd, b'7', b'z', b'X', b'Z', 0], &["xz", "-dcq", "--single-stream"]),
    (&[0x28, 0xb5, 0x2f, 0xfd], &["zstd", "-dcq"]),
    (&[0x02, 0x21, 0x4c, 0x18], &["lz4", "-dcq"]),
    (b"BZh9", &["bzip2", "-dcq"]),
    (&[0x5d, 0, 0, 0], &["xz", "-dcq", "--format=lzma"]),
];

fn find(bytes: &[u8], part: &[u8]) -> Option<usize> {
    bytes.windows(part.len()).position(|window| window == part)
}

/// The configuration within a kernel that is not compressed.
fn embedded(kernel: &[u8]) -> Option<Vec<u8>> {
    gunzip(&kernel[find(kernel, BEGIN)? + BEGIN.len()..])
}

/// Kernels that are compressed within an image, which begins with the code that decompresses them.
fn payloads(image: &[u8]) -> impl Iterator<Item = Vec<u8>> {
    let gzip = find(image, &GZIP).and_then(|place| gunzip(&image[place..]));
    let others = COMPRESSIONS.iter().filter_map(|(begin, command)| decompressed(command, &image[find(image, begin)?..]));
    gzip.into_iter().chain(others)
}

/// By a program, which may complain of what follows the payload.
fn decompressed(command: &[&str], bytes: &[u8]) -> Option<Vec<u8>> {
    let (program, options) = command.split_first()?;
    let mut child =
        Command::new(program).args(options).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().ok()?;
    let (mut input, output) = (child.stdin.take()?, child.stdout.take()?);
    std::thread::scope(|scope| {
        scope.spawn(move || input.write_all(bytes));
        let mut kernel = Vec::new();
        let _ = output.take(LARGEST).read_to_end(&mut kernel);
        let _ = child.kill();
        let _ = child.wait();
        (!kernel.is_empty()).then_some(kernel)
    })
}

fn gunzip(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut text = Vec::new();
    let read = flate2::read::GzDecoder::new(bytes).take(LARGEST).read_to_end(&mut text);
    // Something else may follow in an image.
    (read.is_ok() || !text.is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::GzEncoder;

    const TEXT: &str =
        "#\n# Linux/x86 6.1.0 Kernel Configuration\n#\nCONFIG_HZ=250\n# CONFIG_PREEMPT_RT is not set\nCONFIG_NAME=\"a b\"\n";

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    /// A kernel with its configuration in it, as CONFIG_IKCONFIG lays it.
    fn kernel() -> Vec<u8> {
        [b"code", BEGIN, &gzip(TEXT.as_bytes()), b"IKCFG_ED", b"more code \xff\xfe"].concat()
    }

    #[test]
    fn it_is_read_from_texts_and_from_images() {
        let image = [b"MZ\xff boot code", &gzip(&kernel())[..], b"\xff trailer"].concat();
        for content in [TEXT.as_bytes().to_vec(), gzip(TEXT.as_bytes()), kernel(), gzip(&kernel()), image] {
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("file");
            std::fs::write(&path, &content).unwrap();
            let config = KernelConfig::from_file(&path).unwrap();
            assert_eq!((config.value("HZ"), config.value("NAME")), (Some("250"), Some("a b")));
            assert!(!config.has("PREEMPT_RT"));
        }
    }

    #[test]
    fn what_holds_none_is_refused() {
        for content in [&b""[..], b"nothing", b"MZ\xff\xfe\x1f\x8b\x08 broken", &[0x1f, 0x8b, 0x08, 0xff]] {
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("file");
            std::fs::write(&path, content).unwrap();
            assert!(KernelConfig::from_file(&path).unwrap_err().contains("holds no kernel configuration"));
        }
        assert!(KernelConfig::from_file(Path::new("/nowhere")).unwrap_err().contains("No such file"));
    }
}
