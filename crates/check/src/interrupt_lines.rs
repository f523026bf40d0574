// SPDX-License-Identifier: MIT OR Apache-2.0
//! Interrupts of devices: where each may come, where it comes, and who decides that.

use super::machine::Machine;
use plan::CpuId;

/// An interrupt with a number, which belongs to no CPU.
pub struct DeviceInterrupt {
    pub number: String,
    /// What it is for, as its drivers call it.
    pub device: String,
    /// Whether the kernel places it, one for each queue of a device, and refuses to have it moved.
    pub(crate) is_managed: bool,
    /// Where it may come, where that is known.
    pub(crate) allowed: Option<Vec<CpuId>>,
    /// Where it comes now, where that is known.
    pub(crate) effective: Option<Vec<CpuId>>,
    /// How often it came since boot, by CPU.
    counts: Vec<(CpuId, u64)>,
}

impl DeviceInterrupt {
    /// Which of these CPUs it may come to. It goes where it is allowed to with the next one,
    /// wherever it came before.
    pub(crate) fn may_come(&self, cpus: &[CpuId]) -> Vec<CpuId> {
        let places = self.allowed.as_ref().or(self.effective.as_ref());
        cpus.iter()
            .copied()
            .filter(|cpu| places.is_some_and(|places| places.contains(cpu)))
            .collect()
    }

    /// Which of these CPUs it comes to: where the kernel directs it or, where that is not said,
    /// where it came.
    pub(crate) fn comes(&self, cpus: &[CpuId]) -> Vec<CpuId> {
        let mut found = self.may_come(cpus);
        match &self.effective {
            Some(effective) => found.retain(|cpu| effective.contains(cpu)),
            None => found.retain(|cpu| self.count(&[*cpu]) > 0),
        }
        found
    }

    /// How often it came to these CPUs since boot.
    pub(crate) fn count(&self, cpus: &[CpuId]) -> u64 {
        self.counts.iter().filter(|(cpu, _)| cpus.contains(cpu)).map(|(_, count)| count).sum()
    }
}

/// Interrupts of the timers and counters of all CPUs, which belong there.
const OF_ALL_CPUS: [&str; 9] = [
    "timer",
    "arch_timer",
    "riscv-timer",
    "hpet",
    "arm-pmu",
    "pmu",
    "arm_pmu",
    "kvm guest vtimer",
    "kvm guest ptimer",
];
/// Chips whose interrupts each CPU has for itself.
const CHIPS_OF_ALL_CPUS: [&str; 6] =
    ["bcm2836-timer", "bcm2836-pmu", "RISC-V", "xen-percpu", "SIRQC", "SIPIC"];
/// A GIC has so many of its first interrupts for each CPU.
const OF_EACH_CPU_IN_A_GIC: u32 = 32;

/// What a row of /proc/interrupts says behind its counts: the chip, the interrupt's number there,
/// and what it is for.
struct Description<'a> {
    chip: &'a str,
    number: Option<u32>,
    device: String,
}

fn described(text: &str) -> Description<'_> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let is_trigger = |word: &str| {
        let begins = word.starts_with(|first: char| first.is_ascii_digit() || first == '-');
        let flow =
            word.trim_start_matches(|letter: char| letter.is_ascii_digit()).strip_prefix('-');
        matches!(word, "Edge" | "Level" | "None" | "oob")
            || begins && flow.is_some_and(|flow| !flow.is_empty())
    };
    let trigger = words.iter().position(|word| is_trigger(word));
    let device = match trigger {
        Some(place) if place + 1 < words.len() => words[place + 1..].join(" "),
        _ => words.last().copied().unwrap_or_default().to_owned(),
    };
    let before = &words[..trigger.unwrap_or(0).min(words.len())];
    Description {
        chip: words.first().copied().unwrap_or_default(),
        number: before.last().and_then(|word| word.parse().ok()),
        device,
    }
}

impl Description<'_> {
    /// Whether each CPU has one of its own, which cannot be moved.
    fn is_of_all_cpus(&self) -> bool {
        let is_private = self.chip.starts_with("GIC")
            && self.number.is_some_and(|number| number < OF_EACH_CPU_IN_A_GIC);
        is_private
            || OF_ALL_CPUS.contains(&self.device.as_str())
            || CHIPS_OF_ALL_CPUS.iter().any(|chip| self.chip.starts_with(chip))
            || self.chip.to_ascii_lowercase().starts_with("hpet")
    }
}

