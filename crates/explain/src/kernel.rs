// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the kernel's functions are to a wake-up. All names of functions stand here, so that what
//! differs in another kernel has one place.

use crate::code::Code;
use crate::symbols::{SymbolId, Symbols};
use model::Source;
use std::collections::HashMap;

/// Finds the place in the source of an address.
pub type FindSource<'a> = &'a dyn Fn(u64) -> Option<Source>;

/// How the processor comes into the kernel other than by a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entrance {
    Interrupt,
    /// An exception after which the instruction is begun again, such as a page fault.
    Fault,
    /// An exception that an instruction asks for by being done, such as a breakpoint.
    Trap,
    SystemCall,
}

/// What a function is to a wake-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    Softirqs,
    /// It chooses the next thread.
    Schedules,
    /// It changes from one thread to another.
    Switches,
    /// Of these, the one in which the stack changes.
    SwitchesStack,
    /// A new thread's first function, which calls all that it does in the kernel.
    BeginsThread,
    /// It makes a thread runnable.
    Wakes,
    /// It handles the timer's interrupt: whatever is due by then, sleeping threads among it.
    TimesOut,
    /// It is the kernel's own tick, which that may run.
    Ticks,
    /// It stands for the end of another function.
    ReturnThunk,
    /// It is no function of its own, but only how locks and interrupts are handled.
    Helper,
    /// As that, and in it the processor waits for another CPU.
    Waits,
    Idles,
    /// It is part of the way into the kernel or out of it, not a function of its own.
    Entry,
}

/// The kernel's symbols, and which of them have a meaning here.
pub struct Kernel<'a> {
    symbols: &'a Symbols,
    source: Option<FindSource<'a>>,
    roles: HashMap<SymbolId, Role>,
    entrances: HashMap<u64, Entrance>,
    /// The stubs of device interrupts, which have one symbol together.
    stubs: std::ops::Range<u64>,
    /// The table of exception vectors of an arm64 kernel, if it is one.
    vectors: Option<SymbolId>,
}

/// Functions by what they are to a wake-up.
const ROLES: [(Role, &[&str]); 11] = [
    (Role::Softirqs, &["__do_softirq", "handle_softirqs", "run_ksoftirqd"]),
    (Role::Schedules, &["__schedule"]),
    (Role::Switches, &["__switch_to", "finish_task_switch", "switch_mm_irqs_off"]),
    (Role::BeginsThread, &["ret_from_fork", "ret_from_fork_asm"]),
    (Role::SwitchesStack, &["__switch_to_asm", "cpu_switch_to"]),
    (Role::Wakes, &["try_to_wake_up", "wake_up_process"]),
    (Role::TimesOut, &["hrtimer_interrupt"]),
    (
        Role::Ticks,
        &[
            "tick_sched_timer",
            "tick_nohz_handler",
            "tick_nohz_highres_handler",
            "tick_sched_handle",
        ],
    ),
    (Role::Idles, &["do_idle", "cpu_startup_entry", "default_idle_call", "cpu_idle_poll"]),
    (
        Role::Waits,
        &[
            "native_queued_spin_lock_slowpath",
            "__pv_queued_spin_lock_slowpath",
            "queued_read_lock_slowpath",
            "queued_write_lock_slowpath",
            "osq_lock",
            "mutex_spin_on_owner",
            "rwsem_spin_on_owner",
            "rtmutex_spin_on_owner",
        ],
    ),
    (
        Role::ReturnThunk,
        &[
            "__x86_return_thunk",
            "zen_untrain_ret",
            "retbleed_return_thunk",
            "srso_return_thunk",
            "its_return_thunk",
        ],
    ),
];
/// Exceptions that are traps, and those that QEMU raises once their instruction is counted.
const TRAPS: [&str; 6] = [
    "asm_exc_int3",
    "asm_exc_debug",
    "asm_exc_overflow",
    "asm_exc_invalid_op",
    "asm_exc_device_not_available",
    "asm_exc_bounds",
];
const SYSTEM_CALLS: [&str; 4] =
    ["entry_SYSCALL_64", "entry_SYSCALL_compat", "entry_SYSENTER_compat", "asm_int80_emulation"];
const INTERRUPTS: [&str; 3] = ["asm_common_interrupt", "asm_spurious_interrupt", "asm_exc_nmi"];
/// How names of the code begin that is the way into the kernel and out of it.
const ENTRIES: [&str; 11] = [
    "entry_SYS",
    "syscall_return_via_sysret",
    "swapgs_restore_regs_and_return_to_usermode",
    "common_interrupt_return",
    "restore_regs_and_return_to_kernel",
    "native_irq_return",
    "error_entry",
    "error_return",
    "paranoid_",
    "ret_to_user",
    "ret_to_kernel",
];
/// The table of an arm64 kernel by which the processor comes into it, and what one of its places
/// leads to.
const VECTORS: [&str; 2] = ["vectors", "el1h_64_irq"];
/// The places of that table lie this far apart. The first four are for a stack that Linux does not
/// use; then come four for the kernel, and four each for programs of 64 and 32 bits.
const VECTOR: u64 = 0x80;
const VECTORS_USED: std::ops::Range<u64> = 4..16;
const VECTORS_OF_PROGRAMS: std::ops::Range<u64> = 8..16;

