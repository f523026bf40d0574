// SPDX-License-Identifier: MIT OR Apache-2.0
//! SIGKILL, the power cut that can be tested: at most the last second is missing, what is there
//! says that it is not the whole, and nothing of ours goes on running.

use crate::support::processes::assert_gone;
use crate::support::{
    MILLISECOND, SECOND, TestFolder, beside_others, may_real_time, now, sleep_until, soon,
};
use rustix::process::Signal;

/// What may be missing: a second. Without rights the recorder cannot go ahead of a load on every
/// CPU, and comes as late as the scheduler lets it.
fn may_be_missing(load: &str) -> i64 {
    if load.is_empty() || may_real_time() { SECOND } else { 2 * SECOND }
}

/// Due activations by thread, from the table that `teiji show` prints.
pub fn due(shown: &str) -> Vec<i64> {
    let table =
        shown.lines().skip_while(|line| !(line.starts_with("thread ") && line.contains(" due ")));
    let rows = table
        .skip(1)
        .take_while(|line| !line.is_empty())
        .filter(|line| !line.trim_start().starts_with("all"));
    rows.map(|row| row.split_ascii_whitespace().nth(2).unwrap().replace(',', "").parse().unwrap())
        .collect()
}

/// Kills a run so long after its first activation.
fn killed_after(moment: i64, load: &str) {
    let _turn = beside_others();
    let place = TestFolder::on_disk();
    let running = place.start(&format!("measure -i 1ms -d 20s {load} -o x.teiji"));
    let threads = running.begun("x.teiji").threads();
    sleep_until(threads[0].whole("/start_ns") + moment);
    let processes = running.descendants();
    assert_eq!(processes.is_empty(), load.is_empty(), "{processes:?}");
    let killed = now();
    running.signal(Signal::KILL);
    assert_eq!(running.end().code, None);
    assert_gone(&processes);

    assert_eq!(place.document("x.teiji").text("/state"), "running");
    let shown = place.well("show x.teiji").out;
    assert!(
        shown.contains("\n✗ Incomplete: cut off, and at most its last second is missing\n"),
        "{shown}"
    );
    let due = due(&shown);
    assert_eq!(due.len(), threads.len(), "{shown}");
    for (due, thread) in due.iter().zip(threads) {
        let ran = killed - thread.whole("/start_ns");
        let (min, max) =
            (((ran - may_be_missing(load)) / MILLISECOND).max(0), (ran / MILLISECOND + 2).max(0));
        assert!(
            (min..=max).contains(due),
            "{due} activations of {} ms:\n{shown}",
            ran / MILLISECOND
        );
    }

    let verified = place.teiji("verify x.teiji");
    assert_eq!(verified.code, Some(1), "{verified:?}");
    assert!(verified.out.contains("state: recorded running"), "{verified:?}");
    let headline = place.well("report x.teiji").out;
    assert!(headline.contains("\n✗ Incomplete: cut off"), "{headline}");
}

#[test]
fn before_anything_was_written() {
    killed_after(300 * MILLISECOND, "");
}

#[test]
fn under_load() {
    killed_after(2_700 * MILLISECOND, "--load hackbench,groups=2");
}

#[test]
fn later() {
    killed_after(1_300 * MILLISECOND, "");
}

/// Within warm-up, when there is a document and no sample.
#[test]
fn during_warm_up() {
    killed_after(-50 * MILLISECOND, "");
}

