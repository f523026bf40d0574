// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a check finds stays in an anonymous recording: its words are ours, and only names go.

use crate::finding::Check;
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

#[test]
fn every_check_says_why_without_a_name() {
    let warning = |check: &'static Check| {
        let (found, text) = ("".into(), check.text());
        let (status, action, tunable) = (Status::Bad, None, false);
        Warning::from(Finding { id: check.id, status, found, text, action, tunable })
    };
    let warnings: Vec<Warning> = checks().map(warning).collect();
    assert_eq!(anonymous(warnings.clone()), warnings);
}

/// Names in the findings of the trees: of a container, of a file, and words that no kernel and no
/// program knows.
const NAMES: [&str; 22] = [
    "'rtpio'",
    "(/sys/fs/cgroup/docker/abc/cpu.max)",
    "/boot/config-4.18.0-553.el8_10.x86_64",
    "/boot/config-5.14.0-427.el9.x86_64",
    "audit=of",
    "audit=of,",
    "clocksource=tcs",
    "clocksource=tcs,",
    "dwg_otg.speed=1",
    "dwg_otg.speed=1,",
    "hugepagez=1",
    "hugepagez=1,",
    "no_timer_chekc",
    "no_timer_chekc,",
    "noht",
    "noht,",
    "noirqbalance,",
    "pcie_asmp=off",
    "pcie_asmp=off,",
    "rtpio",
    "workqueue.power_eficient=0",
    "workqueue.power_eficient=0,",
];

/// What is said, and how many phrases say it.
fn said(warnings: &[Warning]) -> (Vec<String>, usize) {
    let (mut words, mut count) = (Vec::new(), 0);
    for warning in warnings {
        let Warning::MachineCheck { found, action, found_phrase, action_phrase, .. } = warning
        else {
            panic!("{warning:?}")
        };
        for (text, phrase) in [(Some(found), found_phrase), (action.as_ref(), action_phrase)] {
            let text = text.map_or("", String::as_str);
            words.extend(text.split(' ').map(str::to_owned));
            let is_said = phrase.as_ref().is_some_and(|phrase| phrase.in_japanese(text).is_some());
            count += usize::from(is_said);
        }
    }
    (words, count)
}

#[test]
fn findings_lose_nothing_but_names() {
    let (mut gone, mut phrases) = (BTreeSet::new(), 0);
    for entry in fs::read_dir(trees()).unwrap().map(|entry| entry.unwrap().path()) {
        if entry.extension().is_none_or(|extension| extension != "tree") {
            continue;
        }
        let (dir, options) = laid_out(&fs::read_to_string(&entry).unwrap());
        let mut findings = crate::findings(&HostRoot::at(dir.path()), &options);
        // Where a configuration is, is a path of this test.
        let here = dir.path().display().to_string();
        findings.retain(|finding| !finding.found.to_string().contains(&here));
        let warnings: Vec<Warning> = findings.into_iter().map(Warning::from).collect();
        let (before, with_phrase) = said(&warnings);
        let (after, still) = said(&anonymous(warnings));
        assert_eq!((before.len(), with_phrase), (after.len(), still), "{}", entry.display());
        phrases += still;
        gone.extend(
            before
                .iter()
                .zip(&after)
                .filter(|(before, after)| before != after)
                .map(|(before, _)| before.clone()),
        );
    }
    assert_eq!(gone.iter().map(String::as_str).collect::<Vec<_>>(), NAMES);
    assert!(phrases > 40, "{phrases}");
}
