// SPDX-License-Identifier: MIT OR Apache-2.0
//! How much of a CPU real-time threads may have: throttling, the fair server, and the shares of
//! control groups.

use super::cgroups::own_group;
use super::finding::Seen;
use super::in_debugfs::hidden;
use super::machine::{Machine, Purpose};
use super::words::{cpu_words, for_each, from_shell_in};
use model::{FairServer, Phrase, RefusalCause, phrase};
use plan::{CpuId, quoted};

/// Where rt_group_sched= came in. Before, the kernel takes it for a variable of init.
const WITH_GROUP_ARGUMENT: (u32, u32) = (6, 16);
const FAIR_SERVER: &str = FairServer::FOLDER;
const RUNTIME: &str = "proc/sys/kernel/sched_rt_runtime_us";
/// Where version 1 of the controller is mounted.
const GROUPS: &str = "sys/fs/cgroup/cpu";

pub(crate) fn throttling(machine: &Machine<'_>) -> Option<Seen> {
    let runtime = machine.number(RUNTIME)?;
    let period = machine.number("proc/sys/kernel/sched_rt_period_us")?;
    let has_fair_server = has_fair_server(machine);
    let is_limit = runtime >= 0 && runtime < period;
    let found = format!("{runtime} µs of each {period} µs");
    // A share this small stops what has little to do.
    if is_limit
        && runtime < period / 2
        && (!has_fair_server || has_group_scheduling(machine) == Some(true))
    {
        let action = format!("sudo sysctl kernel.sched_rt_runtime_us={}", period - period / 20);
        return Seen::bad(phrase!("real-time-share", run = runtime, period), action);
    }
    if has_fair_server {
        return fair_server(machine, runtime);
    }
    if !is_limit {
        return Seen::ok(
            "off: a real-time thread that does not sleep stops its CPU for everything else",
        );
    }
    if machine.options.purpose == Purpose::Telco {
        return Seen::warn(
            found,
            without_protection(machine, "sudo sysctl kernel.sched_rt_runtime_us=-1"),
        );
    }
    Seen::ok(format!("{found}, which protects the machine"))
}

/// What switches the protection of ordinary threads off, for threads that poll. Without PREEMPT_RT
/// softirqs and RCU run in such threads, and a machine that starves them hangs.
fn without_protection(machine: &Machine<'_>, command: &str) -> String {
    if machine.has_preempt_rt() {
        format!("{command}, where threads poll on CPUs of their own")
    } else {
        "boot a kernel with PREEMPT_RT, where threads poll: without it they would hang the machine \
         if nothing stopped them"
            .to_owned()
    }
}

/// Whether ordinary threads have a server of their own.
pub fn has_fair_server(machine: &Machine<'_>) -> bool {
    machine.exists(FAIR_SERVER)
        || machine
            .text("proc/sys/kernel/osrelease")
            .is_some_and(|release| FairServer::is_in(&release))
}

fn fair_server(machine: &Machine<'_>, runtime: i64) -> Option<Seen> {
    let measured = machine.measured();
    let number = |path: &str| machine.number(path);
    let of = |cpu: &CpuId| Some((*cpu, FairServer::of_cpu(*cpu, number)?));
    let known: Vec<(CpuId, FairServer)> = measured.iter().filter_map(of).collect();
    let is_unseen = |cpu: &&CpuId| known.iter().all(|(known, _)| known != *cpu);
    if let Some(cpu) = measured.iter().find(is_unseen) {
        return unseen_server(machine, *cpu, runtime);
    }
    let is_on = |(_, server): &&(CpuId, FairServer)| server.runtime_ns > 0;
    let on: Vec<CpuId> = known.iter().filter(is_on).map(|(cpu, _)| *cpu).collect();
    let Some((_, FairServer { runtime_ns: share, period_ns: period })) =
        known.iter().filter(is_on).max_by_key(|(_, server)| server.runtime_ns)
    else {
        return Seen::ok(
            "no fair server: a real-time thread that does not sleep stops its CPU for everything \
             else",
        );
    };
    let found = phrase!(
        "fair-server",
        run = share / 1_000,
        period = period / 1_000,
        cpus = cpu_words(&on),
    );
    if *share > period / 2 {
        let to = period / 20;
        return Seen::bad(
            found,
            for_each(&format!("echo {to} | sudo tee /{FAIR_SERVER}/cpu$i/runtime"), &on),
        );
    }
    if machine.options.purpose == Purpose::Telco {
        let off = for_each(&format!("echo 0 | sudo tee /{FAIR_SERVER}/cpu$i/runtime"), &on);
        return Seen::warn(found, without_protection(machine, &off));
    }
    Seen::ok(format!("{found}, which protects the machine"))
}

/// Whether it can be seen at all, and how.
fn unseen_server(machine: &Machine<'_>, cpu: CpuId, runtime: i64) -> Option<Seen> {
    let found =
        format!("kernel.sched_rt_runtime_us is {runtime}, but this kernel has a fair server");
    let file = format!("{FAIR_SERVER}/cpu{cpu}/runtime");
    hidden(machine, &file, &format!("{found}. What it gives"), None)
}

/// Whether control groups have shares for real-time threads, as far as it is known.
fn has_group_scheduling(machine: &Machine<'_>) -> Option<bool> {
    let config = machine.config().ok()?;
    if !config.has("RT_GROUP_SCHED") {
        return Some(false);
    }
    let by_default = !config.has("RT_GROUP_SCHED_DEFAULT_DISABLED");
    let asked =
        has_group_argument(machine).then(|| machine.arguments.value("rt_group_sched")).flatten();
    Some(match asked {
        Some("0" | "n" | "N" | "off") => false,
        Some("1" | "y" | "Y" | "on") => true,
        _ => by_default,
    })
}

