// SPDX-License-Identifier: MIT OR Apache-2.0
//! Why a run in the lab came to nothing.

use crate::boot_error::{BootError, BootFailure};
use crate::emulator::EmulatorError;
use crate::file_error::FileError;
use crate::guest_limits::TooMuch;
use crate::kernels::KernelError;
use crate::order::Refusal;
use crate::program::ProgramError;
use model::LabFile;
use plan::GuestError;
use recording::RecordingError;

/// Characters that are shown of what a recording says.
const MAX_SHOWN: usize = 200;

#[derive(Debug, thiserror::Error)]
pub enum LabError {
    #[error(transparent)]
    Kernel(#[from] KernelError),
    #[error(transparent)]
    Emulator(#[from] EmulatorError),
    #[error(transparent)]
    Program(#[from] ProgramError),
    #[error(transparent)]
    Boot(#[from] BootError),
    #[error(transparent)]
    Recording(#[from] RecordingError),
    #[error(transparent)]
    File(#[from] FileError),
    /// Several CPUs in virtual time, and this program has no plugin.
    #[error(
        "several CPUs in virtual time: this teiji was built for a processor that QEMU's plugin \
         was not written for. Use x86_64 or aarch64, one CPU, or --time host"
    )]
    NoPlugin,
    /// A recording names something that is not opened because it does.
    #[error(transparent)]
    NotNamed(#[from] NotNamed),
    /// A recording asks for more than it may have.
    #[error(transparent)]
    TooMuch(#[from] TooMuch),
    /// A recording asks for a machine that cannot be.
    #[error("the recording's guest cannot be: {0}")]
    Guest(#[from] GuestError),
    #[error("the recording's guest ran on the host's clock, and no two such runs are the same")]
    HostTime,
    #[error("interrupted by {0} before the results arrived. Nothing was recorded")]
    Interrupted(&'static str),
}

impl LabError {
    /// Whether what was asked is at fault, and not the guest, the kernel or this machine.
    pub const fn is_bad_input(&self) -> bool {
        match self {
            LabError::Kernel(error) => error.is_bad_input(),
            LabError::Recording(_)
            | LabError::Boot(BootError {
                cause: BootFailure::Refused(Refusal { bad_input: true, .. }),
                ..
            })
            | LabError::Program(_)
            | LabError::NotNamed(_)
            | LabError::TooMuch(_)
            | LabError::Guest(_)
            | LabError::HostTime => true,
            _ => false,
        }
    }
}

/// Something that a recording was made with and that has to be named again.
#[derive(Debug, thiserror::Error)]
#[error(
    "{what} has to be named: {flag}. Nothing is run or read because a recording names it; \
     it says {}{}",
    quoted(recorded),
    hash.as_ref().map_or_else(String::new, |hash| format!(", SHA-256 {}", quoted(hash)))
)]
pub struct NotNamed {
    pub(crate) what: &'static str,
    pub(crate) flag: &'static str,
    pub(crate) recorded: String,
    pub(crate) hash: Option<String>,
}

impl NotNamed {
    pub(crate) fn file(what: &'static str, flag: &'static str, file: &LabFile) -> Self {
        NotNamed {
            what,
            flag,
            recorded: file.path.display().to_string(),
            hash: Some(file.sha256.clone()),
        }
    }
}

/// What a stranger wrote, as a terminal can take it.
pub(crate) fn quoted(text: &str) -> String {
    let shown: String = text.chars().take(MAX_SHOWN).flat_map(char::escape_debug).collect();
    let more = if text.chars().nth(MAX_SHOWN).is_some() { "…" } else { "" };
    format!("'{shown}{more}'")
}
