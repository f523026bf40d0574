// SPDX-License-Identifier: MIT OR Apache-2.0
//! Recordings held against an earlier one: no quantile may be worse than it by more than so much.

use super::{Examined, Gate, Judged, Verdict, spoiled};
use crate::cautions;
use crate::compare::incomparable;
use crate::format;
use crate::language::say;
use crate::overview::Overview;
use stats::{Group, Measured, QuantileDifference, compare};

/// A quantile as it is shown: of several threads it is that of all of them together, and not quite the observed one.
fn shown(examined: &Examined, ns: i64) -> String {
    if group(examined).has_observed_quantiles() {
        return format::latency(ns);
    }
    format!("~{} of all threads", format::latency(ns))
}

/// What a recording is compared by.
fn group(examined: &Examined) -> Group {
    Group { runs: vec![examined.analyses.iter().map(Measured::from).collect()] }
}

impl Gate {
    /// Adds whether each recording is worse than `baseline` by more than `worse_than`, a share, in any quantile that both have
    /// latencies enough for; at 95 % confidence for all of them together.
    ///
    /// # Errors
    /// Why one of them cannot be compared with it at all.
    pub fn against(&mut self, baseline: &Examined, worse_than: f64, recordings: &[Examined]) -> Result<(), String> {
        let base = group(baseline);
        for examined in recordings {
            let why = incomparable(&[&baseline.recorded.document, &examined.recorded.document]);
            if let Some(why) = why.first() {
                return Err(format!(
                    "{} cannot be held against {}: {why}",
                    examined.recorded.path.display(),
                    baseline.recorded.path.display()
                ));
            }
            let path = examined.recorded.path.display().to_string();
            let apart = cautions::between(&[Overview::of(&baseline.recorded), Overview::of(&examined.recorded)], 1);
            let against = apart.iter().map(|one| format!("{} ({})", one.in_words(), baseline.recorded.path.display()));
            self.caveats.extend(against.map(|caveat| (path.clone(), caveat)));
            let differences = compare(&base, &group(examined)).quantiles;
            let spoiled = spoiled(&examined.recorded).or_else(|| spoiled(&baseline.recorded));
            if differences.is_empty() {
                let lacking = "too few independent wake-ups to compare any quantile".to_owned();
                self.judged.push(judged(
                    examined,
                    baseline,
                    "any quantile",
                    worse_than,
                    Verdict::NotEnough,
                    String::new(),
                    None,
                    Some(lacking),
                ));
            }
            for difference in differences {
                let most = 1.0 + worse_than;
                let QuantileDifference { level, base_ns, other_ns, lower, upper } = difference;
                let verdict = if lower > most {
                    Verdict::Fail
                } else if upper <= most {
                    Verdict::Pass
                } else {
                    Verdict::NotEnough
                };
                let seen = format!("{} after {}: {}", shown(examined, other_ns), shown(baseline, base_ns), change(lower, upper));
                let deciding = if verdict == Verdict::Fail { lower } else { upper };
                let (verdict, lacking) = match (verdict, &spoiled) {
                    (Verdict::Pass, Some(why)) => (Verdict::NotEnough, Some(why.clone())),
                    (Verdict::NotEnough, _) => (verdict, Some("longer runs would tell".to_owned())),
                    _ => (verdict, None),
                };
                let margin = Some((most - deciding) / most);
                self.judged.push(judged(examined, baseline, &level.to_string(), worse_than, verdict, seen, margin, lacking));
            }
        }
        Ok(())
    }
}

#[expect(clippy::too_many_arguments, reason = "the fields of what it makes")]
fn judged(
    examined: &Examined,
    baseline: &Examined,
    figure: &str,
    worse_than: f64,
    verdict: Verdict,
    seen: String,
    margin: Option<f64>,
    lacking: Option<String>,
) -> Judged {
    Judged {
        limit: format!("{figure} at most {} worse than {}", percent(worse_than), baseline.recorded.path.display()),
        recording: examined.recorded.path.display().to_string(),
        verdict,
        seen,
        margin,
        lacking,
    }
}

/// `10 %`, `2.5 %`.
fn percent(share: f64) -> String {
    let text = format!("{:.1}", share * 100.0);
    format!("{} %", text.strip_suffix(".0").unwrap_or(&text))
}

/// `31 to 44 % lower`, `between 4 % lower and 12 % higher`, `between 6 % lower and 11 times as high`.
pub(crate) fn change(lower: f64, upper: f64) -> String {
    let percent = |ratio: f64| ((ratio - 1.0).abs() * 100.0).round();
    let side = |ratio: f64| match ratio {
        ratio if percent(ratio) < 1.0 => say!("the same"),
        ratio if ratio < 1.0 => say!("{n} % lower", n = percent(ratio)),
        ratio if ratio < TIMES => say!("{n} % higher", n = percent(ratio)),
        ratio => say!("{n} times as high", n = at_scale(ratio)),
    };
    let (low, high) = (percent(lower), percent(upper));
    match (lower < 1.0, upper < 1.0) {
        _ if low < 1.0 && high < 1.0 => say!("the same to 1 %"),
        (true, true) if low == high => say!("{n} % lower", n = low),
        (false, false) if low == high && upper < TIMES => say!("{n} % higher", n = low),
        (false, false) if low >= 1.0 && upper >= TIMES && at_scale(lower) == at_scale(upper) => {
            say!("{n} times as high", n = at_scale(lower))
        }
        (true, true) if high >= 1.0 => say!("{low} to {high} % lower", low = high, high = low),
        (false, false) if low >= 1.0 && upper < TIMES => say!("{low} to {high} % higher", low, high),
        (false, false) if low >= 1.0 => say!("{low} to {high} times as high", low = at_scale(lower), high = at_scale(upper)),
        _ => say!("between {low} and {high}", low = side(lower), high = side(upper)),
    }
}

/// From this ratio on a percentage is harder to read than the ratio.
const TIMES: f64 = 3.0;

/// Two digits, or as many as stand before the point.
fn at_scale(ratio: f64) -> String {
    if ratio < 10.0 { format!("{ratio:.1}") } else { format!("{ratio:.0}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_in_words() {
        for (lower, upper, words) in [
            (0.56, 0.69, "31 to 44 % lower"),
            (1.04, 1.12, "4 to 12 % higher"),
            (0.96, 1.12, "between 4 % lower and 12 % higher"),
            (0.998, 1.003, "the same to 1 %"),
            (0.998, 1.2, "between the same and 20 % higher"),
            (0.9, 151.4, "between 10 % lower and 151 times as high"),
            (1.5, 4.25, "1.5 to 4.2 times as high"),
            (0.931, 0.934, "7 % lower"),
            (1.068, 1.072, "7 % higher"),
            (27.1, 27.4, "27 times as high"),
        ] {
            assert_eq!(change(lower, upper), words);
        }
    }
}
