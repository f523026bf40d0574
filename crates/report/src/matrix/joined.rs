// SPDX-License-Identifier: MIT OR Apache-2.0
//! Several factors as one. A plan that compares ordinary scheduling with SCHED_FIFO 49 varies
//! policy and priority, and neither of them alone.

use super::{Factor, Matrix};
use std::collections::{BTreeMap, BTreeSet};

impl Matrix {
    /// The same with these factors, whose names commas separate, as one, and the name that this one
    /// has. Factors whose value follows from theirs in every row belong to it too. Where there is
    /// but one, or where one of them is not varied, all is as it was.
    #[must_use]
    pub fn joined(mut self, names: &str) -> (Matrix, String) {
        let varied = |name: &str| {
            self.varied.iter().copied().find(|place| self.factors[*place].name == name)
        };
        let named: Option<Vec<usize>> = names.split(',').map(|name| varied(name.trim())).collect();
        let Some(named) = named else { return (self, names.to_owned()) };
        let name = self.factors[named[0]].name.clone();
        // Where threads ran has rules of its own.
        let stages = self.stages();
        let others = self.varied.iter().filter(|place| !stages.contains(place));
        let others = others.filter(|place| self.follows(**place, &named));
        let mut places: Vec<usize> = Vec::new();
        for place in named.iter().chain(others) {
            if !places.contains(place) {
                places.push(*place);
            }
        }
        let [first, rest @ ..] = places.as_slice() else { return (self, name) };
        if rest.is_empty() {
            return (self, name);
        }
        let of = |at: &[usize]| places.iter().map(|place| at[*place]).collect::<Vec<usize>>();
        let known: BTreeSet<Vec<usize>> = self.rows.iter().map(|row| of(&row.at)).collect();
        let known: Vec<Vec<usize>> = known.into_iter().collect();
        let values = known.iter().map(|values| self.joined_value(&places, values)).collect();
        let mut rest = rest.to_vec();
        rest.sort_unstable_by(|one, other| other.cmp(one));
        for row in &mut self.rows {
            row.at[*first] = known.binary_search(&of(&row.at)).unwrap_or_default();
            for place in &rest {
                row.at.remove(*place);
            }
        }
        self.factors[*first].values = values;
        for place in &rest {
            self.factors.remove(*place);
        }
        let is_varied = |place: &usize| self.factors[*place].values.len() > 1;
        self.varied = (0..self.factors.len()).filter(is_varied).collect();
        (self, name)
    }

    /// Whether the value of a factor follows from those of others.
    fn follows(&self, place: usize, others: &[usize]) -> bool {
        let mut known: BTreeMap<Vec<usize>, usize> = BTreeMap::new();
        self.rows.iter().all(|row| {
            let of_others = others.iter().map(|other| row.at[*other]).collect();
            *known.entry(of_others).or_insert(row.at[place]) == row.at[place]
        })
    }

    /// `fifo, prio=49`: the first by its value, and of the others what is set.
    fn joined_value(&self, places: &[usize], values: &[usize]) -> Option<String> {
        let part = |(place, value): (&usize, &usize)| {
            let Factor { name, values } = &self.factors[*place];
            let value = values[*value].as_deref()?;
            if *place == places[0] {
                return Some(value.to_owned());
            }
            (value != "none").then(|| format!("{name}={value}"))
        };
        let parts: Vec<String> = places.iter().zip(values).filter_map(part).collect();
        (!parts.is_empty()).then(|| parts.join(", "))
    }
}
