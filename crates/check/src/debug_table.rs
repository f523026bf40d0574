// SPDX-License-Identifier: MIT OR Apache-2.0
//! Options and arguments that make the kernel check itself. What each costs is the phrase with the
//! option's name for its key. Those of `docs/check.md` that cost nothing while nobody uses them are
//! not here.

/// Options that make the kernel check itself.
pub(crate) const DEBUG_OPTIONS: [&str; 36] = [
    "PROVE_LOCKING",
    "LOCKDEP",
    "LOCK_STAT",
    "DEBUG_LOCK_ALLOC",
    "DEBUG_PREEMPT",
    "DEBUG_ATOMIC_SLEEP",
    "DEBUG_MUTEXES",
    "DEBUG_RT_MUTEXES",
    "DEBUG_SPINLOCK",
    "DEBUG_RWSEMS",
    "DEBUG_OBJECTS",
    "DEBUG_KMEMLEAK",
    "DEBUG_PAGEALLOC_ENABLE_DEFAULT",
    "DEBUG_TIMEKEEPING",
    "DEBUG_VM",
    "DEBUG_VM_PGFLAGS",
    "DEBUG_VIRTUAL",
    "DEBUG_IRQFLAGS",
    "SLUB_DEBUG_ON",
    "SLUB_STATS",
    "KASAN",
    "KMSAN",
    "KCSAN",
    "UBSAN_ALIGNMENT",
    "UBSAN_SIGNED_WRAP",
    "UBSAN_INTEGER_WRAP",
    "KCOV_INSTRUMENT_ALL",
    "GCOV_PROFILE_ALL",
    "PROFILE_ALL_BRANCHES",
    "FAILSLAB",
    "FAIL_PAGE_ALLOC",
    "DEBUG_STACKOVERFLOW",
    "DEBUG_SG",
    "TRACE_IRQFLAGS",
    "PREEMPT_TRACER",
    "IRQSOFF_TRACER",
];

/// Those that make some paths slower by little. The others make each lock, allocation or memory
/// access slower.
pub(crate) const LIGHT_OPTIONS: [&str; 14] = [
    "DEBUG_TIMEKEEPING",
    "DEBUG_VM",
    "DEBUG_VIRTUAL",
    "DEBUG_IRQFLAGS",
    "SLUB_STATS",
    "UBSAN_SIGNED_WRAP",
    "UBSAN_INTEGER_WRAP",
    "FAILSLAB",
    "FAIL_PAGE_ALLOC",
    "DEBUG_STACKOVERFLOW",
    "DEBUG_SG",
    "TRACE_IRQFLAGS",
    "PREEMPT_TRACER",
    "IRQSOFF_TRACER",
];

/// Those that others switch on, and that have no switch of their own.
pub(crate) const SELECTED_OPTIONS: [&str; 2] = ["LOCKDEP", "TRACE_IRQFLAGS"];

/// An argument that switches such a check on.
pub(crate) struct DebugArgument {
    pub(crate) name: &'static str,
    /// Values that do; none: any but `-` and `off`.
    pub(crate) values: &'static [&'static str],
    /// Without this option the kernel does not know it.
    pub(crate) option: &'static str,
}

const fn argument(
    name: &'static str,
    values: &'static [&'static str],
    option: &'static str,
) -> DebugArgument {
    DebugArgument { name, values, option }
}

pub(crate) const DEBUG_ARGUMENTS: [DebugArgument; 6] = [
    argument("slub_debug", &[], "SLUB_DEBUG"),
    argument("slab_debug", &[], "SLUB_DEBUG"),
    argument("debug_pagealloc", &["on", "1"], "DEBUG_PAGEALLOC"),
    argument("page_poison", &["on", "1", "y"], "PAGE_POISONING"),
    argument("page_owner", &["on", "1", "y"], "PAGE_OWNER"),
    argument("kmemleak", &["on"], "DEBUG_KMEMLEAK"),
];
