// SPDX-License-Identifier: MIT OR Apache-2.0
//! Numbers as people read them: µs in tables, three digits in prose, thousands apart.

use crate::language::{Language, Text, current_language, filled, texts, tr};
use model::{CoKernel, HostFacts, Phrase, preemption_phrase};
use plan::Nanos;

/// A whole number with its thousands apart: `19,998`.
pub(crate) fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A number of things, by the text for them: `1 sample`, `12 samples`.
pub(crate) fn counted(n: u64, things: Text) -> String {
    filled(things, &[("n", &count(n))])
}

/// A number of things in English, by the name of one: `1 sample`, `12 samples`, `3 latencies`.
pub fn counted_in_english(n: u64, name: &str) -> String {
    let number = count(n);
    match name.strip_suffix('y') {
        _ if n == 1 => format!("{number} {name}"),
        Some(stem) => format!("{number} {stem}ies"),
        None => format!("{number} {name}s"),
    }
}

/// ns as µs with one decimal, for tables: `1,240.3`. One decimal everywhere, so that the points
/// stand below one another.
pub(crate) fn micros(ns: i64) -> String {
    let tenths = (ns.unsigned_abs() + 50) / 100;
    let sign = if ns < 0 && tenths > 0 { "-" } else { "" };
    format!("{sign}{}.{}", count(tenths / 10), tenths % 10)
}

/// ns as whole µs, where a table has no room for a decimal: `17,078`.
pub(crate) fn whole_micros(ns: i64) -> String {
    let micros = (ns.unsigned_abs() + 500) / 1_000;
    format!("{}{}", if ns < 0 && micros > 0 { "-" } else { "" }, count(micros))
}

/// ns as µs with as many decimals as three digits take, and at least one: `16.6`, `4.28`, `0.428`.
pub(crate) fn fine_micros(ns: i64) -> String {
    match ns.unsigned_abs() {
        0..1_000 => exact_micros(ns),
        1_000..9_995 => {
            let hundredths = (ns.unsigned_abs() + 5) / 10;
            format!("{}{}.{:02}", if ns < 0 { "-" } else { "" }, hundredths / 100, hundredths % 100)
        }
        _ => micros(ns),
    }
}

/// The ends of an interval as [`fine_micros`] writes them, rounded so that it does not become
/// narrower.
pub(crate) fn fine_micros_outward(
    lower: Option<i64>,
    upper: Option<i64>,
) -> (Option<String>, Option<String>) {
    let unit = |ns: i64| match ns.unsigned_abs() {
        0..1_000 => 1,
        1_000..9_995 => 10,
        _ => 100,
    };
    let down = |ns: i64| ns.saturating_sub(ns.rem_euclid(unit(ns)));
    let up = |ns: i64| ns.saturating_add((-(ns % unit(ns))).rem_euclid(unit(ns)));
    (lower.map(|ns| fine_micros(down(ns))), upper.map(|ns| fine_micros(up(ns))))
}

/// ns as µs to the last ns, for figures that are exact: `1,240.317`.
pub fn exact_micros(ns: i64) -> String {
    let (sign, ns) = (if ns < 0 { "-" } else { "" }, ns.unsigned_abs());
    format!("{sign}{}.{:03}", count(ns / 1_000), ns % 1_000)
}

/// A mean to the nearest ns. A latency is below 2^63 ns; a float converts saturating.
pub(crate) fn rounded(ns: f64) -> i64 {
    #[expect(clippy::cast_possible_truncation, reason = "rounded first, saturating")]
    let whole = ns.round() as i64;
    whole
}

const UNITS: [(u64, &str); 4] = [(1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "µs"), (1, "ns")];

/// A latency with three digits and its unit: `83.4 µs`, `1.24 ms`. Rounded to nearest.
pub fn latency(ns: i64) -> String {
    three_digits(ns, |value, step| value / step + u64::from(value % step >= step.div_ceil(2)))
}

/// The same, rounded up: what stands behind "at most" must not be less than what was seen.
pub(crate) fn at_most(ns: i64) -> String {
    if ns < 0 { latency(ns) } else { three_digits(ns, u64::div_ceil) }
}

/// The same, rounded down: what stands behind "at least" must not be more than what is known.
pub(crate) fn at_least(ns: i64) -> String {
    three_digits(ns, if ns < 0 { u64::div_ceil } else { |value, step| value / step })
}

fn three_digits(ns: i64, round: fn(u64, u64) -> u64) -> String {
    let value = ns.unsigned_abs();
    let sign = if ns < 0 { "-" } else { "" };
    let mut step = 1;
    while round(value, step) >= 1_000 {
        step *= 10;
    }
    let rounded = round(value, step) * step;
    let (unit, suffix) = UNITS.into_iter().find(|(unit, _)| rounded >= *unit).unwrap_or((1, "ns"));
    let whole = count(rounded / unit);
    let places = (unit / step.min(unit)).ilog10() as usize;
    if places == 0 {
        return format!("{sign}{whole} {suffix}");
    }
    format!("{sign}{whole}.{:0places$} {suffix}", rounded % unit / step)
}

