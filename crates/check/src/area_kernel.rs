// SPDX-License-Identifier: MIT OR Apache-2.0
//! The kernel: how it can be preempted, and how it was configured.

use super::config::KernelConfig;
use super::debug_options::debug_options;
use super::distribution::real_time_kernel;
use super::finding::{ALL, Check, Seen, of_config};
use super::in_debugfs::hidden;
use super::machine::{Machine, Purpose};
use super::preemption::{self, dynamic_mode, is_preempted_at_once};
use super::recommended::{also, boot_with, built_with, offloaded, tick_kept_by, tickless};
use super::sets::without;
use super::words::{cpu_words, listed};
use model::{Phrase, phrase};
use plan::CpuId;

pub(crate) const CHECKS: &[Check] = &[
    of_config("preemption", &[Purpose::Robotics, Purpose::Telco], preemption),
    of_config("kernel-config", &[], kernel_config),
    of_config("high-resolution-timers", ALL, high_resolution_timers),
    of_config("tick-rate", &[], tick_rate),
    of_config("full-dynticks", &[Purpose::Telco], full_dynticks),
    of_config("rcu-callbacks", &[Purpose::Telco], rcu_callbacks),
    of_config("debug-options", ALL, debug_options),
    of_config("frequency-scaling-built", &[], frequency_scaling),
];

fn preemption(machine: &Machine<'_>) -> Option<Seen> {
    let Some(model) = preemption::model(machine) else {
        return Seen::unknown("no file shows how the kernel can be preempted");
    };
    if model == "PREEMPT_RT" {
        return Seen::ok(model);
    }
    if machine.has_co_kernel() {
        return Seen::ok(format!("{model}, beside a co-kernel, which comes first"));
    }
    let (real_time, found) = (real_time(machine), model::preemption_phrase(&model));
    match dynamic_mode(&model) {
        Some("") => hidden(
            machine,
            preemption::MODES_OF_KERNEL,
            "PREEMPT_DYNAMIC. Its mode",
            Some("sudo dmesg | grep 'Dynamic Preempt'"),
        ),
        Some(mode) if is_preempted_at_once(mode) => Seen::warn(found, real_time),
        Some(_) => {
            let boot = phrase!("boot-with", arguments = "preempt=full");
            Seen::bad(found, Phrase::joined("or", [boot, real_time]))
        }
        None if model.starts_with("PREEMPT") => Seen::warn(found, real_time),
        None => Seen::bad(found, real_time),
    }
}

/// Before this, PREEMPT_RT was a patch beside the kernel.
const WITH_PREEMPT_RT: (u32, u32) = (6, 12);
/// Before this, its option was PREEMPT_RT_FULL.
const WITH_THIS_NAME: (u32, u32) = (5, 4);

/// How to come to a kernel with PREEMPT_RT.
fn real_time(machine: &Machine<'_>) -> Phrase {
    if let Some(version) = machine.options.config.as_ref().map(KernelConfig::version) {
        let is_before = |other| version.is_some_and(|version| version < other);
        let patch = if is_before(WITH_PREEMPT_RT) {
            "the patch of PREEMPT_RT for its version"
        } else {
            "PREEMPT_RT"
        };
        let option = if is_before(WITH_THIS_NAME) { "PREEMPT_RT_FULL" } else { "PREEMPT_RT" };
        return format!(
            "build it with {patch}: scripts/config -e EXPERT -e {option}, then make olddefconfig"
        )
        .into();
    }
    real_time_kernel(machine)
}

fn kernel_config(machine: &Machine<'_>) -> Option<Seen> {
    match machine.config() {
        Ok(config) if machine.options.config.is_some() && !config.odd().is_empty() => Seen::warn(
            format!("read from {}. {}", config.source(), config.odd().join(". ")),
            "correct these lines, then make olddefconfig, and check the .config that it writes",
        ),
        Ok(config) => {
            let unknown = config.options_unknown().filter(|(_, unknown)| *unknown > 0);
            let unknown = unknown.map_or_else(String::new, |(all, unknown)| {
                format!(". {unknown} of its {all} options are not known to teiji: not judged")
            });
            Seen::ok(format!("read from {}{unknown}", config.source()))
        }
        Err(error) => {
            let load = if has_configs_module(machine) { "sudo modprobe configs, or " } else { "" };
            Seen::unknown_until(
                error,
                format!("{load}name it: --kernel-config FILE, or --kernel-image FILE"),
            )
        }
    }
}

