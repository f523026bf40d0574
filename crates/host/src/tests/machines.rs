// SPDX-License-Identifier: MIT OR Apache-2.0
//! Three machines for tests, as files: a virtual machine of two CPUs (captured), a PC of four and a
//! Raspberry Pi 4 with one of its four CPUs offline (both by hand, in the kernel's formats).

use super::files::{lay, put};
use crate::HostRoot;
use tempfile::TempDir;

pub(crate) const GUEST_STAT: &str = "\
cpu  15517 0 3142 222128 611 0 66 12 0 0
cpu0 5386 0 1208 114018 85 0 11 5 0 0
cpu1 10130 0 1934 108109 526 0 55 7 0 0
intr 264405 0 0 0 0 1 1 15 0 241 119 0 32 1 66214 0 7225 5095
ctxt 423499
btime 1795171053
softirq 159869 0 18462 4 11445 66213 0 78 35137 0 28530
";

pub(crate) const PI_STAT: &str = "\
cpu  90210 12 30110 1200345 800 0 410 0 0 0
cpu0 30110 4 10020 400115 300 0 400 0 0 0
cpu1 30050 4 10040 400120 250 0 5 0 0 0
cpu3 30050 4 10050 400110 250 0 5 0 0 0
intr 2658127 0 0
";

pub(crate) const GUEST_INTERRUPTS: &str = include_str!("machines/guest-interrupts");
pub(crate) const GUEST_SOFTIRQS: &str = include_str!("machines/guest-softirqs");
pub(crate) const GUEST_CPUINFO: &str = include_str!("machines/guest-cpuinfo");
pub(crate) const PC_INTERRUPTS: &str = include_str!("machines/pc-interrupts");
pub(crate) const PC_CPUINFO: &str = include_str!("machines/pc-cpuinfo");
pub(crate) const PI_INTERRUPTS: &str = include_str!("machines/pi-interrupts");
pub(crate) const PI_CPUINFO: &str = include_str!("machines/pi-cpuinfo");

const PC_STAT: &str = "\
cpu  4000 0 2000 400000 100 0 50 0 0 0
cpu0 1000 0 500 100000 25 0 20 0 0 0
cpu1 1000 0 500 100000 25 0 10 0 0 0
cpu2 1000 0 500 100000 25 0 10 0 0 0
cpu3 1000 0 500 100000 25 0 10 0 0 0
";

const PC_SOFTIRQS: &str = "                    CPU0       CPU1       CPU2       CPU3\n       \
                           TIMER:        100        200        300        400\n";
const PI_SOFTIRQS: &str = "                    CPU0       CPU1       CPU3\n       TIMER:        \
                           100        200        400\n";

const COMMON: &[(&str, &str)] = &[
    (
        "proc/meminfo",
        "MemTotal:        3884092 kB\nMemFree:         2023888 kB\nMemAvailable:    3321824 kB\n",
    ),
    ("proc/loadavg", "0.18 0.15 0.11 2/87 6454\n"),
    ("proc/uptime", "1210.65 2221.28\n"),
    ("proc/sys/kernel/sched_rt_runtime_us", "950000\n"),
    ("proc/sys/kernel/sched_rt_period_us", "1000000\n"),
    ("sys/devices/system/cpu/isolated", "\n"),
];

const GUEST: &[(&str, &str)] = &[
    ("proc/sys/kernel/hostname", "guest\n"),
    ("proc/sys/kernel/arch", "x86_64\n"),
    ("proc/sys/kernel/osrelease", "6.18.44\n"),
    (
        "proc/version",
        "Linux version 6.18.44 (build@host) (gcc (GCC) 15.3.0, GNU ld 2.46) #1 SMP \
         PREEMPT_DYNAMIC @0\n",
    ),
    ("proc/cmdline", "console=ttyS0 quiet\n"),
    ("proc/stat", GUEST_STAT),
    ("proc/cpuinfo", GUEST_CPUINFO),
    ("proc/interrupts", GUEST_INTERRUPTS),
    ("proc/softirqs", GUEST_SOFTIRQS),
    ("sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n"),
    ("sys/devices/system/clocksource/clocksource0/available_clocksource", "tsc kvm-clock \n"),
    ("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n"),
];

