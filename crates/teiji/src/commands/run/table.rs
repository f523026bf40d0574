// SPDX-License-Identifier: MIT OR Apache-2.0
//! The table of a plan's results, from the recordings of its folder, on any machine.

use super::folder::{self, Found, found};
use super::settings::label;
use plan::{Combination, Plan, Value};
use recording::Recording;
use report::Matrix;
use std::path::Path;

/// Whether a plan was carried out in this folder.
pub fn is_folder(path: &Path) -> bool {
    folder::plan(path).is_file()
}

/// A row for each combination.
pub fn table(path: &Path) -> anyhow::Result<Matrix> {
    let plan = Plan::read(&folder::plan(path), &mut |path| std::fs::read_to_string(path))?;
    let combinations = plan.combinations()?;
    let labels: Vec<String> = combinations.iter().map(|combination| label(&plan, combination)).collect();
    let value = |value: &Option<Value>| value.as_ref().map_or_else(|| "–".to_owned(), ToString::to_string);
    let factors = plan.vary.iter().map(|factor| factor.key.clone()).collect();
    let mut matrix = if plan.vary.is_empty() {
        // Without factors, what was added tells rows apart.
        Matrix::new(plan.title.clone(), vec!["run".to_owned()], labels.iter().map(|label| vec![label.clone()]))
    } else {
        let values = |combination: &Combination| combination.factors.iter().map(value).collect();
        Matrix::new(plan.title.clone(), factors, combinations.iter().map(values))
    };
    let runs = plan.order.runs(combinations.len(), plan.order.seed.unwrap_or(0));
    for (place, run) in runs.iter().enumerate() {
        let recording = folder::recording(path, place, runs.len(), &labels[run.combination]);
        match found(&recording)? {
            Found::Done => matrix.add(run.combination, &Recording::open(&recording)?.summarise()?),
            Found::Nothing | Found::Partial => matrix.missing += 1,
        }
    }
    Ok(matrix)
}
