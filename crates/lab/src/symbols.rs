// SPDX-License-Identifier: MIT OR Apache-2.0
//! The symbols of a guest's kernel.

use crate::error::LabError;
use crate::hash::sha256;
use crate::instruction_count::{self, READ};
use crate::kernels::{Cache, KernelError};
use crate::order::GuestCommand;
use crate::program::Program;
use crate::progress::GuestObserver;
use crate::target::Target;
use crate::verbs::INIT_VERB;
use plan::Guest;
use runner::Signals;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Where the kernel lists them.
const SYMBOLS: &str = "/proc/kallsyms";
/// What sending them takes, on the guest's clock.
const SYMBOLS_EXPECTED: Duration = Duration::from_secs(30);

/// The lines of the kernel's `/proc/kallsyms` in such a guest, which is booted for it the first
/// time.
///
/// # Errors
/// When the guest fails.
pub fn symbols(
    target: &Target,
    signals: &Signals,
    observer: &mut dyn GuestObserver,
) -> Result<String, LabError> {
    let place = symbols_file(target)?;
    if let Some(text) = kept(&place) {
        return Ok(text);
    }
    // This program, which can print them; the one of a recording may be older. For a guest of
    // another processor there may be no other.
    let has_own = Program::find(target.guest.machine, None).is_ok();
    let program = target.program.clone().filter(|_| !has_own);
    let mut target = Target { program, files: Vec::new(), plugin: None, ..target.clone() };
    // Where they lie does not depend on how many CPUs there are, and one boots in a third of the
    // time.
    target.guest.cpus = 1;
    let words = vec!["/teiji".to_owned(), INIT_VERB.to_owned(), format!("{READ}{SYMBOLS}")];
    let command = GuestCommand { words, counted: false };
    let (mut costs, _) =
        instruction_count::run(&target, vec![command], SYMBOLS_EXPECTED, signals, observer)?;
    let text = match costs.pop() {
        Some(cost) if cost.code == Some(0) => cost.stdout,
        cost => {
            let why = cost.map_or_else(String::new, |cost| cost.stderr.trim().to_owned());
            return Err(KernelError::Fetch { name: SYMBOLS.to_owned(), why }.into());
        }
    };
    // Who cannot keep them fetches them again.
    let _ = keep(&place, &text);
    Ok(text)
}

/// Where they are kept: the addresses follow from the kernel's image, its arguments and the
/// machine.
fn symbols_file(target: &Target) -> Result<PathBuf, LabError> {
    let mut image = fs::read(&target.kernel.image).map_err(|error| KernelError::Fetch {
        name: target.kernel.name.clone(),
        why: error.to_string(),
    })?;
    let Guest { machine, kernel_args, .. } = &target.guest;
    image.extend_from_slice(machine.name().as_bytes());
    image.extend_from_slice(kernel_args.as_bytes());
    // Without the beginning are those that earlier versions keep, without a hash.
    let name = format!("kallsyms-{}", sha256(&image));
    Ok(Cache::for_user()?.beside("symbols").join(name))
}

/// Puts symbols in place, whole or not at all, after their hash.
fn keep(place: &Path, text: &str) -> io::Result<()> {
    let folder = place.parent().unwrap_or(place);
    fs::create_dir_all(folder)?;
    let mut part = tempfile::NamedTempFile::new_in(folder)?;
    writeln!(part, "{}", sha256(text.as_bytes()))?;
    part.write_all(text.as_bytes())?;
    part.persist(place).map(drop).map_err(|error| error.error)
}

/// The symbols that were put there. Damaged ones would name wrong functions: they are removed, and
/// it is as if there were none.
fn kept(place: &Path) -> Option<String> {
    let bytes = fs::read(place).ok()?;
    let text = String::from_utf8(bytes).ok().and_then(|content| {
        let (hash, text) = content.split_once('\n')?;
        (sha256(text.as_bytes()) == hash).then(|| text.to_owned())
    });
    if text.is_none() {
        let _ = fs::remove_file(place);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINES: &str = "ffffffff81000000 T _text\nffffffff81000100 t free_pcppages_bulk\n";

    #[test]
    fn symbols_are_found_as_they_were_kept() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("symbols/key");
        assert_eq!(kept(&place), None);
        keep(&place, LINES).unwrap();
        assert_eq!(kept(&place).as_deref(), Some(LINES));
    }

    #[test]
    fn damaged_symbols_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("key");
        let damages: [fn(&mut Vec<u8>); 5] = [
            // Another address.
            |bytes| bytes[70] = b'e',
            |bytes| bytes[3] ^= 1,
            |bytes| bytes.truncate(100),
            |bytes| bytes.clear(),
            // Without a hash.
            |bytes| *bytes = LINES.as_bytes().to_vec(),
        ];
        for (index, damage) in damages.iter().enumerate() {
            keep(&place, LINES).unwrap();
            let mut bytes = fs::read(&place).unwrap();
            damage(&mut bytes);
            fs::write(&place, bytes).unwrap();
            assert_eq!(kept(&place), None, "damage {index}");
            assert!(!place.exists(), "damage {index}");
        }
    }
}
