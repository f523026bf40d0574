// SPDX-License-Identifier: MIT OR Apache-2.0
//! System calls on one setting that fail while it is tuned, by strace: what was written is put back
//! at once, or stays known.

use super::tuning_elsewhere::{INTERVAL, Machine, interval};
use crate::support::skipped::{Need, skipped};
use crate::support::{Output, TEIJI, exclusive};

const TUNE: &str = "tune --cpus 0 --only statistics-interval";

/// The same with faults of calls on the setting's file. None without strace.
fn tuned_with(machine: &Machine, faults: &[String]) -> Option<Output> {
    let injected = faults.iter().flat_map(|fault| ["-e".to_owned(), format!("inject={fault}")]);
    let words = ["-qq", "-o", "trace", "-P", INTERVAL, "-e", "trace=read,write"]
        .map(str::to_owned)
        .into_iter()
        .chain(injected);
    let words: Vec<String> =
        words.chain([TEIJI.to_owned()]).chain(TUNE.split(' ').map(str::to_owned)).collect();
    let output = machine.call("strace", &words.iter().map(String::as_str).collect::<Vec<_>>());
    let runs = machine.call("strace", &["-qq", "-o", "/dev/null", "true"]);
    if runs.code != Some(0) {
        skipped(Need::Strace, runs.err);
        return None;
    }
    Some(output)
}

/// How many reads of the file come before it is written, and how many there are in all.
fn reads(machine: &Machine) -> (usize, usize) {
    let trace = machine.place.read("trace");
    let count = |lines: &mut dyn Iterator<Item = &str>| {
        lines.filter(|line| line.starts_with("read(")).count()
    };
    (
        count(&mut trace.lines().take_while(|line| !line.starts_with("write("))),
        count(&mut trace.lines()),
    )
}

#[test]
fn a_value_that_cannot_be_read_back_is_put_back_or_stays_known() {
    let _turn = exclusive();
    let Some(machine) = Machine::new() else { return };
    let Some(tuned) = tuned_with(&machine, &[]) else { return };
    assert_eq!(tuned.code, Some(0), "{tuned:?}");
    let (before, all) = reads(&machine);
    assert!(before < all, "{before} {all}");
    assert_eq!(machine.teiji("tune --undo").out, "1 setting put back.\n");

    // Once: it is put back at once, and nothing is left to undo.
    let output = tuned_with(&machine, &[format!("read:error=EIO:when={}", before + 1)]).unwrap();
    assert_eq!(output.code, Some(4), "{output:?}");
    assert_eq!(interval(), "3", "{output:?}");
    assert!(!machine.has_journal());

    // From then on: it may be changed, and so it stays in the journal, as where putting it back
    // fails too.
    let unreadable = format!("read:error=EIO:when={}+", before + 1);
    for faults in [vec![unreadable.clone()], vec![unreadable, "write:error=EIO:when=2+".to_owned()]]
    {
        let output = tuned_with(&machine, &faults).unwrap();
        assert_eq!(output.code, Some(4), "{output:?}");
        assert!(
            output.err.contains("what became of it is not known: Input/output error"),
            "{output:?}"
        );
        assert!(machine.has_journal(), "{faults:?}");
        assert_eq!(machine.teiji("tune --undo").code, Some(0));
        assert_eq!(interval(), "3", "{faults:?}");
        assert!(!machine.has_journal());
    }
}

#[test]
fn a_write_that_fails_and_did_nothing_leaves_no_journal() {
    let _turn = exclusive();
    let Some(machine) = Machine::new() else { return };
    let Some(output) = tuned_with(&machine, &["write:error=EINVAL:when=1+".to_owned()]) else {
        return;
    };
    assert!(
        output.code == Some(4) && output.err.contains("the kernel refuses it: Invalid argument"),
        "{output:?}"
    );
    assert_eq!(interval(), "3");
    assert!(!machine.has_journal());
}
