// SPDX-License-Identifier: MIT OR Apache-2.0
//! A gate's verdict for people and for what runs builds: text, JSON, JUnit XML and TAP.

use super::words::{criterion, judged_in_words, lacking, seen};
use super::{GateReport, Tally, sources, tally};
use crate::format::counted;
use crate::language::{Language, in_language, texts, tr};
use crate::page::rendered;
use crate::phases;
use crate::terminal::text;
use askama::Template;
use askama::filters::Escaper;
use judge::{Gate, Judged, JudgedPool, Verdict};
use serde_json::{Value, json};
use std::fmt;
use std::path::Path;

impl GateReport {
    pub fn text(&self, language: Language) -> String {
        in_language(language, || {
            let Tally { all, fail, lack } = tally(&self.gate);
            let head = match self.gate.verdict() {
                Verdict::Pass => tr!(pass_all_heading, all),
                Verdict::Fail if lack > 0 => {
                    tr!(fail_n_all_lack, n = fail, all, lack)
                }
                Verdict::Fail => tr!(fail_n_all, n = fail, all),
                Verdict::NotEnough if lack == 0 => {
                    tr!(not_enough_evidence_runs, runs = runs_missing(&self.gate))
                }
                Verdict::NotEnough => tr!(not_enough_evidence_n_all, n = lack, all),
            };
            let head = match self.gate.missing {
                missing if missing > 0 && fail + lack > 0 => {
                    tr!(heading_and_runs_without, heading = head, runs = runs_missing(&self.gate))
                }
                _ => head,
            };
            let mut out = format!("{head}\n");
            sources::in_words(&self.gate)
                .iter()
                .for_each(|sentence| text::wrapped(&mut out, "", sentence));
            let mut recording = Path::new("");
            for judged in &self.gate.judged {
                if judged.recording != recording {
                    recording = &judged.recording;
                    text::unwrapped(
                        &mut out,
                        "",
                        &recording.display().to_string().replace('\n', ""),
                    );
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
        })
    }

    pub fn json(&self) -> Value {
        in_language(Language::English, || {
            let one = |judged: &Judged| {
                let lacking = judged
                    .lacking
                    .map(|what| lacking(what, judged.rows.into()).unwrap_or_else(|| seen(judged)));
                json!({
                    "limit": criterion(judged),
                    "from": sources::of(&self.gate, judged),
                    "recording": judged.recording.display().to_string(),
                    "verdict": judged.verdict.name(),
                    "seen": seen(judged),
                    "margin": judged.margin,
                    "lacking": lacking,
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
            let mut gate = json!({
                "verdict": self.gate.verdict().name(),
                "sources": sources, "caveats": caveats, "limits": limits,
            });
            let of_pool = |pool: &JudgedPool| {
                let maxima =
                    phases::maxima_json(&pool.maxima, |place| pool.recordings[place].as_path());
                json!({ "recording": pool.path.display().to_string(), "phases": maxima })
            };
            if self.gate.missing > 0 {
                gate["missing_runs"] = self.gate.missing.into();
            }
            if !self.gate.pools.is_empty() {
                gate["pools"] = self.gate.pools.iter().map(of_pool).collect();
            }
            gate
        })
    }

    /// As JUnit's XML, one test suite with a case for each limit, and one for runs without a
    /// recording. Not enough evidence is an error, not a failure.
    pub fn junit(&self) -> String {
        in_language(Language::English, || {
            let (sources, caveats) = (sources::in_words(&self.gate), self.caveats_named());
            rendered(&Junit { gate: &self.gate, sources, caveats })
        })
    }

    /// As TAP, version 13. Not enough evidence is not ok.
    pub fn tap(&self) -> String {
        in_language(Language::English, || {
            let (sources, caveats) = (sources::in_words(&self.gate), self.caveats_named());
            rendered(&Tap { gate: &self.gate, sources, caveats })
        })
    }

    fn caveats_named(&self) -> Vec<String> {
        let named = |(recording, caveat): &(String, String)| format!("{recording}: {caveat}");
        self.caveats.get().iter().map(named).collect()
    }
}

fn runs_missing(gate: &Gate) -> String {
    counted(gate.missing as u64, texts::n_runs)
}

/// What is said of runs without a recording; none where there are none.
fn missing_in_words(gate: &Gate) -> Option<String> {
    (gate.missing > 0).then(|| tr!(runs_without_a_recording, runs = runs_missing(gate)))
}

/// How many tests there are, that of missing runs among them.
fn tests(gate: &Gate) -> usize {
    gate.judged.len() + usize::from(gate.missing > 0)
}

#[derive(Template)]
#[template(path = "gate.xml")]
struct Junit<'g> {
    gate: &'g Gate,
    sources: Vec<String>,
    caveats: Vec<String>,
}

#[derive(Template)]
#[template(path = "gate.tap")]
struct Tap<'g> {
    gate: &'g Gate,
    sources: Vec<String>,
    caveats: Vec<String>,
}

impl Tap<'_> {
    fn name(&self, judged: &Judged) -> String {
        // Behind a hash there would be a directive.
        format!("{} in {}", criterion(judged), judged.recording.display()).replace('#', "\\#")
    }
}

/// What askama does to each expression of a template of XML: what it cannot hold becomes a space.
#[derive(Clone, Copy)]
pub(crate) struct InXml;

impl Escaper for InXml {
    fn write_escaped_str<W: fmt::Write>(&self, mut to: W, text: &str) -> fmt::Result {
        text.chars().try_for_each(|c| match c {
            '&' => to.write_str("&amp;"),
            '<' => to.write_str("&lt;"),
            '>' => to.write_str("&gt;"),
            '"' => to.write_str("&quot;"),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => to.write_char(' '),
            c => to.write_char(c),
        })
    }
}

/// The same where a line ends what it says.
#[derive(Clone, Copy)]
pub(crate) struct InLine;

impl Escaper for InLine {
    fn write_escaped_str<W: fmt::Write>(&self, mut to: W, text: &str) -> fmt::Result {
        to.write_str(&text.replace(char::is_control, " "))
    }
}