/// Whether the kernel has its configuration in a module (`IKCONFIG=m`).
fn has_configs_module(machine: &Machine<'_>) -> bool {
    let release = machine.text("proc/sys/kernel/osrelease").unwrap_or_default();
    ["lib/modules", "usr/lib/modules"].iter().any(|folder| {
        machine
            .names(&format!("{folder}/{release}/kernel/kernel"))
            .iter()
            .any(|name| name.starts_with("configs.ko"))
    })
}

/// What the kernel does counts more than what it was built with.
fn high_resolution_timers(machine: &Machine<'_>) -> Option<Seen> {
    if machine.options.config.is_none() {
        if machine.arguments.is_switched_off("highres") {
            let argument = machine.arguments.written("highres").unwrap_or_default();
            return Seen::bad(
                phrase!("switched-off-by", argument = argument.clone()),
                phrase!("remove-arguments", arguments = argument),
            );
        }
        if let Some(list) = machine.timer_list() {
            let active: Vec<&str> =
                list.lines().filter_map(|line| line.trim().strip_prefix(".hres_active")).collect();
            if active.iter().any(|value| value.trim_end().ends_with('0')) {
                return Seen::bad(
                    phrase!("not-active"),
                    phrase!("boot-high-resolution", option = "HIGH_RES_TIMERS"),
                );
            }
            if !active.is_empty() {
                return Seen::ok("active on every CPU");
            }
        }
    }
    match machine.config() {
        Ok(config) if config.has("HIGH_RES_TIMERS") => Seen::ok("built in"),
        Ok(_) => Seen::bad(phrase!("not-built-in"), build_with(machine, "HIGH_RES_TIMERS")),
        Err(error) => Seen::unknown(error),
    }
}

fn tick_rate(machine: &Machine<'_>) -> Option<Seen> {
    let config = machine.config().ok()?;
    let rate = config.value("HZ")?;
    let Some(hertz) = rate.parse::<u32>().ok().filter(|rate| *rate > 0) else {
        return Seen::unknown_until(
            format!("CONFIG_HZ={rate} is not a rate"),
            "correct it, such as CONFIG_HZ=250",
        );
    };
    let found = format!("{hertz} Hz");
    if !config.has("HIGH_RES_TIMERS") {
        let each = 1_000 / hertz;
        let found = format!("{found}, and without HIGH_RES_TIMERS a timer is up to {each} ms late");
        return Seen::warn(found, build_with(machine, "HIGH_RES_TIMERS"));
    }
    if machine.options.purpose == Purpose::Audio && hertz < 250 {
        return Seen::warn(found, format!("{}, or use PREEMPT_RT", build_with(machine, "HZ_1000")));
    }
    Seen::ok(found)
}

/// What a kernel that lacks an option needs.
fn build_with(machine: &Machine<'_>, option: &str) -> Phrase {
    if machine.options.config.is_some() {
        return format!("build it with CONFIG_{option}=y").into();
    }
    phrase!("boot-built-with", option)
}

/// CPUs that are to be on time beside others, and are not among these.
fn forgotten(machine: &Machine<'_>, cpus: &[CpuId]) -> Vec<CpuId> {
    if machine.has_chosen_cpus() { without(&machine.measured(), cpus) } else { Vec::new() }
}

