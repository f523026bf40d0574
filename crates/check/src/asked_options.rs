// SPDX-License-Identifier: MIT OR Apache-2.0
//! The options of a kernel's configuration that checks ask for.

use super::debug_table::{DEBUG_ARGUMENTS, DEBUG_OPTIONS};
use std::collections::HashSet;
use std::sync::LazyLock;

/// Options that checks ask for, beside those of [`DEBUG_OPTIONS`] and [`DEBUG_ARGUMENTS`]. A
/// configuration has ten thousand others, which are not kept: a measuring program has no memory for
/// them.
pub(crate) const ASKED: [&str; 38] = [
    "ARCH_HAS_PREEMPT_LAZY",
    "COMPACTION",
    "CPU_FREQ",
    "CPU_FREQ_DEFAULT_GOV_CONSERVATIVE",
    "CPU_FREQ_DEFAULT_GOV_ONDEMAND",
    "CPU_FREQ_DEFAULT_GOV_PERFORMANCE",
    "CPU_FREQ_DEFAULT_GOV_POWERSAVE",
    "CPU_FREQ_DEFAULT_GOV_SCHEDUTIL",
    "CPU_FREQ_DEFAULT_GOV_USERSPACE",
    "CPU_IDLE",
    "CPU_ISOLATION",
    "DEBUG_KMEMLEAK_DEFAULT_OFF",
    "EVL",
    "EVL_LATENCY_USER",
    "EVL_LATMUS",
    "HIGH_RES_TIMERS",
    "HWLAT_TRACER",
    "HZ",
    "KASAN_HW_TAGS",
    "KSM",
    "MIGRATION",
    "NO_HZ_FULL",
    "PREEMPT",
    "PREEMPT_DYNAMIC",
    "PREEMPT_LAZY",
    "PREEMPT_NONE",
    "PREEMPT_RT",
    "PREEMPT_RT_FULL",
    "PREEMPT_VOLUNTARY",
    "RCU_NOCB_CPU",
    "RCU_NOCB_CPU_ALL",
    "RCU_NOCB_CPU_DEFAULT_ALL",
    "RT_GROUP_SCHED",
    "RT_GROUP_SCHED_DEFAULT_DISABLED",
    "TRANSPARENT_HUGEPAGE",
    "XENOMAI",
    "XENO_DRIVERS_AUTOTUNE",
    "XENO_OPT_TIMING_SCHEDLAT",
];

static ALL_ASKED: LazyLock<HashSet<&str>> = LazyLock::new(|| {
    let of_arguments = DEBUG_ARGUMENTS.iter().map(|debug| debug.option);
    ASKED.into_iter().chain(DEBUG_OPTIONS).chain(of_arguments).collect()
});

pub(crate) fn is_asked(option: &str) -> bool {
    ALL_ASKED.contains(option)
}
