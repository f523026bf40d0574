// SPDX-License-Identifier: MIT OR Apache-2.0
//! A comparison for people and for programs: text, Markdown and JSON.

use super::{Compared, Comparisons, Repeats};
use crate::format;
use crate::language::{Language, in_language, texts, tr};
use crate::page::localised::markdown;
use crate::page::rendered;
use crate::paint::Paint;
use crate::terminal::text;
use askama::Template;
use serde_json::{Value, json};
use stats::{Comparison, MaximumDifference, QuantileDifference, RateDifference, SpreadDifference};
use std::fmt::Write as _;

impl Compared {
    /// The figures with what they show.
    fn table_in_text(&self, out: &mut String) {
        let rows = self.rows();
        let head = ["µs", texts::first.said(), texts::second.said()].map(str::to_owned).to_vec();
        let figures = rows
            .iter()
            .map(|[name, base, other, _]| [name, base, other].map(String::clone).to_vec());
        let lines: Vec<Vec<String>> = std::iter::once(head).chain(figures).collect();
        let rendered = text::aligned(&lines, 1);
        let verdicts = std::iter::once("").chain(rows.iter().map(|[.., verdict]| verdict.as_str()));
        for (line, verdict) in rendered.lines().zip(verdicts) {
            let lead = format!("{}  ", text::left(line, text::aligned_width(&lines)));
            let mut wrapped = String::new();
            text::wrapped(&mut wrapped, &" ".repeat(text::columns(&lead)), verdict);
            let rest = wrapped.trim_start();
            let _ = writeln!(out, "{}", format!("{lead}{}", rest.trim_end()).trim_end());
        }
        out.push('\n');
        let (first, second) = (&self.texts().base, &self.texts().other);
        let what = if self.comparison.has_ratios() {
            tr!(first_second_together_intervals, first, second)
        } else {
            tr!(first_second, first, second)
        };
        text::wrapped(out, "", &what);
    }
}

#[derive(Template)]
#[template(path = "compare.md")]
struct Markdown<'c> {
    all: &'c [Compared],
}

impl Markdown<'_> {
    fn caution(&self, caveat: &str) -> String {
        tr!(caution_caveat, caveat = markdown(caveat))
    }

    fn note(&self, note: &str) -> String {
        tr!(note, note = markdown(note))
    }
}

/// A text longer than this is shown where it differs only.
const LONG: usize = 100;

/// Two texts; if they are long, without the words with which both begin and end.
fn unlike(base: &str, other: &str) -> (String, String) {
    let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
    let (base_words, other_words) = (words(base), words(other));
    let begin = base_words.iter().zip(&other_words).take_while(|(a, b)| a == b).count();
    let left = base_words.len().min(other_words.len()) - begin;
    let end = base_words
        .iter()
        .rev()
        .zip(other_words.iter().rev())
        .take(left)
        .take_while(|(a, b)| a == b)
        .count();
    if base.chars().count().max(other.chars().count()) <= LONG {
        return (base.to_owned(), other.to_owned());
    }
    let cut = |words: &[String]| {
        let (before, after) = (if begin > 0 { "… " } else { "" }, if end > 0 { " …" } else { "" });
        format!("{before}{}{after}", words[begin..words.len() - end].join(" "))
    };
    (cut(&base_words), cut(&other_words))
}

impl Comparisons {
    /// What the ns are, to stand above the text; none where all are of real machines.
    pub fn what_time_is(&self, language: Language) -> Option<&str> {
        in_language(language, || self.time.get().as_deref())
    }

    pub fn text(&self, language: Language) -> String {
        self.painted(Paint::Plain, language)
    }

    /// The same for a terminal that may show colour.
    pub fn painted(&self, paint: Paint, language: Language) -> String {
        in_language(language, || {
            let mut out = String::new();
            for (place, compared) in self.all.iter().enumerate() {
                if place > 0 {
                    out.push('\n');
                }
                let mut headline = String::new();
                text::wrapped(&mut headline, "", &compared.headline());
                out += &paint.headline(&headline);
                let more = compared.beside_headline();
                if !more.is_empty() {
                    text::wrapped(&mut out, "", &more);
                }
                for caveat in &compared.texts().caveats {
                    let mut caution = String::new();
                    text::wrapped(&mut caution, "", &tr!(caution_caveat, caveat));
                    out += &paint.warning(&caution);
                }
                out.push('\n');
                compared.table_in_text(&mut out);
                for note in compared.notes() {
                    text::wrapped(&mut out, "", &tr!(note, note));
                }
                let differs = if compared.texts().differing.is_empty() {
                    texts::nothing_else_known_differ
                } else {
                    texts::what_else_differs_2
                };
                let _ = writeln!(out, "\n{}", differs.said());
                for fact in &compared.texts().differing {
                    let (base, other) = unlike(&fact.base.join(", "), &fact.other.join(", "));
                    let both = format!(
                        "{}: {} | {}",
                        fact.name,
                        format::clip(&base, 200),
                        format::clip(&other, 200)
                    );
                    text::wrapped(&mut out, "  ", &both);
                }
            }
            out
        })
    }

