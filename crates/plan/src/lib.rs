// SPDX-License-Identifier: MIT OR Apache-2.0
//! What to measure.
//!
//! The values that users write (`200us`, `1-3,!2`, `hackbench,groups=10`) and the one struct they
//! add up to, [`Run`], which travels from the command line to `run.json` (what was left to the
//! machine is filled in); and [`Guest`], the machine of the lab that it may run in.
//!
//! In: text and plain values. Out: a checked [`Run`], or an error that names what was wrong and
//! what would be right. Must not touch: clocks, files, the machine. Whatever depends on the machine
//! (which CPUs there are) is an argument.
#![forbid(unsafe_code)]

mod chance;
mod combinations;
mod cpus;
mod guest;
mod interval;
mod kernel_variables;
mod limit;
mod load_spec;
mod nanos;
mod phase;
mod plan_error;
mod plan_file;
mod qemu;
mod quoted;
mod run;
mod scheduling;
mod search;
mod settle;

pub use combinations::{Combination, PlannedRun, in_toml};
pub use cpus::{CpuError, CpuId, CpuList, ProcessCpus};
pub use guest::{Guest, GuestError, GuestTime, Machine, MachineTime, shift_of_cpus, shift_of_mips};
pub use interval::Interval;
pub use limit::{Count, Figure, Limit, LimitError, Relation, Subject, share};
pub use load_spec::{LoadSpec, LoadSpecError};
pub use nanos::{DurationError, Nanos, Unit};
pub use phase::Phase;
pub use plan_error::{PlanError, PlanErrors, SourceSpan};
pub use plan_file::{
    BootSettings, Factor, PHASE, PartOfPlan, Plan, QuickOverrides, ReadFile, RunOrder, Setting,
    Value,
};
pub use qemu::Qemu;
pub use quoted::{command_line, quoted};
pub use run::{
    APP_PROBE, AUTO_PROBE, DEFAULT_PROBE, Length, MAX_THREADS, OverrunPolicy, ProbeSettings, Run,
    RunError,
};
pub use scheduling::{Policy, PolicyError, Scheduling};
pub use search::{Candidate, LoadChoice, Search, SearchLoad, SearchSpace, Simpler};
pub use settle::Settle;
