// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whether the runs of a plan can begin: found before the first of them, not at each.

use super::plan_entry::PlanEntry;
use crate::exit::Failure;
use crate::output::counted;
use anyhow::anyhow;
use probe::ProbeSettingError;
use system::rights;

/// Whether the emulators and programs for all guests are there, and on this machine what its probes
/// need.
pub fn all_can_begin<'p>(points: impl Iterator<Item = &'p PlanEntry>) -> Result<(), Failure> {
    let mut known = Vec::new();
    for point in points {
        let Some(kernel) = &point.kernel else {
            lacking(point).map_or(Ok(()), |lacking| Err(Failure::run_failed(lacking)))?;
            continue;
        };
        // The lab is other programs: QEMU, and what fetches kernels.
        rights::may_start_programs().map_err(|error| anyhow!("kernel={kernel}: {error}"))?;
        let guests = point.guest.guests(std::slice::from_ref(kernel))?;
        for machine in guests.into_iter().map(|guest| guest.machine) {
            let planned_boots = (machine, point.guest.program(), point.guest.qemu());
            if !known.contains(&planned_boots) {
                known.push(planned_boots);
                lab::can_begin(machine, planned_boots.1, planned_boots.2)?;
            }
        }
    }
    Ok(())
}

/// What this machine lacks for a run on it; none where it can be measured, or is of a guest.
fn lacking(point: &PlanEntry) -> Option<ProbeSettingError> {
    let mut run = point.run.clone().filter(|_| point.kernel.is_none())?;
    let probe = point.measured.chosen_probe().and_then(|probe| probe.here(&mut run));
    probe.map_or_else(Some, |probe| probe.lacking(&run))
}

/// Why runs are left out, each with their numbers.
type LeftOut = Vec<(ProbeSettingError, Vec<usize>)>;

/// Those of these runs, by their numbers, that this machine can measure, and why the others are
/// left out.
pub fn divided<'p>(
    runs: Vec<usize>,
    point: impl Fn(usize) -> &'p PlanEntry,
) -> (Vec<usize>, LeftOut) {
    let mut left_out: LeftOut = Vec::new();
    let mut can_begin = |run: &usize| {
        let Some(why) = lacking(point(*run)) else { return true };
        match left_out.iter_mut().find(|(known, _)| *known == why) {
            Some((_, runs)) => runs.push(*run),
            None => left_out.push((why, vec![*run])),
        }
        false
    };
    let measurable = runs.into_iter().filter(|run| can_begin(run)).collect();
    (measurable, left_out)
}

/// Those of these runs that this machine can measure. Of the others it is said how many are left
/// out, and why. `are_all`: none of the plan's runs is recorded yet.
///
/// # Errors
/// What the first lacks, where nothing of the plan can be measured.
pub fn measurable(
    (measurable, left_out): (Vec<usize>, LeftOut),
    are_all: bool,
) -> Result<Vec<usize>, Failure> {
    for (why, runs) in left_out {
        if are_all && measurable.is_empty() {
            return Err(Failure::run_failed(why));
        }
        complain!("{} left out: {why}", counted(runs.len(), "run"));
    }
    Ok(measurable)
}
