// SPDX-License-Identifier: MIT OR Apache-2.0
//! The words of the field, as a page uses them: what a latency is, and what is late, is what its
//! recordings' probes make of it.

use crate::language::{tr, translated};
use crate::sections::columns::Probes;
use crate::sections::rows::Rows;
use crate::sections::verdict::capitalised;

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
        Word { term: "row", name: rows.singular(), meaning: translated(row(rows)).to_owned() },
        Word { term: "latency", name: translated("latency"), meaning: latency(probes) },
    ];
    let jitter = probes.has_activations().then_some(JITTER);
    let terms =
        [("late", late(rows)), ("skipped", skipped(rows)), ("as measured", as_measured(rows))];
    let terms = terms.into_iter().chain(FIGURES).chain(jitter).chain(INFERENCE_TERMS);
    words.extend(terms.map(|(term, meaning)| Word {
        term,
        name: translated(term),
        meaning: translated(meaning).to_owned(),
    }));
    words
}

const FIGURES: [(&str, &str); 5] = [
    (
        "p99.9",
        "99.9 % of the latencies were at most this; other numbers likewise (nearest rank: an \
         observed latency). Shown if there are enough samples: p99.9 from 1,000 on.",
    ),
    ("sd", "Standard deviation, with divisor n − 1."),
    ("exceedance", "The share of the latencies that were at least this long."),
    (
        "95 % confidence",
        "If the machine does not change, 95 of 100 such statements are true. Correlation between \
         latencies is allowed for, except in the rate of latencies above the maximum: there \
         independence is assumed, the best case.",
    ),
    ("lost", "Measured, but not recorded because a buffer was full."),
];

const JITTER: (&str, &str) = (
    "jitter",
    "By how much the time between two successive wake-ups differs from the interval: the \
     difference of their latencies.",
);

const INFERENCE_TERMS: [(&str, &str); 5] = [
    (
        "tail",
        "Latencies above a threshold, fitted by a generalised Pareto distribution, with an \
         interval by profile likelihood. It holds if nothing changes, and is not extrapolated if \
         a check fails.",
    ),
    ("modes", "Latencies cluster around several values, with significantly fewer in between."),
    (
        "period",
        "Large latencies at a regular distance, found by counting distances between them (p < \
         0.001).",
    ),
    ("change", "The median or the 99th percentile differs significantly in one part of the run."),
    (
        "at once",
        "The largest latencies of two threads coincide significantly more often than by chance.",
    ),
];

fn row(rows: Rows) -> &'static str {
    rows.pick(
        "One due wake-up of a periodic thread. Every one that was due is on time, late or skipped.",
        "Something that is started at a planned time and takes its time. Every one that was due \
         is on time, late or skipped.",
        "Something that happened when it happened. None was planned, so none is late or skipped.",
        "What a probe measures once: an activation, a trial or an event. Every one that was due \
         is on time, late or skipped. Events are not planned.",
    )
}

/// What the probe states; of several probes, each with its name.
fn latency(probes: &Probes) -> String {
    let sentence = |meaning: &str| capitalised(meaning) + translated(".");
    match probes.judged().as_slice() {
        [] => tr!("Actual minus planned wake-up time. Negative if the thread was woken early. \
                   Includes reading the clock."),
        [(_, only)] => sentence(only),
        several => {
            let each: Vec<String> = several
                .iter()
                .map(|(probe, meaning)| tr!("{probe}: {meaning}.", probe, meaning))
                .collect();
            tr!("As the probe of a recording has it. {each}", each = each.join(" "))
        }
    }
}

fn late(rows: Rows) -> &'static str {
    rows.pick(
        "Woken one interval or more after its planned time.",
        "Ended one interval or more after its planned time.",
        "Nothing here: events are not planned.",
        "Ended one interval or more after its planned time. Events are not planned.",
    )
}

fn skipped(rows: Rows) -> &'static str {
    rows.pick(
        "Never run: an earlier activation was so late that this one’s planned time had passed.",
        "Never run: an earlier trial was so late that this one’s planned time had passed.",
        "Nothing here: events are not planned.",
        "Never run: an earlier one was so late that this one’s planned time had passed. Events \
         are not planned.",
    )
}

fn as_measured(rows: Rows) -> &'static str {
    let of_others = "Figures of those that ran. Where the judged time begins at the planned time, \
                     all other figures count skipped ones in, each waiting from its planned time \
                     until the thread ran again.";
    rows.pick(
        "Figures of the activations that ran. All other figures count skipped activations in, \
         each waiting from its planned time until the thread ran again.",
        of_others,
        of_others,
        of_others,
    )
}
