// SPDX-License-Identifier: MIT OR Apache-2.0
//! Interrupts: where they may go, and who moves them.

use super::finding::{Check, Seen, Status, check, tunable};
use super::interrupt_lines::{DeviceInterrupt, device_interrupts};
use super::isolating::highest_cpu;
use super::machine::{Machine, Purpose};
use super::recommended::{also, takes_managed_irq, tickless};
use super::sets::{sorted, without};
use super::words::{cpu_words, for_each, listed};
use host::cpu::{self, of_mask, to_mask};
use model::{Phrase, phrase};
use plan::{CpuId, CpuList};

pub(crate) const CHECKS: &[Check] = &[
    tunable(
        "interrupts-on-measured-cpus",
        &[Purpose::Robotics, Purpose::Telco, Purpose::Measure],
        on_measured_cpus,
    ),
    tunable("interrupt-default", &[], default_affinity),
    check("sound-interrupt", &[Purpose::Audio], sound),
    check("irqbalance", &[Purpose::Robotics, Purpose::Telco], irqbalance),
    tunable("workqueues", &[Purpose::Telco], workqueues),
];

fn on_measured_cpus(machine: &Machine<'_>) -> Option<Seen> {
    if !machine.has_chosen_cpus() {
        return None;
    }
    if machine.text("proc/interrupts").is_none_or(|text| text.is_empty()) {
        return Seen::unknown("/proc/interrupts is not there, or is empty");
    }
    let measured = machine.measured();
    let comes = |interrupt: &DeviceInterrupt| !interrupt.comes(&measured).is_empty();
    let interrupts = device_interrupts(machine);
    let (all, without_place) = (interrupts.len(), without_place(&interrupts));
    let (managed, mut movable): (Vec<_>, Vec<_>) =
        interrupts.into_iter().partition(|interrupt| interrupt.is_managed);
    movable.retain(|interrupt| !interrupt.may_come(&measured).is_empty());
    movable.sort_by_key(|interrupt| !comes(interrupt));
    // One whose CPUs are all measured comes only when a program there uses the device.
    let is_for_others =
        |interrupt: &DeviceInterrupt| !interrupt.may_come(&machine.others()).is_empty();
    let managed: Vec<DeviceInterrupt> = managed
        .into_iter()
        .filter(|interrupt| comes(interrupt) && is_for_others(interrupt))
        .collect();
    if movable.is_empty() && managed.is_empty() {
        return none_may_come(all, &without_place, &measured);
    }
    let there = movable.iter().chain(&managed).map(|one| words(one, &measured));
    let found = Phrase::joined("comma", there);
    let mut actions: Vec<Phrase> = Vec::new();
    if !movable.is_empty() {
        let numbers = movable.iter().map(|interrupt| &interrupt.number);
        let others = CpuList::format(&machine.others());
        let command = format!("echo {others} | sudo tee /proc/irq/$i/smp_affinity_list");
        actions.push(for_each(&command, numbers).into());
    }
    actions.extend((!managed.is_empty()).then(|| without_managed(machine, &measured)).flatten());
    let action = (!actions.is_empty()).then(|| Phrase::joined("and", actions));
    let status = if movable.iter().any(comes) { Status::Bad } else { Status::Warn };
    Some(Seen { status, found, action })
}

/// Whether a sound card has its interrupt line alone. The driver in the name of an interrupt is
/// that of the card; `snd_hda_intel:card0` says which.
fn sound(machine: &Machine<'_>) -> Option<Seen> {
    if machine.options.purpose != Purpose::Audio {
        return None;
    }
    let is_sound = |name: &&str| name.starts_with("snd");
    let (mut shared, mut own) = (Vec::new(), Vec::new());
    for DeviceInterrupt { number, device, .. } in device_interrupts(machine) {
        let (mut cards, mut others): (Vec<&str>, Vec<&str>) =
            device.split(", ").partition(is_sound);
        // Of two cards each disturbs the other.
        others.extend(cards.drain(cards.len().min(1)..));
        match (cards.is_empty(), others.is_empty()) {
            (true, _) => {}
            (false, true) => own.push(format!("{number} ({device})")),
            (false, false) => {
                let (cards, others) = (listed(cards), listed(others));
                shared.push(format!("{number} ({cards}) is shared with {others}"));
            }
        }
    }
    if !shared.is_empty() {
        return Seen::warn(
            shared.join(", "),
            "put the card into another slot, have its driver use MSI (snd_hda_intel: \
             enable_msi=1), or unload the driver of what is not needed",
        );
    }
    (!own.is_empty()).then(|| Seen::ok(format!("{}, shared with nothing", own.join(", "))))?
}

