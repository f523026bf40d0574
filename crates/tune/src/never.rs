// SPDX-License-Identifier: MIT OR Apache-2.0
//! Settings that are never touched, on any machine or on one like this, and why.

use check::{Machine, has_fair_server};

/// A setting that is left alone, whatever is asked for.
#[derive(Debug)]
pub struct NeverTouched {
    pub setting: &'static str,
    pub why: &'static str,
    /// The check whose change it is.
    pub(super) check: Option<&'static str>,
    /// The machines on which it is left alone.
    applies: fn(&Machine<'_>) -> bool,
}

const RULES: &[NeverTouched] = &[
    NeverTouched {
        setting: "RT throttling (kernel.sched_rt_runtime_us)",
        why: "Without PREEMPT_RT, softirqs and RCU run in threads of ordinary priority. A \
              real-time thread that never sleeps starves them, and the whole machine hangs.",
        check: Some("rt-throttling"),
        applies: |machine| !machine.has_preempt_rt(),
    },
    NeverTouched {
        setting: "RT throttling (kernel.sched_rt_runtime_us)",
        why: "From Linux 6.12 on it no longer decides: the fair server of each CPU serves \
              ordinary threads that starve. teiji check --for telco has the command that \
              switches it off.",
        check: Some("rt-throttling"),
        applies: |machine| machine.has_preempt_rt() && has_fair_server(machine),
    },
    NeverTouched {
        setting: "the clocksource",
        why: "The co-kernel of this machine keeps its own time beside Linux's. Another \
              clocksource makes the two drift apart.",
        check: Some("clocksource"),
        applies: |machine| machine.has_co_kernel(),
    },
    NeverTouched {
        setting: "priorities of kworkers, ksoftirqd and RCU's threads, upwards",
        why: "At a real-time priority their work comes before what is to be on time, and on \
              kernels without PREEMPT_RT it can starve the machine.",
        check: None,
        applies: |_| true,
    },
    NeverTouched {
        setting: "whether a CPU is online",
        why: "Taking it offline moves its threads and interrupts. Taking it online again does \
              not move them back.",
        check: None,
        applies: |_| true,
    },
    NeverTouched {
        setting: "swap",
        why: "swapoff can run out of memory, and nothing swaps the same pages out again. Lock \
              the program's memory (mlockall).",
        check: None,
        applies: |machine| machine.text("proc/swaps").is_some_and(|text| text.lines().count() > 1),
    },
    NeverTouched {
        setting: "pages that KSM has merged (2 in /sys/kernel/mm/ksm/run)",
        why: "Unmerging can run out of memory, and nothing merges the same pages again. KSM \
              is stopped, and keeps what it merged.",
        check: None,
        applies: |machine| machine.number("sys/kernel/mm/ksm/run") == Some(1),
    },
    NeverTouched {
        setting: "limits of the CPUs' frequency from above (scaling_max_freq)",
        why: "Somebody or the firmware chose them, most often because of heat or a weak \
              supply.",
        check: None,
        applies: |machine| machine.exists("sys/devices/system/cpu/cpu0/cpufreq/scaling_max_freq"),
    },
];

/// What is never touched on this machine.
pub(super) fn on(machine: &Machine<'_>) -> Vec<&'static NeverTouched> {
    RULES.iter().filter(|never| (never.applies)(machine)).collect()
}
