// SPDX-License-Identifier: MIT OR Apache-2.0
//! Why a tail is not continued, in words, with the evidence.

use crate::claims::part;
use crate::format::{self, latency};
use crate::language::{say, word};
use stats::{Apart, Change, ChangeKind, LEAST_CLUSTERS, LEAST_LATENCIES, MOST_CROWDED, Refusal};

/// `no extrapolation: ` stands before it.
pub(crate) fn words(why: &Refusal) -> String {
    match why {
        Refusal::TooFew { latencies } => say!(
            "{latencies} are too few for a tail fit, which needs {least}",
            latencies = format::counted(*latencies, "latency"),
            least = format::count(LEAST_LATENCIES)
        ),
        Refusal::TooFewClusters { clusters } => say!(
            "{clusters} of late wake-ups are too few for a tail fit, which needs {least}",
            clusters = format::counted(*clusters as u64, "cluster"),
            least = LEAST_CLUSTERS
        ),
        Refusal::Crowded { share } => say!(
            "late wake-ups are too close together for a tail fit: their clusters fill {share} % of the run, where {most} % is the most it can take",
            share = format!("{:.0}", share * 100.0),
            most = format!("{:.0}", MOST_CROWDED * 100.0)
        ),
        Refusal::AllEqual => {
            say!("all late wake-ups are equally late: that is a limit of the clock or the machine, and no tail")
        }
        Refusal::Apart(apart) => lying_apart(apart),
        Refusal::Changed(change) => changed(change),
        Refusal::BadFit { chance } => say!(
            "at no threshold does the tail have the form that a continued tail would need: the best fit is this bad by chance in {chance} of all runs",
            chance = rarity(*chance)
        ),
        Refusal::Uneven { first_half, chance } => say!(
            "late wake-ups do not come evenly over the run: {share} of them in its first half (by chance in {chance} of all runs)",
            share = format!("{:.0} %", first_half * 100.0),
            chance = rarity(*chance)
        ),
        Refusal::Drifting { first_ns, second_ns, chance } => say!(
            "late wake-ups do not stay as late as they are: {first} in the first half of the run, {second} in the second, in the median (by chance in {chance} of all runs)",
            first = latency(*first_ns),
            second = latency(*second_ns),
            chance = rarity(*chance)
        ),
        Refusal::TooHeavy { shape } => say!(
            "the tail may be so heavy (shape up to {shape}) that it has no mean: nothing bounds what comes",
            shape = format!("{shape:.2}")
        ),
        Refusal::Disagree { peaks, blocks } => {
            let [lower, upper, low, high] = [peaks.0, peaks.1, blocks.0, blocks.1].map(|ns| latency(format::rounded(ns)));
            say!(
                "two ways of continuing it disagree: for a run ten times as long peaks over the threshold give {lower} to {upper}, maxima of blocks {low} to {high}",
                lower,
                upper,
                low,
                high
            )
        }
    }
}

fn lying_apart(Apart { count, least, next, chance }: &Apart) -> String {
    let which =
        if *count == 1 { say!("the largest latency lies apart") } else { say!("the {count} largest latencies lie apart", count) };
    say!(
        "{which}, at {least} and beyond, with nothing between {next} and that: a tail as of the others has such a gap by chance in {chance} of all runs. It has a cause of its own, and how often and how large that comes is not to be seen from the others",
        which,
        least = latency(format::rounded(*least)),
        next = latency(format::rounded(*next)),
        chance = rarity(*chance)
    )
}

fn changed(Change { part: which, kind, activation, before_ns, after_ns, chance }: &Change) -> String {
    let how = match kind {
        ChangeKind::Step => say!("from activation {activation} on", activation = format::count(*activation)),
        ChangeKind::Drift => word("little by little").to_owned(),
    };
    say!(
        "latencies are not the same over the run: {which} goes from {before} to {after} {how} (by chance in {chance} of all runs)",
        which = part(*which),
        before = latency(*before_ns),
        after = latency(*after_ns),
        how,
        chance = rarity(*chance)
    )
}

/// A probability, as people write one.
fn rarity(chance: f64) -> String {
    if chance >= 1e-3 { format!("{:.2} %", chance * 100.0) } else { say!("less than 0.1 %") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gap_is_said_with_both_its_sides() {
        let said = |count| words(&Refusal::Apart(Apart { count, least: 28_012_345.0, next: 31_449.0, chance: 1e-5 }));
        assert!(
            said(1).starts_with("the largest latency lies apart, at 28.0 ms and beyond, with nothing between 31.4 µs and that")
        );
        assert!(
            said(10).starts_with("the 10 largest latencies lie apart, at 28.0 ms") && said(10).contains("in less than 0.1 % of")
        );
    }

    #[test]
    fn too_few_and_too_crowded_are_told_apart() {
        assert_eq!(words(&Refusal::TooFew { latencies: 961 }), "961 latencies are too few for a tail fit, which needs 1,000");
        let clusters = words(&Refusal::TooFewClusters { clusters: 31 });
        assert_eq!(clusters, "31 clusters of late wake-ups are too few for a tail fit, which needs 50");
        let crowded = words(&Refusal::Crowded { share: 0.31 });
        assert!(crowded.ends_with("their clusters fill 31 % of the run, where 10 % is the most it can take"), "{crowded}");
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
        let said = words(&Refusal::Changed(change));
        assert!(said.ends_with(
            "the 99th percentile goes from 20.0 µs to 24.0 µs from activation 30,000 on (by chance in 0.12 % of all runs)"
        ));
    }
}
