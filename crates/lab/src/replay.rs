// SPDX-License-Identifier: MIT OR Apache-2.0
//! A run of the lab once more, with QEMU's plugin beside it; and the symbols of the kernel it ran on.

use crate::instruction_count::{self, GuestCommand, READ};
use crate::plugin::Plugin;
use crate::session::{self, GuestObserver, LabError, LabRun, Target, Verbs};
use crate::{Cache, KernelError};
use model::Recorded;
use runner::Signals;
use sha2::{Digest, Sha256};
use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::Duration;
use std::{fs, io};

/// Where the kernel lists them.
const SYMBOLS: &str = "/proc/kallsyms";
/// What sending them takes, on the guest's clock.
const SYMBOLS_EXPECTED: Duration = Duration::from_secs(30);

/// Makes a run with a plugin, and returns the recording and what the plugin wrote.
///
/// # Errors
/// When it fails.
pub fn replay(
    lab_run: &LabRun,
    plugin: Plugin,
    verbs: Verbs,
    signals: &Signals,
    observer: &mut dyn GuestObserver,
) -> Result<(Recorded, Vec<u8>), LabError> {
    let lab_run = LabRun { target: Target { plugin: Some(plugin), ..lab_run.target.clone() }, ..lab_run.clone() };
    session::run_one(&lab_run, verbs, signals, observer)
}

/// The lines of the kernel's `/proc/kallsyms` in such a guest, which is booted for it the first time.
///
/// # Errors
/// When the guest fails.
pub fn symbols(target: &Target, verbs: Verbs, signals: &Signals, observer: &mut dyn GuestObserver) -> Result<String, LabError> {
    let place = symbols_file(target)?;
    if let Ok(text) = fs::read_to_string(&place) {
        return Ok(text);
    }
    // This program, which can print them; the one of a recording may be older.
    let target = Target { program: None, files: Vec::new(), plugin: None, ..target.clone() };
    let words = vec!["/teiji".to_owned(), verbs.init.to_owned(), format!("{READ}{SYMBOLS}")];
    let command = GuestCommand { words, counted: false };
    let (mut costs, _) = instruction_count::run(&target, vec![command], SYMBOLS_EXPECTED, verbs, signals, observer)?;
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

/// Where they are kept: the addresses follow from the kernel's image, its arguments and the machine.
fn symbols_file(target: &Target) -> Result<PathBuf, LabError> {
    let image = fs::read(&target.kernel.image)
        .map_err(|error| KernelError::Fetch { name: target.kernel.name.clone(), why: error.to_string() })?;
    let mut hash = Sha256::new();
    hash.update(&image);
    hash.update(target.guest.machine.to_string());
    hash.update(&target.guest.kernel_args);
    let name = hash.finalize().iter().fold(String::new(), |mut name, byte| {
        let _ = write!(name, "{byte:02x}");
        name
    });
    Ok(Cache::for_user()?.beside("symbols").join(name))
}

/// Puts a file in place, whole or not at all.
fn keep(place: &std::path::Path, text: &str) -> io::Result<()> {
    let folder = place.parent().unwrap_or(place);
    fs::create_dir_all(folder)?;
    let part = tempfile::NamedTempFile::new_in(folder)?;
    fs::write(part.path(), text)?;
    part.persist(place).map(drop).map_err(|error| error.error)
}
