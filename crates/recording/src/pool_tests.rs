// SPDX-License-Identifier: MIT OR Apache-2.0
//! Phases on disk, read as one, against their samples laid end to end.

use super::*;
use crate::{Folder, verify};
use judge::{Incomplete, Verdict};
use model::{Beside, Document, End, RowCounts, State, Thread, fill_in};
use plan::{CpuId, Nanos, Run, Scheduling};
use std::path::Path;

const INTERVAL: Nanos = Nanos::from_millis(1);

/// A recording of a lab's run in this phase, of these latencies; what an overrun skips is left out
/// by it.
fn write(
    folder: &Path,
    phase: u32,
    threads: &[Vec<i64>],
    change: impl FnOnce(&mut Document),
) -> Recording {
    let path = folder.join(format!("x-phase-{phase}.teiji"));
    let mut document: Document =
        serde_json::from_str(include_str!("../../../fuzz/corpus/run_json/complete.json")).unwrap();
    let file = |name: &str| serde_json::json!({ "path": name, "sha256": name });
    let lab = serde_json::json!({
        "guest": {
            "machine": "x86_64", "memory_mib": 512, "cpus": 1,
            "time": { "mode": "virtual", "shift": 0 }, "kernel_args": "",
        },
        "ns_per_instruction": 1, "deterministic": true, "accelerator": "tcg",
        "kernel": { "name": "debian:amd64=6.1", "image": file("vmlinuz"), "modules": null },
        "device_tree": null,
        "program": file("teiji"), "modules": [], "initramfs_sha256": phase.to_string(),
        "qemu": { "version": "7.2.22", "command_line": [] }, "host_ms": 5,
    });
    document.lab = Some(serde_json::from_value(lab).unwrap());
    document.load.clear();
    document.warnings.clear();
    let cpus: Vec<CpuId> = (0..).map(CpuId).take(threads.len()).collect();
    document.run = Run {
        cpus,
        phase: phase.to_string().parse().unwrap(),
        ..Run::example(INTERVAL, threads[0].len() as u64)
    };
    document.threads = (0..threads.len())
        .map(|index| {
            Thread::unmeasured(
                index,
                CpuId(u32::try_from(index).unwrap()),
                Scheduling::DEFAULT,
                INTERVAL,
                Nanos(0),
            )
        })
        .collect();
    document.instrument.real_time = true;
    document.state = State::Running;
    change(&mut document);
    let mut folder = Folder::create(&path, &document).unwrap();
    folder.begin(&document).unwrap();
    for (thread, latencies) in document.threads.iter_mut().zip(threads) {
        let mut samples = folder.samples(thread, &document.probe).unwrap();
        let (mut row, due) = (0, latencies.len());
        while row < due {
            samples.extend(row as u64, &latencies[row..=row]).unwrap();
            row += 1 + usize::try_from(latencies[row] / INTERVAL.0).unwrap();
        }
        samples.finish(due as u64).unwrap();
    }
    (document.state, document.end) = (State::Complete, Some(End::Done));
    let mut recorded = Recording::from_document(folder.path(), document).summarise().unwrap();
    for (thread, statistics) in recorded.document.threads.iter_mut().zip(&recorded.threads) {
        fill_in(thread, &recorded.document.probe, statistics, &Beside::default());
        thread.activations = Some(RowCounts::Planned(statistics.activations));
    }
    folder.finish(&recorded.document).unwrap();
    Recording::open(&path).unwrap()
}

/// Some hundred latencies that differ from phase to phase; in the second there are two overruns.
fn latencies(phase: u32) -> Vec<i64> {
    let mut all: Vec<i64> =
        (0..300).map(|row| 4_000 + (row * 7_919 + i64::from(phase) * 104_729) % 3_000).collect();
    if phase == 2 {
        (all[40], all[200]) = (2_400_000, 1_000_000);
    }
    all
}

fn pooled(recordings: &[Recording], limits: &[&str]) -> Examined {
    let limits: Vec<plan::Limit> = limits.iter().map(|limit| limit.parse().unwrap()).collect();
    let paths: Vec<&Path> = recordings.iter().map(Recording::path).collect();
    examine_pool(&paths, &plan::Limit::exact_request(&limits)).unwrap().unwrap()
}

fn verdict(examined: &Examined, limit: &str) -> judge::Judged {
    judge::judge(&limit.parse().unwrap(), examined)
}

/// Every latency of one thread, skipped activations counted in, ascending.
fn all_due(phases: impl Iterator<Item = u32>) -> Vec<i64> {
    let mut all = Vec::new();
    for phase in phases {
        let latencies = latencies(phase);
        let mut row = 0;
        while row < latencies.len() {
            let (latency, skipped) = (latencies[row], latencies[row] / INTERVAL.0);
            all.extend((0..=skipped).map(|behind| latency - behind * INTERVAL.0));
            row += 1 + usize::try_from(skipped).unwrap();
        }
    }
    all.sort_unstable();
    all
}

