// SPDX-License-Identifier: MIT OR Apache-2.0
//! The limits that recordings are judged by: each by those of its own plan, unless the command line
//! names some.

use super::{named, recordings, run};
use crate::exit::{DONE, Failure, of_verdict};
use judge::{Gate, LimitSources};
use model::Examined;
use plan::Limit;
use report::GateReport;
use std::path::{Path, PathBuf};

/// The limits of the plans that were named.
#[derive(Default)]
pub struct PlanLimits(Vec<OfPlan>);

struct OfPlan {
    /// As it was named.
    folder: PathBuf,
    /// The same for each of its names.
    place: PathBuf,
    limits: Vec<Limit>,
}

impl PlanLimits {
    /// Reads them.
    pub fn read(paths: &[PathBuf]) -> Result<Self, Failure> {
        let mut plans: Vec<OfPlan> = Vec::new();
        for folder in named::plans(paths)? {
            let place = named::same(&folder);
            // Named twice, it is one plan.
            if plans.iter().all(|known| known.place != place) {
                plans.push(OfPlan { limits: run::limits(&folder)?, place, folder });
            }
        }
        Ok(PlanLimits(plans))
    }

    /// Those of the plan that a recording is of; empty where it has none.
    pub fn of(&self, recording: &Path) -> &[Limit] {
        let recording = named::same(recording);
        self.0.iter().find(|one| recording.starts_with(&one.place)).map_or(&[], |one| &one.limits)
    }

    /// Those of all plans, each once.
    pub fn all(&self) -> Vec<Limit> {
        Limit::each_once(self.0.iter().flat_map(|one| &one.limits))
    }

    /// Each plan that has some, by its file.
    pub fn sources(&self) -> Vec<(PathBuf, Vec<Limit>)> {
        let with_limits = self.0.iter().filter(|one| !one.limits.is_empty());
        with_limits.map(|one| (executor::plan_file(&one.folder), one.limits.clone())).collect()
    }

    /// Whether plans differ in them.
    pub fn differ(&self) -> bool {
        self.0.iter().any(|one| one.limits != self.0[0].limits)
    }
}

/// What holds limits against what was named: those of the command line, or of each recording those
/// of its plan.
pub struct Judge {
    named: Vec<Limit>,
    of_plans: PlanLimits,
}

impl Judge {
    /// By these limits of the command line, if there are any.
    pub fn new(paths: &[PathBuf], named: &[Limit]) -> Result<Self, Failure> {
        Ok(Judge { named: named.to_owned(), of_plans: PlanLimits::read(paths)? })
    }

    /// Whether nobody named any.
    pub fn has_none(&self) -> bool {
        self.named.is_empty() && self.of_plans.sources().is_empty()
    }

    /// Holds them against these recordings, those of one run together, and hands each of what was
    /// examined on.
    pub fn judge(
        &self,
        found: &[named::Found],
        mut examined: impl FnMut(Examined),
    ) -> Result<GateReport, Failure> {
        let mut report = GateReport::default();
        let (mut places, mut probes) = (Vec::new(), Vec::new());
        for together in named::judged_together(found)? {
            places.extend(together.iter().map(|recording| named::same(recording)));
            let limits = self.limits_of(&together);
            let one = recordings::examine_pool(&together, &Limit::exact_request(&limits))?;
            report.add(Gate::judge_among(&limits, &one, !self.has_none()), &one);
            probes.push(one.recorded.document.probe.clone());
            examined(one);
        }
        recordings::check_columns(&self.named, probes.iter())?;
        let plans = self.of_plans.sources();
        let is_recorded = |folder: &Path| {
            let folder = named::same(folder);
            places.iter().any(|place| place.starts_with(&folder))
        };
        report.gate.with_sources(LimitSources { plans, named: self.named.clone() }, is_recorded);
        Ok(report)
    }

    /// The limits of what is judged together: phases of one run may be of plans that differ in
    /// them, and keep to all of them.
    fn limits_of(&self, together: &[PathBuf]) -> Vec<Limit> {
        if !self.named.is_empty() {
            return self.named.clone();
        }
        Limit::each_once(together.iter().flat_map(|recording| self.of_plans.of(recording)))
    }
}

/// Limits of the command line held against all that was named, folders of plans among it.
pub fn judge_all(paths: &[PathBuf], limits: &[Limit]) -> Result<GateReport, Failure> {
    if limits.is_empty() {
        return Ok(GateReport::default());
    }
    Judge::new(paths, limits)?.judge(&named::recordings(paths)?.0, drop)
}

/// How a command ends that may hold limits against recordings: without any nothing can fail.
pub fn ended(limits: &[Limit], report: &GateReport) -> u8 {
    if limits.is_empty() { DONE } else { of_verdict(report.gate.verdict()) }
}
