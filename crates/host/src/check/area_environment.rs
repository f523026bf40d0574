// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where the machine runs: a virtual machine, a container, a board, on battery.

use super::area_scheduling::own_group;
use super::machine::{Machine, Purpose, cpu_words};
use super::{ALL, Check, Seen};
use crate::kernel::one_line;
use plan::CpuId;

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "virtual-machine",
        why: "A hypervisor may run something else while a virtual CPU is due, and each timer may leave the guest.",
        reference: "kernel: Documentation/virt/kvm; systemd-detect-virt(1)",
        tunable: false,
        matters: &[],
        look: virtual_machine,
    },
    Check {
        id: "steal-time",
        why: "Steal time is time in which this machine had work and its hypervisor ran something else.",
        reference: "proc_stat(5)",
        tunable: false,
        matters: ALL,
        look: steal,
    },
    Check {
        id: "container",
        why: "A container may hide other work, settings and rights of the machine it runs on.",
        reference: "systemd-detect-virt(1)",
        tunable: false,
        matters: &[],
        look: container,
    },
    Check {
        id: "cpu-quota",
        why: "A group that has used up its quota waits for the next period: some 10 ms, whatever is due.",
        reference: "kernel: Documentation/admin-guide/cgroup-v2.rst, cpu.max",
        tunable: false,
        matters: ALL,
        look: quota,
    },
    Check {
        id: "smt-siblings",
        why: "Threads of one core share its pipelines and caches: a busy sibling makes code some 10 to 100 % slower.",
        reference: "kernel: Documentation/ABI/stable/sysfs-devices-system-cpu, thread_siblings_list",
        tunable: false,
        matters: &[Purpose::Telco],
        look: siblings,
    },
    Check {
        id: "battery",
        why: "On battery the firmware lowers frequencies and limits.",
        reference: "kernel: Documentation/ABI/testing/sysfs-class-power",
        tunable: false,
        matters: &[],
        look: battery,
    },
    Check {
        id: "temperature",
        why: "Near its limit a CPU is slowed down, or stopped for moments.",
        reference: "kernel: Documentation/driver-api/thermal/sysfs-api.rst",
        tunable: false,
        matters: ALL,
        look: temperature,
    },
    Check {
        id: "board-throttled",
        why: "A Raspberry Pi lowers its frequency when its supply is weak or it is hot, and nothing else says so.",
        reference: "Raspberry Pi documentation: vcgencmd get_throttled",
        tunable: false,
        matters: ALL,
        look: throttled,
    },
    Check {
        id: "board-usb-interrupts",
        why: "The USB controller of Raspberry Pis up to 3 takes fast interrupts, which PREEMPT_RT cannot delay and which crash older RT kernels.",
        reference: "Raspberry Pi documentation: dwc_otg.fiq_enable, dwc_otg.fiq_fsm_enable",
        tunable: false,
        matters: ALL,
        look: usb_interrupts,
    },
    Check {
        id: "board-config",
        why: "A fixed frequency and a known temperature limit make figures of a Raspberry Pi repeatable.",
        reference: "Raspberry Pi documentation: config.txt, arm_freq, force_turbo, temp_soft_limit",
        tunable: false,
        matters: &[],
        look: board_config,
    },
];

fn board(machine: &Machine<'_>) -> Option<String> {
    one_line(&machine.text("proc/device-tree/model")?)
}

fn virtual_machine(machine: &Machine<'_>) -> Option<Seen> {
    let info = machine.text("proc/cpuinfo").unwrap_or_default();
    let has_flag = info
        .lines()
        .filter(|line| line.starts_with("flags"))
        .any(|line| line.split_whitespace().any(|flag| flag == "hypervisor"));
    let product = machine.text("sys/class/dmi/id/sys_vendor").unwrap_or_default();
    let board = board(machine).unwrap_or_default();
    if !has_flag && board != "linux,dummy-virt" {
        return None;
    }
    let kind =
        machine.text("sys/hypervisor/type").unwrap_or_else(|| if product.is_empty() { board.clone() } else { product.clone() });
    let found = if kind.is_empty() { "yes, of an unknown kind".to_owned() } else { format!("yes ({kind})") };
    Seen::warn(found, "measure on the machine itself, or give each virtual CPU a CPU of its own")
}

/// Steal time of more than this share of what was not idle, in thousandths, is named.
const MUCH_STEAL: u64 = 10;

fn steal(machine: &Machine<'_>) -> Option<Seen> {
    let text = machine.text("proc/stat")?;
    let line = text.lines().find(|line| line.starts_with("cpu "))?;
    let times: Vec<u64> = line.split_whitespace().skip(1).filter_map(|word| word.parse().ok()).collect();
    let (steal, all) = (*times.get(7)?, times.iter().take(8).sum::<u64>());
    let idle = times.get(3)? + times.get(4)?;
    let busy = all.saturating_sub(idle);
    if steal == 0 {
        return None;
    }
    let found = format!("{:.1} % of the time in which there was work, since boot", 100.0 * ratio(steal, busy));
    if steal.saturating_mul(1_000) > busy.saturating_mul(MUCH_STEAL) {
        return Seen::bad(found, "have the host give this machine CPUs of its own");
    }
    Seen::warn(found, "have the host give this machine CPUs of its own")
}

