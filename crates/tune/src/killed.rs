// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a killed tuning left, put right by any call of the program before it does anything else.
//!
//! Where there is no journal, which is nearly always, this is one file that cannot be opened. It
//! touches nothing that is to stay, and nothing while a process that changes settings lives.

use super::apply::{Obstacle, Tuning, TuningError};
use super::{folder, journal};
use host::HostRoot;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// What became of the changes of a tuning that was killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KilledTuning {
    /// They are put back: how many, and how many could not be.
    PutBack {
        back: usize,
        /// Changed by somebody else meanwhile, or refused by the kernel.
        left: usize,
    },
    /// This process may not put them back: how many.
    NoRights(usize),
}

/// How long a lock is waited for whose holder has not said its name yet, or has ended.
const WAIT: Duration = Duration::from_secs(1);
const PAUSE: Duration = Duration::from_millis(50);

impl Tuning {
    fn begin_soon(root: &HostRoot) -> Result<Tuning, TuningError> {
        let began = Instant::now();
        loop {
            match Tuning::begin(root) {
                Err(TuningError::Held(holder)) if holder.is_empty() && began.elapsed() < WAIT => {
                    sleep(PAUSE)
                }
                begun => return begun,
            }
        }
    }
}

impl KilledTuning {
    /// The command whose changes the journal has, where it may have been killed.
    pub fn command(root: &HostRoot) -> Option<String> {
        let journal = journal::load(&folder::folder(root)).ok()??;
        journal.is_unfinished(root).then(|| journal.command())
    }

    /// Puts back what a killed tuning left, if one did and nobody is at it. A journal from before a
    /// reboot is left to the next tuning.
    pub fn put_right(root: &HostRoot) -> Option<KilledTuning> {
        // A damaged one is a finding of `check`, and stops `tune`.
        let found = journal::load(&folder::folder(root)).ok()??;
        if !found.is_unfinished(root) {
            return None;
        }
        let changes = found.changes();
        let mut tuning = match Tuning::begin_soon(root) {
            Ok(tuning) => tuning,
            Err(TuningError::Held(holder)) if !holder.is_empty() => return None,
            // By nobody who changes settings.
            Err(TuningError::Held(_)) => return Some(KilledTuning::NoRights(changes)),
            // While somebody is at it nothing is wrong, which who may not take the lock can ask.
            Err(_) => return (!folder::is_in_use(root)).then_some(KilledTuning::NoRights(changes)),
        };
        // Whoever had the lock until now may have finished.
        if !tuning.journal().is_some_and(|journal| journal.is_unfinished(root)) {
            return None;
        }
        match tuning.undo_unfinished() {
            Ok(results) => {
                let left = results.iter().filter(|result| result.obstacle.is_some()).count();
                let lacks_rights = results
                    .iter()
                    .flat_map(|result| &result.obstacle)
                    .any(Obstacle::is_missing_right);
                let back = results.len() - left;
                match (back, left) {
                    (0, 0) => None,
                    (0, left) if lacks_rights => Some(KilledTuning::NoRights(left)),
                    (back, left) => Some(KilledTuning::PutBack { back, left }),
                }
            }
            // All is as before, and the journal stays where it is.
            Err(TuningError::NotSettled { results, .. })
                if results.iter().all(|result| result.obstacle.is_none()) =>
            {
                (!results.is_empty())
                    .then_some(KilledTuning::PutBack { back: results.len(), left: 0 })
            }
            Err(_) => Some(KilledTuning::NoRights(changes)),
        }
    }
}

#[cfg(test)]
#[path = "killed_tests.rs"]
mod tests;
