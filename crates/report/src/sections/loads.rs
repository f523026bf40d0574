// SPDX-License-Identifier: MIT OR Apache-2.0
//! What each load was asked for and what it reached: the words for it, and the table of the page.

use crate::format::{self, count, list, rounded_count};
use crate::language::tr;
use crate::sections::latencies::OrNothing;
use model::{Document, LoadEvidence, LoadOnCpu};
use plan::{CpuList, LoadSpec};

/// CPUs of a load that are listed one by one.
const MAX_CPUS: usize = 16;
/// Characters of a load as written.
const MAX_SPEC: usize = 200;

/// What a load was asked for and what it did.
pub(crate) struct LoadRow {
    pub(crate) recording: String,
    pub(crate) spec: String,
    pub(crate) requested: String,
    pub(crate) mean: String,
    pub(crate) worst: String,
    /// Of its CPUs on average.
    pub(crate) busy: String,
    pub(crate) cpus: String,
    pub(crate) tasks: String,
    pub(crate) did: String,
    pub(crate) alive: bool,
    pub(crate) off_target: bool,
    /// Each of its CPUs, where there are several.
    pub(crate) each: Vec<CpuRow>,
    /// Of its CPUs that are not listed; nothing where all are.
    pub(crate) more: String,
}

/// A load on one of its CPUs.
pub(crate) struct CpuRow {
    pub(crate) cpu: String,
    pub(crate) mean: String,
    pub(crate) worst: String,
    pub(crate) busy: String,
}

/// The loads of all recordings in at most about `most_rows` rows, and how many loads were left out.
pub(crate) fn loads<'a>(
    all: impl Iterator<Item = (&'a str, &'a Document)>,
    most_rows: usize,
) -> (Vec<LoadRow>, usize) {
    let every: Vec<(&str, &LoadEvidence)> = all
        .flat_map(|(name, document)| document.load.iter().map(move |load| (name, load)))
        .collect();
    let most_cpus = (most_rows.saturating_sub(every.len()) / every.len().max(1)).min(MAX_CPUS);
    let row = |(recording, load): &(&str, &LoadEvidence)| {
        let (each, more) = cpus(load, most_cpus);
        LoadRow {
            recording: (*recording).to_owned(),
            spec: format::clip(&load.spec, MAX_SPEC),
            requested: requested(load),
            mean: percent(load.reached.map(|reached| reached.mean)),
            worst: percent(load.reached.map(|reached| reached.worst_second)),
            busy: percent(busy(load)),
            cpus: CpuList::format(&load.cpus),
            tasks: count(load.tasks),
            did: did(load).into_iter().chain([settled(load)]).collect::<Vec<_>>().join(", "),
            alive: load.alive,
            off_target: load.off_target,
            each,
            more: if more > 0 { tr!(more_no_lower_cpu, more) } else { String::new() },
        }
    };
    (every.iter().take(most_rows).map(row).collect(), every.len().saturating_sub(most_rows))
}

/// Each CPU of a load that has several, and how many were left out: those on which it reached the
/// most.
pub(crate) fn cpus(load: &LoadEvidence, max: usize) -> (Vec<CpuRow>, usize) {
    if load.per_cpu.len() < 2 || max == 0 {
        return (Vec::new(), 0);
    }
    let mut listed: Vec<LoadOnCpu> = load.per_cpu.clone();
    if listed.len() > max {
        let reached = |on: &LoadOnCpu| on.reached.map_or(f64::INFINITY, |reached| reached.mean);
        listed.sort_by(|a, b| reached(a).total_cmp(&reached(b)).then(a.cpu.cmp(&b.cpu)));
        listed.truncate(max);
        listed.sort_by_key(|on| on.cpu);
    }
    let row = |on: &LoadOnCpu| CpuRow {
        cpu: on.cpu.to_string(),
        mean: percent(on.reached.map(|reached| reached.mean)),
        worst: percent(on.reached.map(|reached| reached.worst_second)),
        busy: percent(on.machine_busy),
    };
    (listed.iter().map(row).collect(), load.per_cpu.len() - listed.len())
}

