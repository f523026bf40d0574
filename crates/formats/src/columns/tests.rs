// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is read of tables, and what is not.

use super::*;
use crate::ImportOptions;
use crate::tests::{imported, of_file, refused};
use model::{Detail, Recorded, Unknown};
use std::fmt::Write;

const SAMPLE: &str = include_str!("../samples/columns-decimal-comma.csv");

fn in_unit(text: &str, unit_ns: i64) -> Result<Vec<Recorded>, String> {
    let options = ImportOptions { unit_ns: Some(unit_ns), ..ImportOptions::default() };
    of_file(text.as_bytes(), options).map_err(|error| error.to_string())
}

/// Of each thread: how many, the smallest and the largest.
fn figures(recorded: &Recorded) -> Vec<(u64, i64, i64)> {
    let threads = recorded.document.threads.iter();
    threads.map(|of| of.latency_ns.unwrap()).map(|of| (of.count, of.min, of.max)).collect()
}

fn only(text: &str) -> Recorded {
    let mut all = imported(text);
    assert_eq!(all.len(), 1);
    all.remove(0)
}

fn says(recorded: &Recorded, what: &str) -> Vec<String> {
    let imported = recorded.document.imported.as_ref().unwrap();
    let said = imported.says.iter().filter(|said| said.what == what);
    said.map(|said| said.text.clone()).collect()
}

/// Rows of numbers, below a heading.
fn table(heading: &str, rows: &[&str]) -> String {
    rows.iter().fold(format!("{heading}\n"), |text, row| text + row + "\n")
}

#[test]
fn columns_of_different_things_are_recordings_of_their_own() {
    let all = imported(SAMPLE);
    let found: Vec<_> = all.iter().map(figures).collect();
    assert_eq!(
        found,
        [
            [(40, 1_333_000, 1_585_000)],
            [(40, 1_751_000, 3_770_000)],
            [(40, 10_314_000, 34_842_000)]
        ]
    );
    assert_eq!(says(&all[1], "thread 0: name"), ["Tuned guest (ms)"]);
    let source = all[0].document.imported.as_ref().unwrap();
    assert_eq!((source.format.as_str(), source.resolution_ns), ("columns", 1_000));
    assert!(source.lacks(Unknown::Interval) && !source.lacks(Unknown::Unit));
    assert_eq!(all[0].document.threads[0].detail, Detail::Samples);
}

#[test]
fn the_unit_is_in_the_heading_or_has_to_be_said() {
    let rows = ["12", "15", "11", "90", "13"];
    for heading in
        ["latency_us", "us", "# latency [us]", "Latency (\u{b5}s)", "\"delay, us\"", "# in us"]
    {
        assert_eq!(figures(&only(&table(heading, &rows))), [(5, 11_000, 90_000)], "{heading}");
    }
    for heading in ["latency", "", "value"] {
        assert_eq!(
            refused(table(heading, &rows).trim_start()),
            "line 1: the unit of the values is not said: say the unit with --unit"
        );
        let one = in_unit(&table(heading, &rows), 1).unwrap();
        assert_eq!(figures(&one[0]), [(5, 11, 90)]);
    }
    // What a heading says counts.
    assert_eq!(figures(&in_unit(&table("ms", &rows), 1).unwrap()[0])[0].1, 11_000_000);
}

#[test]
fn separators() {
    let expected = [(5, 1_000, 5_500), (5, 10_000, 50_000)];
    for separator in [";", "\t", ",", ", ", " ", "  ", " | "] {
        let mut text = format!("CPU 0 (us){separator}CPU 3 (us)\n");
        for row in ["1.0", "2.0", "5.5", "3", "4"] {
            let tens = row.split('.').next().unwrap();
            writeln!(text, "{row}{separator}{tens}0").unwrap();
        }
        let one = only(&text);
        assert_eq!(figures(&one), expected, "'{separator}'");
        // Single blanks do not say how many headings there are.
        let cpus: Vec<u32> = one.document.threads.iter().map(|of| of.cpu.0).collect();
        assert_eq!(cpus, if separator == " " { [0, 1] } else { [0, 3] }, "'{separator}'");
    }
    let markdown = "Some text.\n\n| thread 1 (us) | thread 2 (us) |\n|---|--:|\n| 1 | 10 |\n\
                    | 2 | 20 |\n| 3 | 30 |\n| 4 | 40 |\n| 5.5 | 50 |\n\nMore text.\n";
    assert_eq!(figures(&only(markdown)), expected);
}

