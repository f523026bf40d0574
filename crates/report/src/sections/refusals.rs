// SPDX-License-Identifier: MIT OR Apache-2.0
//! Why a tail is not continued, in words, with the evidence.

use crate::format::{self, latency};
use crate::language::{texts, tr};
use crate::sections::rows::Rows;
use stats::{Apart, Change, ChangeKind, MAX_CROWDED, MIN_CLUSTERS, MIN_LATENCIES, Part, Refusal};

/// `no extrapolation: ` stands before it.
pub(crate) fn words(why: &Refusal, rows: Rows) -> String {
    match why {
        Refusal::OrderUnknown => tr!(recording_has_no_samples_so),
        Refusal::Pooled => {
            tr!(several_runs_whose_largest)
        }
        Refusal::TooFew { latencies } => tr!(
            latencies_too_few_for,
            latencies = format::counted(*latencies, texts::n_latencies),
            min = format::count(MIN_LATENCIES)
        ),
        Refusal::TooFewClusters { clusters } => tr!(
            clusters_large_latencies_too,
            clusters = format::counted(*clusters as u64, texts::n_clusters),
            min = MIN_CLUSTERS
        ),
        Refusal::Crowded { share } => tr!(
            large_latencies_too_clustered,
            share = format!("{:.0}", share * 100.0),
            max = format!("{:.0}", MAX_CROWDED * 100.0)
        ),
        Refusal::AllEqual => {
            tr!(all_large_latencies_equal)
        }
        Refusal::Apart(apart) => lying_apart(apart),
        Refusal::Changed(change) => changed(change, rows),
        Refusal::BadFit { chance } => {
            tr!(no_threshold_gives_acceptable, chance = rarity(*chance))
        }
        Refusal::Uneven { first_half, chance } => tr!(
            large_latencies_spread_unevenly,
            share = format!("{:.0} %", first_half * 100.0),
            chance = rarity(*chance)
        ),
        Refusal::Drifting { first_ns, second_ns, chance } => tr!(
            large_latencies_change_during,
            first = latency(*first_ns),
            second = latency(*second_ns),
            chance = rarity(*chance)
        ),
        Refusal::TooHeavy { shape } => {
            tr!(tail_may_be_so, shape = format!("{shape:.2}"))
        }
        Refusal::Disagree { peaks, blocks } => {
            let [lower, upper, low, high] =
                [peaks.0, peaks.1, blocks.0, blocks.1].map(|ns| latency(format::rounded(ns)));
            tr!(two_extrapolations_disagree_for, lower, upper, low, high)
        }
    }
}

fn lying_apart(Apart { count, min, next, chance }: &Apart) -> String {
    let [min, next] = [*min, *next].map(|ns| latency(format::rounded(ns)));
    let chance = rarity(*chance);
    if *count == 1 {
        tr!(outlier_min_next_largest, min, next, chance)
    } else {
        tr!(count_outliers_min_above, count, min, next, chance)
    }
}

fn changed(
    Change { part: which, kind, activation, before_ns, after_ns, chance }: &Change,
    rows: Rows,
) -> String {
    let how = match kind {
        ChangeKind::Step => tr!(from_row_on, row = rows.numbered(*activation)),
        ChangeKind::Drift => tr!(gradually),
    };
    tr!(
        latencies_change_during_run,
        which = part(*which),
        before = latency(*before_ns),
        after = latency(*after_ns),
        how,
        chance = rarity(*chance)
    )
}

/// A probability, as a test of significance gives it: `p = 0.0012`.
fn rarity(chance: f64) -> String {
    if chance >= 1e-3 {
        format!("p = {}", format!("{chance:.4}").trim_end_matches('0'))
    } else {
        "p < 0.001".to_owned()
    }
}

/// What of the latencies changed.
pub(crate) fn part(part: Part) -> &'static str {
    match part {
        Part::Middle => texts::the_median,
        Part::Late => texts::the_99th_percentile,
    }
    .said()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ACTIVATIONS: Rows = Rows::One(model::RowKind::Activations);

    #[test]
    fn a_gap_is_said_with_both_its_sides() {
        let output = |count| {
            words(
                &Refusal::Apart(Apart { count, min: 28_012_345.0, next: 31_449.0, chance: 1e-5 }),
                ACTIVATIONS,
            )
        };
        assert!(output(1).starts_with(
            "outlier: 28.0 ms, next largest 31.4 µs (p < 0.001 for one tail). It has a cause of \
             its own"
        ));
        assert!(output(10).starts_with(
            "10 outliers: 28.0 ms and above, next largest 31.4 µs (p < 0.001 for one tail). They \
             have"
        ));
    }

    #[test]
    fn too_few_and_too_crowded_are_distinct() {
        assert_eq!(
            words(&Refusal::TooFew { latencies: 961 }, ACTIVATIONS),
            "961 latencies: too few for a tail fit, which needs 1,000"
        );
        assert!(
            words(&Refusal::TooFew { latencies: 1 }, ACTIVATIONS).starts_with("1 latency: too few")
        );
        let clusters = words(&Refusal::TooFewClusters { clusters: 31 }, ACTIVATIONS);
        assert_eq!(
            clusters,
            "31 clusters of large latencies: too few for a tail fit, which needs 50"
        );
        let crowded = words(&Refusal::Crowded { share: 0.31 }, ACTIVATIONS);
        assert!(
            crowded.ends_with("their clusters fill 31 % of the run, at most 10 % is usable"),
            "{crowded}"
        );
    }

    #[test]
    fn a_change_is_said_with_its_place() {
        let change = Change {
            part: stats::Part::Late,
            kind: ChangeKind::Step,
            activation: 30_000,
            before_ns: 20_000,
            after_ns: 24_000,
            chance: 0.0012,
        };
        let output = words(&Refusal::Changed(change), ACTIVATIONS);
        assert!(output.ends_with(
            "the 99th percentile goes from 20.0 µs to 24.0 µs from activation 30,000 on (p = \
             0.0012)"
        ));
    }
}