/// A length of time: `10 s`, `2.5 min`, `3 h`, `34.7 days`.
pub(crate) fn span(length: Nanos) -> String {
    let seconds = length.as_secs_f64();
    let (value, unit) = match seconds {
        s if s >= 172_800.0 => (s / 86_400.0, texts::unit_days.said()),
        s if s >= 7_200.0 => (s / 3_600.0, texts::unit_h.said()),
        s if s >= 120.0 => (s / 60.0, texts::unit_min.said()),
        s if s >= 1.0 || s <= 0.0 => (s, "s"),
        s if s >= 1e-3 => (s * 1e3, "ms"),
        s => (s * 1e6, "µs"),
    };
    let text = format!("{value:.1}");
    format!("{} {unit}", text.strip_suffix(".0").unwrap_or(&text))
}

/// A number of 0 or more to the nearest whole one, its thousands apart.
pub(crate) fn rounded_count(n: f64) -> String {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a positive number, rounded first, saturating"
    )]
    count(n.round() as u64)
}

/// A rate as the number of activations among which there is one, rounded down: `6,676`.
pub(crate) fn one_in(rate: f64) -> String {
    rounded_count((1.0 / rate).floor())
}

/// How many times as much: `0.004`, `0.02`, `3.45`, `27`, `1,542`.
pub(crate) fn ratio(ratio: f64) -> String {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a positive number, rounded first, saturating"
    )]
    if ratio >= 9.995 {
        rounded_count(ratio)
    } else if ratio > 0.0 && ratio < 0.01 {
        // The first digit that is no zero.
        let decimals = (-ratio.log10().floor() as usize).min(6);
        format!("{ratio:.decimals$}")
    } else {
        format!("{ratio:.2}")
    }
}

/// A share to a tenth of a percent; one that is there is not shown as 0.
pub(crate) fn share(percent: f64) -> String {
    match percent {
        0.0 => "0".to_owned(),
        percent if percent < 0.1 => "<0.1".to_owned(),
        percent => format!("{percent:.1}"),
    }
}

/// A text of at most so many characters; what was longer ends in an ellipsis, behind a whole word
/// where there are some. Names and kernel command lines come from outside, and one of them must not
/// fill a page.
pub(crate) fn clip(text: &str, max: usize) -> String {
    if text.chars().count() <= max {
        return text.to_owned();
    }
    let kept: String = text.chars().take(max.saturating_sub(1)).collect();
    let is_whole = text[kept.len()..].starts_with(' ');
    // A word that is most of the text is cut.
    let end = kept.rfind(' ').filter(|end| !is_whole && end * 2 >= kept.len());
    let kept = kept[..end.unwrap_or(kept.len())].trim_end_matches([' ', ',', ';', ':']);
    format!("{kept}…")
}

