// SPDX-License-Identifier: MIT OR Apache-2.0
//! A disk that stalls, and one that loses its power. The disk is a file with a file system in it,
//! mounted where only one shell and its children see it; what that file holds at a moment is what a
//! power cut at that moment leaves.

use crate::support::skipped::{Need, skipped};
use crate::support::{Output, Running, TEIJI, TestFolder, beside_others, is_root};

/// Runs a script beside an ext4 file system mounted on `disk`, in the file `image`, with teiji as
/// `$TEIJI`. None, with the reason said, where nothing can be mounted.
pub fn beside_a_disk(place: &TestFolder, script: &str) -> Option<Output> {
    if !is_root() {
        skipped(Need::BlockDevice, "only root may mount a file system of a block device");
        return None;
    }
    let mut shell = place.command("unshare");
    let mount = "truncate -s 64M image; mkfs.ext4 -q image; mkdir disk; mount -o loop image disk";
    shell.args(["--mount", "sh", "-euc"]).env("TEIJI", TEIJI).arg(format!("{mount}; {script}"));
    Some(Running::start(shell).end())
}

/// A stalled disk keeps the recorder waiting, and nobody else: the rings hold eight seconds.
#[test]
fn a_disk_that_stalls_for_six_seconds_costs_no_sample() {
    let _turn = beside_others();
    let place = TestFolder::on_disk();
    let script = "
        \"$TEIJI\" measure -q -i 1ms -d 9s -o disk/x.teiji & teiji=$!
        sleep 1; fsfreeze -f disk; sleep 6; fsfreeze -u disk
        code=0; wait $teiji || code=$?; echo code $code
        \"$TEIJI\" verify disk/x.teiji; cp -r disk/x.teiji .";
    let Some(output) = beside_a_disk(&place, script) else { return };
    assert!(output.code == Some(0) && output.out.contains("code 0\n"), "{output:?}");
    let document = place.document("x.teiji");
    assert_eq!((document.text("/state"), document.text("/end/reason")), ("complete", "done"));
    for thread in document.threads() {
        assert_eq!(
            (thread.whole("/activations/due"), thread.whole("/evidence/samples_lost")),
            (9_000, 0)
        );
    }
    // A power cut in those seconds would have cost more than one.
    assert!(document.warns_of("disk-slow"), "{:?}", document.at("/warnings"));
}

/// The disk's file is copied while the run goes on: no cache of the system above it is in the copy.
#[test]
fn a_power_cut_costs_the_last_second_at_most() {
    let _turn = beside_others();
    let place = TestFolder::on_disk();
    let script = "
        \"$TEIJI\" measure -q -i 1ms -d 60s -t 1 -o disk/x.teiji & teiji=$!
        sleep 4; cut -d' ' -f1 /proc/uptime > cut; cp --sparse=always image copy; kill \
                  $teiji; wait $teiji || true
        mkdir after; mount -o loop copy after; cp -r after/x.teiji .; umount after";
    let Some(output) = beside_a_disk(&place, script) else { return };
    assert_eq!(output.code, Some(0), "{output:?}");
    let document = place.document("x.teiji");
    assert_eq!(document.text("/state"), "running");
    let shown = place.well("show x.teiji").out;
    assert!(shown.contains("\n✗ Incomplete: cut off"), "{shown}");
    let cut_ms = place.read("cut").trim().parse::<f64>().unwrap() * 1e3;
    let ran_ms = cut_ms - document.threads()[0].whole("/start_ns") as f64 / 1e6;
    let due = super::killed::due(&shown)[0] as f64;
    assert!(
        ran_ms > 2_000.0 && due > ran_ms - 1_000.0,
        "{due} activations on the disk after {ran_ms} ms:\n{shown}"
    );
}
