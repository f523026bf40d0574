// SPDX-License-Identifier: MIT OR Apache-2.0
//! The kernel's arguments that keep CPUs for what is to be on time, beside those that the kernel
//! was booted with.

use super::proposals::example_cpus;
use check::{
    CheckOptions, Machine, Recommended, built_with, highest_cpu, isolable_cpus, means_the_same,
    misspelled_arguments, recommended_arguments, repeated_arguments,
};
use host::HostRoot;
use plan::{CpuId, CpuList};

/// One argument that is to be another one at the next boot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BootArgument {
    /// As it is now, with its value, where it is there. Of several with its name, the one that
    /// counts comes first.
    pub from: Option<String>,
    pub to: String,
    pub why: &'static str,
}

/// What is to be changed at the next boot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BootPlan {
    /// CPUs that are kept for what is to be on time.
    pub cpus: Vec<CpuId>,
    pub changes: Vec<BootArgument>,
    /// Arguments that are right already, as they are.
    pub kept: Vec<String>,
    /// What should be known of this kernel and these CPUs.
    pub notes: Vec<String>,
    /// All of them, as they are to be.
    pub(super) arguments: Vec<PlannedArgument>,
    highest: CpuId,
}

/// An argument that the machine is to be booted with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PlannedArgument {
    pub(super) name: &'static str,
    pub(super) text: String,
    /// Whether the CPUs in it count, and not how they are written.
    pub(super) is_list: bool,
}

impl PlannedArgument {
    /// Whether another text of it means the same.
    fn is_same(&self, text: &str, highest: CpuId) -> bool {
        means_the_same(&self.text, text, self.is_list, highest)
    }
}

impl BootPlan {
    /// The kernel's arguments for these CPUs; without any, for those that are set apart. Reads
    /// only.
    ///
    /// # Errors
    /// When no CPU would be left for everything else, or none of them can be isolated.
    pub fn new(root: &HostRoot, cpus: Option<Vec<CpuId>>) -> Result<BootPlan, String> {
        let options = CheckOptions { cpus, ..CheckOptions::default() };
        let mut machine = Machine::new(root, &options);
        if machine.text("proc/cmdline").is_none() {
            return Err(format!(
                "{} cannot be read, so what the kernel was booted with is not known",
                root.path("proc/cmdline").display()
            ));
        }
        if !machine.has_chosen_cpus() {
            return Err(format!(
                "no CPU would be left for everything else: name some of {} with --cpus, as in \
                 --cpus {}",
                CpuList::format(&machine.online),
                CpuList::format(&example_cpus(&machine))
            ));
        }
        let wanted = machine.to_isolate();
        let cpus = isolable_cpus(&wanted);
        if cpus.is_empty() {
            return Err("CPU 0 cannot be isolated, because the kernel binds work of its own to \
                        it: name others with --cpus"
                .to_owned());
        }
        let mut plan = BootPlan {
            cpus,
            changes: Vec::new(),
            kept: Vec::new(),
            notes: Vec::new(),
            arguments: Vec::new(),
            highest: highest_cpu(&machine),
        };
        for Recommended { name, to, why, is_list, .. } in recommended_arguments(&machine, &wanted) {
            let argument = PlannedArgument { name, text: to.clone(), is_list };
            let others = machine.arguments.passed_over(name);
            match machine.arguments.written(name) {
                Some(from) if others.is_empty() && plan.is_right(&argument, &from) => {
                    plan.kept.push(from);
                }
                from => {
                    let from: Vec<String> = from.into_iter().chain(others).collect();
                    let from = (!from.is_empty()).then(|| from.join(" "));
                    plan.changes.push(BootArgument { from, to, why });
                }
            }
            plan.arguments.push(argument);
        }
        // Who follows a note follows it after the plan, so it is about what the plan leaves.
        plan.arguments.iter().for_each(|argument| machine.arguments.replace(&argument.text));
        plan.notes = notes(&machine);
        Ok(plan)
    }

    /// Whether a text of an argument says what is planned.
    pub(super) fn is_right(&self, argument: &PlannedArgument, text: &str) -> bool {
        argument.is_same(text, self.highest)
    }
}

fn notes(machine: &Machine<'_>) -> Vec<String> {
    let mut notes = Vec::new();
    if machine.measured().contains(&CpuId(0)) {
        notes.push("CPU 0 is left out, because the kernel binds work of its own to it".to_owned());
    }
    for (option, argument) in
        [("CPU_ISOLATION", "isolcpus"), ("NO_HZ_FULL", "nohz_full"), ("RCU_NOCB_CPU", "rcu_nocbs")]
    {
        match built_with(machine, option) {
            Some(true) => {}
            Some(false) => notes.push(format!(
                "this kernel is built without CONFIG_{option}, so {argument}= would do nothing"
            )),
            None => notes.push(format!(
                "whether this kernel is built with CONFIG_{option} is not known: without, \
                 {argument}= does nothing"
            )),
        }
    }
    notes.extend(
        misspelled_arguments(machine)
            .into_iter()
            .map(|one| format!("{} {}: {}", one.written, one.because, one.action)),
    );
    notes.extend(
        repeated_arguments(machine).into_iter().map(|(found, action)| format!("{found}: {action}")),
    );
    notes.push(
        "a reboot with other arguments may not come up: be able to edit them at boot, or have a \
         second entry"
            .to_owned(),
    );
    notes
}