/// As the beginning of a sentence.
pub(crate) fn capitalised(sentence: &str) -> String {
    let mut letters = sentence.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// `a`, `a and b`, `a, b and c`.
pub(crate) fn list<T: AsRef<str>>(items: &[T]) -> String {
    match items {
        [] => String::new(),
        [one] => one.as_ref().to_owned(),
        [first @ .., last] => {
            let first: Vec<&str> = first.iter().map(AsRef::as_ref).collect();
            tr!(first_and_last, first = first.join(texts::comma.said()), last = last.as_ref())
        }
    }
}

/// What a check found or advises, in the current language where its phrase is known.
pub(crate) fn localised_finding(english: &str, phrase: Option<&Phrase>) -> String {
    match current_language() {
        Language::English => None,
        Language::Japanese => phrase.and_then(|phrase| phrase.in_japanese(english)),
    }
    .unwrap_or_else(|| english.to_owned())
}

/// How the kernel can be preempted, in the current language.
pub(crate) fn preemption(facts: &HostFacts) -> Option<String> {
    let preemption = facts.preemption.as_deref()?;
    Some(localised_finding(preemption, Some(&preemption_phrase(preemption))))
}

/// A co-kernel in a few words: `Cobalt 3.3.1 (ABI revision 19, gravity irq=0 kernel=2000
/// user=2000)`.
pub(crate) fn co_kernel(core: &CoKernel) -> String {
    let gravity =
        core.gravity.as_ref().map(|gravity| format!(", gravity {gravity}")).unwrap_or_default();
    format!("{} (ABI revision {}{gravity})", named_co_kernel(core), core.abi)
}

/// The same without its gravity: `Cobalt 3.3.1 (ABI revision 19)`.
pub(crate) fn co_kernel_without_gravity(core: &CoKernel) -> String {
    format!("{} (ABI revision {})", named_co_kernel(core), core.abi)
}

/// `Cobalt 3.3.1`, or `EVL`, which does not say its version.
pub(crate) fn named_co_kernel(core: &CoKernel) -> String {
    core.version
        .as_ref()
        .map_or_else(|| core.name.clone(), |version| format!("{} {version}", core.name))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// It stood in English among Japanese.
    #[test]
    fn preemption_is_said_in_both_languages() {
        let facts = HostFacts {
            preemption: Some("PREEMPT_DYNAMIC (none by default)".to_owned()),
            ..HostFacts::default()
        };
        assert_eq!(preemption(&facts), facts.preemption);
        let japanese = crate::language::in_language(Language::Japanese, || preemption(&facts));
        assert_eq!(japanese.as_deref(), Some("PREEMPT_DYNAMIC(既定は none)"));
    }

    #[test]
    fn co_kernels() {
        let core = |version: Option<&str>, gravity: Option<&str>| CoKernel {
            name: "Core".to_owned(),
            version: version.map(str::to_owned),
            abi: 19,
            gravity: gravity.map(str::to_owned),
            chosen: true,
        };
        assert_eq!(
            co_kernel(&core(Some("3.3.1"), Some("user=2000"))),
            "Core 3.3.1 (ABI revision 19, gravity user=2000)"
        );
        assert_eq!(co_kernel(&core(None, None)), "Core (ABI revision 19)");
    }

    #[test]
    fn exact_figures_lose_nothing() {
        for (ns, text) in
            [(0, "0.000"), (999, "0.999"), (1_240_317, "1,240.317"), (-2_005, "-2.005")]
        {
            assert_eq!(exact_micros(ns), text);
        }
    }

    #[test]
    fn tables() {
        assert_eq!(
            [0, 7, 999, 1_000, 1_234_567].map(count),
            ["0", "7", "999", "1,000", "1,234,567"]
        );
        assert_eq!(
            [0, 49, 50, 83_449, 1_240_250, -1_500, -20].map(micros),
            ["0.0", "0.0", "0.1", "83.4", "1,240.3", "-1.5", "0.0"]
        );
        assert_eq!(micros(rounded(61_249.4)), "61.2");
        assert_eq!(
            [0, 499, 500, 17_078_499, -1_500, -20].map(whole_micros),
            ["0", "0", "1", "17,078", "-2", "0"]
        );
        assert_eq!(
            [0, 428, 999, 1_000, 4_284, 9_994, 9_995, 83_449, -4_286].map(fine_micros),
            ["0.000", "0.428", "0.999", "1.00", "4.28", "9.99", "10.0", "83.4", "-4.29"]
        );
        for (ns, down, up) in [
            (83_449, "83.4", "83.5"),
            (83_400, "83.4", "83.4"),
            (4_281, "4.28", "4.29"),
            (9_994, "9.99", "10.0"),
            (-4_286, "-4.29", "-4.28"),
        ] {
            assert_eq!(
                fine_micros_outward(Some(ns), Some(ns)),
                (Some(down.to_owned()), Some(up.to_owned()))
            );
        }
    }

    #[test]
    fn prose() {
        for (ns, nearest, up) in [
            (0, "0 ns", "0 ns"),
            (950, "950 ns", "950 ns"),
            (1_000, "1.00 µs", "1.00 µs"),
            (83_449, "83.4 µs", "83.5 µs"),
            (999_499, "999 µs", "1.00 ms"),
            (999_500, "1.00 ms", "1.00 ms"),
            (1_244_900, "1.24 ms", "1.25 ms"),
            (5_000_000_001, "5.00 s", "5.01 s"),
            (99_999_999_999, "100 s", "100 s"),
            (3_600_000_000_000, "3,600 s", "3,600 s"),
            (-2_340, "-2.34 µs", "-2.34 µs"),
        ] {
            assert_eq!((latency(ns).as_str(), at_most(ns).as_str()), (nearest, up), "{ns}");
        }
    }

    #[test]
    fn ratios() {
        let all = [0.0, 0.000_31, 0.004, 0.02, 3.449, 9.994, 9.996, 26.6, 1_542.21].map(ratio);
        assert_eq!(all, ["0.00", "0.0003", "0.004", "0.02", "3.45", "9.99", "10", "27", "1,542"]);
    }

    #[test]
    fn lengths_and_rates() {
        assert_eq!(
            [10_000, 150_000, 10_800_000, 500].map(|ms| span(Nanos::from_millis(ms))),
            ["10 s", "2.5 min", "3 h", "500 ms"]
        );
        assert_eq!(
            (one_in(1.5e-4), clip("αβγδ", 3), clip("αβγ", 3)),
            ("6,666".into(), "αβ…".into(), "αβγ".into())
        );
        // Neither in a word nor at a comma, where there is another word.
        assert_eq!(
            [18, 19, 20, 21, 25, 26].map(|max| clip("in task teiji-0, asm_sys", max)),
            [
                "in task teiji-0…",
                "in task teiji-0…",
                "in task teiji-0…",
                "in task teiji-0…",
                "in task teiji-0, asm_sys",
                "in task teiji-0, asm_sys"
            ]
        );
        assert_eq!(clip("a long_word_that_goes_on", 12), "a long_word…");
    }
}
