// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whether `--resume` would make any of the runs that a plan lacks: a table advises it only then.

use super::can_begin::{all_can_begin, divided};
use super::{Begun, checked};
use executor::Boot;
use recording::Recording;
use report::Resumption;
use std::path::Path;

/// What resuming the plan in this folder would do; none where no run is missing.
pub fn resumption(folder: &Path, begun: &Begun) -> Option<Resumption> {
    let is_missing = begun.runs.iter().any(|(_, recording)| recording.is_none());
    is_missing.then(|| lacking(folder, begun).map_or(Resumption::Possible, Resumption::Lacks))
}

/// Why it would make none of them.
fn lacking(folder: &Path, begun: &Begun) -> Option<String> {
    let of_machine = |place: usize| begun.left_out.iter().find(|(known, _)| *known == place);
    let mut missing = begun.runs.iter().zip(0..).filter(|((_, recording), _)| recording.is_none());
    if begun.unplanned.is_none() && missing.all(|(_, place)| of_machine(place).is_some()) {
        return begun.left_out.first().map(|(_, why)| why.clone());
    }
    let boot = executor::boot(folder);
    if let Some(boot) = &boot
        && Boot::now().ok().as_ref() != Some(boot)
    {
        return Some(format!("they are of another boot ({})", boot.kernel));
    }
    let points = match checked(&begun.plan) {
        Ok(points) => points,
        Err(errors) => return errors.to_string().lines().next().map(str::to_owned),
    };
    for (run, recording) in &begun.runs {
        let Some(path) = recording else { continue };
        let Ok(recording) = Recording::open(path) else { continue };
        let differ = points[run.combination].differences(recording.document());
        if let Some(one) = differ.unwrap_or_default().first() {
            return Some(format!("the plan was changed ({}: {one})", path.display()));
        }
    }
    let missing = begun.runs.iter().filter(|(_, recording)| recording.is_none());
    let missing: Vec<usize> = missing.map(|(run, _)| run.combination).collect();
    if boot.is_none() {
        let missing = missing.iter().map(|combination| &points[*combination]);
        return all_can_begin(missing).err().map(|failure| failure.to_string());
    }
    let (measurable, left_out) = divided(missing, |combination| &points[combination]);
    let why = left_out.into_iter().next().filter(|_| measurable.is_empty())?.0;
    Some(why.to_string())
}
