// SPDX-License-Identifier: MIT OR Apache-2.0
//! A small writer of SVG: as much as the charts need.

use crate::foreign_text::steers;
use std::fmt::Write as _;

/// Colours on white that most kinds of colour-blindness distinguish (Okabe and Ito, "Color
/// Universal Design", 2008; the light ones darkened for thin lines). Dashes distinguish the same
/// lines without any colour.
pub(crate) const COLOURS: [&str; 8] =
    ["#0072b2", "#d55e00", "#009e73", "#a8528a", "#b07d00", "#3a9bd1", "#6b5a00", "#444444"];
pub(crate) const DASHES: [&str; 4] = ["", "7 3", "2 2", "9 3 2 3"];

/// The colour of the n-th recording.
pub(crate) fn colour(place: usize) -> &'static str {
    COLOURS[place % COLOURS.len()]
}

/// The dash pattern of the n-th recording; empty for a solid line. Shifted by one when the colours
/// begin again.
pub(crate) fn dash(place: usize) -> &'static str {
    DASHES[(place + place / COLOURS.len()) % DASHES.len()]
}

/// A colour so far on the way from one to another, 0 to 1, all written as `#rrggbb`: as CSS mixes
/// them `in oklab`, where equal steps look equal (Björn Ottosson, "A perceptual color space for
/// image processing", 2020).
pub(crate) fn mixed(from: &str, to: &str, share: f64) -> String {
    /// Linear red, green and blue to the cones' response, and back.
    const TO_CONES: [[f64; 3]; 3] = [
        [0.412_221_470_8, 0.536_332_536_3, 0.051_445_992_9],
        [0.211_903_498_2, 0.680_699_545_1, 0.107_396_956_6],
        [0.088_302_461_9, 0.281_718_837_6, 0.629_978_700_5],
    ];
    const FROM_CONES: [[f64; 3]; 3] = [
        [4.076_741_662_1, -3.307_711_591_3, 0.230_969_929_2],
        [-1.268_438_004_6, 2.609_757_401_1, -0.341_319_396_5],
        [-0.004_196_086_3, -0.703_418_614_7, 1.707_614_701_0],
    ];
    let times = |by: [[f64; 3]; 3], of: [f64; 3]| {
        by.map(|row| row.iter().zip(of).map(|(a, b)| a * b).sum::<f64>())
    };
    let linear = |colour: &str| {
        [1, 3, 5].map(|at| {
            let byte =
                colour.get(at..at + 2).and_then(|digits| u8::from_str_radix(digits, 16).ok());
            let value = f64::from(byte.unwrap_or(0)) / 255.0;
            if value <= 0.040_45 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
        })
    };
    let [from, to] = [from, to].map(|colour| times(TO_CONES, linear(colour)).map(f64::cbrt));
    let cones: [f64; 3] =
        std::array::from_fn(|cone| (from[cone] + (to[cone] - from[cone]) * share).powi(3));
    let [r, g, b] = times(FROM_CONES, cones).map(|value| {
        let value = value.clamp(0.0, 1.0);
        let value = if value <= 0.003_130_8 {
            value * 12.92
        } else {
            1.055 * value.powf(1.0 / 2.4) - 0.055
        };
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to 255")]
        let byte = (value * 255.0).round() as u8;
        byte
    });
    format!("#{r:02x}{g:02x}{b:02x}")
}

/// Which end of a text lies at its point.
#[derive(Clone, Copy)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

/// A picture in the making.
pub(crate) struct Svg {
    body: String,
    pub(crate) width: f64,
    pub(crate) height: f64,
}

impl Svg {
    /// A picture with what it is called and what it shows, for those who cannot see it.
    pub(crate) fn new(width: f64, height: f64, title: &str, description: &str) -> Svg {
        // Whole pixels.
        let (height, mut body) = (height.trunc(), String::new());
        let _ = write!(
            body,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
             width=\"{width}\" height=\"{height}\" role=\"img\" font-family=\"system-ui, \
             -apple-system, 'Segoe UI', 'Helvetica Neue', Arial, sans-serif\" \
             font-size=\"12\">\n<title>{}</title>\n<desc>{}</desc>\n<rect width=\"{width}\" \
             height=\"{height}\" fill=\"#ffffff\"/>\n",
            escape(title),
            escape(description)
        );
        Svg { body, width, height }
    }

