// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whether the kernel's arguments about CPUs agree with one another, and what isolation by them forgets.

use super::Seen;
use super::area_arguments::{cpus_of, is_of_balancing};
use super::machine::{Machine, cpu_words};
use super::recommended::{boot_with, built_with, offloaded};
use plan::CpuId;

/// Those of some CPUs that are not among others.
fn without(cpus: &[CpuId], others: &[CpuId]) -> Vec<CpuId> {
    cpus.iter().copied().filter(|cpu| !others.contains(cpu)).collect()
}

/// What was found wrong so far, and which arguments put it right.
#[derive(Default)]
struct Disagreement {
    wrong: Vec<String>,
    names: Vec<&'static str>,
}

impl Disagreement {
    fn add(&mut self, name: &'static str, wrong: String) {
        self.wrong.push(wrong);
        self.names.push(name);
    }

    /// CPUs of an argument beside those that are isolated.
    fn compare(&mut self, name: &'static str, written: &str, cpus: &[CpuId], isolated: &[CpuId]) {
        let (missing, further) = (without(isolated, cpus), without(cpus, isolated));
        let wrong = match (missing.is_empty(), further.is_empty()) {
            (true, true) => return,
            (false, true) => format!("{written} leaves out {}", cpu_words(&missing)),
            (true, false) => format!("{written} has {} too, {} not isolated", cpu_words(&further), which_are(&further)),
            (false, false) => {
                format!(
                    "{written} names {} and not {}, {} isolated",
                    cpu_words(&further),
                    cpu_words(&missing),
                    which_are(&missing)
                )
            }
        };
        self.add(name, wrong);
    }
}

fn which_are(cpus: &[CpuId]) -> &'static str {
    if cpus.len() == 1 { "which is" } else { "which are" }
}

pub(super) fn agreement(machine: &Machine<'_>) -> Option<Seen> {
    let given = |name: &str| cpus_of(machine, name).filter(|cpus| !cpus.is_empty());
    let written = |name: &str| machine.arguments.written(name).unwrap_or_default();
    let balanced = given("isolcpus").filter(|_| is_of_balancing(&written("isolcpus")));
    let tickless = given("nohz_full").filter(|_| built_with(machine, "NO_HZ_FULL") != Some(false));
    let target = balanced.clone().or_else(|| tickless.clone())?;
    let mut disagreement = Disagreement::default();
    if target.contains(&CpuId(0)) {
        for name in ["isolcpus", "nohz_full"].into_iter().filter(|name| given(name).is_some_and(|cpus| cpus.contains(&CpuId(0))))
        {
            disagreement.add(name, format!("{} has CPU 0, to which the kernel binds work of its own", written(name)));
        }
    }
    if let Some(tickless) = tickless {
        disagreement.compare("nohz_full", &written("nohz_full"), &tickless, &target);
    }
    let for_all = callbacks(machine, &target, &mut disagreement);
    if let Some(interrupts) = cpus_of(machine, "irqaffinity") {
        let shared: Vec<CpuId> = interrupts.into_iter().filter(|cpu| target.contains(cpu)).collect();
        if !shared.is_empty() {
            let wrong =
                format!("{} puts interrupts on {}, {} isolated", written("irqaffinity"), cpu_words(&shared), which_are(&shared));
            disagreement.add("irqaffinity", wrong);
        }
    }
    let Disagreement { mut wrong, mut names } = disagreement;
    if wrong.is_empty() && for_all.is_none() {
        return Seen::ok(format!("{} in each that is given", cpu_words(&target)));
    }
    let is_harmless = wrong.is_empty();
    if let Some(for_all) = for_all {
        wrong.push(for_all);
        names.push("rcu_nocbs");
    }
    let (found, action) = (wrong.join(". "), boot_with(machine, &target, &names));
    if is_harmless { Seen::warn(found, action) } else { Seen::bad(found, action) }
}

/// RCU callbacks of isolated CPUs that are not offloaded. What rcu_nocbs= forgets and the kernel adds for nohz_full= is returned: it costs
/// nothing. More CPUs than the isolated ones cost nothing either.
fn callbacks(machine: &Machine<'_>, target: &[CpuId], disagreement: &mut Disagreement) -> Option<String> {
    let asked = cpus_of(machine, "rcu_nocbs").filter(|cpus| !cpus.is_empty())?;
    let written = machine.arguments.written("rcu_nocbs")?;
    let missing = without(target, &asked);
    if missing.is_empty() || built_with(machine, "RCU_NOCB_CPU") == Some(false) {
        return None;
    }
    let offloaded = offloaded(machine);
    if missing.iter().any(|cpu| !offloaded.contains(cpu)) {
        disagreement.compare("rcu_nocbs", &written, &asked, target);
        return None;
    }
    let further = without(&asked, target);
    let names = if further.is_empty() { String::new() } else { format!("names {} and ", cpu_words(&further)) };
    let (cpus, tickless) = (cpu_words(&missing), machine.arguments.written("nohz_full")?);
    Some(format!(
        "{written} {names}not {cpus}, {} isolated. The kernel offloads {cpus} all the same, for {tickless}",
        which_are(&missing)
    ))
}