#[expect(clippy::cast_precision_loss, reason = "it is shown with one digit")]
fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

fn container(machine: &Machine<'_>) -> Option<Seen> {
    let environment = machine.text("proc/1/environ").unwrap_or_default();
    let named = environment.split('\0').find_map(|word| word.strip_prefix("container=")).map(str::to_owned);
    let kind = if machine.exists(".dockerenv") {
        "docker".to_owned()
    } else if machine.exists("run/.containerenv") {
        "podman".to_owned()
    } else {
        named.or_else(|| machine.text("run/systemd/container"))?
    };
    Seen::warn(
        format!("yes ({kind})"),
        "give it what it needs: --cap-add SYS_NICE --cap-add IPC_LOCK --ulimit rtprio=99 --ulimit memlock=-1 --cpuset-cpus",
    )
}

fn quota(machine: &Machine<'_>) -> Option<Seen> {
    let mut limits = Vec::new();
    if let Some(group) = own_group(machine, None) {
        // A limit of any group above counts too.
        let mut folder = group.trim_end_matches('/').to_owned();
        loop {
            if let Some(text) = machine.text(&format!("{folder}/cpu.max"))
                && let Some((quota, period)) = text.split_once(' ')
                && quota != "max"
            {
                limits.push(format!("{quota} µs of each {period} µs (/{folder}/cpu.max)"));
            }
            let Some((above, _)) = folder.rsplit_once('/').filter(|(above, _)| above.starts_with("sys/fs/cgroup")) else { break };
            folder = above.to_owned();
        }
    }
    if let Some(folder) = own_group(machine, Some("cpu"))
        && let Some(quota) = machine.number(&format!("{folder}/cpu.cfs_quota_us")).filter(|quota| *quota > 0)
    {
        let period = machine.number(&format!("{folder}/cpu.cfs_period_us")).unwrap_or(100_000);
        limits.push(format!("{quota} µs of each {period} µs (/{folder}/cpu.cfs_quota_us)"));
    }
    if limits.is_empty() {
        return None;
    }
    Seen::bad(
        limits.join(", "),
        "run without it (docker: no --cpus; systemd: CPUQuota=). Real-time threads are not held to it, all others are",
    )
}

fn siblings(machine: &Machine<'_>) -> Option<Seen> {
    let measured = machine.measured();
    let mut shared: Vec<CpuId> = Vec::new();
    let mut has_siblings = false;
    for cpu in &measured {
        let all = machine.cpus(&format!("sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list")).unwrap_or_default();
        has_siblings |= all.len() > 1;
        shared.extend(all.into_iter().filter(|sibling| sibling != cpu && machine.online.contains(sibling)));
    }
    if !has_siblings {
        return None;
    }
    shared.sort_unstable();
    shared.dedup();
    if !machine.has_chosen_cpus() {
        return Seen::warn("cores have two threads", "measure on one thread of a core and leave the other idle");
    }
    if shared.is_empty() {
        return Seen::ok("their siblings are offline");
    }
    let off: Vec<String> =
        shared.iter().map(|cpu| format!("echo 0 | sudo tee /sys/devices/system/cpu/cpu{cpu}/online")).collect();
    Seen::bad(format!("{} share cores with {}", cpu_words(&shared), cpu_words(&measured)), off.join("; "))
}

fn battery(machine: &Machine<'_>) -> Option<Seen> {
    let supplies = machine.names("sys/class/power_supply");
    let of = |name: &str, file: &str| machine.text(&format!("sys/class/power_supply/{name}/{file}"));
    let is_battery =
        |name: &&String| of(name, "type").as_deref() == Some("Battery") && of(name, "scope").as_deref() != Some("Device");
    let discharging = supplies.iter().filter(is_battery).any(|name| of(name, "status").as_deref() == Some("Discharging"));
    if !supplies.iter().any(|name| is_battery(&name)) {
        return None;
    }
    if discharging { Seen::warn("runs on battery", "connect it to its supply") } else { Seen::ok("connected to its supply") }
}

/// As near to a limit as this it is named, thousandths of a degree.
const NEAR: i64 = 5_000;

