// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a page and Markdown say that a terminal does not: the figure at their head, the conditions,
//! what else the machine did, how it was measured.

use crate::format;
use crate::language::tr;
use crate::overview::Overview;
use crate::sections::activity::{self, Activity};
use crate::sections::columns::Measured;
use crate::sections::conditions::{self, Fact};
use crate::sections::imported::unstated_unit;
use crate::sections::jitter::{self, Spread};
use crate::sections::latencies::{Figure, Latencies};
use crate::sections::method::{self, MethodRow};
use crate::sections::verdict;

pub(crate) struct PageTexts {
    pub(crate) figure: Option<BigFigure>,
    pub(crate) facts: Vec<Fact>,
    pub(crate) activity: Vec<Activity>,
    pub(crate) method: Vec<MethodRow>,
}

impl PageTexts {
    /// In the current language.
    pub(crate) fn new(all: &[Overview<'_>]) -> PageTexts {
        PageTexts {
            figure: worst_figure(all),
            facts: conditions::facts(all),
            activity: activity::all(all),
            method: method::rows(all),
        }
    }
}

#[derive(Clone)]
pub(crate) struct BigFigure {
    pub(crate) number: String,
    pub(crate) unit: String,
    pub(crate) label: String,
    /// Which recording this is about, where there are several.
    pub(crate) supports_of: String,
    pub(crate) supports: Option<String>,
}

impl BigFigure {
    /// A figure with its unit, and what it is.
    pub(crate) fn new(figure: &str, label: String) -> Option<BigFigure> {
        let (number, unit) = figure
            .split_at(figure.find(|c| !matches!(c, '≤' | '≥' | '-' | '.' | ',' | '0'..='9'))?);
        let (number, unit) = (number.to_owned(), unit.trim_start().to_owned());
        Some(BigFigure { number, unit, label, supports_of: String::new(), supports: None })
    }

    /// A latency, ns, as the verdict beside it rounds, and what it is.
    pub(crate) fn of_latency(
        of: &Latencies<'_>,
        figure: Figure,
        unstated_unit: Option<i64>,
        label: String,
    ) -> Option<BigFigure> {
        let written = |ns| match unstated_unit {
            Some(_) => verdict::late(ns, unstated_unit),
            None => format::latency(ns),
        };
        BigFigure::new(&of.written(figure, written)?, label)
    }
}

pub(crate) fn worst_figure(all: &[Overview<'_>]) -> Option<BigFigure> {
    if !all.is_empty() && all.iter().all(jitter::is_judged) {
        return jitter_figure(all);
    }
    let labels = verdict::labels(all);
    let (worst, label) = all
        .iter()
        .zip(labels)
        .rev()
        // Nobody knows where those of an unstated unit would be among the others.
        .max_by_key(|(overview, _)| {
            let max = overview.totals.due_moments.max();
            (max.is_some() && unstated_unit(overview.document()).is_none(), max)
        })?;
    let label = match Measured::from_documents(std::iter::once(worst.document())) {
        Measured::WakeUps => tr!(worst_wake_up_label, label),
        Measured::Jitter(_) => tr!(the_largest_jitter_label, label),
        Measured::Other | Measured::OfAssumedUnit => tr!(the_largest_latency_label, label),
    };
    Some(BigFigure {
        supports_of: if all.len() > 1 { format!("{}: ", worst.name) } else { String::new() },
        supports: worst.supported_rate(),
        ..BigFigure::of_latency(&worst.due(), Figure::Max, unstated_unit(worst.document()), label)?
    })
}

/// The largest standard deviation of intervals.
fn jitter_figure(all: &[Overview<'_>]) -> Option<BigFigure> {
    let spreads = all
        .iter()
        .zip(verdict::labels(all))
        .filter_map(|(one, label)| Some((Spread::from_overview(one)?, label)));
    let (spread, label) = spreads.max_by(|(one, _), (other, _)| {
        one.sd_ns.partial_cmp(&other.sd_ns).unwrap_or(std::cmp::Ordering::Equal)
    })?;
    BigFigure::new(&spread.sd()?, tr!(standard_deviation_interval_label, label))
}