/// Devices whose queues the kernel spreads over the CPUs, by the names of their interrupts. The
/// first queue of NVMe is not among them.
fn has_name_of_queue(device: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let nvme = device.strip_prefix("nvme").and_then(|rest| rest.split_once('q'));
    let virtio = device.strip_prefix("virtio").and_then(|rest| rest.split_once('-'));
    nvme.is_some_and(|(number, queue)| digits(number) && digits(queue) && queue != "0")
        || virtio.is_some_and(|(number, queue)| {
            let is_request = queue == "request"
                || ["req.", "requests."]
                    .iter()
                    .any(|name| queue.strip_prefix(name).is_some_and(digits));
            digits(number) && is_request
        })
}

/// Interrupts of devices, by their numbers.
pub(crate) fn device_interrupts(machine: &Machine<'_>) -> Vec<DeviceInterrupt> {
    let text = machine.text("proc/interrupts").unwrap_or_default();
    let rows = host::interrupts::parse(&text, &machine.online, &mut Vec::new());
    let interrupt = |row: model::EventCounts| {
        row.name.parse::<u32>().ok()?;
        let described = described(&row.description);
        if described.is_of_all_cpus() {
            return None;
        }
        let list = |name: &str| {
            machine.cpus(&format!("proc/irq/{}/{name}", row.name)).filter(|cpus| !cpus.is_empty())
        };
        let counts = if row.counts.len() == machine.online.len() { row.counts } else { Vec::new() };
        Some(DeviceInterrupt {
            is_managed: is_managed(machine, &row.name, &described.device),
            allowed: list("smp_affinity_list"),
            effective: list("effective_affinity_list"),
            counts: machine.online.iter().copied().zip(counts).collect(),
            device: described.device,
            number: row.name,
        })
    };
    rows.into_iter().filter_map(interrupt).collect()
}

/// As the kernel says it, where it was built to (GENERIC_IRQ_DEBUGFS), or by its name.
fn is_managed(machine: &Machine<'_>, number: &str, device: &str) -> bool {
    let file = format!("sys/kernel/debug/irq/irqs/{number}");
    let said = machine.exists(&file).then(|| machine.text(&file)).flatten();
    said.map_or_else(|| has_name_of_queue(device), |text| text.contains("IRQD_AFFINITY_MANAGED"))
}

/// Those that can be moved.
pub fn movable_interrupts(machine: &Machine<'_>) -> Vec<DeviceInterrupt> {
    let mut interrupts = device_interrupts(machine);
    interrupts.retain(|interrupt| !interrupt.is_managed);
    interrupts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_many_machines() {
        for (text, device, is_of_all_cpus) in [
            ("IO-APIC 5-edge ACPI:Ged", "ACPI:Ged", false),
            ("IO-APIC 3 -edge ttyS1", "ttyS1", false),
            (
                "IO-APIC 16-fasteoi ehci_hcd:usb1, snd_hda_intel:card1",
                "ehci_hcd:usb1, snd_hda_intel:card1",
                false,
            ),
            ("PCI-MSIX-0000:00:02.0 1-edge virtio1-req.0", "virtio1-req.0", false),
            ("XT-PIC cascade", "cascade", false),
            ("IO-APIC 2-edge timer", "timer", true),
            ("HPET_MSI 2-edge hpet2", "hpet2", true),
            ("ARMCTRL-level 48 Edge bcm2708_fb DMA", "bcm2708_fb DMA", false),
            ("bcm2836-timer 1 Edge arch_timer", "arch_timer", true),
            ("GICv2 189 Level eth0", "eth0", false),
            ("GICv3 25 Level vgic", "vgic", true),
            ("GICv3 27 Level kvm guest vtimer", "kvm guest vtimer", true),
            ("RISC-V INTC 5 Edge riscv-timer", "riscv-timer", true),
            ("xen-percpu -virq timer0", "timer0", true),
            ("xen-dyn -event eth0-q0-tx", "eth0-q0-tx", false),
            ("SIRQC 27 proxy tick", "tick", true),
        ] {
            let described = described(text);
            assert_eq!(
                (described.device.as_str(), described.is_of_all_cpus()),
                (device, is_of_all_cpus),
                "{text}"
            );
        }
    }

    #[test]
    fn names_of_queues() {
        for (device, is_queue) in [
            ("nvme0q3", true),
            ("nvme0q0", false),
            ("virtio1-req.0", true),
            ("virtio2-request", true),
            ("virtio4-requests.1", true),
            ("virtio0-input.0", false),
            ("virtio0-config", false),
            ("eth0", false),
        ] {
            assert_eq!(has_name_of_queue(device), is_queue, "{device}");
        }
    }
}