fn temperature(machine: &Machine<'_>) -> Option<Seen> {
    let mut hottest: Option<(i64, i64, String)> = None;
    for zone in machine.names("sys/class/thermal").into_iter().filter(|name| name.starts_with("thermal_zone")) {
        let folder = format!("sys/class/thermal/{zone}");
        let Some(now) = machine.number(&format!("{folder}/temp")) else { continue };
        let trips = machine
            .names(&folder)
            .into_iter()
            .filter_map(|name| name.strip_prefix("trip_point_")?.strip_suffix("_type").map(str::to_owned));
        for trip in trips {
            let kind = machine.text(&format!("{folder}/trip_point_{trip}_type")).unwrap_or_default();
            let Some(limit) = machine.number(&format!("{folder}/trip_point_{trip}_temp")).filter(|limit| *limit > 0) else {
                continue;
            };
            if (kind == "passive" || kind == "hot") && hottest.as_ref().is_none_or(|(left, ..)| limit - now < *left) {
                hottest = Some((limit - now, now, format!("{} °C", limit / 1_000)));
            }
        }
    }
    let (left, now, limit) = hottest?;
    let found = format!("{} °C, slowed down from {limit} on", now / 1_000);
    if left <= NEAR { Seen::bad(found, "cool it, or lower its frequency") } else { Seen::ok(found) }
}

/// What the bits of get_throttled stand for; the same 16 bits higher stand for: since boot.
const THROTTLED: [&str; 4] = ["under-voltage", "frequency capped", "throttled", "soft temperature limit"];

fn throttled(machine: &Machine<'_>) -> Option<Seen> {
    if !board(machine)?.starts_with("Raspberry Pi") {
        return None;
    }
    let files = ["sys/devices/platform/soc/soc:firmware/get_throttled", "sys/devices/platform/soc/firmware/get_throttled"];
    let Some(text) = files.iter().find_map(|file| machine.text(file)) else {
        let alarm = machine
            .names("sys/class/hwmon")
            .into_iter()
            .find_map(|name| machine.number(&format!("sys/class/hwmon/{name}/in0_lcrit_alarm")));
        return match alarm {
            Some(0) => Seen::ok("no under-voltage now (hwmon); vcgencmd get_throttled says more"),
            Some(_) => Seen::bad("under-voltage now (hwmon)", "use a supply that holds 5 V under load"),
            None => Seen::unknown_until("no file shows it", "vcgencmd get_throttled"),
        };
    };
    let Ok(bits) = u32::from_str_radix(text.trim_start_matches("throttled=").trim_start_matches("0x"), 16) else {
        return Seen::unknown(format!("'{text}' is no such value"));
    };
    let named = |shift: usize| {
        THROTTLED.iter().enumerate().filter(move |(bit, _)| bits & (1 << (bit + shift)) != 0).map(|(_, word)| *word)
    };
    let (now, since): (Vec<&str>, Vec<&str>) = (named(0).collect(), named(16).collect());
    let action = "use a supply that holds 5 V under load, cool it, or fix a lower frequency (arm_freq=)";
    if !now.is_empty() {
        return Seen::bad(format!("now: {}", now.join(", ")), action);
    }
    if !since.is_empty() {
        return Seen::bad(format!("since boot: {}", since.join(", ")), action);
    }
    Seen::ok("not since boot")
}

fn usb_interrupts(machine: &Machine<'_>) -> Option<Seen> {
    let board = board(machine)?;
    if !["Raspberry Pi 3", "Raspberry Pi 2", "Raspberry Pi Zero", "Raspberry Pi Model"].iter().any(|name| board.starts_with(name))
    {
        return None;
    }
    let is_off = |name: &str| machine.arguments.value(name) == Some("0");
    if is_off("dwc_otg.fiq_enable") && is_off("dwc_otg.fiq_fsm_enable") {
        return Seen::ok("off (dwc_otg.fiq_enable=0 dwc_otg.fiq_fsm_enable=0)");
    }
    let version = machine.text("proc/version").unwrap_or_default();
    if !version.contains("PREEMPT_RT") && !version.contains("PREEMPT RT") {
        return Seen::warn("on", "with PREEMPT_RT boot with dwc_otg.fiq_enable=0 dwc_otg.fiq_fsm_enable=0");
    }
    Seen::bad("on", "add dwc_otg.fiq_enable=0 dwc_otg.fiq_fsm_enable=0 to cmdline.txt")
}

fn uncommented(value: &str) -> &str {
    value.split('#').next().unwrap_or_default().trim()
}

fn board_config(machine: &Machine<'_>) -> Option<Seen> {
    if !board(machine)?.starts_with("Raspberry Pi") {
        return None;
    }
    let text = ["boot/firmware/config.txt", "boot/config.txt"].iter().find_map(|file| machine.text(file))?;
    let value = |name: &str| {
        text.lines().rev().find_map(|line| line.trim().strip_prefix(name)?.trim().strip_prefix('=').map(uncommented))
    };
    let given: Vec<String> = ["arm_freq", "force_turbo", "temp_soft_limit", "over_voltage"]
        .into_iter()
        .filter_map(|name| Some(format!("{name}={}", value(name)?)))
        .collect();
    if given.is_empty() {
        return Seen::warn(
            "the frequency follows load and heat",
            "set arm_freq= to what the board holds when it is hot, in config.txt",
        );
    }
    Seen::ok(given.join(" "))
}
