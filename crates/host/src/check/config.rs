// SPDX-License-Identifier: MIT OR Apache-2.0
//! The kernel's configuration, from wherever it is: `/proc/config.gz`, `/boot`, the modules' folder, a kernel image, or a file.

use crate::HostRoot;
use std::collections::BTreeMap;
use std::path::Path;

/// Larger than any kernel's configuration, bytes.
const LARGEST: u64 = 16 << 20;
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

    /// From a file: a configuration, one that is compressed by gzip, or a kernel image that holds its own.
    ///
    /// # Errors
    /// When it cannot be read, or holds none.
    pub fn from_file(path: &Path) -> Result<KernelConfig, String> {
        let source = path.display().to_string();
        let named = |error: std::io::Error| format!("{source}: {error}");
        let bytes = std::fs::read(path).map_err(named)?;
        let text = if bytes.starts_with(&[0x1f, 0x8b]) {
            gunzip(&bytes).ok_or_else(|| format!("{source}: it is not compressed by gzip as it says"))?
        } else if let Some(place) = bytes.windows(BEGIN.len()).position(|part| part == BEGIN) {
            gunzip(&bytes[place + BEGIN.len()..]).ok_or_else(|| format!("{source}: its configuration cannot be decompressed"))?
        } else {
            String::from_utf8_lossy(&bytes).into_owned()
        };
        let config = KernelConfig::parse(&text, &source);
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

    pub(super) fn has(&self, option: &str) -> bool {
        self.value(option).is_some()
    }

    /// Where it was found.
    pub(super) fn source(&self) -> &str {
        &self.source
    }
}

fn gunzip(bytes: &[u8]) -> Option<String> {
    use std::io::Read as _;
    let mut text = Vec::new();
    flate2::read::GzDecoder::new(bytes).take(LARGEST).read_to_end(&mut text).ok()?;
    Some(String::from_utf8_lossy(&text).into_owned())
}
