// SPDX-License-Identifier: MIT OR Apache-2.0
//! A container around this process: which, and the CPU time that its groups leave it.

use super::area_rights::highest_allowed;
use super::cgroups::own_group;
use super::container::container_kind;
use super::cpuset::given;
use super::finding::{ALL, Check, Seen, check};
use super::machine::Machine;
use super::words::cpu_words;
use model::{Phrase, phrase};
use plan::CpuList;

pub(crate) const CHECKS: &[Check] =
    &[check("container", &[], container), check("cpu-quota", ALL, quota)];

fn container(machine: &Machine<'_>) -> Option<Seen> {
    let kind = container_kind(machine)?;
    // All of them need not be named.
    let chosen = || machine.has_chosen_cpus().then(|| machine.measured());
    let cpus = given(machine).or_else(chosen);
    let with = |before: &str| {
        cpus.as_ref().map_or_else(String::new, |cpus| before.to_owned() + &CpuList::format(cpus))
    };
    let action = match kind.as_str() {
        "docker" | "podman" => format!(
            "run it with --cap-add SYS_NICE --cap-add IPC_LOCK --ulimit rtprio={} --ulimit \
             memlock=-1{}",
            highest_allowed(machine),
            with(" --cpuset-cpus ")
        ),
        "kubernetes" => "add SYS_NICE and IPC_LOCK to securityContext.capabilities, and request \
                         whole CPUs as their limit, where the node's cpuManagerPolicy is static"
            .to_owned(),
        "lxc" => format!(
            "add to its configuration: lxc.prlimit.rtprio = 99, lxc.prlimit.memlock = unlimited{}",
            with(", lxc.cgroup2.cpuset.cpus = ")
        ),
        "systemd-nspawn" => format!(
            "start it with --capability=CAP_SYS_NICE,CAP_IPC_LOCK --rlimit=RLIMIT_RTPRIO=99 \
             --rlimit=RLIMIT_MEMLOCK=infinity{}",
            with(" --property=AllowedCPUs=")
        ),
        _ => {
            let cpus = cpus.map(|cpus| format!(", and {} for itself", cpu_words(&cpus)));
            format!("give it CAP_SYS_NICE and CAP_IPC_LOCK{}", cpus.unwrap_or_default())
        }
    };
    Seen::warn(format!("yes ({kind})"), action)
}

/// A quota that can stop a group: run time and period in µs.
struct Quota {
    run: u64,
    period: u64,
    file: String,
    stopped: Option<u64>,
}

/// Folders of a control group and of those above it, whose limits count too.
fn with_those_above(group: &str, mount: &str) -> Vec<String> {
    let below = group.strip_prefix(mount).unwrap_or_default();
    // Seen from inside a control group's namespace, a group outside has dots.
    let parts: Vec<&str> = below.split('/').filter(|part| !part.is_empty()).collect();
    let parts: &[&str] = if parts.contains(&"..") { &[] } else { &parts };
    let folder = |count: usize| {
        std::iter::once(mount)
            .chain(parts.iter().copied().take(count))
            .collect::<Vec<_>>()
            .join("/")
    };
    (0..=parts.len()).rev().map(folder).collect()
}

fn stopped(machine: &Machine<'_>, folder: &str) -> Option<u64> {
    let text = machine.text(&format!("{folder}/cpu.stat"))?;
    text.lines().find_map(|line| line.strip_prefix("nr_throttled ")?.trim().parse().ok())
}

fn quotas(machine: &Machine<'_>) -> Vec<Quota> {
    let number = |file: &str| machine.number(file).and_then(|number| u64::try_from(number).ok());
    let stopped = |folder: &str| stopped(machine, folder);
    let version_2 = |folder: String| {
        let file = format!("{folder}/cpu.max");
        let text = machine.text(&file)?;
        let (run, period) = text.split_once(' ')?;
        let (run, period) = (run.parse().ok()?, period.trim().parse().ok()?);
        Some(Quota { run, period, file, stopped: stopped(&folder) })
    };
    let version_1 = |folder: String| {
        let file = format!("{folder}/cpu.cfs_quota_us");
        let run = number(&file).filter(|run| *run > 0)?;
        let period = number(&format!("{folder}/cpu.cfs_period_us")).unwrap_or(100_000);
        Some(Quota { run, period, file, stopped: stopped(&folder) })
    };
    let folders = |controller, mount| {
        let group = own_group(machine, controller);
        group.map(|group| with_those_above(&group, mount)).unwrap_or_default().into_iter()
    };
    let mut quotas: Vec<Quota> = folders(None, "sys/fs/cgroup")
        .filter_map(version_2)
        .chain(folders(Some("cpu"), "sys/fs/cgroup/cpu").filter_map(version_1))
        .collect();
    // One that is enough for all CPUs stops nobody.
    let cpus = u64::try_from(machine.online.len()).unwrap_or(u64::MAX);
    quotas.retain(|quota| quota.run < quota.period.saturating_mul(cpus));
    quotas
}

