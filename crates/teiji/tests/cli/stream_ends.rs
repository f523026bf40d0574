// SPDX-License-Identifier: MIT OR Apache-2.0
//! The probe `stream` where its stream ends, is silent, is not there, or has no number: said, and
//! never waited for.

use crate::stream::{
    JITTER, PERIOD, assert_figures, fifo, lines, rows, shown, timestamps, warning, writer,
};
use crate::support::document::Document;
use crate::support::{Running, TestFolder, beside_others, soon};
use rustix::process::Signal;
use std::io::Write;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// A FIFO that nobody writes to keeps nobody waiting: the run lasts as long as it was to, or until
/// it is stopped. A stop in the middle of a stream keeps what had come.
#[test]
fn silence_and_a_stop() {
    let _turn = beside_others();
    let place = TestFolder::new();
    fifo(&place.join("in"));
    let began = Instant::now();
    let output = place.teiji("measure --probe stream --from in -d 500ms -q -o x.teiji");
    assert_eq!(output.code, Some(4), "{output:?}");
    assert!(began.elapsed() >= Duration::from_millis(500));
    let document = shown(&place, "x.teiji");
    assert_eq!(
        (document.whole("/threads/0/activations/due"), document.text("/end/reason")),
        (0, "probe-failed")
    );
    assert_eq!(warning(&document, "stream-silent").whole("/numbers"), 0);

    let stopped = |running: Running, place: &TestFolder| {
        running.signal(Signal::INT);
        let output = running.end();
        assert_eq!(output.code, Some(4), "{output:?}");
        shown(place, "x.teiji")
    };
    let running = place.start("measure --probe stream --from in -d 60s -q -o x.teiji");
    running.begun("x.teiji");
    sleep(Duration::from_millis(500));
    assert_eq!(stopped(running, &place).text("/end/reason"), "signal");

    let running =
        place.start(&format!("measure --probe stream --from in {PERIOD} -d 60s -q -o x.teiji"));
    let mut writer = writer(&place.join("in"));
    let bytes = lines(timestamps(0));
    writer.write_all(&bytes[..bytes.len() - 2]).unwrap();
    running.begun("x.teiji");
    soon("all is read", || rustix::io::ioctl_fionread(&writer) == Ok(0));
    let document = stopped(running, &place);
    assert_eq!((document.text("/state"), document.text("/end/reason")), ("stopped", "signal"));
    // The rest of the last line was still to come.
    assert_figures(&document, &JITTER[..7], "stopped");
    assert_half(&document, &bytes, 2);
}

/// The run, and not the stream, ended within the last of these lines, of which so many bytes had
/// not come.
fn assert_half(document: &Document, bytes: &[u8], missing: usize) {
    let lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
    let last = lines.last().unwrap().len();
    let half = warning(document, "stream-half-record");
    let expected = [last - missing, bytes.len() - last].map(|n| i64::try_from(n).unwrap());
    assert_eq!(["bytes", "offset"].map(|name| half.whole(&format!("/{name}"))), expected);
    assert_eq!(half.0["ended"], false);
    assert!(!document.warns_of("stream-ended"));
}

/// Its bytes were nowhere: taken from the FIFO, in no row, and not said.
#[test]
fn half_a_record_at_the_end_of_the_run_is_said() {
    let _turn = beside_others();
    let place = TestFolder::new();
    fifo(&place.join("in"));
    // Open for both, so that the stream does not end.
    let mut pipe =
        std::fs::OpenOptions::new().read(true).write(true).open(place.join("in")).unwrap();
    let bytes = lines(timestamps(0));
    pipe.write_all(&bytes[..bytes.len() - 2]).unwrap();
    let output =
        place.well(&format!("measure --probe stream --from in {PERIOD} -d 300ms -o x.teiji"));
    let said = output.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        said.contains(
            "The run ended within a record of in. The part that was read is in no figure."
        ),
        "{output:?}"
    );
    // The rest comes after the run: nothing of what was measured is missing.
    let gate = place.teiji("gate --limit max<1s x.teiji");
    assert_eq!(gate.code, Some(0), "{gate:?}");
    let document = shown(&place, "x.teiji");
    assert_figures(&document, &JITTER[..7], "ended");
    assert_half(&document, &bytes, 2);

    pipe.write_all(&[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]).unwrap();
    place
        .well("measure --probe stream --from in --kind interval --width 32 -d 100ms -q -o y.teiji");
    let document = shown(&place, "y.teiji");
    let half = warning(&document, "stream-half-record");
    assert_eq!(
        (half.whole("/bytes"), half.whole("/offset"), document.whole("/threads/0/activations/due")),
        (3, 8, 2)
    );
}

/// A run that stops within what it had read of a pipe records all of that: it is nowhere else.
#[test]
fn what_a_stopped_run_had_read_is_recorded() {
    let _turn = beside_others();
    let place = TestFolder::new();
    fifo(&place.join("in"));
    let mut pipe =
        std::fs::OpenOptions::new().read(true).write(true).open(place.join("in")).unwrap();
    let latencies: Vec<u8> = (0..4_000_u32)
        .flat_map(|row| if row == 5 { 9_000_u32 } else { 1_000 }.to_le_bytes())
        .collect();
    pipe.write_all(&latencies).unwrap();
    let output = place.teiji(
        "measure --probe stream --from in --width 32 --kind latency --break-above 5us -d 60s -q \
         -o x.teiji",
    );
    assert_eq!(output.code, Some(1), "{output:?}");
    let document = shown(&place, "x.teiji");
    assert_eq!(
        (document.text("/end/reason"), document.whole("/end/activation")),
        ("break-above", 5)
    );
    let rows = u64::try_from(document.whole("/threads/0/activations/due")).unwrap();
    assert_eq!(
        4 * rows + rustix::io::ioctl_fionread(&pipe).unwrap(),
        latencies.len() as u64,
        "{rows} rows"
    );
}

