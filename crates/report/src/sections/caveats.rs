// SPDX-License-Identifier: MIT OR Apache-2.0
//! What else the machine did during a run that its figures must not be read without: it stands in
//! front of them wherever they are one line.
//!
//! Computed from the two snapshots of the machine where it can be, as a shorter phrase than that of
//! the recording's warning.

use crate::alike::grouped;
use crate::format::{self, at_most, count, counted, latency, list};
use crate::language::{texts, tr};
use crate::sections::ending::cut_short;
use crate::sections::rows::Rows;
use judge::Incomplete;
use model::{Document, TakenBy, Thread, Warning, changes};
use plan::{CpuId, CpuList};
use std::collections::BTreeSet;

/// What kind of thing it is, what weighs most first; of each kind a reader needs the worst only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum CaveatKind {
    Unresponsive,
    LoadsElsewhere,
    Steal,
    OtherWork,
    Clocksource,
    CpusOnline,
    LoadNotSettled,
}

/// One thing that the figures must not be read without.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Caveat {
    pub(crate) kind: CaveatKind,
    /// Percent of a CPU, where it has a size.
    percent: f64,
    /// A phrase: `steal time 26.3 % (2.63 s) on CPU 1`.
    pub(crate) phrase: String,
    /// A few letters for a table: `steal 26.3 %`.
    pub(crate) short: String,
}

impl Caveat {
    const fn new(kind: CaveatKind, phrase: String, short: String) -> Caveat {
        Caveat { kind, percent: 0.0, phrase, short }
    }
}

/// All of a recording, each kind once.
pub(crate) fn collect(document: &Document) -> Vec<Caveat> {
    let not_settled = document
        .warnings
        .iter()
        .any(|warning| matches!(warning, Warning::LoadNotSettled { .. }))
        .then(|| {
            let phrase = tr!(load_not_steady_when);
            Caveat::new(CaveatKind::LoadNotSettled, phrase, tr!(load_not_steady))
        });
    let of_the_run = unresponsive(document).into_iter().chain(loads_elsewhere(document));
    of_the_run.chain(of_machine(document)).chain(not_settled).collect()
}

/// Threads that something kept from their CPUs until the run was ended without them.
fn unresponsive(document: &Document) -> Option<Caveat> {
    let threads: Vec<&Thread> =
        document.threads.iter().filter(|thread| thread.given_up_ns.is_some()).collect();
    let numbers: Vec<String> = threads.iter().map(|thread| thread.index.to_string()).collect();
    let waited = threads
        .iter()
        .filter_map(|thread| thread.latency_with_skipped_ns)
        .map(|summary| summary.max)
        .max()?;
    let phrase = tr!(
        thread_threads_kept_off,
        threads = list(&numbers),
        rows = Rows::from(document.probe.rows).plural(),
        time = at_most(waited)
    );
    Some(Caveat::new(CaveatKind::Unresponsive, phrase, tr!(thread_kept_off_cpu)))
}

/// Measured CPUs that no load ran on. Where the CPUs of all loads were named, that was meant, and
/// there is no such warning.
fn loads_elsewhere(document: &Document) -> Option<Caveat> {
    document.warnings.iter().find(|warning| matches!(warning, Warning::LoadsElsewhere { .. }))?;
    let loaded = |cpu: CpuId| document.load.iter().any(|load| load.cpus.contains(&cpu));
    let bare: BTreeSet<CpuId> =
        document.threads.iter().map(|thread| thread.cpu).filter(|cpu| !loaded(*cpu)).collect();
    if document.load.is_empty() || bare.is_empty() {
        return None;
    }
    let cpus = CpuList::format(&bare.into_iter().collect::<Vec<_>>());
    let phrase = tr!(no_load_on_measured, cpus);
    Some(Caveat::new(CaveatKind::LoadsElsewhere, phrase, tr!(no_load_on_cpu, cpus)))
}

/// The caveats found in the two snapshots of the machine.
fn of_machine(document: &Document) -> Vec<Caveat> {
    // It made nothing of times that were taken elsewhere.
    let Some(after) = document
        .host
        .after
        .as_ref()
        .filter(|_| document.probe.taken_by() != TakenBy::AnotherMachine)
    else {
        return Vec::new();
    };
    let before = &document.host.before;
    let found = changes(before, after);
    let fact = |name: &str| found.facts.iter().find(|fact| fact.cpu.is_none() && fact.name == name);
    let clocksource =
        fact("clocksource").filter(|_| before.clocksource.is_some() && after.clocksource.is_some());
    let online = fact("cpus").filter(|_| !before.cpus.is_empty() && !after.cpus.is_empty());
    let all = [
        steal(document),
        other_work(document),
        clocksource.map(|fact| {
            let phrase = tr!(clocksource_changed_from, was = fact.before, is = fact.after);
            Caveat::new(CaveatKind::Clocksource, phrase, tr!(clocksource_changed))
        }),
        online.map(|fact| {
            let phrase = tr!(cpus_online_changed_from, was = fact.before, is = fact.after);
            Caveat::new(CaveatKind::CpusOnline, phrase, tr!(cpus_changed))
        }),
    ];
    all.into_iter().flatten().collect()
}

