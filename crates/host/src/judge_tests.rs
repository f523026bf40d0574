// SPDX-License-Identifier: MIT OR Apache-2.0
//! Each warning where it belongs, and none where it does not.

use super::*;
use crate::test_machines::{guest, pc, pi};

fn codes(warnings: &[Warning]) -> Vec<&str> {
    warnings.iter().map(|warning| warning.code.as_str()).collect()
}

fn quiet() -> HostFacts {
    HostFacts { clocksource: Some("tsc".to_owned()), clocksources_available: vec!["tsc".to_owned()], ..pc().1.snapshot() }
}

fn one(before: &HostFacts, after: &HostFacts) -> Warning {
    let mut warnings = warnings(before, after);
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    warnings.remove(0)
}

#[test]
fn a_well_set_up_machine_is_left_alone() {
    assert_eq!(warnings(&quiet(), &quiet()), []);
    assert_eq!(warnings(&HostFacts::default(), &HostFacts::default()), [], "what is unknown is not warned of");
}

#[test]
fn a_governor_that_saves_power() {
    let board = pi().1.snapshot();
    let found = one(&board, &board);
    assert_eq!((found.code.as_str(), found.evidence.as_str()), (code::GOVERNOR_NOT_PERFORMANCE, "ondemand on CPU 0-1,3"));
    assert!(found.next_step.contains("echo performance"));
    let mut after = board;
    after.cpus[1].governor = Some("performance".to_owned());
    after.cpus[2].governor = Some("powersave".to_owned());
    assert_eq!(one(&after, &after).evidence, "ondemand on CPU 0; powersave on CPU 3");
}

#[test]
fn a_governor_without_a_choice_does_not_matter() {
    let mut board = pi().1.snapshot();
    for cpu in &mut board.cpus {
        cpu.frequency_min_khz = cpu.frequency_max_khz;
    }
    assert_eq!(warnings(&board, &board), []);
}

#[test]
fn a_clocksource_given_up() {
    let (before, mut after) = (quiet(), quiet());
    after.clocksource = Some("hpet".to_owned());
    after.clocksources_available = vec!["hpet".to_owned(), "acpi_pm".to_owned()];
    let found = warnings(&before, &after);
    assert_eq!(codes(&found), [code::CLOCKSOURCE_CHANGED, code::CLOCKSOURCE_SLOW]);
    assert_eq!(found[0].evidence, "tsc before, hpet after");
    assert_eq!(found[1].evidence, "clocksource hpet, available: hpet acpi_pm");
    assert!(found[1].next_step.contains("dmesg"), "{}", found[1].next_step);
}

#[test]
fn a_slow_clocksource_beside_a_fast_one() {
    let mut facts = quiet();
    facts.clocksource = Some("acpi_pm".to_owned());
    facts.clocksources_available = ["hpet", "acpi_pm", "tsc"].map(str::to_owned).to_vec();
    let found = one(&facts, &facts);
    assert_eq!(found.code, code::CLOCKSOURCE_SLOW);
    assert_eq!(found.next_step, "echo tsc | sudo tee /sys/devices/system/clocksource/clocksource0/current_clocksource");
}

#[test]
fn a_guest_from_which_time_was_stolen() {
    let before = guest().1.snapshot();
    let mut after = before.clone();
    assert_eq!(codes(&warnings(&before, &after)), [code::HYPERVISOR]);
    for (cpu, steal, idle) in [(0, 10, 9_990), (1, 250, 9_750)] {
        *after.cpus[cpu].time_ms.get_mut("steal").unwrap() += steal;
        *after.cpus[cpu].time_ms.get_mut("idle").unwrap() += idle;
    }
    let found = warnings(&before, &after);
    assert_eq!(codes(&found), [code::HYPERVISOR, code::STEAL_TIME]);
    assert_eq!(found[1].evidence, "CPU 1: 250 ms, 2.5 % of its time; CPU 0: 10 ms, 0.1 % of its time");
    assert!(found[1].message.starts_with("Steal time: the hypervisor took CPU 0-1 away for 260 ms."), "{}", found[1].message);
}

