// SPDX-License-Identifier: MIT OR Apache-2.0
//! The functions of a latency as a picture: time across, the parts on top, below them the task and each function below what called it.

use super::words::{account_title, kind_name, sentence};
use crate::charts::SOFT;
use crate::charts::svg::{Anchor, Svg};
use crate::format::{clip, exact_micros};
use crate::language::{tr, translated};
use model::{Account, PartKind, Span};

const WIDTH: f64 = 960.0;
const MARGIN: f64 = 16.0;
const ROW: f64 = 16.0;
const PARTS: f64 = 22.0;
const LETTER: f64 = 6.1;
/// Spans that are drawn: the longest.
const MAX_SPANS: usize = 1_500;
/// Rows that are drawn.
const MAX_ROWS: u32 = 48;
const INK: &str = "fill=\"#16191d\"";

/// The colour of a kind, on which dark letters can be read.
const fn colour(kind: PartKind) -> &'static str {
    match kind {
        PartKind::InterruptsOff => "#f2a07b",
        PartKind::OtherCpu => "#e5a3a3",
        PartKind::PreemptionOff => "#f3c98b",
        PartKind::OtherThread => "#e3b7d3",
        PartKind::HardInterrupt => "#9cc7e8",
        PartKind::Softirq => "#c3dcef",
        PartKind::Scheduling | PartKind::Switch => "#a8d9c5",
        PartKind::Return | PartKind::Thread => "#d3e8a8",
        PartKind::Idle | PartKind::LeavingIdle | PartKind::TimerPending => "#dfe2e6",
        PartKind::Unattributed => "#ffffff",
    }
}

pub(crate) fn timeline(account: &Account) -> String {
    let drawn = account.timeline.longest(MAX_SPANS);
    let rows = drawn.spans.iter().map(|span| span.depth + 1).max().unwrap_or(0).min(MAX_ROWS);
    let top = 76.0;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "some thousand pixels at most")]
    let height = (top + PARTS + ROW * f64::from(rows) + 30.0) as u32;
    let mut svg = Svg::new(960, height, &account_title(account), &sentence(account));
    let wide = WIDTH - 2.0 * MARGIN;
    #[expect(clippy::cast_precision_loss, reason = "a latency has fewer than 2^53 ns")]
    let x = |ns: u64| MARGIN + wide * ns as f64 / account.latency_ns.max(1) as f64;
    svg.text(
        MARGIN,
        24.0,
        Anchor::Start,
        &format!("class=\"title\" font-size=\"15\" font-weight=\"600\" {INK}"),
        &account_title(account),
    );
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "pixels")]
    let letters = |width: f64, letter: f64| (width / letter) as usize;
    svg.text(MARGIN, 44.0, Anchor::Start, SOFT, &clip(&sentence(account), letters(wide, 6.4)));
    for part in 0..=4_u64 {
        let ns = account.latency_ns * part / 4;
        let anchor = [Anchor::Start, Anchor::Middle, Anchor::Middle, Anchor::Middle, Anchor::End];
        let label = if part == 0 { tr!("planned time") } else { tr!("{time} µs", time = exact_micros(ns.cast_signed())) };
        svg.text(x(ns), top - 8.0, anchor[usize::try_from(part).unwrap_or(0)], SOFT, &label);
    }
    let cell = |svg: &mut Svg, (begin, length): (u64, u64), y: f64, high: f64, fill: &str, text: &str| {
        let (left, width) = (x(begin), x(begin + length) - x(begin));
        // A line of the ground between neighbours, where there is space for it.
        let gap = if width > 2.0 { 0.5 } else { 0.0 };
        svg.rect((left, y), ((width - gap).max(0.2), high - 1.0), &format!("fill=\"{fill}\""));
        if width > 4.0 * LETTER {
            let text = clip(text, letters(width - 4.0, LETTER));
            svg.text(left + 3.0, y + high - 5.0, Anchor::Start, &format!("font-size=\"10\" {INK}"), &text);
        }
    };
    for part in &account.parts {
        cell(&mut svg, (part.begin_ns, part.length_ns), top, PARTS, colour(part.kind), kind_name(part.kind));
    }
    let kind_at = |span: &Span| {
        let middle = span.begin_ns + span.length_ns / 2;
        let part = account.parts.iter().rfind(|part| part.begin_ns <= middle);
        part.map_or(PartKind::Unattributed, |part| part.kind)
    };
    for span in drawn.spans.iter().filter(|span| span.depth < rows) {
        let y = top + PARTS + ROW * f64::from(span.depth);
        let fill = if span.depth == 0 { "#eceef1" } else { colour(kind_at(span)) };
        cell(&mut svg, (span.begin_ns, span.length_ns), y, ROW, fill, drawn.name(span));
    }
    let below = top + PARTS + ROW * f64::from(rows) + 18.0;
    let how = translated("Each function below what called it; as wide as it ran. What is too short to be seen is left out.");
    svg.text(MARGIN, below, Anchor::Start, SOFT, how);
    svg.finish()
}
