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
}

/// A unit by its name, ns.
fn unit(word: &str) -> Option<i64> {
    Some(match word.to_lowercase().as_str() {
        "ns" | "nsec" | "nsecs" | "nanosecond" | "nanoseconds" | "nanos" => 1,
        "us" | "usec" | "usecs" | "microsecond" | "microseconds" | "micros" | "\u{b5}s"
        | "\u{3bc}s" => 1_000,
        "ms" | "msec" | "msecs" | "millisecond" | "milliseconds" | "millis" => 1_000_000,
        "s" | "sec" | "secs" | "second" | "seconds" => 1_000_000_000,
        _ => return None,
    })
}

fn tokens(text: &str) -> Vec<&str> {
    let is_between = |letter: char| " _-./,:;|()[]#\"".contains(letter);
    text.split(is_between).filter(|token| !token.is_empty()).collect()
}

/// The units in brackets: `(ms)`, `[in us]`.
fn in_brackets(text: &str) -> impl Iterator<Item = i64> {
    text.split(['(', '[']).skip(1).filter_map(|behind| {
        let inside = behind.split([')', ']']).next()?.trim();
        unit(inside.strip_prefix("in ").unwrap_or(inside))
    })
}

/// The unit that a heading says of its column: in brackets, or as the end of a longer name, such
/// as `latency_us`.
pub(crate) fn unit_of(name: &str) -> Option<i64> {
    let at_end = || {
        let words = tokens(name);
        let last = words.last().filter(|_| words.len() > 1)?;
        // One letter may stand for anything else.
        (last.len() > 1 || name.ends_with("_s")).then(|| unit(last)).flatten()
    };
    let in_capitals = || {
        let (at, _) = name.char_indices().rev().nth(1)?;
        let (stem, end) = name.split_at(at);
        let is_one = ["Ns", "Us", "Ms"].contains(&end)
            && stem.ends_with(|letter: char| letter.is_ascii_lowercase());
        is_one.then(|| unit(end)).flatten()
    };
    in_brackets(name).next().or_else(at_end).or_else(in_capitals)
}

/// The unit that is all of a heading, which is one only where no other says something else.
pub(crate) fn unit_alone(name: &str) -> Option<i64> {
    let name = name.trim_matches(['#', ' ', '"']);
    unit(name).filter(|_| name.len() > 1)
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

/// Whether a text names something in columns that is no latency.
pub(crate) fn names_columns(text: &str) -> bool {
    tokens(text).iter().any(|word| holds(word) != Holds::Values)
}

/// Whether it names what is measured.
pub(crate) fn is_of_latency(text: &str) -> bool {
    let text = text.to_lowercase();
    let names = ["latency", "latencies", "jitter", "レイテンシ", "ジッタ", "遅延"];
    names.iter().any(|name| text.contains(name))
}

/// Whether it names a figure of several latencies, not one of them.
pub(crate) fn is_of_figure(name: &str) -> bool {
    let lower = name.to_lowercase();
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
        "sd",
        "std",
        "stddev",
        "sdev",
        "stdev",
        "variance",
        "percentile",
        "p50",
        "p90",
        "p95",
        "p99",
        "p999",
    ];
    tokens(&lower).iter().any(|word| figures.contains(word))
}

pub(crate) fn holds(name: &str) -> Holds {
    let lower = name.trim_matches(['#', ' ']).to_lowercase();
    let words = tokens(&lower);
    let (Some(first), Some(last)) = (words.first(), words.last()) else {
        // `#`
        return if name.contains('#') { Holds::Index } else { Holds::Values };
    };
    let has = |names: &[&str]| names.contains(first);
    if words.iter().any(|word| ["bucket", "buckets", "bin", "bins"].contains(word)) {
        Holds::Buckets
    } else if has(&["time", "timestamp", "ts", "t", "elapsed"]) {
        Holds::Times
    } else if unit_of(&lower).is_none()
        && (["count", "counts"].contains(last)
            || has(&["count", "counts", "frequency", "freq", "hits", "occurrences", "samples"]))
    {
        Holds::Counts
    } else if unit_of(&lower).is_none()
        && has(&[
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
        ])
    {
        Holds::Index
    } else {
        Holds::Values
    }
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
            ("latencyMs", Some(1_000_000)),
            ("delay \u{b5}s", Some(1_000)),
            ("jitter [in us]", Some(1_000)),
            ("time_s", Some(1_000_000_000)),
            ("status", None),
            ("Status", None),
            ("us", None),
            ("rkB/s", None),
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
            ("CPU 0", Holds::Values),
            ("Hardware (ms)", Holds::Values),
        ] {
            assert_eq!(holds(name), what, "{name}");
        }
        assert_eq!(kind("CPU 0 (us)"), kind("cpu 11 (us)"));
        assert_eq!((cpu("CPU 3 (us)"), cpu("core_12"), cpu("thread 1")), (Some(3), Some(12), None));
    }
}
