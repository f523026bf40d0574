// SPDX-License-Identifier: MIT OR Apache-2.0
//! What happened on the machine meanwhile: interrupts and softirqs that rose, and where the CPUs' time went.

use crate::overview::Overview;
use recording::{EventCounts, Host};
use std::collections::BTreeMap;

/// Sources shown; the rest is said to be there.
const MOST_SOURCES: usize = 14;

/// One source of interrupts in every recording.
pub(crate) struct Source {
    pub(crate) name: String,
    pub(crate) description: String,
    /// One for each recording, in order; none where it is not known.
    pub(crate) rises: Vec<Option<Rise>>,
}

/// How often something happened during one recording.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Rise {
    pub(crate) count: u64,
    /// None where the time between the two looks is not known.
    pub(crate) per_second: Option<f64>,
    /// The CPU that had most of it, and its percentage; none where it was spread evenly, or there is one CPU.
    pub(crate) mostly: Option<(u32, u64)>,
}

/// The sources that rose, most often first, and how many more there were.
pub(crate) fn interrupts(all: &[Overview<'_>]) -> (Vec<Source>, usize) {
    sources(all, |facts| &facts.interrupts)
}

/// The same for softirqs.
pub(crate) fn softirqs(all: &[Overview<'_>]) -> (Vec<Source>, usize) {
    sources(all, |facts| &facts.softirqs)
}

fn sources(all: &[Overview<'_>], of: fn(&recording::HostFacts) -> &Vec<EventCounts>) -> (Vec<Source>, usize) {
    let mut names: BTreeMap<(&str, &str), Vec<Option<Rise>>> = BTreeMap::new();
    for (place, overview) in all.iter().enumerate() {
        let host = &overview.recorded.document.host;
        let Some(after) = &host.after else { continue };
        let before: BTreeMap<&str, &EventCounts> = of(&host.before).iter().map(|event| (event.name.as_str(), event)).collect();
        for event in of(after) {
            let rises = names.entry((&event.name, &event.description)).or_insert_with(|| vec![None; all.len()]);
            rises[place] = Some(rise(before.get(event.name.as_str()).copied(), event, host));
        }
    }
    let total = |source: &Source| source.rises.iter().flatten().map(|rise| rise.count).max().unwrap_or(0);
    let mut sources: Vec<Source> = names
        .into_iter()
        .map(|((name, description), rises)| Source { name: name.to_owned(), description: description.to_owned(), rises })
        .filter(|source| total(source) > 0)
        .collect();
    sources.sort_by_key(|source| std::cmp::Reverse(total(source)));
    let more = sources.len().saturating_sub(MOST_SOURCES);
    sources.truncate(MOST_SOURCES);
    (sources, more)
}

fn rise(before: Option<&EventCounts>, after: &EventCounts, host: &Host) -> Rise {
    let earlier = |place: usize| before.and_then(|event| event.counts.get(place)).copied().unwrap_or(0);
    let by_cpu: Vec<u64> = after.counts.iter().enumerate().map(|(place, n)| n.saturating_sub(earlier(place))).collect();
    let count: u64 = by_cpu.iter().sum();
    let seconds = seconds(host);
    Rise { count, per_second: seconds.map(|seconds| count as f64 / seconds), mostly: mostly(&by_cpu, count, host) }
}

fn mostly(by_cpu: &[u64], count: u64, host: &Host) -> Option<(u32, u64)> {
    let (place, most) = by_cpu.iter().enumerate().max_by_key(|(_, n)| **n)?;
    let cpu = host.after.as_ref()?.cpus.get(place)?.cpu.0;
    let percent = most.saturating_mul(100) / count.max(1);
    // A good deal more than its even share is worth a word.
    (by_cpu.len() > 1 && percent >= 60 && percent.saturating_mul(by_cpu.len() as u64) >= 130).then_some((cpu, percent))
}

fn seconds(host: &Host) -> Option<f64> {
    let seconds = host.after.as_ref()?.uptime_s? - host.before.uptime_s?;
    (seconds > 0.0).then_some(seconds)
}

/// The share of one kind of CPU time in every recording, percent of all CPUs' time.
pub(crate) struct CpuTime {
    pub(crate) kind: String,
    /// `(percent, ms)`, one for each recording.
    pub(crate) shares: Vec<Option<(f64, u64)>>,
}

/// Where the time of all CPUs went, in the order of /proc/stat.
pub(crate) fn cpu_time(all: &[Overview<'_>]) -> Vec<CpuTime> {
    const ORDER: [&str; 10] = ["user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal", "guest", "guest_nice"];
    let spent: Vec<Option<BTreeMap<&str, u64>>> = all.iter().map(|overview| spent(&overview.recorded.document.host)).collect();
    let share = |spent: &Option<BTreeMap<&str, u64>>, kind: &str| {
        let spent = spent.as_ref()?;
        // Guest time is contained in user and nice.
        let whole: u64 = spent.iter().filter(|(kind, _)| !kind.starts_with("guest")).map(|(_, ms)| ms).sum();
        let ms = *spent.get(kind)?;
        (whole > 0).then(|| (100.0 * ms as f64 / whole as f64, ms))
    };
    let row = |kind: &str| CpuTime { kind: kind.to_owned(), shares: spent.iter().map(|spent| share(spent, kind)).collect() };
    ORDER.into_iter().map(row).filter(|row| row.shares.iter().any(Option::is_some)).collect()
}

fn spent(host: &Host) -> Option<BTreeMap<&str, u64>> {
    let after = host.after.as_ref()?;
    let mut sums: BTreeMap<&str, u64> = BTreeMap::new();
    for cpu in &after.cpus {
        let earlier = host.before.cpus.iter().find(|before| before.cpu == cpu.cpu)?;
        for (kind, ms) in &cpu.time_ms {
            *sums.entry(kind).or_default() += ms.saturating_sub(earlier.time_ms.get(kind).copied().unwrap_or(0));
        }
    }
    (!sums.is_empty()).then_some(sums)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::Synthetic;

    #[test]
    fn what_rose_and_by_how_much() {
        let recordings = [Synthetic::idle().build(), Synthetic::hackbench().build()];
        let all = Overview::of_all(&recordings);
        let (sources, more) = interrupts(&all);
        let names: Vec<&str> = sources.iter().map(|source| source.name.as_str()).collect();
        assert_eq!((names, more), (vec!["RES", "LOC", "27", "TLB"], 0), "NMI did not rise");
        // CPU 0 had 48,211 a second, CPU 1 half of that.
        let rise = sources[0].rises[1].clone().unwrap();
        assert_eq!((rise.count, rise.mostly), (482_110 + 241_055, Some((0, 66))));
        assert!((rise.per_second.unwrap() - 72_316.5).abs() < 1e-6);
    }

    #[test]
    fn where_the_time_went() {
        let recordings = [Synthetic::hackbench().build()];
        let rows = cpu_time(&Overview::of_all(&recordings));
        let steal = rows.iter().find(|row| row.kind == "steal").unwrap();
        let (percent, ms) = steal.shares[0].unwrap();
        assert!((percent - 100.0 / 99.0).abs() < 1e-9, "{percent}");
        assert_eq!(ms, 200);
    }
}
