// SPDX-License-Identifier: MIT OR Apache-2.0
//! Control groups of version 2, and the one that this process is in.

use super::files::Files;
use plan::CpuId;

/// Where version 2 is mounted.
pub const GROUPS: &str = "sys/fs/cgroup";

/// Groups directly below the root, with what the kernel says of them as partitions: `member`, or
/// their kind, behind which one that is not valid says so.
fn asked_partitions(files: &Files<'_>) -> Vec<(String, String)> {
    let controllers = files.text(&format!("{GROUPS}/cgroup.subtree_control")).unwrap_or_default();
    if !controllers.split_whitespace().any(|name| name == "cpuset") {
        return Vec::new();
    }
    let asked =
        |group: String| Some((files.text(&format!("{GROUPS}/{group}/{PARTITION}"))?, group));
    files.names(GROUPS).into_iter().filter_map(asked).map(|(said, group)| (group, said)).collect()
}

pub(crate) const PARTITION: &str = "cpuset.cpus.partition";
const KINDS: [&str; 2] = ["root", "isolated"];

/// The partitions directly below the root, with their kind and CPUs. Others are below these.
pub(crate) fn partitions(files: &Files<'_>) -> Vec<(String, String, Vec<CpuId>)> {
    let partition = |(group, kind): (String, String)| {
        let cpus = files.cpus(&format!("{GROUPS}/{group}/cpuset.cpus.effective"))?;
        KINDS.contains(&kind.as_str()).then_some((group, kind, cpus))
    };
    asked_partitions(files).into_iter().filter_map(partition).collect()
}

/// A group that was to be a partition, and that the kernel makes none of.
pub(crate) struct InvalidPartition {
    pub(crate) group: String,
    pub(crate) kind: String,
    /// Newer kernels say it.
    pub(crate) reason: Option<String>,
}

/// Those directly below the root.
pub(crate) fn invalid_partitions(files: &Files<'_>) -> Vec<InvalidPartition> {
    let invalid = |(group, said): (String, String)| {
        let (kind, reason) = said.split_once(" invalid")?;
        // It goes into a command, and the file may be a stranger's.
        if !KINDS.contains(&kind) {
            return None;
        }
        let reason = reason.trim().strip_prefix('(').and_then(|text| text.strip_suffix(')'));
        Some(InvalidPartition { group, kind: kind.to_owned(), reason: reason.map(str::to_owned) })
    };
    asked_partitions(files).into_iter().filter_map(invalid).collect()
}

/// CPUs that a partition isolates from the scheduler's balancing. Kernels from 6.8 on say so in one
/// file, which has those of isolcpus too.
pub(crate) fn isolated(files: &Files<'_>) -> Vec<CpuId> {
    let all = || {
        partitions(files)
            .into_iter()
            .filter(|(_, kind, _)| kind == "isolated")
            .flat_map(|(.., cpus)| cpus)
            .collect()
    };
    files.cpus(&format!("{GROUPS}/cpuset.cpus.isolated")).unwrap_or_else(all)
}

/// The control group of this process in version 2 or, for one controller, in version 1: its path
/// below the root.
pub(crate) fn own_path(files: &Files<'_>, controller: Option<&str>) -> Option<String> {
    files.text("proc/self/cgroup")?.lines().find_map(|line| {
        let mut parts = line.splitn(3, ':');
        let (_, controllers, path) = (parts.next()?, parts.next()?, parts.next()?);
        let is_it = match controller {
            None => controllers.is_empty(),
            Some(name) => controllers.split(',').any(|one| one == name),
        };
        is_it.then(|| path.trim_matches('/').to_owned())
    })
}

/// Its folder.
pub(crate) fn own_group(files: &Files<'_>, controller: Option<&str>) -> Option<String> {
    let path = own_path(files, controller)?;
    Some(match controller {
        None => format!("{GROUPS}/{path}"),
        Some(name) => format!("{GROUPS}/{name}/{path}"),
    })
}

/// The group directly below the root that a group is, or is below.
pub(crate) fn branch(path: &str) -> &str {
    path.split_once('/').map_or(path, |(branch, _)| branch)
}
