// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whether two recordings are of one run: then the second adds nothing to figures.

use crate::{Beside, Recorded};
use plan::{Guest, Nanos, Phase};
use stats::{Activations, Envelope, Histogram, Statistics, Summary, Worst};

/// What recordings of one run have in common, and recordings of two runs have not.
#[derive(Clone, Debug, PartialEq)]
pub struct RunIdentity {
    origin: Origin,
    /// Of the judged column of each thread.
    threads: Vec<ThreadIdentity>,
    /// Of the further columns, where those are compared too.
    beside: Vec<Beside>,
}

#[derive(Clone, Debug, PartialEq)]
enum Origin {
    /// A machine, and when it began there. No two runs begin in the same nanosecond, so equal
    /// starts with equal figures are a copy.
    Machine { hostname: Option<String>, started_at: String, threads: Vec<Nanos> },
    /// The lab's virtual time, where an equal order gives the same run over again, whenever it
    /// began. The order is in the initramfs, or was given after the snapshot.
    Lab {
        guest: Guest,
        kernel_sha256: String,
        initramfs_sha256: String,
        task_sha256: Option<String>,
        qemu: String,
        phase: Phase,
    },
}

#[derive(Clone, Debug, PartialEq)]
struct ThreadIdentity {
    activations: Activations,
    lost: u64,
    latency: Option<Summary>,
    /// None where the start says enough; of thousands of runs it would be too much to keep. A
    /// recording without samples may not know when its threads began.
    figures: Option<Box<(Histogram, Envelope, Vec<Worst>)>>,
}

impl RunIdentity {
    /// That of this recording's run.
    pub fn from_recorded(recorded: &Recorded) -> RunIdentity {
        let document = &recorded.document;
        let origin = match document.lab.as_ref().filter(|lab| lab.deterministic) {
            Some(lab) => Origin::Lab {
                guest: lab.guest.clone(),
                kernel_sha256: lab.kernel.image.sha256.clone(),
                initramfs_sha256: lab.initramfs_sha256.clone(),
                task_sha256: lab.snapshot.as_ref().map(|snapshot| snapshot.task_sha256.clone()),
                qemu: lab.qemu.version.clone(),
                phase: document.run.phase,
            },
            None => Origin::Machine {
                hostname: document.host.before.hostname.clone(),
                started_at: document.started_at.clone(),
                threads: document.threads.iter().map(|thread| thread.start_ns).collect(),
            },
        };
        let deterministic = matches!(origin, Origin::Lab { .. });
        let exact_start = document.threads.iter().all(|thread| thread.detail.is_samples());
        let keeps_figures = deterministic || !exact_start;
        let thread = |thread: &Statistics| ThreadIdentity {
            activations: thread.activations,
            lost: thread.lost,
            latency: thread.latency,
            figures: keeps_figures.then(|| {
                Box::new((thread.histogram.clone(), thread.envelope.clone(), thread.worst.clone()))
            }),
        };
        RunIdentity {
            origin,
            threads: recorded.threads.iter().map(thread).collect(),
            beside: if keeps_figures { recorded.beside.clone() } else { Vec::new() },
        }
    }

    /// Whether the run was made in the lab's virtual time, where an equal order gives the same run.
    pub const fn is_deterministic(&self) -> bool {
        self.phase().is_some()
    }

    /// The phase of a run in the lab's virtual time; none of any other.
    pub const fn phase(&self) -> Option<Phase> {
        match self.origin {
            Origin::Machine { .. } => None,
            Origin::Lab { phase, .. } => Some(phase),
        }
    }
}
