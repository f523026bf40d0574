// SPDX-License-Identifier: MIT OR Apache-2.0
//! Without real-time rights the figures are others, and everybody who reads them is told first: on
//! the terminal, in the recording, in the report.

use crate::support::{Running, TEIJI, TestFolder, beside_others, is_root, ordinary_at, own_nice};
use std::fs::{File, Permissions, create_dir, set_permissions};
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

/// A place that everybody can reach, with the program in it and a folder that everybody may write
/// to.
pub fn public() -> TestFolder {
    let place = TestFolder::new();
    set_permissions(place.path(), Permissions::from_mode(0o755)).unwrap();
    // By another process: what this one writes is open in each process that another test starts
    // meanwhile, and is busy then.
    assert!(place.command("cp").args([TEIJI, "teiji"]).status().unwrap().success());
    create_dir(place.join("open")).unwrap();
    set_permissions(place.join("open"), Permissions::from_mode(0o777)).unwrap();
    place
}

/// The program as somebody without any rights: whoever runs the tests, or `nobody` where that is
/// root.
pub fn powerless(place: &TestFolder) -> Command {
    let mut command = place.command("prlimit");
    command.args(["--rtprio=0:0", "--memlock=65536:65536"]);
    if is_root() {
        command.args([
            "setpriv",
            "--reuid=65534",
            "--regid=65534",
            "--clear-groups",
            "--inh-caps=-all",
        ]);
    }
    command.arg(place.join("teiji"));
    command
}

#[test]
fn everybody_is_told_first() {
    let _turn = beside_others();
    let place = public();
    let mut command = powerless(&place);
    // One file for both, so that the order is that of a terminal.
    let output = File::create(place.join("output")).unwrap();
    command.args(["measure", "-i", "1ms", "-d", "400ms", "-o", "open/x.teiji"]);
    command.stdout(output.try_clone().unwrap()).stderr(output);
    let ended = Running::start_as_is(command).end();
    let output = place.read("output");
    assert_eq!(ended.code, Some(0), "{output}");
    let first = output.lines().next().unwrap();
    assert!(
        first.starts_with("No real-time rights: measured with SCHED_OTHER, not SCHED_FIFO 90"),
        "{output}"
    );
    // With a command that grants them, and not to everybody who may run the file.
    assert!(
        first.contains("sudo prlimit --pid $$ --rtprio=95 --memlock=unlimited")
            && !first.contains("setcap"),
        "{first}"
    );
    let refused =
        format!("No real-time rights ({} instead of SCHED_FIFO 90)", ordinary_at(own_nice()));
    assert!(output.replace('\n', " ").contains(&format!(" {refused}")), "{output}");

    let document = place.document("open/x.teiji");
    document.assert_adds_up();
    assert_eq!(
        (document.text("/run/scheduling/policy"), document.whole("/run/scheduling/prio")),
        ("fifo", 90)
    );
    for thread in document.threads() {
        assert_eq!(
            (thread.text("/scheduling/policy"), thread.at("/scheduling/prio")),
            ("other", &serde_json::Value::Null)
        );
    }
    for right in ["real_time", "memory_locked", "dma_latency_held"] {
        assert_eq!(document.at(&format!("/instrument/{right}")), false, "{right}");
    }
    for warning in ["no-real-time", "memory-not-locked", "dma-latency-not-held"] {
        assert!(document.warns_of(warning), "{warning}: {:?}", document.at("/warnings"));
    }

    let verdict = place.well("report open/x.teiji -o report.html").out;
    assert!(verdict.starts_with(&refused), "{verdict}");
    assert!(place.read("report.html").contains(&refused));
    let again = place.well("show open/x.teiji").out;
    assert!(again.starts_with(&refused), "{again}");
    place.well("verify open/x.teiji");
}

/// Where nothing can be measured, that alone is said.
#[test]
fn what_lacks_for_a_probe_is_the_only_message() {
    let _turn = beside_others();
    let place = public();
    let mut command = powerless(&place);
    command.args(["measure", "--probe", "rtc", "--device", "/dev/null", "-o", "open/x.teiji"]);
    let output = Running::start(command).end();
    let expected = "error: the probe rtc cannot measure here: /dev/null is not a real-time clock";
    assert!(
        output.code == Some(4)
            && output.err.starts_with(expected)
            && output.err.lines().count() == 1,
        "{output:?}"
    );
}

/// Who asks for no real-time priority is not told that it was refused.
#[test]
fn nothing_is_refused_that_was_not_asked_for() {
    let _turn = beside_others();
    let place = public();
    let mut command = powerless(&place);
    command.args(["measure", "--policy", "other", "-n", "100", "-o", "open/x.teiji"]);
    let output = Running::start(command).end();
    assert_eq!((output.code, output.err.as_str()), (Some(0), ""));
    let document = place.document("open/x.teiji");
    assert!(!document.warns_of("no-real-time"));
    assert!(
        output.out.starts_with(&format!("Ordinary scheduling ({})", ordinary_at(own_nice()))),
        "{}",
        output.out
    );
}

/// Whoever made the program nicer may not make it less so, and measures all the same.
#[test]
fn niceness_stays() {
    let _turn = beside_others();
    let place = public();
    let ordinary = powerless(&place);
    let mut command = place.command("nice");
    command.args(["-n", "5"]).arg(ordinary.get_program()).args(ordinary.get_args());
    command.args(["measure", "-q", "-n", "100", "-o", "open/x.teiji"]);
    let output = Running::start(command).end();
    assert_eq!(output.code, Some(0), "{output:?}");
    let document = place.document("open/x.teiji");
    document.assert_adds_up();
    let nice = (own_nice() + 5).min(19);
    assert_eq!(
        document.0["threads"][0]["nice"], nice,
        "{}",
        document.0["threads"][0]["scheduling"]
    );
    place.well("verify open/x.teiji");
    let shown = place.well("show open/x.teiji").out;
    assert!(shown.contains(&format!("{} on Linux", ordinary_at(nice))), "{shown}");
}
