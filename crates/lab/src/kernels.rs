// SPDX-License-Identifier: MIT OR Apache-2.0
//! Kernels to boot: what they are called, and what of them lies in the user's cache.
//!
//! ```text
//! ~/.cache/teiji/kernels/debian/6.1.0-56-rt-amd64/   vmlinuz  config  modules/  dtbs/
//! ~/.cache/teiji/kernels/debian/rt-amd64             a link to the one that was newest
//!                                                    when last looked for
//! ```

use crate::cache::user_cache;
use crate::file_error::FileError;
use crate::image::{self, ImageError};
use plan::Machine;
use std::cmp::Ordering;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::{fmt, fs};

/// A family of Debian's kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flavour {
    /// As in the package's name.
    pub name: &'static str,
    /// Debian's name of the architecture.
    pub architecture: &'static str,
    /// The machine it boots on unless another is asked for.
    pub machine: Machine,
}

/// The flavours the lab knows.
pub const FLAVOURS: [Flavour; 7] = [
    Flavour { name: "amd64", architecture: "amd64", machine: Machine::X86_64 },
    Flavour { name: "rt-amd64", architecture: "amd64", machine: Machine::X86_64 },
    Flavour { name: "cloud-amd64", architecture: "amd64", machine: Machine::X86_64 },
    Flavour { name: "arm64", architecture: "arm64", machine: Machine::Aarch64 },
    Flavour { name: "rt-arm64", architecture: "arm64", machine: Machine::Aarch64 },
    Flavour { name: "armmp", architecture: "armhf", machine: Machine::Armv7 },
    Flavour { name: "rt-armmp", architecture: "armhf", machine: Machine::Armv7 },
];

/// A kernel as written on the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KernelName {
    /// `debian:rt-amd64` or `debian:rt-amd64=6.1.0-56`.
    Debian {
        flavour: Flavour,
        /// The version, or the beginning of it.
        version: Option<String>,
    },
    Path(PathBuf),
}

/// Why a kernel was not found.
#[derive(Debug, thiserror::Error)]
pub enum KernelError {
    /// Not a name.
    #[error("unknown kernel '{0}': {expected}", expected = expected(.0))]
    Name(String),
    /// A path at which no kernel can be read.
    #[error(transparent)]
    Path(FileError),
    /// No place for a cache.
    #[error("cannot locate the kernel cache: set XDG_CACHE_HOME or HOME")]
    NoCache,
    #[error(transparent)]
    File(#[from] FileError),
    /// A kernel that lacks what the lab needs.
    #[error("the kernel {} was built without {option}: {why}", image.display())]
    Lacks {
        image: PathBuf,
        option: &'static str,
        /// What does not work then.
        why: &'static str,
    },
    /// A machine whose device tree the kernel does not bring along.
    #[error(
        "the machine {machine} needs a device tree, and there is no {file} with the kernel \
         {name}: give it with --dtb FILE"
    )]
    NoDeviceTree { machine: Machine, file: &'static str, name: String },
    #[error("cannot get {name}: {why}")]
    Fetch {
        name: String,
        /// What was tried and what came of it.
        why: String,
    },
    /// The image is none, or not for this machine.
    #[error(transparent)]
    Image(#[from] ImageError),
}

impl KernelError {
    /// Whether what was named is at fault, and not the kernel or this machine.
    pub const fn is_bad_input(&self) -> bool {
        matches!(self, KernelError::Name(_) | KernelError::Path(_))
    }
}

/// How a kernel is written; of a flavour alone, that one.
fn expected(name: &str) -> String {
    let flavours = FLAVOURS.map(|flavour| flavour.name);
    if flavours.contains(&name) {
        return format!("did you mean debian:{name}?");
    }
    format!(
        "expected debian:FLAVOUR, debian:FLAVOUR=VERSION or the path of an image; the flavours \
         are {}",
        flavours.join(", ")
    )
}

impl FromStr for KernelName {
    type Err = KernelError;

    fn from_str(text: &str) -> Result<Self, KernelError> {
        let wrong = || KernelError::Name(text.to_owned());
        let Some(debian) = text.strip_prefix("debian:") else {
            // Whatever has a colon but no slash was meant to be a distribution's.
            return if text.is_empty() || (text.contains(':') && !text.contains('/')) {
                Err(wrong())
            } else {
                Ok(KernelName::Path(PathBuf::from(text)))
            };
        };
        let (flavour, version) = debian
            .split_once('=')
            .map_or((debian, None), |(flavour, version)| (flavour, Some(version)));
        let flavour = FLAVOURS.into_iter().find(|known| known.name == flavour).ok_or_else(wrong)?;
        if version.is_some_and(|version| !has_form_of_version(version)) {
            return Err(wrong());
        }
        Ok(KernelName::Debian { flavour, version: version.map(str::to_owned) })
    }
}

impl fmt::Display for KernelName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            KernelName::Debian { flavour, version: None } => write!(f, "debian:{}", flavour.name),
            KernelName::Debian { flavour, version: Some(version) } => {
                write!(f, "debian:{}={version}", flavour.name)
            }
            KernelName::Path(path) => write!(f, "{}", path.display()),
        }
    }
}

