// SPDX-License-Identifier: MIT OR Apache-2.0
//! `auto`: the probe of a co-kernel where one runs, and otherwise that of Linux.
//!
//! A core that is there and refuses is no reason to measure Linux instead: whoever wants that says
//! so.

use super::setting_error::ProbeSettingError;
use crate::cokernel::{self, Absence, Core, cobalt, evl};
use model::CoKernel;
use plan::{AUTO_PROBE, DEFAULT_PROBE};

/// The probe to measure by on this machine, and the co-kernel that it is for. Without a co-kernel
/// this is a question for the kernel's version, and one system call that fails.
///
/// # Errors
/// The co-kernel that is there and refuses, and why.
pub(super) fn probe_here() -> Result<(&'static str, Option<CoKernel>), ProbeSettingError> {
    let found = if cokernel::is_known_processor() {
        found()
    } else {
        unreachable_core(cokernel::has_core_in_files())
    };
    match found {
        Ok(None) => Ok((DEFAULT_PROBE, None)),
        Ok(Some((probe, core))) => Ok((probe, Some(CoKernel { chosen: true, ..core.into() }))),
        Err(what) => Err(refused(&what)),
    }
}

/// The refusal of a core, with what to do where Linux will do.
fn refused(what: &str) -> ProbeSettingError {
    let what = format!(
        "{what}. The Linux beside a co-kernel is measured by the probe {DEFAULT_PROBE}: --probe \
         {DEFAULT_PROBE}"
    );
    ProbeSettingError::Lacks { probe: AUTO_PROBE, what }
}

/// The co-kernel that runs here, and its probe.
type Found = Option<(&'static str, Core)>;

fn found() -> Result<Found, String> {
    among(cokernel::is_pipelined, cokernel::has_cobalt_in_files, cobalt::find, evl::find)
        .map_err(|absence| absence.to_string())
}

/// Of two cores that are never there at once. On Dovetail the kernel's version names the pipeline
/// that both need. Cobalt on the I-pipe of older kernels is seen by its files. Only then is a core
/// called: to a kernel without one the call is unknown, and a filter of system calls may end who
/// makes it.
fn among(
    is_pipelined: impl FnOnce() -> bool,
    has_cobalt_in_files: impl FnOnce() -> bool,
    cobalt: impl FnOnce() -> Result<Core, Absence>,
    evl: impl FnOnce() -> Result<Core, Absence>,
) -> Result<Found, Absence> {
    let is_pipelined = is_pipelined();
    if !is_pipelined && !has_cobalt_in_files() {
        return Ok(None);
    }
    match cobalt() {
        Ok(core) => return Ok(Some(("cobalt", core))),
        Err(Absence::NoCore { .. }) => (),
        Err(refusal) => return Err(refusal),
    }
    if !is_pipelined {
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
    if is_there {
        Err(format!("a co-kernel runs here, and {}", cokernel::UNKNOWN_PROCESSOR))
    } else {
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::super::choose;
    use super::*;
    use crate::test_runs::test_run;
    use plan::Nanos;

    const NONE: Absence = Absence::NoCore { core: "Cobalt", kernel: "boot another" };

    fn core(name: &'static str) -> Core {
        Core::example(name)
    }

    fn panics() -> Result<Core, Absence> {
        panic!("a core was called")
    }

    #[test]
    fn without_a_co_kernel_none_is_called() {
        let mut asked = 0;
        let files = || {
            asked += 1;
            false
        };
        assert_eq!(among(|| false, files, panics, panics), Ok(None));
        assert_eq!(asked, 1);
    }

    #[test]
    fn the_running_core_chooses_the_probe() {
        let cobalt = Ok(Some(("cobalt", core("Cobalt"))));
        assert_eq!(among(|| true, || false, || Ok(core("Cobalt")), panics), cobalt);
        assert_eq!(among(|| false, || true, || Ok(core("Cobalt")), panics), cobalt);
        assert_eq!(
            among(|| true, || false, || Err(NONE), || Ok(core("EVL"))),
            Ok(Some(("evl", core("EVL"))))
        );
        assert_eq!(among(|| true, || false, || Err(NONE), || Err(NONE)), Ok(None));
        assert_eq!(among(|| false, || true, || Err(NONE), panics), Ok(None));
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
            assert_eq!(among(|| true, || false, move || Err(cobalt), panics), Err(refusal.clone()));
            assert_eq!(
                among(|| true, || false, || Err(NONE), move || Err(evl)),
                Err(refusal.clone())
            );
            let said = refused(&refusal.to_string()).to_string();
            assert!(
                said.starts_with(&format!("the probe auto cannot measure here: {refusal}. ")),
                "{said}"
            );
            assert!(said.ends_with("--probe cyclic"), "{said}");
        }
        assert!(unreachable_core(true).unwrap_err().contains("on x86_64 and arm64 only"));
        assert_eq!(unreachable_core(false), Ok(None));
    }

    /// On this machine, whatever it has.
    #[test]
    fn a_named_probe_is_not_chosen() {
        let here = |name: &str| {
            let mut run = test_run(Nanos::from_millis(1), 5);
            run.probe = name.to_owned();
            let probe = choose(name, &run.probe_settings)?.here(&mut run)?;
            assert_eq!(probe.statement(&run).name, run.probe);
            Ok::<_, ProbeSettingError>(run.probe)
        };
        assert_eq!((here("cyclic"), here("cobalt")), (Ok("cyclic".into()), Ok("cobalt".into())));
        assert_eq!(here("nosuch").unwrap_err().setting(), "probe");
        if !cokernel::is_pipelined() && !cokernel::has_cobalt_in_files() {
            assert_eq!(here(AUTO_PROBE), Ok(DEFAULT_PROBE.into()));
        }
    }

    /// What has not been chosen measures nothing.
    #[test]
    fn a_run_whose_probe_is_open_is_checked_as_of_linux_and_not_launched() {
        let run = test_run(Nanos::from_millis(1), 5);
        let open = choose(AUTO_PROBE, &run.probe_settings).unwrap();
        assert_eq!(open.statement(&run).name, DEFAULT_PROBE);
        assert!(open.ready(&run).is_err());
    }
}
