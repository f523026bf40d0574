// SPDX-License-Identifier: MIT OR Apache-2.0
//! Debian's kernels, fetched with apt's own tools: signatures checked by apt, no root, and nothing
//! of the system's own package state touched. Each architecture has package lists of its own in the
//! cache, so that a PC gets ARM kernels without being configured to accept ARM packages.

use crate::cache::LockedFolder;
use crate::file_error::FileError;
use crate::image;
use crate::kernels::{
    Cache, Flavour, Kernel, KernelError, KernelName, compare_versions, is_whole_version,
    version_fits,
};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

const KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";
/// Where the system says which release it is.
const OS_RELEASE: &str = "/etc/os-release";
/// Modules that can be of use to the lab; the other thousands would take 400 MB a kernel.
const MODULE_DIRECTORIES: [&str; 6] = [
    "drivers/char",
    "drivers/rtc",
    "drivers/tty",
    "drivers/virtio",
    "drivers/watchdog",
    "drivers/soc",
];

/// Gets a kernel of Debian's into the cache, and reports progress to `say`. Without a version, the
/// one that the distribution's own package of that flavour stands for.
///
/// # Errors
/// When it does not exist or cannot be fetched.
pub fn fetch(
    cache: &Cache,
    flavour: Flavour,
    version: Option<&str>,
    say: &mut dyn FnMut(&str),
) -> Result<Kernel, KernelError> {
    let name = KernelName::Debian { flavour, version: version.map(str::to_owned) }.to_string();
    let failed = |why: String| KernelError::Fetch { name: name.clone(), why };
    let debian = cache.debian();
    let mut waiting =
        || say(&format!("{name}: waiting for another teiji that is fetching a kernel"));
    let locked = LockedFolder::new(&debian, &mut waiting)?;

    let state = debian.join(".apt").join(flavour.architecture);
    let apt = Apt::prepare(&state, flavour.architecture, &sources()).map_err(&failed)?;
    say(&format!("{name}: reading Debian's package lists for {}", flavour.architecture));
    let complaint = apt.update();
    let chosen = apt.resolve(flavour, version).map_err(|why| match &complaint {
        Some(complaint) => failed(format!("{why}; apt-get update printed: {complaint}")),
        None => failed(why),
    })?;
    if let Some(complaint) = complaint {
        say(&format!(
            "{name}: not all lists could be read, so there may be a newer one: {complaint}"
        ));
    }
    let place = cache.place(flavour, &chosen);
    if !place.is_dir() {
        say(&format!("{name}: downloading linux-image-{chosen}-{}", flavour.name));
        let part = locked.part()?;
        let package = apt
            .download(&format!("linux-image-{chosen}-{}", flavour.name), part.path())
            .map_err(&failed)?;
        say(&format!("{name}: unpacking"));
        let unpacked = part.path().join("unpacked");
        unpack(&package, &unpacked).map_err(&failed)?;
        let arranged = part.path().join("kernel");
        arrange(&unpacked, &arranged).map_err(&failed)?;
        image::read(&arranged.join("vmlinuz"), flavour.machine)
            .map_err(|error| failed(error.to_string()))?;
        fs::rename(&arranged, &place).map_err(FileError::of("put in place", &place))?;
    }
    if version.is_none() {
        let (link, new) =
            (debian.join(flavour.name), debian.join(format!(".{}.new", flavour.name)));
        let _ = fs::remove_file(&new);
        std::os::unix::fs::symlink(format!("{chosen}-{}", flavour.name), &new)
            .map_err(FileError::of("link", &new))?;
        fs::rename(&new, &link).map_err(FileError::of("link", &link))?;
    }
    Ok(cache.kernel(flavour, &chosen))
}

/// apt with state of its own.
pub(crate) struct Apt {
    directory: PathBuf,
    architecture: &'static str,
}

impl Apt {
    pub(crate) fn prepare(
        directory: &Path,
        architecture: &'static str,
        sources: &str,
    ) -> Result<Self, String> {
        for folder in ["state/lists/partial", "cache/archives/partial"] {
            let path = directory.join(folder);
            fs::create_dir_all(&path).map_err(FileError::of("make", &path))?;
        }
        for (name, text) in [("status", ""), ("sources.list", sources)] {
            let path = directory.join(name);
            fs::write(&path, text).map_err(FileError::of("write", &path))?;
        }
        Ok(Apt { directory: directory.to_owned(), architecture })
    }

