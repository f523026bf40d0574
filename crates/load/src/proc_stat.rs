// SPDX-License-Identifier: MIT OR Apache-2.0
//! How busy CPUs have been, as the kernel counts in /proc/stat.

use plan::CpuId;

/// Time that each of these CPUs was not idle, ns; nothing if that cannot be read. It moves in
/// ticks.
pub(crate) fn busy_ns(cpus: &[CpuId]) -> Vec<u64> {
    let ticks = rustix::param::clock_ticks_per_second().max(1);
    std::fs::read_to_string("/proc/stat")
        .map(|text| parse(&text, cpus, 1_000_000_000 / ticks))
        .unwrap_or_default()
}

fn parse(text: &str, cpus: &[CpuId], tick_ns: u64) -> Vec<u64> {
    let busy = |cpu: &CpuId| {
        let name = format!("cpu{}", cpu.0);
        let line = text.lines().find_map(|line| line.strip_prefix(&name)?.strip_prefix(' '))?;
        // user, nice, system, idle, iowait, irq, softirq. Of the rest, steal is the hypervisor's,
        // not this machine's work, and guests' time is in user and nice already.
        let ticks: Vec<u64> =
            line.split_ascii_whitespace().take(7).map_while(|field| field.parse().ok()).collect();
        let idle = [3, 4].iter().filter_map(|index| ticks.get(*index)).sum::<u64>();
        Some((ticks.iter().sum::<u64>() - idle) * tick_ns)
    };
    cpus.iter().map(busy).collect::<Option<_>>().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_but_idle_and_waiting_for_disks() {
        let text = "cpu  1 1 1 1 1 1 1 1 1 1\ncpu0 10 1 2 500 30 3 4 5 9 9\ncpu10 1 1 1 1 1 1 1 1 \
                    0 0\nintr 5\n";
        assert_eq!(parse(text, &[CpuId(10), CpuId(0)], 10), [50, 200]);
        assert!(parse(text, &[CpuId(1)], 10).is_empty());
    }
}
