// SPDX-License-Identifier: MIT OR Apache-2.0
//! Timer slack, of this process and of a program that is measured.

use crate::tests::threads::{Made, file, four_cpus, make};
use crate::tests::trees::{Shown, shown};
use crate::{CheckOptions, MeasuredProgram, RunCheck, Status};
use host::HostRoot;
use plan::CpuId;

#[test]
fn slack_is_of_ordinary_threads() {
    let dir = four_cpus("");
    let host = HostRoot::at(dir.path());
    let options = CheckOptions::default();
    let found = || shown(&host, &options, "timer-slack");
    assert_eq!(found(), None);
    file(dir.path(), "proc/self/timerslack_ns", "50000\n");
    let Shown { status, found: words, .. } = found().unwrap();
    assert_eq!(
        (status, words.as_str()),
        (Status::Ok, "50 µs for ordinary threads. Those of a real-time policy have none")
    );
    file(dir.path(), "proc/self/timerslack_ns", "100000001\n");
    let Shown { status, found: words, .. } = found().unwrap();
    assert_eq!(status, Status::Warn);
    assert!(words.starts_with("100000.001 µs"), "{words}");
}

#[test]
fn a_program_of_ordinary_threads_is_late_by_its_slack() {
    let dir = four_cpus("");
    let host = HostRoot::at(dir.path());
    let warned = |policy, slack: &str| {
        make(
            dir.path(),
            &Made { id: 70, name: "robot", policy, priority: policy, cpu: 1, ..Made::default() },
        );
        file(dir.path(), "proc/70/timerslack_ns", slack);
        let mut check = RunCheck::begin(&host, &[CpuId(1)], None);
        check.see_program(&host, MeasuredProgram::Runs(70));
        check.end(&host, &host.process_lines()).len()
    };
    assert_eq!((warned(0, "4000000"), warned(0, "50000"), warned(1, "4000000")), (1, 0, 0));
}
