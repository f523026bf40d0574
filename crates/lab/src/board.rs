// SPDX-License-Identifier: MIT OR Apache-2.0
//! Arguments of QEMU and the kernel for each machine, each unusual one with the symptom that
//! requires it.

use crate::monitor::SNAPSHOT;
use crate::ports::ORDER_FILE;
use crate::turns::{NO_PAUSE, NO_PAUSE_FILE};
use crate::verbs::INIT_VERB;
use plan::{Guest, GuestTime, Machine};
use std::path::Path;

/// The emulator's side of a machine.
#[derive(Debug)]
pub(crate) struct Board {
    /// QEMU's program.
    pub emulator: &'static str,
    /// The Debian package that has it.
    pub package: &'static str,
    /// Arguments that make the machine.
    machine: &'static [&'static str],
    /// Arguments that make its second serial line, which appends to `results`; the first is the
    /// console.
    channel_device: &'static [&'static str],
    /// The kernel's name of the first.
    console: &'static str,
    /// The guest's path of the second.
    pub channel: &'static str,
    /// Kernel arguments only this machine needs.
    kernel_args: &'static [&'static str],
    /// Modules a kernel may need for what the lab uses; what is built in is not looked for.
    pub modules: &'static [&'static str],
    /// What a teiji for this machine is built for.
    pub target: &'static str,
    /// The device tree the machine needs and does not bring along, below a kernel's `dtbs`.
    pub device_tree: Option<&'static str>,
}

/// The file the console is written to, in the boot's directory.
pub(crate) const CONSOLE: &str = "console";
/// The file the channel is written to.
pub(crate) const RESULTS: &str = "results";
pub(crate) const INITRAMFS: &str = "initramfs";
/// QEMU's own complaints.
pub(crate) const COMPLAINTS: &str = "complaints";
/// What a guest is to do, read after its snapshot.
pub(crate) const TASK: &str = "task";
/// The disk that holds the snapshot.
pub(crate) const DISK: &str = "snapshot.qcow2";

/// How a guest comes to its task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Start {
    /// It boots, and the initramfs has the task.
    Boot,
    /// It boots, and stops to be saved.
    UntilSnapshot,
    /// It continues from its snapshot, and reads the task.
    FromSnapshot,
}

/// Lets QEMU's main loop and its processor run one at a time, which QEMU does only where it makes a
/// record; nobody reads that one. Otherwise the main loop may skip an idle time before the
/// instructions that led to it are counted, and time gains as many ns. QEMU cannot record several
/// CPUs. Those are never idle (`idle=poll`), so that nothing is skipped.
const ONE_AT_A_TIME: &str = ",rr=record,rrfile=/dev/null";

/// Of an x86_64 guest on the host's clock. As it boots, the kernel counts the timer's ticks over
/// some thousand loops, and panics if there were none: on a busy host the emulator may not have run
/// for as long.
const HOST_TIME_KERNEL_ARG: &str = "no_timer_check";

/// For several CPUs in virtual time, whose turns are even only while none is idle.
const TURNS_KERNEL_ARG: &str = "idle=poll";

const FILE_ON_SERIAL: &[&str] = &["-serial", "file:results"];
/// A serial line on PCI: the machine itself has only one.
const FILE_ON_PCI: &[&str] =
    &["-chardev", "file,id=results,path=results", "-device", "pci-serial,chardev=results"];

static X86_64: Board = Board {
    emulator: "qemu-system-x86_64",
    package: "qemu-system-x86",
    // Without the property no timer of the HPET but the kernel's own has an interrupt, and the
    // probe hpet nothing to measure.
    machine: &["-machine", "pc", "-global", "hpet.hpet-intcap=0xff0104"],
    channel_device: FILE_ON_SERIAL,
    console: "ttyS0",
    channel: "/dev/ttyS1",
    // Otherwise the kernel finds that the time stamp counter disagrees with slower clocks that the
    // emulator reads at other moments, and falls back to one that costs a trap for each
    // reading.
    kernel_args: &["tsc=reliable"],
    modules: &["8250", "rtc-cmos"],
    target: "x86_64-unknown-linux-musl",
    device_tree: None,
};

static AARCH64: Board = Board {
    emulator: "qemu-system-aarch64",
    package: "qemu-system-arm",
    machine: &["-machine", "virt", "-cpu", "cortex-a57"],
    channel_device: FILE_ON_PCI,
    console: "ttyAMA0",
    channel: "/dev/ttyS0",
    kernel_args: &[],
    modules: &["8250_pci", "rtc-pl031"],
    target: "aarch64-unknown-linux-musl",
    device_tree: None,
};

