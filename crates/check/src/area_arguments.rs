// SPDX-License-Identifier: MIT OR Apache-2.0
//! The kernel's arguments, whether they agree with one another, and whether the kernel did what
//! they say.

use super::advice;
use super::agreement::{agreement, with_interrupts};
use super::finding::{ALL, Check, Seen, check, of_config};
use super::harmful_arguments::harmful;
use super::isolating::{ISOLATING, cpus_of, highest_cpu, is_of_balancing};
use super::machine::{Machine, Purpose};
use super::preemption::is_fixed;
use super::recommended::{
    BOOT_CPU, BOOT_ISOLATED, also, boot_with, built_with, has_many_cpus, takes_managed_irq,
    tick_kept_by,
};
use super::set_apart::{SetApart, TICKLESS};
use super::sets::without;
use super::spelling::{AVAILABLE_CLOCKS, spelling, takes_value};
use super::words::{cpu_words, listed};
use model::{Phrase, phrase};
use plan::CpuId;

pub(crate) const CHECKS: &[Check] = &[
    of_config("isolation", &[Purpose::Telco], isolation),
    check("arguments-agree", ALL, agreement),
    check("arguments-in-effect", ALL, in_effect),
    check("arguments-spelled", ALL, spelling),
    check("arguments-harmful", ALL, harmful),
    check("interrupts-at-boot", &[Purpose::Telco], interrupts_at_boot),
    check("tick-skew", &[], tick_skew),
    check("idle-arguments", &[], idle_arguments),
    check("mitigations", &[], mitigations),
];

fn isolation(machine: &Machine<'_>) -> Option<Seen> {
    if machine.options.config.is_some() {
        let (found, action) =
            (phrase!("no-isolation-built-in"), "build it with CONFIG_CPU_ISOLATION=y");
        let is_lacking = built_with(machine, "CPU_ISOLATION") == Some(false);
        return is_lacking.then(|| Seen::bad(found, action)).flatten();
    }
    if machine.online.len() == 1 {
        return None;
    }
    let measured = machine.measured();
    let open = without(&measured, &machine.isolated);
    if open.is_empty() {
        return Seen::ok(format!("{} isolated", cpu_words(&machine.isolated)));
    }
    let isolating = |cpus: &[CpuId]| {
        let is_lacking = built_with(machine, "CPU_ISOLATION") == Some(false);
        let build = is_lacking.then(|| phrase!("build-isolation"));
        Phrase::joined("and", build.into_iter().chain([boot_with(machine, cpus, &ISOLATING)]))
    };
    if !machine.has_chosen_cpus() {
        // Audio programs use all CPUs: isolated ones would be lost to those that bind no thread.
        if machine.options.purpose == Purpose::Audio {
            return Seen::ok("no CPU is isolated");
        }
        return match advice::isolated(machine) {
            Some(cpus) => Seen::warn("no CPU is isolated", isolating(&cpus)),
            None => {
                Seen::warn("no CPU is isolated", "measure on a machine with more than one core")
            }
        };
    }
    let cpus = cpu_words(&open);
    let found = match machine.set_apart() {
        Some(SetApart { by, .. }) if machine.options.cpus.is_none() => {
            phrase!("set-apart-not-isolated", cpus, by = by.clone())
        }
        _ => phrase!("not-isolated", cpus),
    };
    Seen::bad(found, isolating(&also(measured, &machine.isolated)))
}

