// SPDX-License-Identifier: MIT OR Apache-2.0
//! What to do about causes that the kernel's events show, by what was measured and on what kernel.

use super::words::{cause_name, kind_of};
use crate::language::{texts, tr};
use model::{Account, Cause, Document, Part, PartKind, causes};
use plan::{CpuId, Scheduling};

const MAX_REMEDIES: usize = 6;
/// Causes that are named; of more it is said what the processor did, and not in what.
const MAX_NAMED: usize = 3;

/// What may help.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Remedy {
    /// The CPU's own timers.
    Timers,
    /// Interrupts that other CPUs send.
    OtherCpus,
    /// A device's interrupt, or the softirq behind it.
    Device,
    /// The kernel's work for this CPU.
    KernelWork,
    /// A thread whose real-time priority is as high.
    Priority,
    /// The same, so high that tune lowers it.
    HighPriority,
    /// The measured thread has no real-time priority.
    OrdinaryScheduling,
    /// An ordinary thread ran before a real-time one.
    Turn,
    /// The kernel cannot be preempted everywhere.
    PreemptRt,
    /// It can, and was not there.
    NotPreempted,
    LateTimer,
    IdleStates,
    /// The idle state is the shallowest already.
    Halt,
    Hypervisor,
    Stopped,
    /// The program was late before it slept.
    Own,
    WayBack,
}

/// Each for what it is, the one of the largest latency first. Of accounts from events alone: the
/// lab's are not of a machine that one can tune.
pub(crate) fn remedies(accounts: &[Account], document: &Document) -> Vec<String> {
    // With the CPU of the largest latency: commands name one.
    let mut all: Vec<(Remedy, CpuId, Vec<Cause>)> = Vec::new();
    for cause in causes(accounts) {
        let is_example = |account: &&Account| (account.thread, account.activation) == cause.example;
        let example = accounts.iter().find(is_example);
        let Some((part, _)) = example.and_then(Account::cause) else { continue };
        let thread = document.threads.get(cause.example.0);
        let program = example.and_then(|account| account.program.as_ref());
        let of_program = program.map(|one| (one.priority.unwrap_or(0), one.cpu));
        let of_thread = || thread.map(|one| (one.scheduling.rank(), one.cpu));
        let Some((rank, cpu)) = of_program.or_else(of_thread) else { continue };
        let Some(remedy) = part.evidence.and_then(|_| of(part, rank, document)) else { continue };
        match all.iter_mut().find(|(known, ..)| *known == remedy) {
            Some((.., causes)) => causes.push(cause),
            None => all.push((remedy, cpu, vec![cause])),
        }
    }
    let line = |(remedy, cpu, causes): &(Remedy, CpuId, Vec<Cause>)| {
        let mut names: Vec<String> = causes.iter().map(cause_name).collect();
        if names.len() > MAX_NAMED {
            names = causes.iter().map(|cause| kind_of(cause.kind, cause.evidence)).collect();
            names.sort();
            names.dedup();
        }
        tr!(cause_remedy, causes = names.join(texts::comma.said()), remedy = remedy.said(*cpu))
    };
    all.iter().take(MAX_REMEDIES).map(line).collect()
}

/// `rank` is the priority of the thread that was late, 0 of ordinary scheduling.
fn of(part: &Part, rank: u8, document: &Document) -> Option<Remedy> {
    let name = part.name.as_deref().unwrap_or_default();
    let is_ordinary = rank == 0;
    Some(match part.kind {
        PartKind::HardInterrupt => match name {
            // Of the machine itself: nobody can move them.
            "thermal event" | "APIC error" | "spurious" | "platform" => return None,
            // As x86 and the drivers of other processors' timers call it: arch_timer, riscv-timer.
            _ if name.contains("timer") => Remedy::Timers,
            "rescheduling" | "function call" | "IRQ work" | "IPI" => Remedy::OtherCpus,
            _ => Remedy::Device,
        },
        PartKind::Softirq => match name {
            "TIMER" | "SCHED" | "HRTIMER" | "RCU" => Remedy::KernelWork,
            _ => Remedy::Device,
        },
        PartKind::OtherThread if part.priority.is_some_and(|prio| prio >= rank) => {
            let is_high = part.priority >= Scheduling::DEFAULT.prio;
            if is_high { Remedy::HighPriority } else { Remedy::Priority }
        }
        PartKind::OtherThread | PartKind::PreemptionOff if is_ordinary => {
            Remedy::OrdinaryScheduling
        }
        // The kernel's stopper, which goes before all priorities.
        PartKind::OtherThread if is_stopper(part) => Remedy::KernelWork,
        PartKind::OtherThread => Remedy::Turn,
        PartKind::PreemptionOff => {
            let model = document.host.before.preemption.as_deref();
            if model == Some("PREEMPT_RT") { Remedy::NotPreempted } else { Remedy::PreemptRt }
        }
        PartKind::TimerPending => Remedy::LateTimer,
        PartKind::Idle | PartKind::LeavingIdle if document.instrument.dma_latency_held => {
            Remedy::Halt
        }
        PartKind::Idle | PartKind::LeavingIdle => Remedy::IdleStates,
        PartKind::Stopped => Remedy::Stopped,
        PartKind::Busy | PartKind::Blocked => Remedy::Own,
        PartKind::Hypervisor => Remedy::Hypervisor,
        PartKind::Return | PartKind::Thread => Remedy::WayBack,
        PartKind::InterruptsOff
        | PartKind::OtherCpu
        | PartKind::Scheduling
        | PartKind::Switch
        | PartKind::Unattributed => return None,
    })
}

fn is_stopper(part: &Part) -> bool {
    part.task.as_deref().is_some_and(|task| task.starts_with("migration/"))
}

impl Remedy {
    fn said(self, cpu: CpuId) -> String {
        match self {
            Remedy::Timers => tr!(remedy_timers, cpu),
            Remedy::OtherCpus => tr!(remedy_other_cpus, cpu),
            Remedy::Device => tr!(remedy_device, cpu),
            Remedy::KernelWork => tr!(remedy_kernel_work, cpu),
            Remedy::Priority => tr!(remedy_priority),
            Remedy::HighPriority => tr!(remedy_high_priority, cpu),
            Remedy::OrdinaryScheduling => tr!(remedy_ordinary_scheduling),
            Remedy::Turn => tr!(remedy_turn),
            Remedy::PreemptRt => tr!(remedy_preempt_rt, cpu),
            Remedy::NotPreempted => tr!(remedy_not_preempted),
            Remedy::LateTimer => tr!(remedy_late_timer),
            Remedy::Stopped => tr!(remedy_stopped),
            Remedy::Own => tr!(remedy_own),
            Remedy::IdleStates => tr!(remedy_idle_states, cpu),
            Remedy::Halt => tr!(remedy_halt),
            Remedy::Hypervisor => tr!(remedy_hypervisor),
            Remedy::WayBack => tr!(remedy_way_back),
        }
    }
}
