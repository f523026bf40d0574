// SPDX-License-Identifier: MIT OR Apache-2.0
//! A gate's verdict for people and for what runs builds: text, JSON, JUnit XML and TAP.

use super::words::{criterion, judged_in_words, lacking, seen};
use super::{GateReport, Tally, sources, tally};
use crate::format::counted;
use crate::language::{Language, in_language, texts, tr};
use crate::phases;
use crate::terminal::text;
use judge::{Judged, JudgedPool, Verdict};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::path::Path;

impl GateReport {
    #[must_use]
    pub fn text(&self, language: Language) -> String {
        in_language(language, || self.in_text())
    }

    fn in_text(&self) -> String {
        let Tally { all, fail, lack } = tally(&self.gate);
        let head = match self.gate.verdict() {
            Verdict::Pass => tr!(pass_all_heading, all),
            Verdict::Fail if lack > 0 => {
                tr!(fail_n_all_lack, n = fail, all, lack)
            }
            Verdict::Fail => tr!(fail_n_all, n = fail, all),
            Verdict::NotEnough if lack == 0 => {
                tr!(
                    not_enough_evidence_runs,
                    runs = counted(self.gate.missing as u64, texts::n_runs)
                )
            }
            Verdict::NotEnough => tr!(not_enough_evidence_n_all, n = lack, all),
        };
        let mut out = format!("{head}\n");
        sources::in_words(&self.gate)
            .iter()
            .for_each(|sentence| text::wrapped(&mut out, "", sentence));
        let mut recording = Path::new("");
        for judged in &self.gate.judged {
            if judged.recording != recording {
                recording = &judged.recording;
                text::unwrapped(&mut out, "", &recording.display().to_string().replace('\n', ""));
                for caveat in self.caveats_of(recording) {
                    text::wrapped(&mut out, "  ", &tr!(caution_caveat, caveat));
                }
                for pool in self.gate.pools.iter().filter(|pool| pool.path == recording) {
                    if let Some((sentence, again)) =
                        phases::worst_and_again(&pool.maxima, &pool.recordings)
                    {
                        text::wrapped(&mut out, "  ", &sentence);
                        text::unwrapped(&mut out, "  ", &again);
                    }
                }
            }
            let mark = match judged.verdict {
                Verdict::Pass => "pass",
                Verdict::Fail => "FAIL",
                Verdict::NotEnough => "????",
            };
            text::unwrapped(&mut out, &format!("  {mark}  "), &criterion(judged));
            text::wrapped(&mut out, "        ", &judged_in_words(judged));
        }
        out
    }

    #[must_use]
    pub fn json(&self) -> Value {
        in_language(Language::English, || self.in_json())
    }

    fn in_json(&self) -> Value {
        let one = |judged: &Judged| {
            json!({
                "limit": criterion(judged),
                "from": sources::of(&self.gate, judged),
                "recording": judged.recording.display().to_string(),
                "verdict": judged.verdict.name(),
                "seen": seen(judged),
                "margin": judged.margin,
                "lacking": judged.lacking.map(|what| lacking(what, judged.rows.into()).unwrap_or_else(|| seen(judged))),
            })
        };
        let caveats: Vec<Value> = self
            .caveats
            .get()
            .iter()
            .map(|(recording, caveat)| json!({ "recording": recording, "caveat": caveat }))
            .collect();
        let limits: Vec<Value> = self.gate.judged.iter().map(one).collect();
        let sources = sources::in_words(&self.gate);
        let mut gate = json!({ "verdict": self.gate.verdict().name(), "sources": sources, "caveats": caveats, "limits": limits });
        let of_pool = |pool: &JudgedPool| {
            let maxima =
                phases::maxima_json(&pool.maxima, |place| pool.recordings[place].as_path());
            json!({ "recording": pool.path.display().to_string(), "phases": maxima })
        };
        if !self.gate.pools.is_empty() {
            gate["pools"] = self.gate.pools.iter().map(of_pool).collect();
        }
        gate
    }

    /// As JUnit's XML, one test suite with a case for each limit. Not enough evidence is an error,
    /// not a failure.
    #[must_use]
    pub fn junit(&self) -> String {
        in_language(Language::English, || self.in_junit())
    }

    fn in_junit(&self) -> String {
        let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
        let _ = writeln!(
            out,
            "<testsuites>\n  <testsuite name=\"teiji gate\" tests=\"{}\" failures=\"{}\" \
             errors=\"{}\">",
            self.gate.judged.len(),
            self.gate.count(Verdict::Fail),
            self.gate.count(Verdict::NotEnough)
        );
        for judged in &self.gate.judged {
            let (name, class, words) = (
                escaped(&criterion(judged)),
                escaped(&judged.recording.display().to_string()),
                escaped(&judged_in_words(judged)),
            );
            let _ = write!(out, "    <testcase name=\"{name}\" classname=\"{class}\">");
            let _ = match judged.verdict {
                Verdict::Pass => write!(out, "<system-out>{words}</system-out>"),
                Verdict::Fail => write!(out, "<failure message=\"{words}\"/>"),
                Verdict::NotEnough => {
                    write!(out, "<error message=\"not enough evidence: {words}\"/>")
                }
            };
            out.push_str("</testcase>\n");
        }
        let caveats: Vec<String> = self
            .caveats
            .get()
            .iter()
            .map(|(recording, caveat)| format!("{recording}: {caveat}"))
            .collect();
        let sources = sources::in_words(&self.gate);
        if !sources.is_empty() {
            let _ = writeln!(out, "    <system-out>{}</system-out>", escaped(&sources.join(" ")));
        }
        if !caveats.is_empty() {
            let _ = writeln!(out, "    <system-err>{}</system-err>", escaped(&caveats.join("; ")));
        }
        out.push_str("  </testsuite>\n</testsuites>\n");
        out
    }

    /// As TAP, version 13. Not enough evidence is not ok.
    #[must_use]
    pub fn tap(&self) -> String {
        in_language(Language::English, || self.in_tap())
    }

    fn in_tap(&self) -> String {
        let mut out = format!("TAP version 13\n1..{}\n", self.gate.judged.len());
        for sentence in sources::in_words(&self.gate) {
            let _ = writeln!(out, "# {}", sentence.replace(char::is_control, " "));
        }
        for (recording, caveat) in self.caveats.get() {
            let _ = writeln!(
                out,
                "# caution: {}",
                format!("{recording}: {caveat}").replace(char::is_control, " ")
            );
        }
        for (number, judged) in (1..).zip(&self.gate.judged) {
            let ok = if judged.verdict == Verdict::Pass { "ok" } else { "not ok" };
            let name = format!("{} in {}", criterion(judged), judged.recording.display())
                .replace('#', "\\#")
                .replace(char::is_control, " ");
            let _ = writeln!(out, "{ok} {number} - {name}");
            let lead =
                if judged.verdict == Verdict::NotEnough { "not enough evidence: " } else { "" };
            let _ =
                writeln!(out, "# {lead}{}", judged_in_words(judged).replace(char::is_control, " "));
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
