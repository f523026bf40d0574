// SPDX-License-Identifier: MIT OR Apache-2.0
//! The lab machine that was asked for, to run in.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// A machine that can be emulated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Machine {
    #[default]
    #[serde(rename = "x86_64")]
    X86_64,
    /// A 64-bit ARM machine that exists only in emulators.
    Aarch64,
    /// A 32-bit ARM machine that exists only in emulators.
    Armv7,
    /// A Raspberry Pi 3B.
    Raspi3b,
}

impl Machine {
    pub const ALL: [Machine; 4] =
        [Machine::X86_64, Machine::Aarch64, Machine::Armv7, Machine::Raspi3b];

    /// As written on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Machine::X86_64 => "x86_64",
            Machine::Aarch64 => "aarch64",
            Machine::Armv7 => "armv7",
            Machine::Raspi3b => "raspi3b",
        }
    }

    /// CPUs that cannot be more or fewer, because the board has so many.
    pub const fn fixed_cpus(self) -> Option<u32> {
        match self {
            Machine::Raspi3b => Some(4),
            _ => None,
        }
    }

    /// MiB of memory that cannot be more or less, because the board has exactly that.
    pub const fn fixed_memory_mib(self) -> Option<u32> {
        match self {
            Machine::Raspi3b => Some(1_024),
            _ => None,
        }
    }
}

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Machine {
    type Err = GuestError;

    fn from_str(text: &str) -> Result<Self, GuestError> {
        Machine::ALL
            .into_iter()
            .find(|machine| machine.name() == text)
            .ok_or_else(|| GuestError::UnknownMachine(text.to_owned()))
    }
}

/// What makes time pass in a guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "mode", rename_all = "lowercase")]
pub enum GuestTime {
    /// The clock advances by `2^shift` ns with each instruction of any CPU, and skips what is idle:
    /// deterministic.
    Virtual { shift: u8 },
    /// The host's clock: whatever else the host does is in the figures.
    Host,
}

/// What the clocks of the machine that measures count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MachineTime {
    /// Time as it passes, whatever the machine does in it.
    Real,
    /// The time of an emulator, which counts the machine's own instructions: nothing takes any of
    /// it away.
    Virtual,
}

impl From<GuestTime> for MachineTime {
    fn from(time: GuestTime) -> Self {
        match time {
            GuestTime::Virtual { .. } => MachineTime::Virtual,
            GuestTime::Host => MachineTime::Real,
        }
    }
}

/// The largest shift QEMU takes.
const MAX_SHIFT: u8 = 10;

/// The shift of an instruction rate in millions a second, as written: 1000 is one instruction each
/// ns.
///
/// # Errors
/// When the rate is none of 1000, 500, 250, ..., which are all that QEMU's instruction counting
/// has.
pub fn shift_of_mips(text: &str) -> Result<u8, GuestError> {
    let wrong = || GuestError::Mips(text.to_owned());
    let mips: f64 = text.parse().map_err(|_| wrong())?;
    // Rates are written rounded: 7.8125 as 7.8 or 7.81.
    (0..=MAX_SHIFT)
        .find(|shift| (mips * f64::from(1_u32 << shift) / 1_000.0 - 1.0).abs() < 0.01)
        .ok_or_else(wrong)
}

