// SPDX-License-Identifier: MIT OR Apache-2.0
//! Interrupts on CPUs that are to be on time, on small machines.

use super::*;
use crate::CheckOptions;
use crate::tests::threads::{Made, file, four_cpus, make};
use crate::tests::trees::{Shown, shown};
use host::HostRoot;

/// Of an interrupt: its row, where it may come, and where it comes.
struct Line<'a>(&'a str, &'a str, &'a str);

fn machine(isolated: &str, interrupts: &[Line<'_>]) -> tempfile::TempDir {
    let dir = four_cpus(isolated);
    let rows: Vec<&str> = interrupts.iter().map(|Line(row, ..)| *row).collect();
    file(dir.path(), "proc/interrupts", &format!("  CPU0 CPU1 CPU2 CPU3\n{}\n", rows.join("\n")));
    for Line(row, allowed, effective) in interrupts {
        let number = row.split(':').next().unwrap().trim();
        file(dir.path(), &format!("proc/irq/{number}/smp_affinity_list"), allowed);
        if !effective.is_empty() {
            file(dir.path(), &format!("proc/irq/{number}/effective_affinity_list"), effective);
        }
    }
    file(dir.path(), "proc/sys/kernel/osrelease", "6.1.0");
    dir
}

fn finding(dir: &tempfile::TempDir, cpus: &[u32], id: &str) -> Option<Shown> {
    let cpus = Some(cpus.iter().copied().map(CpuId).collect());
    let options = CheckOptions { purpose: Purpose::Robotics, cpus, ..CheckOptions::default() };
    shown(&HostRoot::at(dir.path()), &options, id)
}

fn seen(dir: &tempfile::TempDir) -> (Status, String, String) {
    let Shown { status, found, action, .. } =
        finding(dir, &[2, 3], "interrupts-on-measured-cpus").unwrap();
    (status, found, action.unwrap_or_default())
}

#[test]
fn what_comes_is_told_from_what_may_come() {
    let eth0 = "5: 1 2 30 4 IO-APIC 5-edge eth0";
    let dir = machine("", &[Line(eth0, "0-3", "0")]);
    let expected = (
        Status::Warn,
        "5 (eth0) may come to CPUs 2-3",
        "echo 0-1 | sudo tee /proc/irq/5/smp_affinity_list",
    );
    assert_eq!(seen(&dir), (expected.0, expected.1.to_owned(), expected.2.to_owned()));
    let dir =
        machine("", &[Line("4: 0 0 0 0 IO-APIC 4-edge ttyS0", "3", "0"), Line(eth0, "0-3", "2")]);
    let (status, found, action) = seen(&dir);
    assert_eq!(
        (status, found.as_str()),
        (Status::Bad, "5 (eth0) comes to CPU 2 (30 since boot), 4 (ttyS0) may come to CPU 3")
    );
    assert_eq!(action, "for i in 5 4; do echo 0-1 | sudo tee /proc/irq/$i/smp_affinity_list; done");
    // Where the kernel does not say where it comes, the counts do.
    assert_eq!(
        seen(&machine("", &[Line(eth0, "0-3", "")])).1,
        "5 (eth0) comes to CPUs 2-3 (34 since boot)"
    );
    let dir = machine("", &[Line("5: 9 0 0 0 GICv2 99 Level eth0", "0-3", "")]);
    assert_eq!(seen(&dir).0, Status::Warn);
    // It came there once, and may no longer.
    assert_eq!(seen(&machine("", &[Line(eth0, "0-1", "0")])).0, Status::Ok);
}

#[test]
fn interrupts_of_each_cpu_are_where_they_belong() {
    let rows = [
        "7: 9 9 9 9 GICv3 27 Level arch_timer",
        "8: 9 9 9 9 GICv3 25 Level vgic",
        "9: 9 9 9 9 GICv3 23 Level arm-pmu",
    ];
    let dir = machine("", &rows.map(|row| Line(row, "0-3", "0-3")));
    assert_eq!(seen(&dir), (Status::Ok, "none may come to CPUs 2-3".to_owned(), String::new()));
}

/// The kernel refuses to have them moved. Of one that belongs to measured CPUs alone they are the
/// ones that use it.
#[test]
fn nothing_is_written_to_interrupts_of_queues() {
    let queue = "6: 0 0 70 0 PCI-MSIX-0000:00:02.0 1-edge nvme0q3";
    let dir = machine("", &[Line(queue, "0-3", "2")]);
    let (status, found, action) = seen(&dir);
    assert_eq!(
        (status, found.as_str()),
        (Status::Warn, "6 (nvme0q3) comes to CPU 2 (70 since boot, where the kernel placed it)")
    );
    assert_eq!(
        action,
        "boot with isolcpus=managed_irq,domain,2-3 for those that the kernel places"
    );
    // Older kernels ignore the whole argument.
    file(dir.path(), "proc/sys/kernel/osrelease", "5.4.0");
    assert_eq!(seen(&dir).2, "");
    assert_eq!(seen(&machine("", &[Line(queue, "2", "2")])).0, Status::Ok);
    assert_eq!(seen(&machine("", &[Line(queue, "0-3", "0")])).0, Status::Ok);
    // The kernel knows better than the name, where it says so.
    let dir = machine("", &[Line("6: 0 0 70 0 PCI-MSI 1-edge megasas0-msix3", "0-3", "2")]);
    assert_eq!(seen(&dir).0, Status::Bad);
    file(
        dir.path(),
        "sys/kernel/debug/irq/irqs/6",
        "dstate:   0x3500\n            IRQD_AFFINITY_MANAGED\n",
    );
    assert_eq!(seen(&dir).0, Status::Warn);
}

#[test]
fn irqbalance_leaves_out_what_it_was_told_to() {
    let status = |isolated: &str, settings: &str| {
        let dir = machine(isolated, &[]);
        make(dir.path(), &Made { id: 700, name: "irqbalance", policy: 0, ..Made::default() });
        file(dir.path(), "etc/default/irqbalance", settings);
        let Shown { status, found, .. } = finding(&dir, &[2, 3], "irqbalance").unwrap();
        (status, found)
    };
    let cases = [
        ("", "", Status::Bad),
        ("2-3", "", Status::Ok),
        // Whether by a list or by a mask.
        ("", "IRQBALANCE_BANNED_CPULIST=\"2-3\"", Status::Ok),
        ("", "IRQBALANCE_BANNED_CPUS=0000000c", Status::Ok),
        ("", "IRQBALANCE_BANNED_CPULIST=", Status::Bad),
        ("", "#IRQBALANCE_BANNED_CPULIST=2-3", Status::Bad),
        ("", "IRQBALANCE_BANNED_CPULIST=1-2", Status::Bad),
        // Then it no longer looks at which are isolated, unless nothing was said.
        ("2-3", "IRQBALANCE_BANNED_CPULIST=1", Status::Bad),
        ("2-3", "IRQBALANCE_BANNED_CPUS=", Status::Ok),
        // Nor where it cannot read what was said, or reads the mask alone.
        ("2-3", "IRQBALANCE_BANNED_CPUS=2-3", Status::Bad),
        ("2-3", "IRQBALANCE_BANNED_CPUS=0xc", Status::Bad),
        ("2-3", "IRQBALANCE_BANNED_CPULIST=0000000c", Status::Bad),
        ("2-3", "IRQBALANCE_BANNED_CPULIST=2-3\nIRQBALANCE_BANNED_CPUS=1", Status::Bad),
    ];
    for (isolated, settings, expected) in cases {
        let (status, found) = status(isolated, settings);
        assert_eq!(status, expected, "{isolated} {settings}: {found}");
    }
    let said = |settings: &str| {
        let dir = machine("2-3", &[]);
        make(dir.path(), &Made { id: 700, name: "irqbalance", policy: 0, ..Made::default() });
        file(dir.path(), "etc/default/irqbalance", settings);
        let (_, found, action) = finding(&dir, &[2, 3], "irqbalance").unwrap().words();
        (found, action)
    };
    for (settings, found, corrected) in [
        (
            "IRQBALANCE_BANNED_CPULIST=1-2",
            "runs, and IRQBALANCE_BANNED_CPULIST does not leave out CPU 3",
            "IRQBALANCE_BANNED_CPULIST=1-3",
        ),
        (
            "IRQBALANCE_BANNED_CPUS=2-3",
            "runs, and ignores isolated CPUs, because IRQBALANCE_BANNED_CPUS=2-3 is not a \
             mask such as 0000000c",
            "IRQBALANCE_BANNED_CPUS=c",
        ),
        (
            "IRQBALANCE_BANNED_CPULIST=0c",
            "runs, and ignores isolated CPUs, because IRQBALANCE_BANNED_CPULIST=0c is not a \
             list such as 2-3",
            "IRQBALANCE_BANNED_CPULIST=2-3",
        ),
        // It has no CPUs then, and once was to be kept off all of them.
        (
            "IRQBALANCE_BANNED_CPULIST=0-1",
            "runs, and IRQBALANCE_BANNED_CPULIST leaves out the other CPUs and not CPUs 2-3: it \
             seems inverted",
            "IRQBALANCE_BANNED_CPULIST=2-3",
        ),
        (
            "IRQBALANCE_BANNED_CPUS=3",
            "runs, and IRQBALANCE_BANNED_CPUS leaves out the other CPUs and not CPUs 2-3: it \
             seems inverted",
            "IRQBALANCE_BANNED_CPUS=c",
        ),
        (
            "IRQBALANCE_BANNED_CPUS=0-1",
            "runs, and ignores isolated CPUs, because IRQBALANCE_BANNED_CPUS=0-1 is not a \
             mask such as 0000000c",
            "IRQBALANCE_BANNED_CPUS=c",
        ),
        // As a mask this list is of CPU 33 too, which is not there.
        (
            "IRQBALANCE_BANNED_CPUS=2,2",
            "runs, and IRQBALANCE_BANNED_CPUS does not leave out CPUs 2-3",
            "IRQBALANCE_BANNED_CPUS=e",
        ),
        // What can be read of it stays.
        (
            "IRQBALANCE_BANNED_CPULIST=0,2",
            "runs, and IRQBALANCE_BANNED_CPULIST does not leave out CPU 3",
            "IRQBALANCE_BANNED_CPULIST=0,2-3",
        ),
        (
            "IRQBALANCE_BANNED_CPULIST=1,x",
            "runs, and ignores isolated CPUs, because IRQBALANCE_BANNED_CPULIST=1,x is not a \
             list such as 2-3",
            "IRQBALANCE_BANNED_CPULIST=1-3",
        ),
        (
            "IRQBALANCE_BANNED_CPULIST=0a",
            "runs, and ignores isolated CPUs, because IRQBALANCE_BANNED_CPULIST=0a is not a \
             list such as 2-3",
            "IRQBALANCE_BANNED_CPULIST=1-3",
        ),
        (
            "IRQBALANCE_BANNED_CPUS=1-2",
            "runs, and ignores isolated CPUs, because IRQBALANCE_BANNED_CPUS=1-2 is not a \
             mask such as 0000000c",
            "IRQBALANCE_BANNED_CPUS=e",
        ),
        (
            "IRQBALANCE_BANNED_CPUS=0x1",
            "runs, and ignores isolated CPUs, because IRQBALANCE_BANNED_CPUS=0x1 is not a \
             mask such as 0000000c",
            "IRQBALANCE_BANNED_CPUS=d",
        ),
    ] {
        let action = format!(
            "set {corrected} where irqbalance has its settings, then sudo systemctl restart \
             irqbalance, or sudo systemctl disable --now irqbalance"
        );
        assert_eq!(said(settings), (found.to_owned(), action), "{settings}");
    }
    // What the process has counts before what a file says.
    let dir = machine("", &[]);
    make(dir.path(), &Made { id: 700, name: "irqbalance", policy: 0, ..Made::default() });
    file(dir.path(), "proc/700/environ", "A=1\0IRQBALANCE_BANNED_CPULIST=2-3\0");
    assert_eq!(finding(&dir, &[2, 3], "irqbalance").unwrap().status, Status::Ok);
}

/// Such a machine was once said to be well.
#[test]
fn without_their_files_nothing_is_said_of_interrupts() {
    let unknown = |dir: &tempfile::TempDir| {
        let (status, found, _) = seen(dir);
        assert_eq!(status, Status::Unknown, "{found}");
        found
    };
    let eth0 = "5: 1 2 30 4 IO-APIC 5-edge eth0";
    let dir = machine("", &[Line(eth0, "0-3", "2")]);
    std::fs::remove_file(dir.path().join("proc/interrupts")).unwrap();
    assert_eq!(unknown(&dir), "/proc/interrupts is not there, or is empty");
    let dir = machine("", &[Line(eth0, "0", "0"), Line("6: 1 0 0 0 IO-APIC 6-edge usb", "0", "0")]);
    std::fs::remove_dir_all(dir.path().join("proc/irq/6")).unwrap();
    assert_eq!(unknown(&dir), "no file in /proc/irq says where these may come: 6");
    std::fs::remove_dir_all(dir.path().join("proc/irq")).unwrap();
    assert_eq!(unknown(&dir), "no file in /proc/irq says where an interrupt may come");
}

#[test]
fn all_interrupts_are_named() {
    let rows: Vec<String> = (5..25)
        .map(|number| format!("{number}: 0 0 0 0 IO-APIC {number}-edge eth{number}"))
        .collect();
    let lines: Vec<Line<'_>> = rows.iter().map(|row| Line(row, "0-3", "0")).collect();
    let (_, found, action) = seen(&machine("", &lines));
    for number in 5..25 {
        assert!(found.contains(&format!("{number} (eth{number}) may come")), "{found}");
        assert!(action.contains(&format!(" {number}")), "{action}");
    }
    assert!(!found.contains("more") && !action.contains("more"), "{found} {action}");
}

/// Guides for audio begin with it.
#[test]
fn a_sound_card_that_shares_its_line_is_named() {
    let seen = |purpose, row: &str| {
        let dir = machine("", &[Line(row, "0-3", "0")]);
        let options = CheckOptions { purpose, ..CheckOptions::default() };
        shown(&HostRoot::at(dir.path()), &options, "sound-interrupt").map(Shown::words)
    };
    let row = "16: 9 0 0 0 IO-APIC 16-fasteoi xhci_hcd, snd_hda_intel:card0, i801_smbus";
    let action = "put the card into another slot, have its driver use MSI (snd_hda_intel: \
                  enable_msi=1), or unload the driver of what is not needed";
    let found = "16 (snd_hda_intel:card0) is shared with xhci_hcd and i801_smbus";
    let expected = (Status::Warn, found.to_owned(), action.to_owned());
    assert_eq!(seen(Purpose::Audio, row), Some(expected));
    assert_eq!(seen(Purpose::Robotics, row), None);
    let row = "17: 9 0 0 0 IO-APIC 17-fasteoi snd_hdsp, snd_hda_intel:card0";
    let found = "17 (snd_hdsp) is shared with snd_hda_intel:card0".to_owned();
    assert_eq!(seen(Purpose::Audio, row), Some((Status::Warn, found, action.to_owned())));
    let row = "33: 9 0 0 0 PCI-MSI 1-edge snd_hda_intel:card0";
    let found = "33 (snd_hda_intel:card0), shared with nothing".to_owned();
    assert_eq!(seen(Purpose::Audio, row), Some((Status::Ok, found, String::new())));
    let row = "16: 9 0 0 0 IO-APIC 16-fasteoi xhci_hcd, i801_smbus";
    assert_eq!(seen(Purpose::Audio, row), None);
}
