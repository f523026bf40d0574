// SPDX-License-Identifier: MIT OR Apache-2.0
//! The warning about work of other processes than the run and its loads.

use model::{Document, OtherWork, Warning};

/// What to warn of, once both snapshots are in the document.
pub fn other_work(document: &Document) -> Option<Warning> {
    let other = document.other_work()?;
    let processes = document
        .host
        .processes
        .as_ref()
        .map_or_else(Vec::new, |processes| processes.busiest.clone());
    let OtherWork { percent, cpus, unnamed_ms } = other;
    Some(Warning::OtherWork { percent, cpus, processes, unnamed_ms })
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{
        BusyCpu, BusyProcess, CpuFacts, HostFacts, LoadEvidence, Processes, Reached, Thread,
    };
    use plan::{CpuId, Nanos, Scheduling};
    use std::collections::BTreeMap;

    /// 10 s in which CPU 0 was busy for so long, ms, with `yes` for all of it but 100 ms of our
    /// own.
    fn document(busy_ms: u64, loads: &[&str]) -> Document {
        let json = include_str!("../../../fuzz/corpus/run_json/complete.json");
        let mut document: Document = serde_json::from_str(json).unwrap();
        document.run.loads = loads.iter().map(|load| load.parse().unwrap()).collect();
        document.threads =
            vec![Thread::unmeasured(0, CpuId(0), Scheduling::OTHER, Nanos(1_000_000), Nanos(0))];
        let snapshot = |user: u64, idle: u64| HostFacts {
            cpus: vec![CpuFacts {
                cpu: CpuId(0),
                governor: None,
                frequency_khz: None,
                frequency_min_khz: None,
                frequency_max_khz: None,
                time_ms: [("user".to_owned(), user), ("idle".to_owned(), idle)].into(),
            }],
            ..HostFacts::default()
        };
        (document.host.before, document.host.after) =
            (snapshot(0, 0), Some(snapshot(busy_ms, 10_000 - busy_ms)));
        let busiest =
            vec![busy("yes", false, busy_ms.saturating_sub(100)), busy("kworker/0:1", true, 90)];
        document.host.processes = Some(Processes { own_ms: 100, busiest, ..Processes::default() });
        document
    }

    fn busy(name: &str, kernel_thread: bool, cpu_ms: u64) -> BusyProcess {
        BusyProcess { pid: 7, name: name.to_owned(), cpu_ms, kernel_thread }
    }

    /// The same under `cpu@10%`, which reached so much of CPU 0, with processes of so much in all
    /// that are still there.
    fn loaded(busy_ms: u64, reached: Option<f64>, others_ms: u64, kernel_ms: u64) -> Document {
        let mut document = document(busy_ms, &["cpu@10%"]);
        document.load = vec![LoadEvidence {
            spec: "cpu@10%".to_owned(),
            requested: Some(10.0),
            reached: reached.map(|mean| Reached { mean, worst_second: mean }),
            cpus: vec![CpuId(0)],
            rate: BTreeMap::new(),
            tasks: 1,
            nice: Some(0),
            settled_after_ns: None,
            started_ns: None,
            stopped_ns: None,
            alive: true,
            off_target: false,
            per_cpu: Vec::new(),
            course: Vec::new(),
        }];
        let (others_ms, kernel_ms) = (Some(others_ms), Some(kernel_ms));
        document.host.processes =
            Some(Processes { own_ms: 100, others_ms, kernel_ms, ..Processes::default() });
        document
    }

    /// What is said beside a load: percent of one CPU, and how many processes are named.
    fn of_processes(document: &Document) -> (f64, usize) {
        match other_work(document) {
            Some(Warning::OtherWork { percent, cpus, processes, .. }) if cpus.is_empty() => {
                (percent, processes.len())
            }
            other => panic!("{other:?}"),
        }
    }

    /// The lab's own counter takes all the time that is left in `exec --count`.
    #[test]
    fn in_virtual_time_nothing_is_other_work() {
        let mut busy = document(9_860, &[]);
        assert!(other_work(&busy).is_some());
        busy.instrument.virtual_time = true;
        assert_eq!((other_work(&busy), busy.other_work()), (None, None));
    }

    #[test]
    fn two_busy_loops_are_not_an_idle_machine() {
        let busy = document(9_860, &[]);
        let (percent, processes) = (97.6, busy.host.processes.clone().unwrap().busiest);
        let cpus = vec![BusyCpu { cpu: CpuId(0), percent }];
        let warning = Warning::OtherWork { percent, cpus, processes, unnamed_ms: None };
        assert_eq!(other_work(&busy), Some(warning));
        assert_eq!(other_work(&document(300, &[])), None, "what any machine does by itself");
    }

    #[test]
    fn beside_a_load_only_processes_tell() {
        assert_eq!(of_processes(&document(9_860, &["cpu@50%"])), (97.6, 2));
        let mut kernel_only = document(9_860, &["cpu@50%"]);
        kernel_only
            .host
            .processes
            .as_mut()
            .unwrap()
            .busiest
            .iter_mut()
            .for_each(|process| process.kernel_thread = true);
        assert_eq!(other_work(&kernel_only), None, "kernel threads work for the load");
    }

    #[test]
    fn a_process_that_ended_is_seen_by_the_cpu_time_it_used() {
        let ended = loaded(7_700, Some(10.0), 0, 0);
        assert_eq!(of_processes(&ended), (66.0, 0));
        // 7.7 s of tasks without our own 0.1 s and the load's second; of which one used 2 s.
        let unnamed = |document: &Document| document.other_work().unwrap().unnamed_ms;
        assert_eq!(unnamed(&ended), Some(6_600));
        let mut named = ended;
        named.host.processes.as_mut().unwrap().busiest =
            vec![busy("make", false, 2_000), busy("kworker/0:1", true, 900)];
        assert_eq!(unnamed(&named), Some(4_600));
        let mut idle = document(9_860, &[]);
        assert_eq!(unnamed(&idle), None, "of the kernel's threads nothing was recorded");
        idle.host.processes.as_mut().unwrap().kernel_ms = Some(0);
        assert_eq!(unnamed(&idle), None, "yes used all of it");
        idle.host.processes.as_mut().unwrap().busiest.clear();
        assert_eq!(unnamed(&idle), Some(9_760));
        assert_eq!(other_work(&loaded(1_700, Some(10.0), 0, 0)), None, "6 % of the CPU");
        assert_eq!(
            other_work(&loaded(7_700, Some(10.0), 0, 6_000)),
            None,
            "kernel threads work for the load"
        );
        assert_eq!(
            other_work(&loaded(7_700, None, 0, 0)),
            None,
            "nobody knows what was the load's"
        );
    }

    #[test]
    fn busy_ticks_that_keep_step_with_the_load_are_no_work() {
        // Looked at once a tick the CPU was always busy; by its idle time it was not.
        let mut document = loaded(2_000, Some(10.0), 0, 0);
        let after = document.host.after.as_mut().unwrap();
        *after.cpus[0].time_ms.get_mut("user").unwrap() = 10_000;
        *after.cpus[0].time_ms.get_mut("idle").unwrap() = 8_800;
        (document.host.before.uptime_s, after.uptime_s) = (Some(5.0), Some(15.0));
        assert_eq!(other_work(&document), None);
    }

    #[test]
    fn many_small_processes_are_as_much_as_they_are_together() {
        assert_eq!(of_processes(&loaded(1_000, Some(10.0), 19_000, 0)), (190.0, 0));
    }

    /// Processes are read once the loads have stopped, which may take longer than the run: 26.6 s
    /// of 10 s were 266 % of a CPU.
    #[test]
    fn what_processes_used_is_a_share_of_the_time_it_was_counted_over() {
        let mut document = loaded(1_000, Some(10.0), 26_600, 0);
        document.host.processes.as_mut().unwrap().elapsed_ms = Some(40_000);
        assert_eq!(of_processes(&document), (66.5, 0));
    }

    #[test]
    fn a_thread_that_wakes_more_often_uses_more_of_our_own_time() {
        let mut document = document(2_600, &[]);
        let thread = |index, cpu, interval| {
            Thread::unmeasured(index, CpuId(cpu), Scheduling::OTHER, Nanos(interval), Nanos(0))
        };
        document.threads = vec![thread(0, 0, 100_000), thread(1, 1, 900_000)];
        document.host.processes = Some(Processes { own_ms: 2_800, ..Processes::default() });
        assert_eq!(other_work(&document), None, "nine tenths of 2.8 s were used on CPU 0");
        document.threads.swap(0, 1);
        document.threads[0].cpu = CpuId(0);
        document.threads[1].cpu = CpuId(1);
        assert_eq!(document.other_work().unwrap().percent, 23.2);
    }
}
