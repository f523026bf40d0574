// SPDX-License-Identifier: MIT OR Apache-2.0
//! What ran on some CPUs meanwhile: interrupts, soft interrupts and threads.

use super::machine::Machine;
use super::{CheckOptions, Purpose};
use crate::HostRoot;
use plan::CpuId;
use std::collections::BTreeMap;
use std::time::Duration;

/// Something that ran on a CPU while it was watched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Activity {
    /// Where.
    pub cpu: CpuId,
    /// What it is: `interrupt`, `softirq` or `thread`.
    pub kind: &'static str,
    /// Its name, with its number.
    pub name: String,
    /// How often it ran; of a thread, how often it was put on a CPU.
    pub count: u64,
    /// For how long, ns; only threads are timed.
    pub ran_ns: Option<u64>,
}

impl HostRoot {
    /// What ran on these CPUs within a time, the busiest first.
    #[must_use]
    pub fn watch(&self, cpus: &[CpuId], time: Duration) -> Vec<Activity> {
        let options = CheckOptions { purpose: Purpose::Measure, cpus: None, priority: 1, config: None };
        let before = Sight::of(&Machine::new(self, &options));
        std::thread::sleep(time);
        Sight::of(&Machine::new(self, &options)).since(&before, cpus)
    }
}

/// Counts since boot.
#[derive(Default)]
struct Sight {
    events: BTreeMap<(&'static str, String, CpuId), u64>,
    /// By thread: its name, the CPU it was last on, how long it ran, and how often.
    threads: BTreeMap<u32, (String, CpuId, u64, u64)>,
}

impl Sight {
    fn of(machine: &Machine<'_>) -> Sight {
        let mut sight = Sight::default();
        for (kind, file) in [("interrupt", "proc/interrupts"), ("softirq", "proc/softirqs")] {
            let text = machine.text(file).unwrap_or_default();
            for row in crate::interrupts::parse(&text, &machine.online, &mut Vec::new()) {
                let name = format!("{} {}", row.name, row.description).trim().to_owned();
                for (cpu, count) in machine.online.iter().zip(&row.counts) {
                    sight.events.insert((kind, name.clone(), *cpu), *count);
                }
            }
        }
        for thread in machine.threads() {
            let file = format!("proc/{}/task/{}/schedstat", thread.pid, thread.id);
            let Some(text) = machine.text(&file) else { continue };
            let numbers: Vec<u64> = text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
            if let [ran, _, times, ..] = numbers[..] {
                sight.threads.insert(thread.id, (thread.name.clone(), thread.cpu, ran, times));
            }
        }
        sight
    }

    fn since(&self, before: &Sight, cpus: &[CpuId]) -> Vec<Activity> {
        let events = self.events.iter().filter_map(|(key, count)| {
            let count = count.saturating_sub(before.events.get(key).copied().unwrap_or(0));
            let (kind, name, cpu) = key;
            (count > 0).then(|| Activity { cpu: *cpu, kind, name: name.clone(), count, ran_ns: None })
        });
        let own = rustix::thread::gettid().as_raw_nonzero().get().unsigned_abs();
        let threads = self.threads.iter().filter(|(id, _)| **id != own).filter_map(|(id, (name, cpu, ran, times))| {
            let (was, was_times) = before.threads.get(id).map_or((0, 0), |(_, _, ran, times)| (*ran, *times));
            let ran_ns = ran.saturating_sub(was);
            let activity = Activity {
                cpu: *cpu,
                kind: "thread",
                name: format!("{name} {id}"),
                count: times.saturating_sub(was_times),
                ran_ns: Some(ran_ns),
            };
            (ran_ns > 0).then_some(activity)
        });
        let mut found: Vec<Activity> = events.chain(threads).filter(|activity| cpus.contains(&activity.cpu)).collect();
        found.sort_by(|one, other| {
            (one.cpu, one.kind, other.ran_ns, other.count, &one.name).cmp(&(
                other.cpu,
                other.kind,
                one.ran_ns,
                one.count,
                &other.name,
            ))
        });
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_grew_meanwhile_ran() {
        let cpu = CpuId(1);
        let sight = |timer: u64, ran: u64| Sight {
            events: [
                (("interrupt", "LOC Local timer interrupts".to_owned(), cpu), timer),
                (("softirq", "RCU".to_owned(), CpuId(0)), timer),
            ]
            .into(),
            threads: [(70, ("kworker/1:1".to_owned(), cpu, ran, ran / 10))].into(),
        };
        let found = sight(25, 5_000).since(&sight(20, 1_000), &[cpu]);
        let expected = [
            Activity { cpu, kind: "interrupt", name: "LOC Local timer interrupts".to_owned(), count: 5, ran_ns: None },
            Activity { cpu, kind: "thread", name: "kworker/1:1 70".to_owned(), count: 400, ran_ns: Some(4_000) },
        ];
        assert_eq!(found, expected);
        assert_eq!(sight(25, 1_000).since(&sight(25, 1_000), &[cpu]), []);
    }
}
