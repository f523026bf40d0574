// SPDX-License-Identifier: MIT OR Apache-2.0
//! Each warning where it belongs, and none where it does not.

use super::*;
use crate::tests::machines::{guest, pc, pi};

/// Of a machine in real time.
fn warnings(before: &HostFacts, after: &HostFacts) -> Vec<Warning> {
    super::warnings(before, after, MachineTime::Real)
}

fn cpus<const N: usize>(ids: [u32; N]) -> Vec<CpuId> {
    ids.map(CpuId).to_vec()
}

fn quiet() -> HostFacts {
    HostFacts {
        clocksource: Some("tsc".to_owned()),
        clocksources_available: vec!["tsc".to_owned()],
        ..pc().1.snapshot()
    }
}

fn one(before: &HostFacts, after: &HostFacts) -> Warning {
    let mut warnings = warnings(before, after);
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    warnings.remove(0)
}

#[test]
fn a_well_set_up_machine_is_left_alone() {
    assert_eq!(warnings(&quiet(), &quiet()), []);
    assert_eq!(
        warnings(&HostFacts::default(), &HostFacts::default()),
        [],
        "what is unknown is not warned of"
    );
}

#[test]
fn a_governor_that_saves_power() {
    let board = pi().1.snapshot();
    let governors = |all: &[(&str, &[u32])]| {
        let cpus = |ids: &[u32]| ids.iter().copied().map(CpuId).collect();
        let governors =
            all.iter().map(|(governor, ids)| ((*governor).to_owned(), cpus(ids))).collect();
        Warning::GovernorNotPerformance { governors }
    };
    assert_eq!(one(&board, &board), governors(&[("ondemand", &[0, 1, 3])]));
    let mut after = board;
    after.cpus[1].governor = Some("performance".to_owned());
    after.cpus[2].governor = Some("powersave".to_owned());
    assert_eq!(one(&after, &after), governors(&[("ondemand", &[0]), ("powersave", &[3])]));
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
    let [changed, slow] =
        [("tsc", "hpet"), ("hpet", "acpi_pm")].map(|(one, two)| [one, two].map(str::to_owned));
    let [was, is] = changed;
    let expected = [
        Warning::ClocksourceChanged { before: was, after: is },
        Warning::ClocksourceSlow {
            clocksource: slow[0].clone(),
            available: slow.to_vec(),
            fast: None,
        },
    ];
    assert_eq!(warnings(&before, &after), expected);
}

/// A guest that measures as soon as it has booted was said to have changed its clock.
#[test]
fn a_counter_whose_rate_is_measured_is_the_same_clock() {
    let (mut before, after) = (quiet(), quiet());
    before.clocksource = Some("tsc-early".to_owned());
    assert_eq!(after.clocksource.as_deref(), Some("tsc"));
    assert_eq!(warnings(&before, &after), []);
}

#[test]
fn a_slow_clocksource_beside_a_fast_one() {
    let mut facts = quiet();
    facts.clocksource = Some("acpi_pm".to_owned());
    facts.clocksources_available = ["hpet", "acpi_pm", "tsc"].map(str::to_owned).to_vec();
    let available = facts.clocksources_available.clone();
    let (clocksource, fast) = ("acpi_pm".to_owned(), Some("tsc".to_owned()));
    assert_eq!(one(&facts, &facts), Warning::ClocksourceSlow { clocksource, available, fast });
}

#[test]
fn in_virtual_time_nothing_is_said_of_a_hypervisor() {
    let facts = guest().1.snapshot();
    let (outside, inside) = [MachineTime::Real, MachineTime::Virtual]
        .map(|time| super::warnings(&facts, &facts, time))
        .into();
    assert_eq!(outside, [Warning::Hypervisor { cpu_model: facts.cpu_model.clone() }]);
    assert_eq!(inside, []);
    let mut after = facts.clone();
    after.clocksource = Some("hpet".to_owned());
    assert!(
        !super::warnings(&facts, &after, MachineTime::Virtual).is_empty(),
        "whatever else is wrong is said there too"
    );
}

#[test]
fn frequencies_beyond_a_tenth() {
    let (before, mut after) = (quiet(), quiet());
    after.cpus[2].frequency_khz = Some(3_240_000);
    assert_eq!(warnings(&before, &after), [], "exactly 10 % is the reading's noise");
    after.cpus[2].frequency_khz = Some(3_239_999);
    let change = FrequencyChange { cpu: CpuId(2), before_khz: 3_600_000, after_khz: 3_239_999 };
    assert_eq!(one(&before, &after), Warning::FrequencyChanged { cpus: vec![change] });
    after.cpus[2].governor = None;
    assert_eq!(warnings(&before, &after), [], "without a governor nobody can set it");
}

#[test]
fn cpus_that_the_process_may_not_use() {
    let warned = |usable: Vec<CpuId>| cpus_not_allowed(&cpus([0, 1, 2]), &usable);
    let (allowed, left_out) = (cpus([0]), cpus([1, 2]));
    assert_eq!(warned(cpus([0])), Some(Warning::CpusNotAllowed { allowed, left_out }));
    assert_eq!(warned(cpus([0, 1, 2])), None);
}

#[test]
fn isolated_cpus_that_were_left_out() {
    let ids = |ids: &[u32]| ids.iter().copied().map(CpuId).collect::<Vec<_>>();
    let warned = |isolated: &[u32], measured: &[u32], usable: &[u32]| {
        isolated_not_measured(&ids(isolated), &ids(measured), &ids(usable))
    };
    let left_out = |isolated: &[u32], measured: &[u32], usable: &[u32]| match warned(
        isolated, measured, usable,
    ) {
        Some(Warning::IsolatedNotMeasured { left_out, .. }) => left_out,
        other => panic!("{other:?}"),
    };
    let (isolated, measured, all) = (cpus([1, 2, 3]), cpus([0]), cpus([1, 2, 3]));
    let found = Warning::IsolatedNotMeasured { isolated, measured, left_out: all };
    assert_eq!(warned(&[1, 2, 3], &[0], &[0, 1, 2, 3]), Some(found));
    assert_eq!(left_out(&[1], &[0], &[0, 1]), cpus([1]));
    assert_eq!(left_out(&[1, 2], &[0, 1], &[0, 1, 2]), cpus([2]));
    assert_eq!(warned(&[1], &[1], &[0, 1]), None);
    assert_eq!(
        warned(&[1], &[0], &[0]),
        None,
        "a cpuset keeps it away: no advice that the kernel refuses"
    );
    assert_eq!(warned(&[], &[0], &[0, 1]), None);
}

#[test]
fn a_cpu_that_went() {
    let (before, mut after) = (quiet(), quiet());
    after.cpus.remove(2);
    let change = Warning::CpuOfflineChanged { before: cpus([0, 1, 2, 3]), after: cpus([0, 1, 3]) };
    assert_eq!(one(&before, &after), change);
    after.cpus.clear();
    assert_eq!(warnings(&before, &after), [], "a failed snapshot is not a machine without CPUs");
}
