// SPDX-License-Identifier: MIT OR Apache-2.0
//! Threads that share a core with a CPU that is to be on time.

use super::finding::{Check, Seen, check};
use super::machine::{CheckOptions, Machine, Purpose};
use super::sets::{sorted, without};
use super::words::{bring_online, cpu_words, each_of};
use host::HostRoot;
use model::{Phrase, Warning, phrase};
use plan::{CpuId, CpuList};

pub(crate) const CHECKS: &[Check] =
    &[check("smt-siblings", &[Purpose::Telco], siblings), check("isolated-offline", &[], offline)];

/// Isolated CPUs that are offline. Second threads are, where SMT is switched off.
fn offline(machine: &Machine<'_>) -> Option<Seen> {
    let offline = machine.offline_isolated();
    if offline.is_empty() {
        return None;
    }
    let verb = if offline.len() == 1 { "is" } else { "are" };
    let found = format!("{} {verb} isolated and offline", cpu_words(offline));
    let smt = machine.text("sys/devices/system/cpu/smt/control");
    let is_off = |smt: String| smt == "off" || smt == "forceoff";
    if smt.map_or_else(|| machine.arguments.written("nosmt").is_some(), is_off) {
        return Seen::ok(format!("{found}. SMT is off"));
    }
    let file = |cpu: &CpuId| format!("sys/devices/system/cpu/cpu{cpu}/online");
    if !offline.iter().all(|cpu| machine.exists(&file(cpu))) {
        return Seen::warn(
            found,
            format!("take {} out of the lists of the kernel's arguments", cpu_words(offline)),
        );
    }
    let command = bring_online(offline);
    Seen::warn(
        found,
        format!(
            "if nobody switched {} off on purpose: {command}",
            if offline.len() == 1 { "it" } else { "them" }
        ),
    )
}

/// The online CPUs of each core that has one of these.
fn cores_of(machine: &Machine<'_>, cpus: &[CpuId]) -> Vec<Vec<CpuId>> {
    let mut cores: Vec<Vec<CpuId>> = Vec::new();
    for cpu in cpus {
        if cores.iter().any(|core| core.contains(cpu)) {
            continue;
        }
        let file = format!("sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list");
        let mut core = machine.cpus(&file).unwrap_or_default();
        core.retain(|sibling| sibling == cpu || machine.online.contains(sibling));
        if core.is_empty() {
            core.push(*cpu);
        }
        cores.push(core);
    }
    cores
}

/// Warns of CPUs of one core that are measured together.
pub fn siblings_measured(root: &HostRoot, measured: &[CpuId]) -> Option<Warning> {
    let options = CheckOptions::to_measure(Some(sorted(measured.iter().copied())), 90);
    let machine = Machine::new(root, &options);
    let measured = machine.measured();
    let mut cores = cores_of(&machine, &measured);
    for core in &mut cores {
        core.retain(|cpu| measured.contains(cpu));
    }
    let one_each = sorted(cores.iter().filter_map(|core| core.first().copied()));
    cores.retain(|core| core.len() > 1);
    (!cores.is_empty()).then_some(Warning::SiblingsMeasured { cores, one_each })
}

/// How cores are shared out: one CPU of each is on time.
struct Shares {
    kept: Vec<CpuId>,
    /// The other CPUs of their cores.
    idle: Vec<CpuId>,
}

impl Shares {
    fn of(cores: &[&Vec<CpuId>], measured: &[CpuId]) -> Shares {
        let first = |core: &Vec<CpuId>| core.iter().copied().find(|cpu| measured.contains(cpu));
        let kept = sorted(cores.iter().filter_map(|core| first(core)));
        let idle = without(&sorted(cores.iter().flat_map(|core| core.iter().copied())), &kept);
        Shares { kept, idle }
    }
}

