// SPDX-License-Identifier: MIT OR Apache-2.0
//! The conditions of a plan's runs: each fact with the values it had, and in how many runs; and
//! their warnings.
//!
//! A table with a column for each run, as a report of a few recordings has it, would be wider than
//! anyone reads.

use crate::format::{clip, counted};
use crate::language::{Text, texts, tr};
use crate::overview::Overview;
use crate::sections::conditions;
use crate::sections::grouped_warnings::GroupedWarning;
use crate::sections::method;
use crate::warnings;
use model::Warning;
use std::collections::HashMap;
use std::mem::{Discriminant, discriminant};

/// Values that are listed of one fact.
const MAX_VALUES: usize = 8;
/// Warnings that are listed.
const MAX_WARNINGS: usize = 60;
const MAX_LETTERS: usize = 600;

/// A fact, and how many runs had which value of it.
#[derive(Debug)]
pub(super) struct Fact {
    pub(super) name: Text,
    pub(super) values: Vec<(String, u32)>,
    /// In how many runs it was another after than before, though it should not be.
    changed: u32,
}

#[derive(Debug, Default)]
pub(super) struct Conditions {
    facts: Vec<Fact>,
    warnings: Vec<Listed>,
    /// Where each is among the warnings.
    known: HashMap<Subject, usize>,
    runs: u32,
}

/// A warning as its worst run has it, or the first where it has no size; and how many have it.
#[derive(Debug)]
struct Listed {
    shown: Warning,
    runs: u32,
    /// Others have other figures in it.
    differ: bool,
}

/// What a warning is apart from its figures: its kind, and what it names.
type Subject = (Discriminant<Warning>, String);

pub(super) struct FactRow {
    pub(super) name: Text,
    /// The value, and of how many runs unless of all.
    pub(super) values: Vec<(String, String)>,
    pub(super) changed: String,
}

impl Conditions {
    pub(super) fn add(&mut self, overview: &Overview<'_>) {
        self.runs += 1;
        let one = std::slice::from_ref(overview);
        for fact in conditions::facts(one) {
            let [value] = fact.values.as_slice() else { continue };
            self.fact(
                fact.name,
                value.before.as_deref().unwrap_or_else(|| texts::not_known.said()),
                value.changed,
            );
        }
        for row in method::rows(one) {
            row.values.iter().for_each(|value| self.fact(row.name, value, false));
        }
        let warnings = overview.document().warnings.iter().filter(|warning| !warning.is_a_fact());
        for warning in warnings {
            let subject = (discriminant(warning), warnings::subject(warning));
            match self.known.get(&subject) {
                Some(place) => {
                    let Listed { shown, runs, differ } = &mut self.warnings[*place];
                    *runs += 1;
                    *differ |= shown != warning;
                    if warnings::size(warning) > warnings::size(shown) {
                        *shown = warning.clone();
                    }
                }
                None => {
                    self.known.insert(subject, self.warnings.len());
                    self.warnings.push(Listed { shown: warning.clone(), runs: 1, differ: false });
                }
            }
        }
    }

    fn fact(&mut self, name: Text, value: &str, changed: bool) {
        let value = clip(value, MAX_LETTERS);
        let place = self.facts.iter().position(|fact| fact.name == name).unwrap_or_else(|| {
            self.facts.push(Fact { name, values: Vec::new(), changed: 0 });
            self.facts.len() - 1
        });
        let fact = &mut self.facts[place];
        fact.changed += u32::from(changed);
        if let Some((_, runs)) = fact.values.iter_mut().find(|(known, _)| *known == value) {
            *runs += 1;
        } else if fact.values.len() <= MAX_VALUES {
            // One more than is listed, so that it is known that there are more.
            fact.values.push((value, 1));
        }
    }

    pub(super) fn rows(&self) -> Vec<FactRow> {
        self.facts.iter().map(|fact| self.row(fact)).collect()
    }

    fn row(&self, fact: &Fact) -> FactRow {
        let in_all = fact.values.len() == 1 && fact.values[0].1 == self.runs;
        let of =
            |runs: u32| if in_all { String::new() } else { counted(runs.into(), texts::n_runs) };
        let values = if fact.values.len() > MAX_VALUES {
            // Such as a machine's load average: another every time.
            let listed: Vec<&str> =
                fact.values[..3].iter().map(|(value, _)| value.as_str()).collect();
            vec![(format!("{}, …", listed.join("; ")), tr!(more_than_n_values, n = MAX_VALUES))]
        } else {
            fact.values.iter().map(|(value, runs)| (value.clone(), of(*runs))).collect()
        };
        let changed = if fact.changed > 0 {
            tr!(in_runs, runs = counted(fact.changed.into(), texts::n_runs))
        } else {
            String::new()
        };
        FactRow { name: fact.name, values, changed }
    }

    /// All warnings, each once, with the number of runs that have it.
    pub(super) fn warnings(&self) -> Vec<GroupedWarning> {
        let listed = |Listed { shown, runs, differ }: &Listed| {
            let of = if *runs == self.runs {
                String::new()
            } else {
                tr!(in_runs, runs = counted((*runs).into(), texts::n_runs))
            };
            let which = match warnings::size(shown) {
                Some(_) => texts::figures_those_worst,
                None => texts::figures_those_first,
            };
            let differ = if *differ { which.said() } else { "" };
            GroupedWarning::new(shown, format!("{of}{differ}"))
        };
        self.warnings.iter().take(MAX_WARNINGS).map(listed).collect()
    }

    /// Warnings for which there is no room.
    pub(super) fn more_warnings(&self) -> usize {
        self.warnings.len().saturating_sub(MAX_WARNINGS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::Synthetic;
    use model::StolenTime;
    use plan::CpuId;

    #[test]
    fn a_warning_has_the_figures_of_its_worst_run() {
        let mut conditions = Conditions::default();
        for stolen_ms in [4, 14, 2] {
            let mut recorded = Synthetic::idle().build();
            let stolen = StolenTime { cpu: CpuId(0), stolen_ms, elapsed_ms: 1_000 };
            recorded.document.warnings = vec![Warning::StealTime { cpus: vec![stolen] }];
            conditions.add(&Overview::new(&recorded));
        }
        let all = conditions.warnings();
        assert_eq!(all.len(), 1);
        let (text, runs) = (&all[0].text.evidence, &all[0].recordings);
        assert!(text.contains("14 ms") && text.contains("1.4 %"), "{text}");
        assert!(runs.contains("(the figures are those of the worst)"), "{runs}");
    }
}
