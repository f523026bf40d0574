// SPDX-License-Identifier: MIT OR Apache-2.0
//! What `check` recommends is what is planned.

use super::*;
use crate::tests::files::{lay, put};
use crate::tests::threads::{KERNEL, Made, RR, four_cpus, make};
use crate::tests::trees::{found, laid_out};
use check::Advice;
use plan::CpuId;

const RELEASE: &str = "proc/sys/kernel/osrelease";
const LINE: &str = "proc/cmdline";
const TICKLESS: &str = "sys/devices/system/cpu/nohz_full";

/// The three that print arguments say the same.
#[test]
fn check_advice_and_plan_agree() {
    for release in ["4.19.71-rt24-v7+", "6.1.0"] {
        let tree = format!(
            "=== sys/devices/system/cpu/online\n0-3\n=== {TICKLESS}\n\n=== \
             {RELEASE}\n{release}\n=== {LINE}\nquiet\n"
        );
        let (dir, _) = laid_out(&tree);
        let root = HostRoot::at(dir.path());
        let advised = Advice::for_machine(&root, None).unwrap();
        let plan = BootPlan::new(&root, Some(advised.isolated)).unwrap();
        let planned: Vec<&str> = plan.changes.iter().map(|change| change.to.as_str()).collect();
        assert_eq!(advised.arguments, planned.join(" "));
        let files = [(TICKLESS, ""), (RELEASE, release)];
        let checked = found("isolation", "-a 1,2,3", &files).unwrap().action;
        assert_eq!(Some(format!("boot with {}", advised.arguments)), checked);
        assert_eq!(advised.arguments.contains("managed_irq"), release.starts_with('6'));
    }
}

#[test]
fn a_boot_plan_leaves_out_cpu_0() {
    let (dir, _) = laid_out("=== sys/devices/system/cpu/online\n0-3\n=== proc/cmdline\nquiet\n");
    let root = HostRoot::at(dir.path());
    let error = BootPlan::new(&root, Some(vec![CpuId(0)])).unwrap_err();
    assert!(error.starts_with("CPU 0 cannot be isolated"), "{error}");
    let plan = BootPlan::new(&root, Some(vec![CpuId(0), CpuId(1)])).unwrap();
    assert_eq!(plan.cpus, [CpuId(1)]);
    assert!(
        plan.notes[0].starts_with("CPU 0 is left out") && plan.changes[0].to.ends_with(",1"),
        "{plan:?}"
    );
}

#[test]
fn an_isolcpus_that_lacks_domain_is_replaced() {
    let line = "isolcpus=managed_irq,2-3 nohz_full=2-3";
    for release in ["6.1.0", "4.18.0-553.el8_10.x86_64"] {
        let tree = format!(
            "=== sys/devices/system/cpu/online\n0-3\n=== {RELEASE}\n{release}\n=== \
             {TICKLESS}\n2-3\n=== {LINE}\n{}\n",
            line
        );
        let (dir, _) = laid_out(&tree);
        let plan =
            BootPlan::new(&HostRoot::at(dir.path()), Some(vec![CpuId(2), CpuId(3)])).unwrap();
        assert_eq!(
            (plan.changes[0].from.as_deref(), plan.changes[0].to.as_str()),
            (Some("isolcpus=managed_irq,2-3"), "isolcpus=managed_irq,domain,2-3")
        );
    }
}

#[test]
fn a_board_that_needs_usb_arguments_is_planned_them() {
    for (line, is_changed) in [
        ("quiet", true),
        ("dwc_otg.fiq_enable=1", true),
        ("dwc_otg.fiq_enable=0 dwc_otg.fiq_fsm_enable=N", false),
    ] {
        let files = [
            ("proc/device-tree/model", "Raspberry Pi 3 Model B Plus Rev 1.3"),
            ("sys/kernel/realtime", "1"),
            (LINE, line),
        ];
        let tree: String =
            files.iter().map(|(path, text)| format!("=== {path}\n{text}\n")).collect();
        let (dir, _) = laid_out(&format!("=== sys/devices/system/cpu/online\n0-3\n{tree}"));
        let root = HostRoot::at(dir.path());
        let advised = Advice::for_machine(&root, None).unwrap();
        let plan = BootPlan::new(&root, Some(advised.isolated)).unwrap();
        assert_eq!(
            plan.changes.iter().any(|change| change.to.starts_with("dwc_otg.fiq_")),
            is_changed,
            "{line}"
        );
        assert!(
            advised.arguments.contains(" dwc_otg.fiq_enable=0 dwc_otg.fiq_fsm_enable="),
            "{}",
            advised.arguments
        );
    }
}

