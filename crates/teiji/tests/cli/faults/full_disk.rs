// SPDX-License-Identifier: MIT OR Apache-2.0
//! A disk without room: a run that cannot be recorded does not begin, and one whose disk fills up
//! ends early with what was written valid and what was not written counted.
//!
//! The disk is a tmpfs of 1 MB, mounted where only one shell and its children see it, so that it is
//! gone with them.

use crate::support::document::Document;
use crate::support::skipped::{Need, skipped};
use crate::support::{Output, Running, TEIJI, TestFolder, beside_others};
use std::process::Command;

/// A shell that may mount; none where nobody lets us.
fn mounting(place: &TestFolder) -> Option<Command> {
    // As root there is no need of a namespace for users, and some systems forbid them.
    let ways: [&[&str]; 2] = [&["--mount"], &["--mount", "--map-root-user"]];
    ways.into_iter().find_map(|way| {
        let unshare = || {
            let mut command = place.command("unshare");
            command.args(way).args(["sh", "-euc"]);
            command
        };
        let mut attempt = unshare();
        attempt.arg("mount -t tmpfs -o size=1m tmpfs .");
        (Running::start(attempt).end().code == Some(0)).then(unshare)
    })
}

/// Runs a script that finds the small disk below `disk`, and teiji as `$TEIJI`. None, with the
/// reason said, where nothing can be mounted.
fn on_small_disk(place: &TestFolder, script: &str) -> Option<Output> {
    let Some(mut shell) = mounting(place) else {
        skipped(
            Need::Mount,
            "this user may not mount a file system, nor make a namespace in which to",
        );
        return None;
    };
    std::fs::create_dir_all(place.join("disk")).unwrap();
    shell.env("TEIJI", TEIJI).arg(format!("mount -t tmpfs -o size=1m tmpfs disk; {script}"));
    Some(Running::start(shell).end())
}

/// A script's outcome where all of its commands should succeed.
fn assert_well(output: &Output) {
    assert_eq!(output.code, Some(0), "{output:?}");
}

#[test]
fn nothing_is_left_on_a_disk_that_was_full() {
    let _turn = beside_others();
    let place = TestFolder::on_disk();
    let script = "
        cat /dev/zero > disk/filler 2> /dev/null || true
        code=0; \"$TEIJI\" measure -d 1s -o disk/x.teiji > out 2> err || code=$?
        echo $code > code; ls -A disk > left";
    let Some(output) = on_small_disk(&place, script) else { return };
    assert_well(&output);
    let err = place.read("err");
    assert_eq!(
        (place.read("code").as_str(), place.read("out").as_str(), place.read("left").as_str()),
        ("4\n", "", "filler\n"),
        "{err}"
    );
    assert!(err.contains("disk/x.teiji") && err.contains("No space left on device"), "{err}");
}

/// What is written of recordings that are there: nothing is wrong with the command line.
#[test]
fn a_report_without_room() {
    let _turn = beside_others();
    let place = TestFolder::on_disk();
    place.well("measure -n 20 --warmup 0 -o x.teiji");
    let script = "
        head -c 1000K /dev/zero > disk/filler
        code=0; \"$TEIJI\" report x.teiji -o disk/report.html > out 2> err || code=$?
        echo $code > code; ls -A disk > left";
    let Some(output) = on_small_disk(&place, script) else { return };
    assert_well(&output);
    let err = place.read("err");
    assert_eq!(
        (place.read("code").as_str(), place.read("left").as_str()),
        ("4\n", "filler\n"),
        "{err}"
    );
    assert!(err.contains("cannot write disk/report.html: No space left on device"), "{err}");
}

#[test]
fn a_disk_that_may_only_be_read() {
    let place = TestFolder::on_disk();
    let script = "
        mount -t tmpfs -o ro tmpfs disk
        code=0; \"$TEIJI\" measure -d 1s -o disk/x.teiji > out 2> err || code=$?
        echo $code > code";
    let Some(output) = on_small_disk(&place, script) else { return };
    assert_well(&output);
    assert_eq!((place.read("code").as_str(), place.read("out").as_str()), ("2\n", ""));
    let err = place.read("err");
    assert!(
        err.ends_with(
            "error: cannot make the folder disk/x.teiji: Read-only file system (os error 30)\n"
        ),
        "{err}"
    );
}

#[test]
fn a_disk_that_fills_up_ends_the_run_and_keeps_what_was_written() {
    let _turn = beside_others();
    let place = TestFolder::on_disk();
    let script = "
        code=0; \"$TEIJI\" measure -i 50us -d 20s -t 2 -o disk/x.teiji > out 2> err || code=$?
        echo $code > code
        \"$TEIJI\" show disk/x.teiji > shown
        \"$TEIJI\" verify disk/x.teiji
        cp -r disk/x.teiji kept.teiji";
    let Some(output) = on_small_disk(&place, script) else { return };
    let err = place.read("err");
    assert_eq!((place.read("code").as_str(), output.code), ("4\n", Some(0)), "{err}\n{output:?}");
    assert!(
        err.contains("No space left on device") && err.contains("disk/x.teiji/samples-"),
        "{err}"
    );
    // The summary of what there is comes nevertheless, now and later.
    for summary in [place.read("out"), place.read("shown")] {
        assert!(
            summary.contains("\n✗ Stopped early: writing it failed")
                && summary.contains(" lost, with unknown latencies"),
            "{summary}"
        );
    }
    let document = place.document("kept.teiji");
    assert_kept_what_was_written(&document);
    let mut names = place.listing();
    names.retain(|name| name.starts_with("kept.teiji/"));
    let samples = ["samples-0.arrows", "samples-0.sums", "samples-1.arrows", "samples-1.sums"];
    let known = ["host-after.json", "host-before.json", "run.json"].into_iter().chain(samples);
    assert_eq!(names, known.map(|name| format!("kept.teiji/{name}")).collect::<Vec<_>>());
}

