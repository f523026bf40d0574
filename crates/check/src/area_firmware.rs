// SPDX-License-Identifier: MIT OR Apache-2.0
//! Interrupts that firmware handles by itself, behind the kernel's back.

use super::area_virtual::hypervisor;
use super::finding::{Check, Seen, check};
use super::machine::{Machine, Purpose};
use std::path::Path;

pub(crate) const CHECKS: &[Check] = &[
    check("system-management-interrupts", &[], interrupts),
    check("firmware-timers", &[], timers),
];

/// Timers of systemd whose service asks firmware of many devices.
const TIMERS: [&str; 1] = ["fwupd-refresh.timer"];
/// Where a timer that is enabled has its link, and where one that is masked has another.
const ENABLED: [&str; 2] =
    ["etc/systemd/system/timers.target.wants", "usr/lib/systemd/system/timers.target.wants"];
const MASKED: &str = "etc/systemd/system";

/// On CPUs for packets nothing else takes all CPUs at once.
fn timers(machine: &Machine<'_>) -> Option<Seen> {
    if machine.options.purpose != Purpose::Telco {
        return None;
    }
    let is_enabled = |timer: &&str| {
        let has_link = |folder: &str| machine.names(folder).iter().any(|name| name == timer);
        let mask = machine.root().path(&format!("{MASKED}/{timer}"));
        let is_masked = std::fs::read_link(mask).is_ok_and(|to| to == Path::new("/dev/null"));
        !is_masked && ENABLED.into_iter().any(has_link)
    };
    let enabled: Vec<&str> = TIMERS.into_iter().filter(is_enabled).collect();
    if enabled.is_empty() {
        return None;
    }
    let timers = enabled.join(" ");
    Seen::warn(format!("{timers} enabled"), format!("sudo systemctl disable --now {timers}"))
}

/// The maker of an x86 processor.
fn maker(machine: &Machine<'_>) -> Option<String> {
    let info = machine.text("proc/cpuinfo")?;
    let line = info.lines().find_map(|line| line.strip_prefix("vendor_id"))?;
    Some(line.trim_start_matches([' ', '\t', ':']).trim().to_owned())
}

const MEASURE: &str = "sudo teiji measure --probe hwlat -d 60s";

/// How to find gaps that firmware makes, on this kernel.
fn measure(machine: &Machine<'_>) -> String {
    match machine.config() {
        Ok(config) if !config.has("HWLAT_TRACER") => {
            format!("boot a kernel with CONFIG_HWLAT_TRACER=y, and {MEASURE}")
        }
        _ => MEASURE.to_owned(),
    }
}

/// No plain file counts them: processors of Intel do, in a register that takes a module to read.
fn interrupts(machine: &Machine<'_>) -> Option<Seen> {
    let maker = maker(machine)?;
    // Those of the hardware stop a virtual machine too, and nothing in it tells.
    if hypervisor(machine).is_some() {
        return None;
    }
    if maker != "GenuineIntel" {
        return Seen::unknown_until("nothing counts them on this processor", measure(machine));
    }
    let count = format!(
        "sudo modprobe msr && sudo rdmsr -a 0x34, twice: it counts up. Or {}",
        measure(machine)
    );
    if !machine.exists("proc/xenomai/version") {
        return Seen::unknown_until("the processor counts them, in no file", count);
    }
    match machine.text("sys/module/xenomai/parameters/smi").as_deref() {
        Some("enabled" | "1") => Seen::unknown_until(
            "xenomai.smi=enabled: Cobalt switches them off on chipsets that it knows",
            "sudo dmesg | grep 'SMI-enabled chipset', and watch the temperature: some boards cool \
             themselves by them",
        ),
        Some("detect" | "0") => Seen::unknown_until(
            "xenomai.smi=detect: Cobalt looks for chipsets that it knows, and leaves them on",
            format!(
                "{count}. Where they cost latency and the board cools without them, boot with \
                 xenomai.smi=enabled"
            ),
        ),
        _ => Seen::unknown_until(
            "the processor counts them, in no file, and Cobalt leaves them on",
            count,
        ),
    }
}

#[cfg(test)]
mod tests {
    use crate::Status;
    use crate::one_finding::{OneFinding, finding};
    use crate::tests::files::lay;

    fn seen(info: &str, files: &[(&str, &str)]) -> Option<OneFinding> {
        let (_dir, root) = lay(&[files, &[("proc/cpuinfo", info)]].concat());
        finding(&root, "system-management-interrupts", None)
    }

    const INTEL: &str = "processor\t: 0\nvendor_id\t: GenuineIntel\nflags\t\t: fpu tsc\n";
    const AMD: &str = "processor\t: 0\nvendor_id\t: AuthenticAMD\nflags\t\t: fpu tsc\n";

    #[test]
    fn how_to_count_them_is_by_processor_and_kernel() {
        let intel = seen(INTEL, &[]).unwrap();
        assert_eq!(intel.status, Status::Unknown);
        assert!(intel.action.starts_with("sudo modprobe msr && sudo rdmsr -a 0x34"), "{intel:?}");
        assert_eq!(seen(AMD, &[]).unwrap().action, "sudo teiji measure --probe hwlat -d 60s");
        let without = seen(AMD, &[("proc/config.gz", "CONFIG_HZ=250\n")]).unwrap();
        assert!(
            without.action.starts_with("boot a kernel with CONFIG_HWLAT_TRACER=y"),
            "{without:?}"
        );
    }

    #[test]
    fn nothing_is_said_where_there_are_none_or_none_can_be_seen() {
        assert!(seen("processor : 0\nFeatures : fp\n", &[]).is_none());
        assert!(seen(INTEL, &[("sys/hypervisor/type", "xen\n")]).is_none());
        assert!(seen(&INTEL.replace("tsc", "hypervisor"), &[]).is_none());
    }

    #[test]
    fn what_cobalt_does_about_them_is_its_parameter() {
        let with = |smi| {
            seen(
                INTEL,
                &[("proc/xenomai/version", "3.3.1\n"), ("sys/module/xenomai/parameters/smi", smi)],
            )
            .unwrap()
        };
        assert!(
            with("detect\n").action.ends_with("boot with xenomai.smi=enabled"),
            "{:?}",
            with("detect\n")
        );
        assert!(with("enabled\n").action.contains("watch the temperature"));
        assert!(with("disabled\n").found.ends_with("Cobalt leaves them on"));
    }
}
