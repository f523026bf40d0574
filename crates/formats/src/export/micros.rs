// SPDX-License-Identifier: MIT OR Apache-2.0
//! What formats of cyclictest's users share: latencies in µs, rounded down as cyclictest does it,
//! and the command line that would have measured the same.

use super::{CyclictestFigures, ExportError, Source, counted};
use model::Document;
use plan::Policy;
use stats::Bucket;

/// Buckets of a histogram, 1 µs each.
pub(super) const BUCKETS: usize = 1_000_000;

/// Each thread's figures, µs.
pub(super) fn figures(source: &Source<'_>) -> Result<Vec<CyclictestFigures>, ExportError> {
    let reach = reach(&source.recorded.document);
    let of_thread = |thread: usize| {
        let mut figures = CyclictestFigures::new(reach.unwrap_or(BUCKETS));
        source.each_value(thread, bucket, reach.is_some(), &mut |row, ns, n| match row {
            Some(_) => figures.add(bucket(ns)),
            None => drop(figures.add_n(bucket(ns), n)),
        })?;
        if let Some(stated) = source.stated(thread) {
            figures.state(bucket(stated.max), stated.mean / 1e3);
        }
        Ok(figures)
    };
    (0..source.threads()).map(of_thread).collect()
}

const fn bucket(ns: i64) -> i64 {
    ns / 1_000
}

/// How far the histogram of a program reached that put all values beyond into one bucket, the last
/// and the only wide one.
fn reach(document: &Document) -> Option<usize> {
    let is_wide = |of: &&Bucket| bucket(of.lower) != bucket(of.upper);
    let mut reach: Option<i64> = None;
    let mut has_narrow = false;
    for thread in &document.threads {
        let buckets = &thread.histogram_ns.buckets;
        has_narrow |= buckets.iter().any(|of| !is_wide(&of));
        let mut wide = buckets.iter().filter(is_wide);
        let Some(last) = wide.next() else { continue };
        if wide.next().is_some() || buckets.iter().any(|of| of.upper > last.upper) {
            return None;
        }
        reach = Some(reach.map_or(bucket(last.lower), |reach| reach.min(bucket(last.lower))));
    }
    reach.filter(|_| has_narrow).and_then(|reach| usize::try_from(reach).ok())
}

/// Values beyond the histogram, of which an output without a place for them says nothing else.
pub(super) fn beyond(figures: &[CyclictestFigures]) -> Option<String> {
    let beyond = figures.iter().map(|thread| thread.overflows - thread.early).sum();
    counted(beyond, "latency beyond the histogram", "latencies beyond the histogram")
}

/// What cyclictest's outputs do not say: by how much latencies below 0 were early.
pub(super) fn left_out(source: &Source<'_>, figures: &[CyclictestFigures]) -> Vec<String> {
    let early = figures.iter().map(|thread| thread.early).sum();
    let mut left_out = source.skipped_and_lost();
    let below = counted(early, "latency below 0 us", "latencies below 0 us");
    left_out.extend(below.map(|of| format!("{of} (overflows there)")));
    left_out
}

/// Said of an export without a command line.
pub(super) const NO_COMMAND_LINE: &str = "the command line, which is not known";

/// The command line of cyclictest that was imported, or one that asks for the same threads. None of
/// what another program measured otherwise, which nobody ran so, and none where cyclictest has no
/// such threads: `-i 0` would hang.
pub(super) fn command_line(document: &Document) -> Option<String> {
    let own = &document.command_line;
    let is_its_own = own.first().is_some_and(|word| word.rsplit('/').next() == Some(PROGRAM));
    if is_its_own {
        return Some(own.join(" "));
    }
    let run = &document.run;
    let us = |ns: plan::Nanos| ns.0 / 1_000;
    if document.imported.is_some() || us(run.interval_ns) < 1 {
        return None;
    }
    let mut words = format!("{PROGRAM} -q -t {}", document.threads.len());
    let cpus: Option<Vec<String>> = document
        .threads
        .iter()
        .map(|thread| document.probe.cpu_of(thread).map(|cpu| cpu.to_string()))
        .collect();
    if let Some(cpus) = cpus.filter(|cpus| !cpus.is_empty()) {
        // In one word, as OSADL's Latencyplot looks for it.
        words += &format!(" -a{}", cpus.join(","));
    }
    match (run.scheduling.policy, run.scheduling.prio) {
        (Policy::Fifo, Some(prio)) => words += &format!(" -p {prio}"),
        (Policy::Rr, Some(prio)) => words += &format!(" --policy=rr -p {prio}"),
        (Policy::Deadline, _) => return None,
        (Policy::Batch, _) => words += " --policy=batch",
        (Policy::Idle, _) => words += " --policy=idle",
        (Policy::Fifo | Policy::Rr | Policy::Other, _) => {}
    }
    Some(words + &format!(" -i {} -d {} -h {BUCKETS}", us(run.interval_ns), us(run.distance_ns)))
}

pub(super) const PROGRAM: &str = "cyclictest";