fn in_effect(machine: &Machine<'_>) -> Option<Seen> {
    let given = ISOLATING
        .into_iter()
        .filter_map(|name| Some((name, machine.arguments.cpus(name, highest_cpu(machine))?)));
    let (mut wrong, mut actions, mut compared) = (Vec::new(), Vec::new(), Vec::new());
    for (name, asked) in given {
        let written = machine.arguments.written(name).unwrap_or_default();
        let differences = not_in_effect(machine, name, asked);
        // No file shows what became of others.
        let is_shown = name == "nohz_full" || name == "isolcpus" && is_of_balancing(&written);
        if !differences.is_empty() || is_shown {
            compared.push(name.to_owned());
        }
        for (what, action) in differences {
            wrong.push(phrase!("of", of = written.clone(), what));
            actions.extend(Some(action).filter(|action| !actions.contains(action)));
        }
    }
    let are_lists_right = wrong.is_empty();
    let skipped = machine.arguments.skipped_flags();
    if !skipped.is_empty() {
        let of = machine.arguments.written("isolcpus").unwrap_or_default();
        wrong.push(phrase!("of", of, what = phrase!("skips-flags", flags = listed(skipped))));
        let cpus = cpus_of(machine, "isolcpus").unwrap_or_default();
        actions.push(boot_with(machine, &cpus, &["isolcpus"]));
    }
    if let Some(written) = machine.arguments.written("preempt").filter(|_| is_fixed(machine)) {
        let remove = phrase!("remove-arguments", arguments = written.clone());
        wrong.push(phrase!("of", of = written.clone(), what = phrase!("without-dynamic")));
        actions.push(remove);
        compared.push(written);
    }
    let clocks = machine.text(AVAILABLE_CLOCKS).unwrap_or_default();
    if let Some(clock) = machine.arguments.value("clocksource")
        && !clocks.is_empty()
        && takes_value(machine, "clocksource", clock)
        && clocks.split_ascii_whitespace().all(|available| available != clock)
    {
        let written = machine.arguments.written("clocksource").unwrap_or_default();
        let remove = phrase!("remove-arguments", arguments = written.clone());
        wrong.push(phrase!("of", of = written, what = phrase!("no-such-clock", clocks)));
        actions.push(remove);
    }
    for (written, file) in watchdogs_off(machine) {
        let setting = format!("kernel.{file}");
        match machine.number(&format!("proc/sys/kernel/{file}")) {
            Some(0) => compared.push(written),
            Some(_) => {
                let command = format!("sudo sysctl {setting}=0");
                wrong.push(phrase!(
                    "of",
                    of = written.clone(),
                    what = phrase!("still-on", setting)
                ));
                actions.push(phrase!("look-what-sets-it", command));
                compared.push(written);
            }
            None => {}
        }
    }
    if wrong.is_empty() {
        let compared = Some(compared).filter(|compared| !compared.is_empty())?;
        return Seen::ok(format!("{} as given", listed(compared)));
    }
    let (found, action) = (Phrase::joined("sentences", wrong), Phrase::joined("and", actions));
    // A watchdog alone costs little, and what preempts the kernel has a check of its own.
    if are_lists_right { Seen::warn(found, action) } else { Seen::bad(found, action) }
}

/// Arguments that switch a watchdog off, each with the setting that shows it.
fn watchdogs_off(machine: &Machine<'_>) -> Vec<(String, &'static str)> {
    let mut off = Vec::new();
    for (name, file) in [("nosoftlockup", "soft_watchdog"), ("nowatchdog", "watchdog")] {
        off.extend(machine.arguments.written(name).map(|written| (written, file)));
    }
    if machine.arguments.value("nmi_watchdog") == Some("0") {
        off.push(("nmi_watchdog=0".to_owned(), "nmi_watchdog"));
    }
    off
}

