// SPDX-License-Identifier: MIT OR Apache-2.0
//! The flags that say in which phases to run.

use plan::Phase;

#[derive(clap::Args)]
pub struct PhaseFlags {
    /// Run N phases, 1 to N: each shifts when loads and threads start, and seeds what loads draw
    /// at random. Figures are those of all of them together
    #[arg(
        long,
        value_name = "N",
        conflicts_with = "phase",
        value_parser = clap::value_parser!(u32).range(1..=1_000),
        hide_short_help = true,
    )]
    phases: Option<u32>,
    /// Run this phase alone: the same number is the same run [default: 0, nothing is shifted]
    #[arg(long, value_name = "K", hide_short_help = true)]
    phase: Option<Phase>,
}

impl PhaseFlags {
    /// Those that were asked for, in order.
    pub fn all(&self) -> Vec<Phase> {
        self.phases.map_or_else(
            || vec![self.phase.unwrap_or_default()],
            |count| Phase::first(count).collect(),
        )
    }

    /// Whether several were asked for, whose figures are shown together.
    pub const fn are_pooled(&self) -> bool {
        self.phases.is_some()
    }

    /// The first of them, to check what holds for each.
    pub fn first(&self) -> Phase {
        self.all().first().copied().unwrap_or_default()
    }
}