fn siblings(machine: &Machine<'_>) -> Option<Seen> {
    const BOOT: CpuId = CpuId(0);
    let measured = machine.measured();
    let cores = cores_of(machine, &measured);
    if cores.iter().all(|core| core.len() == 1) {
        return None;
    }
    let all = Shares::of(&cores.iter().collect::<Vec<_>>(), &measured);
    // CPU 0 stays online, and what the kernel binds to it stays on its core.
    let apart: Vec<&Vec<CpuId>> = cores.iter().filter(|core| !core.contains(&BOOT)).collect();
    let Shares { kept, idle } = Shares::of(&apart, &measured);
    let (cpus, others) = (cpu_words(&all.idle), cpu_words(&all.kept));
    let found = if all.idle.len() == 1 {
        phrase!("shares-core", cpus, others)
    } else {
        phrase!("share-cores", cpus, others)
    };
    if kept.is_empty() {
        let has_others = cores_of(machine, &machine.online).len() > 1;
        let action = if has_others {
            phrase!("measure-on-another-core")
        } else {
            phrase!("measure-with-second-core")
        };
        return if machine.has_chosen_cpus() {
            Seen::bad(found, action)
        } else {
            Seen::warn(found, action)
        };
    }
    let list = CpuList::format(&kept);
    if !machine.has_chosen_cpus() {
        return Seen::warn(
            "cores have two threads",
            format!(
                "measure one thread of a core and leave the other idle: -a {list}. teiji check \
                 --advise says which to isolate"
            ),
        );
    }
    let are_left_idle =
        idle.iter().all(|cpu| machine.isolated.contains(cpu) && !measured.contains(cpu));
    if are_left_idle && kept == sorted(measured.iter().copied()) {
        return match idle.as_slice() {
            [] => Seen::ok("no second threads of their cores"),
            idle => Seen::ok(format!(
                "{}, the second threads of their cores, isolated: leave them idle",
                cpu_words(idle)
            )),
        };
    }
    let alone = (kept.len() < measured.len())
        .then(|| phrase!("measure-alone", list = list.clone(), same = list));
    let ways = alone.into_iter().chain([left_idle(machine, &idle)]);
    Seen::bad(found, Phrase::joined("and", ways))
}

