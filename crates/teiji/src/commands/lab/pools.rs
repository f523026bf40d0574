// SPDX-License-Identifier: MIT OR Apache-2.0
//! Recordings of the lab that are phases of one run, read again as one.

use super::again;
use crate::exit::Failure;
use model::{Examined, Recorded};
use recording::examine_pool;
use report::Phases;
use stats::ExactRequest;
use std::path::Path;

/// The phases of one run.
pub struct Pool {
    /// What it is called, whichever phase it is.
    name: String,
    /// As the probe was named.
    probe: String,
    examined: Examined,
}

impl Pool {
    /// Reads these recordings; none where there are none.
    pub fn read(
        name: &str,
        probe: &str,
        recordings: &[&Recorded],
        exact: &ExactRequest,
    ) -> Result<Option<Self>, Failure> {
        let paths: Vec<&Path> = recordings.iter().map(|recorded| recorded.path.as_path()).collect();
        let examined = examine_pool(&paths, exact).map_err(Failure::run_failed)?;
        let pool = |examined| Pool { name: name.to_owned(), probe: probe.to_owned(), examined };
        Ok(examined.map(pool))
    }

    /// All phases, as they are judged.
    pub const fn examined(&self) -> &Examined {
        &self.examined
    }

    /// The same with the command that makes the worst again.
    pub fn phases(&self) -> Phases<'_> {
        let again = |worst: &Recorded| {
            let kernel = worst.document.lab.as_ref().map_or("", |lab| lab.kernel.name.as_str());
            again::command(kernel, &self.probe, &worst.document.run)
        };
        Phases::new(self.name.clone(), &self.examined, again)
    }
}
