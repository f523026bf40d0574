// SPDX-License-Identifier: MIT OR Apache-2.0
//! The machine that is looked at, and what several checks want to know of it.

use super::CheckOptions;
use super::arguments::Arguments;
use super::config::{KernelConfig, version_of};
use super::cpuset;
use super::thread::{self, Thread};
use host::{HostRoot, cpu, kernel, regular_file};
use plan::{CpuId, CpuList};
use std::cell::{Cell, OnceCell, RefCell};
use std::io::{self, ErrorKind};

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

    #[must_use]
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
    root: &'a HostRoot,
    pub options: &'a CheckOptions,
    pub online: Vec<CpuId>,
    /// Those that are isolated from the scheduler's balancing, online or not.
    pub isolated: Vec<CpuId>,
    /// Those of them on which nothing runs now.
    offline_isolated: Vec<CpuId>,
    pub arguments: Arguments,
    config: OnceCell<Result<KernelConfig, String>>,
    threads: OnceCell<Vec<Thread>>,
    /// A process that is measured, and is not in its own way.
    program: Option<u32>,
    /// Whether no thread that is measured has a real-time policy.
    is_ordinary: bool,
    spared: OnceCell<Vec<u32>>,
    /// Whether somebody set CPUs apart, where that is known otherwise than by their number.
    chosen: Option<bool>,
    /// Files and folders that were read.
    reads: Cell<u64>,
    /// Files that are there and could not be read, since this was asked last.
    unreadable: RefCell<Vec<String>>,
}

