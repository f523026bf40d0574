// SPDX-License-Identifier: MIT OR Apache-2.0
//! All checks, and what they find of a machine.

use super::finding::{Check, Finding, Seen, Status};
use super::machine::{CheckOptions, Machine};
use super::power_daemons::with_tuned;
use super::{
    area_arguments, area_battery, area_board, area_clock, area_cokernel, area_container,
    area_cores, area_firmware, area_frequency, area_groups, area_interrupts, area_kernel,
    area_memory, area_rights, area_scheduling, area_temperature, area_threads, area_time,
    area_virtual,
};
use host::HostRoot;
use plan::CpuId;

/// All of them, in the order in which they are shown.
pub fn checks() -> impl Iterator<Item = &'static Check> {
    [
        area_kernel::CHECKS,
        area_cokernel::CHECKS,
        area_arguments::CHECKS,
        area_clock::CHECKS,
        area_frequency::CHECKS,
        area_interrupts::CHECKS,
        area_scheduling::CHECKS,
        area_threads::CHECKS,
        area_time::CHECKS,
        area_groups::CHECKS,
        area_memory::CHECKS,
        area_rights::CHECKS,
        area_virtual::CHECKS,
        area_container::CHECKS,
        area_cores::CHECKS,
        area_firmware::CHECKS,
        area_battery::CHECKS,
        area_temperature::CHECKS,
        area_board::CHECKS,
    ]
    .into_iter()
    .flatten()
}

/// Looks at the machine, or at a configuration where one is given. Never fails: what cannot be read
/// is of unknown status.
pub fn findings(root: &HostRoot, options: &CheckOptions) -> Vec<Finding> {
    let machine = Machine::new(root, options);
    if options.config.is_none() {
        return checks().filter_map(|check| look(&machine, check)).collect();
    }
    let machine = machine.not_running();
    let of_config = checks().filter(|check| check.is_of_config);
    of_config.filter_map(|check| look(&machine, check)).collect()
}

/// The CPUs that are to be on time where these are named, or none.
pub fn cpus_on_time(root: &HostRoot, cpus: Option<Vec<CpuId>>) -> Vec<CpuId> {
    cpus.unwrap_or_else(|| Machine::new(root, &CheckOptions::to_measure(None, 90)).measured())
}

/// CPUs that somebody set apart; none where all are alike.
pub fn set_apart_cpus(root: &HostRoot) -> Vec<CpuId> {
    let options = CheckOptions::to_measure(None, 90);
    let machine = Machine::new(root, &options);
    machine.set_apart().map(|apart| apart.cpus.clone()).unwrap_or_default()
}

/// What the check of this name finds.
pub fn finding(machine: &Machine<'_>, id: &str) -> Option<Finding> {
    look(machine, checks().find(|check| check.id == id)?)
}

/// What one check finds. It is unknown where a file that it needs could not be read.
pub(crate) fn look(machine: &Machine<'_>, check: &Check) -> Option<Finding> {
    machine.take_unreadable();
    let seen =
        (check.look)(machine).or_else(|| Seen::unknown(machine.take_unreadable().first()?.clone()));
    let Seen { status, found, action } = with_tuned(machine, check.id, seen?);
    let status = if check.matters.contains(&machine.options.purpose) {
        status
    } else {
        status.min(Status::Warn)
    };
    let Check { id, tunable, .. } = *check;
    let tunable = tunable && status >= Status::Warn;
    Some(Finding { id, status, found, text: check.text(), action, tunable })
}
