// SPDX-License-Identifier: MIT OR Apache-2.0
//! How long a run must be to claim a rate, in words: with what the claim rests on.

use crate::format;
use crate::terminal::text;

/// See [`crate::plan_length`].
pub(crate) fn plan_length(samples: u64, rate: f64, confidence: f64, lasting: &str) -> String {
    let percent = format!("{:.4}", confidence * 100.0);
    let percent = percent.trim_end_matches('0').trim_end_matches('.');
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a positive number, saturating")]
    let one_in = (1.0 / rate).round() as u64;
    let said = format!(
        "{} without an exceedance establish at {percent} % confidence a rate below 1 in {}, if they are independent.",
        format::counted(samples, "activation"),
        format::count(one_in)
    );
    let mut out = String::new();
    for text in [&said, lasting, "Latencies come in bursts and machines change, so this is the minimum."] {
        text::wrapped(&mut out, "", text);
    }
    out
}
