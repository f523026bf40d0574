// SPDX-License-Identifier: MIT OR Apache-2.0
//! Caveats, line by line.

use super::*;
use crate::sections::activity;
use crate::synthetic::{Synthetic, lose_samples};
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
    let worst_on = |document: &mut Document, cpu: usize| {
        for (index, thread) in document.threads.iter_mut().enumerate() {
            let max = &mut thread.latency_with_skipped_ns.as_mut().unwrap().max;
            *max = if index == cpu { 99_000_000 } else { 1_000_000 };
        }
    };
    worst_on(&mut recorded.document, 1);
    let caveats = collect(&recorded.document);
    assert_eq!(caveats.len(), 1);
    assert_eq!(
        (&*caveats[0].phrase, &*caveats[0].short),
        ("other work used 79.0 % of CPU 1", "other work 79.0 % of one CPU")
    );
    // On CPU 0 as much: of one CPU it is twice that, as beside a load.
    let mut two = recorded.clone();
    let after = two.document.host.after.as_mut().unwrap();
    *after.cpus[0].time_ms.get_mut("idle").unwrap() -= 8_000;
    *after.cpus[0].time_ms.get_mut("user").unwrap() += 8_000;
    let caveats = collect(&two.document);
    assert_eq!(
        (&*caveats[0].phrase, &*caveats[0].short),
        (
            "other work used 79.0 % of CPU 1 (worst latency) and 79.0 % of CPU 0",
            "other work 158.0 % of one CPU"
        )
    );
    two.document.threads.iter_mut().for_each(|thread| thread.pinned = false);
    let any = "other work on all CPUs together used 122.0 % of one";
    assert_eq!(collect(&two.document)[0].phrase, any);
    // The worst latency was on the other CPU.
    worst_on(&mut recorded.document, 0);
    assert_eq!(
        collect(&recorded.document)[0].phrase,
        "other work used 79.0 % of CPU 1, little of CPU 0 (worst latency)"
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
    let banners = banners(&Overview::all(std::slice::from_ref(&recorded)));
    assert_eq!(banners, [Banner::new(CaveatKind::LoadsElsewhere, "no load on measured CPU 1")]);
    recorded.document.load[0].cpus = measured;
    assert_eq!(collect(&recorded.document), []);
}

/// It was a warning with advice to measure for as long as the program runs, which was done.
#[test]
fn the_end_of_a_program_that_was_measured_whole_is_a_fact() {
    let mut recorded = Synthetic::idle().build();
    recorded.document.warnings.clear();
    let mut shown = |status, default_length| {
        recorded.document.warnings = vec![Warning::ProgramEnded {
            after_ns: plan::Nanos(3_210_000_000),
            planned_ns: plan::Nanos::from_secs(10),
            status: Some(status),
            signal: None,
            default_length,
        }];
        let all = Overview::all(std::slice::from_ref(&recorded));
        let warnings = crate::sections::grouped_warnings::warnings(&all);
        let warnings: Vec<String> =
            warnings.into_iter().map(|warning| warning.text.message).collect();
        let notes: Vec<String> = banners(&all).into_iter().map(|banner| banner.text).collect();
        (notes, warnings)
    };
    let fact = "The program ended after 3.21 s with status 0".to_owned();
    let warning = |status| format!("The program ended after 3.2 s of 10 s with status {status}.");
    assert_eq!(shown(0, true), (vec![fact], vec![]));
    assert_eq!(shown(0, false), (vec![], vec![warning(0)]));
    let failed = "The program that was measured crashed or failed".to_owned();
    assert_eq!(shown(3, true), (vec![failed], vec![warning(3)]));
}

