// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the emulator's process may do on this machine: what a guest that takes it over could.
//!
//! The lab says which files a guest needs ([`Confinement`]) and starts this program anew; that
//! process gives up everything else ([`Confinement::enter`]) and becomes QEMU. It gets a root
//! directory that holds those files alone, a network without interfaces, and, as root, a user that
//! owns nothing else; everybody gets Landlock, limits, fewer system calls, and no way to new
//! rights. What a kernel lacks of that is left out:
//! docs/decisions/0041 has the list.

mod calls;
mod landlock;
mod namespaces;
#[expect(unsafe_code, reason = "system calls without a safe interface; see the file's head")]
mod sys;

use rustix::process::{Resource, Rlimit, setrlimit};
use rustix::thread::{CapabilitySet, CapabilitySets, set_capabilities, set_no_new_privs};
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// What may be done with a file, or with all in a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    Read,
    Run,
    /// Read and write; it is there already.
    Write,
}

impl Access {
    const ALL: [(Access, u8); 3] =
        [(Access::Read, b'r'), (Access::Run, b'x'), (Access::Write, b'w')];
}

/// What an emulator may do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Confinement {
    /// Files and folders, absolute; folders only to read or run.
    pub paths: Vec<(Access, PathBuf)>,
    /// Of any file it writes, bytes.
    pub file_bytes: u64,
    /// Address space, bytes.
    pub address_space: u64,
    pub kvm: bool,
}

/// Address space of QEMU beyond its guest's memory. Measured: 1.4 GiB of QEMU 10.0 and 1.6 GiB of
/// 7.2, of which 1 GiB is for translated code, and more with each thread; with room for what a
/// plugin keeps.
const ADDRESS_SPACE_BESIDE_GUEST: u64 = 6 << 30;
/// A snapshot holds the guest's memory, results come from it, and the rest is small.
const FILE_BYTES_BESIDE_GUEST: u64 = 64 << 20;
/// What a plugin may write of what the guest executed: `explain` keeps some MB for each latency, of
/// 1,000 at most.
const RECORD_BYTES: u64 = 8 << 30;
/// Open files; QEMU has some twenty.
const OPEN_FILES: u64 = 256;
/// Where the words for the emulator begin.
const END: &str = "--";
/// Device files that QEMU opens.
const DEVICES: [(&str, Access); 2] = [("/dev/null", Access::Write), ("/dev/urandom", Access::Read)];
const KVM: &str = "/dev/kvm";

impl Confinement {
    /// Of a guest with so much memory, which records what it executes or does not.
    pub(crate) fn new(memory_mib: u32, records: bool, kvm: bool) -> Self {
        let memory = u64::from(memory_mib) << 20;
        Confinement {
            paths: Vec::new(),
            file_bytes: memory + if records { RECORD_BYTES } else { FILE_BYTES_BESIDE_GUEST },
            address_space: memory + ADDRESS_SPACE_BESIDE_GUEST,
            kvm,
        }
    }

    pub(crate) fn allow(&mut self, access: Access, path: impl Into<PathBuf>) {
        self.paths.push((access, path.into()));
    }

    /// As arguments of the process that becomes the emulator.
    pub(crate) fn words(&self) -> Vec<OsString> {
        let mut words = vec![
            self.file_bytes.to_string().into(),
            self.address_space.to_string().into(),
            self.kvm.to_string().into(),
        ];
        words.extend(self.paths.iter().map(|(access, path)| {
            let letter = Access::ALL
                .iter()
                .find(|(known, _)| known == access)
                .map_or(b'r', |(_, letter)| *letter);
            OsString::from_vec([&[letter], path.as_os_str().as_bytes()].concat())
        }));
        words.push(END.into());
        words
    }

    /// From arguments, and those that follow.
    pub(crate) fn from_words(words: &[OsString]) -> Option<(Self, &[OsString])> {
        let end = words.iter().position(|word| word == END)?;
        let [file_bytes, address_space, kvm, paths @ ..] = &words[..end] else { return None };
        let path = |word: &OsString| {
            let (letter, path) = word.as_bytes().split_first()?;
            let (access, _) = Access::ALL.iter().find(|(_, known)| known == letter)?;
            Some((*access, PathBuf::from(OsStr::from_bytes(path))))
        };
        let confinement = Confinement {
            paths: paths.iter().map(path).collect::<Option<_>>()?,
            file_bytes: file_bytes.to_str()?.parse().ok()?,
            address_space: address_space.to_str()?.parse().ok()?,
            kvm: kvm.to_str()?.parse().ok()?,
        };
        Some((confinement, &words[end + 1..]))
    }

    /// All that is opened, devices included.
    fn all_paths(&self) -> impl Iterator<Item = (Access, &Path)> {
        let devices = DEVICES.iter().map(|(path, access)| (*access, Path::new(*path)));
        let kvm = self.kvm.then_some((Access::Write, Path::new(KVM)));
        self.paths.iter().map(|(access, path)| (*access, path.as_path())).chain(devices).chain(kvm)
    }

    /// Gives up everything else, for ever. To be called where there is no other thread.
    ///
    /// # Errors
    /// What the kernel has and refuses.
    pub(crate) fn enter(&self) -> io::Result<()> {
        sys::close_all_on_exec();
        sys::end_at_file_limit();
        let is_alone = namespaces::enter(self)?;
        set_no_new_privs(true)?;
        let none = CapabilitySet::empty();
        set_capabilities(
            None,
            CapabilitySets { effective: none, permitted: none, inheritable: none },
        )?;
        self.set_limits(is_alone)?;
        landlock::restrict(self.all_paths())?;
        calls::deny()
    }

    fn set_limits(&self, is_alone: bool) -> io::Result<()> {
        /// Threads of a user of its own.
        const THREADS: u64 = 256;
        let set = |resource, most: u64| {
            setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) })
        };
        set(Resource::Core, 0)?;
        set(Resource::Fsize, self.file_bytes)?;
        set(Resource::As, self.address_space)?;
        set(Resource::Nofile, OPEN_FILES)?;
        if is_alone {
            set(Resource::Nproc, THREADS)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_confinement_is_read_as_it_is_written() {
        let mut confinement = Confinement::new(512, false, true);
        confinement.allow(Access::Run, "/usr");
        confinement.allow(Access::Write, OsStr::from_bytes(b"/tmp/\xff a"));
        confinement.allow(Access::Read, "/boot/vmlinuz");
        let mut words = confinement.words();
        words.extend(["qemu".into(), "--".into(), "-m".into()]);
        let (read, rest) = Confinement::from_words(&words).unwrap();
        assert_eq!((read, rest), (confinement, &words[words.len() - 3..]));
        for wrong in [
            vec!["1", "2", "true"],
            vec!["1", "x", "true", "--"],
            vec!["1", "2", "true", "q/tmp", "--"],
            vec!["--"],
        ] {
            let words: Vec<OsString> = wrong.iter().map(OsString::from).collect();
            assert_eq!(Confinement::from_words(&words), None, "{wrong:?}");
        }
    }
}