/// Interrupts of which no file says where they may come.
fn without_place(interrupts: &[DeviceInterrupt]) -> Vec<String> {
    let without = interrupts
        .iter()
        .filter(|interrupt| interrupt.allowed.is_none() && interrupt.effective.is_none());
    without.map(|interrupt| interrupt.number.clone()).collect()
}

/// None of those whose affinity can be read.
fn none_may_come(all: usize, without_place: &[String], measured: &[CpuId]) -> Option<Seen> {
    match without_place {
        [] => Seen::ok(format!("none may come to {}", cpu_words(measured))),
        _ if without_place.len() == all => {
            Seen::unknown("no file in /proc/irq says where an interrupt may come")
        }
        some => Seen::unknown(format!(
            "no file in /proc/irq says where these may come: {}",
            some.join(", ")
        )),
    }
}

/// Where an interrupt comes, or may come.
fn words(interrupt: &DeviceInterrupt, measured: &[CpuId]) -> Phrase {
    let (number, device) = (interrupt.number.as_str(), interrupt.device.as_str());
    let (comes, may_come) = (interrupt.comes(measured), interrupt.may_come(measured));
    if comes.is_empty() {
        return phrase!("interrupt-may-come", number, device, cpus = cpu_words(&may_come));
    }
    let cpus = cpu_words(&comes);
    let count = match interrupt.count(&comes) {
        0 => phrase!("none"),
        count => phrase!("times", count),
    };
    if interrupt.is_managed {
        phrase!("placed-interrupt-comes", number, device, cpus, count)
    } else {
        phrase!("interrupt-comes", number, device, cpus, count)
    }
}

/// What has the kernel place the interrupts of queues elsewhere.
fn without_managed(machine: &Machine<'_>, measured: &[CpuId]) -> Option<Phrase> {
    let is_given = machine
        .arguments
        .value("isolcpus")
        .is_some_and(|list| list.split(',').any(|word| word == "managed_irq"));
    (takes_managed_irq(machine) && !is_given)
        .then(|| phrase!("have-the-kernel-place", list = CpuList::format(measured)))
}

/// What a mask says of the measured CPUs.
fn mask(machine: &Machine<'_>, file: &str) -> Option<Seen> {
    if !machine.has_chosen_cpus() {
        return None;
    }
    let measured = machine.measured();
    let text = machine.text(file)?;
    let Some(cpus) = of_mask(&text) else {
        return Seen::unknown(format!("'{text}' is no mask of CPUs"));
    };
    let shared: Vec<CpuId> = cpus.into_iter().filter(|cpu| measured.contains(cpu)).collect();
    if shared.is_empty() {
        return Seen::ok(format!("without {}", cpu_words(&measured)));
    }
    Seen::bad(
        phrase!("allows", cpus = cpu_words(&shared)),
        format!("echo {} | sudo tee /{file}", to_mask(&machine.others())),
    )
}

fn default_affinity(machine: &Machine<'_>) -> Option<Seen> {
    mask(machine, "proc/irq/default_smp_affinity")
}

fn workqueues(machine: &Machine<'_>) -> Option<Seen> {
    mask(machine, "sys/devices/virtual/workqueue/cpumask")
}

/// A setting by which somebody says which CPUs irqbalance leaves alone.
struct Banned {
    name: &'static str,
    value: String,
    /// None where irqbalance cannot read all of it, and looks at no isolated CPUs either.
    cpus: Option<Vec<CpuId>>,
}

impl Banned {
    /// What somebody meant, of which irqbalance may read nothing: a mask in the place of a list, or
    /// the other way round, and each part of a list that is one.
    fn meant(&self) -> Vec<CpuId> {
        let parts = || self.value.split(',').filter_map(cpu::list).flatten().collect::<Vec<_>>();
        let mask = || of_mask(self.value.trim_start_matches("0x")).unwrap_or_default();
        self.cpus.clone().unwrap_or_else(|| {
            let parts = parts();
            if parts.is_empty() { mask() } else { parts }
        })
    }

