// SPDX-License-Identifier: MIT OR Apache-2.0
//! Guests that have booted, saved: made once for all runs on the same machine.
//!
//! A guest that is to be saved boots, does all that any task needs, and stops itself. Its task
//! comes afterwards, so that one snapshot serves every run with the same kernel, program, machine
//! and QEMU. A run never continues the guest that was saved, always the snapshot: of what QEMU
//! keeps, a snapshot holds what belongs to the machine, and the rest is then new in every run.

use crate::boot_error::{BootError, BootFailure};
use crate::file_error::FileError;
use crate::running::Running;
use crate::snapshot::{Snapshot, SnapshotKey};
use crate::snapshot_cache::SnapshotCache;
use crate::target::Target;
use crate::took;
use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;
use std::rc::Rc;

/// The snapshots of one command: each is made or found once.
#[derive(Default)]
pub(crate) struct Snapshots {
    cache: Option<SnapshotCache>,
    ready: BTreeMap<SnapshotKey, Rc<Snapshot>>,
    /// With who waits for it first, and hears if it fails.
    making: BTreeMap<SnapshotKey, (u64, Running)>,
    /// How often in succession a snapshot was of no use because time had been skipped.
    skipped: BTreeMap<SnapshotKey, u32>,
    /// Of guests that said they cannot be saved, why.
    refused: BTreeMap<SnapshotKey, String>,
}

/// What there is instead of a guest to be booted.
pub(crate) enum Saved {
    Ready(Rc<Snapshot>),
    /// Nothing: the guest cannot be saved, says why, and has to boot each time.
    Never(String),
}

impl Snapshots {
    /// That are also kept for later commands.
    pub(crate) fn for_user() -> Self {
        Snapshots { cache: SnapshotCache::for_user(), ..Snapshots::default() }
    }

    /// The snapshot of this key; none as long as it is being made. To be asked again and again.
    /// `about` is a line for people who look into the cache. Where there is none, the first who
    /// asks has it made, and gets the error if that fails; whoever asks next tries again. How long
    /// such a guest took to boot is kept.
    pub(crate) fn poll(
        &mut self,
        asker: u64,
        key: &SnapshotKey,
        about: &str,
        target: &Target,
        boot: &dyn Fn() -> Result<Running, BootError>,
    ) -> Option<Result<Saved, BootError>> {
        if let Some(why) = self.refused.get(key) {
            return Some(Ok(Saved::Never(why.clone())));
        }
        if let Some(ready) = self.ready.get(key) {
            return Some(Ok(Saved::Ready(Rc::clone(ready))));
        }
        if let Some((owner, running)) = self.making.get_mut(key) {
            if *owner != asker {
                return None;
            }
            let result = running.poll_saved()?;
            let (took, used) = (running.elapsed(), running.used());
            let result = result.and_then(|(disk, console)| self.keep(key, about, &disk, console));
            self.making.remove(key);
            let cannot_stop =
                |error: &BootError| matches!(error.cause, BootFailure::CannotStop { .. });
            if result.as_ref().err().is_none_or(cannot_stop) {
                took::keep_boot(target, took, used);
            }
            return Some(match result {
                Err(BootError { cause: BootFailure::TimeSkipped { .. }, .. })
                    if self.may_try_again(key) =>
                {
                    return None;
                }
                Err(BootError { cause: BootFailure::CannotStop { why }, .. }) => {
                    self.refused.insert(key.clone(), why.clone());
                    Ok(Saved::Never(why))
                }
                result => result.map(Saved::Ready),
            });
        }
        if let Some(found) = self.cache.as_ref().and_then(|cache| cache.find(key)) {
            let found = Rc::new(found);
            self.ready.insert(key.clone(), Rc::clone(&found));
            return Some(Ok(Saved::Ready(found)));
        }
        match boot() {
            Ok(running) => {
                self.making.insert(key.clone(), (asker, running));
                None
            }
            Err(error) => Some(Err(error)),
        }
    }

    /// Whether a guest whose time was skipped as it stopped is worth another trial. On a host with
    /// much else to do that happens.
    fn may_try_again(&mut self, key: &SnapshotKey) -> bool {
        const MAX_TRIALS: u32 = 10;
        let trials = self.skipped.entry(key.clone()).or_default();
        *trials += 1;
        *trials < MAX_TRIALS
    }

    fn keep(
        &mut self,
        key: &SnapshotKey,
        about: &str,
        disk: &Path,
        console: Vec<u8>,
    ) -> Result<Rc<Snapshot>, BootError> {
        let disk = File::open(disk).map_err(FileError::of("read", disk))?;
        let snapshot = Rc::new(Snapshot { disk, console, from_cache: false });
        if let Some(cache) = &self.cache {
            // A cache that cannot be written to costs the next command its time, and nothing else.
            let _ = cache.store(key, about, &snapshot);
        }
        self.ready.insert(key.clone(), Rc::clone(&snapshot));
        Ok(snapshot)
    }

    /// Whether a guest that ended so is to be started once more.
    pub(crate) fn is_worth_another(
        &mut self,
        key: &SnapshotKey,
        snapshot: &Snapshot,
        error: &BootError,
    ) -> bool {
        match &error.cause {
            // It was skipped as the guest began to run.
            BootFailure::TimeSkipped { .. } => self.may_try_again(key),
            // An emulator that does not take a snapshot of an earlier command gets one that is made
            // anew. One that was killed is another matter.
            BootFailure::EmulatorEnded { status, .. }
                if snapshot.from_cache && status.code().is_some_and(|code| code != 0) =>
            {
                self.discard(key);
                true
            }
            _ => false,
        }
    }

    fn discard(&mut self, key: &SnapshotKey) {
        self.ready.remove(key);
        if let Some(cache) = &self.cache {
            cache.remove(key);
        }
    }
}