#[test]
fn commas_are_read_only_where_it_is_sure_what_they_are() {
    let of =
        |rows: &[&str]| of_file(table("latency (ms)", rows).as_bytes(), ImportOptions::default());
    let rows = ["1,533", "1,408", "2,100", "3,000", "1,449"];
    let why = of(&rows).unwrap_err().to_string();
    assert!(why.starts_with("line 2: no number shows whether commas are decimal"), "{why}");
    let decimal = of(&[&rows[..], &["0,9"]].concat()).unwrap();
    assert_eq!(figures(&decimal[0]), [(6, 900_000, 3_000_000)]);
    let thousands = of(&[&rows[..], &["1,234,567"]].concat()).unwrap();
    assert_eq!(figures(&thousands[0]), [(6, 1_408_000_000, 1_234_567_000_000)]);
    let both = of(&[&rows[..], &["0,9", "1,234,567"]].concat()).unwrap_err();
    assert_eq!(
        both.to_string(),
        "line 8: '1,234,567' is written in another way than numbers above it"
    );
    // One number or two.
    let why = in_unit(&rows.join("\n"), 1_000).unwrap_err();
    assert!(why.starts_with("line 1: '1,533' may be one number or two"), "{why}");
    let two = only(&table("load,latency_ms", &rows));
    assert_eq!(figures(&two), [(5, 0, 533_000_000)]);
}

#[test]
fn an_index_and_a_time_are_known_by_their_headings() {
    let rows = ["0 1.5 12", "1 1.501 15", "2 1.502 11", "3 1.503 90", "4 1.6 13"];
    let one = only(&table("# idx t latency_us", &rows));
    assert_eq!(figures(&one), [(5, 11_000, 90_000)]);
    assert_eq!(says(&one, "column left out"), ["t"]);
    // A heading of other columns says nothing of these.
    let misfit = refused(&table("# time (s) latency_us", &rows));
    assert_eq!(misfit, "no output of a known format is in it");
    let timed = only(&table("idx time_s latency_us", &rows));
    assert_eq!(figures(&timed), [(5, 11_000, 90_000)]);
    assert_eq!(timed.document.probe.rows, RowKind::Events);
    let left_out = only(&table("idx load latency_us", &rows));
    assert_eq!(left_out.document.probe.rows, RowKind::Activations);
    assert_eq!(says(&left_out, "column left out"), ["load"]);
    let back = table("idx time_s latency_us", &rows) + "5 1.4 12\n";
    assert_eq!(refused(&back), "line 7: the time is before the one above");
}

#[test]
fn a_histogram_is_one_only_by_its_heading() {
    let rows = ["10,5", "11,100", "12,7", "13,0", "20,1"];
    let one = only(&table("latency_us,count", &rows));
    assert_eq!(one.document.threads[0].detail, Detail::Histogram);
    assert_eq!(figures(&one), [(113, 10_000, 20_000)]);
    assert!(one.document.imported.as_ref().unwrap().lacks(Unknown::Beyond));
    let two = only(&table(
        "bucket_us,cpu0,cpu1",
        &rows.map(|row| format!("{row},2")).each_ref().map(String::as_str),
    ));
    assert_eq!(figures(&two), [(113, 10_000, 20_000), (10, 10_000, 20_000)]);
    assert_eq!(two.document.threads[1].cpu, CpuId(1));
    let threads = only(&table("lat1_us,lat2_us", &rows));
    assert_eq!(figures(&threads), [(5, 10_000, 20_000), (5, 0, 100_000)]);
    let part = table("latency_us,count", &rows) + "21,1.5\n";
    assert_eq!(refused(&part), "line 7: the count is no whole number");
}

/// 150 us in bins of 100 us were 100 us.
#[test]
fn a_value_is_somewhere_in_its_bin() {
    let rows = ["0,3", "100,7", "200,0", "400,1", "500,0"];
    let buckets = |heading: &str| {
        let one = only(&table(heading, &rows)).document;
        let buckets = one.threads[0].histogram_ns.buckets.iter();
        buckets.map(|of| (of.lower, of.upper, of.count)).collect::<Vec<_>>()
    };
    let wide = [(0, 99_000, 3), (100_000, 199_000, 7), (400_000, 499_000, 1)];
    assert_eq!(buckets("bin_us,count"), wide);
    // These are latencies, whatever was left out between them.
    assert_eq!(buckets("latency_us,count"), wide.map(|(lower, _, count)| (lower, lower, count)));
}