#[test]
fn steal_time_that_was_there_before_is_not_the_runs() {
    let mut facts = quiet();
    facts.cpus[0].time_ms.insert("steal".to_owned(), 5_000);
    assert_eq!(warnings(&facts, &facts), []);
}

#[test]
fn frequencies_beyond_a_tenth() {
    let (before, mut after) = (quiet(), quiet());
    after.cpus[2].frequency_khz = Some(3_240_000);
    assert_eq!(warnings(&before, &after), [], "exactly 10 % is the reading's noise");
    after.cpus[2].frequency_khz = Some(3_239_999);
    let found = one(&before, &after);
    assert_eq!(
        (found.code.as_str(), found.evidence.as_str()),
        (code::FREQUENCY_CHANGED, "CPU 2: 3600 MHz before, 3239 MHz after")
    );
    assert!(found.next_step.ends_with("--min 3600000 --max 3600000"), "{}", found.next_step);
    after.cpus[2].governor = None;
    assert_eq!(warnings(&before, &after), [], "without a governor nobody can set it");
}

#[test]
fn isolated_cpus_that_were_left_out() {
    let cpus = |ids: &[u32]| ids.iter().copied().map(CpuId).collect::<Vec<_>>();
    let left_out = |isolated: &[u32], measured: &[u32], usable: &[u32]| {
        isolated_not_measured(&cpus(isolated), &cpus(measured), &cpus(usable))
    };
    let found = left_out(&[1, 2, 3], &[0], &[0, 1, 2, 3]).unwrap();
    assert_eq!(found.code, code::ISOLATED_NOT_MEASURED);
    assert_eq!(found.message, "Isolated CPUs 1-3 not measured: add -a 1-3.");
    assert_eq!(found.evidence, "isolated: CPU 1-3; measured, by inherited affinity: CPU 0");
    assert_eq!(left_out(&[1], &[0], &[0, 1]).unwrap().message, "Isolated CPU 1 not measured: add -a 1.");
    assert_eq!(left_out(&[1, 2], &[0, 1], &[0, 1, 2]).unwrap().message, "Isolated CPU 2 not measured: add -a 2.");
    assert_eq!(left_out(&[1], &[1], &[0, 1]), None);
    assert_eq!(left_out(&[1], &[0], &[0]), None, "a cpuset keeps it away: no advice that the kernel refuses");
    assert_eq!(left_out(&[], &[0], &[0, 1]), None);
}

#[test]
fn a_cpu_that_went() {
    let (before, mut after) = (quiet(), quiet());
    after.cpus.remove(2);
    let found = one(&before, &after);
    assert_eq!(found.code, code::CPU_OFFLINE_CHANGED);
    assert_eq!(found.evidence, "CPUs 0-3 online before, 0-1,3 after");
    after.cpus.clear();
    assert_eq!(warnings(&before, &after), [], "a look that failed is no machine without CPUs");
}

#[test]
fn evidence_of_a_large_machine_stays_readable() {
    let (mut before, mut after) = (quiet(), quiet());
    for cpu in 4..256 {
        before.cpus.push(CpuFacts { cpu: CpuId(cpu), ..before.cpus[0].clone() });
    }
    after.cpus = before.cpus.clone();
    for cpu in &mut after.cpus {
        cpu.frequency_khz = Some(800_000);
    }
    let found = one(&before, &after);
    assert!(found.evidence.ends_with("; and 248 more"), "{}", found.evidence);
}

#[test]
fn shares() {
    for (part, whole, text) in
        [(1, 0, "an unknown share"), (0, 10, "0.0 %"), (1, 100_000, "below 0.1 %"), (15, 1_000, "1.5 %"), (10, 10, "100.0 %")]
    {
        assert_eq!(percent(part, whole), text);
    }
    assert_eq!(percent(u64::MAX, u64::MAX), "100.0 %");
}
