// SPDX-License-Identifier: MIT OR Apache-2.0
//! A plan that was changed after a part of it was recorded: what is there was not made by it, and
//! is neither counted as done nor measured again in silence. What only the machine or the spelling
//! changes is no other plan.

use crate::support::{Output, TestFolder, beside_others};

const PLAN: &str =
    "[measure]\nsamples = 20\nthreads = 1\ninterval = '1ms'\n[vary]\nprio = [10, 20]\n";

/// A plan of which the first run is recorded.
fn begun(plan: &str) -> TestFolder {
    let place = TestFolder::new();
    std::fs::write(place.join("plan.toml"), plan).unwrap();
    place.well("run plan.toml -q -o out");
    place
}

/// Changes the plan in the folder, and goes on with it.
fn resumed(place: &TestFolder, from: &str, to: &str) -> Output {
    let text = place.read("out/plan.toml");
    assert!(text.contains(from), "{from} in {text}");
    std::fs::write(place.join("out/plan.toml"), text.replace(from, to)).unwrap();
    let before = place.listing();
    let output = place.teiji("run --resume out -q");
    assert_eq!(place.listing(), before);
    std::fs::write(place.join("out/plan.toml"), text).unwrap();
    output
}

#[test]
fn a_changed_setting_is_named_with_both_values() {
    let _turn = beside_others();
    let place = begun("[measure]\nsamples = 20\nthreads = 1\n");
    let output = resumed(&place, "samples = \"20\"", "samples = \"900\"");
    assert_eq!(output.code, Some(2), "{output:?}");
    let said = "error: out/01.teiji: samples was 20, and the plan now says 900. The plan was \
                changed after this was recorded. Run the changed plan in a new folder: teiji run \
                out/plan.toml -o NEW. Or move the recording out of the folder to measure that run \
                again\n";
    assert_eq!((output.err.as_str(), output.out.as_str()), (said, ""));
    assert_eq!(place.document("out/01.teiji").whole("/run/length/samples"), 20);
}

#[test]
fn whatever_was_changed_is_refused() {
    let _turn = beside_others();
    let place = begun(PLAN);
    for (from, to, said) in [
        (
            "samples = \"20\"",
            "samples = 21",
            "samples was 20, and the plan now says 21 (1 more like this)",
        ),
        (
            "samples = \"20\"",
            "duration = \"3s\"",
            "samples was 20, and the plan now says none (3 more like this)",
        ),
        ("\"1ms\"", "\"2ms\"", "interval was 1ms, and the plan now says 2ms (1 more like this)"),
        ("threads = \"1\"", "threads = 2", "threads was 1, and the plan now says 2"),
        ("[measure]", "[measure]\nwarmup = \"1ms\"", "warmup was 100ms, and the plan now says 1ms"),
        ("[measure]", "[measure]\naligned = true", "aligned was none, and the plan now says 0ns"),
        (
            "[measure]",
            "[measure]\nbreak-above = \"1s\"",
            "break-above was none, and the plan now says 1s",
        ),
        (
            "[measure]",
            "[measure]\ncatch-up = true",
            "catch-up was false, and the plan now says true",
        ),
        ("[measure]", "[measure]\nsettle = 0", "settle was auto, and the plan now says 0ns"),
        ("[measure]", "[measure]\nno-sync = true", "no-sync was false, and the plan now says true"),
        (
            "[measure]",
            "[measure]\npolicy = \"rr\"",
            "policy and prio was SCHED_FIFO 10, and the plan now says SCHED_RR 10",
        ),
        ("[measure]", "[measure]\nload = [\"cpu\"]", "load was none, and the plan now says cpu"),
        (
            "[measure]",
            "[measure]\nsleep = \"relative\"",
            "sleep was absolute, and the plan now says relative",
        ),
        (
            "[measure]",
            "[measure]\nprobe = \"spawn\"",
            "probe was cyclic, and the plan now says spawn",
        ),
        ("\"20\"]", "\"30\"]", "no run of the plan has this name"),
    ] {
        let output = resumed(&place, from, to);
        assert_eq!(output.code, Some(2), "{to}: {output:?}");
        assert!(output.err.contains(said), "{to}: {output:?}");
    }
    assert!(resumed(&place, "[vary]", "[vary]").out.contains("2 of 2 runs recorded"));
}