/// The hypervisor ran something else on a CPU that was measured: the one with most of it.
fn steal(document: &Document) -> Option<Caveat> {
    let worst = *document.steal()?.first()?;
    let time =
        latency(i64::try_from(worst.stolen_ms).unwrap_or(i64::MAX).saturating_mul(1_000_000));
    let percent = format::share(worst.percent());
    Some(Caveat {
        kind: CaveatKind::Steal,
        percent: worst.percent(),
        phrase: tr!(steal_time_percent_time, percent, time, cpu = worst.cpu),
        short: tr!(steal_percent, percent),
    })
}

fn other_work(document: &Document) -> Option<Caveat> {
    let other = document.other_work()?;
    let percent = format::share(other.percent);
    let phrase = match other.cpus.first() {
        Some(busy) => tr!(other_work_used_percent, cpu = busy.cpu, percent),
        None => tr!(other_processes_used_percent, percent),
    };
    Some(Caveat {
        kind: CaveatKind::OtherWork,
        percent: other.percent,
        phrase,
        short: tr!(other_work_percent, percent),
    })
}

/// What a single run must not be read without, in a few letters each.
pub(crate) fn in_short(document: &Document) -> Vec<String> {
    own(document)
        .into_iter()
        .chain(collect(document).into_iter().map(|caveat| caveat.short))
        .collect()
}

/// What is wrong with the run itself, in a few letters each.
pub(crate) fn own(document: &Document) -> Vec<String> {
    let asked = document.run.scheduling.policy.is_real_time()
        && document.probe.taken_by() == TakenBy::OwnThreads;
    let is_lower =
        document.threads.iter().any(|one| one.scheduling.is_below(document.run.scheduling));
    let granted = (document.instrument.real_time || is_lower)
        && document.threads.iter().all(|one| one.scheduling.policy.is_real_time());
    let own = [
        (asked && !granted).then(|| tr!(no_real_time_rights)),
        (asked && granted && is_lower).then(|| tr!(lower_priority_in_short)),
        cut_short(document).map(|_| tr!(cut_short)),
        document
            .threads
            .iter()
            .any(|thread| thread.evidence.samples_lost > 0)
            .then(|| tr!(samples_lost)),
        document.load_off_target.then(|| tr!(load_off_target)),
    ];
    own.into_iter().flatten().collect()
}

/// Adds those of one more run: of each kind, the worst stays.
pub(crate) fn merge(all: &mut Vec<Caveat>, more: Vec<Caveat>) {
    for caveat in more {
        match all.iter_mut().find(|known| known.kind == caveat.kind) {
            Some(known) if known.percent < caveat.percent => *known = caveat,
            Some(_) => {}
            None => all.push(caveat),
        }
    }
    all.sort_by_key(|caveat| caveat.kind);
}

/// Of several recordings, each kind once: the worst, with the recording it is of and how many more
/// have it.
pub(crate) fn phrases(all: &[(&str, &Document)]) -> Vec<String> {
    let each = all.iter().flat_map(|(name, document)| {
        collect(document).into_iter().map(move |caveat| (caveat.kind, (name, caveat)))
    });
    let mut kinds = grouped(each);
    kinds.sort_by_key(|(kind, _)| *kind);
    let phrase = |(_, having): (CaveatKind, Vec<(&&str, Caveat)>)| {
        let more = having.len() - 1;
        let worst = having.into_iter().reduce(|a, b| if b.1.percent > a.1.percent { b } else { a });
        let (name, worst) = worst?;
        let mut text = worst.phrase;
        if all.len() > 1 {
            text += &tr!(in_name_after, name);
        }
        if more > 0 {
            text += &tr!(and_n_more_after, n = count(more as u64));
        }
        Some(text)
    };
    kinds.into_iter().filter_map(phrase).collect()
}

