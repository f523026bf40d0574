// SPDX-License-Identifier: MIT OR Apache-2.0
//! `teiji lab kernels` and `teiji lab fetch`.

use crate::exit::{CommandResult, DONE};
use crate::output;
use anyhow::anyhow;
use lab::{
    Cache, CacheContents, Cached, FLAVOURS, KernelError, KernelName, QemuPart, cached, fetch_qemu,
};
use std::str::FromStr;

#[derive(clap::Args)]
pub struct ListArgs {
    /// Remove this from the cache, by the name in the list [repeatable]
    #[arg(long, value_name = "NAME")]
    remove: Vec<String>,
}

#[derive(clap::Args)]
pub struct FetchArgs {
    /// Kernels, such as debian:amd64 or debian:rt-amd64=6.1.0-56; a prefix of the version is
    /// enough. qemu is the QEMU of PCs, qemu-arm that of the other machines
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
        text.parse()
            .map_or_else(|()| text.parse().map(Fetched::Kernel), |part| Ok(Fetched::Qemu(part)))
    }
}

/// Prints a line for each kernel and QEMU in the cache, or removes some.
pub fn list(args: &ListArgs) -> CommandResult {
    let CacheContents { directory, entries, bytes } = cached()?;
    if !args.remove.is_empty() {
        return remove(&args.remove, &entries);
    }
    if !entries.iter().any(|entry| entry.folder.starts_with(directory.join("kernels"))) {
        let flavours = FLAVOURS.map(|flavour| format!("debian:{}", flavour.name)).join(" ");
        say!("There are no kernels in {}.", directory.display());
        say!(
            "To get some: teiji lab fetch debian:amd64 debian:rt-amd64\nThere are also: {flavours}"
        );
    }
    if entries.is_empty() {
        return Ok(DONE);
    }
    let width = |text: fn(&Cached) -> &str| {
        entries.iter().map(|entry| text(entry).len()).max().unwrap_or(0)
    };
    let name = width(|entry| &entry.name);
    say!("{:name$}  {:>6}  what", "name", "MiB");
    for entry in &entries {
        let parts = [entry.machine, &entry.what, entry.note];
        let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        say!("{:name$}  {}  {}", entry.name, mebibytes(entry.bytes), parts.join(", "));
    }
    let place = directory.display();
    say!("{place} has {} MiB, with Debian's package lists.", mebibytes(bytes).trim_start());
    say!("To remove one: teiji lab kernels --remove NAME (a snapshot is made again)");
    say!("To remove all: rm -r {place}");
    Ok(DONE)
}

fn remove(names: &[String], entries: &[Cached]) -> CommandResult {
    let entry = |name: &String| {
        let known =
            || entries.iter().map(|entry| entry.name.as_str()).collect::<Vec<_>>().join(", ");
        let found = entries.iter().find(|entry| entry.name == *name);
        found.ok_or_else(|| {
            anyhow!(
                "the cache has no '{name}'; it has: {}",
                if entries.is_empty() { "nothing".to_owned() } else { known() }
            )
        })
    };
    // All of them are known before the first goes.
    let going = names.iter().map(entry).collect::<Result<Vec<_>, _>>()?;
    for entry in going {
        let mut waiting =
            || complain!("{}: waiting for another teiji that is fetching something", entry.name);
        lab::remove_cached(entry, &mut waiting)?;
        say!("Removed {}, {} MiB", entry.name, mebibytes(entry.bytes).trim_start());
    }
    Ok(DONE)
}

/// A size for people.
fn mebibytes(bytes: u64) -> String {
    let kib = u32::try_from(bytes >> 10).unwrap_or(u32::MAX);
    format!("{:>6.1}", f64::from(kib) / 1_024.0)
}

/// Gets kernels and QEMUs.
pub fn fetch(args: &FetchArgs) -> CommandResult {
    for name in &args.names {
        if let Fetched::Kernel(KernelName::Path(path)) = name {
            refuse!(
                "'{}' cannot be fetched: expected a kernel of Debian's such as debian:amd64, \
                 qemu or qemu-arm",
                path.display()
            );
        }
    }
    let cache = Cache::for_user()?;
    let mut say = |text: &str| output::complain(text);
    for name in &args.names {
        match name {
            Fetched::Qemu(part) => {
                let folder = fetch_qemu(*part, &mut say)?;
                say!("{}: {}", part.name(), folder.display());
            }
            Fetched::Kernel(KernelName::Debian { flavour, version }) => {
                let kernel = lab::fetch(&cache, *flavour, version.as_deref(), &mut say)?;
                say!("{}: {}", kernel.name, kernel.image.display());
            }
            Fetched::Kernel(KernelName::Path(_)) => {}
        }
    }
    Ok(DONE)
}
