// SPDX-License-Identifier: MIT OR Apache-2.0
//! On a terminal a run shows how far it is and removes that again; anywhere else it writes nothing
//! but what was asked for.

use crate::support::pty::{COLUMNS, OnTerminal};
use crate::support::screen::Screen;
use crate::support::{NAMES, TestFolder, beside_others, cpus};

/// The transcript, cut before each drawing: a drawing begins where the cursor goes up, or at the
/// start.
fn drawings(transcript: &str) -> Vec<String> {
    let mut places: Vec<usize> =
        transcript.match_indices("\x1b[").map(|(place, _)| place).collect();
    places.retain(|place| {
        transcript[place + 2..].trim_start_matches(|c: char| c.is_ascii_digit()).starts_with('A')
    });
    places.insert(0, 0);
    places.push(transcript.len());
    places.windows(2).map(|pair| transcript[pair[0]..pair[1]].to_owned()).collect()
}

#[test]
fn progress_is_drawn_and_removed() {
    let _turn = beside_others();
    let place = TestFolder::new();
    let terminal = OnTerminal::start(&place, "measure -i 1ms -d 2s -o x.teiji");
    let (code, transcript) = terminal.end();
    assert_eq!(code, Some(0), "{transcript}");

    let mut screen = Screen::new(COLUMNS);
    let mut drawn = 0;
    for drawing in drawings(&transcript) {
        screen.show(&drawing);
        let text = screen.text();
        let bars = text.matches(" left").count();
        assert!(bars <= 1, "a drawing was not drawn over:\n{text}");
        if bars == 1 {
            drawn += 1;
            assert!(text.contains(" of 00:02, 00:0"), "{text}");
            assert!(text.contains(" thread  cpu "), "{text}");
            for cpu in cpus() {
                let line =
                    |line: &&str| line.split_ascii_whitespace().nth(1) == Some(&cpu.to_string());
                assert!(text.lines().any(|text| line(&text)), "no line for CPU {cpu}:\n{text}");
            }
        }
    }
    assert!(drawn >= 3, "{drawn} drawings in two seconds: {transcript:?}");

    // In the end there is nothing but the summary; before it, at most the lack of rights.
    let text = screen.text();
    let mut shown = Screen::new(COLUMNS);
    // A command is never broken by us, but a screen breaks whatever is longer than itself.
    shown.show(
        &(place.summary("x.teiji")
            + "\nRecording: x.teiji\n"
            + NAMES
            + "Next: teiji report x.teiji\n")
            .replace('\n', "\r\n"),
    );
    let summary = shown.text();
    assert!(text.ends_with(&summary), "{text}\n-- expected at the end --\n{summary}");
    let before = text.strip_suffix(&summary).unwrap();
    assert!(before.is_empty() || before.starts_with("No real-time rights"), "{before}");
}

/// Each of several probes shows how far it is.
#[test]
fn progress_of_probes_in_turn() {
    let _turn = beside_others();
    let place = TestFolder::new();
    let words = "measure -i 1ms -d 1s --probe cyclic,spawn -o x";
    let (code, transcript) = OnTerminal::start(&place, words).end();
    assert_eq!(code, Some(0), "{transcript}");
    assert_eq!(transcript.matches("\r\x1b[J").count(), 2, "drawings removed: {transcript:?}");
}

#[test]
fn quiet_on_a_terminal() {
    let _turn = beside_others();
    let place = TestFolder::new();
    for option in ["-q", "--json"] {
        let (code, transcript) = OnTerminal::start(
            &place,
            &format!("measure -i 1ms -d 800ms {option} -o x{option}.teiji"),
        )
        .end();
        assert_eq!(code, Some(0), "{transcript}");
        assert!(!transcript.contains('\x1b') && !transcript.contains(" left"), "{transcript:?}");
    }
}

#[test]
fn nothing_but_text_through_a_pipe() {
    let _turn = beside_others();
    let place = TestFolder::new();
    let output = place.well("measure -i 1ms -d 800ms -o x.teiji");
    for text in [&output.out, &output.err] {
        assert!(!text.contains(['\x1b', '\r']) && !text.contains(" left"), "{text:?}");
    }
    assert!(
        output.out.ends_with(&format!("\nRecording: x.teiji\n{NAMES}Next: teiji report x.teiji\n")),
        "{output:?}"
    );
}

#[test]
fn colour_where_there_is_a_terminal_and_nobody_declined() {
    let _turn = beside_others();
    let place = TestFolder::new();
    place.well("measure -n 20 -o x.teiji");
    let shown = |colour: bool| {
        let (code, transcript) = OnTerminal::start_with(&place, "show x.teiji", colour).end();
        assert_eq!(code, Some(0), "{transcript}");
        transcript
    };
    let (coloured, plain) = (shown(true), shown(false));
    assert!(coloured.starts_with("\x1b[1m") && coloured.contains("\x1b[2m"), "{coloured:?}");
    assert!(!plain.contains('\x1b'), "{plain:?}");
    let read = |transcript: &str| {
        let mut screen = Screen::new(COLUMNS);
        screen.show(transcript);
        screen.text()
    };
    assert_eq!(read(&coloured), read(&plain));
}
