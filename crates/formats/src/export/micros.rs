// SPDX-License-Identifier: MIT OR Apache-2.0
//! What formats of cyclictest's users share: latencies in µs, rounded down as cyclictest does it,
//! and the command line that would have measured the same.

use super::{CyclictestFigures, ExportError, Source, counted};
use model::Document;
use plan::Policy;

/// Buckets of a histogram, 1 µs each.
pub(super) const BUCKETS: usize = 1_000_000;

/// Each thread's figures, µs.
pub(super) fn figures(source: &Source<'_>) -> Result<Vec<CyclictestFigures>, ExportError> {
    let of_thread = |thread: usize| {
        let mut figures = CyclictestFigures::new(BUCKETS);
        let bucket = |ns: i64| ns / 1_000;
        source.each_value(thread, bucket, &mut |row, ns, n| match row {
            Some(_) => figures.add(bucket(ns)),
            None => drop(figures.add_n(bucket(ns), n)),
        })?;
        Ok(figures)
    };
    (0..source.threads()).map(of_thread).collect()
}

/// What cyclictest's outputs do not say: by how much latencies below 0 were early.
pub(super) fn left_out(source: &Source<'_>, figures: &[CyclictestFigures]) -> Vec<String> {
    let early = figures.iter().map(|thread| thread.early).sum();
    let mut left_out = source.skipped_and_lost();
    let below = counted(early, "latency below 0 us", "latencies below 0 us");
    left_out.extend(below.map(|of| format!("{of} (overflows there)")));
    left_out
}

/// The command line of cyclictest that was imported, or asks for the same threads.
pub(super) fn command_line(document: &Document) -> String {
    let own = &document.command_line;
    let is_its_own = own.first().is_some_and(|word| word.rsplit('/').next() == Some(PROGRAM));
    if is_its_own {
        return own.join(" ");
    }
    let run = &document.run;
    let mut words = format!("{PROGRAM} -q -t {}", document.threads.len());
    let cpus: Option<Vec<String>> = document
        .threads
        .iter()
        .map(|thread| document.probe.cpu_of(thread).map(|cpu| cpu.to_string()))
        .collect();
    if let Some(cpus) = cpus.filter(|cpus| !cpus.is_empty()) {
        words += &format!(" -a {}", cpus.join(","));
    }
    match (run.scheduling.policy, run.scheduling.prio) {
        (Policy::Fifo, Some(prio)) => words += &format!(" -p {prio}"),
        (Policy::Rr, Some(prio)) => words += &format!(" --policy=rr -p {prio}"),
        _ => {}
    }
    let us = |ns: plan::Nanos| ns.0 / 1_000;
    words + &format!(" -i {} -d {} -h {BUCKETS}", us(run.interval_ns), us(run.distance_ns))
}

const PROGRAM: &str = "cyclictest";
