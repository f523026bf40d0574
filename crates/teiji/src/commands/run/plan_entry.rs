// SPDX-License-Identifier: MIT OR Apache-2.0
//! One combination of a plan, as the flags that its settings are: what to run, and where.

use crate::commands::lab::GuestFlags;
use crate::commands::measure::process_cpus;
use crate::commands::run_flags::RunFlags;
use executor::{Asked, Difference};
use lab::KernelName;
use model::Document;
use plan::{GuestTime, Phase, ProcessCpus, Run, Settle};

/// Every flag a plan may set, and one combination of them, checked: what to run, and where.
#[derive(clap::Parser)]
#[command(no_binary_name = true, disable_help_flag = true)]
pub struct PlanEntry {
    /// A kernel of the lab; without one, the run is on this machine
    #[arg(long)]
    pub kernel: Option<KernelName>,
    #[command(flatten)]
    pub measured: RunFlags,
    #[command(flatten)]
    pub guest: GuestFlags,
    /// Which way timers meet
    #[arg(long, default_value = "0")]
    pub phase: Phase,
    /// `interval=1ms load=cpu@50%`: what distinguishes it from the others.
    #[arg(skip)]
    pub label: String,
    /// Whose time that machine has, as far as it is known without the kernel.
    #[arg(skip)]
    pub time: Option<GuestTime>,
    /// The run, as far as it is known without the kernel.
    #[arg(skip)]
    pub run: Option<Run>,
}

impl PlanEntry {
    /// How long it measures, ns.
    pub fn expected_ns(&self) -> i64 {
        self.run.as_ref().map_or(0, |run| run.expected_ns().0)
    }

    /// In what a recording of it differs from what is asked for now.
    pub fn differences(&self, recorded: &Document) -> anyhow::Result<Vec<Difference>> {
        let mut cpus = recorded.run.cpus.clone();
        cpus.sort_unstable();
        cpus.dedup();
        // On the machine as it was: which CPUs there are is none of the plan's.
        let then =
            ProcessCpus { inherited: cpus.clone(), usable: cpus.clone(), ..ProcessCpus::default() };
        let cpus = self
            .measured
            .cpus(&then)
            .or_else(|_| self.measured.cpus(&process_cpus()?).map_err(anyhow::Error::from))?;
        let run = Run { phase: self.phase, ..self.measured.run(&cpus)? };
        let guest = recorded
            .lab
            .as_ref()
            .filter(|_| self.kernel.is_some())
            .map(|lab| self.guest.guest_on(lab.guest.machine));
        let asked = Asked {
            run,
            kernel: self.kernel.as_ref(),
            guest: guest.transpose()?,
            qemu: self.guest.qemu(),
        };
        Ok(executor::differences(recorded, &asked))
    }

    /// Whether it waits, for a time that nobody knows before, until its loads have settled.
    pub fn settles(&self) -> bool {
        self.run.as_ref().is_some_and(|run| !run.loads.is_empty() && run.settle == Settle::Auto)
    }
}
