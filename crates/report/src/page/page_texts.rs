// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a page and Markdown say that a terminal does not: the figure at their head, the conditions,
//! what else the machine did, how it was measured.

use crate::format;
use crate::language::{Text, tr};
use crate::overview::Overview;
use crate::sections::activity::{self, Activity};
use crate::sections::columns::Measured;
use crate::sections::conditions::{self, Value};
use crate::sections::jitter::{self, Spread};
use crate::sections::method::{self, MethodRow};
use crate::sections::verdict;

pub(crate) struct PageTexts {
    pub(crate) headline: Option<Headline>,
    pub(crate) facts: Vec<FactRow>,
    pub(crate) activity: Vec<Activity>,
    pub(crate) method: Vec<MethodRow>,
}

impl PageTexts {
    /// In the current language.
    pub(crate) fn new(all: &[Overview<'_>]) -> PageTexts {
        PageTexts {
            headline: worst_figure(all),
            facts: facts(all),
            activity: activity::all(all),
            method: method::rows(all),
        }
    }
}

#[derive(Clone)]
pub(crate) struct Headline {
    pub(crate) number: String,
    pub(crate) unit: String,
    pub(crate) label: String,
    /// Which recording this is about, where there are several.
    pub(crate) supports_of: String,
    pub(crate) supports: Option<String>,
}

/// A condition of the recordings.
pub(crate) struct FactRow {
    pub(crate) name: Text,
    pub(crate) values: Vec<Value>,
    pub(crate) differs: bool,
    /// The same in every recording, before and after.
    pub(crate) one_for_all: bool,
}

pub(crate) fn worst_figure(all: &[Overview<'_>]) -> Option<Headline> {
    if !all.is_empty() && all.iter().all(jitter::is_judged) {
        return jitter_figure(all);
    }
    let labels = verdict::labels(all);
    let (worst, label) =
        all.iter().zip(labels).rev().max_by_key(|(overview, _)| overview.due_moments.max())?;
    // As the verdict beside it rounds.
    let text = format::latency(worst.due_moments.max()?);
    let (number, unit) = text.rsplit_once(' ')?;
    Some(Headline {
        number: number.to_owned(),
        unit: unit.to_owned(),
        label: match Measured::from_documents(std::iter::once(&worst.recorded.document)) {
            Measured::WakeUps => tr!(worst_wake_up_label, label),
            Measured::Jitter(_) => tr!(the_largest_jitter_label, label),
            Measured::Other => tr!(the_largest_latency_label, label),
        },
        supports_of: if all.len() > 1 { format!("{}: ", worst.name) } else { String::new() },
        supports: worst.supported_rate(),
    })
}

/// The largest standard deviation of intervals.
fn jitter_figure(all: &[Overview<'_>]) -> Option<Headline> {
    let spreads = all
        .iter()
        .zip(verdict::labels(all))
        .filter_map(|(one, label)| Some((Spread::from_overview(one)?, label)));
    let (spread, label) = spreads.max_by(|(one, _), (other, _)| {
        one.sd_ns.partial_cmp(&other.sd_ns).unwrap_or(std::cmp::Ordering::Equal)
    })?;
    let text = spread.sd()?;
    let (number, unit) = text.rsplit_once(' ')?;
    Some(Headline {
        number: number.to_owned(),
        unit: unit.to_owned(),
        label: tr!(standard_deviation_interval_label, label),
        supports_of: String::new(),
        supports: None,
    })
}

pub(crate) fn facts(all: &[Overview<'_>]) -> Vec<FactRow> {
    conditions::facts(all)
        .into_iter()
        .map(|fact| {
            let first = fact.values.first().and_then(|value| value.before.clone());
            let one_for_all =
                fact.values.iter().all(|value| value.before == first && value.after.is_none());
            FactRow { name: fact.name, values: fact.values, differs: fact.differs, one_for_all }
        })
        .collect()
}
