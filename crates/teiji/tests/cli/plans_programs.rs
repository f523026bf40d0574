// SPDX-License-Identifier: MIT OR Apache-2.0
//! The programs that a plan starts are said before the first of them runs, by whatever way the plan
//! is begun.

use crate::support::{Output, TestFolder, beside_others};

const PLAN: &str = "[measure]\nsamples = 20\nthreads = 1\nsettle = 0\n[vary]\nload = ['none', \
                    'cmd:\"sleep 71\"', 'cpu@10%']\n";
const SAID: &str = "Programs that this plan starts:\n  sleep 71 (a load)\n";

#[test]
fn a_dry_run_lists_them_and_starts_none() {
    let place = TestFolder::new();
    let plan = "[measure]\nduration = '1s'\n[vary]\nload = ['cmd:touch made', 'cmd:\"touch \
                made\",nice=3', 'cpu']\nprobe = ['cyclic', 'app']\ncommand = ['touch measured', \
                'none']\n[[exclude]]\nprobe = 'cyclic'\ncommand = 'touch \
                measured'\n[[exclude]]\nprobe = 'app'\ncommand = 'none'\n";
    std::fs::write(place.join("plan.toml"), plan).unwrap();
    let output = place.teiji("run --dry-run plan.toml").out;
    let said = "\nPrograms that this plan starts:\n  touch made (a load)\n  touch measured \
                (measured by the probe app)\n";
    assert!(output.ends_with(said), "{output}");
    assert_eq!(place.listing(), ["plan.toml"]);
    std::fs::write(place.join("plan.toml"), PLAN.replace("'cmd:\"sleep 71\"', ", "")).unwrap();
    assert!(!place.well("run --dry-run plan.toml").out.contains("Programs"));
}

#[test]
fn whoever_begins_a_plan_reads_them_first() {
    let _turn = beside_others();
    let place = TestFolder::new();
    std::fs::write(place.join("plan.toml"), PLAN).unwrap();
    let is_first = |output: &Output| assert!(output.err.starts_with(SAID), "{output:?}");
    is_first(&place.well("run plan.toml -q -o out"));
    std::fs::remove_dir_all(place.join("out/03-load=cpu@10%.teiji")).unwrap();
    is_first(&place.well("run --resume out -q"));
    is_first(&place.well("run --here plan.toml -o board"));
}

/// A QEMU that a plan names is a program like any other, and is asked for its version before the
/// first run.
#[test]
fn a_qemu_that_a_plan_names_is_one() {
    let place = TestFolder::new();
    std::fs::write(place.join("qemu"), "#!/bin/sh\ntouch ran\n").unwrap();
    let plan = "[measure]\nsamples = 20\nqemu = 'qemu'\n[vary]\nkernel = ['debian:amd64']\n";
    std::fs::write(place.join("plan.toml"), plan).unwrap();
    let output = place.teiji("run --dry-run plan.toml");
    assert!(
        output.out.contains("Programs that this plan starts:\n  qemu (the QEMU of guests)\n"),
        "{output:?}"
    );
}
