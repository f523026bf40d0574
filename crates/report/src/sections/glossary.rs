// SPDX-License-Identifier: MIT OR Apache-2.0
//! The words of the field, as a page uses them: what a latency is, and what is late, is what its
//! recordings' probes make of it.

use crate::format::capitalised;
use crate::language::{Text, texts, tr};
use crate::sections::columns::Probes;
use crate::sections::rows::Rows;

/// A word and what it means, both in the current language.
#[derive(Clone, Debug)]
pub(crate) struct Word {
    /// By which templates find it.
    pub(crate) term: &'static str,
    pub(crate) name: &'static str,
    pub(crate) meaning: String,
}

/// Those of a page of recordings by these probes.
pub(crate) fn words(probes: &Probes) -> Vec<Word> {
    let rows = probes.rows();
    let mut words = vec![
        Word { term: "row", name: rows.singular(), meaning: row(rows).said().to_owned() },
        Word { term: "latency", name: texts::latency.said(), meaning: latency(probes) },
    ];
    let is_inferred = probes.has_inferences();
    let jitter = (probes.has_activations() && is_inferred).then_some(JITTER);
    let terms = [
        (texts::late, late(rows)),
        (texts::skipped, skipped(rows)),
        (texts::as_measured, as_measured(rows)),
    ];
    let inferred = INFERENCE_TERMS.into_iter().filter(|_| is_inferred);
    let terms = terms.into_iter().chain(FIGURES).chain(jitter).chain(inferred);
    words.extend(terms.map(|(term, meaning)| Word {
        term: term.in_english(),
        name: term.said(),
        meaning: meaning.said().to_owned(),
    }));
    words
}

const FIGURES: [(Text, Text); 3] = [
    (texts::p99_9, texts::what_a_quantile_is),
    (texts::standard_deviation_short, texts::standard_deviation_divisor_n),
    (texts::exceedance, texts::share_latencies_least_long),
];

const JITTER: (Text, Text) = (texts::jitter, texts::how_much_time_between);

/// What takes samples, one by one.
const INFERENCE_TERMS: [(Text, Text); 7] = [
    (texts::confidence_95, texts::if_machine_does_not),
    (texts::lost, texts::measured_but_not_recorded),
    (texts::tail, texts::latencies_above_threshold_fitted),
    (texts::modes, texts::latencies_cluster_around_several),
    (texts::period, texts::large_latencies_regular_distance),
    (texts::change, texts::median_99th_percentile_differs),
    (texts::at_once, texts::largest_latencies_two_threads),
];

fn row(rows: Rows) -> Text {
    rows.pick(
        texts::one_due_wake_up,
        texts::something_started_planned_time,
        texts::something_happened_when_happened,
        texts::what_probe_measures_once,
    )
}

/// What the probe states; of several probes, each with its name.
fn latency(probes: &Probes) -> String {
    let sentence = |meaning: &str| capitalised(meaning) + texts::full_stop.said();
    match probes.judged().as_slice() {
        [] => tr!(actual_minus_planned_wake),
        [(_, only)] => sentence(only),
        several => {
            let each: Vec<String> =
                several.iter().map(|(probe, meaning)| tr!(probe_meaning, probe, meaning)).collect();
            tr!(probe_recording_has_each, each = each.join(" "))
        }
    }
}

fn late(rows: Rows) -> Text {
    rows.pick(
        texts::woken_one_interval_more,
        texts::ended_one_interval_more,
        texts::nothing_here_events_not,
        texts::ended_one_interval_more_after,
    )
}

fn skipped(rows: Rows) -> Text {
    rows.pick(
        texts::never_run_earlier_activation,
        texts::never_run_earlier_trial,
        texts::nothing_here_events_not,
        texts::never_run_earlier_one,
    )
}

fn as_measured(rows: Rows) -> Text {
    let of_others = texts::figures_those_ran_where;
    rows.pick(texts::figures_activations_ran_all, of_others, of_others, of_others)
}
