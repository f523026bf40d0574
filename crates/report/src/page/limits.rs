// SPDX-License-Identifier: MIT OR Apache-2.0
//! What became of limits, as a page shows it: the verdict of all, then each limit in each
//! recording.

use crate::gate::{Tally, sign, sources_in_words, tally};
use crate::language::{texts, tr};
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
    pub(crate) rows: Vec<Judged>,
    pub(crate) left_out: String,
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
        let mut rows = gate.judged.clone();
        rows.sort_by_key(|judged| std::cmp::Reverse(judged.verdict));
        let left_out = rows.len().saturating_sub(MAX_ROWS);
        rows.truncate(MAX_ROWS);
        Some(LimitsView {
            kind: kind(&verdict),
            sign: sign(verdict),
            headline,
            sources: sources_in_words(gate),
            rows,
            left_out: crate::page::left_out(left_out, |n| tr!(n_more_limits_not, n)),
        })
    }
}

/// `✓ pass`.
pub(crate) fn signed(verdict: &Verdict) -> String {
    let said = match verdict {
        Verdict::Pass => texts::pass,
        Verdict::Fail => texts::fail,
        Verdict::NotEnough => texts::not_enough_evidence,
    };
    format!("{} {}", sign(*verdict), said.said())
}

pub(crate) const fn kind(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Pass => "pass",
        Verdict::Fail => "fail",
        Verdict::NotEnough => "unsure",
    }
}
