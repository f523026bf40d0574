// SPDX-License-Identifier: MIT OR Apache-2.0
//! The kernel arguments that keep CPUs for what is to be on time: those that this kernel knows and
//! was built for. Whatever prints arguments has them from here.

use super::arguments::{cpus as cpus_of_argument, unknown_flags};
use super::board::usb_arguments;
use super::config::KernelConfig;
use super::isolating::{highest_cpu, is_of_balancing};
use super::kernel_arguments::MANAGED_IRQ_FLAG;
use super::machine::Machine;
use super::preemption::preempts_fully;
use super::set_apart::TICKLESS;
use super::sets::{sorted, without};
use super::words::listed;
use model::{Phrase, phrase};
use plan::{CpuId, CpuList};

/// The kernel binds work of its own to it, so it is never isolated.
pub(crate) const BOOT_CPU: CpuId = CpuId(0);
/// CPUs that an isolcpus= isolates from balancing.
pub(crate) const BOOT_ISOLATED: &str = "sys/devices/system/cpu/isolated";
/// Below this, mainline takes `managed_irq` for an error and isolates nothing.
const WITH_MANAGED_IRQ: (u32, u32) = (5, 6);
const MANAGED_IRQ: &str = "managed_irq";
/// In the releases of distributions that bring what newer kernels have to older ones.
const WITH_NEWER_FEATURES: [&str; 4] = [".el", ".amzn", ".oe", "-default"];
/// From this on, `isolcpus=` needs CPU_ISOLATION.
const WITH_CPU_ISOLATION: (u32, u32) = (4, 15);
/// With few CPUs there is little to wait for when all ticks come at once.
const MANY_CPUS: usize = 8;

/// An argument that a machine should be booted with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recommended {
    pub name: &'static str,
    pub to: String,
    pub why: &'static str,
    /// Whether the CPUs in it count, and not how they are written.
    pub is_list: bool,
    /// The option without which it does nothing, where it is not known whether the kernel was
    /// built with it.
    pub only_with: Option<&'static str>,
}

/// Whether an argument, as it is written, says what a recommended one does. An `isolcpus=` without
/// `domain`, or with a flag that the kernel does not know, does not.
pub fn means_the_same(recommended: &str, written: &str, is_list: bool, highest: CpuId) -> bool {
    let split = |argument: &str| {
        let (name, value) = argument.split_once('=').unwrap_or((argument, ""));
        (name.to_owned(), value.to_owned())
    };
    let cpus = |argument: &str| {
        let (name, value) = split(argument);
        cpus_of_argument(&name, &value, highest).ok()
    };
    if recommended == written {
        return true;
    }
    let isolates = !recommended.starts_with("isolcpus=")
        || is_of_balancing(written)
            && unknown_flags(&split(written).1).is_empty()
            && (!written.contains("managed_irq") || recommended.contains("managed_irq"));
    is_list && isolates && cpus(written).is_some_and(|written| Some(written) == cpus(recommended))
}

/// Those of the CPUs that can be isolated.
pub fn isolable_cpus(cpus: &[CpuId]) -> Vec<CpuId> {
    without(cpus, &[BOOT_CPU])
}

/// These CPUs and others, which have already what is recommended and are to keep it.
pub(crate) fn also(mut cpus: Vec<CpuId>, others: &[CpuId]) -> Vec<CpuId> {
    // That CPU 0 has it is no reason to speak of it.
    cpus.extend(isolable_cpus(others));
    sorted(cpus)
}

/// CPUs for everything else at the next boot, when the boot CPU is online in any case.
pub(crate) fn others_than(machine: &Machine<'_>, cpus: &[CpuId]) -> Vec<CpuId> {
    let mut others = without(&machine.online, cpus);
    if !others.contains(&BOOT_CPU) {
        others.insert(0, BOOT_CPU);
    }
    others
}

