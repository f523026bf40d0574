// SPDX-License-Identifier: MIT OR Apache-2.0
//! The rows of a histogram of cyclictest of which somebody made a file for a spreadsheet or a plot:
//! commas or tabs (`tr " " ","`, `tr " " "\t"`), and without the lines above and below it.

use super::cyclictest::CYCLICTEST;
use super::histogram::{MAX_COLUMNS, Row, histogram};
use super::numbers::whole;
use super::{Import, ImportError, Lines};

/// Digits of each number at least, as cyclictest prints it.
const DIGITS: usize = 6;

/// `000016,000109\t000079`.
fn row(line: &str) -> Option<Row> {
    let number = |text: &str| whole(text).filter(|_| text.trim().len() >= DIGITS);
    let (bucket, counts) = line.trim_end().split_once([',', '\t', ' '])?;
    let counts = counts.trim_end_matches(',').split(['\t', ',', ' ']);
    let counts: Vec<u64> = counts.map(number).take(MAX_COLUMNS + 1).collect::<Option<_>>()?;
    Some((number(bucket)?, counts))
}

/// Rows that rise by one each before they are known as such: other tables have numbers with zeros
/// before them, too.
const ROWS: usize = 5;

/// Whether such rows begin here.
pub(crate) fn begins(lines: &[&str]) -> bool {
    // The first of them is small.
    if !lines.first().is_some_and(|line| line.starts_with('0')) {
        return false;
    }
    let rows: Vec<Row> = lines.iter().take(ROWS).map_while(|line| row(line)).collect();
    rows.len() == ROWS
        && rows.windows(2).all(|two| {
            two[0].0.checked_add(1) == Some(two[1].0) && two[0].1.len() == two[1].1.len()
        })
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
    use crate::tests::{figures, imported, refused};
    use model::Unknown;

    /// Rows below which others stand.
    const HEAD: &str =
        "000204,000000\n000205,000000\n000206,000000\n000207,000000\n000208,000000\n";

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
        let one = imported(&format!("{HEAD}000209,000000\n000210,001800\n000211,000007\n"));
        let of = one[0].document.threads[0].latency_ns.unwrap();
        assert_eq!((of.count, of.min, of.max), (1_807, 210_000, 211_000));
        // Where a tab stands behind the last number.
        assert_eq!(imported(&HEAD.replace("0\n", "1\t\n")).len(), 1);
    }

    /// As OSADL's script for plots makes it: without comments, and with tabs.
    #[test]
    fn tabs_in_the_place_of_blanks() {
        let rows = |text: &str| {
            let rows: Vec<&str> = text.lines().filter(|line| line.starts_with('0')).collect();
            imported(&(rows.join("\n") + "\n").replace(' ', "\t")).remove(0).document
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

    /// Such as those of post codes.
    #[test]
    fn other_numbers_with_zeros_before_them() {
        for text in [
            "010115,000012\n010117,000014\n010119,000011\n010178,000010\n010179,000007\n",
            "000001,000012\n000002,000014\n000003,000011\n000004,000010\n",
            "000001,12\n000002,14\n000003,11\n000004,10\n000005,10\n",
        ] {
            let why = refused(text);
            assert!(!why.contains("bucket"), "{why}");
        }
    }

    #[test]
    fn numbers_beyond_any() {
        let most = u64::MAX;
        assert_eq!(refused(&format!("{HEAD}{most},000001\n")), "line 7: no latency is so large");
        let of = |overflows: u64| {
            format!("{HEAD}000209,{most}\n000210,000001\n# Histogram Overflows: {overflows}\n")
        };
        assert!(refused(&of(most)).contains("thread 0: a bucket of"));
    }

    #[test]
    fn what_is_damaged_is_named_with_its_line() {
        assert_eq!(
            refused(&format!("{HEAD}000209,000001\n000209,000001\n")),
            "line 7: the bucket does not follow the one above"
        );
        assert_eq!(
            refused(&format!("{HEAD}000209,000001\t000001\n")),
            "line 6: the row has another number of columns than those above"
        );
    }
}
