// SPDX-License-Identifier: MIT OR Apache-2.0
//! The machine that is looked at, and what several checks want to know of it.

use super::arguments::Arguments;
use super::cgroups;
use super::config::KernelConfig;
use super::files::Files;
use super::image::{ImageError, ImageNames};
use super::kernel_arguments::MANAGED_IRQ_FLAG;
use super::set_apart::SetApart;
use super::sets::{sorted, without};
use super::thread::{self, Thread};
use host::{HostRoot, ProcessLines, cpu, kernel};
use model::kernel_version;
use plan::{CpuId, Scheduling};
use std::cell::OnceCell;
use std::ops::Deref;

/// What a machine is used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Periods of some ms, on a desktop or a small board.
    Audio,
    /// Control loops of some 100 µs to ms.
    Robotics,
    /// Packets and radio: some 10 µs, on CPUs of their own.
    Telco,
    /// Figures that are to be compared.
    Measure,
}

impl Purpose {
    pub const ALL: [Purpose; 4] =
        [Purpose::Audio, Purpose::Robotics, Purpose::Telco, Purpose::Measure];

    pub const fn word(self) -> &'static str {
        match self {
            Purpose::Audio => "audio",
            Purpose::Robotics => "robotics",
            Purpose::Telco => "telco",
            Purpose::Measure => "measure",
        }
    }
}

/// So many timers take some 50 ms to be listed.
const MAX_LISTED_TIMERS: usize = 1_000;

/// A machine, and what it is looked at for.
pub struct Machine<'a> {
    files: Files<'a>,
    pub options: &'a CheckOptions,
    pub online: Vec<CpuId>,
    /// Those that are isolated from the scheduler's balancing, online or not.
    pub isolated: Vec<CpuId>,
    /// Those of them on which nothing runs now.
    offline_isolated: Vec<CpuId>,
    set_apart: OnceCell<Option<SetApart>>,
    pub arguments: Arguments,
    config: OnceCell<Result<KernelConfig, String>>,
    image: OnceCell<Option<Result<ImageNames, ImageError>>>,
    threads: OnceCell<Vec<Thread>>,
    /// A process that is measured, and is not in its own way.
    program: Option<u32>,
    /// Whether no thread of a program that is measured has a real-time policy.
    is_ordinary: bool,
    /// Whether threads of ordinary scheduling measure.
    has_ordinary_threads: bool,
    spared: OnceCell<Vec<u32>>,
    /// Whether somebody set CPUs apart, where that is known otherwise than by their number.
    chosen: Option<bool>,
}

impl<'a> Deref for Machine<'a> {
    type Target = Files<'a>;

    fn deref(&self) -> &Files<'a> {
        &self.files
    }
}

