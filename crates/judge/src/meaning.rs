// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whether a limit says anything of what a probe measures.

use crate::Lacking;
use model::{Column, ColumnUnit, ProbeStatement};
use plan::{Count, Limit, Relation, Subject};
use std::collections::BTreeSet;

/// The column that a limit names, and its number, from 0.
pub(crate) fn named<'p>(limit: &Limit, probe: &'p ProbeStatement) -> Option<(usize, &'p Column)> {
    probe.columns.iter().enumerate().find(|(_, column)| limit.names(&column.name))
}

/// Why a limit says nothing of what a probe measures; none if it does. Of events, which have no
/// planned time, none is late or skipped.
pub(crate) fn without_meaning(limit: &Limit, probe: &ProbeStatement) -> Option<Lacking> {
    match limit.subject {
        Subject::Count { of: Count::Late | Count::Skipped, .. } => {
            (!probe.is_planned()).then_some(Lacking::Unplanned)
        }
        Subject::Column { time, number } => {
            let column = named(limit, probe).filter(|(_, column)| is_limited(column));
            let fits = |column: &Column| match column.unit {
                ColumnUnit::Nanoseconds => time.0 > 0 && limit.relation != Relation::Equal,
                ColumnUnit::Count => number.is_some(),
            };
            match column {
                None => Some(Lacking::Column),
                Some((_, column)) => (!fits(column)).then_some(Lacking::ColumnUnit),
            }
        }
        Subject::Latency { .. } | Subject::Rate { .. } | Subject::Count { of: Count::Lost, .. } => {
            None
        }
    }
}

fn is_limited(column: &Column) -> bool {
    column.unit == ColumnUnit::Nanoseconds || column.adds_up()
}

/// Why a limit says nothing of what any of these probes measures; none if it does of one.
pub fn no_meaning(limit: &Limit, probes: &[&ProbeStatement]) -> Option<NoMeaning> {
    let lacking: Option<Vec<Lacking>> =
        probes.iter().map(|probe| without_meaning(limit, probe)).collect();
    let why = *lacking?.first()?;
    let each_once = |all: Vec<&str>| {
        all.into_iter().collect::<BTreeSet<_>>().into_iter().collect::<Vec<_>>().join(", ")
    };
    let names = probes.iter().map(|probe| probe.name.as_ref()).collect();
    let columns = probes.iter().flat_map(|probe| &probe.columns);
    let columns = columns.filter(|column| is_limited(column)).map(|column| column.name.as_ref());
    Some(NoMeaning {
        limit: limit.to_string(),
        probes: each_once(names),
        reason: reason(limit, why, &each_once(columns.collect())),
        is_of_column: why != Lacking::Unplanned,
    })
}

/// Refuses limits that say nothing of what any of these probes measures.
///
/// # Errors
/// The first such limit.
pub fn check_meaning(limits: &[Limit], probes: &[&ProbeStatement]) -> Result<(), NoMeaning> {
    limits.iter().find_map(|limit| no_meaning(limit, probes)).map_or(Ok(()), Err)
}

/// Why a limit says nothing of what probes measure.
#[derive(Clone, Debug, thiserror::Error)]
#[error("the limit '{limit}' has no meaning for the probe {probes}: {reason}")]
pub struct NoMeaning {
    limit: String,
    /// Their names.
    probes: String,
    reason: String,
    /// Whether it names a column.
    pub is_of_column: bool,
}

/// `columns` are those that can be limited.
fn reason(limit: &Limit, why: Lacking, columns: &str) -> String {
    let name = limit.name();
    match why {
        Lacking::Column => format!(
            "'{name}' is neither max, mean, sd, peak-to-peak, a quantile such as p99.9, a rate, \
             skipped, late or lost, nor a column that can be limited: {columns}"
        ),
        Lacking::ColumnUnit => format!(
            "the column {name} is of the other kind. Write a time, such as {name}<5ms, or a \
             number, such as {name}==0"
        ),
        _ => "its events are not planned, so none is late or skipped. Limit max, a quantile, a \
              rate or lost"
            .to_owned(),
    }
}
