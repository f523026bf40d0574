// SPDX-License-Identifier: MIT OR Apache-2.0
//! One file per verb.

pub mod hackbench;
pub mod lab;
pub mod lab_emulator;
pub mod lab_init;
pub mod load;
pub mod load_worker;
pub mod measure;
pub mod plan_length;
pub mod report;
pub mod run;
mod run_flags;
pub mod show;
pub mod verify;

use crate::exit::Failure;
use recording::{Recorded, Recording};
use std::path::PathBuf;

/// Reads recordings with all their samples.
fn read(paths: &[PathBuf]) -> Result<Vec<Recorded>, Failure> {
    paths.iter().map(|path| Recording::open(path).and_then(Recording::summarise).map_err(Failure::bad_input)).collect()
}