/// A kernel that lies on disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kernel {
    /// What it is called, with its version.
    pub name: String,
    pub image: PathBuf,
    /// What it was built with.
    pub config: Option<PathBuf>,
    pub modules: Option<PathBuf>,
    /// Device trees that came with it.
    pub device_trees: Option<PathBuf>,
    /// The machine it is for, where its name says so.
    pub machine: Option<Machine>,
}

impl Kernel {
    /// A kernel at a path, its configuration looked for where distributions put it.
    ///
    /// # Errors
    /// When there is none. A bare word that names no file is a misspelt name.
    pub fn at(path: &Path) -> Result<Self, KernelError> {
        let image = fs::canonicalize(path).map_err(|error| match path.to_str() {
            Some(name) if error.kind() == ErrorKind::NotFound && !name.contains('/') => {
                KernelError::Name(name.to_owned())
            }
            _ => KernelError::Path(FileError::of("read the kernel", path)(error)),
        })?;
        let name = image.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let config = name
            .split_once('-')
            .map(|(_, release)| image.with_file_name(format!("config-{release}")));
        let config = config.filter(|path| path.is_file());
        Ok(Kernel {
            name: image.display().to_string(),
            image,
            config,
            modules: None,
            device_trees: None,
            machine: None,
        })
    }

    /// How the kernel may be preempted, as a recording made with it says: `PREEMPT_RT`, or
    /// `PREEMPT_DYNAMIC (voluntary)` where it is decided at boot and this is what it comes
    /// with.
    pub fn preemption(&self) -> Option<String> {
        const MODELS: [(&str, &str); 4] = [
            ("PREEMPT_LAZY", "lazy"),
            ("PREEMPT_VOLUNTARY", "voluntary"),
            ("PREEMPT", "full"),
            ("PREEMPT_NONE", "none"),
        ];
        let config = self.options()?;
        let has = |option: &str| is_set(&config, &format!("CONFIG_{option}"));
        if has("PREEMPT_RT") {
            return Some("PREEMPT_RT".to_owned());
        }
        let (option, mode) = MODELS.into_iter().find(|(option, _)| has(option))?;
        Some(if has("PREEMPT_DYNAMIC") {
            format!("PREEMPT_DYNAMIC ({mode})")
        } else {
            option.to_owned()
        })
    }

    /// Whether a co-kernel may run beside it: no where its configuration is known, and has none.
    pub fn may_have_co_kernel(&self) -> bool {
        let has_any = |config: String| {
            ["CONFIG_XENOMAI", "CONFIG_EVL"].iter().any(|option| is_set(&config, option))
        };
        self.options().is_none_or(has_any)
    }

    /// Its configuration, where that is known.
    fn options(&self) -> Option<String> {
        fs::read_to_string(self.config.as_ref()?).ok()
    }

