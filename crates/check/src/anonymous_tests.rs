// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a check finds stays in an anonymous recording: its words are ours, and only names go.

use crate::tests::trees::{laid_out, trees};
use crate::*;
use host::HostRoot;
use model::{Anonymiser, Document, Pseudonyms, Warning};
use std::collections::BTreeSet;
use std::fs;

/// These warnings as an anonymous recording has them.
fn anonymous(warnings: Vec<Warning>) -> Vec<Warning> {
    let mut document: Document =
        serde_json::from_str(include_str!("../../../fuzz/corpus/run_json/complete.json")).unwrap();
    document.warnings = warnings;
    (document.host.before.hostname, document.host.after) = (None, None);
    let pseudonyms = Pseudonyms::new([7; 32]);
    Anonymiser::new(&pseudonyms, &document).document(document).warnings
}

fn warning(check: &str, found: String, why: &str, action: Option<String>) -> Warning {
    Warning::MachineCheck { check: check.to_owned(), found, why: why.to_owned(), action }
}

#[test]
fn every_check_says_why_without_a_name() {
    let warnings: Vec<Warning> =
        checks().map(|check| warning(check.id, String::new(), check.text().why, None)).collect();
    assert_eq!(anonymous(warnings.clone()), warnings);
}

/// Names in the findings of the trees: of a container, and an argument that no kernel knows.
const NAMES: [&str; 3] =
    ["(/sys/fs/cgroup/docker/abc/cpu.max)", "dwg_otg.speed=1", "dwg_otg.speed=1,"];

#[test]
fn findings_lose_nothing_but_names() {
    let mut gone = BTreeSet::new();
    for entry in fs::read_dir(trees()).unwrap().map(|entry| entry.unwrap().path()) {
        if entry.extension().is_none_or(|extension| extension != "tree") {
            continue;
        }
        let (dir, options) = laid_out(&fs::read_to_string(&entry).unwrap());
        let here = format!("{}/", dir.path().display());
        for Finding { id, found, text, action, .. } in
            crate::findings(&HostRoot::at(dir.path()), &options)
        {
            let (found, action) =
                (found.replace(&here, "/"), action.map(|action| action.replace(&here, "/")));
            let before = format!("{found} {}", action.clone().unwrap_or_default());
            let [Warning::MachineCheck { found, action, .. }] =
                &anonymous(vec![warning(id, found, text.why, action)])[..]
            else {
                panic!()
            };
            let after = format!("{found} {}", action.clone().unwrap_or_default());
            let (before, after): (Vec<&str>, Vec<&str>) =
                (before.split(' ').collect(), after.split(' ').collect());
            assert_eq!(before.len(), after.len());
            gone.extend(
                before
                    .iter()
                    .zip(after)
                    .filter(|(before, after)| *before != after)
                    .map(|(before, _)| (*before).to_owned()),
            );
        }
    }
    assert_eq!(gone.iter().map(String::as_str).collect::<Vec<_>>(), NAMES);
}