    /// CPUs that are left alone when these are too. None where irqbalance would have no CPU.
    fn with(&self, machine: &Machine<'_>, cpus: &[CpuId]) -> Option<Vec<CpuId>> {
        let mut all = sorted(cpus.iter().copied().chain(self.meant()));
        all.retain(|cpu| *cpu <= highest_cpu(machine));
        (!without(&machine.online, &all).is_empty()).then_some(all)
    }

    /// The setting that leaves these CPUs alone.
    fn of(&self, cpus: &[CpuId]) -> String {
        let value = if self.name == BANNED_MASK { to_mask(cpus) } else { CpuList::format(cpus) };
        format!("{}={value}", self.name)
    }
}

const BANNED_MASK: &str = "IRQBALANCE_BANNED_CPUS";
const BANNED_LIST: &str = "IRQBALANCE_BANNED_CPULIST";

/// The setting that counts, where one is there: irqbalance then looks at no isolated CPUs by
/// itself, even if it cannot read it. An empty value is as good as none.
fn banned(machine: &Machine<'_>) -> Option<Banned> {
    let of_process = machine
        .processes("irqbalance")
        .into_iter()
        .find_map(|pid| machine.text_of_process(&format!("proc/{pid}/environ")));
    let settings = of_process.map(|text| text.replace('\0', "\n")).unwrap_or_else(|| {
        let files = ["etc/default/irqbalance", "etc/sysconfig/irqbalance"];
        files.iter().filter_map(|file| machine.text(file)).collect::<Vec<_>>().join("\n")
    });
    let value = |name: &str| {
        let line = |line: &str| {
            Some(
                line.trim()
                    .strip_prefix(name)?
                    .trim_start()
                    .strip_prefix('=')?
                    .trim()
                    .trim_matches(['"', '\''])
                    .to_owned(),
            )
        };
        settings.lines().filter_map(line).next_back().filter(|value| !value.is_empty())
    };
    let of_list = |value: String| {
        let cpus = cpu::list(&value);
        Banned { name: BANNED_LIST, value, cpus }
    };
    let of_mask = |value: String| {
        let cpus = of_mask(&value);
        Banned { name: BANNED_MASK, value, cpus }
    };
    value(BANNED_MASK).map(of_mask).or_else(|| value(BANNED_LIST).map(of_list))
}

fn irqbalance(machine: &Machine<'_>) -> Option<Seen> {
    if machine.processes("irqbalance").is_empty() {
        return None;
    }
    if !machine.has_chosen_cpus() {
        return Seen::ok("runs; no CPUs are set apart");
    }
    let stop = "sudo systemctl disable --now irqbalance";
    let measured = machine.measured();
    if let Some(banned) = banned(machine) {
        let open = without(&measured, banned.cpus.as_deref().unwrap_or_default());
        let name = banned.name;
        if open.is_empty() {
            return Seen::ok(format!("runs, and leaves {} alone ({name})", cpu_words(&measured)));
        }
        let argument = format!("{name}={}", banned.value);
        let all = banned.with(machine, &also(measured.clone(), &machine.isolated));
        let found = match (&banned.cpus, name) {
            (Some(_), _) if all.is_none() => {
                phrase!("runs-with-cpus-turned-round", name, cpus = cpu_words(&open))
            }
            (Some(_), _) => phrase!("runs-and-does-not-leave-out", name, cpus = cpu_words(&open)),
            (None, BANNED_MASK) => phrase!("runs-with-no-mask", argument),
            (None, _) => phrase!("runs-with-no-list", argument),
        };
        let setting = banned.of(all.as_deref().unwrap_or(&measured));
        let action = phrase!("set-and-restart-irqbalance", setting);
        return Seen::bad(found, Phrase::joined("or", [action, stop.into()]));
    }
    // It leaves these alone by itself.
    let mut left_out = machine.root().isolated_cpus();
    left_out.extend(tickless(machine));
    if without(&measured, &left_out).is_empty() {
        return Seen::ok("runs, and leaves isolated CPUs alone");
    }
    Seen::bad(phrase!("runs-and-leaves-out-none"), stop)
}

#[cfg(test)]
#[path = "area_interrupts_tests.rs"]
mod tests;
