// SPDX-License-Identifier: MIT OR Apache-2.0
//! How much of its time a polling loop lost to others: its gaps as a share of the time it polled.

use crate::format::{self, counted};
use crate::language::{texts, tr};
use crate::overview::Overview;
use plan::Nanos;
use stats::Moments;

/// Of each recording of a loop that polled.
pub(crate) fn of_each(all: &[Overview<'_>]) -> Vec<(String, String)> {
    let noise = |overview: &Overview<'_>| {
        let name = if all.len() == 1 {
            tr!(noise)
        } else {
            tr!(noise_of_recording, recording = overview.name)
        };
        Some((name, in_words(overview)?))
    };
    all.iter().filter_map(noise).collect()
}

/// `0.0123 % of the 9 s polled, in 412 gaps. The loop sees nothing shorter than 25 ns`, of all
/// threads together.
fn in_words(overview: &Overview<'_>) -> Option<String> {
    let threads = &overview.document().threads;
    let polling = || threads.iter().filter_map(|thread| thread.polling);
    let polled_ns = polling().map(|polling| polling.polled_ns).fold(0, i64::saturating_add);
    let share = format!("{} %", digits(percent(polled_ns, &overview.totals.moments)?));
    let (polled, gaps) =
        (format::span(Nanos(polled_ns)), counted(overview.totals.moments.count(), texts::n_gaps));
    // What found the ring full is in no sum.
    let mut text = if overview.totals.lost > 0 {
        tr!(least_share_polled_in, share, polled, gaps)
    } else {
        tr!(share_polled_in_gaps, share, polled, gaps)
    };
    if let Some(resolution) = polling().filter_map(|polling| polling.resolution_ns).max() {
        text += &tr!(loop_sees_nothing_shorter, n = resolution);
    }
    if let Some(threshold) = overview.document().run.probe_settings.get("threshold") {
        text += &tr!(only_gaps_above_threshold, threshold);
    }
    Some(text)
}

/// What gaps are of the time polled, percent; none where nothing was polled.
pub(crate) fn percent(polled_ns: i64, gaps: &Moments) -> Option<f64> {
    let share = gaps.sum() as f64 / polled_ns as f64;
    (polled_ns > 0).then_some(share * 100.0)
}

/// Percent with three digits that count, of 1 % or less: `0.0123`, `12.3`.
pub(crate) fn digits(percent: f64) -> String {
    if percent <= 0.0 {
        return "0".to_owned();
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to 9")]
    let decimals = (2.0 - percent.log10().floor()).clamp(0.0, 9.0) as usize;
    format!("{percent:.decimals$}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::Synthetic;
    use model::Polling;

    #[test]
    fn noise_is_a_share_of_the_time_polled() {
        let mut recorded = Synthetic::idle().threads(1).build();
        let words = |recorded: &_| of_each(&Overview::all(std::slice::from_ref(recorded)));
        assert!(words(&recorded).is_empty());
        let moments = &recorded.threads[0].moments;
        #[expect(clippy::cast_possible_truncation, reason = "a test")]
        let polled_ns = (moments.sum() * 4_000) as i64;
        recorded.document.threads[0].polling =
            Some(Polling { polled_ns, readings: 5, resolution_ns: Some(25) });
        let text = words(&recorded).remove(0).1;
        assert!(
            text.starts_with("0.0250 % of the ")
                && text.ends_with(" gaps. The loop sees nothing shorter than 25 ns"),
            "{text}"
        );
        // What is shorter is not noise that is not there.
        recorded.document.run.probe_settings.insert("threshold".to_owned(), "100ms".to_owned());
        let text = words(&recorded).remove(0).1;
        assert!(text.ends_with("than 25 ns. Only gaps above 100ms are recorded"), "{text}");
        recorded.document.threads[0].evidence.samples_lost = 1;
        let text = words(&recorded).remove(0).1;
        assert!(text.starts_with("at least 0.0250 % of"), "{text}");
    }

    #[test]
    fn shares_have_three_digits() {
        let shares = [0.0, 0.000_012_34, 0.012_34, 1.234, 12.34, 100.0].map(digits);
        assert_eq!(shares, ["0", "0.0000123", "0.0123", "1.23", "12.3", "100"]);
    }
}
