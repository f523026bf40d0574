// SPDX-License-Identifier: MIT OR Apache-2.0
//! A co-kernel beside Linux: its state, how it was calibrated, and what disturbs it.

use super::area_frequency::{raise, scaling_cpus, slow_states_left};
use super::finding::{ALL, Check, Seen, check};
use super::machine::Machine;
use super::sets::without;
use super::words::{cpu_words, listed};
use host::kernel;
use model::{Phrase, phrase};
use plan::{CpuId, CpuList};
use std::os::unix::fs::MetadataExt;

pub(crate) const CHECKS: &[Check] = &[
    check("co-kernel", ALL, co_kernel),
    check("co-kernel-gravity", ALL, gravity),
    check("co-kernel-neighbours", ALL, neighbours),
];

/// A co-kernel that is built into the kernel.
enum Core {
    Cobalt { version: String },
    Evl { state: String },
}

fn core(machine: &Machine<'_>) -> Option<Core> {
    if let Some(version) = machine.text("proc/xenomai/version") {
        return Some(Core::Cobalt { version });
    }
    Some(Core::Evl { state: machine.text("sys/class/evl/control/state")? })
}

fn is_x86(machine: &Machine<'_>) -> bool {
    machine
        .text("proc/cpuinfo")
        .is_some_and(|info| info.lines().any(|line| line.starts_with("vendor_id")))
}

/// Revisions of Cobalt's interface on x86, which count otherwise elsewhere.
const COBALT_ABIS: [(&str, u32); 4] = [("3.0", 16), ("3.1", 17), ("3.2", 18), ("3.3", 19)];

fn cobalt_words(machine: &Machine<'_>, version: &str) -> Phrase {
    let is_of = |release: &str| {
        version
            .strip_prefix(release)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '-']))
    };
    let abi =
        COBALT_ABIS.into_iter().find(|(release, _)| is_of(release)).filter(|_| is_x86(machine));
    let abi = abi.map(|(_, abi)| format!(" (ABI {abi})")).unwrap_or_default();
    let group = machine.text("sys/module/xenomai/parameters/allowed_group");
    let who = match group.as_deref() {
        Some("-1") | None => phrase!("root-only"),
        Some(group) => phrase!("root-and-group", group),
    };
    phrase!("core-for", core = format!("Cobalt {version}{abi}"), who)
}

fn evl_words(machine: &Machine<'_>) -> Phrase {
    let abi = machine.text("sys/class/evl/control/abi").unwrap_or_else(|| "unknown".to_owned());
    let device = std::fs::metadata(machine.root().path("dev/evl/control")).ok();
    let who = device.map(|device| match (device.mode() & 0o006, device.mode() & 0o060) {
        (0o006, _) => phrase!("everyone"),
        (_, 0o060) => phrase!("root-and-group", group = device.gid().to_string()),
        _ => phrase!("root-only"),
    });
    let core = format!("EVL (ABI {abi})");
    match who {
        Some(who) => phrase!("core-for", core, who),
        None => core.into(),
    }
}

/// CPUs that a co-kernel runs on, and how to give it others.
fn core_cpus(machine: &Machine<'_>, core: &Core) -> Option<(Vec<CpuId>, Phrase)> {
    let list = CpuList::format(&machine.measured());
    match core {
        Core::Cobalt { .. } => {
            let mask = u64::from_str_radix(&machine.text("proc/xenomai/affinity")?, 16).ok()?;
            let cpus = (0..u64::BITS).filter(|cpu| mask & (1 << cpu) != 0).map(CpuId).collect();
            let wanted = machine
                .measured()
                .iter()
                .filter(|cpu| cpu.0 < u64::BITS)
                .fold(mask, |mask, cpu| mask | (1 << cpu.0));
            let is_restricted = machine.arguments.has("xenomai.supported_cpus");
            let write = format!("echo {wanted:#x} | sudo tee /proc/xenomai/affinity");
            let action = if is_restricted {
                phrase!("boot-without", argument = "xenomai.supported_cpus=")
            } else {
                write.into()
            };
            Some((cpus, action))
        }
        Core::Evl { .. } => {
            let names = machine.names("sys/module/evl/parameters");
            let name = names
                .into_iter()
                .find(|name| name.contains("cpus"))
                .unwrap_or_else(|| "oobcpus".to_owned());
            Some((
                machine.cpus("sys/class/evl/control/cpus")?,
                phrase!("boot-evl-with", name, cpus = list),
            ))
        }
    }
}