/// Cut off, and damaged as well: every verb that reads says which file, and from where on. Nothing
/// is shown as if only the end was missing.
#[test]
fn cut_off_and_damaged() {
    let _turn = beside_others();
    let place = TestFolder::on_disk();
    let running = place.start("measure -i 1ms -d 20s -a 0 -o x.teiji");
    sleep_until(running.begun("x.teiji").threads()[0].whole("/start_ns") + 2_200 * MILLISECOND);
    running.signal(Signal::KILL);
    running.end();
    place.well("show x.teiji");
    let samples = place.join("x.teiji/samples-0.arrows");
    let good = std::fs::read(&samples).unwrap();
    let heads: Vec<usize> = (0..good.len() - 8)
        .step_by(8)
        .filter(|at| good[*at..*at + 4] == [0xff; 4] && good[at + 6..at + 8] == [0; 2])
        .collect();
    assert!(heads.len() > 3, "a schema and a batch twice a second: {heads:?}");
    let flipped = |at: usize| {
        let mut bytes = good.clone();
        bytes[at] ^= 0x10;
        Some(bytes)
    };
    let after_rows = "error: x.teiji/samples-0.arrows is damaged after row ";
    let exportable = "Its rows before that can still be exported";
    for (what, bytes, expected) in [
        ("the schema", flipped(8), [after_rows, "row 0: "]),
        (
            "what the file says of itself",
            flipped(good.windows(9).position(|label| label == b"teiji.cpu").unwrap()),
            [after_rows, "teiji.cpu is nothing"],
        ),
        ("a batch's first byte", flipped(heads[2]), [after_rows, exportable]),
        ("a value", flipped(heads[2] + 700), [after_rows, exportable]),
        ("a batch's length", flipped(heads[2] + 6), [after_rows, exportable]),
        (
            "all behind the first batch but a few zeros",
            Some([&good[..heads[2]], &[0; 100], &good[heads[2] + 100..]].concat()),
            [after_rows, exportable],
        ),
        ("all but the end", Some(good[..4].to_vec()), [after_rows, "row 0: "]),
        ("everything", Some(Vec::new()), [after_rows, "row 0: "]),
        ("the file", None, ["error: cannot read x.teiji/samples-0.arrows: ", "No such file"]),
    ] {
        match &bytes {
            Some(bytes) => std::fs::write(&samples, bytes).unwrap(),
            None => std::fs::remove_file(&samples).unwrap(),
        }
        for verb in [
            "show x.teiji",
            "show --json x.teiji",
            "show --csv x.teiji",
            "show --md x.teiji",
            "show --figure max x.teiji",
        ]
        .into_iter()
        .chain([
            "show --limit max<1s x.teiji",
            "gate --limit max<1s x.teiji",
            "verify x.teiji",
            "report x.teiji",
        ])
        .chain([
            "report --md x.md x.teiji",
            "compare x.teiji x.teiji",
            "export --histogram x.teiji",
        ]) {
            let output = place.teiji(verb);
            assert_eq!(
                (output.code, output.out.as_str()),
                (Some(2), ""),
                "{what}: {verb}: {output:?}"
            );
            assert!(
                expected.iter().all(|part| output.err.contains(part)),
                "{what}: {verb}: {expected:?} in {output:?}"
            );
        }
        assert!(
            place.listing().iter().all(|name| name.starts_with("x.teiji")),
            "{what}: nothing is drawn: {:?}",
            place.listing()
        );
        let exported = place.teiji("export --samples x.teiji");
        assert_eq!(exported.code, Some(2), "{exported:?}");
        assert_eq!(
            exported.out.lines().count() > 1,
            expected[1] == exportable,
            "{what}: {exported:?}"
        );
    }
    // What is merely not written yet is no damage.
    std::fs::write(&samples, &good[..good.len() - 20]).unwrap();
    let shown = place.well("show x.teiji").out;
    assert!(
        shown.contains("\n✗ Incomplete: cut off, and at most its last second is missing\n"),
        "{shown}"
    );
}

/// Before there is anything to say: what is there can be opened, or is not there.
#[test]
fn while_loads_start() {
    let _turn = beside_others();
    for wait in [0, 10, 40] {
        let place = TestFolder::on_disk();
        let running = place.start("measure -i 1ms -d 20s --load hackbench,groups=20 -o x.teiji");
        // Not its listing: a folder may be renamed while that looks into it.
        soon("there is something", || std::fs::read_dir(place.path()).unwrap().next().is_some());
        sleep_until(now() + wait * MILLISECOND);
        running.signal(Signal::KILL);
        running.end();
        if place.join("x.teiji").exists() {
            let output = place.teiji("show x.teiji");
            assert_eq!(
                output.code,
                Some(0),
                "{wait} ms later there are {:?}: {output:?}",
                place.listing()
            );
        }
    }
}
