// SPDX-License-Identifier: MIT OR Apache-2.0
//! What happened on the machine meanwhile: interrupts and softirqs that rose, and where the CPUs'
//! time went.

use crate::overview::Overview;
use model::{Changes, CpuTimeChange, EventChange, Host, changes};
use std::collections::BTreeMap;

/// Sources shown; the rest is said to be there.
const MAX_SOURCES: usize = 14;

/// One source of interrupts in every recording.
pub(crate) struct Source {
    pub(crate) name: String,
    pub(crate) description: String,
    /// One for each recording, in order; none where it is not known.
    pub(crate) deltas: Vec<Option<Delta>>,
}

/// How often something happened during one recording.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Delta {
    pub(crate) count: u64,
    /// None if the time between the two snapshots is not known.
    pub(crate) per_second: Option<f64>,
    /// The CPU that had most of it, and its percentage; none where it was spread evenly, or there
    /// is one CPU.
    pub(crate) mostly: Option<(u32, u64)>,
}

/// The sources that rose, most often first, and how many more there were.
pub(crate) fn interrupts(all: &[Overview<'_>]) -> (Vec<Source>, usize) {
    sources(all, |changes| changes.interrupts)
}

pub(crate) fn softirqs(all: &[Overview<'_>]) -> (Vec<Source>, usize) {
    sources(all, |changes| changes.softirqs)
}

fn sources(all: &[Overview<'_>], of: fn(Changes) -> Vec<EventChange>) -> (Vec<Source>, usize) {
    let mut names: BTreeMap<(String, String), Vec<Option<Delta>>> = BTreeMap::new();
    for (place, overview) in all.iter().enumerate() {
        let host = &overview.document().host;
        for event in during(host).map(of).unwrap_or_default() {
            let delta = delta(&event, host);
            names.entry((event.name, event.description)).or_insert_with(|| vec![None; all.len()])
                [place] = Some(delta);
        }
    }
    let total = |source: &Source| {
        source.deltas.iter().flatten().map(|delta| delta.count).max().unwrap_or(0)
    };
    let mut sources: Vec<Source> = names
        .into_iter()
        .map(|((name, description), deltas)| Source { name, description, deltas })
        .collect();
    sources.sort_by_key(|source| std::cmp::Reverse(total(source)));
    let more = sources.len().saturating_sub(MAX_SOURCES);
    sources.truncate(MAX_SOURCES);
    (sources, more)
}

/// What happened between the two snapshots; none if there is only one.
fn during(host: &Host) -> Option<Changes> {
    host.after.as_ref().map(|after| changes(&host.before, after))
}

fn delta(event: &EventChange, host: &Host) -> Delta {
    let per_second = seconds(host).map(|seconds| event.total as f64 / seconds);
    Delta { count: event.total, per_second, mostly: mostly(event, host) }
}

fn mostly(event: &EventChange, host: &Host) -> Option<(u32, u64)> {
    let (cpu, max) = event.per_cpu.iter().max_by_key(|(_, n)| *n)?;
    let both =
        host.before.cpus.iter().filter(|was| {
            host.after.iter().any(|after| after.cpus.iter().any(|is| is.cpu == was.cpu))
        });
    let cpus = both.count() as u64;
    let percent = max.saturating_mul(100) / event.total.max(1);
    // A good deal more than its even share is worth a word.
    (cpus > 1 && percent >= 60 && percent.saturating_mul(cpus) >= 130).then_some((cpu.0, percent))
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
    const ORDER: [&str; 10] = [
        "user",
        "nice",
        "system",
        "idle",
        "iowait",
        "irq",
        "softirq",
        "steal",
        "guest",
        "guest_nice",
    ];
    let times: Vec<Vec<CpuTimeChange>> = all
        .iter()
        .map(|overview| during(&overview.document().host).unwrap_or_default().cpu_times)
        .collect();
    let share = |times: &Vec<CpuTimeChange>, kind: &str| {
        let whole: u64 = times.iter().map(|cpu| cpu.elapsed_ms).sum();
        let known: Vec<u64> =
            times.iter().filter_map(|cpu| cpu.time_ms.get(kind).copied()).collect();
        let ms: u64 = known.iter().sum();
        (whole > 0 && !known.is_empty()).then(|| (100.0 * ms as f64 / whole as f64, ms))
    };
    let row = |kind: &str| CpuTime {
        kind: kind.to_owned(),
        shares: times.iter().map(|times| share(times, kind)).collect(),
    };
    ORDER.into_iter().map(row).filter(|row| row.shares.iter().any(Option::is_some)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::Synthetic;

    #[test]
    fn what_rose_and_by_how_much() {
        let recordings = [Synthetic::idle().build(), Synthetic::hackbench().build()];
        let all = Overview::all(&recordings);
        let (sources, more) = interrupts(&all);
        let names: Vec<&str> = sources.iter().map(|source| source.name.as_str()).collect();
        assert_eq!((names, more), (vec!["RES", "LOC", "27", "TLB"], 0), "NMI did not rise");
        // CPU 0 had 48,211 a second, CPU 1 half of that.
        let delta = sources[0].deltas[1].clone().unwrap();
        assert_eq!((delta.count, delta.mostly), (482_110 + 241_055, Some((0, 66))));
        assert!((delta.per_second.unwrap() - 72_316.5).abs() < 1e-6);
    }

    /// LOC of an idle machine of three CPUs: 10 s at 1,250 a second on CPU 0, half and a third of
    /// that on the others.
    fn local_timer(changed: impl FnOnce(&mut Host)) -> Option<Delta> {
        let mut recordings = [Synthetic::idle().threads(3).build()];
        changed(&mut recordings[0].document.host);
        let (sources, _) = interrupts(&Overview::all(&recordings));
        sources
            .into_iter()
            .find(|source| source.name == "LOC")
            .and_then(|source| source.deltas.into_iter().next()?)
    }

    fn counts(facts: &mut model::HostFacts) -> &mut Vec<u64> {
        &mut facts.interrupts.iter_mut().find(|event| event.name == "LOC").unwrap().counts
    }

    #[test]
    fn a_counter_that_wraps_is_not_lost() {
        let delta = local_timer(|host| {
            counts(&mut host.before)[0] = u64::from(u32::MAX) - 4;
            counts(host.after.as_mut().unwrap())[0] = 12_495;
        });
        assert_eq!(delta.unwrap().count, 12_500 + 6_250 + 4_166);
    }

    #[test]
    fn counts_since_boot_are_no_rate() {
        assert_eq!(local_timer(|host| host.before.interrupts.clear()), None);
    }

    #[test]
    fn a_cpu_that_went_offline_does_not_shift_the_others() {
        let delta = local_timer(|host| {
            counts(&mut host.before)[2] = 2_000_000;
            let after = host.after.as_mut().unwrap();
            after.cpus.remove(1);
            for event in &mut after.interrupts {
                event.counts.remove(1);
            }
            // CPU 2 is now in the second column.
            counts(after)[1] = 3_004_166;
        });
        let delta = delta.unwrap();
        assert_eq!((delta.count, delta.mostly), (12_500 + 1_004_166, Some((2, 98))));
    }

    #[test]
    fn where_the_time_went() {
        let recordings = [Synthetic::hackbench().build()];
        let rows = cpu_time(&Overview::all(&recordings));
        let steal = rows.iter().find(|row| row.kind == "steal").unwrap();
        let (percent, ms) = steal.shares[0].unwrap();
        assert!((percent - 100.0 / 99.0).abs() < 1e-9, "{percent}");
        assert_eq!(ms, 200);
    }
}
