// SPDX-License-Identifier: MIT OR Apache-2.0
//! Signals that a tuning inherits blocked or ignored, and those that a terminal sends to it and to
//! its command.

use super::tuning::{PutBack, harmless};
use crate::support::machine::{contents, lay_out};
use crate::support::pty::OnTerminal;
use crate::support::skipped::{Need, skipped};
use crate::support::{Output, TEIJI, TestFolder, exclusive, is_root, quiet_cpu, soon};
use rustix::process::Signal;
use std::fs;
use std::thread::sleep;
use std::time::Duration;

fn with_laptop() -> TestFolder {
    let place = TestFolder::on_disk();
    lay_out(&place.join("m"), "laptop");
    place
}

fn begun(place: &TestFolder) {
    soon("the command runs", || place.join("begun").exists());
}

/// Sends it, and gives what became of a command that sleeps for a moment.
fn sent_to_sleep(place: &TestFolder, start: &str, signal: Signal) -> Output {
    let before = contents(&place.join("m"));
    let running = place.start_in_shell(&format!(
        "{start} {TEIJI} tune --root m --cpus 2-3 -- sh -c 'echo > begun; sleep 1; echo slept'"
    ));
    begun(place);
    running.signal(signal);
    let output = running.end();
    assert_eq!(contents(&place.join("m")), before);
    output
}

#[test]
fn under_nohup_a_closed_terminal_ends_nothing() {
    let output = sent_to_sleep(&with_laptop(), "exec nohup", Signal::HUP);
    assert!(output.code == Some(0) && output.out.contains("slept"), "{output:?}");
    // Without it, the command gets it.
    let output = sent_to_sleep(&with_laptop(), "exec", Signal::HUP);
    assert_eq!((output.code, output.out.as_str()), (Some(128 + 1), ""), "{output:?}");
}

#[test]
fn under_nohup_a_closed_terminal_does_not_end_a_proof() {
    let _turn = exclusive();
    if !is_root() {
        return skipped(Need::RealTime, "only root may change the kernel's settings");
    }
    let _restored = PutBack(harmless());
    fs::write("/proc/sys/vm/stat_interval", "3").unwrap();
    let place = TestFolder::on_disk();
    let words = format!(
        "tune --prove --cpus {} --only statistics-interval --rounds 1 -d 200ms",
        quiet_cpu()
    );
    let running = place.start_in_shell(&format!("TEIJI_STATE=state exec nohup {TEIJI} {words}"));
    soon("a block", || place.join("state/tune-block.teiji").exists());
    running.signal(Signal::HUP);
    let output = running.end();
    assert!(output.code == Some(0) && output.out.ends_with("Nothing is kept.\n"), "{output:?}");
}

/// A shell without job control has SIGINT and SIGQUIT ignored by what it runs in the background.
#[test]
fn in_the_background_of_a_script_what_is_typed_ends_nothing() {
    for signal in [Signal::INT, Signal::QUIT] {
        let output = sent_to_sleep(&with_laptop(), "trap '' INT QUIT; exec", signal);
        assert!(output.code == Some(0) && output.out.contains("slept"), "{output:?}");
    }
}

/// Whoever starts it may have blocked what it waits for.
#[test]
fn blocked_signals_are_heard() {
    let place = with_laptop();
    let before = contents(&place.join("m"));
    for (command, signal, code) in
        [("true", None, 0), ("sh -c 'echo > begun; exec sleep 60'", Some(Signal::TERM), 128 + 15)]
    {
        let script = format!(
            "exec env --block-signal=HUP,INT,QUIT,TERM,CHLD {TEIJI} tune --root m --cpus 2-3 -- \
             {command}"
        );
        let running = place.start_in_shell(&script);
        if let Some(signal) = signal {
            begun(&place);
            running.signal(signal);
        }
        let output = running.end();
        assert_eq!(output.code, Some(code), "{output:?}");
        assert_eq!(contents(&place.join("m")), before);
    }
}

/// The terminal sends it to both, wherever standard input comes from.
#[test]
fn what_is_typed_reaches_a_command_once_that_reads_a_file() {
    let place = with_laptop();
    let count = "n=0\ntrap 'n=$((n+1)); echo got $n' INT\necho begun\n\
                 while ! [ -e enough ]; do sleep 0.1; done\nexit $n\n";
    fs::write(place.join("count"), count).unwrap();
    let tune = format!("exec {TEIJI} tune --root m --cpus 2-3 -- sh count < /dev/null\n");
    fs::write(place.join("tune"), tune).unwrap();
    let mut terminal = OnTerminal::start_program(&place, "sh", "tune");
    terminal.look_until("begun");
    // Two that come before it runs again are one.
    for n in 1..=5 {
        terminal.press(b"\x03");
        terminal.look_until(&format!("got {n}"));
    }
    // One that came twice would be there soon.
    sleep(Duration::from_millis(300));
    fs::write(place.join("enough"), "").unwrap();
    let output = terminal.running.end();
    assert_eq!(output.code, Some(5), "{output:?}");
}