#[test]
fn another_spelling_is_the_same_plan() {
    let _turn = beside_others();
    let place = begun(PLAN);
    for (from, to) in [
        ("\"1ms\"", "\"1000us\""),
        ("\"1ms\"", "\"1kHz\""),
        ("[measure]", "[measure]\nsleep = \"absolute\""),
        ("[measure]", "[measure]\nprobe = \"auto\""),
        ("[measure]", "[measure]\nprobe = \"cyclic\""),
        ("[measure]", "[measure]\ntitle = \"mine\""),
        (
            "[measure]",
            "[measure]\nwarmup = \"0.1s\"\nsettle = \"auto\"\npolicy = \"fifo\"\ncpus = \"all\"",
        ),
        ("[measure]", "[limits]\nmax = \"1s\"\n[measure]"),
    ] {
        let output = resumed(&place, from, to);
        assert!(
            output.code == Some(0) && output.out.contains("2 of 2 runs recorded"),
            "{to}: {output:?}"
        );
    }
}

#[test]
fn every_probe_and_load_is_gone_on_with() {
    let _turn = beside_others();
    let place = begun(
        "[measure]\nduration = '100ms'\nsettle = '10ms'\n[vary]\nprobe = ['auto', 'cyclic', \
         'spawn', 'wakeup']\nload = ['none', 'cpu@50%', 'hackbench,groups=1', 'cmd:sleep \
         5']\n[[include]]\nprobe = 'deadline'\nthreads = 1\n[[exclude]]\nprobe = 'auto'\nload = \
         'cpu@50%'\n",
    );
    let output = place.well("run --resume out -q");
    assert!(output.out.contains("16 of 16 runs recorded"), "{output:?}");
}

/// Which CPUs there are is none of the plan's, where it names none.
#[test]
fn a_machine_with_other_cpus_goes_on() {
    let _turn = beside_others();
    for plan in [
        "[measure]\nsamples = 20\n",
        "[measure]\nsamples = 20\nthreads = 3\n",
        "[measure]\nsamples = 20\ncpus = 'all'\n",
    ] {
        let place = begun(plan);
        let cpu = crate::support::cpus()[0];
        let mut command = place.command("taskset");
        command.args([
            "-c",
            &cpu.to_string(),
            crate::support::TEIJI,
            "run",
            "--resume",
            "out",
            "-q",
        ]);
        let output = crate::support::Running::start(command).end();
        assert!(output.out.contains("1 of 1 run recorded"), "{plan}: {output:?}");
    }
}

#[test]
fn a_boot_goes_on() {
    let _turn = beside_others();
    let place = TestFolder::new();
    let plan = format!("{PLAN}[[include]]\nkernel = 'debian:amd64'\nprio = 30\n");
    std::fs::write(place.join("plan.toml"), plan).unwrap();
    place.well("run --here plan.toml -q -o board");
    place.well("run --here plan.toml -q -o board");
    place.well("run --resume board -q");
}

/// A table advised `--resume`, which refused.
#[test]
fn what_resuming_lacks_is_said_where_runs_are_missing() {
    let _turn = beside_others();
    let place = begun(PLAN);
    std::fs::remove_dir_all(place.join("out/02-prio=20.teiji")).unwrap();
    let shown = || place.well("show out").out.split_whitespace().collect::<Vec<_>>().join(" ");
    let lacking = "1 run of the plan without a recording";
    assert!(shown().contains(&format!("{lacking}: teiji run --resume DIR")), "{}", shown());
    let text = place.read("out/plan.toml");
    for (from, to, why) in [
        (
            "\"1ms\"",
            "\"2ms\"",
            "the plan was changed (out/01-prio=10.teiji: interval was 1ms, and the plan now says \
             2ms)",
        ),
        ("threads = \"1\"", "cpus = \"4095\"", "out/plan.toml:"),
    ] {
        assert!(text.contains(from), "{text}");
        std::fs::write(place.join("out/plan.toml"), text.replace(from, to)).unwrap();
        let shown = shown();
        let said = format!("{lacking}. They cannot be made here: {why}");
        assert!(shown.contains(&said) && !shown.contains("--resume"), "{shown}");
    }
}
