// SPDX-License-Identifier: MIT OR Apache-2.0
//! One guest from preparation to output: prepared, held while KVM is tried out or its snapshot is
//! made, started, and polled until it has ended.

use crate::board::Accelerator;
use crate::boot::{Begin, Boot};
use crate::boot_error::BootError;
use crate::error::LabError;
use crate::hash::sha256;
use crate::kvm::KvmTrials;
use crate::order::Task;
use crate::prepared::Prepared;
use crate::progress::{GuestObserver, GuestProgress, Stage};
use crate::running::{GuestOutput, Running};
use crate::snapshot::{Snapshot, SnapshotKey};
use crate::snapshots::{Saved, Snapshots};
use crate::target::Target;
use model::{Lab, LabSnapshot};
use plan::GuestTime;
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};

/// What the guests of one command share.
pub(crate) struct Shared {
    kvm: KvmTrials,
    snapshots: Snapshots,
}

impl Shared {
    pub(crate) fn new() -> Self {
        Shared { kvm: KvmTrials::default(), snapshots: Snapshots::for_user() }
    }
}

/// A guest and how far it is. Dropped, it is gone.
pub(crate) struct GuestRun {
    /// Distinguishes it from others that wait for the same snapshot.
    id: u64,
    state: State,
    made_ready: Instant,
    begun: Option<SystemTime>,
}

enum State {
    /// It starts as soon as its accelerator is known and its snapshot is there.
    Ready(Box<Prepared>),
    Runs(Box<Started>),
    Over,
}

/// The snapshot that a guest continues.
type Continued = (SnapshotKey, Rc<Snapshot>);

struct Started {
    running: Running,
    facts: Lab,
    prepared: Prepared,
    /// What it continues, if it did not boot.
    snapshot: Option<Continued>,
}

impl GuestRun {
    /// Makes a guest ready for a task that takes `expected` on the guest's clock.
    ///
    /// # Errors
    /// What is missing or does not fit.
    pub(crate) fn begin(target: &Target, task: Task, expected: Duration) -> Result<Self, LabError> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let state = State::Ready(Box::new(Prepared::new(target, task, expected)?));
        Ok(GuestRun {
            id: NEXT.fetch_add(1, Ordering::Relaxed),
            state,
            made_ready: Instant::now(),
            begun: None,
        })
    }

    /// Looks at it, without waiting, and starts it when it can be. Once this has returned something
    /// the guest is gone.
    pub(crate) fn poll(
        &mut self,
        shared: &mut Shared,
        observer: &mut dyn GuestObserver,
    ) -> Option<Result<(GuestOutput, Lab), LabError>> {
        if let State::Ready(prepared) = &self.state {
            if !prepared.emulator.has_sandbox {
                observer.note(
                    "This QEMU was built without seccomp: a guest that takes it over has all \
                     system calls.",
                );
            }
            let accelerator = prepared.accelerator(&mut shared.kvm, observer)?;
            let snapshot =
                prepared.snapshot(self.id, accelerator, &mut shared.snapshots, observer)?;
            let State::Ready(prepared) = std::mem::replace(&mut self.state, State::Over) else {
                return None;
            };
            let started = snapshot
                .map_err(LabError::from)
                .and_then(|snapshot| prepared.start(accelerator, snapshot));
            match started {
                Ok(started) => self.state = State::Runs(Box::new(started)),
                Err(error) => return Some(Err(error)),
            }
        }
        let State::Runs(started) = &mut self.state else { return None };
        let result = started.running.poll();
        if self.begun.is_none() && started.running.stage() != Stage::Booting {
            self.begun = Some(SystemTime::now());
        }
        let result = result?;
        let State::Runs(started) = std::mem::replace(&mut self.state, State::Over) else {
            return None;
        };
        if let (Err(error), Some((key, snapshot))) = (&result, &started.snapshot)
            && shared.snapshots.is_worth_another(key, snapshot, error)
        {
            self.state = State::Ready(Box::new(started.prepared));
            return None;
        }
        Some(result.map(|left| (left, started.facts)).map_err(LabError::from))
    }

    /// When its task began, by the host's calendar.
    pub(crate) const fn begun(&self) -> Option<SystemTime> {
        self.begun
    }

    pub(crate) fn progress(&self, name: String) -> GuestProgress {
        match &self.state {
            State::Runs(started) => GuestProgress {
                name,
                stage: started.running.stage(),
                elapsed: started.running.elapsed(),
            },
            State::Ready(prepared) if prepared.target.guest.time != GuestTime::Host => {
                GuestProgress { name, stage: Stage::Booting, elapsed: self.made_ready.elapsed() }
            }
            _ => {
                GuestProgress { name, stage: Stage::TryingKvm, elapsed: self.made_ready.elapsed() }
            }
        }
    }
}

