// SPDX-License-Identifier: MIT OR Apache-2.0
//! Jobs under SCHED_DEADLINE: those within their budget are on time, those beyond it are throttled
//! until their next period.

use crate::support::document::Document;
use crate::support::skipped::{Need, skipped};
use crate::support::{MILLISECOND, TestFolder, exclusive};

/// Whether this process may have SCHED_DEADLINE. A container may be refused it that has FIFO.
fn may_reserve_or_skip() -> bool {
    let lacks = probe::PROBES.iter().find(|probe| probe.name == "deadline").unwrap().lacks();
    lacks.map(|what| skipped(Need::RealTime, what)).is_none()
}

/// Jobs of this work, with a runtime of 20 ms in each 100 ms: the document, and the rows that ran,
/// as numbers and columns.
fn jobs(place: &TestFolder, work: &str, name: &str) -> (Document, Vec<Vec<i64>>) {
    let flags = format!("--runtime 20ms --work {work} -i 100ms -n 24 -t 1 --warmup 0");
    place.well(&format!("measure --probe deadline {flags} -q -o {name}"));
    place.well(&format!("verify {name}"));
    let document = place.document(name);
    document.assert_adds_up();
    let samples = place.well(&format!("export {name} --samples")).out;
    assert!(
        samples.starts_with(
            "thread,cpu,activation,planned_ns,latency_ns,on_cpu,done_ns,cpu_ns,over_budget,\
             deadline_missed\n0,,0,"
        ),
        "{samples}"
    );
    let ran = samples.lines().skip(1).filter(|line| !line.ends_with(','));
    let cells = |line: &str| line.split(',').skip(2).map(|cell| cell.parse().unwrap()).collect();
    (document, ran.map(cells).collect())
}

fn counts(document: &Document) -> [i64; 4] {
    ["due", "on_time", "late", "skipped"]
        .map(|name| document.whole(&format!("/threads/0/activations/{name}")))
}

#[test]
fn jobs_over_their_budget_are_throttled_in_each_period() {
    if !may_reserve_or_skip() {
        return;
    }
    let _turn = exclusive();
    let place = TestFolder::new();
    let (document, rows) = jobs(&place, "10ms", "within.teiji");
    let [due, on_time, ..] = counts(&document);
    // A hypervisor may keep one from its CPU.
    assert!(due == 24 && on_time >= 22, "{document:?}");
    for row in &rows {
        let [_, _, latency, _, done, cpu, over, missed] = row[..] else { panic!("{row:?}") };
        assert!((10 * MILLISECOND..11 * MILLISECOND).contains(&cpu) && over == 0, "{row:?}");
        assert_eq!(missed, i64::from(done > 100 * MILLISECOND), "{row:?}");
        assert!(latency >= 0 && done >= latency + cpu, "{row:?}");
    }
    // What was granted is in the recording, and no CPU that it was pinned to.
    assert_eq!(
        (document.text("/threads/0/scheduling/policy"), document.text("/run/scheduling/policy")),
        ("deadline", "deadline")
    );
    assert!(
        !document.has("/threads/0/nice") && document.at("/threads/0/pinned") == false,
        "{document:?}"
    );
    let show = place.well("show within.teiji").out;
    assert!(show.contains("SCHED_DEADLINE on Linux") && show.contains(" any "), "{show}");
    place.well("report within.teiji -o within.html --md within.md");
    assert!(!place.read("within.html").contains("CPU null"));

    // 20 ms in the first period, 20 in the second, 10 in the third: done after 2 x 100 + 10 ms.
    // Kernels that throttle at the tick only let it have up to 4 ms more each time, which it
    // has to pay back.
    let (document, rows) = jobs(&place, "50ms", "over.teiji");
    let [due, on_time, late, skipped] = counts(&document);
    assert!(due == 24 && on_time == 0 && late >= 6 && skipped >= 14, "{document:?}");
    assert_eq!(i64::try_from(rows.len()), Ok(late));
    let mut done: Vec<i64> = rows.iter().map(|row| row[4]).collect();
    done.sort_unstable();
    let median = done[done.len() / 2];
    assert!((200 * MILLISECOND..=230 * MILLISECOND).contains(&median), "{done:?}");
    assert!(
        rows.iter().all(|row| row[5] >= 50 * MILLISECOND && row[6] == 1 && row[7] == 1),
        "{rows:?}"
    );
    // Each job missed its deadline, those too that never ran.
    let show = place.well("show over.teiji").out.replace('\n', " ");
    assert!(show.contains("skipped, 24 deadlines missed."), "{show}");
    let gate = place.teiji("gate over.teiji --limit deadline_missed==0 --limit done<1s");
    assert!(
        gate.code == Some(1)
            && gate.out.contains("FAIL  deadline_missed==0\n        24 in 24 activations\n")
            && gate.out.contains("pass  done<1s\n"),
        "{gate:?}"
    );
}

#[test]
fn what_admission_control_refuses() {
    let place = TestFolder::new();
    for (flags, error) in [
        (
            "--runtime 2ms",
            "'runtime' of the probe deadline is impossible here: 2ms is longer than the deadline, \
             1ms",
        ),
        (
            "--deadline 2ms",
            "'deadline' of the probe deadline is impossible here: 2ms is longer than the period",
        ),
        (
            "--policy fifo",
            "'policy' of the probe deadline is impossible here: its threads run under \
             SCHED_DEADLINE",
        ),
        (
            "-p 50",
            "'policy' of the probe deadline is impossible here: its threads run under \
             SCHED_DEADLINE",
        ),
        ("-a 0", "threads under SCHED_DEADLINE cannot be pinned"),
        (
            "--work 5s",
            "'work' of the probe deadline is impossible here: with 200us in each 1ms a job of 5s \
             takes",
        ),
    ] {
        let output = place.teiji(&format!("measure --probe deadline {flags} -t 1 -q -o x.teiji"));
        assert!(output.code == Some(2) && output.err.contains(error), "{flags}: {output:?}");
    }
    let output = place.teiji("measure --policy deadline -t 1 -q -o x.teiji");
    assert!(output.code == Some(2) && output.err.contains("use --probe deadline"), "{output:?}");
    if !may_reserve_or_skip() {
        return;
    }
    let _turn = exclusive();
    // More than there are CPUs.
    let output =
        place.teiji("measure --probe deadline --runtime 990us -i 1ms -t 300 -q -o x.teiji");
    assert!(
        output.code == Some(4)
            && output.err.contains("admission control has not so much bandwidth left"),
        "{output:?}"
    );
    assert!(!place.join("x.teiji").exists());
}
