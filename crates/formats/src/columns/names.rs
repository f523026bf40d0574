// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the headings of a table say: the unit of its values, and which columns hold none.

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Holds {
    Values,
    /// How many there are of the value beside it.
    Counts,
    /// The values that are counted.
    Buckets,
    Times,
    /// The number of the row.
    Index,
    /// The thread or the CPU that the row is of.
    Threads,
    /// Nothing that is read.
    Other,
}

/// A unit by its name, ns. In capitals it is something else: `US`.
fn unit(word: &str) -> Option<i64> {
    Some(match word {
        "ns" | "nsec" | "nsecs" | "nanosecond" | "nanoseconds" => 1,
        "us" | "usec" | "usecs" | "microsecond" | "microseconds" | "\u{b5}s" | "\u{3bc}s" => 1_000,
        "ms" | "msec" | "msecs" | "millisecond" | "milliseconds" => 1_000_000,
        "s" | "sec" | "secs" | "second" | "seconds" => 1_000_000_000,
        _ => return None,
    })
}

fn is_between(letter: char) -> bool {
    " _-./,:;|()[]#\"".contains(letter)
}

fn tokens(text: &str) -> Vec<&str> {
    text.split(is_between).filter(|token| !token.is_empty()).collect()
}

/// The words of a heading in small letters: those of `MaxLatency_us` are max, latency and us.
fn words(name: &str) -> Vec<String> {
    let mut apart = String::new();
    let mut is_after_small = false;
    for letter in name.chars() {
        if is_after_small && letter.is_uppercase() {
            apart.push(' ');
        }
        is_after_small = letter.is_lowercase();
        apart.extend(letter.to_lowercase());
    }
    tokens(&apart).into_iter().map(str::to_owned).collect()
}

/// The units in brackets: `(ms)`, `[in us]`.
fn in_brackets(text: &str) -> impl Iterator<Item = i64> {
    text.split(['(', '[']).skip(1).filter_map(|behind| {
        let inside = behind.split([')', ']']).next()?.trim();
        unit(inside.strip_prefix("in ").unwrap_or(inside))
    })
}

/// The unit that stands in brackets at the end of a heading.
pub(crate) fn unit_in_brackets(name: &str) -> Option<i64> {
    name.trim_end_matches(['"', ' '])
        .ends_with([')', ']'])
        .then(|| in_brackets(name).last())
        .flatten()
}

/// The unit that a heading says of its column: in brackets at its end, or as the end of a longer
/// name, such as `latency_us`.
pub(crate) fn unit_of(name: &str) -> Option<i64> {
    let at_end = || {
        let name = name.trim_matches(['"', ' ']);
        let (at, mark) = name.char_indices().rev().find(|(_, letter)| is_between(*letter))?;
        let (stem, last) = (&name[..at], &name[at + mark.len_utf8()..]);
        // One letter may stand for anything else, and a rate is none.
        let is_one = last.len() > 1 || mark == '_';
        let is_rate = mark == '/' || tokens(stem).last().is_none_or(|word| *word == "per");
        (is_one && !is_rate).then(|| unit(last)).flatten()
    };
    unit_in_brackets(name).or_else(at_end)
}

/// The unit that is all of a heading, which is one only where no other says something else.
pub(crate) fn unit_alone(name: &str) -> Option<i64> {
    let words = tokens(name);
    let last = words.last().filter(|last| last.len() > 1)?;
    let unit = unit(last)?;
    let others = &words[..words.len() - 1];
    others.iter().all(|word| is_general(&word.to_lowercase())).then_some(unit)
}

/// Whether a word says nothing of what values are of.
fn is_general(word: &str) -> bool {
    ["all", "value", "values", "sample", "data", "are", "in", "unit", "units"].contains(&word)
}

/// Whether a heading says nothing of what its values are of.
pub(crate) fn says_nothing(name: &str) -> bool {
    words(name).iter().all(|word| is_general(word))
}

/// The unit that a text above a table says of all of it: none where it names several.
pub(crate) fn unit_in_text(text: &str) -> Option<i64> {
    let words = tokens(text);
    let says = |pair: &&[&str]| {
        let before = pair[0].to_lowercase();
        ["in", "unit", "units", "latency", "latencies", "jitter"].contains(&before.as_str())
            && pair[1].len() > 1
    };
    let behind_word = words.windows(2).filter(says).filter_map(|pair| unit(pair[1]));
    let mut units = in_brackets(text).chain(behind_word);
    let first = units.next()?;
    units.all(|unit| unit == first).then_some(first)
}