    pub(crate) fn command(&self, program: &str) -> Command {
        let below = |name: &str| self.directory.join(name).display().to_string();
        let mut command = Command::new(program);
        for option in [
            format!("APT::Architecture={}", self.architecture),
            format!("APT::Architectures::={}", self.architecture),
            format!("Dir::State={}", below("state")),
            format!("Dir::State::status={}", below("status")),
            format!("Dir::Cache={}", below("cache")),
            format!("Dir::Etc::sourcelist={}", below("sources.list")),
            "Dir::Etc::sourceparts=/dev/null".to_owned(),
            "Acquire::Languages=none".to_owned(),
            "Acquire::Retries=3".to_owned(),
            // "stable" is another release one day.
            "Acquire::AllowReleaseInfoChange=true".to_owned(),
            // As root, apt would fetch as a user that cannot write into root's cache.
            "APT::Sandbox::User=root".to_owned(),
        ] {
            command.arg("-o").arg(option);
        }
        command.env("LC_ALL", "C").stdin(Stdio::null());
        command
    }

    /// Reads the package lists anew; returns what apt complained about, if that was not all of it.
    /// Mirrors are often in the midst of an update of their own: what could be read is good
    /// enough.
    fn update(&self) -> Option<String> {
        match self.command("apt-get").args(["-q=2", "update"]).output() {
            Err(error) => Some(not_started("apt-get")(error)),
            Ok(output) if output.status.success() && output.stderr.is_empty() => None,
            Ok(output) => Some(first_complaint(&output)),
        }
    }

    /// The version of the kernel package that is meant.
    fn resolve(&self, flavour: Flavour, version: Option<&str>) -> Result<String, String> {
        let suffix = format!("-{}", flavour.name);
        let version_of = |package: &str| -> Option<String> {
            let version = package.strip_prefix("linux-image-")?.strip_suffix(&suffix)?;
            is_whole_version(version).then(|| version.to_owned())
        };
        if version.is_none() {
            let output = self.ask(&["depends", &format!("linux-image-{}", flavour.name)])?;
            let depends = output.lines().filter_map(|line| line.trim().strip_prefix("Depends: "));
            if let Some(version) = depends.filter_map(version_of).next() {
                return Ok(version);
            }
        }
        let mut versions: Vec<String> =
            self.ask(&["pkgnames", "linux-image-"])?.lines().filter_map(version_of).collect();
        versions.sort_by(|left, right| compare_versions(left, right));
        let fits = |known: &&String| version.is_none_or(|version| version_fits(known, version));
        versions.iter().rfind(fits).cloned().ok_or_else(|| match (version, versions.as_slice()) {
            (_, []) => format!(
                "Debian's lists for {} name no kernel of the flavour {}",
                self.architecture, flavour.name
            ),
            (version, known) => {
                format!(
                    "there is no version {} of it; there are {}",
                    version.unwrap_or_default(),
                    known.join(", ")
                )
            }
        })
    }