fn has_group_argument(machine: &Machine<'_>) -> bool {
    machine.kernel_version().is_some_and(|version| version >= WITH_GROUP_ARGUMENT)
}

/// What the own control group of version 1 leaves real-time threads, where it says so.
fn own_share(machine: &Machine<'_>) -> Option<(String, i64)> {
    let group = own_group(machine, Some("cpu"))?;
    let share = machine.number(&format!("{group}/cpu.rt_runtime_us"))?;
    Some((group, share))
}

/// The own control group, where it has no time for real-time threads.
pub(crate) fn without_time(machine: &Machine<'_>) -> Option<RefusalCause> {
    let is_of_this_kernel = machine.options.config.is_none();
    let is_built_in = has_group_scheduling(machine);
    let is_unlimited = machine.number(RUNTIME).is_some_and(|runtime| runtime < 0);
    if !is_of_this_kernel || is_built_in == Some(false) || is_unlimited {
        return None;
    }
    let (group, version) = match own_share(machine) {
        // A kernel without such shares has no such file.
        Some((group, share)) => ((share == 0).then_some(group)?, 1),
        None => (group_of_version_2(machine).filter(|_| is_built_in == Some(true))?, 2),
    };
    let group = format!("/{}", group.trim_end_matches('/'));
    Some(RefusalCause::ControlGroup { group, version })
}

/// The own control group of version 2, or one around it, that is not the root: no such group has a
/// share, and none can be given one.
fn group_of_version_2(machine: &Machine<'_>) -> Option<String> {
    let mut group = own_group(machine, None)?;
    while group.starts_with("sys/fs/cgroup") {
        // The root has no such file.
        if machine.exists(&format!("{}/cpu.weight", group.trim_end_matches('/'))) {
            return Some(group);
        }
        group = group.rsplit_once('/').map(|(parent, _)| parent.to_owned()).unwrap_or_default();
    }
    None
}

pub(crate) fn group_scheduling(machine: &Machine<'_>) -> Option<Seen> {
    let without_time = without_time(machine);
    if without_time.is_none() && !machine.config().ok()?.has("RT_GROUP_SCHED") {
        return None;
    }
    if machine.options.config.is_some() {
        return Seen::warn(
            "built in",
            "build without RT_GROUP_SCHED or, from Linux 6.16 on, boot with rt_group_sched=0",
        );
    }
    if has_group_scheduling(machine) == Some(false) {
        return Seen::ok("built in, and switched off");
    }
    if machine.number(RUNTIME).is_some_and(|runtime| runtime < 0) {
        return Seen::ok("built in, without effect while kernel.sched_rt_runtime_us is -1");
    }
    if let Some(cause @ RefusalCause::ControlGroup { group, version }) = &without_time {
        let found = match version {
            1 => phrase!("share-of-none"),
            _ => phrase!("no-share", group = group.clone()),
        };
        return Seen::bad(found, out_of_group(machine, cause));
    }
    match own_share(machine) {
        Some((group, _)) if group.trim_end_matches('/') == GROUPS => {
            Seen::ok("built in, and this process is in the root control group")
        }
        Some((_, share)) => Seen::warn(
            format!("built in, {share} µs for this control group"),
            Phrase::joined("or", [from_shell_in(&format!("{GROUPS}/tasks")), unshared(machine)]),
        ),
        None => Seen::ok("built in, and no control group limits this process"),
    }
}

/// Without shares for control groups.
fn unshared(machine: &Machine<'_>) -> Phrase {
    if has_group_argument(machine) {
        phrase!("boot-with", arguments = "rt_group_sched=0")
    } else {
        phrase!("boot-kernel-without", option = "RT_GROUP_SCHED")
    }
}

/// What to do where the control group has no time: first what a run that was refused says too.
pub(crate) fn out_of_group(machine: &Machine<'_>, cause: &RefusalCause) -> Phrase {
    let leave = cause.root_threads().map(|file| from_shell_in(file.trim_start_matches('/')));
    let give = match cause {
        RefusalCause::ControlGroup { group, version: 1 } => {
            giving(machine, group.trim_start_matches('/'))
        }
        _ => None,
    };
    Phrase::joined("or", leave.into_iter().chain(give).chain([unshared(machine)]))
}

/// Commands that give a group a share, where there is one to give: first those above it that have
/// none, which would refuse it.
fn giving(machine: &Machine<'_>, group: &str) -> Option<Phrase> {
    let share = |group: &str| machine.number(&format!("{group}/cpu.rt_runtime_us"));
    let path = group.strip_prefix(GROUPS).unwrap_or_default().trim_matches('/');
    let ends = path.match_indices('/').map(|(end, _)| end).chain([path.len()]);
    let levels: Vec<String> = ends.map(|end| format!("{GROUPS}/{}", &path[..end])).collect();
    let without: Vec<String> =
        levels.into_iter().skip_while(|level| share(level) != Some(0)).collect();
    let parent = without
        .first()
        .and_then(|first| first.rsplit_once('/'))
        .map(|(parent, _)| parent.to_owned());
    let left = parent.and_then(|parent| {
        let given = machine
            .names(&parent)
            .iter()
            .filter_map(|name| share(&format!("{parent}/{name}")))
            .sum::<i64>();
        Some(share(&parent)? - given)
    });
    let left = left.filter(|left| *left > 0)?;
    let command = format!("echo {left} | sudo tee /\"$i\"/cpu.rt_runtime_us");
    Some(for_each(&command, without.iter().map(|group| quoted(group))).into())
}

#[cfg(test)]
#[path = "rt_share_tests.rs"]
mod tests;
