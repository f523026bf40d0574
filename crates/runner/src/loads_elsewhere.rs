// SPDX-License-Identifier: MIT OR Apache-2.0
//! Loads that do not run where is measured, without anybody having said so.

use load::ValidatedLoad;
use model::Warning;
use plan::{CpuId, CpuList, LoadSpec, Run};
use std::collections::BTreeSet;

/// What to say of measured CPUs that no load covers, where a load's CPUs were not named: such a load takes the affinity that was
/// inherited, and isolated CPUs, which people isolate to measure them, are never in it.
#[must_use]
pub fn loads_elsewhere(run: &Run, loads: &[ValidatedLoad]) -> Option<Warning> {
    let unnamed = loads.iter().find(|load| load.spec().options().all(|(key, _)| key != "cpus"))?;
    let covered: BTreeSet<CpuId> = loads.iter().flat_map(ValidatedLoad::cpus).copied().collect();
    let bare: BTreeSet<CpuId> = run.cpus.iter().copied().filter(|cpu| !covered.contains(cpu)).collect();
    if bare.is_empty() {
        return None;
    }
    let list = |cpus: BTreeSet<CpuId>| CpuList::format(&cpus.into_iter().collect::<Vec<_>>());
    Some(Warning {
        code: "loads-elsewhere".to_owned(),
        message: format!("No load on measured CPU {}: loads run on CPU {}.", list(bare), list(covered)),
        evidence: format!("load {} has no cpus=, so it runs on this program's CPUs", unnamed.spec()),
        next_step: format!("To load the measured CPUs too, add cpus=all: --load {}", shell_word(&on_all_cpus(unnamed.spec()))),
    })
}

/// The load with `cpus=all` added. A command without quotes goes to the end of its text, so it gets quotes first.
fn on_all_cpus(spec: &LoadSpec) -> String {
    match spec.command() {
        Some(command) if !spec.to_string().starts_with("cmd:\"") => format!("cmd:\"{command}\",cpus=all"),
        _ => format!("{spec},cpus=all"),
    }
}

/// One word for a shell.
fn shell_word(text: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_./+=@%,:".contains(c);
    if text.chars().all(plain) { text.to_owned() } else { format!("'{}'", text.replace('\'', "'\\''")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plan::{Length, Nanos, OverrunPolicy, Scheduling, Settle};

    /// What is said of these loads where CPUs 0 and 1 are measured and the program runs on CPU 0.
    fn warned(specs: &[&str]) -> Option<Warning> {
        let run = Run {
            title: None,
            probe: plan::DEFAULT_PROBE.to_owned(),
            probe_settings: plan::ProbeSettings::new(),
            interval_ns: Nanos::from_millis(1),
            distance_ns: Nanos::ZERO,
            length: Length::Samples(10),
            cpus: vec![CpuId(0), CpuId(1)],
            scheduling: Scheduling::OTHER,
            aligned_ns: None,
            warmup_ns: Nanos::ZERO,
            break_above_ns: None,
            missed: OverrunPolicy::Skip,
            hold_dma_latency: false,
            sync: true,
            settle: Settle::Auto,
            loads: specs.iter().map(|spec| spec.parse().unwrap()).collect(),
        };
        let limits = load::Limits::here(Some(90), specs.len());
        let check = |spec| load::check(spec, &[CpuId(0)], &[CpuId(0), CpuId(1)], &limits).unwrap();
        loads_elsewhere(&run, &run.loads.iter().map(check).collect::<Vec<_>>())
    }

    #[test]
    fn a_measured_cpu_without_load_is_named() {
        let said = warned(&["cpu@50%"]).unwrap();
        assert_eq!(said.message, "No load on measured CPU 1: loads run on CPU 0.");
        assert_eq!(said.evidence, "load cpu@50% has no cpus=, so it runs on this program's CPUs");
        assert_eq!(said.next_step, "To load the measured CPUs too, add cpus=all: --load cpu@50%,cpus=all");
        assert_eq!((warned(&["cpu,cpus=all"]), warned(&["cpu,cpus=0"])), (None, None));
    }

    #[test]
    fn a_cpu_that_any_load_covers_has_a_load() {
        assert_eq!(warned(&["cpu@30%,cpus=1", "net"]), None);
        assert_eq!(warned(&["net", "cpu@30%,cpus=1"]), None);
    }

    #[test]
    fn the_advised_load_is_one_that_can_be_typed() {
        let said = warned(&["cmd:sleep 30"]).unwrap();
        assert!(said.next_step.ends_with("--load 'cmd:\"sleep 30\",cpus=all'"), "{said:?}");
        assert_eq!(warned(&["cmd:\"sleep 30\",cpus=all"]), None);
        let said = warned(&["cmd:\"sh -c 'x, y'\",nice=3"]).unwrap();
        assert!(said.next_step.ends_with(r#"--load 'cmd:"sh -c '\''x, y'\''",nice=3,cpus=all'"#), "{said:?}");
    }
}
