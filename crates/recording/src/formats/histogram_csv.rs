// SPDX-License-Identifier: MIT OR Apache-2.0
//! The rows of a histogram of cyclictest of which somebody made a file for a spreadsheet or a plot:
//! commas or tabs (`tr " " ","`, `tr " " "\t"`), and without the lines above and below it.

use super::cyclictest::CYCLICTEST;
use super::histogram::{Row, histogram};
use super::numbers::whole;
use super::{Import, ImportError, Lines};

/// Digits of each number at least, as cyclictest prints it.
const DIGITS: usize = 6;

/// `000016,000109\t000079`.
fn row(line: &str) -> Option<Row> {
    let number = |text: &str| whole(text).filter(|_| text.trim().len() >= DIGITS);
    let (bucket, counts) = line.trim_end().split_once([',', '\t', ' '])?;
    let counts = counts.trim_end_matches(',').split(['\t', ',', ' ']);
    let counts: Vec<u64> = counts.map(number).collect::<Option<_>>()?;
    Some((number(bucket)?, counts))
}

/// Whether such rows begin here.
pub(crate) fn begins(lines: &[&str]) -> bool {
    // The first of them is small.
    if !lines.first().is_some_and(|line| line.starts_with('0')) {
        return false;
    }
    let mut rows = lines.iter().map(|line| row(line));
    let (Some(Some((first, of_first))), Some(Some((next, of_next)))) = (rows.next(), rows.next())
    else {
        return false;
    };
    first < next && of_first.len() == of_next.len()
}

/// Reads them. How many were beyond the last is not said.
pub(crate) fn read(lines: &mut Lines<'_>, import: &mut Import<'_>) -> Result<(), ImportError> {
    let mut output = import.output(&CYCLICTEST, lines.number());
    output.is_of_unknown_unit = import.is_unit_open();
    output.may_have_more = true;
    output.resolution_ns = import.unit_ns(1_000);
    let unit_ns = output.resolution_ns;
    histogram(lines, &mut output, unit_ns, row)?;
    import.add(output)
}

#[cfg(test)]
mod tests {
    use crate::formats::tests::{figures, imported, refused};
    use model::Unknown;

    /// Written by cyclictest 2.4 with -t2 -h 60, and changed by grep and tr.
    const FILE: &str = include_str!("samples/cyclictest-histogram.csv");

    #[test]
    fn commas_in_the_place_of_blanks() {
        let all = imported(FILE);
        assert_eq!(all.len(), 1);
        let document = &all[0].document;
        assert_eq!(document.threads.len(), 2);
        let figures = |thread: usize| {
            let of = document.threads[thread].latency_ns.unwrap();
            (of.count, of.min, of.max)
        };
        assert_eq!(figures(0), (3_959, 12_000, 57_000));
        assert_eq!(figures(1), (3_948, 10_000, 59_000));
        let source = document.imported.as_ref().unwrap();
        assert!(source.lacks(Unknown::Unit) && source.lacks(Unknown::Beyond));
        assert_eq!(source.format, "cyclictest-csv");
        // Of one thread, as in the document that says how it is made.
        let one = imported("000209,000000\n000210,001800\n000211,000007\n");
        let of = one[0].document.threads[0].latency_ns.unwrap();
        assert_eq!((of.count, of.min, of.max), (1_807, 210_000, 211_000));
        // Where a tab stands behind the last number.
        assert_eq!(imported("000209,000001\t\n000210,001800\t\n").len(), 1);
    }

    /// As OSADL's script for plots makes it: without comments, and with tabs.
    #[test]
    fn tabs_in_the_place_of_blanks() {
        let rows = |text: &str| {
            let rows: Vec<&str> = text.lines().filter(|line| line.starts_with('0')).collect();
            imported(&rows.join("\n").replace(' ', "\t")).remove(0).document
        };
        let document = rows(include_str!("samples/cyclictest-2.4-hlive.txt"));
        assert_eq!(
            figures(&document).iter().map(|of| (of.0, of.1, of.3)).collect::<Vec<_>>(),
            [(299, 16_000, 52_000), (299, 17_000, 45_000)]
        );
        assert!(document.imported.as_ref().unwrap().lacks(Unknown::Beyond));
        assert_eq!(
            refused("1700000000 100000\n1700000001 100000\n"),
            "no output of a known format is in it"
        );
    }

    #[test]
    fn numbers_beyond_any() {
        let most = u64::MAX;
        assert_eq!(
            refused(&format!("000001,000001\n{most},000001\n")),
            "line 3: no latency is so large"
        );
        let of = |overflows: u64| {
            format!("000001,{most}\n000002,000001\n# Histogram Overflows: {overflows}\n")
        };
        assert!(refused(&of(most)).contains("thread 0: a bucket of"));
    }

    #[test]
    fn what_is_damaged_is_named_with_its_line() {
        assert_eq!(
            refused("000001,000001\n000002,000001\n000002,000001\n"),
            "line 3: the bucket does not follow the one above"
        );
        assert_eq!(
            refused("000001,000001\n000002,000001\n000003,000001\t000001\n"),
            "line 3: the row has another number of columns than those above"
        );
    }
}
