// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which activations are explained, among all samples of a recording.

use super::Which;
use anyhow::bail;
use explain::Woken;
use model::Recorded;
use recording::{Recording, each_row};
use std::cmp::Reverse;
use std::collections::BTreeSet;

/// As many are explained at most.
const MOST: usize = 1_000;
/// Blocks kept before the planned time, to see who called what: about half a ms.
const CONTEXT: u64 = 100_000;
/// Blocks of one window at most, 800 MB of memory.
const MOST_BLOCKS: u64 = 1 << 25;

/// The samples of a recording, and those that are asked for.
pub struct Chosen {
    /// All of them, ascending by time.
    pub samples: Vec<Woken>,
    /// Their latencies.
    latencies: Vec<i64>,
    /// Indices of those that are asked for, the worst first.
    pub worst_first: Vec<usize>,
}

impl Chosen {
    pub fn of(recorded: &Recorded, which: &Which) -> anyhow::Result<Self> {
        let recording = Recording::from_document(&recorded.path, recorded.document.clone());
        let mut all: Vec<(Woken, i64)> = Vec::new();
        for (thread, files) in recorded.document.threads.iter().zip(recording.sample_files()?) {
            each_row(&files, &mut |row| {
                let planned = row
                    .number
                    .cast_signed()
                    .saturating_mul(thread.interval_ns.0)
                    .saturating_add(thread.start_ns.0);
                if let Some(Some(latency)) = row.values.first() {
                    let woken = Woken {
                        thread: thread.index,
                        activation: row.number,
                        cpu: thread.cpu.0 as usize,
                        time_ns: planned + latency,
                    };
                    all.push((woken, *latency));
                }
            })?;
        }
        all.sort_by_key(|(woken, _)| woken.time_ns);
        let (samples, latencies): (Vec<_>, Vec<_>) = all.into_iter().unzip();
        let mut worst_first: Vec<usize> =
            (0..samples.len()).filter(|index| latencies[*index] > 0).collect();
        worst_first.sort_by_key(|index| Reverse(latencies[*index]));
        match which {
            Which { above: Some(above), .. } => {
                worst_first.retain(|index| latencies[*index] > above.0);
                if worst_first.is_empty() {
                    let worst = report::exact_micros(latencies.iter().max().copied().unwrap_or(0));
                    bail!("no latency is above {above}: the largest is {worst} µs");
                }
                worst_first.truncate(MOST);
            }
            Which { activation, .. } if !activation.is_empty() => {
                let of = |wanted: &u64| {
                    worst_first.iter().copied().find(|index| samples[*index].activation == *wanted)
                };
                let missing = activation.iter().find(|wanted| of(wanted).is_none());
                if let Some(missing) = missing {
                    if samples.iter().all(|sample| sample.activation != *missing) {
                        bail!("{} has no activation {missing} that ran", recorded.path.display());
                    }
                    bail!(
                        "activation {missing} has no latency above 0 in {}",
                        recorded.path.display()
                    );
                }
                // Each once, however often it was named.
                worst_first =
                    activation.iter().collect::<BTreeSet<_>>().into_iter().filter_map(of).collect();
                worst_first.sort_by_key(|index| Reverse(latencies[*index]));
            }
            Which { worst, .. } => worst_first.truncate(worst.unwrap_or(1).into()),
        }
        if worst_first.is_empty() {
            bail!(
                "{}: no thread woke late, so there is nothing to explain",
                recorded.path.display()
            );
        }
        Ok(Chosen { samples, latencies, worst_first })
    }

    /// The latency of a sample.
    pub fn latency_ns(&self, sample: usize) -> u64 {
        self.latencies[sample].unsigned_abs()
    }

    /// The windows to keep, ascending: the count of instructions at which each ends, and how many
    /// blocks it holds.
    pub fn windows(&self, counts: &[u64]) -> Vec<(u64, u64)> {
        let blocks = |sample: &usize| (self.latency_ns(*sample) + CONTEXT).min(MOST_BLOCKS);
        let mut windows: Vec<(u64, u64)> =
            self.worst_first.iter().map(|sample| (counts[*sample], blocks(sample))).collect();
        windows.sort_unstable();
        windows
    }
}
