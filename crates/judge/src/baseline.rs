// SPDX-License-Identifier: MIT OR Apache-2.0
//! Compares a recording with an earlier one: no quantile may be worse by more than a given share.

use crate::ending::incomplete_among;
use crate::judged::Judgement;
use crate::{Criterion, Judged, Lacking, Seen, Verdict, knows_order};
use model::Examined;
use stats::{NotCompared, QuantileDifference, compare};

/// Whether a recording is worse than `baseline` by more than `by`, a share, in each quantile that
/// both have samples enough for; at 95 % confidence for all of them together. Whoever calls has
/// seen to it that the two can be compared.
pub fn judge_against(baseline: &Examined, by: f64, examined: &Examined) -> Vec<Judged> {
    let judged = |level, judgement: Judgement| {
        judgement.of(Criterion::NotWorse { level, by, than: baseline.path() }, examined)
    };
    let (base, other) = (baseline.group(), examined.group());
    let compared = compare(&base, &other);
    if !compared.has_ratios() {
        let are_ordered =
            [baseline, examined].iter().all(|one| knows_order(&one.recorded.document));
        let lacking = if are_ordered { Lacking::Independent } else { Lacking::Order };
        return vec![judged(None, Judgement::not_enough(Seen::Nothing, lacking))];
    }
    let incomplete = incomplete_among(examined).or_else(|| incomplete_among(baseline));
    let max_ratio = 1.0 + by;
    let one = |difference: QuantileDifference| {
        let QuantileDifference { level, base_ns, other_ns, ratio } = difference;
        if let Err((NotCompared::FewAbove { .. } | NotCompared::LongPhases, _)) = ratio {
            let judgement = Judgement::not_enough(Seen::Nothing, Lacking::Independent);
            return Some(judged(Some(level), judgement));
        }
        let ((lower, upper), base_ns, other_ns) = (ratio.ok()?, base_ns?, other_ns?);
        let (verdict, deciding) = if lower > max_ratio {
            (Verdict::Fail, lower)
        } else if upper <= max_ratio {
            (Verdict::Pass, upper)
        } else {
            (Verdict::NotEnough, upper)
        };
        let (verdict, lacking) = match (verdict, incomplete) {
            (Verdict::Pass, Some(why)) => (Verdict::NotEnough, Some(Lacking::Whole(why))),
            (Verdict::NotEnough, _) => (verdict, Some(Lacking::LongerRuns)),
            _ => (verdict, None),
        };
        let seen = Seen::Change {
            ns: other_ns,
            is_exact: other.has_observed_quantiles(),
            base_ns,
            base_is_exact: base.has_observed_quantiles(),
            lower,
            upper,
        };
        let margin = Some((max_ratio - deciding) / max_ratio);
        Some(judged(Some(level), Judgement { verdict, seen, margin, lacking }))
    };
    compared.quantiles.into_iter().filter_map(one).collect()
}