fn quota(machine: &Machine<'_>) -> Option<Seen> {
    let words = |Quota { run, period, file, stopped }| {
        let file = format!("/{file}");
        match stopped {
            Some(1) => phrase!("quota-used-up-once", run, period, file),
            Some(times @ 2..) => phrase!("quota-used-up", run, period, file, times),
            _ => phrase!("quota", run, period, file),
        }
    };
    let limits: Vec<Phrase> = quotas(machine).into_iter().map(words).collect();
    if limits.is_empty() {
        return None;
    }
    let (found, action) = (Phrase::joined("comma", limits), phrase!("run-without-quota"));
    // Threads of a real-time policy are not held to it: loads and the recording are.
    if machine.measures_ordinary() { Seen::bad(found, action) } else { Seen::warn(found, action) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Status;
    use crate::one_finding::finding;
    use crate::tests::files::lay;

    #[test]
    fn containers_are_named() {
        for (expected, files) in [
            (
                "kubernetes",
                &[(
                    "proc/self/cgroup",
                    "0::/kubepods.slice/kubepods-pod1.slice/cri-containerd-2.scope",
                )][..],
            ),
            (
                "kubernetes",
                &[
                    (".dockerenv", ""),
                    ("run/secrets/kubernetes.io/serviceaccount/namespace", "default"),
                ],
            ),
            ("docker", &[(".dockerenv", "")]),
            ("docker", &[("proc/self/cgroup", "5:cpu,cpuacct:/docker/0123")]),
            ("podman", &[("run/.containerenv", "engine=\"podman-4.3.1\"")]),
            ("podman", &[("proc/self/cgroup", "0::/machine.slice/libpod-0123.scope/container")]),
            ("lxc", &[("proc/1/environ", "PATH=/bin\0container=lxc\0")]),
            ("lxc", &[("proc/self/cgroup", "0::/lxc.payload.one/user.slice")]),
            ("systemd-nspawn", &[("run/host/container-manager", "systemd-nspawn\n")]),
            (
                "docker",
                &[(
                    "proc/self/mountinfo",
                    "9 8 0:5 / / rw - overlay overlay rw,lowerdir=/var/lib/docker/overlay2/l/A\n",
                )],
            ),
        ] {
            let (_dir, root) = lay(files);
            let finding = finding(&root, "container", None).unwrap();
            assert_eq!(finding.found, format!("yes ({expected})"), "{files:?}");
        }
    }

    #[test]
    fn machines_that_run_containers_are_none() {
        let (_dir, root) = lay(&[
            ("proc/self/cgroup", "0::/user.slice/user-1000.slice/session-3.scope"),
            (
                "proc/self/mountinfo",
                "9 8 8:1 / / rw - ext4 /dev/sda1 rw\n10 9 0:5 / /var/lib/docker/overlay2/m rw - \
                 overlay o rw\n",
            ),
        ]);
        assert!(finding(&root, "container", None).is_none());
    }

    /// A machine may boot what was an image.
    #[test]
    fn the_mark_of_docker_alone_makes_no_container() {
        for (kind, is_container) in [("ext4 /dev/vda", false), ("overlay overlay", true)] {
            let mount = format!("26 2 254:1 / / rw,relatime - {kind} rw\n");
            let files = [
                (".dockerenv", ""),
                ("proc/2/comm", "kthreadd\n"),
                ("proc/self/mountinfo", mount.as_str()),
            ];
            let (_dir, root) = lay(&files);
            assert_eq!(finding(&root, "container", None).is_some(), is_container, "{kind}");
        }
    }

    /// Of version 1 only the group itself was looked at.
    #[test]
    fn quotas_of_groups_above_count_in_both_versions() {
        let (_dir, root) = lay(&[
            ("sys/devices/system/cpu/online", "0-3"),
            ("proc/self/cgroup", "4:cpuset:/a/b\n2:cpu,cpuacct:/a/b\n0::/c/d\n"),
            ("sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", "50000"),
            ("sys/fs/cgroup/cpu/a/cpu.cfs_period_us", "100000"),
            ("sys/fs/cgroup/cpu/a/cpu.stat", "nr_periods 90\nnr_throttled 7\nthrottled_time 9\n"),
            ("sys/fs/cgroup/cpu/a/b/cpu.cfs_quota_us", "-1"),
            ("sys/fs/cgroup/c/cpu.max", "20000 100000"),
            ("sys/fs/cgroup/c/cpu.stat", "nr_periods 9\nnr_throttled 1\nthrottled_usec 9\n"),
            ("sys/fs/cgroup/c/d/cpu.max", "max 100000"),
        ]);
        let finding = finding(&root, "cpu-quota", None).unwrap();
        let expected = "20000 µs of each 100000 µs (/sys/fs/cgroup/c/cpu.max, used up once), 50000 \
                        µs of each 100000 µs (/sys/fs/cgroup/cpu/a/cpu.cfs_quota_us, used up 7 \
                        times)";
        assert_eq!((finding.status, finding.found.as_str()), (Status::Warn, expected));
    }

    #[test]
    fn a_quota_for_all_cpus_stops_nobody() {
        for (quota, is_limit) in
            [("400000 100000", false), ("399999 100000", true), ("max 100000", false)]
        {
            let files = [
                ("sys/devices/system/cpu/online", "0-3"),
                ("proc/self/cgroup", "0::/a"),
                ("sys/fs/cgroup/a/cpu.max", quota),
            ];
            let (_dir, root) = lay(&files);
            assert_eq!(finding(&root, "cpu-quota", None).is_some(), is_limit, "{quota}");
        }
    }

    #[test]
    fn groups_outside_of_the_namespace_are_not_followed() {
        assert_eq!(with_those_above("sys/fs/cgroup/../../x", "sys/fs/cgroup"), ["sys/fs/cgroup"]);
        assert_eq!(
            with_those_above("sys/fs/cgroup/a", "sys/fs/cgroup"),
            ["sys/fs/cgroup/a", "sys/fs/cgroup"]
        );
    }
}