impl Prepared {
    /// KVM only in the host's time, and only where it truly works; none as long as that is not
    /// known.
    fn accelerator(
        &self,
        kvm: &mut KvmTrials,
        observer: &mut dyn GuestObserver,
    ) -> Option<Accelerator> {
        if self.target.guest.time != GuestTime::Host {
            return Some(Accelerator::Tcg);
        }
        Some(match kvm.poll(&self.target.guest, &self.emulator, &self.target.kernel.image)? {
            Ok(()) => Accelerator::Kvm,
            Err(why) => {
                observer.note(&format!(
                    "Without KVM, since {why}: the emulator translates the guest's \
                         instructions, on the host's clock."
                ));
                Accelerator::Tcg
            }
        })
    }

    /// What this guest continues: nothing if it is one that boots for each task. None as long as
    /// its snapshot is being made.
    fn snapshot(
        &self,
        id: u64,
        accelerator: Accelerator,
        snapshots: &mut Snapshots,
        observer: &mut dyn GuestObserver,
    ) -> Option<Result<Option<Continued>, BootError>> {
        let Some(key) = self.continued_key(accelerator) else { return Some(Ok(None)) };
        let (machine, kernel) = (self.target.guest.machine, &self.facts.kernel.name);
        let version = self.emulator.version.split(' ').next().unwrap_or_default();
        let about =
            format!("{machine}, {kernel} in {} MiB, QEMU {version}", self.target.guest.memory_mib);
        let boot = || {
            let (begin, initramfs) = (Begin::UntilSnapshot, &self.initramfs(None));
            Boot { prepared: self, accelerator, begin, initramfs }.start()
        };
        Some(match snapshots.poll(id, key, &about, &self.target, &boot)? {
            Ok(Saved::Ready(snapshot)) => Ok(Some((key.clone(), snapshot))),
            Ok(Saved::Never(why)) => {
                observer.note(&format!(
                    "{} boots for each run: it cannot be saved, since {why}.",
                    self.facts.kernel.name
                ));
                Ok(None)
            }
            Err(error) => Err(error),
        })
    }

    fn start(
        self,
        accelerator: Accelerator,
        snapshot: Option<Continued>,
    ) -> Result<Started, LabError> {
        let task = serde_json::to_vec(&self.task).unwrap_or_default();
        let initramfs = self.initramfs(if snapshot.is_some() { None } else { Some(&self.task) });
        let begin = snapshot
            .as_ref()
            .map_or(Begin::Boot, |(_, snapshot)| Begin::FromSnapshot(snapshot, &task));
        let boot = Boot { prepared: &self, accelerator, begin, initramfs: &initramfs };
        let running = boot.start()?;
        let mut facts = self.facts.clone();
        facts.accelerator = accelerator.name().to_owned();
        facts.initramfs_sha256 = sha256(&initramfs);
        let told = |(key, _): &(SnapshotKey, _)| LabSnapshot {
            key: key.0.clone(),
            task_sha256: sha256(&task),
        };
        facts.snapshot = snapshot.as_ref().map(told);
        facts.qemu.command_line = running.command_line().to_vec();
        Ok(Started { running, facts, prepared: self, snapshot })
    }
}
