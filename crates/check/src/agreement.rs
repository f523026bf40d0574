// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whether the kernel's arguments agree with one another: those about CPUs, what isolation by them
//! forgets, and those that are there twice.

use super::finding::Seen;
use super::isolating::{ISOLATING, cpus_of, is_of_balancing};
use super::machine::Machine;
use super::preemption::is_fixed;
use super::recommended::{boot_with, built_with, offloaded, tickless};
use super::sets::without;
use super::spelling::takes_value;
use super::words::{cpu_words, listed};
use model::{Phrase, phrase};
use plan::CpuId;

/// What was found wrong so far, and which arguments put it right.
struct Disagreement<'a> {
    machine: &'a Machine<'a>,
    wrong: Vec<Phrase>,
    names: Vec<&'static str>,
}

impl Disagreement<'_> {
    fn add(&mut self, name: &'static str, wrong: Phrase) {
        self.wrong.push(wrong);
        self.names.push(name);
    }

    /// CPUs of an argument beside those that are isolated.
    fn compare(&mut self, name: &'static str, written: &str, cpus: &[CpuId], isolated: &[CpuId]) {
        let (missing, further) = (without(isolated, cpus), without(cpus, isolated));
        let wrong = match (missing.is_empty(), further.is_empty()) {
            (true, true) => return,
            (false, true) => phrase!("leaves-out", written, cpus = cpu_words(&missing)),
            (true, false) => {
                let which = if further.len() == 1 {
                    phrase!("which-is-not-isolated")
                } else {
                    phrase!("which-are-not-isolated")
                };
                phrase!("has-too", written, cpus = cpu_words(&further), which)
            }
            (false, false) => names_and_not(self.machine, written, &further, &missing),
        };
        self.add(name, wrong);
    }
}

fn names_and_not(
    machine: &Machine<'_>,
    written: &str,
    further: &[CpuId],
    missing: &[CpuId],
) -> Phrase {
    let (others, cpus, which) =
        (cpu_words(further), cpu_words(missing), which_are(machine, missing));
    phrase!("names-and-not", written, others, cpus, which)
}

/// What an argument asks for may not be in effect.
fn which_are(machine: &Machine<'_>, cpus: &[CpuId]) -> Phrase {
    let tickless = tickless(machine);
    let are_isolated =
        cpus.iter().all(|cpu| machine.isolated.contains(cpu) || tickless.contains(cpu));
    match (cpus.len() == 1, are_isolated) {
        (true, true) => phrase!("which-is-isolated"),
        (false, true) => phrase!("which-are-isolated"),
        (true, false) => phrase!("which-is-to-be-isolated"),
        (false, false) => phrase!("which-are-to-be-isolated"),
    }
}

/// CPUs that arguments of the running kernel isolate, and those of an `isolcpus=` that leaves them
/// to the scheduler.
struct Targets {
    isolated: Option<Vec<CpuId>>,
    open: Option<Vec<CpuId>>,
}

fn targets(machine: &Machine<'_>) -> Targets {
    let given = |name: &str| cpus_of(machine, name).filter(|cpus| !cpus.is_empty());
    let is_balanced = is_of_balancing(&machine.arguments.written("isolcpus").unwrap_or_default());
    let tickless =
        || given("nohz_full").filter(|_| built_with(machine, "NO_HZ_FULL") != Some(false));
    let listed = given("isolcpus");
    // An isolated partition of control groups does what `domain` would.
    let open =
        listed.clone().filter(|cpus| !is_balanced && !without(cpus, &machine.isolated).is_empty());
    Targets { isolated: listed.filter(|_| is_balanced).or_else(tickless), open }
}

/// CPUs that arguments isolate and that irqaffinity= names nevertheless.
pub(crate) fn with_interrupts(machine: &Machine<'_>) -> Vec<CpuId> {
    let isolated = targets(machine).isolated.unwrap_or_default();
    cpus_of(machine, "irqaffinity")
        .unwrap_or_default()
        .into_iter()
        .filter(|cpu| isolated.contains(cpu))
        .collect()
}

pub(crate) fn agreement(machine: &Machine<'_>) -> Option<Seen> {
    let Targets { isolated, open } = targets(machine);
    let mut disagreement = Disagreement { machine, wrong: Vec::new(), names: Vec::new() };
    if let Some(open) = &open {
        let written = machine.arguments.written("isolcpus")?;
        disagreement.add("isolcpus", phrase!("lacks-domain", written, cpus = cpu_words(open)));
    }
    let for_all =
        isolated.as_ref().and_then(|target| compare_all(machine, target, &mut disagreement));
    let Disagreement { mut wrong, mut names, .. } = disagreement;
    let is_harmless = wrong.is_empty();
    if let Some(for_all) = for_all {
        wrong.push(for_all);
        names.push("rcu_nocbs");
    }
    let target = isolated.or(open);
    let mut actions: Vec<Phrase> = match &target {
        Some(target) if !names.is_empty() => vec![boot_with(machine, target, &names)],
        _ => Vec::new(),
    };
    for (found, action) in repeated_arguments(machine) {
        wrong.push(found);
        actions.push(action);
    }
    if wrong.is_empty() {
        return Seen::ok(format!("{} in each that is given", cpu_words(&target?)));
    }
    let (found, action) = (Phrase::joined("sentences", wrong), Phrase::joined("and", actions));
    if is_harmless { Seen::warn(found, action) } else { Seen::bad(found, action) }
}

