// SPDX-License-Identifier: MIT OR Apache-2.0
//! The kernel's arguments that keep CPUs for what is to be on time, beside those that the kernel was booted with.

use crate::HostRoot;
use crate::check::{CheckOptions, Machine, Purpose, cpus_of_argument, highest_cpu};
use plan::{CpuId, CpuList};

/// One argument that is to be another one at the next boot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BootArgument {
    /// As it is now, with its value, where it is there.
    pub from: Option<String>,
    /// As it is to be.
    pub to: String,
    /// What it does.
    pub why: &'static str,
}

/// What is to be changed at the next boot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BootPlan {
    /// CPUs that are kept for what is to be on time.
    pub cpus: Vec<CpuId>,
    /// What is to be changed.
    pub changes: Vec<BootArgument>,
    /// Arguments that are right already, as they are.
    pub kept: Vec<String>,
    /// What should be known of this kernel and these CPUs.
    pub notes: Vec<String>,
    /// Where this machine's arguments are written, and what is done with them then.
    pub place: Option<&'static str>,
}

/// An argument that a machine should have.
struct Wanted {
    name: &'static str,
    to: String,
    why: &'static str,
    /// Whether the CPUs in it count, and not how they are written.
    is_list: bool,
}

/// Below this, the kernel takes `managed_irq` for an error and isolates nothing.
const WITH_MANAGED_IRQ: (u32, u32) = (5, 6);
/// With few CPUs there is little to wait for when all ticks come at once.
const MANY_CPUS: usize = 8;

/// Where arguments are written: a file that says so, and what to do.
const PLACES: [(&str, &str); 6] = [
    ("boot/firmware/cmdline.txt", "/boot/firmware/cmdline.txt (all in its one line), then reboot"),
    ("boot/cmdline.txt", "/boot/cmdline.txt (all in its one line), then reboot"),
    ("usr/sbin/update-grub", "GRUB_CMDLINE_LINUX_DEFAULT in /etc/default/grub, then sudo update-grub, and reboot"),
    ("usr/sbin/grubby", "sudo grubby --update-kernel=ALL --args='...' --remove-args='...', then reboot"),
    (
        "etc/default/grub",
        "GRUB_CMDLINE_LINUX_DEFAULT in /etc/default/grub, then sudo grub-mkconfig -o /boot/grub/grub.cfg, and reboot",
    ),
    ("etc/kernel/cmdline", "/etc/kernel/cmdline (one line), then sudo kernel-install add-all, and reboot"),
];

impl HostRoot {
    /// The kernel's arguments for these CPUs; without any, for those that are isolated. Reads only.
    ///
    /// # Errors
    /// When no CPU would be left for everything else, or none is named.
    pub fn plan_boot(&self, cpus: Option<Vec<CpuId>>) -> Result<BootPlan, String> {
        let options = CheckOptions { purpose: Purpose::Measure, cpus, priority: 90, config: None };
        let machine = Machine::new(self, &options);
        if !machine.has_chosen_cpus() {
            return Err(format!(
                "no CPU would be left for everything else: name some of {} with --cpus, as in --cpus 1-3",
                CpuList::format(&machine.online)
            ));
        }
        let mut plan = BootPlan {
            cpus: machine.measured(),
            changes: Vec::new(),
            kept: Vec::new(),
            notes: notes(&machine),
            place: PLACES.iter().find(|(file, _)| machine.exists(file)).map(|(_, place)| *place),
        };
        for Wanted { name, to, why, is_list } in wanted(&machine) {
            let from = machine.arguments.written(name);
            let listed = |text: &str| cpus_of_argument(text, highest_cpu(&machine)).ok();
            let is_right = from.as_ref().is_some_and(|from| {
                *from == to || is_list && listed(value(from)).is_some_and(|cpus| Some(cpus) == listed(value(&to)))
            });
            match from {
                Some(from) if is_right => plan.kept.push(from),
                from => plan.changes.push(BootArgument { from, to, why }),
            }
        }
        Ok(plan)
    }
}

