// SPDX-License-Identifier: MIT OR Apache-2.0
//! Machines with Cobalt and EVL in several states.

use crate::Status;
use crate::one_finding::{OneFinding, finding};
use crate::tests::files::{lay, put};
use rustix::fs::inotify;
use rustix::io::Errno;
use std::fs::{Permissions, set_permissions};
use std::os::unix::fs::PermissionsExt as _;

const X86: (&str, &str) =
    ("proc/cpuinfo", "processor : 0\nvendor_id : GenuineIntel\nflags : fpu\n");
const ONLINE: (&str, &str) = ("sys/devices/system/cpu/online", "0-3");
const COBALT: (&str, &str) = ("proc/xenomai/version", "3.3.1\n");
const EVL: (&str, &str) = ("sys/class/evl/control/state", "running\n");
const LATENCY: &str = "proc/xenomai/latency";
const EVL_CLOCK: &str = "sys/devices/virtual/clock/monotonic/gravity";

fn seen(id: &str, cpus: Option<&[u32]>, files: &[(&str, &str)]) -> Option<OneFinding> {
    let (_dir, root) = lay(&[&[X86, ONLINE][..], files].concat());
    finding(&root, id, cpus)
}

fn state(files: &[(&str, &str)]) -> (Status, String, String) {
    let OneFinding { status, found, action } = seen("co-kernel", Some(&[3]), files).unwrap();
    (status, found, action)
}

#[test]
fn a_core_that_does_not_run_is_named() {
    assert_eq!(
        state(&[COBALT]),
        (Status::Ok, "Cobalt 3.3.1 (ABI 19), for root only".to_owned(), String::new())
    );
    let group = ("sys/module/xenomai/parameters/allowed_group", "1234\n");
    assert_eq!(state(&[COBALT, group]).1, "Cobalt 3.3.1 (ABI 19), for root and group 1234");
    let stopped = ("sys/module/xenomai/parameters/state", "stopped\n");
    assert_eq!(state(&[COBALT, stopped]).0, Status::Unknown);
    let disabled = ("sys/module/xenomai/parameters/state", "disabled\n");
    assert_eq!(
        (state(&[disabled]).0, state(&[disabled]).2.as_str()),
        (Status::Warn, "boot without xenomai.state=disabled")
    );
    let evl = |state_of| {
        state(&[("sys/class/evl/control/state", state_of), ("sys/class/evl/control/abi", "26")])
    };
    assert_eq!(evl("running"), (Status::Ok, "EVL (ABI 26)".to_owned(), String::new()));
    assert_eq!(
        evl("stopped"),
        (
            Status::Bad,
            "EVL (ABI 26): stopped".to_owned(),
            "echo start | sudo tee /sys/class/evl/control/state".to_owned()
        )
    );
    assert_eq!(evl("disabled").2, "boot without evl.state=disabled");
    assert!(seen("co-kernel", None, &[]).is_none());
}

#[test]
fn who_may_use_evl_is_in_its_devices() {
    let (dir, root) = lay(&[X86, EVL, ("dev/evl/control", "")]);
    for (mode, expected) in
        [(0o600, "for root only"), (0o660, "for root and group"), (0o666, "for everyone")]
    {
        set_permissions(dir.path().join("dev/evl/control"), Permissions::from_mode(mode)).unwrap();
        let finding = finding(&root, "co-kernel", None).unwrap();
        assert!(finding.found.contains(expected), "{finding:?}");
    }
}

#[test]
fn cpus_that_the_core_does_not_have_are_named() {
    let (status, found, action) = state(&[COBALT, ("proc/xenomai/affinity", "00000003\n")]);
    assert_eq!(
        (status, found.as_str()),
        (Status::Bad, "Cobalt 3.3.1 (ABI 19), for root only, not on CPU 3")
    );
    assert_eq!(action, "echo 0xb | sudo tee /proc/xenomai/affinity");
    let supported = ("proc/cmdline", "xenomai.supported_cpus=0x3");
    assert_eq!(
        state(&[COBALT, supported, ("proc/xenomai/affinity", "00000003\n")]).2,
        "boot without xenomai.supported_cpus="
    );
    assert_eq!(state(&[COBALT, ("proc/xenomai/affinity", "0000000f\n")]).0, Status::Ok);
    let (status, _, action) = state(&[EVL, ("sys/class/evl/control/cpus", "0-1\n")]);
    assert_eq!((status, action.as_str()), (Status::Bad, "boot with evl.oobcpus= that has 3 too"));
}

