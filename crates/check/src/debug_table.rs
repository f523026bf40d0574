// SPDX-License-Identifier: MIT OR Apache-2.0
//! Options and arguments that make the kernel check itself, and what each costs. Those of
//! `docs/check.md` that cost nothing while nobody uses them are not here.

/// What a self-check does to latencies.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Weight {
    /// Each lock, allocation or memory access is slower.
    Heavy,
    /// Some paths are slower by little.
    Light,
}

use Weight::{Heavy, Light};

/// An option that makes the kernel check itself.
pub(crate) struct DebugOption {
    pub(crate) option: &'static str,
    pub(crate) cost: &'static str,
    pub(crate) weight: Weight,
    /// Whether others switch it on, and it has no switch of its own.
    pub(crate) is_selected: bool,
}

pub(crate) const fn debug(option: &'static str, weight: Weight, cost: &'static str) -> DebugOption {
    DebugOption { option, cost, weight, is_selected: false }
}

pub(crate) const fn selected(
    option: &'static str,
    weight: Weight,
    cost: &'static str,
) -> DebugOption {
    DebugOption { option, cost, weight, is_selected: true }
}

pub(crate) const DEBUG_OPTIONS: [DebugOption; 36] = [
    debug("PROVE_LOCKING", Heavy, "each lock is followed: several times slower"),
    selected("LOCKDEP", Heavy, "each lock is followed"),
    debug("LOCK_STAT", Heavy, "each wait for a lock is counted"),
    debug("DEBUG_LOCK_ALLOC", Heavy, "each lock is followed"),
    debug("DEBUG_PREEMPT", Heavy, "each use of per-CPU data is checked"),
    debug("DEBUG_ATOMIC_SLEEP", Heavy, "each possible sleep is checked"),
    debug("DEBUG_MUTEXES", Heavy, "mutexes are checked"),
    debug("DEBUG_RT_MUTEXES", Heavy, "locks of PREEMPT_RT are checked"),
    debug("DEBUG_SPINLOCK", Heavy, "spinlocks are checked"),
    debug("DEBUG_RWSEMS", Heavy, "semaphores are checked"),
    debug("DEBUG_OBJECTS", Heavy, "each timer and work item is followed"),
    debug("DEBUG_KMEMLEAK", Heavy, "each allocation is followed, and memory is scanned"),
    debug("DEBUG_PAGEALLOC_ENABLE_DEFAULT", Heavy, "each freed page is unmapped"),
    debug("DEBUG_TIMEKEEPING", Light, "each reading of the clock is checked"),
    debug("DEBUG_VM", Light, "memory management checks itself"),
    debug("DEBUG_VM_PGFLAGS", Heavy, "each use of a page's flags is checked"),
    debug("DEBUG_VIRTUAL", Light, "each translation of an address is checked"),
    debug("DEBUG_IRQFLAGS", Light, "each change of the interrupt flag is checked"),
    debug("SLUB_DEBUG_ON", Heavy, "each allocation is poisoned and checked"),
    debug("SLUB_STATS", Light, "each allocation is counted"),
    debug("KASAN", Heavy, "each memory access is checked: 2 to 3 times slower"),
    debug("KMSAN", Heavy, "each memory access is checked: several times slower"),
    debug("KCSAN", Heavy, "each memory access is checked, with delays"),
    debug("UBSAN_ALIGNMENT", Heavy, "the alignment of each memory access is checked"),
    debug("UBSAN_SIGNED_WRAP", Light, "signed arithmetic is checked"),
    debug("UBSAN_INTEGER_WRAP", Light, "arithmetic is checked"),
    debug("KCOV_INSTRUMENT_ALL", Heavy, "each branch is recorded"),
    debug("GCOV_PROFILE_ALL", Heavy, "each branch is counted"),
    debug("PROFILE_ALL_BRANCHES", Heavy, "each branch is counted"),
    debug("FAILSLAB", Light, "each allocation asks whether it is to fail"),
    debug("FAIL_PAGE_ALLOC", Light, "each allocation of pages asks whether it is to fail"),
    debug("DEBUG_STACKOVERFLOW", Light, "each interrupt checks its stack"),
    debug("DEBUG_SG", Light, "lists of pages of each transfer are checked"),
    selected("TRACE_IRQFLAGS", Light, "each change of the interrupt flag is followed"),
    debug("PREEMPT_TRACER", Light, "the tracer of preemption is hooked into each lock"),
    debug("IRQSOFF_TRACER", Light, "the tracer of disabled interrupts is hooked into each change"),
];

/// An argument that switches such a check on.
pub(crate) struct DebugArgument {
    pub(crate) name: &'static str,
    /// Values that do; none: any but `-` and `off`.
    pub(crate) values: &'static [&'static str],
    /// Without this option the kernel does not know it.
    pub(crate) option: &'static str,
    pub(crate) cost: &'static str,
}

pub(crate) const fn argument(
    name: &'static str,
    values: &'static [&'static str],
    option: &'static str,
    cost: &'static str,
) -> DebugArgument {
    DebugArgument { name, values, option, cost }
}

pub(crate) const DEBUG_ARGUMENTS: [DebugArgument; 6] = [
    argument("slub_debug", &[], "SLUB_DEBUG", "each allocation is checked"),
    argument("slab_debug", &[], "SLUB_DEBUG", "each allocation is checked"),
    argument("debug_pagealloc", &["on", "1"], "DEBUG_PAGEALLOC", "each freed page is unmapped"),
    argument("page_poison", &["on", "1", "y"], "PAGE_POISONING", "each freed page is overwritten"),
    argument("page_owner", &["on", "1", "y"], "PAGE_OWNER", "each allocated page is recorded"),
    argument(
        "kmemleak",
        &["on"],
        "DEBUG_KMEMLEAK",
        "each allocation is followed, and memory is scanned",
    ),
];
