// SPDX-License-Identifier: MIT OR Apache-2.0
//! The kernel's configuration, from wherever it is: `/proc/config.gz`, `/boot`, the modules'
//! folder, a kernel image, or a file.

use super::asked_options::is_asked;
use super::image::{self, GZIP, LARGEST, find};
use super::odd_lines::{OddLines, is_of_older};
use host::HostRoot;
use host::regular_file::{MAX_BYTES, text_of};
use model::kernel_version;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

/// What stands before the configuration in a kernel image that holds it (`CONFIG_IKCONFIG`), and
/// after it.
const BEGIN: &[u8] = b"IKCFG_ST";
/// So much of a file decides whether it is a text, bytes.
const CHUNK: usize = 8 << 10;

/// A kernel's configuration, as far as checks ask for it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KernelConfig {
    options: Vec<(String, String)>,
    /// Version and patch level of the kernel that it is for.
    version: Option<(u32, u32)>,
    source: String,
    /// Lines that say nothing of an option, that say it again, or of one that is unknown.
    odd: Vec<String>,
    /// How many options it has, and how many of them are not known here, where it was looked for.
    options_unknown: Option<(usize, usize)>,
}

impl KernelConfig {
    /// Line by line, so that the whole text is never in memory; with lines that say nothing, if
    /// they are looked for. None where no line is one of a configuration.
    fn read(mut text: impl BufRead, source: &str, is_checked: bool) -> Option<KernelConfig> {
        let (mut config, mut has_options) =
            (KernelConfig { source: source.to_owned(), ..KernelConfig::default() }, false);
        let (mut line, mut odd) = (Vec::new(), OddLines::default());
        while matches!(text.read_until(b'\n', &mut line), Ok(1..)) {
            let text = text_of(line);
            has_options |= config.add(text.trim_ascii());
            if is_checked {
                odd.see(text.trim_ascii(), config.version);
            }
            line = text.into_bytes();
            line.clear();
        }
        config.options_unknown = is_checked.then(|| odd.options());
        config.odd = odd.said();
        has_options.then_some(config)
    }

    /// A line. Whether it says something of an option.
    fn add(&mut self, line: &str) -> bool {
        if let Some(name) = line.strip_prefix("# CONFIG_") {
            return name.strip_suffix(" is not set").inspect(|name| self.set(name, "n")).is_some();
        }
        if let Some((_, version)) =
            line.strip_prefix("# Linux/").and_then(|title| title.split_once(' '))
        {
            self.version = self.version.or_else(|| kernel_version(version));
        }
        let Some((name, value)) =
            line.strip_prefix("CONFIG_").and_then(|line| line.split_once('='))
        else {
            return false;
        };
        self.set(name, value.trim_matches('"'));
        true
    }

    fn set(&mut self, option: &str, value: &str) {
        if !is_asked(option) || is_of_older(option, self.version) {
            return;
        }
        // The last of several lines counts.
        self.options.retain(|(name, _)| name != option);
        // `=n` is written by hand, before the kernel's own tools see it.
        if value != "n" {
            self.options.push((option.to_owned(), value.to_owned()));
        }
    }

    /// From a file: a configuration, one that is compressed by gzip, or a kernel image that holds
    /// its own, compressed or not.
    ///
    /// # Errors
    /// When it cannot be read, or holds none.
    pub fn from_file(path: &Path) -> Result<KernelConfig, String> {
        let source = path.display().to_string();
        let mut bytes = Vec::new();
        File::open(path)
            .and_then(|file| file.take(LARGEST).read_to_end(&mut bytes))
            .map_err(|error| format!("{source}: {error}"))?;
        let (config, reason) = match from_bytes(&bytes, &source, true) {
            None => (
                from_image(&bytes, &source),
                "it holds no kernel configuration: an image has one where it was built with \
                 CONFIG_IKCONFIG",
            ),
            Some(config) if bytes.is_empty() => {
                (config, "it is empty, and holds no kernel configuration")
            }
            Some(config) => (config, NO_LINE),
        };
        config.ok_or_else(|| {
            let lacking = image::lacks_program(&bytes);
            format!("{source}: {}", lacking.as_deref().unwrap_or(reason))
        })
    }

    /// The running kernel's, below a root. The kernel's own tools made it, and misspell nothing.
    pub(crate) fn of_machine(root: &HostRoot) -> Result<KernelConfig, String> {
        let release = root.text("proc/sys/kernel/osrelease").unwrap_or_default();
        let release = release.trim();
        let places = [
            "proc/config.gz".to_owned(),
            format!("boot/config-{release}"),
            format!("lib/modules/{release}/config"),
            format!("lib/modules/{release}/build/.config"),
            format!("usr/lib/modules/{release}/config"),
        ];
        let there = places.iter().find(|place| root.path(place).is_file());
        let Some(place) = there else {
            return Err(format!("neither /proc/config.gz nor /boot/config-{release} is there"));
        };
        let source = root.path(place).display().to_string();
        let bytes = root.bytes(place).map_err(|error| format!("{source}: {error}"))?;
        let config = from_bytes(&bytes, &source, false).flatten();
        config.ok_or_else(|| format!("{source}: {NO_LINE}"))
    }

