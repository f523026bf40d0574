// SPDX-License-Identifier: MIT OR Apache-2.0
//! Control groups whose threads may run on the CPUs that are to be on time.

use super::cgroups::{GROUPS, branch, own_path};
use super::cpuset::allowed;
use super::cpuset_v1::cpuset_limits;
use super::finding::{ALL, Check, Seen, check, tunable};
use super::machine::{Machine, Purpose};
use super::words::{cpu_words, for_each, listed};
use plan::{CpuId, CpuList};

pub(crate) const CHECKS: &[Check] =
    &[tunable("control-groups", &[Purpose::Telco], groups), check("allowed-cpus", ALL, allowed)];

/// Groups directly below the root whose threads may run on measured CPUs: those this process is not
/// in, and which keep no CPUs for themselves.
pub fn groups_on_measured(machine: &Machine<'_>) -> Vec<String> {
    let measured = machine.measured();
    let controllers = machine.text(&format!("{GROUPS}/cgroup.controllers")).unwrap_or_default();
    let is_isolated = measured.iter().all(|cpu| machine.isolated.contains(cpu));
    if !machine.has_chosen_cpus()
        || is_isolated
        || !controllers.split_whitespace().any(|name| name == "cpuset")
    {
        return Vec::new();
    }
    let own = own_path(machine, None).unwrap_or_default();
    let may_run = |group: &String| {
        let file = |name: &str| format!("{GROUPS}/{group}/{name}");
        let partition = machine.text(&file("cpuset.cpus.partition"));
        // Without the controller it has the CPUs of the root.
        let cpus =
            machine.cpus(&file("cpuset.cpus.effective")).unwrap_or_else(|| machine.online.clone());
        group != branch(&own)
            && machine.exists(&file("cgroup.procs"))
            && partition.is_none_or(|partition| partition == "member")
            && cpus.iter().any(|cpu| measured.contains(cpu))
    };
    machine.names(GROUPS).into_iter().filter(may_run).collect()
}

fn groups(machine: &Machine<'_>) -> Option<Seen> {
    let groups = groups_on_measured(machine);
    if groups.is_empty() {
        return groups_of_version_1(machine);
    }
    let others: &[CpuId] = &machine.others();
    Seen::warn(
        format!("{} may run on {}", listed(groups.clone()), cpu_words(&machine.measured())),
        keeping(&groups, &CpuList::format(others)),
    )
}

fn groups_of_version_1(machine: &Machine<'_>) -> Option<Seen> {
    let limits = cpuset_limits(machine)?;
    let mut found = limits.names();
    if limits.threads > 0 {
        found.push(match limits.threads {
            1 => "a thread in the root cpuset".to_owned(),
            threads => format!("{threads} threads in the root cpuset"),
        });
    }
    if found.is_empty() {
        return None;
    }
    let measured = machine.measured();
    let tune =
        || format!("sudo teiji tune --only control-groups --cpus {}", CpuList::format(&measured));
    let action = match (limits.command(), limits.groups.len()) {
        (Some(command), 1) if limits.threads == 0 => command,
        _ => tune(),
    };
    Seen::warn(format!("{} may run on {}", listed(found), cpu_words(&measured)), action)
}

/// Kinds of units that can be given CPUs by the service manager, which would undo what is written
/// to their groups.
const UNITS: [&str; 6] = [".slice", ".scope", ".service", ".mount", ".socket", ".swap"];

/// Commands that keep groups to CPUs.
fn keeping(groups: &[String], cpus: &str) -> String {
    let is_unit = |group: &&String| UNITS.iter().any(|kind| group.ends_with(kind));
    let (units, others): (Vec<&String>, Vec<&String>) = groups.iter().partition(is_unit);
    // What a shell would read otherwise.
    let quoted = |groups: Vec<&String>| -> Vec<String> {
        let is_plain = |group: &str| {
            group.chars().all(|letter| letter.is_ascii_alphanumeric() || "._-@:".contains(letter))
        };
        let quote = |group: &String| {
            if is_plain(group) {
                group.clone()
            } else {
                format!("'{}'", group.replace('\'', r"'\''"))
            }
        };
        groups.into_iter().map(quote).collect()
    };
    let mut commands = Vec::new();
    if !units.is_empty() {
        commands.push(for_each(
            &format!("sudo systemctl set-property --runtime \"$i\" AllowedCPUs={cpus}"),
            quoted(units),
        ));
    }
    if !others.is_empty() {
        commands.push(for_each(
            &format!("echo {cpus} | sudo tee /{GROUPS}/\"$i\"/cpuset.cpus"),
            quoted(others),
        ));
    }
    commands.join(", and ")
}

#[cfg(test)]
mod tests {
    use crate::one_finding::finding;
    use crate::tests::threads::{file, four_cpus};
    use host::HostRoot;

    /// The command was once for the first alone.
    #[test]
    fn each_group_has_a_command() {
        let dir = four_cpus("");
        file(dir.path(), "sys/fs/cgroup/cgroup.controllers", "cpuset cpu");
        let action =
            || finding(&HostRoot::at(dir.path()), "control-groups", Some(&[2, 3])).unwrap().action;
        file(dir.path(), "sys/fs/cgroup/system.slice/cgroup.procs", "");
        assert_eq!(action(), "sudo systemctl set-property --runtime system.slice AllowedCPUs=0-1");
        for group in ["user.slice", "lxc", r"a\x2db.mount"] {
            file(dir.path(), &format!("sys/fs/cgroup/{group}/cgroup.procs"), "");
        }
        let expected = concat!(
            r"for i in 'a\x2db.mount' system.slice user.slice; ",
            r#"do sudo systemctl set-property --runtime "$i" AllowedCPUs=0-1; done, "#,
            "and echo 0-1 | sudo tee /sys/fs/cgroup/lxc/cpuset.cpus",
        );
        assert_eq!(action(), expected);
    }
}
