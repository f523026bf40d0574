// SPDX-License-Identifier: MIT OR Apache-2.0
//! `--live` takes all of a terminal while something runs, and gives it back however that ends.

use crate::support::pty::OnTerminal;
use crate::support::{MILLISECOND, TEIJI, TestFolder, beside_others, sleep_until, soon};
use rustix::process::Signal;
use std::fs;

const TAKEN: &str = "\x1b[?1049h";
const GIVEN_BACK: &str = "\x1b[?1049l";
const KEYS: &str = " q end the run  p pause";

/// A run that shows its figures.
fn measuring(place: &TestFolder) -> OnTerminal {
    let mut terminal = OnTerminal::start(place, "measure --live -i 1ms -d 30s -o x.teiji");
    sleep_until(terminal.running.begun("x.teiji").whole("/threads/0/start_ns") + 200 * MILLISECOND);
    let shown = terminal.look_until_shown("Largest latencies");
    assert!(shown.contains(KEYS), "{shown}");
    assert!(terminal.text().starts_with(TAKEN) && !terminal.is_as_usual());
    terminal
}

/// The run was stopped by this signal, its recording is whole as far as it goes, and what is said
/// of it comes after the terminal was given back.
fn assert_ended(place: &TestFolder, code: Option<i32>, text: &str, name: &str) {
    assert_eq!(code, Some(4), "{text}");
    let document = place.document("x.teiji");
    assert_eq!((document.text("/state"), document.text("/end/name")), ("stopped", name));
    document.assert_adds_up();
    place.well("verify x.teiji");
    let (_, after) = text.rsplit_once(GIVEN_BACK).expect("the terminal was given back");
    assert!(after.contains(&format!("Stopped early by {name}")), "{after:?}");
    assert!(!after.contains("\x1b[?"), "{after:?}");
}

#[test]
fn q_ends_the_run_as_control_c_does() {
    let _turn = beside_others();
    for keys in [b"q", b"\x03"] {
        let place = TestFolder::new();
        let mut terminal = measuring(&place);
        terminal.press(keys);
        soon("the terminal is given back", || {
            terminal.look();
            terminal.text().contains(GIVEN_BACK) && terminal.is_as_usual()
        });
        let (code, text) = terminal.end();
        assert_ended(&place, code, &text, "SIGINT");
    }
}

#[test]
fn terminated() {
    let _turn = beside_others();
    let place = TestFolder::new();
    let terminal = measuring(&place);
    terminal.running.signal(Signal::TERM);
    let (code, text) = terminal.end();
    assert_ended(&place, code, &text, "SIGTERM");
}

/// The window is closed, or the connection lost: nobody waits for a terminal that is gone.
#[test]
fn hung_up() {
    let _turn = beside_others();
    let place = TestFolder::new();
    let output = measuring(&place).close();
    assert_eq!(output.code, Some(4), "{output:?}");
    let document = place.document("x.teiji");
    assert_eq!((document.text("/state"), document.text("/end/name")), ("stopped", "SIGHUP"));
    place.well("verify x.teiji");
}

/// Where the shell ignores SIGHUP and SIGINT, the run goes on without a terminal, and `q` ends it.
#[test]
fn ignored_signals() {
    let _turn = beside_others();
    for key in [Some(b"q"), None] {
        let place = TestFolder::new();
        let length = if key.is_some() { "30s" } else { "3s" };
        let script =
            format!("trap '' HUP INT; exec {TEIJI} measure --live -i 1ms -d {length} -o x.teiji");
        fs::write(place.join("script"), script).unwrap();
        let mut terminal = OnTerminal::start_program(&place, "sh", "script");
        terminal.look_until_shown("Largest latencies");
        terminal.press(b"\x03");
        let (code, end) = if let Some(key) = key {
            terminal.press(key);
            (terminal.end().0, "stopped")
        } else {
            (terminal.close().code, "complete")
        };
        let document = place.document("x.teiji");
        assert_eq!(document.text("/state"), end, "{code:?} {}", document.at("/end"));
    }
}

/// The screen is drawn anew in another size, and the keys do what they say.
#[test]
fn resized_and_paused() {
    let _turn = beside_others();
    let place = TestFolder::new();
    let mut terminal = measuring(&place);
    terminal.resize(200, 60);
    soon("it has 60 lines", || {
        let shown = terminal.look_until_shown(KEYS);
        shown.lines().nth(59).is_some_and(|line| line.starts_with(KEYS))
    });
    for (key, shown) in [(b"s", "linear"), (b"p", "PAUSED"), (b"t", ": thread 0")] {
        terminal.press(key);
        terminal.look_until_shown(shown);
    }
    terminal.press(b"q");
    let (code, text) = terminal.end();
    assert_ended(&place, code, &text, "SIGINT");
}

