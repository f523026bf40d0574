// SPDX-License-Identifier: MIT OR Apache-2.0
//! Folders of plans whose limits differ, judged together: each recording by the limits of its own
//! plan.

use crate::support::{TestFolder, beside_others};
use serde_json::Value;

/// Three folders: a limit that is surely broken, one that is surely kept, and none.
fn folders() -> TestFolder {
    let _turn = beside_others();
    let place = TestFolder::new();
    for (name, limits) in
        [("a", "[limits]\nmax = '1ns'\n"), ("b", "[limits]\np50 = '1h'\n"), ("c", "")]
    {
        let plan = format!("[measure]\nsamples = 20\nthreads = 1\n{limits}[vary]\nprio = [10]\n");
        std::fs::write(place.join(&format!("{name}.toml")), plan).unwrap();
        place.well(&format!("run {name}.toml -q -o {name}"));
    }
    place
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error} in {text}"))
}

#[test]
fn no_limit_is_dropped() {
    let place = folders();
    let code = |words: &str| place.teiji(&format!("gate {words}")).code;
    assert_eq!(
        (code("a"), code("b"), code("a b"), code("b a")),
        (Some(1), Some(0), Some(1), Some(1))
    );
    let output = place.teiji("gate a b").out;
    let head = "FAIL: 1 of 2 recordings, each checked against the limits of its plan\nLimits of \
                a/plan.toml: max<1ns.\nLimits of b/plan.toml: p50<1h.\n";
    assert!(output.starts_with(head), "{output}");
    let gate = json(&place.teiji("gate a b --json").out);
    let of = |place: usize| {
        (gate["limits"][place]["limit"].as_str(), gate["limits"][place]["from"].as_str())
    };
    assert_eq!(
        (of(0), of(1)),
        ((Some("max<1ns"), Some("a/plan.toml")), (Some("p50<1h"), Some("b/plan.toml")))
    );
    // A recording of a folder that is named too, whichever comes first.
    let one = place
        .listing()
        .into_iter()
        .find(|path| path.starts_with("a/") && path.ends_with(".teiji"))
        .unwrap();
    for words in [format!("{one} a"), format!("a ./{one}"), format!("{one} a b")] {
        assert_eq!(code(&words), Some(1), "{words}");
    }
    // However often and by whatever name, it is one plan with the recordings that it has.
    let of_b: Vec<String> = place
        .listing()
        .into_iter()
        .filter(|path| path.starts_with("b/") && path.ends_with(".teiji"))
        .collect();
    let alone = code("b");
    for words in ["b ./b".to_owned(), format!("./{} b", of_b.join(" ./"))] {
        assert_eq!(code(&words), alone, "{words}");
    }
}

#[test]
fn without_a_limit_among_limits_is_not_enough() {
    let place = folders();
    let output = place.teiji("gate b c");
    assert_eq!(output.code, Some(3), "{output:?}");
    assert!(
        output.out.contains("  ????  no limit\n        no limit is named for it"),
        "{output:?}"
    );
    assert_eq!(place.teiji("gate c").code, Some(2));
    let one = place
        .listing()
        .into_iter()
        .find(|path| path.starts_with("c/") && path.ends_with(".teiji"))
        .unwrap();
    assert_eq!(place.teiji(&format!("gate b {one}")).code, Some(3));
}

#[test]
fn named_limits_take_the_place_of_all() {
    let place = folders();
    let output = place.well("gate a b c --limit max<1h");
    let said = output.out.replace("\n  ", " ").replace('\n', " ");
    let head = "PASS: 3 recordings, checked against 1 limit Limits of --limit: max<1h, in place \
                of those of a/plan.toml (max<1ns) and b/plan.toml (p50<1h).";
    assert!(said.starts_with(head), "{said}");
    for verb in ["show", "report"] {
        let output = place.well(&format!("{verb} a b --limit max<1h")).out;
        assert!(output.contains("in place of those of"), "{output}");
    }
    assert!(place.read("report.html").contains("in place of those of a/plan.toml"));
}

#[test]
fn a_table_of_folders_has_the_limits_of_each() {
    let place = folders();
    // Different priorities, so that each folder has a row.
    for (name, prio) in [("b", "20"), ("c", "30")] {
        let plan = place.read(&format!("{name}.toml")).replace("[10]", &format!("[{prio}]"));
        std::fs::write(place.join(&format!("{name}.toml")), plan).unwrap();
        std::fs::remove_dir_all(place.join(name)).unwrap();
        place.well(&format!("run {name}.toml -q -o {name}"));
    }
    let said = place.well("show a b c").out.replace("\n  ", " ").replace('\n', " ");
    let limits = "Limits of the plan: max<1ns (a/plan.toml) and p50<1h (b/plan.toml).";
    assert!(
        said.contains(limits)
            && said.contains("max exceeded its limit in 1 of 1; p50 exceeded its limit in 0 of 1"),
        "{said}"
    );
    assert!(said.contains("No limit is named for prio=30."), "{said}");
    place.well("report a b c --md report.md");
    assert!(place.read("report.html").contains("No limit is named for prio=30."));
    place.well("compare a b c");
}