#[test]
fn a_byte_order_mark_says_that_it_is_utf_16() {
    let text = format!("\u{feff}{}", table("latency_us", &["1", "20", "3", "7", "5", "6"]));
    for bytes in [u16::to_le_bytes, u16::to_be_bytes] {
        let content: Vec<u8> = text.encode_utf16().flat_map(bytes).collect();
        let all = of_file(&content, ImportOptions::default()).unwrap();
        assert_eq!(figures(&all[0]), [(6, 1_000, 20_000)]);
        // Cut within its last number.
        let cut = &content[..content.len() - 2];
        assert!(of_file(cut, ImportOptions::default()).is_err());
    }
}

#[test]
fn columns_may_end_before_others() {
    let rows = ["1;10", "2;20", "3;30", "4;40", "5;50", "6;", "7;", "8;"];
    let one = only(&table("t1 (us);t2 (us)", &rows));
    assert_eq!(figures(&one), [(8, 1_000, 8_000), (5, 10_000, 50_000)]);
    let gap = table("t1 (us);t2 (us)", &rows) + "9;90\n";
    assert_eq!(refused(&gap), "line 10: the field above is empty: which rows it lacks is unknown");
}

#[test]
fn nothing_that_stands_in_a_log_by_chance() {
    let none = "no output of a known format is in it";
    let vmstat = "procs -----------memory---------- -system-- ------cpu-----\n \
                  r  b   swpd   free  in   cs us sy id wa st\n";
    let row = " 1  0      0 512844 100  200  5  1 94  0  0\n";
    assert_eq!(refused(&format!("{vmstat}{}", row.repeat(8))), none);
    let rows = "1 2 3\n".repeat(8);
    assert_eq!(refused(&format!("some text\n{rows}")), none);
    assert_eq!(refused(&format!("some text\nlatency of a b\n{rows}")), none);
    let in_log = "Nov 20 08:00:00 host 1 2 3\n".repeat(8);
    assert_eq!(refused(&in_log), none);
    assert_eq!(refused(&"1 2 3\n".repeat(4)), none, "too few");
    let log = format!("some text\nlatency_us\n{}", "7\n".repeat(8));
    assert_eq!(figures(&only(&log)), [(8, 7_000, 7_000)]);
}

#[test]
fn what_is_damaged_is_named_with_its_line() {
    let rows = ["1 2", "3 4", "5 6", "7 8", "9 10"];
    assert_eq!(
        in_unit(&(rows.join("\n") + "\n11\n"), 1_000).unwrap_err(),
        "line 6: the row is not 2 numbers as those above"
    );
    assert_eq!(
        in_unit(&(rows.join("\n") + "\nthe end\n"), 1_000).unwrap_err(),
        "line 6: the row is not 2 numbers as those above"
    );
    assert_eq!(
        refused(&(table("lat0_us lat1_us", &rows) + "11 1x\n")),
        "line 7: the row is not 2 numbers as those above"
    );
    assert_eq!(
        refused(&table("Min (us) Max (us)", &rows)),
        "line 1: 'Min (us)' is a figure of several latencies: rows of them are not read"
    );
    let large = in_unit(&(rows.join("\n") + "\n11 99999999999999999\n"), 1).unwrap_err();
    assert_eq!(large, "line 1: thread 1: no latency is so large");
}

/// Rows of which some would be left out without a word.
#[test]
fn no_table_ends_at_what_may_be_one_of_its_rows() {
    let rows = ["11", "12", "10", "13", "12"];
    for row in ["timeout", "nan", "NA", "\"\"", ">500", "OVERRUN", "the end"] {
        assert_eq!(
            refused(&(table("latency_us", &rows) + row + "\n9000\n")),
            "line 7: the row is no number as those above",
            "{row}"
        );
        assert!(refused(&(table("latency_us", &rows) + row + "\n")).starts_with("line 7: "));
        let behind = table("latency_us", &rows) + "\n" + row + "\n9000\n";
        assert!(refused(&behind).starts_with("line 8: the row is no "), "{row}");
    }
    let gap = table("latency_us", &rows) + "\n9000\n12\n";
    assert_eq!(refused(&gap), "line 7: the row is no number as those above");
    let nameless = in_unit(&(rows.join("\n") + "\n\n9000\n"), 1_000).unwrap_err();
    assert_eq!(nameless, "line 6: the row is no number as those above");
    for end in ["\n\n", "\nThat was the test.\n", "```\nSome text.\n"] {
        assert_eq!(figures(&only(&(table("latency_us", &rows) + end))), [(5, 10_000, 13_000)]);
    }
    assert_eq!(
        imported(&[table("latency_us", &rows), table("delay_us", &rows)].join("\n")).len(),
        2
    );
}