    /// Whether its configuration, where that is known, has what the lab needs.
    ///
    /// # Errors
    /// The first option it lacks.
    pub(crate) fn check_options(&self) -> Result<(), KernelError> {
        let Some(config) = self.options() else { return Ok(()) };
        let has = |option| is_set(&config, option);
        let missing = NEEDED.into_iter().find(|(option, _)| !option.split('|').any(has));
        missing.map_or(Ok(()), |(option, why)| {
            Err(KernelError::Lacks { image: self.image.clone(), option, why })
        })
    }
}

/// Whether a configuration builds this into the kernel.
fn is_set(config: &str, option: &str) -> bool {
    config.lines().any(|line| line.strip_prefix(option) == Some("=y"))
}

/// Options without which nothing comes back from a guest, alternatives with a bar between them, and
/// what each is for.
const NEEDED: [(&str, &str); 6] = [
    ("CONFIG_BLK_DEV_INITRD", "it cannot unpack an initramfs, which is all the lab gives it"),
    ("CONFIG_DEVTMPFS", "the guest would find no devices"),
    ("CONFIG_PROC_FS", "the guest could not read its own state"),
    ("CONFIG_SYSFS", "the guest could not read its own state"),
    ("CONFIG_TMPFS|CONFIG_SHMEM", "there would be no place for the recording"),
    (
        "CONFIG_SERIAL_8250_CONSOLE|CONFIG_SERIAL_AMBA_PL011_CONSOLE",
        "it would have no serial console",
    ),
];

/// The kernels in the user's cache.
#[derive(Clone, Debug)]
pub struct Cache {
    directory: PathBuf,
}

impl Cache {
    /// In teiji's folder of the user's cache.
    ///
    /// # Errors
    /// When the environment names no place.
    pub fn for_user() -> Result<Self, KernelError> {
        Ok(Cache { directory: user_cache().ok_or(KernelError::NoCache)?.join("kernels") })
    }

    pub fn at(directory: &Path) -> Self {
        Cache { directory: directory.to_owned() }
    }

    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Another folder of the lab's cache.
    pub(crate) fn beside(&self, name: &str) -> PathBuf {
        self.directory.with_file_name(name)
    }

    pub(crate) fn debian(&self) -> PathBuf {
        self.directory.join("debian")
    }

    /// All of them, by flavour and then by version, oldest first.
    pub fn list(&self) -> Vec<Kernel> {
        let mut found: Vec<(usize, String)> = Vec::new();
        for entry in fs::read_dir(self.debian()).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            if entry.file_type().is_ok_and(|kind| kind.is_dir())
                && let Some((flavour, version)) = parts(&name)
            {
                let place = FLAVOURS.iter().position(|known| *known == flavour).unwrap_or(0);
                found.push((place, version.to_owned()));
            }
        }
        found.sort_by(|(a, left), (b, right)| a.cmp(b).then_with(|| compare_versions(left, right)));
        found.iter().map(|(flavour, version)| self.kernel(FLAVOURS[*flavour], version)).collect()
    }

    /// The kernel of this name, if it is in the cache: of this version, or the newest that begins
    /// so; without a version the one that was the distribution's own choice when last looked
    /// for.
    pub fn find(&self, flavour: Flavour, version: Option<&str>) -> Option<Kernel> {
        let link = self.debian().join(flavour.name);
        let chosen = fs::read_link(link).ok().filter(|_| version.is_none());
        let chosen = chosen
            .and_then(|target| parts(target.to_str()?).map(|(_, version)| version.to_owned()));
        if let Some(version) = chosen.filter(|version| self.place(flavour, version).is_dir()) {
            return Some(self.kernel(flavour, &version));
        }
        let of_flavour = |kernel: &Kernel| {
            kernel.name.strip_prefix(&format!("debian:{}=", flavour.name)).map(str::to_owned)
        };
        let fits = |kernel: &Kernel| {
            of_flavour(kernel).is_some_and(|known| version.is_none_or(|v| version_fits(&known, v)))
        };
        self.list().into_iter().rfind(fits)
    }

    pub(crate) fn place(&self, flavour: Flavour, version: &str) -> PathBuf {
        self.debian().join(format!("{version}-{}", flavour.name))
    }

    pub(crate) fn kernel(&self, flavour: Flavour, version: &str) -> Kernel {
        let place = self.place(flavour, version);
        Kernel {
            name: format!("debian:{}={version}", flavour.name),
            image: place.join("vmlinuz"),
            config: Some(place.join("config")),
            modules: Some(place.join("modules")),
            device_trees: Some(place.join("dtbs")),
            machine: Some(flavour.machine),
        }
    }
}

