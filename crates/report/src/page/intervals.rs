// SPDX-License-Identifier: MIT OR Apache-2.0
//! Confidence intervals and the tail, as a page shows them: quantiles with their intervals in a
//! table, all else in sentences.

use crate::charts::svg;
use crate::format;
use crate::language::{texts, tr};
use crate::overview::Overview;
use crate::sections::inference::{self, Message};
use model::{ProbeStatement, RowKind};

/// The confidence intervals and tails of a recording.
pub(crate) struct RecordingInference {
    pub(crate) recording: String,
    pub(crate) colour: usize,
    /// Which quantiles its threads have latencies enough for.
    pub(crate) levels: Vec<String>,
    pub(crate) threads: Vec<ThreadInference>,
    pub(crate) left_out: String,
    pub(crate) at_once: Vec<Message>,
}

/// The same of one of its threads.
pub(crate) struct ThreadInference {
    pub(crate) name: String,
    /// In the order of the levels: the figure, and its interval.
    pub(crate) quantiles: Vec<(String, String)>,
    pub(crate) messages: Vec<Message>,
}

/// What the intervals of these recordings are of, and what their table shows.
pub(crate) fn inference_lead(all: &[Overview<'_>], shown: &[RecordingInference]) -> String {
    let are_wake_ups =
        |probe: &ProbeStatement| probe.rows == RowKind::Activations && probe.judges_overruns();
    let lead = if all.iter().all(|overview| are_wake_ups(&overview.document().probe)) {
        texts::confidence_95_intervals_for
    } else {
        texts::confidence_95_intervals_allowing
    };
    let mut intervals = shown.iter().flat_map(|one| &one.threads).flat_map(|one| &one.quantiles);
    let has_no_bound = intervals.any(|(_, interval)| interval.starts_with('≥'));
    let no_bound = if has_no_bound { texts::no_upper_bound.said() } else { "" };
    format!("{} {}{no_bound}", lead.said(), texts::times_in_us_each.said())
}

/// Confidence intervals, tails and periods of all recordings; of many threads, of those with the
/// largest latencies.
pub(crate) fn inference_rows(all: &[Overview<'_>], max: usize) -> Vec<RecordingInference> {
    let from_overview = |(place, overview): (usize, &Overview<'_>)| {
        let document = overview.document();
        let mut threads: Vec<_> = document
            .threads
            .iter()
            .zip(&overview.recorded.threads)
            .zip(overview.inferences)
            .collect();
        threads.sort_by_key(|((_, statistics), _)| std::cmp::Reverse(statistics.moments.max()));
        let listed = (max / 32).max(1);
        let left_out = threads.len().saturating_sub(listed);
        threads.truncate(listed);
        let levels = threads
            .iter()
            .map(|(_, inference)| inference.quantiles.as_slice())
            .max_by_key(|levels| levels.len())
            .unwrap_or_default();
        let levels: Vec<String> =
            levels.iter().map(|interval| interval.level.to_string()).collect();
        let threads = threads.into_iter().map(|((thread, _), inference)| {
            let mut quantiles: Vec<(String, String)> =
                inference.quantiles.iter().map(inference::interval).collect();
            quantiles.resize(levels.len(), ("–".to_owned(), String::new()));
            ThreadInference {
                name: match document.probe.cpu_of(thread) {
                    Some(cpu) => tr!(thread_cpu, thread = thread.index, cpu),
                    None => tr!(thread_2, thread = thread.index),
                },
                quantiles,
                messages: inference::beside_quantiles(inference, document, thread),
            }
        });
        RecordingInference {
            recording: overview.name.clone(),
            colour: place % svg::COLOURS.len(),
            threads: threads.collect(),
            levels,
            left_out: if left_out > 0 {
                tr!(
                    not_listed_threads_none,
                    threads = format::counted(left_out as u64, texts::n_threads)
                )
            } else {
                String::new()
            },
            at_once: inference::at_once(document, overview.inferences),
        }
    };
    let says_any = |one: &RecordingInference| {
        let of_thread = |thread: &ThreadInference| {
            !thread.messages.is_empty()
                || thread.quantiles.iter().any(|(_, interval)| !interval.is_empty())
        };
        !one.at_once.is_empty() || one.threads.iter().any(of_thread)
    };
    all.iter()
        .enumerate()
        .filter(|(_, overview)| !overview.inferences.is_empty())
        .map(from_overview)
        .filter(says_any)
        .collect()
}
