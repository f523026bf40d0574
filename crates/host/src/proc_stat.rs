// SPDX-License-Identifier: MIT OR Apache-2.0
//! /proc/stat: which CPUs are online, and where their time went.
//!
//! Format: proc_stat(5). As the kernel has it, `user` contains `guest` and `nice` contains
//! `guest_nice`; a sum of the states leaves those two out.

use crate::root::{Fault, cpu_number, not_a_number};
use plan::CpuId;
use std::collections::BTreeMap;

/// The columns of a `cpu` line. Kernels before 2.6.33 have fewer; what later ones append is not
/// ours to name.
const STATES: [&str; 10] =
    ["user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal", "guest", "guest_nice"];
/// Fewer columns than any kernel ever wrote.
const MIN_COLUMNS: usize = 4;
/// USER_HZ is 100 in the user space of every architecture Linux still runs on, whatever the
/// kernel's own tick.
pub(crate) const MS_PER_TICK: u64 = 10;

/// The online CPUs in ascending order, each with the time it spent per state, ms. A line that
/// cannot be understood costs that CPU its times, not its existence.
pub fn parse(text: &str, faults: &mut Vec<Fault>) -> BTreeMap<CpuId, BTreeMap<String, u64>> {
    let mut cpus = BTreeMap::new();
    for (index, line) in text.lines().enumerate() {
        let mut words = line.split_ascii_whitespace();
        // The first line, `cpu`, adds all CPUs up; callers that need the sum compute it.
        let Some(number) = words
            .next()
            .and_then(|word| word.strip_prefix("cpu"))
            .filter(|number| !number.is_empty())
        else {
            continue;
        };
        let Some(cpu) = cpu_number(number) else {
            faults.push(Fault::at(index + 1, "CPU", not_a_number(number)));
            continue;
        };
        let times = times(words, cpu).unwrap_or_else(|(item, error)| {
            faults.push(Fault::at(index + 1, item, error));
            BTreeMap::new()
        });
        cpus.insert(cpu, times);
    }
    if cpus.is_empty() {
        faults.push(Fault::without_line("CPUs", "no line begins with cpu and a number"));
    }
    cpus
}

fn times<'a>(
    words: impl Iterator<Item = &'a str>,
    cpu: CpuId,
) -> Result<BTreeMap<String, u64>, (String, String)> {
    let mut times = BTreeMap::new();
    for (state, word) in STATES.into_iter().zip(words) {
        let ticks: u64 =
            word.parse().map_err(|_| (format!("{state} of CPU {cpu}"), not_a_number(word)))?;
        times.insert(state.to_owned(), ticks.saturating_mul(MS_PER_TICK));
    }
    if times.len() < MIN_COLUMNS {
        return Err((
            format!("times of CPU {cpu}"),
            format!("{} columns, at least {MIN_COLUMNS} are needed", times.len()),
        ));
    }
    Ok(times)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::machines::{GUEST_STAT, PI_STAT};
    use proptest::prelude::*;

    #[test]
    fn times_in_ms_by_name() {
        let mut faults = Vec::new();
        let cpus = parse(GUEST_STAT, &mut faults);
        assert_eq!(faults, []);
        assert_eq!(cpus.keys().copied().collect::<Vec<_>>(), [CpuId(0), CpuId(1)]);
        let second = &cpus[&CpuId(1)];
        assert_eq!(second.len(), 10);
        assert_eq!((second["user"], second["idle"], second["steal"]), (101_300, 1_081_090, 70));
    }

    #[test]
    fn offline_cpus_are_left_out() {
        let cpus = parse(PI_STAT, &mut Vec::new());
        assert_eq!(cpus.keys().copied().collect::<Vec<_>>(), [CpuId(0), CpuId(1), CpuId(3)]);
    }

    #[test]
    fn an_old_kernel_has_fewer_columns() {
        let mut faults = Vec::new();
        let cpus = parse("cpu  1 2 3 4\ncpu0 1 2 3 4\n", &mut faults);
        assert_eq!(faults, []);
        assert_eq!(cpus[&CpuId(0)].len(), 4);
        assert!(!cpus[&CpuId(0)].contains_key("steal"), "what was not counted is not 0");
    }

    #[test]
    fn names_the_line_and_the_item() {
        let mut faults = Vec::new();
        let cpus =
            parse("cpu  1 2 3 4\ncpu0 1 2 3 4\ncpu1 1 2 x 4\ncpu2 1\ncpux 1 2 3 4\n", &mut faults);
        assert_eq!(
            faults,
            [
                Fault::at(3, "system of CPU 1", "'x' is not a number that fits"),
                Fault::at(4, "times of CPU 2", "1 columns, at least 4 are needed"),
                Fault::at(5, "CPU", "'x' is not a number that fits"),
            ]
        );
        assert_eq!(cpus.len(), 3, "a CPU without readable times is still online");
        assert!(cpus[&CpuId(1)].is_empty());
    }

    #[test]
    fn no_cpus_at_all_is_a_fault() {
        let mut faults = Vec::new();
        assert!(parse("intr 1 2 3\n", &mut faults).is_empty());
        assert_eq!(faults, [Fault::without_line("CPUs", "no line begins with cpu and a number")]);
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "(cpu[0-9x]{0,12}( -?[0-9a]{1,21}){0,12}\n|\\PC*\n){0,6}") {
            let mut faults = Vec::new();
            let cpus = parse(&text, &mut faults);
            let lines = 1..=text.lines().count();
            let is_of_a_line = |line: usize| lines.contains(&line);
            prop_assert!(faults.iter().all(|fault| fault.line.is_none_or(is_of_a_line)));
            prop_assert!(cpus.values().all(|times| times.is_empty() || times.len() >= MIN_COLUMNS));
        }
    }
}
