// SPDX-License-Identifier: MIT OR Apache-2.0
//! What real-time threads may have of a CPU, on small machines.

use super::*;
use crate::tests::threads::file;
use crate::tests::trees::{Shown, laid_out, shown};
use crate::{CheckOptions, Status};
use host::HostRoot;

/// A machine with these files, below /sys/fs/cgroup/cpu where they begin with a dash.
fn machine(files: &[(&str, &str)]) -> tempfile::TempDir {
    let dir = laid_out("=== sys/devices/system/cpu/online\n0-3\n").0;
    for (path, text) in files {
        let path = path
            .strip_prefix('-')
            .map_or_else(|| (*path).to_owned(), |group| format!("sys/fs/cgroup/cpu/{group}"));
        file(dir.path(), &path, text);
    }
    dir
}

fn finding(
    dir: &tempfile::TempDir,
    purpose: Purpose,
    id: &str,
) -> Option<(Status, String, String)> {
    let options =
        CheckOptions { purpose, cpus: Some(vec![CpuId(2), CpuId(3)]), ..CheckOptions::default() };
    shown(&HostRoot::at(dir.path()), &options, id).map(Shown::words)
}

const PERIOD: (&str, &str) = ("proc/sys/kernel/sched_rt_period_us", "1000000");
const RT: (&str, &str) = ("sys/kernel/realtime", "1");
const RUNTIME: &str = "proc/sys/kernel/sched_rt_runtime_us";
const RELEASE: &str = "proc/sys/kernel/osrelease";

fn throttled(files: &[(&str, &str)], purpose: Purpose) -> (Status, String, String) {
    finding(&machine(&[files, &[PERIOD]].concat()), purpose, "rt-throttling").unwrap()
}

#[test]
fn a_small_share_stops_what_has_little_to_do() {
    let (status, found, action) =
        throttled(&[(RUNTIME, "1000"), (RELEASE, "6.1.0")], Purpose::Measure);
    assert_eq!(
        (status, found.as_str()),
        (Status::Bad, "real-time threads have 1000 µs of each 1000000 µs")
    );
    assert_eq!(action, "sudo sysctl kernel.sched_rt_runtime_us=950000");
    assert_eq!(throttled(&[(RUNTIME, "0"), (RELEASE, "6.1.0")], Purpose::Measure).0, Status::Bad);
    assert_eq!(
        throttled(&[(RUNTIME, "950000"), (RELEASE, "6.1.0")], Purpose::Measure).0,
        Status::Ok
    );
    let telco = |files: &[(&str, &str)]| {
        throttled(&[files, &[(RUNTIME, "950000"), (RELEASE, "6.1.0")]].concat(), Purpose::Telco)
    };
    let (status, _, action) = telco(&[RT]);
    assert_eq!(
        (status, action.starts_with("sudo sysctl kernel.sched_rt_runtime_us=-1, ")),
        (Status::Warn, true),
        "{action}"
    );
    // On other kernels it would be dangerous.
    let (status, _, action) = telco(&[]);
    assert!(
        status == Status::Warn && action.starts_with("boot a kernel with PREEMPT_RT"),
        "{action}"
    );
    assert_eq!(throttled(&[(RUNTIME, "-1"), (RELEASE, "6.1.0")], Purpose::Telco).0, Status::Ok);
}