/// What docs/tour.md shows of a full screen is drawn: its words, line by line.
#[test]
fn the_screen_of_the_tour() {
    let _turn = beside_others();
    let place = TestFolder::new();
    let words = "measure --live -t 2 --load cpu@30% -i 1ms -d 120s -o x.teiji";
    let mut terminal = OnTerminal::start(&place, words);
    let page = include_str!("../../../../docs/tour.md");
    let block = page.split("```text\n").nth(1).unwrap().split("```").next().unwrap();
    let words_of = |line: &str| {
        let is_word = |word: &&str| word.chars().all(|c| c.is_ascii_alphabetic());
        let trimmed = line.split_whitespace().map(|word| word.trim_matches([',', ':', '(', ')']));
        trimmed
            .filter(|word| !word.is_empty())
            .filter(is_word)
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let drawn = |shown: &str, line: &str| {
        let wanted = words_of(line);
        shown.lines().any(|shown| {
            let mut shown = words_of(shown).into_iter();
            wanted.iter().all(|word| shown.any(|shown| shown == *word))
        })
    };
    soon("all of it is drawn", || {
        let shown = terminal.look_until_shown(KEYS);
        block.lines().all(|line| drawn(&shown, line))
    });
    terminal.press(b"q");
    terminal.end();
}

/// Ctrl-Z gives the terminal back to the shell, and `fg` takes it again.
#[test]
fn suspended_and_continued() {
    let _turn = beside_others();
    let place = TestFolder::new();
    let mut terminal = measuring(&place);
    terminal.press(b"\x1a");
    let stat = format!("/proc/{}/stat", terminal.running.pid().as_raw_nonzero());
    let is_stopped = || std::fs::read_to_string(&stat).unwrap().contains(") T ");
    soon("the program is stopped", is_stopped);
    terminal.look();
    let text = terminal.text();
    assert!(text.ends_with(GIVEN_BACK), "{:?}", &text[text.len().saturating_sub(200)..]);
    assert!(terminal.is_as_usual());
    terminal.running.signal(Signal::CONT);
    terminal.look_until_shown(KEYS);
    assert!(!terminal.is_as_usual());
    terminal.press(b"q");
    let (code, text) = terminal.end();
    assert_ended(&place, code, &text, "SIGINT");
}

/// Each run of a plan, and loads alone.
#[test]
fn plans_and_loads() {
    let _turn = beside_others();
    let place = TestFolder::new();
    std::fs::write(
        place.join("plan.toml"),
        "[measure]\nduration = '30s'\ninterval = '1ms'\n[vary]\nload = ['none', 'cpu@10%']\n",
    )
    .unwrap();
    let mut terminal = OnTerminal::start(&place, "run --live plan.toml -o plan");
    let shown = terminal.look_until_shown("Largest latencies");
    assert!(shown.contains("0 of 2 done"), "{shown}");
    terminal.press(b"q");
    let (code, text) = terminal.end();
    assert_eq!(code, Some(4), "{text}");
    let (_, after) = text.rsplit_once(GIVEN_BACK).expect("the terminal was given back");
    assert!(after.contains("stopped by SIGINT. Resume with"), "{after:?}");

    let mut terminal = OnTerminal::start(&place, "load --live cpu@10%");
    terminal.look_until_shown("CPU use in each second");
    terminal.press(b"q");
    let (code, text) = terminal.end();
    assert!(matches!(code, Some(0 | 1)), "{text}");
    assert!(text.rsplit_once(GIVEN_BACK).is_some_and(|(_, after)| after.contains("cpu@10%")));
}

/// There is none to draw on: nothing is begun.
#[test]
fn refused_without_a_terminal() {
    let place = TestFolder::new();
    for words in
        ["measure --live -o x", "run --live smoke -o x", "load --live cpu", "lab run --live -o x"]
    {
        let output = place.teiji(words);
        assert_eq!(output.code, Some(2), "{output:?}");
        assert_eq!(
            output.err,
            "error: --live needs a terminal on standard input and output: over ssh use ssh -t, or \
             leave out --live\n"
        );
    }
    assert_eq!(place.teiji("measure --live --json").code, Some(2));
    assert_eq!(place.teiji("measure --live -q").code, Some(2));
    assert!(place.listing().is_empty());
}