fn assert_kept_what_was_written(document: &Document) {
    assert_eq!(
        (document.text("/state"), document.text("/end/reason")),
        ("stopped", "recording-failed")
    );
    assert!(document.text("/end/error").contains("No space left on device"));
    document.assert_adds_up();
    assert!(document.warns_of("samples-lost"));
    let (mut counted, mut lost) = (0, 0);
    for thread in document.threads() {
        // It ended early, and not at once.
        let due = thread.whole("/activations/due");
        assert!((5_000..300_000).contains(&due), "{due}");
        counted += thread.counted();
        lost += thread.whole("/evidence/samples_lost");
    }
    assert!(lost > 0 && counted > 20_000, "{counted} on disk, {lost} lost");
}

/// Whatever is missing when the run begins: it is recorded, or it never was.
#[test]
fn all_or_nothing_at_every_filling() {
    let _turn = beside_others();
    let place = TestFolder::on_disk();
    let script = "
        for filled in 0 100 300 500 600 700 750 800 850 900 950 990 1000; do
            head -c ${filled}K /dev/zero > disk/filler || true
            code=0; \"$TEIJI\" measure -n 20 -i 1ms --warmup 0 -o disk/x.teiji > out 2> err || \
                  code=$?
            echo $filled $code $(ls disk | wc -w)
            if test -e disk/x.teiji; then \"$TEIJI\" show disk/x.teiji > shown; \"$TEIJI\" verify \
                  disk/x.teiji > verified; fi
            rm -r disk/*
        done";
    let Some(output) = on_small_disk(&place, script) else { return };
    assert_well(&output);
    let results: Vec<Vec<u32>> = output
        .out
        .lines()
        .map(|line| line.split(' ').map(|word| word.parse().unwrap()).collect())
        .collect();
    for result in &results {
        assert!(
            matches!(result[1..], [0, 2] | [4, 1]),
            "of filling, exit code and names on the disk: {result:?} of {results:?}"
        );
    }
    assert_eq!((results[0][1], results[12][1]), (0, 4), "{results:?}");
}

/// No other run finds room either: the plan ends, and what was recorded stays.
#[test]
fn a_plan_whose_disk_fills_up_keeps_what_was_recorded() {
    let _turn = beside_others();
    let place = TestFolder::on_disk();
    std::fs::write(
        place.join("plan.toml"),
        "[measure]\ninterval = '50us'\nduration = '20s'\n[vary]\nprio = [10, 20]\n",
    )
    .unwrap();
    let script = "
        code=0; \"$TEIJI\" run plan.toml -q -o disk/x > out 2> err || code=$?
        echo $code > code
        cp -r disk/x kept";
    let Some(output) = on_small_disk(&place, script) else { return };
    assert_well(&output);
    let err = place.read("err");
    assert_eq!(place.read("code"), "4\n", "{err}");
    let name = "kept/incomplete/01-prio=10.teiji";
    assert!(
        err.contains("it stopped, because it could not be recorded")
            || err.contains("No space left on device"),
        "{err}"
    );
    assert!(err.contains("Its recording is in disk/x/incomplete/01-prio=10.teiji"), "{err}");
    assert!(
        err.contains("stopped because nothing more can be written") && !err.contains("run 2 of 2"),
        "{err}"
    );
    assert_kept_what_was_written(&place.document(name));
}

/// What a command found, and could not say.
#[test]
fn output_that_cannot_be_written_is_an_error() {
    let _turn = beside_others();
    let place = TestFolder::on_disk();
    place.well("measure -n 20 --warmup 0 -o x.teiji");
    std::fs::write(place.join("plan.toml"), "[measure]\nsamples = 20\n[vary]\nprio = [10, 20]\n")
        .unwrap();
    place.well("run plan.toml -q -o plan");
    let into = |to: &str, words: &str| {
        let mut shell = place.command("sh");
        shell.env("TEIJI", TEIJI).args(["-c", &format!("\"$TEIJI\" {words} {to}")]);
        Running::start(shell).end()
    };
    for words in [
        "measure -n 20 --json -q -o a.teiji",
        "measure -n 20 -q -o b.teiji",
        "show x.teiji --json",
        "show x.teiji",
        "show plan --csv",
        "gate x.teiji --limit 'max<1ns'",
        "gate x.teiji --limit 'max<100s' --json",
        "compare x.teiji x.teiji --json",
        "compare x.teiji x.teiji",
        "verify x.teiji",
        "export x.teiji --samples",
        "report x.teiji -o x.html",
        "plan-length --rate 1e-3",
        "plans",
        "run plan.toml --dry-run",
        "load cpu@10% -d 1s",
        "hackbench -g 1 -l 1",
        "lab kernels",
        "show --help",
        "--version",
    ] {
        let output = into("> /dev/full", words);
        assert_eq!(output.code, Some(4), "{words}: {output:?}");
        assert_eq!(
            output.err.matches("No space left on device").count(),
            1,
            "{words}: {}",
            output.err
        );
    }
    for words in ["show x.teiji --json", "gate x.teiji --limit 'max<100s'", "show --help"] {
        let output = into("| true", words);
        assert_eq!(
            (output.code, output.err.as_str()),
            (Some(0), ""),
            "a reader that has gone away: {words}"
        );
    }
    let output = into("> /dev/full", "show missing.teiji");
    assert_eq!(output.code, Some(2), "{output:?}");
}
