// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where in a kernel threads ran: on its co-kernel, or on Linux. A kernel with a co-kernel has
//! both, and whoever compares it with others means the co-kernel, for which it was built. The Linux
//! beside it stands in a row of its own.

use super::Matrix;
use super::cell_stats::CellStats;
use crate::format::clip;
use crate::language::tr;
use crate::sections::co_kernel;

/// Factors that say where threads ran.
const STAGES: [&str; 2] = ["probe", "co-kernel"];
/// The value of such a factor where it is not asked for.
const ANY: usize = usize::MAX;
const MAX_VALUE: usize = 80;

impl Matrix {
    /// The factor's places that say where threads ran; none where no thread ran on a co-kernel.
    pub(super) fn stages(&self) -> Vec<usize> {
        if self.cores.is_empty() {
            return Vec::new();
        }
        (0..self.factors.len())
            .filter(|place| STAGES.contains(&self.factors[*place].name.as_str()))
            .collect()
    }

    /// Whether this factor is one of them.
    pub(super) fn is_stage(&self, factor: usize) -> bool {
        self.stages().contains(&factor)
    }

    /// The values of all factors but those that say where threads ran.
    fn elsewhere(&self, row: &CellStats) -> Vec<usize> {
        let stages = self.stages();
        row.at
            .iter()
            .enumerate()
            .filter(|(place, _)| !stages.contains(place))
            .map(|(_, value)| *value)
            .collect()
    }

    /// Whether this is the Linux beside a co-kernel on which threads ran too, all else equal.
    pub(super) fn is_beside(&self, row: &CellStats) -> bool {
        let is_one =
            |core: &CellStats| core.core().is_some() && self.elsewhere(core) == self.elsewhere(row);
        row.is_of_linux() && !self.stages().is_empty() && self.rows.iter().any(is_one)
    }

    /// Rows for the Linux beside co-kernels.
    pub(super) fn has_beside(&self) -> bool {
        self.rows.iter().any(|row| self.is_beside(row))
    }

    /// What else rows have to be equal in to be compared by this factor: for a thread on a
    /// co-kernel, and for one on the Linux of a kernel without, not where they ran.
    pub(super) fn all_else(&self, row: &CellStats, factor: usize) -> Vec<usize> {
        let mut others = row.at.clone();
        if row.core().is_some() || (row.is_of_linux() && !self.is_beside(row)) {
            self.stages()
                .into_iter()
                .filter(|place| *place != factor)
                .for_each(|place| others[place] = ANY);
        }
        others.remove(factor);
        others
    }

    /// A factor's value, and on which co-kernel threads ran under it: `kernels/cobalt (on Cobalt)`.
    pub(super) fn value_and_core(&self, factor: usize, value: &str) -> String {
        let mut rows = self
            .rows
            .iter()
            .filter(|row| self.value(row, factor) == Some(value) && !self.is_beside(row));
        match rows.find_map(CellStats::core) {
            Some(core) if !STAGES.contains(&self.factors[factor].name.as_str()) => {
                tr!(value_on_core, value, core = core.name)
            }
            _ => value.to_owned(),
        }
    }

    /// A row's name where it is drawn: with what it was measured on, where that is not the same for
    /// all.
    pub(super) fn name_drawn(&self, row: &CellStats) -> String {
        if self.cores.is_empty() || row.runs == 0 {
            return self.name(row);
        }
        tr!(name_on, name = clip(&self.name(row), MAX_VALUE), on = co_kernel::in_short(row.core()))
    }
}
