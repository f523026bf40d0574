// SPDX-License-Identifier: MIT OR Apache-2.0
//! One file per verb.

pub mod compare;
pub mod gate;
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
use ::report::{Claims, Examined, Language};
use anyhow::{Context, anyhow};
use recording::{Recorded, Recording};
use stats::Analysis;
use std::path::{Path, PathBuf};

/// A language by its tag.
fn language(tag: &str) -> Result<Language, String> {
    let tags = || Language::ALL.map(Language::tag).join(" or ");
    Language::ALL.into_iter().find(|language| language.tag() == tag).ok_or_else(|| format!("it is {}", tags()))
}

/// Reads recordings with all their samples.
fn read(paths: &[PathBuf]) -> Result<Vec<Recorded>, Failure> {
    paths.iter().map(|path| Recording::open(path).and_then(Recording::summarise).map_err(Failure::bad_input)).collect()
}

/// Reads recordings with all their samples, and what these tell beyond their figures.
fn examine(paths: &[PathBuf]) -> Result<Vec<Examined>, Failure> {
    let examine = |path: &PathBuf| {
        if run::is_folder(path) {
            let name = path.display();
            return Err(Failure::bad_input(anyhow!("{name} is the folder of a plan: name its recordings, {name}/*.teiji")));
        }
        let (recorded, analyses) =
            Recording::open(path).and_then(|one| one.analyse(Analysis::clone)).map_err(Failure::bad_input)?;
        Ok(Examined { recorded, analyses })
    };
    paths.iter().map(examine).collect()
}

/// Reads recordings with all their samples, and keeps of each thread what its figures may claim.
fn read_with_claims(paths: &[PathBuf]) -> Result<Vec<(Recorded, Vec<Claims>)>, Failure> {
    let read = |path: &PathBuf| Recording::open(path).and_then(|one| one.analyse(Claims::of)).map_err(Failure::bad_input);
    paths.iter().map(read).collect()
}

/// The figures of others that `--beside` asks for.
fn published(asked: &Path) -> anyhow::Result<::report::Published> {
    if asked == Path::new("published") {
        return Ok(::report::Published::along()?);
    }
    let text = std::fs::read(asked).with_context(|| format!("cannot read {}", asked.display()))?;
    Ok(::report::Published::read(&asked.display().to_string(), &text)?)
}
