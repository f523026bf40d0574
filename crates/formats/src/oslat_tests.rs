// SPDX-License-Identifier: MIT OR Apache-2.0
use crate::tests::{imported, refused};
use model::Document;

/// Of each thread how many there are, the smallest, the mean to the ns, and the largest, ns.
fn figures(document: &model::Document) -> Vec<(u64, i64, f64, i64)> {
    let all = crate::tests::figures(document).into_iter();
    all.map(|(count, min, mean, max)| (count, min, mean.round(), max)).collect()
}

fn cpus(document: &Document) -> Vec<u32> {
    document.threads.iter().map(|thread| thread.cpu.0).collect()
}

/// The first and last buckets of a thread: from, to and how many.
fn ends(document: &Document, thread: usize) -> [(i64, i64, u64); 2] {
    let buckets = &document.threads[thread].histogram_ns.buckets;
    [buckets[0], buckets[buckets.len() - 1]].map(|one| (one.lower, one.upper, one.count))
}

fn says(document: &Document, what: &str) -> String {
    let says = &document.imported.as_ref().unwrap().says;
    says.iter().find(|said| said.what == what).map(|said| said.text.clone()).unwrap_or_default()
}

fn one(text: &str) -> Document {
    let mut all = imported(text);
    assert_eq!(all.len(), 1);
    let document = all.remove(0).document;
    assert_eq!(document.warnings, Vec::new());
    document
}

#[test]
fn rounded_up_in_a_log() {
    let document = one(include_str!("samples/oslat-1.10-in-a-log.txt"));
    assert_eq!(cpus(&document), [5, 6, 7]);
    assert_eq!(
        figures(&document),
        [
            (426_829_164, 1_000, 1_000.0, 3_000),
            (426_240_710, 1_000, 1_000.0, 3_000),
            (425_949_946, 1_000, 1_000.0, 9_000)
        ]
    );
    assert_eq!(ends(&document, 2), [(1_000, 1_000, 425_949_813), (4_000, 9_000, 2)]);
    assert_eq!(document.threads[0].scheduling.to_string(), "SCHED_FIFO 1");
    assert_eq!(document.command_line[..3], ["oslat", "-D", "10"]);
    let source = document.imported.as_ref().unwrap();
    assert_eq!((source.version.as_deref(), source.line), (Some("1.10"), 8));
    assert_eq!(says(&document, "rounding"), "values are rounded up to the next whole us");
    assert_eq!(says(&document, "Duration"), "9.984 9.984 9.984 (sec)");
    assert_eq!(says(&document, "Workload"), "no");
}

#[test]
fn rounded_up_in_a_document() {
    let document = one(include_str!("samples/oslat-2.4.json"));
    assert_eq!(figures(&document), [(121_113_772, 1_000, 1_001.0, 50_451_000)]);
    assert_eq!(cpus(&document), [1]);
    assert_eq!(ends(&document, 0), [(1_000, 1_000, 121_112_004), (32_000, 50_451_000, 201)]);
    assert_eq!(document.imported.as_ref().unwrap().version.as_deref(), Some("2.40"));
}

#[test]
fn gaps_between_rows() {
    let document = one(include_str!("samples/oslat-2.4-z.txt"));
    let all = figures(&document);
    assert_eq!((all[0].1, all[0].3, all[1].1, all[1].3), (1_000, 50_799_000, 1_000, 30_348_000));
    assert_eq!(ends(&document, 1)[1], (200_000, 30_348_000, 18));
}

/// Counted from a bias the first bucket holds all that is below it.
#[test]
fn bias_rounded_up() {
    let document = one(include_str!("samples/oslat-2.4-bias.txt"));
    let all = figures(&document);
    assert_eq!((all[0].1, all[0].2, all[0].3), (1_000, 2_001.0, 48_054_000));
    assert_eq!(ends(&document, 0)[0], (1_000, 2_000, 111_958_100));
    assert_eq!(ends(&document, 0)[1], (21_000, 48_054_000, 56));
}

#[test]
fn rounded_down_since_2_5() {
    let document = one(include_str!("samples/oslat-2.10-bias.txt"));
    let all = figures(&document);
    assert_eq!((all[1].1, all[1].2, all[1].3), (0, 1_001.0, 54_010_000));
    assert_eq!(ends(&document, 1), [(0, 0, 121_318_262), (19_000, 54_010_000, 121)]);
    assert!(says(&document, "rounding").starts_with("Average is the mean of the upper ends"));
}

