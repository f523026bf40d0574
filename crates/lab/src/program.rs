// SPDX-License-Identifier: MIT OR Apache-2.0
//! The teiji that goes into a guest: static, since nothing else is there, and built for the guest's
//! processor.

use crate::board::Board;
use crate::file_error::FileError;
use crate::image;
use plan::Machine;
use std::path::{Path, PathBuf};
use std::{env, fs};

#[derive(Clone, Debug)]
pub struct Program {
    pub path: PathBuf,
    /// What is in it.
    pub bytes: Vec<u8>,
}

/// Why no program was found for a guest.
#[derive(Debug, thiserror::Error)]
pub enum ProgramError {
    #[error(transparent)]
    File(#[from] FileError),
    #[error("{} cannot run in a guest of {machine}: {why}", path.display())]
    Unfit {
        path: PathBuf,
        machine: Machine,
        /// What speaks against it.
        why: &'static str,
    },
    /// None was found.
    #[error(
        "a guest of {machine} needs a static teiji for {target}, and none was found ({tried}). \
         Put one next to this program as teiji-{target}, or name it with --program FILE, in a plan \
         with program = FILE below [measure]. `make dist` builds both"
    )]
    NotFound {
        machine: Machine,
        /// What it would have to be built for.
        target: &'static str,
        /// Where it was looked for.
        tried: String,
    },
}

impl Program {
    /// The one given, or this program itself if it can run there, or one for the guest's processor:
    /// `teiji-TARGET` next to it or in `../lib/teiji`, or where cargo puts it.
    ///
    /// # Errors
    /// When there is none.
    pub fn find(machine: Machine, given: Option<&Path>) -> Result<Self, ProgramError> {
        if let Some(path) = given {
            return Program::read(path, machine);
        }
        let own = env::current_exe().unwrap_or_else(|_| PathBuf::from("/proc/self/exe"));
        let target = Board::for_machine(machine).target;
        let candidates = candidates(&own, target);
        // Itself if it can be; of several that were built for the machine, the one that was built
        // last.
        let built = |path: &&PathBuf| fs::metadata(path).and_then(|file| file.modified()).ok();
        let (own, others) = candidates.split_at(1);
        let mut others: Vec<&PathBuf> = others.iter().collect();
        others.sort_by_key(|path| std::cmp::Reverse(built(path)));
        let found = own.iter().chain(others).find_map(|path| Program::read(path, machine).ok());
        found.ok_or_else(|| ProgramError::NotFound {
            machine,
            target,
            tried: candidates
                .iter()
                .map(|path| path.display().to_string())
                .collect::<Vec<_>>()
                .join(", "),
        })
    }

    fn read(path: &Path, machine: Machine) -> Result<Self, ProgramError> {
        let bytes =
            fs::read(path).map_err(FileError::of("read the program for the guest,", path))?;
        let unfit = |why| ProgramError::Unfit { path: path.to_owned(), machine, why };
        check(&bytes, machine).map_err(unfit)?;
        Ok(Program { path: path.to_owned(), bytes })
    }
}

/// Where a program for a guest may lie: this one itself, then those for other processors, as they
/// are installed and as cargo builds them.
fn candidates(own: &Path, target: &str) -> Vec<PathBuf> {
    let name = format!("teiji-{target}");
    let mut all = vec![own.to_owned(), own.with_file_name(&name)];
    all.extend(own.ancestors().nth(2).map(|prefix| prefix.join("lib/teiji").join(&name)));
    if let Some(cargo) = own.ancestors().nth(3) {
        all.extend(
            ["release", "cross-test"].map(|profile| cargo.join(target).join(profile).join("teiji")),
        );
    }
    all
}

const EM_ARM: u64 = 40;
const EM_X86_64: u64 = 62;
const EM_AARCH64: u64 = 183;
const PT_INTERP: u64 = 3;

/// Reads the header of an ELF program: elf(5).
fn check(bytes: &[u8], machine: Machine) -> Result<(), &'static str> {
    let (class, processor) = match machine {
        Machine::X86_64 => (2, EM_X86_64),
        Machine::Aarch64 | Machine::Raspi3b => (2, EM_AARCH64),
        Machine::Armv7 => (1, EM_ARM),
    };
    if !bytes.starts_with(b"\x7fELF") {
        return Err("it is not an ELF program");
    }
    let number = |at: usize, length: usize| image::number(bytes, at, length);
    if bytes.get(4) != Some(&class) || number(18, 2) != Some(processor) {
        return Err("it is built for another processor");
    }
    let (table, table_length, entry_at, count_at) =
        if class == 2 { (32, 8, 54, 56) } else { (28, 4, 42, 44) };
    let header =
        || Some((number(table, table_length)?, number(entry_at, 2)?, number(count_at, 2)?));
    let (table, entry, count) = header().ok_or("its header is cut off")?;
    let kind = |index: u64| number(usize::try_from(table + index * entry).ok()?, 4);
    for index in 0..count {
        if kind(index).ok_or("its header is cut off")? == PT_INTERP {
            return Err("it is not static: it needs a dynamic linker and libraries, which a \
                        guest does not have");
        }
    }
    Ok(())
}

#[cfg(test)]
#[path = "program_tests.rs"]
pub(crate) mod tests;
