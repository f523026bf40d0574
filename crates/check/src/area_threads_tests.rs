// SPDX-License-Identifier: MIT OR Apache-2.0
//! Threads that come before what is to be on time, on small machines.

use super::*;
use crate::tests::threads::*;
use crate::tests::trees::{Shown, laid_out, shown};
use crate::{CheckOptions, Finding};
use host::HostRoot;
use plan::CpuId;

const DEADLINE: u32 = 6;

fn options(cpus: &[u32], priority: u8) -> CheckOptions {
    let cpus = Some(cpus.iter().copied().map(CpuId).collect());
    CheckOptions { cpus, priority, ..CheckOptions::default() }
}

fn finding(dir: &tempfile::TempDir, cpus: &[u32], priority: u8, id: &str) -> Shown {
    shown(&HostRoot::at(dir.path()), &options(cpus, priority), id).unwrap()
}

fn found(dir: &tempfile::TempDir, cpus: &[u32], priority: u8) -> (Status, String, String) {
    finding(dir, cpus, priority, "threads-above").words()
}

#[test]
fn a_thread_may_run_wherever_it_is_allowed_to() {
    let dir = four_cpus("");
    make(
        dir.path(),
        &Made { id: 70, priority: 95, cpu: 0, allowed: Some("0-2"), ..Made::default() },
    );
    assert_eq!(found(&dir, &[2, 3], 90).1, "daemon 70 at 95 on CPU 2");
    assert_eq!(found(&dir, &[3], 90).0, Status::Ok);
    // A kernel thread that is bound to another CPU.
    make(
        dir.path(),
        &Made {
            id: 71,
            priority: 99,
            cpu: 0,
            flags: KERNEL,
            allowed: Some("0"),
            ..Made::default()
        },
    );
    assert_eq!(found(&dir, &[3], 90).0, Status::Ok);
}

#[test]
fn nothing_is_balanced_onto_an_isolated_cpu() {
    let dir = four_cpus("2-3");
    make(
        dir.path(),
        &Made { id: 70, priority: 95, cpu: 0, allowed: Some("0-3"), ..Made::default() },
    );
    assert_eq!(found(&dir, &[3], 90).0, Status::Ok);
    make(
        dir.path(),
        &Made { id: 70, priority: 95, cpu: 3, allowed: Some("0-3"), ..Made::default() },
    );
    assert_eq!(found(&dir, &[3], 90).1, "daemon 70 at 95 on CPU 3");
    make(
        dir.path(),
        &Made { id: 70, priority: 95, cpu: 2, allowed: Some("2-3"), ..Made::default() },
    );
    assert_eq!(found(&dir, &[3], 90).1, "daemon 70 at 95 on CPU 3");
}

#[test]
fn deadline_threads_come_before_every_priority() {
    let dir = four_cpus("");
    make(
        dir.path(),
        &Made {
            id: 70,
            name: "decoder",
            policy: DEADLINE,
            cpu: 1,
            allowed: Some("0-3"),
            ..Made::default()
        },
    );
    let (status, words, action) = found(&dir, &[1], 99);
    assert_eq!((status, words.as_str()), (Status::Bad, "decoder 70 with SCHED_DEADLINE on CPU 1"));
    assert_eq!(action, "sudo chrt -f -p 98 70");
    // The governor's thread cannot be changed, but the governor can.
    let dir = four_cpus("");
    make(
        dir.path(),
        &Made {
            id: 80,
            name: "sugov:0",
            policy: DEADLINE,
            cpu: 1,
            flags: KERNEL,
            ..Made::default()
        },
    );
    let action = found(&dir, &[1], 90).2;
    assert!(!action.contains("chrt") && action.contains("echo performance"), "{action}");
}

#[test]
fn what_is_advised_comes_after_what_is_to_be_on_time() {
    let dir = four_cpus("");
    let threads = [(70, FIFO, 50), (71, RR, 60), (72, FIFO, 40)];
    for (id, policy, priority) in threads {
        make(dir.path(), &Made { id, policy, priority, cpu: 1, ..Made::default() });
    }
    let action = |priority| found(&dir, &[1], priority).2;
    let expected = "for i in 70 72; do sudo chrt -f -p 39 $i; done, and sudo chrt -r -p 39 71, or \
                    run your real-time thread at 61 or above";
    assert_eq!(action(40), expected);
    assert_eq!(action(60), "sudo chrt -r -p 59 71, or run your real-time thread at 61 or above");
    assert_eq!(
        action(1),
        "no real-time priority is below 1, run your real-time thread at 61 or above"
    );
    make(dir.path(), &Made { id: 70, priority: 99, cpu: 1, ..Made::default() });
    assert_eq!(action(99), "sudo chrt -f -p 98 70");
}

#[test]
fn handlers_of_interrupts_get_a_lower_priority_than_what_is_to_be_on_time() {
    let dir = four_cpus("");
    let handler = Made {
        id: 70,
        name: "irq/9-acpi",
        priority: 50,
        cpu: 1,
        flags: KERNEL,
        allowed: Some("1"),
        ..Made::default()
    };
    make(dir.path(), &handler);
    let of = |priority| finding(&dir, &[1], priority, "interrupt-threads");
    assert_eq!(of(40).found, "irq/9-acpi 70 at 50 on CPU 1");
    assert_eq!(
        of(40).action.as_deref(),
        Some("sudo chrt -f -p 39 70, or run your real-time thread at 51 or above")
    );
    assert_eq!(of(51).status, Status::Ok);
    make(dir.path(), &Made { priority: 95, ..handler });
    assert_eq!(
        of(90).action.as_deref(),
        Some("sudo chrt -f -p 50 70, or run your real-time thread at 96 or above")
    );
}

