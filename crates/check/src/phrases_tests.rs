// SPDX-License-Identifier: MIT OR Apache-2.0
//! Phrases as this crate uses them: each is in the table, and nothing in the table is left over.

use crate::debug_table::{DEBUG_ARGUMENTS, DEBUG_OPTIONS};
use crate::tests::trees::{laid_out, trees};
use crate::{Finding, Status};
use host::HostRoot;
use model::Phrase;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

const TABLE: &str = include_str!("../../model/src/findings.txt");

/// The names of its values, by each key.
fn table() -> BTreeMap<&'static str, BTreeSet<&'static str>> {
    let values = |text: &'static str| text.split(['{', '}']).skip(1).step_by(2).collect();
    let blocks = TABLE.split("\n\n").skip(1);
    blocks
        .map(|block| block.split_once('\n').unwrap())
        .map(|(key, text)| (key, values(text)))
        .collect()
}

/// What is written in this crate, but for its tests.
/// Also of the model, which has a phrase of its own for what a recording says of its kernel.
fn sources() -> String {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let folder = crates.join("check/src");
    let of_model = fs::read_to_string(crates.join("model/src/host_facts.rs")).unwrap();
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let files = files.filter(|path| path.is_file() && !path.ends_with("phrases_tests.rs"));
    files.map(|path| fs::read_to_string(path).unwrap()).chain([of_model]).collect()
}

/// The key in front, and the names of the values after it, up to the end of the call.
fn key_and_values(call: &str) -> (&str, BTreeSet<&str>) {
    let (key, rest) = call.trim_start().strip_prefix('"').unwrap().split_once('"').unwrap();
    let (mut values, mut depth, mut is_text, mut begin) = (BTreeSet::new(), 0, false, 0);
    for (place, letter) in rest.char_indices() {
        is_text ^= letter == '"';
        match letter {
            _ if is_text => {}
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' if depth > 0 => depth -= 1,
            ',' | ')' if depth == 0 => {
                let value = rest[begin..place].split('=').next().unwrap().trim();
                values.extend(Some(value).filter(|value| !value.is_empty()));
                begin = place + 1;
                if letter == ')' {
                    return (key, values);
                }
            }
            _ => {}
        }
    }
    panic!("{call}")
}

#[test]
fn each_phrase_is_in_the_table_with_its_values() {
    let (table, sources) = (table(), sources());
    for (begin, macro_name) in sources.match_indices("phrase!(") {
        let (key, values) = key_and_values(&sources[begin + macro_name.len()..]);
        assert_eq!(table.get(key), Some(&values), "{key}");
    }
    for key in DEBUG_OPTIONS.into_iter().chain(DEBUG_ARGUMENTS.iter().map(|debug| debug.option)) {
        assert_eq!(table.get(key), Some(&BTreeSet::new()), "{key}");
    }
    for key in table.keys() {
        assert!(sources.contains(&format!("\"{key}\"")), "nothing uses {key}");
    }
}

/// Whether it is more than commands, names and figures.
fn has_words(text: &str) -> bool {
    let commands = ["sudo ", "echo ", "for "];
    text.contains(' ') && !commands.iter().any(|start| text.starts_with(start))
}

/// All that is bad about the machines that were captured.
#[test]
fn what_is_bad_is_said_in_japanese() {
    let mut checked = 0;
    for path in fs::read_dir(trees()).unwrap().map(|entry| entry.unwrap().path()) {
        if path.extension().is_none_or(|extension| extension != "tree") {
            continue;
        }
        let (dir, options) = laid_out(&fs::read_to_string(&path).unwrap());
        for Finding { id, status, found, action, .. } in
            crate::findings(&HostRoot::at(dir.path()), &options)
        {
            if status != Status::Bad || crate::of_run::WARNED_OF.contains(&id) {
                continue;
            }
            for phrase in [Some(found), action].into_iter().flatten() {
                checked += 1;
                match &phrase {
                    Phrase::Text(text) => assert!(!has_words(text), "{id}: {text}"),
                    _ => {
                        assert!(phrase.in_japanese(&phrase.to_string()).is_some(), "{id}: {phrase}")
                    }
                }
            }
        }
    }
    assert!(checked > 10, "{checked}");
}
