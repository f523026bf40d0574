// SPDX-License-Identifier: MIT OR Apache-2.0
//! The table of a plan's results, from the recordings of its folder, on any machine.

use super::folder::{self, Found, found};
use super::settings::label;
use super::{read, runs};
use anyhow::Context;
use plan::Combination;
use recording::Recording;
use report::{Claims, Matrix};
use std::path::Path;

/// Whether a plan was carried out in this folder.
pub fn is_folder(path: &Path) -> bool {
    folder::plan(path).is_file()
}

/// The plan as run.
pub fn text(path: &Path) -> anyhow::Result<String> {
    let plan = folder::plan(path);
    std::fs::read_to_string(&plan).with_context(|| format!("cannot read {}", plan.display()))
}

/// More runs than these are read for their figures alone: what those may claim takes some milliseconds a run.
const MOST_CLAIMING: usize = 512;

/// What is wanted of a plan's runs beside their figures.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Wanted {
    /// Nothing.
    Figures,
    /// What those may claim, unless there are very many.
    Claims,
}

/// A row for each combination.
pub fn table(path: &Path, wanted: Wanted) -> anyhow::Result<Matrix> {
    let plan = read(&folder::plan(path))?;
    let combinations = plan.combinations()?;
    let labels: Vec<String> = combinations.iter().map(|combination| label(&plan, combination)).collect();
    // What is varied, then what tells combinations apart that were added.
    let mut keys: Vec<&str> = plan.vary.iter().map(|factor| factor.key.as_str()).collect();
    for setting in plan.include.iter().flatten() {
        if !keys.contains(&setting.key.as_str()) {
            keys.push(&setting.key);
        }
    }
    let value = |combination: &Combination, key: &str| {
        let setting = combination.settings.iter().rfind(|setting| setting.key == key);
        setting.map(|setting| setting.value.to_string())
    };
    let values = combinations.iter().map(|combination| keys.iter().map(|key| value(combination, key)).collect());
    let mut matrix = Matrix::new(plan.title.clone(), keys.iter().map(|key| (*key).to_owned()).collect(), values);
    matrix.limits.clone_from(&plan.limits);
    let runs = runs(&plan, combinations.len())?;
    for (place, run) in runs.iter().enumerate() {
        let recording = folder::recording(path, place, runs.len(), &labels[run.combination]);
        match found(&recording)? {
            Found::Done if wanted == Wanted::Claims && runs.len() <= MOST_CLAIMING => {
                let (recorded, claims) = Recording::open(&recording)?.analyse(Claims::of)?;
                matrix.add_with_claims(run.combination, run.repeat, recorded, claims);
            }
            Found::Done => matrix.add(run.combination, run.repeat, Recording::open(&recording)?.summarise()?),
            Found::Nothing | Found::Partial => matrix.add_missing(run.combination),
        }
    }
    if wanted == Wanted::Claims && runs.len() > MOST_CLAIMING {
        matrix.claims_left_out_above = Some(MOST_CLAIMING);
    }
    Ok(matrix)
}