#[test]
fn raised_workers_are_lowered_by_their_numbers() {
    let dir = four_cpus("");
    for (id, name) in [(20, "kworker/1:1"), (21, "kworker/1:2")] {
        make(
            dir.path(),
            &Made { id, name, priority: 98, cpu: 1, flags: KERNEL, ..Made::default() },
        );
    }
    let action = finding(&dir, &[1], 90, "kernel-workers").action;
    assert_eq!(action.as_deref(), Some("for i in 20 21; do sudo chrt -o -p 0 $i; done"));
}

/// One file of each thread, its folder, and a second file of those with a real-time policy.
#[test]
fn few_files_are_read_of_each_thread() {
    const THREADS: u32 = 4_000;
    const REAL_TIME: u32 = 10;
    let dir = four_cpus("");
    for id in 1_000..1_000 + THREADS {
        let priority = if id < 1_000 + REAL_TIME { 95 } else { 0 };
        let policy = if priority > 0 { FIFO } else { 0 };
        make(
            dir.path(),
            &Made { id, policy, priority, cpu: 1, allowed: Some("0-3"), ..Made::default() },
        );
    }
    // Which takes longer, the more timers there are.
    file(dir.path(), "proc/timer_list", "  .hres_active   : 0\n");
    let (root, options) = (HostRoot::at(dir.path()), options(&[1], 90));
    let machine = Machine::new(&root, &options);
    let findings: Vec<Finding> =
        crate::checks().filter_map(|check| crate::checks::look(&machine, check)).collect();
    assert!(
        findings.iter().any(|finding| finding.id == "threads-above"
            && finding.found.to_string().matches("daemon 100").count() == 10),
        "{findings:?}"
    );
    assert!(
        !findings.iter().any(|finding| finding.found.to_string().contains("timer_list")),
        "{findings:?}"
    );
    // Beside the line of each, all else that is looked at on a machine without files.
    let others = 300;
    let of_threads = u64::from(REAL_TIME);
    assert!((of_threads..of_threads + others).contains(&machine.reads()), "{}", machine.reads());
}

/// Two findings once gave two commands for one worker.
#[test]
fn a_raised_worker_has_one_finding() {
    let dir = four_cpus("");
    make(
        dir.path(),
        &Made {
            id: 20,
            name: "kworker/1:1",
            priority: 98,
            cpu: 1,
            flags: KERNEL,
            ..Made::default()
        },
    );
    assert_eq!(
        finding(&dir, &[1], 90, "kernel-workers").action.as_deref(),
        Some("sudo chrt -o -p 0 20")
    );
    assert_eq!(found(&dir, &[1], 90).0, Status::Ok);
}

#[test]
fn what_guards_the_machine_keeps_its_priority() {
    let dir = four_cpus("");
    make(
        dir.path(),
        &Made { id: 70, name: "rtkit-daemon", policy: RR, priority: 99, cpu: 1, ..Made::default() },
    );
    make(
        dir.path(),
        &Made { id: 71, name: "watchdogd", priority: 95, cpu: 1, flags: KERNEL, ..Made::default() },
    );
    let (status, words, action) = found(&dir, &[1], 90);
    assert!(status == Status::Warn && action.is_empty(), "{action}");
    assert!(
        words.starts_with("rtkit-daemon 70 at 99 on CPU 1 (of RealtimeKit: it sleeps,"),
        "{words}"
    );
    make(dir.path(), &Made { id: 72, priority: 96, cpu: 1, ..Made::default() });
    let (status, words, action) = found(&dir, &[1], 90);
    assert!(status == Status::Bad && words.contains("rtkit-daemon 70"), "{words}");
    assert_eq!(action, "sudo chrt -f -p 89 72, or run your real-time thread at 97 or above");
}

#[test]
fn threads_that_cannot_be_seen_are_not_said_to_be_none() {
    let (dir, _) = laid_out("=== sys/devices/system/cpu/online\n0-3\n=== proc/version\nx\n");
    let seen =
        || (finding(&dir, &[1], 90, "threads-above"), finding(&dir, &[1], 90, "interrupt-threads"));
    for finding in <[Shown; 2]>::from(seen()) {
        assert_eq!(
            (finding.status, finding.found.as_str()),
            (Status::Unknown, "no thread can be seen in /proc")
        );
    }
    make(dir.path(), &Made { id: 70, policy: 0, ..Made::default() });
    let found = seen().0.found;
    assert!(found.starts_with("1 thread can be seen, and none of the kernel's"), "{found}");
}

#[test]
fn ending_a_session_is_said() {
    let dir = four_cpus("");
    make(dir.path(), &Made { id: 70, name: "gnome-shell", policy: 0, ..Made::default() });
    let action = finding(&dir, &[1], 90, "desktop").action.unwrap();
    assert!(action.starts_with("save all work, because this ends the session"), "{action}");
}

/// Programs for audio have windows, use all CPUs, and are not compared with another run.
#[test]
fn audio_keeps_its_desktop_its_cpus_and_its_speed() {
    let dir = four_cpus("");
    make(dir.path(), &Made { id: 70, name: "gnome-shell", policy: 0, ..Made::default() });
    file(dir.path(), "sys/devices/system/cpu/cpufreq/boost", "1");
    for (purpose, expected) in [(Purpose::Audio, Status::Ok), (Purpose::Measure, Status::Warn)] {
        let options = CheckOptions { purpose, ..CheckOptions::default() };
        let found = crate::findings(&HostRoot::at(dir.path()), &options);
        for id in ["desktop", "isolation", "turbo"] {
            let finding = found.iter().find(|finding| finding.id == id).unwrap();
            assert_eq!(finding.status, expected, "{finding:?}");
        }
    }
}