/// `6.1.0-56-rt-amd64`: flavour and version.
fn parts(release: &str) -> Option<(Flavour, &str)> {
    let of = |flavour: Flavour| {
        let version = release.strip_suffix(flavour.name)?.strip_suffix('-')?;
        is_whole_version(version).then_some((flavour, version))
    };
    FLAVOURS.into_iter().find_map(of)
}

/// Whether this may be a version or the beginning of one: what Debian's versions are written in,
/// and no way out of a folder.
fn has_form_of_version(text: &str) -> bool {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '+' | '~');
    text.starts_with(|c: char| c.is_ascii_digit())
        && text.chars().all(is_allowed)
        && !text.contains("..")
}

/// Whether this is the version of one kernel, as `6.1.0-56` or `6.12.48+deb13`: not `6.12`, which
/// names a series, and not `6.1.0-56-rt`, which is the version and half of a flavour.
pub(crate) fn is_whole_version(text: &str) -> bool {
    text.split('.').count() >= 3
        && has_form_of_version(text)
        && text.split(['-', '.']).skip(3).all(|part| part.starts_with(|c: char| c.is_ascii_digit()))
}

/// Whether a version is the one asked for, or begins with it: `6.1` is also `6.1.0-56`, but not
/// `6.12.48`.
pub(crate) fn version_fits(version: &str, asked: &str) -> bool {
    version.strip_prefix(asked).is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_digit()))
}

/// Numbers by their value, everything else by its letters.
pub(crate) fn compare_versions(left: &str, right: &str) -> Ordering {
    let split = |text: &str| -> Vec<(u64, String)> {
        let mut parts = Vec::new();
        let mut rest = text;
        while !rest.is_empty() {
            let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
            let letters = rest[digits..]
                .find(|c: char| c.is_ascii_digit())
                .map_or(rest.len(), |at| at + digits);
            parts.push((rest[..digits].parse().unwrap_or(0), rest[digits..letters].to_owned()));
            rest = &rest[letters..];
        }
        parts
    };
    split(left).cmp(&split(right))
}

