// SPDX-License-Identifier: MIT OR Apache-2.0
//! The functions of a latency as a picture: time across, the parts on top, below them the task and
//! each function below what called it.

use super::words::{account_title, kind_name, sentence};
use crate::alike::each_once;
use crate::charts::plot::{SOFT, WIDTH, legend_rows};
use crate::charts::svg::{Anchor, Svg};
use crate::format::{clip, exact_micros};
use crate::language::{texts, tr};
use model::{Account, PartKind, Span};

const MARGIN: f64 = 16.0;
const ROW: f64 = 16.0;
const PARTS: f64 = 22.0;
const LETTER: f64 = 6.1;
const LEGEND: f64 = 16.0;
/// Spans that are drawn: the longest.
const MAX_SPANS: usize = 1_500;
const MAX_ROWS: u32 = 48;
const INK: &str = "fill=\"#16191d\"";

/// The colour of a kind, on which dark letters can be read.
const fn colour(kind: PartKind) -> &'static str {
    match kind {
        PartKind::InterruptsOff => "#f2a07b",
        PartKind::OtherCpu => "#e5a3a3",
        PartKind::PreemptionOff => "#f3c98b",
        PartKind::OtherThread => "#e3b7d3",
        PartKind::Hypervisor | PartKind::Stopped | PartKind::Blocked => "#cfc3ea",
        PartKind::HardInterrupt => "#9cc7e8",
        PartKind::Softirq => "#c3dcef",
        PartKind::Scheduling | PartKind::Switch => "#a8d9c5",
        PartKind::Return | PartKind::Thread | PartKind::Busy => "#d3e8a8",
        PartKind::Idle | PartKind::LeavingIdle | PartKind::TimerPending => "#dfe2e6",
        PartKind::Unattributed => "#ffffff",
    }
}

/// Where it is said which latency it is, and why.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Heading {
    Own,
    /// On the page that the picture is on.
    Page,
}

pub(crate) fn timeline(account: &Account, heading: Heading) -> String {
    let drawn = account.timeline.longest(MAX_SPANS);
    let rows = drawn.spans.iter().map(|span| span.depth + 1).max().unwrap_or(0).min(MAX_ROWS);
    let top = if heading == Heading::Own { 76.0 } else { 24.0 };
    let wide = WIDTH - 2.0 * MARGIN;
    let kinds = each_once(account.parts.iter().map(|part| part.kind));
    let names: Vec<String> =
        kinds.iter().map(|kind| kind_name(*kind, account.is_from_events()).to_owned()).collect();
    let legend = legend_rows(&names, wide);
    let below = top + PARTS + ROW * f64::from(rows);
    let height = below + 30.0 + LEGEND * legend.len() as f64;
    let mut svg = Svg::new(WIDTH, height, &account_title(account), &sentence(account));
    let x = |ns: u64| MARGIN + wide * ns as f64 / account.latency_ns.max(1) as f64;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "pixels")]
    let letters = |width: f64, letter: f64| (width / letter) as usize;
    if heading == Heading::Own {
        svg.text(
            MARGIN,
            24.0,
            Anchor::Start,
            &format!("font-size=\"15\" font-weight=\"600\" {INK}"),
            &account_title(account),
        );
        svg.text(MARGIN, 44.0, Anchor::Start, SOFT, &clip(&sentence(account), letters(wide, 6.4)));
    }
    for part in 0..=4_u64 {
        let ns = account.latency_ns * part / 4;
        let anchor = [Anchor::Start, Anchor::Middle, Anchor::Middle, Anchor::Middle, Anchor::End];
        let label = if part == 0 {
            tr!(planned_time)
        } else {
            tr!(time_us, time = exact_micros(ns.cast_signed()))
        };
        svg.text(x(ns), top - 8.0, anchor[usize::try_from(part).unwrap_or(0)], SOFT, &label);
    }
    let cell = |svg: &mut Svg, bands: &[Band], y: f64, high: f64, text: &str| {
        let (Some(first), Some(last)) = (bands.first(), bands.last()) else { return };
        for band in bands {
            let (left, width) = (x(band.begin), x(band.end) - x(band.begin));
            // A line of the ground between neighbours, where there is space for it.
            let gap = if band.end == last.end && width > 2.0 { 0.5 } else { 0.0 };
            svg.rect(
                (left, y),
                ((width - gap).max(0.2), high - 1.0),
                &format!("fill=\"{}\"", band.fill),
            );
        }
        let (left, width) = (x(first.begin), x(last.end) - x(first.begin));
        if width > 4.0 * LETTER {
            let text = clip(text, letters(width - 4.0, LETTER));
            svg.text(
                left + 3.0,
                y + high - 5.0,
                Anchor::Start,
                &format!("font-size=\"10\" {INK}"),
                &text,
            );
        }
    };
    for part in &account.parts {
        let band = Band {
            begin: part.begin_ns,
            end: part.begin_ns + part.length_ns,
            fill: colour(part.kind),
        };
        cell(&mut svg, &[band], top, PARTS, kind_name(part.kind, part.evidence.is_some()));
    }
    for span in drawn.spans.iter().filter(|span| span.depth < rows) {
        let y = top + PARTS + ROW * f64::from(span.depth);
        let bands = if span.depth == 0 {
            vec![Band {
                begin: span.begin_ns,
                end: span.begin_ns + span.length_ns,
                fill: "#eceef1",
            }]
        } else {
            // What cannot be seen has the colour of its neighbour.
            bands(account, span, account.latency_ns / 2_000)
        };
        cell(&mut svg, &bands, y, ROW, drawn.name(span));
    }
    let how = if account.is_from_events() {
        texts::interrupts_below_threads.said()
    } else {
        texts::each_function_below_what.said()
    };
    svg.text(MARGIN, below + 18.0, Anchor::Start, SOFT, how);
    for (line, row) in (1..).zip(&legend) {
        let y = below + 18.0 + LEGEND * f64::from(line);
        for (left, kind, name) in row {
            let left = left + MARGIN;
            svg.rect(
                (left, y - 9.0),
                (10.0, 10.0),
                &format!(
                    "fill=\"{}\" stroke=\"#b9bec5\" stroke-width=\"0.5\"",
                    colour(kinds[*kind])
                ),
            );
            svg.text(left + 15.0, y, Anchor::Start, SOFT, name);
        }
    }
    svg.finish()
}

/// A piece of one colour, ns from the planned time.
#[derive(Debug, PartialEq, Eq)]
struct Band {
    begin: u64,
    end: u64,
    fill: &'static str,
}

/// What a function was part of while it ran, as colours; those of less than `least` ns are the
/// band's before them.
fn bands(account: &Account, span: &Span, least: u64) -> Vec<Band> {
    let (begin, end) = (span.begin_ns, span.begin_ns + span.length_ns);
    let mut bands: Vec<Band> = Vec::new();
    for part in &account.parts {
        let (from, to) = (part.begin_ns.max(begin), (part.begin_ns + part.length_ns).min(end));
        let fill = colour(part.kind);
        match bands.last_mut() {
            _ if from >= to => {}
            Some(last) if last.fill == fill || to - from < least => last.end = to,
            _ => bands.push(Band { begin: from, end: to, fill }),
        }
    }
    bands
}
