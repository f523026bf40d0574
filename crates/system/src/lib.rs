// SPDX-License-Identifier: MIT OR Apache-2.0
//! What several crates ask of Linux in the same way, each written once: [`rights`] that the program
//! has and its caller lacks, [`files`] opened and replaced safely, [`process`]es as /proc shows
//! them, how threads are scheduled ([`scheduling`]), what was used ([`usage`]), memory that is
//! mapped ([`Mapping`]) and allocated ([`Allocator`]), folders for one call ([`ScratchFolder`]),
//! and results of calls ([`done`], [`named`]).
//!
//! In: paths, numbers of processes and threads. Out: what the kernel says of them. Must not touch:
//! the terminal, recordings, and settings of the machine.
#![deny(unsafe_code)]

pub mod files;
pub mod process;
pub mod rights;
pub mod scheduling;
mod scratch;
#[expect(unsafe_code, reason = "the one file that may; each block says why it is sound")]
mod sys;
pub mod usage;

pub use scratch::ScratchFolder;
pub use sys::{Allocator, Mapping, done, signal_action};

/// An error with what it is of in front.
pub fn named(what: impl std::fmt::Display, error: impl Into<std::io::Error>) -> std::io::Error {
    let error = error.into();
    std::io::Error::new(error.kind(), format!("{what}: {error}"))
}