/// Whether a text says that a table below it is of latencies: it names them, or nothing but units.
pub(crate) fn is_of_table(text: &str) -> bool {
    let is_of_units = unit_in_text(text).is_some()
        && (in_brackets(text).next().is_some() || unit_alone(text).is_some());
    is_of_latency(text) || is_of_units && !is_of_other(text)
}

/// Whether a text names something in columns that is no latency.
pub(crate) fn names_columns(text: &str) -> bool {
    let words = tokens(text);
    let is_one = |(at, word): (usize, &&str)| match holds(word) {
        Holds::Values => false,
        // One with its number is what the column is of.
        Holds::Threads => {
            words.get(at + 1).is_none_or(|next| !next.bytes().all(|byte| byte.is_ascii_digit()))
        }
        _ => true,
    };
    words.iter().enumerate().any(is_one)
}

/// Whether it names what is measured.
pub(crate) fn is_of_latency(text: &str) -> bool {
    let text = text.to_lowercase();
    let names = ["latency", "latencies", "jitter", "レイテンシ", "ジッタ", "遅延"];
    names.iter().any(|name| text.contains(name))
}

/// Whether the heading of a column names what is measured.
pub(crate) fn names_latency(name: &str) -> bool {
    let like = ["lat", "delay", "delays", "wake", "wakeup", "lateness", "response"];
    let is_like = |word: &String| {
        like.contains(&word.trim_end_matches(|letter: char| letter.is_ascii_digit()))
    };
    (is_of_latency(name) || words(name).iter().any(is_like)) && !is_of_other(name)
}

/// Whether it names what is measured in a unit of time and is no latency, or is none of one row.
fn is_of_other(name: &str) -> bool {
    let others = [
        "price",
        "prices",
        "cost",
        "rent",
        "rate",
        "speed",
        "uptime",
        "period",
        "runtime",
        "deadline",
        "start",
        "end",
        "begin",
        "stop",
        "interval",
        "timestamp",
        "epoch",
        "date",
        "duration",
        "age",
        "temp",
        "temperature",
        "percent",
        "percentage",
        "pct",
        "cumulative",
        "cum",
        "cdf",
        "total",
        "sum",
        "planned",
        "expected",
        "throughput",
        "timeout",
        "threshold",
        "limit",
        "target",
        "per",
    ];
    let words = words(name);
    let has = |names: &[&str]| words.iter().any(|word| names.contains(&word.as_str()));
    has(&others)
        || has(&["time", "times"]) && !has(&["latency", "latencies", "response", "delay", "jitter"])
}

/// Whether it names a figure of several latencies, not one of them.
pub(crate) fn is_of_figure(name: &str) -> bool {
    let figures = [
        "min",
        "minimum",
        "max",
        "maximum",
        "avg",
        "average",
        "mean",
        "median",
        "best",
        "worst",
        "peak",
        "sd",
        "std",
        "stddev",
        "sdev",
        "stdev",
        "variance",
        "percentile",
        "percentiles",
        "quantile",
        "quantiles",
    ];
    let are_digits =
        |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    words(name).iter().any(|word| {
        figures.contains(&word.as_str())
            || word.strip_prefix('p').is_some_and(are_digits)
            || word.strip_suffix("th").is_some_and(are_digits)
            || ["min", "max", "avg", "mean"]
                .iter()
                .any(|figure| word.strip_prefix(figure).is_some_and(|of| of.starts_with("lat")))
    })
}

pub(crate) fn holds(name: &str) -> Holds {
    let lower = name.to_lowercase();
    let words = tokens(&lower);
    let (Some(first), Some(last)) = (words.first(), words.last()) else {
        // `#`
        return if name.contains('#') { Holds::Index } else { Holds::Values };
    };
    let has = |names: &[&str]| names.contains(first);
    let has_any = |names: &[&str]| words.iter().any(|word| names.contains(word));
    if has_any(&["bucket", "buckets", "bin", "bins"]) {
        // Of a range it is not said which of its values were there.
        let is_end = has_any(&["start", "end", "lower", "upper", "from", "to", "low", "high"]);
        if is_end { Holds::Other } else { Holds::Buckets }
    } else if has(&["time", "timestamp", "ts", "t", "elapsed"]) && !names_latency(name) {
        Holds::Times
    } else if unit_of(name).is_none()
        && (["count", "counts"].contains(last)
            || has(&["count", "counts", "frequency", "freq", "hits", "occurrences", "samples"]))
        && !is_of_other(name)
    {
        Holds::Counts
    } else if unit_of(name).is_none() && words.len() == 1 && (has(THREADS) || has(CPUS)) {
        Holds::Threads
    } else if unit_of(name).is_none() && has(INDEX) {
        Holds::Index
    } else if is_of_other(name) {
        Holds::Other
    } else {
        Holds::Values
    }
}