/// Arguments that isolate these CPUs, or as many of them as can be. None where that is none.
pub fn recommended_arguments(machine: &Machine<'_>, cpus: &[CpuId]) -> Vec<Recommended> {
    let cpus = isolable_cpus(cpus);
    if cpus.is_empty() {
        return Vec::new();
    }
    let list = CpuList::format(&cpus);
    let of_cpus = |name, flags: &str, list: &str, option: Option<&'static str>, why| {
        let built = option.map_or(Some(true), |option| built_with(machine, option));
        let only_with = option.filter(|_| built.is_none());
        (built != Some(false)).then(|| Recommended {
            name,
            to: format!("{name}={flags}{list}"),
            why,
            is_list: true,
            only_with,
        })
    };
    let word = |to: &str, name, why| Recommended {
        name,
        to: to.to_owned(),
        why,
        is_list: false,
        only_with: None,
    };
    [
        of_cpus(
            "isolcpus",
            isolation_flags(machine),
            &list,
            Some("CPU_ISOLATION"),
            "The scheduler leaves these CPUs to threads that are bound to them, and does no \
             balancing there.",
        ),
        of_cpus(
            "nohz_full",
            "",
            &list,
            Some("NO_HZ_FULL"),
            "No tick while one thread alone runs. Each system call takes a little longer.",
        ),
        of_cpus(
            "rcu_nocbs",
            "",
            &list,
            Some("RCU_NOCB_CPU"),
            "RCU callbacks run in threads, which the other CPUs can run.",
        ),
        of_cpus(
            "irqaffinity",
            "",
            &CpuList::format(&others_than(machine, &cpus)),
            None,
            "Interrupts go to the other CPUs from the start.",
        ),
        has_many_cpus(machine).then(|| {
            word(
                "skew_tick=1",
                "skew_tick",
                "The ticks of the CPUs do not come at once, and do not wait for the same locks.",
            )
        }),
        should_preempt_fully(machine).then(|| {
            word(
                "preempt=full",
                "preempt",
                "Without PREEMPT_RT, this mode lets a waking thread preempt the kernel in most \
                 places.",
            )
        }),
    ]
    .into_iter()
    .flatten()
    .chain(usb_arguments(machine).into_iter().map(|(name, to)| {
        word(&to, name, "PREEMPT_RT cannot delay the fast interrupts of this USB controller.")
    }))
    .collect()
}

/// Whether ticks of so many CPUs should not come at once.
pub(crate) fn has_many_cpus(machine: &Machine<'_>) -> bool {
    machine.online.len() >= MANY_CPUS
}

/// Whether the mode of preemption should be chosen at boot. That in force without an argument needs
/// none.
fn should_preempt_fully(machine: &Machine<'_>) -> bool {
    match preempts_fully(machine) {
        Some(fully) => !fully || machine.arguments.value("preempt") == Some("full"),
        None => false,
    }
}

/// What to do to isolate these CPUs: arguments of these names.
pub(crate) fn boot_with(machine: &Machine<'_>, cpus: &[CpuId], names: &[&str]) -> Phrase {
    let arguments: Vec<Recommended> = recommended_arguments(machine, cpus)
        .into_iter()
        .filter(|argument| names.contains(&argument.name))
        .collect();
    if isolable_cpus(cpus).is_empty() {
        return phrase!("choose-another-cpu");
    }
    if arguments.is_empty() {
        return phrase!("boot-built-for", arguments = names.join(" "));
    }
    let written = joined(&arguments);
    let action = match condition(machine, &arguments) {
        Some(condition) => phrase!("boot-with-if", arguments = written, condition),
        None => phrase!("boot-with", arguments = written),
    };
    if cpus.contains(&BOOT_CPU) { phrase!("choose-other-cpus", action) } else { action }
}

/// As they are written on a command line.
pub(crate) fn joined(arguments: &[Recommended]) -> String {
    arguments.iter().map(|argument| argument.to.as_str()).collect::<Vec<_>>().join(" ")
}

/// What is to be known of arguments that are not there yet: which do nothing without an option of
/// which nothing is known, and that isolcpus may take a flag more.
pub(crate) fn condition(machine: &Machine<'_>, arguments: &[Recommended]) -> Option<Phrase> {
    let all: Vec<Phrase> =
        only_with(arguments).into_iter().chain(may_take_flag(machine, arguments)).collect();
    (!all.is_empty()).then(|| Phrase::joined("sentences", all))
}

/// Where only the version speaks against managed_irq, and proves nothing: how to find out.
fn may_take_flag(machine: &Machine<'_>, arguments: &[Recommended]) -> Option<Phrase> {
    let isolating = arguments.iter().find(|argument| argument.name == "isolcpus")?;
    let release = machine.text("proc/sys/kernel/osrelease")?;
    let brings_newer = WITH_NEWER_FEATURES.iter().any(|mark| release.contains(mark));
    let is_tried = machine.arguments.written("isolcpus").unwrap_or_default().contains(MANAGED_IRQ);
    let is_certain = || machine.options.config.is_some() || image_holds_flag(machine).is_some();
    if !brings_newer || is_tried || takes_managed_irq(machine) || is_certain() {
        return None;
    }
    let (_, list) = isolating.to.split_once('=')?;
    let written = format!("isolcpus={MANAGED_IRQ},domain,{list}");
    Some(phrase!("may-take-flag", written, file = format!("/{BOOT_ISOLATED}")))
}