    fn ask(&self, question: &[&str]) -> Result<String, String> {
        let output = self.command("apt-cache").args(question).output();
        let output = output.map_err(without_apt("apt-cache"))?;
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    fn download(&self, package: &str, into: &Path) -> Result<PathBuf, String> {
        let output =
            self.command("apt-get").args(["-q=2", "download", package]).current_dir(into).output();
        let output = output.map_err(without_apt("apt-get"))?;
        let files = fs::read_dir(into).into_iter().flatten().flatten().map(|entry| entry.path());
        let whole = |path: &PathBuf| {
            output.status.success() && path.extension().is_some_and(|ending| ending == "deb")
        };
        let package = files.into_iter().find(whole);
        package.ok_or_else(|| {
            format!("the package could not be downloaded: {}", first_complaint(&output))
        })
    }
}

/// Debian's own archive.
pub(crate) const ARCHIVE: &str = "http://deb.debian.org/debian";
/// That of its security updates.
pub(crate) const SECURITY_ARCHIVE: &str = "http://deb.debian.org/debian-security";
const WITHOUT_KEYRING: &str = "; the package debian-archive-keyring has the keys";
const WITHOUT_APT: &str =
    "on a system without apt, get a kernel by other means and give its path with --kernel";

pub(crate) fn not_started(program: &str) -> impl FnOnce(io::Error) -> String {
    move |error| format!("{program} could not be started: {error}")
}

fn without_apt(program: &str) -> impl FnOnce(io::Error) -> String {
    move |error| format!("{}; {WITHOUT_APT}", not_started(program)(error))
}

pub(crate) fn first_complaint(output: &Output) -> String {
    let stderr = String::from_utf8_lossy(&output.stderr);
    let lines = || stderr.lines().map(str::trim).filter(|line| !line.is_empty());
    // What tar says of a disk that is full begins with how much of a file it wrote.
    let is_cause =
        |line: &&str| line.starts_with("E:") || line.ends_with("No space left on device");
    let chosen = lines().find(is_cause).or_else(|| lines().next());
    let chosen = chosen.map_or_else(|| output.status.to_string(), str::to_owned);
    // As on other distributions.
    let keyring = if stderr.contains("NO_PUBKEY") || stderr.contains("not signed") {
        WITHOUT_KEYRING
    } else {
        ""
    };
    chosen + keyring
}

/// Where packages come from: the mirrors this system uses itself if it is a Debian, otherwise
/// Debian's own.
fn sources() -> String {
    let release = fs::read_to_string(OS_RELEASE).unwrap_or_default();
    let value = |key: &str| {
        release
            .lines()
            .find_map(|line| line.strip_prefix(key)?.strip_prefix('='))
            .map(|value| value.trim_matches('"').to_owned())
    };
    let suite = value("VERSION_CODENAME").filter(|_| value("ID").as_deref() == Some("debian"));
    let suite = suite.unwrap_or_else(|| "stable".to_owned());
    let signed =
        if Path::new(KEYRING).exists() { format!("[signed-by={KEYRING}] ") } else { String::new() };
    let line = |uri: &str, suite: &str| format!("deb {signed}{uri} {suite} main\n");
    let (main, security) = mirrors();
    line(&main, &suite) + &line(&security, &format!("{suite}-security"))
}

/// The addresses of the archive and of its security updates.
pub(crate) fn mirrors() -> (String, String) {
    const QUESTION: [&str; 4] =
        ["indextargets", "--format", "$(ORIGIN) $(LABEL) $(REPO_URI)", "Identifier: Packages"];
    let known =
        Command::new("apt-get").args(QUESTION).env("LC_ALL", "C").stdin(Stdio::null()).output();
    let known = known
        .map(|output| String::from_utf8_lossy(&output.stdout).into_owned())
        .unwrap_or_default();
    let of = |label: &str| {
        known
            .lines()
            .find_map(|line| line.strip_prefix(&format!("Debian {label} ")))
            .map(str::to_owned)
    };
    let uri = |found: Option<String>, usual: &str| {
        found.filter(|uri| uri.starts_with("http")).unwrap_or_else(|| usual.to_owned())
    };
    (uri(of("Debian"), ARCHIVE), uri(of("Debian-Security"), SECURITY_ARCHIVE))
}

/// Unpacks what is needed of a package.
fn unpack(package: &Path, into: &Path) -> Result<(), String> {
    let modules =
        MODULE_DIRECTORIES.map(|directory| format!("./*lib/modules/*/kernel/{directory}/*"));
    let patterns = ["--wildcards", "./boot/*", "./usr/lib/linux-image-*/*"]
        .map(str::to_owned)
        .into_iter()
        .chain(modules);
    let output = untar(package, into, &patterns.collect::<Vec<_>>())?;
    if is_whole(&output) && into.join("boot").is_dir() {
        Ok(())
    } else {
        Err(not_unpacked(package, &output))
    }
}

pub(crate) fn not_unpacked(package: &Path, tar: &Output) -> String {
    format!("{} could not be unpacked: {}", package.display(), first_complaint(tar))
}

/// Hands a package's files to tar, with these arguments; how tar ended.
pub(crate) fn untar(package: &Path, into: &Path, arguments: &[String]) -> Result<Output, String> {
    fs::create_dir_all(into).map_err(FileError::of("make", into))?;
    let mut source = Command::new("dpkg-deb")
        .arg("--fsys-tarfile")
        .arg(package)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(not_started("dpkg-deb"))?;
    let stream = source.stdout.take().map_or_else(Stdio::null, Stdio::from);
    let output = Command::new("tar")
        .args(["-x", "--no-same-owner", "-C"])
        .arg(into)
        .args(arguments)
        .env("LC_ALL", "C")
        .stdin(stream)
        .stderr(Stdio::piped())
        .output()
        .map_err(not_started("tar"))?;
    let ended = source.wait().map_err(|error| format!("dpkg-deb: {error}"))?;
    if ended.success() { Ok(output) } else { Err(not_unpacked(package, &output)) }
}

/// Whether tar complained of nothing but patterns that match nothing, as those of a kernel without
/// device trees. It goes on after a write that failed, and says so in the same way.
fn is_whole(tar: &Output) -> bool {
    let harmless = |line: &str| {
        line.ends_with("Not found in archive") || line.contains("Exiting with failure status")
    };
    String::from_utf8_lossy(&tar.stderr)
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .all(harmless)
}

/// Puts what was unpacked under names without versions.
fn arrange(unpacked: &Path, into: &Path) -> Result<(), String> {
    let failed = |error: io::Error| format!("cannot prepare {}: {error}", unpacked.display());
    fs::create_dir_all(into).map_err(failed)?;
    let named = |directory: &Path, prefix: &str| {
        let entries = fs::read_dir(directory).into_iter().flatten().flatten();
        entries
            .map(|entry| entry.path())
            .find(|path| path.file_name().is_some_and(|n| n.to_string_lossy().starts_with(prefix)))
    };
    let boot = unpacked.join("boot");
    for (prefix, name) in [("vmlinuz-", "vmlinuz"), ("config-", "config")] {
        let file =
            named(&boot, prefix).ok_or_else(|| format!("the package has no {prefix}* in boot/"))?;
        fs::rename(file, into.join(name)).map_err(failed)?;
    }
    let modules = ["lib/modules", "usr/lib/modules"]
        .iter()
        .find_map(|place| named(&unpacked.join(place), ""));
    let dtbs = named(&unpacked.join("usr/lib"), "linux-image-");
    for (found, name) in
        [(modules.map(|modules| modules.join("kernel")), "modules"), (dtbs, "dtbs")]
    {
        let place = into.join(name);
        match found.filter(|path| path.is_dir()) {
            Some(found) => fs::rename(found, place),
            None => fs::create_dir(place),
        }
        .map_err(failed)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_is_arranged_under_plain_names() {
        let place = tempfile::tempdir().unwrap();
        let put = |path: &str| {
            let path = place.path().join("in").join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "content").unwrap();
        };
        for path in [
            "boot/vmlinuz-6.1.0-56-arm64",
            "boot/config-6.1.0-56-arm64",
            "boot/System.map-6.1.0-56-arm64",
        ] {
            put(path);
        }
        put("lib/modules/6.1.0-56-arm64/kernel/drivers/tty/a.ko");
        put("usr/lib/linux-image-6.1.0-56-arm64/broadcom/bcm2837-rpi-3-b.dtb");
        let out = place.path().join("out");
        arrange(&place.path().join("in"), &out).unwrap();
        for path in
            ["vmlinuz", "config", "modules/drivers/tty/a.ko", "dtbs/broadcom/bcm2837-rpi-3-b.dtb"]
        {
            assert!(out.join(path).is_file(), "{path}");
        }
        assert!(arrange(&place.path().join("nowhere"), &place.path().join("out2")).is_err());
    }

    #[test]
    fn half_an_unpacked_package_is_noticed() {
        let tar = |stderr: &str| Output {
            status: std::process::ExitStatus::default(),
            stdout: Vec::new(),
            stderr: stderr.as_bytes().to_vec(),
        };
        let nothing_there = "tar: ./*lib/modules/*/kernel/drivers/soc/*: Not found in \
                             archive\ntar: Exiting with failure status due to previous errors\n";
        assert!(is_whole(&tar("")) && is_whole(&tar(nothing_there)));
        let full = "tar: ./boot/vmlinuz-6.1: Wrote only 2048 of 10240 bytes\ntar: Exiting with \
                    failure status due to previous errors\n";
        assert!(!is_whole(&tar(full)));
        assert!(!is_whole(&tar("tar: ./boot/config-6.1: Cannot open: No space left on device\n")));
    }

    #[test]
    fn complaints_about_keys_name_the_package() {
        let stderr = b"W: GPG error: http://deb.debian.org: NO_PUBKEY 0123\n\
            E: The repository is not signed.\n"
            .to_vec();
        let output =
            Output { status: std::process::ExitStatus::default(), stdout: Vec::new(), stderr };
        assert_eq!(
            first_complaint(&output),
            format!("E: The repository is not signed.{WITHOUT_KEYRING}")
        );
    }

    #[test]
    fn sources_name_one_release_and_its_security_updates() {
        let sources = sources();
        let lines: Vec<&str> = sources.lines().collect();
        assert_eq!(lines.len(), 2, "{sources}");
        assert!(
            lines[0].starts_with("deb ")
                && lines[0].ends_with(" main")
                && lines[1].contains("-security main"),
            "{sources}"
        );
    }
}
