// SPDX-License-Identifier: MIT OR Apache-2.0
//! The kernel's timerlat tracer at work: one session of it for all threads of a run, and the rows
//! of each CPU.

mod kernel;
mod rows;
mod user;

pub(crate) use kernel::{Thread, file_of_user, lacks, trace};
pub(crate) use rows::{Row, Rows};
pub(crate) use user::UserThread;
