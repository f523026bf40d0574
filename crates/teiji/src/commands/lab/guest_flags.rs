// SPDX-License-Identifier: MIT OR Apache-2.0
//! The flags that say on which machine, and how kernels are found.

use crate::exit::Failure;
use crate::output;
use anyhow::{Context, ensure};
use clap::ValueEnum;
use executor::SettingError;
use lab::{
    BOOT_TIMEOUT, Cache, GuestLimits, Kernel, KernelError, KernelName, LabError, MAX_EXPECTED,
    MAX_MEMORY_MIB, Named, Processor, Target, choose_qemu, inspect_image,
};
use model::{Lab, Recorded};
use plan::{
    CpuId, Guest, GuestTime, Machine, Nanos, ProcessCpus, Qemu, Unit, shift_of_cpus, shift_of_mips,
};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What drives a guest's time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TimeMode {
    /// Counted instructions: deterministic, up to four CPUs
    Virtual,
    /// The host's clock: several CPUs, not deterministic; with KVM where that works
    Host,
}

/// What a guest is made of, by new flags and of a recording alike.
#[derive(Default, PartialEq, clap::Args)]
struct GuestParts {
    /// Its memory, MiB [default: 512; a raspi3b has 1024]
    #[arg(long, value_name = "MIB", hide_short_help = true)]
    memory: Option<u32>,
    /// The QEMU: pinned, which is the same everywhere and is fetched if need be, system, which is
    /// the installed one, or its path [default: pinned, and system where that cannot be had]
    #[arg(long, value_name = "QEMU", hide_short_help = true)]
    qemu: Option<Qemu>,
    /// Modules of the kernel; those the machine needs are loaded
    #[arg(long, value_name = "DIR", hide_short_help = true)]
    modules: Option<PathBuf>,
    /// A device tree, instead of the machine's or the kernel's
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    dtb: Option<PathBuf>,
    /// A static teiji for the guest's processor [default: this one, or what `make cross` has
    /// built]
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    program: Option<PathBuf>,
    /// How long the kernel may take to boot, and loads to start and figures to be computed, on
    /// this machine's clock [default: 2m]
    #[arg(long, value_name = "TIME", value_parser = seconds, hide_short_help = true)]
    boot_timeout: Option<Duration>,
}

impl GuestParts {
    /// Whether the files are there: before time is spent on anything else.
    fn check(&self) -> Result<(), SettingError> {
        if let Some(path) = self.modules.as_ref().filter(|path| !path.is_dir()) {
            return Err(SettingError::Modules(path.clone()));
        }
        if let Some(path) = self.dtb.as_ref().filter(|path| !path.is_file()) {
            return Err(SettingError::DeviceTree(path.clone()));
        }
        self.qemu
            .as_ref()
            .and_then(missing_qemu)
            .map_or(Ok(()), |path| Err(SettingError::Qemu(path)))
    }

    /// As an absolute path, by which they are found again from anywhere.
    fn modules(&self) -> anyhow::Result<Option<PathBuf>> {
        self.modules.as_ref().map(std::fs::canonicalize).transpose().context("--modules")
    }
}

/// What a recording is made again with: what it was made with is found by its kind, and everything
/// else is named.
#[derive(Default, PartialEq, clap::Args)]
#[command(
    mut_arg(
        "expect",
        |arg| arg.help(format!(
            "Allow a run of this length, on the guest's clock [default: {}m]",
            MAX_EXPECTED.as_secs() / 60,
        )),
    ),
    mut_arg(
        "memory",
        |arg| arg.help(format!("Allow a guest of so many MiB [default: {MAX_MEMORY_MIB}]")),
    ),
    mut_arg(
        "qemu",
        |arg| arg.help(
            "The QEMU: pinned, system or the path of one [default: of the recorded kind; \
             a path has to be named]",
        ),
    )
)]
pub struct AgainFlags {
    /// The kernel, as of lab run [default: the recorded one of the cache; a path has to be named]
    #[arg(short, long, value_name = "KERNEL")]
    kernel: Option<KernelName>,
    #[arg(long, value_name = "TIME", value_parser = seconds)]
    expect: Option<Duration>,
    #[command(flatten)]
    parts: GuestParts,
}

