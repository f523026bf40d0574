// SPDX-License-Identifier: MIT OR Apache-2.0
//! `teiji cyclictest` with what the other one does not have; what both have is compared with it in
//! `tests/outside/beside_rt_tests.py`.

use crate::support::{TestFolder, may_real_time_or_skip};
use std::os::unix::fs::symlink;
use std::process::Command;

fn said(command: &mut Command) -> (i32, String, String) {
    let output = command.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

/// Each call makes one, with as many samples as its output has cycles.
#[test]
fn a_recording_besides() {
    let place = TestFolder::new();
    let cyclictest = |clock: &str| {
        let mut command = place.command(env!("CARGO_BIN_EXE_teiji"));
        let words = "cyclictest -q -t 1 -a 0 -i 1000 -l 50 --json=- -c";
        command.args(words.split(' ')).arg(clock).env("TEIJI_RECORD", "kept");
        said(&mut command)
    };
    // On CLOCK_REALTIME a row has two columns.
    for clock in ["0", "1"] {
        let (code, out, err) = cyclictest(clock);
        assert_eq!(code, 0, "{err}");
        let json = out.split("\nT: 0").next().unwrap();
        let json = &json[json.find('{').unwrap()..];
        let json: serde_json::Value = serde_json::from_str(json).unwrap();
        let cycles = json["thread"]["0"]["cycles"].as_u64().unwrap();
        let path = err.lines().find_map(|line| line.split_once("recorded in ")).unwrap().1;
        let name = path.strip_prefix("kept/").unwrap();
        place.well(&format!("verify kept/{name}"));
        let thread = place.document(&format!("kept/{name}")).threads().remove(0);
        assert_eq!(u64::try_from(thread.whole("/latency_ns/count")), Ok(cycles));
        let min = json["thread"]["0"]["min"].as_i64().unwrap();
        assert_eq!(min, thread.whole("/latency_ns/min") / 1_000);
    }
    assert_eq!(std::fs::read_dir(place.join("kept")).unwrap().count(), 2);
}

/// Each thread was printed with the priority that it would have had without a recording.
#[test]
fn what_a_recorded_run_prints_is_what_its_threads_have() {
    if !may_real_time_or_skip() {
        return;
    }
    let place = TestFolder::new();
    let mut command = place.command(env!("CARGO_BIN_EXE_teiji"));
    let words = "cyclictest -q -t 3 -d0 -p 20 --priospread -l 20 --latency=50";
    let (code, out, err) = said(command.args(words.split(' ')).env("TEIJI_RECORD", "kept"));
    assert_eq!((code, out.matches(" P:20 ").count()), (0, 3), "{out}{err}");
    assert!(!out.contains("50us"), "{out}");
    let path = err.lines().find_map(|line| line.split_once("recorded in ")).unwrap().1;
    for thread in place.document(path).threads() {
        assert_eq!(thread.whole("/scheduling/prio"), 20);
    }
}

#[test]
fn by_a_link_of_its_name_and_as_an_older_version() {
    let place = TestFolder::new();
    for name in ["cyclictest", "hackbench"] {
        symlink(env!("CARGO_BIN_EXE_teiji"), place.join(name)).unwrap();
    }
    let histogram = "-q -t1 -a 0 -l 5 -h 2";
    let lines = |version: &str| {
        let mut command = place.command(place.join("cyclictest"));
        command.args(histogram.split(' ')).env("TEIJI_AS_VERSION", version);
        let (code, out, err) = said(&mut command);
        assert_eq!(code, 0, "{err}");
        out
    };
    assert!(lines("2.4").contains("\n# Total: ") && lines("1.1").contains("\n# Total: "));
    assert!(!lines("").contains("# Total"));
    let mut command = place.command(place.join("hackbench"));
    let (code, out, _) = said(command.args(["-g", "1", "-l", "1"]));
    assert!(code == 0 && out.contains("\nTime: "), "{out}");
}

/// Theirs prints its help and ends with 0.
#[test]
fn an_unknown_option_is_refused_unless_faithful() {
    let place = TestFolder::new();
    let refused = place.teiji("cyclictest -q --nosuch");
    assert_eq!((refused.code, refused.out.as_str()), (Some(2), ""));
    let faithful = place.teiji("cyclictest --faithful -q --nosuch");
    assert!(faithful.code == Some(0) && faithful.out.contains("--histogram"), "{}", faithful.out);
}