#[test]
fn phases_have_the_figures_of_their_samples_end_to_end() {
    let place = tempfile::tempdir().unwrap();
    let all: Vec<Recording> =
        (1..=5).map(|phase| write(place.path(), phase, &[latencies(phase)], |_| ())).collect();
    assert_eq!(judge::pools(all.iter().map(Recording::document)).len(), 1);
    for one in &all {
        assert!(verify(&one.clone().summarise().unwrap()).is_empty());
    }
    let examined = pooled(&all, &["p90<9ms", "rate(>6us)<0.9@95%"]);
    let expected = all_due(1..=5);
    let summary = examined.statistics()[0].latency_with_skipped.unwrap();
    let at = |permille: usize| expected[(expected.len() * permille).div_ceil(1_000) - 1];
    assert_eq!((summary.count, summary.min, summary.max), (1_500, expected[0], 2_400_000));
    assert_eq!(
        (summary.p50, summary.p90, summary.p99),
        (Some(at(500)), Some(at(900)), Some(at(990)))
    );
    let counts = examined.statistics()[0].activations;
    assert_eq!((counts.due, counts.late, counts.skipped), (1_500, 2, 3));
    // The phase with the largest latency stands for them, and all are called by what their names
    // share.
    assert_eq!(
        (examined.recorded.path.clone(), examined.path()),
        (place.path().join("x-phase-2.teiji"), place.path().join("x-phase-*.teiji"))
    );
    let seen = |limit: &str| verdict(&examined, limit);
    assert_eq!(seen("late<=2").verdict, Verdict::Pass);
    assert!(matches!(seen("skipped<3").seen, judge::Seen::Count { n: 3, due: 1_500 }));
    assert_eq!(seen("max<2ms").verdict, Verdict::Fail);
    let above = expected.iter().filter(|latency| **latency > 6_000).count() as u64;
    assert!(matches!(
        seen("rate(>6us)<0.9@95%").seen,
        judge::Seen::Rate { n, of: 1_500, .. } if n == above,
    ));
    let group = examined.group();
    assert_eq!((group.runs.len(), group.quantiles.unwrap()[0]), (5, Some(at(500))));
}

#[test]
fn a_copy_of_a_phase_adds_nothing() {
    let place = tempfile::tempdir().unwrap();
    let all: Vec<Recording> =
        (1..=2).map(|phase| write(place.path(), phase, &[latencies(phase)], |_| ())).collect();
    let twice = [all[0].clone(), all[1].clone(), all[0].clone()];
    assert_eq!(pooled(&twice, &[]).statistics()[0].activations.due, 600);
    let alone = pooled(&[all[1].clone(), all[1].clone()], &[]);
    assert!(alone.pool.is_none() && alone.path() == place.path().join("x-phase-2.teiji"));
}

/// What passes in some phases need not pass in one that is not all there.
#[test]
fn one_phase_that_is_not_whole_makes_all_of_them_doubtful() {
    let place = tempfile::tempdir().unwrap();
    let whole = write(place.path(), 1, &[latencies(1)], |_| ());
    let off_target =
        write(place.path(), 3, &[latencies(3)], |document| document.load_off_target = true);
    let judged = verdict(&pooled(&[whole, off_target], &[]), "max<9ms");
    assert_eq!(judged.verdict, Verdict::NotEnough);
    assert!(
        matches!(
            judged.lacking,
            Some(judge::Lacking::Whole(Incomplete::LoadOffTarget | Incomplete::Contradicts))
        ),
        "{:?}",
        judged.lacking
    );
}

/// Each by itself, as in one run.
#[test]
fn threads_are_pooled_each_with_itself() {
    let place = tempfile::tempdir().unwrap();
    let slower =
        |phase: u32| latencies(phase).iter().map(|latency| latency + 100_000).collect::<Vec<i64>>();
    let all: Vec<Recording> = [1, 3]
        .map(|phase| write(place.path(), phase, &[latencies(phase), slower(phase)], |_| ()))
        .into();
    let examined = pooled(&all, &[]);
    let medians: Vec<i64> =
        examined.statistics().iter().map(|thread| thread.latency.unwrap().p50.unwrap()).collect();
    assert_eq!(medians[1] - medians[0], 100_000);
    assert!(
        examined.group().quantiles.is_none(),
        "of several threads together they are not known exactly"
    );
    assert!(matches!(
        verdict(&examined, "max<105us").seen,
        judge::Seen::Latency { thread: Some(1), .. }
    ));
}