/// What an argument asks for and the kernel did not do, and what to do.
fn not_in_effect(
    machine: &Machine<'_>,
    name: &str,
    asked: Result<Vec<CpuId>, Phrase>,
) -> Vec<(Phrase, Phrase)> {
    let correct = || phrase!("correct-list", name);
    let asked = match asked {
        Ok(asked) => asked,
        Err(error) => return vec![(error, correct())],
    };
    let (here, nowhere): (Vec<CpuId>, Vec<CpuId>) =
        asked.into_iter().partition(|cpu| *cpu <= highest_cpu(machine));
    let mut wrong = Vec::new();
    if !nowhere.is_empty() {
        wrong.push((phrase!("no-such-cpus", cpus = cpu_words(&nowhere)), correct()));
    }
    if name == "nohz_full"
        && let Some(argument) = tick_kept_by(machine)
    {
        let remove = phrase!("remove-arguments", arguments = argument.clone());
        wrong.push((phrase!("switched-off-by", argument), remove));
        return wrong;
    }
    let (argument, file) = match name {
        "isolcpus" => ("isolcpus", BOOT_ISOLATED),
        "nohz_full" => ("nohz_full", TICKLESS),
        _ => return wrong,
    };
    let built_for = || phrase!("boot-built-for", arguments = format!("{name}="));
    let Some(real) = machine.cpus(file) else {
        wrong.push((phrase!("no-such-list", file = format!("/{file}")), built_for()));
        return wrong;
    };
    let lacking = without(&here, &real);
    let written = machine.arguments.written(name).unwrap_or_default();
    let is_unknown_flag =
        name == "isolcpus" && written.contains("managed_irq") && !takes_managed_irq(machine);
    if lacking.is_empty() || name == "isolcpus" && !is_of_balancing(&written) {
        return wrong;
    }
    let cpus = cpu_words(&lacking);
    // What is in effect on the others shows that the kernel took the list.
    wrong.push(if lacking == [BOOT_CPU] && here.len() > 1 {
        (phrase!("kept-boot-cpu"), boot_with(machine, &here, &[argument]))
    } else if is_unknown_flag {
        (phrase!("unknown-flag", cpus), boot_with(machine, &here, &["isolcpus"]))
    } else if built_with(machine, "CPU_ISOLATION") == Some(false) {
        (phrase!("not-in-effect", cpus), built_for())
    } else {
        (phrase!("not-in-effect", cpus), phrase!("look-why-refused", argument = written))
    });
    wrong
}

fn interrupts_at_boot(machine: &Machine<'_>) -> Option<Seen> {
    if machine.isolated.is_empty() {
        return None;
    }
    let given = cpus_of(machine, "irqaffinity");
    let is_kept_off =
        given.is_some_and(|cpus| cpus.iter().all(|cpu| !machine.isolated.contains(cpu)));
    if is_kept_off {
        return Seen::ok(machine.arguments.written("irqaffinity").unwrap_or_default());
    }
    if !with_interrupts(machine).is_empty() {
        // `arguments-agree` says so.
        return None;
    }
    let found =
        machine.arguments.written("irqaffinity").unwrap_or_else(|| "no irqaffinity=".to_owned());
    Seen::warn(found, boot_with(machine, &machine.isolated, &["irqaffinity"]))
}

fn tick_skew(machine: &Machine<'_>) -> Option<Seen> {
    let asked = machine.arguments.value("skew_tick").and_then(|value| value.parse::<i64>().ok());
    if asked.is_some_and(|value| value != 0) {
        return Seen::ok(machine.arguments.written("skew_tick")?);
    }
    if machine.online.len() == 1 {
        return None;
    }
    if !has_many_cpus(machine) {
        return Seen::ok(format!(
            "none: the ticks of {} CPUs wait little for one another",
            machine.online.len()
        ));
    }
    Seen::warn(
        format!("the ticks of {} CPUs come at once", machine.online.len()),
        "boot with skew_tick=1",
    )
}