    pub(crate) fn text(&mut self, x: f64, y: f64, anchor: Anchor, attributes: &str, text: &str) {
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        let _ = writeln!(
            self.body,
            "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\" {attributes}>{}</text>",
            escape(text)
        );
    }

    pub(crate) fn line(&mut self, from: (f64, f64), to: (f64, f64), attributes: &str) {
        let _ = writeln!(
            self.body,
            "<path d=\"M{:.1} {:.1}L{:.1} {:.1}\" {attributes}/>",
            from.0, from.1, to.0, to.1
        );
    }

    /// Lines through points, each part on its own; a part of no points is left out.
    pub(crate) fn path(&mut self, parts: &[Vec<(f64, f64)>], attributes: &str) {
        let mut d = String::new();
        for part in parts {
            // Most lines are steps, and a step needs one coordinate.
            let mut last: Option<(String, String)> = None;
            for (x, y) in part {
                let (x, y) = (format!("{x:.1}"), format!("{y:.1}"));
                let _ = match &last {
                    None => write!(d, "M{x} {y}"),
                    Some((_, before)) if *before == y => write!(d, "H{x}"),
                    Some((before, _)) if *before == x => write!(d, "V{y}"),
                    Some(_) => write!(d, "L{x} {y}"),
                };
                last = Some((x, y));
            }
        }
        let _ = writeln!(self.body, "<path d=\"{d}\" {attributes}/>");
    }

    pub(crate) fn rect(&mut self, at: (f64, f64), size: (f64, f64), attributes: &str) {
        let ((x, y), (width, height)) = (at, size);
        let _ = writeln!(
            self.body,
            "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" \
             {attributes}/>"
        );
    }

    pub(crate) fn circle(&mut self, x: f64, y: f64, radius: f64, attributes: &str) {
        let _ = writeln!(
            self.body,
            "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius}\" {attributes}/>"
        );
    }

    pub(crate) fn finish(mut self) -> String {
        self.body.push_str("</svg>\n");
        self.body
    }
}

/// Text as XML and HTML want it.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            // XML knows no other control characters.
            c if c.is_control() && !matches!(c, '\n' | '\t') => out.push('\u{fffd}'),
            c if steers(c) => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As Chromium draws `color-mix(in oklab, #083c6e 22%, #e8f0f8)`.
    #[test]
    fn colours_are_mixed_as_a_browser_mixes_them() {
        let shades =
            [0.0, 0.22, 0.44, 0.66, 0.83, 1.0].map(|share| mixed("#e8f0f8", "#083c6e", share));
        assert_eq!(shades, ["#e8f0f8", "#b5c6d9", "#849ebb", "#55769d", "#315985", "#083c6e"]);
    }

    #[test]
    fn steps_take_one_coordinate() {
        let mut svg = Svg::new(10.0, 10.0, "", "");
        svg.path(
            &[
                vec![(0.0, 1.0), (2.0, 1.01), (2.0, 3.0), (4.0, 5.5)],
                vec![(4.0, 5.5), (4.0, 5.5)],
                vec![],
            ],
            "",
        );
        assert!(svg.finish().contains("d=\"M0.0 1.0H2.0V3.0L4.0 5.5M4.0 5.5H4.0\""));
    }

    #[test]
    fn text_stays_text() {
        let mut svg = Svg::new(10.0, 10.0, "a<b", "\"&\u{1}");
        svg.text(1.0, 2.0, Anchor::End, "", "</script><img onerror=x>");
        let written = svg.finish();
        assert!(
            written.contains("<title>a&lt;b</title>") && written.contains("&quot;&amp;\u{fffd}")
        );
        assert!(!written.contains("<img") && !written.contains("</script>"));
    }
}