impl AgainFlags {
    /// The machine of a recording, with its QEMU, which is fetched if need be. Nothing has been
    /// compared yet.
    pub fn target(&self, recorded: &Recorded, facts: &Lab, quiet: bool) -> Result<Target, Failure> {
        self.parts.check()?;
        let kernel = self.kernel.as_ref().map(|name| kernel(name, quiet));
        let usual = GuestLimits::default();
        let named = Named {
            qemu: self.parts.qemu.clone(),
            kernel: kernel.transpose()?,
            modules: self.parts.modules()?,
            device_tree: self.parts.dtb.clone(),
            program: self.parts.program.clone(),
            limits: GuestLimits {
                memory_mib: self.parts.memory.unwrap_or(usual.memory_mib),
                expected: self.expect.unwrap_or(usual.expected),
            },
        };
        let target = lab::again(facts, &recorded.document.run, &named)?;
        let boot_timeout = self.parts.boot_timeout.unwrap_or(target.boot_timeout);
        let qemu = chosen_qemu(Some(&target.qemu), target.guest.machine, quiet)?;
        Ok(Target { qemu, boot_timeout, ..target })
    }
}

#[derive(clap::Args)]
pub struct GuestFlags {
    /// The machine: x86_64, aarch64, armv7 or raspi3b [default: what the kernel is for]
    #[arg(long, value_name = "MACHINE", hide_short_help = true)]
    machine: Option<Machine>,
    /// CPUs of the guest [default: 1; a raspi3b has 4]
    ///
    /// In virtual time 1, or up to 4 of an x86_64; others only with --time host.
    #[arg(long, value_name = "N")]
    smp: Option<u32>,
    /// What drives the clock [default: virtual; host for a raspi3b]
    #[arg(long, value_name = "MODE")]
    time: Option<TimeMode>,
    /// Instructions of each CPU in virtual time, millions a second: 1000, 500, 250 and so on by
    /// halves [default: 1000, divided by the number of CPUs, which is the most; three CPUs
    /// have no other]
    #[arg(long, value_name = "RATE", value_parser = shift_of_mips, hide_short_help = true)]
    mips: Option<u8>,
    /// Kernel arguments to add, such as 'threadirqs nohz_full=1' [repeatable]
    #[arg(long, value_name = "ARGS", allow_hyphen_values = true)]
    append: Vec<String>,
    #[command(flatten)]
    parts: GuestParts,
}

pub fn seconds(text: &str) -> anyhow::Result<Duration> {
    let time = Nanos::parse(text, Unit::Second)?;
    ensure!(time.0 > 0, "must be above 0");
    Ok(time.duration())
}

impl GuestFlags {
    /// The machines for those kernels whose names contain them, checked: before time is spent on
    /// getting a kernel.
    pub fn guests(&self, names: &[KernelName]) -> Result<Vec<Guest>, SettingError> {
        self.parts.check()?;
        let machine = |name: &KernelName| match name {
            KernelName::Debian { flavour, .. } => self.machine.or(Some(flavour.machine)),
            KernelName::Path(_) => self.machine,
        };
        names.iter().filter_map(machine).map(|machine| self.guest(machine)).collect()
    }

    /// The program for the guest, if one is named.
    pub fn program(&self) -> Option<&Path> {
        self.parts.program.as_deref()
    }

    /// The QEMU, if one is named.
    pub fn qemu(&self) -> Option<&Qemu> {
        self.parts.qemu.as_ref()
    }

    /// The machine for a kernel of this name, checked, with kernel and QEMU, which are fetched if
    /// need be.
    pub fn target_of(&self, name: &KernelName, quiet: bool) -> Result<Target, Failure> {
        let target = self.target(kernel(name, quiet)?)?;
        Ok(self.with_qemu(target, quiet)?)
    }

    /// The same guest with the QEMU that it will run in, which is fetched if need be.
    pub fn with_qemu(&self, target: Target, quiet: bool) -> Result<Target, LabError> {
        let qemu = chosen_qemu(self.qemu(), target.guest.machine, quiet)?;
        Ok(Target { qemu, ..target })
    }

    /// The machine for this kernel, checked. Its QEMU is chosen later: that may have to be fetched.
    pub fn target(&self, kernel: Kernel) -> anyhow::Result<Target> {
        let machine = match self.machine.or(kernel.machine) {
            Some(machine) => machine,
            None => machine_of(&kernel)?,
        };
        let modules = self.parts.modules()?;
        let kernel = Kernel { modules: modules.or(kernel.modules), ..kernel };
        Ok(Target {
            guest: self.guest(machine)?,
            qemu: self.parts.qemu.clone().unwrap_or(Qemu::Pinned),
            kernel,
            device_tree: self.parts.dtb.clone(),
            program: self.parts.program.clone(),
            files: Vec::new(),
            boot_timeout: self.parts.boot_timeout.unwrap_or(BOOT_TIMEOUT),
            plugin: None,
        })
    }

