// SPDX-License-Identifier: MIT OR Apache-2.0
//! Without real-time rights the figures are others, and everybody who reads them is told first: on
//! the terminal, in the recording, in the report.

use crate::support::skipped::{Need, skipped};
use crate::support::{
    Running, TEIJI, TestFolder, beside_others, is_root, may_real_time_or_skip, ordinary_at,
    own_nice,
};
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
    limited(place, &["--rtprio=0:0"])
}

/// The same with these limits of prlimit.
fn limited(place: &TestFolder, limits: &[&str]) -> Command {
    let mut command = place.command("prlimit");
    command.args(limits).arg("--memlock=65536:65536");
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
    // Where there are no idle states nothing has to be held off.
    let has_idle_states =
        std::path::Path::new("/sys/devices/system/cpu/cpu0/cpuidle/state0").exists();
    assert_eq!(document.warns_of("dma-latency-not-held"), has_idle_states);
    for warning in ["no-real-time", "memory-not-locked"] {
        assert!(document.warns_of(warning), "{warning}: {:?}", document.at("/warnings"));
    }

    // In the first line, and as the first caveat.
    let scheduling = format!(", {} instead of SCHED_FIFO 90, ", ordinary_at(own_nice()));
    for shown in ["report open/x.teiji -o report.html", "show open/x.teiji"] {
        let output = place.well(shown).out;
        assert!(output.lines().next().unwrap().contains(&scheduling), "{output}");
        let first = output.lines().find(|line| line.starts_with('✗')).unwrap();
        assert_eq!(first, format!("✗ {refused}"), "{output}");
    }
    assert!(place.read("report.html").contains(&format!("<b>✗</b>{refused}")));
    place.well("verify open/x.teiji");
}

/// With a limit of 20, ordinary scheduling was measured.
#[test]
fn what_the_limit_allows_is_measured_with() {
    let _turn = beside_others();
    let place = public();
    let mut command = limited(&place, &["--rtprio=20:20"]);
    command.args("measure -n 100 -t 1 --no-dma-latency -o open/x.teiji".split(' '));
    let output = Running::start(command).end();
    if output.err.starts_with("prlimit:") {
        return skipped(Need::HigherLimits, output.err.trim());
    }
    let said = "Lower priority than asked: measured with SCHED_FIFO 20, not SCHED_FIFO 90. Threads \
                above 20 delay what is measured. Seen: the kernel refused SCHED_FIFO 90: Operation \
                not permitted (os error 1); the limit on real-time priorities (RLIMIT_RTPRIO) is \
                20. Join a group that has them: teiji check says how (rights-real-time). For this \
                shell alone: sudo prlimit --pid $$ --rtprio=95 --memlock=unlimited";
    assert_eq!((output.code, output.err.lines().next()), (Some(0), Some(said)), "{output:?}");
    let refused = "✗ Lower priority than asked (SCHED_FIFO 20 instead of SCHED_FIFO 90)";
    assert!(output.out.lines().any(|line| line == refused), "{}", output.out);
    let document = place.document("open/x.teiji");
    let scheduling = document.at("/threads/0/scheduling").clone();
    assert_eq!(scheduling, serde_json::json!({ "policy": "fifo", "prio": 20 }));
    place.well("verify open/x.teiji");
}

