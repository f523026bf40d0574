// SPDX-License-Identifier: MIT OR Apache-2.0
//! Timestamps that were made elsewhere: bytes of a stream in, rows out.
//!
//! `number.rs` reads one number, `records.rs` cuts bytes into records, `series.rs` makes times of
//! their numbers: these three are pure. `input.rs` opens and reads the stream. `findings.rs` counts
//! what a reader of the recording has to know.

mod findings;
mod input;
mod number;
mod records;
mod series;

pub(crate) use findings::Findings;
pub(crate) use input::{Input, Read, absent, is_file, place_error};
pub use number::Number;
pub use records::{Format, Record, Records};
pub use series::{Kind, Series, Taken, Unreadable};
