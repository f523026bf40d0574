// SPDX-License-Identifier: MIT OR Apache-2.0
//! The `vmlinux` that lines of the kernel's source are taken from.

use super::Args;
use crate::exit::Failure;
use anyhow::anyhow;
use explain::{Lines, Vmlinux, VmlinuxError};
use model::Recorded;
use plan::Machine;
use std::fs::File;
use std::path::Path;

/// Whether lines can be had for a recording's guest.
pub fn suits(recorded: &Recorded) -> anyhow::Result<()> {
    match recorded.document.lab.as_ref().map(|facts| facts.guest.machine) {
        Some(machine) if machine != Machine::X86_64 => Err(anyhow!(
            "{} was recorded on {machine}: --vmlinux works with guests of x86_64 only",
            recorded.path.display()
        )),
        _ => Ok(()),
    }
}

/// Reads it: before a guest is started for it.
pub fn open(path: &Path) -> Result<Vmlinux, Failure> {
    let file = File::open(path).map_err(VmlinuxError::from);
    file.and_then(Vmlinux::read).map_err(|error| refused(path, error))
}

/// Its lines, if it is of the kernel that lists these symbols.
pub fn lines<'a>(vmlinux: &'a Vmlinux, args: &Args, listed: &str) -> Result<Lines<'a>, Failure> {
    let path = args.vmlinux.as_deref().unwrap_or(Path::new(""));
    vmlinux.check(listed).and_then(|()| vmlinux.lines()).map_err(|error| refused(path, error))
}

fn refused(path: &Path, error: VmlinuxError) -> Failure {
    let name = path.display();
    match error {
        VmlinuxError::Io(error) => {
            anyhow::Error::new(error).context(format!("cannot read {name}")).into()
        }
        error => anyhow!("{name}: {error}").into(),
    }
}