/// The loop of `noise` was killed by it, and left half a recording.
#[test]
fn what_a_limit_on_running_without_sleep_does_is_said_before() {
    let _turn = beside_others();
    if !may_real_time_or_skip() {
        return;
    }
    let place = public();
    let command = |words: &str| {
        let mut command = place.command("prlimit");
        command.arg("--rttime=200000:200000").arg(place.join("teiji")).args(words.split(' '));
        Running::start(command).end()
    };
    let said = "Warning: A limit ends teiji when a real-time thread of it runs for 200ms without \
                sleep. Threads that wait after each sample never do. Seen: RLIMIT_RTTIME is 200ms. \
                To lift it for this shell: sudo prlimit --pid $$ --rttime=unlimited\n";
    let output = command("measure -n 100 -t 1 --no-dma-latency -o open/x.teiji");
    assert_eq!((output.code, output.err.as_str()), (Some(0), said), "{output:?}");
    assert!(place.document("open/x.teiji").warns_of("real-time-timeout"));
    let output = command("measure -n 100 -t 1 --policy other --no-dma-latency -o open/o.teiji");
    assert_eq!((output.code, output.err.as_str()), (Some(0), ""), "{output:?}");
    let output = command("measure --probe noise -d 1s -t 1 -q -o open/y.teiji");
    let reason = "it would poll for 900ms without sleep, and the kernel ends a program whose \
                  real-time thread runs for 200ms so (RLIMIT_RTTIME)";
    assert!(output.code == Some(4) && output.err.contains(reason), "{output:?}");
}

/// A capability that counts for nothing was no part of what was said.
#[test]
fn root_of_a_user_namespace_is_told_that_it_is_none() {
    let _turn = beside_others();
    let place = public();
    let mut command = place.command("prlimit");
    command.args(["--rtprio=0:0", "unshare", "--user", "--map-root-user"]);
    command.arg(place.join("teiji")).args(["measure", "-n", "100", "-o", "open/x.teiji"]);
    let output = Running::start(command).end();
    if output.err.starts_with("unshare:") {
        return skipped(Need::Mount, output.err);
    }
    let cause = "the limit on real-time priorities (RLIMIT_RTPRIO) is 0, and a CAP_SYS_NICE of a \
                 user namespace does not lift it";
    assert!(output.code == Some(0) && output.err.contains(cause), "{output:?}");
}

const REFUSED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/outside/refused_call.py");
/// Exit code where such a filter cannot be set.
const CANNOT: i32 = 77;

/// Nothing that was advised, a group or a limit, would have helped.
#[test]
fn a_filter_of_system_calls_is_the_cause_that_is_said() {
    let _turn = beside_others();
    let place = public();
    let command = |words: &str| {
        let mut command = place.command("python3");
        command.arg(REFUSED).arg(place.join("teiji")).args(words.split(' '));
        Running::start(command).end()
    };
    let output = command("measure -n 100 -t 1 --no-dma-latency -o open/x.teiji");
    if output.code == Some(CANNOT) {
        return skipped(Need::SystemCallFilter, "no filter of system calls can be set");
    }
    let cause = "sched_setattr is refused whatever it asks for, and a filter of system calls \
                 (seccomp) is active";
    let next = "Allow sched_setattr: docker and podman by --security-opt seccomp=PROFILE, systemd \
                by SystemCallFilter= and RestrictRealtime=.";
    assert!(
        output.code == Some(0) && output.err.contains(cause) && output.err.contains(next),
        "{output:?}"
    );
    let document = place.document("open/x.teiji");
    assert_eq!(document.text("/threads/0/scheduling/policy"), "other");
    let checked = command("check").out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(checked.contains(&format!("none: {cause}")), "{checked}");
    let probes = command("probes").out.split_whitespace().collect::<Vec<_>>().join(" ");
    let paragraph = "Threads get SCHED_OTHER here, not SCHED_FIFO 90: the kernel refused \
                     SCHED_FIFO 90: Operation not permitted (os error 1);";
    assert!(probes.contains(paragraph) && probes.contains(cause), "{probes}");
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
    let policy = ordinary_at(own_nice());
    let note = format!("\n· Ordinary scheduling ({policy}), as requested: no real-time figures\n");
    assert!(output.out.contains(&note), "{}", output.out);
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
    let shown = place.well("show open/x.teiji").out.replace('\n', " ");
    let scheduling = format!("{} with 1 ns timer slack on Linux", ordinary_at(nice));
    assert!(shown.contains(&scheduling), "{shown}");
}
