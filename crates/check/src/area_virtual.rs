// SPDX-License-Identifier: MIT OR Apache-2.0
//! A hypervisor below the kernel: which, and what it takes away.
//!
//! No single file names it everywhere. What only a hypervisor offers comes first (its sysfs folder,
//! its node in the device tree), then what its firmware calls the machine, then clocks of its own,
//! and at last the processor's flag, which names none.

use super::board::board;
use super::finding::{ALL, Check, Seen, check};
use super::machine::Machine;
use super::spelling::AVAILABLE_CLOCKS;
use host::kernel::one_line;

pub(crate) const CHECKS: &[Check] =
    &[check("virtual-machine", &[], virtual_machine), check("steal-time", ALL, steal)];

/// How words begin by which firmware names virtual machines only, and whose they are.
const VIRTUAL_PRODUCTS: [(&str, &str); 12] = [
    (" QEMU ", "QEMU"),
    (" KVM ", "KVM"),
    (" Bochs", "Bochs"),
    (" VMware", "VMware"),
    (" VirtualBox", "VirtualBox"),
    (" innotek GmbH", "VirtualBox"),
    (" Virtual Machine ", "Hyper-V"),
    (" Xen ", "Xen"),
    (" Parallels", "Parallels"),
    (" BHYVE", "bhyve"),
    (" OpenStack", "OpenStack"),
    (" Apple Virtualization", "Apple's hypervisor"),
];

/// Clouds whose firmware names them in their bare machines too.
const CLOUDS: [&str; 5] =
    ["Amazon EC2", "Google Compute Engine", "Alibaba Cloud", "DigitalOcean", "Hetzner"];

/// Clocks that a hypervisor offers to its guests.
const VIRTUAL_CLOCKS: [(&str, &str); 3] =
    [("kvm-clock", "KVM"), ("xen", "Xen"), ("hyperv_clocksource", "Hyper-V")];

/// Whether the processor says that a hypervisor is there; none where it could not say so, as on
/// arm64.
pub(crate) fn hypervisor_flag(machine: &Machine<'_>) -> Option<bool> {
    let info = machine.text("proc/cpuinfo")?;
    let flags = info.lines().find(|line| line.starts_with("flags"))?;
    Some(flags.split_whitespace().any(|flag| flag == "hypervisor"))
}

/// What firmware calls the machine, by its files.
fn product(machine: &Machine<'_>) -> String {
    let files = ["sys_vendor", "product_name", "bios_vendor"];
    let texts =
        files.into_iter().filter_map(|file| machine.text(&format!("sys/class/dmi/id/{file}")));
    let mut words: Vec<String> = texts.filter(|text| !text.is_empty()).collect();
    words.dedup();
    words.join(" ")
}

/// What a device tree says of a hypervisor.
fn in_device_tree(machine: &Machine<'_>) -> Option<String> {
    let compatible = machine
        .text("proc/device-tree/hypervisor/compatible")
        .and_then(|text| one_line(&text))
        .unwrap_or_default();
    for (word, kind) in [("kvm", "KVM"), ("xen", "Xen"), ("vmware", "VMware")] {
        if compatible.contains(word) {
            return Some(kind.to_owned());
        }
    }
    let model = board(machine).unwrap_or_default();
    let is_virtual = model == "linux,dummy-virt" || model.starts_with("riscv-virtio");
    if is_virtual {
        return Some(model);
    }
    machine.exists("proc/device-tree/ibm,partition-name").then(|| "PowerVM".to_owned())
}

/// The hypervisor that this machine runs on, by what shows it.
pub(crate) fn hypervisor(machine: &Machine<'_>) -> Option<String> {
    let flag = hypervisor_flag(machine);
    if let Some(kind) = machine.text("sys/hypervisor/type").filter(|kind| !kind.is_empty()) {
        let is_control =
            machine.text("proc/xen/capabilities").is_some_and(|text| text.contains("control_d"));
        return Some(if is_control { format!("{kind}, in its control domain") } else { kind });
    }
    if let Some(kind) = in_device_tree(machine) {
        return Some(kind);
    }
    if machine
        .text("proc/sys/kernel/osrelease")
        .is_some_and(|release| release.contains("microsoft"))
    {
        return Some("Hyper-V, by WSL".to_owned());
    }
    let product = product(machine);
    if let Some((_, kind)) =
        VIRTUAL_PRODUCTS.into_iter().find(|(word, _)| format!(" {product} ").contains(word))
    {
        return Some(kind.to_owned());
    }
    let is_bare = product.contains("metal");
    if let Some(cloud) = CLOUDS.into_iter().find(|cloud| product.contains(cloud))
        && !is_bare
        && flag != Some(false)
    {
        return Some(cloud.to_owned());
    }
    let clocks = machine.text(AVAILABLE_CLOCKS).unwrap_or_default();
    let offered = |name: &str| clocks.split_whitespace().any(|clock| clock.starts_with(name));
    if let Some((_, kind)) = VIRTUAL_CLOCKS.into_iter().find(|(name, _)| offered(name)) {
        let tables = if product.is_empty() {
            ", without firmware tables, as Firecracker's guests"
        } else {
            ""
        };
        return Some(format!("{kind}{tables}"));
    }
    (flag == Some(true))
        .then(|| if product.is_empty() { "of an unknown kind".to_owned() } else { product })
}

