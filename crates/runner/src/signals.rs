// SPDX-License-Identifier: MIT OR Apache-2.0
//! Signals that ask a run to end.

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

const ASKING: [(i32, &str); 3] = [(SIGINT, "SIGINT"), (SIGTERM, "SIGTERM"), (SIGHUP, "SIGHUP")];

/// Remembers the last signal that asked for the end. The first one ends the run in good order;
/// further ones find that under way and change nothing, so that repeated signals leave no half
/// recording.
#[derive(Clone, Debug, Default)]
pub struct Signals(Arc<AtomicUsize>);

impl Signals {
    /// From now on, SIGINT, SIGTERM and SIGHUP (a closed terminal) are remembered instead of ending
    /// the program. What is ignored stays so: under `nohup`, or in the background of a script.
    ///
    /// # Errors
    /// When the system does not let us.
    pub fn catch() -> io::Result<Self> {
        Self::catch_even_ignored(&[])
    }

    /// The same, as rt-tests' programs do: scripts start those in the background, where SIGINT is
    /// ignored, and end them by it.
    ///
    /// # Errors
    /// When the system does not let us.
    pub fn catch_as_rt_tests() -> io::Result<Self> {
        Self::catch_even_ignored(&[SIGINT, SIGTERM])
    }

    fn catch_even_ignored(always: &[i32]) -> io::Result<Self> {
        let signals = Signals::default();
        let is_caught = |signal| always.contains(&signal) || !probe::ignores_signal(signal);
        for (signal, _) in ASKING.into_iter().filter(|(signal, _)| is_caught(*signal)) {
            flag::register_usize(
                signal,
                Arc::clone(&signals.0),
                usize::try_from(signal).unwrap_or(0),
            )?;
        }
        Ok(signals)
    }

    /// The name of the signal, if there was one.
    pub fn caught(&self) -> Option<&'static str> {
        let number = self.0.load(Ordering::Relaxed);
        ASKING
            .iter()
            .find(|(signal, _)| usize::try_from(*signal) == Ok(number))
            .map(|(_, name)| *name)
    }
}