#[test]
fn the_fair_server_decides_where_there_is_one() {
    let newer = [(RUNTIME, "-1"), (RELEASE, "6.12.90-rt"), RT];
    let (status, found, _) = throttled(&newer, Purpose::Telco);
    assert_eq!(status, Status::Unknown, "{found}");
    let cpu = |cpu: u32, runtime: &'static str| {
        [
            (format!("{FAIR_SERVER}/cpu{cpu}/runtime"), runtime),
            (format!("{FAIR_SERVER}/cpu{cpu}/period"), "1000000000"),
        ]
    };
    let with = |two: &'static str, three: &'static str, purpose| {
        let files: Vec<(String, &str)> = cpu(2, two).into_iter().chain(cpu(3, three)).collect();
        let files: Vec<(&str, &str)> =
            files.iter().map(|(path, text)| (path.as_str(), *text)).chain(newer).collect();
        throttled(&files, purpose)
    };
    let (status, found, action) = with("50000000", "50000000", Purpose::Telco);
    let expected = "the fair server gives ordinary threads that starve up to 50000 µs of each \
                    1000000 µs on CPUs 2-3";
    assert_eq!((status, found.as_str()), (Status::Warn, expected));
    let off = "for i in 2 3; do echo 0 | sudo tee \
               /sys/kernel/debug/sched/fair_server/cpu$i/runtime; done";
    assert_eq!(action, format!("{off}, where threads poll on CPUs of their own"));
    assert_eq!(with("50000000", "50000000", Purpose::Measure).0, Status::Ok);
    assert!(with("0", "50000000", Purpose::Telco).1.ends_with("on CPU 3"));
    assert_eq!(with("0", "0", Purpose::Telco).0, Status::Ok);
    let (status, _, action) = with("0", "900000000", Purpose::Measure);
    assert_eq!(
        (status, action.as_str()),
        (Status::Bad, "echo 50000000 | sudo tee /sys/kernel/debug/sched/fair_server/cpu3/runtime")
    );
    // The other setting no longer stops real-time threads there.
    assert_eq!(
        throttled(&[(RUNTIME, "1000"), (RELEASE, "6.12.90-rt")], Purpose::Measure).0,
        Status::Unknown
    );
}

fn grouped(files: &[(&str, &str)]) -> Option<(Status, String, String)> {
    let built = ("boot/config-6.1.0", "CONFIG_RT_GROUP_SCHED=y\n");
    finding(
        &machine(&[&[built, (RELEASE, "6.1.0")], files].concat()),
        Purpose::Measure,
        "rt-group-scheduling",
    )
}

/// A group cannot have more than those above it.
#[test]
fn shares_are_given_from_above() {
    let of_root = ("-cpu.rt_runtime_us", "950000");
    let nested = [
        of_root,
        ("proc/self/cgroup", "3:cpu,cpuacct:/user.slice/session-1.scope\n0::/user.slice\n"),
        ("-user.slice/cpu.rt_runtime_us", "0"),
        ("-user.slice/session-1.scope/cpu.rt_runtime_us", "0"),
        ("-system.slice/cpu.rt_runtime_us", "200000"),
    ];
    let (status, found, action) = grouped(&nested).unwrap();
    assert_eq!(
        (status, found.as_str()),
        (Status::Bad, "built in, and this control group's share is 0")
    );
    let groups = "sys/fs/cgroup/cpu/user.slice sys/fs/cgroup/cpu/user.slice/session-1.scope";
    let expected = format!(
        "echo $$ | sudo tee /sys/fs/cgroup/cpu/tasks, and start it from this shell, or for i in \
         {groups}; do echo 750000 | sudo tee /\"$i\"/cpu.rt_runtime_us; done, or boot a kernel \
         without RT_GROUP_SCHED"
    );
    assert_eq!(action, expected);
    // The same of the right, which said that any priority may be had.
    let root = ("proc/self/status", "CapEff:\t000001ffffffffff\n");
    let built = ("boot/config-6.1.0", "CONFIG_RT_GROUP_SCHED=y\n");
    let files = [&nested[..], &[root, built, (RELEASE, "6.1.0")]].concat();
    let rights = finding(&machine(&files), Purpose::Measure, "rights-real-time").unwrap();
    let found = "none: this control group has no time for real-time threads (rt-group-scheduling)";
    assert_eq!(rights, (Status::Bad, found.to_owned(), action));
    // Nothing is left to be given.
    let taken = [&nested[..], &[("-system.slice/cpu.rt_runtime_us", "950000")]].concat();
    let action = grouped(&taken).unwrap().2;
    assert!(action.starts_with("echo $$ | sudo tee /sys/fs/cgroup/cpu/tasks"), "{action}");
    let in_root = [of_root, ("proc/self/cgroup", "1:cpu:/\n")];
    assert_eq!(grouped(&in_root).unwrap().0, Status::Ok);
}