impl<'a> Machine<'a> {
    pub fn new(root: &'a HostRoot, options: &'a CheckOptions) -> Machine<'a> {
        let text = |path: &str| root.text(path).ok();
        let cpus = |path: &str| cpu::list(&text(path)?);
        let online = cpus("sys/devices/system/cpu/online");
        let is_online_known = online.is_some();
        let mut machine = Machine {
            root,
            options,
            online: online.unwrap_or_else(|| vec![CpuId(0)]),
            isolated: root.isolated_cpus(),
            offline_isolated: Vec::new(),
            arguments: Arguments::of(
                &text("proc/cmdline").unwrap_or_default(),
                text("proc/sys/kernel/osrelease").and_then(|release| version_of(&release)),
            ),
            config: OnceCell::new(),
            threads: OnceCell::new(),
            program: None,
            is_ordinary: false,
            spared: OnceCell::new(),
            chosen: None,
            reads: Cell::new(0),
            unreadable: RefCell::default(),
        };
        machine.isolated.extend(cpuset::isolated(&machine));
        machine.isolated.sort_unstable();
        machine.isolated.dedup();
        if is_online_known {
            machine.offline_isolated = machine
                .isolated
                .iter()
                .copied()
                .filter(|cpu| !machine.online.contains(cpu))
                .collect();
        }
        machine
    }

    /// As it is during a run on CPUs that somebody set apart, or not, and that measures a process.
    pub(super) fn in_run(mut self, chosen: bool, program: Option<u32>, is_ordinary: bool) -> Self {
        (self.chosen, self.program, self.is_ordinary) = (Some(chosen), program, is_ordinary);
        self
    }

    /// Whether no thread that is measured has a real-time policy.
    pub(super) fn is_ordinary(&self) -> bool {
        self.is_ordinary
    }

    /// The process that is measured, where it is another one.
    pub(super) fn program(&self) -> Option<u32> {
        self.program
    }

    /// Whether a process is what is measured or measures, which is not in its own way.
    pub(super) fn is_spared(&self, process: u32) -> bool {
        let own = self.root.is_system().then(std::process::id);
        let spared = || {
            own.into_iter()
                .chain(self.program)
                .flat_map(|process| thread::with_descendants(self.threads(), process))
        };
        self.spared.get_or_init(|| spared().collect()).contains(&process)
    }

    pub fn root(&self) -> &HostRoot {
        self.root
    }

    /// Whether its kernel is preemptible nearly everywhere.
    pub fn has_preempt_rt(&self) -> bool {
        let (version, realtime) = (self.text("proc/version"), self.text("sys/kernel/realtime"));
        kernel::preemption(version.as_deref(), realtime.as_deref(), None, None).as_deref()
            == Some("PREEMPT_RT")
    }

    /// How the kernel is locked down, where it is. Then nobody can read most of debugfs, not even
    /// root.
    pub(super) fn lockdown(&self) -> Option<String> {
        let text = self.text("sys/kernel/security/lockdown")?;
        let mode = text.split_once('[')?.1.split_once(']')?.0;
        (mode != "none").then(|| mode.to_owned())
    }

    /// Whether a co-kernel shares the machine with Linux.
    pub fn has_co_kernel(&self) -> bool {
        self.exists("proc/xenomai/version") || self.exists("sys/class/evl/control/state")
    }

    /// CPUs that are to be on time. Of those that are isolated, the online ones.
    pub fn measured(&self) -> Vec<CpuId> {
        if let Some(cpus) = &self.options.cpus {
            return cpus.clone();
        }
        let isolated: Vec<CpuId> = self
            .isolated
            .iter()
            .copied()
            .filter(|cpu| !self.offline_isolated.contains(cpu))
            .collect();
        if isolated.is_empty() { self.online.clone() } else { isolated }
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
            cpus.sort_unstable();
        }
        cpus
    }

    /// Whether somebody gave some CPUs to what is to be on time, by naming or isolating them.
    pub fn has_chosen_cpus(&self) -> bool {
        !self.others().is_empty() && self.chosen != Some(false)
    }

    /// CPUs that are left for everything else.
    pub fn others(&self) -> Vec<CpuId> {
        let measured = self.measured();
        self.online.iter().copied().filter(|cpu| !measured.contains(cpu)).collect()
    }

    /// The text of a file, without what is white around it, where it can be read.
    pub fn text(&self, path: &str) -> Option<String> {
        self.recorded(path, regular_file::read(&self.root.path(path)))
    }

    /// The same of a file that the kernel makes from a process's own memory, such as its command
    /// line.
    pub(crate) fn text_of_process(&self, path: &str) -> Option<String> {
        self.recorded(path, regular_file::read_of_process(&self.root.path(path)))
    }

    fn recorded(&self, path: &str, read: io::Result<Vec<u8>>) -> Option<String> {
        self.reads.set(self.reads.get() + 1);
        match read {
            Ok(bytes) => Some(String::from_utf8_lossy(&bytes).trim().to_owned()),
            Err(error) => {
                if !matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) {
                    self.unreadable.borrow_mut().push(format!("/{path}: {error}"));
                }
                None
            }
        }
    }

    /// How many files and folders were read.
    #[cfg(test)]
    pub(super) fn reads(&self) -> u64 {
        self.reads.get()
    }

    /// Files that could not be read since this was asked last.
    pub(super) fn take_unreadable(&self) -> Vec<String> {
        self.unreadable.take()
    }

    /// The number in a file.
    pub fn number(&self, path: &str) -> Option<i64> {
        self.text(path)?.parse().ok()
    }

    pub fn exists(&self, path: &str) -> bool {
        self.root.path(path).exists()
    }

    /// Names in a folder, sorted, those with numbers by their number.
    pub fn names(&self, path: &str) -> Vec<String> {
        self.reads.set(self.reads.get() + 1);
        let entries = std::fs::read_dir(self.root.path(path)).into_iter().flatten().flatten();
        let mut names: Vec<String> =
            entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.sort_by_key(|name| {
            (
                name.trim_start_matches(|c: char| !c.is_ascii_digit()).parse::<u64>().ok(),
                name.clone(),
            )
        });
        names
    }

    /// The CPUs of a list in a file.
    pub fn cpus(&self, path: &str) -> Option<Vec<CpuId>> {
        let text = self.text(path)?;
        if matches!(text.as_str(), "" | "(null)") { Some(Vec::new()) } else { cpu::list(&text) }
    }

    /// Whether this process may write to a file.
    pub(super) fn can_write(&self, path: &str) -> bool {
        rustix::fs::access(self.root.path(path), rustix::fs::Access::WRITE_OK).is_ok()
    }

    /// Every thread that can be seen.
    pub(super) fn threads(&self) -> &[Thread] {
        self.threads.get_or_init(|| thread::all(self))
    }

    /// The timers of each CPU, where they can be listed in a short time: the kernel takes a time
    /// for it that grows with the square of their number, and holds a lock meanwhile that
    /// delays them. Each thread that sleeps for a time has one.
    pub(super) fn timer_list(&self) -> Option<String> {
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
    pub(super) fn kernel_version(&self) -> Option<(u32, u32)> {
        let release = self.text("proc/sys/kernel/osrelease")?;
        let mut numbers = release
            .split(|letter: char| !letter.is_ascii_digit())
            .map(|number| number.parse().ok());
        Some((numbers.next()??, numbers.next()??))
    }

    /// The kernel's configuration, or why it is not known.
    pub fn config(&self) -> Result<&KernelConfig, String> {
        if let Some(config) = &self.options.config {
            return Ok(config);
        }
        self.config
            .get_or_init(|| KernelConfig::of_machine(self.root))
            .as_ref()
            .map_err(Clone::clone)
    }
}

pub(super) fn cpu_words(cpus: &[CpuId]) -> String {
    let word = if cpus.len() == 1 { "CPU" } else { "CPUs" };
    format!("{word} {}", CpuList::format(cpus))
}