/// Reads a kernel's image for a machine: its bytes.
///
/// # Errors
/// When it cannot be booted on this machine.
pub(crate) fn image(kernel: &Kernel, machine: Machine) -> Result<Vec<u8>, KernelError> {
    kernel.check_options()?;
    Ok(image::read(&kernel.image, machine)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cache(releases: &[&str]) -> (tempfile::TempDir, Cache) {
        let place = tempfile::tempdir().unwrap();
        for release in releases {
            fs::create_dir_all(place.path().join("debian").join(release)).unwrap();
        }
        let cache = Cache::at(place.path());
        (place, cache)
    }

    #[test]
    fn names_are_read_as_written() {
        for name in [
            "debian:amd64",
            "debian:rt-arm64=6.1.0-56",
            "debian:armmp=6.12",
            "/boot/vmlinuz",
            "vmlinuz",
            "./a:b",
        ] {
            assert_eq!(name.parse::<KernelName>().unwrap().to_string(), name);
        }
        for wrong in [
            "debian:",
            "debian:sparc",
            "debian:amd64=",
            "debian:amd64=../x",
            "debian:amd64=new",
            "debian:amd64=6.1/x",
            "debian:amd64=6..1",
            "debian:amd64=6.1\u{1b}[2J",
            "ubuntu:amd64",
            "",
        ] {
            assert!(wrong.parse::<KernelName>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_newest_that_fits() {
        let (_place, cache) = cache(&[
            "6.1.0-9-amd64",
            "6.1.0-56-amd64",
            "6.1.0-60-rt-amd64",
            "6.12.48+deb12-amd64",
            "lists",
        ]);
        let amd64 = FLAVOURS[0];
        let find = |version| cache.find(amd64, version).map(|kernel| kernel.name);
        assert_eq!(find(Some("6.1")).unwrap(), "debian:amd64=6.1.0-56");
        assert_eq!(find(Some("6.1.0-9")).unwrap(), "debian:amd64=6.1.0-9");
        assert_eq!(find(Some("6.1.0-5")), None);
        assert_eq!(find(None).unwrap(), "debian:amd64=6.12.48+deb12");
        std::os::unix::fs::symlink("6.1.0-56-amd64", cache.debian().join("amd64")).unwrap();
        assert_eq!(find(None).unwrap(), "debian:amd64=6.1.0-56", "the distribution's own choice");
        let names: Vec<String> = cache.list().into_iter().map(|kernel| kernel.name).collect();
        assert_eq!(
            names,
            [
                "debian:amd64=6.1.0-9",
                "debian:amd64=6.1.0-56",
                "debian:amd64=6.12.48+deb12",
                "debian:rt-amd64=6.1.0-60"
            ]
        );
    }

    #[test]
    fn whole_versions() {
        for whole in ["6.1.0-56", "6.12.48+deb13", "6.12.117+deb12", "5.10.0-34"] {
            assert!(is_whole_version(whole), "{whole}");
        }
        for other in ["6.12", "6.1.0-56-rt", "6.1.0-56-cloud", "6.12.48+deb13-rt", "rt", ""] {
            assert!(!is_whole_version(other), "{other}");
        }
    }

    #[test]
    fn preemption_is_called_as_in_recordings() {
        let place = tempfile::tempdir().unwrap();
        let preemption = |options: &[&str]| {
            let text: String =
                options.iter().map(|option| format!("CONFIG_{option}=y\n")).collect();
            fs::write(place.path().join("config-1.2.3"), text).unwrap();
            fs::write(place.path().join("vmlinuz-1.2.3"), "").unwrap();
            Kernel::at(&place.path().join("vmlinuz-1.2.3"))
                .unwrap()
                .preemption()
                .unwrap_or_default()
        };
        assert_eq!(
            preemption(&["PREEMPT_VOLUNTARY", "PREEMPT_DYNAMIC"]),
            "PREEMPT_DYNAMIC (voluntary)"
        );
        assert_eq!(preemption(&["PREEMPT", "PREEMPT_DYNAMIC"]), "PREEMPT_DYNAMIC (full)");
        assert_eq!(preemption(&["PREEMPT_LAZY", "PREEMPT_DYNAMIC"]), "PREEMPT_DYNAMIC (lazy)");
        assert_eq!(preemption(&["PREEMPT_VOLUNTARY"]), "PREEMPT_VOLUNTARY");
        assert_eq!(preemption(&["PREEMPT_RT", "PREEMPT"]), "PREEMPT_RT");
        assert_eq!(preemption(&["SMP"]), "");
    }

    #[test]
    fn what_a_kernel_lacks_is_named() {
        let place = tempfile::tempdir().unwrap();
        let config = |without: &str| {
            let all = [
                "BLK_DEV_INITRD",
                "DEVTMPFS",
                "PROC_FS",
                "SYSFS",
                "TMPFS",
                "SERIAL_8250_CONSOLE",
                "PREEMPT_RT",
            ];
            let line = |option: &&str| {
                if *option == without {
                    format!("# CONFIG_{option} is not set\n")
                } else {
                    format!("CONFIG_{option}=y\n")
                }
            };
            let text: String = all.iter().map(line).collect();
            fs::write(place.path().join("config-1.2.3"), text).unwrap();
            fs::write(place.path().join("vmlinuz-1.2.3"), "").unwrap();
            Kernel::at(&place.path().join("vmlinuz-1.2.3")).unwrap()
        };
        assert!(config("").check_options().is_ok());
        assert_eq!(config("").preemption().as_deref(), Some("PREEMPT_RT"));
        for option in ["BLK_DEV_INITRD", "DEVTMPFS", "SERIAL_8250_CONSOLE"] {
            let error = config(option).check_options().unwrap_err().to_string();
            assert!(error.contains(&format!("without CONFIG_{option}")), "{error}");
        }
    }
}