    /// `y`, `m`, a number or a text; none where it is not set or not known to this kernel.
    pub(crate) fn value(&self, option: &str) -> Option<&str> {
        debug_assert!(is_asked(option), "{option} is asked for and not kept");
        self.options.iter().find(|(name, _)| name == option).map(|(_, value)| value.as_str())
    }

    pub fn has(&self, option: &str) -> bool {
        self.value(option).is_some()
    }

    /// Version and patch level of the kernel that it is for, where it says so.
    pub(crate) fn version(&self) -> Option<(u32, u32)> {
        self.version
    }

    /// What is odd about lines of it.
    pub(crate) fn odd(&self) -> &[String] {
        &self.odd
    }

    /// How many options it has, and how many of them are not known here, where it was looked for.
    pub(crate) fn options_unknown(&self) -> Option<(usize, usize)> {
        self.options_unknown
    }

    pub(crate) fn source(&self) -> &str {
        &self.source
    }
}

const NO_LINE: &str = "it holds no kernel configuration: it has no line such as CONFIG_HZ=250";

/// From a text that may be compressed. None where it is no text, which may be an image. A text
/// without a configuration gives `Some(None)`.
#[expect(clippy::option_option, reason = "whether it is a text, and whether it is a configuration")]
fn from_bytes(bytes: &[u8], source: &str, is_checked: bool) -> Option<Option<KernelConfig>> {
    let file: Box<dyn Read> = if bytes.starts_with(&GZIP) {
        Box::new(flate2::read::GzDecoder::new(bytes))
    } else {
        Box::new(bytes)
    };
    let mut text = BufReader::with_capacity(CHUNK, file.take(MAX_BYTES));
    let begin = text.fill_buf().ok()?;
    let is_text = !begin.contains(&0)
        && std::str::from_utf8(begin).map_or_else(|error| error.error_len().is_none(), |_| true);
    is_text.then(|| KernelConfig::read(text, source, is_checked))
}

fn from_image(bytes: &[u8], source: &str) -> Option<KernelConfig> {
    let decompressed = bytes.starts_with(&GZIP).then(|| image::all_of(bytes)).flatten();
    let image = decompressed.as_deref().unwrap_or(bytes);
    let in_payload = |payload: &[u8]| embedded(&image::all_of(payload)?);
    let text =
        embedded(image).or_else(|| image::payloads(image).into_iter().find_map(in_payload))?;
    KernelConfig::read(text.as_slice(), source, true)
}

/// The configuration within a kernel that is not compressed.
fn embedded(kernel: &[u8]) -> Option<Vec<u8>> {
    image::all_of(&kernel[find(kernel, BEGIN)? + BEGIN.len()..])
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use std::io::Write;

    const TEXT: &str = "#\n# Linux/x86 6.1.0 Kernel Configuration\n#\nCONFIG_HZ=250\n# \
                        CONFIG_PREEMPT_RT is not set\nCONFIG_LOCALVERSION=\"a \
                        b\"\nCONFIG_KASAN=n\nCONFIG_KSM=y\n";

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
        for content in
            [TEXT.as_bytes().to_vec(), gzip(TEXT.as_bytes()), kernel(), gzip(&kernel()), image]
        {
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("file");
            std::fs::write(&path, &content).unwrap();
            let config = KernelConfig::from_file(&path).unwrap();
            assert_eq!(
                (config.value("HZ"), config.value("KSM"), config.version()),
                (Some("250"), Some("y"), Some((6, 1)))
            );
            assert!(!config.has("PREEMPT_RT") && !config.has("KASAN"));
            assert_eq!(config.options.len(), 2, "only what checks ask for: {config:?}");
        }
    }

    /// As somebody leaves it who edits it by hand.
    #[test]
    fn the_last_line_of_an_option_counts() {
        let read = |text: &str| KernelConfig::read(text.as_bytes(), "", true).unwrap();
        assert!(!read("CONFIG_KSM=y\nCONFIG_KSM=n\n").has("KSM"));
        assert!(!read("CONFIG_KSM=y\n# CONFIG_KSM is not set\n").has("KSM"));
        assert_eq!(read("CONFIG_HZ=100\nCONFIG_HZ=1000\n").value("HZ"), Some("1000"));
    }

    #[test]
    fn what_holds_none_is_refused() {
        for content in
            [&b""[..], b"nothing", b"MZ\xff\xfe\x1f\x8b\x08 broken", &[0x1f, 0x8b, 0x08, 0xff]]
        {
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("file");
            std::fs::write(&path, content).unwrap();
            assert!(
                KernelConfig::from_file(&path)
                    .unwrap_err()
                    .contains("holds no kernel configuration")
            );
        }
        assert!(
            KernelConfig::from_file(Path::new("/nowhere")).unwrap_err().contains("No such file")
        );
    }
}
