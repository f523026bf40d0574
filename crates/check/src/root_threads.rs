// SPDX-License-Identifier: MIT OR Apache-2.0
//! Threads that sit in the root of a hierarchy of control groups, as far as they can be moved and
//! be brought back as they were.
//!
//! Who is moved into a group gets its CPUs, and who is moved back gets all: kernels before 6.2
//! forget which CPUs a thread had chosen. So a thread that does not have all CPUs stays where it
//! is. So does this process, with what it started and what started it: a program that is started
//! from the same shell is to have the measured CPUs.

use host::HostRoot;
use host::cpu;
use plan::CpuId;
use std::collections::{BTreeMap, BTreeSet};

/// A thread that can be moved.
pub struct RootThread {
    pub id: u32,
    /// Threads of the kernel may refuse.
    pub is_kernel: bool,
}

/// What /proc/ID/status says of a thread.
struct Status {
    process: u32,
    parent: u32,
    session: Option<u32>,
    cpus: Vec<CpuId>,
    is_kernel: bool,
}

fn status(root: &HostRoot, id: &str) -> Option<Status> {
    let text = root.text(&format!("proc/{id}/status")).ok()?;
    let field = |name: &str| {
        text.lines().find_map(|line| line.strip_prefix(name)?.split_whitespace().next())
    };
    let number = |name: &str| field(name)?.parse().ok();
    Some(Status {
        process: number("Tgid:")?,
        parent: number("PPid:")?,
        session: number("NSsid:"),
        cpus: cpu::list(field("Cpus_allowed_list:")?)?,
        is_kernel: field("VmSize:").is_none(),
    })
}

/// This process and those that started it, except for the first process, unless it is of the same
/// session, as the shell of a container.
fn own_and_ancestors(root: &HostRoot) -> BTreeSet<u32> {
    const INIT: u32 = 1;
    let mut found = BTreeSet::new();
    let Some(own) = status(root, "self") else { return found };
    let mut next = own.parent;
    found.insert(own.process);
    while next > 0 {
        let Some(status) = status(root, &next.to_string()) else { break };
        if next == INIT && (status.session.is_none() || status.session != own.session)
            || !found.insert(next)
        {
            break;
        }
        next = status.parent;
    }
    found
}

/// Threads in the group at this path that may be moved to another group.
pub fn root_threads(root: &HostRoot, group: &str) -> Vec<RootThread> {
    let tasks = root.text(&format!("{group}/tasks")).unwrap_or_default();
    let statuses: Vec<(u32, Status)> = tasks
        .lines()
        .filter_map(|id| Some((id.trim().parse().ok()?, status(root, id.trim())?)))
        .collect();
    let cpus = |file: &str| cpu::list(&root.text(file).ok()?);
    let Some(all) =
        cpus("sys/devices/system/cpu/possible").or_else(|| cpus("sys/devices/system/cpu/online"))
    else {
        return Vec::new();
    };
    let kept = own_and_ancestors(root);
    let own = status(root, "self").map(|status| status.process);
    let parents: BTreeMap<u32, u32> =
        statuses.iter().map(|(_, status)| (status.process, status.parent)).collect();
    // A process that began later has the number of one that ended: no chain is longer than there
    // are processes.
    let ancestors = |process: u32| {
        std::iter::successors(Some(process), |process| parents.get(process).copied())
            .take(parents.len() + 1)
    };
    let is_own =
        |process: u32| own.is_some_and(|own| ancestors(process).any(|ancestor| ancestor == own));
    let movable = |(id, status): (u32, Status)| {
        let has_all = all.iter().all(|cpu| status.cpus.contains(cpu));
        let stays = kept.contains(&status.process) || is_own(status.process);
        (has_all && !stays).then_some(RootThread { id, is_kernel: status.is_kernel })
    };
    statuses.into_iter().filter_map(movable).collect()
}
