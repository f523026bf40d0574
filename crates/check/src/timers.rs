// SPDX-License-Identifier: MIT OR Apache-2.0
//! /proc/timer_list: the high-resolution timers that are armed on each CPU, with the functions that
//! they call.
//!
//! Format: print_cpu() in kernel/time/timer_list.c. A line `now at N nsecs`, then for each CPU
//! `cpu: N`, and for each of its timers ` #0: <address>, function, S:01` and ` # expires at A-B
//! nsecs [in C to D nsecs]`, from its earliest time to its latest.

use plan::CpuId;
use std::collections::BTreeMap;

/// The timers of all CPUs, at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ArmedTimers {
    /// Since boot, ns.
    now_ns: u64,
    /// By CPU and function: the latest times at which they are due, on the same clock. None where
    /// another clock's offset is not said.
    timers: BTreeMap<(CpuId, String), Vec<Option<u64>>>,
}

impl ArmedTimers {
    pub(crate) fn parse(text: &str) -> ArmedTimers {
        let mut found = ArmedTimers::default();
        // Of the first clock, CLOCK_MONOTONIC, the offset is none.
        let (mut cpu, mut offset, mut function) = (None, None, None);
        for line in text.lines().map(str::trim) {
            if let Some(now) = line.strip_prefix("now at ") {
                found.now_ns = first_number(now).unwrap_or(0);
            } else if let Some(number) = line.strip_prefix("cpu: ") {
                cpu = number.parse().ok().map(CpuId);
            } else if let Some(clock) = line.strip_prefix("clock ") {
                offset = (clock == "0:").then_some(0);
            } else if let Some(text) = line.strip_prefix(".offset:") {
                offset = first_number(text);
            } else if line.starts_with("Tick Device:") {
                cpu = None;
            } else if let Some(expiry) = line.strip_prefix("# expires at ") {
                if let (Some(cpu), Some(function)) = (cpu, function.take()) {
                    let latest =
                        expiry.split_once('-').and_then(|(_, latest)| first_number(latest));
                    found.timers.entry((cpu, function)).or_default().push(
                        latest.zip(offset).map(|(latest, offset)| latest.wrapping_sub(offset)),
                    );
                }
            } else if let Some((_, timer)) =
                line.strip_prefix('#').and_then(|line| line.split_once(": "))
            {
                function = timer.split(", ").nth(1).map(str::to_owned);
            }
        }
        found
    }

    /// Of each function on a CPU: how many of its timers were armed before or are now, and how many
    /// of those before were due meanwhile.
    pub(crate) fn since<'a>(
        &'a self,
        before: &'a ArmedTimers,
    ) -> BTreeMap<(CpuId, &'a str), (u64, u64)> {
        let mut found: BTreeMap<(CpuId, &str), (u64, u64)> = BTreeMap::new();
        for (key, times) in before.timers.iter().chain(&self.timers) {
            let (armed, _) = found.entry((key.0, &key.1)).or_default();
            *armed = (*armed).max(count(times.len()));
        }
        for ((cpu, function), times) in &before.timers {
            let due = times.iter().flatten().filter(|time| **time <= self.now_ns).count();
            if let Some((_, fired)) = found.get_mut(&(*cpu, function.as_str())) {
                *fired = count(due);
            }
        }
        found
    }
}

fn count(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}

fn first_number(text: &str) -> Option<u64> {
    text.split_ascii_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LIST: &str = include_str!("tests/timer-list");

    #[test]
    fn the_timers_of_each_cpu() {
        let list = ArmedTimers::parse(LIST);
        assert_eq!(list.now_ns, 1_000_000_000);
        let timers: Vec<(u32, &str, &[Option<u64>])> = list
            .timers
            .iter()
            .map(|((cpu, function), times)| (cpu.0, function.as_str(), times.as_slice()))
            .collect();
        let expected: [(u32, &str, &[Option<u64>]); 4] = [
            (0, "hrtimer_wakeup", &[Some(1_500_050_000), Some(6_000_000_000)]),
            (0, "tick_nohz_handler", &[Some(1_004_000_000)]),
            (0, "timerfd_tmrproc", &[Some(9_000_000_000)]),
            (1, "tick_nohz_handler", &[Some(1_008_000_000)]),
        ];
        assert_eq!(timers, expected);
    }

    #[test]
    fn those_that_were_due_meanwhile() {
        let (before, mut after) = (ArmedTimers::parse(LIST), ArmedTimers::parse(LIST));
        after.now_ns = 2_000_000_000;
        after.timers.insert((CpuId(1), "hrtimer_wakeup".to_owned()), vec![Some(3_000_000_000)]);
        let found: Vec<_> = after.since(&before).into_iter().collect();
        let expected = [
            ((CpuId(0), "hrtimer_wakeup"), (2, 1)),
            ((CpuId(0), "tick_nohz_handler"), (1, 1)),
            ((CpuId(0), "timerfd_tmrproc"), (1, 0)),
            ((CpuId(1), "hrtimer_wakeup"), (1, 0)),
            ((CpuId(1), "tick_nohz_handler"), (1, 1)),
        ];
        assert_eq!(found, expected);
    }

    proptest! {
        #[test]
        fn no_text_panics(
            text in "(cpu: [0-9]|now at [0-9]{1,3}|#[0-9]: <0>, [a-z]{1,2}, S|\
                # expires at [0-9-]{0,5}|.offset: [0-9]*|clock [01]:|\n| ){0,20}|\\PC*",
        ) {
            let list = ArmedTimers::parse(&text);
            let _ = list.since(&list);
        }
    }
}