#[test]
fn a_gravity_that_was_built_in_is_not_calibrated() {
    for (files, expected) in [
        (&[COBALT, (LATENCY, "3350\n")][..], Status::Warn),
        (&[COBALT, (LATENCY, "1743\n")], Status::Ok),
        (&[COBALT, (LATENCY, "0\n")], Status::Ok),
        (&[EVL, (EVL_CLOCK, "0i 3000k 3000u\n")], Status::Warn),
        (&[EVL, (EVL_CLOCK, "0i 700k 1500u\n")], Status::Ok),
        // Built with this one.
        (
            &[
                EVL,
                (EVL_CLOCK, "0i 700k 1500u\n"),
                ("proc/config.gz", "CONFIG_EVL_LATENCY_USER=1500\n"),
            ],
            Status::Warn,
        ),
    ] {
        let finding = seen("co-kernel-gravity", None, files).unwrap();
        assert_eq!(finding.status, expected, "{files:?} {finding:?}");
    }
    let finding = seen("co-kernel-gravity", None, &[EVL, (EVL_CLOCK, "0i 3000k 3000u\n")]).unwrap();
    assert_eq!(finding.action, "sudo latmus -t (a tool of libevl), after each boot");
    let without = [COBALT, (LATENCY, "3350\n"), ("proc/config.gz", "CONFIG_XENOMAI=y\n")];
    let finding = seen("co-kernel-gravity", None, &without).unwrap();
    let expected = "boot a kernel with CONFIG_XENO_DRIVERS_AUTOTUNE=y. Then sudo autotune (a tool \
                    of Xenomai), after each boot";
    assert_eq!(finding.action, expected);
}

/// Whether a file was opened since the watch began.
fn was_opened(watch: &impl std::os::fd::AsFd) -> bool {
    match rustix::io::read(watch, &mut [0_u8; 512]) {
        Ok(_) => true,
        Err(error) => {
            assert_eq!(error, Errno::AGAIN);
            false
        }
    }
}

/// Xenomai 3.3.1 follows a null pointer there while it is stopped, and on CPUs without CPU 0 while
/// it runs.
#[test]
fn coreclk_is_never_opened() {
    const STATE: &str = "sys/module/xenomai/parameters/state";
    const CORECLK: &str = "proc/xenomai/clock/coreclk";
    let running = [(STATE, "enabled\n")];
    let without_cpu_0 =
        [(STATE, "enabled\n"), ("sys/module/xenomai/parameters/supported_cpus", "2\n")];
    for state in
        [&[(STATE, "stopped\n")][..], &[(STATE, "disabled\n")], &running, &without_cpu_0, &[]]
    {
        let (dir, root) = lay(&[&[X86, ONLINE, COBALT, (LATENCY, "2000\n")][..], state].concat());
        put(&dir, CORECLK, "gravity: irq=0 kernel=2000 user=2000\n");
        let watch = inotify::init(inotify::CreateFlags::NONBLOCK).unwrap();
        inotify::add_watch(&watch, dir.path().join(CORECLK), inotify::WatchFlags::OPEN).unwrap();
        let found = finding(&root, "co-kernel-gravity", None).unwrap().found;
        assert!(found.starts_with("user=2000, as it was built"), "{state:?}: {found}");
        let _ = root.snapshot();
        assert!(!was_opened(&watch), "{state:?}");
        std::fs::read(dir.path().join(CORECLK)).unwrap();
        assert!(was_opened(&watch), "the watch sees it");
    }
}

#[test]
fn neighbours_that_do_nothing_are_none() {
    let config =
        "CONFIG_CPU_IDLE=y\nCONFIG_CPU_FREQ=y\nCONFIG_TRANSPARENT_HUGEPAGE=y\nCONFIG_KSM=y\n";
    let governor = "sys/devices/system/cpu/cpu3/cpufreq/scaling_governor";
    let files = [
        COBALT,
        ("proc/config.gz", config),
        (governor, "performance\n"),
        ("sys/devices/system/cpu/cpu3/cpuidle/state1/latency", "1\n"),
        ("sys/kernel/mm/transparent_hugepage/enabled", "always madvise [never]\n"),
        ("sys/kernel/mm/ksm/run", "0\n"),
    ];
    let finding = seen("co-kernel-neighbours", Some(&[3]), &files).unwrap();
    assert_eq!(finding.status, Status::Ok, "{finding:?}");
    let finding = seen("co-kernel-neighbours", Some(&[3]), &files[..2]).unwrap();
    assert_eq!(finding.found, "CPU_IDLE, CPU_FREQ, TRANSPARENT_HUGEPAGE and KSM");
    let expected = "build the kernel without: scripts/config -d CPU_IDLE -d CPU_FREQ -d \
                    TRANSPARENT_HUGEPAGE -d KSM";
    assert_eq!(finding.action, expected);
}

#[test]
fn neighbours_that_delay_are_named_with_what_stops_them() {
    let files = [
        COBALT,
        ("proc/config.gz", "CONFIG_MIGRATION=y\n"),
        ("sys/devices/system/cpu/cpu3/cpufreq/scaling_governor", "ondemand\n"),
        ("sys/devices/system/cpu/cpu3/cpuidle/state2/latency", "85\n"),
        ("sys/devices/system/cpu/cpu3/cpuidle/state2/name", "C6\n"),
    ];
    let finding = seen("co-kernel-neighbours", Some(&[3]), &files).unwrap();
    assert_eq!(
        finding.found,
        "idle state C6 (85 µs to wake) on CPU 3, frequency scaling on CPU 3, MIGRATION"
    );
    let expected = "boot with intel_idle.max_cstate=0 processor.max_cstate=1, and echo \
                    performance | sudo tee /sys/devices/system/cpu/cpu3/cpufreq/scaling_governor, \
                    and build the kernel without: scripts/config -d MIGRATION";
    assert_eq!(finding.action, expected);
    assert_eq!(seen("co-kernel-neighbours", None, &[COBALT]).unwrap().status, Status::Unknown);
}
