// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which boot loader a machine has, and where it has the kernel's arguments.

use super::error::{LoaderError, LoaderPlace};
use super::layout::{CommandLine, Layout, Source, only_line, text};
use super::{entries, grub};
use host::HostRoot;

impl LoaderPlace {
    fn is_here(self, root: &HostRoot) -> Result<bool, LoaderError> {
        match self {
            LoaderPlace::Grub => Ok(root.path(grub::FILE).exists()),
            LoaderPlace::SystemdBoot => entries::is_here(root),
            LoaderPlace::CmdlineTxt => Ok(cmdline_txt(root).is_some()),
        }
    }

    /// The one that was named, or the only one.
    pub(super) fn find(
        root: &HostRoot,
        named: Option<LoaderPlace>,
    ) -> Result<LoaderPlace, LoaderError> {
        let mut here = Vec::new();
        for place in LoaderPlace::ALL {
            if place.is_here(root)? {
                here.push(place);
            }
        }
        match (named, &here[..]) {
            (_, []) => Err(LoaderError::NoPlace),
            (Some(named), here) if here.contains(&named) => Ok(named),
            (Some(named), _) => Err(LoaderError::NotHere(named, here)),
            (None, [only]) => Ok(*only),
            (None, _) => Err(LoaderError::Several(here)),
        }
    }

    pub(super) fn layout(self, root: &HostRoot) -> Result<Layout, LoaderError> {
        let layout = match self {
            LoaderPlace::Grub => grub::layout(root),
            LoaderPlace::SystemdBoot => entries::layout(root),
            LoaderPlace::CmdlineTxt => cmdline_txt_layout(root),
        }?;
        layout.has_arguments_only()?;
        Ok(layout)
    }
}

/// Where a Raspberry Pi has it. Where it has both, the second is a text that says so.
fn cmdline_txt(root: &HostRoot) -> Option<&'static str> {
    ["boot/firmware/cmdline.txt", "boot/cmdline.txt"]
        .into_iter()
        .find(|file| root.path(file).exists())
}

fn cmdline_txt_layout(root: &HostRoot) -> Result<Layout, LoaderError> {
    let file = cmdline_txt(root).ok_or(LoaderError::NoPlace)?;
    let config = format!("{}config.txt", file.trim_end_matches("cmdline.txt"));
    if root.path(&config).exists() {
        let names_another = |line: &str| match line.trim().split_once('=') {
            Some(("cmdline", value)) => value.trim() != "cmdline.txt",
            Some(("os_prefix", value)) => !value.trim().is_empty(),
            _ => false,
        };
        if let Some(line) = text(root, &config)?.lines().find(|line| names_another(line)) {
            return Err(LoaderError::Unclear(format!(
                "/{config} names another file: {}",
                line.trim()
            )));
        }
    }
    let source = Source::read(root, file)?;
    let line = CommandLine::in_one(0, only_line(file, &source.text)?);
    Ok(Layout { files: vec![source], lines: vec![line], ..Layout::default() })
}

/// Whether a file is one that may be written here: a journal names it, and is obeyed with root's
/// rights.
pub(super) fn is_known_file(file: &str) -> bool {
    let is_in = |folder: &str, ending: &str| {
        file.strip_prefix(folder).is_some_and(|name| {
            name.ends_with(ending) && !name.contains('/') && !name.starts_with('.')
        })
    };
    [grub::FILE, entries::CMDLINE, "boot/firmware/cmdline.txt", "boot/cmdline.txt"].contains(&file)
        || is_in("etc/default/grub.d/", ".cfg")
        || entries::MOUNTS.iter().any(|mount| is_in(&format!("{mount}/loader/entries/"), ".conf"))
}