/// Compares each argument with the CPUs to isolate. What is said in the end costs nothing.
fn compare_all(
    machine: &Machine<'_>,
    target: &[CpuId],
    disagreement: &mut Disagreement<'_>,
) -> Option<Phrase> {
    let written = |name: &str| machine.arguments.written(name).unwrap_or_default();
    for name in ["isolcpus", "nohz_full"] {
        if cpus_of(machine, name).is_some_and(|cpus| cpus.contains(&CpuId(0)))
            && target.contains(&CpuId(0))
        {
            disagreement.add(name, phrase!("has-boot-cpu", written = written(name)));
        }
    }
    if let Some(tickless) = cpus_of(machine, "nohz_full").filter(|cpus| !cpus.is_empty())
        && built_with(machine, "NO_HZ_FULL") != Some(false)
    {
        disagreement.compare("nohz_full", &written("nohz_full"), &tickless, target);
    }
    let for_all = callbacks(machine, target, disagreement);
    let shared = with_interrupts(machine);
    if !shared.is_empty() {
        let (written, cpus) = (written("irqaffinity"), cpu_words(&shared));
        let which = which_are(machine, &shared);
        disagreement.add("irqaffinity", phrase!("puts-interrupts", written, cpus, which));
    }
    for_all
}

/// Arguments of one value, of which the last counts. Others keep what each of several says
/// (`tsc=`, `intel_pstate=`, `mce=`, `nmi_watchdog=`, `pcie_aspm=`), or some of it (`idle=`,
/// `nosmt`).
const LAST_COUNTS: [&str; 25] = [
    "amd_pstate",
    "audit",
    "clocksource",
    "cpufreq.default_governor",
    "cpufreq.off",
    "cpuidle.off",
    "dwc_otg.fiq_enable",
    "dwc_otg.fiq_fsm_enable",
    "dwc_otg.nak_holdoff",
    "dwc_otg.speed",
    "highres",
    "intel_idle.max_cstate",
    "mitigations",
    "nohz",
    "numa_balancing",
    "preempt",
    "processor.max_cstate",
    "rcupdate.rcu_expedited",
    "rcupdate.rcu_normal",
    "rcupdate.rcu_normal_after_boot",
    "rcutree.kthread_prio",
    "skew_tick",
    "transparent_hugepage",
    "workqueue.power_efficient",
    "workqueue.unbound_cpus",
];

/// Whether the last of several such arguments is the one that counts. Where the kernel does not
/// take its value, an earlier one does, and `arguments-spelled` names it.
fn is_last_taken(machine: &Machine<'_>, name: &str) -> bool {
    let value = machine.arguments.value(name).unwrap_or_default();
    takes_value(machine, name, value) && !(name == "preempt" && is_fixed(machine))
}

/// Arguments that are there again with another list or value, each with what to do.
pub fn repeated_arguments(machine: &Machine<'_>) -> Vec<(Phrase, Phrase)> {
    let one = |name: &&str| {
        let others = machine.arguments.passed_over(name);
        let written = machine.arguments.written(name).filter(|_| !others.is_empty())?;
        let is_one = others.len() == 1;
        let (name, others) = (*name, listed(others));
        let action = phrase!("remove-arguments", arguments = others.clone());
        let found = if is_one {
            phrase!("repeated", name, written, others)
        } else {
            phrase!("repeated-often", name, written, others)
        };
        Some((found, action))
    };
    let of_one_value = LAST_COUNTS.iter().filter(|name| is_last_taken(machine, name));
    ISOLATING.iter().chain(of_one_value).filter_map(one).collect()
}

/// RCU callbacks of isolated CPUs that are not offloaded. What rcu_nocbs= forgets and the kernel
/// adds for nohz_full= is returned: it costs nothing. More CPUs than the isolated ones cost nothing
/// either.
fn callbacks(
    machine: &Machine<'_>,
    target: &[CpuId],
    disagreement: &mut Disagreement<'_>,
) -> Option<Phrase> {
    let asked = cpus_of(machine, "rcu_nocbs").filter(|cpus| !cpus.is_empty())?;
    let written = machine.arguments.written("rcu_nocbs")?;
    let missing = without(target, &asked);
    if missing.is_empty() || built_with(machine, "RCU_NOCB_CPU") == Some(false) {
        return None;
    }
    let offloaded = offloaded(machine);
    if !without(&missing, &offloaded).is_empty() {
        disagreement.compare("rcu_nocbs", &written, &asked, target);
        return None;
    }
    let further = without(&asked, target);
    let (cpus, tickless) = (cpu_words(&missing), machine.arguments.written("nohz_full")?);
    let forgets = if further.is_empty() {
        phrase!("and-not", written, cpus = cpus.clone(), which = which_are(machine, &missing))
    } else {
        names_and_not(machine, &written, &further, &missing)
    };
    Some(Phrase::joined("sentences", [forgets, phrase!("offloaded-all-the-same", cpus, tickless)]))
}
