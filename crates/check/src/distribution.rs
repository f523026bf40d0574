// SPDX-License-Identifier: MIT OR Apache-2.0
//! How to get a real-time kernel on this machine: by its distribution, its version and its board.
//!
//! Only packages that the distribution's own archive has are named. Everywhere else the kernel is
//! to be built.

use super::board::board;
use super::container::container_kind;
use super::machine::Machine;
use model::{Phrase, phrase};

/// What os-release(5) says.
struct Distribution {
    id: String,
    /// Major and minor number.
    version: (u32, u32),
}

impl Distribution {
    fn of(machine: &Machine<'_>) -> Option<Distribution> {
        let Some(text) =
            machine.text("etc/os-release").or_else(|| machine.text("usr/lib/os-release"))
        else {
            // Its builder is in the kernel's version.
            let is_debian =
                machine.text("proc/version")?.contains("debian-kernel@lists.debian.org");
            return is_debian.then(|| Distribution { id: "debian".to_owned(), version: (0, 0) });
        };
        let value = |name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='))?;
            Some(line.trim().trim_matches(['"', '\'']).to_owned())
        };
        let version = value("VERSION_ID").unwrap_or_default();
        let mut numbers = version.split('.').map(|number| number.parse().unwrap_or(0));
        Some(Distribution {
            id: value("ID")?,
            version: (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)),
        })
    }
}

/// Endings of what Debian calls its kernels, and of their real-time ones.
const DEBIAN_KERNELS: [(&str, &str); 4] =
    [("amd64", "amd64"), ("arm64", "arm64"), ("armmp", "armmp"), ("armmp-lpae", "armmp")];

/// The command for one, where the distribution has it.
fn package(machine: &Machine<'_>, distribution: &Distribution, is_pi: bool) -> Option<Phrase> {
    let release = machine.text("proc/sys/kernel/osrelease").unwrap_or_default();
    let (major, is_x86) = (distribution.version.0, release.ends_with("x86_64"));
    Some(match (distribution.id.as_str(), distribution.version) {
        ("debian", _) => {
            let (_, kind) = DEBIAN_KERNELS
                .into_iter()
                .find(|(ending, _)| release.ends_with(&format!("-{ending}")))?;
            format!("sudo apt install linux-image-rt-{kind}").into()
        }
        ("ubuntu", (26.., _)) if is_pi => "sudo apt install linux-raspi-realtime".into(),
        ("ubuntu", (24, 4)) if is_pi => {
            let command = "sudo pro enable realtime-kernel --variant=raspi";
            phrase!("with-ubuntu-pro", command)
        }
        ("ubuntu", (26.., _) | (25, 10)) if !is_pi => "sudo apt install ubuntu-realtime".into(),
        ("ubuntu", (22 | 24, 4)) if !is_pi => {
            phrase!("with-ubuntu-pro", command = "sudo pro enable realtime-kernel")
        }
        ("arch", _) => "sudo pacman -S linux-rt".into(),
        ("rhel", _) if is_x86 => {
            let command = format!(
                "sudo subscription-manager repos --enable rhel-{major}-for-x86_64-rt-rpms && sudo \
                 dnf install kernel-rt"
            );
            phrase!("with-rhel", command)
        }
        ("centos" | "rocky" | "almalinux", _) if is_x86 && major >= 9 => {
            "sudo dnf --enablerepo=rt install kernel-rt".into()
        }
        ("sles" | "opensuse-leap", _) => "sudo zypper install kernel-rt".into(),
        _ => return None,
    })
}

/// What to do for a kernel with `PREEMPT_RT`.
pub(crate) fn real_time_kernel(machine: &Machine<'_>) -> Phrase {
    if container_kind(machine).is_some() {
        return phrase!("boot-around-container");
    }
    let board = board(machine).unwrap_or_default();
    let is_pi = board.starts_with("Raspberry Pi");
    let package =
        Distribution::of(machine).and_then(|distribution| package(machine, &distribution, is_pi));
    match package {
        Some(command) => phrase!("boot-real-time", command),
        None if is_pi => phrase!("build-for-raspberry-pi"),
        None => phrase!("build-real-time"),
    }
}

