// SPDX-License-Identifier: MIT OR Apache-2.0
//! The limits that recordings are judged by: each by those of its own plan, unless the command line
//! names some.

use super::{joint, run};
use crate::exit::Failure;
use judge::Examined;
use plan::Limit;
use report::{Gate, LimitSources};
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
        let of_plan = |folder: PathBuf| {
            let limits = run::limits(&folder).map_err(Failure::bad_input)?;
            Ok(OfPlan { place: joint::same(&folder), folder, limits })
        };
        joint::plans(paths)?.into_iter().map(of_plan).collect::<Result<_, _>>().map(PlanLimits)
    }

    /// Those of the plan that a recording is of; empty where it has none.
    pub fn of(&self, recording: &Path) -> &[Limit] {
        let recording = joint::same(recording);
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

    /// The limits of what is judged together: phases of one run may be of plans that differ in
    /// them, and keep to all of them.
    pub fn limits_of(&self, together: &[PathBuf]) -> Vec<Limit> {
        if self.named.is_empty() {
            return Limit::each_once(
                together.iter().flat_map(|recording| self.of_plans.of(recording)),
            );
        }
        self.named.clone()
    }

    /// What becomes of them in what was examined, which are these recordings.
    pub fn judge(&self, together: &[PathBuf], examined: &Examined) -> Gate {
        Gate::judge_among(&self.limits_of(together), examined, !self.has_none())
    }

    /// Where they come from.
    pub fn sources(&self) -> LimitSources {
        LimitSources { plans: self.of_plans.sources(), named: self.named.clone() }
    }
}
