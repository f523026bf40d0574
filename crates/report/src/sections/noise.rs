// SPDX-License-Identifier: MIT OR Apache-2.0
//! How much of its time a polling loop lost to others: its gaps as a share of the time it polled.

use crate::format::{self, counted};
use crate::language::{texts, tr};
use crate::overview::Overview;
use model::FairServer;
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
    let mut text = if overview.totals.activations.lost() > Some(0) {
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
    text += &of_fair_server(overview).unwrap_or_default();
    Some(text)
}

/// Gaps that are as long as a turn of the kernel's fair server, which no recording knows to have
/// had one.
fn of_fair_server(overview: &Overview<'_>) -> Option<String> {
    /// From its turn to so much more, in which another thread had the CPU too: one of 50 ms showed
    /// as a gap of 50 to 56 ms.
    const LONGER: i64 = 5;
    let host = &overview.document().host.before;
    let FairServer { runtime_ns: turn, period_ns } = FairServer::DEFAULT;
    host.kernel.as_deref().filter(|release| FairServer::is_in(release))?;
    let longest = turn + turn / LONGER;
    let buckets = overview.totals.histogram.buckets();
    let gaps = buckets.filter(|bucket| bucket.upper >= turn && bucket.lower <= longest);
    let n = gaps.map(|bucket| bucket.count).fold(0, u64::saturating_add);
    let is_real_time = overview.document().scheduling().policy.is_real_time();
    (n > 0 && is_real_time).then(|| {
        let [turn, longest, period] = [turn, longest, period_ns].map(|ns| ns / 1_000_000);
        let gaps = counted(n, texts::n_gaps);
        tr!(gaps_of_fair_server, gaps, turn, longest, period)
    })
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
        crate::synthetic::lose_samples(&mut recorded.document.threads[0], 1);
        let text = words(&recorded).remove(0).1;
        assert!(text.starts_with("at least 0.0250 % of"), "{text}");
    }

    /// With throttling switched off, as was advised, they were noise like any other.
    #[test]
    fn gaps_as_long_as_a_turn_of_the_fair_server_are_named() {
        let said = |release: &str| {
            let gaps = [7_000, 50_600_000];
            let mut recorded = Synthetic::idle().threads(1).samples(&gaps).build();
            recorded.document.threads[0].polling =
                Some(Polling { polled_ns: 1_000_000_000, readings: 5, resolution_ns: None });
            recorded.document.host.before.kernel = Some(release.to_owned());
            of_each(&Overview::all(std::slice::from_ref(&recorded))).remove(0).1
        };
        let expected = ". Of 50 to 60 ms: 1 gap, as long as a turn of this kernel's fair server \
                        (50 ms of each 1000 ms, unless it was set)";
        assert!(said("6.12.90-rt").ends_with(expected), "{}", said("6.12.90-rt"));
        assert!(said("6.1.0-56-rt-amd64").ends_with("in 2 gaps"), "{}", said("6.1.0-56-rt-amd64"));
    }

    #[test]
    fn shares_have_three_digits() {
        let shares = [0.0, 0.000_012_34, 0.012_34, 1.234, 12.34, 100.0].map(digits);
        assert_eq!(shares, ["0", "0.0000123", "0.0123", "1.23", "12.3", "100"]);
    }
}