#[test]
fn headings_that_name_no_latency() {
    let rows = ["12.5,11.2", "13.0,11.9", "12.1,10.8", "13.1,11.1", "12.2,10"];
    for heading in [
        "price_us,price_eu",
        "speed_m_s,b",
        "requests/sec,b",
        "uptime_s,temperature",
        "start_ns,end_ns",
        "period_us,runtime_us",
        "lap,lap_time_s",
        "Percentage served,Time in ms",
        "elapsed_s,fan_ms",
        "a_us,b_us",
    ] {
        assert_eq!(
            refused(&table(heading, &rows)),
            "line 1: no heading names a latency",
            "{heading}"
        );
    }
    for heading in ["MaxLatency_us,b", "p75_us,p25_us", "run,peak (us)", "run,latency 99th (us)"] {
        assert!(refused(&table(heading, &rows)).contains("is a figure of several"), "{heading}");
    }
    for heading in ["latency_us,b", "latency [us],period_us", "lat_us,throughput_ops_per_s"] {
        assert_eq!(figures(&only(&table(heading, &rows))), [(5, 12_100, 13_100)], "{heading}");
    }
    let dollars = table("# Prices in US dollars", &["12", "15", "11", "90", "13"]);
    assert_eq!(refused(&dollars), "line 1: no heading names a latency");
}

#[test]
fn what_may_be_a_histogram_or_a_number_of_the_row_is_refused() {
    let rows = ["10,900", "11,50", "12,3", "13,2", "14,1"];
    for heading in ["latency_us,cpu0", "latency_us,number", "number,latency_us"] {
        let rows = rows.map(|row| match heading.starts_with('n') {
            true => row.split(',').rev().collect::<Vec<_>>().join(","),
            false => row.to_owned(),
        });
        let rows: Vec<&str> = rows.iter().map(String::as_str).collect();
        assert!(
            refused(&table(heading, &rows)).starts_with("line 1: it may be a histogram"),
            "{heading}"
        );
    }
    assert!(
        in_unit(&(rows.join("\n").replace(',', ";") + "\n"), 1_000)
            .unwrap_err()
            .starts_with("line 1: a column may be the number of the row")
    );
    let rows = ["10,900,900", "11,50,950", "12,3,953", "13,2,955", "14,1,956"];
    let one = only(&table("latency_us,count,cumulative", &rows));
    assert_eq!(figures(&one), [(956, 10_000, 14_000)]);
    let ends = refused(&table("bin_start_us,bin_end_us,count", &rows));
    assert!(ends.starts_with("line 1: which values"), "{ends}");
    let gap = ["0,10", "1,12", "2,11", "5,12", "6,11"];
    assert_eq!(
        refused(&table("cycle,latency_us", &gap)),
        "line 5: the row's number 5 does not follow 2"
    );
}

#[test]
fn rows_of_several_threads_are_told_apart() {
    let rows = ["4,0,10", "6,0,20", "4,1,11", "6,1,21", "4,2,12"];
    let one = only(&table("cpu,cycle,latency_us", &rows));
    assert_eq!(figures(&one), [(3, 10_000, 12_000), (2, 20_000, 21_000)]);
    let cpus: Vec<_> = one.document.threads.iter().map(|of| (of.cpu.0, of.pinned)).collect();
    assert_eq!(cpus, [(4, true), (6, true)]);
    let one = only(&table("thread,n,latency_us", &rows));
    assert_eq!(figures(&one)[1], (2, 20_000, 21_000));
    assert!(!one.document.threads[1].pinned);
    let moved = ["0,4,10", "1,5,20", "0,4,11", "1,6,21", "0,4,12"];
    assert_eq!(
        refused(&table("thread,cpu,latency_us", &moved)),
        "line 5: the thread is on another CPU than in its rows above"
    );
    let two = refused(&table("cpu,latency_us,jitter_us", &rows));
    assert_eq!(two, "line 1: rows of several threads have more than one latency");
    let counts = refused(&table("cpu,latency_us,count", &rows));
    assert_eq!(counts, "line 1: counts of several threads stand below one another");
}
