// SPDX-License-Identifier: MIT OR Apache-2.0
//! How the program ends: each kind of failure has its code, given in one place.

use executor::is_disk_failure;
use judge::{Ending, Verdict};
use lab::{EmulatorError, KernelError, LabError, PinnedError};
use model::Document;
use probe::ProbeSettingError;
use runner::RunnerError;
use std::fmt;
use tune::{LoaderError, TuningError};

/// For `--help`.
pub const CODES: &str = "Exit codes: 0 done; 1 a limit was exceeded, or a check failed; 2 usage \
                         or bad input; 3 not enough evidence; 4 the run failed or was cut short, \
                         or its output could not be written";

/// What was asked for was done.
pub const DONE: u8 = 0;
/// A limit was exceeded (`--break-above`), or a check failed (`verify`).
pub const EXCEEDED: u8 = 1;
/// Usage, or input that cannot be used.
pub const BAD_INPUT: u8 = 2;
/// A gate whose recordings do not show whether a limit holds.
const NOT_ENOUGH_EVIDENCE: u8 = 3;
/// The run itself failed or was cut short, or a disk failed: it is full, or it cannot be read or
/// written.
pub const RUN_FAILED: u8 = 4;

/// The exit code where standard output may have failed: whatever was found did not arrive then.
/// What was wrong with the command line is still what the user has to change.
pub const fn of_output(code: u8, failed: bool) -> u8 {
    if failed && code != BAD_INPUT { RUN_FAILED } else { code }
}

/// The exit code of a recording that is there.
pub fn of_end(document: &Document) -> u8 {
    match judge::ending(document) {
        Ending::AtLatency => EXCEEDED,
        Ending::Failed | Ending::Asked | Ending::CutOff => RUN_FAILED,
        Ending::Planned => DONE,
    }
}

/// The exit code of limits that were held against recordings.
pub const fn of_verdict(verdict: Verdict) -> u8 {
    match verdict {
        Verdict::Pass => DONE,
        Verdict::Fail => EXCEEDED,
        Verdict::NotEnough => NOT_ENOUGH_EVIDENCE,
    }
}

/// Returns that what was asked for cannot be done, as it was asked for.
macro_rules! refuse {
    ($($text:tt)*) => { return Err(anyhow::anyhow!($($text)*).into()) };
}

/// Why a verb did not do what it was asked to.
pub struct Failure {
    code: u8,
    error: anyhow::Error,
}

impl<E: Into<anyhow::Error>> From<E> for Failure {
    fn from(error: E) -> Self {
        let error = error.into();
        Failure { code: if is_of_the_machine(&error) { RUN_FAILED } else { BAD_INPUT }, error }
    }
}

/// Whether this machine did not let us, or a guest, a kernel or a disk. Anything else the user has
/// to change.
fn is_of_the_machine(error: &anyhow::Error) -> bool {
    fn is<E: std::error::Error + Send + Sync + 'static>(
        error: &anyhow::Error,
        is_of_the_machine: impl Fn(&E) -> bool,
    ) -> bool {
        error.downcast_ref().is_some_and(is_of_the_machine)
    }
    is_disk_failure(error)
        || is(error, |error: &LabError| !error.is_bad_input())
        || is(error, |error: &RunnerError| !matches!(error, RunnerError::Recording(_)))
        || is(error, |error: &ProbeSettingError| matches!(error, ProbeSettingError::Lacks { .. }))
        || is(error, |error: &LoaderError| !error.is_usage())
        || error.is::<TuningError>()
        || is(error, |error: &KernelError| !error.is_bad_input())
        || error.is::<EmulatorError>()
        || error.is::<PinnedError>()
}

/// What a verb returns.
pub type CommandResult = Result<u8, Failure>;

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&in_full(&self.error))
    }
}

impl Failure {
    /// The machine did not let us, whatever the error is by itself.
    pub fn run_failed(error: impl Into<anyhow::Error>) -> Self {
        Failure { code: RUN_FAILED, error: error.into() }
    }

    /// Says first what failed because of it.
    pub fn within(self, what: &'static str) -> Self {
        Failure { error: self.error.context(what), ..self }
    }

    /// Says it of one of several, and gives the code.
    pub fn report_for(&self, name: &str) -> u8 {
        complain!("error: {name}: {}", in_full(&self.error));
        self.code
    }

    /// Says it, and gives the code.
    pub fn report(&self) -> u8 {
        complain!("error: {}", in_full(&self.error));
        self.code
    }
}

/// The error and what caused it, without saying anything twice: most of our errors name their cause
/// themselves.
pub fn in_full(error: &anyhow::Error) -> String {
    error.chain().map(ToString::to_string).fold(String::new(), |output, cause| {
        match output.as_str() {
            "" => cause,
            known if known.contains(&cause) => output,
            _ => format!("{output}: {cause}"),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::{Context, anyhow};
    use rustix::io::Errno;
    use std::io;

    #[test]
    fn a_full_or_broken_disk_is_no_bad_input() {
        let code = |errno: Errno| {
            let cause = Err::<(), _>(io::Error::from(errno)).context("cannot write report.html");
            Failure::from(cause.unwrap_err()).code
        };
        assert_eq!([Errno::NOSPC, Errno::DQUOT, Errno::IO].map(code), [RUN_FAILED; 3]);
        assert_eq!([Errno::NOENT, Errno::ACCESS, Errno::ROFS].map(code), [BAD_INPUT; 3]);
    }

    #[test]
    fn what_was_found_and_not_written_is_a_failed_output() {
        let codes = |failed| {
            [0, EXCEEDED, BAD_INPUT, NOT_ENOUGH_EVIDENCE].map(|code| of_output(code, failed))
        };
        assert_eq!(codes(true), [4, 4, 2, 4]);
        assert_eq!(codes(false), [0, 1, 2, 3]);
    }

    #[test]
    fn a_cause_is_said_once() {
        let error = Err::<(), _>(anyhow!("no room"))
            .context("cannot write x: no room")
            .context("the report failed")
            .unwrap_err();
        assert_eq!(in_full(&error), "the report failed: cannot write x: no room");
    }
}
