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
    /// The key of its phrase.
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
    debug("PROVE_LOCKING", Heavy, "locks-followed-slow"),
    selected("LOCKDEP", Heavy, "locks-followed"),
    debug("LOCK_STAT", Heavy, "lock-waits-counted"),
    debug("DEBUG_LOCK_ALLOC", Heavy, "locks-followed"),
    debug("DEBUG_PREEMPT", Heavy, "per-cpu-data-checked"),
    debug("DEBUG_ATOMIC_SLEEP", Heavy, "sleeps-checked"),
    debug("DEBUG_MUTEXES", Heavy, "mutexes-checked"),
    debug("DEBUG_RT_MUTEXES", Heavy, "real-time-locks-checked"),
    debug("DEBUG_SPINLOCK", Heavy, "spinlocks-checked"),
    debug("DEBUG_RWSEMS", Heavy, "semaphores-checked"),
    debug("DEBUG_OBJECTS", Heavy, "timers-followed"),
    debug("DEBUG_KMEMLEAK", Heavy, "allocations-followed"),
    debug("DEBUG_PAGEALLOC_ENABLE_DEFAULT", Heavy, "freed-pages-unmapped"),
    debug("DEBUG_TIMEKEEPING", Light, "clock-checked"),
    debug("DEBUG_VM", Light, "memory-checks-itself"),
    debug("DEBUG_VM_PGFLAGS", Heavy, "page-flags-checked"),
    debug("DEBUG_VIRTUAL", Light, "translations-checked"),
    debug("DEBUG_IRQFLAGS", Light, "interrupt-flag-checked"),
    debug("SLUB_DEBUG_ON", Heavy, "allocations-poisoned"),
    debug("SLUB_STATS", Light, "allocations-counted"),
    debug("KASAN", Heavy, "accesses-checked-slow"),
    debug("KMSAN", Heavy, "accesses-checked-slower"),
    debug("KCSAN", Heavy, "accesses-delayed"),
    debug("UBSAN_ALIGNMENT", Heavy, "alignment-checked"),
    debug("UBSAN_SIGNED_WRAP", Light, "signed-arithmetic-checked"),
    debug("UBSAN_INTEGER_WRAP", Light, "arithmetic-checked"),
    debug("KCOV_INSTRUMENT_ALL", Heavy, "branches-recorded"),
    debug("GCOV_PROFILE_ALL", Heavy, "branches-counted"),
    debug("PROFILE_ALL_BRANCHES", Heavy, "branches-counted"),
    debug("FAILSLAB", Light, "allocations-may-fail"),
    debug("FAIL_PAGE_ALLOC", Light, "page-allocations-may-fail"),
    debug("DEBUG_STACKOVERFLOW", Light, "stack-checked"),
    debug("DEBUG_SG", Light, "page-lists-checked"),
    selected("TRACE_IRQFLAGS", Light, "interrupt-flag-followed"),
    debug("PREEMPT_TRACER", Light, "preemption-traced"),
    debug("IRQSOFF_TRACER", Light, "interrupts-off-traced"),
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
    argument("slub_debug", &[], "SLUB_DEBUG", "allocations-checked"),
    argument("slab_debug", &[], "SLUB_DEBUG", "allocations-checked"),
    argument("debug_pagealloc", &["on", "1"], "DEBUG_PAGEALLOC", "freed-pages-unmapped"),
    argument("page_poison", &["on", "1", "y"], "PAGE_POISONING", "freed-pages-overwritten"),
    argument("page_owner", &["on", "1", "y"], "PAGE_OWNER", "pages-recorded"),
    argument("kmemleak", &["on"], "DEBUG_KMEMLEAK", "allocations-followed"),
];