#[test]
fn groups_of_version_2_have_no_share() {
    let own = ("proc/self/cgroup", "0::/user.slice/session.scope\n");
    let (status, found, action) =
        grouped(&[own, ("sys/fs/cgroup/user.slice/cpu.weight", "100")]).unwrap();
    assert_eq!(
        (status, found.as_str()),
        (Status::Bad, "built in, and /sys/fs/cgroup/user.slice has no share for real-time threads")
    );
    assert!(action.starts_with("echo $$ | sudo tee /sys/fs/cgroup/cgroup.procs"), "{action}");
    assert_eq!(grouped(&[own]).unwrap().0, Status::Ok);
    assert_eq!(
        grouped(&[own, ("sys/fs/cgroup/user.slice/cpu.weight", "100"), (RUNTIME, "-1")]).unwrap().0,
        Status::Ok
    );
}

#[test]
fn group_scheduling_can_be_switched_off() {
    let limited = [("proc/self/cgroup", "0::/a\n"), ("sys/fs/cgroup/a/cpu.weight", "100")];
    let of = |release: &'static str, config: &'static str, arguments: &'static str| {
        let config_file = format!("boot/config-{release}");
        let files = [
            &limited[..],
            &[(RELEASE, release), (&config_file, config), ("proc/cmdline", arguments)],
        ]
        .concat();
        finding(&machine(&files), Purpose::Measure, "rt-group-scheduling").unwrap()
    };
    let (on, off) = (
        "CONFIG_RT_GROUP_SCHED=y\n",
        "CONFIG_RT_GROUP_SCHED=y\nCONFIG_RT_GROUP_SCHED_DEFAULT_DISABLED=y\n",
    );
    assert_eq!(of("6.16.1", off, "quiet").0, Status::Ok);
    assert_eq!(of("6.16.1", off, "rt_group_sched=1").0, Status::Bad);
    assert_eq!(of("6.16.1", on, "rt_group_sched=0").0, Status::Ok);
    assert!(of("6.16.1", on, "").2.ends_with("or boot with rt_group_sched=0"));
    // An older kernel does not know the argument.
    let (status, _, action) = of("5.10.0", on, "rt_group_sched=0");
    assert!(
        status == Status::Bad && action.ends_with("or boot a kernel without RT_GROUP_SCHED"),
        "{action}"
    );
}

/// What was advised there led to the same finding again.
#[test]
fn what_a_locked_down_kernel_hides_is_not_advised() {
    const LOCKDOWN: &str = "sys/kernel/security/lockdown";
    let of = |files: &[(&str, &str)]| {
        throttled(&[&[(RUNTIME, "950000"), (RELEASE, "6.12.0")], files].concat(), Purpose::Measure)
    };
    let (status, found, action) = of(&[(LOCKDOWN, "none [integrity] confidentiality\n")]);
    assert!(
        status == Status::Unknown && found.ends_with("the kernel is locked down (integrity)"),
        "{found}"
    );
    assert_eq!(action, "");
    let (_, found, action) = of(&[(LOCKDOWN, "[none] integrity confidentiality\n")]);
    assert_eq!(
        (found.as_str(), action.as_str()),
        (
            "kernel.sched_rt_runtime_us is 950000, but this kernel has a fair server. What it \
             gives is in debugfs, which is not among these files",
            "take them as root, with debugfs mounted"
        )
    );
    let (_, found, action) = of(&[("sys/kernel/debug/sched/features", "")]);
    let is_not_shown =
        found.ends_with("What it gives is in debugfs, where this kernel does not show it");
    assert!(is_not_shown && action.is_empty(), "{found} {action}");
}