/// Why a recording does not show all that it should have.
pub(crate) fn incomplete_reason(why: Incomplete) -> String {
    match why {
        Incomplete::EndedEarly => tr!(run_ended_early_rest),
        Incomplete::SamplesLost(lost) => {
            tr!(samples_lost_unknown_latencies, samples = counted(lost, texts::n_samples))
        }
        Incomplete::TraceLost(lost) => {
            tr!(events_kernels_trace_lost, events = counted(lost, texts::n_events))
        }
        Incomplete::StreamOffPeriod => {
            tr!(streams_intervals_not_those)
        }
        Incomplete::StreamBroken => tr!(parts_stream_missing_could),
        Incomplete::ProgramFailed => tr!(program_measured_crashed_failed),
        Incomplete::FellBack => tr!(threads_co_kernel_ran),
        Incomplete::LoadOffTarget => tr!(load_off_target_2),
        Incomplete::Contradicts => {
            tr!(run_json_contradicts_samples_teiji)
        }
        Incomplete::PeriodsMissed => tr!(periods_stream_have_no_record),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::Synthetic;
    use model::{BusyProcess, Processes};

    #[test]
    fn two_busy_loops_beside_a_run_are_said_with_their_share() {
        let mut recorded = Synthetic::idle().build();
        assert_eq!(collect(&recorded.document), [], "nobody recorded what used the time");
        let after = recorded.document.host.after.as_mut().unwrap();
        // 10 s, of which 17 % were busy before, and on CPU 1 another 8 s now.
        *after.cpus[1].time_ms.get_mut("idle").unwrap() -= 8_000;
        *after.cpus[1].time_ms.get_mut("user").unwrap() += 8_000;
        let busy = BusyProcess { pid: 9, name: "yes".into(), cpu_ms: 8_000, kernel_thread: false };
        recorded.document.host.processes =
            Some(Processes { own_ms: 3_600, busiest: vec![busy], ..Processes::default() });
        let caveats = collect(&recorded.document);
        assert_eq!(caveats.len(), 1);
        assert_eq!(
            (&*caveats[0].phrase, &*caveats[0].short),
            ("other work used 79.0 % of CPU 1", "other work 79.0 %")
        );
        // A guest in virtual time has nothing else in it, and its kernel looks at the same moment
        // of each interval.
        recorded.document.lab = Synthetic::idle().in_lab(Some(1)).build().document.lab;
        assert_eq!(collect(&recorded.document), []);
    }

    #[test]
    fn a_load_that_had_not_settled_is_named() {
        let mut recorded = Synthetic::idle().load("cpu").build();
        recorded.document.host.after = None;
        let steady = model::Steady::RunningForNs(plan::Nanos::from_secs(1));
        recorded.document.warnings =
            vec![Warning::LoadNotSettled { load: "cpu".parse().unwrap(), steady }];
        assert_eq!(in_short(&recorded.document), ["load not steady"]);
    }

    #[test]
    fn a_measured_cpu_without_a_load_stands_before_the_figures() {
        let mut recorded = Synthetic::idle().load("cpu").build();
        let document = &mut recorded.document;
        let (bare, loaded, load) = (vec![CpuId(1)], vec![CpuId(0)], "cpu".parse().unwrap());
        (document.host.after, document.warnings) =
            (None, vec![Warning::LoadsElsewhere { bare, loaded, load }]);
        let measured: Vec<CpuId> = document.threads.iter().map(|thread| thread.cpu).collect();
        assert_eq!(measured, [CpuId(0), CpuId(1)]);
        document.load[0].cpus = vec![CpuId(0)];
        let caveats = collect(document);
        assert_eq!(
            (&*caveats[0].phrase, &*caveats[0].short),
            ("no load on measured CPU 1", "no load on CPU 1")
        );
        let verdict = crate::sections::verdict::verdict(&crate::overview::Overview::all(
            std::slice::from_ref(&recorded),
        ));
        assert!(verdict.starts_with("No load on measured CPU 1: "), "{verdict}");
        recorded.document.load[0].cpus = measured;
        assert_eq!(collect(&recorded.document), []);
    }

    #[test]
    fn of_several_recordings_the_worst_is_named() {
        let (idle, busy) = (Synthetic::idle().build(), Synthetic::hackbench().build());
        let mut worse = busy.clone();
        *worse.document.host.after.as_mut().unwrap().cpus[1].time_ms.get_mut("steal").unwrap() +=
            3_000;
        let output =
            phrases(&[("a", &idle.document), ("b", &busy.document), ("c", &worse.document)]);
        assert_eq!(
            output,
            [
                "steal time 24.0 % (3.10 s) on CPU 1 in c and 1 more",
                "clocksource changed from tsc to hpet in b and 1 more"
            ]
        );
        assert_eq!(phrases(&[("b", &busy.document)])[0], "steal time 1.0 % (100 ms) on CPU 0");
        let mut all = collect(&busy.document);
        merge(&mut all, collect(&worse.document));
        let short: Vec<&str> = all.iter().map(|caveat| caveat.short.as_str()).collect();
        assert_eq!(short, ["steal 24.0 %", "clocksource changed"]);
    }
}