/// With buckets to the ns the mean that oslat prints is more than its own buckets allow.
#[test]
fn buckets_of_any_width() {
    let document = imported(include_str!("samples/oslat-2.10-W1500.txt")).remove(0).document;
    assert_eq!(document.imported.as_ref().unwrap().resolution_ns, 1);
    let warning = format!("{:?}", document.warnings);
    assert!(warning.contains("stated: \"2.108 us\", found: \"0.018 to 1.505 us\""), "{warning}");
    let all = figures(&document);
    assert_eq!((all[0].1, all[0].2, all[0].3), (20, 1_503.0, 50_592_225));
    assert_eq!(ends(&document, 0), [(20, 1_499, 83_143_215), (43_500, 50_592_225, 6)]);
    let document = one(include_str!("samples/oslat-2.10-W5000.txt"));
    assert_eq!(ends(&document, 0), [(0, 4_000, 70_022_240), (95_000, 375_934_000, 3)]);
    assert_eq!(document.threads[0].histogram_ns.buckets[1].lower, 5_000);
}

/// In such a document the smallest and the largest are in ns, and the rest in µs.
#[test]
fn units_of_a_document_with_narrow_buckets() {
    let document = imported(include_str!("samples/oslat-2.10-W250.json")).remove(0).document;
    let all = figures(&document);
    assert_eq!((all[0].1, all[0].2, all[0].3), (20, 711.0, 52_036_722));
    assert_eq!(ends(&document, 0), [(20, 249, 83_191_854), (9_750, 52_036_722, 738)]);
}

/// 2.1 and 2.10 say the same of themselves.
#[test]
fn versions_of_one_name() {
    let table = |unit: &str, min: u32| {
        format!(
            "oslat V 2.10\n        Core:\t 3\nCounter Freq:\t 2597 ({unit})\n    001 (us):\t \
             9\n    002 (us):\t 0 (including overflows)\n     Minimum:\t {min} (us)\n     \
             Average:\t 1.000 (us)\n     Maximum:\t {min} (us)\n     Max-Min:\t 0 (us)\n    \
             Duration:\t 1.000 (sec)\n"
        )
    };
    assert_eq!(ends(&one(&table("Mhz", 1)), 0)[0], (1_000, 1_000, 9));
    assert_eq!(ends(&imported(&table("MHz", 0))[0].document, 0)[0], (0, 0, 9));
}

/// What a container's log puts before each line is left out.
#[test]
fn table_in_the_log_of_a_container() {
    let text = include_str!("samples/oslat-2.4-bias.txt");
    let line =
        |(at, line): (usize, &str)| format!("2026-11-28T14:00:{at:02}.12Z stdout F {line}\n");
    let document = one(&text.lines().enumerate().map(line).collect::<String>());
    assert_eq!(figures(&document), figures(&one(text)));
    assert_eq!(cpus(&document), [0, 1]);
}

#[test]
fn version_of_a_document_by_its_figures() {
    let document = one(include_str!("samples/oslat-2.10.json"));
    assert_eq!(document.imported.as_ref().unwrap().version.as_deref(), Some("2.10"));
    assert_eq!(figures(&document), [(42_211_248, 0, 1_002.0, 40_038_000)]);
    assert_eq!(ends(&document, 0), [(0, 0, 42_206_277), (31_000, 40_038_000, 18)]);
}

#[test]
fn what_is_damaged_is_named_with_its_line() {
    let whole = include_str!("samples/oslat-2.10-W5000.txt");
    let cut = |until: &str| whole.split_once(until).unwrap().0.to_owned();
    assert_eq!(refused(&cut("    070")), "line 17: the table ends before its figures");
    assert_eq!(
        refused(&whole.replace("\t 177", "\t 177 8")),
        "line 7: 020 (us): 2 values of 1 CPUs"
    );
    assert_eq!(
        refused(&whole.replace("020 (us)", "010 (us)")),
        "line 7: the bucket does not follow the one above"
    );
    assert_eq!(refused(&whole.replace("\t 177", "\t 17x")), "line 7: a count is no number");
    assert_eq!(
        refused("        Core:\t x\nCounter Freq:\t 1 (MHz)\n"),
        "line 2: the line above is no list of CPUs"
    );
    let stop = "oslat V 2.40\nTotal runtime: \t\t3 seconds\n\nTest starts...\n./oslat: Trace \
                threshold (20 us) triggered on cpu 1 with 27 us!\nStopping the test.\n";
    assert_eq!(
        refused(stop),
        "line 5: oslat stopped and printed no figures: ./oslat: Trace threshold (20 us) triggered \
         on cpu 1 with 27 us!"
    );
    assert_eq!(refused("oslat V 2.40\n"), "no output of a known format is in it");
}

#[test]
fn figures_that_contradict_one_another() {
    let whole = include_str!("samples/oslat-2.10-W5000.txt");
    let all = imported(&whole.replace("Max-Min:\t 375934", "Max-Min:\t 375933"));
    assert_eq!(all[0].document.warnings.len(), 1, "{:?}", all[0].document.warnings);
    let all = imported(&whole.replace("\t 3 (including overflows)", "\t 0 (including overflows)"));
    assert_eq!(all[0].document.warnings.len(), 1, "{:?}", all[0].document.warnings);
}