const PC: &[(&str, &str)] = &[
    ("proc/sys/kernel/hostname", "mill\n"),
    ("proc/sys/kernel/arch", "x86_64\n"),
    ("proc/sys/kernel/osrelease", "6.8.0-31-generic\n"),
    (
        "proc/version",
        "Linux version 6.8.0-31-generic (buildd@x) (gcc 13.2.0) #31-Ubuntu SMP PREEMPT_DYNAMIC \
         Sat Apr 20\n",
    ),
    ("proc/cmdline", "root=/dev/sda1 isolcpus=2,3 nohz_full=2,3\n"),
    ("proc/stat", PC_STAT),
    ("proc/cpuinfo", PC_CPUINFO),
    ("proc/interrupts", PC_INTERRUPTS),
    ("proc/softirqs", PC_SOFTIRQS),
    ("sys/devices/system/cpu/isolated", "2-3\n"),
    ("sys/devices/system/cpu/nohz_full", "2-3\n"),
    ("sys/kernel/debug/sched/preempt", "none voluntary (full) \n"),
    ("sys/devices/system/clocksource/clocksource0/current_clocksource", "hpet\n"),
    ("sys/devices/system/clocksource/clocksource0/available_clocksource", "hpet acpi_pm \n"),
    ("sys/kernel/mm/transparent_hugepage/enabled", "[always] madvise never\n"),
];

const PI: &[(&str, &str)] = &[
    ("proc/sys/kernel/hostname", "raspberrypi\n"),
    ("proc/sys/kernel/arch", "aarch64\n"),
    ("proc/sys/kernel/osrelease", "6.6.31-rt31-v8+\n"),
    (
        "proc/version",
        "Linux version 6.6.31-rt31-v8+ (me@desk) (aarch64-linux-gnu-gcc 12.2.0) #1 SMP PREEMPT_RT \
         Mon Jun 3\n",
    ),
    ("proc/cmdline", "console=tty1 root=PARTUUID=1-02 isolcpus=3\n"),
    ("proc/stat", PI_STAT),
    ("proc/cpuinfo", PI_CPUINFO),
    ("proc/device-tree/model", "Raspberry Pi 4 Model B Rev 1.4\0"),
    ("proc/interrupts", PI_INTERRUPTS),
    ("proc/softirqs", PI_SOFTIRQS),
    ("sys/kernel/realtime", "1\n"),
    ("sys/devices/system/cpu/nohz_full", "  (null)\n"),
    ("sys/devices/system/clocksource/clocksource0/current_clocksource", "arch_sys_counter\n"),
    ("sys/devices/system/clocksource/clocksource0/available_clocksource", "arch_sys_counter \n"),
];

/// A virtual machine of two CPUs, without cpufreq.
pub(crate) fn guest() -> (TempDir, HostRoot) {
    lay(&[COMMON, GUEST].concat())
}

/// A PC of four CPUs, two of them isolated, on a slow clocksource.
pub(crate) fn pc() -> (TempDir, HostRoot) {
    let (dir, root) = lay(&[COMMON, PC].concat());
    for cpu in 0..4 {
        cpufreq(&dir, cpu, "performance", 3_600_000, (800_000, 3_600_000));
    }
    (dir, root)
}

/// A Raspberry Pi 4 with PREEMPT_RT; CPU 2 is offline.
pub(crate) fn pi() -> (TempDir, HostRoot) {
    let (dir, root) = lay(&[COMMON, PI].concat());
    for cpu in [0, 1, 3] {
        cpufreq(&dir, cpu, "ondemand", 600_000, (600_000, 1_500_000));
    }
    (dir, root)
}

fn cpufreq(dir: &TempDir, cpu: u32, governor: &str, khz: u64, (min, max): (u64, u64)) {
    let folder = format!("sys/devices/system/cpu/cpu{cpu}/cpufreq");
    put(dir, &format!("{folder}/scaling_governor"), &format!("{governor}\n"));
    for (file, khz) in
        [("scaling_cur_freq", khz), ("scaling_min_freq", min), ("scaling_max_freq", max)]
    {
        put(dir, &format!("{folder}/{file}"), &format!("{khz}\n"));
    }
}
