// SPDX-License-Identifier: MIT OR Apache-2.0
//! The differences of a comparison as a picture: each figure's ratio with its interval, on one
//! axis.

use super::Compared;
use crate::charts::plot::{SOFT, WIDTH};
use crate::charts::scale::Scale;
use crate::charts::svg::{Anchor, Svg, colour};
use crate::gate::change;
use crate::language::{texts, tr};

const LEFT: f64 = 120.0;
const RIGHT: f64 = 640.0;
const TOP: f64 = 24.0;
const LINE: f64 = 30.0;
/// Ratios beyond these are arrows at the edge.
const MAX_RATIO: f64 = 20.0;

struct Line {
    name: String,
    ratio: f64,
    lower: f64,
    /// None: without an end.
    upper: Option<f64>,
    significant: bool,
    words: String,
}

fn lines(compared: &Compared) -> Vec<Line> {
    let comparison = &compared.comparison;
    let quantiles = comparison.quantiles.iter().filter_map(|one| {
        let (lower, upper) = one.ratio.ok()?;
        Some(Line {
            name: compared.named(&one.level.to_string()),
            ratio: one.other_ns? as f64 / one.base_ns?.max(1) as f64,
            lower,
            upper: Some(upper),
            significant: one.is_significant(),
            words: change(lower, upper),
        })
    });
    let rate = comparison.rate.as_ref().map(|rate| {
        let share = |(beyond, of): (u64, u64)| (beyond as f64 + 0.5) / of.max(1) as f64;
        Line {
            name: compared.named(&format!(">{}", crate::format::latency(rate.limit_ns))),
            ratio: share(rate.other) / share(rate.base),
            lower: rate.lower,
            upper: rate.upper,
            significant: rate.is_significant(),
            words: super::words::how_often(rate),
        }
    });
    let spread = comparison.spread.as_ref().and_then(|spread| {
        let (lower, upper) = spread.ratio?;
        Some(Line {
            name: "sd".to_owned(),
            ratio: spread.other_sd_ns / spread.base_sd_ns,
            lower,
            upper: Some(upper),
            significant: spread.is_significant(),
            words: change(lower, upper),
        })
    });
    spread.into_iter().chain(quantiles).chain(rate).collect()
}

/// `27×`, `0.02×`.
fn times(ratio: f64) -> String {
    format!("{}×", crate::format::ratio(ratio))
}