static ARMV7: Board = Board {
    emulator: "qemu-system-arm",
    package: "qemu-system-arm",
    // With its PCI configuration space above 4 GiB, a 32-bit kernel finds it in conflict with the
    // bridge and has no PCI.
    machine: &["-machine", "virt,highmem=off", "-cpu", "cortex-a15"],
    channel_device: FILE_ON_PCI,
    console: "ttyAMA0",
    channel: "/dev/ttyS0",
    kernel_args: &[],
    modules: &["8250_pci", "rtc-pl031"],
    target: "armv7-unknown-linux-gnueabihf",
    device_tree: None,
};

static RASPI3B: Board = Board {
    emulator: "qemu-system-aarch64",
    package: "qemu-system-arm",
    machine: &["-machine", "raspi3b"],
    channel_device: FILE_ON_SERIAL,
    console: "ttyAMA0",
    channel: "/dev/ttyS1",
    kernel_args: &[],
    // Without its watchdog the board cannot switch itself off.
    modules: &["bcm2835_wdt"],
    target: "aarch64-unknown-linux-musl",
    device_tree: Some("broadcom/bcm2837-rpi-3-b.dtb"),
};

/// What executes a guest's instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accelerator {
    /// The emulator itself, translating them.
    Tcg,
    /// The host's processor.
    Kvm,
}

impl Accelerator {
    pub const fn name(self) -> &'static str {
        match self {
            Accelerator::Tcg => "tcg",
            Accelerator::Kvm => "kvm",
        }
    }
}

