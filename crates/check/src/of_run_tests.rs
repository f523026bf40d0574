// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a run says of its machine, on small ones.

use super::*;
use crate::tests::threads::{Made, file, four_cpus, make};

fn cpus(ids: &[u32]) -> Vec<CpuId> {
    ids.iter().copied().map(CpuId).collect()
}

fn said(warnings: &[Warning]) -> Vec<(&str, &str)> {
    let mut said = Vec::new();
    for warning in warnings {
        match warning {
            Warning::MachineCheck { check, found, .. } => {
                said.push((check.as_str(), found.as_str()))
            }
            other => panic!("{other:?}"),
        }
    }
    said
}

fn at(prio: u8) -> Option<Scheduling> {
    Some(Scheduling { policy: Policy::Fifo, prio: Some(prio) })
}

/// What changed during the run is said as well.
#[test]
fn what_was_bad_when_the_run_began_is_said_when_it_has_ended() {
    let dir = four_cpus("");
    let host = HostRoot::at(dir.path());
    file(dir.path(), "sys/kernel/mm/ksm/run", "1\n");
    let check = RunCheck::begin(&host, &cpus(&[1]), at(90));
    assert_eq!(
        said(&check.clone().end(&host, &host.process_lines())),
        [("same-page-merging", "runs")]
    );
    file(dir.path(), "sys/kernel/mm/ksm/run", "0\n");
    assert_eq!(
        said(&check.end(&host, &host.process_lines())),
        [("same-page-merging", "runs (when the run began, and not when it ended)")]
    );
    assert_eq!(
        said(&RunCheck::begin(&host, &cpus(&[1]), at(90)).end(&host, &host.process_lines())),
        []
    );
}

/// SCHED_FIFO was said to suffer from it, which is not held to it.
#[test]
fn a_quota_is_bad_for_ordinary_threads_alone() {
    let dir = four_cpus("");
    let host = HostRoot::at(dir.path());
    file(dir.path(), "proc/self/cgroup", "0::/a\n");
    file(dir.path(), "sys/fs/cgroup/a/cpu.max", "20000 100000\n");
    let of = |scheduling| {
        let check = RunCheck::begin(&host, &cpus(&[1]), scheduling);
        check.end(&host, &host.process_lines())
    };
    let quota = [("cpu-quota", "20000 µs of each 100000 µs (/sys/fs/cgroup/a/cpu.max)")];
    assert_eq!(said(&of(Some(Scheduling::OTHER))), quota);
    assert_eq!(said(&of(at(90))), []);
    assert_eq!(said(&of(Some(Scheduling::DEADLINE))), []);
}

/// They are read when the run has ended.
#[test]
fn threads_delay_no_run() {
    let dir = four_cpus("");
    let host = HostRoot::at(dir.path());
    make(dir.path(), &Made { id: 70, priority: 99, cpu: 1, ..Made::default() });
    let check = RunCheck::begin(&host, &cpus(&[1]), at(90));
    assert_eq!(check.before, []);
    assert_eq!(
        said(&check.end(&host, &host.process_lines())),
        [("threads-above", "daemon 70 at 99 on CPU 1")]
    );
}

#[test]
fn threads_on_other_cpus_are_in_nobodys_way() {
    let dir = four_cpus("");
    let host = HostRoot::at(dir.path());
    make(
        dir.path(),
        &Made { id: 70, priority: 99, cpu: 0, allowed: Some("0-1"), ..Made::default() },
    );
    assert_eq!(
        said(&RunCheck::begin(&host, &cpus(&[2, 3]), at(90)).end(&host, &host.process_lines())),
        []
    );
    assert_eq!(
        said(&RunCheck::begin(&host, &cpus(&[1, 2]), at(90)).end(&host, &host.process_lines()))
            .len(),
        1
    );
    // No priority comes before SCHED_DEADLINE.
    let deadline = Some(Scheduling { policy: Policy::Deadline, prio: None });
    assert_eq!(
        said(&RunCheck::begin(&host, &cpus(&[1, 2]), deadline).end(&host, &host.process_lines())),
        []
    );
}

/// CPUs that were not set apart get interrupts as any do.
#[test]
fn interrupts_are_said_of_isolated_cpus_only() {
    for (isolated, expected) in [("", 0), ("3", 1)] {
        let dir = four_cpus(isolated);
        file(
            dir.path(),
            "proc/interrupts",
            "  CPU0 CPU1 CPU2 CPU3\n 5: 0 0 0 9 IO-APIC 5-edge eth0\n",
        );
        file(dir.path(), "proc/irq/5/smp_affinity_list", "0-3\n");
        file(dir.path(), "proc/irq/5/effective_affinity_list", "3\n");
        let host = HostRoot::at(dir.path());
        let warnings =
            RunCheck::begin(&host, &cpus(&[3]), at(90)).end(&host, &host.process_lines());
        assert_eq!(warnings.len(), expected, "{warnings:?}");
    }
}

/// Neither it nor what it started is in its own way, and what comes before it depends on its
/// priority.
#[test]
fn a_measured_program_is_judged_by_its_own_priority() {
    let dir = four_cpus("");
    let host = HostRoot::at(dir.path());
    make(
        dir.path(),
        &Made {
            id: 70,
            name: "robot",
            priority: 80,
            cpu: 1,
            allowed: Some("1"),
            ..Made::default()
        },
    );
    make(
        dir.path(),
        &Made {
            id: 71,
            name: "arm",
            parent: 70,
            priority: 80,
            cpu: 1,
            allowed: Some("1"),
            ..Made::default()
        },
    );
    make(
        dir.path(),
        &Made {
            id: 72,
            name: "below",
            priority: 70,
            cpu: 1,
            allowed: Some("1"),
            ..Made::default()
        },
    );
    make(
        dir.path(),
        &Made {
            id: 73,
            name: "other",
            priority: 85,
            cpu: 2,
            allowed: Some("2"),
            ..Made::default()
        },
    );
    let ended = |program| {
        let mut check = RunCheck::begin(&host, &cpus(&[0, 1, 2, 3]), None);
        check.see_program(&host, program);
        said(&check.end(&host, &host.process_lines()))
            .into_iter()
            .map(|(check, found)| format!("{check}: {found}"))
            .collect::<Vec<_>>()
    };
    assert_eq!(ended(MeasuredProgram::Runs(70)), [""; 0]);
    make(
        dir.path(),
        &Made {
            id: 74,
            name: "above",
            priority: 85,
            cpu: 0,
            allowed: Some("0-1"),
            ..Made::default()
        },
    );
    assert_eq!(ended(MeasuredProgram::Runs(70)), ["threads-above: above 74 at 85 on CPU 1"]);
    // One that has ended: only what comes before every priority does so certainly.
    assert_eq!(ended(MeasuredProgram::Runs(999)), [""; 0]);
}