fn value(argument: &str) -> &str {
    argument.split_once('=').map_or("", |(_, value)| value)
}

/// Version and patch level, of a release such as `6.1.0-56-rt-amd64`.
fn version(machine: &Machine<'_>) -> Option<(u32, u32)> {
    let release = machine.text("proc/sys/kernel/osrelease")?;
    let mut numbers = release.split(|letter: char| !letter.is_ascii_digit()).map(|number| number.parse().ok());
    Some((numbers.next()??, numbers.next()??))
}

/// Whether the kernel was built with NO_HZ_FULL or RCU_NOCB_CPU, as far as it is known.
fn built_with(machine: &Machine<'_>, option: &str) -> Option<bool> {
    // This file comes with the first of the two, which selects the second.
    if machine.exists("sys/devices/system/cpu/nohz_full") {
        return Some(true);
    }
    machine.config().ok().map(|config| config.has(option))
}

/// What stands before the list of isolcpus.
pub(crate) fn isolation_flags(machine: &Machine<'_>) -> &'static str {
    if version(machine).is_none_or(|version| version >= WITH_MANAGED_IRQ) { "managed_irq,domain," } else { "" }
}

fn wanted(machine: &Machine<'_>) -> Vec<Wanted> {
    let list = CpuList::format(&machine.measured());
    let flags = isolation_flags(machine);
    let mut wanted = vec![Wanted {
        name: "isolcpus",
        to: format!("isolcpus={flags}{list}"),
        why: "The scheduler leaves these CPUs to threads that are bound to them, and does no balancing there.",
        is_list: true,
    }];
    if built_with(machine, "NO_HZ_FULL") != Some(false) {
        wanted.push(Wanted {
            name: "nohz_full",
            to: format!("nohz_full={list}"),
            why: "No tick while one thread alone runs.",
            is_list: true,
        });
    }
    if built_with(machine, "RCU_NOCB_CPU") != Some(false) {
        wanted.push(Wanted {
            name: "rcu_nocbs",
            to: format!("rcu_nocbs={list}"),
            why: "RCU callbacks run in threads, which the other CPUs can run.",
            is_list: true,
        });
    }
    wanted.push(Wanted {
        name: "irqaffinity",
        to: format!("irqaffinity={}", CpuList::format(&machine.others())),
        why: "Interrupts go to the other CPUs from the start.",
        is_list: true,
    });
    if machine.online.len() >= MANY_CPUS {
        wanted.push(Wanted {
            name: "skew_tick",
            to: "skew_tick=1".to_owned(),
            why: "The ticks of the CPUs do not come at once, and do not wait for the same locks.",
            is_list: false,
        });
    }
    let is_dynamic = machine.text("proc/version").is_some_and(|text| text.contains("PREEMPT_DYNAMIC"));
    if is_dynamic && !machine.has_preempt_rt() {
        wanted.push(Wanted {
            name: "preempt",
            to: "preempt=full".to_owned(),
            why: "Without PREEMPT_RT, this mode lets a waking thread preempt the kernel in most places.",
            is_list: false,
        });
    }
    wanted
}

fn notes(machine: &Machine<'_>) -> Vec<String> {
    let mut notes = Vec::new();
    if machine.measured().contains(&CpuId(0)) {
        notes.push("CPU 0 does work of the kernel that cannot be moved: choose other CPUs".to_owned());
    }
    for (option, argument) in [("NO_HZ_FULL", "nohz_full"), ("RCU_NOCB_CPU", "rcu_nocbs")] {
        match built_with(machine, option) {
            Some(true) => {}
            Some(false) => notes.push(format!("this kernel is built without CONFIG_{option}, so {argument}= would do nothing")),
            None => notes.push(format!(
                "whether this kernel is built with CONFIG_{option} is not known: without, {argument}= does nothing"
            )),
        }
    }
    notes.push("a reboot with other arguments may not come up: be able to edit them at boot, or have a second entry".to_owned());
    notes
}