const INDEX: &[&str] = &[
    "index",
    "idx",
    "i",
    "no",
    "n",
    "nr",
    "row",
    "iteration",
    "iter",
    "cycle",
    "loop",
    "seq",
    "sequence",
    "sample",
    "id",
    "activation",
    "event",
];
const THREADS: &[&str] = &["thread", "tid"];
const CPUS: &[&str] = &["cpu", "core"];

/// Whether what a column says of threads is their CPUs.
pub(crate) fn is_of_cpus(name: &str) -> bool {
    words(name).iter().any(|word| CPUS.contains(&word.as_str()))
}

/// A heading without its numbers: those of threads of one run are the same.
pub(crate) fn kind(name: &str) -> String {
    name.to_lowercase().chars().filter(|letter| !letter.is_ascii_digit()).collect()
}

/// The CPU that a heading names.
pub(crate) fn cpu(name: &str) -> Option<u32> {
    let lower = name.to_lowercase();
    let behind = lower.split_once("cpu").or_else(|| lower.split_once("core"))?.1;
    let behind = behind.trim_start_matches([' ', '_', '-', '#']);
    let end = behind.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(behind.len());
    behind[..end].parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_in_headings() {
        for (name, unit) in [
            ("Hardware (ms)", Some(1_000_000)),
            ("latency_us", Some(1_000)),
            ("wake-up [ns]", Some(1)),
            ("delay \u{b5}s", Some(1_000)),
            ("jitter [in us]", Some(1_000)),
            ("time_s", Some(1_000_000_000)),
            ("status", None),
            ("Status", None),
            ("us", None),
            ("rkB/s", None),
            ("requests/sec", None),
            ("ops_per_s", None),
            ("price_US", None),
            ("budget (US)", None),
            ("(us) of it", None),
            ("latency", None),
        ] {
            assert_eq!(unit_of(name), unit, "{name}");
        }
        assert_eq!(
            (unit_alone("us"), unit_alone("s"), unit_alone("bus")),
            (Some(1_000), None, None)
        );
        assert_eq!(unit_in_text("# all values in us"), Some(1_000));
        assert_eq!(unit_in_text("# latency [ns] of CPU 1"), Some(1));
        assert_eq!(unit_in_text("let us see"), None);
        assert_eq!(unit_in_text("a (ms) and b (us)"), None);
    }

    #[test]
    fn columns_by_their_headings() {
        for (name, what) in [
            ("bucket", Holds::Buckets),
            ("bin (us)", Holds::Buckets),
            ("time (s)", Holds::Times),
            ("timestamp_ns", Holds::Times),
            ("count", Holds::Counts),
            ("cpu0 count", Holds::Counts),
            ("#", Holds::Index),
            ("# idx", Holds::Index),
            ("sample", Holds::Index),
            ("sample_us", Holds::Values),
            ("bin_end_us", Holds::Other),
            ("period_us", Holds::Other),
            ("response time (us)", Holds::Values),
            ("lap_time_s", Holds::Other),
            ("cpu", Holds::Threads),
            ("CPU 0", Holds::Values),
            ("Hardware (ms)", Holds::Values),
        ] {
            assert_eq!(holds(name), what, "{name}");
        }
        for name in ["MaxLatency_us", "maxlat", "peak (us)", "p75_us", "latency 99th", "Max"] {
            assert!(is_of_figure(name), "{name}");
        }
        assert!(!is_of_figure("map_us"));
        for name in ["latency", "cpu0_lat(us)", "Delay", "wake-up", "response time", "lateness"] {
            assert!(names_latency(name), "{name}");
        }
        for name in ["price_us", "speed_m_s", "plate_us", "wakeup interval", "wake time"] {
            assert!(!names_latency(name), "{name}");
        }
        assert_eq!(kind("CPU 0 (us)"), kind("cpu 11 (us)"));
        assert_eq!((cpu("CPU 3 (us)"), cpu("core_12"), cpu("thread 1")), (Some(3), Some(12), None));
    }
}