/// Which of them do nothing without an option of which nothing is known.
fn only_with(arguments: &[Recommended]) -> Option<Phrase> {
    let conditions: Vec<Phrase> = arguments
        .iter()
        .filter_map(|argument| {
            Some(phrase!("needs", name = argument.name, option = argument.only_with?))
        })
        .collect();
    match conditions.len() {
        0 => None,
        1 => Some(phrase!("may-lack", needs = listed(conditions))),
        _ => Some(phrase!("may-lack-each", needs = listed(conditions))),
    }
}

/// Those of the kernel that is to be booted.
fn version(machine: &Machine<'_>) -> Option<(u32, u32)> {
    machine.options.config.as_ref().map_or_else(|| machine.kernel_version(), KernelConfig::version)
}

/// Whether the kernel takes the flag `managed_irq` of isolcpus. One whose version is not known is
/// taken for a newer one. Distributions bring the flag to older kernels, and their image shows it.
/// Where that cannot be read and the flag was given to the running one, its version proves nothing,
/// and what became of the argument counts.
pub(crate) fn takes_managed_irq(machine: &Machine<'_>) -> bool {
    let is_new = version(machine).is_none_or(|version| version >= WITH_MANAGED_IRQ);
    if is_new || machine.options.config.is_some() {
        return is_new;
    }
    if let Some(holds) = image_holds_flag(machine) {
        return holds;
    }
    let written = machine.arguments.written("isolcpus").unwrap_or_default();
    let isolated = machine.cpus(BOOT_ISOLATED).unwrap_or_default();
    // Without `domain` the list is empty, whether the kernel took the flag or refused it.
    let is_refused = is_of_balancing(&written) && isolated.is_empty();
    written.contains(MANAGED_IRQ) && !is_refused
}

/// A run's end does not wait for its kernel to be read.
fn image_holds_flag(machine: &Machine<'_>) -> Option<bool> {
    if machine.is_of_run() { None } else { machine.image_holds(MANAGED_IRQ_FLAG) }
}

/// What stands before the list of isolcpus. `domain` goes without saying where no flag stands
/// there.
fn isolation_flags(machine: &Machine<'_>) -> &'static str {
    if takes_managed_irq(machine) { "managed_irq,domain," } else { "" }
}

/// Whether the kernel was built with CPU_ISOLATION, NO_HZ_FULL or RCU_NOCB_CPU, as far as it is
/// known.
pub fn built_with(machine: &Machine<'_>, option: &str) -> Option<bool> {
    // The kernel has this file with NO_HZ_FULL, which selects the others.
    if machine.options.config.is_none() && machine.exists(TICKLESS) {
        return Some(true);
    }
    if option == "CPU_ISOLATION"
        && version(machine).is_some_and(|version| version < WITH_CPU_ISOLATION)
    {
        return Some(true);
    }
    // NO_HZ_FULL selects the others, which a configuration that is edited by hand may not have yet.
    let is_built =
        machine.config().ok().map(|config| config.has(option) || config.has("NO_HZ_FULL"));
    // This one is on unless somebody switches it off.
    if option == "CPU_ISOLATION" { is_built.or(Some(true)) } else { is_built }
}

/// CPUs without a tick while one thread runs there.
pub(crate) fn tickless(machine: &Machine<'_>) -> Vec<CpuId> {
    machine.cpus(TICKLESS).unwrap_or_default()
}

/// What keeps the tick on every CPU, those of nohz_full= too, which /sys lists all the same: a
/// kernel booted with both had 250 ticks a second there.
pub(crate) fn tick_kept_by(machine: &Machine<'_>) -> Option<String> {
    machine.arguments.written("nohz").filter(|_| machine.arguments.is_switched_off("nohz"))
}

/// CPUs whose RCU callbacks the kernel offloads. It adds those without a tick to those that it was
/// told.
pub(crate) fn offloaded(machine: &Machine<'_>) -> Vec<CpuId> {
    let asked = machine.arguments.cpus("rcu_nocbs", highest_cpu(machine));
    let tickless = tickless(machine);
    let config = machine.config().ok();
    let has = |option| config.is_some_and(|config| config.has(option));
    if has("RCU_NOCB_CPU_ALL")
        || has("RCU_NOCB_CPU_DEFAULT_ALL") && asked.is_none() && tickless.is_empty()
    {
        return machine.online.clone();
    }
    let mut cpus = asked.and_then(Result::ok).unwrap_or_default();
    cpus.extend(tickless);
    sorted(cpus)
}
