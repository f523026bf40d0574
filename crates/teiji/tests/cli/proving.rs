// SPDX-License-Identifier: MIT OR Apache-2.0
//! `teiji tune --prove`, on harmless settings of this machine.

use crate::support::skipped::{Need, skipped};
use crate::support::{Output, Running, TEIJI, TestFolder, exclusive, is_root, quiet_cpu, soon};
use rustix::process::Signal;
use serde_json::Value;
use std::fs;

const INTERVAL: &str = "/proc/sys/vm/stat_interval";

/// The interval of the kernel's statistics, with something to change whatever this machine has. Put
/// back, whatever becomes of the test.
struct Interval(String);

impl Interval {
    fn begin() -> Interval {
        let interval = Interval(now());
        fs::write(INTERVAL, "3").unwrap();
        interval
    }
}

impl Drop for Interval {
    fn drop(&mut self) {
        let _ = fs::write(INTERVAL, &self.0);
    }
}

fn now() -> String {
    fs::read_to_string(INTERVAL).unwrap().trim().to_owned()
}

fn proving(place: &TestFolder, words: &str) -> Running {
    let mut command = place.command(TEIJI);
    let words = format!("tune --prove --cpus {} --only statistics-interval {words}", quiet_cpu());
    command.env("TEIJI_STATE", place.join("state")).args(words.split_whitespace());
    Running::start(command)
}

fn undo(place: &TestFolder) -> Output {
    let mut command = place.command(TEIJI);
    command.env("TEIJI_STATE", place.join("state")).args(["tune", "--undo"]);
    Running::start(command).end()
}

/// Whether nothing is left but the lock.
fn is_clean(place: &TestFolder) -> bool {
    fs::read_dir(place.join("state"))
        .unwrap()
        .map(Result::unwrap)
        .all(|entry| entry.file_name() == "lock")
}

fn has_rights() -> bool {
    if !is_root() {
        skipped(Need::RealTime, "only root may change the kernel's settings");
    }
    is_root()
}

#[test]
fn each_block_is_accounted_for_and_everything_is_put_back() {
    let _turn = exclusive();
    if !has_rights() {
        return;
    }
    let _restored = Interval::begin();
    let place = TestFolder::new();
    let output = proving(&place, "--rounds 2 --duration 200ms --json").end();
    assert_eq!(output.code, Some(0), "{output:?}");
    assert!(
        output.err.contains(
            "note: 2 rounds cannot show whether a change helps, 6 can. No change will be kept"
        ),
        "{output:?}"
    );
    let json: Value = serde_json::from_str(&output.out).unwrap();
    let conditions = &json["conditions"];
    assert_eq!(
        (&conditions["quantity"], &conditions["blocks_of_each_change"]),
        (&"p90".into(), &8.into()),
        "{conditions}"
    );
    assert_eq!(
        (&conditions["block_ns"], &conditions["interval_ns"]),
        (&200_000_000.into(), &1_000_000.into()),
        "{conditions}"
    );
    let [change] = json["changes"].as_array().unwrap().as_slice() else { panic!("{json}") };
    assert_eq!(
        (&change["check"], &change["verdict"]),
        (&"statistics-interval".into(), &"no-evidence".into()),
        "{json}"
    );
    assert_eq!(
        (&change["interval"], &change["kept"], &json["kept"]),
        (&Value::Null, &false.into(), &Value::Array(vec![]))
    );
    let blocks = change["blocks"].as_array().unwrap();
    for (place, round) in blocks.chunks(4).enumerate() {
        let order: Vec<bool> = round.iter().map(|block| block["on"].as_bool().unwrap()).collect();
        assert!(
            order == [false, true, true, false] || order == [true, false, false, true],
            "{order:?}"
        );
        assert!(round.iter().all(|block| block["round"] == place + 1), "{json}");
    }
    for block in blocks {
        let count = |name: &str| block[name].as_u64().unwrap();
        assert_eq!(count("due"), 200, "{block}");
        assert_eq!(
            count("on_time") + count("late") + count("skipped") + count("lost"),
            200,
            "{block}"
        );
        let judged = block["judged_ns"].as_i64().unwrap();
        assert!(
            judged > 0 && judged < 10_000_000_000 && block["quantiles_ns"]["p90"] == judged,
            "{block}"
        );
    }
    assert_eq!(blocks.len(), 8);
    assert_eq!(now(), "3");
    assert!(is_clean(&place));
}

