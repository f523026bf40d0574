// SPDX-License-Identifier: MIT OR Apache-2.0
//! `auto`: the probe of a co-kernel where one runs, and otherwise that of Linux.
//!
//! A core that is there and refuses is no reason to measure Linux instead: whoever wants that says so.

use super::ProbeSettingError;
use crate::cokernel::{self, Absence, Core, cobalt, evl};
use model::CoKernel;
use plan::{AUTO_PROBE, DEFAULT_PROBE, Run};

/// Names the probe of a run that leaves it to the machine, and the co-kernel that it was chosen for. Other runs stay as they are.
/// Without a co-kernel this is one system call that fails, and a question for the kernel's version.
///
/// # Errors
/// The co-kernel that is there and refuses, and why.
pub fn choose(run: &mut Run) -> Result<Option<CoKernel>, ProbeSettingError> {
    if run.probe != AUTO_PROBE {
        return Ok(None);
    }
    let found = if cokernel::is_known_processor() { running() } else { unreachable_core(cokernel::has_core_in_files()) };
    match found {
        Ok(None) => {
            DEFAULT_PROBE.clone_into(&mut run.probe);
            Ok(None)
        }
        Ok(Some((probe, core))) => {
            probe.clone_into(&mut run.probe);
            Ok(Some(CoKernel { chosen: true, ..core.into() }))
        }
        Err(what) => Err(refused(&what)),
    }
}

/// The refusal of a core, with what to do where Linux will do.
fn refused(what: &str) -> ProbeSettingError {
    let what = format!("{what}. The Linux beside a co-kernel is measured by the probe {DEFAULT_PROBE}: --probe {DEFAULT_PROBE}");
    ProbeSettingError::Lacks { probe: AUTO_PROBE, what }
}

/// The co-kernel that runs here, and its probe.
type Found = Option<(&'static str, Core)>;

fn running() -> Result<Found, String> {
    among(cobalt::find, cokernel::is_pipelined, evl::find).map_err(|absence| absence.to_string())
}

/// Of two cores that are never there at once. Only a kernel whose interrupts are pipelined can have the second.
fn among(
    cobalt: impl FnOnce() -> Result<Core, Absence>,
    is_pipelined: impl FnOnce() -> bool,
    evl: impl FnOnce() -> Result<Core, Absence>,
) -> Result<Found, Absence> {
    match cobalt() {
        Ok(core) => return Ok(Some(("cobalt", core))),
        Err(Absence::NoCore { .. }) => (),
        Err(refusal) => return Err(refusal),
    }
    if !is_pipelined() {
        return Ok(None);
    }
    match evl() {
        Ok(core) => Ok(Some(("evl", core))),
        Err(Absence::NoCore { .. }) => Ok(None),
        Err(refusal) => Err(refusal),
    }
}

/// On a processor whose calls are not known a core can be seen only.
fn unreachable_core(is_there: bool) -> Result<Found, String> {
    if is_there { Err(format!("a co-kernel runs here, and {}", cokernel::UNKNOWN_PROCESSOR)) } else { Ok(None) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_runs::test_run;
    use plan::Nanos;

    const NONE: Absence = Absence::NoCore { core: "Cobalt", kernel: "boot another" };

    fn core(name: &'static str) -> Core {
        Core::example(name)
    }

    fn run(probe: &str) -> Run {
        let mut run = test_run(Nanos::from_millis(1), 5);
        run.probe = probe.to_owned();
        run
    }

    /// Neither a file nor another core is looked for.
    #[test]
    fn without_a_co_kernel_one_call_fails_and_no_other_is_made() {
        let mut calls = 0;
        let cobalt = || {
            calls += 1;
            Err(NONE)
        };
        assert_eq!(among(cobalt, || false, || panic!("EVL was looked for")), Ok(None));
        assert_eq!(calls, 1);
    }

    #[test]
    fn the_running_core_chooses_the_probe() {
        let found = among(|| Ok(core("Cobalt")), || panic!("asked"), || panic!("EVL was looked for"));
        assert_eq!(found, Ok(Some(("cobalt", core("Cobalt")))));
        assert_eq!(among(|| Err(NONE), || true, || Ok(core("EVL"))), Ok(Some(("evl", core("EVL")))));
        assert_eq!(among(|| Err(NONE), || true, || Err(NONE)), Ok(None));
    }

    /// Linux is not measured in its place.
    #[test]
    fn a_core_that_refuses_is_no_absence() {
        for refusal in [
            Absence::Stopped { core: "Cobalt", start: "start it" },
            Absence::NotPermitted { core: "Cobalt", how: "be root" },
            Absence::UnknownRevision { core: "Cobalt", revision: 99, known: "16" },
            Absence::UnknownDescription { core: "EVL", known: "23" },
            Absence::Refused { core: "EVL", error: "no".to_owned() },
        ] {
            let (cobalt, evl) = (refusal.clone(), refusal.clone());
            assert_eq!(among(move || Err(cobalt), || true, || Ok(core("EVL"))), Err(refusal.clone()));
            assert_eq!(among(|| Err(NONE), || true, move || Err(evl)), Err(refusal.clone()));
            let said = refused(&refusal.to_string()).to_string();
            assert!(said.starts_with(&format!("the probe auto cannot measure here: {refusal}. ")), "{said}");
            assert!(said.ends_with("--probe cyclic"), "{said}");
        }
        assert!(unreachable_core(true).unwrap_err().contains("on x86_64 and arm64 only"));
        assert_eq!(unreachable_core(false), Ok(None));
    }

    /// On this machine, whatever it has.
    #[test]
    fn a_named_probe_is_not_chosen() {
        for probe in ["cyclic", "cobalt", "nosuch"] {
            let mut run = run(probe);
            assert_eq!(choose(&mut run), Ok(None));
            assert_eq!(run.probe, probe);
        }
        let mut run = run(AUTO_PROBE);
        if let Ok(None) = choose(&mut run) {
            assert_eq!(run.probe, DEFAULT_PROBE);
        }
    }

    /// What has not been chosen measures nothing.
    #[test]
    fn a_run_whose_probe_is_open_is_checked_as_of_linux_and_not_launched() {
        let open = run(AUTO_PROBE);
        assert_eq!(super::super::statement(&open).unwrap().name, DEFAULT_PROBE);
        assert!(super::super::find(AUTO_PROBE).is_err());
    }
}