impl Board {
    pub(crate) fn for_machine(machine: Machine) -> &'static Board {
        match machine {
            Machine::X86_64 => &X86_64,
            Machine::Aarch64 => &AARCH64,
            Machine::Armv7 => &ARMV7,
            Machine::Raspi3b => &RASPI3B,
        }
    }

    /// QEMU's command line without its program, to run in the boot's directory.
    pub(crate) fn command_line(
        &self,
        guest: &Guest,
        accelerator: Accelerator,
        kernel: &Path,
        device_tree: Option<&Path>,
        start: Start,
    ) -> Vec<String> {
        let mut words: Vec<String> = Vec::new();
        let mut add = |some: &[&str]| words.extend(some.iter().map(|word| (*word).to_owned()));
        // Nothing that was not asked for: no network, no display, no settings of the user.
        add(&["-nodefaults", "-no-user-config", "-display", "none"]);
        // A kernel that panics reboots; that is the end.
        add(&["-no-reboot"]);
        add(self.machine);
        add(&["-smp", &guest.cpus.to_string(), "-m", &guest.memory_mib.to_string()]);
        if guest.has_turns() {
            add(&["-fw_cfg", &format!("name={NO_PAUSE_FILE},string={NO_PAUSE}")]);
        }
        let one_at_a_time = if guest.has_turns() { "" } else { ONE_AT_A_TIME };
        match (guest.time, accelerator) {
            (GuestTime::Virtual { shift }, _) => {
                add(&[
                    "-accel",
                    "tcg,thread=single",
                    "-icount",
                    &format!("shift={shift},sleep=off{one_at_a_time}"),
                ]);
                add(&["-rtc", "base=2020-01-01,clock=vm"]);
            }
            (GuestTime::Host, Accelerator::Tcg) => {
                add(&["-accel", "tcg,thread=multi", "-rtc", "base=utc"])
            }
            (GuestTime::Host, Accelerator::Kvm) => {
                add(&["-accel", "kvm", "-cpu", "host", "-rtc", "base=utc"])
            }
        }
        // What the guest takes for chance: with another seed it lays out its memory otherwise.
        add(&["-seed", "1"]);
        add(&["-serial", &format!("file:{CONSOLE}")]);
        add(self.channel_device);
        add(&["-kernel", &kernel.display().to_string(), "-initrd", INITRAMFS]);
        if let Some(path) = device_tree {
            add(&["-dtb", &path.display().to_string()]);
        }
        add(&["-append", &self.kernel_command_line(guest)]);
        if start != Start::Boot {
            add(&["-drive", &format!("if=none,id=snapshot,file={DISK},format=qcow2")]);
            add(&["-device", "pvpanic", "-fw_cfg", &format!("name={ORDER_FILE},file={TASK}")]);
        }
        match start {
            Start::Boot => {}
            Start::UntilSnapshot => add(&["-action", "panic=pause", "-qmp", "stdio"]),
            Start::FromSnapshot => add(&["-loadvm", SNAPSHOT]),
        }
        words
    }

    /// Whether a guest of this machine can be saved once it has booted: with I/O ports, and where
    /// nothing but its own instructions makes time pass. Several CPUs are not: where QEMU is in
    /// their turns is no part of what it saves.
    pub(crate) fn can_be_saved(&self, guest: &Guest) -> bool {
        guest.machine == Machine::X86_64
            && matches!(guest.time, GuestTime::Virtual { .. })
            && !guest.has_turns()
    }

    fn kernel_command_line(&self, guest: &Guest) -> String {
        let console = format!("console={}", self.console);
        let mut words = vec![console.as_str()];
        // At once, instead of standing still.
        words.push("panic=-1");
        // Addresses in a console log can be compared; and the processor's own chance is the host's
        // on some accelerators.
        words.extend(["nokaslr", "random.trust_cpu=off"]);
        words.extend(self.kernel_args);
        if guest.has_turns() {
            words.push(TURNS_KERNEL_ARG);
        }
        if guest.machine == Machine::X86_64 && guest.time == GuestTime::Host {
            words.push(HOST_TIME_KERNEL_ARG);
        }
        words.extend(guest.kernel_args.split_whitespace());
        words.extend(["rdinit=/teiji", "--", INIT_VERB]);
        words.join(" ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(guest: &Guest, accelerator: Accelerator) -> String {
        started(guest, accelerator, Start::Boot)
    }

    fn started(guest: &Guest, accelerator: Accelerator, start: Start) -> String {
        let board = Board::for_machine(guest.machine);
        board.command_line(guest, accelerator, Path::new("/k/vmlinuz"), None, start).join(" ")
    }

    fn guest(time: GuestTime) -> Guest {
        Guest {
            machine: Machine::X86_64,
            memory_mib: 512,
            cpus: 1,
            time,
            kernel_args: "isolcpus=1 threadirqs".to_owned(),
        }
    }

    #[test]
    fn virtual_time_counts_instructions() {
        let line = line(&guest(GuestTime::Virtual { shift: 2 }), Accelerator::Tcg);
        let time = "-accel tcg,thread=single -icount shift=2,sleep=off,rr=record,rrfile=/dev/null \
                    -rtc base=2020-01-01,clock=vm";
        assert!(line.contains(time), "{line}");
        assert!(
            line.contains("tsc=reliable isolcpus=1 threadirqs rdinit=/teiji -- lab-init"),
            "{line}"
        );
    }

    /// None is idle, and none gives its turn away.
    #[test]
    fn several_cpus_in_virtual_time_take_turns() {
        let four = Guest { cpus: 4, ..guest(GuestTime::Virtual { shift: 0 }) };
        let line = line(&four, Accelerator::Tcg);
        for expected in [
            "-smp 4 -m 512",
            "-fw_cfg name=opt/teiji/no-pause,string=f",
            "-icount shift=0,sleep=off -rtc",
            "tsc=reliable idle=poll isolcpus=1",
        ] {
            assert!(line.contains(expected), "{expected}: {line}");
        }
        assert!(!Board::for_machine(four.machine).can_be_saved(&four));
        assert!(!line.contains(HOST_TIME_KERNEL_ARG), "its timer is never late: {line}");
        let on_host = self::line(&Guest { cpus: 4, ..guest(GuestTime::Host) }, Accelerator::Tcg);
        assert!(
            !on_host.contains("idle=poll")
                && on_host.contains("tsc=reliable no_timer_check isolcpus=1"),
            "{on_host}"
        );
    }

    /// Whatever continues from a snapshot has to be the same machine.
    #[test]
    fn a_guest_is_saved_and_continued_on_the_same_machine() {
        let guest = guest(GuestTime::Virtual { shift: 0 });
        let saved = started(&guest, Accelerator::Tcg, Start::UntilSnapshot);
        let continued = started(&guest, Accelerator::Tcg, Start::FromSnapshot);
        let machine = saved.strip_suffix(" -action panic=pause -qmp stdio").unwrap();
        assert_eq!(continued.strip_suffix(" -loadvm ready").unwrap(), machine);
        assert!(
            machine.ends_with("-device pvpanic -fw_cfg name=opt/teiji/order,file=task"),
            "{machine}"
        );
        assert!(!line(&guest, Accelerator::Tcg).contains("pvpanic"));
    }

    #[test]
    fn the_hosts_time_counts_nothing() {
        assert!(!line(&guest(GuestTime::Host), Accelerator::Tcg).contains("icount"));
        assert!(line(&guest(GuestTime::Host), Accelerator::Kvm).contains("-accel kvm -cpu host"));
    }
}
