// SPDX-License-Identifier: MIT OR Apache-2.0
//! The programs that a plan starts: whoever runs a plan of somebody else reads them before the
//! first one runs.

use super::plan_entry::PlanEntry;
use crate::output;
use plan::Qemu;

/// A line for each, once; none where the plan starts nothing but teiji and the lab's own QEMU.
pub fn listed(points: &[PlanEntry]) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for point in points {
        let loads = point.measured.loads.iter().filter_map(|load| load.command());
        let loads = loads.map(|command| format!("{command} (a load)"));
        let measured = point.measured.probe.command().map(|command| {
            format!("{command} (measured by the probe {})", point.measured.probe.name)
        });
        let qemu = point.guest.qemu().and_then(|qemu| match qemu {
            Qemu::Path(path) => Some(format!("{} (the QEMU of guests)", path.display())),
            Qemu::Pinned | Qemu::System => None,
        });
        for program in loads.chain(measured).chain(qemu) {
            // What comes from outside cannot move a cursor or break a line.
            let line = format!("  {}", program.replace(char::is_control, " "));
            if !lines.contains(&line) {
                lines.push(line);
            }
        }
    }
    if !lines.is_empty() {
        lines.insert(0, "Programs that this plan starts:".to_owned());
    }
    lines
}

/// Says so on standard error, however quiet it is to be.
pub fn announce(points: &[PlanEntry]) {
    listed(points).iter().for_each(|line| output::complain(line));
}
