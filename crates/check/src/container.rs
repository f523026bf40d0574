// SPDX-License-Identifier: MIT OR Apache-2.0
//! The container that this process runs in.

use super::files::Files;

/// The container that this process runs in, by its name.
pub(crate) fn container_kind(files: &Files<'_>) -> Option<String> {
    let mount = files.text("proc/self/mountinfo").unwrap_or_default();
    let groups = files.text("proc/self/cgroup").unwrap_or_default();
    let traces = format!(
        "{groups}\n{}",
        mount.lines().filter(|line| is_root(line)).collect::<Vec<_>>().join("\n")
    );
    let traced = TRACES.into_iter().find(|(trace, _)| traces.contains(trace)).map(|(_, kind)| kind);
    // A pod's containers have the marks of what runs them too.
    if traced == Some("kubernetes")
        || files.exists("run/secrets/kubernetes.io")
        || files.exists("var/run/secrets/kubernetes.io")
    {
        return Some("kubernetes".to_owned());
    }
    if files.exists(".dockerenv") && !is_unpacked_image(files, &mount) {
        return Some("docker".to_owned());
    }
    if files.exists("run/.containerenv") {
        return Some("podman".to_owned());
    }
    let environment = files.text_of_process("proc/1/environ").unwrap_or_default();
    let named =
        environment.split('\0').find_map(|word| word.strip_prefix("container=")).map(str::to_owned);
    let named = named
        .or_else(|| files.text("run/host/container-manager"))
        .or_else(|| files.text("run/systemd/container"));
    if let Some(kind) = named.filter(|kind| !kind.is_empty()) {
        return Some(kind);
    }
    if files.exists("proc/vz") && !files.exists("proc/bc") {
        return Some("openvz".to_owned());
    }
    traced.map(str::to_owned)
}

/// Whether this is a machine that boots what was made as the image of a container: kernel threads
/// run, and the root folder is on a disk.
pub(crate) fn is_unpacked_image(files: &Files<'_>, mount: &str) -> bool {
    const OF_IMAGES: [&str; 5] = ["overlay", "fuse-overlayfs", "aufs", "btrfs", "zfs"];
    let kind = mount
        .lines()
        .filter(|line| is_root(line))
        .find_map(|line| line.split_once(" - ")?.1.split(' ').next());
    files.text("proc/2/comm").as_deref() == Some("kthreadd")
        && kind.is_some_and(|kind| !OF_IMAGES.contains(&kind))
}

/// Whether a line of mountinfo is that of the root folder.
pub(crate) fn is_root(line: &str) -> bool {
    line.split(' ').nth(4) == Some("/")
}

/// Parts of a process's control group, or of where its root file system lies, and whose they are.
pub(crate) const TRACES: [(&str, &str); 8] = [
    ("kubepods", "kubernetes"),
    ("libpod", "podman"),
    ("/containers/storage/", "podman"),
    ("/docker", "docker"),
    ("/lxc", "lxc"),
    ("/containerd", "containerd"),
    ("cri-containerd", "containerd"),
    ("crio-", "cri-o"),
];
