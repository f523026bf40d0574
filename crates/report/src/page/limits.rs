// SPDX-License-Identifier: MIT OR Apache-2.0
//! What became of limits, as a page shows it: the verdict of all, then each limit in each
//! recording.

use crate::format::counted;
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
        let rows = gate.judged.clone();
        let sources = sources_in_words(gate);
        LimitsView::new(gate.verdict(), &tally(gate), gate.missing as u64, rows, sources)
    }

    /// Of what was judged, and how many runs there are that have no recording; none of nothing.
    pub(crate) fn new(
        verdict: Verdict,
        Tally { all, fail, lack }: &Tally,
        missing: u64,
        mut rows: Vec<Judged>,
        sources: Vec<String>,
    ) -> Option<LimitsView> {
        if rows.is_empty() {
            return None;
        }
        let headline = match verdict {
            Verdict::Pass => tr!(pass_all, all),
            Verdict::Fail => tr!(fail_n_of_all, n = fail, all),
            Verdict::NotEnough if *lack == 0 => {
                tr!(not_enough_evidence_without, runs = counted(missing, texts::n_runs))
            }
            Verdict::NotEnough => tr!(not_enough_evidence_n, n = lack, all),
        };
        rows.sort_by_key(|judged| std::cmp::Reverse(judged.verdict));
        let left_out = rows.len().saturating_sub(MAX_ROWS);
        rows.truncate(MAX_ROWS);
        Some(LimitsView {
            kind: kind(&verdict),
            sign: sign(verdict),
            headline,
            sources,
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