    /// The guest on this machine, if no other one was named, checked.
    pub fn guest_on(&self, machine: Machine) -> Result<Guest, SettingError> {
        self.guest(self.machine.unwrap_or(machine))
    }

    fn guest(&self, machine: Machine) -> Result<Guest, SettingError> {
        let usual = if machine.fixed_cpus().is_some() { TimeMode::Host } else { TimeMode::Virtual };
        let cpus = self.smp.or(machine.fixed_cpus()).unwrap_or(1);
        let time = match (self.time.unwrap_or(usual), self.mips) {
            (TimeMode::Virtual, mips) => GuestTime::Virtual { shift: shift_of_cpus(cpus, mips)? },
            (TimeMode::Host, None) => GuestTime::Host,
            (TimeMode::Host, Some(_)) => return Err(SettingError::RateOfHostTime),
        };
        let guest = Guest {
            machine,
            memory_mib: self.parts.memory.or(machine.fixed_memory_mib()).unwrap_or(512),
            cpus,
            time,
            kernel_args: self.append.join(" "),
        };
        guest.check()?;
        Ok(guest)
    }
}

/// The QEMU for a machine; it is said if that is not the one it should be.
pub fn chosen_qemu(asked: Option<&Qemu>, machine: Machine, quiet: bool) -> Result<Qemu, LabError> {
    let (qemu, note) = choose_qemu(asked, machine, &mut unless(quiet))?;
    // Figures are others then: also where nobody wants to see progress.
    note.iter().for_each(|note| output::complain(note));
    Ok(qemu)
}

/// The path of a QEMU that is not there.
pub fn missing_qemu(qemu: &Qemu) -> Option<PathBuf> {
    match qemu {
        Qemu::Path(path) if !path.is_file() => Some(path.clone()),
        _ => None,
    }
}

/// What an image is for, if nobody says.
fn machine_of(kernel: &Kernel) -> anyhow::Result<Machine> {
    let bytes = std::fs::read(&kernel.image)
        .with_context(|| format!("cannot read the kernel {}", kernel.image.display()))?;
    // What is wrong with an image is said when it is to be booted.
    Ok(inspect_image(&bytes).map_or(Machine::X86_64, |processor| match processor {
        Processor::X86_64 => Machine::X86_64,
        Processor::Arm64 => Machine::Aarch64,
        Processor::Arm => Machine::Armv7,
    }))
}

/// The CPUs of a guest, to check a run against before it boots: which of them are isolated, only
/// its kernel knows.
pub fn cpus(guest: &Guest) -> ProcessCpus {
    let all: Vec<CpuId> = (0..guest.cpus).map(CpuId).collect();
    ProcessCpus { inherited: all.clone(), usable: all, ..ProcessCpus::default() }
}

/// Whether a kernel that is given as a path is there: one that is mistyped should be known before
/// others are measured.
pub fn check_path_exists(name: &KernelName) -> Result<(), KernelError> {
    match name {
        KernelName::Path(path) => Kernel::at(path).map(drop),
        KernelName::Debian { .. } => Ok(()),
    }
}

/// Kernels by name, fetched if they are not in the cache.
pub fn kernels(names: &[KernelName], quiet: bool) -> Result<Vec<Kernel>, KernelError> {
    // Before anything is fetched.
    names.iter().try_for_each(check_path_exists)?;
    names.iter().map(|name| kernel(name, quiet)).collect()
}

pub fn kernel(name: &KernelName, quiet: bool) -> Result<Kernel, KernelError> {
    let (flavour, version) = match name {
        KernelName::Path(path) => return Kernel::at(path),
        KernelName::Debian { flavour, version } => (*flavour, version.as_deref()),
    };
    let cache = Cache::for_user()?;
    let found = cache.find(flavour, version).map(Ok);
    found.unwrap_or_else(|| lab::fetch(&cache, flavour, version, &mut unless(quiet)))
}

/// Says what is done meanwhile.
fn unless(quiet: bool) -> impl FnMut(&str) {
    move |text| {
        if !quiet {
            output::complain(text);
        }
    }
}