fn co_kernel(machine: &Machine<'_>) -> Option<Seen> {
    let initial = machine.text("sys/module/xenomai/parameters/state").unwrap_or_default();
    let Some(core) = core(machine) else {
        return if initial == "disabled" {
            Seen::warn(
                "Cobalt is built in, and off (xenomai.state=disabled)",
                "boot without xenomai.state=disabled",
            )
        } else {
            None
        };
    };
    let found = match &core {
        Core::Cobalt { version } => cobalt_words(machine, version),
        Core::Evl { .. } => evl_words(machine),
    };
    match &core {
        Core::Evl { state } if state == "disabled" => {
            return Seen::bad(
                phrase!("of", of = found, what = "disabled"),
                phrase!("boot-without", argument = "evl.state=disabled"),
            );
        }
        Core::Evl { state } if state != "running" => {
            return Seen::bad(
                phrase!("of", of = found, what = state.as_str()),
                "echo start | sudo tee /sys/class/evl/control/state",
            );
        }
        Core::Cobalt { .. } if initial == "stopped" => {
            return Seen::unknown_until(
                format!("{found}, stopped at boot (xenomai.state=stopped)"),
                "sudo corectl --status, and sudo corectl --start where it is still stopped",
            );
        }
        Core::Evl { .. } | Core::Cobalt { .. } => {}
    }
    if let Some((cpus, action)) = core_cpus(machine, &core).filter(|_| machine.has_chosen_cpus()) {
        let outside = without(&machine.measured(), &cpus);
        if !outside.is_empty() {
            let cpus = cpu_words(&outside);
            return Seen::bad(phrase!("core-not-on", core = found, cpus), action);
        }
    }
    Seen::ok(found)
}

/// The gravity for threads of users in ns, and in words of the core.
///
/// Cobalt on Dovetail has it in two files. `clock/coreclk` also names the timer of CPU 0, and
/// follows a null pointer where the core does not have that CPU's timer: while it is stopped, and
/// on CPUs without CPU 0. No file says that the core runs now. So only `latency` is read, which has
/// this one number in either state.
fn gravity_of(machine: &Machine<'_>, core: &Core) -> Option<(i64, String)> {
    match core {
        Core::Cobalt { .. } => {
            let user = machine.number("proc/xenomai/latency")?;
            Some((user, format!("user={user}")))
        }
        Core::Evl { .. } => {
            let files = [
                "sys/devices/virtual/clock/monotonic/gravity",
                "sys/class/clock/monotonic/gravity",
            ];
            let line = files.into_iter().find_map(|file| machine.text(file))?;
            let user =
                line.split_whitespace().find_map(|word| word.strip_suffix('u'))?.parse().ok()?;
            Some((user, line))
        }
    }
}

/// What a co-kernel begins with, in ns: what was configured, or what its makers chose for an
/// architecture, which may be several.
fn built_in_gravity(machine: &Machine<'_>, core: &Core) -> Vec<i64> {
    let (option, x86, others) = match core {
        Core::Cobalt { .. } => ("XENO_OPT_TIMING_SCHEDLAT", &[2_000, 3_350][..], &[5_000][..]),
        Core::Evl { .. } => ("EVL_LATENCY_USER", &[3_000][..], &[3_000, 6_000][..]),
    };
    let configured =
        machine.config().ok().and_then(|config| config.value(option)?.parse::<i64>().ok());
    match configured.filter(|ns| *ns > 0) {
        Some(ns) => vec![ns],
        None if is_x86(machine) => x86.to_vec(),
        None => others.to_vec(),
    }
}

/// Gravities are counted in ticks of the clock, which are not whole ns on some kernels.
const ROUNDING_NS: u64 = 2;

