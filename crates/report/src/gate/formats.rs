// SPDX-License-Identifier: MIT OR Apache-2.0
//! A gate's verdict for people and for what runs builds: text, JSON, JUnit XML and TAP.

use super::{Gate, Judged, Verdict};
use crate::format;
use crate::text;
use serde_json::{Value, json};
use std::fmt::Write as _;

impl Judged {
    /// `16.6 % below the limit`.
    fn margin_in_words(&self) -> Option<String> {
        let margin = self.margin?;
        let percent = (margin.abs() * 100.0 * 10.0).round() / 10.0;
        // At 10 times the limit a percentage helps nobody.
        let size = if percent >= 1_000.0 { format!("{:.0} times", margin.abs() + 1.0) } else { format!("{percent} %") };
        Some(if margin >= 0.0 {
            format!("{percent} % below the limit")
        } else if percent >= 1_000.0 {
            format!("{size} the limit")
        } else {
            format!("{size} beyond the limit")
        })
    }

    /// What was seen, how far off the limit, and what is lacking.
    pub(crate) fn in_words(&self) -> String {
        let parts = [Some(self.seen.clone()).filter(|seen| !seen.is_empty()), self.margin_in_words(), self.lacking.clone()];
        let mut said: Vec<String> = Vec::new();
        for part in parts.into_iter().flatten() {
            if !said.contains(&part) {
                said.push(part);
            }
        }
        said.join("; ")
    }
}

impl Gate {
    /// For a terminal.
    #[must_use]
    pub fn text(&self) -> String {
        let count = |verdict| self.judged.iter().filter(|judged| judged.verdict == verdict).count() as u64;
        let (fails, lacks) = (count(Verdict::Fail), count(Verdict::NotEnough));
        let of = format::counted(self.judged.len() as u64, "limit");
        let head = match self.verdict() {
            Verdict::Pass => format!("PASS: {of}"),
            Verdict::Fail if lacks > 0 => format!("FAIL: {fails} of {of}; {lacks} without enough evidence"),
            Verdict::Fail => format!("FAIL: {fails} of {of}"),
            Verdict::NotEnough => format!("NOT ENOUGH EVIDENCE: {lacks} of {of}"),
        };
        let mut out = format!("{head}\n");
        let mut recording = "";
        for judged in &self.judged {
            if judged.recording != recording {
                recording = &judged.recording;
                text::unwrapped(&mut out, "", &format!("\n{recording}").replace('\n', ""));
                for (_, caveat) in self.caveats.iter().filter(|(of, _)| of == recording) {
                    text::wrapped(&mut out, "  ", &format!("Caution: {caveat}."));
                }
            }
            let mark = match judged.verdict {
                Verdict::Pass => "pass",
                Verdict::Fail => "FAIL",
                Verdict::NotEnough => "????",
            };
            text::unwrapped(&mut out, &format!("  {mark}  "), &judged.limit);
            text::wrapped(&mut out, "        ", &judged.in_words());
        }
        out
    }

    /// For programs.
    #[must_use]
    pub fn json(&self) -> Value {
        let one = |judged: &Judged| {
            json!({
                "limit": judged.limit,
                "recording": judged.recording,
                "verdict": judged.verdict.name(),
                "seen": judged.seen,
                "margin": judged.margin,
                "lacking": judged.lacking,
            })
        };
        let caveats: Vec<Value> =
            self.caveats.iter().map(|(recording, caveat)| json!({ "recording": recording, "caveat": caveat })).collect();
        json!({ "verdict": self.verdict().name(), "caveats": caveats, "limits": self.judged.iter().map(one).collect::<Vec<_>>() })
    }

    /// As JUnit's XML, one test suite with a case for each limit. Not enough evidence is an error, not a failure.
    #[must_use]
    pub fn junit(&self) -> String {
        let count = |verdict| self.judged.iter().filter(|judged| judged.verdict == verdict).count();
        let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
        let _ = writeln!(
            out,
            "<testsuites>\n  <testsuite name=\"teiji gate\" tests=\"{}\" failures=\"{}\" errors=\"{}\">",
            self.judged.len(),
            count(Verdict::Fail),
            count(Verdict::NotEnough)
        );
        for judged in &self.judged {
            let (name, class, words) = (escaped(&judged.limit), escaped(&judged.recording), escaped(&judged.in_words()));
            let _ = write!(out, "    <testcase name=\"{name}\" classname=\"{class}\">");
            let _ = match judged.verdict {
                Verdict::Pass => write!(out, "<system-out>{words}</system-out>"),
                Verdict::Fail => write!(out, "<failure message=\"{words}\"/>"),
                Verdict::NotEnough => write!(out, "<error message=\"not enough evidence: {words}\"/>"),
            };
            out.push_str("</testcase>\n");
        }
        let caveats: Vec<String> = self.caveats.iter().map(|(recording, caveat)| format!("{recording}: {caveat}")).collect();
        if !caveats.is_empty() {
            let _ = writeln!(out, "    <system-err>{}</system-err>", escaped(&caveats.join("; ")));
        }
        out.push_str("  </testsuite>\n</testsuites>\n");
        out
    }

    /// As TAP, version 13. Not enough evidence is not ok.
    #[must_use]
    pub fn tap(&self) -> String {
        let mut out = format!("TAP version 13\n1..{}\n", self.judged.len());
        for (recording, caveat) in &self.caveats {
            let _ = writeln!(out, "# caution: {}", format!("{recording}: {caveat}").replace(char::is_control, " "));
        }
        for (number, judged) in (1..).zip(&self.judged) {
            let ok = if judged.verdict == Verdict::Pass { "ok" } else { "not ok" };
            let name = format!("{} in {}", judged.limit, judged.recording).replace('#', "\\#").replace(char::is_control, " ");
            let _ = writeln!(out, "{ok} {number} - {name}");
            let lead = if judged.verdict == Verdict::NotEnough { "not enough evidence: " } else { "" };
            let _ = writeln!(out, "# {lead}{}", judged.in_words().replace(char::is_control, " "));
        }
        out
    }
}

/// Text within XML. What XML cannot hold becomes a space.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => out.push(' '),
            c => out.push(c),
        }
    }
    out
}
