// SPDX-License-Identifier: MIT OR Apache-2.0
//! What became of limits, as a page shows it: the verdict of all, then each limit in each
//! recording.

use crate::gate::{Tally, criterion, judged_in_words, sign, sources_in_words, tally};
use crate::language::{texts, tr, translated};
use judge::{Gate, Judged, Verdict};

/// Limits that are listed; those that fail come first.
const MAX_ROWS: usize = 200;

/// Of a page that was asked to hold limits against its recordings.
pub(crate) struct LimitsView {
    /// `pass`, `fail` or `unsure`.
    pub(crate) kind: &'static str,
    pub(crate) sign: &'static str,
    pub(crate) headline: String,
    /// Where the limits come from.
    pub(crate) sources: Vec<String>,
    pub(crate) rows: Vec<LimitRow>,
    pub(crate) left_out: String,
}

/// One limit in one recording.
pub(crate) struct LimitRow {
    pub(crate) kind: &'static str,
    pub(crate) sign: &'static str,
    pub(crate) verdict: &'static str,
    pub(crate) limit: String,
    pub(crate) recording: String,
    pub(crate) words: String,
}

impl LimitsView {
    /// None where nothing was held against the recordings.
    pub(crate) fn from_gate(gate: &Gate) -> Option<LimitsView> {
        if gate.judged.is_empty() {
            return None;
        }
        let verdict = gate.verdict();
        let Tally { all, fail, lack } = tally(gate);
        let headline = match verdict {
            Verdict::Pass => tr!(pass_all, all),
            Verdict::Fail => tr!(fail_n_of_all, n = fail, all),
            Verdict::NotEnough => tr!(not_enough_evidence_n, n = lack, all),
        };
        let mut judged: Vec<&Judged> = gate.judged.iter().collect();
        judged.sort_by_key(|judged| std::cmp::Reverse(judged.verdict));
        let left_out = judged.len().saturating_sub(MAX_ROWS);
        Some(LimitsView {
            kind: kind(verdict),
            sign: sign(verdict),
            headline,
            sources: sources_in_words(gate),
            rows: judged.into_iter().take(MAX_ROWS).map(row).collect(),
            left_out: crate::page::left_out(left_out, |n| tr!(n_more_limits_not, n)),
        })
    }
}

fn row(judged: &Judged) -> LimitRow {
    LimitRow {
        kind: kind(judged.verdict),
        sign: sign(judged.verdict),
        verdict: translated(match judged.verdict {
            Verdict::Pass => texts::pass,
            Verdict::Fail => texts::fail,
            Verdict::NotEnough => texts::not_enough_evidence,
        }),
        limit: criterion(judged),
        recording: judged.recording.display().to_string(),
        words: judged_in_words(judged),
    }
}

const fn kind(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Pass => "pass",
        Verdict::Fail => "fail",
        Verdict::NotEnough => "unsure",
    }
}