/// The shift of the clock, so that each of these CPUs executes at a rate, by what [`shift_of_mips`]
/// made of it: without one, the highest.
///
/// # Errors
/// When several CPUs cannot each have the rate: the clock has one instruction each ns, of any of
/// them.
pub fn shift_of_cpus(cpus: u32, shift: Option<u8>) -> Result<u8, GuestError> {
    let Some(shift) = shift else { return Ok(0) };
    // A third of the clock's rate is none that can be asked for.
    let shared = Some(cpus)
        .filter(|cpus| cpus.is_power_of_two())
        .and_then(|cpus| u8::try_from(cpus.ilog2()).ok());
    shared.and_then(|shared| shift.checked_sub(shared)).ok_or(GuestError::MipsOfCpus { cpus })
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Guest {
    pub machine: Machine,
    /// Its memory, MiB.
    pub memory_mib: u32,
    pub cpus: u32,
    pub time: GuestTime,
    /// Kernel arguments beyond those the lab needs.
    pub kernel_args: String,
}

/// Least memory in which a distribution's kernel, its initramfs and a run fit, MiB.
const MIN_MEMORY_MIB: u32 = 192;

/// Why a machine of the lab cannot be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GuestError {
    /// No such machine.
    #[error("unknown machine '{0}': expected x86_64, aarch64, armv7 or raspi3b")]
    UnknownMachine(String),
    /// Not a rate QEMU can count at.
    #[error(
        "invalid instruction rate '{0}': expected 1000, 500, 250, 125, 62.5 or so on by halves, \
         in millions a second"
    )]
    Mips(String),
    /// Not the number of a phase.
    #[error("invalid phase '{0}': expected a whole number from 0 (none) to {max}", max = u32::MAX)]
    Phase(String),
    /// Virtual time with several CPUs.
    #[error(
        "{cpus} CPUs of {machine} in virtual time: QEMU adds the instructions of all CPUs into \
         one clock, and only up to {MAX_CPUS_WITH_TURNS} CPUs of x86_64 can be had at even speed. \
         With others latencies would be artefacts. Use {}, or --time host",
        if *machine == Machine::X86_64 { "--smp 1 to 4" } else { "one CPU" }
    )]
    VirtualCpus { machine: Machine, cpus: u32 },
    /// Several CPUs, each faster than the clock allows, or at a rate that three cannot have.
    #[error(
        "{cpus} CPUs cannot each execute so many instructions a second of virtual time: {}",
        if cpus.is_power_of_two() {
            format!("at most {} million (--mips)", 1_000 / cpus)
        } else {
            format!("without --mips they execute {} million", 1_000 / cpus)
        }
    )]
    MipsOfCpus { cpus: u32 },
    /// A machine that has to have several CPUs, in virtual time.
    #[error(
        "{machine} in virtual time: the board has {cpus} CPUs, and QEMU adds the instructions of \
         all CPUs into one clock, so that latencies would be artefacts. Use --time host, or \
         --machine aarch64 with the same kernel"
    )]
    FixedCpusInVirtualTime { machine: Machine, cpus: u32 },
    /// A board with another number of CPUs.
    #[error("{machine} has {has} CPUs, not {asked}")]
    Cpus { machine: Machine, has: u32, asked: u32 },
    /// No CPU, or more than the emulated machines have.
    #[error("a guest has from 1 to {max} CPUs, not {asked}")]
    CpuCount { asked: u32, max: u32 },
    /// Too little memory, or not the board's.
    #[error("{asked} MiB of memory: {machine} needs {needs}")]
    Memory {
        machine: Machine,
        needs: String,
        /// MiB asked for.
        asked: u32,
    },
    /// No word for a QEMU.
    #[error("expected pinned, system or the path of a QEMU")]
    NoQemu,
    /// Something in the kernel arguments that is the lab's to say.
    #[error("'{0}' is not allowed as a kernel argument: the lab sets it itself")]
    KernelArgument(String),
}

/// CPUs of the emulated machines; QEMU's ARM machine with an interrupt controller of the second
/// version has 8.
const MAX_CPUS: u32 = 8;
/// CPUs of a PC that can take even turns in virtual time.
const MAX_CPUS_WITH_TURNS: u32 = 4;
/// Kernel arguments without which nothing comes back.
const RESERVED: [&str; 4] = ["rdinit=", "init=", "--", "initrd="];

impl Guest {
    /// What one instruction takes of a CPU, ns: as many of the others' are executed meanwhile. None
    /// where that is up to the host.
    pub fn ns_per_instruction(&self) -> Option<u64> {
        match self.time {
            GuestTime::Virtual { shift } => Some(u64::from(self.cpus) << shift),
            GuestTime::Host => None,
        }
    }

    /// Whether it has several CPUs in virtual time, which take turns.
    pub fn has_turns(&self) -> bool {
        self.cpus > 1 && self.time != GuestTime::Host
    }

