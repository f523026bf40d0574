// SPDX-License-Identifier: MIT OR Apache-2.0
//! Loads that do not run where is measured, without anybody having said so.

use load::ValidatedLoad;
use model::Warning;
use plan::{CpuId, Run};
use std::collections::BTreeSet;

/// What to say of measured CPUs that no load covers, where a load's CPUs were not named: such a
/// load takes the affinity that was inherited, and isolated CPUs, which are isolated to be
/// measured, are never in it.
pub fn loads_elsewhere(run: &Run, loads: &[ValidatedLoad]) -> Option<Warning> {
    let unnamed = loads.iter().find(|load| load.spec().options().all(|(key, _)| key != "cpus"))?;
    let covered: BTreeSet<CpuId> = loads.iter().flat_map(ValidatedLoad::cpus).copied().collect();
    let bare: BTreeSet<CpuId> =
        run.cpus.iter().copied().filter(|cpu| !covered.contains(cpu)).collect();
    if bare.is_empty() {
        return None;
    }
    let load = unnamed.spec().clone();
    Some(Warning::LoadsElsewhere {
        bare: bare.into_iter().collect(),
        loaded: covered.into_iter().collect(),
        load,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use plan::Nanos;

    /// What is said of these loads where CPUs 0 and 1 are measured and the program runs on CPU 0.
    fn warned(specs: &[&str]) -> Option<Warning> {
        let run = Run {
            cpus: vec![CpuId(0), CpuId(1)],
            loads: specs.iter().map(|spec| spec.parse().unwrap()).collect(),
            ..Run::example(Nanos::from_millis(1), 10)
        };
        let limits = load::Limits::for_loads(Some(90), specs.len());
        let check = |spec| load::check(spec, &[CpuId(0)], &[CpuId(0), CpuId(1)], &limits).unwrap();
        loads_elsewhere(&run, &run.loads.iter().map(check).collect::<Vec<_>>())
    }

    #[test]
    fn a_measured_cpu_without_load_is_named() {
        let (bare, loaded, load) = (vec![CpuId(1)], vec![CpuId(0)], "cpu@50%".parse().unwrap());
        assert_eq!(warned(&["cpu@50%"]), Some(Warning::LoadsElsewhere { bare, loaded, load }));
        assert_eq!((warned(&["cpu,cpus=all"]), warned(&["cpu,cpus=0"])), (None, None));
    }

    #[test]
    fn a_cpu_that_any_load_covers_has_a_load() {
        assert_eq!(warned(&["cpu@30%,cpus=1", "net"]), None);
        assert_eq!(warned(&["net", "cpu@30%,cpus=1"]), None);
    }
}
