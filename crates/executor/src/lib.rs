// SPDX-License-Identifier: MIT OR Apache-2.0
//! Plans as they run: what can be wrong with a setting, which runs of a folder are done, and the
//! runs that are not, in order.
//!
//! In: runs and guests as flags or a plan ask for them, and a `RunMaker`, which makes one run. Out:
//! the checked run, or an error that names its setting, so that line and column follow from where
//! the plan has it and never from the error's text; and a folder with a recording for each run,
//! whatever interrupts it. It prints nothing, catches no signals and knows no flags' parser.

#![forbid(unsafe_code)]

mod boot_folders;
mod boots;
mod execute;
mod folder;
mod resumed;
mod setting_error;

pub use boot_folders::{boots, boots_missing, unplanned_kernel};
pub use boots::{Boot, PlannedBoot};
pub use execute::{
    CombinationEntry, EndedEarly, Event, Execution, GuestEnded, PlanObserver, PlanResult, RunMaker,
    is_disk_failure,
};
pub use folder::{
    RecordingState, ResultsFolder, boot, check_new, damage, entries, find_recording, incomplete,
    left_out, new_folder, plan_file, read_plan, recording,
};
pub use resumed::{Asked, Difference, differences};
pub use setting_error::{SettingError, check_times, checked_run};
