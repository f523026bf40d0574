// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where the limits of a gate come from: the plans of what it judges, or who calls it, whose limits
//! take their place.

use crate::format::list;
use crate::language::tr;
use judge::{Criterion, Gate, Judged, LimitSources};
use plan::Limit;
use std::path::PathBuf;

/// A sentence on each of them; none where it is plain.
pub(crate) fn in_words(gate: &Gate) -> Vec<String> {
    let LimitSources { plans, named } = &gate.sources;
    if named.is_empty() {
        // The boots of one plan have one folder each.
        let first_of = |(place, (_, limits)): &(usize, &(PathBuf, Vec<Limit>))| {
            plans.iter().position(|(_, known)| known == limits) == Some(*place)
        };
        let one = |(_, (_, limits)): (usize, &(PathBuf, Vec<Limit>))| {
            let alike = plans.iter().filter(|(_, known)| known == limits);
            let alike: Vec<String> = alike.map(|(plan, _)| plan.display().to_string()).collect();
            tr!(limits_of_plans_limits, plans = list(&alike), limits = listed(limits))
        };
        return plans.iter().enumerate().filter(first_of).map(one).collect();
    }
    if plans.is_empty() {
        return Vec::new();
    }
    let one =
        |(plan, limits): &(PathBuf, Vec<Limit>)| format!("{} ({})", plan.display(), listed(limits));
    let plans: Vec<String> = plans.iter().map(one).collect();
    vec![tr!(limits_limit_limits_in, limits = listed(named), plans = list(&plans))]
}

/// `--limit`, or the plans that one was written in; none of another criterion, or where that is
/// not known.
pub(super) fn of(gate: &Gate, judged: &Judged) -> Option<String> {
    let Criterion::Limit(limit) = &judged.criterion else { return None };
    if gate.sources.named.contains(limit) {
        return Some("--limit".to_owned());
    }
    let is_of = |(plan, limits): &&(PathBuf, Vec<Limit>)| {
        limits.contains(limit)
            && plan.parent().is_some_and(|folder| judged.recording.starts_with(folder))
    };
    gate.sources.plans.iter().find(is_of).map(|(plan, _)| plan.display().to_string())
}

/// `max<1us, p99<20us`.
fn listed(limits: &[Limit]) -> String {
    limits.iter().map(Limit::to_string).collect::<Vec<_>>().join(", ")
}
