// SPDX-License-Identifier: MIT OR Apache-2.0
//! Writing the kernel's arguments to where the boot loader of this machine has them, and putting
//! the file back.
//!
//! In: the arguments that are planned. Out: files of the boot loader, each replaced as a whole,
//! with a copy beside it and a journal that outlives reboots. Must not touch: other arguments,
//! other entries, and anything that is made from these files. The commands that make it are told,
//! not run.

mod attributes;
mod entries;
mod error;
mod grub;
mod journal;
mod layout;
mod line;
mod place;
mod replace;
mod shell;
mod u_boot;
mod variables;
mod write;

pub use error::{LoaderError, LoaderPlace};
pub use write::{LoaderFile, LoaderUndo, LoaderWrite};

#[cfg(test)]
mod tests;