#[test]
fn text_says_with_what_it_was_measured_and_what_is_kept() {
    let _turn = exclusive();
    if !has_rights() {
        return;
    }
    let _restored = Interval::begin();
    let place = TestFolder::new();
    let output =
        proving(&place, "--rounds 1 -d 50ms -i 500us -p 80 --quantity max --load cpu@10%").end();
    assert_eq!(output.code, Some(0), "{output:?}");
    for said in [
        "Measuring 1 change for CPU ",
        ", each by itself, off and on in turn: 1 round of 4 blocks of 50ms. About ",
        "\nProbe cyclic every 500us, SCHED_FIFO 80, load cpu@10%, /dev/cpu_dma_latency held at 0, \
         except for idle-states. A block begins 250 ms after a setting and 600 ms after its \
         threads.\n",
        "\nJudged: max of each block, with 95 % confidence.\n",
        "\nstatistics-interval: no evidence either way\n    max ",
        ": 1 round is too few for an interval\n",
        "\nNot kept, without evidence either way: statistics-interval.\nNothing is kept.\n",
    ] {
        assert!(output.out.contains(said), "{said}: {output:?}");
    }
    assert_eq!(now(), "3");
}

#[test]
fn killed_within_a_block_it_is_put_right_by_the_next_call() {
    let _turn = exclusive();
    if !has_rights() {
        return;
    }
    let _restored = Interval::begin();
    let place = TestFolder::new();
    let kill_within_a_block = || {
        let running = proving(&place, "--rounds 9 -d 3s");
        let begun = || now() == "120" && place.join("state/tune-block.teiji").exists();
        soon("a block with the change", begun);
        running.signal(Signal::KILL);
        assert_eq!(running.end().code, None);
        assert_eq!(now(), "120");
    };
    kill_within_a_block();
    let undone = undo(&place);
    assert_eq!(
        (undone.code, undone.out.as_str()),
        (Some(0), "1 setting put back.\n"),
        "{undone:?}"
    );
    assert_eq!(now(), "3");
    assert!(is_clean(&place));
    kill_within_a_block();
    let again = proving(&place, "--rounds 1 -d 50ms").end();
    assert_eq!(again.code, Some(0), "{again:?}");
    assert!(
        again.err.starts_with("note: 1 setting of an earlier teiji tune put back first\n"),
        "{again:?}"
    );
    assert_eq!(now(), "3");
    assert!(is_clean(&place));
}

#[test]
fn interrupted_it_puts_everything_back_and_keeps_nothing() {
    let _turn = exclusive();
    if !has_rights() {
        return;
    }
    let _restored = Interval::begin();
    for signal in [Signal::INT, Signal::TERM] {
        let place = TestFolder::new();
        let running = proving(&place, "--rounds 9 -d 3s");
        soon("a block with the change", || now() == "120");
        running.signal(signal);
        let output = running.end();
        assert_eq!(output.code, Some(4), "{output:?}");
        assert!(
            output.err.ends_with(
                "0 of 1 changes were measured. Everything is put back, and nothing is kept\n"
            ),
            "{output:?}"
        );
        assert_eq!(now(), "3");
        assert!(is_clean(&place));
    }
}

/// A thread that comes before the measuring one, and keeps its CPU for ms now and then as long as
/// the interval is this.
fn disturbing_while(place: &TestFolder, interval: &str) -> Running {
    let script = format!(
        "while now=$(cat {INTERVAL}); do\n[ $now = {interval} ] && i=0 && while [ $i -lt 15000 ]; \
         do i=$((i+1)); done\nsleep 0.001\ndone\n"
    );
    fs::write(place.join("script"), script).unwrap();
    let mut command = place.command("chrt");
    command.args(["-f", "95", "taskset", "-c", &quiet_cpu().to_string(), "sh", "script"]);
    Running::start(command)
}

