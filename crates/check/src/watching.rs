// SPDX-License-Identifier: MIT OR Apache-2.0
//! What ran on some CPUs meanwhile: interrupts, timers, soft interrupts and threads.

use super::machine::{CheckOptions, Machine};
use super::timers::ArmedTimers;
use super::watching_time::{CpuTime, Times, shares};
use host::HostRoot;
use plan::CpuId;
use std::collections::BTreeMap;
use std::time::Duration;

/// Something that ran on a CPU while it was watched, or a timer that is armed there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Activity {
    pub cpu: CpuId,
    /// What it is: `interrupt`, `timer` for the interrupts of the CPU's timer, `softirq`,
    /// `thread`, or `hrtimer` for timers that are armed there.
    pub kind: &'static str,
    /// Its name, with its number. Of an armed timer the function that it calls.
    pub name: String,
    /// How often it ran; of a thread, how often it was put on a CPU; of armed timers, how many
    /// were due.
    pub count: u64,
    /// For how long, ns; only threads are timed.
    pub ran_ns: Option<u64>,
}

/// What happened on some CPUs while they were watched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Watched {
    /// What the time of each went to, where the kernel counted some.
    pub cpu_time: Vec<CpuTime>,
    /// What ran, the busiest first.
    pub activities: Vec<Activity>,
}

impl Watched {
    /// What ran within a time on these CPUs. None: those that are set apart, or all.
    pub fn watch(root: &HostRoot, cpus: Option<&[CpuId]>, time: Duration) -> Watched {
        let options = CheckOptions::to_measure(cpus.map(<[CpuId]>::to_vec), 1);
        let machine = Machine::new(root, &options);
        let before = Sight::of(&machine);
        std::thread::sleep(time);
        let (after, measured) = (Sight::of(&Machine::new(root, &options)), machine.measured());
        Watched {
            cpu_time: shares(&before.times, &after.times, &measured),
            activities: after.since(&before, &measured),
        }
    }
}

#[derive(Default)]
struct Sight {
    times: Times,
    events: BTreeMap<(&'static str, String, CpuId), u64>,
    /// By thread: its name, the CPU it was last on, how long it ran, and how often.
    threads: BTreeMap<u32, (String, CpuId, u64, u64)>,
    /// None where only root may list them, or there are too many.
    timers: ArmedTimers,
}

/// What a row of /proc/interrupts or /proc/softirqs counts: the timer of each CPU by itself.
fn kind_of(file: &'static str, name: &str, description: &str) -> (&'static str, String) {
    let is_timer = name == "LOC" || TIMERS.iter().any(|timer| description.ends_with(timer));
    if file == "interrupt" && is_timer {
        return ("timer", format!("timer interrupts ({})", format!("{name} {description}").trim()));
    }
    (file, format!("{name} {description}").trim().to_owned())
}

/// Timers of each CPU, where they are interrupts with a number.
const TIMERS: [&str; 5] =
    [" arch_timer", " riscv-timer", " kvm guest vtimer", " timer", "LAPIC timer interrupt"];

impl Sight {
    fn of(machine: &Machine<'_>) -> Sight {
        let timers = machine.timer_list().map(|text| ArmedTimers::parse(&text)).unwrap_or_default();
        let times =
            host::proc_stat::parse(&machine.text("proc/stat").unwrap_or_default(), &mut Vec::new());
        let mut sight = Sight { times, timers, ..Sight::default() };
        for (kind, file) in [("interrupt", "proc/interrupts"), ("softirq", "proc/softirqs")] {
            let text = machine.text(file).unwrap_or_default();
            for row in host::interrupts::parse(&text, &machine.online, &mut Vec::new()) {
                let (kind, name) = kind_of(kind, &row.name, &row.description);
                for (cpu, count) in machine.online.iter().zip(&row.counts) {
                    sight.events.insert((kind, name.clone(), *cpu), *count);
                }
            }
        }
        for thread in machine.threads() {
            let file = format!("proc/{}/task/{}/schedstat", thread.pid, thread.id);
            let Some(text) = machine.text(&file) else { continue };
            let numbers: Vec<u64> =
                text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
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
            (count > 0).then(|| Activity {
                cpu: *cpu,
                kind,
                name: name.clone(),
                count,
                ran_ns: None,
            })
        });
        let own = rustix::thread::gettid().as_raw_nonzero().get().unsigned_abs();
        let threads = self.threads.iter().filter(|(id, _)| **id != own).filter_map(
            |(id, (name, cpu, ran, times))| {
                let (was, was_times) =
                    before.threads.get(id).map_or((0, 0), |(_, _, ran, times)| (*ran, *times));
                let ran_ns = ran.saturating_sub(was);
                let activity = Activity {
                    cpu: *cpu,
                    kind: "thread",
                    name: format!("{name} {id}"),
                    count: times.saturating_sub(was_times),
                    ran_ns: Some(ran_ns),
                };
                (ran_ns > 0).then_some(activity)
            },
        );
        let timers = self.timers.since(&before.timers).into_iter().map(
            |((cpu, function), (armed, count))| Activity {
                cpu,
                kind: "hrtimer",
                name: format!("{function}, {armed} armed"),
                count,
                ran_ns: None,
            },
        );
        let mut found: Vec<Activity> = events
            .chain(threads)
            .chain(timers)
            .filter(|activity| cpus.contains(&activity.cpu))
            .collect();
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
    use crate::tests::threads::{file, four_cpus};

