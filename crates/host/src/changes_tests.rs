// SPDX-License-Identifier: MIT OR Apache-2.0
//! Differences between snapshots of the laid-out machines, as [`model::changes`] finds them.

use crate::tests::machines::{guest, pc, pi};
use model::{CpuFacts, EventCounts, FactChange, HostFacts, changes};
use plan::CpuId;
use proptest::prelude::*;
use std::sync::LazyLock;

fn count<'a>(rows: &'a mut [EventCounts], name: &str) -> &'a mut Vec<u64> {
    &mut rows.iter_mut().find(|row| row.name == name).unwrap().counts
}

#[test]
fn nothing_changed() {
    let facts = pc().1.snapshot();
    let found = changes(&facts, &facts);
    assert_eq!((found.interrupts.len(), found.softirqs.len(), found.facts.len()), (0, 0, 0));
    assert_eq!(found.cpu_times.len(), 4);
    assert!(found.cpu_times.iter().all(|cpu| cpu.elapsed_ms == 0));
}

#[test]
fn interrupts_most_frequent_first() {
    let before = guest().1.snapshot();
    let mut after = before.clone();
    count(&mut after.interrupts, "36")[1] += 40;
    count(&mut after.interrupts, "LOC")[0] += 1_000;
    count(&mut after.interrupts, "LOC")[1] += 2_000;
    count(&mut after.interrupts, "ERR")[0] += 3;
    count(&mut after.softirqs, "RCU")[0] += 5;
    let found = changes(&before, &after);
    let named: Vec<(&str, u64)> =
        found.interrupts.iter().map(|change| (change.name.as_str(), change.total)).collect();
    assert_eq!(named, [("LOC", 3_000), ("36", 40), ("ERR", 3)]);
    assert_eq!(found.interrupts[0].description, "Local timer interrupts");
    assert_eq!(found.interrupts[0].per_cpu, [(CpuId(0), 1_000), (CpuId(1), 2_000)]);
    assert_eq!(found.interrupts[1].per_cpu, [(CpuId(1), 40)]);
    assert_eq!(found.interrupts[2].per_cpu, [], "no CPU can be named for it");
    assert_eq!((found.softirqs.len(), found.softirqs[0].total), (1, 5));
}

#[test]
fn a_cpu_that_went_does_not_shift_the_others() {
    let mut before = pi().1.snapshot();
    let after = before.clone();
    before.cpus.insert(2, CpuFacts { cpu: CpuId(2), ..before.cpus[1].clone() });
    for row in before.interrupts.iter_mut().filter(|row| row.counts.len() == 3) {
        row.counts.insert(2, 7);
    }
    count(&mut before.interrupts, "11")[3] -= 21;
    let found = changes(&before, &after);
    assert_eq!(found.interrupts.len(), 1, "{:?}", found.interrupts);
    assert_eq!(found.interrupts[0].per_cpu, [(CpuId(3), 21)]);
    assert_eq!(
        found.facts,
        [FactChange { cpu: None, name: "cpus", before: "0-3".into(), after: "0-1,3".into() }]
    );
    let back = changes(&after, &before).interrupts;
    let named =
        |cpu| back.iter().flat_map(|change| &change.per_cpu).any(|(found, _)| *found == CpuId(cpu));
    assert!(named(3) && !named(2), "what a CPU counted in an earlier life is not new: {back:?}");
}

#[test]
fn a_row_that_is_new_counts_from_0_and_a_failed_snapshot_does_not() {
    let after = guest().1.snapshot();
    let mut before = after.clone();
    before.interrupts.retain(|row| row.name != "39");
    assert_eq!(changes(&before, &after).interrupts[0].per_cpu, [(CpuId(0), 5_095)]);
    before.interrupts.clear();
    assert_eq!(changes(&before, &after).interrupts, []);
}

#[test]
fn where_the_time_went() {
    let before = guest().1.snapshot();
    let mut after = before.clone();
    for (state, ms) in [("user", 300), ("guest", 200), ("idle", 690), ("steal", 10)] {
        *after.cpus[0].time_ms.get_mut(state).unwrap() += ms;
    }
    // Known to step back.
    *after.cpus[0].time_ms.get_mut("iowait").unwrap() -= 10;
    let found = &changes(&before, &after).cpu_times[0];
    assert_eq!((found.cpu, found.elapsed_ms), (CpuId(0), 1_000), "guest time is part of user time");
    assert_eq!((found.time_ms["user"], found.time_ms["iowait"], found.time_ms["irq"]), (300, 0, 0));
}

#[test]
fn facts_with_both_values() {
    let before = pc().1.snapshot();
    let mut after = before.clone();
    after.clocksource = Some("tsc".to_owned());
    after.rt_runtime_us = Some(-1);
    after.hypervisor = None;
    after.uptime_s = Some(1220.9);
    after.cpus[3].governor = Some("powersave".to_owned());
    after.cpus[3].frequency_khz = None;
    let change = |cpu: Option<u32>, name, before: &str, after: &str| FactChange {
        cpu: cpu.map(CpuId),
        name,
        before: before.to_owned(),
        after: after.to_owned(),
    };
    assert_eq!(
        changes(&before, &after).facts,
        [
            change(None, "hypervisor", "no", "unknown"),
            change(None, "clocksource", "hpet", "tsc"),
            change(None, "rt_runtime_us", "950000", "-1"),
            change(None, "uptime_s", "1210.65", "1220.90"),
            change(Some(3), "governor", "performance", "powersave"),
            change(Some(3), "frequency_khz", "3600000", "unknown"),
        ]
    );
}

/// Looked at once: laying out files for every case would be most of the test's time.
static PC: LazyLock<HostFacts> = LazyLock::new(|| pc().1.snapshot());

proptest! {
    #[test]
    fn the_parts_add_up(counts in proptest::collection::vec((any::<u32>(), any::<u32>()), 4)) {
        let (mut before, mut after) = (PC.clone(), PC.clone());
        *count(&mut before.interrupts, "LOC") =
            counts.iter().map(|(was, _)| u64::from(*was)).collect();
        *count(&mut after.interrupts, "LOC") =
            counts.iter().map(|(_, is)| u64::from(*is)).collect();
        for change in changes(&before, &after).interrupts {
            prop_assert_eq!(
                change.total,
                change.per_cpu.iter().map(|(_, risen)| risen).sum::<u64>()
            );
        }
    }
}
