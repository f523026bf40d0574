// SPDX-License-Identifier: MIT OR Apache-2.0
//! `teiji lab kernels` and `teiji lab fetch`.

use crate::exit::{CommandResult, Failure};
use crate::output;
use lab::{Cache, FLAVOURS, KernelError, KernelName, QemuPart, fetch_qemu};
use std::process::ExitCode;
use std::str::FromStr;

#[derive(clap::Args)]
pub struct ListArgs {}

#[derive(clap::Args)]
pub struct FetchArgs {
    /// Kernels, such as debian:amd64 or debian:rt-amd64=6.1.0-56; a prefix of the version is enough. qemu is the QEMU of PCs,
    /// qemu-arm that of the other machines
    #[arg(value_name = "NAME", required = true)]
    names: Vec<Fetched>,
}

/// Something that can be fetched.
#[derive(Clone, Debug)]
enum Fetched {
    Qemu(QemuPart),
    Kernel(KernelName),
}

impl FromStr for Fetched {
    type Err = KernelError;

    fn from_str(text: &str) -> Result<Self, KernelError> {
        text.parse().map_or_else(|()| text.parse().map(Fetched::Kernel), |part| Ok(Fetched::Qemu(part)))
    }
}

/// Prints a line for each kernel in the cache.
pub fn list(_: &ListArgs) -> CommandResult {
    let cache = Cache::for_user().map_err(Failure::run_failed)?;
    let kernels = cache.list();
    if kernels.is_empty() {
        let flavours = FLAVOURS.map(|flavour| format!("debian:{}", flavour.name)).join(" ");
        output::say(&format!("There are no kernels in {}.", cache.directory().display()));
        output::say(&format!("To get some: teiji lab fetch debian:amd64 debian:rt-amd64\nThere are also: {flavours}"));
        return Ok(ExitCode::SUCCESS);
    }
    let width = kernels.iter().map(|kernel| kernel.name.len()).max().unwrap_or(0);
    output::say(&format!("{:width$}  {:8}  {:27}  {:>8}", "kernel", "machine", "preemption", "MiB"));
    for kernel in kernels {
        let size = std::fs::metadata(&kernel.image).map_or(0, |file| file.len());
        let chosen = match kernel.name.parse() {
            Ok(KernelName::Debian { flavour, .. }) => cache.find(flavour, None).is_some_and(|usual| usual == kernel),
            _ => false,
        };
        output::say(
            format!(
                "{:width$}  {:8}  {:27}  {:>8.1}  {}",
                kernel.name,
                kernel.machine.map_or("", plan::Machine::name),
                kernel.preemption().as_deref().unwrap_or("not known"),
                // Of a size, for people.
                f64::from(u32::try_from(size >> 10).unwrap_or(u32::MAX)) / 1_024.0,
                if chosen { "without a version, this one" } else { "" },
            )
            .trim_end(),
        );
    }
    output::say(&format!("In {}", cache.directory().display()));
    Ok(ExitCode::SUCCESS)
}

/// Gets kernels and QEMUs.
pub fn fetch(args: &FetchArgs) -> CommandResult {
    for name in &args.names {
        if let Fetched::Kernel(KernelName::Path(path)) = name {
            let error = anyhow::anyhow!("{} is a path: only kernels of Debian's are fetched", path.display());
            return Err(Failure::bad_input(error));
        }
    }
    let cache = Cache::for_user().map_err(Failure::run_failed)?;
    let mut say = |text: &str| output::complain(text);
    for name in &args.names {
        match name {
            Fetched::Qemu(part) => {
                let folder = fetch_qemu(*part, &mut say).map_err(Failure::run_failed)?;
                output::say(&format!("{}: {}", part.name(), folder.display()));
            }
            Fetched::Kernel(KernelName::Debian { flavour, version }) => {
                let kernel = lab::fetch(&cache, *flavour, version.as_deref(), &mut say).map_err(Failure::run_failed)?;
                output::say(&format!("{}: {}", kernel.name, kernel.image.display()));
            }
            Fetched::Kernel(KernelName::Path(_)) => {}
        }
    }
    Ok(ExitCode::SUCCESS)
}