impl<'a> Kernel<'a> {
    pub fn new(symbols: &'a Symbols) -> Self {
        let mut roles = HashMap::new();
        for (id, name) in symbols.all() {
            // What the compiler makes of a function keeps its name: finish_task_switch.isra.0.
            let base = name.split('.').next().unwrap_or(name);
            let listed =
                ROLES.iter().find(|(_, names)| names.contains(&base)).map(|(role, _)| *role);
            let helper = || is_helper(base).then_some(Role::Helper);
            let entry =
                || ENTRIES.iter().any(|begin| base.starts_with(begin)).then_some(Role::Entry);
            if let Some(role) = listed.or_else(helper).or_else(entry) {
                roles.insert(id, role);
            }
        }
        let mut entrances = HashMap::new();
        for (id, name) in symbols.all() {
            let entrance = if TRAPS.contains(&name) {
                Entrance::Trap
            } else if name.starts_with("asm_sysvec_") || INTERRUPTS.contains(&name) {
                Entrance::Interrupt
            } else if name.starts_with("asm_exc_") {
                Entrance::Fault
            } else if SYSTEM_CALLS.contains(&name) {
                Entrance::SystemCall
            } else {
                continue;
            };
            entrances.insert(symbols.begin(id), entrance);
        }
        let table = symbols.address(VECTORS[0]).filter(|_| symbols.address(VECTORS[1]).is_some());
        for (place, address) in
            VECTORS_USED.filter_map(|place| Some((place, table?.checked_add(place * VECTOR)?)))
        {
            // Of each four: what an instruction does, interrupts, fast interrupts, and errors of
            // the system.
            let entrance = if place % 4 == 0 { Entrance::Fault } else { Entrance::Interrupt };
            entrances.insert(address, entrance);
        }
        let vectors = table.and_then(|address| symbols.find(address));
        let stubs = symbols.address("irq_entries_start").map_or(0..0, |begin| {
            let end = symbols.find(begin).and_then(|id| symbols.end(id)).unwrap_or(begin);
            begin..end
        });
        Kernel { symbols, source: None, roles, entrances, stubs, vectors }
    }

    /// With the lines of its source, by address.
    pub fn with_source(self, find: FindSource<'a>) -> Self {
        Kernel { source: Some(find), ..self }
    }

    pub(crate) const fn source(&self) -> Option<FindSource<'a>> {
        self.source
    }

    /// Their names and addresses.
    pub const fn symbols(&self) -> &'a Symbols {
        self.symbols
    }

    /// What the processor does if it comes to this address other than by a call or jump.
    pub(crate) fn entrance(&self, address: u64) -> Option<Entrance> {
        if self.stubs.contains(&address) {
            return Some(Entrance::Interrupt);
        }
        self.entrances.get(&address).copied()
    }

    /// Whether this is a place of the table that the processor comes to from a program.
    pub(crate) fn is_entered_from_user(&self, address: u64) -> bool {
        let begin = self.vectors.map(|table| self.symbols.begin(table));
        begin.is_some_and(|begin| {
            VECTORS_OF_PROGRAMS.contains(&(address.wrapping_sub(begin) / VECTOR))
        })
    }

    /// Whether the processor comes into it by such a table.
    pub(crate) const fn has_vectors(&self) -> bool {
        self.vectors.is_some()
    }

    /// Whether code is but the table that leads to what handles an exception.
    pub(crate) fn is_vectors(&self, code: Code) -> bool {
        matches!(code, Code::Function(id) if self.vectors == Some(id))
    }

    /// The name of code, or its address where it has none.
    pub(crate) fn name(&self, code: Code) -> String {
        match code {
            Code::Function(id) => self.symbols.name(id).to_owned(),
            Code::Unnamed(address) => format!("{address:#x}"),
            Code::User => "user space".to_owned(),
        }
    }

    /// What a function is to a wake-up.
    pub(crate) fn role(&self, code: Code) -> Option<Role> {
        match code {
            Code::Function(id) => self.roles.get(&id).copied(),
            _ => None,
        }
    }
}

/// Whether functions of this name only take locks, or switch interrupts or preemption.
fn is_helper(name: &str) -> bool {
    const BEGINS: [&str; 5] =
        ["_raw_spin_", "_raw_read_", "_raw_write_", "rt_spin_", "native_queued_spin_"];
    const NAMES: [&str; 10] = [
        "local_irq_save",
        "local_irq_restore",
        "arch_local_irq_save",
        "arch_local_irq_restore",
        "arch_local_irq_disable",
        "arch_local_irq_enable",
        "preempt_count_add",
        "preempt_count_sub",
        "__local_bh_disable_ip",
        "__local_bh_enable_ip",
    ];
    BEGINS.iter().any(|begin| name.starts_with(begin)) || NAMES.contains(&name)
}