/// Nothing was measured, and a script sees that.
#[test]
fn a_stream_without_a_number_is_an_error() {
    let _turn = beside_others();
    let place = TestFolder::new();
    let binary: Vec<u8> =
        (0..100_u64).flat_map(|number| (number * 976_562).to_le_bytes()).collect();
    let no_line =
        "no whole line of the stream is a number. If its numbers are binary, give --width 32 or 64";
    let cases: [(&[u8], &str, &str); 8] = [
        (b"", "", "no number came from the stream"),
        (b"# only a comment\n", "", "no number came from the stream"),
        (b"rubbish\n", "", no_line),
        (&binary, "", no_line),
        (&binary[..16], "", no_line),
        (
            &[0xff; 16],
            "--kind interval --width 64 --sign signed",
            "no record of the stream is a number of this kind. Check --kind",
        ),
        (b"1000\n", "", "one timestamp came from the stream, and an interval takes two"),
        (
            b"3000\n2000\n1000\n",
            "",
            "no two successive timestamps of the stream make an interval. Check --unit",
        ),
    ];
    for (bytes, flags, expected) in cases {
        std::fs::write(place.join("log"), bytes).unwrap();
        let output =
            place.teiji(&format!("measure --probe stream --from log {flags} -q -o x.teiji"));
        assert_eq!(output.code, Some(4), "{expected}: {output:?}");
        let said = output.out.split_whitespace().collect::<Vec<_>>().join(" ");
        let whole = format!("✗ Holds nothing: measuring failed ({expected}");
        assert!(said.contains(&whole) && !said.contains("os error"), "{output:?}");
        let document = shown(&place, "x.teiji");
        assert_eq!(
            (document.whole("/threads/0/activations/due"), document.text("/end/reason")),
            (0, "probe-failed")
        );
        assert!(document.warns_of("stream-unreadable") || bytes != b"rubbish\n");
    }
}

/// No row follows it that could count it.
#[test]
fn rubbish_at_the_end_is_said() {
    let _turn = beside_others();
    let place = TestFolder::new();
    std::fs::write(place.join("log"), "1000\nx\n2000\n3000\ny\nz\n2500\n").unwrap();
    place.well("measure --probe stream --from log -q -o x.teiji");
    let counted: Vec<_> = rows(&place, "x.teiji").iter().map(|row| (row[2], row[3])).collect();
    assert_eq!(counted, [(1, 0), (0, 0)]);
    let document = shown(&place, "x.teiji");
    assert_eq!(warning(&document, "stream-unreadable").whole("/records"), 3);
    let trailing = warning(&document, "stream-trailing");
    assert_eq!(["unreadable", "backwards"].map(|name| trailing.whole(&format!("/{name}"))), [2, 1]);
}

#[test]
fn what_is_wrong_is_named() {
    let place = TestFolder::new();
    fifo(&place.join("in"));
    for (flags, code, expected) in [
        ("--from nosuch", 4, "cannot measure here: there is no file nosuch\n"),
        (
            "--from fifo",
            4,
            "there is no FIFO fifo: start the program that makes it, or make it with 'mkfifo fifo'",
        ),
        ("--from .", 4, ". is a directory"),
        ("--from tcp:127.0.0.1:1", 4, "cannot connect to tcp:127.0.0.1:1: "),
        ("--from in --baud 9600", 4, "in is not a serial port: leave out --baud"),
        ("--from in --unit tsc", 2, "add --hz N"),
        ("--from in --width 16", 2, "it is one of 32, 64"),
        (
            "--from in -i 1ms",
            2,
            "--interval has no meaning for the probe stream: its times come when they come",
        ),
        ("--from in -p 80", 2, "--prio has no meaning for the probe stream: its thread only reads"),
        (
            "--from in --policy fifo",
            2,
            "--policy has no meaning for the probe stream: its thread only reads",
        ),
        ("--from in -n 100", 2, "Give a duration instead"),
        ("--from in -t 2", 2, "at most 1 thread, not 2"),
    ] {
        let output = place.teiji(&format!("measure --probe stream {flags} -q -o x.teiji"));
        assert!(output.code == Some(code) && output.err.contains(expected), "{flags}: {output:?}");
        assert_eq!(place.listing(), ["in"], "{flags} leaves nothing");
    }
    std::fs::write(
        place.join("plan.toml"),
        "[measure]\nprobe = 'stream'\nfrom = 'in'\ninterval = '1ms'\n",
    )
    .unwrap();
    let output = place.teiji("run plan.toml --dry-run");
    let expected = "plan.toml:4:1: --interval has no meaning for the probe stream";
    assert!(output.code == Some(2) && output.err.contains(expected), "{output:?}");
}