fn idle_arguments(machine: &Machine<'_>) -> Option<Seen> {
    let is_x86 = machine.is_x86();
    let does_nothing = |name: &&str| match *name {
        "idle" | "intel_idle.max_cstate" => is_x86 == Some(false),
        "nohlt" => is_x86 == Some(true),
        _ => false,
    };
    let names = ["idle", "intel_idle.max_cstate", "processor.max_cstate", "cpuidle.off", "nohlt"];
    let given = names.into_iter().filter(|name| machine.arguments.has(name));
    let (idle, given): (Vec<&str>, Vec<&str>) = given.partition(does_nothing);
    let written = |names: Vec<&str>| -> Vec<String> {
        names.into_iter().filter_map(|name| machine.arguments.written(name)).collect()
    };
    let (idle, given) = (written(idle), written(given));
    let polls = |given: &&String| *given == "idle=poll" || given.starts_with("nohlt");
    let polling = given.iter().find(polls);
    if idle.is_empty() && polling.is_none() {
        return idle_limits(machine, &given.join(" "));
    }
    let (mut found, mut actions) = (Vec::new(), Vec::new());
    found.extend((!given.is_empty()).then(|| given.join(" ")));
    if !idle.is_empty() {
        let does = if idle.len() == 1 { "does" } else { "do" };
        let idle = listed(idle);
        found.push(format!("{idle} {does} nothing on this processor"));
        actions.push(format!("remove {idle}"));
    }
    if let Some(argument) = polling {
        // With idle=poll none is there.
        let has_states = argument == "idle=poll" || machine.root().has_idle_states();
        let instead =
            if has_states { ". /dev/cpu_dma_latency does it while it is needed" } else { "" };
        actions.push(format!("remove {argument}: it heats, which may throttle{instead}"));
    }
    Seen::warn(found.join(". "), actions.join(", and "))
}

/// Whether arguments limit idle states.
fn idle_limits(machine: &Machine<'_>, given: &str) -> Option<Seen> {
    if given.is_empty() {
        return None;
    }
    match idle_limit(machine) {
        Some((why, action)) => Seen::warn(format!("{given}: {why}"), action),
        None => Seen::ok(given),
    }
}

/// Why arguments that look like a limit of idle states are none, and what would be one.
fn idle_limit(machine: &Machine<'_>) -> Option<(&'static str, &'static str)> {
    let value = |name: &str| machine.arguments.value(name);
    if value("cpuidle.off") == Some("1") || value("idle") == Some("halt") {
        return None;
    }
    let limit = |name: &str| value(name)?.parse::<u32>().ok();
    let (intel, acpi) = (limit("intel_idle.max_cstate"), limit("processor.max_cstate"));
    let driver = machine.text("sys/devices/system/cpu/cpuidle/current_driver");
    let is_intel = match driver.as_deref() {
        Some("intel_idle") => true,
        Some("acpi_idle") => false,
        Some(_) => return None,
        None => intel.is_some_and(|limit| limit > 0),
    };
    let is_limited = |limit: Option<u32>| limit.is_some_and(|limit| limit <= 1);
    match (is_intel, intel, acpi) {
        (true, Some(limit), _) => {
            (limit > 1).then_some(("deep idle states remain", "boot with intel_idle.max_cstate=1"))
        }
        (true, None, _) => {
            Some(("intel_idle is in use and has no limit", "boot with intel_idle.max_cstate=1"))
        }
        (false, ..) if is_limited(acpi) => None,
        (false, Some(_), None) => Some((
            "without intel_idle, ACPI's idle states have no limit",
            "boot with processor.max_cstate=1 too",
        )),
        (false, ..) => Some(("deep idle states remain", "boot with processor.max_cstate=1")),
    }
}

fn mitigations(machine: &Machine<'_>) -> Option<Seen> {
    let faults = machine.names("sys/devices/system/cpu/vulnerabilities");
    if faults.is_empty() {
        return None;
    }
    let on = |name: &&String| {
        let text = machine
            .text(&format!("sys/devices/system/cpu/vulnerabilities/{name}"))
            .unwrap_or_default();
        text.starts_with("Mitigation")
    };
    let on = faults.iter().filter(on).count();
    let found = format!("{on} of {} known faults are mitigated", faults.len());
    if on > 0 && machine.options.purpose == Purpose::Telco {
        return Seen::warn(
            found,
            "mitigations=off, only on a machine that runs nobody else's programs",
        );
    }
    Seen::ok(found)
}
