// SPDX-License-Identifier: MIT OR Apache-2.0
//! The affinity the program is started with says where it measures unless told, and is no limit.

use crate::support::document::Document;
use crate::support::skipped::{Need, skipped};
use crate::support::{Output, Running, TEIJI, TestFolder, beside_others, cpus};

/// Runs a command that was started on one CPU alone, as `taskset -c` and `isolcpus=` do it.
fn on_first_cpu(place: &TestFolder, words: &str) -> Output {
    let mut command = place.command("taskset");
    command.args(["-c", &cpus()[0].to_string(), TEIJI]).args(words.split_whitespace());
    Running::start(command).end()
}

fn measured(document: &Document) -> Vec<i64> {
    document.threads().iter().map(|thread| thread.whole("/cpu")).collect()
}

#[test]
fn an_affinity_that_was_inherited_is_no_limit() {
    let _turn = beside_others();
    let [first, .., last] = cpus()[..] else {
        return skipped(Need::TwoCpus, "one CPU may be used");
    };
    let place = TestFolder::new();
    let output = on_first_cpu(&place, &format!("measure -q -n 20 -a {last} -o named.teiji"));
    assert_eq!(output.code, Some(0), "{output:?}");
    assert_eq!(measured(&place.document("named.teiji")), [i64::from(last.0)]);

    let output = on_first_cpu(&place, "measure -q -n 20 -o usual.teiji");
    assert_eq!(output.code, Some(0), "{output:?}");
    assert_eq!(measured(&place.document("usual.teiji")), [i64::from(first.0)], "{output:?}");

    let output = on_first_cpu(
        &place,
        &format!("measure -q -n 200 -a {first} --load cpu@5%,cpus={last} -o load.teiji"),
    );
    let load = &place.document("load.teiji").list("/load")[0];
    assert_eq!(
        load.list("/cpus").iter().map(|cpu| cpu.whole("")).collect::<Vec<_>>(),
        [i64::from(last.0)],
        "{output:?}"
    );

    let output = on_first_cpu(&place, &format!("load -q -d 1s cpu@5% -a {last}"));
    assert!(matches!(output.code, Some(0 | 1)), "{output:?}");

    std::fs::write(place.join("plan.toml"), format!("[measure]\nsamples = 20\ncpus = '{last}'\n"))
        .unwrap();
    let output = on_first_cpu(&place, "run -q plan.toml -o plan");
    assert_eq!(output.code, Some(0), "{output:?}");
}