/// How to keep everything off CPUs.
fn left_idle(machine: &Machine<'_>, idle: &[CpuId]) -> Phrase {
    let file = |cpu: &CpuId| format!("sys/devices/system/cpu/cpu{cpu}/online");
    match idle {
        [] => phrase!("leave-core"),
        [one] if machine.exists(&file(one)) => {
            phrase!("switch-off-sibling", command = format!("echo 0 | sudo tee /{}", file(one)))
        }
        _ if idle.iter().all(|cpu| machine.exists(&file(cpu))) => {
            let command = "echo 0 | sudo tee /sys/devices/system/cpu/cpu$cpu/online";
            phrase!("switch-off-siblings", command = each_of("cpu", idle, command))
        }
        _ => phrase!("keep-everything-off", cpus = cpu_words(idle)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Status;
    use crate::one_finding::{OneFinding, finding};
    use crate::tests::files::{lay, put};

    /// CPUs whose second threads are half their number away, all of which can be switched off but
    /// CPU 0.
    fn seen(threads: u32, isolated: &str, measured: Option<&[u32]>) -> Option<OneFinding> {
        let (dir, root) = lay(&[("sys/devices/system/cpu/isolated", isolated)]);
        put(&dir, "sys/devices/system/cpu/online", &format!("0-{}", threads - 1));
        for cpu in 0..threads {
            let folder = format!("sys/devices/system/cpu/cpu{cpu}");
            let first = cpu % (threads / 2);
            put(
                &dir,
                &format!("{folder}/topology/thread_siblings_list"),
                &format!("{first},{}", first + threads / 2),
            );
            if cpu > 0 {
                put(&dir, &format!("{folder}/online"), "1");
            }
        }
        finding(&root, "smt-siblings", measured)
    }

    fn action(threads: u32, isolated: &str, measured: Option<&[u32]>) -> String {
        seen(threads, isolated, measured).unwrap().action
    }

    /// It once switched off all four, which were all that was to be on time.
    #[test]
    fn one_thread_of_each_isolated_core_stays() {
        let finding = seen(8, "2-3,6-7", None).unwrap();
        assert_eq!(
            (finding.status, finding.found.as_str()),
            (Status::Bad, "CPUs 6-7 share cores with CPUs 2-3")
        );
        let expected = "measure on 2-3 alone (-a 2-3), and switch off their siblings: for cpu in \
                        6 7; do echo 0 | sudo tee /sys/devices/system/cpu/cpu$cpu/online; done";
        assert_eq!(finding.action, expected);
        let expected =
            "switch off its sibling: echo 0 | sudo tee /sys/devices/system/cpu/cpu7/online";
        assert_eq!(action(8, "", Some(&[3])), expected);
    }

    /// Of a core of which one CPU alone is measured there is nothing to say.
    #[test]
    fn siblings_that_are_measured_together() {
        let (dir, root) = lay(&[("sys/devices/system/cpu/online", "0-3")]);
        for cpu in 0..4 {
            let siblings = format!("{},{}", cpu % 2, cpu % 2 + 2);
            let file = format!("sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list");
            put(&dir, &file, &siblings);
        }
        let list = |cpus: &[u32]| cpus.iter().copied().map(CpuId).collect::<Vec<_>>();
        let warned = |cpus: &[u32]| siblings_measured(&root, &list(cpus));
        assert_eq!(warned(&[0, 1]), None);
        let (cores, one_each) = (vec![list(&[1, 3])], list(&[0, 1]));
        assert_eq!(warned(&[0, 1, 3, 1]), Some(Warning::SiblingsMeasured { cores, one_each }));
        let (cores, one_each) = (vec![list(&[0, 2]), list(&[1, 3])], list(&[0, 1]));
        assert_eq!(warned(&[0, 1, 2, 3]), Some(Warning::SiblingsMeasured { cores, one_each }));
    }

    #[test]
    fn cpu_0_is_never_switched_off() {
        let other = "measure on another core than that of CPU 0: teiji check --advise names one";
        assert_eq!(action(8, "4", None), other);
        assert_eq!(action(8, "", Some(&[0, 4])), other);
        assert!(
            action(2, "1", None).starts_with("measure on a machine with a second core"),
            "{}",
            action(2, "1", None)
        );
        // The upper half isolated, whose cores are those of all others.
        let expected = "measure on 5-7 alone (-a 5-7), and switch off their siblings: for cpu in \
                        1 2 3; do echo 0 | sudo tee /sys/devices/system/cpu/cpu$cpu/online; done";
        assert_eq!(action(8, "4-7", None), expected);
    }

    /// Without CPU hotplug there is no such file.
    #[test]
    fn cpus_that_cannot_be_switched_off_are_isolated() {
        let (_dir, root) = lay(&[
            ("sys/devices/system/cpu/online", "0-3"),
            ("sys/devices/system/cpu/cpu1/topology/thread_siblings_list", "1,3"),
        ]);
        let finding = finding(&root, "smt-siblings", Some(&[1])).unwrap();
        assert_eq!(
            finding.action,
            "keep everything off CPU 3 too: boot with isolcpus= for all of these cores"
        );
    }

    #[test]
    fn isolated_siblings_that_are_not_measured_are_idle() {
        let finding = seen(8, "2-3,6-7", Some(&[2, 3])).unwrap();
        assert_eq!(finding.status, Status::Ok, "{finding:?}");
        assert!(finding.found.starts_with("CPUs 6-7"), "{}", finding.found);
    }

    #[test]
    fn where_no_cpu_is_chosen_one_of_each_core_is_named() {
        assert!(action(8, "", None).contains("-a 1-3."), "{}", action(8, "", None));
    }

    /// Each check that asks for CPUs that are set apart once fell silent there.
    #[test]
    fn isolated_cpus_that_are_offline_are_not_measured() {
        let files = [
            ("sys/devices/system/cpu/online", "0-2"),
            ("sys/devices/system/cpu/isolated", "1-3"),
            ("proc/sys/kernel/timer_migration", "1"),
            ("proc/irq/default_smp_affinity", "f"),
        ];
        let (dir, root) = lay(&files);
        assert_eq!(finding(&root, "timer-migration", None).unwrap().status, Status::Warn);
        assert_eq!(finding(&root, "interrupt-default", None).unwrap().found, "allows CPUs 1-2");
        let offline = finding(&root, "isolated-offline", None).unwrap();
        assert_eq!(
            (offline.status, offline.found.as_str()),
            (Status::Warn, "CPU 3 is isolated and offline")
        );
        assert_eq!(offline.action, "take CPU 3 out of the lists of the kernel's arguments");
        put(&dir, "sys/devices/system/cpu/cpu3/online", "0");
        let expected = "if nobody switched it off on purpose: echo 1 | sudo tee \
                        /sys/devices/system/cpu/cpu3/online";
        assert_eq!(finding(&root, "isolated-offline", None).unwrap().action, expected);
        put(&dir, "proc/cmdline", "nosmt");
        assert_eq!(finding(&root, "isolated-offline", None).unwrap().status, Status::Ok);
        put(&dir, "sys/devices/system/cpu/smt/control", "on");
        assert_eq!(finding(&root, "isolated-offline", None).unwrap().status, Status::Warn);
        put(&dir, "sys/devices/system/cpu/smt/control", "off");
        assert_eq!(finding(&root, "isolated-offline", None).unwrap().status, Status::Ok);
        put(&dir, "sys/devices/system/cpu/online", "0-3");
        assert!(finding(&root, "isolated-offline", None).is_none());
        // Where all of them are offline, none is set apart.
        put(&dir, "sys/devices/system/cpu/online", "0");
        assert!(finding(&root, "interrupt-default", None).is_none());
    }
}
