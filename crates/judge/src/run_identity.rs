// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whether two recordings are of one run: then the second adds nothing, and counts neither as a run nor as samples.

use model::Recorded;
use plan::Nanos;
use stats::{Activations, Envelope, Histogram, Statistics, Summary, Worst};

/// What recordings of one run have in common, and recordings of two runs have not.
#[derive(Clone, Debug, PartialEq)]
pub struct RunIdentity {
    /// None in the lab's virtual time, where equal runs are the same run over again, whenever they began.
    begun: Option<Begun>,
    threads: Vec<ThreadIdentity>,
}

/// Where and when. On a machine no two runs begin in the same nanosecond, so equal starts with equal figures are a copy.
#[derive(Clone, Debug, PartialEq)]
struct Begun {
    hostname: Option<String>,
    started_at: String,
    threads: Vec<Nanos>,
}

#[derive(Clone, Debug, PartialEq)]
struct ThreadIdentity {
    activations: Activations,
    lost: u64,
    latency: Option<Summary>,
    /// None where the start says enough; of thousands of runs it would be too much to keep. A recording without samples may not
    /// know when its threads began.
    figures: Option<Box<(Histogram, Envelope, Vec<Worst>)>>,
}

impl RunIdentity {
    /// That of this recording's run.
    #[must_use]
    pub fn from_recorded(recorded: &Recorded) -> RunIdentity {
        let document = &recorded.document;
        let deterministic = document.lab.as_ref().is_some_and(|lab| lab.deterministic);
        let begun = || Begun {
            hostname: document.host.before.hostname.clone(),
            started_at: document.started_at.clone(),
            threads: document.threads.iter().map(|thread| thread.start_ns).collect(),
        };
        let exact_start = document.threads.iter().all(|thread| thread.detail.is_samples());
        let keeps_figures = deterministic || !exact_start;
        let thread = |thread: &Statistics| ThreadIdentity {
            activations: thread.activations,
            lost: thread.lost,
            latency: thread.latency,
            figures: keeps_figures.then(|| Box::new((thread.histogram.clone(), thread.envelope.clone(), thread.worst.clone()))),
        };
        RunIdentity { begun: (!deterministic).then(begun), threads: recorded.threads.iter().map(thread).collect() }
    }

    /// Whether the run was made in the lab's virtual time, where an equal order gives the same run.
    #[must_use]
    pub fn is_deterministic(&self) -> bool {
        self.begun.is_none()
    }
}
