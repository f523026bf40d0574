// SPDX-License-Identifier: MIT OR Apache-2.0
//! Priorities of threads that come before what is to be on time.

use super::setting::Form;
use super::wanted::Wanted;
use check::{
    Machine, OF_INTERRUPTS, Thread, finding, interrupt_threads_above, lower_priority, threads_above,
};

fn lowered(thread: &Thread, to: u8) -> Wanted {
    let file = format!("proc/{}/task/{}/stat", thread.pid, thread.id);
    let form = Form::Priority { started: thread.started };
    Wanted {
        subject: format!("priority of {}", thread.name),
        form,
        ..Wanted::plain(file, to.to_string())
    }
}

/// Those of SCHED_DEADLINE have no priority that could be lowered.
pub(super) fn threads(machine: &Machine<'_>) -> Vec<Wanted> {
    let Some(to) = lower_priority(machine, u8::MAX) else { return Vec::new() };
    let above = threads_above(machine).into_iter().filter(|above| !above.thread.is_deadline());
    above.map(|above| lowered(above.thread, to)).collect()
}

/// Workers that are left as they are, with what takes their priority away.
pub(super) fn left_alone(machine: &Machine<'_>) -> Option<String> {
    let workers = finding(machine, "kernel-workers")?;
    let action = workers.action.map(|action| format!(": {action}")).unwrap_or_default();
    Some(format!(
        "{} left as it is, though the kernel's workers need no real-time priority{action}",
        workers.found
    ))
}

pub(super) fn interrupt_threads(machine: &Machine<'_>) -> Vec<Wanted> {
    let Some(to) = lower_priority(machine, OF_INTERRUPTS) else { return Vec::new() };
    interrupt_threads_above(machine).into_iter().map(|above| lowered(above.thread, to)).collect()
}

#[cfg(test)]
mod tests {
    use crate::TuningOptions;
    use crate::TuningPlan;
    use crate::tests::files::lay;

    /// What is to be on time at a lower priority has more threads before it, and they go below that
    /// one.
    #[test]
    fn threads_go_below_what_is_to_be_on_time() {
        let stat = |priority: u32| {
            let (first, second) = ("0 ".repeat(12), "0 ".repeat(16));
            format!("7 (daemon) S 1 0 0 0 -1 0 {first}7 {second}0 {priority} 1 0 0 0\n")
        };
        for (own, priority, to) in [
            (70, Some(50), Some("49")),
            (70, None, None),
            (95, None, Some("89")),
            (95, Some(1), None),
        ] {
            let (_dir, root) = lay(&[
                ("sys/devices/system/cpu/online", "0\n"),
                ("proc/7/task/7/stat", &stat(own)),
            ]);
            let only = vec!["threads-above".to_owned()];
            let plan = TuningPlan::new(
                &root,
                &TuningOptions { only, priority, ..TuningOptions::default() },
            )
            .unwrap();
            let changes: Vec<(&str, &str)> = plan
                .changes
                .iter()
                .map(|change| (change.from.as_str(), change.to.as_str()))
                .collect();
            let own = own.to_string();
            assert_eq!(
                changes,
                to.map(|to| (own.as_str(), to)).into_iter().collect::<Vec<_>>(),
                "{priority:?}"
            );
        }
    }
}