impl<'a> Machine<'a> {
    pub fn new(root: &'a HostRoot, options: &'a CheckOptions) -> Machine<'a> {
        let files = Files::new(root);
        let online = cpu::list(&files.text("sys/devices/system/cpu/online").unwrap_or_default());
        let is_online_known = online.is_some();
        let mut machine = Machine {
            options,
            online: online.unwrap_or_else(|| vec![CpuId(0)]),
            isolated: root.isolated_cpus(),
            offline_isolated: Vec::new(),
            set_apart: OnceCell::new(),
            arguments: Arguments::of(
                &files.text("proc/cmdline").unwrap_or_default(),
                files
                    .text("proc/sys/kernel/osrelease")
                    .and_then(|release| kernel_version(&release)),
            ),
            config: OnceCell::new(),
            image: OnceCell::new(),
            threads: OnceCell::new(),
            program: None,
            is_ordinary: false,
            has_ordinary_threads: false,
            spared: OnceCell::new(),
            chosen: None,
            files,
        };
        machine.isolated.extend(cgroups::isolated(&machine.files));
        machine.isolated = sorted(machine.isolated);
        if is_online_known {
            machine.offline_isolated = without(&machine.isolated, &machine.online);
        }
        machine
    }

    /// With the threads of these processes.
    pub(crate) fn with_processes(mut self, processes: &ProcessLines) -> Self {
        self.threads = OnceCell::from(thread::all(&self.files, processes));
        self
    }

    /// As it is during a run on CPUs that somebody set apart, or not, and that measures a process.
    pub(crate) fn in_run(mut self, chosen: bool, program: Option<u32>, is_ordinary: bool) -> Self {
        (self.chosen, self.program, self.is_ordinary) = (Some(chosen), program, is_ordinary);
        self
    }

    /// Whether it is looked at for a run that has ended.
    pub(crate) fn is_of_run(&self) -> bool {
        self.chosen.is_some()
    }

    /// With threads of ordinary scheduling that measure, or not.
    pub(crate) fn measured_by(mut self, ordinary_threads: bool) -> Self {
        self.has_ordinary_threads = ordinary_threads;
        self
    }

    /// Whether what is to be on time has no real-time policy, here or in a program.
    pub(crate) fn measures_ordinary(&self) -> bool {
        self.is_ordinary || self.has_ordinary_threads
    }

    /// Without what the running kernel was booted with: another one is asked about.
    pub(crate) fn not_running(mut self) -> Self {
        (self.arguments, self.isolated) = (Arguments::default(), Vec::new());
        self.set_apart = OnceCell::from(None);
        self
    }

    /// Whether no thread of a program that is measured has a real-time policy.
    pub(crate) fn is_ordinary(&self) -> bool {
        self.is_ordinary
    }

    /// The process that is measured, where it is another one.
    pub(crate) fn program(&self) -> Option<u32> {
        self.program
    }

    /// Whether a process is what is measured or measures, which is not in its own way.
    pub(crate) fn is_spared(&self, process: u32) -> bool {
        let own = self.root().is_system().then(std::process::id);
        let spared = || {
            own.into_iter()
                .chain(self.program)
                .flat_map(|process| thread::with_descendants(self.threads(), process))
        };
        self.spared.get_or_init(|| spared().collect()).contains(&process)
    }

    /// Whether its processor is an x86 one, where that is known.
    pub(crate) fn is_x86(&self) -> Option<bool> {
        if let Some(name) = self.text("proc/sys/kernel/arch") {
            return Some(name == "x86_64" || name.starts_with('i') && name.ends_with("86"));
        }
        // Kernels before 6.1 do not say it, and their processors have other lines.
        let info = self.text("proc/cpuinfo")?;
        let has = |begin: &str| info.lines().any(|line| line.starts_with(begin));
        let is_other = has("CPU implementer") || has("isa");
        (is_other || has("flags")).then_some(!is_other)
    }

    /// Whether its kernel is preemptible nearly everywhere.
    pub fn has_preempt_rt(&self) -> bool {
        let (version, realtime) = (self.text("proc/version"), self.text("sys/kernel/realtime"));
        kernel::preemption(version.as_deref(), realtime.as_deref()) == Some("PREEMPT_RT")
    }

    /// How the kernel is locked down, where it is. Then nobody can read most of debugfs, not even
    /// root.
    pub(crate) fn lockdown(&self) -> Option<String> {
        let text = self.text("sys/kernel/security/lockdown")?;
        let mode = text.split_once('[')?.1.split_once(']')?.0;
        (mode != "none").then(|| mode.to_owned())
    }

    /// Whether a co-kernel shares the machine with Linux.
    pub fn has_co_kernel(&self) -> bool {
        if let Some(config) = &self.options.config {
            return config.has("XENOMAI") || config.has("EVL");
        }
        self.exists("proc/xenomai/version") || self.exists("sys/class/evl/control/state")
    }

    /// CPUs that somebody set apart, whether they are asked about or not.
    pub(crate) fn set_apart(&self) -> Option<&SetApart> {
        let find = || SetApart::of(&self.files, &self.arguments, &self.online, &self.isolated);
        self.set_apart.get_or_init(find).as_ref()
    }

    /// CPUs that are to be on time: those that were named, or that are set apart, or all.
    pub fn measured(&self) -> Vec<CpuId> {
        if let Some(cpus) = &self.options.cpus {
            return cpus.clone();
        }
        self.set_apart().map_or_else(|| self.online.clone(), |apart| apart.cpus.clone())
    }

    /// CPUs that are isolated, and on which nothing can run because they are offline.
    pub(crate) fn offline_isolated(&self) -> &[CpuId] {
        &self.offline_isolated
    }

    /// CPUs that the kernel's arguments are to set apart: those that are to be on time and, where
    /// nobody named these, isolated ones that are offline, which may come online again.
    pub fn to_isolate(&self) -> Vec<CpuId> {
        let mut cpus = self.measured();
        if self.options.cpus.is_none() && self.has_chosen_cpus() {
            cpus.extend(&self.offline_isolated);
            return sorted(cpus);
        }
        cpus
    }

    /// Whether somebody gave some CPUs to what is to be on time, by naming them or setting them
    /// apart.
    pub fn has_chosen_cpus(&self) -> bool {
        !self.others().is_empty() && self.chosen != Some(false)
    }

    /// CPUs that are left for everything else.
    pub fn others(&self) -> Vec<CpuId> {
        without(&self.online, &self.measured())
    }

    /// Every thread that can be seen.
    pub(crate) fn threads(&self) -> &[Thread] {
        self.threads.get_or_init(|| thread::all(&self.files, &self.root().process_lines()))
    }

    /// The timers of each CPU, where they can be listed in a short time: the kernel takes a time
    /// for it that grows with the square of their number, and holds a lock meanwhile that
    /// delays them. Each thread that sleeps for a time has one.
    pub(crate) fn timer_list(&self) -> Option<String> {
        if self.threads().len() > MAX_LISTED_TIMERS { None } else { self.text("proc/timer_list") }
    }

    /// The numbers of the processes of this name.
    pub fn processes(&self, name: &str) -> Vec<u32> {
        self.threads()
            .iter()
            .filter(|thread| thread.id == thread.pid && thread.name == name)
            .map(|thread| thread.pid)
            .collect()
    }

    /// Version and patch level of the kernel, of a release such as `6.1.0-56-rt-amd64`.
    pub(crate) fn kernel_version(&self) -> Option<(u32, u32)> {
        kernel_version(&self.text("proc/sys/kernel/osrelease")?)
    }

    /// The kernel's configuration, or why it is not known.
    pub fn config(&self) -> Result<&KernelConfig, String> {
        if let Some(config) = &self.options.config {
            return Ok(config);
        }
        self.config
            .get_or_init(|| KernelConfig::of_machine(self.root()))
            .as_ref()
            .map_err(Clone::clone)
    }

    /// The names of arguments that the running kernel's image holds, or why they are not known;
    /// none where the image is not there. To read it takes some 100 ms.
    pub(crate) fn image(&self) -> Option<Result<&ImageNames, &ImageError>> {
        let find = || {
            let names = self.arguments.words().map(|(name, _)| name.to_owned());
            ImageNames::of_machine(self.root(), names.chain([MANAGED_IRQ_FLAG.to_owned()]))
        };
        Some(self.image.get_or_init(find).as_ref()?.as_ref())
    }

    #[cfg(test)]
    pub(crate) fn has_read_image(&self) -> bool {
        self.image.get().is_some()
    }

    /// Whether the running kernel's image holds a name, where that is certain.
    pub(crate) fn image_holds(&self, name: &str) -> Option<bool> {
        self.image()?.ok()?.holds(name)
    }
}

/// What the machine is looked at for.
#[derive(Clone, Debug)]
pub struct CheckOptions {
    /// What it is used for, which weighs findings.
    pub purpose: Purpose,
    /// CPUs that measure, or run what must be on time. None: those that are set apart, or all where
    /// none is.
    pub cpus: Option<Vec<CpuId>>,
    /// The real-time priority of that.
    pub priority: u8,
    /// The configuration of the kernel, where another than the running one's is asked about.
    pub config: Option<KernelConfig>,
    /// Flags that change what `teiji check` prints and not what it finds: a command that it advises
    /// has them too.
    pub output_flags: Vec<String>,
}

impl Default for CheckOptions {
    fn default() -> Self {
        CheckOptions {
            purpose: Purpose::Measure,
            cpus: None,
            priority: Scheduling::DEFAULT.rank(),
            config: None,
            output_flags: Vec::new(),
        }
    }
}

impl CheckOptions {
    /// Of a machine that measures.
    pub(crate) fn to_measure(cpus: Option<Vec<CpuId>>, priority: u8) -> CheckOptions {
        CheckOptions { cpus, priority, ..CheckOptions::default() }
    }
}