/// The same for a terminal.
pub(crate) fn cpus_listed(load: &LoadEvidence) -> (Vec<CpuRow>, usize) {
    cpus(load, MAX_CPUS)
}

/// The level asked for; a load without one takes what is left.
pub(crate) fn requested(load: &LoadEvidence) -> String {
    load.requested.map_or_else(|| tr!(much_gets), level)
}

/// `50 %`, `12.5 %`.
pub(crate) fn level(value: f64) -> String {
    let text = format!("{value:.1}");
    format!("{} %", text.strip_suffix(".0").unwrap_or(&text))
}

/// `97.8 %`, or a dash.
pub(crate) fn percent(value: Option<f64>) -> String {
    value.map(|value| format!("{value:.1} %")).or_nothing()
}

/// How busy its CPUs were on average, percent; none if that is not known of each.
pub(crate) fn busy(load: &LoadEvidence) -> Option<f64> {
    let busy: Vec<f64> = load.per_cpu.iter().filter_map(|on| on.machine_busy).collect();
    (!busy.is_empty() && busy.len() == load.per_cpu.len())
        .then(|| busy.iter().sum::<f64>() / busy.len() as f64)
}

/// Which loads were off the level asked for, as a phrase: `cpu@50% reached 31.2 % of each CPU
/// instead of 50 %`; none where all kept to it.
pub(crate) fn all_off_target(document: &Document) -> Option<String> {
    let all: Vec<String> =
        document.load.iter().filter(|load| load.off_target).map(off_target).collect();
    if all.is_empty() {
        return document.load_off_target.then(|| tr!(off_more_than_5));
    }
    Some(list(&all))
}

/// `cpu@50% reached 31.2 % of CPU 3 instead of 50 %`, where it lies farthest off.
pub(crate) fn off_target(load: &LoadEvidence) -> String {
    let spec = format::clip(&load.spec, 60);
    let instead = load
        .requested
        .map_or_else(String::new, |asked| tr!(instead_of_level, level = level(asked)));
    load.farthest_off().map_or_else(
        || tr!(cpu_use_spec_could, spec),
        |(reached, cpu)| {
            let place = cpu.map_or_else(|| tr!(each_cpu), |cpu| format!("CPU {cpu}"));
            tr!(spec_reached_percent_place, spec, percent = percent(Some(reached)), place, instead)
        },
    )
}

/// Whether a load was to begin while measuring.
fn begins_later(load: &LoadEvidence) -> bool {
    load.spec
        .parse::<LoadSpec>()
        .is_ok_and(|spec| spec.options().any(|(given, _)| given == "start"))
}

pub(crate) fn until(load: &LoadEvidence) -> String {
    match (load.alive, load.stopped_ns, load.started_ns) {
        (false, ..) => tr!(exited_early_loud),
        (true, Some(_), _) => tr!(stopped_while_measuring),
        (true, None, Some(_)) => tr!(alive_until_the_end),
        (true, None, None) if begins_later(load) => tr!(never_ran),
        (true, None, None) => tr!(alive_throughout),
    }
}

/// `steady after 640 ms`.
pub(crate) fn settled(load: &LoadEvidence) -> String {
    if load.started_ns.is_some() {
        return tr!(begun_while_measuring);
    }
    if begins_later(load) {
        return tr!(not_begun);
    }
    load.settled_after_ns.map_or_else(
        || tr!(not_steady_when_measuring),
        |after| tr!(steady_after_time, time = format::latency(after.cast_signed())),
    )
}

