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
use anyhow::Context;
use recording::{Recorded, Recording};
use std::path::{Path, PathBuf};

/// Reads recordings with all their samples.
fn read(paths: &[PathBuf]) -> Result<Vec<Recorded>, Failure> {
    paths.iter().map(|path| Recording::open(path).and_then(Recording::summarise).map_err(Failure::bad_input)).collect()
}

/// The figures of others that `--beside` asks for.
fn published(asked: &Path) -> anyhow::Result<::report::Published> {
    if asked == Path::new("published") {
        return Ok(::report::Published::along()?);
    }
    let text = std::fs::read(asked).with_context(|| format!("cannot read {}", asked.display()))?;
    Ok(::report::Published::read(&asked.display().to_string(), &text)?)
}
