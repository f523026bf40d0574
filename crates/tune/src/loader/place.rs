// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which boot loader a machine has, and where it has the kernel's arguments.

use super::error::{LoaderError, LoaderPlace};
use super::layout::{CommandLine, Layout, Source, only_line, text};
use super::{entries, grub, u_boot};
use host::HostRoot;

impl LoaderPlace {
    fn is_here(self, root: &HostRoot) -> Result<bool, LoaderError> {
        match self {
            LoaderPlace::Grub => Ok(root.path(grub::FILE).exists()),
            LoaderPlace::SystemdBoot => entries::is_here(root),
            LoaderPlace::CmdlineTxt => Ok(cmdline_txt(root).is_some()),
            LoaderPlace::UBoot => Ok(u_boot::place(root).is_some()),
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

    /// Where this machine's arguments are written, and what is done with them then.
    pub fn where_written(root: &HostRoot) -> Option<String> {
        // Others than root often may not look into the partition of the boot loader.
        let is_here = |place: &LoaderPlace| place.is_here(root).unwrap_or(false);
        let here: Vec<LoaderPlace> = LoaderPlace::ALL.into_iter().filter(is_here).collect();
        if let [only] = here[..] {
            return only.written_in(root);
        }
        let each =
            |place: &LoaderPlace| Some(format!("{}: {}", place.name(), place.written_in(root)?));
        let all: Vec<String> = here.iter().filter_map(each).collect();
        let all = (!all.is_empty()).then(|| all.join("; "))?;
        Some(format!("in the one that boots this machine. {all}"))
    }

    pub(super) fn written_in(self, root: &HostRoot) -> Option<String> {
        match self {
            LoaderPlace::Grub => Some(grub::place(root)),
            LoaderPlace::SystemdBoot => Some(entries::place(root).to_owned()),
            LoaderPlace::CmdlineTxt => {
                Some(format!("/{} (all in its one line), then reboot", cmdline_txt(root)?))
            }
            LoaderPlace::UBoot => u_boot::place(root),
        }
    }

    pub(super) fn layout(self, root: &HostRoot) -> Result<Layout, LoaderError> {
        let layout = match self {
            LoaderPlace::Grub => grub::layout(root),
            LoaderPlace::SystemdBoot => entries::layout(root),
            LoaderPlace::CmdlineTxt => cmdline_txt_layout(root),
            LoaderPlace::UBoot => u_boot::layout(root),
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