/// It was that of the CPU with most of it, beside a worst latency that was on another: in the
/// caveat, and later in the page's table alone.
#[test]
fn steal_time_is_first_that_of_the_worst_latencys_cpu() {
    let mut recorded = Synthetic::hackbench().build();
    let after = recorded.document.host.after.as_mut().unwrap();
    *after.cpus[1].time_ms.get_mut("steal").unwrap() += 3_000;
    let mut said = |worst: usize| {
        for (index, thread) in recorded.document.threads.iter_mut().enumerate() {
            let max = &mut thread.latency_with_skipped_ns.as_mut().unwrap().max;
            *max = if index == worst { 99_000_000 } else { 1_000_000 };
        }
        let steal = collect(&recorded.document).remove(0);
        let tables = activity::all(&[Overview::new(&recorded)]);
        let row = tables[0].rows.iter().find(|row| row.name == "steal").unwrap();
        [steal.phrase, steal.short, format!("{}: {}", row.cells[0].figure, row.cells[0].beside)]
    };
    let is = |texts: [&str; 3]| texts.map(str::to_owned);
    assert_eq!(
        said(0),
        is([
            "steal time 1.0 % (100 ms) on CPU 0 (worst latency), 24.0 % on CPU 1",
            "steal 1.0 % (CPU 1: 24.0 %)",
            "1.0 %: 100 ms on CPU 0 (worst latency), most on CPU 1: 24.0 %",
        ])
    );
    let at_worst =
        ["steal time 24.0 % (3.10 s) on CPU 1", "steal 24.0 %", "24.0 %: 3.10 s on CPU 1"];
    assert_eq!(said(1), is(at_worst));
    let before = &recorded.document.host.before.cpus[0].time_ms;
    let none = before["steal"];
    recorded.document.host.after.as_mut().unwrap().cpus[0].time_ms.insert("steal".into(), none);
    recorded.document.threads[0].latency_with_skipped_ns.as_mut().unwrap().max = 199_000_000;
    let steal = collect(&recorded.document).remove(0);
    assert_eq!(
        (&*steal.phrase, &*steal.short),
        (
            "steal time 24.0 % (3.10 s) on CPU 1, none on CPU 0 (worst latency)",
            "steal 24.0 % on another CPU"
        )
    );
}

#[test]
fn of_several_recordings_the_worst_is_named() {
    let (idle, busy) = (Synthetic::idle().build(), Synthetic::hackbench().build());
    let mut worse = busy.clone();
    *worse.document.host.after.as_mut().unwrap().cpus[1].time_ms.get_mut("steal").unwrap() += 3_000;
    let lines = |recordings: &[Recorded]| {
        let banners = banners(&Overview::all(recordings));
        banners.into_iter().map(|banner| banner.text).collect::<Vec<_>>()
    };
    assert_eq!(
        lines(&[idle, busy.clone(), worse.clone()]),
        [
            "hackbench (2) (the worst of 2 such recordings): steal time 24.0 % (3.10 s) on CPU 1",
            "hackbench and hackbench (2): clocksource changed from tsc to hpet"
        ]
    );
    let mut many = vec![Synthetic::idle().build()];
    many.extend((0..3).map(|_| busy.clone()));
    assert_eq!(
        lines(&many)[1],
        "hackbench and 2 more recordings: clocksource changed from tsc to hpet"
    );
    // Neither is worse than the other.
    let [mut one, mut other] = [(); 2].map(|()| Synthetic::idle().build());
    for (recorded, name) in [(&mut one, "governor"), (&mut other, "idle-states")] {
        recorded.document.warnings = vec![Warning::MachineCheck {
            check: name.into(),
            found: "x".into(),
            why: "y".into(),
            action: None,
            found_phrase: None,
            action_phrase: None,
        }];
    }
    assert_eq!(
        lines(&[one, other]),
        ["idle (1 of 2 such recordings): bad for latency: governor. See teiji check"]
    );
    // It was that of the first, whichever had lost how many.
    let [mut few, mut many] = [(); 2].map(|()| Synthetic::idle().build());
    lose_samples(&mut few.document.threads[0], 3);
    lose_samples(&mut many.document.threads[0], 12_000);
    let lost = "idle (2) (the worst of 2 such recordings): 12,000 samples lost, with unknown \
                latencies";
    assert!(lines(&[few, many]).contains(&lost.to_owned()));
    assert_eq!(lines(std::slice::from_ref(&busy))[0], "Steal time 1.0 % (100 ms) on CPU 1");
    // What is the same of all is of none of them.
    assert_eq!(lines(&[busy.clone(), busy.clone()])[1], "Clocksource changed from tsc to hpet");
    let mut all = collect(&busy.document);
    merge(&mut all, collect(&worse.document));
    let short: Vec<&str> = all.iter().map(|caveat| caveat.short.as_str()).collect();
    assert_eq!(short, ["steal 24.0 %", "clocksource changed"]);
}