    /// The verdict of each group against the first, and what to know of it, or why they are not
    /// compared: below a table that has them side by side.
    pub fn brief(groups: &[Repeats], anyway: bool, language: Language) -> String {
        let mut out = String::new();
        let Some((base, others)) = groups.split_first() else { return out };
        let mut of_one = |other| match Compared::new(base, other, anyway, language) {
            Err(refused) => text::wrapped(&mut out, "", &refused.sentence),
            Ok(compared) => {
                text::wrapped(&mut out, "", &compared.verdict());
                for caveat in &compared.texts().caveats {
                    text::wrapped(&mut out, "  ", &tr!(caution_caveat, caveat));
                }
                for reservation in &compared.texts().reservations {
                    text::wrapped(&mut out, "  ", &tr!(note, note = reservation));
                }
            }
        };
        in_language(language, || others.iter().for_each(&mut of_one));
        out
    }

    /// For an issue or a wiki.
    pub fn markdown(&self, language: Language) -> String {
        in_language(language, || rendered(&Markdown { all: &self.all }))
    }

    /// For programs. Ratios are second over first.
    pub fn json(&self) -> Value {
        in_language(Language::English, || {
            let quantile = |compared: &Compared, one: &QuantileDifference| {
                let (lower, upper) = one.ratio.ok().unzip();
                json!({
                    "figure": one.level.to_string(),
                    "base_ns": one.base_ns, "other_ns": one.other_ns,
                    "ratio_lower": lower, "ratio_upper": upper,
                    "significant": one.is_significant(),
                    "reason": one.ratio.err().map(|why| compared.reason(why)),
                })
            };
            let rate = |one: &RateDifference| {
                json!({
                    "beyond_ns": one.limit_ns, "base": one.base, "other": one.other,
                    "ratio_lower": one.lower, "ratio_upper": one.upper,
                    "significant": one.is_significant(),
                })
            };
            let maximum = |compared: &Compared, one: &MaximumDifference| {
                let test = one.test.ok();
                let [base_between, other_between] = compared.max_between;
                json!({
                    "base_ns": one.base_ns, "other_ns": one.other_ns, "largest": one.largest,
                    "base_between_ns": base_between, "other_between_ns": other_between,
                    "blocks": test.map(|test| test.blocks),
                    "latencies_per_block": test.map(|test| test.latencies),
                    "latest": test.map(|test| test.worst.0 + test.worst.1),
                    "of_other": test.map(|test| test.worst.1),
                    "expected_of_other": test.map(|test| test.expected),
                    "significant": one.is_significant(),
                    "reason": one.test.err().map(|why| compared.reason(why)),
                })
            };
            let sd = |one: &SpreadDifference| {
                let (lower, upper) = one.ratio.unzip();
                json!({
                    "base_ns": one.base_sd_ns, "other_ns": one.other_sd_ns,
                    "ratio_lower": lower, "ratio_upper": upper, "significant": one.is_significant(),
                })
            };
            let peak_to_peak = |one: &SpreadDifference| {
                json!({
                    "base_ns": one.base_peak_to_peak_ns, "other_ns": one.other_peak_to_peak_ns,
                })
            };
            let one = |compared: &Compared| {
                let Comparison {
                    quantiles,
                    rate: beyond,
                    spread,
                    maximum: latest,
                    blocks,
                    between_runs,
                } = &compared.comparison;
                let differs: Vec<Value> = compared
                    .texts()
                    .differing
                    .iter()
                    .map(
                        |fact| json!({ "fact": fact.name, "base": fact.base, "other": fact.other }),
                    )
                    .collect();
                let of_quantiles: Vec<Value> =
                    quantiles.iter().map(|one| quantile(compared, one)).collect();
                json!({
                    "base": compared.texts().base,
                    "base_quantiles_observed": compared.observed[0],
                    "other_quantiles_observed": compared.observed[1],
                    "other": compared.texts().other,
                    "caveats": compared.texts().caveats,
                    "verdict": compared.verdict(),
                    "confidence": 0.95,
                    "quantity": compared.quantity,
                    "sd": spread.as_ref().map(sd),
                    "peak_to_peak": spread.as_ref().map(peak_to_peak),
                    "quantiles": of_quantiles,
                    "rate": beyond.as_ref().map(rate),
                    "maximum": maximum(compared, latest),
                    "blocks": blocks,
                    "between_runs": between_runs,
                    "notes": compared.notes(),
                    "differs": differs,
                })
            };
            json!({ "comparisons": self.all.iter().map(one).collect::<Vec<_>>() })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_long_facts_only_what_differs_is_shown() {
        let line = |kernel: &str| {
            format!(
                "/usr/bin/qemu-system-x86_64 {} -kernel {kernel} {}",
                "-a b".repeat(30),
                "-append c"
            )
        };
        assert_eq!(
            unlike(&line("one"), &line("two")),
            ("… one …".to_owned(), "… two …".to_owned())
        );
        assert_eq!(
            unlike("quiet isolcpus=1", "quiet"),
            ("quiet isolcpus=1".to_owned(), "quiet".to_owned())
        );
        let (base, other) = unlike(&"a ".repeat(80), &"a ".repeat(81));
        assert!(base.chars().count() < 10 && other.chars().count() < 10, "{base:?} {other:?}");
    }
}