/// `812,345 messages/s`.
pub(crate) fn did(load: &LoadEvidence) -> Vec<String> {
    let one = |(unit, rate): (&String, &f64)| {
        let unit =
            unit.strip_suffix("_per_s").map_or_else(|| unit.clone(), |unit| format!("{unit}/s"));
        let rate = if *rate >= 100.0 { rounded_count(*rate) } else { format!("{rate:.1}") };
        format!("{rate} {}", unit.replace('_', " "))
    };
    load.rate.iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sections::latencies::NOTHING;
    use crate::synthetic::Synthetic;
    use model::Reached;
    use plan::CpuId;

    #[test]
    fn a_load_without_a_level_is_not_said_to_want_everything() {
        let recorded = Synthetic::hackbench().load("cpu@12.5%").build();
        let all = || std::iter::once(("idle", &recorded.document));
        let (rows, left_out) = loads(all(), 100);
        assert_eq!(
            (rows[0].requested.as_str(), rows[1].requested.as_str()),
            ("as much as it gets", "12.5 %")
        );
        assert_eq!(
            (rows[0].mean.as_str(), rows[0].worst.as_str(), left_out),
            ("97.8 %", "94.1 %", 0)
        );
        assert_eq!(loads(all(), 1).1, 1);
    }

    #[test]
    fn of_many_cpus_those_that_got_least_are_listed() {
        let mut load = Synthetic::hackbench().build().document.load[0].clone();
        let on = |cpu: u32| LoadOnCpu {
            cpu: CpuId(cpu),
            reached: (cpu != 3).then(|| Reached { mean: f64::from(100 - cpu), worst_second: 1.0 }),
            machine_busy: Some(80.0),
        };
        load.per_cpu = (0..40).map(on).collect();
        let (rows, more) = cpus(&load, 3);
        assert_eq!(
            (rows.iter().map(|row| row.cpu.as_str()).collect::<Vec<_>>(), more),
            (vec!["37", "38", "39"], 37)
        );
        assert_eq!(
            (rows[0].mean.as_str(), rows[0].busy.as_str(), busy(&load)),
            ("63.0 %", "80.0 %", Some(80.0))
        );
        assert_eq!((cpus(&load, 40).0[3].mean.as_str(), cpus(&load, 0).0.len()), (NOTHING, 0));
        load.per_cpu[7].machine_busy = None;
        assert_eq!(busy(&load), None);
        load.per_cpu.truncate(1);
        assert!(cpus(&load, 9).0.is_empty(), "one CPU is the whole load");
    }

    #[test]
    fn when_a_load_ran_in_words() {
        let mut load =
            Synthetic::hackbench().load("cpu,start=5ms,stop=9ms").build().document.load[1].clone();
        load.settled_after_ns = None;
        assert_eq!((settled(&load).as_str(), until(&load).as_str()), ("not begun", "never ran"));
        load.started_ns = Some(5);
        assert_eq!(
            (settled(&load).as_str(), until(&load).as_str()),
            ("begun while measuring", "alive until the end")
        );
        load.stopped_ns = Some(9);
        assert_eq!(until(&load), "stopped while measuring");
        load.alive = false;
        assert_eq!(until(&load), "EXITED EARLY");
        let usual = Synthetic::hackbench().build().document.load[0].clone();
        assert_eq!(until(&usual), "alive throughout");
    }

    #[test]
    fn off_target_in_words() {
        let mut load = Synthetic::hackbench().load("cpu@50%").build().document.load[1].clone();
        load.reached = Some(Reached { mean: 31.24, worst_second: 30.0 });
        load.per_cpu.clear();
        assert_eq!(off_target(&load), "cpu@50% reached 31.2 % of each CPU instead of 50 %");
        // Right on average, and on one CPU far off.
        let on = |cpu, mean| LoadOnCpu {
            cpu: CpuId(cpu),
            reached: Some(Reached { mean, worst_second: 0.0 }),
            machine_busy: None,
        };
        load.reached = Some(Reached { mean: 47.0, worst_second: 30.0 });
        load.per_cpu = vec![on(0, 50.0), on(3, 44.0)];
        assert_eq!(off_target(&load), "cpu@50% reached 44.0 % of CPU 3 instead of 50 %");
        assert!(load.is_off_target());
        load.per_cpu[1] = on(3, 45.5);
        assert!(!load.is_off_target());
        load.reached = None;
        assert_eq!(off_target(&load), "CPU use of cpu@50% could not be measured");
    }
}
