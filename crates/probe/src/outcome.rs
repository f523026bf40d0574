// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a wait ended with, and why a probe cannot measure any further.

use rustix::io::Errno;
use std::io;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Woken {
    OnTime,
    /// A signal came first: the run is being stopped.
    Interrupted,
    /// The clock cannot be slept on; the error's number (errno).
    Failed(i32),
}

impl From<Errno> for Woken {
    #[inline]
    fn from(error: Errno) -> Self {
        match error {
            Errno::INTR => Woken::Interrupted,
            other => Woken::Failed(other.raw_os_error()),
        }
    }
}

impl From<io::Error> for Woken {
    fn from(error: io::Error) -> Self {
        match errno_of(&error) {
            libc::EINTR => Woken::Interrupted,
            errno => Woken::Failed(errno),
        }
    }
}

/// Why a probe could not measure any further.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SampleError {
    /// What was being done, such as `fork`, or what there was not.
    pub(crate) doing: &'static str,
    /// The error's number (errno); 0 where the system said none.
    pub(crate) errno: i32,
}

impl SampleError {
    pub(crate) fn new(doing: &'static str, error: &io::Error) -> Self {
        SampleError { doing, errno: errno_of(error) }
    }
}

/// The number of an error of the system.
pub(crate) fn errno_of(error: &io::Error) -> i32 {
    error.raw_os_error().unwrap_or(libc::EIO)
}