    /// Whether there can be such a machine.
    ///
    /// # Errors
    /// The first thing that speaks against it.
    pub fn check(&self) -> Result<(), GuestError> {
        let (machine, cpus) = (self.machine, self.cpus);
        if let GuestTime::Virtual { .. } = self.time {
            match machine.fixed_cpus() {
                Some(cpus) if cpus > 1 => {
                    return Err(GuestError::FixedCpusInVirtualTime { machine, cpus });
                }
                _ if cpus > MAX_CPUS_WITH_TURNS || cpus > 1 && machine != Machine::X86_64 => {
                    return Err(GuestError::VirtualCpus { machine, cpus });
                }
                _ => {}
            }
        }
        if let Some(has) = machine.fixed_cpus().filter(|has| *has != cpus) {
            return Err(GuestError::Cpus { machine, has, asked: cpus });
        }
        if !(1..=MAX_CPUS).contains(&cpus) {
            return Err(GuestError::CpuCount { asked: cpus, max: MAX_CPUS });
        }
        let needs = match machine.fixed_memory_mib() {
            Some(has) if has != self.memory_mib => Some(format!("exactly {has}")),
            None if self.memory_mib < MIN_MEMORY_MIB => Some(format!("at least {MIN_MEMORY_MIB}")),
            // 32-bit addresses, of which devices take a part.
            None if machine == Machine::Armv7 && self.memory_mib > 2_048 => {
                Some("at most 2048".to_owned())
            }
            _ => None,
        };
        if let Some(needs) = needs {
            return Err(GuestError::Memory { machine, needs, asked: self.memory_mib });
        }
        let is_reserved = |word: &&str| {
            RESERVED
                .iter()
                .any(|own| if *own == "--" { word == own } else { word.starts_with(own) })
        };
        self.kernel_args
            .split_whitespace()
            .find(is_reserved)
            .map_or(Ok(()), |word| Err(GuestError::KernelArgument(word.to_owned())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guest(machine: Machine, cpus: u32, time: GuestTime) -> Guest {
        let memory_mib = machine.fixed_memory_mib().unwrap_or(512);
        Guest { machine, memory_mib, cpus, time, kernel_args: String::new() }
    }

    const VIRTUAL: GuestTime = GuestTime::Virtual { shift: 0 };

    #[test]
    fn rates_are_halves_of_a_thousand() {
        assert_eq!(shift_of_mips("1000"), Ok(0));
        assert_eq!(shift_of_mips("500"), Ok(1));
        assert_eq!(
            (shift_of_mips("62.5"), shift_of_mips("7.8"), shift_of_mips("0.98")),
            (Ok(4), Ok(7), Ok(10))
        );
        for wrong in ["800", "0", "-1000", "2000", "0.4", "fast", "nan"] {
            assert_eq!(shift_of_mips(wrong), Err(GuestError::Mips(wrong.to_owned())));
        }
        let of = |cpus, time| guest(Machine::X86_64, cpus, time).ns_per_instruction();
        assert_eq!(
            (of(1, GuestTime::Virtual { shift: 3 }), of(2, VIRTUAL), of(2, GuestTime::Host)),
            (Some(8), Some(2), None)
        );
        assert_eq!(
            (shift_of_cpus(1, None), shift_of_cpus(1, Some(3)), shift_of_cpus(2, None)),
            (Ok(0), Ok(3), Ok(0))
        );
        let too_fast = |cpus| Err(GuestError::MipsOfCpus { cpus });
        assert_eq!((shift_of_cpus(2, Some(1)), shift_of_cpus(2, Some(0))), (Ok(0), too_fast(2)));
        assert_eq!((shift_of_cpus(4, Some(3)), shift_of_cpus(4, Some(1))), (Ok(1), too_fast(4)));
        // Each executes 333 million.
        assert_eq!((shift_of_cpus(3, None), shift_of_cpus(3, Some(2))), (Ok(0), too_fast(3)));
        assert_eq!(of(3, GuestTime::Virtual { shift: 1 }), Some(6));
    }

    #[test]
    fn four_cpus_of_a_pc_in_virtual_time_and_more_in_the_hosts() {
        for cpus in 1..=4 {
            assert_eq!(guest(Machine::X86_64, cpus, VIRTUAL).check(), Ok(()));
        }
        for (machine, cpus) in
            [(Machine::X86_64, 5), (Machine::X86_64, 8), (Machine::Aarch64, 2), (Machine::Armv7, 2)]
        {
            assert_eq!(
                guest(machine, cpus, VIRTUAL).check(),
                Err(GuestError::VirtualCpus { machine, cpus })
            );
            assert_eq!(guest(machine, cpus, GuestTime::Host).check(), Ok(()));
        }
        let raspi = guest(Machine::Raspi3b, 4, VIRTUAL).check();
        assert_eq!(
            raspi,
            Err(GuestError::FixedCpusInVirtualTime { machine: Machine::Raspi3b, cpus: 4 })
        );
        assert_eq!(guest(Machine::Raspi3b, 4, GuestTime::Host).check(), Ok(()));
        assert!(matches!(
            guest(Machine::Raspi3b, 1, GuestTime::Host).check(),
            Err(GuestError::Cpus { has: 4, asked: 1, .. })
        ));
        assert!(matches!(
            guest(Machine::Aarch64, 0, VIRTUAL).check(),
            Err(GuestError::CpuCount { .. })
        ));
        assert!(matches!(
            guest(Machine::Aarch64, 9, GuestTime::Host).check(),
            Err(GuestError::CpuCount { .. })
        ));
    }

    #[test]
    fn memory_has_bounds() {
        let check =
            |machine, memory_mib| Guest { memory_mib, ..guest(machine, 1, VIRTUAL) }.check();
        assert!(matches!(check(Machine::X86_64, 64), Err(GuestError::Memory { .. })));
        assert!(matches!(check(Machine::Armv7, 4_096), Err(GuestError::Memory { .. })));
        let raspi = Guest { memory_mib: 512, ..guest(Machine::Raspi3b, 4, GuestTime::Host) };
        assert!(matches!(raspi.check(), Err(GuestError::Memory { .. })));
    }

    #[test]
    fn what_the_lab_says_itself_cannot_be_said_twice() {
        let check = |args: &str| {
            Guest { kernel_args: args.to_owned(), ..guest(Machine::X86_64, 1, VIRTUAL) }.check()
        };
        assert_eq!(check("isolcpus=1 nohz_full=1 mitigations=off threadirqs"), Ok(()));
        for word in ["rdinit=/bin/sh", "init=/x", "--", "initrd=/y"] {
            assert_eq!(
                check(&format!("quiet {word} x")),
                Err(GuestError::KernelArgument(word.to_owned()))
            );
        }
    }

    #[test]
    fn machines_are_written_as_they_are_read() {
        for machine in Machine::ALL {
            assert_eq!(machine.to_string().parse(), Ok(machine));
            assert_eq!(serde_json::to_value(machine).unwrap(), machine.name());
        }
        assert!("pdp11".parse::<Machine>().is_err());
    }
}