/// What is truly better or worse with the change is found to be.
#[test]
fn a_change_that_helps_is_kept_and_one_that_makes_it_worse_is_not() {
    let _turn = exclusive();
    if !has_rights() {
        return;
    }
    let _restored = Interval::begin();
    for (disturbed, verdict, kept) in [("3", "helps", "120"), ("120", "worse", "3")] {
        let place = TestFolder::new();
        let disturbing = disturbing_while(&place, disturbed);
        let output = proving(&place, "--rounds 8 -d 100ms --json").end();
        disturbing.signal(Signal::KILL);
        disturbing.end();
        assert_eq!(output.code, Some(0), "{output:?}");
        let json: Value = serde_json::from_str(&output.out).unwrap();
        let change = &json["changes"][0];
        assert_eq!(
            (&change["verdict"], &change["kept"]),
            (&verdict.into(), &(verdict == "helps").into()),
            "{json}"
        );
        assert_eq!(json["kept"].as_array().unwrap().len(), usize::from(verdict == "helps"));
        assert_eq!(now(), kept);
        let undone = undo(&place);
        assert_eq!(undone.code, Some(0), "{undone:?}");
        assert_eq!(now(), "3");
        assert!(is_clean(&place));
    }
}

#[test]
fn a_value_that_somebody_else_changes_meanwhile_is_not_judged() {
    let _turn = exclusive();
    if !has_rights() {
        return;
    }
    let _restored = Interval::begin();
    let place = TestFolder::new();
    let running = proving(&place, "--rounds 9 -d 1s");
    soon("a block with the change", || now() == "120");
    fs::write(INTERVAL, "7").unwrap();
    let output = running.end();
    assert_eq!(output.code, Some(4), "{output:?}");
    let error =
        "error: not put back: /proc/sys/vm/stat_interval: somebody else has changed it to '7'\n";
    assert!(output.err.contains(error), "{output:?}");
    assert!(
        output.out.contains("\nstatistics-interval: not judged: it could not be put back\n"),
        "{output:?}"
    );
    assert!(
        output.out.ends_with("\nNot judged: statistics-interval.\nNothing is kept.\n"),
        "{output:?}"
    );
    assert_eq!(now(), "7");
}

/// Back to its first value, which undoing cannot tell from its own work.
#[test]
fn a_value_that_does_not_stay_is_not_judged() {
    let _turn = exclusive();
    if !has_rights() {
        return;
    }
    let _restored = Interval::begin();
    let place = TestFolder::new();
    let running = proving(&place, "--rounds 9 -d 1s --json");
    soon("a block with the change", || now() == "120");
    fs::write(INTERVAL, "3").unwrap();
    let output = running.end();
    assert_eq!(output.code, Some(4), "{output:?}");
    let error =
        "error: did not stay: /proc/sys/vm/stat_interval: somebody else has changed it to '3'\n";
    assert!(output.err.contains(error), "{output:?}");
    let json: Value = serde_json::from_str(&output.out).unwrap();
    let change = &json["changes"][0];
    assert_eq!(
        (&change["verdict"], &change["changed_meanwhile"][0]["file"]),
        (&"not-judged".into(), &"/proc/sys/vm/stat_interval".into())
    );
    assert_eq!(now(), "3");
    assert!(is_clean(&place));
}