/// None where nothing could be compared.
pub(super) fn draw(compared: &Compared) -> Option<String> {
    let lines = lines(compared);
    let ends =
        || lines.iter().flat_map(|line| [Some(line.ratio), Some(line.lower), line.upper]).flatten();
    let (low, high) = (
        ends().fold(0.9, f64::min).max(1.0 / MAX_RATIO),
        ends().fold(1.1, f64::max).min(MAX_RATIO),
    );
    let bottom = TOP + LINE * lines.len() as f64;
    if lines.is_empty() {
        return None;
    }
    let mut svg = Svg::new(WIDTH, bottom + 48.0, &tr!(differences), &compared.verdict());
    let x = Scale::log(low / 1.05, high * 1.05, LEFT, RIGHT);
    for tick in x.ticks(6) {
        svg.line((x.at(tick), TOP), (x.at(tick), bottom), "stroke=\"#e3e5e8\" fill=\"none\"");
        svg.text(
            x.at(tick),
            bottom + 18.0,
            Anchor::Middle,
            SOFT,
            &crate::charts::scale::tick_label(tick),
        );
    }
    svg.line((x.at(1.0), TOP - 8.0), (x.at(1.0), bottom), "stroke=\"#16191d\" fill=\"none\"");
    svg.text(
        x.at(1.0),
        TOP - 12.0,
        Anchor::Middle,
        &format!("{SOFT} font-size=\"11\""),
        texts::equal.said(),
    );
    let mut clipped = false;
    for (place, line) in lines.iter().enumerate() {
        let y = TOP + LINE * (place as f64 + 0.5);
        // Lower is blue, higher orange, and what is inconclusive is grey and hollow.
        let ink =
            if !line.significant { "#8a9099" } else { colour(usize::from(line.lower >= 1.0)) };
        let (from, to) = (x.at(line.lower), x.at(line.upper.unwrap_or(f64::MAX)));
        svg.text(LEFT - 12.0, y + 4.0, Anchor::End, "fill=\"#16191d\"", &line.name);
        svg.line((from, y), (to, y), &format!("stroke=\"{ink}\" stroke-width=\"3\" fill=\"none\""));
        // An end that lies beyond the axis has no mark there.
        let ends =
            [Some(line.lower).filter(|end| x.holds(*end)), line.upper.filter(|end| x.holds(*end))];
        for end in ends.into_iter().flatten().map(|end| x.at(end)) {
            svg.line(
                (end, y - 5.0),
                (end, y + 5.0),
                &format!("stroke=\"{ink}\" stroke-width=\"1.5\" fill=\"none\""),
            );
        }
        let fill = if line.significant { ink } else { "#ffffff" };
        let style = format!("fill=\"{fill}\" stroke=\"{ink}\" stroke-width=\"1.5\"");
        if x.holds(line.ratio) {
            svg.circle(x.at(line.ratio), y, 4.5, &style);
        } else {
            // An arrow that leaves the axis, and how far: its place says no more than on which
            // side.
            let (edge, inward, side) = if line.ratio > 1.0 {
                (RIGHT, -10.0, Anchor::End)
            } else {
                (LEFT, 10.0, Anchor::Start)
            };
            let arrow = [
                (edge + inward, y - 5.0),
                (edge, y),
                (edge + inward, y + 5.0),
                (edge + inward, y - 5.0),
            ];
            svg.path(&[arrow.to_vec()], &style);
            svg.text(
                edge + 1.6 * inward,
                y - 7.0,
                side,
                &format!("fill=\"{ink}\" font-size=\"11\""),
                &times(line.ratio),
            );
            clipped = true;
        }
        svg.text(
            RIGHT + 20.0,
            y + 4.0,
            Anchor::Start,
            if line.significant { "fill=\"#16191d\"" } else { SOFT },
            &line.words,
        );
    }
    svg.text(
        f64::midpoint(LEFT, RIGHT),
        bottom + 38.0,
        Anchor::Middle,
        SOFT,
        texts::second_over_first_logarithmic.said(),
    );
    if clipped {
        svg.text(
            RIGHT,
            bottom + 38.0,
            Anchor::End,
            SOFT,
            &format!("▸ {}", texts::beyond_the_axis.said()),
        );
    }
    Some(svg.finish())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::Texts;
    use crate::language::InEach;
    use crate::sections::time_kind::TimeKind;
    use stats::{Group, compare};

    fn drawn(ratios: &[i64]) -> String {
        let mut comparison = compare(&Group::default(), &Group::default());
        for (one, ratio) in comparison.quantiles.iter_mut().zip(ratios) {
            (one.base_ns, one.other_ns) = (Some(1_000), Some(1_000 * ratio));
            #[expect(clippy::cast_precision_loss)]
            let ratio = *ratio as f64;
            one.ratio = Ok((ratio * 0.9, ratio * 1.1));
        }
        let (base, other) = ("a".to_owned(), "b".to_owned());
        let texts = Texts { base, other, ..Texts::default() };
        draw(&Compared {
            comparison,
            time: TimeKind::Machine,
            quantity: model::Quantity::Latency,
            observed: [true; 2],
            max_between: [None; 2],
            texts: InEach::new(|| texts.clone()),
        })
        .unwrap()
    }

    #[test]
    fn what_lies_beyond_the_axis_is_shown_as_beyond_it() {
        let all = drawn(&[2, 27, 33]);
        assert_eq!(all.matches("<circle").count(), 1, "{all}");
        for part in [">27×<", ">33×<", "beyond the axis"] {
            assert!(all.contains(part), "{part} is not in {all}");
        }
        let within = drawn(&[2, 3]);
        assert!(
            within.matches("<circle").count() == 2 && !within.contains("beyond the axis"),
            "{within}"
        );
    }
}