fn full_dynticks(machine: &Machine<'_>) -> Option<Seen> {
    let Some(is_built) = built_with(machine, "NO_HZ_FULL") else {
        return Seen::unknown("the kernel's configuration is not known");
    };
    if !is_built {
        let (option, action) = ("NO_HZ_FULL", build_with(machine, "NO_HZ_FULL"));
        return match machine.arguments.written("nohz_full") {
            Some(argument) => {
                Seen::bad(phrase!("asked-and-not-built-in", argument, option), action)
            }
            None if machine.has_chosen_cpus() => Seen::bad(
                phrase!("option-not-built-in", option),
                phrase!("then-full-dynticks", action),
            ),
            None => {
                Seen::warn("NO_HZ_FULL is not built in", format!("{action}, to isolate CPUs fully"))
            }
        };
    }
    if machine.options.config.is_some() || !machine.has_chosen_cpus() {
        return Seen::ok("built in");
    }
    if let Some(argument) = tick_kept_by(machine) {
        let arguments = argument.clone();
        return Seen::bad(
            phrase!("switched-off-by", argument),
            phrase!("remove-arguments", arguments),
        );
    }
    let tickless = tickless(machine);
    let forgotten = forgotten(machine, &tickless);
    if forgotten.is_empty() {
        return Seen::ok(format!("built in, and in effect on {}", cpu_words(&machine.measured())));
    }
    Seen::bad(
        phrase!("built-in-not-asked-for", cpus = cpu_words(&forgotten)),
        boot_with(machine, &also(machine.measured(), &tickless), &["nohz_full"]),
    )
}

fn rcu_callbacks(machine: &Machine<'_>) -> Option<Seen> {
    if !built_with(machine, "RCU_NOCB_CPU")? {
        let build = build_with(machine, "RCU_NOCB_CPU");
        return match machine.arguments.written("rcu_nocbs") {
            Some(argument) => Seen::bad(
                phrase!("asked-and-not-built-in", argument, option = "RCU_NOCB_CPU"),
                build,
            ),
            None => Seen::warn(
                "RCU_NOCB_CPU is not built in",
                format!("{build}, to offload them from isolated CPUs"),
            ),
        };
    }
    if machine.options.config.is_some() || !machine.has_chosen_cpus() {
        return Seen::ok("they can be offloaded");
    }
    let offloaded = offloaded(machine);
    let forgotten = forgotten(machine, &offloaded);
    if forgotten.is_empty() {
        return Seen::ok(format!("offloaded from {}", cpu_words(&machine.measured())));
    }
    Seen::bad(
        phrase!("not-offloaded", cpus = cpu_words(&forgotten)),
        boot_with(machine, &also(machine.measured(), &offloaded), &["rcu_nocbs"]),
    )
}

fn frequency_scaling(machine: &Machine<'_>) -> Option<Seen> {
    let config = machine.config().ok()?;
    let lacking: Vec<&str> =
        ["CPU_FREQ", "CPU_IDLE"].into_iter().filter(|option| !config.has(option)).collect();
    // A kernel for a co-kernel is built without, on purpose.
    if config.has("XENOMAI") || config.has("EVL") {
        return None;
    }
    if lacking.is_empty() {
        // Of the running one the governor that is in force counts.
        return machine.options.config.as_ref().and_then(default_governor);
    }
    Seen::warn(
        format!("{} not built in", listed(lacking)),
        "build them in to set the frequency and the idle states yourself",
    )
}

/// The governor that a kernel which is not built yet begins with.
fn default_governor(config: &KernelConfig) -> Option<Seen> {
    const OPTION: &str = "CPU_FREQ_DEFAULT_GOV_";
    let governors =
        ["PERFORMANCE", "POWERSAVE", "CONSERVATIVE", "ONDEMAND", "SCHEDUTIL", "USERSPACE"];
    let governor =
        governors.into_iter().find(|governor| config.has(&format!("{OPTION}{governor}")))?;
    let found = format!("default governor {}", governor.to_lowercase());
    if governor == "PERFORMANCE" {
        return Seen::ok(found);
    }
    let action = format!(
        "build it with performance: scripts/config -d {OPTION}{governor} -e {OPTION}PERFORMANCE, \
         then make olddefconfig"
    );
    Seen::warn(found, action)
}