    #[test]
    fn what_grew_meanwhile_ran() {
        let cpu = CpuId(1);
        let sight = |timer: u64, ran: u64| Sight {
            events: [
                (("timer", "timer interrupts (LOC)".to_owned(), cpu), timer),
                (("softirq", "RCU".to_owned(), CpuId(0)), timer),
            ]
            .into(),
            threads: [(70, ("kworker/1:1".to_owned(), cpu, ran, ran / 10))].into(),
            timers: ArmedTimers::default(),
            times: Times::default(),
        };
        let found = sight(25, 5_000).since(&sight(20, 1_000), &[cpu]);
        let expected = [
            Activity {
                cpu,
                kind: "thread",
                name: "kworker/1:1 70".to_owned(),
                count: 400,
                ran_ns: Some(4_000),
            },
            Activity {
                cpu,
                kind: "timer",
                name: "timer interrupts (LOC)".to_owned(),
                count: 5,
                ran_ns: None,
            },
        ];
        assert_eq!(found, expected);
        assert_eq!(sight(25, 1_000).since(&sight(25, 1_000), &[cpu]), []);
    }

    /// Of two states of a machine.
    #[test]
    fn timers_of_watched_cpus() {
        let state = |loc: u32, arch: u32, softirq: u32, now: &str| {
            let dir = four_cpus("");
            file(
                dir.path(),
                "proc/interrupts",
                &format!(
                    "  CPU0 CPU1\nLOC: 5 {loc} Local timer interrupts\n 11: 7 {arch} GICv2 30 \
                     Level arch_timer\n"
                ),
            );
            file(
                dir.path(),
                "proc/softirqs",
                &format!("  CPU0 CPU1\nTIMER: 1 {softirq}\nHRTIMER: 0 {softirq}\n"),
            );
            let list = include_str!("tests/timer-list")
                .replace("now at 1000000000", &format!("now at {now}"));
            file(dir.path(), "proc/timer_list", &list);
            let options = CheckOptions::to_measure(None, 1);
            Sight::of(&Machine::new(&HostRoot::at(dir.path()), &options))
        };
        let (before, after) = (state(10, 20, 3, "1000000000"), state(14, 25, 4, "1008000000"));
        let shown = |cpu: u32| -> Vec<String> {
            let found = after.since(&before, &[CpuId(cpu)]);
            found
                .iter()
                .map(|Activity { kind, name, count, .. }| format!("{kind} {count} {name}"))
                .collect()
        };
        let expected = [
            "hrtimer 1 tick_nohz_handler, 1 armed",
            "softirq 1 HRTIMER",
            "softirq 1 TIMER",
            "timer 5 timer interrupts (11 GICv2 30 Level arch_timer)",
            "timer 4 timer interrupts (LOC Local timer interrupts)",
        ];
        assert_eq!(shown(1), expected);
        let armed = [
            "hrtimer 1 tick_nohz_handler, 1 armed",
            "hrtimer 0 hrtimer_wakeup, 2 armed",
            "hrtimer 0 timerfd_tmrproc, 1 armed",
        ];
        assert_eq!(shown(0), armed);
    }
}