#[cfg(test)]
mod tests {
    use crate::one_finding::finding;
    use crate::tests::files::lay;

    fn action(os: &str, release: &str, board: Option<&str>) -> String {
        let (version, release) = (format!("Linux version {release} (x) #1 SMP PREEMPT x"), release);
        let mut files = vec![
            ("etc/os-release", os),
            ("proc/version", version.as_str()),
            ("proc/sys/kernel/osrelease", release),
        ];
        files.extend(board.map(|board| ("proc/device-tree/model", board)));
        let (_dir, root) = lay(&files);
        finding(&root, "preemption", None).unwrap().action
    }

    #[test]
    fn the_package_is_the_distributions() {
        for (os, release, expected) in [
            (
                "ID=debian\nVERSION_ID=\"12\"\n",
                "6.1.0-18-amd64",
                "sudo apt install linux-image-rt-amd64",
            ),
            (
                "ID=debian\nVERSION_ID=\"12\"\n",
                "6.1.0-18-cloud-arm64",
                "sudo apt install linux-image-rt-arm64",
            ),
            (
                "VERSION_ID=\"24.04\"\nID=ubuntu\n",
                "6.8.0-31-generic",
                "with Ubuntu Pro, sudo pro enable realtime-kernel",
            ),
            (
                "ID=ubuntu\nVERSION_ID=\"26.04\"\n",
                "7.0.0-14-generic",
                "sudo apt install ubuntu-realtime",
            ),
            ("ID=arch\n", "6.12.1-arch1-1", "sudo pacman -S linux-rt"),
            (
                "ID=\"rocky\"\nVERSION_ID=\"9.4\"\n",
                "5.14.0-427.el9.x86_64",
                "sudo dnf --enablerepo=rt install kernel-rt",
            ),
        ] {
            assert_eq!(
                action(os, release, None),
                format!("boot a kernel with PREEMPT_RT: {expected}")
            );
        }
        let (_dir, root) = lay(&[
            (
                "proc/version",
                "Linux version 6.1.0-9-amd64 (debian-kernel@lists.debian.org) #1 SMP Debian \
                 6.1.27-1",
            ),
            ("proc/sys/kernel/osrelease", "6.1.0-9-amd64"),
        ]);
        let finding = finding(&root, "preemption", None).unwrap();
        assert!(finding.action.ends_with("sudo apt install linux-image-rt-amd64"), "{finding:?}");
        for os in ["ID=fedora\nVERSION_ID=41\n", "ID=buildroot\n", "", "ID=debian\n"] {
            assert!(
                action(os, "6.11.4-301.fc41", None)
                    .starts_with("build and boot a kernel with CONFIG_PREEMPT_RT=y"),
                "{os}"
            );
        }
    }

    /// A Raspberry Pi was told to install a kernel for PCs.
    #[test]
    fn a_raspberry_pi_boots_a_kernel_of_its_own() {
        let pi = Some("Raspberry Pi 4 Model B Rev 1.4\0");
        let found = action("ID=debian\nVERSION_ID=\"12\"\n", "6.6.31+rpt-rpi-v8", pi);
        assert!(
            found.contains("github.com/raspberrypi/linux") && !found.contains("amd64"),
            "{found}"
        );
        let found = action("ID=ubuntu\nVERSION_ID=\"24.04\"\n", "6.8.0-1004-raspi", pi);
        assert!(
            found.ends_with("with Ubuntu Pro, sudo pro enable realtime-kernel --variant=raspi"),
            "{found}"
        );
        // Debian's own kernel for arm64 runs there too.
        let found = action("ID=debian\nVERSION_ID=\"12\"\n", "6.1.0-18-arm64", pi);
        assert!(found.ends_with("linux-image-rt-arm64"), "{found}");
    }
}
