// SPDX-License-Identifier: MIT OR Apache-2.0
//! A plan, which may include itself: an error with its place, or combinations without duplicates;
//! and written as run, it is read again with the same ones.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plan::Plan;
use std::collections::BTreeSet;
use std::path::Path;

fuzz_target!(|text: &str| {
    let read = |text: &str| Plan::read(Path::new("plan.toml"), &mut |_| Ok(text.to_owned()));
    let Ok(plan) = read(text) else { return };
    let _ = plan.clone().quick().map(|quick| quick.combinations());
    let Ok(combinations) = plan.combinations() else { return };
    let settings: Vec<Vec<(String, String)>> = combinations
        .iter()
        .map(|one| {
            one.settings
                .iter()
                .map(|setting| (setting.key.clone(), setting.value.to_string()))
                .collect()
        })
        .collect();
    let again = read(&plan.as_run(7)).expect("what was written is read");
    let again = again.combinations().expect("and has its combinations");
    assert_eq!(combinations.len(), again.len());
    if combinations.len() < 1_000 {
        let runs = plan.order.runs(combinations.len(), 7);
        let distinct: BTreeSet<(usize, u32)> =
            runs.iter().map(|run| (run.combination, run.repeat)).collect();
        assert_eq!(distinct.len(), runs.len());
        assert!(runs.iter().all(|run| run.combination < settings.len()));
    }
});