fn gravity(machine: &Machine<'_>) -> Option<Seen> {
    let core = core(machine)?;
    let (user, line) = gravity_of(machine, &core)?;
    let is_built_in =
        built_in_gravity(machine, &core).into_iter().any(|ns| ns.abs_diff(user) <= ROUNDING_NS);
    if user == 0 {
        return Seen::ok(format!("{line}: timers are not set early"));
    }
    if !is_built_in {
        return Seen::ok(format!("{line}, which is not what it was built with: calibrated"));
    }
    let (command, driver) = match core {
        Core::Cobalt { .. } => {
            ("sudo autotune (a tool of Xenomai), after each boot", "XENO_DRIVERS_AUTOTUNE")
        }
        Core::Evl { .. } => ("sudo latmus -t (a tool of libevl), after each boot", "EVL_LATMUS"),
    };
    let lacks_driver = machine.config().is_ok_and(|config| !config.has(driver));
    let first = if lacks_driver {
        format!("boot a kernel with CONFIG_{driver}=y. Then ")
    } else {
        String::new()
    };
    Seen::warn(format!("{line}, as it was built: not calibrated on this machine"), first + command)
}

/// What disturbs a co-kernel, and what to do about it.
struct Neighbours {
    found: Vec<String>,
    actions: Vec<String>,
    /// Options that the kernel is to be built without.
    options: Vec<&'static str>,
}

/// Options for what moves or joins pages, each with a file that says whether it does, and what that
/// says where it does not.
fn moves_pages(machine: &Machine<'_>) -> Vec<&'static str> {
    let hugepages = machine.text("sys/kernel/mm/transparent_hugepage/enabled").unwrap_or_default();
    let is_off = |option: &str| match option {
        "TRANSPARENT_HUGEPAGE" => kernel::chosen(&hugepages) == Some("never"),
        "KSM" => machine.number("sys/kernel/mm/ksm/run") == Some(0),
        _ => false,
    };
    let options = ["MIGRATION", "COMPACTION", "TRANSPARENT_HUGEPAGE", "KSM"];
    options
        .into_iter()
        .filter(|option| machine.config().is_ok_and(|config| config.has(option)) && !is_off(option))
        .collect()
}

fn all_neighbours(machine: &Machine<'_>) -> Neighbours {
    let mut all = Neighbours { found: Vec::new(), actions: Vec::new(), options: Vec::new() };
    let is_built = |option| machine.config().is_ok_and(|config| config.has(option));
    match slow_states_left(machine) {
        Some(states) if states.is_empty() => {}
        Some(states) => {
            all.found.push(format!("idle state {states}"));
            let is_x86 = is_x86(machine);
            let arguments = if is_x86 {
                "intel_idle.max_cstate=0 processor.max_cstate=1"
            } else {
                "cpuidle.off=1"
            };
            all.actions.push(format!("boot with {arguments}"));
        }
        None if is_built("CPU_IDLE") => all.options.push("CPU_IDLE"),
        None => {}
    }
    match scaling_cpus(machine) {
        Some(scaling) if scaling.is_empty() => {}
        Some(scaling) => {
            all.found.push(format!("frequency scaling on {}", cpu_words(&scaling)));
            all.actions.push(raise(machine, &scaling));
        }
        None if is_built("CPU_FREQ") => all.options.push("CPU_FREQ"),
        None => {}
    }
    all.options.extend(moves_pages(machine));
    if !all.options.is_empty() {
        all.found.push(listed(all.options.iter().copied()).to_string());
        let off: Vec<String> = all.options.iter().map(|option| format!("-d {option}")).collect();
        all.actions.push(format!("build the kernel without: scripts/config {}", off.join(" ")));
    }
    all
}

fn neighbours(machine: &Machine<'_>) -> Option<Seen> {
    core(machine)?;
    let all = all_neighbours(machine);
    if !all.found.is_empty() {
        return Seen::warn(all.found.join(", "), all.actions.join(", and "));
    }
    match machine.config() {
        Ok(_) => Seen::ok("none of those that its makers warn of"),
        Err(error) => {
            Seen::unknown(format!("whether the kernel moves pages (CONFIG_MIGRATION): {error}"))
        }
    }
}

#[cfg(test)]
#[path = "area_cokernel_tests.rs"]
mod tests;