fn virtual_machine(machine: &Machine<'_>) -> Option<Seen> {
    let kind = hypervisor(machine)?;
    Seen::warn(
        format!("yes ({kind})"),
        "measure on the machine itself, or give each virtual CPU a CPU of its own",
    )
}

/// Steal time of more than this share of what was not idle, in thousandths, is bad.
const MUCH_STEAL: u64 = 10;
/// As few ticks as this since boot are the rounding of accounts. A tick of /proc/stat is 10 ms.
const FEW_TICKS: u64 = 5;

fn steal(machine: &Machine<'_>) -> Option<Seen> {
    let text = machine.text("proc/stat")?;
    let line = text.lines().find(|line| line.starts_with("cpu "))?;
    let times: Vec<u64> =
        line.split_whitespace().skip(1).filter_map(|word| word.parse().ok()).collect();
    let (steal, all) =
        (*times.get(7)?, times.iter().take(8).fold(0, |all: u64, time| all.saturating_add(*time)));
    let idle = times.get(3)?.saturating_add(*times.get(4)?);
    let busy = all.saturating_sub(idle);
    if steal == 0 {
        return None;
    }
    if steal <= FEW_TICKS {
        return Seen::ok(format!("{} ms since boot", 10 * steal));
    }
    let found = format!(
        "{:.1} % of the time in which there was work, since boot",
        100.0 * ratio(steal, busy)
    );
    let action = "have the host give this machine CPUs of its own";
    if steal.saturating_mul(1_000) > busy.saturating_mul(MUCH_STEAL) {
        Seen::bad(found.into(), action)
    } else {
        Seen::warn(found, action)
    }
}

#[expect(clippy::cast_precision_loss, reason = "it is shown with one digit")]
fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

#[cfg(test)]
mod tests {
    use crate::Status;
    use crate::one_finding::finding;
    use crate::tests::files::lay;

    fn kind(files: &[(&str, &str)]) -> Option<String> {
        let (_dir, root) = lay(files);
        finding(&root, "virtual-machine", None).map(|finding| finding.found)
    }

    const CLOCKS: &str = super::AVAILABLE_CLOCKS;
    const VENDOR: &str = "sys/class/dmi/id/sys_vendor";
    const PRODUCT: &str = "sys/class/dmi/id/product_name";
    const GUEST: (&str, &str) = ("proc/cpuinfo", "processor : 0\nflags : fpu hypervisor\n");
    const BARE: (&str, &str) = ("proc/cpuinfo", "processor : 0\nflags : fpu tsc\n");
    const ARM: (&str, &str) = ("proc/cpuinfo", "processor : 0\nFeatures : fp asimd\n");

    #[test]
    fn hypervisors_are_named() {
        for (expected, files) in [
            ("yes (Amazon EC2)", &[ARM, (VENDOR, "Amazon EC2"), (PRODUCT, "c7g.large")][..]),
            ("yes (Amazon EC2)", &[GUEST, (VENDOR, "Amazon EC2"), (PRODUCT, "m5.large")]),
            ("yes (xen)", &[BARE, ("sys/hypervisor/type", "xen\n")]),
            (
                "yes (KVM, without firmware tables, as Firecracker's guests)",
                &[GUEST, (CLOCKS, "tsc kvm-clock \n")],
            ),
            (
                "yes (Hyper-V)",
                &[GUEST, (VENDOR, "Microsoft Corporation"), (PRODUCT, "Virtual Machine")],
            ),
            ("yes (QEMU)", &[ARM, (VENDOR, "QEMU"), (PRODUCT, "KVM Virtual Machine")]),
            ("yes (linux,dummy-virt)", &[ARM, ("proc/device-tree/model", "linux,dummy-virt\0")]),
            ("yes (KVM)", &[ARM, ("proc/device-tree/hypervisor/compatible", "linux,kvm\0")]),
            ("yes (of an unknown kind)", &[GUEST]),
            ("yes (A Maker A Server)", &[GUEST, (VENDOR, "A Maker"), (PRODUCT, "A Server")]),
        ] {
            assert_eq!(kind(files).as_deref(), Some(expected), "{files:?}");
        }
    }

    #[test]
    fn machines_themselves_are_none() {
        for files in [
            &[BARE][..],
            &[BARE, (VENDOR, "Microsoft Corporation"), (PRODUCT, "Surface Pro 9")],
            &[BARE, (VENDOR, "Amazon EC2"), (PRODUCT, "c5.metal")],
            &[ARM, (VENDOR, "Amazon EC2"), (PRODUCT, "c7g.metal")],
            &[BARE, (VENDOR, "Google"), (PRODUCT, "Google Compute Engine")],
            &[BARE, (VENDOR, "Xenon"), (PRODUCT, "KVMs")],
            &[
                ARM,
                ("proc/device-tree/model", "Raspberry Pi 4 Model B Rev 1.4\0"),
                (CLOCKS, "arch_sys_counter \n"),
            ],
        ] {
            assert_eq!(kind(files), None, "{files:?}");
        }
    }

    #[test]
    fn one_stolen_tick_is_rounding() {
        let steal = |ticks: u64| {
            let (_dir, root) =
                lay(&[("proc/stat", format!("cpu  50 0 49 900000 0 0 0 {ticks} 0 0\n").as_str())]);
            finding(&root, "steal-time", None).map(|finding| finding.status)
        };
        assert_eq!([steal(0), steal(1), steal(6)], [None, Some(Status::Ok), Some(Status::Bad)]);
    }
}
