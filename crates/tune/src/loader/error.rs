// SPDX-License-Identifier: MIT OR Apache-2.0
//! The boot loaders that are known, and why nothing was written or put back.

use std::fmt;
use std::io::{self, ErrorKind};

/// Why nothing was written or put back.
#[derive(Debug, thiserror::Error)]
pub enum LoaderError {
    /// None of those that are known is here.
    #[error(
        "no place known where this machine's boot loader has the kernel's arguments. Looked for \
         /etc/default/grub (GRUB), loader/entries in /boot, /efi and /boot/efi and \
         /etc/kernel/cmdline (systemd-boot), /boot/firmware/cmdline.txt and /boot/cmdline.txt \
         (Raspberry Pi), /boot/extlinux/extlinux.conf and /boot/armbianEnv.txt (U-Boot)"
    )]
    NoPlace,
    /// None of them is here, or only one that is not written: what is to be done by hand.
    #[error("{what}. Nothing was written. By hand: {todo}")]
    ByHand { what: String, todo: String },
    /// It is not known which of them boots the machine.
    #[error("this machine has several: {}. Name the one that boots it with --place", listed(.0))]
    Several(Vec<LoaderPlace>),
    /// The one that was named is not here.
    #[error("this machine has no {}, but {}", .0.name(), listed(.1))]
    NotHere(LoaderPlace, Vec<LoaderPlace>),
    /// What is there is not certain enough to be changed by a program.
    #[error("{0}. Nothing was written: edit it by hand")]
    Unclear(String),
    /// Another program has to do it here.
    #[error(
        "GRUB takes the arguments from entries here, not from /etc/default/grub. Nothing was \
         written. Run: {0}"
    )]
    Entries(String),
    /// A file that cannot be read or written.
    #[error("cannot {action} /{file}: {source}{}", hint(.source))]
    File {
        action: &'static str,
        /// Without the slash that it begins with.
        file: String,
        source: io::Error,
    },
    /// A link that leads out of the machine whose files these are, or to no file.
    #[error("/{file} {why}. Nothing was written")]
    Elsewhere {
        /// Without the slash that it begins with.
        file: String,
        why: &'static str,
    },
    /// The first text is known, but this is neither that nor what was written.
    #[error(
        "/{file} was changed since teiji wrote it. teiji tune --boot --undo --force puts the \
         first text back. To keep it as it is, remove {journal}"
    )]
    ChangedByOthers {
        /// Without the slash that it begins with.
        file: String,
        journal: String,
    },
    /// An entry that was made of what was written.
    #[error(
        "/{file} has {arguments} too, and teiji did not write it. Take them out by hand, or make \
         the entry anew"
    )]
    InAnotherEntry {
        /// Without the slash that it begins with.
        file: String,
        /// Those that were written elsewhere.
        arguments: String,
    },
    /// Somebody else's, or of a journal that is gone.
    #[error("/{0} is there already, and says something else: move it away. Nothing was written")]
    BackupInTheWay(String),
    /// Another process is at it.
    #[error("teiji tune runs already{}: end it first", crate::apply::of_process(.0))]
    Held(String),
    /// Without a journal nothing is written.
    #[error("cannot {action} the journal {path}: {source}{}", hint(.source))]
    Journal { action: &'static str, path: String, source: io::Error },
}

fn listed(places: &[LoaderPlace]) -> String {
    places.iter().map(|place| place.name()).collect::<Vec<_>>().join(", ")
}

fn hint(error: &io::Error) -> &'static str {
    match error.kind() {
        ErrorKind::PermissionDenied => " (it takes root)",
        ErrorKind::ReadOnlyFilesystem => " (mounted read-only)",
        _ => "",
    }
}

impl LoaderError {
    pub(super) fn file(action: &'static str, file: &str) -> impl Fn(io::Error) -> LoaderError {
        move |source| LoaderError::File { action, file: file.to_owned(), source }
    }

    /// Whether another command line is what helps.
    pub fn is_usage(&self) -> bool {
        matches!(self, LoaderError::Several(_) | LoaderError::NotHere(..))
    }
}

/// A kind of boot loader whose files are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoaderPlace {
    /// /etc/default/grub.
    Grub,
    /// Entries, and what new ones are made from.
    SystemdBoot,
    /// cmdline.txt, of a Raspberry Pi.
    CmdlineTxt,
    /// Files that are read and not written.
    UBoot,
}

impl LoaderPlace {
    pub const ALL: [LoaderPlace; 4] =
        [LoaderPlace::Grub, LoaderPlace::SystemdBoot, LoaderPlace::CmdlineTxt, LoaderPlace::UBoot];

    /// As it is named on a command line.
    pub const fn name(self) -> &'static str {
        match self {
            LoaderPlace::Grub => "grub",
            LoaderPlace::SystemdBoot => "systemd-boot",
            LoaderPlace::CmdlineTxt => "cmdline.txt",
            LoaderPlace::UBoot => "u-boot",
        }
    }
}

impl fmt::Display for LoaderPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