#[test]
fn arguments_are_planned_for_offline_cpus_too() {
    let (dir, root) = lay(&[
        ("sys/devices/system/cpu/online", "0-2"),
        ("sys/devices/system/cpu/isolated", "1-3"),
        ("sys/devices/system/cpu/possible", "0-3"),
    ]);
    assert!(BootPlan::new(&root, None).unwrap_err().contains("proc/cmdline cannot be read"));
    put(&dir, "proc/cmdline", "isolcpus=managed_irq,domain,1-3");
    let plan = BootPlan::new(&root, None).unwrap();
    assert_eq!(plan.kept, ["isolcpus=managed_irq,domain,1-3"]);
    assert!(plan.changes.iter().any(|change| change.to == "irqaffinity=0"), "{:?}", plan.changes);
}

#[test]
fn a_mode_that_was_not_asked_for_is_planned_to_be_full() {
    let plan = |files: &str| {
        let (dir, _) = laid_out(&format!(
            "=== sys/devices/system/cpu/online\n0-3\n=== proc/version\n{}\n{files}",
            "Linux version 6.1.0-x (x) #1 SMP PREEMPT_DYNAMIC x"
        ));
        BootPlan::new(&HostRoot::at(dir.path()), Some(vec![CpuId(1)]))
            .unwrap()
            .changes
            .iter()
            .any(|change| change.to == "preempt=full")
    };
    assert!(
        plan("=== proc/cmdline\npreempt=none\n")
            && plan("=== proc/cmdline\nquiet\n")
            // Whether this kernel knows that mode is in no file.
            && plan("=== proc/cmdline\npreempt=lazy\n")
    );
    let options = "CONFIG_PREEMPT_DYNAMIC=y\nCONFIG_ARCH_HAS_PREEMPT_LAZY=y\n";
    let knows_lazy =
        format!("=== proc/sys/kernel/osrelease\n6.1.0-x\n=== boot/config-6.1.0-x\n{options}");
    assert!(!plan(&format!("=== proc/cmdline\npreempt=lazy\n{knows_lazy}")));
}

#[test]
fn a_raised_worker_is_left_alone() {
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
    let also = crate::TuningOptions {
        cpus: Some(vec![CpuId(1)]),
        also: vec!["threads-above".to_owned()],
        ..Default::default()
    };
    let plan = TuningPlan::new(&HostRoot::at(dir.path()), &also).unwrap();
    assert!(
        !plan.changes.iter().any(|change| change.check == "threads-above"),
        "{:?}",
        plan.changes
    );
}

/// Where nothing is to be put right, where that is never touched, and where it would do nothing.
#[test]
fn tuning_is_named_only_where_it_helps() {
    let tunable = |runtime: &str, release: &str, has_preempt_rt: &str| {
        let files = [
            ("proc/sys/kernel/sched_rt_runtime_us", runtime),
            ("proc/sys/kernel/sched_rt_period_us", "1000000"),
            (RELEASE, release),
            ("sys/kernel/realtime", has_preempt_rt),
        ];
        found("rt-throttling", "--for telco", &files).unwrap().tunable
    };
    assert!(tunable("950000", "6.1.0", "1"));
    assert!(!tunable("-1", "6.1.0", "1"));
    assert!(!tunable("950000", "6.1.0", "0"));
    assert!(!tunable("950000", "6.12.0", "1"));
    let dir = four_cpus("");
    make(
        dir.path(),
        &Made { id: 70, name: "rtkit-daemon", policy: RR, priority: 99, cpu: 1, ..Made::default() },
    );
    make(
        dir.path(),
        &Made { id: 71, name: "watchdogd", priority: 95, cpu: 1, flags: KERNEL, ..Made::default() },
    );
    let options = CheckOptions { cpus: Some(vec![CpuId(1)]), ..CheckOptions::default() };
    let guards = findings(&HostRoot::at(dir.path()), &options)
        .into_iter()
        .find(|finding| finding.id == "threads-above")
        .unwrap();
    assert!(!guards.tunable, "what guards the machine keeps its priority: {guards:?}");
}