#[test]
fn a_change_that_is_refused_is_named_and_not_judged() {
    let _turn = exclusive();
    if !has_rights() {
        return;
    }
    let _restored = Interval::begin();
    let place = TestFolder::new();
    let mut command = place.command("unshare");
    let script = format!(
        "mount --bind /proc/sys /proc/sys && mount -o remount,ro,bind /proc/sys && exec {TEIJI} \
         tune --prove --cpus {} --only statistics-interval -d 100ms",
        quiet_cpu()
    );
    command.env("TEIJI_STATE", place.join("state")).args(["--mount", "sh", "-c", &script]);
    let output = Running::start(command).end();
    if output.out.is_empty() {
        return skipped(Need::Mount, output.err);
    }
    assert_eq!(output.code, Some(4), "{output:?}");
    let error = "error: not changed: /proc/sys/vm/stat_interval: the kernel refuses it: Read-only \
                 file system";
    assert!(output.err.contains(error), "{output:?}");
    assert!(
        output.out.contains("\nstatistics-interval: not judged: it could not be changed\n"),
        "{output:?}"
    );
    assert!(is_clean(&place));
}

/// With its own priority, not with the one that is the default.
#[test]
fn threads_above_are_those_above_what_is_measured() {
    let _turn = exclusive();
    if !has_rights() {
        return;
    }
    let place = TestFolder::new();
    let mut command = place.command("chrt");
    command.args(["-f", "70", "taskset", "-c", &quiet_cpu().to_string(), "sleep", "60"]);
    let sleeping = Running::start(command);
    let name = format!("/proc/{}/comm", sleeping.pid().as_raw_nonzero());
    soon("it sleeps", || fs::read_to_string(&name).is_ok_and(|name| name == "sleep\n"));
    for (priority, is_above) in [("50", true), ("80", false)] {
        let mut command = place.command(TEIJI);
        let words = format!(
            "tune --prove --cpus {} --only threads-above -p {priority} --rounds 1 -d 50ms --json",
            quiet_cpu()
        );
        command.env("TEIJI_STATE", place.join("state")).args(words.split(' '));
        let output = Running::start(command).end();
        assert_eq!(
            output.out.contains(&format!("/proc/{}/task/", sleeping.pid().as_raw_nonzero())),
            is_above,
            "{output:?}"
        );
        assert!(!is_above || output.out.contains("\"to\": \"49\""), "{output:?}");
    }
    sleeping.signal(Signal::KILL);
    sleeping.end();
}

#[test]
fn what_is_asked_for_wrongly_changes_nothing() {
    let place = TestFolder::new();
    for (words, said) in [
        ("tune --prove", "no CPUs named"),
        ("tune --prove --cpus 0 --plan", "cannot be used with"),
        ("tune --prove --undo", "cannot be used with"),
        ("tune --prove --cpus 0 -- true", "cannot be used with"),
        ("tune --prove --cpus 0 --root .", "has no proc"),
        ("tune --cpus 0 --rounds 3", "--prove"),
        ("tune --prove --cpus 0 --rounds 0", "0 is not in 1..=1000"),
        (
            "tune --prove --cpus 0 --quantity mean",
            "invalid quantity 'mean': expected a quantile such as p99.9, or max",
        ),
        (
            "tune --prove --cpus 0 -d 100ms --quantity p99",
            "has 100 activations, too few for p99: 1000 are needed",
        ),
        (
            "tune --prove --cpus 0 -d 10ms",
            "too few for any quantile: 20 are needed. Lengthen it with --duration",
        ),
        ("tune --prove --cpus 0 -p 100", "100"),
        ("tune --prove --cpus 0 --load cup", "unknown load 'cup'"),
        ("tune --prove --cpus 0 --only gouvernor", "unknown change 'gouvernor'"),
    ] {
        let mut command = place.command(TEIJI);
        command.env("TEIJI_STATE", place.join("state")).args(words.split(' '));
        let output = Running::start(command).end();
        assert!(output.code == Some(2) && output.err.contains(said), "{words}: {output:?}");
        assert!(!place.join("state").exists(), "{words}");
    }
    fs::create_dir_all(place.join("m/proc")).unwrap();
    fs::create_dir_all(place.join("m/sys/devices/system/cpu")).unwrap();
    fs::write(place.join("m/sys/devices/system/cpu/online"), "0\n").unwrap();
    let output = place.teiji("tune --prove --cpus 0 --root m");
    assert!(
        output.code == Some(2) && output.err.contains("--prove measures this machine"),
        "{output:?}"
    );
}
